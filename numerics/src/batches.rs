//! Many small computations of one kind, shared out among the threads of a device.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

use stridewise_core::backend::Caller;
use stridewise_core::{Device, Error, Result};

/// Operations from which on it is worth to wake other threads.
const WORTH: f64 = 100_000.0;
/// Parts for each thread: who is early takes one of those who are late.
const PARTS: usize = 4;

/// The stack that a library may need, with much to spare where nothing was optimised; a thread of tests takes up to 256 KiB.
const STACK: usize = 1 << 20;

/// Calls `run` where there is enough stack: on this thread, or on one of its own where this one's is smaller, as it may be in
/// runtimes of others. Overflow would end the process.
///
/// # Errors
/// That of `run`; [`Error::Alloc`] where no thread starts.
fn roomy<R: Send>(run: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    if stacker::remaining_stack().is_none_or(|left| left >= STACK) {
        return run();
    }
    thread::scope(|scope| {
        let thread = Builder::new().name("stridewise-numerics".to_owned()).stack_size(2 * STACK);
        let thread = thread.spawn_scoped(scope, run).map_err(|error| {
            Error::alloc(
                "the calling thread",
                format!("less than {STACK} bytes of stack, and {error}"),
                "a thread that has as much, or may start one",
                "call this from a thread with a larger stack",
            )
        })?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Room for the results of computations, which threads get parts of.
pub(crate) trait Cells: Send + Sized {
    /// The room for the first so many computations, which this one then is without.
    fn split(&mut self, count: usize) -> Self;
}

/// A number of elements for each computation.
pub(crate) struct Rows<'a, T> {
    rest: &'a mut [T],
    each: usize,
}

impl<'a, T> Rows<'a, T> {
    pub(crate) fn new(elements: &'a mut [T], each: usize) -> Self {
        Self { rest: elements, each }
    }

    fn take(&mut self, len: usize) -> &'a mut [T] {
        let (taken, rest) = std::mem::take(&mut self.rest).split_at_mut(len);
        self.rest = rest;
        taken
    }

    /// The elements of the next computation.
    pub(crate) fn next(&mut self) -> &'a mut [T] {
        self.take(self.each)
    }
}

impl<T: Send> Cells for Rows<'_, T> {
    fn split(&mut self, count: usize) -> Self {
        Self { rest: self.take(count * self.each), each: self.each }
    }
}
impl Cells for () {
    fn split(&mut self, _: usize) -> Self {}
}
impl<A: Cells, B: Cells> Cells for (A, B) {
    fn split(&mut self, count: usize) -> Self {
        (self.0.split(count), self.1.split(count))
    }
}
impl<A: Cells, B: Cells, C: Cells> Cells for (A, B, C) {
    fn split(&mut self, count: usize) -> Self {
        (self.0.split(count), self.1.split(count), self.2.split(count))
    }
}

/// Calls `run` once for each number below `count`, with the room for its results and with scratch that its thread keeps;
/// `cost` is about how many operations one call takes. The calls run on this thread and on the device's; when this returns
/// all are done.
///
/// # Errors
/// That of the call with the lowest number among those that failed; others may be left out then. [`Error::Interrupted`] where
/// nobody waits for it any more.
pub(crate) fn each<O: Cells, S>(
    device: &Device,
    count: usize,
    cost: f64,
    cells: O,
    scratch: impl Fn() -> Result<S> + Sync,
    run: impl Fn(&mut S, &mut O, usize) -> Result<()> + Sync,
) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    roomy(|| shared(device, count, cost, cells, &scratch, &run))
}

/// [`each`], on this thread and the device's.
fn shared<O: Cells, S>(
    device: &Device,
    count: usize,
    cost: f64,
    mut cells: O,
    scratch: &(impl Fn() -> Result<S> + Sync),
    run: &(impl Fn(&mut S, &mut O, usize) -> Result<()> + Sync),
) -> Result<()> {
    let threads = device.info().limits.compute_units.max(1);
    let parts = if count as f64 * cost < WORTH { 1 } else { count.min(PARTS * threads) };
    let caller = Caller::of_thread();
    if parts == 1 {
        let mut scratch = scratch()?;
        return (0..count).try_for_each(|number| {
            caller.check()?;
            run(&mut scratch, &mut cells, number)
        });
    }
    let bounds = |part: usize| (count as u128 * part as u128 / parts as u128) as usize;
    let shares: Vec<Mutex<Option<O>>> =
        (0..parts).map(|part| Mutex::new(Some(cells.split(bounds(part + 1) - bounds(part))))).collect();
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    device.backend().share(parts, true, &|range| {
        let mut own = None;
        for part in range {
            // Nothing panics while one of these locks is held, so poison means nothing.
            let taken = shares[part].lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(mut cells) = taken else { continue };
            let first = bounds(part);
            let mut at = first;
            let outcome = (|| {
                let scratch = match &mut own {
                    Some(scratch) => scratch,
                    None => own.insert(scratch()?),
                };
                while at < bounds(part + 1) {
                    caller.check()?;
                    run(scratch, &mut cells, at)?;
                    at += 1;
                }
                Ok(())
            })();
            if let Err(error) = outcome {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(earlier, _)| at < *earlier) {
                    *failed = Some((at, error));
                }
            }
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    stridewise_core::register_driver!(stridewise_host::driver);

    fn device() -> Device {
        stridewise_core::default_device().unwrap()
    }

    #[test]
    fn every_computation_has_its_own_room() {
        for count in [0, 1, 7, 1000] {
            let (mut a, mut b) = (vec![0; count * 3], vec![0; count]);
            let cells = (Rows::new(&mut a, 3), Rows::new(&mut b, 1));
            each(
                &device(),
                count,
                1e6,
                cells,
                || Ok(0),
                |calls, (a, b), number| {
                    *calls += 1;
                    a.next().fill(number);
                    b.next()[0] = number + 1;
                    Ok(())
                },
            )
            .unwrap();
            assert!(a.iter().enumerate().all(|(i, &value)| value == i / 3));
            assert!(b.iter().enumerate().all(|(i, &value)| value == i + 1));
        }
    }

    #[test]
    fn the_first_failure_is_told() {
        let wrong = |number: usize| Error::value("x", number, "another", "none");
        for bad in [0, 3, 998] {
            let outcome = each(
                &device(),
                1000,
                1e6,
                (),
                || Ok(()),
                |(), (), number| {
                    if number >= bad { Err(wrong(number)) } else { Ok(()) }
                },
            );
            assert_eq!(outcome.unwrap_err().to_string(), wrong(bad).to_string());
        }
    }
}
