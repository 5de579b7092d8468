//! Layouts from any numbers, slices and rearrangements of them, and their overlap, against enumeration.

use stridewise::{
    Layout, Order, SliceItem,
    backend::{coalesce, overlaps, same_view, self_overlaps},
};

use crate::random::Rng;
use crate::reach;

/// The oracle of the core's own tests.
#[path = "../../core/src/layout/tests/oracle.rs"]
pub(crate) mod oracle;

/// Elements of a layout that is enumerated, at most.
const FEW: usize = 160;

pub(crate) fn run(data: &[u8]) {
    let mut rng = Rng::new(data);
    let Some(base) = make(&mut rng) else { return };
    let within = hull(&base);
    let mut views = vec![base];
    while !rng.is_used_up() && views.len() < 16 {
        let layout = rng.pick(&views).clone();
        if let Some(view) = change(&mut rng, &layout) {
            let inside = hull(&view);
            assert!(
                view.is_empty() || (within.start <= inside.start && inside.end <= within.end),
                "{view:?} of {layout:?} leaves {within:?}"
            );
            check(&view);
            views.push(view);
        }
        let (a, b) = (rng.pick(&views), rng.below(views.len()));
        relate(&mut rng, a, &views[b]);
    }
}

/// Whether enumerating it takes no time.
pub(crate) fn is_small(layout: &Layout) -> bool {
    // Of one without elements, what there would be if its extents were not 0 is gone through, too.
    let places = layout.shape().iter().try_fold(1_usize, |places, &extent| places.checked_mul(extent.max(1)));
    places.is_some_and(|places| places <= FEW)
}

/// The elements from the lowest to one past the highest, by definition.
pub(crate) fn hull(layout: &Layout) -> std::ops::Range<i128> {
    let offset = layout.offset() as i128;
    if layout.is_empty() {
        return offset..offset;
    }
    let reach = reach::reach(&reach::wide(layout.shape()), &reach::wide(layout.strides()));
    offset + reach.start..offset + reach.end
}

/// A layout from any numbers, which is made exactly where the numbers allow it.
pub(crate) fn make(rng: &mut Rng) -> Option<Layout> {
    let ndim = if rng.chance(2) { 33 } else { rng.below(6) };
    let shape = rng.many(ndim, Rng::extent);
    let strides = rng.perhaps(70, |rng| {
        let count = if rng.chance(3) { rng.below(4) } else { ndim };
        rng.many(count, |rng| rng.number() as isize)
    });
    let offset = rng.perhaps(40, |rng| if rng.chance(80) { rng.below(64) } else { rng.extent() });
    let order = *rng.pick(&[Order::C, Order::F]);
    let itemsize = *rng.pick(&[1, 2, 4, 8, 16, 3, 0]);
    let available = rng.perhaps(40, |rng| if rng.chance(80) { rng.below(1024) } else { rng.extent() });
    let made = Layout::new(&shape, strides.as_deref(), offset, order, itemsize, available);

    let wide = reach::wide(&shape);
    let len = reach::len(&wide);
    let steps = match &strides {
        Some(strides) => reach::wide(strides),
        None if order == Order::C => reach::row_major(&wide),
        None => {
            let turned: Vec<i128> = wide.iter().rev().copied().collect();
            reach::row_major(&turned).into_iter().rev().collect()
        }
    };
    let expected = len.filter(|_| itemsize > 0 && steps.len() == shape.len()).and_then(|len| {
        let reach = if len == 0 { 0..0 } else { reach::reach(&wide, &steps) };
        let start = offset.map_or_else(|| reach.start.saturating_neg(), |offset| offset as i128);
        let (low, end) = (start.saturating_add(reach.start), start.saturating_add(reach.end));
        let bytes = end.saturating_mul(itemsize as i128);
        let room = available.map_or(isize::MAX as i128, |bytes| bytes as i128);
        (low >= 0 && bytes <= isize::MAX as i128 && bytes <= room).then_some((len, start, low..end))
    });
    match (made, expected) {
        (Ok(layout), Some((len, start, range))) => {
            assert_eq!(layout.shape(), shape);
            assert_eq!((layout.len() as i128, layout.offset() as i128), (len, start));
            assert_eq!(reach::wide(layout.strides()), steps);
            let found = layout.element_range();
            assert_eq!(found.start as i128..found.end as i128, range);
            let bytes = layout.byte_range(itemsize);
            assert_eq!(bytes.end as i128, range.end * itemsize as i128);
            check(&layout);
            Some(layout)
        }
        (Err(error), None) => {
            assert!(error.to_string().contains("help: "), "{error}");
            None
        }
        (made, expected) => panic!(
            "shape {shape:?}, strides {strides:?}, offset {offset:?}, {order:?}, items of {itemsize}, {available:?}: \
             {made:?}, expected {expected:?}"
        ),
    }
}

