//! Kernels that users write: from a launch to a call of the kernel's text.
//!
//! On an H200, beside the same kernels in CUDA C by CuPy (`--fmad=false`), from Python, as a ratio of times,
//! above 1 where we are ahead: reduction 1.40, reverse 0.94, Black-Scholes 0.92, histogram 0.90, mandelbrot
//! 0.87, N-body 0.83, matrix product 0.76, Jacobi 0.73, convolution 0.70, scan 0.63, bitonic sort 0.45,
//! k-means 0.03; first calls take 60 to 200 ms, the runtime's compiler. Jacobi, scan and bitonic sort are
//! 200, 5 and 210 launches, of which each costs 15 to 20 µs from Python here and some 8 there. K-means adds
//! `float64` to local memory: OpenCL C has no such atomic addition, so that 256 items take turns at a
//! compare-and-exchange of five numbers. Products and convolution check each index of global memory against
//! its array.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use stridewise_core::backend::{Limits, Support};
use stridewise_core::kernel::{
    Kernel, KernelArgument, KernelLaunch, LaunchOptions, Memory, Parameter, StatementKind, failed_assertion,
};
use stridewise_core::{Error, Result};

use super::{Argument, Call, Key, Target, Writer};
use crate::emit::user::{self, Known, Variant};

/// What items say of the first assertion that was false: its number, from 1 on, and the global id of the item.
pub type Report = [i64; 4];

/// What an item has of private arrays on a device that is no processor: as much as CUDA's devices take, the least of those known.
const PRIVATE_ITEM_BYTES: u64 = 1 << 19;
/// Items that are on a compute unit at a time, the most of those known: a driver sets private arrays of all of them aside in the
/// device's memory, however few a launch has. Where it cannot, the launch fails, and with it what the process does there
/// afterwards; a quarter of the memory is there in all but odd cases.
const RESIDENT_ITEMS: u64 = 2048;

/// Sets what items and groups have of private arrays on a device that is no processor, whose other limits are set.
pub fn limit_private_memory(limits: &mut Limits, target: &Target) {
    let resident = RESIDENT_ITEMS * target.compute_units.max(1) as u64;
    limits.private_memory_bytes = PRIVATE_ITEM_BYTES * target.max_group as u64;
    limits.private_item_bytes = (limits.global_memory_bytes / 4 / resident).clamp(1, PRIVATE_ITEM_BYTES);
}

/// Whether a device runs a kernel.
pub fn supports(kernel: &Kernel, target: &Target, options: LaunchOptions) -> Support {
    if options.time_limit.is_some() {
        let of = target.dialect.runtime();
        return Support::No(format!("a time limit is the host's: a kernel of {of} cannot be ended"));
    }
    if options.checked {
        let of = target.dialect.runtime();
        return Support::No(format!(
            "checked mode is the host's: the compiled kernels of {of} watch nobody (is STRIDEWISE_CHECK set?)"
        ));
    }
    user::supports(kernel, target).map_or_else(Support::No, |()| Support::Native)
}

/// What runs a launch.
pub struct Work<'a> {
    key: Key,
    source: Box<dyn Fn() -> String + 'a>,
    arguments: SmallVec<[Argument; 12]>,
    global: SmallVec<[usize; 3]>,
    local: SmallVec<[usize; 3]>,
}

impl Work<'_> {
    /// The kernel with its arguments and its range.
    pub fn call(&self) -> Call<'_> {
        let Self { key, source, arguments, global, local } = self;
        Call { key, source, arguments, global, local }
    }
}

