//! Creation functions of the array API, with dpctl's arguments for the place: `device=` (a Device, a Queue or a filter
//! string), `usm_type=`, `sycl_queue=` and its other name `queue=`.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use stridewise::backend::UsmSupport;
use stridewise::memory::heap;
use stridewise::{
    Dtype, Indexing, Order, Queue, Scalar, UsmArray, UsmArrayBuilder, UsmKind, Weak, result_type,
};

use super::axes::arrays_of;
use super::copying::{copied, progress_of};
use super::filling::Filling;
use super::placement::{Lie, imported, kind_of, named_queue, order_of, queue_of};
use super::sequence;
use crate::arguments;
use crate::array::PyArray;
use crate::array::construct::shape_of;
use crate::array::operand::{Given, Operand, number};
use crate::dtype;
use crate::errors::{Fault, Result, shown};
use crate::objects;
use crate::protocol::numpy;

/// An argument that may be missing.
type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Where a new array goes.
struct Place {
    queue: Queue,
    kind: UsmKind,
}

impl Place {
    fn read(
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<Self> {
        let queue = queue_of(device, sycl_queue, queue)?;
        Ok(Self { kind: kind_of(usm_type)?.unwrap_or_else(|| queue.device().default_kind()), queue })
    }

    /// As [`read`](Self::read), but what is not named is as an array has it.
    fn like(
        array: &UsmArray,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<Self> {
        Ok(Self {
            queue: named_queue(device, sycl_queue, queue)?.unwrap_or_else(|| array.queue().clone()),
            kind: kind_of(usm_type)?.unwrap_or(array.usm_kind()),
        })
    }

    fn dtype(&self, dtype: Argument<'_, '_>) -> Result<Option<Dtype>> {
        dtype::optional(dtype, self.queue.device().dtype_support())
    }

    fn default_float(&self) -> Dtype {
        self.queue.device().dtype_support().default_float()
    }

    fn builder(&self, shape: &[usize], dtype: Dtype, order: Order) -> UsmArrayBuilder {
        UsmArray::builder(shape).dtype(dtype).buffer(self.kind).order(order).queue(&self.queue)
    }

    /// The builder of an array beside another: of that one's shape where none is named, else, for as many axes, row-major or
    /// column-major as that one is.
    fn beside(
        &self,
        array: &UsmArray,
        shape: Argument<'_, '_>,
        dtype: Dtype,
        order: Lie,
    ) -> Result<UsmArrayBuilder> {
        let Some(shape) = shape else {
            return Ok(order.like(array, self.builder(array.shape(), dtype, Order::C)));
        };
        let (shape, flags) = (shape_of(shape)?, array.flags());
        let kept = shape.len() == array.ndim() && flags.f_contiguous && !flags.c_contiguous;
        let order = order.of(array).unwrap_or(if kept { Order::F } else { Order::C });
        Ok(self.builder(&shape, dtype, order))
    }
}

macro_rules! filled {
    ($($name:ident $like:ident $value:literal $what:literal;)*) => {$(
        #[doc = concat!("An array of ", $what, ".\n\nshape: extents, or one extent. dtype: float64 where None (float32 ",
            "on a device without double precision). order: \"C\" row-major, \"F\" column-major. usm_type: \"device\", ",
            "\"shared\" or \"host\"; shared where None and the device has such memory of its own, as the host has, else ",
            "device. device: a Device, a Queue or a filter string; sycl_queue, queue: a Queue.\n\n",
            "Raises ValueError for a shape that is none, MemoryError.")]
        #[pyfunction]
        #[pyo3(signature = (
            shape, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None, queue=None
        ))]
        #[allow(clippy::too_many_arguments)]
        fn $name(
            py: Python<'_>,
            shape: &Bound<'_, PyAny>,
            dtype: Argument<'_, '_>,
            #[pyo3(from_py_with = arguments::text)] order: &str,
            device: Argument<'_, '_>,
            usm_type: Argument<'_, '_>,
            sycl_queue: Argument<'_, '_>,
            queue: Argument<'_, '_>,
        ) -> Result<PyArray> {
            let place = Place::read(device, usm_type, sycl_queue, queue)?;
            let dtype = place.dtype(dtype)?.unwrap_or_else(|| place.default_float());
            let builder = place.builder(&shape_of(shape)?, dtype, order_of(order)?.named());
            Ok(py.detach(|| builder.filled(Scalar::I8($value)))?.into())
        }

        #[doc = concat!("An array of ", $what, ", of the shape of another, and of its dtype, queue, kind and order where ",
            "they are not named.\n\nRaises TypeError where x is no usm_ndarray, ValueError for a shape that is none, MemoryError.")]
        #[pyfunction]
        #[pyo3(signature = (
            x, /, dtype=None, order="K", *, shape=None, device=None, usm_type=None, sycl_queue=None, queue=None
        ))]
        #[allow(clippy::too_many_arguments)]
        fn $like(
            py: Python<'_>,
            x: Given<'_>,
            dtype: Argument<'_, '_>,
            #[pyo3(from_py_with = arguments::text)] order: &str,
            shape: Argument<'_, '_>,
    device: Argument<'_, '_>,
            usm_type: Argument<'_, '_>,
            sycl_queue: Argument<'_, '_>,
            queue: Argument<'_, '_>,
        ) -> Result<PyArray> {
            let x = &x.array();
            let place = Place::like(x, device, usm_type, sycl_queue, queue)?;
            let dtype = place.dtype(dtype)?.unwrap_or(x.dtype());
            let builder = place.beside(x, shape, dtype, order_of(order)?)?;
            Ok(py.detach(|| builder.filled(Scalar::I8($value)))?.into())
        }
    )*};
}
filled! {
    zeros zeros_like 0 "zeros";
    ones ones_like 1 "ones";
}

