//! Real devices, by the limits that their makers and drivers publish.
//!
//! Memory that a device shares with the processor is as much as machines with it commonly have. What a driver decides is what the
//! usual one of OpenCL says (of the Raspberry Pi, the one of Vulkan).

use stridewise_core::UsmKind::{self, Device, Host, Shared};

use crate::{Emulation, emulate};

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;
/// The most that Intel's driver gives in one allocation, as long as nobody asks for more by an option.
const INTEL_ALLOCATION: u64 = 4 * GIB - 8 * KIB;
const ALL: &[UsmKind] = &[Host, Device, Shared];

/// The real devices that are there by name.
pub const PRESETS: [&str; 5] = ["iris_xe", "arc_a770", "rtx_3060", "rx_6600", "raspberry_pi_4"];

/// A device by its name.
pub(crate) fn preset(name: &str) -> Option<Emulation> {
    let device = match name {
        // Graphics of the twelfth generation in processors of Intel's: no double precision; memory is the machine's.
        "iris_xe" => emulate()
            .name("Intel Iris Xe Graphics")
            .fp64(false)
            .memory(8 * GIB)
            .max_allocation(INTEL_ALLOCATION)
            .max_work_group(512)
            .local_memory(64 * KIB)
            .usm(ALL),
        // A card of Intel's: no double precision either.
        "arc_a770" => emulate()
            .name("Intel Arc A770")
            .fp64(false)
            .memory(16 * GIB)
            .max_allocation(INTEL_ALLOCATION)
            .max_work_group(1024)
            .local_memory(64 * KIB)
            .usm(ALL),
        // A card of NVIDIA's: no half precision in OpenCL, a quarter of the memory at once, memory of its own alone.
        "rtx_3060" => emulate()
            .name("NVIDIA GeForce RTX 3060")
            .fp16(false)
            .memory(12 * GIB)
            .max_allocation(3 * GIB)
            .max_work_group(1024)
            .local_memory(48 * KIB)
            .usm(&[Device]),
        // A card of AMD's: groups of 256, and 85 % of the memory at once.
        "rx_6600" => emulate()
            .name("AMD Radeon RX 6600")
            .memory(8 * GIB)
            .max_allocation(8 * GIB / 100 * 85)
            .max_work_group(256)
            .local_memory(64 * KIB)
            .usm(&[Device]),
        // The VideoCore VI: neither double nor half precision, and little of everything.
        "raspberry_pi_4" => emulate()
            .name("Raspberry Pi 4 (V3D 4.2)")
            .fp64(false)
            .fp16(false)
            .memory(GIB)
            .max_work_group(256)
            .local_memory(16 * KIB)
            .usm(&[Device]),
        _ => return None,
    };
    Some(device)
}
