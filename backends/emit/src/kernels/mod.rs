//! Kernels: from a plan to the stages that compute it.
//!
//! A family's file looks at a plan and says which kernels to enqueue, one after the other, with which arguments. The
//! text of a kernel is only written when no compiled kernel with the same [`Key`] is there, so a family decides twice:
//! cheaply, at every launch, which form of kernel a plan needs and what goes into its arguments; and rarely, what that
//! form's text is. Whatever the text depends on must be in the key; whatever changes from launch to launch (extents,
//! strides, constants) is an argument.

mod copies;
mod gather;
mod map;
mod masks;
mod order;
mod points;
mod product;
mod reduce;
mod rows;
mod scan;
mod search;
mod sort;
pub(crate) mod text;
pub mod user;

#[cfg(test)]
mod moving;
#[cfg(test)]
mod trial;

use smallvec::SmallVec;
use stridewise_core::backend::{Family, Fold, LaunchPlan, Program, Support};
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Error, Result, Scalar};

use crate::dialect::Dialect;
use crate::emit;

/// The kernels that compute a plan.
///
/// # Errors
/// [`Error::Unsupported`] where the device cannot; see [`supports`].
pub fn work<'a>(plan: &'a LaunchPlan, target: &'a Target) -> Result<Work<'a>> {
    Ok(of_plan(plan, target)?.in_dialect(target.dialect))
}

fn of_plan<'a>(plan: &'a LaunchPlan, target: &'a Target) -> Result<Work<'a>> {
    match &plan.family {
        Family::Map => map::work(plan, target),
        Family::Reduce { .. } => match product::work(plan, target) {
            Some(work) => Ok(work),
            None => reduce::work(plan, target),
        },
        Family::Scan { .. } => scan::work(plan, target),
        Family::Gather { .. } | Family::Scatter { .. } => gather::work(plan, target),
        Family::Search { .. } => search::work(plan, target),
        Family::Sort { .. } => sort::work(plan, target),
        family => masks::work(plan, target).ok_or_else(|| {
            Error::unsupported(
                "plan",
                format!("{family:?}"),
                "a family that this device has kernels for",
                "compute it on the host: `to_device(\"host\")`",
            )
        }),
    }
}

/// The one kernel that computes all plans of some stages, where there is one for such stages.
pub fn together<'a>(stages: &'a [Vec<LaunchPlan>], target: &'a Target) -> Option<Work<'a>> {
    Some(rows::work(stages, target)?.in_dialect(target.dialect))
}

/// The one kernel that computes all plans of a submission, where there is one for such plans.
pub fn side_by_side<'a>(plans: &'a [LaunchPlan], target: &'a Target) -> Option<Work<'a>> {
    Some(copies::work(plans, target)?.in_dialect(target.dialect))
}

/// Whether a device can run a plan.
pub fn supports(plan: &LaunchPlan, target: &Target) -> Support {
    let finish = match &plan.family {
        Family::Reduce { finish: Some(finish), .. } => Some(&**finish),
        // They move and compare elements as bits, whatever types the device has.
        Family::Gather { .. } | Family::Scatter { .. } | Family::Search { .. } | Family::Sort { .. } => {
            return Support::Native;
        }
        Family::Compress { .. } | Family::Expand { .. } if masks::runs(target) => return Support::Native,
        Family::Runs { .. } if masks::runs(target) && masks::compares(plan.program.inputs()[0], target) => {
            return Support::Native;
        }
        Family::Map | Family::Reduce { .. } | Family::Scan { .. } => None,
        family => return Support::No(format!("no kernel for {family:?}")),
    };
    let programs = std::iter::once(&*plan.program).chain(finish);
    match programs.map(|program| emit::supports(program, target)).find_map(Result::err) {
        None => Support::Native,
        Some(reason) => Support::No(reason),
    }
}

/// What a device's kernels can rely on.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// The language of texts.
    pub dialect: Dialect,
    /// `double` is there.
    pub fp64: bool,
    /// `half` is there; else 16-bit floats are read and written by functions of the language that need no such type.
    pub fp16: bool,
    /// Atomic functions of 64-bit integers are there (cl_khr_int64_base_atomics).
    pub atomic64: bool,
    /// Division and square root of `float` are correctly rounded (with the build option that asks for it).
    pub exact_division: bool,
    /// Memory objects instead of pointers: kernels get an object and an offset in bytes.
    pub buffers: bool,
    /// Work-items of a group run one after the other, or as lanes of a vector register, on a processor's core.
    pub cpu: bool,
    /// Compute units.
    pub compute_units: usize,
    /// Work-items of a group at most.
    pub max_group: usize,
    /// Bytes of local memory of a group.
    pub local_bytes: usize,
    /// The same of a kernel that a user wrote, whose local memory may all be the argument's of a launch.
    pub user_local_bytes: usize,
    /// Work of at most so many points is done by the most general form of a kernel, so that a program that touches
    /// many shapes does not compile a special form for each.
    pub general_points: usize,
}

/// Work-items of a group where they run side by side, at most: of maps, reductions, scans and walks over points.
const GROUP: usize = 256;
/// Groups that a compute unit runs at the same time, about.
const GROUPS: usize = 8;
/// Rows of tiles that groups which run at the same time take side by side.
const BAND: usize = 8;

/// Who writes a text: the start of its key, so that no two of them can mean different texts by one key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writer {
    FlatMap,
    RowMap,
    TiledMap,
    Reduce,
    Product,
    Scan,
    Gather,
    Scatter,
    Search,
    Sort,
    Digits,
    Mask,
    Copies,
    Rows,
    User,
}

