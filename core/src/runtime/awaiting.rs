//! Events in asynchronous code, and what is called at their end.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use super::Event;
use crate::backend;
use crate::error::Result;
use crate::sync::assert_unlocked;
use crate::sync::{Mutex, MutexGuard};

/// Who awaits an event, by the event's address and by the future's number.
///
/// They stand here and not with the event, which only takes callbacks and never gives one back: of an event that is awaited
/// again and again, in a loop over what ends first, each future would leave one. So an event has one callback, from when it is
/// first awaited, and a future that is dropped leaves nothing.
///
/// One lock is for all awaited events of the process, for the time of a look-up. Events that are only waited
/// for never touch it. If so many are awaited at once that the lock shows, a table in parts by the address
/// will do; no timing is recorded. The tests below count what is left, and `tests/friends/` awaits events in
/// executors of others.
static AWAITED: Mutex<BTreeMap<usize, BTreeMap<u64, Waker>>> = Mutex::new(BTreeMap::new());

fn awaited() -> MutexGuard<'static, BTreeMap<usize, BTreeMap<u64, Waker>>> {
    // Nothing panics while the lock is held, and no code of wakers runs then, so poison means nothing.
    AWAITED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs code of the user's, whose panic is its own: it has been reported where it happened.
fn contain(foreign: impl FnOnce()) {
    assert_unlocked("a callback");
    if let Err(payload) = catch_unwind(AssertUnwindSafe(foreign)) {
        // What was thrown may panic in its destructor.
        let again = catch_unwind(AssertUnwindSafe(|| drop(payload)));
        std::mem::forget(again);
    }
}

/// The outcome of an event that is terminal.
fn outcome(event: &dyn backend::Event) -> Result<()> {
    event.error().map_or(Ok(()), Err)
}

/// What is called at the end of an event that is awaited. The weak reference keeps its address from being another's.
struct End(Weak<dyn backend::Event>);

impl Drop for End {
    fn drop(&mut self) {
        let wakers = awaited().remove(&self.0.as_ptr().addr());
        for waker in wakers.into_iter().flat_map(BTreeMap::into_values) {
            contain(|| waker.wake());
        }
    }
}

impl Event {
    /// Calls back once the command is done, with its outcome.
    ///
    /// The callback is called exactly once: on the calling thread, before this returns, where the command is done already;
    /// else on the thread that ends the command, which is one of the device's or one that waits for the command or for what
    /// it waits for. There it must not block: it may send, set, wake, submit work and start threads, but neither wait for an
    /// event nor read what is not done, for what it waits for may be this very thread's to do. If it panics, that is
    /// reported as panics are, and harms nothing else.
    ///
    /// In a process that was forked from the one whose threads have the command, it is called at once, with the error that
    /// [`wait`](Self::wait) gives there.
    pub fn on_complete(&self, callback: impl FnOnce(Result<()>) + Send + 'static) {
        let Some(event) = self.pending() else {
            return contain(|| callback(self.error().map_or(Ok(()), Err)));
        };
        let ended = Arc::clone(event);
        event.on_complete(Box::new(move || contain(|| callback(outcome(ended.as_ref())))));
    }

    /// The backend's event where it is not terminal.
    fn pending(&self) -> Option<&Arc<dyn backend::Event>> {
        self.backend.as_ref().filter(|event| !event.status().is_terminal())
    }
}

/// The end of an [`Event`], to be awaited: `event.await` makes one, or `(&event).await`, in any executor.
///
/// Its output is that of [`Event::wait`], also where it is polled again. It needs no runtime of its own: the thread that ends
/// the command wakes the task. Dropping it changes nothing about the command.
#[must_use = "futures do nothing unless they are awaited"]
pub struct EventFuture {
    event: Event,
    /// What its waker is known by, once there is one.
    number: Option<u64>,
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        EventFuture { event: self, number: None }
    }
}

impl IntoFuture for &Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        self.clone().into_future()
    }
}

impl Future for EventFuture {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let this = &mut *self;
        let Some(event) = this.event.pending() else {
            return Poll::Ready(this.event.error().map_or(Ok(()), Err));
        };
        let number = *this.number.get_or_insert_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
        // Cloned before the lock is taken, and the one that it replaces dropped after: both are foreign code.
        let waker = context.waker().clone();
        let (first, replaced) = match awaited().entry(Arc::as_ptr(event).addr()) {
            Entry::Vacant(entry) => (true, entry.insert(BTreeMap::new()).insert(number, waker)),
            Entry::Occupied(mut entry) => (false, entry.get_mut().insert(number, waker)),
        };
        drop(replaced);
        if first {
            // Where it has ended meanwhile, this wakes the task at once. Nobody else has a callback for it: whoever finds the
            // entry that was made above relies on this one.
            let end = End(Arc::downgrade(event));
            event.on_complete(Box::new(move || drop(end)));
        }
        Poll::Pending
    }
}

impl Drop for EventFuture {
    fn drop(&mut self) {
        let (Some(number), Some(event)) = (self.number, &self.event.backend) else { return };
        let waker = awaited().get_mut(&Arc::as_ptr(event).addr()).and_then(|wakers| wakers.remove(&number));
        // Not under the lock.
        drop(waker);
    }
}

