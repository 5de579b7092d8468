//! The builder of kernels, for the reader of their source.

use std::sync::Arc;

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use stridewise::kernel::{
    AtomicOp, Collective, Coordinate, Fence, KernelBuilder, Level, MemoryOrder, MemoryScope, Object, Operand,
    Position, Value, Variable,
};
use stridewise::{Dtype, DtypeSupport, Op};

use super::launch::PyCompiled;
use crate::array::construct::shape_of;
use crate::array::operand;
use crate::dtype;
use crate::errors::{Fault, Result, shown};
use crate::objects;

/// A value of a kernel that is built.
#[pyclass(name = "_Value", module = "stridewise._native", frozen)]
pub(crate) struct PyValue(Value, Dtype);

#[pymethods]
impl PyValue {
    /// The dtype's name.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.1.name()
    }
}

/// A variable of a kernel that is built.
#[pyclass(name = "_Variable", module = "stridewise._native", frozen)]
pub(crate) struct PyVariable(Variable);

/// A memory object of a kernel that is built.
#[pyclass(name = "_Object", module = "stridewise._native", frozen)]
pub(crate) struct PyObject(Object);

/// Builds a kernel for the reader of its source. Every statement gets the place that was said last.
#[pyclass(name = "_KernelBuilder", module = "stridewise._native")]
pub(crate) struct PyBuilder {
    builder: Option<KernelBuilder>,
    file: Arc<str>,
}

fn named<T: Copy>(what: &str, name: &str, all: &[(&str, T)]) -> Result<T> {
    all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(known, _)| *known).collect();
        Fault::Python(PyValueError::new_err(format!(
            "`{what}` is {name:?}; expected one of {}; help: names are those of SYCL",
            names.join(", ")
        )))
    })
}

fn op_of(name: &str) -> Result<Op> {
    Op::ALL.iter().copied().find(|op| op.name() == name).ok_or_else(|| {
        Fault::Python(PyValueError::new_err(format!("`op` is {name:?}; expected an operation's name")))
    })
}

fn operand_of(argument: &Bound<'_, PyAny>) -> Result<Operand> {
    if let Ok(value) = argument.cast::<PyValue>() {
        return Ok(value.get().0.into());
    }
    if let Ok(variable) = argument.cast::<PyVariable>() {
        return Ok(variable.get().0.into());
    }
    match argument.extract::<operand::Operand<'_>>()? {
        operand::Operand::Weak(number) => Ok(number.into()),
        operand::Operand::Scalar(scalar) => Ok(scalar.into()),
        operand::Operand::Array(_) => {
            Err(Fault::Python(PyTypeError::new_err(format!("{} is no operand", shown(argument)))))
        }
    }
}

fn operands_of(arguments: &Bound<'_, PyAny>) -> Result<Vec<Operand>> {
    objects::values(arguments, |argument| operand_of(&argument))
}

impl PyBuilder {
    fn get(&mut self) -> Result<&mut KernelBuilder> {
        self.builder.as_mut().ok_or_else(|| Fault::Python(PyRuntimeError::new_err("the kernel is finished")))
    }

    fn wrap(&mut self, value: Value) -> Result<PyValue> {
        let dtype = self.get()?.dtype(value)?;
        Ok(PyValue(value, dtype))
    }
}

const LEVELS: [(&str, Level); 3] =
    [("global", Level::Global), ("local", Level::Local), ("group", Level::Group)];
const ORDERS: [(&str, MemoryOrder); 5] = [
    ("relaxed", MemoryOrder::Relaxed),
    ("acquire", MemoryOrder::Acquire),
    ("release", MemoryOrder::Release),
    ("acq_rel", MemoryOrder::AcqRel),
    ("seq_cst", MemoryOrder::SeqCst),
];
const SCOPES: [(&str, MemoryScope); 5] = [
    ("work_item", MemoryScope::WorkItem),
    ("sub_group", MemoryScope::SubGroup),
    ("work_group", MemoryScope::WorkGroup),
    ("device", MemoryScope::Device),
    ("system", MemoryScope::System),
];
const ATOMICS: [(&str, AtomicOp); 10] = [
    ("load", AtomicOp::Load),
    ("store", AtomicOp::Store),
    ("exchange", AtomicOp::Exchange),
    ("add", AtomicOp::Add),
    ("sub", AtomicOp::Subtract),
    ("min", AtomicOp::Minimum),
    ("max", AtomicOp::Maximum),
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
];

#[pymethods]
impl PyBuilder {
    #[new]
    fn new(name: &str, dims: usize) -> Result<Self> {
        Ok(Self { builder: Some(KernelBuilder::new(name, dims)?), file: Arc::from("") })
    }

