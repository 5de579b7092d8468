//! The host's queues against the contract of `stridewise_core::backend`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::sample::Index;
use stridewise_core::backend::{
    Command, Dependency, Device, Event, EventStatus, Family, LaunchPlan, Operand, Program, Queue,
    QueueProperties, RawAllocation, Step, Wait,
};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Dtype, Error, Op, Result};
use stridewise_host::device_with;

const THREADS: [usize; 4] = [1, 2, 4, 8];
const IN_ORDER: QueueProperties = QueueProperties { in_order: true, profiling: false };

fn device(threads: usize) -> Arc<dyn Device> {
    device_with(None, threads).unwrap()
}

fn queue(threads: usize) -> Arc<dyn Queue> {
    device(threads).create_queue(QueueProperties::default()).unwrap()
}

fn submit(queue: &Arc<dyn Queue>, command: Command, waits: &[Wait]) -> Arc<dyn Event> {
    // SAFETY: every test keeps the memory of its commands until it has waited for them, and names as waits what they
    // conflict with.
    unsafe { queue.submit(command, waits) }.unwrap().proceed()
}

fn after(event: &Arc<dyn Event>) -> Wait {
    Wait { event: Arc::clone(event), dependency: Dependency::Data }
}

fn behind(event: &Arc<dyn Event>) -> Wait {
    Wait { event: Arc::clone(event), dependency: Dependency::Order }
}

fn task(f: impl FnOnce() -> Result<()> + Send + 'static) -> Command {
    Command::HostTask(Box::new(f))
}

fn failure() -> Error {
    Error::task("test", "a failure", "none", "none")
}

fn copy<T>(dst: *mut T, src: *const T, len: usize) -> Command {
    Command::Step(Step::Copy {
        dst: UsmPtr::new(dst.cast()),
        src: UsmPtr::new(src.cast_mut().cast()),
        bytes: len * size_of::<T>(),
    })
}

/// An address that a task may write to, in its turn.
#[derive(Clone, Copy)]
struct Cell(*mut u64);
// SAFETY: the graph orders all accesses; that it does is what is tested.
unsafe impl Send for Cell {}

impl Cell {
    fn get(self) -> u64 {
        // SAFETY: the cells outlive the test's waiting, and the graph orders accesses.
        unsafe { self.0.read_volatile() }
    }
    fn set(self, value: u64) {
        // SAFETY: as for `get`.
        unsafe { self.0.write_volatile(value) };
    }
}

#[test]
fn small_work_is_done_on_return_and_large_work_on_the_pool() {
    for threads in THREADS {
        let queue = queue(threads);
        let src: Vec<u64> = (0..1 << 20).collect();
        let mut dst = vec![0u64; src.len()];
        let event = submit(&queue, copy(dst.as_mut_ptr(), src.as_ptr(), 100), &[]);
        assert_eq!(event.status(), EventStatus::Complete);
        assert_eq!((dst[99], dst[100]), (99, 0));
        submit(&queue, copy(dst.as_mut_ptr(), src.as_ptr(), src.len()), &[]).wait().unwrap();
        assert_eq!(dst, src);
        let mut pattern = [0u8; 16];
        pattern[..4].copy_from_slice(&[1, 2, 3, 4]);
        let bytes = dst.len() * 8;
        let fill = Command::Step(Step::Fill {
            dst: UsmPtr::new(dst.as_mut_ptr().cast()),
            bytes,
            pattern,
            pattern_bytes: 4,
        });
        submit(&queue, fill, &[]).wait().unwrap();
        assert!(dst.iter().all(|v| *v == 0x0403_0201_0403_0201));
        assert_eq!(event.driver(), "host");
    }
}

