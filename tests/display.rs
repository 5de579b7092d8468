//! Writing arrays of the default device as text; the forms of numbers are tested where they are made.

use stridewise::prelude::*;

#[test]
fn every_kind_and_view_is_written() -> Result<()> {
    for kind in UsmKind::ALL {
        let a = Array::<f32>::on(&Queue::default_queue()?)
            .kind(kind)
            .from_slice([2, 2], &[1.0, 2.0, 3.0, 4.5])?;
        assert_eq!(a.to_string(), "[[1. , 2. ],\n [3. , 4.5]]");
        assert_eq!(a.t().to_string(), "[[1. , 3. ],\n [2. , 4.5]]");
        assert_eq!(format!("{:.1}", &a / 3.0), "[[0.3, 0.7],\n [1. , 1.5]]");
        let about = format!("Array<float32, {kind}>[2, 2] strides=[2, 1] offset=0 on {}", a.device());
        assert_eq!(format!("{a:?}"), format!("{about}\n{a}"));
        assert_eq!(format!("{:?}", a.as_untyped()), format!("{a:?}"));
    }
    assert_eq!(array![true, false].to_string(), "[ true, false]");
    assert_eq!(Array::scalar(2.0)?.to_string(), "2.0");
    assert_eq!(Array::<u8>::zeros([0, 2])?.to_string(), "[]");
    Ok(())
}

#[test]
fn large_arrays_are_summarised() -> Result<()> {
    for kind in UsmKind::ALL {
        let make = Array::<i32>::on(&Queue::default_queue()?).kind(kind);
        let line = make.arange(0, 1001, 1)?;
        assert_eq!(line.to_string(), "[   0,    1,    2, ...,  998,  999, 1000]");
        assert!(!make.arange(0, 1000, 1)?.to_string().contains("..."));
        let table = make.arange(0, 2000, 1)?.reshape([1000, 2])?;
        let expected = "[[   0,    1],\n [   2,    3],\n [   4,    5],\n ...,\n [1994, 1995],\n [1996, 1997],\n [1998, 1999]]";
        assert_eq!(table.to_string(), expected);
        let corners = make.arange(0, 10_000, 1)?.reshape([100, 100])?.t().to_string();
        assert!(corners.starts_with("[[   0,  100,  200, ..., 9700, 9800, 9900],\n [   1,"), "{corners}");
        assert!(corners.ends_with("[  99,  199,  299, ..., 9799, 9899, 9999]]"), "{corners}");
    }
    // Only a few elements of this one exist in the text, and in time.
    let huge = Array::scalar(1.0)?.broadcast_to([1 << 20, 1 << 20])?;
    assert!(huge.to_string().starts_with("[[1., 1., 1., ..., 1., 1., 1.],\n"));
    Ok(())
}

#[test]
fn what_cannot_be_read_says_why() -> Result<()> {
    let mut a = array![1.0, 2.0];
    let other = a.share();
    let view = a.view_mut()?;
    let text = other.to_string();
    assert!(text.starts_with("[elements not available: access conflict"), "{text}");
    drop(view);
    assert_eq!(other.to_string(), "[1., 2.]");
    Ok(())
}
