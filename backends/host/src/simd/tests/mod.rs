//! The lanes and their mathematics at every level of this machine, against the standard library and against
//! tables.
//!
//! `exact` has functions whose results are exact, `accuracy` how far the others are from the exact values,
//! `lanes` memory, arithmetic, comparison and equal results at every level. An operation is a type here, so
//! that one kernel is compiled for each of them.

mod accuracy;
mod exact;
mod exponential_table;
mod lanes;
mod roots;
mod roots_table;
mod table;

use stridewise_core::ops::{Float, Real};
use stridewise_core::{bf16, f16};

#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
use super::avx2;
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
use super::avx512;
#[cfg(target_arch = "aarch64")]
use super::neon;
use super::{Isa, Lane, base};

/// Makes the operations: each is a type, so that every kernel of the tests is a function of its own, of moderate size.
macro_rules! operations {
    ($d:tt ($x:ident, $y:ident, $z:ident) $($name:ident $f:expr;)*) => {
        /// An operation of one, two or three operands with a float as its result.
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Fun {
            $($name),*
        }

        mod operation {
            $(pub(super) struct $name;)*
        }

        $(impl Operation for operation::$name {
            #[inline(always)]
            #[allow(unused_variables)]
            fn f<T: Float>([$x, $y, $z]: [T; 3]) -> T {
                $f
            }
        })*

        /// An expression of the operation that `$fun` names, as the type `$O`.
        macro_rules! with_operation {
            ($d fun:expr, $d O:ident => $d e:expr) => {
                match $d fun {
                    $(Fun::$name => {
                        type $d O = operation::$name;
                        $d e
                    })*
                }
            };
        }
    };
}

trait Operation {
    fn f<T: Float>(x: [T; 3]) -> T;
}

operations! { $ (x, y, z)
    Exp x.exp();
    Log x.log();
    Sin x.sin();
    Cos x.cos();
    Tanh x.tanh();
    Atan x.atan();
    Exp2 x.exp2();
    Expm1 x.expm1();
    Log1p x.log1p();
    Log2 x.log2();
    Log10 x.log10();
    Sinh x.sinh();
    Cosh x.cosh();
    Asinh x.asinh();
    Acosh x.acosh();
    Atanh x.atanh();
    Sigmoid x.sigmoid();
    Pow x.pow(y);
    Logaddexp x.logaddexp(y);
    Sqrt x.sqrt();
    Abs x.abs();
    Neg -x;
    Atan2 x.atan2(y);
    Add x + y;
    Sub x - y;
    Mul x * y;
    Div x / y;
    Minimum x.minimum(y);
    Maximum x.maximum(y);
    MulAdd x.mul_add(y, z);
    Tan x.tan();
    Asin x.asin();
    Acos x.acos();
    Cbrt x.cbrt();
    Rsqrt x.rsqrt();
    Erf x.erf();
    Hypot x.hypot(y);
    Floor x.floor();
    Ceil x.ceil();
    Trunc x.trunc();
    Round x.round();
    Copysign x.copysign(y);
    Nextafter x.nextafter(y);
    Remainder x.remainder(y);
    FloorDivide x.floor_divide(y);
}

/// The functions of one number.
const MATH: [Fun; 17] = [
    Fun::Exp,
    Fun::Log,
    Fun::Sin,
    Fun::Cos,
    Fun::Tanh,
    Fun::Atan,
    Fun::Exp2,
    Fun::Expm1,
    Fun::Log1p,
    Fun::Log2,
    Fun::Log10,
    Fun::Sinh,
    Fun::Cosh,
    Fun::Asinh,
    Fun::Acosh,
    Fun::Atanh,
    Fun::Sigmoid,
];

/// The functions of two numbers.
const MATH_OF_TWO: [Fun; 3] = [Fun::Atan2, Fun::Pow, Fun::Logaddexp];

/// A comparison.
#[derive(Clone, Copy, Debug)]
enum Test {
    Equal,
    Less,
    LessEqual,
}

fn apply<T: Float>(fun: Fun, x: [T; 3]) -> T {
    with_operation!(fun, O => O::f(x))
}

#[inline(always)]
fn compare<T: Real>(test: Test, x: T, y: T) -> T::Mask {
    match test {
        Test::Equal => x.equal(y),
        Test::Less => x.less(y),
        Test::LessEqual => x.less_equal(y),
    }
}

/// # Safety
/// The processor has the level of `V`; the slices are of one length.
#[inline(always)]
unsafe fn map<V: Lane, O: Operation>(x: [&[V::Elem]; 3], out: &mut [V::Elem]) {
    let mut i = 0;
    // SAFETY: whole vectors while they fit, then the rest.
    unsafe {
        while i < out.len() {
            let len = V::LEN.min(out.len() - i);
            let load = |x: &[V::Elem]| {
                let p = x.as_ptr().add(i);
                if len == V::LEN { V::load(p) } else { V::load_part(p, len) }
            };
            let y = O::f([load(x[0]), load(x[1]), load(x[2])]);
            let p = out.as_mut_ptr().add(i);
            if len == V::LEN {
                y.store(p)
            } else {
                y.store_part(p, len)
            }
            i += len;
        }
    }
}

