//! From the form of a kernel to a routine: statement by statement, what is one for all items of a row by
//! general registers, the rest in straight blocks of vectors, under masks where items part.
//!
//! A *block* is straight code over vectors, which goes through all lanes of a gang. Values of lanes live in
//! it (`current`) until it ends (`flush`): then those that are still needed are stored to cells, and the next
//! block loads them from there. So what ends a block costs memory traffic: a branch, a loop, a call, a store
//! to an array, and more than `MANY_VALUES`.
//! ```text
//! y = a*x + b; if c { z = y }      block: load x, multiply, add, store y │ test c │ block: load y, …
//! ```
//! Every value has a [`Shape`], of which all else follows: `One` is a number in a cell, `Follow` the first
//! item's number, `Lanes` a cell with an element of each. A cell is given back behind the
//! block in which its value was needed last.
//!
//! `apply` has operations, `access` loads and stores, `control` branches, loops and jumps, `guards` branches by
//! comparisons of ids, `rounds` loops that stay in registers. What has no code
//! answers [`Unsupported`], and the kernel is interpreted: so a new case may be added alone. Nothing here is
//! unsafe; what is wrong here is wrong code, which the comparison with the interpreter has to find.

mod access;
mod apply;
mod atomic;
mod control;
mod guards;
mod rounds;
mod together;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use stridewise_core::Dtype;
use stridewise_core::kernel::{Form, Kernel, MemoryOrder, Parameter, Part, Statement, StatementKind, Value};
use stridewise_native::{
    Active, Builder, Cell, Elements, Found, Grid, Index, Kind, Level, Place, Routine, Target,
};

use super::memory::{Given, Layout, bits};
use super::shapes::{Jumps, Shape, Shapes, Unsupported, is_at_end};
use super::{Call, Stop};
use crate::kernels::Tuning;
use crate::kernels::native::compiler::trace;
use guards::Term;

/// Values and operands of a block: from so many on, another one begins.
const MANY_VALUES: usize = 160;
const MANY_PLACES: usize = 120;

/// Rounds of a loop that counts nothing at most.
const ROUNDS: u64 = crate::interpreter::run::ROUND_LIMIT;

/// A value that exists.
#[derive(Clone, Copy, Default)]
struct Kept {
    /// Where it is: of one that is the same for all, the number; of one that follows the ids, the first
    /// item's.
    cell: Option<Cell>,
    /// In the block that is being built.
    current: Option<stridewise_native::Value>,
    /// Whether the room is its own.
    owned: bool,
    alive: bool,
}

/// A variable.
struct Held {
    cell: Cell,
    current: Option<stridewise_native::Value>,
    dirty: bool,
}

/// Items that are active, of those that there are.
#[derive(Clone, Copy)]
struct Mask {
    of: Of,
    /// Truth values as bytes.
    cell: Cell,
    /// Whether all are.
    all: Cell,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Kernel,
    Branch,
    Loop,
    Round,
    Call,
}

/// A construct that is open.
struct Open {
    number: usize,
    kind: OpenKind,
    /// Masks before it.
    masks: usize,
}

/// Where those go on that have nothing more to do in a block of the text.
#[derive(Clone, Copy)]
enum Out {
    Here(Target),
    /// At the end of the region.
    Region,
}

/// Code between two places where all gangs of a group have to have come: it is run for one after another.
struct Region {
    begin: Target,
    /// Its end, of one gang.
    out: Target,
    /// Bytes of code before it.
    before: usize,
}

enum OpenKind {
    Branch {
        otherwise: Target,
        end: Target,
        other: Option<Cell>,
        /// How many lanes there are around it, where there may be fewer inside.
        saved: Option<Cell>,
    },
    Loop {
        head: Target,
        end: Target,
        next: Target,
        count: Cell,
        rounds: Cell,
        step: Option<Cell>,
    },
    /// A loop that counts between bounds that items differ in: each item's rounds, how many all have at least and
    /// at most, and the counter, which may be one of lanes.
    Each {
        head: Target,
        end: Target,
        next: Target,
        count: Cell,
        each: Cell,
        ends: [Cell; 2],
        counter: Cell,
    },
    Call {
        end: Target,
    },
}

/// A store that is under way: what is written is in the block.
struct Pending {
    elements: Elements,
    active: Option<Active>,
    place: Found,
}

pub(super) struct Lowered {
    pub(super) routine: Routine,
    pub(super) layout: Layout,
    pub(super) calls: Vec<Call>,
    /// Why it stops, by what the routine answers less 1.
    pub(super) stops: Vec<Stop>,
    /// Whether something that is more from item to item is kept between bounds.
    pub(super) edges: bool,
}

