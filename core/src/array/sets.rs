//! Sets: the different elements of an array, and membership. By sorting; equal elements then stand side by side. NaN
//! equals nothing, so each is an element of its own, as the array API has it. Integers that lie close to each other are counted
//! instead.

use std::sync::Arc;

use super::addressing::{Addressing, IndexMode, Places};
use super::elementwise::indices;
use super::masks::{Selected, running};
use super::searching::Side;
use super::{Reduction, UsmArray};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::Result;
use crate::layout::{Dims, SliceItem, Strides};
use crate::lazy::immediate::Moving;
use crate::lazy::{Pass, Walk};
use crate::memory::heap;
use crate::memory::immediate::Move;
use crate::ops::Op;
use crate::plan::{Family, IndexedAxis};
use crate::program::Program;
use crate::promotion::{Weak, result_type};
use crate::runtime::common_queue;
use crate::scalar::Scalar;

/// What [`UsmArray::unique_all`] finds. Places and counts are `int64`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unique {
    /// The different elements, sorted.
    pub values: UsmArray,
    /// Of each, its first place in the row-major sequence of all elements.
    pub indices: UsmArray,
    /// Of each element of the array, in the array's shape, its place among the values.
    pub inverse_indices: UsmArray,
    /// Of each value, how often it occurs.
    pub counts: UsmArray,
}

fn range(start: Option<isize>, stop: Option<isize>) -> [SliceItem; 1] {
    [SliceItem::Slice { start, stop, step: 1 }]
}

/// The elements in sorted order, and which of them differ from the one before.
struct Runs {
    sorted: UsmArray,
    first: UsmArray,
    selected: Selected,
}

impl Runs {
    fn of(sorted: UsmArray) -> Result<Self> {
        let (queue, kind) = (sorted.queue(), sorted.usm_kind());
        let first = UsmArray::full(queue, sorted.shape(), Scalar::Bool(true), kind)?;
        if sorted.len() > 1 {
            let (behind, before) =
                (sorted.slice(&range(Some(1), None))?, sorted.slice(&range(None, Some(-1)))?);
            let target = first.slice(&range(Some(1), None))?;
            target.write_elementwise(Op::NotEqual, &[(&behind).into(), (&before).into()], &[])?;
        }
        let selected = Selected::of(&first, None)?;
        Ok(Self { sorted, first, selected })
    }

    fn values(&self) -> Result<UsmArray> {
        self.selected.select(&self.sorted, 1)
    }

    /// Lengths of the runs of equal elements.
    fn counts(&self) -> Result<UsmArray> {
        let starts = self.selected.places()?;
        let counts = UsmArray::empty(starts.queue(), starts.shape(), Dtype::I64, starts.usm_kind())?;
        if starts.is_empty() {
            return Ok(counts);
        }
        let (next, own) = (starts.slice(&range(Some(1), None))?, starts.slice(&range(None, Some(-1)))?);
        let target = counts.slice(&range(None, Some(-1)))?;
        target.write_elementwise(Op::Subtract, &[(&next).into(), (&own).into()], &[])?;
        let (last, end) = (starts.slice(&range(Some(-1), None))?, Scalar::I64(self.first.len() as i64));
        let target = counts.slice(&range(Some(-1), None))?;
        target.write_elementwise(Op::Subtract, &[end.into(), (&last).into()], &[])?;
        Ok(counts)
    }

    /// For each element of the array of a shape, whose elements the order names in sorted order, its run's number.
    fn inverse(&self, order: &UsmArray, shape: &[usize]) -> Result<UsmArray> {
        let out = UsmArray::empty(order.queue(), shape, Dtype::I64, order.usm_kind())?;
        if out.is_empty() {
            return Ok(out);
        }
        let numbers = running(&self.first)?.binary(Op::Subtract, Scalar::I64(1))?;
        let flat = out.reshape(&[-1])?;
        let addressing = Addressing {
            dims: Dims::from_slice(order.shape()),
            strides: smallvec::smallvec![0],
            places: smallvec::smallvec![Places {
                axis: IndexedAxis { extent: flat.len(), stride: 1 },
                strides: Strides::from_slice(order.strides()),
                indices: order.clone(),
            }],
        };
        addressing.scatter(&flat, (&numbers).into())?;
        Ok(out)
    }
}

/// The first of each run of equal elements, where the device finds them in one pass.
fn firsts(sorted: &UsmArray) -> Result<Option<UsmArray>> {
    let (queue, len) = (sorted.queue(), sorted.len());
    let pass = |out| Pass {
        program: Arc::new(Program::handing_on(sorted.dtype(), [], Some(Scalar::I64(0)))),
        family: Family::Runs { axis: IndexedAxis { extent: len, stride: 1 } },
        dims: Dims::from_slice(sorted.shape()),
        inputs: smallvec::smallvec![Walk::along(sorted)],
        output: Walk { array: out, strides: smallvec::smallvec![0] },
    };
    if len == 0 || !pass(sorted).has_kernel(queue) {
        return Ok(None);
    }
    let out = UsmArray::empty(queue, sorted.shape(), sorted.dtype(), sorted.usm_kind())?;
    let count = UsmArray::empty(queue, &[], Dtype::I64, sorted.usm_kind())?;
    pass(&out).submit_telling(queue, &count)?;
    let count = count.item()?.get().unwrap_or(0_i64);
    let values = out.slice(&range(None, Some(count as isize)))?;
    // Memory for all elements is not kept for a few of them.
    Ok(Some(if values.len() > len / 2 { values } else { values.copy()? }))
}

