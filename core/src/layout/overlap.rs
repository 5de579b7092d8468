//! Exact overlap of views of one allocation.
//!
//! Two views share a byte exactly when a bounded linear Diophantine equation has a solution: the sum of
//! `coefficient × unknown` over all dimensions of both views, each unknown between 0 and a bound, equals the distance
//! of their ends. The problem is NP-hard in general; the strides of real views fall to range, divisibility and the
//! two-unknown closed form within a few steps, and a work limit bounds the rest (NumPy's `solve_may_share_memory`
//! states the problem in the same way).

use smallvec::SmallVec;

use super::Layout;

/// Steps of the search after which [`overlaps`] and [`self_overlaps`] answer "yes" without proof, which is safe: it bounds how long
/// they take.
const WORK_LIMIT: usize = 1 << 18;

/// `coefficient × unknown` with the unknown in `0..=bound`; the coefficient is positive.
#[derive(Clone, Copy, Debug)]
struct Term {
    coefficient: i128,
    bound: i128,
}

type Terms = SmallVec<[Term; 8]>;

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// `(g, x)` with `g = gcd(a, m)` and `a·x ≡ g (mod m)`, for positive `a` and `m`.
fn inverse(a: i128, m: i128) -> (i128, i128) {
    let (mut r0, mut r1) = (a, m);
    let (mut x0, mut x1) = (1_i128, 0_i128);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (x0, x1) = (x1, x0 - quotient * x1);
    }
    (r0, x0.rem_euclid(m))
}

/// The equation, prepared for the search: terms by falling coefficient, with what the terms from each on can reach.
struct Equation {
    terms: Terms,
    /// Greatest sum of the terms from this one on.
    reach: SmallVec<[i128; 8]>,
    /// Greatest common divisor of the coefficients from this one on.
    divisor: SmallVec<[i128; 8]>,
    work: usize,
}

/// The search ended at the work limit.
struct OutOfWork;

impl Equation {
    fn new(mut terms: Terms) -> Self {
        terms.retain(|term| term.coefficient != 0 && term.bound != 0);
        terms.sort_by_key(|term| std::cmp::Reverse(term.coefficient));
        // Unknowns with the same coefficient act as one.
        terms.dedup_by(|next, kept| {
            let same = next.coefficient == kept.coefficient;
            if same {
                kept.bound += next.bound;
            }
            same
        });
        let mut reach: SmallVec<[i128; 8]> = SmallVec::from_elem(0, terms.len() + 1);
        let mut divisor: SmallVec<[i128; 8]> = SmallVec::from_elem(0, terms.len() + 1);
        for (k, term) in terms.iter().enumerate().rev() {
            reach[k] = reach[k + 1].saturating_add(term.coefficient.saturating_mul(term.bound));
            divisor[k] = gcd(divisor[k + 1], term.coefficient);
        }
        Self { terms, reach, divisor, work: 0 }
    }

    /// Whether the terms from `k` on can sum to `rest`.
    fn solve(&mut self, k: usize, rest: i128) -> Result<bool, OutOfWork> {
        self.work += 1;
        if self.work > WORK_LIMIT {
            return Err(OutOfWork);
        }
        if rest == 0 {
            return Ok(true);
        }
        // With no terms left the reach is 0, so no rest passes here.
        if rest < 0 || rest > self.reach[k] || rest % self.divisor[k] != 0 {
            return Ok(false);
        }
        let Term { coefficient, bound } = self.terms[k];
        if self.terms.len() - k == 1 {
            // Divisible by the one coefficient and within its reach.
            return Ok(true);
        }
        // The unknown must leave what the others can reach, and what their divisor divides: it is fixed modulo
        // `stride`.
        let lowest = div_ceil(rest - self.reach[k + 1], coefficient).max(0);
        let highest = (rest / coefficient).min(bound);
        let modulus = self.divisor[k + 1];
        let (common, inverse) = inverse(coefficient, modulus);
        let stride = modulus / common;
        // `divisor[k]` is `common`, which divides `rest`.
        let residue = mul_mod((rest / common).rem_euclid(stride), inverse.rem_euclid(stride), stride);
        let mut value = lowest + (residue - lowest).rem_euclid(stride);
        if self.terms.len() - k == 2 {
            // The other unknown is then a whole number, and `lowest` and `highest` keep it within its bounds.
            return Ok(value <= highest);
        }
        while value <= highest {
            if self.solve(k + 1, rest - coefficient * value)? {
                return Ok(true);
            }
            value += stride;
        }
        Ok(false)
    }

