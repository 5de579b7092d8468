//! Layouts against naive enumeration.
//!
//! The oracle lists the address of every element of a layout, and answers by comparing lists: whether views
//! reach outside, whether two overlap, what a reshape without a copy is. It is slow and obviously right;
//! shapes are small, and most are drawn at random (`strategies.rs`).

mod oracle;

use proptest::collection::vec;
use proptest::prelude::*;

use super::strategies::{layout, shape_and_strides};
use super::*;
use crate::s;
use oracle::{bytes_of, element, elements, in_order, is_strided, multi_indices, slice_oracle, visits};

fn strided(shape: &[usize], strides: &[isize], offset: usize) -> Layout {
    Layout::new(shape, Some(strides), Some(offset), Order::C, 1, None).unwrap()
}

fn automatic(shape: &[usize], strides: &[isize]) -> Layout {
    Layout::new(shape, Some(strides), None, Order::C, 4, None).unwrap()
}

#[test]
fn required_elements_are_one_more_than_the_highest() {
    assert_eq!(automatic(&[2, 3], &[6, 1]).required_elements(), 9);
    let mixed = automatic(&[2, 2], &[2, -1]);
    assert_eq!((mixed.offset(), mixed.required_elements()), (1, 4));
    let down = automatic(&[4, 2], &[-5, -2]);
    assert_eq!((down.offset(), down.required_elements()), (17, 18));
    assert_eq!(automatic(&[3, 0, 2], &[100, -7, 9]).required_elements(), 0);
    assert_eq!(automatic(&[], &[]).required_elements(), 1);
    assert_eq!(automatic(&[1000, 1000], &[0, 0]).required_elements(), 1);
}

#[test]
fn constructor_refuses_what_leaves_the_allocation() {
    let new = |shape: &[usize], strides: Option<&[isize]>, offset, available| {
        Layout::new(shape, strides, offset, Order::C, 4, available)
    };
    assert!(new(&[2, 3], Some(&[6, 1]), None, Some(36)).is_ok());
    assert!(matches!(new(&[2, 3], Some(&[6, 1]), None, Some(35)), Err(Error::OutOfBounds(_))));
    assert!(matches!(new(&[2, 3], None, Some(1), Some(24)), Err(Error::OutOfBounds(_))));
    assert!(matches!(new(&[2], Some(&[-1]), Some(0), None), Err(Error::OutOfBounds(_))));
    assert!(matches!(new(&[2], Some(&[1, 1]), None, None), Err(Error::Shape(_))));
    assert!(matches!(new(&[1; 33], None, None, None), Err(Error::Axis(_))));
    assert!(new(&[1; 32], None, None, None).is_ok());
    assert!(matches!(new(&[usize::MAX, 2], None, None, None), Err(Error::Overflow(_))));
    assert!(matches!(new(&[usize::MAX], Some(&[0]), None, None), Err(Error::Overflow(_))));
    assert!(matches!(new(&[0, usize::MAX, 4], None, None, None), Err(Error::Overflow(_))));
    assert!(matches!(new(&[2; 32], Some(&[isize::MAX; 32]), None, None), Err(Error::Overflow(_))));
    assert!(matches!(new(&[2; 32], Some(&[isize::MIN; 32]), None, None), Err(Error::Overflow(_))));
    assert!(matches!(new(&[2; 2], Some(&[isize::MIN / 8; 2]), Some(3), None), Err(Error::OutOfBounds(_))));
    assert!(matches!(new(&[isize::MAX as usize / 4 + 1], None, None, None), Err(Error::Overflow(_))));
    assert!(matches!(new(&[1], None, Some(usize::MAX), None), Err(Error::Overflow(_))));
    assert!(matches!(Layout::new(&[1], None, None, Order::C, 0, None), Err(Error::Value(_))));
    // Nothing is addressed: any stride will do, but the offset stays within the allocation.
    assert!(new(&[0, 2], Some(&[isize::MAX, isize::MIN]), Some(5), Some(20)).is_ok());
    assert!(new(&[0, 2], None, Some(6), Some(20)).is_err());
    let message = new(&[2, 3], Some(&[6, 1]), None, Some(35)).unwrap_err().to_string();
    assert!(
        ["[6, 1]", "[2, 3]", "36 bytes", "35 bytes", "help"].iter().all(|part| message.contains(part)),
        "{message}"
    );
}

