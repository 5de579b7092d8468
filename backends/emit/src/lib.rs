//! The kernels of devices as text: from a plan, or from a kernel that a user wrote, to the kernels that compute it.
//!
//! Nothing here knows a runtime. A backend says what its device's kernels can rely on ([`Target`]), asks what computes a
//! plan ([`work`]), compiles each text that it does not have by its [`Key`], and launches it with the arguments and the
//! range that stand beside it ([`Call`]).
//!
//! - `kernels`: which kernels compute a plan, their arguments and ranges, and their texts;
//! - `dialect`: the languages that texts leave in, OpenCL C and CUDA C++;
//! - `emit`: programs and users' kernels as lines of such a text.

#[cfg(test)]
mod devices;
mod dialect;
mod emit;
mod kernels;

pub use dialect::Dialect;
pub use emit::accuracy;
pub use kernels::{Argument, Call, Key, Stage, Target, Work, side_by_side, supports, together, user, work};
