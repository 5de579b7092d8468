//! Kernels whose items share local memory and meet, and atomic accesses.

use stridewise_core::Op;
use stridewise_core::kernel::{
    AtomicOp, Coordinate::*, Fence, KernelBuilder, Level::*, MemoryOrder, MemoryScope, Operand,
};

use super::kernels::build;
use super::*;

const ORDER: (MemoryOrder, MemoryScope) = (MemoryOrder::Relaxed, MemoryScope::Device);

fn ints(len: usize, element: impl Fn(usize) -> i32) -> Given {
    Given::Array(Array::new(Dtype::I32, &[len], |i| Scalar::I32(element(i))))
}

/// `out[j, i] = in[i, j]`, by squares of local memory of which the launch says how large they are.
pub(super) fn transpose(dtype: Dtype) -> Kernel {
    build("transpose", 2, |k| {
        let (x, out) = (k.global("x", dtype, 2, false)?, k.global("out", dtype, 2, true)?);
        let tile = k.local_argument("tile", dtype, 2)?;
        let ids = [Global, Local, Group].map(|level| [0, 1].map(|axis| k.index(level, Id(axis))));
        let [[i, j], [row, column], [group_row, group_column]] = ids;
        let (row, column, width) = (row?, column?, k.index(Local, Range(1))?);
        let value = k.load(x, [i?, j?])?;
        k.store(tile, [row, column], value)?;
        k.barrier(Fence::LOCAL);
        let (down, right) =
            (k.binary(Op::Multiply, group_column?, width)?, k.binary(Op::Multiply, group_row?, width)?);
        let (down, right) = (k.binary(Op::Add, down, row)?, k.binary(Op::Add, right, column)?);
        let value = k.load(tile, [column, row])?;
        k.store(out, [down, right], value)
    })
}

#[test]
fn transposed_by_tiles() {
    for dtype in [Dtype::F32, Dtype::U8, Dtype::I64] {
        let kernel = transpose(dtype);
        let mut rng = Rng(5);
        for (edge, rows, columns) in [(8, 24, 40), (16, 16, 48), (1, 3, 5), (32, 64, 32), (5, 10, 15)] {
            let given = [
                Given::Array(Array::random(dtype, &[rows, columns], &mut rng)),
                Given::Array(Array::random(dtype, &[columns, rows], &mut rng)),
                Given::Local(vec![edge, edge + 1]),
            ];
            same(&kernel, &NdRange::in_groups(&[rows, columns], &[edge, edge]), &given, "transpose");
        }
    }
}

/// Each group's sum, by halves; the loop counts down, or up, or asks each item.
fn sums(dtype: Dtype, way: usize) -> Kernel {
    build("sums", 1, |k| {
        let (x, out) = (k.global("x", dtype, 1, false)?, k.global("out", dtype, 1, true)?);
        let (half, rounds) = (k.scalar("half", Dtype::I64)?, k.scalar("rounds", Dtype::I64)?);
        let tile = k.local("tile", dtype, &[1024])?;
        let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let (many, group) = (k.index(Local, Range(0))?, k.index(Group, Id(0))?);
        let value = k.load(x, [i])?;
        k.store(tile, [own], value)?;
        k.barrier(Fence::LOCAL);
        let stride = k.variable("stride", Dtype::I64)?;
        k.set(stride, half)?;
        if way == 0 {
            k.while_()?;
            let more = k.binary(Op::Greater, stride, 0)?;
            k.do_(more)?;
        } else {
            k.for_(0, rounds, 1)?;
        }
        let other = k.binary(Op::Add, own, stride)?;
        let (adds, exists) = (k.binary(Op::Less, own, stride)?, k.binary(Op::Less, other, many)?);
        let both = k.binary(Op::BitwiseAnd, adds, exists)?;
        k.if_(both)?;
        let (a, b) = (k.load(tile, [own])?, k.load(tile, [other])?);
        let sum = k.binary(Op::Add, a, b)?;
        k.store(tile, [own], sum)?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        let next = k.binary(Op::FloorDivide, stride, 2)?;
        k.set(stride, next)?;
        if way == 2 {
            let done = k.binary(Op::Equal, stride, 0)?;
            k.if_(done)?;
            k.break_();
            k.end()?;
        }
        k.end()?;
        let first = k.binary(Op::Equal, own, 0)?;
        k.if_(first)?;
        let sum = k.load(tile, [own])?;
        k.store(out, [group], sum)?;
        k.end()
    })
}

