//! Calls that fail: every one of a small program.

use stridewise_core::Error;

use crate::setup::{TIERS, device, gone, live, of_the_runtime, program, run, stub, watched};

/// Entry points that give memory, by tier.
const ALLOCATIONS: [(&str, &[&str]); 4] = [
    ("usm", &["clDeviceMemAllocINTEL", "clSharedMemAllocINTEL", "clHostMemAllocINTEL"]),
    ("fine", &["clSVMAlloc"]),
    ("coarse", &["clSVMAlloc", "clCreateBuffer"]),
    ("buffers", &["clCreateBuffer"]),
];

/// Entry points that a backend may call.
const NAMES: &[&str] = &[
    "clGetPlatformIDs",
    "clGetPlatformInfo",
    "clGetDeviceIDs",
    "clGetDeviceInfo",
    "clCreateContext",
    "clGetContextInfo",
    "clCreateCommandQueue",
    "clCreateCommandQueueWithProperties",
    "clCreateBuffer",
    "clCreateProgramWithSource",
    "clBuildProgram",
    "run:clBuildProgram",
    "clGetProgramInfo",
    "clGetProgramBuildInfo",
    "clCreateKernel",
    "clSetKernelArg",
    "clSetKernelArgSVMPointer",
    "clSetKernelArgMemPointerINTEL",
    "clGetKernelWorkGroupInfo",
    "clWaitForEvents",
    "clGetEventInfo",
    "clGetEventProfilingInfo",
    "clSetEventCallback",
    "clRetainEvent",
    "clFlush",
    "clFinish",
    "clEnqueueReadBuffer",
    "clEnqueueWriteBuffer",
    "clEnqueueCopyBuffer",
    "clEnqueueFillBuffer",
    "clEnqueueMapBuffer",
    "clEnqueueUnmapMemObject",
    "clEnqueueNDRangeKernel",
    "clEnqueueMarkerWithWaitList",
    "clEnqueueBarrierWithWaitList",
    "clGetExtensionFunctionAddressForPlatform",
    "clSVMAlloc",
    "clEnqueueSVMMemcpy",
    "clEnqueueSVMMemFill",
    "clEnqueueSVMMap",
    "clEnqueueSVMUnmap",
    "clHostMemAllocINTEL",
    "clDeviceMemAllocINTEL",
    "clSharedMemAllocINTEL",
    "clEnqueueMemcpyINTEL",
    "clEnqueueMemFillINTEL",
];

/// Commands that may end with a failure after they were accepted.
const COMMANDS: &[&str] = &[
    "run:clEnqueueReadBuffer",
    "run:clEnqueueWriteBuffer",
    "run:clEnqueueCopyBuffer",
    "run:clEnqueueFillBuffer",
    "run:clEnqueueMapBuffer",
    "run:clEnqueueUnmapMemObject",
    "run:clEnqueueNDRangeKernel",
    "run:clEnqueueMarkerWithWaitList",
    "run:clEnqueueSVMMemcpy",
    "run:clEnqueueSVMMemFill",
    "run:clEnqueueMemcpyINTEL",
    "run:clEnqueueMemFillINTEL",
];

/// Calls of an entry point that fail one after the other: later ones repeat what was before.
const MOST_CALLS: u64 = 60;

#[test]
fn a_healthy_runtime_runs_the_program_in_every_way() {
    let stub = stub();
    for tier in TIERS {
        for (key, value) in
            [("tier", tier), ("type", "cpu"), ("callbacks", "thread"), ("flush", "needed"), ("order", "last")]
        {
            stub.reset();
            stub.set("tier", tier);
            stub.set(key, value);
            let before = live(&stub);
            let what = format!("{tier} with {key} {value}");
            watched(&what, run).unwrap_or_else(|error| panic!("{what}: {error}"));
            gone(&stub, before, &what);
        }
    }
}

