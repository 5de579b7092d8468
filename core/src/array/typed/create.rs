//! Creation.

use std::marker::PhantomData;

use super::classes::small;
use super::{Array, FieldElement, NumElement, RealElement, demand};
use crate::array::UsmArray;
use crate::dtype::Element;
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;
use crate::layout::{Order, Shape};
use crate::memory::{UsmKind, heap};
use crate::runtime::Queue;

/// Makes arrays on a queue, in memory of a kind and in an order; see [`Array::on`].
#[derive(Clone, Debug)]
#[must_use = "call one of the functions that make an array"]
pub struct Creator<T: Element> {
    queue: Queue,
    kind: UsmKind,
    order: Order,
    element: PhantomData<T>,
}

impl<T: Element> Array<T> {
    /// Begins the creation of an array on a queue; in shared memory where the device has its own, else in device memory,
    /// and row-major, unless told otherwise.
    ///
    /// ```no_run
    /// # use stridewise_core::{Array, Order, Queue, UsmKind};
    /// let queue = Queue::select("cpu")?;
    /// let a = Array::<f32>::on(&queue).kind(UsmKind::Device).order(Order::F).zeros([2, 3])?;
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    pub fn on(queue: &Queue) -> Creator<T> {
        Creator {
            queue: queue.clone(),
            kind: queue.device().default_kind(),
            order: Order::C,
            element: PhantomData,
        }
    }

    /// An array of this one's shape, queue, kind and order, with arbitrary elements.
    ///
    /// # Errors
    /// As for [`Creator::empty`].
    pub fn empty_like(&self) -> Result<Self> {
        self.inner.empty_like(None)?.try_into()
    }
    /// An array of this one's shape, queue, kind and order, filled with a value.
    ///
    /// # Errors
    /// As for [`Creator::empty`].
    pub fn full_like(&self, value: T) -> Result<Self> {
        self.inner.full_like(value.to_scalar())?.try_into()
    }
    /// An array of this one's shape, queue, kind and order, filled with zeros.
    ///
    /// # Errors
    /// As for [`Creator::empty`].
    pub fn zeros_like(&self) -> Result<Self> {
        self.inner.zeros_like(None)?.try_into()
    }
    /// An array of this one's shape, queue, kind and order, filled with ones.
    ///
    /// # Errors
    /// As for [`Creator::empty`].
    pub fn ones_like(&self) -> Result<Self> {
        self.inner.ones_like(None)?.try_into()
    }
}

