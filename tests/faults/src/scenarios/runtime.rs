//! Memory, events, queues and devices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stridewise::backend::{Advice, EventStatus, Partition, QueueProperties};
use stridewise::{
    Dtype, Error, Event, Op, Queue, Reduction, Result, Scalar, UsmArray, UsmKind, UsmMemory, UsmPtr, s,
};

use super::{Scenario, scenario};
use crate::allocator::spared;
use crate::bench::{Bench, is_of_a_fault, until};

pub(crate) const LIST: &[Scenario] = &[
    scenario("fills and copies of memory", fills),
    scenario("a copy over itself", copy_over_itself),
    scenario("hints", hints),
    scenario("small and large allocations", allocations),
    scenario("memory of others", foreign).of_the_host(),
    scenario("events and barriers", events),
    scenario("host tasks", host_tasks),
    scenario("a task that fails", failing_task),
    scenario("a chain of commands", chain),
    scenario("a queue in order", in_order),
    scenario("a queue with time stamps", profiling),
    scenario("two queues of a context", two_queues),
    scenario("parts of a device", parts),
    scenario("a copy to another device", to_another_device).of_the_host(),
    scenario("recorded work that nobody asks for", recorded),
    scenario("threads that share a queue", threads),
];

fn fills(bench: &Bench) -> Result<()> {
    let queue = &bench.queue;
    let memory = UsmMemory::new(UsmKind::Device, 400_000, queue)?;
    let filled = queue.fill(&memory, 0, Scalar::I32(5), 100_000, &[])?;
    let other = UsmMemory::new(UsmKind::Device, 400_000, queue)?;
    let copied = queue.memcpy((&other, 0), (&memory, 0), 400_000, &[filled])?;
    queue.memset(&other, 0, 0, 4, &[copied])?.wait()?;
    let array = UsmArray::builder([100_000]).dtype(Dtype::I32).buffer(&other).build()?;
    let found = array.to_vec::<i32>()?;
    // Copies and fills are real on every runtime.
    assert!(found.iter().enumerate().all(|(i, &x)| x == if i == 0 { 0 } else { 5 }), "copied bytes");
    Ok(())
}

fn copy_over_itself(bench: &Bench) -> Result<()> {
    let a = bench.array(&[50_000], |i| i as i32)?;
    let memory = a.usm_data()?;
    bench.queue.memcpy((&memory, 40), (&memory, 0), 40_000, &[])?.wait()?;
    let found = a.to_vec::<i32>()?;
    let moved = |i: usize| if (10..10_010).contains(&i) { i as i32 - 10 } else { i as i32 };
    assert!(found.iter().enumerate().all(|(i, &x)| x == moved(i)), "moved bytes");
    Ok(())
}

fn hints(bench: &Bench) -> Result<()> {
    let a = bench.array(&[200_000], |i| i as f32)?;
    let memory = a.usm_data()?;
    let ahead = bench.queue.prefetch(&memory, 0, memory.bytes(), &[])?;
    bench.queue.mem_advise(&memory, 0, 4096, Advice::Random, &[ahead])?.wait()?;
    bench.expect(&a, |i| i as f32)
}

fn allocations(bench: &Bench) -> Result<()> {
    // More of a size than a slab has, and one of each larger size.
    let mut all: Vec<UsmMemory> = spared(|| Vec::with_capacity(64));
    for _ in 0..40 {
        all.push(UsmMemory::new(UsmKind::Device, 60_000, &bench.queue)?);
    }
    for shift in 17..22 {
        all.push(UsmMemory::new(UsmKind::Device, 1 << shift, &bench.queue)?);
    }
    if bench.computes {
        let last = UsmMemory::aligned(UsmKind::Device, 100, 4096, &bench.queue)?;
        assert!(last.ptr().addr().is_multiple_of(4096), "an alignment");
    }
    Ok(())
}

