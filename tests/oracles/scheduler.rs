//! The order of work: random graphs against a serial oracle, on a device that completes commands in any order that their
//! waits allow, and on the host; then what failures, threads and several backends do to it.

#[path = "../graphs/mod.rs"]
mod graphs;
#[path = "../model/mod.rs"]
mod model;
#[path = "../random/mod.rs"]
mod random;

use std::sync::Arc;

use graphs::{Graph, Side};
use model::Model;
use random::Rng;
use stridewise::backend::{Advice, EventStatus};
use stridewise::{
    ArrayOrScalar, Device, Dtype, Error, Event, IndexMode, Op, Queue, Reduction, UsmArray, UsmKind, Weak,
    concat, ix, s,
};
use stridewise_null::{Logged, NullConfig, NullDevice};

fn null() -> (NullDevice, Device) {
    let null = NullDevice::new(NullConfig::default());
    (null.clone(), Device::from_backend(Arc::new(null)))
}

fn host(threads: usize) -> Device {
    Device::from_backend(stridewise_host::device_with(None, threads).unwrap())
}

/// The seeds of a test; one of them alone where `STRIDEWISE_TEST_SEED` says so.
fn seeds(range: std::ops::Range<u64>) -> std::ops::Range<u64> {
    match std::env::var("STRIDEWISE_TEST_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("STRIDEWISE_TEST_SEED is a number");
            seed..seed + 1
        }
        Err(_) => range,
    }
}

fn null_graphs(range: std::ops::Range<u64>, elements: usize, operations: usize) {
    for seed in seeds(range) {
        let (null, device) = null();
        let side = Side::Null(Model::new(null.clone()));
        Graph::new(format!("seed {seed}"), Rng::new(seed), &device, side, elements).run(operations);
        assert_eq!(device.pool_statistics().live_bytes, 0, "memory of graph {seed} is still in use");
        drop(device);
        assert_eq!((null.live_allocations().len(), null.wrong_frees()), (0, 0), "graph {seed}");
    }
}

// 10⁴ graphs in all. Results of at most 4 KiB are computed at once, on the host of 64; larger ones are recorded.

#[test]
fn small_graphs_on_null_equal_the_oracle() {
    null_graphs(0..4000, 6, 25);
}

#[test]
fn long_small_graphs_on_null_equal_the_oracle() {
    null_graphs(4000..8000, 8, 40);
}

#[test]
fn recorded_graphs_on_null_equal_the_oracle() {
    null_graphs(8000..10_000, 1100, 20);
}

/// A device of so many threads with arrays of three sizes: computed at once, recorded, and run on the pool.
fn host_graphs(threads: usize) {
    let device = host(threads);
    for (range, elements, operations) in [(0..150, 6, 30), (150..250, 9000, 25), (250..262, 30_000, 25)] {
        for seed in seeds(range) {
            let rng = Rng::new(seed);
            Graph::new(format!("seed {seed}"), rng, &device, Side::Real, elements).run(operations);
        }
    }
    assert_eq!(device.pool_statistics().live_bytes, 0, "memory is still in use");
}

#[test]
fn graphs_on_one_thread_equal_the_oracle() {
    host_graphs(1);
}

#[test]
fn graphs_on_two_threads_equal_the_oracle() {
    host_graphs(2);
}

#[test]
fn graphs_on_four_threads_equal_the_oracle() {
    host_graphs(4);
}

#[test]
fn graphs_on_eight_threads_equal_the_oracle() {
    host_graphs(8);
}

/// Elements of a result that is recorded, not computed at once.
const RECORDED: usize = 10_000;

fn iota(queue: &Queue, len: usize) -> UsmArray {
    let data: Vec<i64> = (0..len as i64).collect();
    UsmArray::from_slice(queue, &[len], &data, UsmKind::Shared).unwrap()
}

fn plus(array: &UsmArray, value: i64) -> UsmArray {
    array.binary(Op::Add, weak(value)).unwrap()
}

fn weak(value: i64) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Weak(Weak::Int(value.into()))
}

fn total(array: &UsmArray) -> i64 {
    array.reduce(Reduction::Sum, None, false).unwrap().item().unwrap().get().unwrap()
}

