//! How the values of a kernel differ between the items of a row, and where items part: what of a kernel is
//! computed once, and what under masks.

use stridewise_core::kernel::{
    Class, Collective, Coordinate, Expression, Form, Kernel, Level, Memory, Parameter, Part, Statement,
    StatementKind, Value, Variable,
};
use stridewise_core::{Dtype, DtypeKind, Op, Scalar};

use super::memory::{GANG, LARGE_GANG, LONG_GANG};

/// How a value differs between the items of a row, which have consecutive ids along the last axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Not at all.
    One,
    /// An integer that is so much more from item to item of a row, and from row to row where several are
    /// computed together, modulo what its dtype wraps at.
    Follow { item: i32, row: i32 },
    /// In any way.
    Lanes,
}

impl Shape {
    fn join(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if other != self => Self::Lanes,
            _ => self,
        }
    }
}

/// Bytes of private objects at most, of all lanes of a gang.
const MOST_PRIVATE: usize = 1 << 20;
/// Steps from item to item are below this.
const MOST_STEP: u32 = 1 << 16;

/// What is known of a statement.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Jumps {
    /// It is a loop, a call or the kernel itself, and jumps inside go on at its end or with its next round.
    pub(super) taken: bool,
    /// Jumps inside lead out of it.
    pub(super) leave: bool,
    /// The items of a group meet inside: they come to it together, and do the same there.
    pub(super) meets: bool,
}

/// What is known of a kernel.
pub(super) struct Shapes {
    pub(super) values: Vec<Shape>,
    pub(super) variables: Vec<Shape>,
    pub(super) constants: Vec<Option<Scalar>>,
    /// By the number of a statement, in the order of the text.
    pub(super) jumps: Vec<Jumps>,
    /// Whether items may leave the kernel early.
    pub(super) returns: bool,
    /// Whether the items of a group meet somewhere.
    pub(super) meets: bool,
    /// Whether several rows of a group may be computed together.
    pub(super) rows: bool,
}

/// Why a kernel is interpreted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unsupported {
    /// Numbers that have no registers.
    Dtype(Dtype),
    /// Private memory that is large.
    Memory,
    /// Items meet where they may have parted.
    Together,
    /// It is too large, or the system gives no code.
    Refused,
}

/// Whether a jump at the end of a call or of the kernel leads to where it is anyway.
/// (`whole`: its block is all of that).
pub(super) fn is_at_end(statement: &Statement, rest: &[Statement], whole: bool) -> bool {
    statement.kind == StatementKind::Return && rest.is_empty() && whole
}

/// Bytes of a private object, of so many lanes.
pub(super) fn private_bytes(shape: &[usize], dtype: Dtype, lanes: usize) -> usize {
    shape.iter().fold(lanes * dtype.size(), |bytes, &extent| bytes.saturating_mul(extent))
}

/// Whether the order counts in which items access elements by atomic operations: sums of floats depend on it.
pub(super) fn is_ordered(form: &Form) -> bool {
    let is_float = |object| form.object(object).dtype.kind() == DtypeKind::Float;
    form.walk().any(|part| match part {
        Part::Statement { statement, .. } => {
            matches!(&statement.kind, StatementKind::Atomic(atomic) if is_float(atomic.object))
        }
        Part::Enter(..) | Part::Leave(..) => false,
    })
}

/// How many items are computed together: fewer where some go on with a loop that others have left, where each has private memory, and
/// where accesses are done one after another. Where their order counts, as many as the interpreter has in a frame.
pub(super) fn gang(kernel: &Kernel, shapes: &Shapes) -> usize {
    let form = kernel.form();
    if is_ordered(form) {
        return LARGE_GANG;
    }
    let (mut loops, mut atomics) = (false, false);
    for part in form.walk() {
        if let Part::Statement { statement, .. } = part {
            loops |= match &statement.kind {
                StatementKind::While { .. } => true,
                StatementKind::For { start, end, .. } => {
                    [start, end].into_iter().any(|bound| shapes.values[bound.number()] == Shape::Lanes)
                }
                _ => false,
            };
            atomics |= matches!(statement.kind, StatementKind::Atomic(_));
        }
    }
    let private = form.objects.iter().any(|object| matches!(object.memory, Memory::Private { .. }));
    match (loops || private, atomics || kernel.is_grouped()) {
        (true, _) => GANG,
        (false, true) => LARGE_GANG,
        (false, false) => LONG_GANG,
    }
}

