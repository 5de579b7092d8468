//! Layouts for property tests: any valid one that fits a small allocation.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{Layout, Order};

/// Shape and strides of up to `ndim` dimensions with small extents, including 0 and 1, and strides of both signs.
pub(super) fn shape_and_strides(ndim: usize) -> impl Strategy<Value = (Vec<usize>, Vec<isize>)> {
    vec((prop_oneof![1 => Just(0_usize), 2 => Just(1), 12 => 2_usize..5], -12_isize..13), 0..=ndim)
        .prop_map(|dims| dims.into_iter().unzip())
}

/// Any layout of up to `ndim` dimensions, with some room before its lowest element.
pub(super) fn layout(ndim: usize) -> impl Strategy<Value = Layout> {
    let strided = (shape_and_strides(ndim), 0_usize..20).prop_map(|((shape, strides), room)| {
        let tight = Layout::new(&shape, Some(&strides), None, Order::C, 1, None).unwrap();
        let offset = Some(tight.offset() + room);
        Layout::new(&shape, Some(&strides), offset, Order::C, 1, None).unwrap()
    });
    let dense = (vec(0_usize..5, 0..=ndim), prop_oneof![Just(Order::C), Just(Order::F)])
        .prop_map(|(shape, order)| Layout::contiguous(&shape, order).unwrap());
    prop_oneof![3 => strided, 1 => dense]
}
