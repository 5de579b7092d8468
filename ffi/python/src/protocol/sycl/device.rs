//! The host, working in the memory of a queue of SYCL.
//!
//! A queue of SYCL on a processor has its memory in this process, of every kind. The engine's host device can so work on
//! such memory in place. What it works on must be allocated through that queue, for others take a pointer only of their
//! own context; and it must begin behind whatever the queue was given before. Both is what the device and queue here add
//! to those of the host, one device and one queue of ours per queue of SYCL: `host:sycl`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use stridewise::backend::{
    self, Capabilities, Command, DeviceInfo, LaunchPlan, Partition, QueueProperties, RawAllocation,
    SignalHandle, Submitted, Support, Wait,
};
use stridewise::kernel::{Kernel, LaunchOptions};
use stridewise::{Device, Dtype, Error, Op, Queue, Result, UsmKind, UsmPtr, WeakDevice, each_device};

use super::library::{self, SyclQueue};

/// The name that stands in place of the type in filter strings.
const VARIANT: &str = "sycl";

/// The host's device with memory of a queue of SYCL.
pub(super) struct SyclDevice {
    host: Arc<dyn backend::Device>,
    info: DeviceInfo,
    capabilities: Capabilities,
    pub(super) queue: Arc<SyclQueue>,
    /// The queues of ours on this device.
    behind: Mutex<Vec<Weak<Behind>>>,
}

/// The devices that are in use.
static DEVICES: Mutex<Vec<(Weak<SyclDevice>, WeakDevice)>> = Mutex::new(Vec::new());

/// Our queue for one of SYCL: the same one as long as anything uses it.
///
/// # Errors
/// [`Error::DeviceSelection`] where there is no host device.
pub(super) fn queue_for(queue: SyclQueue) -> Result<Queue> {
    let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    devices.retain(|(sycl, _)| sycl.strong_count() > 0);
    let found = devices.iter().find_map(|(sycl, device)| {
        let sycl = sycl.upgrade().filter(|sycl| sycl.queue.is(&queue));
        sycl.and(device.upgrade())
    });
    let device = match found {
        Some(device) => device,
        None => {
            let sycl = Arc::new(SyclDevice::new(queue)?);
            let device = Device::from_backend(Arc::clone(&sycl) as Arc<dyn backend::Device>);
            devices.push((Arc::downgrade(&sycl), device.downgrade()));
            device
        }
    };
    drop(devices);
    device.queue()
}

/// Waits for the work in memory of SYCL, and ends the use of SYCL: the interpreter is about to end, and memory of SYCL is
/// not there any more after it.
#[pyfunction]
pub(super) fn end(py: Python<'_>) {
    py.detach(|| {
        let devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        let held: Vec<_> = devices.iter().filter_map(|(sycl, _)| sycl.upgrade()).collect();
        drop(devices);
        for sycl in &held {
            let queues: Vec<_> = {
                let behind = sycl.behind.lock().unwrap_or_else(PoisonError::into_inner);
                behind.iter().filter_map(Weak::upgrade).collect()
            };
            for queue in queues {
                // Nobody is there any more to be told of a failure.
                let _ = queue.host.finish();
            }
        }
        library::close();
    });
}

/// The queue of SYCL whose memory a device works in.
pub(super) fn queue_of(device: &Device) -> Option<Arc<SyclQueue>> {
    if device.info().variant != Some(VARIANT) {
        return None;
    }
    let devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    let found = devices.iter().find(|(_, other)| other.upgrade().as_ref() == Some(device));
    found.and_then(|(sycl, _)| Some(Arc::clone(&sycl.upgrade()?.queue)))
}