fn add(a: &[f32], b: &[f32], out: &mut [f32]) -> LaunchPlan {
    let operand =
        |ptr: *mut f32| Operand { ptr: UsmPtr::new(ptr.cast()), strides: [1].into_iter().collect() };
    LaunchPlan {
        program: Arc::new(Program::single(Op::Add, Dtype::F32).unwrap()),
        family: Family::Map,
        dims: [out.len()].into_iter().collect(),
        inputs: [operand(a.as_ptr().cast_mut()), operand(b.as_ptr().cast_mut())].into_iter().collect(),
        outputs: [operand(out.as_mut_ptr())].into_iter().collect(),
    }
}

#[test]
fn a_launch_runs_all_of_its_plans() {
    for threads in THREADS {
        let queue = queue(threads);
        for lens in [vec![3], vec![1; 200], vec![70_000, 5, 70_001, 6, 7]] {
            let a: Vec<Vec<f32>> = lens.iter().map(|&n| (0..n).map(|i| i as f32).collect()).collect();
            let mut out: Vec<Vec<f32>> = lens.iter().map(|&n| vec![-1.0; n]).collect();
            let plans = a.iter().zip(&mut out).map(|(a, out)| add(a, a, out)).collect();
            submit(&queue, Command::Step(Step::Launch(plans)), &[]).wait().unwrap();
            for (a, out) in a.iter().zip(&out) {
                assert!(a.iter().zip(out).all(|(a, o)| *o == 2.0 * a));
            }
        }
    }
}

#[test]
fn a_diamond_meets_after_both_sides() {
    for threads in THREADS {
        let queue = queue(threads);
        let mut cells = [0u64; 4];
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| Cell(cells.as_mut_ptr().wrapping_add(i)));
        let gate = device(1).signal().unwrap();
        let top = submit(
            &queue,
            task(move || {
                a.set(5);
                Ok(())
            }),
            &[after(&gate.event)],
        );
        let left = submit(&queue, copy(b.0, a.0, 1), &[after(&top)]);
        let right = submit(
            &queue,
            task(move || {
                c.set(a.get() + 1);
                Ok(())
            }),
            &[after(&top)],
        );
        let bottom = submit(
            &queue,
            task(move || {
                d.set(b.get() * c.get());
                Ok(())
            }),
            &[after(&left), after(&right)],
        );
        assert_eq!(bottom.status(), EventStatus::Submitted);
        (gate.complete)(Ok(()));
        bottom.wait().unwrap();
        assert_eq!(d.get(), 30);
    }
}

#[derive(Clone, Debug)]
struct Node {
    kind: u8,
    waits: Vec<(Index, bool)>,
}

fn node() -> impl Strategy<Value = Node> {
    (0u8..4, prop::collection::vec((any::<Index>(), any::<bool>()), 0..5))
        .prop_map(|(kind, waits)| Node { kind, waits })
}

