//! What loops over vectors read: elements as they lie, or every second one.

use crate::kernels::stream;
use crate::simd::Lane;

/// What a loop over vectors reads.
pub(crate) trait Read<V: Lane> {
    /// Bytes from one element of the first source to the next.
    const PITCH: usize = size_of::<V::Elem>();
    /// Further elements that must be there for a whole vector to be read: of what lies behind the last element, nothing may be.
    const BEHIND: usize = 0;
    /// The vector from element `i` on.
    ///
    /// # Safety
    /// The vector's elements are readable at the sources.
    unsafe fn vector(from: [*const V::Elem; 2], i: usize) -> V;
    /// The same of `len` elements, no more than a vector has; the rest is of no meaning. As many as a vector has, only where there
    /// are further ones to be.
    ///
    /// # Safety
    /// They are readable at the sources.
    unsafe fn part(from: [*const V::Elem; 2], i: usize, len: usize) -> V;
    /// Has what follows vector `k` of those from element `i` on fetched, at some distance.
    #[inline(always)]
    fn fetch([src, _]: [*const V::Elem; 2], i: usize, k: usize) {
        let bytes = V::LEN * Self::PITCH;
        stream::fetch_behind(src.cast::<u8>().wrapping_add(i * Self::PITCH), k * bytes..(k + 1) * bytes);
    }
}

/// The elements of the first source.
pub(crate) struct Values;

impl<V: Lane> Read<V> for Values {
    #[inline(always)]
    unsafe fn vector([src, _]: [*const V::Elem; 2], i: usize) -> V {
        // SAFETY: the elements of a vector from `i` on are readable at the first source.
        unsafe { V::load(src.add(i)) }
    }
    #[inline(always)]
    unsafe fn part([src, _]: [*const V::Elem; 2], i: usize, len: usize) -> V {
        // SAFETY: `len` elements from `i` on are readable at the first source.
        unsafe { V::load_part(src.add(i), len) }
    }
}

/// Every second element of the first source. What lies between is others', who may write it meanwhile.
pub(crate) struct Seconds;

impl<V: Lane> Read<V> for Seconds {
    const PITCH: usize = 2 * size_of::<V::Elem>();
    const BEHIND: usize = 1;

    #[inline(always)]
    unsafe fn vector([src, _]: [*const V::Elem; 2], i: usize) -> V {
        // SAFETY: every second element of a vector from `i` on is readable, and `BEHIND` says that another
        // one follows, so that what lies behind the last is memory, too.
        unsafe { V::load_seconds(src.add(2 * i)) }
    }
    #[inline(always)]
    unsafe fn part([src, _]: [*const V::Elem; 2], i: usize, len: usize) -> V {
        // SAFETY: `len` elements, every second one, are readable from `i` on; nothing behind the last is
        // read.
        unsafe { V::load_seconds_part(src.add(2 * i), len) }
    }
}

/// A [`Read`] for every vector.
pub(crate) trait ReadAny {
    type Of<V: Lane>: Read<V>;
}
impl ReadAny for Values {
    type Of<V: Lane> = Self;
}
impl ReadAny for Seconds {
    type Of<V: Lane> = Self;
}
