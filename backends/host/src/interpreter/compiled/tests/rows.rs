//! Groups whose rows are computed several at a time, and indices that kernels keep between bounds.

use stridewise_core::Op;
use stridewise_core::kernel::{
    AtomicOp, Coordinate::*, Fence, KernelBuilder, Level::*, MemoryOrder, MemoryScope, Value,
};

use super::kernels::build;
use super::*;

const ORDER: (MemoryOrder, MemoryScope) = (MemoryOrder::Relaxed, MemoryScope::Device);

/// Index spaces and groups of two and three axes; of some groups the rows are whole vectors, but not of all of them.
const SPACES: [(&[usize], &[usize]); 9] = [
    (&[24, 32], &[16, 16]),
    (&[40, 48], &[8, 8]),
    (&[33, 70], &[16, 32]),
    (&[5, 24], &[4, 24]),
    (&[64, 64], &[2, 64]),
    (&[20, 136], &[3, 128]),
    (&[3, 20, 24], &[2, 16, 8]),
    (&[4, 9, 17], &[4, 8, 16]),
    (&[2, 30, 40], &[1, 5, 40]),
];

fn between(k: &mut KernelBuilder, value: Value, least: i64, most: Value) -> stridewise_core::Result<Value> {
    let above = k.binary(Op::Maximum, value, least)?;
    k.binary(Op::Minimum, above, most)
}

/// Ids of all kinds, private arrays, branches and loops by rows and columns, local memory and what lives on behind barriers.
fn everything(dims: usize, dtype: Dtype) -> Kernel {
    build("everything", dims, |k| {
        let x = k.global("x", dtype, dims, false)?;
        let (out, ids) = (k.global("out", dtype, dims, true)?, k.global("ids", Dtype::I64, dims, true)?);
        let tile = k.local("tile", dtype, &[1024])?;
        let own = k.private("own", dtype, &[3])?;
        let mut global = Vec::new();
        for axis in 0..dims {
            global.push(k.index(Global, Id(axis as u8))?);
        }
        let (row, column) = (k.index(Local, Id(dims as u8 - 2))?, k.index(Local, Id(dims as u8 - 1))?);
        let (place, all) = (k.index(Local, LinearId)?, k.index(Global, LinearId)?);
        let value = k.load(x, global.clone())?;
        k.store(own, [Scalar::I64(1)], value)?;
        let part = k.binary(Op::Remainder, column, 3)?;
        k.store(own, [part], value)?;
        k.store(tile, [place], value)?;
        k.barrier(Fence::LOCAL);
        let sum = k.variable("sum", dtype)?;
        k.set(sum, value)?;
        // Each row goes through as many rounds as its number says, each item begins at its column.
        let round = k.for_(Scalar::I64(0), row, Scalar::I64(1))?;
        let near = k.binary(Op::Add, round, column)?;
        let other = k.load(tile, [near])?;
        let next = k.binary(Op::Add, sum, other)?;
        k.set(sum, next)?;
        k.end()?;
        let even = k.binary(Op::BitwiseAnd, row, 1)?;
        let even = k.binary(Op::Equal, even, 0)?;
        k.if_(even)?;
        let own = k.load(own, [Scalar::I64(1)])?;
        let next = k.binary(Op::Multiply, sum, own)?;
        k.set(sum, next)?;
        k.else_()?;
        let late = k.binary(Op::Greater, column, 4)?;
        k.if_(late)?;
        let other = k.load(tile, [row])?;
        let next = k.binary(Op::Subtract, sum, other)?;
        k.set(sum, next)?;
        k.end()?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        k.store(out, global.clone(), sum)?;
        let far = k.binary(Op::Multiply, row, 1000)?;
        let far = k.binary(Op::Add, far, place)?;
        let all = k.binary(Op::Add, far, all)?;
        k.store(ids, global, all)
    })
}