#[test]
fn contiguity_ignores_unit_extents_and_empty_arrays() {
    let flags = |layout: &Layout| (layout.is_c_contiguous(), layout.is_f_contiguous());
    assert_eq!(flags(&Layout::contiguous(&[2, 3], Order::C).unwrap()), (true, false));
    assert_eq!(flags(&Layout::contiguous(&[2, 3], Order::F).unwrap()), (false, true));
    assert_eq!(flags(&Layout::contiguous(&[3], Order::F).unwrap()), (true, true));
    assert_eq!(flags(&Layout::contiguous(&[], Order::C).unwrap()), (true, true));
    assert_eq!(flags(&strided(&[1, 3, 1], &[77, 1, -5], 5)), (true, true));
    assert_eq!(flags(&strided(&[4, 0], &[77, 3], 0)), (true, true));
    assert_eq!(flags(&strided(&[3], &[-1], 2)), (false, false));
    assert_eq!(Layout::contiguous(&[2, 0, 3], Order::C).unwrap().strides(), [3, 3, 1]);
}

#[test]
fn slice_macro_reads_as_numpy() {
    let base = Layout::contiguous(&[10], Order::C).unwrap();
    let picked = |items: &[SliceItem]| elements(&base.slice(items).unwrap());
    assert_eq!(picked(s![7..;-2]), [7, 5, 3, 1]);
    assert_eq!(picked(s![..;-3]), [9, 6, 3, 0]);
    assert_eq!(picked(s![..5;-2]), [9, 7]);
    assert_eq!(picked(s![-3..]), [7, 8, 9]);
    assert_eq!(picked(s![..=-1]), (0..10).collect::<Vec<_>>());
    assert_eq!(picked(s![..=3]), [0, 1, 2, 3]);
    assert_eq!(picked(s![5..=2;-1]), [5, 4, 3, 2]);
    assert_eq!(picked(s![2..=0;-1]), [2, 1, 0]);
    assert_eq!(picked(s![..=-1;-1]), [9]);
    assert_eq!(picked(s![-100..100;4]), [0, 4, 8]);
    assert_eq!(picked(s![100..-100;-4]), [9, 5, 1]);
    assert_eq!(picked(s![3..3]), []);
    assert_eq!(picked(s![20..]), []);
    let lasting = s![8..2;-3, NewAxis];
    assert_eq!(picked(lasting), [8, 5]);
    assert_eq!(picked(s![2_usize..usize::MAX;isize::MAX]), [2]);
    assert_eq!(picked(s![isize::MIN..isize::MAX]), picked(s![]));
    assert_eq!(picked(s![-1]), [9]);
    let (from, to) = (1_isize, 3_usize);
    assert_eq!(picked(s![from..3, NewAxis]), picked(s![1..to, Ellipsis, NewAxis,]));
    let view = base.slice(s![NewAxis, Ellipsis, 1..9;3, NewAxis]).unwrap();
    assert_eq!((view.shape(), elements(&view)), (&[1, 3, 1][..], vec![1, 4, 7]));
}

#[test]
fn slice_refuses_what_numpy_refuses() {
    let base = Layout::contiguous(&[3, 4], Order::C).unwrap();
    assert!(matches!(base.slice(s![3]), Err(Error::OutOfBounds(_))));
    assert!(matches!(base.slice(s![-4]), Err(Error::OutOfBounds(_))));
    assert!(matches!(base.slice(s![isize::MIN]), Err(Error::OutOfBounds(_))));
    assert!(matches!(base.slice(s![usize::MAX]), Err(Error::OutOfBounds(_))));
    assert!(matches!(base.slice(s![..;0]), Err(Error::Value(_))));
    assert!(matches!(base.slice(s![Ellipsis, 1, Ellipsis]), Err(Error::Value(_))));
    assert!(matches!(base.slice(s![1, 1, 1]), Err(Error::Axis(_))));
    assert!(matches!(base.slice(&[SliceItem::NewAxis; 31]), Err(Error::Axis(_))));
    assert!(base.slice(s![.., 1..1]).unwrap().slice(s![2, ..]).unwrap().is_empty());
    assert!(base.slice(s![.., 1..1]).unwrap().slice(s![2, 0]).is_err());
}

