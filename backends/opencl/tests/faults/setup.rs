//! What the tests share: devices of the stub, a small program, a watchdog, and a count of what lives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use stridewise_core::backend::{QueueProperties, UsmSupport};
use stridewise_core::{Array, Device, Error, Event, Queue, Result, UsmKind};
use stridewise_opencl_stub::{Sort, Stub};

/// After so long, something hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Every tier of memory that the stub can have.
pub(crate) const TIERS: [&str; 4] = ["usm", "fine", "coarse", "buffers"];

/// Panics of the backend's own threads.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn panics() -> MutexGuard<'static, Vec<String>> {
    PANICS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stub, healthy, without a cache of kernels on disk.
pub(crate) fn stub() -> Stub {
    static HOOK: Once = Once::new();
    let stub = Stub::load().unwrap();
    cache("");
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let thread = std::thread::current();
            if thread.name().is_some_and(|name| name.starts_with("stridewise")) {
                panics().push(info.to_string());
            }
            before(info);
        }));
    });
    panics().clear();
    stub
}

/// Names the folder of the cache of kernels.
pub(crate) fn cache(folder: &str) {
    // SAFETY: called by the test whose turn it is (`stub`); no other thread of the process reads the environment then,
    // other than by Rust's functions, which take a lock.
    unsafe { std::env::set_var("STRIDEWISE_KERNEL_CACHE", folder) };
}

/// The devices that the stub has now.
pub(crate) fn devices() -> Vec<Device> {
    stridewise_opencl::driver().devices().into_iter().map(Device::from_backend).collect()
}

/// The stub's only device.
pub(crate) fn device() -> Device {
    let mut devices = devices();
    assert_eq!(devices.len(), 1);
    devices.remove(0)
}

/// Objects that live, by their sorts.
pub(crate) fn live(stub: &Stub) -> [(Sort, usize); 8] {
    Sort::ALL.map(|sort| (sort, stub.live(sort)))
}

/// Checks that nothing was misused and no thread of the backend has panicked.
#[track_caller]
pub(crate) fn healthy(stub: &Stub, what: &str) {
    assert_eq!(stub.violations(), [""; 0], "{what}");
    assert_eq!(*panics(), [""; 0], "{what}");
}

/// Checks that what lives becomes what it was. The backend's threads may be about to let go of something.
#[track_caller]
pub(crate) fn gone(stub: &Stub, before: [(Sort, usize); 8], what: &str) {
    let start = Instant::now();
    while live(stub) != before && start.elapsed() < LIMIT / 4 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(live(stub), before, "{what}");
    healthy(stub, what);
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

/// Whether an error is of a device's memory or of its runtime, or inherited from one that is.
pub(crate) fn of_the_runtime(error: &Error) -> bool {
    match error {
        Error::Alloc(_) | Error::Runtime(_) => true,
        Error::Dependency(cause) => of_the_runtime(cause),
        _ => false,
    }
}

/// Numbers.
pub(crate) fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32).collect()
}

/// An array in device memory that is there.
pub(crate) fn array(queue: &Queue, len: usize) -> Array<f32> {
    Array::<f32>::on(queue).from_slice([len], &numbers(len)).unwrap()
}

/// Copies bytes.
pub(crate) fn copy(to: &Array<f32>, from: &Array<f32>) -> Result<Event> {
    to.queue().memcpy((&to.usm_data()?, 0), (&from.usm_data()?, 0), 4 * to.len(), &[])
}

/// A bit of everything on a queue: copies, fills, kernels of one and of several stages, memory of every kind that there
/// is, host views, host tasks, barriers.
pub(crate) fn program(queue: &Queue) -> Result<()> {
    let data = numbers(1000);
    let a = Array::<f32>::on(queue).kind(UsmKind::Device).from_slice([1000], &data)?;
    let b = Array::<f32>::on(queue).kind(UsmKind::Device).zeros([1000])?;
    let mut c = a.try_add(&b)?;
    let kernel = c.event()?;
    let task = queue.submit_host_task(|| Ok(()), &[kernel])?;
    queue.submit_barrier(&[task])?.wait()?;
    c.to_vec()?;
    copy(&b, &a)?.wait()?;
    if b.to_vec()? != data {
        return Err(Error::value("b", "something else", "a copy of a", "find out why"));
    }
    // Kernels of several stages, with scratch memory.
    let long = Array::<f32>::on(queue).kind(UsmKind::Device).ones([1 << 17])?;
    long.sum()?;
    a.sort(-1, false)?.wait()?;
    for kind in [UsmKind::Shared, UsmKind::Host] {
        if queue.device().info().usm(kind) == UsmSupport::Absent {
            continue;
        }
        let mut d = Array::<f32>::on(queue).kind(kind).from_slice([1000], &data)?;
        if let Some(x) = d.view_mut()?.get_mut(&[3]) {
            *x = 5.0;
        }
        let e = d.try_add(&d)?;
        e.wait()?;
        copy(&b, &d)?;
        if b.to_vec()?[3] != 5.0 || d.view()?[[3]] != 5.0 {
            return Err(Error::value("d", "something else", "what was written", "find out why"));
        }
    }
    // Nothing waits for this but the queue.
    c.assign(&a)?;
    a.try_add(&c)?.event()?;
    queue.wait()
}

/// The program on queues of two sorts of a new device, if there is one.
pub(crate) fn run() -> Result<()> {
    let Some(device) = devices().into_iter().next() else { return Ok(()) };
    let run = |in_order, profiling| {
        let queue = Queue::new(&device, QueueProperties { in_order, profiling })?;
        program(&queue)
    };
    let first = run(false, false);
    first.and(run(true, true))
}
