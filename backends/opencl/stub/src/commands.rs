//! Commands: what they wait for, when they run, and how they end.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use opencl_sys::{
    CL_COMPLETE, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_CONTEXT,
    CL_INVALID_EVENT_WAIT_LIST, CL_OUT_OF_RESOURCES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
    CL_QUEUE_PROFILING_ENABLE, CL_QUEUED, CL_RUNNING, CL_SUBMITTED, cl_command_queue, cl_event, cl_int,
    cl_uint,
};

use crate::entry::{Call, Outcome};
use crate::memory::Block;
use crate::objects::{Body, Event, Object, header};
use crate::state::{self, State, pointer};

/// A callback of an event.
pub(crate) type Notify = unsafe extern "C" fn(event: cl_event, status: cl_int, data: *mut c_void);

/// A callback that was asked for.
#[derive(Clone)]
pub(crate) struct Callback {
    pub(crate) notify: Notify,
    pub(crate) data: usize,
    /// The status it waits for.
    pub(crate) at: cl_int,
}

/// Callbacks to call when the state is unlocked.
#[derive(Default)]
pub(crate) struct Callbacks {
    list: Vec<Box<dyn FnOnce() + Send>>,
    on_thread: bool,
}

impl Callbacks {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// Adds a callback, given as a function that calls it.
    pub(crate) fn push(&mut self, call: impl FnOnce() + Send + 'static) {
        self.list.push(Box::new(call));
    }
    fn push_of_event(&mut self, callback: Callback, event: usize, status: cl_int) {
        self.push(move || {
            // SAFETY: the application gave the function and its data for this call, which comes once.
            unsafe { (callback.notify)(pointer(event), status, pointer(callback.data)) };
        });
    }
    /// Calls them.
    pub(crate) fn run(self) {
        let Self { list, on_thread } = self;
        let call = move || list.into_iter().for_each(state::as_callback);
        if on_thread {
            std::thread::spawn(call);
        } else {
            call();
        }
    }
}

/// What a command does. Addresses are those of memory that is checked when it is submitted.
pub(crate) enum Action {
    Nothing,
    Copy { from: usize, to: usize, bytes: usize },
    Fill { to: usize, pattern: Vec<u8>, bytes: usize },
}

impl Action {
    fn run(&self) {
        match self {
            Self::Nothing => {}
            // SAFETY: the range is in an allocation, which the command keeps, or the application's to keep.
            Self::Copy { from, to, bytes } => unsafe {
                std::ptr::copy(*from as *const u8, *to as *mut u8, *bytes);
            },
            Self::Fill { to, pattern, bytes } => {
                for at in (0..*bytes).step_by(pattern.len().max(1)) {
                    let part = pattern.len().min(bytes - at);
                    // SAFETY: as for a copy.
                    unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), (*to + at) as *mut u8, part) };
                }
            }
        }
    }
}

/// A command that has not run.
pub(crate) struct Command {
    pub(crate) event: usize,
    name: &'static str,
    queue: usize,
    status: Arc<AtomicI32>,
    /// Events of its wait list that are not terminal.
    waits: Vec<usize>,
    /// Events that come first for another reason.
    after: Vec<usize>,
    /// One of its wait list has failed.
    poisoned: bool,
    /// A flush has sent it.
    sent: bool,
    action: Action,
    /// Allocations that it uses, by their start.
    uses: Vec<usize>,
    /// What they consist of.
    keeps: Vec<Arc<Block>>,
}

/// A command to submit.
pub(crate) struct Work {
    /// `CL_COMMAND_…`.
    pub(crate) command: cl_uint,
    pub(crate) action: Action,
    pub(crate) uses: Vec<usize>,
    pub(crate) keeps: Vec<Arc<Block>>,
    /// All that was submitted before comes first.
    pub(crate) after_all: bool,
    /// Comes before all that is submitted later.
    pub(crate) barrier: bool,
}

