//! Special values: what the array API standard, IEEE 754-2019 and C23 say of single operands, row by row.
//!
//! The tables in `special/` hold one row per statement: `divide(+inf, finite<0) = -inf`. A row stands for every combination
//! of the values of its operands' classes. Each combination is computed in every lane of a vector, among other special ones
//! and with one operand repeated; the first combination of each row also in every lane of a vector of ordinary numbers,
//! whose results it must leave alone, at every position of every length up to 65, and alone in the rest after the last
//! whole vector. A test reports all rows that fail.
//!
//! Unlike the other suites, this one has no oracle: the tables are checked against no code of this project.

mod arithmetic;
mod classes;
mod comparisons;
mod complex;
mod conversions;
mod elementary;
mod integers;
mod rows;
mod wanted;

use std::collections::BTreeMap;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use stridewise::{
    ArrayOrScalar, Device, Dtype, DtypeKind, Op, Queue, Scalar, SliceItem, UsmArray, elementwise,
};

use crate::cell::{Case, Check, need, short, wrong};
use crate::forms::{Form, place, read};
use crate::values::error_in_ulp;
use classes::Number;
use rows::{Instance, Row, instances, operand_dtype, result_dtype, rows};

/// The longest of the short vectors: four of 16 lanes, and one element.
const LONGEST: usize = 4 * 16 + 1;

pub(crate) fn cases() -> Vec<Case> {
    // A line that is no row is a failure of `trials`, and of every case.
    let table = Arc::new(rows());
    let mut cases = Vec::new();
    let mut add = |name: &str, op: Op, dtype: Dtype, to: Option<Dtype>| {
        let table = table.clone();
        cases.push(Case::new(format!("special::{name}/{}", short(dtype)), move |device| match &*table {
            Ok(rows) => run(device, rows, op, dtype, to),
            Err(line) => wrong!("{line}"),
        }));
    };
    for &op in Op::ALL.iter().filter(|&&op| op != Op::Cast) {
        for &dtype in Dtype::ALL.iter().filter(|&&dtype| op.allows(dtype) && has_rows(op, dtype)) {
            add(op.name(), op, dtype, None);
        }
    }
    for &from in Dtype::ALL {
        for &to in Dtype::ALL {
            add(&format!("astype_to_{}", short(to)), Op::Cast, from, Some(to));
        }
    }
    cases
}

/// The tables' own tests.
pub(crate) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("special::every_operation_has_rows", || {
            let rows = rows()?;
            for &op in Op::ALL.iter().filter(|&&op| op != Op::Cast) {
                for &dtype in Dtype::ALL.iter().filter(|&&dtype| op.allows(dtype)) {
                    if instances(&rows, op, dtype, None)?.is_empty() == has_rows(op, dtype) {
                        return Err(Failed::from(format!("{}/{}", op.name(), short(dtype))));
                    }
                }
            }
            for (&from, &to) in Dtype::ALL.iter().flat_map(|from| Dtype::ALL.iter().map(move |to| (from, to)))
            {
                if instances(&rows, Op::Cast, from, Some(to))?.is_empty() {
                    return Err(Failed::from(format!("{} to {}", short(from), short(to))));
                }
            }
            Ok(())
        }),
        Trial::test("special::rows_refuse_other_results", || {
            let wanted = |text: &str| wanted::read(text, Dtype::F32, &[Number::Real(-2.0)]);
            let admits = |text: &str, v: f32| wanted(text).is_some_and(|w| w.admits(Scalar::F32(v)));
            let holds = [
                admits("+0", 0.0) && !admits("+0", -0.0) && admits("±0", -0.0) && !admits("±0", 1e-45),
                admits("nan", -f32::NAN) && !admits("+nan", -f32::NAN) && !admits("nan", 0.0),
                admits("+", 0.0) && !admits("+", -0.0) && !admits("+", f32::NAN) && !admits("-", 1.0),
                admits("π/2", 1.570_796_4) && !admits("π/2", 1.570_796_7) && !admits("-π/2", 1.570_796_4),
                admits("-|x1|", -2.0) && !admits("|x1|", -2.0) && admits("x1", -2.0) && !admits("-x1", -2.0),
                admits("+inf or nan", f32::NAN) && !admits("+inf or nan", f32::NEG_INFINITY),
                wanted("no such notation").is_none(),
            ];
            match holds.iter().position(|holds| !holds) {
                None => Ok(()),
                Some(number) => Err(Failed::from(format!("group {number}"))),
            }
        }),
    ]
}

