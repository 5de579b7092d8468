//! Where NVIDIA's libraries are, which are opened at run time.

use std::ffi::{CStr, OsString, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use dlopen2::raw::AddressInfoObtainer;

use crate::symbols::{Find, open};

/// The folder of all libraries in Python's `site-packages`, of wheels of CUDA 13.
const NEW_WHEELS: &str = "nvidia/cu13/lib";

/// How functions are found, where a test has functions of its own.
pub(crate) type Given = fn(&CStr) -> *mut c_void;

/// How functions of a library that is open are found.
pub(crate) type Found = Box<dyn Fn(&CStr) -> *mut c_void>;

/// A library of NVIDIA's.
pub(crate) struct Library {
    /// What people call it.
    pub(crate) name: &'static str,
    /// Files, the newest first; those that it loads itself stand before it.
    pub(crate) files: &'static [&'static [&'static str]],
    /// The folder of its wheel for CUDA 12.
    pub(crate) wheel: &'static str,
}

impl Library {
    /// How its functions are found; what it loads itself is loaded first. `None` where it is not installed.
    pub(crate) fn open(&self, given: Option<Given>) -> Option<Found> {
        if let Some(given) = given {
            return Some(Box::new(given));
        }
        let mut last = None;
        for names in self.files {
            let found = candidates(names, self.wheel, None).iter().find_map(|candidate| open(candidate).ok());
            last = Some(found?);
        }
        last.map(|find| Box::new(find) as Found)
    }
}

/// A library's functions, looked for once, when somebody wants them first.
pub(crate) struct Opened<F> {
    given: Option<Given>,
    functions: OnceLock<Option<Arc<F>>>,
}

impl<F> Opened<F> {
    pub(crate) const fn new(given: Option<Given>) -> Self {
        Self { given, functions: OnceLock::new() }
    }

    /// Whether the library is installed: `None` where nobody has looked yet.
    pub(crate) fn is_there(&self) -> Option<bool> {
        self.functions.get().map(Option::is_some)
    }

    /// The functions, in a table that is made by how they are found; `None` where the library is not installed.
    pub(crate) fn get(&self, library: &Library, table: impl FnOnce(Find<'_>) -> F) -> Option<&Arc<F>> {
        let open = || library.open(self.given).map(|find| Arc::new(table(&*find)));
        self.functions.get_or_init(open).as_ref()
    }
}

/// Libraries to try, in this order: of these names, in the folders of toolkits, of Python's wheels of CUDA 13, and in that of a wheel of
/// CUDA 12; or what a variable of the environment names, a file or a folder.
pub(crate) fn candidates(names: &[&str], wheel: &str, variable: Option<&str>) -> Vec<OsString> {
    let in_folder = |folder: &Path| {
        let folder = folder.to_owned();
        names.iter().map(move |name| folder.join(name)).filter(|path| path.is_file())
    };
    let named = variable.and_then(std::env::var_os);
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        let path = PathBuf::from(&named);
        return match path.is_dir() {
            true => in_folder(&path).map(PathBuf::into_os_string).collect(),
            false => vec![named],
        };
    }
    let mut candidates: Vec<OsString> = Vec::new();
    // That of the process first: its libraries are those that others in the process use.
    candidates.extend(names.iter().map(OsString::from));
    let toolkits = ["CUDA_PATH", "CUDA_HOME"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = Vec::new();
    for toolkit in toolkits.chain(std::iter::once(PathBuf::from("/usr/local/cuda"))) {
        folders.extend([toolkit.join("lib64"), toolkit.join("bin")]);
    }
    for packages in packages() {
        folders.extend([NEW_WHEELS, wheel].map(|wheel| packages.join(wheel)));
    }
    candidates.extend(folders.iter().flat_map(|folder| in_folder(folder)).map(PathBuf::into_os_string));
    candidates
}

/// Folders of Python's packages: the one that this library is in, those that the environment names.
fn packages() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let own = packages as fn() -> Vec<PathBuf>;
    // SAFETY: the address is that of a function of this library.
    let here = unsafe { AddressInfoObtainer::new().obtain(own as *const ()) };
    if let Ok(here) = here {
        // site-packages/stridewise/_stridewise.abi3.so
        folders.extend(Path::new(&here.dll_path).ancestors().skip(2).take(1).map(Path::to_owned));
    }
    let listed = std::env::var_os("PYTHONPATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&listed).filter(|path| path.is_absolute()));
    if let Some(environment) = std::env::var_os("VIRTUAL_ENV").or_else(|| std::env::var_os("CONDA_PREFIX")) {
        let versions =
            std::fs::read_dir(PathBuf::from(environment).join("lib")).into_iter().flatten().flatten();
        folders.extend(
            versions.map(|version| version.path().join("site-packages")).filter(|path| path.is_dir()),
        );
    }
    folders
}
