//! Arrays from collections of Rust, on the default queue.

use super::{Array, demand};
use crate::dtype::Element;
use crate::error::{Error, Result, counted};
use crate::memory::heap;

/// One dimension.
impl<T: Element> TryFrom<&[T]> for Array<T> {
    type Error = Error;
    /// # Errors
    /// As for [`Array::from_slice`].
    fn try_from(elements: &[T]) -> Result<Self> {
        Self::from_slice(elements.len(), elements)
    }
}

/// One dimension.
impl<T: Element> TryFrom<Vec<T>> for Array<T> {
    type Error = Error;
    /// # Errors
    /// As for [`Array::from_slice`].
    fn try_from(elements: Vec<T>) -> Result<Self> {
        Self::try_from(&*elements)
    }
}

/// One dimension.
impl<T: Element, const N: usize> TryFrom<[T; N]> for Array<T> {
    type Error = Error;
    /// # Errors
    /// As for [`Array::from_slice`].
    fn try_from(elements: [T; N]) -> Result<Self> {
        Self::from_slice([N], &elements)
    }
}

/// Two dimensions: rows.
impl<T: Element, const M: usize, const N: usize> TryFrom<[[T; N]; M]> for Array<T> {
    type Error = Error;
    /// # Errors
    /// As for [`Array::from_slice`].
    fn try_from(rows: [[T; N]; M]) -> Result<Self> {
        Self::from_slice([M, N], rows.as_flattened())
    }
}

/// Two dimensions: rows, of any number.
impl<T: Element, const N: usize> TryFrom<Vec<[T; N]>> for Array<T> {
    type Error = Error;
    /// # Errors
    /// As for [`Array::from_slice`].
    fn try_from(rows: Vec<[T; N]>) -> Result<Self> {
        Self::from_slice([rows.len(), N], rows.as_flattened())
    }
}

/// Two dimensions: rows of one length. No rows are an array of shape `[0, 0]`.
///
/// ```no_run
/// # use stridewise_core::Array;
/// let table = Array::try_from(vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]])?;
/// assert_eq!(table.shape(), [3, 2]);
/// assert!(Array::try_from(vec![vec![1.0, 2.0], vec![3.0]]).is_err());
/// # Ok::<(), stridewise_core::Error>(())
/// ```
impl<T: Element> TryFrom<Vec<Vec<T>>> for Array<T> {
    type Error = Error;
    /// # Errors
    /// [`Error::Shape`] where a row has not as many elements as the first one; as for [`Array::from_slice`].
    fn try_from(rows: Vec<Vec<T>>) -> Result<Self> {
        let columns = rows.first().map_or(0, Vec::len);
        if let Some((number, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != columns) {
            return Err(Error::shape(
                format!("rows[{number}]"),
                format!("a row of {}", counted(row.len(), "element")),
                format!("{}, as the first row has", counted(columns, "element")),
                "make all rows as long, or put elements one after the other and use `from_vec` with a shape",
            ));
        }
        let len = rows.len().saturating_mul(columns);
        let mut elements = heap::with_capacity("elements", len)?;
        rows.iter().for_each(|row| elements.extend_from_slice(row));
        Self::from_vec([rows.len(), columns], elements)
    }
}

/// What `collect` makes of elements: an array of one dimension on the default queue.
///
/// ```no_run
/// # use stridewise_core::Array;
/// let squares: Array<i64> = (0..5).map(|x| x * x).collect();
/// ```
///
/// # Panics
/// Where there is no device or no memory, with the message of the error, which [`Array::try_from_iter`] returns.
impl<T: Element> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        demand(Self::try_from_iter(elements))
    }
}

/// The elements in row-major order.
///
/// ```no_run
/// # use stridewise_core::array;
/// let elements = Vec::<i32>::try_from(&array![[1, 2], [3, 4]])?;
/// assert_eq!(elements, [1, 2, 3, 4]);
/// # Ok::<(), stridewise_core::Error>(())
/// ```
impl<T: Element> TryFrom<&Array<T>> for Vec<T> {
    type Error = Error;
    /// # Errors
    /// As for [`Array::to_vec`].
    fn try_from(array: &Array<T>) -> Result<Self> {
        array.to_vec()
    }
}

/// The elements in row-major order.
impl<T: Element> TryFrom<Array<T>> for Vec<T> {
    type Error = Error;
    /// # Errors
    /// As for [`Array::to_vec`].
    fn try_from(array: Array<T>) -> Result<Self> {
        array.to_vec()
    }
}
