//! What the memory can do: bare loops to measure kernels against, in the same process and at the same footprint.
//!
//! Each loop does as little per element as its traffic allows, at the best instruction set level, with ordinary or
//! non-temporal stores; the fastest of the forms is the limit. The loops are a crate of their own, as no program but the
//! benchmarks needs them: in the backend they would be in every program.

/// Vectors that the loops go through at a time.
const VECTORS: usize = 8;
/// Elements that a thread's part is a multiple of, those of so many of the widest vectors: parts between which this many lie are
/// aligned alike.
pub const CHUNK: usize = VECTORS * 16;

/// The memory traffic of a loop: how many arrays of one length it reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Traffic {
    /// One array is read.
    Read,
    /// One array is written.
    Write,
    /// One array is read, one written.
    Copy,
    /// Two arrays are read, one written.
    Triad,
    /// Three arrays are read, one written.
    ThreeToOne,
    /// Four arrays are read, one written.
    FourToOne,
    /// One array is read, two written.
    OneToTwo,
    /// Three arrays are read, two written.
    ThreeToTwo,
}

impl Traffic {
    /// Arrays that the loop reads, and those that it writes.
    #[must_use]
    pub const fn parts(self) -> (usize, usize) {
        match self {
            Self::Read => (1, 0),
            Self::Write => (0, 1),
            Self::Copy => (1, 1),
            Self::Triad => (2, 1),
            Self::ThreeToOne => (3, 1),
            Self::FourToOne => (4, 1),
            Self::OneToTwo => (1, 2),
            Self::ThreeToTwo => (3, 2),
        }
    }

    /// Arrays that the loop reads and writes.
    #[must_use]
    pub const fn arrays(self) -> usize {
        let (read, written) = self.parts();
        read + written
    }
}

/// One pass of a loop over arrays: writes sums of what is read, and returns the sum of what is only read, so that nobody can leave
/// the reading out. Non-temporal stores are for arrays that begin at a multiple of 64 bytes; others are stored ordinarily.
///
/// # Panics
/// Where the arrays are not as many as the traffic says, or of several lengths.
pub fn pass(traffic: Traffic, streaming: bool, read: &[&[f32]], written: &mut [&mut [f32]]) -> f32 {
    let mut lens = read.iter().map(|read| read.len()).chain(written.iter().map(|to| to.len()));
    let len = lens.next().unwrap_or(0);
    assert!(lens.all(|other| other == len), "arrays of one length");
    assert_eq!((read.len(), written.len()), traffic.parts(), "as many arrays as the traffic says");
    let mut at = Addresses { read: [std::ptr::null(); 4], written: [std::ptr::null_mut(); 2], len };
    for (to, read) in at.read.iter_mut().zip(read) {
        *to = read.as_ptr();
    }
    for (to, written) in at.written.iter_mut().zip(written) {
        *to = written.as_mut_ptr();
    }
    let streaming = streaming && at.written.iter().all(|to| to.addr() % 64 == 0);
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: this level was detected just now, and the arrays are borrowed, those that are written mutably.
            return unsafe { x86::avx512(traffic, streaming, at) };
        }
        if is_x86_feature_detected!("avx") {
            // SAFETY: this level was detected just now, and the arrays are borrowed, those that are written mutably.
            return unsafe { x86::avx(traffic, streaming, at) };
        }
    }
    // SAFETY: the target's own level, and the arrays are borrowed, those that are written mutably.
    unsafe { loops::<Base>(traffic, streaming, at) }
}

/// Where arrays lie.
#[derive(Clone, Copy)]
struct Addresses {
    read: [*const f32; 4],
    written: [*mut f32; 2],
    len: usize,
}

/// A vector of floats.
///
/// # Safety
/// For all functions: the processor has the vector's level, and so many elements are there; [`stream`](Self::stream)ed ones begin
/// at a multiple of the vector's bytes.
trait Vector: Copy {
    /// Its elements.
    const LEN: usize;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn stream(self, to: *mut f32);
}

