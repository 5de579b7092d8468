//! From asynchronous tasks: of tokio's runtimes, and of an executor that has none.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use stridewise::EventFuture;
use stridewise::backend::EventStatus;
use stridewise::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::{Steps, isolated};

const RUNTIMES: [&str; 2] = ["current thread", "two workers"];

fn runtime(kind: &str) -> Runtime {
    let mut builder = match kind {
        "two workers" => Builder::new_multi_thread(),
        _ => Builder::new_current_thread(),
    };
    builder.worker_threads(2).build().unwrap()
}

/// An event of a host task that ends when it is told to, and what tells it.
fn gate() -> (Event, Sender<Result<()>>) {
    let (open, opened) = channel();
    let task = move || opened.recv().unwrap_or(Ok(()));
    (Queue::default_queue().unwrap().submit_host_task(task, &[]).unwrap(), open)
}

fn vector(len: usize) -> Array<f32> {
    Array::from_vec([len], (0..len).map(|i| (i % 5) as f32).collect::<Vec<_>>()).unwrap()
}

fn failure() -> Error {
    Error::task("task", "told to fail", "an end without a failure", "tell it otherwise")
}

/// Tasks that compute, and await what they computed.
async fn compute(steps: Steps) {
    let a = vector(1 << 17);
    let tasks: Vec<_> = (0..32)
        .map(|k| {
            let (a, steps) = (a.clone(), steps.clone());
            tokio::spawn(async move {
                let b = (&a * 2.0 + k as f32).sqrt();
                b.event().unwrap().await.unwrap();
                assert_eq!(b.event().unwrap().status(), EventStatus::Complete);
                assert_eq!(b.get([4]).unwrap(), (8.0 + k as f32).sqrt());
                steps.step();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[test]
fn results_are_awaited() {
    isolated("tasks::results_are_awaited", &RUNTIMES, |kind, steps| {
        runtime(kind).block_on(compute(steps.clone()));
    });
}

/// A task that awaits an event leaves its thread to others: also where there is one thread, the one that opens the gate.
async fn awaiting_leaves_the_thread() {
    let (event, open) = gate();
    let awaiting = tokio::spawn({
        let event = event.clone();
        async move { event.await }
    });
    let failed = tokio::spawn(async { tokio::task::yield_now().await });
    failed.await.unwrap();
    assert!(!awaiting.is_finished());
    open.send(Err(failure())).unwrap();
    assert!(matches!(awaiting.await.unwrap(), Err(Error::Task(_))));
    assert!(matches!(event.await, Err(Error::Task(_))), "again");
}

#[test]
fn awaiting_blocks_no_thread() {
    isolated("tasks::awaiting_blocks_no_thread", &RUNTIMES, |kind, steps| {
        let runtime = runtime(kind);
        for _ in 0..50 {
            runtime.block_on(awaiting_leaves_the_thread());
            steps.step();
        }
    });
}

/// A loop over what ends first, which awaits the last event anew each time.
async fn the_first_to_end(steps: &Steps) {
    let (last, open_last) = gate();
    for _ in 0..200 {
        let (event, open) = gate();
        tokio::spawn(async move { open.send(Ok(())) });
        tokio::select! {
            outcome = event.into_future() => outcome.unwrap(),
            _ = (&last).into_future() => panic!("its gate is closed"),
        }
        steps.step();
    }
    open_last.send(Ok(())).unwrap();
    last.await.unwrap();
}

#[test]
fn futures_are_dropped_in_a_loop() {
    isolated("tasks::futures_are_dropped_in_a_loop", &RUNTIMES, |kind, steps| {
        runtime(kind).block_on(the_first_to_end(steps));
    });
}

/// Waits and reads in the threads that a runtime has for what blocks, beside tasks that await.
#[test]
fn what_blocks_has_its_threads() {
    isolated("tasks::what_blocks_has_its_threads", &RUNTIMES, |kind, steps| {
        let a = vector(1 << 18);
        let expected = a.sum().unwrap();
        runtime(kind).block_on(async {
            let blocking: Vec<_> = (0..32)
                .map(|_| {
                    let a = a.clone();
                    tokio::task::spawn_blocking(move || (&a + 0.0).sum())
                })
                .collect();
            compute(steps.clone()).await;
            for task in blocking {
                assert_eq!(task.await.unwrap().unwrap(), expected);
            }
        });
    });
}

/// A runtime that goes while tasks of it await.
#[test]
fn a_runtime_goes_before_the_events() {
    isolated("tasks::a_runtime_goes_before_the_events", &RUNTIMES, |kind, steps| {
        for round in 0..50 {
            let runtime = runtime(kind);
            let (event, open) = gate();
            let held = Arc::new(());
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let (event, held) = (event.clone(), Arc::clone(&held));
                    runtime.spawn(async move {
                        let _held = held;
                        event.await
                    })
                })
                .collect();
            // This one outlives the runtime, and its waker is the runtime's.
            let mut outliving = (&event).into_future();
            runtime.block_on(async {
                tokio::task::yield_now().await;
                assert!(tokio::spawn(async {}).await.is_ok());
                let mut poll =
                    |context: &mut Context<'_>| Poll::Ready(Pin::new(&mut outliving).poll(context));
                assert!(std::future::poll_fn(&mut poll).await.is_pending());
            });
            match round % 2 {
                0 => drop(runtime),
                _ => runtime.shutdown_background(),
            }
            if round % 2 == 0 {
                assert_eq!(Arc::strong_count(&held), 1, "the tasks are gone");
            }
            assert!(!event.status().is_terminal());
            open.send(Ok(())).unwrap();
            assert!(futures_executor::block_on(outliving).is_ok());
            assert!(tasks.iter().all(|task| round % 2 == 1 || task.is_finished()));
            steps.step();
        }
    });
}

/// In an executor without threads, timers or a reactor.
#[test]
fn no_runtime_is_needed() {
    let (event, open) = gate();
    let waiting = std::thread::spawn(move || futures_executor::block_on(event.into_future()));
    open.send(Err(failure())).unwrap();
    assert!(matches!(waiting.join().unwrap(), Err(Error::Task(_))));
    let a = vector(1 << 20);
    let b = &a + 1.0;
    futures_executor::block_on(b.event().unwrap().into_future()).unwrap();
    futures_executor::block_on(Event::ready().into_future()).unwrap();
    assert_eq!(b.get([4]).unwrap(), 5.0);
}

/// Threads that poll one future in turns, while its event ends.
#[test]
fn futures_move_between_threads() {
    for _ in 0..100 {
        let (event, open) = gate();
        let future = Arc::new(Mutex::new(event.into_future()));
        let polls = |future: &Mutex<EventFuture>| {
            let mut future = future.lock().unwrap();
            Pin::new(&mut *future).poll(&mut Context::from_waker(Waker::noop())).is_ready()
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !polls(&future) {
                        std::thread::yield_now();
                    }
                });
            }
            open.send(Ok(())).unwrap();
        });
    }
}

