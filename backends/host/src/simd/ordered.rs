//! What sorting asks of vectors.

/// A vector of signed integers to be sorted. Values exist where those of [`Lane`](super::Lane) do; the base level has none.
pub(crate) trait Ordered: Copy {
    type Elem: Copy + Ord;
    /// Elements per vector; a power of two.
    const LEN: usize;
    /// Vectors that registers have room for while they are sorted together; a power of two.
    const ROWS: usize;
    /// The largest number.
    const MAX: Self::Elem;

    /// # Safety
    /// The processor has the level's features; `p` is readable for [`LEN`](Self::LEN) elements, at any alignment.
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// The first `len` lanes come from memory; the others are the largest number.
    ///
    /// # Safety
    /// As [`load`](Self::load), with `len < LEN` elements; nothing beyond them is read.
    unsafe fn load_part(p: *const Self::Elem, len: usize) -> Self;
    /// # Safety
    /// `p` is writable for [`LEN`](Self::LEN) elements, at any alignment.
    unsafe fn store(self, p: *mut Self::Elem);
    /// # Safety
    /// As [`store`](Self::store), with `len < LEN` elements; nothing beyond them is written.
    unsafe fn store_part(self, p: *mut Self::Elem, len: usize);
    /// # Safety
    /// The processor has the level's features.
    unsafe fn splat(v: Self::Elem) -> Self;
    /// The smaller one of each pair of lanes.
    fn lower(self, x: Self) -> Self;
    /// The larger one of each pair of lanes.
    fn higher(self, x: Self) -> Self;
    /// The lanes from the last to the first.
    fn reversed(self) -> Self;
    /// Of each two lanes whose numbers differ in the bits of `X`, which is below [`LEN`](Self::LEN) and of which only the
    /// highest bit or all below it, too, are set, the lower one is the smaller one of the two and the other the larger one.
    fn exchanged<const X: usize>(self) -> Self;
    /// Writes the lanes below the pivot from `low` on, and the others so that they end before `high`; answers how many are
    /// below it.
    ///
    /// # Safety
    /// The processor has the level's features. From `low` on and before `high`, [`LEN`](Self::LEN) elements are writable, all of
    /// which may be written; the two are the same elements or disjoint.
    unsafe fn divide(self, pivot: Self, low: *mut Self::Elem, high: *mut Self::Elem) -> usize;
    /// The next larger number; `None` of the largest.
    fn next(v: Self::Elem) -> Option<Self::Elem>;
}
