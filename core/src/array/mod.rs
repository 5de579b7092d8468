//! Arrays: a view of USM memory, or of work that is recorded and not yet run.

#[cfg(not(all(feature = "npy", feature = "ndarray")))]
mod absent;
mod accumulating;
mod addressing;
mod axis_order;
mod build;
mod closeness;
mod complex;
mod concat;
mod counting;
mod creation;
mod display;
mod draws;
mod einsum;
mod elementwise;
mod extremes;
mod functions;
mod groups;
mod indexing;
mod interpolation;
mod kernels;
mod linalg;
mod mapped;
mod masks;
mod nan;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "npy")]
mod npy;
mod padding;
mod quantiles;
mod random;
mod rearrange;
mod reduction;
mod scan;
mod searching;
#[cfg(feature = "serde")]
mod serialization;
mod sets;
mod sorting;
mod statistics;
mod transfer;
mod typed;
mod variates;
mod views;
mod weighted;

pub use addressing::IndexMode;
pub use build::{Buffer, UsmArrayBuilder};
pub use concat::{concat, stack};
pub use counting::Bins;
pub use creation::{Indexing, meshgrid};
pub use einsum::einsum;
pub use elementwise::{elementwise, where_};
pub use groups::Groups;
pub use indexing::Index;
pub use interpolation::Spacing;
pub use linalg::Contracted;
pub use padding::{Overlap, Padding};
pub use quantiles::QuantileMethod;
pub use random::Generator;
pub use rearrange::broadcast_arrays;
pub use reduction::Reduction;
pub use scan::Scan;
pub use searching::Side;
pub use sets::Unique;
pub use sorting::Sort;
pub use typed::{
    Array, ArrayOrValue, Axes, BitsElement, Creator, Extents, FieldElement, FloatElement, IntElement, Item,
    ItemOrValue, NumElement, OrderedElement, Parts, RealElement, Reducible, UniqueValues,
};
pub use weighted::lexsort;

pub use crate::lazy::{ArrayOrScalar, Flags, UsmArray};
