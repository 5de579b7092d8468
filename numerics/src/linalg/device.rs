//! Decompositions by a library of the array's device, whose matrices lie column after column.

use stridewise_core::backend::{Dims, Routine, RoutineKind};
use stridewise_core::memory::heap;
use stridewise_core::{
    Dtype, Ellipsis, Error, Op, Order, Reduction, Result, Scalar, UsmArray, broadcast_shapes, result_type, s,
};

use super::stack::Stack;
use crate::device::{read, run};

/// Matrices in the memory of a device, and what becomes of them.
struct Columns<'a> {
    stack: &'a Stack<'a>,
    /// Of shape (…, columns, rows): each matrix lies column after column.
    memory: UsmArray,
    info: UsmArray,
}

/// New memory of matrices, column after column, in row-major order of the transposed ones.
fn columns_of(x: &UsmArray, dtype: Dtype) -> Result<UsmArray> {
    x.astype(dtype)?.matrix_transpose()?.copy_in(Order::C)
}

/// The number of the first of stacked parts, of these axes, that has NaN or an infinity.
fn first_not_finite(parts: &UsmArray, axes: &[isize]) -> Result<Option<usize>> {
    let finite =
        parts.unary(Op::IsFinite)?.reduce_as(Reduction::Prod, Some(axes), false, Some(Dtype::Bool))?;
    Ok(finite.reshape(&[-1])?.to_vec::<bool>()?.iter().position(|finite| !finite))
}

impl<'a> Columns<'a> {
    fn new(stack: &'a Stack<'a>) -> Result<Self> {
        Self::of(stack, stack.x)
    }

    /// Those of other matrices of the stack's shape.
    fn of(stack: &'a Stack<'a>, x: &UsmArray) -> Result<Self> {
        let memory = columns_of(x, stack.dtype)?;
        let info = UsmArray::empty(stack.x.queue(), &[stack.count], Dtype::I32, stack.x.usm_kind())?;
        Ok(Self { stack, memory, info })
    }

    fn room(&self, inner: &[usize], dtype: Dtype) -> Result<UsmArray> {
        UsmArray::empty(self.stack.x.queue(), &self.stack.shape(inner), dtype, self.stack.x.usm_kind())
    }

    fn routine(&self, kind: RoutineKind, n: usize) -> Routine {
        let Stack { dtype, count, rows, .. } = *self.stack;
        Routine { kind, dtype, m: rows, n, count }
    }

    /// The number of the first matrix that the library has something to tell of.
    ///
    /// # Errors
    /// The failure of the work.
    fn told(&self) -> Result<Option<usize>> {
        Ok(self.info.to_vec::<i32>()?.iter().position(|&info| info != 0))
    }

    /// Refuses matrices with NaN or infinities, of which an iteration would not end.
    fn check_finite(&self) -> Result<()> {
        match first_not_finite(&self.memory, &[-2, -1])? {
            None => Ok(()),
            Some(number) => Err(self.stack.refuse(
                number,
                "a matrix with NaN or infinite elements",
                "finite elements",
                "replace them first, with `nan_to_num`",
            )),
        }
    }
}

/// Real parts on the diagonal, as those of a Hermitian matrix are, whatever its elements say.
fn with_real_diagonal(memory: &UsmArray) -> Result<()> {
    if matches!(memory.dtype(), Dtype::C64 | Dtype::C128) {
        let diagonal = memory.diagonal(0)?;
        diagonal.assign(&diagonal.real()?.astype(memory.dtype())?)?;
    }
    Ok(())
}

pub(super) fn cholesky(stack: &Stack<'_>, upper: bool) -> Result<UsmArray> {
    // The library reads and writes the lower triangle; that of the conjugate transpose is the upper one.
    let columns = match upper {
        true => Columns::of(stack, &stack.x.matrix_transpose()?.conj()?)?,
        false => Columns::new(stack)?,
    };
    let memory = &columns.memory;
    with_real_diagonal(memory)?;
    let routine = columns.routine(RoutineKind::Cholesky, stack.rows);
    run(stack.x, routine, &[memory.into(), (&columns.info).into()])?;
    let refused = match columns.told()? {
        Some(number) => Some(number),
        None => first_not_finite(&memory.diagonal(0)?, &[-1])?,
    };
    if let Some(number) = refused {
        return Err(stack.refuse(
            number,
            "a matrix that is not positive definite",
            "a positive definite one",
            "use `eigh`, or add a multiple of the identity",
        ));
    }
    // Rows of the memory are columns of the triangle.
    let result = match upper {
        true => memory.conj()?.triu(0)?,
        false => memory.matrix_transpose()?.tril(0)?,
    };
    result.astype(stack.out)
}

