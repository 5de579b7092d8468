//! Kernels each of whose items works for itself.

use stridewise::kernel::{Coordinate::*, Global, Item, Kernel, KernelBuilder, Level};
use stridewise::{Dtype, FloatElement, Op, Result, device_function};

/// One round of Jacobi's method for the mean of five neighbours; the edge stays. Through the builder.
pub(crate) fn jacobi() -> Result<Kernel> {
    let mut k = KernelBuilder::new("jacobi", 2)?;
    let (a, b) = (k.global("a", Dtype::F32, 2, false)?, k.global("b", Dtype::F32, 2, true)?);
    let (row, column) = (k.index(Level::Global, Id(0))?, k.index(Level::Global, Id(1))?);
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

/// The distribution function of the normal distribution.
#[device_function]
fn normal<T: FloatElement>(x: T) -> T {
    ((x * std::f64::consts::FRAC_1_SQRT_2 as T).erf() + 1 as T) * 0.5 as T
}

/// Prices of European options: F. Black and M. Scholes, "The pricing of options and corporate liabilities" (1973).
#[stridewise::kernel]
pub(crate) fn black_scholes<T: FloatElement>(
    item: Item<1>,
    price: &Global<T>,
    strike: &Global<T>,
    years: &Global<T>,
    call: &mut Global<T>,
    put: &mut Global<T>,
    rate: T,
    volatility: T,
) {
    let i = item.global_id(0);
    let (s, t) = (price[i], years[i]);
    let spread = volatility * t.sqrt();
    let drift = (rate + volatility * volatility * 0.5 as T) * t;
    let d = ((s / strike[i]).ln() + drift) / spread;
    let present = strike[i] * (-(rate * t)).exp();
    let value = s * normal(d) - present * normal(d - spread);
    call[i] = value;
    put[i] = value - s + present;
}

/// Puts elements that are a distance apart in order, in runs that go up and down in turns: K. E. Batcher, "Sorting networks and
/// their applications" (1968).
#[stridewise::kernel]
pub(crate) fn bitonic_step(item: Item<1>, a: &mut Global<i32>, run: i64, distance: i64) {
    let i = item.global_id(0);
    let partner = i ^ distance;
    if partner > i {
        let (x, y) = (a[i], a[partner]);
        if (i & run == 0) == (x > y) {
            a[i] = y;
            a[partner] = x;
        }
    }
}
