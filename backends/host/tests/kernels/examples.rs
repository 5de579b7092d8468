//! Well-known kernels against plain Rust.

use stridewise_core::kernel::oracle::Checks;
use stridewise_core::kernel::{
    AtomicOp, Coordinate::*, Fence, Kernel, KernelBuilder, Level::*, MemoryOrder, MemoryScope, NdRange,
    Operand,
};
use stridewise_core::{Dtype, Op, Result, Scalar};

use super::{Given, array, given, queues, same_as_oracle, shaped};

const RELAXED: (MemoryOrder, MemoryScope) = (MemoryOrder::Relaxed, MemoryScope::WorkGroup);

/// `a[i] += a reversed within each group`, by way of local memory.
fn reverse() -> Result<Kernel> {
    let mut k = KernelBuilder::new("reverse", 1)?;
    let a = k.global("a", Dtype::F32, 1, true)?;
    let tile = k.local_argument("tile", Dtype::F32, 1)?;
    let (g, l, n) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?, k.index(Local, Range(0))?);
    let x = k.load(a, [g])?;
    k.store(tile, [l], x)?;
    k.barrier(Fence::LOCAL);
    let last = k.binary(Op::Subtract, n, 1)?;
    let other = k.binary(Op::Subtract, last, l)?;
    let y = k.load(tile, [other])?;
    let sum = k.binary(Op::Add, x, y)?;
    k.store(a, [g], sum)?;
    k.finish()
}

#[test]
fn an_array_is_added_to_its_reverse() {
    let kernel = reverse().unwrap();
    // The example of the documents: ten elements, of which every sum is nine.
    for queue in queues() {
        let a = array(queue, &(0..10).map(|i| i as f32).collect::<Vec<_>>());
        kernel.launch(queue, [10], &[(&a).into(), super::Argument::Local(vec![10])], &[]).unwrap();
        assert_eq!(a.to_vec().unwrap(), [9.0; 10]);
    }
    for (n, group) in [(10, 10), (1 << 16, 256), (3000, 1000), (4096, 4096), (768, 3)] {
        let values: Vec<f32> = (0..n).map(|i| (i * 7 % 1013) as f32).collect();
        let expected: Vec<f32> =
            (0..n).map(|i| values[i] + values[i / group * group + group - 1 - i % group]).collect();
        for queue in queues() {
            let a = array(queue, &values);
            let range = NdRange::in_groups(&[n], &[group]);
            kernel.launch(queue, range, &[(&a).into(), super::Argument::Local(vec![group])], &[]).unwrap();
            assert_eq!(a.to_vec().unwrap(), expected, "{n} in groups of {group}");
        }
    }
}

/// The sum of each group's part, by halves.
fn block_reduction() -> Result<Kernel> {
    let mut k = KernelBuilder::new("block_reduction", 1)?;
    let x = k.global("x", Dtype::F32, 1, false)?;
    let sums = k.global("sums", Dtype::F32, 1, true)?;
    let partial = k.local_argument("partial", Dtype::F32, 1)?;
    let sum = k.variable("sum", Dtype::F32)?;
    let half = k.variable("half", Dtype::I64)?;
    let (g, l) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
    let (group, size) = (k.index(Group, Id(0))?, k.index(Local, Range(0))?);
    let (all, n) = (k.index(Global, Range(0))?, k.extent(x, 0)?);
    // Each item first adds up what lies whole launches apart.
    k.set(sum, 0)?;
    let i = k.for_(g, n, all)?;
    let value = k.load(x, [i])?;
    let more = k.binary(Op::Add, sum, value)?;
    k.set(sum, more)?;
    k.end()?;
    k.store(partial, [l], sum)?;
    k.barrier(Fence::LOCAL);
    let first = k.binary(Op::FloorDivide, size, 2)?;
    k.set(half, first)?;
    k.while_()?;
    let more = k.binary(Op::Greater, half, 0)?;
    k.do_(more)?;
    let adds = k.binary(Op::Less, l, half)?;
    k.if_(adds)?;
    let other = k.binary(Op::Add, l, half)?;
    let (a, b) = (k.load(partial, [l])?, k.load(partial, [other])?);
    let both = k.binary(Op::Add, a, b)?;
    k.store(partial, [l], both)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let next = k.binary(Op::FloorDivide, half, 2)?;
    k.set(half, next)?;
    k.end()?;
    let leads = k.binary(Op::Equal, l, 0)?;
    k.if_(leads)?;
    let result = k.load(partial, [0])?;
    k.store(sums, [group], result)?;
    k.end()?;
    k.finish()
}

