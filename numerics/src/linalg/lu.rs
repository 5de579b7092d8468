//! LU with partial pivoting, and what is computed by it: determinants, solutions, inverses.

use dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::{factor, inverse, solve};
use faer::perm::PermRef;
use faer::traits::math_utils::{abs1, recip};
use faer::{MatMut, MatRef};
use num_complex::Complex;
use stridewise_core::{Error, Result, UsmArray, backend::Dims, broadcast_shapes, common_queue, result_type};

use super::device;
use super::field::{ALONE, FEW, Field, buffer, with_field, zeros};
use super::stack::Stack;
use super::wide::Wide;
use crate::batches::{Rows, each};
use crate::device::on_device;
use crate::place;

/// Divides elements. Real quotients are rounded once; complex ones are products with a reciprocal, that of a number large enough to
/// have one.
#[inline(always)]
fn divide<T: Field>(elements: &mut [T], divisor: T) {
    if T::IS_REAL {
        elements.iter_mut().for_each(|element| *element /= divisor);
        return;
    }
    let inverse = recip(&divisor);
    if inverse.wide().is_finite() {
        elements.iter_mut().for_each(|element| *element *= inverse);
        return;
    }
    let scale = T::narrow(Complex::new((1_u64 << 60) as f64, 0.0));
    let inverse = recip(&(divisor * scale));
    elements.iter_mut().for_each(|element| *element = *element * scale * inverse);
}

/// A factored matrix, and the scratch for that.
struct Lu<T> {
    rows: usize,
    columns: usize,
    /// In column-major order: U, and L but for its diagonal, which is ones.
    factors: Vec<T>,
    order: Vec<usize>,
    places: Vec<usize>,
    odd: bool,
    memory: MemBuffer,
}

impl<T: Field> Lu<T> {
    /// Scratch for matrices, and `columns` of right-hand sides.
    fn new(rows: usize, columns: usize, sides: usize) -> Result<Self> {
        let needed = dyn_stack::StackReq::any_of(&[
            factor::lu_in_place_scratch::<usize, T>(rows, columns, ALONE, Default::default()),
            solve::solve_in_place_scratch::<usize, T>(rows, sides, ALONE),
            inverse::inverse_scratch::<usize, T>(rows, ALONE),
        ]);
        Ok(Self {
            rows,
            columns,
            factors: zeros(rows * columns)?,
            order: stridewise_core::memory::heap::zeroed(super::field::SCRATCH, rows)?,
            places: stridewise_core::memory::heap::zeroed(super::field::SCRATCH, rows)?,
            odd: false,
            memory: buffer(needed)?,
        })
    }

    fn factor(&mut self, matrix: &[T]) {
        match (self.rows, self.columns) {
            // Of these extents the loops are unrolled.
            (2, 2) => self.factor_plainly(2, 2, matrix),
            (3, 3) => self.factor_plainly(3, 3, matrix),
            (4, 4) => self.factor_plainly(4, 4, matrix),
            (m, n) if m.max(n) <= FEW => self.factor_plainly(m, n, matrix),
            (m, n) => {
                let mut factors = MatMut::from_column_major_slice_mut(&mut self.factors, m, n);
                factors.copy_from(MatRef::from_row_major_slice(matrix, m, n));
                let stack = MemStack::new(&mut self.memory);
                let (order, places) = (&mut self.order, &mut self.places);
                let (info, _) = factor::lu_in_place(factors, order, places, ALONE, stack, Default::default());
                self.odd = info.transposition_count % 2 == 1;
                // The library multiplies by a pivot's reciprocal, so that what comes after one of 0, or nearly, is NaN.
                let has_none = |pivot: T| pivot.wide().is_finite() && !recip(&pivot).wide().is_finite();
                if (0..m.min(n)).any(|i| has_none(self.at(i, i))) {
                    self.factor_plainly(m, n, matrix);
                }
            }
        }
    }