#[test]
fn sums_of_groups() {
    for dtype in [Dtype::F32, Dtype::I32, Dtype::F64, Dtype::I16] {
        for way in 0..3 {
            let kernel = sums(dtype, way);
            let mut rng = Rng(11);
            for (len, group) in
                [(1, 1), (9, 1), (64, 8), (1000, 100), (1000, 128), (1000, 129), (3000, 1024), (700, 512)]
            {
                let half = (group as u64).next_power_of_two().max(2) as i64 / 2;
                let given = [
                    Given::Array(Array::random(dtype, &[len], &mut rng)),
                    Given::Array(Array::random(dtype, &[len.div_ceil(group)], &mut rng)),
                    Given::Scalar(Scalar::I64(half)),
                    Given::Scalar(Scalar::I64(if way == 2 { 100 } else { 10 })),
                ];
                same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "sums");
            }
        }
    }
}

/// Running sums of each group: what an item has read lives on from one barrier to the next.
#[test]
fn running_sums_of_groups() {
    let kernel = build("scan", 1, |k| {
        let (x, out) = (k.global("x", Dtype::F32, 1, false)?, k.global("out", Dtype::F32, 1, true)?);
        let tile = k.local_argument("tile", Dtype::F32, 1)?;
        let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let (many, distance) = (k.index(Local, Range(0))?, k.variable("distance", Dtype::I64)?);
        let value = k.load(x, [i])?;
        k.store(tile, [own], value)?;
        k.barrier(Fence::LOCAL);
        k.set(distance, Scalar::I64(1))?;
        k.while_()?;
        let more = k.binary(Op::Less, distance, many)?;
        k.do_(more)?;
        let before = k.binary(Op::Subtract, own, distance)?;
        let exists = k.binary(Op::GreaterEqual, before, 0)?;
        let near = k.load(tile, [before])?;
        let sum = k.variable("sum", Dtype::F32)?;
        let value = k.load(tile, [own])?;
        k.set(sum, value)?;
        k.if_(exists)?;
        let next = k.binary(Op::Add, near, value)?;
        k.set(sum, next)?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        k.store(tile, [own], sum)?;
        k.barrier(Fence::LOCAL);
        let next = k.binary(Op::Multiply, distance, 2)?;
        k.set(distance, next)?;
        k.end()?;
        let value = k.load(tile, [own])?;
        k.store(out, [i], value)
    });
    let mut rng = Rng(2);
    for (len, group) in [(1, 1), (20, 3), (1000, 64), (1000, 130), (2100, 1000)] {
        let mut array = || Given::Array(Array::random(Dtype::F32, &[len], &mut rng));
        let given = [array(), array(), Given::Local(vec![group])];
        same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "scan");
    }
}

/// Counts, of each group in local memory, then of all.
#[test]
fn counts_by_atomics() {
    for dtype in [Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64] {
        for index in [Dtype::I64, Dtype::I32, Dtype::U8, Dtype::U64] {
            let kernel = build("counts", 1, |k| {
                let (x, out) = (k.global("x", index, 1, false)?, k.global("out", dtype, 1, true)?);
                let counts = k.local("counts", dtype, &[20])?;
                let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
                let many = k.index(Local, Range(0))?;
                let zero = k.for_(own, Scalar::I64(20), many)?;
                k.store(counts, [zero], Scalar::I32(0).cast(dtype))?;
                k.end()?;
                k.barrier(Fence::LOCAL);
                let bin = k.load(x, [i])?;
                let one = Scalar::I32(1).cast(dtype);
                k.atomic(AtomicOp::Add, counts, [bin], Some(one.into()), ORDER)?;
                k.barrier(Fence::LOCAL);
                let bin = k.for_(own, Scalar::I64(20), many)?;
                let count = k.load(counts, [bin])?;
                k.atomic(AtomicOp::Add, out, [bin], Some(count.into()), ORDER)?;
                k.end()
            });
            let mut rng = Rng(8);
            for (len, group) in [(1, 1), (50, 7), (5000, 128), (5000, 300), (4096, 1024)] {
                // Some are out of range, and not counted.
                let bins = Array::new(index, &[len], |_| Scalar::I64(rng.below(25) as i64 - 2).cast(index));
                let before = Array::new(dtype, &[20], |i| Scalar::I64(i as i64).cast(dtype));
                let given = [Given::Array(bins), Given::Array(before)];
                same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "counts");
            }
        }
    }
}

