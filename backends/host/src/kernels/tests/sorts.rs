//! Sorts and searches against a stable sort of scalars by their order.

use std::cmp::Ordering;

use smallvec::SmallVec;
use stridewise_core::{
    Complex, Dtype, Scalar,
    backend::{Family, IndexedAxis, Program, ProgramBuilder},
};

use super::{Array, Rng, Sample, execute, indices, plan, untouched, value};
use crate::simd::Isa;

/// The order of two values, by its definition. NaNs are behind everything and equal, but for complex numbers: the imaginary part first
/// that is NaN, then the real one, then both, each by the other part.
pub(super) fn order(a: Scalar, b: Scalar, descending: bool) -> Ordering {
    let parts = |s: Scalar| match s {
        Scalar::C64(v) => (f64::from(v.re), f64::from(v.im)),
        Scalar::C128(v) => (v.re, v.im),
        other => (other.to_f64(), 0.0),
    };
    let (x, y) = (parts(a), parts(b));
    let nan = |v: (f64, f64)| v.0.is_nan() || v.1.is_nan();
    let exact = match (a, b) {
        (Scalar::I64(x), Scalar::I64(y)) => x.cmp(&y),
        (Scalar::U64(x), Scalar::U64(y)) => x.cmp(&y),
        _ => match (nan(x), nan(y)) {
            (false, false) => x.partial_cmp(&y).unwrap(),
            (true, true) => {
                let class = |v: (f64, f64)| 2 * i32::from(v.0.is_nan()) + i32::from(v.1.is_nan());
                let rest = |v: (f64, f64)| if v.0.is_nan() { v.1 } else { v.0 };
                let classes = class(x).cmp(&class(y));
                if classes.is_ne() {
                    return classes;
                }
                rest(x).partial_cmp(&rest(y)).unwrap_or(Ordering::Equal)
            }
            (x, y) => return x.cmp(&y),
        },
    };
    if descending { exact.reverse() } else { exact }
}

