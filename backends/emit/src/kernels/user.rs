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

use smallvec::SmallVec;
use stridewise_core::backend::Support;
use stridewise_core::kernel::{
    Kernel, KernelArgument, KernelLaunch, LaunchOptions, Memory, Parameter, StatementKind, failed_assertion,
};
use stridewise_core::{Error, Result};

use super::{Argument, Call, Key, Target, Writer};
use crate::emit::user::{self, Known, Variant};

/// What items say of the first assertion that was false: its number, from 1 on, and the global id of the item.
pub type Report = [i64; 4];

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
    let mut objects = vec![Known::default(); form.objects.len()];
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
                if !known.empty {
                    arguments.push(Argument::Memory(*ptr));
                }
                arguments.push(layout(&signed(shape), strides));
            }
            KernelArgument::Local(shape) => {
                let bytes = shape.iter().product::<usize>() * form.object(*object).dtype.size();
                (known.empty, known.unit) = (bytes == 0, true);
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
    if target.dialect.is_cuda() {
        arguments.extend(own_local.map(Argument::Local));
    }
    let partial = axes.clone().any(|axis| space.global[axis] % space.group[axis] != 0);
    let groups = axes.clone().rev().map(|axis| space.global[axis].div_ceil(space.group[axis]));
    let items = axes.clone().rev().map(|axis| space.group[axis]);
    let flat = target.dialect.is_cuda() && is_flat(groups.clone(), items.clone());
    if flat {
        arguments.push(geometry(groups.clone(), items.clone())?);
    }
    let most_items = items.clone().product::<usize>().next_power_of_two().max(LEAST_BOUND);
    let bound = if target.dialect.is_cuda() { most_items.min(CUDA_ITEMS[0]) } else { 0 };
    let variant = Variant { partial, flat, bound, objects };
    let mut key = Key::new(Writer::User);
    // The number stands for the form, so that it is not compared.
    key.bytes(&launch.kernel.number().to_le_bytes());
    key.push(usize::from(partial) | usize::from(flat) << 1);
    key.push(bound);
    for known in &variant.objects {
        key.push(usize::from(known.empty) | usize::from(known.unit) << 1);
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
