//! Twelve well-known kernels, each with what plain Rust comes to: for suites, for the campaign of seeded faults, and for whoever
//! wants to see how kernels are built.

mod grouped;
mod items;
// Those that examples draw pictures with: links to where they stand.
pub(crate) mod kmeans;
pub(crate) mod mandelbrot;
pub(crate) mod nbody;

use stridewise::kernel::oracle::Elements;
use stridewise::kernel::{Kernel, NdRange};
use stridewise::{Element, Result, Scalar};

/// A kernel, or several launches of some, with arrays and what becomes of them.
pub(crate) struct Example {
    pub(crate) name: &'static str,
    pub(crate) arrays: Vec<Elements>,
    pub(crate) launches: Vec<Launch>,
    /// Of some of the arrays, by number, what they are at the end.
    pub(crate) expected: Vec<(usize, Vec<Scalar>)>,
    /// How far a float may be from that, in parts of it or of 1.
    pub(crate) tolerance: f64,
}

/// One launch.
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) range: NdRange,
    pub(crate) arguments: Vec<Given>,
}

/// An argument: an array by its number, a scalar, or the extent of local memory.
#[derive(Clone, Copy)]
pub(crate) enum Given {
    Array(usize),
    Scalar(Scalar),
    Local(usize),
}
use Given::{Array, Local};

fn elements<T: Element>(shape: &[usize], values: &[T]) -> Elements {
    Elements { shape: shape.to_vec(), elements: scalars(values) }
}
fn scalars<T: Element>(values: &[T]) -> Vec<Scalar> {
    values.iter().map(|&value| value.to_scalar()).collect()
}
fn grouped(global: &[usize], group: &[usize]) -> NdRange {
    NdRange::in_groups(global, group)
}
/// Numbers from 0 to 1 that look random.
fn noise(n: usize) -> Vec<f32> {
    (0..n as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32).collect()
}

/// Their names, in their order.
pub(crate) const NAMES: [&str; 12] = [
    "reverse",
    "tiled_product",
    "block_reduction",
    "blelloch_scan",
    "histogram",
    "convolution",
    "jacobi",
    "n_body",
    "black_scholes",
    "mandelbrot",
    "bitonic_sort",
    "k_means",
];

/// All twelve, small.
///
/// # Errors
/// What the builder reports.
pub(crate) fn examples() -> Result<Vec<Example>> {
    Ok(vec![
        reverse()?,
        product()?,
        reduction()?,
        scan()?,
        histogram()?,
        convolution()?,
        jacobi()?,
        bodies()?,
        options()?,
        mandelbrot()?,
        sort()?,
        means()?,
    ])
}

fn reverse() -> Result<Example> {
    let (n, group) = (96, 32);
    let values: Vec<f32> = (0..n).map(|i| (i * 7 % 101) as f32).collect();
    let sum = |i: usize| values[i] + values[i / group * group + group - 1 - i % group];
    let arguments = vec![Array(0), Local(group)];
    Ok(Example {
        name: "reverse",
        expected: vec![(0, scalars(&(0..n).map(sum).collect::<Vec<f32>>()))],
        arrays: vec![elements(&[n], &values)],
        launches: vec![Launch { kernel: grouped::reverse()?, range: grouped(&[n], &[group]), arguments }],
        tolerance: 0.0,
    })
}

fn product() -> Result<Example> {
    let (rows, inner, columns, tile) = (9, 6, 7, 4);
    let a: Vec<f32> = (0..rows * inner).map(|i| (i % 13) as f32 - 6.0).collect();
    let b: Vec<f32> = (0..inner * columns).map(|i| (i % 7) as f32 - 3.0).collect();
    let dot =
        |i: usize| (0..inner).map(|m| a[i / columns * inner + m] * b[m * columns + i % columns]).sum::<f32>();
    let c: Vec<f32> = (0..rows * columns).map(dot).collect();
    let range = grouped(&[rows.next_multiple_of(tile), columns.next_multiple_of(tile)], &[tile, tile]);
    let arguments = vec![Array(0), Array(1), Array(2)];
    Ok(Example {
        name: "tiled_product",
        expected: vec![(2, scalars(&c))],
        arrays: vec![
            elements(&[rows, inner], &a),
            elements(&[inner, columns], &b),
            elements(&[rows, columns], &vec![-1_f32; rows * columns]),
        ],
        launches: vec![Launch { kernel: grouped::tiled_product::kernel::<4>()?, range, arguments }],
        tolerance: 0.0,
    })
}

