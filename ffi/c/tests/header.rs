//! The header in `include/` is the one that the crate's functions make. Where it is not, it is written again with
//! `STRIDEWISE_WRITE_HEADER=1 cargo test -p stridewise-c --test header`.

use std::path::Path;

use cbindgen::{Config, DocumentationStyle, EnumConfig, Language, Style};

const VARIABLE: &str = "STRIDEWISE_WRITE_HEADER";

const HEADER: &str = "\
// Stridewise: arrays in unified shared memory, from C.
//
// Every function returns SW_OK or the status of a failure, and leaves a text for sw_last_error. Handles are opaque; they
// are freed by the function of their type, each once. A handle that is null, freed or of another type is refused. All
// functions may be called from any thread. Pointers that are not handles point to what the comments say, of the length
// that stands beside them, and null is refused where something is needed. Shapes, strides and offsets count elements.
//
// This file is generated; the tests of ffi/c say how.";

/// What DLPack's own header declares too.
const FOREIGN: &str = "\
// DLPack's structures; include dlpack.h to look into them.
typedef struct DLManagedTensor DLManagedTensor;
typedef struct DLManagedTensorVersioned DLManagedTensorVersioned;
";

const OPERANDS: &str = "\
// An array as an operand.
static inline sw_operand sw_of(const sw_array *array) {
  sw_operand operand = {SW_OPERAND_ARRAY, array, 0, 0.0, 0.0};
  return operand;
}

// A truth value as an operand.
static inline sw_operand sw_bool(bool value) {
  sw_operand operand = {SW_OPERAND_BOOL, NULL, value ? 1 : 0, 0.0, 0.0};
  return operand;
}

// An integer as an operand.
static inline sw_operand sw_integer(int64_t value) {
  sw_operand operand = {SW_OPERAND_INTEGER, NULL, value, 0.0, 0.0};
  return operand;
}

// A real number as an operand.
static inline sw_operand sw_real(double value) {
  sw_operand operand = {SW_OPERAND_REAL, NULL, 0, value, 0.0};
  return operand;
}

// A complex number as an operand.
static inline sw_operand sw_complex(double real, double imaginary) {
  sw_operand operand = {SW_OPERAND_COMPLEX, NULL, 0, real, imaginary};
  return operand;
}

// A contiguous array as an argument of a kernel.
static inline sw_argument sw_argument_array(const sw_array *array) {
  sw_argument argument = {SW_ARGUMENT_ARRAY, false, array, NULL, 0, 0, (sw_dtype)0, NULL};
  return argument;
}

// Bytes of memory as an argument of a kernel.
static inline sw_argument sw_argument_memory(const sw_memory *memory, size_t offset, size_t bytes) {
  sw_argument argument = {SW_ARGUMENT_MEMORY, false, NULL, memory, offset, bytes, (sw_dtype)0, NULL};
  return argument;
}

// The value of a dtype at an address as an argument of a kernel.
static inline sw_argument sw_argument_scalar(sw_dtype dtype, const void *value) {
  sw_argument argument = {SW_ARGUMENT_SCALAR, false, NULL, NULL, 0, 0, dtype, value};
  return argument;
}

// A value of any type, of so many bytes, as an argument of a kernel.
static inline sw_argument sw_argument_bytes(const void *value, size_t bytes) {
  sw_argument argument = {SW_ARGUMENT_BYTES, false, NULL, NULL, 0, bytes, (sw_dtype)0, value};
  return argument;
}

// So many bytes of local memory as an argument of a kernel.
static inline sw_argument sw_argument_local(size_t bytes) {
  sw_argument argument = {SW_ARGUMENT_LOCAL, false, NULL, NULL, 0, bytes, (sw_dtype)0, NULL};
  return argument;
}

// The same argument, which the kernel only reads, whatever its parameter says.
static inline sw_argument sw_argument_only_read(sw_argument argument) {
  argument.read_only = true;
  return argument;
}

// x[index]
static inline sw_slice sw_index(int64_t index) {
  sw_slice item = {SW_SLICE_INDEX, index, 0, 0};
  return item;
}

// x[start:stop:step]; either end may be SW_NONE.
static inline sw_slice sw_range(int64_t start, int64_t stop, int64_t step) {
  sw_slice item = {SW_SLICE_RANGE, start, stop, step};
  return item;
}

// x[:]
static inline sw_slice sw_all(void) {
  return sw_range(SW_NONE, SW_NONE, 1);
}

// x[None]
static inline sw_slice sw_new_axis(void) {
  sw_slice item = {SW_SLICE_NEW_AXIS, 0, 0, 0};
  return item;
}

// x[...]
static inline sw_slice sw_ellipsis(void) {
  sw_slice item = {SW_SLICE_ELLIPSIS, 0, 0, 0};
  return item;
}";

fn generate(crate_dir: &Path) -> String {
    let config = Config {
        language: Language::C,
        style: Style::Both,
        header: Some(HEADER.to_owned()),
        include_guard: Some("STRIDEWISE_H".to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        after_includes: Some(format!("\n{FOREIGN}\n{}", stridewise_c::codes::declarations().trim_end())),
        trailer: Some(OPERANDS.to_owned()),
        cpp_compat: true,
        usize_is_size_t: true,
        documentation: true,
        documentation_style: DocumentationStyle::C99,
        line_length: 110,
        tab_width: 2,
        enumeration: EnumConfig::default(),
        ..Config::default()
    };
    let bindings = cbindgen::Builder::new().with_crate(crate_dir).with_config(config).generate().unwrap();
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_header_is_the_one_that_is_checked_in() {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (path, made) = (crate_dir.join("include/stridewise.h"), generate(crate_dir));
    if std::env::var_os(VARIABLE).is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let different = made.lines().zip(there.lines()).enumerate().find(|(_, (made, there))| made != there);
    assert!(
        made == there,
        "{} is not what the functions make, first at {different:?}; write it with {VARIABLE}=1",
        path.display()
    );
}
