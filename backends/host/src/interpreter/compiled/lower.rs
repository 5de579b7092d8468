//! From the form of a kernel to a routine: statement by statement, what is one for all items of a row by general registers, the rest
//! in straight blocks of vectors, under masks where items part.

use std::cell::RefCell;

use stridewise_core::backend::{ElementsFn, SAME};
use stridewise_core::kernel::{
    Expression, Form, Kernel, Object, Parameter, Part, Position, Statement, StatementKind, Value, Variable,
};
use stridewise_core::{Dtype, DtypeKind, Op};
use stridewise_native::{
    Axis, Builder, Cell, Elements, Index, Kind, Level, Place, Routine, Scalar as Number, Target,
};

use super::memory::{Given, Layout, bits};
use super::shapes::{Jumps, Shape, Shapes, Unsupported, is_at_end};
use super::{Call, Round};
use crate::kernels::native::compiler::trace;
use crate::kernels::{self, Tuning};

/// Values and operands of a block: from so many on, another one begins.
const MANY_VALUES: usize = 160;
const MANY_PLACES: usize = 120;

/// Rounds of a loop that counts nothing at most.
const ROUNDS: u64 = super::super::run::ROUND_LIMIT;

/// A value that exists.
#[derive(Clone, Copy, Default)]
struct Kept {
    /// Where it is: of one that is the same for all, the number; of one that follows the ids, the first item's.
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

enum OpenKind {
    Branch { otherwise: Target, end: Target, other: Option<Cell> },
    Loop { head: Target, end: Target, next: Target, count: Cell, rounds: Cell, step: Option<Cell> },
    Call { end: Target },
}

/// A store that is under way: what is written is in the block.
struct Pending {
    elements: Elements,
    mask: Option<Cell>,
    copies: Cell,
    address: Cell,
}

pub(super) struct Lowered {
    pub(super) routine: Routine,
    pub(super) layout: Layout,
    pub(super) calls: Vec<Call>,
    /// Loops that count nothing, by what the routine answers less 1.
    pub(super) loops: Vec<(Position, Cell)>,
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
    /// Where those go on that have nothing more to do in a block of the text.
    outs: Vec<Target>,
    count: usize,
}

type Done<T = ()> = Result<T, Unsupported>;

fn has<T>(found: Option<T>) -> Done<T> {
    found.ok_or(Unsupported::Refused)
}

/// Makes a routine of a kernel.
pub(super) fn lower(kernel: &Kernel, shapes: &Shapes, level: Level, tuning: &Tuning) -> Done<Lowered> {
    let form = kernel.form();
    let mut lower = Lower {
        kernel,
        form,
        shapes,
        tuning,
        out: Lowered {
            routine: Routine::new(level),
            layout: Layout::new(),
            calls: Vec::new(),
            loops: Vec::new(),
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
    if let Some(end) = lower.outs.pop() {
        lower.out.routine.here(end);
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
        let end = self.out.routine.target();
        self.outs.push(end);
        if self.shapes.returns {
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
            if alive && cell.is_none() {
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
        if let Some(Pending { elements, mask, copies, address }) = self.pending.take() {
            self.out.routine.scatter(&elements, mask, copies, address);
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
        let current = if let Some(scalar) = self.shapes.constants[number] {
            has(self.builder.get_mut().constant(kind, bits(scalar)))?
        } else {
            let cell = self.cell(value)?;
            match self.shape(value) {
                Shape::One => self.load(Place::One(cell), kind)?,
                Shape::Lanes => self.load(Place::Lanes(cell), kind)?,
                Shape::Follow(step) => {
                    let [halves, wholes] = self.out.layout.counts;
                    let counts = if kind.size() == 4 { halves } else { wholes };
                    let mut lanes = self.load(Place::Lanes(counts), kind)?;
                    if step != 1 {
                        let builder = self.builder.get_mut();
                        let factor = has(builder.number(kind, f64::from(step)))?;
                        lanes = has(builder.multiply(lanes, factor))?;
                    }
                    let first = self.load(Place::One(cell), kind)?;
                    has(self.builder.get_mut().add(first, lanes))?
                }
            }
        };
        self.values[number].current = Some(current);
        self.touched.push(number);
        Ok(current)
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
            self.flush()?;
        }
        has(self.values[value.number()].cell)
    }

    // Masks.

    /// The cell that says which items are active.
    fn active(&self) -> Cell {
        self.masks.last().map_or(self.out.layout.full, |mask| mask.cell)
    }

    /// A mask that begins as the innermost one; nobody in it goes to a target.
    fn push_mask(&mut self, of: Of, none: Target) -> Done {
        self.flush()?;
        let from = self.active();
        let mask = Mask { of, cell: self.out.layout.lanes(1), all: self.out.layout.one() };
        let active = self.load(Place::Lanes(from), Kind::U8)?;
        self.store(Place::Lanes(mask.cell), active)?;
        self.flush()?;
        self.masks.push(mask);
        self.judge(none);
        Ok(())
    }

    fn judge(&mut self, none: Target) {
        if let Some(&Mask { cell, all, .. }) = self.masks.last() {
            self.out.routine.judge(cell, self.out.layout.full, all, none);
        }
    }

    /// Leaves the masks of a construct.
    fn pop_masks(&mut self, to: usize) {
        for Mask { cell, all, .. } in self.masks.drain(to..) {
            self.out.layout.release(cell, 1);
            self.out.layout.release(all, 0);
        }
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
            StatementKind::For { counter, start, end, step, .. } => {
                return self.begin_for(number, *counter, [*start, *end, *step]);
            }
            StatementKind::Call { .. } => {
                self.flush()?;
                let (end, masks) = (self.out.routine.target(), self.masks.len());
                self.open.push(Open { number, kind: OpenKind::Call { end }, masks });
                self.outs.push(end);
                if self.jumps(number).taken {
                    self.push_mask(Of::Call, end)?;
                }
                return Ok(());
            }
            StatementKind::Break | StatementKind::Continue | StatementKind::Return => {
                let whole = matches!(self.open.last(), None | Some(Open { kind: OpenKind::Call { .. }, .. }));
                if !is_at_end(statement, rest, whole) {
                    self.jump(&statement.kind)?;
                }
            }
            _ => return Err(Unsupported::Together),
        }
        self.end(number);
        Ok(())
    }

    fn jumps(&self, number: usize) -> Jumps {
        self.shapes.jumps[number]
    }

    /// A block of the text ends.
    fn leave(&mut self, statement: &Statement, block: usize) -> Done {
        self.flush()?;
        let Some(Open { number, kind, masks }) = self.open.pop() else { return Err(Unsupported::Refused) };
        let last = block + 1 == statement.kind.block_count();
        match (&statement.kind, &kind) {
            (StatementKind::If { otherwise: block, .. }, &OpenKind::Branch { otherwise, end, other }) => {
                self.outs.pop();
                if !last {
                    if other.is_none() && !block.is_empty() {
                        self.out.routine.jump(end);
                    }
                    self.out.routine.here(otherwise);
                    if let (Some(other), Some(mask)) = (other, self.masks.last_mut()) {
                        let before = std::mem::replace(&mut mask.cell, other);
                        self.out.layout.release(before, 1);
                        self.judge(end);
                    }
                    self.outs.push(end);
                } else {
                    self.out.routine.here(end);
                }
            }
            (StatementKind::While { condition, .. }, &OpenKind::Loop { end, next, .. }) if !last => {
                self.outs.pop();
                self.test(*condition, number, end)?;
                self.outs.push(next);
            }
            (_, &OpenKind::Loop { head, end, next, count, rounds, step }) => {
                self.outs.pop();
                self.out.routine.here(next);
                if let (Some(step), StatementKind::For { counter, .. }) = (step, &statement.kind) {
                    let (kind, cell) = (stored(self.form.dtype(*counter))?, self.cell(*counter)?);
                    self.out.routine.scalar(Number::Add, kind, cell, cell, step);
                    self.count_round(count);
                }
                self.out.routine.jump(head);
                self.out.routine.here(end);
                self.released.push((count, 0));
                if step.is_some() {
                    self.released.push((rounds, 0));
                }
            }
            (_, &OpenKind::Call { end }) => {
                self.outs.pop();
                self.out.routine.here(end);
            }
            _ => return Err(Unsupported::Refused),
        }
        if !last {
            self.open.push(Open { number, kind, masks });
            return Ok(());
        }
        self.pop_masks(masks);
        if self.jumps(number).leave
            && let Some(&out) = self.outs.last()
        {
            self.judge(out);
        }
        self.end(number);
        Ok(())
    }

    fn count_round(&mut self, count: Cell) {
        let one = self.out.layout.given(Given::Bits(1));
        self.out.routine.scalar(Number::Add, Kind::U64, count, count, one);
    }

    fn branch(&mut self, number: usize, condition: Value, has_other: bool) -> Done {
        let (otherwise, end) = (self.out.routine.target(), self.out.routine.target());
        let masks = self.masks.len();
        if self.shape(condition) != Shape::Lanes {
            let cell = self.cell(condition)?;
            self.flush()?;
            self.out.routine.jump_if_zero(cell, otherwise);
            self.open.push(Open { number, kind: OpenKind::Branch { otherwise, end, other: None }, masks });
            self.outs.push(otherwise);
            return Ok(());
        }
        let truth = self.current(condition)?;
        let active = self.load(Place::Lanes(self.active()), Kind::U8)?;
        let mask = Mask { of: Of::Branch, cell: self.out.layout.lanes(1), all: self.out.layout.one() };
        let builder = self.builder.get_mut();
        let truth = if truth.kind().is_mask() { truth } else { has(builder.test(truth))? };
        let active = has(builder.test(active))?;
        let yes = has(builder.and(active, truth))?;
        let no = has(builder.not(truth))?;
        let no = has(builder.and(active, no))?;
        self.store(Place::Lanes(mask.cell), yes)?;
        let mut other = None;
        if has_other {
            let cell = self.out.layout.lanes(1);
            self.store(Place::Lanes(cell), no)?;
            other = Some(cell);
        }
        self.flush()?;
        self.masks.push(mask);
        self.judge(otherwise);
        self.open.push(Open { number, kind: OpenKind::Branch { otherwise, end, other }, masks });
        self.outs.push(otherwise);
        Ok(())
    }

    /// A loop with a mask of its own for all of it, and one for the round.
    fn loop_masks(&mut self, of_rounds: bool, end: Target) -> Done {
        self.push_mask(Of::Loop, end)?;
        if of_rounds { self.push_mask(Of::Round, end) } else { Ok(()) }
    }

    /// The masks of a round begin as that of the loop; nobody in it leaves.
    fn begin_round(&mut self, end: Target) -> Done {
        if let Some(&Mask { of: Of::Round, cell, .. }) = self.masks.last()
            && let Some(&Mask { cell: whole, .. }) = self.masks.get(self.masks.len().wrapping_sub(2))
        {
            let active = self.load(Place::Lanes(whole), Kind::U8)?;
            self.store(Place::Lanes(cell), active)?;
            self.flush()?;
        }
        self.judge(end);
        Ok(())
    }

    fn begin_for(&mut self, number: usize, counter: Value, bounds: [Value; 3]) -> Done {
        let dtype = self.form.dtype(counter);
        let cells = [self.cell(bounds[0])?, self.cell(bounds[1])?, self.cell(bounds[2])?];
        self.flush()?;
        let (head, end, next) =
            (self.out.routine.target(), self.out.routine.target(), self.out.routine.target());
        let (count, rounds) = (self.out.layout.one(), self.out.layout.one());
        self.call(Call::Rounds(Round { bounds: cells, dtype, rounds }));
        self.out.routine.number(count, 0);
        let cell = self.define_one(counter);
        self.out.routine.copy(cell, cells[0]);
        let masks = self.masks.len();
        if self.jumps(number).taken {
            self.loop_masks(true, end)?;
        }
        self.out.routine.here(head);
        self.out.routine.jump_if_not_below(count, rounds, end);
        if self.jumps(number).taken {
            self.begin_round(end)?;
        }
        let kind = OpenKind::Loop { head, end, next, count, rounds, step: Some(cells[2]) };
        self.open.push(Open { number, kind, masks });
        self.outs.push(next);
        Ok(())
    }

    fn begin_while(&mut self, number: usize, condition: Value, at: &Position) -> Done {
        self.flush()?;
        let (head, end, next) =
            (self.out.routine.target(), self.out.routine.target(), self.out.routine.target());
        let count = self.out.layout.one();
        self.out.routine.number(count, 0);
        let masks = self.masks.len();
        let apart = self.jumps(number).taken || self.shape(condition) == Shape::Lanes;
        if apart {
            self.loop_masks(self.jumps(number).taken, end)?;
        }
        self.out.routine.here(head);
        if apart {
            self.begin_round(end)?;
        }
        let answer = i32::try_from(self.out.loops.len() + 1).map_err(|_| Unsupported::Refused)?;
        let (limit, go_on) = (self.out.layout.given(Given::Bits(ROUNDS)), self.out.routine.target());
        self.out.routine.jump_if_not_below(limit, count, go_on);
        self.out.routine.stop(answer);
        self.out.routine.here(go_on);
        self.out.loops.push((at.clone(), self.active()));
        self.count_round(count);
        let kind = OpenKind::Loop { head, end, next, count, rounds: count, step: None };
        self.open.push(Open { number, kind, masks });
        self.outs.push(end);
        Ok(())
    }

    /// Behind the head of a loop that counts nothing.
    fn test(&mut self, condition: Value, number: usize, end: Target) -> Done {
        if self.shape(condition) != Shape::Lanes {
            let cell = self.cell(condition)?;
            self.flush()?;
            self.out.routine.jump_if_zero(cell, end);
            return Ok(());
        }
        let truth = self.current(condition)?;
        let taken = self.jumps(number).taken;
        let masks: Vec<Cell> =
            self.masks.iter().rev().take(1 + usize::from(taken)).map(|mask| mask.cell).collect();
        for cell in masks {
            let active = self.load(Place::Lanes(cell), Kind::U8)?;
            let builder = self.builder.get_mut();
            let truth = if truth.kind().is_mask() { truth } else { has(builder.test(truth))? };
            let active = has(builder.test(active))?;
            let more = has(builder.and(active, truth))?;
            self.store(Place::Lanes(cell), more)?;
        }
        self.flush()?;
        self.judge(end);
        Ok(())
    }

    /// The active items leave, to where a jump leads.
    fn jump(&mut self, kind: &StatementKind) -> Done {
        let to = match kind {
            StatementKind::Break => self.masks.iter().rposition(|mask| mask.of == Of::Loop),
            StatementKind::Continue => self.masks.iter().rposition(|mask| mask.of == Of::Round),
            _ => self.masks.iter().rposition(|mask| matches!(mask.of, Of::Call | Of::Kernel)),
        };
        let (to, from) = (has(to)?, self.active());
        self.flush()?;
        let active = self.load(Place::Lanes(from), Kind::U8)?;
        let cells: Vec<Cell> = self.masks[to..].iter().map(|mask| mask.cell).collect();
        for cell in cells {
            let mask = self.load(Place::Lanes(cell), Kind::U8)?;
            let builder = self.builder.get_mut();
            let both = has(builder.and(mask, active))?;
            let rest = has(builder.xor(mask, both))?;
            self.store(Place::Lanes(cell), rest)?;
        }
        self.flush()?;
        if let Some(&out) = self.outs.last() {
            self.out.routine.jump(out);
        }
        Ok(())
    }

    fn set(&mut self, variable: Variable, value: Value) -> Done {
        let number = variable.number();
        if self.shapes.variables[number] != Shape::Lanes {
            let (to, from) = (self.variables[number].cell, self.cell(value)?);
            self.out.routine.copy(to, from);
            return Ok(());
        }
        let mut new = self.current(value)?;
        // Items that have left the kernel need nothing any more.
        if let Some(&Mask { cell, of, .. }) = self.masks.last()
            && of != Of::Kernel
        {
            let before = self.variable(number)?;
            let mask = match self.mask {
                Some(mask) => mask,
                None => self.load(Place::Lanes(cell), Kind::U8)?,
            };
            self.mask = Some(mask);
            let dtype = self.form.variables[number].dtype;
            new = has(trace::step(&self.builder, (Op::Where, dtype, dtype), &[mask, new, before]))?;
        }
        self.variables[number].current = Some(new);
        self.variables[number].dirty = true;
        Ok(())
    }

    /// What a variable of lanes holds.
    fn variable(&mut self, number: usize) -> Done<stridewise_native::Value> {
        if let Some(current) = self.variables[number].current {
            return Ok(current);
        }
        let (cell, kind) = (self.variables[number].cell, stored(self.form.variables[number].dtype)?);
        let current = self.load(Place::Lanes(cell), kind)?;
        self.variables[number].current = Some(current);
        Ok(current)
    }

    fn expression(&mut self, value: Value, expression: &Expression) -> Done {
        let shape = self.shape(value);
        match expression {
            Expression::Constant(_) => self.values[value.number()].alive = true,
            Expression::Apply { op, operands } => self.apply(value, *op, operands)?,
            Expression::Get(variable) => {
                let number = variable.number();
                if shape == Shape::Lanes {
                    let current = self.variable(number)?;
                    self.define(value, current);
                } else {
                    let to = self.define_one(value);
                    self.out.routine.copy(to, self.variables[number].cell);
                }
            }
            Expression::Index { level, coordinate } => {
                let cell = self.out.layout.given(Given::Index(*level, *coordinate));
                self.values[value.number()] = Kept { cell: Some(cell), alive: true, ..Kept::default() };
            }
            Expression::Extent { object, axis } => {
                let cell = self.out.layout.given(Given::Extent(object.number(), usize::from(*axis)));
                self.values[value.number()] = Kept { cell: Some(cell), alive: true, ..Kept::default() };
            }
            Expression::Load { object, indices } => {
                // What the block writes may be what is read.
                if self.pending.is_some() {
                    self.flush()?;
                }
                let elements = self.elements(*object, indices)?;
                let (dtype, kind) = (self.form.dtype(value), stored(self.form.dtype(value))?);
                if shape == Shape::One {
                    let to = self.define_one(value);
                    self.out.routine.load_one(&elements, to, kind.is_signed());
                } else {
                    let (copies, address) = (self.out.layout.lanes(dtype.size()), self.out.layout.one());
                    self.out.routine.find(&elements, copies, address);
                    let current = self.load(Place::At(address), kind)?;
                    self.define(value, current);
                    self.released.extend([(copies, dtype.size()), (address, 0)]);
                }
            }
            Expression::Collective { .. } => return Err(Unsupported::Together),
        }
        Ok(())
    }

    fn elements(&mut self, object: Object, indices: &[Value]) -> Done<Elements> {
        let number = object.number();
        let mut axes = Vec::new();
        for &index in indices {
            if self.shape(index) == Shape::Lanes {
                self.in_memory(index)?;
            }
        }
        for (axis, &index) in indices.iter().enumerate() {
            let (cell, kind) = (self.cell(index)?, stored(self.form.dtype(index))?);
            let index = match self.shape(index) {
                Shape::One => Index::One(cell),
                Shape::Follow(step) => Index::Follow { first: cell, step, half: kind == Kind::I32 },
                Shape::Lanes => Index::Lanes(cell, kind),
            };
            let last = self.out.layout.given(Given::Last(number, axis));
            axes.push(Axis { index, last, stride: self.out.layout.given(Given::Stride(number, axis)) });
        }
        let size = u8::try_from(self.form.object(object).dtype.size()).map_err(|_| Unsupported::Refused)?;
        Ok(Elements { start: self.out.layout.given(Given::Start(number)), axes, size })
    }

    fn store_elements(&mut self, object: Object, indices: &[Value], value: Value) -> Done {
        // One store a block: of two to one place the later one counts.
        if self.pending.is_some() {
            self.flush()?;
        }
        let elements = self.elements(object, indices)?;
        let current = self.current(value)?;
        let (mask, all) = (self.masks.last().map(|mask| mask.cell), self.masks.last().map(|mask| mask.all));
        let (copies, address) = (self.out.layout.lanes(elements.size.into()), self.out.layout.one());
        self.out.routine.aim(&elements, all, copies, address);
        self.store(Place::At(address), current)?;
        self.released.extend([(copies, elements.size.into()), (address, 0)]);
        self.pending = Some(Pending { elements, mask, copies, address });
        Ok(())
    }

    fn call(&mut self, call: Call) {
        let number = u32::try_from(self.out.calls.len()).unwrap_or(u32::MAX);
        self.out.calls.push(call);
        self.out.routine.call(number);
    }

    fn apply(&mut self, value: Value, op: Op, operands: &[Value]) -> Done {
        let out = self.form.dtype(value);
        let dtype = has(operands.last().map(|&operand| self.form.dtype(operand)))?;
        match self.shape(value) {
            Shape::One => return self.apply_one(value, op, operands, (dtype, out)),
            Shape::Follow(_) => {
                let (kind, first) = (stored(out)?, self.cell(operands[0])?);
                let op = match op {
                    Op::Add => Number::Add,
                    Op::Subtract => Number::Subtract,
                    Op::Multiply => Number::Multiply,
                    Op::Negative => {
                        let (zero, to) = (self.out.layout.given(Given::Bits(0)), self.define_one(value));
                        self.out.routine.scalar(Number::Subtract, kind, to, zero, first);
                        return Ok(());
                    }
                    _ => {
                        let to = self.define_one(value);
                        self.out.routine.widen(to, first, kind);
                        return Ok(());
                    }
                };
                let second = self.cell(operands[1])?;
                let to = self.define_one(value);
                self.out.routine.scalar(op, kind, to, first, second);
                return Ok(());
            }
            Shape::Lanes => {}
        }
        let mut current = smallvec::SmallVec::<[stridewise_native::Value; 3]>::new();
        for &operand in operands {
            current.push(self.current(operand)?);
        }
        let mark = self.builder.get_mut().mark();
        if let Some(result) = trace::step(&self.builder, (op, dtype, out), &current) {
            self.define(value, result);
            return Ok(());
        }
        self.builder.get_mut().back(mark);
        // By the operation's function.
        let mut lanes = 0;
        let mut args = [Cell(0); 3];
        let mut flags = 0;
        for &operand in operands {
            if self.shape(operand) == Shape::Lanes {
                self.in_memory(operand)?;
                lanes += 1;
            }
        }
        for (position, &operand) in operands.iter().enumerate() {
            let spread = self.shape(operand) != Shape::One || (lanes == 0 && position == 0);
            args[position] = match (self.shape(operand), spread) {
                (Shape::Lanes, _) => self.in_memory(operand)?,
                (_, false) => {
                    flags |= SAME << position;
                    self.cell(operand)?
                }
                (_, true) => {
                    let size = self.form.dtype(operand).size();
                    let (cell, current) = (self.out.layout.lanes(size), self.current(operand)?);
                    self.store(Place::Lanes(cell), current)?;
                    self.flush()?;
                    self.released.push((cell, size));
                    cell
                }
            };
        }
        let run = self.function(op, dtype, out)?;
        let to = self.out.layout.lanes(out.size());
        self.call(Call::Function { run, to, args: fill(args, operands.len()), flags, one: false });
        self.values[value.number()] = Kept { cell: Some(to), owned: true, alive: true, current: None };
        Ok(())
    }

    fn function(&self, op: Op, dtype: Dtype, out: Dtype) -> Done<ElementsFn> {
        has(kernels::elements_fn(op, dtype, out, self.tuning).map(|elements| elements.run))
    }

    /// An operation on what is one for all, with an integer or truth value as its result.
    fn apply_one(&mut self, value: Value, op: Op, operands: &[Value], (dtype, out): (Dtype, Dtype)) -> Done {
        let mut cells = [Cell(0); 3];
        for (cell, &operand) in cells.iter_mut().zip(operands) {
            *cell = self.cell(operand)?;
        }
        let to = self.define_one(value);
        if op == Op::Cast && dtype.kind() != DtypeKind::Float && out.kind().is_integer() {
            self.out.routine.widen(to, cells[0], stored(out)?);
            return Ok(());
        }
        let number = match op {
            Op::Add => Some((Number::Add, false)),
            Op::Subtract => Some((Number::Subtract, false)),
            Op::Multiply => Some((Number::Multiply, false)),
            Op::Minimum => Some((Number::Minimum, false)),
            Op::Maximum => Some((Number::Maximum, false)),
            Op::BitwiseAnd => Some((Number::And, false)),
            Op::BitwiseOr => Some((Number::Or, false)),
            Op::BitwiseXor => Some((Number::Xor, false)),
            Op::Equal => Some((Number::Equal, false)),
            Op::NotEqual => Some((Number::NotEqual, false)),
            Op::Less => Some((Number::Less, false)),
            Op::LessEqual => Some((Number::LessEqual, false)),
            Op::Greater => Some((Number::Less, true)),
            Op::GreaterEqual => Some((Number::LessEqual, true)),
            _ => None,
        };
        if let (Some((number, swap)), true) = (number, dtype.kind() != DtypeKind::Float) {
            let (x, y) = if swap { (cells[1], cells[0]) } else { (cells[0], cells[1]) };
            self.out.routine.scalar(number, stored(dtype)?, to, x, y);
            return Ok(());
        }
        let run = self.function(op, dtype, out)?;
        self.call(Call::Function { run, to, args: fill(cells, operands.len()), flags: 0, one: true });
        self.out.routine.widen(to, to, stored(out)?);
        Ok(())
    }
}

/// Functions of fewer operands are given the first one again.
fn fill(mut args: [Cell; 3], count: usize) -> [Cell; 3] {
    let first = args[0];
    args[count.min(3)..].fill(first);
    args
}
