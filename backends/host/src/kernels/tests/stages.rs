//! Stages by rows against one stage after another.

use smallvec::smallvec;
use stridewise_core::{
    Dtype, Op,
    backend::{Family, Fold, LaunchPlan, Operand, Program, ProgramBuilder},
};

use super::reductions::output;
use super::{Array, Rng, execute_all, shared};
use crate::kernels::{Tuning, by_rows};
use crate::simd::Isa;

/// How the second stage reads what the rows come to, and whether it needs nothing but the same row's.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Reads {
    SameRow,
    Backwards,
    AcrossRows,
    TwoRows,
}

/// `x - max(x)`, and sums that nobody reads.
fn stages(
    x: &Operand,
    [most, sum, out]: [&mut Array; 3],
    dims: [usize; 2],
    reads: Reads,
) -> Vec<Vec<LaunchPlan>> {
    let [rows, row] = dims;
    let fold = |fold, to: &mut Array| LaunchPlan {
        program: Program::convert(Dtype::F32, Dtype::F32).into(),
        family: Family::Reduce { fold: Fold::Op(fold), reduced: 1, finish: None, stored: None },
        dims: smallvec![rows, row],
        inputs: smallvec![x.clone()],
        outputs: smallvec![to.operand()],
    };
    let folds = vec![fold(Op::Maximum, most), fold(Op::Add, sum)];
    let mut read = folds[0].outputs[0].clone();
    match reads {
        Reads::SameRow => {}
        Reads::Backwards => {
            read.ptr = read.ptr.byte_offset((rows.cast_signed() - 1) * 4);
            read.strides[0] = -1;
        }
        Reads::AcrossRows => read.strides.swap(0, 1),
        // Of this row, at its first element, and of the next one.
        Reads::TwoRows => read.strides[1] = 1,
    }
    let mut difference = ProgramBuilder::new();
    let (a, b) = (difference.input(Dtype::F32).unwrap(), difference.input(Dtype::F32).unwrap());
    let value = difference.push(Op::Subtract, &[a, b]).unwrap();
    difference.output(value).unwrap();
    let map = LaunchPlan {
        program: difference.finish().unwrap().into(),
        family: Family::Map,
        dims: smallvec![rows, row],
        inputs: smallvec![x.clone(), read],
        outputs: smallvec![out.operand()],
    };
    vec![folds, vec![map]]
}

#[test]
fn the_bits_of_one_stage_after_another() {
    let mut rng = Rng(11);
    for (dims, reads, turned, cut) in [
        ([1100, 1000], Reads::SameRow, false, true),
        ([130_000, 9], Reads::SameRow, false, true),
        ([9, 150_000], Reads::SameRow, false, true),
        // Rows of `x` lie among each other.
        ([1000, 1100], Reads::SameRow, true, false),
        ([1100, 1000], Reads::Backwards, false, false),
        ([1050, 1050], Reads::AcrossRows, false, false),
        ([600_000, 2], Reads::TwoRows, false, false),
        // Too little to be cut, and rows of too much.
        ([100, 1000], Reads::SameRow, false, false),
        ([4, 300_000], Reads::SameRow, false, false),
    ] {
        let strides = if turned { vec![1, dims[0] as isize] } else { vec![dims[1] as isize, 1] };
        let mut x = Array::new(&dims, strides, Dtype::F32, &mut rng);
        let x = x.operand();
        // One more than rows, for who reads the next one's.
        let kept = [dims[0] + 1, dims[1]];
        let mut results = [
            output(&kept, 1, Dtype::F32, &mut rng),
            output(&kept, 1, Dtype::F32, &mut rng),
            Array::dense(&dims, Dtype::F32, &mut rng),
        ];
        let before = results.clone();
        for &isa in Isa::available() {
            let mut bits = Vec::new();
            // Of no cache, results go past it.
            for (threads, last_cache_bytes) in [(0, 1 << 25), (1, 1 << 25), (2, 1 << 25), (1, 0), (2, 0)] {
                for (to, from) in results.iter_mut().zip(&before) {
                    to.memory.copy_from(&from.memory);
                }
                let stages = stages(&x, results.each_mut(), dims, reads);
                if threads == 0 {
                    stages.iter().for_each(|plans| execute_all(plans, isa, 1, last_cache_bytes));
                } else {
                    let tuning = Tuning { isa, threads, last_cache_bytes };
                    // SAFETY: plans over live memory that nothing else uses; a stage reads what those before it wrote.
                    let was_cut = shared(|| unsafe { by_rows(&stages, &tuning) }.unwrap());
                    assert_eq!(was_cut, cut, "{dims:?} {reads:?} {threads}");
                    if !was_cut {
                        continue;
                    }
                }
                bits.push(results.each_ref().map(|array| array.memory.bytes().to_vec()));
            }
            assert!(bits.windows(2).all(|pair| pair[0] == pair[1]), "{dims:?} {reads:?} on {}", isa.name());
        }
    }
}
