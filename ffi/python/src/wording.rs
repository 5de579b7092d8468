//! The engine's messages in Python's terms: it speaks of Rust's functions and arguments, which have other names here.

/// What is said in Rust, and in Python.
const TERMS: &[(&str, &str)] = &[
    ("a number of a certain dtype is a `Scalar`", "a number of a certain dtype is one of ctypes or NumPy's"),
    (
        ", or write the kernel for the engine (`kernel::KernelBuilder`)",
        ", or write the kernel as a function of Python's (`stridewise.kernel`)",
    ),
    ("`self`", "`x`"),
    ("`items`", "the key"),
    ("`first`", "`axis1`"),
    ("`second`", "`axis2`"),
    ("`counts` is of shape", "`repeats` is of shape"),
    ("IndexMode::Wrap or IndexMode::Clip", "mode=\"wrap\" or mode=\"clip\""),
    ("select an element first, with `slice`", "select an element first, as x[0]"),
    ("select a part of the array with `slice`", "select a part of the array, as x[:10]"),
    ("select with a mask of bool by `masked`", "select with a mask of bool, as x[mask]"),
    ("reshape the condition, or use `masked`", "reshape the condition, or use x[mask]"),
    ("`x.not_equal(0)`", "`x != 0`"),
    ("`reshape(&[-1])`", "reshape(x, -1)"),
    ("`move_axis`", "`moveaxis`"),
    ("`.to_queue(&queue)`", "`.to_device(queue)`"),
    (".to_queue(&queue)", ".to_device(queue)"),
    ("with `to_kind` (in Python usm_type=\"shared\", or", "with asarray (usm_type=\"shared\", or"),
    ("`to_queue`", "`to_device`"),
    ("`alpha` is", "`shape` is"),
    ("`shifts` is", "`shift` is"),
    (
        "with `to_vec`, `to_kind(UsmKind::Shared)` or `Memory::copy_to_host`",
        "with asnumpy(x), asarray(x, usm_type=\"shared\") or the memory's copy_to_host()",
    ),
    (
        "UsmKind::Device, and `to_vec` or `copy_to_host`",
        "usm_type=\"device\", and asnumpy(x) or the memory's copy_to_host()",
    ),
    ("end its block, or call `drop`", "end its `with` block, or call its `release`"),
    ("`load_npy`", "`stridewise.load`"),
    ("numpy.save or `save_npy`", "numpy.save or stridewise.save"),
    (
        "write the file with `save_npy` first, or make one without a header by `map_file`",
        "write the file with \
     stridewise.save first, or make one without a header by stridewise.memmap",
    ),
    ("map one with `map_file`", "map one with stridewise.memmap"),
    ("`UsmMemory::interprocess` (in Python IPCMemoryHandle.allocate)", "IPCMemoryHandle.allocate"),
    ("`Device::set_memory_limit`", "`Device.set_memory_limit`"),
    (
        "allocate less, or free memory: `Device::trim_pool` gives",
        "allocate less, or free memory: Device.trim_pool() gives",
    ),
];

/// A message in Python's terms.
pub(crate) fn in_python(text: String) -> String {
    TERMS.iter().fold(text, |text, (rust, python)| match text.contains(rust) {
        true => text.replace(rust, python),
        false => text,
    })
}
