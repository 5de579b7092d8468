//! How much memory is in use, whose it is, and limits: against what the test itself has allocated.

use std::collections::HashMap;

use stridewise::prelude::*;
use stridewise::{KindUsage, MemoryOrigin, MemoryScope, UsmMemory, UsmPtr, live_arrays};

/// A device of two threads with a pool of its own, and its queue.
fn host() -> (Device, Queue) {
    let device = Device::from_backend(stridewise_host::device_with(None, 2).unwrap());
    let queue = device.queue().unwrap();
    (device, queue)
}

/// A number below a bound, from a state.
fn next(state: &mut u64, bound: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % bound
}

#[test]
fn what_is_in_use_is_counted_by_kind() {
    let (device, queue) = host();
    let mut held: Vec<UsmMemory> = Vec::new();
    let (mut state, mut peaks, mut peak) = (11_u64, [0_usize; 3], 0);
    for _ in 0..400 {
        if !held.is_empty() && next(&mut state, 3) == 0 {
            held.swap_remove(next(&mut state, held.len()));
        } else {
            let kind = UsmKind::ALL[next(&mut state, 3)];
            let most = [1 << 10, 200 << 10, 2 << 20][next(&mut state, 3)];
            held.push(UsmMemory::new(kind, 1 + next(&mut state, most), &queue).unwrap());
        }
        let usage = device.memory();
        let mut all = 0;
        for (number, kind) in UsmKind::ALL.into_iter().enumerate() {
            let of_kind: Vec<usize> =
                held.iter().filter(|memory| memory.kind() == kind).map(UsmMemory::bytes).collect();
            let asked: usize = of_kind.iter().sum();
            let KindUsage { in_use_bytes, kept_bytes, peak_bytes, .. } = usage.of(kind);
            assert!(
                (asked..=asked + asked / 8 + 64 * of_kind.len()).contains(&in_use_bytes),
                "{asked} bytes of {kind} memory: {usage:?}"
            );
            peaks[number] = peaks[number].max(in_use_bytes);
            assert_eq!(peak_bytes, peaks[number], "{kind}");
            assert!(in_use_bytes + kept_bytes <= usage.reserved_bytes);
            all += in_use_bytes;
        }
        peak = peak.max(all);
        assert_eq!((usage.in_use_bytes, usage.peak_bytes), (all, peak));
        let statistics = device.pool_statistics();
        assert_eq!((statistics.live_bytes, statistics.cached_bytes), (usage.in_use_bytes, usage.kept_bytes));
    }
    held.clear();
    let before = device.memory();
    assert_eq!(before.in_use_bytes, 0);
    assert_eq!(device.trim(), before.reserved_bytes);
    assert_eq!((device.memory().kept_bytes, device.memory().reserved_bytes, device.trim()), (0, 0, 0));
}

#[test]
fn a_limit_is_kept_to_the_byte_and_says_what_is_in_use() {
    let (device, queue) = host();
    let mib = |count: usize| count << 20;
    device.set_memory_limit(Some(mib(10)));
    assert_eq!(device.memory().limit_bytes, Some(mib(10)));
    let a = Array::<f64>::on(&queue).full([512, 1024], 1.0).unwrap();
    let b = Array::<f32>::on(&queue).zeros([3, 1 << 18]).unwrap();
    let c = Array::<u8>::on(&queue).zeros([mib(3)]).unwrap();
    for array in [a.wait(), b.wait(), c.wait()] {
        array.unwrap();
    }
    assert_eq!(device.memory().in_use_bytes, mib(10));
    // One byte more: 64, as a pool rounds up.
    let error = UsmMemory::new(UsmKind::Shared, 1, &queue).unwrap_err();
    let Error::Alloc(complaint) = &error else { panic!("{error}") };
    assert_eq!(complaint.argument, "bytes");
    assert!(complaint.expected.contains("limit of 10485760 bytes"), "{error}");
    for told in ["float64 of shape [512, 1024]", "float32 of shape [3, 262144]", "uint8 of shape [3145728]"] {
        assert!(complaint.help.contains(told), "{told}: {error}");
    }
    assert!(complaint.help.find("float64") < complaint.help.find("uint8"), "the largest first: {error}");
    // What needs a result, too, and it leaves all as it was.
    assert!(matches!(a.try_add(1.0).and_then(|sum| sum.wait()), Err(Error::Alloc(_))));
    assert_eq!(device.memory().in_use_bytes, mib(10));
    // Memory that is dropped is there again, in other sizes as well, though the pool holds it.
    drop(c);
    assert_eq!(a.sum().unwrap(), 512.0 * 1024.0);
    let d = Array::<u8>::on(&queue).zeros([mib(1)]).unwrap();
    let e = Array::<u8>::on(&queue).zeros([mib(2)]).unwrap();
    assert!(device.memory().reserved_bytes <= mib(10), "{:?}", device.memory());
    drop((d, e));
    // In place, and through work under way: memory comes back when that is done.
    let mut last = None;
    for step in 0..50 {
        let column = Array::<u8>::on(&queue).full([mib(1)], step).unwrap();
        last = Some(column.try_add(1).unwrap());
        queue.flush().unwrap();
    }
    assert_eq!(last.unwrap().get([5]).unwrap(), 50);
    device.set_memory_limit(None);
    assert_eq!(device.memory().limit_bytes, None);
    assert_eq!(a.try_add(1.0).unwrap().get([3, 3]).unwrap(), 2.0);
}

