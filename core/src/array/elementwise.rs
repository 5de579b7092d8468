//! Elementwise operations: promotion, broadcasting, placement, recording; in-place and `out` forms.
//!
//! `elementwise` is the door for all of them. It tries the roads from the shortest to the longest, and each
//! either takes the whole operation or leaves it to the next one:
//! ```text
//! elementwise_alike       operands lie alike, few elements     computed now, in one call
//! axis_order::joint       axes are in another order            the same operation along the other axes
//! elementwise_gathered    few elements, in any layout          gathered on the stack, computed now
//! immediate::elementwise  scalars, broadcasting                computed now, in one call or row by row
//! record                  everything else                      a node, computed when it is needed
//! ```
//! `prepare` is where promotion, broadcasting and placement are decided, and every error is found there: a
//! short road that meets anything unusual says no, and `prepare` then names what is wrong. So a rule about
//! dtypes or shapes is changed in `prepare`, and the short roads have to refuse what they do not know.
//!
//! On 16 elements the way here takes longer than the computation: an allocation or a second look at an
//! operand shows in the benchmark (`cargo xtask bench --call add`).

use smallvec::SmallVec;

use super::{ArrayOrScalar, UsmArray, axis_order};
use crate::Complex;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order, broadcast_shapes};
use crate::lazy::immediate;
use crate::lazy::{self, Elements, Node, Recorded, Source, Target};
use crate::memory::UsmKind;
use crate::ops::Op;
use crate::promotion::{Casting, Weak, can_cast, comparison_type, result_type};
use crate::runtime::{Event, Queue, common_queue};
use crate::scalar::Scalar;

/// Elements of an operation that takes longer to be recorded than to be computed.
pub(super) const TINY_LEN: usize = 256;

/// Names of operands for errors.
const NAMES: [&str; 3] = ["x1", "x2", "x3"];

/// Records an elementwise operation on arrays and scalars: operands are broadcast against each other and converted to
/// their common dtype (floating-point operations on integers: the default floating dtype), the result inherits their
/// queue and the strongest of their USM kinds.
///
/// # Errors
/// [`Error::ExecutionPlacement`] where the queues differ, [`Error::Shape`] where the shapes do not broadcast,
/// [`Error::Dtype`] where the operation is not defined for the dtype or a scalar does not fit it, [`Error::Value`] for a
/// wrong number of operands or no array among them.
pub fn elementwise(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<UsmArray> {
    if let Some(base) = squared(op, operands) {
        return elementwise(Op::Square, &[base]);
    }
    match immediate::elementwise_alike(op, operands)? {
        Some(fresh) => Ok(fresh.array()),
        None => elementwise_apart(op, operands),
    }
}

/// The base of a power whose exponent is 2 and leaves its dtype: a square, which is one multiplication.
#[inline]
pub(super) fn squared<'a>(op: Op, operands: &[ArrayOrScalar<'a>]) -> Option<ArrayOrScalar<'a>> {
    if op != Op::Pow {
        return None;
    }
    let [ArrayOrScalar::Array(base), exponent] = operands else { return None };
    let is_two = match *exponent {
        ArrayOrScalar::Weak(Weak::Int(value)) => value == 2,
        ArrayOrScalar::Weak(Weak::Float(value)) => value == 2.0 && base.dtype.kind().is_inexact(),
        ArrayOrScalar::Scalar(value) => {
            value.dtype() == base.dtype && value.to_c128() == Complex::new(2.0, 0.0)
        }
        _ => false,
    };
    (is_two && base.dtype != Dtype::Bool).then_some(ArrayOrScalar::Array(base))
}

