//! The processor's memory, lent by others: where the elements are that a description speaks of, and arrays on them.
//!
//! What comes in is a pointer with extents and strides ([`Strided`]). They are checked, an array is made on the memory, and the lender
//! gets it back ([`GiveBack`]) when the last array on it is gone. What goes out has to be memory that host code may touch
//! ([`check_visible`]), or is a copy ([`visible_copy`]).
//!
//! ```
//! # use stridewise as _;
//! use stridewise_core::Dtype;
//! use stridewise_exchange::host::{Strided, host_queue};
//!
//! let mut lent = vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
//! let data = lent.as_mut_ptr().cast();
//! let every_second =
//!     Strided { data, dtype: Dtype::F32, shape: &[3], byte_strides: Some(&[8]), read_only: false };
//! // SAFETY: the vector has these elements, is nobody else's, and lives until it is given back.
//! let array = unsafe { every_second.import(&host_queue()?, Box::new(move || drop(lent))) }?;
//! assert_eq!(array.to_vec::<f32>()?, [1.0, 3.0, 5.0]);
//! # Ok::<(), stridewise_core::Error>(())
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use stridewise_core::backend::HostAccess;
use stridewise_core::{
    Dtype, Error, Layout, Order, Queue, Result, Strides, UsmArray, UsmKind, UsmMemory, UsmPtr,
    default_device, each_device,
};

/// Gives memory back to its lender.
pub type GiveBack = Box<dyn FnOnce() + Send>;

/// The cached queue of the host device, which is the one that works on the processor's memory in place.
///
/// # Errors
/// [`Error::DeviceSelection`] where there is no host device; what the runtime reports.
pub fn host_queue() -> Result<Queue> {
    let default = default_device()?;
    if default.capabilities().process_memory {
        return Queue::default_queue();
    }
    let host = each_device().find(|device| device.capabilities().process_memory);
    match host {
        Some(device) => device.queue(),
        None => Err(Error::device_selection(
            "queue",
            "none of the host",
            "a host device",
            "use the `stridewise` crate, which brings the host backend",
        )),
    }
}

/// Whether a queue's device works on the processor's memory in place, as [`host_queue`]'s does.
#[must_use]
pub fn is_host_queue(queue: &Queue) -> bool {
    queue.device().capabilities().process_memory
}

/// Refuses an array whose elements host code may not touch where they are.
///
/// # Errors
/// [`Error::Unsupported`].
pub fn check_visible(array: &UsmArray) -> Result<()> {
    let (device, kind) = (array.device(), array.usm_kind());
    if device.capabilities().host_access(kind) == HostAccess::Direct {
        return Ok(());
    }
    Err(Error::unsupported(
        "array",
        format!("in {kind} memory of {}", device.filter_string()),
        "memory that host code may touch",
        "copy the array there first: to shared memory with `to_kind` (in Python usm_type=\"shared\", or \
         device=\"cpu\" in from_dlpack), or to the host's queue with `to_queue` from a device with memory of its own",
    ))
}

/// A copy of an array in memory that host code may touch: shared memory of the array's device where it has such, else of
/// the host.
///
/// # Errors
/// [`Error::Alloc`]; what the copy reports.
pub fn visible_copy(array: &UsmArray) -> Result<UsmArray> {
    let (capabilities, own) = (array.device().capabilities(), array.usm_kind());
    let direct = |kind: &UsmKind| capabilities.host_access(*kind) == HostAccess::Direct;
    // Between kinds that the host may touch there is nothing to copy.
    let candidates = if own == UsmKind::Device { &[UsmKind::Shared, UsmKind::Host][..] } else { &[own] };
    match candidates.iter().copied().find(direct) {
        Some(kind) if kind == own => array.copy(),
        Some(kind) => array.to_kind(kind),
        // Another device's copy is in memory of the same kind.
        None => array.to_queue(&host_queue()?)?.to_kind(UsmKind::Shared),
    }
}

/// Elements in the processor's memory as NumPy's interface and the buffer protocol describe them.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    /// The element at multi-index zero.
    pub data: *mut u8,
    /// The type of the elements.
    pub dtype: Dtype,
    /// The extents.
    pub shape: &'a [i64],
    /// Bytes to step per dimension; `None` for row-major order.
    pub byte_strides: Option<&'a [i64]>,
    /// Whether nothing may be written.
    pub read_only: bool,
}