/// An event is terminal before its callbacks have run, and one of them gives the memory back.
#[test]
fn memory_of_ended_work_is_waited_for_until_it_is_back() {
    let (device, queue) = host();
    let mib = |count: usize| count << 20;
    device.set_memory_limit(Some(mib(2)));
    let column = Array::<u8>::on(&queue).full([mib(1)], 1).unwrap();
    column.wait().unwrap();
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let gate = queue.submit_host_task(move || opened.recv().map_or(Ok(()), Ok), &[]).unwrap();
    queue.submit_barrier(&[gate]).unwrap();
    let sum = column.try_add(1).unwrap();
    let event = sum.event().unwrap();
    event.on_complete(|_| std::thread::sleep(std::time::Duration::from_millis(5)));
    drop(sum);
    open.send(()).unwrap();
    event.wait().unwrap();
    let next = UsmMemory::new(UsmKind::Shared, mib(1), &queue);
    assert!(next.is_ok(), "{next:?}");
}

#[test]
fn threads_together_stay_within_a_limit() {
    let (device, queue) = host();
    device.set_memory_limit(Some(8 << 20));
    let refused: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4_u64)
            .map(|thread| {
                let (device, queue) = (&device, &queue);
                scope.spawn(move || {
                    let (mut held, mut state, mut refused) = (Vec::new(), thread, 0);
                    for _ in 0..300 {
                        let bytes = 1 + next(&mut state, 1 << 20);
                        match UsmMemory::new(UsmKind::Shared, bytes, queue) {
                            Ok(memory) => held.push(memory),
                            Err(Error::Alloc(_)) => {
                                refused += 1;
                                held.clear();
                            }
                            Err(error) => panic!("{error}"),
                        }
                        let usage = device.memory();
                        assert!(usage.in_use_bytes <= 8 << 20, "{usage:?}");
                    }
                    refused
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(refused > 0);
    assert!(device.memory().peak_bytes <= 8 << 20, "{:?}", device.memory());
    // Nothing is counted that is not there.
    let all = UsmMemory::new(UsmKind::Shared, 8 << 20, &queue).unwrap();
    assert_eq!(all.bytes(), 8 << 20);
}

#[test]
fn scopes_count_what_their_thread_allocates() {
    let (device, queue) = host();
    let scope = MemoryScope::new("outer");
    assert_eq!(scope.usage(), stridewise::ScopeUsage::default());
    let opened = scope.open().unwrap();
    let mut held: HashMap<usize, UsmMemory> = HashMap::new();
    let inner = MemoryScope::new("inner");
    let mut inner_opened = None;
    let (mut state, mut counts) = (5_u64, [[0_usize; 4]; 2]);
    for step in 0..300 {
        match step {
            100 => inner_opened = Some(inner.open().unwrap()),
            200 => inner_opened = None,
            _ => {}
        }
        let scopes = if inner_opened.is_some() { 0..2 } else { 0..1 };
        if !held.is_empty() && next(&mut state, 3) == 0 {
            let key = *held.keys().min_by_key(|key| (**key).wrapping_mul(7919) % 301).unwrap();
            let bytes = held.remove(&key).unwrap().bytes();
            counts[0][3] -= bytes;
            if (100..200).contains(&key) {
                counts[1][3] -= bytes;
            }
        } else {
            // Small ones, which else a thread keeps for itself, as well.
            let most = [300, 16 << 10, 1 << 20][next(&mut state, 3)];
            let bytes = 1 + next(&mut state, most);
            held.insert(step, UsmMemory::new(UsmKind::Shared, bytes, &queue).unwrap());
            for count in &mut counts[scopes] {
                count[0] += bytes;
                count[1] += 1;
                count[3] += bytes;
                count[2] = count[2].max(count[3]);
            }
        }
        for (scope, count) in [&scope, &inner].into_iter().zip(counts) {
            let usage = scope.usage();
            let seen =
                [usage.allocated_bytes, usage.allocations as usize, usage.peak_bytes, usage.left_bytes];
            assert_eq!(seen, count, "{scope:?} at step {step}");
        }
    }
    drop(opened);
    // Others' memory, and what comes later, is not theirs; what goes later is.
    let before = scope.usage();
    let later = UsmMemory::new(UsmKind::Shared, 1000, &queue).unwrap();
    assert_eq!(scope.usage(), before);
    held.clear();
    assert_eq!((scope.usage().left_bytes, inner.usage().left_bytes), (0, 0));
    drop((later, device));
}

#[test]
fn scopes_are_opened_once_and_closed_on_their_thread() {
    let scope = MemoryScope::new("once");
    assert!(matches!(scope.leave(), Err(Error::Value(_))));
    scope.enter().unwrap();
    assert!(matches!(scope.enter(), Err(Error::Value(_))));
    let other = scope.clone();
    std::thread::spawn(move || assert!(matches!(other.leave(), Err(Error::Value(_))))).join().unwrap();
    let inner = MemoryScope::new("inner");
    inner.enter().unwrap();
    scope.leave().unwrap();
    // It was closed with the outer one.
    assert!(matches!(inner.leave(), Err(Error::Value(_))));
    assert!(matches!(scope.leave(), Err(Error::Value(_))));
}

#[test]
fn small_results_of_a_scope_are_counted_and_come_to_nothing() {
    let (_device, queue) = host();
    let x = Array::<f64>::on(&queue).linspace(0.0, 1.0, 100).unwrap();
    // What this thread keeps before does not hide what is allocated.
    for _ in 0..5 {
        drop(x.try_add(1.0).unwrap());
    }
    let scope = MemoryScope::new("small");
    let opened = scope.open().unwrap();
    let kept: Vec<_> = (0..10).map(|step| x.try_add(f64::from(step)).unwrap()).collect();
    let total = kept[9].sum().unwrap();
    drop(opened);
    let usage = scope.usage();
    assert_eq!((usage.left_bytes, usage.allocations >= 10), (8000, true), "{usage:?}");
    let live = live_arrays(Some(x.device())).unwrap();
    let of_scope: Vec<_> = live.iter().filter(|array| array.scope.as_deref() == Some("small")).collect();
    assert_eq!(of_scope.len(), 10);
    for array in of_scope {
        let (dtype, shape) = array.array.clone().unwrap();
        assert_eq!(
            (dtype, &shape[..], array.bytes, array.origin),
            (Dtype::F64, &[100][..], 800, MemoryOrigin::Pool)
        );
    }
    assert_eq!(total, x.sum().unwrap() + 900.0);
    drop(kept);
    assert_eq!(scope.usage().left_bytes, 0);
}

#[test]
fn live_arrays_are_those_that_there_are() {
    let (device, queue) = host();
    assert!(live_arrays(Some(&device)).unwrap().is_empty());
    let shapes: [&[usize]; 6] = [&[], &[7], &[3, 5], &[2, 3, 4], &[1, 2, 3, 4, 5], &[300, 2000]];
    let arrays: Vec<UsmArray> = shapes
        .iter()
        .map(|shape| UsmArray::zeros(&queue, shape, Dtype::I16, UsmKind::Shared).unwrap())
        .collect();
    let raw = UsmMemory::new(UsmKind::Device, 12_345, &queue).unwrap();
    let mut theirs = vec![0_u8; 4096];
    // SAFETY: the vector outlives the memory, and nothing else touches it meanwhile.
    let lent = unsafe {
        UsmMemory::from_foreign(UsmKind::Host, UsmPtr::new(theirs.as_mut_ptr()), 4096, &queue, None).unwrap()
    };
    let live = live_arrays(Some(&device)).unwrap();
    assert_eq!(live.len(), shapes.len() + 2);
    assert!(live.is_sorted_by(|a, b| a.bytes >= b.bytes));
    for (array, shape) in arrays.iter().zip(shapes) {
        let memory = array.usm_data().unwrap();
        let found: Vec<_> = live.iter().filter(|of| of.ptr == memory.ptr()).collect();
        let [found] = found[..] else { panic!("{shape:?}: {found:?}") };
        let (dtype, dims) = found.array.clone().unwrap();
        assert_eq!((dtype, &dims[..], found.kind), (Dtype::I16, shape, UsmKind::Shared));
        assert_eq!((found.bytes, found.scope.clone(), found.made_at()), (memory.bytes(), None, None));
    }
    let of = |ptr: UsmPtr| live.iter().find(|of| of.ptr == ptr).unwrap();
    let found = of(raw.ptr());
    assert_eq!((found.bytes, found.kind, found.array.is_none()), (12_345, UsmKind::Device, true));
    let found = of(lent.ptr());
    assert_eq!((found.bytes, found.origin), (4096, MemoryOrigin::Lent));
    // Another device's are not among them, all devices' are.
    let (other, other_queue) = host();
    let alone = UsmMemory::new(UsmKind::Shared, 77, &other_queue).unwrap();
    assert_eq!(live_arrays(Some(&other)).unwrap().len(), 1);
    assert!(live_arrays(None).unwrap().iter().any(|of| of.ptr == alone.ptr()));
    // A block that is used again says nothing of what was there before.
    let ptr = arrays[1].usm_data().unwrap().ptr();
    drop((arrays, lent));
    let again: Vec<UsmMemory> =
        (0..16).map(|_| UsmMemory::new(UsmKind::Shared, 14, &queue).unwrap()).collect();
    let live = live_arrays(Some(&device)).unwrap();
    assert!(again.iter().any(|memory| memory.ptr() == ptr), "the block is not used again");
    assert!(live.iter().filter(|of| of.bytes == 14).all(|of| of.array.is_none()));
}

/// The line of the call before, as a place shows it.
macro_rules! place_here {
    () => {
        format!("memory_usage.rs:{}", ::core::line!())
    };
}

/// Made in a function of its own, which the stack shows.
#[inline(never)]
fn load(queue: &Queue) -> (Array<f32>, String) {
    (Array::<f32>::on(queue).zeros([1000]).unwrap(), place_here!())
}

#[test]
fn where_memory_was_made_is_noted_if_asked() {
    let (device, queue) = host();
    let scope = MemoryScope::new("sites").with_sites();
    let opened = scope.open().unwrap();
    let (a, line) = load(&queue);
    stridewise::memory::set_call_site(Some("terrain.py:12"));
    let b = Array::<f32>::on(&queue).zeros([2000]).unwrap();
    stridewise::memory::set_call_site(None);
    drop(opened);
    let live = live_arrays(Some(&device)).unwrap();
    let place = |elements: usize| live.iter().find(|of| of.bytes == 4 * elements).unwrap().made_at().unwrap();
    assert_eq!(place(2000), "terrain.py:12");
    // Without debug information there is the function's name alone.
    let found = place(1000);
    assert!(found.contains("memory_usage::load"), "{found}");
    assert!(!found.contains(".rs:") || found.contains(&line), "{found}");
    let told = live[0].to_string();
    assert!(told.contains("made in \"sites\", at terrain.py:12"), "{told}");
    drop((a, b));
}
