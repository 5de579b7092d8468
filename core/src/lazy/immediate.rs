//! Work on a few elements, done at once on the calling thread where nothing stands against it: operands of
//! one dtype, in memory, of one queue. Everything else, and everything that is wrong, is left to the ordinary
//! way.
//!
//! This half knows arrays: layouts, queues, scalars. The other one, `memory/immediate`, knows memory: it
//! holds the operands while it computes. Each function here answers `None` for *not this way*, and has
//! changed nothing then; its caller goes on to record or submit.
//! ```text
//! elementwise_alike      all operands lie as the result does         one call
//! elementwise_gathered   some lie otherwise: gathered on the stack   one call
//! elementwise            scalars, broadcasting, other orders         row by row
//! Moving                 elements at places, where a mask is true    one after the other
//! ```
//! A sort, a search, or whatever else there is a family of plans for, is a [`Pass`](super::Pass), which is run at once where it is short.
//! Results have the bits of the plan that would compute the same. No error is made here but for memory: what
//! is wrong with operands is said by `array/elementwise.rs`, in one place.
//!
//! For 16 elements the way here is most of the time. So operands are looked at once, their number is a
//! constant of the function, and arrays are not moved.

use std::borrow::Borrow;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{ArrayOrScalar, Elements, Recorded, Source as Operand, UsmArray};
use crate::dtype::{Dtype, Element};
use crate::error::Result;
use crate::layout::{Dims, Layout, Order, all_axes, broadcast_shapes};
use crate::memory::UsmKind;
use crate::memory::allocation::Allocation;
use crate::memory::immediate::{
    self, Alike, AxisFold, Call, Function, IMMEDIATE_BYTES, Move, MoveCall, Source, Space, same_shape,
};
use crate::ops::Op;
use crate::program::{Fold, Program};
use crate::runtime::Queue;
use crate::scalar::Scalar;

/// New elements, and the array that they lie like.
pub(crate) struct Fresh<'a> {
    memory: Arc<Allocation>,
    dtype: Dtype,
    like: &'a UsmArray,
    order: Order,
}

impl Fresh<'_> {
    /// The array of the elements.
    #[inline(always)]
    pub(crate) fn array(self) -> UsmArray {
        let Self { memory, dtype, like, order } = self;
        memory.describe_if_watched(dtype, like.shape());
        let (queue, elements) = (like.queue.clone(), Elements::Memory(memory.into()));
        // In one piece: to move an array takes as long as to compute a few elements.
        UsmArray { elements, layout: like.layout.packed(order), dtype, queue, writable: true }
    }

    /// The dtype of the elements.
    #[inline(always)]
    pub(crate) fn dtype(&self) -> Dtype {
        self.dtype
    }
}

/// The results of an elementwise operation on values, and on arrays that lie as one of them does: the usual case of
/// [`elementwise`], found in one pass.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn elementwise_alike<'a>(op: Op, operands: &[ArrayOrScalar<'a>]) -> Result<Option<Fresh<'a>>> {
    // The number of operands is known where they are looked at.
    match operands {
        [a] => fresh_alike::<1, false>(op, [a]),
        [a, b] => fresh_alike::<2, false>(op, [a, b]),
        [a, b, c] => fresh_alike::<3, false>(op, [a, b, c]),
        _ => Ok(None),
    }
}

/// [`elementwise_alike`], of so many operands. `APART`: those that do not lie as the first of the largest does are gathered.
#[inline(always)]
fn fresh_alike<'a, const N: usize, const APART: bool>(
    op: Op,
    operands: [&ArrayOrScalar<'a>; N],
) -> Result<Option<Fresh<'a>>> {
    let mut arrays = operands.into_iter().filter_map(an_array);
    let like = if APART { largest(arrays) } else { arrays.next_back() };
    let Some(like) = like else { return Ok(None) };
    let Some(call) = alike::<N, APART>(op, operands, like) else { return Ok(None) };
    // More is recorded, to be computed with what comes next.
    if call.bytes() > IMMEDIATE_BYTES {
        return Ok(None);
    }
    let (dtype, order) = (call.out_dtype(), like.result_order());
    Ok(call.fresh()?.map(|memory| Fresh { memory, dtype, like, order }))
}

