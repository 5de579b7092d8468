//! Any calls of the interface, with live, freed and made-up handles and any numbers: a handle that is not live is always
//! refused, a live one never, results are there exactly where a call succeeds, and no call panics. The fuzzer includes this
//! file, too.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use stridewise_c::array::*;
use stridewise_c::compute::*;
use stridewise_c::device::*;
use stridewise_c::dlpack::*;
use stridewise_c::event::*;
use stridewise_c::memory::*;
use stridewise_c::queue::*;
use stridewise_c::status::sw_status::{self, SW_ERROR_HANDLE, SW_ERROR_OTHER, SW_ERROR_PANIC, SW_OK};
use stridewise_c::status::{sw_last_error, sw_status_name};
use stridewise_c::view::*;

use crate::random::Rng;

/// Handles of a type at most, the dead ones among them.
const MOST: usize = 60;
/// Elements of an array, and bytes of memory, at most.
const FEW: usize = 4096;
const DTYPES: [i32; 8] = [0x0608, 0x0008, 0x0020, 0x0140, 0x0210, 0x0220, 0x0240, 0x0540];
/// From sum to all, by the hash of their names.
const REDUCTIONS: [i32; 6] =
    [1_565_407_912, 1_234_126_167, 1_470_292_761, 194_681_839, 517_876_052, 740_945_997];
const OPS: [&CStr; 10] = [
    c"add",
    c"multiply",
    c"sqrt",
    c"negative",
    c"where",
    c"less",
    c"clip",
    c"bitwise_and",
    c"divide",
    c"floor",
];

/// A handle, and whether it is live.
type Handle<H> = (*mut H, bool);

/// What is called, and with what.
pub(crate) struct Calls {
    rng: Rng,
    devices: Vec<Handle<sw_device>>,
    queues: Vec<Handle<sw_queue>>,
    events: Vec<Handle<sw_event>>,
    memories: Vec<Handle<sw_memory>>,
    arrays: Vec<Handle<sw_array>>,
    counts: BTreeMap<i32, usize>,
}

/// Checks how a call went. `live`: all its handles are; `fine`: nothing but a handle can be wrong.
fn check(status: sw_status, live: bool, fine: bool) -> bool {
    // SAFETY: the text of this thread's last failure, read at once.
    let text = unsafe { CStr::from_ptr(sw_last_error()) };
    assert!(!matches!(status, SW_ERROR_PANIC | SW_ERROR_OTHER), "{status:?}: {text:?}");
    if live {
        assert_ne!(status, SW_ERROR_HANDLE, "{text:?}");
    } else {
        assert_ne!(status, SW_OK, "a handle that is not live was taken");
    }
    assert!(!fine || live || status == SW_ERROR_HANDLE, "{status:?}: {text:?}");
    if status != SW_OK {
        // SAFETY: a constant text.
        assert_ne!(unsafe { CStr::from_ptr(sw_status_name(status as i32)) }, c"unknown");
        assert!(!text.is_empty());
    }
    status == SW_OK
}

/// Of freed memory that was handed in.
unsafe extern "C" fn free_words(pointer: *mut c_void, _context: *mut c_void) {
    // SAFETY: a box that `Calls::memory` gave up, and a deleter is called once.
    drop(unsafe { Box::from_raw(pointer.cast::<[u64; 32]>()) });
}

fn number(value: f64) -> sw_operand {
    sw_operand { kind: SW_OPERAND_REAL, array: null(), integer: 0, real: value, imaginary: 0.0 }
}

/// One of the handles, or now and then a number that is none.
fn any<H>(rng: &mut Rng, handles: &[Handle<H>]) -> Handle<H> {
    if rng.chance(2) {
        return (std::ptr::without_provenance_mut(rng.next() as usize), false);
    }
    // Mostly a live one.
    let handle = *rng.pick(handles);
    if handle.1 || rng.chance(15) {
        handle
    } else {
        handles.iter().rev().copied().find(|h| h.1).unwrap_or(handle)
    }
}

