//! The conformance matrix (`tests/matrix/`) on every device of the machine, and the host at each level.

mod devices;

use stridewise::Device;
use stridewise_conformance::{Conformance, Expectation};

/// What is known to fail, and why.
const EXPECTED_FAILURES: &[Expectation] = &[];

fn main() {
    let devices = devices::devices();
    let host = |threads| Ok(Device::from_backend(stridewise_host::device_with(None, threads)?));
    Conformance::of(&devices).expecting(EXPECTED_FAILURES).with_threads(host).run();
}
