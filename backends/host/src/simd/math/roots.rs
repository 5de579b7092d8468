//! Cube root, reciprocal square root and the length of a vector.

use super::double::Pair;
use super::{FloatBits, Row, flip, plain_polynomial, power, sign};

/// m^(−⅓) for m in [1, 2), to 2⁻¹⁴.
const START: &[f64] =
    &[1.6700078215576695, -1.1728832213372464, 0.6954856906380734, -0.22123919948938195, 0.02859124226726873];

/// 2^(−⅓) and 2^(−⅔).
const STEPS: [f64; 2] = [0.7937005259840998, 0.6299605249474366];

const THIRD: f64 = 1.0 / 3.0;

/// Makes subnormal numbers normal, by a power of 2 whose exponent is a multiple of 3.
const LIFT: [f64; 2] = [18_014_398_509_481_984.0, 54.0];

/// x = m · 8ᵏ.
struct Cubic<V> {
    /// In [1, 8).
    m: V,
    /// 2ᵏ.
    scale: V,
    /// About m^(⅓), with a relative error of 2⁻⁴¹.
    root: V,
    /// About m^(−⅓).
    inverse: V,
}

/// For normal numbers x > 0; `offset` is subtracted from the exponent.
#[inline(always)]
fn cubic<V: FloatBits<Elem = f64>>(x: V, offset: V) -> Cubic<V> {
    let bits = x.to_bits();
    let unit = 1i64 << f64::FRACTION_BITS;
    let exponent_bits = x.lit(unit as f64).to_bits();
    let biased = V::from_bits(V::bits_or(V::bits_shr(bits, f64::FRACTION_BITS), exponent_bits));
    let exponent = biased - (x.lit(unit as f64 + 1023.0) + offset);
    let fraction = V::bits_and(bits, x.bits(unit - 1));
    let m = V::from_bits(V::bits_or(fraction, x.bits(f64::ONE)));

    // ⌊exponent / 3⌋: the nearest integer to a third below.
    let third = x.lit(THIRD);
    let magic = x.lit(f64::MAGIC);
    let magic_k = (exponent * third - third) + magic;
    let k = magic_k - magic;
    let rest = exponent - k * x.lit(3.0);
    let (one, two) = (rest.equal(x.lit(1.0)), rest.equal(x.lit(2.0)));
    let step = V::select(two, x.lit(STEPS[1]), V::select(one, x.lit(STEPS[0]), x.lit(1.0)));
    let grown = V::select(two, m * x.lit(4.0), V::select(one, m + m, m));

    // One step of third order: with e = 1 − m·y³, m^(−⅓) = y·(1 − e)^(−⅓) = y·(1 + e/3 + 2e²/9 + …).
    let y = plain_polynomial(m, START) * step;
    let e = x.lit(1.0) - ((grown * y) * y) * y;
    let inverse = y + (y * e) * (third + e * x.lit(2.0 / 9.0));
    Cubic { m: grown, scale: power(magic_k), root: grown * (inverse * inverse), inverse }
}

/// `root` with the sign of `x`; 0, infinity and NaN are their own roots.
#[inline(always)]
fn complete<V: FloatBits>(x: V, root: V) -> V {
    let size = x.abs();
    let plain = x.lit(0.0).less(size) & size.less(x.lit(f64::INFINITY));
    V::select(plain, flip(root, sign(x)), x)
}

/// Cube root.
#[inline(always)]
pub(super) fn cbrt_plain<V: FloatBits<Elem = f64>>(x: V) -> V {
    let Cubic { root, scale, .. } = cubic(x.abs(), x.lit(0.0));
    complete(x, root * scale)
}

/// Cube root.
#[inline(always)]
pub(super) fn cbrt_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let size = x.abs();
    let tiny = size.less(x.lit(f64::MIN_POSITIVE));
    let normal = V::select(tiny, size * x.lit(LIFT[0]), size);
    let Cubic { m, scale, root, inverse } = cubic(normal, V::select(tiny, x.lit(LIFT[1]), x.lit(0.0)));
    // Newton's step, from the error of the cube in twice the precision.
    let Pair { head, tail } = Pair::product(root, root);
    let over = tail.mul_add(root, head.mul_add(root, -m));
    let step = over * ((inverse * inverse) * x.lit(THIRD));
    complete(x, (root - step) * scale)
}

/// 1 / √x.
#[inline(always)]
pub(super) fn rsqrt_plain<V: FloatBits<Elem = f64>>(x: V) -> V {
    x.lit(1.0) / x.sqrt()
}

/// 1 / √x.
#[inline(always)]
pub(super) fn rsqrt_f64<V: FloatBits<Elem = f64>>(x: V) -> V {
    let one = x.lit(1.0);
    let y = one / x.sqrt();
    // Newton's step: e = 1 − x·y² in twice the precision.
    let Pair { head, tail } = Pair::product(x, y);
    let e = (-tail).mul_add(y, (-head).mul_add(y, one));
    let result = (y * x.lit(0.5)).mul_add(e, y);
    let size = y.abs();
    V::select(x.lit(0.0).less(size) & size.less(x.lit(f64::INFINITY)), result, y)
}

/// √(x² + y²).
#[inline(always)]
pub(super) fn hypot_plain<V: FloatBits<Elem = f64>>(x: V, y: V) -> V {
    infinite_if_either(x, y, (x * x + y * y).sqrt())
}

/// Beyond the first number, squares may overflow; below the third, they lose bits. Then the second or the fourth is
/// the scale.
const SCALING: [f64; 4] = [
    f64::from_bits((1023 + 500) << 52),
    f64::from_bits((1023 - 600) << 52),
    f64::from_bits((1023 - 400) << 52),
    f64::from_bits((1023 + 600) << 52),
];

/// √(x² + y²), after Borges, "An improved algorithm for hypot(a, b)" (2019).
#[inline(always)]
pub(super) fn hypot_f64<V: FloatBits<Elem = f64>>(x: V, y: V) -> V {
    let (x_size, y_size, one) = (x.abs(), y.abs(), x.lit(1.0));
    let steep = x_size.less(y_size);
    let larger = V::select(steep, y_size, x_size);
    let smaller = V::select(steep, x_size, y_size);
    let (shrink, grow) = (x.lit(SCALING[1]), x.lit(SCALING[3]));
    let (is_huge, is_tiny) = (x.lit(SCALING[0]).less(larger), larger.less(x.lit(SCALING[2])));
    let factor = V::select(is_huge, shrink, V::select(is_tiny, grow, one));
    let inverse = V::select(is_huge, grow, V::select(is_tiny, shrink, one));

    let (a, b) = (larger * factor, smaller * factor);
    let (a_square, b_square) = (Pair::product(a, a), Pair::product(b, b));
    let h = a_square.head.mul_add(one, b_square.head).sqrt();
    // h² − a² − b², the large parts first.
    let h_square = Pair::product(h, h);
    let over =
        ((h_square.head - a_square.head) - b_square.head) + (h_square.tail - (a_square.tail + b_square.tail));
    let length = V::select(x.lit(0.0).less(h), h - over / (h + h), h) * inverse;
    infinite_if_either(x, y, length)
}

/// The length, but infinite where a coordinate is, even beside NaN.
#[inline(always)]
fn infinite_if_either<V: FloatBits>(x: V, y: V, length: V) -> V {
    let infinity = x.lit(f64::INFINITY);
    V::select(x.abs().equal(infinity) | y.abs().equal(infinity), infinity, length)
}
