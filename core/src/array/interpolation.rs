//! Between points: interpolation, and slopes.

use super::addressing::IndexMode;
use super::concat::concat_into;
use super::elementwise::interim;
use super::functions::number;
use super::{ArrayOrScalar, Side, UsmArray, concat, elementwise};
use crate::error::{Error, Result};
use crate::layout::{SliceItem, normalize_axis};
use crate::ops::Op;
use crate::runtime::common_queue;
use crate::scalar::Scalar;

/// How far the points of a [gradient](UsmArray::gradient) are apart.
#[derive(Clone, Copy, Debug)]
pub enum Spacing<'a> {
    /// All so far.
    Even(f64),
    /// As their coordinates say, one for each point along the axis.
    At(&'a UsmArray),
}

/// Part of the last axis.
fn range(start: isize, stop: Option<isize>) -> [SliceItem; 2] {
    [SliceItem::Ellipsis, SliceItem::Slice { start: Some(start), stop, step: 1 }]
}

fn integer(value: usize) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Scalar(Scalar::I64(value as i64))
}

impl UsmArray {
    /// The values at these places of the line through points, whose coordinates increase: `xp` and their values `fp`, of one
    /// dimension. Before the first and behind the last point they are its value, or `left` and `right`. With a `period`,
    /// coordinates may be in any order and repeat, and nothing is outside. Computed in the default floating dtype.
    ///
    /// # Errors
    /// [`Error::Shape`] where points and values differ in number, have several dimensions or are none; [`Error::Value`] for a
    /// period that is 0 or not finite; [`Error::Dtype`] for complex numbers; [`Error::ExecutionPlacement`].
    pub fn interp(
        &self,
        xp: &Self,
        fp: &Self,
        left: Option<f64>,
        right: Option<f64>,
        period: Option<f64>,
    ) -> Result<Self> {
        common_queue(&[("x", &self.queue), ("xp", &xp.queue), ("fp", &fp.queue)])?;
        for array in [self, xp, fp] {
            array.check_real("interp")?;
        }
        if xp.ndim() != 1 || fp.shape() != xp.shape() || xp.is_empty() {
            return Err(Error::shape(
                "fp",
                format!("of shape {:?}, with coordinates of shape {:?}", fp.shape(), xp.shape()),
                "a value for each coordinate, of which there is one, in one dimension",
                "reshape both to one dimension",
            ));
        }
        let float = self.device().dtype_support().default_float();
        let (x, xp, fp) = (self.astype(float)?, xp.astype(float)?, fp.astype(float)?);
        let Some(period) = period else { return x.on_line(&xp, &fp, left, right) };
        if period == 0.0 || !period.is_finite() {
            return Err(Error::value("period", period, "a finite number other than 0", "leave it out"));
        }
        let period = number(period.abs());
        let (x, xp) = (x.binary(Op::Remainder, period.clone())?, xp.binary(Op::Remainder, period.clone())?);
        let order = xp.argsort(0, false)?;
        let [xp, fp] = [&xp, &fp].map(|array| array.take(&order, Some(0), IndexMode::Clip));
        let (xp, fp) = (xp?, fp?);
        // The last point stands before the first one, too, and the first behind the last.
        let (first, last) = (range(0, Some(1)), range(-1, None));
        let before = xp.slice(&last)?.binary(Op::Subtract, period.clone())?;
        let behind = xp.slice(&first)?.binary(Op::Add, period)?;
        let coordinates = concat(&[&before, &xp, &behind], Some(0))?;
        let values = concat(&[&fp.slice(&last)?, &fp, &fp.slice(&first)?], Some(0))?;
        x.on_line(&coordinates, &values, None, None)
    }

