//! Contexts: which devices share memory.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, Weak};

use super::queue::WeakQueue;
use super::{Device, Queue};
use crate::backend::QueueProperties;
use crate::error::{Error, Result};
use crate::sync::Mutex;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// The devices that a USM allocation is bound to (SYCL 2020, section 4.6.3). Each device has one default context;
/// contexts made separately are different, also with the same devices.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    id: u64,
    devices: Vec<Device>,
    /// The queue that is handed out per device. Weak, since queues hold their context.
    queues: Mutex<Vec<(Device, WeakQueue)>>,
}

/// A context that does not keep itself, and so its devices, alive.
#[derive(Default)]
pub(super) struct WeakContext(Weak<Inner>);

impl WeakContext {
    pub(super) fn upgrade(&self) -> Option<Context> {
        self.0.upgrade().map(Context)
    }
}

impl Context {
    /// A new context of devices of one backend.
    ///
    /// # Errors
    /// [`Error::Value`] for no device; [`Error::DeviceSelection`] where the backends differ.
    pub fn new(devices: &[Device]) -> Result<Self> {
        let Some(first) = devices.first() else {
            return Err(Error::value(
                "devices",
                "empty",
                "at least one device",
                "name the devices of the context",
            ));
        };
        if let Some(other) = devices.iter().find(|d| d.info().backend != first.info().backend) {
            return Err(Error::device_selection(
                "devices",
                format!("{first} and {other}"),
                "devices of one backend",
                "make one context per backend and migrate arrays with `to_device`",
            ));
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self(Arc::new(Inner { id, devices: devices.to_vec(), queues: Mutex::default() })))
    }

    /// The one queue that is kept for a device in this context, as long as anything uses it.
    ///
    /// # Errors
    /// As for [`Queue::in_context`].
    pub fn queue(&self, device: &Device) -> Result<Queue> {
        let mut queues = self.0.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|(_, queue)| queue.is_alive());
        if let Some(queue) = queues.iter().find(|(d, _)| d == device).and_then(|(_, queue)| queue.upgrade()) {
            return Ok(queue);
        }
        let queue = Queue::in_context(self, device, QueueProperties::default())?;
        queues.push((device.clone(), queue.downgrade()));
        Ok(queue)
    }

    pub(super) fn downgrade(&self) -> WeakContext {
        WeakContext(Arc::downgrade(&self.0))
    }

    /// The devices.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.0.devices
    }

    pub(crate) fn id(&self) -> u64 {
        self.0.id
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}
impl Eq for Context {}

impl std::hash::Hash for Context {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.id()).field(&self.devices()).finish()
    }
}