impl Strided<'_> {
    /// An array on these elements, of kind host, on a queue of the host. The memory is given back when the last array on it
    /// is gone and the work on it is done; without elements at once. Where this fails, it is the caller's still.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Axis`], [`Error::Overflow`], [`Error::OutOfBounds`] and [`Error::Value`] where the numbers
    /// cannot be; [`Error::Unsupported`] for strides that are no whole elements, and for a queue of another device.
    ///
    /// # Safety
    /// The memory between the lowest and the highest element that these numbers speak of is there until it is given back, and
    /// nothing accesses it in conflict with work of the engine.
    pub unsafe fn import(&self, queue: &Queue, give_back: GiveBack) -> Result<UsmArray> {
        let strides = match self.byte_strides {
            Some(strides) => Some(self.elements(strides)?),
            None => None,
        };
        let place = Place::new(self.dtype, self.data.addr(), 0, self.shape, strides.as_deref())?;
        // SAFETY: the caller's promise.
        unsafe { place.adopt(self.data, (queue, Room::Process), self.read_only, give_back) }
    }

    /// As [`import`](Self::import), of memory of a device: an array on a queue of that, of the kind that the memory is.
    ///
    /// # Errors
    /// As for [`import`](Self::import); [`Error::Value`] where the elements are in no memory of the queue's device.
    ///
    /// # Safety
    /// As for [`import`](Self::import), of what the device accesses.
    pub unsafe fn import_of_device(&self, queue: &Queue, give_back: GiveBack) -> Result<UsmArray> {
        let strides = self.byte_strides.map(|strides| self.elements(strides)).transpose()?;
        let place = Place::new(self.dtype, self.data.addr(), 0, self.shape, strides.as_deref())?;
        // SAFETY: the caller's promise.
        unsafe { place.adopt(self.data, (queue, Room::Device), self.read_only, give_back) }
    }

    /// Whether an array may be on these elements: they are whole elements apart, each at a multiple of its alignment.
    #[must_use]
    pub fn is_adoptable(&self) -> bool {
        let whole = |strides| self.elements(strides).is_ok();
        let empty = self.shape.contains(&0);
        empty || (self.data.addr().is_multiple_of(self.dtype.align()) && self.byte_strides.is_none_or(whole))
    }

    /// An array with a copy of these elements, which may be anywhere, and (`swapped`) in the other byte order; of kind host, on
    /// a queue of the host. The memory is given back when it is copied.
    ///
    /// # Errors
    /// As for [`import`](Self::import); [`Error::Alloc`].
    ///
    /// # Safety
    /// As for [`import`](Self::import).
    pub unsafe fn copied(&self, queue: &Queue, swapped: bool, give_back: GiveBack) -> Result<UsmArray> {
        let size = self.dtype.size();
        // The parts of complex numbers are numbers of their own.
        let number = if swapped { self.dtype.real_part().size() } else { size };
        let mut shape: SmallVec<[i64; 6]> = self.shape.into();
        let mut strides: SmallVec<[i64; 6]> = match self.byte_strides {
            Some(strides) => strides.into(),
            None => {
                let mut next = size as i64;
                let mut strides: SmallVec<[i64; 6]> = smallvec::smallvec![0; shape.len()];
                for (stride, &extent) in strides.iter_mut().zip(&shape).rev() {
                    *stride = next;
                    next = next.saturating_mul(extent.max(1));
                }
                strides
            }
        };
        // At most 16 bytes.
        shape.extend([(size / number) as i64, number as i64]);
        strides.extend([number as i64, 1]);
        let bytes = Strided {
            data: self.data,
            dtype: Dtype::U8,
            shape: &shape,
            byte_strides: Some(&strides),
            read_only: true,
        };
        // SAFETY: the caller's promise; these are the bytes of the elements.
        let bytes = unsafe { bytes.import(queue, give_back)? };
        let extents = &bytes.shape()[..self.shape.len()];
        if bytes.is_empty() {
            return UsmArray::empty(queue, extents, self.dtype, UsmKind::Host);
        }
        let copy = if swapped { bytes.flip(Some(&[-1]))? } else { bytes.clone() }.copy_in(Order::C)?;
        // What gives memory back may take it away at once.
        copy.wait()?;
        UsmArray::builder(extents).dtype(self.dtype).buffer(&copy.usm_data()?).build()
    }

    /// Strides in elements. Those along which nothing is stepped do not count.
    fn elements(&self, strides: &[i64]) -> Result<SmallVec<[i64; 4]>> {
        // As large as an element: 16 bytes at most.
        let size = self.dtype.size() as i64;
        let stepped = |axis: usize| self.shape.get(axis).is_none_or(|&extent| extent > 1);
        let convert = |(axis, &stride): (usize, &i64)| match stride % size {
            0 => Ok(stride / size),
            _ if !stepped(axis) => Ok(0),
            _ => Err(Error::unsupported(
                "strides",
                format!("{strides:?} bytes"),
                format!("multiples of the {size} bytes of {}", self.dtype),
                "copy the array first, in NumPy with x.copy()",
            )),
        };
        strides.iter().enumerate().map(convert).collect()
    }
}

