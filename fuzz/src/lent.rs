//! Memory that is lent to the engine, whose elements are known.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stridewise::{Dtype, Order, Scalar, UsmArray, backend::self_overlaps};

use crate::random::Rng;
use crate::reach;

/// Words of memory.
const WORDS: usize = 40;

/// Bytes with room for some elements of any dtype, and how often they were given back.
pub(crate) struct Lent {
    words: Box<[u128; WORDS]>,
    returned: Arc<AtomicUsize>,
}

impl Lent {
    pub(crate) const BYTES: usize = WORDS * 16;

    /// Bytes that are elements of a dtype: truth values are 0 and 1.
    pub(crate) fn new(dtype: Dtype) -> Self {
        let most = if dtype == Dtype::Bool { 2 } else { 251 };
        let word =
            |place: usize| u128::from_ne_bytes(std::array::from_fn(|i| ((place * 16 + i) % most) as u8));
        Self { words: Box::new(std::array::from_fn(word)), returned: Arc::default() }
    }

    pub(crate) fn start(&mut self) -> *mut u8 {
        self.words.as_mut_ptr().cast()
    }

    /// Counts that the memory was given back.
    pub(crate) fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.returned)
    }

    pub(crate) fn times_returned(&self) -> usize {
        self.returned.load(Ordering::SeqCst)
    }

    fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// Checks that an array has the elements that lie at these distances in bytes from the start, reads and writes them.
    /// Nothing is followed where one of them is outside.
    pub(crate) fn check(&self, rng: &mut Rng, array: &UsmArray, places: &[i128]) {
        assert_eq!(array.len(), places.len());
        let size = array.itemsize();
        if places.iter().any(|&place| place < 0 || place as usize + size > Self::BYTES) {
            return;
        }
        let gathered = |bytes: &[u8]| -> Vec<u8> {
            places.iter().flat_map(|&place| bytes[place as usize..][..size].to_vec()).collect()
        };
        let mut expected = self.bytes();
        assert_eq!(read(array), gathered(&expected), "{array:?}");
        if rng.chance(50) && array.flags().writable && !self_overlaps(array.layout()) {
            let value = Scalar::from_bytes(array.dtype(), &[1; 16]);
            array.assign(value).unwrap().wait().unwrap();
            for &place in places {
                expected[place as usize..][..size].copy_from_slice(&value.to_bytes()[..size]);
            }
            assert_eq!(self.bytes(), expected, "{array:?}");
        }
    }
}

/// The elements' bytes in row-major order.
pub(crate) fn read(array: &UsmArray) -> Vec<u8> {
    if array.is_empty() {
        return Vec::new();
    }
    array.copy_in(Order::C).unwrap().usm_data().unwrap().to_bytes().unwrap()[..array.bytes()].to_vec()
}

/// The distances in bytes at which elements lie, or `None` where they are too many to list, or extents are none.
pub(crate) fn places(first: i128, shape: &[i64], byte_strides: &[i128]) -> Option<Vec<i128>> {
    let shape = reach::wide(shape);
    if shape.contains(&0) {
        return Some(Vec::new());
    }
    let product = shape.iter().try_fold(1_i128, |product, &extent| product.checked_mul(extent))?;
    (shape.iter().all(|&extent| extent > 0) && product <= 4096)
        .then(|| reach::distances(&shape, byte_strides).iter().map(|place| first + place).collect())
}
