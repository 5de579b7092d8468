//! The null backend: nothing happens until the test says so.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stridewise_core::backend::{
    Aspect, Command, Dependency, Device, Driver, Event, EventStatus, Family, Fold, LaunchPlan, Operand,
    Program, Queue, QueueProperties, Signal, Step, Support, UsmSupport, Wait,
};
use stridewise_core::kernel::{Coordinate, Kernel, KernelBuilder, Level};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Dtype, Error, Op, UsmArray, Weak, s};
use stridewise_null::{NullConfig, NullDevice, NullDriver};

fn device() -> NullDevice {
    NullDriver::new(NullConfig::default()).device()
}

fn queue(device: &NullDevice) -> Arc<dyn Queue> {
    device.create_queue(QueueProperties::default()).unwrap()
}

fn submit(queue: &Arc<dyn Queue>, command: Command, waits: &[Wait]) -> Arc<dyn Event> {
    // SAFETY: the null backend touches no memory.
    unsafe { queue.submit(command, waits) }.unwrap().proceed()
}

fn after(event: &Arc<dyn Event>) -> Wait {
    Wait { event: Arc::clone(event), dependency: Dependency::Data }
}

fn behind(event: &Arc<dyn Event>) -> Wait {
    Wait { event: Arc::clone(event), dependency: Dependency::Order }
}

fn failure() -> Error {
    Error::task("test", "a failure", "none", "none")
}

#[test]
fn a_diamond_ends_as_told_and_in_no_other_order() {
    let device = device();
    let queue = queue(&device);
    let top = submit(&queue, Command::Barrier, &[]);
    let left = submit(&queue, Command::Barrier, &[after(&top)]);
    let right = submit(&queue, Command::Barrier, &[behind(&top)]);
    let bottom = submit(&queue, Command::Barrier, &[after(&left), after(&right)]);
    assert_eq!(device.ready(), [0]);
    assert!(device.complete(3).is_err() && device.start(1).is_err() && device.complete(9).is_err());
    device.start(0).unwrap();
    assert_eq!((top.status(), device.ready()), (EventStatus::Running, vec![]));
    device.complete(0).unwrap();
    assert_eq!(device.ready(), [1, 2]);
    assert!(device.complete(0).is_err(), "once only");
    device.complete(2).unwrap();
    assert_eq!(device.ready(), [1]);
    assert!(matches!(queue.finish(), Err(Error::Unsupported(_))));
    device.complete(1).unwrap();
    device.complete(3).unwrap();
    queue.finish().unwrap();
    queue.flush().unwrap();
    bottom.wait().unwrap();
    let log = device.log();
    assert!(log.iter().all(|s| s.status == EventStatus::Complete));
    assert_eq!(log[3].wait_ids(), [1, 2]);
    assert_eq!(log[2].waits[0].dependency, Dependency::Order);
}

