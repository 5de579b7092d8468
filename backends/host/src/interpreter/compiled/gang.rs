//! The memory of a thread that runs a compiled kernel, and how it runs groups and rows.

use smallvec::SmallVec;
use stridewise_core::kernel::{
    Coordinate, Diagnostic, Form, KernelArgument, KernelLaunch, Level, Memory, Rule, Space, failed_assertion,
};
use stridewise_core::memory::heap;
use stridewise_core::{Error, Result};
use stridewise_native::{
    ACROSS, CALLER, COLUMNS, CONTEXT, COUNT, Caller, Cell, GRAIN, LAST, LAST_ROW, MORE, NEXT, PARTIAL, WHOLE,
};

use super::calls::call;
use super::memory::{Given, LARGE_GANG, bits};
use super::{Program, Stop, shapes};
use crate::interpreter::access::row_major;
use crate::interpreter::frame::Shared;
use crate::interpreter::run::ROUND_LIMIT;

/// Bytes at most that the gangs of a group have together, in each thread, where they meet.
const MOST_GROUP: usize = 8 << 20;

/// Where the elements of an object are: the address of the first one, and the bytes from one to the next.
struct Lies<'a> {
    start: usize,
    shape: &'a [usize],
    strides: SmallVec<[isize; 4]>,
}

/// Items that are computed together: of one row, or of several that follow each other.
#[derive(Clone, Copy, Default)]
struct Gang {
    /// Lanes that its memory says there are, and how many of them are of one row.
    count: usize,
    across: usize,
    /// The first one's global id.
    first: [usize; 3],
}

/// What a thread runs a compiled kernel with.
pub(super) struct Machine<'a> {
    program: &'a Program,
    space: &'a Space,
    /// Of each gang, one after another: so many bytes.
    memory: Shared,
    stride: usize,
    /// Private objects of each gang, one after another: of each element all lanes', so many bytes.
    private: Shared,
    private_bytes: usize,
    /// Constant and local objects.
    _objects: Vec<Shared>,
    indices: Vec<(Level, Coordinate, Cell)>,
    /// As many as work together: those of a group where they meet, else one.
    gangs: Vec<Gang>,
}

/// Bytes of a gang's private objects.
fn private_bytes(form: &Form, gang: usize) -> usize {
    let of_object = |object: &stridewise_core::kernel::ObjectInfo| match &object.memory {
        Memory::Private { shape } => shapes::private_bytes(shape, object.dtype, gang).next_multiple_of(64),
        _ => 0,
    };
    form.objects.iter().map(of_object).sum()
}

/// How many rows of so many items are a gang of so many at most, where a program is for several.
pub(super) const fn rows(columns: usize, gang: usize) -> usize {
    if columns > 0 && columns.is_multiple_of(GRAIN) && columns <= gang / 2 { gang / columns } else { 1 }
}

/// Items of a gang from which on one whose last vector is not whole is two: it copies all that it reads and writes, 0.3 ns for an item,
/// and a gang more takes some 40 ns.
const SPLIT: usize = 32;

/// Items of the next gang, of those of a row that are left. Where their order counts, all that there is room for.
const fn items(left: usize, most: usize, ordered: bool) -> usize {
    if left >= most {
        most
    } else if left > SPLIT && !ordered {
        left - left % GRAIN
    } else {
        left
    }
}

/// Items at each end of a row that are gangs of their own, of a kernel that keeps indices between bounds: there they may be at them,
/// and each lane of such a gang is looked up.
const EDGE: usize = 32;

/// Items of the next gang, of a row of so many of which some are done; with `edges`, as [`EDGE`] says.
fn items_of_row(len: usize, done: usize, most: usize, edges: bool) -> usize {
    let left = len - done;
    if !edges || len <= 4 * EDGE {
        items(left, most, false)
    } else if done == 0 {
        EDGE
    } else {
        // What is no multiple of a vector is of the last ones.
        let inside = left.saturating_sub(EDGE) / GRAIN * GRAIN;
        if inside == 0 { left } else { inside.min(most) }
    }
}

/// Whether gangs of [`LARGE_GANG`] items are the interpreter's frames, one after another, so that items do everything in its order.
pub(super) fn in_order(launch: &KernelLaunch) -> bool {
    let [planes, rows, columns] = launch.space.group;
    planes == 1 && rows == 1 && (launch.kernel.is_grouped() || columns.is_multiple_of(LARGE_GANG))
}

