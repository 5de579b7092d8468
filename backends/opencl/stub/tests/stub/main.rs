//! The stub behaves as OpenCL does, fails as it is told to, and notices misuse.

mod programs;
mod setup;

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cl3::command_queue::*;
use cl3::context::release_context;
use cl3::device::*;
use cl3::event::*;
use cl3::memory::*;
use cl3::platform::*;
use stridewise_opencl_stub::{Sort, Stub};

use setup::{Setup, live, release, status};

const OUT_OF_RESOURCES: i32 = -5;
const DEPENDENCY_FAILED: i32 = -14;

#[test]
fn it_describes_itself() {
    let stub = Stub::load().unwrap();
    let platforms = get_platform_ids().unwrap();
    assert_eq!(platforms.len(), 1);
    let name: String = get_platform_info(platforms[0], CL_PLATFORM_NAME).unwrap().into();
    assert_eq!(name, "Stridewise stub");
    let device = get_device_ids(platforms[0], CL_DEVICE_TYPE_ALL).unwrap()[0];
    let capabilities: u64 = get_device_info(device, CL_DEVICE_SVM_CAPABILITIES).unwrap().into();
    assert_eq!(capabilities, 1, "coarse-grained");
    stub.set("tier", "usm");
    let extensions: String = get_device_info(device, CL_DEVICE_EXTENSIONS).unwrap().into();
    assert!(extensions.contains("cl_intel_unified_shared_memory"));
    stub.set("devices", "3");
    assert_eq!(get_device_ids(platforms[0], CL_DEVICE_TYPE_ALL).unwrap().len(), 3);
    stub.set("devices", "0");
    assert_eq!(get_device_ids(platforms[0], CL_DEVICE_TYPE_ALL), Ok(vec![]));
    stub.reset();
    assert_eq!(get_device_ids(platforms[0], CL_DEVICE_TYPE_ALL), Ok(vec![device]));
    assert_eq!(get_device_ids(platforms[0], CL_DEVICE_TYPE_CPU), Ok(vec![]));
    assert_eq!(stub.violations(), [""; 0]);
}

#[test]
fn bytes_move_and_everything_is_counted() {
    let stub = Stub::load().unwrap();
    let before = live(&stub);
    let setup = Setup::new(0);
    let (a, b) = (setup.buffer(8), setup.buffer(8));
    let written = setup.write(a, &[1, 2, 3, 4, 5, 6, 7, 8], &[]).unwrap();
    // SAFETY: the pattern is copied at once.
    let filled = unsafe {
        enqueue_fill_buffer(setup.queue, b, [9_u8, 10].as_ptr().cast(), 2, 0, 8, 0, null()).unwrap()
    };
    // SAFETY: the ranges are in the buffers.
    let copied = unsafe { enqueue_copy_buffer(setup.queue, a, b, 1, 5, 3, 0, null()).unwrap() };
    assert_eq!(setup.read(b, 8).unwrap(), [9, 10, 9, 10, 9, 2, 3, 4]);
    assert_eq!(stub.live(Sort::Memory) - before[Sort::Memory as usize], 2);
    assert_eq!(stub.live(Sort::Event) - before[Sort::Event as usize], 3);
    assert_eq!(stub.calls("clCreateBuffer"), 2);
    // SAFETY: the range is in the buffer.
    assert_eq!(unsafe { enqueue_copy_buffer(setup.queue, a, b, 1, 5, 4, 0, null()) }, Err(-30));
    for event in [written, filled, copied] {
        release(event);
    }
    for buffer in [a, b] {
        // SAFETY: nothing uses it any more.
        unsafe { release_mem_object(buffer) }.unwrap();
    }
    setup.end();
    assert_eq!(live(&stub), before);
    assert_eq!(stub.violations(), [""; 0]);
}

