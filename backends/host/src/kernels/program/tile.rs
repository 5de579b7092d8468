//! The tile interpreter: runs a [`Code`] over an iteration space, tile by tile.
//!
//! A tile is a few KiB of elements. It goes through all steps of the program before the next one begins, so
//! that what is computed on the way stays in the first cache.
//! ```text
//! load     point the slots at the operands, and gather those that lie in pieces
//! run      each step: one function over the slots of a tile
//! store    scatter the results that lie in pieces
//! ```
//! [`Tiles`] does this for maps and reductions; [`Map`] compiles a plan of the first sort and decides whether
//! results go past the caches and what is fetched ahead. Tiles run along the last dimension, or across rows
//! where these are short. Where an input is transposed, several rows are gathered together (`panel`): a cache
//! line of it has elements of several rows.
//!
//! The contract is [`run`](crate::kernels::run)'s. A map's result does not depend on tiles, so their length is free to
//! choose; a reduction's order is fixed before. Few steps wait for memory, many steps for their functions.
//! The constants at the end of the file were measured, each with its figure: another value needs another
//! measurement.

use std::cell::Cell;

use smallvec::SmallVec;
use stridewise_core::memory::heap;
use stridewise_core::ops::MAX_ARITY;
use stridewise_core::{
    Op, Result,
    backend::{Arg, LaunchPlan, Program},
};

use super::code::{Code, Constant, Slots, Target};
use crate::kernels::elementwise::step::resolve;
use crate::kernels::entry::VECTOR_BYTES;
use crate::kernels::moving::space::{Access, Cursor, MAX_OPERANDS, Space, View};
use crate::kernels::moving::transpose;
use crate::kernels::split;
use crate::kernels::stream;
use crate::kernels::tuning::{SECOND_CACHE_BYTES, Tuning};

/// Aligned scratch memory of a thread, kept from one plan to the next.
pub(crate) struct Scratch(Vec<Line>);

#[derive(Clone, Copy, bytemuck::Zeroable)]
#[repr(align(64))]
struct Line(#[allow(dead_code)] [u8; VECTOR_BYTES]);

thread_local! {
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

impl Scratch {
    /// At least `bytes` bytes. A nested use on the same thread gets memory of its own.
    ///
    /// # Errors
    /// There is no memory, and the thread has kept none that is enough.
    pub(crate) fn take(bytes: usize) -> Result<Self> {
        if bytes == 0 {
            return Ok(Self(Vec::new()));
        }
        let mut lines = SCRATCH.take();
        let want = bytes.div_ceil(VECTOR_BYTES);
        if lines.len() < want {
            lines = heap::zeroed("scratch of a kernel", want)?;
        }
        Ok(Self(lines))
    }
    pub(crate) fn ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            SCRATCH.set(std::mem::take(&mut self.0));
        }
    }
}

/// Bytes that neighbouring rows read next to each other from a turned input: several lines of the cache, so that few are
/// read twice, and the processor fetches ahead.
const PANEL_READ_BYTES: usize = 256;
/// Bytes and elements of a row that are gathered at a time at most.
const PANEL_ROW_BYTES: usize = 1024;
const PANEL_LEN: usize = 256;
/// Between two rows of a panel, so that their distance is no power of two and they do not fall on the same lines of the
/// cache.
const PANEL_GAP: usize = 64;
/// Bytes of a panel: as many rows of one byte per element as are read together, which are the most.
const PANEL_BYTES: usize = PANEL_READ_BYTES * (PANEL_LEN + PANEL_GAP);

/// An input whose neighbours in memory are in neighbouring rows.
struct Turned {
    input: usize,
    /// Bytes from one element of a row to the next.
    along: isize,
    size: usize,
}

/// How several rows are computed at once.
struct Panels {
    /// Inputs that are gathered for all of them; where there are none, rows only follow each other faster.
    turned: SmallVec<[Turned; 2]>,
    /// Rows at a time at most.
    rows: usize,
    /// Elements of a row at a time.
    len: usize,
    /// Bytes from one gathered row to the next.
    pitch: usize,
}

impl Panels {
    /// Rows that are gathered together.
    fn gathered(&self) -> usize {
        if self.turned.is_empty() { 1 } else { self.rows }
    }
}

