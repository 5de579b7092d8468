//! The container and the constructor of dpctl's `usm_ndarray`: each example of its documentation as a test named after
//! it, on every device that has the memory kinds it names.

mod devices;

use UsmKind::{Device as DeviceKind, Host, Shared};
use libtest_mimic::{Arguments, Trial};
use stridewise::backend::UsmSupport;
use stridewise::{
    ArrayOrScalar, Device, Dtype, Element, Error, Flags, Op, Order, Queue, UsmArray, UsmKind, UsmMemory,
    UsmPtr, Weak, s,
};

type Case = (&'static str, &'static [UsmKind], fn(&Queue));

const CASES: &[Case] = &[
    ("matrix_c_contiguous", &UsmKind::ALL, matrix_c_contiguous),
    ("matrix_f_contiguous", &UsmKind::ALL, matrix_f_contiguous),
    ("submatrix_of_c_contiguous", &UsmKind::ALL, submatrix_of_c_contiguous),
    ("contig_vec_7_step_minus_2", &UsmKind::ALL, contig_vec_7_step_minus_2),
    ("defaults", &[DeviceKind], defaults),
    ("u2_device_2_by_3", &[DeviceKind], u2_device_2_by_3),
    ("i8_shared_strided", &[Shared], i8_shared_strided),
    ("u1_host_negative_strides_auto_offset", &[Host], u1_host_negative_strides_auto_offset),
    ("f8_over_memory_negative_strides", &[Shared], f8_over_memory_negative_strides),
    ("i4_array_as_buffer_equal_interfaces", &[DeviceKind], i4_array_as_buffer_equal_interfaces),
    ("argument_dtype", &[DeviceKind], argument_dtype),
    ("argument_buffer", &UsmKind::ALL, argument_buffer),
    ("argument_strides", &[Shared], argument_strides),
    ("argument_offset", &[Shared], argument_offset),
    ("argument_order", &[Shared], argument_order),
    ("argument_queue", &[DeviceKind], argument_queue),
    ("argument_alignment", &UsmKind::ALL, argument_alignment),
    ("argument_copy", &UsmKind::ALL, argument_copy),
    ("flags", &[Shared], flags),
    ("flag_writable", &UsmKind::ALL, flag_writable),
    ("no_dimensions_and_no_elements", &[DeviceKind], no_dimensions_and_no_elements),
    ("integrity_is_checked", &[Shared], integrity_is_checked),
];

