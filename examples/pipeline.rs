//! Arrays in a rayon pipeline: signals are made, filtered and summed up as jobs of a pool, whose threads also compute the arrays.
//!
//! `cargo run --release --example pipeline`

use std::error::Error;
use std::sync::Arc;

use stridewise::prelude::*;
use stridewise::rayon::ThreadPoolBuilder;
use stridewise::rayon::prelude::*;

const SIGNALS: u64 = 64;
const SAMPLES: usize = 100_000;

/// What is left of a signal.
struct Summary {
    number: u64,
    /// Its power, and that of what the filter leaves.
    power: [f64; 2],
}

/// One signal, from its noise to two numbers. Arrays go from thread to thread as they like.
fn work(queue: &Queue, number: u64) -> Result<Summary> {
    let time = Array::<f64>::on(queue).linspace(0.0, 1.0, SAMPLES)?;
    let wave = (&time * (std::f64::consts::TAU * (number + 1) as f64)).sin();
    let noise = Generator::new(number).on(queue).normal(SAMPLES, 0.0, 1.0)?;
    let signal = wave + noise;
    // The mean of each sample and 99 that follow.
    let sums = signal.cumulative_sum(0)?;
    let filtered = (sums.slice(s![100..])? - sums.slice(s![..-100])?) / 100.0;
    Ok(Summary { number, power: [signal.square().mean()?, filtered.square().mean()?] })
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Arc::new(ThreadPoolBuilder::new().build()?);
    // A device whose threads are the pool's: there is one set of threads in the process.
    let queue = stridewise::host_device_on(&pool).queue()?;
    let summaries: Vec<Summary> = pool
        .install(|| (0..SIGNALS).into_par_iter().map(|number| work(&queue, number)).collect::<Result<_>>())?;

    for Summary { number, power: [all, kept] } in summaries.iter().step_by(16) {
        println!("signal {number:2}: power {all:.3}, {kept:.3} behind the filter");
    }
    // A sine has a power of 1/2, the noise of 1, of which the filter leaves a hundredth.
    let mean = summaries.iter().map(|summary| summary.power[1]).sum::<f64>() / SIGNALS as f64;
    println!("{SIGNALS} signals of {SAMPLES} samples: mean power behind the filter {mean:.3}");
    Ok(())
}
