//! Sums, products and extremes at places: what elements that indices name are joined with, as often as they name them, in the order
//! of the indices.

use smallvec::SmallVec;

use super::addressing::{IndexMode, resolve};
use super::elementwise::indices as counted;
use super::indexing::Index;
use super::kernels::ByDtype;
use super::{ArrayOrScalar, UsmArray};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::form::{
    AtomicOp, Coordinate, Fence, Kernel, KernelBuilder, Level, MemoryOrder, MemoryScope, NdRange, Operand,
};
use crate::kernel::Argument;
use crate::layout::{Dims, Layout, Order, SliceItem};
use crate::lazy::immediate::Moving;
use crate::lazy::{Pass, Walk, handing_on};
use crate::memory::immediate::Move;
use crate::ops::Op;
use crate::plan::{Family, IndexedAxis};
use crate::runtime::common_queue;
use crate::scalar::Scalar;

/// The operations by which elements at places are joined with values, each with its kernels.
static SEGMENTS: [(Op, ByDtype); 4] = [
    (Op::Add, ByDtype::new(|dtype| segments("add_at", Op::Add, dtype))),
    (Op::Multiply, ByDtype::new(|dtype| segments("multiply_at", Op::Multiply, dtype))),
    (Op::Minimum, ByDtype::new(|dtype| segments("minimum_at", Op::Minimum, dtype))),
    (Op::Maximum, ByDtype::new(|dtype| segments("maximum_at", Op::Maximum, dtype))),
];

