//! The thread of a device that does what a callback of the driver must not: noting ends of commands, calling back, and enqueueing
//! what was held back.
//!
//! Behind what is watched, a stream of its own for each stream calls back, so that no command waits for a callback. The callback
//! says that there is something to see, and nothing else. Where the driver does not call back (it does not after a fault), the
//! worker looks by itself now and then.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use stridewise_core::backend::start_thread;
use stridewise_core::backend::sync::Section;
use stridewise_core::{Error, Result};

use crate::event::CudaEvent;
use crate::handle::{StreamObject, home};
use crate::stream::Stream;
use crate::symbols::Refused;

/// How often the worker looks while it watches something, where the driver calls back, and where it does not.
const LOOKS: [Duration; 2] = [Duration::from_millis(20), Duration::from_micros(500)];

/// What the worker does.
pub(crate) enum Job {
    /// Note the end of a command that the driver has, when it comes.
    Watch(Arc<CudaEvent>),
    /// Something has ended.
    Look,
    /// Something that was held back until now.
    Run(Box<dyn FnOnce() + Send>),
}

/// The sending end of a worker's list of jobs; its thread ends when it is dropped.
pub(crate) struct Worker {
    jobs: Mutex<Sender<Job>>,
    number: usize,
}

/// The workers that callbacks tell, by number.
static TOLD: Mutex<BTreeMap<usize, Sender<Job>>> = Mutex::new(BTreeMap::new());

fn told() -> MutexGuard<'static, BTreeMap<usize, Sender<Job>>> {
    // Nothing panics while the lock is held, so poison means nothing.
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The driver's callback: it only tells. What it is given is a number.
unsafe extern "system" fn ended(worker: *mut c_void) {
    if let Some(jobs) = told().get(&worker.addr()) {
        // A worker that has gone has nothing to look at.
        let _ = jobs.send(Job::Look);
    }
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system cannot start it.
    pub(crate) fn start() -> Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (sender, jobs) = channel::<Job>();
        let thread = std::thread::Builder::new().name("stridewise-cuda".to_owned());
        let thread = start_thread(thread, move || Watch::new(number).run(&jobs));
        match thread {
            Ok(_) => {
                told().insert(number, sender.clone());
                Ok(Self { jobs: Mutex::new(sender), number })
            }
            Err(error) => Err(Error::runtime(
                "thread::spawn",
                error,
                "a thread for the device's callbacks",
                "let the process have more threads",
            )),
        }
    }

    pub(crate) fn send(&self, job: Job) {
        // Sent only while a `Shared`, and so the thread, is alive; a job that finds no thread has nobody waiting.
        let _ = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).send(job);
    }

    /// Waits until everything is done that was sent before, but not for longer than until then.
    pub(crate) fn settle(&self, deadline: Instant) {
        let (done, over) = channel();
        self.send(Job::Run(Box::new(move || {
            // Who waited no longer is not told.
            let _ = done.send(());
        })));
        let _ = over.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // In a process that was forked, a thread that is not there may have the lock.
        if home().is_here() {
            told().remove(&self.number);
        }
    }
}

/// What a worker watches.
struct Watch {
    number: usize,
    /// Events by the numbers of their streams, and theirs in these.
    events: BTreeMap<(u64, u64), Vec<Arc<CudaEvent>>>,
    /// For each stream that is watched, the one that calls back.
    callers: HashMap<u64, (Weak<Stream>, StreamObject)>,
    /// Whether the driver calls back for all of them.
    calls: bool,
}

impl Watch {
    fn new(number: usize) -> Self {
        Self { number, events: BTreeMap::new(), callers: HashMap::new(), calls: true }
    }

    fn run(mut self, jobs: &Receiver<Job>) {
        loop {
            let job = match self.events.is_empty() {
                true => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => jobs.recv_timeout(LOOKS[usize::from(!self.calls)]),
            };
            let mut job = match job {
                Ok(job) => Some(job),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let _section = Section::enter();
            // All that has been sent by now, so that one look serves for all.
            while let Some(next) = job.take() {
                match next {
                    Job::Watch(event) => self.watch(event),
                    Job::Look => {}
                    Job::Run(run) => run(),
                }
                job = jobs.try_recv().ok();
            }
            self.look();
        }
    }

    fn watch(&mut self, event: Arc<CudaEvent>) {
        let Some(native) = event.native() else { return };
        let (stream, ticket) = (native.stream.number, native.ticket);
        if event.settle() {
            return;
        }
        if self.call_back(&event).is_err() {
            self.calls = false;
        }
        self.events.entry((stream, ticket)).or_default().push(event);
    }

    /// Has the driver call back when a command has ended.
    fn call_back(&mut self, event: &CudaEvent) -> Result<(), Refused> {
        let Some(native) = event.native() else { return Ok(()) };
        let context = &event.device().context;
        let _current = context.enter()?;
        let marker = native.end()?;
        let number = native.stream.number;
        if !self.callers.contains_key(&number) {
            self.callers.retain(|_, (stream, _)| stream.strong_count() > 0);
            let caller = StreamObject::make(context, false)?;
            self.callers.insert(number, (Arc::downgrade(&native.stream), caller));
        }
        let caller = &self.callers[&number].1;
        caller.wait_for(marker.event())?;
        let worker = std::ptr::without_provenance_mut(self.number);
        // SAFETY: the stream is live; the function takes a number, which is looked up, so it may be called at any time.
        unsafe { context.api.launch_host(caller.raw(), ended, worker) }
    }

    /// Notes what has ended: of each stream the first ones, as those behind end later.
    fn look(&mut self) {
        let mut after = Bound::Unbounded;
        while let Some((&key, events)) = self.events.range((after, Bound::Unbounded)).next() {
            after = match events.iter().all(|event| event.settle()) {
                true => {
                    self.events.remove(&key);
                    Bound::Excluded(key)
                }
                // The rest of this stream is still to come.
                false => Bound::Excluded((key.0, u64::MAX)),
            };
        }
        if self.events.is_empty() {
            self.calls = true;
        }
    }
}
