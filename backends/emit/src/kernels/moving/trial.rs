//! Runs the work of plans on the first device, for tests of kernels alone: over plain memory objects, whatever the
//! device has, and for any target that the device can take for its own.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;

use cl3::command_queue::{CL_QUEUE_PROFILING_ENABLE, enqueue_nd_range_kernel, enqueue_read_buffer, finish};
use cl3::context::create_context;
use cl3::device::{CL_DEVICE_TYPE_ALL, get_device_ids};
use cl3::ext::{cl_command_queue, cl_context, cl_device_id, cl_kernel, cl_mem};
use cl3::kernel::{create_kernel, set_kernel_arg};
use cl3::memory::{CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use cl3::program::{CL_PROGRAM_BUILD_LOG, build_program, create_program_with_source, get_program_build_data};
use smallvec::SmallVec;
use stridewise_core::memory::UsmPtr;
use stridewise_core::{
    Dtype, DtypeKind, Scalar,
    backend::{MAX_PLAN_DIMS, Operand},
};

use super::super::{Argument, Key, Target, Work};
use crate::dialect::Dialect;

/// A device, and what was built for it.
pub(super) struct Trial {
    device: cl_device_id,
    context: cl_context,
    queue: cl_command_queue,
    /// The limits of the device; memory objects.
    pub(super) target: Target,
    kernels: HashMap<Key, (String, cl_kernel)>,
}

/// Bytes of an allocation of a test.
#[derive(Clone)]
pub(super) struct Memory {
    words: Vec<u64>,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        Self { words: vec![0; bytes.div_ceil(8)], bytes }
    }
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the words are as many bytes at least, initialised, and a byte needs no alignment.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; the borrow is unique, and any bytes are words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }
    pub(super) fn read(&self, dtype: Dtype, at: isize) -> Scalar {
        let (size, at) = (dtype.size(), at.cast_unsigned());
        let mut bytes = [0; 16];
        bytes[..size].copy_from_slice(&self.bytes()[at * size..][..size]);
        Scalar::from_bytes(dtype, &bytes)
    }
    pub(super) fn write(&mut self, at: isize, value: &Scalar) {
        let (size, at) = (value.dtype().size(), at.cast_unsigned());
        self.bytes_mut()[at * size..][..size].copy_from_slice(&value.to_bytes()[..size]);
    }
    pub(super) fn element(&self, size: usize, at: isize) -> &[u8] {
        &self.bytes()[at.cast_unsigned() * size..][..size]
    }
}

impl Trial {
    /// On the first device; `None`, with a message, where there is none.
    pub(super) fn new(cpu: bool) -> Option<Self> {
        let platforms = cl3::platform::get_platform_ids().unwrap_or_default();
        let ids = |&platform| get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default();
        let Some(device) = platforms.iter().flat_map(ids).next() else {
            eprintln!("skipped: no OpenCL device");
            return None;
        };
        let context = create_context(&[device], ptr::null(), None, ptr::null_mut()).expect("a context");
        // SAFETY: the device is the context's.
        let queue = unsafe {
            cl3::command_queue::create_command_queue(context, device, CL_QUEUE_PROFILING_ENABLE)
                .expect("a queue")
        };
        let number = |name| cl3::device::get_device_info(device, name).expect("a number");
        let target = Target {
            dialect: Dialect::OpenClC,
            fp64: true,
            fp16: false,
            atomic64: true,
            exact_division: false,
            buffers: true,
            cpu,
            compute_units: 2,
            max_group: number(cl3::device::CL_DEVICE_MAX_WORK_GROUP_SIZE).into(),
            local_bytes: u64::from(number(cl3::device::CL_DEVICE_LOCAL_MEM_SIZE)).min(48 << 10) as usize,
            user_local_bytes: 48 << 10,
            general_points: 0,
        };
        Some(Self { device, context, queue, target, kernels: HashMap::new() })
    }