/// What runs a launch, and with what.
///
/// # Errors
/// [`Error::Value`] for more local memory than the device has.
pub fn work<'a>(launch: &'a KernelLaunch, target: &'a Target) -> Result<Work<'a>> {
    let (form, space) = (launch.kernel.form(), &launch.space);
    let axes = 3 - space.dims..3;
    let signed =
        |numbers: &[usize]| numbers.iter().map(|n| n.cast_signed()).collect::<SmallVec<[isize; 4]>>();
    let mut arguments = SmallVec::new();
    let extents = signed(&space.global[axes.clone()]);
    arguments.push(layout(&extents, &extents));
    let cuda = target.dialect.is_cuda();
    let mut objects = vec![Known::default(); form.objects.len()];
    for (known, object) in objects.iter_mut().zip(&form.objects) {
        // No text has more of them than such a number counts, nor has local memory.
        known.narrow = cuda && !matches!(object.memory, Memory::Global { .. });
    }
    let shapes = cuda && SHAPES.takes(launch);
    let own_local = form.objects.iter().filter_map(|object| match &object.memory {
        Memory::Local { shape } => Some(shape.iter().product::<usize>() * object.dtype.size()),
        _ => None,
    });
    let mut local_bytes: usize = own_local.clone().sum();
    for (parameter, argument) in form.parameters.iter().zip(&launch.arguments) {
        let Parameter::Object(object) = parameter else {
            if let KernelArgument::Scalar(scalar) = argument {
                arguments.push(Argument::constant(scalar));
            }
            continue;
        };
        let known = &mut objects[object.number()];
        match argument {
            KernelArgument::Array { ptr, shape, strides } => {
                known.empty = shape.contains(&0);
                known.unit = strides.last() == Some(&1);
                known.narrow = cuda && is_narrow(shape, strides);
                if !known.empty {
                    arguments.push(Argument::Memory(*ptr));
                }
                arguments.push(layout(&signed(shape), strides));
            }
            KernelArgument::Local(shape) => {
                let bytes = shape.iter().product::<usize>() * form.object(*object).dtype.size();
                (known.empty, known.unit) = (bytes == 0, true);
                known.shape = shapes.then(|| SmallVec::from_slice(shape));
                local_bytes += bytes;
                if bytes > 0 {
                    arguments.push(Argument::Local(bytes));
                }
                let stride = |axis: usize| shape[axis + 1..].iter().product::<usize>();
                let strides: SmallVec<[usize; 4]> = (0..shape.len()).map(stride).collect();
                arguments.push(layout(&signed(shape), &signed(&strides)));
            }
            KernelArgument::Scalar(_) => {}
        }
    }
    if launch.kernel.asserts() {
        // What items report goes where scratch of other kernels is.
        arguments.push(Argument::Scratch(0));
    }
    let scratch = (user::scratch_bytes(form) * space.group_len()).next_multiple_of(16);
    if scratch > 0 {
        local_bytes += scratch;
        arguments.push(Argument::Local(scratch));
    }
    if local_bytes > target.user_local_bytes {
        return Err(Error::value(
            "local memory",
            format!(
                "{local_bytes} bytes for each group of `{}`, {scratch} of them for collectives",
                form.name
            ),
            format!("{} bytes at most", target.user_local_bytes),
            "use smaller groups, or less local memory",
        ));
    }
    if cuda {
        arguments.extend(own_local.map(Argument::Local));
    }
    let partial = axes.clone().any(|axis| space.global[axis] % space.group[axis] != 0);
    let groups = axes.clone().rev().map(|axis| space.global[axis].div_ceil(space.group[axis]));
    let items = axes.clone().rev().map(|axis| space.group[axis]);
    let flat = cuda && is_flat(groups.clone(), items.clone());
    if flat {
        arguments.push(geometry(groups.clone(), items.clone())?);
    }
    let most_items = items.clone().product::<usize>().next_power_of_two().max(LEAST_BOUND);
    let bound = if cuda { most_items.min(CUDA_ITEMS[0]) } else { 0 };
    let variant = Variant { partial, flat, bound, objects };
    let mut key = Key::new(Writer::User);
    // The number stands for the form, so that it is not compared.
    key.bytes(&launch.kernel.number().to_le_bytes());
    key.push(usize::from(partial) | usize::from(flat) << 1);
    key.push(bound);
    for known in &variant.objects {
        let Known { empty, unit, narrow, shape } = known;
        let flags = [*empty, *unit, *narrow, shape.is_some()];
        key.push(flags.iter().rev().fold(0, |bits, &flag| bits << 1 | usize::from(flag)));
        shape.iter().flatten().for_each(|&extent| key.push(extent));
    }
    let (mut global, mut local): (SmallVec<[usize; 3]>, SmallVec<[usize; 3]>) =
        (groups.zip(items.clone()).map(|(groups, items)| groups * items).collect(), items.collect());
    if flat {
        global = SmallVec::from_slice(&[global.iter().product()]);
        local = SmallVec::from_slice(&[local.iter().product()]);
    }
    Ok(Work {
        key,
        arguments,
        global,
        local,
        source: Box::new(move || user::text(&launch.kernel, target, &variant)),
    })
}

/// Whether the elements of an array, each with all that its place is made of, are counted by numbers of 32 bits.
fn is_narrow(shape: &[usize], strides: &[isize]) -> bool {
    let spans = shape.iter().zip(strides).map(|(&extent, stride)| extent.checked_mul(stride.unsigned_abs()));
    let mut all = spans.chain(shape.iter().map(|&extent| Some(extent)));
    let all = all.try_fold(0_usize, |sum, span| sum.checked_add(span?));
    all.is_some_and(|all| all <= i32::MAX as usize)
}

/// Shapes of local memory that texts of one kernel have as numbers, at most; with others a launch takes the text to which they are
/// arguments. So a loop over shapes compiles few.
const SHAPES_OF_ONE: usize = 4;
/// The same of all kernels: then the oldest ones are forgotten.
const SHAPES_OF_ALL: usize = 256;

/// The shapes of local memory that texts have as numbers: with them a compiler unrolls loops and checks no index that is in range.
static SHAPES: Shapes = Shapes(Mutex::new(VecDeque::new()));

/// Of kernels, by their numbers, all extents of what is given to a launch as local memory.
struct Shapes(Mutex<VecDeque<(u64, SmallVec<[usize; 6]>)>>);

impl Shapes {
    /// Whether a launch has a text to which its local memory's extents are numbers.
    fn takes(&self, launch: &KernelLaunch) -> bool {
        let local = launch.arguments.iter().filter_map(|argument| match argument {
            KernelArgument::Local(shape) => Some(shape),
            _ => None,
        });
        self.take(launch.kernel.number(), local.flatten().copied().collect())
    }

