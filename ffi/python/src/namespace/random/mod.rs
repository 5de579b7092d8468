//! Random numbers: a generator in NumPy's manner over the engine's, whose numbers depend on the seed and their place alone.

mod parameters;

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PyTuple};
use stridewise::{Dtype, IndexMode, Op, UsmArray, Weak, backend::Dims};

use self::parameters::{Place, check, len_of, number_of, placed, shape_of};
use super::sequence;
use crate::arguments;
use crate::array::PyArray;
use crate::array::operand::Operand;
use crate::errors::{Fault, Result, shown};
use crate::objects;

/// An argument that may be missing.
type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Random numbers in NumPy's manner, by a generator that counts: each number is computed from the seed and its place in the
/// stream (Philox4x32-10), so that the numbers depend on the order and the sizes of the calls alone, and not on the device or
/// the number of threads. They are not NumPy's numbers.
///
/// Integers and uniform numbers are the same bits on every device; the others are where the device computes logarithms, cosines
/// and powers alike, and else differ in the last digits (a count or a number drawn by rejection may then be another one).
///
/// seed: an integer from 0 to 2**64 - 1. counter: the place in the stream of the next number. Threads may share a generator.
#[pyclass(module = "stridewise.random", name = "Generator", frozen)]
pub(crate) struct PyGenerator(Mutex<stridewise::Generator>);

impl PyGenerator {
    /// The engine's generator at the place of so many numbers, which belong to the caller from now on.
    fn reserve(&self, len: usize, place: &Place) -> stridewise::Generator {
        self.lock().reserve(len).on(&place.queue).kind(place.kind)
    }

    /// Where numbers go and in what shape, by a method's arguments and its parameters, and the generator at the place of so many.
    fn prepare(
        &self,
        place: [Argument<'_, '_>; 5],
        size: Argument<'_, '_>,
        parameters: &[&Operand<'_>],
    ) -> Result<(Place, Dims, stridewise::Generator)> {
        let place = Place::read(place, parameters)?;
        let shape = shape_of(size, parameters)?;
        let generator = self.reserve(len_of(&shape), &place);
        Ok((place, shape, generator))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, stridewise::Generator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of(generator: stridewise::Generator) -> Self {
        Self(Mutex::new(generator))
    }
}

#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (seed, *, counter=0))]
    fn new(seed: &Bound<'_, PyAny>, #[pyo3(from_py_with = arguments::whole)] counter: u64) -> Result<Self> {
        let mut generator = stridewise::Generator::new(seed_of(seed)?);
        generator.set_counter(counter);
        Ok(Self::of(generator))
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.lock().seed()
    }

    /// The place in the stream of the next number.
    #[getter]
    fn counter(&self) -> u64 {
        self.lock().counter()
    }

    #[setter]
    fn set_counter(&self, #[pyo3(from_py_with = arguments::whole)] counter: u64) {
        self.lock().set_counter(counter);
    }

    fn __repr__(&self) -> String {
        let generator = self.lock();
        format!("Generator(seed={}, counter={})", generator.seed(), generator.counter())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let make = slf.py().import("stridewise._native")?.getattr("_generator_restored")?;
        let generator = slf.get().lock();
        let state = (generator.seed(), generator.counter(), generator.spawned());
        Ok((make, state.into_pyobject(slf.py())?))
    }

    /// Uniformly distributed numbers from 0 to below 1.
    ///
    /// size: the shape; None: no dimensions. dtype: the default floating dtype where None. usm_type: "device", "shared" or
    /// "host". device: a Device, a Queue or a filter string; sycl_queue, queue: a Queue.
    ///
    /// Raises TypeError for a dtype that is not real floating point, ValueError for a negative extent, MemoryError.
    #[pyo3(signature = (size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None))]
    #[allow(clippy::too_many_arguments)]
    fn random(
        &self,
        py: Python<'_>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let (place, shape, mut generator) =
            self.prepare([dtype, device, usm_type, sycl_queue, queue], size, &[])?;
        Ok(py.detach(|| generator.uniform_as(&shape, place.float(), 0.0, 1.0))?.into())
    }

    /// Uniformly distributed numbers from low to below high, numbers or arrays, which are broadcast. Without a size, the shape is
    /// that of the arrays. Other arguments as for `random`.
    ///
    /// Raises ValueError for bounds that are not finite or where high is below low.
    #[pyo3(
        signature = (
            low=None, high=None, size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None
        ),
        text_signature = "($self, low=0.0, high=1.0, size=None, *, dtype=None, device=None, usm_type=None, \
                          sycl_queue=None, queue=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn uniform(
        &self,
        py: Python<'_>,
        low: Option<Operand<'_>>,
        high: Option<Operand<'_>>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let low = low.unwrap_or(Operand::Weak(Weak::Float(0.0)));
        let high = high.unwrap_or(Operand::Weak(Weak::Float(1.0)));
        let (place, shape, mut generator) =
            self.prepare([dtype, device, usm_type, sycl_queue, queue], size, &[&low, &high])?;
        if let (Some(low), Some(high)) = (number_of(&low), number_of(&high)) {
            return Ok(py.detach(|| generator.uniform_as(&shape, place.float(), low, high))?.into());
        }
        check(py, "low", &low, f64::NEG_INFINITY)?;
        check(py, "high", &high, f64::NEG_INFINITY)?;
        let (from, to) = (low.get(), high.get());
        let range = py.detach(|| stridewise::elementwise(Op::Subtract, &[to, from]))?;
        let range = Bound::new(py, PyArray::from(range))?.into_any().extract::<Operand<'_>>()?;
        check(py, "high - low", &range, 0.0)?;
        let unit = py.detach(|| generator.uniform_as(&shape, place.float(), 0.0, 1.0))?;
        let (range, low) = (&range, &low);
        Ok(placed(unit, range, Some(low))?.into())
    }

