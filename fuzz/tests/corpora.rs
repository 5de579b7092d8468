//! The inputs that the repository keeps, and one of them alone: what the fuzzer found goes into `STRIDEWISE_FUZZ_INPUT`, its
//! target into `STRIDEWISE_FUZZ_TARGET`.

use std::path::Path;

use stridewise_fuzz::{TARGETS, Target, target};

fn replay(target: Target, input: &Path) {
    let data = std::fs::read(input).unwrap_or_else(|error| panic!("{}: {error}", input.display()));
    // What a failing test shows.
    println!("{} on {}", target.name, input.display());
    (target.run)(&data);
}

#[test]
fn every_input_that_is_kept_passes() {
    if let Ok(input) = std::env::var("STRIDEWISE_FUZZ_INPUT") {
        let name = std::env::var("STRIDEWISE_FUZZ_TARGET").unwrap_or_default();
        let target = target(&name).unwrap_or_else(|| panic!("{name:?} is no target"));
        return replay(target, Path::new(&input));
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for &target in TARGETS {
        let mut inputs: Vec<_> = std::fs::read_dir(folder.join(target.name))
            .unwrap_or_else(|error| panic!("the inputs of {}: {error}", target.name))
            .map(|entry| entry.unwrap().path())
            .collect();
        inputs.sort();
        assert!(inputs.len() >= 5, "{} has {} inputs", target.name, inputs.len());
        inputs.iter().for_each(|input| replay(target, input));
    }
}
