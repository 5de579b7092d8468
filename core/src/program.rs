//! A program: a short list of scalar operations in single-assignment form, over inputs and constants. A
//! single operator is a program of length one, so fused and unfused work run through the same code.
//!
//! ```text
//! sqrt(a*a + b*b) > 2       inputs 0, 1: float32        constants 0: 2.0
//!   step 0  multiply  input 0, input 0
//!   step 1  multiply  input 1, input 1
//!   step 2  add       step 0, step 1
//!   step 3  sqrt      step 2
//!   step 4  greater   step 3, constant 0   → bool       output: step 4
//! ```
//! [`ProgramBuilder`] is the only way to make one, and it checks each operand: a backend relies on it that
//! operands are earlier, that dtypes are what the operation takes, and that there are no more steps, inputs
//! and outputs than the limits say. Those limits are what kernels have room for on the stack and in
//! arguments: fusion stops there.
//!
//! A program has no loops and no layout; how often it is run and where operands lie is the plan's
//! (`plan.rs`). Each step rounds as the operation does alone, so fusing changes no bit. [`Fold`] is beside
//! it, as it is the other half of a reduction.

use smallvec::SmallVec;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::ops::{self, MAX_ARITY, Op};
use crate::scalar::Scalar;

/// Steps a program has at most.
pub const MAX_STEPS: usize = 32;
/// Inputs a program has at most.
pub const MAX_INPUTS: usize = 16;
/// Constants a program has at most.
pub const MAX_CONSTS: usize = 32;
/// Outputs a program has at most.
pub const MAX_OUTPUTS: usize = 8;

/// Where a step finds an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum Arg {
    /// The element of the input of this number.
    Input(u8),
    /// The constant of this number.
    Const(u8),
    /// The result of the step of this number.
    Step(u8),
}

/// One operation of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct ProgramStep {
    /// The operation.
    pub op: Op,
    /// Dtype of the operands; for [`Op::Where`], of the two values.
    pub dtype: Dtype,
    /// Dtype of the result.
    pub out: Dtype,
    args: [Arg; MAX_ARITY],
}

impl ProgramStep {
    /// The operands, [`Op::arity`] of them.
    #[must_use]
    pub fn operands(&self) -> &[Arg] {
        &self.args[..self.op.arity()]
    }
}

/// A validated program: every operand is an input, a constant or an earlier step of the dtype that its step expects;
/// every output is a step. Built by [`ProgramBuilder`], or read from a graph's file, which [`Graph::load`](crate::Graph::load) trusts.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Program {
    inputs: SmallVec<[Dtype; 4]>,
    /// One bit per input: those that are indices, not memory.
    indices: u32,
    consts: SmallVec<[Scalar; 2]>,
    steps: SmallVec<[ProgramStep; 4]>,
    outputs: SmallVec<[Arg; 1]>,
}

impl Program {
    /// Dtypes of the inputs.
    #[must_use]
    pub fn inputs(&self) -> &[Dtype] {
        &self.inputs
    }
    /// Whether the input of this number is an index: an `int64` that is computed from the place in the iteration space
    /// instead of read from memory; see [`Operand`](crate::plan::Operand).
    #[must_use]
    pub const fn is_index(&self, input: usize) -> bool {
        input < MAX_INPUTS && self.indices >> input & 1 == 1
    }
    /// The constants.
    #[must_use]
    pub fn consts(&self) -> &[Scalar] {
        &self.consts
    }
    /// The steps, each using earlier ones only.
    #[must_use]
    pub fn steps(&self) -> &[ProgramStep] {
        &self.steps
    }
    /// What is written, always [`Arg::Step`]s; at least one.
    #[must_use]
    pub fn outputs(&self) -> &[Arg] {
        &self.outputs
    }
    /// Dtype of the output of this number.
    ///
    /// # Panics
    /// When there is no such output.
    #[must_use]
    pub fn output_dtype(&self, output: usize) -> Dtype {
        self.arg_dtype(self.outputs[output])
    }
    /// Dtype of an operand of this program.
    ///
    /// # Panics
    /// When the operand is of another program and beyond this one's.
    #[must_use]
    pub fn arg_dtype(&self, arg: Arg) -> Dtype {
        match arg {
            Arg::Input(i) => self.inputs[usize::from(i)],
            Arg::Const(i) => self.consts[usize::from(i)].dtype(),
            Arg::Step(i) => self.steps[usize::from(i)].out,
        }
    }