/// What holds for every layout.
pub(crate) fn check(layout: &Layout) {
    let (shape, strides) = (layout.shape(), layout.strides());
    assert_eq!((shape.len(), strides.len()), (layout.ndim(), layout.ndim()));
    assert_eq!(reach::len(&reach::wide(shape)), Some(layout.len() as i128), "{layout:?}");
    let (found, wanted) = (layout.element_range(), hull(layout));
    assert_eq!(found.start as i128..found.end as i128, wanted, "{layout:?}");
    assert_eq!(layout.required_elements(), if layout.is_empty() { 0 } else { found.end });
    if !is_small(layout) {
        return;
    }
    let elements = oracle::elements(layout);
    assert!(layout.indices().eq(elements.iter().copied()), "{layout:?}");
    let follow = |order| oracle::in_order(layout, order).windows(2).all(|pair| pair[1] == pair[0] + 1);
    assert_eq!(layout.is_c_contiguous(), follow(Order::C), "{layout:?}");
    assert_eq!(layout.is_f_contiguous(), follow(Order::F), "{layout:?}");
}

/// Another layout on some of the elements, or `None` where there is none.
fn change(rng: &mut Rng, layout: &Layout) -> Option<Layout> {
    let ndim = layout.ndim() as isize;
    let axis = |rng: &mut Rng| if rng.chance(95) { rng.below(7) as isize - 3 } else { rng.number() as isize };
    let counted = |axis: isize, ndim: isize| {
        let axis = if axis < 0 { axis.checked_add(ndim)? } else { axis };
        (0..ndim).contains(&axis).then_some(axis as usize)
    };
    let all = |axes: &[isize], ndim: isize| {
        let axes: Vec<usize> = axes.iter().map(|&axis| counted(axis, ndim)).collect::<Option<_>>()?;
        (1..axes.len()).all(|k| !axes[..k].contains(&axes[k])).then_some(axes)
    };
    match rng.below(8) {
        0..3 => slice(rng, layout),
        3 => {
            let count = if rng.chance(80) { layout.ndim() } else { rng.below(7) };
            // Mostly a permutation: of the axes that are left, one after another.
            let axes = if rng.chance(85) {
                let mut left: Vec<isize> = (0..ndim).collect();
                let mut axes = Vec::new();
                while !left.is_empty() {
                    axes.push(left.swap_remove(rng.below(left.len())));
                }
                axes
            } else {
                rng.many(count, axis)
            };
            let expected = all(&axes, ndim).filter(|normal| normal.len() == layout.ndim());
            let made = layout.permute(&axes).ok();
            rearranged(layout, made.as_ref(), expected.as_deref(), &[])?;
            made
        }
        4 => {
            let (from, to) = (axis(rng), axis(rng));
            let mut order: Vec<usize> = (0..layout.ndim()).collect();
            let places = counted(from, ndim).zip(counted(to, ndim));
            let swap = rng.chance(50);
            let expected = places.map(|(from, to)| {
                if swap {
                    order.swap(from, to);
                } else {
                    let moved = order.remove(from);
                    order.insert(to, moved);
                }
                order
            });
            let made = if swap { layout.swap_axes(from, to) } else { layout.move_axis(from, to) }.ok();
            rearranged(layout, made.as_ref(), expected.as_deref(), &[])?;
            made
        }
        5 => {
            let axes = rng.perhaps(80, |rng| {
                let count = rng.below(4);
                rng.many(count, axis)
            });
            let turned = match &axes {
                Some(axes) => all(axes, ndim),
                None => Some((0..layout.ndim()).collect()),
            };
            let made = layout.flip(axes.as_deref()).ok();
            let same: Vec<usize> = (0..layout.ndim()).collect();
            let expected = turned.as_ref().map(|_| same.as_slice());
            rearranged(layout, made.as_ref(), expected, turned.as_deref().unwrap_or_default())?;
            made
        }
        6 => {
            let count = rng.below(4);
            let axes = rng.many(count, axis);
            let made = layout.expand_dims(&axes).ok();
            let places = all(&axes, ndim + count as isize).filter(|_| layout.ndim() + count <= 32);
            assert_eq!(made.is_some(), places.is_some(), "{layout:?} with {axes:?}");
            let (made, places) = made.zip(places)?;
            assert!(places.iter().all(|&axis| made.shape()[axis] == 1));
            // What was added and is dropped again leaves what there was.
            assert_eq!(made.squeeze(&axes).unwrap(), *layout);
            Some(made)
        }
        _ => {
            let count = rng.below(4);
            let axes = rng.many(count, axis);
            let made = layout.squeeze(&axes).ok();
            let places = all(&axes, ndim).filter(|axes| axes.iter().all(|&axis| layout.shape()[axis] == 1));
            assert_eq!(made.is_some(), places.is_some(), "{layout:?} without {axes:?}");
            let made = made?;
            if is_small(layout) {
                assert_eq!(oracle::elements(&made), oracle::elements(layout));
            }
            Some(made)
        }
    }
}

