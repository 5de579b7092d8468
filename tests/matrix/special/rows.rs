//! The rows of the tables, and the operands that a row stands for.

use stridewise::{Dtype, DtypeKind, Op, Scalar};

use super::classes::{Number, members};
use super::wanted::{Wanted, read};
use super::{arithmetic, comparisons, complex, conversions, elementary, integers};

/// One line of a table: `operation(operands) = result`.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) op: Op,
    /// Dtypes of the operands, and of the result of a conversion, as the heading above the row names them.
    from: &'static str,
    to: &'static str,
    operands: Vec<&'static str>,
    wanted: &'static str,
    /// The line.
    pub(super) text: &'static str,
}

/// Operands that a row stands for, and what it wants of them.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// The row's line.
    pub(super) row: &'static str,
    pub(super) operands: Vec<Scalar>,
    pub(super) wanted: Wanted,
    /// Whether this instance stands for its row where one must do.
    pub(super) first: bool,
}

/// Every row, or the first line that is none.
pub(super) fn rows() -> Result<Vec<Row>, String> {
    let tables = [
        arithmetic::TABLE,
        elementary::TABLE,
        comparisons::TABLE,
        integers::TABLE,
        conversions::TABLE,
        complex::TABLE,
    ];
    let mut rows = Vec::new();
    let (mut from, mut to) = ("", "");
    for line in tables.iter().flat_map(|table| table.lines()).map(str::trim) {
        if let Some(heading) = line.strip_prefix("# ") {
            (from, to) = heading.split_once(" to ").unwrap_or((heading, ""));
        } else if !line.is_empty() {
            rows.push(row(from, to, line).ok_or_else(|| format!("not a row: {line}"))?);
        }
    }
    Ok(rows)
}

fn row(from: &'static str, to: &'static str, text: &'static str) -> Option<Row> {
    let (call, wanted) = text.split_once(") = ")?;
    let (name, operands) = call.split_once('(')?;
    let op = *Op::ALL.iter().find(|op| op.name() == name)?;
    let operands: Vec<&str> = operands.split(", ").collect();
    (operands.len() == op.arity()).then_some(Row { op, from, to, operands, wanted, text })
}

/// Whether a heading's word names a dtype: by its kind, or itself.
fn names(word: &str, dtype: Dtype) -> bool {
    match word {
        "float" => dtype.kind() == DtypeKind::Float,
        "complex" => dtype.kind() == DtypeKind::Complex,
        "signed" => dtype.kind() == DtypeKind::Signed,
        "unsigned" => dtype.kind() == DtypeKind::Unsigned,
        "integer" => dtype.kind().is_integer(),
        "bool" => dtype == Dtype::Bool,
        "any" => true,
        other => other.split(' ').any(|name| name == crate::cell::short(dtype)),
    }
}

/// Dtype of an operand.
pub(super) fn operand_dtype(op: Op, dtype: Dtype, position: usize) -> Dtype {
    if op == Op::Where && position == 0 { Dtype::Bool } else { dtype }
}

/// Dtype of the result.
pub(super) fn result_dtype(op: Op, dtype: Dtype, to: Option<Dtype>) -> Dtype {
    to.unwrap_or(op.result(dtype))
}

impl Row {
    fn is_of(&self, op: Op, dtype: Dtype, to: Option<Dtype>) -> bool {
        self.op == op && names(self.from, dtype) && to.is_none_or(|to| names(self.to, to))
    }

    /// Every combination of the members of the row's classes.
    fn instances(&self, dtype: Dtype, to: Option<Dtype>) -> Result<Vec<Instance>, String> {
        let out = result_dtype(self.op, dtype, to);
        let mut combinations: Vec<Vec<Number>> = vec![Vec::new()];
        for (position, &class) in self.operands.iter().enumerate() {
            let mut longer = Vec::new();
            for operands in combinations {
                let list = match (class, operands.first()) {
                    ("x1", Some(&first)) => vec![first],
                    ("-x1", Some(first)) => vec![first.negated()],
                    _ => members(operand_dtype(self.op, dtype, position), class)
                        .ok_or_else(|| format!("{dtype} has no class `{class}`: {}", self.text))?,
                };
                longer.extend(list.into_iter().map(|value| [&operands[..], &[value]].concat()));
            }
            combinations = longer;
        }
        let number = |(number, operands): (usize, Vec<Number>)| {
            let wanted = read(self.wanted, out, &operands)
                .ok_or_else(|| format!("no result of {out} for {operands:?}: {}", self.text))?;
            let scalar = |(i, v): (usize, &Number)| v.scalar(operand_dtype(self.op, dtype, i));
            let operands = operands.iter().enumerate().map(scalar).collect();
            Ok(Instance { row: self.text, operands, wanted, first: number == 0 })
        };
        combinations.into_iter().enumerate().map(number).collect()
    }
}

/// Every instance of an operation's rows for operands of a dtype, and those that follow from rows by the standard's
/// identities.
pub(super) fn instances(
    rows: &[Row],
    op: Op,
    dtype: Dtype,
    to: Option<Dtype>,
) -> Result<Vec<Instance>, String> {
    let mut list = Vec::new();
    for row in rows.iter().filter(|row| row.is_of(op, dtype, to)) {
        list.extend(row.instances(dtype, to)?);
    }
    match dtype.kind() {
        DtypeKind::Float => list.extend(derived(rows, op, dtype)?),
        DtypeKind::Complex => {
            list.extend(componentwise(rows, op, dtype)?);
            list.extend(rotated(rows, op, dtype)?);
            mirror(op, &mut list);
        }
        _ => {}
    }
    Ok(list)
}

