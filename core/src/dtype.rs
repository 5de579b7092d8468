//! Element types, known at run time as [`Dtype`] and at compile time as [`Element`].
//!
//! The list of dtypes stands once, in [`for_each_dtype!`](crate::for_each_dtype); everything that is "one line per
//! dtype" is generated from it, here or in a backend.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Calls `$callback!` with one row `Variant, rust type, array API name, kind, array-interface code;` per dtype,
/// preceded by whatever tokens follow the callback's name in brackets.
#[macro_export]
macro_rules! for_each_dtype {
    ($($callback:ident)::+ $([$($args:tt)*])?) => {
        $($callback)::+! {
            $($($args)*)?
            Bool, bool, "bool", Bool, "|b1";
            I8, i8, "int8", Signed, "|i1";
            I16, i16, "int16", Signed, "<i2";
            I32, i32, "int32", Signed, "<i4";
            I64, i64, "int64", Signed, "<i8";
            U8, u8, "uint8", Unsigned, "|u1";
            U16, u16, "uint16", Unsigned, "<u2";
            U32, u32, "uint32", Unsigned, "<u4";
            U64, u64, "uint64", Unsigned, "<u8";
            F16, $crate::f16, "float16", Float, "<f2";
            Bf16, $crate::bf16, "bfloat16", Float, "bfloat16";
            F32, f32, "float32", Float, "<f4";
            F64, f64, "float64", Float, "<f8";
            C64, $crate::Complex<f32>, "complex64", Complex, "<c8";
            C128, $crate::Complex<f64>, "complex128", Complex, "<c16";
        }
    };
}

/// Runs `$body` with `$T` bound to the Rust type of a run-time dtype. The only `match` over all dtypes.
///
/// ```
/// use stridewise_core::{with_dtype, Dtype};
/// assert_eq!(with_dtype!(Dtype::I16, T => size_of::<T>()), 2);
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::for_each_dtype!($crate::__with_dtype_arms [($dtype) $T ($body)])
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __with_dtype_arms {
    (($dtype:expr) $T:ident ($body:expr) $($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        match $dtype {
            $($crate::Dtype::$variant => {
                #[allow(dead_code)]
                type $T = $ty;
                $body
            })*
        }
    };
}

/// The kind of a dtype, as in the array API's `isdtype`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DtypeKind {
    /// `bool`.
    Bool,
    /// `int8` … `int64`.
    Signed,
    /// `uint8` … `uint64`.
    Unsigned,
    /// `float16`, `bfloat16`, `float32`, `float64`.
    Float,
    /// `complex64`, `complex128`.
    Complex,
}

impl DtypeKind {
    /// Signed or unsigned integers; not `bool`.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self, Self::Signed | Self::Unsigned)
    }
    /// Real or complex floating point.
    #[must_use]
    pub const fn is_inexact(self) -> bool {
        matches!(self, Self::Float | Self::Complex)
    }
}

mod sealed {
    /// Every element's bytes may be zeros, which are its default.
    pub trait Sealed: bytemuck::Zeroable {}
}

/// A Rust type that can be an array's element. Sealed: the list is [`Dtype`]'s.
#[diagnostic::on_unimplemented(
    message = "arrays have no elements of type `{Self}`",
    label = "not the type of an array's elements",
    note = "elements are `bool`, `i8` to `i64`, `u8` to `u64`, `f16`, `bf16`, `f32`, `f64`, `Complex<f32>` and `Complex<f64>`; \
            for `usize` take `u64`, for `isize` `i64`, as in `n as u64`"
)]
pub trait Element:
    sealed::Sealed + Copy + Send + Sync + PartialEq + fmt::Debug + fmt::Display + Default + 'static
{
    /// The run-time name of this type.
    const DTYPE: Dtype;
    /// The value as an untyped [`Scalar`](crate::Scalar) of this dtype.
    fn to_scalar(self) -> crate::Scalar;
}

macro_rules! define_dtypes {
    ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
        /// The type of an array's elements, at run time.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
        #[repr(u8)]
        pub enum Dtype {
            $(#[doc = concat!("`", $name, "`: Rust's `", stringify!($ty), "`.")] $variant,)*
        }

        impl Dtype {
            /// Every dtype, in the order of the list.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Size of one element in bytes.
            #[must_use]
            #[inline]
            pub const fn size(self) -> usize {
                // As a table: what is computed from a size would become a branch of each dtype.
                const SIZES: [usize; Dtype::ALL.len()] = [$(size_of::<$ty>()),*];
                SIZES[self as usize]
            }
            /// Bytes that an element's address must be a multiple of.
            #[must_use]
            #[inline]
            pub const fn align(self) -> usize {
                const ALIGNMENTS: [usize; Dtype::ALL.len()] = [$(Dtype::$variant.real_part().size()),*];
                ALIGNMENTS[self as usize]
            }
            /// The array API's name: `float32`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
            /// The kind.
            #[must_use]
            pub const fn kind(self) -> DtypeKind {
                match self { $(Self::$variant => DtypeKind::$kind,)* }
            }
            /// The array-interface type string of a little-endian machine: `<f4`. `bfloat16` has none there and
            /// answers with its name.
            #[must_use]
            pub const fn typestr(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }
        }

        $(
            impl sealed::Sealed for $ty {}
            impl Element for $ty {
                const DTYPE: Dtype = Dtype::$variant;
                fn to_scalar(self) -> $crate::Scalar { $crate::Scalar::$variant(self) }
            }
        )*
    };
}
for_each_dtype!(define_dtypes);

impl Dtype {
    /// The real dtype of a complex one's parts (`complex64` → `float32`); any other dtype itself.
    #[must_use]
    pub const fn real_part(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => other,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dtype {
    type Err = Error;

    /// Accepts the array API's name (`float32`), NumPy's short code (`f4`, `u2`) and the array-interface type
    /// string (`<f4`, `|u1`, `=i8`; `|` stands for native order, as dpctl writes it).
    fn from_str(text: &str) -> Result<Self> {
        let code = text.strip_prefix(['<', '=', '|']).unwrap_or(text);
        Self::ALL
            .iter()
            .copied()
            .find(|d| d.name() == text || d.typestr().trim_start_matches(['<', '|']) == code)
            .ok_or_else(|| {
                Error::dtype(
                    "dtype",
                    format!("{text:?}"),
                    "the name of a dtype or a little-endian type string",
                    "use one of: bool, int8…int64, uint8…uint64, float16, bfloat16, float32, float64, complex64, \
                     complex128, or their codes such as <f4 or |u1; convert other types first",
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_round_trip() {
        for &d in Dtype::ALL {
            assert_eq!(d.name().parse::<Dtype>().unwrap(), d);
            assert_eq!(d.typestr().parse::<Dtype>().unwrap(), d);
            assert_eq!(d.size() % d.align(), 0);
        }
        assert_eq!("|f4".parse::<Dtype>().unwrap(), Dtype::F32);
        assert_eq!("u2".parse::<Dtype>().unwrap(), Dtype::U16);
        assert!(">f4".parse::<Dtype>().unwrap_err().to_string().contains(">f4"));
    }

    #[test]
    fn with_dtype_binds_the_rust_type() {
        for &d in Dtype::ALL {
            assert_eq!(with_dtype!(d, T => <T as Element>::DTYPE), d);
        }
    }
}
