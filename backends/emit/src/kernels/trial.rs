//! Running the work of a plan on whatever OpenCL devices there are, on plain buffers, and against a fold in a loop.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::kernel::Kernel;
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE, ClMem};
use opencl3::program::Program as Built;
use opencl3::types::CL_BLOCKING;
use stridewise_core::memory::UsmPtr;
use stridewise_core::{
    Complex, Dtype, DtypeKind, Result, Scalar,
    backend::{LaunchPlan, Operand},
};

use super::{Argument, Key, Target, Work};
use crate::devices::target_on_buffers;

/// Address bits of the offset in an array's memory; the bits above are the array's number, from 1 on.
const REGION: u32 = 40;

/// Memory of an array: its dtype and the bytes.
#[derive(Clone)]
pub(crate) struct Region {
    pub(crate) dtype: Dtype,
    pub(crate) bytes: Vec<u8>,
}

impl Region {
    pub(crate) fn new(dtype: Dtype, values: &[Scalar]) -> Self {
        Self { dtype, bytes: values.iter().flat_map(|v| v.to_bytes()[..dtype.size()].to_vec()).collect() }
    }
    pub(crate) fn get(&self, at: isize) -> Scalar {
        let size = self.dtype.size();
        let at = usize::try_from(at).unwrap() * size;
        let mut bytes = [0; 16];
        bytes[..size].copy_from_slice(&self.bytes[at..at + size]);
        Scalar::from_bytes(self.dtype, &bytes)
    }
}

/// The operand whose element at multi-index zero is this one of a region.
pub(crate) fn operand(region: usize, dtype: Dtype, first: isize, strides: &[isize]) -> Operand {
    let address = ((region + 1) << REGION) + usize::try_from(first).unwrap() * dtype.size();
    Operand { ptr: UsmPtr::new(ptr::without_provenance_mut(address)), strides: strides.into() }
}

/// The region and the element that an operand's multi-index zero is.
pub(crate) fn place(operand: &Operand, dtype: Dtype) -> (usize, isize) {
    let address = operand.ptr.addr();
    let bytes = address & ((1 << REGION) - 1);
    ((address >> REGION) - 1, (bytes / dtype.size()).cast_signed())
}

/// A device under test.
pub(crate) struct Tested {
    pub(crate) name: String,
    pub(crate) target: Target,
    context: Context,
    queue: CommandQueue,
    kernels: RefCell<HashMap<Key, (String, Kernel)>>,
}

/// Some runtimes list no devices, or such without memory, to the second of two threads that ask first.
pub(crate) static ASKING: Mutex<()> = Mutex::new(());

/// Every device of every platform; none, with a message, where there is no OpenCL.
pub(crate) fn devices() -> Vec<Tested> {
    let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
    let ids = get_all_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default();
    if ids.is_empty() {
        eprintln!("skipped: no OpenCL device");
    }
    let tested = |id| {
        let device = Device::new(id);
        let context = Context::from_device(&device).unwrap();
        #[allow(deprecated)] // The one that OpenCL 1.2 has.
        let queue = CommandQueue::create_default(&context, 0).unwrap();
        let target = Target {
            compute_units: 2,
            local_bytes: 32 << 10,
            general_points: 0,
            ..target_on_buffers(&device)
        };
        Tested { name: device.name().unwrap(), target, context, queue, kernels: RefCell::default() }
    };
    ids.into_iter().map(tested).collect()
}

impl Tested {
    /// Whether elements of a dtype are values here.
    pub(crate) fn has(&self, dtype: Dtype) -> bool {
        match dtype {
            Dtype::F16 => self.target.fp16,
            Dtype::F64 | Dtype::C128 => self.target.fp64,
            _ => true,
        }
    }