fn foreign(bench: &Bench) -> Result<()> {
    const WORDS: usize = 10_000;
    let deleted = Arc::new(AtomicUsize::new(0));
    let (memory, start) = spared(|| {
        let start = Box::into_raw(vec![1_i64; WORDS].into_boxed_slice());
        let seen = Arc::clone(&deleted);
        let deleter = Box::new(move || {
            seen.fetch_add(1, Ordering::SeqCst);
        });
        let ptr = UsmPtr::new(start.cast());
        // SAFETY: the words are this scenario's alone, and live until their deleter has been called, below.
        let memory =
            unsafe { UsmMemory::from_foreign(UsmKind::Host, ptr, 8 * WORDS, &bench.queue, Some(deleter)) };
        (memory, start)
    });
    let adopted = memory.is_ok();
    let outcome = memory.and_then(|memory| {
        let array = UsmArray::builder([WORDS]).dtype(Dtype::I64).buffer(&memory).build()?;
        array.write_elementwise(Op::Add, &[(&array).into(), Scalar::I64(1).into()], &[])?;
        bench.expect(&array, |_| 2_i64)
    });
    if adopted {
        until(|| deleted.load(Ordering::SeqCst) > 0).expect("the deleter is called");
        assert_eq!(deleted.load(Ordering::SeqCst), 1, "calls of the deleter");
    }
    // SAFETY: made from a box above; the engine has given it back, or has not taken it.
    drop(unsafe { Box::from_raw(start) });
    outcome
}

fn events(bench: &Bench) -> Result<()> {
    let a = bench.array(&[100_000], |i| i as f32)?;
    let b = a.binary(Op::Add, &a)?;
    let event = b.event()?;
    let barrier = bench.queue.submit_barrier(std::slice::from_ref(&event))?;
    let write = a.write_elementwise(Op::Add, &[(&a).into(), Scalar::F32(1.0).into()], &[barrier])?;
    Event::wait_all(&[event, write.clone()])?;
    bench.check(write.status() == EventStatus::Complete, "a complete event");
    bench.expect(&a, |i| i as f32 + 1.0)?;
    bench.expect(&b, |i| 2.0 * i as f32)
}

