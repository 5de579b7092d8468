//! What the tests share: devices of the stub, a watchdog, and a count of what lives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use stridewise_core::{Device, Error};
use stridewise_cuda_stub::{Live, Stub};

/// After so long, something hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// The devices that the stub has now.
pub(crate) fn devices() -> Vec<Device> {
    // SAFETY: the stub's functions have the types of the driver's.
    let driver = unsafe { stridewise_cuda::driver_over(stridewise_cuda_stub::find) };
    driver.devices().into_iter().map(Device::from_backend).collect()
}

/// The stub's only device.
pub(crate) fn device() -> Device {
    let mut devices = devices();
    assert_eq!(devices.len(), 1);
    devices.remove(0)
}

/// Checks that what lives becomes what it was, and that nothing was misused. The backend's threads may be about to let go of something.
#[track_caller]
pub(crate) fn gone(stub: &Stub, before: Live, what: &str) {
    let start = Instant::now();
    while stub.live() != before && start.elapsed() < LIMIT / 4 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(stub.live(), before, "{what}");
    assert_eq!(stub.violations(), [""; 0], "{what}");
}

/// Runs a function; the process ends where it hangs.
pub(crate) fn watched<R>(what: &str, run: impl FnOnce() -> R) -> R {
    let (done, over) = channel::<()>();
    let text = what.to_owned();
    let watchdog = std::thread::spawn(move || {
        if over.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{text}: hangs");
            std::process::exit(101);
        }
    });
    let result = catch_unwind(AssertUnwindSafe(run));
    drop(done);
    watchdog.join().unwrap();
    result.unwrap_or_else(|panic| {
        eprintln!("{what}: panicked");
        std::panic::resume_unwind(panic)
    })
}

/// Whether an error is of a device's memory or of its driver, or inherited from one that is.
pub(crate) fn of_the_driver(error: &Error) -> bool {
    match error {
        Error::Alloc(_) | Error::Runtime(_) | Error::Compilation(_) | Error::Unsupported(_) => true,
        Error::Dependency(cause) => of_the_driver(cause),
        _ => false,
    }
}
