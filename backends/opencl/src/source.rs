//! Kernels from sources of users: what they are compiled from, what the runtime tells of them, how they are run.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use opencl3::error_codes::CL_INVALID_PROGRAM_EXECUTABLE;
use opencl3::kernel as k;
use opencl3::program as cl;
use opencl3::types::{cl_event, cl_kernel};
use smallvec::SmallVec;
use stridewise_core::backend::{
    CompiledKernel, Language, ParameterSpace, RuntimeCall, Source, SourceKernelInfo, SourceLaunch,
    SourceParameter, SourceValue, assert_unlocked,
};
use stridewise_core::{Dtype, Error, Result};

use crate::device::Shared;
use crate::enqueue::{abandon, enqueue_kernel, set_value};
use crate::error::failed;
use crate::event::Native;
use crate::handle::{EventObject, KernelObject, MemoryObject, Program};
use crate::memory::Pointer;
use crate::program::{Kernel, Programs, binary_of};
use crate::queue::ScratchBlock;

/// Bytes of a source at most whose kernels are kept in memory.
const KEPT_BYTES: usize = 1 << 20;

/// Of OpenCL C, the runtime is asked to know the parameters of kernels.
const TELL_PARAMETERS: &str = "-cl-kernel-arg-info";

/// What a bundle of kernels is known by: the form, the options and the source.
pub(crate) type BundleKey = Arc<[u8]>;

/// Whether what is compiled depends on the source alone: on no file that it includes.
fn is_whole(source: Source<'_>, options: &str) -> bool {
    let includes = |text: &str| text.contains("include");
    !includes(options) && !source.text().is_ok_and(includes)
}

impl Programs {
    /// The kernels of a source, compiled where they are not kept.
    ///
    /// # Errors
    /// [`Error::Compilation`] with the compiler's log; what the runtime reports.
    pub(crate) fn bundle(&self, source: Source<'_>, options: &str) -> Result<Vec<CompiledKernel>> {
        let key = [source.language().name().as_bytes(), options.as_bytes(), source.code()].join(&0);
        let whole = is_whole(source, options);
        if !whole || key.len() > KEPT_BYTES {
            return self.compile_bundle(source, options, whole.then_some(&key));
        }
        let key = BundleKey::from(key);
        if let Some(known) = self.bundles.get(&key) {
            return Ok(known.to_vec());
        }
        let made = self.compile_bundle(source, options, Some(&key))?;
        Ok(self.bundles.insert(&key, made.into()).to_vec())
    }

    fn compile_bundle(
        &self,
        source: Source<'_>,
        options: &str,
        key: Option<&[u8]>,
    ) -> Result<Vec<CompiledKernel>> {
        assert_unlocked("a compilation");
        let _call = RuntimeCall::begin()?;
        let (written, tells) = match source.language() {
            Language::OpenClC => (format!("{options} {TELL_PARAMETERS}"), true),
            _ => (options.to_owned(), false),
        };
        // Core has seen to it that there is no zero byte.
        let flags = CString::new(written).unwrap_or_default();
        if let Some(kernels) = key
            .and_then(|key| self.disk.load(key))
            .and_then(|binary| self.program_of_binary(&binary, &flags))
            .and_then(|program| self.kernels_of(program).ok())
            // A runtime may have forgotten the parameters.
            .filter(|kernels| !tells || kernels.iter().all(|kernel| kernel.info.parameters.is_some()))
        {
            return Ok(kernels);
        }
        let (call, raw) = match source.language() {
            Language::OpenClC => {
                ("clCreateProgramWithSource", cl::create_program_with_source(self.context, &[source.text()?]))
            }
            _ => ("clCreateProgramWithIL", cl::create_program_with_il(self.context, source.code())),
        };
        let refused = |code: i32, log: &str| {
            Error::compilation(
                "source",
                format!("{}, refused ({}):\n{log}\n", source.language(), crate::error::name(code)),
                "a source that the device's compiler takes, with options that it knows",
                "see the compiler's log",
            )
        };
        let program = match raw {
            Ok(raw) => Program::new(raw),
            Err(code @ (-30 | -42)) => return Err(refused(code, "not a program of this form")),
            Err(code) => return Err(failed(call, "a source", code)),
        };
        self.compile(&program, &flags).map_err(|code| match code {
            // Of the source or the options; the others are the runtime's own.
            -11 | -15 | -17 | -42 | -43 | -66 => refused(code, self.log(program.raw()).trim()),
            code => failed("clBuildProgram", "a source", code),
        })?;
        if let (Some(key), Some(binary)) = (key, binary_of(program.raw())) {
            self.disk.store(key, &binary);
        }
        self.kernels_of(program).map_err(|code| failed("clCreateKernel", "a kernel of a source", code))
    }

