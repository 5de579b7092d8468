//! The kernels against the scalar oracle, element by element.

mod contractions;
mod counts;
mod deviations;
mod edges;
#[cfg(all(feature = "native", target_arch = "x86_64", unix))]
pub(crate) mod fenced;
mod fused;
mod gathers;
mod immediate;
mod indices;
mod maps;
pub(super) mod random;
mod reductions;
mod scans;
mod selections;
mod sorts;
mod stages;
mod together;

use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

use stridewise_core::memory::UsmPtr;
use stridewise_core::{
    Complex, Dtype, Op, Scalar,
    backend::{Family, LaunchPlan, Operand, Program},
    bf16, f16,
};

use super::{Tuning, run_group, supports};
use crate::fork_join::{self, Pool, Workers};
use crate::simd::Isa;

/// A small generator of reproducible numbers (splitmix64).
pub(crate) struct Rng(pub(crate) u64);
impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    /// At least 0, less than 1, of all the digits that a `f64` has.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Which cases a long test runs: all of them, or the first and one of so many, where the variable that makes a sample of the
/// matrix says so.
pub(super) struct Sample {
    every: usize,
    has_begun: bool,
    rng: Rng,
}
impl Sample {
    pub(super) fn new() -> Self {
        let every = std::env::var("STRIDEWISE_MATRIX_SAMPLE").map_or(1, |n| n.parse().unwrap());
        Self { every, has_begun: false, rng: Rng(0) }
    }
    /// Whether the next case is left out.
    pub(super) fn skips(&mut self) -> bool {
        std::mem::replace(&mut self.has_begun, true) && self.rng.below(self.every) != 0
    }
    /// So many random cases, or as many as a sample has of them.
    pub(super) fn of(cases: u32) -> u32 {
        cases.div_ceil(Self::new().every as u32)
    }
}

/// Values worth testing, of every magnitude and kind.
pub(crate) fn specials() -> Vec<f64> {
    let mut all = vec![
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        3.0,
        7.0,
        100.0,
        127.0,
        128.0,
        255.0,
        256.0,
        32767.0,
        32768.0,
        65504.0,
        65519.9,
        65520.0,
        65535.0,
        65536.0,
        2_147_483_647.0,
        2_147_483_648.0,
        4_294_967_295.0,
        4_294_967_296.0,
        16_777_217.0,
        9.223_372_036_854_776e18,
        1.844_674_407_370_955_2e19,
        1e20,
        1e-8,
        6e-8,
        5.96e-8,
        2.98e-8,
        6.1e-5,
        1e-40,
        1e-300,
        5e-324,
        3.402_823_5e38,
        3.402_823_6e38,
        3.41e38,
        1e300,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
        1.000_488_281_25,
        1.000_488_281_250_1,
        1.003_906_25,
        1.003_906_250_1,
        1.011_718_75,
        2049.0,
        2051.0,
    ];
    all.extend(all.clone().iter().map(|v| -v));
    all
}

/// A value of a dtype: special, small or random bits.
pub(crate) fn value(dtype: Dtype, rng: &mut Rng) -> Scalar {
    let mut real = |dtype: Dtype| match rng.below(4) {
        0 => Scalar::F64(specials()[rng.below(specials().len())]).cast(dtype),
        1 | 2 => Scalar::F64((rng.below(2001) as f64 - 1000.0) / 8.0).cast(dtype),
        _ => {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&rng.next().to_le_bytes());
            Scalar::from_bytes(dtype, &bytes)
        }
    };
    match dtype {
        Dtype::C64 => Scalar::C64(Complex::new(
            real(Dtype::F32).get().unwrap_or_default(),
            real(Dtype::F32).get().unwrap_or_default(),
        )),
        Dtype::C128 => Scalar::C128(Complex::new(
            real(Dtype::F64).get().unwrap_or_default(),
            real(Dtype::F64).get().unwrap_or_default(),
        )),
        other => real(other),
    }
}

/// Memory with guard bytes around what operands address.
#[derive(Clone)]
pub(super) struct Memory(Vec<u128>);
impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        Self(vec![0x5a5a_5a5a_5a5a_5a5a_5a5a_5a5a_5a5a_5a5a; bytes.div_ceil(16) + 16])
    }
    pub(super) fn ptr(&mut self, byte: usize) -> *mut u8 {
        self.0.as_mut_ptr().cast::<u8>().wrapping_add(128 + byte)
    }
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
    /// Takes the bytes of memory of the same length.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.0.copy_from_slice(&other.0);
    }
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
    pub(super) fn read(&self, byte: isize, dtype: Dtype) -> Scalar {
        let at = 128_usize.checked_add_signed(byte).unwrap();
        let mut bytes = [0; 16];
        bytes[..dtype.size()].copy_from_slice(&self.bytes()[at..at + dtype.size()]);
        Scalar::from_bytes(dtype, &bytes)
    }
    pub(super) fn write(&mut self, byte: isize, value: Scalar) {
        let at = 128_usize.checked_add_signed(byte).unwrap();
        let size = value.dtype().size();
        self.bytes_mut()[at..at + size].copy_from_slice(&value.to_bytes()[..size]);
    }
}

