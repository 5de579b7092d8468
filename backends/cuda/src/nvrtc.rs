//! NVRTC, the compiler of CUDA C++: opened at run time, from where it is installed. It needs no GPU.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use stridewise_core::memory::heap;
use stridewise_core::{Error, Result};

use crate::library::candidates;
use crate::symbols::{ABSENT, Refused, open, table};

/// Environment variable that names the library, or the folder that it is in.
pub(crate) const VARIABLE: &str = "STRIDEWISE_NVRTC";

/// Names of the library, the newest first.
#[cfg(not(windows))]
const NAMES: &[&str] = &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];
#[cfg(windows)]
const NAMES: &[&str] = &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"];

/// How the names of the libraries begin that the compiler itself loads.
const BUILTINS: &str = if cfg!(windows) { "nvrtc-builtins64" } else { "libnvrtc-builtins.so" };

/// The folder of the wheel of CUDA 12.
const WHEEL: &str = "nvidia/cuda_nvrtc/lib";
/// Where headers are beside a folder of libraries.
const HEADERS: &[&str] = &["../include", "../../cuda_runtime/include", "../targets/x86_64-linux/include"];

/// What mends the absence of the library.
const INSTALL: &str = "pip install nvidia-cuda-nvrtc (for a driver of CUDA 12: nvidia-cuda-nvrtc-cu12), or install the CUDA \
                       toolkit, or name the library by the environment variable STRIDEWISE_NVRTC";

/// The codes by which the source or the options are refused: invalid program, invalid option, compilation.
const INVALID_OPTION: i32 = 5;
const COMPILATION: i32 = 6;
const INVALID_ARCHITECTURE: &str = "nvrtc: error: invalid value for --gpu-architecture";

type Program = *mut c_void;

table! {
    /// NVRTC's functions.
    Functions {
        version = nvrtcVersion(major: *mut c_int, minor: *mut c_int);
        num_supported_archs = nvrtcGetNumSupportedArchs(count: *mut c_int);
        supported_archs = nvrtcGetSupportedArchs(list: *mut c_int);
        create_program = nvrtcCreateProgram(
            program: *mut Program,
            text: *const c_char,
            name: *const c_char,
            headers: c_int,
            contents: *const *const c_char,
            names: *const *const c_char,
        );
        destroy_program = nvrtcDestroyProgram(program: *mut Program);
        compile_program = nvrtcCompileProgram(program: Program, count: c_int, options: *const *const c_char);
        log_size = nvrtcGetProgramLogSize(program: Program, bytes: *mut usize);
        log = nvrtcGetProgramLog(program: Program, text: *mut c_char);
        cubin_size = nvrtcGetCUBINSize(program: Program, bytes: *mut usize);
        cubin = nvrtcGetCUBIN(program: Program, code: *mut c_char);
        ptx_size = nvrtcGetPTXSize(program: Program, bytes: *mut usize);
        ptx = nvrtcGetPTX(program: Program, text: *mut c_char);
    }
}

/// The compiler.
pub struct Nvrtc {
    functions: Functions,
    version: (u32, u32),
    /// Capabilities that it compiles for, in tens and ones: 75, 90, 120.
    architectures: Vec<u32>,
    found: String,
    /// The folder that it is in, where that is known.
    folder: Option<PathBuf>,
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvrtc")
            .field("version", &self.version)
            .field("found", &self.found)
            .finish_non_exhaustive()
    }
}

impl Nvrtc {
    /// Opens the compiler: the library that `STRIDEWISE_NVRTC` names, else the one that the system's loader finds, else that of a
    /// CUDA toolkit, else that of a Python wheel beside this program.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where there is none, which names what to install.
    pub fn open() -> Result<Self> {
        let mut tried = Vec::new();
        for candidate in candidates(NAMES, WHEEL, Some(VARIABLE)) {
            let Ok(find) = open(&candidate) else {
                tried.push(candidate.to_string_lossy().into_owned());
                continue;
            };
            // SAFETY: a library of NVRTC's name has NVRTC's functions, as nvrtc.h declares them; it stays loaded.
            let functions = unsafe { Functions::of(&find) };
            let path = Path::new(&candidate);
            let folder = path.is_absolute().then(|| path.parent().map(Path::to_owned)).flatten();
            folder.iter().for_each(|folder| load_builtins(folder));
            return Self::of(functions, path.to_string_lossy().into_owned(), folder);
        }
        let named = std::env::var_os(VARIABLE).filter(|named| !named.is_empty());
        let value = match named {
            Some(named) => format!("none at {} (environment variable {VARIABLE})", named.to_string_lossy()),
            None => format!("none of {}", tried.join(", ")),
        };
        Err(Error::unsupported("NVRTC", value, "the compiler of CUDA C++", INSTALL))
    }

