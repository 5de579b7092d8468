//! Small work on the calling thread, while it holds the memory that it touches.
//!
//! A submission costs more than computing a few elements. Where a device computes on the calling thread anyway, and
//! nothing that is under way touches the memory, the work is done while the memory is held, which a submission would wait
//! for: then it is over before anything could conflict with it, and leaves nothing to record.

mod alike;
mod call;
mod fold;
mod hold;
mod join;
mod moves;
mod plan;
mod strided;

pub(crate) use alike::Alike;
pub(crate) use call::Call;
pub(crate) use fold::{AxisFold, WAITING_BYTES};
use hold::{Memories, hold_idle};
pub(crate) use join::{MAX_STRETCHES, join};
pub(crate) use moves::{Move, MoveCall};
pub(crate) use plan::run;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use super::allocation::Allocation;
use super::{BLOCK_ALIGN_BYTES, UsmKind, UsmPtr};
use crate::backend::{Elements, REVERSED, SAME, SECONDS};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::ops::Op;
use crate::runtime::{Device, OpFunction};
use crate::scalar::Scalar;

/// Operands of such work, at most.
pub(crate) const MAX_OPERANDS: usize = 3;
/// Bytes at most of an operand that is not simply read where it lies: it is gathered on the stack, which this bounds.
pub(crate) const MAX_BYTES: usize = 8 << 10;
/// Elements at most of rows that are moved, and of random numbers that are computed step by step: more are left to vectors and threads,
/// in plans, which take longer to make than so few elements.
pub(crate) const FEW_LEN: usize = 1 << 10;
/// Bytes of a copy, of elements that lie in any way, that takes no longer than a submission.
pub(crate) const COPIED_BYTES: usize = 32 << 10;
/// Bytes at most of a result that is computed although it could be recorded instead, to be computed with what comes next:
/// that saves the way of its elements through the second-level cache, and costs the recording.
pub(crate) const IMMEDIATE_BYTES: usize = 64 << 10;

