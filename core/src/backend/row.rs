//! What a device does on the calling thread with a few elements that lie one after another: sorts, searches, what masks and
//! places select. A plan says the same of any layout, and takes longer to be made than this takes to be done.

use crate::dtype::Dtype;
use crate::ops::Op;

/// What is done with a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RowWork {
    /// Writes the elements of source 0 at the places that source 1, `int64`, names; negative ones count from the end.
    Take,
    /// Writes the elements of source 0, one for each place or one for all, to the target's places that source 1 names, as for
    /// [`Take`](Self::Take). Of several for one place the last stays.
    Put,
    /// Adds the elements of source 0, one for each place or one for all, to the target's places that source 1 names, as for
    /// [`Take`](Self::Take), one after the other.
    Add,
    /// Counts the elements of source 0, `bool`, that are true, and writes nothing.
    Count,
    /// Writes the numbers of the elements of source 0, `bool`, that are true.
    Places,
    /// Writes the elements of source 0 at which source 1, `bool`, is true.
    Select,
    /// Writes the elements of source 0, as many as are true or one for all, to where source 1, `bool`, is true.
    Assign,
    /// Writes the elements of source 0, sorted as [`Family::Sort`](crate::Family::Sort) says, or their places.
    Sort {
        /// From the largest to the smallest.
        descending: bool,
        /// Write the places instead of the elements.
        indices: bool,
    },
    /// Writes the elements of source 0 as [`Family::Select`](crate::Family::Select) says, of which those at the places from one to
    /// another are asked for.
    Partition {
        /// The first of these places.
        first: usize,
        /// The one behind the last.
        end: usize,
    },
    /// Writes the places of as many of the first sorted elements of source 0 as the target has; see [`Family::Top`](crate::Family::Top).
    Top {
        /// From the largest to the smallest.
        descending: bool,
    },
    /// Writes the first one of each run of equal elements of source 0. Each NaN is a run of its own.
    Distinct,
    /// Writes how long each run of equal elements of source 0 is, as [`Distinct`](Self::Distinct) finds them.
    Lengths,
    /// Counts the elements of source 0 between the edges that source 1 is; see [`Family::Histogram`](crate::Family::Histogram).
    Histogram,
    /// Writes where each element of source 0 would be inserted into source 1, as [`Family::Search`](crate::Family::Search) says.
    Search {
        /// Behind equal elements.
        right: bool,
    },
    /// Writes whether each element of source 0 is in source 1, which is sorted; see [`Family::Contains`](crate::Family::Contains).
    Contains {
        /// Whether it is not.
        invert: bool,
    },
    /// Writes numbers of 64 bits, each one more than the one before, and wraps. There is no source.
    Range {
        /// The first.
        start: u64,
    },
    /// Writes the running fold of source 0, as [`Family::Scan`](crate::Family::Scan) says.
    Scan {
        /// How values are combined.
        fold: Op,
    },
    /// Writes the product of the matrices that the sources are, in row-major order; so are these, unless they are transposed.
    Product {
        /// The extents of the result, and between these the one that is summed over.
        extents: [usize; 3],
        /// Which of the sources are in column-major order.
        transposed: [bool; 2],
    },
}

/// A row of elements one after another, aligned to their dtype.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// Where they begin.
    pub at: *mut u8,
    /// How many they are.
    pub len: usize,
}

/// Work on rows.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What is done.
    pub work: RowWork,
    /// The dtype of source 0.
    pub dtype: Dtype,
    /// What is read; a source that the work has not is of no elements.
    pub sources: [Stretch; 2],
    /// What is written. There is room for all that the work may write.
    pub target: Stretch,
}