impl Work {
    /// A command that does nothing.
    pub(crate) fn nothing(command: cl_uint) -> Self {
        let (uses, keeps) = (Vec::new(), Vec::new());
        Self { command, action: Action::Nothing, uses, keeps, after_all: false, barrier: false }
    }
}

/// The wait list and the event of an `clEnqueue…`.
pub(crate) struct Waits(pub(crate) cl_uint, pub(crate) *const cl_event, pub(crate) *mut cl_event);

impl Call<'_> {
    /// Submits a command.
    pub(crate) fn enqueue(
        &mut self,
        queue: cl_command_queue,
        waits: &Waits,
        work: Work,
    ) -> Outcome<Arc<AtomicI32>> {
        let &Waits(count, list, event_ret) = waits;
        let in_queue = self.queue(queue)?;
        let (context, properties, last) = (in_queue.context, in_queue.properties, in_queue.last);
        if (count == 0) != list.is_null() {
            return Err(CL_INVALID_EVENT_WAIT_LIST);
        }
        let list = self.list(list, count as usize);
        let mut unfinished = Vec::new();
        let mut poisoned = false;
        for &event in &list {
            let wait = self.event(event).map_err(|_| CL_INVALID_EVENT_WAIT_LIST)?;
            let status = wait.status.load(Ordering::Acquire);
            if wait.context != context {
                self.violation(format!("{event:?} is an event of another context"));
                return Err(CL_INVALID_CONTEXT);
            }
            poisoned |= status < CL_COMPLETE;
            if status > CL_COMPLETE {
                unfinished.push(event as usize);
            }
        }
        let in_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE == 0;
        let mut after: Vec<usize> = last.into_iter().collect();
        if work.after_all {
            let queue = queue as usize;
            after = self.pending.iter().filter(|c| c.queue == queue).map(|c| c.event).collect();
        }
        after.retain(|event| self.pending.iter().any(|command| command.event == *event));
        let status = Arc::new(AtomicI32::new(CL_QUEUED));
        let event = header();
        let times = (properties & CL_QUEUE_PROFILING_ENABLE != 0).then(|| [self.now(); 4]);
        let body = Event {
            context,
            queue: queue as usize,
            command: work.command,
            status: Arc::clone(&status),
            callbacks: Vec::new(),
            times,
        };
        let references = u32::from(!event_ret.is_null());
        self.objects.insert(event, Object { references, body: Body::Event(body) });
        self.put(event_ret, pointer(event));
        if in_order || work.barrier {
            self.queue(queue)?.last = Some(event);
        }
        let command = Command {
            event,
            name: self.name,
            queue: queue as usize,
            status: Arc::clone(&status),
            waits: unfinished,
            after,
            poisoned,
            sent: !self.config.needs_flush,
            action: work.action,
            uses: work.uses,
            keeps: work.keeps,
        };
        self.pending.push(command);
        Ok(status)
    }

    /// Submits a command and, where it is asked for, waits for it.
    pub(crate) fn enqueue_blocking(
        &mut self,
        queue: cl_command_queue,
        blocking: cl_uint,
        waits: &Waits,
        work: Work,
    ) -> Outcome<()> {
        let status = self.enqueue(queue, waits, work)?;
        if blocking != 0 {
            self.flush(queue as usize);
            self.block_on([status]);
            if !waits.2.is_null() {
                self.gives = self.pending.last().map(|command| command.event);
            }
        }
        Ok(())
    }
}

