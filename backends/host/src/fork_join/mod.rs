//! Parts of one computation, shared by whoever has time.
//!
//! Who forks publishes its parts in the device's pool and begins with some of them itself. Threads that look for work claim
//! parts of the same list, one after the other, each from the part on that is its processor's: so of work that is done again
//! and again each has the same parts in its cache, and takes those of others where it is early. One fork goes through a
//! thread's parts from the first to the last, the next one from the last to the first: of data that is larger than a cache,
//! what the one has come to last is what the other begins with. At the end whoever forked waits only for parts that somebody
//! has claimed, never for a thread that has yet to wake up; and it takes up nothing else meanwhile, so that stacks stay as
//! deep as the code reads.
//!
//! Why nothing waits for ever: a claimed part is run by a thread that is awake, and what it forks in turn it can finish
//! alone.
//!
//! Parts are cut by their number alone, the same way every time, so results do not depend on the direction:
//! trees of reductions are cut by the plan. Only which part of a long computation is ready first changes from
//! run to run. Passes that ask for lines ahead are told the direction. Measured old and new in turns, two
//! threads (machine not recorded), medians of three, 16 Mi elements: sum 0.86 to 0.88 of the time, maximum
//! 0.82 to 0.90, norm of `float64` 0.90 to 0.94, variance 0.93 to 0.95, sum over axis 0 0.89 to 0.98,
//! addition 0.95; square roots and a normalisation over axis 0 1.00, as they wait for their stores. It is of
//! no use where last-level caches are so small beside the data that nothing of a pass is left in them.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;
use stridewise_core::backend::primitives::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use stridewise_core::backend::primitives::thread::{self, Thread};
use stridewise_core::backend::primitives::{Instant, Mutex, hint, thread_local};
use stridewise_core::observe::{self, Doing};
use stridewise_core::routes::{self, Route};

use crate::topology;

mod blocking;
pub(crate) mod helping;
mod pool;

pub(crate) use blocking::BlockingThreads;
pub(crate) use pool::{Entered, Job, LINGER, Pool, Workers};

/// The number of what is no command, which nobody waits for.
pub(crate) const NO_COMMAND: usize = 0;

/// What a thread computes for: the pool that shares its work, and a number of the command.
#[derive(Clone)]
struct Scope {
    pool: Arc<Pool>,
    command: usize,
}

thread_local! {
    static SCOPE: RefCell<Option<Scope>> = const { RefCell::new(None) };
}

fn scope() -> Option<Scope> {
    // An error means that the thread is ending: it computes alone.
    SCOPE.try_with(|scope| scope.borrow().clone()).ok().flatten()
}

/// Runs a computation whose forks the threads of a pool share. `command` is a number that
/// [`Pool::join`](Pool::join) finds its forks by.
pub(crate) fn within<R>(pool: &Arc<Pool>, command: usize, work: impl FnOnce() -> R) -> R {
    /// Puts back what was before, also when `work` panics.
    struct Restore(Option<Scope>);
    impl Drop for Restore {
        fn drop(&mut self) {
            let before = self.0.take();
            let _ = SCOPE.try_with(|scope| *scope.borrow_mut() = before);
        }
    }
    let new = Scope { pool: Arc::clone(pool), command };
    let _restore = Restore(SCOPE.try_with(|scope| scope.borrow_mut().replace(new)).ok().flatten());
    work()
}

/// The way a thread goes through its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Forwards,
    Backwards,
}

/// The order for the next fork: another than the last fork's.
pub(crate) fn direction() -> Direction {
    let direction = |scope: &Scope| scope.pool.direction();
    let next = SCOPE.try_with(|scope| scope.borrow().as_ref().map(direction));
    next.ok().flatten().unwrap_or(Direction::Forwards)
}

/// Calls `run` once for each of the numbers below `parts`, on up to `threads` threads. Parts run in any order; when this
/// returns all are done.
///
/// # Panics
/// With the panic of a part, once all that were begun are over; the others are left out.
pub(crate) fn share(parts: usize, threads: usize, run: &(dyn Fn(usize) + Sync)) {
    share_in(direction(), parts, threads, run);
}

/// [`share`] in an order that the caller knows.
pub(crate) fn share_in(direction: Direction, parts: usize, threads: usize, run: &(dyn Fn(usize) + Sync)) {
    if parts > 1
        && threads > 1
        && let Ok(count) = u32::try_from(parts)
        && let Some(scope) = scope()
    {
        return fork(scope, direction, count, threads, run);
    }
    (0..parts).for_each(run);
}