/// The identity of a kernel's text, on one device.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Key(SmallVec<[u8; 96]>);

impl Key {
    /// The key of a text, to which its writer adds what the text depends on.
    pub(crate) fn new(writer: Writer) -> Self {
        Self(SmallVec::from_elem(writer as u8, 1))
    }
    /// Adds a number.
    pub(crate) fn push(&mut self, number: usize) {
        // Small numbers in one byte; a larger one behind a mark that no small one has.
        match u8::try_from(number) {
            Ok(byte) if byte < u8::MAX => self.0.push(byte),
            _ => {
                self.0.push(u8::MAX);
                self.0.extend_from_slice(&number.to_le_bytes());
            }
        }
    }
    /// Adds the structure of a program: all but the values of its constants, which are arguments.
    pub(crate) fn program(&mut self, program: &Program) {
        let arg = |arg| match arg {
            stridewise_core::backend::Arg::Input(i) => i,
            stridewise_core::backend::Arg::Const(i) => 64 + i,
            stridewise_core::backend::Arg::Step(i) => 128 + i,
        };
        self.push(program.inputs().len());
        for (i, &dtype) in program.inputs().iter().enumerate() {
            self.0.push(dtype as u8 | u8::from(program.is_index(i)) << 7);
        }
        self.push(program.consts().len());
        self.0.extend(program.consts().iter().map(|value| value.dtype() as u8));
        self.push(program.steps().len());
        for step in program.steps() {
            self.0.extend_from_slice(&[step.op as u8, step.dtype as u8, step.out as u8]);
            self.0.extend(step.operands().iter().map(|&operand| arg(operand)));
        }
        self.push(program.outputs().len());
        self.0.extend(program.outputs().iter().map(|&output| arg(output)));
    }
    /// Adds bytes, always as many.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
    /// Adds a fold.
    pub(crate) fn fold(&mut self, fold: Fold) {
        self.0.push(fold.number());
    }
}

/// An argument of a kernel, in the order of its parameters.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Memory of the plan, for a parameter that `Parameters::memory` declared.
    Memory(UsmPtr),
    /// The work's scratch memory, from this byte on (a multiple of 16), for such a parameter.
    Scratch(usize),
    /// A value: `long` and such, a constant, or a struct.
    Bytes(SmallVec<[u8; 32]>),
    /// So many bytes of local memory.
    Local(usize),
}

impl Argument {
    /// A `long`.
    pub(crate) fn long(value: isize) -> Self {
        Self::Bytes((value as i64).to_le_bytes().as_slice().into())
    }
    /// An array of `long` in a struct.
    pub(crate) fn longs(values: impl IntoIterator<Item = isize>) -> Self {
        let values = values.into_iter();
        let mut bytes = SmallVec::with_capacity(size_of::<i64>() * values.size_hint().0);
        for value in values {
            bytes.extend_from_slice(&(value as i64).to_le_bytes());
        }
        Self::Bytes(bytes)
    }
    /// A constant of a program.
    pub(crate) fn constant(value: &Scalar) -> Self {
        Self::Bytes(value.to_bytes()[..value.dtype().size()].into())
    }
}

/// One kernel to enqueue; it begins when the stage before it has ended.
pub struct Stage<'a> {
    /// Identity of the text.
    pub key: Key,
    /// Writes the text: a whole program with one kernel of the name `run`.
    pub source: Box<dyn Fn() -> String + 'a>,
    /// Arguments in the order of the parameters.
    pub arguments: SmallVec<[Argument; 12]>,
    /// Work-items per dimension, multiples of `local`.
    pub global: [usize; 2],
    /// Work-items of a group per dimension.
    pub local: [usize; 2],
}

impl Stage<'_> {
    /// The kernel with its arguments and its range.
    pub fn call(&self) -> Call<'_> {
        let Self { key, source, arguments, global, local } = self;
        let dims = if global[1] == 1 { 1 } else { 2 };
        Call { key, source, arguments, global: &global[..dims], local: &local[..dims] }
    }
}

/// A kernel to enqueue.
pub struct Call<'a> {
    /// Identity of the text.
    pub key: &'a Key,
    /// Writes the text.
    pub source: &'a dyn Fn() -> String,
    /// Arguments in the order of the parameters.
    pub arguments: &'a [Argument],
    /// Work-items per dimension, multiples of `local`.
    pub global: &'a [usize],
    /// Work-items of a group per dimension.
    pub local: &'a [usize],
}

/// What computes a plan.
pub struct Work<'a> {
    /// Scratch memory that the stages share, in bytes.
    pub scratch_bytes: usize,
    /// Kernels, one after the other.
    pub stages: SmallVec<[Stage<'a>; 2]>,
}

impl<'a> Work<'a> {
    /// One kernel without scratch memory.
    pub(crate) fn single(stage: Stage<'a>) -> Self {
        let mut stages = SmallVec::new();
        stages.push(stage);
        Self { scratch_bytes: 0, stages }
    }

    /// The same with texts in the language of the device.
    fn in_dialect(mut self, dialect: Dialect) -> Self {
        if dialect == Dialect::OpenClC {
            return self;
        }
        for stage in &mut self.stages {
            let source = std::mem::replace(&mut stage.source, Box::new(String::new));
            stage.source = Box::new(move || dialect.whole(source()));
        }
        self
    }
}
