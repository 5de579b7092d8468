//! Routines of libraries on devices that have them ([`Routine`]): where an array stays while it is decomposed or transformed.

use stridewise_core::backend::{Language, Routine, Source};
use stridewise_core::kernel::{KernelBundle, SourceArgument};
use stridewise_core::{Error, Result, UsmArray};

/// Whether an array is on a device with routines of its own, which is no processor.
pub(crate) fn has_routines(x: &UsmArray) -> bool {
    let capabilities = x.device().capabilities();
    !capabilities.on_processor && capabilities.languages.contains(&Language::ROUTINES)
}

/// What the device computes; `None` where the processor is to: the array is the processor's, or the device has no library for it and
/// the processor reaches the array.
pub(crate) fn on_device<R>(x: &UsmArray, compute: impl FnOnce() -> Result<R>) -> Option<Result<R>> {
    if !has_routines(x) || x.is_empty() {
        return None;
    }
    match compute() {
        Err(Error::Unsupported(_)) if x.usm_kind().host_accessible() => None,
        outcome => Some(outcome),
    }
}

/// An argument that a routine only reads.
pub(crate) fn read(array: &UsmArray) -> SourceArgument<'_> {
    SourceArgument::Array { array, read_only: true }
}

/// Has the device of the arguments compute a routine.
///
/// # Errors
/// [`Error::Unsupported`] where it has no library for it; what that reports.
pub(crate) fn run(of: &UsmArray, routine: Routine, arguments: &[SourceArgument<'_>]) -> Result<()> {
    let text = routine.to_string();
    let bundle = KernelBundle::compile(of.queue(), Source::new(Language::ROUTINES, text.as_bytes()), "")?;
    bundle.kernel("run")?.call(of.queue(), arguments, &[])?;
    Ok(())
}
