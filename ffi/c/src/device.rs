//! Devices.

use std::ffi::c_char;

use stridewise::{Device, Error, default_device, devices};

use crate::handle::{free, get, give};
use crate::status::{entry, sw_status};

/// A device.
#[derive(Debug)]
pub struct sw_device(());

/// How many devices there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_count(count: *mut usize) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|caller| caller.answer("count", count, devices().len())) }
}

/// The device with a number from 0 to the count less 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_at(number: usize, device: *mut *mut sw_device) -> sw_status {
    let body = |caller: &crate::caller::Caller| {
        let out = caller.handle("device", device)?;
        let all = devices();
        let found = all.get(number).cloned().ok_or_else(|| {
            let help = "ask sw_device_count for how many there are";
            Error::out_of_bounds("number", number, format!("a number below {}", all.len()), help)
        })?;
        give(out, found)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The device that work goes to where none is named: that of the environment variable STRIDEWISE_DEVICE, else the first
/// GPU, else the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_default(device: *mut *mut sw_device) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|caller| give(caller.handle("device", device)?, default_device()?)) }
}

/// The first device that answers to a filter string, "backend:type:index", each part optional: "host", "opencl:gpu:1".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_select(filter: *const c_char, device: *mut *mut sw_device) -> sw_status {
    let body = |caller: &crate::caller::Caller| {
        let out = caller.handle("device", device)?;
        give(out, Device::select(caller.text("filter", filter)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Writes the device's name into a buffer of `capacity` bytes, cut off where it is too long, with a zero byte at its end.
/// `length`, if not null, becomes the length of the whole name without that byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_name(
    device: *const sw_device,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sw_status {
    let body = |caller: &crate::caller::Caller| {
        let device = get("device", device)?;
        Ok(caller.write_text(&device.info().name, buffer, capacity, length)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Writes the filter string that selects the device, as sw_device_name does the name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_filter(
    device: *const sw_device,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> sw_status {
    let body = |caller: &crate::caller::Caller| {
        let device = get("device", device)?;
        Ok(caller.write_text(&device.filter_string(), buffer, capacity, length)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_device_free(device: *mut sw_device) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("device", device)) }
}
