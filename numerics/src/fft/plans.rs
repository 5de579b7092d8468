//! Plans of transforms: made once for a length, and those that were used last are kept.

use std::sync::{Arc, PoisonError};

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft, FftNum, FftPlanner};
use stridewise_core::backend::sync::Mutex;
use stridewise_core::memory::heap;
use stridewise_core::{Complex, Element, Result};

/// Plans of an element type that are kept at most.
const MAX_PLANS: usize = 64;
/// Points of kept plans at most, together: of each a plan has a few numbers.
const MAX_POINTS: usize = 1 << 20;
/// Numbers of a plan at most for each point of a row: of a prime number of points, by way of a transform of up to four times as
/// many, whose factors, and those before and after, are as many again.
const PLAN_POINTS: usize = 16;
/// What a transform needs beside its points.
pub(super) const FACTORS: &str = "factors of a transform";

/// What a plan computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sort {
    Forward,
    Inverse,
    FromReal,
    ToReal,
}

/// A plan. Clones share it.
#[derive(Clone)]
pub(super) enum Plan<T: FftNum> {
    Complex(Arc<dyn Fft<T>>),
    FromReal(Arc<dyn RealToComplex<T>>),
    ToReal(Arc<dyn ComplexToReal<T>>),
}

impl<T: FftNum> Plan<T> {
    fn make(sort: Sort, length: usize) -> Self {
        match sort {
            Sort::Forward => Self::Complex(FftPlanner::new().plan_fft_forward(length)),
            Sort::Inverse => Self::Complex(FftPlanner::new().plan_fft_inverse(length)),
            Sort::FromReal => Self::FromReal(RealFftPlanner::new().plan_fft_forward(length)),
            Sort::ToReal => Self::ToReal(RealFftPlanner::new().plan_fft_inverse(length)),
        }
    }
}

/// Plans of one element type, the one used last at the end.
pub(super) struct Plans<T: FftNum>(Mutex<Vec<(Sort, usize, Plan<T>)>>);

impl<T: FftNum> Plans<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The plan of a length, made where there is none: without a lock, so two threads may make the same one.
    ///
    /// # Errors
    /// [`Error::Alloc`](stridewise_core::Error::Alloc).
    pub(super) fn get(&self, sort: Sort, length: usize) -> Result<Plan<T>>
    where
        Complex<T>: Element,
    {
        {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(place) = kept.iter().position(|(s, n, _)| (*s, *n) == (sort, length)) {
                let found = kept.remove(place);
                let plan = found.2.clone();
                kept.push(found);
                return Ok(plan);
            }
        }
        // What the library allocates for a plan it does not ask for. So it is asked for here, as one piece, which is given back
        // just before: where there is none, this is an error.
        drop(heap::with_capacity::<Complex<T>>(FACTORS, length.saturating_mul(PLAN_POINTS))?);
        let plan = Plan::make(sort, length);
        if length <= MAX_POINTS {
            let mut gone = Vec::new();
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push((sort, length, plan.clone()));
            while kept.len() > MAX_PLANS || kept.iter().map(|(_, n, _)| n).sum::<usize>() > MAX_POINTS {
                gone.push(kept.remove(0));
            }
            // What is left out is freed once the lock is given back.
            drop(kept);
            drop(gone);
        }
        Ok(plan)
    }
}

/// A type of the numbers of transforms.
pub(super) trait Point: FftNum + Element {
    /// The plans that are kept.
    fn plans() -> &'static Plans<Self>;
}
macro_rules! point {
    ($($ty:ty)*) => {$(
        impl Point for $ty {
            fn plans() -> &'static Plans<Self> {
                static PLANS: Plans<$ty> = Plans::new();
                &PLANS
            }
        }
    )*};
}
point!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_kept_within_bounds() {
        let plans = Plans::<f32>::new();
        let points = || plans.0.lock().unwrap().iter().map(|(_, n, _)| n).sum::<usize>();
        for length in 1..=2 * MAX_PLANS {
            plans.get(Sort::Forward, length).unwrap();
            plans.get(Sort::ToReal, length).unwrap();
        }
        assert_eq!(plans.0.lock().unwrap().len(), MAX_PLANS);
        for length in [MAX_POINTS, MAX_POINTS / 2, MAX_POINTS / 2 + 1, 2 * MAX_POINTS] {
            plans.get(Sort::Forward, length).unwrap();
            assert!(points() <= MAX_POINTS, "{length}");
        }
        let kept = plans.get(Sort::Forward, 30).unwrap();
        let again = plans.get(Sort::Forward, 30).unwrap();
        match (kept, again) {
            (Plan::Complex(kept), Plan::Complex(again)) => assert!(Arc::ptr_eq(&kept, &again)),
            _ => unreachable!("plans of complex numbers"),
        }
    }
}
