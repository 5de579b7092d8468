//! Kernels: their arguments are checked, their launches do nothing.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use opencl_sys::*;

use super::{handle, int, long, size, text};
use crate::commands::{Waits, Work};
use crate::entry::{Call, Outcome};
use crate::kernels::{Argument, Parameter, kernels};
use crate::objects::{Body, Kernel, Sort};
use crate::state::pointer;

/// Work-items of a group at most.
const GROUP: usize = 1024;

/// The parameter that an argument is for.
fn parameter(call: &mut Call<'_>, kernel: cl_kernel, index: cl_uint) -> Outcome<(Parameter, usize)> {
    let kernel = call.kernel(kernel)?;
    let parameter = kernel.parameters.get(index as usize).cloned().ok_or(CL_INVALID_ARG_INDEX)?;
    Ok((parameter, kernel.context))
}

fn set(call: &mut Call<'_>, kernel: cl_kernel, index: cl_uint, argument: Argument) -> Outcome<()> {
    call.kernel(kernel)?.arguments[index as usize] = Some(argument);
    Ok(())
}

fn set_pointer(call: &mut Call<'_>, kernel: cl_kernel, index: cl_uint, value: *const c_void) -> Outcome<()> {
    let (parameter, context) = parameter(call, kernel, index)?;
    if parameter != Parameter::Memory {
        return Err(CL_INVALID_ARG_VALUE);
    }
    let address = value as usize;
    if address != 0 {
        call.reach_allocation(address, 0, context).map_err(|_| CL_INVALID_ARG_VALUE)?;
    }
    set(call, kernel, index, Argument::Pointer(address))
}

/// The extents of a launch, which must fit into groups.
fn extents(call: &Call<'_>, dimensions: cl_uint, global: *const usize, local: *const usize) -> Outcome<()> {
    if !(1..=3).contains(&dimensions) {
        return Err(CL_INVALID_WORK_DIMENSION);
    }
    let global = call.list(global, dimensions as usize);
    let local = call.list(local, dimensions as usize);
    if global.is_empty() || global.contains(&0) {
        return Err(CL_INVALID_GLOBAL_WORK_SIZE);
    }
    let fits = global.iter().zip(&local).all(|(&global, &local)| local > 0 && global.is_multiple_of(local));
    if !fits || local.iter().product::<usize>() > GROUP {
        return Err(CL_INVALID_WORK_GROUP_SIZE);
    }
    if local.get(2).is_some_and(|&third| third > 64) {
        return Err(CL_INVALID_WORK_ITEM_SIZE);
    }
    Ok(())
}