    /// Factors a matrix step by step. A column that is zero from the diagonal on is left as it is.
    #[inline(always)]
    fn factor_plainly(&mut self, m: usize, n: usize, matrix: &[T]) {
        let (matrix, factors, order) = (&matrix[..m * n], &mut self.factors[..m * n], &mut self.order[..m]);
        for row in 0..m {
            order[row] = row;
            for column in 0..n {
                factors[column * m + row] = matrix[row * n + column];
            }
        }
        self.odd = false;
        for column in 0..m.min(n) {
            let mut pivot = column;
            for row in column + 1..m {
                if abs1(&factors[column * m + row]) > abs1(&factors[column * m + pivot]) {
                    pivot = row;
                }
            }
            if pivot != column {
                (0..n).for_each(|j| factors.swap(j * m + pivot, j * m + column));
                order.swap(pivot, column);
                self.odd = !self.odd;
            }
            let divisor = factors[column * m + column];
            if divisor == T::default() {
                continue;
            }
            divide(&mut factors[column * m + column + 1..column * m + m], divisor);
            for j in column + 1..n {
                let above = factors[j * m + column];
                for row in column + 1..m {
                    let product = factors[column * m + row] * above;
                    factors[j * m + row] -= product;
                }
            }
        }
        for (place, &row) in order.iter().enumerate() {
            self.places[row] = place;
        }
    }

    /// Makes the solutions of right-hand sides, as many as columns, out of these, both in row-major order.
    fn solve(&mut self, given: &[T], out: &mut [T], sides: usize) {
        match (self.rows, sides) {
            (2, 2) => self.solve_plainly(2, 2, given, out),
            (3, 3) => self.solve_plainly(3, 3, given, out),
            (4, 4) => self.solve_plainly(4, 4, given, out),
            (n, k) if n <= FEW => self.solve_plainly(n, k, given, out),
            (n, k) => {
                out.copy_from_slice(given);
                let (factors, order, memory) = self.parts();
                let out = MatMut::from_row_major_slice_mut(out, n, k);
                solve::solve_in_place(factors, factors, order, out, ALONE, memory);
            }
        }
    }

    /// Solves by the two triangles, one after the other.
    #[inline(always)]
    fn solve_plainly(&self, n: usize, k: usize, given: &[T], out: &mut [T]) {
        let (given, out, factors) = (&given[..n * k], &mut out[..n * k], &self.factors[..n * n]);
        let subtract = |out: &mut [T], row: usize, other: usize| {
            let factor = factors[other * n + row];
            for j in 0..k {
                let product = factor * out[other * k + j];
                out[row * k + j] -= product;
            }
        };
        for row in 0..n {
            let from = self.order[row] * k;
            out[row * k..][..k].copy_from_slice(&given[from..][..k]);
            (0..row).for_each(|other| subtract(out, row, other));
        }
        for row in (0..n).rev() {
            (row + 1..n).for_each(|other| subtract(out, row, other));
            divide(&mut out[row * k..][..k], factors[row * n + row]);
        }
    }

    fn at(&self, row: usize, column: usize) -> T {
        self.factors[column * self.rows + row]
    }

    fn diagonal(&self) -> impl Iterator<Item = Complex<f64>> {
        (0..self.rows.min(self.columns)).map(|i| self.at(i, i).wide())
    }

    /// That of the order of rows in a determinant.
    fn sign(&self) -> f64 {
        if self.odd { -1.0 } else { 1.0 }
    }

    fn is_singular(&self) -> bool {
        self.diagonal().any(|pivot| pivot == Complex::ZERO)
    }

    /// The factors, the order of rows, and scratch.
    fn parts(&mut self) -> (MatRef<'_, T>, PermRef<'_, usize>, &mut MemStack) {
        (
            MatRef::from_column_major_slice(&self.factors, self.rows, self.columns),
            PermRef::new_checked(&self.order, &self.places, self.rows),
            MemStack::new(&mut self.memory),
        )
    }
}

fn singular(stack: &Stack<'_>, number: usize) -> Error {
    stack.refuse(number, "a singular matrix", "an invertible one", "use `lstsq` or `pinv`")
}

/// A product of many factors, without overflow on the way: a number and an exponent of [`STEP`].
struct Product(Complex<f64>, i32);
/// A power of two.
const STEP: f64 = 1.157_920_892_373_162e77;

impl Product {
    fn of(factors: impl Iterator<Item = Complex<f64>>) -> Self {
        let scaled = |mut value: Complex<f64>, exponent: &mut i32| {
            for _ in 0..8 {
                let size = value.re.abs().max(value.im.abs());
                if size > STEP && size.is_finite() {
                    value /= STEP;
                    *exponent += 1;
                } else if size < STEP.recip() && size > 0.0 {
                    value *= STEP;
                    *exponent -= 1;
                }
            }
            value
        };
        let mut exponent = 0;
        let product = factors.fold(Complex::new(1.0, 0.0), |product, factor| {
            let factor = scaled(factor, &mut exponent);
            scaled(product * factor, &mut exponent)
        });
        Self(product, exponent)
    }