    fn buffer(&self, bytes: &[u8]) -> Buffer<u8> {
        let len = bytes.len().max(1);
        // SAFETY: no host pointer.
        let mut buffer =
            unsafe { Buffer::<u8>::create(&self.context, CL_MEM_READ_WRITE, len, ptr::null_mut()).unwrap() };
        if !bytes.is_empty() {
            // SAFETY: blocking, of the buffer's size.
            unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, bytes, &[]).unwrap() };
        }
        buffer
    }

    /// Runs a plan over regions, the last of which is written.
    pub(crate) fn run(
        &self,
        target: &Target,
        plan: &LaunchPlan,
        regions: &mut [Region],
        work: impl for<'a> Fn(&'a LaunchPlan, &'a Target) -> Result<Work<'a>>,
    ) {
        let first = regions.len() - 1;
        self.run_work(target, work(plan, target).unwrap(), regions, first);
    }

    /// Runs work over regions, of which those from one on are written.
    pub(crate) fn run_work(&self, target: &Target, work: Work<'_>, regions: &mut [Region], first: usize) {
        let buffers: Vec<Buffer<u8>> = regions.iter().map(|r| self.buffer(&r.bytes)).collect();
        let Work { scratch_bytes, stages } = work;
        // What was there before must not matter.
        let scratch = self.buffer(&vec![0xa5; scratch_bytes]);
        for mut stage in stages {
            let source = (stage.source)();
            // A key stands for one text, whatever else a target says: it is of one device.
            if let Ok(folder) = std::env::var("STRIDEWISE_OPENCL_TEXTS") {
                std::fs::write(format!("{folder}/last.cl"), &source).unwrap();
            }
            for flag in [target.cpu, target.exact_division, target.fp64, target.fp16] {
                stage.key.push(usize::from(flag));
            }
            let mut kernels = self.kernels.borrow_mut();
            let (text, kernel) = kernels.entry(stage.key).or_insert_with(|| {
                let built = Built::create_and_build_from_source(&self.context, &source, "")
                    .unwrap_or_else(|log| panic!("{}: {log}\n{source}", self.name));
                (source.clone(), Kernel::create(&built, "run").unwrap())
            });
            assert_eq!(*text, source, "one key, two texts");
            let mut index = 0;
            let mut set = |bytes: usize, value: *const c_void| {
                // SAFETY: the kernel copies so many bytes, or takes them as the size of local memory.
                unsafe { opencl3::kernel::set_kernel_arg(kernel.get(), index, bytes, value).unwrap() };
                index += 1;
            };
            for argument in &stage.arguments {
                let mut memory = |buffer: &Buffer<u8>, offset: i64| {
                    let object = buffer.get();
                    set(size_of_val(&object), (&raw const object).cast());
                    set(8, (&raw const offset).cast());
                };
                match argument {
                    Argument::Memory(at) => {
                        let (region, bytes) = ((at.addr() >> REGION) - 1, at.addr() & ((1 << REGION) - 1));
                        memory(&buffers[region], bytes as i64);
                    }
                    Argument::Scratch(from) => memory(&scratch, *from as i64),
                    Argument::Bytes(bytes) => set(bytes.len(), bytes.as_ptr().cast()),
                    Argument::Local(bytes) => set(*bytes, ptr::null()),
                }
            }
            for d in 0..2 {
                assert_eq!(stage.global[d] % stage.local[d], 0);
            }
            // SAFETY: all arguments are set, in the order of the parameters.
            unsafe {
                self.queue
                    .enqueue_nd_range_kernel(
                        kernel.get(),
                        2,
                        ptr::null(),
                        stage.global.as_ptr(),
                        stage.local.as_ptr(),
                        &[],
                    )
                    .unwrap();
            }
        }
        for (region, buffer) in regions.iter_mut().zip(&buffers).skip(first) {
            // SAFETY: blocking, of the buffer's size.
            unsafe {
                self.queue.enqueue_read_buffer(buffer, CL_BLOCKING, 0, &mut region.bytes, &[]).unwrap();
            }
        }
    }
}

