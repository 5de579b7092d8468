//! Kernels whose items work together by way of local memory.

use stridewise::kernel::{Coordinate::*, Fence, Global, Item, Kernel, KernelBuilder, Level, Local};
use stridewise::{Dtype, Op, Result};

/// `a[i] += a reversed within each group`, by way of local memory: statement by statement, through the builder.
pub(crate) fn reverse() -> Result<Kernel> {
    let mut k = KernelBuilder::new("reverse", 1)?;
    let a = k.global("a", Dtype::F32, 1, true)?;
    let tile = k.local_argument("tile", Dtype::F32, 1)?;
    let (g, l, n) =
        (k.index(Level::Global, Id(0))?, k.index(Level::Local, Id(0))?, k.index(Level::Local, Range(0))?);
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
#[stridewise::kernel]
pub(crate) fn block_reduction(
    item: Item<1>,
    x: &Global<f32>,
    sums: &mut Global<f32>,
    partial: &mut Local<f32>,
) {
    let (l, size) = (item.local_id(0), item.local_range(0));
    // Each item first adds up what lies whole launches apart.
    let mut sum = 0.0;
    for i in (item.global_id(0)..x.len()).step_by(item.global_range(0)) {
        sum += x[i];
    }
    partial[l] = sum;
    item.barrier();
    let mut half = size / 2;
    while half > 0 {
        if l < half {
            partial[l] += partial[l + half];
        }
        item.barrier();
        half /= 2;
    }
    if l == 0 {
        sums[item.group_id(0)] = partial[0];
    }
}

/// The exclusive prefix sums of each group's part, and its total: G. E. Blelloch, "Prefix sums and their applications" (1990).
#[stridewise::kernel]
pub(crate) fn blelloch(item: Item<1>, x: &mut Global<u32>, totals: &mut Global<u32>, tree: &mut Local<u32>) {
    let (g, l, size) = (item.global_id(0), item.local_id(0), item.local_range(0));
    tree[l] = x[g];
    // Up: each node is the sum of both below.
    let (mut offset, mut count) = (1, size / 2);
    while count > 0 {
        item.barrier();
        if l < count {
            let (i, j) = ((2 * l + 1) * offset - 1, (2 * l + 2) * offset - 1);
            tree[j] += tree[i];
        }
        offset *= 2;
        count /= 2;
    }
    // The root is the total, and begins as 0: by the item that wrote it last.
    if l == 0 {
        totals[item.group_id(0)] = tree[size - 1];
        tree[size - 1] = 0;
    }
    // Down: the left one gets the node, the right one the sum of both.
    count = 1;
    while count < size {
        offset /= 2;
        item.barrier();
        if l < count {
            let (i, j) = ((2 * l + 1) * offset - 1, (2 * l + 2) * offset - 1);
            let left = tree[i];
            tree[i] = tree[j];
            tree[j] += left;
        }
        count *= 2;
    }
    item.barrier();
    x[g] = tree[l];
}

/// Counts of bytes, first in local memory, then added to those of all.
#[stridewise::kernel]
pub(crate) fn histogram<const BINS: usize>(item: Item<1>, data: &Global<u8>, counts: &mut Global<u32>) {
    let own: Local<u32> = Local::new([BINS]);
    let (l, size) = (item.local_id(0), item.local_range(0));
    for bin in (l..BINS).step_by(size) {
        own[bin] = 0;
    }
    item.barrier();
    for i in (item.global_id(0)..data.len()).step_by(item.global_range(0)) {
        own[data[i] as i64 & (BINS - 1)].fetch_add(1);
    }
    item.barrier();
    for bin in (l..BINS).step_by(size) {
        counts[bin].fetch_add(own[bin]);
    }
}

/// The matrix product by tiles, of any extents: what is beyond a matrix counts as 0.
#[stridewise::kernel]
pub(crate) fn tiled_product<const TILE: usize>(
    item: Item<2>,
    a: &Global<f32, 2>,
    b: &Global<f32, 2>,
    c: &mut Global<f32, 2>,
) {
    let ta: Local<f32, 2> = Local::new([TILE, TILE]);
    let tb: Local<f32, 2> = Local::new([TILE, TILE]);
    let (row, column) = (item.global_id(0), item.global_id(1));
    let (i, j) = (item.local_id(0), item.local_id(1));
    let (rows, inner, columns) = (a.extent(0), a.extent(1), b.extent(1));
    let mut sum = 0.0;
    for from in (0..inner).step_by(TILE) {
        ta[[i, j]] = if row < rows && from + j < inner { a[[row, from + j]] } else { 0.0 };
        tb[[i, j]] = if from + i < inner && column < columns { b[[from + i, column]] } else { 0.0 };
        item.barrier();
        for m in 0..TILE {
            sum += ta[[i, m]] * tb[[m, j]];
        }
        item.barrier();
    }
    if row < rows && column < columns {
        c[[row, column]] = sum;
    }
}

/// Of the convolution: what it looks at on each side, what it multiplies with, and the side of a group's tile.
pub(crate) const RADIUS: usize = 1;
pub(crate) const WEIGHTS: [[f32; 3]; 3] =
    [[0.0625, 0.125, 0.0625], [0.125, 0.25, 0.125], [0.0625, 0.125, 0.0625]];
pub(crate) const TILE: usize = 4;
const WIDE: usize = TILE + 2 * RADIUS;

/// A convolution by way of a tile with a halo, of zeros beyond the edge.
#[stridewise::kernel]
pub(crate) fn convolution(item: Item<2>, a: &Global<f32, 2>, b: &mut Global<f32, 2>) {
    let near: Local<f32, 2> = Local::new([WIDE, WIDE]);
    let (row, column) = (item.global_id(0), item.global_id(1));
    let (i, j) = (item.local_id(0), item.local_id(1));
    let (rows, columns) = (a.extent(0), a.extent(1));
    // The corner of what the group reads.
    let (top, left) = (row - i - RADIUS, column - j - RADIUS);
    for u in (i..WIDE).step_by(TILE) {
        for v in (j..WIDE).step_by(TILE) {
            let (r, c) = (top + u, left + v);
            let inside = r >= 0 && c >= 0 && r < rows && c < columns;
            near[[u, v]] = if inside { a[[r, c]] } else { 0.0 };
        }
    }
    item.barrier();
    let mut sum = 0.0;
    for u in 0..2 * RADIUS + 1 {
        for v in 0..2 * RADIUS + 1 {
            sum += near[[i + u, j + v]] * WEIGHTS[[u, v]];
        }
    }
    if row < rows && column < columns {
        b[[row, column]] = sum;
    }
}

/// The steps of a bitonic sort from a distance on, which a group does in local memory.
#[stridewise::kernel]
pub(crate) fn bitonic_group<const SIZE: usize>(item: Item<1>, a: &mut Global<i32>, run: i64, first: i64) {
    let own: Local<i32> = Local::new([SIZE]);
    let (g, l) = (item.global_id(0), item.local_id(0));
    own[l] = a[g];
    let up = g & run == 0;
    let mut distance = first;
    while distance > 0 {
        item.barrier();
        let partner = l ^ distance;
        if partner > l {
            let (x, y) = (own[l], own[partner]);
            if up == (x > y) {
                own[l] = y;
                own[partner] = x;
            }
        }
        distance /= 2;
    }
    item.barrier();
    a[g] = own[l];
}
