//! Devices for tests: the host with the limits of another device.
//!
//! An emulated device computes what it is given on the host, by the host's own queues and kernels, so its results are the host's
//! bits. What it adds are limits, and they are told to the engine as a real device's are: dtypes that it does not compute in are
//! refused, and results are promoted to those that it has; allocations, work-groups and local memory are bounded; kinds of memory
//! may be missing, and where host memory of the program has to get there, it is copied. Nothing is done at once on the calling
//! thread, as on a device with a queue of its own.
//!
//! Some real devices are there by name, by their published limits ([`PRESETS`]): `emulated:iris_xe` is a filter string, so that a
//! program runs on one by `STRIDEWISE_DEVICE=emulated:iris_xe` alone. They are not listed among a machine's devices, nor ever chosen
//! where none is named.
//!
//! What is not emulated: time, and the rounding of functions, which are the host's.
//!
//! ```no_run
//! use stridewise_core::{Array, Error};
//!
//! let queue = stridewise_emulated::emulate().fp64(false).build()?.queue()?;
//! assert_eq!(Array::<f32>::on(&queue).ones([8])?.sum()?, 8.0);
//! assert!(matches!(Array::<f64>::on(&queue).ones([8]), Err(Error::Dtype(_)))); // it has no double precision
//! # Ok::<(), Error>(())
//! ```

use std::sync::Arc;

use stridewise_core::backend::{self, Driver, Finding};
use stridewise_core::{Device, Error, Result, UsmKind};

mod device;
mod presets;
mod queue;

pub use presets::PRESETS;

/// The driver's name, as filter strings and events have it.
const DRIVER: &str = "emulated";

/// The driver, whose devices are the [`PRESETS`]: `emulated:iris_xe`. It needs the driver of the host, `host`, beside it.
#[must_use]
pub fn driver() -> Arc<dyn Driver> {
    Arc::new(EmulatedDriver)
}

struct EmulatedDriver;

impl Driver for EmulatedDriver {
    fn name(&self) -> &'static str {
        DRIVER
    }
    fn interface(&self) -> u32 {
        1
    }
    // The presets are found by their names only.
    fn may_have(&self, _: backend::DeviceType) -> bool {
        false
    }
    fn devices(&self) -> Vec<Arc<dyn backend::Device>> {
        let Ok(host) = Device::select("host") else { return Vec::new() };
        let device = |preset: &&'static str| {
            let emulation = Emulation::preset(preset).ok()?;
            let device = device::EmulatedDevice::new(host.backend(), &emulation, Some(*preset));
            Some(Arc::new(device) as Arc<dyn backend::Device>)
        };
        PRESETS.iter().filter_map(device).collect()
    }
    fn diagnose(&self) -> Vec<Finding> {
        let text = PRESETS.map(|preset| format!("{DRIVER}:{preset}")).join(", ");
        vec![Finding::fine("presets", format!("the host with the limits of others: {text}"))]
    }
}

/// A device that is to be emulated; without limits, it has the host's.
#[derive(Clone, PartialEq, Debug)]
pub struct Emulation {
    name: String,
    fp64: bool,
    fp16: bool,
    memory_bytes: Option<u64>,
    max_allocation_bytes: Option<u64>,
    max_work_group: Option<usize>,
    local_memory_bytes: Option<u64>,
    usm: [bool; 3],
}

/// A device that is to be emulated; without limits, it has the host's.
#[must_use]
pub fn emulate() -> Emulation {
    Emulation {
        name: "emulated device".to_owned(),
        fp64: true,
        fp16: true,
        memory_bytes: None,
        max_allocation_bytes: None,
        max_work_group: None,
        local_memory_bytes: None,
        usm: [true; 3],
    }
}

impl Emulation {
    /// A real device, by its name in [`PRESETS`].
    ///
    /// # Errors
    /// [`Error::Value`] for a name that is none of these.
    pub fn preset(name: &str) -> Result<Self> {
        presets::preset(name).ok_or_else(|| {
            Error::value(
                "preset",
                format!("{name:?}"),
                "the name of an emulated device",
                format!("use one of: {}", PRESETS.join(", ")),
            )
        })
    }

