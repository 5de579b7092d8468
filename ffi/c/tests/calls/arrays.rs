//! Arrays: made, seen as others, computed with, and what is in them.

use super::*;

impl Calls {
    /// Arrays in new memory, or on memory that is there.
    pub(super) fn make(&mut self) {
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

    /// Arrays from an array.
    pub(super) fn view(&mut self) {
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

    pub(super) fn compute(&mut self) {
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

    pub(super) fn compute_into(&mut self) {
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
    pub(super) fn elements(&mut self) {
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
}
