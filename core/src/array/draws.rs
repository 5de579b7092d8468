//! Kernels that draw random numbers by rejection: an item takes words from the streams of its own place until a number is
//! taken.

use std::cell::RefCell;

use super::random::scale;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::form::{Coordinate, Kernel, KernelBuilder, Level, Object, Operand, Value, Variable};
use crate::ops::Op;
use crate::scalar::Scalar;

/// Attempts that an item has at most, each of which succeeds with a probability above 0.6; of counts that are drawn one by one,
/// more than there ever are.
const ATTEMPTS: i64 = 1000;
/// From which mean on counts are drawn by rejection, and below which one by one.
const LARGE: f64 = 10.0;
/// From which number on Stirling's series is as good as `float64`.
const TABLE: usize = 10;

/// A kernel whose items draw numbers: methods that can be nested, as the builder's cannot.
struct Draws {
    k: RefCell<KernelBuilder>,
    float: Dtype,
    i: Value,
    parameters: Vec<Object>,
    numbers: Object,
    place: Value,
    seed: Value,
    stream: Variable,
}

impl Draws {
    fn new(name: &str, float: Dtype, parameters: &[&str], out: Dtype) -> Result<Self> {
        let mut k = KernelBuilder::new(name, 1)?;
        let parameters = parameters.iter().map(|name| k.global(name, float, 1, false));
        let parameters = parameters.collect::<Result<Vec<_>>>()?;
        let numbers = k.global("numbers", out, 1, true)?;
        let (first, seed) = (k.scalar("first", Dtype::U64)?, k.scalar("seed", Dtype::U64)?);
        let stream = k.variable("stream", Dtype::U64)?;
        let i = k.index(Level::Global, Coordinate::Id(0))?;
        let own = k.cast(i, Dtype::U64)?;
        let place = k.binary(Op::Add, own, first)?;
        k.set(stream, Scalar::U64(0))?;
        Ok(Self { k: RefCell::new(k), float, i, parameters, numbers, place, seed, stream })
    }