/// A code and the space that it runs over; the space's views are the code's inputs, then its outputs.
pub(crate) struct Tiles {
    pub(crate) code: Code,
    pub(crate) space: Space,
    /// The inputs that are fetched ahead.
    pub(crate) ahead: SmallVec<[Ahead; 2]>,
}

/// An input that is fetched ahead of what is computed.
pub(crate) struct Ahead {
    input: usize,
    /// Bytes from a tile's elements to those that are fetched, where that is further than the next tile.
    distance: isize,
}

impl Tiles {
    /// Points the slots at the operands of the `len` elements from a cursor on, gathering what must be.
    ///
    /// # Safety
    /// - The views are as the code was compiled for, and the elements from the cursor on are readable.
    /// - `1 ≤ len ≤ tile_len`, within the row unless tiles run across rows.
    /// - The slots are [prepared](Code::prepare).
    #[inline]
    pub(crate) unsafe fn load(&self, cursor: &Cursor, slots: &mut Slots, len: usize) {
        slots.point(&cursor.at, self.code.operands());
        for &(input, slot) in &self.code.packs {
            let (k, dst) = (usize::from(input), slots.0[usize::from(slot)]);
            // SAFETY: the plan's addresses are readable; a tile holds `tile_len` elements.
            unsafe { self.space.gather(k, dst, cursor.at[k], &cursor.index, len) };
        }
    }

    /// Computes the `len` elements from a cursor on.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline]
    pub(crate) unsafe fn tile(&self, cursor: &Cursor, slots: &mut Slots, len: usize) {
        // SAFETY: `load` has the contract of this function, and sets what `run` needs; then what `store`
        // needs is there.
        unsafe {
            self.load(cursor, slots, len);
            // A share before each step, as the processor holds few lines that are on their way. Into the first level: into the
            // second, `sqrt(a*a+b*b)*c-d` took 1.1 times as long.
            self.code.run_with(slots, len, |step, steps| {
                for &Ahead { input, distance } in &self.ahead {
                    let bytes = len * self.space.views[input].size;
                    let further =
                        if distance.unsigned_abs() > bytes { distance } else { bytes.cast_signed() };
                    let next = cursor.at[input].wrapping_offset(further);
                    stream::fetch_lines::<1>(next, bytes * step / steps..bytes * (step + 1) / steps);
                }
            });
            self.store(cursor, slots, len);
        }
    }

    /// Scatters the outputs that must be.
    ///
    /// # Safety
    /// As for [`load`](Self::load), after the code ran.
    unsafe fn store(&self, cursor: &Cursor, slots: &Slots, len: usize) {
        for &(output, slot) in &self.code.scatters {
            let k = self.code.first_output() + usize::from(output);
            let src = slots.0[usize::from(slot)];
            // SAFETY: the plan's addresses are writable.
            unsafe { self.space.scatter(k, cursor.at[k], &cursor.index, src, len) };
        }
    }

    /// Rows at once, where there are several. Of packed inputs that lie element after element along the last dimension but
    /// one, as a transposed matrix does, cache lines hold elements of several rows, so several rows are gathered at once.
    fn panels(&self) -> Option<Panels> {
        let dims = self.space.dims.len();
        if self.space.across || dims < 2 {
            return None;
        }
        let mut turned = SmallVec::new();
        let mut widest = 1;
        for &(input, _) in &self.code.packs {
            let view = &self.space.views[usize::from(input)];
            let (along, between) = (view.strides[dims - 1], view.strides[dims - 2]);
            // Neighbours in a row that are less far apart share lines of the cache.
            let far = along.unsigned_abs() >= stream::LINE_BYTES;
            if !view.index && between == view.size.cast_signed() && far {
                turned.push(Turned { input: usize::from(input), along, size: view.size });
                widest = widest.max(view.size);
            }
        }
        if turned.is_empty() {
            let row = self.space.row();
            return (row <= self.code.tile_len).then_some(Panels {
                turned,
                rows: usize::MAX,
                len: row,
                pitch: 0,
            });
        }
        let rows = PANEL_READ_BYTES / widest;
        let len = (PANEL_ROW_BYTES / widest).min(PANEL_LEN).min(self.code.tile_len);
        let pitch = len * widest + PANEL_GAP;
        Some(Panels { turned, rows, len, pitch })
    }