/// Joins the elements at places with values that are sorted by them. An item has one place: it goes from the first value of it to
/// the last.
fn segments(name: &str, op: Op, dtype: Dtype) -> Result<Kernel> {
    let mut k = KernelBuilder::new(name, 1)?;
    let target = k.global("target", dtype, 1, true)?;
    let values = k.global("values", dtype, 1, false)?;
    let order = k.global("order", Dtype::I64, 1, false)?;
    let places = k.global("places", Dtype::I64, 1, false)?;
    let starts = k.global("starts", Dtype::I64, 1, false)?;
    // Sums of 16-bit floats are rounded once, at the end.
    let wide = if matches!(dtype, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { dtype };
    let sum = k.variable("sum", wide)?;
    let segment = k.index(Level::Global, Coordinate::Id(0))?;
    let (start, count, all) = (k.load(starts, [segment])?, k.extent(starts, 0)?, k.extent(order, 0)?);
    let next = k.binary(Op::Add, segment, 1)?;
    let (after, is_last) = (k.load(starts, [next])?, k.binary(Op::Equal, next, count)?);
    let end = k.apply(Op::Where, &[is_last.into(), all.into(), after.into()])?;
    let place = k.load(places, [start])?;
    let element = k.load(target, [place])?;
    let element = k.cast(element, wide)?;
    k.set(sum, element)?;
    let i = k.for_(start, end, 1)?;
    let number = k.load(order, [i])?;
    let value = k.load(values, [number])?;
    let value = k.cast(value, wide)?;
    let joined = k.binary(op, sum, value)?;
    k.set(sum, joined)?;
    k.end()?;
    let total = k.cast(sum, dtype)?;
    k.store(target, [place], total)?;
    k.finish()
}

/// Adds integers to the elements at places, in any order, as sums of integers that wrap are the same in all.
static ATOMIC: ByDtype = ByDtype::new(|dtype| {
    let mut k = KernelBuilder::new("add_integers_at", 1)?;
    let target = k.global("target", dtype, 1, true)?;
    let values = k.global("values", dtype, 1, false)?;
    let places = k.global("places", Dtype::I64, 1, false)?;
    let (first, all) =
        (k.index(Level::Global, Coordinate::Id(0))?, k.index(Level::Global, Coordinate::Range(0))?);
    let count = k.extent(places, 0)?;
    let i = k.for_(first, count, all)?;
    let (place, value) = (k.load(places, [i])?, k.load(values, [i])?);
    let relaxed = (MemoryOrder::Relaxed, MemoryScope::Device);
    k.atomic(AtomicOp::Add, target, [place], Some(Operand::from(value)), relaxed)?;
    k.end()?;
    k.finish()
});

/// Counts places, each group in local memory before all of them add up: where there are few places, sums of all items at one would wait
/// for each other.
static COUNTS: ByDtype = ByDtype::new(|dtype| {
    let mut k = KernelBuilder::new("count", 1)?;
    let counts = k.global("counts", dtype, 1, true)?;
    let places = k.global("places", Dtype::I64, 1, false)?;
    let own = k.local_argument("own", Dtype::U32, 1)?;
    let (item, items) =
        (k.index(Level::Local, Coordinate::Id(0))?, k.index(Level::Local, Coordinate::Range(0))?);
    let (first, all) =
        (k.index(Level::Global, Coordinate::Id(0))?, k.index(Level::Global, Coordinate::Range(0))?);
    let (bins, len) = (k.extent(counts, 0)?, k.extent(places, 0)?);
    let bin = k.for_(item, bins, items)?;
    k.store(own, [bin], 0)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let i = k.for_(first, len, all)?;
    let place = k.load(places, [i])?;
    k.atomic(AtomicOp::Add, own, [place], Some(1.into()), (MemoryOrder::Relaxed, MemoryScope::WorkGroup))?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let bin = k.for_(item, bins, items)?;
    let count = k.load(own, [bin])?;
    let counted = k.binary(Op::Greater, count, 0)?;
    k.if_(counted)?;
    let count = k.cast(count, dtype)?;
    let relaxed = (MemoryOrder::Relaxed, MemoryScope::Device);
    k.atomic(AtomicOp::Add, counts, [bin], Some(count.into()), relaxed)?;
    k.end()?;
    k.end()?;
    k.finish()
});

/// Places that a group counts in local memory at most, which takes 8 KiB.
const LOCAL_COUNTS: usize = 2048;
/// Items of a group that counts, and how many elements each has before there is another group.
const GROUP: usize = 256;
const EACH: usize = 16;

/// Items of a kernel that shares its elements out, at most.
const ITEMS: usize = 1 << 14;

impl UsmArray {
    /// Adds values, which broadcast to the shape of the [`index`](Self::index) with the same items, to its elements, each as often
    /// as it is named: NumPy's `add.at`. The sum of an element and what is added to it is taken in the row-major order of the
    /// selection, one after the other, on every device; that of 16-bit floats is rounded at the end.
    ///
    /// Whoever adds the same values again gets the same bits. The work is waited for where places are checked or sorted.
    ///
    /// # Errors
    /// As for [`assign_index`](Self::assign_index); [`Error::Dtype`] where the values' dtype is of a richer kind than this
    /// array's, and for `bool`. On an error nothing is added.
    pub fn add_at<'a>(&self, items: &[Index], values: impl Into<ArrayOrScalar<'a>>) -> Result<()> {
        self.join_at(Op::Add, "add_at", items, values.into())
    }

    /// Multiplies elements by values, each as often as it is named: NumPy's `multiply.at`. As [`add_at`](Self::add_at), with products in
    /// the place of sums.
    ///
    /// # Errors
    /// As for [`add_at`](Self::add_at).
    pub fn multiply_at<'a>(&self, items: &[Index], values: impl Into<ArrayOrScalar<'a>>) -> Result<()> {
        self.join_at(Op::Multiply, "multiply_at", items, values.into())
    }

    /// Replaces elements by values that are smaller: NumPy's `minimum.at`. NaN stays, and is what an element becomes that meets it. As
    /// [`add_at`](Self::add_at) otherwise.
    ///
    /// # Errors
    /// As for [`add_at`](Self::add_at); [`Error::Dtype`] for complex numbers, too.
    pub fn minimum_at<'a>(&self, items: &[Index], values: impl Into<ArrayOrScalar<'a>>) -> Result<()> {
        self.check_real("minimum_at")?;
        self.join_at(Op::Minimum, "minimum_at", items, values.into())
    }

    /// Replaces elements by values that are larger: NumPy's `maximum.at`. As [`minimum_at`](Self::minimum_at).
    ///
    /// # Errors
    /// As for [`minimum_at`](Self::minimum_at).
    pub fn maximum_at<'a>(&self, items: &[Index], values: impl Into<ArrayOrScalar<'a>>) -> Result<()> {
        self.check_real("maximum_at")?;
        self.join_at(Op::Maximum, "maximum_at", items, values.into())
    }

    /// Joins elements with values, each as often as it is named, by an operation of [`SEGMENTS`].
    fn join_at(&self, op: Op, name: &str, items: &[Index], values: ArrayOrScalar<'_>) -> Result<()> {
        self.check_writable("self")?;
        if self.dtype == Dtype::Bool {
            return Err(Error::dtype(
                "self",
                format!("bool for `{name}`"),
                "numbers",
                "convert the array with `astype`",
            ));
        }
        if let ArrayOrScalar::Array(array) = &values {
            common_queue(&[("self", &self.queue), ("values", &array.queue)])?;
            if !crate::promotion::can_cast(array.dtype, self.dtype, crate::promotion::Casting::SameKind) {
                return Err(Error::dtype(
                    "values",
                    array.dtype,
                    format!("a dtype whose numbers are of the kind of {}", self.dtype),
                    "convert the values first, with `astype`",
                ));
            }
        }
        if let ([Index::Array(indices)], 1) = (items, self.ndim())
            && indices.dtype().kind().is_integer()
        {
            if op == Op::Add
                && indices.dtype() == Dtype::I64
                && Moving::write(Move::Add, &values, indices, self)
            {
                return Ok(());
            }
            let places = resolve(indices, self.len(), IndexMode::Check, Some(self))?;
            let values = super::addressing::values_for(self, values, places.shape())?.reshape(&[-1])?;
            return self.join_at_places(op, &places.reshape(&[-1])?, &values);
        }
        // The number of each element, by the same index.
        let steps = Layout::contiguous(self.shape(), Order::C)?;
        let numbers = counted(&self.queue, self.usm_kind(), self.shape(), 0, steps.strides())?;
        let places = numbers.index(items)?;
        let values = super::addressing::values_for(self, values, places.shape())?.reshape(&[-1])?;
        self.join_at_places(op, &places.reshape(&[-1])?, &values)
    }

    /// Adds values of this array's dtype, as many as places, to the elements of those numbers in row-major order.
    pub(super) fn add_at_places(&self, places: &Self, values: &Self) -> Result<()> {
        self.join_at_places(Op::Add, places, values)
    }

    /// Joins the elements of such numbers in row-major order with values of this array's dtype, as many as places, by an operation of
    /// [`SEGMENTS`].
    pub(super) fn join_at_places(&self, op: Op, places: &Self, values: &Self) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        // Where the elements are no row with one stride, a copy is one.
        let (flat, copied) = match self.layout.reshape_view(&[self.len()], Order::C) {
            Some(layout) => (self.with_layout(layout), false),
            None => (self.copy_in(Order::C)?.reshape_view(&[-1])?, true),
        };
        if flat.accumulates(op, places, values)? {
            // Done.
        } else if op == Op::Add && self.adds_atomically() {
            let items = places.len().min(ITEMS);
            let arguments = [Argument::Array(&flat), Argument::Array(values), Argument::Array(places)];
            ATOMIC.get(self.dtype)?.launch_own(&self.queue, [items], &arguments, false)?;
        } else {
            let order = places.argsort(0, false)?;
            let sorted = places.take(&order, Some(0), IndexMode::Clip)?;
            let starts = sorted.starts()?;
            let arguments = [&flat, values, &order, &sorted, &starts].map(Argument::Array);
            let kernels = SEGMENTS.iter().find(|(of, _)| *of == op).map(|(_, kernels)| kernels);
            let kernels = kernels.ok_or_else(|| {
                Error::unsupported(
                    "op",
                    op.name(),
                    "a sum, product, minimum or maximum at places",
                    "join the values first",
                )
            })?;
            kernels.get(self.dtype)?.launch_own(&self.queue, [starts.len()], &arguments, false)?;
        }
        if copied {
            self.assign(
                &flat.reshape(&self.shape().iter().map(|extent| extent.cast_signed()).collect::<Vec<_>>())?,
            )?;
        }
        Ok(())
    }

    /// [`join_at_places`](Self::join_at_places) of elements with one stride, in one pass where the device has one. Whether it does.
    fn accumulates(&self, op: Op, places: &Self, values: &Self) -> Result<bool> {
        let axis = IndexedAxis { extent: self.len(), stride: self.strides()[0] };
        let pass = Pass {
            program: handing_on(self.dtype, Some(Dtype::I64)),
            family: Family::Accumulate { op, axis },
            dims: Dims::from_slice(places.shape()),
            inputs: SmallVec::from([Walk::along(values), Walk::along(places)]),
            output: Walk { array: self, strides: SmallVec::from_slice(&[0]) },
        };
        pass.submit_if_native(&self.queue)
    }

    /// Counts how often each number below the length of `self`, which has one dimension of zeros, occurs among places that are below it.
    pub(super) fn count_at(&self, places: &Self) -> Result<()> {
        let limits = &self.device().info().limits;
        if places.is_empty() {
            return Ok(());
        }
        if self.len() > LOCAL_COUNTS || limits.local_memory_bytes < (LOCAL_COUNTS * size_of::<u32>()) as u64 {
            let one = Self::full(&self.queue, &[], Scalar::I8(1).cast(self.dtype), self.usm_kind())?;
            return self.add_at_places(places, &one.broadcast_to(&[places.len()])?);
        }
        let group = GROUP.min(limits.max_work_group_size);
        let groups = places.len().div_ceil(group * EACH).min(ITEMS / group);
        let range = NdRange::in_groups(&[groups * group], &[group]);
        let arguments = [Argument::Array(self), Argument::Array(places), Argument::Local(vec![self.len()])];
        COUNTS.get(self.dtype)?.launch_own(&self.queue, range, &arguments, false)?;
        Ok(())
    }

    /// Whether the device adds elements of this dtype atomically, and the sum does not depend on the order.
    fn adds_atomically(&self) -> bool {
        match self.dtype {
            Dtype::I32 | Dtype::U32 => true,
            Dtype::I64 | Dtype::U64 => {
                self.device().info().aspects.contains(&crate::backend::Aspect::Atomic64)
            }
            _ => false,
        }
    }

    /// Of sorted numbers in one dimension, the places of the first of each.
    pub(super) fn starts(&self) -> Result<Self> {
        let slice = |start, stop| [SliceItem::Slice { start, stop, step: 1 }];
        let first = Self::full(&self.queue, &[1], Scalar::Bool(true), self.usm_kind())?;
        let changes =
            self.slice(&slice(Some(1), None))?.binary(Op::NotEqual, &self.slice(&slice(None, Some(-1)))?)?;
        let all = super::concat(&[&first, &changes], Some(0))?;
        match all.nonzero()?.pop() {
            Some(places) => Ok(places),
            None => Self::empty(&self.queue, &[0], Dtype::I64, self.usm_kind()),
        }
    }
}
