//! The copy family: copies, fills, concatenation.

use std::error::Error;

use ndarray::{Array2, Axis};
use stridewise::{Scalar, UsmArray, UsmKind, concat};
use stridewise_host::limit::Traffic;

use crate::measure::{Bench, Case};

pub(crate) fn run(bench: &mut Bench, len: usize) -> Result<(), Box<dyn Error>> {
    let queue = bench.queue().clone();
    let side = len.isqrt();
    let (shape, n) = ([side, side], side * side);
    let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let a = UsmArray::from_slice(&queue, &shape, &values, UsmKind::Shared)?;
    let out = UsmArray::empty(&queue, &shape, a.dtype(), UsmKind::Shared)?;
    let quarters: Vec<UsmArray> = (0..4)
        .map(|_| UsmArray::from_slice(&queue, &[side / 4, side], &values[..side / 4 * side], UsmKind::Shared))
        .collect::<stridewise::Result<_>>()?;
    let columns: Vec<UsmArray> = quarters
        .iter()
        .map(|q| q.reshape(&[side as isize, (side / 4) as isize]))
        .collect::<stridewise::Result<_>>()?;
    let peer: Vec<Array2<f32>> = (0..4)
        .map(|_| Array2::from_shape_vec((side / 4, side), values[..side / 4 * side].to_vec()))
        .collect::<Result<_, _>>()?;
    let peer_columns: Vec<Array2<f32>> = (0..4)
        .map(|_| Array2::from_shape_vec((side, side / 4), values[..side / 4 * side].to_vec()))
        .collect::<Result<_, _>>()?;
    let bytes = n * size_of::<f32>();
    let case = |op, layout, arrays, traffic| Case {
        op,
        layout,
        n,
        bytes: arrays * bytes,
        traffic,
        limit_len: n,
        ours: Box::new(|| Ok(())),
        peers: Vec::new(),
    };

    let mut peer_out = Array2::<f32>::zeros((side, side));
    let peer_in = Array2::from_shape_vec((side, side), values.clone())?;
    bench.row(Case {
        ours: Box::new(|| out.assign(&a)?.wait()),
        peers: vec![("ndarray", Box::new(|| peer_out.assign(&peer_in)))],
        ..case("copy", "out", 2, Traffic::Copy)
    })?;
    let memory = out.usm_data()?;
    bench.row(Case {
        ours: Box::new(|| queue.fill(&memory, 0, Scalar::F32(1.0), n, &[])?.wait()),
        ..case("fill", "out", 1, Traffic::Write)
    })?;
    let transposed = a.t();
    bench.row(Case {
        ours: Box::new(|| out.assign(&transposed)?.wait()),
        ..case("copy", "transposed", 2, Traffic::Copy)
    })?;
    let parts: Vec<&UsmArray> = quarters.iter().collect();
    let views: Vec<_> = peer.iter().map(|a| a.view()).collect();
    bench.row(Case {
        ours: Box::new(|| concat(&parts, Some(0))?.wait()),
        peers: vec![(
            "ndarray",
            Box::new(|| drop(std::hint::black_box(ndarray::concatenate(Axis(0), &views)))),
        )],
        ..case("concat of four", "axis 0", 2, Traffic::Copy)
    })?;
    let parts: Vec<&UsmArray> = columns.iter().collect();
    let views: Vec<_> = peer_columns.iter().map(|a| a.view()).collect();
    bench.row(Case {
        ours: Box::new(|| concat(&parts, Some(1))?.wait()),
        peers: vec![(
            "ndarray",
            Box::new(|| drop(std::hint::black_box(ndarray::concatenate(Axis(1), &views)))),
        )],
        ..case("concat of four", "axis 1", 2, Traffic::Copy)
    })
}
