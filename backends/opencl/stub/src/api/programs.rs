//! Programs: a source with `#error` in it does not build.

use std::ffi::{c_char, c_uchar, c_void};

use opencl_sys::*;

use super::{handle, handles, int, signed, size, text};
use crate::entry::Call;
use crate::kernels;
use crate::objects::{Body, Program, Sort};
use crate::state::pointer;

/// How the stub's binaries begin; the source follows.
const BINARY: &[u8] = b"stridewise stub binary 1\n";

/// A build's callback.
type Built = Option<unsafe extern "C" fn(program: cl_program, data: *mut c_void)>;

fn create(call: &mut Call<'_>, context: cl_context, source: String) -> cl_program {
    let program = Program {
        context: context as usize,
        source,
        status: CL_BUILD_NONE,
        log: String::new(),
        options: String::new(),
    };
    call.create(Body::Program(program))
}

/// What the compiler has to say about a source; an `Err` is a log of errors.
fn compile(source: &str) -> Result<String, String> {
    match source.lines().enumerate().find(|(_, line)| line.trim_start().starts_with("#error")) {
        Some((number, line)) => Err(format!("stub:{}: error: {}", number + 1, line.trim())),
        None => Ok(String::new()),
    }
}

entries! {
    object fn clCreateProgramWithSource(
        call,
        context: cl_context,
        count: cl_uint,
        strings: *mut *const c_char,
        lengths: *const usize,
    ) -> cl_program {
        call.context(context)?;
        let strings = call.list(strings.cast_const(), count as usize);
        let lengths = call.list(lengths, count as usize);
        if strings.is_empty() || strings.iter().any(|string| string.is_null()) {
            return Err(CL_INVALID_VALUE);
        }
        let mut source = String::new();
        for (i, string) in strings.into_iter().enumerate() {
            match lengths.get(i) {
                Some(&length) if length > 0 => {
                    source.push_str(&String::from_utf8_lossy(&call.list(string.cast::<u8>(), length)));
                }
                _ => source.push_str(&call.text(string)),
            }
        }
        Ok(create(call, context, source))
    }

    object fn clCreateProgramWithBinary(
        call,
        context: cl_context,
        count: cl_uint,
        devices: *const cl_device_id,
        lengths: *const usize,
        binaries: *mut *const c_uchar,
        statuses: *mut cl_int,
    ) -> cl_program {
        let known = call.context(context)?.devices.clone();
        let devices = call.list(devices, count as usize);
        if devices.is_empty() {
            return Err(CL_INVALID_VALUE);
        }
        if devices.iter().any(|device| !known.contains(&(*device as usize))) {
            return Err(CL_INVALID_DEVICE);
        }
        let lengths = call.list(lengths, devices.len());
        let binaries = call.list(binaries.cast_const(), devices.len());
        let mut source = None;
        for (i, (length, binary)) in lengths.into_iter().zip(binaries).enumerate() {
            let bytes = call.list(binary, length);
            source = bytes.strip_prefix(BINARY).map(|source| String::from_utf8_lossy(source).into_owned());
            let status = if source.is_some() { CL_SUCCESS } else { CL_INVALID_BINARY };
            if !statuses.is_null() {
                call.put(statuses.wrapping_add(i), status);
            }
            if source.is_none() {
                break;
            }
        }
        let source = source.ok_or(CL_INVALID_BINARY)?;
        Ok(create(call, context, source))
    }

    status fn clRetainProgram(call, program: cl_program) {
        call.retain(program, Sort::Program)
    }

    status fn clReleaseProgram(call, program: cl_program) {
        call.release(program, Sort::Program)
    }

    status fn clBuildProgram(
        call,
        program: cl_program,
        _count: cl_uint,
        _devices: *const cl_device_id,
        options: *const c_char,
        built: Built,
        data: *mut c_void,
    ) {
        let options = call.text(options);
        let failure = call.fault("run:clBuildProgram");
        let found = call.program(program)?;
        found.options = options;
        let result = match failure {
            Some(code) => Err(format!("stub: error: a failure on command ({code})")),
            None => compile(&found.source),
        };
        let outcome = if result.is_ok() { Ok(()) } else { Err(CL_BUILD_PROGRAM_FAILURE) };
        found.status = if result.is_ok() { CL_BUILD_SUCCESS } else { CL_BUILD_ERROR };
        found.log = result.unwrap_or_else(|log| log);
        if let Some(built) = built {
            let (program, data) = (program as usize, data as usize);
            call.callbacks.push(move || {
                // SAFETY: the application gave the function and its data for this call.
                unsafe { built(pointer(program), pointer(data)) };
            });
        }
        outcome
    }

    status fn clGetProgramInfo(
        call,
        program: cl_program,
        name: cl_program_info,
        room: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        let references = call.references(program);
        let Program { context, source, status, .. } = call.program(program)?;
        let (context, source, built) = (*context, source.clone(), *status == CL_BUILD_SUCCESS);
        let devices = match call.context(pointer(context)) {
            Ok(context) => context.devices.clone(),
            Err(_) => Vec::new(),
        };
        let binary = if built { [BINARY, source.as_bytes()].concat() } else { Vec::new() };
        let kernels = || if built { Ok(kernels::kernels(&source)) } else { Err(CL_INVALID_PROGRAM_EXECUTABLE) };
        let answer = match name {
            CL_PROGRAM_REFERENCE_COUNT => int(references),
            CL_PROGRAM_CONTEXT => handle(context),
            CL_PROGRAM_NUM_DEVICES => int(u32::try_from(devices.len()).unwrap_or(u32::MAX)),
            CL_PROGRAM_DEVICES => handles(&devices),
            CL_PROGRAM_SOURCE => text(&source),
            CL_PROGRAM_BINARY_SIZES => devices.iter().flat_map(|_| size(binary.len())).collect(),
            CL_PROGRAM_BINARIES => {
                let bytes = size_of::<usize>() * devices.len();
                if !value.is_null() {
                    if room < bytes {
                        return Err(CL_INVALID_VALUE);
                    }
                    for place in call.list(value.cast_const().cast::<*mut u8>(), devices.len()) {
                        if !place.is_null() {
                            call.put_all(place, &binary);
                        }
                    }
                }
                call.put(size_ret, bytes);
                return Ok(());
            }
            CL_PROGRAM_NUM_KERNELS => size(kernels()?.len()),
            CL_PROGRAM_KERNEL_NAMES => {
                let names: Vec<String> = kernels()?.into_iter().map(|(name, _)| name).collect();
                text(&names.join(";"))
            }
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, room, value, size_ret)
    }

    status fn clGetProgramBuildInfo(
        call,
        program: cl_program,
        device: cl_device_id,
        name: cl_program_build_info,
        room: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) {
        call.device(device)?;
        let program = call.program(program)?;
        let answer = match name {
            CL_PROGRAM_BUILD_STATUS => signed(program.status),
            CL_PROGRAM_BUILD_OPTIONS => text(&program.options),
            CL_PROGRAM_BUILD_LOG => text(&program.log),
            CL_PROGRAM_BINARY_TYPE => int(match program.status {
                CL_BUILD_SUCCESS => CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
                _ => CL_PROGRAM_BINARY_TYPE_NONE,
            }),
            CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE => size(0),
            _ => return Err(CL_INVALID_VALUE),
        };
        call.answer(&answer, room, value, size_ret)
    }
}
