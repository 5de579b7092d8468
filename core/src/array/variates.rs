//! Random numbers of further distributions, choices, and generators apart from each other. What is drawn by
//! rejection is a kernel: an item draws from the streams of its own place until a number is taken, whatever
//! the others do.
//!
//! A number depends on the seed and its place alone, never on threads, levels or how many are drawn at once.
//! That is why nothing here draws in sequence:
//! ```text
//! (seed, counter + i, stream)  ──Philox──►  64 random bits of number i
//! ```
//! `counter` goes on by as many places as numbers were asked for. A distribution that is a formula of uniform
//! or normal numbers is written in array operations, and fused; one that rejects attempts is a kernel in
//! `draws.rs`, with a stream for each attempt. `spawn` and `reserve` give generators whose places nobody else
//! has.
//!
//! A new distribution needs nothing but its function here, and tests of its moments. A change of the way from
//! bits to numbers changes the numbers of every seed that somebody has written down: it belongs in the
//! changelog.

use super::draws;
use super::kernels::ByDtype;
use super::random::{down, scale};
use super::{
    Array, ArrayOrScalar, FloatElement, Generator, IndexMode, Reduction, Scan, Side, UsmArray, concat,
};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::kernel::Argument;
use crate::layout::{Dims, Shape, SliceItem, normalize_axis};
use crate::memory::{UsmKind, heap};
use crate::ops::{self, Op};
use crate::promotion::Weak;
use crate::runtime::{Event, Queue, common_queue};
use crate::scalar::Scalar;

/// The stream that seeds of spawned generators come from; no number does.
const SPAWNING: u64 = u64::MAX;
/// The largest rate of a Poisson distribution whose numbers are of `int64`, as NumPy has it.
const MAX_RATE: f64 = 9.223_372_006_484_771e18;

/// Of more than so many places a few are chosen without an order of all.
const FEW_OF: usize = 1 << 24;

static GAMMA: ByDtype = ByDtype::new(draws::gamma);
static POISSON: ByDtype = ByDtype::new(draws::poisson);
static BINOMIAL: ByDtype = ByDtype::new(draws::binomial);

impl Generator {
    /// So many generators whose streams are apart from this one's and from each other: their seeds are random words of this
    /// seed, others at each call. The counter stays.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory for so many.
    pub fn spawn(&mut self, count: usize) -> Result<Vec<Self>> {
        let child = |number: u64| {
            let place = [number, SPAWNING, self.seed].map(Scalar::U64);
            let seed = ops::apply(Op::Philox, &place).and_then(Scalar::get).unwrap_or(number);
            let mut child = self.clone();
            (child.seed, child.counter, child.spawned) = (seed, 0, 0);
            child
        };
        let first = self.spawned;
        let children = (0..count).map(|number| child(first.wrapping_add(number as u64)));
        let children = heap::collect("generators", children)?;
        self.spawned = first.wrapping_add(count as u64);
        Ok(children)
    }

    /// How many generators were spawned.
    #[must_use]
    pub fn spawned(&self) -> u64 {
        self.spawned
    }

    /// The generator at a place of its stream, behind so many spawned generators: what [`counter`](Self::counter) and
    /// [`spawned`](Self::spawned) said before.
    #[must_use]
    pub fn at(mut self, counter: u64, spawned: u64) -> Self {
        (self.counter, self.spawned) = (counter, spawned);
        self
    }

    /// A generator at the place where this one is, which goes on behind so many numbers: for work that is done elsewhere or
    /// later, and yet gives the numbers of this order.
    #[must_use]
    pub fn reserve(&mut self, len: usize) -> Self {
        let here = self.clone();
        self.counter = self.counter.wrapping_add(len as u64);
        here
    }

    /// Exponentially distributed numbers of a mean, the scale, of a real floating dtype: −ln u, with `u` from above 0 to 1 of
    /// 53 bits in `float64`, of 32 in others, which are computed in `float32`.
    ///
    /// # Errors
    /// [`Error::Value`] for a scale that is negative or not finite; as for [`uniform_as`](Self::uniform_as).
    pub fn exponential_as(&mut self, shape: impl Shape, dtype: Dtype, scale: f64) -> Result<UsmArray> {
        let numbers = self.exponential_block(shape.extents().as_ref(), dtype, scale);
        let len = numbers.as_ref().map_or(0, UsmArray::len);
        self.advance(len, numbers)
    }