/// Frees handles, some before their time; dead ones stay in the list for a while, and their slots are used again.
fn thin<H>(rng: &mut Rng, handles: &mut Vec<Handle<H>>, free: unsafe extern "C" fn(*mut H) -> sw_status) {
    let place = rng.below(handles.len());
    let (handle, live) = handles[place];
    // SAFETY: a handle, live or not.
    let freed = unsafe { free(handle) };
    assert_eq!(freed == SW_OK, live);
    handles[place].1 = false;
    if handles.len() > MOST {
        handles.swap_remove(place);
    }
}

impl Calls {
    pub(crate) fn new(rng: Rng) -> Self {
        let (mut device, mut queue) = (null_mut(), null_mut());
        // SAFETY: room for handles.
        unsafe {
            assert_eq!(sw_device_select(c"host".as_ptr(), &raw mut device), SW_OK);
            assert_eq!(sw_queue_host(&raw mut queue), SW_OK);
        }
        Self {
            rng,
            devices: vec![(null_mut(), false), (device, true)],
            queues: vec![(null_mut(), false), (queue, true)],
            events: vec![(null_mut(), false)],
            memories: vec![(null_mut(), false)],
            arrays: vec![(null_mut(), false)],
            counts: BTreeMap::new(),
        }
    }

    /// Makes calls as long as a function says so, and frees everything. How often calls ended with which status.
    pub(crate) fn run(mut self, mut more: impl FnMut(&Rng) -> bool) -> BTreeMap<i32, usize> {
        while more(&self.rng) {
            match self.rng.below(16) {
                0 | 1 => self.make(),
                2 => self.memory(),
                3 => self.memory_work(),
                4..8 => self.view(),
                8 | 9 => self.compute(),
                10 => self.compute_into(),
                11 => self.elements(),
                12 => self.exchange(),
                13 => self.runtime(),
                14 => self.wait(),
                _ => self.describe(),
            }
            let rng = &mut self.rng;
            if rng.chance(30) || self.arrays.len() > MOST {
                thin(rng, &mut self.arrays, sw_array_free);
            }
            if rng.chance(10) || self.memories.len() > MOST {
                thin(rng, &mut self.memories, sw_memory_free);
            }
            if rng.chance(10) || self.events.len() > MOST {
                thin(rng, &mut self.events, sw_event_free);
            }
            if rng.chance(2) || self.queues.len() > MOST {
                thin(rng, &mut self.queues, sw_queue_free);
            }
            if rng.chance(1) || self.devices.len() > MOST {
                thin(rng, &mut self.devices, sw_device_free);
            }
        }
        // SAFETY: handles, live or not.
        unsafe {
            self.arrays.iter().for_each(|&(handle, live)| assert_eq!(sw_array_free(handle) == SW_OK, live));
            self.memories
                .iter()
                .for_each(|&(handle, live)| assert_eq!(sw_memory_free(handle) == SW_OK, live));
            self.events.iter().for_each(|&(handle, live)| assert_eq!(sw_event_free(handle) == SW_OK, live));
            self.queues.iter().for_each(|&(handle, live)| assert_eq!(sw_queue_free(handle) == SW_OK, live));
            self.devices.iter().for_each(|&(handle, live)| assert_eq!(sw_device_free(handle) == SW_OK, live));
        }
        self.counts
    }

    fn done(&mut self, status: sw_status, live: bool, fine: bool) -> bool {
        *self.counts.entry(status as i32).or_default() += 1;
        check(status, live, fine)
    }

    /// An extent: small, or one that no memory has.
    fn extent(&mut self) -> i64 {
        if self.rng.chance(94) {
            return self.rng.below(6) as i64;
        }
        *self.rng.pick(&[-1, i64::MIN, i64::MAX, 1 << 50, 1 << 60])
    }

    /// Any number: small, or one that breaks arithmetic.
    fn any_number(&mut self) -> i64 {
        if self.rng.chance(92) {
            return self.rng.below(14) as i64 - 5;
        }
        *self.rng.pick(&[SW_NONE, i64::MAX, i64::MIN + 1, 1 << 32, -(1 << 40), 1 << 62])
    }