/// An array with arbitrary contents. Arguments as for `zeros`.
#[pyfunction]
#[pyo3(signature = (shape, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None, queue=None))]
#[allow(clippy::too_many_arguments)]
fn empty(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    dtype: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
) -> Result<PyArray> {
    let place = Place::read(device, usm_type, sycl_queue, queue)?;
    let dtype = place.dtype(dtype)?.unwrap_or_else(|| place.default_float());
    let builder = place.builder(&shape_of(shape)?, dtype, order_of(order)?.named());
    Ok(py.detach(|| builder.build())?.into())
}

/// An array with arbitrary contents, of the shape of another, and of its dtype, queue, kind and order where they are not
/// named.
#[pyfunction]
#[pyo3(signature = (x, /, dtype=None, order="K", *, shape=None, device=None, usm_type=None, sycl_queue=None, queue=None))]
#[allow(clippy::too_many_arguments)]
fn empty_like(
    py: Python<'_>,
    x: Given<'_>,
    dtype: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    shape: Argument<'_, '_>,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
) -> Result<PyArray> {
    let x = &x.array();
    let place = Place::like(x, device, usm_type, sycl_queue, queue)?;
    let dtype = place.dtype(dtype)?.unwrap_or(x.dtype());
    let builder = place.beside(x, shape, dtype, order_of(order)?)?;
    Ok(py.detach(|| builder.build())?.into())
}

/// An array filled with a value, or with the elements of an array or a list, which are broadcast. Without a dtype, a number's is that of
/// its kind: bool, int64, the default floating or complex dtype. Other arguments as for `zeros`; where they are not named, queue and
/// kind are those of an array.
///
/// >>> sw.full((2, 2), 7).tolist()
/// [[7, 7], [7, 7]]
#[pyfunction]
#[pyo3(signature = (
    shape, fill_value, dtype=None, order="C", *, device=None, usm_type=None, sycl_queue=None, queue=None
))]
#[allow(clippy::too_many_arguments)]
fn full(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
) -> Result<PyArray> {
    let place = match fill_value.cast::<PyArray>() {
        Ok(value) => Place::like(&value.get().array(), device, usm_type, sycl_queue, queue)?,
        Err(_) => Place::read(device, usm_type, sycl_queue, queue)?,
    };
    let value = Filling::read(fill_value, place.dtype(dtype)?, &place.queue)?;
    let builder = place.builder(&shape_of(shape)?, value.dtype(), order_of(order)?.named());
    Ok(py.detach(|| value.fill(builder))?.into())
}

