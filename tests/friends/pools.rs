//! From inside a rayon pool: each of its jobs computes, and while one waits, its thread may run another.

use rayon::prelude::*;
use stridewise::prelude::*;

use crate::{Steps, isolated};

/// A number of the program's threads: fewer than, and more than the engine's.
const THREADS: [&str; 2] = ["1", "4"];

fn in_pool(threads: &str, body: impl FnOnce() + Send) {
    let threads = threads.parse().expect("a number of threads");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of rayon's");
    pool.install(body);
}

fn vector(len: usize) -> Array<f32> {
    Array::from_vec([len], (0..len).map(|i| (i % 5) as f32).collect::<Vec<_>>()).unwrap()
}

/// A matrix of small integers, whose products are exact.
fn matrix(side: usize) -> Array<f32> {
    vector(side * side).reshape([side, side]).unwrap()
}

/// Element (1, 1) of its square.
fn square(matrix: &Array<f32>) -> f32 {
    let side = matrix.shape()[0];
    let values = matrix.to_vec().unwrap();
    (0..side).map(|k| values[side + k] * values[k * side + 1]).sum()
}

/// Jobs that do the same to vectors.
fn folds(test: &str, len: usize, jobs: u32) {
    isolated(test, &THREADS, |threads, steps| {
        let (a, b) = (vector(len), vector(len));
        let expected: f64 = a.to_vec().unwrap().iter().map(|&x| f64::from(x * x + 1.0)).sum();
        in_pool(threads, || {
            (0..jobs).into_par_iter().for_each(|_| {
                let sum = (&a * &b + 1.0).sum().unwrap();
                assert!((f64::from(sum) / expected - 1.0).abs() < 1e-4, "{sum} instead of {expected}");
                steps.step();
            });
        });
    });
}

#[test]
fn sums_of_few_elements() {
    folds("pools::sums_of_few_elements", 16, 2000);
}

#[test]
fn sums_of_some_elements() {
    folds("pools::sums_of_some_elements", 1 << 16, 500);
}

#[test]
fn sums_of_many_elements() {
    folds("pools::sums_of_many_elements", 1 << 21, 40);
}

fn products(test: &str, side: usize, jobs: u32) {
    isolated(test, &THREADS, |threads, steps| {
        let a = matrix(side);
        let expected = square(&a);
        in_pool(threads, || {
            (0..jobs).into_par_iter().for_each(|_| {
                assert_eq!(a.matmul(&a).get([1, 1]).unwrap(), expected);
                steps.step();
            });
        });
    });
}

#[test]
fn products_that_one_thread_computes() {
    products("pools::products_that_one_thread_computes", 24, 500);
}

#[test]
#[ignore = "hangs as long as the engine computes under its locks, or lets waiters enter a rayon pool"]
fn products_that_threads_share() {
    products("pools::products_that_threads_share", 40, 5000);
}

#[test]
#[ignore = "hangs as long as the engine computes under its locks, or lets waiters enter a rayon pool"]
fn large_products() {
    products("pools::large_products", 256, 100);
}

/// One of the jobs in eight keeps the engine's threads awake.
fn mixed(threads: &str, steps: &Steps) {
    let (a, long) = (matrix(40), vector(1 << 18));
    let expected = square(&a);
    in_pool(threads, || {
        (0..1500).into_par_iter().for_each(|i| {
            if i % 8 == 0 {
                let x = (&long * 2.0 + 1.0).sqrt();
                let view = x.view().unwrap();
                assert_eq!(view.as_slice().map(|s| s[4]), Some(3.0));
            }
            for _ in 0..8 {
                assert_eq!(a.matmul(&a).get([1, 1]).unwrap(), expected);
            }
            steps.step();
        });
    });
}

#[test]
#[ignore = "hangs as long as the engine computes under its locks, or lets waiters enter a rayon pool"]
fn products_beside_long_work() {
    isolated("pools::products_beside_long_work", &THREADS, mixed);
}

/// All jobs read the same result, which is recorded or under way.
fn shared(threads: &str, steps: &Steps) {
    let a = matrix(512);
    let expected = square(&a);
    in_pool(threads, || {
        for _ in 0..15 {
            let c = a.matmul(&a);
            (0..16).into_par_iter().for_each(|_| assert_eq!(c.get([1, 1]).unwrap(), expected));
            steps.step();
        }
    });
}

#[test]
#[ignore = "hangs as long as the engine computes under its locks, or lets waiters enter a rayon pool"]
fn jobs_that_wait_for_one_product() {
    isolated("pools::jobs_that_wait_for_one_product", &THREADS, shared);
}

/// Jobs, and jobs of theirs on the same stack, that wait for events of each other's work.
fn nested(threads: &str, steps: &Steps) {
    let a = matrix(64);
    let expected = square(&a);
    in_pool(threads, || {
        (0..200).into_par_iter().for_each(|_| {
            let c = a.matmul(&a);
            let (event, sum) = rayon::join(|| c.event().unwrap(), || (&c + &a).sum().unwrap());
            rayon::join(|| event.wait().unwrap(), || assert_eq!(c.get([1, 1]).unwrap(), expected));
            assert!(sum > 0.0);
            steps.step();
        });
    });
}

#[test]
#[ignore = "hangs as long as the engine computes under its locks, or lets waiters enter a rayon pool"]
fn jobs_of_jobs_that_wait_for_each_other() {
    isolated("pools::jobs_of_jobs_that_wait_for_each_other", &THREADS, nested);
}

/// Host tasks that enter the program's pool, whose jobs wait for host tasks.
fn host_tasks(threads: &str, steps: &Steps) {
    let queue = Queue::default_queue().unwrap();
    let a = vector(1 << 12);
    in_pool(threads, || {
        (0..200).into_par_iter().for_each(|_| {
            let (steps, inner) = (steps.clone(), a.clone());
            let task = move || {
                (0..4).into_par_iter().try_for_each(|_| (&inner + 1.0).sum().map(drop))?;
                steps.step();
                Ok(())
            };
            queue.submit_host_task(task, &[a.event().unwrap()]).unwrap().wait().unwrap();
        });
    });
}

#[test]
fn host_tasks_with_jobs() {
    isolated("pools::host_tasks_with_jobs", &THREADS, host_tasks);
}
