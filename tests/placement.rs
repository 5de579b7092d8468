//! Where work runs: devices, contexts, queues, events, and the rule that compute follows data.

use std::ffi::OsStr;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use stridewise::backend::{
    self, AffinityDomain, Aspect, DeviceType, Driver, EventStatus, INTERFACE, Partition, QueueProperties,
    UsmSupport,
};
use stridewise::{
    Array, ArrayOrScalar, Context, Device, Dtype, Error, Event, Op, Queue, Result, Scalar, UsmArray, UsmKind,
    UsmMemory, Weak, concat, default_device, devices, elementwise, get_execution_queue, stack,
};

const IN_ORDER: QueueProperties = QueueProperties { in_order: true, profiling: false };

fn host(threads: usize) -> Device {
    Device::from_backend(stridewise_host::device_with(None, threads).unwrap())
}

fn weak(value: i64) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Weak(Weak::Int(value.into()))
}

/// A host task that ends when told to.
fn gate(queue: &Queue) -> (Event, Sender<Result<()>>) {
    let (sender, receiver) = channel();
    let task = move || receiver.recv().unwrap_or(Ok(()));
    (queue.submit_host_task(task, &[]).unwrap(), sender)
}

#[test]
fn equal_device_strings_give_equal_queues() {
    let queue = |filter: &str| Device::select(filter).unwrap().queue().unwrap();
    assert_eq!(queue("cpu"), queue("host"));
    assert_eq!(queue("cpu"), queue("host:cpu:0"));
    assert_eq!(queue("cpu").context(), queue("host").context());
    assert_ne!(queue("host"), queue("host:scalar"));
    let device = default_device().unwrap();
    assert_eq!(device.queue().unwrap(), Queue::default_queue().unwrap());
    assert_eq!(device.filter_string().parse::<Device>().unwrap(), device);
}

#[test]
fn results_inherit_the_queue() {
    let x1 = Array::<i32>::arange(0, 100, 1).unwrap();
    let x2 = Array::<i32>::zeros([100]).unwrap();
    let x12 = Array::concat(&[&x1, &x2], 0).unwrap();
    assert!(x12.queue() == x1.queue() && x12.queue() == x2.queue());
    let (x1, x2) = (x1.as_untyped(), x2.as_untyped());
    let results = [
        elementwise(Op::Add, &[x1.into(), x2.into()]).unwrap(),
        x1.unary(Op::Negative).unwrap(),
        x1.reduce(stridewise::Reduction::Sum, None, false).unwrap(),
        stack(&[x1, x2], 0).unwrap(),
        x1.copy().unwrap(),
        x1.astype(Dtype::F32).unwrap(),
        x1.reshape(&[10, 10]).unwrap(),
    ];
    assert!(results.iter().all(|result| result.queue() == x1.queue()));
    assert_eq!(get_execution_queue([x1.queue(), x2.queue()]).as_ref(), Some(x1.queue()));
    assert_eq!(get_execution_queue([]), None);
}

