//! Functions that OpenCL C does not have, or not with the results that operations promise. A text gets those that its
//! programs call: compilers take their time over every one.

use std::collections::BTreeSet;

use stridewise_core::{Dtype, DtypeKind};

use super::literal::constant;
use super::token::{modular, unsigned};
use crate::kernels::Target;
use crate::kernels::text::c_type;

macro_rules! helpers {
    ($($Helper:ident $name:literal [$($Need:ident)*] $file:literal;)*) => {
        /// A function of the library, for every dtype that it is needed for. What one calls stands before it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub(super) enum Helper {
            $(#[doc = concat!("`", $name, "`.")] $Helper,)*
        }

        impl Helper {
            const fn stem(self) -> &'static str {
                match self { $(Self::$Helper => $name,)* }
            }
            /// What it calls, for the same dtype.
            const fn needs(self) -> &'static [Self] {
                match self { $(Self::$Helper => &[$(Self::$Need),*],)* }
            }
            const fn text(self) -> &'static str {
                match self { $(Self::$Helper => include_str!(concat!("library/", $file, ".cl")),)* }
            }
        }
    };
}

helpers! {
    Quotient "quotient" [] "quotient";
    Root "root" [] "root";
    Rest "rest" [] "rest";
    FloorDivide "floor_divide" [Quotient Rest] "floor_divide";
    Remainder "remainder" [Rest] "remainder";
    Logaddexp "logaddexp" [] "logaddexp";
    Tanh "tanh" [] "tanh";
    Sigmoid "sigmoid" [Quotient] "sigmoid";
    Nextafter "nextafter" [] "nextafter";
    Neighbour "neighbour" [] "neighbour";
    Bf16 "bf16" [] "bf16";
    OfHalf "half" [] "of_half";
    ToHalf "half" [] "to_half";
    Odd "odd" [] "odd";
    IntegerPow "pow" [] "integer_pow";
    IntegerFloorDivide "floor_divide" [] "integer_floor_divide";
    IntegerRemainder "remainder" [] "integer_remainder";
    Philox "philox" [] "philox";
    Scale "scale" [] "complex/scale";
    Double "double" [] "complex/double";
    WideExpm1 "wide_expm1" [Double] "complex/wide_expm1";
    Cis "cis" [] "complex/cis";
    TimesExp "times_exp" [] "complex/times_exp";
    LogAbs "log_abs" [Scale Double] "complex/log_abs";
    Ellipse "ellipse" [LogAbs] "complex/ellipse";
    ComplexDivide "divide" [Scale] "complex/divide";
    ComplexSign "sign" [Scale] "complex/sign";
    ComplexSqrt "sqrt" [Scale] "complex/sqrt";
    ComplexExp "exp" [TimesExp] "complex/exp";
    ComplexExp2 "exp2" [TimesExp Cis] "complex/exp2";
    ComplexExpm1 "expm1" [TimesExp WideExpm1] "complex/expm1";
    ComplexLog "log" [LogAbs] "complex/log";
    ComplexLog1p "log1p" [LogAbs] "complex/log1p";
    ComplexLog2 "log2" [LogAbs] "complex/log2";
    ComplexLog10 "log10" [LogAbs] "complex/log10";
    ComplexSinh "sinh" [TimesExp] "complex/sinh";
    ComplexCosh "cosh" [TimesExp] "complex/cosh";
    ComplexTanh "tanh" [] "complex/tanh";
    ComplexSin "sin" [ComplexSinh] "complex/sin";
    ComplexCos "cos" [ComplexCosh] "complex/cos";
    ComplexTan "tan" [ComplexTanh] "complex/tan";
    ComplexAsin "asin" [Ellipse] "complex/asin";
    ComplexAcos "acos" [Ellipse] "complex/acos";
    ComplexAtanh "atanh" [] "complex/atanh";
    ComplexAsinh "asinh" [ComplexAsin] "complex/asinh";
    ComplexAcosh "acosh" [ComplexAcos] "complex/acosh";
    ComplexAtan "atan" [ComplexAtanh] "complex/atan";
    ComplexPow "pow" [ComplexDivide ComplexExp ComplexLog Cis WideExpm1] "complex/pow";
}

