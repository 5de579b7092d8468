//! Elements of memory objects, and what orders accesses to them.

use smallvec::SmallVec;

use super::super::sync::{Atomic, AtomicOp, Fence, MemoryOrder, MemoryScope};
use super::super::tree::{Expression, Object, StatementKind, Value};
use super::{KernelBuilder, Operand};
use crate::diagnostic::Rule;
use crate::dtype::Dtype;
use crate::error::Result;

impl KernelBuilder {
    /// The extent of a memory object along an axis, an `int64`.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) for an axis that it has not.
    #[track_caller]
    pub fn extent(&mut self, object: Object, axis: usize) -> Result<Value> {
        let ndim = self.info(object)?.memory.ndim();
        match u8::try_from(axis) {
            Ok(axis) if usize::from(axis) < ndim => {
                self.define(Dtype::I64, Expression::Extent { object, axis })
            }
            _ => Err(self.error(Rule::IndexCount, format!("axis {axis} of an array of {ndim} dimensions"))),
        }
    }

    /// An element.
    ///
    /// # Errors
    /// [`Error::Kernel`](crate::Error::Kernel) where the indices are not one integer for each dimension.
    #[track_caller]
    pub fn load(
        &mut self,
        object: Object,
        indices: impl IntoIterator<Item = impl Into<Operand>>,
    ) -> Result<Value> {
        let indices = self.indices(object, indices)?;
        let dtype = self.form.object(object).dtype;
        self.define(dtype, Expression::Load { object, indices })
    }

    /// Writes an element; the operand is converted as an assignment to an array element converts it.
    ///
    /// # Errors
    /// As for [`load`](Self::load); [`Error::Kernel`](crate::Error::Kernel) where the object is read-only or the operand does not convert.
    #[track_caller]
    pub fn store(
        &mut self,
        object: Object,
        indices: impl IntoIterator<Item = impl Into<Operand>>,
        operand: impl Into<Operand>,
    ) -> Result<()> {
        let indices = self.indices(object, indices)?;
        let dtype = self.form.object(object).dtype;
        let value = self.assigned(operand.into(), dtype)?;
        self.push(StatementKind::Store { object, indices, value });
        Ok(())
    }

    /// An atomic access; the result is what was there before.
    ///
    /// # Errors
    /// As for [`store`](Self::store); [`Error::Kernel`](crate::Error::Kernel) where the operation wants an operand or has none.
    #[track_caller]
    pub fn atomic(
        &mut self,
        op: AtomicOp,
        object: Object,
        indices: impl IntoIterator<Item = impl Into<Operand>>,
        operand: Option<Operand>,
        (order, scope): (MemoryOrder, MemoryScope),
    ) -> Result<Value> {
        let indices = self.indices(object, indices)?;
        let dtype = self.form.object(object).dtype;
        let operand = match operand {
            Some(operand) => Some(self.assigned(operand, dtype)?),
            None => None,
        };
        let value = self.value(dtype)?;
        let result = (op != AtomicOp::Store).then_some(value);
        self.push(StatementKind::Atomic(Atomic { op, object, indices, operand, result, order, scope }));
        Ok(value)
    }

    /// Orders the item's own accesses for others.
    #[track_caller]
    pub fn fence(&mut self, order: MemoryOrder, scope: MemoryScope) {
        self.push(StatementKind::Fence { order, scope });
    }

    /// Waits for all items of the group. Where it may stand is verified at the end.
    #[track_caller]
    pub fn barrier(&mut self, fence: Fence) {
        self.push(StatementKind::Barrier(fence));
    }

    #[track_caller]
    fn indices(
        &mut self,
        object: Object,
        indices: impl IntoIterator<Item = impl Into<Operand>>,
    ) -> Result<SmallVec<[Value; 3]>> {
        self.info(object)?;
        let mut values = SmallVec::new();
        for index in indices {
            values.push(self.get(index)?);
        }
        Ok(values)
    }
}