/// An array filled with a value, or with elements as `full` takes them, of the shape of another, and of its dtype, queue, kind and order
/// where they are not named.
#[pyfunction]
#[pyo3(signature = (
    x, /, fill_value, dtype=None, order="K", *, shape=None, device=None, usm_type=None, sycl_queue=None,
    queue=None
))]
#[allow(clippy::too_many_arguments)]
fn full_like(
    py: Python<'_>,
    x: Given<'_>,
    fill_value: &Bound<'_, PyAny>,
    dtype: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    shape: Argument<'_, '_>,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
) -> Result<PyArray> {
    let x = &x.array();
    let place = Place::like(x, device, usm_type, sycl_queue, queue)?;
    let dtype = place.dtype(dtype)?.unwrap_or(x.dtype());
    let value = Filling::read(fill_value, Some(dtype), &place.queue)?;
    let builder = place.beside(x, shape, dtype, order_of(order)?)?;
    Ok(py.detach(|| value.fill(builder))?.into())
}

/// Numbers of Python, or of arrays of one element.
fn weak(name: &str, value: &Bound<'_, PyAny>) -> Result<Weak> {
    if let Some(value) = number(value)? {
        return Ok(value);
    }
    let scalar = match value.extract::<Operand<'_>>() {
        Ok(Operand::Array(array)) => {
            let array: &UsmArray = &array;
            value.py().detach(|| array.item())?
        }
        Ok(Operand::Scalar(scalar)) => scalar,
        _ => {
            return Err(Fault::Python(PyTypeError::new_err(format!(
                "`{name}` is {}; expected a number",
                shown(value)
            ))));
        }
    };
    let number_again = objects::number(value.py(), scalar)?;
    number(&number_again)?
        .ok_or_else(|| Fault::Python(PyTypeError::new_err(format!("`{name}` is no number"))))
}

/// `start`, `start + step`, … before `stop`; with one number, from 0 to before it: ceil((stop - start) / step) elements.
/// Integers are exact; others are counted and computed in double precision, and converted to the dtype last.
///
/// dtype: the default integer dtype where all numbers are integers and the default floating one otherwise. Raises
/// ValueError for a step of 0, TypeError for a dtype that is bool or complex.
///
/// >>> sw.arange(2, 10, 3).tolist()
/// [2, 5, 8]
#[pyfunction]
#[pyo3(
    signature = (
        start, /, stop=None, step=None, dtype=None, *, device=None, usm_type=None, sycl_queue=None, queue=None
    ),
    text_signature = "(start, /, stop=None, step=1, dtype=None, *, device=None, usm_type=None, sycl_queue=None, \
                      queue=None)"
)]
#[allow(clippy::too_many_arguments)]
fn arange(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: Argument<'_, '_>,
    step: Argument<'_, '_>,
    dtype: Argument<'_, '_>,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
) -> Result<PyArray> {
    let place = Place::read(device, usm_type, sycl_queue, queue)?;
    let step = step.filter(|step| !step.is_none()).map_or(Ok(Weak::Int(1)), |step| weak("step", step))?;
    let (start, stop) = match stop.filter(|stop| !stop.is_none()) {
        Some(stop) => (weak("start", start)?, weak("stop", stop)?),
        None => (Weak::Int(0), weak("stop", start)?),
    };
    let support = place.queue.device().dtype_support();
    let dtype = match place.dtype(dtype)? {
        Some(dtype) => dtype,
        None => result_type(&[], &[start, stop, step], support)?,
    };
    let range = || UsmArray::arange(&place.queue, start, stop, step, dtype, place.kind);
    Ok(py.detach(range)?.into())
}

