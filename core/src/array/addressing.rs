//! Gathers and scatters: elements at the places that arrays of indices name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use super::{ArrayOrScalar, UsmArray, elementwise};
use crate::backend::Aspect;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Dims, Strides, coalesce};
use crate::lazy::{Pass, Walk, handing_on};
use crate::memory::UsmKind;
use crate::ops::Op;
use crate::plan::{Family, IndexedAxis};
use crate::program::{MAX_INPUTS, Program};
use crate::runtime::{Event, Queue, common_queue};
use crate::scalar::Scalar;

use super::Reduction;

/// What becomes of an index that is out of range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IndexMode {
    /// It is an error, found before anything is read or written. Negative indices count from the end.
    #[default]
    Check,
    /// It is taken modulo the extent of the axis, so that −1 is the last element.
    Wrap,
    /// It is taken for the nearest in range, a negative one for 0.
    Clip,
}

/// Indices as `int64` from 0 to below an extent, in memory apart from an array that is about to be written.
///
/// # Errors
/// [`Error::Dtype`] where they are no integers, [`Error::OutOfBounds`] for one out of range.
pub(super) fn resolve(
    indices: &UsmArray,
    extent: usize,
    mode: IndexMode,
    written: Option<&UsmArray>,
) -> Result<UsmArray> {
    let resolved = in_range(indices, extent, mode)?;
    match written {
        Some(target) => apart(&resolved, target),
        None => Ok(resolved),
    }
}

fn in_range(indices: &UsmArray, extent: usize, mode: IndexMode) -> Result<UsmArray> {
    let dtype = indices.dtype();
    if !dtype.kind().is_integer() {
        return Err(Error::dtype(
            "indices",
            dtype,
            "an array of integers",
            "select with a mask of bool by `masked`, or convert with `astype`",
        ));
    }
    if indices.is_empty() {
        return indices.astype(Dtype::I64);
    }
    if extent == 0 {
        return Err(Error::out_of_bounds(
            "indices",
            format!("of shape {:?}, along an axis of extent 0", indices.shape()),
            "no indices, as the axis has no elements",
            "check for size 0 first",
        ));
    }
    // Indices beyond `int64` are mapped in `uint64`.
    let wide = if dtype == Dtype::U64 { Dtype::U64 } else { Dtype::I64 };
    let number = |value: usize| ArrayOrScalar::Scalar(Scalar::U64(value as u64).cast(wide));
    match mode {
        IndexMode::Check => check(indices, extent),
        IndexMode::Wrap => indices.astype(wide)?.binary(Op::Remainder, number(extent))?.astype(Dtype::I64),
        IndexMode::Clip => {
            let x = indices.astype(wide)?;
            elementwise(Op::Clip, &[(&x).into(), number(0), number(extent - 1)])?.astype(Dtype::I64)
        }
    }
}

/// Indices along an axis of an array whose check may be left to the gather ([`Addressing::gather_checking`]), as `int64`; `None`
/// where it may not, or where there is nothing to gain. Who waits for the check before anything else begins waits twice on a device
/// apart, and has read the indices twice on the host, where only those of a row can be.
pub(super) fn unchecked(source: &UsmArray, indices: &UsmArray, axis: usize) -> Result<Option<UsmArray>> {
    let apart = !indices.device().capabilities().immediate;
    let row = source.ndim() == 1 && indices.ndim() == 1;
    // Some of `uint64` would be negative as `int64`.
    let fits = indices.dtype().kind().is_integer() && indices.dtype() != Dtype::U64;
    let any = !indices.is_empty() && source.shape()[axis] > 0;
    ((apart || row) && fits && any).then(|| indices.astype(Dtype::I64)).transpose()
}

