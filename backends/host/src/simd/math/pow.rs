//! xʸ = e^(y·ln |x|), with the sign and the exceptions of the array API standard.
//!
//! The error of a logarithm is multiplied by y, which may be as large as the exponent's range: so the
//! logarithm and the product are pairs of numbers, some ten bits more precise than the dtype.
//! ```text
//! x = 2ᵏ·m      c ≈ 1/m from a table of 32, m·c = 1 + r exactly
//! ln x          k·ln 2 − ln c + (r − r²/2 − r³/2·cubic(r))      as a pair
//! y·ln x        n sixteenths of ln 2, and a rest of |r| ≤ ln 2 / 32
//! xʸ            2^(n/16)·(1 + r + r²·quadratic(r))
//! ```
//! Two ways lead there. Where all lanes are positive, normal and calm (no result near the ends of the range),
//! the short one needs no exceptions; else all lanes take the long one. Both round the same way: a result
//! must not depend on its neighbours.
//!
//! Coefficients are minimax polynomials (how they were made stands in `math/mod.rs`). Every level runs this
//! same code, so a change of one operation changes the bits of all of them; `simd/tests/accuracy.rs` and
//! `cargo xtask ulp` have the errors.

use super::double::Pair;
use super::{FloatBits, Row, exp, log, paired_polynomial};

