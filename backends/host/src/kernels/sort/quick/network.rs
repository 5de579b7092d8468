//! The networks that sort few words, in registers: vectors are compared with each other, and then their lanes.

use crate::simd::Ordered;

/// A statement for each vector of as many, written one after the other: indices are constants, so that vectors are registers.
macro_rules! each {
    ($i:ident below $count:ident: $body:expr) => {
        each!(@ $i $count $body; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $i:ident $count:ident $body:expr; $($number:literal)*) => {$(
        if $number < $count {
            let $i: usize = $number;
            $body
        }
    )*};
}
pub(super) use each;

/// Sorts as many words as a network does.
///
/// # Safety
/// As for [`Quick::arrange`](super::Quick).
#[inline(always)]
pub(super) unsafe fn few<V: Ordered>(words: *mut V::Elem, len: usize) {
    // SAFETY: `len` words are at the address, and this call's; as many vectors as are named have room for
    // them.
    unsafe {
        match len.div_ceil(V::LEN) {
            0 => {}
            1 => network::<V, 1>(words, len),
            2 => network::<V, 2>(words, len),
            3..=4 => network::<V, 4>(words, len),
            5..=8 => network::<V, 8>(words, len),
            _ if V::ROWS == 16 => network::<V, 16>(words, len),
            _ => {}
        }
    }
}

/// # Safety
/// As for [`Quick::arrange`](super::Quick); as many vectors have room for the words, and half as many have not.
#[inline(always)]
unsafe fn network<V: Ordered, const N: usize>(words: *mut V::Elem, len: usize) {
    // SAFETY: for all of this function: `len` words are at the address, and this call's; there are `N`
    // vectors, and indices are below that.
    unsafe {
        let mut vectors = [V::splat(V::MAX); N];
        let all = vectors.as_mut_ptr();
        each!(i below N: take(all, i, words, len));
        each!(i below N: sort_lanes(all, i));
        if N >= 2 {
            merge::<V, N, 1>(all);
        }
        if N >= 4 {
            merge::<V, N, 2>(all);
        }
        if N >= 8 {
            merge::<V, N, 4>(all);
        }
        if N >= 16 {
            merge::<V, N, 8>(all);
        }
        each!(i below N: give(all, i, words, len));
    }
}

// What a network does with a vector or two is in functions of the vectors' type alone: networks are of several lengths, and each
// does it hundreds of times. The indices are constants where these functions are inlined.

/// Reads the `i`th vector as far as there are words.
///
/// # Safety
/// There is an `i`th vector; `len` words are readable.
#[inline(always)]
unsafe fn take<V: Ordered>(all: *mut V, i: usize, words: *const V::Elem, len: usize) {
    let (whole, part) = (len / V::LEN, len % V::LEN);
    // SAFETY: there is an `i`th vector, and `len` words are readable, of which a whole vector, or its part,
    // ends at `len`.
    unsafe {
        if i < whole {
            *all.add(i) = V::load(words.add(i * V::LEN));
        } else if i == whole && part > 0 {
            *all.add(i) = V::load_part(words.add(i * V::LEN), part);
        }
    }
}

/// Writes the `i`th vector as far as there are words.
///
/// # Safety
/// There is an `i`th vector; `len` words are writable.
#[inline(always)]
unsafe fn give<V: Ordered>(all: *const V, i: usize, words: *mut V::Elem, len: usize) {
    let (whole, part) = (len / V::LEN, len % V::LEN);
    // SAFETY: there is an `i`th vector, and `len` words are writable, of which a whole vector, or its part,
    // ends at `len`.
    unsafe {
        if i < whole {
            (*all.add(i)).store(words.add(i * V::LEN));
        } else if i == whole && part > 0 {
            (*all.add(i)).store_part(words.add(i * V::LEN), part);
        }
    }
}

/// Sorts the lanes of the `i`th vector.
///
/// # Safety
/// There is one.
#[inline(always)]
unsafe fn sort_lanes<V: Ordered>(all: *mut V, i: usize) {
    // SAFETY: there is an `i`th vector.
    unsafe { *all.add(i) = in_order(*all.add(i)) };
}

/// Sorts the lanes of a vector.
#[inline(always)]
pub(super) fn in_order<V: Ordered>(v: V) -> V {
    let mut v = v.exchanged::<1>();
    if V::LEN >= 4 {
        v = v.exchanged::<3>().exchanged::<1>();
    }
    if V::LEN >= 8 {
        v = v.exchanged::<7>().exchanged::<2>().exchanged::<1>();
    }
    if V::LEN >= 16 {
        v = v.exchanged::<15>().exchanged::<4>().exchanged::<2>().exchanged::<1>();
    }
    v
}

/// Sorts the lanes of the `i`th vector, whose halves fall and rise.
///
/// # Safety
/// There is one.
#[inline(always)]
unsafe fn merge_lanes<V: Ordered>(all: *mut V, i: usize) {
    // SAFETY: there is an `i`th vector, and nothing else refers to it.
    let v = unsafe { &mut *all.add(i) };
    if V::LEN >= 16 {
        *v = v.exchanged::<8>();
    }
    if V::LEN >= 8 {
        *v = v.exchanged::<4>();
    }
    if V::LEN >= 4 {
        *v = v.exchanged::<2>();
    }
    *v = v.exchanged::<1>();
}

/// Sorts each `2 · HALF` vectors, whose halves are sorted: the first half against the second one in reverse, which leaves
/// the smaller words in the first half; then each half against itself, by ever shorter distances.
///
/// # Safety
/// There are `N` vectors.
#[inline(always)]
unsafe fn merge<V: Ordered, const N: usize, const HALF: usize>(all: *mut V) {
    // SAFETY: for all of this function: there are `N` vectors; pairs are half as many as vectors.
    unsafe {
        let old = all.cast::<[V; N]>().read();
        let pairs = N / 2;
        each!(i below pairs: oppose::<V, HALF>(old.as_ptr(), all, i));
        if HALF >= 8 {
            each!(i below pairs: part::<V, 4>(all, i));
        }
        if HALF >= 4 {
            each!(i below pairs: part::<V, 2>(all, i));
        }
        if HALF >= 2 {
            each!(i below pairs: part::<V, 1>(all, i));
        }
        each!(i below N: merge_lanes(all, i));
    }
}

/// Puts the smaller words of the `i`th pair of vectors, one of which is read in reverse, in the first half, the others in the
/// second one.
///
/// # Safety
/// There are such pairs among the old and the new vectors.
#[inline(always)]
unsafe fn oppose<V: Ordered, const HALF: usize>(old: *const V, all: *mut V, i: usize) {
    let (first, place) = (i / HALF * 2 * HALF, i % HALF);
    // SAFETY: both vectors of the pair are among the old ones, and there are as many new ones.
    unsafe {
        let (a, b) = (*old.add(first + place), (*old.add(first + 2 * HALF - 1 - place)).reversed());
        *all.add(first + place) = a.lower(b);
        *all.add(first + HALF + place) = a.higher(b);
    }
}

/// Puts the smaller words of the `i`th pair of vectors so far apart first.
///
/// # Safety
/// There is such a pair.
#[inline(always)]
unsafe fn part<V: Ordered, const APART: usize>(all: *mut V, i: usize) {
    let place = i / APART * 2 * APART + i % APART;
    // SAFETY: both vectors of the pair are there.
    unsafe {
        let (a, b) = (*all.add(place), *all.add(place + APART));
        *all.add(place) = a.lower(b);
        *all.add(place + APART) = a.higher(b);
    }
}
