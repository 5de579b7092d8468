//! Devices, queues and events, and what things are.

use super::*;

impl Calls {
    /// Devices and queues.
    pub(super) fn runtime(&mut self) {
        let (device, device_lives) = any(&mut self.rng, &self.devices);
        let (queue, queue_lives) = any(&mut self.rng, &self.queues);
        let (mut new_device, mut new_queue) = (null_mut(), null_mut());
        // SAFETY: pointers to locals.
        unsafe {
            match self.rng.below(9) {
                0 => {
                    let filters = [c"host", c"host:cpu:0", c"host:scalar", c"no_such", c"::", c""];
                    let filter = *self.rng.pick(&filters);
                    let status = sw_device_select(filter.as_ptr(), &raw mut new_device);
                    self.done(status, true, false);
                }
                1 => {
                    let mut count = 0;
                    assert_eq!(sw_device_count(&raw mut count), SW_OK);
                    let number = self.rng.below(count + 2);
                    let status = sw_device_at(number, &raw mut new_device);
                    assert_eq!(self.done(status, true, false), number < count);
                }
                2 => {
                    let status = sw_device_default(&raw mut new_device);
                    self.done(status, true, true);
                }
                3 => {
                    let status = sw_queue_device(queue, &raw mut new_device);
                    self.done(status, queue_lives, true);
                }
                4 | 5 => {
                    let properties = self.rng.below(5) as u32;
                    let status = sw_queue_create(device, properties, &raw mut new_queue);
                    self.done(status, device_lives, false);
                }
                6 => {
                    let (array, live) = any(&mut self.rng, &self.arrays);
                    let status = sw_array_queue(array, &raw mut new_queue);
                    self.done(status, live, true);
                }
                7 => {
                    let (memory, live) = any(&mut self.rng, &self.memories);
                    let status = sw_memory_queue(memory, &raw mut new_queue);
                    self.done(status, live, true);
                }
                _ => {
                    let (other, other_lives) = any(&mut self.rng, &self.queues);
                    let mut equal = false;
                    let status = sw_queue_equal(queue, other, &raw mut equal);
                    assert!(!self.done(status, queue_lives && other_lives, true) || queue != other || equal);
                }
            }
        }
        self.devices.extend((!new_device.is_null()).then_some((new_device, true)));
        self.queues.extend((!new_queue.is_null()).then_some((new_queue, true)));
    }

    /// What is in use of a device's memory.
    pub(super) fn usage(&mut self) {
        let (device, lives) = any(&mut self.rng, &self.devices);
        let mut usage = std::mem::MaybeUninit::<sw_memory_usage>::uninit();
        let (mut arrays, mut count, mut freed) = (null_mut(), 0, 0);
        let mut text = [0; 64];
        // SAFETY: pointers to locals, of the lengths beside them; handles that were just given are freed once.
        unsafe {
            match self.rng.below(4) {
                0 => {
                    if self.done(sw_device_memory(device, usage.as_mut_ptr()), lives, true) {
                        let usage = usage.assume_init();
                        let kinds = [usage.host, usage.device, usage.shared];
                        assert_eq!(usage.in_use, kinds.iter().map(|kind| kind.in_use).sum::<usize>());
                        assert!(usage.in_use <= usage.peak && usage.in_use <= usage.reserved);
                    }
                }
                1 => {
                    self.done(sw_device_trim(device, &raw mut freed), lives, true);
                }
                2 => {
                    let mut scope = null_mut();
                    self.done(sw_memory_scope_open(c"calls".as_ptr(), &raw mut scope), true, true);
                    let status = sw_device_live_arrays(device, &raw mut arrays, &raw mut count);
                    self.done(status, lives, true);
                    self.done(sw_memory_scope_close(scope), true, true);
                    self.done(sw_memory_scope_free(scope), true, true);
                }
                _ => {
                    let status = sw_device_live_arrays(device, &raw mut arrays, &raw mut count);
                    if self.done(status, lives, true) {
                        let number = self.rng.below(count + 2);
                        let mut entry = std::mem::MaybeUninit::<sw_live_array>::uninit();
                        let status = sw_live_arrays_at(arrays, number, entry.as_mut_ptr());
                        assert_eq!(self.done(status, true, false), number < count);
                        let (words, room) = (text.as_mut_ptr(), text.len());
                        let status = sw_live_arrays_describe(arrays, number, words, room, null_mut());
                        assert_eq!(self.done(status, true, false), number < count);
                    }
                }
            }
            if !arrays.is_null() {
                self.done(sw_live_arrays_free(arrays), true, true);
            }
        }
    }