#[test]
fn a_recorded_operand_is_read_through_two_layouts() {
    let queue = Queue::select("host").unwrap();
    let x = plus(&iota(&queue, RECORDED), 1);
    assert!(x.is_pending());
    let y = x.binary(Op::Subtract, &x.flip(None).unwrap()).unwrap();
    let len = RECORDED as i64;
    assert_eq!(y.to_vec::<i64>().unwrap(), (0..len).map(|i| 2 * i - (len - 1)).collect::<Vec<_>>());
}

#[test]
fn a_recorded_value_is_that_of_the_moment_of_recording() {
    let queue = Queue::select("host").unwrap();
    let x = iota(&queue, RECORDED);
    let before = plus(&x, 1);
    assert!(before.is_pending());
    x.assign(weak(0)).unwrap();
    let after = plus(&x, 1);
    assert_eq!(before.to_vec::<i64>().unwrap(), (1..=RECORDED as i64).collect::<Vec<_>>());
    assert_eq!(after.to_vec::<i64>().unwrap(), [1; RECORDED]);
}

#[test]
fn work_recorded_on_recorded_work_is_submitted_before_a_write_to_it() {
    let queue = Queue::select("host").unwrap();
    let first = plus(&iota(&queue, RECORDED), 1);
    let second = plus(&first, 1);
    assert!(first.is_pending() && second.is_pending());
    // `first` gets memory, which `second` was recorded without.
    first.assign(weak(0)).unwrap();
    assert_eq!(second.to_vec::<i64>().unwrap(), (2..RECORDED as i64 + 2).collect::<Vec<_>>());
    assert_eq!(first.to_vec::<i64>().unwrap(), [0; RECORDED]);
}

#[test]
fn ten_threads_share_one_queue_and_its_arrays() {
    const ROUNDS: i64 = 25;
    for threads in [1, 2, 4, 8] {
        let device = host(threads);
        let queue = device.queue().unwrap();
        let counter = UsmArray::zeros(&queue, &[300], Dtype::I64, UsmKind::Device).unwrap();
        let rows = iota(&queue, 10 * RECORDED).reshape(&[10, -1]).unwrap();
        std::thread::scope(|scope| {
            for number in 0..10_i64 {
                let (counter, rows) = (&counter, &rows);
                scope.spawn(move || {
                    let row = rows.slice(s![number as isize, ..]).unwrap();
                    // Not read from the array: a host view is of the whole allocation, and would have the writes of
                    // the other threads refused.
                    let mut expected: Vec<i64> =
                        (0..RECORDED as i64).map(|i| number * RECORDED as i64 + i).collect();
                    for _ in 0..ROUNDS {
                        let one = weak(1);
                        counter.write_elementwise(Op::Add, &[counter.into(), one.clone()], &[]).unwrap();
                        let double = row.binary(Op::Add, &row).unwrap();
                        assert_eq!(total(&double), 2 * expected.iter().sum::<i64>());
                        row.write_elementwise(Op::Subtract, &[(&double).into(), (&row).into()], &[]).unwrap();
                        row.write_elementwise(Op::Add, &[(&row).into(), one], &[]).unwrap();
                        expected.iter_mut().for_each(|x| *x += 1);
                        let joined = concat(&[&double, &row], Some(0)).unwrap();
                        drop(double);
                        assert_eq!(joined.to_vec::<i64>().unwrap()[RECORDED..], expected);
                    }
                });
            }
        });
        assert_eq!(counter.to_vec::<i64>().unwrap(), [10 * ROUNDS; 300]);
        drop((counter, rows));
        assert_eq!(device.pool_statistics().live_bytes, 0);
    }
}