/// Masks as bytes, and back from bytes into a select of `x` or `y`.
///
/// # Safety
/// The processor has the level of `V`; the slices are of one length.
#[inline(always)]
unsafe fn choose<V: Lane>(test: Test, x: &[V::Elem], y: &[V::Elem], bytes: &mut [u8], out: &mut [V::Elem]) {
    let mut i = 0;
    // SAFETY: as `map`.
    unsafe {
        while i < out.len() {
            let len = V::LEN.min(out.len() - i);
            let load = |p: *const V::Elem| if len == V::LEN { V::load(p) } else { V::load_part(p, len) };
            let (a, b) = (load(x.as_ptr().add(i)), load(y.as_ptr().add(i)));
            V::mask_to_bytes(compare(test, a, b), bytes.as_mut_ptr().add(i), len);
            let mask = V::mask_from_bytes(bytes.as_ptr().add(i), len);
            let chosen = V::select(mask, a, b);
            let p = out.as_mut_ptr().add(i);
            if len == V::LEN {
                chosen.store(p)
            } else {
                chosen.store_part(p, len)
            }
            i += len;
        }
    }
}

/// Streams `value` into `out` as far as whole vectors fit.
///
/// # Safety
/// The processor has the level of `V`; `out` is aligned to a vector.
#[inline(always)]
unsafe fn flood<V: Lane>(value: V::Elem, out: &mut [V::Elem]) {
    // SAFETY: whole vectors while they fit.
    unsafe {
        for i in (0..out.len() / V::LEN * V::LEN).step_by(V::LEN) {
            V::splat(value).stream(out.as_mut_ptr().add(i));
        }
    }
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: SSE belongs to every x86-64.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
}

