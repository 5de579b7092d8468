//! Functions that have no vector form yet: the standard library's, element by element, alike at every level.

use super::{FloatBits, MAX_LEN};

/// `f` of each lane.
#[inline(always)]
pub(super) fn each<V: FloatBits>(x: V, f: impl Fn(V::Elem) -> V::Elem) -> V {
    let mut lanes: [V::Elem; MAX_LEN] = x.to_array();
    for lane in &mut lanes[..V::LEN] {
        *lane = f(*lane);
    }
    V::from_array(&lanes)
}

/// `f` of each lane of both.
#[inline(always)]
pub(super) fn each2<V: FloatBits>(x: V, y: V, f: impl Fn(V::Elem, V::Elem) -> V::Elem) -> V {
    let mut lanes: [V::Elem; MAX_LEN] = x.to_array();
    let others: [V::Elem; MAX_LEN] = y.to_array();
    for (lane, &other) in lanes[..V::LEN].iter_mut().zip(&others) {
        *lane = f(*lane, other);
    }
    V::from_array(&lanes)
}
