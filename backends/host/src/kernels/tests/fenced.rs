//! Memory behind which there is none.

/// Memory that ends where a page begins that nobody may touch.
pub(crate) struct Fenced {
    at: *mut libc::c_void,
    bytes: usize,
}

const PAGE: usize = 4096;

impl Fenced {
    pub(crate) fn new(bytes: usize) -> Self {
        let all = bytes.next_multiple_of(PAGE) + PAGE;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: new pages, of which the last one is shut.
        let at = unsafe {
            let at = libc::mmap(std::ptr::null_mut(), all, access, flags, -1, 0);
            assert_ne!(at, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(at.byte_add(all - PAGE), PAGE, libc::PROT_NONE), 0);
            at
        };
        Self { at, bytes }
    }
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.at.cast::<u8>().wrapping_add(self.bytes.next_multiple_of(PAGE) - self.bytes)
    }
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: so many bytes are there, of this value alone.
        unsafe { std::slice::from_raw_parts_mut(self.ptr(), self.bytes) }
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: they are this value's.
        unsafe { libc::munmap(self.at, self.bytes.next_multiple_of(PAGE) + PAGE) };
    }
}
