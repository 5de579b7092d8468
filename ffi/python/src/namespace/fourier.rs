//! The discrete Fourier transform along an axis, on the processor. What else is in `stridewise.fft` is put together from
//! it there.

use pyo3::prelude::*;
use rustfft::{FftNum, FftPlanner};
use stridewise::memory::heap;
use stridewise::{Complex, Dims, Dtype, Element, UsmArray};

use crate::array::PyArray;
use crate::array::operand::Given;
use crate::errors::Result;

/// What a transform needs beside its points.
const FACTORS: &str = "factors of a transform";
/// Numbers of a plan at most for each point of a row: of a prime number of points, by way of a transform of up to four times as
/// many, whose factors, and those before and after, are as many again.
const PLAN_POINTS: usize = 16;

/// Zeros for elements of a shape, as much as the device of an array may allocate.
fn zeros<T: FftNum>(x: &UsmArray, shape: &[usize]) -> stridewise::Result<Vec<Complex<T>>> {
    let refused = || {
        stridewise::Error::alloc(
            "n",
            format!("for a result of shape {shape:?}"),
            "so few points that there is memory for the result",
            "name fewer points, or transform parts of the array",
        )
    };
    let count = shape.iter().try_fold(1_usize, |count, &extent| count.checked_mul(extent));
    let bytes = count.and_then(|count| count.checked_mul(size_of::<Complex<T>>()));
    let (Some(count), Some(bytes)) = (count, bytes) else { return Err(refused()) };
    // Where the system promises more memory than there is, the reservation alone would not fail.
    if bytes as u64 > x.device().info().limits.max_allocation_bytes {
        return Err(refused());
    }
    let mut values = Vec::new();
    values.try_reserve_exact(count).map_err(|_| refused())?;
    values.resize(count, Complex::new(T::zero(), T::zero()));
    Ok(values)
}

/// The transform of the rows, without a factor; the rows are cut off or filled with zeros to a length of at least 1.
fn rows<T: FftNum>(x: &UsmArray, length: usize, inverse: bool) -> stridewise::Result<UsmArray>
where
    Complex<T>: Element,
{
    let mut shape: Dims = x.shape().into();
    let Some(extent) = shape.last_mut() else { return Ok(x.clone()) };
    let given = std::mem::replace(extent, length);
    let mut values = zeros::<T>(x, &shape)?;
    // A row of no elements is one of zeros, and so is its transform.
    if given > 0 && !values.is_empty() {
        let source = x.to_vec::<Complex<T>>()?;
        let kept = given.min(length);
        for (to, from) in values.chunks_exact_mut(length).zip(source.chunks_exact(given)) {
            to[..kept].copy_from_slice(&from[..kept]);
        }
        drop(source);
        // What the library allocates for a plan it does not ask for. So it is asked for here, as one piece, which is given back
        // just before: where there is none, this is an error.
        drop(heap::with_capacity::<Complex<T>>(FACTORS, length.saturating_mul(PLAN_POINTS))?);
        let mut planner = FftPlanner::<T>::new();
        let transform =
            if inverse { planner.plan_fft_inverse(length) } else { planner.plan_fft_forward(length) };
        let mut scratch = heap::with_capacity(FACTORS, transform.get_inplace_scratch_len())?;
        scratch.resize(transform.get_inplace_scratch_len(), Complex::new(T::zero(), T::zero()));
        transform.process_with_scratch(&mut values, &mut scratch);
    }
    UsmArray::from_slice(x.queue(), &shape, &values, x.usm_kind())
}

/// The Fourier transform along an axis or, inverse, with the other sign in the exponent; without a factor. Elements are
/// converted to complex numbers of their precision, integers to the default complex dtype. They are computed on the
/// processor, wherever the array is, and waited for.
///
/// n: the number of points, to which elements are left out at the end or zeros added; None for as many as there are.
///
/// Raises OutOfBoundsError for an axis out of range, ValueError for fewer points than 1.
#[pyfunction]
#[pyo3(signature = (x, n, axis, inverse, /))]
fn transform(py: Python<'_>, x: Given<'_>, n: Option<isize>, axis: isize, inverse: bool) -> Result<PyArray> {
    let x: &UsmArray = x.array();
    let place = stridewise::normalize_axis("axis", axis, x.ndim())?;
    let length = n.map_or(Ok(x.shape()[place]), |n| super::count("n", n))?;
    if length == 0 {
        return Err(stridewise::Error::value("n", 0, "1 or more points", "name the number of points").into());
    }
    let dtype = match x.dtype() {
        Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::C64 => Dtype::C64,
        Dtype::F64 | Dtype::C128 => Dtype::C128,
        _ => x.device().dtype_support().default_complex(),
    };
    let transformed = || {
        let last = x.move_axis(axis, -1)?.astype(dtype)?;
        let result = if dtype == Dtype::C64 {
            rows::<f32>(&last, length, inverse)?
        } else {
            rows::<f64>(&last, length, inverse)?
        };
        result.move_axis(-1, axis)
    };
    Ok(py.detach(transformed)?.into())
}

/// Adds the module `_fft`, for `stridewise.fft`.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let inner = PyModule::new(module.py(), "_fft")?;
    let inner = &inner;
    super::add_functions!(inner: transform);
    module.setattr("_fft", inner)
}