/// An operation on values, and on arrays that lie as one does: one of them, or the result.
#[inline(always)]
fn alike<'a, const N: usize, const APART: bool>(
    op: Op,
    operands: [&ArrayOrScalar<'a>; N],
    like: &'a UsmArray,
) -> Option<Alike<'a, N, APART>> {
    // A condition, which has a dtype of its own, comes first.
    let dtype = match operands[N - 1] {
        ArrayOrScalar::Array(array) => array.dtype,
        ArrayOrScalar::Scalar(value) => value.dtype(),
        ArrayOrScalar::Weak(_) => return None,
    };
    if op == Op::Cast || !like.queue.allows_immediate() {
        return None;
    }
    let function = Function::of(like.device(), op, dtype)?;
    let space = Space { shape: like.shape(), len: like.len(), order: like.result_order() };
    let mut call = Alike::new(function, space)?;
    for (k, operand) in operands.into_iter().enumerate() {
        let takes = match *operand {
            ArrayOrScalar::Array(array) => {
                let memory = array.elements.get_memory()?;
                array.queue == like.queue && call.array(k, memory, &array.layout, array.dtype)
            }
            ArrayOrScalar::Scalar(value) => call.value(k, value),
            ArrayOrScalar::Weak(_) => false,
        };
        if !takes {
            return None;
        }
    }
    Some(call)
}

/// As [`elementwise_alike`], where what does not lie so is gathered. Not inlined, so that what is computed where nothing is has no such
/// rooms on its stack.
///
/// # Errors
/// What the allocation reports.
#[inline(never)]
pub(crate) fn elementwise_gathered<'a>(op: Op, operands: &[ArrayOrScalar<'a>]) -> Result<Option<Fresh<'a>>> {
    match operands {
        // A copy goes straight to where it is to be.
        [a] if op != Op::Copy => fresh_alike::<1, true>(op, [a]),
        [a, b] => fresh_alike::<2, true>(op, [a, b]),
        _ => Ok(None),
    }
}

/// The array of an elementwise operation on arrays of one dtype and queue in memory, and scalars; `None` where that is not
/// possible at once, or the result is so large that it is recorded instead.
///
/// # Errors
/// What the allocation reports.
#[inline(never)]
pub(crate) fn elementwise(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<Option<UsmArray>> {
    let arrays = || operands.iter().filter_map(an_array);
    // The condition of a selection, which has a dtype of its own, comes first.
    let (Some(UsmArray { dtype, queue, .. }), Some(like)) = (arrays().next_back(), largest(arrays())) else {
        return Ok(None);
    };
    let most = IMMEDIATE_BYTES / op.result(*dtype).size();
    if op == Op::Cast || !queue.allows_immediate() || like.len() > most {
        return Ok(None);
    }
    let Some(function) = Function::of(queue.device(), op, *dtype) else { return Ok(None) };
    let computed = |space: Space<'_>| {
        let mut call = Call::new(function, space);
        if give(&mut call, operands, queue) { call.fresh(call.kind()) } else { Ok(None) }
    };
    let array = |memory: Arc<Allocation>, layout| {
        UsmArray::of(Elements::Memory(memory.into()), layout, function.out(), queue.clone())
    };
    let order = match like.result_order() {
        Order::C => Order::C,
        Order::F => joint_order(operands, like.shape()),
    };
    if let Some(memory) = computed(Space { shape: like.shape(), len: like.len(), order })? {
        return Ok(Some(array(memory, like.layout.packed(order))));
    }
    let joint = joint_shape(operands).filter(|joint| !same_shape(joint, like.shape()));
    let Some(shape) = joint else { return Ok(None) };
    // Broadcasting has checked their product.
    let len = shape.iter().product();
    if len > most {
        return Ok(None);
    }
    let order = joint_order(operands, &shape);
    let Some(memory) = computed(Space { shape: &shape, len, order })? else { return Ok(None) };
    Ok(Some(array(memory, Layout::contiguous(&shape, order)?)))
}

/// The first of the arrays with the most elements: mostly one of the operands has the shape of the result.
#[inline(always)]
fn largest<'a>(arrays: impl Iterator<Item = &'a UsmArray>) -> Option<&'a UsmArray> {
    arrays.reduce(|largest, array| if largest.len() < array.len() { array } else { largest })
}