impl Helper {
    /// The function's name for elements of a type.
    pub(super) fn name(self, c_type: &str) -> String {
        format!("sw_{}_{c_type}", self.stem())
    }

    /// The function's text: `$T` is the element's type, `$U` the integer without sign of its size, `$I` the one with,
    /// `$M` what integers are computed in, `$signed` 1 or 0, `$LN_2` is ln 2 in the element's type, `$quotient` and
    /// `$root` say how to divide and take roots, `$of_half` and `$to_half` how 16-bit floats are read and written.
    fn write(self, dtype: Dtype, target: &Target) -> String {
        let plain = dtype != Dtype::F32 || target.exact_division || !target.fp64;
        let (quotient, root) = if plain {
            ("x / y", "sqrt(x)")
        } else {
            // Double precision has the digits to be rounded twice. Compilers make one operation of `float` of what is
            // computed of two converted numbers and converted back, as if that were rounded correctly here; the powers of
            // two, which change no digit and leave the range of `double` to quotients and roots, keep them from it. Zeros are
            // divided as they are: some compilers make a zero of what is computed of a constant one, whatever it is divided by.
            (
                "(x == 0.0f ? x / y : (float)(0x1p-100 * (0x1p100 * (double)x / (double)y)))",
                "(float)(0x1p-100 * sqrt(0x1p200 * (double)x))",
            )
        };
        let signed = if dtype.size() == 8 { "long" } else { "int" };
        let (of_half, to_half) = halves(target);
        self.text()
            .replace("$quotient", quotient)
            .replace("$root", root)
            .replace("$of_half", of_half)
            .replace("$to_half", to_half)
            .replace("$signed", if dtype.kind() == DtypeKind::Signed { "1" } else { "0" })
            .replace("$T", c_type(dtype))
            .replace("$U", unsigned(dtype))
            .replace("$I", signed)
            .replace("$M", modular(dtype))
            .replace("$LN_2", &constant(std::f64::consts::LN_2, dtype))
    }
}

/// The bodies of the functions that make `y` of `x`: a `float` of the bits of a `half`, and the other way round, rounded to the
/// nearest.
const fn halves(target: &Target) -> (&'static str, &'static str) {
    if target.dialect.is_cuda() {
        // The instructions make one NaN of all, whose sign is told by `signbit` and copied by `copysign`.
        (
            "    float y;\n    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x));\n    \
             y = as_float((as_uint(y) & 0x7fffffffu) | ((uint)(x & 0x8000) << 16));",
            "    ushort y;\n    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(y) : \"f\"(x));\n    \
             y = (ushort)((y & 0x7fff) | ((as_uint(x) >> 16) & 0x8000));",
        )
    } else if target.fp16 {
        (
            "    const float y = convert_float(as_half(x));",
            "    const ushort y = as_ushort(convert_half_rte(x));",
        )
    } else {
        // Without the type, the language reads and writes it all the same, in memory; bytes may be memory of any type.
        (
            "    const uchar2 bytes = as_uchar2(x);\n    const float y = vload_half(0, (private const half *)&bytes);",
            "    uchar2 bytes;\n    vstore_half_rte(x, 0, (private half *)&bytes);\n    const ushort y = as_ushort(bytes);",
        )
    }
}

/// The texts of functions and of what they call, callees first.
pub(super) fn texts(mut wanted: BTreeSet<(Helper, Dtype)>, target: &Target) -> String {
    let mut open: Vec<(Helper, Dtype)> = wanted.iter().copied().collect();
    while let Some((helper, dtype)) = open.pop() {
        for &needed in helper.needs() {
            if wanted.insert((needed, dtype)) {
                open.push((needed, dtype));
            }
        }
    }
    wanted.into_iter().map(|(helper, dtype)| helper.write(dtype, target)).collect()
}