    fn exponential_block(&self, shape: &[usize], dtype: Dtype, size: f64) -> Result<UsmArray> {
        let computed = self.float(dtype)?;
        if !size.is_finite() || size < 0.0 {
            return Err(Error::value(
                "scale",
                size,
                "a finite number, 0 or more",
                "give the mean, which is 1 over the rate",
            ));
        }
        let digits = if computed == Dtype::F64 { 53 } else { 32 };
        let words = self.words(&self.places(shape)?, 0)?;
        let u = down(&words, 64 - u64::from(digits))?.binary(Op::Add, Scalar::U64(1))?.astype(computed)?;
        let u = u.binary(Op::Multiply, scale(digits).cast(computed))?;
        // Without the sign, which 0 would keep.
        let waits = u.unary(Op::Log)?.unary(Op::Abs)?;
        waits.binary(Op::Multiply, Scalar::F64(size).cast(computed))?.astype(dtype)
    }

    /// Gamma-distributed numbers of a shape parameter, a number or an array that is broadcast, and a scale, of a real floating
    /// dtype: by G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables" (2000). 16-bit floats are
    /// rounded from `float32`. The bits are the same where the device computes logarithms, cosines and powers alike.
    ///
    /// # Errors
    /// [`Error::Value`] for a shape parameter or scale that is negative or not finite, [`Error::Shape`] where the parameter
    /// does not broadcast, [`Error::ExecutionPlacement`] where it is on another queue, as for
    /// [`uniform_as`](Self::uniform_as).
    pub fn gamma_as<'a>(
        &mut self,
        shape: impl Shape,
        dtype: Dtype,
        alpha: impl Into<ArrayOrScalar<'a>>,
        scale: f64,
    ) -> Result<UsmArray> {
        let shape = shape.extents();
        let shape = shape.as_ref();
        let float = self.float(dtype)?;
        if !scale.is_finite() || scale < 0.0 {
            return Err(Error::value(
                "scale",
                scale,
                "a finite number, 0 or more",
                "scale numbers afterwards",
            ));
        }
        let largest = float.finfo()?.max;
        let numbers = self.drawn(&GAMMA, shape, float, float, &[("alpha", alpha.into(), largest)]);
        let numbers = numbers.and_then(|numbers| {
            let scaled = numbers.binary(Op::Multiply, Scalar::F64(scale).cast(float))?;
            scaled.astype(dtype)
        });
        let len = numbers.as_ref().map_or(0, UsmArray::len);
        self.advance(len, numbers)
    }

    /// Poisson-distributed numbers of a rate, a number or an array that is broadcast, as `int64`: by products of uniform numbers
    /// below a rate of 10, else by W. Hörmann, "The transformed rejection method for generating Poisson random variables"
    /// (1993). Computed in the device's default floating dtype, so that large numbers are exact in `float64` alone; the numbers
    /// are the same on devices that have the same one and compute logarithms and exponentials alike.
    ///
    /// # Errors
    /// [`Error::Value`] for a rate that is negative, not a number or too large for numbers of `int64`; as for
    /// [`gamma_as`](Self::gamma_as).
    pub fn poisson<'a>(
        &mut self,
        shape: impl Shape,
        lam: impl Into<ArrayOrScalar<'a>>,
    ) -> Result<Array<i64>> {
        let float = self.queue()?.device().dtype_support().default_float();
        let parameters = [("lam", lam.into(), MAX_RATE)];
        let numbers = self.drawn(&POISSON, shape.extents().as_ref(), float, Dtype::I64, &parameters);
        let len = numbers.as_ref().map_or(0, UsmArray::len);
        self.advance(len, numbers)?.try_into()
    }

    /// How many of `n` trials succeed, each with the probability `p`, as `int64`; both are numbers or arrays, which are
    /// broadcast. By the waits from one success to the next below a mean of 10, else by W. Hörmann, "The generation of binomial
    /// random variates" (1993). Computed as [`poisson`](Self::poisson) is.
    ///
    /// # Errors
    /// [`Error::Value`] for a number of trials that is negative or beyond 2⁵³, or a probability that is not from 0 to 1; as for
    /// [`gamma_as`](Self::gamma_as).
    pub fn binomial<'a, 'b>(
        &mut self,
        shape: impl Shape,
        n: impl Into<ArrayOrScalar<'a>>,
        p: impl Into<ArrayOrScalar<'b>>,
    ) -> Result<Array<i64>> {
        let float = self.queue()?.device().dtype_support().default_float();
        let parameters = [("n", n.into(), 2_f64.powi(53)), ("p", p.into(), 1.0)];
        let numbers = self.drawn(&BINOMIAL, shape.extents().as_ref(), float, Dtype::I64, &parameters);
        let len = numbers.as_ref().map_or(0, UsmArray::len);
        self.advance(len, numbers)?.try_into()
    }

    /// Places from 0 to below `n`, as `int64`, each as probable as the others or in proportion to its weight. Without
    /// `replace` no place comes twice: a random order's first ones or, with weights, those of the smallest exponential numbers
    /// over the weights (P. S. Efraimidis and P. G. Spirakis, "Weighted random sampling with a reservoir", 2006).
    ///
    /// # Errors
    /// [`Error::Value`] where there is nothing to choose from, or without `replace` less than is asked for, or for weights that
    /// are negative, not finite or all 0; [`Error::Shape`] where there are not `n` weights; [`Error::ExecutionPlacement`].
    pub fn choice(
        &mut self,
        n: usize,
        shape: impl Shape,
        replace: bool,
        weights: Option<&UsmArray>,
    ) -> Result<Array<i64>> {
        let shape = shape.extents();
        let shape = shape.as_ref();
        let queue = self.queue()?;
        let count = crate::layout::Layout::contiguous(shape, crate::layout::Order::C)?.len();
        let extents: Dims = shape.into();
        let weights = match weights {
            Some(weights) => Some(checked_weights(&queue, weights, n)?),
            None => None,
        };
        let positive = match &weights {
            Some(weights) if !replace => {
                usize::try_from(weights.count_nonzero(None, false)?.item()?.get::<i64>().unwrap_or(0))
                    .unwrap_or(0)
            }
            _ => n,
        };
        if count > 0 && (n == 0 || (!replace && positive < count)) {
            return Err(Error::value(
                "size",
                format!("{count} of {positive}"),
                if replace { "something to choose from" } else { "no more than there are to choose from" },
                "choose from more, choose fewer, or choose with `replace`",
            ));
        }
        let head = [SliceItem::Slice { start: None, stop: Some(count.cast_signed()), step: 1 }];
        let chosen = match weights {
            None if replace && count > 0 => {
                return self.integers_as(shape, Dtype::I64, 0, n as i128)?.try_into();
            }
            None if count > 0 && n > FEW_OF && count <= n / 16 => self.few_of_many(n, count)?,
            None if count == 0 => UsmArray::empty(&queue, &[0], Dtype::I64, self.kind_on(&queue))?,
            None => self.permutation(n)?.slice(&head)?,
            Some(weights) if replace => {
                let sums = weights.cumulative(Scan::Sum, Some(0), None, false)?;
                let last = sums.slice(&[SliceItem::Index(-1)])?;
                let unit = self.uniform_as([count], weights.dtype(), 0.0, 1.0)?;
                let places = sums.searchsorted(&unit.binary(Op::Multiply, &last)?, Side::Right, None)?;
                // Rounding may arrive at the sum of all, behind the last one.
                places.binary(Op::Minimum, Scalar::I64(n as i64 - 1))?
            }
            Some(weights) => {
                let waits = self.exponential_as([n], weights.dtype(), 1.0)?;
                waits.binary(Op::Divide, &weights)?.argsort(0, false)?.slice(&head)?
            }
        };
        let signed: Vec<isize> = extents.iter().map(|extent| extent.cast_signed()).collect();
        chosen.reshape(&signed)?.try_into()
    }

    /// So many different places below `n`, by far fewer than there are: the first ones that differ of random places, of which an order
    /// of all would take memory for each.
    fn few_of_many(&mut self, n: usize, count: usize) -> Result<UsmArray> {
        let more = count + count / 8 + 16;
        let mut draws = self.integers_as([more], Dtype::I64, 0, n as i128)?;
        loop {
            let firsts = draws.unique_all()?.indices;
            if firsts.len() >= count {
                let head = [SliceItem::Slice { start: None, stop: Some(count.cast_signed()), step: 1 }];
                let places = firsts.sort(0, false)?.slice(&head)?;
                return draws.take(&places, Some(0), IndexMode::Clip);
            }
            // So many are drawn that this happens once in a blue moon.
            draws = concat(&[&draws, &self.integers_as([more], Dtype::I64, 0, n as i128)?], Some(0))?;
        }
    }

    /// Brings the parts of an array along an axis into a random order, in place: that of [`shuffle`](Self::shuffle).
    ///
    /// # Errors
    /// As for [`shuffle`](Self::shuffle); [`Error::Borrow`] where the array is read-only.
    pub fn shuffle_in_place(&mut self, array: &UsmArray, axis: isize) -> Result<Event> {
        array.check_writable("array")?;
        normalize_axis("axis", axis, array.ndim())?;
        array.assign(&self.shuffle(array, axis)?)
    }

    /// Exponentially distributed numbers of a mean; see [`exponential_as`](Self::exponential_as).
    ///
    /// # Errors
    /// As for [`exponential_as`](Self::exponential_as).
    pub fn exponential<T: FloatElement>(&mut self, shape: impl Shape, scale: T) -> Result<Array<T>> {
        self.exponential_as(shape, T::DTYPE, scale.to_scalar().to_f64())?.try_into()
    }

    /// Gamma-distributed numbers of a shape parameter and a scale; see [`gamma_as`](Self::gamma_as).
    ///
    /// # Errors
    /// As for [`gamma_as`](Self::gamma_as).
    pub fn gamma<T: FloatElement>(&mut self, shape: impl Shape, alpha: T, scale: T) -> Result<Array<T>> {
        self.gamma_as(shape, T::DTYPE, alpha.to_scalar(), scale.to_scalar().to_f64())?.try_into()
    }

    /// The numbers of a kernel over so many items, with parameters from 0 to a largest value each.
    fn drawn(
        &self,
        kernels: &ByDtype,
        shape: &[usize],
        float: Dtype,
        out: Dtype,
        parameters: &[(&'static str, ArrayOrScalar<'_>, f64)],
    ) -> Result<UsmArray> {
        let queue = self.queue()?;
        let mut kind = self.kind_on(&queue);
        for (_, parameter, _) in parameters {
            if let ArrayOrScalar::Array(array) = parameter {
                kind = kind.combine(array.usm_kind());
            }
        }
        let numbers = UsmArray::empty(&queue, shape, out, kind)?;
        let rows = parameters
            .iter()
            .map(|(name, parameter, most)| row(&queue, kind, (name, parameter), float, *most, shape));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        if numbers.is_empty() {
            return Ok(numbers);
        }
        let flat = numbers.reshape_view(&[-1])?;
        let mut arguments: Vec<Argument<'_>> = rows.iter().map(Argument::Array).collect();
        arguments.push(Argument::Array(&flat));
        arguments.extend([Scalar::U64(self.counter), Scalar::U64(self.seed)].map(Argument::Scalar));
        kernels.get(float)?.launch_own(&queue, [flat.len()], &arguments, true)?;
        Ok(numbers)
    }
}

