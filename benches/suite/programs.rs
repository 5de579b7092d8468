//! Programs as users write them, by operations on whole arrays; and by hand in Rust, fused into parallel loops over ndarray's
//! arrays.

// In `s![1..-1]` an end below zero counts from the array's, which a range of Rust's would not.
#![allow(clippy::reversed_empty_ranges)]

use ndarray::parallel::prelude::{IntoParallelIterator, ParallelIterator};
use ndarray::{Axis, Zip};
use rayon::iter::IndexedParallelIterator;
use rayon::slice::{ParallelSlice, ParallelSliceMut};
use stridewise::{Array, Generator, Order, Result, s};
use stridewise_limit::Traffic;

use super::data::{Ours, Rust, elements};
use super::{Case, keep};

/// Coordinates of a point, of which the first array has as many as fit in.
const WIDTH: usize = 8;
/// Clusters, and rounds in which they are found.
const CLUSTERS: usize = 8;
const ROUNDS: usize = 5;
/// Steps of time, and how much of the difference to its neighbours a place takes in each.
const STEPS: usize = 10;
const RATE: f64 = 0.1;
/// The interest, and the volatility of a price.
const INTEREST: f64 = 0.02;
const VOLATILITY: f64 = 0.3;
/// Elements of a moving average, and bins of the histogram of all averages.
const WINDOW: usize = 16;
const BINS: usize = 64;
/// Steps of the descent, and their size.
const DESCENTS: usize = 10;
const LEARNING: f64 = 0.5;
/// Points or numbers that a thread takes at a time.
const CHUNK: usize = 4096;

/// A program: its name, ours, and the counterpart, with the same numbers as the result.
struct Program {
    name: &'static str,
    /// Operations for each element, about.
    operations: usize,
    ours: fn(&Ours<f64>) -> Result<Array<f64>>,
    rust: fn(&Rust<f64>) -> Vec<f64>,
}

const PROGRAMS: [Program; 9] = [
    Program { name: "k-means", operations: 3 * ROUNDS * CLUSTERS, ours: kmeans, rust: rust::kmeans },
    Program { name: "heat equation", operations: 7 * STEPS, ours: heat, rust: rust::heat },
    Program { name: "Sobel", operations: 16, ours: sobel, rust: rust::sobel },
    Program { name: "Black-Scholes", operations: 60, ours: black_scholes, rust: rust::black_scholes },
    Program { name: "pairwise distances", operations: 3 * WIDTH, ours: pairwise, rust: rust::pairwise },
    Program {
        name: "distances by rows",
        operations: 3 * WIDTH,
        ours: pairwise_by_rows,
        rust: rust::pairwise,
    },
    Program { name: "Monte-Carlo pi", operations: 20, ours: pi, rust: rust::pi },
    Program { name: "averages, histogram", operations: 8, ours: series, rust: rust::series },
    Program { name: "logistic regression", operations: 5 * DESCENTS, ours: logistic, rust: rust::logistic },
];

pub(super) fn cases() -> Vec<Case<f64>> {
    let case = |&Program { name, operations, ours, rust }: &Program| {
        Case::new((name, "program"), Traffic::Copy, 2 * size_of::<f64>(), operations, move |x| {
            ours(x)?.wait()
        })
        .against("ndarray-par", move |x| keep(rust(x)))
    };
    PROGRAMS.iter().map(case).collect()
}

/// The centres of clusters after rounds of assigning each point to the nearest. What there is for each cluster and point has a row for
/// each cluster.
fn kmeans(x: &Ours<f64>) -> Result<Array<f64>> {
    let points = &x.a_rows;
    let clusters = Array::<i64>::on(points.queue()).arange(0, CLUSTERS as i64, 1)?.expand_dims(1)?;
    let mut centres = points.slice(s![..CLUSTERS as isize])?.copy()?;
    for _ in 0..ROUNDS {
        // The squared distance, less the square of the point, and halved.
        let distances = centres.square().sum_axis_keepdims(-1)? * 0.5 - centres.matmul(&points.t());
        let chosen = distances.argmin_axis(0)?.equal(&clusters).astype::<f64>();
        centres = chosen.matmul(points) / chosen.sum_axis_keepdims(1)?;
    }
    Ok(centres)
}