    fn kernel(&mut self, key: &Key, source: &dyn Fn() -> String) -> cl_kernel {
        let text = source();
        if let Some((built, kernel)) = self.kernels.get(key) {
            assert_eq!(built, &text, "one key, two texts");
            return *kernel;
        }
        let program = create_program_with_source(self.context, &[&text]).expect("a program");
        let options = CString::new("-cl-std=CL1.2 -Werror").expect("no zero");
        if let Err(code) = build_program(program, &[self.device], &options, None, ptr::null_mut()) {
            let log = get_program_build_data(program, self.device, CL_PROGRAM_BUILD_LOG).unwrap_or_default();
            panic!("{code}: {}\n{text}", String::from_utf8_lossy(&log));
        }
        let kernel = create_kernel(program, c"run").expect("a kernel");
        self.kernels.insert(key.clone(), (text, kernel));
        kernel
    }

    /// Runs the stages over memory that the operands are in.
    pub(super) fn run(&mut self, work: &Work<'_>, memory: &mut [&mut Memory]) {
        let object = |bytes: &[u8]| {
            let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
            // SAFETY: the bytes are copied.
            unsafe { create_buffer(self.context, flags, bytes.len(), bytes.as_ptr().cast_mut().cast()) }
                .expect("memory")
        };
        let objects: Vec<cl_mem> = memory.iter().map(|m| object(m.bytes())).collect();
        // Whatever the scratch memory held before.
        let scratch = object(&vec![0xa5; work.scratch_bytes.max(16)]);
        for stage in &work.stages {
            let kernel = self.kernel(&stage.key, &*stage.source);
            let mut index = 0;
            let mut set = |bytes: usize, value: *const c_void| {
                // SAFETY: the value has as many bytes; the kernel checks the size.
                unsafe { set_kernel_arg(kernel, index, bytes, value) }.expect("an argument");
                index += 1;
            };
            for argument in &stage.arguments {
                let (mem, offset) = match argument {
                    Argument::Memory(at) => memory
                        .iter()
                        .zip(&objects)
                        .find_map(|(m, object)| {
                            let offset = at.addr().wrapping_sub(m.words.as_ptr().addr());
                            (offset < m.bytes).then_some((*object, offset))
                        })
                        .expect("an operand's memory"),
                    Argument::Scratch(offset) => (scratch, *offset),
                    Argument::Bytes(bytes) => {
                        set(bytes.len(), bytes.as_ptr().cast());
                        continue;
                    }
                    Argument::Local(bytes) => {
                        set(*bytes, ptr::null());
                        continue;
                    }
                };
                set(size_of::<cl_mem>(), (&raw const mem).cast());
                let offset = offset as i64;
                set(8, (&raw const offset).cast());
            }
            let (global, local) = (stage.global, stage.local);
            assert!((0..2).all(|d| global[d].is_multiple_of(local[d])), "{global:?} by {local:?}");
            // SAFETY: the kernel's contract, which is what is tested.
            unsafe {
                enqueue_nd_range_kernel(
                    self.queue,
                    kernel,
                    2,
                    ptr::null(),
                    global.as_ptr(),
                    local.as_ptr(),
                    0,
                    ptr::null(),
                )
            }
            .expect("a launch");
        }
        for (m, &object) in memory.iter_mut().zip(&objects) {
            let bytes = m.bytes;
            // SAFETY: the object and the memory have as many bytes.
            unsafe {
                enqueue_read_buffer(
                    self.queue,
                    object,
                    1,
                    0,
                    bytes,
                    m.words.as_mut_ptr().cast(),
                    0,
                    ptr::null(),
                )
            }
            .expect("a read");
        }
        finish(self.queue).expect("the end");
        for object in objects.into_iter().chain([scratch]) {
            // SAFETY: nothing uses it any more.
            unsafe { release_mem_object(object) }.expect("a release");
        }
    }
}