    /// Rows of a panel that begins at a cursor with `left` points to come; 0 where none may.
    fn panel_rows(&self, panels: &Panels, cursor: &Cursor, left: usize) -> usize {
        let dims = self.space.dims.len();
        if cursor.index[dims - 1] != 0 {
            return 0;
        }
        let rows = self.space.dims[dims - 2] - cursor.index[dims - 2];
        rows.min(left / self.space.row()).min(panels.rows)
    }

    /// Computes `rows` rows from a cursor on, which is at the start of a row; those after them begin at `next`.
    ///
    /// While results go past the caches, the memory would only be written, and while rows are gathered, only be read: so the
    /// next panel is fetched meanwhile.
    ///
    /// # Safety
    /// - The cursor is at the start of a row, and `rows` rows from it on are within the space and differ in the last dimension but one
    ///   only; of these the contract of [`range`](Self::range) holds.
    /// - The memory at `panel` has room for [`PANEL_BYTES`] per turned input, and nothing else uses it.
    unsafe fn panel(
        &self,
        start: &Cursor,
        slots: &mut Slots,
        panels: &Panels,
        rows: usize,
        next: Option<&Cursor>,
        panel: *mut u8,
    ) {
        let dims = self.space.dims.len();
        let row = self.space.row();
        let operands = self.code.operands();
        let place = |t: usize, r: usize| panel.wrapping_add(t * PANEL_BYTES + r * panels.pitch);
        let mut steps = [0; MAX_OPERANDS];
        for (step, v) in steps.iter_mut().zip(&self.space.views) {
            *step = v.strides[dims - 2];
        }
        let mut column = 0;
        let mut cursor = Cursor { index: start.index, at: start.at };
        while column < row {
            let len = panels.len.min(row - column);
            for (t, Turned { input, along, size }) in panels.turned.iter().enumerate() {
                // SAFETY: the plan's addresses are readable; the panel has room for the rows.
                unsafe {
                    let from = cursor.at[*input];
                    transpose::gather_panel(place(t, 0), panels.pitch, from, *along, *size, rows, len);
                }
            }
            slots.point(&cursor.at, operands);
            column += len;
            for (at, v) in cursor.at.iter_mut().zip(&self.space.views) {
                *at = at.wrapping_offset(v.strides[dims - 1] * len.cast_signed());
            }
            let (ahead, left) = if column < row { (Some(&cursor), row - column) } else { (next, row) };
            let ahead = ahead.filter(|_| self.code.streams);
            for r in 0..rows {
                if let Some(ahead) = ahead {
                    let len = panels.len.min(left);
                    for Turned { input, along, size } in &panels.turned {
                        let elements = len * r / rows..len * (r + 1) / rows;
                        transpose::fetch_panel(ahead.at[*input], *along, rows * size, elements);
                    }
                }
                for &(input, slot) in &self.code.packs {
                    let (k, slot) = (usize::from(input), usize::from(slot));
                    if let Some(t) = panels.turned.iter().position(|t| t.input == k) {
                        slots.0[slot] = place(t, r);
                    } else {
                        // SAFETY: the plan's addresses are readable; a tile holds `tile_len` elements.
                        unsafe { self.space.gather(k, slots.0[slot], slots.0[k], &cursor.index, len) };
                    }
                }
                // SAFETY: every slot is set; the plan's addresses are writable.
                unsafe {
                    self.code.run(slots, len);
                    for &(output, slot) in &self.code.scatters {
                        let k = self.code.first_output() + usize::from(output);
                        let src = slots.0[usize::from(slot)];
                        self.space.scatter(k, slots.0[k], &cursor.index, src, len);
                    }
                }
                for (slot, &step) in slots.0[..operands].iter_mut().zip(&steps) {
                    *slot = slot.wrapping_offset(step);
                }
            }
        }
    }

