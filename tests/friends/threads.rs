//! From scoped threads, beside signals, and from destructors of threads that end.

use std::cell::RefCell;
use std::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use stridewise::prelude::*;

use crate::{Steps, isolated};

fn vector(len: usize) -> Array<f32> {
    Array::from_vec([len], (0..len).map(|i| (i % 5) as f32).collect::<Vec<_>>()).unwrap()
}

#[test]
fn scoped_threads_share_arrays() {
    for len in [16, 1 << 16, 1 << 20] {
        let (a, b) = (vector(len), vector(len));
        let recorded = &a * &b + 1.0;
        let out = Array::<f32>::zeros([4, len]).unwrap();
        thread::scope(|scope| {
            for k in 0..4 {
                let (a, recorded, out) = (&a, &recorded, &out);
                scope.spawn(move || {
                    // One result that all read, one for each, and parts of one that all write.
                    let sum = recorded.sum().unwrap() - (a * 0.0).sum().unwrap();
                    assert_eq!(sum, recorded.sum().unwrap());
                    out.slice(s![k, ..]).unwrap().assign(&(recorded * k as f32)).unwrap();
                });
            }
        });
        for k in 0..4 {
            assert_eq!(out.get([k, 3]).unwrap(), 10.0 * k as f32);
            assert_eq!(out.get([k, len - 1]).unwrap(), recorded.get([len - 1]).unwrap() * k as f32);
        }
    }
}

/// The pipe that the handler writes to, and how often it ran.
static PIPE: AtomicI32 = AtomicI32::new(-1);
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// A handler does what a handler may: it tells a thread.
extern "C" fn tell(_signal: libc::c_int) {
    SIGNALS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: `write` may be called in handlers; the byte lives long enough, and the descriptor is the pipe's or invalid.
    unsafe { libc::write(PIPE.load(Ordering::Relaxed), c"!".as_ptr().cast(), 1) };
}

/// A timer's signals, which interrupt any thread of the process while it computes or waits; a thread computes for each.
fn signals(_case: &str, steps: &Steps) {
    let mut ends = [0; 2];
    // SAFETY: there is room for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    PIPE.store(ends[1], Ordering::Relaxed);
    let answered = AtomicUsize::new(0);
    let every = libc::timeval { tv_sec: 0, tv_usec: 1000 };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    let (a, b) = (vector(1 << 18), vector(16));
    let expected = (&a * 2.0).sum().unwrap();
    let computes = || {
        assert_eq!((&a * 2.0).sum().unwrap(), expected);
        assert_eq!((&b + &b).sum().unwrap(), 60.0);
    };
    // SAFETY: zero is a valid value of the structure, which says how the handler is called and nothing else; the handler does
    // only what handlers may.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        // Without SA_RESTART: calls of the system are interrupted.
        action.sa_sigaction = tell as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()), 0);
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()), 0);
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            while answered.load(Ordering::Relaxed) < 100 {
                let mut byte = 0_u8;
                // SAFETY: there is room for a byte.
                if unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) } == 1 {
                    computes();
                    answered.fetch_add(1, Ordering::Relaxed);
                    steps.step();
                }
            }
        });
        while answered.load(Ordering::Relaxed) < 100 {
            computes();
            let c = (&a + 1.0).sqrt();
            c.wait().unwrap();
            assert_eq!(c.get([3]).unwrap(), 2.0);
        }
    });
    assert!(SIGNALS.load(Ordering::Relaxed) >= 100);
}

#[test]
fn signals_interrupt_and_are_answered() {
    isolated("threads::signals_interrupt_and_are_answered", &["a timer"], signals);
}

/// Something that computes, and drops what it has, when its thread ends.
struct AtTheEnd(Option<Array<f32>>, std::sync::mpsc::Sender<f32>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let Some(last) = self.0.take() else { return };
        let sum = (&last + 1.0).sum().unwrap();
        drop(last);
        self.1.send(sum).unwrap();
    }
}

thread_local! {
    static KEPT: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
}

/// The engine's own storage of the thread may go before the program's, or after.
#[test]
fn destructors_of_a_thread_drop_the_last_array() {
    for (len, first, pending) in [16, 1 << 16, 1 << 21]
        .into_iter()
        .flat_map(|len| [(len, 0, false), (len, 1, false), (len, 0, true), (len, 1, true)])
    {
        let (sent, received) = channel();
        thread::spawn(move || {
            let keep = |array| KEPT.with_borrow_mut(|kept| *kept = Some(AtTheEnd(array, sent)));
            let make = || {
                let a = vector(len);
                // Small results that are dropped are kept by the thread for its next ones.
                let more = if first == 0 { &vector(16) + 1.0 } else { vector(16) };
                assert!(more.sum().unwrap() > 0.0);
                if pending { &a * 1.0 } else { a }
            };
            match first {
                0 => {
                    let array = make();
                    keep(Some(array));
                }
                _ => {
                    keep(None);
                    let array = make();
                    KEPT.with_borrow_mut(|kept| kept.as_mut().unwrap().0 = Some(array));
                }
            }
        })
        .join()
        .unwrap();
        let expected: f32 = (0..len).map(|i| (i % 5 + 1) as f32).sum();
        assert_eq!(received.recv().unwrap(), expected, "{len} {first} {pending}");
    }
}