fn reduction() -> Result<Example> {
    let (n, groups, size) = (300, 3, 32);
    // Small integers: every order of adding gives the same.
    let values: Vec<f32> = (0..n).map(|i| (i % 17) as f32).collect();
    let of = |g: usize| (0..n).filter(|i| i % (groups * size) / size == g).map(|i| values[i]).sum::<f32>();
    let arguments = vec![Array(0), Array(1), Local(size)];
    let range = grouped(&[groups * size], &[size]);
    Ok(Example {
        name: "block_reduction",
        expected: vec![(1, scalars(&(0..groups).map(of).collect::<Vec<f32>>()))],
        arrays: vec![elements(&[n], &values), elements(&[groups], &vec![-1_f32; groups])],
        launches: vec![Launch { kernel: grouped::block_reduction::kernel()?, range, arguments }],
        tolerance: 0.0,
    })
}

fn scan() -> Result<Example> {
    let (n, size) = (96, 32);
    let values: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let (mut sums, mut totals) = (Vec::new(), Vec::new());
    for part in values.chunks(size) {
        let mut sum = 0_u32;
        for &value in part {
            sums.push(sum);
            sum = sum.wrapping_add(value);
        }
        totals.push(sum);
    }
    let arguments = vec![Array(0), Array(1), Local(size)];
    Ok(Example {
        name: "blelloch_scan",
        arrays: vec![elements(&[n], &values), elements(&[n / size], &vec![0_u32; n / size])],
        expected: vec![(0, scalars(&sums)), (1, scalars(&totals))],
        launches: vec![Launch {
            kernel: grouped::blelloch::kernel()?,
            range: grouped(&[n], &[size]),
            arguments,
        }],
        tolerance: 0.0,
    })
}

fn histogram() -> Result<Example> {
    let (n, bins, size) = (500, 16, 32);
    let data: Vec<u8> = (0..n as u32).map(|i| (i * i / 3) as u8).collect();
    let mut counts = vec![0_u32; bins];
    data.iter().for_each(|&byte| counts[usize::from(byte) % bins] += 1);
    let range = grouped(&[2 * size], &[size]);
    let arguments = vec![Array(0), Array(1)];
    Ok(Example {
        name: "histogram",
        arrays: vec![elements(&[n], &data), elements(&[bins], &vec![0_u32; bins])],
        expected: vec![(1, scalars(&counts))],
        launches: vec![Launch { kernel: grouped::histogram::kernel::<16>()?, range, arguments }],
        tolerance: 0.0,
    })
}

fn convolution() -> Result<Example> {
    let (rows, columns, tile) = (11, 13, grouped::TILE);
    let image = noise(rows * columns);
    let weights = grouped::WEIGHTS.as_flattened();
    let at = |row: isize, column: isize| {
        let inside = (0..rows as isize).contains(&row) && (0..columns as isize).contains(&column);
        if inside { f64::from(image[row as usize * columns + column as usize]) } else { 0.0 }
    };
    let blurred = |i: usize| {
        let (row, column) = ((i / columns) as isize, (i % columns) as isize);
        (0..9)
            .map(|w| f64::from(weights[w]) * at(row + w as isize / 3 - 1, column + w as isize % 3 - 1))
            .sum::<f64>() as f32
    };
    let range = grouped(&[rows.next_multiple_of(tile), columns.next_multiple_of(tile)], &[tile, tile]);
    Ok(Example {
        name: "convolution",
        expected: vec![(1, scalars(&(0..rows * columns).map(blurred).collect::<Vec<f32>>()))],
        arrays: vec![
            elements(&[rows, columns], &image),
            elements(&[rows, columns], &vec![-1_f32; rows * columns]),
        ],
        launches: vec![Launch {
            kernel: grouped::convolution::kernel()?,
            range,
            arguments: vec![Array(0), Array(1)],
        }],
        tolerance: 1e-5,
    })
}