/// Runs two functions, at the same time where a thread is free.
///
/// # Panics
/// As for [`share`].
pub(crate) fn both(first: impl FnOnce() + Send, second: impl FnOnce() + Send) {
    let (first, second) = (Mutex::new(Some(first)), Mutex::new(Some(second)));
    share(2, 2, &|part| if part == 0 { run_once(&first) } else { run_once(&second) });
}

/// Takes a function, which is there once, and runs it when the lock is given up.
fn run_once(work: &Mutex<Option<impl FnOnce()>>) {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(work) = work {
        work();
    }
}

fn fork(scope: Scope, direction: Direction, parts: u32, threads: usize, run: &(dyn Fn(usize) + Sync)) {
    let fork = Arc::new(Fork {
        // SAFETY: pointers to the same type but for a lifetime, which a pointer does not promise.
        run: unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const Part>(run) },
        claims: Claims::new(parts),
        parts,
        wanted: AtomicUsize::new(threads - 1),
        done: AtomicU32::new(0),
        failed: AtomicBool::new(false),
        panic: Mutex::default(),
        scope,
        owner: thread::current(),
        cpu: topology::current_cpu(),
        direction,
    });
    routes::take(Route::Shared);
    fork.scope.pool.went(direction);
    fork.scope.pool.publish(&fork);
    fork.work(true);
    fork.scope.pool.retire(&fork);
    fork.finish();
}

/// Which parts somebody has claimed.
struct Claims {
    /// A bit for each part: whether it is claimed. Bits beyond the parts are set.
    taken: SmallVec<[AtomicU64; 2]>,
    /// Parts that nobody has claimed.
    left: AtomicU32,
}

impl Claims {
    fn new(parts: u32) -> Self {
        let word = |word: u32| {
            let len = (parts - word * u64::BITS).min(u64::BITS);
            AtomicU64::new(u64::MAX.checked_shl(len).unwrap_or(0))
        };
        Self { taken: (0..parts.div_ceil(u64::BITS)).map(word).collect(), left: AtomicU32::new(parts) }
    }

    /// Claims the first part from `from` on, and around, that nobody has.
    fn claim(&self, from: usize) -> Option<usize> {
        if self.left.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let (words, before) = (self.taken.len(), !(u64::MAX << (from % 64)));
        for k in 0..=words {
            let word = (from / 64 + k) % words;
            // The first word from `from` on, and its rest at the end.
            let outside = if k == 0 {
                before
            } else if k == words {
                !before
            } else {
                0
            };
            let mut free = !(self.taken[word].load(Ordering::Relaxed) | outside);
            while free != 0 {
                let bit = free & free.wrapping_neg();
                // Nothing is read that another claim wrote, so no order is needed: parts are handed to the closure by their
                // number, and the closure by the lock of the pool's list.
                if self.taken[word].fetch_or(bit, Ordering::Relaxed) & bit == 0 {
                    self.left.fetch_sub(1, Ordering::Relaxed);
                    return Some(64 * word + bit.trailing_zeros() as usize);
                }
                free ^= bit;
            }
        }
        None
    }
}

/// What runs a part, given its number.
type Part = dyn Fn(usize) + Sync;

/// One fork: parts, and who has which.
pub(crate) struct Fork {
    /// The owner's; alive until all parts are over.
    run: *const Part,
    claims: Claims,
    parts: u32,
    /// Threads that may join yet.
    wanted: AtomicUsize,
    /// Parts that are over.
    done: AtomicU32,
    /// Whether a part panicked.
    failed: AtomicBool,
    /// The first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    scope: Scope,
    owner: Thread,
    /// Where the owner was when it began.
    cpu: Option<usize>,
    /// The way that each thread goes.
    direction: Direction,
}

// SAFETY: all but `run` is; and `run` is called by reference, which its `Sync` allows from any thread, by those only who
// have a claim (`work`).
unsafe impl Send for Fork {}
// SAFETY: all but `run` is; and `run` may be called from several threads at once, as it is a reference to
// what is `Sync`.
unsafe impl Sync for Fork {}

impl Fork {
    /// The number of the command that this is a fork of.
    pub(crate) fn command(&self) -> usize {
        self.scope.command
    }

    /// The processor that the owner was on when it began.
    pub(crate) fn cpu(&self) -> Option<usize> {
        self.cpu
    }