    /// The compiler of this process, opened once.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Nvrtc> = OnceLock::new();
        // What is missing may be installed while the process runs: only what was found is kept.
        if let Some(found) = SHARED.get() {
            return Ok(found);
        }
        let found = Self::open()?;
        Ok(SHARED.get_or_init(|| found))
    }

    fn of(functions: Functions, found: String, folder: Option<PathBuf>) -> Result<Self> {
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: the places are live integers.
        let version = unsafe { functions.version(&raw mut major, &raw mut minor) };
        version.map_err(|refused| failed(refused, &found))?;
        // SAFETY: the place is a live integer.
        let known = unsafe { functions.num_supported_archs(&raw mut count) };
        let mut list = vec![0; known.map_or(0, |()| usize::try_from(count).unwrap_or(0))];
        // SAFETY: the list has as many places as the function just said.
        if list.is_empty() || unsafe { functions.supported_archs(list.as_mut_ptr()) }.is_err() {
            list.clear();
        }
        let architectures = list.into_iter().filter_map(|arch| u32::try_from(arch).ok()).collect();
        let version = (major.unsigned_abs(), minor.unsigned_abs());
        Ok(Self { functions, version, architectures, found, folder })
    }

    /// Its version: that of CUDA.
    #[must_use]
    pub const fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Where it was found.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }

    /// Compiles a text of CUDA C++ to what the driver loads: machine code (CUBIN) for a device of a capability, as `(9, 0)`; for a
    /// device that is newer than this compiler, PTX, which the driver compiles. `name` stands in messages.
    ///
    /// # Errors
    /// [`Error::Compilation`] with the compiler's log; [`Error::Alloc`].
    pub fn compile(&self, text: &str, name: &str, arch: (u32, u32), options: &[&str]) -> Result<Vec<u8>> {
        let wanted = 10 * arch.0 + arch.1;
        // Machine code of a capability runs on later ones of the same first number.
        let known = self.architectures.iter().copied();
        let best = known.filter(|&known| known <= wanted).max().unwrap_or(wanted);
        let machine = self.architectures.is_empty() || best / 10 == arch.0;
        let target = format!("--gpu-architecture={}_{best}", if machine { "sm" } else { "compute" });

        let text = self.text(text, "source")?;
        let name = self.text(name, "name")?;
        let mut given = Vec::with_capacity(options.len() + HEADERS.len() + 1);
        given.push(self.text(&target, "options")?);
        for option in options {
            given.push(self.text(option, "options")?);
        }
        for folder in self.headers() {
            given.push(self.text(&format!("--include-path={}", folder.display()), "options")?);
        }
        let pointers: Vec<*const c_char> = given.iter().map(|option| option.as_ptr()).collect();

        let mut program = OwnProgram(&self.functions, null_mut());
        // SAFETY: the texts end with zeros and live for the call; there are no headers; the place is a live pointer.
        let created = unsafe {
            self.functions.create_program(&raw mut program.1, text.as_ptr(), name.as_ptr(), 0, null(), null())
        };
        created.map_err(|refused| failed(refused, &self.found))?;
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        // SAFETY: the program is live; the options are as many texts that end with zeros.
        if let Err(refused) = unsafe { self.functions.compile_program(program.1, count, pointers.as_ptr()) } {
            let log = program.log();
            if !matches!(refused.code, COMPILATION | INVALID_OPTION) {
                return Err(failed(refused, &self.found));
            }
            let help = match log.contains(INVALID_ARCHITECTURE) {
                true => "install an NVRTC that knows the device (pip install --upgrade nvidia-cuda-nvrtc)",
                false => "see the compiler's log",
            };
            return Err(Error::compilation(
                "source",
                format!(
                    "CUDA C, refused by NVRTC {}.{} for {target}:\n{log}\n",
                    self.version.0, self.version.1
                ),
                "a source that the compiler takes, with options that it knows",
                help,
            ));
        }
        program
            .code(machine)
            .map_err(|refused| refused.map_or_else(|error| error, |refused| failed(refused, &self.found)))
    }

    /// Text for C, without zero bytes.
    fn text(&self, text: &str, argument: &'static str) -> Result<CString> {
        CString::new(text).map_err(|error| {
            let place = error.nul_position();
            Error::value(argument, format!("a zero byte at {place}"), "a text without", "take it out")
        })
    }

    /// Folders of the toolkit's headers, where they are beside the library.
    fn headers(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let beside = self.folder.iter().flat_map(|folder| HEADERS.iter().map(|headers| folder.join(headers)));
        beside.filter(|folder| folder.join("cuda_fp16.h").is_file())
    }
}

