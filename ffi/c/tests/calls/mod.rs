//! Any calls of the interface, with live, freed and made-up handles and any numbers: a handle that is not live is always
//! refused, a live one never, results are there exactly where a call succeeds, and no call panics. The fuzzer includes this
//! file, too.

mod arrays;
mod memory;
mod runtime;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::ptr::{null, null_mut};

use stridewise_c::array::*;
use stridewise_c::compute::*;
use stridewise_c::device::*;
use stridewise_c::dlpack::*;
use stridewise_c::event::*;
use stridewise_c::kernel::*;
use stridewise_c::memory::*;
use stridewise_c::queue::*;
use stridewise_c::status::sw_status::{self, SW_ERROR_HANDLE, SW_ERROR_OTHER, SW_ERROR_PANIC, SW_OK};
use stridewise_c::status::{sw_last_error, sw_status_name};
use stridewise_c::usage::*;
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
                15 => self.usage(),
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
}
