//! Arrays that change hands: by DLPack, and by the handles of C.

use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

use c_interface::array::{
    sw_array, sw_array_free, sw_array_from_host, sw_array_full, sw_array_read, sw_array_text,
};
use c_interface::codes::sw_op;
use c_interface::compute::{
    SW_OPERAND_ARRAY, SW_OPERAND_REAL, sw_array_reduce, sw_concat, sw_elementwise, sw_op_of_name, sw_operand,
};
use c_interface::dlpack::{sw_array_from_dlpack, sw_array_to_dlpack};
use c_interface::queue::{sw_queue, sw_queue_free, sw_queue_host};
use c_interface::status::sw_last_error;
use c_interface::status::sw_status::{
    self, SW_ERROR_ALLOC, SW_ERROR_DEPENDENCY, SW_ERROR_RUNTIME, SW_ERROR_UNSUPPORTED, SW_OK,
};
use stridewise::{Error, Op, Result, UsmKind, s};
use stridewise_exchange::dlpack::{
    DLManagedTensor, DLManagedTensorVersioned, ManagedTensor, export, give_back, import,
};

use super::{Scenario, scenario};
use crate::allocator::spared;
use crate::bench::Bench;

pub(crate) const LIST: &[Scenario] = &[
    scenario("an exchange by DLPack", dlpack::<DLManagedTensorVersioned>).of_the_host(),
    scenario("an exchange by the older DLPack", dlpack::<DLManagedTensor>).of_the_host(),
    scenario("handles of C", handles).of_the_host(),
    scenario("DLPack and texts of C", texts).of_the_host(),
];

fn dlpack<M: ManagedTensor>(bench: &Bench) -> Result<()> {
    let a = bench.array_in(UsmKind::Shared, &[200, 300], |i| i as f32)?;
    let recorded = a.binary(Op::Add, &a)?;
    let sent = export::<M>(&recorded.slice(s![.., ..;2])?, false)?;
    // SAFETY: a tensor that was just made, which nobody else has.
    let received = unsafe { import(sent.as_ptr(), &bench.queue) }.inspect_err(|_| {
        // SAFETY: where an import fails, the tensor is its owner's still.
        unsafe { give_back(sent.as_ptr()) };
    })?;
    drop((a, recorded));
    bench.expect(&received, |i| (2 * (i / 150 * 300 + i % 150 * 2)) as f32)?;
    bench.expect(&received.binary(Op::Add, &received)?, |i| (4 * (i / 150 * 300 + i % 150 * 2)) as f32)
}

const FLOAT32: i32 = 0x0220;
const SHARED: i32 = 3;
const SUM: i32 = 0x5d4e_3aa8;

/// Handles of arrays that are freed in the end, and of their queue.
struct Handles {
    queue: *mut sw_queue,
    arrays: Vec<*mut sw_array>,
}

impl Handles {
    fn new() -> Result<Self> {
        let mut queue = null_mut();
        // SAFETY: a pointer to a local.
        told(unsafe { sw_queue_host(&raw mut queue) })?;
        Ok(Self { queue, arrays: spared(|| Vec::with_capacity(16)) })
    }

    /// Keeps the array that a function of C makes.
    fn made(&mut self, make: impl FnOnce(*mut *mut sw_array) -> sw_status) -> Result<*mut sw_array> {
        let mut array = null_mut();
        let status = make(&raw mut array);
        assert_eq!(status == SW_OK, !array.is_null(), "a handle, or a failure");
        told(status)?;
        self.arrays.push(array);
        Ok(array)
    }
}

impl Drop for Handles {
    fn drop(&mut self) {
        for array in self.arrays.drain(..) {
            // SAFETY: any value may be given as a handle.
            assert_eq!(unsafe { sw_array_free(array) }, SW_OK);
        }
        // SAFETY: as above.
        assert_eq!(unsafe { sw_queue_free(self.queue) }, SW_OK);
    }
}

