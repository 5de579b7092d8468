//! Running a function on arrays of every device, and finding the worst results.

use rayon::prelude::*;
use serde::Serialize;
use stridewise::{ArrayOrScalar, Device, Error, Op, Queue, UsmArray, UsmKind, elementwise};

use crate::error::{Exact, Real};

/// Elements that a thread compares at a time.
const CHUNK: usize = 1 << 13;

/// A device and the queue that its arrays are on.
pub(crate) struct Target {
    pub(crate) device: Device,
    queue: Queue,
}

impl Target {
    /// # Errors
    /// The device has no queue to give.
    pub(crate) fn new(device: Device) -> Result<Self, Error> {
        let queue = device.queue()?;
        Ok(Self { device, queue })
    }

    /// Whether the device computes in a dtype.
    fn has<T: Real>(&self) -> bool {
        self.device.dtype_support().supports(T::DTYPE)
    }

    /// Applies an operation to columns of operands, through arrays.
    fn apply<T: Real>(&self, op: Op, columns: &[&[T]]) -> Result<Vec<T>, Error> {
        let array =
            |column: &&[T]| UsmArray::from_slice(&self.queue, &[column.len()], column, UsmKind::Shared);
        let arrays = columns.iter().map(array).collect::<Result<Vec<_>, _>>()?;
        let operands: Vec<ArrayOrScalar<'_>> = arrays.iter().map(Into::into).collect();
        elementwise(op, &operands)?.to_vec()
    }
}

/// The worst result so far, and how many there were.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worst {
    /// In units of the last place.
    pub(crate) ulp: f64,
    /// The operands.
    pub(crate) at: Vec<String>,
    pub(crate) tested: u64,
    /// Results that are not the nearest number.
    pub(crate) misrounded: u64,
}

impl Worst {
    fn merge(self, other: Self) -> Self {
        let (tested, misrounded) = (self.tested + other.tested, self.misrounded + other.misrounded);
        let worse = if other.ulp > self.ulp || self.at.is_empty() { other } else { self };
        Self { tested, misrounded, ..worse }
    }
}

/// Compares an operation on every target that computes in the dtype with its exact results, and adds what it finds to the
/// targets' entries.
///
/// # Errors
/// A target does not run the operation.
pub(crate) fn compare<T: Real + std::fmt::Display>(
    targets: &[Target],
    op: Op,
    columns: &[&[T]],
    exact: &[Exact],
    worst: &mut [Worst],
) -> Result<(), Error> {
    for (target, worst) in targets.iter().zip(worst).filter(|(target, _)| target.has::<T>()) {
        let got = target.apply(op, columns)?;
        let chunks = got.par_chunks(CHUNK).zip(exact.par_chunks(CHUNK)).enumerate();
        let found = chunks
            .map(|(chunk, (got, exact))| {
                let (mut ulp, mut at, mut misrounded) = (-1.0, 0, 0);
                for (i, (&got, exact)) in got.iter().zip(exact).enumerate() {
                    let error = exact.error(got);
                    misrounded += u64::from(
                        got.wide() != exact.value && !(got.wide().is_nan() && exact.value.is_nan()),
                    );
                    if error > ulp {
                        (ulp, at) = (error, chunk * CHUNK + i);
                    }
                }
                let at = columns.iter().map(|column| written(column[at])).collect();
                Worst { ulp: f64::max(ulp, 0.0), at, tested: got.len() as u64, misrounded }
            })
            .reduce(Worst::default, Worst::merge);
        *worst = std::mem::take(worst).merge(found);
    }
    Ok(())
}

/// A number so that reading it back gives the same one.
fn written<T: Real + std::fmt::Display>(x: T) -> String {
    let magnitude = x.wide().abs();
    // The shortest digits that say which number of its own format it is.
    match T::DTYPE {
        stridewise::Dtype::F32 if magnitude != 0.0 && !(1e-3..1e6).contains(&magnitude) => {
            format!("{:e}", x.wide() as f32)
        }
        stridewise::Dtype::F64 if magnitude != 0.0 && !(1e-3..1e6).contains(&magnitude) => {
            format!("{:e}", x.wide())
        }
        _ => format!("{x}"),
    }
}

/// A line of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) function: &'static str,
    pub(crate) dtype: String,
    pub(crate) device: String,
    pub(crate) isa: String,
    /// The largest error; `null` in JSON where it is infinite.
    pub(crate) max_ulp: f64,
    /// The operands of that result.
    pub(crate) at: Vec<String>,
    /// Arguments, or pairs of them, that were tried.
    pub(crate) tested: u64,
    /// Results that are not the nearest number.
    pub(crate) misrounded: u64,
    /// The largest error that is allowed.
    pub(crate) limit: f64,
    pub(crate) passed: bool,
}

/// The rows of a function of a dtype, one per target that computes in it.
pub(crate) fn rows<T: Real>(op: Op, targets: &[Target], worst: Vec<Worst>, limit: f64) -> Vec<Row> {
    // Functions of 16-bit numbers are computed in more precision than they have.
    let half = matches!(T::DTYPE, stridewise::Dtype::F16 | stridewise::Dtype::Bf16);
    let limit = if half { 0.5 } else { limit };
    let row = |(target, worst): (&Target, Worst)| Row {
        function: op.name(),
        dtype: T::DTYPE.to_string(),
        device: target.device.filter_string(),
        isa: target.device.info().isa.to_string(),
        max_ulp: worst.ulp,
        at: worst.at,
        tested: worst.tested,
        misrounded: worst.misrounded,
        limit,
        passed: worst.ulp <= limit && !(half && worst.misrounded > 0),
    };
    targets.iter().zip(worst).filter(|(target, _)| target.has::<T>()).map(row).collect()
}

/// Entries for so many targets.
pub(crate) fn entries(targets: &[Target]) -> Vec<Worst> {
    vec![Worst::default(); targets.len()]
}

/// Exact results, computed on all cores.
pub(crate) fn in_parallel<A: Sync, R: Send>(
    arguments: &[A],
    exact: impl Fn(&A) -> R + Sync + Send,
) -> Vec<R> {
    arguments.par_iter().with_min_len(256).map(exact).collect()
}
