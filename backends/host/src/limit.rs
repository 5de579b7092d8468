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

/// The memory traffic of a loop.
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
}

impl Traffic {
    /// Arrays that the loop reads and writes.
    #[must_use]
    pub const fn arrays(self) -> usize {
        match self {
            Self::Read | Self::Write => 1,
            Self::Copy => 2,
            Self::Triad => 3,
        }
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

/// Buffers and threads for the loops of one footprint.
pub struct Probe {
    arrays: [Buffer; 3],
    pool: rayon::ThreadPool,
    isa: Isa,
}

impl Probe {
    /// Buffers of `len` `f32` each, written once so that their pages are there.
    ///
    /// # Errors
    /// [`Error::Alloc`] where there is no memory, [`Error::Unsupported`] where the threads cannot be started.
    pub fn new(len: usize, threads: usize) -> Result<Self> {
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
        let buffer = |value: f32| {
            Buffer::new(len, value).ok_or_else(|| {
                let expected = "memory for three arrays of so many float32";
                Error::alloc("len", len, expected, "measure at a smaller size")
            })
        };
        Ok(Self { arrays: [buffer(1.0)?, buffer(2.0)?, buffer(3.0)?], pool, isa: Isa::best() })
    }

    /// The forms of a loop: on one thread or all, with ordinary or non-temporal stores.
    #[must_use]
    pub fn forms(&self, traffic: Traffic) -> Vec<Form> {
        let threads: &[bool] = if self.pool.current_num_threads() > 1 { &[false, true] } else { &[false] };
        let streaming: &[bool] = if traffic == Traffic::Read { &[false] } else { &[false, true] };
        threads
            .iter()
            .flat_map(|&parallel| streaming.iter().map(move |&streaming| Form { parallel, streaming }))
            .collect()
    }

    /// Runs one form of a loop over the buffers `passes` times; returns a value that depends on what was read. Threads
    /// are called once, and each stays with its part, so that this is the memory's limit and not the pool's.
    pub fn run(&mut self, traffic: Traffic, form: Form, passes: usize) -> f32 {
        let isa = self.isa;
        let [a, b, c] = &mut self.arrays;
        let (a, b, c) = (a.as_mut_slice(), b.as_slice(), c.as_slice());
        let repeat = |a: &mut [f32], b: &[f32], c: &[f32]| -> f32 {
            (0..passes).map(|_| std::hint::black_box(pass(isa, traffic, form.streaming, a, b, c))).sum()
        };
        if !form.parallel {
            return repeat(a, b, c);
        }
        let chunk = a.len().div_ceil(self.pool.current_num_threads()).next_multiple_of(64).max(64);
        self.pool.install(|| {
            a.par_chunks_mut(chunk)
                .zip(b.par_chunks(chunk))
                .zip(c.par_chunks(chunk))
                .map(|((a, b), c)| repeat(a, b, c))
                .sum()
        })
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

fn pass(isa: Isa, traffic: Traffic, streaming: bool, a: &mut [f32], b: &[f32], c: &[f32]) -> f32 {
    match isa {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level was detected (`Isa::best`).
        Isa::Avx512 => unsafe { avx512(traffic, streaming, a, b, c) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: this level was detected (`Isa::best`).
        Isa::Avx2 => unsafe { avx2(traffic, streaming, a, b, c) },
        _ => loops::<simd::base::F32>(traffic, streaming, a, b, c),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512(traffic: Traffic, streaming: bool, a: &mut [f32], b: &[f32], c: &[f32]) -> f32 {
    loops::<simd::avx512::F32>(traffic, streaming, a, b, c)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2(traffic: Traffic, streaming: bool, a: &mut [f32], b: &[f32], c: &[f32]) -> f32 {
    loops::<simd::avx2::F32>(traffic, streaming, a, b, c)
}

/// The loops, with `V` for non-temporal stores.
#[inline(always)]
fn loops<V: Lane<Elem = f32>>(traffic: Traffic, streaming: bool, a: &mut [f32], b: &[f32], c: &[f32]) -> f32 {
    match traffic {
        Traffic::Read => {
            let mut sums = [0.0f32; 128];
            for chunk in a.chunks_exact(128) {
                for (sum, x) in sums.iter_mut().zip(chunk) {
                    *sum += x;
                }
            }
            sums.iter().sum()
        }
        _ if streaming => {
            stream::<V>(traffic, a, b, c);
            1.0
        }
        Traffic::Write => {
            a.fill(1.0);
            1.0
        }
        Traffic::Copy => {
            a.iter_mut().zip(b).for_each(|(a, b)| *a = *b);
            1.0
        }
        Traffic::Triad => {
            a.iter_mut().zip(b).zip(c).for_each(|((a, b), c)| *a = *b + *c);
            1.0
        }
    }
}

/// Writes the whole vectors of `a` with non-temporal stores; what is left over at both ends is less than a line each.
#[inline(always)]
fn stream<V: Lane<Elem = f32>>(traffic: Traffic, a: &mut [f32], b: &[f32], c: &[f32]) {
    let lead = a.as_ptr().align_offset(VECTOR_BYTES).min(a.len());
    let step = 4 * V::LEN;
    let (a, b, c) = (&mut a[lead..], &b[lead..], &c[lead..]);
    for ((a, b), c) in a.chunks_exact_mut(step).zip(b.chunks_exact(step)).zip(c.chunks_exact(step)) {
        for at in (0..step).step_by(V::LEN) {
            // SAFETY: a vector from `at` on is inside each chunk, and aligned in `a`, whose first chunk begins at a
            // multiple of `VECTOR_BYTES` and whose chunks are multiples of a vector; `V` is of the level of the caller's
            // `#[target_feature]`, or the target's own.
            unsafe {
                let (b, c) = (b.as_ptr().add(at), c.as_ptr().add(at));
                let value = match traffic {
                    Traffic::Copy => V::load(b),
                    Traffic::Triad => V::load(b) + V::load(c),
                    _ => V::splat(1.0),
                };
                value.stream(a.as_mut_ptr().add(at));
            }
        }
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of the target.
    unsafe {
        std::arch::x86_64::_mm_sfence();
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
        let probe = Probe::new(64, cpus.len()).unwrap();
        // A bound thread sees the processors that it is bound to.
        let bound = probe.pool.broadcast(|_| core_affinity::get_core_ids().unwrap());
        assert!(bound.iter().all(|cores| cores.len() == 1), "{bound:?}");
        assert_eq!(bound.iter().map(|cores| cores[0].id).collect::<BTreeSet<_>>(), cpus);
    }
}