    /// Whether there is a solution; `true` when the work limit leaves it open.
    fn may_equal(mut self, sum: i128) -> bool {
        self.solve(0, sum).unwrap_or(true)
    }
}

fn div_ceil(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}

/// `a·b mod m` for `a` and `b` in `0..m`, without leaving `i128`.
fn mul_mod(a: i128, b: i128, m: i128) -> i128 {
    if let Some(product) = a.checked_mul(b) {
        return product % m;
    }
    // Coefficients are byte distances within one allocation times at most an element size, far below 2^126, so that
    // doubling cannot overflow.
    let (mut sum, mut power, mut factor) = (0_i128, a, b);
    while factor > 0 {
        if factor & 1 == 1 {
            sum = (sum + power) % m;
        }
        power = (power + power) % m;
        factor >>= 1;
    }
    sum
}

/// The dimensions of a layout that move: size of the stride times `unit`, and the last index.
fn moving(layout: &Layout, unit: i128) -> impl Iterator<Item = Term> {
    layout.shape().iter().zip(layout.strides()).filter(|&(&extent, &stride)| extent > 1 && stride != 0).map(
        move |(&extent, &stride)| Term {
            coefficient: (stride as i128).abs() * unit,
            bound: extent as i128 - 1,
        },
    )
}

/// Whether two views of one allocation share a byte. Items are `a_itemsize` and `b_itemsize` bytes.
///
/// Exact, but for views whose strides are so unrelated that a bounded search does not decide; for those the answer
/// is `true`.
///
/// ```
/// use stridewise_core::{backend::overlaps, s, Layout, Order};
/// let all = Layout::contiguous(&[10], Order::C)?;
/// let (even, odd) = (all.slice(s![..;2])?, all.slice(s![1..;2])?);
/// assert!(!overlaps(&even, 4, &odd, 4));
/// assert!(overlaps(&even, 4, &all, 4));
/// # Ok::<(), stridewise_core::Error>(())
/// ```
#[must_use]
pub fn overlaps(a: &Layout, a_itemsize: usize, b: &Layout, b_itemsize: usize) -> bool {
    if a.is_empty() || b.is_empty() || a_itemsize == 0 || b_itemsize == 0 {
        return false;
    }
    // All positions are multiples of the common divisor of the sizes. With equal sizes that leaves whole elements.
    let common = gcd(a_itemsize as i128, b_itemsize as i128);
    let (a_unit, b_unit) = (a_itemsize as i128 / common, b_itemsize as i128 / common);
    let (a_range, b_range) = (a.element_range(), b.element_range());
    let (a_start, a_end) = (a_range.start as i128 * a_unit, a_range.end as i128 * a_unit);
    let (b_start, b_end) = (b_range.start as i128 * b_unit, b_range.end as i128 * b_unit);
    if a_end <= b_start || b_end <= a_start {
        return false;
    }
    if (a.is_c_contiguous() || a.is_f_contiguous()) && (b.is_c_contiguous() || b.is_f_contiguous()) {
        return true;
    }
    // Up from the start of `a` and down from the last unit of `b` to the same place. The place within an item is one
    // more unknown each.
    let mut terms: Terms = moving(a, a_unit).chain(moving(b, b_unit)).collect();
    terms.push(Term { coefficient: 1, bound: a_unit - 1 });
    terms.push(Term { coefficient: 1, bound: b_unit - 1 });
    Equation::new(terms).may_equal(b_end - 1 - a_start)
}

