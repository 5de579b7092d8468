//! Short rows without a plan, against plans and plain loops, at every level.

use smallvec::SmallVec;
use stridewise_core::backend::{Row, RowWork, Stretch};
use stridewise_core::{Dtype, Family, IndexedAxis, LaunchPlan, Op, Program, ProgramBuilder, Scalar};

use super::{Array, Rng, execute, indices, plan, untouched};
use crate::kernels::{Tuning, run_row};
use crate::simd::Isa;

const LENGTHS: [usize; 12] = [1, 2, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1100];

fn stretch(array: &mut Array, len: usize) -> Stretch {
    Stretch { at: array.operand().ptr.as_ptr(), len }
}

/// Runs the work at a level; `None`: it was not done.
fn run(isa: Isa, work: RowWork, dtype: Dtype, sources: [Stretch; 2], target: Stretch) -> Option<usize> {
    let tuning = Tuning { isa, threads: 1, last_cache_bytes: 1 << 25 };
    // SAFETY: the tests give rows of their own, and the level is available.
    unsafe { run_row(&Row { work, dtype, sources, target }, &tuning) }
}

const NONE: Stretch = Stretch { at: std::ptr::null_mut(), len: 0 };

/// Places, some from the end, in an axis.
fn places(len: usize, extent: usize, rng: &mut Rng) -> (Array, Vec<usize>) {
    let mut places = Array::dense(&[len], Dtype::I64, rng);
    let own = (0..len).map(|i| {
        let place = rng.below(extent);
        let named = if rng.below(2) == 0 { place as i64 } else { place as i64 - extent as i64 };
        let at = places.byte(&[i]);
        places.memory.write(at, Scalar::I64(named));
        place
    });
    let own = own.collect();
    (places, own)
}

#[test]
fn elements_at_places() {
    let mut rng = Rng(1);
    for (dtype, len) in [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::I64, Dtype::C128]
        .into_iter()
        .flat_map(|dtype| LENGTHS.map(|len| (dtype, len)))
    {
        let extent = 1 + rng.below(2 * len);
        let mut table = Array::dense(&[extent], dtype, &mut rng);
        let (mut named, own) = places(len, extent, &mut rng);
        for &isa in Isa::available() {
            let mut out = Array::dense(&[len], dtype, &mut rng);
            let mut expected = out.clone();
            for (i, &place) in own.iter().enumerate() {
                expected.memory.write(expected.byte(&[i]), table.get(&[place]));
            }
            let sources = [stretch(&mut table, extent), stretch(&mut named, len)];
            assert_eq!(run(isa, RowWork::Take, dtype, sources, stretch(&mut out, len)), Some(len));
            assert!(out.memory.bytes() == expected.memory.bytes(), "{dtype} {len}");

            // One value for all, or one for each; the last of several stays.
            for count in [1, len] {
                let mut values = Array::dense(&[count], dtype, &mut rng);
                let mut target = table.clone();
                let mut expected = table.clone();
                for (i, &place) in own.iter().enumerate() {
                    expected.memory.write(expected.byte(&[place]), values.get(&[i % count]));
                }
                let sources = [stretch(&mut values, count), stretch(&mut named, len)];
                let done = run(isa, RowWork::Put, dtype, sources, stretch(&mut target, extent));
                assert_eq!(done, Some(len));
                assert!(target.memory.bytes() == expected.memory.bytes(), "{dtype} {len} {count}");
            }

            // Nothing is written where any place is out of range.
            for far in [extent as i64, -1 - extent as i64, i64::MIN, i64::MAX] {
                let mut named = named.clone();
                let at = named.byte(&[rng.below(len)]);
                named.memory.write(at, Scalar::I64(far));
                let mut target = table.clone();
                let mut values = Array::dense(&[1], dtype, &mut rng);
                let sources = [stretch(&mut table, extent), stretch(&mut named, len)];
                assert_eq!(run(isa, RowWork::Take, dtype, sources, stretch(&mut out, len)), None);
                let sources = [stretch(&mut values, 1), stretch(&mut named, len)];
                assert_eq!(run(isa, RowWork::Put, dtype, sources, stretch(&mut target, extent)), None);
                assert!(target.memory.bytes() == table.memory.bytes(), "{dtype} {len} {far}");
            }
        }
    }
}