#[test]
fn only_conflicting_work_waits() {
    let (null, device) = null();
    let queue = device.queue().unwrap();
    let x = UsmArray::empty(&queue, &[16], Dtype::I64, UsmKind::Device).unwrap();
    let y = UsmArray::empty(&queue, &[16], Dtype::I64, UsmKind::Device).unwrap();
    let memory = x.usm_data().unwrap();
    let value = || weak(1);
    queue.memset(&memory, 0, 0, 64, &[]).unwrap(); // 0: the first half of x
    queue.memset(&memory, 64, 0, 64, &[]).unwrap(); // 1: the second half
    y.assign(value()).unwrap(); // 2: other memory
    x.slice(s![..;2]).unwrap().assign(value()).unwrap(); // 3: the even elements
    x.slice(s![1..;2]).unwrap().assign(value()).unwrap(); // 4: the odd ones
    y.assign(&x).unwrap(); // 5
    let first = x.slice(s![..4]).unwrap().binary(Op::Add, value()).unwrap(); // 6: a second reader
    x.slice(s![..2]).unwrap().assign(value()).unwrap(); // 7: over what 5 and 6 read
    drop(first);
    let waits: Vec<Vec<usize>> = null.log().iter().map(|record| sorted(record.wait_ids())).collect();
    let expected: [&[usize]; 8] = [&[], &[], &[], &[0, 1], &[0, 1], &[2, 3, 4], &[3, 4], &[5, 6]];
    for (number, (found, expected)) in waits.iter().zip(expected).enumerate() {
        let missing: Vec<_> = expected.iter().filter(|id| !found.contains(id)).collect();
        assert!(missing.is_empty(), "{number} waits for {found:?}, not for {missing:?}");
        // More than the direct conflicts only where one that those wait for anyway is named too.
        assert!(found.iter().all(|id| expected.contains(id) || number > 4), "{number} waits for {found:?}");
    }
    for _ in 0..waits.len() {
        null.complete(null.ready()[0]).unwrap();
    }
}

#[test]
fn a_hint_comes_after_what_writes_and_what_it_names() {
    let (null, device) = null();
    let queue = device.queue().unwrap();
    let x = UsmArray::empty(&queue, &[16], Dtype::I64, UsmKind::Device).unwrap();
    let y = UsmArray::empty(&queue, &[16], Dtype::I64, UsmKind::Device).unwrap();
    let (x, y) = (x.usm_data().unwrap(), y.usm_data().unwrap());
    queue.memset(&x, 0, 0, 64, &[]).unwrap(); // 0: the first half of x
    let named = queue.memset(&y, 0, 0, 64, &[]).unwrap(); // 1
    queue.prefetch(&x, 0, 128, &[]).unwrap(); // 2
    queue.prefetch(&x, 64, 64, std::slice::from_ref(&named)).unwrap(); // 3
    queue.mem_advise(&x, 0, 8, Advice::Random, &[]).unwrap(); // 4
    queue.prefetch(&x, 128, 0, &[named]).unwrap(); // 5: of nothing
    let log = null.log();
    let waits: Vec<Vec<usize>> = log.iter().map(|record| sorted(record.wait_ids())).collect();
    assert_eq!(waits, [vec![], vec![], vec![0], vec![1], vec![0], vec![1]]);
    let hints = log.iter().map(|record| match record.command {
        Logged::Advise { ptr, bytes, advice } => Some((ptr, bytes, advice)),
        _ => None,
    });
    let expected = [
        Some((x.ptr(), 128, Advice::Prefetch)),
        Some((x.ptr().byte_offset(64), 64, Advice::Prefetch)),
        Some((x.ptr(), 8, Advice::Random)),
        None,
    ];
    assert_eq!(hints.skip(2).collect::<Vec<_>>(), expected);
    while let Some(&id) = null.ready().first() {
        null.complete(id).unwrap();
    }
}

fn sorted(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids
}

fn failure() -> Error {
    Error::task("test", "a failure", "a success", "none: it is meant")
}

fn is_inherited(error: Option<Error>) -> bool {
    matches!(error, Some(Error::Dependency(cause)) if matches!(*cause, Error::Task(_)))
}

