//! Compiled kernels: in memory by key, on disk by what they were compiled from.

use std::ffi::CString;
use std::sync::{Arc, Mutex};

use opencl3::device::Device;
use opencl3::kernel::create_kernel;
use opencl3::program as cl;
use opencl3::types::{cl_context, cl_program};
use stridewise_core::Result;

use crate::disk::Disk;
use crate::error::failed;
use crate::handle::{KernelObject, Program};
use crate::kernels::{Key, Target};
use crate::recent::Recent;

/// A kernel, whose arguments one thread sets at a time.
pub(crate) struct Kernel {
    pub(crate) object: Mutex<KernelObject>,
    _program: Program,
}

/// The compiled kernels of one device: those that were used last. One that has to go while a thread uses it, or while the
/// device runs it, goes when that is over.
pub(crate) struct Programs {
    context: cl_context,
    device: Device,
    options: CString,
    disk: Disk,
    kernels: Recent<Key, Arc<Kernel>>,
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
        most: usize,
    ) -> Self {
        let mut options = "-cl-std=CL1.2".to_owned();
        if target.exact_division {
            options.push_str(" -cl-fp32-correctly-rounded-divide-sqrt");
        }
        let disk = Disk::new(&format!("{identity}\n{options}"));
        // Without a zero byte: all of it stands above.
        let options = CString::new(options).unwrap_or_default();
        Self { context, device, options, disk, kernels: Recent::new(most) }
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
        if let Some(kernel) = self.kernels.get(key) {
            return Ok(kernel);
        }
        // Not under the lock: a compilation takes as long as a hundred thousand launches. Two threads that want the same
        // kernel compile it twice, once in a while.
        Ok(self.kernels.insert(key, Arc::new(self.build(&source())?)))
    }

    fn build(&self, source: &str) -> Result<Kernel> {
        if let Some(kernel) = self.disk.load(source).and_then(|binary| self.with_binary(&binary)) {
            return Ok(kernel);
        }
        let raw = cl::create_program_with_source(self.context, &[source])
            .map_err(|code| failed("clCreateProgramWithSource", "a kernel", code))?;
        let program = Program::new(raw);
        self.compile(&program).map_err(|code| {
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

    fn compile(&self, program: &Program) -> Result<(), i32> {
        cl::build_program(program.raw(), &[self.device.id()], &self.options, None, std::ptr::null_mut())
    }

    /// `None` where the runtime does not take the binary (any more): it is compiled anew then.
    fn with_binary(&self, binary: &[u8]) -> Option<Kernel> {
        // SAFETY: the device is the context's.
        let raw = unsafe { cl::create_program_with_binary(self.context, &[self.device.id()], &[binary]) };
        let program = Program::new(raw.ok()?);
        self.compile(&program).ok()?;
        Self::kernel(program).ok()
    }

    fn kernel(program: Program) -> Result<Kernel, i32> {
        let object = KernelObject::new(create_kernel(program.raw(), c"run")?);
        Ok(Kernel { object: Mutex::new(object), _program: program })
    }

    fn log(&self, program: cl_program) -> String {
        cl::get_program_build_info(program, self.device.id(), cl::CL_PROGRAM_BUILD_LOG)
            .map(String::from)
            .unwrap_or_default()
    }
}

/// The runtime's binary form of a program of one device.
fn binary_of(program: cl_program) -> Option<Vec<u8>> {
    let binaries = cl::get_program_info(program, cl::CL_PROGRAM_BINARIES).ok()?.to_vec_vec_uchar();
    binaries.into_iter().next().filter(|binary| !binary.is_empty())
}
