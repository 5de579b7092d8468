//! What the device's thread does for a command: loops over scalars.

use stridewise_core::backend::{Command, Family, Fold, LaunchPlan, Operand, Step, Support};
use stridewise_core::{Dtype, Error, Op, Result, Scalar, UsmPtr, ops};

/// Whether there is a loop for a plan. What is refused here is an error with this reason in the user's hands, or computed by core
/// in another way.
pub(crate) fn supports(plan: &LaunchPlan) -> Support {
    match &plan.family {
        Family::Map => Support::Native,
        Family::Reduce { fold: Fold::Op(_) | Fold::ArgMin | Fold::ArgMax, .. } => Support::Native,
        Family::Reduce { .. } => Support::No("this fold: the device folds by operations".to_owned()),
        _ => Support::No("this family of plans: the device has maps and reductions".to_owned()),
    }
}

/// Does what a command says.
///
/// # Safety
/// As for [`Queue::submit`](stridewise_core::backend::Queue::submit), when the waits are over.
pub(crate) unsafe fn run(command: &Command) -> Result<()> {
    match *command {
        Command::Step(Step::Launch(ref plans)) => {
            for plan in plans {
                // SAFETY: the caller's promise: the plan is valid, and nothing else accesses its memory in conflict.
                unsafe { run_plan(plan)? };
            }
            Ok(())
        }
        Command::Step(Step::Copy { dst, src, bytes }) => {
            // SAFETY: both ranges are live memory and do not overlap, by the contract of the command.
            unsafe { std::ptr::copy_nonoverlapping(src.as_ptr(), dst.as_ptr(), bytes) };
            Ok(())
        }
        Command::Step(Step::Fill { dst, bytes, pattern, pattern_bytes }) => {
            for start in (0..bytes).step_by(pattern_bytes) {
                // SAFETY: the range is live memory, a whole number of patterns long, by the contract of the command.
                unsafe {
                    std::ptr::copy_nonoverlapping(pattern.as_ptr(), dst.as_ptr().add(start), pattern_bytes)
                };
            }
            Ok(())
        }
        Command::Advise { .. } | Command::Barrier => Ok(()),
        ref other => {
            let help = "ask `supports` and `capabilities` first";
            Err(Error::unsupported("command", format!("{other:?}"), "a command that the device takes", help))
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn run_plan(plan: &LaunchPlan) -> Result<()> {
    // SAFETY: the caller's promise is the same.
    let value = |index: &[usize]| unsafe { value_at(plan, index) };
    match &plan.family {
        Family::Map => {
            for_each(&plan.dims, |index| {
                let values = value(index)?;
                for (number, (output, value)) in plan.outputs.iter().zip(values).enumerate() {
                    debug_assert_eq!(plan.output_dtype(number), value.dtype());
                    // SAFETY: an index of the plan, whose outputs are writable there.
                    unsafe { write(output, index, value) };
                }
                Ok(())
            })
        }
        Family::Reduce { fold, reduced, finish, .. } => {
            let (kept, folded) = plan.dims.split_at(plan.dims.len() - reduced);
            for_each(kept, |outer| {
                let at = |place: usize| {
                    let mut index = outer.to_vec();
                    index.extend(unflattened(place, folded));
                    value(&index)?.first().copied().ok_or_else(|| undefined(plan))
                };
                let len = folded.iter().product();
                let mut result = match fold {
                    Fold::Op(op) => fold_by(*op, 0, len, &at)?,
                    Fold::ArgMin => Scalar::I64(first(Op::Less, len, &at)? as i64),
                    Fold::ArgMax => Scalar::I64(first(Op::Greater, len, &at)? as i64),
                    _ => return Err(undefined(plan)),
                };
                if let Some(finish) = finish {
                    let finished =
                        ops::evaluate(finish, &[result]).and_then(|values| values.first().copied());
                    result = finished.ok_or_else(|| undefined(plan))?;
                }
                let mut index = outer.to_vec();
                index.resize(plan.dims.len(), 0);
                // SAFETY: an index of the plan, whose output has stride 0 along what is folded.
                unsafe { write(&plan.outputs[0], &index, result) };
                Ok(())
            })
        }
        _ => Err(undefined(plan)),
    }
}

/// The fold of values from a place up to another one, by halves: the error of a sum grows with the logarithm of its length.
fn fold_by(op: Op, start: usize, end: usize, at: &dyn Fn(usize) -> Result<Scalar>) -> Result<Scalar> {
    if end - start == 1 {
        return at(start);
    }
    let middle = start + (end - start) / 2;
    let halves = [fold_by(op, start, middle, at)?, fold_by(op, middle, end, at)?];
    ops::apply(op, &halves).ok_or_else(|| {
        Error::unsupported("fold", op.name(), "an operation on these dtypes", "convert the array first")
    })
}

/// The place of the first value that no other one is before, by an order; NaN is before everything.
fn first(before: Op, len: usize, at: &dyn Fn(usize) -> Result<Scalar>) -> Result<usize> {
    let is_nan = |value: Scalar| value.to_c128().re.is_nan() && value.dtype().kind().is_inexact();
    let (mut found, mut best) = (0, at(0)?);
    for place in 1..len {
        if is_nan(best) {
            break;
        }
        let value = at(place)?;
        if is_nan(value) || ops::apply(before, &[value, best]) == Some(Scalar::Bool(true)) {
            (found, best) = (place, value);
        }
    }
    Ok(found)
}

fn undefined(plan: &LaunchPlan) -> Error {
    Error::unsupported("plan", format!("{:?}", plan.family), "what `supports` takes", "report it")
}

/// The program's outputs at an index.
///
/// # Safety
/// As for [`run`]; the index is one of the plan.
unsafe fn value_at(plan: &LaunchPlan, index: &[usize]) -> Result<Vec<Scalar>> {
    let inputs = plan.inputs.iter().zip(plan.program.inputs()).enumerate();
    let inputs: Vec<Scalar> = inputs
        .map(|(number, (operand, &dtype))| match plan.program.is_index(number) {
            // No memory: a number that depends on the index.
            true => Scalar::I64((operand.ptr.addr() as i64).wrapping_add(steps(operand, index) as i64)),
            // SAFETY: the caller's promise: elements of every index are readable.
            false => unsafe { read(operand, index, dtype) },
        })
        .collect();
    ops::evaluate(&plan.program, &inputs).ok_or_else(|| undefined(plan))
}

/// Elements from the first one to that of an index.
fn steps(operand: &Operand, index: &[usize]) -> isize {
    let steps = index.iter().zip(&operand.strides).map(|(&at, &stride)| (at as isize).wrapping_mul(stride));
    steps.fold(0, isize::wrapping_add)
}

fn address(operand: &Operand, index: &[usize], size: usize) -> UsmPtr {
    operand.ptr.byte_offset(steps(operand, index) * size as isize)
}

/// # Safety
/// The element of the index is readable.
unsafe fn read(operand: &Operand, index: &[usize], dtype: Dtype) -> Scalar {
    let mut bytes = [0; 16];
    let from = address(operand, index, dtype.size()).as_ptr();
    // SAFETY: as many bytes as the dtype has are readable, by the caller's promise, and fit.
    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), dtype.size()) };
    Scalar::from_bytes(dtype, &bytes)
}

/// # Safety
/// The element of the index is writable, and of the value's dtype.
unsafe fn write(operand: &Operand, index: &[usize], value: Scalar) {
    let size = value.dtype().size();
    let to = address(operand, index, size).as_ptr();
    // SAFETY: as many bytes as the dtype has are writable, by the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(value.to_bytes().as_ptr(), to, size) };
}

/// Calls a function for every index of some extents, in row-major order.
fn for_each(dims: &[usize], mut call: impl FnMut(&[usize]) -> Result<()>) -> Result<()> {
    (0..dims.iter().product()).try_for_each(|place| call(&unflattened(place, dims)))
}

/// The index at a place in row-major order.
fn unflattened(mut place: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (at, &extent) in index.iter_mut().zip(dims).rev() {
        (*at, place) = (place % extent, place / extent);
    }
    index
}
