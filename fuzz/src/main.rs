//! The fuzzer, of the target that the environment variable `STRIDEWISE_FUZZ_TARGET` names; `cargo xtask fuzz` builds and runs
//! it. Its arguments are those of libFuzzer, which has `main`.
#![no_main]

use std::sync::OnceLock;

use stridewise_fuzz::{Target, target};

fn chosen() -> Target {
    let name = std::env::var("STRIDEWISE_FUZZ_TARGET").unwrap_or_default();
    target(&name).unwrap_or_else(|| {
        eprintln!("STRIDEWISE_FUZZ_TARGET names no target: {name:?}");
        std::process::exit(2);
    })
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    static TARGET: OnceLock<Target> = OnceLock::new();
    (TARGET.get_or_init(chosen).run)(data);
});
