//! Why a device of OpenCL is not found: the loader, the drivers that it is told of, what they say, and the
//! files of devices.
//!
//! The findings are the doctor's. A device can be lost at each step of its way here:
//! ```text
//! hardware on the bus ─► file of a device ─► loader ─► drivers that it is told of ─► platforms ─► devices that were refused
//! ```
//! Each is a line on what is there, or a problem with what mends it. Everything is looked up as the loader
//! does it (variables, the vendors' folder, the first line of each file), for a diagnosis that looks
//! elsewhere sends users there. Libraries that were opened stay open: few drivers are tested for being
//! unloaded. Without a loader no driver's code is run.
//!
//! It is called when something is wrong, so it may be slow, but must not fail: what cannot be read is a
//! finding. Another place where drivers are named, or another maker of GPUs, is a line in the constants; a
//! variable also needs its line in `docs/site/doctor.md`.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use dlopen2::raw::Library;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_GPU, get_device_ids};
use opencl3::platform::Platform;
use opencl3::platform::platform::get_platform_ids;
use stridewise_core::backend::{Finding, KernelCache};

use crate::DRIVER;
use crate::error::name;

/// Libraries to load in place of the system's loader, separated by `;`.
const LOADERS: &str = "OPENCL_DYLIB_PATH";
/// What the loader reads in place of [`VENDORS`]: a folder, a file of its kind, or a driver's library.
const VENDORS_VARIABLE: &str = "OCL_ICD_VENDORS";
/// Drivers' libraries that the loader loads besides, separated by `:`.
const FILES_VARIABLE: &str = "OCL_ICD_FILENAMES";
/// The folder of files that name a driver's library each.
const VENDORS: &str = "/etc/OpenCL/vendors";
/// The function by which a loader takes a driver in (`cl_khr_icd`).
const ENTRY: &str = "clGetExtensionFunctionAddress";
/// The files of GPUs beside those of `/dev/dri`: of AMD, NVIDIA, Windows' subsystem, Arm and Qualcomm.
const FILES_OF_GPUS: [&str; 5] = ["/dev/kfd", "/dev/nvidiactl", "/dev/dxg", "/dev/mali0", "/dev/kgsl-3d0"];
/// "There is no platform", of `cl_khr_icd`.
const NO_PLATFORM: i32 = -1001;

