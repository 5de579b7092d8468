//! Kernels from sources of the user's, on devices that compile them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use stridewise::kernel::{KernelBundle, NdRange, SourceArgument, SourceKernel};
use stridewise::memory::heap;
use stridewise::{Error, Result, Scalar, UsmArray, UsmMemory};

use crate::array::sw_array;
use crate::caller::{Caller, extents};
use crate::codes::{self, sw_dtype};
use crate::event::{give_event, sw_event};
use crate::handle::{free, get, give};
use crate::memory::sw_memory;
use crate::queue::sw_queue;
use crate::status::{Failure, entry, sw_status};

/// The kernels of one source, compiled for one device.
#[derive(Debug)]
pub struct sw_kernel_bundle(());

/// A kernel of a bundle, for the device that it was compiled for.
#[derive(Debug)]
pub struct sw_kernel(());

/// An argument's kind: the address of the first element of a contiguous array.
pub const SW_ARGUMENT_ARRAY: i32 = 1;
/// An argument's kind: the address of `bytes` bytes of memory from `offset` on.
pub const SW_ARGUMENT_MEMORY: i32 = 2;
/// An argument's kind: the value of `dtype` at `value`.
pub const SW_ARGUMENT_SCALAR: i32 = 3;
/// An argument's kind: `bytes` bytes at `value`, a value of any type.
pub const SW_ARGUMENT_BYTES: i32 = 4;
/// An argument's kind: `bytes` bytes of memory that the items of each work-group share.
pub const SW_ARGUMENT_LOCAL: i32 = 5;

/// An argument of a launch; made by sw_argument_array, sw_argument_memory, sw_argument_scalar, sw_argument_bytes and
/// sw_argument_local.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_argument {
    /// Which of the fields count: SW_ARGUMENT_ARRAY, …
    pub kind: i32,
    /// Whether the kernel only reads the array or the memory, whatever its parameter says.
    pub read_only: bool,
    /// The array.
    pub array: *const sw_array,
    /// The memory.
    pub memory: *const sw_memory,
    /// Bytes from the start of the memory.
    pub offset: usize,
    /// Bytes of memory, of the value, or of local memory.
    pub bytes: usize,
    /// The type of the value.
    pub dtype: sw_dtype,
    /// The value; read during the call.
    pub value: *const c_void,
}

/// What is known of a kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sw_kernel_info {
    /// Number of arguments.
    pub num_args: usize,
    /// Items of a work-group, at most.
    pub work_group_size: usize,
    /// What the size of a work-group is best a multiple of.
    pub preferred_work_group_size_multiple: usize,
    /// Bytes of memory of each item.
    pub private_mem_size: u64,
    /// Bytes of memory of each work-group that the kernel itself declares.
    pub local_mem_size: u64,
}

/// An argument that was read.
enum Argument<'a> {
    Array(Arc<UsmArray>, bool),
    Memory { memory: Arc<UsmMemory>, offset: usize, bytes: usize, read_only: bool },
    Scalar(Scalar),
    Bytes(&'a [u8]),
    Local(usize),
}

impl Argument<'_> {
    fn as_argument(&self) -> SourceArgument<'_> {
        match *self {
            Self::Array(ref array, read_only) => SourceArgument::Array { array, read_only },
            Self::Memory { ref memory, offset, bytes, read_only } => {
                SourceArgument::Memory { memory, offset, bytes, read_only }
            }
            Self::Scalar(value) => SourceArgument::Scalar(value),
            Self::Bytes(value) => SourceArgument::Bytes(value),
            Self::Local(bytes) => SourceArgument::Local(bytes),
        }
    }
}

impl sw_argument {
    fn read<'a>(&self, caller: &'a Caller) -> Result<Argument<'a>, Failure> {
        let Self { read_only, offset, bytes, .. } = *self;
        let value = |bytes| caller.slice("value", self.value.cast::<u8>(), bytes);
        Ok(match self.kind {
            SW_ARGUMENT_ARRAY => Argument::Array(get("array", self.array)?, read_only),
            SW_ARGUMENT_MEMORY => {
                Argument::Memory { memory: get("memory", self.memory)?, offset, bytes, read_only }
            }
            SW_ARGUMENT_SCALAR => {
                let dtype = codes::dtype(self.dtype)?;
                let mut room = [0; 16];
                let size = dtype.size();
                room[..size].copy_from_slice(value(size)?);
                Argument::Scalar(Scalar::from_bytes(dtype, &room))
            }
            SW_ARGUMENT_BYTES => Argument::Bytes(value(bytes)?),
            SW_ARGUMENT_LOCAL => Argument::Local(bytes),
            other => {
                return Err(Error::value(
                    "arguments",
                    format!("an argument of kind {other}"),
                    "an array, memory, a value or local memory",
                    "make it with sw_argument_array, sw_argument_memory, sw_argument_scalar, sw_argument_bytes or \
                     sw_argument_local",
                )
                .into());
            }
        })
    }
}

