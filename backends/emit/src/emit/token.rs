//! Values of the function that is being written, as numbers of the algebra: an operation's definition, applied to them,
//! writes its lines.
//!
//! The dtype of a token is what it is computed in, so never a 16-bit float. It says which text an operation has; which
//! operations it has is checked where programs are built.

use std::fmt::Display;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use stridewise_core::ops::{Alg, Analytic, Field, Float, Int, Parts, Real};
use stridewise_core::{Dtype, DtypeKind};

use super::library::Helper;
use super::literal::constant;
use super::writer::{Name, Writer};
use crate::kernels::text::c_type;

/// A number.
#[derive(Clone, Copy)]
pub(super) struct Token<'w> {
    pub(super) writer: &'w Writer<'w>,
    pub(super) name: Name,
    pub(super) dtype: Dtype,
}

/// The result of a comparison: an `int` of 0 or 1.
#[derive(Clone, Copy)]
pub(super) struct Mask<'w> {
    pub(super) writer: &'w Writer<'w>,
    pub(super) name: Name,
}

/// The integer type without sign of an integer's size.
pub(super) const fn unsigned(dtype: Dtype) -> &'static str {
    match dtype.size() {
        1 => "uchar",
        2 => "ushort",
        4 => "uint",
        _ => "ulong",
    }
}

/// What integers of a dtype are computed in: modulo a power of two and, unlike types that are narrower than `int`, in no
/// type with sign.
pub(super) const fn modular(dtype: Dtype) -> &'static str {
    if dtype.size() == 8 { "ulong" } else { "uint" }
}

impl<'w> Token<'w> {
    /// The text of the value.
    pub(super) fn text(self) -> String {
        self.writer.text(self.name)
    }

    /// A line of another dtype.
    pub(super) fn line(self, dtype: Dtype, expression: &str) -> Self {
        let name = self.writer.line(c_type(dtype), expression);
        Self { writer: self.writer, name, dtype }
    }

    /// A line of the same dtype.
    fn same(self, expression: impl Display) -> Self {
        self.line(self.dtype, &expression.to_string())
    }

    fn mask(self, expression: impl Display) -> Mask<'w> {
        Mask { writer: self.writer, name: self.writer.line("int", &expression.to_string()) }
    }

    /// An integer of the same dtype from one that wraps.
    fn wrapped(self, expression: impl Display) -> Self {
        self.same(format!("as_{}(({})({expression}))", c_type(self.dtype), unsigned(self.dtype)))
    }

    /// An operator between two numbers, element by element of complex ones.
    fn operator(self, operator: &str, other: Self) -> Self {
        let (x, y) = (self.text(), other.text());
        if self.is_integer() {
            let modular = modular(self.dtype);
            self.wrapped(format!("({modular}){x} {operator} ({modular}){y}"))
        } else {
            self.same(format!("{x} {operator} {y}"))
        }
    }

    fn call(self, function: &str, others: &[Self]) -> Self {
        self.call_as(self.dtype, function, others)
    }

    fn call_as(self, dtype: Dtype, function: &str, others: &[Self]) -> Self {
        let mut text = format!("{function}({}", self.text());
        for other in others {
            text.push_str(", ");
            text.push_str(&other.text());
        }
        text.push(')');
        self.line(dtype, &text)
    }

    /// A function of the library.
    pub(super) fn helper(self, helper: Helper, others: &[Self]) -> Self {
        let function = self.writer.helper(helper, self.dtype);
        self.call(&function, others)
    }

    /// A function of real floating point, by its name in OpenCL C, and of complex numbers, in the library.
    fn analytic(self, real: &str, complex: Helper) -> Self {
        if self.is_complex() { self.complex(complex, &[]) } else { self.call(real, &[]) }
    }

    /// A function of complex numbers, which are computed in double precision.
    fn complex(self, helper: Helper, others: &[Self]) -> Self {
        let function = self.writer.helper(helper, Dtype::C128);
        if self.dtype == Dtype::C128 {
            return self.call(&function, others);
        }
        let mut text = format!("convert_float2({function}(convert_double2({})", self.text());
        for other in others {
            text.push_str(&format!(", convert_double2({})", other.text()));
        }
        text.push_str("))");
        self.same(text)
    }

    pub(super) const fn is_complex(self) -> bool {
        matches!(self.dtype, Dtype::C64 | Dtype::C128)
    }
    const fn is_integer(self) -> bool {
        self.dtype.kind().is_integer() || matches!(self.dtype, Dtype::Bool)
    }
    const fn is_signed(self) -> bool {
        matches!(self.dtype.kind(), DtypeKind::Signed)
    }
    const fn bits(self) -> usize {
        8 * self.dtype.size()
    }
}