#[test]
fn axes_count_from_both_ends() {
    assert_eq!(normalize_axis("axis", -1, 3).unwrap(), 2);
    assert_eq!(normalize_axis("axis", 0, 3).unwrap(), 0);
    for (axis, ndim) in [(3, 3), (-4, 3), (0, 0), (-1, 0), (isize::MIN, 2), (isize::MAX, 2)] {
        assert!(matches!(normalize_axis("axis", axis, ndim), Err(Error::Axis(_))), "{axis} {ndim}");
    }
    assert_eq!(normalize_axes("axes", &[-1, 0], 3).unwrap().as_slice(), [2, 0]);
    assert!(normalize_axes("axes", &[2, -1], 3).is_err());
}

#[test]
fn axis_operations_have_numpy_shapes() {
    let base = Layout::contiguous(&[2, 3, 4], Order::C).unwrap();
    assert_eq!(base.permute(&[2, 0, -2]).unwrap().shape(), [4, 2, 3]);
    assert!(base.permute(&[0, 1]).is_err());
    assert!(base.permute(&[0, 1, 1]).is_err());
    assert_eq!(base.transpose().strides(), [1, 4, 12]);
    assert_eq!(base.move_axis(0, -1).unwrap().shape(), [3, 4, 2]);
    assert_eq!(base.move_axis(2, 0).unwrap().shape(), [4, 2, 3]);
    assert_eq!(base.swap_axes(0, 2).unwrap().shape(), [4, 3, 2]);
    let expanded = base.expand_dims(&[0, -1]).unwrap();
    assert_eq!(expanded.shape(), [1, 2, 3, 4, 1]);
    assert!(base.expand_dims(&[4, -1]).is_err() && base.expand_dims(&[5]).is_err());
    // Before any of them is looked at, as each is compared with all others.
    let many: Vec<isize> = (0..1 << 20).collect();
    let error = base.expand_dims(&many).unwrap_err().to_string();
    assert!(error.contains("1048576 axes") && error.contains("at most 32 dimensions"), "{error}");
    assert_eq!(expanded.squeeze(&[-1, 0]).unwrap(), base);
    assert!(matches!(expanded.squeeze(&[1]), Err(Error::Shape(_))));
    let thin = strided(&[1, 0], &[isize::MIN, isize::MIN], 0);
    assert_eq!(thin.flip(None).unwrap().strides(), [isize::MAX, isize::MAX]);
}

#[test]
fn broadcast_follows_numpy() {
    assert_eq!(broadcast_shapes(&[]).unwrap().as_slice(), []);
    assert_eq!(broadcast_shapes(&[&[8, 1, 6, 1], &[7, 1, 5], &[]]).unwrap().as_slice(), [8, 7, 6, 5]);
    assert_eq!(broadcast_shapes(&[&[1, 3], &[0, 1]]).unwrap().as_slice(), [0, 3]);
    assert!(broadcast_shapes(&[&[2], &[0]]).is_err());
    let message = broadcast_shapes(&[&[4, 2], &[1], &[5, 3]]).unwrap_err().to_string();
    assert!(["[4, 2]", "[5, 3]", "axis 0"].iter().all(|part| message.contains(part)), "{message}");
    assert!(broadcast_shapes(&[&[1; 33], &[]]).is_err());
    let many = usize::MAX >> 8;
    assert!(broadcast_shapes(&[&[1, many], &[many, 1]]).is_err());
    let base = Layout::contiguous(&[3, 1], Order::C).unwrap();
    assert_eq!(base.broadcast_to(&[2, 3, 4]).unwrap().strides(), [0, 1, 0]);
    assert!(base.broadcast_to(&[3, 0]).unwrap().is_empty());
    assert!(base.broadcast_to(&[3]).is_err() && base.broadcast_to(&[1, 1]).is_err());
    assert!(base.broadcast_to(&[3, usize::MAX / 2]).is_err());
}