/// Callbacks are called once, with the outcome, and one that panics harms neither others nor the engine.
#[test]
fn callbacks_are_called_once() {
    let calls = Arc::new(AtomicUsize::new(0));
    let (sent, received) = channel();
    let mut gates = Vec::new();
    for k in 0..40 {
        let (event, open) = gate();
        for part in 0..3 {
            let (calls, sent) = (Arc::clone(&calls), sent.clone());
            event.on_complete(move |outcome| {
                assert_ne!(part, 1, "on purpose");
                calls.fetch_add(1, Ordering::Relaxed);
                sent.send((k, outcome.is_err())).unwrap();
            });
        }
        gates.push((event, open));
    }
    for (k, (event, open)) in gates.iter().enumerate() {
        let outcome = if k % 2 == 0 { Err(failure()) } else { Ok(()) };
        open.send(outcome).unwrap();
        let _ = event.wait();
    }
    drop(sent);
    // Until the last callback has gone, with what it sends by.
    let outcomes: Vec<(usize, bool)> = received.iter().collect();
    assert_eq!((outcomes.len(), calls.load(Ordering::Relaxed)), (80, 80));
    assert!(outcomes.iter().all(|&(k, failed)| failed == (k % 2 == 0)));
    assert_eq!((vector(10) + 1.0).sum().unwrap(), 30.0);
}