#[test]
fn groups_by_several_rows() {
    for dtype in [Dtype::F32, Dtype::F64, Dtype::I16, Dtype::U8] {
        let mut rng = Rng(3);
        for (global, group) in SPACES {
            let kernel = everything(global.len(), dtype);
            let x = Array::random(dtype, global, &mut rng);
            let x = match rng.below(3) {
                0 => x.reversed(0),
                1 => x.reversed(global.len() - 1),
                _ => x,
            };
            let given = [
                Given::Array(x),
                Given::Array(Array::random(dtype, global, &mut rng)),
                Given::Array(Array::random(Dtype::I64, global, &mut rng)),
            ];
            let range = NdRange::in_groups(global, group).partial();
            assert_eq!(
                super::super::in_rows(&kernel, Space::new(&kernel, &range, 1024, 1 << 20).unwrap().group),
                {
                    let [.., rows, columns] = group else { unreachable!() };
                    *rows > 1 && [8, 16, 24, 32, 40, 64].contains(columns)
                }
            );
            same(&kernel, &range, &given, &format!("{global:?} in {group:?}"));
        }
    }
}

/// A window over an image that is brought to local memory with what is around it; beyond the image the edge counts.
fn windows(index: Dtype) -> Kernel {
    build("windows", 2, |k| {
        let (x, out) = (k.global("x", Dtype::F32, 2, false)?, k.global("out", Dtype::F32, 2, true)?);
        let tile = k.local("tile", Dtype::F32, &[40, 40])?;
        let mut id = |level, coordinate| -> stridewise_core::Result<Value> {
            let id = k.index(level, coordinate)?;
            k.cast(id, index)
        };
        let (row, column, i, j) =
            (id(Global, Id(0))?, id(Global, Id(1))?, id(Local, Id(0))?, id(Local, Id(1))?);
        let (down, right) = (id(Local, Range(0))?, id(Local, Range(1))?);
        let number = |n: i64| Scalar::I64(n).cast(index);
        let (rows, columns) = (k.extent(x, 0)?, k.extent(x, 1)?);
        let (rows, columns) = (k.cast(rows, index)?, k.cast(columns, index)?);
        let (last_row, last) =
            (k.binary(Op::Subtract, rows, number(1))?, k.binary(Op::Subtract, columns, number(1))?);
        let (top, left) = (k.binary(Op::Subtract, row, i)?, k.binary(Op::Subtract, column, j)?);
        let (top, left) = (k.binary(Op::Subtract, top, number(2))?, k.binary(Op::Subtract, left, number(2))?);
        let (high, wide) = (k.binary(Op::Add, down, number(4))?, k.binary(Op::Add, right, number(4))?);
        let y = k.for_(i, high, down)?;
        let v = k.for_(j, wide, right)?;
        let (from, to) = (k.binary(Op::Add, top, y)?, k.binary(Op::Add, left, v)?);
        let mut kept = [from, to];
        for (index, most) in kept.iter_mut().zip([last_row, last]) {
            *index = k.binary(Op::Maximum, *index, number(0))?;
            *index = k.binary(Op::Minimum, *index, most)?;
        }
        let element = k.load(x, kept)?;
        k.store(tile, [y, v], element)?;
        k.end()?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        let sum = k.variable("sum", Dtype::F32)?;
        k.set(sum, 0.0_f32)?;
        let y = k.for_(number(0), number(5), number(1))?;
        let v = k.for_(number(0), number(5), number(1))?;
        let (down, right) = (k.binary(Op::Add, i, y)?, k.binary(Op::Add, j, v)?);
        let element = k.load(tile, [down, right])?;
        let next = k.binary(Op::Add, sum, element)?;
        k.set(sum, next)?;
        k.end()?;
        k.end()?;
        k.store(out, [row, column], sum)
    })
}

#[test]
fn windows_with_edges() {
    for index in [Dtype::I64, Dtype::I32] {
        let (kernel, mut rng) = (windows(index), Rng(4));
        for (rows, columns, group) in
            [(40, 48, [16, 16]), (37, 29, [8, 8]), (70, 100, [4, 32]), (9, 7, [5, 3]), (1, 300, [1, 32])]
        {
            let image = Array::random(Dtype::F32, &[rows, columns], &mut rng);
            let given =
                [Given::Array(image), Given::Array(Array::random(Dtype::F32, &[rows, columns], &mut rng))];
            same(&kernel, &NdRange::in_groups(&[rows, columns], &group).partial(), &given, "windows");
        }
    }
}