/// What the power of a dtype is made with.
pub(super) trait Power: Row {
    /// Those of all dtypes, in this one.
    const RECIPROCALS: &'static [[Self; 16]; 2];
    /// −ln c in two parts; the first plus a multiple of the upper part of ln 2 is exact.
    const LOGARITHMS: [&'static [[Self; 16]; 2]; 2];
    /// −2·(ln(1 + r) − r + r²/2) / r³; the error is a thousandth of the last place of the logarithm, and less.
    const CUBIC: &'static [f64];
    /// 16 / ln 2, and ln 2 / 16 in two parts.
    const SIXTEENTH: [f64; 3];
    /// 2^(i/16), from the bits of which i sixteenths of a binade are taken, and what is missing, as a part of it.
    const POWERS: [&'static [Self; 16]; 2];
    /// (eʳ − 1 − r) / r², for |r| up to ln 2 / 32 and what the tail of an exponent may add.
    const QUADRATIC: &'static [f64];
}

/// `x` to the power `y`.
#[inline(always)]
pub(super) fn pow<V: FloatBits<Elem: Power>>(x: V, y: V) -> V {
    let c = const { <V::Elem as Row>::LOG };
    let ordinary = x.lit(c.least_normal).less_equal(x) & x.less(x.lit(f64::INFINITY));
    if !V::any(!ordinary) {
        let exponent = Exponent::new(logarithm(x, x.lit(c.unit + c.bias)), y);
        let calm = exponent.pair.head.abs().less(x.lit(const { <V::Elem as Row>::EXP.calm }));
        // An infinite y or a NaN makes an exponent that is not calm.
        if !V::any(!calm) {
            let parts = exponent.raised();
            let root = parts.root(parts.sixteenths);
            return root.mul_add(parts.grown, root);
        }
    }
    let (size, offset) = log::lifted(x.abs());
    let parts = Exponent::new(logarithm(size, offset), y).limited().raised();
    // The same rounding as above, and what it lost.
    let root = parts.root(V::bits_and(parts.sixteenths, x.bits(15)));
    let head = root.mul_add(parts.grown, root);
    let tail = root.mul_add(parts.grown, root - head);
    let k = (parts.n * x.lit(1.0 / 16.0)).floor();
    with_exceptions(x, y, exp::scaled(Pair { head, tail }, k))
}

/// The logarithm of a positive normal number.
struct Logarithm<V> {
    /// A thousand times more precise than the dtype; the tail may be up to 2⁻¹³ of the head: the cube is in it.
    pair: Pair<V>,
    /// −r³/2 of [`logarithm`], almost −3/2 of the tail.
    cube: V,
}

/// The logarithm of 2ᵏ·m; `offset` is taken from the exponent's biased count.
#[inline(always)]
fn logarithm<V: FloatBits<Elem: Power>>(x: V, offset: V) -> Logarithm<V> {
    let c = const { <V::Elem as Row>::LOG };
    let bits = const { <V::Elem as Row>::FRACTION_BITS };
    // m is from 91/128 to twice that, so that 1 is within one thirty-second, not at its edge.
    let below_one = 37_i64 << (bits - 6);
    // Counted from the least m, the upper bits are the exponent and the lower ones the place of m.
    let counted = V::bits_add(x.to_bits(), x.bits(below_one));
    let k = V::from_bits(V::bits_or(V::bits_shr(counted, bits), x.bits(c.unit_bits))) - offset;
    let place = V::bits_and(counted, x.bits((1 << bits) - 1));
    let m = V::from_bits(V::bits_add(place, x.bits(<V::Elem as Row>::ONE - below_one)));
    let index = V::bits_shr(counted, bits - 5);
    // m·c = 1 + r, and ln(1 + r) = r − r²/2 + …
    let r = m.mul_add(V::lookup32(index, const { <V::Elem as Power>::RECIPROCALS }), x.lit(-1.0));
    let square = Pair::product(r * x.lit(-0.5), r);
    let near = Pair::ordered_sum(r, square.head);
    // k·ln 2 − ln c is 0 or greater than that.
    let [uppers, lowers] = const { <V::Elem as Power>::LOGARITHMS };
    let [upper, lower] = c.ln_2;
    let sum = Pair::ordered_sum(k.mul_add(x.lit(upper), V::lookup32(index, uppers)), near.head);
    let lost = (near.tail + square.tail) + k.mul_add(x.lit(lower), V::lookup32(index, lowers));
    let cube = r * square.head;
    let cubic = paired_polynomial(r, const { <V::Elem as Power>::CUBIC });
    Logarithm { pair: sum.with(cube.mul_add(cubic, lost)), cube }
}

/// The exponent of e.
struct Exponent<V> {
    pair: Pair<V>,
    /// The sum of the pair to within a hundredth, known earlier.
    rough: V,
}

impl<V: FloatBits<Elem: Power>> Exponent<V> {
    #[inline(always)]
    fn new(log: Logarithm<V>, y: V) -> Self {
        let Pair { head, tail } = Pair::product(y, log.pair.head);
        // The tail of `float32` is below a hundredth itself.
        let double = const { <V::Elem as Row>::FRACTION_BITS > 24 };
        let rough = if double { (y * y.lit(-2.0 / 3.0)).mul_add(log.cube, head) } else { head };
        Exponent { pair: Pair { head, tail: y.mul_add(log.pair.tail, tail) }, rough }
    }

    /// Within the limits of the dtype's exponential.
    #[inline(always)]
    fn limited(self) -> Self {
        let head = exp::limited(self.pair.head);
        let within = head.equal(self.pair.head);
        // Beyond the limits the tail may be no number.
        let tail = V::select(within, self.pair.tail, head.lit(0.0));
        Exponent { pair: Pair { head, tail }, rough: V::select(within, self.rough, head) }
    }

    #[inline(always)]
    fn raised(self) -> Parts<V> {
        let Pair { head, tail } = self.pair;
        let [inverse, upper, lower] = const { <V::Elem as Power>::SIXTEENTH };
        let magic = head.lit(<V::Elem as Row>::MAGIC);
        let magic_n = self.rough.mul_add(head.lit(inverse), magic);
        let (n, sixteenths) = (magic_n - magic, magic_n.to_bits());
        let missing = V::lookup(sixteenths, const { <V::Elem as Power>::POWERS[1] });
        let r = n.mul_add(head.lit(-upper), head) + (n.mul_add(head.lit(-lower), tail) + missing);
        let grown = (r * r).mul_add(paired_polynomial(r, const { <V::Elem as Power>::QUADRATIC }), r);
        Parts { n, sixteenths, grown }
    }
}

/// e to the power of n sixteenths of ln 2 and r: n = 16k + i, and the power is 2ᵏ·2^(i/16)·eʳ.
struct Parts<V: FloatBits> {
    n: V,
    /// In the lowest bits: n.
    sixteenths: V::Bits,
    /// eʳ − 1, with what is missing in 2^(i/16).
    grown: V,
}

impl<V: FloatBits<Elem: Power>> Parts<V> {
    /// 2^(i/16) with so many sixteenths of a binade added: `sixteenths`, or i of them.
    #[inline(always)]
    fn root(&self, added: V::Bits) -> V {
        let root = V::lookup(self.sixteenths, const { <V::Elem as Power>::POWERS[0] });
        let added = V::bits_shl(added, const { <V::Elem as Row>::FRACTION_BITS - 4 });
        V::from_bits(V::bits_add(root.to_bits(), added))
    }
}

/// A number c for each thirty-second of a binade, so near the reciprocals of its numbers m that m·c is within 1/50 of 1,
/// and of so few bits that m·c − 1 is exact.
const RECIPROCALS: [[f64; 16]; 2] = [
    [
        1.390625, 1.359375, 1.328125, 1.3125, 1.28125, 1.25, 1.234375, 1.203125, 1.1875, 1.15625, 1.140625,
        1.125, 1.109375, 1.078125, 1.0625, 1.046875,
    ],
    [
        1.03125, 1.015625, 1.0, 0.96875, 0.9375, 0.9140625, 0.890625, 0.859375, 0.84375, 0.8203125, 0.796875,
        0.78125, 0.765625, 0.7421875, 0.7265625, 0.7109375,
    ],
];

impl Power for f32 {
    const RECIPROCALS: &'static [[Self; 16]; 2] = &{
        let (mut single, mut i) = ([[0.0; 16]; 2], 0);
        while i < 32 {
            single[i / 16][i % 16] = RECIPROCALS[i / 16][i % 16] as f32;
            i += 1;
        }
        single
    };
    const LOGARITHMS: [&'static [[Self; 16]; 2]; 2] = [
        &[
            [
                -0.329_757_7,
                -0.307_022_1,
                -0.283_767_7,
                -0.271_926_88,
                -0.247_833_25,
                -0.223_144_53,
                -0.210_571_29,
                -0.184_921_26,
                -0.171_844_48,
                -0.145_187_38,
                -0.131_576_54,
                -0.117_782_59,
                -0.103_790_28,
                -0.075_225_83,
                -0.060_623_17,
                -0.045_806_885,
            ],
            [
                -0.030_776_978,
                -0.015_502_93,
                0.0,
                0.031_753_54,
                0.064_544_68,
                0.089_859_01,
                0.115_829_47,
                0.151_550_3,
                0.169_906_62,
                0.198_074_34,
                0.227_050_78,
                0.246_856_69,
                0.267_059_33,
                0.298_156_74,
                0.319_427_5,
                0.341_171_26,
            ],
        ],
        &[
            [
                4.404_057e-06,
                -2.940_568_3e-06,
                -4.729_353_4e-07,
                -6.835_600_7e-06,
                -2.911_951_5e-06,
                9.799_357e-07,
                6.519_955e-06,
                -1.073_845_6e-06,
                -5.774_504_6e-06,
                5.368_085e-06,
                1.802_972_2e-07,
                -4.428_829_4e-07,
                -6.510_478_7e-06,
                2.408_840_6e-06,
                -1.452_871_2e-06,
                -2.651_265_7e-06,
            ],
            [
                5.318_872_4e-06,
                -1.256_848_5e-06,
                0.0,
                -4.841_724_6e-06,
                -6.156_597e-06,
                -2.679_667_2e-06,
                2.347_751_7e-06,
                -3.948_415_5e-07,
                -7.579_415_5e-06,
                -4.427_058_2e-06,
                6.669_385e-06,
                3.388_478_5e-06,
                3.459_077e-06,
                -3.365_962_1e-06,
                3.280_532e-06,
                -5.072_456_6e-07,
            ],
        ],
    ];
    const CUBIC: &'static [f64] = &[-0.6666662096977234, 0.5000929236412048, -0.40256354212760925];
    const SIXTEENTH: [f64; 3] = [23.083120346069336, 0.043321698904037476, -1.1904088825787085e-10];
    const POWERS: [&'static [Self; 16]; 2] = [
        &[
            1.0,
            0.990_886_87,
            0.982_753_9,
            0.975_644_3,
            0.969_603_54,
            0.964_678_9,
            0.960_919_8,
            0.958_377_8,
            0.957_106_77,
            0.957_163_1,
            0.958_605_4,
            0.961_495_16,
            0.965_896_4,
            0.971_876_1,
            0.979_504_05,
            0.988_853_3,
        ],
        &[
            0.0,
            4.628_547e-08,
            -1.199_215_75e-08,
            4.729_782_4e-08,
            3.193_418e-08,
            3.621_057_2e-08,
            -3.099_072e-08,
            -7.475_213e-09,
            1.711_427_1e-08,
            -3.047_683_4e-08,
            5.233_334e-09,
            6.107_591_8e-09,
            -1.471_960_5e-08,
            -5.258_795e-09,
            -6.128_259_7e-09,
            5.140_609_3e-09,
        ],
    ];
    const QUADRATIC: &'static [f64] = &[0.5, 0.1666700839996338, 0.04166766256093979];
}

impl Power for f64 {
    const RECIPROCALS: &'static [[Self; 16]; 2] = &RECIPROCALS;
    const LOGARITHMS: [&'static [[Self; 16]; 2]; 2] = [
        &[
            [
                -0.32975328637257917,
                -0.30702503529482783,
                -0.28376817313073843,
                -0.2719337154835557,
                -0.2478361639045943,
                -0.22314355131402408,
                -0.21056476910735,
                -0.1849223384938341,
                -0.17185025692651834,
                -0.14518200984457508,
                -0.13157635778861732,
                -0.11778303565643,
                -0.10379679368179495,
                -0.07522342123775161,
                -0.060624621816259605,
                -0.0458095360313564,
            ],
            [
                -0.03077165866670839,
                -0.015504186535963527,
                0.0,
                0.031748698314459034,
                0.06453852113736502,
                0.0898563291220853,
                0.11583181552532551,
                0.15154989812708664,
                0.16989903679541385,
                0.19806991376208316,
                0.2270574506351295,
                0.2468600779316148,
                0.2670627852489815,
                0.29815337231912054,
                0.3194307707663029,
                0.3411707574027787,
            ],
        ],
        &[
            [
                1.1118671389559323e-13,
                -8.403156304792425e-14,
                9.3834172236637e-14,
                -8.604306772808733e-14,
                1.3029797173308663e-14,
                -1.856757095979601e-13,
                3.6507188831790577e-16,
                -1.7788850778198106e-13,
                -1.4088127937111135e-13,
                7.718001336828099e-14,
                -1.0195735223708473e-13,
                4.654729747598445e-14,
                1.5138730947129065e-13,
                1.6408301585598662e-13,
                -1.7523746905186702e-13,
                6.219834199475792e-14,
            ],
            [
                -4.529814257790929e-14,
                -1.7274567499706107e-15,
                0.0,
                1.2126714809099119e-13,
                2.0614806739842207e-13,
                -2.2425180056249017e-13,
                -2.0380485326119331e-13,
                1.1430262734452834e-13,
                -1.6376276414097503e-14,
                1.0634128304268335e-14,
                2.1658630794451516e-13,
                -8.899851356560444e-14,
                6.371947269815667e-14,
                -4.4204083338755686e-14,
                5.834357420090924e-14,
                -1.156568624616423e-14,
            ],
        ],
    ];
    const CUBIC: &'static [f64] = &[
        -0.6666666666666666,
        0.4999999999999845,
        -0.40000000000309766,
        0.3333333336160228,
        -0.28571425388476046,
        0.24999845147465188,
        -0.2223512579608786,
        0.20267171558358432,
    ];
    const SIXTEENTH: [f64; 3] = [23.083120654223414, 0.04332169878499658, 1.4494042586539372e-18];
    const POWERS: [&'static [Self; 16]; 2] = [
        &[
            1.0,
            0.9908868912137069,
            0.9827538663326288,
            0.9756443173783458,
            0.9696035575013605,
            0.964678906036742,
            0.9609197773255048,
            0.9583777734684463,
            0.9571067811865476,
            0.9571630729697497,
            0.9586054127039704,
            0.9614951659746271,
            0.9658964152537145,
            0.9718760801866497,
            0.9795040432046712,
            0.9888532806985737,
        ],
        &[
            0.0,
            8.189317638195515e-17,
            -2.7939114859515733e-17,
            7.826573258636076e-17,
            3.3484623336251524e-17,
            3.750854201303127e-17,
            1.9572585293112036e-17,
            5.68648095791174e-17,
            -6.835808657661922e-17,
            -2.3591094770850053e-17,
            5.1548301170786783e-17,
            1.5341410053603723e-17,
            4.875160526227062e-17,
            1.685487290628973e-17,
            1.790126907604513e-17,
            -5.545065618639427e-17,
        ],
    ];
    const QUADRATIC: &'static [f64] = &[
        0.5000000000000004,
        0.1666666666666668,
        0.04166666666054236,
        0.008333333332274461,
        0.0013889113251347334,
        0.00019841571758030593,
    ];
}