    /// Says where the following statements stand: from 1 on.
    fn at(&mut self, file: &str, line: u32, column: u32, length: u32) -> Result<()> {
        if *self.file != *file {
            self.file = file.into();
        }
        let position = Position { file: Arc::clone(&self.file), line, column, length };
        self.get()?.at(Some(position));
        Ok(())
    }

    fn array(&mut self, name: &str, dtype: &Bound<'_, PyAny>, ndim: usize) -> Result<PyObject> {
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        Ok(PyObject(self.get()?.global(name, dtype, ndim, true)?))
    }
    fn scalar(&mut self, name: &str, dtype: &Bound<'_, PyAny>) -> Result<PyValue> {
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        Ok(PyValue(self.get()?.scalar(name, dtype)?, dtype))
    }
    fn local_argument(&mut self, name: &str, dtype: &Bound<'_, PyAny>, ndim: usize) -> Result<PyObject> {
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        Ok(PyObject(self.get()?.local_argument(name, dtype, ndim)?))
    }
    fn local(&mut self, name: &str, dtype: &Bound<'_, PyAny>, shape: &Bound<'_, PyAny>) -> Result<PyObject> {
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        let shape = shape_of(shape)?;
        Ok(PyObject(self.get()?.local(name, dtype, &shape)?))
    }
    fn private(
        &mut self,
        name: &str,
        dtype: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
    ) -> Result<PyObject> {
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        let shape = shape_of(shape)?;
        Ok(PyObject(self.get()?.private(name, dtype, &shape)?))
    }
    /// Elements in row-major order, as Python's numbers.
    fn constant(
        &mut self,
        name: &str,
        dtype: &Bound<'_, PyAny>,
        shape: &Bound<'_, PyAny>,
        elements: &Bound<'_, PyAny>,
    ) -> Result<PyObject> {
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        let shape = shape_of(shape)?;
        let elements = objects::values(elements, |element| match operand::number(&element)? {
            Some(number) => Ok(number.to_scalar(dtype)?),
            None => Err(Fault::Python(PyTypeError::new_err(format!("{} is no number", shown(&element))))),
        })?;
        Ok(PyObject(self.get()?.constant_array(name, &shape, &elements)?))
    }