    /// Computes the points `start..end` in row-major order.
    ///
    /// # Errors
    /// There is no memory for the tiles.
    ///
    /// # Safety
    /// - The contract of the plan holds that the space and the code are made of: its addresses are readable and writable.
    /// - `start < end ≤` the space's length.
    /// - Nothing else accesses in conflict what these points read and write.
    pub(crate) unsafe fn range(&self, start: usize, end: usize) -> Result<()> {
        let panels = self.panels();
        let bytes = self.code.scratch_bytes();
        let inputs = panels.as_ref().map_or(0, |p| p.turned.len());
        let mut scratch = Scratch::take(bytes + inputs * PANEL_BYTES)?;
        let panel = scratch.ptr().wrapping_add(bytes);
        let mut slots = Slots::new();
        self.code.prepare(&mut slots, scratch.ptr());
        let limit = self.code.tile_len;
        let mut cursor = self.space.seek(start);
        let (mut at, row) = (start, self.space.row());
        while at < end {
            let mut len = limit.min(end - at);
            if self.space.across {
                // SAFETY: the views' addresses are readable and writable; the tile is within the space, as
                // tiles run across rows.
                unsafe { self.tile(&cursor, &mut slots, len) };
                at += len;
                if at < end {
                    cursor = self.space.seek(at);
                }
            } else if let Some(panels) = &panels
                && let rows @ 2.. = self.panel_rows(panels, &cursor, end - at)
            {
                at += rows * row;
                let next = (at < end).then(|| self.space.seek(at));
                // SAFETY: the views' addresses are readable and writable; the rows are within the space, and
                // `panel` has room for each turned input.
                unsafe { self.panel(&cursor, &mut slots, panels, rows, next.as_ref(), panel) };
                // Tiles have their own addresses again.
                self.code.prepare(&mut slots, scratch.ptr());
                if let Some(next) = next {
                    cursor = next;
                }
            } else {
                len = len.min(self.space.left(&cursor));
                // SAFETY: the views' addresses are readable and writable; the tile is within the row.
                unsafe { self.tile(&cursor, &mut slots, len) };
                at += len;
                if at < end {
                    self.space.advance(&mut cursor, len);
                }
            }
        }
        Ok(())
    }
}

/// Runs a map.
///
/// # Errors
/// There is no memory for the tiles.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
pub(crate) unsafe fn map(plan: &LaunchPlan, tuning: &Tuning) -> Result<()> {
    // SAFETY: the plan is one that `supports` accepts, whose contract holds, and nothing else accesses its
    // memory in conflict: `call` asks for the same.
    if unsafe { call(plan, &plan.program, tuning) } {
        return Ok(());
    }
    // `supports` refuses what cannot be compiled.
    let Some(map) = Map::new(plan, tuning) else { return Ok(()) };
    let (total, row) =
        (map.tiles.space.len(), if map.tiles.space.across { 1 } else { map.tiles.space.row() });
    // Parts of whole panels, where these are not too long.
    let panel = map.tiles.panels().map_or(1, |p| p.gathered()) * row;
    let row = if panel <= total / (tuning.threads * split::PARTS).max(1) { panel } else { row };
    split::try_ranges(total, row, map.moved, split::GRAIN, tuning.threads, &|start, end| {
        // SAFETY: the plan's addresses are readable and writable; ranges are disjoint parts of the space.
        unsafe { map.range(start, end) }
    })
}

/// A map, compiled.
pub(crate) struct Map {
    pub(crate) tiles: Tiles,
    /// Bytes that are read and written for an element.
    moved: usize,
}

