//! The worker threads of one device.
//!
//! A pool has commands that are ready (`State::ready`), forks whose parts wait for helpers (`State::forks`),
//! and workers that look for either; all of it is under one lock, which is held for a fraction of a
//! microsecond and never while anything runs. A worker goes
//! ```text
//! Asleep ──woken──► Called ──finds──► Working ──done──► Lingering ──nothing for 25 µs──► Asleep
//!                                        ▲─────finds──────────┘
//! ```
//! Whoever adds something says so (`announce`) and wakes as many workers as are missing, less those who
//! linger (`calls`): to wake a thread costs more than most commands. Threads that wait for an event compute,
//! too (`take`, `join`), and count as workers do (`busy`).
//!
//! Three things must hold. No thread waits here for another: who claims a part is awake. A worker falls
//! asleep under the lock, after it found nothing: who adds something later sees that it has to be woken. No
//! more threads compute than the device has, except where `relief.rs` finds that nobody begins what is ready.
//! The tests in `interleavings.rs` run the orders of threads; constants of time were measured, each with its
//! reason.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, PoisonError, TryLockError, Weak};
use std::time::Duration;

use rayon::ThreadPool;
use smallvec::SmallVec;
use stridewise_core::backend::primitives::atomic::{AtomicBool, AtomicUsize, Ordering};
use stridewise_core::backend::primitives::thread::{self, Thread};
use stridewise_core::backend::primitives::{Instant, Mutex, MutexGuard, hint};
use stridewise_core::backend::start_thread;
use stridewise_core::{Error, Result};

use super::blocking::{BlockingThreads, STACK_BYTES};
use super::{Direction, Fork};
use crate::topology;

mod relief;

use relief::Relief;

/// How long a worker that has run out of work looks for more before it sleeps: waking it costs 10 to 25 µs, of which its
/// caller pays several. As long, whoever waits for parts that others finish looks for some that it can run. A worker does not yield meanwhile: among other processes that is to be away for milliseconds, while those
/// who publish something count on it.
pub(crate) const LINGER: Duration = Duration::from_micros(25);

/// How long a worker that looks for more leaves a new command to who submitted it: a thread that waits for it at once begins
/// it sooner than anybody else, and this worker then helps. Had the worker begun it, the help would be another worker's, on
/// the processor of the thread that waits.
const GRACE: Duration = Duration::from_micros(4);

/// How long a thread that has submitted is taken to go on, on a processor that nobody is woken for then: a worker there would take it
/// away from that thread for [`LINGER`] and more.
const GOES_ON: Duration = Duration::from_millis(1);

/// Threads of a device up to which somebody is woken there all the same, as one of few is missed.
const FEW_THREADS: usize = 4;

/// How long a worker that is a job of rayon's goes on before it gives the thread back, even where there is more to do: others
/// may have jobs, too.
const SESSION: Duration = Duration::from_millis(1);

/// How often a lock is asked for awake, each time after twice as long: 10 to 50 µs in all.
const LOCK_ROUNDS: u32 = 10;

/// A command that a pool runs.
pub(crate) trait Job: Send {
    /// A number that no other command has as long as this one is there: who waits for it finds it, and its forks, by that.
    fn command(&self) -> usize;
    /// Runs it to the end, on a thread that computes for the pool. It has a hold on the pool while it runs.
    fn run(self: Box<Self>);
}

/// Threads of a device's own, the commands that are ready for it, and the forks that its threads take part in.
///
/// Computing threads are counted: workers, and threads that wait for an event and so run its command themselves. Together
/// they are as many as the device has threads at most, so a device of one thread computes one command at a time, wherever.
///
/// A worker is bound to its processor, and who has parts to share wakes workers of other processors than its own: left to
/// itself, the system wakes a thread beside the one that woke it, where it could not begin before that one is done.
pub(crate) struct Pool {
    this: Weak<Self>,
    threads: usize,
    /// The processors of the device.
    cpus: Vec<usize>,
    /// Whether workers are bound to them, one each.
    pinned: bool,
    staff: Staff,
    /// Threads beside the workers, for commands that would wait for long.
    spare: Arc<BlockingThreads>,
    state: Mutex<State>,
    /// Grows whenever there is more to do.
    news: AtomicUsize,
    /// Whether the last fork went backwards.
    backwards: AtomicBool,
}

