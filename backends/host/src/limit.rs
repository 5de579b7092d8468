//! What the memory can do: bare loops to measure kernels against, in the same process and at the same footprint.
//!
//! Each loop does as little per element as its traffic allows, at the best instruction set level, with ordinary or
//! non-temporal stores; the fastest of the forms is the limit.

use std::ptr::NonNull;

use rayon::prelude::*;
use stridewise_core::{Error, Result};

use crate::simd::{self, Isa, Lane};
use crate::{memory, topology};

/// Bytes of the widest vector.
const VECTOR_BYTES: usize = 64;
/// Vectors that the loops go through at a time.
const VECTORS: usize = 8;
/// Elements that a thread's part is a multiple of: those of so many of the widest vectors.
const CHUNK: usize = VECTORS * VECTOR_BYTES / size_of::<f32>();

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
    const fn parts(self) -> (usize, usize) {
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

/// Memory as allocations have it, huge pages included.
struct Buffer {
    ptr: NonNull<f32>,
    len: usize,
}

// SAFETY: a buffer owns its memory, like a `Vec`.
unsafe impl Send for Buffer {}

impl Buffer {
    fn new(len: usize, value: f32) -> Option<Self> {
        let ptr = memory::map(len.checked_mul(size_of::<f32>())?, VECTOR_BYTES, true)?.cast();
        let mut buffer = Self { ptr, len };
        buffer.as_mut_slice().fill(value);
        Some(buffer)
    }
    fn as_slice(&self) -> &[f32] {
        // SAFETY: `map` gave at least `len` zeroed or written elements, at a multiple of a vector.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
    fn as_mut_slice(&mut self) -> &mut [f32] {
        // SAFETY: as in `as_slice`; the buffer is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the memory came from `map` with this size; no slice of it outlives the buffer.
        unsafe { memory::unmap(self.ptr.cast(), self.len * size_of::<f32>()) }
    }
}

/// Buffers and threads for the loops of one traffic and footprint.
pub struct Probe {
    traffic: Traffic,
    read: Vec<Buffer>,
    written: Vec<Buffer>,
    pool: rayon::ThreadPool,
    isa: Isa,
}

impl Probe {
    /// Buffers of `len` `f32` each, written once so that their pages are there.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory, [`Error::Unsupported`] where the threads cannot be started.
    pub fn new(traffic: Traffic, len: usize, threads: usize) -> Result<Self> {
        // Left to the system, both of two threads may run on one processor for as long as a measurement takes.
        let cpus = &topology::machine().topology.cpus;
        let bind = move |thread: usize| {
            if threads == cpus.len() {
                topology::pin_current(cpus[thread]);
            }
        };
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(bind);
        let pool = builder.build().map_err(|error| {
            Error::unsupported("threads", threads, "as many as can be started", error.to_string())
        })?;
        let buffers = |count: usize| -> Result<Vec<Buffer>> {
            (0..count)
                .map(|number| {
                    // Not 0: lines of zeros are written faster on some processors.
                    Buffer::new(len, 1.0 + number as f32).ok_or_else(|| {
                        let expected = format!("memory for {} arrays of so many float32", traffic.arrays());
                        Error::alloc("len", len, expected, "measure at a smaller size")
                    })
                })
                .collect()
        };
        let (read, written) = traffic.parts();
        Ok(Self { traffic, read: buffers(read)?, written: buffers(written)?, pool, isa: Isa::best() })
    }

    /// The forms of the loop: on one thread or all, with ordinary or non-temporal stores.
    #[must_use]
    pub fn forms(&self) -> Vec<Form> {
        let threads: &[bool] = if self.pool.current_num_threads() > 1 { &[false, true] } else { &[false] };
        let streaming: &[bool] = if self.written.is_empty() { &[false] } else { &[false, true] };
        threads
            .iter()
            .flat_map(|&parallel| streaming.iter().map(move |&streaming| Form { parallel, streaming }))
            .collect()
    }

    /// Runs one form of the loop over the buffers `passes` times; returns a value that depends on what was read. Threads
    /// are called once, and each stays with its part, so that this is the memory's limit and not the pool's.
    pub fn run(&mut self, form: Form, passes: usize) -> f32 {
        let (traffic, isa) = (self.traffic, self.isa);
        let repeat = |mut part: Part<'_>| -> f32 {
            (0..passes).map(|_| std::hint::black_box(pass(isa, traffic, form.streaming, &mut part))).sum()
        };
        let threads = if form.parallel { self.pool.current_num_threads() } else { 1 };
        let len = self.read.iter().chain(&self.written).map(|buffer| buffer.len).min().unwrap_or(0);
        let chunk = len.div_ceil(threads).next_multiple_of(CHUNK).max(CHUNK);
        let mut parts: Vec<Part<'_>> = (0..len.div_ceil(chunk)).map(|_| Part::default()).collect();
        for buffer in &self.read {
            for (part, chunk) in parts.iter_mut().zip(buffer.as_slice().chunks(chunk)) {
                part.read.push(chunk);
            }
        }
        for buffer in &mut self.written {
            for (part, chunk) in parts.iter_mut().zip(buffer.as_mut_slice().chunks_mut(chunk)) {
                part.written.push(chunk);
            }
        }
        if form.parallel {
            self.pool.install(|| parts.into_par_iter().map(repeat).sum())
        } else {
            parts.into_iter().map(repeat).sum()
        }
    }
}

/// How a loop is run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Form {
    /// On all threads.
    pub parallel: bool,
    /// With non-temporal stores.
    pub streaming: bool,
}