pub(super) struct Lower<'a> {
    kernel: &'a Kernel,
    form: &'a Form,
    shapes: &'a Shapes,
    tuning: &'a Tuning,
    out: Lowered,
    values: Vec<Kept>,
    variables: Vec<Held>,
    builder: RefCell<Builder>,
    places: Vec<Place>,
    /// Values that are in the block.
    touched: Vec<usize>,
    /// The innermost mask, in the block.
    mask: Option<stridewise_native::Value>,
    pending: Option<Pending>,
    /// Room that is free behind the block.
    released: Vec<(Cell, usize)>,
    open: Vec<Open>,
    masks: Vec<Mask>,
    outs: Vec<Out>,
    /// Numbers that follow the ids, kept between bounds.
    near: HashMap<usize, Index>,
    /// Lanes that go on by equal steps which are numbers: the first lane's, and the step. They are computed where lanes are needed.
    even: HashMap<usize, [Cell; 2]>,
    /// Conditions that are computed where branches ask for them, and what those are made of that have been come to.
    guards: HashSet<usize>,
    terms: HashMap<usize, Vec<Term>>,
    /// Branches around that may have fewer lanes than what is around them.
    fewer: usize,
    /// The region that is being written, of a kernel whose items meet.
    region: Option<Region>,
    count: usize,
}

type Done<T = ()> = Result<T, Unsupported>;

fn has<T>(found: Option<T>) -> Done<T> {
    found.ok_or(Unsupported::Refused)
}

/// Makes a routine of a kernel, for so many items at most.
pub(super) fn lower(
    kernel: &Kernel,
    shapes: &Shapes,
    gang: usize,
    level: Level,
    tuning: &Tuning,
) -> Done<Lowered> {
    let (form, layout) = (kernel.form(), Layout::new(gang, shapes.rows));
    let mut lower = Lower {
        kernel,
        form,
        shapes,
        tuning,
        out: Lowered {
            routine: match layout.rows {
                Some([_, rows]) => Routine::new(level).in_rows(Grid { columns: layout.counts[1], rows }),
                None => Routine::new(level),
            },
            layout,
            calls: Vec::new(),
            stops: Vec::new(),
            edges: false,
        },
        values: vec![Kept::default(); form.values.len()],
        variables: Vec::new(),
        builder: RefCell::new(Builder::new(level)),
        places: Vec::new(),
        touched: Vec::new(),
        mask: None,
        pending: None,
        released: Vec::new(),
        open: Vec::new(),
        masks: Vec::new(),
        outs: Vec::new(),
        near: HashMap::new(),
        even: HashMap::new(),
        guards: guards::guards(form, shapes),
        terms: HashMap::new(),
        fewer: 0,
        region: None,
        count: 0,
    };
    lower.begin()?;
    for part in form.walk() {
        match part {
            Part::Statement { statement, rest } => lower.statement(statement, rest)?,
            Part::Enter(..) => {}
            Part::Leave(statement, number) => lower.leave(statement, number)?,
        }
    }
    lower.flush()?;
    match lower.outs.pop() {
        Some(Out::Here(end)) => lower.out.routine.here(end),
        _ => lower.end_region()?,
    }
    Ok(lower.out)
}

/// A kind of elements in memory.
fn stored(dtype: Dtype) -> Done<Kind> {
    trace::stored(dtype).ok_or(Unsupported::Dtype(dtype))
}