#[test]
fn every_third_call_fails_but_what_gives_back() {
    let stub = Stub::load().unwrap();
    let before = live(&stub);
    stub.fail_every(3, OUT_OF_RESOURCES);
    let ask = || get_platform_ids().map(drop);
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        outcomes.extend([ask().is_ok(), ask().is_ok()]);
    }
    // A question is one call or two: what counts is that some fail, and none when that is taken back.
    let failed = outcomes.iter().filter(|&&fine| !fine).count() as u64;
    assert!(failed > 0 && stub.struck() == failed, "{outcomes:?}, {}", stub.struck());
    stub.fail_every(0, 0);
    let setup = Setup::new(0);
    let buffer = setup.buffer(8);
    stub.fail_every(1, OUT_OF_RESOURCES);
    assert!(ask().is_err());
    // SAFETY: nothing uses it any more.
    unsafe { release_mem_object(buffer) }.unwrap();
    stub.fail_every(0, 0);
    setup.end();
    assert_eq!(live(&stub), before);
    assert_eq!(stub.violations(), [""; 0]);
}

#[test]
fn the_nth_call_fails_and_only_that() {
    let stub = Stub::load().unwrap();
    let setup = Setup::new(0);
    stub.fail("clCreateBuffer", 2, -4);
    let first = setup.buffer(8);
    // SAFETY: no host memory is given.
    let create = || unsafe { create_buffer(setup.context, CL_MEM_READ_WRITE, 8, null_mut()) };
    assert_eq!(create(), Err(-4));
    let third = create().unwrap();
    stub.fail("clCreateBuffer", 0, -61);
    assert_eq!((create(), create()), (Err(-61), Err(-61)));
    stub.heal("clCreateBuffer");
    // SAFETY: the test uses them no more.
    unsafe {
        release_mem_object(create().unwrap()).unwrap();
        release_mem_object(first).unwrap();
        release_mem_object(third).unwrap();
    }
    stub.set("memory", "100");
    stub.set("allocation", "60");
    // SAFETY: as above.
    let create = |bytes| unsafe { create_buffer(setup.context, CL_MEM_READ_WRITE, bytes, null_mut()) };
    assert_eq!(create(61), Err(-61));
    let half = create(60).unwrap();
    assert_eq!(create(60), Err(-4));
    // SAFETY: as above.
    unsafe { release_mem_object(half) }.unwrap();
    setup.end();
}

