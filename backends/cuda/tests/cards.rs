//! The conformance matrix on a card, where the machine has one. As every kernel is compiled first, it takes one case of eight by
//! itself; `STRIDEWISE_MATRIX_SAMPLE` says otherwise.

use stridewise_conformance::{Conformance, Expectation};
use stridewise_core::Device;

stridewise_core::register_driver!(stridewise_cuda::driver);

/// Of how many cases one is run.
const SAMPLE: u64 = 8;
/// What is known to fail, and why.
const EXPECTED_FAILURES: &[Expectation] = &[];

fn main() {
    // The host is there, too, as the other driver that events and copies cross to.
    match Device::select("cuda") {
        Ok(device) => Conformance::of(&[device]).sampled(SAMPLE).expecting(EXPECTED_FAILURES).run(),
        Err(error) => eprintln!("skipped: {error}"),
    }
}