/// An operand with memory of its own.
#[derive(Clone)]
pub(super) struct Array {
    pub(super) dtype: Dtype,
    pub(super) memory: Memory,
    /// Byte of the element at multi-index zero.
    pub(super) origin: isize,
    /// In elements.
    pub(super) strides: Vec<isize>,
    /// The value at multi-index zero, where the array is an index.
    start: Option<isize>,
}

impl Array {
    /// An array with given strides, filled with values.
    pub(super) fn new(dims: &[usize], strides: Vec<isize>, dtype: Dtype, rng: &mut Rng) -> Self {
        let (mut low, mut high) = (0, 0);
        for (&extent, &stride) in dims.iter().zip(&strides) {
            let reach = (extent as isize - 1) * stride;
            if reach < 0 { low += reach } else { high += reach }
        }
        let size = dtype.size() as isize;
        let elements = (high - low + 1) as usize;
        // An offset by whole elements, so that vectors are not aligned.
        let lead = rng.below(4) as isize;
        let mut memory = Memory::new((elements + 8) * dtype.size());
        for e in 0..elements as isize {
            memory.write((lead + e) * size, value(dtype, rng));
        }
        Self { dtype, memory, origin: (lead - low) * size, strides, start: None }
    }
    /// Row-major.
    pub(super) fn dense(dims: &[usize], dtype: Dtype, rng: &mut Rng) -> Self {
        let mut strides = vec![0; dims.len()];
        let mut next = 1;
        for d in (0..dims.len()).rev() {
            strides[d] = next;
            next *= dims[d] as isize;
        }
        Self::new(dims, strides, dtype, rng)
    }
    pub(super) fn byte(&self, index: &[usize]) -> isize {
        let offset: isize = index.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s).sum();
        self.origin + offset * self.dtype.size() as isize
    }
    /// An index: the value at multi-index zero, and what it grows by along each dimension.
    pub(super) fn numbers(start: isize, strides: Vec<isize>) -> Self {
        Self { dtype: Dtype::I64, memory: Memory::new(0), origin: 0, strides, start: Some(start) }
    }
    pub(super) fn get(&self, index: &[usize]) -> Scalar {
        if let Some(start) = self.start {
            let terms = index.iter().zip(&self.strides).map(|(&i, &s)| (i as isize).wrapping_mul(s));
            return Scalar::I64(terms.fold(start, isize::wrapping_add) as i64);
        }
        self.memory.read(self.byte(index), self.dtype)
    }
    /// Element `j` of the row of an index.
    pub(super) fn in_row(&self, row: &[usize], j: usize) -> Scalar {
        self.get(&further(row, j))
    }
    pub(super) fn operand(&mut self) -> Operand {
        let ptr = match self.start {
            Some(start) => std::ptr::without_provenance_mut(start.cast_unsigned()),
            None => self.memory.ptr(0).wrapping_offset(self.origin),
        };
        Operand { ptr: UsmPtr::new(ptr), strides: self.strides.iter().copied().collect() }
    }
}

/// A multi-index and a place along one more dimension.
fn further(index: &[usize], place: usize) -> SmallVec<[usize; 4]> {
    index.iter().copied().chain([place]).collect()
}

/// Every multi-index of some extents, in row-major order.
pub(super) fn indices(dims: &[usize]) -> Vec<SmallVec<[usize; 4]>> {
    let mut all = vec![SmallVec::new()];
    for &extent in dims {
        all = all.iter().flat_map(|i| (0..extent).map(move |j| further(i, j))).collect();
    }
    all
}

/// Runs something whose forks four workers share.
pub(super) fn shared<R>(work: impl FnOnce() -> R) -> R {
    static POOL: OnceLock<Workers> = OnceLock::new();
    fork_join::within(POOL.get_or_init(|| Pool::start(4, &[], false).unwrap()), 0, work)
}

pub(super) fn execute(plan: &LaunchPlan, isa: Isa, threads: usize, last_cache_bytes: usize) {
    execute_all(std::slice::from_ref(plan), isa, threads, last_cache_bytes);
}

/// Runs plans as one command does.
pub(super) fn execute_all(plans: &[LaunchPlan], isa: Isa, threads: usize, last_cache_bytes: usize) {
    for plan in plans {
        assert_eq!(supports(plan), stridewise_core::backend::Support::Native);
    }
    let tuning = Tuning { isa, threads, last_cache_bytes };
    // SAFETY: the tests build plans over live memory that nothing else uses.
    let work = || super::groups(plans).for_each(|group| unsafe { run_group(group, &tuning) }.unwrap());
    if threads > 1 { shared(work) } else { work() }
}

