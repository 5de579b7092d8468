//! What a fold has seen so far: a value, a value and its place, or sums about a reference.

use std::fmt::Write as _;

use stridewise_core::{
    Dtype, DtypeKind, Error, Op, Result, Scalar,
    backend::{Fold, Program},
};

use crate::emit;
use crate::kernels::text::c_type;
use crate::kernels::{Key, Target};

/// How the values of a dtype are folded.
#[derive(Clone, Debug)]
pub(crate) struct Folding {
    pub(crate) fold: Fold,
    /// Dtype of the values.
    pub(crate) value: Dtype,
    /// Dtype that they are folded in: 16-bit floats are folded as `float32` and rounded once.
    pub(crate) acc: Dtype,
    /// Places are numbers of 32 bits.
    pub(crate) narrow: bool,
    /// Combines two values, where values are all that a state has.
    combine: Option<Program>,
}

/// What a state is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A value, at first the fold's identity.
    Value,
    /// A value and whether there is one, for a fold without an identity.
    Optional,
    /// A value and its place.
    Place,
    /// Sums of the distances from a reference and of their squares.
    Deviations,
}

impl Folding {
    /// How a fold combines values of a dtype.
    ///
    /// # Errors
    /// [`Error::Dtype`] where it does not.
    pub(crate) fn new(fold: Fold, value: Dtype, narrow: bool) -> Result<Self> {
        let acc = if matches!(value, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { value };
        let combine = match fold {
            Fold::Op(op) => Some(Program::single(op, acc)?),
            // These need an order.
            Fold::ArgMin | Fold::ArgMax => Program::single(Op::Minimum, acc).map(|_| None)?,
            Fold::Deviations if acc.kind() == DtypeKind::Float => None,
            _ => {
                return Err(Error::unsupported(
                    "fold",
                    format!("{fold:?} of {value}"),
                    "a fold that this backend knows",
                    "compute it on the host",
                ));
            }
        };
        Ok(Self { fold, value, acc, narrow, combine })
    }

    /// Adds what the text depends on.
    pub(crate) fn key(&self, key: &mut Key) {
        key.fold(self.fold);
        key.push(self.value as usize);
        key.push(usize::from(self.narrow));
    }

    /// Whether the place of a value matters.
    pub(crate) fn places(&self) -> bool {
        self.fold.is_index()
    }

    /// Whether the order of additions matters to the accuracy.
    pub(crate) fn rounds(&self) -> bool {
        let sum = matches!(self.fold, Fold::Op(Op::Add | Op::Logaddexp) | Fold::Deviations);
        sum && matches!(self.acc.kind(), DtypeKind::Float | DtypeKind::Complex)
    }

    /// The value that changes no other, bit by bit: for sums of floats −0, as −0 + 0 is 0. There is none for the product of
    /// complex numbers, as infinity times 1 + 0i is not infinity.
    pub(crate) fn identity(&self) -> Option<Scalar> {
        let complex = self.acc.kind() == DtypeKind::Complex;
        let op = match self.fold {
            Fold::Op(op) => op,
            Fold::ArgMin => Op::Minimum,
            _ => Op::Maximum,
        };
        match op {
            Op::Multiply if complex => None,
            Op::Add if complex => {
                let mut bytes = [0; 16];
                let half = self.acc.size() / 2;
                bytes[half - 1] = 0x80;
                bytes[2 * half - 1] = 0x80;
                Some(Scalar::from_bytes(self.acc, &bytes))
            }
            Op::Add if self.acc.kind() == DtypeKind::Float => Some(Scalar::F64(-0.0).cast(self.acc)),
            Op::Logaddexp => Fold::Op(Op::Maximum).identity(self.acc),
            _ => Fold::Op(op).identity(self.acc),
        }
    }

    fn kind(&self) -> Kind {
        if self.places() {
            Kind::Place
        } else if self.fold == Fold::Deviations {
            Kind::Deviations
        } else if self.identity().is_some() {
            Kind::Value
        } else {
            Kind::Optional
        }
    }

    /// Bytes of a state, at most.
    pub(crate) fn state_bytes(&self) -> usize {
        match self.kind() {
            Kind::Value => self.acc.size(),
            Kind::Place if self.narrow && self.acc.size() <= 4 => 8,
            Kind::Place => 16,
            Kind::Optional => 2 * self.acc.size(),
            Kind::Deviations if self.narrow => 4 * self.acc.size(),
            Kind::Deviations => 3 * self.acc.size().next_multiple_of(8) + 8,
        }
    }

    /// The programs that [`declarations`](Self::declarations) calls.
    pub(crate) fn programs(&self) -> Vec<Program> {
        let mut all: Vec<Program> = self.combine.iter().cloned().collect();
        if self.acc != self.value {
            all.push(Program::convert(self.value, self.acc));
            all.push(Program::convert(self.acc, self.value));
        }
        all
    }

    /// The type `state`; `none()`, the state before any value; `take(state, value, place)`; `join(state, state)`, the first
    /// of which has the earlier values where the fold is no index fold; `whole(value)`, the state of one accumulator;
    /// `result(state)`, the value of the fold's result (the place, for index folds).
    pub(crate) fn declarations(&self, target: &Target) -> String {
        let acc = c_type(self.acc);
        let value = c_type(self.value);
        let place = if self.narrow { "int" } else { "long" };
        let none = self.identity().map_or_else(
            || emit::literal(&Scalar::I8(0).cast(self.acc)),
            |identity| emit::literal(&identity),
        );
        let mut text = String::new();
        let (widen, narrow) = if self.acc == self.value {
            ("", "")
        } else {
            text.push_str(&emit::function("sw_widen", &Program::convert(self.value, self.acc), target));
            text.push_str(&emit::function("sw_narrow", &Program::convert(self.acc, self.value), target));
            ("sw_widen", "sw_narrow")
        };
        if let Some(combine) = &self.combine {
            text.push_str(&emit::function("sw_fold", combine, target));
        }
        // Writing to a `String` cannot fail.
        let _ = match self.kind() {
            Kind::Value => writeln!(
                text,
                "typedef {acc} state;\n\
                 static state none(void) {{ return {none}; }}\n\
                 static state take(state s, {value} x) {{ return sw_fold(s, {widen}(x)); }}\n\
                 static state join(state a, state b) {{ return sw_fold(a, b); }}\n\
                 static {value} result(state s) {{ return {narrow}(s); }}"
            ),
            Kind::Optional => writeln!(
                text,
                "typedef struct {{ {acc} value; int present; }} state;\n\
                 static state none(void) {{ state s; s.value = {none}; s.present = 0; return s; }}\n\
                 static state take(state s, {value} x)\n{{\n    \
                     s.value = s.present ? sw_fold(s.value, {widen}(x)) : {widen}(x);\n    s.present = 1;\n    return s;\n}}\n\
                 static state join(state a, state b)\n{{\n    if (!b.present)\n        return a;\n    \
                     if (!a.present)\n        return b;\n    \
                     a.value = sw_fold(a.value, b.value);\n    return a;\n}}\n\
                 static {value} result(state s) {{ return {narrow}(s.value); }}"
            ),
            Kind::Place => {
                let worse = if self.fold == Fold::ArgMax { "<=" } else { ">=" };
                let last = if self.narrow { "INT_MAX" } else { "LONG_MAX" };
                let better = if self.acc.kind() == DtypeKind::Float {
                    // A NaN is better than anything but a NaN.
                    format!("!(x {worse} y) && y == y")
                } else {
                    format!("!(x {worse} y)")
                };
                // Where nothing is better than the value that everything is at least as good as, that is the first element.
                writeln!(
                    text,
                    "typedef struct {{ {acc} value; {place} at; }} state;\n\
                     static state none(void) {{ state s; s.value = {none}; s.at = {last}; return s; }}\n\
                     static int better({acc} x, {acc} y) {{ return {better}; }}\n\
                     static state take(state s, {value} v, {place} at)\n{{\n    \
                         const {acc} x = {widen}(v);\n    const int b = better(x, s.value);\n    \
                         s.value = b ? x : s.value;\n    s.at = b ? at : s.at;\n    return s;\n}}\n\
                     static state join(state a, state b)\n{{\n    \
                         const int second = better(b.value, a.value)\n        \
                         || (!better(a.value, b.value) && b.at < a.at);\n    \
                         a.value = second ? b.value : a.value;\n    a.at = second ? b.at : a.at;\n    return a;\n}}\n\
                     static long result(state s) {{ return s.at == {last} ? 0L : (long)s.at; }}"
                )
            }
            // As `Fold::Deviations` says; the reference of a state is the first value that it has taken, and the rounded
            // mean of what it has where two are joined.
            Kind::Deviations => writeln!(
                text,
                "typedef struct {{ {acc} at; {acc} sum; {acc} squares; {place} n; }} state;\n\
                 static state none(void)\n{{\n    state s;\n    s.at = s.sum = s.squares = 0;\n    s.n = 0;\n    \
                     return s;\n}}\n\
                 static state take(state s, {value} v)\n{{\n    \
                     const {acc} x = {widen}(v);\n    s.at = s.n ? s.at : x;\n    const {acc} d = x - s.at;\n    \
                     s.sum += d;\n    s.squares += d * d;\n    s.n += 1;\n    return s;\n}}\n\
                 static {acc} about_mean(state s, {acc} offset)\n{{\n    \
                     const {acc} blame = s.sum * offset;\n    \
                     const {acc} rest = s.squares - (isfinite(blame) ? blame : s.sum - s.sum);\n    \
                     return rest < 0 ? 0 : rest;\n}}\n\
                 static state join(state a, state b)\n{{\n    \
                     if (b.n == 0)\n        return a;\n    if (a.n == 0)\n        return b;\n    \
                     const {acc} first = ({acc})a.n, second = ({acc})b.n, all = ({acc})(a.n + b.n);\n    \
                     const {acc} s = a.sum / first, t = b.sum / second, share = second / all;\n    \
                     const {acc} d = (b.at - a.at) + (t - s);\n    \
                     const {acc} squares = about_mean(a, s) + about_mean(b, t) + d * (d * (first * share));\n    \
                     const {acc} offset = s + d * share;\n    const {acc} at = a.at + offset;\n    \
                     const {acc} rest = offset - (at - a.at);\n    \
                     a.at = at;\n    a.sum = all * rest;\n    a.squares = squares + a.sum * rest;\n    a.n += b.n;\n    \
                     return a;\n}}\n\
                 static {value} result(state s)\n{{\n    \
                     return {narrow}(s.n ? about_mean(s, s.sum / ({acc})s.n) : 0);\n}}"
            ),
        };
        text
    }
}
