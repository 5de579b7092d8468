//! Each row as somebody writes it without vectors: a loop over the elements. `cargo xtask instructions` tells the compiler to make no
//! vectors of them.

use std::hint::black_box;

use crate::Numbers;

/// Elements of a result, one after the other.
fn each<T: Copy, U>(from: &[T], function: impl Fn(T) -> U) {
    black_box(from.iter().map(|&x| function(x)).collect::<Vec<U>>());
}
/// Elements of two.
fn both<T: Copy, U>(a: &[T], b: &[T], function: impl Fn(T, T) -> U) {
    black_box(a.iter().zip(b).map(|(&a, &b)| function(a, b)).collect::<Vec<U>>());
}

pub(crate) fn add_float32(n: &Numbers) {
    both(&n.a, &n.b, |a, b| a + b);
}
pub(crate) fn add_int32(n: &Numbers) {
    both(&n.int, &n.int, i32::wrapping_add);
}
pub(crate) fn add_uint8(n: &Numbers) {
    both(&n.byte, &n.byte, u8::wrapping_add);
}
pub(crate) fn sqrt_float32(n: &Numbers) {
    each(&n.a, f32::sqrt);
}
pub(crate) fn exp_float32(n: &Numbers) {
    each(&n.a, f32::exp);
}
pub(crate) fn sin_float32(n: &Numbers) {
    each(&n.a, f32::sin);
}
pub(crate) fn log_float64(n: &Numbers) {
    each(&n.double, f64::ln);
}
pub(crate) fn floor_float32(n: &Numbers) {
    each(&n.a, f32::floor);
}
pub(crate) fn maximum_float32(n: &Numbers) {
    both(&n.a, &n.b, |a, b| if a > b || a.is_nan() { a } else { b });
}
pub(crate) fn cast_float32_int32(n: &Numbers) {
    each(&n.a, |x| x as i32);
}

pub(crate) fn sum_float32(n: &Numbers) {
    black_box(n.a.iter().sum::<f32>());
}
pub(crate) fn sum_int32(n: &Numbers) {
    black_box(n.int.iter().map(|&x| i64::from(x)).sum::<i64>());
}
pub(crate) fn sum_uint8(n: &Numbers) {
    black_box(n.byte.iter().map(|&x| u64::from(x)).sum::<u64>());
}
pub(crate) fn max_float32(n: &Numbers) {
    black_box(n.a.iter().fold(f32::NEG_INFINITY, |most, &x| if x > most || x.is_nan() { x } else { most }));
}
pub(crate) fn max_float64(n: &Numbers) {
    black_box(
        n.double.iter().fold(f64::NEG_INFINITY, |most, &x| if x > most || x.is_nan() { x } else { most }),
    );
}
pub(crate) fn argmax_float32(n: &Numbers) {
    let (mut most, mut place) = (f32::NEG_INFINITY, 0);
    for (i, &x) in n.a.iter().enumerate() {
        if x > most {
            (most, place) = (x, i);
        }
    }
    black_box((most, place));
}

pub(crate) fn sort_float32(n: &Numbers) {
    let mut sorted = n.a.clone();
    sorted.sort_unstable_by(f32::total_cmp);
    black_box(sorted);
}
pub(crate) fn sort_int32(n: &Numbers) {
    let mut sorted = n.int.clone();
    sorted.sort_unstable();
    black_box(sorted);
}
pub(crate) fn sort_float64(n: &Numbers) {
    let mut sorted = n.double.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    black_box(sorted);
}
pub(crate) fn argsort_float32(n: &Numbers) {
    let mut places: Vec<i64> = (0..n.a.len() as i64).collect();
    places.sort_unstable_by(|&i, &j| n.a[i as usize].total_cmp(&n.a[j as usize]));
    black_box(places);
}

pub(crate) fn greater_float32(n: &Numbers) {
    both(&n.a, &n.b, |a, b| a > b);
}
pub(crate) fn where_float32(n: &Numbers) {
    let pairs = n.a.iter().zip(&n.b).zip(&n.mask);
    black_box(pairs.map(|((&a, &b), &mask)| if mask { a } else { b }).collect::<Vec<f32>>());
}
pub(crate) fn and_bool(n: &Numbers) {
    both(&n.mask, &n.mask, |a, b| a && b);
}
pub(crate) fn count_bool(n: &Numbers) {
    black_box(n.mask.iter().filter(|mask| **mask).count());
}
pub(crate) fn masked_float32(n: &Numbers) {
    let mut found = Vec::with_capacity(n.a.len());
    found.extend(n.a.iter().zip(&n.mask).filter_map(|(&x, &mask)| mask.then_some(x)));
    black_box(found);
}
pub(crate) fn nonzero_bool(n: &Numbers) {
    let mut found = Vec::with_capacity(n.mask.len());
    found.extend(n.mask.iter().enumerate().filter_map(|(i, &mask)| mask.then_some(i as i64)));
    black_box(found);
}
