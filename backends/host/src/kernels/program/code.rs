//! A program compiled for one plan: functions over slots.
//!
//! A slot is an address: of an input, an output, a constant or a tile of scratch memory, in this order. Running the
//! code on a tile is calling each step's function on the addresses that its slots hold at that time.

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, Op,
    backend::{Arg, MAX_INPUTS, MAX_OUTPUTS, MAX_STEPS, Program},
};

use super::fused::{Lowered, lowered};
use crate::kernels::elementwise::step::{copy, resolve};
use crate::kernels::entry::{STREAM, StepFn};
use crate::kernels::moving::space::{Access, MAX_OPERANDS};
use crate::kernels::native::{self, Asked, Called, Stretch};
use crate::kernels::stream;
use crate::kernels::tuning::TILE_BYTES;
use crate::simd::Isa;

/// Distance of two tiles. Not a power of two, so that a step's tiles do not fall on the same lines of the cache.
pub(crate) const SLOT_BYTES: usize = TILE_BYTES + 256;
/// Slots that a code has at most: inputs, outputs, constants; a tile per step, packed input and scattered output.
pub(crate) const MAX_SLOTS: usize = 2 * (MAX_INPUTS + MAX_OUTPUTS) + 2 * MAX_STEPS + 8;

/// Slots of operands that every code has, so that most have theirs set without a call.
const FEW_OPERANDS: usize = 4;

/// Where the results go.
pub(crate) enum Target<'a> {
    /// To the plan's outputs.
    Outputs {
        /// How each lies.
        access: &'a [Access],
        /// Whether an input is exactly an output.
        alias: &'a dyn Fn(usize, usize) -> bool,
        /// Whether to store past the caches.
        stream: bool,
    },
    /// To wherever [`Code::value`] says, as a dtype: the first output is folded by the caller.
    Value(Dtype),
    /// As [`Value`](Self::Value), but that the caller does the last step, of two operands, itself: to wherever
    /// [`Code::value`] and [`Code::other`] say.
    Operands,
}

/// What a call does.
#[derive(Clone, Copy)]
enum Work {
    Function(StepFn),
    /// The stretch of this number, which knows its slots.
    Stretch(u8),
}

#[derive(Clone, Copy)]
struct Call {
    work: Work,
    /// Where the result goes; of a stretch, the last slot that it writes.
    dst: u8,
    src: [u8; 3],
    flags: u32,
    /// All operands are uniform, so one element is the result for the whole tile.
    once: bool,
}

impl Call {
    fn new(run: StepFn) -> Self {
        Self { work: Work::Function(run), dst: 0, src: [0; 3], flags: 0, once: false }
    }
}

/// A constant's bytes, aligned for every dtype.
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(crate) struct Constant(pub(crate) [u8; 16]);

/// The compiled program.
pub(crate) struct Code {
    calls: SmallVec<[Call; 6]>,
    stretches: SmallVec<[Called; 1]>,
    constants: SmallVec<[Constant; 2]>,
    inputs: u8,
    outputs: u8,
    tiles: u8,
    /// Inputs to be gathered, and the slots they go to.
    pub(crate) packs: SmallVec<[(u8, u8); 4]>,
    /// Outputs to be scattered, and the slots they come from.
    pub(crate) scatters: SmallVec<[(u8, u8); 4]>,
    /// The slot of the value, for [`Target::Value`].
    pub(crate) value: u8,
    /// The slot of the second operand, for [`Target::Operands`].
    pub(crate) other: Option<u8>,
    /// Results go past the caches.
    pub(crate) streams: bool,
    /// Elements that a call of [`run`](Self::run) may cover.
    pub(crate) tile_len: usize,
    /// Bytes of the widest element that goes through a tile.
    widest: usize,
}

/// Hands out tile slots.
struct Tiles {
    first: u8,
    free: u64,
    count: u8,
}
impl Tiles {
    fn take(&mut self) -> u8 {
        let found = self.free.trailing_zeros();
        let tile = if found < 64 {
            self.free &= !(1 << found);
            u8::try_from(found).unwrap_or(0)
        } else {
            self.count += 1;
            self.count - 1
        };
        self.first + tile
    }
    fn give(&mut self, slot: u8) {
        self.free |= 1 << (slot - self.first);
    }
}