    /// A program of one operation over inputs of one dtype.
    ///
    /// # Errors
    /// [`Error::Dtype`] where the operation does not take the dtype.
    pub fn single(op: Op, dtype: Dtype) -> Result<Self> {
        let mut builder = ProgramBuilder::new();
        let mut args: SmallVec<[Arg; MAX_ARITY]> = SmallVec::new();
        for position in 0..op.arity() {
            args.push(builder.input(op.operand_dtype(position, dtype))?);
        }
        let step = builder.push(op, &args)?;
        builder.output(step)?;
        builder.finish()
    }

    /// The program that converts (or copies, where the dtypes agree) one input.
    #[must_use]
    pub fn convert(from: Dtype, to: Dtype) -> Self {
        let op = if from == to { Op::Copy } else { Op::Cast };
        Self {
            inputs: SmallVec::from_elem(from, 1),
            indices: 0,
            consts: SmallVec::new(),
            steps: SmallVec::from_elem(
                ProgramStep { op, dtype: from, out: to, args: [Arg::Input(0); MAX_ARITY] },
                1,
            ),
            outputs: SmallVec::from_elem(Arg::Step(0), 1),
        }
    }

    /// The program that hands input 0 on, with further inputs beside it, which its steps do not read; and that writes a constant as a
    /// second output, if there is one to be told.
    pub(crate) fn handing_on(
        dtype: Dtype,
        beside: impl IntoIterator<Item = Dtype>,
        told: Option<Scalar>,
    ) -> Self {
        let mut program = Self::convert(dtype, dtype);
        program.inputs.extend(beside);
        if let Some(number) = told {
            let dtype = number.dtype();
            program.consts.push(number);
            program.steps.push(ProgramStep {
                op: Op::Copy,
                dtype,
                out: dtype,
                args: [Arg::Const(0); MAX_ARITY],
            });
            program.outputs.push(Arg::Step(1));
        }
        program
    }

    /// The program that writes a constant.
    #[must_use]
    pub fn constant(value: Scalar) -> Self {
        let dtype = value.dtype();
        Self {
            inputs: SmallVec::new(),
            indices: 0,
            consts: SmallVec::from_elem(value, 1),
            steps: SmallVec::from_elem(
                ProgramStep { op: Op::Copy, dtype, out: dtype, args: [Arg::Const(0); MAX_ARITY] },
                1,
            ),
            outputs: SmallVec::from_elem(Arg::Step(0), 1),
        }
    }
}

/// Builds a [`Program`] step by step.
#[derive(Clone, Debug, Default)]
pub struct ProgramBuilder {
    inputs: SmallVec<[Dtype; 4]>,
    /// One bit per input: those that are indices, not memory.
    indices: u32,
    consts: SmallVec<[Scalar; 2]>,
    steps: SmallVec<[ProgramStep; 4]>,
    outputs: SmallVec<[Arg; 1]>,
}

impl ProgramBuilder {
    /// An empty program.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an input.
    ///
    /// # Errors
    /// [`Error::Overflow`] beyond [`MAX_INPUTS`].
    pub fn input(&mut self, dtype: Dtype) -> Result<Arg> {
        Self::add(&mut self.inputs, dtype, MAX_INPUTS, "inputs").map(Arg::Input)
    }

    /// Adds an input that is an index, of dtype `int64`; see [`Program::is_index`].
    ///
    /// # Errors
    /// [`Error::Overflow`] beyond [`MAX_INPUTS`].
    pub fn index(&mut self) -> Result<Arg> {
        let arg = self.input(Dtype::I64)?;
        self.indices |= 1 << (self.inputs.len() - 1);
        Ok(arg)
    }