#[test]
fn two_queues_made_separately_do_not_combine() {
    let (q1, q2) = (Queue::select("host").unwrap(), Queue::select("host").unwrap());
    assert_ne!(q1, q2);
    assert_eq!(get_execution_queue([&q1, &q2]), None);
    let y1 = UsmArray::zeros(&q1, &[100], Dtype::I32, UsmKind::Device).unwrap();
    let y2 = UsmArray::zeros(&q2, &[100], Dtype::I32, UsmKind::Device).unwrap();
    let refusals = [
        concat(&[&y1, &y2], Some(0)).err(),
        concat(&[&y1, &y1, &y2], None).err(),
        stack(&[&y1, &y2], 0).err(),
        y1.binary(Op::Add, &y2).err(),
        y1.assign(&y2).err(),
        y1.write_elementwise(Op::Add, &[(&y2).into(), weak(1)], &[]).err(),
    ];
    for error in refusals {
        let Some(Error::ExecutionPlacement(placement)) = error.clone() else { panic!("{error:?}") };
        let queues = [placement.first_queue.clone(), placement.second_queue.clone()];
        assert!(queues.contains(&q1.to_string()) && queues.contains(&q2.to_string()), "{queues:?}");
        let text = placement.to_string();
        let parts =
            [&*q1.to_string(), &*q2.to_string(), &placement.first_argument, &placement.second_argument];
        for part in parts.into_iter().chain(["expected one queue", "help:", ".to_queue(", ".to_device("]) {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }
    // The way out.
    let moved = y2.to_queue(&q1).unwrap();
    assert_eq!(concat(&[&y1, &moved], Some(0)).unwrap().queue(), &q1);
}

#[test]
fn arrays_migrate_between_queues_and_devices() {
    let queue = Queue::select("host").unwrap();
    let x = UsmArray::from_slice(&queue, &[2, 3], &[1, 2, 3, 4, 5, 6], UsmKind::Shared).unwrap();
    // Within a context: the same memory.
    let sibling = Queue::in_context(queue.context(), queue.device(), IN_ORDER).unwrap();
    let view = x.to_queue(&sibling).unwrap();
    assert_eq!(view.usm_data().unwrap().ptr(), x.usm_data().unwrap().ptr());
    assert_eq!((view.queue(), view.usm_kind()), (&sibling, UsmKind::Shared));
    // Between devices: a copy, of any layout.
    let scalar = Device::select("host:scalar").unwrap();
    for source in [x.clone(), x.t(), x.flip(None).unwrap(), x.slice(stridewise::s![.., ..;2]).unwrap()] {
        let moved = source.to_device(&scalar).unwrap();
        assert_eq!((moved.device(), moved.queue()), (&scalar, &scalar.queue().unwrap()));
        assert_eq!((moved.shape(), moved.usm_kind()), (source.shape(), source.usm_kind()));
        assert_ne!(moved.usm_data().unwrap().ptr(), source.usm_data().unwrap().ptr());
        assert_eq!(moved.to_vec::<i32>().unwrap(), source.to_vec::<i32>().unwrap());
    }
    assert_eq!(x.to_device(&scalar).unwrap().to_queue(&queue).unwrap().queue(), &queue);
    // A recorded result migrates too.
    let large = UsmArray::zeros(&queue, &[5000], Dtype::I32, UsmKind::Device).unwrap();
    let sum = large.binary(Op::Add, weak(7)).unwrap();
    assert_eq!(sum.to_device(&scalar).unwrap().to_vec::<i32>().unwrap(), [7; 5000]);
}

#[test]
fn the_usm_kind_of_a_result_is_device_before_shared_before_host() {
    use UsmKind::{Device, Host, Shared};
    let queue = Queue::select("host").unwrap();
    let array = |kind| UsmArray::zeros(&queue, &[4], Dtype::I32, kind).unwrap();
    let table = [
        (Device, Device, Device),
        (Device, Shared, Device),
        (Device, Host, Device),
        (Shared, Device, Device),
        (Shared, Shared, Shared),
        (Shared, Host, Shared),
        (Host, Device, Device),
        (Host, Shared, Shared),
        (Host, Host, Host),
    ];
    for (first, second, expected) in table {
        let (x, y) = (array(first), array(second));
        assert_eq!(first.combine(second), expected);
        let sum = x.binary(Op::Add, &y).unwrap();
        let joined = concat(&[&x, &y], Some(0)).unwrap();
        assert_eq!((sum.usm_kind(), joined.usm_kind()), (expected, expected), "{first} and {second}");
        assert_eq!(sum.usm_data().unwrap().kind(), expected);
    }
}

#[test]
fn work_begins_only_after_the_events_named() {
    let queue = host(2).queue().unwrap();
    for kind in UsmKind::ALL {
        for len in [8, 100_000] {
            let source = UsmArray::full(&queue, &[len], Scalar::I32(5), kind).unwrap();
            let target = UsmArray::zeros(&queue, &[len], Dtype::I32, kind).unwrap();
            let (to, from) = (target.usm_data().unwrap(), source.usm_data().unwrap());
            type Submit<'a> = &'a dyn Fn(&[Event]) -> Result<Event>;
            let operations: [(i32, Submit<'_>); 4] = [
                (5, &|depends| queue.memcpy((&to, 0), (&from, 0), 4 * len, depends)),
                (6, &|depends| queue.fill(&to, 0, Scalar::I32(6), len, depends)),
                (0x0707_0707, &|depends| queue.memset(&to, 0, 7, 4 * len, depends)),
                (10, &|depends| {
                    target.write_elementwise(Op::Add, &[(&source).into(), (&source).into()], depends)
                }),
            ];
            for (expected, operation) in operations {
                target.assign(weak(0)).unwrap().wait().unwrap();
                let ((first, open_first), (second, open_second)) = (gate(&queue), gate(&queue));
                let event = operation(&[first.clone(), second.clone()]).unwrap();
                assert_eq!(event.wait_list().len(), 2);
                open_first.send(Ok(())).unwrap();
                first.wait().unwrap();
                assert_eq!(event.status(), EventStatus::Submitted);
                open_second.send(Ok(())).unwrap();
                event.wait().unwrap();
                assert_eq!(second.status(), EventStatus::Complete);
                assert_eq!(target.to_vec::<i32>().unwrap(), vec![expected; len]);
            }
        }
    }
}

#[test]
fn in_order_queues_keep_the_order_and_others_do_not() {
    let device = host(4);
    let in_order = Queue::new(&device, IN_ORDER).unwrap();
    assert!(in_order.is_in_order() && !device.queue().unwrap().is_in_order());
    let log = Arc::new(Mutex::new(Vec::new()));
    let (blocked, open) = gate(&in_order);
    let events: Vec<Event> = (0..50)
        .map(|number| {
            let log = Arc::clone(&log);
            in_order
                .submit_host_task(
                    move || {
                        log.lock().unwrap().push(number);
                        Ok(())
                    },
                    &[],
                )
                .unwrap()
        })
        .collect();
    // Work without any conflict waits as well.
    let x = UsmArray::zeros(&in_order, &[10], Dtype::I32, UsmKind::Host).unwrap();
    let write = x.assign(weak(1)).unwrap();
    assert_eq!((blocked.status().is_terminal(), write.status()), (false, EventStatus::Submitted));
    open.send(Ok(())).unwrap();
    in_order.wait().unwrap();
    Event::wait_all(&events).unwrap();
    assert_eq!(*log.lock().unwrap(), (0..50).collect::<Vec<_>>());

    let free = Queue::new(&device, QueueProperties::default()).unwrap();
    let (blocked, open) = gate(&free);
    free.submit_host_task(|| Ok(()), &[]).unwrap().wait().unwrap();
    UsmArray::zeros(&free, &[10], Dtype::I32, UsmKind::Host).unwrap().wait().unwrap();
    assert!(!blocked.status().is_terminal());
    open.send(Ok(())).unwrap();
    free.wait().unwrap();
    assert_eq!(blocked.status(), EventStatus::Complete);
}

#[test]
fn barriers_wait_for_everything_or_for_what_is_named() {
    let queue = host(2).queue().unwrap();
    let (first, open_first) = gate(&queue);
    let (second, open_second) = gate(&queue);
    let all = queue.submit_barrier(&[]).unwrap();
    let one = queue.submit_barrier(std::slice::from_ref(&first)).unwrap();
    open_first.send(Ok(())).unwrap();
    one.wait().unwrap();
    assert_eq!((all.status(), second.status().is_terminal()), (EventStatus::Submitted, false));
    open_second.send(Ok(())).unwrap();
    all.wait().unwrap();
    // A barrier over everything is for order, not for data: it does not inherit; one over named events does.
    let (failing, open) = gate(&queue);
    let all = queue.submit_barrier(&[]).unwrap();
    let named = queue.submit_barrier(&[failing]).unwrap();
    open.send(Err(Error::task("test", "a failure", "none", "none"))).unwrap();
    assert!(all.wait().is_ok());
    assert!(matches!(named.wait(), Err(Error::Dependency(_))));
}

#[test]
fn errors_and_panics_of_host_tasks_are_their_events() {
    let queue = host(1).queue().unwrap();
    let tasks: [Box<dyn FnOnce() -> Result<()> + Send>; 3] = [
        Box::new(|| Err(Error::task("step 3", "a failure", "a success", "see the log"))),
        Box::new(|| panic!("a panic with a message")),
        Box::new(|| std::panic::panic_any(17)),
    ];
    let words = ["step 3", "a panic with a message", "panic"];
    for (task, word) in tasks.into_iter().zip(words) {
        let event = queue.submit_host_task(task, &[]).unwrap();
        let error = event.wait().unwrap_err();
        assert!(matches!(error, Error::Task(_)) && error.to_string().contains(word), "{error}");
        assert_eq!(event.status(), EventStatus::Failed);
        assert!(event.error().is_some());
        // Its dependents', and theirs: the root cause is named, once.
        let child = queue.submit_host_task(|| panic!("not run"), &[event]).unwrap();
        let grandchild = queue.submit_barrier(&[child]).unwrap();
        let Err(Error::Dependency(cause)) = grandchild.wait() else { panic!("{grandchild:?}") };
        assert_eq!(cause.to_string(), error.to_string());
    }
    // The queue goes on.
    assert!(queue.submit_host_task(|| Ok(()), &[]).unwrap().wait().is_ok());
}

#[test]
fn an_array_that_is_there_has_its_times_still() {
    let device = host(2);
    let queue = Queue::new(&device, QueueProperties { profiling: true, in_order: false }).unwrap();
    for len in [1, 16, 100_000] {
        let x = Array::<f32>::on(&queue).ones([len]).unwrap().sqrt();
        x.event().unwrap().wait().unwrap();
        let times = x.event().unwrap().profiling_info().unwrap();
        assert!(times.started <= times.ended, "{len}: {times:?}");
        // What is read since is another command.
        let sum = &x + &x;
        assert_eq!(x.event().unwrap().profiling_info().unwrap(), times, "{len}");
        sum.event().unwrap().wait().unwrap();
        assert!(sum.event().unwrap().profiling_info().unwrap().ended >= times.ended, "{len}");
    }
    // An event that memory has does not have the memory.
    assert_eq!(device.pool_statistics().live_bytes, 0);
}

#[test]
fn profiling_is_asked_for() {
    let device = host(2);
    let queue = Queue::new(&device, QueueProperties { profiling: true, in_order: false }).unwrap();
    let (blocked, open) = gate(&queue);
    let early = blocked.profiling_info().unwrap_err();
    assert!(
        matches!(early, Error::Value(_)) && early.to_string().contains("wait for the event first"),
        "{early}"
    );
    let x = UsmArray::zeros(&queue, &[200_000], Dtype::F32, UsmKind::Device).unwrap();
    let after = x.write_elementwise(Op::Exp, &[(&x).into()], std::slice::from_ref(&blocked)).unwrap();
    open.send(Ok(())).unwrap();
    after.wait().unwrap();
    let (first, second) = (blocked.profiling_info().unwrap(), after.profiling_info().unwrap());
    assert!(first.submitted <= first.started && first.started <= first.ended);
    assert!(
        second.submitted <= second.started && first.ended <= second.started && second.started <= second.ended
    );
    let plain = device.queue().unwrap().submit_host_task(|| Ok(()), &[]).unwrap();
    plain.wait().unwrap();
    let refused = plain.profiling_info().unwrap_err();
    assert!(
        matches!(refused, Error::Unsupported(_)) && refused.to_string().contains("with profiling"),
        "{refused}"
    );
}

#[test]
fn devices_are_found_by_filter_strings() {
    let listed = devices();
    assert!(listed.iter().all(|device| Device::select(&device.filter_string()).unwrap() == *device));
    let host = Device::select("host").unwrap();
    for filter in ["cpu", "host:cpu", "host:0", "cpu:0", "host:cpu:0", "fpga,cpu", "nothing:gpu:3, host"] {
        assert_eq!(Device::select(filter).unwrap(), host, "{filter}");
    }
    let info = host.info();
    assert_eq!((info.backend, info.device_type, info.variant), ("host", DeviceType::Cpu, None));
    assert!(info.has(Aspect::Fp64) && info.has(Aspect::UsmSharedAllocations) && !info.name.is_empty());
    assert_eq!(info.usm(UsmKind::Device), UsmSupport::Guarded);
    assert!(info.limits.compute_units > 0 && info.limits.global_memory_bytes > 0);
    let scalar = Device::select("host:scalar").unwrap();
    assert_eq!((scalar.filter_string().as_str(), scalar.info().variant), ("host:scalar", Some("scalar")));
    assert!(!listed.contains(&scalar), "variants are found by name only");
}

#[test]
fn devices_divide() {
    let device = host(4);
    let counts = |partition: Partition| -> Result<Vec<usize>> {
        let parts = device.create_sub_devices(&partition)?;
        Ok(parts.iter().map(|part| part.info().limits.compute_units).collect())
    };
    assert_eq!(counts(Partition::Equally(2)).unwrap(), [2, 2]);
    assert_eq!(counts(Partition::Equally(3)).unwrap(), [3]);
    assert_eq!(counts(Partition::ByCounts(vec![1, 3])).unwrap(), [1, 3]);
    for wrong in [Partition::Equally(0), Partition::Equally(5), Partition::ByCounts(vec![3, 2])] {
        assert!(matches!(counts(wrong.clone()), Err(Error::DeviceSelection(_))), "{wrong:?}");
    }
    // What the machine shares decides here: either it divides, or it says why not.
    match counts(Partition::ByAffinityDomain(AffinityDomain::NextPartitionable)) {
        Ok(counts) => assert!(!counts.is_empty()),
        Err(error) => assert!(matches!(error, Error::DeviceSelection(_)), "{error}"),
    }
    let parts = device.create_sub_devices(&Partition::Equally(2)).unwrap();
    assert_ne!(parts[0], parts[1]);
    assert_eq!(parts[1].parent_device(), Some(&device));
    assert_eq!(parts[1].filter_string(), format!("{}/1", device.filter_string()));
    // A context of the whole takes queues of its parts, which then share memory.
    let context = Context::new(std::slice::from_ref(&device)).unwrap();
    let queues: Vec<Queue> = [&device, &parts[0], &parts[1]].map(|d| context.queue(d).unwrap()).into();
    let x = UsmArray::full(&queues[0], &[300_000], Scalar::I64(1), UsmKind::Device).unwrap();
    let y = x.to_queue(&queues[1]).unwrap().binary(Op::Add, weak(1)).unwrap();
    let z = y.to_queue(&queues[2]).unwrap().binary(Op::Add, weak(1)).unwrap();
    assert_eq!(z.to_vec::<i64>().unwrap(), vec![3; 300_000]);
    let stranger = Context::new(std::slice::from_ref(&parts[0])).unwrap();
    assert!(matches!(stranger.queue(&device), Err(Error::DeviceSelection(_))));
}

#[test]
fn pointers_are_known_by_any_address_inside() {
    let device = host(1);
    let queue = device.queue().unwrap();
    for kind in UsmKind::ALL {
        for bytes in [1, 100, 1 << 20] {
            let memory = UsmMemory::new(kind, bytes, &queue).unwrap();
            for offset in [0, bytes / 2, bytes - 1] {
                let info = stridewise::pointer_info(memory.ptr().byte_offset(offset as isize));
                assert_eq!(info.kind, stridewise::PointerKind::Usm(kind));
                assert_eq!((info.base, info.bytes), (memory.ptr(), bytes));
                assert_eq!(info.device.as_ref(), Some(&device));
            }
            let beyond = stridewise::pointer_info(memory.ptr().byte_offset(bytes as isize));
            assert_ne!(beyond.base, memory.ptr());
        }
    }
    let mut local = 0u8;
    let ptr = stridewise::UsmPtr::new(&raw mut local);
    assert_eq!(stridewise::pointer_info(ptr).kind, stridewise::PointerKind::Unknown);
}

/// What a process with such variables of the environment says about its default device.
fn default_device_under(variables: &[(&str, &OsStr)]) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "prints_the_default_device", "--ignored", "--nocapture"])
        .env_remove("STRIDEWISE_DEVICE")
        .env_remove("STRIDEWISE_NUM_THREADS")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "an error is no message");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "run by the tests of environment variables, in a process of its own"]