#[test]
fn what_masks_select() {
    let mut rng = Rng(2);
    for (dtype, len) in [Dtype::Bool, Dtype::Bf16, Dtype::F32, Dtype::F64, Dtype::C128]
        .into_iter()
        .flat_map(|dtype| LENGTHS.map(|len| (dtype, len)))
    {
        for of_four in [0, 1, 2, 4] {
            let mut mask = Array::dense(&[len], Dtype::U8, &mut rng);
            let mut own = Vec::new();
            for i in 0..len {
                // Any byte but 0 is true.
                let byte = if rng.below(4) < of_four { 1 + rng.below(255) } else { 0 };
                mask.memory.write(mask.byte(&[i]), Scalar::U8(byte as u8));
                own.extend((byte != 0).then_some(i));
            }
            let count = own.len();
            let mut all = Array::dense(&[len], dtype, &mut rng);
            for &isa in Isa::available() {
                let chosen = stretch(&mut mask, len);
                assert_eq!(run(isa, RowWork::Count, Dtype::Bool, [chosen, NONE], NONE), Some(count));

                let mut found = Array::dense(&[count + 1], Dtype::I64, &mut rng);
                let mut expected = found.clone();
                for (i, &place) in own.iter().enumerate() {
                    expected.memory.write(expected.byte(&[i]), Scalar::I64(place as i64));
                }
                let room = stretch(&mut found, count);
                assert_eq!(run(isa, RowWork::Places, Dtype::Bool, [chosen, NONE], room), Some(count));
                assert!(found.memory.bytes() == expected.memory.bytes(), "{len} {of_four}");

                let mut found = Array::dense(&[count + 1], dtype, &mut rng);
                let mut expected = found.clone();
                for (i, &place) in own.iter().enumerate() {
                    expected.memory.write(expected.byte(&[i]), all.get(&[place]));
                }
                let sources = [stretch(&mut all, len), chosen];
                let room = stretch(&mut found, count);
                assert_eq!(run(isa, RowWork::Select, dtype, sources, room), Some(count));
                assert!(found.memory.bytes() == expected.memory.bytes(), "{dtype} {len} {of_four}");

                for given in [1, count, count + 2] {
                    let mut values = Array::dense(&[given.max(1)], dtype, &mut rng);
                    let fits = given == 1 || given == count;
                    let mut target = all.clone();
                    let mut expected = all.clone();
                    for (i, &place) in own.iter().enumerate().filter(|_| fits) {
                        expected.memory.write(expected.byte(&[place]), values.get(&[i % given]));
                    }
                    if given > 0 {
                        let sources = [stretch(&mut values, given), chosen];
                        let done = run(isa, RowWork::Assign, dtype, sources, stretch(&mut target, len));
                        assert_eq!(done, fits.then_some(count));
                    }
                    assert!(target.memory.bytes() == expected.memory.bytes(), "{dtype} {len} {given}");
                }
            }
        }
    }
}

/// What a plan comes to, and what the same work on a row does; where that is not done, nothing is compared.
fn compare(
    isa: Isa,
    work: RowWork,
    mut launch: LaunchPlan,
    dtypes: [Dtype; 2],
    out: &Array,
    len: usize,
) -> bool {
    let (mut expected, mut found) = (out.clone(), out.clone());
    launch.outputs.push(expected.operand());
    execute(&launch, isa, 1, 1 << 25);
    let source = |k: usize| match (launch.inputs.get(k), &launch.family) {
        (None, _) => NONE,
        (Some(table), Family::Search { table: axis, .. } | Family::Contains { table: axis, .. })
            if k == 1 =>
        {
            Stretch { at: table.ptr.as_ptr(), len: axis.extent }
        }
        (Some(operand), _) => Stretch { at: operand.ptr.as_ptr(), len },
    };
    let done = run(isa, work, dtypes[0], [source(0), source(1)], stretch(&mut found, len));
    let is_done = done.is_some();
    if is_done {
        assert_eq!(done, Some(len));
        assert!(found.memory.bytes() == expected.memory.bytes(), "{work:?} {dtypes:?} {len} {isa:?}");
    }
    is_done
}

#[test]
fn sorts_searches_and_scans_as_plans_do() {
    let mut rng = Rng(3);
    let mut done = [0; 4];
    for (dtype, len) in Dtype::ALL.iter().flat_map(|&dtype| LENGTHS.map(|len| (dtype, len))) {
        let mut x = Array::dense(&[len], dtype, &mut rng);
        for &isa in Isa::available() {
            for (descending, indices) in [(false, false), (true, false), (false, true), (true, true)] {
                let out = Array::dense(&[len], if indices { Dtype::I64 } else { dtype }, &mut rng);
                let family = Family::Sort { descending, indices };
                let input = std::slice::from_mut(&mut x);
                let launch = plan(Program::convert(dtype, dtype), family, &[len], input, &mut []);
                let work = RowWork::Sort { descending, indices };
                done[0] += usize::from(compare(isa, work, launch, [dtype, out.dtype], &out, len));
            }
            for fold in [Op::Add, Op::Multiply, Op::Logaddexp].into_iter().filter(|op| op.allows(dtype)) {
                let out = Array::dense(&[len], dtype, &mut rng);
                let input = std::slice::from_mut(&mut x);
                let launch =
                    plan(Program::convert(dtype, dtype), Family::Scan { fold }, &[len], input, &mut []);
                done[1] += usize::from(compare(isa, RowWork::Scan { fold }, launch, [dtype; 2], &out, len));
            }
            // A table of fewer, and one of many more elements.
            for extent in [1, 1 + len / 3, 5 * len] {
                let mut table = sorted(extent, dtype, &mut rng);
                let axis = IndexedAxis { extent, stride: 1 };
                for flag in [false, true] {
                    for (k, (family, work, out)) in [
                        (
                            Family::Search { table: axis, right: flag },
                            RowWork::Search { right: flag },
                            Dtype::I64,
                        ),
                        (
                            Family::Contains { table: axis, invert: flag },
                            RowWork::Contains { invert: flag },
                            Dtype::Bool,
                        ),
                    ]
                    .into_iter()
                    .enumerate()
                    {
                        let mut launch = plan(handing_on(dtype), family, &[len], &mut [], &mut []);
                        let mut fixed = table.operand();
                        fixed.strides = SmallVec::from_slice(&[0]);
                        launch.inputs.extend([x.operand(), fixed]);
                        let array = Array::dense(&[len], out, &mut rng);
                        done[2 + k] += usize::from(compare(isa, work, launch, [dtype, out], &array, len));
                    }
                }
            }
        }
    }
    // Few are left to plans.
    assert!(done.iter().all(|&done| done > 200), "{done:?}");
}

