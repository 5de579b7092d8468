//! Transforms along the last axis by a library of the array's device.

use stridewise_core::backend::{Dims, Routine, RoutineKind};
use stridewise_core::{Dtype, Ellipsis, Op, Order, Result, Scalar, UsmArray, s};

use super::plans::Sort;
use super::rows::Transform;
use crate::device::{read, run};
use crate::place;

/// The first so many elements along the last axis, and zeros where there are fewer: new memory, in row-major order.
fn fitted(x: &UsmArray, points: usize, dtype: Dtype) -> Result<UsmArray> {
    let given = x.shape().last().copied().unwrap_or(1);
    if given >= points {
        return x.slice(s![Ellipsis, ..points as isize])?.astype(dtype)?.copy_in(Order::C);
    }
    let mut shape: Dims = x.shape().into();
    if let Some(last) = shape.last_mut() {
        *last = points;
    }
    let fitted = UsmArray::zeros(x.queue(), &shape, dtype, x.usm_kind())?;
    fitted.slice(s![Ellipsis, ..given as isize])?.assign(&x.astype(dtype)?)?;
    Ok(fitted)
}

impl Transform {
    /// The transform along the last axis.
    ///
    /// # Errors
    /// [`Error::Unsupported`](stridewise_core::Error::Unsupported) without a library; [`Error::Alloc`](stridewise_core::Error::Alloc);
    /// what the library reports.
    pub(super) fn on_device(&self, x: &UsmArray) -> Result<UsmArray> {
        let complex = place::complex(place::dtypes(x).0);
        let real = complex.real_part();
        let (n, half) = (self.points, self.points / 2 + 1);
        let (kind, given, from, to, out) = match self.sort {
            Sort::Forward => (RoutineKind::Forward, n, complex, n, complex),
            Sort::Inverse => (RoutineKind::Inverse, n, complex, n, complex),
            Sort::FromReal => (RoutineKind::FromReal, n, real, half, complex),
            Sort::ToReal => (RoutineKind::ToReal, half, complex, n, real),
        };
        let input = fitted(x, given, from)?;
        if self.sort == Sort::ToReal {
            // Elements that mirror themselves are real: of others only the real part counts.
            let mirrored = [Some(0), n.is_multiple_of(2).then_some(n / 2)];
            for place in mirrored.into_iter().flatten().map(usize::cast_signed) {
                let own = input.slice(s![Ellipsis, place..place + 1])?;
                own.assign(&own.real()?.astype(complex)?)?;
            }
        }
        let mut shape: Dims = x.shape().into();
        if let Some(last) = shape.last_mut() {
            *last = to;
        }
        let result = UsmArray::empty(x.queue(), &shape, out, x.usm_kind())?;
        let count = shape[..shape.len() - 1].iter().product();
        let routine = Routine { kind, dtype: complex, m: n, n: 1, count };
        // What a transform to real numbers is computed of is lost.
        let points = if self.sort == Sort::ToReal { (&input).into() } else { read(&input) };
        run(x, routine, &[points, (&result).into()])?;
        match self.factor == 1.0 {
            true => Ok(result),
            false => {
                let factor = Scalar::F64(self.factor).cast(real);
                result.binary(Op::Multiply, factor)?.astype(out)
            }
        }
    }
}
