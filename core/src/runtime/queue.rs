//! Queues: where work is submitted.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, Weak};

use super::{Context, Device, Event, default_device};
use crate::backend::{self, QueueProperties};
use crate::error::{Error, Result};
use crate::memory::capture;
use crate::memory::handle::{Handle, Shared};
use crate::memory::pending::PendingList;
use crate::memory::schedule;
use crate::observe::{self, Doing};
use crate::sync::{Deferring, Locked};
use crate::sync::{Mutex, MutexGuard, Section};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A queue of one device in one context. Cheap to clone. Queues are equal by identity: two made separately are
/// different and their arrays do not combine; the cached one of a device is always the same.
///
/// Work is ordered by what it reads and writes and by the events that the caller names, not by when it was submitted,
/// unless the queue is in-order.
#[derive(Clone)]
pub struct Queue(Handle<Inner>);

struct Inner {
    id: u64,
    context: Context,
    device: Device,
    properties: QueueProperties,
    backend: Arc<dyn backend::Queue>,
    /// Recorded work of arrays of this queue that has not been submitted.
    pending: PendingList,
    /// Held while recorded work is turned into a plan and submitted.
    flush: Mutex<()>,
}

/// Held while recorded work of a queue is turned into plans and submitted. Memory whose owner that drops is freed behind it.
pub(crate) struct FlushLock<'a> {
    // In the order in which they end.
    _lock: MutexGuard<'a, ()>,
    _locked: Locked,
    _deferring: Deferring,
}

// A panic leaves it usable: by the contract of the backend traits, and as core's own locks guard nothing that a panic could
// leave half done.
impl UnwindSafe for Inner {}
impl RefUnwindSafe for Inner {}

/// A queue that does not keep itself alive.
pub(super) struct WeakQueue(Weak<Shared<Inner>>);

impl WeakQueue {
    pub(super) fn upgrade(&self) -> Option<Queue> {
        Handle::upgrade(&self.0).map(Queue)
    }
    pub(super) fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl Queue {
    /// The cached queue of the default device.
    ///
    /// # Errors
    /// As for [`default_device`].
    pub fn default_queue() -> Result<Self> {
        static DEFAULT: OnceLock<Queue> = OnceLock::new();
        if let Some(queue) = DEFAULT.get() {
            return Ok(queue.clone());
        }
        let queue = default_device()?.queue()?;
        let _section = Section::enter();
        Ok(DEFAULT.get_or_init(|| queue).clone())
    }

    /// A new queue on the device that a filter string selects.
    ///
    /// # Errors
    /// As for [`Device::select`], and what the runtime reports.
    pub fn select(filter: &str) -> Result<Self> {
        Self::new(&Device::select(filter)?, QueueProperties::default())
    }

    /// A new queue on a device, in its default context.
    ///
    /// # Errors
    /// What the runtime reports.
    pub fn new(device: &Device, properties: QueueProperties) -> Result<Self> {
        Self::in_context(&device.default_context(), device, properties)
    }

    /// A new queue on a device, in a context that has the device (or the device it is a part of).
    ///
    /// # Errors
    /// [`Error::DeviceSelection`] where the context has it not; what the runtime reports.
    pub fn in_context(context: &Context, device: &Device, properties: QueueProperties) -> Result<Self> {
        let mut ancestors = std::iter::successors(Some(device), |d| d.parent_device());
        if !ancestors.any(|d| context.devices().contains(d)) {
            return Err(Error::device_selection(
                "device",
                device,
                "a device of the context, or a part of one",
                format!("use one of {:?}", context.devices()),
            ));
        }
        observe::begin_for_process();
        let backend = device.backend().create_queue(properties)?;
        Ok(Self(Handle::new(Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            context: context.clone(),
            device: device.clone(),
            properties,
            backend,
            pending: PendingList::default(),
            flush: Mutex::default(),
        })))
    }