/// Whether any statement is made about an operation and a dtype.
fn has_rows(op: Op, dtype: Dtype) -> bool {
    // Of complex numbers, the standard has no such function; of a random function, every value is special.
    !(op == Op::Exp2 && dtype.kind() == DtypeKind::Complex) && op != Op::Philox
}

/// What fails, by row: how many results, and the first of them.
#[derive(Default)]
struct Failures(BTreeMap<&'static str, (usize, String)>);

impl Failures {
    fn add(&mut self, row: &'static str, text: impl FnOnce() -> String) {
        let entry = self.0.entry(row).or_insert_with(|| (0, text()));
        entry.0 += 1;
    }
}

/// An operation on operands of a dtype, on a device.
struct Bench<'a> {
    queue: Queue,
    op: Op,
    dtype: Dtype,
    to: Option<Dtype>,
    instances: &'a [Instance],
    /// Lanes that a vector has at most.
    lanes: usize,
    /// Ordinary operands, and the result of them alone.
    ordinary: Vec<Vec<Scalar>>,
    plain: Vec<Scalar>,
}

/// An element of a column: an instance, by its number, or an ordinary element.
type Slot = Option<usize>;

fn run(device: &Device, rows: &[Row], op: Op, dtype: Dtype, to: Option<Dtype>) -> Check {
    need(device, dtype)?;
    need(device, result_dtype(op, dtype, to))?;
    let instances = match instances(rows, op, dtype, to) {
        Ok(list) => list,
        Err(text) => wrong!("{text}"),
    };
    let smallest = dtype.size().min(result_dtype(op, dtype, to).size());
    let lanes = (device.info().limits.vector_bytes / smallest).clamp(1, 64).next_power_of_two();
    let mut bench = Bench {
        queue: device.queue()?,
        op,
        dtype,
        to,
        instances: &instances,
        lanes,
        ordinary: ordinary(op, dtype),
        plain: Vec::new(),
    };
    bench.plain = bench.alone()?;
    let mut failures = Failures::default();
    bench.among_others(&mut failures)?;
    bench.among_ordinary(&mut failures)?;
    bench.lengths(&mut failures)?;
    bench.repeated(&mut failures)?;
    if failures.0.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = failures
        .0
        .iter()
        .map(|(row, (count, first))| format!("  {row}\n      {count} results; the first: {first}"))
        .collect();
    wrong!("{} rows fail of {} {}\n{}", failures.0.len(), op.name(), dtype, lines.join("\n"))
}

/// Ordinary operands: small numbers, in the domain of the operation; one list per operand.
fn ordinary(op: Op, dtype: Dtype) -> Vec<Vec<Scalar>> {
    let start = if op == Op::Acosh { 1.0 } else { 0.0 };
    let number = |position: usize, i: usize| match operand_dtype(op, dtype, position).kind() {
        DtypeKind::Bool => Number::Bool((i + position).is_multiple_of(2)),
        DtypeKind::Signed | DtypeKind::Unsigned => Number::Int((1 + (i + 2 * position) % 5) as i128),
        DtypeKind::Float => Number::Real(start + [0.75, 0.5, 0.875, 0.625, 0.25][(i + 2 * position) % 5]),
        DtypeKind::Complex => Number::Complex(0.75 - 0.125 * position as f64, [0.5, -0.25, 0.375][i % 3]),
    };
    (0..op.arity())
        .map(|p| (0..5).map(|i| number(p, i).scalar(operand_dtype(op, dtype, p))).collect())
        .collect()
}

