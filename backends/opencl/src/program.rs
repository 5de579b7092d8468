//! Compiled kernels: in memory by key, on disk by what they were compiled from.

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex};

use opencl3::device::Device;
use opencl3::kernel::create_kernel;
use opencl3::program as cl;
use opencl3::types::{cl_context, cl_program};
use stridewise_core::Result;
use stridewise_core::backend::{CompiledKernel, KernelCache, Recent, RuntimeCall, assert_unlocked};
use stridewise_core::observe::{self, Doing};
use stridewise_emit::{Key, Target};

use crate::DRIVER;
use crate::error::failed;
use crate::handle::{KernelObject, Program};
use crate::source::BundleKey;

/// Sources of users whose kernels are kept.
const MOST_BUNDLES: usize = 64;

/// A kernel, whose arguments one thread sets at a time.
pub(crate) struct Kernel {
    pub(crate) object: Mutex<KernelObject>,
    pub(crate) _program: Arc<Program>,
}

/// The compiled kernels of one device: those that were used last. One that has to go while a thread uses it, or while the
/// device runs it, goes when that is over.
pub(crate) struct Programs {
    pub(crate) context: cl_context,
    pub(crate) device: Device,
    /// Whether the runtime tells of sub-groups.
    pub(crate) sub_groups: bool,
    options: CString,
    pub(crate) disk: KernelCache,
    kernels: Recent<Key, Arc<Kernel>>,
    /// Those of users' sources.
    pub(crate) bundles: Recent<BundleKey, Arc<[CompiledKernel]>>,
}

// SAFETY: the context is usable from any thread and outlives this (`device::Shared` drops it last).
unsafe impl Send for Programs {}
// SAFETY: as for Send; the table is guarded.
unsafe impl Sync for Programs {}

impl Programs {
    /// No kernels yet, for a device in a context that must outlive this; later `most` of them, at least one. `identity` is
    /// what tells the device and its compiler from others.
    pub(crate) fn new(
        context: cl_context,
        device: Device,
        target: &Target,
        identity: &str,
        sub_groups: bool,
        most: usize,
    ) -> Self {
        // Some compilers print their warnings to the process's standard error. Tests build with all of them, as errors.
        let mut options = "-cl-std=CL1.2 -w".to_owned();
        if target.exact_division {
            options.push_str(" -cl-fp32-correctly-rounded-divide-sqrt");
        }
        let disk = KernelCache::new(DRIVER, &format!("{identity}\n{options}"));
        // Without a zero byte: all of it stands above.
        let options = CString::new(options).unwrap_or_default();
        let (kernels, bundles) = (Recent::new(most), Recent::new(MOST_BUNDLES.min(most)));
        Self { context, device, sub_groups, options, disk, kernels, bundles }
    }

    /// How many kernels are kept.
    pub(crate) fn most(&self) -> usize {
        self.kernels.most()
    }

    /// The kernel of a key, compiled from its text where it is not kept.
    ///
    /// # Errors
    /// The compiler's log.
    pub(crate) fn get(&self, key: &Key, source: &dyn Fn() -> String) -> Result<Arc<Kernel>> {
        if let Some(kernel) = self.known(key) {
            return Ok(kernel);
        }
        assert_unlocked("a compilation");
        // Not under the lock: a compilation takes as long as a hundred thousand launches. Two threads that want the same
        // kernel compile it twice, once in a while.
        Ok(self.kernels.insert(key, Arc::new(self.build(&source())?)))
    }

    /// The kernel of a key, where it is kept.
    pub(crate) fn known(&self, key: &Key) -> Option<Arc<Kernel>> {
        self.kernels.get(key)
    }

    fn build(&self, source: &str) -> Result<Kernel> {
        let _call = RuntimeCall::begin()?;
        let _seen = observe::span(Doing::Compile, "a kernel", 0, 0);
        let known = self.disk.load(source).and_then(|binary| self.program_of_binary(&binary, &self.options));
        if let Some(kernel) = known.and_then(|program| Self::kernel(program).ok()) {
            return Ok(kernel);
        }
        let raw = cl::create_program_with_source(self.context, &[source])
            .map_err(|code| failed("clCreateProgramWithSource", "a kernel", code))?;
        let program = Program::new(raw);
        self.compile(&program, &self.options).map_err(|code| {
            let log = self.log(program.raw());
            failed(
                "clBuildProgram",
                format!("this kernel:\n{source}\nwhich the compiler refused:\n{log}\n"),
                code,
            )
        })?;
        if let Some(binary) = binary_of(program.raw()) {
            self.disk.store(source, &binary);
        }
        Self::kernel(program)
            .map_err(|code| failed("clCreateKernel", format!("this kernel:\n{source}\n"), code))
    }

    pub(crate) fn compile(&self, program: &Program, options: &CStr) -> Result<(), i32> {
        cl::build_program(program.raw(), &[self.device.id()], options, None, std::ptr::null_mut())
    }

    /// `None` where the runtime does not take the binary (any more): it is compiled anew then.
    pub(crate) fn program_of_binary(&self, binary: &[u8], options: &CStr) -> Option<Program> {
        // SAFETY: the device is the context's.
        let raw = unsafe { cl::create_program_with_binary(self.context, &[self.device.id()], &[binary]) };
        let program = Program::new(raw.ok()?);
        self.compile(&program, options).ok()?;
        Some(program)
    }

    fn kernel(program: Program) -> Result<Kernel, i32> {
        let object = KernelObject::new(create_kernel(program.raw(), c"run")?);
        Ok(Kernel { object: Mutex::new(object), _program: Arc::new(program) })
    }

    pub(crate) fn log(&self, program: cl_program) -> String {
        cl::get_program_build_info(program, self.device.id(), cl::CL_PROGRAM_BUILD_LOG)
            .map(String::from)
            .unwrap_or_default()
    }
}

/// The runtime's binary form of a program of one device.
pub(crate) fn binary_of(program: cl_program) -> Option<Vec<u8>> {
    let binaries = cl::get_program_info(program, cl::CL_PROGRAM_BINARIES).ok()?.to_vec_vec_uchar();
    binaries.into_iter().next().filter(|binary| !binary.is_empty())
}
