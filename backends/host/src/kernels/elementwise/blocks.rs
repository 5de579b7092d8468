//! Functions of elements that lie one after another, over elements that do not, and with results that go past the caches: block
//! by block, by way of buffers on the stack. So every function is compiled once, for the usual case.

use std::mem::MaybeUninit;

use crate::kernels::entry::{Around, Dense, REVERSED, SAME, SECONDS, STREAM};
use crate::kernels::moving::pack;
use crate::kernels::stream;
use crate::kernels::tuning::TILE_BYTES;

/// Memory for a block of an operand.
#[repr(align(64))]
struct Block(#[allow(dead_code)] MaybeUninit<[u8; TILE_BYTES]>);

/// What is done around a kernel with results and elements of these types, of which all sources have the same.
pub(crate) const fn around<R, T>() -> Option<Around> {
    let size = size_of::<T>() as u8;
    around_sizes([size_of::<R>() as u8, size, size, size])
}

/// The same, with results and elements of three sources of so many bytes.
pub(crate) const fn around_sizes(sizes: [u8; 4]) -> Option<Around> {
    Some(Around { sizes, run })
}

/// How a source is read.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Where it lies.
    Contiguous,
    /// One element for all, which the function is told.
    Same,
    /// The block is the same each time.
    Filled,
    /// Gathered, so many bytes apart.
    Gathered(isize),
}

/// Runs a function whatever the flags are. A [`fence`](stream::fence) must follow where they ask for stores past the caches.
///
/// # Safety
/// The contract of [`Kernel::run`](crate::kernels::entry::Kernel::run), for any flags.
#[inline(never)]
unsafe fn run(dense: &Dense, dst: *mut u8, src: [*const u8; 3], flags: u32, len: usize) {
    let [size, sizes @ ..] = dense.sizes.map(usize::from);
    let past = flags & STREAM != 0 && dense.own & STREAM == 0;
    let way = |k: usize| {
        let (told, size) = (flags >> k, sizes[k].cast_signed());
        match () {
            () if told & SAME == 0 && told & SECONDS != 0 => Way::Gathered(2 * size),
            () if told & SAME == 0 && told & REVERSED != 0 => Way::Gathered(-size),
            () if told & SAME == 0 => Way::Contiguous,
            () if dense.own & SAME << k != 0 => Way::Same,
            () => Way::Filled,
        }
    };
    let ways = [way(0), way(1), way(2)];
    let widest = sizes.into_iter().max().unwrap_or(1);
    let most = if past { stream::most(size) } else { TILE_BYTES / widest };
    let most = most.min(len);
    let mut blocks = [const { Block(MaybeUninit::uninit()) }; 3];
    let mut results = stream::Buffer::new();
    let buffers = blocks.each_mut().map(|block| (&raw mut *block).cast::<u8>());
    // SAFETY: for all of this function: the contract of `ElementsFn`, for `count` of the elements from `at`
    // on: sources are readable as the flags say, and `count` results writable at `to`; a block has room for
    // as many, and what is written was read.
    unsafe {
        for k in 0..3 {
            if ways[k] == Way::Filled {
                pack::gather(dense.isa, buffers[k], src[k], 0, sizes[k], most);
            }
        }
        let mut at = 0;
        // Lines are whole from the second part on.
        let mut part =
            if past { most - (dst.addr() % stream::LINE_BYTES / size).min(most - 1) } else { most };
        while at < len {
            let count = part.min(len - at);
            let source = |k: usize| match ways[k] {
                Way::Contiguous => src[k].wrapping_add(at * sizes[k]),
                Way::Same => src[k],
                Way::Filled => buffers[k].cast_const(),
                Way::Gathered(along) => {
                    let from = src[k].wrapping_offset(at.cast_signed() * along);
                    pack::gather(dense.isa, buffers[k], from, along, sizes[k], count);
                    buffers[k].cast_const()
                }
            };
            let from = [source(0), source(1), source(2)];
            let to = dst.add(at * size);
            let own = flags & dense.own;
            if past {
                (dense.run)(results.ptr(), from[0], from[1], from[2], own, count);
                stream::copy(to, results.ptr(), count * size);
            } else {
                (dense.run)(to, from[0], from[1], from[2], own, count);
            }
            at += count;
            part = most;
        }
    }
}

#[cfg(test)]
mod tests {
    use stridewise_core::{Dtype, Op};

    use super::*;
    use crate::kernels::elementwise::step::resolve;
    use crate::kernels::stream::{LINE_BYTES, fence};
    use crate::simd::Isa;

    /// Sums with a value for all, and conversions that widen and narrow, to where no line begins, and of any length.
    #[test]
    fn by_way_of_a_buffer() {
        let one = [1_i8; 1];
        let from: Vec<i8> = (0..2100).map(|i| (i * 7 % 251) as i8).collect();
        for &isa in Isa::available() {
            let add = resolve(Op::Add, Dtype::I8, Dtype::I8, isa).unwrap().run;
            let widen = resolve(Op::Cast, Dtype::I8, Dtype::C128, isa).unwrap().run;
            let narrow = resolve(Op::Cast, Dtype::C128, Dtype::I8, isa).unwrap().run;
            for offset in (0..LINE_BYTES).step_by(7) {
                for len in [1, 2, 63, 64, 65, 448, 449, 511, 512, 513, 1024, 2000] {
                    let source = from[offset..].as_ptr().cast::<u8>();
                    let mut sums = vec![99_i8; offset + len + 1];
                    let mut wide = vec![[99.0_f64; 2]; offset + len + 1];
                    let mut back = sums.clone();
                    // SAFETY: as many elements are there from the offset on, and the processor has the level.
                    unsafe {
                        let [to, again] = [&mut sums, &mut back].map(|v| v.as_mut_ptr().add(offset).cast());
                        let between = wide.as_mut_ptr().add(offset).cast::<u8>();
                        add(to, source, one.as_ptr().cast(), source, 2 | STREAM, len);
                        widen(between, source, source, source, STREAM, len);
                        narrow(again, between, between, between, STREAM, len);
                    }
                    fence();
                    for i in 0..len {
                        let x = from[offset + i];
                        let found = (sums[offset + i], wide[offset + i], back[offset + i]);
                        let expected = (x.wrapping_add(1), [f64::from(x), 0.0], x);
                        assert_eq!(found, expected, "{offset} {len} {i} {}", isa.name());
                    }
                    let (before, behind) = (offset.wrapping_sub(1), offset + len);
                    assert!([sums[behind], back[behind]] == [99; 2] && wide[behind] == [99.0; 2]);
                    assert!(offset == 0 || (sums[before] == 99 && wide[before] == [99.0; 2]));
                }
            }
        }
    }
}