fn handing_on(dtype: Dtype) -> Program {
    let mut p = ProgramBuilder::new();
    let x = p.input(dtype).unwrap();
    p.input(dtype).unwrap();
    p.output(x).unwrap();
    p.finish().unwrap()
}

fn sorted(extent: usize, dtype: Dtype, rng: &mut Rng) -> Array {
    let mut from = Array::dense(&[extent], dtype, rng);
    let mut to = from.clone();
    let family = Family::Sort { descending: false, indices: false };
    let program = Program::convert(dtype, dtype);
    let (input, output) = (std::slice::from_mut(&mut from), std::slice::from_mut(&mut to));
    execute(&plan(program, family, &[extent], input, output), Isa::best(), 1, 1 << 25);
    to
}

#[test]
fn products_of_matrices() {
    let mut rng = Rng(4);
    let dtypes = [Dtype::U8, Dtype::I64, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];
    for (m, k, n) in [(2, 1, 2), (2, 3, 4), (8, 8, 8), (17, 5, 16), (5, 31, 33), (32, 32, 32)] {
        for (dtype, ways) in dtypes.into_iter().flat_map(|dtype| (0..4).map(move |ways| (dtype, ways))) {
            let transposed = [ways & 1 != 0, ways & 2 != 0];
            // Whole numbers, so that sums are exact in any order.
            let mut matrix = |rows: usize, columns: usize, transposed: bool| {
                let strides = if transposed { vec![1, rows as isize] } else { vec![columns as isize, 1] };
                let mut array = Array::new(&[rows, columns], strides, dtype, &mut rng);
                for index in indices(&[rows, columns]) {
                    let at = array.byte(&index);
                    array.memory.write(at, Scalar::I8(rng.below(3) as i8).cast(dtype));
                }
                array
            };
            let (mut a, mut b) = (matrix(m, k, transposed[0]), matrix(k, n, transposed[1]));
            let out = Array::dense(&[m, n], dtype, &mut rng);
            let mut expected = out.clone();
            for index in indices(&[m, n]) {
                let term = |j: usize| a.get(&[index[0], j]).to_f64() * b.get(&[j, index[1]]).to_f64();
                let sum = (0..k).map(term).sum();
                expected.memory.write(expected.byte(&index), Scalar::F64(sum).cast(dtype));
            }
            for &isa in Isa::available() {
                let mut found = out.clone();
                let work = RowWork::Product { extents: [m, k, n], transposed };
                let sources = [stretch(&mut a, m * k), stretch(&mut b, k * n)];
                assert_eq!(run(isa, work, dtype, sources, stretch(&mut found, m * n)), Some(m * n));
                untouched(&out, &found, &[m, n]);
                // Zeros of either sign are equal.
                for index in indices(&[m, n]) {
                    let (found, expected) = (found.get(&index), expected.get(&index));
                    assert_eq!(found, expected, "{dtype} {m} {k} {n} {transposed:?}");
                }
            }
        }
    }
}

#[test]
fn numbers_in_order() {
    let mut rng = Rng(9);
    for len in LENGTHS {
        for start in [0, 7, u64::MAX - 3] {
            for &isa in Isa::available() {
                let mut found = Array::dense(&[len + 1], Dtype::U64, &mut rng);
                let mut expected = found.clone();
                for i in 0..len {
                    expected.memory.write(expected.byte(&[i]), Scalar::U64(start.wrapping_add(i as u64)));
                }
                let room = stretch(&mut found, len);
                assert_eq!(run(isa, RowWork::Range { start }, Dtype::U64, [NONE; 2], room), Some(len));
                assert!(found.memory.bytes() == expected.memory.bytes(), "{len} from {start}");
            }
        }
    }
}