impl Map {
    /// Compiles a plan; `None` where [`supports`](crate::kernels::supports) refuses it.
    pub(crate) fn new(plan: &LaunchPlan, tuning: &Tuning) -> Option<Self> {
        let program = &*plan.program;
        let all = 0..plan.dims.len();
        let mut views: SmallVec<[View; 4]> = SmallVec::new();
        for input in 0..plan.inputs.len() {
            views.push(View::input(plan, input, all.clone()));
        }
        let mut written = 0;
        for (o, operand) in plan.outputs.iter().enumerate() {
            let size = program.output_dtype(o).size();
            written += size;
            views.push(View::new(operand, size, all.clone()));
        }
        let inputs = plan.inputs.len();
        let mut space = Space::new(&plan.dims, views, tuning.isa);
        space.sort_by(inputs);
        space.merge();
        space.pair(inputs);
        let alias = |input: usize, output: usize| space.views[input].ptr == space.views[inputs + output].ptr;
        let moved: usize = space.views.iter().map(|v| v.size).sum();
        // Slices of one array that are some places apart are read from memory once.
        let read: SmallVec<[usize; 4]> =
            space.apart(inputs).filter(|(_, view)| view.moved().is_some()).map(|(k, _)| k).collect();
        let read_once = read.len();
        let moved_once: usize = read
            .iter()
            .copied()
            .chain(inputs..space.views.len())
            .filter_map(|k| space.views[k].moved())
            .sum();
        let footprint = space.len().saturating_mul(moved_once);
        // What such a cache nearly holds is read more quickly gathered into tiles than where it lies.
        let far = footprint > 2 * SECOND_CACHE_BYTES;
        let access = |view| if far { space.access_apart(view) } else { space.access(view) };
        let access: SmallVec<[Access; 8]> = (0..space.views.len()).map(access).collect();
        let slow = program.steps().len() > FEW_STEPS || access[..inputs].contains(&Access::Packed);
        let near = if slow { tuning.last_cache_bytes / 2 } else { tuning.last_cache_bytes };
        let stream = footprint > near && moved_once <= STREAM_SHARE * written;
        let target = Target::Outputs { access: &access[inputs..], alias: &alias, stream };
        let mut code = Code::compile(program, tuning.isa, &access[..inputs], &target, space.len())?;
        if footprint > tuning.last_cache_bytes {
            let uniform = access[..inputs].iter().filter(|&&access| access == Access::Uniform).count();
            let gathered = stream && read_once > 1 && code.packs.len() + uniform == inputs;
            let parts = (INPUT_PARTS * read_once).next_power_of_two();
            code.shorten(if gathered { MOST_PARTS } else { parts.clamp(INPUT_PARTS, MOST_PARTS) });
        }
        let far = |&input: &usize| access[input] == Access::Contiguous;
        let from_memory = read_once == 1 || footprint / FROM_MEMORY > tuning.last_cache_bytes;
        let ahead = match stream && code.has_steps() && from_memory {
            true => read.into_iter().filter(far).map(|input| Ahead { input, distance: 0 }).collect(),
            false => SmallVec::new(),
        };
        Some(Self { tiles: Tiles { code, space, ahead }, moved })
    }

    /// Where results go past the caches: while they are written, fetches from an input, which begins at `from`, what is so many
    /// bytes further on, or back, than what is computed.
    pub(crate) fn fetch_ahead(&mut self, from: *const u8, distance: isize) {
        let Tiles { code, space, ahead } = &mut self.tiles;
        let read = |&input: &usize| {
            let view = &space.views[input];
            view.ptr.cast_const() == from
                && view.moved().is_some()
                && space.access(input) == Access::Contiguous
        };
        if let Some(input) = (0..code.first_output()).find(read).filter(|_| code.streams) {
            code.tile_len = code.tile_len.min(FETCHED_BYTES / space.views[input].size);
            *ahead = SmallVec::from_iter([Ahead { input, distance }]);
        }
    }

    /// Computes the points `start..end` in row-major order of the space.
    ///
    /// # Errors
    /// As for [`Tiles::range`].
    ///
    /// # Safety
    /// As for [`Tiles::range`].
    pub(crate) unsafe fn range(&self, start: usize, end: usize) -> Result<()> {
        // SAFETY: the views' addresses are readable and writable, and `start..end` is within the space.
        unsafe { self.tiles.range(start, end) }?;
        if self.tiles.code.streams {
            stream::fence();
        }
        Ok(())
    }
}

/// Results of which an operand as large as all of them together is moved so many times at most are stored past the caches,
/// where what is moved does not fit the last of them: they would not be found there, and what they overwrite is not read.
/// Where they are less than that, there is little to save.
const STREAM_SHARE: usize = 8;
/// Of a plan that has more steps, or that gathers, half of that cache counts: nothing waits for such stores, and there is much to
/// do meanwhile. A sum with a transposed matrix, of 24 MiB in a cache of 32, took 0.74 of the time with them.
const FEW_STEPS: usize = 2;