impl Lower<'_> {
    fn begin(&mut self) -> Done {
        for (number, variable) in self.form.variables.iter().enumerate() {
            let cell = match self.shapes.variables[number] {
                Shape::Lanes => self.out.layout.lanes(variable.dtype.size()),
                _ => self.out.layout.one(),
            };
            self.variables.push(Held { cell, current: None, dirty: false });
        }
        for (number, parameter) in self.form.parameters.iter().enumerate() {
            if let Parameter::Scalar { value, .. } = parameter {
                let cell = self.out.layout.given(Given::Argument(number));
                self.values[value.number()] = Kept { cell: Some(cell), alive: true, ..Kept::default() };
            }
        }
        if self.shapes.meets {
            self.begin_region();
            self.outs.push(Out::Region);
        } else {
            let end = self.out.routine.target();
            self.outs.push(Out::Here(end));
        }
        if self.shapes.returns {
            let end = self.leads()?;
            self.push_mask(Of::Kernel, end)?;
        }
        Ok(())
    }

    // The block that is being built.

    /// An operand of the block.
    fn operand(&mut self, place: Place) -> Done<u8> {
        let number = u8::try_from(self.places.len()).map_err(|_| Unsupported::Refused)?;
        self.places.push(place);
        Ok(number)
    }
    fn load(&mut self, place: Place, kind: Kind) -> Done<stridewise_native::Value> {
        let number = self.operand(place)?;
        let builder = self.builder.get_mut();
        has(match place {
            Place::One(_) => builder.uniform(number, kind),
            _ => builder.load(number, kind),
        })
    }
    fn store(&mut self, place: Place, value: stridewise_native::Value) -> Done {
        let number = self.operand(place)?;
        has(self.builder.get_mut().store(number, value))
    }

    /// Ends the block: what is needed later is in memory then.
    fn flush(&mut self) -> Done {
        for number in std::mem::take(&mut self.touched) {
            let Kept { cell, current: Some(value), alive, .. } = self.values[number] else { continue };
            self.values[number].current = None;
            if alive && cell.is_none() && !self.even.contains_key(&number) {
                let cell = self.out.layout.lanes(self.form.values[number].size());
                self.values[number].cell = Some(cell);
                self.values[number].owned = true;
                self.store(Place::Lanes(cell), value)?;
            }
        }
        for number in 0..self.variables.len() {
            let Held { cell, current, dirty } = self.variables[number];
            self.variables[number] = Held { cell, current: None, dirty: false };
            if let (true, Some(value)) = (dirty, current) {
                self.store(Place::Lanes(cell), value)?;
            }
        }
        self.mask = None;
        let level = self.out.routine.level();
        let builder = self.builder.replace(Builder::new(level));
        let places = std::mem::take(&mut self.places);
        if builder.stores() > 0 {
            self.out.routine.block(&builder, &places).map_err(|_| Unsupported::Refused)?;
        }
        if let Some(Pending { elements, active, place }) = self.pending.take() {
            self.out.routine.scatter(&elements, active, place);
        }
        for (cell, size) in std::mem::take(&mut self.released) {
            self.out.layout.release(cell, size);
        }
        Ok(())
    }

    /// Ends it where it is long.
    fn keep_short(&mut self) -> Done {
        let long = self.builder.get_mut().values() > MANY_VALUES || self.places.len() > MANY_PLACES;
        if long { self.flush() } else { Ok(()) }
    }

    // Values.

    fn shape(&self, value: Value) -> Shape {
        self.shapes.values[value.number()]
    }

    /// The cell of a value that is one for all, or of the first item's of one that follows the ids.
    fn cell(&mut self, value: Value) -> Done<Cell> {
        if let Some(scalar) = self.shapes.constants[value.number()] {
            return Ok(self.out.layout.given(Given::Bits(bits(scalar))));
        }
        has(self.values[value.number()].cell)
    }

    /// A value in the block.
    fn current(&mut self, value: Value) -> Done<stridewise_native::Value> {
        let number = value.number();
        if let Some(current) = self.values[number].current {
            return Ok(current);
        }
        let kind = stored(self.form.values[number])?;
        let even = self.even.get(&number).filter(|_| self.values[number].cell.is_none()).copied();
        let current = if let Some(scalar) = self.shapes.constants[number] {
            has(self.builder.get_mut().constant(kind, bits(scalar)))?
        } else if let Some([first, step]) = even {
            let [first, step] = [self.load(Place::One(first), kind)?, self.load(Place::One(step), kind)?];
            let lanes = self.load(Place::Lanes(self.out.layout.counts[1]), kind)?;
            let builder = self.builder.get_mut();
            let further = has(builder.multiply(lanes, step))?;
            has(builder.add(first, further))?
        } else {
            let cell = self.cell(value)?;
            match self.shape(value) {
                Shape::One => self.load(Place::One(cell), kind)?,
                Shape::Lanes => self.load(Place::Lanes(cell), kind)?,
                Shape::Follow { item, row } => self.lanes_that_follow(cell, kind, (item, row))?,
            }
        };
        self.values[number].current = Some(current);
        self.touched.push(number);
        Ok(current)
    }

    /// Each lane's number, of those that follow the ids from the first one on, in the block.
    fn lanes_that_follow(
        &mut self,
        first: Cell,
        kind: Kind,
        (item, row): (i32, i32),
    ) -> Done<stridewise_native::Value> {
        let mut sum = self.load(Place::One(first), kind)?;
        for (counts, step) in self.out.layout.steps(kind.size(), item, row) {
            let mut lanes = self.load(Place::Lanes(counts), kind)?;
            let builder = self.builder.get_mut();
            if step != 1 {
                let factor = has(builder.number(kind, f64::from(step)))?;
                lanes = has(builder.multiply(lanes, factor))?;
            }
            sum = has(builder.add(sum, lanes))?;
        }
        Ok(sum)
    }

    /// Defines a value of lanes, in the block.
    fn define(&mut self, value: Value, current: stridewise_native::Value) {
        let number = value.number();
        self.values[number] = Kept { current: Some(current), alive: true, ..Kept::default() };
        self.touched.push(number);
    }

    /// Defines a value by a cell of its own.
    fn define_one(&mut self, value: Value) -> Cell {
        let cell = self.out.layout.one();
        self.values[value.number()] = Kept { cell: Some(cell), owned: true, alive: true, current: None };
        cell
    }

    /// Values that nothing needs behind a statement leave their room.
    fn end(&mut self, statement: usize) {
        for value in self.kernel.ends_at(statement) {
            let kept = &mut self.values[value.number()];
            kept.alive = false;
            if let Some(cells) = self.even.remove(&value.number()) {
                self.released.extend(cells.map(|cell| (cell, 0)));
            }
            if let (Some(cell), true) = (kept.cell.take(), std::mem::take(&mut kept.owned)) {
                let lanes = self.shapes.values[value.number()] == Shape::Lanes;
                let size = if lanes { self.form.values[value.number()].size() } else { 0 };
                self.released.push((cell, size));
            }
        }
    }

    /// The place of a value of lanes in memory.
    fn in_memory(&mut self, value: Value) -> Done<Cell> {
        if self.values[value.number()].cell.is_none() {
            if self.even.contains_key(&value.number()) {
                let (current, size) = (self.current(value)?, self.form.dtype(value).size());
                let cell = self.out.layout.lanes(size);
                self.store(Place::Lanes(cell), current)?;
                let kept = &mut self.values[value.number()];
                (kept.cell, kept.owned) = (Some(cell), true);
            }
            self.flush()?;
        }
        has(self.values[value.number()].cell)
    }

    // Statements.

    fn statement(&mut self, statement: &Statement, rest: &[Statement]) -> Done {
        let number = self.count;
        self.count += 1;
        self.keep_short()?;
        match &statement.kind {
            StatementKind::Let { value, expression } => self.expression(*value, expression)?,
            StatementKind::Set { variable, value } => self.set(*variable, *value)?,
            StatementKind::Store { object, indices, value } => {
                self.store_elements(*object, indices, *value)?
            }
            StatementKind::If { condition, otherwise, .. } => {
                return self.branch(number, *condition, !otherwise.is_empty());
            }
            StatementKind::While { condition, .. } => {
                return self.begin_while(number, *condition, &statement.at);
            }
            StatementKind::For { counter, start, end, step, body } => {
                return self.begin_for(number, *counter, [*start, *end, *step], body);
            }
            StatementKind::Call { .. } => {
                self.flush()?;
                let (end, masks) = (self.out.routine.target(), self.masks.len());
                self.open.push(Open { number, kind: OpenKind::Call { end }, masks });
                self.outs.push(if self.jumps(number).meets { Out::Region } else { Out::Here(end) });
                if self.jumps(number).taken {
                    self.call_mask(number, end)?;
                }
                return Ok(());
            }
            StatementKind::Atomic(atomic) => self.atomic(number, atomic)?,
            StatementKind::Fence { order, .. } => {
                self.flush()?;
                if *order != MemoryOrder::Relaxed {
                    self.call(Call::Fence);
                }
            }
            StatementKind::Barrier(_) => {
                self.end_region()?;
                self.begin_region();
            }
            StatementKind::Break | StatementKind::Continue | StatementKind::Return => {
                let whole = matches!(self.open.last(), None | Some(Open { kind: OpenKind::Call { .. }, .. }));
                if !is_at_end(statement, rest, whole) {
                    self.jump(&statement.kind)?;
                }
            }
            StatementKind::Assert { condition, message } => {
                self.assert(*condition, message, &statement.at)?;
            }
        }
        self.end(number);
        Ok(())
    }

    fn jumps(&self, number: usize) -> Jumps {
        self.shapes.jumps[number]
    }

    fn call(&mut self, call: Call) {
        let number = u32::try_from(self.out.calls.len()).unwrap_or(u32::MAX);
        self.out.calls.push(call);
        self.out.routine.call(number);
    }
}