impl Add for Token<'_> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.operator("+", other)
    }
}
impl Sub for Token<'_> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.operator("-", other)
    }
}
impl Mul for Token<'_> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        if !self.is_complex() {
            return self.operator("*", other);
        }
        let (x, y, ty) = (self.text(), other.text(), c_type(self.dtype));
        // A sum of two multiples. Compilers know the textbook's four products, and Intel's leaves out those with a part
        // that it knows to be 0, such as a converted real number's: zeros' signs and NaNs go with them.
        self.same(format!("{x}.x * {y} + {x}.y * ({ty})(-{y}.y, {y}.x)"))
    }
}
impl Div for Token<'_> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let exact = self.dtype != Dtype::F32 || self.writer.target.exact_division;
        if self.is_complex() {
            self.complex(Helper::ComplexDivide, &[other])
        } else if exact {
            self.operator("/", other)
        } else {
            self.helper(Helper::Quotient, &[other])
        }
    }
}
impl Neg for Token<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        let x = self.text();
        if self.is_integer() {
            let modular = modular(self.dtype);
            self.wrapped(format!("({modular})0 - ({modular}){x}"))
        } else {
            self.same(format!("-{x}"))
        }
    }
}
impl BitAnd for Token<'_> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.same(format!("{} & {}", self.text(), other.text()))
    }
}
impl BitOr for Token<'_> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.same(format!("{} | {}", self.text(), other.text()))
    }
}
impl BitXor for Token<'_> {
    type Output = Self;
    fn bitxor(self, other: Self) -> Self {
        self.same(format!("{} ^ {}", self.text(), other.text()))
    }
}
impl Not for Token<'_> {
    type Output = Self;
    fn not(self) -> Self {
        let x = self.text();
        if self.dtype == Dtype::Bool { self.same(format!("{x} ^ 1")) } else { self.wrapped(format!("~{x}")) }
    }
}

impl Mask<'_> {
    fn combined(self, operator: &str, other: Self) -> Self {
        let (x, y) = (self.writer.text(self.name), self.writer.text(other.name));
        Self { writer: self.writer, name: self.writer.line("int", &format!("{x} {operator} {y}")) }
    }
}
impl BitAnd for Mask<'_> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        self.combined("&", other)
    }
}
impl BitOr for Mask<'_> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.combined("|", other)
    }
}
impl BitXor for Mask<'_> {
    type Output = Self;
    fn bitxor(self, other: Self) -> Self {
        self.combined("^", other)
    }
}
impl Not for Mask<'_> {
    type Output = Self;
    fn not(self) -> Self {
        let x = self.writer.text(self.name);
        Self { writer: self.writer, name: self.writer.line("int", &format!("!{x}")) }
    }
}

impl<'w> Alg for Token<'w> {
    type Mask = Mask<'w>;

