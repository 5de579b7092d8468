//! What array memory was made for, in one word that a pool notes of each block: dtype and shape, for who looks at what there is.
//!
//! It is written for every array that is made, so it costs one store and no memory of its own. The outermost extent follows from
//! the bytes; the others have equal parts of 55 bits. What does not fit is not noted: shapes of more than 15 dimensions, extents
//! beyond their part (8191 in five dimensions), and arrays of no elements.

use crate::dtype::Dtype;
use crate::layout::Dims;

/// Bits of the dtype's number, counted from one.
const DTYPE_BITS: u32 = 5;
/// Bits of the number of dimensions.
const NDIM_BITS: u32 = 4;
/// Bits of all extents but the outermost.
const EXTENT_BITS: u32 = u64::BITS - DTYPE_BITS - NDIM_BITS;

const _: () = assert!(Dtype::ALL.len() < 1 << DTYPE_BITS);

/// Bits of one extent, of so many dimensions.
fn width(ndim: usize) -> u32 {
    EXTENT_BITS / (ndim.max(2) as u32 - 1)
}

/// The form of an array; 0 where it has none.
#[inline]
pub(crate) fn form(dtype: Dtype, shape: &[usize]) -> u64 {
    let ndim = shape.len();
    if ndim >> NDIM_BITS != 0 || shape.contains(&0) {
        return 0;
    }
    let mut form = (dtype as u64 + 1) | ((ndim as u64) << DTYPE_BITS);
    let (width, mut at) = (width(ndim), DTYPE_BITS + NDIM_BITS);
    for &extent in shape.get(1..).unwrap_or_default() {
        let extent = extent as u64;
        // Of two dimensions, the width is less than 64 as well.
        if extent >> width != 0 {
            return 0;
        }
        form |= extent << at;
        at += width;
    }
    form
}

/// The dtype and shape that a form says, of memory of so many bytes; `None` where it says none, or not of so many.
pub(super) fn read(form: u64, bytes: usize) -> Option<(Dtype, Dims)> {
    let dtype = *Dtype::ALL.get(((form & ((1 << DTYPE_BITS) - 1)) as usize).checked_sub(1)?)?;
    let ndim = (form >> DTYPE_BITS) as usize & ((1 << NDIM_BITS) - 1);
    let len = (bytes.is_multiple_of(dtype.size())).then(|| bytes / dtype.size())?;
    let (width, mut at) = (width(ndim), DTYPE_BITS + NDIM_BITS);
    let mut inner = Dims::new();
    for _ in 1..ndim {
        inner.push(((form >> at) & ((1 << width) - 1)) as usize);
        at += width;
    }
    let behind = inner.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent))?;
    if ndim == 0 {
        return (len == 1).then_some((dtype, inner));
    }
    (behind > 0 && len.is_multiple_of(behind)).then(|| {
        inner.insert(0, len / behind);
        (dtype, inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_they_were_written_or_not_at_all() {
        let mut state = 7_u64;
        let mut next = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let (mut noted, mut left_out) = (0, 0);
        for _ in 0..20_000 {
            let ndim = next(18) as usize;
            let most = if next(2) == 0 { 9 } else { 1 << next(20) };
            let shape: Vec<usize> = (0..ndim).map(|_| next(most + 1) as usize).collect();
            let dtype = Dtype::ALL[next(Dtype::ALL.len() as u64) as usize];
            let len = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
            let Some(bytes) = len.and_then(|len| len.max(1).checked_mul(dtype.size())) else { continue };
            match read(form(dtype, &shape), bytes) {
                Some((of, dims)) => {
                    assert_eq!((of, &dims[..]), (dtype, &shape[..]));
                    noted += 1;
                }
                None => {
                    let part = 1_u64 << width(ndim);
                    assert!(
                        ndim > 15
                            || shape.contains(&0)
                            || shape[1..].iter().any(|&extent| extent as u64 >= part),
                        "{dtype} {shape:?}"
                    );
                    left_out += 1;
                }
            }
        }
        assert!(noted > 3000 && left_out > 1000, "{noted} {left_out}");
    }

    #[test]
    fn other_memory_has_no_form() {
        assert_eq!(read(0, 64), None);
        assert_eq!(read(form(Dtype::F64, &[3, 5]), 8 * 14), None);
        assert_eq!(read(form(Dtype::F64, &[]), 16), None);
        assert_eq!(read(form(Dtype::F64, &[4]), 31), None);
        #[cfg(target_pointer_width = "64")]
        {
            assert_eq!(form(Dtype::F32, &[1, 1 << 55]), 0);
            assert_ne!(form(Dtype::F32, &[1, (1 << 55) - 1]), 0);
        }
    }
}
