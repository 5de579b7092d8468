//! `.npy` files of any bytes: refused, or read as the file says, and written again to the same elements.

use std::path::PathBuf;
use std::sync::OnceLock;

use stridewise::{Dtype, UsmArray, UsmKind};
use stridewise_exchange::host::host_queue;

use crate::lent::read;

/// A file of this process's own.
fn file() -> &'static PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        // In memory where the system has such a folder: it is written hundreds of thousands of times.
        let shared = PathBuf::from("/dev/shm");
        let folder = if shared.is_dir() { shared } else { std::env::temp_dir() };
        folder.join(format!("stridewise-fuzz-{}.npy", std::process::id()))
    })
}

pub(crate) fn run(data: &[u8]) {
    let queue = host_queue().unwrap();
    std::fs::write(file(), data).unwrap();
    let kind = UsmKind::ALL[data.len() % 3];
    let outcome = UsmArray::load_npy_on(file(), &queue, kind);
    let Ok(array) = outcome else {
        let message = outcome.unwrap_err().to_string();
        assert!(message.contains("help: "), "{message}");
        let _ = std::fs::remove_file(file());
        return;
    };
    let header = header(data);
    let text = String::from_utf8_lossy(&data[..header]);
    let (dtype, bytes) = (array.dtype(), array.bytes());
    let flags = array.flags();
    assert!(flags.f_contiguous || text.contains("False"), "{text}: {array:?}");
    assert!(flags.c_contiguous || text.contains("True"), "{text}: {array:?}");
    // The elements as they lie are the file's, in this machine's byte order, and truth values are 0 or 1.
    let mut expected = data[header..][..bytes].to_vec();
    if dtype == Dtype::Bool {
        expected.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
    }
    let mut found = read(&if flags.c_contiguous { array.clone() } else { array.t() });
    if found != expected {
        // Big-endian, then.
        assert!(text.contains('>'), "{text}: {array:?}");
        found.chunks_exact_mut(dtype.align()).for_each(<[u8]>::reverse);
        assert_eq!(found, expected, "{text}");
    }
    array.save_npy(file()).unwrap();
    let again = UsmArray::load_npy_on(file(), &queue, kind).unwrap();
    assert_eq!((again.dtype(), again.shape()), (dtype, array.shape()));
    assert_eq!(read(&again), read(&array), "{text}");
    let _ = std::fs::remove_file(file());
}

/// Where the elements begin. The file was taken, so it has a header.
fn header(data: &[u8]) -> usize {
    match data[6] {
        1 => 10 + usize::from(u16::from_le_bytes([data[8], data[9]])),
        _ => 12 + u32::from_le_bytes([data[8], data[9], data[10], data[11]]) as usize,
    }
}