/// Each node writes its own cell from the cells of its predecessors, so an order that was not kept leaves a value that
/// the serial run does not have.
fn run_graph(threads: usize, nodes: &[Node], gated: bool) {
    let device = device(threads);
    let queues = [QueueProperties::default(), IN_ORDER].map(|p| device.create_queue(p).unwrap());
    let mut cells = vec![u64::MAX; nodes.len() + 1];
    let base = cells.as_mut_ptr();
    let cell = |i: usize| Cell(base.wrapping_add(i));
    let constant = [7u8; 16];
    let mut expected = vec![0u64; nodes.len()];
    let mut events: Vec<Arc<dyn Event>> = Vec::new();
    let gate = device.signal().unwrap();
    for (i, node) in nodes.iter().enumerate() {
        let before: Vec<usize> =
            if i == 0 { Vec::new() } else { node.waits.iter().map(|(w, _)| w.index(i)).collect() };
        let mut waits: Vec<Wait> = before
            .iter()
            .zip(&node.waits)
            .map(|(&w, (_, data))| if *data { after(&events[w]) } else { behind(&events[w]) })
            .collect();
        if gated && before.is_empty() {
            waits.push(after(&gate.event));
        }
        let (value, command) = match (node.kind, before.first()) {
            (0, Some(&first)) => (expected[first], copy(cell(i).0, cell(first).0, 1)),
            (1, _) => {
                let dst = UsmPtr::new(cell(i).0.cast());
                let fill = Command::Step(Step::Fill { dst, bytes: 8, pattern: constant, pattern_bytes: 8 });
                (0x0707_0707_0707_0707, fill)
            }
            _ => {
                let sum = |get: &dyn Fn(usize) -> u64| {
                    before.iter().fold(i as u64, |sum, &w| sum.wrapping_mul(3).wrapping_add(get(w)))
                };
                let value = sum(&|w| expected[w]);
                let sources: Vec<Cell> = before.iter().map(|&w| cell(w)).collect();
                let own = cell(i);
                let command = task(move || {
                    let start = i as u64;
                    own.set(sources.iter().fold(start, |sum, c| sum.wrapping_mul(3).wrapping_add(c.get())));
                    Ok(())
                });
                (value, command)
            }
        };
        expected[i] = value;
        events.push(submit(&queues[usize::from(node.kind == 3)], command, &waits));
    }
    (gate.complete)(Ok(()));
    for queue in &queues {
        queue.finish().unwrap();
    }
    assert!(events.iter().all(|e| e.status() == EventStatus::Complete));
    assert_eq!(cells[..nodes.len()], expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs_agree_with_the_serial_run(nodes in prop::collection::vec(node(), 1000), gated: bool) {
        for threads in THREADS {
            run_graph(threads, &nodes, gated);
        }
    }
}

#[test]
fn a_failure_is_inherited_through_data_but_not_through_order() {
    for threads in THREADS {
        let queue = queue(threads);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = |ran: &Arc<AtomicUsize>| {
            let ran = Arc::clone(ran);
            task(move || {
                ran.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        };
        let gate = device(1).signal().unwrap();
        let failed = submit(&queue, task(|| Err(failure())), &[after(&gate.event)]);
        let child = submit(&queue, count(&ran), &[after(&failed)]);
        let grandchild = submit(&queue, Command::Barrier, &[after(&child)]);
        let later = submit(&queue, count(&ran), &[behind(&failed), behind(&grandchild)]);
        (gate.complete)(Ok(()));
        later.wait().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        assert!(matches!(failed.error(), Some(Error::Task(_))));
        for event in [&child, &grandchild] {
            assert_eq!(event.status(), EventStatus::Failed);
            let Some(Error::Dependency(cause)) = event.error() else { panic!("{:?}", event.error()) };
            assert!(matches!(*cause, Error::Task(_)), "the root cause, not a chain: {cause:?}");
        }
        // After the fact, on every path: small work, a barrier, a host task.
        let mut cell = [0u64; 2];
        let small = copy(&raw mut cell[0], &raw const cell[1], 1);
        for command in [small, Command::Barrier, count(&ran)] {
            let event = submit(&queue, command, &[after(&failed)]);
            assert!(matches!(event.wait(), Err(Error::Dependency(_))));
        }
        assert_eq!(ran.load(Ordering::Relaxed), 1);
        submit(&queue, count(&ran), &[behind(&failed)]).wait().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn an_inherited_failure_still_waits_for_the_other_waits() {
    // Else a later writer, which waits for the failed task only, would overtake the reader that the task waited for.
    let queue = queue(2);
    let gate = device(1).signal().unwrap();
    let failed = submit(&queue, task(|| Err(failure())), &[]);
    assert!(failed.wait().is_err());
    let event = submit(&queue, Command::Barrier, &[after(&failed), behind(&gate.event)]);
    assert_eq!(event.status(), EventStatus::Submitted);
    (gate.complete)(Ok(()));
    assert!(matches!(event.wait(), Err(Error::Dependency(_))));
}

#[test]
fn long_chains_settle_without_recursion() {
    let queue = queue(1);
    for outcome in [Ok(()), Err(failure())] {
        let gate = device(1).signal().unwrap();
        let mut last = Arc::clone(&gate.event);
        for _ in 0..100_000 {
            last = submit(&queue, Command::Barrier, &[after(&last)]);
        }
        let expected = outcome.is_ok();
        (gate.complete)(outcome);
        assert_eq!(last.wait().is_ok(), expected);
    }
}

#[test]
fn a_panic_becomes_the_events_error() {
    for threads in THREADS {
        let queue = queue(threads);
        let event = submit(&queue, task(|| panic!("the number {}", 42)), &[]);
        let Err(Error::Task(complaint)) = event.wait() else { panic!("{:?}", event.error()) };
        assert!(complaint.value.contains("the number 42"), "{complaint}");
        let event = submit(&queue, task(|| std::panic::panic_any(5u8)), &[]);
        assert!(matches!(event.wait(), Err(Error::Task(_))));
        submit(&queue, task(|| Ok(())), &[]).wait().unwrap();
    }
}

#[test]
fn an_in_order_queue_keeps_the_order_and_does_not_inherit_failures() {
    for threads in THREADS {
        let queue = device(threads).create_queue(IN_ORDER).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut cell = [0u64; 2];
        for i in 0..100usize {
            let seen = Arc::clone(&seen);
            submit(
                &queue,
                task(move || {
                    seen.lock().unwrap().push(i);
                    if i % 10 == 3 { Err(failure()) } else { Ok(()) }
                }),
                &[],
            );
            submit(&queue, copy(&raw mut cell[0], &raw const cell[1], 1), &[]);
        }
        queue.finish().unwrap();
        assert_eq!(*seen.lock().unwrap(), (0..100).collect::<Vec<_>>());
    }
}

#[test]
fn an_in_order_queue_fed_by_several_threads_runs_one_command_at_a_time() {
    let queue = device(4).create_queue(IN_ORDER).unwrap();
    let busy = Arc::new(AtomicBool::new(false));
    let overlaps = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let (busy, overlaps) = (Arc::clone(&busy), Arc::clone(&overlaps));
                    submit(
                        &queue,
                        task(move || {
                            overlaps
                                .fetch_add(usize::from(busy.swap(true, Ordering::SeqCst)), Ordering::SeqCst);
                            std::thread::yield_now();
                            busy.store(false, Ordering::SeqCst);
                            Ok(())
                        }),
                        &[],
                    );
                }
            });
        }
    });
    let last = submit(&queue, Command::Barrier, &[]);
    last.wait().unwrap();
    assert_eq!(overlaps.load(Ordering::SeqCst), 0);
}

