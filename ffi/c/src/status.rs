//! How a call went: the status it returns, and the text that it leaves.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use stridewise::Error;

use crate::caller::Caller;

/// How a call went.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum sw_status {
    /// Done, or submitted.
    SW_OK = 0,
    /// A handle is null, freed, of another type or none at all.
    SW_ERROR_HANDLE = 1,
    /// A value is outside what an argument accepts; a pointer is null.
    SW_ERROR_VALUE = 2,
    /// Shapes do not fit each other or their argument.
    SW_ERROR_SHAPE = 3,
    /// An axis or the number of dimensions is out of range.
    SW_ERROR_AXIS = 4,
    /// An index, range, stride or offset reaches outside its array or allocation.
    SW_ERROR_OUT_OF_BOUNDS = 5,
    /// Arithmetic on sizes, strides or offsets does not fit the machine.
    SW_ERROR_OVERFLOW = 6,
    /// A dtype is unknown, not supported by the operation or unable to hold the result.
    SW_ERROR_DTYPE = 7,
    /// Memory could not be allocated.
    SW_ERROR_ALLOC = 8,
    /// The host asked for memory that it may not touch.
    SW_ERROR_HOST_ACCESS = 9,
    /// Memory is lent, or an array is read-only.
    SW_ERROR_BORROW = 10,
    /// No device answers to a filter string.
    SW_ERROR_DEVICE_SELECTION = 11,
    /// A device, queue or protocol cannot do what was asked.
    SW_ERROR_UNSUPPORTED = 12,
    /// A task failed.
    SW_ERROR_TASK = 13,
    /// The runtime of a device reported an error.
    SW_ERROR_RUNTIME = 14,
    /// Reading or writing a file failed.
    SW_ERROR_IO = 15,
    /// Operands are on different queues.
    SW_ERROR_EXECUTION_PLACEMENT = 16,
    /// Something that the work depends on failed; nothing was executed.
    SW_ERROR_DEPENDENCY = 17,
    /// An error that this version of the interface has no name for.
    SW_ERROR_OTHER = 18,
    /// The library itself failed; please report it.
    SW_ERROR_PANIC = 19,
    /// A kernel breaks a rule.
    SW_ERROR_KERNEL = 20,
    /// A source of kernels does not compile.
    SW_ERROR_COMPILATION = 21,
    /// A matrix cannot be decomposed: it is singular or not positive definite, or an iteration does not converge.
    SW_ERROR_DECOMPOSITION = 22,
}

