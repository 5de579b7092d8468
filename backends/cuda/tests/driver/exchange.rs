//! Memory and streams of other libraries: what an address is of, and who waits for whom.

use std::sync::Arc;

use stridewise_core::backend::Interprocess;
use stridewise_core::memory::{IpcHandle, UsmMemory};
use stridewise_core::{Error, Queue, Scalar, UsmKind, UsmPtr};
use stridewise_cuda_stub::Stub;

use crate::scenario::{QUEUES, kinds};
use crate::setup::{device, gone, of_the_driver, watched};

const LEN: usize = 5000;
const LEGACY: usize = 1;

#[test]
fn an_address_says_of_what_kind_it_is() {
    let stub = Stub::take();
    let before = stub.live();
    let device = device();
    let queue = device.queue().unwrap();
    for kind in kinds(&device) {
        let memory = UsmMemory::new(kind, LEN, &queue).unwrap();
        let inside = memory.ptr().byte_offset(LEN as isize / 2);
        assert_eq!(device.backend().kind_of(inside), Some(kind));
    }
    let own = [0_u8; 8];
    assert_eq!(device.backend().kind_of(UsmPtr::new(own.as_ptr().cast_mut())), None);
    let theirs = stub.foreign_memory(LEN);
    assert_eq!(device.backend().kind_of(UsmPtr::new(theirs)), Some(UsmKind::Device));
    stub.lacks("cuPointerGetAttribute");
    drop((queue, device));
    let device = crate::setup::device();
    assert_eq!(device.backend().kind_of(UsmPtr::new(theirs)), None);
    drop(device);
    stub.lacks("");
    let live = stub.live();
    // Their memory stays.
    assert_eq!((&live[..5], live[5]), (&before[..5], before[5] + 1));
}

/// The bytes of a handle as another process would have made them.
fn handle_of(memory: &UsmMemory, place: *mut u8, offset: u64) -> IpcHandle {
    let mut bytes = memory.ipc_handle().unwrap().to_bytes();
    bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    bytes[24..32].copy_from_slice(&offset.to_le_bytes());
    bytes[32..40].copy_from_slice(&(place.addr() as u64).to_le_bytes());
    IpcHandle::from_bytes(&bytes).unwrap()
}

#[test]
fn memory_of_another_process_is_opened_and_closed_as_often() {
    let stub = Stub::take();
    let before = stub.live();
    let theirs = stub.foreign_memory(3 * LEN);
    watched("handles", || {
        let queue = device().queue().unwrap();
        let memory = UsmMemory::interprocess(LEN, &queue).unwrap();
        assert_eq!((memory.kind(), memory.to_bytes().unwrap()), (UsmKind::Device, vec![0; LEN]));
        let own = memory.ipc_handle().unwrap();
        assert_eq!((own.memory_bytes(), own.interprocess()), (LEN as u64, Interprocess::Driver));
        let error = own.open(&queue).unwrap_err();
        assert!(matches!(&error, Error::Value(_)) && error.to_string().contains("memory itself"), "{error}");
        let opened: Vec<UsmMemory> =
            [256, 512, 256].map(|offset| handle_of(&memory, theirs, offset).open(&queue).unwrap()).into();
        queue.memset(&opened[0], 0, 5, LEN, &[]).unwrap().wait().unwrap();
        assert_eq!(opened[2].to_bytes().unwrap(), vec![5; LEN]);
        // The second one begins 256 bytes behind the first.
        queue.memset(&opened[1], 0, 6, 1, &[]).unwrap().wait().unwrap();
        assert_eq!(opened[0].to_bytes().unwrap()[255..258], [5, 6, 5]);
        drop(opened);
        let beyond = handle_of(&memory, theirs, 2 * LEN as u64 + 1).open(&queue);
        assert!(matches!(beyond, Err(Error::Io(_))), "{beyond:?}");
        let gone = handle_of(&memory, theirs.wrapping_add(64), 0).open(&queue);
        assert!(matches!(gone, Err(Error::Runtime(_))), "{gone:?}");
        for call in ["cuIpcOpenMemHandle_v2", "cuMemGetAddressRange_v2"] {
            let handle = handle_of(&memory, theirs, 0);
            stub.fail(call, 1, 999);
            assert!(of_the_driver(&handle.open(&queue).unwrap_err()), "{call}");
        }
        stub.fail("cuIpcGetMemHandle", 1, 999);
        assert!(of_the_driver(&memory.ipc_handle().unwrap_err()));
    });
    let live = stub.live();
    assert_eq!((&live[..5], live[5]), (&before[..5], before[5] + 1));
    assert_eq!(stub.violations(), [""; 0]);
}