/// Where the last cache does not hold what is moved, tiles are shorter, by so much for each input. Steps read the inputs in
/// turns, and the processor goes on fetching ahead from each only where it is come back to soon; and what a step stores is on
/// its way while the next tile's first step computes, as far as the processor can hold it, and not more. Of one input, whole
/// tiles of `1 / (1 + exp(-x))` took 1.2 times as long, and quarters about as long; of four, quarters took 1.0 to 1.2 times as
/// long as eighths. Within that cache shorter tiles are only more calls: a sum of 1 Mi `int32` and `float64` took 1.2 times as
/// long in quarters.
///
/// Where results go past the caches, the inputs' next tiles are fetched while the steps compute: the memory would be idle, and
/// how much the processor fetches by itself depends on where the functions lie in memory. Sums of 16 Mi `int32` and `float64`
/// took 7.6 ms in one program, 12 in another, and 6.7 to 7.0 so in three.
const INPUT_PARTS: usize = 2;
/// At most; and so many where all inputs are gathered and the results go past the caches: from tiles alone they would be stored
/// faster than they can leave. These parts are as many bytes as wait for the memory while the processor reads on (see
/// [`stream::most`]).
const MOST_PARTS: usize = 8;

/// Several inputs are fetched so where all that is moved takes so many times what counts of the last cache. Of less, some is
/// found there: of 20 MiB on a cache of 32, that took 1.8 times as long.
const FROM_MEMORY: usize = 2;

/// Bytes of a tile during which as many are fetched from far: a processor holds few lines that are on their way.
const FETCHED_BYTES: usize = 1024;

/// Elements up to which a single operation is called without a compiled program.
const SMALL: usize = 16 << 10;

/// Runs a small plan of one operation over dense operands by calling the operation's function: the preparation of tiles
/// would take longer than the work. Answers whether the plan was of this kind.
///
/// # Safety
/// The contract of [`run`](crate::kernels::run).
unsafe fn call(plan: &LaunchPlan, program: &Program, tuning: &Tuning) -> bool {
    let ([step], [output]) = (program.steps(), &plan.outputs[..]) else { return false };
    let len = match plan.dims[..] {
        [] => 1,
        [len] if len == 1 || output.strides[0] == 1 => len,
        _ => return false,
    };
    if len > SMALL || len * step.out.size() > tuning.last_cache_bytes / 2 {
        return false;
    }
    let Some(resolved) = resolve(step.op, step.dtype, step.out, tuning.isa) else { return false };
    let mut constants = [Constant([0; 16]); MAX_ARITY];
    let (mut from, mut flags) = ([std::ptr::null::<u8>(); MAX_ARITY], 0);
    for (k, &arg) in step.operands().iter().enumerate() {
        match arg {
            Arg::Input(i) => {
                if program.is_index(usize::from(i)) {
                    return false;
                }
                let operand = &plan.inputs[usize::from(i)];
                from[k] = operand.ptr.as_ptr();
                match operand.strides.first() {
                    _ if len == 1 => {}
                    Some(1) => {}
                    Some(0) => flags |= 1 << k,
                    _ => return false,
                }
                if !resolved.lanes && operand.ptr == output.ptr {
                    return false;
                }
            }
            Arg::Const(i) => {
                constants[k] = Constant(program.consts()[usize::from(i)].to_bytes());
                from[k] = constants[k].0.as_ptr();
                flags |= u32::from(len != 1) << k;
            }
            Arg::Step(_) => return false,
        }
    }
    let arity = step.operands().len();
    // Functions expect an operand that is no scalar; only a copy repeats one.
    if flags == (1 << arity) - 1 && step.op != Op::Copy {
        return false;
    }
    for k in arity..MAX_ARITY {
        from[k] = from[0];
    }
    // SAFETY: the plan's addresses are `len` dense elements, or one where the flag says so; an input that is exactly the
    // output is allowed.
    unsafe { (resolved.run)(output.ptr.as_ptr(), from[0], from[1], from[2], flags, len) };
    true
}
