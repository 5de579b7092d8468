//! Well-known programs whose items meet, go through loops of different lengths, or gather.

use stridewise_core::Op;
use stridewise_core::kernel::{AtomicOp, Coordinate::*, Fence, Level::*, MemoryOrder, MemoryScope, NdRange};

use super::kernels::build;
use super::*;

const ORDER: (MemoryOrder, MemoryScope) = (MemoryOrder::Relaxed, MemoryScope::Device);

/// The exclusive scan of each group's elements, two for each item, by a tree in local memory.
pub(super) fn scan() -> Kernel {
    build("scan", 1, |k| {
        let (a, ends) = (k.global("a", Dtype::U32, 1, true)?, k.global("ends", Dtype::U32, 1, true)?);
        let tile = k.local_argument("tile", Dtype::U32, 1)?;
        let (j, n, group) = (k.index(Local, Id(0))?, k.index(Local, Range(0))?, k.index(Group, Id(0))?);
        let twice = k.binary(Op::Multiply, n, 2_i64)?;
        let (start, own) = (k.binary(Op::Multiply, group, twice)?, k.binary(Op::Multiply, j, 2_i64)?);
        for further in 0..2_i64 {
            let to = k.binary(Op::Add, own, further)?;
            let from = k.binary(Op::Add, start, to)?;
            let value = k.load(a, [from])?;
            k.store(tile, [to], value)?;
        }
        let (offset, active) = (k.variable("offset", Dtype::I64)?, k.variable("active", Dtype::I64)?);
        k.set(offset, 1_i64)?;
        k.set(active, n)?;
        for up in [true, false] {
            k.while_()?;
            let more = match up {
                true => k.binary(Op::Greater, active, 0_i64)?,
                false => k.binary(Op::LessEqual, active, n)?,
            };
            k.do_(more)?;
            if !up {
                let half = k.binary(Op::FloorDivide, offset, 2_i64)?;
                k.set(offset, half)?;
            }
            k.barrier(Fence::LOCAL);
            let is_active = k.binary(Op::Less, j, active)?;
            k.if_(is_active)?;
            let (odd, even) = (k.binary(Op::Add, own, 1_i64)?, k.binary(Op::Add, own, 2_i64)?);
            let (low, high) = (k.binary(Op::Multiply, offset, odd)?, k.binary(Op::Multiply, offset, even)?);
            let (low, high) = (k.binary(Op::Subtract, low, 1_i64)?, k.binary(Op::Subtract, high, 1_i64)?);
            let before = k.load(tile, [low])?;
            if !up {
                let other = k.load(tile, [high])?;
                k.store(tile, [low], other)?;
            }
            let there = k.load(tile, [high])?;
            let sum = k.binary(Op::Add, there, before)?;
            k.store(tile, [high], sum)?;
            k.end()?;
            let (x, y, op) = match up {
                true => (offset, active, Op::FloorDivide),
                false => (active, active, Op::Multiply),
            };
            if up {
                let next = k.binary(Op::Multiply, x, 2_i64)?;
                k.set(x, next)?;
            }
            let next = k.binary(op, y, 2_i64)?;
            k.set(y, next)?;
            k.end()?;
            k.barrier(Fence::LOCAL);
            if up {
                let first = k.binary(Op::Equal, j, 0_i64)?;
                k.if_(first)?;
                let last = k.binary(Op::Subtract, twice, 1_i64)?;
                let sum = k.load(tile, [last])?;
                k.store(ends, [group], sum)?;
                k.store(tile, [last], 0_u32)?;
                k.end()?;
                k.set(active, 1_i64)?;
            }
        }
        for further in 0..2_i64 {
            let from = k.binary(Op::Add, own, further)?;
            let to = k.binary(Op::Add, start, from)?;
            let value = k.load(tile, [from])?;
            k.store(a, [to], value)?;
        }
        Ok(())
    })
}