#[test]
fn a_host_task_may_wait_for_work_of_its_own_device() {
    let device = device(1);
    let queue = device.create_queue(QueueProperties::default()).unwrap();
    let gate = device.signal().unwrap();
    let src = vec![3u8; 1 << 20];
    let mut dst = vec![0u8; 1 << 20];
    let copied = submit(&queue, copy(dst.as_mut_ptr(), src.as_ptr(), src.len()), &[after(&gate.event)]);
    let blockers: Vec<_> = (0..4)
        .map(|_| {
            let copied = Arc::clone(&copied);
            submit(&queue, task(move || copied.wait()), &[])
        })
        .collect();
    (gate.complete)(Ok(()));
    assert!(blockers.iter().all(|b| b.wait().is_ok()));
    assert_eq!(dst, src);
}

#[test]
fn time_stamps_rise_and_exist_with_profiling_only() {
    for threads in THREADS {
        let device = device(threads);
        let queue = device.create_queue(QueueProperties { profiling: true, in_order: false }).unwrap();
        let src = vec![1u8; 1 << 20];
        let mut dst = vec![0u8; 1 << 20];
        let gate = device.signal().unwrap();
        let first = submit(&queue, copy(dst.as_mut_ptr(), src.as_ptr(), src.len()), &[after(&gate.event)]);
        let second = submit(&queue, task(|| Err(failure())), &[after(&first)]);
        let third = submit(&queue, Command::Barrier, &[after(&second)]);
        let small = submit(&queue, copy(dst.as_mut_ptr(), src.as_ptr(), 10), &[behind(&third)]);
        assert_eq!(first.profile(), None);
        (gate.complete)(Ok(()));
        queue.finish().unwrap();
        let stamps = [&first, &second, &third, &small].map(|e| e.profile().unwrap());
        for stamp in stamps {
            assert!(stamp.submitted <= stamp.started && stamp.started <= stamp.ended, "{stamp:?}");
        }
        for pair in stamps.windows(2) {
            assert!(pair[0].submitted <= pair[1].submitted && pair[0].ended <= pair[1].started, "{pair:?}");
        }
        let plain = device.create_queue(QueueProperties::default()).unwrap();
        assert_eq!(submit(&plain, Command::Barrier, &[]).profile(), None);
    }
}

