//! How many elements fall where: by places, and between edges.

use super::elementwise::indices;
use super::{ArrayOrScalar, Reduction, Side, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::SliceItem;
use crate::ops::Op;
use crate::runtime::common_queue;
use crate::scalar::Scalar;

/// The bins of a histogram.
#[derive(Clone, Copy, Debug)]
pub enum Bins<'a> {
    /// So many of one width, from the smallest element to the largest, or over a range.
    Count(usize, Option<(f64, f64)>),
    /// Between edges, which do not decrease. The last bin has both of its edges, the others the lower one.
    Edges(&'a UsmArray),
}

fn from(start: isize) -> [SliceItem; 1] {
    [SliceItem::Slice { start: Some(start), stop: None, step: 1 }]
}

fn to(stop: isize) -> [SliceItem; 1] {
    [SliceItem::Slice { start: None, stop: Some(stop), step: 1 }]
}

impl UsmArray {
    /// One dimension of real numbers, or a complaint that names them.
    fn check_row(&self, argument: &'static str, name: &str) -> Result<()> {
        self.check_real(name)?;
        if self.ndim() == 1 {
            return Ok(());
        }
        Err(Error::shape(
            argument,
            format!("of shape {:?}", self.shape()),
            "one dimension",
            "reshape it first",
        ))
    }

    /// How often each number from 0 on occurs, as `int64`: one dimension, up to the largest, and `minlength` numbers at least.
    ///
    /// # Errors
    /// [`Error::Shape`] for several dimensions, [`Error::Dtype`] for other than integers and `bool`, [`Error::Value`] for a
    /// negative number, [`Error::Alloc`] where there is no memory for so many.
    pub fn bincount(&self, minlength: usize) -> Result<Self> {
        self.check_row("x", "bincount")?;
        if self.dtype.kind().is_inexact() {
            return Err(Error::dtype(
                "x",
                format!("{} for `bincount`", self.dtype),
                "integers or bool",
                "convert the numbers with `astype`, or count between edges with `histogram`",
            ));
        }
        if self.is_empty() {
            return Self::zeros(&self.queue, &[minlength], Dtype::I64, self.usm_kind());
        }
        let x = if self.dtype == Dtype::Bool { self.astype(Dtype::U8)? } else { self.clone() };
        let extreme = |reduction| Ok::<_, Error>(x.reduce_all(reduction)?.weak().to_c128().re);
        if x.dtype.kind() == DtypeKind::Signed {
            let least = extreme(Reduction::Min)?;
            if least < 0.0 {
                return Err(Error::value(
                    "x",
                    least,
                    "numbers from 0 on",
                    "count between edges with `histogram`",
                ));
            }
        }
        let most = isize::MAX.unsigned_abs() / Dtype::I64.size();
        let largest = extreme(Reduction::Max)?;
        if largest >= most as f64 {
            let help = "count between edges with `histogram`";
            return Err(Error::overflow("x", largest, format!("numbers below {most}"), help));
        }
        let len = (largest as usize + 1).max(minlength);
        let sorted = x.sort(0, false)?;
        // A number's first place among the sorted ones; that of the next is behind its last.
        let numbers = indices(&self.queue, self.usm_kind(), &[len], 0, &[1])?.astype(x.dtype)?;
        let starts = if x.dtype.iinfo()?.max < len as i128 {
            // Numbers that the dtype does not have are behind all.
            let wide = sorted.astype(Dtype::I64)?;
            wide.searchsorted(&indices(&self.queue, self.usm_kind(), &[len], 0, &[1])?, Side::Left, None)?
        } else {
            sorted.searchsorted(&numbers, Side::Left, None)?
        };
        let end = Self::full(&self.queue, &[1], Scalar::I64(self.len() as i64), self.usm_kind())?;
        starts.diff(0, 1, None, Some(&end))
    }

    /// For each number, the place of the bin between edges that it falls in, 0 before all and as many as there are edges
    /// behind all. Edges increase or decrease; each belongs to the bin behind it, with `right` to the one before.
    ///
    /// # Errors
    /// [`Error::Shape`] where the edges have several dimensions, [`Error::Value`] where they neither increase nor decrease,
    /// [`Error::Dtype`] for complex numbers, [`Error::ExecutionPlacement`].
    pub fn digitize(&self, bins: &Self, right: bool) -> Result<Self> {
        self.check_real("digitize")?;
        bins.check_row("bins", "digitize")?;
        let side = if right { Side::Left } else { Side::Right };
        if bins.is_sorted_by(Op::LessEqual)? {
            return bins.searchsorted(self, side, None);
        }
        if !bins.is_sorted_by(Op::GreaterEqual)? {
            return Err(Error::value(
                "bins",
                "not in order",
                "edges that increase or decrease",
                "sort them first",
            ));
        }
        let places = bins.flip(None)?.searchsorted(self, side, None)?;
        elementwise(Op::Subtract, &[ArrayOrScalar::Scalar(Scalar::I64(bins.len() as i64)), (&places).into()])
    }

    /// Whether each element of one dimension stands so to the next.
    fn is_sorted_by(&self, op: Op) -> Result<bool> {
        if self.len() < 2 {
            return Ok(true);
        }
        let ordered = self.slice(&to(-1))?.binary(op, &self.slice(&from(1))?)?;
        Ok(ordered.reduce_all(Reduction::All)? == Scalar::Bool(true))
    }

    /// How many elements fall into each bin, as `int64`, and the edges of the bins. What is in none of them, as NaN, is not
    /// counted.
    ///
    /// # Errors
    /// [`Error::Value`] for no bins, a range that is not finite or decreases, elements that are not finite without a range,
    /// and edges that decrease; [`Error::Shape`] for fewer than two edges; [`Error::Dtype`] for complex numbers.
    pub fn histogram(&self, bins: Bins<'_>) -> Result<(Self, Self)> {
        self.check_real("histogram")?;
        let x = if self.dtype == Dtype::Bool { self.astype(Dtype::U8)? } else { self.clone() };
        let edges = match bins {
            Bins::Edges(edges) => {
                common_queue(&[("x", &self.queue), ("bins", &edges.queue)])?;
                edges.check_row("bins", "histogram")?;
                if edges.len() < 2 {
                    return Err(Error::shape(
                        "bins",
                        format!("{} edges", edges.len()),
                        "at least two",
                        "add edges",
                    ));
                }
                if !edges.is_sorted_by(Op::LessEqual)? {
                    return Err(Error::value(
                        "bins",
                        "not in order",
                        "edges that do not decrease",
                        "sort them first",
                    ));
                }
                edges.clone()
            }
            Bins::Count(count, range) => x.even_edges(count, range)?,
        };
        let sorted = x.reshape(&[-1])?.sort(0, false)?;
        let places = sorted.searchsorted(&edges.slice(&to(-1))?, Side::Left, None)?;
        let end = sorted.searchsorted(&edges.slice(&from(-1))?, Side::Right, None)?;
        Ok((places.diff(0, 1, None, Some(&end))?, edges))
    }

    /// The edges of bins of one width.
    fn even_edges(&self, count: usize, range: Option<(f64, f64)>) -> Result<Self> {
        if count == 0 {
            return Err(Error::value(
                "bins",
                0,
                "at least one bin",
                "ask for bins, or count with `count_nonzero`",
            ));
        }
        let (mut low, mut high) = match range {
            Some(range) => range,
            None if self.is_empty() => (0.0, 1.0),
            None => {
                let extreme = |reduction| Ok::<_, Error>(self.reduce_all(reduction)?.weak().to_c128().re);
                (extreme(Reduction::Min)?, extreme(Reduction::Max)?)
            }
        };
        if !low.is_finite() || !high.is_finite() || low > high {
            return Err(Error::value(
                "range",
                format!("from {low} to {high}"),
                "finite numbers, the second not below the first",
                "name a range, or leave out what is not finite",
            ));
        }
        if low == high {
            (low, high) = (low - 0.5, high + 0.5);
        }
        Self::linspace(&self.queue, low, high, count + 1, true, self.real_result(), self.usm_kind())
    }

    /// Counts of a [histogram](Self::histogram) over the number of all and the widths of the bins: their integral is 1.
    ///
    /// # Errors
    /// As for [`elementwise`].
    pub fn density(counts: &Self, edges: &Self) -> Result<Self> {
        let float = counts.real_result();
        let total = counts.reduce(Reduction::Sum, None, false)?.astype(float)?;
        let widths = edges.astype(float)?.diff(0, 1, None, None)?;
        let all = widths.binary(Op::Multiply, &total)?;
        counts.astype(float)?.binary(Op::Divide, &all)
    }
}
