//! The state of the runtime, behind one lock.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use opencl_sys::{CL_OUT_OF_RESOURCES, cl_int};

use crate::commands::{Callbacks, Command};
use crate::config::Config;
use crate::entry::Outcome;
use crate::memory::Allocations;
use crate::objects::{Device, Object, Sort, header};

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new()));
/// Notified when something has changed that a blocking call waits for.
pub(crate) static CHANGED: Condvar = Condvar::new();

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs an event's callback.
pub(crate) fn in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Runs a function as an event's callback.
pub(crate) fn as_callback(run: impl FnOnce()) {
    let before = IN_CALLBACK.replace(true);
    run();
    IN_CALLBACK.set(before);
}

/// The state; a thread that panicked with it has left it whole, for it is changed entry by entry.
pub(crate) fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a change, at most so long.
pub(crate) fn wait(guard: MutexGuard<'static, State>, at_most: Duration) -> MutexGuard<'static, State> {
    CHANGED.wait_timeout(guard, at_most).unwrap_or_else(PoisonError::into_inner).0
}

/// A failure on command.
#[derive(Debug)]
struct Fault {
    name: String,
    /// Calls to let pass before; `None` for every call.
    remaining: Option<usize>,
    code: cl_int,
}

/// Calls that work when the device is lost: questions, and giving back.
const WORK_WITHOUT_DEVICE: &[&str] = &["clGet", "clRelease", "clRetain", "clIcd", "clSetEventCallback"];

/// Everything.
pub(crate) struct State {
    pub(crate) config: Config,
    /// Handle of the platform.
    pub(crate) platform: usize,
    /// Root devices, in their order.
    pub(crate) roots: Vec<usize>,
    pub(crate) objects: HashMap<usize, Object>,
    /// Handles that were released.
    pub(crate) dead: HashMap<usize, Sort>,
    pub(crate) allocations: Allocations,
    /// Commands that have not run, in the order of their submission.
    pub(crate) pending: Vec<Command>,
    pub(crate) callbacks: Callbacks,
    /// Commands stay pending.
    pub(crate) hold: bool,
    /// So many commands run all the same.
    pub(crate) steps: usize,
    /// The device is gone.
    pub(crate) lost: bool,
    pub(crate) violations: Vec<String>,
    faults: Vec<Fault>,
    /// Every so many calls of any entry point one fails with a code, and how many there were.
    every: Option<(u64, cl_int)>,
    counted: u64,
    struck: u64,
    calls: BTreeMap<&'static str, u64>,
    epoch: Instant,
}

impl State {
    fn new() -> Self {
        let platform = header();
        Self {
            config: Config::from_environment(),
            platform,
            roots: Vec::new(),
            objects: HashMap::new(),
            dead: HashMap::new(),
            allocations: Allocations::default(),
            pending: Vec::new(),
            callbacks: Callbacks::default(),
            hold: false,
            steps: 0,
            lost: false,
            violations: Vec::new(),
            faults: Vec::new(),
            every: None,
            counted: 0,
            struck: 0,
            calls: BTreeMap::new(),
            epoch: Instant::now(),
        }
    }

    /// Back to a healthy runtime that has no failures to come and has counted nothing; objects stay.
    pub(crate) fn reset(&mut self) {
        self.hold = false;
        self.steps = 0;
        self.lost = false;
        self.violations.clear();
        self.faults.clear();
        self.fail_every(0, 0);
        self.calls.clear();
        self.config = Config::from_environment();
    }

    /// Nanoseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Counts a misuse.
    pub(crate) fn violation(&mut self, what: String) {
        eprintln!("OpenCL stub: {what}");
        self.violations.push(what);
    }

    /// Makes the `nth` coming call of an entry point fail, or every one where `nth` is 0.
    pub(crate) fn fail(&mut self, name: String, nth: usize, code: cl_int) {
        self.faults.push(Fault { name, remaining: nth.checked_sub(1), code });
    }
    /// Makes every `nth` call of any entry point fail, counted from now on, but for those that give something back; none
    /// where `nth` is 0.
    pub(crate) fn fail_every(&mut self, nth: u64, code: cl_int) {
        self.every = (nth > 0).then_some((nth, code));
        (self.counted, self.struck) = (0, 0);
    }
    /// Calls that have failed so since it was commanded.
    pub(crate) fn struck(&self) -> u64 {
        self.struck
    }
    /// Takes the failures of a name back.
    pub(crate) fn heal(&mut self, name: &str) {
        self.faults.retain(|fault| fault.name != name);
    }
    /// The code with which the present call of a name has to fail.
    pub(crate) fn fault(&mut self, name: &str) -> Option<cl_int> {
        let mut found = None;
        let mut used = None;
        for (i, fault) in self.faults.iter_mut().enumerate().filter(|(_, fault)| fault.name == name) {
            match &mut fault.remaining {
                Some(0) => {
                    used = Some(i);
                    found = found.or(Some(fault.code));
                }
                Some(remaining) => *remaining -= 1,
                None => found = found.or(Some(fault.code)),
            }
        }
        if let Some(used) = used {
            self.faults.remove(used);
        }
        found
    }
    /// Calls of an entry point since the last reset.
    pub(crate) fn calls(&self, name: &str) -> u64 {
        self.calls.get(name).copied().unwrap_or(0)
    }
    /// Counts a call.
    ///
    /// # Errors
    /// It has to fail.
    pub(crate) fn enter(&mut self, name: &'static str) -> Outcome<()> {
        *self.calls.entry(name).or_default() += 1;
        if let Some(code) = self.fault(name) {
            return Err(code);
        }
        // Memory can be given back all the same.
        let frees = name.contains("Free");
        if let Some((nth, code)) = self.every
            && !frees
            && !name.starts_with("clRelease")
        {
            self.counted += 1;
            if self.counted.is_multiple_of(nth) {
                self.struck += 1;
                return Err(code);
            }
        }
        let works = frees || WORK_WITHOUT_DEVICE.iter().any(|prefix| name.starts_with(prefix));
        if self.lost && !works { Err(CL_OUT_OF_RESOURCES) } else { Ok(()) }
    }

    /// Root devices, as many as the configuration says.
    pub(crate) fn roots(&mut self) -> Vec<usize> {
        while self.roots.len() < self.config.devices {
            let handle = header();
            let device = Device { parent: 0, units: 0 };
            self.objects.insert(handle, Object { references: 1, body: crate::objects::Body::Device(device) });
            self.roots.push(handle);
        }
        self.roots[..self.config.devices].to_vec()
    }
}

/// A handle as OpenCL has it.
pub(crate) fn pointer(handle: usize) -> *mut c_void {
    handle as *mut c_void
}
