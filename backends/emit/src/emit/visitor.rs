//! The steps of a program as lines.

use stridewise_core::ops::{
    AnalyticOp, BitsOp, FieldOp, FloatOp, FloatTest, IntOp, MAX_ARITY, NumFn, NumOp, NumTest, Op, PartOp,
    RealFn, RealOp, RealTest, Visitor,
};
use stridewise_core::{
    Dtype,
    backend::{Arg, Program},
};

use super::library::Helper;
use super::token::{Mask, Token};
use super::writer::Writer;
use crate::kernels::text::c_type;

/// The lines of a program whose inputs and constants are parameters; returns the text of each output.
pub(super) fn body(writer: &Writer<'_>, program: &Program) -> Vec<String> {
    let parameter = |name: String, dtype: Dtype| Token { writer, name: writer.name(name), dtype };
    let inputs: Vec<Token<'_>> =
        program.inputs().iter().enumerate().map(|(i, &dtype)| parameter(format!("x{i}"), dtype)).collect();
    let constants: Vec<Token<'_>> =
        program.consts().iter().enumerate().map(|(i, v)| parameter(format!("c{i}"), v.dtype())).collect();
    let mut steps: Vec<Token<'_>> = Vec::with_capacity(program.steps().len());
    // Programs have what their steps name.
    let value = |arg: Arg, steps: &[Token<'_>]| match arg {
        Arg::Input(i) => inputs[usize::from(i)].text(),
        Arg::Const(i) => constants[usize::from(i)].text(),
        Arg::Step(i) => steps[usize::from(i)].text(),
    };
    for step in program.steps() {
        let mut operands: [Option<Token<'_>>; MAX_ARITY] = [None; MAX_ARITY];
        for (operand, &arg) in operands.iter_mut().zip(step.operands()) {
            *operand = Some(parameter(value(arg, &steps), program.arg_dtype(arg)));
        }
        // Every operation has an operand.
        let Some(first) = operands[0] else { continue };
        let operands = operands.map(|operand| operand.unwrap_or(first));
        steps.push(apply(step.op, (step.dtype, step.out), operands));
    }
    program.outputs().iter().map(|&output| value(output, &steps)).collect()
}

/// The lines of one operation on operands of a dtype, for a result of another.
pub(super) fn apply<'w>(op: Op, (dtype, out): (Dtype, Dtype), operands: [Token<'w>; MAX_ARITY]) -> Token<'w> {
    let [x, y, z] = operands;
    let sixteen = matches!(dtype, Dtype::F16 | Dtype::Bf16);
    match op {
        Op::Cast => x.cast(out),
        Op::Nextafter if sixteen => neighbour(x, y),
        // Written out, it would be a page of wide products.
        Op::Philox => x.helper(Helper::Philox, &[y, z]),
        Op::Copy | Op::Where => op.visit(Lines { operands }),
        op if sixteen => {
            let double = !plain(op) && x.writer.target.fp64;
            let wide = operands.map(|operand| {
                let float = operand.widened();
                if double { float.cast(Dtype::F64) } else { float }
            });
            let result = op.visit(Lines { operands: wide });
            if result.dtype == out { result } else { result.narrowed(out) }
        }
        op => op.visit(Lines { operands }),
    }
}

/// Whether an operation on 16-bit floats, computed in `float` and rounded, is as good as rounded once: those that are
/// exact, or whose result has more than twice the digits.
fn plain(op: Op) -> bool {
    use stridewise_core::ops::OpClass;
    match op.class() {
        OpClass::float | OpClass::analytic => matches!(op, Op::Sqrt | Op::Copysign),
        OpClass::num_fn => false,
        // Quotients may have any number of digits.
        _ => op != Op::FloorDivide,
    }
}

/// The neighbour of a 16-bit float in its own format.
fn neighbour<'w>(from: Token<'w>, to: Token<'w>) -> Token<'w> {
    let function = from.writer.helper(Helper::Neighbour, Dtype::U16);
    let call = format!(
        "{function}({}, {}, {}, {})",
        from.widened().text(),
        from.text(),
        to.widened().text(),
        to.text()
    );
    from.line(from.dtype, &call)
}

struct Lines<'w> {
    operands: [Token<'w>; MAX_ARITY],
}

impl<'w> Lines<'w> {
    /// The first operands.
    fn first<const K: usize>(&self) -> [Token<'w>; K] {
        // No operation has more operands than there are.
        std::array::from_fn(|i| self.operands[i.min(MAX_ARITY - 1)])
    }
}

/// A truth value as an element.
fn truth(mask: Mask<'_>) -> Token<'_> {
    let text = mask.writer.text(mask.name);
    let name = mask.writer.line(c_type(Dtype::Bool), &text);
    Token { writer: mask.writer, name, dtype: Dtype::Bool }
}

macro_rules! classes {
    ($($class:ident $Trait:ident $wrap:expr;)*) => {$(
        fn $class<O: $Trait<K>, const K: usize>(self) -> Token<'w> {
            $wrap(O::f(self.first()))
        }
    )*};
}

impl<'w> Visitor for Lines<'w> {
    type Out = Token<'w>;

    classes! {
        num NumOp std::convert::identity;
        num_fn NumFn std::convert::identity;
        num_test NumTest truth;
        field FieldOp std::convert::identity;
        part PartOp std::convert::identity;
        analytic AnalyticOp std::convert::identity;
        real RealOp std::convert::identity;
        real_fn RealFn std::convert::identity;
        real_test RealTest truth;
        float FloatOp std::convert::identity;
        float_test FloatTest truth;
        bits BitsOp std::convert::identity;
        int IntOp std::convert::identity;
    }

    fn cast(self) -> Token<'w> {
        // Its target is the step's.
        self.operands[0]
    }
    fn copy(self) -> Token<'w> {
        self.operands[0]
    }
    fn select(self) -> Token<'w> {
        let [condition, yes, no] = self.operands;
        yes.line(yes.dtype, &format!("{} ? {} : {}", condition.text(), yes.text(), no.text()))
    }
}
