//! Sessions: where records go, and who takes them.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use super::{Doing, OPEN, Record, Trace, now};
use crate::error::Error;
use crate::sync::Mutex;

/// Records that a session takes, unless somebody says otherwise.
pub const MOST_RECORDS: usize = 1 << 19;
/// Of the room of a session, a thread takes such a part at a time, and of a large one so many records.
const SHARE: usize = 256;
const MOST_AT_A_TIME: usize = 1 << 10;
/// Work on the calling thread that takes less is not noted, unless somebody says otherwise.
const AT_ONCE: Duration = Duration::from_micros(20);

/// The variable that names a file for a trace of the whole process.
pub(crate) const TRACE_VARIABLE: &str = "STRIDEWISE_TRACE";

static SESSIONS: Mutex<Vec<Arc<Session>>> = Mutex::new(Vec::new());
/// Nanoseconds of the shortest work on a calling thread that any of them notes.
static LEAST_AT_ONCE: AtomicU64 = AtomicU64::new(u64::MAX);
/// How often they have changed.
static CHANGES: AtomicUsize = AtomicUsize::new(0);
/// Threads that have noted something.
static THREADS: AtomicU32 = AtomicU32::new(1);

/// Records of one thread, which it alone adds to.
type Noted = Arc<Mutex<Vec<Record>>>;

/// Records from all threads. Each has a list of its own, so that threads which note at the same time touch nothing in common.
pub(super) struct Session {
    most: usize,
    /// Room that no thread has taken.
    left: AtomicUsize,
    dropped: AtomicUsize,
    begin: u64,
    at_once: u64,
    /// Threads by their numbers.
    threads: Mutex<Vec<(u32, String, Noted)>>,
}

impl Session {
    fn new(most: usize, at_once: Duration) -> Self {
        Self {
            most,
            left: AtomicUsize::new(most),
            dropped: AtomicUsize::new(0),
            begin: now(),
            at_once: at_once.as_nanos() as u64,
            threads: Mutex::new(Vec::new()),
        }
    }

    /// A list for the calling thread, which comes for the first time and has this number.
    fn join(&self, number: u32) -> Noted {
        let name = std::thread::current().name().unwrap_or("thread").to_owned();
        let noted = Noted::default();
        lock(&self.threads).push((number, name, Arc::clone(&noted)));
        noted
    }

    /// Room for some records; for none where there is no more.
    fn room(&self) -> usize {
        let at_a_time = (self.most / SHARE).clamp(1, MOST_AT_A_TIME);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then(|| left - left.min(at_a_time))
        });
        taken.map_or(0, |left| left.min(at_a_time))
    }
}

/// A session, as a thread has it.
struct Open {
    session: Weak<Session>,
    at_once: u64,
    noted: Noted,
    /// Records that there is room for.
    room: usize,
}

impl Open {
    fn is_of(&self, session: &Arc<Session>) -> bool {
        std::ptr::eq(self.session.as_ptr(), Arc::as_ptr(session))
    }

