//! The heap of the program, counted: what somebody has of it, whatever the system's allocator keeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static BYTES: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Counting;

// SAFETY: everything is the system's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        counted(unsafe { System.alloc(layout) }, layout.size(), 0)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        counted(unsafe { System.alloc_zeroed(layout) }, layout.size(), 0)
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        counted(unsafe { System.realloc(ptr, layout, bytes) }, bytes, layout.size())
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// Counts an allocation that may have failed, in place of an earlier one.
fn counted(ptr: *mut u8, bytes: usize, before: usize) -> *mut u8 {
    if !ptr.is_null() {
        BYTES.fetch_add(bytes, Ordering::Relaxed);
        BYTES.fetch_sub(before, Ordering::Relaxed);
    }
    ptr
}

/// Bytes that somebody has.
pub(crate) fn bytes() -> usize {
    BYTES.load(Ordering::Relaxed)
}
