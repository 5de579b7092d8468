//! What a launch costs: kernels given to an OpenCL runtime by its functions alone, to measure the engine's launches against.

use std::ptr;
use std::time::{Duration, Instant};

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::error_codes::{CL_SUCCESS, ClError, DLOPEN_FUNCTION_NOT_AVAILABLE};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::program::Program;
use opencl3::types::CL_BLOCKING;

/// An addition of two arrays.
const SOURCE: &str =
    "kernel void add(global float *z, global const float *x, global const float *y, const ulong n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        z[i] = x[i] + y[i];
}
";

/// A stream of additions of few elements, one behind the other.
pub struct Launches {
    queue: CommandQueue,
    kernel: Kernel,
    buffers: [Buffer<f32>; 3],
    elements: usize,
    // Behind what is made in it.
    _context: Context,
}

impl Launches {
    /// Additions of so many elements, on the first device of a name.
    ///
    /// # Errors
    /// The runtime's: there is no such device, or it refuses.
    pub fn new(name: &str, elements: usize) -> Result<Self, ClError> {
        let devices = get_all_devices(CL_DEVICE_TYPE_ALL)?;
        let named = devices.into_iter().map(Device::new);
        let found = named.into_iter().find(|device| device.name().is_ok_and(|own| own.trim() == name.trim()));
        // CL_DEVICE_NOT_FOUND.
        let device = found.ok_or(ClError(-1))?;
        let context = Context::from_device(&device)?;
        let queue = CommandQueue::create_default(&context, 0)?;
        let program =
            Program::create_and_build_from_source(&context, SOURCE, "").map_err(|_| ClError(-11))?;
        let kernel = Kernel::create(&program, "add")?;
        let ones = vec![1.0; elements];
        let buffer = || {
            // SAFETY: the runtime allocates it.
            let mut buffer =
                unsafe { Buffer::<f32>::create(&context, CL_MEM_READ_WRITE, elements, ptr::null_mut()) }?;
            // SAFETY: the buffer has as many elements, and the write is waited for.
            unsafe { queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, &ones, &[]) }?;
            Ok::<_, ClError>(buffer)
        };
        let buffers = [buffer()?, buffer()?, buffer()?];
        Ok(Self { queue, kernel, buffers, elements, _context: context })
    }

    /// The time of so many additions, until all are done.
    ///
    /// # Errors
    /// The runtime's.
    pub fn run(&mut self, count: usize) -> Result<Duration, ClError> {
        let runtime = cl3::load_library().as_ref().map_err(|_| ClError(DLOPEN_FUNCTION_NOT_AVAILABLE))?;
        let begin = Instant::now();
        let elements = self.elements as u64;
        for _ in 0..count {
            for (index, buffer) in (0..).zip(&self.buffers) {
                // SAFETY: the kernel has pointers there.
                unsafe { self.kernel.set_arg(index, buffer) }?;
            }
            // SAFETY: and a number of 64 bits there.
            unsafe { self.kernel.set_arg(3, &elements) }?;
            let global = [self.elements];
            // All arguments are set, and the kernel stays below the number of elements, which the buffers have. The wrapper would
            // ask for an event, which is a third of the cost.
            let status = runtime.clEnqueueNDRangeKernel(
                self.queue.get(),
                self.kernel.get(),
                1,
                ptr::null(),
                global.as_ptr(),
                ptr::null(),
                0,
                ptr::null(),
                ptr::null_mut(),
            );
            match status {
                Some(CL_SUCCESS) => {}
                other => return Err(ClError(other.unwrap_or(DLOPEN_FUNCTION_NOT_AVAILABLE))),
            }
        }
        self.queue.finish()?;
        Ok(begin.elapsed())
    }
}