    fn shape(&mut self) -> Vec<i64> {
        let ndim = if self.rng.chance(99) { self.rng.below(4) } else { 33 };
        (0..ndim).map(|_| self.extent()).collect()
    }

    fn kind(&mut self) -> i32 {
        if self.rng.chance(97) { 1 + self.rng.below(3) as i32 } else { self.any_number() as i32 }
    }

    fn dtype(&mut self) -> i32 {
        if self.rng.chance(97) { *self.rng.pick(&DTYPES) } else { self.any_number() as i32 }
    }

    fn slice_kind(&mut self) -> i32 {
        if self.rng.chance(98) { 1 + self.rng.below(4) as i32 } else { self.any_number() as i32 }
    }

    fn op(&mut self) -> i32 {
        let mut op = 0;
        let name = if self.rng.chance(97) { *self.rng.pick(&OPS) } else { c"no_such" };
        // SAFETY: a text and room for a number.
        let status = unsafe { sw_op_of_name(name.as_ptr(), &raw mut op) };
        assert_eq!(status == SW_OK, name != c"no_such");
        op
    }

    fn operand(&mut self) -> (sw_operand, bool) {
        match self.rng.below(8) {
            0 => (number(self.any_number() as f64), true),
            1 => {
                let kind = 2 + self.rng.below(5) as i32;
                (sw_operand { kind, integer: self.any_number(), ..number(0.5) }, true)
            }
            _ => {
                let (array, live) = any(&mut self.rng, &self.arrays);
                (sw_operand { kind: SW_OPERAND_ARRAY, array, ..number(0.0) }, live)
            }
        }
    }

    fn depends(&mut self) -> (Vec<*mut sw_event>, bool) {
        let count = if self.rng.chance(60) { 0 } else { self.rng.below(4) };
        let picked: Vec<_> = (0..count).map(|_| any(&mut self.rng, &self.events)).collect();
        (picked.iter().map(|&(event, _)| event).collect(), picked.iter().all(|&(_, live)| live))
    }

    /// Keeps a result. One that is large is only a description, of repeated elements, and goes at once.
    fn keep(&mut self, status: sw_status, array: *mut sw_array, live: bool, fine: bool) {
        let done = self.done(status, live, fine);
        assert_eq!(!array.is_null(), done, "{status:?}");
        if done {
            let mut info = std::mem::MaybeUninit::<sw_array_info>::uninit();
            // SAFETY: a live handle and room for what it is, which is there after a success.
            let info = unsafe {
                assert_eq!(sw_array_describe(array, info.as_mut_ptr()), SW_OK);
                info.assume_init()
            };
            if info.len > FEW {
                // SAFETY: a live handle.
                assert_eq!(unsafe { sw_array_free(array) }, SW_OK);
            } else {
                self.arrays.push((array, true));
            }
        }
    }

    fn keep_event(&mut self, status: sw_status, event: *mut sw_event, live: bool) {
        let done = self.done(status, live, false);
        assert_eq!(!event.is_null(), done, "{status:?}");
        if done {
            self.events.push((event, true));
        }
    }

    /// Arrays in new memory, or on memory that is there.
    fn make(&mut self) {
        let (queue, live) = any(&mut self.rng, &self.queues);
        let (kind, dtype, shape) = (self.kind(), self.dtype(), self.shape());
        let mut made = null_mut();
        let (ndim, extents) = (shape.len(), shape.as_ptr());
        // SAFETY: pointers to locals, of the lengths beside them.
        let status = unsafe {
            match self.rng.below(4) {
                0 => sw_array_empty(queue, kind, dtype, ndim, extents, &raw mut made),
                1 => {
                    let value = self.operand().0;
                    sw_array_full(queue, kind, dtype, ndim, extents, value, &raw mut made)
                }
                2 => {
                    let data = [1_u8; FEW];
                    let size = (dtype & 0xff) as usize / 8;
                    let whole = shape.iter().try_fold(size, |p, &e| p.checked_mul(usize::try_from(e).ok()?));
                    let bytes = if self.rng.chance(80) { whole.unwrap_or(0) } else { self.rng.below(64) };
                    let bytes = bytes.min(FEW);
                    sw_array_from_host(
                        queue,
                        kind,
                        dtype,
                        ndim,
                        extents,
                        data.as_ptr().cast(),
                        bytes,
                        &raw mut made,
                    )
                }
                _ => {
                    let (memory, live) = any(&mut self.rng, &self.memories);
                    let strides: Vec<i64> = (0..ndim).map(|_| self.any_number()).collect();
                    let strides = if self.rng.chance(40) { strides.as_ptr() } else { null() };
                    let offset = if self.rng.chance(50) { SW_NONE } else { self.any_number() };
                    let status =
                        sw_array_on_memory(memory, dtype, ndim, extents, strides, offset, &raw mut made);
                    return self.keep(status, made, live, false);
                }
            }
        };
        self.keep(status, made, live, false);
    }