macro_rules! vector {
    ($Vector:ty, $len:literal, $splat:path, $add:path, $load:path, $store:path, $stream:path) => {
        impl Vector for $Vector {
            const LEN: usize = $len;
            #[inline(always)]
            unsafe fn splat(x: f32) -> Self {
                // SAFETY: the processor has the vector's level, by the trait's contract.
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the processor has the vector's level, by the trait's contract.
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                // SAFETY: the level and so many elements are there, by the trait's contract.
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: the level and so many elements are there, by the trait's contract.
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            unsafe fn stream(self, to: *mut f32) {
                // SAFETY: the level and so many elements are there, by the trait's contract.
                unsafe { $stream(to, self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
type Base = std::arch::x86_64::__m128;
#[cfg(not(target_arch = "x86_64"))]
type Base = [f32; 4];

#[cfg(not(target_arch = "x86_64"))]
mod plain {
    /// # Safety
    /// None; as the other levels' are.
    pub(super) unsafe fn splat(x: f32) -> [f32; 4] {
        [x; 4]
    }
    /// # Safety
    /// None; as the other levels' are.
    pub(super) unsafe fn add(x: [f32; 4], y: [f32; 4]) -> [f32; 4] {
        std::array::from_fn(|i| x[i] + y[i])
    }
    /// # Safety
    /// Four elements are readable.
    pub(super) unsafe fn load(from: *const f32) -> [f32; 4] {
        // SAFETY: four elements are readable, by this function's contract.
        unsafe { from.cast::<[f32; 4]>().read() }
    }
    /// # Safety
    /// Four elements are writable.
    pub(super) unsafe fn store(to: *mut f32, x: [f32; 4]) {
        // SAFETY: four elements are writable, by this function's contract.
        unsafe { to.cast::<[f32; 4]>().write(x) }
    }
}
#[cfg(not(target_arch = "x86_64"))]
vector!([f32; 4], 4, plain::splat, plain::add, plain::load, plain::store, plain::store);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Addresses, Traffic, Vector, loops};

    vector!(__m128, 4, _mm_set1_ps, _mm_add_ps, _mm_loadu_ps, _mm_storeu_ps, _mm_stream_ps);
    vector!(__m256, 8, _mm256_set1_ps, _mm256_add_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_stream_ps);
    vector!(__m512, 16, _mm512_set1_ps, _mm512_add_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_stream_ps);

    /// # Safety
    /// The contract of [`loops`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn avx512(traffic: Traffic, streaming: bool, part: Addresses) -> f32 {
        // SAFETY: the processor has this function's level, and the arrays of the traffic are there, by the contract of `loops`.
        unsafe { loops::<__m512>(traffic, streaming, part) }
    }

    /// # Safety
    /// The contract of [`loops`].
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn avx(traffic: Traffic, streaming: bool, part: Addresses) -> f32 {
        // SAFETY: the processor has this function's level, and the arrays of the traffic are there, by the contract of `loops`.
        unsafe { loops::<__m256>(traffic, streaming, part) }
    }
}

/// The loop of a traffic.
///
/// # Safety
/// The processor has the level of `V`, and the arrays that the traffic has are there, those that are written nowhere else used,
/// and aligned to 64 bytes where they are streamed.
#[inline(always)]
unsafe fn loops<V: Vector>(traffic: Traffic, streaming: bool, part: Addresses) -> f32 {
    // SAFETY: level and arrays are those that this function asks for; `mix` is given as many as the traffic has.
    unsafe {
        match traffic {
            Traffic::Read => mix::<V, 1, 0>(streaming, part),
            Traffic::Write => mix::<V, 0, 1>(streaming, part),
            Traffic::Copy => mix::<V, 1, 1>(streaming, part),
            Traffic::Triad => mix::<V, 2, 1>(streaming, part),
            Traffic::ThreeToOne => mix::<V, 3, 1>(streaming, part),
            Traffic::FourToOne => mix::<V, 4, 1>(streaming, part),
            Traffic::OneToTwo => mix::<V, 1, 2>(streaming, part),
            Traffic::ThreeToTwo => mix::<V, 3, 2>(streaming, part),
        }
    }
}

/// Writes sums of what is read; of what is only read, the sum is returned.
///
/// # Safety
/// As for [`loops`], of so many arrays.
#[inline(always)]
unsafe fn mix<V: Vector, const R: usize, const W: usize>(streaming: bool, part: Addresses) -> f32 {
    let Addresses { read, written, len } = part;
    // SAFETY: the arrays are there, and nobody else uses those that are written (`loops`); each vector ends at or below `len`, which all arrays have, and is a number of vectors from
    // the array's beginning.
    unsafe {
        let mut sums = [V::splat(0.0); VECTORS];
        let mut i = 0;
        while i + VECTORS * V::LEN <= len {
            let mut k = 0;
            while k < VECTORS {
                let at = i + k * V::LEN;
                let mut value = if W == 0 { sums[k] } else { V::splat(1.0) };
                let mut from = 0;
                while from < R {
                    let next = V::load(read[from].add(at));
                    value = if W > 0 && from == 0 { next } else { value.add(next) };
                    from += 1;
                }
                let mut to = 0;
                while to < W {
                    if streaming {
                        value.stream(written[to].add(at));
                    } else {
                        value.store(written[to].add(at));
                    }
                    to += 1;
                }
                if W == 0 {
                    sums[k] = value;
                }
                k += 1;
            }
            i += VECTORS * V::LEN;
        }
        let mut total = 0.0;
        while i < len {
            let mut value = if R == 0 { 1.0 } else { 0.0 };
            for from in &read[..R] {
                value += *from.add(i);
            }
            for to in &written[..W] {
                to.add(i).write(value);
            }
            total += value;
            i += 1;
        }
        #[cfg(target_arch = "x86_64")]
        if streaming {
            std::arch::x86_64::_mm_sfence();
        }
        let mut k = 1;
        while k < VECTORS {
            sums[0] = sums[0].add(sums[k]);
            k += 1;
        }
        let mut lanes = [0.0; 16];
        sums[0].store(lanes.as_mut_ptr());
        if W == 0 { total + lanes.iter().sum::<f32>() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_reach_all_elements() {
        use Traffic::*;
        for traffic in [Read, Write, Copy, Triad, ThreeToOne, FourToOne, OneToTwo, ThreeToTwo] {
            for (len, streaming) in [
                (0, true),
                (1, false),
                (17, true),
                (CHUNK, true),
                (5 * CHUNK + 19, false),
                (5 * CHUNK + 19, true),
            ] {
                let (read, written) = traffic.parts();
                // Arrays hold 1, 2, …, and a written element is the sum of those that are read.
                let expected = if read == 0 { 1.0 } else { (read * (read + 1) / 2) as f32 };
                let from: Vec<Vec<f32>> = (0..read).map(|number| vec![1.0 + number as f32; len]).collect();
                let from: Vec<&[f32]> = from.iter().map(Vec::as_slice).collect();
                // Elements from the first on that is at a multiple of 64 bytes.
                let mut to: Vec<Vec<f32>> = (0..written).map(|_| vec![-1.0; len + 16]).collect();
                let mut to: Vec<&mut [f32]> = to
                    .iter_mut()
                    .map(|to| {
                        let begin = to.as_ptr().align_offset(64);
                        &mut to[begin..begin + len]
                    })
                    .collect();
                let sum = pass(traffic, streaming, &from, &mut to);
                assert!(written > 0 || sum == len as f32, "{traffic:?} {streaming} {len}: {sum}");
                assert!(
                    to.iter().flat_map(|to| to.iter()).all(|&x| x == expected),
                    "{traffic:?} {streaming} {len}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "as many arrays")]
    fn too_few_arrays_are_refused() {
        pass(Traffic::Copy, false, &[&[0.0]], &mut []);
    }
}