/// A plate on whose edges the temperature stays.
fn heat(x: &Ours<f64>) -> Result<Array<f64>> {
    let (mut now, mut next) = (x.a_square.copy()?, x.a_square.copy()?);
    let last = x.a_square.shape()[0] as isize - 1;
    for _ in 0..STEPS {
        let (up, down) = (now.slice(s![..-2, 1..last])?, now.slice(s![2.., 1..last])?);
        let (left, right) = (now.slice(s![1..last, ..-2])?, now.slice(s![1..last, 2..])?);
        let centre = now.slice(s![1..last, 1..last])?;
        let moved = &centre + ((up + down) + (left + right) - &centre * 4.0) * RATE;
        next.slice(s![1..last, 1..last])?.assign(&moved)?;
        std::mem::swap(&mut now, &mut next);
    }
    Ok(now)
}

/// How steep a picture is at each place but its edges.
fn sobel(x: &Ours<f64>) -> Result<Array<f64>> {
    let side = x.a_square.shape()[0] as isize;
    let at = |row: isize, column: isize| x.a_square.slice(s![row..side - 2 + row, column..side - 2 + column]);
    let across = (at(0, 2)? + at(1, 2)? * 2.0 + at(2, 2)?) - (at(0, 0)? + at(1, 0)? * 2.0 + at(2, 0)?);
    let along = (at(2, 0)? + at(2, 1)? * 2.0 + at(2, 2)?) - (at(0, 0)? + at(0, 1)? * 2.0 + at(0, 2)?);
    Ok((across.square() + along.square()).sqrt())
}

/// Prices of options to buy at one price what has another, after a time.
fn black_scholes(x: &Ours<f64>) -> Result<Array<f64>> {
    let (price, strike, time) = (&x.a, &x.b, &x.c);
    let normal = |x: Array<f64>| (x * std::f64::consts::FRAC_1_SQRT_2).erf() * 0.5 + 0.5;
    let spread = time.sqrt() * VOLATILITY;
    let drift = time * (INTEREST + VOLATILITY * VOLATILITY / 2.0);
    let upper = ((price / strike).log() + drift) / &spread;
    let lower = &upper - spread;
    Ok(price * normal(upper) - strike * (time * -INTEREST).exp() * normal(lower))
}

/// The distances of all points from each other, as many as make a square: from a row for each coordinate.
fn pairwise(x: &Ours<f64>) -> Result<Array<f64>> {
    let points = x.a_rows.slice(s![..x.a_square.shape()[0] as isize])?;
    let columns = points.t().copy_in(Order::C)?;
    let apart = columns.expand_dims(2)? - columns.expand_dims(1)?;
    Ok(apart.square().sum_axis(0)?.sqrt())
}

/// The same from points as they are, whose coordinates are a row.
fn pairwise_by_rows(x: &Ours<f64>) -> Result<Array<f64>> {
    let points = x.a_rows.slice(s![..x.a_square.shape()[0] as isize])?;
    let apart = points.expand_dims(1)? - points.expand_dims(0)?;
    Ok(apart.square().sum_axis(-1)?.sqrt())
}

/// Four times the part of random points that is in a circle.
fn pi(x: &Ours<f64>) -> Result<Array<f64>> {
    let (mut generator, shape) = (Generator::new(7).on(x.a.queue()), x.a.shape());
    let (across, along) = (generator.uniform(shape, 0.0, 1.0)?, generator.uniform(shape, 0.0, 1.0)?);
    let inside = (across.square() + along.square()).less_equal(1.0).astype::<f64>();
    Ok(inside.mean_axis(..)? * 4.0)
}

/// How the moving averages of a series are distributed.
fn series(x: &Ours<f64>) -> Result<Array<f64>> {
    let sums = x.a.cumulative_sum_initial(0)?;
    let width = WINDOW as isize;
    let averages = (sums.slice(s![width..])? - sums.slice(s![..-width])?) / WINDOW as f64;
    Ok(averages.histogram(BINS, None)?.0.astype())
}

/// The weights by which points are told apart, after steps of descent.
fn logistic(x: &Ours<f64>) -> Result<Array<f64>> {
    let points = &x.a_rows;
    let count = points.shape()[0];
    let truth = x.b.slice(s![..count as isize])?.greater(1.0).astype::<f64>();
    let mut weights = Array::<f64>::on(points.queue()).zeros([WIDTH])?;
    for _ in 0..DESCENTS {
        let wrong = points.matmul(&weights).sigmoid() - &truth;
        let slope = wrong.matmul(points);
        weights -= slope * (LEARNING / count as f64);
    }
    Ok(weights)
}

/// The counterparts.
mod rust {
    use super::*;

