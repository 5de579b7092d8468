//! Panics that go through the engine, or past it, and are caught.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use stridewise::prelude::*;

fn vector(len: usize) -> Array<f32> {
    Array::from_vec([len], (0..len).map(|i| (i % 5) as f32).collect::<Vec<_>>()).unwrap()
}

/// An operator on shapes that do not fit panics while another thread computes with the same arrays.
#[test]
fn an_operator_panics_beside_work_on_the_same_arrays() {
    for len in [16, 1 << 16, 1 << 20] {
        let (a, b) = (vector(len), vector(len + 1));
        let recorded = &a * 2.0;
        let expected = (&a * 2.0).sum().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!((&a * 2.0).sum().unwrap(), expected);
                    assert_eq!((&b + 1.0).get([3]).unwrap(), 4.0);
                }
            });
            // No `AssertUnwindSafe`: what is used is safe to be used.
            let (a, b, recorded) = (&a, &b, &recorded);
            for _ in 0..50 {
                assert!(catch_unwind(|| a + b).is_err());
                assert!(catch_unwind(|| recorded * b).is_err());
                assert!(catch_unwind(|| a.clone() - b).is_err());
                assert!(catch_unwind(|| a.matmul(b)).is_err());
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut target = a.copy().unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| target += &b)).is_err());
        assert_eq!(target.to_vec().unwrap(), a.to_vec().unwrap());
        assert_eq!(recorded.sum().unwrap(), expected);
    }
}

/// A panic while memory is lent gives it back.
#[test]
fn a_panic_ends_the_loan_of_a_view() {
    let mut a = vector(1 << 12);
    let write = catch_unwind(AssertUnwindSafe(|| {
        let mut view = a.view_mut().unwrap();
        let mut count = 0;
        view.for_each_mut(|x| {
            count += 1;
            assert!(count < 100, "on purpose");
            *x = 7.0;
        });
    }));
    assert!(write.is_err());
    let read = catch_unwind(AssertUnwindSafe(|| {
        let view = a.view().unwrap();
        assert_eq!(view.iter().count(), 0, "on purpose");
    }));
    assert!(read.is_err());
    // Neither is lent any more.
    a.fill(1.0).unwrap();
    assert_eq!(a.sum().unwrap(), 4096.0);
}

/// A panic of a host task is its event's, and what depends on it is not executed.
#[test]
fn a_host_task_panics() {
    let queue = Queue::default_queue().unwrap();
    let event = queue.submit_host_task(|| panic!("on purpose"), &[]).unwrap();
    let after = queue.submit_host_task(|| Ok(()), std::slice::from_ref(&event)).unwrap();
    assert!(matches!(event.wait(), Err(Error::Task(_))));
    assert!(matches!(after.wait(), Err(Error::Dependency(_))));
    assert_eq!((vector(10) + 1.0).sum().unwrap(), 30.0);
}

/// While a panic unwinds, destructors compute and wait.
#[test]
fn destructors_compute_while_a_panic_unwinds() {
    struct Computes<'a>(&'a Array<f32>, &'a mut f32);
    impl Drop for Computes<'_> {
        fn drop(&mut self) {
            *self.1 = (self.0 + 1.0).sum().unwrap();
        }
    }
    for len in [16, 1 << 16, 1 << 21] {
        let (a, mut sum) = (vector(len), 0.0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let _computes = Computes(&a, &mut sum);
            &a + &vector(len + 1)
        }));
        assert!(outcome.is_err());
        assert_eq!(sum, (0..len).map(|i| (i % 5 + 1) as f32).sum::<f32>());
    }
}
