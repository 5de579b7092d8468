//! What one item does.

use stridewise::FloatElement;
use stridewise::kernel::{Global, Item};

/// Rounds of `z² + c` until a point is gone, `most` for one that stays. The first point is `left + top i`, the others are
/// `step` apart.
#[stridewise::kernel]
pub(crate) fn mandelbrot<T: FloatElement>(
    item: Item<2>,
    most: i32,
    left: T,
    top: T,
    step: T,
    rounds: &mut Global<i32, 2>,
) {
    let (row, column) = (item.global_id(0), item.global_id(1));
    let (cx, cy) = (column as T * step + left, row as T * step + top);
    let (mut x, mut y, mut count) = (0 as T, 0 as T, 0);
    while count < most && x * x + y * y <= 4 as T {
        (x, y) = (x * x - y * y + cx, x * y * 2 as T + cy);
        count += 1;
    }
    rounds[[row, column]] = count;
}