fn prints_the_default_device() {
    match default_device().and_then(|device| Ok((device.queue()?, device))) {
        Ok((queue, device)) => {
            let x = UsmArray::builder([3]).dtype(Dtype::I32).build().unwrap();
            assert_eq!((x.device(), x.queue()), (&device, &queue));
            println!("<{device}> of {} threads", device.info().limits.compute_units);
        }
        Err(error) => {
            println!("<{error}>");
            // Nor by another way.
            for device in stridewise::devices() {
                println!("{device}: {:?}", Queue::new(&device, QueueProperties::default()).err());
                println!("{device}: {:?}", device.create_sub_devices(&Partition::Equally(1)).err());
            }
        }
    }
}

#[test]
fn the_environment_names_the_default_device() {
    let under = |filter: &str| default_device_under(&[("STRIDEWISE_DEVICE", filter.as_ref())]);
    assert!(under("host:scalar").contains("<host:scalar>"));
    assert!(under("nothing:gpu,host").contains("<host:cpu:0>"));
    for wrong in ["host:quantum", "host::"] {
        let text = under(wrong);
        assert!(
            text.contains("STRIDEWISE_DEVICE") && text.contains(wrong) && text.contains("help:"),
            "{text}"
        );
    }
    for not_set in ["", " "] {
        let named = |text: &str| text.lines().find(|line| line.starts_with('<')).map(str::to_owned);
        let (found, expected) = (named(&under(not_set)), named(&default_device_under(&[])));
        assert!(found.is_some() && found == expected, "{not_set:?} is as if it was not set: {found:?}");
    }
}

