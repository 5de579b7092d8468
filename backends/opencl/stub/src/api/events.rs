//! Events, and commands that are nothing else.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use opencl_sys::*;

use super::{handle, int, long, signed};
use crate::commands::{Callback, Notify, Waits, Work};
use crate::objects::{Body, Event, Sort};

entries! {
    status fn clWaitForEvents(call, count: cl_uint, list: *const cl_event) {
        let list = call.list(list, count as usize);
        if list.is_empty() {
            return Err(CL_INVALID_VALUE);
        }
        let mut statuses = Vec::new();
        for event in list {
            let event = call.event(event)?;
            statuses.push(Arc::clone(&event.status));
            let queue = event.queue;
            call.flush(queue);
        }
        call.block_on(statuses);
        Ok(())
    }

    status fn clGetEventInfo(
        call,
        event: cl_event,
        name: cl_event_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let references = call.references(event);
        let event = call.event(event)?;
        let answer = match name {
            CL_EVENT_COMMAND_QUEUE => handle(event.queue),
            CL_EVENT_CONTEXT => handle(event.context),
            CL_EVENT_COMMAND_TYPE => int(event.command),
            CL_EVENT_COMMAND_EXECUTION_STATUS => signed(event.status.load(Ordering::Acquire)),
            CL_EVENT_REFERENCE_COUNT => int(references),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, size, value, size_ret)
    }

    status fn clGetEventProfilingInfo(
        call,
        event: cl_event,
        name: cl_profiling_info,
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let event = call.event(event)?;
        let times = match event.times {
            Some(times) if event.status.load(Ordering::Acquire) == CL_COMPLETE => times,
            _ => return Err(CL_PROFILING_INFO_NOT_AVAILABLE),
        };
        let time = match name {
            CL_PROFILING_COMMAND_QUEUED => times[0],
            CL_PROFILING_COMMAND_SUBMIT => times[1],
            CL_PROFILING_COMMAND_START => times[2],
            CL_PROFILING_COMMAND_END | CL_PROFILING_COMMAND_COMPLETE => times[3],
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&long(time), size, value, size_ret)
    }

    status fn clSetEventCallback(
        call,
        event: cl_event,
        at: cl_int,
        notify: Option<Notify>,
        data: *mut c_void,
    ) {
        let notify = notify.ok_or(CL_INVALID_VALUE)?;
        call.notify(event, Callback { notify, data: data as usize, at })
    }

    status fn clRetainEvent(call, event: cl_event) {
        call.retain(event, Sort::Event)
    }

    status fn clReleaseEvent(call, event: cl_event) {
        call.release(event, Sort::Event)
    }

    object fn clCreateUserEvent(call, context: cl_context) -> cl_event {
        call.context(context)?;
        let event = Event {
            context: context as usize,
            queue: 0,
            command: CL_COMMAND_USER,
            status: Arc::new(AtomicI32::new(CL_SUBMITTED)),
            callbacks: Vec::new(),
            times: None,
        };
        Ok(call.create(Body::Event(event)))
    }

    status fn clSetUserEventStatus(call, event: cl_event, status: cl_int) {
        let Event { queue, status: present, .. } = call.event(event)?;
        if *queue != 0 {
            return Err(CL_INVALID_EVENT);
        }
        if present.load(Ordering::Acquire) <= CL_COMPLETE {
            call.violation(format!("the status of {event:?} is set twice"));
            return Err(CL_INVALID_OPERATION);
        }
        if status > CL_COMPLETE {
            return Err(CL_INVALID_VALUE);
        }
        let now = call.now();
        call.end(event as usize, status, now);
        Ok(())
    }

    status fn clEnqueueMarkerWithWaitList(
        call,
        queue: cl_command_queue,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let work = Work { after_all: count == 0, ..Work::nothing(CL_COMMAND_MARKER) };
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }

    status fn clEnqueueBarrierWithWaitList(
        call,
        queue: cl_command_queue,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let work = Work { after_all: count == 0, barrier: true, ..Work::nothing(CL_COMMAND_BARRIER) };
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }
}
