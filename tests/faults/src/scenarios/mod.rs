//! The scenarios: some work of each family, whose results are checked.

mod compute;
mod exchange;
mod host;
mod order;
mod runtime;
mod shape;

use stridewise::Result;

use crate::bench::Bench;
use crate::faults::Fault;

/// Some work, which ends in right results or an error. It panics where a result is wrong.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Bench) -> Result<()>,
    /// What is not made to fail here, as a crate that the engine uses has no answer to it.
    pub(crate) spared: &'static [Fault],
    /// Whether it runs on an OpenCL device, too.
    pub(crate) opencl: bool,
}

const fn scenario(name: &'static str, run: fn(&Bench) -> Result<()>) -> Scenario {
    Scenario { name, run, spared: &[], opencl: true }
}

impl Scenario {
    /// Runs on the host only: elsewhere it is not for all, or lives by what kernels compute.
    const fn of_the_host(self) -> Self {
        Self { opencl: false, ..self }
    }

    /// The same, without some failures.
    const fn sparing(self, spared: &'static [Fault]) -> Self {
        Self { spared, ..self }
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Scenario> {
    [compute::LIST, order::LIST, shape::LIST, host::LIST, runtime::LIST, exchange::LIST]
        .into_iter()
        .flatten()
        .map(|scenario| Scenario { ..*scenario })
        .collect()
}
