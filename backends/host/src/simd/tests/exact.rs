//! Functions whose results are exact: rounding, division with a remainder, neighbors and signs.

use super::{Fun, Isa, Kind, Random, apply, bf16, f16, map1, map3, special};

const EXACT: [Fun; 8] = [
    Fun::Floor,
    Fun::Ceil,
    Fun::Trunc,
    Fun::Round,
    Fun::Copysign,
    Fun::Nextafter,
    Fun::Remainder,
    Fun::FloorDivide,
];

/// Random pairs, pairs with small quotients and quotients that are whole, and all pairs of special values.
fn pairs<T: Kind>(seed: u64, len: usize) -> (Vec<T>, Vec<T>) {
    let mut random = Random(seed);
    let (mut x, mut y) = (random.floats::<T>(len), random.floats::<T>(len));
    for i in 0..len {
        let bits = random.next();
        // Halves and quarters, of either sign.
        let (small, whole) = ((bits % 81) as f64 / 4.0 - 10.0, (bits >> 8) % 4001);
        x.extend([x[i], T::of(small * (whole as f64 - 2000.0)), T::of(whole as f64 / 2.0 - 1000.0)]);
        y.extend([T::of(small), T::of(small), y[i]]);
    }
    for a in special::<T>() {
        for b in special::<T>() {
            x.push(a);
            y.push(b);
        }
    }
    (x, y)
}

#[test]
fn exact_functions_are_those_of_the_scalars() {
    macro_rules! check {
        ($elem:ty) => {
            let (x, y) = pairs::<$elem>(2, 30_000);
            for &isa in Isa::available() {
                for fun in EXACT {
                    for (i, got) in map3(isa, fun, [&x, &y, &x]).into_iter().enumerate() {
                        let expected = apply(fun, [x[i], y[i], x[i]]);
                        let at = (x[i], y[i]);
                        assert_eq!(
                            got.key(),
                            expected.key(),
                            "{} {fun:?}{at:?}: {got:?}, not {expected:?}",
                            isa.name()
                        );
                    }
                }
            }
        };
    }
    check!(f32);
    check!(f64);
}

#[test]
fn halves_agree_at_every_level() {
    fn check<T: Kind>() {
        let (x, y) = pairs::<T>(3, 10_000);
        for fun in EXACT {
            let expected = map3(Isa::Scalar, fun, [&x, &y, &x]);
            for &isa in Isa::available() {
                for (i, got) in map3(isa, fun, [&x, &y, &x]).into_iter().enumerate() {
                    let at = (x[i], y[i]);
                    assert_eq!(got.key(), expected[i].key(), "{} {fun:?}{at:?}: {got:?}", isa.name());
                }
            }
        }
    }
    check::<f16>();
    check::<bf16>();
}

/// Integers below 2⁵³ times a power of two, whose quotients and remainders integer arithmetic knows.
#[test]
fn division_is_exact() {
    let mut random = Random(13);
    let mut integer = |bits: u32| {
        let magnitude = (random.next() >> (64 - 1 - random.next() % u64::from(bits))) as i64;
        if random.next() & 1 == 0 { magnitude } else { -magnitude }
    };
    let (mut x, mut y, mut quotients, mut rests) = (vec![], vec![], vec![], vec![]);
    for i in 0..200_000_u32 {
        let (a, b) = (integer(53), integer(53));
        if b == 0 {
            continue;
        }
        let quotient = a.div_euclid(b) - i64::from(b < 0 && a.rem_euclid(b) != 0);
        let rest = i128::from(a) - i128::from(quotient) * i128::from(b);
        let unit = 2f64.powi(i as i32 % 1000 - 500);
        x.push(a as f64 * unit);
        y.push(b as f64 * unit);
        quotients.push(quotient as f64);
        // Exact below 2⁵³; the sign of a zero is that of the divisor.
        rests.push((rest as f64).abs().copysign(b as f64) * unit);
    }
    for &isa in Isa::available() {
        let got = map3(isa, Fun::FloorDivide, [&x, &y, &x]);
        let rest = map3(isa, Fun::Remainder, [&x, &y, &x]);
        for i in 0..x.len() {
            let at = format!("{} {:e} by {:e}", isa.name(), x[i], y[i]);
            assert_eq!(got[i], quotients[i], "{at}");
            assert_eq!(rest[i].key(), rests[i].key(), "{at}: {:e}, not {:e}", rest[i], rests[i]);
        }
    }
}

