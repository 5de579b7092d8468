//! Kernels in languages of other systems, such as OpenCL C and SPIR-V: compiled by a device's runtime, known by what that tells of
//! them.
//!
//! The engine does not read such a source. What a kernel does with the memory that it is given, nobody checks: so a launch is
//! `unsafe` ([`SourceKernel::launch`], in `memory/source.rs`), and an array counts as read and written unless its parameter, or the
//! caller, says that it is only read.

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::array::{Array, UsmArray};
use crate::backend::{
    CompiledKernel, Language, ParameterSpace, Source, SourceKernelInfo, SourceParameter, assert_unlocked,
};
use crate::dtype::Element;
use crate::error::{Error, Result};
use crate::form::{MAX_SPACE_DIMS, NdRange};
use crate::memory::UsmMemory;
use crate::promotion::Weak;
use crate::runtime::{Device, Queue};
use crate::scalar::Scalar;

/// Bytes of a source at most: of a text or code beyond it, nothing is read.
const MOST_BYTES: usize = 1 << 28;

/// An argument of a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SourceArgument<'a> {
    /// A contiguous array: the kernel gets the address of its first element.
    Array {
        /// The array.
        array: &'a UsmArray,
        /// Whether the kernel only reads it, whatever its parameter says.
        read_only: bool,
    },
    /// Bytes of USM memory: the kernel gets the address of the first one.
    Memory {
        /// The memory.
        memory: &'a UsmMemory,
        /// Where the bytes begin.
        offset: usize,
        /// How many there are.
        bytes: usize,
        /// Whether the kernel only reads them, whatever its parameter says.
        read_only: bool,
    },
    /// A number of the parameter's dtype.
    Scalar(Scalar),
    /// A number that takes the parameter's dtype, where the runtime tells it.
    Weak(Weak),
    /// A value of any type, as its bytes.
    Bytes(&'a [u8]),
    /// So many bytes of memory that the items of each group share.
    Local(usize),
}

impl<'a> From<&'a UsmArray> for SourceArgument<'a> {
    fn from(array: &'a UsmArray) -> Self {
        Self::Array { array, read_only: false }
    }
}
impl<'a, T: Element> From<&'a Array<T>> for SourceArgument<'a> {
    fn from(array: &'a Array<T>) -> Self {
        Self::from(array.as_untyped())
    }
}
impl<'a> From<&'a UsmMemory> for SourceArgument<'a> {
    fn from(memory: &'a UsmMemory) -> Self {
        Self::Memory { memory, offset: 0, bytes: memory.bytes(), read_only: false }
    }
}
impl From<Scalar> for SourceArgument<'_> {
    fn from(value: Scalar) -> Self {
        Self::Scalar(value)
    }
}
impl<T: Into<Weak>> From<T> for SourceArgument<'_> {
    fn from(value: T) -> Self {
        Self::Weak(value.into())
    }
}

impl SourceArgument<'_> {
    fn describe(&self) -> String {
        match self {
            Self::Array { array, .. } => {
                format!("an array of {} of shape {:?}", array.dtype(), array.shape())
            }
            Self::Memory { bytes, .. } => format!("{bytes} bytes of USM memory"),
            Self::Scalar(scalar) => format!("{scalar:?}, of {}", scalar.dtype()),
            Self::Weak(number) => number.to_string(),
            Self::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
            Self::Local(bytes) => format!("{bytes} bytes of local memory"),
        }
    }
}

/// Whether code can be what its language says.
fn check_code(source: Source<'_>) -> Result<()> {
    let code = source.code();
    if code.len() > MOST_BYTES {
        return Err(Error::value("source", code.len(), format!("{MOST_BYTES} bytes at most"), "divide it"));
    }
    if source.language().is_text() {
        source.text()?;
        return check_no_zero("source", code);
    }
    // Words of 32 bits in either order, the first of which is the magic number (SPIR-V 1.6, section 2.3).
    let magic = [0x0723_0203_u32.to_le_bytes(), 0x0723_0203_u32.to_be_bytes()];
    let is_module =
        code.len().is_multiple_of(4) && code.len() >= 20 && magic.iter().any(|magic| code.starts_with(magic));
    if source.language() == Language::SpirV && !is_module {
        return Err(Error::value(
            "spirv",
            format!("{} bytes that begin with {:02x?}", code.len(), &code[..code.len().min(4)]),
            "a module of SPIR-V: words of 4 bytes, of which the first is 0x07230203",
            "pass the contents of a file that a compiler wrote as SPIR-V, not as text",
        ));
    }
    Ok(())
}

/// A compiler's text ends at a zero byte.
fn check_no_zero(name: &'static str, text: &[u8]) -> Result<()> {
    match text.iter().position(|&byte| byte == 0) {
        None => Ok(()),
        Some(place) => Err(Error::value(
            name,
            format!("a text with a zero byte at {place}"),
            "a text without zero bytes",
            "remove it",
        )),
    }
}

