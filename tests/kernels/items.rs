//! Kernels each of whose items works for itself.

use stridewise::kernel::{Coordinate::*, Kernel, KernelBuilder, Level::*, Operand};
use stridewise::{Dtype, Op, Result, Scalar};

/// One round of Jacobi's method for the mean of five neighbours; the edge stays.
pub(crate) fn jacobi() -> Result<Kernel> {
    let mut k = KernelBuilder::new("jacobi", 2)?;
    let (a, b) = (k.global("a", Dtype::F32, 2, false)?, k.global("b", Dtype::F32, 2, true)?);
    let (row, column) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
    let (rows, columns) = (k.extent(a, 0)?, k.extent(a, 1)?);
    let (last_row, last_column) = (k.binary(Op::Subtract, rows, 1)?, k.binary(Op::Subtract, columns, 1)?);
    let conditions = [
        k.binary(Op::Greater, row, 0)?,
        k.binary(Op::Greater, column, 0)?,
        k.binary(Op::Less, row, last_row)?,
        k.binary(Op::Less, column, last_column)?,
    ];
    let (high, wide) = (
        k.binary(Op::BitwiseAnd, conditions[0], conditions[2])?,
        k.binary(Op::BitwiseAnd, conditions[1], conditions[3])?,
    );
    let inside = k.binary(Op::BitwiseAnd, high, wide)?;
    k.if_(inside)?;
    let (above, below) = (k.binary(Op::Subtract, row, 1)?, k.binary(Op::Add, row, 1)?);
    let (left, right) = (k.binary(Op::Subtract, column, 1)?, k.binary(Op::Add, column, 1)?);
    let mut sum = k.load(a, [row, column])?;
    for place in [[row, left], [row, right], [above, column], [below, column]] {
        let x = k.load(a, place)?;
        sum = k.binary(Op::Add, sum, x)?;
    }
    let mean = k.binary(Op::Multiply, sum, 0.2)?;
    k.store(b, [row, column], mean)?;
    k.end()?;
    k.finish()
}

/// Prices of European options: F. Black and M. Scholes, "The pricing of options and corporate liabilities" (1973).
pub(crate) fn black_scholes() -> Result<Kernel> {
    let mut k = KernelBuilder::new("black_scholes", 1)?;
    let [price, strike, years] =
        ["price", "strike", "years"].map(|name| k.global(name, Dtype::F32, 1, false));
    let (price, strike, years) = (price?, strike?, years?);
    let (call, put) = (k.global("call", Dtype::F32, 1, true)?, k.global("put", Dtype::F32, 1, true)?);
    let (rate, volatility) = (k.scalar("rate", Dtype::F32)?, k.scalar("volatility", Dtype::F32)?);
    let i = k.index(Global, Id(0))?;
    let (s, x, t) = (k.load(price, [i])?, k.load(strike, [i])?, k.load(years, [i])?);
    let root = k.unary(Op::Sqrt, t)?;
    let spread = k.binary(Op::Multiply, volatility, root)?;
    let ratio = k.binary(Op::Divide, s, x)?;
    let log = k.unary(Op::Log, ratio)?;
    let square = k.binary(Op::Multiply, volatility, volatility)?;
    let half = k.binary(Op::Multiply, square, 0.5)?;
    let drift = k.binary(Op::Add, rate, half)?;
    let drift = k.binary(Op::Multiply, drift, t)?;
    let above = k.binary(Op::Add, log, drift)?;
    let d1 = k.binary(Op::Divide, above, spread)?;
    let d2 = k.binary(Op::Subtract, d1, spread)?;
    // The distribution function of the normal distribution.
    let normal = |k: &mut KernelBuilder, d| -> Result<_> {
        let scaled = k.binary(Op::Multiply, d, std::f64::consts::FRAC_1_SQRT_2)?;
        let erf = k.unary(Op::Erf, scaled)?;
        let one = k.binary(Op::Add, erf, 1)?;
        k.binary(Op::Multiply, one, 0.5)
    };
    let (n1, n2) = (normal(&mut k, d1)?, normal(&mut k, d2)?);
    let exponent = k.binary(Op::Multiply, rate, t)?;
    let minus = k.unary(Op::Negative, exponent)?;
    let discount = k.unary(Op::Exp, minus)?;
    let present = k.binary(Op::Multiply, x, discount)?;
    let (gain, cost) = (k.binary(Op::Multiply, s, n1)?, k.binary(Op::Multiply, present, n2)?);
    let value = k.binary(Op::Subtract, gain, cost)?;
    k.store(call, [i], value)?;
    let less = k.binary(Op::Subtract, value, s)?;
    let other = k.binary(Op::Add, less, present)?;
    k.store(put, [i], other)?;
    k.finish()
}

