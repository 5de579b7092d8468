//! A CUDA driver without a device: it answers every query, moves bytes, runs no kernel, and fails on command.
//!
//! For tests of a backend that finds the driver's functions by their names: [`find`] is where it finds these. One test at a time
//! commands the driver, by its [`Stub`].
//!
//! What it does. One device (or as many as [`Stub::devices`] says). Memory is the host's, and what an address is of is told as the
//! driver tells it. A stream's commands run in their order, on a thread of their own, as soon as the events that they wait for are over,
//! unless they are held ([`Stub::hold`]). Copies and fills really move bytes; a module is a text of PTX of which the names and
//! parameters of kernels are read; a launch of the kernel `fault` is a fault of the context, from which on every call is refused; any
//! other launch does nothing. What libraries compute is computed: products, transforms, and Cholesky's triangles of doubles.
//!
//! What it checks. Misuse that a real driver may let pass or crash on (an object that is gone, memory freed under a pending command, a
//! call without a context) is an error code and a *violation*, which a test asks for.

mod api;
mod graph;
mod product;
mod routines;
mod state;

pub use api::find;

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::state::{CHANGED, Kind, Op, StreamState, lock};

/// The right to command the driver, which one test has at a time; healthy at first.
pub struct Stub(#[allow(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

/// Objects that live: contexts, streams, events, modules, handles of libraries, allocations, graphs.
pub type Live = [usize; 7];

impl Stub {
    /// Waits for the turn, and has a healthy driver.
    #[must_use]
    pub fn take() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let stub = Self(TURN.lock().unwrap_or_else(PoisonError::into_inner));
        stub.reset();
        stub
    }

    /// Forgets commands, counts, violations and the fault; objects stay.
    pub fn reset(&self) {
        lock().reset();
        CHANGED.notify_all();
    }

    /// How many devices there are from now on.
    pub fn devices(&self, count: i32) {
        lock().devices = count;
    }

    /// The version of CUDA that the driver says: 13000 for 13.0.
    pub fn version(&self, version: i32) {
        lock().version = version;
    }

    /// Whether host and device use managed memory at the same time.
    pub fn managed(&self, there: bool) {
        lock().managed = there;
    }

    /// The driver lacks a function, for drivers that are made from now on.
    pub fn lacks(&self, name: &str) {
        lock().absent = name.to_owned();
    }

    /// The n-th call of a function from now on is refused with a code.
    pub fn fail(&self, name: &str, nth: u64, code: i32) {
        lock().fail(name, nth, code);
    }

    /// The n-th call of all from now on is refused with a code.
    pub fn fail_nth(&self, nth: u64, code: i32) {
        lock().fail_nth(nth, code);
    }

    /// Every n-th call from now on is refused with a code.
    pub fn fail_every(&self, nth: u64, code: i32) {
        lock().fail_every(nth, code);
    }

    /// How many calls were refused on command.
    #[must_use]
    pub fn struck(&self) -> u64 {
        lock().struck
    }

    /// How many calls there were of a function.
    #[must_use]
    pub fn calls(&self, name: &str) -> u64 {
        lock().calls.get(name).copied().unwrap_or(0)
    }

    /// Whether commands are held back.
    pub fn hold(&self, hold: bool) {
        lock().hold = hold;
        CHANGED.notify_all();
    }

    /// A stream of another library, which neither the legacy default stream nor others wait for.
    #[must_use]
    pub fn foreign_stream(&self) -> usize {
        let mut state = lock();
        let handle = state.handle();
        state.streams.insert(handle, StreamState { apart: true, foreign: true, ..StreamState::default() });
        handle
    }

    /// Memory of another library's, of the device; it is kept until the process ends.
    ///
    /// # Panics
    /// Without memory.
    #[must_use]
    pub fn foreign_memory(&self, bytes: usize) -> *mut u8 {
        let address = lock()
            .allocate(bytes, Kind::Device, api::CONTEXTS)
            .unwrap_or_else(|code| panic!("refused with {code}"));
        std::ptr::with_exposed_provenance_mut(address)
    }

    /// Gives a stream of another library (1 is the legacy default stream) a copy.
    ///
    /// # Safety
    /// The ranges are memory until the copy has run.
    pub unsafe fn foreign_copy(&self, stream: usize, dst: *mut u8, src: *const u8, bytes: usize) {
        let mut state = lock();
        let op = Op::Copy { dst: dst.expose_provenance(), src: src.expose_provenance(), bytes };
        let number = state.next_number();
        if let Some(stream) = state.streams.get_mut(&stream) {
            stream.ops.push_back((number, op));
        }
        CHANGED.notify_all();
    }

    /// Waits until a stream has nothing to do.
    pub fn settle(&self, stream: usize) {
        let mut state = lock();
        while !state.is_idle(stream) {
            state = state.wait();
        }
    }

    /// The context is lost, with a code that every call gets from now on.
    pub fn lose(&self, code: i32) {
        lock().lose(code);
        CHANGED.notify_all();
    }

    /// What lives.
    #[must_use]
    pub fn live(&self) -> Live {
        lock().live()
    }

    /// What was misused.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        lock().violations.clone()
    }
}