    /// The device.
    #[must_use]
    #[inline]
    pub fn device(&self) -> &Device {
        &self.0.device
    }
    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.0.context
    }
    /// How the queue behaves.
    #[must_use]
    pub fn properties(&self) -> QueueProperties {
        self.0.properties
    }
    /// Whether commands run in the order of submission.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        self.0.properties.in_order
    }
    /// Whether its events have time stamps.
    pub(crate) fn has_profiling(&self) -> bool {
        self.0.properties.profiling
    }
    /// Whether work may be done while it is submitted: there is no order to keep, no time to take, and nobody notes it.
    #[inline]
    pub(crate) fn allows_immediate(&self) -> bool {
        !self.0.properties.in_order && !self.has_profiling() && !capture::any_open()
    }

    /// Submits all recorded work of arrays of this queue.
    ///
    /// # Errors
    /// What the submission of any of it reports; the arrays concerned report it too.
    pub fn flush(&self) -> Result<()> {
        let flushed = self.0.pending.flush();
        flushed.and(self.0.backend.flush())
    }

    /// Submits all recorded work and waits until everything submitted to this queue is done.
    ///
    /// # Errors
    /// What the submission of recorded work, or the runtime, reports; [`Error::Interrupted`]. The failure of a command is its
    /// event's; but that a fork left commands of this queue behind in another process is said here, too, once.
    pub fn wait(&self) -> Result<()> {
        capture::refuse("queue", "waited for")?;
        let left = self.device().backlog_state().take_left_behind(self.0.id);
        let flushed = self.flush();
        if backend::interrupt().is_some() {
            for event in self.unfinished() {
                // A command's failure is its event's.
                if let Err(error @ Error::Interrupted(_)) = backend::wait(&*event) {
                    return Err(error);
                }
            }
        }
        let seen = observe::span(Doing::Wait, "queue", 0, 0);
        flushed.and(self.0.backend.finish())?;
        drop(seen);
        if left { Err(crate::sync::left_behind()) } else { Ok(()) }
    }

    /// A command that is complete when the events named are, or, where none is named, when everything submitted so far
    /// to this queue is (SYCL, `ext_oneapi_submit_barrier`).
    ///
    /// # Errors
    /// What the runtime reports.
    pub fn submit_barrier(&self, depends: &[Event]) -> Result<Event> {
        self.flush()?;
        schedule::barrier(self, depends)
    }

    /// Runs a function on the host once the events named are complete. It may block. Its error or panic is the event's.
    ///
    /// # Errors
    /// What the runtime reports.
    pub fn submit_host_task(
        &self,
        task: impl FnOnce() -> Result<()> + Send + 'static,
        depends: &[Event],
    ) -> Result<Event> {
        schedule::host_task(self, Box::new(task), depends)
    }

    pub(crate) fn backend(&self) -> &dyn backend::Queue {
        &*self.0.backend
    }
    pub(crate) fn pending(&self) -> &PendingList {
        &self.0.pending
    }
    pub(crate) fn flush_lock(&self) -> FlushLock<'_> {
        // What it guards is each node's own; poison means nothing.
        let lock = self.0.flush.lock().unwrap_or_else(PoisonError::into_inner);
        FlushLock { _lock: lock, _locked: Locked::new(), _deferring: Deferring::new() }
    }
    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }

    pub(crate) fn unfinished(&self) -> Vec<Arc<dyn backend::Event>> {
        self.device().backlog_state().of_queue(self.0.id)
    }

    pub(super) fn downgrade(&self) -> WeakQueue {
        WeakQueue(self.0.downgrade())
    }

    /// The same queue, kept until the process ends.
    pub(super) fn lasting(self) -> Self {
        self.0.make_lasting();
        self
    }
}

impl PartialEq for Queue {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0.as_ptr(), other.0.as_ptr())
    }
}
impl Eq for Queue {}

impl std::hash::Hash for Queue {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.id.hash(state);
    }
}

impl fmt::Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "queue {} of {}", self.0.id, self.0.device)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({self}, {:?})", self.0.properties)
    }
}