/// Memory for results; `None` where work under way has to give some back first, which only who holds nothing waits for.
///
/// # Errors
/// What the allocation reports, but that there is none left.
#[inline]
pub(super) fn fresh_memory(
    device: &Device,
    kind: UsmKind,
    bytes: usize,
    align: usize,
) -> Result<Option<Arc<Allocation>>> {
    match Allocation::at_once(device, kind, bytes, align) {
        Err(Error::Alloc(_)) => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Memory of its own for as many numbers of 64 bits, each one more than the one before; they wrap. `None` where the device does not
/// compute on the calling thread, or there are none.
///
/// # Errors
/// What the allocation reports.
pub(crate) fn range(
    device: &Device,
    kind: UsmKind,
    start: u64,
    len: usize,
) -> Result<Option<Arc<Allocation>>> {
    if !device.capabilities().immediate || len == 0 {
        return Ok(None);
    }
    let Some(out) = fresh_memory(device, kind, len * size_of::<u64>(), BLOCK_ALIGN_BYTES)? else {
        return Ok(None);
    };
    let to = out.ptr().as_ptr().cast::<u64>();
    for i in 0..len {
        // SAFETY: the memory was just allocated for as many numbers, aligned for every dtype, nobody else has it, and the device
        // lets its memory be touched here.
        unsafe { to.add(i).write(start.wrapping_add(i as u64)) };
    }
    Ok(Some(out))
}

/// A value's bytes, aligned for every dtype.
#[repr(align(16))]
#[derive(Clone, Copy)]
struct Constant([u64; 2]);

impl Constant {
    fn of(value: Scalar) -> Self {
        Self(bytemuck::cast(value.to_bytes()))
    }

    fn place(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

/// Memory on the stack for an operand.
#[repr(align(64))]
struct Gathered([MaybeUninit<u8>; MAX_BYTES]);

/// A device's function for an operation on operands of a dtype, and for which device it is.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    elements: Elements,
    arity: usize,
    op: Op,
    dtype: Dtype,
    out: Dtype,
    device: &'a Device,
    /// Whether somebody waits for the results.
    waited: bool,
}

impl<'a> Function<'a> {
    /// The function of an operation other than a conversion, where the device has one.
    #[inline(always)]
    pub(crate) fn of(device: &'a Device, op: Op, dtype: Dtype) -> Option<Self> {
        debug_assert_ne!(op, Op::Cast, "the dtype of the results would not follow");
        let &OpFunction { elements, arity, out } = device.op_function(op, dtype)?;
        Some(Self { elements, arity, op, dtype, out, device, waited: false })
    }

    /// The same, also of a conversion to a dtype.
    pub(crate) fn to(device: &'a Device, op: Op, dtype: Dtype, out: Dtype) -> Option<Self> {
        let elements = device.elements_fn(op, dtype, out)?;
        Some(Self { elements, arity: op.arity(), op, dtype, out, device, waited: false })
    }

    /// The function for results that somebody waits for, which all threads may compute.
    pub(crate) fn waited(self) -> Self {
        Self { waited: true, ..self }
    }

    /// The dtype of the results.
    pub(crate) fn out(&self) -> Dtype {
        self.out
    }

    /// Elements that are computed without a submission, at most.
    pub(crate) fn most(&self) -> usize {
        if self.waited { self.elements.waited } else { self.elements.most }
    }

    /// Computes `len` elements, on the calling thread and those of the device that are of use.
    ///
    /// # Safety
    /// As for [`ElementsFn`](crate::backend::ElementsFn), of the dtypes of the function, in memory where its device computes on the calling thread.
    #[inline(always)]
    unsafe fn run(&self, dst: *mut u8, src: [*const u8; MAX_OPERANDS], flags: u32, len: usize) {
        // SAFETY: `src` and `dst` are what the function asks for (`ElementsFn`), of its dtypes.
        unsafe {
            if len <= self.elements.alone {
                self.run_alone(dst, src, flags, len);
            } else {
                // By value, so that nothing is in memory where it is not called.
                (*self).run_shared(dst, src, flags, len);
            }
        }
    }

    /// [`run`](Self::run), on the calling thread.
    ///
    /// # Safety
    /// As for `run`.
    #[inline(always)]
    unsafe fn run_alone(&self, dst: *mut u8, src: [*const u8; MAX_OPERANDS], flags: u32, len: usize) {
        // SAFETY: `src` and `dst` are what the function asks for (`ElementsFn`), of its dtypes.
        unsafe { (self.elements.run)(dst, src[0], src[1], src[2], flags, len) }
    }

    /// [`run`](Self::run), on two threads where one is awake, or on all.
    ///
    /// # Safety
    /// As for `run`.
    #[cold]
    #[inline(never)]
    unsafe fn run_shared(self, dst: *mut u8, src: [*const u8; MAX_OPERANDS], flags: u32, len: usize) {
        let (dst, src) = (UsmPtr::new(dst), src.map(|src| UsmPtr::new(src.cast_mut())));
        let after = |start: UsmPtr, elements: usize, step: isize, size: usize| {
            start.byte_offset((elements * size).cast_signed() * step).as_ptr()
        };
        self.share(len, len.div_ceil(BLOCK), |blocks| {
            let (start, end) = (blocks.start * BLOCK, len.min(blocks.end * BLOCK));
            let [a, b, c] = std::array::from_fn(|k| {
                after(src[k], start, step(flags, k), self.op.operand_dtype(k, self.dtype).size()).cast_const()
            });
            // SAFETY: a part of the elements that this function was given: an operand that is exactly the
            // results is so in each part, and others are apart from all.
            unsafe {
                (self.elements.run)(after(dst, start, 1, self.out.size()), a, b, c, flags, end - start);
            }
        });
    }

    /// [`Device::share`](crate::backend::Device::share), of work that comes to so many elements.
    #[inline(always)]
    fn share(&self, elements: usize, len: usize, run: impl Fn(Range<usize>) + Sync) {
        match elements <= self.elements.alone {
            true => run(0..len),
            false => self.device.backend().share(len, elements > self.elements.most, &run),
        }
    }
}

/// Elements of memory from one of a source to the next, as flags say.
fn step(flags: u32, k: usize) -> isize {
    match flags >> k {
        flags if flags & SAME != 0 => 0,
        flags if flags & SECONDS != 0 => 2,
        flags if flags & REVERSED != 0 => -1,
        _ => 1,
    }
}

/// The flags of a source whose elements are so many of memory apart, one of [`step`]'s.
fn flags(step: isize, k: usize) -> u32 {
    let flag = match step {
        0 => SAME,
        2 => SECONDS,
        -1 => REVERSED,
        _ => 0,
    };
    flag << k
}

/// Elements that boundaries between the threads of a shared function are multiples of: whole lines of the cache, of any dtype.
const BLOCK: usize = 64;

/// The elements that an operation computes: their shape, and how they follow each other.
#[derive(Clone, Copy)]
pub(crate) struct Space<'a> {
    pub(crate) shape: &'a [usize],
    /// The product of the extents, at most `MAX_LEN`: times the size of a dtype, it fits `isize`.
    pub(crate) len: usize,
    pub(crate) order: Order,
}

/// An operand's elements in memory.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) layout: &'a Layout,
}

impl Source<'_> {
    /// Whether the elements are those of a space, and follow each other as these do.
    #[inline(always)]
    fn lies_as(&self, space: &Space<'_>) -> bool {
        self.layout.is_contiguous(space.order) && same_shape(self.layout.shape(), space.shape)
    }

    /// Copies the elements, broadcast to a shape, one after another to `dst`.
    ///
    /// # Safety
    /// - `place` is that of the element at multi-index zero, and all elements of the layout are in the allocation.
    /// - The layout broadcasts to the space's shape.
    /// - At `dst`, as many elements as the shape has are writable, apart from this allocation.
    /// - Nothing writes to the source meanwhile, and nothing else accesses what is at `dst`.
    unsafe fn gather(&self, place: *const u8, itemsize: usize, space: &Space<'_>, dst: *mut u8) {
        // SAFETY: `place` and the layout say where the elements are, all of which are in the allocation; as
        // many are writable at `dst`, apart from it. The elements are only read.
        unsafe {
            let device = &**self.allocation.device().backend();
            strided::gather(device, place, &strided::steps(self.layout, space, itemsize), itemsize, dst);
        }
    }
}

