//! The guard of device memory. What is tested ends the process, so each test runs itself again as a child.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command as Process, Output};
use std::sync::Arc;

use stridewise_core::backend::{
    Command, Device, Family, LaunchPlan, Operand, Program, Queue, QueueProperties, Step,
};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Dtype, Op};
use stridewise_host::{device_with, guard_device_memory};

const CHILD: &str = "STRIDEWISE_TEST_CHILD";
const SIGSEGV: i32 = 11;
const SIGABRT: i32 = 6;

/// Runs one test of this binary in a child; `None` in the child itself.
fn child(test: &str, guard: &str) -> Option<Output> {
    if std::env::var_os(CHILD).is_some() {
        return None;
    }
    let output = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .env("STRIDEWISE_GUARD", guard)
        .output()
        .unwrap();
    Some(output)
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn touching_device_memory_ends_the_process_with_an_explanation() {
    let Some(output) = child("touching_device_memory_ends_the_process_with_an_explanation", "1") else {
        let device = device_with(None, 1).unwrap();
        let memory = device.alloc(UsmKind::Device, 5000, 64).unwrap();
        eprintln!("address {:?}", memory.ptr.byte_offset(1234));
        // SAFETY: none; the access is the fault that is tested.
        let value = unsafe { memory.ptr.byte_offset(1234).as_ptr().read_volatile() };
        eprintln!("survived with {value}");
        return;
    };
    let text = errors(&output);
    assert_eq!(output.status.signal(), Some(SIGSEGV), "{text}");
    let address = text.lines().find_map(|line| line.strip_prefix("address ")).unwrap();
    assert!(
        text.contains(&format!(
            "USM device memory at {address}, 1234 bytes into an allocation of 5000 bytes"
        ))
    );
    assert!(text.contains("copy it to the host first (`to_host`)"), "{text}");
}

#[test]
fn commands_work_on_guarded_memory() {
    let Some(output) = child("commands_work_on_guarded_memory", "0") else {
        guard_device_memory(true).unwrap();
        let device = device_with(None, 2).unwrap();
        let queue = device.create_queue(QueueProperties { in_order: true, profiling: false }).unwrap();
        for bytes in [4096usize, 3 << 20] {
            let all: Vec<_> = (0..3).map(|_| device.alloc(UsmKind::Device, bytes, 64).unwrap()).collect();
            let shared = device.alloc(UsmKind::Shared, bytes, 64).unwrap();
            let source: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8).collect();
            let mut back = vec![0u8; bytes - 100];
            // SAFETY: the memory is freed after the last command is done; the queue is in-order.
            unsafe {
                // From the host into the first, on into the second, from the middle of it back.
                let src = UsmPtr::new(source.as_ptr().cast_mut());
                queue
                    .submit(Command::Step(Step::Copy { dst: all[0].ptr, src, bytes }), &[])
                    .unwrap()
                    .proceed();
                queue
                    .submit(Command::Step(Step::Copy { dst: all[1].ptr, src: all[0].ptr, bytes }), &[])
                    .unwrap()
                    .proceed();
                let middle = all[1].ptr.byte_offset(100);
                let dst = UsmPtr::new(back.as_mut_ptr());
                queue
                    .submit(Command::Step(Step::Copy { dst, src: middle, bytes: bytes - 100 }), &[])
                    .unwrap()
                    .proceed();
                let fill =
                    Command::Step(Step::Fill { dst: shared.ptr, bytes, pattern: [3; 16], pattern_bytes: 1 });
                queue.submit(fill, &[]).unwrap().proceed().wait().unwrap();
                assert_eq!(back, source[100..]);
                assert_eq!(shared.ptr.as_ptr().read(), 3);
                device.discard(all[1]);
                for memory in all.into_iter().chain([shared]) {
                    device.free(memory);
                }
            }
        }
        launch_backwards(&device, &queue);
        assert!(guard_device_memory(true).is_ok());
        assert!(guard_device_memory(false).is_err());
        return;
    };
    assert!(output.status.success(), "{}", errors(&output));
}

/// A launch whose input pointer is the last element of a guarded allocation, and its output the first of another.
fn launch_backwards(device: &Arc<dyn Device>, queue: &Arc<dyn Queue>) {
    let values: Vec<i32> = (0..1024).collect();
    let mut back = vec![0i32; 1024];
    let bytes = 4096;
    let [a, b] = [(); 2].map(|()| device.alloc(UsmKind::Device, bytes, 64).unwrap());
    let operand = |ptr, stride| Operand { ptr, strides: [stride].into_iter().collect() };
    let plan = LaunchPlan {
        program: Arc::new(Program::single(Op::Negative, Dtype::I32).unwrap()),
        family: Family::Map,
        dims: [1024].into_iter().collect(),
        inputs: [operand(a.ptr.byte_offset(4092), -1)].into_iter().collect(),
        outputs: [operand(b.ptr, 1)].into_iter().collect(),
    };
    // SAFETY: everything lives until the last command is done; the queue is in-order.
    unsafe {
        let src = UsmPtr::new(values.as_ptr().cast_mut().cast());
        queue.submit(Command::Step(Step::Copy { dst: a.ptr, src, bytes }), &[]).unwrap().proceed();
        queue.submit(Command::Step(Step::Launch(vec![plan])), &[]).unwrap().proceed();
        let dst = UsmPtr::new(back.as_mut_ptr().cast());
        queue
            .submit(Command::Step(Step::Copy { dst, src: b.ptr, bytes }), &[])
            .unwrap()
            .proceed()
            .wait()
            .unwrap();
        device.free(a);
        device.free(b);
    }
    assert!(back.iter().zip(values.iter().rev()).all(|(b, v)| *b == -v));
}

#[test]
fn other_faults_keep_their_meaning() {
    let Some(output) = child("other_faults_keep_their_meaning", "1") else {
        let device = device_with(None, 1).unwrap();
        device.alloc(UsmKind::Device, 5000, 64).unwrap();
        // The standard library's handler, which was there before, reports this.
        fn deep(n: u64) -> u64 {
            let page = std::hint::black_box([n; 512]);
            if n == u64::MAX { 0 } else { deep(n + 1) + page[(n % 512) as usize] }
        }
        eprintln!("survived with {}", deep(0));
        return;
    };
    let text = errors(&output);
    assert_eq!(output.status.signal(), Some(SIGABRT), "{text}");
    assert!(text.contains("overflowed its stack") && !text.contains("USM device memory"), "{text}");
}

#[test]
fn without_the_guard_device_memory_is_ordinary() {
    let Some(output) = child("without_the_guard_device_memory_is_ordinary", "0") else {
        let device = device_with(None, 1).unwrap();
        let memory = device.alloc(UsmKind::Device, 5000, 64).unwrap();
        // SAFETY: the memory was just allocated; without the guard it is the process's own.
        unsafe {
            memory.ptr.as_ptr().write(1);
            device.free(memory);
        }
        return;
    };
    assert!(output.status.success(), "{}", errors(&output));
}
