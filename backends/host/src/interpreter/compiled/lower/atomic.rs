//! Atomic accesses: the engine does them, lane after lane.

use stridewise_core::kernel::{Atomic, AtomicOp, Memory, Value};
use stridewise_core::{DtypeKind, Op};
use stridewise_native::{Addend, Place, Sum};

use super::{Done, Kept, Lower};
use crate::interpreter::compiled::Call;
use crate::interpreter::compiled::calls::{Access, Operand, Update};
use crate::interpreter::compiled::shapes::Shape;

impl Lower<'_> {
    pub(super) fn atomic(&mut self, number: usize, atomic: &Atomic) -> Done {
        let dtype = self.form.object(atomic.object).dtype;
        let mut copies = Vec::new();
        let operand = match atomic.operand {
            Some(operand) => Some(self.each(operand, &mut copies)?),
            None => None,
        };
        let update = match atomic.op {
            AtomicOp::Load => Update::Nothing,
            AtomicOp::Store | AtomicOp::Exchange => Update::Operand,
            AtomicOp::CompareExchange { expected } => Update::Where(self.each(expected, &mut copies)?),
            AtomicOp::Add if dtype.kind() != DtypeKind::Float => Update::Sum,
            op => Update::By(self.function(op.combines().unwrap_or(Op::Add), dtype, dtype)?),
        };
        // Everything before it is in memory, what is written too.
        for &index in &atomic.indices {
            if self.shape(index) == Shape::Lanes {
                self.in_memory(index)?;
            }
        }
        self.flush()?;
        // No block ends from here on to the call, so its room stays its own.
        let elements = self.elements(atomic.object, &atomic.indices)?;
        let shared = matches!(self.form.object(atomic.object).memory, Memory::Global { .. });
        let wanted = atomic.result.filter(|result| !self.kernel.ends_at(number).contains(result));
        let sum = match (dtype.kind(), shared) {
            // There is no instruction for an atomic sum of floats.
            (DtypeKind::Float, true) => None,
            (DtypeKind::Float, false) => Some(Sum::Floats),
            (_, true) => Some(Sum::Shared),
            (_, false) => Some(Sum::Integers),
        };
        if let (AtomicOp::Add, None, Some(Operand { cell, same }), Some(sum)) =
            (atomic.op, wanted, operand, sum)
        {
            let addend = if same { Addend::One(cell) } else { Addend::Lanes(cell) };
            self.out.routine.add_to(&elements, self.parted(), self.out.layout.full, addend, sum);
            self.released.extend(copies);
            return Ok(());
        }
        let result = wanted.map(|result| (result, self.out.layout.lanes(dtype.size())));
        self.call(Call::Atomic(Access {
            elements,
            mask: self.active(),
            update,
            operand,
            result: result.map(|(_, cell)| cell),
            shared,
            isa: self.tuning.isa,
            counts: [
                self.out.layout.counts[1],
                self.out.layout.rows.map_or(self.out.layout.counts[1], |rows| rows[1]),
            ],
        }));
        if let Some((value, cell)) = result {
            self.values[value.number()] = Kept { cell: Some(cell), owned: true, alive: true, current: None };
        }
        self.released.extend(copies);
        Ok(())
    }

    /// Where each lane's element of a value is in memory.
    pub(super) fn each(
        &mut self,
        value: Value,
        copies: &mut Vec<(stridewise_native::Cell, usize)>,
    ) -> Done<Operand> {
        Ok(match self.shape(value) {
            Shape::One => Operand { cell: self.cell(value)?, same: true },
            Shape::Lanes => Operand { cell: self.in_memory(value)?, same: false },
            Shape::Follow { .. } => {
                let size = self.form.dtype(value).size();
                let (cell, current) = (self.out.layout.lanes(size), self.current(value)?);
                self.store(Place::Lanes(cell), current)?;
                copies.push((cell, size));
                Operand { cell, same: false }
            }
        })
    }
}
