//! Kernels from sources: modules that are kept, and launches.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use stridewise_core::backend::{
    CompiledKernel, DeviceInfo, KernelCache, Language, Recent, RuntimeCall, Source, SourceKernelInfo,
    SourceLaunch, SourceValue, assert_unlocked,
};
use stridewise_core::memory::heap;
use stridewise_core::{Error, Result};
use stridewise_emit::Key;

use crate::DRIVER;
use crate::api::{RawFunction, function as attribute, jit};
use crate::device::Shared;
use crate::error::INVALID_VALUE;
use crate::handle::ModuleObject;
use crate::nvrtc::Nvrtc;
use crate::routines::{self, Made};
use crate::stream::Stream;
use crate::symbols::{ABSENT, Refused};

/// Sources of which a device keeps the kernels, those that were used last.
const MOST_BUNDLES: usize = 64;
/// Bytes of a source that is kept at most.
const KEPT_BYTES: usize = 1 << 20;
/// Bytes of the driver's log.
const LOG_BYTES: usize = 16 << 10;
/// Items of a group where nobody says how many.
const USUAL_GROUP: usize = 256;
/// Items of a warp.
const WARP: usize = 32;
/// Bytes of local memory of a group that need no permission.
const PLAIN_LOCAL_BYTES: usize = 48 << 10;
/// Groups along each axis at most, the fastest axis first.
const MOST_GROUPS: [usize; 3] = [(1 << 31) - 1, (1 << 16) - 1, (1 << 16) - 1];
/// By these codes the driver refuses the code that it is given.
const REFUSED_IMAGES: &[i32] = &[200, 209, 218, 222];

/// Kernels of plans and of users that are kept.
const MOST_KERNELS: usize = 512;
/// Options of their texts: what is not one operation is rounded each time, and nobody reads warnings.
pub const TEXT_OPTIONS: &[&str] = &["--fmad=false", "--std=c++17", "-w"];

/// The kernels of a device, those that were used last: of texts by their keys, and of sources.
pub(crate) struct Modules {
    texts: Recent<Key, Arc<Kernel>>,
    bundles: Recent<Arc<[u8]>, Arc<[CompiledKernel]>>,
    disk: KernelCache,
}

/// A kernel as this backend compiled it.
pub(crate) struct Kernel {
    function: RawFunction,
    /// Bytes of local memory that arguments may give it by now.
    granted: Mutex<usize>,
    /// Bytes of each parameter.
    parameters: SmallVec<[usize; 8]>,
    /// Of whom the function is a part.
    _module: Arc<ModuleObject>,
}
// SAFETY: a function is a part of its module, which is held; the driver's functions may be called from any thread.
unsafe impl Send for Kernel {}
// SAFETY: as for Send; a launch takes its arguments by itself, and changes nothing of the function.
unsafe impl Sync for Kernel {}

impl Modules {
    pub(crate) fn new(info: &DeviceInfo, capability: (u32, u32)) -> Self {
        let identity = format!("{} {}.{}", info.driver_version, capability.0, capability.1);
        Self {
            texts: Recent::new(MOST_KERNELS),
            bundles: Recent::new(MOST_BUNDLES),
            disk: KernelCache::new(DRIVER, &identity),
        }
    }

    /// The kernel of a key, where it is kept.
    pub(crate) fn known(&self, key: &Key) -> Option<Arc<Kernel>> {
        self.texts.get(key)
    }

    /// The kernel of a key, compiled from its text where it is not kept.
    ///
    /// # Errors
    /// As for [`bundle`](Self::bundle).
    pub(crate) fn of_text(
        &self,
        device: &Shared,
        key: &Key,
        source: &dyn Fn() -> String,
    ) -> Result<Arc<Kernel>> {
        if let Some(kernel) = self.known(key) {
            return Ok(kernel);
        }
        assert_unlocked("a compilation");
        // Two threads that want the same kernel compile it twice, once in a while.
        Ok(self.texts.insert(key, self.build(device, &source())?))
    }

    fn build(&self, device: &Shared, text: &str) -> Result<Arc<Kernel>> {
        let _call = RuntimeCall::begin()?;
        let key = [TEXT_OPTIONS.concat().as_bytes(), text.as_bytes()].join(&0);
        let kept = self.disk.load(&key).and_then(|image| load(device, &image).ok());
        let kernels = match kept {
            Some(kernels) => kernels,
            None => {
                let image = Nvrtc::shared()?.compile(text, "kernel.cu", device.capability, TEXT_OPTIONS)?;
                let kernels = load(device, &image)?;
                self.disk.store(&key, &image);
                kernels
            }
        };
        let only = kernels.into_iter().find_map(|kernel| kernel.handle.downcast::<Kernel>().ok());
        only.ok_or_else(|| {
            Error::unsupported(
                "kernel",
                "a module without one",
                "a module with the kernel of its text",
                "this is a defect of the engine: please report it",
            )
        })
    }

