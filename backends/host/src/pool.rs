//! The worker threads of one device.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use stridewise_core::{Error, Result};

use crate::event::HostEvent;
use crate::task::Task;
use crate::team::{self, Team};
use crate::topology;

/// Address space for a worker's stack, kernel tiles included; only touched pages cost memory. A worker that waits inside
/// a matrix product may take up a command meanwhile, on top of its stack.
const STACK_BYTES: usize = 8 << 20;
/// How long a worker that has run out of work looks for more before it sleeps: waking it costs 10 to 25 µs, of which its
/// caller pays several.
const LINGER: Duration = Duration::from_micros(50);

/// Threads of a device's own, the commands that are ready for it, and the forks that its threads take part in.
///
/// Computing threads are counted: workers, and threads that wait for an event and so run its command themselves. Together
/// they are as many as the device has threads at most, so a device of one thread computes one command at a time, wherever.
/// Threads are rayon's, because matrix products divide their work by it; commands and forks need of it only that a worker
/// wakes up.
pub(crate) struct Pool {
    rayon: ThreadPool,
    threads: usize,
    state: Mutex<State>,
    /// Grows whenever there is more to do.
    news: AtomicUsize,
    /// Functions under way that need rayon's workers.
    installed: AtomicUsize,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Task>,
    teams: Vec<Arc<Team>>,
    /// Threads that compute.
    busy: usize,
    /// Workers that were called, or look for more, and have yet to find something.
    coming: usize,
}

/// What a worker found.
enum Work {
    Task(Task),
    Team(Arc<Team>),
}