#[test]
fn the_environment_says_how_many_threads() {
    let under = |text: &str| {
        let threads = ("STRIDEWISE_NUM_THREADS", text.as_ref());
        default_device_under(&[("STRIDEWISE_DEVICE", "host".as_ref()), threads])
    };
    assert!(under("3").contains(" of 3 threads"));
    assert!(under(" 1 ").contains(" of 1 threads"));
    let all = format!(" of {} threads", std::thread::available_parallelism().unwrap());
    for not_set in ["", " "] {
        assert!(under(not_set).contains(&all), "{not_set:?}");
    }
    for wrong in ["many", "0", "-1", "1.5", "5000", "2 threads"] {
        let text = under(wrong);
        let told = text.matches("STRIDEWISE_NUM_THREADS").count();
        assert!(text.contains(&format!("{wrong:?}")) && text.contains("help:") && told == 3, "{text}");
    }
}

#[cfg(unix)]
#[test]
fn variables_of_the_environment_are_text() {
    use std::os::unix::ffi::OsStrExt;
    let wrong = OsStr::from_bytes(b"\xff1");
    for variables in [
        &[("STRIDEWISE_DEVICE", wrong)][..],
        &[("STRIDEWISE_DEVICE", "host".as_ref()), ("STRIDEWISE_NUM_THREADS", wrong)],
    ] {
        let text = default_device_under(variables);
        assert!(text.contains(variables[variables.len() - 1].0) && text.contains("help:"), "{text}");
    }
}