    fn variable(&mut self, name: &str, dtype: &Bound<'_, PyAny>) -> Result<PyVariable> {
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        Ok(PyVariable(self.get()?.variable(name, dtype)?))
    }
    fn set(&mut self, variable: &PyVariable, value: &Bound<'_, PyAny>) -> Result<()> {
        let value = operand_of(value)?;
        Ok(self.get()?.set(variable.0, value)?)
    }
    fn get_value(&mut self, operand: &Bound<'_, PyAny>) -> Result<PyValue> {
        let operand = operand_of(operand)?;
        let value = self.get()?.get(operand)?;
        self.wrap(value)
    }
    #[pyo3(signature = (op, *operands))]
    fn apply(&mut self, op: &str, operands: &Bound<'_, PyAny>) -> Result<PyValue> {
        let operands = operands_of(operands)?;
        let value = self.get()?.apply(op_of(op)?, &operands)?;
        self.wrap(value)
    }
    fn cast(&mut self, operand: &Bound<'_, PyAny>, dtype: &Bound<'_, PyAny>) -> Result<PyValue> {
        let operand = operand_of(operand)?;
        let dtype = dtype::extract(dtype, DtypeSupport::ALL)?;
        Ok(PyValue(self.get()?.cast(operand, dtype)?, dtype))
    }
    /// level: "global", "local" or "group". axis: that of an id, or of an extent where `range`; None: the linear id.
    #[pyo3(signature = (level, axis=None, range=false))]
    fn index(&mut self, level: &str, axis: Option<u8>, range: bool) -> Result<PyValue> {
        let coordinate = match axis {
            None => Coordinate::LinearId,
            Some(axis) if range => Coordinate::Range(axis),
            Some(axis) => Coordinate::Id(axis),
        };
        let value = self.get()?.index(named("level", level, &LEVELS)?, coordinate)?;
        self.wrap(value)
    }
    fn extent(&mut self, object: &PyObject, axis: usize) -> Result<PyValue> {
        let value = self.get()?.extent(object.0, axis)?;
        self.wrap(value)
    }
    fn load(&mut self, object: &PyObject, indices: &Bound<'_, PyAny>) -> Result<PyValue> {
        let indices = operands_of(indices)?;
        let value = self.get()?.load(object.0, indices)?;
        self.wrap(value)
    }
    fn store(
        &mut self,
        object: &PyObject,
        indices: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let (indices, value) = (operands_of(indices)?, operand_of(value)?);
        Ok(self.get()?.store(object.0, indices, value)?)
    }
    /// `expected` makes it a compare-exchange.
    #[pyo3(signature = (op, object, indices, operand, order, scope, expected=None))]
    #[expect(clippy::too_many_arguments, reason = "an atomic access has these")]
    fn atomic(
        &mut self,
        op: &str,
        object: &PyObject,
        indices: &Bound<'_, PyAny>,
        operand: Option<&Bound<'_, PyAny>>,
        order: &str,
        scope: &str,
        expected: Option<&Bound<'_, PyAny>>,
    ) -> Result<Option<PyValue>> {
        let indices = operands_of(indices)?;
        let operand = operand.map(operand_of).transpose()?;
        let rules = (named("memory_order", order, &ORDERS)?, named("memory_scope", scope, &SCOPES)?);
        let builder = self.get()?;
        let op = match expected {
            None => named("op", op, &ATOMICS)?,
            Some(expected) => {
                let expected = builder.get(operand_of(expected)?)?;
                AtomicOp::CompareExchange { expected }
            }
        };
        let value = builder.atomic(op, object.0, indices, operand, rules)?;
        if op == AtomicOp::Store {
            return Ok(None);
        }
        self.wrap(value).map(Some)
    }
    fn fence(&mut self, order: &str, scope: &str) -> Result<()> {
        let (order, scope) = (named("memory_order", order, &ORDERS)?, named("memory_scope", scope, &SCOPES)?);
        self.get()?.fence(order, scope);
        Ok(())
    }
    fn barrier(&mut self, local: bool, global: bool) -> Result<()> {
        self.get()?.barrier(Fence { local, global });
        Ok(())
    }
    /// kind: "reduce", "inclusive_scan" or "exclusive_scan" by an operation; "broadcast" from an item; "all" or "any".
    #[pyo3(signature = (kind, operand, op=None, from_=None))]
    fn collective(
        &mut self,
        kind: &str,
        operand: &Bound<'_, PyAny>,
        op: Option<&str>,
        from_: Option<&Bound<'_, PyAny>>,
    ) -> Result<PyValue> {
        let operand = operand_of(operand)?;
        let op = op.map(op_of).transpose()?.unwrap_or(Op::Add);
        let from = from_.map(operand_of).transpose()?.unwrap_or(Operand::from(0));
        let builder = self.get()?;
        let collective = match kind {
            "broadcast" => Collective::Broadcast(builder.get(from)?),
            _ => named(
                "kind",
                kind,
                &[
                    ("reduce", Collective::Reduce(op)),
                    ("inclusive_scan", Collective::InclusiveScan(op)),
                    ("exclusive_scan", Collective::ExclusiveScan(op)),
                    ("all", Collective::All),
                    ("any", Collective::Any),
                ],
            )?,
        };
        let value = builder.collective(collective, operand)?;
        self.wrap(value)
    }
    fn assert_(&mut self, condition: &Bound<'_, PyAny>, message: &str) -> Result<()> {
        let condition = operand_of(condition)?;
        Ok(self.get()?.assert(condition, message)?)
    }

    fn if_(&mut self, condition: &Bound<'_, PyAny>) -> Result<()> {
        let condition = operand_of(condition)?;
        Ok(self.get()?.if_(condition)?)
    }
    fn else_(&mut self) -> Result<()> {
        Ok(self.get()?.else_()?)
    }
    fn while_(&mut self) -> Result<()> {
        Ok(self.get()?.while_()?)
    }
    fn do_(&mut self, condition: &Bound<'_, PyAny>) -> Result<()> {
        let condition = operand_of(condition)?;
        Ok(self.get()?.do_(condition)?)
    }
    fn for_(
        &mut self,
        start: &Bound<'_, PyAny>,
        end: &Bound<'_, PyAny>,
        step: &Bound<'_, PyAny>,
    ) -> Result<PyValue> {
        let (start, end, step) = (operand_of(start)?, operand_of(end)?, operand_of(step)?);
        let counter = self.get()?.for_(start, end, step)?;
        self.wrap(counter)
    }
    fn break_(&mut self) -> Result<()> {
        self.get()?.break_();
        Ok(())
    }
    fn continue_(&mut self) -> Result<()> {
        self.get()?.continue_();
        Ok(())
    }
    /// Opens a function's body; what it returns is in variables of the reader's.
    fn call(&mut self, function: &str) -> Result<()> {
        Ok(self.get()?.call(function, None)?)
    }
    fn return_(&mut self) -> Result<()> {
        Ok(self.get()?.return_(None)?)
    }
    fn end(&mut self) -> Result<()> {
        Ok(self.get()?.end()?)
    }
    fn finish(&mut self) -> Result<PyCompiled> {
        self.get()?;
        match self.builder.take() {
            Some(builder) => Ok(PyCompiled(builder.finish()?)),
            None => Err(Fault::Python(PyRuntimeError::new_err("the kernel is finished"))),
        }
    }
}
