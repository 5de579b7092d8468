//! The pool and the registry, in every order of three threads that the checker thinks of.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use stridewise_core::backend::primitives::thread;
use stridewise_core::interleavings::explore;
use stridewise_core::memory::{PointerKind, UsmKind, UsmMemory, UsmPtr, pointer_info};
use stridewise_core::{Device, Queue};
use stridewise_null::{NullConfig, NullDevice};

/// A device of its own, and its queue.
fn device() -> (NullDevice, Queue) {
    let null = NullDevice::new(NullConfig { all_kinds: true, ..NullConfig::default() });
    let queue = Device::from_backend(Arc::new(null.clone())).queue().unwrap();
    (null, queue)
}

/// Nothing is left, on the device neither.
fn end(null: &NullDevice, queue: Queue) {
    let device = queue.device().clone();
    drop(queue);
    assert_eq!(device.pool_statistics().live_bytes, 0);
    device.trim_pool(0);
    let left = device.pool_statistics();
    assert_eq!((left.reserved_bytes, left.cached_bytes), (0, 0), "{left:?}");
    drop(device);
    assert_eq!((null.live_allocations().len(), null.wrong_frees()), (0, 0));
}

/// The addresses of memory that somebody has.
#[derive(Default)]
struct Had(Mutex<BTreeSet<usize>>);

impl Had {
    /// Memory that nobody has yet.
    fn take(&self, bytes: usize, queue: &Queue) -> UsmMemory {
        let memory = UsmMemory::new(UsmKind::Shared, bytes, queue).unwrap();
        assert!(self.0.lock().unwrap().insert(memory.ptr().addr()), "two have it");
        memory
    }

    fn give_back(&self, memory: UsmMemory) {
        self.0.lock().unwrap().remove(&memory.ptr().addr());
        drop(memory);
    }
}

/// Checks that memory is known, and as what.
fn known(memory: &UsmMemory, bytes: usize) {
    let info = pointer_info(memory.ptr().byte_offset(bytes as isize - 1));
    assert_eq!((info.kind, info.base, info.bytes), (PointerKind::Usm(memory.kind()), memory.ptr(), bytes));
}

#[test]
fn interleavings_of_a_pool() {
    explore(|| {
        let (null, queue) = device();
        let had = Arc::new(Had::default());
        // Of one size class of slabs, and of none.
        let working = |bytes: usize| {
            let (queue, had) = (queue.clone(), Arc::clone(&had));
            thread::spawn(move || {
                let first = had.take(bytes, &queue);
                known(&first, bytes);
                let second = had.take(bytes, &queue);
                had.give_back(first);
                known(&second, bytes);
                had.give_back(second);
            })
        };
        let threads = [working(300), working(100 << 10)];
        let own = had.take(300, &queue);
        queue.device().trim_pool(0);
        known(&own, 300);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        known(&own, 300);
        had.give_back(own);
        end(&null, queue);
    });
}

#[test]
fn interleavings_of_memory_whose_work_is_under_way() {
    explore(|| {
        let (null, queue) = device();
        let memory = UsmMemory::new(UsmKind::Device, 200 << 10, &queue).unwrap();
        let ptr = memory.ptr();
        let event = queue.memset(&memory, 0, 1, 100, &[]).unwrap();
        let dropping = thread::spawn(move || drop(memory));
        let completing = thread::spawn({
            let null = null.clone();
            move || null.complete(0)
        });
        let waiting = event.wait();
        dropping.join().unwrap();
        assert!(completing.join().unwrap().is_ok() && waiting.is_ok());
        drop(event);
        assert_eq!(pointer_info(ptr).kind, PointerKind::Unknown);
        end(&null, queue);
    });
}

#[test]
fn interleavings_of_addresses_that_come_back() {
    explore(|| {
        let (null, queue) = device();
        let whole = UsmMemory::new(UsmKind::Host, 100, &queue).unwrap();
        let address = whole.export().unwrap().addr();
        let deleted = Arc::new(AtomicUsize::new(0));
        let adopting = |offset: usize| {
            let (queue, deleted) = (queue.clone(), Arc::clone(&deleted));
            thread::spawn(move || {
                let deleter = Box::new(move || {
                    deleted.fetch_add(1, Ordering::SeqCst);
                });
                let ptr = UsmPtr::new(std::ptr::without_provenance_mut(address + offset));
                // SAFETY: a null device follows no address.
                let part = unsafe { UsmMemory::from_foreign(UsmKind::Host, ptr, 10, &queue, Some(deleter)) };
                // Whoever comes too late finds the engine's own memory, which nobody owns, or memory of nobody.
                let Ok(part) = part else { return 0 };
                if !part.is_foreign() {
                    assert_eq!(pointer_info(ptr).base.addr(), address);
                }
                1
            })
        };
        let threads = [adopting(10), adopting(90)];
        drop(whole);
        let adopted: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(deleted.load(Ordering::SeqCst), adopted);
        end(&null, queue);
    });
}