    fn lit(self, c: f64) -> Self {
        let name = self.writer.name(constant(c, self.dtype));
        Self { writer: self.writer, name, dtype: self.dtype }
    }
    fn equal(self, other: Self) -> Mask<'w> {
        let (x, y) = (self.text(), other.text());
        if self.is_complex() {
            self.mask(format!("({x}.x == {y}.x) & ({x}.y == {y}.y)"))
        } else if self.is_integer() && x == y {
            // The test for NaN; compilers warn.
            self.mask(1)
        } else {
            self.mask(format!("{x} == {y}"))
        }
    }
    fn select(mask: Mask<'w>, yes: Self, no: Self) -> Self {
        yes.same(format!("{} ? {} : {}", mask.writer.text(mask.name), yes.text(), no.text()))
    }
    fn is_finite(self) -> Mask<'w> {
        let x = self.text();
        match self.dtype.kind() {
            DtypeKind::Complex => self.mask(format!("isfinite({x}.x) & isfinite({x}.y)")),
            DtypeKind::Float => self.mask(format!("isfinite({x})")),
            _ => self.mask(1),
        }
    }
    fn is_infinite(self) -> Mask<'w> {
        let x = self.text();
        match self.dtype.kind() {
            DtypeKind::Complex => self.mask(format!("isinf({x}.x) | isinf({x}.y)")),
            DtypeKind::Float => self.mask(format!("isinf({x})")),
            _ => self.mask(0),
        }
    }
    fn sign(self) -> Self {
        let x = self.text();
        match self.dtype.kind() {
            DtypeKind::Complex => self.complex(Helper::ComplexSign, &[]),
            // The built-in function makes 0 of NaN.
            DtypeKind::Float => {
                let (zero, one) = (self.lit(0.0).text(), self.lit(1.0).text());
                self.same(format!(
                    "{x} > {zero} ? {one} : {x} < {zero} ? -{one} : {x} == {zero} ? {zero} : {x}"
                ))
            }
            DtypeKind::Signed => self.same(format!("({x} > 0) - ({x} < 0)")),
            _ => self.same(format!("{x} > 0")),
        }
    }
    fn conj(self) -> Self {
        if !self.is_complex() {
            return self;
        }
        let x = self.text();
        self.same(format!("({})({x}.x, -{x}.y)", c_type(self.dtype)))
    }
    fn round(self) -> Self {
        if self.is_complex() {
            let (x, ty) = (self.text(), c_type(self.dtype));
            return self.same(format!("({ty})(rint({x}.x), rint({x}.y))"));
        }
        if self.is_integer() { self } else { self.call("rint", &[]) }
    }
    fn pow(self, exponent: Self) -> Self {
        match self.dtype.kind() {
            DtypeKind::Complex => self.complex(Helper::ComplexPow, &[exponent]),
            DtypeKind::Float => self.call("pow", &[exponent]),
            _ => self.helper(Helper::IntegerPow, &[exponent]),
        }
    }
}

impl Parts for Token<'_> {
    type Part = Self;

    fn abs(self) -> Self {
        let x = self.text();
        match self.dtype.kind() {
            DtypeKind::Complex => self.line(self.dtype.real_part(), &format!("hypot({x}.x, {x}.y)")),
            DtypeKind::Float => self.call("fabs", &[]),
            // Of a type without sign; the most negative integer wraps.
            DtypeKind::Signed => self.same(format!("as_{}(abs({x}))", c_type(self.dtype))),
            _ => self,
        }
    }
    fn real(self) -> Self {
        if self.is_complex() {
            self.line(self.dtype.real_part(), &format!("{}.x", self.text()))
        } else {
            self
        }
    }
    fn imag(self) -> Self {
        if self.is_complex() {
            self.line(self.dtype.real_part(), &format!("{}.y", self.text()))
        } else {
            self.lit(0.0)
        }
    }
}

impl Field for Token<'_> {}