/// Where the element at multi-index zero lies; `None` where not all elements, of which there are `len`, are in the memory, or
/// not aligned.
fn place(allocation: &Allocation, layout: &Layout, len: usize, dtype: Dtype) -> Option<*mut u8> {
    let end = match layout.is_c_contiguous() || layout.is_f_contiguous() {
        true => layout.offset() + len,
        false => layout.element_range().end,
    };
    place_before(allocation, layout.offset(), end, dtype)
}

/// [`place`] of elements before `end`, the first of them at `offset`.
#[inline(always)]
fn place_before(allocation: &Allocation, offset: usize, end: usize, dtype: Dtype) -> Option<*mut u8> {
    // Elements and offset were checked when the layout was made, but for their own size.
    if end.checked_mul(dtype.size())? > allocation.bytes() {
        return None;
    }
    let place = allocation.ptr().byte_offset((offset * dtype.size()).cast_signed()).as_ptr();
    // Alignments are powers of two.
    (place.addr() & (dtype.align() - 1) == 0).then_some(place)
}

/// Whether shapes are the same: they are short, and a call of `memcmp` is felt.
#[inline(always)]
pub(crate) fn same_shape(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && std::iter::zip(a, b).all(|(a, b)| a == b)
}

/// Whether a shape broadcasts to another.
fn broadcasts(own: &[usize], to: &[usize]) -> bool {
    let Some(added) = to.len().checked_sub(own.len()) else { return false };
    std::iter::zip(own, &to[added..]).all(|(&own, &to)| own == to || own == 1)
}

/// The addresses of bytes.
fn span(start: *const u8, bytes: usize) -> Range<usize> {
    start.addr()..start.addr() + bytes
}
