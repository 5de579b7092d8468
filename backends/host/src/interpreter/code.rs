//! From the form of a kernel to what the interpreter runs: each operation with its function, each value with
//! its slot.
//!
//! The form is a tree of statements; the code is a list of steps, in which blocks are ranges and jumps are
//! numbers of steps.
//! ```text
//! for i in 0..n { s += x[i] }    For │ Load │ Get │ Apply(add) │ Set │ Next │ …
//!                                └── where it goes on at the end ─────────┘
//! ```
//! A value keeps its slot until the last statement that needs it (`Kernel::ends_at`), then another value of
//! the same size has it: fewer slots stay in the cache. What can be known once is decided here and not at
//! each step: the function of an operation, whether a loaded value may be read where it lies
//! (`is_read_only`), whether a variable's value may be moved instead of copied (`stays`, `moves`).
//!
//! The form was verified by core (`form/verify.rs`), so dtypes fit and variables have values. `refused` says
//! before why a kernel cannot run; `compile` returns `None` for the same and never fails otherwise. It runs
//! once for each kernel and level, so it may be simple.

use std::sync::Arc;

use smallvec::SmallVec;
use stridewise_core::backend::ElementsFn;
use stridewise_core::kernel::{
    Atomic, AtomicOp, Collective, Coordinate, Expression, Fence, Kernel, Level, Memory, MemoryOrder, Object,
    Parameter, Part, Position, Statement, StatementKind, Value, Variable,
};
use stridewise_core::{Dtype, Op, Scalar};

use super::values::Bits;
use crate::kernels::{self, Tuning};

/// A slot of a frame, and the dtype of what is in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arg {
    pub(super) slot: usize,
    pub(super) dtype: Dtype,
}

/// Places of an element.
pub(super) type Indices = SmallVec<[Arg; 3]>;

/// One thing to do.
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) at: Position,
    /// It, or one inside, waits for the other items of the group.
    pub(super) meets: bool,
    /// The step at the end of the block that it stands in, where those go on that have nothing more to do there.
    pub(super) out: usize,
}

pub(super) enum Kind {
    Apply {
        dst: usize,
        op: Op,
        run: ElementsFn,
        dtype: Dtype,
        out: Dtype,
        args: SmallVec<[Arg; 3]>,
    },
    Get {
        dst: usize,
        variable: Arg,
    },
    Index {
        dst: usize,
        level: Level,
        coordinate: Coordinate,
    },
    Extent {
        dst: usize,
        object: Object,
        axis: usize,
    },
    /// `stays`: nothing writes to the object as long as the value is needed.
    Load {
        dst: usize,
        object: Object,
        indices: Indices,
        stays: bool,
    },
    Collective {
        dst: usize,
        collective: Together,
        operand: Arg,
    },
    /// `moves`: nothing needs the value any more.
    Set {
        variable: Arg,
        value: usize,
        moves: bool,
        choose: ElementsFn,
    },
    Store {
        object: Object,
        indices: Indices,
        value: Arg,
    },
    Atomic(Rmw),
    Fence(MemoryOrder),
    Barrier(Fence),
    /// The first block comes next; `otherwise` is the step before the other one, or `end` where there is none.
    If {
        condition: usize,
        otherwise: usize,
        end: usize,
    },
    Else {
        end: usize,
    },
    EndIf,
    /// What computes the condition comes next, up to the step that tests it.
    While,
    Test {
        condition: usize,
        end: usize,
    },
    /// The end of such a loop's body.
    Again {
        head: usize,
    },
    /// `each`: the slot in which lanes have how many rounds each of them goes, where they may differ.
    For {
        counter: Arg,
        bounds: [Arg; 3],
        each: Option<usize>,
        end: usize,
    },
    /// The end of such a loop's body.
    Next {
        begin: usize,
    },
    Break,
    Continue,
    Return,
    Call,
    EndCall,
    Assert {
        condition: usize,
        message: Arc<str>,
    },
    Nothing,
}