    fn value(self) -> Complex<f64> {
        // More steps than this are infinity or 0 anyway.
        let steps = self.1.clamp(-16, 16);
        let step = if steps < 0 { STEP.recip() } else { STEP };
        (0..steps.abs()).fold(self.0, |value, _| value * step)
    }
}

pub(super) fn det(x: &UsmArray) -> Result<UsmArray> {
    let stack = Stack::square("x", x)?;
    if let Some(result) = on_device(x, || device::det(&stack)) {
        return result;
    }
    stack.check_place()?;
    with_field!(stack.dtype, T => {
        let (source, mut values) = (place::read::<T>(x)?, stack.room::<T>(&[])?);
        let n = stack.rows;
        let cells = Rows::new(&mut values, 1);
        each(stack.device(), stack.count, stack.cost(1.0), cells, || Lu::<T>::new(n, n, 0), |lu, out, number| {
            lu.factor(&source[number * n * n..][..n * n]);
            out.next()[0] = T::narrow(Product::of(lu.diagonal()).value() * lu.sign());
            Ok(())
        })?;
        stack.array(&[], &values)
    })
}

pub(super) fn slogdet(x: &UsmArray) -> Result<(UsmArray, UsmArray)> {
    let stack = Stack::square("x", x)?;
    if let Some(result) = on_device(x, || device::slogdet(&stack)) {
        return result;
    }
    stack.check_place()?;
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let (mut signs, mut logs) = (stack.room::<T>(&[])?, stack.room::<<T as Field>::Part>(&[])?);
        let n = stack.rows;
        let cells = (Rows::new(&mut signs, 1), Rows::new(&mut logs, 1));
        each(stack.device(), stack.count, stack.cost(1.0), cells, || Lu::<T>::new(n, n, 0), |lu, out, number| {
            lu.factor(&source[number * n * n..][..n * n]);
            let (mut sign, mut log) = (Complex::new(lu.sign(), 0.0), 0.0);
            for pivot in lu.diagonal() {
                let size = pivot.norm();
                sign = if size == 0.0 { Complex::ZERO } else { sign * (pivot / size) };
                log += size.ln();
            }
            out.0.next()[0] = T::narrow(sign);
            out.1.next()[0] = <<T as Field>::Part as Wide>::narrow(Complex::new(log, 0.0));
            Ok(())
        })?;
        Ok((stack.array(&[], &signs)?, stack.real(&[], &logs)?))
    })
}

/// The inverses; infinite where `lenient` and a matrix is singular.
pub(super) fn inv(x: &UsmArray, lenient: bool) -> Result<UsmArray> {
    let stack = Stack::square("x", x)?;
    // One that is singular may be infinite, which is for the processor.
    if !lenient && let Some(result) = on_device(x, || device::inv(&stack)) {
        return result;
    }
    stack.check_place()?;
    let n = stack.rows;
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let mut identity = zeros::<T>(if n <= FEW { n * n } else { 0 })?;
        identity.iter_mut().step_by(n + 1).for_each(|one| *one = T::narrow(Complex::new(1.0, 0.0)));
        let scratch = || Lu::<T>::new(n, n, n);
        let one = |lu: &mut Lu<T>, out: &mut Rows<'_, T>, number: usize| {
            lu.factor(&source[number * n * n..][..n * n]);
            let out = out.next();
            if lu.is_singular() {
                out.fill(T::narrow(Complex::new(f64::INFINITY, 0.0)));
                return if lenient { Ok(()) } else { Err(singular(&stack, number)) };
            }
            if n <= FEW {
                lu.solve(&identity, out, n);
                return Ok(());
            }
            let out = MatMut::from_row_major_slice_mut(out, n, n);
            let (factors, order, memory) = lu.parts();
            inverse::inverse(out, factors, factors, order, ALONE, memory);
            Ok(())
        };
        stack.filled::<T>(&[n, n], |values| {
            each(stack.device(), stack.count, stack.cost(2.0), Rows::new(values, n * n), scratch, one)
        })
    })
}

/// Of each place in a shape, in row-major order, the place among the elements of another that broadcasts to it.
struct Broadcast {
    /// Extents, and steps among the other's elements, of the dimensions from the last on.
    dims: Vec<(usize, usize)>,
}

impl Broadcast {
    fn new(from: &[usize], to: &[usize]) -> Self {
        let mut step = 1;
        let own = from.iter().rev().copied().chain(std::iter::repeat(1));
        let dims = to.iter().rev().zip(own).map(|(&extent, own)| {
            let dim = (extent, if own == 1 { 0 } else { step });
            step *= own;
            dim
        });
        Self { dims: dims.collect() }
    }