/// `num` numbers at equal distances from `start` to `stop`, both included; without `endpoint`, without `stop`.
///
/// dtype: the default floating dtype where None, or the default complex one for complex numbers; of integers, numbers are
/// rounded down. Raises ValueError for a negative `num`.
///
/// >>> sw.linspace(0, 1, 5).tolist()
/// [0.0, 0.25, 0.5, 0.75, 1.0]
#[pyfunction]
#[pyo3(signature = (
    start, stop, /, num, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None, endpoint=true
))]
#[allow(clippy::too_many_arguments)]
fn linspace(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::whole)] num: isize,
    dtype: Argument<'_, '_>,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::flag)] endpoint: bool,
) -> Result<PyArray> {
    let place = Place::read(device, usm_type, sycl_queue, queue)?;
    let Ok(num) = usize::try_from(num) else {
        return Err(Fault::Python(PyValueError::new_err(format!(
            "invalid value: `num` is {num}; expected 0 or more; help: name the number of elements"
        ))));
    };
    let (start, stop) = (weak("start", start)?, weak("stop", stop)?);
    let natural = result_type(&[], &[start, stop, Weak::Float(0.0)], place.queue.device().dtype_support())?;
    let dtype = place.dtype(dtype)?.unwrap_or(natural);
    let numbers = || UsmArray::linspace(&place.queue, start, stop, num, endpoint, dtype, place.kind);
    Ok(py.detach(numbers)?.into())
}

/// A matrix with ones on a diagonal, which is `k` columns to the right of the main one or to the left where negative, and
/// zeros elsewhere. n_cols: as many as rows where None. Other arguments as for `zeros`.
///
/// >>> sw.eye(2, dtype="int8").tolist()
/// [[1, 0], [0, 1]]
#[pyfunction]
#[pyo3(signature = (
    n_rows, n_cols=None, /, *, k=0, dtype=None, order="C", device=None, usm_type=None, sycl_queue=None, queue=None
))]
#[allow(clippy::too_many_arguments)]
fn eye(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::whole)] n_rows: isize,
    #[pyo3(from_py_with = arguments::optional_whole)] n_cols: Option<isize>,
    #[pyo3(from_py_with = arguments::whole)] k: isize,
    dtype: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
) -> Result<PyArray> {
    let place = Place::read(device, usm_type, sycl_queue, queue)?;
    let dtype = place.dtype(dtype)?.unwrap_or_else(|| place.default_float());
    let order = order_of(order)?.named();
    let rows = super::count("n_rows", n_rows)?;
    let columns = n_cols.map_or(Ok(rows), |columns| super::count("n_cols", columns))?;
    let matrix = || UsmArray::eye(&place.queue, rows, columns, k, dtype, place.kind)?.in_order(order);
    Ok(py.detach(matrix)?.into())
}

/// The lower triangle of a matrix, or of each of a stack of them: zeros above the diagonal that is `k` columns to the
/// right of the main one. Raises a ValueError with fewer than two dimensions.
#[pyfunction]
#[pyo3(signature = (x, /, k=0))]
fn tril(py: Python<'_>, x: Given<'_>, #[pyo3(from_py_with = arguments::whole)] k: isize) -> Result<PyArray> {
    let x = &x.array();
    Ok(py.detach(|| x.tril(k))?.into())
}

/// The upper triangle of a matrix, or of each of a stack of them: zeros below the diagonal that is `k` columns to the
/// right of the main one. Raises a ValueError with fewer than two dimensions.
#[pyfunction]
#[pyo3(signature = (x, /, k=0))]
fn triu(py: Python<'_>, x: Given<'_>, #[pyo3(from_py_with = arguments::whole)] k: isize) -> Result<PyArray> {
    let x = &x.array();
    Ok(py.detach(|| x.triu(k))?.into())
}

