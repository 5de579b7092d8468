//! Arrays that follow from numbers: ranges, diagonals, triangles, grids. Their elements are computed from their places, on
//! the device, in the pass that asks for them.
//!
//! A program may have an input that is an index: an `int64` computed from the multi-index by an offset and a
//! step for each dimension (`Source::Index` in `lazy/mod.rs`, `Program::is_index`). What is created here, and
//! random numbers (`random.rs`), are elementwise programs over such inputs. So they fuse with what reads
//! them, a grid that is only compared with is never stored, and a backend needs no kernels for them. The
//! cost: backends have one more kind of input, the host writes indices to a tile before the steps read them,
//! and recorded indices are not computed immediately, as they have no memory to hold. Random uniform numbers
//! and integers agree in every bit on every device (suite `random` of the matrix). No figure is recorded
//! against kernels of their own; a large range should reach the memory's limit of a fill.

use super::elementwise::{TINY_LEN, indices, interim};
use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::Complex;
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::{Dims, Strides};
use crate::memory::UsmKind;
use crate::ops::Op;
use crate::promotion::Weak;
use crate::runtime::Queue;
use crate::scalar::Scalar;

/// Which axis of a grid its first array runs along; see [`meshgrid`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Indexing {
    /// Cartesian: the first array runs along axis 1 and the second along axis 0, as x and y of an image do.
    #[default]
    Xy,
    /// Of matrices: array `k` runs along axis `k`.
    Ij,
}

impl UsmArray {
    /// A shape filled with ones (`true`).
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    pub fn ones(queue: &Queue, shape: &[usize], dtype: Dtype, kind: UsmKind) -> Result<Self> {
        Self::full(queue, shape, Scalar::I8(1).cast(dtype), kind)
    }

    /// An array of this one's shape, queue, kind and order of axes, with arbitrary elements of a dtype, by default its own.
    ///
    /// # Errors
    /// As for [`build`](super::UsmArrayBuilder::build).
    pub fn empty_like(&self, dtype: Option<Dtype>) -> Result<Self> {
        let builder = Self::builder(self.shape()).dtype(dtype.unwrap_or(self.dtype)).buffer(self.usm_kind());
        builder.order_as(self).queue(&self.queue).build()
    }

    /// An array of this one's shape, queue, kind and order, filled with a value.
    ///
    /// # Errors
    /// As for [`build`](super::UsmArrayBuilder::build).
    pub fn full_like(&self, value: Scalar) -> Result<Self> {
        let array = self.empty_like(Some(value.dtype()))?;
        array.fill(value)?;
        Ok(array)
    }

    /// An array of this one's shape, queue, kind and order, filled with zeros of a dtype, by default its own.
    ///
    /// # Errors
    /// As for [`build`](super::UsmArrayBuilder::build).
    pub fn zeros_like(&self, dtype: Option<Dtype>) -> Result<Self> {
        self.full_like(Scalar::I8(0).cast(dtype.unwrap_or(self.dtype)))
    }

    /// An array of this one's shape, queue, kind and order, filled with ones of a dtype, by default its own.
    ///
    /// # Errors
    /// As for [`build`](super::UsmArrayBuilder::build).
    pub fn ones_like(&self, dtype: Option<Dtype>) -> Result<Self> {
        self.full_like(Scalar::I8(1).cast(dtype.unwrap_or(self.dtype)))
    }