/// What is known of a kernel, or why it is interpreted; `rows`: several rows of a group may be computed together.
pub(super) fn shapes(kernel: &Kernel, rows: bool) -> Result<Shapes, Unsupported> {
    let form = kernel.form();
    for &dtype in form
        .values
        .iter()
        .chain(form.objects.iter().map(|object| &object.dtype))
        .chain(form.variables.iter().map(|variable| &variable.dtype))
    {
        if dtype.kind() == DtypeKind::Complex {
            return Err(Unsupported::Dtype(dtype));
        }
    }
    let mut private = 0_usize;
    for object in &form.objects {
        match &object.memory {
            Memory::Private { shape } => {
                private = private.saturating_add(private_bytes(shape, object.dtype, GANG));
            }
            Memory::Global { .. }
            | Memory::Constant { .. }
            | Memory::Local { .. }
            | Memory::LocalArgument { .. } => {}
        }
    }
    if private > MOST_PRIVATE {
        return Err(Unsupported::Memory);
    }
    let (mut jumps, returns) = jumps(form);
    let meets = meet(kernel, &mut jumps)?;
    let mut shapes = Shapes {
        values: vec![Shape::One; form.values.len()],
        variables: Vec::new(),
        constants: vec![None; form.values.len()],
        jumps,
        returns,
        meets,
        rows,
    };
    let mut pass =
        Pass { form, shapes: &mut shapes, variables: vec![None; form.variables.len()], changed: true };
    while std::mem::take(&mut pass.changed) {
        pass.walk()?;
    }
    let variables = pass.variables.iter().map(|shape| shape.unwrap_or(Shape::One)).collect();
    shapes.variables = variables;
    Ok(shapes)
}

/// Where jumps lead.
fn jumps(form: &Form) -> (Vec<Jumps>, bool) {
    let (mut all, mut returns) = (Vec::new(), false);
    let mut open: Vec<(usize, &Statement)> = Vec::new();
    for part in form.walk() {
        match part {
            Part::Statement { statement, rest } => {
                let number = all.len();
                all.push(Jumps::default());
                let is_target = |around: &Statement| match statement.kind {
                    StatementKind::Return => matches!(around.kind, StatementKind::Call { .. }),
                    _ => matches!(around.kind, StatementKind::While { .. } | StatementKind::For { .. }),
                };
                let jumps = matches!(
                    statement.kind,
                    StatementKind::Return | StatementKind::Break | StatementKind::Continue
                );
                let is_call = |around: &Statement| matches!(around.kind, StatementKind::Call { .. });
                let whole = open.last().is_none_or(|&(_, around)| is_call(around));
                if jumps && !is_at_end(statement, rest, whole) {
                    let mut inside = open.iter().rev();
                    let target = inside.find_map(|&(around, statement)| {
                        let found = is_target(statement);
                        if !found {
                            all[around].leave = true;
                        }
                        found.then_some(around)
                    });
                    match target {
                        Some(target) => all[target].taken = true,
                        None => returns = true,
                    }
                }
                if statement.kind.block_count() > 0 {
                    open.push((number, statement));
                }
            }
            Part::Leave(statement, number) if number + 1 == statement.kind.block_count() => {
                open.pop();
            }
            Part::Enter(..) | Part::Leave(..) => {}
        }
    }
    (all, returns)
}

/// A construct that is open, for [`meet`].
struct Around<'a> {
    number: usize,
    statement: &'a Statement,
    /// Items come to it that do not do the same there, or some of them leave it while others stay.
    apart: bool,
}

