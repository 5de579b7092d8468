//! Elementwise functions: one built-in function for each operation of the engine's list with one or two operands, by one
//! piece of code that reads their arguments. A new operation of the engine is a new function here.
//!
//! They are called more often than anything else, so their arguments are read straight from the interpreter's array.
//!
//! A function written in Python for each operation would be a second list, and a general one in Python would
//! cost more than a small operation does. So one built-in function is made of each operation at import, whose
//! receiver is the operation's state, with its documentation and signature; arguments come by the stable
//! interface's `METH_FASTCALL`. The one thing to write is the stub, which a test compares with the module.
//! The cost is `unsafe` code against the interpreter's interface in place of pyo3's wrappers, for as long as
//! those cost more. Functions with other arguments (`clip`, `where`, reductions) are written out, by theme. A
//! call costs about what one of NumPy's costs, which was 260 ns for an addition of 16 `float32` on two
//! processors of a Zen 5.

use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyString, PyTuple};
use pyo3::{Borrowed, intern};
use stridewise::{Op, elementwise};

use super::placement::{Lie, order_of};
use crate::arguments;
use crate::array::operand::{Given, Operand, Part, together};
use crate::array::{Now, PyArray};
use crate::errors::{Fault, Result};

/// Operands of a function here, at most.
const MAX_OPERANDS: usize = 2;

/// The version of the interpreter's stable interface.
const API_VERSION: std::ffi::c_int = ffi::PYTHON_ABI_VERSION;

/// Operations that are functions of other files, or none at all.
fn is_function(op: Op) -> bool {
    // Random bits are the generator's; a function of the name of a conversion takes a dtype.
    !matches!(op, Op::Philox | Op::Cast) && op.arity() <= MAX_OPERANDS
}

/// Adds a function for each operation to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    for &op in Op::ALL.iter().filter(|op| is_function(**op)) {
        module.add(op.name(), function(module.py(), op)?)?;
    }
    Ok(())
}

/// The array API's name, of the operands where it has them: `x`, or `x1` and `x2`.
fn signature(op: Op) -> &'static str {
    if op.arity() == 1 { "x" } else { "x1, x2" }
}

fn documentation(op: Op) -> String {
    let (name, arguments) = (op.name(), signature(op));
    let operands = match op.operands() {
        [_] => "x: an array of any shape.".to_owned(),
        names => format!(
            "x1, x2 ({}): arrays, or an array and a number, which takes the array's dtype. Shapes are broadcast.",
            names.join(", ")
        ),
    };
    let converted =
        if op.wants_float() { " Integers are converted to the default floating dtype first." } else { "" };
    format!(
        "{name}({arguments}, /, *, out=None, order='K')\n--\n\n{} Elementwise.\n\n{operands}{converted} out: an array of \
         the result's shape to write to, instead of making one; it may overlap the operands. order: how a new result \
         lies, \"C\", \"F\", or \"K\" and \"A\" for that of the operands.\n\nReturns an array of the broadcast shape on \
         the operands' queue: recorded, and computed when something asks for its elements; or `out`.\n\nRaises \
         ExecutionPlacementError where the queues differ, ValueError where shapes do not broadcast or `out` has another \
         shape or is read-only, TypeError for a dtype that the function is not defined for or that `out` cannot hold.",
        op.about()
    )
}

/// The built-in function of an operation. Its receiver is a module of its own, whose state is the operation: functions of
/// a module are written, named and pickled as such, by the name of the module that they are in.
fn function(py: Python<'_>, op: Op) -> PyResult<Bound<'_, PyAny>> {
    // Functions live as long as the process, as built-in functions do.
    let text =
        |text: String| -> PyResult<&'static CStr> { Ok(Box::leak(CString::new(text)?.into_boxed_c_str())) };
    let definition = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: text(op.name().to_owned())?.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: text(documentation(op))?.as_ptr(),
    }));
    let (receiver, module) = (receiver(py, op)?, PyString::new(py, "stridewise"));
    // SAFETY: the definition and its texts are never freed, its function has the form that the flags say, and the two
    // objects are alive; the result is a new reference or an exception.
    unsafe {
        Bound::from_owned_ptr_or_err(
            py,
            ffi::PyCFunction_NewEx(definition, receiver.as_ptr(), module.as_ptr()),
        )
    }
}

