//! Programs, kernels, the extension's functions, and parts of devices.

use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use cl3::command_queue::*;
use cl3::device::*;
use cl3::kernel::*;
use cl3::memory::*;
use cl3::platform::*;
use cl3::program::*;
use stridewise_opencl_stub::{Sort, Stub};

use crate::setup::{Setup, live, release};

#[test]
fn programs_build_and_kernels_check_their_arguments() {
    let stub = Stub::load().unwrap();
    let before = live(&stub);
    let setup = Setup::new(0);
    let bad = setup.program("kernel void run() {\n#error no\n}");
    assert_eq!(build_program(bad, &[setup.device], c"", None, null_mut()), Err(-11));
    let log: String = get_program_build_info(bad, setup.device, CL_PROGRAM_BUILD_LOG).unwrap().into();
    assert_eq!(log, "stub:2: error: #error no");

    let source = setup.program("kernel void run(global float *a, const long n, local float *l) {}");
    stub.fail("run:clBuildProgram", 1, -11);
    assert_eq!(build_program(source, &[setup.device], c"", None, null_mut()), Err(-11));
    build_program(source, &[setup.device], c"-cl-std=CL1.2", None, null_mut()).unwrap();
    let binaries: Vec<Vec<u8>> = get_program_info(source, CL_PROGRAM_BINARIES).unwrap().into();
    // SAFETY: the binary is the program's own.
    let program =
        unsafe { create_program_with_binary(setup.context, &[setup.device], &[&binaries[0]]) }.unwrap();
    build_program(program, &[setup.device], c"", None, null_mut()).unwrap();
    // SAFETY: the binary is no binary, which the stub notices.
    assert_eq!(unsafe { create_program_with_binary(setup.context, &[setup.device], &[b"x"]) }, Err(-42));

    assert_eq!(create_kernel(program, c"walk"), Err(-46));
    let kernel = create_kernel(program, c"run").unwrap();
    let buffer = setup.buffer(4);
    let launch = || {
        let (global, local) = ([64_usize], [64_usize]);
        // SAFETY: one dimension.
        unsafe {
            enqueue_nd_range_kernel(
                setup.queue,
                kernel,
                1,
                null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                null(),
            )
        }
    };
    // SAFETY: the sizes are those of the values.
    unsafe {
        set_kernel_arg(kernel, 0, 8, (&raw const buffer).cast()).unwrap();
        assert_eq!(set_kernel_arg(kernel, 1, 4, (&raw const buffer).cast()), Err(-51));
        set_kernel_arg(kernel, 1, 8, (&raw const buffer).cast()).unwrap();
        assert_eq!(set_kernel_arg(kernel, 3, 8, null()), Err(-49));
        assert_eq!(launch(), Err(-52), "an argument is not set");
        set_kernel_arg(kernel, 2, 256, null()).unwrap();
    }
    stub.fail("clEnqueueNDRangeKernel", 1, -6);
    assert_eq!(launch(), Err(-6));
    release(launch().unwrap());
    // SAFETY: nothing uses them any more.
    unsafe {
        release_mem_object(buffer).unwrap();
        assert_eq!(stub.violations(), [""; 0]);
        assert_eq!(launch(), Err(-38));
        release_kernel(kernel).unwrap();
        for program in [bad, source, program] {
            release_program(program).unwrap();
        }
    }
    assert_eq!(stub.violations().len(), 1, "{:?}", stub.violations());
    setup.end();
    assert_eq!(live(&stub), before);
}

#[test]
fn the_extension_has_its_functions() {
    let stub = Stub::load().unwrap();
    let setup = Setup::new(0);
    let platform = get_platform_ids().unwrap()[0];
    let find = |name: &CStr| {
        let runtime = cl3::load_library().as_ref().unwrap();
        runtime.clGetExtensionFunctionAddressForPlatform(platform, name.as_ptr()).unwrap()
    };
    assert!(find(c"clDeviceMemAllocINTEL").is_null());
    stub.set("tier", "usm");
    type Alloc =
        unsafe extern "C" fn(cl_context, cl_device_id, *const c_void, usize, u32, *mut i32) -> *mut c_void;
    type Free = unsafe extern "C" fn(cl_context, *mut c_void) -> i32;
    // SAFETY: the types are the extension's.
    let (alloc, free) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Alloc>(find(c"clDeviceMemAllocINTEL")),
            std::mem::transmute::<*mut c_void, Free>(find(c"clMemFreeINTEL")),
        )
    };
    let before = stub.live(Sort::Allocation);
    let mut code = 1;
    // SAFETY: the context and the device belong together.
    unsafe {
        let memory = alloc(setup.context, setup.device, null(), 100, 65536, &raw mut code);
        assert_eq!((code, memory as usize % 65536), (0, 0));
        assert_eq!(stub.live(Sort::Allocation), before + 1);
        assert_eq!(free(setup.context, memory), 0);
        assert_eq!(free(setup.context, memory), -30);
    }
    assert_eq!(stub.violations().len(), 1);
    setup.end();
}

#[test]
fn devices_can_be_divided() {
    let stub = Stub::load().unwrap();
    let before = stub.live(Sort::Device);
    let setup = Setup::new(0);
    let equally = [CL_DEVICE_PARTITION_EQUALLY, 2, 0];
    // SAFETY: the list ends with 0.
    let parts = create_sub_devices(setup.device, &equally).unwrap();
    assert_eq!(parts.len(), 2);
    let units: u32 = get_device_info(parts[0], CL_DEVICE_MAX_COMPUTE_UNITS).unwrap().into();
    assert_eq!(units, 2);
    assert_eq!(create_sub_devices(setup.device, &[CL_DEVICE_PARTITION_BY_COUNTS, 3, 2, 0]), Err(-18));
    assert_eq!(stub.live(Sort::Device), before + 2);
    for part in parts {
        // SAFETY: nothing uses it any more.
        unsafe { release_device(part) }.unwrap();
    }
    assert_eq!(stub.live(Sort::Device), before);
    setup.end();
}
