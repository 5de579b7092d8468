//! How many rounds lanes go of a loop that counts between bounds that they differ in.

use std::ops::Range;

use stridewise_core::Dtype;
use stridewise_native::{COLUMNS, COUNT, Cell, WHOLE};

use crate::interpreter::run::count_rounds;

/// The rounds of each lane; at most as many as an `int64` counts.
pub(super) struct Each {
    pub(super) bounds: [Bound; 3],
    pub(super) dtype: Dtype,
    pub(super) rounds: Cell,
    /// How many rounds every lane goes at least, and at most.
    pub(super) least: Cell,
    pub(super) most: Cell,
    /// Whether lanes are rows of items.
    pub(super) in_rows: bool,
}

/// A bound of a loop.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// One for all lanes.
    One(Cell),
    /// The first lane's, and how much more it is from item to item of a row, and from row to row; an `int32` or `int64`. Then no
    /// bound is each lane's, and the step is one for all.
    Follow(Cell, [i32; 2]),
    /// Each lane's.
    Lanes(Cell),
}

impl Bound {
    /// The cell of the first lane's, and the steps, of one that no lane has for itself.
    fn follows(self) -> Option<(Cell, [i64; 2])> {
        match self {
            Self::One(cell) => Some((cell, [0; 2])),
            Self::Follow(cell, steps) => Some((cell, steps.map(i64::from))),
            Self::Lanes(_) => None,
        }
    }
}

/// How many rounds there are by a step.
#[derive(Clone, Copy)]
struct By {
    up: bool,
    stride: u64,
    /// Of a power of two, its logarithm.
    shift: Option<u32>,
}

impl By {
    fn new(step: i64) -> Self {
        let stride = step.unsigned_abs();
        let shift = stride.is_power_of_two().then(|| stride.trailing_zeros());
        Self { up: step > 0, stride, shift }
    }

    /// The same as [`count_rounds`], where dividing takes long only if it has to.
    fn rounds(self, start: i64, end: i64) -> i64 {
        let (from, to) = if self.up { (start, end) } else { (end, start) };
        if from >= to || self.stride == 0 {
            return 0;
        }
        let distance = (to.wrapping_sub(from) as u64) - 1;
        let whole = match (self.shift, u32::try_from(distance), u32::try_from(self.stride)) {
            (Some(shift), ..) => distance >> shift,
            (None, Ok(distance), Ok(stride)) => (distance / stride).into(),
            _ => distance / self.stride,
        };
        i64::try_from(whole.saturating_add(1)).unwrap_or(i64::MAX)
    }
}

/// The least and the most of some rounds.
fn ends(rounds: &[i64]) -> [i64; 2] {
    rounds.iter().fold([i64::MAX, 0], |[least, most], &rounds| [least.min(rounds), most.max(rounds)])
}

impl Each {
    /// # Safety
    /// The memory is of the layout that this is of.
    pub(super) unsafe fn run(&self, memory: *mut u8) {
        let at = |cell: Cell| memory.wrapping_add(usize::try_from(cell.0).unwrap_or(0));
        // SAFETY: cells of numbers are in the memory, aligned.
        let read = |cell: Cell| unsafe { at(cell).cast::<i64>().read() };
        let (count, whole) = (read(COUNT) as usize, read(WHOLE) as usize);
        // SAFETY: the cell has room for a number of each lane, aligned, of those that are computed; nothing else is there.
        let rounds = unsafe { std::slice::from_raw_parts_mut(at(self.rounds).cast::<i64>(), whole) };
        let known = match self.bounds {
            [start, end, Bound::One(step)] if self.dtype != Dtype::U64 => {
                let by = By::new(read(step));
                match (start.follows(), end.follows()) {
                    (Some((start, from)), Some((end, to))) => {
                        let columns =
                            if self.in_rows { (read(COLUMNS) as usize).clamp(1, whole) } else { whole };
                        self.follow(rounds, (count, columns), [(read(start), from), (read(end), to)], by)
                    }
                    _ => {
                        for (lane, rounds) in rounds.iter_mut().enumerate() {
                            // SAFETY: the layout has each lane's bounds there.
                            let [start, end] =
                                [start, end].map(|bound| unsafe { self.bound(memory, bound, lane) });
                            *rounds = by.rounds(start as i64, end as i64);
                        }
                        ends(&rounds[..count])
                    }
                }
            }
            bounds => {
                for (lane, rounds) in rounds.iter_mut().enumerate() {
                    // SAFETY: the layout has each lane's bounds there.
                    let [start, end, step] = bounds.map(|bound| unsafe { self.bound(memory, bound, lane) });
                    *rounds = i64::try_from(count_rounds(start, end, step)).unwrap_or(i64::MAX);
                }
                ends(&rounds[..count])
            }
        };
        for (cell, number) in [self.least, self.most].into_iter().zip(known) {
            // SAFETY: the cell is in the memory, aligned for a number, and no lane's.
            unsafe { at(cell).cast::<i64>().write(number) };
        }
    }

