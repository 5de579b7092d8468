//! Anonymous mappings: what USM allocations of the host are made of.
//!
//! Core pools what it gets from here, so these calls are rare and their blocks large; huge pages matter most, because a
//! page fault per 4 KiB costs more than any kernel.

#[cfg(not(unix))]
pub(crate) use heap::{advise, discard, map, unmap};
#[cfg(unix)]
pub(crate) use mapping::{advise, discard, map, page_bytes, unmap};

#[cfg(unix)]
mod mapping {
    use std::ptr::{NonNull, null_mut};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use stridewise_core::backend::Advice;
    use stridewise_core::fault::{self, Site};

    /// Blocks from this size on are aligned to it and ask for huge pages, of which this is the size (x86-64 and AArch64 with 4 KiB
    /// pages). An addition to 64 MiB of fresh memory took 31 ms with small pages and 7.0 with huge ones.
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    /// Where in their first page such blocks begin, in turns, so that two that follow each other begin half a page apart: a processor
    /// takes a load for one of what it has just stored where the last twelve bits of their addresses are the same, and waits. A
    /// stencil that reads one array and writes another would do so all the time.
    const STARTS: [usize; 8] = [0, 2048, 1024, 3072, 512, 2560, 1536, 3584];

    /// Addresses alone, for which no memory is set aside, where the system has such a flag.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    const RESERVED: libc::c_int = libc::MAP_NORESERVE;
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    const RESERVED: libc::c_int = 0;

    /// Bytes of a page of memory.
    pub(crate) fn page_bytes() -> usize {
        static BYTES: OnceLock<usize> = OnceLock::new();
        *BYTES.get_or_init(|| {
            // SAFETY: asks for a number; touches no memory.
            let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            usize::try_from(bytes).ok().filter(|b| b.is_power_of_two()).unwrap_or(4096)
        })
    }

