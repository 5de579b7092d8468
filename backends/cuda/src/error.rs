//! Codes of the driver, by name.

use stridewise_core::Error;

use crate::symbols::{ABSENT, Refused};

/// `CUDA_ERROR_INVALID_VALUE`.
pub(crate) const INVALID_VALUE: i32 = 1;
/// `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) const OUT_OF_MEMORY: i32 = 2;
/// `CUDA_ERROR_NOT_READY`: an event that is still to come.
pub(crate) const NOT_READY: i32 = 600;
/// `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`.
pub(crate) const OUT_OF_RESOURCES: i32 = 701;

/// What a call that was refused reports: the function, what it was about, and the driver's code by its name.
pub(crate) fn failed(refused: Refused, about: impl std::fmt::Display) -> Error {
    let Refused { call, code } = refused;
    match code {
        ABSENT => Error::unsupported(
            call,
            format!("absent from the driver, for {about}"),
            "a driver that has this function",
            "update NVIDIA's driver; what needs it is refused, everything else works",
        ),
        code => {
            Error::runtime(call, format!("{} ({code}), for {about}", name(code)), "CUDA_SUCCESS", help(code))
        }
    }
}

/// What to do about a code.
fn help(code: i32) -> &'static str {
    match code {
        OUT_OF_MEMORY => {
            "allocate less, or free memory: `Device::trim_pool` gives back what the device's pool holds, and other programs \
             may have the rest"
        }
        222 => "update NVIDIA's driver, or write an older `.version` into the PTX",
        200 | 209 => "compile for this device's capability, which `isa` of its information has",
        221 => "install the whole driver: its library libnvidia-ptxjitcompiler is missing",
        802 | 803 => {
            "see to it that the driver's library and its kernel module are of one version, and start again"
        }
        OUT_OF_RESOURCES => "choose smaller groups, or use less local and private memory",
        code if is_loss(code) => "the device is lost to this process: start a new one, or use another device",
        _ => "the driver's documentation of this function says more",
    }
}

/// Whether a code means that the context, and with it the device, is lost to this process: every later call gets the same.
pub(crate) fn is_loss(code: i32) -> bool {
    matches!(code, 4 | 46 | 201 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 999)
}

/// The code's name in `cuda.h`.
fn name(code: i32) -> &'static str {
    match code {
        1 => "CUDA_ERROR_INVALID_VALUE",
        2 => "CUDA_ERROR_OUT_OF_MEMORY",
        3 => "CUDA_ERROR_NOT_INITIALIZED",
        4 => "CUDA_ERROR_DEINITIALIZED",
        34 => "CUDA_ERROR_STUB_LIBRARY",
        46 => "CUDA_ERROR_DEVICE_UNAVAILABLE",
        100 => "CUDA_ERROR_NO_DEVICE",
        101 => "CUDA_ERROR_INVALID_DEVICE",
        200 => "CUDA_ERROR_INVALID_IMAGE",
        201 => "CUDA_ERROR_INVALID_CONTEXT",
        209 => "CUDA_ERROR_NO_BINARY_FOR_GPU",
        214 => "CUDA_ERROR_ECC_UNCORRECTABLE",
        218 => "CUDA_ERROR_INVALID_PTX",
        220 => "CUDA_ERROR_NVLINK_UNCORRECTABLE",
        221 => "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
        222 => "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
        226 => "CUDA_ERROR_CONTAINED",
        304 => "CUDA_ERROR_OPERATING_SYSTEM",
        400 => "CUDA_ERROR_INVALID_HANDLE",
        500 => "CUDA_ERROR_NOT_FOUND",
        600 => "CUDA_ERROR_NOT_READY",
        700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
        701 => "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
        702 => "CUDA_ERROR_LAUNCH_TIMEOUT",
        704 => "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
        709 => "CUDA_ERROR_CONTEXT_IS_DESTROYED",
        710 => "CUDA_ERROR_ASSERT",
        714 => "CUDA_ERROR_HARDWARE_STACK_ERROR",
        715 => "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        716 => "CUDA_ERROR_MISALIGNED_ADDRESS",
        717 => "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        718 => "CUDA_ERROR_INVALID_PC",
        719 => "CUDA_ERROR_LAUNCH_FAILED",
        721 => "CUDA_ERROR_TENSOR_MEMORY_LEAK",
        800 => "CUDA_ERROR_NOT_PERMITTED",
        801 => "CUDA_ERROR_NOT_SUPPORTED",
        802 => "CUDA_ERROR_SYSTEM_NOT_READY",
        803 => "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        900 => "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        913 => "CUDA_ERROR_FUNCTION_NOT_LOADED",
        906 => "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        999 => "CUDA_ERROR_UNKNOWN",
        _ => "a code of the driver",
    }
}