#[test]
fn blocks_are_reduced() {
    let kernel = block_reduction().unwrap();
    for (n, groups, size) in [(100_000, 8, 256), (1000, 3, 64), (5, 2, 8), (70_000, 2, 1024)] {
        // Small integers: every order of adding gives the same.
        let values: Vec<f32> = (0..n).map(|i| (i % 17) as f32).collect();
        let expected: Vec<f32> = (0..groups)
            .map(|g| (0..n).filter(|i| i % (groups * size) / size == g).map(|i| values[i]).sum())
            .collect();
        for queue in queues() {
            let (x, sums) = (array(queue, &values), array(queue, &vec![-1.0_f32; groups]));
            let range = NdRange::in_groups(&[groups * size], &[size]);
            let arguments = [(&x).into(), (&sums).into(), super::Argument::Local(vec![size])];
            kernel.launch(queue, range, &arguments, &[]).unwrap();
            assert_eq!(sums.to_vec().unwrap(), expected, "{n} by {groups} groups of {size}");
        }
    }
    let arguments = [given((0..500).map(|i| i as f32 * 0.37)), given([0_f32; 2]), Given::Local(vec![64])];
    same_as_oracle(&kernel, &NdRange::in_groups(&[128], &[64]), &arguments, Checks::ALL);
}

/// The exclusive prefix sums of each group's part, and its total: G. E. Blelloch, "Prefix sums and their applications" (1990).
fn blelloch() -> Result<Kernel> {
    let mut k = KernelBuilder::new("blelloch", 1)?;
    let x = k.global("x", Dtype::U32, 1, true)?;
    let totals = k.global("totals", Dtype::U32, 1, true)?;
    let tree = k.local_argument("tree", Dtype::U32, 1)?;
    let (offset, count) = (k.variable("offset", Dtype::I64)?, k.variable("count", Dtype::I64)?);
    let (g, l) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
    let (group, size) = (k.index(Group, Id(0))?, k.index(Local, Range(0))?);
    let value = k.load(x, [g])?;
    k.store(tree, [l], value)?;
    k.set(offset, 1)?;
    let first = k.binary(Op::FloorDivide, size, 2)?;
    k.set(count, first)?;
    // Up: each node is the sum of both below.
    let places = |k: &mut KernelBuilder| -> Result<_> {
        let twice = k.binary(Op::Multiply, l, 2)?;
        let (one, two) = (k.binary(Op::Add, twice, 1)?, k.binary(Op::Add, twice, 2)?);
        let (a, b) = (k.binary(Op::Multiply, one, offset)?, k.binary(Op::Multiply, two, offset)?);
        Ok((k.binary(Op::Subtract, a, 1)?, k.binary(Op::Subtract, b, 1)?))
    };
    k.while_()?;
    let more = k.binary(Op::Greater, count, 0)?;
    k.do_(more)?;
    k.barrier(Fence::LOCAL);
    let takes_part = k.binary(Op::Less, l, count)?;
    k.if_(takes_part)?;
    let (i, j) = places(&mut k)?;
    let (a, b) = (k.load(tree, [i])?, k.load(tree, [j])?);
    let sum = k.binary(Op::Add, a, b)?;
    k.store(tree, [j], sum)?;
    k.end()?;
    let twice = k.binary(Op::Multiply, offset, 2)?;
    k.set(offset, twice)?;
    let half = k.binary(Op::FloorDivide, count, 2)?;
    k.set(count, half)?;
    k.end()?;
    // The root is the total, and begins as 0.
    let last = k.binary(Op::Subtract, size, 1)?;
    let leads = k.binary(Op::Equal, l, 0)?;
    k.barrier(Fence::LOCAL);
    k.if_(leads)?;
    let total = k.load(tree, [last])?;
    k.store(totals, [group], total)?;
    k.store(tree, [last], 0)?;
    k.end()?;
    // Down: the left one gets the node, the right one the sum of both.
    k.set(count, 1)?;
    k.while_()?;
    let more = k.binary(Op::Less, count, size)?;
    k.do_(more)?;
    let half = k.binary(Op::FloorDivide, offset, 2)?;
    k.set(offset, half)?;
    k.barrier(Fence::LOCAL);
    let takes_part = k.binary(Op::Less, l, count)?;
    k.if_(takes_part)?;
    let (i, j) = places(&mut k)?;
    let (a, b) = (k.load(tree, [i])?, k.load(tree, [j])?);
    k.store(tree, [i], b)?;
    let sum = k.binary(Op::Add, a, b)?;
    k.store(tree, [j], sum)?;
    k.end()?;
    let twice = k.binary(Op::Multiply, count, 2)?;
    k.set(count, twice)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let value = k.load(tree, [l])?;
    k.store(x, [g], value)?;
    k.finish()
}

