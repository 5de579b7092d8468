//! Numbers of every type as those of one.

use num_complex::Complex;

/// Numbers as complex ones of double precision and back.
pub(crate) trait Wide: Copy {
    /// The number.
    fn wide(self) -> Complex<f64>;
    /// The nearest number of this type; a real type takes the real part.
    fn narrow(value: Complex<f64>) -> Self;
}
macro_rules! wide {
    ($($real:ident)*) => {$(
        impl Wide for $real {
            fn wide(self) -> Complex<f64> {
                Complex::new(f64::from(self), 0.0)
            }
            fn narrow(value: Complex<f64>) -> Self {
                value.re as $real
            }
        }
        impl Wide for Complex<$real> {
            fn wide(self) -> Complex<f64> {
                Complex::new(f64::from(self.re), f64::from(self.im))
            }
            fn narrow(value: Complex<f64>) -> Self {
                Complex::new(value.re as $real, value.im as $real)
            }
        }
    )*};
}
wide!(f32 f64);
