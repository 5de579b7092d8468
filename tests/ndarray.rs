//! Conversion from and to `ndarray`.
#![cfg(feature = "ndarray")]

use stridewise::ndarray::{self, ShapeBuilder};
use stridewise::prelude::*;

#[test]
fn arrays_come_back_as_they_were() -> Result<()> {
    let theirs = ndarray::Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i * 100 + j * 10 + k) as i32);
    let ours = Array::try_from(&theirs)?;
    assert_eq!(ours.get([1, 2, 3])?, 123);
    assert_eq!(ours.to_ndarray()?, theirs.clone().into_dyn());
    let part = theirs.slice(ndarray::s![.., ..;-1, 1..;2]);
    assert_eq!(Array::try_from(part)?.to_ndarray()?, part.into_dyn());
    assert_eq!(ours.t().to_ndarray()?, theirs.t().into_dyn());
    Ok(())
}

#[test]
fn order_is_kept_and_odd_shapes_work() -> Result<()> {
    let theirs =
        ndarray::Array2::<f64>::from_shape_vec((2, 3).f(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let ours = Array::try_from(&theirs)?;
    assert_eq!((ours.strides(), ours.to_ndarray()?), (&[1, 2][..], theirs.into_dyn()));
    let none = ndarray::Array2::<f32>::zeros((0, 3));
    assert_eq!(Array::try_from(&none)?.to_ndarray()?, none.into_dyn());
    let number = ndarray::arr0(true);
    assert_eq!(Array::try_from(number)?.to_ndarray()?, ndarray::arr0(true).into_dyn());
    Ok(())
}
