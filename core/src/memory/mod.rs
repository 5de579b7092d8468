//! USM memory. The only module of this crate with `unsafe` code.

mod pointer;

pub use pointer::{PointerKind, UsmKind, UsmPtr};