#[test]
fn reshape_resolves_one_unknown() {
    let resolve = |shape: &[isize], len| resolve_shape(shape, len).map(|dims| dims.to_vec());
    assert_eq!(resolve(&[2, -1], 6).unwrap(), [2, 3]);
    assert_eq!(resolve(&[-1], 0).unwrap(), [0]);
    assert_eq!(resolve(&[], 1).unwrap(), [0; 0]);
    assert_eq!(resolve(&[0, 5], 0).unwrap(), [0, 5]);
    for (shape, len) in [
        (&[-1_isize, -1][..], 4),
        (&[0, -1], 0),
        (&[4, -1], 6),
        (&[2, 2], 6),
        (&[-2, 3], 6),
        (&[], 0),
        (&[0, -1], 4),
    ] {
        assert!(matches!(resolve(shape, len), Err(Error::Shape(_))), "{shape:?} {len}");
    }
}

#[test]
fn reshape_without_a_copy_where_strides_allow() {
    let base = Layout::contiguous(&[4, 6], Order::C).unwrap();
    let wide = base.slice(s![.., ..;2]).unwrap();
    assert_eq!(wide.reshape_view(&[2, 2, 3, 1], Order::C).unwrap().strides()[..3], [12, 6, 2]);
    assert_eq!(wide.reshape_view(&[12], Order::C).unwrap().strides(), [2]);
    let narrow = base.slice(s![.., ..4]).unwrap();
    assert!(narrow.reshape_view(&[16], Order::C).is_none());
    assert!(narrow.reshape_view(&[2, 8], Order::C).is_none());
    assert!(narrow.reshape_view(&[2, 2, 2, 2], Order::C).is_some());
    assert!(base.transpose().reshape_view(&[24], Order::C).is_none());
    assert_eq!(base.transpose().reshape_view(&[24], Order::F).unwrap().strides(), [1]);
    assert!(base.reshape_view(&[5, 5], Order::C).is_none());
    assert!(base.slice(s![..0]).unwrap().reshape_view(&[7, 0], Order::C).is_some());
}

#[test]
fn overlap_of_large_views_is_decided() {
    let side = 1 << (usize::BITS / 2 - 3);
    let big = Layout::contiguous(&[side, side], Order::C).unwrap();
    let part = |items: &[SliceItem]| big.slice(items).unwrap();
    // Interleaved columns, halves of rows, and a transposed view.
    assert!(!overlaps(&part(s![.., ..;2]), 4, &part(s![.., 1..;2]), 4));
    assert!(!overlaps(&part(s![.., ..1000]), 4, &part(s![.., 1000..]), 4));
    assert!(overlaps(&part(s![.., ..1001]), 4, &part(s![.., 1000..]), 4));
    assert!(overlaps(&big.transpose(), 8, &big, 8));
    assert!(!overlaps(&part(s![.., ..500]).transpose(), 8, &part(s![..;-1, 500..]), 8));
    assert!(!self_overlaps(&part(s![3..;-1, 5..;3])));
    assert!(self_overlaps(&strided(&[side, side], &[1, 1], 0)));
    assert!(!self_overlaps(&strided(&[6, 1 << 24], &[1, 6], 0)));
    assert!(self_overlaps(&strided(&[7, 1 << 24], &[1, 6], 0)));
    // A float32 view of every second float64 slot against the slots between.
    assert!(!overlaps(&strided(&[100], &[4], 0), 4, &strided(&[50], &[2], 1), 8));
    assert!(overlaps(&strided(&[100], &[3], 0), 4, &strided(&[50], &[2], 1), 8));
}

