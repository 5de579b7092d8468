//! What is dropped while work is pending: queues, events, arrays, sub-devices and foreign memory, in random order; and
//! what happens where memory runs out. Meant to run under the address sanitizer as well.

mod drops;
mod model;
mod random;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use drops::{Counts, adopt, gate, round, weak};
use model::{Model, get};
use random::Rng;
use stridewise::backend::Partition;
use stridewise::{
    Device, Dtype, Error, Op, Queue, Reduction, Result, Scalar, UsmArray, UsmKind, UsmMemory, UsmPtr, concat,
    s,
};
use stridewise_null::{NullConfig, NullDevice};

const ROUNDS: u64 = 10_000;

/// Ends the process with a message where a test hangs, which nothing else would tell.
struct Watchdog(Arc<AtomicBool>);

impl Watchdog {
    fn over(what: &'static str, limit: Duration) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        std::thread::spawn(move || {
            let begin = Instant::now();
            while !seen.load(Ordering::Relaxed) {
                if begin.elapsed() > limit {
                    eprintln!("{what}: hangs for {limit:?}");
                    std::process::abort();
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        Self(done)
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits for what completes by itself. The watchdog ends this where it does not.
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn everything_dropped_in_random_order_with_work_pending() {
    let _watchdog = Watchdog::over("dropping with work pending", Duration::from_secs(1200));
    let counts = Arc::new(Counts::default());
    let device = Device::from_backend(stridewise_host::device_with(None, 4).unwrap());
    let mut rng = Rng::new(1);
    let parts = device.create_sub_devices(&Partition::Equally(2)).unwrap();
    let mut devices = vec![device.clone(), device.clone()];
    devices.extend(parts);
    for number in 0..ROUNDS {
        if number % 200 == 199 {
            // Sub-devices are left with work pending too.
            devices.truncate(2);
            devices.extend(device.create_sub_devices(&Partition::ByCounts(vec![1, 2])).unwrap());
        }
        round(&mut rng, &devices, &counts);
    }
    let all = || devices.iter().all(|device| device.pool_statistics().live_bytes == 0);
    until(|| all() && counts.deleted.load(Ordering::SeqCst) == ROUNDS as usize);
    assert_eq!(counts.adopted.load(Ordering::SeqCst), ROUNDS as usize);
    assert_eq!(counts.early.load(Ordering::SeqCst), 0, "deleters that did not wait for the work");
    for device in &devices {
        device.trim_pool(0);
        let statistics = device.pool_statistics();
        assert_eq!((statistics.cached_bytes, statistics.reserved_bytes), (0, 0), "{statistics:?}");
    }
}

#[test]
fn a_deleter_is_called_once_after_the_last_owner_and_the_last_work() {
    let _watchdog = Watchdog::over("a deleter", Duration::from_secs(300));
    let queue = Device::from_backend(stridewise_host::device_with(None, 2).unwrap()).queue().unwrap();
    let counts = Arc::new(Counts::default());
    let deleted = || counts.deleted.load(Ordering::SeqCst);
    let opened = Arc::new(AtomicBool::new(false));
    let (blocked, open) = gate(&queue, &opened);
    let array = adopt(&queue, 50, &counts, &opened);
    let (view, memory) = (array.slice(s![10..]).unwrap(), array.usm_data().unwrap());
    assert!(memory.is_foreign());
    let event = queue.fill(&memory, 0, Scalar::I64(3), 50, &[blocked]).unwrap();
    drop((array, view));
    assert_eq!(deleted(), 0, "the memory has an owner");
    drop(memory);
    assert_eq!(deleted(), 0, "work is pending");
    drop(queue);
    drop(open);
    event.wait().unwrap();
    until(|| deleted() == 1);
    assert_eq!(counts.early.load(Ordering::SeqCst), 0);
    // Without pending work it is called at once.
    let queue = Queue::select("host").unwrap();
    let array = adopt(&queue, 50, &counts, &opened);
    let pointer = array.usm_data().unwrap().ptr();
    assert_eq!(array.to_vec::<i64>().unwrap(), [1; 50]);
    drop(array);
    assert_eq!(deleted(), 2);
    assert_eq!(stridewise::pointer_info(pointer).kind, stridewise::PointerKind::Unknown);
}

#[test]
fn threads_drop_what_others_made() {
    let _watchdog = Watchdog::over("dropping on other threads", Duration::from_secs(600));
    let device = Device::from_backend(stridewise_host::device_with(None, 2).unwrap());
    let counts = Arc::new(Counts::default());
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (device, counts, start) = (device.clone(), Arc::clone(&counts), &start);
            scope.spawn(move || {
                let mut rng = Rng::new(100 + thread);
                start.wait();
                for _ in 0..200 {
                    round(&mut rng, std::slice::from_ref(&device), &counts);
                }
            });
        }
    });
    until(|| device.pool_statistics().live_bytes == 0 && counts.deleted.load(Ordering::SeqCst) == 800);
    assert_eq!(counts.early.load(Ordering::SeqCst), 0);
}

/// Calls until it works; every failure must be that of the allocation, and may happen once.
fn retried<T>(failures: &mut usize, mut call: impl FnMut() -> Result<T>) -> T {
    loop {
        match call() {
            Ok(value) => return value,
            Err(Error::Alloc(complaint)) => {
                assert!(complaint.value.contains("null device"), "{complaint}");
                *failures += 1;
                assert!(*failures <= 1, "one allocation fails, once");
            }
            Err(other) => panic!("another error than that of the allocation: {other}"),
        }
    }
}

/// Work that allocates in every way there is, with the `fail`-th allocation of the device failing. Returns how many
/// failures there were.
fn with_failing_allocation(fail: usize) -> usize {
    const LEN: i64 = 9000;
    let null = NullDevice::new(NullConfig { fail_allocation: Some(fail), ..NullConfig::default() });
    let device = Device::from_backend(Arc::new(null.clone()));
    let queue = device.queue().unwrap();
    let mut model = Model::new(null.clone());
    let mut failures = 0;
    let mut results: Vec<(UsmArray, Vec<i64>)> = Vec::new();
    {
        let f = &mut failures;
        let x = retried(f, || UsmArray::full(&queue, &[LEN as usize], Scalar::I64(2), UsmKind::Device));
        x.slice(s![0]).unwrap().assign(weak(5)).unwrap();
        let x_values: Vec<i64> = std::iter::once(5).chain(std::iter::repeat_n(2, LEN as usize - 1)).collect();
        // Two recorded results: one pass writes both, and a failure loses neither.
        let sum = retried(f, || x.binary(Op::Add, weak(1)));
        let product = retried(f, || sum.binary(Op::Multiply, weak(10)));
        assert!(sum.is_pending() && product.is_pending());
        drop(retried(f, || product.event()));
        assert!(!sum.is_pending() && !product.is_pending());
        let narrow = retried(f, || sum.astype(Dtype::I32));
        let narrow_memory = retried(f, || narrow.usm_data());
        drop(narrow_memory);
        let joined = retried(f, || concat(&[&sum, &product, &x], Some(0)));
        let total = retried(f, || product.reduce(Reduction::Sum, None, false));
        // A recorded operand, computed on the way.
        let largest = retried(f, || x.binary(Op::Subtract, weak(7))?.reduce(Reduction::Max, None, false));
        // Overlapping: through a buffer.
        let shifted = retried(f, || x.copy());
        retried(f, || shifted.slice(s![1..]).unwrap().assign(&shifted.slice(s![..-1]).unwrap()));
        let moved = retried(f, || sum.copy());
        let memory = moved.usm_data().unwrap();
        retried(f, || queue.memcpy((&memory, 8), (&memory, 0), 8 * (LEN as usize - 1), &[]));
        // Written in place while recorded work reads it.
        let seen = retried(f, || moved.binary(Op::Add, &moved));
        retried(f, || moved.assign(weak(-1)));

        let map = |values: &[i64], g: &dyn Fn(i64) -> i64| values.iter().map(|&v| g(v)).collect::<Vec<i64>>();
        let sum_values = map(&x_values, &|v| v + 1);
        let product_values = map(&sum_values, &|v| v * 10);
        let shift = |values: &[i64]| {
            let mut out = vec![values[0]];
            out.extend(&values[..values.len() - 1]);
            out
        };
        results.push((total, vec![product_values.iter().sum()]));
        results.push((largest, vec![-2]));
        results.push((joined, [&sum_values[..], &product_values, &x_values].concat()));
        results.push((shifted, shift(&x_values)));
        results.push((seen, map(&shift(&sum_values), &|v| 2 * v)));
        results.push((moved, vec![-1; LEN as usize]));
        results.push((narrow, sum_values.clone()));
        results.push((sum, sum_values));
        results.push((product, product_values));
        results.push((x, x_values));
        retried(f, || queue.flush());
    }
    model.absorb();
    while let Some(&id) = model.ready().last() {
        model.complete(id);
    }
    for (array, expected) in results {
        let memory = retried(&mut failures, || array.usm_data());
        let size = array.itemsize();
        let found: Vec<i64> = array
            .layout()
            .indices()
            .map(|i| get(model.read(memory.ptr().addr() + i * size, size), array.dtype()))
            .collect();
        assert!(found == expected, "{array:?} with the failing allocation {fail}");
    }
    assert_eq!(device.pool_statistics().live_bytes, 0, "failing allocation {fail}");
    drop((queue, device));
    assert_eq!((null.live_allocations().len(), null.wrong_frees()), (0, 0), "failing allocation {fail}");
    failures
}

#[test]
fn the_nth_allocation_fails_and_nothing_is_lost() {
    let _watchdog = Watchdog::over("a failing allocation", Duration::from_secs(600));
    let failures: Vec<usize> = (0..40).map(with_failing_allocation).collect();
    assert_eq!(failures.last(), Some(&0), "40 are more than the scenario needs");
    // Once the pool holds free blocks, it gives them back and asks again, so that later failures are not even seen.
    assert_eq!(failures[..4], [1; 4], "{failures:?}");
}

#[test]
fn what_the_pool_holds_is_given_back_before_an_allocation_fails() {
    for len in [4, 100_000] {
        let null = NullDevice::new(NullConfig { fail_allocation: Some(1), ..NullConfig::default() });
        let device = Device::from_backend(Arc::new(null.clone()));
        let queue = device.queue().unwrap();
        drop(UsmMemory::new(UsmKind::Device, 1 << 20, &queue).unwrap());
        assert!(device.pool_statistics().cached_bytes >= 1 << 20);
        let memory = UsmMemory::new(UsmKind::Device, len, &queue).unwrap();
        assert_eq!(null.live_allocations().len(), 1, "the held block went back");
        assert_eq!(memory.bytes(), len);
    }
}

#[test]
fn memory_that_is_known_twice_is_one_memory_for_copies_and_assignments() {
    let queue = stridewise::default_device().unwrap().queue().unwrap();
    for len in [9_usize, 300_000] {
        let mut words: Vec<i64> = (0..len as i64).collect();
        let ptr = UsmPtr::new(words.as_mut_ptr().cast());
        let adopt = || {
            // SAFETY: the words outlive what is made of them here, and are not touched otherwise meanwhile.
            unsafe { UsmMemory::from_foreign(UsmKind::Host, ptr, len * 8, &queue, None) }.unwrap()
        };
        let array = |first: usize| {
            let builder = UsmArray::builder([len - 1]).dtype(Dtype::I64).buffer(&adopt());
            builder.offset(first).queue(&queue).build().unwrap()
        };
        let expect = |first: i64| -> Vec<i64> { (first..first + len as i64 - 1).collect() };
        let (low, high) = (array(0), array(1));
        high.assign(&low).unwrap().wait().unwrap();
        assert_eq!(high.to_vec::<i64>().unwrap(), expect(0), "assigned, {len}");
        low.write_elementwise(Op::Add, &[(&high).into(), weak(1)], &[]).unwrap().wait().unwrap();
        assert_eq!(low.to_vec::<i64>().unwrap(), expect(1), "added, {len}");
        let (to, from) = (adopt(), adopt());
        queue.memcpy((&to, 8), (&from, 0), (len - 1) * 8, &[]).unwrap().wait().unwrap();
        assert_eq!(high.to_vec::<i64>().unwrap(), expect(1), "copied, {len}");
        drop((low, high, to, from));
    }
}