#[test]
fn a_stream_of_others_waits_for_ours() {
    let stub = Stub::take();
    let before = stub.live();
    for properties in QUEUES {
        for stream in [LEGACY, stub.foreign_stream()] {
            watched("lead", || {
                let device = device();
                let queue = Queue::new(&device, properties).unwrap();
                let memory = UsmMemory::new(UsmKind::Device, LEN, &queue).unwrap();
                let other = UsmMemory::new(UsmKind::Shared, LEN, &queue).unwrap();
                memory.copy_from_host(0, &[1; LEN]).unwrap();
                stub.hold(true);
                let task = queue.submit_host_task(|| Ok(()), &[]).unwrap();
                // The driver's own, and one that is held back until the task is done.
                queue.fill(&memory, 0, Scalar::U8(7), LEN, &[]).unwrap();
                queue.fill(&memory, 0, Scalar::U8(8), LEN / 2, &[task]).unwrap();
                if properties.in_order || stream == LEGACY {
                    // A host task may wait for what is held.
                    stub.hold(false);
                }
                // What is held back is waited for, so that the rest has to go on.
                let release = std::thread::scope(|scope| {
                    let helper = scope.spawn(|| {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        stub.hold(false);
                    });
                    // SAFETY: the stream is there.
                    let lease = unsafe { memory.lend_to(stream) }.unwrap();
                    helper.join().map(|()| lease)
                });
                let lease = release.unwrap();
                let mut got = vec![0_u8; LEN];
                // SAFETY: both are memory, and the copy is waited for.
                unsafe { stub.foreign_copy(stream, got.as_mut_ptr(), lease.ptr().as_ptr(), LEN) };
                stub.settle(stream);
                let mut expected = vec![7; LEN];
                expected[..LEN / 2].fill(8);
                assert_eq!(got, expected, "{properties:?} {stream}");
                drop((lease, memory, other));
            });
            gone(&stub, before, "lead");
        }
    }
}

#[test]
fn ours_wait_for_a_stream_of_others() {
    let stub = Stub::take();
    let before = stub.live();
    let theirs = stub.foreign_memory(LEN);
    for properties in QUEUES {
        for stream in [LEGACY, stub.foreign_stream()] {
            watched("follow", || {
                let device = device();
                let queue = Queue::new(&device, properties).unwrap();
                let data: Arc<[u8]> = (0..LEN).map(|i| i as u8).collect();
                stub.hold(true);
                // SAFETY: both are memory, the data for as long as the copy may run, which is waited for below.
                unsafe { stub.foreign_copy(stream, theirs, data.as_ptr(), LEN) };
                // SAFETY: the stream is there.
                unsafe { device.backend().follow(stream) }.unwrap();
                let ptr = UsmPtr::new(theirs);
                // SAFETY: the memory stays, and nobody else uses it meanwhile.
                let memory =
                    unsafe { UsmMemory::from_foreign(UsmKind::Device, ptr, LEN, &queue, None) }.unwrap();
                let copy = UsmMemory::new(UsmKind::Device, LEN, &queue).unwrap();
                let helper = std::thread::scope(|scope| {
                    let helper = scope.spawn(|| {
                        std::thread::sleep(std::time::Duration::from_millis(20));
                        stub.hold(false);
                    });
                    queue.memcpy((&copy, 0), (&memory, 0), LEN, &[]).unwrap();
                    helper.join()
                });
                helper.unwrap();
                assert_eq!(copy.to_bytes().unwrap(), &data[..], "{properties:?} {stream}");
                queue.memset(&memory, 0, 0, LEN, &[]).unwrap().wait().unwrap();
            });
        }
    }
    let live = stub.live();
    assert_eq!((&live[..5], live[5]), (&before[..5], before[5] + 1));
    assert_eq!(stub.violations(), [""; 0]);
}