/// Bits, with all NaNs made one.
pub(crate) fn canonical(value: Scalar) -> [u8; 16] {
    let value = match value {
        Scalar::F16(v) if v.is_nan() => Scalar::F16(f16::NAN),
        Scalar::Bf16(v) if v.is_nan() => Scalar::Bf16(bf16::NAN),
        Scalar::F32(v) if v.is_nan() => Scalar::F32(f32::NAN),
        Scalar::F64(v) if v.is_nan() => Scalar::F64(f64::NAN),
        Scalar::C64(v) => Scalar::C64(Complex::new(
            if v.re.is_nan() { f32::NAN } else { v.re },
            if v.im.is_nan() { f32::NAN } else { v.im },
        )),
        Scalar::C128(v) => Scalar::C128(Complex::new(
            if v.re.is_nan() { f64::NAN } else { v.re },
            if v.im.is_nan() { f64::NAN } else { v.im },
        )),
        other => other,
    };
    value.to_bytes()
}

/// Whether an operation's results may differ from the standard library's in their last bits.
pub(super) fn rounds_freely(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Pow | Rsqrt
            | Cbrt
            | Hypot
            | Exp
            | Exp2
            | Expm1
            | Log
            | Log1p
            | Log2
            | Log10
            | Logaddexp
            | Sin
            | Cos
            | Tan
            | Asin
            | Acos
            | Atan
            | Atan2
            | Sinh
            | Cosh
            | Tanh
            | Asinh
            | Acosh
            | Atanh
            | Erf
            | Sigmoid
    )
}

/// Units in the last place between two floats of one dtype.
pub(super) fn ulps(a: Scalar, b: Scalar) -> u64 {
    let ordered = |s: Scalar| -> i64 {
        let fold = |bits: i64, sign: i64| if bits & sign != 0 { sign - bits } else { bits };
        match s {
            Scalar::F16(v) => fold(i64::from(v.to_bits()), 0x8000),
            Scalar::Bf16(v) => fold(i64::from(v.to_bits()), 0x8000),
            Scalar::F32(v) => fold(i64::from(v.to_bits()), 0x8000_0000),
            Scalar::F64(v) => {
                let bits = v.to_bits().cast_signed();
                if bits < 0 { i64::MIN - bits } else { bits }
            }
            _ => 0,
        }
    };
    ordered(a).abs_diff(ordered(b))
}

pub(super) fn close(op: Op, found: Scalar, expected: Scalar) -> bool {
    canonical(found) == canonical(expected)
        || (rounds_freely(op) && !found.dtype().kind().is_integer() && {
            let nan = |s: Scalar| s.to_f64().is_nan();
            // What cancels in logaddexp is of the size of its terms, which are about 1 then. Where the oracle's
            // exponential overflows, its sigmoid is 0 instead of subnormal.
            let least = match (op, found.dtype().size()) {
                (Op::Logaddexp, 2) => 1e-2,
                (Op::Logaddexp, 4) => 1e-6,
                (Op::Logaddexp, _) => 1e-15,
                (Op::Sigmoid, 8) => f64::MIN_POSITIVE,
                (Op::Sigmoid, _) => f64::from(f32::MIN_POSITIVE),
                _ => 0.0,
            };
            let near = ulps(found, expected) <= 2 || (found.to_f64() - expected.to_f64()).abs() <= least;
            !nan(found) && !nan(expected) && near
        })
}

pub(super) fn plan(
    program: Program,
    family: Family,
    dims: &[usize],
    inputs: &mut [Array],
    outputs: &mut [Array],
) -> LaunchPlan {
    LaunchPlan {
        program: Arc::new(program),
        family,
        dims: SmallVec::from_slice(dims),
        inputs: inputs.iter_mut().map(Array::operand).collect(),
        outputs: outputs.iter_mut().map(Array::operand).collect(),
    }
}

/// Asserts that two memories agree but for the elements of an array.
pub(super) fn untouched(before: &Array, after: &Array, dims: &[usize]) {
    let (mut a, mut b) = (before.memory.clone(), after.memory.clone());
    for index in indices(dims) {
        let at = (128 + before.byte(&index)) as usize;
        a.bytes_mut()[at..at + before.dtype.size()].fill(0);
        b.bytes_mut()[at..at + before.dtype.size()].fill(0);
    }
    assert_eq!(a.bytes(), b.bytes(), "bytes beside the output were written");
}

/// The seeds of random cases: so many, or as the environment says, by a number or a range.
#[cfg(all(feature = "native", target_arch = "x86_64", unix))]
pub(crate) fn cases(few: u64) -> std::ops::Range<u64> {
    let number = |text: &str| text.trim().parse().ok();
    let given = std::env::var("STRIDEWISE_NATIVE_CASES").ok();
    let given = given.and_then(|text| match text.split_once("..") {
        Some((first, end)) => Some(number(first)?..number(end)?),
        None => Some(0..number(&text)?),
    });
    given.unwrap_or(0..few)
}
