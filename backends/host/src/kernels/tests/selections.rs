//! Masks, the first of sorted elements, and membership, against plain loops, at every level.

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, Scalar,
    backend::{Family, IndexedAxis, LaunchPlan, Program, ProgramBuilder},
};

use super::sorts::{element, fill, order, strides};
use super::{Array, Rng, Sample, execute, indices, plan, untouched};
use crate::simd::Isa;

/// A program that hands its first input on.
fn handing_on(dtypes: &[Dtype]) -> Program {
    let mut p = ProgramBuilder::new();
    let inputs: Vec<_> = dtypes.iter().map(|&dtype| p.input(dtype).unwrap()).collect();
    p.output(inputs[0]).unwrap();
    p.finish().unwrap()
}

/// Every level, alone and with threads.
fn ways() -> impl Iterator<Item = (Isa, usize)> {
    Isa::available().iter().flat_map(|&isa| [(isa, 1), (isa, 4)])
}

/// A mask of which so many of four elements are true.
fn mask(dims: &[usize], of_four: usize, rng: &mut Rng) -> Array {
    let mut mask = Array::new(dims, strides(dims, rng), Dtype::Bool, rng);
    for index in indices(dims) {
        let at = mask.byte(&index);
        mask.memory.write(at, Scalar::Bool(rng.below(4) < of_four));
    }
    mask
}

fn truth(mask: &Array, index: &[usize]) -> bool {
    mask.get(index) == Scalar::Bool(true)
}

/// Dimensions, and how many of them a mask has.
const MASKED: [(&[usize], usize); 8] = [
    (&[1], 1),
    (&[64], 1),
    (&[700], 1),
    (&[5, 300], 2),
    (&[70_000], 1),
    (&[3, 50, 4], 2),
    (&[40, 2], 1),
    (&[6, 3, 5], 1),
];

/// Strides of what lies closely: none along the mask's dimensions.
fn closely(close: &Array, masked: usize) -> SmallVec<[isize; 8]> {
    (0..masked).map(|_| 0).chain(close.strides[1..].iter().copied()).collect()
}

/// The elements of an array at the true points of a mask, as multi-indices of the array and of what lies closely.
fn pairs(mask: &Array, dims: &[usize], masked: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
    let chosen = indices(&dims[..masked]).into_iter().filter(|index| truth(mask, index));
    chosen
        .enumerate()
        .flat_map(|(number, index)| {
            indices(&dims[masked..]).into_iter().map(move |block| {
                let all = index.iter().chain(&block).copied().collect();
                (all, [number].into_iter().chain(block).collect())
            })
        })
        .collect()
}