fn arb_item() -> impl Strategy<Value = SliceItem> {
    let bound = || prop_oneof![1 => Just(None), 3 => (-7_isize..8).prop_map(Some)];
    prop_oneof![
        2 => (-5_isize..5).prop_map(SliceItem::Index),
        6 => (bound(), bound(), -4_isize..5).prop_map(|(start, stop, step)| SliceItem::Slice { start, stop, step }),
        1 => Just(SliceItem::NewAxis),
        1 => Just(SliceItem::Ellipsis),
    ]
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn addressed_elements_are_exact((shape, strides) in shape_and_strides(4), offset in 0_usize..60, size in 1_usize..9, bytes in 0_usize..600) {
        let low_high = multi_indices(&shape).iter().fold(None, |range: Option<(isize, isize)>, index| {
            let at = index.iter().zip(&strides).map(|(&i, &s)| i as isize * s).sum::<isize>();
            Some(range.map_or((at, at), |(low, high)| (low.min(at), high.max(at))))
        });
        let tight = Layout::new(&shape, Some(&strides), None, Order::C, size, None).unwrap();
        prop_assert_eq!(tight.offset() as isize, low_high.map_or(0, |(low, _)| -low));
        prop_assert_eq!(tight.element_range().len(), low_high.map_or(0, |(low, high)| (high - low + 1) as usize));
        let fits = match low_high {
            Some((low, high)) => offset as isize + low >= 0 && (offset as isize + high + 1) as usize * size <= bytes,
            None => offset * size <= bytes,
        };
        let made = Layout::new(&shape, Some(&strides), Some(offset), Order::C, size, Some(bytes));
        prop_assert_eq!(made.is_ok(), fits);
        if let Ok(layout) = made {
            let indices: Vec<usize> = layout.indices().collect();
            prop_assert_eq!(&indices, &elements(&layout));
            prop_assert_eq!(indices.len(), layout.len());
            prop_assert_eq!(layout.is_empty(), indices.is_empty());
            if let (Some(&low), Some(&high)) = (indices.iter().min(), indices.iter().max()) {
                prop_assert_eq!(layout.byte_range(size), low * size..(high + 1) * size);
                prop_assert_eq!(layout.required_elements(), high + 1);
            }
        }
    }

    #[test]
    fn contiguity_means_consecutive_elements(layout in layout(4)) {
        let consecutive = |layout: &Layout| elements(layout).windows(2).all(|pair| pair[1] == pair[0] + 1);
        prop_assert_eq!(layout.is_c_contiguous(), consecutive(&layout));
        prop_assert_eq!(layout.is_f_contiguous(), consecutive(&layout.transpose()));
    }

    #[test]
    fn slices_match_the_oracle(layout in layout(4), items in vec(arb_item(), 0..6)) {
        let made = layout.slice(&items).ok().map(|view| (view.shape().to_vec(), elements(&view)));
        prop_assert_eq!(made, slice_oracle(&layout, &items));
    }

    #[test]
    fn broadcasting_repeats_elements(layout in layout(3), stretch in vec(0_usize..4, 0..4), wrong in 0_usize..8) {
        // A target made from the layout's shape, sometimes spoiled in one place.
        let mut target: Vec<usize> = stretch.clone();
        target.extend(layout.shape().iter().enumerate().map(|(k, &extent)| if extent == 1 { (k + wrong) % 4 } else { extent }));
        if let Some(extent) = target.get_mut(wrong) {
            *extent += 1;
        }
        let new = target.len() - layout.ndim();
        let fits = layout.shape().iter().zip(&target[new..]).all(|(&have, &want)| have == want || have == 1);
        let made = layout.broadcast_to(&target);
        prop_assert_eq!(made.is_ok(), fits);
        let joint = broadcast_shapes(&[layout.shape(), &target]);
        if let Ok(view) = made {
            prop_assert_eq!(joint.unwrap().to_vec(), target.clone());
            for index in multi_indices(&target) {
                let source: Vec<usize> =
                    index[new..].iter().zip(layout.shape()).map(|(&i, &extent)| if extent == 1 { 0 } else { i }).collect();
                prop_assert_eq!(element(&view, &index), element(&layout, &source));
            }
        }
    }

    #[test]
    fn reshapes_keep_the_order(layout in layout(4), cuts in vec(0_usize..9, 0..4), c_order: bool) {
        // A random factorisation of the number of elements.
        let (mut left, mut shape) = (layout.len(), vec![]);
        for cut in cuts {
            let divisors: Vec<usize> = (1..=left).filter(|d| left % d == 0).collect();
            if let Some(&divisor) = divisors.get(cut % divisors.len().max(1)) {
                shape.push(divisor);
                left /= divisor;
            }
        }
        shape.push(left);
        let order = if c_order { Order::C } else { Order::F };
        let wanted = in_order(&layout, order);
        match layout.reshape_view(&shape, order) {
            Some(view) => {
                prop_assert_eq!(view.shape(), &shape[..]);
                prop_assert_eq!(in_order(&view, order), wanted);
            }
            None => prop_assert!(!is_strided(&shape, order, &wanted), "{:?} as {:?} needs no copy", layout, shape),
        }
    }

    #[test]
    fn axis_operations_rearrange(layout in layout(4), seed in vec(0_isize..100, 4)) {
        let ndim = layout.ndim() as isize;
        let mut axes: Vec<isize> = (0..ndim).collect();
        axes.sort_by_key(|&axis| seed[axis as usize]);
        let permuted = layout.permute(&axes).unwrap();
        for index in multi_indices(layout.shape()) {
            let moved: Vec<usize> = axes.iter().map(|&axis| index[axis as usize]).collect();
            prop_assert_eq!(element(&permuted, &moved), element(&layout, &index));
        }
        let flipped = layout.flip(Some(&axes[..axes.len() / 2])).unwrap();
        for index in multi_indices(layout.shape()) {
            let mut turned = index.clone();
            for &axis in &axes[..axes.len() / 2] {
                turned[axis as usize] = layout.shape()[axis as usize] - 1 - index[axis as usize];
            }
            prop_assert_eq!(element(&flipped, &turned), element(&layout, &index));
        }
        if ndim > 0 {
            let (a, b) = (seed[0] % ndim, seed[1] % ndim);
            let moved = layout.move_axis(a, b).unwrap();
            prop_assert_eq!(moved.shape()[b as usize], layout.shape()[a as usize]);
            prop_assert_eq!(moved.move_axis(b, a).unwrap(), layout.clone());
        }
    }

    #[test]
    fn overlap_is_exact(a in layout(4), b in layout(4), a_size in 1_usize..5, b_size in 1_usize..5) {
        let shared = !bytes_of(&a, a_size).is_disjoint(&bytes_of(&b, b_size));
        prop_assert_eq!(overlaps(&a, a_size, &b, b_size), shared);
        prop_assert_eq!(overlaps(&b, b_size, &a, a_size), shared);
        let elements_shared = !bytes_of(&a, 1).is_disjoint(&bytes_of(&b, 1));
        prop_assert_eq!(overlaps(&a, a_size, &b, a_size), elements_shared);
    }

    #[test]
    fn sparse_overlap_is_exact(
        a in (vec((1_usize..6, -90_isize..90), 1..4), 0_usize..50),
        b in (vec((1_usize..6, -90_isize..90), 1..4), 0_usize..50),
    ) {
        let make = |(dims, room): (Vec<(usize, isize)>, usize)| {
            let (shape, strides): (Vec<_>, Vec<_>) = dims.into_iter().unzip();
            let tight = automatic(&shape, &strides);
            strided(&shape, &strides, tight.offset() + room)
        };
        let (a, b) = (make(a), make(b));
        prop_assert_eq!(overlaps(&a, 8, &b, 8), !bytes_of(&a, 1).is_disjoint(&bytes_of(&b, 1)));
        prop_assert_eq!(overlaps(&a, 2, &b, 8), !bytes_of(&a, 2).is_disjoint(&bytes_of(&b, 8)));
        prop_assert_eq!(self_overlaps(&a), bytes_of(&a, 1).len() < a.len());
    }

    #[test]
    fn self_overlap_is_exact(a in layout(5)) {
        prop_assert_eq!(self_overlaps(&a), bytes_of(&a, 1).len() < a.len());
    }

    #[test]
    fn same_view_compares_addresses(a in layout(2), b in layout(2)) {
        let same = |x: &Layout, y: &Layout| x.shape() == y.shape() && elements(x) == elements(y);
        prop_assert_eq!(same_view(&a, &b), same(&a, &b));
        prop_assert!(same_view(&a, &a.clone()));
        let flipped = a.flip(None).unwrap();
        prop_assert_eq!(same_view(&a, &flipped), same(&a, &flipped));
    }

    #[test]
    fn coalescing_keeps_the_visits(
        shape in vec(prop_oneof![1 => Just(0_usize), 4 => Just(1), 12 => 2_usize..4], 0..5),
        kinds in vec((0_usize..6, any::<u8>()), 1..4),
        reorder: bool,
    ) {
        // Operands that often can be merged: dense in either order, flipped, stretched, with a hole, or arbitrary.
        let strides: Vec<Vec<isize>> = kinds
            .iter()
            .map(|&(kind, bits)| {
                let order = if bits & 1 == 0 { Order::C } else { Order::F };
                let mut strides: Vec<isize> = contiguous_strides(&shape, order).to_vec();
                for (axis, stride) in strides.iter_mut().enumerate() {
                    let bit = bits >> (axis + 1) & 1 == 1;
                    match kind {
                        1 => *stride = -*stride,
                        2 if bit => *stride = 0,
                        3 if bit => *stride = -*stride,
                        4 => *stride *= 2,
                        5 => *stride = isize::from(bits) - 7 * axis as isize,
                        _ => {}
                    }
                }
                strides
            })
            .collect();
        let borrowed: Vec<&[isize]> = strides.iter().map(Vec::as_slice).collect();
        let space = coalesce(&shape, &borrowed, reorder);
        let wanted = visits(&shape, &strides, &vec![0; strides.len()]);
        let reduced: Vec<Vec<isize>> = space.strides.iter().map(|s| s.to_vec()).collect();
        let made = visits(&space.shape, &reduced, &space.offsets);
        if reorder {
            prop_assert_eq!(sorted(made), sorted(wanted));
            let first: Vec<usize> = space.strides[0].iter().map(|s| s.unsigned_abs()).collect();
            prop_assert!(first.windows(2).all(|pair| pair[0] >= pair[1]));
        } else {
            prop_assert_eq!(made, wanted);
            prop_assert!(space.offsets.iter().all(|&offset| offset == 0));
        }
        // Nothing more to drop or merge.
        if !shape.contains(&0) {
            prop_assert!(!space.shape.contains(&1));
            for k in 1..space.shape.len() {
                let inner = space.shape[k] as isize;
                prop_assert!(space.strides.iter().any(|s| s[k - 1] != s[k] * inner));
            }
        }
    }
}