/// A parameter of each number, in the dtype that is computed in, checked.
fn row(
    queue: &Queue,
    kind: UsmKind,
    (name, parameter): (&'static str, &ArrayOrScalar<'_>),
    float: Dtype,
    most: f64,
    shape: &[usize],
) -> Result<UsmArray> {
    let check = |value: f64| {
        if (0.0..=most).contains(&value) {
            return Ok(());
        }
        Err(Error::value(
            name,
            value,
            format!("numbers from 0 to {most}"),
            "check the parameters of the distribution",
        ))
    };
    let number = |value: Weak| {
        let value = value.to_c128();
        if value.im != 0.0 {
            return Err(Error::dtype(name, "a complex number", "a real number", "take the real part first"));
        }
        check(value.re)?;
        let len = shape.iter().product();
        UsmArray::full(queue, &[], Scalar::F64(value.re).cast(float), kind)?.broadcast_to(&[len])
    };
    match parameter {
        ArrayOrScalar::Weak(value) => number(*value),
        ArrayOrScalar::Scalar(value) => number(value.weak()),
        ArrayOrScalar::Array(array) => {
            common_queue(&[("self", queue), (name, array.queue())])?;
            array.check_real(name)?;
            let array = array.astype(float)?;
            if !array.is_empty() {
                for reduction in [Reduction::Min, Reduction::Max] {
                    check(array.reduce_all(reduction)?.to_f64())?;
                }
            }
            array.broadcast_to(shape)?.reshape(&[-1])
        }
    }
}