/// All operations whose order does not count, on arrays that all groups share, also without groups, from
/// items that have parted.
#[test]
fn atomics_of_all_groups() {
    let ops = [
        AtomicOp::Add,
        AtomicOp::Subtract,
        AtomicOp::Minimum,
        AtomicOp::Maximum,
        AtomicOp::And,
        AtomicOp::Or,
        AtomicOp::Xor,
    ];
    for dtype in [Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64] {
        let kernel = build("all", 2, |k| {
            let (x, out) = (k.global("x", dtype, 2, false)?, k.global("out", dtype, 2, true)?);
            let fixed = k.global("fixed", dtype, 2, true)?;
            let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
            let value = k.load(x, [i, j])?;
            let twice = k.binary(Op::Multiply, j, 2)?;
            let part = k.binary(Op::BitwiseAnd, value, Scalar::I32(3).cast(dtype))?;
            let place = k.cast(part, Dtype::I64)?;
            let some = k.binary(Op::NotEqual, part, Scalar::I32(2).cast(dtype))?;
            for (row, op) in ops.into_iter().enumerate() {
                let row = Scalar::I64(row as i64);
                k.if_(some)?;
                // By lanes, by ids, and by what is one for all; out of range, too.
                k.atomic(op, out, [row.into(), Operand::from(place)], Some(value.into()), ORDER)?;
                k.atomic(op, fixed, [row.into(), Operand::from(twice)], Some(value.into()), ORDER)?;
                k.end()?;
                let one = Scalar::I64(5).cast(dtype);
                k.atomic(op, out, [row, Scalar::I64(4)], Some(one.into()), ORDER)?;
            }
            Ok(())
        });
        let mut rng = Rng(31);
        for (rows, columns) in [(1, 1), (4, 9), (3, 300), (40, 140)] {
            let mut array = |shape: &[usize]| Given::Array(Array::random(dtype, shape, &mut rng));
            let given = [array(&[rows, columns]), array(&[7, 5]), array(&[7, 90])];
            same(&kernel, &NdRange::of(&[rows, columns]), &given, "atomics");
            same(&kernel, &NdRange::in_groups(&[rows, columns], &[3, 20]).partial(), &given, "in groups");
        }
    }
}

/// What was there before an access is what the items before have left: of a group, in their order.
#[test]
fn results_of_atomics_on_local_memory() {
    for dtype in [Dtype::I32, Dtype::U64] {
        let kernel = build("results", 1, |k| {
            let (x, out) = (k.global("x", dtype, 1, false)?, k.global("out", dtype, 2, true)?);
            let cells = k.local("cells", dtype, &[3])?;
            let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
            let value = k.load(x, [i])?;
            k.store(cells, [own], Scalar::I32(7).cast(dtype))?;
            k.barrier(Fence::LOCAL);
            let place = k.binary(Op::BitwiseAnd, value, Scalar::I32(3).cast(dtype))?;
            let expected = k.binary(Op::BitwiseAnd, value, Scalar::I32(7).cast(dtype))?;
            for (column, op) in [
                AtomicOp::Exchange,
                AtomicOp::CompareExchange { expected },
                AtomicOp::Add,
                AtomicOp::Maximum,
                AtomicOp::Load,
                AtomicOp::Store,
                AtomicOp::Load,
            ]
            .into_iter()
            .enumerate()
            {
                let operand = (op != AtomicOp::Load).then_some(Operand::from(value));
                let before = k.atomic(op, cells, [place], operand, ORDER)?;
                k.barrier(Fence::LOCAL);
                if op != AtomicOp::Store {
                    k.store(out, [i.into(), Operand::from(Scalar::I64(column as i64))], before)?;
                }
            }
            Ok(())
        });
        let mut rng = Rng(77);
        for (len, group) in [(3, 3), (5, 2), (1000, 100), (3000, 1000)] {
            let given = [
                Given::Array(Array::new(dtype, &[len], |_| Scalar::I64(rng.below(8) as i64).cast(dtype))),
                Given::Array(Array::new(dtype, &[len, 7], |_| Scalar::I32(9).cast(dtype))),
            ];
            same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "results");
        }
    }
}

