//! What a launch costs who makes it. Nothing here judges a time:
//!
//! ```text
//! cargo test --release --test launch_cost -- --ignored --nocapture
//! ```

use std::time::{Duration, Instant};

use stridewise::kernel::{Global, Item};
use stridewise::{Array, Device, Event, Result};

#[stridewise::kernel]
fn nothing(item: Item<1>, n: i64, x: &mut Global<f32>) {
    if item.global_id(0) > n {
        x[0] = 1.0;
    }
}

#[stridewise::kernel]
fn no_arrays(item: Item<1>, n: i64) {
    assert!(item.global_id(0) < n);
}

const ROUNDS: u32 = 200;
const LAUNCHES: u32 = 500;

/// The shortest mean of a round, of the launch itself and with its end.
fn cost(name: &str, mut launch: impl FnMut() -> Result<Event>) {
    let (mut alone, mut whole) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut last = Event::ready();
        for _ in 0..LAUNCHES {
            last = launch().unwrap();
        }
        alone = alone.min(start.elapsed() / LAUNCHES);
        last.wait().unwrap();
        whole = whole.min(start.elapsed() / LAUNCHES);
    }
    println!("{name:32} {:6} ns, {:6} ns to its end", alone.as_nanos(), whole.as_nanos());
}

#[test]
#[ignore = "it prints times, and judges none: run with cargo test --release --test launch_cost -- --ignored --nocapture"]
fn launches() {
    let queue = Device::select("host").unwrap().queue().unwrap();
    let mut x = Array::<f32>::on(&queue).zeros([16]).unwrap();
    let mut other = Array::<f32>::on(&queue).zeros([16]).unwrap();
    cost("no items", || nothing(&queue, [0], 1, &mut x));
    cost("no items, no arrays", || no_arrays(&queue, [0], 1));
    cost("one item", || nothing(&queue, [1], 1, &mut x));
    cost("one item, no arrays", || no_arrays(&queue, [1], 1));
    let mut turn = false;
    cost("one item, two arrays in turns", || {
        turn = !turn;
        nothing(&queue, [1], 1, if turn { &mut x } else { &mut other })
    });
    let kernel = nothing::kernel().unwrap();
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        let _ = nothing::kernel().unwrap();
    }
    println!("{:32} {:6} ns", "finding the kernel", (start.elapsed() / LAUNCHES).as_nanos());
    println!("{kernel}");
}
