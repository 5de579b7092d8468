//! `syclobj`: queues and contexts, in all forms that the protocol names, and what ours are called by it.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString, PyTuple};
use stridewise::{Context, Error, Queue};

use super::device;
use super::library::SyclQueue;
use crate::errors::{Fault, Result, shown};
use crate::runtime::context::PyContext;
use crate::runtime::queue::PyQueue;

pub(super) fn type_error(name: &str, found: &Bound<'_, PyAny>, expected: &str) -> Fault {
    let found = shown(found);
    Fault::Python(PyTypeError::new_err(format!("`{name}` is {found}; expected {expected}")))
}

/// What an interface's `syclobj` says.
pub(super) enum Home {
    /// A queue of this engine.
    Ours(Queue),
    /// A context of this engine.
    Context(Context),
    /// The queue of this engine that works in the memory of a queue of SYCL, and that.
    Sycl(Queue, Arc<SyclQueue>),
    /// A filter string.
    Filter(String),
}

/// What a capsule points to.
enum Reference {
    Queue(NonNull<c_void>),
    Context,
}

/// The capsule that an object is or gives; `None` where it is and gives none.
fn capsule_of<'py>(object: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyCapsule>>> {
    if let Ok(capsule) = object.cast::<PyCapsule>() {
        return Ok(Some(capsule.clone()));
    }
    let Some(give) = object.getattr_opt(intern!(object.py(), "_get_capsule"))? else { return Ok(None) };
    match give.call0()?.cast_into::<PyCapsule>() {
        Ok(capsule) => Ok(Some(capsule)),
        Err(error) => Err(type_error("syclobj._get_capsule()", &error.into_inner(), "a capsule")),
    }
}

fn reference_of(capsule: &Bound<'_, PyCapsule>) -> Result<Reference> {
    for (name, queue) in [(c"SyclQueueRef", true), (c"SyclContextRef", false)] {
        if capsule.is_valid_checked(Some(name)) {
            let pointer = capsule.pointer_checked(Some(name))?;
            return Ok(if queue { Reference::Queue(pointer) } else { Reference::Context });
        }
    }
    Err(Fault::Python(PyValueError::new_err(format!(
        "`syclobj` is {}; expected a capsule named \"SyclQueueRef\" or \"SyclContextRef\"; help: one that was taken \
         already has another name",
        shown(capsule)
    ))))
}

/// Our queue for a queue of SYCL: a dpctl.SyclQueue, its capsule, or an object that gives one; the same queue for the same
/// one of SYCL as long as anything uses it. `None` where the object is none of these.
///
/// # Errors
/// `ValueError` for another capsule, `TypeError` for a `_get_capsule` that gives none; `NotImplementedError` without dpctl
/// and for devices that are no processors.
pub(crate) fn queue_of(object: &Bound<'_, PyAny>) -> Result<Option<Queue>> {
    let Some(capsule) = capsule_of(object)? else { return Ok(None) };
    match reference_of(&capsule)? {
        Reference::Queue(queue) => Ok(Some(ours_for(object.py(), queue)?.0)),
        Reference::Context => Ok(None),
    }
}

/// Our queue for the one that a capsule holds, while the caller holds the capsule.
fn ours_for(py: Python<'_>, queue: NonNull<c_void>) -> Result<(Queue, Arc<SyclQueue>)> {
    // SAFETY: the capsule, which the caller holds, has the name that dpctl gives to those that point to a live
    // `DPCTLSyclQueueRef`.
    let sycl = unsafe { SyclQueue::new(py, queue)? };
    let queue = py.detach(|| device::queue_for(sycl))?;
    match device::queue_of(queue.device()) {
        Some(sycl) => Ok((queue, sycl)),
        None => Err(Fault::Core(Error::runtime(
            "syclobj",
            "a queue that is not known any more",
            "a live queue",
            "this is a defect of the engine: please report it",
        ))),
    }
}

/// The queue that dpctl keeps for a device, or for a device in a context.
pub(super) fn kept_queue<'py>(py: Python<'py>, key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let manager = py.import("dpctl").and_then(|_| py.import("dpctl._sycl_queue_manager"));
    match manager.and_then(|manager| manager.getattr("get_device_cached_queue")) {
        Ok(kept) => kept.call1((key,)),
        Err(_) => {
            let new = py.import("dpctl")?.getattr("SyclQueue")?;
            match key.cast::<PyTuple>() {
                Ok(both) => new.call1(both.clone()),
                Err(_) => new.call1((key,)),
            }
        }
    }
}

