//! Loops whose rounds stay in registers: a body of straight code, which loads elements and sets variables.
//!
//! ```text
//! for k in range(n): total += a[i, k] * b[k, j]     a: one for all lanes, further from round to round
//!                                                   b: lanes one after another, further too; total: a register
//! ```
//! Indices may change from round to round by equal steps: then the first and the last one are compared with
//! the extents once, before the loop. Where they do not suffice, or some items are not active, the loop is gone
//! through as any other one, which stands behind: it goes on where the rounds in registers have ended.

use std::cell::RefCell;
use std::collections::HashMap;

use stridewise_core::kernel::{Expression, Memory, Object, Statement, StatementKind, Value, Variable};
use stridewise_core::{Dtype, Op};
use stridewise_native::{Builder, Carry, Cell, Kind, Place, Rounds, Scalar};

use super::{Done, Kept, Lower, Mask, Of, has, stored};
use crate::interpreter::compiled::memory::{Given, bits};
use crate::interpreter::compiled::shapes::Shape;
use crate::kernels::native::compiler::trace;

/// Where an operand of the body will be.
enum Wanted {
    At(Place),
    /// One for all lanes: a number that is computed before the loop.
    Number(Value),
    /// Elements that are loaded, by their number.
    Load(usize),
}

impl Wanted {
    /// A place of its kind.
    fn like(&self) -> Place {
        match *self {
            Self::At(place) => place,
            Self::Number(_) => Place::One(Cell(0)),
            Self::Load(_) => Place::Moving { at: Cell(0), by: Cell(0), row: None },
        }
    }
}

/// How a number is computed before the loop.
#[derive(Clone, Copy)]
enum Number<'a> {
    Expression(&'a Expression),
    /// It is another one, which a variable holds.
    Same(Value),
}

/// A variable that the body has to do with.
struct Held {
    load: Option<u8>,
    current: stridewise_native::Value,
    set: bool,
}

/// What an index is kept between: numbers, and whether each is the largest one that there is.
type Bounds = [Option<(Value, bool)>; 2];