fn host_tasks(bench: &Bench) -> Result<()> {
    let count = Arc::new(AtomicUsize::new(0));
    let mut last = Event::ready();
    for _ in 0..5 {
        let count = Arc::clone(&count);
        let task = move || {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        last = bench.queue.submit_host_task(task, &[last])?;
    }
    last.wait()?;
    assert_eq!(count.load(Ordering::SeqCst), 5, "tasks that ran");
    Ok(())
}

fn failing_task(bench: &Bench) -> Result<()> {
    let fails = || Err(Error::value("task", "one that fails", "a failure", "this is on purpose"));
    let failed = bench.queue.submit_host_task(fails, &[])?;
    let a = bench.array(&[100_000], |i| i as f32)?;
    let written =
        a.write_elementwise(Op::Add, &[(&a).into(), Scalar::F32(1.0).into()], std::slice::from_ref(&failed))?;
    // The thread for the task may be what fails.
    match failed.wait() {
        Err(Error::Value(_)) => {}
        Err(error) if is_of_a_fault(&error) => return Err(error),
        other => panic!("a task that fails ended with {other:?}"),
    }
    match written.wait() {
        Err(Error::Dependency(_)) => Ok(()),
        other => panic!("what depends on a task that failed ended with {other:?}"),
    }
}

fn chain(bench: &Bench) -> Result<()> {
    let a = bench.array(&[60_000], |i| (i % 7) as f64)?;
    for _ in 0..10 {
        a.write_elementwise(Op::Add, &[(&a).into(), Scalar::F64(1.0).into()], &[])?;
    }
    let b = a.slice(s![..;-1])?.copy()?;
    a.assign(Scalar::F64(0.0))?;
    bench.expect(&b, |i| ((59_999 - i) % 7 + 10) as f64)
}

/// Some work on a queue with properties: the event of a write.
fn on_queue(bench: &Bench, properties: QueueProperties) -> Result<Event> {
    let queue = Queue::new(&bench.device, properties)?;
    let data: Vec<f32> = spared(|| (0..200_000).map(|i| i as f32).collect());
    let a = UsmArray::from_slice(&queue, &[200_000], &data, UsmKind::Device)?;
    let b = a.binary(Op::Add, &a)?;
    bench.expect(&b, |i| 2.0 * i as f32)?;
    let event = a.write_elementwise(Op::Add, &[(&a).into(), (&b).into()], &[])?;
    bench.expect(&a, |i| 3.0 * i as f32)?;
    queue.submit_host_task(|| Ok(()), &[])?.wait()?;
    queue.wait()?;
    Ok(event)
}

fn in_order(bench: &Bench) -> Result<()> {
    on_queue(bench, QueueProperties { in_order: true, profiling: false }).map(drop)
}

fn profiling(bench: &Bench) -> Result<()> {
    let event = on_queue(bench, QueueProperties { in_order: false, profiling: true })?;
    // A runtime that fails may have no time stamps.
    if bench.computes {
        let times = event.profiling_info()?;
        assert!(times.submitted <= times.started && times.started <= times.ended, "time stamps in order");
    }
    Ok(())
}

fn two_queues(bench: &Bench) -> Result<()> {
    let other = Queue::in_context(bench.queue.context(), &bench.device, QueueProperties::default())?;
    let a = bench.array(&[100_000], |i| i as i64)?;
    let theirs = a.to_queue(&other)?.binary(Op::Multiply, Scalar::I64(3))?;
    // A write on one queue flushes what the other has recorded.
    a.assign(Scalar::I64(0))?;
    bench.expect(&theirs, |i| 3 * i as i64)
}

fn parts(bench: &Bench) -> Result<()> {
    // A device's table of functions is large, but the same for all.
    let parts = spared(|| bench.device.create_sub_devices(&Partition::Equally(2)))?;
    let mut arrays = spared(|| Vec::with_capacity(parts.len()));
    for part in &parts {
        let queue = Queue::new(part, QueueProperties::default())?;
        let data: Vec<f64> = spared(|| (0..150_000).map(|i| i as f64).collect());
        let a = UsmArray::from_slice(&queue, &[150_000], &data, UsmKind::Device)?;
        arrays.push(a.binary(Op::Add, &a)?.unary(Op::Sqrt)?.unary(Op::Square)?);
    }
    for array in &arrays {
        let most = array.reduce(Reduction::Max, None, false)?.item()?.to_f64();
        bench.check((most - 299_998.0).abs() < 1e-6, "the largest of a part");
    }
    drop(arrays);
    until(|| parts.iter().all(|part| part.pool_statistics().live_bytes == 0)).expect("memory of a part goes");
    Ok(())
}

fn to_another_device(bench: &Bench) -> Result<()> {
    let other = spared(Bench::other_host)?;
    let outcome = bench.array(&[100_000], |i| i as f32).and_then(|a| {
        let theirs = a.slice(s![..;2])?.to_device(&other.device)?;
        other.expect(&theirs.binary(Op::Add, &theirs)?, |i| 4.0 * i as f32)
    });
    other.end(None).expect("the other device ends");
    outcome
}

fn recorded(bench: &Bench) -> Result<()> {
    let a = bench.array(&[100_000], |i| i as f32)?;
    let mut last = a.clone();
    for _ in 0..40 {
        last = last.binary(Op::Add, &a)?;
    }
    bench.queue.flush()?;
    drop(last);
    a.binary(Op::Multiply, &a).map(drop)
}

fn threads(bench: &Bench) -> Result<()> {
    let outcomes = std::thread::scope(|scope| {
        let work = |number: usize| {
            move || {
                let a = bench.array(&[30_000], |i| (i + number) as i64)?;
                bench.expect(&a.binary(Op::Add, &a)?, |i| 2 * (i + number) as i64)
            }
        };
        [1, 2, 3].map(|number| scope.spawn(work(number))).map(|thread| thread.join().unwrap())
    });
    outcomes.into_iter().collect()
}
