//! The arrays of the rows, with the values that the peers make, too.

use stridewise::{Dtype, Event, Op, Queue, SliceItem, UsmArray, UsmKind};

use crate::measure::Outcome;
use crate::suite::{Sample, values};

/// Arrays of one size and dtype; views share memory.
pub(crate) struct Given<T: Sample> {
    pub(crate) host: Vec<T>,
    pub(crate) a: UsmArray,
    pub(crate) b: UsmArray,
    pub(crate) c: UsmArray,
    pub(crate) d: UsmArray,
    pub(crate) out: UsmArray,
    /// Square matrices.
    pub(crate) a_square: UsmArray,
    pub(crate) b_square: UsmArray,
    pub(crate) row: UsmArray,
    pub(crate) mask: UsmArray,
    /// In order.
    pub(crate) sorted: UsmArray,
    pub(crate) places: UsmArray,
    /// Integers, of which each is there about sixteen times.
    pub(crate) few: UsmArray,
    /// Arrays of a quarter of the elements.
    pub(crate) quarters: Vec<UsmArray>,
    /// Memory for copies, from the one to the other.
    pub(crate) room: [UsmArray; 2],
}

impl<T: Sample> Given<T> {
    pub(crate) fn new(queue: &Queue, n: usize) -> Outcome<Self> {
        let kind = UsmKind::Device;
        let host = values::<T>(n, 1);
        let of_seed = |seed| UsmArray::from_slice(queue, &[n], &values::<T>(n, seed), kind);
        let (a, b, c, d) = (of_seed(1)?, of_seed(2)?, of_seed(3)?, of_seed(4)?);
        let side = n.isqrt();
        let square = |x: &UsmArray| x.reshape(&[side.cast_signed(), side.cast_signed()]);
        let part = |start: usize, stop: usize| [SliceItem::from(start.cast_signed()..stop.cast_signed())];
        let units = values::<f64>(n, 6);
        let places: Vec<i64> = units.iter().map(|x| ((x - 0.5) * n as f64) as i64).collect();
        let few: Vec<i32> = places.iter().map(|&place| (place % (n as i64 / 16).max(1)) as i32).collect();
        let quarters = (0..4).map(|k| a.slice(&part(k * n / 4, (k + 1) * n / 4))?.copy());
        // No row moves more for an element.
        let room = || UsmArray::zeros(queue, &[16 * n], Dtype::U8, kind);
        let given = Self {
            a_square: square(&a)?,
            b_square: square(&b)?,
            row: c.slice(&part(0, side))?,
            mask: a.binary(Op::Greater, &b)?,
            sorted: a.sort(0, false)?,
            places: UsmArray::from_slice(queue, &[n], &places, kind)?,
            few: UsmArray::from_slice(queue, &[n], &few, kind)?,
            quarters: quarters.collect::<Result<_, _>>()?,
            out: UsmArray::zeros(queue, &[n], T::DTYPE, kind)?,
            room: [room()?, room()?],
            host,
            a,
            b,
            c,
            d,
        };
        given.mask.wait()?;
        given.sorted.wait()?;
        given.room.iter().try_for_each(UsmArray::wait)?;
        Ok(given)
    }

    /// The sum of two arrays, into memory that is there.
    pub(crate) fn add(&self) -> Outcome<Event> {
        Ok(self.out.write_elementwise(Op::Add, &[(&self.a).into(), (&self.b).into()], &[])?)
    }

    /// An array as rows of so many elements, or of the square's where there are fewer.
    pub(crate) fn rows(&self, len: usize) -> Outcome<UsmArray> {
        let len = len.min(self.a.len());
        Ok(self.a.reshape(&[-1, len.cast_signed()])?)
    }
}
