//! Buffers, and commands on them.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::*;

use super::{handle, int, long, size};
use crate::commands::{Action, Waits, Work};
use crate::entry::{Call, Outcome};
use crate::memory::Block;
use crate::objects::{Body, Buffer, Sort};

/// A part of a buffer, for a command.
struct Part {
    /// What it consists of.
    block: Arc<Block>,
    /// Where the application finds it.
    address: usize,
    /// Where the stub does.
    place: usize,
    /// The allocation that the buffer was made of, by its start.
    allocation: Option<usize>,
}

impl Part {
    /// Notes that a command uses it.
    fn keep(self, work: &mut Work) {
        work.keeps.push(self.block);
        work.uses.extend(self.allocation);
    }
}

/// A part of a buffer, for a command of a queue.
fn part(
    call: &mut Call<'_>,
    queue: cl_command_queue,
    buffer: cl_mem,
    offset: usize,
    bytes: usize,
) -> Outcome<Part> {
    let context = call.queue(queue)?.context;
    let found = call.buffer(buffer)?;
    let (owner, block) = (found.context, Arc::clone(&found.block));
    if owner != context {
        call.violation(format!("{buffer:?} is a buffer of another context"));
        return Err(CL_INVALID_CONTEXT);
    }
    if bytes == 0 || offset.checked_add(bytes).is_none_or(|end| end > block.bytes) {
        return Err(CL_INVALID_VALUE);
    }
    let address = block.address + offset;
    let allocation = if block.is_foreign() { call.reach(address, bytes, context)? } else { None };
    let place = allocation.map_or(address, |start| call.inside(start, address));
    let block = allocation.and_then(|start| call.block(start)).unwrap_or(block);
    Ok(Part { block, address, place, allocation })
}

