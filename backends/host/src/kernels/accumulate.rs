//! Values added to the elements at places, one after the other.
//!
//! A sum is limited by the load of an element that some place names, and by the sum before it where that was of the same place.
//! Threads share the places, as those of a scatter do: each reads all of them, and adds to a part of the elements, so that no
//! sum depends on their number.

use std::ops::Add;

use stridewise_core::{Complex, Dtype, IndexedAxis, LaunchPlan};

use super::gather::FAR_BYTES;
use super::plain::Plain;
use super::{Address, Tuning};
use crate::fork_join;

/// Places of what is not added, in turns: a sum that waits for the one before it takes several times as long.
const NOWHERE: usize = 16;

/// Adds values at places.
///
/// # Safety
/// The contract of [`run`](super::run).
pub(super) unsafe fn accumulate(plan: &LaunchPlan, axis: &IndexedAxis, tuning: &Tuning) {
    let bytes = axis.extent.min(plan.len()).saturating_mul(plan.output_dtype(0).size());
    let parts = if bytes >= FAR_BYTES { tuning.threads.clamp(1, axis.extent.max(1)) } else { 1 };
    fork_join::share(parts, tuning.threads, &|part| {
        let window = (axis.extent * part / parts, axis.extent * (part + 1) / parts);
        // SAFETY: the caller's contract; different places along the axis are other elements.
        unsafe {
            match plan.output_dtype(0) {
                Dtype::I8 | Dtype::U8 => add::<u8>(plan, axis, window),
                Dtype::I16 | Dtype::U16 => add::<u16>(plan, axis, window),
                Dtype::I32 | Dtype::U32 => add::<u32>(plan, axis, window),
                Dtype::I64 | Dtype::U64 => add::<u64>(plan, axis, window),
                Dtype::F32 => add::<f32>(plan, axis, window),
                Dtype::F64 => add::<f64>(plan, axis, window),
                Dtype::C64 => add::<Complex<f32>>(plan, axis, window),
                Dtype::C128 => add::<Complex<f64>>(plan, axis, window),
                // `refused` lets no other dtypes pass.
                _ => {}
            }
        }
    });
}

/// Whether sums of a dtype are those of its numbers, one after the other: those of 16-bit floats are rounded at the end.
pub(super) fn exists(dtype: Dtype) -> bool {
    !matches!(dtype, Dtype::Bool | Dtype::F16 | Dtype::Bf16)
}

/// Adds the values whose places are in a window.
///
/// # Safety
/// The plan's contract; its elements are of the type, and nothing else accesses those in the window.
unsafe fn add<P: Plain<Value: Add<Output = P::Value>, Mem: Default>>(
    plan: &LaunchPlan,
    axis: &IndexedAxis,
    (start, end): (usize, usize),
) {
    let [values, places] = [0, 1].map(|k| (Address(plan.inputs[k].ptr.as_ptr()), plan.inputs[k].strides[0]));
    let target = plan.outputs[0].ptr.as_ptr().cast::<P::Mem>();
    let whole = (start, end) == (0, axis.extent);
    let (first, count) = (start as u64, (end - start) as u64);
    let mut nowhere = [P::Mem::default(); NOWHERE];
    for i in 0..plan.dims[0].cast_signed() {
        // SAFETY: for all of this block: the caller's contract; what is not in the window is not accessed.
        unsafe {
            let place = *places.0.at(0).cast::<i64>().wrapping_offset(places.1 * i);
            let value = P::get(*values.0.at(0).cast::<P::Mem>().wrapping_offset(values.1 * i));
            let inside = place.cast_unsigned().wrapping_sub(first) < count;
            let mut to = target.wrapping_offset((place as isize).wrapping_mul(axis.stride));
            if whole {
                if !inside {
                    continue;
                }
            } else if !inside {
                to = &raw mut nowhere[i.cast_unsigned() % NOWHERE];
            }
            to.write(P::put(P::get(to.read()) + value));
        }
    }
}