    /// Adds a constant.
    ///
    /// # Errors
    /// [`Error::Overflow`] beyond [`MAX_CONSTS`].
    pub fn constant(&mut self, value: Scalar) -> Result<Arg> {
        Self::add(&mut self.consts, value, MAX_CONSTS, "consts").map(Arg::Const)
    }

    /// Adds an operation on operands of one dtype (for [`Op::Where`]: a `bool` and two of one dtype).
    ///
    /// # Errors
    /// [`Error::Value`] for a wrong number of operands, [`Error::Dtype`] where the operation does not take their
    /// dtype, [`Error::Overflow`] beyond [`MAX_STEPS`].
    pub fn push(&mut self, op: Op, operands: &[Arg]) -> Result<Arg> {
        let values = if op == Op::Where { operands.get(1..).unwrap_or_default() } else { operands };
        let (Some(&first), true) = (values.first(), operands.len() == op.arity() && op != Op::Cast) else {
            return Err(Error::value(
                "operands",
                format!("{} for `{}`", operands.len(), op.name()),
                "as many operands as the operation takes",
                "see Op::arity; conversions are added with `cast`",
            ));
        };
        let dtype = self.dtype(first)?;
        let mut fits = op.allows(dtype);
        for &value in values {
            fits &= self.dtype(value)? == dtype;
        }
        if op == Op::Where {
            fits &= self.dtype(operands[0])? == Dtype::Bool;
        }
        if !fits {
            let found = operands
                .iter()
                .map(|&a| self.dtype(a).map(Dtype::name))
                .collect::<Result<Vec<_>>>()?
                .join(", ");
            return Err(Error::dtype(
                "operands",
                format!("({found}) for `{}`", op.name()),
                "operands of one dtype that the operation is defined for",
                "convert them first, with astype",
            ));
        }
        self.step(op, dtype, op.result(dtype), operands)
    }

    /// Adds a conversion; the operand itself where it has the dtype already.
    ///
    /// # Errors
    /// [`Error::Overflow`] beyond [`MAX_STEPS`].
    pub fn cast(&mut self, operand: Arg, to: Dtype) -> Result<Arg> {
        match (operand, self.dtype(operand)?) {
            (_, from) if from == to => Ok(operand),
            (Arg::Const(i), _) => {
                let value = self.consts[usize::from(i)].cast(to);
                self.constant(value)
            }
            (_, from) => self.step(Op::Cast, from, to, &[operand]),
        }
    }

    /// Makes a value an output; an input or a constant is copied by a step of its own.
    ///
    /// # Errors
    /// [`Error::Overflow`] beyond [`MAX_OUTPUTS`] or [`MAX_STEPS`].
    pub fn output(&mut self, value: Arg) -> Result<()> {
        let value = match value {
            Arg::Step(_) => value,
            _ => self.push(Op::Copy, &[value])?,
        };
        Self::add(&mut self.outputs, value, MAX_OUTPUTS, "outputs").map(drop)
    }

    /// Dtype of an operand.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for an operand that this program does not have.
    pub fn dtype(&self, arg: Arg) -> Result<Dtype> {
        let found = match arg {
            Arg::Input(i) => self.inputs.get(usize::from(i)).copied(),
            Arg::Const(i) => self.consts.get(usize::from(i)).map(Scalar::dtype),
            Arg::Step(i) => self.steps.get(usize::from(i)).map(|s| s.out),
        };
        found.ok_or_else(|| {
            Error::out_of_bounds(
                "arg",
                format!("{arg:?}"),
                "an input, constant or earlier step of this program",
                "use only what `input`, `constant`, `push` and `cast` of this builder returned",
            )
        })
    }

    /// Number of steps so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }
    /// Whether there is no step yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The program.
    ///
    /// # Errors
    /// [`Error::Value`] without any output.
    pub fn finish(self) -> Result<Program> {
        if self.outputs.is_empty() {
            return Err(Error::value(
                "outputs",
                "empty",
                "at least one output",
                "call `output` before `finish`",
            ));
        }
        let Self { inputs, indices, consts, steps, outputs } = self;
        Ok(Program { inputs, indices, consts, steps, outputs })
    }