/// A status as an error of the engine.
fn told(status: sw_status) -> Result<()> {
    // SAFETY: the text is valid until the next failing call of this thread.
    let text = || unsafe { CStr::from_ptr(sw_last_error()) }.to_string_lossy().into_owned();
    match status {
        SW_OK => Ok(()),
        SW_ERROR_ALLOC => Err(Error::alloc("status", text(), "", "")),
        SW_ERROR_RUNTIME => Err(Error::runtime("status", text(), "", "")),
        SW_ERROR_UNSUPPORTED => Err(Error::unsupported("status", text(), "", "")),
        SW_ERROR_DEPENDENCY => Err(Error::alloc("status", text(), "", "").inherited()),
        other => panic!("{other:?}: {}", text()),
    }
}

fn number(real: f64) -> sw_operand {
    sw_operand { kind: SW_OPERAND_REAL, array: null(), integer: 0, real, imaginary: 0.0 }
}

fn operand(array: *const sw_array) -> sw_operand {
    sw_operand { kind: SW_OPERAND_ARRAY, array, ..number(0.0) }
}

fn operation(name: &CStr) -> Result<sw_op> {
    let mut op = 0;
    // SAFETY: a text and a local.
    told(unsafe { sw_op_of_name(name.as_ptr(), &raw mut op) })?;
    Ok(op)
}

fn handles(bench: &Bench) -> Result<()> {
    let mut handles = Handles::new()?;
    let queue = handles.queue;
    let data: Vec<f32> = spared(|| (0..30_000).map(|i| i as f32).collect());
    let shape = [100_i64, 300];
    let add = operation(c"add")?;
    // SAFETY: pointers are to locals and to `data`, of the lengths that stand beside them.
    unsafe {
        let a = handles.made(|out| {
            sw_array_from_host(queue, SHARED, FLOAT32, 2, shape.as_ptr(), data.as_ptr().cast(), 120_000, out)
        })?;
        let b = handles.made(|out| sw_elementwise(add, [operand(a), number(2.0)].as_ptr(), 2, out))?;
        let c = handles.made(|out| sw_concat([a, b].as_ptr(), 2, 0, out))?;
        let total = handles.made(|out| sw_array_reduce(c, SUM, [1_i64].as_ptr(), 1, false, out))?;
        let mut found = [0.0_f32; 200];
        told(sw_array_read(total, found.as_mut_ptr().cast(), 800))?;
        let row = |row: usize| (0..300).map(|i| (row * 300 + i) as f32).sum::<f32>();
        bench.check((found[1] - row(1)).abs() < 1.0, "the sum of a row");
        bench.check((found[101] - row(1) - 600.0).abs() < 1.0, "the sum of a row of sums");
    }
    Ok(())
}

fn texts(_: &Bench) -> Result<()> {
    let mut handles = Handles::new()?;
    let queue = handles.queue;
    let shape = [40_i64, 50];
    // SAFETY: pointers are to locals, of the lengths that stand beside them; the tensor has one owner.
    unsafe {
        let a =
            handles.made(|out| sw_array_full(queue, SHARED, FLOAT32, 2, shape.as_ptr(), number(1.0), out))?;
        let mut tensor = null_mut();
        told(sw_array_to_dlpack(a, &raw mut tensor))?;
        // Where it is not taken, it is its owner's still.
        let b = handles
            .made(|out| sw_array_from_dlpack(queue, tensor, out))
            .inspect_err(|_| give_back(tensor))?;
        let mut text = [0 as c_char; 4096];
        let mut length = 0;
        told(sw_array_text(b, text.as_mut_ptr(), text.len(), &raw mut length))?;
        let text = CStr::from_ptr(text.as_ptr());
        assert!(text.to_bytes().starts_with(b"[[1., 1., 1., ..., 1., 1., 1.],"), "{text:?}");
    }
    Ok(())
}
