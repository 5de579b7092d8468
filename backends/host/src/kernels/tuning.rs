//! What work is run with, and what reading and computing an element takes, roughly.

use stridewise_core::ops::OpClass;
use stridewise_core::{Dtype, Op};

use crate::simd::Isa;

/// What a plan is run with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Instruction set; the processor must have it.
    pub(crate) isa: Isa,
    /// Threads to use at most. 1: the calling thread.
    pub(crate) threads: usize,
    /// What may be counted on of the last-level cache: what does not fit is stored past it.
    pub(crate) last_cache_bytes: usize,
}

/// Bytes of a tile of the widest dtype in a program, and of a block around a function of elements one after another.
pub(crate) const TILE_BYTES: usize = 4096;

/// Rough time to read a byte of an operand, from a cache, in picoseconds.
pub(super) const READ_PS: usize = 12;
/// The same of what is folded into a row of results, or moved by shuffles of whole vectors: elements in reverse, and every second one.
pub(super) const NEAR_PS: usize = 36;
/// Rough time to gather any other element.
pub(super) const GATHER_PS: usize = 600;

/// Tables that a thread counts in, in turns: a counter that is counted twice in a row waits for itself.
pub(super) const TABLES: usize = 4;

/// What counts of a core's first-level cache beside what is read: results, or sums, that stay there while others come upon them.
pub(super) const FIRST_CACHE_BYTES: usize = 16 << 10;
/// What counts of a core's second-level cache: what fits is read again, or by each of several threads, as fast as if it were once.
pub(super) const SECOND_CACHE_BYTES: usize = 1 << 20;
/// Threads from which on they share work that each of them has to read all of: what each of two does takes as long as all of it.
pub(super) const ENOUGH_THREADS: usize = 3;

/// Work below this estimate is done on the calling thread, without a submission: longer than what a submission does on the calling
/// thread, for there is nothing to submit. Twice as many threads gain half of it, less what it takes to wake them.
pub(super) const AT_ONCE_NS: usize = 25_000;

/// The same for work that somebody waits for: all threads take part where it takes longer than [`AT_ONCE_NS`].
///
/// After a pass through megabytes nothing that a submission reads and calls is in the near caches any more: a
/// sum of 1 Mi `float32` spent 11 of its 38 µs on the way to the threads and back (5.2 to the submission, 3.7
/// to the first part, 2.3 behind the last). So an operation or reduction that is alone at its flush, or a
/// value that is asked for, is computed by the thread that waits, with all threads of the device taking part,
/// without a command or an event, up to this estimate of one thread's time and no more memory than the last
/// cache keeps. What is larger or fused is submitted. The cost: the result is there when the call returns,
/// and not earlier, so that such work does not overlap with what the caller does next; and there must be
/// functions over whole arrays, besides plans, that compute the same bits in the same order.
///
/// Measured by two threads (machine not recorded), in turns: sum of 1 Mi `float32` 38 to between 27 and
/// 30 µs; sum, maximum, `argmax`, mean, dot product and norm 0.57 to 0.83 of the time, variance 0.84;
/// addition of 256 Ki 23.0 to 18.8 µs, of 512 Ki 40 to 35.5, of 1 Mi 73 to 68; rows broadcast 19.1 to
/// 13.8 µs.
pub(super) const WAITED_NS: usize = 10 * AT_ONCE_NS;

/// Rough time of an operation on an element, in picoseconds: of vectors of 64 bytes, measured in the second-level cache.
pub(super) fn step_ps(op: Op, dtype: Dtype) -> usize {
    use OpClass::{analytic, float, int, num_fn, real_fn};
    let wide = dtype.size() >= 8;
    let per_byte = match op {
        Op::Sqrt | Op::Divide if wide => 60,
        Op::Sqrt | Op::Divide | Op::Cast | Op::Where => 25,
        Op::Copysign => 8,
        Op::Tanh if !wide => 40,
        Op::Exp | Op::Log | Op::Tanh => 60,
        Op::Sin | Op::Cos => 75,
        Op::Atan2 | Op::Asinh | Op::Acosh | Op::Atanh => 200,
        op if op.class() == int => 250,
        // From 60 to 180.
        op if matches!(op.class(), analytic | float | num_fn | real_fn) => 120,
        _ => 8,
    };
    per_byte * dtype.size()
}