    /// `start`, `start + step`, `start + 2 step`, … before `stop`: ⌈(stop − start) / step⌉ elements, none where `stop`
    /// lies the other way (array API). Numbers are taken as they are: integers are counted and computed exactly, others in
    /// double precision (in single precision on a device without), and what comes of it is converted to the dtype last.
    ///
    /// ```no_run
    /// # use stridewise_core::{Dtype, Queue, UsmArray, UsmKind};
    /// # let queue = Queue::default_queue()?;
    /// let tenths = UsmArray::arange(&queue, 0, 1, 0.1, Dtype::F16, UsmKind::Device)?;
    /// assert_eq!(tenths.len(), 10);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Dtype`] for a dtype that is `bool` or complex, and for numbers that one of integers does not represent;
    /// [`Error::Value`] for a step of 0 or numbers that are not finite; [`Error::Overflow`] for too many elements.
    pub fn arange(
        queue: &Queue,
        start: impl Into<Weak>,
        stop: impl Into<Weak>,
        step: impl Into<Weak>,
        dtype: Dtype,
        kind: UsmKind,
    ) -> Result<Self> {
        let numbers = [start.into(), stop.into(), step.into()];
        if !matches!(dtype.kind(), DtypeKind::Signed | DtypeKind::Unsigned | DtypeKind::Float) {
            return Err(Error::dtype(
                "dtype",
                dtype,
                "an integer or real floating-point dtype",
                "make a range of numbers and convert it with `astype`",
            ));
        }
        let exact = integers(&numbers);
        let [start, stop, step] = numbers;
        let told = || format!("{step} from {start} to {stop}");
        let steps = match exact {
            Some([start, stop, step]) => integer_steps(start, stop, step),
            None => float_steps(real("start", start)?, real("stop", stop)?, real("step", step)?),
        };
        let len = match steps {
            Steps::Count(len) if len <= isize::MAX.unsigned_abs() / dtype.size() => len,
            Steps::Invalid => {
                return Err(Error::value(
                    "step",
                    told(),
                    "a finite step other than 0 between finite numbers",
                    "use `linspace` to name the number of elements instead",
                ));
            }
            Steps::TooMany | Steps::Count(_) => {
                return Err(Error::overflow(
                    "step",
                    told(),
                    format!("at most {} elements", isize::MAX.unsigned_abs() / dtype.size()),
                    "use a larger step",
                ));
            }
        };
        // The elements between are of the dtype where the first and the last one are.
        let ends =
            exact.filter(|_| len > 0).map(|[start, _, step]| [start, start + (len as i128 - 1) * step]);
        match ends {
            _ if !dtype.kind().is_integer() => {}
            Some(ends) => ends.into_iter().try_for_each(|end| Weak::Int(end).to_scalar(dtype).map(drop))?,
            None if exact.is_some() => {}
            None => {
                let (from, gap) = (real("start", start)?, real("step", step)?);
                // Integers between, or at, others would be cut off: which ones, NumPy and others do not agree on.
                for (number, value) in [(start, from), (step, gap)] {
                    if value.fract() != 0.0 {
                        number.to_scalar(dtype)?;
                    }
                }
                // A number beyond 128 bits becomes the nearest one, which no dtype holds either.
                let mut ends =
                    len.checked_sub(1).into_iter().flat_map(|last| [from, from + last as f64 * gap]);
                ends.try_for_each(|end| Weak::Int(end.trunc() as i128).to_scalar(dtype).map(drop))?;
            }
        }
        let long = |end: &i128| i64::try_from(*end).is_ok();
        let places = indices(queue, kind, &[len], 0, &[1])?;
        let Some([start, _, step]) =
            exact.filter(|_| dtype.kind().is_integer() || ends.is_none_or(|ends| ends.iter().all(long)))
        else {
            let [from, to, gap] = [real("start", start)?, real("stop", stop)?, real("step", step)?];
            let scale = halves(from.into(), to.into());
            let line = Line { from: (from * scale).into(), gap: (gap * scale).into(), scale };
            return line.at(&places, queue.device().dtype_support().default_float())?.astype(dtype);
        };
        // Where an index or a step is beyond the dtype, it wraps, and so does what is computed from it: the result, which lies
        // between start and stop, is right.
        let wide = if dtype.kind().is_integer() { dtype } else { Dtype::I64 };
        let places = places.astype_step(wide)?;
        let number = |value| Scalar::I64(value as i64).cast(wide);
        let ways = match step {
            1 => places,
            step => interim(Op::Multiply, &[(&places).into(), number(step).into()])?,
        };
        let start = match start {
            0 => return ways.astype(dtype),
            start => number(start),
        };
        if wide == dtype {
            return elementwise(Op::Add, &[(&ways).into(), start.into()]);
        }
        interim(Op::Add, &[(&ways).into(), start.into()])?.astype(dtype)
    }