/// A module whose state is an operation.
fn receiver(py: Python<'_>, op: Op) -> PyResult<Bound<'_, PyAny>> {
    // Lives as long as the module, which is as long as the process.
    let definition = Box::leak(Box::new(ffi::PyModuleDef {
        m_base: ffi::PyModuleDef_HEAD_INIT,
        m_name: c"stridewise".as_ptr(),
        m_doc: std::ptr::null(),
        m_size: size_of::<Op>().cast_signed(),
        m_methods: std::ptr::null_mut(),
        m_slots: std::ptr::null_mut(),
        m_traverse: None,
        m_clear: None,
        m_free: None,
    }));
    // SAFETY: the definition is never freed and used once; the result is a new reference or an exception.
    let module = unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyModule_Create2(definition, API_VERSION))? };
    // SAFETY: the state of a module has the size of its definition, an operation's, whose alignment any memory of the
    // interpreter has; nobody reads it yet.
    unsafe { ffi::PyModule_GetState(module.as_ptr()).cast::<Op>().write(op) };
    Ok(module)
}

/// What Python calls: `receiver` is that of `function`, `arguments` are the positional ones and then those of the
/// names in `names`.
unsafe extern "C" fn call(
    receiver: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    positional: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    let run = || {
        // SAFETY: the interpreter calls built-in functions on threads that are attached to it.
        let py = unsafe { Python::assume_attached() };
        // SAFETY: the receiver is the one that `function` has given, alive while the function is: a module whose state is
        // an operation (`receiver`).
        let op = unsafe { *ffi::PyModule_GetState(receiver).cast::<Op>() };
        // SAFETY: a tuple of the names, or null where there are none; alive during the call.
        let names = unsafe { Borrowed::from_ptr_or_opt(py, names) };
        let positional = positional.unsigned_abs();
        let count = positional + names.as_ref().map_or(0, |names| names.len().unwrap_or(0));
        let arguments = match count {
            0 => &[],
            // SAFETY: a `Borrowed` is a pointer to an object; so many are there during the call (CPython, METH_FASTCALL).
            _ => unsafe { slice::from_raw_parts(arguments.cast::<Borrowed<'_, '_, PyAny>>(), count) },
        };
        match evaluate(py, op, arguments, positional, names.as_deref()) {
            Ok(result) => result.into_ptr(),
            Err(fault) => {
                PyErr::from(fault).restore(py);
                std::ptr::null_mut()
            }
        }
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        // SAFETY: as above.
        let py = unsafe { Python::assume_attached() };
        PanicException::new_err("a defect of the engine, see the message on standard error").restore(py);
        std::ptr::null_mut()
    })
}

fn evaluate<'py>(
    py: Python<'py>,
    op: Op,
    arguments: &[Borrowed<'_, 'py, PyAny>],
    positional: usize,
    names: Option<&Bound<'py, PyAny>>,
) -> Result<Bound<'py, PyAny>> {
    if positional != op.arity() {
        return Err(Fault::Python(PyTypeError::new_err(format!(
            "{}() takes {} ({}) by position, but {positional} were given; help: `out` and `order` are given by name",
            op.name(),
            if op.arity() == 1 { "one array or number" } else { "two arrays or numbers" },
            signature(op)
        ))));
    }
    let (mut out, mut order) = (None, Lie::Kept);
    if let Some(names) = names {
        let named = names.cast::<PyTuple>()?.iter().zip(&arguments[positional..]);
        for (name, value) in named.filter(|(_, value)| !value.is_none()) {
            let is = |text: &Bound<'_, PyString>| name.is(text) || name.eq(text).unwrap_or(false);
            if is(intern!(py, "out")) {
                out = arguments::out(value).map_err(|error| arguments::named(py, "out", error))?;
            } else if is(intern!(py, "order")) {
                order =
                    order_of(arguments::text(value).map_err(|error| arguments::named(py, "order", error))?)?;
            } else {
                return Err(Fault::Python(PyTypeError::new_err(format!(
                    "{}() got an unexpected keyword argument '{name}'; it takes out and order",
                    op.name()
                ))));
            }
        }
    }
    let operand = |place: usize, name| -> PyResult<Operand<'py>> {
        arguments[place].extract().map_err(|error| arguments::named(py, name, error))
    };
    let binary = op.arity() == 2;
    let mut x1 = operand(0, if binary { "x1" } else { "x" })?;
    let mut x2 = if binary { Some(operand(1, "x2")?) } else { None };
    let mut target = out.as_ref().map(|out| Given::Ours(Now::of(out.borrow())));
    if x1.given().is_none() && x2.given().is_none() && target.is_none() {
        // Numbers alone are an array of none of the two.
        x1 = Operand::into_array(&arguments[0])?;
    }
    together!(x1, x2, target);
    let operands = [x1.get(), x2.as_ref().map_or_else(|| x1.get(), Operand::get)];
    let operands = &operands[..op.arity()];
    if let (Some(out), Some(target)) = (&out, &target) {
        let target = target.array();
        py.detach(|| target.write_elementwise(op, operands, &[]))?;
        return Ok(out.clone().into_any());
    }
    let result = py.detach(|| order.arranged(elementwise(op, operands)?, operands))?;
    Ok(Bound::new(py, PyArray::from(result))?.into_any())
}