/// Checks that dimension `k` of a view is dimension `order[k]` of the layout, those of `turned` backwards.
fn rearranged(
    layout: &Layout,
    made: Option<&Layout>,
    order: Option<&[usize]>,
    turned: &[usize],
) -> Option<()> {
    assert_eq!(made.is_some(), order.is_some(), "{made:?} of {layout:?}, expected {order:?}");
    let (view, order) = made.zip(order)?;
    assert_eq!(view.ndim(), layout.ndim());
    assert!(view.shape().iter().zip(order).all(|(&extent, &axis)| extent == layout.shape()[axis]));
    if is_small(layout) {
        for index in oracle::multi_indices(view.shape()) {
            let mut old = vec![0; layout.ndim()];
            for (&place, &axis) in index.iter().zip(order) {
                let last = layout.shape()[axis] - 1;
                old[axis] = if turned.contains(&axis) { last - place } else { place };
            }
            assert_eq!(
                oracle::element(view, &index),
                oracle::element(layout, &old),
                "{view:?} of {layout:?}"
            );
        }
    }
    Some(())
}

fn slice(rng: &mut Rng, layout: &Layout) -> Option<Layout> {
    let bound = |rng: &mut Rng| rng.perhaps(70, |rng| rng.number() as isize);
    let count = rng.below(6);
    let items = rng.many(count, |rng| match rng.below(10) {
        0..2 => SliceItem::Index(rng.number() as isize),
        2..8 => {
            let step = if rng.chance(70) { *rng.pick(&[1, -1, 2, -2, 3]) } else { rng.number() as isize };
            SliceItem::Slice { start: bound(rng), stop: bound(rng), step }
        }
        8 => SliceItem::NewAxis,
        _ => SliceItem::Ellipsis,
    });
    let made = layout.slice(&items).ok();
    if is_small(layout) {
        let expected = oracle::slice_oracle(layout, &items).filter(|(shape, _)| shape.len() <= 32);
        let found = made.as_ref().map(|view| (view.shape().to_vec(), oracle::elements(view)));
        assert_eq!(found, expected, "{layout:?} at {items:?}");
    }
    made
}

/// What two views of one allocation are to each other.
fn relate(rng: &mut Rng, a: &Layout, b: &Layout) {
    let (a_size, b_size) = (1 + rng.below(4), 1 + rng.below(4));
    let shared = overlaps(a, a_size, b, b_size);
    assert_eq!(shared, overlaps(b, b_size, a, a_size), "{a:?} of {a_size}, {b:?} of {b_size}");
    let same = same_view(a, b);
    if same && !a.is_empty() {
        assert!(overlaps(a, a_size, b, a_size));
    }
    if is_small(a) && is_small(b) {
        let (bytes, others) = (oracle::bytes_of(a, a_size), oracle::bytes_of(b, b_size));
        assert_eq!(shared, !bytes.is_disjoint(&others), "{a:?} of {a_size}, {b:?} of {b_size}");
        assert_eq!(same, a.shape() == b.shape() && oracle::elements(a) == oracle::elements(b));
        assert_eq!(self_overlaps(a), oracle::bytes_of(a, 1).len() < a.len(), "{a:?}");
    }
    if a.shape() == b.shape() && is_small(a) {
        let reorder = rng.chance(50);
        let space = coalesce(a.shape(), &[a.strides(), b.strides()], reorder);
        let strides = [a.strides().to_vec(), b.strides().to_vec()];
        let mut wanted = oracle::visits(a.shape(), &strides, &[0, 0]);
        let merged: Vec<Vec<isize>> = space.strides.iter().map(|strides| strides.to_vec()).collect();
        let mut made = oracle::visits(&space.shape, &merged, &space.offsets);
        if reorder {
            wanted.sort_unstable();
            made.sort_unstable();
        }
        assert_eq!(made, wanted, "{a:?} and {b:?} as {space:?}");
    }
}
