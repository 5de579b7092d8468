//! The worker threads of one device.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};
use stridewise_core::{Error, Result};

use crate::device::DeviceState;
use crate::task::Task;
use crate::topology;

/// Address space for a worker's stack. A worker that waits for its part of a split kernel takes up other work
/// meanwhile, on top of its stack, kernel tiles included; only touched pages cost memory.
const STACK_BYTES: usize = 8 << 20;

/// A rayon pool of a device's own, and the commands that are ready for it.
///
/// Commands enter the pool in the order in which they became ready, and at most as many as there are threads are in it
/// at a time: every command that a waiting worker takes up lies on top of that worker's stack and delays the command
/// below, so the number in the pool bounds both.
pub(crate) struct Pool {
    rayon: ThreadPool,
    ready: Mutex<Ready>,
}

#[derive(Default)]
struct Ready {
    tasks: VecDeque<Task>,
    active: usize,
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
        Ok(Self { rayon, ready: Mutex::default() })
    }

    /// Takes a command whose waits are terminal. `device` is the one that this pool belongs to.
    pub(crate) fn enqueue(&self, device: &Arc<DeviceState>, task: Task) {
        let enter = {
            let mut ready = self.lock();
            ready.tasks.push_back(task);
            let enter = ready.active < self.rayon.current_num_threads();
            ready.active += usize::from(enter);
            enter
        };
        if enter {
            self.spawn(Arc::clone(device));
        }
    }

    // The job owns the device and with it the pool. The last owner may so be a worker of the pool itself; that is sound
    // because dropping a rayon pool only tells its workers to end and joins none of them, and because rayon ends a
    // worker only when no spawned job is left.
    fn spawn(&self, device: Arc<DeviceState>) {
        self.rayon.spawn(move || {
            let Ok(pool) = device.pool() else { return };
            let task = pool.lock().tasks.pop_front();
            if let Some(task) = task {
                task.run_on_worker();
            }
            // One command per job: this job may itself lie on top of another command that wants to go on.
            let again = {
                let mut ready = pool.lock();
                let again = !ready.tasks.is_empty();
                ready.active -= usize::from(!again);
                again
            };
            if again {
                pool.spawn(Arc::clone(&device));
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, Ready> {
        // Nothing in here panics while the lock is held, so poison means nothing.
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
