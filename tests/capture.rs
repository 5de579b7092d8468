//! Captured programs against the same programs run directly: the same bits, whatever happens between replays.

use std::sync::Barrier;
use std::thread;

use stridewise::backend::QueueProperties;
use stridewise::kernel::{Global, Item};
use stridewise::prelude::*;
use stridewise::{Capture, Graph, Scalar};

const REPLAYS: usize = 100;

/// Arrays that a program goes on from, and one step of it.
struct Program {
    name: &'static str,
    state: fn(&Queue) -> Result<Vec<Array<f32>>>,
    step: fn(&[Array<f32>]) -> Result<()>,
}

const PROGRAMS: [Program; 5] = [
    Program { name: "heat", state: plate, step: heat },
    Program { name: "logistic regression", state: samples, step: logistic },
    Program { name: "life", state: board, step: life },
    Program { name: "k-means", state: points, step: k_means },
    Program { name: "random walk", state: walk, step: random_step },
];

fn plate(queue: &Queue) -> Result<Vec<Array<f32>>> {
    const N: usize = 70;
    let plate = Array::<f32>::on(queue).zeros((N, N))?;
    plate.slice(s![20..40, 10..30])?.fill(1.0)?;
    Ok(vec![plate])
}

fn heat(state: &[Array<f32>]) -> Result<()> {
    let plate = &state[0];
    let end = plate.shape()[0] - 1;
    let mut inner = plate.slice(s![1..end, 1..end])?;
    let (above, below) = (plate.slice(s![..end - 1, 1..end])?, plate.slice(s![2.., 1..end])?);
    let (left, right) = (plate.slice(s![1..end, ..end - 1])?, plate.slice(s![1..end, 2..])?);
    let flow = 0.2 * (&above + &below + &left + &right - 4.0 * &inner);
    inner.assign(&(&inner + flow))?;
    Ok(())
}

fn samples(queue: &Queue) -> Result<Vec<Array<f32>>> {
    let mut random = Generator::new(5).on(queue);
    let x: Array<f32> = random.normal((3000, 6), 0.0, 1.0)?;
    let labels = x.sum_axis(1)?.greater(0.3).astype::<f32>();
    Ok(vec![x, labels, Array::on(queue).zeros(6)?])
}

fn logistic(state: &[Array<f32>]) -> Result<()> {
    let [x, labels, weights] = state else { unreachable!() };
    let guess = 1.0 / (1.0 + (-1.0 * x.matmul(weights)).exp());
    let slope = x.t().matmul(&(guess - labels)) / 3000.0;
    weights.share().assign(&(weights - 0.5 * slope))?;
    Ok(())
}

fn board(queue: &Queue) -> Result<Vec<Array<f32>>> {
    let seeds: Array<f32> = Generator::new(9).on(queue).uniform((90, 80), 0.0, 1.0)?;
    Ok(vec![seeds.less(0.4).astype::<f32>()])
}

fn life(state: &[Array<f32>]) -> Result<()> {
    let board = &state[0];
    let mut near = board.zeros_like()?;
    for (down, right) in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)] {
        near += board.roll([down, right], [0, 1])?;
    }
    let next = near.equal(3.0).astype::<f32>() + near.equal(2.0).astype::<f32>() * board;
    board.share().assign(&next)?;
    Ok(())
}

fn points(queue: &Queue) -> Result<Vec<Array<f32>>> {
    let points: Array<f32> = Generator::new(3).on(queue).uniform((2000, 2), 0.0, 1.0)?;
    let centres = points.slice(s![..8])?.copy()?;
    Ok(vec![points, centres])
}

fn k_means(state: &[Array<f32>]) -> Result<()> {
    let [points, centres] = state else { unreachable!() };
    let apart = points.expand_dims(1)? - centres.expand_dims(0)?;
    let nearest = (&apart * &apart).sum_axis(2)?.argmin_axis(1)?;
    let member =
        nearest.expand_dims(1)?.equal(&Array::<i64>::on(points.queue()).arange(0, 8, 1)?).astype::<f32>();
    let counts = member.sum_axis(0)?.maximum(1.0).expand_dims(1)?;
    centres.share().assign(&(member.t().matmul(points) / counts))?;
    Ok(())
}

fn walk(queue: &Queue) -> Result<Vec<Array<f32>>> {
    Ok(vec![Array::on(queue).zeros(50_000)?])
}

