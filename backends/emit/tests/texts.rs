//! The texts of every family in CUDA C++ and in OpenCL C.

mod plans;

use stridewise_emit::Dialect;

#[test]
fn every_text_is_in_the_language_of_its_target() {
    let mut target = plans::target();
    let own = plans::texts(&target);
    target.dialect = Dialect::CudaC;
    let cuda = plans::texts(&target);
    assert!(own.len() > 500, "{} texts", own.len());
    assert_eq!(own.len(), cuda.len());
    for ((name, own), (_, cuda)) in own.iter().zip(&cuda) {
        assert_eq!(own.matches("kernel ").count(), 1, "{name}");
        assert_eq!(cuda.matches("extern \"C\" __global__").count(), 1, "{name}");
        for word in ["global ", "kernel ", "#pragma OPENCL", "(float2)(", "convert_half"] {
            let found = cuda
                .match_indices(word)
                .find(|(at, _)| !cuda[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
            assert!(found.is_none(), "{name}: {word}\n{cuda}");
        }
    }
}