    /// The rounds of lanes of which so many are items, in rows of so many, and the ends of the items': of a start and an end that are
    /// so much more from item to item, and from row to row.
    fn follow(
        &self,
        rounds: &mut [i64],
        (count, columns): (usize, usize),
        bounds: [(i64, [i64; 2]); 2],
        by: By,
    ) -> [i64; 2] {
        let wrap = |number: i64| if self.dtype == Dtype::I32 { i64::from(number as i32) } else { number };
        let [(_, [start_item, start_row]), (_, [end_item, end_row])] = bounds;
        let (mut done, mut known) = (0, [i64::MAX, 0]);
        let join = |[least, most]: [i64; 2], ends: [i64; 2]| [least.min(ends[0]), most.max(ends[1])];
        for row in 0.. {
            let here: Range<usize> = done..(done + columns).min(rounds.len());
            if here.is_empty() {
                break;
            }
            done = here.end;
            let items = here.start..here.end.min(count).max(here.start);
            if row > 0 && [start_row, end_row] == [0; 2] {
                rounds.copy_within(..here.len(), here.start);
                continue;
            }
            let [start, end] = bounds.map(|(first, [_, step])| first.wrapping_add(step.wrapping_mul(row)));
            if [start_item, end_item] == [0; 2] {
                let all = by.rounds(wrap(start), wrap(end));
                rounds[here].fill(all);
                known = join(known, [all; 2]);
                continue;
            }
            for (column, rounds) in (0_i64..).zip(&mut rounds[here]) {
                let [start, end] = [(start, start_item), (end, end_item)]
                    .map(|(first, step)| wrap(first.wrapping_add(step.wrapping_mul(column))));
                *rounds = by.rounds(start, end);
            }
            known = join(known, ends(&rounds[items]));
        }
        known
    }

    /// A lane's bound, which does not follow the ids.
    ///
    /// # Safety
    /// The memory is of the layout that this is of, which has so many lanes.
    unsafe fn bound(&self, memory: *const u8, bound: Bound, lane: usize) -> i128 {
        let (cell, lane) = match bound {
            Bound::One(cell) | Bound::Follow(cell, _) => (cell, 0),
            Bound::Lanes(cell) => (cell, lane),
        };
        let from = memory.wrapping_add(usize::try_from(cell.0).unwrap_or(0));
        macro_rules! element {
            ($($dtype:ident $ty:ty),*) => {
                match self.dtype {
                    // SAFETY: there is an element of the dtype for each lane, or the first one, aligned.
                    $(Dtype::$dtype => unsafe { from.cast::<$ty>().add(lane).read() }.into(),)*
                    _ => 0,
                }
            };
        }
        element!(I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{By, count_rounds};

    #[test]
    fn rounds_are_those_that_a_loop_goes() {
        let numbers = [i64::MIN, i64::MIN + 1, -17, -1, 0, 1, 2, 3, 16, 20, i64::MAX - 1, i64::MAX];
        for step in numbers {
            for start in numbers {
                for end in numbers {
                    let most = i64::MAX as u64;
                    let expected = count_rounds(start.into(), end.into(), step.into()).min(most);
                    assert_eq!(By::new(step).rounds(start, end) as u64, expected, "{start}, {end}, {step}");
                }
            }
        }
    }
}
