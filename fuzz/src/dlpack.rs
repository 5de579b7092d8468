//! Tensors of DLPack with any fields, over real memory: taken exactly where they can be, read and written where they say,
//! and given back once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stridewise::Dtype;
use stridewise_exchange::dlpack::{
    DL_CPU, DL_CUDA_HOST, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion,
    DLTensor, FLAG_READ_ONLY, ManagedTensor, VERSION, export, give_back, import,
};
use stridewise_exchange::host::host_queue;

use crate::lent::{self, Lent};
use crate::random::Rng;
use crate::reach;

/// Entries that shape and strides have room for, whatever the number of dimensions says.
const ROOM: usize = 40;

pub(crate) fn run(data: &[u8]) {
    let mut rng = Rng::new(data);
    while !rng.is_used_up() {
        if rng.chance(30) {
            one::<DLManagedTensor>(&mut rng, |tensor, _, _| DLManagedTensor {
                dl_tensor: tensor,
                manager_ctx: std::ptr::null_mut(),
                deleter: Some(returned::<DLManagedTensor>),
            });
        } else {
            one::<DLManagedTensorVersioned>(&mut rng, |tensor, version, flags| DLManagedTensorVersioned {
                version,
                manager_ctx: std::ptr::null_mut(),
                deleter: Some(returned::<DLManagedTensorVersioned>),
                flags,
                dl_tensor: tensor,
            });
        }
    }
}

/// What a tensor's pointers point into.
struct Peer {
    shape: Vec<i64>,
    strides: Vec<i64>,
    returned: Arc<AtomicUsize>,
}

unsafe extern "C" fn returned<M: ManagedTensor>(managed: *mut M) {
    // SAFETY: the tensor and its peer are boxes that `one` gave up, and a deleter is called once.
    let peer = unsafe {
        let mut managed = Box::from_raw(managed);
        Box::from_raw((*managed.links().1).cast::<Peer>())
    };
    peer.returned.fetch_add(1, Ordering::SeqCst);
}

