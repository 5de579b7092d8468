//! Products of matrices of a few rows and columns, by plain loops: a call of a library takes longer than all of the arithmetic.

use std::marker::PhantomData;
use std::ops::{Add, Mul};

use bytemuck::Zeroable;
use stridewise_core::{Complex, Dtype};

use super::matrices::{A, B, OUT, Product, Side};
use crate::kernels::entry::{Kernel, contract, entry};
use crate::simd::Isa;

/// Rows and columns at most, of either factor: up to so many of either, there is a function for them. Which function
/// computes a product decides its bits.
const FEWER: usize = 4;
const MOST: usize = 8;

contract! {
    /// Multiplies two matrices as a product says.
    ///
    /// - `product` is of the dtype, and of extents up to those, that the function was found for.
    /// - What its sides reach from `a` and `b` on is readable, and from `out` on writable, apart from both; nothing else accesses it.
    FewFn(out: *mut u8, a: *const u8, b: *const u8, product: &Product)
        = out, [a, b, std::ptr::from_ref(product).cast()], 0, 1
}

/// The function for a product; `None` where it
/// has more rows or columns, or no floats.
pub(crate) fn few(product: &Product, isa: Isa) -> Option<FewFn> {
    let longest = [&product.m, &product.n, &product.k].into_iter().map(|side| side.len).max()?;
    match product.dtype {
        Dtype::F32 => of::<f32>(longest, isa),
        Dtype::F64 => of::<f64>(longest, isa),
        Dtype::C64 => of::<Complex<f32>>(longest, isa),
        Dtype::C128 => of::<Complex<f64>>(longest, isa),
        _ => None,
    }
}

/// The function for sides of so many elements at most.
fn of<T: Copy + Zeroable + Add<Output = T> + Mul<Output = T>>(longest: usize, isa: Isa) -> Option<FewFn> {
    match longest {
        longest if longest <= FEWER => Some(entry::<Few<T, FEWER>>(isa)),
        longest if longest <= MOST => Some(entry::<Few<T, MOST>>(isa)),
        _ => None,
    }
}

/// The product whose description is the third source.
struct Few<T, const N: usize>(PhantomData<T>);

impl<T: Copy + Zeroable + Add<Output = T> + Mul<Output = T>, const N: usize> Kernel for Few<T, N> {
    type Fn = FewFn;

    #[inline(always)]
    unsafe fn run(dst: *mut u8, [a, b, product]: [*const u8; 3], _: u32, _: usize) {
        let at = |of: usize, side: &Side, i: usize, other: &Side, j: usize| {
            i.cast_signed() * side.steps[of] + j.cast_signed() * other.steps[of]
        };
        // SAFETY: for all of this function: the third source is a product, of elements `T`, whose factors and output are at the
        // other addresses.
        unsafe {
            let Product { m, n, k, .. } = &*product.cast::<Product>();
            // Columns that are missing are 0, and so are their sums, which nobody takes.
            let mut rows = [[T::zeroed(); N]; N];
            for (l, row) in rows[..k.len].iter_mut().enumerate() {
                for (j, element) in row[..n.len].iter_mut().enumerate() {
                    *element = *b.offset(at(B, k, l, n, j)).cast::<T>();
                }
            }
            for i in 0..m.len {
                let mut sums = [T::zeroed(); N];
                for (l, row) in rows[..k.len].iter().enumerate() {
                    let factor = *a.offset(at(A, m, i, k, l)).cast::<T>();
                    for (sum, &element) in sums.iter_mut().zip(row) {
                        *sum = *sum + factor * element;
                    }
                }
                for (j, &sum) in sums[..n.len].iter().enumerate() {
                    *dst.offset(at(OUT, m, i, n, j)).cast::<T>() = sum;
                }
            }
        }
    }
}
