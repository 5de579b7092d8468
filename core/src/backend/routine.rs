//! Computations that libraries of a device have: transforms, and decompositions of matrices.
//!
//! A routine is compiled as a source in a language of its own ([`Language::ROUTINES`]), whose text is this; it has one kernel, `run`, for
//! which its backend vouches ([`SourceKernelInfo::touches`]), so that safe code launches it. Matrices lie column after column, as
//! LAPACK has them, one behind the other; what a routine changes is said for each argument.

use std::fmt;

use super::Language;
use crate::dtype::Dtype;

impl Language<'_> {
    /// That of [`Routine`]s, whose text is a routine's.
    pub const ROUTINES: Language<'static> = Language::Named("routines");
}

/// What a routine computes, with its arguments in their order. `m` and `n` are rows and columns, `k` the lesser of both; every argument
/// has its part for each of `count` rows or matrices, one behind the other. `info` is of `int32`: 0 where all is well.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RoutineKind {
    /// The discrete Fourier transform of `m` complex points, without a factor: points (read), results.
    Forward,
    /// As [`Forward`](Self::Forward), in the other direction.
    Inverse,
    /// The transform of `m` real points: points (read), the first m / 2 + 1 results.
    FromReal,
    /// Its inverse, without a factor: m / 2 + 1 complex numbers, whose contents are lost, and `m` real results.
    ToReal,
    /// The lower triangle of Cholesky (`potrf`): a matrix of `m` rows and columns, whose lower triangle becomes the result, info: the
    /// order of the first minor that is not positive.
    Cholesky,
    /// LU with partial pivoting (`getrf`): a square matrix, which becomes both triangles, pivots of `int64`, counted from 1, info: the
    /// place of a pivot that is zero.
    Lu,
    /// Solutions by LU (`getrs`): both triangles of `m` rows (read), pivots (read), `n` right-hand sides, which become the solutions,
    /// info.
    Solve,
    /// QR (`geqrf`): a matrix, which becomes R and what reflections are made of, `k` factors of these, info.
    Qr,
    /// The first `k` columns of Q out of what [`Qr`](Self::Qr) leaves (`orgqr`, `ungqr`): the matrix, factors (read), info.
    Basis,
    /// Eigenvalues of symmetric or Hermitian matrices (`syevd`, `heevd`), of which the lower triangle is read: a matrix, whose contents
    /// are lost, `m` real values, the smallest first, info.
    Eigenvalues,
    /// As [`Eigenvalues`](Self::Eigenvalues), with eigenvectors, which become the columns of the matrix.
    Eigen,
    /// Singular values (`gesvd`) of matrices that have no more columns than rows: a matrix, whose contents are lost, `n` real values,
    /// the largest first, info.
    SingularValues,
    /// As [`SingularValues`](Self::SingularValues), with vectors: a matrix, values, `n` columns of U, `n` rows of Vᴴ, info.
    SingularThin,
    /// As [`SingularThin`](Self::SingularThin), with all `m` columns of U.
    SingularFull,
}

