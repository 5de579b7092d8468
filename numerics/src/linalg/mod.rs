//! Linear algebra: decompositions of matrices, and what is computed by them.
//!
//! Matrices are the last two dimensions of an array, of any layout; the others make a stack of them, which the threads of the
//! array's device share. One matrix is computed on the calling thread. `float16` and `bfloat16` are computed in `float32`,
//! integers and `bool` become the default floating dtype.
//!
//! What needs no decomposition is a method of arrays: [`matmul`](UsmArray::matmul), [`tensordot`](UsmArray::tensordot),
//! [`vecdot`](UsmArray::vecdot), [`outer`](UsmArray::outer), [`cross`](UsmArray::cross), [`diagonal`](UsmArray::diagonal),
//! [`trace`](UsmArray::trace).
//!
//! ```
//! # stridewise_core::register_driver!(stridewise_host::driver);
//! use stridewise_core::{Array, array};
//! use stridewise_numerics::linalg;
//!
//! let a: Array<f64> = array![[4.0, 1.0], [1.0, 3.0]];
//! let x = linalg::solve(&a, &array![1.0, 2.0])?;
//! let residual = (a.matmul(&x) - array![1.0, 2.0]).abs();
//! assert!(residual.max()? < 1e-15);
//!
//! let linalg::Eigh { eigenvalues, eigenvectors } = linalg::eigh(&a)?;
//! assert_eq!((eigenvalues.shape(), eigenvectors.shape()), (&[2][..], &[2, 2][..]));
//! # Ok::<(), stridewise_core::Error>(())
//! ```
//!
//! # Errors
//! All functions: [`Error::Unsupported`] for an array in memory of an accelerator that the processor does not reach,
//! [`Error::Axis`] with fewer than two dimensions, [`Error::Shape`] where matrices have to be square and are not,
//! [`Error::Alloc`] where memory for the results or for scratch is missing, [`Error::ExecutionPlacement`] for operands on
//! different queues, and the failure of the work that computes the operands. A matrix that is singular, or of which an
//! iteration does not converge, is an [`Error::Decomposition`], which names its place in the stack.
//!
//! # NaN and infinities
//! What an iteration computes of a matrix that has one ([`svd`], [`svdvals`], [`eig`], [`eigvals`], [`eigh`], [`eigvalsh`], and by
//! them [`pinv`], [`lstsq`], [`matrix_rank`] and [`polyfit`]) is an [`Error::Decomposition`], and so is [`cholesky`], as such a matrix
//! is not positive definite. Numbers that describe a matrix ([`det`], [`slogdet`], [`matrix_norm`], [`cond`]) and what is computed in
//! a fixed number of steps ([`lu`], [`solve`], [`inv`], [`qr`], [`expm`]) are NaN or infinite wherever they depend on it; [`qr`] and
//! [`expm`] are NaN as a whole.
//!
//! # Very small and very large elements
//! All of it holds wherever the results are numbers of the dtype: a matrix of elements of 1e-300, of which a square is zero, is
//! scaled by a power of two before it is decomposed, and so are the results afterwards.
//!
//! [`Error::Unsupported`]: stridewise_core::Error::Unsupported
//! [`Error::Axis`]: stridewise_core::Error::Axis
//! [`Error::Shape`]: stridewise_core::Error::Shape
//! [`Error::Alloc`]: stridewise_core::Error::Alloc
//! [`Error::ExecutionPlacement`]: stridewise_core::Error::ExecutionPlacement
//! [`Error::Decomposition`]: stridewise_core::Error::Decomposition

mod balance;
mod composed;
mod device;
mod eigen;
mod expm;
mod factors;
mod field;
mod lu;
mod norms;
mod polynomial;
mod scale;
mod spectral;
mod stack;
mod wide;

use stridewise_core::{Result, UsmArray};

pub use crate::arrays::NumericArray;
pub use composed::{Lstsq, Tolerance, kron, lstsq, matrix_power, matrix_rank, pinv};
pub use norms::{MatrixNorm, cond, matrix_norm, vector_norm};
pub use polynomial::{polyfit, polyfit_covariance};