/// What a call can fail with.
#[derive(Debug)]
pub enum Failure {
    /// A handle is not what it should be.
    Handle(String),
    /// The engine refuses.
    Engine(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl Failure {
    fn status(&self) -> sw_status {
        match self {
            Self::Handle(_) => sw_status::SW_ERROR_HANDLE,
            Self::Engine(error) => match error {
                Error::Value(_) => sw_status::SW_ERROR_VALUE,
                Error::Shape(_) => sw_status::SW_ERROR_SHAPE,
                Error::Axis(_) => sw_status::SW_ERROR_AXIS,
                Error::OutOfBounds(_) => sw_status::SW_ERROR_OUT_OF_BOUNDS,
                Error::Overflow(_) => sw_status::SW_ERROR_OVERFLOW,
                Error::Dtype(_) => sw_status::SW_ERROR_DTYPE,
                Error::Alloc(_) => sw_status::SW_ERROR_ALLOC,
                Error::HostAccess(_) => sw_status::SW_ERROR_HOST_ACCESS,
                Error::Borrow(_) => sw_status::SW_ERROR_BORROW,
                Error::DeviceSelection(_) => sw_status::SW_ERROR_DEVICE_SELECTION,
                Error::Unsupported(_) => sw_status::SW_ERROR_UNSUPPORTED,
                Error::Task(_) => sw_status::SW_ERROR_TASK,
                Error::Runtime(_) => sw_status::SW_ERROR_RUNTIME,
                Error::Decomposition(_) => sw_status::SW_ERROR_DECOMPOSITION,
                Error::Io(_) => sw_status::SW_ERROR_IO,
                Error::Kernel(_) => sw_status::SW_ERROR_KERNEL,
                Error::Compilation(_) => sw_status::SW_ERROR_COMPILATION,
                Error::ExecutionPlacement(_) => sw_status::SW_ERROR_EXECUTION_PLACEMENT,
                Error::Dependency(_) => sw_status::SW_ERROR_DEPENDENCY,
                _ => sw_status::SW_ERROR_OTHER,
            },
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Handle(text) => text.clone(),
            Self::Engine(error) => error.to_string(),
        }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

fn leave(text: String) {
    let text = CString::new(text.replace('\0', "\\0")).unwrap_or_default();
    // A thread that is ending has nobody left to read it.
    let _ = LAST.try_with(|last| last.replace(text));
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Runs a function of the interface: failures and panics become a status and a text.
///
/// # Safety
/// The pointers that are given to the body's [`Caller`] keep the contract of this crate.
pub(crate) unsafe fn entry(body: impl FnOnce(&Caller) -> Result<(), Failure>) -> sw_status {
    // SAFETY: the contract is the caller's, word for word.
    let caller = unsafe { Caller::trusted() };
    match catch_unwind(AssertUnwindSafe(|| body(&caller))) {
        Ok(Ok(())) => sw_status::SW_OK,
        Ok(Err(failure)) => {
            leave(failure.text());
            failure.status()
        }
        Err(payload) => {
            leave(format!("the library failed, please report it: {}", panic_text(&*payload)));
            sw_status::SW_ERROR_PANIC
        }
    }
}

/// What the last failed call of this thread complains about, how, and how to mend it; empty where none has failed. Valid
/// until the next failing call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn sw_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The name of a status, such as "SW_ERROR_SHAPE"; "unknown" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn sw_status_name(status: i32) -> *const c_char {
    let known = STATUSES.iter().find(|(known, _)| *known as i32 == status);
    known.map_or(c"unknown", |(_, name)| *name).as_ptr()
}

/// The version of the library, such as "0.1.0". A header of another version before the last dot does not fit.
#[unsafe(no_mangle)]
pub extern "C" fn sw_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

macro_rules! names {
    ($($status:ident)*) => {
        const STATUSES: &[(sw_status, &CStr)] = &[$((
            sw_status::$status,
            match CStr::from_bytes_with_nul(concat!(stringify!($status), "\0").as_bytes()) {
                Ok(text) => text,
                Err(_) => c"",
            },
        )),*];
    };
}
names! {
    SW_OK SW_ERROR_HANDLE SW_ERROR_VALUE SW_ERROR_SHAPE SW_ERROR_AXIS SW_ERROR_OUT_OF_BOUNDS SW_ERROR_OVERFLOW
    SW_ERROR_DTYPE SW_ERROR_ALLOC SW_ERROR_HOST_ACCESS SW_ERROR_BORROW SW_ERROR_DEVICE_SELECTION SW_ERROR_UNSUPPORTED
    SW_ERROR_TASK SW_ERROR_RUNTIME SW_ERROR_IO SW_ERROR_EXECUTION_PLACEMENT SW_ERROR_DEPENDENCY SW_ERROR_OTHER
    SW_ERROR_PANIC SW_ERROR_KERNEL SW_ERROR_COMPILATION SW_ERROR_DECOMPOSITION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_status_and_a_text() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        // SAFETY: no pointer is given.
        let status = unsafe { entry(|_| panic!("for the test, {}", 7)) };
        std::panic::set_hook(quiet);
        assert_eq!(status, sw_status::SW_ERROR_PANIC);
        // SAFETY: the text of this thread's last failure, read at once.
        let text = unsafe { CStr::from_ptr(sw_last_error()) };
        assert!(text.to_str().unwrap().contains("for the test, 7"));
    }

    #[test]
    fn kernels_that_are_refused_have_statuses_of_their_own() {
        let error = Error::compilation("source", "a text", "one that compiles", "see the log");
        assert_eq!(Failure::from(error).status(), sw_status::SW_ERROR_COMPILATION);
        let mut k = stridewise::kernel::KernelBuilder::new("k", 1).unwrap();
        // Nothing to end.
        let broken = k.end().unwrap_err();
        assert!(matches!(broken, Error::Kernel(_)), "{broken}");
        assert_eq!(Failure::from(broken).status(), sw_status::SW_ERROR_KERNEL);
    }

    #[test]
    fn every_status_has_its_name() {
        for (number, (status, _)) in STATUSES.iter().enumerate() {
            assert_eq!(*status as usize, number);
        }
        // SAFETY: a constant text.
        assert_eq!(unsafe { CStr::from_ptr(sw_status_name(3)) }, c"SW_ERROR_SHAPE");
        // SAFETY: as above.
        assert_eq!(unsafe { CStr::from_ptr(sw_status_name(-1)) }, c"unknown");
    }
}
