//! Transforms and decompositions, by plain loops.

use std::f64::consts::TAU;

/// What a transform makes of what.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sort {
    Forward,
    Inverse,
    FromReal,
    ToReal,
}

/// A plan.
#[derive(Clone, Copy, Default)]
pub(crate) struct Transform {
    pub(crate) points: usize,
    pub(crate) rows: usize,
    pub(crate) stream: usize,
    pub(crate) has_room: bool,
}

/// Numbers from an address on, which is of memory by the promise of who asked for what is computed.
struct Numbers {
    start: usize,
    double: bool,
}

impl Numbers {
    fn get(&self, number: usize) -> f64 {
        let place = |bytes: usize| std::ptr::with_exposed_provenance::<u8>(self.start + bytes * number);
        // SAFETY: the numbers are memory (see the type).
        unsafe {
            if self.double { place(8).cast::<f64>().read() } else { place(4).cast::<f32>().read().into() }
        }
    }

    fn set(&self, number: usize, value: f64) {
        let place = |bytes: usize| std::ptr::with_exposed_provenance_mut::<u8>(self.start + bytes * number);
        // SAFETY: as above; nobody else uses them meanwhile.
        unsafe {
            if self.double {
                place(8).cast::<f64>().write(value)
            } else {
                place(4).cast::<f32>().write(value as f32)
            }
        }
    }
}

impl Transform {
    /// Computes all rows.
    pub(crate) fn run(&self, sort: Sort, double: bool, (input, output): (usize, usize)) {
        let (from, to) = (Numbers { start: input, double }, Numbers { start: output, double });
        let (n, half) = (self.points, self.points / 2 + 1);
        let (given, made) = match sort {
            Sort::FromReal => (n, half),
            Sort::ToReal => (half, n),
            _ => (n, n),
        };
        let sign = if matches!(sort, Sort::Forward | Sort::FromReal) { -1.0 } else { 1.0 };
        for row in 0..self.rows {
            let point = |at: usize| match sort {
                Sort::FromReal => [from.get(row * given + at), 0.0],
                // The others mirror these.
                Sort::ToReal if at >= half => {
                    let place = 2 * (row * given + n - at);
                    [from.get(place), -from.get(place + 1)]
                }
                _ => [from.get(2 * (row * given + at)), from.get(2 * (row * given + at) + 1)],
            };
            let points: Vec<[f64; 2]> = (0..n).map(point).collect();
            for k in 0..made {
                let mut sum = [0.0; 2];
                for (at, [re, im]) in points.iter().enumerate() {
                    let (sin, cos) = (sign * TAU * (at * k % n) as f64 / n as f64).sin_cos();
                    sum = [sum[0] + re * cos - im * sin, sum[1] + re * sin + im * cos];
                }
                let place = row * made + k;
                if sort == Sort::ToReal {
                    to.set(place, sum[0]);
                } else {
                    to.set(2 * place, sum[0]);
                    to.set(2 * place + 1, sum[1]);
                }
            }
        }
    }
}

/// Cholesky's lower triangle of a matrix of doubles, column after column.
pub(crate) fn cholesky(n: usize, a: usize, info: usize) {
    let matrix = Numbers { start: a, double: true };
    let mut failed = 0;
    'columns: for column in 0..n {
        for row in column..n {
            let products = (0..column).map(|k| matrix.get(k * n + row) * matrix.get(k * n + column));
            let rest = matrix.get(column * n + row) - products.sum::<f64>();
            if row == column && rest <= 0.0 {
                failed = column as i32 + 1;
                break 'columns;
            }
            let root = matrix.get(column * n + column);
            matrix.set(column * n + row, if row == column { rest.sqrt() } else { rest / root });
        }
    }
    // SAFETY: the place is memory, by the promise of who asked for this.
    unsafe { std::ptr::with_exposed_provenance_mut::<i32>(info).write(failed) };
}
