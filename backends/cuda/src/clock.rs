//! Time stamps: the driver tells the time from one event to another, in milliseconds as `float32`, so what is told is kept short.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stridewise_core::backend::Profile;

use crate::handle::{Context, EventObject, StreamObject};
use crate::symbols::Refused;

/// After so long from the event that times are told from, a later one takes its place: a `float32` tells 60 ns of it.
const RENEWED: Duration = Duration::from_secs(1);

/// The beginning and the end of a command.
pub(crate) struct Stamps {
    start: EventObject,
    end: EventObject,
}

impl Stamps {
    /// The beginning of what a stream is given now; the context is the calling thread's.
    pub(crate) fn begin(context: &Arc<Context>, stream: &StreamObject) -> Result<Self, Refused> {
        let (start, end) = (EventObject::make(context, true)?, EventObject::make(context, true)?);
        start.record(stream)?;
        Ok(Self { start, end })
    }

    /// The end of it.
    pub(crate) fn finish(&self, stream: &StreamObject) -> Result<(), Refused> {
        self.end.record(stream)
    }
}

/// What a device's times are told from.
#[derive(Default)]
pub(crate) struct Clock(Mutex<Option<Reference>>);

struct Reference {
    /// When the clock began.
    origin: Instant,
    /// A command that began so long afterwards.
    stamps: Arc<Stamps>,
    after: Duration,
}

impl Clock {
    /// When a command was submitted, began and ended; the context is the calling thread's.
    pub(crate) fn profile(&self, submitted: Instant, stamps: &Arc<Stamps>) -> Option<Profile> {
        let took = duration(stamps.end.since(&stamps.start).ok()?);
        let mut reference = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The first command of all began when it was submitted, as far as anybody can tell.
        let known = reference.get_or_insert_with(|| Reference {
            origin: submitted,
            stamps: Arc::clone(stamps),
            after: Duration::ZERO,
        });
        let apart = stamps.start.since(&known.stamps.start).ok()?;
        let started = match apart >= 0.0 {
            true => known.after + duration(apart),
            false => known.after.saturating_sub(duration(-apart)),
        };
        if duration(apart) > RENEWED {
            (known.stamps, known.after) = (Arc::clone(stamps), started);
        }
        let submitted = submitted.saturating_duration_since(known.origin).min(started);
        Some(Profile { submitted, started, ended: started + took })
    }
}

fn duration(milliseconds: f32) -> Duration {
    Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default()
}
