//! An allocator of the whole program that refuses large allocations on command: whoever asks for memory whose size depends
//! on data has to ask in a way that can be answered with no.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Allocations of fewer bytes are always granted: the text of a kernel takes up to half as many, and none depends on data but
/// where there are few.
const LARGE_BYTES: usize = 32 << 10;

/// Which large allocation is refused, counted from 1: every one whose number this divides, or these two; 0 for none.
static EVERY: AtomicU64 = AtomicU64::new(0);
static AT: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
static SEEN: AtomicU64 = AtomicU64::new(0);
static STRUCK: AtomicU64 = AtomicU64::new(0);
static TRACED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread does something for the campaign itself.
    static SPARED: Cell<bool> = const { Cell::new(false) };
}

pub(crate) struct Refusing;

fn refuses(bytes: usize) -> bool {
    if bytes < LARGE_BYTES {
        return false;
    }
    let (every, at) = (EVERY.load(Ordering::Relaxed), AT.each_ref().map(|at| at.load(Ordering::Relaxed)));
    if (every == 0 && at == [0, 0]) || SPARED.try_with(Cell::get).unwrap_or(true) {
        return false;
    }
    let call = SEEN.fetch_add(1, Ordering::Relaxed) + 1;
    let strikes = (every != 0 && call.is_multiple_of(every)) || at.contains(&call);
    STRUCK.fetch_add(u64::from(strikes), Ordering::Relaxed);
    if strikes && TRACED.load(Ordering::Relaxed) {
        spared(|| eprintln!("{bytes} bytes are refused to\n{}", Backtrace::force_capture()));
    }
    strikes
}

// SAFETY: everything is the system's, but for allocations that are refused.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        if refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        if refuses(layout.size()) { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        if bytes > layout.size() && refuses(bytes) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(ptr, layout, bytes) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Lets it tell whom it refuses something: who has no answer to that ends the process.
pub(crate) fn trace() {
    TRACED.store(true, Ordering::Relaxed);
}

/// Lets every n-th large allocation fail, or two of them.
pub(crate) fn arm(every: u64, at: [u64; 2]) {
    SEEN.store(0, Ordering::Relaxed);
    STRUCK.store(0, Ordering::Relaxed);
    AT.iter().zip(at).for_each(|(to, at)| to.store(at, Ordering::Relaxed));
    EVERY.store(every, Ordering::Relaxed);
}

/// Lets none fail.
pub(crate) fn disarm() {
    let struck = struck();
    arm(0, [0, 0]);
    STRUCK.store(struck, Ordering::Relaxed);
}

/// Large allocations that were refused while it was armed last.
pub(crate) fn struck() -> u64 {
    STRUCK.load(Ordering::Relaxed)
}

/// Does something for the campaign itself, whose allocations are granted.
pub(crate) fn spared<R>(work: impl FnOnce() -> R) -> R {
    let before = SPARED.replace(true);
    let result = work();
    SPARED.set(before);
    result
}
