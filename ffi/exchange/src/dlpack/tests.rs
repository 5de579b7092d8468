//! Both directions, and every field wrong in turn.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use stridewise::{Device, Queue, UsmArray, UsmKind, s};
use stridewise_core::{Dtype, Error, MAX_LEN, MAX_NDIM, Op, Scalar};
use stridewise_null::{NullConfig, NullDevice};

use super::import::Description;
use super::*;
use crate::host::host_queue;

fn queue() -> Queue {
    host_queue().unwrap()
}

/// A tensor over memory of a test, which counts how often it is given back.
struct Peer {
    shape: Vec<i64>,
    strides: Vec<i64>,
    data: Vec<f64>,
    returned: Arc<AtomicUsize>,
}

unsafe extern "C" fn return_peer<M: ManagedTensor>(managed: *mut M) {
    // SAFETY: the tensor and its peer are boxes that `lend` gave up, and a deleter is called once.
    unsafe {
        let mut managed = Box::from_raw(managed);
        let context = *managed.links().1;
        let peer = Box::from_raw(context.cast::<Peer>());
        peer.returned.fetch_add(1, Ordering::SeqCst);
    }
}

fn lend<M: ManagedTensor>(
    shape: &[i64],
    strides: &[i64],
    first: usize,
    len: usize,
    flags: u64,
) -> (NonNull<M>, Arc<AtomicUsize>) {
    let returned = Arc::new(AtomicUsize::new(0));
    let mut peer = Box::new(Peer {
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        data: (0..len).map(|i| i as f64).collect(),
        returned: Arc::clone(&returned),
    });
    let tensor = DLTensor {
        data: peer.data.as_mut_ptr().cast(),
        device: DLDevice { device_type: DL_CPU, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: Dtype::F64.into(),
        shape: peer.shape.as_mut_ptr(),
        strides: peer.strides.as_mut_ptr(),
        byte_offset: (first * 8) as u64,
    };
    let mut managed = Box::new(M::wrap(tensor, return_peer::<M>, flags));
    *managed.links().1 = Box::into_raw(peer).cast();
    (NonNull::from(Box::leak(managed)), returned)
}

#[test]
fn the_structures_are_those_of_the_header() {
    assert_eq!(size_of::<DLTensor>(), 48);
    assert_eq!(size_of::<DLManagedTensor>(), 64);
    assert_eq!(size_of::<DLManagedTensorVersioned>(), 80);
    assert_eq!(std::mem::offset_of!(DLTensor, byte_offset), 40);
    assert_eq!(std::mem::offset_of!(DLManagedTensor, manager_ctx), 48);
    assert_eq!(std::mem::offset_of!(DLManagedTensorVersioned, deleter), 16);
    assert_eq!(std::mem::offset_of!(DLManagedTensorVersioned, flags), 24);
    assert_eq!(std::mem::offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
}

#[test]
fn dtypes_round_trip() {
    for &dtype in Dtype::ALL {
        assert_eq!(Dtype::try_from(DLDataType::from(dtype)).unwrap(), dtype);
    }
    let bf16 = DLDataType { code: 4, bits: 16, lanes: 1 };
    assert_eq!(Dtype::try_from(bf16).unwrap(), Dtype::Bf16);
}

fn round_trip<M: ManagedTensor>() {
    let queue = queue();
    for kind in [UsmKind::Host, UsmKind::Shared] {
        let array = UsmArray::from_slice(&queue, &[4, 5], &(0..20_i32).collect::<Vec<_>>(), kind).unwrap();
        let view = array.slice(s![.., ..;-2]).unwrap();
        let managed = export::<M>(&view, false).unwrap();
        // SAFETY: just exported.
        let tensor = unsafe { *managed.as_ref().tensor() };
        assert_eq!(tensor.data.addr(), array.usm_data().unwrap().ptr().addr() + 4 * 4);
        // SAFETY: two dimensions.
        let (shape, strides) = unsafe {
            (std::slice::from_raw_parts(tensor.shape, 2), std::slice::from_raw_parts(tensor.strides, 2))
        };
        assert_eq!((shape, strides), (&[4, 3][..], &[5, -2][..]));
        drop((array, view));
        // SAFETY: exported above and ours.
        let back = unsafe { import(managed.as_ptr(), &queue) }.unwrap();
        assert_eq!(back.to_vec::<i32>().unwrap(), [4, 2, 0, 9, 7, 5, 14, 12, 10, 19, 17, 15]);
        assert_eq!(back.usm_data().unwrap().ptr().addr() + back.offset() * 4, tensor.data.addr());
        // The form without flags cannot say that it may be written.
        assert_eq!(back.flags().writable, M::HAS_FLAGS);
        assert_eq!(back.assign(Scalar::I32(7)).is_ok(), M::HAS_FLAGS);
    }
}

#[test]
fn arrays_come_back_as_they_went() {
    round_trip::<DLManagedTensor>();
    round_trip::<DLManagedTensorVersioned>();
}

#[test]
fn pending_work_is_done_before_the_pointer_leaves() {
    let x = UsmArray::full(&queue(), &[100_000], Scalar::F32(2.0), UsmKind::Shared).unwrap();
    let y = x.binary(Op::Multiply, &x).unwrap().binary(Op::Add, &x).unwrap();
    let managed = export::<DLManagedTensorVersioned>(&y, false).unwrap();
    // SAFETY: just exported, and as long as said.
    let values =
        unsafe { std::slice::from_raw_parts(managed.as_ref().dl_tensor.data.cast::<f32>(), 100_000) };
    assert!(values.iter().all(|&v| v == 6.0));
    // SAFETY: ours, not used any more.
    unsafe { give_back(managed.as_ptr()) };
}

#[test]
fn any_thread_may_give_a_tensor_back() {
    let array = UsmArray::zeros(&queue(), &[3], Dtype::U8, UsmKind::Host).unwrap();
    let managed = export::<DLManagedTensorVersioned>(&array, false).unwrap().as_ptr().addr();
    std::thread::spawn(move || {
        // SAFETY: exported above and given back once.
        unsafe { give_back(std::ptr::with_exposed_provenance_mut::<DLManagedTensorVersioned>(managed)) }
    })
    .join()
    .unwrap();
}

#[test]
fn device_memory_does_not_leave() {
    let array = UsmArray::zeros(&queue(), &[3], Dtype::U8, UsmKind::Device).unwrap();
    let error = export::<DLManagedTensorVersioned>(&array, false).unwrap_err();
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("to_kind"), "{error}");
}

#[test]
fn read_only_arrays_say_so() {
    let x = UsmArray::zeros(&queue(), &[3], Dtype::F64, UsmKind::Host).unwrap();
    let repeated = x.broadcast_to(&[2, 3]).unwrap();
    assert!(matches!(export::<DLManagedTensor>(&repeated, false), Err(Error::Borrow(_))));
    let managed = export::<DLManagedTensorVersioned>(&repeated, true).unwrap();
    // SAFETY: just exported and ours.
    let back = unsafe {
        assert_eq!(managed.as_ref().flags, FLAG_READ_ONLY | FLAG_IS_COPIED);
        import(managed.as_ptr(), &queue()).unwrap()
    };
    assert!(!back.flags().writable);
    assert!(matches!(back.assign(Scalar::F64(1.0)), Err(Error::Borrow(_))));
}

fn is_returned_once<M: ManagedTensor>() {
    let (managed, returned) = lend::<M>(&[2, 3], &[3, -1], 2, 6, 0);
    // SAFETY: lent above.
    let array = unsafe { import(managed.as_ptr(), &queue()) }.unwrap();
    assert_eq!(array.to_vec::<f64>().unwrap(), [2.0, 1.0, 0.0, 5.0, 4.0, 3.0]);
    let view = array.t();
    let sum = array.binary(Op::Add, &view.t()).unwrap();
    drop(array);
    assert_eq!(returned.load(Ordering::SeqCst), 0);
    drop(view);
    // The sum may be recorded and not computed, and then holds the memory.
    assert_eq!(sum.to_vec::<f64>().unwrap(), [4.0, 2.0, 0.0, 10.0, 8.0, 6.0]);
    drop(sum);
    queue().wait().unwrap();
    assert_eq!(returned.load(Ordering::SeqCst), 1);
}

#[test]
fn a_lender_gets_its_memory_back_once() {
    is_returned_once::<DLManagedTensor>();
    is_returned_once::<DLManagedTensorVersioned>();
}

#[test]
fn a_tensor_without_elements_is_given_back_at_once() {
    let (managed, returned) = lend::<DLManagedTensorVersioned>(&[2, 0], &[7, 9], 0, 0, FLAG_READ_ONLY);
    // SAFETY: lent above.
    let array = unsafe { import(managed.as_ptr(), &queue()) }.unwrap();
    assert_eq!((array.shape(), array.flags().writable), (&[2, 0][..], false));
    assert_eq!(returned.load(Ordering::SeqCst), 1);
}

#[test]
fn scalars_and_row_major_tensors_need_no_strides() {
    let (mut managed, _) = lend::<DLManagedTensorVersioned>(&[], &[], 3, 4, 0);
    // SAFETY: lent above, and as long as said.
    unsafe {
        managed.as_mut().dl_tensor.shape = std::ptr::null_mut();
        managed.as_mut().dl_tensor.strides = std::ptr::null_mut();
        assert_eq!(import(managed.as_ptr(), &queue()).unwrap().item().unwrap(), Scalar::F64(3.0));
    }
    let (mut managed, _) = lend::<DLManagedTensor>(&[2, 2], &[9, 9], 0, 4, 0);
    // SAFETY: as above.
    let array = unsafe {
        managed.as_mut().dl_tensor.strides = std::ptr::null_mut();
        import(managed.as_ptr(), &queue()).unwrap()
    };
    assert_eq!(array.strides(), [2, 1]);
}

#[test]
fn what_is_refused_stays_the_callers() {
    type Change = fn(&mut DLManagedTensorVersioned);
    let changes: &[(&str, Change)] = &[
        ("version", |m| m.version.major = 2),
        ("old version", |m| m.version.major = 0),
        ("device", |m| m.dl_tensor.device.device_type = 2),
        ("device", |m| m.dl_tensor.device.device_type = 14),
        ("code", |m| m.dl_tensor.dtype.code = 3),
        ("code", |m| m.dl_tensor.dtype.code = 200),
        ("bits", |m| m.dl_tensor.dtype.bits = 80),
        ("bits", |m| m.dl_tensor.dtype.bits = 0),
        ("lanes", |m| m.dl_tensor.dtype.lanes = 4),
        ("lanes", |m| m.dl_tensor.dtype.lanes = 0),
        ("ndim", |m| m.dl_tensor.ndim = -1),
        ("ndim", |m| m.dl_tensor.ndim = MAX_NDIM as i32 + 1),
        ("ndim", |m| m.dl_tensor.ndim = i32::MAX),
        ("data", |m| m.dl_tensor.data = std::ptr::null_mut()),
        ("shape", |m| m.dl_tensor.shape = std::ptr::null_mut()),
        ("alignment", |m| m.dl_tensor.byte_offset = 4),
        ("byte_offset", |m| m.dl_tensor.byte_offset = u64::MAX - 7),
        // SAFETY: the peer has two dimensions.
        ("extent", |m| unsafe { *m.dl_tensor.shape = -1 }),
        // SAFETY: as above.
        ("extent", |m| unsafe { *m.dl_tensor.shape = i64::MAX }),
        // SAFETY: as above.
        ("stride", |m| unsafe { *m.dl_tensor.strides = i64::MIN }),
        // SAFETY: as above.
        ("stride", |m| unsafe { *m.dl_tensor.strides = i64::MAX }),
        // SAFETY: as above. Lower than address 0.
        ("stride", |m| unsafe { *m.dl_tensor.strides = -(1 << 58) }),
    ];
    for (what, change) in changes {
        let (mut managed, returned) = lend::<DLManagedTensorVersioned>(&[2, 3], &[3, 1], 0, 6, 0);
        // SAFETY: lent above; the changed fields are never followed, which is what is tested.
        let outcome = unsafe {
            change(managed.as_mut());
            import(managed.as_ptr(), &queue())
        };
        assert!(outcome.is_err(), "{what}");
        assert_eq!(returned.load(Ordering::SeqCst), 0, "{what}");
        // SAFETY: still ours.
        unsafe { give_back(managed.as_ptr()) };
        assert_eq!(returned.load(Ordering::SeqCst), 1, "{what}");
    }
    // SAFETY: null is allowed.
    assert!(unsafe { import::<DLManagedTensor>(std::ptr::null_mut(), &queue()) }.is_err());
}

#[test]
fn no_deleter_is_no_harm() {
    let mut data = [1.0_f64, 2.0];
    let (mut shape, mut strides) = ([2_i64], [1_i64]);
    let mut managed = DLManagedTensor {
        dl_tensor: DLTensor {
            data: data.as_mut_ptr().cast::<c_void>(),
            device: DLDevice { device_type: DL_CPU, device_id: 0 },
            ndim: 1,
            dtype: Dtype::F64.into(),
            shape: shape.as_mut_ptr(),
            strides: strides.as_mut_ptr(),
            byte_offset: 0,
        },
        manager_ctx: std::ptr::null_mut(),
        deleter: None,
    };
    // SAFETY: a tensor on this stack, which outlives the array.
    let array = unsafe { import(&raw mut managed, &queue()) }.unwrap();
    assert_eq!(array.to_vec::<f64>().unwrap(), [1.0, 2.0]);
    drop(array);
}

/// Numbers that break arithmetic, beside small ones.
fn numbers() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => -4_i64..8,
        1 => any::<i64>(),
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX, 1 << 31, 1 << 32, 1 << 61, 1 << 62, -(1 << 62)]),
    ]
}