/// `size`, the power of |x| where both operands are finite and x is not 0, with the sign that it has, and what the power
/// is elsewhere.
#[inline(always)]
fn with_exceptions<V: FloatBits>(x: V, y: V, size: V) -> V {
    let (zero, one, infinity) = (x.lit(0.0), x.lit(1.0), x.lit(f64::INFINITY));
    let (x_size, y_size) = (x.abs(), y.abs());
    let unit = x_size.equal(one);
    let y_infinite = y_size.equal(infinity);

    // From here on every float is an integer; one below added to it has in the last bit whether it is odd.
    let first_whole = (1_u64 << <V::Elem as Row>::FRACTION_BITS) as f64;
    let first = x.lit(first_whole);
    let whole = first.less_equal(y_size);
    let shifted = V::select(whole, y_size, y_size + first);
    let integer = whole | (shifted - first).equal(y_size);
    let bit = x.bits(1);
    let odd = V::bits_equal(V::bits_and(shifted.to_bits(), bit), bit)
        & integer
        & y_size.less(x.lit(2.0 * first_whole));

    // Powers that are 0 or infinite.
    let edge = x_size.equal(zero) | x_size.equal(infinity) | y_infinite;
    let grows = one.less(x_size) ^ y.less(zero);
    let size = V::select(edge, V::select(grows, infinity, zero), size);
    let signs = V::select(odd, x, zero);
    let result = super::flip(size, super::sign(signs));

    let no_root = x.less(zero) & !integer & !y_infinite & x_size.less(infinity);
    let result = V::select(no_root, x.lit(f64::NAN), result);
    let result = V::select(x.equal(x) & y.equal(y), result, x + y);
    V::select(y.equal(zero) | x.equal(one) | (unit & y_infinite), one, result)
}