/// How many gangs work together; `None` where they would need too much memory.
pub(super) fn gangs(program: &Program, launch: &KernelLaunch) -> Option<usize> {
    if !program.meets {
        return Some(1);
    }
    let [planes, rows, columns] = launch.space.group;
    // Groups at the end may have shorter rows, each of which is a gang then.
    let alike = launch.space.global[2].is_multiple_of(columns.max(1)) && program.rows.is_some();
    let rows = if alike { rows.div_ceil(self::rows(columns, program.gang)) } else { rows };
    let split = usize::from(columns > SPLIT && !alike);
    let gangs = planes.checked_mul(rows)?.checked_mul(columns.div_ceil(program.gang) + split)?;
    let bytes = program.bytes.next_multiple_of(64) + private_bytes(launch.kernel.form(), program.gang);
    (gangs.checked_mul(bytes)? <= MOST_GROUP).then_some(gangs)
}

impl<'a> Machine<'a> {
    pub(super) fn new(program: &'a Program, launch: &'a KernelLaunch, gangs: usize) -> Result<Self> {
        let form = launch.kernel.form();
        let stride = program.bytes.next_multiple_of(64);
        let private_bytes = private_bytes(form, program.gang);
        let (memory, mut private) = (Shared::new(stride * gangs)?, Shared::new(private_bytes * gangs)?);
        let (mut objects, mut lying, mut private_at) = (Vec::new(), Vec::new(), 0);
        for (number, object) in form.objects.iter().enumerate() {
            let size = object.dtype.size();
            let argument = shapes::parameter_of(form, number).map(|at| &launch.arguments[at]);
            let mut own = |shape: &'a [usize]| {
                let mut memory = Shared::new(shape.iter().product::<usize>() * size)?;
                let start = memory.start();
                objects.push(memory);
                Ok::<_, Error>((
                    start,
                    Lies { start: start.expose_provenance(), shape, strides: row_major(shape, size) },
                ))
            };
            lying.push(match (&object.memory, argument) {
                (Memory::Private { shape }, _) => {
                    let start = private.start().expose_provenance() + private_at;
                    private_at +=
                        shapes::private_bytes(shape, object.dtype, program.gang).next_multiple_of(64);
                    Some(Lies { start, shape, strides: row_major(shape, size * program.gang) })
                }
                (Memory::Constant { shape, elements }, _) => {
                    let (start, lies) = own(shape)?;
                    for (at, element) in elements.iter().enumerate() {
                        let bytes = element.to_bytes();
                        // SAFETY: the memory was just made for as many elements.
                        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.add(at * size), size) };
                    }
                    Some(lies)
                }
                (Memory::Local { shape }, _) => Some(own(shape)?.1),
                (Memory::LocalArgument { .. }, Some(KernelArgument::Local(shape))) => Some(own(shape)?.1),
                (_, Some(KernelArgument::Array { ptr, shape, strides })) => Some(Lies {
                    start: ptr.as_ptr().expose_provenance(),
                    shape,
                    strides: strides.iter().map(|stride| stride * size as isize).collect(),
                }),
                _ => None,
            });
        }
        let mut all = heap::with_capacity("gangs of a group", gangs)?;
        all.resize(gangs, Gang::default());
        let mut machine = Self {
            program,
            space: &launch.space,
            memory,
            stride,
            private,
            private_bytes,
            _objects: objects,
            indices: Vec::new(),
            gangs: all,
        };
        let caller: Caller = call;
        machine.write(0, CALLER, caller as usize as u64);
        machine.write(0, CONTEXT, std::ptr::from_ref(program).addr() as u64);
        machine.lane_numbers(0, program.counts, |lane| lane);
        let mut own = Vec::new();
        for (&given, &cell) in &program.given {
            let lies = |object: usize| lying[object].as_ref();
            let number = match given {
                Given::Argument(parameter) => match &launch.arguments[parameter] {
                    KernelArgument::Scalar(scalar) => Some(bits(*scalar)),
                    _ => None,
                },
                Given::Bits(bits) => Some(bits),
                Given::Start(object) => lies(object).map(|lies| lies.start as u64),
                Given::Last(object, axis) => lies(object).map(|lies| lies.shape[axis] as u64 - 1),
                Given::Extent(object, axis) => lies(object).map(|lies| lies.shape[axis] as u64),
                Given::Stride(object, axis) => lies(object).map(|lies| lies.strides[axis] as u64),
                Given::Index(level, coordinate) => {
                    machine.indices.push((level, coordinate, cell));
                    continue;
                }
            };
            let Some(number) = number else {
                return Err(Error::unsupported(
                    "kernel",
                    launch.kernel.name(),
                    "an argument for each parameter",
                    "this is a defect of the engine: please report it",
                ));
            };
            machine.write(0, cell, number);
            if let Given::Start(object) = given
                && matches!(form.objects[object].memory, Memory::Private { .. })
            {
                own.push((cell, number));
            }
        }
        // Gangs have the same, but for private objects of their own.
        for gang in 1..gangs {
            // SAFETY: there are so many bytes for each gang.
            unsafe {
                let first = machine.memory.start();
                std::ptr::copy_nonoverlapping(first.cast_const(), first.add(gang * stride), stride);
            }
            for &(cell, number) in &own {
                machine.write(gang, cell, number + (gang * private_bytes) as u64);
            }
        }
        Ok(machine)
    }

    fn bytes(&mut self, gang: usize, cell: Cell, further: usize, bytes: &[u8]) {
        let at = usize::try_from(cell.0).unwrap_or(usize::MAX) + further;
        debug_assert!(at + bytes.len() <= self.stride && gang < self.gangs.len());
        // SAFETY: cells lie in the memory of a gang, which is of the program's length (`Layout::bytes`);
        // there is some for each gang.
        unsafe {
            let to = self.memory.start().add(gang * self.stride + at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    fn write(&mut self, gang: usize, cell: Cell, number: u64) {
        self.bytes(gang, cell, 0, &number.to_le_bytes());
    }

    /// All rows of a group.
    ///
    /// # Safety
    /// As for [`run_kernel`](crate::interpreter::run_kernel).
    pub(super) unsafe fn group(&mut self, id: [usize; 3]) -> Result<()> {
        let extents = self.space.extents_of(id);
        let mut gang = 0;
        let most = self.program.gang;
        let rows = if self.program.rows.is_some() { rows(extents[2], most) } else { 1 };
        for first in 0..extents[0] {
            for second in (0..extents[1]).step_by(rows) {
                let mut third = 0;
                while third < extents[2] {
                    let across = items(extents[2] - third, most, self.program.ordered);
                    let count = across * rows.min(extents[1] - second);
                    self.begin(gang, id, [first, second, third], (count, across));
                    third += across;
                    if self.program.meets {
                        gang += 1;
                    } else {
                        // SAFETY: the launch's contract holds, and the gang that has begun is of a group of
                        // its index space.
                        unsafe { self.run()? };
                    }
                }
            }
        }
        if gang == 0 {
            return Ok(());
        }
        for of in 0..gang {
            let next = if of + 1 == gang { 0 } else { of + 1 };
            let next = self.memory.start().wrapping_add(next * self.stride).expose_provenance();
            self.write(of, NEXT, next as u64);
            self.write(of, MORE, u64::from(of + 1 < gang));
        }
        // SAFETY: the launch's contract holds, and all gangs that have begun are of one group of its index
        // space.
        unsafe { self.run() }
    }

    /// Items one after another along the last axis, from the one of this global id on, of a kernel that has
    /// no groups.
    ///
    /// # Safety
    /// As for [`run_kernel`](crate::interpreter::run_kernel).
    pub(super) unsafe fn row(&mut self, first: [usize; 3], len: usize) -> Result<()> {
        let Program { gang: most, edges, ordered, .. } = *self.program;
        let mut done = 0;
        while done < len {
            let count =
                if ordered { items(len - done, most, true) } else { items_of_row(len, done, most, edges) };
            self.begin_at(0, [0; 3], [first[0], first[1], first[2] + done], [0; 3], (count, most));
            done += count;
            // SAFETY: the launch's contract holds, and the gang that has begun is of a row of its index
            // space.
            unsafe { self.run()? };
        }
        Ok(())
    }

    /// Has a gang be items of a group, from the one of this local id on.
    fn begin(&mut self, gang: usize, group: [usize; 3], local: [usize; 3], count: (usize, usize)) {
        self.begin_at(gang, group, self.space.global_id(group, local), local, count);
    }

    fn begin_at(
        &mut self,
        gang: usize,
        group: [usize; 3],
        global: [usize; 3],
        local: [usize; 3],
        count: (usize, usize),
    ) {
        let space = self.space;
        self.lanes(gang, count);
        self.gangs[gang].first = global;
        if self.private_bytes > 0 {
            // SAFETY: there are so many bytes for each gang, and they are this thread's.
            unsafe {
                let from = self.private.start().add(gang * self.private_bytes);
                from.write_bytes(0, self.private_bytes);
            }
        }
        for at in 0..self.indices.len() {
            let (level, coordinate, cell) = self.indices[at];
            let (id, extents) = match level {
                Level::Global => (global, space.global),
                Level::Local => (local, space.extents_of(group)),
                Level::Group => (group, space.groups()),
            };
            let number = match coordinate {
                Coordinate::Range(axis) => extents[space.axis(axis)],
                Coordinate::Id(axis) => id[space.axis(axis)],
                Coordinate::LinearId => Space::linear(id, extents),
            };
            self.write(gang, cell, number as u64);
        }
    }

    /// Runs the gangs that have begun.
    ///
    /// # Safety
    /// As for [`run_kernel`](crate::interpreter::run_kernel).
    unsafe fn run(&mut self) -> Result<()> {
        // SAFETY: the memory of each gang has all cells of the program's layout, whose meaning was written
        // (`new`, `begin_at`), and where gangs meet, `group` has made a ring of those that have begun; arrays
        // are the launch's, as `run_kernel` asks for, and have elements (`compiled::run`), as have private,
        // constant and local ones, which are this thread's; the functions called are those of `Call`, over
        // lanes of the layout.
        let (answer, at) = unsafe { self.program.code.run(self.memory.start()) };
        if answer == 0 { Ok(()) } else { Err(self.stopped(answer, at)) }
    }

    /// Writes a number of each lane, as four bytes and as eight.
    fn lane_numbers(&mut self, gang: usize, [halves, wholes]: [Cell; 2], number: impl Fn(usize) -> usize) {
        for lane in 0..self.program.gang {
            self.bytes(gang, halves, 4 * lane, &(number(lane) as u32).to_le_bytes());
            self.bytes(gang, wholes, 8 * lane, &(number(lane) as u64).to_le_bytes());
        }
    }

    /// Says how many lanes there are, and how many of them are of one row.
    fn lanes(&mut self, gang: usize, (count, across): (usize, usize)) {
        let before = self.gangs[gang];
        if (before.count, before.across) == (count, across) {
            return;
        }
        self.gangs[gang] = Gang { count, across, ..before };
        if let Some(rows) = self.program.rows {
            let last_row = count / across - 1;
            // A row that is alone has vectors that are whole.
            let columns = if last_row > 0 { across } else { self.program.gang };
            self.lane_numbers(gang, self.program.counts, |lane| lane % columns);
            self.lane_numbers(gang, rows, |lane| lane / columns);
            let whole = if last_row > 0 { across } else { count.next_multiple_of(GRAIN) };
            self.write(gang, COLUMNS, whole as u64);
            self.write(gang, ACROSS, across as u64);
            self.write(gang, LAST_ROW, last_row as u64);
        }
        let whole = count.next_multiple_of(GRAIN);
        self.write(gang, COUNT, count as u64);
        self.write(gang, WHOLE, whole as u64);
        let row = if count > across { across } else { whole };
        self.write(gang, LAST, row as u64 - 1);
        self.write(gang, PARTIAL, u64::from(count != whole));
        let full = usize::try_from(self.program.full.0).unwrap_or(usize::MAX);
        debug_assert!(full + self.program.gang <= self.stride && count <= self.program.gang);
        // SAFETY: the layout has a byte for each item of a gang there.
        unsafe {
            let to = self.memory.start().add(gang * self.stride + full);
            to.write_bytes(1, count);
            to.add(count).write_bytes(0, self.program.gang - count);
        }
    }

    /// Why the routine stopped, at the memory of a gang: of the first item that is concerned.
    fn stopped(&mut self, answer: i32, memory: *mut u8) -> Error {
        let number = usize::try_from(answer - 1).unwrap_or(usize::MAX);
        let gang = memory.addr().wrapping_sub(self.memory.start().addr()) / self.stride;
        let (Some(Stop { at, mask, assertion }), Some(&Gang { count, across, first })) =
            (self.program.stops.get(number), self.gangs.get(gang))
        else {
            return Error::unsupported(
                "kernel",
                "an answer",
                "a known one",
                "this is a defect of the engine: please report it",
            );
        };
        let from = usize::try_from(mask.0).unwrap_or(0) + gang * self.stride;
        let from = self.memory.start().wrapping_add(from);
        // SAFETY: a mask has a byte for each lane.
        let is_active = |lane: &usize| unsafe { *from.add(*lane) != 0 };
        let lane = (0..count).find(is_active).unwrap_or(0);
        let id = [first[0], first[1] + lane / across, first[2] + lane % across];
        if let Some(message) = assertion {
            return failed_assertion(*self.space, id, message, at);
        }
        let id = &id[3 - self.space.dims..];
        let message = format!("item {id:?} goes on with a loop for more than {ROUND_LIMIT} rounds");
        Error::kernel(Diagnostic::new(Rule::EndlessLoop, at, message))
    }
}
