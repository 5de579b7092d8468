//! The rows of a device. The peers know a row by its operation and layout: their expressions are in `peers/gpu.py`.

use stridewise::{IndexMode, Op, Reduction, Scan, Side, UsmArray, UsmKind, concat};

use super::given::Given;
use crate::measure::Outcome;
use crate::suite::Sample;

/// Elements of short rows.
const SHORT: usize = 1024;
const SHORTEST: usize = 128;
/// Elements that `top_k` asks for.
const TOP: usize = 10;

/// A row.
pub(super) struct Case<'a> {
    pub(super) op: &'static str,
    pub(super) layout: &'static str,
    /// Bytes that have to be read once and written once.
    pub(super) bytes: usize,
    /// Scalar operations for each element.
    pub(super) operations: usize,
    /// Whether it is a row of small arrays, and of very large ones.
    pub(super) small: bool,
    pub(super) huge: bool,
    /// Runs it to its end.
    pub(super) run: Box<dyn FnMut() -> Outcome<()> + 'a>,
}

impl<'a> Case<'a> {
    fn new(
        op: &'static str,
        layout: &'static str,
        bytes: usize,
        run: impl FnMut() -> Outcome<()> + 'a,
    ) -> Self {
        Self { op, layout, bytes, operations: 1, small: false, huge: false, run: Box::new(run) }
    }

    fn of_small(mut self) -> Self {
        self.small = true;
        self
    }

    fn of_huge(mut self) -> Self {
        self.huge = true;
        self
    }

    fn with_operations(mut self, operations: usize) -> Self {
        self.operations = operations;
        self
    }
}

fn softmax(x: &UsmArray) -> Outcome<UsmArray> {
    let e = x.binary(Op::Subtract, &x.reduce(Reduction::Max, Some(&[1]), true)?)?.unary(Op::Exp)?;
    Ok(e.binary(Op::Divide, &e.reduce(Reduction::Sum, Some(&[1]), true)?)?)
}

fn normalise(x: &UsmArray) -> Outcome<UsmArray> {
    let (mean, spread) = (x.reduce(Reduction::Mean, Some(&[1]), true)?, x.std(Some(&[1]), true, 0.0)?);
    Ok(x.binary(Op::Subtract, &mean)?.binary(Op::Divide, &spread)?)
}

/// All rows over some arrays.
pub(super) fn cases<T: Sample>(x: &Given<T>) -> Vec<Case<'_>> {
    let n = x.a.len();
    let f = n * x.a.itemsize();
    // Rows of an array that is computed and waited for.
    macro_rules! array {
        ($op:expr, $layout:expr, $bytes:expr, $result:expr) => {
            Case::new($op, $layout, $bytes, move || Ok($result.wait()?))
        };
    }
    let fold = |kind, axes: Option<&'static [isize]>| x.a_square.reduce(kind, axes, false);
    let mut all = vec![
        array!("add", "out", 3 * f, x.add()?).of_huge(),
        array!("exp", "fresh", 2 * f, x.a.unary(Op::Exp)?),
        array!("add", "transposed", 3 * f, x.a_square.binary(Op::Add, &x.b_square.t())?),
        array!("add", "row broadcast", 2 * f, x.a_square.binary(Op::Add, &x.row)?),
        array!("sqrt(a*a+b*b)*c-d", "fused", 5 * f, {
            let sum = x.a.binary(Op::Multiply, &x.a)?.binary(Op::Add, &x.b.binary(Op::Multiply, &x.b)?)?;
            let product = sum.unary(Op::Sqrt)?.binary(Op::Multiply, &x.c)?;
            drop(sum);
            let result = product.binary(Op::Subtract, &x.d)?;
            drop(product);
            result
        }),
        array!("sum", "all", f, x.a.reduce(Reduction::Sum, None, false)?).of_huge(),
        array!("sum", "axis 0", f, fold(Reduction::Sum, Some(&[0]))?).of_huge(),
        array!("sum", "axis 1", f, fold(Reduction::Sum, Some(&[1]))?).of_huge(),
        array!("argmax", "all", f, x.a.reduce(Reduction::ArgMax, None, false)?),
        array!("var", "all", f, x.a.var(None, false, 0.0)?).of_huge(),
        array!("cumulative sum", "all", 2 * f, x.a.cumulative(Scan::Sum, Some(0), None, false)?).of_huge(),
        array!("softmax", "square", 2 * f, softmax(&x.a_square)?).of_huge(),
        array!("normalise", "square", 2 * f, normalise(&x.a_square)?).of_huge(),
    ];
    for (len, layouts) in [(SHORT, "rows of 1024"), (SHORTEST, "rows of 128")] {
        all.push(array!("softmax", layouts, 2 * f, softmax(&x.rows(len)?)?).of_huge());
        all.push(array!("normalise", layouts, 2 * f, normalise(&x.rows(len)?)?).of_huge());
    }
    let half = x.a.itemsize() / 2;
    all.extend([
        array!("matmul", "matrices", 3 * f, x.a_square.matmul(&x.b_square)?)
            .of_small()
            .with_operations(2 * n.isqrt()),
        array!("sort", "fresh", 2 * f, x.a.sort(0, false)?).of_small(),
        array!("argsort", "fresh", f + 8 * n, x.a.argsort(0, false)?).of_small(),
        array!("unique", "few", 4 * n, x.few.unique_values()?),
        array!("searchsorted", "all", 2 * f + 8 * n, x.sorted.searchsorted(&x.b, Side::Left, None)?),
        Case::new("top_k", "10 of all", f, move || {
            let (values, places) = x.a.top_k(TOP, Some(0), true)?;
            values.wait()?;
            Ok(places.wait()?)
        }),
        array!("masked", "mask", n + f + half * n, x.a.masked(&x.mask)?),
        Case::new("nonzero", "mask", n + 4 * n, move || {
            Ok(x.mask.nonzero()?.iter().try_for_each(UsmArray::wait)?)
        }),
        array!("take", "any order", 8 * n + 2 * f, x.a.take(&x.places, Some(0), IndexMode::Check)?)
            .of_small(),
        array!("concat", "of four", 2 * f, concat(&x.quarters.iter().collect::<Vec<_>>(), Some(0))?)
            .of_small(),
        array!(
            "copy",
            "host to device",
            f,
            UsmArray::from_slice(x.a.queue(), &[n], &x.host, UsmKind::Device)?
        )
        .of_huge(),
        Case::new("copy", "device to host", f, move || Ok(x.a.to_vec::<T>().map(drop)?)).of_huge(),
    ]);
    all
}
