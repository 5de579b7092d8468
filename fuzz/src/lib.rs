//! Targets of a fuzzer: functions of any bytes that panic where the engine breaks a promise. They take apart what comes from
//! outside (numbers, files, descriptions of memory, calls, texts), and run programs beside oracles.
//!
//! The oracles of the tests are used where there are some; the files are included from where they are.

mod dlpack;
mod expressions;
mod filters;
mod interfaces;
mod layouts;
mod lent;
mod npy;
mod programs;
mod random;
mod reach;
mod sequences;
mod shapes;

#[path = "../../ffi/c/tests/calls/mod.rs"]
mod calls;
#[path = "../../tests/graphs/mod.rs"]
mod graphs;
#[path = "../../tests/model/mod.rs"]
mod model;

/// What is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is that of its folder of inputs.
    pub name: &'static str,
    /// Runs it on an input.
    ///
    /// # Panics
    /// Where the engine does what it must not.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "layouts", run: layouts::run },
    Target { name: "shapes", run: shapes::run },
    Target { name: "npy", run: npy::run },
    Target { name: "dlpack", run: dlpack::run },
    Target { name: "interfaces", run: interfaces::run },
    Target { name: "filters", run: filters::run },
    Target { name: "calls", run: sequences::run },
    Target { name: "programs", run: programs::run },
    Target { name: "expressions", run: expressions::run },
];

/// The target with a name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().copied().find(|target| target.name == name)
}