    /// What the device is called.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
    /// Whether it has double precision.
    #[must_use]
    pub fn fp64(mut self, there: bool) -> Self {
        self.fp64 = there;
        self
    }
    /// Whether it has half precision.
    #[must_use]
    pub fn fp16(mut self, there: bool) -> Self {
        self.fp16 = there;
        self
    }
    /// How many bytes of memory it has.
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }
    /// How many bytes one allocation has at most; without this, as many as there are.
    #[must_use]
    pub fn max_allocation(mut self, bytes: u64) -> Self {
        self.max_allocation_bytes = Some(bytes);
        self
    }
    /// How many items a work-group has at most.
    #[must_use]
    pub fn max_work_group(mut self, items: usize) -> Self {
        self.max_work_group = Some(items);
        self
    }
    /// How many bytes of local memory a work-group has.
    #[must_use]
    pub fn local_memory(mut self, bytes: u64) -> Self {
        self.local_memory_bytes = Some(bytes);
        self
    }
    /// The kinds of memory that it has.
    #[must_use]
    pub fn usm(mut self, kinds: &[UsmKind]) -> Self {
        self.usm = UsmKind::ALL.map(|kind| kinds.contains(&kind));
        self
    }

    /// Makes the device. It is another one each time: arrays of two do not combine.
    ///
    /// # Errors
    /// [`Error::Value`] for no memory, work-groups of no items or no kind of memory; [`Error::DeviceSelection`] where the program has
    /// no driver of the host.
    pub fn build(&self) -> Result<Device> {
        let wrong = |argument: &'static str, value: String, expected: &'static str| {
            Err(Error::value(
                argument,
                value,
                expected,
                "leave the limit out, or set one that a device can have",
            ))
        };
        if self.memory_bytes == Some(0) || self.max_allocation_bytes == Some(0) {
            return wrong("memory", "0 bytes".to_owned(), "at least one byte of memory");
        }
        if self.max_work_group == Some(0) {
            return wrong("max_work_group", "0".to_owned(), "at least one item in a work-group");
        }
        if self.usm == [false; 3] {
            return wrong("usm", "no kind".to_owned(), "at least one kind of memory");
        }
        let host = Device::select("host")?;
        Ok(Device::from_backend(Arc::new(device::EmulatedDevice::new(host.backend(), self, None))))
    }
}

/// The number of bytes that a text says: `512 MiB`, `16GB`, `4096`. KiB, MiB, GiB and TiB are powers of 1024, KB, MB, GB and TB of
/// 1000.
///
/// # Errors
/// [`Error::Value`] for any other text.
pub fn parse_bytes(argument: &'static str, text: &str) -> Result<u64> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..digits], trimmed[digits..].trim().to_ascii_lowercase());
    let factor: Option<u64> = match unit.as_str() {
        "" | "b" => Some(1),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        "tib" => Some(1 << 40),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "tb" => Some(1_000_000_000_000),
        _ => None,
    };
    let bytes = factor.and_then(|factor| match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(factor),
        // Of parts of a unit as many bytes as there are whole ones: 1.5 GiB.
        Err(_) => {
            let bytes = number.parse::<f64>().ok()? * factor as f64;
            (bytes < 9e18).then_some(bytes as u64)
        }
    });
    bytes.ok_or_else(|| {
        Error::value(
            argument,
            format!("{text:?}"),
            "a number of bytes",
            "write for example \"512 MiB\" or \"16 GB\"",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_bytes_are_read() {
        for (text, bytes) in [
            ("512 MiB", 512 << 20),
            ("16GB", 16_000_000_000),
            (" 1.5 gib ", 3 << 29),
            ("4096", 4096),
            ("7 b", 7),
            ("0", 0),
        ] {
            assert_eq!(parse_bytes("memory", text).unwrap(), bytes, "{text}");
        }
        for text in
            ["", "MiB", "1.2.3 MiB", "-1", "1 parsec", "99999999999 TiB", "1e400 GiB", "99999999999999999999"]
        {
            let error = parse_bytes("memory", text).unwrap_err();
            assert!(matches!(error, Error::Value(_)), "{text}: {error}");
        }
    }

    #[test]
    fn every_preset_is_there_by_its_name() {
        for preset in PRESETS {
            let emulation = Emulation::preset(preset).unwrap();
            assert!(!emulation.name.is_empty() && emulation.memory_bytes.is_some(), "{preset}");
            // As filter strings have names.
            assert!(
                preset.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                "{preset}"
            );
        }
        assert!(Emulation::preset("voodoo").unwrap_err().to_string().contains("iris_xe"));
    }
}