/// Writes every function twice: for a creator, and with the default queue for [`Array`].
macro_rules! creation {
    ($($(#[$doc:meta])* fn $name:ident $(<$B:ident>)? ($self:ident $(, $arg:ident: $ty:ty)*) $body:block)*) => {$(
        creation!(@ [$($B)?] $(#[$doc])* fn $name($self $(, $arg: $ty)*) $body);
    )*};
    (@ [] $($rest:tt)*) => { creation!(@ [Element] $($rest)*); };
    (@ [$B:ident] $(#[$doc:meta])* fn $name:ident($self:ident $(, $arg:ident: $ty:ty)*) $body:block) => {
        impl<T: $B> Creator<T> {
            $(#[$doc])*
            pub fn $name(&$self $(, $arg: $ty)*) -> Result<Array<T>> $body
        }
        impl<T: $B> Array<T> {
            $(#[$doc])*
            ///
            /// On the default queue; to choose another, a kind or an order, use [`on`](Self::on).
            pub fn $name($($arg: $ty),*) -> Result<Self> {
                Self::on(&Queue::default_queue()?).$name($($arg),*)
            }
        }
    };
}

creation! {
    /// An array of a shape with arbitrary elements.
    ///
    /// # Errors
    /// [`Error::Axis`] or [`Error::Overflow`] for an impossible shape, [`Error::Dtype`] where the device lacks the dtype,
    /// [`Error::Alloc`], [`Error::Unsupported`] where the device lacks the kind.
    fn empty(self, shape: impl Shape) {
        let array = UsmArray::builder(shape).dtype(T::DTYPE).buffer(self.kind).order(self.order).queue(&self.queue);
        array.build()?.try_into()
    }

    /// An array of a shape, filled with a value.
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    fn full(self, shape: impl Shape, value: T) {
        let array = self.empty(shape)?;
        if !array.is_empty() {
            self.queue.fill(&array.usm_data()?, 0, value.to_scalar(), array.len(), &[])?;
        }
        Ok(array)
    }

    /// An array of a shape, filled with a value; another name of [`full`](Self::full).
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    fn from_elem(self, shape: impl Shape, value: T) {
        self.full(shape, value)
    }

    /// An array of a shape, filled with zeros (`false`).
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    fn zeros(self, shape: impl Shape) {
        self.full(shape, small(0))
    }

    /// An array of a shape, filled with ones (`true`).
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    fn ones(self, shape: impl Shape) {
        self.full(shape, small(1))
    }

    /// An array of no dimensions.
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    fn scalar(self, value: T) {
        self.full([], value)
    }

    /// An array of a shape from elements in row-major order.
    ///
    /// # Errors
    /// [`Error::Shape`] where there are not as many elements as the shape has; as for [`empty`](Self::empty).
    fn from_slice(self, shape: impl Shape, data: &[T]) {
        let shape = shape.extents();
        let shape = shape.as_ref();
        let array: Array<T> = UsmArray::from_slice(&self.queue, shape, data, self.kind)?.try_into()?;
        match self.order {
            Order::F if shape.len() > 1 => array.as_untyped().copy_in(Order::F)?.try_into(),
            _ => Ok(array),
        }
    }

    /// An array of a shape from elements in row-major order.
    ///
    /// # Errors
    /// As for [`from_slice`](Self::from_slice).
    fn from_vec(self, shape: impl Shape, data: Vec<T>) {
        self.from_slice(shape, &data)
    }

    /// An array of one dimension from as many elements as there are; `collect` makes one, too, and panics where this is an error.
    ///
    /// ```no_run
    /// # use stridewise_core::Array;
    /// let squares = Array::try_from_iter((0..5_i64).map(|x| x * x))?;
    /// assert_eq!(squares.shape(), [5]);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_slice`](Self::from_slice).
    fn try_from_iter(self, elements: impl IntoIterator<Item = T>) {
        let elements = heap::collect("elements", elements)?;
        self.from_slice(elements.len(), &elements)
    }

    /// A square matrix with ones on the diagonal and zeros elsewhere.
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    fn eye<NumElement>(self, rows: usize) {
        self.eye_at(rows, rows, 0)
    }

    /// A matrix with ones on a diagonal – `diagonal` columns to the right of the main one, to the left where negative –
    /// and zeros elsewhere.
    ///
    /// # Errors
    /// As for [`empty`](Self::empty).
    fn eye_at<NumElement>(self, rows: usize, columns: usize, diagonal: isize) {
        let eye = |rows, columns, diagonal| {
            UsmArray::eye(&self.queue, rows, columns, diagonal, T::DTYPE, self.kind)
        };
        // The transpose of a row-major matrix is column-major.
        let array = match self.order {
            Order::C => eye(rows, columns, diagonal)?,
            Order::F => eye(columns, rows, diagonal.saturating_neg())?.t(),
        };
        array.try_into()
    }

    /// `start`, `start + step`, `start + 2 step`, … before `stop`: ⌈(stop − start) / step⌉ elements, none where `stop`
    /// lies the other way (array API). Floating point is counted and computed in double precision, from the numbers as `T`
    /// has them: `0.1` of a short type is another number than a tenth, and [`UsmArray::arange`] takes that.
    ///
    /// # Errors
    /// [`Error::Value`] for a step of 0 or numbers that are not finite, [`Error::Overflow`] for too many elements; as for
    /// [`empty`](Self::empty).
    fn arange<RealElement>(self, start: T, stop: T, step: T) {
        let [start, stop, step] = [start, stop, step].map(|number| number.to_scalar().weak());
        UsmArray::arange(&self.queue, start, stop, step, T::DTYPE, self.kind)?.try_into()
    }

    /// `num` numbers at equal distances from `start` to `stop`, both included exactly; one number is `start`. Computed in
    /// double precision.
    ///
    /// # Errors
    /// [`Error::Overflow`] for too many elements; as for [`empty`](Self::empty).
    fn linspace<FieldElement>(self, start: T, stop: T, num: usize) {
        let [start, stop] = [start, stop].map(|number| number.to_scalar().weak());
        UsmArray::linspace(&self.queue, start, stop, num, true, T::DTYPE, self.kind)?.try_into()
    }

    /// `num` numbers at equal distances from `start`, included, to `stop`, which is left out: the array API's `linspace`
    /// without its end point. Computed in double precision.
    ///
    /// # Errors
    /// [`Error::Overflow`] for too many elements; as for [`empty`](Self::empty).
    fn linspace_open<FieldElement>(self, start: T, stop: T, num: usize) {
        let [start, stop] = [start, stop].map(|number| number.to_scalar().weak());
        UsmArray::linspace(&self.queue, start, stop, num, false, T::DTYPE, self.kind)?.try_into()
    }
}

impl<T: Element> Creator<T> {
    /// The USM kind of the memory.
    pub fn kind(mut self, kind: UsmKind) -> Self {
        self.kind = kind;
        self
    }
    /// Row-major or column-major.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }
}

/// Makes an array of 1 to 3 dimensions on the default queue from literals in brackets.
///
/// ```no_run
/// use stridewise_core::array;
/// let a = array![[1.0, 2.0], [3.0, 4.0]];
/// assert_eq!(a.shape(), [2, 2]);
/// assert_eq!(array![[[1_u8, 2]]].shape(), [1, 1, 2]);
/// ```
///
/// One element says the type, `1.0_f64`, where nothing else does. Without it the type of a result that `?` hands on is not known in
/// time, and the message (``expected `f64`, found `!` ``) does not say so:
///
/// ```compile_fail,E0308
/// # fn main() -> stridewise_core::Result<()> {
/// println!("{}", stridewise_core::array![1.0, 2.0].sum()?);
/// # Ok(())
/// # }
/// ```
///
/// ```no_run
/// # fn main() -> stridewise_core::Result<()> {
/// println!("{}", stridewise_core::array![1.0_f64, 2.0].sum()?);
/// # Ok(())
/// # }
/// ```
///
/// Rows of different lengths do not compile:
///
/// ```compile_fail
/// let a = stridewise_core::array![[1.0, 2.0], [3.0]];
/// ```
///
/// An array of no dimensions is `Array::scalar(1.0)?`.
///
/// # Panics
/// Where there is no device or no memory, with the message of the error. [`Array::from_slice`] returns it.
#[macro_export]
macro_rules! array {
    ($([$([$($x:expr),* $(,)?]),+ $(,)?]),+ $(,)?) => {
        $crate::Array::__from_cubes(&[$([$([$($x),*]),+]),+])
    };
    ($([$($x:expr),* $(,)?]),+ $(,)?) => { $crate::Array::__from_rows(&[$([$($x),*]),+]) };
    ($($x:expr),* $(,)?) => { $crate::Array::__from_row(&[$($x),*]) };
}

#[doc(hidden)]
impl<T: Element> Array<T> {
    #[track_caller]
    pub fn __from_row<const N: usize>(data: &[T; N]) -> Self {
        demand(Self::from_slice([N], data))
    }
    #[track_caller]
    pub fn __from_rows<const M: usize, const N: usize>(data: &[[T; N]; M]) -> Self {
        demand(Self::from_slice([M, N], data.as_flattened()))
    }
    #[track_caller]
    pub fn __from_cubes<const L: usize, const M: usize, const N: usize>(data: &[[[T; N]; M]; L]) -> Self {
        demand(Self::from_slice([L, M, N], data.as_flattened().as_flattened()))
    }
}
