//! Objects behind handles, their references, and what becomes of a handle that is used wrongly.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::{
    CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_DEVICE, CL_INVALID_EVENT, CL_INVALID_KERNEL,
    CL_INVALID_MEM_OBJECT, CL_INVALID_PROGRAM, cl_int,
};

pub(crate) use crate::client::Sort;
use crate::commands::Callback;
use crate::dispatch;
use crate::entry::Outcome;
use crate::kernels::{Argument, Parameter};
use crate::memory::Block;
use crate::state::State;

/// What a handle points to: the table by which a loader finds the functions. It is never freed, so that a loader can
/// follow even a handle that was released, and no handle comes twice.
#[repr(C)]
struct Header {
    dispatch: *const cl_icd_dispatch,
}

/// A new handle.
pub(crate) fn header() -> usize {
    Box::into_raw(Box::new(Header { dispatch: dispatch::table() })) as usize
}

pub(crate) struct Object {
    /// The application's references.
    pub(crate) references: u32,
    pub(crate) body: Body,
}

pub(crate) enum Body {
    Device(Device),
    Context(Context),
    Queue(Queue),
    Buffer(Buffer),
    Program(Program),
    Kernel(Kernel),
    Event(Event),
}

/// A root device has no parent; a part of one has, and a number of compute units of its own.
#[derive(Clone)]
pub(crate) struct Device {
    pub(crate) parent: usize,
    pub(crate) units: usize,
}

pub(crate) struct Context {
    pub(crate) devices: Vec<usize>,
    pub(crate) properties: Vec<isize>,
}

pub(crate) struct Queue {
    pub(crate) context: usize,
    pub(crate) device: usize,
    pub(crate) properties: u64,
    /// Later commands wait for this event: that of the last barrier, or, in order, of the last command.
    pub(crate) last: Option<usize>,
}

pub(crate) struct Buffer {
    pub(crate) context: usize,
    pub(crate) flags: u64,
    pub(crate) block: Arc<Block>,
    /// Starts of its maps.
    pub(crate) maps: Vec<usize>,
}

pub(crate) struct Program {
    pub(crate) context: usize,
    pub(crate) source: String,
    /// `CL_BUILD_NONE`, `_SUCCESS`, `_ERROR`.
    pub(crate) status: cl_int,
    pub(crate) log: String,
    pub(crate) options: String,
}

pub(crate) struct Kernel {
    pub(crate) context: usize,
    pub(crate) program: usize,
    pub(crate) name: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) arguments: Vec<Option<Argument>>,
}

pub(crate) struct Event {
    pub(crate) context: usize,
    /// The queue, or 0 for a user's event.
    pub(crate) queue: usize,
    pub(crate) command: u32,
    pub(crate) status: Arc<AtomicI32>,
    pub(crate) callbacks: Vec<Callback>,
    /// Queued, submitted, started, ended; where the queue records them.
    pub(crate) times: Option<[u64; 4]>,
}

impl Body {
    fn sort(&self) -> Sort {
        match self {
            Self::Device(_) => Sort::Device,
            Self::Context(_) => Sort::Context,
            Self::Queue(_) => Sort::Queue,
            Self::Buffer(_) => Sort::Memory,
            Self::Program(_) => Sort::Program,
            Self::Kernel(_) => Sort::Kernel,
            Self::Event(_) => Sort::Event,
        }
    }
}

/// The error code for a handle that is none of its sort.
fn invalid(sort: Sort) -> cl_int {
    match sort {
        Sort::Context => CL_INVALID_CONTEXT,
        Sort::Queue => CL_INVALID_COMMAND_QUEUE,
        Sort::Memory | Sort::Allocation => CL_INVALID_MEM_OBJECT,
        Sort::Program => CL_INVALID_PROGRAM,
        Sort::Kernel => CL_INVALID_KERNEL,
        Sort::Event => CL_INVALID_EVENT,
        Sort::Device => CL_INVALID_DEVICE,
    }
}

