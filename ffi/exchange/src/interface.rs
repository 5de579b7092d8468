//! Array interfaces: arrays described by numbers, as Python's dictionaries carry them. Two of them are alike:
//! `__sycl_usm_array_interface__` (dpctl; version 1), which counts in elements from the start of an allocation, and
//! NumPy's `__array_interface__` (version 3), which counts in bytes from the first element.
//!
//! Here numbers are checked; taking a dictionary apart is the business of whoever has one.

use smallvec::SmallVec;
use stridewise_core::{Dims, Dtype, Error, Layout, MAX_NDIM, Order, Result, Strides};

use crate::typestr::dtype_of_typestr;

/// How an interface counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Convention {
    /// `__sycl_usm_array_interface__`: strides and offset in elements, the address is where the allocation begins, and
    /// no element lies before it.
    Usm,
    /// `__array_interface__`: strides in bytes, the address is that of the element at multi-index zero, and elements may
    /// lie before it.
    Array,
}

impl Convention {
    /// The one version that is known.
    #[must_use]
    pub const fn version(self) -> i128 {
        match self {
            Self::Usm => 1,
            Self::Array => 3,
        }
    }
}

/// What a dictionary says, read but not believed.
#[derive(Clone, Debug)]
pub struct Interface<'a> {
    /// How it counts.
    pub convention: Convention,
    /// `version`.
    pub version: i128,
    /// `typestr`.
    pub typestr: &'a str,
    /// `shape`.
    pub shape: &'a [i128],
    /// `strides`; `None`: row-major.
    pub strides: Option<&'a [i128]>,
    /// `offset`, in elements (`Usm`) or bytes (`Array`).
    pub offset: i128,
    /// Bytes of the memory from the address on, where they are known.
    pub memory_bytes: Option<usize>,
}

/// Where the elements are.
#[derive(Clone, Debug)]
pub struct Place {
    /// The type of the elements.
    pub dtype: Dtype,
    /// Over the memory that begins [`before`](Self::before) bytes before the address.
    pub layout: Layout,
    /// Bytes before the address that belong to the array; 0 for `Usm`.
    pub before: usize,
    /// Bytes from there to the end of the last element; 0 without elements.
    pub bytes: usize,
}

impl Interface<'_> {
    /// Checks every field.
    ///
    /// # Errors
    /// [`Error::Value`] for another version; [`Error::Dtype`] for a type string that is none;
    /// [`Error::Axis`] for too many dimensions; [`Error::Shape`] for negative extents and for strides of another number
    /// than extents; [`Error::Overflow`] for sizes that no address space has; [`Error::OutOfBounds`] for elements before
    /// the start of the memory or beyond its end.
    pub fn check(&self) -> Result<Place> {
        let expected = self.convention.version();
        if self.version != expected {
            return Err(Error::value(
                "version",
                self.version,
                format!("version {expected}"),
                "this is another protocol than the one that is known here",
            ));
        }
        let dtype = dtype_of_typestr(self.typestr)?;
        let itemsize = dtype.size();
        if self.shape.len() > MAX_NDIM {
            return Err(Error::axis(
                "shape",
                format!("of {} dimensions", self.shape.len()),
                format!("{MAX_NDIM} dimensions at most"),
                "merge dimensions first",
            ));
        }
        let shape = self.shape.iter().map(|&extent| extent_of(extent)).collect::<Result<Dims>>()?;
        let strides = match self.strides {
            None => None,
            Some(strides) if strides.len() != shape.len() => {
                return Err(Error::shape(
                    "strides",
                    format!("{} strides", strides.len()),
                    format!("{} strides, one per extent", shape.len()),
                    "leave them out, or give None, for row-major order",
                ));
            }
            Some(strides) => {
                Some(strides.iter().map(|&stride| self.stride(stride, itemsize)).collect::<Result<Strides>>()?)
            }
        };
        match self.convention {
            Convention::Usm => self.in_allocation(dtype, &shape, strides.as_deref()),
            Convention::Array => self.around_element(dtype, &shape, strides.as_deref()),
        }
    }

    /// A stride in elements.
    fn stride(&self, stride: i128, itemsize: usize) -> Result<isize> {
        let wide = |elements: i128| {
            isize::try_from(elements).map_err(|_| {
                Error::overflow(
                    "strides",
                    stride,
                    "distances within the address space",
                    "this is a defect of the library that made the interface",
                )
            })
        };
        if self.convention == Convention::Usm {
            return wide(stride);
        }
        let itemsize = itemsize as i128;
        if stride % itemsize != 0 {
            return Err(Error::value(
                "strides",
                format!("{stride} bytes"),
                format!("a multiple of the element's {itemsize} bytes"),
                "copy the array first, so that its elements lie one after the other",
            ));
        }
        wide(stride / itemsize)
    }

    fn in_allocation(&self, dtype: Dtype, shape: &[usize], strides: Option<&[isize]>) -> Result<Place> {
        if self.offset < 0 {
            return Err(Error::out_of_bounds(
                "offset",
                format!("{} elements", self.offset),
                "0 or more elements from the start of the memory",
                "`data` is where the memory begins; an element before it does not exist",
            ));
        }
        let offset = usize::try_from(self.offset).map_err(|_| {
            Error::overflow(
                "offset",
                self.offset,
                "a distance within the address space",
                "this is a defect of the library that made the interface",
            )
        })?;
        let layout =
            Layout::new(shape, strides, Some(offset), Order::C, dtype.size(), self.memory_bytes)?;
        // `Layout::new` has checked that these fit `isize`.
        let bytes = layout.required_elements() * dtype.size();
        Ok(Place { dtype, layout, before: 0, bytes })
    }

    fn around_element(&self, dtype: Dtype, shape: &[usize], strides: Option<&[isize]>) -> Result<Place> {
        if self.offset != 0 {
            return Err(Error::value(
                "offset",
                self.offset,
                "no offset",
                "give the address of the first element in `data`",
            ));
        }
        // Without an offset, the lowest element is where the layout begins.
        let layout = Layout::new(shape, strides, None, Order::C, dtype.size(), None)?;
        let bytes = layout.required_elements() * dtype.size();
        let before = if layout.is_empty() { 0 } else { layout.offset() * dtype.size() };
        if let Some(available) = self.memory_bytes
            && (before > 0 || bytes > available)
        {
            return Err(Error::out_of_bounds(
                "shape, strides",
                format!("{bytes} bytes, {before} of them before the first element"),
                format!("elements within the memory's {available} bytes"),
                "give the address of the lowest element, or fewer elements",
            ));
        }
        Ok(Place { dtype, layout, before, bytes })
    }
}