    /// The kernels of a source, compiled where they are not kept.
    ///
    /// # Errors
    /// [`Error::Compilation`] with the compiler's log; what the compiler and the driver report.
    pub(crate) fn bundle(
        &self,
        device: &Shared,
        source: Source<'_>,
        options: &str,
    ) -> Result<Vec<CompiledKernel>> {
        let key = [source.language().name().as_bytes(), options.as_bytes(), source.code()].join(&0);
        // What is compiled depends on the source alone where it includes no file.
        let includes = |text: &str| text.contains("include");
        let whole = !includes(options) && !source.text().is_ok_and(includes);
        if !whole || key.len() > KEPT_BYTES {
            return self.compile(device, source, options, None);
        }
        let key = Arc::from(key);
        if let Some(known) = self.bundles.get(&key) {
            return Ok(known.to_vec());
        }
        let made = self.compile(device, source, options, Some(&key))?;
        Ok(self.bundles.insert(&key, made.into()).to_vec())
    }

    fn compile(
        &self,
        device: &Shared,
        source: Source<'_>,
        options: &str,
        key: Option<&[u8]>,
    ) -> Result<Vec<CompiledKernel>> {
        assert_unlocked("a compilation");
        let _call = RuntimeCall::begin()?;
        let text = source.text()?;
        if source.language() == Language::ROUTINES {
            return routines::compile(device, text);
        }
        if source.language() == Language::Ptx {
            if !options.trim().is_empty() {
                return Err(Error::value("options", options, "none, for PTX", "compile PTX without options"));
            }
            return load(device, text.as_bytes());
        }
        if let Some(kernels) =
            key.and_then(|key| self.disk.load(key)).and_then(|image| load(device, &image).ok())
        {
            return Ok(kernels);
        }
        let options: Vec<&str> = options.split_whitespace().collect();
        let image = Nvrtc::shared()?.compile(text, "source.cu", device.capability, &options)?;
        let kernels = load(device, &image)?;
        if let Some(key) = key {
            self.disk.store(key, &image);
        }
        Ok(kernels)
    }
}