impl Code {
    /// Compiles a program that is computed for so many elements; `None` for an operation that does not take its dtype (see [`supports`](crate::kernels::supports)), or where
    /// an operand that is asked for is one element for all.
    pub(crate) fn compile(
        program: &Program,
        isa: Isa,
        inputs: &[Access],
        target: &Target<'_>,
        elements: usize,
    ) -> Option<Self> {
        let steps = program.steps();
        let outputs = if let Target::Outputs { access, .. } = target { access.len() } else { 0 };
        let small = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
        let first_const = small((inputs.len() + outputs).max(FEW_OPERANDS));
        let mut tiles = Tiles { first: first_const + small(program.consts().len()), free: 0, count: 0 };
        let mut code = Self {
            calls: SmallVec::new(),
            stretches: SmallVec::new(),
            constants: program.consts().iter().map(|c| Constant(c.to_bytes())).collect(),
            inputs: small(inputs.len()),
            outputs: small(outputs),
            tiles: 0,
            packs: SmallVec::new(),
            scatters: SmallVec::new(),
            value: 0,
            other: None,
            streams: matches!(target, Target::Outputs { stream: true, .. }),
            tile_len: usize::MAX,
            widest: 1,
        };

        let computed =
            if matches!(target, Target::Operands) { steps.len().checked_sub(1)? } else { steps.len() };
        let stream = matches!(target, Target::Outputs { stream: true, .. });
        let stretches = native::stretches(&Asked { program, computed, isa, inputs, elements, stream });
        // Steps that a stretch does, and when a step is done.
        let apart = stretches.iter().fold(0, |all, stretch| all | stretch.members);
        let is_apart = |s: usize| apart.unbounded_shr(u32::try_from(s).unwrap_or(u32::MAX)) & 1 == 1;
        let done_at = |s: usize| {
            let stretch = stretches.iter().find(|stretch| is_apart(s) && stretch.members >> s & 1 == 1);
            stretch.map_or(s, Stretch::last)
        };
        let lowered = lowered(program, computed, isa, apart, |i| inputs[i] == Access::Uniform);

        // What lies apart is read so by all of its steps or by none.
        let mut inputs: SmallVec<[Access; 8]> = SmallVec::from_slice(inputs);
        for (i, access) in inputs.iter_mut().enumerate() {
            let reads = |step_done: &Lowered<'_>| step_done.operands().contains(&Arg::Input(small(i)));
            let mut readers = lowered.iter().enumerate().filter(|(_, step_done)| reads(step_done));
            if matches!(access, Access::Seconds | Access::Reversed)
                && !readers.all(|(s, step_done)| {
                    s < computed && !is_apart(s) && step_done.resolve(isa).is_some_and(|f| f.strided)
                })
            {
                *access = Access::Packed;
            }
        }

        // The step that reads a value last; beyond the last step for what is needed at the end.
        let mut input_until = [None; MAX_INPUTS];
        let mut step_until = [0; MAX_STEPS];
        for (s, step_done) in lowered.iter().enumerate() {
            for &arg in step_done.operands() {
                match arg {
                    Arg::Input(i) => {
                        let until = &mut input_until[usize::from(i)];
                        *until = Some(done_at(s)).max(*until);
                    }
                    Arg::Step(i) => {
                        let until = &mut step_until[usize::from(i)];
                        *until = done_at(s).max(*until);
                    }
                    Arg::Const(_) => {}
                }
            }
        }

        let mut input_slot = [0; MAX_INPUTS];
        let mut widest = 1;
        for (i, &access) in inputs.iter().enumerate() {
            input_slot[i] = small(i);
            if access == Access::Packed && input_until[i].is_some() {
                input_slot[i] = tiles.take();
                code.packs.push((small(i), input_slot[i]));
                widest = widest.max(program.inputs()[i].size());
            }
        }
        if let Target::Value(dtype) = target {
            // What only hands its input on is folded where it lies.
            if let [step] = steps
                && let (Op::Copy, &[Arg::Input(i)]) = (step.op, step.operands())
                && step.out == *dtype
                && inputs[usize::from(i)] != Access::Uniform
            {
                code.value = input_slot[usize::from(i)];
                return Some(code.finish(&tiles, widest));
            }
        }

        let value_size = if let Target::Value(dtype) = target { dtype.size() } else { 0 };
        let (lowered, last) = lowered.split_at(computed);
        let mut step_slot = [0; MAX_STEPS];
        let mut done = [false; MAX_OUTPUTS];
        let wanted = |s: usize, done: &[bool; MAX_OUTPUTS]| {
            let is = |(o, &a): (usize, &Arg)| a == Arg::Step(small(s)) && !done[o];
            program.outputs().iter().enumerate().any(is)
        };
        // The output that a step's result, which is there after step `s`, is written to at once. `in_place`: whether it may be an
        // operand of what writes it.
        let direct = |w: usize, s: usize, in_place: bool| {
            let Target::Outputs { access, alias, stream } = target else { return None };
            program.outputs().iter().enumerate().position(|(o, &arg)| {
                let reads = |step_done: &Lowered<'_>| {
                    let same = |&a: &Arg| matches!(a, Arg::Input(i) if alias(usize::from(i), o));
                    step_done.operands().iter().any(same)
                };
                let last = step_until[w] <= s && program.outputs().iter().filter(|&&a| a == arg).count() == 1;
                arg == Arg::Step(small(w))
                    && access[o] == Access::Contiguous
                    && !lowered[s + 1..].iter().any(reads)
                    && if *stream { last } else { in_place || !reads(&lowered[w]) }
            })
        };
        // Gives a tile back that nothing needs after step `s`; a result that nothing needs at all is among them. The place of a
        // packed input may be a row among others (see `Tiles::panel`), so nothing wider goes there.
        let give = |tiles: &mut Tiles, arg: Arg, slot: u8, s: usize, done: &[bool; MAX_OUTPUTS]| {
            let later = lowered[s + 1..].iter().map(Lowered::size);
            let widest_later = later.chain([value_size]).max().unwrap_or(0);
            let dead = match arg {
                Arg::Input(i) => {
                    let i = usize::from(i);
                    input_until[i] == Some(s) && program.inputs()[i].size() >= widest_later
                }
                Arg::Step(i) => step_until[usize::from(i)] == s && !wanted(usize::from(i), done),
                Arg::Const(_) => false,
            };
            if dead && slot >= tiles.first {
                tiles.give(slot);
            }
        };
        for (s, step_done) in lowered.iter().enumerate().filter(|(_, step_done)| !step_done.fused) {
            if is_apart(s) {
                // With the last one of its stretch.
                let Some(number) = stretches.iter().position(|stretch| stretch.last() == s) else { continue };
                let stretch = &stretches[number];
                let mut called = Called {
                    function: stretch.function.clone(),
                    slots: SmallVec::new(),
                    sizes: SmallVec::new(),
                };
                for &arg in &stretch.reads {
                    called.slots.push(match arg {
                        Arg::Input(i) => input_slot[usize::from(i)],
                        Arg::Const(i) => first_const + i,
                        Arg::Step(i) => step_slot[usize::from(i)],
                    });
                }
                let (reads, mut all_direct) = (called.slots.len(), true);
                for &w in &stretch.writes {
                    let w = usize::from(w);
                    let output = direct(w, s, true);
                    let size = lowered[w].size();
                    let slot = match output {
                        Some(o) => {
                            done[o] = true;
                            code.inputs + small(o)
                        }
                        None => {
                            all_direct = false;
                            widest = widest.max(size);
                            tiles.take()
                        }
                    };
                    step_slot[w] = slot;
                    called.slots.push(slot);
                    called.sizes.push(small(size));
                }
                if !all_direct {
                    // What goes to tiles is read again at once.
                    called.function.keep_near();
                }
                if !matches!(target, Target::Outputs { .. }) {
                    // Tiles as long as without the stretch: how results are folded may depend on it.
                    let members = (0..computed).filter(|&m| stretch.members >> m & 1 == 1);
                    widest = members.map(|m| lowered[m].size()).fold(widest, usize::max);
                }
                let dst = called.slots[reads..].iter().copied().max()?;
                for (slot, &arg) in called.slots.iter().zip(&stretch.reads) {
                    give(&mut tiles, arg, *slot, s, &done);
                }
                let work = Work::Stretch(small(code.stretches.len()));
                code.calls.push(Call { work, dst, src: [0; 3], flags: 0, once: false });
                code.stretches.push(called);
                continue;
            }
            let resolved = step_done.resolve(isa)?;
            let mut call = Call { once: step_done.once, ..Call::new(resolved.run) };
            for (k, &arg) in step_done.operands().iter().enumerate() {
                let one = |same| if same { Access::Uniform } else { Access::Contiguous };
                let (slot, access) = match arg {
                    Arg::Input(i) => (input_slot[usize::from(i)], inputs[usize::from(i)]),
                    Arg::Const(i) => (first_const + i, Access::Uniform),
                    Arg::Step(i) => (step_slot[usize::from(i)], one(lowered[usize::from(i)].once)),
                };
                call.src[k] = slot;
                call.flags |= access.flags(k);
            }
            for k in step_done.operands().len()..3 {
                call.src[k] = call.src[0];
            }
            if call.once {
                call.flags = 0;
            }

            let output = if call.once { None } else { direct(s, s, resolved.lanes) };
            if output.is_some() && stream {
                call.flags |= STREAM;
            }
            call.dst = match output {
                Some(o) => {
                    done[o] = true;
                    code.inputs + small(o)
                }
                None => {
                    if !call.once {
                        widest = widest.max(step_done.size());
                    }
                    tiles.take()
                }
            };
            step_slot[s] = call.dst;
            code.calls.push(call);

            for (k, &arg) in step_done.operands().iter().enumerate() {
                give(&mut tiles, arg, call.src[k], s, &done);
            }
        }