fn main() {
    let mut trials = Vec::new();
    for device in devices::devices() {
        for &(name, kinds, case) in CASES {
            let absent = kinds.iter().any(|&kind| device.info().usm(kind) == UsmSupport::Absent);
            let device: Device = device.clone();
            let trial = Trial::test(format!("usm_ndarray::{name}/{device}"), move || {
                case(&device.queue().map_err(|error| error.to_string())?);
                Ok(())
            });
            trials.push(trial.with_ignored_flag(absent));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// What `__sycl_usm_array_interface__` says.
#[derive(PartialEq, Debug)]
struct Interface {
    shape: Vec<usize>,
    typestr: &'static str,
    strides: Vec<isize>,
    offset: usize,
    base: UsmPtr,
    kind: UsmKind,
    queue: Queue,
}

fn interface(array: &UsmArray) -> Interface {
    Interface {
        shape: array.shape().to_vec(),
        typestr: array.dtype().typestr(),
        strides: array.strides().to_vec(),
        offset: array.offset(),
        base: array.usm_data().unwrap().ptr(),
        kind: array.usm_kind(),
        queue: array.queue().clone(),
    }
}

/// The whole allocation of an array, flat (`buf_flat` of the documentation).
fn flat(array: &UsmArray) -> UsmArray {
    let elements = array.usm_data().unwrap().bytes() / array.itemsize();
    UsmArray::builder([elements]).dtype(array.dtype()).buffer(array).build().unwrap()
}

/// Writes 0, 1, 2, … into the allocation, so that every element of a view is its place in it.
fn number<T: Element>(array: &UsmArray) {
    let flat = flat(array);
    let numbers: Vec<i64> = (0..flat.len() as i64).collect();
    let source = UsmArray::from_slice(array.queue(), &[flat.len()], &numbers, flat.usm_kind()).unwrap();
    assert_eq!(array.dtype(), T::DTYPE);
    flat.assign(&source).unwrap();
}

fn places<T: Element + TryInto<i64>>(array: &UsmArray) -> Vec<i64> {
    number::<T>(array);
    array.to_vec::<T>().unwrap().into_iter().map(|x| x.try_into().ok().unwrap()).collect()
}

fn new(queue: &Queue, shape: &[usize], dtype: &str, kind: UsmKind) -> UsmArray {
    UsmArray::builder(shape).dtype(dtype.parse().unwrap()).buffer(kind).queue(queue).build().unwrap()
}

fn only(c_contiguous: bool, f_contiguous: bool) -> Flags {
    Flags { c_contiguous, f_contiguous, writable: true }
}

fn matrix_c_contiguous(queue: &Queue) {
    for kind in UsmKind::ALL {
        let a = new(queue, &[2, 3], "i4", kind);
        assert_eq!((a.ndim(), a.shape(), a.strides(), a.offset()), (2, &[2, 3][..], &[3, 1][..], 0));
        assert_eq!(a.flags(), only(true, false));
        assert_eq!(places::<i32>(&a), [0, 1, 2, 3, 4, 5]);
    }
}

fn matrix_f_contiguous(queue: &Queue) {
    for kind in UsmKind::ALL {
        let builder = UsmArray::builder([2, 3]).dtype(Dtype::I32).buffer(kind).order(Order::F).queue(queue);
        let a = builder.build().unwrap();
        assert_eq!((a.ndim(), a.shape(), a.strides(), a.offset()), (2, &[2, 3][..], &[1, 2][..], 0));
        assert_eq!(a.flags(), only(false, true));
        // buf_flat = {a[0,0], a[1,0], a[0,1], a[1,1], a[0,2], a[1,2]}
        assert_eq!(places::<i32>(&a), [0, 2, 4, 1, 3, 5]);
    }
}

fn submatrix_of_c_contiguous(queue: &Queue) {
    for kind in UsmKind::ALL {
        let a = new(queue, &[2, 3], "i4", kind);
        let sub = a.slice(s![.., ..2]).unwrap();
        assert_eq!((sub.ndim(), sub.shape(), sub.strides(), sub.offset()), (2, &[2, 2][..], &[3, 1][..], 0));
        assert_eq!(sub.flags(), only(false, false));
        assert_eq!(sub.usm_data().unwrap().ptr(), a.usm_data().unwrap().ptr());
        assert_eq!(places::<i32>(&sub), [0, 1, 3, 4]);
        // The same, from the constructor.
        let made = UsmArray::builder([2, 2]).dtype(Dtype::I32).buffer(&a).strides([3, 1]).build().unwrap();
        assert_eq!(interface(&made), interface(&sub));
    }
}

fn contig_vec_7_step_minus_2(queue: &Queue) {
    for kind in UsmKind::ALL {
        let contig_vec = new(queue, &[9], "i4", kind);
        let a = contig_vec.slice(s![7..;-2]).unwrap();
        assert_eq!((a.ndim(), a.shape(), a.strides(), a.offset()), (1, &[4][..], &[-2][..], 7));
        assert_eq!(a.flags(), only(false, false));
        assert_eq!(places::<i32>(&a), [7, 5, 3, 1]);
    }
}

fn defaults(queue: &Queue) {
    let a = UsmArray::builder([2, 3]).queue(queue).build().unwrap();
    let expected = queue.device().dtype_support().default_float();
    assert_eq!((a.dtype(), a.usm_kind()), (expected, DeviceKind));
    assert_eq!((a.strides(), a.offset()), (&[3, 1][..], 0));
    assert_eq!(a.flags(), only(true, false));
    assert_eq!(a.usm_data().unwrap().bytes(), 6 * expected.size());
    assert!(a.usm_data().unwrap().ptr().addr().is_multiple_of(64));
    // Without a queue: the default one.
    let a = UsmArray::builder([2, 3]).build().unwrap();
    assert_eq!(*a.queue(), Queue::default_queue().unwrap());
}

fn u2_device_2_by_3(queue: &Queue) {
    let a = new(queue, &[2, 3], "u2", DeviceKind);
    assert_eq!((a.usm_data().unwrap().bytes(), a.usm_data().unwrap().kind()), (12, DeviceKind));
    assert_eq!(flat(&a).len(), 6);
    assert_eq!(a.flags(), only(true, false));
    assert_eq!(places::<u16>(&a), [0, 1, 2, 3, 4, 5]);
}

fn i8_shared_strided(queue: &Queue) {
    let builder = UsmArray::builder([2, 3]).dtype("i8".parse().unwrap()).buffer(Shared);
    let a = builder.strides([6, 1]).queue(queue).build().unwrap();
    assert_eq!((a.dtype(), a.usm_kind()), (Dtype::I64, Shared));
    assert_eq!((a.usm_data().unwrap().bytes(), flat(&a).len()), (9 * 8, 9));
    assert_eq!(a.flags(), only(false, false));
    // buf_flat = {a[0,0], a[0,1], a[0,2], __, __, __, a[1,0], a[1,1], a[1,2]}
    assert_eq!(places::<i64>(&a), [0, 1, 2, 6, 7, 8]);
}

fn u1_host_negative_strides_auto_offset(queue: &Queue) {
    let builder = UsmArray::builder([2, 2]).dtype("u1".parse().unwrap()).buffer(Host);
    let a = builder.strides([2, -1]).queue(queue).build().unwrap();
    assert_eq!((a.usm_data().unwrap().bytes(), flat(&a).len(), a.offset()), (4, 4, 1));
    // buf_flat = {a[0,1], a[0,0], a[1,1], a[1,0]}
    assert_eq!(places::<u8>(&a), [1, 0, 3, 2]);
}

fn f8_over_memory_negative_strides(queue: &Queue) {
    let mem = UsmMemory::new(Shared, 64, queue).unwrap();
    if !queue.device().dtype_support().f64 {
        return;
    }
    let builder = UsmArray::builder([4]).dtype("f8".parse().unwrap()).buffer(&mem);
    let a = builder.strides([-2]).offset(7).build().unwrap();
    assert_eq!((a.usm_data().unwrap().ptr(), a.queue()), (mem.ptr(), queue));
    // buf_flat = {__, a[3], __, a[2], __, a[1], __, a[0]}
    number::<f64>(&a);
    assert_eq!(a.to_vec::<f64>().unwrap(), [7.0, 5.0, 3.0, 1.0]);
}

fn i4_array_as_buffer_equal_interfaces(queue: &Queue) {
    let builder = UsmArray::builder([4, 2]).dtype("i4".parse().unwrap()).buffer(DeviceKind);
    let w = builder.strides([-5, -2]).queue(queue).build().unwrap();
    let wiface = interface(&w);
    // The element furthest from the first is 3·5 + 1·2 elements below it.
    assert_eq!((wiface.offset, w.usm_data().unwrap().bytes()), (17, 18 * 4));
    let w2 = UsmArray::builder(&wiface.shape)
        .dtype(wiface.typestr.parse().unwrap())
        .buffer(&w)
        .strides(&wiface.strides)
        .offset(wiface.offset)
        .build()
        .unwrap();
    assert_eq!(wiface, interface(&w2));
    assert_eq!(places::<i32>(&w), [17, 15, 12, 10, 7, 5, 2, 0]);
    assert_eq!(w2.to_vec::<i32>().unwrap(), w.to_vec::<i32>().unwrap());
}

fn argument_dtype(queue: &Queue) {
    let support = queue.device().dtype_support();
    for &dtype in Dtype::ALL.iter().filter(|&&dtype| support.supports(dtype)) {
        for name in [dtype.name(), dtype.typestr()] {
            let a = new(queue, &[3], name, DeviceKind);
            assert_eq!((a.dtype(), a.itemsize(), a.bytes()), (dtype, dtype.size(), 3 * dtype.size()));
        }
    }
    // dpctl writes `|f8` for native order.
    assert_eq!("|f8".parse::<Dtype>().unwrap(), Dtype::F64);
}

fn argument_buffer(queue: &Queue) {
    for kind in UsmKind::ALL {
        let name = kind.name().parse::<UsmKind>().unwrap();
        let a = new(queue, &[6], "i4", name);
        assert_eq!((a.usm_kind(), a.usm_data().unwrap().kind()), (kind, kind));
        // An array in place of the buffer is its memory: the whole of it, whatever the array selects.
        let view = a.slice(s![2..4]).unwrap();
        let memory = a.usm_data().unwrap();
        let from_array = UsmArray::builder([6]).dtype(Dtype::I32).buffer(&view).build().unwrap();
        let from_memory = UsmArray::builder([6]).dtype(Dtype::I32).buffer(&memory).build().unwrap();
        assert_eq!(interface(&from_array), interface(&from_memory));
        assert_eq!(interface(&from_array), interface(&a));
        // The same bytes as another dtype.
        let bytes = UsmArray::builder([24]).dtype(Dtype::U8).buffer(&a).build().unwrap();
        a.assign(ArrayOrScalar::Weak(Weak::Int(-1))).unwrap();
        assert_eq!(bytes.to_vec::<u8>().unwrap(), [255; 24]);
    }
}

fn argument_strides(queue: &Queue) {
    let build = |strides: &[isize]| {
        UsmArray::builder([3, 2])
            .dtype(Dtype::I32)
            .buffer(Shared)
            .strides(strides)
            .queue(queue)
            .build()
            .unwrap()
    };
    // Strides win over the order, and 0 repeats elements.
    let a = build(&[0, 1]);
    assert_eq!((a.usm_data().unwrap().bytes(), places::<i32>(&a)), (8, vec![0, 1, 0, 1, 0, 1]));
    let a = build(&[-1, -3]);
    assert_eq!((a.offset(), places::<i32>(&a)), (5, vec![5, 2, 4, 1, 3, 0]));
}

fn argument_offset(queue: &Queue) {
    let mem = UsmMemory::new(Shared, 40, queue).unwrap();
    let build = |offset: Option<usize>| {
        let builder = UsmArray::builder([2, 2]).dtype(Dtype::I32).buffer(&mem).strides([4, -1]);
        offset.map_or(builder.clone(), |offset| builder.offset(offset)).build().unwrap()
    };
    assert_eq!((build(None).offset(), places::<i32>(&build(None))), (1, vec![1, 0, 5, 4]));
    assert_eq!(places::<i32>(&build(Some(4))), [4, 3, 8, 7]);
}

fn argument_order(queue: &Queue) {
    for (order, strides) in [(Order::C, [12, 4, 1]), (Order::F, [1, 2, 6])] {
        let builder = UsmArray::builder([2, 3, 4]).dtype(Dtype::I32).buffer(Shared).order(order).queue(queue);
        let a = builder.build().unwrap();
        assert_eq!(a.strides(), strides);
        assert_eq!((a.flags().c_contiguous, a.flags().f_contiguous), (order == Order::C, order == Order::F));
    }
}

fn argument_queue(queue: &Queue) {
    // Another queue of the same context may use the buffer; one of another context may not.
    let a = new(queue, &[4], "i4", DeviceKind);
    let sibling = Queue::in_context(queue.context(), queue.device(), queue.properties()).unwrap();
    let b = UsmArray::builder([4]).dtype(Dtype::I32).buffer(&a).queue(&sibling).build().unwrap();
    assert_eq!((b.queue(), b.usm_data().unwrap().ptr()), (&sibling, a.usm_data().unwrap().ptr()));
    let other = stridewise::Context::new(std::slice::from_ref(queue.device())).unwrap();
    let stranger = other.queue(queue.device()).unwrap();
    let refused = UsmArray::builder([4]).dtype(Dtype::I32).buffer(&a).queue(&stranger).build();
    assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
}

fn argument_alignment(queue: &Queue) {
    for kind in UsmKind::ALL {
        for bytes in [1, 64, 256, 4096, 1 << 16] {
            let builder =
                UsmArray::builder([100]).dtype(Dtype::I32).buffer(kind).alignment(bytes).queue(queue);
            let a = builder.build().unwrap();
            assert!(a.usm_data().unwrap().ptr().addr().is_multiple_of(bytes.max(64)), "{kind} {bytes}");
        }
    }
}

fn argument_copy(queue: &Queue) {
    for kind in UsmKind::ALL {
        let a = new(queue, &[6], "i4", kind);
        number::<i32>(&a);
        let shared = UsmArray::builder([6]).dtype(Dtype::I32).buffer(&a).copy(false).build().unwrap();
        let copied =
            UsmArray::builder([3]).dtype(Dtype::I32).buffer(&a).strides([-2]).copy(true).build().unwrap();
        assert_eq!(shared.usm_data().unwrap().ptr(), a.usm_data().unwrap().ptr());
        assert_ne!(copied.usm_data().unwrap().ptr(), a.usm_data().unwrap().ptr());
        assert_eq!(copied.usm_data().unwrap().bytes(), a.usm_data().unwrap().bytes());
        a.assign(ArrayOrScalar::Weak(Weak::Int(9))).unwrap();
        assert_eq!(shared.to_vec::<i32>().unwrap(), [9; 6]);
        assert_eq!(copied.to_vec::<i32>().unwrap(), [4, 2, 0]);
    }
}

fn flags(queue: &Queue) {
    let a = new(queue, &[2, 3, 4], "i4", Shared);
    let contiguity = |a: &UsmArray| (a.flags().c_contiguous, a.flags().f_contiguous);
    assert_eq!(contiguity(&a), (true, false));
    assert_eq!(contiguity(&a.t()), (false, true));
    assert_eq!(contiguity(&a.permute_dims(&[1, 0, 2]).unwrap()), (false, false));
    assert_eq!(contiguity(&a.slice(s![1, .., ..]).unwrap()), (true, false));
    assert_eq!(contiguity(&a.slice(s![.., .., 1]).unwrap()), (false, false));
    assert_eq!(contiguity(&a.slice(s![0, 0, ..]).unwrap()), (true, true));
    assert_eq!(contiguity(&a.slice(s![..0, .., ..]).unwrap()), (true, true));
    assert_eq!(contiguity(&a.slice(s![.., .., ..;-1]).unwrap()), (false, false));
    assert_eq!(contiguity(&a.slice(s![1, 2, 3]).unwrap()), (true, true));
}

fn flag_writable(queue: &Queue) {
    for kind in UsmKind::ALL {
        let mut a = new(queue, &[4], "i4", kind);
        number::<i32>(&a);
        let before = a.clone();
        a.set_writable(false);
        assert!(!a.flags().writable && before.flags().writable);
        let one = || ArrayOrScalar::Weak(Weak::Int(1));
        let views = [
            a.clone(),
            a.slice(s![1..]).unwrap(),
            a.reshape(&[2, 2]).unwrap(),
            a.flip(None).unwrap(),
            a.t(),
            a.expand_dims(&[0]).unwrap(),
            UsmArray::builder([4]).dtype(Dtype::I32).buffer(&a).build().unwrap(),
        ];
        for view in &views {
            assert!(!view.flags().writable, "{view:?}");
            assert!(matches!(view.assign(one()), Err(Error::Borrow(_))));
            let first = ArrayOrScalar::Array(view);
            assert!(matches!(view.write_elementwise(Op::Add, &[first, one()], &[]), Err(Error::Borrow(_))));
        }
        // Results and copies are new arrays.
        assert!(a.binary(Op::Add, one()).unwrap().flags().writable);
        assert!(a.copy().unwrap().flags().writable);
        assert!(
            UsmArray::builder([4]).dtype(Dtype::I32).buffer(&a).copy(true).build().unwrap().flags().writable
        );
        // A view that repeats elements is read-only as well.
        assert!(!before.broadcast_to(&[3, 4]).unwrap().flags().writable);
        assert_eq!(a.to_vec::<i32>().unwrap(), [0, 1, 2, 3]);
        a.set_writable(true);
        a.assign(one()).unwrap();
        assert_eq!(before.to_vec::<i32>().unwrap(), [1; 4]);
    }
}

fn no_dimensions_and_no_elements(queue: &Queue) {
    let a = new(queue, &[], "i4", DeviceKind);
    assert_eq!((a.ndim(), a.len(), a.usm_data().unwrap().bytes()), (0, 1, 4));
    assert_eq!(a.flags(), only(true, true));
    let a = new(queue, &[3, 0], "i4", DeviceKind);
    assert_eq!((a.len(), a.is_empty(), a.flags()), (0, true, only(true, true)));
    assert_eq!(a.to_vec::<i32>().unwrap(), []);
}

/// The documentation warns that shape, strides and offset may be crafted to reach beyond the allocation. Not here.
fn integrity_is_checked(queue: &Queue) {
    let mem = UsmMemory::new(Shared, 64, queue).unwrap();
    let build = |strides: isize, offset: usize| {
        UsmArray::builder([4]).dtype(Dtype::I64).buffer(&mem).strides([strides]).offset(offset).build()
    };
    assert!(build(-2, 7).is_ok() && build(2, 1).is_ok());
    for (strides, offset) in [(-2, 8), (-3, 7), (-2, 5), (2, 2), (1, 5), (isize::MIN, 7), (isize::MAX, 0)] {
        let refused = build(strides, offset);
        assert!(
            matches!(refused, Err(Error::OutOfBounds(_) | Error::Overflow(_))),
            "{strides} {offset} {refused:?}"
        );
    }
}