/// Both triangles of matrices, and the pivots.
fn factored<'a>(stack: &'a Stack<'a>) -> Result<(Columns<'a>, UsmArray)> {
    let columns = Columns::new(stack)?;
    let pivots = columns.room(&[stack.rows], Dtype::I64)?;
    let routine = columns.routine(RoutineKind::Lu, stack.rows);
    run(stack.x, routine, &[(&columns.memory).into(), (&pivots).into(), (&columns.info).into()])?;
    Ok((columns, pivots))
}

/// The order of rows, as a matrix, and both triangles; of a matrix that is not square, those of the square one that has rows or columns of
/// zeros beside it.
pub(super) fn lu(stack: &Stack<'_>) -> Result<(UsmArray, UsmArray, UsmArray)> {
    let (m, n, k) = (stack.rows, stack.columns, stack.least());
    let (queue, kind) = (stack.x.queue(), stack.x.usm_kind());
    let side = m.max(n);
    let (rows, columns, least) = (m.cast_signed(), n.cast_signed(), k.cast_signed());
    let whole = if m == n {
        stack.x.clone()
    } else {
        let whole = UsmArray::zeros(queue, &stack.shape(&[side, side]), stack.x.dtype(), kind)?;
        whole.slice(s![Ellipsis, ..rows, ..columns])?.assign(stack.x)?;
        whole
    };
    let square = Stack::square(stack.argument, &whole)?;
    let (both, pivots) = factored(&square)?;
    let both = both.memory.matrix_transpose()?;
    let ones = UsmArray::eye(queue, m, k, 0, stack.dtype, kind)?;
    let l = both.slice(s![Ellipsis, ..rows, ..least])?.tril(-1)?.binary(Op::Add, &ones)?;
    let u = both.slice(s![Ellipsis, ..least, ..columns])?.triu(0)?;

    // Each pivot is the row that changed places with the one of its number; no row of zeros does.
    let pivots = pivots.to_vec::<i64>()?;
    let mut order = heap::with_capacity("rows", stack.count * m)?;
    for pivots in pivots.chunks_exact(side) {
        let first = order.len();
        order.extend(0..m as i64);
        for (row, &pivot) in pivots.iter().enumerate().take(k) {
            if let Some(other) = usize::try_from(pivot - 1).ok().filter(|&other| other < m) {
                order[first..].swap(row, other);
            }
        }
    }
    let order = UsmArray::from_slice(queue, &stack.shape(&[1, m]), &order, kind)?;
    let places = UsmArray::arange(queue, 0, m as i64, 1, Dtype::I64, kind)?.expand_dims(&[-1])?;
    let p = places.binary(Op::Equal, &order)?.astype(stack.out)?;
    Ok((p, l.astype(stack.out)?, u.astype(stack.out)?))
}

fn singular(stack: &Stack<'_>, number: usize) -> Error {
    stack.refuse(number, "a singular matrix", "an invertible one", "use `lstsq` or `pinv`")
}

/// Solutions for right-hand sides, of shape (…, sides, rows), whose stack is that of the matrices.
fn solved(stack: &Stack<'_>, sides: &UsmArray, count: usize) -> Result<()> {
    let (columns, pivots) = factored(stack)?;
    if let Some(number) = columns.told()? {
        return Err(singular(stack, number));
    }
    let routine = columns.routine(RoutineKind::Solve, count);
    run(stack.x, routine, &[read(&columns.memory), read(&pivots), sides.into(), (&columns.info).into()])
}

