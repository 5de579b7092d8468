//! Arrays that follow from numbers: ranges, diagonals, triangles, grids. Their elements are computed from their places, on
//! the device, in the pass that asks for them.

use super::display::word;
use super::elementwise::{indices, interim};
use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::{Dims, Strides};
use crate::memory::UsmKind;
use crate::ops::Op;
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

    /// An array of this one's shape, queue, kind and order, with arbitrary elements of a dtype, by default its own.
    ///
    /// # Errors
    /// As for [`build`](super::UsmArrayBuilder::build).
    pub fn empty_like(&self, dtype: Option<Dtype>) -> Result<Self> {
        let builder = Self::builder(self.shape()).dtype(dtype.unwrap_or(self.dtype)).buffer(self.usm_kind());
        builder.order(self.result_order()).queue(&self.queue).build()
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
    /// lies the other way (array API). The three are of one dtype, the array's. Integers are exact; floating point is
    /// computed in the default floating dtype.
    ///
    /// # Errors
    /// [`Error::Dtype`] where the dtypes differ, or are `bool` or complex; [`Error::Value`] for a step of 0 or numbers
    /// that are not finite; [`Error::Overflow`] for too many elements.
    pub fn arange(queue: &Queue, start: Scalar, stop: Scalar, step: Scalar, kind: UsmKind) -> Result<Self> {
        let dtype = start.dtype();
        if let Some((name, other)) =
            [("stop", stop), ("step", step)].into_iter().find(|(_, v)| v.dtype() != dtype)
        {
            return Err(Error::dtype(
                name,
                other.dtype(),
                format!("{dtype}, as `start` is"),
                "give start, stop and step in one dtype",
            ));
        }
        if !matches!(dtype.kind(), DtypeKind::Signed | DtypeKind::Unsigned | DtypeKind::Float) {
            return Err(Error::dtype(
                "start",
                dtype,
                "an integer or real floating-point dtype",
                "make a range of numbers and convert it with `astype`",
            ));
        }
        let float = dtype.kind() == DtypeKind::Float;
        let steps = match (float, dtype.kind()) {
            (true, _) => float_steps(start.to_f64(), stop.to_f64(), step.to_f64()),
            (false, kind) => {
                let [start, stop, step] =
                    [start, stop, step].map(|value| integer(value, kind == DtypeKind::Unsigned));
                integer_steps(start, stop, step)
            }
        };
        let told = || {
            let [start, stop, step] = [start, stop, step].map(|value| word(value, 17));
            format!("{step} from {start} to {stop}")
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
        let wide = if float { queue.device().dtype_support().default_float() } else { dtype };
        let (start, step) = (start.cast(wide), step.cast(wide));
        // An index that its dtype cannot hold wraps, and so does what is computed from it: the result, which lies between
        // start and stop, is right.
        let places = indices(queue, kind, &[len], 0, &[1])?.astype_step(wide)?;
        let ways = interim(Op::Multiply, &[(&places).into(), step.into()])?;
        if wide == dtype {
            return elementwise(Op::Add, &[(&ways).into(), start.into()]);
        }
        interim(Op::Add, &[(&ways).into(), start.into()])?.astype(dtype)
    }

    /// `num` numbers at equal distances from `start` to `stop`, both included exactly; one number is `start`. Without
    /// `endpoint`, the first `num` of `num + 1`, so that `stop` is not among them. Both are of one floating dtype, the
    /// array's; it is computed in the default floating dtype.
    ///
    /// # Errors
    /// [`Error::Dtype`] where the dtypes differ or are not floating point; [`Error::Overflow`] for too many elements.
    pub fn linspace(
        queue: &Queue,
        start: Scalar,
        stop: Scalar,
        num: usize,
        endpoint: bool,
        kind: UsmKind,
    ) -> Result<Self> {
        let dtype = start.dtype();
        if stop.dtype() != dtype || !dtype.kind().is_inexact() {
            return Err(Error::dtype(
                "stop",
                format!("{} where `start` is {dtype}", stop.dtype()),
                "one floating-point dtype for both",
                "convert the ends to the dtype of the result first",
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
        let wide = if complex { support.default_complex() } else { support.default_float() };
        let (from, to) = (start.to_c128(), stop.to_c128());
        let gaps = (if endpoint { num.saturating_sub(1) } else { num }).max(1) as f64;
        // Twice the range is beyond double precision only if the ends are near its limits.
        let scale = if (to - from).is_finite() || !from.is_finite() || !to.is_finite() { 1.0 } else { 0.5 };
        let gap = Scalar::C128((to * scale - from * scale) / gaps).cast(wide);
        let places = indices(queue, kind, &[num], 0, &[1])?;
        let mut values = {
            let numbers = places.astype_step(wide)?;
            let ways = interim(Op::Multiply, &[(&numbers).into(), gap.into()])?;
            interim(Op::Add, &[(&ways).into(), Scalar::C128(from * scale).cast(wide).into()])?
        };
        if scale != 1.0 {
            values = interim(Op::Divide, &[(&values).into(), Scalar::F64(scale).cast(wide).into()])?;
        }
        if !endpoint || num < 2 {
            return values.astype(dtype);
        }
        values = values.astype_step(dtype)?;
        let last = ArrayOrScalar::Scalar(Scalar::I64(num.cast_signed() as i64 - 1));
        let inner = interim(Op::Less, &[(&places).into(), last])?;
        drop(places);
        elementwise(Op::Where, &[(&inner).into(), (&values).into(), stop.into()])
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
    let count = ((stop - start) / step).ceil();
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

fn integer(value: Scalar, unsigned: bool) -> i128 {
    match value.cast(if unsigned { Dtype::U64 } else { Dtype::I64 }) {
        Scalar::U64(value) => value.into(),
        Scalar::I64(value) => value.into(),
        // The cast gives the dtype asked for.
        _ => 0,
    }
}