    fn parameter(&self, number: usize) -> Result<Value> {
        self.k.borrow_mut().load(self.parameters[number], [self.i])
    }
    fn variable(&self, name: &str, value: impl Into<Operand>) -> Result<Variable> {
        let mut k = self.k.borrow_mut();
        let variable = k.variable(name, self.float)?;
        k.set(variable, value)?;
        Ok(variable)
    }
    fn set(&self, variable: Variable, value: impl Into<Operand>) -> Result<()> {
        self.k.borrow_mut().set(variable, value)
    }
    fn of(&self, op: Op, x: impl Into<Operand>) -> Result<Value> {
        self.k.borrow_mut().unary(op, x)
    }
    fn two(&self, op: Op, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Value> {
        self.k.borrow_mut().binary(op, x, y)
    }
    fn add(&self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Value> {
        self.two(Op::Add, x, y)
    }
    fn sub(&self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Value> {
        self.two(Op::Subtract, x, y)
    }
    fn mul(&self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Value> {
        self.two(Op::Multiply, x, y)
    }
    fn div(&self, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<Value> {
        self.two(Op::Divide, x, y)
    }
    fn select(&self, condition: Value, yes: impl Into<Operand>, no: impl Into<Operand>) -> Result<Value> {
        self.k.borrow_mut().apply(Op::Where, &[condition.into(), yes.into(), no.into()])
    }
    fn if_(&self, op: Op, x: impl Into<Operand>, y: impl Into<Operand>) -> Result<()> {
        let condition = self.two(op, x, y)?;
        self.k.borrow_mut().if_(condition)
    }
    fn else_(&self) -> Result<()> {
        self.k.borrow_mut().else_()
    }
    fn repeat(&self) -> Result<()> {
        self.k.borrow_mut().for_(0, ATTEMPTS, 1).map(drop)
    }
    fn end(&self) -> Result<()> {
        self.k.borrow_mut().end()
    }
    fn break_(&self) {
        self.k.borrow_mut().break_();
    }
    /// The numbers that a variable has in the end.
    fn finish(self, result: Variable) -> Result<Kernel> {
        let mut k = self.k.into_inner();
        let dtype = k.form().object(self.numbers).dtype;
        let value = k.cast(result, dtype)?;
        k.store(self.numbers, [self.i], value)?;
        k.finish()
    }

    /// The next word of the item's own.
    fn word(&self) -> Result<Value> {
        let word = self
            .k
            .borrow_mut()
            .apply(Op::Philox, &[self.place.into(), self.stream.into(), self.seed.into()])?;
        self.set(self.stream, self.add(self.stream, Scalar::U64(1))?)?;
        Ok(word)
    }
    /// So many of the upper bits of a word, and a number added, as a fraction of 1.
    fn fraction(&self, word: Value, bits: u32, added: u64) -> Result<Value> {
        let bits_of = self.two(Op::BitwiseRightShift, word, Scalar::U64(64 - u64::from(bits)))?;
        let number = self.add(bits_of, Scalar::U64(added))?;
        let number = self.k.borrow_mut().cast(number, self.float)?;
        self.mul(number, scale(bits).to_f64())
    }
    /// A uniform number from 0 to below 1.
    fn unit(&self) -> Result<Value> {
        self.fraction(self.word()?, if self.float == Dtype::F64 { 53 } else { 24 }, 0)
    }
    /// A uniform number from above 0 to 1.
    fn positive(&self) -> Result<Value> {
        self.fraction(self.word()?, if self.float == Dtype::F64 { 53 } else { 32 }, 1)
    }
    /// A normally distributed number, as those of [`Generator::normal_as`].
    fn normal(&self) -> Result<Value> {
        let radius = self.of(Op::Sqrt, self.mul(self.of(Op::Log, self.positive()?)?, -2.0)?)?;
        let angle = self.mul(self.unit()?, std::f64::consts::TAU)?;
        self.mul(radius, self.of(Op::Cos, angle)?)
    }

    /// `x ln(x / mean) + mean − x`, without the loss of digits where both are near each other (C. Loader, "Fast and accurate
    /// computation of binomial probabilities", 2000).
    fn deviance(&self, x: Value, mean: Value) -> Result<Value> {
        let way = self.div(self.sub(x, mean)?, mean)?;
        // Of x = 0 the first summand is 0, as long as the logarithm is finite.
        let log = self.of(Op::Log1p, self.two(Op::Maximum, way, -1.0 + 1e-6)?)?;
        let weighted = self.mul(self.add(way, 1.0)?, log)?;
        self.mul(self.sub(weighted, way)?, mean)
    }

    /// `ln k! − k ln k + k`: from a table of the first, else by Stirling's series.
    fn stirling(&self, table: Object, k: Value) -> Result<Value> {
        let place = self.k.borrow_mut().cast(k, Dtype::I64)?;
        let known = self.k.borrow_mut().load(table, [place])?;
        let one = self.div(1.0, self.two(Op::Maximum, k, TABLE as f64)?)?;
        let square = self.mul(one, one)?;
        let series = self.sub(1.0 / 360.0, self.mul(square, 1.0 / 1260.0)?)?;
        let series = self.mul(self.sub(1.0 / 12.0, self.mul(square, series)?)?, one)?;
        let half = self.mul(self.of(Op::Log, self.mul(k, std::f64::consts::TAU)?)?, 0.5)?;
        self.select(self.two(Op::Less, k, TABLE as f64)?, known, self.add(half, series)?)
    }

    /// The table of [`stirling`](Self::stirling).
    fn table(&self) -> Result<Object> {
        let mut factorial = 1.0_f64;
        let numbers = (0..TABLE).map(|k| {
            let x = k as f64;
            factorial *= x.max(1.0);
            let power = if k == 0 { 0.0 } else { x * x.ln() };
            Scalar::F64(factorial.ln() - power + x).cast(self.float)
        });
        let numbers: Vec<Scalar> = numbers.collect();
        self.k.borrow_mut().constant_array("table", &[TABLE], &numbers)
    }

    /// The candidate of a transformed rejection, with two uniform numbers: the second, how near the first is to an end of its
    /// range, the factor of its density, and the number.
    fn candidate(&self, a: Value, b: Value, centre: Value) -> Result<[Value; 4]> {
        let (u, v) = (self.sub(self.unit()?, 0.5)?, self.positive()?);
        let near = self.sub(0.5, self.of(Op::Abs, u)?)?;
        let slope = self.add(self.div(self.mul(a, 2.0)?, near)?, b)?;
        let number = self.of(Op::Floor, self.add(self.mul(slope, u)?, centre)?)?;
        let density = self.add(self.div(a, self.mul(near, near)?)?, b)?;
        Ok([v, near, density, number])
    }
}

/// Gamma-distributed numbers of a shape and the scale 1.
pub(super) fn gamma(float: Dtype) -> Result<Kernel> {
    let d = Draws::new("gamma", float, &["alpha"], float)?;
    let alpha = d.parameter(0)?;
    // Of a shape below 1, numbers of the next one, times a power of a uniform number.
    let small = d.two(Op::Less, alpha, 1.0)?;
    let shape = d.select(small, d.add(alpha, 1.0)?, alpha)?;
    let third = d.sub(shape, 1.0 / 3.0)?;
    let width = d.div(1.0, d.of(Op::Sqrt, d.mul(third, 9.0)?)?)?;
    let result = d.variable("result", third)?;
    d.repeat()?;
    let x = d.normal()?;
    let root = d.add(d.mul(width, x)?, 1.0)?;
    let cube = d.mul(d.mul(root, root)?, root)?;
    d.if_(Op::Greater, cube, 0.0)?;
    d.set(result, d.mul(third, cube)?)?;
    let half_square = d.mul(d.mul(x, x)?, 0.5)?;
    let rest = d.add(d.sub(1.0, cube)?, d.of(Op::Log, cube)?)?;
    let bound = d.add(half_square, d.mul(third, rest)?)?;
    d.if_(Op::Less, d.of(Op::Log, d.positive()?)?, bound)?;
    d.break_();
    d.end()?;
    d.end()?;
    d.end()?;
    d.if_(Op::Less, alpha, 1.0)?;
    let power = d.two(Op::Pow, d.unit()?, d.div(1.0, alpha)?)?;
    d.set(result, d.mul(result, power)?)?;
    d.end()?;
    d.finish(result)
}

/// Poisson-distributed numbers of a rate.
pub(super) fn poisson(float: Dtype) -> Result<Kernel> {
    let d = Draws::new("poisson", float, &["rate"], Dtype::I64)?;
    let rate = d.parameter(0)?;
    let result = d.variable("result", 0)?;
    let table = d.table()?;
    d.if_(Op::Less, rate, LARGE)?;
    let least = d.of(Op::Exp, d.of(Op::Negative, rate)?)?;
    let product = d.variable("product", 1)?;
    d.repeat()?;
    d.set(product, d.mul(product, d.positive()?)?)?;
    d.if_(Op::LessEqual, product, least)?;
    d.break_();
    d.end()?;
    d.set(result, d.add(result, 1)?)?;
    d.end()?;
    d.else_()?;
    let b = d.add(d.mul(d.of(Op::Sqrt, rate)?, 2.53)?, 0.931)?;
    let a = d.sub(d.mul(b, 0.02483)?, 0.059)?;
    let alpha = d.add(d.div(1.1328, d.sub(b, 3.4)?)?, 1.1239)?;
    let surely = d.sub(0.9277, d.div(3.6624, d.sub(b, 2.0)?)?)?;
    d.set(result, d.of(Op::Floor, rate)?)?;
    d.repeat()?;
    let [v, near, density, number] = d.candidate(a, b, d.add(rate, 0.43)?)?;
    let inner =
        d.two(Op::BitwiseAnd, d.two(Op::GreaterEqual, near, 0.07)?, d.two(Op::LessEqual, v, surely)?)?;
    let outer = d.two(Op::BitwiseAnd, d.two(Op::Less, near, 0.013)?, d.two(Op::Greater, v, near)?)?;
    let in_range = d.two(Op::GreaterEqual, number, 0.0)?;
    let asked = d.two(Op::BitwiseAnd, in_range, d.of(Op::LogicalNot, outer)?)?;
    let height = d.of(Op::Log, d.div(d.mul(v, alpha)?, density)?)?;
    let k = d.two(Op::Maximum, number, 0.0)?;
    let log = d.of(Op::Negative, d.add(d.deviance(k, rate)?, d.stirling(table, k)?)?)?;
    let below = d.two(Op::BitwiseAnd, asked, d.two(Op::LessEqual, height, log)?)?;
    let taken = d.two(Op::BitwiseOr, d.two(Op::BitwiseAnd, inner, in_range)?, below)?;
    d.k.borrow_mut().if_(taken)?;
    d.set(result, number)?;
    d.break_();
    d.end()?;
    d.end()?;
    d.end()?;
    d.finish(result)
}

/// How many of trials succeed.
pub(super) fn binomial(float: Dtype) -> Result<Kernel> {
    let d = Draws::new("binomial", float, &["n", "p"], Dtype::I64)?;
    let (n, given) = (d.of(Op::Floor, d.parameter(0)?)?, d.parameter(1)?);
    let result = d.variable("result", 0)?;
    let table = d.table()?;
    // Of the rarer outcome.
    let many = d.two(Op::Greater, given, 0.5)?;
    let p = d.select(many, d.sub(1.0, given)?, given)?;
    let mean = d.mul(n, p)?;
    d.if_(Op::Less, mean, LARGE)?;
    d.if_(Op::Greater, mean, 0.0)?;
    let each = d.of(Op::Log1p, d.of(Op::Negative, p)?)?;
    let trials = d.variable("trials", 0)?;
    d.repeat()?;
    let wait = d.of(Op::Floor, d.div(d.of(Op::Log, d.positive()?)?, each)?)?;
    d.set(trials, d.add(d.add(trials, wait)?, 1.0)?)?;
    d.if_(Op::Greater, trials, n)?;
    d.break_();
    d.end()?;
    d.set(result, d.add(result, 1)?)?;
    d.end()?;
    d.end()?;
    d.else_()?;
    let q = d.sub(1.0, p)?;
    let spread = d.of(Op::Sqrt, d.mul(mean, q)?)?;
    let b = d.add(d.mul(spread, 2.53)?, 1.15)?;
    let a = d.add(d.add(d.mul(b, 0.0248)?, -0.0873)?, d.mul(p, 0.01)?)?;
    let surely = d.sub(0.92, d.div(4.2, b)?)?;
    let alpha = d.mul(d.add(d.div(5.1, b)?, 2.83)?, spread)?;
    let others = d.mul(n, q)?;
    // The logarithm of a number's probability, but for the summand that all have.
    let log = |k: Value| -> Result<Value> {
        let failed = d.sub(n, k)?;
        let far = d.add(d.deviance(k, mean)?, d.deviance(failed, others)?)?;
        let near = d.add(d.stirling(table, k)?, d.stirling(table, failed)?)?;
        d.of(Op::Negative, d.add(far, near)?)
    };
    let mode = d.of(Op::Floor, d.mul(d.add(n, 1.0)?, p)?)?;
    let most = log(mode)?;
    d.set(result, mode)?;
    d.repeat()?;
    let [v, near, density, number] = d.candidate(a, b, d.add(mean, 0.5)?)?;
    let in_range =
        d.two(Op::BitwiseAnd, d.two(Op::GreaterEqual, number, 0.0)?, d.two(Op::LessEqual, number, n)?)?;
    let inner =
        d.two(Op::BitwiseAnd, d.two(Op::GreaterEqual, near, 0.07)?, d.two(Op::LessEqual, v, surely)?)?;
    let height = d.of(Op::Log, d.div(d.mul(v, alpha)?, density)?)?;
    let k = d.two(Op::Minimum, d.two(Op::Maximum, number, 0.0)?, n)?;
    let below = d.two(Op::LessEqual, height, d.sub(log(k)?, most)?)?;
    let taken = d.two(Op::BitwiseAnd, in_range, d.two(Op::BitwiseOr, inner, below)?)?;
    d.k.borrow_mut().if_(taken)?;
    d.set(result, number)?;
    d.break_();
    d.end()?;
    d.end()?;
    d.end()?;
    d.k.borrow_mut().if_(many)?;
    d.set(result, d.sub(n, result)?)?;
    d.end()?;
    d.finish(result)
}