/// The coordinates of a grid: for arrays of one dimension (or none), as many arrays of the grid's shape, each of which
/// repeats the elements of one along an axis; read-only views. indexing: "xy", the first array runs along axis 1 and the
/// second along axis 0; or "ij", array `k` runs along axis `k`.
///
/// >>> x, y = sw.meshgrid(sw.arange(2), sw.arange(3))
/// >>> x.tolist()
/// [[0, 1], [0, 1], [0, 1]]
#[pyfunction]
#[pyo3(signature = (*arrays, indexing="xy"))]
fn meshgrid<'py>(
    py: Python<'py>,
    arrays: &Bound<'py, PyTuple>,
    #[pyo3(from_py_with = arguments::text)] indexing: &str,
) -> Result<Bound<'py, PyTuple>> {
    let indexing = match indexing {
        "xy" => Indexing::Xy,
        "ij" => Indexing::Ij,
        other => {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "`indexing` is {other:?}; expected \"xy\" or \"ij\""
            ))));
        }
    };
    let arrays = arrays_of("arrays", arrays)?;
    let operands = heap::collect("arrays", &arrays)?;
    let grid = py.detach(|| stridewise::meshgrid(&operands, indexing))?;
    Ok(PyTuple::new(py, grid.into_iter().map(PyArray::from))?)
}

/// An array with the elements of an object: a usm_ndarray, a number, nested lists, tuples or other sequences of numbers or
/// arrays (of other libraries, too), or an array of another library.
///
/// dtype: that of the object where None. copy: True copies in any case, False never (and raises a ValueError where one is
/// needed), None where it must be, and what is in no USM memory: arrays of NumPy's, buffers. The result is then the engine's own, so
/// that work on it is recorded. order: "C", "F", or "K" and "A" for that of the object. usm_type, device, sycl_queue,
/// queue: where the array is to be; by default, where the object is, or the arrays in it are, and else, as an array in
/// memory of the processor also is, on the default device, in memory as for `zeros` where there is something to copy. An array
/// of a queue of the same context is not copied.
///
/// Raises TypeError for what no array can be made of, ValueError for sequences of different lengths side by side,
/// ExecutionPlacementError for arrays of different queues in a sequence where no queue is named.
///
/// >>> a = sw.asarray([[1, 2], [3, 4]], dtype="float32", usm_type="shared")
/// >>> a.shape, a.dtype.name, a.usm_type
/// ((2, 2), 'float32', 'shared')
#[pyfunction]
#[pyo3(signature = (
    obj, /, dtype=None, *, device=None, copy=None, usm_type=None, sycl_queue=None, queue=None, order="K"
))]
#[allow(clippy::too_many_arguments)]
fn asarray<'py>(
    py: Python<'py>,
    obj: &Bound<'py, PyAny>,
    dtype: Argument<'_, '_>,
    device: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::optional_flag)] mut copy: Option<bool>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
) -> Result<Bound<'py, PyArray>> {
    let (mut queue, mut kind) = (named_queue(device, sycl_queue, queue)?, kind_of(usm_type)?);
    let order = order_of(order)?;
    let array = match obj.cast::<PyArray>() {
        Ok(array) => Some(array.get().array().clone()),
        Err(_) if !numpy::is_array(obj) && is_number_or_list(obj) => None,
        Err(_) => imported(obj, &mut copy, &mut queue, &mut kind)?,
    };
    if let Some(array) = array {
        let support = queue.as_ref().unwrap_or(array.queue()).device().dtype_support();
        let dtype = dtype::optional(dtype, support)?.unwrap_or(array.dtype());
        if let (Ok(own), false) = (obj.cast::<PyArray>(), copy == Some(true))
            && is_as_asked(&array, dtype, queue.as_ref(), kind, order)
        {
            return Ok(own.clone());
        }
        let adapted = py.detach(|| adapted(&array, dtype, queue.as_ref(), kind, order, copy))?;
        return Ok(Bound::new(py, PyArray::from(adapted))?);
    }
    if copy == Some(false) {
        return Err(Fault::Python(PyValueError::new_err(
            "`copy` is False, but numbers must be copied to become an array; help: leave it out",
        )));
    }
    let dtype = |queue: &Queue| dtype::optional(dtype, queue.device().dtype_support());
    let array = sequence::array_placed(obj, dtype, queue, kind)?;
    Ok(Bound::new(py, PyArray::from(py.detach(|| array.in_order(order.named()))?))?)
}

