//! What a fold has seen so far: a value, or a value and its place.

use std::fmt::Write as _;

use stridewise_core::{Dtype, DtypeKind, Error, Fold, Op, Program, Result, Scalar};

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
    combine: Program,
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
}

impl Folding {
    /// How a fold combines values of a dtype.
    ///
    /// # Errors
    /// [`Error::Dtype`] where it does not.
    pub(crate) fn new(fold: Fold, value: Dtype, narrow: bool) -> Result<Self> {
        let acc = if matches!(value, Dtype::F16 | Dtype::Bf16) { Dtype::F32 } else { value };
        let op = match fold {
            Fold::Op(op) => op,
            Fold::ArgMin => Op::Minimum,
            Fold::ArgMax => Op::Maximum,
            _ => {
                return Err(Error::unsupported(
                    "fold",
                    format!("{fold:?}"),
                    "a fold that this backend knows",
                    "compute it on the host",
                ));
            }
        };
        Ok(Self { fold, value, acc, narrow, combine: Program::single(op, acc)? })
    }

    /// Adds what the text depends on.
    pub(crate) fn key(&self, key: &mut Key) {
        key.fold(self.fold);
        key.push(self.value as usize);
        key.push(usize::from(self.narrow));
    }

    /// Whether the place of a value matters.
    pub(crate) fn places(&self) -> bool {
        !matches!(self.fold, Fold::Op(_))
    }

    /// Whether the order of additions matters to the accuracy.
    pub(crate) fn rounds(&self) -> bool {
        let sum = matches!(self.fold, Fold::Op(Op::Add | Op::Logaddexp));
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
        }
    }

    /// The programs that [`declarations`](Self::declarations) calls.
    pub(crate) fn programs(&self) -> Vec<Program> {
        let mut all = vec![self.combine.clone()];
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
        if !self.places() {
            text.push_str(&emit::function("sw_fold", &self.combine, target));
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
        };
        text
    }
}
