//! Errors of the runtime, by name.

use opencl3::error_codes::ClError;
use stridewise_core::Error;

/// What a call that failed reports: the function, what it was about, and the runtime's code by its name.
pub(crate) fn failed(call: &'static str, about: impl std::fmt::Display, code: i32) -> Error {
    Error::runtime(call, format!("{} ({code}), for {about}", name(code)), "CL_SUCCESS", help(code))
}

/// What to do about a code.
pub(crate) fn help(code: i32) -> &'static str {
    match code {
        -4 | -6 | -61 => {
            "allocate less, or free memory: `Device::trim_pool` gives back what the device's pool holds"
        }
        -5 => {
            "allocate less or use smaller work; after a fault in a kernel, the device is lost to this process: start a \
             new one"
        }
        -11 => "this is a defect of the engine or of the device's compiler: please report it with the log",
        -14 => "see the error of the work that it waits for",
        code if is_loss(code) => "the device is lost to this process: start a new one, or use another device",
        _ => "the runtime's documentation of this function says more",
    }
}

/// Whether a code means that the device is lost to this process.
pub(crate) fn is_loss(code: i32) -> bool {
    matches!(code, -34 | -36 | -9999)
}

/// The code's name in the OpenCL headers.
pub(crate) fn name(code: i32) -> String {
    match code {
        // What NVIDIA's driver gives after a fault in a kernel; in no header.
        -9999 => "an undocumented code of the driver".to_owned(),
        _ => ClError(code).to_string(),
    }
}