/// A driver without devices that says whether it was asked for any.
struct Spy;
static SPY_WAS_ASKED: AtomicBool = AtomicBool::new(false);

impl Driver for Spy {
    fn name(&self) -> &'static str {
        // Before all others.
        "a_spy"
    }
    fn interface(&self) -> u32 {
        INTERFACE
    }
    fn devices(&self) -> Vec<Arc<dyn backend::Device>> {
        SPY_WAS_ASKED.store(true, Ordering::Relaxed);
        Vec::new()
    }
    fn may_have(&self, device_type: DeviceType) -> bool {
        device_type == DeviceType::Accelerator
    }
}

fn spy() -> Arc<dyn Driver> {
    Arc::new(Spy)
}
stridewise_core::register_driver!(spy);

#[test]
#[ignore = "run by the test of what is loaded, in a process of its own"]
fn prints_what_is_loaded() {
    let say = |step: &str| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default().to_ascii_lowercase();
        let loaded = ["libopencl", "libpocl"].iter().any(|library| maps.contains(library));
        println!("<{step}: spy {} loader {loaded}>", SPY_WAS_ASKED.load(Ordering::Relaxed));
    };
    let compute = |device: &Device| {
        let x = UsmArray::builder([3]).dtype(Dtype::F32).queue(&device.queue().unwrap()).build().unwrap();
        assert_eq!(x.unary(Op::Sqrt).unwrap().to_vec::<f32>().unwrap().len(), 3);
    };
    match std::env::var("STRIDEWISE_TEST_STEP").as_deref() {
        Ok("default") => compute(&default_device().unwrap()),
        Ok("all") => compute(&stridewise::devices()[0]),
        Ok(filter) => compute(&Device::select(filter).unwrap()),
        Err(_) => {}
    }
    say("end");
}

#[test]
fn only_the_drivers_that_are_asked_for_are_loaded() {
    let under = |step: &str, device: Option<&str>| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "prints_what_is_loaded", "--ignored", "--nocapture"]);
        child.env_remove("STRIDEWISE_DEVICE").env("STRIDEWISE_TEST_STEP", step);
        child.envs(device.map(|device| ("STRIDEWISE_DEVICE", device)));
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for host in ["host", "host:cpu:0", "host:scalar", "host:quantum,host"] {
        let text = under(host, None);
        assert!(text.contains("<end: spy false loader false>"), "{host}: {text}");
        let text = under("default", Some(host));
        assert!(text.contains("<end: spy false loader false>"), "{host} by the environment: {text}");
    }
    // Where no driver may have a GPU, none is loaded for it; a driver that cannot have the default one is never.
    assert!(under("default", None).contains("spy false"));
    assert!(under("all", None).contains("spy true"), "the spy sees");
}