/// Numbers that integers are counted among, at most, for each of them: what is counted is then no more memory than what a sort takes.
const SPAN: usize = 2;
/// Elements from which on they are counted: fewer are sorted where they are.
const COUNTED: usize = 1 << 12;
/// Elements for each different one, from which on a search for each among those takes less time than the order of all.
const SEARCHED: usize = 64;

/// Integers in a range of about as many numbers, each of which has a counter.
struct Counted {
    /// The smallest, of a dtype that has all of them.
    least: Scalar,
    /// Of each element, in one row, its number in the range.
    places: UsmArray,
    counts: UsmArray,
    /// The numbers that occur.
    selected: Selected,
}

impl Counted {
    /// Counts the elements, where they are so many integers so close to each other that it is worth it.
    fn of(array: &UsmArray) -> Result<Option<Self>> {
        let wide = match array.dtype().kind() {
            DtypeKind::Signed => Dtype::I64,
            DtypeKind::Unsigned => Dtype::U64,
            _ => return Ok(None),
        };
        if array.len() < COUNTED {
            return Ok(None);
        }
        let flat = array.reshape(&[-1])?;
        // It is read several times, and computed once.
        flat.elements().memory()?;
        let [least, greatest] = [Reduction::Min, Reduction::Max].map(|end| flat.extreme(end, wide));
        let (least, greatest) = (least?, greatest?);
        let number = |scalar: Scalar| match scalar {
            Scalar::U64(number) => i128::from(number),
            other => i128::from(other.get::<i64>().unwrap_or_default()),
        };
        let span =
            usize::try_from(number(greatest) - number(least)).ok().and_then(|last| last.checked_add(1));
        let Some(span) = span.filter(|&span| span / SPAN <= flat.len()) else { return Ok(None) };
        let places = flat.astype(wide)?.binary(Op::Subtract, least)?.astype(Dtype::I64)?;
        let counts = places.count_places(span)?;
        let selected = Selected::of(&counts, None)?;
        Ok(Some(Self { least, places, counts, selected }))
    }

    fn values(&self, dtype: Dtype) -> Result<UsmArray> {
        let numbers = self.selected.places()?.astype(self.least.dtype())?;
        numbers.binary(Op::Add, self.least)?.astype(dtype)
    }

    /// How often each value occurs.
    fn counts(&self) -> Result<UsmArray> {
        self.selected.select(&self.counts, 1)
    }

    /// Of each element, in an array of a shape, its place among the values.
    fn inverse(&self, shape: &[usize]) -> Result<UsmArray> {
        let numbers = running(&self.counts.astype(Dtype::Bool)?)?.binary(Op::Subtract, Scalar::I64(1))?;
        let shape = heap::collect("shape", shape.iter().map(|extent| extent.cast_signed()))?;
        // The places are in range as they are.
        numbers.take(&self.places, Some(0), IndexMode::Clip)?.reshape(&shape)
    }

    /// The first place of each value.
    fn first(&self) -> Result<UsmArray> {
        self.selected.select(&self.places.first_of_each(self.counts.len())?, 1)
    }
}

impl UsmArray {
    /// The row-major order of all elements when sorted, and the elements in it.
    fn flat_order(&self) -> Result<(Self, Runs)> {
        let flat = self.reshape(&[-1])?;
        let order = flat.argsort(0, false)?;
        // The places are in range as they are.
        let sorted = flat.take(&order, Some(0), IndexMode::Clip)?;
        Ok((order, Runs::of(sorted)?))
    }