/// Numbers that look random and are the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Whether two values are the same: to the bit, but for the bits of a NaN and, where asked for, the sign of zeros.
pub(crate) fn same(a: Scalar, b: Scalar, zeros: bool) -> bool {
    let equal =
        |x: f64, y: f64| (x.is_nan() && y.is_nan()) || (x == y && (!zeros || x.to_bits() == y.to_bits()));
    if !a.dtype().kind().is_inexact() {
        return a == b;
    }
    let (a, b) = (a.to_c128(), b.to_c128());
    equal(a.re, b.re) && equal(a.im, b.im)
}

/// The inputs of a plan's program at a multi-index.
pub(crate) fn inputs_at(plan: &LaunchPlan, regions: &[Region], index: &[usize]) -> Vec<Scalar> {
    let inputs = plan.inputs.iter().enumerate();
    inputs
        .map(|(k, operand)| {
            let offset: isize = operand.strides.iter().zip(index).map(|(&s, &i)| s * i.cast_signed()).sum();
            if plan.program.is_index(k) {
                return Scalar::I64((operand.ptr.addr().cast_signed() + offset) as i64);
            }
            let (region, first) = place(operand, plan.program.inputs()[k]);
            regions[region].get(first + offset)
        })
        .collect()
}

/// Steps a multi-index on in row-major order; whether there was a next one.
pub(crate) fn next(index: &mut [usize], extents: &[usize]) -> bool {
    for d in (0..extents.len()).rev() {
        index[d] += 1;
        if index[d] < extents[d] {
            return true;
        }
        index[d] = 0;
    }
    false
}

/// Values whose folds are exact in any order: sums of small whole numbers, products of powers of two and minus one.
pub(crate) fn value(dtype: Dtype, product: bool, random: &mut Random) -> Scalar {
    let mut number = || match (product, random.below(100)) {
        (true, 0) => 2.0,
        (true, 1) => 0.5,
        (true, i) if i % 2 == 0 => 1.0,
        (true, _) => -1.0,
        (false, i) => (i % 17) as f64 - 8.0,
    };
    let value = if dtype.kind() == DtypeKind::Complex {
        let (re, im) = (number(), number());
        // One part of a factor is zero.
        let im = if product { 0.0 } else { im };
        Scalar::C128(Complex::new(re, im))
    } else {
        Scalar::F64(number())
    };
    match dtype.kind() {
        DtypeKind::Bool => Scalar::Bool(random.below(3) == 0),
        DtypeKind::Unsigned => Scalar::I64(random.below(1 << 20) as i64).cast(dtype),
        DtypeKind::Signed => Scalar::I64(random.below(1 << 20) as i64 - (1 << 19)).cast(dtype),
        _ => value.cast(dtype),
    }
}

/// An input of the extents: strides of an order of the dimensions, with gaps, signs and broadcasts by chance.
pub(crate) fn input(
    region: usize,
    dtype: Dtype,
    dims: &[usize],
    product: bool,
    plain: bool,
    random: &mut Random,
) -> (Operand, Region) {
    let mut order: Vec<usize> = (0..dims.len()).rev().collect();
    if !plain && random.below(2) == 0 {
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
    }
    let mut strides = vec![0_isize; dims.len()];
    let gaps = !plain && random.below(3) == 0;
    let mut len = 1 + usize::from(gaps && random.below(2) == 0);
    let mut first = 0;
    for d in order {
        if !plain && random.below(8) == 0 {
            continue;
        }
        strides[d] = len.cast_signed();
        if !plain && random.below(6) == 0 {
            first += len * (dims[d] - 1);
            strides[d] = -strides[d];
        }
        len *= dims[d];
        len += if gaps { random.below(3) } else { 0 };
    }
    let shift = if plain { 0 } else { [0, 0, 1, 3][random.below(4)] };
    let values: Vec<Scalar> = (0..len + shift).map(|_| value(dtype, product, random)).collect();
    (operand(region, dtype, (first + shift).cast_signed(), &strides), Region::new(dtype, &values))
}