/// A product of a sparse matrix by rows and a vector.
pub(super) fn sparse() -> Kernel {
    build("sparse", 1, |k| {
        let (starts, columns) =
            (k.global("starts", Dtype::I64, 1, false)?, k.global("columns", Dtype::I32, 1, false)?);
        let (values, x) = (k.global("values", Dtype::F64, 1, false)?, k.global("x", Dtype::F64, 1, false)?);
        let (y, sum) = (k.global("y", Dtype::F64, 1, true)?, k.variable("sum", Dtype::F64)?);
        let i = k.index(Global, Id(0))?;
        k.set(sum, 0.0_f64)?;
        let next = k.binary(Op::Add, i, 1_i64)?;
        let (start, end) = (k.load(starts, [i])?, k.load(starts, [next])?);
        let at = k.for_(start, end, 1_i64)?;
        let (value, column) = (k.load(values, [at])?, k.load(columns, [at])?);
        let other = k.load(x, [column])?;
        let term = k.binary(Op::Multiply, value, other)?;
        let next = k.binary(Op::Add, sum, term)?;
        k.set(sum, next)?;
        k.end()?;
        k.store(y, [i], sum)
    })
}

/// Where the rows of a sparse matrix start, and the column of each element.
pub(super) fn rows_of(rows: usize) -> [Given; 2] {
    let mut rng = Rng(5);
    let mut starts = vec![0_usize];
    for row in 0..rows {
        starts.push(starts[row] + rng.below(33));
    }
    let columns = Array::new(Dtype::I32, &[starts[rows].max(1)], |_| Scalar::I32(rng.below(rows) as i32));
    let starts = Array::new(Dtype::I64, &[rows + 1], |row| Scalar::I64(starts[row] as i64));
    [Given::Array(starts), Given::Array(columns)]
}

/// The nearest centre of each point, and what the centres' means are made of, summed by each group first.
pub(super) fn nearest(dtype: Dtype) -> Kernel {
    build("nearest", 1, |k| {
        let (points, centres) = (k.global("points", dtype, 2, false)?, k.global("centres", dtype, 2, false)?);
        let (label, sums) = (k.global("label", Dtype::I32, 1, true)?, k.global("sums", dtype, 2, true)?);
        let (own_sums, group) = (k.local("own sums", dtype, &[5, 2])?, k.index(Group, Id(0))?);
        let (i, j) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let axes = [k.get(Scalar::I64(0))?, k.get(Scalar::I64(1))?];
        let few = k.binary(Op::Less, j, 5_i64)?;
        k.if_(few)?;
        for axis in axes {
            k.store(own_sums, [j, axis], Scalar::I32(0).cast(dtype))?;
        }
        k.end()?;
        k.barrier(Fence::LOCAL);
        let many = k.extent(points, 0)?;
        let exists = k.binary(Op::Less, i, many)?;
        k.if_(exists)?;
        let (distances, best) = (k.private("distances", dtype, &[5])?, k.variable("best", Dtype::I64)?);
        k.set(best, 0_i64)?;
        let centre = k.for_(0_i64, 5_i64, 1_i64)?;
        let mut square = None;
        for axis in axes {
            let (x, y) = (k.load(points, [i, axis])?, k.load(centres, [centre, axis])?);
            let apart = k.binary(Op::Subtract, x, y)?;
            let own = k.binary(Op::Multiply, apart, apart)?;
            square = Some(match square {
                None => own,
                Some(before) => k.binary(Op::Add, before, own)?,
            });
        }
        k.store(distances, [centre], square.unwrap())?;
        let (here, least) = (k.load(distances, [centre])?, k.load(distances, [best])?);
        let nearer = k.binary(Op::Less, here, least)?;
        k.if_(nearer)?;
        k.set(best, centre)?;
        k.end()?;
        k.end()?;
        let narrow = k.cast(best, Dtype::I32)?;
        k.store(label, [i], narrow)?;
        let axis = k.for_(0_i64, 2_i64, 1_i64)?;
        let point = k.load(points, [i, axis])?;
        let best = k.get(best)?;
        k.atomic(AtomicOp::Add, own_sums, [best, axis], Some(point.into()), ORDER)?;
        k.end()?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        k.if_(few)?;
        let before = k.binary(Op::Multiply, group, 5_i64)?;
        let at = k.binary(Op::Add, before, j)?;
        for axis in axes {
            let sum = k.load(own_sums, [j, axis])?;
            k.atomic(AtomicOp::Add, sums, [at, axis], Some(sum.into()), ORDER)?;
        }
        k.end()
    })
}

