//! Kernels that users write, as OpenCL C: the structure stays, operations are the lines that programs have.
//!
//! Axes are numbered from the slowest in the form, from the fastest in OpenCL. In the text, `o3` is a memory object and `l3`
//! its layout, `x3` a variable, `s3` a scalar parameter, `t3` a value.
//!
//! **Partial groups.** The runtime wants whole groups, and every work-item of one at each barrier. So the space is rounded up,
//! and an item that the launch does not have goes along to the barriers (`here` is 0 for it): it takes part in what has a
//! barrier inside and in what all items of a group agree on, and in nothing else, so that its variables have the values that
//! others of its group agree on, and every loop ends for it that ends for them.

mod access;
mod jumps;
mod together;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::kernel::{
    AtomicOp, Coordinate, Expression, Fence, Form, Kernel, Level, Memory, MemoryOrder, MemoryScope, Object,
    Parameter, Part, Statement, StatementKind, Value, Variable,
};
use stridewise_core::ops::MAX_ARITY;
use stridewise_core::{Dtype, DtypeKind, Op, Scalar};

use jumps::Facts;

use super::library::{self, Helper};
use super::literal::literal;
use super::token::Token;
use super::visitor;
use super::writer::Writer;
use crate::kernels::Target;
use crate::kernels::text::{Parameters, c_type};

/// What a kernel's text depends on beside the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Variant {
    /// Groups may be partial.
    pub(crate) partial: bool,
    /// All items of a group are in one row, and all groups are, as the device counts no more along other axes: what there are
    /// along each axis is an argument, the last one.
    pub(crate) flat: bool,
    /// Items of a group at most, which a device of CUDA shares its registers by; 0: it does not matter.
    pub(crate) bound: usize,
    /// By object: what is known of it.
    pub(crate) objects: Vec<Known>,
}

/// What is known of the memory that a launch gives to an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Known {
    /// It has no elements.
    pub(crate) empty: bool,
    /// Along its last axis, elements lie side by side.
    pub(crate) unit: bool,
    /// The place of an element, and what it is made of, is a number of 32 bits.
    pub(crate) narrow: bool,
    /// Extents that the text has as numbers; else they are arguments.
    pub(crate) shape: Option<SmallVec<[usize; 3]>>,
}

