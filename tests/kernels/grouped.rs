//! Kernels whose items work together by way of local memory.

use stridewise::kernel::{
    AtomicOp, Coordinate::*, Fence, Kernel, KernelBuilder, Level::*, MemoryOrder, MemoryScope, Operand,
};
use stridewise::{Dtype, Op, Result, Scalar};

const RELAXED: (MemoryOrder, MemoryScope) = (MemoryOrder::Relaxed, MemoryScope::WorkGroup);

/// `a[i] += a reversed within each group`, by way of local memory.
pub(crate) fn reverse() -> Result<Kernel> {
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

/// The sum of each group's part, by halves.
pub(crate) fn block_reduction() -> Result<Kernel> {
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

/// The exclusive prefix sums of each group's part, and its total: G. E. Blelloch, "Prefix sums and their applications" (1990).
pub(crate) fn blelloch() -> Result<Kernel> {
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
    // The item that wrote it last.
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

/// Counts of bytes, first in local memory, then added to those of all.
pub(crate) fn histogram(bins: usize) -> Result<Kernel> {
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

/// The matrix product by tiles, of any extents: what is beyond a matrix counts as 0.
pub(crate) fn tiled_product(tile: usize) -> Result<Kernel> {
    let mut k = KernelBuilder::new("tiled_product", 2)?;
    let (a, b) = (k.global("a", Dtype::F32, 2, false)?, k.global("b", Dtype::F32, 2, false)?);
    let c = k.global("c", Dtype::F32, 2, true)?;
    let (ta, tb) = (k.local("ta", Dtype::F32, &[tile, tile])?, k.local("tb", Dtype::F32, &[tile, tile])?);
    let (sum, x) = (k.variable("sum", Dtype::F32)?, k.variable("x", Dtype::F32)?);
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

/// A convolution by way of a tile with a halo, of zeros beyond the edge.
pub(crate) fn convolution(tile: usize, radius: usize, weights: &[f32]) -> Result<Kernel> {
    let mut k = KernelBuilder::new("convolution", 2)?;
    let (a, b) = (k.global("a", Dtype::F32, 2, false)?, k.global("b", Dtype::F32, 2, true)?);
    let (wide, window) = (tile + 2 * radius, 2 * radius + 1);
    let near = k.local("near", Dtype::F32, &[wide, wide])?;
    let weights: Vec<Scalar> = weights.iter().map(|&w| Scalar::F32(w)).collect();
    let weights = k.constant_array("weights", &[window, window], &weights)?;
    let (x, sum) = (k.variable("x", Dtype::F32)?, k.variable("sum", Dtype::F32)?);
    let (row, column) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
    let (i, j) = (k.index(Local, Id(0))?, k.index(Local, Id(1))?);
    let (rows, columns) = (k.extent(a, 0)?, k.extent(a, 1)?);
    // The corner of what the group reads.
    let (top, left) = (k.binary(Op::Subtract, row, i)?, k.binary(Op::Subtract, column, j)?);
    let (top, left) = (k.binary(Op::Subtract, top, radius)?, k.binary(Op::Subtract, left, radius)?);
    let u = k.for_(i, Operand::from(wide), Operand::from(tile))?;
    let v = k.for_(j, Operand::from(wide), Operand::from(tile))?;
    let (from_row, from_column) = (k.binary(Op::Add, top, u)?, k.binary(Op::Add, left, v)?);
    let conditions = [
        k.binary(Op::GreaterEqual, from_row, 0)?,
        k.binary(Op::GreaterEqual, from_column, 0)?,
        k.binary(Op::Less, from_row, rows)?,
        k.binary(Op::Less, from_column, columns)?,
    ];
    let mut inside = conditions[0];
    for condition in &conditions[1..] {
        inside = k.binary(Op::BitwiseAnd, inside, *condition)?;
    }
    k.set(x, 0)?;
    k.if_(inside)?;
    let value = k.load(a, [from_row, from_column])?;
    k.set(x, value)?;
    k.end()?;
    k.store(near, [u, v], x)?;
    k.end()?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    k.set(sum, 0)?;
    let u = k.for_(0, Operand::from(window), 1)?;
    let v = k.for_(0, Operand::from(window), 1)?;
    let (r, c) = (k.binary(Op::Add, i, u)?, k.binary(Op::Add, j, v)?);
    let (value, weight) = (k.load(near, [r, c])?, k.load(weights, [u, v])?);
    let product = k.binary(Op::Multiply, value, weight)?;
    let more = k.binary(Op::Add, sum, product)?;
    k.set(sum, more)?;
    k.end()?;
    k.end()?;
    let (high, wide) = (k.binary(Op::Less, row, rows)?, k.binary(Op::Less, column, columns)?);
    let inside = k.binary(Op::BitwiseAnd, high, wide)?;
    k.if_(inside)?;
    k.store(b, [row, column], sum)?;
    k.end()?;
    k.finish()
}

/// How all bodies of mass 1 pull at each, which groups take up in tiles.
pub(crate) fn bodies(size: usize) -> Result<Kernel> {
    let mut k = KernelBuilder::new("bodies", 1)?;
    let (places, pulls) =
        (k.global("places", Dtype::F32, 2, false)?, k.global("pulls", Dtype::F32, 2, true)?);
    let softening = k.scalar("softening", Dtype::F32)?;
    let tile = k.local("tile", Dtype::F32, &[size, 3])?;
    let pull = ["px", "py", "pz"].map(|name| k.variable(name, Dtype::F32));
    let pull = [pull[0].clone()?, pull[1].clone()?, pull[2].clone()?];
    let (g, l, n) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?, k.extent(places, 0)?);
    let exists = k.binary(Op::Less, g, n)?;
    let last = k.binary(Op::Subtract, n, 1)?;
    let own = k.binary(Op::Minimum, g, last)?;
    let mut place = Vec::new();
    for axis in 0..3 {
        place.push(k.load(places, [Operand::from(own), axis.into()])?);
        k.set(pull[axis as usize], 0)?;
    }
    let from = k.for_(0, n, Operand::from(size))?;
    let body = k.binary(Op::Add, from, l)?;
    let there = k.binary(Op::Less, body, n)?;
    k.if_(there)?;
    for axis in 0..3 {
        let x = k.load(places, [Operand::from(body), axis.into()])?;
        k.store(tile, [Operand::from(l), axis.into()], x)?;
    }
    k.end()?;
    k.barrier(Fence::LOCAL);
    let left = k.binary(Op::Subtract, n, from)?;
    let many = k.binary(Op::Minimum, left, size)?;
    let other = k.for_(0, many, 1)?;
    let mut square = softening;
    let mut apart = Vec::new();
    for axis in 0..3_i32 {
        let x = k.load(tile, [Operand::from(other), axis.into()])?;
        let d = k.binary(Op::Subtract, x, place[axis as usize])?;
        let dd = k.binary(Op::Multiply, d, d)?;
        square = k.binary(Op::Add, square, dd)?;
        apart.push(d);
    }
    let root = k.unary(Op::Sqrt, square)?;
    let cube = k.binary(Op::Multiply, square, root)?;
    for axis in 0..3 {
        let part = k.binary(Op::Divide, apart[axis], cube)?;
        let more = k.binary(Op::Add, pull[axis], part)?;
        k.set(pull[axis], more)?;
    }
    k.end()?;
    k.barrier(Fence::LOCAL);
    k.end()?;
    k.if_(exists)?;
    for axis in 0..3_i32 {
        k.store(pulls, [Operand::from(g), axis.into()], pull[axis as usize])?;
    }
    k.end()?;
    k.finish()
}

/// The steps of a bitonic sort from a distance on, which a group does in local memory.
pub(crate) fn bitonic_group(size: usize) -> Result<Kernel> {
    let mut k = KernelBuilder::new("bitonic_group", 1)?;
    let a = k.global("a", Dtype::I32, 1, true)?;
    let (run, first) = (k.scalar("run", Dtype::I64)?, k.scalar("first", Dtype::I64)?);
    let own = k.local("own", Dtype::I32, &[size])?;
    let distance = k.variable("distance", Dtype::I64)?;
    let (g, l) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
    let x = k.load(a, [g])?;
    k.store(own, [l], x)?;
    let bit = k.binary(Op::BitwiseAnd, g, run)?;
    let up = k.binary(Op::Equal, bit, 0)?;
    k.set(distance, first)?;
    k.while_()?;
    let more = k.binary(Op::Greater, distance, 0)?;
    k.do_(more)?;
    k.barrier(Fence::LOCAL);
    let partner = k.binary(Op::BitwiseXor, l, distance)?;
    let leads = k.binary(Op::Greater, partner, l)?;
    k.if_(leads)?;
    let (x, y) = (k.load(own, [l])?, k.load(own, [partner])?);
    let greater = k.binary(Op::Greater, x, y)?;
    let swap = k.binary(Op::Equal, up, greater)?;
    k.if_(swap)?;
    k.store(own, [l], y)?;
    k.store(own, [partner], x)?;
    k.end()?;
    k.end()?;
    let half = k.binary(Op::FloorDivide, distance, 2)?;
    k.set(distance, half)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let x = k.load(own, [l])?;
    k.store(a, [g], x)?;
    k.finish()
}

/// The nearest of some centres for each point, and sums and counts of the points of each, first of the group's.
pub(crate) fn assign(count: usize) -> Result<Kernel> {
    let mut k = KernelBuilder::new("assign", 1)?;
    let (points, centres) =
        (k.global("points", Dtype::F32, 2, false)?, k.global("centres", Dtype::F32, 2, false)?);
    let nearest = k.global("nearest", Dtype::I32, 1, true)?;
    let (sums, counts) = (k.global("sums", Dtype::F32, 2, true)?, k.global("counts", Dtype::I32, 1, true)?);
    let (own_sums, own_counts) =
        (k.local("own_sums", Dtype::F32, &[count, 2])?, k.local("own_counts", Dtype::I32, &[count])?);
    let (best, least) = (k.variable("best", Dtype::I32)?, k.variable("least", Dtype::F32)?);
    let (g, l, size) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?, k.index(Local, Range(0))?);
    let n = k.extent(points, 0)?;
    let c = k.for_(l, Operand::from(count), size)?;
    k.store(own_counts, [c], 0)?;
    k.store(own_sums, [Operand::from(c), 0.into()], 0)?;
    k.store(own_sums, [Operand::from(c), 1.into()], 0)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let exists = k.binary(Op::Less, g, n)?;
    k.if_(exists)?;
    let (x, y) =
        (k.load(points, [Operand::from(g), 0.into()])?, k.load(points, [Operand::from(g), 1.into()])?);
    k.set(best, 0)?;
    k.set(least, Scalar::F32(f32::INFINITY))?;
    let c = k.for_(Scalar::I32(0), Scalar::I32(count as i32), Scalar::I32(1))?;
    let (u, v) =
        (k.load(centres, [Operand::from(c), 0.into()])?, k.load(centres, [Operand::from(c), 1.into()])?);
    let (dx, dy) = (k.binary(Op::Subtract, x, u)?, k.binary(Op::Subtract, y, v)?);
    let (xx, yy) = (k.binary(Op::Multiply, dx, dx)?, k.binary(Op::Multiply, dy, dy)?);
    let distance = k.binary(Op::Add, xx, yy)?;
    let closer = k.binary(Op::Less, distance, least)?;
    k.if_(closer)?;
    k.set(best, c)?;
    k.set(least, distance)?;
    k.end()?;
    k.end()?;
    k.store(nearest, [g], best)?;
    k.atomic(AtomicOp::Add, own_counts, [best], Some(1.into()), RELAXED)?;
    k.atomic(AtomicOp::Add, own_sums, [Operand::from(best), 0.into()], Some(x.into()), RELAXED)?;
    k.atomic(AtomicOp::Add, own_sums, [Operand::from(best), 1.into()], Some(y.into()), RELAXED)?;
    k.end()?;
    k.barrier(Fence::LOCAL);
    let at = (MemoryOrder::Relaxed, MemoryScope::Device);
    let c = k.for_(l, Operand::from(count), size)?;
    let many = k.load(own_counts, [c])?;
    k.atomic(AtomicOp::Add, counts, [c], Some(many.into()), at)?;
    for axis in 0..2_i32 {
        let place = [Operand::from(c), axis.into()];
        let sum = k.load(own_sums, place)?;
        k.atomic(AtomicOp::Add, sums, place, Some(sum.into()), at)?;
    }
    k.end()?;
    k.finish()
}