#[test]
fn memory_may_be_refused_at_any_time() {
    let stub = stub();
    for (tier, names) in ALLOCATIONS {
        let mut errors = 0;
        for name in names {
            for nth in 1.. {
                stub.reset();
                stub.set("tier", tier);
                let before = live(&stub);
                // The backend and the pool try again after giving back what they can: no memory for long enough.
                for nth in nth..nth + 6 {
                    stub.fail(name, nth, -4);
                }
                let what = format!("{tier}: {name} fails from call {nth} on");
                let tried = watched(&what, || {
                    let device = device();
                    let queue = device.queue().unwrap();
                    let outcome = program(&queue);
                    let calls = stub.calls(name);
                    if let Err(error) = &outcome {
                        assert!(of_the_runtime(error), "{what}: {error}");
                        if matches!(error, Error::Alloc(_)) {
                            assert!(error.to_string().contains("trim_pool"), "{error}");
                            errors += 1;
                        }
                    }
                    stub.heal(name);
                    program(&queue).unwrap_or_else(|error| panic!("afterwards, {what}: {error}"));
                    calls
                });
                gone(&stub, before, &what);
                if tried < nth as u64 {
                    break;
                }
            }
        }
        assert!(errors > 0, "{tier}: no allocation has failed");
    }
}

/// Lets the program run with the failure of one call of an entry point, or of all; returns its calls, and whether the
/// program failed.
fn fail(tier: &str, name: &str, nth: usize, code: i32) -> (u64, bool) {
    let stub = stub();
    stub.set("tier", tier);
    let before = live(&stub);
    let call = if nth == 0 { "every call".to_owned() } else { format!("call {nth}") };
    let what = format!("{tier}: {call} of {name} fails");
    stub.fail(name, nth, code);
    let outcome = watched(&what, run);
    let calls = stub.calls(name.trim_start_matches("run:"));
    if let Err(error) = &outcome {
        assert!(of_the_runtime(error), "{what}: {error}");
    }
    stub.heal(name);
    gone(&stub, before, &what);
    (calls, outcome.is_err())
}

/// Lets the program run with every call of each entry point failing, and then with one after the other.
fn fail_all(tier: &str, names: &[&str]) {
    for name in names {
        let (calls, _) = fail(tier, name, 0, -6);
        if calls == 0 {
            continue;
        }
        for nth in 1..=usize::MAX {
            let (calls, _) = fail(tier, name, nth, -5);
            if calls.min(MOST_CALLS) <= nth as u64 {
                break;
            }
        }
    }
}

#[test]
fn every_call_may_fail_with_unified_memory() {
    fail_all("usm", NAMES);
}

#[test]
fn every_call_may_fail_with_fine_memory() {
    fail_all("fine", NAMES);
}

#[test]
fn every_call_may_fail_with_coarse_memory() {
    fail_all("coarse", NAMES);
}

#[test]
fn every_call_may_fail_with_buffers() {
    fail_all("buffers", NAMES);
}

#[test]
fn every_command_may_fail() {
    for tier in TIERS {
        fail_all(tier, COMMANDS);
    }
}

#[test]
fn failures_that_count_are_reported() {
    for (tier, name) in [
        ("buffers", "clCreateCommandQueue"),
        ("buffers", "clCreateProgramWithSource"),
        ("buffers", "clBuildProgram"),
        ("buffers", "clCreateKernel"),
        ("buffers", "clSetKernelArg"),
        ("buffers", "clEnqueueNDRangeKernel"),
        ("buffers", "clEnqueueFillBuffer"),
        ("buffers", "clEnqueueReadBuffer"),
        ("buffers", "run:clEnqueueReadBuffer"),
        ("buffers", "clEnqueueWriteBuffer"),
        ("buffers", "clEnqueueMarkerWithWaitList"),
        ("buffers", "clFinish"),
        ("coarse", "clEnqueueMapBuffer"),
        ("coarse", "run:clEnqueueMapBuffer"),
        ("fine", "clEnqueueSVMMemcpy"),
        ("usm", "clEnqueueMemcpyINTEL"),
        ("usm", "clSetKernelArgMemPointerINTEL"),
    ] {
        let (calls, failed) = fail(tier, name, 0, -6);
        assert!(calls > 0 && failed, "{tier}: {name} was called {calls} times, and nothing failed");
    }
}

#[test]
fn what_cannot_be_given_back_does_no_harm() {
    let stub = stub();
    for tier in TIERS {
        for name in [
            "clReleaseEvent",
            "clReleaseMemObject",
            "clReleaseKernel",
            "clReleaseProgram",
            "clReleaseCommandQueue",
            "clReleaseContext",
            "clMemFreeINTEL",
            "clSVMFree",
        ] {
            stub.reset();
            stub.set("tier", tier);
            stub.fail(name, 0, -6);
            let what = format!("{tier}: {name} fails");
            watched(&what, run).unwrap_or_else(|error| panic!("{what}: {error}"));
            crate::setup::healthy(&stub, &what);
        }
    }
}
