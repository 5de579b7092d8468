//! Operands beside memory that nobody may touch. A function that reads or writes one element too many ends the process
//! here, where others would read what happens to lie there.

use std::ptr::null_mut;
use std::sync::Arc;

use smallvec::smallvec;
use stridewise_core::memory::UsmPtr;
use stridewise_core::ops::apply;
use stridewise_core::{
    Dtype, Op, Scalar,
    backend::{Family, LaunchPlan, Operand, Program},
};

use super::{Rng, close, execute, value};
use crate::simd::Isa;

/// Elements of the longest operand, of 16 bytes and two apart.
const ROOM: usize = 1 << 15;

/// Memory between two pages without access.
struct Fenced {
    start: *mut u8,
    page: usize,
}

impl Fenced {
    fn new() -> Self {
        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, wherever there is room.
        let start = unsafe { libc::mmap(null_mut(), ROOM + 2 * page, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let start = start.cast::<u8>();
        // SAFETY: the pages between the first and the last of the memory just made.
        let opened =
            unsafe { libc::mprotect(start.add(page).cast(), ROOM, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(opened, 0);
        Self { start, page }
    }
    /// Where so many bytes begin that touch one of the fences.
    fn place(&self, bytes: usize, at_end: bool) -> *mut u8 {
        self.start.wrapping_add(self.page + if at_end { ROOM - bytes } else { 0 })
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: made by `new` with this length, and given back once.
        unsafe { libc::munmap(self.start.cast(), ROOM + 2 * self.page) };
    }
}

/// Elements a number of places apart, beside a fence.
struct Edge<'a> {
    memory: &'a Fenced,
    dtype: Dtype,
    stride: isize,
    len: usize,
    at_end: bool,
}

impl Edge<'_> {
    /// The element at an index.
    fn at(&self, index: usize) -> *mut u8 {
        let step = self.stride.unsigned_abs();
        let span = if step == 0 { 1 } else { (self.len - 1) * step + 1 };
        let place = if self.stride < 0 { self.len - 1 - index } else { index };
        let first = self.memory.place(span * self.dtype.size(), self.at_end);
        first.wrapping_add(place * step * self.dtype.size())
    }
    fn write(&self, index: usize, value: Scalar) {
        let bytes = value.to_bytes();
        // SAFETY: an element of the memory that `Fenced` opened: the length of an operand is below `ROOM`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(index), self.dtype.size()) };
    }
    fn read(&self, index: usize) -> Scalar {
        let mut bytes = [0; 16];
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(self.at(index), bytes.as_mut_ptr(), self.dtype.size()) };
        Scalar::from_bytes(self.dtype, &bytes)
    }
    fn operand(&self) -> Operand {
        Operand { ptr: UsmPtr::new(self.at(0)), strides: smallvec![self.stride] }
    }
}

#[test]
fn functions_touch_their_operands_alone() {
    let mut rng = Rng(11);
    let fences: Vec<_> = (0..4).map(|_| Fenced::new()).collect();
    for &op in Op::ALL {
        for &dtype in Dtype::ALL.iter().filter(|&&d| op.allows(d) && op != Op::Cast) {
            let program = Arc::new(Program::single(op, dtype).unwrap());
            // Each operand is one element for all, every second one, reversed, or one after another.
            for round in 0..16 {
                let len = [1, 7, 64, 300][rng.below(4)];
                let at_end = round % 2 == 0;
                let inputs: Vec<_> = (0..op.arity())
                    .map(|k| {
                        // A value first, and with every other form behind it, is what most rounds have.
                        let stride = if k == 0 && round % 4 < 2 { 0 } else { rng.pick(&[0, 1, 1, 2, -1]) };
                        let input =
                            Edge { memory: &fences[k], dtype: program.inputs()[k], stride, len, at_end };
                        (0..len).for_each(|i| input.write(i, value(input.dtype, &mut rng)));
                        input
                    })
                    .collect();
                let output =
                    Edge { memory: &fences[3], dtype: program.output_dtype(0), stride: 1, len, at_end };
                for &isa in Isa::available() {
                    let plan = LaunchPlan {
                        program: program.clone(),
                        family: Family::Map,
                        dims: smallvec![len],
                        inputs: inputs.iter().map(Edge::operand).collect(),
                        outputs: smallvec![output.operand()],
                    };
                    execute(&plan, isa, 1, 1 << 25);
                    for i in [0, len - 1] {
                        let x: Vec<_> = inputs.iter().map(|a| a.read(i)).collect();
                        let (found, expected) = (output.read(i), apply(op, &x).unwrap());
                        assert!(close(op, found, expected), "{op:?} {x:?} on {}: {found:?}", isa.name());
                    }
                }
            }
        }
    }
}