/// Numbers that look random (xorshift).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }
    /// An element: of any bits, or one that is special or often drawn.
    pub(super) fn element(&mut self, dtype: Dtype) -> Scalar {
        if dtype == Dtype::Bool {
            return Scalar::Bool(self.below(2) == 1);
        }
        let part = if dtype.kind() == DtypeKind::Complex { dtype.size() / 2 } else { dtype.size() };
        let mut bytes = [0; 16];
        for bytes in bytes[..dtype.size()].chunks_mut(part) {
            let real = dtype.real_part();
            let special = match self.below(10) {
                0 => 0.0,
                1 => -0.0,
                2 => f64::NAN,
                3 => -f64::NAN,
                4 => f64::INFINITY,
                5 => f64::NEG_INFINITY,
                6 | 7 => self.below(5) as f64 - 2.0,
                _ => {
                    bytes.copy_from_slice(&self.next().to_le_bytes()[..part]);
                    continue;
                }
            };
            bytes.copy_from_slice(&Scalar::F64(special).cast(real).to_bytes()[..part]);
        }
        Scalar::from_bytes(dtype, &bytes)
    }
    /// Strides of an array of these extents, in any order of dimensions, with signs and gaps and, where `repeated`, some
    /// of 0; the place of its first element, and the number of elements of its memory.
    pub(super) fn layout(&mut self, dims: &[usize], repeated: bool) -> Layout {
        let mut order: Vec<usize> = (0..dims.len()).rev().collect();
        if self.below(2) == 0 {
            for i in (1..order.len()).rev() {
                order.swap(i, self.below(i + 1));
            }
        }
        let mut layout = Layout { strides: vec![0; dims.len()], first: 0, len: 1 };
        let mut next = 1 + usize::from(self.below(4) == 0);
        for d in order {
            if repeated && self.below(4) == 0 {
                continue;
            }
            let reach = (dims[d] - 1) * next;
            let negative = self.below(3) == 0;
            layout.strides[d] = if negative { -next.cast_signed() } else { next.cast_signed() };
            layout.first += if negative { reach } else { 0 };
            layout.len += reach;
            next = next * dims[d] + usize::from(self.below(4) == 0);
        }
        layout
    }
}

/// Where the elements of an array are.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) strides: Vec<isize>,
    pub(super) first: usize,
    pub(super) len: usize,
}

impl Layout {
    /// The operand in memory, along the first dimensions.
    pub(super) fn operand(&self, memory: &Memory, size: usize, dims: usize) -> Operand {
        let at = memory.words.as_ptr().cast::<u8>().cast_mut().wrapping_add(self.first * size);
        let strides: SmallVec<[isize; MAX_PLAN_DIMS]> = self.strides[..dims].into();
        Operand { ptr: UsmPtr::new(at), strides }
    }
    /// The place of an element in memory.
    pub(super) fn at(&self, index: &[usize]) -> isize {
        let steps = index.iter().zip(&self.strides).map(|(&i, &s)| i.cast_signed() * s);
        self.first.cast_signed() + steps.sum::<isize>()
    }
    /// New memory, of elements that are drawn.
    pub(super) fn filled(&self, dtype: Dtype, mut draw: impl FnMut() -> Scalar) -> Memory {
        let mut memory = Memory::new(self.len * dtype.size());
        (0..self.len).for_each(|i| memory.write(i.cast_signed(), &draw()));
        memory
    }
}

/// All multi-indices, in row-major order.
pub(super) fn indices(dims: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let dims = dims.to_vec();
    (0..dims.iter().product()).map(move |mut rest: usize| {
        let mut index = vec![0; dims.len()];
        for (i, &extent) in index.iter_mut().zip(&dims).rev() {
            *i = rest % extent;
            rest /= extent;
        }
        index
    })
}

/// Whether this is a device whose kernels are interpreted.
pub(super) fn is_slow() -> bool {
    std::env::var("OCL_ICD_VENDORS").is_ok_and(|name| name.contains("oclgrind"))
}