fn create(
    call: &mut Call<'_>,
    context: cl_context,
    flags: cl_mem_flags,
    bytes: usize,
    host: *mut c_void,
) -> Outcome<cl_mem> {
    call.context(context)?;
    let from_host = flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR) != 0;
    if from_host == host.is_null() {
        return Err(CL_INVALID_HOST_PTR);
    }
    if bytes == 0 || bytes > call.config.allocation_bytes {
        return Err(CL_INVALID_BUFFER_SIZE);
    }
    if bytes > call.config.memory_bytes - call.used_bytes() {
        return Err(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
    let block = if flags & CL_MEM_USE_HOST_PTR != 0 {
        Block::foreign(host as usize, bytes)
    } else {
        let block = Block::new(bytes, 1, false).ok_or(CL_MEM_OBJECT_ALLOCATION_FAILURE)?;
        let contents: Vec<u8> =
            if from_host { call.list(host.cast_const().cast(), bytes) } else { Vec::new() };
        call.put_all(block.address as *mut u8, &contents);
        block
    };
    let block = Arc::new(block);
    Ok(call.create(Body::Buffer(Buffer { context: context as usize, flags, block, maps: Vec::new() })))
}

/// Lets a command use memory that it takes for the host's, and says where the stub finds it. It may be an allocation.
fn host(
    call: &mut Call<'_>,
    queue: cl_command_queue,
    work: &mut Work,
    address: usize,
    bytes: usize,
) -> Outcome<usize> {
    if address == 0 {
        return Err(CL_INVALID_VALUE);
    }
    let context = call.queue(queue)?.context;
    let Some(start) = call.reach(address, bytes, context)? else { return Ok(address) };
    work.uses.push(start);
    work.keeps.extend(call.block(start));
    let place = call.inside(start, address);
    let mapped = call.allocations.live.get(&start).is_some_and(|allocation| !allocation.maps.is_empty());
    // Another address than the application's: it is protected.
    if place != address && !mapped {
        let name = call.name;
        call.violation(format!("{name} takes {address:#x} for the host's, but it is not mapped"));
    }
    Ok(place)
}

entries! {
    object fn clCreateBuffer(
        call,
        context: cl_context,
        flags: cl_mem_flags,
        bytes: usize,
        host: *mut c_void,
    ) -> cl_mem {
        create(call, context, flags, bytes, host)
    }

    object fn clCreateBufferWithProperties(
        call,
        context: cl_context,
        properties: *const cl_mem_properties,
        flags: cl_mem_flags,
        bytes: usize,
        host: *mut c_void,
    ) -> cl_mem {
        if !call.list_to(properties, 0).is_empty() {
            return Err(CL_INVALID_PROPERTY);
        }
        create(call, context, flags, bytes, host)
    }

    status fn clRetainMemObject(call, buffer: cl_mem) {
        call.retain(buffer, Sort::Memory)
    }

    status fn clReleaseMemObject(call, buffer: cl_mem) {
        call.release(buffer, Sort::Memory)
    }

    status fn clGetMemObjectInfo(
        call,
        buffer: cl_mem,
        name: cl_mem_info,
        room: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let references = call.references(buffer);
        let buffer = call.buffer(buffer)?;
        let answer = match name {
            CL_MEM_TYPE => int(CL_MEM_OBJECT_BUFFER),
            CL_MEM_FLAGS => long(buffer.flags),
            CL_MEM_SIZE => size(buffer.block.bytes),
            CL_MEM_MAP_COUNT => int(u32::try_from(buffer.maps.len()).unwrap_or(u32::MAX)),
            CL_MEM_REFERENCE_COUNT => int(references),
            CL_MEM_CONTEXT => handle(buffer.context),
            CL_MEM_ASSOCIATED_MEMOBJECT => handle(0),
            CL_MEM_OFFSET => size(0),
            CL_MEM_USES_SVM_POINTER => int(0),
            CL_MEM_HOST_PTR => {
                handle(if buffer.flags & CL_MEM_USE_HOST_PTR != 0 { buffer.block.address } else { 0 })
            }
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, room, value, size_ret)
    }

    status fn clEnqueueReadBuffer(
        call,
        queue: cl_command_queue,
        buffer: cl_mem,
        blocking: cl_bool,
        offset: usize,
        bytes: usize,
        to: *mut c_void,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let from = part(call, queue, buffer, offset, bytes)?;
        let mut work = Work::nothing(CL_COMMAND_READ_BUFFER);
        let to = host(call, queue, &mut work, to as usize, bytes)?;
        work.action = Action::Copy { from: from.place, to, bytes };
        from.keep(&mut work);
        call.enqueue_blocking(queue, blocking, &Waits(count, list, event), work)
    }

    status fn clEnqueueWriteBuffer(
        call,
        queue: cl_command_queue,
        buffer: cl_mem,
        blocking: cl_bool,
        offset: usize,
        bytes: usize,
        from: *const c_void,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let to = part(call, queue, buffer, offset, bytes)?;
        let mut work = Work::nothing(CL_COMMAND_WRITE_BUFFER);
        let from = host(call, queue, &mut work, from as usize, bytes)?;
        work.action = Action::Copy { from, to: to.place, bytes };
        to.keep(&mut work);
        call.enqueue_blocking(queue, blocking, &Waits(count, list, event), work)
    }

    status fn clEnqueueCopyBuffer(
        call,
        queue: cl_command_queue,
        source: cl_mem,
        target: cl_mem,
        source_offset: usize,
        target_offset: usize,
        bytes: usize,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let from = part(call, queue, source, source_offset, bytes)?;
        let to = part(call, queue, target, target_offset, bytes)?;
        if from.place.abs_diff(to.place) < bytes {
            return Err(CL_MEM_COPY_OVERLAP);
        }
        let action = Action::Copy { from: from.place, to: to.place, bytes };
        let mut work = Work { action, ..Work::nothing(CL_COMMAND_COPY_BUFFER) };
        from.keep(&mut work);
        to.keep(&mut work);
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }

    status fn clEnqueueFillBuffer(
        call,
        queue: cl_command_queue,
        buffer: cl_mem,
        pattern: *const c_void,
        pattern_bytes: usize,
        offset: usize,
        bytes: usize,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let to = part(call, queue, buffer, offset, bytes)?;
        let pattern = pattern_of(call, pattern, pattern_bytes)?;
        if !offset.is_multiple_of(pattern_bytes) || !bytes.is_multiple_of(pattern_bytes) {
            return Err(CL_INVALID_VALUE);
        }
        let action = Action::Fill { to: to.place, pattern, bytes };
        let mut work = Work { action, ..Work::nothing(CL_COMMAND_FILL_BUFFER) };
        to.keep(&mut work);
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }

    object fn clEnqueueMapBuffer(
        call,
        queue: cl_command_queue,
        buffer: cl_mem,
        blocking: cl_bool,
        _flags: cl_map_flags,
        offset: usize,
        bytes: usize,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) -> *mut c_void {
        let part = part(call, queue, buffer, offset, bytes)?;
        let (address, allocation) = (part.address, part.allocation);
        let mut work = Work::nothing(CL_COMMAND_MAP_BUFFER);
        part.keep(&mut work);
        call.enqueue_blocking(queue, blocking, &Waits(count, list, event), work)?;
        call.buffer(buffer)?.maps.push(address);
        // A buffer that is made of an allocation is mapped where that is.
        if let Some(allocation) = allocation.and_then(|start| call.allocations.live.get_mut(&start)) {
            allocation.maps.push(address);
            allocation.block.open(true);
        }
        Ok(address as *mut c_void)
    }

    status fn clEnqueueUnmapMemObject(
        call,
        queue: cl_command_queue,
        buffer: cl_mem,
        mapped: *mut c_void,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let part = part(call, queue, buffer, 0, 1)?;
        let maps = &mut call.buffer(buffer)?.maps;
        let Some(at) = maps.iter().position(|&map| map == mapped as usize) else {
            call.violation(format!("{mapped:?} is unmapped, but is no map of {buffer:?}"));
            return Err(CL_INVALID_VALUE);
        };
        maps.swap_remove(at);
        if let Some(allocation) = part.allocation.and_then(|start| call.allocations.live.get_mut(&start)) {
            if let Some(at) = allocation.maps.iter().position(|&map| map == mapped as usize) {
                allocation.maps.swap_remove(at);
            }
            allocation.block.open(!allocation.maps.is_empty());
        }
        let mut work = Work::nothing(CL_COMMAND_UNMAP_MEM_OBJECT);
        part.keep(&mut work);
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }

    status fn clEnqueueMigrateMemObjects(
        call,
        queue: cl_command_queue,
        number: cl_uint,
        buffers: *const cl_mem,
        _flags: cl_mem_migration_flags,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let mut work = Work::nothing(CL_COMMAND_MIGRATE_MEM_OBJECTS);
        for buffer in call.list(buffers, number as usize) {
            part(call, queue, buffer, 0, 1)?.keep(&mut work);
        }
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }
}

/// The pattern of a fill: 1 to 128 bytes, a power of two.
pub(super) fn pattern_of(call: &Call<'_>, pattern: *const c_void, bytes: usize) -> Outcome<Vec<u8>> {
    if pattern.is_null() || !bytes.is_power_of_two() || bytes > 128 {
        return Err(CL_INVALID_VALUE);
    }
    Ok(call.list(pattern.cast(), bytes))
}
