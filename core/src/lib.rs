//! The core of Stridewise: dtypes, layouts, USM memory, programs, the scheduler, and the traits that a backend
//! implements. Nothing in here knows a particular backend.

mod dtype;
mod error;
mod scalar;

pub use dtype::{Dtype, DtypeKind, Element};
pub use error::{Complaint, Error, ExecutionPlacementError, Result};
pub use half::{bf16, f16};
pub use num_complex::Complex;
pub use scalar::Scalar;