    /// Whether a thread is wanted, and parts are left that nobody has claimed.
    pub(crate) fn is_open(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) > 0 && self.claims.left.load(Ordering::Relaxed) > 0
    }

    /// Counts a thread that joins, under the pool's lock, of a fork that is open.
    pub(crate) fn joined(&self) {
        self.wanted.fetch_sub(1, Ordering::Relaxed);
    }

    /// Runs parts until none is left, on a thread that is not the owner: a worker of the pool, or one that waits.
    pub(crate) fn help(&self) {
        let _seen = observe::span(Doing::Run, "parts", self.scope.command, 0);
        within(&self.scope.pool, self.scope.command, || self.work(false));
    }

    /// The claim that the calling thread begins with, if nobody has it.
    fn home(&self, owner: bool) -> usize {
        let (pool, parts) = (&self.scope.pool, u64::from(self.parts));
        let (seat, seats) = pool.seat().unwrap_or((usize::from(!owner), 2));
        // Of claims that are counted from the last part on, a thread's first is of the last of its parts.
        let seat = if self.direction == Direction::Backwards { seats - 1 - seat } else { seat };
        (parts * seat as u64 / seats as u64) as usize
    }

    fn work(&self, owner: bool) {
        let mut from = self.home(owner);
        while let Some(claim) = self.claims.claim(from) {
            from = (claim + 1) % self.parts as usize;
            let part =
                if self.direction == Direction::Backwards { self.parts as usize - 1 - claim } else { claim };
            // SAFETY: the closure is alive. Each part is claimed once, and counted as over below, after its run, by who
            // claimed it; until all are, `fork`, whose caller lends the closure, does not return (`finish`, and nothing
            // before it panics). A thread without a claim touches nothing but the fork, which it owns a share of.
            let run = || unsafe { (*self.run)(part) };
            if !self.failed.load(Ordering::Relaxed)
                && let Err(payload) = catch_unwind(AssertUnwindSafe(run))
            {
                self.failed.store(true, Ordering::Relaxed);
                self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(payload);
            }
            // What the part wrote is seen by the owner, who reads the count by acquiring it.
            if self.done.fetch_add(1, Ordering::AcqRel) + 1 == self.parts && !owner {
                self.owner.unpark();
            }
        }
    }

    /// Waits for the parts that others have claimed, after the owner's own.
    fn finish(&self) {
        let is_done = || self.done.load(Ordering::Acquire) == self.parts;
        let mut begin = None;
        while !is_done() {
            if begin.get_or_insert_with(Instant::now).elapsed() < LINGER {
                hint::spin_loop();
            } else {
                // Woken by the last part; for another reason too, perhaps.
                thread::park();
            }
        }
        if let Some(payload) = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
            resume_unwind(payload);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn pool(threads: usize) -> Workers {
        Pool::start(threads, &[], false).unwrap()
    }

    #[test]
    fn every_part_runs_once() {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            for parts in [0, 1, 2, 3, 100, 10_000] {
                let seen: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
                let count = |part: usize| {
                    seen[part].fetch_add(1, Ordering::Relaxed);
                };
                within(&pool, 1, || share(parts, 4, &count));
                assert!(seen.iter().all(|n| n.load(Ordering::Relaxed) == 1));
                share(parts, 4, &count);
                assert!(seen.iter().all(|n| n.load(Ordering::Relaxed) == 2), "without a pool");
            }
        }
    }

    #[test]
    fn parts_are_claimed_from_any_on_and_around() {
        for parts in [1, 2, 63, 64, 65, 128, 1000] {
            for from in (0..parts).step_by(7).chain([parts - 1]) {
                let claims = Claims::new(parts);
                let (mut next, mut claimed) = (from as usize, Vec::new());
                while let Some(part) = claims.claim(next) {
                    claimed.push(part as u32);
                    next = (part + 1) % parts as usize;
                }
                assert!(claimed.into_iter().eq((from..parts).chain(0..from)), "{parts} from {from}");
            }
            // What is claimed is left out, wherever one looks.
            let claims = Claims::new(parts);
            assert_eq!(claims.claim(0), Some(0));
            let wanted = (parts > 1).then_some(1);
            assert_eq!(claims.claim(0), wanted);
            assert_eq!(claims.left.load(Ordering::Relaxed), parts.saturating_sub(2));
        }
    }

    #[test]
    fn forks_take_turns_in_their_direction() {
        // Without workers: the owner's own parts are the first half.
        let pool = pool(0);
        let ran = || {
            let seen = Mutex::new(Vec::new());
            within(&pool, 1, || share(6, 2, &|part| seen.lock().unwrap().push(part)));
            seen.into_inner().unwrap()
        };
        let two = [ran(), ran()];
        assert!(two.contains(&vec![0, 1, 2, 3, 4, 5]) && two.contains(&vec![2, 1, 0, 5, 4, 3]), "{two:?}");
        assert_eq!([ran(), ran()], two);
    }

    #[test]
    fn several_threads_take_part() {
        let pool = pool(3);
        let here = AtomicUsize::new(0);
        // Parts that wait for each other: no thread can do two of them.
        within(&pool, 1, || {
            share(3, 3, &|_| {
                here.fetch_add(1, Ordering::SeqCst);
                while here.load(Ordering::SeqCst) < 3 {
                    thread::yield_now();
                }
            });
        });
    }

    #[test]
    fn who_enters_has_a_worker_that_is_awake() {
        let pool = pool(2);
        for round in 0..20 {
            // They sleep by now; the first who asks has one woken.
            thread::sleep(Duration::from_millis(1));
            let begin = Instant::now();
            let entered = loop {
                match pool.enter(true) {
                    Some(entered) => break entered,
                    None => assert!(begin.elapsed() < Duration::from_secs(60), "no worker comes"),
                }
            };
            let here = AtomicUsize::new(0);
            within(&pool, NO_COMMAND, || {
                share(2, 2, &|_| {
                    here.fetch_add(1, Ordering::SeqCst);
                    while here.load(Ordering::SeqCst) < 2 {
                        thread::yield_now();
                    }
                });
            });
            drop(entered);
            assert_eq!(here.into_inner(), 2, "{round}");
        }
        // As many compute as may.
        let [first, second] = [(); 2].map(|()| {
            loop {
                match pool.enter(true) {
                    Some(entered) => break entered,
                    None => thread::yield_now(),
                }
            }
        });
        assert!(pool.enter(true).is_none());
        drop((first, second));
    }

    #[test]
    fn no_more_threads_join_than_are_wanted() {
        let pool = pool(4);
        let seen = Mutex::new(Vec::new());
        within(&pool, 1, || {
            share(64, 2, &|_| {
                let me = thread::current().id();
                let mut seen = seen.lock().unwrap();
                if !seen.contains(&me) {
                    seen.push(me);
                }
                drop(seen);
                thread::sleep(Duration::from_micros(200));
            });
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() <= 2, "{seen:?}");
    }

    fn nested(depth: usize) -> usize {
        if depth == 0 {
            return 1;
        }
        let sum = AtomicUsize::new(0);
        let (left, right) = (AtomicUsize::new(0), AtomicUsize::new(0));
        share(3, 4, &|_| {
            sum.fetch_add(nested(depth - 1), Ordering::Relaxed);
        });
        both(
            || left.store(nested(depth - 1), Ordering::Relaxed),
            || right.store(nested(depth - 1), Ordering::Relaxed),
        );
        sum.into_inner() + left.into_inner() + right.into_inner()
    }

    #[test]
    fn forks_nest_and_many_threads_fork_at_once() {
        for threads in [1, 2, 4] {
            let pool = pool(threads);
            thread::scope(|scope| {
                for caller in 0..6 {
                    let pool = &pool;
                    scope.spawn(move || {
                        for _ in 0..40 {
                            assert_eq!(within(pool, caller, || nested(4)), 625);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn a_panic_comes_back_when_all_is_over() {
        let pool = pool(4);
        for round in 0..200_usize {
            let running = AtomicUsize::new(0);
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                within(&pool, 1, || {
                    share(50, 4, &|part| {
                        running.fetch_add(1, Ordering::SeqCst);
                        // A nested fork whose parts are over before the panic goes on.
                        share(4, 4, &|inner| {
                            if part == round % 50 && inner == 2 {
                                resume_unwind(Box::new(part));
                            }
                        });
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                });
            }));
            let payload = outcome.expect_err("a part panicked");
            assert_eq!(payload.downcast_ref::<usize>(), Some(&(round % 50)));
            assert_eq!(running.load(Ordering::SeqCst), 1, "all but the one that panicked are over");
            assert!(scope().is_none());
        }
        let sum = AtomicUsize::new(0);
        within(&pool, 1, || {
            share(100, 4, &|part| {
                sum.fetch_add(part, Ordering::Relaxed);
            });
        });
        assert_eq!(sum.into_inner(), 4950);
    }
}
