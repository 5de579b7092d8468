//! The matrix exponential, by scaling and squaring around a Padé approximant (N. J. Higham, "The scaling and squaring method
//! for the matrix exponential revisited", 2005).
//!
//! A matrix of a large norm is not always one that has to be halved often: `[[1, 1e16], [0, -1]]` has the square 1, and each halving
//! and squaring too many loses digits. So such a matrix is balanced first, which makes its norm that of a similar one, and then its
//! powers say how often (A. H. Al-Mohy and N. J. Higham, "A new scaling and squaring algorithm for the matrix exponential",
//! 2009): the approximant's error depends on roots of their norms, which are often much below the norm itself.

use dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::lu::partial_pivoting::{factor, solve};
use faer::linalg::matmul::matmul;
use faer::perm::PermRef;
use faer::{Accum, MatMut, MatRef};
use num_complex::Complex;
use stridewise_core::memory::heap;
use stridewise_core::{Result, UsmArray};

use super::balance::Balance;
use super::field::{ALONE, Field, SCRATCH, buffer, with_field, zeros};
use super::scale::{scale_all, times_power};
use super::stack::Stack;
use super::wide::Wide;
use crate::batches::{Rows, each};
use crate::place;

/// The coefficients of the approximant of degree 13: of the numerator, and with alternating signs of the denominator. All times a power
/// of two, which the quotient does not see, so that the largest is below 1: products with large elements stay finite.
const PADE: [f64; 14] = scaled([
    64_764_752_532_480_000.0,
    32_382_376_266_240_000.0,
    7_771_770_303_897_600.0,
    1_187_353_796_428_800.0,
    129_060_195_264_000.0,
    10_559_470_521_600.0,
    670_442_572_800.0,
    33_522_128_640.0,
    1_323_241_920.0,
    40_840_800.0,
    960_960.0,
    16_380.0,
    182.0,
    1.0,
]);

/// Numbers, each times 2^-56.
const fn scaled(mut numbers: [f64; 14]) -> [f64; 14] {
    let mut i = 0;
    while i < numbers.len() {
        numbers[i] /= (1_u64 << 56) as f64;
        i += 1;
    }
    numbers
}
/// Up to this norm the approximant is exact to double precision.
const NORM: f64 = 5.371_920_351_148_152;
/// Up to this root of the norms of powers it is.
const ROOT: f64 = 4.25;

/// Square matrices in column-major order.
struct Scratch<T> {
    n: usize,
    a: Vec<T>,
    powers: [Vec<T>; 3],
    sum: Vec<T>,
    odd: Vec<T>,
    even: Vec<T>,
    diagonal: Vec<T>,
    order: Vec<usize>,
    places: Vec<usize>,
    balance: Balance,
    memory: MemBuffer,
}

impl<T: Field> Scratch<T> {
    fn new(n: usize) -> Result<Self> {
        let square = || zeros::<T>(n * n);
        let needed = StackReq::any_of(&[
            factor::lu_in_place_scratch::<usize, T>(n, n, ALONE, Default::default()),
            solve::solve_in_place_scratch::<usize, T>(n, n, ALONE),
        ]);
        Ok(Self {
            n,
            a: square()?,
            powers: [square()?, square()?, square()?],
            sum: square()?,
            odd: square()?,
            even: square()?,
            diagonal: zeros::<T>(n)?,
            order: heap::zeroed(SCRATCH, n)?,
            places: heap::zeroed(SCRATCH, n)?,
            balance: Balance::new(heap::zeroed(SCRATCH, n)?),
            memory: buffer(needed)?,
        })
    }
}

fn number<T: Wide>(value: f64) -> T {
    T::narrow(Complex::new(value, 0.0))
}

fn product<T: Field>(n: usize, out: &mut [T], a: &[T], b: &[T]) {
    let (a, b) = (MatRef::from_column_major_slice(a, n, n), MatRef::from_column_major_slice(b, n, n));
    matmul(MatMut::from_column_major_slice_mut(out, n, n), Accum::Replace, a, b, number::<T>(1.0), ALONE);
}

/// Makes elements of a matrix's square 0 that are no more than what rounding leaves where the terms cancel: an exponential would make
/// them the largest. `room` is for the magnitudes and their square.
fn without_noise<T: Field>(n: usize, square: &mut [T], matrix: &[T], room: [&mut Vec<T>; 2]) {
    let [magnitudes, terms] = room;
    for (magnitude, element) in magnitudes.iter_mut().zip(matrix) {
        *magnitude = number(element.wide().norm());
    }
    product(n, terms, magnitudes, magnitudes);
    let noise = times_power(n as f64, T::EPSILON_POWER);
    for (element, terms) in square.iter_mut().zip(&*terms) {
        if element.wide().norm() <= noise * terms.wide().re {
            *element = T::default();
        }
    }
}

