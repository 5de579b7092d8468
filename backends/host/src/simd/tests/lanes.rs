//! Memory, arithmetic, comparison and equal results at every level.

use super::{
    Fun, Isa, Kind, MATH, MATH_OF_TWO, Random, Test, apply, bf16, compare, f16, map1, map3, special,
};

const ARITHMETIC: [Fun; 10] = [
    Fun::Sqrt,
    Fun::Abs,
    Fun::Neg,
    Fun::Add,
    Fun::Sub,
    Fun::Mul,
    Fun::Div,
    Fun::Minimum,
    Fun::Maximum,
    Fun::MulAdd,
];

/// Three operands: random ones, all pairs of special ones, and sums that nearly cancel.
fn operands<T: Kind>(seed: u64) -> [Vec<T>; 3] {
    let mut random = Random(seed);
    let mut x = [(); 3].map(|()| random.floats::<T>(20_000));
    for a in special::<T>() {
        for b in special::<T>() {
            for (x, v) in x.iter_mut().zip([a, b, T::of(-a.to() * b.to())]) {
                x.push(v);
            }
        }
    }
    for i in 0..2000 {
        let (a, b) = (x[0][i], x[1][i]);
        x[0].push(a);
        x[1].push(b);
        x[2].push(T::of(-a.to() * b.to()));
    }
    x
}

#[test]
fn levels_agree_in_every_bit() {
    fn check<T: Kind>() {
        let x = operands::<T>(1);
        let x = [&x[0][..], &x[1], &x[2]];
        for fun in ARITHMETIC.into_iter().chain(MATH).chain(MATH_OF_TWO) {
            let expected = map3(Isa::Scalar, fun, x);
            for &isa in Isa::available() {
                for (i, (got, expected)) in map3(isa, fun, x).into_iter().zip(&expected).enumerate() {
                    let at = x.map(|x| x[i]);
                    assert_eq!(
                        got.key(),
                        expected.key(),
                        "{} {fun:?}({at:?}): {got:?} {expected:?}",
                        isa.name()
                    );
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn arithmetic_is_that_of_the_scalars() {
    macro_rules! check {
        ($elem:ty, $scalar:ty, $down:expr) => {
            let x = operands::<$elem>(2);
            for &isa in Isa::available() {
                for fun in ARITHMETIC {
                    for (i, got) in map3(isa, fun, [&x[0], &x[1], &x[2]]).into_iter().enumerate() {
                        let at = [x[0][i], x[1][i], x[2][i]];
                        let expected: $elem = $down(apply(fun, at.map(<$scalar>::from)));
                        assert_eq!(got.key(), expected.key(), "{} {fun:?}({at:?}): {got:?}", isa.name());
                    }
                }
            }
        };
    }
    check!(f32, f32, |v| v);
    check!(f64, f64, |v| v);
    check!(f16, f32, f16::from_f32);
    check!(bf16, f32, bf16::from_f32);
}

#[test]
fn comparisons_and_masks_are_those_of_the_scalars() {
    fn check<T: Kind>() {
        let x = operands::<T>(4);
        for &isa in Isa::available() {
            for test in [Test::Equal, Test::Less, Test::LessEqual] {
                for len in (1..=40).chain([x[0].len()]) {
                    let (a, b) = (&x[0][x[0].len() - len..], &x[1][x[0].len() - len..]);
                    let (mut bytes, mut out) = (vec![7; len], vec![T::of(0.0); len]);
                    T::choose(isa, test, a, b, &mut bytes, &mut out);
                    for i in 0..len {
                        let expected = compare(test, a[i].to(), b[i].to());
                        let at = format!("{} {test:?}({:?}, {:?}) of {len}", isa.name(), a[i], b[i]);
                        assert_eq!(bytes[i], u8::from(expected), "{at}");
                        assert_eq!(out[i].key(), if expected { a[i] } else { b[i] }.key(), "{at}");
                    }
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn parts_leave_their_surroundings_alone() {
    fn check<T: Kind>() {
        let x: Vec<T> = (1..=64).map(|i| T::of(f64::from(i))).collect();
        for &isa in Isa::available() {
            for start in 0..4 {
                for len in 0..=35 {
                    let guard = T::of(-77.0);
                    let (mut out, mut bytes) = ([guard; 64], [9u8; 64]);
                    let input = &x[start..start + len];
                    T::map(isa, Fun::Neg, [input; 3], &mut out[start..start + len]);
                    let mut chosen = [guard; 64];
                    let range = start..start + len;
                    T::choose(
                        isa,
                        Test::Less,
                        input,
                        input,
                        &mut bytes[range.clone()],
                        &mut chosen[range.clone()],
                    );
                    for i in 0..64 {
                        let inside = range.contains(&i);
                        assert_eq!(
                            out[i],
                            if inside { T::of(-x[i].to()) } else { guard },
                            "{start} {len} {i}"
                        );
                        assert_eq!(chosen[i], if inside { x[i] } else { guard }, "{start} {len} {i}");
                        assert_eq!(bytes[i], if inside { 0 } else { 9 }, "{start} {len} {i}");
                    }
                }
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

#[test]
fn streams_write_every_element() {
    #[repr(align(64))]
    struct Aligned<T>([T; 64]);
    fn check<T: Kind>() {
        for &isa in Isa::available() {
            let mut out = Aligned([T::of(0.0); 64]);
            T::flood(isa, T::of(2.5), &mut out.0[..48]);
            let expected: Vec<T> = (0..64).map(|i| T::of(if i < 48 { 2.5 } else { 0.0 })).collect();
            assert_eq!(out.0[..], expected, "{}", isa.name());
        }
    }
    check::<f32>();
    check::<f64>();
    check::<f16>();
    check::<bf16>();
}

/// Every 16-bit float through a load and a store, and the rounding of f32 results.
#[test]
fn halves_convert_as_the_scalars_do() {
    macro_rules! check {
        ($half:ident) => {
            let all: Vec<$half> = (0..=u16::MAX).map($half::from_bits).collect();
            for &isa in Isa::available() {
                for (&x, y) in all.iter().zip(map1(isa, Fun::Abs, &all)) {
                    let expected = $half::from_f32(x.to_f32().abs());
                    assert_eq!(y.key(), expected.key(), "{} {x:?}", isa.name());
                }
                // Sums and products of halves cover ties and both neighbours of every f32 significand's upper part.
                let mut random = Random(11);
                let x: Vec<$half> = (0..100_000).map(|_| $half::from_bits(random.next() as u16)).collect();
                let y: Vec<$half> = (0..100_000).map(|_| $half::from_bits(random.next() as u16)).collect();
                for fun in [Fun::Mul, Fun::Add, Fun::Div] {
                    for (i, got) in map3(isa, fun, [&x, &y, &y]).into_iter().enumerate() {
                        let expected = $half::from_f32(apply(fun, [x[i].to_f32(), y[i].to_f32(), 0.0]));
                        assert_eq!(got.key(), expected.key(), "{} {fun:?} {:?} {:?}", isa.name(), x[i], y[i]);
                    }
                }
            }
        };
    }
    check!(f16);
    check!(bf16);
}
