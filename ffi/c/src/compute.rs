//! Computing: elementwise operations, joining, reductions.

use std::ffi::c_char;
use std::sync::Arc;

use stridewise::memory::heap;
use stridewise::{ArrayOrScalar, Complex, Error, Result, UsmArray, Weak, concat, elementwise};

use crate::array::{SW_NONE, sw_array};
use crate::caller::{Caller, signed};
use crate::codes::{self, sw_op, sw_reduction};
use crate::event::{give_event, sw_event};
use crate::handle::{get, give};
use crate::status::{Failure, entry, sw_status};

/// An operand's kind: the array of a handle.
pub const SW_OPERAND_ARRAY: i32 = 1;
/// An operand's kind: a truth value, `integer` other than 0.
pub const SW_OPERAND_BOOL: i32 = 2;
/// An operand's kind: `integer`.
pub const SW_OPERAND_INTEGER: i32 = 3;
/// An operand's kind: `real`.
pub const SW_OPERAND_REAL: i32 = 4;
/// An operand's kind: `real` and `imaginary`.
pub const SW_OPERAND_COMPLEX: i32 = 5;

/// An array or a number; made by sw_of, sw_bool, sw_integer, sw_real and sw_complex. A number takes the dtype of the arrays
/// that it meets.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_operand {
    /// Which of the fields count: SW_OPERAND_ARRAY, …
    pub kind: i32,
    /// The array.
    pub array: *const sw_array,
    /// The integer or truth value.
    pub integer: i64,
    /// The real number or part.
    pub real: f64,
    /// The imaginary part.
    pub imaginary: f64,
}

/// An operand that was read.
pub(crate) enum Argument {
    Array(Arc<UsmArray>),
    Number(Weak),
}

impl Argument {
    pub(crate) fn as_argument(&self) -> ArrayOrScalar<'_> {
        match self {
            Self::Array(array) => ArrayOrScalar::Array(array),
            Self::Number(number) => ArrayOrScalar::Weak(*number),
        }
    }
}

impl sw_operand {
    /// The number of an operand that is one.
    pub(crate) fn number(&self, argument: &'static str) -> Result<Weak> {
        Ok(match self.kind {
            SW_OPERAND_BOOL => Weak::Bool(self.integer != 0),
            SW_OPERAND_INTEGER => Weak::Int(self.integer.into()),
            SW_OPERAND_REAL => Weak::Float(self.real),
            SW_OPERAND_COMPLEX => Weak::Complex(Complex::new(self.real, self.imaginary)),
            other => {
                return Err(Error::value(
                    argument,
                    format!("an operand of kind {other}"),
                    "a number",
                    "make it with sw_bool, sw_integer, sw_real or sw_complex",
                ));
            }
        })
    }

    pub(crate) fn read(&self, argument: &'static str) -> Result<Argument, Failure> {
        match self.kind {
            SW_OPERAND_ARRAY => Ok(Argument::Array(get(argument, self.array)?)),
            _ => Ok(Argument::Number(self.number(argument)?)),
        }
    }
}

fn read_operands(
    caller: &Caller,
    operands: *const sw_operand,
    count: usize,
) -> Result<Vec<Argument>, Failure> {
    let operands = caller.slice("operands", operands, count)?;
    heap::try_collect("operands", operands.iter().map(|operand| operand.read("operands")))
}

/// The operation with a name of the array API, such as "add".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_op_of_name(name: *const c_char, op: *mut sw_op) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("op", op)?;
        out.set(codes::op_code(codes::op_of_name(caller.text("name", name)?)?));
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// How many operands an operation has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_op_arity(op: sw_op, arity: *mut usize) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|caller| caller.answer("arity", arity, codes::op(op)?.arity())) }
}

/// Applies an operation to arrays and numbers, at least one of them an array: operands are repeated to a common shape and
/// converted to a common dtype. The result is recorded; it is computed, in one pass with what it is made of, when something
/// asks for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_elementwise(
    op: sw_op,
    operands: *const sw_operand,
    count: usize,
    result: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let operands = read_operands(caller, operands, count);
        let out = caller.handle("result", result)?;
        let operands = operands?;
        let operands = heap::collect("operands", operands.iter().map(Argument::as_argument))?;
        give(out, elementwise(codes::op(op)?, &operands)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Applies an operation and writes the result into an array, now, after the events of `depends`. Operands may overlap the
/// array. `event`, if not null, becomes the event of the work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_elementwise_into(
    op: sw_op,
    operands: *const sw_operand,
    count: usize,
    array: *const sw_array,
    depends: *const *mut sw_event,
    depends_count: usize,
    event: *mut *mut sw_event,
) -> sw_status {
    let body = |caller: &Caller| {
        let depends = caller.depends(depends, depends_count);
        let out = caller.optional_handle("event", event)?;
        let depends = depends?;
        let operands = read_operands(caller, operands, count)?;
        let operands = heap::collect("operands", operands.iter().map(Argument::as_argument))?;
        let array = get("array", array)?;
        give_event(out, array.write_elementwise(codes::op(op)?, &operands, &depends)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Joins arrays along an axis that they have; with SW_NONE, all elements one after the other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_concat(
    arrays: *const *mut sw_array,
    count: usize,
    axis: i64,
    result: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let arrays = caller.objects("arrays", arrays, count);
        let out = caller.handle("result", result)?;
        let arrays = arrays?;
        let arrays = heap::collect("arrays", arrays.iter().map(|array| &**array))?;
        let axis = if axis == SW_NONE { None } else { signed("axis", &[axis])?.first().copied() };
        give(out, concat(&arrays, axis)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Reduces over axes; `axes` null: over all. With `keep_dims` the reduced axes stay, with extent 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_array_reduce(
    array: *const sw_array,
    reduction: sw_reduction,
    axes: *const i64,
    count: usize,
    keep_dims: bool,
    result: *mut *mut sw_array,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("result", result)?;
        let array = get("array", array)?;
        let named = signed("axes", caller.slice("axes", axes, count)?)?;
        let axes = if axes.is_null() { None } else { Some(named.as_slice()) };
        give(out, array.reduce(codes::reduction(reduction)?, axes, keep_dims)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}
