//! Calls that fail: every one of a small program; functions that are absent; drivers that are too old.

use stridewise_core::backend::{Language, Source};
use stridewise_core::kernel::KernelBundle;
use stridewise_core::memory::UsmMemory;
use stridewise_core::{Error, Queue, Result, UsmKind};
use stridewise_cuda_stub::Stub;

use crate::scenario::{QUEUES, program};
use crate::setup::{device, devices, gone, of_the_driver, watched};

/// A kernel as PTX, which the stub launches without doing anything.
const PTX: &str = ".version 6.0\n.target sm_50\n.address_size 64\n\
                   .visible .entry idle(.param .u64 a, .param .u32 n) { ret; }\n";

/// Functions whose absence takes away what they are for, and nothing else.
const OPTIONAL: &[&str] = &[
    "cuLaunchHostFunc",
    "cuMemPrefetchAsync",
    "cuPointerGetAttribute",
    "cuFuncLoad",
    "cuStreamWaitEvent",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuStreamSynchronize",
];

const RELEASE: &str = "cuDevicePrimaryCtxRelease_v2";

/// Every function of the stub that a program calls.
const FUNCTIONS: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    RELEASE,
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemHostAlloc",
    "cuMemAllocManaged",
    "cuPointerGetAttribute",
    "cuMemPrefetchAsync",
    "cuMemcpyAsync",
    "cuMemsetD8Async",
    "cuMemsetD16Async",
    "cuMemsetD32Async",
    "cuMemsetD2D32Async",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuLaunchHostFunc",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuModuleLoadDataEx",
    "cuModuleGetFunctionCount",
    "cuModuleEnumerateFunctions",
    "cuFuncLoad",
    "cuFuncGetName",
    "cuFuncGetParamInfo",
    "cuFuncGetAttribute",
    "cuLaunchKernel",
];

/// Those of them that are called for what has not ended by then, which it may have.
const OF_WHAT_GOES_ON: &[&str] =
    &["cuStreamWaitEvent", "cuLaunchHostFunc", "cuEventQuery", "cuEventSynchronize", "cuStreamQuery"];

/// The program with a kernel, on two sorts of queues of a new device, if there is one.
fn run() -> Result<()> {
    let Some(device) = devices().into_iter().next() else { return Ok(()) };
    for properties in [QUEUES[0], QUEUES[3]] {
        let queue = Queue::new(&device, properties)?;
        program(&queue, 3)?;
        let memory = UsmMemory::new(UsmKind::Device, 4000, &queue)?;
        let bundle = KernelBundle::compile(&queue, Source::new(Language::Ptx, PTX.as_bytes()), "")?;
        let arguments = [(&memory).into(), stridewise_core::Scalar::U32(1000).into()];
        // SAFETY: the arguments have the types of the parameters, and the kernel does nothing.
        unsafe { bundle.kernel("idle")?.launch(&queue, 1000, &arguments, &[]) }?.wait()?;
        let shared = UsmMemory::new(UsmKind::Shared, 4000, &queue)?;
        queue.prefetch(&shared, 0, 4000, &[])?.wait()?;
    }
    Ok(())
}

#[test]
fn a_healthy_driver_runs_the_program() {
    let stub = Stub::take();
    for managed in [true, false] {
        stub.reset();
        stub.managed(managed);
        let before = stub.live();
        let outcome = watched("healthy", run);
        match managed {
            true => outcome.unwrap(),
            false => assert!(matches!(outcome, Err(Error::Unsupported(_))), "{outcome:?}"),
        }
        gone(&stub, before, "healthy");
    }
}

#[test]
fn items_have_arrays_of_their_own() {
    let _stub = Stub::take();
    let limits = device().info().limits.clone();
    let (item, group) = (limits.private_item_bytes, limits.private_memory_bytes);
    assert!(item > 0 && group >= item, "{item} and {group} bytes");
}

