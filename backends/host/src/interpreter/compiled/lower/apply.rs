//! Operations: on numbers that are one for all, on those that follow the ids, and on lanes.

use stridewise_core::backend::{ElementsFn, SAME};
use stridewise_core::kernel::Value;
use stridewise_core::{Dtype, DtypeKind, Op};
use stridewise_native::{Cell, Index, Kind, Place, Scalar as Number};

use super::{Done, Kept, Lower, has, stored};
use crate::interpreter::compiled::Call;
use crate::interpreter::compiled::memory::Given;
use crate::interpreter::compiled::shapes::Shape;
use crate::kernels;
use crate::kernels::native::compiler::trace;

impl Lower<'_> {
    pub(super) fn apply(&mut self, value: Value, op: Op, operands: &[Value]) -> Done {
        let out = self.form.dtype(value);
        let dtype = has(operands.last().map(|&operand| self.form.dtype(operand)))?;
        match self.shape(value) {
            Shape::One => return self.apply_one(value, op, operands, (dtype, out)),
            Shape::Follow { .. } => {
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
            Shape::Lanes if self.note_guard(value, op, operands)? => return Ok(()),
            Shape::Lanes if self.go_evenly(value, op, operands)? => return Ok(()),
            Shape::Lanes => self.keep_near(value, op, operands)?,
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
        let mut copies = Vec::new();
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
                    copies.push((cell, size));
                    cell
                }
            };
        }
        let run = self.function(op, dtype, out)?;
        let to = self.out.layout.lanes(out.size());
        self.call(Call::Function { run, to, args: fill(args, operands.len()), flags, one: false });
        self.released.extend(copies);
        self.values[value.number()] = Kept { cell: Some(to), owned: true, alive: true, current: None };
        Ok(())
    }

    /// Notes lanes that go on by equal steps which are no constants (`offset * (2 * j + 1) - 1`): who takes them for an index needs
    /// none of them. Whether they do.
    fn go_evenly(&mut self, value: Value, op: Op, operands: &[Value]) -> Done<bool> {
        let (&[x, y], Op::Add | Op::Subtract | Op::Multiply, Dtype::I64, None) =
            (operands, op, self.form.dtype(value), self.out.layout.rows)
        else {
            return Ok(false);
        };
        // The first lane's number, and the step where there is one.
        let mut known = [(Cell(0), None); 2];
        for (known, operand) in known.iter_mut().zip([x, y]) {
            *known = match (self.even.get(&operand.number()).copied(), self.shape(operand)) {
                (Some([first, step]), _) => (first, Some(step)),
                (None, Shape::One) => (self.cell(operand)?, None),
                (None, Shape::Follow { item, .. }) => {
                    let step = self.out.layout.given(Given::Bits(i64::from(item).cast_unsigned()));
                    (self.cell(operand)?, Some(step))
                }
                (None, Shape::Lanes) => return Ok(false),
            };
        }
        let zero = self.out.layout.given(Given::Bits(0));
        let (op, of, by) = match (op, known) {
            (Op::Multiply, [(_, Some(step)), (factor, None)] | [(factor, None), (_, Some(step))]) => {
                (Number::Multiply, step, factor)
            }
            (Op::Add, [(_, x), (_, y)]) => (Number::Add, x.unwrap_or(zero), y.unwrap_or(zero)),
            (Op::Subtract, [(_, x), (_, y)]) => (Number::Subtract, x.unwrap_or(zero), y.unwrap_or(zero)),
            _ => return Ok(false),
        };
        let [first, step] = [self.out.layout.one(), self.out.layout.one()];
        self.out.routine.scalar(op, Kind::I64, first, known[0].0, known[1].0);
        self.out.routine.scalar(op, Kind::I64, step, of, by);
        self.even.insert(value.number(), [first, step]);
        self.values[value.number()] = Kept { alive: true, ..Kept::default() };
        Ok(true)
    }

    /// Notes a number that follows the ids, kept between bounds: who takes it for an index needs no lanes of it.
    fn keep_near(&mut self, value: Value, op: Op, operands: &[Value]) -> Done {
        let (&[x, y], Op::Minimum | Op::Maximum, Dtype::I32 | Dtype::I64) =
            (operands, op, self.form.dtype(value))
        else {
            return Ok(());
        };
        let follows = |value: Value| {
            self.near.contains_key(&value.number()) || matches!(self.shape(value), Shape::Follow { .. })
        };
        let (of, bound) = match (self.shape(x), self.shape(y)) {
            (_, Shape::One) if follows(x) => (x, y),
            (Shape::One, _) if follows(y) => (y, x),
            _ => return Ok(()),
        };
        let before = match self.near.get(&of.number()) {
            Some(near) => *near,
            None => self.near(of, [None; 2])?,
        };
        let Index::Near { first, step, row, half, bounds: [inner, None] } = before else { return Ok(()) };
        let outer = Some((self.cell(bound)?, op == Op::Minimum));
        let bounds = if inner.is_none() { [outer, None] } else { [inner, outer] };
        self.stay(&[of, bound]);
        self.near.insert(value.number(), Index::Near { first, step, row, half, bounds });
        Ok(())
    }

    /// A number that is one for all or follows the ids, kept between bounds: each with whether it is the largest one.
    pub(super) fn near(&mut self, of: Value, bounds: [Option<(Cell, bool)>; 2]) -> Done<Index> {
        let (first, half) = (self.cell(of)?, self.form.dtype(of) == Dtype::I32);
        let (step, row) = match self.shape(of) {
            Shape::Follow { item, row } => (item, row),
            _ => (0, 0),
        };
        self.out.edges |= step != 0;
        Ok(Index::Near { first, step, row, half, bounds })
    }

    pub(super) fn function(&self, op: Op, dtype: Dtype, out: Dtype) -> Done<ElementsFn> {
        has(kernels::elements_fn(op, dtype, out, self.tuning).map(|elements| elements.run))
    }

    /// An operation on what is one for all, with an integer or truth value as its result.
    pub(super) fn apply_one(
        &mut self,
        value: Value,
        op: Op,
        operands: &[Value],
        (dtype, out): (Dtype, Dtype),
    ) -> Done {
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