/// `out[i] = in[i - 1] + in[i] + in[i + 1]`, of which the group's ends are loaded by its first and last
/// items; those beyond the end leave behind the barrier.
#[test]
fn blurs_with_a_border_in_local_memory() {
    let kernel = build("blur", 1, |k| {
        let (x, out) = (k.global("x", Dtype::F64, 1, false)?, k.global("out", Dtype::F64, 1, true)?);
        let (n, tile) = (k.scalar("n", Dtype::I64)?, k.local("tile", Dtype::F64, &[514])?);
        let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let many = k.index(Local, Range(0))?;
        let (here, value) = (k.binary(Op::Add, own, 1)?, k.load(x, [i])?);
        k.store(tile, [here], value)?;
        for (at, step, to) in [(Scalar::I64(0), -1, 0), (Scalar::I64(1), 1, 1)] {
            let last = k.binary(Op::Subtract, many, 1)?;
            let end = if to == 0 { k.get(at)? } else { last };
            let is_end = k.binary(Op::Equal, own, end)?;
            k.if_(is_end)?;
            let (near, place) =
                (k.binary(Op::Add, i, Scalar::I64(step))?, k.binary(Op::Add, here, Scalar::I64(step))?);
            let value = k.load(x, [near])?;
            k.store(tile, [place], value)?;
            k.end()?;
        }
        k.barrier(Fence::LOCAL);
        let beyond = k.binary(Op::GreaterEqual, i, n)?;
        k.if_(beyond)?;
        k.return_(None)?;
        k.end()?;
        let after = k.binary(Op::Add, here, 1)?;
        let (a, b, c) = (k.load(tile, [own])?, k.load(tile, [here])?, k.load(tile, [after])?);
        let sum = k.binary(Op::Add, a, b)?;
        let sum = k.binary(Op::Add, sum, c)?;
        k.store(out, [i], sum)
    });
    let mut rng = Rng(4);
    for (len, group) in [(1, 1), (5, 2), (300, 64), (1000, 130), (1024, 512)] {
        for n in [0, len / 2, len] {
            let mut array = || Given::Array(Array::random(Dtype::F64, &[len], &mut rng));
            let given = [array(), array(), Given::Scalar(Scalar::I64(n as i64))];
            same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "blur");
        }
    }
}

/// `out = a · b` by tiles of both in local memory.
pub(super) fn tiles(dtype: Dtype) -> Kernel {
    build("tiles", 2, |k| {
        let (a, b) = (k.global("a", dtype, 2, false)?, k.global("b", dtype, 2, false)?);
        let out = k.global("out", dtype, 2, true)?;
        let (left, right) = (k.local("left", dtype, &[32, 32])?, k.local("right", dtype, &[32, 32])?);
        let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
        let (row, column) = (k.index(Local, Id(0))?, k.index(Local, Id(1))?);
        let (edge, end) = (k.index(Local, Range(0))?, k.extent(a, 1)?);
        let sum = k.variable("sum", dtype)?;
        k.set(sum, Scalar::I32(0).cast(dtype))?;
        let first = k.for_(Scalar::I64(0), end, edge)?;
        let (across, down) = (k.binary(Op::Add, first, column)?, k.binary(Op::Add, first, row)?);
        let (x, y) = (k.load(a, [i, across])?, k.load(b, [down, j])?);
        k.store(left, [row, column], x)?;
        k.store(right, [row, column], y)?;
        k.barrier(Fence::LOCAL);
        let round = k.for_(Scalar::I64(0), edge, Scalar::I64(1))?;
        let (x, y) = (k.load(left, [row, round])?, k.load(right, [round, column])?);
        let term = k.binary(Op::Multiply, x, y)?;
        let next = k.binary(Op::Add, sum, term)?;
        k.set(sum, next)?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        k.end()?;
        k.store(out, [i, j], sum)
    })
}

