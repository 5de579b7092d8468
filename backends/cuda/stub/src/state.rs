//! What the driver has: objects, commands, faults.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::c_void;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Instant;

use crate::routines::Transform;

/// A function that the driver calls.
pub(crate) type HostFunction = unsafe extern "system" fn(*mut c_void);

/// Told whenever a command has run.
pub(crate) static CHANGED: Condvar = Condvar::new();
static STATE: Mutex<Option<State>> = Mutex::new(None);

pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const INVALID_CONTEXT: i32 = 201;
pub(crate) const INVALID_HANDLE: i32 = 400;
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
/// With this code a call is refused because the context is lost.
const LAUNCH_FAILED: i32 = 719;

/// What an allocation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Host,
    Device,
    Managed,
}

pub(crate) struct Block {
    layout: Layout,
    pub(crate) kind: Kind,
    /// The context in which it was allocated.
    pub(crate) context: usize,
}

/// A command of a stream.
pub(crate) enum Op {
    Copy {
        dst: usize,
        src: usize,
        bytes: usize,
    },
    /// Of pageable memory, which was read when the copy was submitted.
    Write {
        dst: usize,
        data: Vec<u8>,
    },
    Fill {
        dst: usize,
        pitch: usize,
        pattern: Vec<u8>,
        width: usize,
        height: usize,
    },
    Record {
        event: usize,
        number: u64,
    },
    Wait {
        event: usize,
        number: u64,
    },
    Call {
        function: HostFunction,
        argument: usize,
    },
    Launch {
        name: String,
    },
    /// A computation of a library.
    Run(Box<dyn FnOnce() + Send>),
}

/// The legacy default stream.
pub(crate) const LEGACY: usize = 1;

#[derive(Default)]
pub(crate) struct StreamState {
    /// Commands, with their places among those of all streams.
    pub(crate) ops: VecDeque<(u64, Op)>,
    /// It and the legacy default stream do not wait for each other.
    pub(crate) apart: bool,
    /// It is no stream of who uses the driver here.
    pub(crate) foreign: bool,
    /// A callback of it is under way.
    pub(crate) busy: bool,
    pub(crate) destroyed: bool,
    /// What it was given while it records.
    pub(crate) recorded: Option<Vec<Op>>,
    /// Where it was made; 0: anywhere.
    pub(crate) context: usize,
}

#[derive(Default)]
pub(crate) struct EventState {
    /// How often it was recorded, and the last record that is over.
    pub(crate) recorded: u64,
    pub(crate) over: u64,
    pub(crate) timed: bool,
    /// Where it was made: it is recorded in streams of this context.
    pub(crate) context: usize,
    pub(crate) destroyed: bool,
    pub(crate) at: Option<Instant>,
}

/// A kernel: its name, as text that ends with a zero, and the bytes of its parameters.
pub(crate) struct Function {
    pub(crate) name: std::ffi::CString,
    pub(crate) parameters: Vec<usize>,
}

pub(crate) struct State {
    pub(crate) devices: i32,
    pub(crate) version: i32,
    pub(crate) managed: bool,
    pub(crate) absent: String,
    pub(crate) hold: bool,
    pub(crate) calls: HashMap<String, u64>,
    all_calls: u64,
    failing: Vec<(String, u64, i32)>,
    nth: Option<(u64, i32)>,
    every: Option<(u64, i32)>,
    pub(crate) struck: u64,
    pub(crate) sticky: Option<i32>,
    pub(crate) violations: Vec<String>,
    pub(crate) contexts: HashMap<i32, usize>,
    /// Contexts that reach the memory of another one.
    pub(crate) reaching: Vec<(usize, usize)>,
    pub(crate) memory: BTreeMap<usize, Block>,
    /// How often memory of other processes is open.
    pub(crate) opened: BTreeMap<usize, usize>,
    pub(crate) streams: HashMap<usize, StreamState>,
    pub(crate) events: HashMap<usize, EventState>,
    /// Kernels of modules, by the modules' handles; a kernel's handle is its module's and its number.
    pub(crate) modules: HashMap<usize, Vec<Function>>,
    /// The streams of handles of libraries.
    pub(crate) handles: HashMap<usize, usize>,
    /// The commands of graphs.
    pub(crate) graphs: HashMap<usize, Vec<Op>>,
    /// Plans of transforms.
    pub(crate) plans: HashMap<i32, Transform>,
    next: usize,
    given: u64,
}