    /// [`interp`](Self::interp) in one dtype.
    fn on_line(&self, xp: &Self, fp: &Self, left: Option<f64>, right: Option<f64>) -> Result<Self> {
        let last = xp.len() - 1;
        let found = xp.searchsorted(self, Side::Right, None)?;
        // The point at or before a place, and the one behind it.
        let low = interim(Op::Subtract, &[(&found).into(), integer(1)])?;
        let low = elementwise(Op::Clip, &[(&low).into(), integer(0), integer(last)])?;
        let high = elementwise(Op::Minimum, &[(&found).into(), integer(last)])?;
        let taken = |array: &Self, places: &Self| array.take(places, None, IndexMode::Clip);
        let (x0, x1, y0, y1) = (taken(xp, &low)?, taken(xp, &high)?, taken(fp, &low)?, taken(fp, &high)?);
        let value = {
            let (dx, dy) = (
                interim(Op::Subtract, &[(&x1).into(), (&x0).into()])?,
                interim(Op::Subtract, &[(&y1).into(), (&y0).into()])?,
            );
            let slope = interim(Op::Divide, &[(&dy).into(), (&dx).into()])?;
            let way = interim(Op::Subtract, &[self.into(), (&x0).into()])?;
            let rise = interim(Op::Multiply, &[(&slope).into(), (&way).into()])?;
            let value = interim(Op::Add, &[(&rise).into(), (&y0).into()])?;
            // Beside an infinity: from the other end, and between two equal values that value.
            let back = interim(Op::Subtract, &[self.into(), (&x1).into()])?;
            let fall = interim(Op::Multiply, &[(&slope).into(), (&back).into()])?;
            let other = interim(Op::Add, &[(&fall).into(), (&y1).into()])?;
            let even = interim(Op::Equal, &[(&y0).into(), (&y1).into()])?;
            let other = interim(Op::Where, &[(&even).into(), (&y0).into(), (&other).into()])?;
            let lost = interim(Op::IsNan, &[(&value).into()])?;
            interim(Op::Where, &[(&lost).into(), (&other).into(), (&value).into()])?
        };
        // At a point it is the point's value, whatever the slope; outside, that of the nearest point.
        let at = interim(Op::Equal, &[self.into(), (&x0).into()])?;
        // A place that is NaN is none.
        let ends = interim(Op::Equal, &[(&low).into(), (&high).into()])?;
        let known = interim(Op::Equal, &[(&x0).into(), (&x0).into()])?;
        let ends = interim(Op::BitwiseAnd, &[(&ends).into(), (&known).into()])?;
        let exact = interim(Op::BitwiseOr, &[(&at).into(), (&ends).into()])?;
        let value = interim(Op::Where, &[(&exact).into(), (&y0).into(), (&value).into()])?;
        let (first, end) = (xp.slice(&[SliceItem::Index(0)])?, xp.slice(&[SliceItem::Index(-1)])?);
        let (value_first, value_end) =
            (fp.slice(&[SliceItem::Index(0)])?, fp.slice(&[SliceItem::Index(-1)])?);
        let chosen = |number: Option<f64>, own: &Self| match number {
            Some(value) => Self::full(&self.queue, &[], Scalar::F64(value).cast(fp.dtype), self.usm_kind()),
            None => Ok(own.clone()),
        };
        let (left, right) = (chosen(left, &value_first)?, chosen(right, &value_end)?);
        let before = interim(Op::Less, &[self.into(), (&first).into()])?;
        let value = interim(Op::Where, &[(&before).into(), (&left).into(), (&value).into()])?;
        let behind = interim(Op::Greater, &[self.into(), (&end).into()])?;
        let value = interim(Op::Where, &[(&behind).into(), (&right).into(), (&value).into()])?;
        let nan = interim(Op::IsNan, &[self.into()])?;
        elementwise(Op::Where, &[(&nan).into(), self.into(), (&value).into()])
    }

