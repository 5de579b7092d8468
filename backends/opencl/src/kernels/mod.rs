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
pub(crate) mod user;

#[cfg(test)]
mod moving;
#[cfg(test)]
mod trial;

use smallvec::SmallVec;
use stridewise_core::backend::Support;
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Error, Family, Fold, LaunchPlan, Program, Result, Scalar};

use crate::emit;

/// The kernels that compute a plan.
///
/// # Errors
/// [`Error::Unsupported`] where the device cannot; see [`supports`].
pub(crate) fn work<'a>(plan: &'a LaunchPlan, target: &'a Target) -> Result<Work<'a>> {
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
pub(crate) fn together<'a>(stages: &'a [Vec<LaunchPlan>], target: &'a Target) -> Option<Work<'a>> {
    rows::work(stages, target)
}

/// The one kernel that computes all plans of a submission, where there is one for such plans.
pub(crate) fn side_by_side<'a>(plans: &'a [LaunchPlan], target: &'a Target) -> Option<Work<'a>> {
    copies::work(plans, target)
}

/// Whether a device can run a plan.
pub(crate) fn supports(plan: &LaunchPlan, target: &Target) -> Support {
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
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// `double` is there.
    pub(crate) fp64: bool,
    /// `half` is there.
    pub(crate) fp16: bool,
    /// Atomic functions of 64-bit integers are there (cl_khr_int64_base_atomics).
    pub(crate) atomic64: bool,
    /// Division and square root of `float` are correctly rounded (with the build option that asks for it).
    pub(crate) exact_division: bool,
    /// Memory objects instead of pointers: kernels get an object and an offset in bytes.
    pub(crate) buffers: bool,
    /// Work-items of a group run one after the other, or as lanes of a vector register, on a processor's core.
    pub(crate) cpu: bool,
    /// Compute units.
    pub(crate) compute_units: usize,
    /// Work-items of a group at most.
    pub(crate) max_group: usize,
    /// Bytes of local memory of a group.
    pub(crate) local_bytes: usize,
    /// Work of at most so many points is done by the most general form of a kernel, so that a program that touches
    /// many shapes does not compile a special form for each.
    pub(crate) general_points: usize,
}

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
pub(crate) struct Key(SmallVec<[u8; 96]>);

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
            stridewise_core::Arg::Input(i) => i,
            stridewise_core::Arg::Const(i) => 64 + i,
            stridewise_core::Arg::Step(i) => 128 + i,
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
pub(crate) enum Argument {
    /// Memory of the plan, for a parameter that [`text::Parameters::memory`] declared.
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
pub(crate) struct Stage<'a> {
    /// Identity of the text.
    pub(crate) key: Key,
    /// Writes the text: a whole program with one kernel of the name `run`.
    pub(crate) source: Box<dyn Fn() -> String + 'a>,
    /// Arguments in the order of the parameters.
    pub(crate) arguments: SmallVec<[Argument; 12]>,
    /// Work-items per dimension, multiples of `local`.
    pub(crate) global: [usize; 2],
    /// Work-items of a group per dimension.
    pub(crate) local: [usize; 2],
}

impl Stage<'_> {
    /// The kernel with its arguments and its range.
    pub(crate) fn call(&self) -> Call<'_> {
        let Self { key, source, arguments, global, local } = self;
        let dims = if global[1] == 1 { 1 } else { 2 };
        Call { key, source, arguments, global: &global[..dims], local: &local[..dims] }
    }
}

/// A kernel to enqueue.
pub(crate) struct Call<'a> {
    /// Identity of the text.
    pub(crate) key: &'a Key,
    /// Writes the text.
    pub(crate) source: &'a dyn Fn() -> String,
    /// Arguments in the order of the parameters.
    pub(crate) arguments: &'a [Argument],
    /// Work-items per dimension, multiples of `local`.
    pub(crate) global: &'a [usize],
    /// Work-items of a group per dimension.
    pub(crate) local: &'a [usize],
}

/// What computes a plan.
pub(crate) struct Work<'a> {
    /// Scratch memory that the stages share, in bytes.
    pub(crate) scratch_bytes: usize,
    /// Kernels, one after the other.
    pub(crate) stages: SmallVec<[Stage<'a>; 2]>,
}

impl<'a> Work<'a> {
    /// One kernel without scratch memory.
    pub(crate) fn single(stage: Stage<'a>) -> Self {
        let mut stages = SmallVec::new();
        stages.push(stage);
        Self { scratch_bytes: 0, stages }
    }
}