    /// Maps fresh zeroed memory, or reserves addresses without access, at a multiple of `align` (a power of two).
    /// `None`: there is no memory, or the sizes overflow.
    pub(crate) fn map(bytes: usize, align: usize, accessible: bool) -> Option<NonNull<u8>> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let page = page_bytes();
        let huge = bytes >= HUGE_PAGE_BYTES;
        let shifted = huge && accessible && STARTS.iter().all(|start| start.is_multiple_of(align));
        let align = align.max(if huge { HUGE_PAGE_BYTES } else { page });
        let length = mapped_bytes(bytes)?;
        // Too long by the alignment; both ends are given back below.
        let reserved = length.checked_add(align - page)?;
        if fault::strikes(Site::System) {
            return None;
        }
        let protection = if accessible { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | if accessible { 0 } else { RESERVED };
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no existing memory.
        let start = unsafe { libc::mmap(null_mut(), reserved, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let start = start.cast::<u8>();
        let before = start.align_offset(align);
        let ptr = start.wrapping_add(before);
        let after = reserved - before - length;
        // SAFETY: both ranges are whole pages of the mapping just made (`start` and all lengths are multiples of the
        // page, and `before` ≤ `align - page`), outside what is handed out.
        unsafe {
            if before > 0 {
                libc::munmap(start.cast(), before);
            }
            if after > 0 {
                libc::munmap(ptr.wrapping_add(length).cast(), after);
            }
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if huge && accessible {
            // SAFETY: the range is the mapping just made; this is a hint that changes no contents, so its failure
            // (a kernel without huge pages) does not matter.
            unsafe { libc::madvise(ptr.cast(), length, libc::MADV_HUGEPAGE) };
        }
        let start = if shifted { STARTS[NEXT.fetch_add(1, Ordering::Relaxed) % STARTS.len()] } else { 0 };
        NonNull::new(ptr.wrapping_add(start))
    }

    /// The mapping that a block of [`map`] lies in: its first page, and its length.
    fn whole(ptr: NonNull<u8>, bytes: usize) -> Option<(*mut libc::c_void, usize)> {
        // A block begins in the first page, whose beginning is a multiple of the page.
        let start = ptr.as_ptr().wrapping_sub(ptr.addr().get() % page_bytes());
        Some((start.cast(), mapped_bytes(bytes)?))
    }

    /// Unmaps what [`map`] returned.
    ///
    /// # Safety
    /// `ptr` came from `map` with the same `bytes`, and nothing uses the memory any more.
    pub(crate) unsafe fn unmap(ptr: NonNull<u8>, bytes: usize) {
        if let Some((start, length)) = whole(ptr, bytes) {
            // SAFETY: by the caller's promise this is exactly the mapping that `map` left, and nobody uses it.
            unsafe { libc::munmap(start, length) };
        }
    }

    /// Gives the pages back while keeping the addresses.
    ///
    /// # Safety
    /// As for [`unmap`], and nobody counts on the contents.
    pub(crate) unsafe fn discard(ptr: NonNull<u8>, bytes: usize) {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const ADVICE: libc::c_int = libc::MADV_DONTNEED;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const ADVICE: libc::c_int = libc::MADV_FREE;
        if let Some((start, length)) = whole(ptr, bytes) {
            // SAFETY: the range is a live mapping of ours (the caller's promise) whose contents nobody needs.
            unsafe { libc::madvise(start, length, ADVICE) };
        }
    }

    /// Tells the system how memory is going to be used; a hint. A prefetch takes in the pages that the range begins and ends
    /// in, other advice only those that are the range's alone.
    pub(crate) fn advise(ptr: *mut u8, bytes: usize, advice: Advice) {
        let page = page_bytes();
        let (start, end) = (ptr.addr(), ptr.addr().saturating_add(bytes));
        let (first, last) = match advice {
            Advice::Prefetch => (start / page, end.div_ceil(page)),
            _ => (start.div_ceil(page), end / page),
        };
        if last <= first {
            return;
        }
        let length = (last - first) * page;
        let start = ptr.wrapping_byte_offset((first * page).wrapping_sub(start).cast_signed());
        // SAFETY: advice of these kinds changes no contents and no access, so a range that is not all mapped, or a kernel
        // that does not know the advice, only make it fail; a failure of a hint does not matter.
        let told = |code: libc::c_int| unsafe { libc::madvise(start.cast(), length, code) } == 0;
        match advice {
            #[cfg(target_os = "linux")]
            Advice::Prefetch if told(libc::MADV_POPULATE_WRITE) => {}
            Advice::Prefetch => {
                told(libc::MADV_WILLNEED);
            }
            Advice::Sequential => {
                told(libc::MADV_SEQUENTIAL);
            }
            Advice::Random => {
                told(libc::MADV_RANDOM);
            }
            _ => {
                told(libc::MADV_NORMAL);
            }
        }
    }

    fn mapped_bytes(bytes: usize) -> Option<usize> {
        let page = page_bytes();
        // A large block may begin anywhere in its first page ([`STARTS`]).
        let shift = if bytes >= HUGE_PAGE_BYTES { page } else { 0 };
        bytes.max(1).checked_add(shift)?.checked_next_multiple_of(page)
    }
}

#[cfg(not(unix))]
mod heap {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    use stridewise_core::fault::{self, Site};

    /// What stands just before each block: how it was allocated.
    #[derive(Clone, Copy)]
    struct Header {
        start: *mut u8,
        layout: Layout,
    }

    /// Allocates zeroed memory at a multiple of `align` (a power of two).
    pub(crate) fn map(bytes: usize, align: usize, _accessible: bool) -> Option<NonNull<u8>> {
        let align = align.max(align_of::<Header>());
        let before = size_of::<Header>().checked_next_multiple_of(align)?;
        let layout = Layout::from_size_align(bytes.max(1).checked_add(before)?, align).ok()?;
        if fault::strikes(Site::System) {
            return None;
        }
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let ptr = start.as_ptr().wrapping_add(before);
        // SAFETY: `before` is at least the header's size and a multiple of its alignment, as is `start`, so the header
        // lies in the allocation, before the block.
        unsafe { ptr.cast::<Header>().sub(1).write(Header { start: start.as_ptr(), layout }) };
        NonNull::new(ptr)
    }

    /// Frees what [`map`] returned.
    ///
    /// # Safety
    /// `ptr` came from `map`, and nothing uses the memory any more.
    pub(crate) unsafe fn unmap(ptr: NonNull<u8>, _bytes: usize) {
        // SAFETY: `map` put the header there, with the layout that it allocated.
        unsafe {
            let header = ptr.as_ptr().cast::<Header>().sub(1).read();
            dealloc(header.start, header.layout);
        }
    }

    /// Does nothing: there is nobody to tell.
    pub(crate) fn advise(_ptr: *mut u8, _bytes: usize, _advice: stridewise_core::backend::Advice) {}

    /// Does nothing: the heap keeps its pages.
    ///
    /// # Safety
    /// None beyond [`unmap`]'s.
    pub(crate) unsafe fn discard(_ptr: NonNull<u8>, _bytes: usize) {}
}

#[cfg(test)]
mod tests {
    use stridewise_core::backend::Advice;

    use super::*;

    #[test]
    fn blocks_are_aligned_zeroed_and_writable_to_the_end() {
        for (bytes, align) in
            [(1, 1), (100, 64), (4097, 8), (5000, 1 << 16), (2 << 20, 64), ((5 << 20) + 3, 1 << 22)]
        {
            let ptr = map(bytes, align, true).unwrap();
            assert_eq!(ptr.as_ptr().addr() % align, 0, "{bytes} {align}");
            #[cfg(unix)]
            assert!(
                ptr.as_ptr().addr() % if bytes >= 2 << 20 { 2 << 20 } else { page_bytes() } < page_bytes()
            );
            // SAFETY: the block was just mapped with this length; it is unmapped once, at the end.
            unsafe {
                #[cfg(unix)]
                assert!(ptr.as_ptr().read() == 0 && ptr.as_ptr().add(bytes - 1).read() == 0);
                ptr.as_ptr().write_bytes(7, bytes);
                assert_eq!(ptr.as_ptr().add(bytes - 1).read(), 7);
                discard(ptr, bytes);
                ptr.as_ptr().write_bytes(8, bytes);
                unmap(ptr, bytes);
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn large_blocks_begin_at_different_places_of_a_page() {
        let blocks: Vec<_> = (0..8).map(|_| map(4 << 20, 64, true).unwrap()).collect();
        let places = blocks.iter().map(|block| block.as_ptr().addr() % 4096);
        let mut places: Vec<usize> = places.collect();
        places.sort_unstable();
        places.dedup();
        // Other tests make blocks, too.
        assert!(places.len() > 1, "{places:?}");
        for block in blocks {
            // SAFETY: just mapped with this length, and used by nobody.
            unsafe {
                block.as_ptr().write_bytes(1, 4 << 20);
                unmap(block, 4 << 20);
            }
        }
    }

    #[test]
    fn advice_changes_no_contents() {
        let bytes = 3 << 20;
        let ptr = map(bytes, 64, true).unwrap();
        // SAFETY: just mapped with this length; unmapped once, at the end.
        unsafe {
            ptr.as_ptr().add(5).write(9);
            for advice in [Advice::Prefetch, Advice::Sequential, Advice::Random, Advice::Default] {
                for (first, length) in [(0, bytes), (1, 1), (4095, 2), (4097, bytes - 4097), (7, 0)] {
                    advise(ptr.as_ptr().add(first), length, advice);
                }
            }
            assert_eq!((ptr.as_ptr().add(5).read(), ptr.as_ptr().add(bytes - 1).read()), (9, 0));
            unmap(ptr, bytes);
        }
    }

    #[test]
    fn what_cannot_be_is_none() {
        assert!(map(usize::MAX, 64, true).is_none());
        assert!(map(usize::MAX / 16 * 15, 64, true).is_none());
        assert!(map(usize::MAX - 8192, 1 << 21, true).is_none());
    }
}