/// Rounds of `z² + c` until a point is gone.
pub(crate) fn mandelbrot() -> Result<Kernel> {
    let mut k = KernelBuilder::new("mandelbrot", 2)?;
    let out = k.global("out", Dtype::I32, 2, true)?;
    let (most, step) = (k.scalar("most", Dtype::I32)?, k.scalar("step", Dtype::F32)?);
    let (row, column) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
    let (x, y) = (k.variable("x", Dtype::F32)?, k.variable("y", Dtype::F32)?);
    let rounds = k.variable("rounds", Dtype::I32)?;
    let (r, c) = (k.cast(row, Dtype::F32)?, k.cast(column, Dtype::F32)?);
    let (r, c) = (k.binary(Op::Multiply, r, step)?, k.binary(Op::Multiply, c, step)?);
    let (cy, cx) = (k.binary(Op::Subtract, r, 1.125)?, k.binary(Op::Subtract, c, 2.25)?);
    k.set(x, 0)?;
    k.set(y, 0)?;
    k.set(rounds, 0)?;
    let round = k.for_(Scalar::I32(0), most, Scalar::I32(1))?;
    let (xx, yy) = (k.binary(Op::Multiply, x, x)?, k.binary(Op::Multiply, y, y)?);
    let size = k.binary(Op::Add, xx, yy)?;
    let gone = k.binary(Op::Greater, size, 4)?;
    k.if_(gone)?;
    k.break_();
    k.end()?;
    let xy = k.binary(Op::Multiply, x, y)?;
    let twice = k.binary(Op::Multiply, xy, 2)?;
    let next_y = k.binary(Op::Add, twice, cy)?;
    let difference = k.binary(Op::Subtract, xx, yy)?;
    let next_x = k.binary(Op::Add, difference, cx)?;
    k.set(x, next_x)?;
    k.set(y, next_y)?;
    let next = k.binary(Op::Add, round, 1)?;
    k.set(rounds, next)?;
    k.end()?;
    k.store(out, [row, column], rounds)?;
    k.finish()
}

/// Puts elements that are a distance apart in order, in runs that go up and down in turns: K. E. Batcher, "Sorting networks and
/// their applications" (1968).
pub(crate) fn bitonic_step() -> Result<Kernel> {
    let mut k = KernelBuilder::new("bitonic_step", 1)?;
    let a = k.global("a", Dtype::I32, 1, true)?;
    let (run, distance) = (k.scalar("run", Dtype::I64)?, k.scalar("distance", Dtype::I64)?);
    let i = k.index(Global, Id(0))?;
    let partner = k.binary(Op::BitwiseXor, i, distance)?;
    let first = k.binary(Op::Greater, partner, i)?;
    k.if_(first)?;
    let (x, y) = (k.load(a, [i])?, k.load(a, [partner])?);
    let bit = k.binary(Op::BitwiseAnd, i, run)?;
    let up = k.binary(Op::Equal, bit, 0)?;
    let greater = k.binary(Op::Greater, x, y)?;
    let swap = k.binary(Op::Equal, up, greater)?;
    k.if_(swap)?;
    k.store(a, [i], y)?;
    k.store(a, [partner], x)?;
    k.end()?;
    k.end()?;
    k.finish()
}

/// New centres from sums and counts, which begin anew.
pub(crate) fn centres() -> Result<Kernel> {
    let mut k = KernelBuilder::new("centres", 1)?;
    let centres = k.global("centres", Dtype::F32, 2, true)?;
    let (sums, counts) = (k.global("sums", Dtype::F32, 2, true)?, k.global("counts", Dtype::I32, 1, true)?);
    let c = k.index(Global, Id(0))?;
    let count = k.load(counts, [c])?;
    let some = k.binary(Op::Maximum, count, 1)?;
    let some = k.cast(some, Dtype::F32)?;
    for axis in 0..2 {
        let place = [Operand::from(c), axis.into()];
        let sum = k.load(sums, place)?;
        let mean = k.binary(Op::Divide, sum, some)?;
        k.store(centres, place, mean)?;
        k.store(sums, place, 0)?;
    }
    k.store(counts, [c], 0)?;
    k.finish()
}
