//! Intel's unified shared memory.

use std::ffi::c_void;

use opencl_sys::*;

use super::svm::{copy, fill, on_memory};
use super::{handle, int, size};
use crate::commands::Waits;
use crate::entry::{Call, Outcome};
use crate::memory::Kind;
use crate::state::pointer;

/// Commands of the extension.
const COMMAND_MEMCPY: u32 = 0x4205;
const COMMAND_MEMFILL: u32 = 0x4204;
const COMMAND_MIGRATE: u32 = 0x4206;

fn allocate(
    call: &mut Call<'_>,
    context: cl_context,
    device: cl_device_id,
    kind: Kind,
    bytes: usize,
    align: cl_uint,
) -> Outcome<*mut c_void> {
    let devices = call.context(context)?.devices.clone();
    let device = device as usize;
    if kind == Kind::Device && !devices.contains(&device) || device != 0 && !devices.contains(&device) {
        call.violation(format!("{device:#x} is no device of the context {context:?}"));
        return Err(CL_INVALID_DEVICE);
    }
    let align = align as usize;
    if align != 0 && !align.is_power_of_two() {
        return Err(CL_INVALID_VALUE);
    }
    if bytes == 0 || bytes > call.config.allocation_bytes {
        return Err(CL_INVALID_BUFFER_SIZE);
    }
    let start = call.allocate(context as usize, device, kind, bytes, align.max(1));
    start.map(pointer).ok_or(CL_OUT_OF_RESOURCES)
}

entries! {
    object fn clHostMemAllocINTEL(
        call,
        context: cl_context,
        _properties: *const cl_mem_properties_intel,
        bytes: usize,
        align: cl_uint,
    ) -> *mut c_void {
        allocate(call, context, std::ptr::null_mut(), Kind::Host, bytes, align)
    }

    object fn clDeviceMemAllocINTEL(
        call,
        context: cl_context,
        device: cl_device_id,
        _properties: *const cl_mem_properties_intel,
        bytes: usize,
        align: cl_uint,
    ) -> *mut c_void {
        allocate(call, context, device, Kind::Device, bytes, align)
    }

    object fn clSharedMemAllocINTEL(
        call,
        context: cl_context,
        device: cl_device_id,
        _properties: *const cl_mem_properties_intel,
        bytes: usize,
        align: cl_uint,
    ) -> *mut c_void {
        allocate(call, context, device, Kind::Shared, bytes, align)
    }

    status fn clMemFreeINTEL(call, context: cl_context, memory: *mut c_void) {
        call.context(context)?;
        if memory.is_null() { Ok(()) } else { call.free(memory as usize, context as usize) }
    }

    status fn clMemBlockingFreeINTEL(call, context: cl_context, memory: *mut c_void) {
        call.context(context)?;
        if memory.is_null() {
            return Ok(());
        }
        let start = call.reach_allocation(memory as usize, 0, context as usize)?;
        // The commands keep the pages; what is left is to wait for them.
        let statuses = call.detach(start);
        call.free(memory as usize, context as usize)?;
        call.block_on_end_of(statuses);
        Ok(())
    }

    status fn clGetMemAllocInfoINTEL(
        call,
        context: cl_context,
        memory: *const c_void,
        name: cl_mem_info_intel,
        room: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        call.context(context)?;
        let start = call.allocations.start(memory as usize);
        let found = start.and_then(|start| call.allocations.live.get(&start));
        let found = found.filter(|allocation| allocation.context == context as usize);
        let answer = match (name, found) {
            (CL_MEM_ALLOC_TYPE_INTEL, Some(allocation)) => int(match allocation.kind {
                Kind::Host => CL_MEM_TYPE_HOST_INTEL,
                Kind::Device => CL_MEM_TYPE_DEVICE_INTEL,
                Kind::Shared => CL_MEM_TYPE_SHARED_INTEL,
                Kind::Svm => CL_MEM_TYPE_UNKNOWN_INTEL,
            }),
            (CL_MEM_ALLOC_TYPE_INTEL, None) => int(CL_MEM_TYPE_UNKNOWN_INTEL),
            (CL_MEM_ALLOC_BASE_PTR_INTEL, found) => handle(found.map_or(0, |a| a.block.address)),
            (CL_MEM_ALLOC_SIZE_INTEL, found) => size(found.map_or(0, |a| a.block.bytes)),
            (CL_MEM_ALLOC_DEVICE_INTEL, found) => handle(found.map_or(0, |a| a.device)),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, room, value, size_ret)
    }

    status fn clEnqueueMemcpyINTEL(
        call,
        queue: cl_command_queue,
        blocking: cl_bool,
        to: *mut c_void,
        from: *const c_void,
        bytes: usize,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let work = copy(call, queue, COMMAND_MEMCPY, (from as usize, to as usize, bytes))?;
        call.enqueue_blocking(queue, blocking, &Waits(count, list, event), work)
    }

    status fn clEnqueueMemFillINTEL(
        call,
        queue: cl_command_queue,
        to: *mut c_void,
        pattern: *const c_void,
        pattern_bytes: usize,
        bytes: usize,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let what = (pattern, pattern_bytes);
        let work = fill(call, queue, COMMAND_MEMFILL, what, (to as usize, bytes))?;
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }

    status fn clEnqueueMigrateMemINTEL(
        call,
        queue: cl_command_queue,
        memory: *const c_void,
        bytes: usize,
        _flags: cl_mem_migration_flags,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let (work, _) = on_memory(call, queue, COMMAND_MIGRATE, &[(memory as usize, bytes)], false)?;
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }
}