impl Kind {
    /// Whether it ends a block: also those come here that have nothing more to do in it.
    pub(super) const fn ends(&self) -> bool {
        matches!(
            self,
            Self::Else { .. }
                | Self::EndIf
                | Self::Test { .. }
                | Self::Again { .. }
                | Self::Next { .. }
                | Self::EndCall
        )
    }
}

/// An atomic access.
pub(super) struct Rmw {
    pub(super) object: Object,
    pub(super) indices: Indices,
    pub(super) update: Update,
    pub(super) operand: Option<Arg>,
    pub(super) result: Option<Arg>,
}

/// What an atomic access makes of an element.
#[derive(Clone, Copy)]
pub(super) enum Update {
    Nothing,
    Operand,
    Where(Arg),
    By(ElementsFn),
    /// The sum with the operand, which this function makes.
    Sum(ElementsFn),
}

/// A collective.
#[derive(Clone, Copy)]
pub(super) enum Together {
    Reduce(ElementsFn),
    Inclusive(ElementsFn),
    Exclusive(ElementsFn, Bits),
    Broadcast(Arg),
}

/// A kernel that is ready to run.
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    /// Branches, loops and calls that are inside of each other, at most.
    pub(super) depth: usize,
    /// Bytes of an item's part of each slot.
    pub(super) slots: Vec<usize>,
    /// Slots whose contents never change.
    pub(super) constants: Vec<(usize, Scalar)>,
    /// Slots of scalar parameters, by parameter.
    pub(super) scalars: Vec<Option<usize>>,
}

/// Compiles a kernel; `None` where some operation has no function, which `supports` refuses.
pub(super) fn compile(kernel: &Kernel, tuning: &Tuning) -> Option<Code> {
    let form = kernel.form();
    let mut compiler = Compiler {
        kernel,
        tuning,
        steps: Vec::new(),
        open: Vec::new(),
        depth: 0,
        blocks: vec![Vec::new()],
        slots: Vec::new(),
        free: Vec::new(),
        of_value: vec![None; form.values.len()],
        of_variable: Vec::new(),
        constants: Vec::new(),
        count: 0,
    };
    for variable in &form.variables {
        let slot = compiler.fresh(variable.dtype.size());
        compiler.of_variable.push(slot);
    }
    let scalars = form.parameters.iter().map(|parameter| match parameter {
        Parameter::Scalar { value, .. } => {
            let slot = compiler.fresh(form.dtype(*value).size());
            compiler.of_value[value.number()] = Some(Home { slot, owned: false });
            Some(slot)
        }
        Parameter::Object(_) => None,
    });
    let scalars = scalars.collect();
    for part in form.walk() {
        match part {
            Part::Statement { statement, rest } => compiler.statement(statement, rest)?,
            Part::Enter(..) => compiler.blocks.push(Vec::new()),
            Part::Leave(statement, number) => compiler.leave(statement, number),
        }
    }
    compiler.end_block();
    let Compiler { steps, depth, slots, constants, .. } = compiler;
    Some(Code { steps, depth, slots, constants, scalars })
}

/// Where a value is. A slot of its own is given back when nothing needs the value any more.
#[derive(Clone, Copy)]
struct Home {
    slot: usize,
    owned: bool,
}

/// A branch, loop or call that is open.
struct Open {
    /// The statement's number.
    number: usize,
    /// Its first step, and, behind the first block of a branch, the one between the blocks.
    begin: usize,
    between: Option<usize>,
    meets: bool,
}

struct Compiler<'a> {
    kernel: &'a Kernel,
    tuning: &'a Tuning,
    steps: Vec<Step>,
    open: Vec<Open>,
    depth: usize,
    /// Of each open block, the steps that stand in it.
    blocks: Vec<Vec<usize>>,
    slots: Vec<usize>,
    free: Vec<usize>,
    of_value: Vec<Option<Home>>,
    of_variable: Vec<usize>,
    constants: Vec<(usize, Scalar)>,
    /// Number of the next statement, as the kernel counts them.
    count: usize,
}

