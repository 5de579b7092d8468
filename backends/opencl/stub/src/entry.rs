//! Entry points: every one is counted, asked whether to fail, and settled (callbacks, blocking) in one place.

use std::ffi::{CStr, c_char, c_void};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use opencl_sys::{CL_INVALID_VALUE, CL_OUT_OF_RESOURCES, cl_int};

use crate::objects::Sort;
use crate::state::{self, State};

/// What an entry point gives, or its error code.
pub(crate) type Outcome<T> = Result<T, cl_int>;

/// So long a blocking call waits before it counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A call of an entry point: the state of the runtime, and access to what the caller's pointers lead to.
///
/// A `Call` is made by [`Call::run`] alone, whose caller promises that the pointers are what OpenCL asks for.
pub(crate) struct Call<'a> {
    state: &'a mut State,
    /// Name of the entry point.
    pub(crate) name: &'static str,
    blocks_on: Vec<Arc<AtomicI32>>,
    /// The event that a blocking call gives, unless it fails.
    pub(crate) gives: Option<usize>,
    /// Whether a failure of what the call blocks on is one of the call.
    reports: bool,
}

impl Deref for Call<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        self.state
    }
}
impl DerefMut for Call<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state
    }
}

impl Call<'_> {
    /// Runs the body of an entry point.
    ///
    /// # Safety
    /// The body uses the [`Call`]'s pointer methods only for pointers that the caller of the entry point gave, with the
    /// lengths that OpenCL says they have.
    pub(crate) unsafe fn run<R>(
        name: &'static str,
        body: impl FnOnce(&mut Call<'_>) -> Outcome<R>,
    ) -> Outcome<R> {
        let mut guard = state::lock();
        guard.enter(name)?;
        let mut call = Call { state: &mut guard, name, blocks_on: Vec::new(), gives: None, reports: true };
        let result = body(&mut call);
        let Call { blocks_on, gives, reports, .. } = call;
        guard.advance();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let callbacks = guard.take_callbacks();
            if !callbacks.is_empty() {
                drop(guard);
                state::CHANGED.notify_all();
                callbacks.run();
                guard = state::lock();
                continue;
            }
            if result.is_err() || blocks_on.iter().all(|status| status.load(Ordering::Acquire) <= 0) {
                break;
            }
            let now = Instant::now();
            if now >= deadline {
                guard.violation(format!("{name} waited {PATIENCE:?} for commands that nobody lets run"));
                return Err(CL_OUT_OF_RESOURCES);
            }
            guard = state::wait(guard, deadline - now);
        }
        drop(guard);
        state::CHANGED.notify_all();
        let failed = blocks_on.iter().any(|status| status.load(Ordering::Acquire) < 0);
        match result {
            Ok(_) if failed && reports => {
                if let Some(event) = gives {
                    // Who gave it, takes it back.
                    let _ = state::lock().release(state::pointer(event), Sort::Event);
                }
                Err(opencl_sys::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
            }
            result => result,
        }
    }

    /// Makes the call return only when these commands are terminal, with an error where one of them failed.
    pub(crate) fn block_on(&mut self, commands: impl IntoIterator<Item = Arc<AtomicI32>>) {
        if state::in_callback() {
            let name = self.name;
            self.violation(format!("{name} blocks in an event's callback"));
            return;
        }
        self.blocks_on.extend(commands);
    }
    /// As [`block_on`](Self::block_on), with success whatever becomes of the commands.
    pub(crate) fn block_on_end_of(&mut self, commands: impl IntoIterator<Item = Arc<AtomicI32>>) {
        self.block_on(commands);
        self.reports = false;
    }

    /// `count` values behind a pointer; none where it is null.
    pub(crate) fn list<T: Copy>(&self, start: *const T, count: usize) -> Vec<T> {
        if start.is_null() {
            return Vec::new();
        }
        // SAFETY: the caller of the entry point gave `count` values here, see `run`.
        (0..count).map(|i| unsafe { start.add(i).read_unaligned() }).collect()
    }
    /// Values behind a pointer up to the first that is `end`, which is not among them.
    pub(crate) fn list_to<T: Copy + PartialEq>(&self, start: *const T, end: T) -> Vec<T> {
        let at = |i| self.list(start.wrapping_add(i), 1).first().copied().filter(|&value| value != end);
        if start.is_null() { Vec::new() } else { (0..).map_while(at).collect() }
    }
    /// Text behind a pointer; empty where it is null.
    pub(crate) fn text(&self, start: *const c_char) -> String {
        if start.is_null() {
            return String::new();
        }
        // SAFETY: the caller of the entry point gave text that ends with a zero here, see `run`.
        unsafe { CStr::from_ptr(start) }.to_string_lossy().into_owned()
    }
    /// Writes a value, where the caller wants it.
    pub(crate) fn put<T>(&self, place: *mut T, value: T) {
        if !place.is_null() {
            // SAFETY: the caller of the entry point gave a place for such a value, see `run`.
            unsafe { place.write_unaligned(value) };
        }
    }
    /// Writes values, where the caller wants them.
    pub(crate) fn put_all<T: Copy>(&self, place: *mut T, values: &[T]) {
        for (i, &value) in values.iter().enumerate().filter(|_| !place.is_null()) {
            self.put(place.wrapping_add(i), value);
        }
    }
    /// The answer to a query, in the way of every `clGet…Info`.
    pub(crate) fn answer(
        &self,
        answer: &[u8],
        size: usize,
        value: *mut c_void,
        size_ret: *mut usize,
    ) -> Outcome<()> {
        if !value.is_null() {
            if size < answer.len() {
                return Err(CL_INVALID_VALUE);
            }
            self.put_all(value.cast(), answer);
        }
        self.put(size_ret, answer.len());
        Ok(())
    }
}