    fn take(&self, kernel: u64, shape: SmallVec<[usize; 6]>) -> bool {
        if shape.is_empty() {
            return false;
        }
        // Nothing panics while the lock is held, so poison means nothing.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.iter().any(|(of, has)| *of == kernel && *has == shape) {
            return true;
        }
        if known.iter().filter(|(of, _)| *of == kernel).count() == SHAPES_OF_ONE {
            return false;
        }
        if known.len() == SHAPES_OF_ALL {
            known.pop_front();
        }
        known.push_back((kernel, shape));
        true
    }
}

/// Groups that a device of CUDA counts along an axis, and items of a group: the first axis is the fastest.
const CUDA_GROUPS: [usize; 3] = [i32::MAX as usize, 65_535, 65_535];
const CUDA_ITEMS: [usize; 3] = [1024, 1024, 64];

/// Groups of up to so many items have all registers that an item can have.
const LEAST_BOUND: usize = 256;

/// Whether there are more than the device counts.
fn is_flat(groups: impl Iterator<Item = usize>, items: impl Iterator<Item = usize>) -> bool {
    let many = |counts: [usize; 3], (axis, count): (usize, usize)| count > counts[axis];
    groups.enumerate().any(|of| many(CUDA_GROUPS, of)) || items.enumerate().any(|of| many(CUDA_ITEMS, of))
}

/// Groups and items along three axes, for a kernel that has them all in one row.
///
/// # Errors
/// [`Error::Overflow`] for more groups than a device of CUDA counts.
fn geometry(
    groups: impl Iterator<Item = usize> + Clone,
    items: impl Iterator<Item = usize> + Clone,
) -> Result<Argument> {
    let all = groups.clone().try_fold(1_usize, usize::checked_mul).filter(|&all| all <= CUDA_GROUPS[0]);
    if all.is_none() {
        return Err(Error::overflow(
            "range",
            format!("{:?} groups", groups.collect::<Vec<_>>()),
            format!("at most {} groups in all", CUDA_GROUPS[0]),
            "use larger groups, or several launches",
        ));
    }
    let three = |counts: &mut dyn Iterator<Item = usize>| -> [u32; 3] {
        // They are no more than there are in all.
        std::array::from_fn(|_| counts.next().map_or(1, |count| count as u32))
    };
    let (mut groups, mut items) = (groups, items);
    let numbers = [three(&mut groups), three(&mut items)];
    Ok(Argument::Bytes(numbers.iter().flatten().flat_map(|number| number.to_le_bytes()).collect()))
}

/// What items have reported of assertions.
///
/// # Errors
/// [`Error::Kernel`] where one was false.
pub fn asserted(launch: &KernelLaunch, [number, item @ ..]: Report) -> Result<()> {
    let mut failed = None;
    let mut so_far = 0;
    launch.kernel.form().for_each_statement(|statement| {
        if let StatementKind::Assert { message, .. } = &statement.kind {
            so_far += 1;
            if so_far == number {
                failed = Some((message, &statement.at));
            }
        }
    });
    let Some((message, at)) = failed else { return Ok(()) };
    let item = item.map(|id| usize::try_from(id).unwrap_or(0));
    Err(failed_assertion(launch.space, item, message, at))
}

/// Extents and strides, in a struct.
fn layout(extents: &[isize], strides: &[isize]) -> Argument {
    Argument::longs(extents.iter().chain(strides).copied())
}

#[cfg(test)]
mod tests {
    use smallvec::{SmallVec, smallvec};
    use std::sync::Mutex;

    use super::{SHAPES_OF_ALL, SHAPES_OF_ONE, Shapes, is_narrow};

    #[test]
    fn a_loop_over_shapes_of_local_memory_compiles_few() {
        let shapes = Shapes(Mutex::default());
        let taken = |kernel, extent: usize| shapes.take(kernel, smallvec![extent, 3]);
        let of_one = (0..20).filter(|&extent| taken(7, extent)).count();
        assert_eq!(of_one, SHAPES_OF_ONE);
        assert!(taken(7, 0) && !taken(7, 19) && taken(8, 19));
        assert!(!shapes.take(7, SmallVec::new()), "nothing to know");
        for kernel in 100..100 + 2 * SHAPES_OF_ALL as u64 {
            assert!(shapes.take(kernel, smallvec![1]));
        }
        assert_eq!(shapes.0.lock().unwrap().len(), SHAPES_OF_ALL);
    }

    #[test]
    fn places_of_32_bits_are_those_whose_terms_have_as_many() {
        assert!(is_narrow(&[1 << 15, (1 << 15) - 2], &[1 << 15, 1]));
        assert!(!is_narrow(&[1 << 16, 1 << 15], &[1 << 15, 1]));
        assert!(is_narrow(&[1 << 20, 4], &[-4, 1]) && !is_narrow(&[1 << 20, 4], &[-(1 << 12), 1]));
        assert!(!is_narrow(&[usize::MAX, 2], &[isize::MAX, 0]) && !is_narrow(&[1 << 32], &[0]));
    }
}
