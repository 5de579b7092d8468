//! The reduce family: over everything, over one axis, of fused work.

use std::error::Error;

use ndarray::{Array2, Axis};
use stridewise::{Op, Reduction, UsmArray, UsmKind};
use stridewise_host::limit::Traffic;

use crate::measure::{Bench, Case, Peer};

pub(crate) fn run(bench: &mut Bench, len: usize) -> Result<(), Box<dyn Error>> {
    let queue = bench.queue().clone();
    let side = len.isqrt();
    let (shape, n) = ([side, side], side * side);
    let values: Vec<f32> = (0..n).map(|i| (i % 1000) as f32 * 1e-3).collect();
    let a = UsmArray::from_slice(&queue, &shape, &values, UsmKind::Shared)?;
    let b = a.copy()?;
    let peer = Array2::from_shape_vec((side, side), values)?;
    let bytes = n * size_of::<f32>();
    let case = |op, layout, arrays| Case {
        op,
        layout,
        n,
        bytes: arrays * bytes,
        traffic: Traffic::Read,
        limit_len: n,
        ours: Box::new(|| Ok(())),
        peers: Vec::new(),
    };

    for (name, reduction) in [
        ("sum", Reduction::Sum),
        ("max", Reduction::Max),
        ("argmax", Reduction::ArgMax),
        ("mean", Reduction::Mean),
        ("any", Reduction::Any),
    ] {
        let peers: Vec<Peer<'_>> = match reduction {
            Reduction::Sum => vec![(
                "ndarray",
                Box::new(|| {
                    std::hint::black_box(peer.sum());
                }),
            )],
            Reduction::Max => vec![(
                "iter",
                Box::new(|| {
                    std::hint::black_box(peer.iter().copied().fold(f32::MIN, f32::max));
                }),
            )],
            _ => Vec::new(),
        };
        bench.row(Case {
            ours: Box::new(|| a.reduce(reduction, None, false)?.wait()),
            peers,
            ..case(name, "all", 1)
        })?;
    }
    for (layout, axis) in [("axis 0", 0), ("axis 1", 1)] {
        bench.row(Case {
            ours: Box::new(|| a.reduce(Reduction::Sum, Some(&[axis]), false)?.wait()),
            peers: vec![(
                "ndarray",
                Box::new(|| drop(std::hint::black_box(peer.sum_axis(Axis(axis.unsigned_abs()))))),
            )],
            ..case("sum", layout, 1)
        })?;
        bench.row(Case {
            ours: Box::new(|| a.reduce(Reduction::Max, Some(&[axis]), false)?.wait()),
            ..case("max", layout, 1)
        })?;
    }
    bench.row(Case {
        ours: Box::new(|| a.binary(Op::Multiply, &b)?.reduce(Reduction::Sum, None, false)?.wait()),
        peers: vec![(
            "ndarray",
            Box::new(|| {
                std::hint::black_box((&peer * &peer).sum());
            }),
        )],
        ..case("sum(a*b)", "all", 2)
    })
}