#[test]
fn masks_at_every_level() {
    let mut sample = Sample::new();
    let mut rng = Rng(1);
    for dtype in [Dtype::Bool, Dtype::I16, Dtype::F32, Dtype::I64, Dtype::C128] {
        for (dims, masked) in MASKED {
            for of_four in [0, 1, 2, 4] {
                if sample.skips() {
                    continue;
                }
                let mut mask = mask(&dims[..masked], of_four, &mut rng);
                let mut all = Array::new(dims, strides(dims, &mut rng), dtype, &mut rng);
                let pairs = pairs(&mask, dims, masked);
                let count = indices(&dims[..masked]).iter().filter(|index| truth(&mask, index)).count();
                let shape: Vec<usize> = [count.max(1)].into_iter().chain(dims[masked..].to_vec()).collect();
                let close = Array::new(&shape, strides(&shape, &mut rng), dtype, &mut rng);
                let axis = IndexedAxis { extent: count.max(1), stride: close.strides[0] };
                let mut mask_operand = mask.operand();
                mask_operand.strides.resize(dims.len(), 0);
                for (isa, threads) in ways() {
                    // Taken together.
                    let mut out = close.clone();
                    let mut to = out.operand();
                    to.strides = closely(&close, masked).into_iter().collect();
                    let launch = LaunchPlan {
                        program: handing_on(&[dtype, Dtype::Bool]).into(),
                        family: Family::Compress { axis, masked, indices: false },
                        dims: SmallVec::from_slice(dims),
                        inputs: [all.operand(), mask_operand.clone()].into_iter().collect(),
                        outputs: [to].into_iter().collect(),
                    };
                    execute(&launch, isa, threads, 1 << 25);
                    untouched(&close, &out, &shape);
                    for (from, to) in &pairs {
                        assert_eq!(
                            out.get(to).to_bytes(),
                            all.get(from).to_bytes(),
                            "{isa:?} {dims:?} {to:?}"
                        );
                    }
                    // Written back.
                    let before = all.clone();
                    let mut out = before.clone();
                    let mut source = close.clone();
                    let mut from = source.operand();
                    from.strides = closely(&close, masked).into_iter().collect();
                    let launch = LaunchPlan {
                        program: handing_on(&[dtype, Dtype::Bool]).into(),
                        family: Family::Expand { axis, masked },
                        dims: SmallVec::from_slice(dims),
                        inputs: [from, mask_operand.clone()].into_iter().collect(),
                        outputs: [out.operand()].into_iter().collect(),
                    };
                    execute(&launch, isa, threads, 1 << 25);
                    untouched(&before, &out, dims);
                    let mut expected = before.clone();
                    for (to, from) in &pairs {
                        let at = expected.byte(to);
                        expected.memory.write(at, close.get(from));
                    }
                    for index in indices(dims) {
                        let (found, want) = (out.get(&index), expected.get(&index));
                        assert_eq!(found.to_bytes(), want.to_bytes(), "{isa:?} {dims:?} {index:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn places_of_masks_at_every_level() {
    let mut rng = Rng(2);
    for (dims, of_four) in [(&[1][..], 4), (&[63], 2), (&[1000], 1), (&[9, 200], 3), (&[100_000], 2)] {
        let mut mask = mask(dims, of_four, &mut rng);
        let all = indices(dims);
        let places: Vec<usize> = (0..all.len()).filter(|&place| truth(&mask, &all[place])).collect();
        // The last place is left out, as there is no room.
        for extent in [places.len(), places.len().saturating_sub(1)] {
            let shape = [extent.max(1)];
            let before = Array::new(&shape, strides(&shape, &mut rng), Dtype::I64, &mut rng);
            let axis = IndexedAxis { extent: extent.max(1), stride: before.strides[0] };
            for (isa, threads) in ways() {
                let mut out = before.clone();
                let mut to = out.operand();
                to.strides = SmallVec::from_elem(0, dims.len());
                let launch = LaunchPlan {
                    program: handing_on(&[Dtype::Bool]).into(),
                    family: Family::Compress { axis, masked: dims.len(), indices: true },
                    dims: SmallVec::from_slice(dims),
                    inputs: [mask.operand()].into_iter().collect(),
                    outputs: [to].into_iter().collect(),
                };
                execute(&launch, isa, threads, 1 << 25);
                untouched(&before, &out, &shape);
                for (i, &place) in places[..extent].iter().enumerate() {
                    assert_eq!(out.get(&[i]), Scalar::I64(place as i64), "{isa:?} {threads} {dims:?} {i}");
                }
            }
        }
    }
}

#[test]
fn first_elements_at_every_level() {
    let mut rng = Rng(3);
    for &dtype in Dtype::ALL {
        for (dims, count) in [(&[9][..], 3), (&[700], 1), (&[3, 2000], 7), (&[5, 40], 40), (&[70_000], 100)] {
            let (kept, row) = (&dims[..dims.len() - 1], dims[dims.len() - 1]);
            let mut input = Array::new(dims, strides(dims, &mut rng), dtype, &mut rng);
            fill(&mut input, dims, &mut rng);
            let shape: Vec<usize> = kept.iter().copied().chain([count]).collect();
            let before = Array::new(&shape, strides(&shape, &mut rng), Dtype::I64, &mut rng);
            let axis = IndexedAxis { extent: count, stride: before.strides[kept.len()] };
            for descending in [false, true] {
                let expected: Vec<Vec<usize>> = indices(kept)
                    .iter()
                    .map(|i| {
                        let values: Vec<Scalar> = (0..row).map(|j| input.in_row(i, j)).collect();
                        let mut places: Vec<usize> = (0..row).collect();
                        places.sort_by(|&a, &b| order(values[a], values[b], descending));
                        places.truncate(count);
                        places
                    })
                    .collect();
                for (isa, threads) in ways() {
                    let mut out = before.clone();
                    let mut to = out.operand();
                    to.strides[kept.len()] = 0;
                    let launch = LaunchPlan {
                        program: handing_on(&[dtype]).into(),
                        family: Family::Top { descending, axis },
                        dims: SmallVec::from_slice(dims),
                        inputs: [input.operand()].into_iter().collect(),
                        outputs: [to].into_iter().collect(),
                    };
                    execute(&launch, isa, threads, 1 << 25);
                    untouched(&before, &out, &shape);
                    for (i, expected) in indices(kept).iter().zip(&expected) {
                        for (j, &place) in expected.iter().enumerate() {
                            let found = out.in_row(i, j);
                            assert_eq!(
                                found,
                                Scalar::I64(place as i64),
                                "{dtype} {isa:?} {dims:?} {i:?} {j}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn membership_at_every_level() {
    let mut sample = Sample::new();
    let mut rng = Rng(4);
    for &dtype in Dtype::ALL {
        for (extent, step) in [(1, 1), (9, -1), (40, 2), (1000, 1)] {
            for dims in [&[600][..], &[7, 90], &[50_000]] {
                if sample.skips() {
                    continue;
                }
                let mut table = Array::new(&[extent], vec![step], dtype, &mut rng);
                let mut values: Vec<Scalar> = (0..extent).map(|_| element(dtype, false, &mut rng)).collect();
                values.sort_by(|&a, &b| order(a, b, false));
                for (i, &value) in values.iter().enumerate() {
                    let at = table.byte(&[i]);
                    table.memory.write(at, value);
                }
                let mut needles = Array::new(dims, strides(dims, &mut rng), dtype, &mut rng);
                for index in indices(dims) {
                    let some =
                        if rng.below(2) == 0 { rng.pick(&values) } else { element(dtype, false, &mut rng) };
                    let at = needles.byte(&index);
                    needles.memory.write(at, some);
                }
                let before = Array::new(dims, strides(dims, &mut rng), Dtype::Bool, &mut rng);
                let has: Vec<bool> = indices(dims)
                    .iter()
                    .map(|index| {
                        let needle = needles.get(index);
                        let from = values.partition_point(|&v| order(v, needle, false).is_lt());
                        // NaN equals nothing, although the order has it equal to itself.
                        values.get(from).is_some_and(|&v| v == needle)
                    })
                    .collect();
                for ((isa, threads), invert) in ways().flat_map(|way| [(way, false), (way, true)]) {
                    let mut out = [before.clone()];
                    let family = Family::Contains { table: IndexedAxis { extent, stride: step }, invert };
                    let mut launch = plan(
                        handing_on(&[dtype, dtype]),
                        family,
                        dims,
                        std::slice::from_mut(&mut needles),
                        &mut out,
                    );
                    let mut first = table.operand();
                    first.strides = SmallVec::from_elem(0, dims.len());
                    launch.inputs.push(first);
                    execute(&launch, isa, threads, 1 << 25);
                    untouched(&before, &out[0], dims);
                    for (index, &has) in indices(dims).iter().zip(&has) {
                        let found = out[0].get(index);
                        let needle = needles.get(index);
                        assert_eq!(found, Scalar::Bool(has != invert), "{dtype} {isa:?} {extent} {needle:?}");
                    }
                }
            }
        }
    }
}