impl Bench<'_> {
    /// Values of an operand in a column.
    fn values(&self, column: &[Slot], position: usize) -> Vec<Scalar> {
        let list = &self.ordinary[position];
        let value = |(i, slot): (usize, &Slot)| match slot {
            Some(number) => self.instances[*number].operands[position],
            None => list[i % list.len()],
        };
        column.iter().enumerate().map(value).collect()
    }

    fn array(&self, values: &[Scalar], shape: &[usize], position: usize) -> Check<UsmArray> {
        let dtype = operand_dtype(self.op, self.dtype, position);
        place(&self.queue, shape, dtype, values, Form::C).map(|(array, _)| array)
    }

    fn arrays(&self, column: &[Slot]) -> Check<Vec<UsmArray>> {
        let operand = |p| self.array(&self.values(column, p), &[column.len()], p);
        (0..self.op.arity()).map(operand).collect()
    }

    fn apply(&self, operands: &[ArrayOrScalar<'_>]) -> Check<Vec<Scalar>> {
        let result = match (self.to, operands) {
            (Some(to), [ArrayOrScalar::Array(array)]) => array.astype(to)?,
            _ => elementwise(self.op, operands)?,
        };
        let out = result_dtype(self.op, self.dtype, self.to);
        if result.dtype() != out {
            wrong!("{} of {}: the result is {}, expected {out}", self.op.name(), self.dtype, result.dtype());
        }
        read(&result)
    }

    /// Results of ordinary operands without any special one.
    fn alone(&self) -> Check<Vec<Scalar>> {
        let arrays = self.arrays(&[None; 5])?;
        self.apply(&arrays.iter().map(Into::into).collect::<Vec<_>>())
    }

    /// Checks the result of a column, whose first element lies at `start` of the ordinary ones.
    fn check(
        &self,
        failures: &mut Failures,
        column: &[Slot],
        start: usize,
        got: &[Scalar],
        form: &dyn Fn() -> String,
    ) -> Check {
        if got.len() != column.len() {
            wrong!("{}: {} results of {} elements", form(), got.len(), column.len());
        }
        let units = self.queue.device().error_bound(self.op, self.dtype).unwrap_or(0.0);
        for (i, (&got, slot)) in got.iter().zip(column).enumerate() {
            match slot {
                Some(number) => {
                    let Instance { row, operands, wanted, .. } = &self.instances[*number];
                    if !wanted.admits_within(got, units) {
                        let place =
                            || format!("{operands:?} gives {got:?}, not {wanted}; {}, element {i}", form());
                        failures.add(row, place);
                    }
                }
                None => {
                    let plain = self.plain[(start + i) % self.plain.len()];
                    if !near(got, plain) {
                        failures.add("(an ordinary element among special ones)", || {
                            format!("{got:?}, by itself {plain:?}; {}, element {i}", form())
                        });
                    }
                }
            }
        }
        Ok(())
    }

    /// Every instance in every lane, one beside the other.
    fn among_others(&self, failures: &mut Failures) -> Check {
        // The number of elements between two times of an instance is odd, so it comes to each lane once.
        let mut turn: Vec<Slot> = (0..self.instances.len()).map(Some).collect();
        if turn.len().is_multiple_of(2) {
            turn.push(None);
        }
        let column = turn.repeat(self.lanes);
        let arrays = self.arrays(&column)?;
        let got = self.apply(&arrays.iter().map(Into::into).collect::<Vec<_>>())?;
        self.check(failures, &column, 0, &got, &|| format!("length {}", column.len()))
    }

    /// The numbers of the instances that stand for their rows.
    fn firsts(&self) -> Vec<usize> {
        (0..self.instances.len()).filter(|&number| self.instances[number].first).collect()
    }

    /// One instance of each row in every lane, ordinary elements in the others.
    fn among_ordinary(&self, failures: &mut Failures) -> Check {
        let firsts = self.firsts();
        let mut column = vec![None; firsts.len() * self.lanes * self.lanes];
        for lane in 0..self.lanes {
            for (number, &instance) in firsts.iter().enumerate() {
                column[(lane * firsts.len() + number) * self.lanes + lane] = Some(instance);
            }
        }
        let arrays = self.arrays(&column)?;
        let got = self.apply(&arrays.iter().map(Into::into).collect::<Vec<_>>())?;
        self.check(failures, &column, 0, &got, &|| "alone in its vector".to_owned())
    }

    /// One instance of each row at every position of every short length; and last, alone, in what is left of a vector.
    fn lengths(&self, failures: &mut Failures) -> Check {
        let firsts = self.firsts();
        let column: Vec<Slot> =
            firsts.iter().copied().cycle().take(firsts.len() + LONGEST).map(Some).collect();
        let arrays = self.arrays(&column)?;
        for len in 0..=LONGEST {
            for start in 0..firsts.len() {
                self.window(failures, &arrays, &column, start, len)?;
            }
        }
        let step = 2 * self.lanes;
        let mut column = vec![None; firsts.len() * step];
        for (number, &instance) in firsts.iter().enumerate() {
            column[number * step + step - 1] = Some(instance);
        }
        let arrays = self.arrays(&column)?;
        for end in (step..=column.len()).step_by(step) {
            for len in self.lanes + 1..step {
                self.window(failures, &arrays, &column, end - len, len)?;
            }
        }
        Ok(())
    }

    /// A part of a column, computed by itself.
    fn window(
        &self,
        failures: &mut Failures,
        arrays: &[UsmArray],
        column: &[Slot],
        start: usize,
        len: usize,
    ) -> Check {
        let item =
            || SliceItem::Slice { start: Some(start as isize), stop: Some((start + len) as isize), step: 1 };
        let views = arrays.iter().map(|array| array.slice(&[item()])).collect::<Result<Vec<_>, _>>()?;
        let got = self.apply(&views.iter().map(Into::into).collect::<Vec<_>>())?;
        self.check(failures, &column[start..start + len], start, &got, &|| format!("length {len}"))
    }

    /// Every instance in every lane, with one operand repeated: as an array without dimensions, and as a scalar.
    fn repeated(&self, failures: &mut Failures) -> Check {
        if self.op.arity() == 1 {
            return Ok(());
        }
        for position in 0..self.op.arity() {
            let mut groups: BTreeMap<[u8; 16], Vec<Slot>> = BTreeMap::new();
            for (number, instance) in self.instances.iter().enumerate() {
                groups.entry(instance.operands[position].to_bytes()).or_default().push(Some(number));
            }
            for mut turn in groups.into_values() {
                let Some(&Some(first)) = turn.first() else { continue };
                let value = self.instances[first].operands[position];
                if turn.len().is_multiple_of(2) {
                    turn.push(Some(first));
                }
                let column = turn.repeat(self.lanes);
                let point = self.array(&[value], &[], position)?;
                let arrays = self.arrays(&column)?;
                let forms = [ArrayOrScalar::Array(&point), ArrayOrScalar::Scalar(value)];
                for (form, repeated) in forms.into_iter().enumerate() {
                    let mut operands: Vec<ArrayOrScalar<'_>> = arrays.iter().map(Into::into).collect();
                    operands[position] = repeated;
                    let got = self.apply(&operands)?;
                    self.check(failures, &column, 0, &got, &|| {
                        format!("operand {} repeated, {}", position + 1, ["an array", "a scalar"][form])
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a result beside special values is what it is by itself: the same, but for the rounding of another formula.
fn near(got: Scalar, plain: Scalar) -> bool {
    let (a, b) = (Number::of(got), Number::of(plain));
    match (a, b) {
        (Number::Real(_), Number::Real(v)) => error_in_ulp(got, v) <= 2.0,
        (Number::Complex(..), Number::Complex(re, im)) => {
            let part = |v: f64, wanted: f64| {
                let unit = 4.0 * crate::values::ulp(got.dtype(), re.abs().max(im.abs()));
                (v - wanted).abs() <= unit || (v.is_nan() && wanted.is_nan())
            };
            part(a.re(), re) && part(a.im(), im)
        }
        _ => a == b,
    }
}