#[test]
fn prefix_sums_by_a_tree() {
    let kernel = blelloch().unwrap();
    for (n, size) in [(1 << 14, 256), (64, 64), (4096, 1024), (6, 2)] {
        let values: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let (mut expected, mut totals) = (Vec::new(), Vec::new());
        for part in values.chunks(size) {
            let mut sum = 0_u32;
            for &value in part {
                expected.push(sum);
                sum = sum.wrapping_add(value);
            }
            totals.push(sum);
        }
        for queue in queues() {
            let (x, all) = (array(queue, &values), array(queue, &vec![0_u32; n / size]));
            let range = NdRange::in_groups(&[n], &[size]);
            let arguments = [(&x).into(), (&all).into(), super::Argument::Local(vec![size])];
            kernel.launch(queue, range, &arguments, &[]).unwrap();
            assert_eq!((x.to_vec().unwrap(), all.to_vec().unwrap()), (expected.clone(), totals.clone()));
        }
    }
    let arguments = [given((0..64_u32).map(|i| i * i)), given([0_u32; 2]), Given::Local(vec![32])];
    same_as_oracle(&kernel, &NdRange::in_groups(&[64], &[32]), &arguments, Checks::ALL);
}

/// Counts of bytes, first in local memory, then added to those of all.
fn histogram(bins: usize) -> Result<Kernel> {
    let mut k = KernelBuilder::new("histogram", 1)?;
    let data = k.global("data", Dtype::U8, 1, false)?;
    let counts = k.global("counts", Dtype::U32, 1, true)?;
    let own = k.local("own", Dtype::U32, &[bins])?;
    let (g, l) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
    let (all, size, n) = (k.index(Global, Range(0))?, k.index(Local, Range(0))?, k.extent(data, 0)?);
    let bin = k.for_(l, Operand::from(bins), size)?;
    k.store(own, [bin], 0)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let i = k.for_(g, n, all)?;
    let byte = k.load(data, [i])?;
    let bin = k.binary(Op::BitwiseAnd, byte, bins - 1)?;
    k.atomic(AtomicOp::Add, own, [bin], Some(1.into()), RELAXED)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let bin = k.for_(l, Operand::from(bins), size)?;
    let count = k.load(own, [bin])?;
    k.atomic(AtomicOp::Add, counts, [bin], Some(count.into()), (MemoryOrder::Relaxed, MemoryScope::Device))?;
    k.end()?;
    k.finish()
}