/// The sum of powers times coefficients, and of the identity times another.
fn polynomial<T: Field>(
    n: usize,
    out: &mut [T],
    powers: &[Vec<T>; 3],
    coefficients: [f64; 3],
    identity: f64,
) {
    let factors = coefficients.map(|c| number::<T>(c));
    for (i, element) in out.iter_mut().enumerate() {
        *element = factors[0] * powers[0][i] + factors[1] * powers[1][i] + factors[2] * powers[2][i];
    }
    for i in 0..n {
        out[i * n + i] += number::<T>(identity);
    }
}

/// The largest sum of magnitudes of a column, of a matrix in column-major order; NaN where there is one.
fn norm<T: Wide>(n: usize, matrix: &[T]) -> f64 {
    let columns = matrix.chunks_exact(n.max(1));
    let sums = columns.map(|column| column.iter().map(|element| element.wide().norm()).sum::<f64>());
    sums.fold(0.0, |most: f64, next| if next > most || next.is_nan() { next } else { most })
}

/// How often a number that is not 0 has to be halved until it is at most another, or doubled until it is about that, as a negative
/// number.
fn halvings(number: f64, most: f64) -> i32 {
    (number / most).log2().ceil() as i32
}

/// The Padé approximant of degree 13 of a matrix's exponential, in its place; `powers` are its 2nd, 4th and 6th.
fn approximant<T: Field>(
    n: usize,
    a: &mut [T],
    powers: &[Vec<T>; 3],
    [sum, odd, even]: [&mut Vec<T>; 3],
    (order, places): (&mut [usize], &mut [usize]),
    memory: &mut MemBuffer,
) {
    // The odd terms, then the even ones.
    polynomial(n, sum, powers, [PADE[9], PADE[11], PADE[13]], 0.0);
    product(n, even, &powers[2], sum);
    polynomial(n, sum, powers, [PADE[3], PADE[5], PADE[7]], PADE[1]);
    for (sum, high) in sum.iter_mut().zip(&*even) {
        *sum += *high;
    }
    product(n, odd, a, sum);
    polynomial(n, sum, powers, [PADE[8], PADE[10], PADE[12]], 0.0);
    product(n, even, &powers[2], sum);
    polynomial(n, sum, powers, [PADE[2], PADE[4], PADE[6]], PADE[0]);
    for (even, low) in even.iter_mut().zip(&*sum) {
        *even += *low;
    }
    // The quotient of (even + odd) by (even - odd).
    for i in 0..n * n {
        sum[i] = even[i] - odd[i];
        a[i] = even[i] + odd[i];
    }
    let (_, _) = factor::lu_in_place(
        MatMut::from_column_major_slice_mut(&mut *sum, n, n),
        order,
        places,
        ALONE,
        MemStack::new(memory),
        Default::default(),
    );
    let factors = MatRef::from_column_major_slice(sum, n, n);
    let order = PermRef::new_checked(order, places, n);
    let quotient = MatMut::from_column_major_slice_mut(a, n, n);
    solve::solve_in_place(factors, factors, order, quotient, ALONE, MemStack::new(memory));
}

/// Sets the diagonal of the exponential of a triangle that was halved so often, from the diagonal of what it was: squarings alone would
/// have lost what is small beside the largest element (Al-Mohy and Higham).
fn set_diagonal<T: Field>(matrix: &mut [T], diagonal: &[T], halved: i32) {
    for (element, value) in matrix.iter_mut().step_by(diagonal.len() + 1).zip(diagonal) {
        let value = value.wide();
        let [re, im] = [value.re, value.im].map(|part| times_power(part, -halved));
        // Of what is infinite there is no direction.
        *element =
            T::narrow(if im == 0.0 { Complex::new(re.exp(), 0.0) } else { Complex::new(re, im).exp() });
    }
}