fn is_number_or_list(object: &Bound<'_, PyAny>) -> bool {
    let list = object.cast::<PyList>().is_ok() || object.cast::<PyTuple>().is_ok();
    // Scalars of NumPy's describe themselves by a copy; they are read as what they are.
    let number = || matches!(Operand::value(object), Ok(Some(_)));
    list || number()
}

/// Whether an array is what is asked for: of a dtype, on a queue, in memory of a kind and in an order.
fn is_as_asked(
    array: &UsmArray,
    dtype: Dtype,
    queue: Option<&Queue>,
    kind: Option<UsmKind>,
    order: Lie,
) -> bool {
    let flags = array.flags();
    let in_order = order.of(array).is_none_or(|order| match order {
        Order::C => flags.c_contiguous,
        Order::F => flags.f_contiguous,
    });
    let there = queue.is_none_or(|queue| queue == array.queue());
    in_order && there && dtype == array.dtype() && kind.is_none_or(|kind| kind == array.usm_kind())
}

/// The kind of an array's copy on a queue: its own, or that of the queue's device where that lacks the array's. Elements of the host's
/// are of a kind that many a GPU has not.
fn kind_on(array: &UsmArray, queue: &Queue) -> UsmKind {
    let (device, kind) = (queue.device(), array.usm_kind());
    let lacking = queue.context() != array.context() && device.info().usm(kind) == UsmSupport::Absent;
    if lacking { device.default_kind() } else { kind }
}

/// The array on another queue, of the kind of [`kind_on`].
pub(crate) fn on_queue(array: &UsmArray, queue: &Queue) -> stridewise::Result<UsmArray> {
    match kind_on(array, queue) {
        kind if kind == array.usm_kind() => array.to_queue(queue),
        kind => array.to_kind(kind)?.to_queue(queue),
    }
}

/// An array with the elements of another, of a dtype, on a queue, in memory of a kind and in an order.
pub(super) fn adapted(
    array: &UsmArray,
    dtype: Dtype,
    queue: Option<&Queue>,
    kind: Option<UsmKind>,
    order: Lie,
    copy: Option<bool>,
) -> stridewise::Result<UsmArray> {
    let queue = queue.unwrap_or(array.queue());
    let kind = kind.unwrap_or_else(|| kind_on(array, queue));
    let moved = queue.context() != array.context();
    let needed = moved || !is_as_asked(array, dtype, None, Some(kind), order);
    if needed && copy == Some(false) {
        return Err(stridewise::Error::value(
            "copy",
            "False, but the array asked for has another dtype, kind, order or context",
            "None or True",
            "leave `copy` out, or ask for what the array is",
        ));
    }
    if !needed && copy != Some(true) {
        return array.to_queue(queue);
    }
    let wanted = order.of(array);
    // What changes its kind within a context is converted on the way.
    let converted = if moved || kind == array.usm_kind() { array.astype(dtype)? } else { array.clone() };
    let here = on_queue(&converted, queue)?;
    let copied = moved || dtype == here.dtype() && dtype != array.dtype();
    let placed = if kind == here.usm_kind() && copied {
        wanted.map_or(Ok(here.clone()), |order| here.in_order(order))?
    } else {
        let builder = UsmArray::builder(here.shape()).dtype(dtype).buffer(kind).queue(queue);
        let builder = match wanted {
            Some(order) => builder.order(order),
            None => builder.order_as(&here),
        };
        let out = builder.build()?;
        out.assign(&here)?;
        out
    };
    Ok(placed)
}