/// Whose memory described elements are in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Room {
    /// The processor's.
    Process,
    /// That of a queue's device, which knows of what kind an address is.
    Device,
}

/// Where described elements are.
#[derive(Debug)]
pub(crate) struct Place {
    dtype: Dtype,
    /// From the lowest element on.
    pub(crate) layout: Layout,
    /// Bytes from the described address to the lowest element.
    pub(crate) step: isize,
    /// Bytes from the lowest element to the end of the highest.
    pub(crate) bytes: usize,
}

impl Place {
    /// Checks numbers against each other: `offset` bytes from an address is the element at multi-index zero; strides are in
    /// elements, `None` for row-major order.
    ///
    /// # Errors
    /// As for [`Strided::import`].
    pub(crate) fn new(
        dtype: Dtype,
        address: usize,
        offset: u64,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Result<Self> {
        let mut extents: SmallVec<[usize; 4]> = SmallVec::new();
        for &extent in shape {
            extents.push(usize::try_from(extent).map_err(|_| {
                let help = "count the elements along each axis";
                Error::shape("shape", format!("{shape:?}"), "no extent below zero", help)
            })?);
        }
        let wide = |&stride: &i64| {
            let help = "this is a defect of the library that the array is from";
            isize::try_from(stride)
                .map_err(|_| Error::overflow("strides", stride, "distances within the address space", help))
        };
        let strides = match strides {
            Some(strides) => Some(strides.iter().map(wide).collect::<Result<Strides>>()?),
            None => None,
        };
        // Without an offset, the lowest element is where the layout begins.
        let layout = Layout::new(&extents, strides.as_deref(), None, Order::C, dtype.size(), None)?;
        if layout.is_empty() {
            return Ok(Self { dtype, layout, step: 0, bytes: 0 });
        }
        if address == 0 {
            return Err(Error::value(
                "data",
                format!("null, with shape {shape:?}"),
                "the address of the elements",
                "this is a defect of the library that the array is from",
            ));
        }
        // `Layout::new` has checked that these fit `isize`.
        let bytes = layout.required_elements() * dtype.size();
        let below = (layout.offset() * dtype.size()) as i128;
        let step = i128::from(offset) - below;
        let start = address as i128 + step;
        let inside = start > 0 && start + bytes as i128 <= usize::MAX as i128;
        let (Ok(step), true) = (isize::try_from(step), inside) else {
            return Err(Error::out_of_bounds(
                "byte_offset",
                format!("{offset} from address {address:#x}, with {below} bytes of elements before it"),
                "elements within the address space",
                "this is a defect of the library that the array is from",
            ));
        };
        if start.rem_euclid(dtype.align() as i128) != 0 {
            return Err(Error::value(
                "data",
                format!("an element at address {start:#x}"),
                format!("a multiple of {} bytes, the alignment of {dtype}", dtype.align()),
                "copy the array first, in the library that it is from",
            ));
        }
        Ok(Self { dtype, layout, step, bytes })
    }

    /// An array on the elements, `data` being the address that they were described by, through which nothing is written where
    /// they are read-only; see [`Strided::import`].
    ///
    /// # Safety
    /// As for [`Strided::import`].
    pub(crate) unsafe fn adopt(
        &self,
        data: *mut u8,
        (queue, room): (&Queue, Room),
        read_only: bool,
        give_back: GiveBack,
    ) -> Result<UsmArray> {
        let ptr = UsmPtr::new(data).byte_offset(self.step);
        let kind = match room {
            Room::Process if is_host_queue(queue) => UsmKind::Host,
            Room::Process => {
                return Err(Error::unsupported(
                    "queue",
                    queue,
                    "a queue of the host device, which works on the processor's memory in place",
                    "import on a queue of the host, then copy with `to_queue`",
                ));
            }
            Room::Device if self.layout.is_empty() => UsmKind::Device,
            Room::Device => queue.device().backend().kind_of(ptr).ok_or_else(|| {
                Error::value(
                    "data",
                    format!("{ptr:?}"),
                    format!("an address in memory of {}", queue.device()),
                    "hand in memory that was allocated by the device's driver, and is not given up",
                )
            })?,
        };
        if self.layout.is_empty() {
            let mut array = UsmArray::empty(queue, self.layout.shape(), self.dtype, kind)?;
            array.set_writable(!read_only);
            give_back();
            return Ok(array);
        }
        // Should anything below fail, the memory goes without being given back: it is the caller's then.
        let adopted = Arc::new(AtomicBool::new(false));
        let deleter = {
            let adopted = Arc::clone(&adopted);
            Box::new(move || {
                if adopted.load(Ordering::Acquire) {
                    give_back();
                }
            })
        };
        // SAFETY: these are the bytes from the lowest element to the highest, which the caller promises are there until they
        // are given back; the processor's memory is what the host device uses, and what another knows as its own that device.
        let memory = unsafe { UsmMemory::from_foreign(kind, ptr, self.bytes, queue, Some(deleter))? };
        if read_only {
            memory.forbid_writing();
        }
        let array = UsmArray::builder(self.layout.shape())
            .dtype(self.dtype)
            .strides(self.layout.strides())
            .offset(self.layout.offset())
            .buffer(&memory)
            .build()?;
        adopted.store(true, Ordering::Release);
        Ok(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicUsize;

    fn counted() -> (Arc<AtomicUsize>, GiveBack) {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let give_back = move || {
            counter.fetch_add(1, Ordering::SeqCst);
        };
        (count, Box::new(give_back))
    }

    #[test]
    fn byte_strides_become_elements() {
        let mut data: Vec<i32> = (0..12).collect();
        let (count, give_back) = counted();
        let strided = Strided {
            data: std::ptr::null_mut(),
            dtype: Dtype::I32,
            shape: &[3, 1, 2],
            // Along the axis of one element, nothing is stepped.
            byte_strides: Some(&[-16, 7, -8]),
            read_only: true,
        };
        // SAFETY: elements of a vector that outlives the array and is not used meanwhile.
        let array = unsafe {
            let strided = Strided { data: data.as_mut_ptr().add(11).cast(), ..strided };
            strided.import(&host_queue().unwrap(), give_back).unwrap()
        };
        assert_eq!(array.to_vec::<i32>().unwrap(), [11, 9, 7, 5, 3, 1]);
        assert!(!array.flags().writable);
        // Nor by way of the memory.
        let memory = array.usm_data().unwrap();
        assert!(matches!(memory.copy_from_host(0, &[1; 4]), Err(Error::Borrow(_))));
        assert!(matches!(memory.queue().memset(&memory, 0, 1, 4, &[]), Err(Error::Borrow(_))));
        let mut again = UsmArray::builder([2]).dtype(Dtype::I32).buffer(&memory).build().unwrap();
        again.set_writable(true);
        assert!(!again.flags().writable);
        drop((array, memory, again));
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn what_is_refused_is_not_given_back() {
        let mut data = [0_i64; 4];
        let good = Strided {
            data: data.as_mut_ptr().cast(),
            dtype: Dtype::I64,
            shape: &[2, 2],
            byte_strides: None,
            read_only: false,
        };
        let wrong = [
            Strided { byte_strides: Some(&[12, 8]), ..good },
            Strided { byte_strides: Some(&[8]), ..good },
            Strided { shape: &[-2, 2], ..good },
            Strided { shape: &[i64::MAX, 2], ..good },
            Strided { data: std::ptr::null_mut(), ..good },
            Strided { data: good.data.wrapping_add(1), ..good },
            Strided { byte_strides: Some(&[i64::MIN, 8]), ..good },
            Strided { shape: &[1; 40], ..good },
        ];
        for strided in wrong {
            let (count, give_back) = counted();
            // SAFETY: what is refused is never followed, which is what is tested.
            let outcome = unsafe { strided.import(&host_queue().unwrap(), give_back) };
            assert!(outcome.is_err(), "{strided:?}");
            assert_eq!(count.load(Ordering::SeqCst), 0, "{strided:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Any strides in bytes over real memory: refused where they are no whole elements, else read as they say.
        #[test]
        fn elements_are_read_where_the_strides_say(
            dims in prop::collection::vec((0_i64..5, prop_oneof![4 => (-9_i64..9).prop_map(|s| s * 4), 1 => -40_i64..40]), 0..4),
            first in 0_usize..64,
        ) {
            let mut data: Vec<i32> = (0..64).collect();
            let (shape, byte_strides): (Vec<i64>, Vec<i64>) = dims.iter().copied().unzip();
            let (count, give_back) = counted();
            // SAFETY: the vector outlives the array and is not used meanwhile; what is outside of it is not read below.
            let outcome = unsafe {
                let data = data.as_mut_ptr().wrapping_add(first).cast();
                let strided =
                    Strided { data, dtype: Dtype::I32, shape: &shape, byte_strides: Some(&byte_strides), read_only: false };
                strided.import(&host_queue().unwrap(), give_back)
            };
            let whole = dims.iter().all(|&(extent, stride)| extent <= 1 || stride % 4 == 0);
            prop_assert_eq!(outcome.is_ok(), whole);
            let Ok(array) = outcome else {
                prop_assert_eq!(count.load(Ordering::SeqCst), 0);
                return Ok(());
            };
            // Every multi-index, the last one fastest.
            let mut places = vec![first as i64];
            for &(extent, stride) in &dims {
                places = places.iter().flat_map(|&p| (0..extent).map(move |i| p + i * (stride / 4))).collect();
            }
            if places.iter().all(|place| (0..64).contains(place)) {
                let expected: Vec<i32> = places.iter().map(|&place| place as i32).collect();
                prop_assert_eq!(array.to_vec::<i32>().unwrap(), expected);
            }
            drop(array);
            prop_assert_eq!(count.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn what_cannot_be_adopted_is_copied() {
        let queue = host_queue().unwrap();
        // Records of a byte and a number, in either byte order.
        for swapped in [false, true] {
            let mut records: Vec<u8> = Vec::new();
            for i in 0..6_i32 {
                let value = f64::from(i) + 0.5;
                records.push(0xee);
                records.extend(if swapped { value.to_be_bytes() } else { value.to_le_bytes() });
            }
            let (count, give_back) = counted();
            let strided = Strided {
                data: records.as_mut_ptr().wrapping_add(9 * 5 + 1),
                dtype: Dtype::F64,
                shape: &[3, 2],
                byte_strides: Some(&[-18, -9]),
                read_only: true,
            };
            assert!(!strided.is_adoptable());
            // SAFETY: within a vector that outlives the copy and is not used meanwhile.
            let array = unsafe { strided.copied(&queue, swapped, give_back).unwrap() };
            assert_eq!(count.load(Ordering::SeqCst), 1);
            records.fill(0);
            // On a big-endian machine the two are the other way round.
            if cfg!(target_endian = "little") {
                assert_eq!(array.to_vec::<f64>().unwrap(), [5.5, 4.5, 3.5, 2.5, 1.5, 0.5]);
            }
            assert!(array.flags().writable && array.flags().c_contiguous);
        }
        let mut parts = [1.0_f32, 2.0, 3.0, 4.0]
            .map(|part| u32::from_ne_bytes(part.to_bits().swap_bytes().to_ne_bytes()));
        let strided = Strided {
            data: parts.as_mut_ptr().cast(),
            dtype: Dtype::C64,
            shape: &[2],
            byte_strides: None,
            read_only: false,
        };
        assert!(strided.is_adoptable());
        // SAFETY: as above.
        let array = unsafe { strided.copied(&queue, true, Box::new(|| ())).unwrap() };
        let complex = stridewise_core::Complex::<f32>::new;
        assert_eq!(
            array.to_vec::<stridewise::Complex<f32>>().unwrap(),
            [complex(1.0, 2.0), complex(3.0, 4.0)]
        );
        for shape in [&[0_i64, 3][..], &[]] {
            let strided = Strided { shape, dtype: Dtype::U32, ..strided };
            // SAFETY: as above.
            let array = unsafe { strided.copied(&queue, true, Box::new(|| ())).unwrap() };
            assert_eq!(array.shape().len(), shape.len());
        }
    }

    #[test]
    fn copies_are_visible_to_the_host() {
        let queue = host_queue().unwrap();
        for kind in UsmKind::ALL {
            let array = UsmArray::from_slice(&queue, &[3], &[1_u8, 2, 3], kind).unwrap();
            assert_eq!(check_visible(&array).is_ok(), kind != UsmKind::Device);
            let copy = visible_copy(&array).unwrap();
            check_visible(&copy).unwrap();
            assert_ne!(copy.usm_data().unwrap().ptr(), array.usm_data().unwrap().ptr());
            assert_eq!(copy.to_vec::<u8>().unwrap(), [1, 2, 3]);
        }
    }
}
