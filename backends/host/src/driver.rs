//! The list of host devices.

use std::sync::{Arc, OnceLock};

use rayon::ThreadPool;
use stridewise_core::backend::{
    Capabilities, Device, DeviceInfo, DeviceType, Driver, Finding, LaunchPlan, Partition, Queue,
    QueueProperties, RawAllocation, SignalHandle, Support,
};
use stridewise_core::kernel::{Kernel, LaunchOptions};
use stridewise_core::memory::UsmKind;
use stridewise_core::{Error, Result};

use crate::device::HostDevice;
use crate::simd::Isa;
use crate::threads::{MAX_THREADS, available_threads, default_threads};
use crate::{DRIVER, diagnosis};

/// The host driver: the processor at its best instruction set level, then once per level that it has, as variants
/// (`host:scalar`, `host:avx2`, …).
#[must_use]
pub fn driver() -> Arc<dyn Driver> {
    Arc::new(HostDriver { devices: OnceLock::new() })
}

/// A device of the host apart from the driver's list: at an instruction set level (the best one for `None`) and with a
/// number of worker threads, which may exceed the number of processors.
///
/// # Errors
/// [`Error::DeviceSelection`] for a level that the processor lacks, [`Error::Value`] for no threads or too many.
pub fn device_with(isa: Option<&str>, threads: usize) -> Result<Arc<dyn Device>> {
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(Error::value(
            "threads",
            threads,
            format!("1 to {MAX_THREADS} worker threads"),
            "use the number of cores, as the driver's own devices do",
        ));
    }
    let Some(name) = isa else {
        return Ok(Arc::new(HostDevice::root(Isa::best(), None, threads, None)));
    };
    match Isa::available().iter().find(|level| level.name() == name) {
        Some(&level) => Ok(Arc::new(HostDevice::root(level, Some(level.name()), threads, None))),
        None => Err(Error::device_selection(
            "isa",
            format!("{name:?}"),
            "an instruction set level of this processor",
            format!(
                "use one of: {}",
                Isa::available().iter().map(|l| l.name()).collect::<Vec<_>>().join(", ")
            ),
        )),
    }
}

/// A device of the host whose threads are those of a pool of rayon's that the program has, as many as that has, so that
/// there is one set of threads. Work that is submitted becomes jobs of the pool, each of about a millisecond at most; threads
/// of the pool that wait for an event of the device run what it needs, but never jobs of others.
///
/// A thread that handed its work over wakes a sleeping one of rayon's for that, which takes longer than to wake the engine's
/// own (`docs/decisions/workers-are-plain-threads.md` has figures).
#[must_use]
pub fn device_on(pool: &Arc<ThreadPool>) -> Arc<dyn Device> {
    let threads = pool.current_num_threads();
    Arc::new(HostDevice::root(Isa::best(), None, threads, Some(Arc::clone(pool))))
}

struct HostDriver {
    // Made once, so that every listing shares the pools.
    devices: OnceLock<Vec<Arc<dyn Device>>>,
}

impl Driver for HostDriver {
    fn name(&self) -> &'static str {
        DRIVER
    }

    fn interface(&self) -> u32 {
        1
    }

    fn may_have(&self, device_type: DeviceType) -> bool {
        device_type == DeviceType::Cpu
    }

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        self.devices
            .get_or_init(|| {
                let threads = default_threads();
                let device = |level: Isa, variant| -> Arc<dyn Device> {
                    match &threads {
                        Ok(threads) => Arc::new(HostDevice::root(level, variant, *threads, None)),
                        Err(why) => Arc::new(Refused {
                            device: HostDevice::root(level, variant, available_threads(), None),
                            why: why.clone(),
                        }),
                    }
                };
                let variants = Isa::available().iter().map(|&level| device(level, Some(level.name())));
                std::iter::once(device(Isa::best(), None)).chain(variants).collect()
            })
            .clone()
    }

    fn diagnose(&self) -> Vec<Finding> {
        diagnosis::findings()
    }
}

/// A device of the host that cannot be used, because the environment asks of it what cannot be. It is listed, and whoever
/// is about to use it is told why.
struct Refused {
    device: HostDevice,
    why: Error,
}

impl Device for Refused {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }
    fn capabilities(&self) -> &Capabilities {
        self.device.capabilities()
    }
    fn supports(&self, _plan: &LaunchPlan) -> Support {
        Support::No(self.why.to_string())
    }
    fn supports_kernel(&self, _: &Kernel, _: LaunchOptions) -> Support {
        Support::No(self.why.to_string())
    }
    fn alloc(&self, _kind: UsmKind, _bytes: usize, _align: usize) -> Result<RawAllocation> {
        Err(self.why.clone())
    }
    unsafe fn free(&self, _memory: RawAllocation) {
        // There is none.
    }
    fn create_queue(&self, _properties: QueueProperties) -> Result<Arc<dyn Queue>> {
        Err(self.why.clone())
    }
    fn sub_devices(&self, _partition: &Partition) -> Result<Vec<Arc<dyn Device>>> {
        Err(self.why.clone())
    }
    fn signal(&self) -> Result<SignalHandle> {
        Err(self.why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_a_device_after_the_best_one() {
        let devices = driver().devices();
        assert_eq!(devices.len(), 1 + Isa::available().len());
        assert_eq!(devices[0].info().variant, None);
        assert_eq!(devices[0].info().isa, Isa::best().name());
        for (device, level) in devices[1..].iter().zip(Isa::available()) {
            assert_eq!(device.info().variant, Some(level.name()));
            assert_eq!(device.info().isa, level.name());
        }
    }

    #[test]
    fn unknown_levels_and_thread_counts_are_refused() {
        assert!(matches!(device_with(Some("mmx"), 1), Err(Error::DeviceSelection(_))));
        assert!(matches!(device_with(None, 0), Err(Error::Value(_))));
    }
}