fn extent_of(extent: i128) -> Result<usize> {
    if extent < 0 {
        return Err(Error::shape(
            "shape",
            format!("an extent of {extent}"),
            "extents of 0 or more",
            "name the number of elements along each dimension",
        ));
    }
    usize::try_from(extent).map_err(|_| {
        Error::overflow(
            "shape",
            format!("an extent of {extent}"),
            "a size that fits the address space",
            "this is a defect of the library that made the interface",
        )
    })
}

impl Place {
    /// The address where the memory begins, for an interface whose `data` is this address.
    ///
    /// # Errors
    /// [`Error::Value`] for null where there are elements, and for elements that are not aligned;
    /// [`Error::OutOfBounds`] where they are outside the address space.
    pub fn start(&self, address: i128) -> Result<usize> {
        if self.bytes == 0 {
            return Ok(0);
        }
        if address == 0 {
            return Err(Error::value(
                "data",
                format!("null, with shape {:?}", self.layout.shape()),
                "the address of the memory",
                "this is a defect of the library that made the interface",
            ));
        }
        let start = address.saturating_sub(self.before as i128);
        let end = start.saturating_add(self.bytes as i128);
        let (Ok(start), true) = (usize::try_from(start), end <= usize::MAX as i128) else {
            return Err(Error::out_of_bounds(
                "data",
                format!("{address}, with {} bytes from there on", self.bytes),
                "elements within the address space",
                "this is a defect of the library that made the interface",
            ));
        };
        if start == 0 || !start.is_multiple_of(self.dtype.align()) {
            return Err(Error::value(
                "data",
                format!("an element at address {start:#x}"),
                format!("a multiple of {} bytes, the alignment of {}", self.dtype.align(), self.dtype),
                "copy the array in the other library first",
            ));
        }
        Ok(start)
    }
}

/// The strides that an interface of [`Convention::Usm`] gives: `None` for row-major order.
#[must_use]
pub fn usm_strides(layout: &Layout) -> Option<&[isize]> {
    (!layout.is_c_contiguous()).then(|| layout.strides())
}