fn descriptions() -> impl Strategy<Value = Description> {
    let dtype = prop_oneof![
        4 => prop::sample::select(Dtype::ALL.to_vec()).prop_map(DLDataType::from),
        1 => any::<(u8, u8, u16)>().prop_map(|(code, bits, lanes)| DLDataType { code, bits, lanes }),
    ];
    let dims = (0_usize..5).prop_flat_map(|n| {
        (prop::collection::vec(numbers(), n), prop::option::of(prop::collection::vec(numbers(), n)))
    });
    let address = prop_oneof![4 => (1_usize << 20..1 << 40).prop_map(|a| a * 16), 1 => 0_usize..64, 1 => any::<usize>()];
    let offset = prop_oneof![4 => (0_u64..64).prop_map(|o| o * 16), 1 => any::<u64>()];
    let device = prop_oneof![9 => Just(DL_CPU), 1 => any::<i32>()];
    (dtype, dims, address, offset, device).prop_map(
        |(dtype, (shape, strides), address, byte_offset, device_type)| Description {
            address,
            device: DLDevice { device_type, device_id: 0 },
            dtype,
            shape: shape.into(),
            strides: strides.map(Into::into),
            byte_offset,
        },
    )
}

/// The least and one past the greatest address of an element, by plain arithmetic; `None` where there is no answer.
fn oracle(d: &Description) -> Option<(i128, i128)> {
    let dtype =
        Dtype::try_from(d.dtype).ok().filter(|_| matches!(d.device.device_type, DL_CPU | DL_CUDA_HOST))?;
    let size = dtype.size() as i128;
    if d.shape.iter().any(|&extent| extent < 0) {
        return None;
    }
    let count = d.shape.iter().filter(|&&n| n != 0).try_fold(1_i128, |p, &n| p.checked_mul(n.into()))?;
    if count > MAX_LEN as i128 {
        return None;
    }
    let mut step = 1_i128;
    let mut strides: Vec<i128> = d
        .shape
        .iter()
        .rev()
        .map(|&n| {
            let s = step;
            step *= i128::from(n.max(1));
            s
        })
        .collect();
    strides.reverse();
    if let Some(given) = &d.strides {
        strides = given.iter().map(|&s| s.into()).collect();
    }
    if d.shape.contains(&0) {
        return Some((0, 0));
    }
    let (mut low, mut high) = (0_i128, 0_i128);
    for (&n, &stride) in d.shape.iter().zip(&strides) {
        let span = (i128::from(n) - 1).checked_mul(stride)?;
        if span < 0 { low = low.checked_add(span)? } else { high = high.checked_add(span)? }
    }
    let zero = d.address as i128 + i128::from(d.byte_offset);
    let start = zero.checked_add(low.checked_mul(size)?)?;
    let end = zero.checked_add(high.checked_add(1)?.checked_mul(size)?)?;
    let fits = d.address != 0
        && start > 0
        && end <= usize::MAX as i128
        && end - start <= isize::MAX as i128
        && isize::try_from(start - d.address as i128).is_ok()
        && start % dtype.align() as i128 == 0;
    fits.then_some((start, end))
}

