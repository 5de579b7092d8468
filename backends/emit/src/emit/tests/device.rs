//! Running functions of programs on whatever OpenCL devices there are.

use std::fmt::Write as _;
use std::ptr;

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device, get_all_devices};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY};
use opencl3::program::Program as Built;
use opencl3::types::{CL_BLOCKING, cl_int};
use stridewise_core::{Dtype, Scalar, backend::Program};

use super::super::{function, literal, prelude};
use crate::devices::target_on_buffers;
use crate::kernels::Target;
use crate::kernels::text::c_type;

/// A device under test.
pub(super) struct Tested {
    pub(super) name: String,
    pub(super) target: Target,
    context: Context,
    queue: CommandQueue,
}

/// Every device of every platform; none, with a message, where there is no OpenCL.
pub(super) fn devices() -> Vec<Tested> {
    let ids = get_all_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default();
    if ids.is_empty() {
        eprintln!("skipped: no OpenCL device");
    }
    ids.into_iter()
        .map(|id| {
            let device = Device::new(id);
            let context = Context::from_device(&device).unwrap();
            #[allow(deprecated)] // The one that OpenCL 1.2 has.
            let queue = CommandQueue::create_default(&context, 0).unwrap();
            let target = target_on_buffers(&device);
            Tested { name: device.name().unwrap(), target, context, queue }
        })
        .collect()
}

/// What a compiler sees of programs' constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Constants {
    /// The values.
    Written,
    /// That they are the same for all work-items.
    Given,
}

/// Programs of inputs of one dtype (but for a condition, which is the first), in one kernel that is told which output to
/// write, counted through all programs.
pub(super) struct Functions {
    dtype: Dtype,
    results: Vec<Dtype>,
    kernel: Kernel,
    /// The constants of all programs, 16 bytes each.
    given: Vec<u8>,
}

impl Tested {
    /// Compiles the programs.
    pub(super) fn compile(
        &self,
        target: &Target,
        dtype: Dtype,
        programs: &[Program],
        constants: Constants,
    ) -> Functions {
        let mut source = prelude(target, &programs.iter().collect::<Vec<_>>());
        let mut cases = String::new();
        let mut results = Vec::new();
        let mut given = Vec::new();
        for (i, program) in programs.iter().enumerate() {
            source.push_str(&function(&format!("f{i}"), program, target));
            let inputs = program.inputs().iter().zip(["a[i]", "b[i]", "c[i]"]);
            let inputs =
                inputs.map(|(&input, text)| if input == dtype { text } else { "mask[i]" }.to_string());
            let values = program.consts().iter().map(|value| match constants {
                Constants::Written => literal(value),
                Constants::Given => {
                    given.extend(value.to_bytes());
                    let (ty, place) = (c_type(value.dtype()), given.len() - 16);
                    format!("*(global const {ty} *)(given + {place})")
                }
            });
            let mut arguments: Vec<String> = inputs.chain(values).collect();
            let outputs = 0..program.outputs().len();
            let types: Vec<&str> = outputs.clone().map(|o| c_type(program.output_dtype(o))).collect();
            let single = outputs.len() == 1;
            if !single {
                arguments.extend(outputs.clone().map(|o| format!("&o{o}")));
            }
            let call = format!("f{i}({})", arguments.join(", "));
            for output in outputs {
                let (number, result) = (results.len(), types[output]);
                results.push(program.output_dtype(output));
                let _ = if single {
                    writeln!(cases, "    case {number}: ((global {result} *)out)[i] = {call}; break;")
                } else {
                    let variables: String =
                        types.iter().enumerate().map(|(o, ty)| format!("{ty} o{o}; ")).collect();
                    writeln!(
                        cases,
                        "    case {number}: {{ {variables}{call}; ((global {result} *)out)[i] = o{output}; break; }}"
                    )
                };
            }
        }
        let ty = c_type(dtype);
        let _ = write!(
            source,
            "kernel void run(global const {ty} *a, global const {ty} *b, global const {ty} *c, global const uchar *mask, \
             global uchar *out, global const uchar *given, const int f)\n{{\n    const size_t i = get_global_id(0);\n    switch (f) {{\n{cases}    \
             }}\n}}\n"
        );
        if let Ok(folder) = std::env::var("STRIDEWISE_OPENCL_TEXTS") {
            std::fs::write(format!("{folder}/{}.cl", dtype.name()), &source).unwrap();
        }
        // As programs are built: an operation of one value with itself is a warning, and of one compiler an error.
        let mut options = "-cl-std=CL1.2 -w".to_owned();
        if target.exact_division {
            options.push_str(" -cl-fp32-correctly-rounded-divide-sqrt");
        }
        let built = Built::create_and_build_from_source(&self.context, &source, &options)
            .unwrap_or_else(|log| panic!("{}, {}: {log}\n", self.name, dtype.name()));
        let kernel = Kernel::create(&built, "run").unwrap();
        given.resize(given.len().max(16), 0);
        Functions { dtype, results, kernel, given }
    }

    /// One of the outputs, for the columns of its operands.
    pub(super) fn run(&self, functions: &Functions, number: usize, columns: &[Vec<Scalar>]) -> Vec<Scalar> {
        let (count, result) = (columns[0].len(), functions.results[number]);
        let bytes = |column: &[Scalar]| -> Vec<u8> {
            column.iter().flat_map(|v| v.to_bytes()[..v.dtype().size()].to_vec()).collect()
        };
        let buffer = |bytes: &[u8]| {
            // SAFETY: no host pointer.
            let mut buffer = unsafe {
                Buffer::<u8>::create(&self.context, CL_MEM_READ_ONLY, bytes.len(), ptr::null_mut()).unwrap()
            };
            // SAFETY: blocking, of the buffer's size.
            unsafe { self.queue.enqueue_write_buffer(&mut buffer, CL_BLOCKING, 0, bytes, &[]).unwrap() };
            buffer
        };
        let condition = columns[0][0].dtype() != functions.dtype;
        let masks = if condition { bytes(&columns[0]) } else { vec![0; count] };
        let of = |position: usize| match columns.get(position) {
            Some(column) if column[0].dtype() == functions.dtype => bytes(column),
            _ => vec![0; 16 * count],
        };
        let operands: Vec<Buffer<u8>> = (0..3).map(|position| buffer(&of(position))).collect();
        let (mask, given) = (buffer(&masks), buffer(&functions.given));
        let mut got = vec![0u8; count * result.size()];
        // SAFETY: no host pointer.
        let out = unsafe {
            Buffer::<u8>::create(&self.context, CL_MEM_WRITE_ONLY, got.len(), ptr::null_mut()).unwrap()
        };
        let number = number as cl_int;
        // SAFETY: the parameters of the kernel in `compile`; every buffer has `count` elements.
        unsafe {
            ExecuteKernel::new(&functions.kernel)
                .set_arg(&operands[0])
                .set_arg(&operands[1])
                .set_arg(&operands[2])
                .set_arg(&mask)
                .set_arg(&out)
                .set_arg(&given)
                .set_arg(&number)
                .set_global_work_size(count)
                .enqueue_nd_range(&self.queue)
                .unwrap();
            // In order, and blocking.
            self.queue.enqueue_read_buffer(&out, CL_BLOCKING, 0, &mut got, &[]).unwrap();
        }
        got.chunks_exact(result.size())
            .map(|chunk| {
                let mut native = [0; 16];
                native[..chunk.len()].copy_from_slice(chunk);
                Scalar::from_bytes(result, &native)
            })
            .collect()
    }
}