/// The sign of a determinant and the logarithm of its magnitude.
#[derive(Clone, Debug)]
pub struct Slogdet<A: NumericArray> {
    /// The determinant divided by its magnitude; 0 where it is 0.
    pub sign: A,
    /// The natural logarithm of the magnitude; negative infinity where it is 0.
    pub logabsdet: A::Real,
}

/// Eigenvalues and eigenvectors of matrices.
#[derive(Clone, Debug)]
pub struct Eig<A: NumericArray> {
    /// The eigenvalues, in no particular order.
    pub eigenvalues: A::Complex,
    /// The eigenvectors, of length 1, as columns.
    pub eigenvectors: A::Complex,
}

/// Eigenvalues and eigenvectors of symmetric or Hermitian matrices.
#[derive(Clone, Debug)]
pub struct Eigh<A: NumericArray> {
    /// The eigenvalues, the smallest first.
    pub eigenvalues: A::Real,
    /// The eigenvectors, which are orthonormal, as columns.
    pub eigenvectors: A,
}

/// Singular values and vectors: `x = u · diag(s) · vh`.
#[derive(Clone, Debug)]
pub struct Svd<A: NumericArray> {
    /// Orthonormal columns.
    pub u: A,
    /// The singular values, the largest first.
    pub s: A::Real,
    /// Orthonormal rows.
    pub vh: A,
}

/// A decomposition into orthonormal columns and an upper triangle: `x = q · r`.
#[derive(Clone, Debug)]
pub struct Qr<A> {
    /// Orthonormal columns.
    pub q: A,
    /// The upper triangle, whose diagonal is real.
    pub r: A,
}

/// A decomposition into triangles: `x = p · l · u`.
#[derive(Clone, Debug)]
pub struct Lu<A> {
    /// The order of the rows, as a matrix of zeros and ones.
    pub p: A,
    /// The lower triangle, with ones on the diagonal.
    pub l: A,
    /// The upper triangle.
    pub u: A,
}

/// How many columns the first factor of [`qr`] has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum QrMode {
    /// As many as the lesser extent of the matrix.
    #[default]
    Reduced,
    /// As many as rows: a basis.
    Complete,
}

/// The triangle `l` of a symmetric or Hermitian positive definite matrix `x = l · lᴴ`; or `u` of `x = uᴴ · u`. Only the
/// lower triangle of the matrix is read, or the upper one, and of its diagonal the real parts.
///
/// # Errors
/// See the [module](self); [`Error::Decomposition`](stridewise_core::Error::Decomposition) where a matrix is not positive
/// definite.
pub fn cholesky<A: NumericArray>(x: &A, upper: bool) -> Result<A> {
    A::from_untyped(factors::cholesky(x.untyped(), upper)?)
}

/// The determinant, by LU.
///
/// # Errors
/// See the [module](self).
pub fn det<A: NumericArray>(x: &A) -> Result<A> {
    A::from_untyped(lu::det(x.untyped())?)
}

/// The sign of the determinant and the logarithm of its magnitude, where the determinant itself would overflow.
///
/// # Errors
/// See the [module](self).
pub fn slogdet<A: NumericArray>(x: &A) -> Result<Slogdet<A>> {
    let (sign, logabsdet) = lu::slogdet(x.untyped())?;
    Ok(Slogdet { sign: A::from_untyped(sign)?, logabsdet: A::real_from(logabsdet)? })
}

/// Eigenvalues and eigenvectors of square matrices, which are complex numbers.
///
/// They are those of a matrix that is within a small multiple of n·ε of `x`, after rows and columns have been scaled to about
/// the same length: with a diagonal D of powers of two, `D⁻¹·x·D` is what is decomposed.
///
/// # Errors
/// See the [module](self); [`Error::Decomposition`](stridewise_core::Error::Decomposition) for NaN, infinities, and where
/// the iteration does not converge.
pub fn eig<A: NumericArray>(x: &A) -> Result<Eig<A>> {
    let (eigenvalues, eigenvectors) = eigen::eig(x.untyped())?;
    Ok(Eig { eigenvalues: A::complex_from(eigenvalues)?, eigenvectors: A::complex_from(eigenvectors)? })
}