/// Whose threads the workers are.
enum Staff {
    /// The pool's own, which sleep when there is nothing to do.
    Own(OnceLock<Vec<Thread>>),
    /// Those of a pool of rayon's that the program has: a worker is a job of that pool as long as there is something to do, and
    /// no thread is anybody's in between.
    Rayon(Arc<ThreadPool>),
}

struct State {
    ready: VecDeque<Box<dyn Job>>,
    forks: Vec<Arc<Fork>>,
    /// Threads that compute.
    busy: usize,
    /// What each worker does.
    phases: Vec<Phase>,
    /// Where a thread that submits goes on, and when it submitted last; not noted where there are few threads.
    submitter: Option<(usize, Instant)>,
    /// Whether nobody has the device any more.
    closed: bool,
    relief: Relief,
}

/// What a worker does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It was woken.
    Called,
    /// It looks for more to do.
    Lingering,
    Working,
    Asleep,
}

/// What a worker found.
enum Found {
    Job(Box<dyn Job>),
    Fork(Arc<Fork>),
}

/// A thread that computes for a pool, besides its workers and those that wait.
pub(crate) struct Entered<'a>(&'a Pool);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// The device's hold on its pool. Its workers end when it goes, which is when no command is left, as every one has a hold on
/// the device; none is waited for, as the last owner may be one of them.
pub(crate) struct Workers(Arc<Pool>);

impl Deref for Workers {
    type Target = Arc<Pool>;
    fn deref(&self) -> &Arc<Pool> {
        &self.0
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.announce();
        if let Staff::Own(handles) = &self.0.staff {
            handles.get().into_iter().flatten().for_each(Thread::unpark);
        }
    }
}

/// As long as other short lists of numbers are: each length is a list type of its own, compiled once more.
type Calls = SmallVec<[usize; 4]>;