macro_rules! access {
    ($($name:ident: $variant:ident, $body:ident;)*) => {$(
        pub(crate) fn $name(&mut self, handle: *const std::ffi::c_void) -> Outcome<&mut $body> {
            self.check(handle, Sort::$variant)?;
            match self.objects.get_mut(&(handle as usize)) {
                Some(Object { body: Body::$body(body), .. }) => Ok(body),
                _ => Err(invalid(Sort::$variant)),
            }
        }
    )*};
}

impl State {
    access! {
        device: Device, Device;
        context: Context, Context;
        queue: Queue, Queue;
        buffer: Memory, Buffer;
        program: Program, Program;
        kernel: Kernel, Kernel;
        event: Event, Event;
    }

    /// A new object, with one reference.
    pub(crate) fn create(&mut self, body: Body) -> *mut std::ffi::c_void {
        let handle = header();
        self.objects.insert(handle, Object { references: 1, body });
        crate::state::pointer(handle)
    }

    /// Checks that the application holds the object of a handle. Anything else is a violation.
    fn check(&mut self, handle: *const std::ffi::c_void, sort: Sort) -> Outcome<()> {
        let address = handle as usize;
        let held = self.objects.get(&address).filter(|object| object.references > 0);
        let what = match held {
            Some(object) if object.body.sort() == sort => return Ok(()),
            Some(object) => format!("is a {:?}", object.body.sort()),
            None if self.objects.contains_key(&address) => "was released".to_owned(),
            None => match self.dead.get(&address) {
                Some(dead) => format!("was a {dead:?} and is released"),
                None => "is no handle of this runtime".to_owned(),
            },
        };
        self.violation(format!("{handle:?} stands for a {sort:?}, but {what}"));
        Err(invalid(sort))
    }

    /// Adds a reference.
    pub(crate) fn retain(&mut self, handle: *mut std::ffi::c_void, sort: Sort) -> Outcome<()> {
        self.check(handle, sort)?;
        if let Some(object) = self.objects.get_mut(&(handle as usize)) {
            object.references += 1;
        }
        Ok(())
    }
    /// Takes a reference away, and the object with the last one.
    pub(crate) fn release(&mut self, handle: *mut std::ffi::c_void, sort: Sort) -> Outcome<()> {
        self.check(handle, sort)?;
        let address = handle as usize;
        // Root devices have no count.
        if self.roots.contains(&address) {
            return Ok(());
        }
        let Some(object) = self.objects.get_mut(&address) else { return Ok(()) };
        object.references -= 1;
        if object.references == 0 {
            // An event is kept until it is terminal: commands may wait for it.
            let pending = match &object.body {
                Body::Event(event) => event.status.load(Ordering::Acquire) > 0,
                _ => false,
            };
            if !pending {
                self.objects.remove(&address);
            }
            self.dead.insert(address, sort);
        }
        Ok(())
    }
    /// References to an object.
    pub(crate) fn references(&self, handle: *const std::ffi::c_void) -> u32 {
        self.objects.get(&(handle as usize)).map_or(0, |object| object.references)
    }

    /// Objects of a sort that the application holds.
    pub(crate) fn live(&self, sort: Sort) -> usize {
        match sort {
            Sort::Allocation => self.allocations.live.len(),
            Sort::Device => {
                let parts = |object: &&Object| matches!(&object.body, Body::Device(part) if part.parent != 0);
                self.objects.values().filter(parts).count()
            }
            _ => {
                let held = |object: &&Object| object.references > 0 && object.body.sort() == sort;
                self.objects.values().filter(held).count()
            }
        }
    }
    /// Bytes of all buffers.
    pub(crate) fn buffer_bytes(&self) -> usize {
        let bytes = |object: &Object| match &object.body {
            Body::Buffer(buffer) if !buffer.block.is_foreign() => buffer.block.bytes,
            _ => 0,
        };
        self.objects.values().map(bytes).sum()
    }
}
