//! The item that runs a kernel: where it is in the index space, and what it does together with its group.

use super::{Context, Expr};
use crate::array::{BitsElement, NumElement, RealElement};
use crate::dtype::Element;
use crate::form::{Collective, Coordinate, Fence, Level, MemoryOrder, MemoryScope};
use crate::ops::Op;

/// The item that runs a kernel, in an index space of `D` dimensions: the first parameter of every kernel. Ids and extents are
/// `i64`, so that what lies before the first of them is negative. Axes are numbered as those of arrays: the last one is the
/// fastest.
#[derive(Clone, Copy)]
pub struct Item<'k, const D: usize> {
    context: &'k Context,
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident $level:ident $coordinate:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        #[must_use]
        pub fn $name(&self, axis: usize) -> Expr<'k, i64> {
            let axis = u8::try_from(axis).unwrap_or(u8::MAX);
            self.context.define(|k| k.index(Level::$level, Coordinate::$coordinate(axis)))
        }
    )*};
}
macro_rules! linear_places {
    ($($(#[$doc:meta])* $name:ident $level:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        #[must_use]
        pub fn $name(&self) -> Expr<'k, i64> {
            self.context.define(|k| k.index(Level::$level, Coordinate::LinearId))
        }
    )*};
}
macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident $Class:ident $collective:ident $Op:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        #[must_use]
        pub fn $name<T: $Class>(&self, x: Expr<'k, T>) -> Expr<'k, T> {
            self.collective(Collective::$collective(Op::$Op), x)
        }
    )*};
}

impl<'k, const D: usize> Item<'k, D> {
    pub(super) const fn new(context: &'k Context) -> Self {
        Self { context }
    }

    places! {
        /// The item's id along an axis of the whole index space.
        global_id Global Id;
        /// The item's id along an axis of its group.
        local_id Local Id;
        /// The group's id along an axis.
        group_id Group Id;
        /// Items along an axis.
        global_range Global Range;
        /// Items of a full group along an axis.
        local_range Local Range;
        /// Groups along an axis.
        group_range Group Range;
    }
    linear_places! {
        /// The item's number in the whole index space, in row-major order.
        global_linear_id Global;
        /// The item's number in its group, in row-major order.
        local_linear_id Local;
        /// The group's number, in row-major order.
        group_linear_id Group;
    }

    /// Waits for all items of the group, which see what was written to local and global memory before. All items of the group
    /// come here, or none.
    #[track_caller]
    pub fn barrier(&self) {
        self.barrier_of(Fence::BOTH);
    }
    /// The same for one kind of memory.
    #[track_caller]
    pub fn barrier_of(&self, fence: Fence) {
        self.context.perform(|k| {
            k.barrier(fence);
            Ok(())
        });
    }
    /// Orders the item's own accesses for others.
    #[track_caller]
    pub fn fence(&self, order: MemoryOrder, scope: MemoryScope) {
        self.context.perform(|k| {
            k.fence(order, scope);
            Ok(())
        });
    }

    folds! {
        /// The sum of the values of all items of the group. As all functions of groups, it is a barrier for local memory, and
        /// all items of the group come to it, or none.
        reduce_sum NumElement Reduce Add;
        /// The product of the values of all items of the group.
        reduce_product NumElement Reduce Multiply;
        /// The smallest value of all items of the group.
        reduce_min RealElement Reduce Minimum;
        /// The largest value of all items of the group.
        reduce_max RealElement Reduce Maximum;
        /// The bits that the values of all items of the group have.
        reduce_and BitsElement Reduce BitwiseAnd;
        /// The bits that any value of the group's items has.
        reduce_or BitsElement Reduce BitwiseOr;
        /// The sum of the values of the group's items up to this one, and its own.
        inclusive_sum NumElement InclusiveScan Add;
        /// The sum of the values of the group's items before this one.
        exclusive_sum NumElement ExclusiveScan Add;
        /// The smallest value of the group's items up to this one.
        inclusive_min RealElement InclusiveScan Minimum;
        /// The largest value of the group's items up to this one.
        inclusive_max RealElement InclusiveScan Maximum;
    }

    /// Whether it is true for all items of the group.
    #[track_caller]
    #[must_use]
    pub fn all(&self, x: Expr<'k, bool>) -> Expr<'k, bool> {
        self.collective(Collective::All, x)
    }
    /// Whether it is true for any item of the group.
    #[track_caller]
    #[must_use]
    pub fn any(&self, x: Expr<'k, bool>) -> Expr<'k, bool> {
        self.collective(Collective::Any, x)
    }
    /// The value of the item with a number in the group, which is the same for all.
    #[track_caller]
    #[must_use]
    pub fn broadcast<T: Element>(&self, x: Expr<'k, T>, from: Expr<'k, i64>) -> Expr<'k, T> {
        self.collective(Collective::Broadcast(from.value), x)
    }

    #[track_caller]
    fn collective<T: Element>(&self, collective: Collective, x: Expr<'k, T>) -> Expr<'k, T> {
        self.context.define(|k| k.collective(collective, x.value))
    }
}