/// Compiles a text of OpenCL C for a queue's device. `options`, which may be null, are those of clBuildProgram. A device that
/// takes no sources answers with SW_ERROR_UNSUPPORTED; a compiler's complaints are the text of sw_last_error, after
/// SW_ERROR_COMPILATION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_kernel_bundle_from_source(
    queue: *const sw_queue,
    source: *const c_char,
    options: *const c_char,
    bundle: *mut *mut sw_kernel_bundle,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("bundle", bundle)?;
        let (queue, source) = (get("queue", queue)?, caller.text("source", source)?);
        let options = caller.optional_text("options", options)?;
        give(out, KernelBundle::from_source(&queue, source, options)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// As sw_kernel_bundle_from_source, of a module of SPIR-V of so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_kernel_bundle_from_spirv(
    queue: *const sw_queue,
    code: *const c_void,
    bytes: usize,
    options: *const c_char,
    bundle: *mut *mut sw_kernel_bundle,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("bundle", bundle)?;
        let (queue, code) = (get("queue", queue)?, caller.slice("code", code.cast::<u8>(), bytes)?);
        let options = caller.optional_text("options", options)?;
        give(out, KernelBundle::from_spirv(&queue, code, options)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// The kernel of a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_kernel_bundle_kernel(
    bundle: *const sw_kernel_bundle,
    name: *const c_char,
    kernel: *mut *mut sw_kernel,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.handle("kernel", kernel)?;
        give(out, get("bundle", bundle)?.kernel(caller.text("name", name)?)?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the handle; kernels of the bundle stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_kernel_bundle_free(bundle: *mut sw_kernel_bundle) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("bundle", bundle)) }
}

/// What is known of a kernel.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_kernel_get_info(
    kernel: *const sw_kernel,
    info: *mut sw_kernel_info,
) -> sw_status {
    let body = |caller: &Caller| {
        let out = caller.out("info", info)?;
        let kernel: &SourceKernel = &*get("kernel", kernel)?;
        let known = kernel.info();
        out.set(sw_kernel_info {
            num_args: known.num_args,
            work_group_size: known.work_group_size,
            preferred_work_group_size_multiple: known.preferred_work_group_size_multiple,
            private_mem_size: known.private_mem_size,
            local_mem_size: known.local_mem_size,
        });
        Ok(())
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Launches a kernel over `ndim` extents of work-items, 1 to 3, the last of which is OpenCL's dimension 0, in work-groups of
/// as many extents, or of the runtime's choice where `group` is null; behind what accesses the arguments now, and behind the
/// events of `depends`. Arguments count as read and written, unless their parameter (const, constant) or they themselves say
/// that they are only read. `event`, if not null, becomes the event of the work.
///
/// The kernel is trusted: it may access no memory but its arguments', within their bounds, and has to end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_kernel_launch(
    kernel: *const sw_kernel,
    queue: *const sw_queue,
    ndim: usize,
    global: *const i64,
    group: *const i64,
    arguments: *const sw_argument,
    count: usize,
    depends: *const *mut sw_event,
    depends_count: usize,
    event: *mut *mut sw_event,
) -> sw_status {
    let body = |caller: &Caller| {
        let depends = caller.depends(depends, depends_count);
        let arguments = caller.slice("arguments", arguments, count)?;
        let arguments =
            heap::try_collect("arguments", arguments.iter().map(|argument| argument.read(caller)));
        let out = caller.optional_handle("event", event)?;
        let (depends, arguments) = (depends?, arguments?);
        let arguments = heap::collect("arguments", arguments.iter().map(Argument::as_argument))?;
        let global = extents(caller.slice("global", global, ndim)?)?;
        let range = match group.is_null() {
            true => NdRange::of(&global),
            false => NdRange::in_groups(&global, &extents(caller.slice("group", group, ndim)?)?),
        };
        let (kernel, queue) = (get("kernel", kernel)?, get("queue", queue)?);
        // SAFETY: what the kernel does is the caller's promise (the contract of this function).
        give_event(out, unsafe { kernel.launch(&queue, range, &arguments, &depends) }?)
    };
    // SAFETY: the contract of this crate.
    unsafe { entry(body) }
}

/// Frees the handle; launches go on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_kernel_free(kernel: *mut sw_kernel) -> sw_status {
    // SAFETY: the contract of this crate.
    unsafe { entry(|_| free("kernel", kernel)) }
}
