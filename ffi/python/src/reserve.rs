//! The allocator of the module: the system's, with a reserve for small allocations that the system refuses.
//!
//! What depends on data is asked for and fails with a MemoryError. What does not (the text of that very error, the nodes of what is
//! recorded, lists of a few arrays) cannot be answered with no: Rust ends the process. When memory runs out, the error of the large
//! allocation would fall to a small one behind it. So there is a reserve of so many blocks, which is part of the module's zeros and
//! takes pages only when it is used.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};

#[global_allocator]
static ALLOCATOR: Reserving = Reserving;

/// Blocks of one size. Texts of errors are of some hundred bytes to a few thousand, nodes of some hundred.
#[repr(C, align(64))]
struct Blocks<const SIZE: usize, const WORDS: usize> {
    memory: UnsafeCell<[[[u8; SIZE]; 64]; WORDS]>,
    /// A bit for each block that is in use.
    used: [AtomicU64; WORDS],
}

// SAFETY: a block is used by whoever has set its bit alone.
unsafe impl<const SIZE: usize, const WORDS: usize> Sync for Blocks<SIZE, WORDS> {}

impl<const SIZE: usize, const WORDS: usize> Blocks<SIZE, WORDS> {
    const fn new() -> Self {
        Self { memory: UnsafeCell::new([[[0; SIZE]; 64]; WORDS]), used: [const { AtomicU64::new(0) }; WORDS] }
    }

    fn start(&self) -> *mut u8 {
        self.memory.get().cast()
    }

    /// The number of the block that begins at an address; `None` for others.
    fn number(&self, block: *mut u8) -> Option<usize> {
        let place = block.addr().wrapping_sub(self.start().addr());
        (place < SIZE * 64 * WORDS).then_some(place / SIZE)
    }

    fn take(&self) -> *mut u8 {
        for (number, word) in self.used.iter().enumerate() {
            let mut used = word.load(Ordering::Relaxed);
            while used != u64::MAX {
                let bit = used.trailing_ones();
                match word.compare_exchange_weak(used, used | 1 << bit, Ordering::Acquire, Ordering::Relaxed)
                {
                    // In range: of so many words, 64 blocks each.
                    Ok(_) => return self.start().wrapping_add((number * 64 + bit as usize) * SIZE),
                    Err(now) => used = now,
                }
            }
        }
        std::ptr::null_mut()
    }

    fn give_back(&self, number: usize) {
        self.used[number / 64].fetch_and(!(1 << (number % 64)), Ordering::Release);
    }
}

/// 256 KiB, and twice 512: some thousand nodes beside the texts of errors of as many threads as there may be.
static SMALL: Blocks<128, 32> = Blocks::new();
static MIDDLE: Blocks<1024, 8> = Blocks::new();
static LARGE: Blocks<8192, 1> = Blocks::new();
/// Sizes and alignments beyond are the system's alone.
const MOST: usize = 8192;
const ALIGNED: usize = 64;

struct Reserving;

/// A block of the reserve; null where there is none that fits.
#[cold]
#[inline(never)]
fn from_reserve(layout: Layout) -> *mut u8 {
    if layout.align() > ALIGNED || layout.size() > MOST {
        return std::ptr::null_mut();
    }
    let mut block = if layout.size() <= 128 { SMALL.take() } else { std::ptr::null_mut() };
    if block.is_null() && layout.size() <= 1024 {
        block = MIDDLE.take();
    }
    if block.is_null() { LARGE.take() } else { block }
}

/// Bytes of the block that an address is of; `None` for the system's. It goes back if that is asked.
#[inline]
fn of_reserve(block: *mut u8, back: bool) -> Option<usize> {
    macro_rules! look {
        ($($blocks:ident $size:literal)*) => {$(
            if let Some(number) = $blocks.number(block) {
                if back {
                    $blocks.give_back(number);
                }
                return Some($size);
            }
        )*};
    }
    look! { SMALL 128 MIDDLE 1024 LARGE 8192 }
    None
}

// SAFETY: what the system gives is the system's, and a block of the reserve is of whoever has taken it until it is given back; blocks
// are as large as they are asked for, and aligned, as each size is a multiple of the alignment, which the first one has.
unsafe impl GlobalAlloc for Reserving {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() { from_reserve(layout) } else { block }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's contract is the same.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            return block;
        }
        let block = from_reserve(layout);
        if !block.is_null() {
            // SAFETY: taken just now, and so large.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if of_reserve(block, true).is_none() {
            // SAFETY: the system's, with the layout that it was asked for with.
            unsafe { System.dealloc(block, layout) };
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let moved = match of_reserve(block, false) {
            Some(room) if bytes <= room => return block,
            Some(_) => true,
            None => false,
        };
        if !moved {
            // SAFETY: the system's, with the layout that it was asked for with.
            let grown = unsafe { System.realloc(block, layout, bytes) };
            if !grown.is_null() {
                return grown;
            }
        }
        // SAFETY: the caller has checked that the size fits.
        let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
        // SAFETY: of more than no bytes, as the caller promises.
        let other = if moved { unsafe { self.alloc(wanted) } } else { from_reserve(wanted) };
        if !other.is_null() {
            // SAFETY: two blocks, each of that many bytes at the least; the first is given back once.
            unsafe {
                other.copy_from_nonoverlapping(block, layout.size().min(bytes));
                self.dealloc(block, layout);
            }
        }
        other
    }
}