/// The kernels of one source, compiled for one device (SYCL, `kernel_bundle`). Cheap to clone.
#[derive(Clone)]
pub struct KernelBundle {
    device: Device,
    kernels: Arc<[CompiledKernel]>,
}

impl KernelBundle {
    /// Compiles a text of OpenCL C for a queue's device. `options` are those of `clBuildProgram`: `-D N=4`.
    ///
    /// # Errors
    /// [`Error::Compilation`] with the compiler's log; [`Error::Unsupported`] where the device takes no such source;
    /// [`Error::Value`] for a zero byte in one of the texts; what the runtime reports.
    pub fn from_source(queue: &Queue, source: &str, options: &str) -> Result<Self> {
        Self::compile(queue, Source::opencl_c(source), options)
    }

    /// Compiles a module of SPIR-V for a queue's device.
    ///
    /// # Errors
    /// As for [`from_source`](Self::from_source); [`Error::Value`] for bytes that are no module.
    pub fn from_spirv(queue: &Queue, code: &[u8], options: &str) -> Result<Self> {
        Self::compile(queue, Source::spirv(code), options)
    }

    /// Compiles a source in any language that the queue's device takes
    /// ([`Capabilities::languages`](crate::backend::Capabilities::languages)). `options` are those of its compiler.
    ///
    /// # Errors
    /// [`Error::Compilation`] with the compiler's log; [`Error::Unsupported`] where the device does not take the language;
    /// [`Error::Value`] for code that is not of its language's form, too long, or options with a zero byte; what the runtime
    /// reports.
    pub fn compile(queue: &Queue, source: Source<'_>, options: &str) -> Result<Self> {
        assert_unlocked("a compilation");
        check_code(source)?;
        check_no_zero("options", options.as_bytes())?;
        let (device, language) = (queue.device(), source.language());
        let languages = &device.capabilities().languages;
        if !languages.contains(&language) {
            let known: Vec<&str> = languages.iter().map(|language| language.name()).collect();
            return Err(Error::unsupported(
                "source",
                language,
                match known.as_slice() {
                    [] => format!("no source at all, as {device} compiles none"),
                    known => format!("{}, which {device} compiles", known.join(" or ")),
                },
                "use a queue of a device that compiles this language, or write the kernel for the engine \
                 (`kernel::KernelBuilder`), which runs on every device",
            ));
        }
        let kernels = device.backend().compile(source, options)?;
        Ok(Self { device: device.clone(), kernels: kernels.into() })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The names of the kernels.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.info.name.as_str())
    }

    /// Whether there is a kernel of a name.
    #[must_use]
    pub fn has_kernel(&self, name: &str) -> bool {
        self.kernel_names().any(|known| known == name)
    }

    /// The kernel of a name.
    ///
    /// # Errors
    /// [`Error::Value`] where there is none.
    pub fn kernel(&self, name: &str) -> Result<SourceKernel> {
        match self.kernels.iter().find(|kernel| kernel.info.name == name) {
            Some(kernel) => Ok(SourceKernel { device: self.device.clone(), compiled: kernel.clone() }),
            None => Err(Error::value(
                "name",
                format!("`{name}`"),
                format!("one of the kernels {}", self.kernel_names().collect::<Vec<_>>().join(", ")),
                "functions are kernels where the source says `kernel`",
            )),
        }
    }
}

impl fmt::Debug for KernelBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelBundle({} on {})", self.kernel_names().collect::<Vec<_>>().join(", "), self.device)
    }
}

/// A kernel of a [`KernelBundle`], for the device that it was compiled for. Cheap to clone.
#[derive(Clone)]
pub struct SourceKernel {
    device: Device,
    compiled: CompiledKernel,
}