/// A copy of an array in memory of its own. order: "C", "F", or "K" and "A" for that of the array; usm_type, device,
/// sycl_queue, queue: where the copy is to be, by default where the array is. progress: a function that is called with how many bytes
/// have been copied and how many there are, a few times a second and at the end, as of a mapped file; what it raises ends the call.
#[pyfunction]
#[pyo3(signature = (x, /, *, order="K", device=None, usm_type=None, sycl_queue=None, queue=None, progress=None))]
#[allow(clippy::too_many_arguments)]
fn copy(
    py: Python<'_>,
    x: Given<'_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
    device: Argument<'_, '_>,
    usm_type: Argument<'_, '_>,
    sycl_queue: Argument<'_, '_>,
    queue: Argument<'_, '_>,
    progress: Argument<'_, '_>,
) -> Result<PyArray> {
    let place = Place::like(x.array(), device, usm_type, sycl_queue, queue)?;
    let (x, order) = (&x.array(), order_of(order)?);
    if let Some(progress) = progress_of(progress)? {
        let made = place.builder(x.shape(), x.dtype(), Order::C);
        let made = match order.of(x) {
            Some(order) => made.order(order),
            None => made.order_as(x),
        };
        return copied(py, x, py.detach(|| made.build())?, progress);
    }
    let copy = || adapted(x, x.dtype(), Some(&place.queue), Some(place.kind), order, Some(true));
    Ok(py.detach(copy)?.into())
}

/// The elements converted to a dtype: integers wrap, floats to integers lose the fraction, complex to real the imaginary
/// part, and all but zero is true. copy: whether an array that has the dtype already is copied; else it is the result itself. device: where the result
/// is to be, by default where the array is. order: as for `copy`.
///
/// >>> sw.astype(sw.asarray([1.9, -1.9]), "int32").tolist()
/// [1, -1]
#[pyfunction]
#[pyo3(signature = (x, dtype, /, *, copy=true, device=None, order="K"))]
fn astype<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    dtype: &Bound<'_, PyAny>,
    #[pyo3(from_py_with = arguments::flag)] copy: bool,
    device: Argument<'_, '_>,
    #[pyo3(from_py_with = arguments::text)] order: &str,
) -> Result<Bound<'py, PyArray>> {
    let (own, queue) = (x.cast::<PyArray>().ok(), named_queue(device, None, None)?);
    let x: Given<'_> = x.extract().map_err(|error| arguments::named(x.py(), "x", error))?;
    let x = x.array();
    let support = queue.as_ref().unwrap_or(x.queue()).device().dtype_support();
    let (dtype, order) = (dtype::extract(dtype, support)?, order_of(order)?);
    if dtype != x.dtype() && queue.is_none() && order == Lie::Kept {
        // Recorded, so that it fuses with what it is for.
        return Ok(Bound::new(py, PyArray::from(py.detach(|| x.astype(dtype))?))?);
    }
    if !copy && is_as_asked(x, dtype, queue.as_ref(), None, order) {
        return match own {
            Some(own) => Ok(own.clone()),
            None => Ok(Bound::new(py, PyArray::from(x.clone()))?),
        };
    }
    let converted = || adapted(x, dtype, queue.as_ref(), None, order, copy.then_some(true));
    Ok(Bound::new(py, PyArray::from(py.detach(converted)?))?)
}

/// Adds the functions to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    macro_rules! add {
        ($($name:ident)*) => { $(module.add_function(wrap_pyfunction!($name, module)?)?;)* };
    }
    add! {
        asarray zeros ones full empty zeros_like ones_like full_like empty_like arange linspace eye tril triu meshgrid
        copy astype
    }
    Ok(())
}