#[test]
fn failures_are_inherited_through_data_once_all_waits_are_terminal() {
    let device = device();
    let queue = queue(&device);
    let first = submit(&queue, Command::Barrier, &[]);
    let other = submit(&queue, Command::Barrier, &[]);
    let child = submit(&queue, Command::Barrier, &[after(&first), behind(&other)]);
    let grandchild = submit(&queue, Command::Barrier, &[after(&child)]);
    let later = submit(&queue, Command::Barrier, &[behind(&grandchild)]);
    let calls = Arc::new(AtomicUsize::new(0));
    for event in [&first, &child, &grandchild] {
        let calls = Arc::clone(&calls);
        event.on_complete(Box::new(move || {
            calls.fetch_add(1, Ordering::Relaxed);
        }));
    }
    device.fail(0, failure()).unwrap();
    assert_eq!(child.status(), EventStatus::Submitted, "its other wait is pending");
    device.complete(1).unwrap();
    for event in [&child, &grandchild] {
        let Err(Error::Dependency(cause)) = event.wait() else { panic!("{event:?}") };
        assert!(matches!(*cause, Error::Task(_)));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!(device.ready(), [4]);
    device.complete(4).unwrap();
    later.wait().unwrap();
    // After the fact.
    assert_eq!(submit(&queue, Command::Barrier, &[after(&first)]).status(), EventStatus::Failed);
}

#[test]
fn signals_and_foreign_events_count_as_waits() {
    let device = device();
    let queue = queue(&device);
    let gate = device.signal().unwrap();
    let foreign = Arc::new(Signal::new("null"));
    let foreign_event = Arc::clone(&foreign) as Arc<dyn Event>;
    let one = submit(&queue, Command::Barrier, &[after(&gate.event)]);
    let two = submit(&queue, Command::Barrier, &[after(&foreign_event)]);
    let three = submit(&queue, Command::Barrier, &[after(&two)]);
    assert!(device.ready().is_empty());
    assert_eq!(device.log()[0].wait_ids(), Vec::<usize>::new());
    (gate.complete)(Ok(()));
    assert_eq!(device.ready(), [0]);
    foreign.complete(Err(failure()), None);
    assert_eq!((two.status(), three.status()), (EventStatus::Failed, EventStatus::Failed));
    device.complete(0).unwrap();
    one.wait().unwrap();
}

#[test]
fn a_failure_passes_through_a_long_chain() {
    let device = device();
    let queue = queue(&device);
    let gate = device.signal().unwrap();
    let mut last = gate.event;
    for _ in 0..1000 {
        last = submit(&queue, Command::Barrier, &[after(&last)]);
    }
    (gate.complete)(Err(failure()));
    assert!(last.wait().is_err());
    queue.finish().unwrap();
}

#[test]
fn in_order_queues_add_a_wait() {
    let device = device();
    let queues = [true, true, false]
        .map(|in_order| device.create_queue(QueueProperties { in_order, profiling: false }).unwrap());
    for queue in queues.iter().chain(&queues) {
        submit(queue, Command::Barrier, &[]);
    }
    assert_eq!(device.ready(), [0, 1, 2, 5]);
    let log = device.log();
    assert_eq!(log.iter().map(|s| s.queue).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    assert_eq!((log[3].wait_ids(), log[3].waits[0].dependency), (vec![0], Dependency::Order));
    assert_eq!(log[5].wait_ids(), Vec::<usize>::new());
    device.fail(0, failure()).unwrap();
    assert_eq!(device.ready(), [1, 2, 3, 5]);
}

#[test]
fn host_tasks_run_when_executed_only() {
    let device = device();
    let queue = queue(&device);
    let calls = Arc::new(AtomicUsize::new(0));
    let task = |outcome: fn() -> Result<(), Error>| {
        let calls = Arc::clone(&calls);
        Command::HostTask(Box::new(move || {
            calls.fetch_add(1, Ordering::Relaxed);
            outcome()
        }))
    };
    let dropped = submit(&queue, task(|| Ok(())), &[]);
    let failing = submit(&queue, task(|| Err(failure())), &[]);
    let panicking = submit(&queue, task(|| panic!("oh")), &[]);
    let waiting = submit(&queue, task(|| Ok(())), &[after(&failing)]);
    assert!(device.execute(3).is_err());
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    device.complete(0).unwrap();
    device.execute(1).unwrap();
    device.execute(2).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert!(dropped.wait().is_ok() && matches!(failing.wait(), Err(Error::Task(_))));
    assert!(panicking.wait().unwrap_err().to_string().contains("a panic: oh"));
    assert!(matches!(waiting.wait(), Err(Error::Dependency(_))));
    assert!(device.execute(1).is_err());
}

#[test]
fn a_task_may_own_memory_of_the_device_and_outlive_its_queue() {
    struct Owner(NullDevice, stridewise_core::backend::RawAllocation);
    impl Drop for Owner {
        fn drop(&mut self) {
            // SAFETY: freed here only, and nothing touches it.
            unsafe { self.0.free(self.1) };
        }
    }
    let device = device();
    let memory = device.alloc(UsmKind::Device, 100, 1).unwrap();
    let owner = Owner(device.clone(), memory);
    let event = submit(
        &queue(&device),
        Command::HostTask(Box::new(move || {
            let _owner = &owner;
            Ok(())
        })),
        &[],
    );
    assert_eq!(device.live_allocations(), [memory]);
    device.complete(0).unwrap();
    event.wait().unwrap();
    assert!(device.live_allocations().is_empty());
    // SAFETY: the null device touches no memory; it only counts.
    unsafe { device.free(memory) };
    assert_eq!(device.wrong_frees(), 1);
}

#[test]
fn memory_is_numbers_of_the_kinds_that_were_asked_for() {
    let device = device();
    assert_eq!(device.info().usm(UsmKind::Host), UsmSupport::Absent);
    for kind in [UsmKind::Host, UsmKind::Shared] {
        assert!(matches!(device.alloc(kind, 10, 1), Err(Error::Unsupported(_))));
    }
    let all =
        NullDevice::new(NullConfig { all_kinds: true, fail_allocation: Some(2), ..NullConfig::default() });
    assert!(all.info().has(Aspect::UsmHostAllocations) && !device.info().has(Aspect::UsmHostAllocations));
    let a = all.alloc(UsmKind::Host, 1000, 1).unwrap();
    let b = device.alloc(UsmKind::Device, 1000, 4096).unwrap();
    let c = all.alloc(UsmKind::Shared, 1000, 1).unwrap();
    assert!(matches!(all.alloc(UsmKind::Device, 1000, 1), Err(Error::Alloc(_))), "the third");
    let d = all.alloc(UsmKind::Device, 1000, 1).unwrap();
    assert_eq!((a.ptr.addr() % 64, b.ptr.addr() % 4096), (0, 0));
    let mut starts = [a, b, c, d].map(|m| m.ptr.addr());
    starts.sort_unstable();
    assert!(starts.windows(2).all(|w| w[0] + 1000 <= w[1]));
    assert!(matches!(all.alloc(UsmKind::Device, 1 << 60, 1), Err(Error::Alloc(_))));
    assert!(device.sub_devices(&stridewise_core::backend::Partition::Equally(1)).is_err());
}

fn one(range: Range<usize>) -> Vec<Range<usize>> {
    std::iter::once(range).collect()
}

fn operand(addr: usize, strides: &[isize]) -> Operand {
    Operand {
        ptr: UsmPtr::new(std::ptr::without_provenance_mut(addr)),
        strides: strides.iter().copied().collect(),
    }
}

fn plan(program: Program, family: Family, dims: &[usize], inputs: &[Operand], output: Operand) -> LaunchPlan {
    LaunchPlan {
        program: Arc::new(program),
        family,
        dims: dims.iter().copied().collect(),
        inputs: inputs.iter().cloned().collect(),
        outputs: [output].into_iter().collect(),
    }
}

#[test]
fn the_log_knows_what_is_read_and_written() {
    let device = device();
    let queue = queue(&device);
    // Backwards with stride 2, and a broadcast row; bool out.
    let less = plan(
        Program::single(Op::Less, Dtype::F32).unwrap(),
        Family::Map,
        &[2, 3],
        &[operand(1020, &[-6, -2]), operand(2000, &[0, 1])],
        operand(3000, &[3, 1]),
    );
    let index = plan(
        Program::single(Op::Negative, Dtype::I16).unwrap(),
        Family::Reduce { fold: Fold::ArgMax, reduced: 1, finish: None, stored: None },
        &[2, 5],
        &[operand(4000, &[5, 1])],
        operand(5000, &[2, 0]),
    );
    submit(&queue, Command::Step(Step::Launch(vec![less, index])), &[]);
    let (dst, src) = (operand(100, &[]).ptr, operand(200, &[]).ptr);
    submit(&queue, Command::Step(Step::Copy { dst, src, bytes: 10 }), &[]);
    submit(&queue, Command::Step(Step::Fill { dst, bytes: 8, pattern: [1; 16], pattern_bytes: 4 }), &[]);
    let log = device.log();
    let reads = log[0].command.reads();
    // 1020, 1012, 1004, then 996, 988, 980.
    let first: Vec<_> = [980usize, 988, 996, 1004, 1012, 1020].map(|a| a..a + 4).into();
    assert_eq!(reads, [first, vec![2000..2012, 4000..4020]].concat());
    assert_eq!(log[0].command.writes(), [3000..3006, 5000..5008, 5016..5024]);
    assert_eq!((log[1].command.reads(), log[1].command.writes()), (one(200..210), one(100..110)));
    assert_eq!((log[2].command.reads(), log[2].command.writes()), (vec![], one(100..108)));
}

#[test]
fn missing_aspects_are_reasons() {
    let poor = NullDevice::new(NullConfig { aspects: vec![Aspect::Fp16], ..NullConfig::default() });
    let convert = |from, to| {
        plan(Program::convert(from, to), Family::Map, &[1], &[operand(1024, &[1])], operand(2048, &[1]))
    };
    assert_eq!(poor.supports(&convert(Dtype::F32, Dtype::F16)), Support::Native);
    for dtype in [Dtype::F64, Dtype::C128] {
        let Support::No(reason) = poor.supports(&convert(Dtype::F32, dtype)) else { panic!("{dtype}") };
        assert!(reason.contains("fp64"), "{reason}");
    }
    let profiling = QueueProperties { profiling: true, in_order: false };
    assert!(matches!(poor.create_queue(profiling), Err(Error::Unsupported(_))));
    let full = device();
    assert_eq!(full.supports(&convert(Dtype::F16, Dtype::F64)), Support::Native);
    let queue = full.create_queue(profiling).unwrap();
    let events = [(); 2].map(|()| submit(&queue, Command::Barrier, &[]));
    full.start(1).unwrap();
    full.complete(0).unwrap();
    full.complete(1).unwrap();
    for event in &events {
        let stamp = event.profile().unwrap();
        assert!(stamp.submitted < stamp.started && stamp.started <= stamp.ended);
    }
    assert!(events[1].profile().unwrap().started < events[0].profile().unwrap().ended);
}

#[test]
fn the_driver_lists_its_device() {
    let driver = NullDriver::new(NullConfig::default());
    assert_eq!(driver.name(), "null");
    let listed = driver.devices();
    assert_eq!(listed.len(), 1);
    submit(&listed[0].create_queue(QueueProperties::default()).unwrap(), Command::Barrier, &[]);
    assert_eq!(driver.device().log().len(), 1, "the same device");
    assert_eq!(listed[0].info().backend, "null");
}

/// `y[i] = 2 x[i]`, or with `adds`, `y[i] += x[i]`.
fn kernel(adds: bool) -> Kernel {
    let build = || -> stridewise_core::Result<Kernel> {
        let mut k = KernelBuilder::new("kernel", 1)?;
        let x = k.global("x", Dtype::I64, 1, false)?;
        let y = k.global("y", Dtype::I64, 1, true)?;
        let i = k.index(Level::Global, Coordinate::Id(0))?;
        let value = k.load(x, [i])?;
        let other = if adds { k.load(y, [i])? } else { value };
        let sum = k.binary(Op::Add, value, other)?;
        k.store(y, [i], sum)?;
        k.finish()
    };
    build().unwrap()
}

#[test]
fn a_kernel_waits_for_what_its_form_says_it_accesses() {
    let null = device();
    let queue = stridewise_core::Device::from_backend(Arc::new(null.clone())).queue().unwrap();
    let array = || UsmArray::empty(&queue, &[16], Dtype::I64, UsmKind::Device).unwrap();
    let (x, y, z) = (array(), array(), array());
    let launch = |kernel: &Kernel, x: &UsmArray, y: &UsmArray, depends: &[_]| {
        kernel.launch(&queue, [16], &[x.into(), y.into()], depends).unwrap()
    };
    x.assign(Weak::Int(1)).unwrap(); // 0
    launch(&kernel(false), &x, &y, &[]); // 1: reads what 0 writes.
    let third = launch(&kernel(false), &x, &z, &[]); // 2: the same, and nothing of 1.
    launch(&kernel(true), &z, &y, &[]); // 3: reads what 1 and 2 write.
    x.slice(s![..8]).unwrap().assign(Weak::Int(2)).unwrap(); // 4: over what 1 and 2 read.
    let even = x.slice(s![8..;2]).unwrap();
    let odd = y.slice(s![9..;2]).unwrap();
    kernel(true).launch(&queue, [4], &[(&even).into(), (&odd).into()], &[third]).unwrap(); // 5
    let log = null.log();
    let waits = |number: usize| {
        let mut ids = log[number].wait_ids();
        ids.sort_unstable();
        ids
    };
    assert_eq!(
        (0..6).map(waits).collect::<Vec<_>>(),
        [vec![], vec![0], vec![0], vec![1, 2], vec![0, 1, 2], vec![0, 2, 3]]
    );
    // What fails is inherited by what reads it: of a kernel also where it writes, for that need not be all of an array.
    assert!(log[3].waits.iter().all(|wait| wait.dependency == Dependency::Data));
    let at = |array: &UsmArray| array.usm_data().unwrap().ptr().addr();
    let bytes = |ranges: &[Range<usize>]| ranges.iter().map(Range::len).sum::<usize>();
    assert_eq!(bytes(&log[3].command.reads()), 256);
    assert_eq!(log[1].command.writes(), vec![at(&y)..at(&y) + 128]);
    assert_eq!(log[5].command.writes().len(), 4);
    for _ in 0..log.len() {
        null.complete(null.ready()[0]).unwrap();
    }
}

#[test]
fn a_kernel_keeps_its_arrays_alive() {
    let null = device();
    let device = stridewise_core::Device::from_backend(Arc::new(null.clone()));
    let queue = device.queue().unwrap();
    let array = || UsmArray::empty(&queue, &[1 << 16], Dtype::I64, UsmKind::Device).unwrap();
    let (x, y) = (array(), array());
    let event = kernel(true).launch(&queue, [1 << 16], &[(&x).into(), (&y).into()], &[]).unwrap();
    drop((x, y));
    assert!(device.pool_statistics().live_bytes > 0);
    null.fail(0, failure()).unwrap();
    assert!(event.wait().is_err());
    drop(event);
    assert_eq!(null.wrong_frees(), 0);
}
