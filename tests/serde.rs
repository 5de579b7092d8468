//! Arrays by the traits of `serde`, as JSON.

use stridewise::prelude::*;
use stridewise::{Complex, Dtype, Scalar, UsmArray, UsmKind};

#[test]
fn arrays_of_every_dtype_come_back() -> Result<(), Box<dyn std::error::Error>> {
    for &dtype in Dtype::ALL {
        for (shape, len) in [(vec![2, 3], 6), (vec![], 1), (vec![0, 4], 0), (vec![1025], 1025)] {
            let queue = stridewise::Queue::default_queue()?;
            let numbers = Array::<i64>::on(&queue).arange(0, len, 1)?.astype::<f64>();
            let signed: Vec<isize> = shape.iter().map(|&extent: &usize| extent as isize).collect();
            let array = numbers.as_untyped().astype(dtype)?.reshape(&signed)?;
            let again: UsmArray = serde_json::from_str(&serde_json::to_string(&array)?)?;
            assert_eq!((again.dtype(), again.shape()), (dtype, &shape[..]));
            let equal = again.binary(stridewise::Op::Equal, &array)?;
            assert_eq!(equal.reduce(stridewise::Reduction::All, None, false)?.item()?, Scalar::Bool(true));
        }
    }
    Ok(())
}

#[test]
fn what_is_written_is_stated() -> Result<(), Box<dyn std::error::Error>> {
    let a = array![[1.5_f32, 2.0], [3.0, 4.0]].t();
    let text = r#"{"dtype":"float32","shape":[2,2],"elements":[1.5,3.0,2.0,4.0]}"#;
    assert_eq!(serde_json::to_string(&a)?, text);
    assert_eq!(serde_json::to_string(&a.to_kind(UsmKind::Device)?)?, text);
    let z = array![Complex::new(1.0, -2.0)];
    let text = serde_json::to_string(&z)?;
    assert_eq!(text, r#"{"dtype":"complex128","shape":[1],"elements":[[1.0,-2.0]]}"#);
    assert_eq!(serde_json::from_str::<Array<Complex<f64>>>(&text)?.to_vec()?, z.to_vec()?);
    // Recorded work is computed first; formats may sort fields, or have them without names.
    let sums = &array![1_u64, u64::MAX] + 0;
    assert_eq!(serde_json::from_value::<Array<u64>>(serde_json::to_value(&sums)?)?.to_vec()?, [1, u64::MAX]);
    assert_eq!(serde_json::from_str::<Array<u8>>(r#"["uint8",[2],[7,255]]"#)?.to_vec()?, [7, 255]);
    Ok(())
}

#[test]
fn what_is_no_array_is_refused() {
    for (text, part) in [
        (r#"{"dtype":"float31","shape":[1],"elements":[1]}"#, "float31"),
        (r#"{"dtype":"uint8","shape":[1],"elements":[256]}"#, "256"),
        (r#"{"dtype":"uint8","shape":[1],"elements":[-1]}"#, "-1"),
        (r#"{"dtype":"int32","shape":[1],"elements":[1.5]}"#, "1.5"),
        (r#"{"dtype":"bool","shape":[1],"elements":[1]}"#, "bool"),
        (r#"{"dtype":"int32","shape":[3],"elements":[1,2]}"#, "2 of them"),
        (r#"{"dtype":"int32","shape":[4611686018427387904,4],"elements":[]}"#, ""),
        (r#"{"dtype":"int32","shape":[-1],"elements":[]}"#, "-1"),
        (r#"{"shape":[1],"elements":[1],"dtype":"int32"}"#, "dtype"),
        (r#"{"dtype":"int32","shape":[1]}"#, "elements"),
        (r#"{"dtype":"int32","dtype":"int32","shape":[1],"elements":[1]}"#, "duplicate"),
        (r#"{"dtype":"int32","shape":[1],"elements":[1],"more":1}"#, "more"),
        (r#"["int32",[1]]"#, "three"),
        (r#""int32""#, "an array"),
    ] {
        let error = serde_json::from_str::<UsmArray>(text).expect_err(text).to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
    let error = serde_json::from_str::<Array<f64>>(r#"{"dtype":"int32","shape":[1],"elements":[1]}"#);
    assert!(error.is_err_and(|error| error.to_string().contains("float64")));
}