/// The shape that arrays broadcast to.
fn joint_shape(operands: &[ArrayOrScalar<'_>]) -> Option<Dims> {
    let shapes: SmallVec<[_; 3]> = operands.iter().filter_map(an_array).map(UsmArray::shape).collect();
    broadcast_shapes(&shapes).ok()
}

/// The order of results of a shape: column-major where the operands of that shape are.
fn joint_order(operands: &[ArrayOrScalar<'_>], shape: &[usize]) -> Order {
    let mut order = Order::C;
    for array in operands.iter().filter_map(an_array).filter(|array| same_shape(array.shape(), shape)) {
        match array.result_order() {
            Order::C => return Order::C,
            Order::F => order = Order::F,
        }
    }
    order
}

/// Gives a call its operands: arrays of a queue, values, and scalars that are values of the function's dtype then. Whether the
/// function takes them.
fn give<'a>(call: &mut Call<'a>, operands: &[ArrayOrScalar<'a>], queue: &Queue) -> bool {
    operands.iter().all(|operand| match *operand {
        ArrayOrScalar::Array(array) => array.elements.get_memory().is_some_and(|allocation| {
            array.queue == *queue && call.array(Source { allocation, layout: &array.layout }, array.dtype)
        }),
        ArrayOrScalar::Scalar(value) => call.value(value),
        ArrayOrScalar::Weak(value) => call.weak(value),
    })
}

/// The array that an operand is.
fn an_array<'a>(operand: &ArrayOrScalar<'a>) -> Option<&'a UsmArray> {
    match operand {
        ArrayOrScalar::Array(array) => Some(array),
        _ => None,
    }
}

/// The elements of an array, converted.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn cast(array: &UsmArray, dtype: Dtype) -> Result<Option<UsmArray>> {
    // More is recorded, to be computed with what comes next.
    if !array.queue.allows_immediate() || array.len() > IMMEDIATE_BYTES / dtype.size() {
        return Ok(None);
    }
    let order = array.result_order();
    let Some(function) = Function::to(array.device(), Op::Cast, array.dtype, dtype) else { return Ok(None) };
    let mut call = Call::new(function, space_of(array));
    if !give(&mut call, &[array.into()], &array.queue) {
        return Ok(None);
    }
    Ok(call.fresh(call.kind())?.map(|memory| Fresh { memory, dtype, like: array, order }.array()))
}

/// The results of an operation that is recorded, and is waited for, in memory of a kind.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn recorded(queue: &Queue, of: &Recorded, kind: UsmKind) -> Result<Option<Arc<Allocation>>> {
    with_recorded(queue, of, |call| call.fresh(kind)).unwrap_or(Ok(None))
}

/// Whether an operation that is recorded, and is waited for, is computed without a submission where nothing is under way on what it
/// reads.
pub(crate) fn takes(queue: &Queue, of: &Recorded) -> bool {
    with_recorded(queue, of, |call| call.takes()).unwrap_or(false)
}

