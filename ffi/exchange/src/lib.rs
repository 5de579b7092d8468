//! What the C and Python interfaces share: the protocols by which arrays change hands, without any object of Python or
//! handle of C. Every number that comes from outside is checked here or in the core, once.

pub mod arrow;
pub mod dlpack;
pub mod host;
pub mod interface;
pub mod typestr;