    fn place(&self, mut number: usize) -> usize {
        let mut place = 0;
        for &(extent, step) in &self.dims {
            place += number % extent * step;
            number /= extent;
        }
        place
    }
}

pub(super) fn solve(x1: &UsmArray, x2: &UsmArray) -> Result<UsmArray> {
    common_queue(&[("x1", x1.queue()), ("x2", x2.queue())])?;
    let mut stack = Stack::square("x1", x1)?;
    let n = stack.rows;
    // A single vector is a column; anything else is matrices.
    let is_vector = x2.ndim() == 1;
    let sides = if is_vector { x2.expand_dims(&[1])? } else { x2.clone() };
    let mismatch = |expected: String| {
        Error::shape("x2", format!("of shape {:?}", x2.shape()), expected, "transpose or reshape it")
    };
    if sides.ndim() < 2 || sides.shape()[sides.ndim() - 2] != n {
        return Err(mismatch(format!("{n} rows, as x1 of shape {:?} has", x1.shape())));
    }
    let right = Stack::new("x2", &sides)?;
    if let Some(result) = on_device(x1, || device::solve(x1, &sides)) {
        let result = result?;
        return if is_vector { result.squeeze(&[-1]) } else { Ok(result) };
    }
    stack.check_place()?;
    right.check_place()?;
    let out = result_type(&[stack.out, right.out], &[], x1.device().dtype_support())?;
    let shape: Dims = broadcast_shapes(&[&stack.outer, &right.outer])?;
    let (own, others) = (Broadcast::new(&stack.outer, &shape), Broadcast::new(&right.outer, &shape));
    let k = right.columns;
    stack.dtype = result_type(&[stack.dtype, right.dtype], &[], x1.device().dtype_support())?;
    stack.out = out;
    let count = shape.iter().product();
    let inner = [n, k];
    let full: Dims = shape.iter().chain(&inner).copied().collect();
    with_field!(stack.dtype, T => {
        let (source, given) = (place::read::<T>(x1)?, place::read::<T>(&sides)?);
        let mut values = place::room::<T>("x2", x1, &full)?;
        let scratch = || Ok((Lu::<T>::new(n, n, k)?, None));
        let cost = stack.cost(1.0) + 2.0 * n as f64 * n as f64 * k as f64;
        let cells = Rows::new(&mut values, n * k);
        each(x1.device(), count, cost, cells, scratch, |(lu, factored), out, number| {
            let (matrix, side) = (own.place(number), others.place(number));
            // One matrix for several right-hand sides is factored once.
            if *factored != Some(matrix) {
                lu.factor(&source[matrix * n * n..][..n * n]);
                *factored = Some(matrix);
                if lu.is_singular() {
                    return Err(singular(&stack, matrix));
                }
            }
            lu.solve(&given[side * n * k..][..n * k], out.next(), k);
            Ok(())
        })?;
        let full: &[usize] = if is_vector { &full[..full.len() - 1] } else { &full };
        place::write(x1, full, &values, out)
    })
}

pub(super) fn lu(x: &UsmArray) -> Result<(UsmArray, UsmArray, UsmArray)> {
    let stack = Stack::new("x", x)?;
    if let Some(result) = on_device(x, || device::lu(&stack)) {
        return result;
    }
    stack.check_place()?;
    let (m, n, k) = (stack.rows, stack.columns, stack.least());
    with_field!(stack.dtype, T => {
        let source = place::read::<T>(x)?;
        let (mut p, mut l, mut u) =
            (stack.room::<T>(&[m, m])?, stack.room::<T>(&[m, k])?, stack.room::<T>(&[k, n])?);
        let cells = ((Rows::new(&mut p, m * m), Rows::new(&mut l, m * k)), Rows::new(&mut u, k * n));
        let one = T::narrow(Complex::new(1.0, 0.0));
        each(stack.device(), stack.count, stack.cost(1.0), cells, || Lu::<T>::new(m, n, 0), |lu, cells, number| {
            lu.factor(&source[number * m * n..][..m * n]);
            let ((p, l), u) = (( cells.0.0.next(), cells.0.1.next()), cells.1.next());
            for row in 0..m {
                p[lu.order[row] * m + row] = one;
                for column in 0..k.min(row) {
                    l[row * k + column] = lu.at(row, column);
                }
                if row < k {
                    l[row * k + row] = one;
                    for column in row..n {
                        u[row * n + column] = lu.at(row, column);
                    }
                }
            }
            Ok(())
        })?;
        Ok((stack.array(&[m, m], &p)?, stack.array(&[m, k], &l)?, stack.array(&[k, n], &u)?))
    })
}