#[test]
fn every_call_may_be_refused() {
    let stub = Stub::take();
    let before = stub.live();
    watched("healthy", run).unwrap();
    // A context that is not given up lives on.
    for name in FUNCTIONS.iter().filter(|name| **name != RELEASE) {
        let calls = stub.calls(name);
        if calls == 0 && OF_WHAT_GOES_ON.contains(name) {
            continue;
        }
        assert!(calls > 0, "{name} is not called");
        // Later ones repeat what was before.
        let chosen = (1..=calls.min(4)).chain([calls / 2, calls].into_iter().filter(|nth| *nth > 4));
        for (nth, code) in chosen.zip([2, 801].into_iter().cycle()) {
            stub.reset();
            stub.fail(name, nth, code);
            let what = format!("call {nth} of {name} refused with {code}");
            if let Err(error) = watched(&what, run) {
                assert!(of_the_driver(&error), "{what}: {error}");
            }
            gone(&stub, before, &what);
        }
        stub.reset();
        watched("healthy", run).unwrap();
    }
}

#[test]
fn calls_may_be_refused_again_and_again() {
    let stub = Stub::take();
    let before = stub.live();
    for every in [2, 3, 5, 7, 11, 23, 47, 101, 211, 499] {
        stub.reset();
        stub.fail_every(every, 2);
        let what = format!("every call of {every} refused");
        if let Err(error) = watched(&what, run) {
            assert!(of_the_driver(&error), "{what}: {error}");
        }
        assert!(stub.struck() > 0, "{what}");
        gone(&stub, before, &what);
    }
}

#[test]
fn an_absent_function_is_an_error_that_names_it_or_needs_no_other() {
    let stub = Stub::take();
    let before = stub.live();
    for name in FUNCTIONS.iter().filter(|name| **name != RELEASE) {
        stub.reset();
        stub.lacks(name);
        match watched(name, run) {
            Ok(()) => {
                let there = devices().len();
                assert!(
                    there == 0 || OPTIONAL.contains(name) || name.contains("Ctx"),
                    "{name} is not needed"
                );
            }
            Err(error) => {
                assert!(of_the_driver(&error), "{name}: {error}");
                // Times are missed where they are asked for.
                let named = error.to_string().contains(name) || *name == "cuEventElapsedTime";
                assert!(named, "{name}: {error}");
            }
        }
        stub.lacks("");
        // A context that cannot be had current is none in which anything is given up.
        if !name.contains("Ctx") {
            gone(&stub, before, name);
        }
    }
}

#[test]
fn an_old_driver_and_one_without_devices_have_none_and_say_so() {
    let stub = Stub::take();
    let before = stub.live();
    stub.version(11010);
    assert_eq!(devices().len(), 0);
    // SAFETY: the stub's functions have the types of the driver's.
    let driver = unsafe { stridewise_cuda::driver_over(stridewise_cuda_stub::find) };
    assert_eq!(driver.devices().len(), 0);
    let text: Vec<String> = driver.diagnose().into_iter().map(|finding| finding.text).collect();
    assert!(text.iter().any(|text| text.contains("11.1")), "{text:?}");
    stub.reset();
    stub.devices(0);
    assert_eq!(devices().len(), 0);
    stub.devices(3);
    assert_eq!(devices().len(), 3);
    gone(&stub, before, "devices that were listed");
}

#[test]
fn memory_that_is_not_there_is_refused_as_such() {
    let stub = Stub::take();
    let before = stub.live();
    let device = device();
    let queue = device.queue().unwrap();
    for (kind, name) in [
        (UsmKind::Device, "cuMemAlloc_v2"),
        (UsmKind::Host, "cuMemHostAlloc"),
        (UsmKind::Shared, "cuMemAllocManaged"),
    ] {
        // The pool tries again after giving back what it can.
        (1..6).for_each(|nth| stub.fail(name, nth, 2));
        let refused = UsmMemory::new(kind, 3 << 20, &queue).map(drop);
        assert!(matches!(refused, Err(Error::Alloc(_))), "{refused:?}");
        let more_than_free = UsmMemory::new(UsmKind::Shared, 1 << 30, &queue).map(drop);
        assert!(matches!(more_than_free, Err(Error::Alloc(_))), "{more_than_free:?}");
        stub.reset();
        UsmMemory::new(kind, 3 << 20, &queue).unwrap();
    }
    drop((queue, device));
    gone(&stub, before, "memory");
}
