//! Kernels in forms of other systems, as data: what they are compiled from, what a runtime tells of them, their launches.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::memory::pointer::UsmPtr;

/// The language of a source. A device lists those that it compiles ([`Capabilities::languages`](super::Capabilities::languages)).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Language<'a> {
    /// A text of OpenCL C.
    OpenClC,
    /// A module of SPIR-V.
    SpirV,
    /// A text of CUDA C++.
    CudaC,
    /// A text of PTX.
    Ptx,
    /// Another one, by the name that a backend gives it; its code is handed on as it is.
    Named(&'a str),
}

impl<'a> Language<'a> {
    /// `OpenCL C`, `SPIR-V`, `CUDA C`, `PTX`, or the name given.
    #[must_use]
    pub const fn name(self) -> &'a str {
        match self {
            Self::OpenClC => "OpenCL C",
            Self::SpirV => "SPIR-V",
            Self::CudaC => "CUDA C",
            Self::Ptx => "PTX",
            Self::Named(name) => name,
        }
    }
    /// Whether its code is a text: UTF-8, without zero bytes.
    #[must_use]
    pub const fn is_text(self) -> bool {
        matches!(self, Self::OpenClC | Self::CudaC | Self::Ptx)
    }
}

impl fmt::Display for Language<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What kernels are compiled from: code, and its language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Source<'a> {
    language: Language<'a>,
    code: &'a [u8],
}

impl<'a> Source<'a> {
    /// Code in a language.
    #[must_use]
    pub const fn new(language: Language<'a>, code: &'a [u8]) -> Self {
        Self { language, code }
    }
    /// A text of OpenCL C.
    #[must_use]
    pub const fn opencl_c(text: &'a str) -> Self {
        Self::new(Language::OpenClC, text.as_bytes())
    }
    /// A module of SPIR-V.
    #[must_use]
    pub const fn spirv(code: &'a [u8]) -> Self {
        Self::new(Language::SpirV, code)
    }
    /// Its language.
    #[must_use]
    pub const fn language(self) -> Language<'a> {
        self.language
    }
    /// The text or code, as bytes.
    #[must_use]
    pub const fn code(self) -> &'a [u8] {
        self.code
    }
    /// The text.
    ///
    /// # Errors
    /// [`Error::Value`] where the code is not UTF-8.
    pub fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.code).map_err(|error| {
            Error::value(
                "source",
                format!("{} bytes that are no text: {error}", self.code.len()),
                format!("a text of {}, as UTF-8", self.language),
                "write the text as UTF-8",
            )
        })
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
#[non_exhaustive]
pub struct SourceParameter {
    /// Its name, where the source has kept it.
    pub name: String,
    /// Its type in the source: `float*`, `int`.
    pub type_name: String,
    /// What it takes.
    pub space: ParameterSpace,
}

/// What a runtime tells of a kernel. A backend begins with [`new`](Self::new), and sets what else it is told.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
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
    /// Bytes from the start of each argument that the kernel accesses at most, where its backend vouches that, whatever they hold and
    /// however many items there are, it accesses nothing else and ends: then safe code launches it
    /// ([`SourceKernel::call`](crate::kernel::SourceKernel::call)).
    pub touches: Option<Vec<usize>>,
    /// Sub-groups of a group that the source demands; 0 where it demands none.
    pub compile_num_sub_groups: usize,
    /// Items of a sub-group that the source demands; 0 where it demands none.
    pub compile_sub_group_size: usize,
}

impl SourceParameter {
    /// A parameter.
    #[must_use]
    pub fn new(name: impl Into<String>, type_name: impl Into<String>, space: ParameterSpace) -> Self {
        Self { name: name.into(), type_name: type_name.into(), space }
    }
}

impl SourceKernelInfo {
    /// A kernel of which nothing is told but its name, how many parameters it has and how large a group can be.
    #[must_use]
    pub fn new(name: impl Into<String>, num_args: usize, work_group_size: usize) -> Self {
        Self {
            name: name.into(),
            num_args,
            parameters: None,
            work_group_size,
            preferred_work_group_size_multiple: 1,
            compile_work_group_size: None,
            private_mem_size: 0,
            local_mem_size: 0,
            max_num_sub_groups: 0,
            max_sub_group_size: 0,
            touches: None,
            compile_num_sub_groups: 0,
            compile_sub_group_size: 0,
        }
    }
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