/// Everything, with the devices that were refused.
pub(crate) fn findings(refused: Vec<Finding>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let hardware =
        if cfg!(target_os = "linux") { hardware(Path::new("/sys/bus/pci/devices")) } else { Vec::new() };
    let loaded = match cl3::load_library() {
        Ok(_) => None,
        Err(error) => Some(error.to_string()),
    };
    let named = std::env::var(LOADERS).ok().filter(|value| !value.is_empty());
    findings.push(loader(loaded.as_deref(), named.as_deref(), !hardware.is_empty()));
    findings.extend(named.iter().flat_map(|named| named.split(';')).filter_map(|path| {
        let why = opens(path).err()?;
        Some(Finding::problem(
            LOADERS,
            why,
            format!("name a library that is there in {LOADERS}, or unset it"),
        ))
    }));
    // Without a loader, drivers are of no use, and their code is not run for nothing.
    let open = |path: &str| if loaded.is_none() { is_driver(path) } else { Ok(()) };
    if cfg!(all(unix, not(target_os = "macos"))) {
        let variable =
            std::env::var_os(VENDORS_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        findings.extend(vendors(variable.as_deref(), !hardware.is_empty(), open));
        for library in std::env::var(FILES_VARIABLE).iter().flat_map(|names| names.split(':')) {
            findings.extend((!library.is_empty()).then(|| driver(FILES_VARIABLE, library, open)));
        }
    }
    let gpus = if loaded.is_none() { platforms(&mut findings) } else { 0 };
    findings.extend(refused);
    if cfg!(target_os = "linux") {
        findings.extend(files_of_devices());
        findings.extend(hardware.iter().map(|gpu| seen(gpu, gpus > 0, device_files().next().is_some())));
    }
    findings.push(KernelCache::diagnose(DRIVER));
    findings
}

fn loader(error: Option<&str>, named: Option<&str>, gpu: bool) -> Finding {
    const SUBJECT: &str = "loader";
    let Some(error) = error else {
        let mapped = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let file = mapped.lines().filter_map(|line| line.split_once('/')).find(|(_, path)| {
            let file = path.rsplit('/').next().unwrap_or(path);
            named.is_some_and(|named| named.contains(path)) || file.to_ascii_lowercase().contains("libopencl")
        });
        return Finding::fine(
            SUBJECT,
            file.map_or_else(|| "loaded".to_owned(), |(_, path)| format!("/{path}")),
        );
    };
    let looked = match named {
        Some(named) => format!("at {named} ({LOADERS}), then at libOpenCL.so.1"),
        None => format!("at libOpenCL.so.1 ({LOADERS} is not set)"),
    };
    let text = format!("none: {error}; looked {looked}, where the system looks for libraries");
    let remedy = "sudo apt install ocl-icd-libopencl1 (Fedora: sudo dnf install ocl-icd)";
    if gpu {
        Finding::problem(SUBJECT, text, remedy)
    } else {
        Finding::note(SUBJECT, format!("{text}; the host needs none"), remedy)
    }
}

/// Whether a library can be loaded; it stays so, as unloading a driver is what few are tested for.
fn opens(path: &str) -> Result<Library, String> {
    Library::open(path).map_err(|error| format!("{path} cannot be loaded: {error}"))
}

/// Whether a library can be loaded and is a driver.
fn is_driver(path: &str) -> Result<(), String> {
    let library = opens(path)?;
    // SAFETY: the address is only compared with null, by the function itself; nothing is called.
    let entry = unsafe { library.symbol::<*const ()>(ENTRY) };
    std::mem::forget(library);
    entry.map(drop).map_err(|_| format!("{path} is no driver for a loader: it has no function {ENTRY}"))
}

/// What a driver's library is like, which a file or a variable names.
fn driver(subject: &str, library: &str, open: impl Fn(&str) -> Result<(), String>) -> Finding {
    match open(library) {
        Ok(()) => Finding::fine(subject.to_owned(), library),
        Err(why) => Finding::problem(
            subject.to_owned(),
            why,
            format!("install the package that has {library} again, or remove {subject}"),
        ),
    }
}

/// The drivers that a loader is told of.
fn vendors(
    variable: Option<&Path>,
    gpu: bool,
    open: impl Fn(&str) -> Result<(), String> + Copy,
) -> Vec<Finding> {
    let place = variable.unwrap_or(Path::new(VENDORS));
    let shown = place.display().to_string();
    let by = if variable.is_some() { format!(", which {VENDORS_VARIABLE} names,") } else { String::new() };
    if place.is_dir() {
        let mut files: Vec<PathBuf> = fs::read_dir(place)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "icd"));
        files.sort();
        if files.is_empty() {
            return vec![nothing(format!("{shown}{by} names no driver"), variable, gpu)];
        }
        return files.iter().map(|file| of_file(file, open)).collect();
    }
    if !place.exists() && variable.is_none_or(|path| path.is_absolute()) {
        return vec![nothing(format!("{shown}{by} is not there"), variable, gpu)];
    }
    // A file of a driver's name, or the driver itself.
    if place.extension().is_some_and(|extension| extension == "icd") {
        return vec![of_file(place, open)];
    }
    vec![driver(VENDORS_VARIABLE, &shown, open)]
}

fn nothing(text: String, variable: Option<&Path>, gpu: bool) -> Finding {
    match variable {
        Some(_) => Finding::note("vendors", text, format!("unset {VENDORS_VARIABLE}")),
        None if gpu => Finding::problem("vendors", text, "install the driver of the GPU, see below"),
        None => Finding::note(
            "vendors",
            format!("{text}; the host needs none"),
            "install the driver of a device (for processors: sudo apt install pocl-opencl-icd)",
        ),
    }
}

/// A file of the vendors' folder: its first line is a library's name.
fn of_file(file: &Path, open: impl Fn(&str) -> Result<(), String>) -> Finding {
    let shown = file.display().to_string();
    let text = match fs::read(file) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            let remedy = format!("sudo chmod a+r {shown}");
            return Finding::problem(shown, format!("cannot be read: {error}"), remedy);
        }
    };
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(library) => driver(&shown, library, open),
        None => {
            let remedy = format!("install the driver again, or sudo rm {shown}");
            Finding::problem(shown, "is empty; expected the name of a driver's library", remedy)
        }
    }
}

