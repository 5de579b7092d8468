//! Programs that submit without ever waiting, and threads that meet on one array: nothing grows, nothing is refused that would
//! only have to wait a moment, and nothing stops for ever.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stridewise::backend::{Backlog, QueueProperties};
use stridewise::prelude::*;
use stridewise_null::{NullConfig, NullDevice};

/// Ends the process with a message where a test hangs, which nothing else would tell.
fn watched<R>(what: &'static str, test: impl FnOnce() -> R) -> R {
    const LIMIT: Duration = Duration::from_secs(300);
    let done = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&done);
    std::thread::spawn(move || {
        let begin = Instant::now();
        while !seen.load(Ordering::Relaxed) {
            if begin.elapsed() > LIMIT {
                eprintln!("{what}: hangs for {LIMIT:?}");
                std::process::abort();
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let result = test();
    done.store(true, Ordering::Relaxed);
    result
}

/// A device of two threads with a pool of its own, and its queue.
fn host() -> (Device, Queue) {
    let device = Device::from_backend(stridewise_host::device_with(None, 2).unwrap());
    let queue = device.queue().unwrap();
    (device, queue)
}

#[test]
fn a_loop_that_never_waits_keeps_the_memory_of_a_few_results() {
    let (device, queue) = host();
    let x = Array::<f64>::on(&queue).linspace(0.0, 1.0, 1 << 19).unwrap();
    x.wait().unwrap();
    let mut last = None;
    for _ in 0..200 {
        last = Some(x.cumulative_sum(0).unwrap());
    }
    let bound = device.backlog();
    let seen = device.under_way();
    assert!(
        seen.commands <= bound.commands + 1 && seen.bytes <= bound.bytes + (8 << 20),
        "{seen:?} of {bound:?}"
    );
    // Each command reads 4 MiB and writes 4 MiB.
    let most = bound.bytes / 2 + (32 << 20);
    let statistics = device.pool_statistics();
    assert!(statistics.reserved_bytes <= most, "{statistics:?}, at most {most}");
    last.unwrap().wait().unwrap();
    queue.wait().unwrap();
    assert_eq!(device.under_way(), Backlog { commands: 0, bytes: 0 });
}

#[test]
fn memory_of_finished_work_is_free_without_anyone_asking() {
    // Results that are dropped while their work is under way: as soon as that is over, nothing of them is left but what the pool
    // keeps for reuse.
    let (device, queue) = host();
    let x = Array::<f64>::on(&queue).linspace(0.0, 1.0, 1 << 18).unwrap();
    x.wait().unwrap();
    let live = device.pool_statistics().live_bytes;
    let event = {
        let y = x.cumulative_sum(0).unwrap();
        y.event().unwrap()
    };
    event.wait().unwrap();
    let begin = Instant::now();
    while device.pool_statistics().live_bytes > live && begin.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now();
    }
    assert_eq!(device.pool_statistics().live_bytes, live);
}

#[test]
fn stores_that_nobody_waits_for_are_few() {
    let (device, queue) = host();
    let mut x = Array::<i64>::on(&queue).zeros([1 << 20]).unwrap();
    let bound = device.backlog();
    for value in 0..300 {
        x.fill(value).unwrap();
        let seen = device.under_way();
        assert!(seen.bytes <= bound.bytes + (16 << 20), "{seen:?} of {bound:?}");
    }
    assert_eq!(x.get([1 << 19]).unwrap(), 299);
}

#[test]
fn the_bound_is_adjustable() {
    watched("bounds", || {
        let (device, queue) = host();
        let x = Array::<f32>::on(&queue).linspace(0.0, 1.0, 1 << 18).unwrap();
        for commands in [0, 1, 3, 1000] {
            device.set_backlog(Backlog { commands, bytes: usize::MAX });
            assert_eq!(device.backlog().commands, commands);
            for _ in 0..50 {
                drop(x.cumulative_sum(0).unwrap());
                assert!(device.under_way().commands <= commands);
            }
        }
        queue.wait().unwrap();
    });
}

#[test]
fn work_behind_a_host_task_that_waits_for_the_program_is_not_waited_for() {
    watched("a host task that waits", || {
        for in_order in [false, true] {
            let (device, _) = host();
            device.set_backlog(Backlog { commands: 4, bytes: 1 << 20 });
            let queue = Queue::new(&device, QueueProperties { in_order, profiling: false }).unwrap();
            let x = Array::<f64>::on(&queue).linspace(0.0, 1.0, 1 << 17).unwrap();
            x.wait().unwrap();
            let (go, gone) = channel::<()>();
            let gone = Mutex::new(gone);
            let task = queue
                .submit_host_task(
                    move || {
                        gone.lock().unwrap().recv().unwrap();
                        Ok(())
                    },
                    &[],
                )
                .unwrap();
            // Many more than the bound, all behind the task.
            let count = Arc::new(AtomicUsize::new(0));
            let mut events = Vec::new();
            for _ in 0..100 {
                let count = Arc::clone(&count);
                let add = move || {
                    count.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                };
                events.push(queue.submit_host_task(add, std::slice::from_ref(&task)).unwrap());
                let after = events.last().unwrap().clone();
                events.push(queue.submit_barrier(&[after]).unwrap());
            }
            assert_eq!(count.load(Ordering::Relaxed), 0);
            go.send(()).unwrap();
            Event::wait_all(&events).unwrap();
            assert_eq!(count.load(Ordering::Relaxed), 100);
        }
    });
}

#[test]
fn a_device_that_ends_nothing_by_itself_has_no_bound() {
    let null = NullDevice::new(NullConfig::default());
    let device = Device::from_backend(Arc::new(null.clone()));
    assert_eq!(device.backlog(), Backlog::UNBOUNDED);
    let queue = device.queue().unwrap();
    for _ in 0..3000 {
        queue.submit_host_task(|| Ok(()), &[]).unwrap();
    }
    assert_eq!(device.under_way().commands, 3000);
}

#[test]
fn who_writes_waits_for_copies_by_others() {
    watched("copies", || {
        let (_, queue) = host();
        let x = Array::<i64>::on(&queue).zeros([40_000]).unwrap();
        let (stop, rounds) = (AtomicBool::new(false), 60);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let seen = x.to_vec().unwrap();
                        // Every write is to all elements.
                        assert!(seen.iter().all(|&value| value == seen[0]), "a copy of a write half done");
                        let (strided, text) = (x.slice(s![..;-3]).unwrap().to_vec().unwrap(), format!("{x}"));
                        assert!(strided.iter().all(|&value| value == strided[0]));
                        assert!(text.starts_with('[') && text.ends_with(']'), "{text}");
                    }
                });
            }
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut written = x.share();
                        (0..rounds).for_each(|_| written += 1);
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(x.get([7]).unwrap(), 2 * rounds);
    });
}

