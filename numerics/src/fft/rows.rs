//! Transforms of rows, which the threads of the array's device share.

use std::ops::Mul;

use stridewise_core::memory::heap;
use stridewise_core::{
    Complex, Dtype, Element, Error, Result, UsmArray,
    backend::{Dims, normalize_axis},
};

use super::long::{self, Number, fit};
use super::plans::{FACTORS, Plan, Sort};
use crate::batches::{Rows, each};
use crate::device::on_device;
use crate::place;

/// A transform along an axis: of how many points, and what the results are multiplied with.
pub(super) struct Transform {
    pub(super) sort: Sort,
    pub(super) points: usize,
    pub(super) factor: f64,
}

/// The elements of a row that there are, and zeros.
pub(super) fn fill<T: Copy + Default>(to: &mut [T], from: &[T]) {
    let kept = from.len().min(to.len());
    to[..kept].copy_from_slice(&from[..kept]);
    to[kept..].fill(T::default());
}

/// Multiplies results with a factor, where there is one.
pub(super) fn scale<V: Copy + Mul<T, Output = V>, T: Copy>(values: &mut [V], factor: Option<T>) {
    if let Some(factor) = factor {
        values.iter_mut().for_each(|value| *value = *value * factor);
    }
}

fn failed(error: &realfft::FftError) -> Error {
    // The lengths are those of the plan.
    Error::task("x", error, "a transform of as many points as its plan", "report this, with the shape")
}

impl Transform {
    /// The sides of the matrix that the points are, where they are many.
    fn long<V>(&self) -> Option<(usize, usize)> {
        match self.sort {
            Sort::Forward | Sort::Inverse => long::sides::<V>(self.points),
            Sort::FromReal | Sort::ToReal if self.points.is_multiple_of(2) => {
                long::sides::<V>(self.points / 2)
            }
            _ => None,
        }
    }

    fn of<T>(&self, x: &UsmArray) -> Result<UsmArray>
    where
        T: Number,
        Complex<T>: Element + bytemuck::Zeroable,
    {
        let n = self.points;
        let mut shape: Dims = x.shape().into();
        let Some(extent) = shape.last_mut() else { return Ok(x.clone()) };
        let given = std::mem::replace(extent, if self.sort == Sort::FromReal { n / 2 + 1 } else { n });
        let wide = shape[shape.len() - 1];
        let count = shape[..shape.len() - 1].iter().product();
        let factor =
            <T as rustfft::num_traits::FromPrimitive>::from_f64(self.factor).filter(|_| self.factor != 1.0);
        if let Some(sides) = self.long::<Complex<T>>() {
            return match self.sort {
                Sort::Forward | Sort::Inverse => {
                    long::complex(&fit::<Complex<T>>(x, n)?, self.sort, sides, factor)
                }
                Sort::FromReal => long::from_real(&fit::<T>(x, n)?, sides, factor),
                Sort::ToReal => long::to_real(&fit::<Complex<T>>(x, n / 2 + 1)?, sides, factor),
            };
        }
        let cost = 5.0 * n as f64 * (n as f64).log2().max(1.0);
        let scratch = |len: usize| -> Result<Vec<Complex<T>>> { heap::zeroed(FACTORS, len) };
        match self.sort {
            Sort::Forward | Sort::Inverse => {
                place::filled::<Complex<T>>("n", x, &shape, Complex::<T>::DTYPE, |values| {
                    let source = place::read::<Complex<T>>(x)?;
                    let Plan::Complex(plan) = T::plans().get(self.sort, n)? else { return Ok(()) };
                    let memory = || scratch(plan.get_inplace_scratch_len());
                    each(x.device(), count, cost, Rows::new(values, n), memory, |memory, out, number| {
                        let out = out.next();
                        fill(out, &source[number * given..][..given]);
                        plan.process_with_scratch(out, memory);
                        scale(out, factor);
                        Ok(())
                    })
                })
            }
            Sort::FromReal => place::filled::<Complex<T>>("n", x, &shape, Complex::<T>::DTYPE, |values| {
                let source = place::read::<T>(x)?;
                let Plan::FromReal(plan) = T::plans().get(self.sort, n)? else { return Ok(()) };
                let memory = || Ok((heap::zeroed::<T>(FACTORS, n)?, scratch(plan.get_scratch_len())?));
                each(
                    x.device(),
                    count,
                    cost / 2.0,
                    Rows::new(values, wide),
                    memory,
                    |(input, memory), out, number| {
                        let out = out.next();
                        fill(input, &source[number * given..][..given]);
                        plan.process_with_scratch(input, out, memory).map_err(|error| failed(&error))?;
                        scale(out, factor);
                        Ok(())
                    },
                )
            }),
            Sort::ToReal => {
                place::filled::<T>("n", x, &shape, T::DTYPE, |values| {
                    let source = place::read::<Complex<T>>(x)?;
                    let Plan::ToReal(plan) = T::plans().get(self.sort, n)? else { return Ok(()) };
                    let memory = || Ok((scratch(n / 2 + 1)?, scratch(plan.get_scratch_len())?));
                    each(
                        x.device(),
                        count,
                        cost / 2.0,
                        Rows::new(values, n),
                        memory,
                        |(input, memory), out, number| {
                            let out = out.next();
                            fill(input, &source[number * given..][..given]);
                            // Elements that mirror themselves are real: of others only the real part counts.
                            input[0].im = T::zero();
                            if n.is_multiple_of(2) {
                                input[n / 2].im = T::zero();
                            }
                            plan.process_with_scratch(input, out, memory).map_err(|error| failed(&error))?;
                            scale(out, factor);
                            Ok(())
                        },
                    )
                })
            }
        }
    }

    /// The transform along an axis.
    ///
    /// # Errors
    /// [`Error::Axis`], [`Error::Value`] for no points, [`Error::Unsupported`], [`Error::Alloc`]; the failure of the work
    /// that computes the array.
    pub(super) fn along(&self, x: &UsmArray, axis: isize) -> Result<UsmArray> {
        normalize_axis("axis", axis, x.ndim())?;
        if self.points == 0 {
            return Err(Error::value("n", 0, "1 or more points", "name the number of points"));
        }
        let last = x.move_axis(axis, -1)?;
        if let Some(result) = on_device(x, || self.on_device(&last)) {
            return result?.move_axis(-1, axis);
        }
        place::check("x", x)?;
        // A scalar type of double precision, for doubles and for integers where the device has it.
        let double = place::complex(place::dtypes(x).0) == Dtype::C128;
        let result = if double { self.of::<f64>(&last)? } else { self.of::<f32>(&last)? };
        result.move_axis(-1, axis)
    }
}