/// Our queue for a context of SYCL: that of the queue which dpctl keeps for the context's first device.
fn queue_in_context(py: Python<'_>, object: &Bound<'_, PyAny>) -> Result<(Queue, Arc<SyclQueue>)> {
    let class = py
        .import("dpctl")
        .and_then(|dpctl| dpctl.getattr("SyclContext"))
        .map_err(|_| no_dpctl("a context of SYCL"))?;
    let context = if object.is_instance(&class)? {
        object.clone()
    } else {
        let Some(capsule) = capsule_of(object)? else {
            return Err(type_error("syclobj", object, "a context of SYCL"));
        };
        let context = class.call1((twin(&capsule)?,))?;
        drop(capsule);
        context
    };
    let devices = context.call_method0("get_devices")?;
    let key = PyTuple::new(py, [context, devices.get_item(0)?])?.into_any();
    sycl_queue(&kept_queue(py, key)?)
}

pub(super) fn sycl_queue(object: &Bound<'_, PyAny>) -> Result<(Queue, Arc<SyclQueue>)> {
    let capsule = capsule_of(object)?;
    match capsule.as_ref().map(reference_of).transpose()? {
        Some(Reference::Queue(queue)) => ours_for(object.py(), queue),
        _ => Err(type_error("syclobj", object, "a queue of SYCL")),
    }
}

fn no_dpctl(what: &str) -> Fault {
    Fault::Core(Error::unsupported(
        "syclobj",
        format!("{what}, without dpctl"),
        "an installed dpctl, which knows queues and contexts of SYCL",
        "install dpctl, or use a Queue of stridewise",
    ))
}

/// What a `syclobj` is.
pub(super) fn home_of(object: &Bound<'_, PyAny>) -> Result<Home> {
    let py = object.py();
    if let Ok(queue) = object.cast::<PyQueue>() {
        return Ok(Home::Ours(queue.get().0.clone()));
    }
    if let Ok(context) = object.cast::<PyContext>() {
        return Ok(Home::Context(context.get().0.clone()));
    }
    if let Ok(filter) = object.cast::<PyString>() {
        return Ok(Home::Filter(filter.to_cow()?.into_owned()));
    }
    let Some(capsule) = capsule_of(object)? else {
        return Err(type_error(
            "syclobj",
            object,
            "a queue, a context, a filter string, a capsule \"SyclQueueRef\" or \"SyclContextRef\", or an object with \
             `_get_capsule`",
        ));
    };
    let (queue, sycl) = match reference_of(&capsule)? {
        Reference::Queue(queue) => ours_for(py, queue)?,
        Reference::Context => queue_in_context(py, object)?,
    };
    Ok(Home::Sycl(queue, sycl))
}

/// The `syclobj` of what is on a queue: a dpctl.SyclQueue where its memory is of SYCL, else the queue.
pub(super) fn name_of<'py>(py: Python<'py>, queue: &Queue) -> Result<Bound<'py, PyAny>> {
    let Some(sycl) = device::queue_of(queue.device()) else {
        return Ok(Bound::new(py, PyQueue(queue.clone()))?.into_any());
    };
    let class = py.import("dpctl").map_err(|_| no_dpctl("a queue of SYCL"))?.getattr("SyclQueue")?;
    // SAFETY: the pointer is what dpctl gives capsules of this name, and is live during the call, which is all that the
    // capsule is for: a new dpctl.SyclQueue copies what a capsule points to, and leaves the capsule's end to its owner.
    let capsule = unsafe { PyCapsule::new_with_pointer(py, sycl.reference(), c"SyclQueueRef")? };
    Ok(class.call1((capsule,))?)
}

/// Another capsule for the context that one holds, while the caller holds it. Who reads a capsule into a dpctl.SyclContext
/// renames it, and the given one must stay as it is for the next.
fn twin<'py>(capsule: &Bound<'py, PyCapsule>) -> Result<Bound<'py, PyCapsule>> {
    let pointer = capsule.pointer_checked(Some(c"SyclContextRef"))?;
    // SAFETY: as in `syclobj`; the pointer is live as long as the capsule that it is from.
    Ok(unsafe { PyCapsule::new_with_pointer(capsule.py(), pointer, c"SyclContextRef")? })
}