/// The tables of the array API standard.
#[test]
fn special_values_are_those_of_the_standard() {
    fn check<T: Kind>(isa: Isa) {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        // The operands, the quotient rounded down and the remainder.
        let division = [
            (nan, 1.0, nan, nan),
            (1.0, nan, nan, nan),
            (inf, inf, nan, nan),
            (inf, -inf, nan, nan),
            (-inf, inf, nan, nan),
            (0.0, 0.0, nan, nan),
            (-0.0, 0.0, nan, nan),
            (0.0, -0.0, nan, nan),
            (0.0, 2.0, 0.0, 0.0),
            (-0.0, 2.0, -0.0, 0.0),
            (0.0, -2.0, -0.0, -0.0),
            (-0.0, -2.0, 0.0, -0.0),
            (0.0, inf, 0.0, 0.0),
            (-0.0, inf, -0.0, 0.0),
            (0.0, -inf, -0.0, -0.0),
            (2.0, 0.0, inf, nan),
            (2.0, -0.0, -inf, nan),
            (-2.0, 0.0, -inf, nan),
            (-2.0, -0.0, inf, nan),
            (inf, 2.0, inf, nan),
            (inf, -2.0, -inf, nan),
            (-inf, 2.0, -inf, nan),
            (-inf, -2.0, inf, nan),
            (2.0, inf, 0.0, 2.0),
            (2.0, -inf, -0.0, -inf),
            (-2.0, inf, -0.0, inf),
            (-2.0, -inf, 0.0, -2.0),
            (5.0, 3.0, 1.0, 2.0),
            (-5.0, 3.0, -2.0, 1.0),
            (5.0, -3.0, -2.0, -1.0),
            (-5.0, -3.0, 1.0, -2.0),
            (6.0, -3.0, -2.0, -0.0),
            (-6.0, 3.0, -2.0, 0.0),
            (1.0, 4.0, 0.0, 1.0),
            (-1.0, -4.0, 0.0, -1.0),
        ];
        let division = division.into_iter().flat_map(|(x, y, quotient, rest)| {
            [(Fun::FloorDivide, x, y, quotient), (Fun::Remainder, x, y, rest)]
        });
        // Round to even, and zeros that keep their sign.
        let rounding = [
            (Fun::Floor, -0.0, -0.0),
            (Fun::Floor, -0.5, -1.0),
            (Fun::Floor, 0.7, 0.0),
            (Fun::Ceil, -0.7, -0.0),
            (Fun::Ceil, -0.0, -0.0),
            (Fun::Ceil, 0.2, 1.0),
            (Fun::Trunc, -0.5, -0.0),
            (Fun::Trunc, -1.75, -1.0),
            (Fun::Trunc, 1.75, 1.0),
            (Fun::Round, -0.4, -0.0),
            (Fun::Round, -0.5, -0.0),
            (Fun::Round, 0.5, 0.0),
            (Fun::Round, 1.5, 2.0),
            (Fun::Round, 2.5, 2.0),
            (Fun::Round, -3.5, -4.0),
        ]
        .map(|(fun, x, expected)| (fun, x, 0.0, expected));
        let unchanged = [Fun::Floor, Fun::Ceil, Fun::Trunc, Fun::Round]
            .into_iter()
            .flat_map(|fun| [0.0, 1.0, -64.0, inf, -inf, nan].map(|x| (fun, x, 0.0, x)));
        let signs = [
            (Fun::Copysign, 2.0, -0.0, -2.0),
            (Fun::Copysign, -inf, 1.0, inf),
            (Fun::Copysign, -0.0, 3.0, 0.0),
            (Fun::Nextafter, 0.0, -0.0, -0.0),
            (Fun::Nextafter, -0.0, 0.0, 0.0),
            (Fun::Nextafter, inf, inf, inf),
            (Fun::Nextafter, nan, 1.0, nan),
            (Fun::Nextafter, 1.0, nan, nan),
        ];
        for (fun, x, y, expected) in division.chain(rounding).chain(unchanged).chain(signs) {
            let (x_all, y_all) = ([T::of(x); 33], [T::of(y); 33]);
            for r in map3(isa, fun, [&x_all, &y_all, &x_all]) {
                assert_eq!(r.key(), T::of(expected).key(), "{} {fun:?}({x}, {y}) = {r:?}", isa.name());
            }
        }
    }
    for &isa in Isa::available() {
        check::<f32>(isa);
        check::<f64>(isa);
        check::<f16>(isa);
        check::<bf16>(isa);
    }
}

/// Every 16-bit float has the neighbors that its bits count.
#[test]
fn halves_have_the_neighbors_of_their_format() {
    fn check<T: Kind>() {
        let all: Vec<T> = (0..1 << 16).map(T::of_bits).collect();
        for &isa in Isa::available() {
            for end in [f64::NEG_INFINITY, f64::INFINITY] {
                let ends = vec![T::of(end); all.len()];
                for (&x, next) in all.iter().zip(map3(isa, Fun::Nextafter, [&all, &ends, &all])) {
                    let bits = x.key();
                    let expected = if x.to().is_nan() || x.to() == end {
                        x
                    } else if x.to() == 0.0 {
                        T::of_bits(1 | u64::from(end < 0.0) << 15)
                    } else if (x.to() > 0.0) == (end > 0.0) {
                        T::of_bits(bits + 1)
                    } else {
                        T::of_bits(bits - 1)
                    };
                    assert_eq!(next.key(), expected.key(), "{} {x:?} to {end}: {next:?}", isa.name());
                }
            }
        }
    }
    check::<f16>();
    check::<bf16>();
}

/// Rounding leaves what has no fraction, and moves the rest by less than 1, which the difference rounds to 1 at most.
#[test]
fn rounding_moves_by_one_at_most() {
    let (x, _) = pairs::<f64>(17, 20_000);
    for &isa in Isa::available() {
        for fun in [Fun::Floor, Fun::Ceil, Fun::Trunc, Fun::Round] {
            for (&x, r) in x.iter().zip(map1(isa, fun, &x)) {
                assert!(!x.is_finite() || ((r - x).abs() <= 1.0 && r % 1.0 == 0.0), "{fun:?}({x:e}) = {r:e}");
            }
        }
    }
}
