//! The core of Stridewise: dtypes, layouts, USM memory, programs, the scheduler, and the traits that a backend
//! implements. Nothing in here knows a particular backend.

// What this is not for is said here, before anything inside fails: `cargo xtask targets` asks for these sentences.
#[cfg(target_family = "wasm")]
compile_error!("stridewise needs a system with threads and a clock, which WebAssembly has not");
#[cfg(target_endian = "big")]
compile_error!("stridewise is for little-endian processors: nothing of it has ever run on another");
#[cfg(not(target_has_atomic = "64"))]
compile_error!("stridewise needs atomic integers of 64 bits, which this processor has not");
#[cfg(target_pointer_width = "16")]
compile_error!("stridewise needs addresses of 32 bits or more");

pub mod backend;
pub mod fault;
#[cfg(feature = "interleavings")]
pub mod interleavings;
pub mod kernel;
pub mod layout;
pub mod memory;
#[doc(hidden)]
pub mod observe;
pub mod ops;
#[doc(hidden)]
pub mod routes;
#[doc(hidden)]
pub mod sync;

mod array;
mod cut;
mod diagnostic;
mod doctor;
mod dtype;
mod error;
mod explain;
mod form;
mod graph;
mod json;
mod lazy;
mod plan;
mod program;
mod promotion;
mod replacement;
mod runtime;
mod scalar;

/// The crate whose arrays are converted, in the version that fits. With the feature `ndarray`.
#[cfg(feature = "ndarray")]
pub use ::ndarray;
pub use array::{
    Array, ArrayOrScalar, ArrayOrValue, Axes, Bins, BitsElement, Buffer, Contracted, Creator, Extents,
    FieldElement, Flags, FloatElement, Generator, Groups, Index, IndexMode, Indexing, IntElement, Item,
    ItemOrValue, NumElement, OrderedElement, Overlap, Padding, Parts, QuantileMethod, RealElement, Reducible,
    Reduction, Scan, Side, Sort, Spacing, Unique, UniqueValues, UsmArray, UsmArrayBuilder, broadcast_arrays,
    concat, einsum, elementwise, lexsort, meshgrid, stack, where_,
};
pub use cut::Cut;
pub use doctor::{Diagnosis, doctor};
pub use dtype::{Dtype, DtypeKind, Element};
pub use error::{Complaint, Error, ExecutionPlacementError, Result};
pub use explain::{Explanation, Measured, Part as PassPart, Pass, Touched, profile};
pub use graph::{Capture, Graph};
pub use half::{bf16, f16};
pub use layout::{
    Ellipsis, Layout, MAX_LEN, MAX_NDIM, NewAxis, Order, Shape, SliceItem, SliceRange, Strides,
    broadcast_shapes,
};
pub use memory::{
    FuseScope, HostIter, HostIterMut, HostView, HostViewMut, IpcHandle, KindUsage, Lease, LiveArray, MapMode,
    MemoryOrigin, MemoryScope, MemoryUsage, PointerInfo, PointerKind, PoolStatistics, ScopeUsage, UsmKind,
    UsmMemory, UsmPtr, fuse, live_arrays, pointer_info,
};
pub use num_complex::Complex;
pub use observe::{Profiler, Row as TraceRow, Trace};
pub use ops::Op;
pub use promotion::{
    Casting, DtypeSupport, FloatInfo, IntInfo, Weak, can_cast, comparison_type, promote_types, result_type,
};
pub use runtime::{
    Context, Device, Ending, Event, EventFuture, Filter, FilterTerm, Queue, WeakDevice, common_queue,
    default_device, devices, drain, each_device, exit_patience, get_execution_queue,
};
pub use scalar::Scalar;