#[test]
fn dropped_queues_and_devices_lose_no_work() {
    // The last owner of the device, and so of its pool, is often a worker of that pool.
    for round in 0..40 {
        let threads = THREADS[round % 4];
        let src = vec![1u8; 1 << 18];
        let mut dst = vec![vec![0u8; 1 << 18]; 4];
        let (gate, events) = {
            let device = device(threads);
            let queue =
                device.create_queue(QueueProperties { in_order: round % 2 == 0, profiling: false }).unwrap();
            let gate = device.signal().unwrap();
            let events: Vec<_> = dst
                .iter_mut()
                .map(|d| submit(&queue, copy(d.as_mut_ptr(), src.as_ptr(), src.len()), &[after(&gate.event)]))
                .collect();
            (gate, events)
        };
        assert!(events.iter().all(|e| e.status() == EventStatus::Submitted));
        (gate.complete)(Ok(()));
        assert!(events.iter().all(|e| e.wait().is_ok()));
        assert!(dst.iter().all(|d| *d == src));
    }
}

#[test]
fn finish_waits_for_everything_submitted() {
    for threads in THREADS {
        let queue = queue(threads);
        queue.finish().unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        // More than the list is pruned at.
        for _ in 0..300 {
            let done = Arc::clone(&done);
            submit(
                &queue,
                task(move || {
                    std::thread::yield_now();
                    done.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                }),
                &[],
            );
        }
        queue.flush().unwrap();
        queue.finish().unwrap();
        assert_eq!(done.load(Ordering::SeqCst), 300);
    }
}

#[test]
fn callbacks_run_exactly_once() {
    for threads in THREADS {
        let queue = queue(threads);
        let gate = device(1).signal().unwrap();
        let counts: Vec<Arc<AtomicUsize>> = (0..100).map(|_| Arc::default()).collect();
        for (i, count) in counts.iter().enumerate() {
            let waits = if i % 2 == 0 { vec![after(&gate.event)] } else { Vec::new() };
            let event =
                submit(&queue, task(move || if i % 3 == 0 { Err(failure()) } else { Ok(()) }), &waits);
            let count = Arc::clone(count);
            event.on_complete(Box::new(move || {
                count.fetch_add(1, Ordering::SeqCst);
            }));
        }
        (gate.complete)(Ok(()));
        queue.finish().unwrap();
        // A waiter may be woken before the callbacks have run ("soon after").
        while counts.iter().any(|c| c.load(Ordering::SeqCst) == 0) {
            std::thread::yield_now();
        }
        assert!(counts.iter().all(|c| c.load(Ordering::SeqCst) == 1));
    }
}

#[test]
fn a_dropped_signal_fails_its_dependents() {
    let queue = queue(1);
    let gate = device(1).signal().unwrap();
    let event = submit(&queue, Command::Barrier, &[after(&gate.event)]);
    drop(gate.complete);
    assert!(matches!(event.wait(), Err(Error::Dependency(_))));
}