        match target {
            Target::Outputs { access, stream, .. } => {
                for (o, &arg) in program.outputs().iter().enumerate() {
                    let (false, Arg::Step(s)) = (done[o], arg) else { continue };
                    let (from, same) = (step_slot[usize::from(s)], lowered[usize::from(s)].once);
                    let size = program.output_dtype(o).size();
                    let past = *stream && !same;
                    let flags = u32::from(same) | if past { STREAM } else { 0 };
                    let run = copy(size, isa);
                    let mut call =
                        Call { dst: code.inputs + small(o), src: [from; 3], flags, ..Call::new(run) };
                    if access[o] == Access::Contiguous {
                        code.calls.push(call);
                        if past {
                            code.tile_len = code.tile_len.min(stream::most(size));
                        }
                        continue;
                    }
                    widest = widest.max(size);
                    if same {
                        call.dst = tiles.take();
                        code.calls.push(call);
                    }
                    code.scatters.push((small(o), if same { call.dst } else { from }));
                }
            }
            Target::Value(dtype) => {
                let Some(&Arg::Step(s)) = program.outputs().first() else { return None };
                let (mut from, same) = (step_slot[usize::from(s)], lowered[usize::from(s)].once);
                let out = program.output_dtype(0);
                if out != *dtype {
                    let run = resolve(Op::Cast, out, *dtype, isa)?.run;
                    let dst = tiles.take();
                    code.calls.push(Call { dst, src: [from; 3], once: same, ..Call::new(run) });
                    widest = widest.max(dtype.size());
                    from = dst;
                }
                if same {
                    let dst = tiles.take();
                    let run = copy(dtype.size(), isa);
                    code.calls.push(Call { dst, src: [from; 3], flags: 1, ..Call::new(run) });
                    widest = widest.max(dtype.size());
                    from = dst;
                }
                code.value = from;
            }
            Target::Operands => {
                let [first, second] = last.first()?.operands() else { return None };
                let slot = |arg: &Arg| match *arg {
                    Arg::Input(i) if inputs[usize::from(i)] != Access::Uniform => {
                        Some(input_slot[usize::from(i)])
                    }
                    Arg::Step(s) if !lowered[usize::from(s)].once => Some(step_slot[usize::from(s)]),
                    _ => None,
                };
                (code.value, code.other) = (slot(first)?, Some(slot(second)?));
            }
        }
        Some(code.finish(&tiles, widest))
    }

    fn finish(mut self, tiles: &Tiles, widest: usize) -> Self {
        self.tiles = tiles.count;
        let whole = |c: &Call| c.once || c.dst < tiles.first;
        self.widest = widest;
        if !self.packs.is_empty() || !self.scatters.is_empty() || !self.calls.iter().all(whole) {
            self.tile_len = self.tile_len.min(TILE_BYTES / widest);
        }
        self
    }

    /// Lets tiles hold so many parts of a tile's bytes at most.
    pub(crate) fn shorten(&mut self, parts: usize) {
        if self.tile_len != usize::MAX {
            self.tile_len = self.tile_len.min(TILE_BYTES / parts / self.widest);
        }
    }

    /// Whether several steps compute, with tiles between them.
    pub(crate) fn has_steps(&self) -> bool {
        self.tile_len != usize::MAX && self.calls.len() > 1
    }

    /// Bytes of scratch memory that the tiles take.
    pub(crate) fn scratch_bytes(&self) -> usize {
        usize::from(self.tiles) * SLOT_BYTES
    }

    /// Sets the slots of constants and tiles.
    pub(crate) fn prepare(&self, slots: &mut Slots, scratch: *mut u8) {
        let mut next = self.operands().max(FEW_OPERANDS);
        for constant in &self.constants {
            slots.0[next] = constant.0.as_ptr().cast_mut();
            next += 1;
        }
        for tile in 0..usize::from(self.tiles) {
            slots.0[next] = scratch.wrapping_add(tile * SLOT_BYTES);
            next += 1;
        }
    }

    /// Whether inputs are only handed on, from where they lie: nothing is computed or moved.
    pub(crate) fn hands_on(&self) -> bool {
        self.calls.is_empty() && self.packs.is_empty()
    }

    /// The input that is the value itself, where nothing is computed or moved.
    pub(crate) fn input_itself(&self) -> Option<usize> {
        let itself = self.hands_on() && self.value < self.inputs && self.other.is_none();
        itself.then_some(usize::from(self.value))
    }

    /// Number of inputs and outputs.
    pub(crate) fn operands(&self) -> usize {
        usize::from(self.inputs + self.outputs)
    }

    /// Number of the first output's slot.
    pub(crate) fn first_output(&self) -> usize {
        usize::from(self.inputs)
    }

    /// Runs every step on `len` elements.
    ///
    /// # Safety
    /// - `1 ≤ len ≤ tile_len`.
    /// - [`prepare`](Self::prepare) was called with enough scratch memory, and nothing else uses it.
    /// - The slots of inputs and outputs hold addresses of `len` elements that lie as the code was compiled for; packed inputs are
    ///   gathered.
    /// - Outputs are writable, and overlap nothing but, exactly, an input.
    #[inline]
    pub(crate) unsafe fn run(&self, slots: &Slots, len: usize) {
        // SAFETY: `run_with` has the contract of this function.
        unsafe { self.run_with(slots, len, |_, _| ()) };
    }

    /// As [`run`](Self::run), with something else done before each step: it is told which of how many comes.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    #[inline]
    pub(crate) unsafe fn run_with(&self, slots: &Slots, len: usize, before: impl Fn(usize, usize)) {
        for (step, call) in self.calls.iter().enumerate() {
            before(step, self.calls.len());
            // SAFETY: by the contract of this function each slot has `len` elements, or one where the call's
            // flags say so, and by the compiler's, tiles are disjoint from everything, and an output that is
            // written while an input of the same address is still needed goes through a tile.
            unsafe {
                match call.work {
                    Work::Function(run) => {
                        let dst = slots.0[usize::from(call.dst)];
                        let [a, b, c] = call.src.map(|slot| slots.0[usize::from(slot)].cast_const());
                        run(dst, a, b, c, call.flags, if call.once { 1 } else { len });
                    }
                    Work::Stretch(number) => {
                        self.stretches[usize::from(number)].run(|slot| slots.0[usize::from(slot)], len);
                    }
                }
            };
        }
    }
}

/// The addresses that a code's slots hold.
pub(crate) struct Slots(pub(crate) [*mut u8; MAX_SLOTS]);

impl Slots {
    pub(crate) const fn new() -> Self {
        Self([std::ptr::null_mut(); MAX_SLOTS])
    }

    /// Sets the slots of the first operands.
    #[inline]
    pub(crate) fn point(&mut self, at: &[*mut u8; MAX_OPERANDS], operands: usize) {
        self.0[..FEW_OPERANDS].copy_from_slice(&at[..FEW_OPERANDS]);
        if operands > FEW_OPERANDS {
            self.0[FEW_OPERANDS..operands].copy_from_slice(&at[FEW_OPERANDS..operands]);
        }
    }
}