impl State {
    /// Sends the commands of a queue off.
    pub(crate) fn flush(&mut self, queue: usize) {
        for command in self.pending.iter_mut().filter(|command| command.queue == queue) {
            command.sent = true;
            command.status.store(CL_SUBMITTED, Ordering::Release);
        }
    }
    /// Statuses of the pending commands of a queue.
    pub(crate) fn statuses(&self, queue: usize) -> Vec<Arc<AtomicI32>> {
        self.pending.iter().filter(|c| c.queue == queue).map(|c| Arc::clone(&c.status)).collect()
    }
    /// The name of a pending command that uses an allocation.
    pub(crate) fn pending_use(&self, start: usize) -> Option<&'static str> {
        self.pending.iter().find(|command| command.uses.contains(&start)).map(|command| command.name)
    }
    /// Takes an allocation out of the pending commands that use it, and gives their statuses.
    pub(crate) fn detach(&mut self, start: usize) -> Vec<Arc<AtomicI32>> {
        let users = self.pending.iter_mut().filter(|command| command.uses.contains(&start));
        users
            .map(|command| {
                command.uses.retain(|&used| used != start);
                command.sent = true;
                Arc::clone(&command.status)
            })
            .collect()
    }

    /// Runs what can run.
    pub(crate) fn advance(&mut self) {
        while !self.hold || self.steps > 0 {
            let ready = |c: &Command| c.sent && c.waits.is_empty() && c.after.is_empty();
            let found = match self.config.last_first {
                true => self.pending.iter().rposition(ready),
                false => self.pending.iter().position(ready),
            };
            let Some(found) = found else { break };
            self.steps = self.steps.saturating_sub(1);
            let command = self.pending.remove(found);
            let started = self.now();
            let fault = self.fault(&format!("run:{}", command.name));
            let status = match fault {
                _ if command.poisoned => CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
                Some(code) => code,
                None => {
                    command.action.run();
                    CL_COMPLETE
                }
            };
            drop(command.keeps);
            self.end(command.event, status, started);
        }
    }

    /// Ends every pending command with a failure.
    pub(crate) fn lose(&mut self) {
        self.lost = true;
        let users = |object: &Object| match &object.body {
            Body::Event(event) => event.queue == 0 && event.status.load(Ordering::Acquire) > CL_COMPLETE,
            _ => false,
        };
        let mut events: Vec<usize> = std::mem::take(&mut self.pending).iter().map(|c| c.event).collect();
        events.extend(self.objects.iter().filter(|(_, object)| users(object)).map(|(&handle, _)| handle));
        for event in events {
            self.end(event, CL_OUT_OF_RESOURCES, self.now());
        }
    }

    /// An event's work has ended.
    pub(crate) fn end(&mut self, handle: usize, status: cl_int, started: u64) {
        let now = self.now().max(started + 1);
        if let Some(object) = self.objects.get_mut(&handle)
            && let Body::Event(event) = &mut object.body
        {
            event.status.store(status, Ordering::Release);
            if let Some(times) = &mut event.times {
                *times = [times[0], started, started, now];
            }
            for callback in std::mem::take(&mut event.callbacks) {
                let reported = if status < 0 { status } else { callback.at };
                self.callbacks.push_of_event(callback, handle, reported);
            }
            if object.references == 0 {
                self.objects.remove(&handle);
            }
        }
        for command in &mut self.pending {
            let before = command.waits.len();
            command.waits.retain(|&event| event != handle);
            command.poisoned |= status < CL_COMPLETE && command.waits.len() < before;
            command.after.retain(|&event| event != handle);
        }
    }

    /// Calls a callback when an event is so far, or at the next occasion.
    pub(crate) fn notify(&mut self, event: cl_event, callback: Callback) -> Outcome<()> {
        let handle = event as usize;
        let event = self.event(event)?;
        let status = event.status.load(Ordering::Acquire);
        let reached = match callback.at {
            CL_SUBMITTED | CL_RUNNING | CL_COMPLETE => status <= callback.at,
            _ => return Err(opencl_sys::CL_INVALID_VALUE),
        };
        if reached {
            let reported = if status < 0 { status } else { callback.at };
            self.callbacks.push_of_event(callback, handle, reported);
        } else {
            event.callbacks.push(callback);
        }
        Ok(())
    }

    /// The callbacks to call now.
    pub(crate) fn take_callbacks(&mut self) -> Callbacks {
        let on_thread = self.config.callbacks_on_thread;
        Callbacks { on_thread, ..std::mem::take(&mut self.callbacks) }
    }
}