/// As [`elementwise`], of what is not found to be the usual small work.
#[inline(never)]
pub(super) fn elementwise_apart(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<UsmArray> {
    match axis_order::joint(operands) {
        Some(order) => axis_order::along(&order, op, operands),
        None => elementwise_as_they_lie(op, operands),
    }
}

/// As [`elementwise`], of operands whose axes are in order.
pub(super) fn elementwise_as_they_lie(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<UsmArray> {
    if let Some(fresh) = immediate::elementwise_gathered(op, operands)? {
        return Ok(fresh.array());
    }
    match immediate::elementwise(op, operands)? {
        Some(array) => Ok(array),
        None => record(op, operands),
    }
}

/// Apart, so that the stack of what is computed at once has no room for what is recorded.
#[inline(never)]
fn record(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<UsmArray> {
    let (recorded, queue, kind) = prepare(op, operands)?;
    let (layout, dtype) = (recorded.layout.clone(), recorded.out);
    let elements = Node::record(&queue, kind, recorded)?;
    Ok(UsmArray::of(elements, layout, dtype, queue))
}

/// As [`elementwise`], for a step on the way to a result: it is computed in the pass that computes what it is for, unless to
/// record it would take longer than to compute it.
pub(crate) fn interim(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<UsmArray> {
    let is_tiny = |operand: &ArrayOrScalar<'_>| match operand {
        ArrayOrScalar::Array(array) => array.is_tiny(),
        _ => true,
    };
    if operands.iter().all(is_tiny)
        && let Some(array) = immediate::elementwise(op, operands)?
    {
        return Ok(array);
    }
    let (recorded, queue, kind) = prepare(op, operands)?;
    let (layout, dtype) = (recorded.layout.clone(), recorded.out);
    let elements = Node::defer(&queue, kind, recorded)?;
    Ok(UsmArray::of(elements, layout, dtype, queue))
}

/// Records an array of `int64` whose value at a multi-index is `start` plus the sum of `steps` times the multi-index. None
/// of the values is negative.
///
/// # Errors
/// [`Error::Shape`] or [`Error::Overflow`] for a shape, steps and a start that do not fit each other.
pub(crate) fn indices(
    queue: &Queue,
    kind: UsmKind,
    shape: &[usize],
    start: usize,
    steps: &[isize],
) -> Result<UsmArray> {
    let values = Layout::new(shape, Some(steps), Some(start), Order::C, 1, None)?;
    let layout = Layout::contiguous(shape, Order::C)?;
    if layout.len() <= TINY_LEN
        && layout.strides() == steps
        && let Some(array) = immediate::range(queue, kind, &layout, start as u64, Dtype::I64)?
    {
        return Ok(array);
    }
    let operands = smallvec::smallvec![Source::Index(values)];
    let recorded =
        Recorded { op: Op::Copy, dtype: Dtype::I64, out: Dtype::I64, layout: layout.clone(), operands };
    let elements = Node::defer(queue, kind, recorded)?;
    Ok(UsmArray::of(elements, layout, Dtype::I64, queue.clone()))
}

/// `yes` where `condition` (a `bool` array) holds, else `no`.
///
/// # Errors
/// As for [`elementwise`]; [`Error::Dtype`] where the condition is not `bool`.
pub fn where_<'a>(
    condition: &'a UsmArray,
    yes: impl Into<ArrayOrScalar<'a>>,
    no: impl Into<ArrayOrScalar<'a>>,
) -> Result<UsmArray> {
    elementwise(Op::Where, &[condition.into(), yes.into(), no.into()])
}

fn prepare(op: Op, operands: &[ArrayOrScalar<'_>]) -> Result<(Recorded, Queue, UsmKind)> {
    if operands.len() != op.arity() || op == Op::Cast {
        return Err(Error::value(
            "operands",
            format!("{} for `{}`", operands.len(), op.name()),
            format!("{} operands", op.arity()),
            "conversions have a method of their own, `astype`",
        ));
    }
    let mut queues: SmallVec<[(&str, &Queue); 3]> = SmallVec::new();
    let mut dtypes: SmallVec<[Dtype; 3]> = SmallVec::new();
    let mut weak: SmallVec<[Weak; 3]> = SmallVec::new();
    let mut shapes: SmallVec<[&[usize]; 3]> = SmallVec::new();
    let mut kind = UsmKind::Host;
    for (position, operand) in operands.iter().enumerate() {
        let condition = op.is_condition(position);
        let dtype = match operand {
            ArrayOrScalar::Array(array) => {
                queues.push((NAMES[position], &array.queue));
                shapes.push(array.shape());
                kind = kind.combine(array.usm_kind());
                array.dtype
            }
            ArrayOrScalar::Scalar(value) => value.dtype(),
            ArrayOrScalar::Weak(value) if !condition => {
                weak.push(*value);
                continue;
            }
            ArrayOrScalar::Weak(_) => Dtype::I64,
        };
        if !condition {
            dtypes.push(dtype);
        } else if dtype != Dtype::Bool {
            return Err(Error::dtype(
                "condition",
                dtype,
                "an array of bool",
                "compare first: `x.not_equal(0)` says where a number is not zero",
            ));
        }
    }
    if let Some(prepared) = prepare_signs(op, operands, &dtypes)? {
        return Ok(prepared);
    }
    let queue = common_queue(&queues)?.clone();
    let support = queue.device().dtype_support();
    let test = op.result(Dtype::I64) == Dtype::Bool;
    let mut dtype = match test {
        true => comparison_type(&dtypes, &weak, support)?,
        false => result_type(&dtypes, &weak, support)?,
    };
    if op.wants_float() && !dtype.kind().is_inexact() {
        dtype = support.default_float();
    }
    if !op.allows(dtype) {
        return Err(Error::dtype(
            "x1",
            format!("{dtype} for `{}`", op.name()),
            "a dtype that the operation is defined for",
            "convert the operands first, with `astype`",
        ));
    }
    let shape = broadcast_shapes(&shapes)?;
    let settled = settled_comparison(op, operands, dtype);
    let mut sources: SmallVec<[Source; 3]> = SmallVec::new();
    let (mut column_major, mut row_major) = (false, false);
    for operand in operands {
        sources.push(match operand {
            ArrayOrScalar::Array(array) => {
                if array.shape() == &shape[..] {
                    match array.result_order() {
                        Order::F => column_major = true,
                        Order::C => row_major = true,
                    }
                    Source::Array((*array).clone())
                } else {
                    Source::Array(array.broadcast_to(&shape)?)
                }
            }
            ArrayOrScalar::Scalar(value) => Source::Scalar(*value),
            ArrayOrScalar::Weak(_) if settled.is_some() => continue,
            ArrayOrScalar::Weak(value) => Source::Scalar(value.to_scalar(dtype)?),
        });
    }
    let order = if column_major && !row_major { Order::F } else { Order::C };
    let layout = Layout::contiguous(&shape, order)?;
    if let Some(outcome) = settled {
        let operands = smallvec::smallvec![Source::Scalar(Scalar::Bool(outcome))];
        let recorded = Recorded { op: Op::Copy, dtype: Dtype::Bool, out: Dtype::Bool, layout, operands };
        return Ok((recorded, queue, kind));
    }
    Ok((Recorded { op, dtype, out: op.result(dtype), layout, operands: sources }, queue, kind))
}

/// A comparison of `int64` with `uint64`. No dtype holds both exactly: they are compared as `uint64`, and a negative number is
/// below all of those.
///
/// Through `float64`, numbers above 2⁵³ that differ would be equal, and -1 might equal a large unsigned
/// number. Instead the comparison of the bits is joined with a test of the sign, in one fused program: two
/// operations more than one of equal dtypes. Searches and sets clamp or mask what the other dtype has not
/// (`searching.rs`, `sets.rs`); arithmetic of the two is in `float64`, as in NumPy. So `a < b` does not agree
/// with a comparison of both as `float64`, nor with NumPy before version 2; the array API standard leaves the
/// mix open.
fn prepare_signs(
    op: Op,
    operands: &[ArrayOrScalar<'_>],
    dtypes: &[Dtype],
) -> Result<Option<(Recorded, Queue, UsmKind)>> {
    let position = match dtypes {
        [Dtype::I64, Dtype::U64] => 0,
        [Dtype::U64, Dtype::I64] => 1,
        _ => return Ok(None),
    };
    let Some(below) = Weak::Int(-1).settles(op, position, Dtype::U64) else { return Ok(None) };
    let (ArrayOrScalar::Array(first), ArrayOrScalar::Array(second)) = (&operands[0], &operands[1]) else {
        // A value is compared as the number that it is, in the dtype of the array.
        let numbers = operands.iter().map(|operand| match operand {
            ArrayOrScalar::Scalar(value) => ArrayOrScalar::Weak(value.weak()),
            other => other.clone(),
        });
        return prepare(op, &numbers.collect::<SmallVec<[_; 2]>>()).map(Some);
    };
    let signed = if position == 0 { first } else { second };
    let bits = signed.astype_step(Dtype::U64)?;
    let compared = match position {
        0 => interim(op, &[(&bits).into(), (*second).into()])?,
        _ => interim(op, &[(*first).into(), (&bits).into()])?,
    };
    let (sign, joined) = if below { (Op::Less, Op::BitwiseOr) } else { (Op::GreaterEqual, Op::BitwiseAnd) };
    let sign = interim(sign, &[(*signed).into(), Weak::Int(0).into()])?;
    prepare(joined, &[(&compared).into(), (&sign).into()]).map(Some)
}

/// The outcome, the same for every element, of comparing an array's integers with a weak integer that is out of their
/// range.
fn settled_comparison(op: Op, operands: &[ArrayOrScalar<'_>], dtype: Dtype) -> Option<bool> {
    operands.iter().enumerate().find_map(|(position, operand)| match operand {
        ArrayOrScalar::Weak(value) => value.settles(op, position, dtype),
        _ => None,
    })
}

impl UsmArray {
    /// Applies a unary operation.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn unary(&self, op: Op) -> Result<Self> {
        elementwise(op, &[self.into()])
    }

    /// Applies a binary operation with this array as the first operand.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn binary<'a>(&'a self, op: Op, other: impl Into<ArrayOrScalar<'a>>) -> Result<Self> {
        elementwise(op, &[self.into(), other.into()])
    }

    /// The elements converted to a dtype; this array where it has the dtype already.
    ///
    /// # Errors
    /// [`Error::Dtype`] where the device lacks the dtype.
    pub fn astype(&self, dtype: Dtype) -> Result<Self> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        self.in_axis_order(|array| match immediate::cast(array, dtype)? {
            Some(array) => Ok(array),
            None => array.converted(dtype, Node::record),
        })
    }

    /// Whether the elements are in memory, and so few that to record an operation on them takes longer than to compute it.
    fn is_tiny(&self) -> bool {
        self.len() <= TINY_LEN && self.elements.get_memory().is_some()
    }

    /// As [`astype`](Self::astype), for a [`interim`] on the way to a result.
    pub(crate) fn astype_step(&self, dtype: Dtype) -> Result<Self> {
        if dtype != self.dtype
            && self.is_tiny()
            && let Some(array) = immediate::cast(self, dtype)?
        {
            return Ok(array);
        }
        self.converted(dtype, Node::defer)
    }

    fn converted(
        &self,
        dtype: Dtype,
        record: impl FnOnce(&Queue, UsmKind, Recorded) -> Result<Elements>,
    ) -> Result<Self> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        let support = self.device().dtype_support();
        if !support.supports(dtype) {
            return Err(Error::dtype(
                "dtype",
                dtype,
                format!("a dtype that {} computes in", self.device()),
                format!("use {}, or another device", support.downgrade(dtype)),
            ));
        }
        let recorded = self.as_expression(dtype)?;
        let layout = recorded.layout.clone();
        let elements = record(&self.queue, self.usm_kind(), recorded)?;
        Ok(Self::of(elements, layout, dtype, self.queue.clone()))
    }

    /// A copy in memory of its own, with the axes in this array's order.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub fn copy(&self) -> Result<Self> {
        self.in_axis_order(|array| array.copy_in(array.result_order()))
    }

    /// A copy in memory of its own, row-major or column-major.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub fn copy_in(&self, order: Order) -> Result<Self> {
        let out = Self::empty_in(order, &self.queue, self.shape(), self.dtype, self.usm_kind())?;
        out.assign(self)?;
        Ok(out)
    }

    /// The elements contiguous in an order: this array where it is, else a copy.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory.
    pub fn in_order(&self, order: Order) -> Result<Self> {
        if self.layout.is_contiguous(order) { Ok(self.clone()) } else { self.copy_in(order) }
    }

    /// Copies elements from an array (or scalar) that broadcasts to this one's shape, converting them. Leading extents of
    /// 1 that this array has not are left out, as NumPy does it.
    ///
    /// # Errors
    /// [`Error::Borrow`] where this array is read-only, [`Error::Shape`], [`Error::ExecutionPlacement`];
    /// [`Error::Dtype`] for a scalar that does not fit.
    #[inline]
    pub fn assign<'a>(&self, source: impl Into<ArrayOrScalar<'a>>) -> Result<Event> {
        let source = source.into();
        // Where the caller sees it: to hand on an event of nothing would take a fifth of a small copy's time.
        if immediate::assign(&source, self) { Ok(Event::ready()) } else { self.assign_recorded(source) }
    }

    /// [`assign`](Self::assign) by a submission.
    #[inline(never)]
    fn assign_recorded(&self, source: ArrayOrScalar<'_>) -> Result<Event> {
        let constant = |value: Scalar| (Source::Scalar(value), value.dtype());
        let (source, dtype) = match source {
            ArrayOrScalar::Array(array) => {
                common_queue(&[("self", &self.queue), ("source", &array.queue)])?;
                (Source::Array(array.fitted(self.shape())?), array.dtype)
            }
            ArrayOrScalar::Scalar(value) => constant(value),
            ArrayOrScalar::Weak(value) => constant(value.to_scalar(self.dtype)?),
        };
        let recorded = Recorded {
            op: if dtype == self.dtype { Op::Copy } else { Op::Cast },
            dtype,
            out: self.dtype,
            layout: Layout::contiguous(self.shape(), self.result_order())?,
            operands: smallvec::smallvec![source],
        };
        self.write("self", &recorded, &[])
    }

    /// Applies an operation and writes the result into `self`, now, after the events named. Operands may overlap `self`
    /// in any way: the result is what a copy of them first would give.
    ///
    /// # Errors
    /// As for [`elementwise`]; [`Error::Borrow`] where `self` is read-only, [`Error::Shape`] where the result has another
    /// shape, [`Error::Dtype`] where its dtype is of a richer kind than `self`'s (as NumPy's `same_kind`).
    pub fn write_elementwise(
        &self,
        op: Op,
        operands: &[ArrayOrScalar<'_>],
        depends: &[Event],
    ) -> Result<Event> {
        if let Some(base) = squared(op, operands) {
            return self.write_elementwise(Op::Square, &[base], depends);
        }
        if depends.is_empty() && immediate::write(op, operands, self) {
            return Ok(Event::ready());
        }
        let (recorded, queue, _) = prepare(op, operands)?;
        common_queue(&[("out", &self.queue), ("x1", &queue)])?;
        if recorded.layout.shape() != self.shape() {
            return Err(Error::shape(
                "out",
                format!("of shape {:?}", self.shape()),
                format!("the shape of the result, {:?}", recorded.layout.shape()),
                "make `out` of that shape, or broadcast it away from the operands",
            ));
        }
        if !can_cast(recorded.out, self.dtype, Casting::SameKind) {
            return Err(Error::dtype(
                "out",
                self.dtype,
                format!("a dtype that can hold the result's {}", recorded.out),
                "use an `out` of that dtype, or convert the operands first",
            ));
        }
        self.write("out", &recorded, depends)
    }

    /// The elements repeated to a shape that they are assigned to, without leading extents of 1 that it has not.
    pub(super) fn fitted(&self, shape: &[usize]) -> Result<Self> {
        let extra = self.ndim().saturating_sub(shape.len());
        let ones = self.shape().iter().take_while(|&&extent| extent == 1).count();
        if extra == 0 || ones < extra {
            return self.broadcast_to(shape);
        }
        self.squeeze(&(0..extra.cast_signed()).collect::<SmallVec<[isize; 4]>>())?.broadcast_to(shape)
    }

    fn write(&self, argument: &'static str, recorded: &Recorded, depends: &[Event]) -> Result<Event> {
        self.check_writable(argument)?;
        lazy::assign(&self.queue, recorded, self.as_target()?, depends)
    }

    /// This array's memory as the place of a result.
    pub(crate) fn as_target(&self) -> Result<Target> {
        Ok(Target::Existing {
            allocation: self.elements.memory()?.clone(),
            layout: self.layout.clone(),
            dtype: self.dtype,
        })
    }
}