    /// The different elements, sorted.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_values(&self) -> Result<Self> {
        let sorted = self.reshape(&[-1])?.sort(0, false)?;
        if let Some(values) = sorted.moved(Move::Firsts, sorted.dtype())? {
            return Ok(values);
        }
        match firsts(&sorted)? {
            Some(values) => Ok(values),
            None => Runs::of(sorted)?.values(),
        }
    }

    /// What is moved of the runs of these sorted elements, where they are few.
    fn moved(&self, what: Move, dtype: Dtype) -> Result<Option<Self>> {
        match Moving::of(what, &[self]) {
            Some(moving) => moving.fresh(self.len(), dtype),
            None => Ok(None),
        }
    }

    /// The different elements, sorted, and how often each occurs.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_counts(&self) -> Result<(Self, Self)> {
        if let Some(counted) = Counted::of(self)? {
            return Ok((counted.values(self.dtype())?, counted.counts()?));
        }
        let sorted = self.reshape(&[-1])?.sort(0, false)?;
        if let Some(values) = sorted.moved(Move::Firsts, sorted.dtype())?
            && let Some(counts) = sorted.moved(Move::Lengths, Dtype::I64)?
        {
            return Ok((values, counts));
        }
        let runs = Runs::of(sorted)?;
        Ok((runs.values()?, runs.counts()?))
    }

    /// The different elements of many, sorted, and for each element its place among them, found by a search; `None` where the order of
    /// all is found in less time.
    fn distinct_by_search(&self) -> Result<Option<(Self, Self)>> {
        let ordered =
            matches!(self.dtype().kind(), DtypeKind::Signed | DtypeKind::Unsigned | DtypeKind::Float);
        if !ordered || self.len() < COUNTED {
            return Ok(None);
        }
        let values = self.unique_values()?;
        // NaN stands last, and is found nowhere.
        let last = values.slice(&[SliceItem::Index(-1)])?.item()?;
        if values.len() > self.len() / SEARCHED || last.to_f64().is_nan() {
            return Ok(None);
        }
        let inverse = values.searchsorted(self, Side::Left, None)?;
        Ok(Some((values, inverse)))
    }

    /// Of each number below a length, the first place in a row of such numbers; of one that is not there, how many there are.
    fn first_of_each(&self, len: usize) -> Result<Self> {
        let (queue, kind) = (self.queue(), self.usm_kind());
        let first = Self::full(queue, &[len], Scalar::I64(self.len() as i64), kind)?;
        first.join_at_places(Op::Minimum, self, &indices(queue, kind, self.shape(), 0, &[1])?)?;
        Ok(first)
    }

    /// The different elements, sorted; and for each element of this array, in its shape, its place among them.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_inverse(&self) -> Result<(Self, Self)> {
        if let Some(counted) = Counted::of(self)? {
            return Ok((counted.values(self.dtype())?, counted.inverse(self.shape())?));
        }
        if let Some(found) = self.distinct_by_search()? {
            return Ok(found);
        }
        let (order, runs) = self.flat_order()?;
        Ok((runs.values()?, runs.inverse(&order, self.shape())?))
    }

    /// The different elements, sorted, with all that is known of them.
    ///
    /// # Errors
    /// As for [`sort`](Self::sort).
    pub fn unique_all(&self) -> Result<Unique> {
        if let Some(counted) = Counted::of(self)? {
            return Ok(Unique {
                values: counted.values(self.dtype())?,
                indices: counted.first()?,
                inverse_indices: counted.inverse(self.shape())?,
                counts: counted.counts()?,
            });
        }
        if let Some((values, inverse_indices)) = self.distinct_by_search()? {
            let places = inverse_indices.reshape(&[-1])?;
            let (indices, counts) = (places.first_of_each(values.len())?, places.count_places(values.len())?);
            return Ok(Unique { values, indices, inverse_indices, counts });
        }
        let (order, runs) = self.flat_order()?;
        Ok(Unique {
            values: runs.values()?,
            // Equal elements keep their order, so the first of a run is the first of the array.
            indices: runs.selected.select(&order, 1)?,
            inverse_indices: runs.inverse(&order, self.shape())?,
            counts: runs.counts()?,
        })
    }

    /// For each element, whether it is among the elements of another array (or, with `invert`, is not). Dtypes are
    /// promoted.
    ///
    /// # Errors
    /// [`Error::ExecutionPlacement`](crate::Error::ExecutionPlacement); as for [`sort`](Self::sort).
    pub fn isin(&self, elements: &Self, invert: bool) -> Result<Self> {
        let queue = common_queue(&[("self", self.queue()), ("elements", elements.queue())])?;
        if elements.is_empty() {
            let kind = self.usm_kind().combine(elements.usm_kind());
            return Self::full(queue, self.shape(), Scalar::Bool(invert), kind);
        }
        // No dtype holds the numbers of both: those that the other has not are not among its elements.
        let within = match (self.dtype(), elements.dtype()) {
            (Dtype::I64, Dtype::U64) => Some(self.binary(Op::GreaterEqual, Weak::Int(0))?),
            (Dtype::U64, Dtype::I64) => Some(self.binary(Op::LessEqual, Weak::from(i64::MAX))?),
            _ => None,
        };
        if let Some(within) = within {
            let found = self.astype(elements.dtype())?.isin(elements, false)?;
            let found = within.binary(Op::LogicalAnd, &found)?;
            return if invert { found.unary(Op::LogicalNot) } else { Ok(found) };
        }
        let dtype = result_type(&[self.dtype(), elements.dtype()], &[], queue.device().dtype_support())?;
        let (x, table) = (self.astype(dtype)?, elements.astype(dtype)?.reshape(&[-1])?.sort(0, false)?);
        if let Some(found) = table.contains(&x, invert)? {
            return Ok(found);
        }
        let places = table.searchsorted(&x, Side::Left, None)?;
        // What belongs behind the last element is compared with that.
        let nearest = table.take(&places, Some(0), IndexMode::Clip)?;
        x.binary(if invert { Op::NotEqual } else { Op::Equal }, &nearest)
    }
}