    /// Normally distributed numbers of the mean 0 and the standard deviation 1, by the method of Box and Muller. Arguments as for
    /// `random`.
    #[pyo3(signature = (size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None))]
    #[allow(clippy::too_many_arguments)]
    fn standard_normal(
        &self,
        py: Python<'_>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        self.normal(py, None, None, size, dtype, device, usm_type, sycl_queue, queue)
    }

    /// Normally distributed numbers of a mean, loc, and a standard deviation, scale, numbers or arrays, which are broadcast. Without
    /// a size, the shape is that of the arrays. Other arguments as for `random`.
    ///
    /// Raises ValueError for a mean that is not finite, or a deviation that is negative or not finite.
    #[pyo3(
        signature = (
            loc=None, scale=None, size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None
        ),
        text_signature = "($self, loc=0.0, scale=1.0, size=None, *, dtype=None, device=None, usm_type=None, \
                          sycl_queue=None, queue=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn normal(
        &self,
        py: Python<'_>,
        loc: Option<Operand<'_>>,
        scale: Option<Operand<'_>>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let loc = loc.unwrap_or(Operand::Weak(Weak::Float(0.0)));
        let scale = scale.unwrap_or(Operand::Weak(Weak::Float(1.0)));
        check(py, "loc", &loc, f64::NEG_INFINITY)?;
        check(py, "scale", &scale, 0.0)?;
        let (place, shape, mut generator) =
            self.prepare([dtype, device, usm_type, sycl_queue, queue], size, &[&loc, &scale])?;
        if let (Some(mean), Some(deviation)) = (number_of(&loc), number_of(&scale)) {
            return Ok(py.detach(|| generator.normal_as(&shape, place.float(), mean, deviation))?.into());
        }
        let standard = py.detach(|| generator.normal_as(&shape, place.float(), 0.0, 1.0))?;
        Ok(placed(standard, &scale, Some(&loc))?.into())
    }

    /// Exponentially distributed numbers of the mean 1. Arguments as for `random`.
    #[pyo3(signature = (size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None))]
    #[allow(clippy::too_many_arguments)]
    fn standard_exponential(
        &self,
        py: Python<'_>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        self.exponential(py, None, size, dtype, device, usm_type, sycl_queue, queue)
    }

    /// Exponentially distributed numbers of a mean, scale, which is 1 over the rate: a number or an array. Without a size, the shape
    /// is that of the array. Other arguments as for `random`.
    ///
    /// Raises ValueError for a scale that is negative or not finite.
    #[pyo3(
        signature = (
            scale=None, size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None
        ),
        text_signature = "($self, scale=1.0, size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, \
                          queue=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn exponential(
        &self,
        py: Python<'_>,
        scale: Option<Operand<'_>>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let scale = scale.unwrap_or(Operand::Weak(Weak::Float(1.0)));
        check(py, "scale", &scale, 0.0)?;
        let (place, shape, mut generator) =
            self.prepare([dtype, device, usm_type, sycl_queue, queue], size, &[&scale])?;
        let size = number_of(&scale).unwrap_or(1.0);
        let standard = py.detach(|| generator.exponential_as(&shape, place.float(), size))?;
        match scale {
            Operand::Array(_) => Ok(placed(standard, &scale, None)?.into()),
            _ => Ok(standard.into()),
        }
    }

    /// Gamma-distributed numbers of a shape parameter, a number or an array, and the scale 1. Other arguments as for `gamma`.
    #[pyo3(signature = (
        shape, size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn standard_gamma(
        &self,
        py: Python<'_>,
        shape: Operand<'_>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        self.gamma(py, shape, None, size, dtype, device, usm_type, sycl_queue, queue)
    }

    /// Gamma-distributed numbers of a shape parameter and a scale, numbers or arrays, which are broadcast: their mean is shape *
    /// scale. Without a size, the shape of the result is that of the arrays. Other arguments as for `random`.
    ///
    /// Raises ValueError for a shape parameter or scale that is negative or not finite.
    #[pyo3(
        signature = (
            shape, scale=None, size=None, *, dtype=None, device=None, usm_type=None, sycl_queue=None, queue=None
        ),
        text_signature = "($self, shape, scale=1.0, size=None, *, dtype=None, device=None, usm_type=None, \
                          sycl_queue=None, queue=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn gamma(
        &self,
        py: Python<'_>,
        shape: Operand<'_>,
        scale: Option<Operand<'_>>,
        size: Argument<'_, '_>,
        dtype: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let scale = scale.unwrap_or(Operand::Weak(Weak::Float(1.0)));
        check(py, "scale", &scale, 0.0)?;
        let (place, extents, mut generator) =
            self.prepare([dtype, device, usm_type, sycl_queue, queue], size, &[&shape, &scale])?;
        let (alpha, size) = (shape.get(), number_of(&scale).unwrap_or(1.0));
        let numbers = py.detach(|| generator.gamma_as(&extents, place.float(), alpha, size))?;
        match scale {
            Operand::Array(_) => Ok(placed(numbers, &scale, None)?.into()),
            _ => Ok(numbers.into()),
        }
    }

    /// Integers from low to below high (with endpoint: to high), or with one bound from 0 to below it; all as probable.
    ///
    /// dtype: an integer dtype or bool, int64 by default. Other arguments as for `random`. Bounds that are arrays or lists are broadcast;
    /// between them the numbers are remainders of numbers of 63 bits, and without a size, the shape of the result is theirs. Raises
    /// ValueError where there is no integer between the bounds or one is out of the dtype's range, TypeError for other dtypes.
    #[pyo3(
        signature = (
            low, high=None, size=None, *, dtype=None, endpoint=false, device=None, usm_type=None, sycl_queue=None,
            queue=None
        ),
        text_signature = "($self, low, high=None, size=None, *, dtype=None, endpoint=False, device=None, usm_type=None, \
                          sycl_queue=None, queue=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn integers<'py>(
        slf: &Bound<'py, Self>,
        low: &Bound<'py, PyAny>,
        high: Argument<'_, 'py>,
        size: Argument<'_, 'py>,
        dtype: Argument<'_, 'py>,
        #[pyo3(from_py_with = arguments::flag)] endpoint: bool,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = slf.py();
        if is_many(low) || high.is_some_and(is_many) {
            let place = PyDict::new(py);
            let given =
                [("device", device), ("usm_type", usm_type), ("sycl_queue", sycl_queue), ("queue", queue)];
            for (name, value) in given {
                if let Some(value) = value {
                    place.set_item(name, value)?;
                }
            }
            let bounds = (slf, low, high, size, dtype, endpoint, place);
            return Ok(py.import("stridewise._distributions")?.call_method1("integers_between", bounds)?);
        }
        let named = |name: &'static str| move |error| arguments::named(py, name, error);
        let low: i128 = arguments::whole(low).map_err(named("low"))?;
        let high: Option<i128> =
            high.map(arguments::optional_whole).transpose().map_err(named("high"))?.flatten();
        let (low, high) = high.map_or((0, low), |high| (low, high));
        let high = high.saturating_add(i128::from(endpoint));
        let place = Place::read([dtype, device, usm_type, sycl_queue, queue], &[])?;
        let shape = shape_of(size, &[])?;
        let dtype = place.dtype.unwrap_or(Dtype::I64);
        if dtype == Dtype::Bool && (low < 0 || high > 2) {
            return Err(Fault::Python(PyValueError::new_err(format!(
                "invalid value: `high` is {high} with low {low}; expected numbers of bool, 0 and 1"
            ))));
        }
        let drawn = if dtype == Dtype::Bool { Dtype::U8 } else { dtype };
        let mut generator = slf.get().reserve(len_of(&shape), &place);
        let numbers = || generator.integers_as(&shape, drawn, low, high)?.astype(dtype);
        Ok(Bound::new(py, PyArray::from(py.detach(numbers)?))?.into_any())
    }

    /// Poisson-distributed numbers, as int64, of a rate, lam, a number or an array. Without a size, the shape is that of the array.
    /// Other arguments as for `random`.
    ///
    /// Raises ValueError for a rate that is negative, not a number or too large.
    #[pyo3(
        signature = (lam=None, size=None, *, device=None, usm_type=None, sycl_queue=None, queue=None),
        text_signature = "($self, lam=1.0, size=None, *, device=None, usm_type=None, sycl_queue=None, queue=None)"
    )]
    #[allow(clippy::too_many_arguments)]
    fn poisson(
        &self,
        py: Python<'_>,
        lam: Option<Operand<'_>>,
        size: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let lam = lam.unwrap_or(Operand::Weak(Weak::Float(1.0)));
        let (_, shape, mut generator) =
            self.prepare([None, device, usm_type, sycl_queue, queue], size, &[&lam])?;
        let lam = lam.get();
        Ok(py.detach(|| generator.poisson(&shape, lam))?.into_untyped().into())
    }

    /// How many of n trials succeed, each with the probability p, as int64; n and p are numbers or arrays, which are broadcast.
    /// Without a size, the shape is that of the arrays. Other arguments as for `random`.
    ///
    /// Raises ValueError for a negative number of trials, or a probability that is not from 0 to 1.
    #[pyo3(signature = (n, p, size=None, *, device=None, usm_type=None, sycl_queue=None, queue=None))]
    #[allow(clippy::too_many_arguments)]
    fn binomial(
        &self,
        py: Python<'_>,
        n: Operand<'_>,
        p: Operand<'_>,
        size: Argument<'_, '_>,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let (_, shape, mut generator) =
            self.prepare([None, device, usm_type, sycl_queue, queue], size, &[&n, &p])?;
        let (n, p) = (n.get(), p.get());
        Ok(py.detach(|| generator.binomial(&shape, n, p))?.into_untyped().into())
    }

    /// Elements of an array along an axis, or of a list or tuple, or integers from 0 to below a; as many as size says, in a random
    /// order.
    ///
    /// replace: whether an element may be chosen several times. p: the probability of each, or a multiple of it, an array or list;
    /// all alike where None. Other arguments as for `random`.
    ///
    /// Raises ValueError where there is nothing to choose from, or without replace less than is asked for, and for p that are
    /// negative, not finite, all 0 or not as many.
    #[pyo3(signature = (
        a, size=None, replace=true, p=None, axis=0, *, device=None, usm_type=None, sycl_queue=None, queue=None
    ), text_signature = "($self, a, size=None, replace=True, p=None, axis=0, *, device=None, usm_type=None, \
                         sycl_queue=None, queue=None)")]
    #[allow(clippy::too_many_arguments)]
    fn choice(
        &self,
        py: Python<'_>,
        a: &Bound<'_, PyAny>,
        size: Argument<'_, '_>,
        #[pyo3(from_py_with = arguments::flag)] replace: bool,
        p: Argument<'_, '_>,
        #[pyo3(from_py_with = arguments::whole)] axis: isize,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        let array = match a.cast::<PyArray>() {
            Ok(array) => Some(array.extract::<Operand<'_>>()?),
            Err(_) => None,
        };
        let beside: Vec<&Operand<'_>> = array.iter().collect();
        let place = Place::read([None, device, usm_type, sycl_queue, queue], &beside)?;
        let source = match &array {
            Some(Operand::Array(array)) => Some(UsmArray::clone(array)),
            _ if sequence::is_sequence(a) => Some(sequence::array_of(a, None, &place.queue, place.kind)?),
            _ => None,
        };
        let n = match &source {
            Some(source) => source.shape()[stridewise::backend::normalize_axis("axis", axis, source.ndim())?],
            None => {
                let expected = "a usm_ndarray, a list or an integer";
                let whole =
                    arguments::read_whole(a, expected).map_err(|error| arguments::named(py, "a", error))?;
                super::count("a", whole)?
            }
        };
        let weights = match p.filter(|p| !p.is_none()) {
            None => None,
            Some(p) => Some(match p.cast::<PyArray>() {
                Ok(p) => p.get().array().clone(),
                Err(_) => sequence::array_of(p, None, &place.queue, place.kind)?,
            }),
        };
        let shape = shape_of(size, &[])?;
        let len = if replace { len_of(&shape) } else { n };
        let mut generator = self.reserve(len, &place);
        let chosen = || {
            let places = generator.choice(n, &shape, replace, weights.as_ref())?.into_untyped();
            match source {
                Some(source) => source.take(&places, Some(axis), IndexMode::Clip),
                None => Ok(places),
            }
        };
        Ok(py.detach(chosen)?.into())
    }

    /// A copy of an array with its parts along an axis in a random order, or the integers from 0 to below x in one, as int64.
    /// Other arguments as for `random`.
    ///
    /// Raises OutOfBoundsError for an axis out of range, ValueError for a negative number.
    #[pyo3(signature = (x, axis=0, *, device=None, usm_type=None, sycl_queue=None, queue=None))]
    #[allow(clippy::too_many_arguments)]
    fn permutation(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::whole)] axis: isize,
        device: Argument<'_, '_>,
        usm_type: Argument<'_, '_>,
        sycl_queue: Argument<'_, '_>,
        queue: Argument<'_, '_>,
    ) -> Result<PyArray> {
        if x.cast::<PyArray>().is_err() && !sequence::is_sequence(x) {
            let place = Place::read([None, device, usm_type, sycl_queue, queue], &[])?;
            let expected = "a usm_ndarray, a list or an integer";
            let whole =
                arguments::read_whole(x, expected).map_err(|error| arguments::named(py, "x", error))?;
            let n = super::count("x", whole)?;
            let mut generator = self.reserve(n, &place);
            return Ok(py.detach(|| generator.permutation(n))?.into());
        }
        let own = match x.cast::<PyArray>() {
            Ok(array) => Some(array.extract::<Operand<'_>>()?),
            Err(_) => None,
        };
        let beside: Vec<&Operand<'_>> = own.iter().collect();
        let place = Place::read([None, device, usm_type, sycl_queue, queue], &beside)?;
        let array = match &own {
            Some(Operand::Array(array)) => UsmArray::clone(array),
            _ => sequence::array_of(x, None, &place.queue, place.kind)?,
        };
        let n = array.shape()[stridewise::backend::normalize_axis("axis", axis, array.ndim())?];
        let mut generator = self.reserve(n, &place);
        Ok(py.detach(|| generator.shuffle(&array, axis))?.into())
    }

    /// Brings the parts of an array along an axis into a random order, in place.
    ///
    /// Raises OutOfBoundsError for an axis out of range, ValueError for a read-only array.
    #[pyo3(signature = (x, axis=0))]
    fn shuffle(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = arguments::ours)] x: PyRef<'_, PyArray>,
        #[pyo3(from_py_with = arguments::whole)] axis: isize,
    ) -> Result<()> {
        let array: &UsmArray = &x.array();
        let n = array.shape()[stridewise::backend::normalize_axis("axis", axis, array.ndim())?];
        let mut generator = self.lock().reserve(n).on(array.queue()).kind(array.usm_kind());
        py.detach(|| generator.shuffle_in_place(array, axis))?;
        Ok(())
    }

    /// So many generators whose streams are apart from this one's and from each other, others at each call: a list.
    ///
    /// Raises ValueError for a negative number.
    fn spawn<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = arguments::whole)] n_children: isize,
    ) -> Result<Bound<'py, PyList>> {
        let count = super::count("n_children", n_children)?;
        let children = self.lock().spawn(count)?.into_iter();
        let children = children.map(|child| Ok(Bound::new(py, Self::of(child))?.into_any()));
        Ok(objects::list(py, children)?)
    }
}