/// Indices that are in range, counted from the start.
fn check(indices: &UsmArray, extent: usize) -> Result<UsmArray> {
    // Negative indices, seen as unsigned, are beyond every extent.
    let largest: u64 = indices.extreme(Reduction::Max, Dtype::U64)?.get().unwrap_or(u64::MAX);
    if largest < extent as u64 {
        return indices.astype(Dtype::I64);
    }
    let refused = |value: String| {
        Error::out_of_bounds(
            "indices",
            format!("an array with index {value}"),
            format!("indices from -{extent} to {} along the axis", extent - 1),
            "use indices within the axis, or IndexMode::Wrap or IndexMode::Clip",
        )
    };
    if indices.dtype().kind() == crate::dtype::DtypeKind::Unsigned {
        return Err(refused(largest.to_string()));
    }
    for reduction in [Reduction::Min, Reduction::Max] {
        let value: i64 = indices.extreme(reduction, Dtype::I64)?.get().unwrap_or(i64::MAX);
        let from_start = if value < 0 { i128::from(value) + extent as i128 } else { i128::from(value) };
        if from_start < 0 || from_start >= extent as i128 {
            return Err(refused(value.to_string()));
        }
    }
    let x = indices.astype(Dtype::I64)?;
    let negative = x.binary(Op::Less, Scalar::I64(0))?;
    let counted = x.binary(Op::Add, Scalar::I64(extent as i64))?;
    elementwise(Op::Where, &[(&negative).into(), (&counted).into(), (&x).into()])
}

/// An axis that is addressed, and the places along it, of the iteration space's dimensions.
pub(super) struct Places {
    pub(super) axis: IndexedAxis,
    pub(super) indices: UsmArray,
    pub(super) strides: Strides,
}

/// An iteration space over elements of an array at places that indices name.
pub(super) struct Addressing {
    pub(super) dims: Dims,
    /// Strides of the array that is addressed; 0 along dimensions that only places run along.
    pub(super) strides: Strides,
    pub(super) places: SmallVec<[Places; 1]>,
}

impl Addressing {
    /// The queue of everything involved, and the strongest kind.
    fn placement(&self, first: (&str, &UsmArray)) -> Result<(Queue, UsmKind)> {
        let mut queues: SmallVec<[(&str, &Queue); 4]> = smallvec::smallvec![(first.0, first.1.queue())];
        queues.extend(self.places.iter().map(|places| ("indices", places.indices.queue())));
        let kind = self.places.iter().fold(first.1.usm_kind(), |k, p| k.combine(p.indices.usm_kind()));
        Ok((common_queue(&queues)?.clone(), kind))
    }

    fn axes(&self) -> SmallVec<[IndexedAxis; 2]> {
        self.places.iter().map(|places| places.axis).collect()
    }

    /// The program that hands elements on, beside as many indices; and that tells a number, where there is one.
    fn program(&self, dtype: Dtype, told: Option<u32>) -> Result<Arc<Program>> {
        if self.places.len() >= MAX_INPUTS {
            return Err(Error::unsupported(
                "indices",
                format!("{} arrays", self.places.len()),
                format!("at most {} arrays of indices", MAX_INPUTS - 1),
                "index some of the axes first",
            ));
        }
        let places = self.places.iter().map(|_| Dtype::I64);
        Ok(Arc::new(Program::handing_on(dtype, places, told.map(Scalar::U32))))
    }