/// The strides in bytes that an interface of [`Convention::Array`] gives: `None` for row-major order.
#[must_use]
pub fn array_strides(layout: &Layout, itemsize: usize) -> Option<SmallVec<[isize; 4]>> {
    // In range: a layout's elements are within `isize` bytes; strides that address nothing may wrap.
    let bytes = |&stride: &isize| stride.wrapping_mul(itemsize.cast_signed());
    usm_strides(layout).map(|strides| strides.iter().map(bytes).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::typestr::typestr;

    fn usm<'a>(typestr: &'a str, shape: &'a [i128], strides: Option<&'a [i128]>, offset: i128) -> Interface<'a> {
        Interface { convention: Convention::Usm, version: 1, typestr, shape, strides, offset, memory_bytes: None }
    }

    #[test]
    fn what_dpctl_writes() {
        // A view (3, 2) of 4 × 5 elements of float32; a reversed one; one without dimensions.
        let place = usm("|f4", &[3, 2], Some(&[5, 2]), 6).check().unwrap();
        assert_eq!((place.dtype, place.layout.offset(), place.bytes), (Dtype::F32, 6, 4 * (6 + 10 + 2 + 1)));
        let place = usm("<f4", &[10], Some(&[-2]), 19).check().unwrap();
        assert_eq!((place.layout.strides(), place.bytes, place.before), (&[-2][..], 80, 0));
        let place = usm("|b1", &[], None, 0).check().unwrap();
        assert_eq!((place.layout.len(), place.bytes), (1, 1));
        let place = usm("<c16", &[0, 7], None, 0).check().unwrap();
        assert_eq!((place.bytes, place.start(0).unwrap()), (0, 0));
    }

    #[test]
    fn what_numpy_writes() {
        let array = |shape, strides| Interface {
            convention: Convention::Array,
            version: 3,
            ..usm("<i2", shape, strides, 0)
        };
        let place = array(&[4], Some(&[-6])).check().unwrap();
        assert_eq!((place.before, place.bytes, place.layout.offset()), (18, 20, 9));
        assert_eq!(place.start(1018).unwrap(), 1000);
        assert!(matches!(place.start(16), Err(Error::OutOfBounds(_))));
        assert!(matches!(array(&[4], Some(&[3])).check(), Err(Error::Value(_))));
        assert!(matches!(Interface { offset: 2, ..array(&[4], None) }.check(), Err(Error::Value(_))));
        let bounded = Interface { memory_bytes: Some(8), ..array(&[4], None) };
        assert!(bounded.check().is_ok());
        let bounded = Interface { memory_bytes: Some(7), ..array(&[4], None) };
        assert!(matches!(bounded.check(), Err(Error::OutOfBounds(_))));
    }

    #[test]
    fn every_wrong_field_has_its_error() {
        let wide = i128::from(u64::MAX) + 1;
        let check = |interface: Interface<'_>| interface.check().unwrap_err();
        assert!(matches!(check(Interface { version: 2, ..usm("<f4", &[1], None, 0) }), Error::Value(_)));
        assert!(matches!(check(usm("", &[1], None, 0)), Error::Dtype(_)));
        assert!(matches!(check(usm(">f4", &[1], None, 0)), Error::Dtype(_)));
        assert!(matches!(check(usm("<f4", &[-1], None, 0)), Error::Shape(_)));
        assert!(matches!(check(usm("<f4", &[wide], None, 0)), Error::Overflow(_)));
        assert!(matches!(check(usm("<f4", &[1 << 40, 1 << 40], None, 0)), Error::Overflow(_)));
        assert!(matches!(check(usm("<f4", &[2, 2], Some(&[1]), 0)), Error::Shape(_)));
        assert!(matches!(check(usm("<f4", &[2], Some(&[wide]), 0)), Error::Overflow(_)));
        assert!(matches!(check(usm("<f4", &[2], Some(&[-1]), 0)), Error::OutOfBounds(_)));
        assert!(matches!(check(usm("<f4", &[2], None, -1)), Error::OutOfBounds(_)));
        assert!(matches!(check(usm("<f4", &[2], None, wide)), Error::Overflow(_)));
        assert!(matches!(check(usm("<f4", &[1; MAX_NDIM + 1], None, 0)), Error::Axis(_)));
        let bounded = Interface { memory_bytes: Some(8), ..usm("<f4", &[3], None, 0) };
        assert!(matches!(check(bounded), Error::OutOfBounds(_)));
        let place = usm("<f4", &[3], None, 0).check().unwrap();
        assert!(matches!(place.start(0), Err(Error::Value(_))));
        assert!(matches!(place.start(2), Err(Error::Value(_))));
        assert!(matches!(place.start(-4), Err(Error::OutOfBounds(_))));
        assert!(matches!(place.start(i128::from(u64::MAX) - 3), Err(Error::OutOfBounds(_))));
    }

    /// Every address that the numbers name, in wide arithmetic; `None` where there are too many to list.
    fn addresses(interface: &Interface<'_>, itemsize: i128) -> Option<Vec<i128>> {
        let unit = if interface.convention == Convention::Usm { itemsize } else { 1 };
        let mut found = vec![interface.offset * unit];
        let mut row = itemsize;
        let mut natural: Vec<i128> = Vec::new();
        for &extent in interface.shape.iter().rev() {
            natural.insert(0, row);
            row *= extent;
        }
        for (axis, &extent) in interface.shape.iter().enumerate() {
            let stride = interface.strides.map_or(natural[axis], |strides| strides[axis] * unit);
            if !(0..=8).contains(&extent) {
                return None;
            }
            found = found.iter().flat_map(|first| (0..extent).map(move |i| first + i * stride)).collect();
        }
        Some(found)
    }

    proptest! {
        #[test]
        fn accepted_means_that_every_element_is_inside(
            dtype in prop::sample::select(Dtype::ALL.iter().copied().filter(|d| typestr(*d).is_some()).collect::<Vec<_>>()),
            shape in prop::collection::vec(0_i128..6, 0..4),
            strides in prop::collection::vec(-20_i128..20, 0..4),
            with_strides in any::<bool>(),
            offset in -3_i128..40,
            memory in prop::option::of(0_usize..600),
            array in any::<bool>(),
        ) {
            let convention = if array { Convention::Array } else { Convention::Usm };
            let offset = if array { 0 } else { offset };
            let interface = Interface {
                convention,
                version: convention.version(),
                typestr: typestr(dtype).unwrap(),
                shape: &shape,
                strides: with_strides.then_some(&strides),
                offset,
                memory_bytes: memory,
            };
            let size = dtype.size() as i128;
            let fits = !with_strides || strides.len() == shape.len();
            let listed = if fits { addresses(&interface, size) } else { None };
            match interface.check() {
                Ok(place) => {
                    prop_assert!(fits);
                    let listed = listed.unwrap();
                    if listed.is_empty() {
                        prop_assert_eq!(place.layout.len(), 0);
                    } else {
                        let (low, high) = (*listed.iter().min().unwrap(), listed.iter().max().unwrap() + size);
                        if array {
                            prop_assert_eq!((low, high - low), (-(place.before as i128), place.bytes as i128));
                        } else {
                            prop_assert!(low >= 0);
                            prop_assert_eq!(high, place.bytes as i128);
                        }
                        if let Some(memory) = memory {
                            prop_assert!(low >= 0 && high <= memory as i128);
                        }
                    }
                }
                Err(error) => {
                    // With the right number of strides, only a place outside the memory or odd bytes are wrong.
                    if let Some(listed) = listed {
                        let outside = listed.iter().any(|&a| (!array || memory.is_some()) && a < 0)
                            || memory.is_some_and(|m| listed.iter().any(|&a| a + size > m as i128));
                        let odd = array && with_strides && strides.iter().any(|s| s % size != 0);
                        let empty = offset < 0 || memory.is_some_and(|m| offset * size > m as i128);
                        prop_assert!(outside || odd || empty, "{}", error);
                    }
                }
            }
        }

        #[test]
        fn any_numbers_are_taken_or_refused(
            version in prop_oneof![Just(1_i128), Just(3), any::<i128>()],
            text in "\\PC{0,3}|[<>|=][?a-z][0-9]{1,2}",
            shape in prop::collection::vec(prop_oneof![0_i128..9, any::<i128>()], 0..5),
            strides in prop::option::of(prop::collection::vec(prop_oneof![-9_i128..9, any::<i128>()], 0..5)),
            offset in prop_oneof![Just(0_i128), any::<i128>()],
            memory in prop::option::of(any::<usize>()),
            address in any::<i128>(),
            array in any::<bool>(),
        ) {
            let convention = if array { Convention::Array } else { Convention::Usm };
            let interface = Interface {
                convention, version, typestr: &text, shape: &shape, strides: strides.as_deref(), offset,
                memory_bytes: memory,
            };
            if let Ok(place) = interface.check()
                && let Ok(start) = place.start(address)
            {
                prop_assert!(start.checked_add(place.bytes).is_some());
                if place.bytes > 0 {
                    prop_assert_eq!(start as i128 + place.before as i128, address);
                }
            }
        }
    }
}
