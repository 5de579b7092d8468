//! The compiler of CUDA C++, which needs no GPU, where it is installed.

use stridewise_core::Error;
use stridewise_cuda::Nvrtc;

const TEXT: &str = "extern \"C\" __global__ void twice(float* a, unsigned n) {\n\
                    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) a[i] *= 2;\n}\n";

/// The compiler; none where nobody has installed it, which is an error that says what to install.
pub(crate) fn compiler() -> Option<Nvrtc> {
    match Nvrtc::open() {
        Ok(compiler) => Some(compiler),
        Err(error) => {
            assert!(matches!(error, Error::Unsupported(_)), "{error}");
            assert!(error.to_string().contains("pip install nvidia-cuda-nvrtc"), "{error}");
            None
        }
    }
}

#[test]
fn a_text_becomes_machine_code_or_a_log() {
    let Some(compiler) = compiler() else { return };
    for arch in [(7, 5), (9, 0), (12, 0)] {
        let code = compiler.compile(TEXT, "twice.cu", arch, &[]).unwrap();
        assert!(code.starts_with(b"\x7fELF"), "{arch:?}: {:?}", &code[..code.len().min(8)]);
    }
    // For what is newer than the compiler, PTX, which the driver compiles.
    let code = compiler.compile(TEXT, "twice.cu", (99, 0), &[]).unwrap();
    assert!(code.windows(6).any(|bytes| bytes == b".entry"));
    let error = compiler.compile("int x = ;", "broken.cu", (9, 0), &[]).unwrap_err();
    assert!(matches!(error, Error::Compilation(_)) && error.to_string().contains("broken.cu"), "{error}");
    let error = compiler.compile(TEXT, "twice.cu", (9, 0), &["--no-such-option"]).unwrap_err();
    assert!(
        matches!(error, Error::Compilation(_)) && error.to_string().contains("no-such-option"),
        "{error}"
    );
    let error = compiler.compile("a\0b", "zero.cu", (9, 0), &[]).unwrap_err();
    assert!(matches!(error, Error::Value(_)), "{error}");
}