/// The platforms that there are; how many GPUs they have.
fn platforms(findings: &mut Vec<Finding>) -> usize {
    const SUBJECT: &str = "platforms";
    let platforms = match get_platform_ids() {
        Ok(platforms) if !platforms.is_empty() => platforms,
        Ok(_) | Err(NO_PLATFORM) => {
            let remedy =
                "mend the drivers above, or install one (for processors: sudo apt install pocl-opencl-icd)";
            findings.push(Finding::note(
                SUBJECT,
                "none: no driver has told the loader of a platform",
                remedy,
            ));
            return 0;
        }
        Err(code) => {
            let text = format!("clGetPlatformIDs: {}", name(code));
            findings.push(Finding::problem(SUBJECT, text, "the loader is broken: install its package again"));
            return 0;
        }
    };
    let mut gpus = 0;
    for id in platforms {
        let platform = Platform::new(id);
        let title =
            platform.name().unwrap_or_else(|code| format!("a platform without a name ({})", name(code.0)));
        let version = platform.version().unwrap_or_default();
        let count = |kind| get_device_ids(id, kind);
        gpus += count(CL_DEVICE_TYPE_GPU).map_or(0, |list| list.len());
        findings.push(match count(CL_DEVICE_TYPE_ALL) {
            Ok(list) if !list.is_empty() => {
                Finding::fine("platform", format!("{title}, {version}, devices: {}", list.len()))
            }
            // "There is no device."
            Ok(_) | Err(-1) => Finding::note(
                "platform",
                format!("{title}, {version}, has no device"),
                "see that the hardware is there (lspci) and that its kernel module is loaded (lsmod)",
            ),
            Err(code) => Finding::problem(
                "platform",
                format!("{title}, {version}: clGetDeviceIDs: {}", name(code)),
                "see the documentation of this driver, or install it again",
            ),
        });
    }
    gpus
}

/// A display or compute device on the bus, of a maker whose devices have OpenCL.
struct Gpu {
    place: String,
    maker: &'static str,
    remedy: &'static str,
}

/// By the number of its maker on the bus.
fn maker(number: &str) -> Option<(&'static str, &'static str)> {
    match number.trim() {
        "0x10de" => Some((
            "NVIDIA",
            "install NVIDIA's driver with libnvidia-opencl.so.1; in a container: echo libnvidia-opencl.so.1 > \
             /etc/OpenCL/vendors/nvidia.icd",
        )),
        "0x1002" => {
            Some(("AMD", "install rocm-opencl-runtime (AMD's packages), or sudo apt install mesa-opencl-icd"))
        }
        "0x8086" => Some(("Intel", "sudo apt install intel-opencl-icd")),
        _ => None,
    }
}

fn hardware(bus: &Path) -> Vec<Gpu> {
    let mut gpus: Vec<Gpu> = fs::read_dir(bus)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let read = |file: &str| fs::read_to_string(entry.path().join(file)).ok();
            let class = read("class")?;
            // Display controllers, and processing accelerators.
            if !class.starts_with("0x03") && !class.starts_with("0x12") {
                return None;
            }
            let (maker, remedy) = maker(&read("vendor")?)?;
            Some(Gpu { place: entry.file_name().to_string_lossy().into_owned(), maker, remedy })
        })
        .collect();
    gpus.sort_by(|a, b| a.place.cmp(&b.place));
    gpus
}

/// What is to be said of hardware on the bus, where there is, or is not, a GPU for OpenCL, and a file of any device.
fn seen(gpu: &Gpu, found: bool, files: bool) -> Finding {
    let text = format!("{} at PCI {}", gpu.maker, gpu.place);
    if found {
        return Finding::fine("hardware", text);
    }
    if files {
        return Finding::problem("hardware", format!("{text}, but OpenCL has no GPU"), gpu.remedy);
    }
    let remedy =
        "load the kernel module of the device; in a container: docker run --gpus all, or --device /dev/dri";
    Finding::note("hardware", format!("{text}, but this system has no device file of it"), remedy)
}