impl SyclDevice {
    fn new(queue: SyclQueue) -> Result<Self> {
        let host = each_device().find(|device| device.capabilities().process_memory);
        let Some(host) = host else {
            return Err(Error::device_selection(
                "syclobj",
                "a queue of SYCL, without a host device",
                "a host device, which works in its memory",
                "use the `stridewise` crate, which brings the host backend",
            ));
        };
        let mut info = host.info().clone();
        info.name = format!("{}, in memory of SYCL", info.name);
        info.variant = Some(VARIANT);
        let mut capabilities = host.capabilities().clone();
        // Work goes through queues, which wait for those of SYCL.
        capabilities.immediate = false;
        capabilities.most_stages = 1;
        let host = Arc::clone(host.backend());
        Ok(Self { host, info, capabilities, queue: Arc::new(queue), behind: Mutex::default() })
    }
}

impl backend::Device for SyclDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }
    fn supports(&self, plan: &LaunchPlan) -> Support {
        self.host.supports(plan)
    }
    fn supports_kernel(&self, kernel: &Kernel, options: LaunchOptions) -> Support {
        self.host.supports_kernel(kernel, options)
    }
    fn error_bound(&self, op: Op, dtype: Dtype) -> Option<f64> {
        self.host.error_bound(op, dtype)
    }
    fn alloc(&self, kind: UsmKind, bytes: usize, align: usize) -> Result<RawAllocation> {
        let ptr = self.queue.alloc(kind, bytes, align).ok_or_else(|| {
            Error::alloc(
                "bytes",
                format!("{bytes} bytes of {kind} memory through a queue of SYCL"),
                "memory of that kind, and so much of it",
                "use a device of SYCL that has such memory, or work on the data in parts",
            )
        })?;
        Ok(RawAllocation { ptr, bytes, kind })
    }
    unsafe fn free(&self, memory: RawAllocation) {
        // SAFETY: the caller's promise: from `alloc`, not freed, and no command touches it.
        unsafe { self.queue.free(memory.ptr) }
    }
    unsafe fn map(&self, _ptr: UsmPtr, _bytes: usize, _write: bool) -> Result<()> {
        // The host reaches the memory anyway, but behind what the queue was given.
        self.queue.wait();
        Ok(())
    }
    fn create_queue(&self, properties: QueueProperties) -> Result<Arc<dyn backend::Queue>> {
        let host = self.host.create_queue(properties)?;
        let made = Arc::new(Behind { host, queue: Arc::clone(&self.queue) });
        let mut behind = self.behind.lock().unwrap_or_else(PoisonError::into_inner);
        behind.retain(|queue| queue.strong_count() > 0);
        behind.push(Arc::downgrade(&made));
        Ok(made)
    }
    fn sub_devices(&self, partition: &Partition) -> Result<Vec<Arc<dyn backend::Device>>> {
        Err(Error::device_selection(
            "partition",
            format!("{partition:?} of the memory of a queue of SYCL"),
            "a device of this engine",
            "divide the device \"host\"",
        ))
    }
    fn signal(&self) -> Result<SignalHandle> {
        self.host.signal()
    }
}

/// A queue of the host behind one of SYCL.
struct Behind {
    host: Arc<dyn backend::Queue>,
    queue: Arc<SyclQueue>,
}

impl backend::Queue for Behind {
    unsafe fn submit(&self, command: Command, waits: &[Wait]) -> Result<Submitted> {
        let touches_memory = !matches!(command, Command::HostTask(_));
        // SAFETY: the caller's promise is the same; memory of SYCL on a processor is memory of this process.
        let Submitted { event, rest, .. } = unsafe { self.host.submit(command, waits) }?;
        let queue = Arc::clone(&self.queue);
        Ok(Submitted::with_rest(event, move || {
            if touches_memory {
                // What the queue was given before may use the same memory; events of SYCL mean nothing to the host's queue, which
                // begins nothing before this.
                queue.wait();
            }
            if let Some(rest) = rest {
                rest();
            }
        }))
    }
    fn flush(&self) -> Result<()> {
        // Another queue that is to copy this one's memory asks for this first.
        self.queue.wait();
        self.host.flush()
    }
    fn finish(&self) -> Result<()> {
        self.host.finish()
    }
}