/// Has the driver load an image: machine code, or a text of PTX, which it compiles. Its kernels.
fn load(device: &Shared, image: &[u8]) -> Result<Vec<CompiledKernel>> {
    let about = "a module of kernels";
    let _current = device.context.enter().map_err(|refused| device.failed(refused, about))?;
    // The driver reads a text up to a zero.
    let mut code = heap::with_capacity("image", image.len() + 1)?;
    code.extend_from_slice(image);
    code.push(0);
    let mut log = heap::zeroed::<u8>("log", LOG_BYTES)?;
    let mut options: [c_int; 2] = [jit::ERROR_LOG, jit::ERROR_LOG_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG_BYTES)];
    let (mut raw, count) = (std::ptr::null_mut(), options.len() as c_uint);
    // SAFETY: the image is whole and ends with a zero; there are as many options as values, of the types that they have in cuda.h;
    // the log has as many bytes as are said; the context is current.
    let loaded = unsafe {
        device.api().load_module(
            &raw mut raw,
            code.as_ptr().cast(),
            count,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    loaded.map_err(|refused| match refused.code {
        code if REFUSED_IMAGES.contains(&code) => {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
            let reason = device.failed(refused, about);
            let (value, help) = reason.complaint().map_or_else(
                || (String::new(), "see the driver's log".into()),
                |complaint| (complaint.value.to_string(), complaint.help.clone()),
            );
            Error::compilation(
                "source",
                format!("refused: {value}\n{}\n", log.trim()),
                "code that the driver takes",
                help,
            )
        }
        _ => device.failed(refused, about),
    })?;
    let module = Arc::new(ModuleObject::new(&device.context, raw));
    kernels(device, &module)
}

/// The kernels of a module, by name.
fn kernels(device: &Shared, module: &Arc<ModuleObject>) -> Result<Vec<CompiledKernel>> {
    let (api, mut count) = (device.api(), 0);
    let failed = |refused| device.failed(refused, "the kernels of a module");
    // SAFETY: the place is a live number, the module is live.
    unsafe { api.function_count(&raw mut count, module.raw()) }.map_err(failed)?;
    let mut functions: Vec<RawFunction> = heap::with_capacity("kernels", count as usize)?;
    functions.resize(count as usize, std::ptr::null_mut());
    // SAFETY: the list has as many places as are said.
    unsafe { api.functions(functions.as_mut_ptr(), count, module.raw()) }.map_err(failed)?;
    let mut kernels = functions
        .into_iter()
        .map(|function| kernel(device, module, function))
        .collect::<Result<Vec<_>, Refused>>()
        .map_err(failed)?;
    kernels.sort_by(|a, b| a.info.name.cmp(&b.info.name));
    Ok(kernels)
}

/// A kernel with what the driver tells of it.
fn kernel(
    device: &Shared,
    module: &Arc<ModuleObject>,
    function: RawFunction,
) -> Result<CompiledKernel, Refused> {
    let api = device.api();
    // The driver may load a function at its first use, before which it has no attributes; one that lacks the call loads all at once.
    // SAFETY: the function is one of a live module.
    match unsafe { api.load_function(function) } {
        Ok(()) | Err(Refused { code: ABSENT, .. }) => {}
        Err(refused) => return Err(refused),
    }
    let mut name = std::ptr::null();
    // SAFETY: the place is a live pointer, the function is one of a live module.
    unsafe { api.function_name(&raw mut name, function) }?;
    let name = match name.is_null() {
        true => String::new(),
        // SAFETY: the driver gave a text that ends with a zero, which lives as long as the module.
        false => unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned(),
    };
    let mut parameters = SmallVec::new();
    loop {
        let (mut offset, mut bytes) = (0, 0);
        // SAFETY: the places are live numbers; the driver refuses what is beyond the last parameter.
        match unsafe { api.parameter(function, parameters.len(), &raw mut offset, &raw mut bytes) } {
            Ok(()) => parameters.push(bytes),
            Err(Refused { code: INVALID_VALUE, .. }) => break,
            Err(refused) => return Err(refused),
        }
    }
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: the place is a live number, the function is one of a live module.
        unsafe { api.function_attribute(&raw mut value, attribute, function) }?;
        Ok::<_, Refused>(usize::try_from(value).unwrap_or(0))
    };
    let mut info = SourceKernelInfo::new(name, parameters.len(), ask(attribute::MAX_THREADS_PER_BLOCK)?);
    info.preferred_work_group_size_multiple = WARP;
    info.local_mem_size = ask(attribute::SHARED_BYTES)? as u64;
    info.private_mem_size = ask(attribute::LOCAL_BYTES)? as u64;
    let local_bytes = usize::try_from(info.local_mem_size).unwrap_or(usize::MAX);
    let granted = Mutex::new(PLAIN_LOCAL_BYTES.saturating_sub(local_bytes));
    let kernel = Kernel { function, granted, parameters, _module: Arc::clone(module) };
    Ok(CompiledKernel { info: Arc::new(info), handle: Arc::new(kernel) })
}

/// Enqueues a launch; the context is the calling thread's. Local memory is the source's array without a size
/// (`extern __shared__`): a parameter of 4 bytes that gets such says where in it its part begins.
pub(crate) fn launch(device: &Shared, stream: &Stream, launch: &SourceLaunch) -> Result<()> {
    let info = &launch.kernel.info;
    if let Some(routine) = launch.kernel.handle.downcast_ref::<Made>() {
        return routine.give(device, stream, &launch.arguments);
    }
    let Some(kernel) = launch.kernel.handle.downcast_ref::<Kernel>() else {
        return Err(Error::unsupported(
            "kernel",
            format!("{:?}", launch.kernel),
            "a kernel that this backend has compiled",
            "this is a defect of the engine: please report it",
        ));
    };
    let mut values = Values::default();
    for (number, argument) in launch.arguments.iter().enumerate() {
        match argument {
            SourceValue::Memory { ptr, .. } => values.bytes(&ptr.addr().to_ne_bytes()),
            SourceValue::Bytes(bytes) => values.bytes(bytes),
            SourceValue::Local(bytes) => values.local(*bytes),
        }
        let given = values.list.last().map_or(0, SmallVec::len);
        let takes = kernel.parameters.get(number).copied().unwrap_or(0);
        if given != takes {
            return Err(Error::value(
                format!("args[{number}]"),
                format!("{given} bytes"),
                format!("the {takes} bytes that parameter {number} of kernel `{}` takes", info.name),
                "give the arguments in the order of the parameters, in their types; local memory is given to a parameter \
                 `unsigned`, which gets the place of its first byte in `extern __shared__`",
            ));
        }
    }
    let (groups, items) = extents(device, launch)?;
    start(device, stream, kernel, values, Extents { groups, items }, &info.name)
}