/// Calls a function with the call that an operation that is recorded would be, where there is one.
fn with_recorded<R>(queue: &Queue, of: &Recorded, f: impl FnOnce(&Call<'_>) -> R) -> Option<R> {
    let function = Function::to(queue.device(), of.op, of.dtype, of.out);
    let function = function.filter(|_| queue.allows_immediate()).map(Function::waited)?;
    let mut operands: SmallVec<[ArrayOrScalar<'_>; 3]> = SmallVec::new();
    for (k, operand) in of.operands.iter().enumerate() {
        operands.push(match operand {
            Operand::Scalar(value) => value.cast(of.wanted(k)).into(),
            Operand::Array(array) => array.into(),
            Operand::Index(_) | Operand::Rolled(..) => return None,
        });
    }
    let order = if of.layout.is_c_contiguous() { Order::C } else { Order::F };
    let space = Space { shape: of.layout.shape(), len: of.layout.len(), order };
    let mut call = Call::new(function, space);
    give(&mut call, &operands, queue).then(|| f(&call))
}

/// Writes the result of an elementwise operation. Whether it is done.
pub(crate) fn write(op: Op, operands: &[ArrayOrScalar<'_>], out: &UsmArray) -> bool {
    let Some(allocation) = target(out) else { return false };
    // Values alone make no operation.
    let Some(last) = operands.iter().rev().find_map(an_array) else { return false };
    let done = match operands {
        [a] => write_alike(op, [a], out, allocation),
        [a, b] => write_alike(op, [a, b], out, allocation),
        [a, b, c] => write_alike(op, [a, b, c], out, allocation),
        _ => false,
    };
    done || (op != Op::Cast && write_apart(op, last.dtype, operands, out, allocation))
}

/// [`write`], of operands that lie as the array does.
#[inline(always)]
fn write_alike<'a, const N: usize>(
    op: Op,
    operands: [&ArrayOrScalar<'a>; N],
    out: &'a UsmArray,
    allocation: &Arc<Allocation>,
) -> bool {
    let call = alike::<N, false>(op, operands, out);
    call.is_some_and(|call| call.out_dtype() == out.dtype && call.write(allocation, &out.layout))
}

/// [`write`], of any operands.
#[inline(never)]
fn write_apart(
    op: Op,
    dtype: Dtype,
    operands: &[ArrayOrScalar<'_>],
    out: &UsmArray,
    allocation: &Arc<Allocation>,
) -> bool {
    let shaped = joint_shape(operands).is_some_and(|joint| same_shape(&joint, out.shape()));
    shaped && written(Function::of(out.device(), op, dtype), operands, out, allocation)
}

/// The elements of an array.
fn space_of(array: &UsmArray) -> Space<'_> {
    Space { shape: array.shape(), len: array.len(), order: array.result_order() }
}

/// Writes the results of a function, if there is one, of operands that broadcast to an array of their dtype. Whether it is
/// done.
fn written(
    function: Option<Function<'_>>,
    operands: &[ArrayOrScalar<'_>],
    out: &UsmArray,
    allocation: &Arc<Allocation>,
) -> bool {
    let Some(function) = function.filter(|function| function.out() == out.dtype) else { return false };
    let mut call = Call::new(function, space_of(out));
    give(&mut call, operands, &out.queue) && call.write(allocation, &out.layout)
}

/// Writes the result of an elementwise operation into an operand that was given away (the one that is `None` among all), where
/// nobody else has its memory, and what is needed besides lies as it does. Whether it is done.
pub(crate) fn reuse<const N: usize>(
    op: Op,
    operands: [Option<&ArrayOrScalar<'_>>; N],
    owned: &mut UsmArray,
) -> bool {
    reused(op, operands, owned).is_some()
}

/// [`reuse`]; `None` where it is not done.
#[inline(always)]
fn reused<'a, const N: usize>(
    op: Op,
    operands: [Option<&ArrayOrScalar<'a>>; N],
    owned: &'a mut UsmArray,
) -> Option<()> {
    let order = owned.result_order();
    let UsmArray { elements, layout, dtype, queue, writable } = owned;
    // More is recorded, to be computed with what comes next.
    let small = layout.len() <= IMMEDIATE_BYTES / dtype.size();
    if !small || !*writable || !queue.allows_immediate() {
        return None;
    }
    let alone = elements.alone()?;
    let function = Function::of(queue.device(), op, *dtype)?;
    let mut call =
        Alike::<N, false>::new(function, Space { shape: layout.shape(), len: layout.len(), order })?;
    for (k, operand) in operands.iter().enumerate() {
        let takes = match *operand {
            None => call.owned(k, alone, layout, *dtype),
            Some(&ArrayOrScalar::Array(array)) => {
                array.queue == *queue
                    && call.array(k, array.elements.get_memory()?, &array.layout, array.dtype)
            }
            Some(&ArrayOrScalar::Scalar(value)) => call.value(k, value),
            Some(ArrayOrScalar::Weak(_)) => false,
        };
        if !takes {
            return None;
        }
    }
    call.write_owned().then_some(())
}

/// Writes a value, or the elements of an array, converted. Whether it is done.
pub(crate) fn assign(source: &ArrayOrScalar<'_>, out: &UsmArray) -> bool {
    let Some(allocation) = target(out) else { return false };
    if write_alike(Op::Copy, [source], out, allocation) {
        return true;
    }
    let value = match source {
        // One element for all is what a copy takes, but not a conversion.
        ArrayOrScalar::Array(array) if array.dtype != out.dtype => {
            let function = Function::to(out.device(), Op::Cast, array.dtype, out.dtype);
            return array.len() == out.len()
                && written(function, std::slice::from_ref(source), out, allocation);
        }
        ArrayOrScalar::Scalar(value) => value.cast(out.dtype).into(),
        other => other.clone(),
    };
    written(Function::of(out.device(), Op::Copy, out.dtype), &[value], out, allocation)
}

/// Copies arrays, converted, to others of their shape, which do not overlap. Whether it is done; part of it may be where it
/// is not.
pub(crate) fn assign_all<A: Borrow<UsmArray>>(parts: &[(A, UsmArray)]) -> bool {
    let Some((_, out)) = parts.first() else { return true };
    let total = parts.iter().fold(0, |total: usize, (_, to)| total.saturating_add(to.len()));
    let copy = Function::of(out.device(), Op::Copy, out.dtype);
    copy.is_some_and(|copy| total <= copy.most())
        && parts.iter().all(|(from, to)| to.is_empty() || assign(&from.borrow().into(), to))
}

/// A fold of elements, converted to the accumulator's dtype, over axes, and a program for the folded values. `waited`: whether
/// somebody waits for the results.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn fold(
    array: &UsmArray,
    accumulator: Dtype,
    fold: Fold,
    finish: Option<&Program>,
    axes: &[usize],
    waited: bool,
) -> Result<Option<Arc<Allocation>>> {
    let folded = AxisFold { device: array.device(), fold, accumulator, finish, axes, waited };
    let memory =
        fold_sources(array, |source, factors| folded.fresh(source, factors, array.dtype).transpose());
    memory.transpose()
}

/// The value of a fold of all elements, converted to the accumulator's dtype.
pub(crate) fn fold_all(array: &UsmArray, accumulator: Dtype, fold: Fold) -> Option<Scalar> {
    let folded = over_all(array, accumulator, fold);
    fold_sources(array, |source, factors| folded.value(source, factors, array.dtype))
}

/// [`fold_all`], of the type that the fold comes to: to hand on a value whose dtype is known at run time only takes as long
/// as to fold a few elements.
pub(crate) fn fold_all_as<T: Element>(array: &UsmArray, accumulator: Dtype, fold: Fold) -> Option<T> {
    let folded = over_all(array, accumulator, fold);
    fold_sources(array, |source, factors| folded.value_as(source, factors, array.dtype))
}

fn over_all(array: &UsmArray, accumulator: Dtype, fold: Fold) -> AxisFold<'_> {
    let axes = all_axes(array.ndim());
    AxisFold { device: array.device(), fold, accumulator, finish: None, axes, waited: true }
}

/// Calls a function with the elements of an array, or, of a product that is only recorded, with its factors, where work on
/// them may be done at once.
#[inline]
fn fold_sources<R>(
    array: &UsmArray,
    folded: impl FnOnce(Source<'_>, Option<Source<'_>>) -> Option<R>,
) -> Option<R> {
    if !array.queue.allows_immediate() {
        return None;
    }
    if let Some(allocation) = array.elements.get_memory() {
        return folded(Source { allocation, layout: &array.layout }, None);
    }
    let factors = array.elements.factors(&array.layout)?;
    let [a, b] = factors.each_ref().map(|(allocation, layout)| Source { allocation, layout });
    let folded = folded(a, Some(b))?;
    array.elements.note_peek();
    Some(folded)
}

/// The sum of the products of the elements of two vectors of the same real floating dtype.
///
/// # Errors
/// What the allocation reports.
#[inline(always)]
pub(crate) fn dot<'a>(a: &'a UsmArray, b: &'a UsmArray) -> Result<Option<UsmArray>> {
    let vectors = a.ndim() == 1 && same_shape(a.shape(), b.shape());
    let alike = a.dtype == b.dtype && a.queue == b.queue && a.queue.allows_immediate();
    // Other products are folded in another dtype, or conjugated.
    if !vectors || !alike || !matches!(a.dtype, Dtype::F32 | Dtype::F64) {
        return Ok(None);
    }
    let source = |x: &'a UsmArray| Some(Source { allocation: x.elements.get_memory()?, layout: &x.layout });
    let (Some(from), Some(factors)) = (source(a), source(b)) else { return Ok(None) };
    let fold = AxisFold {
        device: a.device(),
        fold: Fold::Op(Op::Add),
        accumulator: a.dtype,
        finish: None,
        axes: &[0],
        // No other fold reads the products.
        waited: true,
    };
    let Some(memory) = fold.fresh(from, Some(factors), a.dtype)? else { return Ok(None) };
    memory.describe_if_watched(a.dtype, &[]);
    let (elements, queue) = (Elements::Memory(memory.into()), a.queue.clone());
    // Made where it is returned, as by `Fresh::array`.
    let layout = Layout::dense(&[], 1, Order::C);
    Ok(Some(UsmArray { elements, layout, dtype: a.dtype, queue, writable: true }))
}

/// Arrays of a dtype and of a queue, joined along an axis.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn join<'a>(
    arrays: &[&'a UsmArray],
    axis: usize,
    dtype: Dtype,
    kind: UsmKind,
    queue: &Queue,
) -> Result<Option<Elements>> {
    if !queue.allows_immediate() || arrays.len() > immediate::MAX_STRETCHES {
        return Ok(None);
    }
    let source = |array: &&'a UsmArray| {
        let allocation = array.elements.get_memory().filter(|_| array.dtype == dtype)?;
        Some(Source { allocation, layout: &array.layout })
    };
    let Some(sources) = arrays.iter().map(source).collect::<Option<SmallVec<[_; 4]>>>() else {
        return Ok(None);
    };
    let memory = immediate::join(queue.device(), kind, dtype, &sources, axis)?;
    Ok(memory.map(|memory| Elements::Memory(memory.into())))
}

/// Numbers from `start` on, in row-major order, of `int64` or `uint64`.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn range(
    queue: &Queue,
    kind: UsmKind,
    layout: &Layout,
    start: u64,
    dtype: Dtype,
) -> Result<Option<UsmArray>> {
    debug_assert!(matches!(dtype, Dtype::I64 | Dtype::U64) && layout.is_c_contiguous());
    if !queue.allows_immediate() {
        return Ok(None);
    }
    let memory = immediate::range(queue.device(), kind, start, layout.len())?;
    Ok(memory
        .map(|memory| UsmArray::of(Elements::Memory(memory.into()), layout.clone(), dtype, queue.clone())))
}