    /// `num` numbers at equal distances from `start` to `stop`, both included; one number is `start`. Without `endpoint`, the
    /// first `num` of `num + 1`, so that `stop` is not among them. It is computed in double precision (in single precision on a
    /// device without), and converted to the dtype last; to one of integers, numbers are rounded down.
    ///
    /// # Errors
    /// [`Error::Dtype`] for a dtype that is `bool`, and for complex numbers in a real dtype; [`Error::Overflow`] for too many
    /// elements.
    pub fn linspace(
        queue: &Queue,
        start: impl Into<Weak>,
        stop: impl Into<Weak>,
        num: usize,
        endpoint: bool,
        dtype: Dtype,
        kind: UsmKind,
    ) -> Result<Self> {
        let (start, stop) = (start.into(), stop.into());
        if dtype == Dtype::Bool {
            return Err(Error::dtype(
                "dtype",
                dtype,
                "a numeric dtype",
                "make the numbers in a floating-point dtype and compare them",
            ));
        }
        if num > isize::MAX.unsigned_abs() / dtype.size() {
            return Err(Error::overflow(
                "num",
                num,
                format!("at most {} elements", isize::MAX.unsigned_abs() / dtype.size()),
                "ask for fewer numbers",
            ));
        }
        let support = queue.device().dtype_support();
        let complex = dtype.kind() == DtypeKind::Complex;
        if !complex {
            real("start", start)?;
            real("stop", stop)?;
        }
        let wide = if complex { support.default_complex() } else { support.default_float() };
        let [from, to] = [start, stop].map(|end| end.to_c128());
        let gaps = (if endpoint { num.saturating_sub(1) } else { num }).max(1) as f64;
        let scale = halves(from, to);
        let line = Line { from: from * scale, gap: (to * scale - from * scale) / gaps, scale };
        let places = match num {
            // Each step of so few is done at once.
            1..=TINY_LEN if queue.allows_immediate() => {
                let numbers: [i64; TINY_LEN] = std::array::from_fn(|i| i as i64);
                Self::from_slice(queue, &[num], &numbers[..num], kind)?
            }
            _ => indices(queue, kind, &[num], 0, &[1])?,
        };
        let mut values = line.at(&places, wide)?;
        if dtype.kind().is_integer() {
            values = interim(Op::Floor, &[(&values).into()])?;
        }
        if !endpoint || num < 2 {
            return values.astype(dtype);
        }
        let end = match stop {
            Weak::Float(stop) if dtype.kind().is_integer() => Scalar::F64(stop.floor()).cast(dtype),
            stop => stop.to_scalar(dtype)?,
        };
        values = values.astype_step(dtype)?;
        let last = ArrayOrScalar::Scalar(Scalar::I64(num.cast_signed() as i64 - 1));
        let inner = interim(Op::Less, &[(&places).into(), last])?;
        drop(places);
        elementwise(Op::Where, &[(&inner).into(), (&values).into(), end.into()])
    }

    /// A matrix with ones on a diagonal – `diagonal` columns to the right of the main one, to the left where negative –
    /// and zeros elsewhere.
    ///
    /// # Errors
    /// [`Error::Overflow`] for an impossible shape, [`Error::Dtype`] where the device lacks the dtype.
    pub fn eye(
        queue: &Queue,
        rows: usize,
        columns: usize,
        diagonal: isize,
        dtype: Dtype,
        kind: UsmKind,
    ) -> Result<Self> {
        let (places, main) = diagonals(queue, kind, &[rows, columns])?;
        let found = ArrayOrScalar::Scalar(Scalar::I64(main.saturating_add(diagonal as i64)));
        if dtype == Dtype::Bool {
            return elementwise(Op::Equal, &[(&places).into(), found]);
        }
        interim(Op::Equal, &[(&places).into(), found])?.astype(dtype)
    }

    /// The lower triangle of a matrix, or of the last two axes of a stack of them: zeros above a diagonal, which is
    /// `diagonal` columns to the right of the main one, or to the left where negative.
    ///
    /// # Errors
    /// [`Error::Axis`] with fewer than two dimensions.
    pub fn tril(&self, diagonal: isize) -> Result<Self> {
        self.triangle(Op::LessEqual, diagonal)
    }

    /// The upper triangle of a matrix, or of the last two axes of a stack of them: zeros below a diagonal.
    ///
    /// # Errors
    /// [`Error::Axis`] with fewer than two dimensions.
    pub fn triu(&self, diagonal: isize) -> Result<Self> {
        self.triangle(Op::GreaterEqual, diagonal)
    }

    fn triangle(&self, side: Op, diagonal: isize) -> Result<Self> {
        if self.ndim() < 2 {
            return Err(Error::axis(
                "x",
                format!("of shape {:?}", self.shape()),
                "at least two dimensions",
                "give it a second dimension with `expand_dims`",
            ));
        }
        let (places, main) = diagonals(&self.queue, self.usm_kind(), self.shape())?;
        let limit = ArrayOrScalar::Scalar(Scalar::I64(main.saturating_add(diagonal as i64)));
        let inside = interim(side, &[(&places).into(), limit])?;
        drop(places);
        let zero = Scalar::I8(0).cast(self.dtype);
        elementwise(Op::Where, &[(&inside).into(), self.into(), zero.into()])
    }
}