/// Sums along a row and along a column of neighbours, of which those beyond the edge are the edge: in loops whose rounds
/// stay in registers, and outside of them; in either order, from above and from below.
#[test]
fn indices_kept_between_bounds() {
    for dtype in [Dtype::F32, Dtype::I64, Dtype::U8] {
        let kernel = build("near", 2, |k| {
            let (x, out) = (k.global("x", dtype, 2, false)?, k.global("out", dtype, 2, true)?);
            let marks = k.global("marks", dtype, 2, true)?;
            let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
            let (rows, columns) = (k.extent(x, 0)?, k.extent(x, 1)?);
            let (last_row, last) = (k.binary(Op::Subtract, rows, 1)?, k.binary(Op::Subtract, columns, 1)?);
            let sum = k.variable("sum", dtype)?;
            k.set(sum, Scalar::I32(0).cast(dtype))?;
            for axis in 0..2 {
                let round = k.for_(Scalar::I64(-4), Scalar::I64(5), Scalar::I64(1))?;
                let mut at = [i, j];
                let moved = k.binary(Op::Add, at[axis], round)?;
                at[axis] = between(k, moved, 0, [last_row, last][axis])?;
                let element = k.load(x, at)?;
                let next = k.binary(Op::Add, sum, element)?;
                k.set(sum, next)?;
                k.end()?;
            }
            let back = k.binary(Op::Subtract, last, j)?;
            let back = k.binary(Op::Minimum, 20, back)?;
            let back = k.binary(Op::Maximum, back, 3)?;
            // Beyond what an array has, too, and between bounds that are the wrong way around.
            let far = k.binary(Op::Multiply, j, 2)?;
            let far = between(k, far, -3, columns)?;
            let odd = k.binary(Op::Maximum, j, last)?;
            let odd = k.binary(Op::Minimum, odd, 7)?;
            for index in [back, far, odd] {
                let element = k.load(x, [i, index])?;
                let next = k.binary(Op::Subtract, sum, element)?;
                k.set(sum, next)?;
            }
            k.store(marks, [i, back], Scalar::I32(1).cast(dtype))?;
            k.store(out, [i, j], sum)
        });
        let mut rng = Rng(9);
        for (rows, columns) in [(1, 1), (5, 7), (9, 128), (20, 300), (3, 257)] {
            let x = Array::random(dtype, &[rows, columns], &mut rng);
            let x = if rng.below(2) == 0 { x.reversed(1) } else { x };
            let mut out = || Given::Array(Array::random(dtype, &[rows, columns], &mut rng));
            let given = [Given::Array(x), out(), out()];
            same(&kernel, &NdRange::of(&[rows, columns]), &given, "near");
        }
    }
}

/// Sums at places that are kept between bounds, in groups of several rows, by some of the items and by all.
#[test]
fn sums_at_places_between_bounds() {
    for dtype in [Dtype::I32, Dtype::U64] {
        let kernel = build("sums", 2, |k| {
            let (x, out) = (k.global("x", dtype, 2, false)?, k.global("out", dtype, 1, true)?);
            let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
            let own = k.index(Local, Id(1))?;
            let value = k.load(x, [i, j])?;
            let most = k.get(Scalar::I64(11))?;
            let near = between(k, own, 4, most)?;
            k.atomic(AtomicOp::Add, out, [near], Some(value.into()), ORDER)?;
            let place = k.cast(value, Dtype::I64)?;
            let place = k.binary(Op::Remainder, place, 20)?;
            k.atomic(AtomicOp::Add, out, [place], Some(Scalar::I32(3).cast(dtype).into()), ORDER)?;
            k.barrier(Fence::BOTH);
            let some = k.binary(Op::Less, j, 21)?;
            k.if_(some)?;
            k.atomic(AtomicOp::Add, out, [place], Some(value.into()), ORDER)?;
            k.end()
        });
        let mut rng = Rng(12);
        for (global, group) in [([32, 32], [16, 16]), ([10, 50], [4, 8]), ([7, 150], [2, 75])] {
            let given = [
                Given::Array(Array::random(dtype, &global, &mut rng)),
                Given::Array(Array::random(dtype, &[16], &mut rng)),
            ];
            same(&kernel, &NdRange::in_groups(&global, &group).partial(), &given, "sums");
        }
    }
}