    fn step(&mut self, op: Op, dtype: Dtype, out: Dtype, operands: &[Arg]) -> Result<Arg> {
        let mut args = [operands[0]; MAX_ARITY];
        args[..operands.len()].copy_from_slice(operands);
        Self::add(&mut self.steps, ProgramStep { op, dtype, out, args }, MAX_STEPS, "steps").map(Arg::Step)
    }

    fn add<A: smallvec::Array>(
        list: &mut SmallVec<A>,
        item: A::Item,
        limit: usize,
        name: &'static str,
    ) -> Result<u8> {
        match u8::try_from(list.len()) {
            Ok(number) if list.len() < limit => {
                list.push(item);
                Ok(number)
            }
            _ => Err(Error::overflow(
                name,
                list.len() + 1,
                "a program within its limits",
                "split the expression into several programs",
            )),
        }
    }
}

/// How a reduction combines values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Fold {
    /// By an associative binary operation: [`Op::Add`], [`Op::Multiply`], [`Op::Minimum`], [`Op::Maximum`]. On `bool`,
    /// the minimum is "all" and the maximum "any".
    Op(Op),
    /// The index of the first smallest value; a NaN is smaller than everything. The result is `int64`.
    ArgMin,
    /// The index of the first largest value; a NaN is larger than everything. The result is `int64`.
    ArgMax,
    /// The sum of the squared deviations of real floating-point values from their mean, `Σ(x − mean)²`; never below 0. It
    /// is not computed from sums of the values and of their squares, which lose all digits where the mean is large, but
    /// from those of small parts, each about a value near its mean, joined by the formula of T. F. Chan, G. H. Golub and
    /// R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (COMPSTAT 1982, Physica,
    /// pp. 30–41): the means of two parts of `n₁` and `n₂` values that are `d` apart add `d²·n₁·n₂ / (n₁ + n₂)`.
    Deviations,
}

impl Fold {
    /// The result for no values, for accumulators of a dtype; index folds have none.
    #[must_use]
    pub fn identity(self, dtype: Dtype) -> Option<Scalar> {
        match self {
            Self::Op(op) => ops::identity(op, dtype),
            Self::Deviations => Some(Scalar::I8(0).cast(dtype)),
            Self::ArgMin | Self::ArgMax => None,
        }
    }
    /// Dtype of the result for accumulators of a dtype.
    #[must_use]
    pub const fn result(self, dtype: Dtype) -> Dtype {
        match self {
            Self::Op(_) | Self::Deviations => dtype,
            Self::ArgMin | Self::ArgMax => Dtype::I64,
        }
    }
    /// A number that no other fold has: what a backend knows a kernel by. Here, where a fold that is added has to be given one.
    #[must_use]
    pub const fn number(self) -> u8 {
        // Those of operations are below.
        const _: () = assert!(Op::ALL.len() <= 253);
        match self {
            Self::Op(op) => op as u8,
            Self::Deviations => 253,
            Self::ArgMin => 254,
            Self::ArgMax => 255,
        }
    }
    /// Dtype of the result, with a program applied to it if there is one.
    pub(crate) fn finished(self, dtype: Dtype, finish: Option<&Program>) -> Dtype {
        finish.map_or(self.result(dtype), |program| program.output_dtype(0))
    }
    /// Whether folds of values of a dtype are rounded on the way, so that their order shows.
    pub(crate) fn is_rounded(self, dtype: Dtype) -> bool {
        let adds = matches!(self, Self::Op(Op::Add | Op::Multiply) | Self::Deviations);
        adds && dtype.kind().is_inexact()
    }
    /// Whether the result is an index: of the place of a value in row-major order, which is so part of the fold.
    #[must_use]
    pub const fn is_index(self) -> bool {
        matches!(self, Self::ArgMin | Self::ArgMax)
    }
}
