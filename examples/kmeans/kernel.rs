//! What one item does, in each of the two parts of a round.

use stridewise::kernel::{Global, Item, Local};

/// The nearest centre for each point, and sums and counts of the points of each: of the group's in local memory first, which
/// has room for two sums and a count for each centre.
#[stridewise::kernel]
pub(crate) fn assign(
    item: Item<1>,
    points: &Global<f32, 2>,
    centres: &Global<f32, 2>,
    nearest: &mut Global<i32>,
    sums: &mut Global<f32, 2>,
    counts: &mut Global<i32>,
    own_sums: &mut Local<f32>,
    own_counts: &mut Local<i32>,
) {
    let (i, l, size) = (item.global_id(0), item.local_id(0), item.local_range(0));
    for c in (l..centres.extent(0)).step_by(size) {
        own_counts[c] = 0;
        own_sums[2 * c] = 0.0;
        own_sums[2 * c + 1] = 0.0;
    }
    item.barrier();
    if i < points.extent(0) {
        let (x, y) = (points[[i, 0]], points[[i, 1]]);
        let (mut best, mut least) = (0, f32::INFINITY);
        for c in 0..centres.extent(0) {
            let (dx, dy) = (x - centres[[c, 0]], y - centres[[c, 1]]);
            let distance = dx * dx + dy * dy;
            if distance < least {
                best = c;
                least = distance;
            }
        }
        nearest[i] = best as i32;
        own_counts[best].fetch_add(1);
        own_sums[2 * best].fetch_add(x);
        own_sums[2 * best + 1].fetch_add(y);
    }
    item.barrier();
    for c in (l..centres.extent(0)).step_by(size) {
        counts[c].fetch_add(own_counts[c]);
        sums[[c, 0]].fetch_add(own_sums[2 * c]);
        sums[[c, 1]].fetch_add(own_sums[2 * c + 1]);
    }
}

/// New centres from sums and counts, which begin anew. A centre without points goes to the origin.
#[stridewise::kernel]
pub(crate) fn centres(
    item: Item<1>,
    centres: &mut Global<f32, 2>,
    sums: &mut Global<f32, 2>,
    counts: &mut Global<i32>,
) {
    let c = item.global_id(0);
    let count = counts[c].max(1) as f32;
    centres[[c, 0]] = sums[[c, 0]] / count;
    centres[[c, 1]] = sums[[c, 1]] / count;
    sums[[c, 0]] = 0.0;
    sums[[c, 1]] = 0.0;
    counts[c] = 0;
}