#[test]
fn a_failure_travels_along_data_and_ends_where_it_is_overwritten() {
    for threads in [1, 2, 4, 8] {
        let queue = host(threads).queue().unwrap();
        for len in [10, RECORDED, 200_000] {
            let (x, y) = (iota(&queue, len), iota(&queue, len));
            let failed = queue.submit_host_task(|| Err(failure()), &[]).unwrap();
            let one = weak(1);
            let event =
                x.write_elementwise(Op::Add, &[(&y).into(), one], std::slice::from_ref(&failed)).unwrap();
            assert!(matches!(failed.wait(), Err(Error::Task(_))));
            assert!(is_inherited(event.wait().err()), "{:?}", event.error());
            // What reads x fails, whatever it is made of; what reads only y does not.
            let z = plus(&x, 1);
            let w = concat(&[&z, &y], Some(0)).unwrap();
            assert!(is_inherited(z.to_vec::<i64>().err()));
            assert!(is_inherited(w.wait().err()));
            assert!(is_inherited(x.host_view::<i64>().err()));
            assert!(is_inherited(x.reduce(Reduction::Sum, None, false).and_then(|sum| sum.item()).err()));
            assert_eq!(y.to_vec::<i64>().unwrap(), (0..len as i64).collect::<Vec<_>>());
            assert!(is_inherited(x.usm_data().unwrap().export().err()));
            // Overwriting is recovery, from the failure and for what is made from then on.
            x.assign(&y).unwrap().wait().unwrap();
            assert_eq!(plus(&x, 1).to_vec::<i64>().unwrap(), (1..=len as i64).collect::<Vec<_>>());
            w.assign(weak(3)).unwrap();
            assert_eq!(total(&w), 6 * len as i64);
        }
    }
}

#[test]
fn who_writes_some_places_does_not_overwrite_a_failure() {
    for threads in [1, 2, 4] {
        let queue = host(threads).queue().unwrap();
        for len in [10, RECORDED, 200_000] {
            let y = iota(&queue, len);
            let places = UsmArray::from_slice(&queue, &[2], &[1_i64, 3], UsmKind::Shared).unwrap();
            let values = UsmArray::from_slice(&queue, &[2], &[7_i64, 8], UsmKind::Shared).unwrap();
            let mask = y.binary(Op::Less, weak(2)).unwrap();
            type Write<'a> = Box<dyn Fn(&UsmArray) -> stridewise::Result<()> + 'a>;
            let writes: [Write<'_>; 4] = [
                Box::new(|x| x.put(&places, &values, Some(0), IndexMode::Check)?.wait()),
                Box::new(|x| x.put(&places, weak(7), Some(0), IndexMode::Check)?.wait()),
                Box::new(|x| x.assign_masked(&mask, &values)?.wait()),
                Box::new(|x| x.add_at(ix![&places], &values).and_then(|()| x.wait())),
            ];
            for (number, write) in writes.iter().enumerate() {
                let x = iota(&queue, len);
                let failed = queue.submit_host_task(|| Err(failure()), &[]).unwrap();
                let event = x
                    .write_elementwise(Op::Add, &[(&y).into(), weak(1)], std::slice::from_ref(&failed))
                    .unwrap();
                assert!(is_inherited(event.wait().err()));
                assert!(is_inherited(write(&x).err()), "write {number} of {len}");
                assert!(is_inherited(x.to_vec::<i64>().err()), "write {number} of {len}");
                x.assign(&y).unwrap().wait().unwrap();
                write(&x).unwrap();
                assert!(x.to_vec::<i64>().is_ok());
            }
        }
    }
}

#[test]
fn a_failure_on_null_reaches_readers_and_not_writers() {
    let (null, device) = null();
    let queue = device.queue().unwrap();
    let array = || UsmArray::empty(&queue, &[8], Dtype::I64, UsmKind::Device).unwrap();
    let (x, y, z) = (array(), array(), array());
    let first = x.assign(weak(1)).unwrap();
    let reader = y.assign(&x).unwrap();
    let second = z.assign(&y).unwrap();
    let writer = x.assign(weak(2)).unwrap();
    let later = z.assign(&x).unwrap();
    assert_eq!(null.ready(), [0]);
    null.fail(0, failure()).unwrap();
    assert!(matches!(first.error(), Some(Error::Task(_))));
    assert!(is_inherited(reader.error()) && is_inherited(second.error()));
    assert_eq!(null.ready(), [3]);
    null.complete(3).unwrap();
    null.complete(4).unwrap();
    assert!(writer.wait().is_ok() && later.wait().is_ok() && z.wait().is_ok());
    assert!(is_inherited(y.wait().err()));
}

