//! What can be made to fail, one way of speaking about all of it.

use std::num::NonZeroU64;

use stridewise::fault::{self, Pattern, Site};
use stridewise_opencl_stub::Stub;

use crate::allocator;

/// `CL_OUT_OF_RESOURCES`.
const OUT_OF_RESOURCES: i32 = -5;

/// What fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// A call that the engine asks about: see [`Site`].
    Engine(Site),
    /// An allocation of the program's heap of 32 KiB or more, whoever makes it.
    Allocator,
    /// A call of the OpenCL runtime.
    Runtime,
}

impl Fault {
    /// What fails on the host.
    pub(crate) const HOST: [Self; 5] = [
        Self::Engine(Site::Usm),
        Self::Engine(Site::System),
        Self::Engine(Site::Heap),
        Self::Engine(Site::Thread),
        Self::Allocator,
    ];
    /// What fails where an OpenCL runtime computes.
    pub(crate) const OPENCL: [Self; 5] = [
        Self::Runtime,
        Self::Engine(Site::Usm),
        Self::Engine(Site::Heap),
        Self::Engine(Site::Thread),
        Self::Allocator,
    ];

    /// Lets every n-th fail from now on.
    pub(crate) fn every(self, n: u64, stub: Option<&Stub>) {
        match self {
            Self::Engine(site) => fault::arm(site, Pattern::Every(NonZeroU64::new(n).unwrap())),
            Self::Allocator => allocator::arm(n, [0, 0]),
            Self::Runtime => stub.unwrap().fail_every(n, OUT_OF_RESOURCES),
        }
    }

    /// Lets two fail, counted from now on. The runtime has no such command.
    pub(crate) fn at(self, calls: [u64; 2]) {
        match self {
            Self::Engine(site) => fault::arm(site, Pattern::At(calls)),
            Self::Allocator => allocator::arm(0, calls),
            Self::Runtime => unreachable!("the stub fails every so many calls"),
        }
    }

    /// How many have failed.
    pub(crate) fn struck(self, stub: Option<&Stub>) -> u64 {
        match self {
            Self::Engine(site) => fault::struck(site),
            Self::Allocator => allocator::struck(),
            Self::Runtime => stub.map_or(0, Stub::struck),
        }
    }
}

/// Lets nothing fail any more. What was counted stays; of the runtime, [`Fault::struck`] is to be asked before.
pub(crate) fn disarm(stub: Option<&Stub>) {
    allocator::disarm();
    fault::disarm();
    if let Some(stub) = stub {
        stub.fail_every(0, 0);
    }
}
