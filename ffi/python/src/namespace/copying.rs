//! Copies in parts, for whoever wants to know how far they have come.

use pyo3::prelude::*;
use stridewise::{SliceItem, UsmArray};

use super::creation::on_queue;
use crate::arguments;
use crate::array::PyArray;
use crate::errors::Result;
use crate::progress::Progress;

/// Bytes of a part at most, some milliseconds in memory and a tenth of a second from a slow disk.
const PART_BYTES: usize = 16 << 20;
/// What progress of copies is told of.
const BYTES: &str = "the bytes that are copied and of all";

/// Copies the elements of an array to another one of its shape, converted, and says after each part how many bytes of how many are there.
/// The two may lie on queues of different devices; they do not overlap.
///
/// # Errors
/// As for `assign`; what `tell` reports, which ends the copy.
pub(super) fn copy_in_parts(
    source: &UsmArray,
    target: &UsmArray,
    tell: &mut dyn FnMut(usize, usize) -> stridewise::Result<()>,
) -> stridewise::Result<()> {
    let (mut done, all) = (0, target.bytes());
    copy_parts(source, target, &mut |bytes| {
        done += bytes;
        tell(done, all)
    })
}

/// Copies parts along the axis that goes furthest in memory, each of as many rows as it may have, or in parts itself.
fn copy_parts(
    source: &UsmArray,
    target: &UsmArray,
    copied: &mut dyn FnMut(usize) -> stridewise::Result<()>,
) -> stridewise::Result<()> {
    let bytes = target.bytes();
    let axes = (0..target.ndim()).filter(|&axis| target.shape()[axis] > 1);
    let far = axes.max_by_key(|&axis| target.strides()[axis].unsigned_abs());
    let Some(axis) = far.filter(|_| bytes > PART_BYTES) else {
        target.assign(&on_queue(source, target.queue())?)?.wait()?;
        return copied(bytes);
    };
    let extent = target.shape()[axis];
    let rows = (PART_BYTES / (bytes / extent)).max(1);
    let part = |array: &UsmArray, start: usize| {
        let mut items = [SliceItem::from(..)].repeat(array.ndim());
        items[axis] = (start..(start + rows).min(extent)).into();
        array.slice(&items)
    };
    (0..extent)
        .step_by(rows)
        .try_for_each(|start| copy_parts(&part(source, start)?, &part(target, start)?, copied))
}

/// Copies to a new array as [`copy_in_parts`] does, for a function of Python's that wants to know.
pub(super) fn copied(
    py: Python<'_>,
    source: &UsmArray,
    target: UsmArray,
    mut progress: Progress,
) -> Result<PyArray> {
    let copied = py.detach(|| copy_in_parts(source, &target, &mut |done, all| progress.tell(done, all)));
    progress.ended(copied)?;
    Ok(target.into())
}

/// The function of an argument that wants to know of a copy.
pub(super) fn progress_of(progress: Option<&Bound<'_, PyAny>>) -> Result<Option<Progress>> {
    Progress::of(progress, BYTES)
}

/// Copies elements to an array of the same shape, which they do not overlap, in parts, for a function that wants to know.
#[pyfunction]
fn _copy_in_parts(
    py: Python<'_>,
    #[pyo3(from_py_with = arguments::ours)] source: PyRef<'_, PyArray>,
    #[pyo3(from_py_with = arguments::ours)] target: PyRef<'_, PyArray>,
    progress: &Bound<'_, PyAny>,
) -> Result<()> {
    let (source, target): (&UsmArray, &UsmArray) = (&source.array(), &target.array());
    if let Some(progress) = progress_of(Some(progress))? {
        copied(py, source, target.clone(), progress)?;
    }
    Ok(())
}

/// Adds the function to the module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    super::add_functions!(module: _copy_in_parts);
    Ok(())
}
