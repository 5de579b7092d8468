//! What every test begins and ends with.

use std::ptr::{null, null_mut};

use cl3::command_queue::*;
use cl3::context::{create_context, release_context};
use cl3::device::*;
use cl3::event::*;
use cl3::kernel::*;
use cl3::memory::*;
use cl3::platform::*;
use cl3::program::*;
use stridewise_opencl_stub::{Sort, Stub};

/// A device, a context and a queue.
pub(crate) struct Setup {
    pub(crate) device: cl_device_id,
    pub(crate) context: cl_context,
    pub(crate) queue: cl_command_queue,
}

impl Setup {
    pub(crate) fn new(properties: cl_command_queue_properties) -> Self {
        let platform = get_platform_ids().unwrap()[0];
        let device = get_device_ids(platform, CL_DEVICE_TYPE_GPU).unwrap()[0];
        let context = create_context(&[device], null(), None, null_mut()).unwrap();
        let list = [u64::from(CL_QUEUE_PROPERTIES), properties, 0];
        // SAFETY: the list ends with 0.
        let queue = unsafe { create_command_queue_with_properties(context, device, list.as_ptr()) }.unwrap();
        Self { device, context, queue }
    }
    pub(crate) fn buffer(&self, bytes: usize) -> cl_mem {
        // SAFETY: no host memory is given.
        unsafe { create_buffer(self.context, CL_MEM_READ_WRITE, bytes, null_mut()) }.unwrap()
    }
    pub(crate) fn write(&self, buffer: cl_mem, data: &[u8], waits: &[cl_event]) -> Result<cl_event, i32> {
        // SAFETY: the data lives until the end of the test, and so do the events.
        unsafe {
            enqueue_write_buffer(
                self.queue,
                buffer,
                CL_FALSE,
                0,
                data.len(),
                data.as_ptr().cast(),
                u32::try_from(waits.len()).unwrap(),
                if waits.is_empty() { null() } else { waits.as_ptr() },
            )
        }
    }
    pub(crate) fn read(&self, buffer: cl_mem, bytes: usize) -> Result<Vec<u8>, i32> {
        let mut data = vec![0_u8; bytes];
        // SAFETY: the call blocks until the bytes are there.
        let event = unsafe {
            enqueue_read_buffer(self.queue, buffer, CL_TRUE, 0, bytes, data.as_mut_ptr().cast(), 0, null())
        }?;
        release(event);
        Ok(data)
    }
    pub(crate) fn program(&self, source: &str) -> cl_program {
        create_program_with_source(self.context, &[source]).unwrap()
    }
    pub(crate) fn end(self) {
        // SAFETY: nothing uses them any more.
        unsafe {
            release_command_queue(self.queue).unwrap();
            release_context(self.context).unwrap();
        }
    }
}

pub(crate) fn release(event: cl_event) {
    // SAFETY: the test uses it no more.
    unsafe { release_event(event) }.unwrap();
}

pub(crate) fn status(event: cl_event) -> i32 {
    get_event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS).unwrap().into()
}

/// Counts of everything that lives.
pub(crate) fn live(stub: &Stub) -> Vec<usize> {
    Sort::ALL.iter().map(|&sort| stub.live(sort)).collect()
}
