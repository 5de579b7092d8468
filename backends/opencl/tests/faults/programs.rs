//! Kernels that do not compile, and the cache of compiled ones.

use std::fs;

use stridewise_core::Error;
use stridewise_opencl_stub::Stub;

use crate::setup::{array, cache, device, gone, healthy, live, numbers, program, stub, watched};

#[test]
fn a_kernel_that_does_not_compile_is_reported_with_the_compilers_log() {
    let stub = stub();
    let before = live(&stub);
    watched("build", || {
        let device = device();
        let queue = device.queue().unwrap();
        let a = array(&queue, 1000);
        stub.fail("run:clBuildProgram", 1, -11);
        // It is compiled when no lock is held any more: the event fails, not the call.
        let error = a.try_add(&a).and_then(|b| b.event()).and_then(|event| event.wait()).unwrap_err();
        assert!(matches!(error, Error::Runtime(_)), "{error}");
        let text = error.to_string();
        for part in ["CL_BUILD_PROGRAM_FAILURE", "stub: error: a failure on command", "void run(", "defect"] {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
        assert_eq!(a.to_vec().unwrap(), numbers(1000));
        // It was not remembered.
        a.try_add(&a).unwrap().wait().unwrap();
        program(&queue).unwrap();
    });
    gone(&stub, before, "build");
}

/// Runs the program on a fresh device: programs that were made from texts, and from binaries.
fn made(stub: &Stub) -> (u64, u64) {
    let calls = || (stub.calls("clCreateProgramWithSource"), stub.calls("clCreateProgramWithBinary"));
    let before = calls();
    watched("cache", || program(&device().queue().unwrap()).unwrap());
    let after = calls();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn damaged_files_of_the_cache_are_compiled_again() {
    let stub = stub();
    let before = live(&stub);
    let folder = std::env::temp_dir().join(format!("stridewise-faults-{}", std::process::id()));
    cache(folder.to_str().unwrap());
    let (kernels, none) = made(&stub);
    assert!(kernels > 3 && none == 0);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len() as u64, kernels);
    assert_eq!(made(&stub), (0, kernels));
    for part in [0, 1, 2, 3] {
        for file in &files {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() * part / 4]).unwrap();
        }
        assert_eq!(made(&stub), (kernels, 0), "{part} quarters are left");
        assert_eq!(made(&stub), (0, kernels));
    }
    // A runtime that does not know its own binary any more, at once or when it builds it.
    for name in ["clCreateProgramWithBinary", "clBuildProgram", "clCreateKernel"] {
        stub.fail(name, 1, -42);
        assert_eq!(made(&stub), (1, kernels), "{name}");
    }
    // A folder that cannot be written costs nothing but time.
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "a file").unwrap();
    assert_eq!(made(&stub), (kernels, 0));
    fs::remove_file(&folder).unwrap();
    cache("");
    gone(&stub, before, "cache");
    healthy(&stub, "cache");
}