#[test]
fn coalescing_reduces_usual_operands_to_one_dimension() {
    let one =
        |shape: &[usize], strides: &[&[isize]], reorder| coalesce(shape, strides, reorder).shape.to_vec();
    assert_eq!(one(&[2, 3, 4], &[&[12, 4, 1], &[12, 4, 1]], false), [24]);
    assert_eq!(one(&[2, 3, 4], &[&[1, 2, 6], &[1, 2, 6]], true), [24]);
    assert_eq!(one(&[2, 3, 4], &[&[1, 2, 6]], false), [2, 3, 4]);
    assert_eq!(one(&[2, 3, 4], &[&[12, 4, 1], &[0, 0, 0]], false), [24]);
    assert_eq!(one(&[2, 3, 4], &[&[12, 4, 1], &[4, 0, 1]], false), [2, 3, 4]);
    assert_eq!(one(&[2, 3, 4], &[&[12, 4, 1], &[0, 4, 1]], false), [2, 12]);
    assert_eq!(one(&[], &[&[]], true), [0; 0]);
    assert_eq!(one(&[5, 0], &[&[0, 1]], true), [0]);
    let reversed = coalesce(&[6], &[&[-1], &[-2]], true);
    assert_eq!((reversed.strides[1].as_slice(), reversed.offsets.as_slice()), (&[2][..], &[-5, -10][..]));
    // One operand walks upwards, or the first does not move: nothing is turned round.
    let opposed = coalesce(&[6], &[&[-1], &[2]], true);
    assert_eq!((opposed.strides[1].as_slice(), opposed.offsets.as_slice()), (&[2][..], &[0, 0][..]));
    assert_eq!(coalesce(&[6], &[&[0], &[-2]], true).offsets.as_slice(), [0, 0]);
    assert_eq!(coalesce(&[6], &[&[-1], &[0]], true).offsets.as_slice(), [-5, 0]);
}
