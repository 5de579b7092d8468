//! The devices that suites run on, for `mod devices;` in any test.

use stridewise::backend::UsmSupport;
use stridewise::{Device, UsmKind, devices as root_devices};

/// Forms of the host that are found by name only.
const VARIANTS: [&str; 4] = ["host:scalar", "host:neon", "host:avx2", "host:avx512"];

/// Every root device of this machine, and the host at each further instruction set level that the processor has: at the
/// highest, which has a name too, it is a root device.
pub(crate) fn devices() -> Vec<Device> {
    let mut devices = root_devices();
    for variant in VARIANTS.iter().filter_map(|name| Device::select(name).ok()) {
        if devices.iter().all(|device| device.info().isa != variant.info().isa) {
            devices.push(variant);
        }
    }
    devices
}

/// The kinds of USM that a device has.
#[allow(dead_code)] // Not every suite that lists devices allocates on them.
pub(crate) fn kinds(device: &Device) -> Vec<UsmKind> {
    UsmKind::ALL.into_iter().filter(|&kind| device.info().usm(kind) != UsmSupport::Absent).collect()
}