pub(super) fn inv(stack: &Stack<'_>) -> Result<UsmArray> {
    let n = stack.rows;
    let (queue, kind) = (stack.x.queue(), stack.x.usm_kind());
    let identity = UsmArray::eye(queue, n, n, 0, stack.dtype, kind)?;
    let sides = identity.broadcast_to(&stack.shape(&[n, n]))?.copy_in(Order::C)?;
    solved(stack, &sides, n)?;
    sides.matrix_transpose()?.astype(stack.out)
}

/// Solutions: `x2` has at least two dimensions, and as many rows as the matrices.
pub(super) fn solve(x1: &UsmArray, x2: &UsmArray) -> Result<UsmArray> {
    let (left, right) = (Stack::square("x1", x1)?, Stack::new("x2", x2)?);
    let support = x1.device().dtype_support();
    let dtype = result_type(&[left.dtype, right.dtype], &[], support)?;
    let out = result_type(&[left.out, right.out], &[], support)?;
    let shape: Dims = broadcast_shapes(&[&left.outer, &right.outer])?;
    let whole = |x: &UsmArray, inner: [usize; 2]| {
        let full: Dims = shape.iter().copied().chain(inner).collect();
        x.astype(dtype)?.broadcast_to(&full)
    };
    let matrices = whole(x1, [left.rows, left.rows])?;
    let sides = columns_of(&whole(x2, [right.rows, right.columns])?, dtype)?;
    solved(&Stack::square("x1", &matrices)?, &sides, right.columns)?;
    sides.matrix_transpose()?.astype(out)
}

/// The diagonal of U, and the sign of the order of rows, as numbers of the dtype.
fn pivots_of(stack: &Stack<'_>) -> Result<(UsmArray, UsmArray)> {
    let (columns, pivots) = factored(stack)?;
    let n = stack.rows as i64;
    // Each pivot that is not in its place turns the sign round.
    let places = UsmArray::arange(stack.x.queue(), 1, n + 1, 1, Dtype::I64, stack.x.usm_kind())?;
    let moved = pivots.binary(Op::NotEqual, &places)?.astype(Dtype::I64)?;
    let odd = moved.reduce(Reduction::Sum, Some(&[-1]), false)?.binary(Op::Remainder, Scalar::I64(2))?;
    let sign = Scalar::I64(1);
    let turned = odd.binary(Op::Multiply, Scalar::I64(-2))?.binary(Op::Add, sign)?;
    Ok((columns.memory.diagonal(0)?, turned.astype(stack.dtype)?))
}

pub(super) fn det(stack: &Stack<'_>) -> Result<UsmArray> {
    let (diagonal, sign) = pivots_of(stack)?;
    diagonal.reduce(Reduction::Prod, Some(&[-1]), false)?.binary(Op::Multiply, &sign)?.astype(stack.out)
}

pub(super) fn slogdet(stack: &Stack<'_>) -> Result<(UsmArray, UsmArray)> {
    let (diagonal, sign) = pivots_of(stack)?;
    let signs = diagonal.unary(Op::Sign)?.reduce(Reduction::Prod, Some(&[-1]), false)?;
    let logs = diagonal.unary(Op::Abs)?.unary(Op::Log)?.reduce(Reduction::Sum, Some(&[-1]), false)?;
    Ok((signs.binary(Op::Multiply, &sign)?.astype(stack.out)?, logs.astype(stack.out.real_part())?))
}

