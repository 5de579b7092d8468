//! The conformance matrix: every suite on every device of the machine.
//!
//! Suites are data, checked against the scalar oracle of the core or naive loops; they know no backend. A test is named
//! `suite::case/dtype/device`, for example `elementwise::add/f32/host:avx2`. What a device says it does not support is
//! reported as ignored, with the reason; what is known to fail stands in `expectations.rs`, and fails if it passes.
//!
//! With `STRIDEWISE_MATRIX_SAMPLE=N`, about one case of N is run, always the same ones: for devices on which compiling a
//! kernel takes longer than running it. With `K/N`, K from 0 to N - 1, those of part K: all parts together are the whole
//! matrix, so that several processes can share it.

mod casts;
mod cell;
mod creation;
mod crossing;
#[path = "../devices/mod.rs"]
mod devices;
mod dimensions;
mod elementwise;
mod expectations;
mod forms;
mod fusion;
mod gathered;
mod indexing;
mod joining;
mod kernels;
#[path = "../kernels/mod.rs"]
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

/// Environment variable that makes a sample of the cases.
const SAMPLE_VARIABLE: &str = "STRIDEWISE_MATRIX_SAMPLE";

/// Which cases are run: those whose name's number leaves `part` when divided by `parts`.
struct Sample {
    part: u64,
    parts: u64,
}

impl Sample {
    const ALL: Self = Self { part: 0, parts: 1 };

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

fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
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
    let devices = devices::devices();
    let mut trials = selftest::trials();
    trials.extend(threads::trials());
    trials.extend(random::trials());
    trials.extend(kernels::trials());
    trials.extend(special::trials());
    let sample = match std::env::var(SAMPLE_VARIABLE) {
        Err(_) => Sample::ALL,
        Ok(text) => match Sample::read(&text) {
            Some(sample) => sample,
            None => {
                eprintln!("{SAMPLE_VARIABLE} is '{text}', but has to be N or K/N, with K less than N");
                std::process::exit(2);
            }
        },
    };
    for case in suites.iter().flatten().filter(|case| sample.has(&case.name)) {
        trials.extend(devices.iter().map(|device| case.on(device)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