fn one<M: ManagedTensor>(rng: &mut Rng, make: fn(DLTensor, DLPackVersion, u64) -> M) {
    let dtype = *rng.pick(Dtype::ALL);
    let mut lent = Lent::new(dtype);
    let data_type = if rng.chance(95) {
        DLDataType::from(dtype)
    } else {
        DLDataType { code: rng.byte(), bits: rng.byte(), lanes: u16::from(rng.byte()) }
    };
    let count = rng.below(5);
    let ndim = if rng.chance(97) { count as i32 } else { rng.number() as i32 };
    let mut peer = Box::new(Peer {
        shape: rng.many(count, |rng| if rng.chance(90) { rng.below(6) as i64 } else { rng.number() }),
        strides: rng.many(count, Rng::number),
        returned: lent.counter(),
    });
    peer.shape.resize(ROOM, 1);
    peer.strides.resize(ROOM, 1);
    let shown = ndim.clamp(0, ROOM as i32) as usize;
    let row_major = rng.chance(30);
    let no_shape = rng.chance(2);
    let start = lent.start();
    let shift = if rng.chance(95) { 0 } else { rng.number() as isize };
    let data = if rng.chance(2) { std::ptr::null_mut() } else { start.wrapping_offset(shift) };
    let byte_offset =
        if rng.chance(80) { (rng.below(24) * dtype.size()) as u64 } else { rng.number().cast_unsigned() };
    let device_type = if rng.chance(97) { DL_CPU } else { rng.number() as i32 };
    let version = if rng.chance(95) {
        VERSION
    } else {
        DLPackVersion { major: u32::from(rng.byte()) % 3, minor: u32::from(rng.byte()) }
    };
    let flags = if rng.chance(30) { rng.next() } else { 0 };

    let tensor = DLTensor {
        data: data.cast(),
        device: DLDevice { device_type, device_id: 0 },
        ndim,
        dtype: data_type,
        shape: if no_shape { std::ptr::null_mut() } else { peer.shape.as_mut_ptr() },
        strides: if row_major { std::ptr::null_mut() } else { peer.strides.as_mut_ptr() },
        byte_offset,
    };
    let (shape, strides) = (peer.shape[..shown].to_vec(), peer.strides[..shown].to_vec());
    let mut managed = Box::new(make(tensor, version, flags));
    *managed.links().1 = Box::into_raw(peer).cast();
    let managed = Box::into_raw(managed);

    let elements = if row_major { reach::row_major(&reach::wide(&shape)) } else { reach::wide(&strides) };
    let known = (ndim >= 0 && (ndim as usize) <= stridewise::MAX_NDIM)
        && (!no_shape || ndim == 0)
        && matches!(device_type, DL_CPU | DL_CUDA_HOST)
        && (!M::HAS_FLAGS || version.major == VERSION.major);
    let expected = Dtype::try_from(data_type)
        .ok()
        .filter(|&dtype| known && can_be(dtype, data.addr(), byte_offset, &shape, &elements));

    let queue = host_queue().unwrap();
    // SAFETY: a tensor that is owned here, whose shape and strides have room for as many entries as are read; where its
    // elements are outside the lent memory they are not followed.
    let outcome = unsafe { import(managed, &queue) };
    assert_eq!(
        outcome.is_ok(),
        expected.is_some(),
        "{tensor:?} of {shape:?} and {strides:?}: {outcome:?}",
        outcome = outcome.as_ref().map(|array| array.layout())
    );
    let Ok(array) = outcome else {
        assert_eq!(lent.times_returned(), 0);
        // SAFETY: refused, so it is owned here still.
        unsafe { give_back(managed) };
        assert_eq!(lent.times_returned(), 1);
        return;
    };
    // What has no flags does not say that it may be written.
    let read_only = !M::HAS_FLAGS || flags & FLAG_READ_ONLY != 0;
    assert_eq!((Some(array.dtype()), array.flags().writable), (expected, !read_only));
    let size = array.itemsize() as i128;
    let steps: Vec<i128> = elements.iter().map(|step| step.saturating_mul(size)).collect();
    let first = data.addr() as i128 - start.addr() as i128 + i128::from(byte_offset);
    if let Some(places) = lent::places(first, &shape, &steps) {
        lent.check(rng, &array, &places);
    }
    let exported = rng.chance(30).then(|| export::<M>(&array, false));
    // A tensor without flags cannot say that it may not be written.
    if let Some(Err(error)) = &exported {
        assert!(read_only && !M::HAS_FLAGS, "{error}");
    }
    drop(if let Some(Ok(again)) = exported {
        // Out and in again: a description of the same elements, which holds the memory.
        drop(array);
        assert_eq!(lent.times_returned(), usize::from(shape.contains(&0)));
        // SAFETY: just exported, and owned here.
        let array = unsafe { import(again.as_ptr(), &queue) }.unwrap();
        assert_eq!((array.dtype(), array.flags().writable), (expected.unwrap(), !read_only));
        assert!(array.shape().iter().map(|&extent| extent as i64).eq(shape.iter().copied()));
        if let Some(places) = lent::places(first, &shape, &steps) {
            lent.check(rng, &array, &places);
        }
        array
    } else {
        array
    });
    assert_eq!(lent.times_returned(), 1, "{tensor:?} of {shape:?} and {strides:?}");
}

/// Whether there can be such elements, aligned and within the address space.
fn can_be(dtype: Dtype, address: usize, offset: u64, shape: &[i64], strides: &[i128]) -> bool {
    let shape = reach::wide(shape);
    let (Some(len), size) = (reach::len(&shape), dtype.size() as i128) else { return false };
    if len == 0 {
        return true;
    }
    let reach = reach::reach(&shape, strides);
    let zero = i128::from(offset);
    let (start, end) = (zero + reach.start * size, zero + reach.end * size);
    let (low, high) = (address as i128 + start, address as i128 + end);
    address != 0
        && (reach.end - reach.start) * size <= isize::MAX as i128
        && isize::try_from(start).is_ok()
        && low > 0
        && high <= usize::MAX as i128
        && low % dtype.align() as i128 == 0
}
