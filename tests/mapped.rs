//! Arrays over files, and memory that other processes open.
#![cfg(all(unix, feature = "npy"))]

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use stridewise::prelude::*;
use stridewise::{IpcHandle, MapMode, UsmMemory};

fn host() -> Queue {
    Queue::select("host").unwrap()
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A file of so many ascending float32, behind 64 other bytes.
fn floats(name: &str, len: usize) -> PathBuf {
    let path = path(name);
    let mut bytes = vec![0xff; 64];
    bytes.extend((0..len).flat_map(|k| (k as f32).to_le_bytes()));
    fs::write(&path, bytes).unwrap();
    path
}

fn map(path: &Path, mode: MapMode, shape: &[usize]) -> Result<UsmArray> {
    UsmArray::map_file(path, mode, Dtype::F32, 64, Some(shape), Order::C, &host())
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_file_is_read_in_place() -> Result<()> {
    let file = floats("mapped_read.bin", 6);
    let x = map(&file, MapMode::Read, &[2, 3])?;
    assert_eq!((x.usm_kind(), x.shape(), x.flags().writable), (UsmKind::Shared, &[2, 3][..], false));
    assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let columns = UsmArray::map_file(&file, MapMode::Read, Dtype::F32, 64, Some(&[2, 3]), Order::F, &host())?;
    assert_eq!(columns.to_vec::<f32>()?, [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    // All that is behind the offset, which is no page's.
    let all = UsmArray::map_file(&file, MapMode::Read, Dtype::F32, 72, None, Order::C, &host())?;
    assert_eq!(all.to_vec::<f32>()?, [2.0, 3.0, 4.0, 5.0]);
    assert_eq!(Array::<f32>::try_from(x.clone())?.sum()?, 15.0);
    // Nothing writes to it, by whatever way.
    assert!(matches!(x.fill_with(1.0), Err(Error::Borrow(_))));
    let memory = x.usm_data()?;
    assert!(memory.is_read_only() && memory.is_mapped() && memory.copy_from_host(0, &[1]).is_err());
    // Nothing is to be written, so that this is no failure.
    x.flush_file()?;
    let mut forced = x.clone();
    forced.set_writable(true);
    assert!(!forced.flags().writable);
    Ok(())
}

trait Fill {
    fn fill_with(&self, value: f32) -> Result<()>;
}
impl Fill for UsmArray {
    fn fill_with(&self, value: f32) -> Result<()> {
        Array::<f32>::try_from(self.clone())?.fill(value)?.wait()
    }
}

#[test]
fn what_is_written_goes_where_the_mode_says() -> Result<()> {
    let file = floats("mapped_write.bin", 4);
    let before = fs::read(&file).unwrap();
    let private = map(&file, MapMode::CopyOnWrite, &[4])?;
    private.fill_with(7.0)?;
    private.flush_file()?;
    assert_eq!(private.to_vec::<f32>()?, [7.0; 4]);
    assert_eq!(fs::read(&file).unwrap(), before);

    let shared = map(&file, MapMode::ReadWrite, &[4])?;
    let reader = map(&file, MapMode::Read, &[4])?;
    shared.fill_with(3.0)?;
    assert_eq!(reader.to_vec::<f32>()?, [3.0; 4]);
    shared.flush_file()?;
    assert_eq!(fs::read(&file).unwrap()[64..], 3.0_f32.to_le_bytes().repeat(4));
    // The private pages stay.
    assert_eq!(private.to_vec::<f32>()?, [7.0; 4]);

    let made = path("mapped_made.bin");
    let _ = fs::remove_file(&made);
    let x = map(&made, MapMode::Create, &[2, 2])?;
    assert_eq!(x.to_vec::<f32>()?, [0.0; 4]);
    x.fill_with(1.5)?;
    drop(x);
    assert_eq!(fs::read(&made).unwrap().len(), 64 + 16);
    assert_eq!(map(&made, MapMode::Read, &[4])?.to_vec::<f32>()?, [1.5; 4]);
    // Made anew, it is zeros again.
    assert_eq!(map(&made, MapMode::Create, &[3])?.to_vec::<f32>()?, [0.0; 3]);
    Ok(())
}

#[test]
fn a_view_keeps_the_file() -> Result<()> {
    let file = floats("mapped_view.bin", 100);
    let x: Array<f32> = map(&file, MapMode::ReadWrite, &[10, 10])?.try_into()?;
    let row = x.slice(s![3, ..;-1])?;
    drop(x);
    fs::remove_file(&file).unwrap();
    assert_eq!(row.to_vec()?[..3], [39.0, 38.0, 37.0]);
    row.flush_file()?;
    // A part of the memory is of the file, too.
    assert!(row.as_untyped().usm_data()?.is_mapped());
    Ok(())
}

#[test]
fn a_file_that_was_cut_off_is_an_error() -> Result<()> {
    let file = floats("mapped_cut.bin", 1 << 16);
    let small: Array<f32> = map(&file, MapMode::Read, &[8])?.try_into()?;
    let mut x: Array<f32> = map(&file, MapMode::ReadWrite, &[1 << 16])?.try_into()?;
    let copy_on_write = map(&file, MapMode::CopyOnWrite, &[1 << 16])?;
    cut(&file, 64 + 32);
    let is_io = |error: &Error| matches!(error, Error::Io(_)) && error.to_string().contains("96 bytes");
    assert!(is_io(&x.to_vec().unwrap_err()));
    assert!(is_io(&x.sum().unwrap_err()));
    assert!(is_io(&x.get([7]).unwrap_err()));
    assert!(is_io(&x.try_add(1.0).and_then(|y| y.to_vec()).unwrap_err()));
    assert!(is_io(&x.fill(1.0).unwrap_err()));
    assert!(is_io(&x.flush_file().unwrap_err()));
    assert!(is_io(&x.as_untyped().usm_data()?.export().unwrap_err()));
    assert!(is_io(&x.slice(s![..4])?.to_vec().unwrap_err()));
    assert!(is_io(&copy_on_write.to_vec::<f32>().unwrap_err()));
    // What was mapped of the part that is left is all there.
    assert_eq!(small.sum()?, 28.0);
    assert_eq!((&small + 1.0).to_vec()?[7], 8.0);
    cut(&file, 64);
    assert!(matches!(small.try_add(1.0).and_then(|y| y.to_vec()), Err(Error::Io(_))));
    assert!(small.get([0]).is_err() && small.view().is_err());
    Ok(())
}

#[test]
fn wrong_arguments_are_named() {
    let file = floats("mapped_wrong.bin", 5);
    let all =
        |dtype, offset| UsmArray::map_file(&file, MapMode::Read, dtype, offset, None, Order::C, &host());
    let failed = |outcome: Result<UsmArray>, parts: &[&str]| {
        let text = outcome.unwrap_err().to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
    };
    failed(map(&file, MapMode::Read, &[6]), &["`path`", "84 bytes", "88 bytes", "help"]);
    failed(map(&file, MapMode::ReadWrite, &[6]), &["84 bytes"]);
    assert_eq!(fs::metadata(&file).unwrap().len(), 84);
    failed(all(Dtype::F32, 66), &["`offset` is 66", "multiple of 4"]);
    failed(all(Dtype::F64, 64), &["`dtype`", "20 bytes"]);
    failed(all(Dtype::F32, 88), &["84 bytes", "`offset`, 88"]);
    failed(map(&file, MapMode::Read, &[usize::MAX, 2]), &["shape"]);
    failed(map(&path("mapped_too_large.bin"), MapMode::Create, &[1 << 50]), &["mapped_too_large.bin"]);
    failed(map(&path("not there"), MapMode::Read, &[1]), &["not there", "mode \"r\"", "w+"]);
    failed(map(&path(""), MapMode::Read, &[1]), &["no regular file"]);
    failed(map(Path::new("/dev/null"), MapMode::Read, &[1]), &["no regular file"]);
    let shapeless = UsmArray::map_file(&file, MapMode::Create, Dtype::F32, 0, None, Order::C, &host());
    failed(shapeless, &["`shape`", "w+"]);
    failed("w".parse::<MapMode>().map(|_| unreachable!()), &["`mode`", "\"w\"", "r+"]);
    for mode in MapMode::ALL {
        assert_eq!(mode.name().parse::<MapMode>().unwrap(), mode);
    }
    let fresh = UsmMemory::new(UsmKind::Shared, 64, &host()).unwrap();
    assert!(matches!(fresh.flush(), Err(Error::Value(_))));
}

#[test]
fn arrays_of_no_elements() -> Result<()> {
    let file = floats("mapped_empty.bin", 0);
    let x = UsmArray::map_file(&file, MapMode::Read, Dtype::F32, 64, None, Order::C, &host())?;
    assert_eq!((x.shape(), x.flags().writable), (&[0][..], false));
    x.flush_file()?;
    assert!(map(&file, MapMode::ReadWrite, &[0, 3])?.to_vec::<f32>()?.is_empty());
    Ok(())
}

#[test]
fn npy_files() -> Result<()> {
    let file = path("mapped.npy");
    for order in [Order::C, Order::F] {
        let mut x = Array::<i16>::on(&host()).order(order).zeros([3, 5])?;
        x.fill(4)?.wait()?;
        x.save_npy(&file)?;
        let mapped = UsmArray::map_npy(&file, MapMode::ReadWrite, &host())?;
        assert_eq!((mapped.shape(), mapped.strides(), mapped.dtype()), (x.shape(), x.strides(), Dtype::I16));
        Array::<i16>::try_from(mapped.clone())?.fill(9)?;
        mapped.flush_file()?;
        assert_eq!(Array::<i16>::load_npy_on(&file, &host(), UsmKind::Shared)?.to_vec()?, [9; 15]);
    }
    let bytes = fs::read(&file).unwrap();
    let text = |outcome: Result<UsmArray>| outcome.unwrap_err().to_string();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert!(text(UsmArray::map_npy(&file, MapMode::Read, &host())).contains("mapped.npy"));
    fs::write(&file, &bytes[..20]).unwrap();
    assert!(text(UsmArray::map_npy(&file, MapMode::Read, &host())).contains("header"));
    let mut swapped = bytes.clone();
    let place = swapped.iter().position(|&byte| byte == b'<').unwrap();
    swapped[place] = b'>';
    fs::write(&file, swapped).unwrap();
    assert!(text(UsmArray::map_npy(&file, MapMode::Read, &host())).contains("load_npy"));
    assert!(text(UsmArray::map_npy(&file, MapMode::Create, &host())).contains("`mode`"));
    Ok(())
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_opened_by_its_handle() -> Result<()> {
    let queue = host();
    let memory = UsmMemory::interprocess(4096 + 24, &queue)?;
    let x = UsmArray::builder([3]).dtype(Dtype::F64).buffer(&memory).offset(512).build()?;
    let handle = IpcHandle::from_bytes(&x.usm_data()?.ipc_handle()?.to_bytes())?;
    assert_eq!(handle.memory_bytes(), 4096 + 24);
    let other = handle.open(&queue)?;
    let y = UsmArray::builder([3]).dtype(Dtype::F64).buffer(&other).offset(512).build()?;
    assert_eq!(y.to_vec::<f64>()?, [0.0; 3]);
    Array::<f64>::try_from(x.clone())?.fill(2.5)?;
    assert_eq!(y.to_vec::<f64>()?, [2.5; 3]);
    // What was opened can be handed on.
    assert_eq!(other.ipc_handle()?.open(&queue)?.bytes(), 4096 + 24);
    drop((x, memory));
    assert!(matches!(handle.open(&queue), Err(Error::Io(_))));
    assert_eq!(y.to_vec::<f64>()?, [2.5; 3]);
    // A descriptor that is something else by now, and a process that is none.
    let mut bytes = handle.to_bytes();
    bytes[12..16].copy_from_slice(&0_i32.to_le_bytes());
    assert!(matches!(IpcHandle::from_bytes(&bytes)?.open(&queue), Err(Error::Io(_))));
    bytes[8..12].copy_from_slice(&(i32::MAX as u32).to_le_bytes());
    assert!(matches!(IpcHandle::from_bytes(&bytes)?.open(&queue), Err(Error::Io(_))));
    let error = UsmMemory::new(UsmKind::Shared, 64, &queue)?.ipc_handle().unwrap_err().to_string();
    assert!(error.contains("interprocess"), "{error}");
    assert!(matches!(UsmMemory::interprocess(0, &queue), Err(Error::Value(_))));
    assert!(matches!(UsmMemory::interprocess(1 << 46, &queue), Err(Error::Alloc(_))));
    Ok(())
}