    /// Memory: new, handed in, or an array's.
    fn memory(&mut self) {
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
    fn memory_work(&mut self) {
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

    /// Arrays from an array.
    fn view(&mut self) {
        let (array, live) = any(&mut self.rng, &self.arrays);
        let mut made = null_mut();
        let count = self.rng.below(4);
        let numbers: Vec<i64> = (0..count).map(|_| self.any_number()).collect();
        // SAFETY: pointers to locals, of the lengths beside them.
        let (status, fine) = unsafe {
            match self.rng.below(9) {
                0..3 => {
                    let items: Vec<sw_slice> = (0..count)
                        .map(|_| sw_slice {
                            kind: self.slice_kind(),
                            start: if self.rng.chance(50) { SW_NONE } else { self.any_number() },
                            stop: if self.rng.chance(50) { SW_NONE } else { self.any_number() },
                            step: if self.rng.chance(70) { 1 } else { self.any_number() },
                        })
                        .collect();
                    (sw_array_slice(array, items.as_ptr(), count, &raw mut made), false)
                }
                3 => {
                    let named = self.rng.chance(30);
                    let axes = if named { numbers.as_ptr() } else { null() };
                    (sw_array_transpose(array, axes, if named { count } else { 0 }, &raw mut made), !named)
                }
                4 => {
                    let shape = if self.rng.chance(70) { vec![-1] } else { self.shape() };
                    (sw_array_reshape(array, shape.len(), shape.as_ptr(), &raw mut made), false)
                }
                5 => {
                    let shape = self.shape();
                    (sw_array_broadcast(array, shape.len(), shape.as_ptr(), &raw mut made), false)
                }
                6 => (sw_array_read_only(array, &raw mut made), true),
                7 => (sw_array_astype(array, self.dtype(), &raw mut made), false),
                _ => match self.rng.below(3) {
                    0 => (sw_array_copy(array, &raw mut made), true),
                    1 => (sw_array_to_kind(array, self.kind(), &raw mut made), false),
                    _ => {
                        let (queue, queue_lives) = any(&mut self.rng, &self.queues);
                        let status = sw_array_to_queue(array, queue, &raw mut made);
                        return self.keep(status, made, live && queue_lives, true);
                    }
                },
            }
        };
        self.keep(status, made, live, fine);
    }

    fn compute(&mut self) {
        let mut made = null_mut();
        // SAFETY: pointers to locals, of the lengths beside them.
        unsafe {
            match self.rng.below(6) {
                0..3 => {
                    let op = self.op();
                    let mut count = 0;
                    let known = sw_op_arity(op, &raw mut count) == SW_OK;
                    if !known || self.rng.chance(5) {
                        count = self.rng.below(5);
                    }
                    let operands: Vec<_> = (0..count).map(|_| self.operand()).collect();
                    let live = operands.iter().all(|&(_, live)| live);
                    let operands: Vec<sw_operand> =
                        operands.into_iter().map(|(operand, _)| operand).collect();
                    let status = sw_elementwise(op, operands.as_ptr(), count, &raw mut made);
                    self.keep(status, made, live, false);
                }
                3 => {
                    let count = self.rng.below(4);
                    let parts: Vec<_> = (0..count).map(|_| any(&mut self.rng, &self.arrays)).collect();
                    let live = parts.iter().all(|&(_, live)| live);
                    let parts: Vec<_> = parts.iter().map(|&(array, _)| array).collect();
                    let axis = if self.rng.chance(50) { SW_NONE } else { self.any_number() };
                    let status = sw_concat(parts.as_ptr(), count, axis, &raw mut made);
                    self.keep(status, made, live, false);
                }
                _ => {
                    let (array, live) = any(&mut self.rng, &self.arrays);
                    let reduction = if self.rng.chance(97) {
                        *self.rng.pick(&REDUCTIONS)
                    } else {
                        self.any_number() as i32
                    };
                    let axes = [self.any_number()];
                    let (axes, count) = if self.rng.chance(50) { (axes.as_ptr(), 1) } else { (null(), 0) };
                    let keep = self.rng.chance(50);
                    let status = sw_array_reduce(array, reduction, axes, count, keep, &raw mut made);
                    self.keep(status, made, live, false);
                }
            }
        }
    }

    fn compute_into(&mut self) {
        let (array, live) = any(&mut self.rng, &self.arrays);
        let mut event = null_mut();
        // SAFETY: pointers to locals, of the lengths beside them.
        unsafe {
            if self.rng.chance(40) {
                let (source, source_lives) = self.operand();
                let status = sw_array_assign(array, source, &raw mut event);
                return self.keep_event(status, event, live && source_lives);
            }
            let (op, (depends, all_live)) = (self.op(), self.depends());
            let mut count = 0;
            if sw_op_arity(op, &raw mut count) != SW_OK {
                count = 1;
            }
            let operands: Vec<_> = (0..count).map(|_| self.operand()).collect();
            let live = live && all_live && operands.iter().all(|&(_, live)| live);
            let operands: Vec<sw_operand> = operands.into_iter().map(|(operand, _)| operand).collect();
            let status = sw_elementwise_into(
                op,
                operands.as_ptr(),
                count,
                array,
                depends.as_ptr(),
                depends.len(),
                &raw mut event,
            );
            self.keep_event(status, event, live);
        }
    }

    /// Elements to and from the host.
    fn elements(&mut self) {
        let (array, live) = any(&mut self.rng, &self.arrays);
        let mut room = [0_u8; 16 * FEW];
        let mut info = std::mem::MaybeUninit::<sw_array_info>::zeroed();
        // SAFETY: pointers to locals, of the lengths beside them; numbers that are all zero are a description, too.
        unsafe {
            let known = sw_array_describe(array, info.as_mut_ptr()) == SW_OK;
            let info = info.assume_init();
            assert_eq!(known, live);
            let whole = info.len * info.itemsize;
            let bytes = if self.rng.chance(90) { whole } else { self.rng.below(whole + 9) };
            match self.rng.below(4) {
                0 => {
                    let status = sw_array_read(array, room.as_mut_ptr().cast(), bytes);
                    self.done(status, live, true);
                }
                1 => {
                    let status = sw_array_write(array, room.as_ptr().cast(), bytes);
                    self.done(status, live, true);
                }
                2 => {
                    let (mut real, mut imaginary) = (0.0, 0.0);
                    let status = sw_array_item(array, &raw mut real, &raw mut imaginary);
                    self.done(status, live, true);
                }
                _ => {
                    let (mut length, capacity) = (0, self.rng.below(300));
                    let status = sw_array_text(array, room.as_mut_ptr().cast(), capacity, &raw mut length);
                    self.done(status, live, true);
                }
            }
        }
    }

    /// Out by DLPack, and in again or given back.
    fn exchange(&mut self) {
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

    /// Devices and queues.
    fn runtime(&mut self) {
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

    /// Queues and events.
    fn wait(&mut self) {
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

    /// What things are.
    fn describe(&mut self) {
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
            // A null where a result is to be.
            let (array, live) = any(&mut self.rng, &self.arrays);
            let status = sw_array_copy(array, null_mut());
            assert!(!self.done(status, live, false), "a result went nowhere");
        }
    }
}
