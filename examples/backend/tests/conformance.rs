//! The matrix on this backend's device: it passes what it supports, and what it does not is ignored, with its reason.

use stridewise_conformance::{Conformance, Expectation};
use stridewise_core::Device;

stridewise_core::register_driver!(stridewise_loops::driver);

/// What is known to fail, and why.
const EXPECTED_FAILURES: &[Expectation] = &[];

fn main() {
    // The host is there, too, as the other driver that events and copies cross to.
    let device = Device::select("loops").expect("the driver is linked and registered");
    Conformance::of(&[device]).expecting(EXPECTED_FAILURES).run();
}
