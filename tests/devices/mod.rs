//! The devices that the tests run on: every root device of the machine, and the forms of the host that are found by
//! name only, one per instruction set level.

use stridewise::Device;

/// Levels of the host that a processor may have. A level that this one lacks is no device.
const HOST_LEVELS: [&str; 4] = ["scalar", "avx2", "avx512", "neon"];

/// Every device of this machine. Their [`filter_string`](Device::filter_string)s are different and name them.
pub(crate) fn devices() -> Vec<Device> {
    let levels = HOST_LEVELS.iter().filter_map(|level| Device::select(&format!("host:{level}")).ok());
    let mut devices = stridewise::devices();
    devices.extend(levels);
    devices
}
