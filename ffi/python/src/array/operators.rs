//! Operators. Out of place they record; in place they submit.

// What `#[pymethods]` makes of methods that a macro has written counts as written here.
#![allow(unsafe_op_in_unsafe_fn)]

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use stridewise::{Error, Op, UsmArray, Weak, elementwise};

use super::operand::{Given, Operand, Part, together};
use super::{Now, PyArray};
use crate::errors::{Fault, Result};

/// Records an operation on two operands.
fn binary(py: Python<'_>, op: Op, mut x1: Operand<'_>, mut x2: Operand<'_>) -> Result<PyArray> {
    together!(x1, x2);
    let operands = [x1.get(), x2.get()];
    Ok(py.detach(|| elementwise(op, &operands))?.into())
}

impl PyArray {
    /// `self ∘ other`, recorded.
    fn combine<'py>(slf: PyRef<'py, Self>, op: Op, other: Operand<'py>) -> Result<Self> {
        binary(slf.py(), op, Operand::Array(Given::Ours(Now::of(slf))), other)
    }

    /// `other ∘ self`, recorded.
    fn combine_reflected<'py>(slf: PyRef<'py, Self>, op: Op, other: Operand<'py>) -> Result<Self> {
        binary(slf.py(), op, other, Operand::Array(Given::Ours(Now::of(slf))))
    }

    /// `self = self ∘ other`, in place.
    fn update(&self, py: Python<'_>, op: Op, mut other: Operand<'_>) -> Result<()> {
        let array: &UsmArray = &self.array();
        other.put_on(array.queue())?;
        let operands = [array.into(), other.get()];
        py.detach(|| array.write_elementwise(op, &operands, &[])).map_err(|error| in_place(op, error))?;
        Ok(())
    }
}

/// What is said of an operation in place, whose result the array's dtype does not hold: there is no `out` that anybody has named.
fn in_place(op: Op, error: Error) -> Fault {
    let sign = match op {
        Op::Add => "+",
        Op::Subtract => "-",
        Op::Multiply => "*",
        Op::Divide => "/",
        Op::FloorDivide => "//",
        Op::Remainder => "%",
        Op::Pow => "**",
        Op::BitwiseAnd => "&",
        Op::BitwiseOr => "|",
        Op::BitwiseXor => "^",
        Op::BitwiseLeftShift => "<<",
        Op::BitwiseRightShift => ">>",
        _ => return Fault::Core(error),
    };
    match &error {
        Error::Dtype(complaint) if complaint.argument == "out" => {
            let whole = if op == Op::Divide { "`x //= y`, whose result is of integers, or " } else { "" };
            Fault::Python(PyTypeError::new_err(format!(
                "dtype: the array that `{sign}=` writes to is of {}; expected {}; help: write {whole}`x = x {sign} y`, which makes a \
                 new array",
                complaint.value, complaint.expected
            )))
        }
        _ => Fault::Core(error),
    }
}

/// One line per operator of two operands: its operation, its method, the reflected one and the one in place. What is no
/// operand is left to the other object.
macro_rules! operators {
    ($($Op:ident $forward:ident $reflected:ident $in_place:ident;)*) => {
        #[pymethods]
        impl PyArray {
            $(
                fn $forward<'py>(slf: PyRef<'py, Self>, other: Operand<'py>) -> Result<Self> {
                    Self::combine(slf, Op::$Op, other)
                }
                fn $reflected<'py>(slf: PyRef<'py, Self>, other: Operand<'py>) -> Result<Self> {
                    Self::combine_reflected(slf, Op::$Op, other)
                }
                fn $in_place(&self, py: Python<'_>, other: Operand<'_>) -> Result<()> {
                    self.update(py, Op::$Op, other)
                }
            )*
        }
    };
}
operators! {
    Add __add__ __radd__ __iadd__;
    Subtract __sub__ __rsub__ __isub__;
    Multiply __mul__ __rmul__ __imul__;
    Divide __truediv__ __rtruediv__ __itruediv__;
    FloorDivide __floordiv__ __rfloordiv__ __ifloordiv__;
    Remainder __mod__ __rmod__ __imod__;
    BitwiseAnd __and__ __rand__ __iand__;
    BitwiseOr __or__ __ror__ __ior__;
    BitwiseXor __xor__ __rxor__ __ixor__;
    BitwiseLeftShift __lshift__ __rlshift__ __ilshift__;
    BitwiseRightShift __rshift__ __rrshift__ __irshift__;
}

