//! Columns there and back, and what is refused, by structures of our own.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use stridewise_core::{Dtype, Error, Queue, Scalar, UsmArray, UsmKind};

use super::*;
use crate::host::host_queue;

fn queue() -> Queue {
    host_queue().unwrap()
}

/// What a column of a test points into.
struct Lent {
    buffers: [*const c_void; 2],
    _valid: Option<Vec<u8>>,
    _data: Vec<u64>,
    returned: Arc<AtomicUsize>,
}

unsafe extern "C" fn take_back(array: *mut ArrowArray) {
    // SAFETY: a column of `lend`, or its copy elsewhere.
    unsafe {
        (*array).release = None;
        let lent = Box::from_raw((*array).private_data.cast::<Lent>());
        lent.returned.fetch_add(1, Ordering::SeqCst);
    }
}

/// A column in memory of a test's, and how often it was given back.
fn lend(
    data: &[u64],
    valid: Option<&[u8]>,
    offset: i64,
    length: i64,
    null_count: i64,
) -> (ArrowArray, Arc<AtomicUsize>) {
    let returned = Arc::new(AtomicUsize::new(0));
    let (data, valid) = (data.to_vec(), valid.map(<[u8]>::to_vec));
    let bits = valid.as_ref().map_or(std::ptr::null(), |bits| bits.as_ptr().cast());
    let buffers = [bits, data.as_ptr().cast()];
    let lent = Box::new(Lent { buffers, _valid: valid, _data: data, returned: Arc::clone(&returned) });
    let lent = Box::into_raw(lent);
    let array = ArrowArray {
        length,
        null_count,
        offset,
        n_buffers: 2,
        // SAFETY: just given up to this pointer.
        buffers: unsafe { (*lent).buffers.as_mut_ptr() },
        release: Some(take_back),
        private_data: lent.cast(),
        ..ArrowArray::empty()
    };
    (array, returned)
}

#[test]
fn every_dtype_comes_back_as_it_went() {
    for dtype in Dtype::ALL.iter().copied() {
        let x = UsmArray::arange(&queue(), 0, 11, 1, Dtype::I64, UsmKind::Shared).unwrap();
        let x = x.astype(dtype).unwrap();
        let Ok(mut schema) = export_schema(dtype) else {
            assert!(dtype == Dtype::Bf16 || dtype.real_part() != dtype, "{dtype}");
            assert!(matches!(export(&x), Err(Error::Dtype(_))));
            continue;
        };
        let column = export(&x).unwrap();
        // SAFETY: exported above.
        let (data, back) = unsafe {
            assert_eq!(dtype_of(&schema).unwrap(), Some(dtype));
            schema.release();
            assert!(dtype_of(&schema).is_err());
            (*column.buffers.add(1), import(column, dtype, &queue(), None).unwrap())
        };
        assert_eq!(back.dtype(), dtype);
        let same = back.binary(stridewise_core::Op::Equal, &x).unwrap();
        assert_eq!(same.to_vec::<bool>().unwrap(), [true; 11]);
        let shared = data.addr() == x.usm_data().unwrap().ptr().addr();
        assert_eq!(shared, dtype != Dtype::Bool, "{dtype}");
        assert_eq!(back.flags().writable, dtype == Dtype::Bool);
    }
}

#[test]
fn what_does_not_lie_as_a_column_is_copied() {
    let x = UsmArray::arange(&queue(), 0, 12, 1, Dtype::F64, UsmKind::Device).unwrap();
    let pairs = x.reshape(&[6, 2]).unwrap();
    assert!(matches!(export(&pairs), Err(Error::Shape(_))));
    assert!(matches!(export_to_device(&pairs), Err(Error::Shape(_))));
    let every_other = x.to_kind(UsmKind::Host).unwrap().flip(None).unwrap();
    for (array, first) in [(x, 0.0), (every_other, 11.0)] {
        let device = export_to_device(&array).unwrap();
        assert_eq!((device.device_type, device.device_id), (1, -1));
        // SAFETY: exported above.
        let back = unsafe { import(device.array, Dtype::F64, &queue(), Some(false)).unwrap() };
        assert_eq!(back.to_vec::<f64>().unwrap()[0], first);
    }
}

