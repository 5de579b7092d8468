//! Devices and what they say of themselves.

use std::ffi::c_void;

use opencl_sys::*;

use super::{handle, int, list, long, size, text};
use crate::config::Tier;
use crate::entry::{Call, Outcome};
use crate::objects::{Body, Device, Object, Sort, header};
use crate::state::pointer;

/// Work-items of a group.
const GROUP: usize = 1024;

fn extensions(call: &Call<'_>) -> String {
    let config = &call.config;
    let mut list = vec![
        "cl_khr_byte_addressable_store",
        "cl_khr_global_int32_base_atomics",
        "cl_khr_global_int32_extended_atomics",
        "cl_khr_local_int32_base_atomics",
        "cl_khr_local_int32_extended_atomics",
    ];
    if config.fp64 {
        list.push("cl_khr_fp64");
    }
    if config.fp16 {
        list.push("cl_khr_fp16");
    }
    if config.tier == Tier::Usm {
        list.push("cl_intel_unified_shared_memory");
    }
    list.join(" ")
}

/// The answer of a device to a query.
fn describe(call: &mut Call<'_>, device: cl_device_id, name: cl_device_info) -> Outcome<Vec<u8>> {
    const ROUNDING: u64 = CL_FP_DENORM
        | CL_FP_INF_NAN
        | CL_FP_ROUND_TO_NEAREST
        | CL_FP_ROUND_TO_ZERO
        | CL_FP_ROUND_TO_INF
        | CL_FP_FMA;
    // Access, atomic access, and both at a time as others.
    const SHARED: u64 = 0b1111;
    let Device { parent, units } = call.device(device)?.clone();
    let config = call.config.clone();
    let units = if parent == 0 { config.units } else { units };
    let units = u32::try_from(units).unwrap_or(u32::MAX);
    let usm = config.tier == Tier::Usm;
    Ok(match name {
        CL_DEVICE_TYPE => long(if config.cpu { CL_DEVICE_TYPE_CPU } else { CL_DEVICE_TYPE_GPU }),
        CL_DEVICE_VENDOR_ID => int(0x5357),
        CL_DEVICE_NAME => text("Stridewise stub device"),
        CL_DEVICE_VENDOR => text("Stridewise"),
        CL_DRIVER_VERSION => text(env!("CARGO_PKG_VERSION")),
        CL_DEVICE_PROFILE => text("FULL_PROFILE"),
        CL_DEVICE_VERSION => text("OpenCL 3.0 stub"),
        CL_DEVICE_NUMERIC_VERSION => int(3 << 22),
        CL_DEVICE_OPENCL_C_VERSION => text("OpenCL C 1.2 stub"),
        CL_DEVICE_EXTENSIONS => text(&extensions(call)),
        CL_DEVICE_PLATFORM => handle(call.platform),
        CL_DEVICE_PARENT_DEVICE => handle(parent),
        CL_DEVICE_REFERENCE_COUNT => int(call.references(device)),
        CL_DEVICE_MAX_COMPUTE_UNITS => int(units),
        CL_DEVICE_MAX_CLOCK_FREQUENCY => int(1000),
        CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS => int(3),
        CL_DEVICE_MAX_WORK_GROUP_SIZE => size(GROUP),
        CL_DEVICE_MAX_WORK_ITEM_SIZES => [GROUP, GROUP, 64].into_iter().flat_map(size).collect(),
        CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => size(32),
        CL_DEVICE_ADDRESS_BITS => int(usize::BITS),
        CL_DEVICE_GLOBAL_MEM_SIZE => long(config.memory_bytes as u64),
        CL_DEVICE_MAX_MEM_ALLOC_SIZE => long(config.allocation_bytes as u64),
        CL_DEVICE_LOCAL_MEM_TYPE => int(CL_LOCAL),
        CL_DEVICE_LOCAL_MEM_SIZE => long(48 << 10),
        CL_DEVICE_GLOBAL_MEM_CACHE_TYPE => int(CL_READ_WRITE_CACHE),
        CL_DEVICE_GLOBAL_MEM_CACHE_SIZE => long(1 << 20),
        CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE => int(64),
        CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE => long(64 << 10),
        CL_DEVICE_MAX_CONSTANT_ARGS => int(8),
        CL_DEVICE_MAX_PARAMETER_SIZE => size(4352),
        CL_DEVICE_MEM_BASE_ADDR_ALIGN => int(4096),
        CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE => int(128),
        CL_DEVICE_HOST_UNIFIED_MEMORY => int(u32::from(config.cpu)),
        CL_DEVICE_ENDIAN_LITTLE => int(u32::from(cfg!(target_endian = "little"))),
        CL_DEVICE_AVAILABLE => int(u32::from(!call.lost)),
        CL_DEVICE_COMPILER_AVAILABLE | CL_DEVICE_LINKER_AVAILABLE => int(1),
        CL_DEVICE_ERROR_CORRECTION_SUPPORT | CL_DEVICE_IMAGE_SUPPORT => int(0),
        CL_DEVICE_EXECUTION_CAPABILITIES => long(CL_EXEC_KERNEL),
        CL_DEVICE_QUEUE_ON_HOST_PROPERTIES => {
            long(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
        }
        CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES => long(0),
        CL_DEVICE_PROFILING_TIMER_RESOLUTION => size(1),
        CL_DEVICE_SINGLE_FP_CONFIG => long(ROUNDING | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
        CL_DEVICE_DOUBLE_FP_CONFIG => long(if config.fp64 { ROUNDING } else { 0 }),
        CL_DEVICE_HALF_FP_CONFIG => long(if config.fp16 { ROUNDING } else { 0 }),
        CL_DEVICE_SVM_CAPABILITIES => long(match config.tier {
            Tier::Usm | Tier::Fine => CL_DEVICE_SVM_COARSE_GRAIN_BUFFER | CL_DEVICE_SVM_FINE_GRAIN_BUFFER,
            Tier::Coarse => CL_DEVICE_SVM_COARSE_GRAIN_BUFFER,
            Tier::Buffers => 0,
        }),
        CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL
        | CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL
        | CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL
            if usm =>
        {
            long(SHARED)
        }
        CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL
        | CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL
            if usm =>
        {
            long(0)
        }
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_INT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT => int(1),
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE | CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE => {
            int(u32::from(config.fp64))
        }
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF | CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF => {
            int(u32::from(config.fp16))
        }
        CL_DEVICE_PARTITION_MAX_SUB_DEVICES => int(units),
        CL_DEVICE_PARTITION_PROPERTIES => [CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS]
            .into_iter()
            .flat_map(|property| size(property.cast_unsigned()))
            .collect(),
        CL_DEVICE_PARTITION_AFFINITY_DOMAIN => long(0),
        CL_DEVICE_PARTITION_TYPE => Vec::new(),
        CL_DEVICE_PRINTF_BUFFER_SIZE => size(1 << 20),
        CL_DEVICE_BUILT_IN_KERNELS => text(""),
        CL_DEVICE_MAX_NUM_SUB_GROUPS => int(0),
        _ => return Err(CL_INVALID_VALUE),
    })
}

/// Compute units of the parts that a device is to be divided into.
fn parts(properties: &[isize], units: usize) -> Outcome<Vec<usize>> {
    let number = |value: isize| usize::try_from(value).map_err(|_| CL_INVALID_VALUE);
    match properties {
        [CL_DEVICE_PARTITION_EQUALLY, each] => {
            let each = number(*each)?;
            if each == 0 { Err(CL_INVALID_VALUE) } else { Ok(vec![each; units / each]) }
        }
        [CL_DEVICE_PARTITION_BY_COUNTS, counts @ ..] => counts.iter().map(|&count| number(count)).collect(),
        _ => Err(CL_INVALID_VALUE),
    }
}

entries! {
    status fn clGetDeviceIDs(
        call,
        platform: cl_platform_id,
        sort: cl_device_type,
        room: cl_uint,
        places: *mut cl_device_id,
        count: *mut cl_uint,
    ) {
        if !platform.is_null() && platform != pointer(call.platform) {
            call.violation(format!("{platform:?} is no platform"));
            return Err(CL_INVALID_PLATFORM);
        }
        if (room == 0 && !places.is_null()) || (places.is_null() && count.is_null()) {
            return Err(CL_INVALID_VALUE);
        }
        let own = if call.config.cpu { CL_DEVICE_TYPE_CPU } else { CL_DEVICE_TYPE_GPU };
        let roots = if sort & (own | CL_DEVICE_TYPE_DEFAULT) != 0 { call.roots() } else { Vec::new() };
        list(call, &roots, room, places, count);
        if roots.is_empty() { Err(CL_DEVICE_NOT_FOUND) } else { Ok(()) }
    }

    status fn clGetDeviceInfo(
        call,
        device: cl_device_id,
        name: cl_device_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let answer = describe(call, device, name)?;
        call.answer(&answer, size, value, size_ret)
    }

    status fn clCreateSubDevices(
        call,
        device: cl_device_id,
        properties: *const cl_device_partition_property,
        room: cl_uint,
        places: *mut cl_device_id,
        count: *mut cl_uint,
    ) {
        let Device { parent, units } = call.device(device)?.clone();
        let units = if parent == 0 { call.config.units } else { units };
        let parts = parts(&call.list_to(properties, 0), units)?;
        if parts.is_empty() || parts.contains(&0) || parts.iter().sum::<usize>() > units {
            return Err(CL_DEVICE_PARTITION_FAILED);
        }
        if places.is_null() {
            call.put(count, u32::try_from(parts.len()).unwrap_or(u32::MAX));
            return Ok(());
        }
        if (room as usize) < parts.len() {
            return Err(CL_INVALID_VALUE);
        }
        let mut made = Vec::new();
        for units in parts {
            let part = header();
            let body = Body::Device(Device { parent: device as usize, units });
            call.objects.insert(part, Object { references: 1, body });
            made.push(part);
        }
        list(call, &made, room, places, count);
        Ok(())
    }

    status fn clRetainDevice(call, device: cl_device_id) {
        call.retain(device, Sort::Device)
    }

    status fn clReleaseDevice(call, device: cl_device_id) {
        call.release(device, Sort::Device)
    }

    status fn clGetDeviceAndHostTimer(
        call,
        device: cl_device_id,
        device_time: *mut cl_ulong,
        host_time: *mut cl_ulong,
    ) {
        call.device(device)?;
        let now = call.now();
        call.put(device_time, now);
        call.put(host_time, now);
        Ok(())
    }

    status fn clGetHostTimer(call, device: cl_device_id, host_time: *mut cl_ulong) {
        call.device(device)?;
        call.put(host_time, call.now());
        Ok(())
    }
}
