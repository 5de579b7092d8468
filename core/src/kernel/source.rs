//! Kernels in forms of other systems, OpenCL C and SPIR-V: compiled by a device's runtime, known by what that tells of them.
//!
//! The engine does not read such a form. What a kernel does with the memory that it is given, nobody checks: so a launch is
//! `unsafe` ([`SourceKernel::launch`], in `memory/source.rs`), and an array counts as read and written unless its parameter, or the
//! caller, says that it is only read.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::form::MAX_SPACE_DIMS;
use super::space::NdRange;
use crate::array::{Array, UsmArray};
use crate::backend::{Support, assert_unlocked};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::memory::{UsmMemory, UsmPtr};
use crate::promotion::Weak;
use crate::runtime::{Device, Queue};
use crate::scalar::Scalar;

/// Bytes of a source at most: of a text or code beyond it, nothing is read.
const MOST_BYTES: usize = 1 << 28;

/// What kernels are compiled from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Source<'a> {
    /// A text of OpenCL C.
    OpenClC(&'a str),
    /// A module of SPIR-V for OpenCL.
    SpirV(&'a [u8]),
}

impl Source<'_> {
    /// `OpenCL C` or `SPIR-V`.
    #[must_use]
    pub const fn form(self) -> &'static str {
        match self {
            Self::OpenClC(_) => "OpenCL C",
            Self::SpirV(_) => "SPIR-V",
        }
    }
    /// The text or code.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        match self {
            Self::OpenClC(text) => text.as_bytes(),
            Self::SpirV(code) => code,
        }
    }
}

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ParameterSpace {
    /// A pointer to memory of the device: an array or USM memory.
    Global {
        /// Whether the kernel says that it only reads there (`const`, `constant`).
        read_only: bool,
    },
    /// A pointer to memory that the items of a group share.
    Local,
    /// A value, of a dtype where its type is that of a number.
    Value(Option<Dtype>),
}

/// A parameter, as the runtime tells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceParameter {
    /// Its name, where the source has kept it.
    pub name: String,
    /// Its type in the source: `float*`, `int`.
    pub type_name: String,
    /// What it takes.
    pub space: ParameterSpace,
}

/// What a runtime tells of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceKernelInfo {
    /// The function's name.
    pub name: String,
    /// Number of parameters.
    pub num_args: usize,
    /// The parameters, where the runtime tells of them.
    pub parameters: Option<Vec<SourceParameter>>,
    /// Items of a group at most.
    pub work_group_size: usize,
    /// Extents of a group should be multiples of it.
    pub preferred_work_group_size_multiple: usize,
    /// The extents of a group that the source demands, the last one being the fastest.
    pub compile_work_group_size: Option<[usize; 3]>,
    /// Bytes of private memory that an item needs at least.
    pub private_mem_size: u64,
    /// Bytes of local memory that a group needs, without what arguments add.
    pub local_mem_size: u64,
    /// Sub-groups of a group at most; 0 where the runtime does not say.
    pub max_num_sub_groups: usize,
    /// Items of a sub-group at most; 0 where the runtime does not say.
    pub max_sub_group_size: usize,
    /// Sub-groups of a group that the source demands; 0 where it demands none.
    pub compile_num_sub_groups: usize,
    /// Items of a sub-group that the source demands; 0 where it demands none.
    pub compile_sub_group_size: usize,
}

/// A kernel as the backend has it that compiled it: what is told of it, and what runs it.
#[derive(Clone)]
pub struct CompiledKernel {
    /// What the runtime tells.
    pub info: Arc<SourceKernelInfo>,
    /// What runs it; its backend knows the type.
    pub handle: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for CompiledKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CompiledKernel({})", self.info.name)
    }
}

/// A launch as a backend takes it, valid: as many arguments as the kernel has parameters, memory is live memory that the
/// device may access, groups divide the items.
#[derive(Clone, Debug)]
pub struct SourceLaunch {
    /// The kernel, of a device of this backend.
    pub kernel: CompiledKernel,
    /// Items along each axis, at least one; the last axis is the fastest.
    pub global: SmallVec<[usize; 3]>,
    /// Items of a group along each axis; the runtime chooses where it is not said.
    pub group: Option<SmallVec<[usize; 3]>>,
    /// In the order of the parameters.
    pub arguments: Vec<SourceValue>,
}

/// An argument as a backend takes it.
#[derive(Clone, Debug)]
pub enum SourceValue {
    /// Memory.
    Memory {
        /// Where it begins.
        ptr: UsmPtr,
        /// How much of it the kernel may access.
        bytes: usize,
        /// Whether it is only read.
        read_only: bool,
    },
    /// A value.
    Bytes(SmallVec<[u8; 16]>),
    /// So many bytes of local memory.
    Local(usize),
}

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
            Self::Weak(number) => format!("{number:?}"),
            Self::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
            Self::Local(bytes) => format!("{bytes} bytes of local memory"),
        }
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
        Self::compile(queue.device(), Source::OpenClC(source), options)
    }

    /// Compiles a module of SPIR-V for a queue's device.
    ///
    /// # Errors
    /// As for [`from_source`](Self::from_source); [`Error::Value`] for bytes that are no module.
    pub fn from_spirv(queue: &Queue, code: &[u8], options: &str) -> Result<Self> {
        // Words of 32 bits in either order, the first of which is the magic number (SPIR-V 1.6, section 2.3).
        let magic = [0x0723_0203_u32.to_le_bytes(), 0x0723_0203_u32.to_be_bytes()];
        if !code.len().is_multiple_of(4)
            || code.len() < 20
            || !magic.iter().any(|magic| code.starts_with(magic))
        {
            return Err(Error::value(
                "spirv",
                format!("{} bytes that begin with {:02x?}", code.len(), &code[..code.len().min(4)]),
                "a module of SPIR-V: words of 4 bytes, of which the first is 0x07230203",
                "pass the contents of a file that a compiler wrote as SPIR-V, not as text",
            ));
        }
        Self::compile(queue.device(), Source::SpirV(code), options)
    }

    fn compile(device: &Device, source: Source<'_>, options: &str) -> Result<Self> {
        assert_unlocked("a compilation");
        if let Support::No(reason) = device.backend().supports_source(source) {
            return Err(Error::unsupported(
                "source",
                reason,
                format!("a form that {device} compiles"),
                "use a queue of a device of OpenCL, or write the kernel for the engine (`kernel::KernelBuilder`), which runs on \
                 every device",
            ));
        }
        let texts = [("options", options.as_bytes()), ("source", source.bytes())];
        for (name, text) in texts.into_iter().take(if matches!(source, Source::OpenClC(_)) { 2 } else { 1 }) {
            if let Some(place) = text.iter().position(|&byte| byte == 0) {
                return Err(Error::value(
                    name,
                    format!("a text with a zero byte at {place}"),
                    "a text without zero bytes",
                    "remove it",
                ));
            }
        }
        if source.bytes().len() > MOST_BYTES {
            let len = source.bytes().len();
            return Err(Error::value("source", len, format!("{MOST_BYTES} bytes at most"), "divide it"));
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
