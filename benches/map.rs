//! The map family: elementwise operations, single and fused.

use std::error::Error;

use ndarray::{Array1, Array2, Zip};
use stridewise::{Op, UsmArray, UsmKind, Weak, s};
use stridewise_host::limit::Traffic;

use crate::measure::{Bench, Case};

pub(crate) fn run(bench: &mut Bench, len: usize) -> Result<(), Box<dyn Error>> {
    let queue = bench.queue().clone();
    let values = |offset: f32| (0..len).map(|i| (i % 1000) as f32 * 1e-3 + offset).collect::<Vec<f32>>();
    let array = |offset: f32| UsmArray::from_slice(&queue, &[len], &values(offset), UsmKind::Shared);
    let (a, b, c, d) = (array(0.5)?, array(1.5)?, array(2.5)?, array(3.5)?);
    let out = UsmArray::empty(&queue, &[len], a.dtype(), UsmKind::Shared)?;
    let peer = |offset: f32| Array1::from_vec(values(offset));
    let (pa, pb, pc, pd) = (peer(0.5), peer(1.5), peer(2.5), peer(3.5));
    let mut peer_out = Array1::<f32>::zeros(len);
    let bytes = len * size_of::<f32>();
    let case = |op, layout, arrays, traffic| Case {
        op,
        layout,
        n: len,
        bytes: arrays * bytes,
        traffic,
        limit_len: len,
        ours: Box::new(|| Ok(())),
        peers: Vec::new(),
    };

    bench.row(Case {
        ours: Box::new(|| a.binary(Op::Add, &b)?.wait()),
        peers: vec![("ndarray", Box::new(|| drop(std::hint::black_box(&pa + &pb))))],
        ..case("add", "fresh", 3, Traffic::Triad)
    })?;
    bench.row(Case {
        ours: Box::new(|| out.write_elementwise(Op::Add, &[(&a).into(), (&b).into()], &[])?.wait()),
        peers: vec![(
            "ndarray-par",
            Box::new(|| {
                Zip::from(&mut peer_out).and(&pa).and(&pb).par_for_each(|o, &x, &y| *o = x + y);
            }),
        )],
        ..case("add", "out", 3, Traffic::Triad)
    })?;
    for (name, op, peer) in [
        ("sqrt", Op::Sqrt, f32::sqrt as fn(f32) -> f32),
        ("exp", Op::Exp, f32::exp),
        ("sin", Op::Sin, f32::sin),
        ("log", Op::Log, f32::ln),
        ("tanh", Op::Tanh, f32::tanh),
    ] {
        bench.row(Case {
            ours: Box::new(|| out.write_elementwise(op, &[(&a).into()], &[])?.wait()),
            peers: vec![("ndarray", Box::new(|| drop(std::hint::black_box(pa.mapv(peer)))))],
            ..case(name, "out", 2, Traffic::Copy)
        })?;
    }
    let chain = || -> stridewise::Result<()> {
        let squares = a.binary(Op::Multiply, &a)?.binary(Op::Add, &b.binary(Op::Multiply, &b)?)?;
        squares.unary(Op::Sqrt)?.binary(Op::Multiply, &c)?.binary(Op::Subtract, &d)?.wait()
    };
    bench.row(Case {
        ours: Box::new(chain),
        peers: vec![(
            "ndarray",
            Box::new(|| drop(std::hint::black_box((&pa * &pa + &pb * &pb).mapv(f32::sqrt) * &pc - &pd))),
        )],
        ..case("sqrt(a*a+b*b)*c-d", "fresh", 5, Traffic::Triad)
    })?;
    let sigmoid = || -> stridewise::Result<()> {
        let exp = a.unary(Op::Negative)?.unary(Op::Exp)?;
        let below = exp.binary(Op::Add, Weak::from(1.0))?;
        stridewise::elementwise(Op::Divide, &[Weak::from(1.0).into(), (&below).into()])?.wait()
    };
    bench.row(Case {
        ours: Box::new(sigmoid),
        peers: vec![(
            "ndarray",
            Box::new(|| drop(std::hint::black_box(pa.mapv(|x| 1.0 / (1.0 + (-x).exp()))))),
        )],
        ..case("1/(1+exp(-x))", "fresh", 2, Traffic::Copy)
    })?;

    let half = len / 2;
    let (ea, eb) = (a.slice(s![..;2])?, b.slice(s![..;2])?);
    let half_out = out.slice(s![..half])?;
    let mut peer_half = Array1::<f32>::zeros(half);
    bench.row(Case {
        // Whole cache lines of the inputs are read.
        bytes: 2 * bytes + bytes / 2,
        ours: Box::new(|| half_out.write_elementwise(Op::Add, &[(&ea).into(), (&eb).into()], &[])?.wait()),
        peers: vec![(
            "ndarray",
            Box::new(|| {
                let (x, y) = (pa.slice(ndarray::s![..;2]), pb.slice(ndarray::s![..;2]));
                Zip::from(&mut peer_half).and(x).and(y).for_each(|o, &x, &y| *o = x + y);
            }),
        )],
        ..case("add", "stride 2", 3, Traffic::Triad)
    })?;

    let side = len.isqrt();
    let square = [side as isize, side as isize];
    let prefix = |x: &UsmArray| x.slice(s![..side * side])?.reshape(&square);
    let (ma, mb, mo) = (prefix(&a)?, prefix(&b)?.t(), prefix(&out)?);
    let shape = (side, side);
    let matrix = |x: &Array1<f32>| Array2::from_shape_vec(shape, x.to_vec()[..side * side].to_vec());
    let (na, nb, mut no) = (matrix(&pa)?, matrix(&pb)?, Array2::<f32>::zeros(shape));
    bench.row(Case {
        n: side * side,
        bytes: 3 * side * side * size_of::<f32>(),
        ours: Box::new(|| mo.write_elementwise(Op::Add, &[(&ma).into(), (&mb).into()], &[])?.wait()),
        peers: vec![(
            "ndarray",
            Box::new(|| {
                Zip::from(&mut no).and(&na).and(nb.t()).for_each(|o, &x, &y| *o = x + y);
            }),
        )],
        ..case("add", "transposed", 3, Traffic::Triad)
    })?;
    let row = ma.slice(s![0, ..])?;
    let row_peer = na.row(0).to_owned();
    bench.row(Case {
        n: side * side,
        bytes: 2 * side * side * size_of::<f32>(),
        ours: Box::new(|| mo.write_elementwise(Op::Add, &[(&ma).into(), (&row).into()], &[])?.wait()),
        peers: vec![("ndarray", Box::new(|| drop(std::hint::black_box(&na + &row_peer))))],
        ..case("add", "row broadcast", 2, Traffic::Copy)
    })?;
    let column = ma.slice(s![.., 0..1])?;
    bench.row(Case {
        n: side * side,
        bytes: 2 * side * side * size_of::<f32>(),
        ours: Box::new(|| mo.write_elementwise(Op::Add, &[(&ma).into(), (&column).into()], &[])?.wait()),
        peers: Vec::new(),
        ..case("add", "col broadcast", 2, Traffic::Copy)
    })
}