impl SourceKernel {
    /// The function's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.compiled.info.name
    }
    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }
    /// What the runtime tells of it.
    #[must_use]
    pub fn info(&self) -> &SourceKernelInfo {
        &self.compiled.info
    }
    pub(crate) fn compiled(&self) -> &CompiledKernel {
        &self.compiled
    }

    /// The extents of all items and of a group.
    pub(crate) fn check_range(&self, range: &NdRange) -> Result<Extents> {
        let (global, group) = range.extents();
        let (info, dims) = (self.info(), global.len());
        let refuse = |expected: String, help: &'static str| {
            let groups = group.map_or_else(String::new, |group| format!(" in groups of {group:?}"));
            Err(Error::value("nd_range", format!("{global:?} items{groups}"), expected, help))
        };
        if !(1..=MAX_SPACE_DIMS).contains(&dims) || group.is_some_and(|group| group.len() != dims) {
            return refuse(
                format!("1 to {MAX_SPACE_DIMS} extents, and as many of a group"),
                "fold further axes into one of these",
            );
        }
        let Some(group) = group else { return Ok((global.into(), None)) };
        let len = group.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent));
        if !len.is_some_and(|len| (1..=info.work_group_size).contains(&len)) {
            return refuse(
                format!("groups of 1 to {} items for kernel `{}`", info.work_group_size, self.name()),
                "choose other groups",
            );
        }
        if global.iter().zip(group).any(|(global, group)| global % group != 0) {
            return refuse(
                "groups whose extents divide those of all items".to_owned(),
                "choose other extents, and guard the items beyond the end in the kernel",
            );
        }
        if let Some(demanded) = info.compile_work_group_size {
            let mut given = [1; MAX_SPACE_DIMS];
            given[MAX_SPACE_DIMS - dims..].copy_from_slice(group);
            if given != demanded {
                return refuse(format!("groups of {demanded:?}, as the source demands"), "use these groups");
            }
        }
        Ok((global.into(), Some(group.into())))
    }

    /// Whether the kernel gets memory at a parameter that it does not write, or a value; what fits the parameter not is refused.
    pub(crate) fn check_arguments(&self, arguments: &[SourceArgument<'_>]) -> Result<()> {
        let info = self.info();
        if arguments.len() != info.num_args {
            return Err(Error::value(
                "args",
                format!("{} arguments", arguments.len()),
                format!("{} for kernel `{}`", info.num_args, info.name),
                "give one for each parameter, in their order",
            ));
        }
        for (number, argument) in arguments.iter().enumerate() {
            let parameter = info.parameters.as_ref().map(|parameters| &parameters[number]);
            let fits = match (argument, parameter.map(|parameter| parameter.space)) {
                (
                    SourceArgument::Array { .. } | SourceArgument::Memory { .. },
                    None | Some(ParameterSpace::Global { .. }),
                )
                | (SourceArgument::Local(1..), None | Some(ParameterSpace::Local))
                | (SourceArgument::Scalar(_), None | Some(ParameterSpace::Value(None)))
                | (SourceArgument::Weak(_), Some(ParameterSpace::Value(Some(_)))) => true,
                (SourceArgument::Scalar(scalar), Some(ParameterSpace::Value(Some(dtype)))) => {
                    scalar.dtype() == dtype
                }
                (SourceArgument::Bytes(bytes), space) => match space {
                    None | Some(ParameterSpace::Value(None)) => !bytes.is_empty(),
                    Some(ParameterSpace::Value(Some(dtype))) => bytes.len() == dtype.size(),
                    Some(_) => false,
                },
                _ => false,
            };
            if !fits {
                return Err(self.misfit(number, argument, parameter));
            }
        }
        let given = arguments.iter().map(|argument| match argument {
            SourceArgument::Local(bytes) => *bytes as u64,
            _ => 0,
        });
        let bytes = given.fold(info.local_mem_size, u64::saturating_add);
        let most = self.device.info().limits.local_memory_bytes;
        if bytes > most {
            return Err(Error::value(
                "local memory",
                format!("{bytes} bytes for each group of `{}`", info.name),
                format!("{most} bytes at most"),
                "use smaller groups, or less local memory",
            ));
        }
        Ok(())
    }

    fn misfit(
        &self,
        number: usize,
        argument: &SourceArgument<'_>,
        parameter: Option<&SourceParameter>,
    ) -> Error {
        let expected = match parameter.map(|parameter| parameter.space) {
            None => "an array, USM memory, a number of a dtype, or bytes of local memory".to_owned(),
            Some(ParameterSpace::Global { .. }) => "an array or USM memory".to_owned(),
            Some(ParameterSpace::Local) => "a number of bytes of local memory, 1 or more".to_owned(),
            Some(ParameterSpace::Value(Some(dtype))) => format!("a number of {dtype}"),
            Some(ParameterSpace::Value(None)) => "a value of this type, as its bytes".to_owned(),
        };
        let of = parameter.map_or_else(String::new, |parameter| {
            format!(", for `{} {}` of kernel `{}`", parameter.type_name, parameter.name, self.name())
        });
        Error::value(
            format!("args[{number}]"),
            argument.describe(),
            format!("{expected}{of}"),
            "give the arguments in the order of the parameters; a number of a certain dtype is a `Scalar`",
        )
    }

    /// Whether a parameter says that the kernel only reads there.
    pub(crate) fn only_reads(&self, number: usize) -> bool {
        let parameter = self.info().parameters.as_ref().and_then(|parameters| parameters.get(number));
        parameter.is_some_and(|parameter| parameter.space == ParameterSpace::Global { read_only: true })
    }

    /// A number as the value of a parameter whose dtype is known.
    pub(crate) fn value(&self, number: usize, weak: Weak) -> Result<Scalar> {
        let parameter = self.info().parameters.as_ref().and_then(|parameters| parameters.get(number));
        match parameter.map(|parameter| parameter.space) {
            Some(ParameterSpace::Value(Some(dtype))) => weak.to_scalar(dtype),
            _ => Err(self.misfit(number, &SourceArgument::Weak(weak), parameter)),
        }
    }
}

/// The extents of all items, and of a group where they are said.
pub(crate) type Extents = (SmallVec<[usize; 3]>, Option<SmallVec<[usize; 3]>>);

impl fmt::Debug for SourceKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceKernel({} on {})", self.name(), self.device)
    }
}
