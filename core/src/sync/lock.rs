//! Locks that are free in a process that was forked.
//!
//! A fork copies locks as they are, but only the thread that forks: one that another thread has then is never given back in
//! the copy. So a fork waits until no thread has a lock of core, and keeps them from taking any meanwhile: all locks that both
//! processes take are of this module, whose types are used as the standard library's. They are held for microseconds, as
//! nothing is computed under them.
//!
//! Every thread counts itself in before its first lock and out after its last, in one of a few counters, so that threads
//! have none in common with most others.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError};
use std::time::{Duration, Instant};

use super::primitives::atomic::{AtomicBool, AtomicUsize, Ordering};
use super::primitives::{self as sync, thread, thread_local};

/// Counters, of which threads have one each in turns: a line of the cache each, so that few threads write to the same one, and so few
/// that who waits for all of them reads 8 KiB.
const COUNTERS: usize = 64;
/// How long who waits for others sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);

/// On cache lines of its own; processors fetch two at a time.
#[repr(align(128))]
struct Counter(AtomicUsize);

/// How many threads are inside.
static INSIDE: [Counter; COUNTERS] = [const { Counter(AtomicUsize::new(0)) }; COUNTERS];
/// Whether threads are to stay outside.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// Threads that have a counter.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many sections the thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The thread's counter, and one more.
    static COUNTER: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread has closed the others out.
    static CLOSER: Cell<bool> = const { Cell::new(false) };
}

/// Threads are counted from the first one on again: who runs the same threads again finds them as they were.
#[cfg(feature = "interleavings")]
pub(crate) fn restart() {
    THREADS.store(0, Ordering::Relaxed);
}

fn counter() -> &'static AtomicUsize {
    let number = COUNTER.with(|counter| match counter.get() {
        0 => {
            let number = THREADS.fetch_add(1, Ordering::Relaxed) % COUNTERS;
            counter.set(number + 1);
            number
        }
        number => number - 1,
    });
    &INSIDE[number].0
}

/// A thread is inside as long as it has one: a fork waits for that. Sections of a thread may nest.
#[derive(Debug)]
pub struct Section(PhantomData<*const ()>);

impl Section {
    /// Enters; while another thread forks, after that.
    #[must_use]
    #[inline]
    pub fn enter() -> Self {
        let depth = DEPTH.with(Cell::get);
        if depth == 0 {
            let counter = counter();
            // Before the gate is looked at; who closes it looks at the counters afterwards. One of both sees the other.
            counter.fetch_add(1, Ordering::SeqCst);
            if CLOSED.load(Ordering::SeqCst) {
                stay_outside(counter);
            }
        }
        DEPTH.with(|inside| inside.set(depth + 1));
        Self(PhantomData)
    }

    /// Enters also while another thread forks: for a thread that works for one that is inside and waits for it, so that the fork
    /// waits for both.
    #[must_use]
    pub(crate) fn enter_beside() -> Self {
        if DEPTH.with(Cell::get) == 0 {
            counter().fetch_add(1, Ordering::SeqCst);
        }
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Self(PhantomData)
    }
}

impl Drop for Section {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.with(Cell::get) - 1;
        DEPTH.with(|inside| inside.set(depth));
        if depth == 0 {
            counter().fetch_sub(1, Ordering::Release);
        }
    }
}

/// Goes out again until the gate is open.
#[cold]
fn stay_outside(counter: &AtomicUsize) {
    while !CLOSER.with(Cell::get) && CLOSED.load(Ordering::SeqCst) {
        counter.fetch_sub(1, Ordering::Release);
        while CLOSED.load(Ordering::Relaxed) {
            thread::sleep(NAP);
        }
        counter.fetch_add(1, Ordering::SeqCst);
    }
}

/// Keeps other threads outside, and waits until none is inside, but not for longer than until then. Whether none is. One
/// thread at a time closes.
pub(crate) fn close(deadline: Instant) -> bool {
    while CLOSED.swap(true, Ordering::SeqCst) {
        thread::sleep(NAP);
    }
    CLOSER.with(|closer| closer.set(true));
    let own = counter();
    let mut rounds = 0;
    for counter in &INSIDE {
        let mine = usize::from(std::ptr::eq(&raw const counter.0, own) && DEPTH.with(Cell::get) > 0);
        while counter.0.load(Ordering::SeqCst) > mine {
            if Instant::now() >= deadline {
                return false;
            }
            // Most sections last for a fraction of a microsecond.
            rounds += 1;
            if rounds < 100 { thread::yield_now() } else { thread::sleep(NAP) }
        }
    }
    true
}