/// Finds the constructs that the items of a group meet inside, and whether they meet at all. They come to
/// these together (the verifier), but for code that nobody comes to, which it does not look at: such a kernel
/// is interpreted.
fn meet(kernel: &Kernel, all: &mut [Jumps]) -> Result<bool, Unsupported> {
    let form = kernel.form();
    let (mut open, mut number, mut meets) = (Vec::<usize>::new(), 0, false);
    for part in form.walk() {
        match part {
            Part::Statement { statement, .. } => {
                if statement.kind.synchronises() {
                    meets = true;
                    open.iter().for_each(|&around| all[around].meets = true);
                }
                if statement.kind.block_count() > 0 {
                    open.push(number);
                }
                number += 1;
            }
            Part::Leave(statement, number) if number + 1 == statement.kind.block_count() => {
                open.pop();
            }
            Part::Enter(..) | Part::Leave(..) => {}
        }
    }
    if !meets {
        return Ok(false);
    }
    let varies = |values: &[Value]| values.iter().any(|&value| kernel.class(value) != Class::Uniform);
    let (mut open, mut number, mut left) = (Vec::<Around<'_>>::new(), 0, false);
    for part in form.walk() {
        match part {
            Part::Statement { statement, .. } => {
                let apart = left || open.iter().any(|around| around.apart);
                if statement.kind.synchronises() && apart {
                    return Err(Unsupported::Together);
                }
                let differ = match &statement.kind {
                    StatementKind::If { condition, .. } | StatementKind::While { condition, .. } => {
                        varies(&[*condition])
                    }
                    StatementKind::For { start, end, step, .. } => varies(&[*start, *end, *step]),
                    StatementKind::Break | StatementKind::Continue | StatementKind::Return if apart => {
                        // Up to where it leads, nobody may meet from here on: not in another round either.
                        let is_call =
                            |around: &Around<'_>| matches!(around.statement.kind, StatementKind::Call { .. });
                        let is_loop = |around: &Around<'_>| {
                            matches!(
                                around.statement.kind,
                                StatementKind::While { .. } | StatementKind::For { .. }
                            )
                        };
                        let returns = statement.kind == StatementKind::Return;
                        let target = open
                            .iter()
                            .rposition(|around| if returns { is_call(around) } else { is_loop(around) });
                        let inside = open.iter().skip(target.unwrap_or(0));
                        let again = statement.kind != StatementKind::Continue
                            && inside.filter(|around| is_loop(around)).any(|around| all[around.number].meets);
                        if again {
                            return Err(Unsupported::Together);
                        }
                        match target {
                            Some(target) => open[target].apart = true,
                            None => left = true,
                        }
                        false
                    }
                    _ => false,
                };
                if statement.kind.block_count() > 0 {
                    open.push(Around { number, statement, apart: differ });
                }
                number += 1;
            }
            Part::Leave(statement, number) if number + 1 == statement.kind.block_count() => {
                open.pop();
            }
            Part::Enter(..) | Part::Leave(..) => {}
        }
    }
    Ok(true)
}

/// One look at all statements with what the looks before found.
struct Pass<'a> {
    form: &'a Form,
    shapes: &'a mut Shapes,
    variables: Vec<Option<Shape>>,
    changed: bool,
}

