//! `.npy` files on the default device.
#![cfg(feature = "npy")]

use std::path::PathBuf;

use stridewise::prelude::*;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn arrays_come_back_as_they_were() -> Result<()> {
    let file = path("round_trip.npy");
    let queue = Queue::default_queue()?;
    let bytes = Array::<u8>::arange(0, 48, 1)?.copy()?;
    for &dtype in Dtype::ALL.iter().filter(|&&dtype| dtype != Dtype::Bf16) {
        for kind in UsmKind::ALL {
            for order in [Order::C, Order::F] {
                let values =
                    bytes.as_untyped().astype(dtype)?.reshape(&[2, 3, 8])?.copy_in(order)?.to_kind(kind)?;
                values.save_npy(&file)?;
                let back = UsmArray::load_npy_on(&file, &queue, kind)?;
                assert_eq!((back.dtype(), back.usm_kind(), back.shape()), (dtype, kind, values.shape()));
                assert_eq!(back.strides(), values.strides());
                assert_eq!(back.usm_data()?.to_bytes()?, values.usm_data()?.to_bytes()?);
            }
        }
    }
    Ok(())
}

#[test]
fn views_empty_arrays_and_numbers_are_written() -> Result<()> {
    let file = path("views.npy");
    let a = Array::<f64>::arange(0.0, 24.0, 1.0)?.reshape([4, 6])?;
    a.slice(s![1..;2, ..;-2])?.save_npy(&file)?;
    assert_eq!(Array::<f64>::load_npy(&file)?.to_vec()?, [11.0, 9.0, 7.0, 23.0, 21.0, 19.0]);
    a.slice(s![2..])?.save_npy(&file)?;
    assert_eq!(Array::<f64>::load_npy(&file)?.to_vec()?, a.to_vec()?[12..]);
    Array::<f64>::zeros([3, 0])?.save_npy(&file)?;
    assert_eq!(Array::<f64>::load_npy(&file)?.shape(), [3, 0]);
    (Array::scalar(1.5)? + 1.0).save_npy(&file)?;
    let number = Array::<f64>::load_npy(&file)?;
    assert_eq!((number.ndim(), number.item()?), (0, 2.5));
    Ok(())
}

#[test]
fn more_than_one_chunk() -> Result<()> {
    let file = path("large.npy");
    for kind in UsmKind::ALL {
        let make = Array::<u32>::on(&Queue::default_queue()?).kind(kind);
        let a = make.arange(0, 700_001, 1)?;
        a.save_npy(&file)?;
        let back = Array::<u32>::load_npy(&file)?;
        assert!(back.to_vec()?.into_iter().eq(0..700_001));
    }
    Ok(())
}

#[test]
fn big_endian_files_are_converted() -> Result<()> {
    let file = path("big_endian.npy");
    let text = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2), }";
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{text:<117}\n").bytes());
    for value in [1.0_f32, 2.0, 3.0, 4.0] {
        bytes.extend(value.to_be_bytes());
    }
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(Array::<f32>::load_npy(&file)?.to_vec()?, [1.0, 3.0, 2.0, 4.0]);
    Ok(())
}

#[test]
fn errors_name_the_file() -> Result<()> {
    let missing = path("there is no such file.npy");
    let error = UsmArray::load_npy(&missing).unwrap_err();
    assert!(matches!(&error, Error::Io(c) if c.value.contains("no such file")), "{error}");

    let file = path("cut_off.npy");
    Array::<f32>::zeros([100])?.save_npy(&file)?;
    let whole = std::fs::read(&file).unwrap();
    for len in [0, 5, 60, 128, whole.len() - 1] {
        std::fs::write(&file, &whole[..len]).unwrap();
        let error = UsmArray::load_npy(&file).unwrap_err();
        assert!(matches!(&error, Error::Io(c) if c.value.contains("cut_off.npy")), "{error}");
    }
    std::fs::write(&file, &whole).unwrap();
    assert!(matches!(Array::<f64>::load_npy(&file), Err(Error::Dtype(_))));

    // A header alone that promises more than any memory.
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }";
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{text:<117}\n").bytes());
    std::fs::write(&file, &bytes).unwrap();
    assert!(matches!(UsmArray::load_npy(&file), Err(Error::Io(_))));

    let short = array![bf16::ONE];
    assert!(matches!(short.save_npy(path("bf16.npy")), Err(Error::Dtype(_))));
    assert!(matches!(array![1.0].save_npy(path("no directory").join("a.npy")), Err(Error::Io(_))));
    Ok(())
}
