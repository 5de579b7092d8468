//! The core of Stridewise: dtypes, layouts, USM memory, programs, the scheduler, and the traits that a backend
//! implements. Nothing in here knows a particular backend.

pub mod backend;
pub mod fault;
#[cfg(feature = "interleavings")]
pub mod interleavings;
pub mod kernel;
pub mod layout;
pub mod memory;
pub mod ops;
#[doc(hidden)]
pub mod routes;
#[doc(hidden)]
pub mod sync;

mod array;
mod diagnostic;
mod doctor;
mod dtype;
mod error;
mod form;
mod graph;
mod lazy;
mod plan;
mod program;
mod promotion;
mod runtime;
mod scalar;

/// The crate whose arrays are converted, in the version that fits. With the feature `ndarray`.
#[cfg(feature = "ndarray")]
pub use ::ndarray;
pub use array::{
    Array, ArrayOrScalar, ArrayOrValue, Axes, Bins, BitsElement, Buffer, Contracted, Creator, Extents,
    FieldElement, Flags, FloatElement, Generator, Groups, Index, IndexMode, Indexing, IntElement, Item,
    ItemOrValue, NumElement, OrderedElement, Overlap, Padding, Parts, QuantileMethod, RealElement, Reducible,
    Reduction, Scan, Side, Spacing, Unique, UniqueValues, UsmArray, UsmArrayBuilder, broadcast_arrays,
    concat, einsum, elementwise, lexsort, meshgrid, stack, where_,
};
pub use doctor::{Diagnosis, doctor};
pub use dtype::{Dtype, DtypeKind, Element};
pub use error::{Complaint, Error, ExecutionPlacementError, Result};
pub use graph::{Capture, Graph};
pub use half::{bf16, f16};
pub use layout::{
    Coalesced, Dims, Ellipsis, Indices, Layout, MAX_LEN, MAX_NDIM, NewAxis, Order, Shape, SliceItem,
    SliceRange, Strides, broadcast_shapes, coalesce, normalize_axes, normalize_axis, overlaps, resolve_shape,
    same_view, self_overlaps,
};
pub use memory::{
    FuseScope, HostIter, HostIterMut, HostView, HostViewMut, IpcHandle, Lease, MapMode, PointerInfo,
    PointerKind, PoolStatistics, UsmKind, UsmMemory, UsmPtr, fuse, pointer_info,
};
pub use num_complex::Complex;
pub use ops::Op;
pub use plan::{
    Family, IndexedAxis, LaunchPlan, MAX_PLAN_DIMS, MatrixProduct, Operand, ProductSide, Stored,
    VectorProduct,
};
pub use program::{Arg, Fold, MAX_CONSTS, MAX_INPUTS, MAX_OUTPUTS, MAX_STEPS, Program, ProgramBuilder, Step};
pub use promotion::{
    Casting, DtypeSupport, FloatInfo, IntInfo, Weak, can_cast, comparison_type, promote_types, result_type,
};
pub use runtime::{
    Context, Device, Ending, Event, EventFuture, Filter, FilterTerm, Queue, WeakDevice, common_queue,
    default_device, devices, drain, each_device, exit_patience, get_execution_queue,
};
pub use scalar::Scalar;
