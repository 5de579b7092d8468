//! Shared virtual memory.

use std::ffi::c_void;

use opencl_sys::*;

use super::buffers::pattern_of;
use crate::commands::{Action, Waits, Work};
use crate::config::Tier;
use crate::entry::{Call, Outcome};
use crate::memory::Kind;
use crate::state::pointer;

/// A command on memory by its addresses, and where the stub finds it. `host`: memory of the application will do, too.
pub(super) fn on_memory(
    call: &mut Call<'_>,
    queue: cl_command_queue,
    command: u32,
    ranges: &[(usize, usize)],
    host: bool,
) -> Outcome<(Work, Vec<usize>)> {
    let context = call.queue(queue)?.context;
    let mut work = Work::nothing(command);
    let mut places = Vec::new();
    for &(address, bytes) in ranges {
        if address == 0 {
            return Err(CL_INVALID_VALUE);
        }
        let start = match host {
            true => call.reach(address, bytes, context)?,
            false => Some(call.reach_allocation(address, bytes, context)?),
        };
        if let Some(start) = start {
            work.uses.push(start);
            work.keeps.extend(call.block(start));
        }
        places.push(start.map_or(address, |start| call.inside(start, address)));
    }
    Ok((work, places))
}

/// A copy between allocations and memory of the application.
pub(super) fn copy(
    call: &mut Call<'_>,
    queue: cl_command_queue,
    command: u32,
    (from, to, bytes): (usize, usize, usize),
) -> Outcome<Work> {
    let (mut work, places) = on_memory(call, queue, command, &[(from, bytes), (to, bytes)], true)?;
    if from.abs_diff(to) < bytes {
        return Err(CL_MEM_COPY_OVERLAP);
    }
    work.action = Action::Copy { from: places[0], to: places[1], bytes };
    Ok(work)
}

/// A fill of an allocation.
pub(super) fn fill(
    call: &mut Call<'_>,
    queue: cl_command_queue,
    command: u32,
    (pattern, pattern_bytes): (*const c_void, usize),
    (to, bytes): (usize, usize),
) -> Outcome<Work> {
    let pattern = pattern_of(call, pattern, pattern_bytes)?;
    if !to.is_multiple_of(pattern_bytes) || !bytes.is_multiple_of(pattern_bytes) {
        return Err(CL_INVALID_VALUE);
    }
    let (mut work, places) = on_memory(call, queue, command, &[(to, bytes)], false)?;
    work.action = Action::Fill { to: places[0], pattern, bytes };
    Ok(work)
}

/// An error where the devices have no SVM.
fn there(call: &Call<'_>) -> Outcome<()> {
    if call.config.svm() { Ok(()) } else { Err(CL_INVALID_OPERATION) }
}

entries! {
    pointer fn clSVMAlloc(
        call,
        context: cl_context,
        flags: cl_svm_mem_flags,
        bytes: usize,
        align: cl_uint,
    ) -> *mut c_void {
        there(call)?;
        call.context(context)?;
        let coarse = call.config.tier == Tier::Coarse;
        let align = align as usize;
        // There are no atomics on shared memory.
        let fine = flags & (CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS);
        if (coarse && fine != 0) || fine & CL_MEM_SVM_ATOMICS != 0 || (align != 0 && !align.is_power_of_two()) {
            return Err(CL_INVALID_VALUE);
        }
        let start = call.allocate(context as usize, 0, Kind::Svm, bytes, align.max(1));
        start.map(pointer).ok_or(CL_OUT_OF_RESOURCES)
    }

    nothing fn clSVMFree(call, context: cl_context, memory: *mut c_void) {
        call.context(context)?;
        // A null pointer is no memory to free.
        if memory.is_null() { Ok(()) } else { call.free(memory as usize, context as usize) }
    }

    status fn clEnqueueSVMMemcpy(
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
        there(call)?;
        let work = copy(call, queue, CL_COMMAND_SVM_MEMCPY, (from as usize, to as usize, bytes))?;
        call.enqueue_blocking(queue, blocking, &Waits(count, list, event), work)
    }

    status fn clEnqueueSVMMemFill(
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
        there(call)?;
        let what = (pattern, pattern_bytes);
        let work = fill(call, queue, CL_COMMAND_SVM_MEMFILL, what, (to as usize, bytes))?;
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }

    status fn clEnqueueSVMMap(
        call,
        queue: cl_command_queue,
        blocking: cl_bool,
        _flags: cl_map_flags,
        memory: *mut c_void,
        bytes: usize,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        there(call)?;
        if bytes == 0 {
            return Err(CL_INVALID_VALUE);
        }
        let address = memory as usize;
        let (work, _) = on_memory(call, queue, CL_COMMAND_SVM_MAP, &[(address, bytes)], false)?;
        let start = work.uses[0];
        call.enqueue_blocking(queue, blocking, &Waits(count, list, event), work)?;
        if let Some(allocation) = call.allocations.live.get_mut(&start) {
            allocation.maps.push(address);
            allocation.block.open(true);
        }
        Ok(())
    }

    status fn clEnqueueSVMUnmap(
        call,
        queue: cl_command_queue,
        memory: *mut c_void,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        there(call)?;
        let address = memory as usize;
        let (work, _) = on_memory(call, queue, CL_COMMAND_SVM_UNMAP, &[(address, 0)], false)?;
        let allocation = call.allocations.live.get_mut(&work.uses[0]);
        let map = allocation.and_then(|allocation| {
            let at = allocation.maps.iter().position(|&map| map == address)?;
            allocation.maps.swap_remove(at);
            allocation.block.open(!allocation.maps.is_empty());
            Some(at)
        });
        if map.is_none() {
            call.violation(format!("{address:#x} is unmapped, but is no start of a map"));
            return Err(CL_INVALID_VALUE);
        }
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }

    status fn clEnqueueSVMMigrateMem(
        call,
        queue: cl_command_queue,
        number: cl_uint,
        pointers: *mut *const c_void,
        _sizes: *const usize,
        _flags: cl_mem_migration_flags,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        there(call)?;
        let pointers = call.list(pointers.cast_const(), number as usize);
        let ranges: Vec<_> = pointers.into_iter().map(|pointer| (pointer as usize, 0)).collect();
        let (work, _) = on_memory(call, queue, CL_COMMAND_SVM_MIGRATE_MEM, &ranges, false)?;
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }
}
