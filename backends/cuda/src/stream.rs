//! Streams: commands in order, by numbers instead of events.
//!
//! An event of the driver costs a third of what a small kernel does, so commands have none. They are numbered, and where somebody
//! wants to know how far a command has come, an event is recorded behind all that was given to the stream so far: a marker, which
//! tells the end of many commands.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::blas::OfStream;
use crate::handle::{Context, EventObject, StreamObject};
use crate::scratch::Scratch;
use crate::symbols::Refused;

/// Commands between two questions to the driver, and between two markers, for who only looks: a question costs it more than an event.
const MARKED_COMMANDS: u64 = 16;
/// Markers that are kept for the next ones.
const KEPT_MARKERS: usize = 256;

/// An event behind commands of a stream.
pub(crate) struct Marker {
    /// The number up to which it stands for commands.
    covered: u64,
    event: Option<EventObject>,
    spare: Arc<Spare>,
}

impl Marker {
    /// The driver's event.
    pub(crate) fn event(&self) -> &EventObject {
        // It is taken by `drop` alone.
        self.event.as_ref().unwrap_or_else(|| unreachable!("a marker has its event as long as it lives"))
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            let mut spare = self.spare.0.lock().unwrap_or_else(PoisonError::into_inner);
            if spare.len() < KEPT_MARKERS {
                spare.push(event);
            }
        }
    }
}

/// Events of a device that nobody uses.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<EventObject>>);

/// A stream of the driver.
pub(crate) struct Stream {
    pub(crate) object: StreamObject,
    /// Distinguishes the streams of the process.
    pub(crate) number: u64,
    context: Arc<Context>,
    spare: Arc<Spare>,
    /// Commands so far; those up to `ended` have ended.
    issued: AtomicU64,
    ended: AtomicU64,
    /// The last command when the last marker was asked for and was not over.
    asked: AtomicU64,
    /// The last marker.
    marker: Mutex<Option<Arc<Marker>>>,
    /// Scratch memory of its kernels.
    pub(crate) scratch: Scratch,
    /// Its handle of the library for products, once there was one.
    pub(crate) blas: OnceLock<OfStream>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.scratch.give_back(&self.context, || self.object.synchronize());
    }
}

impl Stream {
    /// A new stream of the calling thread's context, for work or for what is only recorded.
    pub(crate) fn make(context: &Arc<Context>, spare: &Arc<Spare>, for_work: bool) -> Result<Self, Refused> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            object: StreamObject::make(context, for_work)?,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            context: Arc::clone(context),
            spare: Arc::clone(spare),
            issued: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            marker: Mutex::default(),
            scratch: Scratch::default(),
            blas: OnceLock::new(),
        })
    }

    /// Numbers a command that the stream was given.
    pub(crate) fn issue(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// The number of the last command.
    pub(crate) fn last_issued(&self) -> u64 {
        self.issued.load(Ordering::Acquire)
    }

    fn last_marker(&self) -> MutexGuard<'_, Option<Arc<Marker>>> {
        // Nothing panics while the lock is held, so poison means nothing.
        self.marker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A marker behind a command.
    pub(crate) fn marker_behind(&self, ticket: u64) -> Result<Arc<Marker>, Refused> {
        let mut last = self.last_marker();
        match &*last {
            Some(marker) if marker.covered >= ticket => Ok(Arc::clone(marker)),
            _ => self.mark(&mut last),
        }
    }

    /// A new marker, whatever there was.
    pub(crate) fn mark_anew(&self) -> Result<Arc<Marker>, Refused> {
        self.mark(&mut self.last_marker())
    }

    /// Records a marker. Who wants it may be another device's queue, whose context is not the stream's.
    fn mark(&self, last: &mut Option<Arc<Marker>>) -> Result<Arc<Marker>, Refused> {
        let _current = self.context.enter()?;
        let kept = self.spare.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let event = kept.map_or_else(|| EventObject::make(&self.context, false), Ok)?;
        // Read before the event is recorded: whatever has a number by now was given to the stream before.
        let covered = self.last_issued();
        event.record(&self.object)?;
        let marker = Arc::new(Marker { covered, event: Some(event), spare: Arc::clone(&self.spare) });
        *last = Some(Arc::clone(&marker));
        Ok(marker)
    }

    /// Whether a command has ended, as far as the last marker tells.
    pub(crate) fn has_ended(&self, ticket: u64) -> Result<bool, Refused> {
        if self.is_noted(ticket) {
            return Ok(true);
        }
        let marker = {
            let mut last = self.last_marker();
            let covered = last.as_ref().map_or(0, |marker| marker.covered);
            if covered < ticket {
                // Someone wants to know: now and then, a marker tells.
                if self.last_issued() >= covered + MARKED_COMMANDS {
                    self.mark(&mut last)?;
                }
                return Ok(false);
            }
            last.as_ref().map(Arc::clone)
        };
        let (Some(marker), issued) = (marker, self.last_issued()) else { return Ok(false) };
        let asked = self.asked.load(Ordering::Relaxed);
        if asked >= marker.covered && issued < asked + MARKED_COMMANDS {
            return Ok(false);
        }
        let over = marker.event().is_over()?;
        match over {
            true => self.note(marker.covered),
            false => self.asked.store(issued, Ordering::Relaxed),
        }
        Ok(over)
    }

    /// Whether everything has ended that the stream was given, up to this number at least.
    pub(crate) fn is_over(&self, ticket: u64) -> Result<bool, Refused> {
        let over = self.object.is_idle()?;
        if over {
            self.note(ticket);
        }
        Ok(over)
    }

    /// Whether it is known that a command has ended.
    pub(crate) fn is_noted(&self, ticket: u64) -> bool {
        self.ended.load(Ordering::Acquire) >= ticket
    }

    /// Commands up to this number have ended.
    pub(crate) fn note(&self, ticket: u64) {
        self.ended.fetch_max(ticket, Ordering::AcqRel);
    }

    /// A marker is over.
    pub(crate) fn note_marker(&self, marker: &Marker) {
        self.note(marker.covered);
    }
}
