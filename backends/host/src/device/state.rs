//! What queues and tasks share of a device: its threads, and who takes part in short work.

use std::sync::Arc;
use std::time::Instant;

use rayon::ThreadPool;
use stridewise_core::Result;
use stridewise_core::backend::{Home, PerProcess};

use crate::fork_join::helping::{Stage, Stream};
use crate::fork_join::{self, BlockingThreads, Entered, Pool, Workers};
use crate::kernels::Tuning;

/// What queues and tasks share of a device.
pub(crate) struct DeviceState {
    /// For kernels on the pool.
    pub(crate) tuning: Tuning,
    /// Zero of all time stamps; sub-devices have their parent's.
    pub(crate) origin: Instant,
    /// The processors that the device's threads run on.
    pub(crate) cpus: Vec<usize>,
    pinned: bool,
    /// The program's pool of rayon's, whose threads the device's are; none where the device has threads of its own.
    pub(super) rayon: Option<(Arc<ThreadPool>, Home)>,
    pool: PerProcess<Workers>,
    /// Threads for host tasks.
    pub(crate) blocking: PerProcess<Arc<BlockingThreads>>,
    stream: Stream,
}

impl DeviceState {
    pub(super) fn new(
        tuning: Tuning,
        origin: Instant,
        cpus: Vec<usize>,
        pinned: bool,
        rayon: Option<(Arc<ThreadPool>, Home)>,
    ) -> Self {
        Self {
            tuning,
            origin,
            cpus,
            pinned,
            rayon,
            pool: PerProcess::default(),
            blocking: PerProcess::default(),
            stream: Stream::default(),
        }
    }

    /// The device's pool; the first call starts its threads.
    ///
    /// # Errors
    /// The system cannot start the threads.
    pub(crate) fn pool(&self) -> Result<&Arc<Pool>> {
        let threads = self.tuning.threads;
        let workers = self.pool.get_or_try_init(|| match &self.rayon {
            Some((rayon, home)) => home.check().map(|()| Pool::on_rayon(rayon, threads, &self.cpus)),
            None => Pool::start(threads, &self.cpus, self.pinned),
        });
        workers.map(|workers| &**workers)
    }

    /// Runs work on the calling thread that is too short to wake anybody for. Where it is worth sharing and a worker is awake, that
    /// takes part; and where the thread has gone on with such work for long, one is woken for what comes next.
    #[inline]
    pub(crate) fn run_here<R>(&self, is_shared: bool, work: impl FnOnce(&Tuning) -> R) -> R {
        if is_shared && self.tuning.threads > 1 { self.run_helped(work) } else { work(&self.alone()) }
    }

    /// The tuning of who computes alone.
    fn alone(&self) -> Tuning {
        Tuning { threads: 1, ..self.tuning }
    }

    /// Runs work on the calling thread and one that is awake, if one is.
    #[inline(never)]
    fn run_helped<R>(&self, work: impl FnOnce(&Tuning) -> R) -> R {
        let helped = match self.stream.begins(self.origin.elapsed()) {
            Stage::Disputed => None,
            stage => self.helper(stage == Stage::Long),
        };
        let result = match helped {
            Some((pool, _entered)) => {
                // A third thread would gain a sixth of the time at most, and those that wait for it lose as much.
                fork_join::within(pool, fork_join::NO_COMMAND, || work(&Tuning { threads: 2, ..self.tuning }))
            }
            None => work(&self.alone()),
        };
        self.stream.ends(self.origin.elapsed());
        result
    }

    /// Runs work that its caller waits for, on the calling thread and all others of the device; not where as many compute already
    /// as may.
    pub(crate) fn run_on_all<R>(&self, work: impl FnOnce(&Tuning) -> R) -> Option<R> {
        if self.tuning.threads <= 1 {
            return Some(work(&self.tuning));
        }
        let pool = self.pool().ok()?;
        let _entered = pool.enter_at_once()?;
        Some(fork_join::within(pool, fork_join::NO_COMMAND, || work(&self.tuning)))
    }

    /// The pool, where one of its workers is awake to help; if none is, one may be woken to come later.
    fn helper(&self, wake: bool) -> Option<(&Arc<Pool>, Entered<'_>)> {
        let pool = match self.started() {
            Some(pool) => pool,
            None if wake => self.pool().ok()?,
            None => return None,
        };
        Some((pool, pool.enter(wake)?))
    }

    /// The device's pool, if it was started.
    pub(crate) fn started(&self) -> Option<&Arc<Pool>> {
        self.pool.get().map(|workers| &**workers)
    }
}
