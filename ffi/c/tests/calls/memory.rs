//! Memory, and what comes and goes by DLPack.

use super::*;

impl Calls {
    /// Memory: new, handed in, or an array's.
    pub(super) fn memory(&mut self) {
        let mut made = null_mut();
        // SAFETY: pointers to locals; the words that are handed in are given up to their deleter where the call succeeds.
        let (status, live) = unsafe {
            match self.rng.below(3) {
                0 => {
                    let (queue, live) = any(&mut self.rng, &self.queues);
                    let bytes = if self.rng.chance(95) {
                        self.rng.below(FEW)
                    } else {
                        *self.rng.pick(&[0, 1 << 55, usize::MAX])
                    };
                    let alignment = *self.rng.pick(&[0, 0, 0, 1, 64, 4096, 3, usize::MAX, 1 << 63]);
                    (sw_memory_create(queue, self.kind(), bytes, alignment, &raw mut made), live)
                }
                1 => {
                    let (queue, live) = any(&mut self.rng, &self.queues);
                    let words = Box::into_raw(Box::new([3_u64; 32]));
                    let bytes = if self.rng.chance(95) { 1 + self.rng.below(256) } else { 0 };
                    let status = sw_memory_adopt(
                        queue,
                        self.kind(),
                        words.cast(),
                        bytes,
                        Some(free_words),
                        null_mut(),
                        &raw mut made,
                    );
                    if status != SW_OK {
                        drop(Box::from_raw(words));
                    }
                    (status, live)
                }
                _ => {
                    let (array, live) = any(&mut self.rng, &self.arrays);
                    (sw_array_memory(array, &raw mut made), live)
                }
            }
        };
        let done = self.done(status, live, false);
        assert_eq!(!made.is_null(), done);
        if done {
            self.memories.push((made, true));
        }
    }

    /// Work on memory, and its bytes to and from the host.
    pub(super) fn memory_work(&mut self) {
        let (memory, live) = any(&mut self.rng, &self.memories);
        let (queue, queue_lives) = any(&mut self.rng, &self.queues);
        let (depends, all_live) = self.depends();
        let at = |rng: &mut Rng| if rng.chance(95) { rng.below(80) * 2 } else { usize::MAX - rng.below(4) };
        let (offset, bytes) = (at(&mut self.rng), at(&mut self.rng));
        let mut event = null_mut();
        let mut room = [0_u8; FEW];
        // SAFETY: pointers to locals, of the lengths beside them.
        unsafe {
            match self.rng.below(5) {
                0 => {
                    let bytes = bytes.min(FEW);
                    let status = sw_memory_read(memory, offset, room.as_mut_ptr().cast(), bytes);
                    self.done(status, live, false);
                }
                1 => {
                    let bytes = bytes.min(FEW);
                    let status = sw_memory_write(memory, offset, room.as_ptr().cast(), bytes);
                    self.done(status, live, false);
                }
                2 => {
                    let (source, source_lives) = any(&mut self.rng, &self.memories);
                    let from = at(&mut self.rng);
                    let status = sw_memcpy(
                        queue,
                        memory,
                        offset,
                        source,
                        from,
                        bytes,
                        depends.as_ptr(),
                        depends.len(),
                        &raw mut event,
                    );
                    self.keep_event(status, event, live && source_lives && queue_lives && all_live);
                }
                3 => {
                    let (dtype, value) = (self.dtype(), [1_u64; 2]);
                    let status = sw_fill(
                        queue,
                        memory,
                        offset,
                        dtype,
                        value.as_ptr().cast(),
                        bytes,
                        depends.as_ptr(),
                        depends.len(),
                        &raw mut event,
                    );
                    self.keep_event(status, event, live && queue_lives && all_live);
                }
                _ => {
                    let (mut size, mut kind, mut pointer) = (0, 0, null_mut());
                    let status = sw_memory_bytes(memory, &raw mut size);
                    self.done(status, live, true);
                    assert_eq!(sw_memory_kind(memory, &raw mut kind) == SW_OK, live);
                    if self.rng.chance(20) {
                        let status = sw_memory_export(memory, &raw mut pointer);
                        assert_eq!(self.done(status, live, false), !pointer.is_null());
                    }
                }
            }
        }
    }

    /// Out by DLPack, and in again or given back.
    pub(super) fn exchange(&mut self) {
        let (array, live) = any(&mut self.rng, &self.arrays);
        let (queue, queue_lives) = any(&mut self.rng, &self.queues);
        let mut made = null_mut();
        // SAFETY: tensors of this library, each taken in or given back once.
        unsafe {
            if self.rng.chance(50) {
                let mut tensor = null_mut();
                let status = sw_array_to_dlpack(array, &raw mut tensor);
                if self.done(status, live, true) {
                    let status = sw_array_from_dlpack(queue, tensor, &raw mut made);
                    if status != SW_OK {
                        ((*tensor).deleter.unwrap())(tensor);
                    }
                    self.keep(status, made, queue_lives, true);
                }
            } else {
                let mut tensor = null_mut();
                let status = sw_array_to_dlpack_legacy(array, &raw mut tensor);
                if self.done(status, live, true) {
                    let status = sw_array_from_dlpack_legacy(queue, tensor, &raw mut made);
                    if status != SW_OK {
                        ((*tensor).deleter.unwrap())(tensor);
                    }
                    self.keep(status, made, queue_lives, true);
                }
            }
        }
    }
}
