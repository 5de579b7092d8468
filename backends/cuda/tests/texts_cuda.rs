//! The kernels' texts, of plans of every family and of users' kernels, compiled by NVRTC, which needs no GPU.

#[path = "../../emit/tests/plans/mod.rs"]
mod plans;

use stridewise_core::Error;
use stridewise_cuda::Nvrtc;
use stridewise_emit::Dialect;

/// The variable that says that NVRTC has to be there.
const NEEDED: &str = "STRIDEWISE_TEST_NVRTC";
/// One text of so many is compiled for each capability, and each time others.
const EVERY: usize = 48;

#[test]
fn texts_are_compiled_for_every_capability() {
    let compiler = match Nvrtc::open() {
        Ok(compiler) => compiler,
        Err(error) => {
            assert!(matches!(error, Error::Unsupported(_)), "{error}");
            assert!(std::env::var_os(NEEDED).is_none(), "{error}");
            eprintln!("skipped: no NVRTC");
            return;
        }
    };
    let mut target = plans::target();
    target.dialect = Dialect::CudaC;
    let texts = plans::texts(&target);
    assert!(texts.len() > 1000, "{} texts", texts.len());
    let mut faults = Vec::new();
    for (number, arch) in [(7, 5), (9, 0), (12, 0)].into_iter().enumerate() {
        for (name, text) in texts.iter().skip(number * EVERY / 3).step_by(EVERY) {
            match compiler.compile(text, name, arch, stridewise_cuda::TEXT_OPTIONS) {
                Ok(code) => assert!(code.starts_with(b"\x7fELF"), "{name} for {arch:?}"),
                Err(error) => faults.push(format!("{name} for {arch:?}: {error}")),
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