/// The eigenvalues of square matrices, which are complex numbers.
///
/// # Errors
/// As for [`eig`].
pub fn eigvals<A: NumericArray>(x: &A) -> Result<A::Complex> {
    A::complex_from(eigen::eigvals(x.untyped())?)
}

/// Eigenvalues and eigenvectors of symmetric or Hermitian matrices, of which only the lower triangle is read, and of the diagonal
/// the real parts.
///
/// # Errors
/// As for [`eig`].
pub fn eigh<A: NumericArray>(x: &A) -> Result<Eigh<A>> {
    let (eigenvalues, eigenvectors) = spectral::eigh(x.untyped())?;
    Ok(Eigh { eigenvalues: A::real_from(eigenvalues)?, eigenvectors: A::from_untyped(eigenvectors)? })
}

/// The eigenvalues of symmetric or Hermitian matrices, of which only the lower triangle is read, the smallest first.
///
/// # Errors
/// As for [`eig`].
pub fn eigvalsh<A: NumericArray>(x: &A) -> Result<A::Real> {
    A::real_from(spectral::eigvalsh(x.untyped())?)
}

/// The inverse, by LU.
///
/// # Errors
/// See the [module](self); [`Error::Decomposition`](stridewise_core::Error::Decomposition) for a singular matrix.
pub fn inv<A: NumericArray>(x: &A) -> Result<A> {
    A::from_untyped(lu::inv(x.untyped(), false)?)
}

/// The solution of `x1 · y = x2`, by LU. `x2` is a vector where it has one dimension, else a stack of matrices; stacks are
/// broadcast. A matrix that several right-hand sides have in common, one after the other, is factored once.
///
/// # Errors
/// As for [`inv`]; [`Error::Shape`](stridewise_core::Error::Shape) where the rows differ or the stacks do not broadcast.
pub fn solve<A: NumericArray>(x1: &A, x2: &A) -> Result<A> {
    A::from_untyped(lu::solve(x1.untyped(), x2.untyped())?)
}

/// Singular values and vectors: as many vectors as the matrix has rows and columns where `full`, else as there are
/// singular values.
///
/// # Errors
/// As for [`eig`].
pub fn svd<A: NumericArray>(x: &A, full: bool) -> Result<Svd<A>> {
    let (u, s, vh) = spectral::svd(x.untyped(), full)?;
    Ok(Svd { u: A::from_untyped(u)?, s: A::real_from(s)?, vh: A::from_untyped(vh)? })
}

/// The singular values, the largest first.
///
/// # Errors
/// As for [`eig`].
pub fn svdvals<A: NumericArray>(x: &A) -> Result<A::Real> {
    A::real_from(spectral::svdvals(x.untyped())?)
}

/// QR, by Householder's reflections.
///
/// # Errors
/// See the [module](self).
pub fn qr<A: NumericArray>(x: &A, mode: QrMode) -> Result<Qr<A>> {
    let (q, r) = factors::qr(x.untyped(), mode)?;
    Ok(Qr { q: A::from_untyped(q)?, r: A::from_untyped(r)? })
}

/// LU with partial pivoting; of a singular matrix, too.
///
/// # Errors
/// See the [module](self).
pub fn lu<A: NumericArray>(x: &A) -> Result<Lu<A>> {
    let (p, l, u) = lu::lu(x.untyped())?;
    Ok(Lu { p: A::from_untyped(p)?, l: A::from_untyped(l)?, u: A::from_untyped(u)? })
}

/// The exponential of square matrices; NaN where an element is not finite.
///
/// # Errors
/// See the [module](self).
pub fn expm<A: NumericArray>(x: &A) -> Result<A> {
    A::from_untyped(expm::expm(x.untyped())?)
}

/// The array in the dtype that it is computed in, and the dtype of the results.
fn computed(x: &UsmArray) -> Result<(UsmArray, stridewise_core::Dtype)> {
    let (dtype, out) = crate::place::dtypes(x);
    Ok((x.astype(dtype)?, out))
}