    fn kernels_of(&self, program: Program) -> Result<Vec<CompiledKernel>, i32> {
        let names = match cl::get_program_info(program.raw(), cl::CL_PROGRAM_NUM_KERNELS).map(usize::from) {
            // Of what was built, the second is said where there is no kernel; names of none are anything.
            Ok(0) | Err(CL_INVALID_PROGRAM_EXECUTABLE) => String::new(),
            Ok(_) => String::from(cl::get_program_info(program.raw(), cl::CL_PROGRAM_KERNEL_NAMES)?),
            Err(code) => return Err(code),
        };
        let program = Arc::new(program);
        let names = names.trim_matches('\0').split(';').filter(|name| !name.is_empty());
        names
            .map(|name| {
                let text = CString::new(name).unwrap_or_default();
                let object = KernelObject::new(k::create_kernel(program.raw(), &text)?);
                let info = Arc::new(self.info(object.raw(), name)?);
                let kernel = Kernel { object: Mutex::new(object), _program: Arc::clone(&program) };
                Ok(CompiledKernel { info, handle: Arc::new(kernel) })
            })
            .collect()
    }

    fn info(&self, kernel: cl_kernel, name: &str) -> Result<SourceKernelInfo, i32> {
        let group = |what| k::get_kernel_work_group_info(kernel, self.device.id(), what);
        let sub_group = |what, input: &[usize]| {
            let (bytes, input) = (size_of_val(input), input.as_ptr().cast());
            let told = k::get_kernel_sub_group_info(kernel, self.device.id(), what, bytes, input);
            told.map_or(0, usize::from)
        };
        let num_args = u32::from(k::get_kernel_info(kernel, k::CL_KERNEL_NUM_ARGS)?);
        let demanded =
            k::get_kernel_work_group_data(kernel, self.device.id(), k::CL_KERNEL_COMPILE_WORK_GROUP_SIZE)?;
        let mut compile_work_group_size = [0; 3];
        for (extent, bytes) in
            compile_work_group_size.iter_mut().rev().zip(demanded.chunks_exact(size_of::<usize>()))
        {
            *extent = usize::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        let work_group_size = usize::from(group(k::CL_KERNEL_WORK_GROUP_SIZE)?);
        let (most, one) = if self.sub_groups { ([work_group_size, 1, 1], true) } else { ([0; 3], false) };
        let told = |what, input: &[usize]| if one { sub_group(what, input) } else { 0 };
        let mut info = SourceKernelInfo::new(name, num_args as usize, work_group_size);
        info.parameters = (0..num_args).map(|number| parameter(kernel, number)).collect();
        info.preferred_work_group_size_multiple =
            usize::from(group(k::CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE)?);
        info.compile_work_group_size =
            (!compile_work_group_size.contains(&0)).then_some(compile_work_group_size);
        info.private_mem_size = u64::from(group(k::CL_KERNEL_PRIVATE_MEM_SIZE)?);
        info.local_mem_size = u64::from(group(k::CL_KERNEL_LOCAL_MEM_SIZE)?);
        info.max_num_sub_groups = told(k::CL_KERNEL_MAX_NUM_SUB_GROUPS, &[]);
        info.max_sub_group_size = told(k::CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, &most);
        info.compile_num_sub_groups = told(k::CL_KERNEL_COMPILE_NUM_SUB_GROUPS, &[]);
        Ok(info)
    }
}

/// A parameter, where the runtime tells of it.
fn parameter(kernel: cl_kernel, number: u32) -> Option<SourceParameter> {
    let tell = |what| k::get_kernel_arg_info(kernel, number, what).ok();
    let text = |what| Some(String::from(tell(what)?).trim_end_matches('\0').to_owned());
    let type_name = text(k::CL_KERNEL_ARG_TYPE_NAME).filter(|name| !name.is_empty())?;
    let constant =
        u64::from(tell(k::CL_KERNEL_ARG_TYPE_QUALIFIER)?) & u64::from(k::CL_KERNEL_ARG_TYPE_CONST) != 0;
    let space = match u32::from(tell(k::CL_KERNEL_ARG_ADDRESS_QUALIFIER)?) {
        k::CL_KERNEL_ARG_ADDRESS_GLOBAL => ParameterSpace::Global { read_only: constant },
        k::CL_KERNEL_ARG_ADDRESS_CONSTANT => ParameterSpace::Global { read_only: true },
        k::CL_KERNEL_ARG_ADDRESS_LOCAL => ParameterSpace::Local,
        _ => ParameterSpace::Value(dtype(&type_name)),
    };
    Some(SourceParameter::new(text(k::CL_KERNEL_ARG_NAME).unwrap_or_default(), type_name, space))
}

/// The dtype of a type of OpenCL C.
fn dtype(name: &str) -> Option<Dtype> {
    Some(match name {
        "char" | "signed char" => Dtype::I8,
        "uchar" | "unsigned char" => Dtype::U8,
        "short" => Dtype::I16,
        "ushort" | "unsigned short" => Dtype::U16,
        "int" => Dtype::I32,
        "uint" | "unsigned int" => Dtype::U32,
        "long" => Dtype::I64,
        "ulong" | "unsigned long" => Dtype::U64,
        "half" => Dtype::F16,
        "float" => Dtype::F32,
        "double" => Dtype::F64,
        "float2" => Dtype::C64,
        "double2" => Dtype::C128,
        _ => return None,
    })
}

/// Enqueues a launch: what is copied to where a kernel may begin, the kernel, what is copied back.
pub(crate) fn enqueue(
    device: &Shared,
    native: &mut Native,
    launch: &SourceLaunch,
    waits: &[cl_event],
    eventful: bool,
) -> Result<()> {
    let mut copies = Vec::new();
    let outcome = enqueue_all(device, native, launch, waits, eventful, &mut copies);
    if outcome.is_err() {
        abandon(native);
    }
    for mut block in copies {
        block.used_by(native.parts.last());
        device.scratch.put(block);
    }
    outcome
}

fn enqueue_all(
    device: &Shared,
    native: &mut Native,
    launch: &SourceLaunch,
    waits: &[cl_event],
    eventful: bool,
    copies: &mut Vec<ScratchBlock>,
) -> Result<()> {
    let Some(kernel) = launch.kernel.handle.downcast_ref::<Kernel>() else {
        return Err(Error::unsupported(
            "kernel",
            format!("{:?}", launch.kernel),
            "a kernel that this backend has compiled",
            "this is a defect of the engine: please report it",
        ));
    };
    let queue = Arc::clone(&native.queue);
    // Parts of buffers live until the runtime has the command, which keeps them.
    let mut parts: SmallVec<[MemoryObject; 4]> = SmallVec::new();
    let mut pointers: SmallVec<[Option<Pointer>; 8]> = SmallVec::new();
    let mut back = Vec::new();
    for argument in &launch.arguments {
        let SourceValue::Memory { ptr, bytes, read_only } = argument else {
            pointers.push(None);
            continue;
        };
        let pointer = match device.memory.pointer(*ptr, *bytes, device.base_align, &mut parts)? {
            Some(pointer) => pointer,
            None => {
                let block = device.scratch.take(device, &queue, *bytes)?;
                let copy = block.memory.ptr;
                copies.push(block);
                // SAFETY: the launch's memory is live, and the block is nobody else's and large enough.
                let event = unsafe { device.memory.enqueue_copy(&queue.object, copy, *ptr, *bytes, waits) }?;
                native.parts.push(event);
                if !read_only {
                    back.push((*ptr, copy, *bytes));
                }
                let pointer = device.memory.pointer(copy, *bytes, device.base_align, &mut parts)?;
                pointer.ok_or_else(|| failed("clCreateBuffer", "memory of a kernel", -13))?
            }
        };
        pointers.push(Some(pointer));
    }
    let mut all: SmallVec<[cl_event; 8]> = waits.into();
    all.extend(native.parts.iter().map(EventObject::raw));
    let staged = !native.parts.is_empty();
    let event = {
        let object = kernel.object.lock().unwrap_or_else(PoisonError::into_inner);
        let raw = object.raw();
        for (number, (argument, pointer)) in (0..).zip(launch.arguments.iter().zip(&pointers)) {
            // SAFETY: the kernel is live and locked; memory is the launch's, values have the bytes that are said.
            let set = unsafe {
                match (argument, pointer) {
                    (_, Some(pointer)) => device.memory.set_pointer(raw, number, pointer),
                    (SourceValue::Bytes(bytes), _) => set_value(raw, number, bytes.len(), bytes.as_ptr()),
                    (SourceValue::Local(bytes), _) => set_value(raw, number, *bytes, std::ptr::null()),
                    (SourceValue::Memory { .. }, None) => Err(-38),
                }
            };
            set.map_err(|code| self::argument(launch, number as usize, code))?;
        }
        // OpenCL counts axes from the fastest one on.
        let reversed = |extents: &[usize]| extents.iter().rev().copied().collect::<SmallVec<[usize; 3]>>();
        let (global, local) = (reversed(&launch.global), launch.group.as_deref().map(reversed));
        enqueue_kernel(device, &queue, raw, &global, local.as_deref(), &all, eventful || staged)?
    };
    match event {
        Some(event) => native.parts.push(event),
        None => native.ticket = queue.issue(),
    }
    for (to, from, bytes) in back {
        let last: SmallVec<[cl_event; 1]> = native.parts.last().map(EventObject::raw).into_iter().collect();
        // SAFETY: staging memory and its target have as many bytes, and live until the event is complete; the
        // copy begins when the kernel, or the copy before it, has ended.
        let event = unsafe { device.memory.enqueue_copy(&queue.object, to, from, bytes, &last) }?;
        native.parts.push(event);
    }
    Ok(())
}

/// What the runtime says against an argument.
fn argument(launch: &SourceLaunch, number: usize, code: i32) -> Error {
    let given = match &launch.arguments[number] {
        SourceValue::Memory { bytes, .. } => format!("{bytes} bytes of memory"),
        SourceValue::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
        SourceValue::Local(bytes) => format!("{bytes} bytes of local memory"),
    };
    // Of another size or kind than the parameter's.
    if matches!(code, -38 | -50 | -51) {
        return Error::value(
            format!("args[{number}]"),
            format!("{given} ({})", crate::error::name(code)),
            format!("what parameter {number} of kernel `{}` takes", launch.kernel.info.name),
            "give the arguments in the order of the parameters, in their types",
        );
    }
    failed(
        "clSetKernelArg",
        format!("argument {number} of kernel `{}`, {given}", launch.kernel.info.name),
        code,
    )
}
