//! Sums and products in twice the precision: an unevaluated sum of a head and a tail of at most half the head's last
//! place. Every operation is exact or names its error; none of them holds where the head overflows.

use super::FloatBits;

/// `head + tail`, with the head the nearest float to that sum.
#[derive(Clone, Copy)]
pub(super) struct Pair<V> {
    pub(super) head: V,
    pub(super) tail: V,
}

impl<V: FloatBits> Pair<V> {
    /// A float, exactly.
    #[inline(always)]
    pub(super) fn of(head: V) -> Self {
        Pair { head, tail: head.lit(0.0) }
    }

    /// `a + b` exactly (Knuth's TwoSum).
    #[inline(always)]
    pub(super) fn sum(a: V, b: V) -> Self {
        let head = a + b;
        let b_part = head - a;
        Pair { head, tail: (a - (head - b_part)) + (b - b_part) }
    }

    /// `a + b` exactly, for |a| ≥ |b| or a = 0 (Dekker's FastTwoSum).
    #[inline(always)]
    pub(super) fn ordered_sum(a: V, b: V) -> Self {
        let head = a + b;
        Pair { head, tail: b - (head - a) }
    }

    /// `a · b`, exactly where the tail is no subnormal number.
    #[inline(always)]
    pub(super) fn product(a: V, b: V) -> Self {
        let head = a * b;
        Pair { head, tail: a.mul_add(b, -head) }
    }

    /// The float nearest to the pair.
    #[inline(always)]
    pub(super) fn round(self) -> V {
        self.head + self.tail
    }

    /// With `more` in the tail, which may then be too large for one: the head is as it was.
    #[inline(always)]
    pub(super) fn with(self, more: V) -> Self {
        Pair { head: self.head, tail: self.tail + more }
    }

    /// The same sum with the head rounded anew, for a tail that has grown to at most the head's magnitude.
    #[inline(always)]
    pub(super) fn renewed(self) -> Self {
        Self::ordered_sum(self.head, self.tail)
    }

    /// `self + b`; relative error 2⁻²ᵖ⁺² (p bits of significand), of the larger of the two where signs differ.
    #[inline(always)]
    pub(super) fn plus(self, b: Self) -> Self {
        Self::sum(self.head, b.head).with(self.tail + b.tail).renewed()
    }

    /// `self / b`; relative error 2⁻²ᵖ⁺⁴.
    #[inline(always)]
    pub(super) fn over(self, b: Self) -> Self {
        let head = self.head / b.head;
        let rest = (-head).mul_add(b.head, self.head) + (-head).mul_add(b.tail, self.tail);
        Self::ordered_sum(head, rest / b.head)
    }

    /// √self for a positive pair; relative error 2⁻²ᵖ⁺³.
    #[inline(always)]
    pub(super) fn root(self) -> Self {
        let head = self.head.sqrt();
        let rest = (-head).mul_add(head, self.head) + self.tail;
        Self::ordered_sum(head, rest / (head + head))
    }
}
