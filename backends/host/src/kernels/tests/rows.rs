//! Short rows without a plan, against plans and plain loops, at every level.
//!
//! `run_row` owes the results of a plan of the same family, or of the loop that defines them. Lengths are
//! those around 16, 64 and 512 elements, which are vectors and tiles, and one that is more than a tile.

use smallvec::SmallVec;
use stridewise_core::backend::{Row, RowWork, Stretch};
use stridewise_core::ops::apply;
use stridewise_core::{
    Dtype, DtypeKind, Family, IndexedAxis, LaunchPlan, Op, Program, ProgramBuilder, Scalar,
};

use super::{Array, Rng, canonical, execute, indices, plan, untouched};
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
    for (m, k, n) in [
        (2, 1, 2),
        (2, 3, 4),
        (8, 8, 8),
        (17, 5, 16),
        (5, 31, 33),
        (32, 32, 32),
        (1, 5, 9),
        (7, 6, 1),
        (1, 200, 33),
        (33, 200, 1),
    ] {
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
                let done = run(isa, work, dtype, sources, stretch(&mut found, m * n));
                // A vector times a matrix of complex numbers is left to a plan.
                if done.is_none() && (m == 1 || n == 1) && dtype.kind() == DtypeKind::Complex {
                    continue;
                }
                assert_eq!(done, Some(m * n));
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
fn values_added_at_places() {
    let mut rng = Rng(5);
    for (&dtype, len) in Dtype::ALL.iter().flat_map(|dtype| LENGTHS.map(|len| (dtype, len))) {
        let extent = 1 + rng.below(2 * len);
        let table = Array::dense(&[extent], dtype, &mut rng);
        let (mut named, own) = places(len, extent, &mut rng);
        for (&isa, count) in Isa::available().iter().flat_map(|isa| [1, len].map(|count| (isa, count))) {
            let mut values = Array::dense(&[count], dtype, &mut rng);
            let (mut target, mut expected) = (table.clone(), table.clone());
            let exists = !matches!(dtype, Dtype::Bool | Dtype::F16 | Dtype::Bf16);
            for (i, &place) in own.iter().enumerate().filter(|_| exists) {
                let sum = apply(Op::Add, &[expected.get(&[place]), values.get(&[i % count])]).unwrap();
                expected.memory.write(expected.byte(&[place]), sum);
            }
            let sources = [stretch(&mut values, count), stretch(&mut named, len)];
            let done = run(isa, RowWork::Add, dtype, sources, stretch(&mut target, extent));
            assert_eq!(done, exists.then_some(len), "{dtype}");
            for i in 0..extent {
                let [found, expected] = [&target, &expected].map(|array| canonical(array.get(&[i])));
                assert_eq!(found, expected, "{dtype} {len} {count} {i}");
            }
            // Nothing is written where any place is out of range.
            let mut far = named.clone();
            far.memory.write(far.byte(&[rng.below(len)]), Scalar::I64(extent as i64));
            let mut target = table.clone();
            let sources = [stretch(&mut values, count), stretch(&mut far, len)];
            assert_eq!(run(isa, RowWork::Add, dtype, sources, stretch(&mut target, extent)), None);
            assert!(target.memory.bytes() == table.memory.bytes());
        }
    }
}

#[test]
fn runs_of_equal_elements() {
    let mut rng = Rng(6);
    for (&dtype, len) in Dtype::ALL.iter().flat_map(|dtype| LENGTHS.map(|len| (dtype, len))) {
        let mut row = Array::dense(&[len], dtype, &mut rng);
        for i in 0..len {
            let value = [-0.0, 0.0, 1.0, 1.0, 1.0, f64::NAN, 3.0][rng.below(7)];
            row.memory.write(row.byte(&[i]), Scalar::F64(value).cast(dtype));
        }
        let starts: Vec<usize> = (0..len).filter(|&i| i == 0 || row.get(&[i - 1]) != row.get(&[i])).collect();
        for (work, dtype_of) in [(RowWork::Distinct, dtype), (RowWork::Lengths, Dtype::I64)] {
            let mut out = Array::dense(&[len], dtype_of, &mut rng);
            let sources = [stretch(&mut row, len), NONE];
            let done = run(Isa::best(), work, dtype, sources, stretch(&mut out, len));
            assert_eq!(done, Some(starts.len()), "{dtype} {len}");
            for (i, &start) in starts.iter().enumerate() {
                let end = starts.get(i + 1).copied().unwrap_or(len);
                let expected = match work {
                    RowWork::Lengths => Scalar::I64((end - start) as i64),
                    _ => row.get(&[start]),
                };
                assert_eq!(out.get(&[i]).to_bytes(), expected.to_bytes(), "{dtype} {len} {work:?}");
            }
        }
    }
}

#[test]
fn first_elements_and_those_at_places() {
    let mut rng = Rng(7);
    let mut done = 0;
    for (&dtype, len) in Dtype::ALL.iter().flat_map(|dtype| LENGTHS.map(|len| (dtype, len))) {
        let mut row = Array::dense(&[len], dtype, &mut rng);
        for (&isa, descending) in Isa::available().iter().flat_map(|isa| [false, true].map(|d| (isa, d))) {
            let sorted = |indices: bool, row: &mut Array, rng: &mut Rng| {
                let mut out = Array::dense(&[len], if indices { Dtype::I64 } else { dtype }, rng);
                let family = Family::Sort { descending: indices && descending, indices };
                let (input, output) = (std::slice::from_mut(row), std::slice::from_mut(&mut out));
                execute(
                    &plan(Program::convert(dtype, dtype), family, &[len], input, output),
                    isa,
                    1,
                    1 << 25,
                );
                out
            };
            let (places, values) = (sorted(true, &mut row, &mut rng), sorted(false, &mut row, &mut rng));
            for count in [1, len.div_ceil(9), len] {
                let before = Array::dense(&[len], Dtype::I64, &mut rng);
                let mut out = before.clone();
                let sources = [stretch(&mut row, len), NONE];
                let work = RowWork::Top { descending };
                if run(isa, work, dtype, sources, stretch(&mut out, count)).is_some() {
                    done += 1;
                    for i in 0..len {
                        let expected = if i < count { &places } else { &before };
                        assert_eq!(out.get(&[i]), expected.get(&[i]), "{dtype} {len} {count} {i}");
                    }
                }
            }
            if dtype.kind() == DtypeKind::Complex {
                continue;
            }
            for (first, end) in [(0, 1), (len / 2, len / 2 + 1), (len / 3, len)] {
                let mut out = Array::dense(&[len], dtype, &mut rng);
                let (work, sources) = (RowWork::Partition { first, end }, [stretch(&mut row, len), NONE]);
                assert_eq!(run(isa, work, dtype, sources, stretch(&mut out, len)), Some(len));
                for i in first..end {
                    let [found, expected] = [&out, &values].map(|array| canonical(array.get(&[i])));
                    // Zeros of either sign are equal.
                    assert!(found == expected || out.get(&[i]) == values.get(&[i]), "{dtype} {len} {i}");
                }
            }
        }
    }
    assert!(done > 500, "{done}");
}

#[test]
fn elements_between_edges() {
    let mut rng = Rng(8);
    for (dtype, len) in [Dtype::F32, Dtype::F64].into_iter().flat_map(|dtype| LENGTHS.map(|len| (dtype, len)))
    {
        let mut row = Array::dense(&[len], dtype, &mut rng);
        for i in 0..len {
            let value = if rng.below(9) == 0 { f64::NAN } else { rng.below(41) as f64 / 4.0 - 1.0 };
            row.memory.write(row.byte(&[i]), Scalar::F64(value).cast(dtype));
        }
        for edges in
            [vec![0.0, 8.0], vec![0.0, 1.0, 1.0, 5.0, 8.0], (0..33).map(|i| f64::from(i) / 4.0).collect()]
        {
            let mut bounds = Array::dense(&[edges.len()], dtype, &mut rng);
            for (i, &edge) in edges.iter().enumerate() {
                bounds.memory.write(bounds.byte(&[i]), Scalar::F64(edge).cast(dtype));
            }
            let bins = edges.len() - 1;
            let mut out = Array::dense(&[bins], Dtype::I64, &mut rng);
            let sources = [stretch(&mut row, len), stretch(&mut bounds, bins + 1)];
            let done = run(Isa::best(), RowWork::Histogram, dtype, sources, stretch(&mut out, bins));
            assert_eq!(done, Some(bins));
            for bin in 0..bins {
                let inside =
                    |x: f64| x >= edges[bin] && (x < edges[bin + 1] || (bin + 1 == bins && x == edges[bins]));
                let count = (0..len).filter(|&i| inside(row.get(&[i]).to_f64())).count();
                assert_eq!(out.get(&[bin]), Scalar::I64(count as i64), "{dtype} {len} {bin}");
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
