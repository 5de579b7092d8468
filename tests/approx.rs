//! Arrays by the traits of `approx`.

use approx::{AbsDiffEq, RelativeEq, UlpsEq, assert_abs_diff_eq, assert_relative_eq, assert_ulps_eq};
use stridewise::prelude::*;

#[test]
fn arrays_are_near_where_their_elements_are() -> Result<()> {
    for len in [0, 1, 15, 16, 17, 1023, 1024, 1025, 4097] {
        let a = Array::<f64>::arange(0.0, len as f64, 1.0)?;
        let b = &a * (1.0 + f64::EPSILON);
        // Of 3, this is four thirds of the unit that is allowed by default.
        assert_relative_eq!(a, b, max_relative = 2.0 * f64::EPSILON);
        assert_ulps_eq!(a.flip(0)?, b.flip(0)?);
        assert_abs_diff_eq!(a, b, epsilon = 1e-10);
        assert!(a == a.copy()?);
        if len > 1 {
            // One element of all is enough.
            let last = a.equal(&Array::scalar(len as f64 - 1.0)?);
            let c = last.where_(&(&a + 1.0), &a);
            assert!(
                a != c && !a.abs_diff_eq(&c, 0.5) && !a.relative_eq(&c, 0.0, 1e-9) && !a.ulps_eq(&c, 0.0, 4)
            );
            assert!(a.abs_diff_eq(&c, 1.0));
        }
    }
    Ok(())
}

#[test]
fn shapes_and_nan_make_a_difference() -> Result<()> {
    let a = array![1.0_f32, 2.0];
    assert!(a != array![[1.0, 2.0]] && !a.abs_diff_eq(&array![1.0, 2.0, 3.0], 9.0));
    let nan = array![f32::NAN, 2.0];
    assert!(nan != nan.copy()? && !nan.relative_eq(&nan, 1.0, 1.0));
    let z = array![Complex::new(1.0_f64, 2.0)];
    assert_abs_diff_eq!(z, &z + Complex::new(0.0, 1e-12), epsilon = 1e-9);
    assert_eq!(array![1_u8, 2], array![1, 2]);
    Ok(())
}

#[test]
#[should_panic(expected = "[1., 2.]")]
fn a_difference_shows_both_arrays() {
    assert_abs_diff_eq!(array![1.0, 2.0], array![1.0, 2.5]);
}
