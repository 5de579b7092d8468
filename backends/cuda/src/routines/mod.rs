//! Transforms by cuFFT, decompositions by cuSOLVER, where they are installed: routines of core's, each with what its library keeps for
//! it.

mod fourier;
mod solver;

use std::sync::Arc;

use stridewise_core::backend::{CompiledKernel, Routine, SourceKernelInfo, SourceValue};
use stridewise_core::{Error, Result};

use crate::device::Shared;
use crate::library::{Given, Library, Opened};
use crate::stream::Stream;
use crate::symbols::{ABSENT, Refused};

/// The libraries, as a device has them.
pub(crate) struct Libraries {
    fourier: Opened<fourier::Functions>,
    solver: Opened<solver::Functions>,
    /// The handle of the one for decompositions, which one thread has at a time.
    handle: solver::Shared,
}

impl Libraries {
    pub(crate) fn new(given: Option<Given>) -> Self {
        Self { fourier: Opened::new(given), solver: Opened::new(given), handle: solver::Shared::default() }
    }
}

/// A routine that is ready to be given to streams.
pub(crate) enum Made {
    Fourier(fourier::Plan),
    Solver(solver::Call),
}

/// Whether a kernel is a routine whose library may wait for the device.
pub(crate) fn is_waited_for(kernel: &CompiledKernel) -> bool {
    matches!(kernel.handle.downcast_ref(), Some(Made::Solver(_)))
}

/// Makes a routine.
///
/// # Errors
/// [`Error::Value`] for a text that is none; [`Error::Unsupported`] without its library; what that reports.
pub(crate) fn compile(device: &Shared, text: &str) -> Result<Vec<CompiledKernel>> {
    let routine = Routine::parse(text).and_then(|routine| Some((routine, routine.touches()?)));
    let Some((routine, touches)) = routine else {
        let help = "write a `Routine` as text";
        return Err(Error::value("source", format!("`{text}`"), "the text of a routine", help));
    };
    let libraries = &device.libraries;
    let made = match routine.kind.is_transform() {
        true => Made::Fourier(fourier::Plan::new(device, libraries, routine)?),
        false => Made::Solver(solver::Call::new(libraries, routine)?),
    };
    let mut info = SourceKernelInfo::new("run", touches.len(), 1);
    info.touches = Some(touches);
    Ok(vec![CompiledKernel { info: Arc::new(info), handle: Arc::new(made) }])
}

impl Made {
    /// Gives the routine to a stream; the context is the calling thread's.
    pub(crate) fn give(&self, device: &Shared, stream: &Stream, arguments: &[SourceValue]) -> Result<()> {
        let address = |argument: &SourceValue| match argument {
            SourceValue::Memory { ptr, .. } => Some(ptr.addr()),
            _ => None,
        };
        let addresses: Option<Vec<usize>> = arguments.iter().map(address).collect();
        let addresses = addresses.ok_or_else(|| {
            Error::value("args", "a value", "memory alone", "give arrays of the routine's extents")
        })?;
        match self {
            Self::Fourier(plan) => plan.give(device, stream, &addresses),
            Self::Solver(call) => call.give(device, stream, &addresses),
        }
    }
}

/// Why a routine has no library.
fn missing(library: &Library, wheel: &str) -> Error {
    Error::unsupported(
        library.name,
        "not found",
        "the library that computes this on the device",
        format!(
            "{wheel}, or install the CUDA toolkit; or move the array to the host, with `.to_device(host)`"
        ),
    )
}

/// What a call that was refused reports; of a lost device, why that is.
fn failed(device: &Shared, refused: Refused, about: &str) -> Error {
    let Refused { call, code } = refused;
    if let Err(lost) = device.usable_to_look() {
        return lost;
    }
    match code {
        ABSENT => Error::unsupported(
            call,
            format!("absent from the library, for {about}"),
            "a library that has this function",
            "install the library of the CUDA that the driver is for",
        ),
        code => Error::runtime(
            call,
            format!("code {code}, for {about}"),
            "0",
            "the library's documentation of this function says more",
        ),
    }
}
