//! Index spaces: how many items there are, and how they are grouped.

use std::fmt;

use smallvec::SmallVec;

use super::Kernel;
use super::text::List;
use super::tree::MAX_SPACE_DIMS;
use crate::error::{Error, Result, counted};

/// Items of a group where nothing depends on how they are grouped: as many as a host computes in lock-step, and as a GPU's groups have.
const FREE_GROUP_LEN: usize = 256;
/// Bytes of private arrays that the items of such a group have together, unless one item has more.
const FREE_PRIVATE_BYTES: u64 = 1 << 24;

/// How many items have so many bytes of private arrays; one at least.
fn items_in(kernel: &Kernel, private: u64) -> usize {
    match private.checked_div(kernel.private_bytes()) {
        None => usize::MAX,
        Some(items) => usize::try_from(items.max(1)).unwrap_or(usize::MAX),
    }
}

/// The extents of a launch: of all items and, where it is said, of each group (SYCL 2020, `range` and `nd_range`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct NdRange {
    global: SmallVec<[usize; 3]>,
    group: Option<SmallVec<[usize; 3]>>,
    partial: bool,
}

impl NdRange {
    /// So many items. Where a kernel's items work together, all are one group, or the largest equal ones that the device
    /// takes.
    #[must_use]
    pub fn of(global: &[usize]) -> Self {
        Self { global: global.into(), group: None, partial: false }
    }

    /// So many items, in groups of so many.
    #[must_use]
    pub fn in_groups(global: &[usize], group: &[usize]) -> Self {
        Self { global: global.into(), group: Some(group.into()), partial: false }
    }

    /// The extents, for a message.
    fn told(&self) -> String {
        match &self.group {
            Some(group) => format!("{:?} items in groups of {group:?}", self.global),
            None => format!("{:?} items", self.global),
        }
    }

    /// The same, and where the extent of a group does not divide that of all items, the last group has fewer: barriers are
    /// for those that it has, and its extents ([`Coordinate::Range`](super::Coordinate::Range)) and linear ids count them.
    #[must_use]
    pub fn partial(self) -> Self {
        Self { partial: true, ..self }
    }

    /// The extents of all items and, where they are said, of a group.
    pub(crate) fn extents(&self) -> (&[usize], Option<&[usize]>) {
        (&self.global, self.group.as_deref())
    }
}

impl<const N: usize> From<[usize; N]> for NdRange {
    fn from(global: [usize; N]) -> Self {
        Self::of(&global)
    }
}
impl From<usize> for NdRange {
    fn from(global: usize) -> Self {
        Self::of(&[global])
    }
}
impl From<(usize, usize)> for NdRange {
    fn from((rows, columns): (usize, usize)) -> Self {
        Self::of(&[rows, columns])
    }
}
impl From<(usize, usize, usize)> for NdRange {
    fn from((planes, rows, columns): (usize, usize, usize)) -> Self {
        Self::of(&[planes, rows, columns])
    }
}

/// The index space of a launch, checked: its extents in three dimensions, of which the leading ones may be 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Space {
    /// Dimensions of the kernel.
    pub dims: usize,
    /// Items in all.
    pub global: [usize; MAX_SPACE_DIMS],
    /// Items in a full group.
    pub group: [usize; MAX_SPACE_DIMS],
}

/// Items of a launch at most.
const MOST_ITEMS: usize = isize::MAX as usize / 4;

fn three(extents: &[usize]) -> [usize; MAX_SPACE_DIMS] {
    let mut all = [1; MAX_SPACE_DIMS];
    all[MAX_SPACE_DIMS - extents.len()..].copy_from_slice(extents);
    all
}