impl Pass<'_> {
    fn walk(&mut self) -> Result<(), Unsupported> {
        // Constructs that are open, and whether items part there that come together again.
        let mut open: Vec<bool> = Vec::new();
        let mut number = 0;
        for part in self.form.walk() {
            match part {
                Part::Statement { statement, .. } => {
                    let jumps = self.shapes.jumps[number];
                    number += 1;
                    let parts = self.statement(statement, jumps, open.contains(&true))?;
                    if statement.kind.block_count() > 0 {
                        open.push(parts);
                    }
                }
                Part::Leave(statement, number) if number + 1 == statement.kind.block_count() => {
                    open.pop();
                }
                Part::Enter(..) | Part::Leave(..) => {}
            }
        }
        Ok(())
    }

    fn shape(&self, value: Value) -> Shape {
        self.shapes.values[value.number()]
    }

    fn define(&mut self, value: Value, shape: Shape) {
        let known = &mut self.shapes.values[value.number()];
        self.changed |= *known != shape;
        *known = shape;
    }

    /// Whether items part in a statement, and come together behind it.
    fn statement(&mut self, statement: &Statement, jumps: Jumps, apart: bool) -> Result<bool, Unsupported> {
        match &statement.kind {
            StatementKind::Let { value, expression } => {
                let shape = self.expression(*value, expression)?;
                self.define(*value, shape);
            }
            StatementKind::Set { variable, value } => {
                let shape = if apart { Shape::Lanes } else { self.shape(*value) };
                self.set(*variable, shape);
            }
            StatementKind::Atomic(atomic) => {
                if let Some(result) = atomic.result {
                    self.define(result, Shape::Lanes);
                }
            }
            StatementKind::If { condition, .. } => {
                return Ok(!jumps.meets && self.shape(*condition) == Shape::Lanes);
            }
            StatementKind::While { condition, .. } => {
                return Ok(jumps.taken || (!jumps.meets && self.shape(*condition) == Shape::Lanes));
            }
            StatementKind::For { counter, start, end, step, .. } => {
                let is_one = |bound: Value| self.shape(bound) == Shape::One;
                let differ = !jumps.meets && ![*start, *end, *step].into_iter().all(is_one);
                // Who goes on counts by the same step, so counters differ as they did at the start.
                let shape = match differ {
                    false => Shape::One,
                    true if is_one(*step) => self.shape(*start),
                    true => Shape::Lanes,
                };
                self.define(*counter, shape);
                return Ok(jumps.taken || differ);
            }
            StatementKind::Call { .. } => return Ok(jumps.taken),
            StatementKind::Store { .. }
            | StatementKind::Fence { .. }
            | StatementKind::Barrier(_)
            | StatementKind::Assert { .. }
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Return => {}
        }
        Ok(false)
    }

    fn set(&mut self, variable: Variable, shape: Shape) {
        let known = &mut self.variables[variable.number()];
        let joined = Some(shape.join(*known));
        self.changed |= *known != joined;
        *known = joined;
    }

    fn expression(&mut self, value: Value, expression: &Expression) -> Result<Shape, Unsupported> {
        Ok(match expression {
            Expression::Constant(scalar) => {
                self.shapes.constants[value.number()] = Some(*scalar);
                Shape::One
            }
            Expression::Extent { .. } => Shape::One,
            Expression::Apply { op, operands } => self.operation(value, *op, operands),
            // What was never set so far is set further on, in a loop.
            Expression::Get(variable) => self.variables[variable.number()].unwrap_or(Shape::One),
            Expression::Index { level, coordinate } => match (level, coordinate) {
                (Level::Group, _) | (_, Coordinate::Range(_)) => Shape::One,
                (_, Coordinate::Id(axis)) => match self.form.dims - usize::from(*axis) {
                    1 => Shape::Follow { item: 1, row: 0 },
                    2 if self.shapes.rows => Shape::Follow { item: 0, row: 1 },
                    _ => Shape::One,
                },
                // From row to row by as many items as a row has, which is no constant.
                (_, Coordinate::LinearId) if self.shapes.rows => Shape::Lanes,
                (_, Coordinate::LinearId) => Shape::Follow { item: 1, row: 0 },
            },
            Expression::Load { object, indices } => {
                let one = indices.iter().all(|&index| self.shape(index) == Shape::One);
                let private = matches!(self.form.object(*object).memory, Memory::Private { .. });
                if one && !private { Shape::One } else { Shape::Lanes }
            }
            Expression::Collective { collective, .. } => match collective {
                Collective::InclusiveScan(_) | Collective::ExclusiveScan(_) => Shape::Lanes,
                _ => Shape::One,
            },
        })
    }

    fn operation(&self, value: Value, op: Op, operands: &[Value]) -> Shape {
        let out = self.form.dtype(value);
        let shapes: Vec<Shape> = operands.iter().map(|&operand| self.shape(operand)).collect();
        if shapes.iter().all(|&shape| shape == Shape::One) {
            // Floats that are computed are lanes, which are alike.
            return if out.kind() == DtypeKind::Float { Shape::Lanes } else { Shape::One };
        }
        if !matches!(out, Dtype::I32 | Dtype::I64) {
            return Shape::Lanes;
        }
        let steps = |shape: Shape| match shape {
            Shape::One => Some([0_i64; 2]),
            Shape::Follow { item, row } => Some([item, row].map(i64::from)),
            Shape::Lanes => None,
        };
        let steps: Option<Vec<[i64; 2]>> = shapes.iter().map(|&shape| steps(shape)).collect();
        let constant = |at: usize| {
            let scalar = self.shapes.constants[operands[at].number()]?;
            i64::try_from(super::super::frame::Bits::of(scalar).integer(scalar.dtype())).ok()
        };
        let times = |factor: Option<i64>, [x, y]: [i64; 2]| {
            factor.and_then(|factor| Some([factor.checked_mul(x)?, factor.checked_mul(y)?]))
        };
        let steps = match (op, steps.as_deref()) {
            (Op::Add, Some(&[x, y])) => Some([x[0] + y[0], x[1] + y[1]]),
            (Op::Subtract, Some(&[x, y])) => Some([x[0] - y[0], x[1] - y[1]]),
            (Op::Negative, Some(&[x])) => Some(x.map(|step| -step)),
            (Op::Multiply, Some(&[x, [0, 0]])) => times(constant(1), x),
            (Op::Multiply, Some(&[[0, 0], y])) => times(constant(0), y),
            // What wraps at fewer bits goes on doing so.
            (Op::Cast, Some(&[x])) if out == Dtype::I32 && self.form.dtype(operands[0]) == Dtype::I64 => {
                Some(x)
            }
            _ => None,
        };
        let few = |step: i64| i32::try_from(step).ok().filter(|step| step.unsigned_abs() < MOST_STEP);
        match steps.map(|steps| steps.map(few)) {
            // What differs between rows and what it is counted from may cancel out.
            Some([Some(0), Some(0)]) => Shape::One,
            Some([Some(item), Some(row)]) => Shape::Follow { item, row },
            _ => Shape::Lanes,
        }
    }
}

/// The parameter that an object is.
pub(super) fn parameter_of(form: &Form, object: usize) -> Option<usize> {
    form.parameters
        .iter()
        .position(|parameter| matches!(parameter, Parameter::Object(own) if own.number() == object))
}