/// A thread's part of the arrays, all of one length; those that are written are aligned to [`VECTOR_BYTES`].
#[derive(Default)]
struct Part<'a> {
    read: Vec<&'a [f32]>,
    written: Vec<&'a mut [f32]>,
}

/// Where a part lies.
#[derive(Clone, Copy)]
struct Addresses {
    read: [*const f32; 4],
    written: [*mut f32; 2],
    len: usize,
}

fn pass(isa: Isa, traffic: Traffic, streaming: bool, part: &mut Part<'_>) -> f32 {
    let mut lens = part.read.iter().map(|read| read.len()).chain(part.written.iter().map(|to| to.len()));
    let len = lens.next().unwrap_or(0);
    let parts = (part.read.len(), part.written.len());
    assert!(lens.all(|other| other == len) && parts == traffic.parts());
    let mut at = Addresses { read: [std::ptr::null(); 4], written: [std::ptr::null_mut(); 2], len };
    for (to, read) in at.read.iter_mut().zip(&part.read) {
        *to = read.as_ptr();
    }
    for (to, written) in at.written.iter_mut().zip(&mut part.written) {
        *to = written.as_mut_ptr();
    }
    let part = at;
    match isa {
        #[cfg(all(target_arch = "x86_64", feature = "avx512"))]
        // SAFETY: this level was detected (`Isa::best`), and the arrays were borrowed.
        Isa::Avx512 => unsafe { avx512(traffic, streaming, part) },
        #[cfg(all(target_arch = "x86_64", feature = "avx2"))]
        // SAFETY: this level was detected (`Isa::best`), and the arrays were borrowed.
        Isa::Avx2 => unsafe { avx2(traffic, streaming, part) },
        // SAFETY: the target's own level, and the arrays were borrowed.
        _ => unsafe { loops::<simd::base::F32>(traffic, streaming, part) },
    }
}

#[cfg(all(target_arch = "x86_64", feature = "avx512"))]
/// # Safety
/// The contract of [`loops`].
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512(traffic: Traffic, streaming: bool, part: Addresses) -> f32 {
    // SAFETY: this function's level, and the caller's contract.
    unsafe { loops::<simd::avx512::F32>(traffic, streaming, part) }
}

#[cfg(all(target_arch = "x86_64", feature = "avx2"))]
/// # Safety
/// The contract of [`loops`].
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(traffic: Traffic, streaming: bool, part: Addresses) -> f32 {
    // SAFETY: this function's level, and the caller's contract.
    unsafe { loops::<simd::avx2::F32>(traffic, streaming, part) }
}

