//! Of a build or for a target without the compiler: there are no stretches.

use std::convert::Infallible;

use smallvec::SmallVec;
use stridewise_core::backend::Finding;

use super::{Asked, NATIVE_VARIABLE, PERF_VARIABLE, Stretch};

/// There is none.
#[derive(Clone)]
pub(in super::super) struct Function(Infallible);

impl Function {
    /// Nothing is done.
    pub(in super::super) fn keep_near(&mut self) {}

    /// # Safety
    /// Never called.
    pub(super) unsafe fn run(&self, _: &[*mut u8], _: &[u8], _: usize) {
        match self.0 {}
    }
}

/// None.
pub(in super::super) fn stretches(_: &Asked<'_>) -> SmallVec<[Stretch; 1]> {
    SmallVec::new()
}

/// What the doctor says of compiled code.
pub(crate) fn findings() -> [Finding; 2] {
    [NATIVE_VARIABLE, PERF_VARIABLE]
        .map(|variable| Finding::fine(variable, "this build compiles no programs and no kernels"))
}
