//! Walks over the points of a plan, in row-major order: each work-item takes some points that follow each other.

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::backend::MAX_PLAN_DIMS;

use super::{Argument, GROUP, Key, Target};

/// Points that a work-item of a processor takes at least, where there are as many.
const FEWEST_POINTS: usize = 256;
/// Work-items that there are for each compute unit of a processor, so that all of them are busy until the end.
const ITEMS_PER_UNIT: usize = 8;

/// One stride per dimension.
pub(super) type Strides = SmallVec<[isize; MAX_PLAN_DIMS]>;

/// An iteration space: extents, and for each view (an array, or another number that depends on the place) its strides.
#[derive(Clone, Debug)]
pub(super) struct Points {
    pub(super) dims: SmallVec<[usize; MAX_PLAN_DIMS]>,
    pub(super) views: SmallVec<[Strides; 6]>,
}

impl Points {
    /// The space of as many dimensions.
    pub(super) fn new<'a>(dims: &[usize], views: impl IntoIterator<Item = &'a [isize]>) -> Self {
        Self { dims: dims.into(), views: views.into_iter().map(Strides::from_slice).collect() }
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.dims.iter().product()
    }

    /// Puts the dimensions along which a view takes small steps last. This changes the order of the points.
    pub(super) fn sort_by(&mut self, view: usize) {
        let mut order: SmallVec<[usize; MAX_PLAN_DIMS]> = (0..self.dims.len()).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(self.views[view][d].unsigned_abs()));
        self.dims = order.iter().map(|&d| self.dims[d]).collect();
        for strides in &mut self.views {
            *strides = order.iter().map(|&d| strides[d]).collect();
        }
    }

    /// Leaves out dimensions of extent 1 and makes one dimension of two where all views allow it.
    pub(super) fn merge(&mut self) {
        let mut kept = 0;
        for d in 0..self.dims.len() {
            let extent = self.dims[d];
            if extent == 1 {
                continue;
            }
            let step = extent.cast_signed();
            let one = kept > 0 && self.views.iter().all(|v| v[d].checked_mul(step) == Some(v[kept - 1]));
            if !one {
                kept += 1;
            }
            self.dims[kept - 1] = if one { self.dims[kept - 1] * extent } else { extent };
            for strides in &mut self.views {
                strides[kept - 1] = strides[d];
            }
        }
        self.dims.truncate(kept);
        self.views.iter_mut().for_each(|strides| strides.truncate(kept));
    }

    /// Whether a number of the walk needs 64 bits.
    pub(super) fn is_wide(&self) -> bool {
        self.len() > i32::MAX as usize
            || self.views.iter().flatten().any(|&stride| i32::try_from(stride).is_err())
    }
}

/// The form of a walk: what the text of its kernel depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walk {
    dims: usize,
    views: usize,
    /// Numbers of 64 bits instead of 32.
    wide: bool,
}

impl Walk {
    /// The form for a space.
    pub(super) fn new(points: &Points, wide: bool) -> Self {
        Self { dims: points.dims.len(), views: points.views.len(), wide }
    }

    /// Adds the form to a key.
    pub(super) fn key(self, key: &mut Key) {
        key.push(self.dims);
        key.push(self.views);
        key.push(usize::from(self.wide));
    }

    /// Type of a number of the walk.
    pub(super) const fn number(self) -> &'static str {
        if self.wide { "long" } else { "int" }
    }

    /// The argument for the parameter of type `walk`.
    pub(super) fn argument(self, points: &Points, each: usize) -> Argument {
        let dims = points.dims.iter().map(|&extent| extent.cast_signed());
        let head = [points.len().cast_signed(), each.cast_signed()];
        self.numbers(head.into_iter().chain(dims).chain(points.views.iter().flatten().copied()))
    }

    /// Numbers in a struct.
    pub(super) fn numbers(self, values: impl IntoIterator<Item = isize>) -> Argument {
        if self.wide {
            return Argument::longs(values);
        }
        // They are no wider, or the walk is.
        #[allow(clippy::cast_possible_truncation)]
        Argument::Bytes(values.into_iter().flat_map(|value| (value as i32).to_le_bytes()).collect())
    }

    /// The type `walk`.
    pub(super) fn types(self) -> String {
        let mut text = format!("typedef struct {{\n    {} count, each", self.number());
        // Writing to a `String` cannot fail.
        for d in 0..self.dims {
            let _ = write!(text, ", n{d}");
        }
        for v in 0..self.views {
            for d in 0..self.dims {
                let _ = write!(text, ", s{v}_{d}");
            }
        }
        text.push_str(";\n} walk;\n");
        text
    }

    /// The body of a kernel with a parameter `w` of type `walk`: `body` for each of the work-item's points, where
    /// `at0`, `at1`, … are the views' offsets.
    pub(super) fn body(self, body: &str) -> String {
        let mut text = String::from(
            "    const long first = (long)get_global_id(0) * w.each;\n    if (first >= w.count)\n        return;\n    \
             const long end = min(first + (long)w.each, (long)w.count);\n",
        );
        let unsigned = if self.wide { "ulong" } else { "uint" };
        let _ = writeln!(text, "    {unsigned} rest = ({unsigned})first;");
        for d in (0..self.dims).rev() {
            let _ = if d == 0 {
                writeln!(text, "    {unsigned} i0 = rest;")
            } else {
                writeln!(
                    text,
                    "    {unsigned} i{d} = rest % ({unsigned})w.n{d};\n    rest /= ({unsigned})w.n{d};"
                )
            };
        }
        for v in 0..self.views {
            let terms: String = (0..self.dims).map(|d| format!(" + (long)i{d} * w.s{v}_{d}")).collect();
            let _ = writeln!(text, "    long at{v} = 0{terms};");
        }
        let _ = writeln!(
            text,
            "    for (long point = first;;) {{\n{body}        if (++point == end)\n            break;"
        );
        for d in (0..self.dims).rev() {
            for v in 0..self.views {
                let _ = writeln!(text, "        at{v} += w.s{v}_{d};");
            }
            let _ = writeln!(
                text,
                "        if (++i{d} < ({unsigned})w.n{d})\n            continue;\n        i{d} = 0;"
            );
            for v in 0..self.views {
                let _ = writeln!(text, "        at{v} -= (long)w.n{d} * w.s{v}_{d};");
            }
        }
        text.push_str("    }\n");
        text
    }
}

/// Points of a work-item.
pub(super) fn each(points: usize, target: &Target) -> usize {
    if target.cpu {
        points.div_ceil(ITEMS_PER_UNIT * target.compute_units.max(1)).max(FEWEST_POINTS)
    } else {
        1
    }
}

/// Work-items of a group.
pub(super) fn group(target: &Target) -> usize {
    if target.cpu { 1 } else { GROUP.min(target.max_group.max(1)) }
}

/// Work-items, and those of a group, for so many of them.
pub(super) fn range(items: usize, target: &Target) -> ([usize; 2], [usize; 2]) {
    let group = group(target);
    ([items.max(1).next_multiple_of(group), 1], [group, 1])
}

/// Attributes of a kernel whose groups [`range`] says. Work-items of a processor do one thing after another, and there
/// is nothing to be had from running some of them side by side in vector registers.
pub(super) const fn attributes(target: &Target) -> &'static str {
    if target.cpu { "__attribute__((reqd_work_group_size(1, 1, 1)))" } else { "" }
}