    /// Points, of which a thread takes many at a time.
    fn chunks(points: &[f64]) -> rayon::slice::Chunks<'_, f64> {
        points.par_chunks(CHUNK * WIDTH)
    }

    fn added<const N: usize>(mut a: [f64; N], b: [f64; N]) -> [f64; N] {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    }

    pub(super) fn kmeans(x: &Rust<f64>) -> Vec<f64> {
        const SUMS: usize = CLUSTERS * (WIDTH + 1);
        let points = elements(&x.a);
        let mut centres = points[..CLUSTERS * WIDTH].to_vec();
        for _ in 0..ROUNDS {
            let sums = chunks(points).map(|points| {
                let mut sums = [0.0; SUMS];
                for point in points.chunks_exact(WIDTH) {
                    let distance = |centre: &[f64]| -> f64 {
                        point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum()
                    };
                    let (mut nearest, mut least) = (0, f64::INFINITY);
                    for (number, centre) in centres.chunks_exact(WIDTH).enumerate() {
                        let distance = distance(centre);
                        if distance < least {
                            (nearest, least) = (number, distance);
                        }
                    }
                    let sums = &mut sums[nearest * (WIDTH + 1)..][..WIDTH + 1];
                    sums.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
                    sums[WIDTH] += 1.0;
                }
                sums
            });
            let sums = sums.reduce(|| [0.0; SUMS], added);
            for (centre, sums) in centres.chunks_exact_mut(WIDTH).zip(sums.chunks_exact(WIDTH + 1)) {
                centre.iter_mut().zip(sums).for_each(|(centre, sum)| *centre = sum / sums[WIDTH]);
            }
        }
        centres
    }

    pub(super) fn heat(x: &Rust<f64>) -> Vec<f64> {
        use ndarray::s;
        let (mut now, mut next) = (x.a_square.to_owned(), x.a_square.to_owned());
        for _ in 0..STEPS {
            Zip::from(next.slice_mut(s![1..-1, 1..-1]))
                .and(now.slice(s![1..-1, 1..-1]))
                .and(now.slice(s![..-2, 1..-1]))
                .and(now.slice(s![2.., 1..-1]))
                .and(now.slice(s![1..-1, ..-2]))
                .and(now.slice(s![1..-1, 2..]))
                .par_for_each(|next, &centre, &up, &down, &left, &right| {
                    *next = centre + ((up + down) + (left + right) - centre * 4.0) * RATE;
                });
            std::mem::swap(&mut now, &mut next);
        }
        now.into_raw_vec_and_offset().0
    }

    pub(super) fn sobel(x: &Rust<f64>) -> Vec<f64> {
        let side = x.a_square.nrows();
        let mut steep = ndarray::Array2::<f64>::zeros((side - 2, side - 2));
        steep.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(row, mut steep)| {
            let [above, own, below] = [0, 1, 2].map(|next| x.a_square.row(row + next));
            let rows = [above.as_slice(), own.as_slice(), below.as_slice()].map(Option::unwrap_or_default);
            let windows = rows[0].windows(3).zip(rows[1].windows(3)).zip(rows[2].windows(3));
            for (steep, ((a, b), c)) in steep.iter_mut().zip(windows) {
                let across = (a[2] + b[2] * 2.0 + c[2]) - (a[0] + b[0] * 2.0 + c[0]);
                let along = (c[0] + c[1] * 2.0 + c[2]) - (a[0] + a[1] * 2.0 + a[2]);
                *steep = (across * across + along * along).sqrt();
            }
        });
        steep.into_raw_vec_and_offset().0
    }

    pub(super) fn black_scholes(x: &Rust<f64>) -> Vec<f64> {
        let normal = |x: f64| libm::erf(x * std::f64::consts::FRAC_1_SQRT_2) * 0.5 + 0.5;
        let prices = Zip::from(&x.a).and(&x.b).and(&x.c).par_map_collect(|&price, &strike, &time| {
            let spread = time.sqrt() * VOLATILITY;
            let drift = time * (INTEREST + VOLATILITY * VOLATILITY / 2.0);
            let upper = ((price / strike).ln() + drift) / spread;
            price * normal(upper) - strike * (time * -INTEREST).exp() * normal(upper - spread)
        });
        prices.into_raw_vec_and_offset().0
    }

    pub(super) fn pairwise(x: &Rust<f64>) -> Vec<f64> {
        let side = x.a_square.nrows();
        let points = &elements(&x.a)[..side * WIDTH];
        let mut distances = vec![0.0; side * side];
        distances.par_chunks_mut(side).zip(points.par_chunks(WIDTH)).for_each(|(distances, point)| {
            for (distance, other) in distances.iter_mut().zip(points.chunks_exact(WIDTH)) {
                let squares = point.iter().zip(other).map(|(a, b)| (a - b) * (a - b));
                *distance = squares.sum::<f64>().sqrt();
            }
        });
        distances
    }

    /// A number from 0 to 1 by the generator SplitMix64, of Steele, Lea and Flood.
    fn next(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn pi(x: &Rust<f64>) -> Vec<f64> {
        let n = x.a.len();
        let inside = |chunk: usize| {
            let mut state = (chunk as u64).wrapping_mul(0x5851_F42D_4C95_7F2D);
            let count = CHUNK.min(n - chunk * CHUNK);
            (0..count)
                .filter(|_| {
                    let (across, along) = (next(&mut state), next(&mut state));
                    across * across + along * along <= 1.0
                })
                .count()
        };
        let inside: usize = (0..n.div_ceil(CHUNK)).into_par_iter().map(inside).sum();
        vec![4.0 * inside as f64 / n as f64]
    }

    pub(super) fn series(x: &Rust<f64>) -> Vec<f64> {
        let series = elements(&x.a);
        let mut averages = vec![0.0; series.len() + 1 - WINDOW];
        averages.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, averages)| {
            let mut sum: f64 = series[chunk * CHUNK..][..WINDOW].iter().sum();
            let last = averages.len() - 1;
            for (place, average) in averages.iter_mut().enumerate() {
                *average = sum / WINDOW as f64;
                if place < last {
                    let first = chunk * CHUNK + place;
                    sum += series[first + WINDOW] - series[first];
                }
            }
        });
        let ends = averages.par_chunks(CHUNK).map(|part| {
            part.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)))
        });
        let wider = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        let (low, high) = ends.reduce(|| (f64::INFINITY, f64::NEG_INFINITY), wider);
        let scale = BINS as f64 / (high - low);
        let counts = averages.par_chunks(CHUNK).map(|part| {
            let mut counts = [0.0; BINS];
            part.iter().for_each(|x| counts[(((x - low) * scale) as usize).min(BINS - 1)] += 1.0);
            counts
        });
        counts.reduce(|| [0.0; BINS], added).to_vec()
    }

    pub(super) fn logistic(x: &Rust<f64>) -> Vec<f64> {
        let (points, truth) = (elements(&x.a), elements(&x.b));
        let count = points.len() / WIDTH;
        let mut weights = [0.0; WIDTH];
        for _ in 0..DESCENTS {
            let slopes = chunks(points).zip(truth[..count].par_chunks(CHUNK)).map(|(points, truth)| {
                let mut slope = [0.0; WIDTH];
                for (point, truth) in points.chunks_exact(WIDTH).zip(truth) {
                    let sum: f64 = point.iter().zip(&weights).map(|(x, weight)| x * weight).sum();
                    let wrong = 1.0 / (1.0 + (-sum).exp()) - f64::from(u8::from(*truth > 1.0));
                    slope.iter_mut().zip(point).for_each(|(slope, x)| *slope += wrong * x);
                }
                slope
            });
            let slope = slopes.reduce(|| [0.0; WIDTH], added);
            weights
                .iter_mut()
                .zip(slope)
                .for_each(|(weight, slope)| *weight -= slope * LEARNING / count as f64);
        }
        weights.to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_find_what_their_counterparts_do() {
        let queue = stridewise::default_device().unwrap().queue().unwrap();
        for n in [1024, 4096, 64 << 10] {
            let (ours, rust) = (Ours::<f64>::new(&queue, n).unwrap(), Rust::<f64>::new(n));
            for program in &PROGRAMS {
                let (own, other) = ((program.ours)(&ours).unwrap(), (program.rust)(&rust));
                let own = own.to_vec().unwrap();
                assert_eq!(own.len(), other.len(), "{} {n}", program.name);
                // Of random numbers, the mean is as good as their number allows; counts differ where averages are rounded apart.
                let bound = match program.name {
                    "Monte-Carlo pi" => 10.0 / (n as f64).sqrt(),
                    "averages, histogram" => 1.0,
                    _ => 1e-9,
                };
                for (own, other) in own.iter().zip(&other) {
                    assert!((own - other).abs() <= bound, "{} {n}: {own} {other}", program.name);
                }
                let size: f64 = own.iter().map(|x| x.abs()).sum();
                assert!(size > 0.0, "{} {n}", program.name);
            }
            let counted: f64 = series(&ours).unwrap().to_vec().unwrap().iter().sum();
            assert_eq!(counted, (n + 1 - WINDOW) as f64);
            let found = pi(&ours).unwrap().to_vec().unwrap()[0];
            assert!((found - std::f64::consts::PI).abs() < 10.0 / (n as f64).sqrt(), "{found}");
        }
    }
}