/// Orthonormal columns and a triangle whose diagonal is real.
pub(super) fn qr(stack: &Stack<'_>) -> Result<(UsmArray, UsmArray)> {
    let (m, n, k) = (stack.rows, stack.columns, stack.least());
    let columns = Columns::new(stack)?;
    let factors = columns.room(&[k], stack.dtype)?;
    let arguments = [(&columns.memory).into(), (&factors).into(), (&columns.info).into()];
    run(stack.x, columns.routine(RoutineKind::Qr, n), &arguments)?;
    // Before the memory becomes the basis.
    let r = columns.memory.slice(s![Ellipsis, .., ..k as isize])?.matrix_transpose()?.triu(0)?;
    let r = r.copy_in(Order::C)?;
    let arguments = [(&columns.memory).into(), read(&factors), (&columns.info).into()];
    run(stack.x, columns.routine(RoutineKind::Basis, n), &arguments)?;
    let q = columns.memory.slice(s![Ellipsis, ..k as isize, ..])?.matrix_transpose()?;
    debug_assert_eq!(q.shape()[q.ndim() - 2..], [m, k]);
    if !matches!(stack.dtype, Dtype::C64 | Dtype::C128) {
        return Ok((q.astype(stack.out)?, r.astype(stack.out)?));
    }
    // What turns a row of R turns a column of Q back.
    let pivots = r.diagonal(0)?;
    let turn = pivots.unary(Op::Sign)?;
    let zero = pivots.binary(Op::Equal, Scalar::I64(0).cast(stack.dtype))?.astype(stack.dtype)?;
    let turn = turn.binary(Op::Add, &zero)?;
    let back = turn.conj()?.expand_dims(&[-1])?;
    let (q, r) = (q.binary(Op::Multiply, &turn.expand_dims(&[-2])?)?, r.binary(Op::Multiply, &back)?);
    Ok((q.astype(stack.out)?, r.astype(stack.out)?))
}

/// Eigenvalues, the smallest first, and eigenvectors where wanted, else none.
pub(super) fn symmetric(stack: &Stack<'_>, vectors: bool) -> Result<(UsmArray, UsmArray)> {
    let n = stack.rows;
    let columns = Columns::new(stack)?;
    with_real_diagonal(&columns.memory)?;
    columns.check_finite()?;
    let values = columns.room(&[n], stack.dtype.real_part())?;
    let kind = if vectors { RoutineKind::Eigen } else { RoutineKind::Eigenvalues };
    let arguments = [(&columns.memory).into(), (&values).into(), (&columns.info).into()];
    run(stack.x, columns.routine(kind, n), &arguments)?;
    if let Some(number) = columns.told()? {
        return Err(stack.diverged(number));
    }
    let vectors = columns.memory.matrix_transpose()?.astype(stack.out)?;
    Ok((values.astype(stack.out.real_part())?, vectors))
}

/// The singular values, the largest first; U and the conjugate transpose of V, where wanted: `Some(true)` for whole bases.
pub(super) fn singular_values(
    stack: &Stack<'_>,
    vectors: Option<bool>,
) -> Result<(UsmArray, Option<(UsmArray, UsmArray)>)> {
    // The library takes matrices with no more columns than rows: of others the transpose, x = u s vh, xᵀ = vhᵀ s uᵀ.
    let wide = stack.columns > stack.rows;
    let turned = stack.x.matrix_transpose()?;
    let tall = Stack::new(stack.argument, if wide { &turned } else { stack.x })?;
    let (m, n) = (tall.rows, tall.columns);
    let columns = Columns::new(&tall)?;
    columns.check_finite()?;
    let values = columns.room(&[n], tall.dtype.real_part())?;
    let (matrix, s, info) = ((&columns.memory).into(), (&values).into(), (&columns.info).into());
    let bases = match vectors {
        None => {
            run(tall.x, columns.routine(RoutineKind::SingularValues, n), &[matrix, s, info])?;
            None
        }
        Some(full) => {
            let (kind, wanted) =
                if full { (RoutineKind::SingularFull, m) } else { (RoutineKind::SingularThin, n) };
            // Column after column: rows of these are columns.
            let u = columns.room(&[wanted, m], tall.dtype)?;
            let vh = columns.room(&[n, n], tall.dtype)?;
            run(tall.x, columns.routine(kind, n), &[matrix, s, (&u).into(), (&vh).into(), info])?;
            Some((u, vh))
        }
    };
    if let Some(number) = columns.told()? {
        return Err(stack.diverged(number));
    }
    let values = values.astype(stack.out.real_part())?;
    let Some((u, vh)) = bases else { return Ok((values, None)) };
    let (u, vh) = match wide {
        // Of the transpose, the memory of its bases has ours as they are.
        true => (vh, u),
        false => (u.matrix_transpose()?, vh.matrix_transpose()?),
    };
    Ok((values, Some((u.astype(stack.out)?, vh.astype(stack.out)?))))
}
