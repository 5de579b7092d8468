//! Variables, and elements of arrays.

use std::collections::HashMap;

use stridewise_core::Op;
use stridewise_core::kernel::{Coordinate, Expression, Memory, Object, Value, Variable};
use stridewise_native::{Active, Axis, Cell, Elements, Found, Index, Kind, MOST_ROWS, Place, Scalar};

use super::{Done, Kept, Lower, Mask, Of, Pending, has, stored};
use crate::interpreter::compiled::memory::Given;
use crate::interpreter::compiled::shapes::{Shape, Unsupported};
use crate::kernels::native::compiler::trace;

/// Where a block has elements that were found.
fn at(Found { address, by, .. }: Found) -> Place {
    by.map_or(Place::At(address), |by| Place::Rows { at: address, by })
}

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
            let (before, mask) = (self.variable(number)?, self.innermost(cell)?);
            let dtype = self.form.variables[number].dtype;
            new = has(trace::step(&self.builder, (Op::Where, dtype, dtype), &[mask, new, before]))?;
        }
        self.variables[number].current = Some(new);
        self.variables[number].dirty = true;
        Ok(())
    }

    /// The innermost mask, in the block.
    fn innermost(&mut self, cell: Cell) -> Done<stridewise_native::Value> {
        let mask = match self.mask {
            Some(mask) => mask,
            None => self.load(Place::Lanes(cell), Kind::U8)?,
        };
        self.mask = Some(mask);
        Ok(mask)
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
                if shape == Shape::Lanes {
                    // The first item's, and how many rows and columns each one is further.
                    let last = u8::try_from(self.form.dims - 1).map_err(|_| Unsupported::Refused)?;
                    let many = self.out.layout.given(Given::Index(*level, Coordinate::Range(last)));
                    let mut sum = self.load(Place::One(cell), Kind::I64)?;
                    let mut factor = None;
                    for (counts, _) in self.out.layout.steps(8, 1, 1) {
                        let mut lanes = self.load(Place::Lanes(counts), Kind::I64)?;
                        if let Some(factor) = factor.replace(self.load(Place::One(many), Kind::I64)?) {
                            lanes = has(self.builder.get_mut().multiply(lanes, factor))?;
                        }
                        sum = has(self.builder.get_mut().add(sum, lanes))?;
                    }
                    self.define(value, sum);
                    return Ok(());
                }
                self.values[value.number()] = Kept { cell: Some(cell), alive: true, ..Kept::default() };
            }
            Expression::Extent { object, axis } => {
                let cell = self.out.layout.given(Given::Extent(object.number(), usize::from(*axis)));
                self.values[value.number()] = Kept { cell: Some(cell), alive: true, ..Kept::default() };
            }
            Expression::Load { object, indices } => {
                // What the block writes may be what is read.
                if self.pending.is_some() || self.has_many_rows(1) {
                    self.flush()?;
                }
                let elements = self.elements(*object, indices)?;
                let (dtype, kind) = (self.form.dtype(value), stored(self.form.dtype(value))?);
                if shape == Shape::One {
                    let to = self.define_one(value);
                    self.out.routine.load_one(&elements, to, kind.is_signed());
                } else {
                    let place = self.found(dtype.size());
                    let current = if self.is_one_for_rows(*object, indices) {
                        self.out.routine.find_rows(&elements, place);
                        let number = self.operand(at(place))?;
                        has(self.builder.get_mut().spread(number, kind))?
                    } else {
                        self.out.routine.find(&elements, self.parted(), place);
                        self.load(at(place), kind)?
                    };
                    self.define(value, current);
                }
            }
            Expression::Collective { collective, operand } => {
                self.collective(value, *collective, *operand)?
            }
        }
        Ok(())
    }

    /// Whether elements are one for all of a row, of several rows.
    fn is_one_for_rows(&self, object: Object, indices: &[Value]) -> bool {
        let private = matches!(self.form.object(object).memory, Memory::Private { .. });
        let is_one = |&index: &Value| matches!(self.shape(index), Shape::One | Shape::Follow { item: 0, .. });
        self.out.layout.rows.is_some() && !private && indices.iter().all(is_one)
    }

    /// Room for where elements of so many bytes are, which is free behind the block.
    fn found(&mut self, size: usize) -> Found {
        let layout = &mut self.out.layout;
        let (copies, address) = (layout.lanes(size), layout.one());
        let by = layout.rows.is_some().then(|| layout.one());
        self.released.extend([(copies, size), (address, 0)]);
        self.released.extend(by.map(|by| (by, 0)));
        Found { copies, address, by }
    }

    /// Whether the block has no room for so many more operands of rows.
    fn has_many_rows(&self, more: usize) -> bool {
        let rows = self.places.iter().filter(|place| matches!(place, Place::Rows { .. })).count();
        rows + more > MOST_ROWS
    }

    /// Which items are active, where some may not be.
    pub(super) fn parted(&self) -> Option<Active> {
        self.masks.last().map(|&Mask { cell, all, .. }| Active { mask: cell, all })
    }

    pub(super) fn elements(&mut self, object: Object, indices: &[Value]) -> Done<Elements> {
        let near = std::mem::take(&mut self.near);
        let elements = self.elements_near(object, indices, &near);
        self.near = near;
        elements
    }

    /// The same with other knowledge of what is kept between bounds.
    pub(super) fn elements_near(
        &mut self,
        object: Object,
        indices: &[Value],
        near: &HashMap<usize, Index>,
    ) -> Done<Elements> {
        let number = object.number();
        let mut axes = Vec::new();
        for &index in indices {
            let number = index.number();
            let known = near.contains_key(&number) || self.even.contains_key(&number);
            if self.shape(index) == Shape::Lanes && !known {
                self.in_memory(index)?;
            }
        }
        for (axis, &index) in indices.iter().enumerate() {
            let last = self.out.layout.given(Given::Last(number, axis));
            let stride = self.out.layout.given(Given::Stride(number, axis));
            if let Some(index) = near.get(&index.number()) {
                axes.push(Axis { index: *index, last, stride });
                continue;
            }
            if let Some(&[first, step]) = self.even.get(&index.number()) {
                axes.push(Axis { index: Index::Even { first, step }, last, stride });
                continue;
            }
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
                Shape::Follow { item, row } => {
                    Index::Follow { first: cell, step: item, row, half: kind == Kind::I32 }
                }
                Shape::Lanes => Index::Lanes(cell, kind),
            };
            axes.push(Axis { index, last, stride });
        }
        let size = u8::try_from(self.form.object(object).dtype.size()).map_err(|_| Unsupported::Refused)?;
        if matches!(self.form.object(object).memory, Memory::Private { .. }) {
            // The lanes' elements of the same indices lie one after another.
            let layout = &mut self.out.layout;
            axes.push(Axis {
                index: Index::Lane,
                last: layout.given(Given::Bits(layout.gang as u64 - 1)),
                stride: layout.given(Given::Bits(size.into())),
            });
        }
        Ok(Elements { start: self.out.layout.given(Given::Start(number)), axes, size })
    }

    pub(super) fn store_elements(&mut self, object: Object, indices: &[Value], value: Value) -> Done {
        // One store a block: of two to one place the later one counts.
        if self.pending.is_some() || self.has_many_rows(2) {
            self.flush()?;
        }
        let elements = self.elements(object, indices)?;
        let mut current = self.current(value)?;
        let active = self.parted();
        let place = self.found(elements.size.into());
        // Elements of this thread alone are written back where their items are not active.
        let own = !matches!(self.form.object(object).memory, Memory::Global { .. } | Memory::Constant { .. });
        if let (Some(Active { mask, .. }), true) = (active, own) {
            self.out.routine.aim(&elements, None, place);
            let dtype = self.form.object(object).dtype;
            let (before, mask) = (self.load(at(place), stored(dtype)?)?, self.innermost(mask)?);
            current = has(trace::step(&self.builder, (Op::Where, dtype, dtype), &[mask, current, before]))?;
        } else {
            self.out.routine.aim(&elements, active, place);
        }
        self.store(at(place), current)?;
        self.pending = Some(Pending { elements, active, place });
        Ok(())
    }
}