#[test]
fn products_by_tiles() {
    for dtype in [Dtype::F32, Dtype::I32, Dtype::F16] {
        let kernel = tiles(dtype);
        let mut rng = Rng(6);
        for (edge, rows, depth, columns) in [(1, 2, 3, 4), (4, 8, 12, 4), (16, 32, 48, 64), (32, 32, 64, 32)]
        {
            let mut array = |shape: &[usize]| Given::Array(Array::random(dtype, shape, &mut rng));
            let given = [array(&[rows, depth]), array(&[depth, columns]), array(&[rows, columns])];
            same(&kernel, &NdRange::in_groups(&[rows, columns], &[edge, edge]), &given, "tiles");
        }
    }
}

/// Groups of all shapes, last ones that are smaller along several axes, and private arrays and values that
/// live on behind barriers.
#[test]
fn groups_of_any_shape() {
    let kernel = build("shape", 3, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 3, false)?, k.global("out", Dtype::I32, 3, true)?);
        let (tile, own) = (k.local("tile", Dtype::I32, &[1024])?, k.private("own", Dtype::I32, &[3])?);
        let place = [k.index(Global, Id(0))?, k.index(Global, Id(1))?, k.index(Global, Id(2))?];
        let (linear, value) = (k.index(Local, LinearId)?, k.load(x, place)?);
        let (items, all) = (k.variable("items", Dtype::I64)?, k.get(Scalar::I64(1))?);
        k.set(items, all)?;
        for axis in 0..3 {
            let many = k.index(Local, Range(axis))?;
            let next = k.binary(Op::Multiply, items, many)?;
            k.set(items, next)?;
        }
        k.store(own, [Scalar::I64(1)], value)?;
        k.store(tile, [linear], value)?;
        k.barrier(Fence::BOTH);
        let last = k.binary(Op::Subtract, items, linear)?;
        let last = k.binary(Op::Subtract, last, 1)?;
        let other = k.load(tile, [last])?;
        k.store(own, [Scalar::I64(2)], other)?;
        k.barrier(Fence::LOCAL);
        let sum = k.binary(Op::Multiply, other, 3)?;
        k.store(tile, [linear], sum)?;
        k.barrier(Fence::LOCAL);
        let sum = k.load(tile, [last])?;
        for at in 0..3 {
            let own = k.load(own, [Scalar::I64(at)])?;
            let next = k.load(out, place)?;
            let next = k.binary(Op::Multiply, next, 31)?;
            let next = k.binary(Op::Add, next, own)?;
            k.store(out, place, next)?;
        }
        let next = k.load(out, place)?;
        let next = k.binary(Op::Add, next, sum)?;
        k.store(out, place, next)
    });
    let mut rng = Rng(21);
    for (global, group) in [
        ([1, 1, 1], [1, 1, 1]),
        ([3, 5, 7], [1, 1, 1]),
        ([3, 5, 7], [2, 3, 4]),
        ([2, 3, 300], [1, 2, 200]),
        ([9, 40, 2], [2, 30, 1]),
        ([4, 4, 150], [2, 2, 150]),
        ([33, 33, 1], [32, 32, 1]),
    ] {
        let mut array = || Given::Array(Array::random(Dtype::I32, &global, &mut rng));
        let given = [array(), array()];
        same(&kernel, &NdRange::in_groups(&global, &group).partial(), &given, "shape");
    }
}

/// Groups leave a loop before they come to a function in it, where items meet, and which they leave apart.
#[test]
fn groups_that_leave_before_a_call() {
    let kernel = build("leaves", 1, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
        let tile = k.local("tile", Dtype::I32, &[512])?;
        let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let (group, value) = (k.index(Group, Id(0))?, k.load(x, [i])?);
        let (sum, result) = (k.variable("sum", Dtype::I32)?, k.variable("result", Dtype::I32)?);
        k.set(sum, Scalar::I32(1))?;
        k.set(result, Scalar::I32(3))?;
        let round = k.for_(Scalar::I64(0), Scalar::I64(4), Scalar::I64(1))?;
        let leaves = k.binary(Op::Equal, group, round)?;
        k.if_(leaves)?;
        k.break_();
        k.end()?;
        k.call("f", Some(result))?;
        k.store(tile, [own], sum)?;
        k.barrier(Fence::LOCAL);
        let first = k.load(tile, [Scalar::I64(0)])?;
        let next = k.binary(Op::Add, sum, first)?;
        k.set(sum, next)?;
        k.barrier(Fence::LOCAL);
        let some = k.binary(Op::Less, value, 0)?;
        k.if_(some)?;
        k.return_(Some(value.into()))?;
        k.end()?;
        k.return_(Some(first.into()))?;
        k.end()?;
        k.end()?;
        let all = k.binary(Op::Multiply, sum, 7)?;
        let all = k.binary(Op::BitwiseXor, all, result)?;
        k.store(out, [i], all)
    });
    let mut rng = Rng(17);
    for (len, group) in [(5, 1), (60, 9), (1000, 130), (1500, 300)] {
        let mut array = || Given::Array(Array::random(Dtype::I32, &[len], &mut rng));
        let given = [array(), array()];
        same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "leaves");
    }
}

