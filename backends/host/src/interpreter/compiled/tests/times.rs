//! How long kernels take, compiled and interpreted: printed, for there is no time that a test may ask for.
//!
//! `cargo test --release -p stridewise-host --lib -- --ignored --nocapture times_of_kernels`; of some kernels alone, and compiled
//! alone, with a part of their names in `STRIDEWISE_TIMES`.

use std::time::Instant;

use stridewise_core::Op;
use stridewise_core::kernel::{AtomicOp, Coordinate::*, Fence, Level::*, MemoryOrder, MemoryScope, NdRange};

use super::groups::{tiles, transpose};
use super::kernels::{build, product};
use super::programs::{nearest, rows_of, scan, sparse, triangles};
use super::*;

fn floats(dtype: Dtype, shape: &[usize]) -> Given {
    Given::Array(Array::new(dtype, shape, |i| Scalar::F64((i % 1021) as f64 / 1021.0).cast(dtype)))
}

/// The sums of what each item strides over, from its own id on.
fn strided() -> Kernel {
    build("strided sums", 1, |k| {
        let (x, out) = (k.global("x", Dtype::F32, 1, false)?, k.global("out", Dtype::F32, 1, true)?);
        let (i, all, end) = (k.index(Global, Id(0))?, k.index(Global, Range(0))?, k.extent(x, 0)?);
        let sum = k.variable("sum", Dtype::F32)?;
        k.set(sum, 0.0_f32)?;
        let at = k.for_(i, end, all)?;
        let element = k.load(x, [at])?;
        let next = k.binary(Op::Add, sum, element)?;
        k.set(sum, next)?;
        k.end()?;
        k.store(out, [i], sum)
    })
}

