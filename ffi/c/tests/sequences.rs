//! Random sequences of calls, from several threads, with live and freed handles: a freed one is always refused, a live one
//! never, and no call panics.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use stridewise_c::array::{
    SW_NONE, sw_array, sw_array_free, sw_array_full, sw_array_memory, sw_array_on_memory,
};
use stridewise_c::codes::sw_op;
use stridewise_c::compute::{SW_OPERAND_ARRAY, SW_OPERAND_REAL, sw_array_reduce, sw_concat, sw_elementwise};
use stridewise_c::compute::{sw_op_of_name, sw_operand};
use stridewise_c::dlpack::{sw_array_from_dlpack, sw_array_to_dlpack};
use stridewise_c::memory::{sw_memory, sw_memory_free};
use stridewise_c::queue::{sw_queue, sw_queue_free, sw_queue_host};
use stridewise_c::status::sw_last_error;
use stridewise_c::status::sw_status::{self, SW_ERROR_HANDLE, SW_ERROR_OTHER, SW_ERROR_PANIC, SW_OK};
use stridewise_c::view::{
    SW_SLICE_RANGE, sw_array_copy, sw_array_reshape, sw_array_slice, sw_array_transpose, sw_slice,
};

const FLOAT32: i32 = 0x0220;
const SHARED: i32 = 3;
const STEPS: usize = 3_000;

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

fn number(value: f64) -> sw_operand {
    sw_operand { kind: SW_OPERAND_REAL, array: null(), integer: 0, real: value, imaginary: 0.0 }
}

fn operand(array: *const sw_array) -> sw_operand {
    sw_operand { kind: SW_OPERAND_ARRAY, array, ..number(0.0) }
}

fn operation(name: &CStr) -> sw_op {
    let mut op = 0;
    // SAFETY: a text and a local.
    assert_eq!(unsafe { sw_op_of_name(name.as_ptr(), &raw mut op) }, SW_OK);
    op
}

/// One thread's calls.
fn calls(seed: u64) {
    let mut random = Random(seed);
    let (add, sqrt) = (operation(c"add"), operation(c"sqrt"));
    let mut queue: *mut sw_queue = null_mut();
    // SAFETY: in this function, pointers are null or to locals, of the lengths that stand beside them; handles may be wrong.
    unsafe {
        assert_eq!(sw_queue_host(&raw mut queue), SW_OK);
        // Handles, and whether they are live.
        let mut arrays: Vec<(*mut sw_array, bool)> = vec![(null_mut(), false)];
        for _ in 0..STEPS {
            let (first, second) = (random.below(arrays.len()), random.below(arrays.len()));
            let ((x, x_live), (y, y_live)) = (arrays[first], arrays[second]);
            let mut made: *mut sw_array = null_mut();
            let result = &raw mut made;
            let (status, live): (sw_status, bool) = match random.below(11) {
                0 => {
                    let shape = [random.below(5) as i64, random.below(5) as i64];
                    (sw_array_full(queue, SHARED, FLOAT32, 2, shape.as_ptr(), number(2.0), result), true)
                }
                1 => (sw_elementwise(add, [operand(x), operand(y)].as_ptr(), 2, result), x_live && y_live),
                2 => (sw_elementwise(sqrt, [operand(x)].as_ptr(), 1, result), x_live),
                3 => {
                    let step = random.below(5) as i64 - 2;
                    let item = sw_slice { kind: SW_SLICE_RANGE, start: SW_NONE, stop: SW_NONE, step };
                    (sw_array_slice(x, &raw const item, 1, result), x_live)
                }
                4 => (sw_array_transpose(x, null(), 0, result), x_live),
                5 => (sw_array_reshape(x, 1, [-1_i64].as_ptr(), result), x_live),
                6 => (sw_array_reduce(x, 0x5d4e_3aa8, null(), 0, true, result), x_live),
                7 => (sw_concat([x, y].as_ptr(), 2, 0, result), x_live && y_live),
                8 => (sw_array_copy(x, result), x_live),
                9 => {
                    let mut memory: *mut sw_memory = null_mut();
                    let status = sw_array_memory(x, &raw mut memory);
                    if status == SW_OK {
                        let shape = [1 + random.below(4) as i64];
                        sw_array_on_memory(memory, FLOAT32, 1, shape.as_ptr(), null(), SW_NONE, result);
                        assert_eq!(sw_memory_free(memory), SW_OK);
                    }
                    (status, x_live)
                }
                _ => {
                    let mut tensor = null_mut();
                    let status = sw_array_to_dlpack(x, &raw mut tensor);
                    if status == SW_OK {
                        assert_eq!(sw_array_from_dlpack(queue, tensor, result), SW_OK);
                    }
                    (status, x_live)
                }
            };
            let text = CStr::from_ptr(sw_last_error());
            assert_eq!(status == SW_ERROR_HANDLE, !live, "{text:?}");
            assert!(!matches!(status, SW_ERROR_PANIC | SW_ERROR_OTHER), "{text:?}");
            if !made.is_null() {
                arrays.push((made, true));
            }
            // Freed handles stay in the list, and their slots are used again.
            if random.below(3) > 0 || arrays.len() > 200 {
                let place = random.below(arrays.len());
                let (handle, live) = arrays[place];
                assert_eq!(sw_array_free(handle) == SW_OK, live);
                arrays[place].1 = false;
                if arrays.len() > 200 {
                    arrays.swap_remove(place);
                }
            }
        }
        for (handle, live) in arrays {
            assert_eq!(sw_array_free(handle) == SW_OK, live);
        }
        assert_eq!(sw_queue_free(queue), SW_OK);
    }
}

#[test]
fn any_sequence_of_calls_is_safe() {
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            scope.spawn(move || calls(seed * 0x9e37_79b9));
        }
    });
}