/// What is known of a body.
struct Body<'a> {
    counter: Value,
    builder: RefCell<Builder>,
    wanted: Vec<Wanted>,
    /// Values of lanes.
    current: HashMap<usize, stridewise_native::Value>,
    /// Numbers that are computed before the loop, in their order; of each, whether it differs between rounds,
    /// by equal steps then.
    numbers: Vec<(Value, Number<'a>)>,
    differs: HashMap<usize, bool>,
    /// Elements that are one for all, which nothing but lanes reads.
    spreads: Vec<usize>,
    loads: Vec<(Object, &'a [Value])>,
    /// Indices that are kept between bounds which are the same in all rounds, and are between them as long as these rounds are
    /// gone through: the value before, and the bounds.
    near: HashMap<usize, (Value, Bounds)>,
    /// Variables that hold numbers: those that the body has read before it set them, and what it has set others to.
    read: Vec<usize>,
    set: Vec<(usize, Value)>,
    variables: HashMap<usize, Held>,
}

impl<'a> Body<'a> {
    fn operand(&mut self, wanted: Wanted) -> Option<u8> {
        let number = u8::try_from(self.wanted.len()).ok().filter(|&number| number < u8::MAX)?;
        self.wanted.push(wanted);
        Some(number)
    }

    /// Whether a number differs between rounds; `None` for what is no number that is known before the loop.
    fn differs(&self, lower: &Lower<'_>, value: Value) -> Option<bool> {
        let number = value.number();
        if value == self.counter {
            return Some(true);
        }
        if self.near.contains_key(&number) {
            return None;
        }
        if lower.shapes.constants[number].is_some() {
            return Some(false);
        }
        match self.differs.get(&number) {
            Some(&differs) => Some(differs),
            None if self.current.contains_key(&number) || self.spreads.contains(&number) => None,
            // From before the loop.
            None => (lower.shape(value) != Shape::Lanes).then_some(false),
        }
    }

    /// Whether a value is one that follows the ids or changes from round to round, kept between bounds.
    fn keep_near(&mut self, lower: &Lower<'_>, value: Value, op: Op, operands: &[Value]) -> bool {
        let (&[x, y], Op::Minimum | Op::Maximum, Dtype::I32 | Dtype::I64) =
            (operands, op, lower.form.dtype(value))
        else {
            return false;
        };
        let changes = |value: Value| {
            let follows = matches!(lower.shape(value), Shape::Follow { .. });
            self.near.contains_key(&value.number())
                || self.differs(lower, value).is_some_and(|differs| differs || follows)
        };
        let is_bound = |value: Value| {
            !self.near.contains_key(&value.number())
                && lower.shape(value) == Shape::One
                && self.differs(lower, value) == Some(false)
        };
        let (of, bound) = match (is_bound(x), is_bound(y)) {
            (false, true) if changes(x) => (x, (y, op == Op::Minimum)),
            (true, false) if changes(y) => (y, (x, op == Op::Minimum)),
            _ => return false,
        };
        let near = match self.near.get(&of.number()) {
            None => (of, [Some(bound), None]),
            Some(&(of, [before, None])) => (of, [before, Some(bound)]),
            Some(_) => return false,
        };
        self.near.insert(value.number(), near);
        true
    }

    /// A value of lanes.
    fn take(&mut self, lower: &mut Lower<'_>, value: Value) -> Option<stridewise_native::Value> {
        let number = value.number();
        if let Some(&current) = self.current.get(&number) {
            return Some(current);
        }
        if self.near.contains_key(&number) {
            return None;
        }
        let kind = stored(lower.form.values[number]).ok()?;
        if let Some(scalar) = lower.shapes.constants[number] {
            return self.builder.get_mut().constant(kind, bits(scalar));
        }
        let shape = lower.shape(value);
        let even = lower.even.get(&number).filter(|_| lower.values[number].cell.is_none());
        let current = if let Some(&[first, step]) = even {
            let places = [Place::One(first), Place::One(step), Place::Lanes(lower.out.layout.counts[1])];
            let mut operands = [0; 3];
            for (operand, place) in operands.iter_mut().zip(places) {
                *operand = self.operand(Wanted::At(place))?;
            }
            let builder = self.builder.get_mut();
            let (first, step) = (builder.uniform(operands[0], kind)?, builder.uniform(operands[1], kind)?);
            let lanes = builder.load(operands[2], kind)?;
            let further = builder.multiply(lanes, step)?;
            builder.add(first, further)?
        } else if shape == Shape::Lanes {
            let operand = self.operand(Wanted::At(Place::Lanes(lower.values[number].cell?)))?;
            self.builder.get_mut().load(operand, kind)?
        } else {
            if self.differs(lower, value)? {
                return None;
            }
            let first = match self.differs.contains_key(&number) {
                true => Wanted::Number(value),
                false => Wanted::At(Place::One(lower.values[number].cell?)),
            };
            let operand = self.operand(first)?;
            let first = self.builder.get_mut().uniform(operand, kind)?;
            match shape {
                Shape::Follow { item, row } => {
                    let mut sum = first;
                    for (counts, step) in lower.out.layout.steps(kind.size(), item, row) {
                        let operand = self.operand(Wanted::At(Place::Lanes(counts)))?;
                        let builder = self.builder.get_mut();
                        let (counts, factor) =
                            (builder.load(operand, kind)?, builder.number(kind, f64::from(step))?);
                        let lanes = builder.multiply(counts, factor)?;
                        sum = builder.add(sum, lanes)?;
                    }
                    sum
                }
                _ => first,
            }
        };
        self.current.insert(number, current);
        Some(current)
    }

    fn variable(&mut self, lower: &Lower<'_>, variable: Variable) -> Option<stridewise_native::Value> {
        let number = variable.number();
        if let Some(held) = self.variables.get(&number) {
            return Some(held.current);
        }
        let kind = stored(lower.form.variables[number].dtype).ok()?;
        let operand = self.operand(Wanted::At(Place::Lanes(lower.variables[number].cell)))?;
        let current = self.builder.get_mut().load(operand, kind)?;
        self.variables.insert(number, Held { load: Some(operand), current, set: false });
        Some(current)
    }

    /// A statement; `None` where it is not for registers.
    fn statement(&mut self, lower: &mut Lower<'_>, statement: &'a Statement) -> Option<()> {
        match &statement.kind {
            StatementKind::Let { value, expression } => self.expression(lower, *value, expression),
            StatementKind::Set { variable, value } => {
                let number = variable.number();
                if lower.shapes.variables[number] != Shape::Lanes {
                    // What the round before has set would have to be known.
                    if self.read.contains(&number) {
                        return None;
                    }
                    self.differs(lower, *value)?;
                    self.set.retain(|&(variable, _)| variable != number);
                    self.set.push((number, *value));
                    return Some(());
                }
                let current = self.take(lower, *value)?;
                let load = self.variables.get(&number).and_then(|held| held.load);
                self.variables.insert(number, Held { load, current, set: true });
                Some(())
            }
            _ => None,
        }
    }

    fn expression(&mut self, lower: &mut Lower<'_>, value: Value, expression: &'a Expression) -> Option<()> {
        let (number, shape) = (value.number(), lower.shape(value));
        let mut differs = false;
        match expression {
            Expression::Constant(_) => return Some(()),
            Expression::Index { .. } if shape == Shape::Lanes => return None,
            Expression::Index { .. } | Expression::Extent { .. } => {}
            Expression::Get(variable) if shape == Shape::Lanes => {
                let current = self.variable(lower, *variable)?;
                self.current.insert(number, current);
                return Some(());
            }
            Expression::Get(variable) => {
                let variable = variable.number();
                if let Some(&(_, of)) = self.set.iter().find(|&&(set, _)| set == variable) {
                    let differs = self.differs(lower, of)?;
                    self.numbers.push((value, Number::Same(of)));
                    self.differs.insert(number, differs);
                    return Some(());
                }
                self.read.push(variable);
            }
            Expression::Load { object, indices } => return self.load(lower, value, *object, indices),
            Expression::Apply { op, operands } if self.keep_near(lower, value, *op, operands) => {
                return Some(());
            }
            Expression::Apply { op, operands } if shape == Shape::Lanes => {
                let taken: Option<Vec<_>> =
                    operands.iter().map(|&operand| self.take(lower, operand)).collect();
                let (dtype, out) = (lower.form.dtype(*operands.last()?), lower.form.dtype(value));
                let result = trace::step(&self.builder, (*op, dtype, out), &taken?)?;
                self.current.insert(number, result);
                return Some(());
            }
            Expression::Apply { op, operands } => {
                let (mut all, mut differing) = (Vec::new(), 0);
                for &operand in operands {
                    let differs = self.differs(lower, operand)?;
                    differing += usize::from(differs);
                    all.push((operand, differs));
                }
                differs = differing > 0;
                let out = lower.form.dtype(value);
                let is_even = match (op, &all[..]) {
                    (Op::Add | Op::Subtract | Op::Negative, _) => true,
                    (Op::Multiply, _) => differing == 1,
                    // What wraps at fewer bits does so on.
                    (Op::Cast, &[(operand, _)]) => match lower.form.dtype(operand) {
                        Dtype::I64 => true,
                        Dtype::I32 => out == Dtype::I32 || operand == self.counter,
                        _ => false,
                    },
                    _ => false,
                };
                if differs && !(is_even && matches!(out, Dtype::I32 | Dtype::I64)) {
                    return None;
                }
            }
            Expression::Collective { .. } => return None,
        }
        self.numbers.push((value, Number::Expression(expression)));
        self.differs.insert(number, differs);
        Some(())
    }

    fn load(
        &mut self,
        lower: &mut Lower<'_>,
        value: Value,
        object: Object,
        indices: &'a [Value],
    ) -> Option<()> {
        let private = matches!(lower.form.object(object).memory, Memory::Private { .. });
        let mut follow = usize::from(private);
        for &index in indices {
            let index = self.near.get(&index.number()).map_or(index, |&(of, _)| of);
            let differs = self.differs(lower, index)?;
            if differs && !matches!(lower.form.dtype(index), Dtype::I32 | Dtype::I64) {
                return None;
            }
            follow += usize::from(matches!(lower.shape(index), Shape::Follow { item: 1.. | ..=-1, .. }));
        }
        if follow > 1 {
            return None;
        }
        let kind = stored(lower.form.dtype(value)).ok()?;
        self.loads.push((object, indices));
        let operand = self.operand(Wanted::Load(self.loads.len() - 1))?;
        let builder = self.builder.get_mut();
        let current =
            if follow == 0 { builder.spread(operand, kind)? } else { builder.load(operand, kind)? };
        if lower.shape(value) != Shape::Lanes {
            self.spreads.push(value.number());
        }
        self.current.insert(value.number(), current);
        Some(())
    }
}

impl Lower<'_> {
    /// The rounds of a loop that stay in registers, before its head: as many as a cell says. `counts`: the
    /// rounds so far, and the counter with its step.
    pub(super) fn rounds(
        &mut self,
        counter: Value,
        body: &[Statement],
        rounds: Cell,
        (count, at, step): (Cell, Cell, Cell),
    ) -> Done {
        let mut known = Body {
            counter,
            builder: RefCell::new(Builder::new(self.out.routine.level())),
            wanted: Vec::new(),
            current: HashMap::new(),
            numbers: Vec::new(),
            differs: HashMap::new(),
            spreads: Vec::new(),
            loads: Vec::new(),
            near: HashMap::new(),
            read: Vec::new(),
            set: Vec::new(),
            variables: HashMap::new(),
        };
        if body.iter().any(|statement| known.statement(self, statement).is_none()) {
            return Ok(());
        }
        let mut carried = Vec::new();
        let mut set: Vec<(usize, Held)> = known.variables.drain().filter(|(_, held)| held.set).collect();
        set.sort_by_key(|&(number, _)| number);
        for (number, Held { load, current, .. }) in set {
            let place = Wanted::At(Place::Lanes(self.variables[number].cell));
            let stored = known
                .operand(place)
                .and_then(|store| known.builder.get_mut().store(store, current).map(|()| store));
            let Some(store) = stored else { return Ok(()) };
            carried.push(Carry { load, store });
        }
        let like: Vec<Place> = known.wanted.iter().map(Wanted::like).collect();
        let builder = known.builder.into_inner();
        let Some(plan) = (!carried.is_empty()).then(|| Rounds::new(&builder, &like, &carried)).flatten()
        else {
            return Ok(());
        };

        let otherwise = self.out.routine.target();
        if let (Some(active), Some(Mask { of, .. })) = (self.parted(), self.masks.last())
            && *of != Of::Kernel
        {
            self.out.routine.unless_whole(active, otherwise);
        }
        if self.fewer > 0 {
            // Lanes of the last vector that are none here may be some around it.
            self.out.routine.if_partial(otherwise);
        }
        self.out.routine.unless_rounds(rounds, otherwise);
        let mut slopes: HashMap<usize, Cell> = HashMap::from([(counter.number(), step)]);
        let mut room = Vec::new();
        for &(value, expression) in &known.numbers {
            let differs = known.differs[&value.number()];
            match expression {
                Number::Expression(expression) => {
                    self.expression(value, expression)?;
                    if let (true, Expression::Apply { op, operands }) = (differs, expression) {
                        let slope = self.slope(*op, operands, &slopes, &mut room)?;
                        slopes.insert(value.number(), slope);
                    }
                }
                Number::Same(of) => {
                    let cell = self.cell(of)?;
                    self.values[value.number()] = Kept { cell: Some(cell), alive: true, ..Kept::default() };
                    if let Some(&slope) = slopes.get(&of.number()) {
                        slopes.insert(value.number(), slope);
                    }
                }
            }
        }
        let mut moving = Vec::new();
        for &(object, indices) in &known.loads {
            let mut near = HashMap::new();
            let mut all: Vec<Option<Cell>> = Vec::new();
            for &index in indices {
                let of = match known.near.get(&index.number()) {
                    Some(&(of, bounds)) => {
                        let mut cells = [None; 2];
                        for (cell, (bound, most)) in cells.iter_mut().zip(bounds.into_iter().flatten()) {
                            *cell = Some((self.cell(bound)?, most));
                        }
                        near.insert(index.number(), self.near(of, cells)?);
                        of
                    }
                    None => index,
                };
                all.push(slopes.get(&of.number()).copied());
            }
            let elements = self.elements_near(object, indices, &near)?;
            all.resize(elements.axes.len(), None);
            let layout = &mut self.out.layout;
            let (address, by) = (layout.one(), layout.one());
            let row = layout.rows.is_some().then(|| layout.one());
            self.out.routine.reach(&elements, &all, rounds, (address, by, row), otherwise);
            moving.push(Place::Moving { at: address, by, row });
            room.extend([Some(address), Some(by), row].into_iter().flatten());
        }
        let mut places = Vec::new();
        for wanted in &known.wanted {
            places.push(match *wanted {
                Wanted::At(place) => place,
                Wanted::Number(value) => Place::One(self.cell(value)?),
                Wanted::Load(number) => moving[number],
            });
        }
        let (left, part) = (self.out.layout.one(), self.out.layout.one());
        room.extend([left, part]);
        let done = self.out.routine.rounds(&plan, &places, [rounds, left, part]);
        done.map_err(|_| crate::interpreter::compiled::Unsupported::Refused)?;
        // Variables have what the last round has set them to.
        for &(variable, value) in &known.set {
            let (to, first, kind) =
                (self.variables[variable].cell, self.cell(value)?, stored(self.form.dtype(value))?);
            match slopes.get(&value.number()) {
                Some(&slope) => {
                    let one = self.out.layout.given(Given::Bits(1));
                    self.out.routine.scalar(Scalar::Subtract, Kind::I64, left, rounds, one);
                    self.out.routine.scalar(Scalar::Multiply, Kind::I64, left, left, slope);
                    self.out.routine.scalar(Scalar::Add, kind, to, first, left);
                }
                None => self.out.routine.copy(to, first),
            }
        }
        self.out.routine.copy(count, rounds);
        self.out.routine.scalar(Scalar::Multiply, Kind::I64, left, rounds, step);
        self.out.routine.scalar(Scalar::Add, stored(self.form.dtype(counter))?, at, at, left);
        self.out.routine.here(otherwise);
        // They are computed anew in each round of the loop behind.
        for (value, _) in known.numbers {
            let kept = std::mem::take(&mut self.values[value.number()]);
            if let (Some(cell), true) = (kept.cell, kept.owned) {
                room.push(cell);
            }
        }
        self.released.extend(room.into_iter().map(|cell| (cell, 0)));
        Ok(())
    }

    /// By how much a number is more in the next round, that of a number which differs by equal steps.
    fn slope(
        &mut self,
        op: Op,
        operands: &[Value],
        slopes: &HashMap<usize, Cell>,
        room: &mut Vec<Cell>,
    ) -> Done<Cell> {
        let of = |at: usize| operands.get(at).and_then(|operand| slopes.get(&operand.number()).copied());
        let (op, x, y) = match (op, of(0), of(1)) {
            (Op::Add, Some(x), Some(y)) => (Scalar::Add, x, y),
            (Op::Subtract, Some(x), Some(y)) => (Scalar::Subtract, x, y),
            (Op::Subtract, None, Some(y)) | (Op::Negative, Some(y), _) => {
                (Scalar::Subtract, self.out.layout.given(Given::Bits(0)), y)
            }
            (Op::Multiply, Some(x), None) => (Scalar::Multiply, x, self.cell(operands[1])?),
            (Op::Multiply, None, Some(y)) => (Scalar::Multiply, self.cell(operands[0])?, y),
            (_, x, y) => return has(x.or(y)),
        };
        let to = self.out.layout.one();
        room.push(to);
        self.out.routine.scalar(op, Kind::I64, to, x, y);
        Ok(to)
    }
}