impl RoutineKind {
    const ALL: [(Self, &'static str); 14] = [
        (Self::Forward, "forward"),
        (Self::Inverse, "inverse"),
        (Self::FromReal, "from_real"),
        (Self::ToReal, "to_real"),
        (Self::Cholesky, "cholesky"),
        (Self::Lu, "lu"),
        (Self::Solve, "solve"),
        (Self::Qr, "qr"),
        (Self::Basis, "basis"),
        (Self::Eigenvalues, "eigenvalues"),
        (Self::Eigen, "eigen"),
        (Self::SingularValues, "singular_values"),
        (Self::SingularThin, "singular_thin"),
        (Self::SingularFull, "singular_full"),
    ];

    /// Whether it is a Fourier transform.
    #[must_use]
    pub const fn is_transform(self) -> bool {
        matches!(self, Self::Forward | Self::Inverse | Self::FromReal | Self::ToReal)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// A computation that a library of a device may have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Routine {
    /// What is computed.
    pub kind: RoutineKind,
    /// The dtype of matrices, `float32`, `float64` or a complex one; of transforms the complex dtype.
    pub dtype: Dtype,
    /// Rows of a matrix, or points of a transform; at least 1.
    pub m: usize,
    /// Columns of a matrix, or right-hand sides; 1 where there are as many as rows, and of transforms.
    pub n: usize,
    /// How many there are; at least 1.
    pub count: usize,
}

impl Routine {
    /// A routine by its text; `None` where the text is none, or the routine none that can be.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let kind = words.next().and_then(|name| RoutineKind::ALL.iter().find(|(_, known)| *known == name))?.0;
        let name = words.next()?;
        let dtype = *Dtype::ALL.iter().find(|dtype| dtype.name() == name)?;
        let mut number = || words.next()?.parse::<usize>().ok().filter(|&number| number > 0);
        let routine = Self { kind, dtype, m: number()?, n: number()?, count: number()? };
        let complex = matches!(dtype, Dtype::C64 | Dtype::C128);
        let fits = complex || (!kind.is_transform() && matches!(dtype, Dtype::F32 | Dtype::F64));
        (words.next().is_none() && fits && routine.touches().is_some()).then_some(routine)
    }

    /// Bytes of each argument; `None` where that many cannot be, or where there are more columns than a kind allows.
    #[must_use]
    pub fn touches(&self) -> Option<Vec<usize>> {
        let Self { kind, dtype, m, n, count } = *self;
        let (size, real, k) = (dtype.size(), dtype.real_part().size(), m.min(n));
        let elements = |factors: &[usize], size: usize| {
            factors.iter().chain([&count]).try_fold(size, |bytes, &factor| bytes.checked_mul(factor))
        };
        let info = elements(&[], size_of::<i32>())?;
        let pivots = elements(&[m], size_of::<i64>())?;
        use RoutineKind as Kind;
        Some(match kind {
            Kind::Forward | Kind::Inverse => vec![elements(&[m], size)?; 2],
            Kind::FromReal => vec![elements(&[m], real)?, elements(&[m / 2 + 1], size)?],
            Kind::ToReal => vec![elements(&[m / 2 + 1], size)?, elements(&[m], real)?],
            Kind::Cholesky => vec![elements(&[m, m], size)?, info],
            Kind::Lu => vec![elements(&[m, m], size)?, pivots, info],
            Kind::Solve => vec![elements(&[m, m], size)?, pivots, elements(&[m, n], size)?, info],
            Kind::Qr | Kind::Basis => vec![elements(&[m, n], size)?, elements(&[k], size)?, info],
            Kind::Eigenvalues | Kind::Eigen => {
                vec![elements(&[m, m], size)?, elements(&[m], real)?, info]
            }
            Kind::SingularValues | Kind::SingularThin | Kind::SingularFull if n > m => return None,
            Kind::SingularValues => vec![elements(&[m, n], size)?, elements(&[n], real)?, info],
            Kind::SingularThin | Kind::SingularFull => {
                let columns = if kind == Kind::SingularThin { n } else { m };
                vec![
                    elements(&[m, n], size)?,
                    elements(&[n], real)?,
                    elements(&[m, columns], size)?,
                    elements(&[n, n], size)?,
                    info,
                ]
            }
        })
    }
}

impl fmt::Display for Routine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, dtype, m, n, count } = self;
        write!(f, "{} {} {m} {n} {count}", kind.name(), dtype.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routine_is_its_text() {
        for (kind, _) in RoutineKind::ALL {
            let routine = Routine { kind, dtype: Dtype::C64, m: 12, n: 7, count: 3 };
            assert_eq!(Routine::parse(&routine.to_string()), Some(routine), "{routine}");
            let whole = Routine { m: usize::MAX / 2, ..routine };
            assert_eq!(Routine::parse(&whole.to_string()), None, "{whole}");
            let real = Routine { dtype: Dtype::F64, ..routine };
            assert_eq!(Routine::parse(&real.to_string()).is_some(), !kind.is_transform(), "{real}");
        }
        for text in [
            "",
            "cholesky",
            "cholesky float64 3 3",
            "cholesky float64 3 3 0",
            "cholesky float16 3 3 1",
            "nothing float64 3 3 1",
            "cholesky float64 3 3 1 1",
            "singular_thin float64 3 4 1",
            "lu int32 3 3 1",
        ] {
            assert_eq!(Routine::parse(text), None, "{text}");
        }
    }

    #[test]
    fn arguments_have_as_many_bytes_as_their_elements() {
        let routine = |kind, dtype| Routine { kind, dtype, m: 5, n: 3, count: 2 };
        assert_eq!(routine(RoutineKind::FromReal, Dtype::C64).touches().unwrap(), [40, 48]);
        assert_eq!(routine(RoutineKind::Solve, Dtype::F64).touches().unwrap(), [400, 80, 240, 8]);
        assert_eq!(
            routine(RoutineKind::SingularThin, Dtype::C128).touches().unwrap(),
            [480, 48, 480, 288, 8]
        );
        assert_eq!(routine(RoutineKind::SingularFull, Dtype::F32).touches().unwrap(), [120, 24, 200, 72, 8]);
    }
}
