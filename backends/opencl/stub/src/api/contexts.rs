//! Contexts and queues.

use std::ffi::{c_char, c_void};

use opencl_sys::*;

use super::{handle, handles, int, long};
use crate::entry::{Call, Outcome};
use crate::objects::{Body, Context, Queue, Sort};

/// What a context calls to report errors; the stub has none to report so.
type Report = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;

fn create_queue(
    call: &mut Call<'_>,
    context: cl_context,
    device: cl_device_id,
    properties: u64,
) -> Outcome<cl_command_queue> {
    call.device(device)?;
    if !call.context(context)?.devices.contains(&(device as usize)) {
        call.violation(format!("{device:?} is no device of the context {context:?}"));
        return Err(CL_INVALID_DEVICE);
    }
    if properties & !(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE) != 0 {
        return Err(CL_INVALID_QUEUE_PROPERTIES);
    }
    let queue = Queue { context: context as usize, device: device as usize, properties, last: None };
    Ok(call.create(Body::Queue(queue)))
}

entries! {
    object fn clCreateContext(
        call,
        properties: *const cl_context_properties,
        count: cl_uint,
        devices: *const cl_device_id,
        _report: Report,
        _data: *mut c_void,
    ) -> cl_context {
        let devices = call.list(devices, count as usize);
        if devices.is_empty() {
            return Err(CL_INVALID_VALUE);
        }
        for &device in &devices {
            call.device(device)?;
        }
        let mut properties = call.list_to(properties, 0);
        if !properties.is_empty() {
            properties.push(0);
        }
        let devices = devices.into_iter().map(|device| device as usize).collect();
        Ok(call.create(Body::Context(Context { devices, properties })))
    }

    status fn clRetainContext(call, context: cl_context) {
        call.retain(context, Sort::Context)
    }

    status fn clReleaseContext(call, context: cl_context) {
        call.release(context, Sort::Context)
    }

    status fn clGetContextInfo(
        call,
        context: cl_context,
        name: cl_context_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let references = call.references(context);
        let Context { devices, properties } = call.context(context)?;
        let answer = match name {
            CL_CONTEXT_REFERENCE_COUNT => int(references),
            CL_CONTEXT_NUM_DEVICES => int(u32::try_from(devices.len()).unwrap_or(u32::MAX)),
            CL_CONTEXT_DEVICES => handles(devices),
            CL_CONTEXT_PROPERTIES => properties.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, size, value, size_ret)
    }

    object fn clCreateCommandQueue(
        call,
        context: cl_context,
        device: cl_device_id,
        properties: cl_command_queue_properties,
    ) -> cl_command_queue {
        create_queue(call, context, device, properties)
    }

    object fn clCreateCommandQueueWithProperties(
        call,
        context: cl_context,
        device: cl_device_id,
        properties: *const cl_queue_properties,
    ) -> cl_command_queue {
        let mut chosen = 0;
        let mut at = properties;
        while let Some(&name) = call.list(at, 1).first().filter(|&&name| name != 0) {
            if name != u64::from(CL_QUEUE_PROPERTIES) {
                return Err(CL_INVALID_VALUE);
            }
            chosen = call.list(at.wrapping_add(1), 1)[0];
            at = at.wrapping_add(2);
        }
        create_queue(call, context, device, chosen)
    }

    status fn clRetainCommandQueue(call, queue: cl_command_queue) {
        call.retain(queue, Sort::Queue)
    }

    status fn clReleaseCommandQueue(call, queue: cl_command_queue) {
        call.release(queue, Sort::Queue)?;
        // The last release flushes, too.
        call.flush(queue as usize);
        Ok(())
    }

    status fn clGetCommandQueueInfo(
        call,
        queue: cl_command_queue,
        name: cl_command_queue_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let references = call.references(queue);
        let queue = call.queue(queue)?;
        let answer = match name {
            CL_QUEUE_CONTEXT => handle(queue.context),
            CL_QUEUE_DEVICE => handle(queue.device),
            CL_QUEUE_REFERENCE_COUNT => int(references),
            CL_QUEUE_PROPERTIES => long(queue.properties),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, size, value, size_ret)
    }

    status fn clFlush(call, queue: cl_command_queue) {
        call.queue(queue)?;
        call.flush(queue as usize);
        Ok(())
    }

    status fn clFinish(call, queue: cl_command_queue) {
        call.queue(queue)?;
        call.flush(queue as usize);
        let statuses = call.statuses(queue as usize);
        call.block_on_end_of(statuses);
        Ok(())
    }
}
