//! Copies between devices and pageable memory of the host, which the driver would make one after the other, in the thread that asks.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use smallvec::SmallVec;
use stridewise_core::backend::{RawAllocation, start_scoped_thread};
use stridewise_core::memory::{UsmKind, UsmPtr};
use stridewise_core::{Error, Result};

use crate::device::Shared;
use crate::stream::Stream;

/// Bytes up to which the thread that submits a copy makes it: to hand it to another thread takes longer.
pub(crate) const SHORT_BYTES: usize = 64 << 10;
/// A copy of at least so many bytes is made by several threads.
const STAGED_BYTES: usize = 4 << 20;
/// Threads of such a copy at most; each has a page-locked piece.
const LANES: usize = 8;
/// Bytes of a piece: long enough for a copy at full speed, short enough for all lanes to have work.
const PIECE_BYTES: usize = 2 << 20;

/// Page-locked pieces with their streams, kept for the next copy.
#[derive(Default)]
pub(crate) struct Transfers(Mutex<Vec<Lane>>);

/// What one thread copies with.
struct Lane {
    piece: RawAllocation,
    stream: Arc<Stream>,
}

impl Transfers {
    fn take(&self, device: &Shared) -> Result<Lane> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(lane) = kept {
            return Ok(lane);
        }
        let stream = device.stream()?;
        Ok(Lane { piece: device.memory.alloc(UsmKind::Host, PIECE_BYTES, 1)?, stream })
    }

    fn put(&self, device: &Shared, lane: Lane) {
        let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() < LANES {
            lanes.push(lane);
            return;
        }
        drop(lanes);
        // SAFETY: `take` allocated the piece, which goes once; the lane's copies were waited for.
        unsafe { device.memory.free(lane.piece) };
    }

    /// Frees the pieces that no copy uses.
    pub(crate) fn clear(&self, device: &Shared) {
        let lanes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for lane in lanes {
            // SAFETY: `take` allocated the piece, which is taken out of the list; no copy uses it.
            unsafe { device.memory.free(lane.piece) };
        }
    }
}

/// Enqueues a copy; the context is the calling thread's. Of pageable memory, the driver may make it before it returns.
///
/// # Safety
/// The ranges are valid until the copy has ended.
pub(crate) unsafe fn copy(
    device: &Shared,
    stream: &Stream,
    dst: UsmPtr,
    src: UsmPtr,
    bytes: usize,
) -> Result<()> {
    // SAFETY: the ranges are valid, by this function's contract; the stream is live.
    let copied = unsafe { device.api().copy(dst.addr(), src.addr(), bytes, stream.object.raw()) };
    copied.map_err(|refused| device.failed(refused, format_args!("{bytes} bytes from {src:?} to {dst:?}")))
}

/// Copies between memory of a device and pageable memory of the host, or within that, and returns when it is done.
///
/// # Safety
/// The ranges are valid and do not overlap. `to_host` and `from_host` say which of them are pageable.
pub(crate) unsafe fn copy_pageable(
    device: &Arc<Shared>,
    (dst, to_host): (UsmPtr, bool),
    (src, from_host): (UsmPtr, bool),
    bytes: usize,
) -> Result<()> {
    if to_host && from_host {
        // SAFETY: both ranges are memory of the host, valid and apart by this function's contract.
        unsafe { std::ptr::copy_nonoverlapping(src.as_ptr(), dst.as_ptr(), bytes) };
        return Ok(());
    }
    device.usable()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let lanes = match bytes >= STAGED_BYTES {
        true => threads.min(LANES).min(bytes.div_ceil(PIECE_BYTES)),
        false => 1,
    };
    let lane = |number: usize| -> Result<()> {
        let lane = device.transfers.take(device)?;
        let enter = || device.context.enter().map_err(|refused| device.failed(refused, "a copy"));
        let outcome = enter().and_then(|_current| {
            let mut done = number * PIECE_BYTES;
            while done < bytes {
                let part = PIECE_BYTES.min(bytes - done);
                let (to, from) = (dst.byte_offset(done.cast_signed()), src.byte_offset(done.cast_signed()));
                // SAFETY: the part is inside of the ranges, which are valid, by this function's contract; this lane alone has the
                // piece, which is long enough, and waits for what uses it.
                unsafe { through_piece(device, &lane, (to, to_host), from, part) }?;
                done += lanes * PIECE_BYTES;
            }
            Ok(())
        });
        device.transfers.put(device, lane);
        outcome
    };
    if lanes == 1 {
        return lane(0);
    }
    std::thread::scope(|scope| {
        let start =
            |number| start_scoped_thread(scope, Builder::new(), move || lane(number)).map_err(|_| number);
        let others: SmallVec<[_; LANES]> = (1..lanes).map(start).collect();
        let first = lane(0);
        let outcomes = others.into_iter().map(|other| match other {
            Ok(other) => {
                other.join().unwrap_or_else(|payload| Err(Error::panicked("copy", payload.as_ref())))
            }
            // A lane that got no thread of its own has this one.
            Err(number) => lane(number),
        });
        outcomes.fold(first, Result::and)
    })
}

/// Copies up to a piece between pageable memory and a device's, and waits; the context is the calling thread's.
///
/// # Safety
/// The ranges are valid, no longer than a piece, and the lane is the caller's alone.
unsafe fn through_piece(
    device: &Shared,
    lane: &Lane,
    (dst, to_host): (UsmPtr, bool),
    src: UsmPtr,
    bytes: usize,
) -> Result<()> {
    let piece = lane.piece.ptr;
    let wait = || device.drain(&lane.stream);
    // SAFETY: the ranges are valid by this function's contract; the piece is page-locked memory of the host, as long, and nobody
    // else's, and what uses it is waited for, between the two steps and before the caller goes on.
    unsafe {
        if to_host {
            copy(device, &lane.stream, piece, src, bytes)?;
            wait()?;
            std::ptr::copy_nonoverlapping(piece.as_ptr(), dst.as_ptr(), bytes);
            return Ok(());
        }
        std::ptr::copy_nonoverlapping(src.as_ptr(), piece.as_ptr(), bytes);
        copy(device, &lane.stream, dst, piece, bytes)?;
        wait()
    }
}
