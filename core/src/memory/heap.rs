//! Vectors of the host's own memory whose length depends on data: they are asked for, and where there is no memory the
//! answer is an [`Error::Alloc`] instead of the end of the process.
//!
//! ```
//! use stridewise_core::Error;
//! use stridewise_core::memory::heap;
//!
//! assert_eq!(heap::collect("squares", (0..4).map(|x| x * x))?, [0, 1, 4, 9]);
//! assert!(matches!(heap::with_capacity::<u64>("elements", usize::MAX / 64), Err(Error::Alloc(_))));
//! # Ok::<(), Error>(())
//! ```

use bytemuck::Zeroable;
use smallvec::{Array, SmallVec};

use crate::error::{Error, Result};
use crate::fault::{self, Site};

/// What is said where there is no memory for `len` elements of `T`.
#[cold]
pub(super) fn refused<T>(what: &'static str, len: usize) -> Error {
    let bytes = len as u128 * size_of::<T>() as u128;
    Error::alloc(
        what,
        format!("{bytes} bytes of the host's memory"),
        "no more than the system has left",
        "free arrays, trim the pool of unused memory, or work on the data in parts",
    )
}

/// An empty vector with room for `len` elements. `what` names it in the error.
///
/// # Errors
/// [`Error::Alloc`] where there is no memory.
pub fn with_capacity<T>(what: &'static str, len: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    reserve(what, &mut vec, len)?;
    Ok(vec)
}

/// Room for `more` further elements in a vector.
///
/// # Errors
/// As for [`with_capacity`].
pub fn reserve<T>(what: &'static str, vec: &mut Vec<T>, more: usize) -> Result<()> {
    if vec.capacity() - vec.len() >= more {
        return Ok(());
    }
    if fault::strikes(Site::Heap) || vec.try_reserve(more).is_err() {
        return Err(refused::<T>(what, vec.len().saturating_add(more)));
    }
    Ok(())
}

/// A vector of `len` elements whose bytes are zeros, which the system gives without writing them.
///
/// # Errors
/// As for [`with_capacity`].
pub fn zeroed<T: Zeroable>(what: &'static str, len: usize) -> Result<Vec<T>> {
    if len > 0 && fault::strikes(Site::Heap) {
        return Err(refused::<T>(what, len));
    }
    bytemuck::try_zeroed_vec(len).map_err(|()| refused::<T>(what, len))
}

/// A vector of what an iterator yields.
///
/// # Errors
/// As for [`with_capacity`].
pub fn collect<T>(what: &'static str, items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut vec = with_capacity(what, items.size_hint().0)?;
    for item in items {
        push(what, &mut vec, item)?;
    }
    Ok(vec)
}

/// A list of as many items as an iterator says, without an allocation for a few.
///
/// # Errors
/// As for [`with_capacity`].
pub fn small<A: Array>(
    what: &'static str,
    items: impl ExactSizeIterator<Item = A::Item>,
) -> Result<SmallVec<A>> {
    let (mut list, len) = (SmallVec::new(), items.len());
    if len > list.inline_size() && (fault::strikes(Site::Heap) || list.try_reserve(len).is_err()) {
        return Err(refused::<A::Item>(what, len));
    }
    list.extend(items);
    Ok(list)
}

/// As [`collect`], of an iterator whose items may be errors; the first one ends it.
///
/// # Errors
/// As for [`with_capacity`]; an item's.
pub fn try_collect<T, E: From<Error>>(
    what: &'static str,
    items: impl IntoIterator<Item = Result<T, E>>,
) -> Result<Vec<T>, E> {
    let items = items.into_iter();
    let mut vec = with_capacity(what, items.size_hint().0)?;
    for item in items {
        push(what, &mut vec, item?)?;
    }
    Ok(vec)
}

/// Adds an element to the end of a vector.
///
/// # Errors
/// As for [`with_capacity`]; the vector is as before.
#[inline]
pub fn push<T>(what: &'static str, vec: &mut Vec<T>, item: T) -> Result<()> {
    if vec.len() == vec.capacity() {
        reserve(what, vec, 1)?;
    }
    vec.push(item);
    Ok(())
}

/// Adds what an iterator yields to the end of a vector.
///
/// # Errors
/// As for [`with_capacity`]; of the items, those before may have been added.
pub fn extend<T>(what: &'static str, vec: &mut Vec<T>, items: impl IntoIterator<Item = T>) -> Result<()> {
    let items = items.into_iter();
    if vec.is_empty() {
        reserve(what, vec, items.size_hint().0)?;
    }
    for item in items {
        push(what, vec, item)?;
    }
    Ok(())
}

/// Adds text to the end of another.
///
/// # Errors
/// As for [`with_capacity`]; the text is as before.
pub fn push_str(what: &'static str, text: &mut String, more: &str) -> Result<()> {
    if text.capacity() - text.len() < more.len()
        && (fault::strikes(Site::Heap) || text.try_reserve(more.len()).is_err())
    {
        return Err(refused::<u8>(what, text.len().saturating_add(more.len())));
    }
    text.push_str(more);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_an_error_that_says_how_much() {
        let most = usize::MAX / 8;
        for error in [
            with_capacity::<u64>("list", most).unwrap_err(),
            zeroed::<u64>("list", most).unwrap_err(),
            reserve("list", &mut vec![1_u64], most - 1).unwrap_err(),
            collect("list", 0..most as u64).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Alloc(_)), "{error}");
            assert!(error.to_string().contains(&(most * 8).to_string()), "{error}");
        }
    }

    #[test]
    fn what_can_be_had_is_there() {
        assert_eq!(zeroed::<u16>("list", 3).unwrap(), [0; 3]);
        assert_eq!(zeroed::<u16>("list", 0).unwrap(), [0_u16; 0]);
        assert_eq!(collect("list", [1, 2, 3].into_iter().filter(|n| n % 2 == 1)).unwrap(), [1, 3]);
        let failing = [Ok(1), Err(Error::value("a", 1, "b", "c")), Ok(2)];
        assert!(matches!(try_collect("list", failing), Err(Error::Value(_))));
        let mut text = String::new();
        (0..100).for_each(|_| push_str("text", &mut text, "ab").unwrap());
        assert_eq!(text, "ab".repeat(100));
    }
}