/// The arguments of a launch, in the order of the parameters.
#[derive(Default)]
pub(crate) struct Values {
    list: SmallVec<[SmallVec<[u8; 16]>; 8]>,
    /// Bytes of local memory so far.
    local: usize,
}

impl Values {
    /// The bytes of a value.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.list.push(SmallVec::from_slice(bytes));
    }

    /// So many bytes of local memory: the parameter gets the place of the first one.
    pub(crate) fn local(&mut self, bytes: usize) {
        let start = self.local.next_multiple_of(16);
        self.local = start.saturating_add(bytes);
        self.bytes(&u32::try_from(start).unwrap_or(u32::MAX).to_ne_bytes());
    }
}

/// Groups, and items of a group, along x, y and z.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extents {
    pub(crate) groups: [c_uint; 3],
    pub(crate) items: [c_uint; 3],
}

/// Enqueues a kernel; the context is the calling thread's.
///
/// # Errors
/// [`Error::Value`] for arguments that its parameters do not take; what the driver reports.
pub(crate) fn start(
    device: &Shared,
    stream: &Stream,
    kernel: &Kernel,
    mut values: Values,
    Extents { groups, items }: Extents,
    name: &str,
) -> Result<()> {
    let failed = |refused| {
        device.failed(
            refused,
            format_args!("kernel `{name}` of {groups:?} groups of {items:?} items (x, y, z)"),
        )
    };
    let same = values.list.len() == kernel.parameters.len()
        && values.list.iter().zip(&kernel.parameters).all(|(value, &bytes)| value.len() == bytes);
    if !same {
        return Err(Error::value(
            "arguments",
            format!("{:?} bytes", values.list.iter().map(SmallVec::len).collect::<Vec<_>>()),
            format!("the {:?} bytes that the parameters of kernel `{name}` take", kernel.parameters),
            "give as many arguments as the kernel has parameters",
        ));
    }
    let mut granted = kernel.granted.lock().unwrap_or_else(PoisonError::into_inner);
    if values.local > *granted {
        let most = c_int::try_from(values.local).unwrap_or(c_int::MAX);
        let set = attribute::MAX_DYNAMIC_SHARED_BYTES;
        // SAFETY: the function is one of a live module.
        unsafe { device.api().set_function_attribute(kernel.function, set, most) }.map_err(failed)?;
        *granted = values.local;
    }
    drop(granted);
    let mut pointers: SmallVec<[*mut c_void; 8]> =
        values.list.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
    let local = c_uint::try_from(values.local).unwrap_or(c_uint::MAX);
    // SAFETY: the function is one of a live module, the stream is live; there is a pointer for each parameter, to as many bytes as it
    // takes (looked at above), which the driver copies. What the kernel does with its memory is the promise of who launches it: of a
    // source's, its caller's; of a plan's and a user's, that of `Queue::submit`.
    let launched = unsafe {
        device.api().launch(
            kernel.function,
            groups[0],
            groups[1],
            groups[2],
            items[0],
            items[1],
            items[2],
            local,
            stream.object.raw(),
            pointers.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    };
    launched.map_err(failed)
}

/// How many groups there are and of how many items, along x, y and z: CUDA counts axes from the fastest one on.
fn extents(device: &Shared, launch: &SourceLaunch) -> Result<([c_uint; 3], [c_uint; 3])> {
    let mut global = [1; 3];
    global.iter_mut().zip(launch.global.iter().rev()).for_each(|(to, from)| *to = *from);
    let mut group = [1; 3];
    match &launch.group {
        Some(given) => group.iter_mut().zip(given.iter().rev()).for_each(|(to, from)| *to = *from),
        None => {
            // The largest group along the fastest axis that divides it.
            let most = USUAL_GROUP.min(launch.kernel.info.work_group_size).min(device.max_group).max(1);
            group[0] =
                (1..=most.min(global[0])).rev().find(|len| global[0].is_multiple_of(*len)).unwrap_or(1);
        }
    }
    let mut groups = [1; 3];
    for axis in 0..3 {
        let count = global[axis] / group[axis].max(1);
        if count > MOST_GROUPS[axis] {
            return Err(Error::value(
                "nd_range",
                format!("{count} groups along axis {}", launch.global.len().saturating_sub(axis + 1)),
                format!("{} at most along this axis", MOST_GROUPS[axis]),
                "choose larger groups, or make the last axis, the fastest one, the long one",
            ));
        }
        groups[axis] = count as c_uint;
    }
    Ok((groups, group.map(|extent| extent as c_uint)))
}
