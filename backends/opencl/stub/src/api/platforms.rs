//! The platform, and the addresses of functions.

use std::ffi::{c_char, c_void};

use opencl_sys::*;

use super::{int, list, long, text};
use crate::dispatch;
use crate::entry::{Call, Outcome};
use crate::state::pointer;

/// The one platform is the one asked for; a null pointer means it, too.
fn known(call: &mut Call<'_>, platform: cl_platform_id) -> Outcome<()> {
    if platform.is_null() || platform == pointer(call.platform) {
        return Ok(());
    }
    call.violation(format!("{platform:?} is no platform"));
    Err(CL_INVALID_PLATFORM)
}

fn platforms(
    call: &Call<'_>,
    room: cl_uint,
    places: *mut cl_platform_id,
    count: *mut cl_uint,
) -> Outcome<()> {
    if (room == 0 && !places.is_null()) || (places.is_null() && count.is_null()) {
        return Err(CL_INVALID_VALUE);
    }
    list(call, &[call.platform], room, places, count);
    Ok(())
}

entries! {
    status fn clGetPlatformIDs(call, room: cl_uint, places: *mut cl_platform_id, count: *mut cl_uint) {
        platforms(call, room, places, count)
    }

    status fn clIcdGetPlatformIDsKHR(call, room: cl_uint, places: *mut cl_platform_id, count: *mut cl_uint) {
        platforms(call, room, places, count)
    }

    status fn clGetPlatformInfo(
        call,
        platform: cl_platform_id,
        name: cl_platform_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        known(call, platform)?;
        let answer = match name {
            CL_PLATFORM_PROFILE => text("FULL_PROFILE"),
            CL_PLATFORM_VERSION => text("OpenCL 3.0 stub"),
            CL_PLATFORM_NUMERIC_VERSION => int(3 << 22),
            CL_PLATFORM_NAME => text("Stridewise stub"),
            CL_PLATFORM_VENDOR => text("Stridewise"),
            CL_PLATFORM_EXTENSIONS => text("cl_khr_icd"),
            CL_PLATFORM_ICD_SUFFIX_KHR => text("SWSTUB"),
            CL_PLATFORM_HOST_TIMER_RESOLUTION => long(1),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, size, value, size_ret)
    }

    pointer fn clGetExtensionFunctionAddress(call, name: *const c_char) -> *mut c_void {
        let name = call.text(name);
        dispatch::address(&name, call.config.tier).ok_or(CL_INVALID_VALUE)
    }

    pointer fn clGetExtensionFunctionAddressForPlatform(
        call,
        platform: cl_platform_id,
        name: *const c_char,
    ) -> *mut c_void {
        known(call, platform)?;
        let name = call.text(name);
        dispatch::address(&name, call.config.tier).ok_or(CL_INVALID_VALUE)
    }

    status fn clUnloadPlatformCompiler(call, platform: cl_platform_id) {
        known(call, platform)
    }
}