#[test]
fn a_view_that_somebody_holds_is_an_error_still() {
    let (_, queue) = host();
    let mut x = Array::<i64>::on(&queue).zeros([1000]).unwrap();
    let y = x.share();
    let view = y.view().unwrap();
    assert!(matches!(x.fill(1), Err(Error::Borrow(_))));
    drop(view);
    x.fill(1).unwrap();
}

#[test]
fn one_result_that_many_threads_ask_for_is_right() {
    watched("one result", || {
        let (_, queue) = host();
        let x = Array::<f64>::on(&queue).linspace(0.0, 1.0, 40_000).unwrap();
        for round in 0..200 {
            let y = &x * f64::from(round) + 1.0;
            let sum = y.slice(s![..;-1]).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        assert_eq!(y.get([0]).unwrap(), 1.0);
                        assert_eq!(sum.get([0]).unwrap(), f64::from(round) + 1.0);
                    });
                }
            });
        }
    });
}

mod on_rayon {
    use stridewise::rayon::prelude::*;
    use stridewise::rayon::{ThreadPool, ThreadPoolBuilder};

    use super::*;

    fn pool(threads: usize) -> Arc<ThreadPool> {
        Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().unwrap())
    }

    /// Work of every road: small and large, products, sorts, chains of submissions, host tasks.
    fn work(queue: &Queue, seed: usize) {
        let len = [16, 3000, 70_000, 300_000][seed % 4];
        let x = Array::<f64>::on(queue).linspace(0.0, 1.0, len).unwrap();
        let y = (&x * 2.0 + 1.0).sqrt();
        let sum = y.sum().unwrap();
        let scan = y.cumulative_sum(0).unwrap().cumulative_sum(0).unwrap();
        assert!((scan.diff(-1).unwrap().get([-1]).unwrap() - sum).abs() < 1e-6 * sum);
        let side = [20, 90, 150][seed % 3];
        let a =
            Array::<f32>::on(queue).linspace(0.0, 1.0, side * side).unwrap().reshape([side, side]).unwrap();
        let product = a.matmul(&a);
        let task = queue.submit_host_task(|| Ok(()), &[]).unwrap();
        assert!(product.get([1, 1]).unwrap() > 0.0);
        task.wait().unwrap();
        assert_eq!(y.sort(0, false).unwrap().get([0]).unwrap(), 1.0);
    }

    #[test]
    fn a_device_on_a_pool_of_rayons_computes_for_everyone() {
        watched("a device on a pool of rayon's", || {
            for threads in [1, 2, 4] {
                let pool = pool(threads);
                let queue = stridewise::host_device_on(&pool).queue().unwrap();
                // From outside; from all of its threads; from another pool.
                (0..12).for_each(|seed| work(&queue, seed));
                pool.install(|| (0..48_usize).into_par_iter().for_each(|seed| work(&queue, seed)));
                std::thread::scope(|scope| {
                    for caller in 0..3 {
                        let queue = &queue;
                        scope.spawn(move || (0..8).for_each(|seed| work(queue, seed + caller)));
                    }
                });
            }
        });
    }

    #[test]
    fn jobs_that_wait_for_one_event_do_not_wait_for_each_other() {
        watched("jobs that wait", || {
            for threads in [1, 2] {
                let pool = pool(threads);
                let queue = stridewise::host_device_on(&pool).queue().unwrap();
                let x = Array::<f64>::on(&queue).linspace(0.0, 1.0, 1 << 19).unwrap();
                pool.install(|| {
                    for _ in 0..20 {
                        let y = x.cumulative_sum(0).unwrap();
                        (0..16).into_par_iter().for_each(|_| y.wait().map(drop).unwrap());
                        let z = y.cumulative_sum(0).unwrap().cumulative_sum(0).unwrap();
                        (0..16).into_par_iter().for_each(|_| assert!(z.get([5]).unwrap() > 0.0));
                    }
                });
            }
        });
    }

    #[test]
    fn a_program_with_a_pool_of_its_own_multiplies_matrices() {
        watched("products in a pool of rayon's", || {
            for threads in [1, 4] {
                let pool = pool(threads);
                let a = Array::<f32>::linspace(0.0, 1.0, 200 * 200).unwrap().reshape([200, 200]).unwrap();
                let small = Array::<f32>::linspace(0.0, 1.0, 1600).unwrap().reshape([40, 40]).unwrap();
                let wanted = a.matmul(&a).get([1, 1]).unwrap();
                pool.install(|| {
                    (0..400_usize).into_par_iter().for_each(|i| {
                        if i % 8 == 0 {
                            assert_eq!(a.matmul(&a).get([1, 1]).unwrap(), wanted);
                        }
                        assert!(small.matmul(&small).get([1, 1]).unwrap() > 0.0);
                    });
                    for _ in 0..20 {
                        let c = a.matmul(&a);
                        (0..16).into_par_iter().for_each(|_| assert_eq!(c.get([1, 1]).unwrap(), wanted));
                    }
                });
            }
        });
    }
}