/// Elements of short rows that are moved.
pub(crate) struct Moving<'a> {
    call: MoveCall<'a>,
    queue: &'a Queue,
}

impl<'a> Moving<'a> {
    /// Those of arrays, the first of which says where and of which dtype; `None` where these are no short rows in memory of one
    /// queue.
    pub(crate) fn of(what: Move, sources: &[&'a UsmArray]) -> Option<Self> {
        let (first, others) = sources.split_first()?;
        let mut moving = Self::empty(what, &first.queue, first.dtype)?;
        (moving.give(0, first) && others.iter().enumerate().all(|(k, other)| moving.give(k + 1, other)))
            .then_some(moving)
    }

    /// Writes values to an array's elements, which another array says, as places or as a mask. Whether it is done.
    pub(crate) fn write(
        what: Move,
        values: &ArrayOrScalar<'a>,
        which: &'a UsmArray,
        out: &'a UsmArray,
    ) -> bool {
        let (Some(allocation), Some(mut moving)) = (target(out), Self::empty(what, &out.queue, out.dtype))
        else {
            return false;
        };
        let given = match *values {
            ArrayOrScalar::Array(array) => array.dtype == out.dtype && moving.give(0, array),
            ArrayOrScalar::Scalar(value) => {
                moving.call.value(value.cast(out.dtype));
                true
            }
            ArrayOrScalar::Weak(value) => match value.to_scalar(out.dtype) {
                Ok(value) => {
                    moving.call.value(value);
                    true
                }
                Err(_) => false,
            },
        };
        given
            && moving.give(1, which)
            && moving.call.write(Source { allocation, layout: &out.layout }, out.dtype)
    }

    fn empty(what: Move, queue: &'a Queue, dtype: Dtype) -> Option<Self> {
        if !queue.allows_immediate() {
            return None;
        }
        Some(Self { call: MoveCall::new(queue.device(), what, dtype)?, queue })
    }

    fn give(&mut self, k: usize, array: &'a UsmArray) -> bool {
        array.queue == *self.queue
            && array.elements.get_memory().is_some_and(|allocation| {
                self.call.source(k, Source { allocation, layout: &array.layout }, array.dtype)
            })
    }

    /// How many elements are true.
    pub(crate) fn count(&self) -> Option<usize> {
        self.call.count()
    }

    /// The results, at most so many of a dtype; `None` where it is not done.
    ///
    /// # Errors
    /// What the allocation reports.
    pub(crate) fn fresh(&self, most: usize, dtype: Dtype) -> Result<Option<UsmArray>> {
        let Some((memory, count)) = self.call.fresh(most, dtype, self.call.kind())? else { return Ok(None) };
        memory.describe_if_watched(dtype, &[count]);
        let (elements, queue) = (Elements::Memory(memory.into()), self.queue.clone());
        // Made where it is returned, as by `Fresh::array`.
        let layout = Layout::dense(&[count], count, Order::C);
        Ok(Some(UsmArray { elements, layout, dtype, queue, writable: true }))
    }
}

/// The memory of an array that may be written, and whose queue allows work at once.
fn target(out: &UsmArray) -> Option<&Arc<Allocation>> {
    if !out.writable || out.is_empty() || !out.queue.allows_immediate() {
        return None;
    }
    out.elements.get_memory()
}