/// How many random cases; the checks of a release ask for more.
fn cases() -> u32 {
    std::env::var("STRIDEWISE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// Tensors over real memory: what is taken and inside of it reads as its numbers say, and everything goes back once.
    #[test]
    fn a_tensor_is_read_where_it_says(
        dims in prop::collection::vec((-1_i64..6, -9_i64..9), 0..4),
        row_major in any::<bool>(),
        byte_offset in prop_oneof![9 => (0_u64..64).prop_map(|i| i * 8), 1 => 0_u64..600],
    ) {
        const LEN: usize = 64;
        let (shape, strides): (Vec<i64>, Vec<i64>) = dims.iter().copied().unzip();
        let (mut managed, returned) = lend::<DLManagedTensorVersioned>(&shape, &strides, 0, LEN, 0);
        // SAFETY: lent above.
        let outcome = unsafe {
            let tensor = &mut managed.as_mut().dl_tensor;
            tensor.byte_offset = byte_offset;
            if row_major {
                tensor.strides = std::ptr::null_mut();
            }
            import(managed.as_ptr(), &queue())
        };
        let Ok(array) = outcome else {
            prop_assert_eq!(returned.load(Ordering::SeqCst), 0);
            // SAFETY: still ours.
            unsafe { give_back(managed.as_ptr()) };
            return Ok(());
        };
        let mut steps: Vec<i64> = strides;
        if row_major {
            let mut step = 1;
            for (place, &extent) in shape.iter().enumerate().rev() {
                steps[place] = step;
                step *= extent.max(1);
            }
        }
        // Every multi-index, the last one fastest.
        let mut elements = vec![byte_offset as i64 / 8];
        for (&extent, &step) in shape.iter().zip(&steps) {
            elements = elements.iter().flat_map(|&e| (0..extent).map(move |i| e + i * step)).collect();
        }
        if elements.iter().all(|element| (0..LEN as i64).contains(element)) {
            let expected: Vec<f64> = elements.iter().map(|&element| element as f64).collect();
            prop_assert_eq!(array.to_vec::<f64>().unwrap(), expected);
        }
        drop(array);
        prop_assert_eq!(returned.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_description_is_taken_exactly_where_it_can_be(description in descriptions()) {
        let place = description.room(&queue()).and_then(|_| description.place());
        match (place, oracle(&description)) {
            (Ok(place), Some((start, end))) if end > start => {
                prop_assert_eq!(description.address as i128 + place.step as i128, start);
                prop_assert_eq!(place.bytes as i128, end - start);
            }
            (Ok(place), Some(_)) => prop_assert!(place.layout.is_empty()),
            (Err(_), None) => {}
            (place, expected) => prop_assert!(false, "{place:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn memory_of_a_device_goes_out_as_what_the_device_says() {
    for exchange in [None, Some((2, 1))] {
        let config = NullConfig { exchange, ..NullConfig::default() };
        let device = Device::from_backend(Arc::new(NullDevice::new(config)));
        let array = UsmArray::empty(&device.queue().unwrap(), &[2, 3], Dtype::F32, UsmKind::Device).unwrap();
        let Some((device_type, device_id)) = exchange else {
            assert!(matches!(device_of(&array), Err(Error::Unsupported(_))));
            assert!(matches!(export::<DLManagedTensorVersioned>(&array, false), Err(Error::Unsupported(_))));
            continue;
        };
        let mut managed = export::<DLManagedTensorVersioned>(&array, false).unwrap();
        // SAFETY: exported just now, and given back below.
        let (tensor, _) = unsafe { managed.as_mut() }.links();
        assert_eq!((tensor.device.device_type, tensor.device.device_id), (device_type, device_id));
        assert_eq!(tensor.data.addr(), array.usm_data().unwrap().ptr().addr());
        // It is not taken for the processor's by who does not know the device.
        // SAFETY: as above; a tensor that is refused stays the caller's.
        let refused = unsafe { import(managed.as_ptr(), &queue()) };
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
        // SAFETY: the tensor is given back once.
        unsafe { give_back(managed.as_ptr()) };
    }
}

/// A device whose kinds are all its own, as one of CUDA has them: number 1.
fn like_cuda() -> Device {
    let config = NullConfig { exchange: Some((DL_CUDA, 1)), all_kinds: true, ..NullConfig::default() };
    Device::from_backend(Arc::new(NullDevice::new(config)))
}

#[test]
fn memory_goes_out_as_all_that_it_is() {
    let queue = like_cuda().queue().unwrap();
    let number = |device: &DLDevice| (device.device_type, device.device_id);
    for (kind, devices) in [
        (UsmKind::Device, vec![(DL_CUDA, 1)]),
        (UsmKind::Host, vec![(DL_CPU, 0), (DL_CUDA_HOST, 1), (DL_CUDA, 1)]),
        (UsmKind::Shared, vec![(DL_CPU, 0), (DL_CUDA_MANAGED, 1), (DL_CUDA, 1)]),
    ] {
        let array = UsmArray::empty(&queue, &[2, 3], Dtype::F32, kind).unwrap();
        let found = devices_of(&array);
        assert_eq!(found.iter().map(number).collect::<Vec<_>>(), devices, "{kind}");
        for device in found {
            for when in [When::Now, When::Unordered, When::InStream(1)] {
                // SAFETY: the device has no streams, and waits.
                let managed =
                    unsafe { export_for::<DLManagedTensorVersioned>(&array, false, device, when) }.unwrap();
                // SAFETY: exported just now, and given back below.
                let tensor = unsafe { *managed.as_ref().tensor() };
                assert_eq!(
                    (tensor.device, tensor.data.addr()),
                    (device, array.usm_data().unwrap().ptr().addr())
                );
                // SAFETY: the tensor is given back once.
                unsafe { give_back(managed.as_ptr()) };
            }
        }
    }
}

#[test]
fn memory_of_a_device_comes_in_on_a_queue_of_it() {
    let queue = like_cuda().queue().unwrap();
    for (device_type, device_id, shape, expected) in [
        (DL_CUDA, 1, [2_i64, 3], Some(UsmKind::Device)),
        (DL_CUDA_MANAGED, 1, [2, 3], Some(UsmKind::Device)),
        (DL_CUDA_HOST, 0, [2, 3], Some(UsmKind::Device)),
        (DL_CUDA, 1, [2, 0], Some(UsmKind::Device)),
        (DL_CUDA, 0, [2, 3], None),
        (DL_CUDA_MANAGED, 2, [2, 3], None),
        (10, 1, [2, 3], None),
        (DL_CPU, 0, [2, 3], None),
    ] {
        let what = format!("type {device_type}, number {device_id}, {shape:?}");
        let (mut managed, returned) = lend::<DLManagedTensorVersioned>(&shape, &[3, 1], 2, 8, 0);
        // SAFETY: nobody else has it yet.
        unsafe { managed.as_mut() }.dl_tensor.device = DLDevice { device_type, device_id };
        // SAFETY: the tensor is ours; the device, which works on nothing, takes every address for its own.
        let outcome = unsafe { import(managed.as_ptr(), &queue) };
        let Some(kind) = expected else {
            assert!(matches!(outcome, Err(Error::Unsupported(_))), "{what}: {outcome:?}");
            assert_eq!(returned.load(Ordering::SeqCst), 0, "{what}");
            // SAFETY: still ours.
            unsafe { give_back(managed.as_ptr()) };
            continue;
        };
        let array = outcome.unwrap();
        assert_eq!((array.usm_kind(), array.queue()), (kind, &queue), "{what}");
        assert_eq!(array.shape().iter().map(|&n| n as i64).collect::<Vec<_>>(), shape, "{what}");
        if !array.is_empty() {
            // SAFETY: the array holds the tensor.
            let start = unsafe { managed.as_ref() }.dl_tensor.data.addr();
            assert_eq!(array.usm_data().unwrap().ptr().addr(), start + 16, "{what}");
            assert_eq!(returned.load(Ordering::SeqCst), 0, "{what}");
        }
        drop(array);
        assert_eq!(returned.load(Ordering::SeqCst), 1, "{what}");
    }
    // What the device does not know is none of its own.
    let device = Device::from_backend(Arc::new(NullDevice::new(NullConfig::default())));
    let mut data = [0_u32; 4];
    let strided = crate::host::Strided {
        data: data.as_mut_ptr().cast(),
        dtype: Dtype::U32,
        shape: &[4],
        byte_strides: None,
        read_only: true,
    };
    // SAFETY: what is refused is never followed.
    let refused = unsafe { strided.import_of_device(&device.queue().unwrap(), Box::new(|| ())) };
    assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
    assert_eq!(queue_of(DLDevice { device_type: DL_CUDA, device_id: 1 }).unwrap(), None);
    assert_eq!(
        queue_of(DLDevice { device_type: DL_CPU, device_id: 0 }).unwrap(),
        Some(host_queue().unwrap())
    );
}