macro_rules! level {
    ($module:ident, $lanes:ident, $(#[$feature:meta])*) => {
        mod $module {
            use super::{Fun, Operation, Test, bf16, choose, f16, flood, map, operation};
            use super::$lanes::{Bf16, F16, F32, F64};
            level!(@kind f32_map f32_map_one f32_choose f32_flood f32 F32, $(#[$feature])*);
            level!(@kind f64_map f64_map_one f64_choose f64_flood f64 F64, $(#[$feature])*);
            level!(@kind f16_map f16_map_one f16_choose f16_flood f16 F16, $(#[$feature])*);
            level!(@kind bf16_map bf16_map_one bf16_choose bf16_flood bf16 Bf16, $(#[$feature])*);
        }
    };
    (@kind $map:ident $map_one:ident $choose:ident $flood:ident $elem:ident $lane:ident, $(#[$feature:meta])*) => {
        $(#[$feature])*
        pub(super) unsafe fn $map(fun: Fun, x: [&[$elem]; 3], out: &mut [$elem]) {
            // SAFETY: the tests call it where the processor has the level, which is all that is asked for.
            unsafe { with_operation!(fun, O => $map_one::<O>(x, out)) }
        }
        $(#[$feature])*
        unsafe fn $map_one<O: Operation>(x: [&[$elem]; 3], out: &mut [$elem]) {
            // SAFETY: the tests call it where the processor has the level, which is all that is asked for.
            unsafe { map::<$lane, O>(x, out) }
        }
        $(#[$feature])*
        pub(super) unsafe fn $choose(test: Test, x: &[$elem], y: &[$elem], bytes: &mut [u8], out: &mut [$elem]) {
            // SAFETY: the tests call it where the processor has the level, which is all that is asked for.
            unsafe { choose::<$lane>(test, x, y, bytes, out) }
        }
        $(#[$feature])*
        pub(super) unsafe fn $flood(value: $elem, out: &mut [$elem]) {
            // SAFETY: the tests call it where the processor has the level, which is all that is asked for.
            unsafe { flood::<$lane>(value, out) }
        }
    };
}
level!(at_base, base,);
#[cfg(target_arch = "aarch64")]
level!(at_neon, neon,);
#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
level!(at_avx2, avx2, #[target_feature(enable = "avx2,fma,f16c,popcnt")]);
#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
level!(at_avx512, avx512, #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,popcnt")]);

/// A dtype whose lanes can be run at a level by name.
trait Kind: Copy + PartialEq + std::fmt::Debug + PartialOrd {
    fn map(isa: Isa, fun: Fun, x: [&[Self]; 3], out: &mut [Self]);
    fn choose(isa: Isa, test: Test, x: &[Self], y: &[Self], bytes: &mut [u8], out: &mut [Self]);
    /// `out` is aligned to 64 bytes and as long as whole vectors.
    fn flood(isa: Isa, value: Self, out: &mut [Self]);
    /// The bits, with one pattern for every NaN.
    fn key(self) -> u64;
    fn of_bits(bits: u64) -> Self;
    fn of(v: f64) -> Self;
    fn to(self) -> f64;
}

macro_rules! kind {
    ($elem:ident, $bits:ty, $map:ident, $choose:ident, $flood:ident, $of:expr, $to:expr) => {
        impl Kind for $elem {
            fn map(isa: Isa, fun: Fun, x: [&[$elem]; 3], out: &mut [$elem]) {
                assert!(Isa::available().contains(&isa) && x.iter().all(|x| x.len() == out.len()));
                // SAFETY: the processor has the level, and the lengths agree.
                unsafe {
                    match isa {
                        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
                        Isa::Avx2 => at_avx2::$map(fun, x, out),
                        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
                        Isa::Avx512 => at_avx512::$map(fun, x, out),
                        #[cfg(target_arch = "aarch64")]
                        Isa::Neon => at_neon::$map(fun, x, out),
                        _ => at_base::$map(fun, x, out),
                    }
                }
            }
            fn choose(isa: Isa, test: Test, x: &[$elem], y: &[$elem], bytes: &mut [u8], out: &mut [$elem]) {
                assert!(Isa::available().contains(&isa));
                assert!([x.len(), y.len(), bytes.len()].iter().all(|&len| len == out.len()));
                // SAFETY: the processor has the level, and the lengths agree.
                unsafe {
                    match isa {
                        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
                        Isa::Avx2 => at_avx2::$choose(test, x, y, bytes, out),
                        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
                        Isa::Avx512 => at_avx512::$choose(test, x, y, bytes, out),
                        #[cfg(target_arch = "aarch64")]
                        Isa::Neon => at_neon::$choose(test, x, y, bytes, out),
                        _ => at_base::$choose(test, x, y, bytes, out),
                    }
                }
            }
            fn flood(isa: Isa, value: $elem, out: &mut [$elem]) {
                assert!(
                    Isa::available().contains(&isa) && out.as_ptr().addr() % 64 == 0 && out.len() % 16 == 0
                );
                // SAFETY: the processor has the level; 64 bytes are the greatest alignment of a vector.
                unsafe {
                    match isa {
                        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
                        Isa::Avx2 => at_avx2::$flood(value, out),
                        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
                        Isa::Avx512 => at_avx512::$flood(value, out),
                        #[cfg(target_arch = "aarch64")]
                        Isa::Neon => at_neon::$flood(value, out),
                        _ => at_base::$flood(value, out),
                    }
                }
            }
            fn key(self) -> u64 {
                if self.is_nan() { u64::MAX } else { self.to_bits().into() }
            }
            fn of_bits(bits: u64) -> $elem {
                $elem::from_bits(bits as $bits)
            }
            fn of(v: f64) -> $elem {
                $of(v)
            }
            fn to(self) -> f64 {
                $to(self)
            }
        }
    };
}
kind!(f32, u32, f32_map, f32_choose, f32_flood, |v| v as f32, f64::from);
kind!(f64, u64, f64_map, f64_choose, f64_flood, |v| v, |v| v);
kind!(f16, u16, f16_map, f16_choose, f16_flood, |v| f16::from_f32(v as f32), f64::from);
kind!(bf16, u16, bf16_map, bf16_choose, bf16_flood, |v| bf16::from_f32(v as f32), f64::from);

fn map1<T: Kind>(isa: Isa, fun: Fun, x: &[T]) -> Vec<T> {
    map3(isa, fun, [x; 3])
}

fn map3<T: Kind>(isa: Isa, fun: Fun, x: [&[T]; 3]) -> Vec<T> {
    let mut out = vec![T::of(0.0); x[0].len()];
    T::map(isa, fun, x, &mut out);
    out
}

/// Reproducible bits (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Every other number of moderate size, the others of any bits.
    fn floats<T: Kind>(&mut self, len: usize) -> Vec<T> {
        (0..len)
            .map(|i| {
                let bits = self.next();
                if i % 2 == 0 {
                    return T::of_bits(bits);
                }
                let unit = (bits >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
                T::of(unit * [2.0, 20.0, 200.0, 2000.0, 1e6, 1e-3, 1e9, 0.1][i / 2 % 8])
            })
            .collect()
    }
}

/// Values at which something changes, with their negatives.
fn special<T: Kind>() -> Vec<T> {
    let mut v = vec![T::of(f64::NAN)];
    let tiny = T::of_bits(1).to();
    for x in [
        0.0,
        tiny,
        3.0 * tiny,
        f64::MIN_POSITIVE,
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::from_bits(0x007f_ffff)),
        1e-30,
        1e-8,
        0.25,
        0.414213562373095,
        0.5,
        std::f64::consts::FRAC_1_SQRT_2,
        1.0,
        std::f64::consts::SQRT_2,
        1.5,
        std::f64::consts::FRAC_PI_4,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::PI,
        9.5,
        20.0,
        88.72,
        89.0,
        103.9,
        104.5,
        709.7,
        710.0,
        745.1,
        746.0,
        99_999.0,
        100_001.0,
        1.3e8,
        1.4e8,
        1e22,
        1e30,
        f64::from(f32::MAX),
        1e300,
        f64::MAX,
        f64::INFINITY,
    ] {
        v.extend([T::of(x), T::of(-x)]);
    }
    v
}
