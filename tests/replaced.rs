//! Files that are written anew: what was there is there until the new one is whole.
#![cfg(all(unix, feature = "npy"))]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use stridewise::prelude::*;
use stridewise::{MapMode, UsmMemory};

fn host() -> Queue {
    Queue::select("host").unwrap()
}

/// A folder of a test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    folder
}

/// What lies in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn numbers(len: u32) -> Result<Array<u32>> {
    Array::<u32>::on(&host()).arange(0, len, 1)
}

fn load(path: &Path) -> Result<Vec<u32>> {
    Array::<u32>::load_npy_on(path, &host(), UsmKind::Shared)?.to_vec()
}

#[test]
fn an_array_over_a_file_is_saved_to_it() -> Result<()> {
    let folder = folder("replaced_own");
    let file = folder.join("own.npy");
    let expected: Vec<u32> = (0..700_000).collect();
    numbers(700_000)?.save_npy(&file)?;
    for mode in [MapMode::Read, MapMode::CopyOnWrite] {
        let mapped = UsmArray::map_npy(&file, mode, &host())?;
        mapped.save_npy(&file)?;
        assert_eq!(load(&file)?, expected);
        // A part of it, and what is still to be computed of it.
        let part: Array<u32> = mapped.clone().try_into()?;
        part.slice(s![..;-2])?.save_npy(&file)?;
        assert_eq!(load(&file)?, expected.iter().rev().step_by(2).copied().collect::<Vec<_>>());
        assert_eq!(mapped.to_vec::<u32>()?, expected);
        (&part + 1).save_npy(&file)?;
        assert_eq!(load(&file)?, (1..700_001).collect::<Vec<_>>());
        part.save_npy(&file)?;
        assert_eq!(load(&file)?, expected);
    }
    assert_eq!(names(&folder), ["own.npy"]);
    Ok(())
}

#[test]
fn a_file_that_an_array_writes_to_stays() -> Result<()> {
    let folder = folder("replaced_written");
    let (file, other) = (folder.join("a.npy"), folder.join("b.npy"));
    numbers(100)?.save_npy(&file)?;
    symlink("a.npy", &other).unwrap();
    let mapped: Array<u32> = UsmArray::map_npy(&file, MapMode::ReadWrite, &host())?.try_into()?;
    let mut part = mapped.slice(s![3..])?;
    drop(mapped);
    let before = fs::read(&file).unwrap();
    for name in [&file, &other] {
        for array in [&part, &numbers(7)?] {
            let error = array.save_npy(name).unwrap_err();
            assert!(matches!(error, Error::Io(_)) && error.to_string().contains("flush"), "{error}");
        }
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    part.fill(5)?.wait()?;
    part.flush_file()?;
    assert_eq!(load(&file)?[..5], [0, 1, 2, 5, 5]);
    drop(part);
    numbers(7)?.save_npy(&file)?;
    assert_eq!(load(&file)?.len(), 7);
    Ok(())
}

#[test]
fn permissions_and_links_stay() -> Result<()> {
    let folder = folder("replaced_links");
    fs::create_dir(folder.join("real")).unwrap();
    let (real, link) = (folder.join("real/a.npy"), folder.join("link.npy"));
    symlink("real/a.npy", &link).unwrap();
    // Where the link leads, there is nothing yet.
    numbers(3)?.save_npy(&link)?;
    assert_eq!(load(&real)?, [0, 1, 2]);
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    numbers(4)?.save_npy(&link)?;
    let made = UsmArray::map_file(&link, MapMode::Create, Dtype::U32, 128, Some(&[5]), Order::C, &host())?;
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::metadata(&real).unwrap().len(), 128 + 20);
    drop(made);
    assert_eq!((names(&folder).len(), names(&folder.join("real")).len()), (2, 1));
    // Links in a circle are the system's error, and a pipe takes what it gets.
    symlink("circle", folder.join("circle")).unwrap();
    assert!(matches!(numbers(1)?.save_npy(folder.join("circle")), Err(Error::Io(_))));
    assert!(matches!(numbers(1)?.save_npy(&folder), Err(Error::Io(_))));
    assert!(matches!(numbers(1)?.save_npy(folder.join("none/a.npy")), Err(Error::Io(_))));
    numbers(1)?.save_npy("/dev/null")?;
    Ok(())
}

#[test]
fn what_fails_leaves_the_file() -> Result<()> {
    let folder = folder("replaced_failed");
    let file = folder.join("a.bin");
    fs::write(&file, [7; 100]).unwrap();
    let map = |shape: &[usize], offset| {
        UsmArray::map_file(&file, MapMode::Create, Dtype::F32, offset, Some(shape), Order::C, &host())
    };
    assert!(map(&[1 << 50], 0).is_err() && map(&[usize::MAX, 2], 0).is_err() && map(&[4], 3).is_err());
    // Memory of a file that is handed in is emptied last, too.
    let open = OpenOptions::new().read(true).write(true).open(&file).unwrap();
    assert!(UsmMemory::map_file(open, 0, 1 << 52, MapMode::Create, &host()).is_err());
    assert_eq!(fs::read(&file).unwrap(), [7; 100]);
    // Computed of what fails, there is nothing to be written.
    let huge = Array::<f32>::on(&host()).zeros([1])?.broadcast_to([1 << 30, 1 << 20])?;
    assert!(huge.save_npy(&file).is_err());
    assert_eq!((fs::read(&file).unwrap(), names(&folder)), (vec![7; 100], vec!["a.bin".to_owned()]));
    Ok(())
}

#[test]
fn arrays_over_a_file_that_is_replaced_keep_their_elements() -> Result<()> {
    let folder = folder("replaced_kept");
    let file = folder.join("a.bin");
    fs::write(&file, [1; 64]).unwrap();
    let map = |mode, len| UsmArray::map_file(&file, mode, Dtype::U8, 0, Some(&[len]), Order::C, &host());
    let old = map(MapMode::Read, 64)?;
    let sum = Array::<u8>::try_from(old.clone())? + 1;
    let new = map(MapMode::Create, 8)?;
    assert_eq!((old.to_vec::<u8>()?, sum.to_vec()?), (vec![1; 64], vec![2; 64]));
    assert_eq!((new.to_vec::<u8>()?, fs::read(&file).unwrap()), (vec![0; 8], vec![0; 8]));
    assert!(map(MapMode::Create, 0)?.is_empty());
    assert_eq!((fs::read(&file).unwrap().len(), names(&folder).len()), (0, 1));
    Ok(())
}