impl<'w> Real for Token<'w> {
    fn less(self, other: Self) -> Mask<'w> {
        self.mask(format!("{} < {}", self.text(), other.text()))
    }
    fn less_equal(self, other: Self) -> Mask<'w> {
        self.mask(format!("{} <= {}", self.text(), other.text()))
    }
    fn minimum(self, other: Self) -> Self {
        let (x, y) = (self.text(), other.text());
        if self.is_integer() {
            self.same(format!("{y} < {x} ? {y} : {x}"))
        } else {
            self.same(format!("({x} < {y}) | isnan({x}) | (({x} == {y}) & (signbit({x}) != 0)) ? {x} : {y}"))
        }
    }
    fn maximum(self, other: Self) -> Self {
        let (x, y) = (self.text(), other.text());
        if self.is_integer() {
            self.same(format!("{x} < {y} ? {y} : {x}"))
        } else {
            self.same(format!("({x} > {y}) | isnan({x}) | (({x} == {y}) & (signbit({x}) == 0)) ? {x} : {y}"))
        }
    }
    fn floor(self) -> Self {
        if self.is_integer() { self } else { self.call("floor", &[]) }
    }
    fn ceil(self) -> Self {
        if self.is_integer() { self } else { self.call("ceil", &[]) }
    }
    fn trunc(self) -> Self {
        if self.is_integer() { self } else { self.call("trunc", &[]) }
    }
    fn floor_divide(self, other: Self) -> Self {
        let helper = if self.is_integer() { Helper::IntegerFloorDivide } else { Helper::FloorDivide };
        self.helper(helper, &[other])
    }
    fn remainder(self, other: Self) -> Self {
        let helper = if self.is_integer() { Helper::IntegerRemainder } else { Helper::Remainder };
        self.helper(helper, &[other])
    }
}

/// Functions that OpenCL C has of real numbers, and the library of complex ones.
macro_rules! analytic {
    ($($f:ident $Helper:ident;)*) => {$(
        fn $f(self) -> Self {
            self.analytic(stringify!($f), Helper::$Helper)
        }
    )*};
}

impl Analytic for Token<'_> {
    fn sqrt(self) -> Self {
        if self.is_complex() {
            self.complex(Helper::ComplexSqrt, &[])
        } else if self.dtype == Dtype::F32 && !self.writer.target.exact_division {
            self.helper(Helper::Root, &[])
        } else {
            self.call("sqrt", &[])
        }
    }
    analytic! {
        exp ComplexExp; exp2 ComplexExp2; expm1 ComplexExpm1;
        log ComplexLog; log1p ComplexLog1p; log2 ComplexLog2; log10 ComplexLog10;
        sin ComplexSin; cos ComplexCos; tan ComplexTan;
        asin ComplexAsin; acos ComplexAcos; atan ComplexAtan;
        sinh ComplexSinh; cosh ComplexCosh;
        asinh ComplexAsinh; acosh ComplexAcosh; atanh ComplexAtanh;
    }
    fn tanh(self) -> Self {
        if self.is_complex() {
            self.complex(Helper::ComplexTanh, &[])
        } else {
            self.helper(Helper::Tanh, &[])
        }
    }
}

impl Float for Token<'_> {
    fn mul_add(self, b: Self, c: Self) -> Self {
        self.call("fma", &[b, c])
    }
    fn atan2(self, x: Self) -> Self {
        self.call("atan2", &[x])
    }
    fn hypot(self, other: Self) -> Self {
        self.call("hypot", &[other])
    }
    fn logaddexp(self, other: Self) -> Self {
        self.helper(Helper::Logaddexp, &[other])
    }
    fn cbrt(self) -> Self {
        self.call("cbrt", &[])
    }
    fn rsqrt(self) -> Self {
        // The built-in function may be 2 units off.
        self.lit(1.0) / Analytic::sqrt(self)
    }
    fn erf(self) -> Self {
        self.call("erf", &[])
    }
    fn sigmoid(self) -> Self {
        self.helper(Helper::Sigmoid, &[])
    }
    fn copysign(self, sign: Self) -> Self {
        self.call("copysign", &[sign])
    }
    fn nextafter(self, other: Self) -> Self {
        self.helper(Helper::Nextafter, &[other])
    }
}

impl Int for Token<'_> {
    fn shift_left(self, count: Self) -> Self {
        let (x, places, bits) =
            (self.text(), format!("({}){}", unsigned(self.dtype), count.text()), self.bits());
        self.wrapped(format!("{places} < {bits} ? ({}){x} << {places} : 0", modular(self.dtype)))
    }
    fn shift_right(self, count: Self) -> Self {
        let (x, places, bits) =
            (self.text(), format!("({}){}", unsigned(self.dtype), count.text()), self.bits());
        if self.is_signed() {
            self.same(format!("{x} >> ({places} < {bits} ? {places} : {})", bits - 1))
        } else {
            self.same(format!("{places} < {bits} ? {x} >> {places} : 0"))
        }
    }
}
