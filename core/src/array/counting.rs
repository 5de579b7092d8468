//! How many elements fall where: by places, and between edges.

use smallvec::SmallVec;

use super::elementwise::interim;
use super::{ArrayOrScalar, Reduction, Side, UsmArray, elementwise};
use crate::dtype::{Dtype, DtypeKind};
use crate::error::{Error, Result};
use crate::layout::SliceItem;
use crate::lazy::{Pass, Walk, handing_on};
use crate::ops::Op;
use crate::plan::{Family, IndexedAxis};
use crate::promotion::result_type;
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
        match self.numbers_to_count(minlength)? {
            Some((places, len)) => places.count_places(len),
            None => Self::zeros(&self.queue, &[minlength], Dtype::I64, self.usm_kind()),
        }
    }

    /// The sum of the weights of each number from 0 on, in the order in which the weights lie: as [`bincount`](Self::bincount), with a
    /// weight for each element in the place of 1. In the device's default floating dtype, or the weights' complex one.
    ///
    /// # Errors
    /// As for [`bincount`](Self::bincount); [`Error::Shape`] where there are not as many weights as numbers,
    /// [`Error::ExecutionPlacement`].
    pub fn bincount_weighted(&self, weights: &Self, minlength: usize) -> Result<Self> {
        let weights = self.weights(weights, "bincount")?;
        let weights = match weights.dtype.kind() {
            DtypeKind::Complex => weights,
            _ => weights.astype(self.device().dtype_support().default_float())?,
        };
        let (places, len) = match self.numbers_to_count(minlength)? {
            Some(numbers) => numbers,
            None => (Self::empty(&self.queue, &[0], Dtype::I64, self.usm_kind())?, minlength),
        };
        let sums = Self::zeros(&self.queue, &[len], weights.dtype, self.usm_kind())?;
        sums.add_at_places(&places, &weights)?;
        Ok(sums)
    }

    /// Weights, one for each element.
    fn weights(&self, weights: &Self, name: &str) -> Result<Self> {
        common_queue(&[("x", &self.queue), ("weights", &weights.queue)])?;
        if weights.shape() == self.shape() {
            return Ok(weights.clone());
        }
        Err(Error::shape(
            "weights",
            format!("of shape {:?}", weights.shape()),
            format!("a weight for each element for `{name}`, of shape {:?}", self.shape()),
            "broadcast the weights first",
        ))
    }

    /// The numbers of a [`bincount`](Self::bincount), checked, and how many there are to count; `None` for no elements.
    fn numbers_to_count(&self, minlength: usize) -> Result<Option<(Self, usize)>> {
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
            return Ok(None);
        }
        let x = if self.dtype == Dtype::Bool { self.astype(Dtype::U8)? } else { self.clone() };
        if x.dtype.kind() == DtypeKind::Signed {
            let least: i64 = x.extreme(Reduction::Min, Dtype::I64)?.get().unwrap_or_default();
            if least < 0 {
                return Err(Error::value(
                    "x",
                    least,
                    "numbers from 0 on",
                    "count between edges with `histogram`",
                ));
            }
        }
        let most = isize::MAX.unsigned_abs() / Dtype::I64.size();
        let largest: u64 = x.extreme(Reduction::Max, Dtype::U64)?.get().unwrap_or(u64::MAX);
        let help = "count between edges with `histogram`";
        let places = usize::try_from(largest).ok().filter(|&largest| largest < most);
        let places =
            places.ok_or_else(|| Error::overflow("x", largest, format!("numbers below {most}"), help))?;
        Ok(Some((x.astype(Dtype::I64)?, (places + 1).max(minlength))))
    }

    /// How often each number below a length occurs among numbers of one dimension that are all below it, as `int64`. Where the
    /// device has no kernel that counts, each is counted by an atomic sum, so that the order does not matter.
    pub(super) fn count_places(&self, len: usize) -> Result<Self> {
        let axis = IndexedAxis { extent: len, stride: 1 };
        if let Some(counts) = self.tabulated(len, None, Family::Count { axis })? {
            return Ok(counts);
        }
        let wide = self.device().info().aspects.contains(&crate::backend::Aspect::Atomic64);
        // Where there are no such sums of 64 bits, none of 32 overflows but of more elements than those devices hold.
        let dtype = if wide { Dtype::I64 } else { Dtype::U32 };
        let counts = Self::zeros(&self.queue, &[len], dtype, self.usm_kind())?;
        counts.count_at(self)?;
        counts.astype(Dtype::I64)
    }

    /// So many counts of elements of one dimension, by a pass of a family; `None` where the device has no kernel for it, or there is
    /// nothing to count.
    fn tabulated(&self, len: usize, edges: Option<&Self>, family: Family) -> Result<Option<Self>> {
        if len == 0 || self.is_empty() {
            return Ok(None);
        }
        let counts = Self::empty(&self.queue, &[len], Dtype::I64, self.usm_kind())?;
        let still = || SmallVec::from_slice(&[0]);
        let mut inputs: SmallVec<[Walk<'_>; 2]> = SmallVec::new();
        inputs.push(Walk::along(self));
        if let Some(edges) = edges {
            inputs.push(Walk { array: edges, strides: still() });
        }
        let pass = Pass {
            program: handing_on(self.dtype, edges.map(|edges| edges.dtype)),
            family,
            dims: SmallVec::from_slice(self.shape()),
            inputs,
            output: Walk { array: &counts, strides: still() },
        };
        Ok(pass.submit_if_native(&self.queue)?.then_some(counts))
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
    /// [`Error::Value`] for no bins, a range that is not finite in the edges' dtype or decreases, elements that are not finite
    /// without a range, and edges that decrease; [`Error::Shape`] for fewer than two edges; [`Error::Dtype`] for complex numbers.
    pub fn histogram(&self, bins: Bins<'_>) -> Result<(Self, Self)> {
        let (x, edges) = self.edges_of(bins)?;
        let dtype = result_type(&[x.dtype, edges.dtype], &[], self.device().dtype_support())?;
        if let (Bins::Count(count, _), true) = (bins, dtype == edges.dtype) {
            let x = x.astype(dtype)?;
            let axes = [count + 1, count].map(|extent| IndexedAxis { extent, stride: 1 });
            let family = Family::Histogram { edges: axes[0], axis: axes[1] };
            if let Some(counts) = x.tabulated(count, Some(&edges), family)? {
                return Ok((counts, edges));
            }
        }
        let places = x.places_between(&edges)?;
        let counts = places.count_places(edges.len())?;
        Ok((counts.slice(&to(-1))?, edges))
    }

    /// The sum of the weights of the elements in each bin, in the weights' dtype and in the order in which they lie, and the edges of
    /// the bins; see [`histogram`](Self::histogram).
    ///
    /// # Errors
    /// As for [`histogram`](Self::histogram); [`Error::Shape`] where there is not a weight for each element, [`Error::Dtype`] for
    /// weights of `bool`, [`Error::ExecutionPlacement`].
    pub fn histogram_weighted(&self, bins: Bins<'_>, weights: &Self) -> Result<(Self, Self)> {
        let weights = self.weights(weights, "histogram")?;
        if weights.dtype == Dtype::Bool {
            return Err(Error::dtype(
                "weights",
                "bool",
                "numbers",
                "select with `masked`, or convert with `astype`",
            ));
        }
        let (x, edges) = self.edges_of(bins)?;
        let places = x.places_between(&edges)?;
        let sums = Self::zeros(&self.queue, &[edges.len()], weights.dtype, self.usm_kind())?;
        sums.add_at_places(&places, &weights.reshape(&[-1])?)?;
        Ok((sums.slice(&to(-1))?, edges))
    }

    /// The elements in row-major order, as numbers, and the edges of bins.
    fn edges_of(&self, bins: Bins<'_>) -> Result<(Self, Self)> {
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
        Ok((x.reshape(&[-1])?, edges))
    }

    /// The bin between edges of each element, or behind the last one where it is in none.
    fn places_between(&self, edges: &Self) -> Result<Self> {
        let last = Scalar::I64(edges.len() as i64 - 2);
        let behind = edges.searchsorted(self, Side::Right, None)?;
        let place = interim(Op::Subtract, &[(&behind).into(), Scalar::I64(1).into()])?;
        // The last edge belongs to the last bin, and what is beyond the edges to none.
        let place = interim(Op::Minimum, &[(&place).into(), last.into()])?;
        let (low, high) = (edges.slice(&[SliceItem::Index(0)])?, edges.slice(&[SliceItem::Index(-1)])?);
        let above = interim(Op::GreaterEqual, &[self.into(), (&low).into()])?;
        let below = interim(Op::LessEqual, &[self.into(), (&high).into()])?;
        let inside = interim(Op::BitwiseAnd, &[(&above).into(), (&below).into()])?;
        let none = Scalar::I64(edges.len() as i64 - 1);
        elementwise(Op::Where, &[(&inside).into(), (&place).into(), none.into()])
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
                // They are read for the ends, which one pass finds, and for the counts. The ends are waited for; of elements that are
                // there, the calling thread finds them without a submission.
                match self.device().capabilities().immediate {
                    true => self.wait()?,
                    false => self.elements().memory().map(drop)?,
                }
                let ends = [Reduction::Min, Reduction::Max];
                let [low, high] = match ends.map(|end| self.reduce_all_at_once(end)) {
                    [Some(low), Some(high)] => [low, high],
                    _ => {
                        let [low, high] = ends.map(|end| self.reduce(end, None, false));
                        [low?.item()?, high?.item()?]
                    }
                };
                (low.weak().to_c128().re, high.weak().to_c128().re)
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
        let dtype = self.real_result();
        if [low, high].iter().any(|&end| !Scalar::F64(end).cast(dtype).to_f64().is_finite()) {
            return Err(Error::value(
                "range",
                format!("from {low} to {high}"),
                format!("numbers that {dtype} has, the edges' dtype"),
                "convert the elements to `float64` first, with `astype`, or name a smaller range",
            ));
        }
        Self::linspace(&self.queue, low, high, count + 1, true, dtype, self.usm_kind())
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
