//! The segments of a reduction: each is folded by itself, in a fixed order.

use super::{Kind, Place, Reduction, SEGMENT, SEGMENT_ROWS, Worker};
use crate::kernels::fold::{ACC_BYTES, FIRST, LAST, ROWS};
use crate::kernels::space::Cursor;
use crate::kernels::tile::Tiles;

impl Reduction {
    /// Finds the place of the best value in its segment.
    ///
    /// # Safety
    /// As for [`outputs`](Self::outputs); `plane` has the result of a place's whole tree.
    pub(super) unsafe fn locate(&self, place: &Place<'_>, plane: *mut u8) {
        let (Kind::Index(_, i), Some(input)) = (&self.kind, self.late) else { return };
        let space = &self.lane.space;
        let index = plane.wrapping_add(self.indices()).cast::<i64>();
        // SAFETY: for all of this function: the plane has an index, of a segment's first point; the segment's elements are
        // readable one after the other, and the value is among them.
        unsafe {
            let start = (!*index).cast_unsigned() as usize;
            let src = place.cursor.at[input].wrapping_add(space.seek(start).at[input].addr());
            let len = SEGMENT.min(space.row() - start % space.row());
            let mut found = 0_u64;
            (i.find)((&raw mut found).cast(), src, plane, plane, 0, len);
            *index = (start + found as usize).cast_signed() as i64;
        }
    }

    /// Folds one segment of a place's points, tiles running along folded dimensions.
    ///
    /// # Safety
    /// As for [`tree`](Self::tree).
    pub(super) unsafe fn segment(
        &self,
        worker: &mut Worker,
        place: &Place<'_>,
        segment: usize,
        acc: *mut u8,
    ) {
        let Tiles { code, space } = &self.lane;
        let row = if space.across { space.len() } else { space.row() };
        let start = segment / self.per_row * row + segment % self.per_row * SEGMENT;
        let end = (segment / self.per_row * row + row).min(start + SEGMENT);
        let limit = code.tile_len;
        let mut cursor = space.seek(start);
        for (at, base) in cursor.at[..code.operands()].iter_mut().zip(&place.cursor.at) {
            *at = base.wrapping_add(at.addr());
        }
        let mut at = start;
        while at < end {
            let len = limit.min(end - at);
            // SAFETY: the caller's contract; the tile is within the row, or tiles run across rows.
            unsafe {
                self.lane.load(&cursor, &mut worker.slots, len);
                code.run(&worker.slots, len);
                let value = worker.slots.0[usize::from(code.value)].cast_const();
                self.fold_run(value, acc, at, at == start, at + len == end, len);
            }
            at += len;
            if at < end {
                if space.across {
                    cursor = space.seek(at);
                    for (at, base) in cursor.at[..code.operands()].iter_mut().zip(&place.cursor.at) {
                        *at = base.wrapping_add(at.addr());
                    }
                } else {
                    space.advance(&mut cursor, len);
                }
            }
        }
    }

    /// Folds a run of values into a plane of one output.
    ///
    /// # Safety
    /// `len` values are readable; `acc` is a plane.
    unsafe fn fold_run(
        &self,
        value: *const u8,
        acc: *mut u8,
        at: usize,
        first: bool,
        last: bool,
        len: usize,
    ) {
        // SAFETY: for all of this function: the caller's contract; a plane has room for the fold's accumulators.
        unsafe {
            match &self.kind {
                Kind::Value(f) => {
                    let flags = if first { FIRST } else { 0 } | if last { LAST } else { 0 };
                    (f.run)(acc, value, f.identity.as_ptr().cast(), value, flags, len);
                }
                Kind::Index(f, i) => {
                    let mut best = Aligned([0; ACC_BYTES]);
                    let best = (&raw mut best).cast::<u8>();
                    let run = i.extreme.unwrap_or(f.run);
                    run(best, value, f.identity.as_ptr().cast(), value, FIRST | LAST, len);
                    let index = acc.wrapping_add(self.indices()).cast::<i64>();
                    if self.late.is_some() {
                        // The run is the segment.
                        std::ptr::copy_nonoverlapping(best, acc, self.acc.size());
                        *index = !(at.cast_signed() as i64);
                        return;
                    }
                    if first {
                        std::ptr::copy_nonoverlapping(best, acc, self.acc.size());
                        *index = -1;
                    } else {
                        // Where the run's best wins, the index becomes −1, and is then looked for.
                        let unknown = -1_i64;
                        (i.better)(acc, index.cast(), best, (&raw const unknown).cast(), 0, 1);
                    }
                    if *index == -1 {
                        let mut found = 0_u64;
                        (i.find)((&raw mut found).cast(), value, best, best, 0, len);
                        *index = (at + found as usize).cast_signed() as i64;
                    }
                }
            }
        }
    }

    /// Folds one segment of the rows of a place's outputs, tiles running along kept dimensions.
    ///
    /// # Safety
    /// As for [`tree`](Self::tree).
    pub(super) unsafe fn segment_of_rows(
        &self,
        worker: &mut Worker,
        place: &Place<'_>,
        segment: usize,
        acc: *mut u8,
    ) {
        let code = &self.lane.code;
        let len = place.len;
        let start = segment * SEGMENT_ROWS;
        let end = (start + SEGMENT_ROWS).min(self.other.len());
        let mut offsets = self.other.seek(start);
        if let (Kind::Value(f), Some(input)) = (&self.kind, code.input_itself()) {
            let mut row = start;
            while row < end {
                let count = ROWS.min(end - row);
                let mut rows = [std::ptr::null::<u8>(); ROWS];
                for (k, to) in rows[..count].iter_mut().enumerate() {
                    *to = place.cursor.at[input].wrapping_add(offsets.at[input].addr());
                    if row + k + 1 < end {
                        self.other.advance(&mut offsets, 1);
                    }
                }
                let flags = 2 * count as u32 + u32::from(row == start);
                // SAFETY: the caller's contract.
                unsafe { (f.rows)(acc, rows.as_ptr().cast(), acc, acc, flags, len) };
                row += count;
            }
            return;
        }
        let mut cursor = Cursor { index: place.cursor.index, at: place.cursor.at };
        for row in start..end {
            for (k, at) in cursor.at[..code.operands()].iter_mut().enumerate() {
                *at = place.cursor.at[k].wrapping_add(offsets.at[k].addr());
            }
            // SAFETY: the caller's contract.
            unsafe {
                self.lane.load(&cursor, &mut worker.slots, len);
                code.run(&worker.slots, len);
                let value = worker.slots.0[usize::from(code.value)].cast_const();
                match &self.kind {
                    Kind::Value(f) => {
                        let flags = 2 + u32::from(row == start);
                        (f.rows)(acc, (&raw const value).cast(), acc, acc, flags, len);
                    }
                    Kind::Index(..) if row == start => {
                        std::ptr::copy_nonoverlapping(value, acc, len * self.acc.size());
                        let index = acc.wrapping_add(self.indices()).cast::<i64>();
                        for o in 0..len {
                            *index.add(o) = row as i64;
                        }
                    }
                    Kind::Index(_, i) => {
                        let row = row as i64;
                        let index = acc.wrapping_add(self.indices());
                        (i.better)(acc, index, value, (&raw const row).cast(), 4, len);
                    }
                }
            }
            if row + 1 < end {
                self.other.advance(&mut offsets, 1);
            }
        }
    }
}

/// Memory for the accumulators of one run.
#[repr(align(64))]
struct Aligned(#[allow(dead_code)] [u8; ACC_BYTES]);