/// Counts of bytes in local memory, then in global memory.
fn counts() -> Kernel {
    build("counts", 1, |k| {
        let order = (MemoryOrder::Relaxed, MemoryScope::Device);
        let (x, out) = (k.global("x", Dtype::U8, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
        let bins = k.local("bins", Dtype::I32, &[256])?;
        let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let (many, all) = (k.index(Local, Range(0))?, k.index(Global, Range(0))?);
        let end = k.extent(x, 0)?;
        let bin = k.for_(own, 256_i64, many)?;
        k.store(bins, [bin], 0)?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        let at = k.for_(i, end, all)?;
        let bin = k.load(x, [at])?;
        k.atomic(AtomicOp::Add, bins, [bin], Some(Scalar::I32(1).into()), order)?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        let bin = k.for_(own, 256_i64, many)?;
        let count = k.load(bins, [bin])?;
        k.atomic(AtomicOp::Add, out, [bin], Some(count.into()), order)?;
        k.end()
    })
}

/// Each group's elements plus those in reverse.
fn reverse() -> Kernel {
    build("reverse", 1, |k| {
        let (a, tile) = (k.global("a", Dtype::I32, 1, true)?, k.local("tile", Dtype::I32, &[256])?);
        let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let value = k.load(a, [i])?;
        k.store(tile, [own], value)?;
        k.barrier(Fence::LOCAL);
        let last = k.index(Local, Range(0))?;
        let last = k.binary(Op::Subtract, last, 1_i64)?;
        let mirror = k.binary(Op::Subtract, last, own)?;
        let other = k.load(tile, [mirror])?;
        let sum = k.binary(Op::Add, value, other)?;
        k.store(a, [i], sum)
    })
}

/// A stencil of five points.
fn jacobi() -> Kernel {
    build("jacobi", 2, |k| {
        let (a, b) = (k.global("a", Dtype::F64, 2, false)?, k.global("b", Dtype::F64, 2, true)?);
        let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
        let (i, j) = (k.binary(Op::Add, i, 1_i64)?, k.binary(Op::Add, j, 1_i64)?);
        let mut sum = k.load(a, [i, j])?;
        for (di, dj) in [(0_i64, -1_i64), (0, 1), (1, 0), (-1, 0)] {
            let (y, x) = (k.binary(Op::Add, i, di)?, k.binary(Op::Add, j, dj)?);
            let near = k.load(a, [y, x])?;
            sum = k.binary(Op::Add, sum, near)?;
        }
        let mean = k.binary(Op::Multiply, sum, 0.2_f64)?;
        k.store(b, [i, j], mean)
    })
}

/// Along rows, the sum of thirteen neighbours with weights; beyond the ends the last element counts.
fn blurred() -> Kernel {
    build("blurred rows", 2, |k| {
        let (x, out) = (k.global("x", Dtype::F32, 2, false)?, k.global("out", Dtype::F32, 2, true)?);
        let weights: Vec<Scalar> = (0..13).map(|i| Scalar::F32(i as f32 / 13.0)).collect();
        let weights = k.constant_array("weights", &[13], &weights)?;
        let (i, j, last) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?, k.extent(x, 1)?);
        let last = k.binary(Op::Subtract, last, 1_i64)?;
        let sum = k.variable("sum", Dtype::F32)?;
        k.set(sum, 0.0_f32)?;
        let round = k.for_(0_i64, 13_i64, 1_i64)?;
        let at = k.binary(Op::Add, j, round)?;
        let at = k.binary(Op::Subtract, at, 6_i64)?;
        let at = k.binary(Op::Maximum, at, 0_i64)?;
        let at = k.binary(Op::Minimum, at, last)?;
        let (weight, element) = (k.load(weights, [round])?, k.load(x, [i, at])?);
        let term = k.binary(Op::Multiply, weight, element)?;
        let next = k.binary(Op::Add, sum, term)?;
        k.set(sum, next)?;
        k.end()?;
        k.store(out, [i, j], sum)
    })
}

/// A window of 5 × 5 elements, of groups of 16 × 16 items that bring a tile with a border to local memory.
fn windows() -> Kernel {
    build("windows", 2, |k| {
        let (x, out) = (k.global("x", Dtype::F32, 2, false)?, k.global("out", Dtype::F32, 2, true)?);
        let tile = k.local("tile", Dtype::F32, &[20, 20])?;
        let weights: Vec<Scalar> = (0..25).map(|i| Scalar::F32(i as f32 / 25.0)).collect();
        let weights = k.constant_array("weights", &[5, 5], &weights)?;
        let [row, column] = [k.index(Global, Id(0))?, k.index(Global, Id(1))?];
        let [i, j] = [k.index(Local, Id(0))?, k.index(Local, Id(1))?];
        let (top, left) = (k.binary(Op::Subtract, row, i)?, k.binary(Op::Subtract, column, j)?);
        let y = k.for_(i, 20_i64, 16_i64)?;
        let v = k.for_(j, 20_i64, 16_i64)?;
        let (from, to) = (k.binary(Op::Add, top, y)?, k.binary(Op::Add, left, v)?);
        let element = k.load(x, [from, to])?;
        k.store(tile, [y, v], element)?;
        k.end()?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        let sum = k.variable("sum", Dtype::F32)?;
        k.set(sum, 0.0_f32)?;
        let y = k.for_(0_i64, 5_i64, 1_i64)?;
        let v = k.for_(0_i64, 5_i64, 1_i64)?;
        let (down, right) = (k.binary(Op::Add, i, y)?, k.binary(Op::Add, j, v)?);
        let (weight, element) = (k.load(weights, [y, v])?, k.load(tile, [down, right])?);
        let term = k.binary(Op::Multiply, weight, element)?;
        let next = k.binary(Op::Add, sum, term)?;
        k.set(sum, next)?;
        k.end()?;
        k.end()?;
        k.store(out, [row, column], sum)
    })
}

#[test]
#[ignore = "it takes seconds, and prints: run with cargo test --release -p stridewise-host --lib times_of_kernels -- --ignored --nocapture"]
fn times_of_kernels() {
    let many = 1 << 22;
    let bytes = || {
        let mut rng = Rng(7);
        Given::Array(Array::new(Dtype::U8, &[many], |_| Scalar::U8(rng.below(256) as u8)))
    };
    let ints = |len: usize| Given::Array(Array::new(Dtype::I32, &[len], |i| Scalar::I32(i as i32)));
    let squares = |edge: usize| [(); 3].map(|()| floats(Dtype::F32, &[edge, edge]));
    let [starts, columns] = rows_of(1 << 18);
    let Given::Array(Array { shape, .. }) = &columns else { unreachable!() };
    let values = floats(Dtype::F64, &shape.clone());
    let products =
        vec![starts, columns, values, floats(Dtype::F64, &[1 << 18]), floats(Dtype::F64, &[1 << 18])];
    let rows: Vec<(&str, Kernel, NdRange, Vec<Given>)> = vec![
        ("product 256³", product(Dtype::F32, Dtype::I64), NdRange::of(&[256, 256]), squares(256).into()),
        (
            "tiles of 16 256³",
            tiles(Dtype::F32),
            NdRange::in_groups(&[256, 256], &[16, 16]),
            squares(256).into(),
        ),
        (
            "tiles of 32 256³",
            tiles(Dtype::F32),
            NdRange::in_groups(&[256, 256], &[32, 32]),
            squares(256).into(),
        ),
        (
            "transpose by 16 1024²",
            transpose(Dtype::F32),
            NdRange::in_groups(&[1024, 1024], &[16, 16]),
            vec![
                floats(Dtype::F32, &[1024, 1024]),
                floats(Dtype::F32, &[1024, 1024]),
                Given::Local(vec![16, 17]),
            ],
        ),
        (
            "strided sums 4 Mi",
            strided(),
            NdRange::in_groups(&[64 * 256], &[256]),
            vec![floats(Dtype::F32, &[many]), floats(Dtype::F32, &[64 * 256])],
        ),
        ("counts 4 Mi", counts(), NdRange::in_groups(&[64 * 256], &[256]), vec![bytes(), ints(256)]),
        ("reverse 4 Mi", reverse(), NdRange::in_groups(&[many], &[256]), vec![ints(many)]),
        (
            "jacobi 700²",
            jacobi(),
            NdRange::of(&[698, 698]),
            vec![floats(Dtype::F64, &[700, 700]), floats(Dtype::F64, &[700, 700])],
        ),
        (
            "blurred rows 2048²",
            blurred(),
            NdRange::of(&[2048, 2048]),
            vec![floats(Dtype::F32, &[2048, 2048]), floats(Dtype::F32, &[2048, 2048])],
        ),
        (
            "windows 1024²",
            windows(),
            NdRange::in_groups(&[1024, 1024], &[16, 16]),
            vec![floats(Dtype::F32, &[1024, 1024]), floats(Dtype::F32, &[1024, 1024])],
        ),
        (
            "scan 1 Mi",
            scan(),
            NdRange::in_groups(&[1 << 19], &[256]),
            vec![
                Given::Array(Array::new(Dtype::U32, &[1 << 20], |i| Scalar::U32(i as u32))),
                Given::Array(Array::new(Dtype::U32, &[1 << 11], |_| Scalar::U32(0))),
                Given::Local(vec![512]),
            ],
        ),
        ("sparse 256 Ki", sparse(), NdRange::of(&[1 << 18]), products),
        (
            "nearest 256 Ki",
            nearest(Dtype::F64),
            NdRange::in_groups(&[1 << 18], &[256]),
            vec![
                floats(Dtype::F64, &[1 << 18, 2]),
                floats(Dtype::F64, &[5, 2]),
                ints(1 << 18),
                floats(Dtype::F64, &[5 << 10, 2]),
            ],
        ),
        (
            "triangles 2048",
            triangles(),
            NdRange::in_groups(&[2048 * 16, 16], &[16, 16]),
            vec![floats(Dtype::F64, &[2048 * 16, 16]), floats(Dtype::F64, &[2048 * 16, 16])],
        ),
    ];
    let only = std::env::var("STRIDEWISE_TIMES").ok();
    // Of several names, by commas.
    let is_asked =
        |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|part| name.contains(part)));
    for (name, kernel, range, given) in rows {
        if !is_asked(name) {
            continue;
        }
        for tuning in tunings().filter(|tuning| tuning.threads == 1) {
            let (launch, _memory) = prepared(&kernel, &range, &given);
            let medians = [Switch::Always, Switch::Off].map(|switch| {
                if switch == Switch::Off && only.is_some() {
                    return f64::NAN;
                }
                let mut times: Vec<f64> = (0..8)
                    .map(|_| {
                        let started = Instant::now();
                        // SAFETY: the arguments are those of the kernel, in memory of their own.
                        compiler::forced(switch, || unsafe { run_kernel(&launch, &tuning) }).unwrap();
                        started.elapsed().as_secs_f64() * 1e3
                    })
                    .collect();
                // The first one compiles.
                times.remove(0);
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            });
            let [compiled, interpreted] = medians;
            println!("{name:24} {:8} {compiled:8.2} ms {interpreted:8.2} ms", tuning.isa.name());
        }
    }
}