/// Items leave loops, functions and the kernel together, and barriers are in branches that all of a group
/// take; behind the last one, each leaves where it likes.
#[test]
fn groups_part_and_leave_together() {
    let kernel = build("leave", 1, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
        let (most, tile) = (k.scalar("most", Dtype::I32)?, k.local("tile", Dtype::I32, &[300])?);
        let (i, own) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
        let group = k.index(Group, Id(0))?;
        let group = k.cast(group, Dtype::I32)?;
        let (value, sum) = (k.load(x, [i])?, k.variable("sum", Dtype::I32)?);
        k.set(sum, value)?;
        let meet = |k: &mut KernelBuilder, by: i32| {
            let to = k.get(sum)?;
            k.store(tile, [own], to)?;
            k.barrier(Fence::LOCAL);
            let near = k.binary(Op::BitwiseXor, own, i64::from(by))?;
            let near = k.load(tile, [near])?;
            let next = k.binary(Op::Multiply, sum, 3)?;
            let next = k.binary(Op::Add, next, near)?;
            k.set(sum, next)?;
            k.barrier(Fence::LOCAL);
            Ok(())
        };
        let odd = k.binary(Op::BitwiseAnd, group, 1)?;
        let odd = k.binary(Op::Equal, odd, 1)?;
        k.if_(odd)?;
        meet(k, 1)?;
        k.else_()?;
        let round = k.for_(0, 9, 1)?;
        meet(k, 2)?;
        let enough = k.binary(Op::Greater, round, most)?;
        k.if_(enough)?;
        k.break_();
        k.end()?;
        let skip = k.binary(Op::Equal, round, 1)?;
        k.if_(skip)?;
        k.continue_();
        k.end()?;
        // What is left by a group in the middle of a round is left by all of its loops.
        let inner = k.for_(round, 3, 1)?;
        let third = k.binary(Op::Equal, inner, 2)?;
        k.if_(third)?;
        k.continue_();
        k.end()?;
        meet(k, 4)?;
        k.end()?;
        let each = k.binary(Op::Greater, sum, 0)?;
        k.if_(each)?;
        k.continue_();
        k.end()?;
        let next = k.binary(Op::Add, sum, 5)?;
        k.set(sum, next)?;
        k.end()?;
        k.end()?;
        let result = k.variable("result", Dtype::I32)?;
        k.call("f", Some(result))?;
        let early = k.binary(Op::Equal, group, 2)?;
        k.if_(early)?;
        k.return_(Some(sum.into()))?;
        k.end()?;
        meet(k, 8)?;
        let each = k.binary(Op::Less, sum, 7)?;
        k.if_(each)?;
        k.return_(Some(Scalar::I32(-5).into()))?;
        k.end()?;
        k.return_(Some(sum.into()))?;
        k.end()?;
        let next = k.binary(Op::BitwiseXor, sum, result)?;
        k.set(sum, next)?;
        let all = k.binary(Op::Equal, group, most)?;
        k.if_(all)?;
        k.return_(None)?;
        k.end()?;
        meet(k, 16)?;
        let each = k.binary(Op::Less, sum, 0)?;
        k.if_(each)?;
        k.return_(None)?;
        k.end()?;
        k.store(out, [i], sum)
    });
    let mut rng = Rng(13);
    for (len, group) in [(1, 1), (8, 2), (400, 50), (900, 129), (1500, 300)] {
        for most in [-1, 0, 1, 3, 20] {
            let mut array = || Given::Array(Array::random(Dtype::I32, &[len], &mut rng));
            let given = [array(), array(), Given::Scalar(Scalar::I32(most))];
            same(&kernel, &NdRange::in_groups(&[len], &[group]).partial(), &given, "leave");
        }
    }
}