/// Lets other threads in again: what [`close`] began.
pub(crate) fn open() {
    CLOSER.with(|closer| closer.set(false));
    CLOSED.store(false, Ordering::SeqCst);
}

/// As [`open`], in a process that was forked between: there is this thread only.
pub(crate) fn open_forked() {
    for counter in &INSIDE {
        counter.0.store(0, Ordering::Relaxed);
    }
    counter().store(usize::from(DEPTH.with(Cell::get) > 0), Ordering::Relaxed);
    open();
}

/// As the standard library's, but no other thread has it in a process that was forked.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

/// As the standard library's, but no other thread has it in a process that was forked.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

/// A lock that is locked: what the standard library gives for it, and then the section, which ends last.
#[derive(Debug)]
pub struct Guard<G>(G, Section);

/// A mutex that is locked.
pub type MutexGuard<'a, T> = Guard<sync::MutexGuard<'a, T>>;
/// A lock that is locked for reading.
pub type RwLockReadGuard<'a, T> = Guard<sync::RwLockReadGuard<'a, T>>;
/// A lock that is locked for writing.
pub type RwLockWriteGuard<'a, T> = Guard<sync::RwLockWriteGuard<'a, T>>;

impl<G> Guard<G> {
    #[inline]
    fn new(lock: impl FnOnce() -> LockResult<G>) -> LockResult<Self> {
        let section = Section::enter();
        match lock() {
            Ok(guard) => Ok(Self(guard, section)),
            Err(poison) => Err(PoisonError::new(Self(poison.into_inner(), section))),
        }
    }
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;
    #[inline]
    fn deref(&self) -> &G::Target {
        &self.0
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.0
    }
}

impl<T> Mutex<T> {
    /// One that nobody has.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until nobody has it, and takes it.
    ///
    /// # Errors
    /// Somebody panicked who had it.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Guard::new(|| self.0.lock())
    }

    /// What it guards, of which there is no other reference.
    ///
    /// # Errors
    /// As for [`lock`](Self::lock).
    #[inline]
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }
}

impl<T> RwLock<T> {
    /// One that nobody has.
    pub const fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until nobody writes, and reads.
    ///
    /// # Errors
    /// Somebody panicked who wrote.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        Guard::new(|| self.0.read())
    }

    /// Waits until nobody has it, and writes.
    ///
    /// # Errors
    /// Somebody panicked who wrote.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        Guard::new(|| self.0.write())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::mpsc::channel;

    use super::*;

    const MOMENT: Duration = Duration::from_millis(20);

    #[test]
    fn who_closes_waits_for_those_inside_and_keeps_others_outside() {
        let (mutex, entered) = (Mutex::new(0), AtomicBool::new(false));
        let ((inside, is_inside), (go, told)) = (channel(), channel());
        std::thread::scope(|scope| {
            let (mutex, entered) = (&mutex, &entered);
            scope.spawn(move || {
                let section = Section::enter();
                inside.send(()).unwrap();
                told.recv().unwrap();
                // From inside, locks are taken although the gate is closed.
                *mutex.lock().unwrap() += 1;
                drop(section);
            });
            is_inside.recv().unwrap();
            assert!(!close(Instant::now() + MOMENT), "somebody is inside");
            let late = scope.spawn(move || {
                *mutex.lock().unwrap() += 1;
                entered.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(MOMENT);
            assert!(!entered.load(Ordering::SeqCst), "the gate is closed");
            go.send(()).unwrap();
            open();
            late.join().unwrap();
        });
        assert!(close(Instant::now() + Duration::from_secs(60)));
        // Who closes goes on.
        assert_eq!(*mutex.lock().unwrap(), 2);
        open();
    }

    #[test]
    fn sections_nest_and_poison_is_told() {
        let (mutex, lock) = (Mutex::new(1), RwLock::new(2));
        {
            let (a, b) = (mutex.lock().unwrap(), lock.read().unwrap());
            assert_eq!((*a, *b), (1, 2));
            assert!(DEPTH.with(Cell::get) == 2);
        }
        *lock.write().unwrap() = 3;
        assert_eq!(DEPTH.with(Cell::get), 0);
        std::thread::scope(|scope| {
            let panicked = scope.spawn(|| {
                let _guard = mutex.lock();
                panic!("on purpose");
            });
            assert!(panicked.join().is_err());
        });
        assert!(mutex.lock().is_err_and(|poison| *poison.into_inner() == 1));
    }
}
