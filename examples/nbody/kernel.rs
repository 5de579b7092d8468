//! What one item does.

use stridewise::kernel::{Global, Item, Local};

/// How all bodies of mass 1 pull at each, softened where they are close. Groups of `N` items take the bodies up in tiles.
#[stridewise::kernel]
pub(crate) fn bodies<const N: usize>(
    item: Item<1>,
    places: &Global<f32, 2>,
    pulls: &mut Global<f32, 2>,
    softening: f32,
) {
    let tile: Local<f32, 2> = Local::new([N, 3]);
    let (i, l, n) = (item.global_id(0), item.local_id(0), places.extent(0));
    // Items beyond the last body help to load.
    let own = i.min(n - 1);
    let (x, y, z) = (places[[own, 0]], places[[own, 1]], places[[own, 2]]);
    let (mut px, mut py, mut pz) = (0.0, 0.0, 0.0);
    for from in (0..n).step_by(N) {
        let body = from + l;
        if body < n {
            tile[[l, 0]] = places[[body, 0]];
            tile[[l, 1]] = places[[body, 1]];
            tile[[l, 2]] = places[[body, 2]];
        }
        item.barrier();
        for other in 0..N.min(n - from) {
            let (dx, dy, dz) = (tile[[other, 0]] - x, tile[[other, 1]] - y, tile[[other, 2]] - z);
            let square = softening + dx * dx + dy * dy + dz * dz;
            let cube = square * square.sqrt();
            px += dx / cube;
            py += dy / cube;
            pz += dz / cube;
        }
        item.barrier();
    }
    if i < n {
        pulls[[i, 0]] = px;
        pulls[[i, 1]] = py;
        pulls[[i, 2]] = pz;
    }
}
