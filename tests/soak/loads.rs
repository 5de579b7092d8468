//! What is done all the time, and what must be left of it: nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use stridewise::backend::{Partition, QueueProperties};
use stridewise::{Context, Device, Op, Queue, Reduction, Scalar, UsmArray, UsmKind, devices};

use crate::drops::{Counts, round, weak};
use crate::random::Rng;

/// One sort of work.
pub(crate) struct Load {
    pub(crate) name: &'static str,
    /// How much of it forty minutes are for.
    pub(crate) goal: u64,
    /// Does some; how much.
    some: fn(&World, &mut State) -> u64,
}

/// What a load keeps from one turn to the next.
struct State {
    rng: Rng,
    turn: u64,
}

/// Every sort of work, each with a thread of its own.
pub(crate) const LOADS: &[Load] = &[
    Load { name: "host tasks", goal: 100_000_000, some: tasks },
    Load { name: "recorded results", goal: 10_000_000, some: recorded },
    Load { name: "drops with work pending", goal: 1_000_000, some: drops },
    Load { name: "queues", goal: 1_000_000, some: queues },
    Load { name: "OpenCL enqueues", goal: 1_000_000, some: enqueues },
];

/// What loads work on, and what they have done.
pub(crate) struct World {
    host: Device,
    opencl: Vec<Device>,
    /// Devices of the host for drops, some of which are parts, with pools of their own.
    parts: Mutex<Vec<Device>>,
    /// Whether loads are to pause.
    pub(crate) pausing: AtomicBool,
    counts: Arc<Counts>,
    done: BTreeMap<&'static str, AtomicU64>,
    /// Objects of OpenCL that were there when the beginning was over.
    handles: AtomicU64,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            host: Device::from_backend(
                stridewise_host::device_with(None, 2).expect("the host has two threads"),
            ),
            opencl: devices().into_iter().filter(|device| device.info().backend == "opencl").collect(),
            parts: Mutex::default(),
            pausing: AtomicBool::new(false),
            counts: Arc::default(),
            done: LOADS.iter().map(|load| (load.name, AtomicU64::new(0))).collect(),
            handles: AtomicU64::new(0),
        }
    }

    pub(crate) fn devices(&self) -> String {
        let names = std::iter::once(&self.host).chain(&self.opencl).map(Device::filter_string);
        names.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn done(&self, name: &str) -> u64 {
        self.done[name].load(Ordering::Relaxed)
    }

    pub(crate) fn statistics(&self) -> String {
        let pools = std::iter::once(&self.host).chain(&self.opencl).map(|device| {
            let s = device.pool_statistics();
            format!(
                "{} {}+{} of {} KiB",
                device,
                s.live_bytes >> 10,
                s.cached_bytes >> 10,
                s.reserved_bytes >> 10
            )
        });
        format!(
            "{}; {} OpenCL handles",
            pools.collect::<Vec<_>>().join(", "),
            stridewise_opencl::live_handles()
        )
    }

    fn parts(&self) -> MutexGuard<'_, Vec<Device>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is under way, while no load works, and says what is left that must not be. In the `beginning`
    /// kernels are compiled, which are kept.
    pub(crate) fn settle(&self, beginning: bool) -> Vec<String> {
        let parts = self.parts();
        let all = || std::iter::once(&self.host).chain(&self.opencl).chain(&*parts);
        // A thread that ends work may be about to give its memory to the pool, so that pools are emptied until they are.
        let quiet = || {
            all().all(|device| {
                device.trim_pool(0);
                // A device forgets what is over when it is asked what is under way.
                device.under_way().commands == 0 && device.pool_statistics().reserved_bytes == 0
            }) && self.counts.deleted.load(Ordering::SeqCst) == self.counts.adopted.load(Ordering::SeqCst)
        };
        let begin = Instant::now();
        while !quiet() && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut left = Vec::new();
        for device in all() {
            let statistics = device.pool_statistics();
            if (statistics.live_bytes, statistics.cached_bytes, statistics.reserved_bytes) != (0, 0, 0) {
                left.push(format!("memory of {device}: {statistics:?}"));
            }
        }
        let count = |counter: &std::sync::atomic::AtomicUsize| counter.load(Ordering::SeqCst);
        let Counts { adopted, deleted, early } = &*self.counts;
        if (count(adopted), 0) != (count(deleted), count(early)) {
            left.push(format!(
                "{} of {} deleters were called, {} of them before the work was done",
                count(deleted),
                count(adopted),
                count(early)
            ));
        }
        let handles = stridewise_opencl::live_handles() as u64;
        if beginning {
            self.handles.fetch_max(handles, Ordering::SeqCst);
        } else if handles > self.handles.load(Ordering::SeqCst) {
            left.push(format!("{handles} objects of OpenCL, more than in the beginning"));
        }
        left
    }
}

