//! A kernel with local memory: each group loads a tile with its borders once, and its items take means of 2 · 8 + 1 neighbours.
//!
//! `cargo run --release --example local_memory`

use stridewise::kernel::{Global, Item, Local, NdRange};
use stridewise::prelude::*;

/// Items of a group, neighbours on each side, and elements of a tile: those of the group, and the neighbours of its ends.
const GROUP: usize = 128;
const REACH: usize = 8;
const TILE: usize = GROUP + 2 * REACH;

#[stridewise::kernel]
fn smooth(item: Item<1>, x: &Global<f64>, y: &mut Global<f64>) {
    let tile: Local<f64> = Local::new([TILE]);
    let (i, l) = (item.global_id(0), item.local_id(0));
    // Beyond the ends of `x` a load takes the nearest element.
    let first = GROUP as i64 * item.group_id(0) - REACH as i64;
    for place in (l..TILE as i64).step_by(GROUP) {
        tile[place] = x[first + place];
    }
    item.barrier();
    let mut sum = 0.0;
    for k in 0..2 * REACH as i64 + 1 {
        sum += tile[l + k];
    }
    // Nor is anything written beyond the end of `y`.
    y[i] = sum / (2 * REACH + 1) as f64;
}

fn main() -> Result<()> {
    let n = 1_000_003;
    let x = Array::<f64>::linspace(0.0, 100.0, n)?.sin() + Generator::new(3).normal(n, 0.0, 0.5)?;
    let mut y = x.empty_like()?;
    let space = NdRange::in_groups(&[n.next_multiple_of(GROUP)], &[GROUP]);
    smooth(x.queue(), space, &x, &mut y)?;

    // The same by an expression: the mean of every window.
    let windows = x.sliding_window_view(&[2 * REACH + 1], Some(&[0]))?.mean_axis(1)?;
    let difference = (y.slice(s![REACH..n - REACH])? - &windows).abs().max()?;
    println!("noise before: {:.3}, after: {:.3}", noise(&x)?, noise(&y)?);
    println!("largest difference from means of windows: {difference:.1e}");
    Ok(())
}

/// The standard deviation about the sine.
fn noise(x: &Array<f64>) -> Result<f64> {
    (x - Array::<f64>::linspace(0.0, 100.0, x.len())?.sin()).std(0.0)
}
