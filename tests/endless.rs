//! Kernels that do not end, or not for long: nobody else waits for them, whoever waits for them can stop, and they end where
//! they have a time limit.

use std::thread;
use std::time::Duration;

use stridewise::backend::Backlog;
use stridewise::kernel::{Global, Item, LaunchOptions, NdRange, Rule};
use stridewise::{Array, Device, Error, Event, Queue};

/// How long the endless ones go on: long beside all else that is done here.
const LONG: Duration = Duration::from_secs(25);

#[stridewise::kernel]
fn endless(item: Item<1>, a: &mut Global<f32>) {
    let i = item.global_id(0);
    while a[i] >= 0.0 {
        a[i] = a[i] * 1.0;
    }
}

#[stridewise::kernel]
fn counted(item: Item<1>, a: &mut Global<f32>, rounds: i64) {
    let i = item.global_id(0);
    for _ in 0..rounds {
        a[i] = a[i] + 1.0;
    }
}

fn device(threads: usize) -> Device {
    Device::from_backend(stridewise_host::device_with(None, threads).unwrap())
}

fn ones(queue: &Queue, items: usize) -> Array<f32> {
    let array = Array::<f32>::on(queue).ones([items]).unwrap();
    array.wait().unwrap();
    array
}

/// Begins one on a queue, which goes on for as long as said.
fn begin(queue: &Queue, items: usize, limit: Duration) -> (Event, Array<f32>) {
    let a = ones(queue, items);
    let options = LaunchOptions { time_limit: Some(limit), ..LaunchOptions::default() };
    let kernel = endless::kernel().unwrap();
    let event = kernel.launch_with(queue, [items], &[(&a).into()], &[], options).unwrap();
    (event, a)
}

fn is_over(event: &Event) -> bool {
    event.status().is_terminal()
}

fn ended_by_its_limit(event: &Event) -> bool {
    matches!(event.wait(), Err(Error::Kernel(broken)) if broken.rule == Rule::TimeLimit)
}

#[test]
fn nothing_waits_for_kernels_that_go_on() {
    for (threads, items, kernels) in [(1, 1, 1), (2, 1, 1), (2, 100_000, 1), (2, 1, 5), (2, 100_000, 3)] {
        let device = device(threads);
        let queues = [device.queue().unwrap(), device.queue().unwrap()];
        let x = Array::<f32>::on(&queues[0]).ones([1 << 21]).unwrap();
        x.wait().unwrap();
        // `launch` returns, whatever the loop does.
        let begun: Vec<_> = (0..kernels).map(|_| begin(&queues[0], items, LONG)).collect();
        // On the same queue, which keeps no order, on another one and from other threads: sums and products.
        assert_eq!(x.sum().unwrap(), (1 << 21) as f32);
        let y = Array::<f32>::on(&queues[1]).ones([300, 300]).unwrap();
        assert_eq!(y.matmul(&y).sum().unwrap(), 300.0 * 300.0 * 300.0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 1..20 {
                        assert_eq!((&x * round as f32).sum().unwrap(), (round << 21) as f32);
                    }
                });
            }
        });
        // Nobody waits for these.
        let more =
            queues.each_ref().map(|queue| counted(queue, [1 << 16], &mut ones(queue, 1 << 16), 3).unwrap());
        while !more.iter().all(is_over) {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(begun.iter().all(|(event, _)| !is_over(event)), "{threads} threads, {items} items");
        assert!(!begun[0].0.wait_timeout(Duration::from_millis(5)).unwrap());
    }
}

#[test]
fn more_may_be_submitted_than_may_be_under_way() {
    let device = device(2);
    let queue = device.queue().unwrap();
    device.set_backlog(Backlog { commands: 4, bytes: usize::MAX });
    let begun: Vec<_> = (0..3).map(|_| begin(&queue, 1, LONG)).collect();
    for round in 0..40 {
        let mut y = ones(&queue, 1000);
        counted(&queue, [1000], &mut y, 2000).unwrap();
        if round % 10 == 0 {
            assert_eq!(y.get([999]).unwrap(), 2001.0);
        }
    }
    assert!(begun.iter().all(|(event, _)| !is_over(event)));
}

#[test]
fn who_waits_behind_one_keeps_nobody_else() {
    let device = device(2);
    let queue = device.queue().unwrap();
    device.set_backlog(Backlog { commands: 4, bytes: usize::MAX });
    let (event, a) = begin(&queue, 1 << 16, LONG);
    thread::scope(|scope| {
        // More commands than may be under way, which cannot begin: who submits them waits.
        scope.spawn(|| (0..20).for_each(|k| drop((&a + k as f32).event())));
        while device.under_way().commands < 5 {
            thread::sleep(Duration::from_millis(1));
        }
        for round in 0..20 {
            let mut y = ones(&queue, 1 << 16);
            counted(&queue, [1 << 16], &mut y, 20).unwrap();
            assert_eq!(y.get([round]).unwrap(), 21.0);
        }
        assert!(!is_over(&event));
    });
}

#[test]
fn a_time_limit_ends_a_launch_with_an_error() {
    let limit = Duration::from_millis(50);
    for threads in [1, 2] {
        let queue = device(threads).queue().unwrap();
        for items in [1, 100_000] {
            let (event, a) = begin(&queue, items, limit);
            assert!(ended_by_its_limit(&event));
            // What it wrote has failed.
            assert!(matches!(a.to_vec(), Err(Error::Kernel(_) | Error::Dependency(_))));
        }
        // One that comes to its end in time.
        let mut a = ones(&queue, 1000);
        let options = LaunchOptions { time_limit: Some(LONG), ..LaunchOptions::default() };
        let kernel = counted::kernel().unwrap();
        kernel.launch_with(&queue, [1000], &[(&a).into(), 100.into()], &[], options).unwrap().wait().unwrap();
        assert_eq!(a.to_vec().unwrap(), vec![101.0; 1000]);
        counted(&queue, [1000], &mut a, 10).unwrap();
        assert_eq!(a.to_vec().unwrap(), vec![111.0; 1000]);
        // Loops whose rounds are counted, in groups that meet at barriers too, and many items without a loop.
        let rounds = i64::MAX;
        let options = LaunchOptions { time_limit: Some(limit), ..LaunchOptions::default() };
        let event = kernel.launch_with(&queue, [1000], &[(&a).into(), rounds.into()], &[], options).unwrap();
        assert!(ended_by_its_limit(&event));
        let kernel = meeting::kernel().unwrap();
        let range = NdRange::in_groups(&[512], &[256]);
        let event =
            kernel.launch_with(&queue, range, &[(&ones(&queue, 512)).into(), rounds.into()], &[], options);
        assert!(ended_by_its_limit(&event.unwrap()));
    }
}

#[stridewise::kernel]
fn meeting(item: Item<1>, a: &mut Global<f32>, rounds: i64) {
    let i = item.global_id(0);
    for _ in 0..rounds {
        a[i] = a[i] + 1.0;
        item.barrier();
    }
}

#[test]
fn a_device_without_an_end_of_kernels_refuses_a_limit() {
    let null =
        stridewise_null::NullDevice::new(stridewise_null::NullConfig { kernels: true, ..Default::default() });
    let queue = Device::from_backend(std::sync::Arc::new(null)).queue().unwrap();
    let options = LaunchOptions { time_limit: Some(LONG), ..LaunchOptions::default() };
    let a = Array::<f32>::on(&queue).ones([4]).unwrap();
    let refused = endless::kernel().unwrap().launch_with(&queue, [4], &[(&a).into()], &[], options);
    assert!(matches!(refused, Err(Error::Unsupported(_))));
}
