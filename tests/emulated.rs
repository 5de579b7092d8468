//! The conformance matrix on two emulated devices: one with half precision and every kind of memory but without double precision, and
//! one with neither and with memory of its own alone. Whatever the engine does for devices that lack something is done here.

use stridewise::Device;
use stridewise_conformance::{Conformance, Expectation};

/// What is known to fail, and why.
const EXPECTED_FAILURES: &[Expectation] = &[];

/// Of so many cases, one is run, unless the variable of the matrix says otherwise: kernels are the host's, which has all of them.
const SAMPLE: u64 = 40;

fn main() {
    let device = |preset: &str| {
        Device::select(&format!("emulated:{preset}")).unwrap_or_else(|error| panic!("{preset}: {error}"))
    };
    let devices = [device("iris_xe"), device("raspberry_pi_4")];
    Conformance::of(&devices).sampled(SAMPLE).expecting(EXPECTED_FAILURES).run();
}
