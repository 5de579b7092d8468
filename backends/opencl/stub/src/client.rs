//! How a test loads the library and commands it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A sort of objects that the runtime counts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    /// Contexts.
    Context,
    /// Command queues.
    Queue,
    /// Memory objects: buffers.
    Memory,
    /// Allocations of shared virtual memory or Intel's unified shared memory.
    Allocation,
    /// Programs.
    Program,
    /// Kernels.
    Kernel,
    /// Events.
    Event,
    /// Parts of devices.
    Device,
}

impl Sort {
    /// Every sort.
    pub const ALL: [Self; 8] = [
        Self::Context,
        Self::Queue,
        Self::Memory,
        Self::Allocation,
        Self::Program,
        Self::Kernel,
        Self::Event,
        Self::Device,
    ];

    pub(crate) fn from_number(number: c_int) -> Option<Self> {
        Self::ALL.into_iter().find(|&sort| sort as c_int == number)
    }
}

/// The loaded library, for one test at a time: tests of a process share the runtime, and take turns by holding this.
///
/// It comes with the runtime as after [`reset`](Self::reset).
#[derive(Debug)]
pub struct Stub {
    functions: &'static Functions,
    _turn: MutexGuard<'static, ()>,
}

/// The functions of `control.rs`, with their names and types.
macro_rules! functions {
    ($($field:ident = $name:literal: $ty:ty,)*) => {
        #[derive(Debug)]
        struct Functions {
            $($field: $ty,)*
        }

        impl Functions {
            /// Finds the functions, each by its name.
            fn new(find: impl Fn(&CStr) -> Result<*mut c_void, String>) -> Result<Self, String> {
                $(
                    let address = find($name)?;
                    // SAFETY: the function of this name in `control.rs` has this type.
                    let $field = unsafe { std::mem::transmute::<*mut c_void, $ty>(address) };
                )*
                Ok(Self { $($field),* })
            }
        }
    };
}

functions! {
    set = c"stub_set": unsafe extern "C" fn(*const c_char, *const c_char) -> c_int,
    fail = c"stub_fail": unsafe extern "C" fn(*const c_char, usize, c_int),
    fail_every = c"stub_fail_every": unsafe extern "C" fn(u64, c_int),
    struck = c"stub_struck": unsafe extern "C" fn() -> u64,
    heal = c"stub_heal": unsafe extern "C" fn(*const c_char),
    hold = c"stub_hold": unsafe extern "C" fn(c_int),
    release = c"stub_release": unsafe extern "C" fn(),
    step = c"stub_step": unsafe extern "C" fn(usize),
    pending = c"stub_pending": unsafe extern "C" fn() -> usize,
    lose_device = c"stub_lose_device": unsafe extern "C" fn(),
    calls = c"stub_calls": unsafe extern "C" fn(*const c_char) -> u64,
    live = c"stub_live": unsafe extern "C" fn(c_int) -> usize,
    violations = c"stub_violations": unsafe extern "C" fn() -> usize,
    violation = c"stub_violation": unsafe extern "C" fn(usize, *mut u8, usize) -> usize,
    reset = c"stub_reset": unsafe extern "C" fn(),
}

impl Functions {
    /// Finds the functions in a library, which stays loaded.
    fn load(path: &Path) -> Result<Self, String> {
        let name = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|error| error.to_string())?;
        // SAFETY: the library is this package's own, which does nothing when it is loaded.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err(format!("{} cannot be loaded", path.display()));
        }
        Self::new(|name| {
            // SAFETY: the library is open.
            let address = unsafe { libc::dlsym(library, name.as_ptr()) };
            if address.is_null() { Err(format!("{} has no {name:?}", path.display())) } else { Ok(address) }
        })
    }
}