/// Entry points. A kind says how an error leaves: `status` as the value, `object` through `errcode_ret` (the last
/// parameter, which is added), `pointer` as null, `nothing` not at all. The body is that of a closure with the named
/// [`Call`] that returns an [`Outcome`].
///
/// Each is a function of its module, which the dispatch table points to, and an exported one that calls it: were the
/// exported ones in the table, a loader's function of the same name could take their place.
macro_rules! entries {
    ($($(#[$doc:meta])* $kind:ident fn $name:ident($call:ident $(, $arg:ident: $ty:ty)* $(,)?) $(-> $ret:ty)? $body:block)*) => {
        $(entry! { [$(#[$doc])*] $kind $name $call ($($arg: $ty),*) ($($ret)?) $body })*
    };
}

macro_rules! entry {
    ([$($doc:tt)*] status $name:ident $call:ident ($($arg:ident: $ty:ty),*) () $body:block) => {
        $($doc)*
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> opencl_sys::cl_int {
            let body = |$call: &mut $crate::entry::Call<'_>| -> $crate::entry::Outcome<()> { $body };
            // SAFETY: the body reads and writes what OpenCL's specification says of this function's pointers.
            let outcome = unsafe { $crate::entry::Call::run(stringify!($name), body) };
            outcome.err().unwrap_or(opencl_sys::CL_SUCCESS)
        }
        export! { $name ($($arg: $ty),*) (opencl_sys::cl_int) }
    };
    ([$($doc:tt)*] object $name:ident $call:ident ($($arg:ident: $ty:ty),*) ($ret:ty) $body:block) => {
        $($doc)*
        pub(crate) unsafe extern "C" fn $name($($arg: $ty,)* errcode_ret: *mut opencl_sys::cl_int) -> $ret {
            let body = |$call: &mut $crate::entry::Call<'_>| -> $crate::entry::Outcome<$ret> { $body };
            // SAFETY: the body reads and writes what OpenCL's specification says of this function's pointers.
            let outcome = unsafe { $crate::entry::Call::run(stringify!($name), body) };
            let (value, code) = match outcome {
                Ok(value) => (value, opencl_sys::CL_SUCCESS),
                Err(code) => (std::ptr::null_mut(), code),
            };
            if !errcode_ret.is_null() {
                // SAFETY: where it is not null, the caller gave a place for the error code.
                unsafe { errcode_ret.write(code) };
            }
            value
        }
        export! { $name ($($arg: $ty,)* errcode_ret: *mut opencl_sys::cl_int) ($ret) }
    };
    ([$($doc:tt)*] pointer $name:ident $call:ident ($($arg:ident: $ty:ty),*) ($ret:ty) $body:block) => {
        $($doc)*
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            let body = |$call: &mut $crate::entry::Call<'_>| -> $crate::entry::Outcome<$ret> { $body };
            // SAFETY: the body reads and writes what OpenCL's specification says of this function's pointers.
            let outcome = unsafe { $crate::entry::Call::run(stringify!($name), body) };
            outcome.unwrap_or(std::ptr::null_mut())
        }
        export! { $name ($($arg: $ty),*) ($ret) }
    };
    ([$($doc:tt)*] nothing $name:ident $call:ident ($($arg:ident: $ty:ty),*) () $body:block) => {
        $($doc)*
        pub(crate) unsafe extern "C" fn $name($($arg: $ty),*) {
            let body = |$call: &mut $crate::entry::Call<'_>| -> $crate::entry::Outcome<()> { $body };
            // SAFETY: the body reads and writes what OpenCL's specification says of this function's pointers.
            let _ = unsafe { $crate::entry::Call::run(stringify!($name), body) };
        }
        export! { $name ($($arg: $ty),*) (()) }
    };
}

/// The exported function of an entry point.
macro_rules! export {
    ($name:ident ($($arg:ident: $ty:ty),* $(,)?) ($ret:ty)) => {
        const _: () = {
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
                // SAFETY: the same function under another name.
                unsafe { self::$name($($arg),*) }
            }
        };
    };
}
