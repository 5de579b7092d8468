//! Variables, and elements of arrays.

use stridewise_core::Op;
use stridewise_core::kernel::{Expression, Memory, Object, Value, Variable};
use stridewise_native::{Axis, Elements, Index, Kind, Place, Scalar};

use super::{Done, Kept, Lower, Mask, Of, Pending, has, stored};
use crate::interpreter::compiled::memory::{GANG, Given};
use crate::interpreter::compiled::shapes::{Shape, Unsupported};
use crate::kernels::native::compiler::trace;

impl Lower<'_> {
    pub(super) fn set(&mut self, variable: Variable, value: Value) -> Done {
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
    pub(super) fn variable(&mut self, number: usize) -> Done<stridewise_native::Value> {
        if let Some(current) = self.variables[number].current {
            return Ok(current);
        }
        let (cell, kind) = (self.variables[number].cell, stored(self.form.variables[number].dtype)?);
        let current = self.load(Place::Lanes(cell), kind)?;
        self.variables[number].current = Some(current);
        Ok(current)
    }

    pub(super) fn expression(&mut self, value: Value, expression: &Expression) -> Done {
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
            Expression::Collective { collective, operand } => {
                self.collective(value, *collective, *operand)?
            }
        }
        Ok(())
    }

    pub(super) fn elements(&mut self, object: Object, indices: &[Value]) -> Done<Elements> {
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
                Shape::One if kind == Kind::U64 => {
                    // What is large without signs is not inside either way.
                    let most = self.out.layout.given(Given::Bits(i64::MAX.unsigned_abs()));
                    let near = self.out.layout.one();
                    self.out.routine.scalar(Scalar::Minimum, kind, near, cell, most);
                    self.released.push((near, 0));
                    Index::One(near)
                }
                Shape::One => Index::One(cell),
                Shape::Follow(step) => Index::Follow { first: cell, step, half: kind == Kind::I32 },
                Shape::Lanes => Index::Lanes(cell, kind),
            };
            let last = self.out.layout.given(Given::Last(number, axis));
            axes.push(Axis { index, last, stride: self.out.layout.given(Given::Stride(number, axis)) });
        }
        let size = u8::try_from(self.form.object(object).dtype.size()).map_err(|_| Unsupported::Refused)?;
        if matches!(self.form.object(object).memory, Memory::Private { .. }) {
            // The lanes' elements of the same indices lie one after another.
            let layout = &mut self.out.layout;
            let first = layout.given(Given::Bits(0));
            axes.push(Axis {
                index: Index::Follow { first, step: 1, half: false },
                last: layout.given(Given::Bits(GANG as u64 - 1)),
                stride: layout.given(Given::Bits(size.into())),
            });
        }
        Ok(Elements { start: self.out.layout.given(Given::Start(number)), axes, size })
    }

    pub(super) fn store_elements(&mut self, object: Object, indices: &[Value], value: Value) -> Done {
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
}