/// The exponential of a matrix in row-major order.
fn exponential<T: Field>(scratch: &mut Scratch<T>, matrix: &[T], out: &mut [T]) {
    let n = scratch.n;
    let Scratch { a, powers, sum, odd, even, diagonal, order, places, balance, memory, .. } = scratch;
    // A lower triangle is computed as an upper one, whose zeros stay: of the quotient below it no rows are exchanged.
    let is_lower =
        (0..n).all(|row| matrix[row * n + row + 1..(row + 1) * n].iter().all(|x| *x == T::default()));
    match is_lower {
        true => a.copy_from_slice(matrix),
        false => MatMut::from_column_major_slice_mut(&mut *a, n, n)
            .copy_from(MatRef::from_row_major_slice(matrix, n, n)),
    }
    let given = norm(n, a);
    if !given.is_finite() && a.iter().any(|element| !element.wide().is_finite()) {
        out.fill(number(f64::NAN));
        return;
    }
    let is_triangle = a
        .chunks_exact(n.max(1))
        .enumerate()
        .all(|(column, elements)| elements[column + 1..].iter().all(|element| *element == T::default()));
    diagonal.iter_mut().zip(a.iter().step_by(n + 1)).for_each(|(kept, element)| *kept = *element);
    let is_large = given > NORM;
    // So often, so that sums of magnitudes are finite.
    let mut squarings = if given.is_finite() { 0 } else { 32 };
    scale_all(&mut *a, -squarings);
    if is_large {
        balance.rows_and_columns(a);
        let more = halvings(norm(n, a), NORM).max(0);
        scale_all(&mut *a, -more);
        squarings += more;
    }
    let [second, fourth, sixth] = powers;
    loop {
        product(n, second, a, a);
        if is_large {
            without_noise(n, second, a, [odd, even]);
        }
        product(n, fourth, second, second);
        product(n, sixth, fourth, second);
        if squarings == 0 {
            break;
        }
        // Roots of the norms of the 4th, 6th, 8th and 10th power; the latter two are needed for nothing else.
        let root = |power: &[T], degree: f64| norm(n, power).powf(degree.recip());
        let [fourth_root, sixth_root] = [root(fourth, 4.0), root(sixth, 6.0)];
        product(n, odd, fourth, fourth);
        product(n, even, fourth, sixth);
        let [eighth_root, tenth_root] = [root(odd, 8.0), root(even, 10.0)];
        let most =
            fourth_root.max(sixth_root).min(sixth_root.max(eighth_root)).min(eighth_root.max(tenth_root));
        // Of powers that vanish in the dtype no more is known than this: then the matrix is doubled so often, and looked at again.
        // Otherwise its powers are known, too.
        let seen = times_power(1.0, (T::EPSILON_POWER - T::SAFE_POWER) / 5);
        let needed = squarings + halvings(most.max(seen), ROOT);
        let fewer = squarings - needed.clamp(0, squarings);
        squarings -= fewer;
        scale_all(&mut *a, fewer);
        if most >= seen || fewer == 0 {
            scale_all(&mut *second, 2 * fewer);
            scale_all(&mut *fourth, 4 * fewer);
            scale_all(&mut *sixth, 6 * fewer);
            break;
        }
    }
    // Of a matrix whose powers vanish the series ends, and is exact; the quotient's denominator would be near to singular.
    match squarings == 0 && fourth.iter().all(|element| *element == T::default()) {
        true => {
            product(n, odd, a, second);
            polynomial(n, sum, powers, [0.5, 0.0, 0.0], 1.0);
            for ((a, even), third) in a.iter_mut().zip(&*sum).zip(&*odd) {
                *a += *even + *third * number::<T>(1.0 / 6.0);
            }
        }
        false => approximant(n, a, powers, [sum, odd, even], (order, places), memory),
    }
    if is_triangle && squarings > 0 {
        set_diagonal(a, diagonal, squarings);
    }
    for halved in (0..squarings).rev() {
        product(n, odd, a, a);
        std::mem::swap(a, odd);
        if is_triangle {
            set_diagonal(a, diagonal, halved);
        }
    }
    if is_large {
        balance.undo(a);
    }
    match is_lower {
        true => out.copy_from_slice(a),
        false => {
            MatMut::from_row_major_slice_mut(out, n, n).copy_from(MatRef::from_column_major_slice(a, n, n))
        }
    }
}

pub(super) fn expm(x: &UsmArray) -> Result<UsmArray> {
    let stack = Stack::square("x", x)?;
    stack.check_place()?;
    let n = stack.rows;
    with_field!(stack.dtype, T => {
        let (source, mut values) = (place::read::<T>(x)?, stack.room::<T>(&[n, n])?);
        let cells = Rows::new(&mut values, n * n);
        let scratch = || Scratch::<T>::new(n);
        each(stack.device(), stack.count, stack.cost(16.0), cells, scratch, |scratch, out, number| {
            exponential(scratch, &source[number * n * n..][..n * n], out.next());
            Ok(())
        })?;
        stack.array(&[n, n], &values)
    })
}