/// A comparison, recorded. What is an array elsewhere is refused, for Python's answer to what is left to it is one truth
/// value, or an order of the objects; what is none is left to the other object.
fn compare(slf: &Bound<'_, PyArray>, op: Op, other: &Bound<'_, PyAny>) -> Result<Py<PyAny>> {
    let py = slf.py();
    let array = slf.borrow();
    let other = match other.extract::<Operand<'_>>() {
        Ok(other) => other,
        Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
            // An integer beyond the doubles.
            Operand::Weak(Weak::Large(if other.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY }))
        }
        Err(error) => {
            const PROTOCOLS: [&str; 3] =
                ["__array_interface__", "__dlpack__", "__sycl_usm_array_interface__"];
            let mut is_array = other.is_instance_of::<PyList>() || other.is_instance_of::<PyTuple>();
            for protocol in PROTOCOLS {
                is_array = is_array || other.hasattr(protocol)?;
            }
            return if is_array { Err(error.into()) } else { Ok(py.NotImplemented()) };
        }
    };
    Ok(Py::new(py, PyArray::combine(array, op, other)?)?.into_any())
}

/// One line per comparison.
macro_rules! comparisons {
    ($($Op:ident $name:ident;)*) => {
        #[pymethods]
        impl PyArray {
            $(
                fn $name(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> Result<Py<PyAny>> {
                    compare(slf, Op::$Op, other)
                }
            )*
        }
    };
}
comparisons! {
    Equal __eq__;
    NotEqual __ne__;
    Less __lt__;
    LessEqual __le__;
    Greater __gt__;
    GreaterEqual __ge__;
}

/// One line per operator of one operand.
macro_rules! unary_operators {
    ($($Op:ident $name:ident;)*) => {
        #[pymethods]
        impl PyArray {
            $(
                fn $name(&self, py: Python<'_>) -> Result<Self> {
                    let array = &self.array();
                    Ok(py.detach(|| array.unary(Op::$Op))?.into())
                }
            )*
        }
    };
}
unary_operators! {
    Negative __neg__;
    Abs __abs__;
    BitwiseInvert __invert__;
}

/// The matrix product written over an array, which has its shape.
fn matmul_in_place(array: &UsmArray, other: &UsmArray) -> stridewise::Result<()> {
    let product = array.matmul(other)?;
    array.write_elementwise(Op::Copy, &[(&product).into()], &[])?;
    Ok(())
}

#[pymethods]
impl PyArray {
    fn __pos__(&self, py: Python<'_>) -> Result<Self> {
        let array = &self.array();
        Ok(py.detach(|| array.unary(Op::Copy))?.into())
    }
    fn __pow__<'py>(
        slf: PyRef<'py, Self>,
        other: Operand<'py>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        no_modulo(modulo)?;
        Self::combine(slf, Op::Pow, other)
    }
    fn __rpow__<'py>(
        slf: PyRef<'py, Self>,
        other: Operand<'py>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        no_modulo(modulo)?;
        Self::combine_reflected(slf, Op::Pow, other)
    }
    fn __ipow__(&self, py: Python<'_>, other: Operand<'_>, modulo: Option<&Bound<'_, PyAny>>) -> Result<()> {
        no_modulo(modulo)?;
        self.update(py, Op::Pow, other)
    }
    fn __divmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<(Self, Self)> {
        let part = |op| -> PyResult<Self> { Ok(Self::combine(slf.borrow(), op, other.extract()?)?) };
        Ok((part(Op::FloorDivide)?, part(Op::Remainder)?))
    }
    fn __rdivmod__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<(Self, Self)> {
        let part =
            |op| -> PyResult<Self> { Ok(Self::combine_reflected(slf.borrow(), op, other.extract()?)?) };
        Ok((part(Op::FloorDivide)?, part(Op::Remainder)?))
    }
    fn __matmul__<'py>(slf: PyRef<'py, Self>, mut other: Given<'py>) -> Result<Self> {
        let (py, mut own) = (slf.py(), Given::Ours(Now::of(slf)));
        together!(own, other);
        let (x1, x2) = (own.array(), other.array());
        Ok(py.detach(|| x1.matmul(x2))?.into())
    }
    fn __rmatmul__<'py>(slf: PyRef<'py, Self>, mut other: Given<'py>) -> Result<Self> {
        let (py, mut own) = (slf.py(), Given::Ours(Now::of(slf)));
        together!(own, other);
        let (x1, x2) = (other.array(), own.array());
        Ok(py.detach(|| x1.matmul(x2))?.into())
    }
    fn __imatmul__<'py>(slf: PyRef<'py, Self>, mut other: Given<'py>) -> Result<()> {
        let (py, mut own) = (slf.py(), Given::Ours(Now::of(slf)));
        together!(own, other);
        let (x1, x2) = (own.array(), other.array());
        Ok(py.detach(|| matmul_in_place(x1, x2))?)
    }
}

/// Python's `pow` of three arguments is one of integers.
fn no_modulo(modulo: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    match modulo {
        Some(modulo) if !modulo.is_none() => {
            let error =
                crate::arguments::wrong(modulo, "None, for there are no powers of arrays modulo a number");
            Err(crate::arguments::named(modulo.py(), "mod", error))
        }
        _ => Ok(()),
    }
}