/// A name as C has it, without what may follow a zero.
fn text(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().take_while(|&byte| byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}

impl Stub {
    /// The library's file: beside the running test, where cargo puts it when this package is a (development) dependency.
    ///
    /// # Errors
    /// It is not there; the message names the places.
    pub fn library() -> Result<PathBuf, String> {
        let name =
            format!("{}stridewise_opencl_stub{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // `deps` has it when it was built as a dependency; tests lie there, programs and examples one folder away.
        let folders = program.ancestors().skip(1).take(2);
        let places: Vec<PathBuf> =
            folders.flat_map(|folder| [folder.join(&name), folder.join("deps").join(&name)]).collect();
        places
            .iter()
            .find(|place| place.is_file())
            .cloned()
            .ok_or_else(|| format!("{name} is not built: it is none of {places:?}"))
    }

    /// Takes the turn, after the test that has it; makes cl3 load the library as OpenCL, unless something has already
    /// made it load another.
    ///
    /// # Errors
    /// The library is not there or cannot be loaded.
    pub fn load() -> Result<Self, String> {
        static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
        static TURN: Mutex<()> = Mutex::new(());
        // A test that failed with the turn has nothing that the reset does not mend.
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let functions = FUNCTIONS.get_or_init(|| {
            let path = Self::library()?;
            // SAFETY: Rust's functions take a lock for the environment; code in C that reads it at the same time is
            // that of an OpenCL runtime, and none is loaded before this.
            unsafe { std::env::set_var("OPENCL_DYLIB_PATH", &path) };
            Functions::load(&path)
        });
        let functions = functions.as_ref().map_err(String::clone)?;
        let stub = Self { functions, _turn: turn };
        stub.reset();
        Ok(stub)
    }

    /// Changes what the runtime pretends to be, until the next reset; what a program has asked before, it may remember.
    ///
    /// Keys and values: `tier` (`usm`, `fine`, `coarse`, `buffers`), `devices` (how many), `type` (`gpu`, `cpu`),
    /// `fp64`, `fp16` (`0`, `1`), `memory`, `allocation` (bytes), `units` (of compute), `protect` (`0`, `1`: a fault where
    /// host code touches coarse-grained memory that is not mapped, or a device's), `callbacks` (`caller`, `thread`:
    /// where callbacks run), `flush` (`implicit`, `needed`: commands run only when they were flushed), `order` (`first`,
    /// `last`: which of several commands that may run does). The variables `STRIDEWISE_STUB_TIER` and so on say where a
    /// reset leads to.
    ///
    /// # Panics
    /// The key or the value is unknown: a test that commands nothing tests nothing.
    pub fn set(&self, key: &str, value: &str) {
        let (name, text) = (text(key), text(value));
        // SAFETY: the library's function; the texts live until it returns.
        let known = unsafe { (self.functions.set)(name.as_ptr(), text.as_ptr()) } != 0;
        assert!(known, "the OpenCL stub does not know {value:?} for {key:?}");
    }
    /// Makes the `nth` coming call of an entry point fail with a code, or every call where `nth` is 0. A function that
    /// returns a pointer alone returns null. With the prefix `run:`, it is not the call that fails but the command, as
    /// `run:clEnqueueNDRangeKernel`, or the build, as `run:clBuildProgram`, with a log.
    pub fn fail(&self, name: &str, nth: usize, code: i32) {
        let name = text(name);
        // SAFETY: the library's function; the text lives until it returns.
        unsafe { (self.functions.fail)(name.as_ptr(), nth, code) };
    }
    /// Makes every `nth` coming call of any entry point fail with a code, but for those that give something back, which could
    /// then not be told from what is forgotten; none where `nth` is 0.
    pub fn fail_every(&self, nth: u64, code: i32) {
        // SAFETY: the library's function.
        unsafe { (self.functions.fail_every)(nth, code) };
    }
    /// Calls that have failed so since the last [`fail_every`](Self::fail_every).
    pub fn struck(&self) -> u64 {
        // SAFETY: the library's function.
        unsafe { (self.functions.struck)() }
    }
    /// Takes every failure of a name back.
    pub fn heal(&self, name: &str) {
        let name = text(name);
        // SAFETY: the library's function; the text lives until it returns.
        unsafe { (self.functions.heal)(name.as_ptr()) };
    }
    /// Keeps all commands pending from now on, or no longer.
    pub fn hold(&self, hold: bool) {
        // SAFETY: the library's function.
        unsafe { (self.functions.hold)(c_int::from(hold)) };
    }
    /// Lets held commands run, and those that come: `hold(false)`.
    pub fn release(&self) {
        // SAFETY: the library's function.
        unsafe { (self.functions.release)() };
    }
    /// Lets so many held commands run, one after the other, as far as their waits allow.
    pub fn step(&self, commands: usize) {
        // SAFETY: the library's function.
        unsafe { (self.functions.step)(commands) };
    }
    /// Commands that have not run.
    pub fn pending(&self) -> usize {
        // SAFETY: the library's function.
        unsafe { (self.functions.pending)() }
    }
    /// Loses the device: pending commands end with `CL_OUT_OF_RESOURCES`, and every call fails so that does not merely
    /// ask something or give something back.
    pub fn lose_device(&self) {
        // SAFETY: the library's function.
        unsafe { (self.functions.lose_device)() };
    }
    /// Calls of an entry point since the last reset.
    pub fn calls(&self, name: &str) -> u64 {
        let name = text(name);
        // SAFETY: the library's function; the text lives until it returns.
        unsafe { (self.functions.calls)(name.as_ptr()) }
    }
    /// Objects of a sort that are not released.
    pub fn live(&self, sort: Sort) -> usize {
        // SAFETY: the library's function.
        unsafe { (self.functions.live)(sort as c_int) }
    }
    /// What was misused since the last reset.
    pub fn violations(&self) -> Vec<String> {
        let mut room = vec![0_u8; 1024];
        // SAFETY: the library's functions; the place has as many bytes as they are told.
        let number = unsafe { (self.functions.violations)() };
        (0..number)
            .map(|index| {
                // SAFETY: as above.
                let length = unsafe { (self.functions.violation)(index, room.as_mut_ptr(), room.len()) };
                String::from_utf8_lossy(&room[..length.min(room.len())]).into_owned()
            })
            .collect()
    }
    /// Back to a healthy runtime that has counted nothing and has no failures to come, with the configuration of the
    /// environment. Objects stay; held commands run.
    pub fn reset(&self) {
        // SAFETY: the library's function.
        unsafe { (self.functions.reset)() };
    }
}
