//! Compiled kernels against interpreted ones, bit by bit, over arrays before fences.

mod collectives;
mod edges;
mod groups;
mod guards;
mod kernels;
mod programs;
mod random;
mod rows;
mod times;

use smallvec::SmallVec;
use stridewise_core::kernel::{Kernel, KernelArgument, KernelLaunch, NdRange, Space};
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Dtype, Error, Scalar};

use super::super::run_kernel;
use super::compiler::{self, Switch};
use super::{Program, Unsupported};
use crate::kernels::Tuning;
use crate::kernels::tests::fenced::Fenced;
use crate::kernels::tests::{Rng, canonical, value};
use crate::simd::Isa;

/// What a launch is given.
enum Given {
    Scalar(Scalar),
    Array(Array),
    /// The array that was given at this place.
    Again(usize),
    /// Local memory.
    Local(Vec<usize>),
}

/// Elements, as many as the extents and strides reach, the first index's at an offset.
struct Array {
    dtype: Dtype,
    shape: Vec<usize>,
    /// In elements.
    strides: Vec<isize>,
    offset: usize,
    elements: Vec<Scalar>,
}

impl Array {
    /// Row after row.
    fn new(dtype: Dtype, shape: &[usize], element: impl FnMut(usize) -> Scalar) -> Self {
        let mut strides = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis] as isize;
        }
        let elements = (0..shape.iter().product()).map(element).collect();
        Self { dtype, shape: shape.into(), strides, offset: 0, elements }
    }
    fn random(dtype: Dtype, shape: &[usize], rng: &mut Rng) -> Self {
        Self::new(dtype, shape, |_| value(dtype, rng))
    }
    /// With an axis in reverse.
    fn reversed(mut self, axis: usize) -> Self {
        self.offset += (self.shape[axis] - 1) * self.strides[axis].unsigned_abs();
        self.strides[axis] = -self.strides[axis];
        self
    }
    /// Every second one along the last axis.
    fn halved(mut self) -> Self {
        let last = self.shape.len() - 1;
        self.shape[last] = self.shape[last].div_ceil(2);
        self.strides[last] *= 2;
        self
    }
    fn transposed(mut self) -> Self {
        self.shape.reverse();
        self.strides.reverse();
        self
    }
}

fn tunings() -> impl Iterator<Item = Tuning> {
    let isas = Isa::available().iter().copied().filter(|&isa| compiler::level_of_kernels(isa).is_some());
    isas.flat_map(|isa| [1, 3].map(|threads| Tuning { isa, threads, last_cache_bytes: 1 << 25 }))
}

/// A kernel's code for one row of items at a time, where that for several can be made, too.
fn compile(kernel: &Kernel, tuning: &Tuning) -> Result<Program, Unsupported> {
    if kernel.is_grouped() && kernel.form().dims > 1 {
        super::compile(kernel, tuning, true)?;
    }
    super::compile(kernel, tuning, false)
}

/// A launch, and the arrays that it works on.
fn prepared(kernel: &Kernel, range: &NdRange, given: &[Given]) -> (KernelLaunch, Vec<(Dtype, Fenced)>) {
    let (mut memory, mut arguments) = (Vec::new(), Vec::<KernelArgument>::new());
    for given in given {
        arguments.push(match given {
            Given::Scalar(scalar) => KernelArgument::Scalar(*scalar),
            Given::Again(at) => arguments[*at].clone(),
            Given::Local(shape) => KernelArgument::Local(SmallVec::from_slice(shape)),
            Given::Array(array) => {
                let size = array.dtype.size();
                let mut fenced = Fenced::new(array.elements.len() * size);
                for (bytes, element) in fenced.bytes().chunks_exact_mut(size).zip(&array.elements) {
                    bytes.copy_from_slice(&element.to_bytes()[..size]);
                }
                let ptr = UsmPtr::new(fenced.ptr().wrapping_add(array.offset * size));
                memory.push((array.dtype, fenced));
                let shape = SmallVec::from_slice(&array.shape);
                let strides = SmallVec::from_slice(&array.strides);
                KernelArgument::Array { ptr, shape, strides }
            }
        });
    }
    let space = Space::new(kernel, range, 1024, 1 << 20).unwrap();
    let launch = KernelLaunch {
        kernel: kernel.clone(),
        space,
        arguments,
        checked: false,
        time_limit: None,
        ends: false,
    };
    (launch, memory)
}

/// What a launch makes of the arrays.
fn launch(
    kernel: &Kernel,
    range: &NdRange,
    given: &[Given],
    tuning: &Tuning,
    switch: Switch,
) -> Result<Vec<Vec<[u8; 16]>>, Error> {
    let (launch, mut memory) = prepared(kernel, range, given);
    // SAFETY: the arguments are those of the kernel, in memory of their own.
    compiler::forced(switch, || unsafe { run_kernel(&launch, tuning) })?;
    let elements = |(dtype, memory): &mut (Dtype, Fenced)| {
        let element = |bytes: &[u8]| {
            let mut all = [0; 16];
            all[..bytes.len()].copy_from_slice(bytes);
            canonical(Scalar::from_bytes(*dtype, &all))
        };
        memory.bytes().chunks_exact(dtype.size()).map(element).collect()
    };
    Ok(memory.iter_mut().map(elements).collect())
}

/// Runs a kernel both ways at every level.
fn same(kernel: &Kernel, range: &NdRange, given: &[Given], what: &str) {
    for tuning in tunings() {
        if let Err(why) = compile(kernel, &tuning) {
            panic!("{what}: {why:?}\n{kernel}");
        }
        let wanted = launch(kernel, range, given, &tuning, Switch::Off).map_err(|error| error.to_string());
        let found = launch(kernel, range, given, &tuning, Switch::Always).map_err(|error| error.to_string());
        if wanted == found {
            continue;
        }
        let (Ok(wanted), Ok(found)) = (&wanted, &found) else {
            panic!("{what}, {tuning:?}: {wanted:?} and {found:?}\n{kernel}");
        };
        for (array, (wanted, found)) in wanted.iter().zip(found).enumerate() {
            let differ = wanted.iter().zip(found).position(|(wanted, found)| wanted != found);
            if let Some(at) = differ {
                let (wanted, found) = (wanted[at], found[at]);
                panic!(
                    "{what}, {tuning:?}, array {array}, element {at}: {wanted:?}, not {found:?}\n{kernel}"
                );
            }
        }
    }
}
