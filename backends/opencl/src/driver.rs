//! The driver: every device of every OpenCL platform that the machine has.

use std::sync::{Arc, Mutex, PoisonError};

use opencl3::device::{self, CL_DEVICE_TYPE_ALL, get_device_ids};
use opencl3::platform::platform::get_platform_ids;
use stridewise_core::backend::{Device, DeviceType, Driver, Finding};

use crate::device::{OpenClDevice, Platform};
use crate::handle::home;
use crate::{DRIVER, diagnosis};

/// Compiled kernels that a device keeps in memory.
///
/// More than a program has that repeats its work, with room to spare; and a bound for one that always has new work. A
/// kernel takes 1.8 to 3.1 MB in Intel's runtime for processors (so all of them 0.9 to 1.6 GB, which is the most of any
/// runtime) and 0.2 MB in PoCL; to have one again that had to go costs 3 ms with its binary on the disk, and 50 ms
/// without.
const KERNELS: usize = 512;

struct OpenClDriver {
    /// Compiled kernels that each device keeps.
    kernels: usize,
    /// Devices that were left out of the last list, and why.
    refused: Mutex<Vec<Finding>>,
}

/// The driver.
#[must_use]
pub fn driver() -> Arc<dyn Driver> {
    driver_keeping(KERNELS)
}

/// The driver, of which every device keeps so many compiled kernels in memory, those that were used last; one at least.
/// What it does not keep is taken from the disk again, or compiled again.
#[must_use]
pub fn driver_keeping(kernels: usize) -> Arc<dyn Driver> {
    Arc::new(OpenClDriver { kernels, refused: Mutex::default() })
}

impl Driver for OpenClDriver {
    fn name(&self) -> &'static str {
        DRIVER
    }

    fn interface(&self) -> u32 {
        1
    }

    /// A GPU without any file by which a process reaches one is none; where the environment names loaders or drivers, they are asked.
    fn may_have(&self, device_type: DeviceType) -> bool {
        device_type != DeviceType::Gpu || diagnosis::may_have_gpu()
    }

    /// Without a loader or an installable client driver there is no device, and nothing is wrong. A device that cannot be
    /// opened is left out: it could do nothing; as are all in a process that was forked from one that had loaded a runtime.
    fn devices(&self) -> Vec<Arc<dyn Device>> {
        let mut devices: Vec<Arc<dyn Device>> = Vec::new();
        let mut refused = Vec::new();
        if let Err(error) = home().check() {
            *self.refused.lock().unwrap_or_else(PoisonError::into_inner) =
                vec![Finding::of_error("process", &error)];
            return devices;
        }
        for platform in get_platform_ids().unwrap_or_default() {
            for id in get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default() {
                match OpenClDevice::open(Platform(platform), device::Device::new(id), None, self.kernels) {
                    Ok(device) => devices.push(Arc::new(device)),
                    Err(error) => {
                        let name = device::Device::new(id).name().unwrap_or_else(|_| "device".to_owned());
                        refused.push(Finding::of_error(format!("refused: {name}"), &error));
                    }
                }
            }
        }
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = refused;
        devices
    }

    fn diagnose(&self) -> Vec<Finding> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // What is looked at calls the runtime, which a forked process must not do.
        if home().is_here() { diagnosis::findings(refused) } else { refused }
    }
}