fn random_step(state: &[Array<f32>]) -> Result<()> {
    let step: Array<f32> = Generator::new(77).on(state[0].queue()).normal(state[0].len(), 0.0, 1.0)?;
    state[0].share().assign(&(&state[0] * 0.5 + step))?;
    Ok(())
}

/// A queue of the host at each level of instructions that the processor has, and of each other device.
fn queues() -> Result<Vec<Queue>> {
    let levels = ["host:scalar", "host:neon", "host:avx2", "host:avx512"]
        .into_iter()
        .filter_map(|level| Device::select(level).ok());
    let others = stridewise::devices().into_iter().filter(|device| device.info().backend != "host");
    levels.chain(others).map(|device| device.queue()).collect()
}

fn bits(arrays: &[Array<f32>]) -> Result<Vec<Vec<u32>>> {
    let of = |array: &Array<f32>| Ok(array.to_vec()?.into_iter().map(f32::to_bits).collect());
    arrays.iter().map(of).collect()
}

impl Program {
    /// The state after so many steps, as bits.
    fn directly(&self, queue: &Queue, steps: usize) -> Result<Vec<Vec<u32>>> {
        let state = (self.state)(queue)?;
        (0..steps).try_for_each(|_| (self.step)(&state))?;
        bits(&state)
    }

    /// The state after one step, which is captured.
    fn captured(&self, queue: &Queue) -> Result<(Graph, Vec<Array<f32>>)> {
        let state = (self.state)(queue)?;
        let (graph, ()) = queue.capture(|_| (self.step)(&state))?;
        Ok((graph, state))
    }
}

#[test]
fn a_hundred_replays_give_the_bits_of_a_hundred_steps() -> Result<()> {
    for queue in queues()? {
        // Elsewhere a command of a small step takes long.
        let replays = if queue.device().info().backend == "host" { REPLAYS } else { REPLAYS / 10 };
        for program in PROGRAMS {
            let (graph, state) = program.captured(&queue)?;
            let what = format!("{} on {queue}", program.name);
            assert!(!graph.is_empty(), "{what}");
            assert_eq!(bits(&state)?, program.directly(&queue, 1)?, "{what}: the capture is the first step");
            for _ in 0..replays / 2 {
                graph.replay()?;
            }
            graph.repeat(replays / 2)?.wait()?;
            assert_eq!(bits(&state)?, program.directly(&queue, replays + 1)?, "{what}");
        }
    }
    Ok(())
}

#[test]
fn other_work_between_replays_sees_and_is_seen() -> Result<()> {
    for queue in queues()? {
        for program in PROGRAMS {
            let (graph, state) = program.captured(&queue)?;
            let direct = (program.state)(&queue)?;
            (program.step)(&direct)?;
            let last = state.len() - 1;
            for round in 0..REPLAYS / 4 {
                // What is recorded before a replay has the values of then.
                let (before, expected) = (&state[last] * 3.0, &direct[last] * 3.0);
                graph.replay()?;
                (program.step)(&direct)?;
                if round % 7 == 0 {
                    for state in [&state, &direct] {
                        state[last].share().assign(&(&state[last] * 0.5))?;
                    }
                }
                assert_eq!(bits(&[before])?, bits(&[expected])?, "{} on {queue} at {round}", program.name);
            }
            assert_eq!(bits(&state)?, bits(&direct)?, "{} on {queue}", program.name);
        }
    }
    Ok(())
}

#[test]
fn ten_threads_capture_one_queue_and_each_has_its_own() -> Result<()> {
    const COUNTED: usize = 2000;
    let queue = Queue::default_queue()?;
    let mut counter = Array::<f32>::zeros(30_000)?;
    let barrier = Barrier::new(11);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..10)
            .map(|number| {
                let (barrier, queue) = (&barrier, &queue);
                scope.spawn(move || -> Result<()> {
                    let program = &PROGRAMS[number % PROGRAMS.len()];
                    barrier.wait();
                    for _ in 0..4 {
                        let (graph, state) = program.captured(queue)?;
                        graph.repeat(REPLAYS / 4)?;
                        assert_eq!(
                            bits(&state)?,
                            program.directly(queue, REPLAYS / 4 + 1)?,
                            "{}",
                            program.name
                        );
                    }
                    Ok(())
                })
            })
            .collect();
        // Work on the same queue that no capture is to have: done again by a replay, it would count too far.
        barrier.wait();
        for _ in 0..COUNTED {
            counter.assign(&(&counter + 1.0))?;
        }
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    assert!(counter.to_vec()?.iter().all(|&count| count == COUNTED as f32));
    Ok(())
}