#[test]
fn held_commands_run_in_the_order_of_their_waits() {
    let stub = Stub::load().unwrap();
    let setup = Setup::new(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
    let buffer = setup.buffer(1);
    stub.hold(true);
    stub.set("order", "last");
    let first = setup.write(buffer, &[1], &[]).unwrap();
    let second = setup.write(buffer, &[2], &[first]).unwrap();
    let independent = setup.write(buffer, &[3], &[]).unwrap();
    assert_eq!((status(first), status(second)), (CL_QUEUED, CL_QUEUED));
    assert_eq!(get_event_profiling_info(first, CL_PROFILING_COMMAND_END).map(u64::from), Err(-7));
    stub.step(1);
    assert_eq!((status(first), status(independent)), (CL_QUEUED, CL_COMPLETE), "the last that can run");
    stub.step(5);
    assert_eq!((status(first), status(second), stub.pending()), (CL_COMPLETE, CL_COMPLETE, 0));
    stub.release();
    assert_eq!(setup.read(buffer, 1).unwrap(), [2]);
    let time = |name| u64::from(get_event_profiling_info(second, name).unwrap());
    assert!(time(CL_PROFILING_COMMAND_START) < time(CL_PROFILING_COMMAND_END));
    for event in [first, second, independent] {
        release(event);
    }
    // SAFETY: nothing uses it any more.
    unsafe { release_mem_object(buffer) }.unwrap();
    setup.end();
    assert_eq!(stub.violations(), [""; 0]);
}

#[test]
fn an_order_comes_from_in_order_queues_and_barriers() {
    let stub = Stub::load().unwrap();
    for (properties, barrier) in [(0, false), (CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, true)] {
        let setup = Setup::new(properties);
        let buffer = setup.buffer(1);
        stub.hold(true);
        stub.set("order", "last");
        let mut events = vec![setup.write(buffer, &[1], &[]).unwrap()];
        if barrier {
            // SAFETY: there is no wait list.
            events.push(unsafe { enqueue_barrier_with_wait_list(setup.queue, 0, null()) }.unwrap());
        }
        events.push(setup.write(buffer, &[2], &[]).unwrap());
        // The queue may go before its commands.
        // SAFETY: this test uses the queue through its events alone.
        unsafe { release_command_queue(setup.queue) }.unwrap();
        for (i, &event) in events.iter().enumerate() {
            assert_eq!(status(event), CL_SUBMITTED, "released, and so flushed");
            stub.step(1);
            assert_eq!(status(event), CL_COMPLETE, "command {i}");
            release(event);
        }
        // SAFETY: nothing uses them any more.
        unsafe {
            release_mem_object(buffer).unwrap();
            release_context(setup.context).unwrap();
        }
        stub.release();
    }
    assert_eq!(stub.violations(), [""; 0]);
}

#[test]
fn commands_may_need_a_flush() {
    let stub = Stub::load().unwrap();
    stub.set("flush", "needed");
    let setup = Setup::new(0);
    let buffer = setup.buffer(1);
    let event = setup.write(buffer, &[1], &[]).unwrap();
    assert_eq!(status(event), CL_QUEUED);
    flush(setup.queue).unwrap();
    assert_eq!(status(event), CL_COMPLETE);
    release(event);
    let event = setup.write(buffer, &[1], &[]).unwrap();
    wait_for_events(&[event]).unwrap();
    release(event);
    // SAFETY: nothing uses it any more.
    unsafe { release_mem_object(buffer) }.unwrap();
    setup.end();
}

#[test]
fn a_failed_command_fails_what_waits_for_it() {
    let stub = Stub::load().unwrap();
    let setup = Setup::new(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let buffer = setup.buffer(1);
    stub.hold(true);
    stub.fail("run:clEnqueueWriteBuffer", 1, -9999);
    let first = setup.write(buffer, &[1], &[]).unwrap();
    let second = setup.write(buffer, &[2], &[first]).unwrap();
    let other = setup.write(buffer, &[3], &[]).unwrap();
    stub.release();
    let third = setup.write(buffer, &[4], &[second]).unwrap();
    assert_eq!([first, second, third, other].map(status), [-9999, DEPENDENCY_FAILED, DEPENDENCY_FAILED, 0]);
    assert_eq!(wait_for_events(&[other, third]), Err(DEPENDENCY_FAILED));
    assert_eq!(setup.read(buffer, 1).unwrap(), [3]);
    for event in [first, second, third, other] {
        release(event);
    }
    // SAFETY: nothing uses it any more.
    unsafe { release_mem_object(buffer) }.unwrap();
    setup.end();
    assert_eq!(stub.violations(), [""; 0]);
}

/// Calls of a callback: how many, and the last status.
#[derive(Default)]
struct Told {
    calls: AtomicUsize,
    status: AtomicI32,
    thread: Mutex<Option<std::thread::ThreadId>>,
}

extern "C" fn tell(event: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: the data is a leaked `Told`.
    let told = unsafe { &*data.cast::<Told>() };
    *told.thread.lock().unwrap() = Some(std::thread::current().id());
    told.status.store(status, Ordering::Release);
    // The runtime must not hold its lock here.
    let _ = get_event_info(event, CL_EVENT_COMMAND_EXECUTION_STATUS);
    told.calls.fetch_add(1, Ordering::Release);
}

fn listen(event: cl_event) -> &'static Told {
    let told: &'static Told = Box::leak(Box::default());
    set_event_callback(event, CL_COMPLETE, tell, std::ptr::from_ref(told).cast_mut().cast()).unwrap();
    told
}

#[test]
fn callbacks_come_once_and_from_where_they_shall() {
    let stub = Stub::load().unwrap();
    let setup = Setup::new(0);
    let buffer = setup.buffer(1);
    stub.hold(true);
    let event = setup.write(buffer, &[1], &[]).unwrap();
    let early = listen(event);
    assert_eq!(early.calls.load(Ordering::Acquire), 0);
    stub.release();
    let late = listen(event);
    for told in [early, late] {
        assert_eq!(told.calls.load(Ordering::Acquire), 1);
        assert_eq!(told.status.load(Ordering::Acquire), CL_COMPLETE);
        assert_eq!(*told.thread.lock().unwrap(), Some(std::thread::current().id()));
    }
    stub.set("callbacks", "thread");
    let told = listen(event);
    while told.calls.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    assert_ne!(*told.thread.lock().unwrap(), Some(std::thread::current().id()));
    release(event);
    // SAFETY: nothing uses it any more.
    unsafe { release_mem_object(buffer) }.unwrap();
    setup.end();
    assert_eq!(stub.violations(), [""; 0]);
}

#[test]
fn a_blocking_call_waits_for_a_release() {
    let stub = Stub::load().unwrap();
    let setup = Setup::new(0);
    let buffer = setup.buffer(1);
    stub.hold(true);
    let event = setup.write(buffer, &[7], &[]).unwrap();
    let queue = setup.queue as usize;
    let done = Arc::new(AtomicUsize::new(0));
    let flag = Arc::clone(&done);
    let waiter = std::thread::spawn(move || {
        finish(queue as cl_command_queue).unwrap();
        flag.store(1, Ordering::Release);
    });
    while stub.calls("clFinish") == 0 {
        std::thread::yield_now();
    }
    assert_eq!((status(event) > 0, done.load(Ordering::Acquire)), (true, 0));
    stub.release();
    waiter.join().unwrap();
    release(event);
    // SAFETY: nothing uses it any more.
    unsafe { release_mem_object(buffer) }.unwrap();
    setup.end();
}

#[test]
fn a_lost_device_fails_everything_but_giving_back() {
    let stub = Stub::load().unwrap();
    let before = live(&stub);
    let setup = Setup::new(0);
    let buffer = setup.buffer(1);
    stub.hold(true);
    let event = setup.write(buffer, &[1], &[]).unwrap();
    let told = listen(event);
    stub.lose_device();
    assert_eq!(status(event), OUT_OF_RESOURCES);
    assert_eq!(told.status.load(Ordering::Acquire), OUT_OF_RESOURCES);
    assert_eq!(setup.write(buffer, &[1], &[]), Err(OUT_OF_RESOURCES));
    assert_eq!(finish(setup.queue), Err(OUT_OF_RESOURCES));
    // SAFETY: no host memory is given.
    let created = unsafe { create_buffer(setup.context, CL_MEM_READ_WRITE, 8, null_mut()) };
    assert_eq!(created, Err(OUT_OF_RESOURCES));
    release(event);
    // SAFETY: nothing uses it any more.
    unsafe { release_mem_object(buffer) }.unwrap();
    setup.end();
    assert_eq!(live(&stub), before);
    stub.reset();
    Setup::new(0).end();
}

#[test]
fn misuse_is_an_error_and_a_violation() {
    let stub = Stub::load().unwrap();
    let setup = Setup::new(0);
    let other = Setup::new(0);
    let buffer = setup.buffer(8);
    let misuse = |expected: &str| {
        let violations = stub.violations();
        assert!(violations.len() == 1 && violations[0].contains(expected), "{violations:?}");
        stub.reset();
    };
    assert_eq!(other.write(buffer, &[1], &[]), Err(-34));
    misuse("another context");
    // SAFETY: what is wrong here is what the stub notices.
    unsafe { release_mem_object(buffer) }.unwrap();
    assert_eq!(setup.write(buffer, &[1], &[]), Err(-38));
    misuse("released");
    // SAFETY: as above.
    assert_eq!(unsafe { release_mem_object(buffer) }, Err(-38));
    misuse("released");
    assert_eq!(setup.write(setup.queue, &[1], &[]), Err(-38));
    misuse("Queue");

    // SAFETY: the flags and the alignment are allowed.
    let memory = unsafe { svm_alloc(setup.context, CL_MEM_READ_WRITE, 64, 64) }.unwrap();
    stub.hold(true);
    // SAFETY: the range is in the allocation.
    let filled =
        unsafe { enqueue_svm_mem_fill(setup.queue, memory, [1_u8].as_ptr().cast(), 1, 64, 0, null()) }
            .unwrap();
    // SAFETY: what is wrong here is what the stub notices.
    unsafe { svm_free(setup.context, memory) }.unwrap();
    misuse("pending clEnqueueSVMMemFill");
    wait_for_events(&[filled]).unwrap();
    // SAFETY: as above.
    let late = unsafe { enqueue_svm_mem_fill(setup.queue, memory, [1_u8].as_ptr().cast(), 1, 64, 0, null()) };
    assert_eq!(late, Err(-30));
    misuse("after it was freed");
    release(filled);

    setup.end();
    other.end();
}

/// Whether host code can read a byte, which is asked of the system, without a fault.
fn readable(memory: *mut c_void) -> bool {
    let mut pipe = [0; 2];
    // SAFETY: there is room for two descriptors; the system reads the byte, and refuses where it cannot.
    unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        let written = libc::write(pipe[1], memory, 1);
        for end in pipe {
            libc::close(end);
        }
        written == 1
    }
}