/// Values with many repetitions, zeros of both signs and NaNs of several kinds among them.
pub(super) fn element(dtype: Dtype, few: bool, rng: &mut Rng) -> Scalar {
    let mut real = |dtype: Dtype| match rng.below(if few { 4 } else { 12 }) {
        0 => Scalar::F64(0.0).cast(dtype),
        1 => Scalar::F64(-0.0).cast(dtype),
        2 => Scalar::F64(rng.below(3) as f64 - 1.0).cast(dtype),
        3 if dtype == Dtype::F64 => {
            Scalar::F64(f64::from_bits(0x7ff8_0000_0000_0000 | (rng.next() << 63) | (rng.next() % 99)))
        }
        3 if dtype == Dtype::F32 => {
            Scalar::F32(f32::from_bits(0x7fc0_0000 | ((rng.next() as u32) << 31) | rng.below(99) as u32))
        }
        3 => Scalar::F64(f64::NAN).cast(dtype),
        _ => value(dtype, rng),
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

pub(super) fn fill(array: &mut Array, dims: &[usize], rng: &mut Rng) {
    let few = rng.below(2) == 0;
    for index in indices(dims) {
        let at = array.byte(&index);
        array.memory.write(at, element(array.dtype, few, rng));
    }
}

pub(super) fn strides(dims: &[usize], rng: &mut Rng) -> Vec<isize> {
    let form = rng.below(4);
    let mut order: Vec<usize> = (0..dims.len()).collect();
    if form == 1 {
        order.reverse();
    }
    let (mut strides, mut next) = (vec![0; dims.len()], if form == 2 { 2 } else { 1 });
    for &d in order.iter().rev() {
        strides[d] = if form == 3 { -next } else { next };
        next *= dims[d] as isize;
    }
    strides
}

fn check(dtype: Dtype, dims: &[usize], threads: &[usize], rng: &mut Rng) {
    let (kept, row) = (&dims[..dims.len() - 1], dims[dims.len() - 1]);
    for (descending, places) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut input = Array::new(dims, strides(dims, rng), dtype, rng);
        fill(&mut input, dims, rng);
        let out = if places { Dtype::I64 } else { dtype };
        let before = Array::new(dims, strides(dims, rng), out, rng);
        let family = Family::Sort { descending, indices: places };
        let expected: Vec<Vec<usize>> = indices(kept)
            .iter()
            .map(|i| {
                let values: Vec<Scalar> = (0..row).map(|j| input.in_row(i, j)).collect();
                let mut order_of: Vec<usize> = (0..row).collect();
                order_of.sort_by(|&a, &b| order(values[a], values[b], descending));
                order_of
            })
            .collect();
        for &threads in threads {
            let (mut inputs, mut outputs) = ([input.clone()], [before.clone()]);
            let launch =
                plan(Program::convert(dtype, dtype), family.clone(), dims, &mut inputs, &mut outputs);
            execute(&launch, Isa::best(), threads, 1 << 25);
            untouched(&before, &outputs[0], dims);
            for (i, expected) in indices(kept).iter().zip(&expected) {
                for (j, &from) in expected.iter().enumerate() {
                    let found = outputs[0].in_row(i, j);
                    let source = input.in_row(i, from);
                    let want = if places { Scalar::I64(from as i64) } else { source };
                    assert_eq!(
                        found.to_bytes(),
                        want.to_bytes(),
                        "{dtype} {dims:?} descending {descending} at {i:?} {j}: {found:?}, not {want:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn sorts_of_every_dtype_and_length() {
    let mut rng = Rng(1);
    for &dtype in Dtype::ALL {
        for dims in [&[1][..], &[2], &[3, 1], &[5, 20], &[2, 3, 33], &[1500], &[2, 2000], &[300, 7]] {
            check(dtype, dims, &[1, 4], &mut rng);
        }
    }
}

#[test]
fn long_rows_by_several_threads() {
    let mut sample = Sample::new();
    let mut rng = Rng(2);
    let mut longer = [(&[2, 80_001][..], &[4][..]), (&[200_000], &[1, 3])].into_iter().cycle();
    for dtype in [
        Dtype::Bool,
        Dtype::I8,
        Dtype::U16,
        Dtype::I16,
        Dtype::F16,
        Dtype::Bf16,
        Dtype::F32,
        Dtype::I64,
        Dtype::C64,
        Dtype::C128,
    ] {
        if sample.skips() {
            continue;
        }
        check(dtype, &[70_000], &[1, 2, 3, 4], &mut rng);
        // Of longer ones, each dtype has some, in turn.
        for (dims, threads) in longer.by_ref().take(1) {
            check(dtype, dims, threads, &mut rng);
        }
    }
}

/// Some places of rows of every dtype: the elements there are those of the sorted row, or equal to them.
#[test]
fn selections_of_places() {
    let mut sample = Sample::new();
    let mut rng = Rng(6);
    let dims = [&[1][..], &[2], &[3, 20], &[2, 1500], &[70_000], &[3, 5000]];
    for (&dtype, dims) in Dtype::ALL.iter().flat_map(|dtype| dims.map(|dims| (dtype, dims))) {
        if sample.skips() {
            continue;
        }
        let (kept, row) = (&dims[..dims.len() - 1], dims[dims.len() - 1]);
        let mut input = Array::new(dims, strides(dims, &mut rng), dtype, &mut rng);
        fill(&mut input, dims, &mut rng);
        let before = Array::new(dims, strides(dims, &mut rng), dtype, &mut rng);
        let sorted: Vec<Vec<Scalar>> = indices(kept)
            .iter()
            .map(|i| {
                let mut values: Vec<Scalar> = (0..row).map(|j| input.in_row(i, j)).collect();
                values.sort_by(|&a, &b| order(a, b, false));
                values
            })
            .collect();
        let (one, third) = (|place: usize| place..place + 1, row / 3..2 * row / 3 + 1);
        let all = 0..row;
        for places in [
            vec![one(0)],
            vec![one(row - 1)],
            vec![one(row / 2)],
            vec![third],
            vec![all],
            vec![one(0), one(row - 1)],
            vec![0..row / 100 + 1, row / 2..row / 2 + 1, row - row / 50..row],
        ] {
            // Of short rows, some of these are the same.
            if places.windows(2).any(|two| two[0].end > two[1].start) {
                continue;
            }
            for (&isa, threads) in Isa::available().iter().flat_map(|isa| [1, 4].map(|n| (isa, n))) {
                let (mut inputs, mut outputs) = ([input.clone()], [before.clone()]);
                let family = Family::Select { places: places.clone().into() };
                let launch = plan(Program::convert(dtype, dtype), family, dims, &mut inputs, &mut outputs);
                execute(&launch, isa, threads, 1 << 25);
                untouched(&before, &outputs[0], dims);
                for (i, values) in indices(kept).iter().zip(&sorted) {
                    for place in places.iter().cloned().flatten() {
                        let found = outputs[0].in_row(i, place);
                        assert_eq!(
                            order(found, values[place], false),
                            Ordering::Equal,
                            "{dtype} {dims:?} {places:?} {i:?} {place} on {}",
                            isa.name()
                        );
                    }
                }
            }
        }
    }
}

/// The bits of the elements of a row: of a form, with special values in some of them.
fn row(dtype: Dtype, form: usize, len: usize, rng: &mut Rng) -> Vec<Scalar> {
    let numbered = |number: usize| Scalar::F64(number as f64 - 20.0).cast(dtype);
    let bits = |rng: &mut Rng| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&rng.next().to_le_bytes());
        Scalar::from_bytes(dtype, &bytes)
    };
    (0..len)
        .map(|i| match form {
            0 => bits(rng),
            1 => numbered(i),
            2 => numbered(len - i),
            3 => numbered(7),
            4 => numbered(rng.below(5) + 18),
            5 => numbered(i.min(len - i)),
            6 => element(dtype, true, rng),
            7 => element(dtype, false, rng),
            _ => match rng.below(5) {
                0 => Scalar::F64(f64::INFINITY).cast(dtype),
                1 => Scalar::F64(f64::NEG_INFINITY).cast(dtype),
                _ => bits(rng),
            },
        })
        .collect()
}

/// Sorts rows of every form at every level, as they lie and with a step, and compares all bits.
fn check_forms(dtype: Dtype, len: usize, threads: &[usize], rng: &mut Rng) {
    for form in 0..9 {
        let values = row(dtype, form, len, rng);
        for descending in [false, true] {
            let mut expected = values.clone();
            expected.sort_by(|&a, &b| order(a, b, descending));
            for (&isa, step) in Isa::available().iter().flat_map(|isa| [(isa, 1), (isa, -2)]) {
                // Rows with a step are few, as they differ on the way to the words only.
                if step != 1 && len % 16 != 1 {
                    continue;
                }
                for &threads in threads {
                    let mut input = Array::new(&[len], vec![step], dtype, rng);
                    for (i, &value) in values.iter().enumerate() {
                        let at = input.byte(&[i]);
                        input.memory.write(at, value);
                    }
                    let before = Array::new(&[len], vec![step], dtype, rng);
                    let (mut inputs, mut out) = ([input], [before.clone()]);
                    let family = Family::Sort { descending, indices: false };
                    let program = Program::convert(dtype, dtype);
                    let launch = plan(program, family, &[len], &mut inputs, &mut out);
                    execute(&launch, isa, threads, 1 << 25);
                    untouched(&before, &out[0], &[len]);
                    for (i, &expected) in expected.iter().enumerate() {
                        let found = out[0].get(&[i]);
                        assert_eq!(
                            found.to_bytes(),
                            expected.to_bytes(),
                            "{dtype} {isa:?}, {len} of form {form}, descending {descending}, at {i}"
                        );
                    }
                }
            }
        }
    }
}

const BY_VECTORS: [Dtype; 6] = [Dtype::F32, Dtype::F64, Dtype::I32, Dtype::I64, Dtype::U32, Dtype::U64];

#[test]
fn short_rows_of_every_form_and_length() {
    let mut sample = Sample::new();
    let mut rng = Rng(5);
    for dtype in BY_VECTORS {
        for len in 0..=300 {
            if sample.skips() {
                continue;
            }
            check_forms(dtype, len, &[1], &mut rng);
        }
    }
}

#[test]
fn long_rows_of_every_form() {
    let mut sample = Sample::new();
    let mut rng = Rng(6);
    for dtype in BY_VECTORS {
        if sample.skips() {
            continue;
        }
        check_forms(dtype, 2049, &[1], &mut rng);
        check_forms(dtype, 70_003, &[3], &mut rng);
    }
}

/// Places of wide integers that are few apart, as many as there are places, or one more: those are counted, these sorted.
#[test]
fn places_of_numbers_in_a_small_range() {
    let mut rng = Rng(8);
    for (dtype, least, most) in [
        (Dtype::I32, i128::from(i32::MIN), i128::from(i32::MAX)),
        (Dtype::I64, i128::from(i64::MIN), i128::from(i64::MAX)),
        (Dtype::U32, 0, i128::from(u32::MAX)),
        (Dtype::U64, 0, i128::from(u64::MAX)),
    ] {
        for len in [1_usize, 2, 300, 5000, 150_001] {
            for apart in [0, 1, 5, len - 1, len, len + 1, 65_535, 65_536] {
                let first = [least, (least / 2).min(7), most - apart as i128][rng.below(3)];
                let number = |rng: &mut Rng| first + rng.below(apart + 1) as i128;
                let mut numbers: Vec<i128> = (0..len).map(|_| number(&mut rng)).collect();
                numbers[rng.below(len)] = first;
                numbers[rng.below(len)] = first + apart as i128;
                let mut input =
                    Array::new(&[len], vec![if apart % 2 == 0 { 1 } else { -2 }], dtype, &mut rng);
                for (i, &number) in numbers.iter().enumerate() {
                    let at = input.byte(&[i]);
                    input.memory.write(at, Scalar::from_bytes(dtype, &number.to_le_bytes()));
                }
                for descending in [false, true] {
                    let mut expected: Vec<usize> = (0..len).collect();
                    expected.sort_by_key(|&i| if descending { -numbers[i] } else { numbers[i] });
                    let mut out = [Array::dense(&[len], Dtype::I64, &mut rng)];
                    let family = Family::Sort { descending, indices: true };
                    let program = Program::convert(dtype, dtype);
                    let mut inputs = [input.clone()];
                    let threads = 1 + 2 * rng.below(2);
                    let launch = plan(program, family, &[len], &mut inputs, &mut out);
                    execute(&launch, Isa::best(), threads, 1 << 25);
                    for (i, &expected) in expected.iter().enumerate() {
                        let found = out[0].get(&[i]);
                        assert_eq!(
                            found,
                            Scalar::I64(expected as i64),
                            "{dtype}, {len} of {apart} from {first}, {threads} threads, {descending}, at {i}"
                        );
                    }
                }
            }
        }
    }
}

/// Numbers of which only some bytes differ, so that passes are left out, in an odd and an even number.
#[test]
fn bytes_in_which_all_agree() {
    let mut rng = Rng(3);
    for mask in [0xff, 0xff00, 0x00ff_00ff, 0xff_0000_0000_00ff, 0] {
        let len = 5000;
        let mut input = Array::dense(&[len], Dtype::U64, &mut rng);
        for i in 0..len {
            let at = input.byte(&[i]);
            input.memory.write(at, Scalar::U64(rng.next() & mask));
        }
        let mut expected: Vec<_> = (0..len).map(|i| input.get(&[i]).to_bytes()).collect();
        expected.sort_by_key(|b| u128::from_le_bytes(*b));
        let mut out = [Array::dense(&[len], Dtype::U64, &mut rng)];
        let family = Family::Sort { descending: false, indices: false };
        let program = Program::convert(Dtype::U64, Dtype::U64);
        execute(&plan(program, family, &[len], &mut [input], &mut out), Isa::best(), 1, 1 << 25);
        assert!((0..len).all(|i| out[0].get(&[i]).to_bytes() == expected[i]));
    }
}

#[test]
fn searches() {
    let mut rng = Rng(4);
    for &dtype in Dtype::ALL {
        for extent in [1, 2, 7, 64, 1000] {
            for (dims, step) in [(&[][..], 1), (&[300], -1), (&[20, 30], 3), (&[3, 5, 70], 1)] {
                // A sorted table, whose elements are some of the needles too.
                let mut table = Array::new(&[extent], vec![step], dtype, &mut rng);
                fill(&mut table, &[extent], &mut rng);
                let mut values: Vec<_> = (0..extent).map(|i| table.get(&[i])).collect();
                values.sort_by(|&a, &b| order(a, b, false));
                for (i, &v) in values.iter().enumerate() {
                    let at = table.byte(&[i]);
                    table.memory.write(at, v);
                }
                let mut needles = Array::new(dims, strides(dims, &mut rng), dtype, &mut rng);
                fill(&mut needles, dims, &mut rng);
                let before = Array::new(dims, strides(dims, &mut rng), Dtype::I64, &mut rng);
                let mut p = ProgramBuilder::new();
                let x = p.input(dtype).unwrap();
                p.input(dtype).unwrap();
                p.output(x).unwrap();
                let program = p.finish().unwrap();
                for (right, threads) in [(false, 1), (false, 4), (true, 1), (true, 4)] {
                    let mut out = [before.clone()];
                    let axis = IndexedAxis { extent, stride: step };
                    let family = Family::Search { table: axis, right };
                    let mut launch =
                        plan(program.clone(), family, dims, std::slice::from_mut(&mut needles), &mut out);
                    let mut first = table.operand();
                    first.strides = SmallVec::from_elem(0, dims.len());
                    launch.inputs.push(first);
                    execute(&launch, Isa::best(), threads, 1 << 25);
                    untouched(&before, &out[0], dims);
                    for index in indices(dims) {
                        let needle = needles.get(&index);
                        let before = |v: &&Scalar| match order(**v, needle, false) {
                            Ordering::Less => true,
                            Ordering::Equal => right,
                            Ordering::Greater => false,
                        };
                        let expected = values.iter().filter(before).count();
                        assert_eq!(out[0].get(&index), Scalar::I64(expected as i64), "{dtype} {needle:?}");
                    }
                }
            }
        }
    }
}