impl Space {
    /// The space of a launch of a kernel on a device that takes groups of so many items, with so many bytes of private arrays
    /// for all of them together.
    ///
    /// # Errors
    /// [`Error::Axis`] where it has not the kernel's dimensions, [`Error::Value`] for groups that are empty, too large or
    /// do not divide the items, or have more private memory than there is, [`Error::Overflow`] for more items
    /// than a quarter of [`isize::MAX`].
    pub fn new(kernel: &Kernel, range: &NdRange, most: usize, private: u64) -> Result<Self> {
        let dims = kernel.form().dims;
        let group_dims = range.group.as_ref().map_or(dims, SmallVec::len);
        if range.global.len() != dims || group_dims != dims {
            return Err(Error::axis(
                "nd_range",
                range.told(),
                format!("{}, as kernel `{}` has", counted(dims, "dimension"), kernel.name()),
                "launch it over as many extents",
            ));
        }
        let global = three(&range.global);
        // Group ids times group extents stay in range too.
        let len = global.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent));
        if len.is_none_or(|len| len > MOST_ITEMS) {
            return Err(Error::overflow(
                "nd_range",
                format!("{:?}", range.global),
                format!("{MOST_ITEMS} items at most"),
                "launch the kernel several times, over parts",
            ));
        }
        let group = match &range.group {
            Some(group) => three(group),
            None if kernel.is_grouped() => Self::equal_groups(global, most.min(items_in(kernel, private))),
            None => Self::free_groups(global, most.min(items_in(kernel, private.min(FREE_PRIVATE_BYTES)))),
        };
        let bytes = group.iter().fold(kernel.private_bytes(), |bytes, &e| bytes.saturating_mul(e as u64));
        if bytes > private {
            return Err(Error::value(
                "private memory",
                format!(
                    "{bytes} bytes for each group of `{}`, {} for each item",
                    kernel.name(),
                    kernel.private_bytes()
                ),
                format!("{private} bytes at most for a group"),
                "use smaller groups, or smaller private arrays",
            ));
        }
        let space = Self { dims, global, group };
        let size = group.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent));
        let divides = || global.iter().zip(group).all(|(&global, group)| global % group == 0);
        let free = range.partial || (range.group.is_none() && !kernel.is_grouped());
        match size {
            Some(1..) if size <= Some(most) && (free || divides()) => Ok(space),
            Some(1..) if size <= Some(most) => Err(Error::value(
                "nd_range",
                range.told(),
                "groups whose extents divide those of all items",
                "choose other extents, guard the items beyond the end, or ask for a partial last group",
            )),
            _ => Err(Error::value(
                "nd_range",
                range.told(),
                format!("groups of 1 to {most} items"),
                "choose smaller groups, of as many items as the device's limits allow",
            )),
        }
    }

    /// One group of all items, or, from the last axis on, the greatest divisors that fit.
    fn equal_groups(global: [usize; 3], most: usize) -> [usize; 3] {
        let mut left = most.max(1);
        let mut group = [1; 3];
        for (group, &extent) in group.iter_mut().zip(&global).rev() {
            *group = (1..=left.min(extent)).rev().find(|g| extent % g == 0).unwrap_or(1);
            left /= *group;
        }
        group
    }

    fn free_groups(global: [usize; 3], most: usize) -> [usize; 3] {
        let mut left = FREE_GROUP_LEN.min(most).max(1);
        let mut group = [1; 3];
        for (group, &extent) in group.iter_mut().zip(&global).rev() {
            *group = left.min(extent).max(1);
            left /= *group;
        }
        group
    }

    /// Groups along each axis.
    #[must_use]
    pub fn groups(&self) -> [usize; 3] {
        std::array::from_fn(|axis| self.global[axis].div_ceil(self.group[axis]))
    }
    /// Whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.global.contains(&0)
    }
    /// Number of groups.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.groups().iter().product()
    }
    /// Items in a full group.
    #[must_use]
    pub fn group_len(&self) -> usize {
        self.group.iter().product()
    }
    /// Items along each axis that the group of an id has: the last one may have fewer.
    #[must_use]
    pub fn extents_of(&self, group: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| self.group[axis].min(self.global[axis] - group[axis] * self.group[axis]))
    }
    /// The id of the group of a number, in row-major order.
    #[must_use]
    pub fn group_id(&self, number: usize) -> [usize; 3] {
        split(number, self.groups())
    }
    /// The global id of the item of a global linear id.
    #[must_use]
    pub fn item_id(&self, linear: usize) -> [usize; 3] {
        split(linear, self.global)
    }
    /// The local id of an item by its number in a full group, in row-major order.
    #[must_use]
    pub fn local_id(&self, linear: usize) -> [usize; 3] {
        split(linear, self.group)
    }
    /// The global id of an item.
    #[must_use]
    pub fn global_id(&self, group: [usize; 3], local: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|axis| group[axis] * self.group[axis] + local[axis])
    }
    /// Whether there is an item of this global id: a partial group does not have all.
    #[must_use]
    pub fn contains(&self, global: [usize; 3]) -> bool {
        global.iter().zip(self.global).all(|(&id, extent)| id < extent)
    }
    /// The number of an item or group in row-major order.
    #[must_use]
    pub fn linear(id: [usize; 3], extents: [usize; 3]) -> usize {
        id.iter().zip(extents).fold(0, |number, (&id, extent)| number * extent + id)
    }
    /// An axis of the kernel, of the three.
    #[must_use]
    pub const fn axis(&self, axis: u8) -> usize {
        axis as usize + MAX_SPACE_DIMS - self.dims
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = MAX_SPACE_DIMS - self.dims;
        write!(f, "({}) in groups of ({})", List(&self.global[from..]), List(&self.group[from..]))
    }
}

fn split(mut number: usize, extents: [usize; 3]) -> [usize; 3] {
    let mut id = [0; 3];
    for (id, extent) in id.iter_mut().zip(extents).rev() {
        *id = number % extent.max(1);
        number /= extent.max(1);
    }
    id
}