impl fmt::Debug for EventFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventFuture").field(&self.event).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;
    use std::thread;

    use super::*;
    use crate::backend::Signal;
    use crate::error::Error;

    /// Counts how often it wakes.
    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Count {
        fn get(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    fn new() -> (Arc<Signal>, Event) {
        let signal = Arc::new(Signal::new("test"));
        let event = Event::new(Arc::clone(&signal) as _, Vec::new());
        (signal, event)
    }

    fn poll(future: &mut EventFuture, waker: &Arc<Count>) -> Poll<Result<()>> {
        Pin::new(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(waker))))
    }

    fn wakers_of(event: &Event) -> Option<usize> {
        awaited().get(&Arc::as_ptr(event.backend()).addr()).map(BTreeMap::len)
    }

    fn failure() -> Error {
        Error::task("task", "1", "2", "3")
    }

    #[test]
    fn what_is_done_is_ready_and_a_failure_is_its_output() {
        let count = Arc::new(Count::default());
        assert!(matches!(poll(&mut Event::ready().into_future(), &count), Poll::Ready(Ok(()))));
        let (signal, event) = new();
        signal.complete(Err(failure()), None);
        let mut future = event.into_future();
        for _ in 0..2 {
            assert!(matches!(poll(&mut future, &count), Poll::Ready(Err(Error::Task(_)))));
        }
        assert_eq!(count.get(), 0);
    }

    #[test]
    fn the_waker_of_the_last_poll_wakes_once_and_none_is_kept() {
        let (signal, event) = new();
        let mut future = (&event).into_future();
        let (old, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
        for _ in 0..1000 {
            assert!(poll(&mut future, &old).is_pending());
        }
        assert_eq!((Arc::strong_count(&old), wakers_of(&event)), (2, Some(1)));
        assert!(poll(&mut future, &last).is_pending());
        assert_eq!(Arc::strong_count(&old), 1);
        signal.complete(Ok(()), None);
        assert_eq!((old.get(), last.get(), Arc::strong_count(&last)), (0, 1, 1));
        assert_eq!(wakers_of(&event), None);
        assert!(matches!(poll(&mut future, &last), Poll::Ready(Ok(()))));
    }

    #[test]
    fn futures_that_are_dropped_leave_one_callback_among_them() {
        let (signal, event) = new();
        let count = Arc::new(Count::default());
        for _ in 0..1000 {
            assert!(poll(&mut event.clone().into_future(), &count).is_pending());
        }
        assert_eq!((Arc::strong_count(&count), wakers_of(&event)), (1, Some(0)));
        // One that comes later is woken by the callback of the first.
        let mut future = (&event).into_future();
        assert!(poll(&mut future, &count).is_pending());
        signal.complete(Ok(()), None);
        assert_eq!((count.get(), wakers_of(&event)), (1, None));
    }

    #[test]
    fn an_event_that_goes_without_an_end_leaves_nothing() {
        let (signal, event) = new();
        let (count, key) = (Arc::new(Count::default()), Arc::as_ptr(event.backend()).addr());
        let mut future = event.into_future();
        assert!(poll(&mut future, &count).is_pending());
        drop((future, signal));
        assert!(!awaited().contains_key(&key));
        assert_eq!((count.get(), Arc::strong_count(&count)), (0, 1));
    }

    #[test]
    fn a_waker_may_panic_and_may_come_back_for_the_event() {
        struct Panics;
        impl Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("on purpose");
            }
        }
        struct Polls(Mutex<Option<EventFuture>>, Count);
        impl Wake for Polls {
            fn wake(self: Arc<Self>) {
                let mut future = self.0.lock().unwrap().take().unwrap();
                let waker = Waker::from(Arc::clone(&self));
                assert!(Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_ready());
                self.1.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let (signal, event) = new();
        let mut first = (&event).into_future();
        let panics = Waker::from(Arc::new(Panics));
        assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&panics)).is_pending());
        let polls = Arc::new(Polls(Mutex::default(), Count::default()));
        let mut second = (&event).into_future();
        let waker = Waker::from(Arc::clone(&polls));
        assert!(Pin::new(&mut second).poll(&mut Context::from_waker(&waker)).is_pending());
        *polls.0.lock().unwrap() = Some(second);
        assert!(signal.complete(Ok(()), None));
        assert_eq!(polls.1.get(), 1);
    }

    #[test]
    fn nothing_is_lost_between_the_question_and_the_end() {
        for _ in 0..2000 {
            let (signal, event) = new();
            let awaiting: Vec<_> = (0..2)
                .map(|_| {
                    let mut future = (&event).into_future();
                    thread::spawn(move || {
                        struct Unpark(thread::Thread);
                        impl Wake for Unpark {
                            fn wake(self: Arc<Self>) {
                                self.0.unpark();
                            }
                        }
                        let waker = Waker::from(Arc::new(Unpark(thread::current())));
                        while Pin::new(&mut future).poll(&mut Context::from_waker(&waker)).is_pending() {
                            thread::park();
                        }
                    })
                })
                .collect();
            thread::yield_now();
            signal.complete(Ok(()), None);
            for thread in awaiting {
                thread.join().unwrap();
            }
            assert_eq!(wakers_of(&event), None);
        }
    }

    #[test]
    fn callbacks_have_the_outcome_once_and_their_panics_stay_theirs() {
        let (signal, event) = new();
        let outcomes = Arc::new(Mutex::new(Vec::new()));
        let note = |place: &'static str| {
            let outcomes = Arc::clone(&outcomes);
            move |outcome: Result<()>| outcomes.lock().unwrap().push((place, outcome.is_ok()))
        };
        event.on_complete(|_| panic!("on purpose"));
        event.on_complete(note("before"));
        signal.complete(Err(failure()), None);
        event.on_complete(|_| panic!("on purpose"));
        event.on_complete(note("after"));
        Event::ready().on_complete(note("of nothing"));
        // Also what is thrown may panic.
        struct Thrown;
        impl Drop for Thrown {
            fn drop(&mut self) {
                panic!("on purpose");
            }
        }
        event.on_complete(|_| std::panic::panic_any(Thrown));
        assert_eq!(*outcomes.lock().unwrap(), [("before", false), ("after", false), ("of nothing", true)]);
        assert_eq!(Arc::strong_count(&outcomes), 1);
    }
}
