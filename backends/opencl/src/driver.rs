//! The driver: every device of every OpenCL platform that the machine has.

use std::sync::Arc;

use opencl3::device::{self, CL_DEVICE_TYPE_ALL, get_device_ids};
use opencl3::platform::platform::get_platform_ids;
use stridewise_core::backend::{Device, Driver};

use crate::DRIVER;
use crate::device::{OpenClDevice, Platform};

struct OpenClDriver;

/// The driver.
#[must_use]
pub fn driver() -> Arc<dyn Driver> {
    Arc::new(OpenClDriver)
}

impl Driver for OpenClDriver {
    fn name(&self) -> &'static str {
        DRIVER
    }

    /// Without a loader or an installable client driver there is no device, and nothing is wrong. A device that cannot be
    /// opened is left out: it could do nothing.
    fn devices(&self) -> Vec<Arc<dyn Device>> {
        let mut devices: Vec<Arc<dyn Device>> = Vec::new();
        for platform in get_platform_ids().unwrap_or_default() {
            for id in get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default() {
                if let Ok(device) = OpenClDevice::open(Platform(platform), device::Device::new(id), None) {
                    devices.push(Arc::new(device));
                }
            }
        }
        devices
    }
}