#[test]
fn svm_is_memory_of_the_host() {
    let stub = Stub::load().unwrap();
    let before = live(&stub);
    let setup = Setup::new(0);
    stub.set("protect", "1");
    // SAFETY: the flags and the alignment are allowed.
    let memory = unsafe { svm_alloc(setup.context, CL_MEM_READ_WRITE, 16, 16) }.unwrap();
    assert!(!readable(memory));
    let data = [5_u8; 16];
    // SAFETY: both ranges are there, the call blocks.
    unsafe {
        release(
            enqueue_svm_mem_cpy(setup.queue, CL_TRUE, memory, data.as_ptr().cast(), 16, 0, null()).unwrap(),
        );
        let map = enqueue_svm_map(setup.queue, CL_TRUE, CL_MAP_READ, memory, 16, 0, null()).unwrap();
        assert_eq!(memory.cast::<[u8; 16]>().read(), data);
        let unmap = enqueue_svm_unmap(setup.queue, memory, 0, null()).unwrap();
        assert!(!readable(memory));
        release(map);
        release(unmap);
        assert_eq!(stub.violations(), [""; 0]);
        assert_eq!(enqueue_svm_unmap(setup.queue, memory, 0, null()), Err(-30));
        assert_eq!(stub.violations().len(), 1);
        svm_free(setup.context, memory).unwrap();
    }
    stub.reset();
    stub.set("protect", "1");
    // SAFETY: the range is there, the call blocks.
    unsafe {
        let memory = svm_alloc(setup.context, CL_MEM_READ_WRITE, 16, 16).unwrap();
        let buffer = setup.buffer(16);
        release(enqueue_read_buffer(setup.queue, buffer, CL_TRUE, 0, 16, memory, 0, null()).unwrap());
        assert!(stub.violations().len() == 1 && stub.violations()[0].contains("not mapped"));
        assert_eq!(
            enqueue_read_buffer(setup.queue, buffer, CL_TRUE, 0, 16, memory.byte_add(1), 0, null()),
            Err(-30)
        );
        svm_free(setup.context, memory).unwrap();
        release_mem_object(buffer).unwrap();
    }
    stub.set("tier", "buffers");
    // SAFETY: as above.
    assert!(unsafe { svm_alloc(setup.context, CL_MEM_READ_WRITE, 16, 16) }.is_err());
    setup.end();
    assert_eq!(live(&stub), before);
}

