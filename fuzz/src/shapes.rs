//! Broadcasting and reshaping, of any shapes, against their definitions.

use stridewise::{Layout, MAX_NDIM, Order, backend::resolve_shape, broadcast_shapes};

use crate::layouts::{self, hull, is_small, oracle};
use crate::random::Rng;
use crate::reach;

pub(crate) fn run(data: &[u8]) {
    let mut rng = Rng::new(data);
    while !rng.is_used_up() {
        match rng.below(4) {
            0 => common(&mut rng),
            1 => resolve(&mut rng),
            choice => {
                let Some(layout) = layouts::make(&mut rng) else { continue };
                if choice == 2 { stretch(&mut rng, &layout) } else { reshape(&mut rng, &layout) }
            }
        }
    }
}

fn shape(rng: &mut Rng) -> Vec<usize> {
    let ndim = if rng.chance(3) { 33 } else { rng.below(6) };
    rng.many(ndim, |rng| if rng.chance(40) { 1 } else { rng.extent() })
}

/// The common shape, by NumPy's rule.
pub(crate) fn joint(shapes: &[&[usize]]) -> Option<Vec<usize>> {
    let ndim = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; ndim];
    for shape in shapes {
        for (have, &extent) in result[ndim - shape.len()..].iter_mut().zip(*shape) {
            match (*have, extent) {
                (have, extent) if have == extent => {}
                (_, 1) => {}
                (1, extent) => *have = extent,
                _ => return None,
            }
        }
    }
    reach::len(&reach::wide(&result)).map(|_| result)
}

fn common(rng: &mut Rng) {
    let count = rng.below(5);
    let mut shapes = rng.many(count, shape);
    // Often such that they fit.
    if let [first, others @ ..] = &mut shapes[..] {
        for other in others {
            if rng.chance(60) {
                let skipped = rng.below(first.len() + 1);
                *other = first[skipped..].to_vec();
                other.iter_mut().for_each(|extent| *extent = if rng.chance(30) { 1 } else { *extent });
            }
        }
    }
    let shapes: Vec<&[usize]> = shapes.iter().map(Vec::as_slice).collect();
    let made = broadcast_shapes(&shapes);
    match (&made, joint(&shapes)) {
        (Ok(made), Some(expected)) => assert_eq!(made.as_slice(), expected, "{shapes:?}"),
        (Err(error), None) => assert!(error.to_string().contains("help: "), "{error}"),
        (_, expected) => panic!("{shapes:?}: {made:?}, expected {expected:?}"),
    }
}

fn stretch(rng: &mut Rng, layout: &Layout) {
    let target = if rng.chance(30) {
        shape(rng)
    } else {
        let added = rng.below(3);
        let mut target = rng.many(added, Rng::extent);
        target.extend(layout.shape());
        for extent in &mut target {
            if *extent == 1 && rng.chance(60) {
                *extent = rng.extent();
            }
        }
        target
    };
    let made = layout.broadcast_to(&target);
    let fits = joint(&[layout.shape(), &target]).is_some_and(|joint| joint == target);
    assert_eq!(made.is_ok(), fits, "{layout:?} as {target:?}: {made:?}");
    let Ok(view) = made else { return };
    layouts::check(&view);
    assert_eq!(view.shape(), target);
    if view.is_empty() {
        return;
    }
    // Elements are repeated, and there are no others.
    assert_eq!(hull(&view), hull(layout), "{layout:?} as {view:?}");
    if is_small(&view) {
        let added = target.len() - layout.ndim();
        for index in oracle::multi_indices(&target) {
            let source = index[added..].iter().zip(layout.shape());
            let source: Vec<usize> = source.map(|(&i, &extent)| if extent == 1 { 0 } else { i }).collect();
            assert_eq!(oracle::element(&view, &index), oracle::element(layout, &source));
        }
    }
}

fn resolve(rng: &mut Rng) {
    let ndim = rng.below(6);
    let mut requested = rng.many(ndim, |rng| if rng.chance(25) { -1 } else { rng.extent() as isize });
    let mut len = rng.extent();
    if rng.chance(60) {
        // One that fits, if none is left to be computed.
        let product =
            requested.iter().filter(|&&extent| extent != -1).try_fold(1_isize, |p, &e| p.checked_mul(e));
        len = product.map_or(len, |product| product.unsigned_abs().saturating_mul(1 + rng.below(4)));
    }
    if rng.chance(3) {
        requested = vec![1; 40];
    }
    let made = resolve_shape(&requested, len);
    let expected = resolved(&requested, len);
    match (&made, &expected) {
        (Ok(made), Some(expected)) => assert_eq!(made.as_slice(), expected, "{requested:?} of {len}"),
        (Err(error), None) => assert!(error.to_string().contains("help: "), "{error}"),
        _ => panic!("{requested:?} of {len}: {made:?}, expected {expected:?}"),
    }
}

/// The shape that was asked for, with one extent at most to be computed.
fn resolved(requested: &[isize], len: usize) -> Option<Vec<usize>> {
    let open: Vec<usize> = (0..requested.len()).filter(|&axis| requested[axis] == -1).collect();
    let known: Vec<i128> =
        requested.iter().map(|&extent| if extent == -1 { 1 } else { extent as i128 }).collect();
    let product = reach::len(&known)?;
    let mut shape: Vec<usize> = known.iter().map(|&extent| extent as usize).collect();
    match open[..] {
        [] => (product == len as i128).then_some(shape),
        [axis] if product > 0 && len as i128 % product == 0 => {
            shape[axis] = (len as i128 / product) as usize;
            reach::len(&reach::wide(&shape)).map(|_| shape)
        }
        _ => None,
    }
}

fn reshape(rng: &mut Rng, layout: &Layout) {
    let order = *rng.pick(&[Order::C, Order::F]);
    let target = if rng.chance(20) {
        shape(rng)
    } else {
        // Mostly a factorisation of the number of elements.
        let mut left = layout.len();
        let mut target = Vec::new();
        for _ in 0..rng.below(5) {
            let divisor = 1 + rng.below(6);
            if left.is_multiple_of(divisor) {
                target.push(divisor);
                left /= divisor;
            }
        }
        target.insert(rng.below(target.len() + 1), left);
        target
    };
    let made = layout.reshape_view(&target, order);
    let fits = reach::len(&reach::wide(&target)) == Some(layout.len() as i128) && target.len() <= MAX_NDIM;
    assert!(fits || made.is_none(), "{layout:?} as {target:?}: {made:?}");
    if let Some(view) = &made {
        layouts::check(view);
        assert_eq!(view.shape(), target);
        assert_eq!(hull(view), hull(layout));
    }
    if fits && is_small(layout) && target.iter().all(|&extent| extent <= layout.len().max(1)) {
        let wanted = oracle::in_order(layout, order);
        match made {
            Some(view) => {
                assert_eq!(oracle::in_order(&view, order), wanted, "{layout:?} as {view:?}, {order:?}")
            }
            None => {
                assert!(!oracle::is_strided(&target, order, &wanted), "{layout:?} as {target:?}, {order:?}")
            }
        }
    }
}