/// Each group's block of 16 rows as a product of two triangular ones, without exchanging rows.
pub(super) fn triangles() -> Kernel {
    build("triangles", 2, |k| {
        let (a, out) = (k.global("a", Dtype::F64, 2, false)?, k.global("out", Dtype::F64, 2, true)?);
        let tile = k.local("tile", Dtype::F64, &[16, 16])?;
        let row = k.index(Global, Id(0))?;
        let (i, j) = (k.index(Local, Id(0))?, k.index(Local, Id(1))?);
        let element = k.load(a, [row, j])?;
        k.store(tile, [i, j], element)?;
        let round = k.for_(0_i64, 15_i64, 1_i64)?;
        k.barrier(Fence::LOCAL);
        let (below, here) = (k.binary(Op::Greater, i, round)?, k.binary(Op::Equal, j, round)?);
        let both = k.binary(Op::LogicalAnd, below, here)?;
        k.if_(both)?;
        let (element, first) = (k.load(tile, [i, round])?, k.load(tile, [round, round])?);
        let factor = k.binary(Op::Divide, element, first)?;
        k.store(tile, [i, round], factor)?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        let right = k.binary(Op::Greater, j, round)?;
        let both = k.binary(Op::LogicalAnd, below, right)?;
        k.if_(both)?;
        let (x, y, z) = (k.load(tile, [i, j])?, k.load(tile, [i, round])?, k.load(tile, [round, j])?);
        let term = k.binary(Op::Multiply, y, z)?;
        let rest = k.binary(Op::Subtract, x, term)?;
        k.store(tile, [i, j], rest)?;
        k.end()?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        let element = k.load(tile, [i, j])?;
        k.store(out, [row, j], element)
    })
}

fn random(dtype: Dtype, shape: &[usize]) -> Given {
    Given::Array(Array::random(dtype, shape, &mut Rng(9)))
}

/// Numbers whose sums depend on their order.
fn finite(dtype: Dtype, shape: &[usize]) -> Given {
    let mut rng = Rng(33);
    let mut number = move |_| (rng.below(1 << 20) as f64 / 7.0 - 5e4) * 10_f64.powi(rng.below(6) as i32);
    Given::Array(Array::new(dtype, shape, |at| Scalar::F64(number(at)).cast(dtype)))
}

#[test]
fn scans_by_trees() {
    for group in [1, 2, 8, 16, 64, 128, 256, 512] {
        let given =
            [random(Dtype::U32, &[6 * group]), random(Dtype::U32, &[3]), Given::Local(vec![2 * group])];
        same(&scan(), &NdRange::in_groups(&[3 * group], &[group]), &given, "scan");
    }
}

#[test]
fn sparse_products() {
    for rows in [1, 7, 100, 129, 1000] {
        let [starts, columns] = rows_of(rows);
        let Given::Array(Array { shape, .. }) = &columns else { unreachable!() };
        let values = random(Dtype::F64, &shape.clone());
        let given = [starts, columns, values, random(Dtype::F64, &[rows]), random(Dtype::F64, &[rows])];
        same(&sparse(), &NdRange::of(&[rows]), &given, "sparse");
    }
}

