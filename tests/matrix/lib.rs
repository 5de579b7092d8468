//! The conformance matrix: every suite on every device that it is given. A backend's author runs it in a test of his own crate:
//!
//! ```no_run
//! // tests/conformance.rs, with `harness = false`
//! use stridewise_conformance::Conformance;
//!
//! let device = stridewise_core::Device::select("name of the driver").unwrap();
//! Conformance::of(&[device]).run();
//! ```
//!
//! Suites are data, checked against the scalar oracle of the core or naive loops; they know no backend. A test is named
//! `suite::case/dtype/device`, for example `elementwise::add/f32/host:avx2`. What a device says it does not support is
//! reported as ignored, with the reason; what is known to fail stands in a table ([`Conformance::expecting`]), and fails if it
//! passes.
//!
//! With `STRIDEWISE_MATRIX_SAMPLE=N`, about one case of N is run, always the same ones: for devices on which compiling a
//! kernel takes longer than running it. With `K/N`, K from 0 to N - 1, those of part K: all parts together are the whole
//! matrix, so that several processes can share it.

mod casts;
mod cell;
mod creation;
mod crossing;
mod dimensions;
mod elementwise;
mod forms;
mod fusion;
mod gathered;
mod indexing;
mod joining;
mod kernels;
mod known;
mod masks;
mod memory;
mod numeric;
mod overlap;
mod parts;
mod places;
mod products;
mod promotion;
mod random;
mod rearrangement;
mod reductions;
mod scans;
mod selftest;
mod slicing;
mod sorting;
mod sources;
mod special;
mod statistics;
mod threads;
mod values;
mod views;

use libtest_mimic::Trial;
use stridewise::{Device, Result};

/// Environment variable that makes a sample of the cases.
const SAMPLE_VARIABLE: &str = "STRIDEWISE_MATRIX_SAMPLE";

/// Which cases are run: those whose name's number leaves `part` when divided by `parts`.
struct Sample {
    part: u64,
    parts: u64,
}

impl Sample {
    fn read(text: &str) -> Option<Self> {
        let (part, parts) = text.split_once('/').unwrap_or(("0", text));
        let (part, parts) = (part.parse().ok()?, parts.parse().ok()?);
        (part < parts).then_some(Self { part, parts })
    }

    fn has(&self, name: &str) -> bool {
        number(name) % self.parts == self.part
    }
}

/// A number that a name always has (FNV-1a), of which the last digits are as good as the first.
fn number(name: &str) -> u64 {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ hash >> 32
}

/// Makes a device of so many threads.
pub type WithThreads = fn(usize) -> Result<Device>;

/// A known failure. One whose tests pass again is an error: it must go.
#[derive(Debug)]
pub struct Expectation {
    /// Devices, by filter string; `*` stands for any text.
    pub device: &'static str,
    /// Tests, by name without the device; `*` stands for any text.
    pub test: &'static str,
    /// Why they fail.
    pub reason: &'static str,
}

/// A run of the matrix, for a test without a harness.
#[derive(Debug)]
pub struct Conformance {
    devices: Vec<Device>,
    expected: &'static [Expectation],
    with_threads: Option<WithThreads>,
    sample: u64,
}

impl Conformance {
    /// Of all suites, on these devices.
    #[must_use]
    pub fn of(devices: &[Device]) -> Self {
        Self { devices: devices.to_vec(), expected: &[], with_threads: None, sample: 1 }
    }
    /// About one case of so many, where `STRIDEWISE_MATRIX_SAMPLE` says nothing else.
    #[must_use]
    pub fn sampled(mut self, parts: u64) -> Self {
        self.sample = parts.max(1);
        self
    }
    /// With a table of what is known to fail.
    #[must_use]
    pub fn expecting(mut self, expected: &'static [Expectation]) -> Self {
        self.expected = expected;
        self
    }
    /// Of a backend whose results are the same bits for any number of threads, and for all devices that are variants: of one
    /// that computes as the host does. `make` makes its device.
    #[must_use]
    pub fn with_threads(mut self, make: WithThreads) -> Self {
        self.with_threads = Some(make);
        self
    }

    /// Runs what the command line asks for, as any test does, and ends the process with its outcome.
    pub fn run(self) -> ! {
        let arguments = libtest_mimic::Arguments::from_args();
        let sample = match std::env::var(SAMPLE_VARIABLE) {
            Err(_) => Sample { part: 0, parts: self.sample },
            Ok(text) => match Sample::read(&text) {
                Some(sample) => sample,
                None => {
                    eprintln!("{SAMPLE_VARIABLE} is '{text}', but has to be N or K/N, with K less than N");
                    std::process::exit(2);
                }
            },
        };
        libtest_mimic::run(&arguments, self.trials(&sample)).exit()
    }

    fn trials(&self, sample: &Sample) -> Vec<Trial> {
        let suites = [
            elementwise::cases(),
            casts::cases(),
            promotion::cases(),
            fusion::cases(),
            gathered::cases(),
            overlap::cases(),
            joining::cases(),
            kernels::cases(),
            sources::cases(),
            views::cases(),
            slicing::cases(),
            reductions::cases(),
            memory::cases(),
            dimensions::cases(),
            indexing::cases(),
            masks::cases(),
            numeric::cases(),
            sorting::cases(),
            products::cases(),
            random::cases(),
            special::cases(),
            creation::cases(),
            rearrangement::cases(),
            statistics::cases(),
            scans::cases(),
            parts::cases(),
            places::cases(),
            crossing::cases(),
        ];
        let mut trials = selftest::trials();
        trials.extend(special::trials());
        if let Some(make) = self.with_threads {
            let variants = self.devices.iter().filter(|device| device.info().variant.is_some());
            trials.extend(threads::trials(make, &variants.cloned().collect::<Vec<_>>()));
            trials.extend(random::trials(make));
            trials.extend(kernels::trials(make));
        }
        for case in suites.iter().flatten().filter(|case| sample.has(&case.name)) {
            trials.extend(self.devices.iter().map(|device| case.on(device, self.expected)));
        }
        trials
    }
}