/// What holds of real numbers by the definition through another operation: `x − y` is `x + (−y)`, the square is `x·x`, the
/// reciprocal is `1/x`.
fn derived(rows: &[Row], op: Op, dtype: Dtype) -> Result<Vec<Instance>, String> {
    let bits = |v: Scalar| v.to_bytes();
    let source = match op {
        Op::Subtract => Op::Add,
        Op::Square => Op::Multiply,
        Op::Reciprocal => Op::Divide,
        _ => return Ok(Vec::new()),
    };
    let mut list = instances(rows, source, dtype, None)?;
    match op {
        Op::Subtract => {
            for instance in &mut list {
                instance.operands[1] = Number::of(instance.operands[1]).negated().scalar(dtype);
            }
        }
        Op::Square => {
            list.retain(|instance| bits(instance.operands[0]) == bits(instance.operands[1]));
            list.iter_mut().for_each(|instance| instance.operands.truncate(1));
        }
        _ => {
            let one = Number::Real(1.0).scalar(dtype);
            list.retain(|instance| bits(instance.operands[0]) == bits(one));
            list.iter_mut().for_each(|instance| instance.operands = instance.operands.split_off(1));
        }
    }
    // What is left of a row may lack its first instance.
    for i in 0..list.len() {
        list[i].first |= i == 0 || list[i - 1].row != list[i].row;
    }
    Ok(list)
}

/// Operations on complex numbers that work on the parts alone have the rows of real numbers in each.
fn componentwise(rows: &[Row], op: Op, dtype: Dtype) -> Result<Vec<Instance>, String> {
    if !matches!(op, Op::Add | Op::Subtract | Op::Negative | Op::Copy | Op::Round) {
        return Ok(Vec::new());
    }
    let mut parts = instances(rows, op, dtype.real_part(), None)?;
    parts.retain(|instance| instance.first);
    let mut list = Vec::new();
    for (i, re) in parts.iter().enumerate() {
        for (j, im) in parts.iter().enumerate() {
            let complex = |(&a, &b): (&Scalar, &Scalar)| {
                Number::Complex(Number::of(a).re(), Number::of(b).re()).scalar(dtype)
            };
            list.push(Instance {
                row: re.row,
                operands: re.operands.iter().zip(&im.operands).map(complex).collect(),
                wanted: Wanted::Parts(Box::new(re.wanted.clone()), Box::new(im.wanted.clone())),
                first: j == (i * 7 + 3) % parts.len(),
            });
        }
    }
    Ok(list)
}

/// Trigonometric functions of complex numbers have the rows of the hyperbolic ones, at `jz`, and logarithms to other bases
/// those of the natural one.
fn rotated(rows: &[Row], op: Op, dtype: Dtype) -> Result<Vec<Instance>, String> {
    let (source, base) = match op {
        Op::Asin => (Op::Asinh, 1.0),
        Op::Atan => (Op::Atanh, 1.0),
        Op::Sin => (Op::Sinh, 1.0),
        Op::Tan => (Op::Tanh, 1.0),
        Op::Cos => (Op::Cosh, 1.0),
        Op::Log2 => (Op::Log, std::f64::consts::LN_2),
        Op::Log10 => (Op::Log, std::f64::consts::LN_10),
        _ => return Ok(Vec::new()),
    };
    let mut list = instances(rows, source, dtype, None)?;
    for instance in &mut list {
        let argument = Number::of(instance.operands[0]);
        if source == Op::Log {
            instance.wanted = instance.wanted.divided(base);
            continue;
        }
        // z with jz = argument.
        instance.operands[0] = Number::Complex(argument.im(), -argument.re()).scalar(dtype);
        if let (true, Wanted::Parts(re, im)) = (op != Op::Cos, instance.wanted.clone()) {
            instance.wanted = Wanted::Parts(im, Box::new(re.negated()));
        }
    }
    Ok(list)
}

/// Adds what follows by symmetry: the functions map the conjugate to the conjugate, some are odd or even.
fn mirror(op: Op, list: &mut Vec<Instance>) {
    use Op::{Acos, Acosh, Asinh, Atanh, Cosh, Exp, Expm1, Log, Log1p, Sinh, Sqrt, Tanh};
    let odd = matches!(op, Asinh | Atanh | Sinh | Tanh);
    let symmetric = matches!(op, Acos | Acosh | Exp | Expm1 | Log | Log1p | Sqrt) || op == Cosh || odd;
    if !symmetric {
        return;
    }
    let conjugate = |instance: &Instance| {
        let (value, dtype) = (Number::of(instance.operands[0]), instance.operands[0].dtype());
        let wanted = match &instance.wanted {
            Wanted::Parts(re, im) => Wanted::Parts(re.clone(), Box::new(im.negated())),
            other => other.clone(),
        };
        let operands = vec![Number::Complex(value.re(), -value.im()).scalar(dtype)];
        Instance { row: instance.row, operands, wanted, first: false }
    };
    list.extend(list.iter().map(conjugate).collect::<Vec<_>>());
    if odd || op == Cosh {
        let negative = |instance: &Instance| Instance {
            row: instance.row,
            operands: vec![Number::of(instance.operands[0]).negated().scalar(instance.operands[0].dtype())],
            wanted: if odd { instance.wanted.negated() } else { instance.wanted.clone() },
            first: false,
        };
        list.extend(list.iter().map(negative).collect::<Vec<_>>());
    }
}