impl Pool {
    fn new(threads: usize, cpus: &[usize], pinned: bool, staff: Staff, phase: Phase) -> Arc<Self> {
        let state = State {
            ready: VecDeque::new(),
            forks: Vec::new(),
            busy: 0,
            phases: vec![phase; threads],
            submitter: None,
            closed: false,
            relief: Relief::default(),
        };
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            threads,
            cpus: cpus.to_vec(),
            pinned,
            staff,
            spare: Arc::default(),
            state: Mutex::new(state),
            news: AtomicUsize::new(0),
            backwards: AtomicBool::new(false),
        })
    }

    /// Starts the workers of a device of these processors; where they are pinned, the i-th is bound to the i-th of them.
    pub(crate) fn start(threads: usize, cpus: &[usize], pinned: bool) -> Result<Workers> {
        let workers = Workers(Self::new(threads, cpus, pinned, Staff::Own(OnceLock::new()), Phase::Called));
        let mut handles = Vec::with_capacity(threads);
        let mut refusal = None;
        for index in 0..threads {
            let pool = Arc::clone(&workers);
            let thread =
                thread::Builder::new().name(format!("stridewise-host-{index}")).stack_size(STACK_BYTES);
            let worker = start_thread(thread, move || {
                topology::take_short_turns();
                pool.work(index);
            });
            match worker {
                Ok(worker) => handles.push(worker.thread().clone()),
                // Those that are there sleep, or will; dropping `workers` ends them.
                Err(error) => {
                    refusal = Some(refused(threads, &error));
                    break;
                }
            }
        }
        if let Staff::Own(own) = &workers.staff {
            let _ = own.set(handles);
        }
        refusal.map_or(Ok(workers), Err)
    }

    /// A pool whose workers are jobs of a pool of rayon's.
    pub(crate) fn on_rayon(pool: &Arc<ThreadPool>, threads: usize, cpus: &[usize]) -> Workers {
        Workers(Self::new(threads, cpus, false, Staff::Rayon(Arc::clone(pool)), Phase::Asleep))
    }

    /// Whether the calling thread is one that the workers run on: while it waits, one worker less can come.
    pub(crate) fn is_own_thread(&self) -> bool {
        matches!(&self.staff, Staff::Rayon(pool) if pool.current_thread_index().is_some())
    }

    /// Whether one more thread may compute: as many do at most as the device has, and those that workers run on in any case; and
    /// whoever waits where others keep all of these.
    fn has_room(&self, state: &State) -> bool {
        state.busy < self.threads || state.relief.starved || self.is_own_thread()
    }

    /// Counts a thread that begins a command, or to help with one.
    fn begin(&self, state: &mut State) {
        state.busy += 1;
        state.relief.begun += 1;
    }

    /// Counts a thread that is done with what it began.
    fn end(&self, state: &mut State) {
        state.busy -= 1;
        state.relief.starved &= state.busy >= self.threads;
    }

    /// A number that changes whenever there is more to do.
    pub(crate) fn news(&self) -> usize {
        self.news.load(Ordering::Acquire)
    }

    /// Takes a command whose waits are terminal.
    pub(crate) fn enqueue(&self, job: Box<dyn Job>) {
        let noted = if self.threads > FEW_THREADS { self.here() } else { None };
        let submitter = noted.map(|cpu| (cpu, Instant::now()));
        let mut state = self.lock();
        state.submitter = submitter;
        state.ready.push_back(job);
        self.announce();
        let watch = self.wants_watch(&mut state);
        if self.wants_relief(&state) {
            self.relieve(state);
        } else {
            let calls = self.calls(&mut state, 0);
            drop(state);
            self.wake(&calls);
        }
        if watch {
            self.watch();
        }
    }

    /// Gives a command to the calling thread, which waits for it, where none has begun it and fewer threads compute than
    /// may. Whoever gets it runs it and says [`leave`](Self::leave).
    pub(crate) fn take(&self, command: usize) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        if !self.has_room(&state) {
            return None;
        }
        let position = state.ready.iter().position(|job| job.command() == command)?;
        let job = state.ready.remove(position)?;
        self.begin(&mut state);
        Some(job)
    }

    /// A fork of a command that the calling thread, which waits for that, may help with. Whoever gets one helps and says
    /// [`leave`](Self::leave).
    pub(crate) fn join(&self, command: usize) -> Option<Arc<Fork>> {
        let mut state = self.lock();
        if !self.has_room(&state) {
            return None;
        }
        let fork =
            state.forks.iter().find(|fork| fork.command() == command && fork.is_open()).map(Arc::clone)?;
        fork.joined();
        self.begin(&mut state);
        Some(fork)
    }

    /// Lets the calling thread compute for the pool, where fewer threads do than may, and a worker that is awake would help at
    /// once; where none is, one is woken to be awake later, if wanted.
    pub(crate) fn enter(&self, wake: bool) -> Option<Entered<'_>> {
        // Whoever has the lock now, has it for ever in a process that was forked meanwhile.
        let mut state = self.state.try_lock().ok()?;
        if state.busy >= self.threads {
            return None;
        }
        if self.elsewhere(&state.phases, self.here()).any(|phase| phase == Phase::Lingering) {
            state.busy += 1;
            return Some(Entered(self));
        }
        if wake {
            let calls = self.calls(&mut state, 1);
            drop(state);
            self.wake(&calls);
        }
        None
    }

    /// [`enter`](Self::enter), whoever is awake.
    pub(crate) fn enter_at_once(&self) -> Option<Entered<'_>> {
        let mut state = self.state.try_lock().ok()?;
        (state.busy < self.threads).then(|| {
            state.busy += 1;
            Entered(self)
        })
    }

    /// Ends what [`take`](Self::take) or [`join`](Self::join) began.
    pub(crate) fn leave(&self) {
        let mut state = self.lock();
        self.end(&mut state);
        let calls = self.calls(&mut state, 0);
        drop(state);
        self.wake(&calls);
    }

    /// Offers the parts of a fork. One worker is woken: who comes wakes others, so that the owner has one to pay for.
    pub(crate) fn publish(&self, fork: &Arc<Fork>) {
        let mut state = self.lock();
        state.forks.push(Arc::clone(fork));
        self.announce();
        let calls = self.calls(&mut state, 1);
        drop(state);
        self.wake(&calls);
    }

    /// Takes back a fork, of which no part is left.
    pub(crate) fn retire(&self, fork: &Arc<Fork>) {
        let mut state = self.lock();
        if let Some(at) = state.forks.iter().rposition(|other| Arc::ptr_eq(other, fork)) {
            state.forks.remove(at);
        }
    }

    /// Which workers to wake, for the commands that are ready and as many helpers: those of other processors than the calling thread's
    /// and than that of a thread which has just submitted and goes on, if there are.
    fn calls(&self, state: &mut State, helpers: usize) -> Calls {
        let mut calls = Calls::new();
        let wanted = state.ready.len() + helpers;
        if wanted == 0 {
            return calls;
        }
        let here = self.here();
        let is_here = |worker: usize| self.is_at(worker, here);
        let submitter = state.submitter.filter(|(_, at)| at.elapsed() < GOES_ON);
        let is_taken = |worker: usize| {
            is_here(worker) || submitter.is_some_and(|(cpu, _)| self.is_at(worker, Some(cpu)))
        };
        let phases = &mut state.phases;
        let looks = |phase: &Phase| matches!(phase, Phase::Called | Phase::Lingering);
        let coming = self.elsewhere(phases, here).filter(looks).count();
        let free = self.threads.saturating_sub(state.busy + coming);
        let mut missing = wanted.saturating_sub(coming).min(free);
        for (worker, phase) in phases.iter_mut().enumerate() {
            if missing > 0 && *phase == Phase::Asleep && !is_taken(worker) {
                *phase = Phase::Called;
                calls.push(worker);
                missing -= 1;
            }
        }
        // Beside the calling thread only what would have nobody else: a command.
        let first = state.ready.len().saturating_sub(coming + calls.len()).min(missing);
        if first > 0
            && let Some(worker) = (0..phases.len()).find(|&w| is_here(w))
            && phases[worker] == Phase::Asleep
        {
            phases[worker] = Phase::Called;
            calls.push(worker);
        }
        calls
    }

    /// The processors that workers are bound to, one each; or none.
    fn pins(&self) -> Option<&[usize]> {
        self.pinned.then_some(&*self.cpus)
    }

    /// Whether a worker is bound to a processor.
    fn is_at(&self, worker: usize, cpu: Option<usize>) -> bool {
        self.pins().is_some_and(|pins| pins.get(worker).copied() == cpu)
    }

    /// What the workers of other processors than one do.
    fn elsewhere(&self, phases: &[Phase], cpu: Option<usize>) -> impl Iterator<Item = Phase> {
        let is_elsewhere = move |&(worker, _): &(usize, &Phase)| !self.is_at(worker, cpu);
        phases.iter().enumerate().filter(is_elsewhere).map(|(_, phase)| *phase)
    }

    fn wake(&self, workers: &[usize]) {
        match &self.staff {
            Staff::Own(handles) => {
                let handles = handles.get().map_or(&[][..], Vec::as_slice);
                workers.iter().filter_map(|&worker| handles.get(worker)).for_each(Thread::unpark);
            }
            Staff::Rayon(rayon) => {
                for &worker in workers {
                    if let Some(pool) = self.this.upgrade() {
                        rayon.spawn(move || pool.work(worker));
                    }
                }
            }
        }
    }

    /// What a worker does: whatever there is; where there is nothing for a while, it sleeps, or as a job of rayon's ends.
    fn work(&self, index: usize) {
        pin(self.pins(), index);
        let is_job = matches!(self.staff, Staff::Rayon(_));
        let begin = Instant::now();
        let mut state = self.lock();
        let mut patient = true;
        loop {
            if is_job && begin.elapsed() > SESSION {
                // Perhaps it is called again at once, behind the jobs of others.
                state.phases[index] = Phase::Asleep;
                let calls = self.calls(&mut state, 0);
                drop(state);
                return self.wake(&calls);
            }
            if let Some(work) = self.pick(&mut state) {
                state.phases[index] = Phase::Working;
                let others = usize::from(matches!(&work, Found::Fork(fork) if fork.is_open()));
                let calls = self.calls(&mut state, 2 * others);
                let watch = self.wants_watch(&mut state);
                drop(state);
                self.wake(&calls);
                if watch {
                    self.watch();
                }
                match work {
                    Found::Job(job) => job.run(),
                    Found::Fork(fork) => fork.help(),
                }
                state = self.lock();
                self.end(&mut state);
                state.phases[index] = Phase::Lingering;
                patient = true;
            } else if state.closed {
                return;
            } else if patient && state.busy < self.threads {
                // Counted on by who publishes something from now on, until it sleeps.
                let seen = self.news();
                state.phases[index] = Phase::Lingering;
                drop(state);
                patient = self.wait(LINGER, seen);
                state = self.lock();
                if patient && state.forks.is_empty() && !state.ready.is_empty() {
                    let seen = self.news();
                    drop(state);
                    self.wait(GRACE, seen);
                    state = self.lock();
                }
            } else {
                state.phases[index] = Phase::Asleep;
                if self.wants_watch(&mut state) {
                    drop(state);
                    self.watch();
                    state = self.lock();
                }
                if is_job {
                    return;
                }
                while state.phases[index] == Phase::Asleep && !state.closed {
                    drop(state);
                    thread::park();
                    state = self.lock();
                }
                patient = true;
            }
        }
    }

    /// Waits awake for news; whether there are any.
    fn wait(&self, time: Duration, seen: usize) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < time {
            if self.news() != seen {
                return true;
            }
            hint::spin_loop();
        }
        false
    }

    /// Parts of what is under way before commands that are not; but where workers are bound, not those of a thread on the same
    /// processor, which that one runs sooner alone.
    fn pick(&self, state: &mut State) -> Option<Found> {
        if state.busy >= self.threads {
            return None;
        }
        let here = self.here();
        let can_help = |fork: &&Arc<Fork>| fork.is_open() && (here.is_none() || fork.cpu() != here);
        let fork = state.forks.iter().find(can_help).inspect(|fork| fork.joined()).map(Arc::clone);
        let work = fork.map(Found::Fork).or_else(|| state.ready.pop_front().map(Found::Job))?;
        self.begin(state);
        Some(work)
    }

    /// The order for the next fork: another than the last fork's.
    pub(crate) fn direction(&self) -> Direction {
        if self.backwards.load(Ordering::Relaxed) { Direction::Forwards } else { Direction::Backwards }
    }

    /// Remembers the order of a fork. Of two threads that fork at once both may go the same way, which costs no more than
    /// what the caches would have saved.
    pub(crate) fn went(&self, direction: Direction) {
        self.backwards.store(direction == Direction::Backwards, Ordering::Relaxed);
    }

    /// Which of the pool's processors the calling thread is on, and how many there are, where workers are bound to theirs.
    pub(crate) fn seat(&self) -> Option<(usize, usize)> {
        let (pins, here) = (self.pins()?, topology::current_cpu()?);
        pins.iter().position(|&cpu| cpu == here).map(|seat| (seat, pins.len()))
    }

    /// The processor of the calling thread, where workers are bound to theirs.
    fn here(&self) -> Option<usize> {
        self.pins().and_then(|_| topology::current_cpu())
    }

    /// Under the lock, after something was added: who reads the number before sees the rest by the lock.
    fn announce(&self) {
        self.news.fetch_add(1, Ordering::Release);
    }

    /// The lock is held for a fraction of a microsecond, and often asked for by all workers at once: if one of them slept
    /// meanwhile, all would, and be woken one by one.
    fn lock(&self) -> MutexGuard<'_, State> {
        for round in 0..LOCK_ROUNDS {
            match self.state.try_lock() {
                Ok(state) => return state,
                // Nothing in here panics while the lock is held, so poison means nothing.
                Err(TryLockError::Poisoned(poison)) => return poison.into_inner(),
                Err(TryLockError::WouldBlock) => (0..1 << round).for_each(|_| hint::spin_loop()),
            }
        }
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pin(pins: Option<&[usize]>, index: usize) {
    if let Some(cpu) = pins.and_then(|pins| pins.get(index)) {
        topology::pin_current(*cpu);
    }
}

fn refused(threads: usize, error: &std::io::Error) -> Error {
    Error::unsupported(
        "threads",
        threads,
        format!("as many worker threads as the system can start ({error})"),
        "set STRIDEWISE_NUM_THREADS to a smaller number, or raise the limit of processes (ulimit -u)",
    )
}