entries! {
    object fn clCreateKernel(call, program: cl_program, name: *const c_char) -> cl_kernel {
        let name = call.text(name);
        let found = call.program(program)?;
        if found.status != CL_BUILD_SUCCESS {
            return Err(CL_INVALID_PROGRAM_EXECUTABLE);
        }
        let context = found.context;
        let kernels = kernels(&found.source);
        let (name, parameters) =
            kernels.into_iter().find(|(known, _)| *known == name).ok_or(CL_INVALID_KERNEL_NAME)?;
        let arguments = vec![None; parameters.len()];
        let kernel = Kernel { context, program: program as usize, name, parameters, arguments };
        Ok(call.create(Body::Kernel(kernel)))
    }

    status fn clCreateKernelsInProgram(
        call,
        program: cl_program,
        room: cl_uint,
        places: *mut cl_kernel,
        count: *mut cl_uint,
    ) {
        let found = call.program(program)?;
        if found.status != CL_BUILD_SUCCESS {
            return Err(CL_INVALID_PROGRAM_EXECUTABLE);
        }
        let context = found.context;
        let kernels = kernels(&found.source);
        call.put(count, u32::try_from(kernels.len()).unwrap_or(u32::MAX));
        if places.is_null() {
            return Ok(());
        }
        if (room as usize) < kernels.len() {
            return Err(CL_INVALID_VALUE);
        }
        for (i, (name, parameters)) in kernels.into_iter().enumerate() {
            let arguments = vec![None; parameters.len()];
            let kernel = Kernel { context, program: program as usize, name, parameters, arguments };
            let kernel = call.create(Body::Kernel(kernel));
            call.put(places.wrapping_add(i), kernel);
        }
        Ok(())
    }

    object fn clCloneKernel(call, kernel: cl_kernel) -> cl_kernel {
        let Kernel { context, program, name, parameters, arguments } = call.kernel(kernel)?;
        let copy = Kernel {
            context: *context,
            program: *program,
            name: name.clone(),
            parameters: parameters.clone(),
            arguments: arguments.clone(),
        };
        Ok(call.create(Body::Kernel(copy)))
    }

    status fn clRetainKernel(call, kernel: cl_kernel) {
        call.retain(kernel, Sort::Kernel)
    }

    status fn clReleaseKernel(call, kernel: cl_kernel) {
        call.release(kernel, Sort::Kernel)
    }

    status fn clSetKernelArg(
        call,
        kernel: cl_kernel,
        index: cl_uint,
        bytes: usize,
        value: *const c_void,
    ) {
        let (parameter, context) = parameter(call, kernel, index)?;
        let argument = match parameter {
            Parameter::Local if bytes == 0 => return Err(CL_INVALID_ARG_SIZE),
            Parameter::Local if !value.is_null() => return Err(CL_INVALID_ARG_VALUE),
            Parameter::Local => Argument::Local,
            Parameter::Value(_) if value.is_null() => return Err(CL_INVALID_ARG_VALUE),
            Parameter::Value(Some(expected)) if expected != bytes => return Err(CL_INVALID_ARG_SIZE),
            Parameter::Value(_) => Argument::Value,
            Parameter::Memory if bytes != size_of::<cl_mem>() => return Err(CL_INVALID_ARG_SIZE),
            Parameter::Memory => {
                let buffer = call.list(value.cast::<usize>(), 1).first().copied().unwrap_or(0);
                if buffer != 0 && call.buffer(pointer(buffer))?.context != context {
                    call.violation(format!("{buffer:#x} is a buffer of another context than its kernel"));
                    return Err(CL_INVALID_MEM_OBJECT);
                }
                Argument::Buffer(buffer)
            }
        };
        set(call, kernel, index, argument)
    }

    status fn clSetKernelArgSVMPointer(call, kernel: cl_kernel, index: cl_uint, value: *const c_void) {
        if !call.config.svm() {
            return Err(CL_INVALID_OPERATION);
        }
        set_pointer(call, kernel, index, value)
    }

    status fn clSetKernelArgMemPointerINTEL(call, kernel: cl_kernel, index: cl_uint, value: *const c_void) {
        set_pointer(call, kernel, index, value)
    }

    status fn clSetKernelExecInfo(
        call,
        kernel: cl_kernel,
        _name: cl_kernel_exec_info,
        _bytes: usize,
        _value: *const c_void,
    ) {
        call.kernel(kernel).map(drop)
    }

    status fn clGetKernelInfo(
        call,
        kernel: cl_kernel,
        name: cl_kernel_info,
        room: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let references = call.references(kernel);
        let kernel = call.kernel(kernel)?;
        let answer = match name {
            CL_KERNEL_FUNCTION_NAME => text(&kernel.name),
            CL_KERNEL_NUM_ARGS => int(u32::try_from(kernel.parameters.len()).unwrap_or(u32::MAX)),
            CL_KERNEL_REFERENCE_COUNT => int(references),
            CL_KERNEL_CONTEXT => handle(kernel.context),
            CL_KERNEL_PROGRAM => handle(kernel.program),
            CL_KERNEL_ATTRIBUTES => text(""),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, room, value, size_ret)
    }

    status fn clGetKernelWorkGroupInfo(
        call,
        kernel: cl_kernel,
        _device: cl_device_id,
        name: cl_kernel_work_group_info,
        room: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        call.kernel(kernel)?;
        let answer = match name {
            CL_KERNEL_WORK_GROUP_SIZE => size(GROUP),
            CL_KERNEL_COMPILE_WORK_GROUP_SIZE => [0; 3].into_iter().flat_map(size).collect(),
            CL_KERNEL_LOCAL_MEM_SIZE | CL_KERNEL_PRIVATE_MEM_SIZE => long(0),
            CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => size(32),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, room, value, size_ret)
    }

    status fn clEnqueueNDRangeKernel(
        call,
        queue: cl_command_queue,
        kernel: cl_kernel,
        dimensions: cl_uint,
        _offset: *const usize,
        global: *const usize,
        local: *const usize,
        count: cl_uint,
        list: *const cl_event,
        event: *mut cl_event,
    ) {
        let context = call.queue(queue)?.context;
        let found = call.kernel(kernel)?;
        let (owner, arguments) = (found.context, found.arguments.clone());
        if owner != context {
            call.violation(format!("{kernel:?} is a kernel of another context"));
            return Err(CL_INVALID_CONTEXT);
        }
        extents(call, dimensions, global, local)?;
        let mut work = Work::nothing(CL_COMMAND_NDRANGE_KERNEL);
        for argument in arguments {
            match argument.ok_or(CL_INVALID_KERNEL_ARGS)? {
                Argument::Buffer(buffer) if buffer != 0 => {
                    let buffer = call.buffer(pointer(buffer))?;
                    let block = Arc::clone(&buffer.block);
                    if block.is_foreign()
                        && let Some(start) = call.reach(block.address, block.bytes, context)?
                    {
                        work.uses.push(start);
                        work.keeps.extend(call.block(start));
                    }
                    work.keeps.push(block);
                }
                Argument::Pointer(address) if address != 0 => {
                    let start = call.reach_allocation(address, 0, context)?;
                    work.uses.push(start);
                    work.keeps.extend(call.block(start));
                }
                _ => {}
            }
        }
        call.enqueue(queue, &Waits(count, list, event), work).map(drop)
    }
}