#[test]
fn a_column_is_given_back_once() {
    let numbers: Vec<u64> = (0..10).collect();
    let (column, returned) = lend(&numbers, None, 3, 5, 0);
    // SAFETY: lent above.
    let array = unsafe { import(column, Dtype::U64, &queue(), Some(false)).unwrap() };
    assert_eq!(array.to_vec::<u64>().unwrap(), [3, 4, 5, 6, 7]);
    assert!(matches!(array.assign(Scalar::U64(1)), Err(Error::Borrow(_))));
    assert_eq!(returned.load(Ordering::SeqCst), 0);
    drop(array);
    queue().wait().unwrap();
    assert_eq!(returned.load(Ordering::SeqCst), 1);
    for (offset, length, copy) in [(0, 0, None), (2, 0, Some(false)), (1, 4, Some(true))] {
        let (column, returned) = lend(&numbers, None, offset, length, 0);
        // SAFETY: lent above.
        let array = unsafe { import(column, Dtype::U64, &queue(), copy).unwrap() };
        assert_eq!(array.len() as i64, length);
        assert_eq!(returned.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn an_exported_column_may_go_on_any_thread() {
    let x = UsmArray::zeros(&queue(), &[5], Dtype::F32, UsmKind::Host).unwrap();
    let column = export(&x).unwrap();
    let (release, address) = (column.release.unwrap(), Box::into_raw(Box::new(column)).addr());
    std::thread::spawn(move || {
        let column = std::ptr::with_exposed_provenance_mut::<ArrowArray>(address);
        // SAFETY: the box above, and nobody else's any more.
        unsafe {
            release(column);
            assert!((*column).release.is_none());
            drop(Box::from_raw(column));
        }
    })
    .join()
    .unwrap();
}

#[test]
fn places_without_a_value_are_an_error() {
    let numbers: Vec<u64> = (0..16).collect();
    // All but the places 2 and 9 have one.
    let valid = [0b1111_1011, 0b1111_1101];
    for (offset, length, null_count, missing) in
        [(0, 16, 2, 2), (0, 16, -1, 2), (3, 6, -1, 0), (3, 7, -1, 1), (3, 6, 0, 0)]
    {
        let (column, returned) = lend(&numbers, Some(&valid), offset, length, null_count);
        // SAFETY: lent above.
        let found = unsafe { import(column, Dtype::U64, &queue(), None) };
        match (missing, found) {
            (0, Ok(array)) => assert_eq!(array.len() as i64, length),
            (missing, Err(error)) => {
                assert!(matches!(error, Error::Value(_)), "{error}");
                assert!(error.to_string().contains(&format!("{missing} have no value")), "{error}");
                assert_eq!(returned.load(Ordering::SeqCst), 1);
            }
            (missing, found) => panic!("{missing} missing: {found:?}"),
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_given_back() {
    let numbers: Vec<u64> = (0..4).collect();
    type Change = (&'static str, fn(&mut ArrowArray));
    let changes: &[Change] = &[
        ("length", |column| column.length = -1),
        ("offset", |column| column.offset = -1),
        ("sum", |column| (column.length, column.offset) = (i64::MAX, i64::MAX)),
        ("size", |column| column.length = i64::MAX / 4),
        ("offset size", |column| column.offset = i64::MAX / 4),
        ("buffers", |column| column.n_buffers = 3),
        ("no buffers", |column| column.buffers = std::ptr::null_mut()),
        // SAFETY: a column of `lend` has two.
        ("no data", |column| unsafe { *column.buffers.add(1) = std::ptr::null() }),
    ];
    for (what, change) in changes {
        let (mut column, returned) = lend(&numbers, None, 0, 4, 0);
        change(&mut column);
        // SAFETY: what is refused is never followed, which is what is tested.
        let outcome = unsafe { import(column, Dtype::F64, &queue(), None) };
        assert!(outcome.is_err(), "{what}");
        assert_eq!(returned.load(Ordering::SeqCst), 1, "{what}");
    }
    // SAFETY: given back, so nothing is followed.
    let gone = unsafe { import(ArrowArray::empty(), Dtype::F64, &queue(), None) };
    assert!(matches!(gone, Err(Error::Value(_))));
}

#[test]
fn elements_without_their_alignment_are_copied() {
    let numbers: Vec<u64> = (0..4).collect();
    for copy in [None, Some(false)] {
        let (column, returned) = lend(&numbers, None, 0, 3, 0);
        // SAFETY: four numbers, of whose bytes these are three from the first one on.
        let outcome = unsafe {
            let data = column.buffers.add(1);
            *data = (*data).byte_add(1);
            import(column, Dtype::U64, &queue(), copy)
        };
        match outcome {
            Ok(array) if cfg!(target_endian = "little") => {
                assert_eq!(array.to_vec::<u64>().unwrap(), [1 << 56, 2 << 56, 3 << 56]);
            }
            Ok(_) => {}
            Err(error) => assert!(copy == Some(false) && matches!(error, Error::Unsupported(_)), "{error}"),
        }
        assert_eq!(returned.load(Ordering::SeqCst), 1);
    }
}

/// A stream of columns, the last one first, and of errors.
struct Parts {
    columns: Vec<Option<ArrowArray>>,
    returned: Arc<AtomicUsize>,
}

fn stream(columns: Vec<Option<ArrowArray>>) -> (ArrowArrayStream, Arc<AtomicUsize>) {
    unsafe extern "C" fn schema(_: *mut ArrowArrayStream, schema: *mut ArrowSchema) -> c_int {
        // SAFETY: who asks gives a place to write to.
        unsafe { schema.write(export_schema(Dtype::U64).unwrap()) };
        0
    }
    unsafe extern "C" fn next(stream: *mut ArrowArrayStream, array: *mut ArrowArray) -> c_int {
        // SAFETY: a stream of these parts, and a place to write to.
        unsafe {
            match (*(*stream).private_data.cast::<Parts>()).columns.pop() {
                None => array.write(ArrowArray::empty()),
                Some(Some(column)) => array.write(column),
                Some(None) => return 5,
            }
        }
        0
    }
    unsafe extern "C" fn last(_: *mut ArrowArrayStream) -> *const c_char {
        c"the disk is full".as_ptr()
    }
    unsafe extern "C" fn release(stream: *mut ArrowArrayStream) {
        // SAFETY: a stream of these parts, given back once; what was not taken is still its own.
        unsafe {
            (*stream).release = None;
            let mut parts = Box::from_raw((*stream).private_data.cast::<Parts>());
            parts.columns.iter_mut().flatten().for_each(|column| column.release());
            parts.returned.fetch_add(1, Ordering::SeqCst);
        }
    }
    let returned = Arc::new(AtomicUsize::new(0));
    let parts = Box::into_raw(Box::new(Parts { columns, returned: Arc::clone(&returned) }));
    let stream = ArrowArrayStream {
        get_schema: Some(schema),
        get_next: Some(next),
        get_last_error: Some(last),
        release: Some(release),
        private_data: parts.cast(),
    };
    (stream, returned)
}

#[test]
fn parts_of_a_stream_are_joined() {
    for copy in [None, Some(false), Some(true)] {
        for count in 0..4_u64 {
            let lent: Vec<_> = (0..count).map(|i| lend(&[i, i + 10], None, 0, 2, 0)).collect();
            let (columns, returned): (Vec<_>, Vec<_>) = lent.into_iter().unzip();
            let (mut stream, gone) = stream(columns.into_iter().rev().map(Some).collect());
            // SAFETY: a stream of our own.
            let outcome = unsafe {
                assert_eq!(schema_of_stream(&mut stream).unwrap(), Some(Dtype::U64));
                import_stream(stream, Dtype::U64, &queue(), copy)
            };
            assert_eq!(gone.load(Ordering::SeqCst), 1);
            match outcome {
                Ok(array) => {
                    let expected: Vec<u64> = (0..count).flat_map(|i| [i, i + 10]).collect();
                    assert_eq!(array.to_vec::<u64>().unwrap(), expected);
                }
                Err(error) => {
                    assert!(
                        count > 1 && copy == Some(false) && matches!(error, Error::Unsupported(_)),
                        "{error}"
                    );
                }
            }
            queue().wait().unwrap();
            // The parts that were taken, and by the stream the others.
            assert!(returned.iter().all(|returned| returned.load(Ordering::SeqCst) == 1));
        }
    }
    let (failing, gone) = stream(vec![None, Some(lend(&[1], None, 0, 1, 0).0)]);
    // SAFETY: a stream of our own.
    let error = unsafe { import_stream(failing, Dtype::U64, &queue(), None) }.unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(gone.load(Ordering::SeqCst), 1);
    // SAFETY: given back, so nothing is followed.
    let outcome = unsafe { import_stream(ArrowArrayStream::empty(), Dtype::U64, &queue(), None) };
    assert!(matches!(outcome, Err(Error::Value(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Truth values are the bits from the offset on.
    #[test]
    fn bits_are_truth_values(values in prop::collection::vec(any::<bool>(), 0..200), offset in 0_usize..70) {
        let offset = offset.min(values.len());
        let mut words = vec![0_u64; values.len().div_ceil(64)];
        for (place, _) in values.iter().enumerate().filter(|(_, value)| **value) {
            // The least bit of the least byte first, which is the word's on a little-endian machine.
            words[place / 64] |= 1 << (place % 64);
        }
        let (column, returned) = lend(&words, None, offset as i64, (values.len() - offset) as i64, 0);
        // SAFETY: lent above.
        let array = unsafe { import(column, Dtype::Bool, &queue(), None).unwrap() };
        prop_assert_eq!(returned.load(Ordering::SeqCst), 1);
        if cfg!(target_endian = "little") {
            prop_assert_eq!(array.to_vec::<bool>().unwrap(), &values[offset..]);
        }
        let again = export(&array).unwrap();
        // SAFETY: exported above.
        let again = unsafe { import(again, Dtype::Bool, &queue(), None).unwrap() };
        prop_assert_eq!(again.to_vec::<bool>().unwrap(), array.to_vec::<bool>().unwrap());
    }
}