/// The coordinates of a grid: for arrays of one dimension (or none), as many arrays of the grid's shape, each of which
/// repeats the elements of one along an axis. They are read-only views.
///
/// # Errors
/// [`Error::Shape`] for an array of more dimensions; [`Error::Dtype`] where the dtypes differ;
/// [`Error::ExecutionPlacement`].
pub fn meshgrid(arrays: &[&UsmArray], indexing: Indexing) -> Result<Vec<UsmArray>> {
    let mut axes: Vec<usize> = (0..arrays.len()).collect();
    if indexing == Indexing::Xy && arrays.len() > 1 {
        axes.swap(0, 1);
    }
    let mut shape: Dims = arrays.iter().map(|_| 1).collect();
    for (number, (array, &axis)) in arrays.iter().zip(&axes).enumerate() {
        if array.ndim() > 1 {
            return Err(Error::shape(
                format!("arrays[{number}]"),
                format!("of shape {:?}", array.shape()),
                "an array of one dimension",
                "reshape it to one dimension first",
            ));
        }
        if array.dtype != arrays[0].dtype {
            return Err(Error::dtype(
                format!("arrays[{number}]"),
                array.dtype,
                format!("{}, as arrays[0] is", arrays[0].dtype),
                "convert the arrays to one dtype first, with `astype`",
            ));
        }
        shape[axis] = array.len();
    }
    if !arrays.is_empty() {
        super::concat::placement(arrays)?;
    }
    let along = arrays.iter().zip(&axes).map(|(array, &axis)| {
        let mut extents: Vec<isize> = vec![1; axes.len()];
        extents[axis] = array.len().cast_signed();
        array.reshape(&extents)?.broadcast_to(&shape)
    });
    along.collect()
}

/// For a stack of matrices, numbers of their diagonals – from 0, that of the last row's first element, to the right – and
/// the number of the main one.
fn diagonals(queue: &Queue, kind: UsmKind, shape: &[usize]) -> Result<(UsmArray, i64)> {
    let rows = shape[shape.len() - 2];
    let last = rows.saturating_sub(1);
    let mut steps: Strides = Strides::from_elem(0, shape.len() - 2);
    steps.extend([-1, 1]);
    Ok((indices(queue, kind, shape, last, &steps)?, last as i64))
}

/// Points at equal distances, times a scale on the way, so that nothing overflows but what is beyond the result's dtype.
struct Line {
    /// The first, scaled.
    from: Complex<f64>,
    /// The way from one to the next, scaled.
    gap: Complex<f64>,
    scale: f64,
}

impl Line {
    /// The points of these numbers, in a floating dtype; a step on the way.
    fn at(&self, places: &UsmArray, wide: Dtype) -> Result<UsmArray> {
        let constant = |value: Complex<f64>| Scalar::C128(value).cast(wide);
        let numbers = places.astype_step(wide)?;
        let ways = interim(Op::Multiply, &[(&numbers).into(), constant(self.gap).into()])?;
        let points = interim(Op::Add, &[(&ways).into(), constant(self.from).into()])?;
        if self.scale == 1.0 {
            return Ok(points);
        }
        interim(Op::Divide, &[(&points).into(), Scalar::F64(self.scale).cast(wide).into()])
    }
}

/// 1, or one half where the distance of two finite numbers is beyond the doubles.
fn halves(from: Complex<f64>, to: Complex<f64>) -> f64 {
    if (to - from).is_finite() || !from.is_finite() || !to.is_finite() { 1.0 } else { 0.5 }
}

/// Numbers that are all integers.
fn integers(numbers: &[Weak; 3]) -> Option<[i128; 3]> {
    let mut values = [0; 3];
    for (value, number) in values.iter_mut().zip(numbers) {
        *value = match *number {
            Weak::Bool(number) => number.into(),
            // Of 128 bits, not even differences would be.
            Weak::Int(number) if number.unsigned_abs() <= 1 << 100 => number,
            _ => return None,
        };
    }
    Some(values)
}

/// A number that is not complex, as a double.
fn real(name: &'static str, number: Weak) -> Result<f64> {
    if number.kind() == DtypeKind::Complex {
        return Err(Error::dtype(
            name,
            number,
            "a real number",
            "name a complex dtype, or give the real part",
        ));
    }
    Ok(number.to_c128().re)
}

/// How many values `start + i * step` there are before `stop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Steps {
    /// The step is 0, or a number is not finite.
    Invalid,
    /// More than can be counted.
    TooMany,
    /// So many.
    Count(usize),
}

/// Exactly, for all integers.
fn integer_steps(start: i128, stop: i128, step: i128) -> Steps {
    if step == 0 {
        return Steps::Invalid;
    }
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    usize::try_from(count).map_or(Steps::TooMany, Steps::Count)
}

/// In double precision.
fn float_steps(start: f64, stop: f64, step: f64) -> Steps {
    // Twice the range is beyond double precision only if the ends are near its limits.
    let scale = halves(start.into(), stop.into());
    let count = ((stop * scale - start * scale) / step / scale).ceil();
    if step == 0.0 || !start.is_finite() || !step.is_finite() || count.is_nan() {
        return Steps::Invalid;
    }
    // Every array is smaller than this.
    if count >= isize::MAX as f64 {
        return Steps::TooMany;
    }
    // Negative counts saturate to 0.
    Steps::Count(count as usize)
}