#[test]
fn threads_replay_one_graph_at_once_and_no_step_is_lost() -> Result<()> {
    let (program, queue) = (&PROGRAMS[0], Queue::default_queue()?);
    let (graph, state) = program.captured(&queue)?;
    thread::scope(|scope| {
        let replay = || (0..10).try_for_each(|_| graph.replay().map(drop));
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(replay)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    assert_eq!(bits(&state)?, program.directly(&queue, 101)?);
    Ok(())
}

#[test]
fn a_graph_keeps_its_memory_and_is_dropped_with_work_pending() -> Result<()> {
    let queue = Queue::default_queue()?;
    for program in PROGRAMS {
        let (graph, mut state) = program.captured(&queue)?;
        let last = state.pop().unwrap();
        drop(state);
        let clone = graph.clone();
        drop(graph);
        clone.repeat(REPLAYS)?;
        drop(clone);
        assert_eq!(
            bits(&[last])?[0],
            *program.directly(&queue, REPLAYS + 1)?.last().unwrap(),
            "{}",
            program.name
        );
    }
    Ok(())
}

#[test]
fn a_run_takes_other_inputs_and_has_fresh_results() -> Result<()> {
    const N: usize = 40_000;
    let x = Array::<f32>::arange(0.0, N as f32, 1.0)?;
    let offset = Array::<f32>::full(N, 5.0)?;
    let (graph, first) = x.queue().capture(|q| {
        q.input("x", &x)?;
        let y = (&x * 2.0 + &offset).sqrt();
        let sum = y.sum_axis(0)?;
        q.output("y", &y)?;
        q.output("sum", &sum)?;
        Ok(y)
    })?;
    assert_eq!(graph.inputs().collect::<Vec<_>>(), ["x"]);
    assert_eq!(graph.outputs().collect::<Vec<_>>(), ["y", "sum"]);
    let text = graph.to_string();
    for part in ["graph of ", "input x: float32 [40000]", "output y: float32 [40000]", "map of ", "reads x"] {
        assert!(text.contains(part), "`{part}` in:\n{text}");
    }
    let before = first.to_vec()?;
    let direct = |x: &Array<f32>| -> Result<_> {
        let y = (x * 2.0 + &offset).sqrt();
        let sum = y.sum_axis(0)?;
        bits(&[y, sum])
    };
    let mut results = Vec::new();
    for k in 0..5 {
        // Another offset in memory.
        let other = Array::<f32>::full(N, k as f32)? + &x;
        results.push((graph.run(&[other.as_untyped()])?, other));
    }
    offset.share().fill(1.0)?;
    let last = Array::<f32>::full(N, 3.0)?;
    results.push((graph.run(&[last.as_untyped()])?, last));
    for (k, (outputs, input)) in results.into_iter().enumerate() {
        offset.share().fill(if k < 5 { 5.0 } else { 1.0 })?;
        let typed: Vec<Array<f32>> =
            outputs.into_iter().map(|array| array.try_into()).collect::<Result<_>>()?;
        assert_eq!(bits(&typed)?, direct(&input)?, "run {k}");
    }
    assert_eq!(first.to_vec()?, before, "a run leaves the captured results");
    graph.replay()?;
    assert_eq!(bits(&[first])?[0], direct(&x)?[0], "a replay does not");
    Ok(())
}

#[test]
fn an_input_may_be_written_in_place() -> Result<()> {
    let x = Array::<f32>::ones((100, 50))?;
    let (graph, ()) = x.queue().capture(|q| {
        q.input("x", &x)?;
        x.t().assign(&(&x.t() * 3.0))?;
        q.output("x", &x)
    })?;
    let other = Array::<f32>::full((100, 50), 2.0)?;
    let out = graph.run(&[other.as_untyped()])?;
    assert!(other.to_vec()?.iter().all(|&value| value == 6.0));
    assert_eq!(out[0].to_vec::<f32>()?, other.to_vec()?);
    assert!(x.to_vec()?.iter().all(|&value| value == 3.0));
    graph.repeat(2)?;
    assert!(x.to_vec()?.iter().all(|&value| value == 27.0));
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result<()> {
    let (x, mut y) = (Array::<f32>::ones(20_000)?, Array::<f32>::ones(20_000)?);
    let queue = x.queue().clone();
    let (graph, ()) = queue.capture(|q| {
        q.input("x", &x)?;
        q.input("y", &y)?;
        y.assign(&(&x + &y))?;
        Ok(())
    })?;
    let other = Array::<f32>::ones(20_000)?;
    let run = |x: &UsmArray, y: &UsmArray| graph.run(&[x, y]);
    let untyped = other.as_untyped();
    assert!(matches!(graph.run(&[untyped]), Err(Error::Value(_))));
    assert!(matches!(run(Array::<f64>::ones(20_000)?.as_untyped(), untyped), Err(Error::Dtype(_))));
    assert!(matches!(run(Array::<f32>::ones(20_001)?.as_untyped(), untyped), Err(Error::Shape(_))));
    assert!(matches!(run(other.flip(0)?.as_untyped(), untyped), Err(Error::Shape(_))));
    assert!(matches!(run(untyped, untyped), Err(Error::Borrow(_))), "one is written");
    let elsewhere = Queue::new(queue.device(), QueueProperties::default())?;
    let foreign = Array::<f32>::on(&elsewhere).ones(20_000)?;
    assert!(matches!(run(foreign.as_untyped(), untyped), Err(Error::ExecutionPlacement(_))));
    let mut locked = Array::<f32>::ones(20_000)?;
    locked.set_writable(false);
    assert!(matches!(run(untyped, locked.as_untyped()), Err(Error::Borrow(_))));
    assert!(other.to_vec()?.iter().all(|&value| value == 1.0), "nothing was written");
    let fresh = Array::<f32>::ones(20_000)?;
    run(fresh.as_untyped(), untyped)?;
    assert!(other.to_vec()?.iter().all(|&value| value == 2.0));
    // A view for the host keeps a replay out, as any other work.
    let mut y = y;
    {
        let _view = y.view_mut()?;
        assert!(matches!(graph.replay(), Err(Error::Borrow(_))));
    }
    graph.replay()?.wait()
}

type Refused = fn(&Capture, &Array<f32>) -> Result<()>;

#[test]
fn what_cannot_be_captured_is_refused_also_where_the_error_is_swallowed() -> Result<()> {
    let refused: [(&str, Refused); 13] = [
        ("a read", |_, x| x.to_vec().map(drop)),
        ("an element", |_, x| x.get(3).map(drop)),
        ("a sum that is read", |_, x| x.sum().map(drop)),
        ("a view", |_, x| x.view().map(drop)),
        ("elements of the host", |_, _| Array::try_from(vec![1.0_f32; 50]).map(drop)),
        ("a wait for an array", |_, x| x.wait()),
        ("a wait for an event", |_, x| x.share().fill(1.0)?.wait()),
        ("a wait for the queue", |q, _| q.wait()),
        ("a host task", |q, _| q.submit_host_task(|| Ok(()), &[]).map(drop)),
        ("an export", |_, x| x.usm_data()?.export().map(drop)),
        ("a capture in a capture", |q, _| q.queue().capture(|_| Ok(())).map(drop)),
        ("another queue", |q, _| {
            let other = Queue::new(q.device(), QueueProperties::default())?;
            Array::<f32>::on(&other).ones(10).map(drop)
        }),
        ("an input that was used", |q, x| {
            x.share().fill(1.0)?;
            q.input("x", x)
        }),
    ];
    for (what, act) in refused {
        let mut x = Array::<f32>::ones(100)?;
        let queue = x.queue().clone();
        let outcome = queue.capture(|q| act(q, &x));
        assert!(matches!(outcome, Err(Error::Unsupported(_) | Error::Value(_))), "{what}: {outcome:?}");
        let swallowed = queue.capture(|q| {
            x.share().fill(2.0)?;
            assert!(act(q, &x).is_err(), "{what}");
            Ok(())
        });
        assert!(swallowed.is_err(), "{what}, swallowed");
        // Nothing of it stays.
        x.fill(2.0)?;
        assert_eq!((&x + 1.0).sum()?, 300.0, "{what}");
    }
    Ok(())
}

#[test]
fn memory_that_is_known_outside_is_an_input_or_refused() -> Result<()> {
    let mut x = Array::<f32>::ones(10_000)?;
    x.usm_data()?.export()?;
    let queue = x.queue().clone();
    assert!(matches!(queue.capture(|_| x.sum_axis(0)), Err(Error::Unsupported(_))));
    let (graph, sum) = queue.capture(|q| {
        q.input("x", &x)?;
        x.sum_axis(0)
    })?;
    x.fill(4.0)?;
    graph.replay()?;
    assert_eq!(sum.item()?, 40_000.0);
    Ok(())
}

#[test]
fn events_order_commands_of_one_capture_alone() -> Result<()> {
    let mut x = Array::<f32>::ones(1000)?;
    let memory = x.usm_data()?;
    let queue = x.queue().clone();
    let outer = queue.submit_host_task(|| Ok(()), &[])?;
    let fill = |depends: &[Event]| queue.fill(&memory, 0, Scalar::F32(2.0), 1000, depends);
    assert!(matches!(queue.capture(|_| fill(std::slice::from_ref(&outer))), Err(Error::Unsupported(_))));
    let (graph, _) = queue.capture(|_| {
        let first = fill(&[])?;
        fill(&[first, Event::ready()])
    })?;
    assert_eq!(graph.len(), 2);
    x.fill(9.0)?;
    graph.replay()?;
    assert_eq!(x.sum()?, 2000.0);
    Ok(())
}

#[test]
fn too_many_commands_are_refused() -> Result<()> {
    // One of its own: who waits for all of a queue submits what others have recorded, too, and then a step is two commands.
    let queue = Queue::new(&stridewise::default_device()?, QueueProperties::default())?;
    let x = Array::<f32>::on(&queue).zeros(4)?;
    let steps =
        |n: usize| queue.capture(|_| (0..n).try_for_each(|_| x.share().assign(&(&x + 1.0)).map(drop)));
    let error = steps(Graph::MAX_COMMANDS + 1).unwrap_err();
    assert!(error.to_string().contains("4096"), "{error}");
    x.share().fill(0.0)?;
    let (graph, ()) = steps(Graph::MAX_COMMANDS)?;
    assert_eq!(graph.len(), Graph::MAX_COMMANDS);
    graph.replay()?;
    assert_eq!(x.to_vec()?, [8192.0; 4]);
    Ok(())
}

#[test]
fn a_capture_with_two_ends_is_its_threads() -> Result<()> {
    let mut x = Array::<f32>::zeros(1000)?;
    let queue = x.queue().clone();
    assert!(Capture::left_open().is_none() && !Capture::is_open());
    Capture::begin(&queue)?.leave_open();
    assert!(Capture::is_open());
    thread::scope(|scope| {
        let other = scope.spawn(|| Capture::is_open() || Capture::left_open().is_some());
        assert!(!other.join().unwrap());
    });
    x.assign(&(&x + 1.0))?;
    let graph = Capture::left_open().unwrap().end()?;
    assert!(!Capture::is_open());
    graph.repeat(4)?.wait()?;
    assert_eq!(x.get(3)?, 5.0);
    // One that is dropped gives no graph; what it submitted is done.
    let dropped = Capture::begin(&queue)?;
    x.assign(&(&x + 1.0))?;
    drop(dropped);
    assert!(!Capture::is_open());
    assert_eq!(x.get(3)?, 6.0);
    Ok(())
}

#[test]
fn nothing_captured_is_a_graph_of_nothing() -> Result<()> {
    let queue = Queue::default_queue()?;
    let (graph, ()) = queue.capture(|_| Ok(()))?;
    assert!(graph.is_empty());
    graph.repeat(3)?.wait()?;
    assert!(graph.run(&[])?.is_empty());
    Ok(())
}

#[stridewise::kernel]
fn picked(item: Item<1>, x: &Global<f32>, places: &Global<i64>, y: &mut Global<f32>) {
    let i = item.global_id(0);
    y[i] = x[places[i]] * 2.0;
}

#[test]
fn a_kernel_that_fails_fails_what_reads_it_and_the_next_replay_is_whole() -> Result<()> {
    const N: usize = 500;
    let x = Array::<f32>::arange(0.0, N as f32, 1.0)?;
    let places = Array::<i64>::arange(0, N as i64, 1)?;
    let queue = x.queue().clone();
    let kernel = picked::kernel()?;
    let (graph, (y, z)) = queue.capture(|q| {
        let y = Array::<f32>::empty(N)?;
        kernel.launch_checked(q, [N], &[(&x).into(), (&places).into(), (&y).into()], &[])?;
        let z = &y + 1.0;
        Ok((y, z))
    })?;
    let expected: Vec<f32> = (0..N).map(|k| 2.0 * k as f32 + 1.0).collect();
    assert_eq!(z.to_vec()?, expected);
    for _ in 0..3 {
        places.slice(s![7])?.fill(1_000_000)?;
        let failed = graph.replay()?;
        assert!(failed.wait().is_err());
        assert!(matches!(y.to_vec(), Err(Error::Dependency(_))));
        assert!(matches!((&z * 2.0).to_vec(), Err(Error::Dependency(_))));
        places.slice(s![7])?.fill(7)?;
        graph.replay()?.wait()?;
        assert_eq!(z.to_vec()?, expected);
    }
    Ok(())
}

#[test]
fn state_that_a_failure_left_behind_stays_failed_until_it_is_written_anew() -> Result<()> {
    const N: usize = 500;
    let (mut x, mut places) = (Array::<f32>::ones(N)?, Array::<i64>::arange(0, N as i64, 1)?);
    let queue = x.queue().clone();
    let kernel = picked::kernel()?;
    let (graph, ()) = queue.capture(|q| {
        let y = Array::<f32>::empty(N)?;
        kernel.launch_checked(q, [N], &[(&x).into(), (&places).into(), (&y).into()], &[])?;
        x.assign(&y)?;
        Ok(())
    })?;
    assert_eq!(x.to_vec()?, vec![2.0; N]);
    places.fill(-1_000_000)?;
    assert!(graph.replay()?.wait().is_err());
    places.fill(0)?;
    assert!(graph.replay()?.wait().is_err(), "what it reads has failed");
    x.fill(1.0)?;
    graph.replay()?.wait()?;
    assert_eq!(x.to_vec()?, vec![2.0; N]);
    Ok(())
}

#[test]
fn recorded_work_belongs_to_the_capture_that_recorded_it() -> Result<()> {
    const N: usize = 40_000;
    let mut x = Array::<f32>::arange(0.0, N as f32, 1.0)?;
    let queue = x.queue().clone();
    // Recorded before: it is an operand, and none of the graph.
    let before = &x * 2.0;
    assert!(before.is_pending());
    let mut total = Array::<f32>::zeros(N)?;
    let (graph, ()) = queue.capture(|q| {
        let own = &x + 1.0;
        assert!(own.is_pending());
        q.output("own", &own)?;
        // Another thread submits what this one has recorded, and does work of its own.
        thread::scope(|scope| {
            let other = scope.spawn(|| -> Result<f32> {
                let theirs = &own * 3.0;
                theirs.get(1)
            });
            assert_eq!(other.join().unwrap()?, 6.0);
            Ok::<(), Error>(())
        })?;
        total.assign(&(&total + &own + &before))?;
        Ok(())
    })?;
    x.fill(1.0)?;
    graph.replay()?;
    let values = total.to_vec()?;
    assert!((0..N).all(|k| values[k] == 3.0 * k as f32 + 1.0 + 2.0 + 2.0 * k as f32), "{}", &values[5]);
    assert!(graph.len() <= 3, "{graph}");
    let [first, second] = [graph.run(&[])?.remove(0), graph.run(&[])?.remove(0)];
    first.assign(Scalar::F32(-7.0))?;
    assert_eq!(second.to_vec::<f32>()?, vec![2.0; N], "its memory is the graph's, whoever had it made");
    Ok(())
}

#[test]
fn copies_and_parts_are_captured() -> Result<()> {
    const N: usize = 10_000;
    let mut x = Array::<f32>::arange(0.0, N as f32, 1.0)?;
    let (from, to) = (x.usm_data()?, Array::<f32>::zeros(2 * N)?);
    let queue = x.queue().clone();
    let (graph, joined) = queue.capture(|q| {
        let target = to.usm_data()?;
        q.memcpy((&target, 0), (&from, 0), from.bytes(), &[])?;
        q.memcpy((&target, from.bytes()), (&from, 0), from.bytes(), &[])?;
        let joined = Array::concat(&[&to, &x, &(&x + 1.0)], 0)?;
        joined.sort(0, false)
    })?;
    for value in [2.0, -3.0] {
        x.fill(value)?;
        graph.replay()?;
        let mut expected = vec![value; 3 * N];
        expected.extend(vec![value + 1.0; N]);
        expected.sort_by(f32::total_cmp);
        assert_eq!(joined.to_vec()?, expected);
    }
    assert_eq!(joined.dtype(), Dtype::F32);
    Ok(())
}
