//! What the engine does, noted with its times where somebody looks: the one place that all of it comes to.
//!
//! A *session* takes records from all threads of the process, up to a number; what comes beyond is counted. Who has something to
//! say asks [`is_on`] first, which is one load and a branch, and then notes a [`Record`] in a list of its thread, whose lock nobody
//! else wants before the session is over, and allocates no more than what it names. Nothing is written anywhere until then: a
//! [`Trace`] has the records, as a table or as a file that Perfetto's page opens (`chrome.rs`).
//!
//! This is the lowest layer: a command is known by the address of its event, which a record keeps ([`Keeper`]), so that no other
//! has the same one as long as the session lasts.

mod chrome;
mod session;
mod trace;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use smallvec::SmallVec;

#[doc(hidden)]
pub use session::set_site;
pub use session::{MOST_RECORDS, Profiler};
pub(crate) use session::{
    TRACE_VARIABLE, begin_for_process, done_at_once, end_for_process, leave_to_parent, note, trace_variable,
};
pub(crate) use trace::Ran;
pub use trace::{Row, Trace};

/// Sessions that are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Whether somebody looks.
#[inline(always)]
#[must_use]
pub fn is_on() -> bool {
    OPEN.load(Ordering::Relaxed) != 0
}

/// Nanoseconds since the first time that anybody asked.
#[must_use]
pub fn now() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// What a record is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Doing {
    /// A command is given to a queue.
    Submission,
    /// A thread runs a command, or takes part in it.
    Run,
    /// A command has ended, of a device that does not say when it began.
    Ended,
    /// A thread waits.
    Wait,
    /// Work on the calling thread, without a submission.
    AtOnce,
    /// Something is compiled.
    Compile,
    /// Memory is taken from a device.
    Allocation,
    /// Callbacks of an event.
    Callback,
}

impl Doing {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submission => "submission",
            Self::Run => "run",
            Self::Ended => "end",
            Self::Wait => "wait",
            Self::AtOnce => "at once",
            Self::Compile => "compile",
            Self::Allocation => "allocation",
            Self::Callback => "callback",
        }
    }
}

/// Time stamps that a device has taken of a command, in nanoseconds of its own clock: submitted, started, ended.
pub type Stamps = [u64; 3];

/// Keeps an event, and says what its device knows of it.
pub trait Keeper: Any + Send + Sync + UnwindSafe + RefUnwindSafe {
    /// The device's own time stamps, where it has some.
    fn stamps(&self) -> Option<Stamps>;
    /// Bytes that the device's memory moves in a second, where that was measured.
    fn bandwidth(&self) -> Option<f64>;
}

/// What a record is called.
#[derive(Clone)]
pub enum Name {
    /// A name.
    Text(Cow<'static, str>),
    /// A name that is written when it is needed.
    Later(Arc<dyn fmt::Display + Send + Sync + UnwindSafe + RefUnwindSafe>),
}

impl From<&'static str> for Name {
    fn from(name: &'static str) -> Self {
        Self::Text(Cow::Borrowed(name))
    }
}
impl From<String> for Name {
    fn from(name: String) -> Self {
        Self::Text(Cow::Owned(name))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(name) => f.write_str(name),
            Self::Later(name) => fmt::Display::fmt(name, f),
        }
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Something that was done.
#[derive(Clone)]
pub struct Record {
    /// What it is.
    pub doing: Doing,
    /// What it is called.
    pub name: Name,
    /// When it began and ended ([`now`]).
    pub span: [u64; 2],
    /// The command that it is of, or is a wait for: the address of its event; 0 for none.
    pub command: usize,
    /// Of a submission, the commands that it waits for.
    pub waits: SmallVec<[usize; 2]>,
    /// Of a submission, the number of its queue.
    pub queue: u64,
    /// Bytes that are read and written, or taken.
    pub bytes: usize,
    /// The number of the thread that has noted it.
    pub thread: u32,
    /// Where the program was, if that is noted.
    pub site: Option<Arc<str>>,
    /// Keeps the event of a submission.
    pub keeper: Option<Arc<dyn Keeper>>,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` {:?} of command {:#x}", self.doing.name(), self.name, self.span, self.command)
    }
}

impl Record {
    /// A record that begins when it is made, and ends when it is [noted](Self::done).
    #[must_use]
    pub fn begin(doing: Doing, name: impl Into<Name>) -> Self {
        let begin = now();
        Self {
            doing,
            name: name.into(),
            span: [begin, begin],
            command: 0,
            waits: SmallVec::new(),
            queue: 0,
            bytes: 0,
            thread: 0,
            site: None,
            keeper: None,
        }
    }

    /// The same, of a command.
    #[must_use]
    pub fn of(mut self, command: usize) -> Self {
        self.command = command;
        self
    }

    /// Ends now, and is noted.
    pub fn done(mut self) {
        self.span[1] = now();
        note(self);
    }
}

/// Notes what is done until it is dropped, where somebody looks.
#[must_use]
pub fn span(doing: Doing, name: &'static str, command: usize, bytes: usize) -> Span {
    let begun = is_on().then(|| {
        let mut record = Record::begin(doing, name).of(command);
        record.bytes = bytes;
        record
    });
    Span(begun)
}

/// Something that goes on.
#[derive(Debug)]
pub struct Span(Option<Record>);

impl Span {
    /// Something that is of no interest after all.
    pub fn forget(mut self) {
        self.0 = None;
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let Some(record) = self.0.take() {
            record.done();
        }
    }
}