impl Compiler<'_> {
    /// A slot of so many bytes for each lane that nothing else ever uses.
    fn fresh(&mut self, size: usize) -> usize {
        self.slots.push(size);
        self.slots.len() - 1
    }

    /// A slot that nothing else uses until it is given back. Slots of one size are alike.
    fn reserve(&mut self, size: usize) -> usize {
        match self.free.iter().rposition(|&slot| self.slots[slot] == size) {
            Some(position) => self.free.swap_remove(position),
            None => self.fresh(size),
        }
    }

    fn define(&mut self, value: Value) -> usize {
        let slot = self.reserve(self.kernel.form().dtype(value).size());
        self.of_value[value.number()] = Some(Home { slot, owned: true });
        slot
    }

    fn slot(&self, value: Value) -> usize {
        self.of_value[value.number()].map_or(0, |home| home.slot)
    }

    fn arg(&self, value: Value) -> Arg {
        Arg { slot: self.slot(value), dtype: self.kernel.form().dtype(value) }
    }

    fn args(&self, values: &[Value]) -> Indices {
        values.iter().map(|&value| self.arg(value)).collect()
    }

    fn variable(&self, variable: Variable) -> Arg {
        let dtype = self.kernel.form().variables[variable.number()].dtype;
        Arg { slot: self.of_variable[variable.number()], dtype }
    }

    fn function(&self, op: Op, dtype: Dtype, out: Dtype) -> Option<ElementsFn> {
        kernels::elements_fn(op, dtype, out, self.tuning).map(|elements| elements.run)
    }

    /// Gives back the slots of what nothing needs behind a statement.
    fn end(&mut self, statement: usize) {
        for value in self.kernel.ends_at(statement) {
            if let Some(Home { slot, owned: true }) = self.of_value[value.number()].take() {
                self.free.push(slot);
            }
        }
    }

    /// Adds a step, and says its number.
    fn push(&mut self, kind: Kind, at: &Position, meets: bool) -> usize {
        let number = self.steps.len();
        self.blocks.last_mut().into_iter().for_each(|block| block.push(number));
        self.steps.push(Step { kind, at: at.clone(), meets, out: 0 });
        number
    }

    /// The innermost block ends with the next step.
    fn end_block(&mut self) {
        let out = self.steps.len();
        for step in self.blocks.pop().unwrap_or_default() {
            self.steps[step].out = out;
        }
    }

    fn statement(&mut self, statement: &Statement, rest: &[Statement]) -> Option<()> {
        let number = self.count;
        self.count += 1;
        let kind = self.kind(statement, number, rest)?;
        let meets = statement.kind.has_barrier();
        if statement.kind.block_count() == 0 {
            self.end(number);
            if !matches!(kind, Kind::Nothing) {
                self.push(kind, &statement.at, meets);
            }
            return Some(());
        }
        let begin = self.push(kind, &statement.at, meets);
        self.open.push(Open { number, begin, between: None, meets });
        self.depth = self.depth.max(self.open.len());
        Some(())
    }

    /// A block ends. What comes from where it went on is known now.
    fn leave(&mut self, statement: &Statement, number: usize) {
        self.end_block();
        let last = number + 1 == statement.kind.block_count();
        let Some(&Open { number: of, begin, between, meets }) = self.open.last() else { return };
        let here = self.steps.len();
        let kind = match &statement.kind {
            StatementKind::If { otherwise, .. } if !last => {
                if otherwise.is_empty() {
                    return;
                }
                self.open.last_mut().into_iter().for_each(|open| open.between = Some(here));
                Kind::Else { end: 0 }
            }
            StatementKind::If { .. } => Kind::EndIf,
            StatementKind::While { condition, .. } if !last => {
                self.open.last_mut().into_iter().for_each(|open| open.between = Some(here));
                Kind::Test { condition: self.slot(*condition), end: 0 }
            }
            StatementKind::While { .. } => Kind::Again { head: begin + 1 },
            StatementKind::For { .. } => Kind::Next { begin },
            _ => Kind::EndCall,
        };
        self.push(kind, &statement.at, meets);
        if !last {
            return;
        }
        for step in [Some(begin), between].into_iter().flatten() {
            match &mut self.steps[step].kind {
                Kind::If { otherwise, end, .. } => (*otherwise, *end) = (between.unwrap_or(here), here),
                Kind::Else { end } | Kind::Test { end, .. } | Kind::For { end, .. } => *end = here,
                _ => {}
            }
        }
        self.open.pop();
        self.end(of);
        if let Kind::For { each: Some(each), .. } = self.steps[begin].kind {
            self.free.push(each);
        }
    }

    fn kind(&mut self, statement: &Statement, number: usize, rest: &[Statement]) -> Option<Kind> {
        Some(match &statement.kind {
            StatementKind::Let { value, expression } => self.expression(*value, expression, rest)?,
            StatementKind::Set { variable, value } => {
                let ends = self.kernel.ends_at(number).contains(value);
                let owned = self.of_value[value.number()].is_some_and(|home| home.owned);
                let variable = self.variable(*variable);
                let choose = self.function(Op::Where, variable.dtype, variable.dtype)?;
                Kind::Set { variable, value: self.slot(*value), moves: ends && owned, choose }
            }
            StatementKind::Store { object, indices, value } => {
                Kind::Store { object: *object, indices: self.args(indices), value: self.arg(*value) }
            }
            StatementKind::Atomic(atomic) => self.atomic(atomic)?,
            StatementKind::Fence { order, .. } => Kind::Fence(*order),
            StatementKind::Barrier(fence) => Kind::Barrier(*fence),
            StatementKind::If { condition, .. } => {
                Kind::If { condition: self.slot(*condition), otherwise: 0, end: 0 }
            }
            StatementKind::While { .. } => Kind::While,
            StatementKind::For { counter, start, end, step, .. } => {
                let bounds = [*start, *end, *step].map(|bound| self.arg(bound));
                self.define(*counter);
                let known = |bound: &Arg| self.constants.iter().any(|(slot, _)| *slot == bound.slot);
                let each = (!bounds.iter().all(known)).then(|| self.reserve(size_of::<u64>()));
                Kind::For { counter: self.arg(*counter), bounds, each, end: 0 }
            }
            StatementKind::Break => Kind::Break,
            StatementKind::Continue => Kind::Continue,
            StatementKind::Return => Kind::Return,
            StatementKind::Call { .. } => Kind::Call,
            StatementKind::Assert { condition, message } => {
                Kind::Assert { condition: self.slot(*condition), message: Arc::clone(message) }
            }
        })
    }

    fn expression(&mut self, value: Value, expression: &Expression, rest: &[Statement]) -> Option<Kind> {
        let form = self.kernel.form();
        let out = form.dtype(value);
        Some(match expression {
            Expression::Constant(scalar) => {
                let slot = self.fresh(out.size());
                self.of_value[value.number()] = Some(Home { slot, owned: false });
                self.constants.push((slot, *scalar));
                Kind::Nothing
            }
            Expression::Apply { op, operands } => {
                let args = self.args(operands);
                let dtype = args.last()?.dtype;
                let run = self.function(*op, dtype, out)?;
                Kind::Apply { dst: self.define(value), op: *op, run, dtype, out, args }
            }
            Expression::Get(variable) => {
                let variable_slot = self.variable(*variable);
                if self.stays(*variable, value, rest) {
                    self.of_value[value.number()] = Some(Home { slot: variable_slot.slot, owned: false });
                    return Some(Kind::Nothing);
                }
                Kind::Get { dst: self.define(value), variable: variable_slot }
            }
            Expression::Index { level, coordinate } => {
                Kind::Index { dst: self.define(value), level: *level, coordinate: *coordinate }
            }
            Expression::Extent { object, axis } => {
                Kind::Extent { dst: self.define(value), object: *object, axis: usize::from(*axis) }
            }
            Expression::Load { object, indices } => {
                let (indices, stays) = (self.args(indices), self.is_read_only(value, rest));
                Kind::Load { dst: self.define(value), object: *object, indices, stays }
            }
            Expression::Collective { collective, operand } => {
                let operand = self.arg(*operand);
                let by = |op| self.function(op, out, out);
                let collective = match *collective {
                    Collective::Reduce(op) => Together::Reduce(by(op)?),
                    Collective::InclusiveScan(op) => Together::Inclusive(by(op)?),
                    Collective::ExclusiveScan(op) => {
                        Together::Exclusive(by(op)?, Bits::of(Collective::identity(op, out)?))
                    }
                    // Of truth values, the smallest and the largest one.
                    Collective::All => Together::Reduce(by(Op::Minimum)?),
                    Collective::Any => Together::Reduce(by(Op::Maximum)?),
                    Collective::Broadcast(from) => Together::Broadcast(self.arg(from)),
                };
                Kind::Collective { dst: self.define(value), collective, operand }
            }
        })
    }

    /// Whether nothing sets a variable as long as something needs the value that was read from it.
    fn stays(&self, variable: Variable, value: Value, rest: &[Statement]) -> bool {
        let mut number = self.count;
        if self.kernel.ends_at(number - 1).contains(&value) {
            return true;
        }
        for statement in rest {
            let ends = self.kernel.ends_at(number).contains(&value);
            let sets =
                |s: &Statement| matches!(s.kind, StatementKind::Set { variable: v, .. } if v == variable);
            let (mut sets_inside, mut inside) = (false, 0);
            for s in statement.kind.inside() {
                sets_inside |= sets(s);
                inside += 1;
            }
            // To set the variable to the value itself, or to what it is the last operand of, is no harm.
            if sets_inside || (sets(statement) && !ends) {
                return false;
            }
            if ends {
                return true;
            }
            number += 1 + inside;
        }
        false
    }

    /// Whether nothing is done before a value is needed for the last time but to compute and load others: it may be read where it
    /// was loaded from.
    fn is_read_only(&self, value: Value, rest: &[Statement]) -> bool {
        for (position, statement) in rest.iter().enumerate() {
            let StatementKind::Let { expression, .. } = &statement.kind else { return false };
            if matches!(expression, Expression::Collective { .. }) {
                return false;
            }
            if self.kernel.ends_at(self.count + position).contains(&value) {
                return true;
            }
        }
        false
    }

    fn atomic(&mut self, atomic: &Atomic) -> Option<Kind> {
        let dtype = self.kernel.form().object(atomic.object).dtype;
        let update = match atomic.op {
            AtomicOp::Load => Update::Nothing,
            AtomicOp::Store | AtomicOp::Exchange => Update::Operand,
            AtomicOp::CompareExchange { expected } => Update::Where(self.arg(expected)),
            op => {
                let by = op.combines()?;
                let run = self.function(by, dtype, dtype)?;
                if by == Op::Add { Update::Sum(run) } else { Update::By(run) }
            }
        };
        let indices = self.args(&atomic.indices);
        let operand = atomic.operand.map(|operand| self.arg(operand));
        let result = atomic.result.map(|result| Arg { slot: self.define(result), dtype });
        Some(Kind::Atomic(Rmw { object: atomic.object, indices, update, operand, result }))
    }
}

/// Why a kernel cannot run here.
pub(super) fn refused(kernel: &Kernel, tuning: &Tuning) -> Option<String> {
    let form = kernel.form();
    let mut refused = None;
    form.for_each_statement(|statement| {
        if let StatementKind::Let { value, expression: Expression::Apply { op, operands } } = &statement.kind
        {
            let (dtype, out) = (operands.last().map(|&o| form.dtype(o)), form.dtype(*value));
            if dtype.is_none_or(|dtype| kernels::elements_fn(*op, dtype, out, tuning).is_none()) {
                refused = Some(format!("{}: `{}` of {dtype:?}", statement.at, op.name()));
            }
        }
    });
    refused
}

/// The extents of an object, where the form says them.
pub(super) fn extents(memory: &Memory) -> Option<&[usize]> {
    match memory {
        Memory::Local { shape } | Memory::Private { shape } | Memory::Constant { shape, .. } => Some(shape),
        Memory::Global { .. } | Memory::LocalArgument { .. } => None,
    }
}