/// A loop with a barrier inside that does not end, and an assertion, in a gang that is not the first one of
/// its group.
#[test]
fn groups_stop_with_the_same_error() {
    let kernel = build("stop", 1, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
        let (i, endless) = (k.index(Global, Id(0))?, k.scalar("endless", Dtype::I32)?);
        let (value, still) = (k.load(x, [i])?, k.variable("still", Dtype::I32)?);
        k.set(still, endless)?;
        k.while_()?;
        let more = k.binary(Op::Greater, still, 0)?;
        k.do_(more)?;
        k.barrier(Fence::LOCAL);
        k.end()?;
        k.barrier(Fence::LOCAL);
        let holds = k.binary(Op::GreaterEqual, value, 0)?;
        k.assert(holds, "x is not negative")?;
        k.store(out, [i], value)
    });
    for tuning in tunings().filter(|tuning| tuning.threads == 1) {
        compile(&kernel, &tuning).map(|_| ()).unwrap();
        for (negative, endless) in [(400, 0), (0, 0), (170, 0), (299, 0), (400, 1)] {
            let given = [
                ints(300, |i| if i == negative { -1 } else { i as i32 }),
                ints(300, |_| 0),
                Given::Scalar(Scalar::I32(endless)),
            ];
            let range = NdRange::in_groups(&[300], &[150]);
            let run = |switch| launch(&kernel, &range, &given, &tuning, switch);
            let (wanted, found) = (run(Switch::Off), run(Switch::Always));
            assert_eq!(wanted.is_err(), negative < 300 || endless == 1);
            assert_eq!(wanted.map_err(|e| e.to_string()), found.map_err(|e| e.to_string()));
        }
    }
}

/// A group whose gangs need more memory than there may be, or have a few items each, and local memory without
/// elements, are interpreted.
#[test]
fn groups_that_do_not_fit_are_interpreted() {
    let kernel = build("fits", 2, |k| {
        let (out, tile) = (k.global("out", Dtype::I32, 2, true)?, k.local_argument("tile", Dtype::I32, 1)?);
        let own = k.private("own", Dtype::F64, &[60])?;
        let (i, j, linear) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?, k.index(Local, LinearId)?);
        let small = k.cast(linear, Dtype::I32)?;
        k.store(tile, [linear], small)?;
        k.store(own, [linear], 1.0)?;
        k.barrier(Fence::LOCAL);
        let near = k.binary(Op::BitwiseXor, linear, 1)?;
        let near = k.load(tile, [near])?;
        k.store(out, [i, j], near)
    });
    let tuning = tunings().next().unwrap();
    let program = compile(&kernel, &tuning).unwrap();
    for (group, local, switch, is_compiled) in [
        ([1, 900], 900, Switch::Always, true),
        ([900, 1], 900, Switch::Always, false),
        ([1, 900], 0, Switch::Always, false),
        ([7, 8], 56, Switch::On, true),
        ([7, 7], 49, Switch::On, false),
        ([7, 7], 49, Switch::Always, true),
        ([1, 7], 7, Switch::On, true),
    ] {
        let out = || Given::Array(Array::new(Dtype::I32, &group, |_| Scalar::I32(-1)));
        let range = NdRange::in_groups(&group, &group);
        let space = Space::new(&kernel, &range, 1024, 1 << 20).unwrap();
        let mut elements = vec![0_i32; 900];
        let launched = KernelLaunch {
            kernel: kernel.clone(),
            space,
            arguments: vec![
                KernelArgument::Array {
                    ptr: UsmPtr::new(elements.as_mut_ptr().cast()),
                    shape: SmallVec::from_slice(&group),
                    strides: SmallVec::from_slice(&[group[1] as isize, 1]),
                },
                KernelArgument::Local(SmallVec::from_slice(&[local])),
            ],
            checked: false,
            time_limit: None,
            ends: false,
        };
        // SAFETY: the arguments are those of the kernel, in memory of their own.
        let run = || compiler::forced(switch, || unsafe { super::super::run(&launched, &tuning) });
        // The first launch only notes that there was one.
        let _ = run();
        assert_eq!(run().is_some(), is_compiled, "{group:?}, {local}: {} bytes", program.bytes);
        same(&kernel, &range, &[out(), Given::Local(vec![local])], "fits");
    }
}