    /// Queues and events.
    pub(super) fn wait(&mut self) {
        let (queue, queue_lives) = any(&mut self.rng, &self.queues);
        let (one, lives) = any(&mut self.rng, &self.events);
        let (array, array_lives) = any(&mut self.rng, &self.arrays);
        let (events, all_live) = self.depends();
        let mut event = null_mut();
        // SAFETY: pointers to locals, of the lengths beside them.
        unsafe {
            let (status, live) = match self.rng.below(8) {
                0 => (sw_queue_flush(queue), queue_lives),
                1 => (sw_queue_wait(queue), queue_lives),
                2 => {
                    let status = sw_queue_barrier(queue, events.as_ptr(), events.len(), &raw mut event);
                    return self.keep_event(status, event, queue_lives && all_live);
                }
                3 => {
                    let status = sw_array_event(array, &raw mut event);
                    return self.keep_event(status, event, array_lives);
                }
                4 => (sw_array_wait(array), array_lives),
                5 => (sw_event_wait(one), lives),
                6 => (sw_event_wait_all(events.as_ptr(), events.len()), all_live),
                _ => {
                    let mut state = sw_event_state::SW_EVENT_SUBMITTED;
                    let mut profile = sw_profile { submitted: 0, started: 0, ended: 0 };
                    let status = sw_event_profile(one, &raw mut profile);
                    self.done(status, lives, true);
                    (sw_event_status(one, &raw mut state), lives)
                }
            };
            self.done(status, live, true);
        }
    }

    /// An argument of a launch, of any kind.
    fn argument(&mut self) -> sw_argument {
        let (array, memory) = (any(&mut self.rng, &self.arrays).0, any(&mut self.rng, &self.memories).0);
        let (kind, dtype) = (self.rng.below(8) as i32, self.dtype());
        let (offset, bytes) = (self.rng.below(64), self.rng.below(16));
        let value = std::ptr::from_ref(&[0_u64; 2]).cast();
        sw_argument { kind, read_only: self.rng.chance(50), array, memory, offset, bytes, dtype, value }
    }

    /// What things are.
    pub(super) fn describe(&mut self) {
        let (device, live) = any(&mut self.rng, &self.devices);
        let mut room = [0_u8; 64];
        let capacity = self.rng.below(room.len() + 1);
        let (mut length, mut arity) = (0, 0);
        let op = self.op();
        // SAFETY: pointers to locals, of the lengths beside them.
        unsafe {
            let status = if self.rng.chance(50) {
                sw_device_name(device, room.as_mut_ptr().cast(), capacity, &raw mut length)
            } else {
                sw_device_filter(device, room.as_mut_ptr().cast(), capacity, &raw mut length)
            };
            if self.done(status, live, true) && capacity > 0 {
                assert!(CStr::from_ptr(room.as_ptr().cast()).count_bytes() == length.min(capacity - 1));
            }
            let status = sw_op_arity(op, &raw mut arity);
            self.done(status, true, false);
            // No host compiles sources, so that no handle of a kernel is live.
            let (queue, live) = any(&mut self.rng, &self.queues);
            let (mut bundle, mut kernel, mut event) = (null_mut(), null_mut(), null_mut());
            let status =
                sw_kernel_bundle_from_source(queue, c"kernel void f() {}".as_ptr(), null(), &raw mut bundle);
            assert!(!self.done(status, live, false) && bundle.is_null(), "a host compiled a source");
            let bits = std::ptr::without_provenance_mut::<c_void>(self.rng.next() as usize);
            let status = sw_kernel_bundle_kernel(bits.cast(), c"f".as_ptr(), &raw mut kernel);
            self.done(status, false, true);
            let (items, argument) = ([4_i64], self.argument());
            let status = sw_kernel_launch(
                bits.cast(),
                queue,
                1,
                items.as_ptr(),
                null(),
                &raw const argument,
                1,
                null(),
                0,
                &raw mut event,
            );
            assert!(!self.done(status, false, false) && event.is_null(), "no kernel was launched");
            self.done(sw_kernel_free(bits.cast()), false, true);
            // A null where a result is to be.
            let (array, live) = any(&mut self.rng, &self.arrays);
            let status = sw_array_copy(array, null_mut());
            assert!(!self.done(status, live, false), "a result went nowhere");
        }
    }
}
