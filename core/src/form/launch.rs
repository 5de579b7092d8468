//! A launch as backends take it.

use std::time::Duration;

use smallvec::SmallVec;

use super::Kernel;
use super::space::Space;
use super::tree::{Object, Parameter};
use crate::memory::pointer::UsmPtr;
use crate::scalar::Scalar;

/// How a launch is run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaunchOptions {
    /// In checked mode: items are watched ([`Watch`](super::Watch)).
    pub checked: bool,
    /// How long it may take from its beginning on; none for as long as it takes. Items that are still in a loop then, or have not
    /// begun, end it with an error of the rule [`TimeLimit`](crate::kernel::Rule::TimeLimit).
    pub time_limit: Option<Duration>,
}

/// A launch as a backend takes it, valid: there is an argument for each parameter, of its kind, dtype and dimensions; every
/// element that an array's extents and strides reach lies in live memory that the device may access, aligned to its dtype; of
/// an array that the kernel writes no two indices name one element. Arrays may overlap each other.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct KernelLaunch {
    /// The kernel.
    pub kernel: Kernel,
    /// Over what; at least one item.
    pub space: Space,
    /// In the order of the parameters.
    pub arguments: Vec<KernelArgument>,
    /// Whether items are watched ([`Watch`](super::Watch)).
    pub checked: bool,
    /// How long it may take ([`LaunchOptions::time_limit`]).
    pub time_limit: Option<Duration>,
    /// Whether it is known that its loops end soon: it is a kernel of the engine's own.
    pub ends: bool,
}

/// An argument as a backend takes it.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub enum KernelArgument {
    /// An array.
    Array {
        /// Address of the element at multi-index zero.
        ptr: UsmPtr,
        /// The extents; one may be 0.
        shape: SmallVec<[usize; 4]>,
        /// Elements to step per dimension; signed.
        strides: SmallVec<[isize; 4]>,
    },
    /// A scalar.
    Scalar(Scalar),
    /// The extents of local memory.
    Local(SmallVec<[usize; 4]>),
}

impl KernelLaunch {
    /// The arrays, with their parameters' objects.
    pub fn arrays(&self) -> impl Iterator<Item = (Object, &KernelArgument)> {
        let pairs = self.kernel.form().parameters.iter().zip(&self.arguments);
        pairs.filter_map(|(parameter, argument)| match (parameter, argument) {
            (Parameter::Object(object), KernelArgument::Array { .. }) => Some((*object, argument)),
            _ => None,
        })
    }
}