/// Weights of a choice, in the device's default floating dtype.
fn checked_weights(queue: &Queue, weights: &UsmArray, n: usize) -> Result<UsmArray> {
    common_queue(&[("self", queue), ("p", weights.queue())])?;
    weights.check_real("choice")?;
    if weights.shape() != [n] {
        return Err(Error::shape(
            "p",
            format!("of shape {:?}", weights.shape()),
            format!("{n} weights in one dimension, one for each"),
            "reshape the weights, or leave them out",
        ));
    }
    let weights = weights.astype(queue.device().dtype_support().default_float())?;
    if n > 0 {
        let least = weights.reduce_all(Reduction::Min)?.to_f64();
        let total = weights.reduce_all(Reduction::Sum)?.to_f64();
        if least.is_nan() || least < 0.0 || !total.is_finite() || total == 0.0 {
            return Err(Error::value(
                "p",
                format!("weights from {least} on with the sum {total}"),
                "finite weights of 0 or more, not all 0",
                "leave out what is not to be chosen by a weight of 0",
            ));
        }
    }
    Ok(weights)
}

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl From<$ty> for ArrayOrScalar<'_> {
            fn from(value: $ty) -> Self {
                Self::Weak(value.into())
            }
        }
    )*};
}
// As operands of the parameters of distributions.
numbers! { f64 i32 i64 }
