//! What a thread submits to a queue while it is captured: commands with what they access, to be submitted again.
//!
//! A command is noted when it is submitted, under the locks of its memory, so that commands that conflict are noted in their order.
//! It is plain data with addresses: on other memory it is the same data with other addresses. What is noted keeps its memory. Work
//! that is recorded belongs to the capture of the thread that recorded it, whoever submits it.

mod steps;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};

use super::allocation::Allocation;
use super::heap;
use super::schedule::Access;
use super::track::Mode;
use crate::backend::{self, Command, Step};
use crate::cut::Cut;
use crate::error::{Error, Result};
use crate::plan::LaunchPlan;
use crate::runtime::{Event, Queue};
use crate::sync::{Mutex, MutexGuard};

#[cfg(feature = "graph-files")]
pub(super) use steps::relocate;
pub(crate) use steps::{Move, Steps};

/// Commands of a capture at most.
pub(crate) const MAX_COMMANDS: usize = 4096;

/// How many captures the process has open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static HERE: RefCell<Option<Arc<Recording>>> = const { RefCell::new(None) };
}

/// Whether a capture is open, of whatever thread: then work is submitted that could be done at once.
#[inline]
pub(crate) fn any_open() -> bool {
    // A thread sees its own captures; what others do besides is right either way.
    OPEN.load(Ordering::Relaxed) != 0
}

/// The capture that is open on this thread.
#[inline]
pub(crate) fn current() -> Option<Arc<Recording>> {
    if !any_open() {
        return None;
    }
    HERE.try_with(|here| here.borrow().clone()).ok().flatten()
}

/// Refuses what a capture on this thread cannot note.
///
/// # Errors
/// [`Error::Unsupported`], where one is open; it fails then, whoever swallows the error.
#[inline]
pub(crate) fn refuse(argument: &'static str, what: &'static str) -> Result<()> {
    current().map_or(Ok(()), |recording| {
        recording.refused(Error::unsupported(
            argument,
            what,
            "work that is submitted to the queue that is captured",
            "do it before the capture, or after it",
        ))
    })
}

/// Work of another capture, or of none, that this thread submits; until it is dropped.
pub(crate) struct Here(Option<Arc<Recording>>);

impl Here {
    /// The capture whose work is submitted.
    pub(crate) fn set(recording: Option<Arc<Recording>>) -> Self {
        Self(HERE.try_with(|here| here.replace(recording)).ok().flatten())
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        let before = self.0.take();
        // Where the thread ends, it captures nothing any more.
        let ended = HERE.try_with(|here| here.replace(before));
        drop(ended);
    }
}

/// Notes new memory for work of the capture that this thread does.
pub(super) fn note_new(allocation: &Arc<Allocation>) -> Result<()> {
    match current().filter(|recording| recording.is_open.load(Ordering::Acquire)) {
        Some(recording) => heap::push("memory", &mut recording.lock().made, Arc::clone(allocation)),
        None => Ok(()),
    }
}

/// A capture: open, or over.
pub(crate) struct Recording {
    queue: Queue,
    is_open: AtomicBool,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    steps: Vec<Captured>,
    /// The ends of the commands, which later ones may name.
    events: Vec<Arc<dyn backend::Event>>,
    /// Memory that was made meanwhile.
    made: Vec<Arc<Allocation>>,
    /// Inputs, which may be known outside.
    inputs: Vec<Arc<Allocation>>,
    /// Why it fails.
    refused: Option<Error>,
}

/// A command, and what it accesses.
pub(super) struct Captured {
    step: Step,
    accesses: Vec<Access>,
    cut: Cut,
}