/// Whether an argument is a list, a tuple or an array that has dimensions.
fn is_many(object: &Bound<'_, PyAny>) -> bool {
    let has_dimensions = |object: &Bound<'_, PyAny>| {
        object.getattr("ndim").is_ok_and(|n| n.extract::<usize>().is_ok_and(|n| n > 0))
    };
    // To ask a number for what it has not costs an exception.
    let is_number = object.is_instance_of::<PyInt>();
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    is_list || !is_number && has_dimensions(object)
}

/// Bits of which each depends on all of a number (the finish of SplitMix64).
fn stirred(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A seed: an integer of 64 bits, not negative.
fn seed_of(seed: &Bound<'_, PyAny>) -> Result<u64> {
    if is_many(seed) {
        let mut mixed = 0;
        for part in seed.try_iter()? {
            mixed = stirred(mixed ^ seed_of(&part?)?);
        }
        return Ok(mixed);
    }
    let index = seed.call_method0("__index__").map_err(|_| {
        PyTypeError::new_err(format!("`seed` is {}; expected an integer or None", shown(seed)))
    })?;
    index.extract::<u64>().map_err(|_| {
        Fault::Python(PyValueError::new_err(format!(
            "invalid value: `seed` is {}; expected an integer from 0 to 2**64 - 1; help: take it modulo 2**64",
            shown(seed)
        )))
    })
}

/// A generator of random numbers: one of a seed, an integer from 0 to 2**64 - 1 or a sequence of such; one that nobody can foresee
/// where None; or, of a Generator, that one.
///
/// Raises ValueError for an integer out of range, TypeError for other objects.
#[pyfunction]
#[pyo3(signature = (seed=None))]
fn default_rng<'py>(py: Python<'py>, seed: Argument<'_, 'py>) -> Result<Bound<'py, PyGenerator>> {
    let seed = match seed.filter(|seed| !seed.is_none()) {
        Some(seed) => match seed.cast::<PyGenerator>() {
            Ok(generator) => return Ok(generator.clone()),
            Err(_) => seed_of(seed)?,
        },
        None => py.import("secrets")?.call_method1("randbits", (64,))?.extract()?,
    };
    Ok(Bound::new(py, PyGenerator::of(stridewise::Generator::new(seed)))?)
}

/// The generator of what `__reduce__` has written.
#[pyfunction]
fn _generator_restored(
    #[pyo3(from_py_with = arguments::whole)] seed: u64,
    #[pyo3(from_py_with = arguments::whole)] counter: u64,
    #[pyo3(from_py_with = arguments::whole)] spawned: u64,
) -> PyGenerator {
    PyGenerator::of(stridewise::Generator::new(seed).at(counter, spawned))
}

/// Adds the module `_random`, for `stridewise.random`.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let inner = PyModule::new(module.py(), "_random")?;
    let inner = &inner;
    inner.add_class::<PyGenerator>()?;
    super::add_functions!(inner: default_rng);
    // Where pickle finds it.
    super::add_functions!(module: _generator_restored);
    module.setattr("_random", inner)
}