    /// The slope along an axis at each point: by its two neighbours, to the second order, and at both ends by the nearest
    /// points, to the first order or, with `second_order`, to the second. Integers in the default floating dtype. In row-major order.
    ///
    /// # Errors
    /// [`Error::Axis`]; [`Error::Shape`] where there are fewer than two points (three with `second_order`), or not as many
    /// coordinates; [`Error::ExecutionPlacement`].
    pub fn gradient(&self, axis: isize, spacing: Spacing<'_>, second_order: bool) -> Result<Self> {
        let axis = normalize_axis("axis", axis, self.ndim())?;
        let (extent, least) = (self.shape()[axis], 2 + usize::from(second_order));
        if extent < least {
            return Err(Error::shape(
                "f",
                format!("of extent {extent} along axis {axis}"),
                format!("at least {least} points"),
                "leave the axis out, or take ends of the first order",
            ));
        }
        let axis = axis.cast_signed();
        let f = self.move_axis(axis, -1)?;
        let f = if f.dtype.kind().is_inexact() { f } else { f.astype(self.real_result())? };
        let part = |start: isize, stop: Option<isize>| f.slice(&range(start, stop));
        // What is between an end and its neighbours: the distances of three points, as arrays or numbers.
        let steps = match spacing {
            Spacing::Even(_) => None,
            Spacing::At(x) => {
                common_queue(&[("f", &self.queue), ("coordinates", &x.queue)])?;
                if x.shape() != [extent] {
                    return Err(Error::shape(
                        "coordinates",
                        format!("of shape {:?}", x.shape()),
                        format!("one for each of the {extent} points"),
                        "give as many as the axis has points, in one dimension",
                    ));
                }
                Some(x.astype(f.dtype.real_part())?.diff(0, 1, None, None)?)
            }
        };
        let step = |start: isize, stop: Option<isize>| -> Result<Option<Self>> {
            steps.as_ref().map(|steps| steps.slice(&range(start, stop))).transpose()
        };
        let even = match spacing {
            Spacing::Even(step) => step,
            Spacing::At(_) => 1.0,
        };
        let over = |top: &Self, step: &Option<Self>, times: f64| match step {
            Some(step) => interim(Op::Divide, &[top.into(), step.into()]),
            None => interim(Op::Divide, &[top.into(), number(times * even)]),
        };
        // The slope from each point to the next.
        let slope = |low: &Self, high: &Self, step: &Option<Self>| {
            over(&interim(Op::Subtract, &[high.into(), low.into()])?, step, 1.0)
        };
        let (last, end) = (step(-1, None)?, extent.cast_signed());
        let start_slope = slope(&part(0, Some(1))?, &part(1, Some(2))?, &step(0, Some(1))?)?;
        let end_slope = slope(&part(end - 2, Some(end - 1))?, &part(end - 1, None)?, &last)?;
        let inner = if extent < 3 {
            None
        } else {
            let (low, middle, high) = (part(0, Some(end - 2))?, part(1, Some(end - 1))?, part(2, None)?);
            let (before, behind) = (step(0, Some(end - 2))?, step(1, None)?);
            Some(match (&before, &behind) {
                (Some(hb), Some(ha)) => {
                    // Each slope weighs as much as the other's distance.
                    let (left, right) = (slope(&low, &middle, &before)?, slope(&middle, &high, &behind)?);
                    let weighed = interim(
                        Op::Add,
                        &[
                            (&interim(Op::Multiply, &[(&left).into(), ha.into()])?).into(),
                            (&interim(Op::Multiply, &[(&right).into(), hb.into()])?).into(),
                        ],
                    )?;
                    let both = interim(Op::Add, &[hb.into(), ha.into()])?;
                    elementwise(Op::Divide, &[(&weighed).into(), (&both).into()])?
                }
                _ => over(&interim(Op::Subtract, &[(&high).into(), (&low).into()])?, &None, 2.0)?,
            })
        };
        let (first, final_) = match (&inner, second_order) {
            (Some(_), true) => {
                // The parabola through three points: the slope of the near pair, on as far as that to the next pair changes.
                let next = slope(&part(1, Some(2))?, &part(2, Some(3))?, &step(1, Some(2))?)?;
                let previous = slope(
                    &part(end - 3, Some(end - 2))?,
                    &part(end - 2, Some(end - 1))?,
                    &step(end - 3, Some(end - 2))?,
                )?;
                let bent = |near: &Self, far: &Self, own: Option<Self>, other: Option<Self>| {
                    let change = interim(Op::Subtract, &[near.into(), far.into()])?;
                    let change = match (own, other) {
                        (Some(own), Some(other)) => {
                            let both = interim(Op::Add, &[(&own).into(), (&other).into()])?;
                            let part = interim(Op::Divide, &[(&own).into(), (&both).into()])?;
                            interim(Op::Multiply, &[(&change).into(), (&part).into()])?
                        }
                        _ => interim(Op::Multiply, &[(&change).into(), number(0.5)])?,
                    };
                    elementwise(Op::Add, &[near.into(), (&change).into()])
                };
                (
                    bent(&start_slope, &next, step(0, Some(1))?, step(1, Some(2))?)?,
                    bent(&end_slope, &previous, step(end - 2, None)?, step(end - 3, Some(end - 2))?)?,
                )
            }
            _ => (start_slope, end_slope),
        };
        // Each part is computed straight into its place among rows that lie as the array's do.
        let out = Self::builder(self.shape())
            .dtype(first.dtype)
            .buffer(first.usm_kind())
            .queue(&self.queue)
            .build()?;
        let rows = out.move_axis(axis, -1)?;
        let along = rows.ndim() - 1;
        match &inner {
            Some(inner) => concat_into(&[&first, inner, &final_], along, &rows)?,
            None => concat_into(&[&first, &final_], along, &rows)?,
        }
        Ok(out)
    }

    /// Views of all windows of extents along axes, in new dimensions behind the others: element `[i, …, k, …]` is
    /// `[i + k, …]`. They share memory, and are read-only.
    ///
    /// # Errors
    /// [`Error::Axis`] for an axis out of range or named twice; [`Error::Value`] for another number of windows than of axes,
    /// and windows longer than their axis or without an element.
    pub fn sliding_window_view(&self, window: &[usize], axes: Option<&[isize]>) -> Result<Self> {
        let all: Vec<isize> = (0..self.ndim().cast_signed()).collect();
        let axes = axes.unwrap_or(&all);
        if window.len() != axes.len() {
            return Err(Error::value(
                "window_shape",
                format!("{window:?} for {} axes", axes.len()),
                "an extent for each axis",
                "name the axes of the windows",
            ));
        }
        let mut view = self.with_layout(self.layout.windows(window, axes)?);
        view.set_writable(false);
        Ok(view)
    }
}