/// Whether a device can compute a kernel.
///
/// # Errors
/// What it lacks, and what for.
pub(crate) fn supports(kernel: &Kernel, target: &Target) -> Result<(), String> {
    let form = kernel.form();
    let objects = form.objects.iter().map(|object| object.dtype);
    let variables = form.variables.iter().map(|variable| variable.dtype);
    form.values.iter().copied().chain(objects).chain(variables).try_for_each(|d| super::has(d, target))?;
    let mut outcome = Ok(());
    form.for_each_statement(|statement| {
        let lacks = match &statement.kind {
            StatementKind::Let { expression: Expression::Apply { op, operands }, .. } => {
                operands.last().map_or(Ok(()), |&last| super::computes(*op, form.dtype(last), target))
            }
            StatementKind::Let { value, expression: Expression::Collective { .. } } => {
                super::computes(Op::Multiply, form.dtype(*value), target)
            }
            StatementKind::Atomic(atomic) => {
                let dtype = form.object(atomic.object).dtype;
                let plain = atomic.op == AtomicOp::Load && !kernel.writes(atomic.object);
                if dtype.size() == 8 && !plain && !target.atomic64 {
                    let name = dtype.name();
                    Err(format!("an atomic access to `{name}` needs cl_khr_int64_base_atomics"))
                } else if atomic.scope == MemoryScope::System && !target.cpu {
                    Err("an atomic access for the whole system is the host's (OpenCL C 1.2 has none)"
                        .to_owned())
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        };
        if let Err(reason) = lacks
            && outcome.is_ok()
        {
            outcome = Err(format!("{}: {reason}", statement.at));
        }
    });
    outcome
}

/// Bytes of local memory that an item of a group needs for collectives.
pub(crate) fn scratch_bytes(form: &Form) -> usize {
    let mut bytes = 0;
    form.for_each_statement(|statement| {
        if let StatementKind::Let { value, expression: Expression::Collective { .. } } = statement.kind {
            bytes = bytes.max(form.dtype(value).size());
        }
    });
    bytes
}

/// The text of a kernel, one of the name `run`.
///
/// Its parameters are the extents of the index space (`extents`); for each parameter of the form in order, of an array the
/// memory, if it has elements, and the layout (`layout`, extents and then strides), of local memory the same, of a scalar the
/// value; what items report of assertions (`report`), if there are any; and local memory for collectives, if there are any.
pub(crate) fn text(kernel: &Kernel, target: &Target, variant: &Variant) -> String {
    let writer = Writer::new(target);
    let mut emitter = Emitter {
        kernel,
        form: kernel.form(),
        variant,
        writer: &writer,
        tokens: vec![None; kernel.form().values.len()],
        functions: BTreeMap::new(),
        helpers: BTreeSet::new(),
        frames: Vec::new(),
        guarded: !variant.partial,
        guards: vec![false],
        open: Vec::new(),
        facts: jumps::facts(kernel),
        count: 0,
        names: 0,
        assertions: 0,
    };
    let parameters = emitter.start(target);
    for part in kernel.form().walk() {
        match part {
            Part::Statement { statement, .. } => emitter.statement(statement),
            Part::Enter(statement, number) => emitter.enter(statement, number),
            Part::Leave(statement, number) => emitter.leave_block(statement, number),
        }
    }
    emitter.end_guard();
    let Emitter { functions, mut helpers, .. } = emitter;
    let (body, called) = writer.finish();
    helpers.extend(called);
    let mut text = super::header(target);
    if target.atomic64 && !target.dialect.is_cuda() {
        text.push_str("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n");
    }
    text.push_str(ROUNDS);
    if variant.objects.iter().any(|known| known.narrow) {
        text.push_str(NEAR);
    }
    for ndim in layouts(kernel.form()) {
        text.push_str(&layout_type(ndim));
    }
    let mut constant_bytes = 0;
    for (number, object) in kernel.form().objects.iter().enumerate() {
        if let Memory::Constant { elements, .. } = &object.memory {
            let elements: Vec<String> = elements.iter().map(literal).collect();
            let (ty, len) = (c_type(object.dtype), elements.len());
            constant_bytes += len * object.dtype.size();
            let many = target.dialect.is_cuda() && constant_bytes > CONSTANT_BYTES;
            let space = if many { "static global const" } else { "constant" };
            // Writing to a `String` cannot fail.
            let _ = writeln!(text, "{space} {ty} o{number}[{len}] = {{{}}};", elements.join(", "));
        }
    }
    text.push_str(&library::texts(helpers, target));
    text.extend(functions.into_values());
    let attributes = match variant.bound {
        0 => String::new(),
        bound => format!("__attribute__((reqd_work_group_size({bound}, 1, 1)))"),
    };
    text.push_str(&parameters.kernel(&attributes, &body));
    target.dialect.whole(text)
}

/// Bytes of arrays of constants that CUDA's devices have a space of their own for, less what the compiler needs of it.
const CONSTANT_BYTES: usize = 48 << 10;

/// How often a loop goes round, as Python's `range`.
const ROUNDS: &str = "\
static inline ulong sw_rounds_long(const long start, const long end, const long step)
{
    if (step > 0)
        return start < end ? ((ulong)end - (ulong)start - 1UL) / (ulong)step + 1UL : 0UL;
    if (step < 0)
        return start > end ? ((ulong)start - (ulong)end - 1UL) / (0UL - (ulong)step) + 1UL : 0UL;
    return 0UL;
}
static inline ulong sw_rounds_ulong(const ulong start, const ulong end, const ulong step)
{
    return step > 0UL && start < end ? (end - start - 1UL) / step + 1UL : 0UL;
}
";

/// An index along an axis, or the nearest one, where that is a number of 32 bits.
const NEAR: &str = "\
static inline int sw_near(const long index, const long extent)
{
    return index < 0L ? 0 : index < extent ? (int)index : (int)(extent - 1L);
}
";

/// Numbers of dimensions of which a kernel has layouts.
fn layouts(form: &Form) -> BTreeSet<usize> {
    let dynamic = form.objects.iter().filter(|object| access::is_dynamic(&object.memory));
    dynamic.map(|object| object.memory.ndim()).chain([form.dims]).collect()
}

fn layout_type(ndim: usize) -> String {
    let fields = |letter: char| (0..ndim).map(|d| format!("{letter}{d}")).collect::<Vec<_>>().join(", ");
    format!("typedef struct {{\n    long {}, {};\n}} layout{ndim};\n", fields('e'), fields('s'))
}

/// A loop or call that is open in the text.
struct Frame {
    /// Of a call, its number; of a loop, none.
    call: Option<usize>,
    /// A return leaves the call from inside of this loop.
    left: bool,
}

/// A statement with blocks that is open.
struct Open {
    facts: Facts,
    /// It is for items that the launch has alone, and the text says so.
    guard: bool,
}

struct Emitter<'a, 'w> {
    kernel: &'a Kernel,
    form: &'a Form,
    variant: &'a Variant,
    writer: &'w Writer<'w>,
    tokens: Vec<Option<Token<'w>>>,
    /// Functions by name, of atomics and folds.
    functions: BTreeMap<String, String>,
    /// What these functions call.
    helpers: BTreeSet<(Helper, Dtype)>,
    frames: Vec<Frame>,
    /// Only items that the launch has come here.
    guarded: bool,
    /// Of each open block whether the rest of it is for such items alone, and the text says so.
    guards: Vec<bool>,
    /// Statements with blocks that are open.
    open: Vec<Open>,
    /// What is known of statements, by their number in the text, and the number of the next one.
    facts: Vec<Facts>,
    count: usize,
    /// Loops and calls so far.
    names: usize,
    /// Assertions so far.
    assertions: usize,
}

impl<'w> Emitter<'_, 'w> {
    fn raw(&self, line: impl AsRef<str>) {
        self.writer.raw(line.as_ref());
    }

    fn named(&self, name: String, dtype: Dtype) -> Token<'w> {
        Token { writer: self.writer, name: self.writer.name(name), dtype }
    }

    fn number(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    fn token(&self, value: Value) -> Token<'w> {
        let token = self.tokens[value.number()];
        token.unwrap_or_else(|| unreachable!("{value} is defined, by the verifier"))
    }

    fn text_of(&self, value: Value) -> String {
        self.token(value).text()
    }

    fn define(&mut self, value: Value, token: Token<'w>) {
        self.tokens[value.number()] = Some(token);
    }

    /// Parameters, variables, memory, and who is here.
    fn start(&mut self, target: &Target) -> Parameters {
        let mut parameters = Parameters::new(target);
        let form = self.form;
        parameters.value(&format!("layout{}", form.dims), "space");
        for (position, parameter) in form.parameters.iter().enumerate() {
            match parameter {
                Parameter::Scalar { value, .. } => {
                    let dtype = form.dtype(*value);
                    let name = format!("s{position}");
                    parameters.value(c_type(dtype), &name);
                    let token = self.named(name, dtype);
                    self.define(*value, token);
                }
                Parameter::Object(object) => {
                    let info = form.object(*object);
                    let (number, ty) = (object.number(), c_type(info.dtype));
                    if !self.variant.objects[number].empty {
                        let name = format!("o{number}");
                        match info.memory {
                            Memory::Global { .. } if self.kernel.writes(*object) => {
                                parameters.memory(ty, &name);
                            }
                            Memory::Global { .. } => parameters.memory(&format!("const {ty}"), &name),
                            _ => parameters.local(ty, &name),
                        }
                    }
                    parameters.value(&format!("layout{}", info.memory.ndim()), &format!("l{number}"));
                }
            }
        }
        if self.kernel.asserts() {
            parameters.memory("long", "report");
        }
        if scratch_bytes(form) > 0 {
            parameters.local("ulong2", "scratch");
        }
        // CUDA C has arrays of up to 48 KiB, and any memory as an argument's.
        let as_argument = target.dialect.is_cuda();
        for (number, object) in form.objects.iter().enumerate() {
            if let Memory::Local { .. } = object.memory
                && as_argument
            {
                parameters.local(c_type(object.dtype), &format!("o{number}"));
            }
        }
        if self.variant.flat {
            parameters.value("sw_geometry", "sw_shape");
        }
        for (number, object) in form.objects.iter().enumerate() {
            let ty = c_type(object.dtype);
            let len = |shape: &[usize]| shape.iter().product::<usize>();
            match &object.memory {
                Memory::Local { .. } if as_argument => {}
                Memory::Local { shape } => self.raw(format!("    local {ty} o{number}[{}];", len(shape))),
                Memory::Private { shape } => {
                    let (len, zero) = (len(shape), literal(&Scalar::I8(0).cast(object.dtype)));
                    self.raw(format!("    {ty} o{number}[{len}];"));
                    self.raw(format!("    for (int i = 0; i < {len}; i++)\n        o{number}[i] = {zero};"));
                }
                _ => {}
            }
        }
        if self.variant.partial {
            for axis in 0..form.dims {
                let (group, size) = (self.id("group", axis), self.size("local_size", axis));
                self.raw(format!("    const long g{axis} = min({size}, space.e{axis} - {group} * {size});"));
            }
            let inside = |axis| format!("({} < space.e{axis})", self.id("global", axis));
            let here: Vec<String> = (0..form.dims).map(inside).collect();
            if form.body.iter().any(|statement| statement.kind.has_barrier()) {
                self.raw(format!("    const int here = {};", here.join(" & ")));
            } else {
                self.raw(format!("    if (!({}))\n        return;", here.join(" & ")));
                self.guarded = true;
            }
        }
        for (number, variable) in form.variables.iter().enumerate() {
            self.raw(format!("    {} x{number};", c_type(variable.dtype)));
        }
        self.positions();
        parameters
    }

    /// A function of the work-item, of an axis of the form: `id("local", 0)`.
    fn id(&self, level: &str, axis: usize) -> String {
        format!("(long)get_{level}_id({})", self.form.dims - 1 - axis)
    }

    /// Items along an axis that the group has: in the last one, which the space is rounded up for, there may be fewer.
    fn items(&self, axis: usize) -> String {
        if self.variant.partial { format!("g{axis}") } else { self.size("local_size", axis) }
    }

    fn size(&self, function: &str, axis: usize) -> String {
        format!("(long)get_{function}({})", self.form.dims - 1 - axis)
    }

    /// What follows in the innermost block is for items alone that the launch has.
    fn guard(&mut self) -> bool {
        let begins = !self.guarded;
        if begins {
            self.raw("    if (here) {");
            self.guarded = true;
        }
        begins
    }

    /// Ends what was begun so in a block that ends.
    fn end_guard(&mut self) {
        if self.guards.pop() == Some(true) {
            self.raw("    }");
            self.guarded = false;
        }
    }

    /// Behind a statement: who has left in it is not here any more, so that the rest of the block is for others.
    fn behind(&mut self, facts: Facts) {
        if facts.escapes && self.guard() {
            self.guards.last_mut().into_iter().for_each(|guard| *guard = true);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        let facts = self.facts[self.count];
        self.count += 1;
        if statement.kind.block_count() == 0 {
            self.simple(statement);
            return self.behind(facts);
        }
        // Items that do not agree on what they do are those that the launch has.
        let apart = match &statement.kind {
            StatementKind::If { condition, .. } => self.is_apart(&[*condition]),
            _ => facts.leaves_apart,
        };
        let guard = apart && !facts.meets && self.guard();
        self.open.push(Open { facts, guard });
        match &statement.kind {
            StatementKind::If { condition, .. } => {
                self.raw(format!("    if ({}) {{", self.text_of(*condition)));
            }
            StatementKind::While { .. } => {
                self.frames.push(Frame { call: None, left: false });
                self.raw("    for (;;) {");
            }
            StatementKind::For { counter, start, end, step, .. } => {
                self.frames.push(Frame { call: None, left: false });
                self.begin_count(*counter, [*start, *end, *step]);
            }
            _ => {
                let number = self.number();
                self.raw(format!("    int left{number} = 0;\n    do {{"));
                self.frames.push(Frame { call: Some(number), left: false });
            }
        }
    }

    fn enter(&mut self, statement: &Statement, number: usize) {
        if let (StatementKind::If { otherwise, .. }, 1) = (&statement.kind, number)
            && !otherwise.is_empty()
        {
            self.raw("    } else {");
        }
        self.guards.push(false);
    }

    fn leave_block(&mut self, statement: &Statement, number: usize) {
        self.end_guard();
        match &statement.kind {
            StatementKind::While { condition, .. } if number == 0 => {
                return self.raw(format!("    if (!{})\n        break;", self.text_of(*condition)));
            }
            StatementKind::If { .. } if number == 0 => return,
            StatementKind::If { .. } => self.raw("    }"),
            StatementKind::Call { .. } => {
                self.frames.pop();
                self.raw("    } while (0);");
            }
            _ => self.end_loop(),
        }
        let Some(Open { facts, guard }) = self.open.pop() else { return };
        if guard {
            self.raw("    }");
            self.guarded = false;
        }
        self.behind(facts);
    }

    /// A statement without blocks.
    fn simple(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Let { value, expression } => {
                let token = self.expression(*value, expression);
                self.define(*value, token);
            }
            StatementKind::Set { variable, value } => {
                self.raw(format!("    x{} = {};", variable.number(), self.text_of(*value)));
            }
            StatementKind::Store { object, indices, value } => self.store(*object, indices, *value),
            StatementKind::Atomic(atomic) => self.atomic(atomic),
            StatementKind::Fence { order: MemoryOrder::Relaxed, .. } => {}
            StatementKind::Fence { .. } => self.raw(MEM_FENCE),
            StatementKind::Barrier(fence) => self.barrier(*fence),
            StatementKind::Break => self.raw("    break;"),
            StatementKind::Continue => self.raw("    continue;"),
            StatementKind::Return => self.leave(),
            StatementKind::Assert { condition, .. } => self.assertion(*condition),
            _ => {}
        }
    }

    /// Reports the first item for which a condition is false, and the number of the assertion.
    fn assertion(&mut self, condition: Value) {
        self.assertions += 1;
        let number = self.assertions;
        let here = if self.guarded { "" } else { "here && " };
        let first = format!("atomic_cmpxchg((volatile global int *)report, 0, {number}) == 0");
        self.raw(format!("    if ({here}!{} && {first}) {{", self.text_of(condition)));
        for axis in 0..self.form.dims {
            let place = 4 - self.form.dims + axis;
            self.raw(format!("        report[{place}] = {};", self.id("global", axis)));
        }
        self.raw("    }");
    }

    /// Leaves the innermost call, or the kernel.
    fn leave(&mut self) {
        let call = self.frames.iter().rposition(|frame| frame.call.is_some());
        let Some((at, number)) = call.and_then(|at| Some((at, self.frames[at].call?))) else {
            return self.raw("    return;");
        };
        if at + 1 < self.frames.len() {
            self.raw(format!("    left{number} = 1;"));
            self.frames[at + 1..].iter_mut().for_each(|frame| frame.left = true);
        }
        self.raw("    break;");
    }

    /// Begins a loop that counts.
    fn begin_count(&mut self, counter: Value, bounds: [Value; 3]) {
        let dtype = self.form.dtype(counter);
        let [start, end, step] = bounds.map(|bound| self.text_of(bound));
        let (number, ty) = (self.number(), c_type(dtype));
        let one = [Scalar::I64(1), Scalar::U64(1)].map(|one| literal(&one.cast(dtype)));
        if one.contains(&step) {
            self.raw(format!("    for ({ty} k{number} = {start}; k{number} < {end}; k{number}++) {{"));
        } else {
            let wide = if dtype == Dtype::U64 { "ulong" } else { "long" };
            let rounds = format!("sw_rounds_{wide}({start}, {end}, {step})");
            self.raw(format!("    const ulong n{number} = {rounds};"));
            self.raw(format!("    for (ulong r{number} = 0; r{number} < n{number}; r{number}++) {{"));
            self.raw(format!(
                "    const {ty} k{number} = ({ty})((ulong)({wide}){start} + r{number} * (ulong)({wide}){step});"
            ));
        }
        // The loop's own must not be what the value is: nothing changes that.
        let token = self.named(format!("k{number}"), dtype);
        self.define(counter, token);
    }

    fn end_loop(&mut self) {
        self.raw("    }");
        // By whom this one was entered comes next, up to the call that is left.
        if let Some(Frame { left: true, .. }) = self.frames.pop() {
            let call = self.frames.iter().rev().find_map(|frame| frame.call);
            if let Some(number) = call {
                self.raw(format!("    if (left{number})\n        break;"));
            }
        }
    }

    fn barrier(&self, fence: Fence) {
        self.raw(match (fence.local, fence.global) {
            (true, false) => "    barrier(CLK_LOCAL_MEM_FENCE);",
            (false, true) => "    barrier(CLK_GLOBAL_MEM_FENCE);",
            _ => "    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
        });
    }

    /// Whether items of a group may differ in some of these values.
    fn is_apart(&self, values: &[Value]) -> bool {
        jumps::is_apart(self.kernel, values)
    }

    fn expression(&mut self, value: Value, expression: &Expression) -> Token<'w> {
        let dtype = self.form.dtype(value);
        match expression {
            Expression::Constant(scalar) => self.named(literal(scalar), dtype),
            Expression::Apply { op, operands } => {
                let tokens: Vec<Token<'w>> = operands.iter().map(|&operand| self.token(operand)).collect();
                self.apply(*op, dtype, &tokens)
            }
            Expression::Get(variable) => self.get(*variable),
            Expression::Index { level, coordinate } => {
                let text = self.coordinate(*level, *coordinate);
                self.line(dtype, &text)
            }
            Expression::Extent { object, axis } => {
                let extent = self.extent(*object, usize::from(*axis));
                self.named(extent, dtype)
            }
            Expression::Load { object, indices } => self.load(*object, indices),
            Expression::Collective { collective, operand } => self.collective(dtype, *collective, *operand),
        }
    }

    fn line(&self, dtype: Dtype, expression: &str) -> Token<'w> {
        let name = self.writer.line(c_type(dtype), expression);
        Token { writer: self.writer, name, dtype }
    }

    /// The lines of an operation, as in programs.
    fn apply(&self, op: Op, out: Dtype, operands: &[Token<'w>]) -> Token<'w> {
        // The verifier has seen that there are as many as the operation takes.
        let last = operands[operands.len() - 1];
        let padded: [Token<'w>; MAX_ARITY] =
            std::array::from_fn(|i| *operands.get(i).unwrap_or(&operands[0]));
        visitor::apply(op, (last.dtype, out), padded)
    }

    fn get(&self, variable: Variable) -> Token<'w> {
        let dtype = self.form.variables[variable.number()].dtype;
        self.line(dtype, &format!("x{}", variable.number()))
    }

    fn coordinate(&self, level: Level, coordinate: Coordinate) -> String {
        let id = |axis| match level {
            Level::Global => self.id("global", axis),
            Level::Local => self.id("local", axis),
            Level::Group => self.id("group", axis),
        };
        let range = |axis: usize| match level {
            // What the launch has, not what it was rounded up to.
            Level::Global => format!("space.e{axis}"),
            Level::Local => self.items(axis),
            Level::Group => self.size("num_groups", axis),
        };
        match coordinate {
            Coordinate::Id(axis) => id(usize::from(axis)),
            Coordinate::Range(axis) => range(usize::from(axis)),
            Coordinate::LinearId => (1..self.form.dims)
                .fold(id(0), |number, axis| format!("({number}) * {} + {}", range(axis), id(axis))),
        }
    }

    /// The function that combines two values by an operation.
    fn fold(&mut self, op: Op, dtype: Dtype) -> String {
        let (ty, name) = (c_type(dtype), format!("sw_fold_{}_{}", op.name(), dtype.name()));
        let writer = Writer::new(self.writer.target);
        let operand = |name: &str| Token { writer: &writer, name: writer.name(name.to_owned()), dtype };
        let (x, y) = (operand("x"), operand("y"));
        let result = visitor::apply(op, (dtype, dtype), [x, y, y]).text();
        let (body, helpers) = writer.finish();
        self.helpers.extend(helpers);
        let text = format!(
            "static inline {ty} {name}(const {ty} x, const {ty} y)\n{{\n{body}    return {result};\n}}\n"
        );
        // Before what calls it, by its name's first letter after the prefix.
        self.functions.insert(format!("0{name}"), text);
        name
    }

    /// An integer of any dtype as a `long`, or the nearest.
    fn long(&self, value: Value) -> String {
        let token = self.token(value);
        let text = token.text();
        match token.dtype {
            Dtype::I64 => text,
            Dtype::U64 => format!("(long)min({text}, 9223372036854775807UL)"),
            _ => format!("(long){text}"),
        }
    }

    fn object(&self, object: Object) -> (&Memory, Dtype) {
        let info = self.form.object(object);
        (&info.memory, info.dtype)
    }
}

/// Orders what an item does to memory.
const MEM_FENCE: &str = "    mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);";

/// Whether a dtype's values are compared and exchanged as integers of their bits.
const fn is_float(dtype: Dtype) -> bool {
    matches!(dtype.kind(), DtypeKind::Float)
}
