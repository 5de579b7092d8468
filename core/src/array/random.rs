//! Random numbers from a counter: a number is a function of the seed and its place in the stream, so that the same come
//! on every device, for any number of threads and in any order of evaluation.

use smallvec::{SmallVec, smallvec};

use super::{Array, ArrayOrScalar, FloatElement, IntElement, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order, Shape, normalize_axis};
use crate::lazy::immediate;
use crate::memory::UsmKind;
use crate::memory::immediate::FEW_LEN;
use crate::ops::{self, Op};
use crate::runtime::{Queue, common_queue};
use crate::scalar::Scalar;

/// A stream of random numbers under a seed: Philox4x32-10 (J. K. Salmon et al., "Parallel random numbers: as easy as 1,
/// 2, 3", 2011), the key of which is the seed.
///
/// One call is one block of the stream: element `i`, in row-major order, of an array of `n` elements that is made when
/// the counter is `c` is computed from place `c + i` alone, and the counter is `c + n` afterwards. So the numbers depend
/// on the order and the sizes of the calls, and on nothing else. There are 2⁶⁴ places; the counter wraps.
#[cfg_attr(not(doctest), doc = include_str!("typed/examples/random.md"))]
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) seed: u64,
    pub(super) counter: u64,
    /// How many generators were spawned.
    pub(super) spawned: u64,
    queue: Option<Queue>,
    kind: Option<UsmKind>,
}

/// 2⁻³², 2⁻⁵³ and the like.
pub(super) fn scale(bits: u32) -> Scalar {
    Scalar::F64(0.5_f64.powi(bits.cast_signed()))
}

/// Whether a number is as precise as its dtype is.
fn is_normal(number: Scalar) -> bool {
    match number {
        Scalar::F32(x) => x.is_normal(),
        number => number.to_f64().is_normal(),
    }
}

/// Bits moved down in an array of `uint64`.
pub(super) fn down(x: &UsmArray, count: u64) -> Result<UsmArray> {
    x.binary(Op::BitwiseRightShift, Scalar::U64(count))
}

/// The sum with a number; what it is added to, where it is 0.
fn added(x: UsmArray, number: Scalar) -> Result<UsmArray> {
    if number.to_f64() == 0.0 { Ok(x) } else { x.binary(Op::Add, number) }
}

fn low_half(x: &UsmArray) -> Result<UsmArray> {
    x.binary(Op::BitwiseAnd, Scalar::U64(u64::from(u32::MAX)))
}