impl Load {
    /// Works as long as a function of how much was done says so.
    pub(crate) fn work(&self, world: &World, goes_on: impl Fn(u64) -> bool, gate: &RwLock<()>) {
        let mut state = State { rng: Rng::new(self.goal), turn: 0 };
        let done = &world.done[self.name];
        while goes_on(done.load(Ordering::Relaxed)) {
            if world.pausing.load(Ordering::SeqCst) {
                // What this thread keeps for its next small results is given back by itself alone.
                world.host.trim_pool(0);
            }
            let _working = gate.read().unwrap_or_else(PoisonError::into_inner);
            done.fetch_add((self.some)(world, &mut state), Ordering::Relaxed);
            state.turn += 1;
        }
    }
}

/// Functions that do next to nothing, many under way at a time; some of them wait for others.
fn tasks(world: &World, state: &mut State) -> u64 {
    const TASKS: u64 = 100;
    let queue = world.host.queue().unwrap();
    let called = Arc::new(AtomicU64::new(0));
    let mut last = Vec::new();
    for _ in 0..TASKS {
        let called = Arc::clone(&called);
        let task = move || {
            called.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let depends = if state.rng.chance(10) { &last[..] } else { &[] };
        let event = queue.submit_host_task(task, depends).unwrap();
        last = vec![event];
    }
    queue.wait().unwrap();
    assert_eq!(called.load(Ordering::Relaxed), TASKS, "tasks that were called");
    TASKS
}

/// Chains of operations: computed together, in part, or dropped before anything asks for them.
fn recorded(world: &World, state: &mut State) -> u64 {
    let queue = world.host.queue().unwrap();
    let len = *state.rng.pick(&[20, 3000, 20_000]);
    let x = UsmArray::full(&queue, &[len], Scalar::I64(2), UsmKind::Shared).unwrap();
    let mut results = vec![x.clone()];
    for _ in 0..30 {
        let operand = state.rng.pick(&results).clone();
        results.push(operand.binary(*state.rng.pick(&[Op::Add, Op::Subtract]), weak(3)).unwrap());
        if state.rng.chance(10) {
            // What was recorded of it keeps its values.
            operand.assign(weak(2)).unwrap();
        }
        if state.rng.chance(20) && results.len() > 2 {
            let place = state.rng.below(results.len());
            results.swap_remove(place);
        }
    }
    let same = state.rng.pick(&results).clone();
    let spread = same.binary(Op::Subtract, &same).unwrap().reduce(Reduction::Max, None, false).unwrap();
    assert_eq!(spread.item().unwrap(), Scalar::I64(0));
    30
}

/// As in the test of lifetimes: everything dropped in random order while work on it is pending.
fn drops(world: &World, state: &mut State) -> u64 {
    if state.turn.is_multiple_of(200) {
        // Parts of a device are left with work pending, too. Their memory is gone with them.
        let mut parts = world.host.create_sub_devices(&Partition::Equally(1)).unwrap();
        parts.extend([world.host.clone(), world.host.clone()]);
        *world.parts() = parts;
    }
    round(&mut state.rng, &world.parts(), &world.counts);
    1
}

/// Queues of all sorts that do one thing and are dropped, finished or not.
fn queues(world: &World, state: &mut State) -> u64 {
    let mut devices = vec![&world.host];
    if state.turn.is_multiple_of(100) {
        devices.extend(&world.opencl);
    }
    for device in &devices {
        let context = Context::new(std::slice::from_ref(*device)).unwrap();
        let properties = QueueProperties { in_order: state.rng.chance(50), profiling: state.rng.chance(30) };
        let queue = Queue::in_context(&context, device, properties).unwrap();
        let x =
            UsmArray::full(&queue, &[*state.rng.pick(&[4, 5000])], Scalar::I32(1), UsmKind::Device).unwrap();
        let event = x.write_elementwise(Op::Add, &[(&x).into(), weak(1)], &[]).unwrap();
        if state.rng.chance(50) {
            drop((queue, context, x));
            event.wait().unwrap();
        }
    }
    devices.len() as u64
}

/// Commands on every device of OpenCL: writes in place, each waiting for the one before, and what they come to.
fn enqueues(world: &World, state: &mut State) -> u64 {
    const COMMANDS: i64 = 100;
    if world.opencl.is_empty() {
        // Nothing to do, at no cost.
        std::thread::sleep(Duration::from_millis(100));
        return 0;
    }
    for device in &world.opencl {
        let queue = device.queue().unwrap();
        let len = *state.rng.pick(&[10, 1000]);
        let x = UsmArray::full(&queue, &[len], Scalar::I32(0), UsmKind::Device).unwrap();
        let mut event = None;
        for _ in 0..COMMANDS {
            event = Some(x.write_elementwise(Op::Add, &[(&x).into(), weak(1)], &[]).unwrap());
        }
        if state.rng.chance(90) {
            assert_eq!(x.to_vec::<i32>().unwrap(), vec![COMMANDS as i32; len]);
        } else {
            // Memory that is dropped under its work.
            drop(x);
            event.map_or(Ok(()), |event| event.wait()).unwrap();
        }
    }
    COMMANDS as u64 * world.opencl.len() as u64
}