/// The variable that makes the test below the child that it starts.
const CHILD: &str = "STRIDEWISE_STUB_TEST_CHILD";

#[test]
fn a_loader_finds_it() {
    if std::env::var_os(CHILD).is_some() {
        let names: Vec<String> = get_platform_ids()
            .unwrap()
            .into_iter()
            .map(|platform| get_platform_info(platform, CL_PLATFORM_NAME).unwrap().into())
            .collect();
        assert_eq!(names, ["Stridewise stub"]);
        let setup = Setup::new(0);
        let buffer = setup.buffer(2);
        release(setup.write(buffer, &[1, 2], &[]).unwrap());
        assert_eq!(setup.read(buffer, 2).unwrap(), [1, 2]);
        // SAFETY: nothing uses it any more.
        unsafe { release_mem_object(buffer) }.unwrap();
        setup.end();
        return;
    }
    // SAFETY: the library is a loader, which does nothing when it is loaded.
    if unsafe { libc::dlopen(c"libOpenCL.so.1".as_ptr(), libc::RTLD_NOW) }.is_null() {
        eprintln!("no loader on this machine");
        return;
    }
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_loader_finds_it"])
        .env(CHILD, "1")
        .env("OCL_ICD_VENDORS", Stub::library().unwrap())
        .env_remove("OPENCL_DYLIB_PATH")
        .status()
        .unwrap();
    assert!(status.success());
}