#[test]
fn bytes_are_counted() {
    for (bins, n, range) in [(64, 50_000, (1024, 128)), (256, 10_001, (512, 256)), (16, 3, (8, 4))] {
        let kernel = histogram(bins).unwrap();
        let data: Vec<u8> = (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect();
        let mut expected = vec![0_u32; bins];
        for &byte in &data {
            expected[usize::from(byte) % bins] += 1;
        }
        for queue in queues() {
            let (x, counts) = (array(queue, &data), array(queue, &vec![0_u32; bins]));
            let range = NdRange::in_groups(&[range.0], &[range.1]);
            kernel.launch(queue, range, &[(&x).into(), (&counts).into()], &[]).unwrap();
            assert_eq!(counts.to_vec().unwrap(), expected);
        }
    }
    let arguments = [given((0..99_u8).map(|i| i.wrapping_mul(37))), given([0_u32; 16])];
    same_as_oracle(&histogram(16).unwrap(), &NdRange::in_groups(&[16], &[8]), &arguments, Checks::ALL);
}

/// The matrix product by tiles, of any extents: what is beyond a matrix counts as 0.
fn tiled_product(tile: usize) -> Result<Kernel> {
    let mut k = KernelBuilder::new("tiled_product", 2)?;
    let (a, b) = (k.global("a", Dtype::F64, 2, false)?, k.global("b", Dtype::F64, 2, false)?);
    let c = k.global("c", Dtype::F64, 2, true)?;
    let (ta, tb) = (k.local("ta", Dtype::F64, &[tile, tile])?, k.local("tb", Dtype::F64, &[tile, tile])?);
    let (sum, x) = (k.variable("sum", Dtype::F64)?, k.variable("x", Dtype::F64)?);
    let (row, column) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
    let (i, j) = (k.index(Local, Id(0))?, k.index(Local, Id(1))?);
    let (rows, inner, columns) = (k.extent(a, 0)?, k.extent(a, 1)?, k.extent(b, 1)?);
    k.set(sum, 0)?;
    let from = k.for_(0, inner, tile)?;
    for (matrix, to, along, across, r, s) in
        [(a, ta, j, true, rows, inner), (b, tb, i, false, inner, columns)]
    {
        let moved = k.binary(Op::Add, from, along)?;
        let place = if across { [row, moved] } else { [moved, column] };
        let (high, wide) = (k.binary(Op::Less, place[0], r)?, k.binary(Op::Less, place[1], s)?);
        let inside = k.binary(Op::BitwiseAnd, high, wide)?;
        k.set(x, 0)?;
        k.if_(inside)?;
        let value = k.load(matrix, place)?;
        k.set(x, value)?;
        k.end()?;
        k.store(to, [i, j], x)?;
    }
    k.barrier(Fence::LOCAL);
    let m = k.for_(0, Operand::from(tile), 1)?;
    let (left, right) = (k.load(ta, [i, m])?, k.load(tb, [m, j])?);
    let product = k.binary(Op::Multiply, left, right)?;
    let more = k.binary(Op::Add, sum, product)?;
    k.set(sum, more)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    k.end()?;
    let (high, wide) = (k.binary(Op::Less, row, rows)?, k.binary(Op::Less, column, columns)?);
    let inside = k.binary(Op::BitwiseAnd, high, wide)?;
    k.if_(inside)?;
    k.store(c, [row, column], sum)?;
    k.end()?;
    k.finish()
}

#[test]
fn matrices_are_multiplied_by_tiles() {
    for ((rows, inner, columns), tile) in
        [((70, 33, 50), 16), ((64, 64, 64), 32), ((5, 9, 3), 4), ((1, 40, 1), 8)]
    {
        let kernel = tiled_product(tile).unwrap();
        let left: Vec<f64> = (0..rows * inner).map(|i| (i % 13) as f64 - 6.0).collect();
        let right: Vec<f64> = (0..inner * columns).map(|i| (i % 7) as f64 - 3.0).collect();
        let product = |row, column| {
            (0..inner).map(|m| left[row * inner + m] * right[m * columns + column]).sum::<f64>()
        };
        let expected: Vec<f64> = (0..rows * columns).map(|i| product(i / columns, i % columns)).collect();
        let up = |extent: usize| extent.div_ceil(tile) * tile;
        let range = NdRange::in_groups(&[up(rows), up(columns)], &[tile, tile]);
        let arguments = [
            shaped(given(left.clone()), &[rows, inner]),
            shaped(given(right.clone()), &[inner, columns]),
            shaped(given(vec![-1.0; rows * columns]), &[rows, columns]),
        ];
        let checks = if rows < 10 { Checks::ALL } else { Checks::NONE };
        let found = same_as_oracle(&kernel, &range, &arguments, checks);
        let expected: Vec<Scalar> = expected.into_iter().map(Scalar::F64).collect();
        assert_eq!(found[2], expected, "{rows} × {inner} × {columns} by tiles of {tile}");
    }
}