    /// The pass with its dimensions merged where all operands allow it. The order stays.
    fn pass<'a>(
        &'a self,
        family: Family,
        from: (&'a UsmArray, &[isize]),
        to: (&'a UsmArray, &[isize]),
    ) -> Result<Pass<'a>> {
        let mut strides: SmallVec<[&[isize]; 4]> = SmallVec::from_slice(&[from.1, to.1]);
        strides.extend(self.places.iter().map(|places| &places.strides[..]));
        let space = coalesce(&self.dims, &strides, false);
        let walk =
            |array: &'a UsmArray, number: usize| Walk { array, strides: space.strides[number].clone() };
        let mut inputs: SmallVec<[Walk<'a>; 2]> = SmallVec::new();
        inputs.push(walk(from.0, 0));
        inputs.extend(self.places.iter().enumerate().map(|(k, places)| walk(&places.indices, k + 2)));
        let program = match self.places.len() {
            1 => handing_on(from.0.dtype(), Some(Dtype::I64)),
            _ => self.program(from.0.dtype(), None)?,
        };
        Ok(Pass { program, family, dims: space.shape.clone(), inputs, output: walk(to.0, 1) })
    }

    /// New memory of the space's shape with the addressed elements of `source`.
    pub(super) fn gather(&self, source: &UsmArray) -> Result<UsmArray> {
        let (queue, kind) = self.placement(("self", source))?;
        let out = UsmArray::empty(&queue, &self.dims, source.dtype(), kind)?;
        let family = Family::Gather { axes: self.axes() };
        self.pass(family, (source, &self.strides), (&out, out.strides()))?.submit(&queue, &[])?;
        Ok(out)
    }

    /// As [`gather`](Self::gather), with places that nobody has checked, negative ones counted from the end: the device does
    /// it on the way. `None` where it has no such kernel, where a place is out of range, or where that cannot be told.
    pub(super) fn gather_checking(&self, source: &UsmArray) -> Result<Option<UsmArray>> {
        // Each has a number of its own, so what memory held before is taken for an answer at most once in a long while: then the
        // places are looked at again.
        static NUMBER: AtomicU32 = AtomicU32::new(1);
        let (queue, kind) = self.placement(("self", source))?;
        let out = UsmArray::empty(&queue, &self.dims, source.dtype(), kind)?;
        let family = Family::Gather { axes: self.axes() };
        let mut pass = self.pass(family, (source, &self.strides), (&out, out.strides()))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        pass.program = self.program(source.dtype(), Some(number))?;
        if !pass.has_kernel(&queue) {
            return Ok(None);
        }
        let kind = match queue.device().info().has(Aspect::UsmDeviceAllocations) {
            false => kind,
            true => UsmKind::Device,
        };
        let told = UsmArray::empty(&queue, &[], Dtype::U32, kind)?;
        pass.submit_telling(&queue, &told)?;
        match told.item() {
            Err(error @ Error::Interrupted(_)) => Err(error),
            // A failure before: the result of a gather of places that were checked has it.
            Err(_) => Ok(None),
            Ok(found) => Ok((found != Scalar::U32(number)).then_some(out)),
        }
    }

    /// Writes values, which broadcast to the space's shape, to the addressed elements of `target`, which the indices
    /// are apart from.
    pub(super) fn scatter(&self, target: &UsmArray, values: ArrayOrScalar<'_>) -> Result<Event> {
        target.check_writable("self")?;
        let (queue, _) = self.placement(("self", target))?;
        let values = values_for(target, values, &self.dims)?;
        let family = Family::Scatter { axes: self.axes() };
        self.pass(family, (&values, values.strides()), (target, &self.strides))?.submit(&queue, &[])
    }
}

/// Values in the dtype of the array that they are written to, broadcast to a shape, in memory that is not the array's.
pub(super) fn values_for(target: &UsmArray, values: ArrayOrScalar<'_>, shape: &[usize]) -> Result<UsmArray> {
    let point =
        |value: Scalar| UsmArray::full(target.queue(), &[], value.cast(target.dtype()), target.usm_kind());
    let array = match values {
        ArrayOrScalar::Array(array) => {
            common_queue(&[("self", target.queue()), ("values", array.queue())])?;
            // Before the conversion, which the repeated elements need only once.
            array.fitted(shape)?;
            apart(&array.astype(target.dtype())?, target)?
        }
        ArrayOrScalar::Scalar(value) => point(value)?,
        ArrayOrScalar::Weak(value) => point(value.to_scalar(target.dtype())?)?,
    };
    array.fitted(shape)
}

/// The array, or a copy of it where it shares elements with one that is about to be written.
pub(super) fn apart(array: &UsmArray, target: &UsmArray) -> Result<UsmArray> {
    // The target's first: where the array is the same recorded work, or a view of it, that has run then.
    let written = target.elements().memory()?;
    if array.is_pending() {
        // Memory of its own.
        return Ok(array.clone());
    }
    let memory = array.elements().memory()?;
    let shared =
        memory.shares((array.layout(), array.itemsize()), written, (target.layout(), target.itemsize()));
    if shared { array.copy() } else { Ok(array.clone()) }
}
