//! `__sycl_usm_array_interface__` (dpctl, version 1): arrays in USM described by numbers, as a dictionary of Python
//! carries them. Strides and offset count elements, from the start of an allocation.
//!
//! Here numbers are checked; taking a dictionary apart is the business of whoever has one.
//!
//! ```
//! use stridewise_core::Dtype;
//! use stridewise_exchange::interface::{Interface, VERSION};
//!
//! let (version, shape) = (i128::from(VERSION), &[2, 3][..]);
//! let told = Interface { version, typestr: "=f4", shape, strides: None, offset: 0, memory_bytes: Some(24) };
//! let place = told.check()?;
//! assert_eq!((place.dtype, place.layout.shape(), place.bytes), (Dtype::F32, &[2, 3][..], 24));
//! assert!(Interface { memory_bytes: Some(20), ..told }.check().is_err()); // the last element would lie behind its end
//! # Ok::<(), stridewise_core::Error>(())
//! ```

use stridewise_core::{Dtype, Error, Layout, MAX_NDIM, Order, Result, Strides, backend::Dims};

use crate::typestr::dtype_of_typestr;

/// The version that is known and written.
pub const VERSION: i32 = 1;

/// What a dictionary says, read but not believed.
#[derive(Clone, Debug)]
pub struct Interface<'a> {
    /// `version`.
    pub version: i128,
    /// `typestr`.
    pub typestr: &'a str,
    /// `shape`.
    pub shape: &'a [i128],
    /// `strides`; `None`: row-major.
    pub strides: Option<&'a [i128]>,
    /// `offset`, in elements.
    pub offset: i128,
    /// Bytes of the memory from the address on, where they are known.
    pub memory_bytes: Option<usize>,
}

/// Where the elements are.
#[derive(Clone, Debug)]
pub struct Place {
    /// The type of the elements.
    pub dtype: Dtype,
    /// Over the memory that begins at the address.
    pub layout: Layout,
    /// Bytes from the address to the end of the last element; 0 without elements.
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
        if self.version != i128::from(VERSION) {
            return Err(Error::value(
                "version",
                self.version,
                format!("version {VERSION}"),
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
                let wide = |&stride: &i128| {
                    isize::try_from(stride).map_err(|_| {
                        Error::overflow(
                            "strides",
                            stride,
                            "distances within the address space",
                            "this is a defect of the library that made the interface",
                        )
                    })
                };
                Some(strides.iter().map(wide).collect::<Result<Strides>>()?)
            }
        };
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
            Layout::new(&shape, strides.as_deref(), Some(offset), Order::C, itemsize, self.memory_bytes)?;
        // `Layout::new` has checked that these fit `isize`.
        let bytes = layout.required_elements() * itemsize;
        Ok(Place { dtype, layout, bytes })
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
        let end = address.saturating_add(self.bytes as i128);
        let (Ok(start), true) = (usize::try_from(address), end <= usize::MAX as i128) else {
            return Err(Error::out_of_bounds(
                "data",
                format!("{address}, with {} bytes from there on", self.bytes),
                "elements within the address space",
                "this is a defect of the library that made the interface",
            ));
        };
        if !start.is_multiple_of(self.dtype.align()) {
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

/// The strides that an interface gives: `None` for row-major order.
#[must_use]
pub fn usm_strides(layout: &Layout) -> Option<&[isize]> {
    (!layout.is_c_contiguous()).then(|| layout.strides())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::typestr::typestr;

    fn usm<'a>(
        typestr: &'a str,
        shape: &'a [i128],
        strides: Option<&'a [i128]>,
        offset: i128,
    ) -> Interface<'a> {
        Interface { version: 1, typestr, shape, strides, offset, memory_bytes: None }
    }

    #[test]
    fn what_dpctl_writes() {
        // A view (3, 2) of 4 × 5 elements of float32; a reversed one; one without dimensions.
        let place = usm("|f4", &[3, 2], Some(&[5, 2]), 6).check().unwrap();
        assert_eq!((place.dtype, place.layout.offset(), place.bytes), (Dtype::F32, 6, 4 * (6 + 10 + 2 + 1)));
        let place = usm("<f4", &[10], Some(&[-2]), 19).check().unwrap();
        assert_eq!((place.layout.strides(), place.bytes), (&[-2][..], 80));
        let place = usm("|b1", &[], None, 0).check().unwrap();
        assert_eq!((place.layout.len(), place.bytes), (1, 1));
        let place = usm("<c16", &[0, 7], None, 0).check().unwrap();
        assert_eq!((place.bytes, place.start(0).unwrap()), (0, 0));
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
        let mut found = vec![interface.offset * itemsize];
        let mut row = itemsize;
        let mut natural: Vec<i128> = Vec::new();
        for &extent in interface.shape.iter().rev() {
            natural.insert(0, row);
            row *= extent;
        }
        for (axis, &extent) in interface.shape.iter().enumerate() {
            let stride = interface.strides.map_or(natural[axis], |strides| strides[axis] * itemsize);
            if !(0..=8).contains(&extent) {
                return None;
            }
            found = found.iter().flat_map(|first| (0..extent).map(move |i| first + i * stride)).collect();
        }
        Some(found)
    }

    /// How many random cases; the checks of a release ask for more.
    fn cases() -> u32 {
        std::env::var("STRIDEWISE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(4000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases()))]

        #[test]
        fn accepted_means_that_every_element_is_inside(
            dtype in prop::sample::select(Dtype::ALL.iter().copied().filter(|d| typestr(*d).is_some()).collect::<Vec<_>>()),
            shape in prop::collection::vec(0_i128..6, 0..4),
            strides in prop::collection::vec(-20_i128..20, 0..4),
            with_strides in any::<bool>(),
            offset in -3_i128..40,
            memory in prop::option::of(0_usize..600),
        ) {
            let interface = Interface {
                version: 1,
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
                        prop_assert!(low >= 0);
                        prop_assert_eq!(high, place.bytes as i128);
                        prop_assert!(memory.is_none_or(|memory| high <= memory as i128));
                    }
                }
                Err(error) => {
                    // With the right number of strides, only a place outside the memory is wrong.
                    if let Some(listed) = listed {
                        let end = memory.map_or(i128::MAX, |memory| memory as i128);
                        let outside = listed.iter().any(|&a| a < 0 || a + size > end);
                        prop_assert!(outside || offset < 0 || offset * size > end, "{}", error);
                    }
                }
            }
        }

        #[test]
        fn any_numbers_are_taken_or_refused(
            version in prop_oneof![Just(1_i128), Just(3), any::<i128>()],
            text in "[ -~¡-ſ€𝄞]{0,3}|[<>|=][?a-z][0-9]{1,2}",
            shape in prop::collection::vec(prop_oneof![0_i128..9, any::<i128>()], 0..5),
            strides in prop::option::of(prop::collection::vec(prop_oneof![-9_i128..9, any::<i128>()], 0..5)),
            offset in prop_oneof![Just(0_i128), any::<i128>()],
            memory in prop::option::of(any::<usize>()),
            address in any::<i128>(),
        ) {
            let interface = Interface {
                version, typestr: &text, shape: &shape, strides: strides.as_deref(), offset,
                memory_bytes: memory,
            };
            if let Ok(place) = interface.check()
                && let Ok(start) = place.start(address)
            {
                prop_assert!(start.checked_add(place.bytes).is_some());
                if place.bytes > 0 {
                    prop_assert_eq!(start as i128, address);
                }
            }
        }
    }
}
