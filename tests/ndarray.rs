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

#[test]
fn lent_elements_are_views_of_theirs() -> Result<()> {
    let queue = Queue::select("host")?;
    let mut ours = Array::<f64>::on(&queue).linspace(0.0, 11.0, 12)?.reshape([3, 4])?;
    {
        let view = ours.view()?;
        let theirs = view.as_ndarray()?;
        assert_eq!((theirs.shape(), theirs[[1, 2]], theirs.sum()), (&[3, 4][..], 6.0, 66.0));
        assert_eq!(view.as_slice().map(<[f64]>::as_ptr), Some(theirs.as_ptr())); // the same memory
    }
    let row = ndarray::arr1(&[1.0, 2.0, 3.0, 4.0]);
    ours.view_mut()?.as_ndarray_mut()?.assign(&row);
    assert_eq!(ours.to_vec()?, [1.0, 2.0, 3.0, 4.0].repeat(3));
    let none = Array::<f64>::on(&queue).zeros([0, 3])?;
    assert_eq!(none.view()?.as_ndarray()?.shape(), [0, 3]);
    let columns = ours.t();
    let error = columns.view()?.as_ndarray().expect_err("a transposed array is in another order").to_string();
    assert!(error.contains("`view` is of shape [4, 3]") && error.contains("a.copy()?"), "{error}");
    Ok(())
}