/// A program of the compiler's.
struct OwnProgram<'a>(&'a Functions, Program);

impl OwnProgram<'_> {
    fn log(&self) -> String {
        let mut bytes = 0;
        // SAFETY: the program is live, the place is a live number.
        if unsafe { self.0.log_size(self.1, &raw mut bytes) }.is_err() {
            return String::new();
        }
        let Ok(mut log) = heap::zeroed::<u8>("log", bytes) else { return String::new() };
        // SAFETY: the log has as many bytes as the function just said.
        if unsafe { self.0.log(self.1, log.as_mut_ptr().cast()) }.is_err() {
            return String::new();
        }
        let text: Cow<'_, str> = match CStr::from_bytes_until_nul(&log) {
            Ok(text) => text.to_string_lossy(),
            Err(_) => String::from_utf8_lossy(&log),
        };
        text.trim().to_owned()
    }

    /// The machine code, or PTX: of the errors, the compiler's are within.
    fn code(&self, machine: bool) -> Result<Vec<u8>, Result<Refused, Error>> {
        let mut bytes = 0;
        // SAFETY: the program is live, the place is a live number.
        let size = unsafe {
            match machine {
                true => self.0.cubin_size(self.1, &raw mut bytes),
                false => self.0.ptx_size(self.1, &raw mut bytes),
            }
        };
        size.map_err(Ok)?;
        let mut code = heap::zeroed::<u8>("code", bytes).map_err(Err)?;
        let place = code.as_mut_ptr().cast();
        // SAFETY: the code has as many bytes as the function just said.
        let got = unsafe {
            match machine {
                true => self.0.cubin(self.1, place),
                false => self.0.ptx(self.1, place),
            }
        };
        got.map_err(Ok)?;
        Ok(code)
    }
}

impl Drop for OwnProgram<'_> {
    fn drop(&mut self) {
        if !self.1.is_null() {
            // SAFETY: the compiler made the program, which is destroyed once, here. A failure leaves nothing to do.
            let _ = unsafe { self.0.destroy_program(&raw mut self.1) };
        }
    }
}

/// What a call reports that failed for a reason of the compiler's own.
fn failed(refused: Refused, found: &str) -> Error {
    let Refused { call, code } = refused;
    let (value, help) = match code {
        ABSENT => ("a function that it does not have".to_owned(), INSTALL),
        1 => ("NVRTC_ERROR_OUT_OF_MEMORY (1)".to_owned(), "free memory of the host"),
        7 => ("NVRTC_ERROR_BUILTIN_OPERATION_FAILURE (7)".to_owned(), INSTALL),
        code => (format!("code {code}"), "NVRTC's documentation of this function says more"),
    };
    Error::runtime(call, format!("{value}, of {found}"), "NVRTC_SUCCESS", help)
}

/// Loads what the compiler loads by name alone, where it is beside the compiler: a wheel's folder is in no list of the loader's.
fn load_builtins(folder: &Path) {
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = file.file_name();
        if name.to_string_lossy().starts_with(BUILTINS) {
            // Where it cannot be loaded, the compiler says so when it is used.
            drop(open(file.path().as_os_str()));
        }
    }
}