impl Pool {
    /// Starts the workers; with `pins`, the i-th is bound to the i-th of these processors.
    pub(crate) fn new(threads: usize, pins: Option<&[usize]>) -> Result<Self> {
        let pins: Option<Arc<[usize]>> = pins.map(Arc::from);
        let rayon = ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("stridewise-host-{i}"))
            .stack_size(STACK_BYTES)
            .start_handler(move |i| {
                if let Some(cpu) = pins.as_ref().and_then(|p| p.get(i)) {
                    topology::pin_current(*cpu);
                }
            })
            .build()
            .map_err(|error| {
                Error::unsupported(
                    "threads",
                    threads,
                    format!("as many worker threads as the system can start ({error})"),
                    "set STRIDEWISE_NUM_THREADS to a smaller number, or raise the limit of processes (ulimit -u)",
                )
            })?;
        let threads = rayon.current_num_threads();
        Ok(Self {
            rayon,
            threads,
            state: Mutex::default(),
            news: AtomicUsize::new(0),
            installed: AtomicUsize::new(0),
        })
    }

    /// Whether the calling thread is one of the workers.
    pub(crate) fn is_worker(&self) -> bool {
        self.rayon.current_thread_index().is_some()
    }

    /// A number that changes whenever there is more to do.
    pub(crate) fn news(&self) -> usize {
        self.news.load(Ordering::Acquire)
    }

    /// Takes a command whose waits are terminal.
    pub(crate) fn enqueue(self: &Arc<Self>, task: Task) {
        let mut state = self.lock();
        state.ready.push_back(task);
        self.announce();
        let calls = self.calls(&mut state, 0);
        drop(state);
        self.call(calls);
    }

    /// Gives the command of an event to the calling thread, which waits for it, where none has begun it and as many
    /// threads compute as may. Whoever gets it runs it and says [`leave`](Self::leave).
    pub(crate) fn take(&self, event: &HostEvent) -> Option<Task> {
        let mut state = self.lock();
        if state.busy >= self.threads {
            return None;
        }
        let position = state.ready.iter().position(|task| std::ptr::eq(Arc::as_ptr(&task.event), event))?;
        let task = state.ready.remove(position)?;
        state.busy += 1;
        Some(task)
    }

    /// A fork of a command that the calling thread, which waits for that, may help with. Whoever gets one helps and says
    /// [`leave`](Self::leave).
    pub(crate) fn join(&self, command: usize) -> Option<Arc<Team>> {
        let mut state = self.lock();
        if state.busy >= self.threads {
            return None;
        }
        let team = state.teams.iter().find(|team| team.command() == command && team.is_open()).map(Arc::clone)?;
        state.busy += 1;
        Some(team)
    }

    /// Ends what [`take`](Self::take) or [`join`](Self::join) began.
    pub(crate) fn leave(self: &Arc<Self>) {
        let mut state = self.lock();
        state.busy -= 1;
        let calls = self.calls(&mut state, 0);
        drop(state);
        self.call(calls);
    }

    /// Offers the parts of a fork to as many threads. One is woken: who comes wakes others, so that the owner has one to
    /// pay for.
    pub(crate) fn publish(self: &Arc<Self>, team: &Arc<Team>, helpers: usize) {
        let mut state = self.lock();
        state.teams.push(Arc::clone(team));
        self.announce();
        let calls = self.calls(&mut state, helpers.min(1));
        drop(state);
        self.call(calls);
    }

    /// Takes back a fork, of which no part is left.
    pub(crate) fn retire(&self, team: &Arc<Team>) {
        let mut state = self.lock();
        if let Some(at) = state.teams.iter().rposition(|other| Arc::ptr_eq(other, team)) {
            state.teams.remove(at);
        }
    }

    /// Runs a function that divides its work by rayon.
    pub(crate) fn install<R: Send>(self: &Arc<Self>, command: usize, work: impl FnOnce() -> R + Send) -> R {
        /// Counted down also when the function panics.
        struct Count<'a>(&'a AtomicUsize);
        impl Drop for Count<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Release);
            }
        }
        self.installed.fetch_add(1, Ordering::Release);
        let _count = Count(&self.installed);
        if self.is_worker() {
            return work();
        }
        self.rayon.install(|| team::within(self, command, work))
    }

    /// How many workers to call, for the commands that are ready and as many helpers; they count as coming.
    fn calls(&self, state: &mut State, helpers: usize) -> usize {
        let free = self.threads.saturating_sub(state.busy + state.coming);
        let calls = (state.ready.len() + helpers).saturating_sub(state.coming).min(free);
        state.coming += calls;
        calls
    }

    // The job owns the pool. The last owner may so be a worker; that is sound because dropping a rayon pool only tells its
    // workers to end and joins none of them, and because rayon ends a worker only when no spawned job is left.
    fn call(self: &Arc<Self>, workers: usize) {
        for _ in 0..workers {
            let pool = Arc::clone(self);
            self.rayon.spawn(move || pool.look());
        }
    }

    /// What a worker does once it was called: whatever there is, until there is nothing for a while.
    fn look(self: &Arc<Self>) {
        let mut state = self.lock();
        state.coming -= 1;
        loop {
            // Rayon's own jobs have this thread to themselves; what is left is for another call.
            let brief = self.installed.load(Ordering::Acquire) > 0;
            if let Some(work) = self.pick(&mut state) {
                let others = usize::from(matches!(&work, Work::Team(team) if team.is_open()));
                let calls = self.calls(&mut state, 2 * others);
                drop(state);
                self.call(calls);
                match work {
                    Work::Task(task) => task.run_in_pool(self),
                    Work::Team(team) => team.help(self),
                }
                state = self.lock();
                state.busy -= 1;
                if brief {
                    break;
                }
            } else if brief || state.busy >= self.threads {
                // Whoever leaves calls again.
                break;
            } else {
                let seen = self.news();
                state.coming += 1;
                drop(state);
                let found = self.linger(seen);
                state = self.lock();
                state.coming -= 1;
                // Looked at again under the lock: whoever published something counted on this worker until now.
                if !found && state.ready.is_empty() && !state.teams.iter().any(|team| team.is_open()) {
                    break;
                }
            }
        }
        let calls = self.calls(&mut state, 0);
        drop(state);
        self.call(calls);
    }

    /// Waits a little for news; whether there are any.
    fn linger(&self, seen: usize) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < LINGER && self.installed.load(Ordering::Relaxed) == 0 {
            if self.news() != seen {
                return true;
            }
            // Others may need the processor.
            std::thread::yield_now();
        }
        false
    }

    /// Parts of what is under way before commands that are not.
    fn pick(&self, state: &mut State) -> Option<Work> {
        if state.busy >= self.threads {
            return None;
        }
        let team = state.teams.iter().find(|team| team.is_open()).map(Arc::clone);
        let work = team.map(Work::Team).or_else(|| state.ready.pop_front().map(Work::Task))?;
        state.busy += 1;
        Some(work)
    }

    /// Under the lock, after something was added: a thread that reads the number before sees the rest by the lock.
    fn announce(&self) {
        self.news.fetch_add(1, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