fn jacobi() -> Result<Example> {
    let (n, rounds) = (9, 4);
    let start = noise(n * n);
    let mut grid: Vec<f64> = start.iter().map(|&x| x.into()).collect();
    for _ in 0..rounds {
        let before = grid.clone();
        for row in 1..n - 1 {
            for column in 1..n - 1 {
                let i = row * n + column;
                grid[i] = 0.2 * (before[i] + before[i - 1] + before[i + 1] + before[i - n] + before[i + n]);
            }
        }
    }
    let kernel = items::jacobi()?;
    let launch = |round: usize| Launch {
        kernel: kernel.clone(),
        range: [n, n].into(),
        arguments: vec![Array(round % 2), Array(1 - round % 2)],
    };
    Ok(Example {
        name: "jacobi",
        arrays: vec![elements(&[n, n], &start), elements(&[n, n], &start)],
        launches: (0..rounds).map(launch).collect(),
        expected: vec![(0, scalars(&grid.iter().map(|&x| x as f32).collect::<Vec<f32>>()))],
        tolerance: 1e-5,
    })
}

fn bodies() -> Result<Example> {
    let (n, size) = (40, 16);
    let place: Vec<f32> = noise(3 * n);
    let softening = 0.01;
    let mut pull = vec![0_f32; 3 * n];
    for i in 0..n {
        let mut sum = [0_f64; 3];
        for j in 0..n {
            let d: [f64; 3] =
                std::array::from_fn(|a| f64::from(place[3 * j + a]) - f64::from(place[3 * i + a]));
            let square = d.iter().map(|x| x * x).sum::<f64>() + softening;
            (0..3).for_each(|a| sum[a] += d[a] / (square * square.sqrt()));
        }
        (0..3).for_each(|a| pull[3 * i + a] = sum[a] as f32);
    }
    let range = grouped(&[n.next_multiple_of(size)], &[size]);
    let arguments = vec![Array(0), Array(1), Given::Scalar(Scalar::F32(softening as f32))];
    Ok(Example {
        name: "n_body",
        arrays: vec![elements(&[n, 3], &place), elements(&[n, 3], &vec![0_f32; 3 * n])],
        launches: vec![Launch { kernel: nbody::bodies::kernel::<16>()?, range, arguments }],
        expected: vec![(1, scalars(&pull))],
        tolerance: 1e-3,
    })
}

fn options() -> Result<Example> {
    let n = 100;
    let (price, strike): (Vec<f32>, Vec<f32>) =
        noise(n).iter().map(|&x| (10.0 + 40.0 * x, 15.0 + 30.0 * (1.0 - x) * x)).unzip();
    let years: Vec<f32> = noise(2 * n)[n..].iter().map(|x| 0.5 + x).collect();
    let (rate, volatility) = (0.02_f64, 0.3_f64);
    // The normal distribution by Simpson's rule, since the kernel asks the error function.
    let normal = |x: f64| {
        let steps = 2000;
        let h = x / f64::from(steps);
        let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
        let weight = |i: i32| if i == 0 || i == steps { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        0.5 + (0..=steps).map(|i| weight(i) * density(f64::from(i) * h)).sum::<f64>() * h / 3.0
    };
    let (mut calls, mut puts) = (Vec::new(), Vec::new());
    for i in 0..n {
        let [s, k, t] = [price[i], strike[i], years[i]].map(f64::from);
        let d1 = ((s / k).ln() + (rate + volatility * volatility / 2.0) * t) / (volatility * t.sqrt());
        let d2 = d1 - volatility * t.sqrt();
        let call = s * normal(d1) - k * (-rate * t).exp() * normal(d2);
        calls.push(call as f32);
        puts.push((call - s + k * (-rate * t).exp()) as f32);
    }
    let scalar = |x: f64| Given::Scalar(Scalar::F32(x as f32));
    let arguments = vec![Array(0), Array(1), Array(2), Array(3), Array(4), scalar(rate), scalar(volatility)];
    Ok(Example {
        name: "black_scholes",
        arrays: vec![
            elements(&[n], &price),
            elements(&[n], &strike),
            elements(&[n], &years),
            elements(&[n], &vec![0_f32; n]),
            elements(&[n], &vec![0_f32; n]),
        ],
        launches: vec![Launch {
            kernel: items::black_scholes::kernel::<f32>()?,
            range: [n].into(),
            arguments,
        }],
        expected: vec![(3, scalars(&calls)), (4, scalars(&puts))],
        tolerance: 1e-4,
    })
}

fn mandelbrot() -> Result<Example> {
    let (rows, columns, most) = (12, 17, 40);
    let escape = |i: usize| {
        // As the kernel computes, in the same precision: near the edge a digit decides.
        let (cx, cy) = ((i % columns) as f32 * 0.1875 - 2.25, (i / columns) as f32 * 0.1875 - 1.125);
        let (mut x, mut y, mut rounds) = (0_f32, 0_f32, 0);
        while rounds < most && x * x + y * y <= 4.0 {
            (x, y) = (x * x - y * y + cx, x * y * 2.0 + cy);
            rounds += 1;
        }
        rounds
    };
    let number = |x: f32| Given::Scalar(Scalar::F32(x));
    let arguments =
        vec![Given::Scalar(Scalar::I32(most)), number(-2.25), number(-1.125), number(0.1875), Array(0)];
    Ok(Example {
        name: "mandelbrot",
        arrays: vec![elements(&[rows, columns], &vec![-1_i32; rows * columns])],
        launches: vec![Launch {
            kernel: mandelbrot::mandelbrot::kernel::<f32>()?,
            range: [rows, columns].into(),
            arguments,
        }],
        expected: vec![(0, scalars(&(0..rows * columns).map(escape).collect::<Vec<i32>>()))],
        tolerance: 0.0,
    })
}

fn sort() -> Result<Example> {
    let (n, size) = (64, 16);
    let values: Vec<i32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) as i32 >> 8).collect();
    let mut sorted = values.clone();
    sorted.sort_unstable();
    // Within groups by local memory; where partners lie further apart, a launch for each step.
    let (in_group, step) = (grouped::bitonic_group::kernel::<16>()?, items::bitonic_step::kernel()?);
    let range = || grouped(&[n], &[size]);
    let number = |x: usize| Given::Scalar(Scalar::I64(x as i64));
    let mut launches = Vec::new();
    let mut run = 2;
    while run <= n {
        let mut distance = run / 2;
        while distance >= size {
            let arguments = vec![Array(0), number(run), number(distance)];
            launches.push(Launch { kernel: step.clone(), range: [n].into(), arguments });
            distance /= 2;
        }
        let arguments = vec![Array(0), number(run), number(distance)];
        launches.push(Launch { kernel: in_group.clone(), range: range(), arguments });
        run *= 2;
    }
    Ok(Example {
        name: "bitonic_sort",
        arrays: vec![elements(&[n], &values)],
        launches,
        expected: vec![(0, scalars(&sorted))],
        tolerance: 0.0,
    })
}