impl Generator {
    /// The start of the stream of a seed, on the default queue.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, counter: 0, spawned: 0, queue: None, kind: None }
    }

    /// The generator with its arrays on a queue.
    #[must_use]
    pub fn on(mut self, queue: &Queue) -> Self {
        self.queue = Some(queue.clone());
        self
    }

    /// The generator with its arrays in memory of a kind; else it is shared where the device has that of its own.
    #[must_use]
    pub fn kind(mut self, kind: UsmKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The place in the stream of the next number.
    #[must_use]
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Goes on at another place of the stream.
    pub fn set_counter(&mut self, counter: u64) {
        self.counter = counter;
    }

    pub(super) fn queue(&self) -> Result<Queue> {
        self.queue.clone().map_or_else(Queue::default_queue, Ok)
    }

    pub(super) fn kind_on(&self, queue: &Queue) -> UsmKind {
        self.kind.unwrap_or_else(|| queue.device().default_kind())
    }

    /// The places of a call's elements, as `uint64`: of a few they are written at once, and so is what is computed from them.
    pub(super) fn places(&self, shape: &[usize]) -> Result<UsmArray> {
        let queue = self.queue()?;
        let (kind, steps) = (self.kind_on(&queue), Layout::contiguous(shape, Order::C)?);
        if steps.len() <= FEW_LEN
            && let Some(places) = immediate::range(&queue, kind, &steps, self.counter, Dtype::U64)?
        {
            return Ok(places);
        }
        let places = elementwise::indices(&queue, kind, shape, 0, steps.strides())?.astype(Dtype::U64)?;
        added(places, Scalar::U64(self.counter))
    }

    /// Random words of `uint64` at places. The streams of a seed are independent of each other.
    pub(super) fn words(&self, places: &UsmArray, stream: u64) -> Result<UsmArray> {
        let number = |value: u64| ArrayOrScalar::Scalar(Scalar::U64(value));
        elementwise(Op::Philox, &[places.into(), number(stream), number(self.seed)])
    }

    /// Moves on behind a call.
    pub(super) fn advance<T>(&mut self, len: usize, outcome: Result<T>) -> Result<T> {
        if outcome.is_ok() {
            self.counter = self.counter.wrapping_add(len as u64);
        }
        outcome
    }

    /// 64 random bits per element, as `uint64`: the first two words of the block of the element's place.
    ///
    /// # Errors
    /// As for [`UsmArray::empty`].
    pub fn bits(&mut self, shape: impl Shape) -> Result<UsmArray> {
        let shape = shape.extents();
        let shape = shape.as_ref();
        let words = self.places(shape).and_then(|places| self.words(&places, 0));
        let len = words.as_ref().map_or(0, UsmArray::len);
        self.advance(len, words)
    }

    /// Uniformly distributed numbers from `low` to below `high` (all `low` where they are equal), of a real floating dtype:
    /// as many of the highest random bits as the dtype's numbers have below 1, 53 or 24, times the range. 16-bit floats
    /// are rounded from `float32`.
    ///
    /// # Errors
    /// [`Error::Value`] where `low` or `high` is not finite or `high` is below, [`Error::Dtype`] for another dtype or one
    /// that the device lacks; as for [`UsmArray::empty`].
    pub fn uniform_as(&mut self, shape: impl Shape, dtype: Dtype, low: f64, high: f64) -> Result<UsmArray> {
        let numbers = self.uniform_block(shape.extents().as_ref(), dtype, low, high);
        let len = numbers.as_ref().map_or(0, UsmArray::len);
        self.advance(len, numbers)
    }

    fn uniform_block(&self, shape: &[usize], dtype: Dtype, low: f64, high: f64) -> Result<UsmArray> {
        let computed = self.float(dtype)?;
        let round = |value: f64| Scalar::F64(value).cast(dtype);
        let (first, end) = (round(low).to_f64(), round(high).to_f64());
        if !first.is_finite() || !(end - first).is_finite() || end < first {
            return Err(Error::value(
                "high",
                format!("{high} with low {low}"),
                format!("finite numbers of {dtype} and a range that is one, low not above high"),
                "scale numbers from 0 to 1 for other ranges",
            ));
        }
        let digits = if computed == Dtype::F64 { 53 } else { 24 };
        let words = self.words(&self.places(shape)?, 0)?;
        let bits = down(&words, 64 - u64::from(digits))?.astype(computed)?;
        let number = |value: f64| Scalar::F64(value).cast(computed);
        // The bits as a part of 1, times the range, rounded once: as one product, where the factor is exact.
        let (unit, range) = (scale(digits).cast(computed), number(end - first));
        let factors: SmallVec<[Scalar; 2]> = match ops::apply(Op::Multiply, &[unit, range]) {
            Some(factor) if is_normal(factor) => smallvec![factor],
            _ => smallvec![unit, range],
        };
        let offset = number(first);
        let mut scaled = bits;
        for &factor in &factors {
            scaled = scaled.binary(Op::Multiply, factor)?;
        }
        let result = added(scaled, offset)?.astype(dtype)?;
        if first == end {
            return Ok(result);
        }
        let Some(last) = ops::apply(Op::Nextafter, &[round(end), round(first)]) else { return Ok(result) };
        // Rounding may arrive at `high`, which does not belong to the range.
        let most = number((0.5_f64.powi(-digits.cast_signed())) - 1.0);
        let most = factors.iter().try_fold(most, |x, &factor| ops::apply(Op::Multiply, &[x, factor]));
        let most = most.and_then(|most| ops::apply(Op::Add, &[most, offset])).map(|most| most.cast(dtype));
        match most {
            Some(most) if most.to_f64() <= last.to_f64() => Ok(result),
            _ => result.binary(Op::Minimum, last),
        }
    }

    /// Normally distributed numbers of a mean and a standard deviation, of a real floating dtype, by the method of Box and
    /// Muller: √(−2 ln u) · cos 2πv, with `u` from above 0 to 1 and `v` from 0 to below 1. In `float64` both have 53 bits
    /// and come from a word each; else they are the halves of one, computed in `float32`, and no number is further than
    /// 6.7 standard deviations from the mean.
    ///
    /// The bits of the result are the same where the device computes logarithms and cosines alike.
    ///
    /// # Errors
    /// [`Error::Value`] where the mean or the deviation is not finite or the deviation is negative; as for
    /// [`uniform_as`](Self::uniform_as).
    pub fn normal_as(
        &mut self,
        shape: impl Shape,
        dtype: Dtype,
        mean: f64,
        deviation: f64,
    ) -> Result<UsmArray> {
        let numbers = self.normal_block(shape.extents().as_ref(), dtype, mean, deviation);
        let len = numbers.as_ref().map_or(0, UsmArray::len);
        self.advance(len, numbers)
    }

    fn normal_block(&self, shape: &[usize], dtype: Dtype, mean: f64, deviation: f64) -> Result<UsmArray> {
        let computed = self.float(dtype)?;
        if !mean.is_finite() || !deviation.is_finite() || deviation < 0.0 {
            return Err(Error::value(
                "std",
                format!("{deviation} with mean {mean}"),
                "finite numbers, the standard deviation not negative",
                "give the standard deviation, which is the root of the variance",
            ));
        }
        let number = |value: f64| Scalar::F64(value).cast(computed);
        let places = self.places(shape)?;
        let words = self.words(&places, 0)?;
        let (radius, angle, digits) = match computed {
            Dtype::F64 => (down(&words, 11)?, down(&self.words(&places, 1)?, 11)?, 53),
            _ => (down(&words, 32)?, low_half(&words)?, 32),
        };
        // From 1 on, so that there is a logarithm.
        let u = radius.binary(Op::Add, Scalar::U64(1))?.astype(computed)?;
        let u = u.binary(Op::Multiply, scale(digits).cast(computed))?;
        let radius = u.unary(Op::Log)?.binary(Op::Multiply, number(-2.0))?.unary(Op::Sqrt)?;
        let turn = number(std::f64::consts::TAU * scale(digits).to_f64());
        let cosine = angle.astype(computed)?.binary(Op::Multiply, turn)?.unary(Op::Cos)?;
        let mut scaled = radius.binary(Op::Multiply, &cosine)?;
        if deviation != 1.0 {
            scaled = scaled.binary(Op::Multiply, number(deviation))?;
        }
        // Also of 0, which turns what is -0 into 0.
        scaled.binary(Op::Add, number(mean))?.astype(dtype)
    }

    /// The dtype in which numbers of a real floating dtype are computed.
    pub(super) fn float(&self, dtype: Dtype) -> Result<Dtype> {
        if dtype.kind() != DtypeKind::Float {
            return Err(Error::dtype(
                "dtype",
                dtype,
                "a real floating-point dtype",
                "use float32 or float64, or `integers` for integers",
            ));
        }
        Ok(if dtype == Dtype::F64 { dtype } else { Dtype::F32 })
    }

    /// Integers from `low` to below `high`, of an integer dtype: the upper half of the product of a random word and the
    /// number of integers (D. Lemire, "Fast random integer generation in an interval", 2019). Words have 64 bits up to
    /// 2³² integers, else 128, so that no integer is more probable than another by more than 2⁻³² of its probability.
    ///
    /// # Errors
    /// [`Error::Value`] where `high` is not above `low` or either is out of the dtype's range (`high` may be one beyond);
    /// [`Error::Dtype`] for another dtype; as for [`UsmArray::empty`].
    pub fn integers_as(
        &mut self,
        shape: impl Shape,
        dtype: Dtype,
        low: i128,
        high: i128,
    ) -> Result<UsmArray> {
        let numbers = self.integers_block(shape.extents().as_ref(), dtype, low, high);
        let len = numbers.as_ref().map_or(0, UsmArray::len);
        self.advance(len, numbers)
    }

    fn integers_block(&self, shape: &[usize], dtype: Dtype, low: i128, high: i128) -> Result<UsmArray> {
        let range = dtype.iinfo()?;
        let (least, most) = (range.min, range.max);
        if low < least || high > most + 1 || high <= low {
            return Err(Error::value(
                "high",
                format!("{high} with low {low}"),
                format!("numbers of {dtype}, low below high; from {least} to {}", most + 1),
                "`high` itself is never drawn; use a larger dtype for larger numbers",
            ));
        }
        let places = self.places(shape)?;
        let words = self.words(&places, 0)?;
        let count = high - low;
        let offset = match u64::try_from(count) {
            // All integers of 64 bits.
            Err(_) => words,
            Ok(count) if count <= 1 << 32 => upper_half(&words, count)?,
            Ok(count) => {
                // Of the product with 128 random bits: the upper half of that with the upper word, and what the lower
                // word carries to it.
                let carried = upper_half(&self.words(&places, 1)?, count)?;
                let lower = words.binary(Op::Multiply, Scalar::U64(count))?;
                let overflows = lower.binary(Op::Add, &carried)?.binary(Op::Less, &lower)?;
                upper_half(&words, count)?.binary(Op::Add, &overflows.astype(Dtype::U64)?)?
            }
        };
        // Modulo 2⁶⁴, and then of the dtype, which arrives at the number as that is in range.
        added(offset, Scalar::U64(low as u64))?.astype(dtype)
    }

    /// The numbers from 0 to below `n` in a random order, as `int64`: those of a sort of `n` random words.
    ///
    /// # Errors
    /// As for [`UsmArray::argsort`].
    pub fn permutation(&mut self, n: usize) -> Result<UsmArray> {
        self.bits([n])?.argsort(0, false)
    }

    /// A copy of an array with the parts along an axis in a random order.
    ///
    /// # Errors
    /// [`Error::Axis`]; [`Error::ExecutionPlacement`] where the array is on another queue; as for
    /// [`permutation`](Self::permutation).
    pub fn shuffle(&mut self, array: &UsmArray, axis: isize) -> Result<UsmArray> {
        let number = normalize_axis("axis", axis, array.ndim())?;
        common_queue(&[("self", &self.queue()?), ("array", array.queue())])?;
        let order = self.permutation(array.shape()[number])?;
        array.take(&order, Some(axis), super::IndexMode::Clip)
    }

    /// Uniformly distributed numbers from `low` to below `high`; see [`uniform_as`](Self::uniform_as).
    ///
    /// # Errors
    /// As for [`uniform_as`](Self::uniform_as).
    pub fn uniform<T: FloatElement>(&mut self, shape: impl Shape, low: T, high: T) -> Result<Array<T>> {
        self.uniform_as(shape, T::DTYPE, low.to_scalar().to_f64(), high.to_scalar().to_f64())?.try_into()
    }

    /// Normally distributed numbers of a mean and a standard deviation; see [`normal_as`](Self::normal_as).
    ///
    /// # Errors
    /// As for [`normal_as`](Self::normal_as).
    pub fn normal<T: FloatElement>(&mut self, shape: impl Shape, mean: T, deviation: T) -> Result<Array<T>> {
        self.normal_as(shape, T::DTYPE, mean.to_scalar().to_f64(), deviation.to_scalar().to_f64())?.try_into()
    }

    /// Integers from `low` to below `high`; see [`integers_as`](Self::integers_as), which reaches the largest one too.
    ///
    /// # Errors
    /// As for [`integers_as`](Self::integers_as).
    pub fn integers<T: IntElement + Into<i128>>(
        &mut self,
        shape: impl Shape,
        low: T,
        high: T,
    ) -> Result<Array<T>> {
        self.integers_as(shape, T::DTYPE, low.into(), high.into())?.try_into()
    }
}

/// The upper 64 bits of the products of words of 64 bits with a number, by halves of 32.
fn upper_half(words: &UsmArray, count: u64) -> Result<UsmArray> {
    let (count_low, count_high) = (count & u64::from(u32::MAX), count >> 32);
    let (low, high) = (low_half(words)?, down(words, 32)?);
    let times = |x: &UsmArray, factor: u64| x.binary(Op::Multiply, Scalar::U64(factor));
    // No sum exceeds 64 bits: a product of halves is at most (2³² − 1)², and what is added less than 2³².
    let first = times(&high, count_low)?.binary(Op::Add, &down(&times(&low, count_low)?, 32)?)?;
    if count_high == 0 {
        return down(&first, 32);
    }
    let second = times(&low, count_high)?.binary(Op::Add, &low_half(&first)?)?;
    times(&high, count_high)?.binary(Op::Add, &down(&first, 32)?)?.binary(Op::Add, &down(&second, 32)?)
}
