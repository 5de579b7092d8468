//! The list of host devices.

use std::sync::{Arc, OnceLock};

use rayon::ThreadPool;
use stridewise_core::backend::{Device, Driver};
use stridewise_core::{Error, Result};

use crate::DRIVER;
use crate::device::HostDevice;
use crate::simd::Isa;

/// Sets the number of worker threads of every host device.
const THREADS_VARIABLE: &str = "STRIDEWISE_NUM_THREADS";
/// More threads than this are taken for a typing error.
const MAX_THREADS: usize = 4096;

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
/// own (`ARCHITECTURE.md` has figures).
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

    fn devices(&self) -> Vec<Arc<dyn Device>> {
        self.devices
            .get_or_init(|| {
                let threads = default_threads();
                let best: Arc<dyn Device> = Arc::new(HostDevice::root(Isa::best(), None, threads, None));
                let variants = Isa::available().iter().map(|&level| {
                    Arc::new(HostDevice::root(level, Some(level.name()), threads, None)) as Arc<dyn Device>
                });
                std::iter::once(best).chain(variants).collect()
            })
            .clone()
    }
}

/// The variable's number, or what the process may use of the machine (`available_parallelism` honours the affinity
/// mask and the quota of control groups).
fn default_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let Some(text) = std::env::var_os(THREADS_VARIABLE) else {
            return available;
        };
        parse_threads(&text.to_string_lossy()).unwrap_or_else(|| {
            eprintln!(
                "stridewise: `{THREADS_VARIABLE}` is {text:?}; expected a number from 1 to {MAX_THREADS}; \
                 ignored, {available} threads are used"
            );
            available
        })
    })
}

fn parse_threads(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|n| (1..=MAX_THREADS).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbers_in_range() {
        assert_eq!(parse_threads(" 8 "), Some(8));
        for bad in ["", "0", "-1", "many", "1.5", "5000"] {
            assert_eq!(parse_threads(bad), None, "{bad:?}");
        }
    }

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
