//! Where a scenario runs: a device of its own, and what must be left of it in the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stridewise::backend::{self, QueueProperties};
use stridewise::{Device, Element, Error, Queue, Result, UsmArray, UsmKind};
use stridewise_opencl_stub::{Sort, Stub};

use crate::allocator::spared;

/// Threads of a host device: enough for every form of every kernel.
const THREADS: usize = 4;
/// After so long, what was to end by itself never does.
const LIMIT: Duration = Duration::from_secs(60);
/// Elements of the array that lasts.
pub(crate) const LASTING: usize = 100_000;

/// A device and a queue. The device is nobody else's.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    /// Whether what kernels compute is right: the stub's compute nothing.
    pub(crate) computes: bool,
    /// An array that is there before anything fails and afterwards, on the host.
    pub(crate) lasting: Option<UsmArray>,
}

impl Bench {
    /// On the host, with threads of its own.
    pub(crate) fn host() -> Self {
        let mut bench = Self::other_host().unwrap();
        bench.lasting = Some(bench.array_in(UsmKind::Shared, &[LASTING], |i| i as f32).unwrap());
        bench
    }

    /// One more on the host, for a scenario of two.
    pub(crate) fn other_host() -> Result<Self> {
        let device = device(stridewise_host::device_with(None, THREADS)?);
        let queue = Queue::new(&device, QueueProperties::default())?;
        Ok(Self { device, queue, computes: true, lasting: None })
    }

    /// On the stub of an OpenCL runtime; `None` where the runtime fails before there is a queue.
    pub(crate) fn opencl() -> Option<Self> {
        let device = device(stridewise_opencl::driver().devices().into_iter().next()?);
        let queue = Queue::new(&device, QueueProperties::default()).ok()?;
        Some(Self { device, queue, computes: false, lasting: None })
    }

    /// An array of some numbers, in memory of a kind.
    pub(crate) fn array_in<T: Element>(
        &self,
        kind: UsmKind,
        shape: &[usize],
        number: impl Fn(usize) -> T,
    ) -> Result<UsmArray> {
        let data: Vec<T> = spared(|| (0..shape.iter().product()).map(number).collect());
        UsmArray::from_slice(&self.queue, shape, &data, kind)
    }

    /// An array of some numbers, in device memory.
    pub(crate) fn array<T: Element>(&self, shape: &[usize], number: impl Fn(usize) -> T) -> Result<UsmArray> {
        self.array_in(UsmKind::Device, shape, number)
    }

    /// Checks the elements of an array.
    #[track_caller]
    pub(crate) fn expect<T: Element>(&self, array: &UsmArray, number: impl Fn(usize) -> T) -> Result<()> {
        let found = array.to_vec::<T>()?;
        self.agree(&found, number);
        Ok(())
    }

    /// Checks elements, where something computes.
    #[track_caller]
    pub(crate) fn agree<T: Element>(&self, found: &[T], number: impl Fn(usize) -> T) {
        if self.computes {
            for (i, &found) in found.iter().enumerate() {
                assert_eq!(found, number(i), "element {i}");
            }
        }
    }

    /// Checks anything else, where something computes.
    #[track_caller]
    pub(crate) fn check(&self, holds: bool, what: &str) {
        assert!(holds || !self.computes, "{what}");
    }

    /// Checks that nothing is under way on the array that lasts and nobody has borrowed it, and makes its elements what they
    /// were.
    pub(crate) fn restore(&mut self) -> Result<()> {
        let Some(array) = &mut self.lasting else { return Ok(()) };
        let mut next = 0.0;
        array.host_view_mut::<f32>()?.for_each_mut(|x| {
            *x = next;
            next += 1.0;
        });
        Ok(())
    }

    /// Ends the device, and waits until all of it is gone: memory, and whoever has a reference to it. What comes last goes by
    /// itself, on the device's own threads.
    pub(crate) fn end(self, stub: Option<(&Stub, Live)>) -> Result<(), String> {
        let Self { device, queue, lasting, .. } = self;
        let waited = queue.wait();
        drop((queue, lasting));
        until(|| device.pool_statistics().live_bytes == 0).map_err(|()| {
            format!("{:?} are live after a wait that gave {waited:?}", device.pool_statistics())
        })?;
        device.trim_pool(0);
        let left = device.pool_statistics();
        if (left.reserved_bytes, left.cached_bytes) != (0, 0) {
            return Err(format!("the pool kept memory: {left:?}"));
        }
        let weak = device.downgrade();
        drop(device);
        until(|| weak.upgrade().is_none()).map_err(|()| "somebody keeps the device".to_owned())?;
        if let Some((stub, before)) = stub {
            until(|| live(stub) == before)
                .map_err(|()| format!("live objects of the runtime: {:?}, before {before:?}", live(stub)))?;
            let violations = stub.violations();
            if !violations.is_empty() {
                return Err(format!("the runtime was misused: {violations:?}"));
            }
        }
        Ok(())
    }
}

/// A device, whose table of functions is large, but the same for all.
fn device(backend: Arc<dyn backend::Device>) -> Device {
    spared(|| Device::from_backend(backend))
}

/// Objects of a runtime that live.
pub(crate) type Live = [(Sort, usize); 8];

/// Those of the stub.
pub(crate) fn live(stub: &Stub) -> Live {
    Sort::ALL.map(|sort| (sort, stub.live(sort)))
}

/// Waits for what happens by itself.
pub(crate) fn until(condition: impl Fn() -> bool) -> Result<(), ()> {
    let begin = Instant::now();
    while !condition() {
        if begin.elapsed() > LIMIT {
            return Err(());
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    Ok(())
}

/// Whether an error is one that a failure on command may end in: of memory, of a thread, of a runtime, or inherited from
/// such a one. A panic in the engine is none.
pub(crate) fn is_of_a_fault(error: &Error) -> bool {
    let text = error.to_string();
    match error {
        Error::Alloc(_) | Error::Runtime(_) => true,
        Error::Unsupported(_) | Error::Task(_) => text.contains("thread") && !text.contains("a panic"),
        Error::Dependency(cause) => is_of_a_fault(cause),
        _ => false,
    }
}