/// The files by which processes reach GPUs.
fn device_files() -> impl Iterator<Item = PathBuf> {
    let render = fs::read_dir("/dev/dri").into_iter().flatten().flatten().map(|entry| entry.path());
    let render = render
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("renderD")));
    render.chain(FILES_OF_GPUS.map(PathBuf::from).into_iter().filter(|path| path.exists()))
}

/// Whether the loader may find a GPU, without a look at it: where a file of one is there, or variables name what is to be loaded;
/// and on systems whose files are not known here.
pub(crate) fn may_have_gpu() -> bool {
    let named = |variable: &str| std::env::var_os(variable).is_some_and(|value| !value.is_empty());
    cfg!(not(target_os = "linux"))
        || [LOADERS, VENDORS_VARIABLE, FILES_VARIABLE].into_iter().any(named)
        || device_files().next().is_some()
}

fn files_of_devices() -> impl Iterator<Item = Finding> {
    device_files().map(|path| {
        let shown = path.display().to_string();
        match File::options().read(true).write(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let remedy = "sudo usermod -aG render,video $USER, then log in again";
                Finding::problem(shown, format!("this user may not use it: {error}"), remedy)
            }
            _ => Finding::fine(shown, "there"),
        }
    })
}

#[cfg(test)]
mod tests {
    use stridewise_core::backend::Health;

    use super::*;

    struct Folder(PathBuf);
    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("stridewise-doctor-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
        fn write(&self, file: &str, text: &str) -> PathBuf {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }
    }
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn without_a_loader_it_is_said_where_it_was_looked_for() {
        let note = loader(Some("no such file"), None, false);
        assert_eq!(note.health, Health::Note);
        assert!(note.text.contains("libOpenCL.so.1") && note.remedy.contains("ocl-icd"), "{note:?}");
        let problem = loader(Some("no such file"), Some("/x.so"), true);
        assert!(problem.health == Health::Problem && problem.text.contains("/x.so"), "{problem:?}");
    }

    #[test]
    fn files_of_vendors_are_read_as_a_loader_reads_them() {
        let folder = Folder::new("vendors");
        let none = vendors(Some(&folder.0), false, is_driver);
        assert_eq!((none.len(), none[0].health), (1, Health::Note));
        assert_eq!(none[0].remedy, "unset OCL_ICD_VENDORS");
        folder.write("broken.icd", "libstridewise-not-there.so.7\n");
        folder.write("empty.icd", "\n");
        folder.write("no-driver.icd", "libm.so.6");
        folder.write("readme.txt", "no driver");
        let found = vendors(Some(&folder.0), false, is_driver);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|finding| finding.health == Health::Problem), "{found:?}");
        assert!(found[0].text.contains("libstridewise-not-there.so.7"), "{found:?}");
        assert!(found[1].text.contains("empty") && found[2].text.contains(ENTRY), "{found:?}");
        // One file, and a library in place of the folder.
        let one = vendors(Some(&folder.0.join("broken.icd")), false, is_driver);
        assert!(one.len() == 1 && one[0].subject.ends_with("broken.icd"), "{one:?}");
        let library = vendors(Some(Path::new("libstridewise-not-there.so")), false, is_driver);
        assert!(library.len() == 1 && library[0].health == Health::Problem, "{library:?}");
        let gone = vendors(Some(Path::new("/not/there")), false, is_driver);
        assert!(gone[0].text.contains("is not there"), "{gone:?}");
    }

    #[test]
    fn hardware_without_a_driver_is_a_problem() {
        let folder = Folder::new("bus");
        for (place, class, vendor) in [
            ("0000:01:00.0", "0x030200\n", "0x10de\n"),
            ("0000:02:00.0", "0x030000\n", "0x1234\n"),
            ("0000:03:00.0", "0x020000\n", "0x8086\n"),
        ] {
            folder.write(&format!("{place}/class"), class);
            folder.write(&format!("{place}/vendor"), vendor);
        }
        let found = hardware(&folder.0);
        assert_eq!(found.len(), 1, "of an emulated display and a network device nothing is said");
        assert_eq!((found[0].maker, found[0].place.as_str()), ("NVIDIA", "0000:01:00.0"));
        let health = |found_gpu, files| seen(&found[0], found_gpu, files).health;
        assert_eq!(
            [health(true, true), health(false, true), health(false, false)],
            [Health::Fine, Health::Problem, Health::Note]
        );
    }
}