fn means() -> Result<Example> {
    let (n, k, rounds, size) = (90, 4, 3, 16);
    // On a grid of 1/64, so that every order of adding gives the same.
    let points: Vec<f32> = noise(2 * n).iter().map(|x| (x * 64.0).floor() / 64.0).collect();
    let start = points[..2 * k].to_vec();
    let mut centres = start.clone();
    let mut nearest = vec![0_i32; n];
    for _ in 0..rounds {
        let (mut sums, mut counts) = (vec![0_f32; 2 * k], vec![0_i32; k]);
        for i in 0..n {
            let distance = |c: usize| {
                let (x, y) = (points[2 * i] - centres[2 * c], points[2 * i + 1] - centres[2 * c + 1]);
                x * x + y * y
            };
            let best = (1..k).fold(0, |best, c| if distance(c) < distance(best) { c } else { best });
            nearest[i] = best as i32;
            counts[best] += 1;
            (0..2).for_each(|a| sums[2 * best + a] += points[2 * i + a]);
        }
        for c in 0..k {
            (0..2).for_each(|a| centres[2 * c + a] = sums[2 * c + a] / counts[c].max(1) as f32);
        }
    }
    let (assign, update) = (kmeans::assign::kernel()?, kmeans::centres::kernel()?);
    let mut launches = Vec::new();
    for _ in 0..rounds {
        launches.push(Launch {
            kernel: assign.clone(),
            range: grouped(&[n.next_multiple_of(size)], &[size]),
            arguments: vec![Array(0), Array(1), Array(2), Array(3), Array(4), Local(2 * k), Local(k)],
        });
        let arguments = vec![Array(1), Array(3), Array(4)];
        launches.push(Launch { kernel: update.clone(), range: [k].into(), arguments });
    }
    Ok(Example {
        name: "k_means",
        arrays: vec![
            elements(&[n, 2], &points),
            elements(&[k, 2], &start),
            elements(&[n], &vec![-1_i32; n]),
            elements(&[k, 2], &vec![0_f32; 2 * k]),
            elements(&[k], &vec![0_i32; k]),
        ],
        launches,
        expected: vec![(1, scalars(&centres)), (2, scalars(&nearest))],
        tolerance: 1e-6,
    })
}