impl Recording {
    fn lock(&self) -> MutexGuard<'_, Noted> {
        // Nothing panics while the lock is held, so poison means nothing.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queue that is captured.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    fn refused<R>(&self, error: Error) -> Result<R> {
        self.lock().refused.get_or_insert_with(|| error.clone());
        Err(error)
    }

    /// Names memory as an input's, before it is used.
    ///
    /// # Errors
    /// [`Error::Value`] where it was made or used in the capture, or is another input's.
    pub(crate) fn add_input(&self, name: &str, memory: &Arc<Allocation>) -> Result<()> {
        let mut noted = self.lock();
        let is = |other: &Arc<Allocation>| Arc::ptr_eq(other, memory);
        let used = |captured: &Captured| captured.accesses.iter().any(|access| is(&access.allocation));
        let (value, expected) = if noted.inputs.iter().any(is) {
            ("in the memory of another input", "memory of its own")
        } else if noted.made.iter().any(is) {
            ("made in the capture", "an array that was there before it")
        } else if noted.steps.iter().any(used) {
            ("used before", "an array that nothing in the capture has used yet")
        } else {
            return heap::push("inputs", &mut noted.inputs, Arc::clone(memory));
        };
        drop(noted);
        self.refused(Error::value(
            name.to_owned(),
            value,
            expected,
            "name the inputs at the beginning of the capture, each with memory of its own",
        ))
    }

    /// Looks at a command that is to be submitted: what is to be noted, if it is; nothing where the capture is over.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it cannot be submitted again; [`Error::Alloc`].
    pub(super) fn admit(
        &self,
        queue: &Queue,
        command: &Command,
        accesses: &[Access],
        depends: &[Event],
        cut: Cut,
    ) -> Result<Option<Captured>> {
        if !self.is_open.load(Ordering::Acquire) {
            return Ok(None);
        }
        self.check(queue, accesses, depends).or_else(|error| self.refused(error))?;
        if matches!(command, Command::Advise { .. } | Command::Barrier) {
            // Changes nothing; commands are submitted again in their order.
            return Ok(None);
        }
        let Command::Step(step) = command else {
            return self.refused(Error::unsupported(
                "command",
                format!("{command:?}"),
                "an operation, a kernel of the engine's own form, a copy or a fill",
                "do it before the capture, or after it",
            ));
        };
        let step = again(step)?;
        let accesses = heap::collect("accesses", accesses.iter().cloned())?;
        Ok(Some(Captured { step, accesses, cut }))
    }

    fn check(&self, queue: &Queue, accesses: &[Access], depends: &[Event]) -> Result<()> {
        if *queue != self.queue {
            return Err(Error::unsupported(
                "queue",
                queue,
                format!("{}, which is captured", self.queue),
                "do work on other queues before the capture, or after it",
            ));
        }
        let noted = self.lock();
        if noted.steps.len() >= MAX_COMMANDS {
            return Err(Error::unsupported(
                "capture",
                format!("of more than {MAX_COMMANDS} commands"),
                "a part of a program, as one step of a loop",
                "capture less of it and replay that more often",
            ));
        }
        let is_known = |event: &Event| {
            event.is_of_nothing() || noted.events.iter().any(|known| Arc::ptr_eq(known, event.backend()))
        };
        if !depends.iter().all(is_known) {
            return Err(Error::unsupported(
                "depends",
                "an event from outside of the capture",
                "events of commands that are captured",
                "wait for it before the capture",
            ));
        }
        let is_input = |memory: &Arc<Allocation>| noted.inputs.iter().any(|input| Arc::ptr_eq(input, memory));
        if accesses.iter().any(|access| access.allocation.is_exported() && !is_input(&access.allocation)) {
            return Err(Error::unsupported(
                "array",
                "in memory that is known outside",
                "memory of the engine's own, or a named input",
                "name it as an input at the beginning of the capture, or copy it before",
            ));
        }
        Ok(())
    }

    /// Notes a command that was submitted.
    pub(super) fn note(&self, captured: Captured, event: &Arc<dyn backend::Event>) {
        let mut noted = self.lock();
        // A few words each, of a bounded number.
        noted.steps.push(captured);
        noted.events.push(Arc::clone(event));
    }

    /// Notes the event of a command that need not be submitted again.
    pub(super) fn note_event(&self, event: &Arc<dyn backend::Event>) {
        let mut noted = self.lock();
        if self.is_open.load(Ordering::Acquire) && noted.events.len() < 2 * MAX_COMMANDS {
            noted.events.push(Arc::clone(event));
        }
    }
}

/// Which capture recorded work belongs to, to be compared: none, or one that is open.
pub(crate) fn key(recording: Option<&Arc<Recording>>) -> *const Recording {
    let open = recording.filter(|recording| recording.is_open.load(Ordering::Acquire));
    open.map_or(std::ptr::null(), Arc::as_ptr)
}

/// A capture of a queue by this thread, open until it is ended or dropped.
pub(crate) struct Scope {
    recording: Arc<Recording>,
    /// It is the thread's.
    _thread: PhantomData<*const ()>,
}

impl Scope {
    /// # Errors
    /// [`Error::Unsupported`] where the thread captures already.
    pub(crate) fn begin(queue: &Queue) -> Result<Self> {
        refuse("capture", "within a capture")?;
        let recording = Arc::new(Recording {
            queue: queue.clone(),
            is_open: AtomicBool::new(true),
            noted: Mutex::default(),
        });
        HERE.with_borrow_mut(|here| *here = Some(Arc::clone(&recording)));
        OPEN.fetch_add(1, Ordering::Relaxed);
        Ok(Self { recording, _thread: PhantomData })
    }

    pub(crate) fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// Ends the capture: what was noted.
    ///
    /// # Errors
    /// Why something could not be captured.
    pub(crate) fn end(self) -> Result<Steps> {
        let recording = Arc::clone(&self.recording);
        // All that was recorded has been submitted, so nothing is noted any more.
        recording.is_open.store(false, Ordering::Release);
        let mut noted = std::mem::take(&mut *recording.lock());
        drop(self);
        if let Some(error) = noted.refused.take() {
            return Err(error);
        }
        let (mut steps, mut accesses, mut cuts) = (Vec::new(), Vec::new(), Vec::new());
        for captured in noted.steps {
            heap::push("commands", &mut steps, captured.step)?;
            heap::push("commands", &mut cuts, captured.cut)?;
            heap::push("accesses", &mut accesses, captured.accesses)?;
        }
        // What no command writes was made by work from before, or is its owner's alone.
        let written = |made: &Arc<Allocation>| {
            let writes =
                |access: &Access| access.mode == Mode::Write && Arc::ptr_eq(&access.allocation, made);
            accesses.iter().flatten().any(writes)
        };
        noted.made.retain(written);
        Steps::new(recording.queue.clone(), steps.into(), accesses, noted.made, cuts.into())
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.recording.is_open.store(false, Ordering::Release);
        let ended = HERE.try_with(|here| here.borrow_mut().take());
        OPEN.fetch_sub(1, Ordering::Relaxed);
        drop(ended);
        // Recorded work that nobody wanted may keep the capture, but not its memory.
        let noted = std::mem::take(&mut *self.recording.lock());
        drop(noted);
    }
}

/// A command's step, once more.
fn again(step: &Step) -> Result<Step> {
    let plans = |plans: &Vec<LaunchPlan>| heap::collect("plans", plans.iter().cloned());
    Ok(match step {
        Step::Launch(launched) => Step::Launch(plans(launched)?),
        Step::Stages(stages) => Step::Stages(stages.iter().map(plans).collect::<Result<_>>()?),
        other => other.clone(),
    })
}