/// The state, which a thread of its own moves on.
pub(crate) fn lock() -> Guard {
    static ENGINE: Once = Once::new();
    ENGINE.call_once(|| drop(std::thread::spawn(engine)));
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.get_or_insert_with(State::new);
    Guard(state)
}

/// The lock of the state.
pub(crate) struct Guard(MutexGuard<'static, Option<State>>);

impl Guard {
    /// Gives the lock up until something has changed.
    pub(crate) fn wait(self) -> Self {
        Self(CHANGED.wait(self.0).unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::ops::Deref for Guard {
    type Target = State;
    fn deref(&self) -> &State {
        self.0.as_ref().unwrap_or_else(|| unreachable!("made by `lock`"))
    }
}

impl std::ops::DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut State {
        self.0.get_or_insert_with(State::new)
    }
}

/// Runs what can run, for ever.
fn engine() {
    let mut guard = lock();
    loop {
        match guard.step() {
            Step::Ran => CHANGED.notify_all(),
            Step::Nothing => guard = guard.wait(),
            Step::Call(stream, function, argument) => {
                drop(guard);
                // SAFETY: the function was submitted with this argument, to be called once.
                unsafe { function(std::ptr::without_provenance_mut(argument)) };
                guard = lock();
                if let Some(stream) = guard.streams.get_mut(&stream) {
                    stream.busy = false;
                }
                CHANGED.notify_all();
            }
        }
    }
}

/// What the thread has done.
enum Step {
    Ran,
    Nothing,
    Call(usize, HostFunction, usize),
}

impl State {
    fn new() -> Self {
        Self {
            devices: 1,
            version: 13000,
            managed: true,
            absent: String::new(),
            hold: false,
            calls: HashMap::new(),
            all_calls: 0,
            failing: Vec::new(),
            nth: None,
            every: None,
            struck: 0,
            sticky: None,
            violations: Vec::new(),
            contexts: HashMap::new(),
            reaching: Vec::new(),
            memory: BTreeMap::new(),
            streams: HashMap::from([(LEGACY, StreamState { foreign: true, ..StreamState::default() })]),
            events: HashMap::new(),
            modules: HashMap::new(),
            handles: HashMap::new(),
            graphs: HashMap::new(),
            plans: HashMap::new(),
            opened: BTreeMap::new(),
            next: 1 << 20,
            given: 0,
        }
    }

    pub(crate) fn reset(&mut self) {
        let healthy = Self::new();
        (self.devices, self.version, self.managed) = (healthy.devices, healthy.version, healthy.managed);
        (self.absent, self.hold, self.sticky) = (healthy.absent, healthy.hold, None);
        self.calls.clear();
        self.failing.clear();
        self.violations.clear();
        (self.all_calls, self.nth, self.every, self.struck) = (0, None, None, 0);
    }

    pub(crate) fn fail(&mut self, name: &str, nth: u64, code: i32) {
        let before = self.calls.get(name).copied().unwrap_or(0);
        self.failing.push((name.to_owned(), before + nth, code));
    }

    pub(crate) fn fail_nth(&mut self, nth: u64, code: i32) {
        self.nth = Some((self.all_calls + nth, code));
    }

    pub(crate) fn fail_every(&mut self, nth: u64, code: i32) {
        self.every = Some((nth, code));
    }

    pub(crate) fn lose(&mut self, code: i32) {
        self.sticky = Some(code);
        // What was under way never ends; callbacks are not called.
        for stream in self.streams.values_mut() {
            stream.ops.clear();
        }
        self.events.retain(|_, event| !event.destroyed);
        self.streams.retain(|_, stream| !stream.destroyed);
    }

    pub(crate) fn live(&self) -> [usize; 7] {
        let streams = self.streams.values().filter(|stream| !stream.destroyed && !stream.foreign).count();
        let events = self.events.values().filter(|event| !event.destroyed).count();
        let (modules, handles) = (self.modules.len(), self.handles.len() + self.plans.len());
        let memory = self.memory.len() + self.opened.values().sum::<usize>();
        [self.contexts.values().sum(), streams, events, modules, handles, memory, self.graphs.len()]
    }

    pub(crate) fn violate(&mut self, what: impl Into<String>) {
        self.violations.push(what.into());
    }

    /// Counts a call; the code with which it is refused.
    pub(crate) fn call(&mut self, name: &str) -> Result<(), i32> {
        let count = self.calls.entry(name.to_owned()).or_default();
        *count += 1;
        let count = *count;
        self.all_calls += 1;
        let named =
            self.failing.iter().find(|(of, nth, _)| of == name && *nth == count).map(|(_, _, code)| *code);
        let nth = self.nth.filter(|(nth, _)| *nth == self.all_calls).map(|(_, code)| code);
        let every =
            self.every.filter(|(every, _)| self.all_calls.is_multiple_of(*every)).map(|(_, code)| code);
        // Of what is given up, nobody could do anything about a refusal.
        let gives_up =
            ["Destroy", "Free", "Unload", "Release", "Pop", "Close"].iter().any(|end| name.contains(end));
        match named.or(nth.or(every).filter(|_| !gives_up)) {
            Some(code) => {
                self.struck += 1;
                if code == LAUNCH_FAILED {
                    self.lose(code);
                }
                Err(code)
            }
            None => Ok(()),
        }
    }

    /// The place of the next command.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.given += 1;
        self.given
    }

    /// A new handle.
    pub(crate) fn handle(&mut self) -> usize {
        self.next += 256;
        self.next
    }

    pub(crate) fn allocate(&mut self, bytes: usize, kind: Kind, context: usize) -> Result<usize, i32> {
        let layout = Layout::from_size_align(bytes, 4096).map_err(|_| OUT_OF_MEMORY)?;
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the layout is not of zero bytes.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return Err(OUT_OF_MEMORY);
        }
        let address = start.expose_provenance();
        self.memory.insert(address, Block { layout, kind, context });
        Ok(address)
    }

    pub(crate) fn free(&mut self, address: usize, host: bool) -> i32 {
        let Some(block) = self.memory.get(&address) else {
            self.violate("memory freed that is not there");
            return INVALID_VALUE;
        };
        let (range, layout) = (address..address + block.layout.size(), block.layout);
        if (block.kind == Kind::Host) != host {
            self.violate("memory freed as another kind");
            return INVALID_VALUE;
        }
        let touches = |op: &Op| match op {
            Op::Copy { dst, src, .. } => range.contains(dst) || range.contains(src),
            Op::Write { dst, .. } | Op::Fill { dst, .. } => range.contains(dst),
            _ => false,
        };
        if self.streams.values().flat_map(|stream| &stream.ops).any(|(_, op)| touches(op)) {
            self.violate("memory freed under a pending command");
        }
        self.memory.remove(&address);
        // SAFETY: allocated with this layout in `allocate`, and taken out of the table.
        unsafe { dealloc(std::ptr::with_exposed_provenance_mut(address), layout) };
        0
    }

    /// What an address is of, if it is in memory of the driver's.
    pub(crate) fn kind(&self, address: usize) -> Option<Kind> {
        self.block(address).map(|(start, _)| self.memory[&start].kind)
    }

    /// The context in which the memory was allocated that an address is in.
    pub(crate) fn context_of(&self, address: usize) -> Option<usize> {
        self.block(address).map(|(start, _)| self.memory[&start].context)
    }

    /// Where the memory begins that an address is in, and how much it is.
    pub(crate) fn block(&self, address: usize) -> Option<(usize, usize)> {
        let (&start, block) = self.memory.range(..=address).next_back()?;
        (address - start < block.layout.size()).then_some((start, block.layout.size()))
    }

    /// Closes memory of another process.
    pub(crate) fn close(&mut self, address: usize) -> i32 {
        match self.opened.get_mut(&address).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                0
            }
            None => {
                self.violate("memory closed that is not open");
                INVALID_VALUE
            }
        }
    }

    pub(crate) fn is_idle(&self, stream: usize) -> bool {
        self.streams.get(&stream).is_none_or(|stream| stream.ops.is_empty() && !stream.busy)
    }

    pub(crate) fn destroy_stream(&mut self, stream: usize) {
        if self.is_idle(stream) {
            self.streams.remove(&stream);
        } else if let Some(stream) = self.streams.get_mut(&stream) {
            stream.destroyed = true;
        }
    }

    /// Who waits for an event that is given up waits on.
    pub(crate) fn destroy_event(&mut self, event: usize) {
        match self.events.get_mut(&event) {
            Some(known) if !known.destroyed => known.destroyed = true,
            _ => return self.violate("an event given up that is not there"),
        }
        self.forget_event(event);
    }

    fn forget_event(&mut self, event: usize) {
        let over = |event: &EventState| event.destroyed && event.over >= event.recorded;
        if self.events.get(&event).is_some_and(over) {
            self.events.remove(&event);
        }
    }

    /// Runs one command of some stream.
    fn step(&mut self) -> Step {
        if self.hold {
            return Step::Nothing;
        }
        let events = &self.events;
        // The legacy default stream waits for what the others were given before, and these for what that was given.
        let first = |of: &dyn Fn(usize, &StreamState) -> bool| {
            let streams = self.streams.iter().filter(|(handle, stream)| of(**handle, stream));
            streams.filter_map(|(_, stream)| stream.ops.front()).map(|(number, _)| *number).min()
        };
        let legacy = first(&|handle, _| handle == LEGACY).unwrap_or(u64::MAX);
        let others = first(&|handle, stream| handle != LEGACY && !stream.apart).unwrap_or(u64::MAX);
        let is_ready = |handle: usize, stream: &StreamState, (place, op): &(u64, Op)| {
            let turn = match handle {
                LEGACY => *place < others,
                _ => stream.apart || *place < legacy,
            };
            turn && match op {
                Op::Wait { event, number } => events.get(event).is_none_or(|event| event.over >= *number),
                _ => true,
            }
        };
        let ready = self.streams.iter().find(|(handle, stream)| {
            !stream.busy && stream.ops.front().is_some_and(|op| is_ready(**handle, stream, op))
        });
        let Some((&handle, _)) = ready else { return Step::Nothing };
        let stream = self.streams.get_mut(&handle).unwrap_or_else(|| unreachable!("found above"));
        let (_, op) = stream.ops.pop_front().unwrap_or_else(|| unreachable!("found above"));
        let ended = stream.destroyed && stream.ops.is_empty();
        match op {
            Op::Call { function, argument } => {
                stream.busy = true;
                return Step::Call(handle, function, argument);
            }
            Op::Record { event, number } => {
                if let Some(known) = self.events.get_mut(&event) {
                    known.over = known.over.max(number);
                    known.at = Some(Instant::now());
                }
                self.forget_event(event);
            }
            Op::Wait { .. } => {}
            Op::Launch { name } if name == "fault" => self.lose(ILLEGAL_ADDRESS),
            Op::Launch { .. } => {}
            Op::Run(run) => run(),
            Op::Copy { dst, src, bytes } => {
                let (dst, src) = (pointer(dst), pointer(src));
                // SAFETY: both ranges are memory, by the promise of who submitted the copy, until it has run.
                unsafe { std::ptr::copy_nonoverlapping(src.cast_const(), dst, bytes) };
            }
            Op::Write { dst, data } => {
                // SAFETY: as above.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), pointer(dst), data.len()) };
            }
            Op::Fill { dst, pitch, pattern, width, height } => {
                for row in 0..height {
                    for column in 0..width {
                        let place = pointer(dst + row * pitch + column * pattern.len());
                        // SAFETY: as above.
                        unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), place, pattern.len()) };
                    }
                }
            }
        }
        if ended {
            self.streams.remove(&handle);
        }
        Step::Ran
    }
}

fn pointer(address: usize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address)
}