#[test]
fn memory_of_every_kind_can_be_copied_and_filled() {
    let device = device(2);
    let queue = device.create_queue(IN_ORDER).unwrap();
    for kind in UsmKind::ALL {
        for (bytes, align) in [(1usize, 1usize), (4096, 64), (3 << 20, 1 << 16)] {
            let memory: RawAllocation = device.alloc(kind, bytes, align).unwrap();
            assert_eq!((memory.kind, memory.bytes, memory.ptr.addr() % align), (kind, bytes, 0));
            let fill =
                Command::Step(Step::Fill { dst: memory.ptr, bytes, pattern: [9; 16], pattern_bytes: 1 });
            submit(&queue, fill, &[]);
            let mut host = vec![0u8; bytes];
            let read =
                Command::Step(Step::Copy { dst: UsmPtr::new(host.as_mut_ptr()), src: memory.ptr, bytes });
            submit(&queue, read, &[]).wait().unwrap();
            assert!(host.iter().all(|b| *b == 9));
            // SAFETY: nothing is pending on the memory; it is freed once.
            unsafe {
                device.discard(memory);
                device.free(memory);
            }
        }
    }
}

#[test]
fn many_threads_wait_for_chains_of_large_commands() {
    // Large enough for the pool: a waiter may find each at any stage, and run it, or help.
    const BYTES: usize = 3 << 18;
    for threads in THREADS {
        let device = device(threads);
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let device = &device;
                scope.spawn(move || {
                    for round in 0..15_u8 {
                        let in_order = (thread + round) % 2 == 0;
                        let queue =
                            device.create_queue(QueueProperties { in_order, profiling: false }).unwrap();
                        let mut memory = vec![vec![0_u8; BYTES]; 5];
                        let at: Vec<*mut u8> = memory.iter_mut().map(|m| m.as_mut_ptr()).collect();
                        let value = 16 * thread + round;
                        let fill = Command::Step(Step::Fill {
                            dst: UsmPtr::new(at[0]),
                            bytes: BYTES,
                            pattern: [value; 16],
                            pattern_bytes: 1,
                        });
                        let mut events = vec![submit(&queue, fill, &[])];
                        for pair in at.windows(2) {
                            let waits = [after(&events[events.len() - 1])];
                            events.push(submit(&queue, copy(pair[1], pair[0].cast_const(), BYTES), &waits));
                        }
                        // Several wait for the last, one for each of the others.
                        std::thread::scope(|waiters| {
                            for event in events.iter().chain([&events[4]; 3]) {
                                waiters.spawn(move || event.wait().unwrap());
                            }
                        });
                        assert!(memory.iter().all(|m| m.iter().all(|byte| *byte == value)));
                    }
                });
            }
        });
    }
}

#[test]
fn a_device_of_one_thread_runs_one_command_at_a_time_whoever_runs_it() {
    // Two commands without an order, each of which has a waiter.
    const LEN: usize = 1 << 17;
    let device = device(1);
    let queue = device.create_queue(QueueProperties { in_order: false, profiling: true }).unwrap();
    let sources = [vec![1_u64; LEN], vec![2_u64; LEN]];
    for _ in 0..30 {
        let mut outs = [vec![0_u64; LEN], vec![0_u64; LEN]];
        let events: Vec<_> = sources
            .iter()
            .zip(&mut outs)
            .map(|(src, dst)| submit(&queue, copy(dst.as_mut_ptr(), src.as_ptr(), LEN), &[]))
            .collect();
        std::thread::scope(|scope| {
            for event in &events {
                scope.spawn(move || event.wait().unwrap());
            }
        });
        let [first, second] = [&events[0], &events[1]].map(|event| event.profile().unwrap());
        assert!(first.ended <= second.started || second.ended <= first.started, "{first:?} {second:?}");
        assert_eq!(sources, outs);
    }
}