#[test]
fn events_of_one_backend_order_work_of_another() {
    let (null, device) = null();
    let (foreign, queue) = (device.queue().unwrap(), host(2).queue().unwrap());
    let x = iota(&queue, RECORDED);
    // Null first, then the host.
    let gate = foreign.submit_host_task(|| Ok(()), &[]).unwrap();
    let one = weak(1);
    let event =
        x.write_elementwise(Op::Add, &[(&x).into(), one.clone()], std::slice::from_ref(&gate)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(event.status(), EventStatus::Submitted);
    null.complete(0).unwrap();
    event.wait().unwrap();
    assert_eq!(x.to_vec::<i64>().unwrap()[..3], [1, 2, 3]);
    // The host first, then null.
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let wait = move || opened.recv().map_err(|_| failure());
    let gate = queue.submit_host_task(wait, &[]).unwrap();
    let event = foreign.submit_barrier(std::slice::from_ref(&gate)).unwrap();
    assert!(null.ready().is_empty());
    open.send(()).unwrap();
    gate.wait().unwrap();
    while null.ready().is_empty() {
        std::thread::yield_now();
    }
    null.complete(1).unwrap();
    event.wait().unwrap();
    // Failures cross as well, in both directions.
    let gate = foreign.submit_barrier(&[Event::ready()]).unwrap();
    let event = x.write_elementwise(Op::Add, &[(&x).into(), one], &[gate]).unwrap();
    null.fail(2, failure()).unwrap();
    assert!(is_inherited(event.wait().err()));
    let gate = queue.submit_host_task(|| Err(failure()), &[]).unwrap();
    let event = foreign.submit_barrier(&[gate]).unwrap();
    assert!(is_inherited(event.wait().err()));
}

/// Joins of as many parts as this took the square of their number: with the order of work around them, which is recorded once for all.
#[test]
fn joins_of_many_parts_are_in_their_order() {
    const PARTS: usize = 60_000;
    let queue = host(2).queue().unwrap();
    let numbers = |len: usize, first: i64| {
        let values: Vec<i64> = (first..).take(len).collect();
        UsmArray::from_slice(&queue, &[len], &values, UsmKind::Shared).unwrap()
    };
    // Parts of one array, one after the other and in turns with others: what is read is many regions, what is written one.
    let x = numbers(2 * PARTS, 0);
    let parts: Vec<_> = (0..PARTS).map(|k| x.slice(s![2 * k..2 * k + 1]).unwrap()).collect();
    let mut joined = concat(&parts.iter().collect::<Vec<_>>(), Some(0)).unwrap();
    let zeros = UsmArray::zeros(&queue, &[2 * PARTS], Dtype::I64, UsmKind::Shared).unwrap();
    x.assign(&zeros).unwrap();
    let mut expected: Vec<i64> = (0..PARTS as i64).map(|k| 2 * k).collect();
    assert_eq!(joined.to_vec::<i64>().unwrap(), expected);
    assert_eq!(x.to_vec::<i64>().unwrap(), vec![0; 2 * PARTS]);
    // Arrays of their own, in columns.
    let parts: Vec<_> = (0..PARTS as i64 / 10).map(|k| numbers(3, 3 * k)).collect();
    let stacked = stridewise::stack(&parts.iter().collect::<Vec<_>>(), 1).unwrap();
    for (row, rest) in [(0, 0), (1, 1), (2, 2)] {
        let expected: Vec<i64> = (0..PARTS as i64 / 10).map(|k| 3 * k + rest).collect();
        assert_eq!(stacked.slice(s![row]).unwrap().to_vec::<i64>().unwrap(), expected);
    }
    // Into every second element of what was joined, and from there again.
    let half = joined.slice(s![..;2]).unwrap();
    let ones = UsmArray::full(&queue, &[PARTS / 2], stridewise::Scalar::I64(-1), UsmKind::Shared).unwrap();
    half.assign(&ones).unwrap();
    expected.iter_mut().step_by(2).for_each(|value| *value = -1);
    joined = concat(
        &(0..PARTS)
            .map(|k| joined.slice(s![k..k + 1]).unwrap())
            .collect::<Vec<_>>()
            .iter()
            .collect::<Vec<_>>(),
        None,
    )
    .unwrap();
    assert_eq!(joined.to_vec::<i64>().unwrap(), expected);
}