    fn take(&mut self, record: Record) {
        let [begin, end] = record.span;
        if record.doing == Doing::AtOnce && end - begin < self.at_once {
            return;
        }
        let mut noted = lock(&self.noted);
        if self.room == 0 {
            let Some(session) = self.session.upgrade() else { return };
            self.room = session.room();
            if self.room == 0 || noted.try_reserve(self.room).is_err() {
                self.room = 0;
                session.dropped.fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        self.room -= 1;
        noted.push(record);
    }
}

/// What a thread knows of the sessions.
struct Local {
    number: u32,
    /// How often they had changed when it looked.
    changes: usize,
    sessions: Vec<Open>,
    site: Option<Arc<str>>,
}

thread_local! {
    static LOCAL: RefCell<Local> = RefCell::new(Local {
        number: THREADS.fetch_add(1, Ordering::Relaxed),
        changes: usize::MAX,
        sessions: Vec::new(),
        site: None,
    });
}

impl Local {
    /// Looks for sessions that have come or gone.
    #[cold]
    fn look(&mut self, changes: usize) {
        self.changes = changes;
        let open: Vec<Arc<Session>> = lock(&SESSIONS).clone();
        self.sessions.retain(|known| open.iter().any(|session| known.is_of(session)));
        for session in &open {
            if !self.sessions.iter().any(|known| known.is_of(session)) {
                let noted = session.join(self.number);
                self.sessions.push(Open {
                    session: Arc::downgrade(session),
                    at_once: session.at_once,
                    noted,
                    room: 0,
                });
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> crate::sync::MutexGuard<'_, T> {
    // Nothing panics while such a lock is held, so poison means nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes something, as it is.
pub(crate) fn note(mut record: Record) {
    // A thread that ends notes nothing any more; nor does what notes itself while it notes.
    let _ = LOCAL.try_with(|local| {
        let Ok(mut local) = local.try_borrow_mut() else { return };
        let changes = CHANGES.load(Ordering::Acquire);
        if local.changes != changes {
            local.look(changes);
        }
        record.thread = local.number;
        record.site.clone_from(&local.site);
        if let Some((last, others)) = local.sessions.split_last_mut() {
            others.iter_mut().for_each(|open| open.take(record.clone()));
            last.take(record);
        }
    });
}

/// Notes work on the calling thread, without a submission, that began then and ends now: where it took as long as some session asks.
#[cold]
#[inline(never)]
pub(crate) fn done_at_once(name: &'static str, begin: u64) {
    let end = now();
    if end - begin >= LEAST_AT_ONCE.load(Ordering::Relaxed) {
        note(Record { span: [begin, end], ..Record::begin(Doing::AtOnce, name) });
    }
}

/// Says where the program of the calling thread is, from now on.
pub fn set_site(site: Option<Arc<str>>) {
    let _ = LOCAL.try_with(|local| {
        if let Ok(mut local) = local.try_borrow_mut() {
            local.site = site;
        }
    });
}

/// Changes the list of sessions.
fn changed(change: impl FnOnce(&mut Vec<Arc<Session>>)) {
    let mut sessions = lock(&SESSIONS);
    change(&mut sessions);
    let least = sessions.iter().map(|session| session.at_once).min();
    LEAST_AT_ONCE.store(least.unwrap_or(u64::MAX), Ordering::Relaxed);
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// The number of the calling thread, as records have it.
fn own_number() -> u32 {
    LOCAL.try_with(|local| local.try_borrow().map_or(0, |local| local.number)).unwrap_or(0)
}

/// Notes what the engine does in the whole process, from when it begins until it [ends](Self::end): submissions, waits, kernels,
/// copies, compilations, allocations. Several may be open at the same time. One that is dropped gives nothing.
pub struct Profiler {
    session: Arc<Session>,
    thread: u32,
}

impl Profiler {
    /// Begins, with room for [`MOST_RECORDS`]; work on a calling thread, without a submission, is noted where it takes 20 µs.
    #[must_use]
    pub fn begin() -> Self {
        Self::begin_with(MOST_RECORDS, AT_ONCE)
    }

    /// Begins, with room for so many records; work on a calling thread, without a submission, is noted where it takes so long.
    #[must_use]
    pub fn begin_with(most: usize, at_once: Duration) -> Self {
        let session = Arc::new(Session::new(most, at_once));
        changed(|sessions| sessions.push(Arc::clone(&session)));
        OPEN.fetch_add(1, Ordering::Relaxed);
        Self { session, thread: own_number() }
    }

    /// Ends: what was noted. What is still under way has no end in it; wait for it first.
    #[must_use]
    pub fn end(self) -> Trace {
        let session = Arc::clone(&self.session);
        let thread = self.thread;
        drop(self);
        let (mut records, mut threads) = (Vec::new(), Vec::new());
        for (number, name, noted) in std::mem::take(&mut *lock(&session.threads)) {
            // What a thread still notes in it, it gives up when it looks for sessions again.
            records.append(&mut lock(&noted));
            threads.push((number, name));
        }
        let dropped = session.dropped.load(Ordering::Relaxed);
        Trace::new(records, threads, [session.begin, now()], dropped, thread)
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
        changed(|sessions| sessions.retain(|session| !Arc::ptr_eq(session, &self.session)));
    }
}

impl fmt::Debug for Profiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noted: usize = lock(&self.session.threads).iter().map(|(.., noted)| lock(noted).len()).sum();
        write!(f, "Profiler({noted} records)")
    }
}

/// The trace of the whole process, where the environment names a file for it.
static PROCESS: Mutex<Option<(PathBuf, Profiler)>> = Mutex::new(None);

/// Begins the trace of the process, where the environment names a file for it. Asked when a queue is made.
pub(crate) fn begin_for_process() {
    static ASKED: AtomicBool = AtomicBool::new(false);
    if ASKED.swap(true, Ordering::AcqRel) {
        return;
    }
    if let Some(path) = trace_variable() {
        let profiler = Profiler::begin();
        *lock(&PROCESS) = Some((path, profiler));
    }
}

/// Writes the trace of the process, at its end.
pub(crate) fn end_for_process() {
    let Some((path, profiler)) = lock(&PROCESS).take() else { return };
    if let Err(error) = profiler.end().write(&path) {
        // Nobody is left to be told otherwise.
        eprintln!("stridewise: {TRACE_VARIABLE}: {error}");
    }
}

/// In a process that was forked: the trace is the other one's.
pub(crate) fn leave_to_parent() {
    drop(lock(&PROCESS).take());
}

/// The file that the environment names for a trace.
pub(crate) fn trace_variable() -> Option<PathBuf> {
    std::env::var_os(TRACE_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The error of a file that cannot be written.
pub(super) fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    Error::value(
        "path",
        format!("{} ({error})", path.display()),
        "a file that can be written",
        "name one in a folder that is there and may be written",
    )
}
