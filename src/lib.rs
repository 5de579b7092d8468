//! Stridewise.
pub use stridewise_core::*;