#[test]
fn nearest_centres() {
    for dtype in [Dtype::F32, Dtype::F64] {
        for (points, group) in [(700, 64), (64, 100), (2000, 256), (1000, 300), (3000, 1024)] {
            let groups = usize::div_ceil(points, group);
            let given = [
                finite(dtype, &[points, 2]),
                finite(dtype, &[5, 2]),
                random(Dtype::I32, &[points]),
                finite(dtype, &[groups * 5, 2]),
            ];
            same(&nearest(dtype), &NdRange::in_groups(&[groups * group], &[group]), &given, "nearest");
        }
    }
}

/// Sums of floats that items add to, in local and in global memory, straight and in loops of different lengths: in the order that the
/// interpreter has.
#[test]
fn sums_of_floats_in_their_order() {
    for dtype in [Dtype::F32, Dtype::F64] {
        let kernel = build("sums", 1, |k| {
            let (x, sums) = (k.global("x", dtype, 1, false)?, k.global("sums", dtype, 1, true)?);
            let rounds = k.global("rounds", Dtype::I32, 1, false)?;
            let own = k.local("own", dtype, &[4])?;
            let (i, j) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
            let group = k.index(Group, Id(0))?;
            let few = k.binary(Op::Less, j, 4_i64)?;
            k.if_(few)?;
            k.store(own, [j], Scalar::I32(0).cast(dtype))?;
            k.end()?;
            k.barrier(Fence::LOCAL);
            let (value, many) = (k.load(x, [i])?, k.load(rounds, [i])?);
            let place = k.binary(Op::BitwiseAnd, i, 3_i64)?;
            let round = k.for_(0, many, 1)?;
            let place_too = k.cast(round, Dtype::I64)?;
            k.atomic(AtomicOp::Add, own, [place], Some(value.into()), ORDER)?;
            k.atomic(AtomicOp::Add, own, [place_too], Some(value.into()), ORDER)?;
            k.atomic(AtomicOp::Add, sums, [group], Some(value.into()), ORDER)?;
            k.end()?;
            let before = k.atomic(AtomicOp::Add, sums, [group], Some(value.into()), ORDER)?;
            k.atomic(AtomicOp::Maximum, own, [place], Some(before.into()), ORDER)?;
            k.barrier(Fence::LOCAL);
            let one = k.load(own, [place])?;
            k.atomic(AtomicOp::Add, sums, [group], Some(one.into()), ORDER).map(|_| ())
        });
        let mut rng = Rng(21);
        for (items, group) in [(64, 64), (700, 100), (1000, 256), (1200, 300), (3000, 1024), (640, 129)] {
            let groups = usize::div_ceil(items, group);
            let rounds = Array::new(Dtype::I32, &[items], |_| Scalar::I32(rng.below(4) as i32));
            let given = [finite(dtype, &[items]), finite(dtype, &[groups]), Given::Array(rounds)];
            same(&kernel, &NdRange::in_groups(&[items], &[group]).partial(), &given, "sums");
        }
    }
}

/// The same without groups, in which each 256 items have an element.
#[test]
fn sums_of_floats_of_rows_in_their_order() {
    let kernel = build("sums", 1, |k| {
        let (x, sums) = (k.global("x", Dtype::F32, 1, false)?, k.global("sums", Dtype::F32, 1, true)?);
        let i = k.index(Global, Id(0))?;
        let (at, value) = (k.binary(Op::FloorDivide, i, 256_i64)?, k.load(x, [i])?);
        k.atomic(AtomicOp::Add, sums, [at], Some(value.into()), ORDER)?;
        k.atomic(AtomicOp::Add, sums, [at], Some(value.into()), ORDER).map(|_| ())
    });
    for items in [1_usize, 100, 256, 1000, 10_000] {
        let given = [finite(Dtype::F32, &[items]), finite(Dtype::F32, &[items.div_ceil(256)])];
        same(&kernel, &NdRange::of(&[items]), &given, "sums of rows");
    }
}

#[test]
fn triangular_blocks() {
    let given = [random(Dtype::F64, &[48, 16]), random(Dtype::F64, &[48, 16])];
    same(&triangles(), &NdRange::in_groups(&[48, 16], &[16, 16]), &given, "triangles");
}