/// Whether a layout addresses any element by two multi-indices, as every stretched dimension does.
///
/// Exact with the same exception as [`overlaps`].
#[must_use]
pub fn self_overlaps(layout: &Layout) -> bool {
    if layout.is_empty() || layout.is_c_contiguous() || layout.is_f_contiguous() {
        return false;
    }
    let moving_dims = layout.shape().iter().filter(|&&extent| extent > 1).count();
    let mut terms: Terms = moving(layout, 1).collect();
    if terms.len() != moving_dims {
        // A stride of 0.
        return true;
    }
    terms.sort_by_key(|term| term.coefficient);
    // Two multi-indices for one element differ by some z with Σ cₖzₖ = 0 and |zₖ| ≤ boundₖ. Let k be the largest
    // coefficient's with zₖ ≠ 0, and zₖ ≥ 1 by symmetry. With wⱼ = zⱼ + boundⱼ and t = zₖ - 1, all unknowns start at
    // 0: cₖt + Σ cⱼwⱼ = Σ cⱼboundⱼ - cₖ over the smaller coefficients j.
    let mut below = 0_i128;
    for (k, &Term { coefficient, bound }) in terms.iter().enumerate() {
        if coefficient <= below {
            let mut equation: Terms = terms[..k]
                .iter()
                .map(|&Term { coefficient, bound }| Term { coefficient, bound: 2 * bound })
                .collect();
            equation.push(Term { coefficient, bound: bound - 1 });
            if Equation::new(equation).may_equal(below - coefficient) {
                return true;
            }
        }
        below += coefficient * bound;
    }
    false
}

/// Whether two layouts address the same elements in the same order: the strides of dimensions of extent 1, and all
/// strides and the offset of an array without elements, do not matter.
#[must_use]
pub fn same_view(a: &Layout, b: &Layout) -> bool {
    let same_strides = || {
        a.shape()
            .iter()
            .zip(a.strides().iter().zip(b.strides()))
            .all(|(&extent, (x, y))| extent == 1 || x == y)
    };
    a.shape() == b.shape() && (a.is_empty() || (a.offset == b.offset && same_strides()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms of bound 1 with large, unrelated coefficients: a subset-sum problem.
    fn subset_sum(count: u32) -> Terms {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                Term { coefficient: i128::from(state >> 8), bound: 1 }
            })
            .collect()
    }

    #[test]
    fn a_search_beyond_the_work_limit_answers_yes() {
        let terms = subset_sum(40);
        let half = terms.iter().map(|term| term.coefficient).sum::<i128>() / 2;
        assert!(matches!(Equation::new(terms.clone()).solve(0, half), Err(OutOfWork)));
        assert!(Equation::new(terms).may_equal(half));
        // The same problem in a size that is searched to the end.
        let terms = subset_sum(12);
        let half = terms.iter().map(|term| term.coefficient).sum::<i128>() / 2;
        assert!(matches!(Equation::new(terms).solve(0, half), Ok(false)));
    }

    #[test]
    fn sums_beyond_the_reach_have_no_solution() {
        let solve = |terms: &[(i128, i128)], sum| {
            let terms = terms.iter().map(|&(coefficient, bound)| Term { coefficient, bound }).collect();
            Equation::new(terms).may_equal(sum)
        };
        assert!(solve(&[], 0) && !solve(&[], 1) && !solve(&[], -1));
        assert!(solve(&[(3, 2)], 6) && !solve(&[(3, 2)], 9) && !solve(&[(3, 2)], 4));
        assert!(
            solve(&[(3, 2), (5, 1)], 11) && !solve(&[(3, 2), (5, 1)], 9) && !solve(&[(3, 2), (5, 1)], 14)
        );
    }

    #[test]
    fn products_beyond_the_word_are_reduced() {
        let m = (1_i128 << 100) + 277;
        let (a, b) = ((1_i128 << 99) + 12345, (1_i128 << 98) + 999);
        // (m - a)·(m - b) ≡ a·b, and 2·(a·b) ≡ (2a)·b.
        assert_eq!(mul_mod(m - a, m - b, m), mul_mod(a, b, m));
        assert_eq!(mul_mod(2 * a % m, b, m), 2 * mul_mod(a, b, m) % m);
        let (g, x) = inverse(a, m);
        assert_eq!(mul_mod(a % m, x, m), g % m);
    }
}