/// The loop of a traffic.
///
/// # Safety
/// The processor has the level of `V`, and the arrays that the traffic has are there, those that are written nowhere else used.
#[inline(always)]
unsafe fn loops<V: Lane<Elem = f32>>(traffic: Traffic, streaming: bool, part: Addresses) -> f32 {
    // SAFETY: the caller's contract.
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
/// The processor has the level of `V`, and so many arrays are there.
#[inline(always)]
unsafe fn mix<V: Lane<Elem = f32>, const R: usize, const W: usize>(
    streaming: bool,
    Addresses { read, written, len }: Addresses,
) -> f32 {
    // SAFETY: the caller's contract; each vector begins below `len`, which all arrays have, and is no longer than what is
    // left there. Those that are streamed are whole, and a number of vectors from an aligned beginning (`Part`).
    unsafe {
        let mut sums = [V::splat(0.0); VECTORS];
        let mut i = 0;
        while i + VECTORS * V::LEN <= len {
            let mut k = 0;
            while k < VECTORS {
                sums[k] = step::<V, R, W>(sums[k], read, written, i + k * V::LEN, V::LEN, streaming);
                k += 1;
            }
            i += VECTORS * V::LEN;
        }
        while i < len {
            let count = V::LEN.min(len - i);
            sums[0] = step::<V, R, W>(sums[0], read, written, i, count, false);
            i += count;
        }
        #[cfg(target_arch = "x86_64")]
        if streaming {
            std::arch::x86_64::_mm_sfence();
        }
        let mut k = 1;
        while k < VECTORS {
            sums[0] = sums[0] + sums[k];
            k += 1;
        }
        let mut total = [0.0; VECTOR_BYTES / size_of::<f32>()];
        sums[0].store(total.as_mut_ptr());
        total.iter().sum()
    }
}

/// One vector of each array, of `count` elements from `at` on; returns the sum so far with what is only read.
///
/// # Safety
/// The processor has the level of `V`; so many elements are there in every array, a whole aligned vector where it is streamed.
#[inline(always)]
unsafe fn step<V: Lane<Elem = f32>, const R: usize, const W: usize>(
    sum: V,
    read: [*const f32; 4],
    written: [*mut f32; 2],
    at: usize,
    count: usize,
    streaming: bool,
) -> V {
    // SAFETY: the caller's contract.
    unsafe {
        let mut value = if W == 0 { sum } else { V::splat(1.0) };
        let mut k = 0;
        while k < R {
            let next = V::load_some(read[k].add(at), count);
            value = if W > 0 && k == 0 { next } else { value + next };
            k += 1;
        }
        let mut k = 0;
        while k < W {
            let to = written[k];
            k += 1;
            if streaming {
                value.stream(to.add(at));
            } else {
                value.store_some(to.add(at), count);
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn each_thread_has_a_processor_of_its_own() {
        let cpus: BTreeSet<usize> = topology::machine().topology.cpus.iter().copied().collect();
        let probe = Probe::new(Traffic::Copy, 64, cpus.len()).unwrap();
        // A bound thread sees the processors that it is bound to.
        let bound = probe.pool.broadcast(|_| core_affinity::get_core_ids().unwrap());
        assert!(bound.iter().all(|cores| cores.len() == 1), "{bound:?}");
        assert_eq!(bound.iter().map(|cores| cores[0].id).collect::<BTreeSet<_>>(), cpus);
    }

    #[test]
    fn loops_reach_all_elements() {
        use Traffic::*;
        for traffic in [Read, Write, Copy, Triad, ThreeToOne, FourToOne, OneToTwo, ThreeToTwo] {
            for (len, threads) in [(1, 1), (17, 2), (CHUNK, 2), (5 * CHUNK + 19, 2), (5 * CHUNK + 19, 3)] {
                let mut probe = Probe::new(traffic, len, threads).unwrap();
                let (read, written) = traffic.parts();
                // Arrays hold 1, 2, …, and a written element is the sum of those that are read.
                let expected = if read == 0 { 1.0 } else { (read * (read + 1) / 2) as f32 };
                for form in probe.forms() {
                    probe.written.iter_mut().for_each(|buffer| buffer.as_mut_slice().fill(-1.0));
                    let sum = probe.run(form, 1);
                    assert!(written > 0 || sum == len as f32, "{traffic:?} {form:?} {len}: {sum}");
                    let all = probe.written.iter().flat_map(Buffer::as_slice);
                    assert!(all.clone().all(|&x| x == expected), "{traffic:?} {form:?} {len}");
                    assert_eq!(all.count(), written * len);
                }
            }
        }
    }
}
