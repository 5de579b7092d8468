//! Bad input: each a typed error whose message names the argument, the value, what was expected and how to mend it.

use std::sync::Arc;
use std::sync::mpsc::channel;

use stridewise::backend::{Advice, Aspect, Partition, QueueProperties};
use stridewise::kernel::{Argument, Global, Item};
use stridewise::{
    Array, ArrayOrScalar, Context, Contracted, Device, Dtype, Error, Generator, IndexMode, Indexing, Op,
    Order, Queue, Reduction, Scalar, Scan, Side, UsmArray, UsmKind, UsmMemory, UsmPtr, Weak, bf16,
    broadcast_shapes, concat, elementwise, f16, ix, meshgrid, s, stack, where_,
};
use stridewise_null::{NullConfig, NullDevice};

/// Checks that a result is an error of a variant, and that its message has the form that all have and says these words:
/// the argument first, then the value, then what mends it.
macro_rules! refused {
    ($result:expr, $variant:ident: $argument:literal, $($word:expr),+ $(,)?) => {{
        let error = $result.expect_err("this is bad input");
        assert!(matches!(error, Error::$variant(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(concat!("`", $argument, "` is ")), "the argument {:?} in: {text}", $argument);
        let (what, help) = text.split_once("; help: ").unwrap_or_else(|| panic!("no help in: {text}"));
        assert!(what.contains("; expected ") && help.len() > 5, "{text}");
        for word in [$($word.to_string()),+] {
            assert!(text.contains(&word), "{word:?} in: {text}");
        }
    }};
}

fn queue() -> Queue {
    Queue::select("host").unwrap()
}

fn ints(queue: &Queue, shape: &[usize]) -> UsmArray {
    UsmArray::zeros(queue, shape, Dtype::I32, UsmKind::Shared).unwrap()
}

fn weak(value: impl Into<Weak>) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Weak(value.into())
}

#[test]
fn shapes_strides_and_offsets_that_overflow() {
    let q = queue();
    let build = |shape: &[usize], strides: Option<&[isize]>, offset: Option<usize>| {
        let mut builder = UsmArray::builder(shape).dtype(Dtype::F64).buffer(UsmKind::Shared).queue(&q);
        builder = strides.map_or(builder.clone(), |strides| builder.strides(strides));
        offset.map_or(builder.clone(), |offset| builder.offset(offset)).build()
    };
    let huge = usize::MAX / 2;
    refused!(build(&[huge, 3], None, None), Overflow: "shape", huge, "fewer elements");
    refused!(build(&[usize::MAX], None, None), Overflow: "shape", usize::MAX, "fewer elements");
    refused!(build(&[1 << 61], None, None), Overflow: "shape", 1u64 << 61, "fewer elements");
    refused!(build(&[3], Some(&[isize::MAX]), None), Overflow: "strides", isize::MAX, "smaller strides");
    refused!(build(&[3], Some(&[isize::MIN]), None), Overflow: "strides", isize::MIN, "smaller strides");
    refused!(build(&[3], None, Some(usize::MAX)), Overflow: "strides", usize::MAX, "smaller offset");
    refused!(build(&[2, 2], Some(&[1]), None), Shape: "strides", "[1]", "one for each dimension");
    refused!(build(&[2], Some(&[1, 1]), None), Shape: "strides", "[1, 1]", "[2]", "one for each dimension");
    refused!(build(&[1; 33], None, None), Axis: "shape", "33", "merge dimensions");
}

#[test]
fn shapes_strides_and_offsets_out_of_bounds() {
    let q = queue();
    let memory = UsmMemory::new(UsmKind::Shared, 64, &q).unwrap();
    let build = |shape: &[usize], strides: &[isize], offset: Option<usize>| {
        let builder = UsmArray::builder(shape).dtype(Dtype::F64).buffer(&memory).strides(strides);
        offset.map_or(builder.clone(), |offset| builder.offset(offset)).build()
    };
    refused!(build(&[9], &[1], None), OutOfBounds: "strides", "[9]", "64 bytes", "larger allocation");
    refused!(build(&[4], &[3], None), OutOfBounds: "strides", "[3]", "64 bytes", "smaller strides");
    refused!(build(&[8], &[1], Some(1)), OutOfBounds: "offset", "offset 1", "64 bytes", "smaller offset");
    refused!(build(&[4], &[-2], Some(5)), OutOfBounds: "offset", "5", "[-2]", "at least 6");
    refused!(build(&[0], &[1], Some(9)), OutOfBounds: "offset", "9", "64 bytes", "smaller offset");
    let x = ints(&q, &[3, 4]);
    refused!(x.slice(s![3, ..]), OutOfBounds: "items", "index 3 on axis 0", "-3 to 2", "slice");
    refused!(x.slice(s![.., -5]), OutOfBounds: "items", "index -5 on axis 1", "-4 to 3");
    refused!(x.slice(s![0, 0, 0]), Axis: "items", "3 indices", "at most 2", "leave out");
    refused!(x.slice(s![..;0]), Value: "items", "step 0", "positive step");
    refused!(x.slice(s![stridewise::Ellipsis, stridewise::Ellipsis]), Value: "items", "2 ellipses", "one");
    refused!(x.reshape(&[5, -1]), Shape: "shape", "5");
    refused!(x.reshape(&[-1, -1]), Shape: "shape", "-1");
    refused!(x.broadcast_to(&[3, 5]), Shape: "shape", "[3, 5]", "[3, 4]");
}

#[test]
fn ranges_of_bytes_out_of_bounds() {
    let q = queue();
    let (a, b) =
        (UsmMemory::new(UsmKind::Host, 64, &q).unwrap(), UsmMemory::new(UsmKind::Device, 32, &q).unwrap());
    refused!(q.memcpy((&a, 0), (&b, 0), 33, &[]), OutOfBounds: "src", "33 bytes at offset 0", "32 bytes", "fewer");
    refused!(q.memcpy((&b, 8), (&a, 0), 32, &[]), OutOfBounds: "dst", "32 bytes at offset 8", "32 bytes", "fewer");
    refused!(q.memcpy((&a, usize::MAX), (&b, 0), 2, &[]), OutOfBounds: "dst", usize::MAX, "start earlier");
    refused!(q.fill(&a, 8, Scalar::I64(1), 8, &[]), OutOfBounds: "len", "64 bytes at offset 8", "fewer");
    refused!(q.fill(&a, 4, Scalar::I64(1), 1, &[]), Value: "offset", "4", "multiple of", "start at an element");
    refused!(q.fill(&a, 0, Scalar::I64(1), usize::MAX / 4, &[]), Overflow: "len", usize::MAX / 4, "fewer");
    refused!(q.memset(&a, 60, 0, 5, &[]), OutOfBounds: "len", "5 bytes at offset 60", "fewer");
    refused!(q.prefetch(&a, 60, 5, &[]), OutOfBounds: "bytes", "5 bytes at offset 60", "fewer");
    refused!(q.mem_advise(&b, 33, 0, Advice::Random, &[]), OutOfBounds: "bytes", "0 bytes at offset 33", "earlier");
    refused!(a.copy_to_host(60, &mut [0; 5]), OutOfBounds: "out", "5 bytes at offset 60", "fewer");
    refused!(b.copy_from_host(0, &[0; 33]), OutOfBounds: "data", "33 bytes at offset 0", "fewer");
}

#[test]
fn wrong_buffers() {
    let q = queue();
    // Of another context.
    let context = Context::new(std::slice::from_ref(q.device())).unwrap();
    let stranger = context.queue(q.device()).unwrap();
    let memory = UsmMemory::new(UsmKind::Shared, 64, &stranger).unwrap();
    let build = UsmArray::builder([2]).buffer(&memory).queue(&q).build();
    refused!(build, Value: "queue", q, stranger, "copy the memory");
    // Foreign memory: null, empty, or where no element of the dtype may lie.
    let foreign = |ptr: UsmPtr, bytes: usize| {
        // SAFETY: nothing is adopted, or the words below outlive what is made on them.
        unsafe { UsmMemory::from_foreign(UsmKind::Host, ptr, bytes, &q, None) }
    };
    let mut words = [0_u64; 4];
    let start = UsmPtr::new(words.as_mut_ptr().cast());
    refused!(foreign(UsmPtr::NULL, 8), Value: "ptr", "0x0", "fresh array");
    refused!(foreign(start, 0), Value: "ptr", "0 bytes", "fresh array");
    let odd = foreign(start.byte_offset(1), 24).unwrap();
    let build = || UsmArray::builder([2]).dtype(Dtype::F64).buffer(&odd);
    let address = format!("{:?}", start.byte_offset(1));
    refused!(build().build(), Value: "buffer", address, "multiple of 8", "copy(true)");
    assert!(build().copy(true).build().is_ok(), "the way out works");
    assert!(UsmArray::builder([2]).dtype(Dtype::U8).buffer(&odd).build().is_ok());
    // Memory that was lent for reading, by whatever way it is written to.
    let lent = foreign(start, 32).unwrap();
    lent.forbid_writing();
    let mut array = UsmArray::builder([4]).dtype(Dtype::I64).buffer(&lent).build().unwrap();
    array.set_writable(true);
    assert!(lent.is_read_only() && !array.flags().writable);
    refused!(lent.copy_from_host(0, &[1]), Borrow: "memory", "reading only", "copy it");
    refused!(q.memset(&lent, 0, 1, 8, &[]), Borrow: "memory", "reading only", "copy it");
    refused!(q.memcpy((&lent, 0), (&odd, 0), 8, &[]), Borrow: "memory", "reading only", "copy it");
    refused!(array.assign(&array), Borrow: "self", "read-only", "copy it");
    refused!(array.host_view_mut::<i64>(), Borrow: "array", "read-only", "copy it");
    assert_eq!(array.to_vec::<i64>().unwrap(), [0; 4]);
    assert!(array.copy().unwrap().flags().writable);
}

#[test]
fn allocations_that_cannot_be() {
    let q = queue();
    refused!(UsmMemory::new(UsmKind::Device, 0, &q), Value: "bytes", "0", "cannot be empty");
    refused!(UsmMemory::aligned(UsmKind::Host, 8, 48, &q), Value: "alignment", "48", "power of two", "64");
    refused!(UsmMemory::aligned(UsmKind::Host, 8, 0, &q), Value: "alignment", "0", "power of two", "64");
    refused!(UsmMemory::new(UsmKind::Host, usize::MAX, &q), Overflow: "bytes", usize::MAX, "allocate less");
    let much = isize::MAX as usize / 2;
    refused!(UsmMemory::new(UsmKind::Host, much, &q), Alloc: "bytes", "bytes of host memory");
    let build = UsmArray::builder([much / 8]).dtype(Dtype::I64).buffer(UsmKind::Shared).queue(&q).build();
    refused!(build, Alloc: "bytes", "bytes of shared memory");
    let data = UsmArray::from_slice(&q, &[2, 3], &[1_i32; 5], UsmKind::Host);
    refused!(data, Shape: "data", "5 elements", "6 elements", "as many elements");
}

#[test]
fn mixed_queues() {
    let (q1, q2) = (queue(), queue());
    let (x, y) = (ints(&q1, &[3]), ints(&q2, &[3]));
    let out = ints(&q2, &[3]);
    let bools = UsmArray::zeros(&q2, &[3], Dtype::Bool, UsmKind::Shared).unwrap();
    let refusals = [
        concat(&[&x, &y], Some(0)).err(),
        stack(&[&x, &y], 0).err(),
        x.binary(Op::Add, &y).err(),
        where_(&bools, &x, &x).err(),
        x.assign(&y).err(),
        out.write_elementwise(Op::Add, &[(&x).into(), (&x).into()], &[]).err(),
    ];
    for error in refusals {
        let error = error.expect("queues differ");
        assert!(matches!(error, Error::ExecutionPlacement(_)), "{error:?}");
        let text = error.to_string();
        for word in [&q1.to_string(), &q2.to_string(), "expected one queue", "help: migrate", ".to_queue("] {
            assert!(text.contains(word), "{word:?} in {text}");
        }
    }
    let other = Context::new(&[Device::select("host:scalar").unwrap()]).unwrap();
    refused!(other.queue(q1.device()), DeviceSelection: "device", q1.device(), "host:scalar");
    refused!(Context::new(&[]), Value: "devices", "empty", "name the devices");
    let null = Device::from_backend(Arc::new(NullDevice::new(NullConfig::default())));
    let both = Context::new(&[null, q1.device().clone()]);
    refused!(both, DeviceSelection: "devices", "null:accelerator:0", "one context per backend");
}

#[test]
fn device_memory_is_not_for_the_host() {
    let q = queue();
    let mut x = UsmArray::zeros(&q, &[3], Dtype::I32, UsmKind::Device).unwrap();
    refused!(x.host_view::<i32>(), HostAccess: "array", "device memory of host:cpu:0", "to_vec", "copy");
    refused!(x.host_view_mut::<i32>(), HostAccess: "array", "device memory of host:cpu:0", "copy");
    assert_eq!(x.to_vec::<i32>().unwrap(), [0; 3], "the way out works");
    assert_eq!(x.to_kind(UsmKind::Shared).unwrap().host_view::<i32>().unwrap().to_vec(), [0; 3]);
}

#[test]
fn bad_filter_strings() {
    for bad in [
        "",
        ",",
        ":",
        "host:",
        "host::0",
        "-1",
        "host:cpu:0:0",
        "0:host",
        "cpu cpu",
        "host:cpu:99999999999999999999",
    ] {
        refused!(Device::select(bad), DeviceSelection: "filter", format!("{bad:?}"), "backend:type:index", "host:cpu:0");
    }
    for missing in ["quantum", "host:gpu", "host:cpu:7", "cuda:gpu:0", "host:scalar:1"] {
        refused!(Device::select(missing), DeviceSelection: "filter", format!("{missing:?}"), "use one of: host:cpu:0");
    }
    refused!("gpu:gpu".parse::<Device>(), DeviceSelection: "filter", "\"gpu:gpu\"");
    refused!("disk".parse::<UsmKind>(), Value: "usm_kind", "\"disk\"", "host, device, shared");
    refused!(">f4".parse::<Dtype>(), Dtype: "dtype", "\">f4\"", "use one of");
    let parts = queue().device().create_sub_devices(&Partition::Equally(0));
    refused!(parts, DeviceSelection: "partition", "equal parts of 0 compute units", "use equal parts of 1 to");
}

#[test]
fn axes_out_of_range() {
    let x = ints(&queue(), &[3, 4]);
    refused!(x.reduce(Reduction::Sum, Some(&[2]), false), Axis: "axis", "2");
    refused!(x.reduce(Reduction::Sum, Some(&[-3]), false), Axis: "axis", "-3");
    refused!(x.reduce(Reduction::Sum, Some(&[1, -1]), false), Axis: "axis", "-1");
    refused!(concat(&[&x, &x], Some(2)), Axis: "axis", "2");
    refused!(stack(&[&x, &x], 3), Axis: "axes", "3");
    refused!(x.permute_dims(&[0, 0]), Axis: "axes", "[0, 0]");
    refused!(x.permute_dims(&[0]), Axis: "axes", "[0]");
    refused!(x.expand_dims(&[4]), Axis: "axes", "4");
    refused!(x.squeeze(&[0]), Shape: "axes", "axis 0 has extent 3", "index");
    refused!(x.squeeze(&[2]), Axis: "axes", "2");
    refused!(x.flip(Some(&[5])), Axis: "axes", "5");
    refused!(x.swap_axes(0, 2), Axis: "second", "2");
    refused!(x.slice(s![0]).unwrap().matrix_transpose(), Axis: "x", "[4]", "two dimensions", "expand_dims");
}

#[test]
fn numbers_that_make_no_array() {
    let q = queue();
    let range = |stop: i64, step: f64, dtype| match step.fract() {
        0.0 => UsmArray::arange(&q, 1, stop, step as i64, dtype, UsmKind::Shared),
        _ => UsmArray::arange(&q, 1, stop, step, dtype, UsmKind::Shared),
    };
    refused!(range(i64::MAX, 0.0, Dtype::I64), Value: "step", "0 from 1 to", "`linspace`");
    refused!(range(i64::MAX, 1.0, Dtype::I64), Overflow: "step", "1 from 1 to", "elements", "larger step");
    refused!(range(9, 1.5, Dtype::I64), Dtype: "scalar", "1.5", "int64", "richer dtype");
    refused!(range(300, 1.0, Dtype::I8), Dtype: "scalar", "299", "int8", "-128 to 127");
    refused!(range(2, 1.0, Dtype::Bool), Dtype: "dtype", "bool", "integer or real", "astype");
    let line = |num, dtype| UsmArray::linspace(&q, 0, 1, num, true, dtype, UsmKind::Shared);
    refused!(line(3, Dtype::Bool), Dtype: "dtype", "bool", "numeric", "compare");
    refused!(line(usize::MAX, Dtype::F64), Overflow: "num", usize::MAX, "fewer");
    let x = ints(&q, &[3]);
    refused!(x.tril(0), Axis: "x", "[3]", "two dimensions", "expand_dims");
    refused!(meshgrid(&[&x, &ints(&q, &[2, 2])], Indexing::Ij), Shape: "arrays[1]", "[2, 2]", "one dimension", "reshape");
}

#[test]
fn folds_and_moves_that_do_not_fit() {
    let q = queue();
    let x = ints(&q, &[3, 4]);
    refused!(x.var(None, false, f64::INFINITY), Value: "correction", "inf", "finite", "degrees of freedom");
    refused!(x.std(Some(&[2]), false, 0.0), Axis: "axis", "2");
    refused!(x.logsumexp(None, false, Some(Dtype::I32)), Dtype: "dtype", "int32", "floating-point", "leave it out");
    refused!(
        x.astype(Dtype::C64).unwrap().logsumexp(None, false, None),
        Dtype: "x", "complex64", "real numbers", "magnitude"
    );
    refused!(x.cumulative(Scan::Sum, None, None, false), Axis: "axis", "[3, 4]", "one dimension", "name the axis");
    refused!(x.cumulative(Scan::Prod, Some(0), Some(Dtype::Bool), false), Dtype: "dtype", "bool", "numbers", "another");
    refused!(x.diff(2, 1, None, None), Axis: "axis", "2");
    refused!(x.move_axes(&[0, 1], &[0]), Axis: "destinations", "[0]", "[0, 1]", "as many");
    refused!(x.roll(&[1, 2, 3], Some(&[0, 1])), Value: "shifts", "[1, 2, 3]", "[0, 1]", "as many");
    refused!(x.tile(&[usize::MAX, 1]), Overflow: "repetitions", usize::MAX, "less often");
    let counts = |values: &[i64]| UsmArray::from_slice(&q, &[values.len()], values, UsmKind::Shared).unwrap();
    refused!(x.repeat_each(&counts(&[1, 2]), Some(0)), Shape: "counts", "[2]", "3 of them", "each element");
    refused!(x.repeat_each(&counts(&[1, -2, 1]), Some(0)), Value: "counts", "-2", "no negative", "use 0");
    refused!(x.repeat_each(&counts(&[i64::MAX; 3]), Some(0)), Overflow: "counts", i64::MAX, "smaller counts");
    let halves = UsmArray::from_slice(&q, &[3], &[0.5_f32; 3], UsmKind::Shared).unwrap();
    refused!(x.repeat_each(&halves, Some(0)), Dtype: "counts", "float32", "integer", "astype");
}

#[test]
fn shapes_that_do_not_fit() {
    let q = queue();
    let (x, y) = (ints(&q, &[3, 4]), ints(&q, &[3, 5]));
    refused!(x.binary(Op::Add, &y), Shape: "operand 1", "[3, 5]", "[3, 4]", "reshape");
    refused!(broadcast_shapes(&[&[2], &[3]]), Shape: "operand 1", "[3]", "[2]", "reshape");
    refused!(concat(&[&x, &ints(&q, &[2, 4])], Some(1)), Shape: "arrays[1]", "[2, 4]", "[3, 4]", "reshape or slice");
    refused!(concat(&[&x, &ints(&q, &[3])], Some(0)), Shape: "arrays[1]", "[3]", "[3, 4]");
    refused!(stack(&[&x, &y], 0), Shape: "arrays[1]", "[3, 5]", "[3, 4]");
    refused!(concat(&[], Some(0)), Value: "arrays", "empty");
    refused!(x.write_elementwise(Op::Add, &[(&ints(&q, &[4])).into(), weak(1)], &[]), Shape: "out", "[3, 4]", "[4]");
    refused!(ints(&q, &[4]).assign(&x), Shape: "shape", "[4]", "[3, 4]");
    refused!(x.item(), Shape: "array", "[3, 4]", "select an element");
    let none = ints(&q, &[0, 4]);
    refused!(none.reduce(Reduction::Min, Some(&[0]), false), Value: "x", "[0, 4]", "check for size 0");
    refused!(none.reduce(Reduction::ArgMax, None, false), Value: "x", "[0, 4]", "check for size 0");
    let cube = ints(&q, &[2, 2, 2]);
    refused!(cube.reduce(Reduction::ArgMax, Some(&[0, 1]), false), Value: "axis", "argmax", "permute and reshape");
    refused!(elementwise(Op::Add, &[(&x).into()]), Value: "operands", "1 for `add`", "2 operands");
}

#[test]
fn indices_out_of_range() {
    let q = queue();
    let x = ints(&q, &[3, 4]);
    let at = |list: &[i64]| UsmArray::from_slice(&q, &[list.len()], list, UsmKind::Shared).unwrap();
    let check = IndexMode::Check;
    let help = "IndexMode::Wrap";
    refused!(x.take(&at(&[0, 3]), Some(0), check), OutOfBounds: "indices", "3", "from -3 to 2", help);
    refused!(x.take(&at(&[-4]), Some(0), check), OutOfBounds: "indices", "-4", "from -3 to 2", help);
    refused!(x.take(&at(&[12]), None, check), OutOfBounds: "indices", "12", "from -12 to 11", help);
    refused!(x.take(&at(&[i64::MIN]), None, check), OutOfBounds: "indices", i64::MIN, help);
    let huge = UsmArray::from_slice(&q, &[1], &[u64::MAX], UsmKind::Shared).unwrap();
    refused!(x.take(&huge, Some(0), check), OutOfBounds: "indices", u64::MAX, "from -3 to 2", help);
    let none = ints(&q, &[0]);
    for mode in [check, IndexMode::Wrap, IndexMode::Clip] {
        refused!(none.take(&at(&[0]), Some(0), mode), OutOfBounds: "indices", "extent 0", "check for size 0");
        assert_eq!(none.take(&at(&[]), Some(0), mode).unwrap().shape(), [0]);
    }
    refused!(x.put(&at(&[3]), weak(1), Some(0), check), OutOfBounds: "indices", "3", "from -3 to 2", help);
    refused!(x.index(ix![.., &at(&[4])]), OutOfBounds: "indices", "4", "from -4 to 3", help);
    refused!(x.index(ix![&at(&[0]), 4]), OutOfBounds: "items", "index 4 on axis 1", "from -4 to 3");
    refused!(x.assign_index(ix![&at(&[-4])], weak(1)), OutOfBounds: "indices", "-4", help);
    let rows = at(&[3]).expand_dims(&[1]).unwrap();
    refused!(x.take_along_axis(&rows, 0, check), OutOfBounds: "indices", "3", "from -3 to 2", help);
    refused!(x.put_along_axis(&rows, weak(1), 0, check), OutOfBounds: "indices", "3", help);
    let long = UsmArray::from_slice(&q, &[4], &[false, false, false, true], UsmKind::Shared).unwrap();
    refused!(x.compress(&long, Some(0)), OutOfBounds: "indices", "3", "from -3 to 2");
    let table = at(&[1, 2]);
    refused!(table.searchsorted(&table, Side::Left, Some(&at(&[0, 2]))), OutOfBounds: "indices", "2", help);
    assert_eq!(x.to_vec::<i32>().unwrap(), [0; 12], "nothing was written");
}

#[test]
fn indices_that_do_not_fit() {
    let q = queue();
    let x = ints(&q, &[3, 4]);
    let at = |list: &[i64]| UsmArray::from_slice(&q, &[list.len()], list, UsmKind::Shared).unwrap();
    let (floats, check) = (UsmArray::zeros(&q, &[2], Dtype::F32, UsmKind::Shared).unwrap(), IndexMode::Check);
    refused!(x.take(&floats, Some(0), check), Dtype: "indices", "float32", "integers", "masked");
    refused!(x.index(ix![&floats]), Dtype: "indices", "float32", "integers", "masked");
    refused!(x.take(&at(&[0]), Some(2), check), Axis: "axis", "2");
    refused!(x.take_along_axis(&at(&[0]), 0, check), Shape: "indices", "[1]", "[3, 4]", "expand_dims");
    let wide = at(&[0, 1, 2, 0, 1]).expand_dims(&[0]).unwrap();
    refused!(x.take_along_axis(&wide, 0, check), Shape: "operand 1", "5", "4");
    refused!(x.put(&at(&[0]), &ints(&q, &[5]), Some(0), check), Shape: "shape", "[1, 4]", "[5]");
    refused!(x.index(ix![&at(&[0]), &at(&[0]), &at(&[0])]), Axis: "items", "3 axes", "[3, 4]");
    refused!(x.index(ix![&at(&[0, 1]), &at(&[0, 1, 2])]), Shape: "operand 1", "[3]", "[2]");
    refused!(x.assign_index(ix![&at(&[0])], &ints(&q, &[3])), Shape: "shape", "[1, 4]", "[3]");
    let bools = |shape: &[usize]| UsmArray::zeros(&q, shape, Dtype::Bool, UsmKind::Shared).unwrap();
    refused!(x.masked(&bools(&[4])), Shape: "mask", "[4]", "[3, 4]", "broadcast_to");
    refused!(x.index(ix![.., &bools(&[3])]), Shape: "items", "mask of shape [3]", "[3, 4]");
    refused!(x.masked(&x), Dtype: "mask", "int32", "compare first");
    refused!(x.assign_masked(&bools(&[3, 4]), &ints(&q, &[2])), Shape: "shape", "[0]", "[2]");
    let yes = UsmArray::full(&q, &[3, 4], Scalar::Bool(true), UsmKind::Shared).unwrap();
    refused!(x.place(&yes, &ints(&q, &[0])), Value: "values", "empty", "give a value");
    refused!(x.place(&bools(&[3]), &ints(&q, &[1])), Shape: "mask", "[3]", "[3, 4]", "assign_masked");
    refused!(x.extract(&bools(&[11])), Shape: "mask", "[11]", "[12]");
    refused!(x.compress(&bools(&[3, 4]), None), Shape: "condition", "[3, 4]", "one dimension");
    refused!(ints(&q, &[]).nonzero(), Axis: "self", "no dimensions", "expand_dims");
    let other = queue();
    let away = UsmArray::zeros(&other, &[1], Dtype::I64, UsmKind::Shared).unwrap();
    for error in [
        x.take(&away, Some(0), check).err(),
        x.put(&at(&[0]), &away, Some(0), check).err(),
        x.index(ix![&away]).err(),
        x.matmul(&away).err(),
        at(&[0]).searchsorted(&away, Side::Left, None).err(),
        at(&[0]).isin(&away, false).err(),
    ] {
        assert!(matches!(error, Some(Error::ExecutionPlacement(_))), "{error:?}");
    }
    let mut fixed = x.clone();
    fixed.set_writable(false);
    refused!(fixed.put(&at(&[0]), weak(1), Some(0), check), Borrow: "self", "read-only", "copy it first");
    refused!(fixed.assign_masked(&yes, weak(1)), Borrow: "self", "read-only", "copy it first");
    let row = ints(&q, &[4]).broadcast_to(&[3, 4]).unwrap();
    refused!(row.assign_index(ix![&at(&[0])], weak(1)), Borrow: "self", "copy it first");
}

#[test]
fn what_cannot_be_sorted_searched_or_multiplied() {
    let q = queue();
    let (x, y) = (ints(&q, &[3, 4]), ints(&q, &[3, 5]));
    refused!(x.sort(2, false), Axis: "axis", "2");
    refused!(ints(&q, &[]).sort(-1, false), Axis: "axis", "-1");
    refused!(x.top_k(5, Some(1), true), Value: "k", "5", "at most 4");
    refused!(x.searchsorted(&y, Side::Left, None), Shape: "self", "[3, 4]", "one dimension");
    let line = ints(&q, &[3]);
    refused!(line.searchsorted(&y, Side::Left, Some(&ints(&q, &[2]))), Shape: "sorter", "[2]", "argsort");
    refused!(x.matmul(&y), Shape: "x2", "[3, 5]", "[3, 4]", "transpose");
    refused!(x.matmul(&ints(&q, &[])), Axis: "x2", "no dimensions", "elementwise");
    refused!(ints(&q, &[2, 3, 4]).matmul(&ints(&q, &[3, 4, 5])), Shape: "operand 1", "[3]", "[2]");
    let bools = UsmArray::zeros(&q, &[3, 4], Dtype::Bool, UsmKind::Shared).unwrap();
    refused!(bools.matmul(&bools), Dtype: "x1", "bool", "astype");
    refused!(x.tensordot(&y, 3), Axis: "axes", "3", "at most 2");
    refused!(x.tensordot(&y, 1), Shape: "x2", "[3, 5]", "[3, 4]", "transpose");
    refused!(x.tensordot(&y, (&[0, 1], &[0])), Axis: "axes", "2 axes of x1 and 1 of x2", "pairs");
    refused!(x.tensordot(&y, Contracted::Axes(&[0, -2], &[0, 1])), Axis: "axes", "twice");
    refused!(x.vecdot(&y, -1), Shape: "x2", "[3, 5]", "[3, 4]");
    refused!(x.vecdot(&line, 1), Axis: "axis", "1", "from the end", "-1");
    refused!(x.outer(&line), Shape: "x1", "[3, 4]", "reshape");
    refused!(x.cross(&y, -1), Shape: "x1", "[3, 4]", "extent of 3");
    refused!(line.diagonal(0), Axis: "self", "[3]", "two dimensions");
    let mut random = Generator::new(1).on(&q);
    refused!(random.uniform_as([2], Dtype::F32, 1.0, 0.0), Value: "high", "0", "1", "low not above high");
    refused!(random.uniform_as([2], Dtype::F64, f64::MIN, f64::MAX), Value: "high", "finite");
    refused!(random.uniform_as([2], Dtype::I32, 0.0, 1.0), Dtype: "dtype", "int32", "float32");
    refused!(random.normal_as([2], Dtype::F32, 0.0, -1.0), Value: "std", "-1", "not negative");
    refused!(random.integers_as([2], Dtype::U8, 0, 257), Value: "high", "257", "to 256", "larger dtype");
    refused!(random.integers_as([2], Dtype::U8, 5, 5), Value: "high", "5", "low below high");
    refused!(random.integers_as([2], Dtype::F32, 0, 5), Dtype: "dtype", "float32");
    assert_eq!(random.counter(), 0, "what is refused draws nothing");
}

#[test]
fn dtypes_that_cannot_hold_the_result() {
    let q = queue();
    let array = |dtype| UsmArray::zeros(&q, &[3], dtype, UsmKind::Shared).unwrap();
    let (bytes, ints, floats) = (array(Dtype::U8), array(Dtype::I32), array(Dtype::F32));
    // A scalar outside the array's dtype.
    for bad in [-1, 256] {
        let error = bytes.binary(Op::Add, weak(bad)).expect_err("out of range");
        assert!(
            error.to_string().contains(&bad.to_string()) && error.to_string().contains("uint8"),
            "{error}"
        );
        let error = bytes.assign(weak(bad)).expect_err("out of range");
        assert!(error.to_string().contains(&bad.to_string()), "{error}");
    }
    // An out of a poorer kind; a narrower one of the same kind is NumPy's same_kind, and allowed.
    let into = |out: &UsmArray, op, x: &UsmArray| out.write_elementwise(op, &[x.into(), x.into()], &[]);
    refused!(into(&ints, Op::Divide, &ints), Dtype: "out", "int32", "float64", "convert the operands");
    refused!(into(&ints, Op::Add, &floats), Dtype: "out", "int32", "float32", "convert the operands");
    refused!(into(&bytes, Op::Add, &ints), Dtype: "out", "uint8", "int32", "convert the operands");
    refused!(into(&array(Dtype::Bool), Op::Add, &bytes), Dtype: "out", "bool", "uint8", "convert the operands");
    refused!(into(&floats, Op::Add, &array(Dtype::C64)), Dtype: "out", "float32", "complex64", "convert");
    assert!(into(&floats, Op::Add, &array(Dtype::F64)).is_ok());
    assert!(into(&array(Dtype::I64), Op::Add, &ints).is_ok());
    // Operations that a dtype does not have.
    refused!(array(Dtype::C64).binary(Op::Less, &array(Dtype::C64)), Dtype: "x1", "complex64 for `less`", "astype");
    refused!(array(Dtype::Bool).unary(Op::Negative), Dtype: "x1", "bool for `negative`", "astype");
    refused!(floats.binary(Op::BitwiseAnd, &floats), Dtype: "x1", "float32 for `bitwise_and`", "astype");
    refused!(array(Dtype::C64).reduce(Reduction::Max, None, false), Dtype: "x", "complex64 for `max`", "magnitude");
    refused!(where_(&ints, &ints, &ints), Dtype: "condition", "int32", "compare first");
    // Elements asked for as another type.
    refused!(ints.to_vec::<f32>(), Dtype: "T", "float32", "int32", "astype");
    refused!(ints.host_view::<u32>(), Dtype: "T", "uint32", "int32", "astype");
}

#[test]
fn bytes_that_are_no_bools() {
    let q = queue();
    let memory = UsmMemory::new(UsmKind::Shared, 4, &q).unwrap();
    memory.copy_from_host(0, &[0, 1, 2, 1]).unwrap();
    let bools = UsmArray::builder([4]).dtype(Dtype::Bool).buffer(&memory).build().unwrap();
    refused!(bools.host_view::<bool>(), Value: "array", "element 2", "uint8");
    assert_eq!(bools.slice(s![..2]).unwrap().to_vec::<bool>().unwrap(), [false, true]);
}

#[test]
fn conflicts_with_host_views() {
    let q = queue();
    let mut x = ints(&q, &[4]);
    let (y, mut z) = (x.clone(), x.clone());
    let memory = x.usm_data().unwrap();
    {
        let view = x.host_view_mut::<i32>().unwrap();
        assert_eq!(view.len(), 4);
        let word = "host view for writing";
        refused!(y.host_view::<i32>(), Borrow: "array", word, "drop the view");
        refused!(z.host_view_mut::<i32>(), Borrow: "array", word, "drop the view");
        refused!(y.assign(weak(1)), Borrow: "array", word, "drop the view");
        refused!(y.copy(), Borrow: "array", word, "drop the view");
        refused!(q.memset(&memory, 0, 0, 4, &[]), Borrow: "array", word, "drop the view");
        refused!(memory.copy_from_host(0, &[1]), Borrow: "array", word, "drop the view");
    }
    {
        let first = y.host_view::<i32>().unwrap();
        let second = y.host_view::<i32>().unwrap();
        let word = "host view for reading";
        refused!(z.host_view_mut::<i32>(), Borrow: "array", word, "drop the view");
        refused!(z.assign(weak(1)), Borrow: "array", word, "drop the view");
        assert_eq!(z.copy().unwrap().to_vec::<i32>().unwrap(), first.to_vec(), "reading is allowed");
        drop((first, second));
    }
    z.assign(weak(1)).unwrap();
    assert_eq!(z.to_vec::<i32>().unwrap(), [1; 4]);
}

#[test]
fn writes_to_what_is_read_only() {
    let q = queue();
    let mut x = ints(&q, &[1, 4]);
    let out = x.broadcast_to(&[3, 4]).unwrap();
    let add = |out: &UsmArray| out.write_elementwise(Op::Add, &[out.into(), weak(1)], &[]);
    refused!(add(&out), Borrow: "out", "read-only", "copy it first");
    let mut forced = out.clone();
    forced.set_writable(true);
    refused!(add(&forced), Borrow: "out", "broadcast view", "copy it first");
    refused!(forced.assign(weak(1)), Borrow: "self", "broadcast view", "copy it first");
    refused!(forced.host_view_mut::<i32>(), Borrow: "array", "broadcast view", "copy it first");
    x.set_writable(false);
    refused!(add(&x), Borrow: "out", "read-only", "copy it first");
    refused!(x.assign(weak(1)), Borrow: "self", "read-only", "copy it first");
    refused!(x.host_view_mut::<i32>(), Borrow: "array", "read-only", "copy it first");
    // Strides that address elements twice without a stride of 0.
    let memory = UsmMemory::new(UsmKind::Shared, 16, &q).unwrap();
    let folded = UsmArray::builder([2, 3]).dtype(Dtype::I32).buffer(&memory).strides([1, 1]).build().unwrap();
    refused!(folded.assign(weak(1)), Borrow: "self", "share memory", "copy it first");
}

/// A device without some aspects.
fn lacking(missing: &[Aspect]) -> (NullDevice, Queue) {
    let mut config = NullConfig { all_kinds: true, ..NullConfig::default() };
    config.aspects.retain(|aspect| !missing.contains(aspect));
    let null = NullDevice::new(config);
    let device = Device::from_backend(Arc::new(null.clone()));
    (null, device.queue().unwrap())
}

#[test]
fn devices_that_lack_a_dtype() {
    let (null, q) = lacking(&[Aspect::Fp64, Aspect::Fp16]);
    let empty = |dtype| UsmArray::empty(&q, &[4], dtype, UsmKind::Device);
    for (dtype, instead) in [(Dtype::F64, "float32"), (Dtype::C128, "complex64"), (Dtype::F16, "float32")] {
        let word = format!("use {instead}");
        refused!(empty(dtype), Dtype: "dtype", dtype, "null:accelerator:0", word);
        refused!(empty(Dtype::I32).unwrap().astype(dtype), Dtype: "dtype", dtype, "null:accelerator:0", word);
        let sum = empty(Dtype::I32).unwrap().reduce_as(Reduction::Sum, None, false, Some(dtype));
        refused!(sum, Dtype: "dtype", dtype, word);
    }
    // What is not asked for by name is downgraded.
    assert_eq!(UsmArray::builder([4]).queue(&q).build().unwrap().dtype(), Dtype::F32);
    let (ints, floats, longs) =
        (empty(Dtype::I32).unwrap(), empty(Dtype::F32).unwrap(), empty(Dtype::I64).unwrap());
    assert_eq!(ints.unary(Op::Sqrt).unwrap().dtype(), Dtype::F32);
    assert_eq!(ints.binary(Op::Divide, &longs).unwrap().dtype(), Dtype::F32);
    assert_eq!(ints.binary(Op::Add, &floats).unwrap().dtype(), Dtype::F32);
    assert_eq!(longs.binary(Op::Add, weak(0.5)).unwrap().dtype(), Dtype::F32);
    let complex = Weak::Complex(stridewise::Complex::new(0.0, 1.0));
    assert_eq!(ints.binary(Op::Multiply, weak(complex)).unwrap().dtype(), Dtype::C64);
    assert_eq!(ints.reduce(Reduction::Mean, None, false).unwrap().dtype(), Dtype::F32);
    assert_eq!(empty(Dtype::Bf16).unwrap().dtype(), Dtype::Bf16);
    drop(null);
}

#[stridewise::kernel]
fn doubled<T: stridewise::NumElement>(item: Item<1>, x: &mut Global<T>) {
    let i = item.global_id(0);
    x[i] += x[i];
}

#[test]
fn devices_that_lack_kernels() {
    let without = NullConfig { kernels: false, ..NullConfig::default() };
    let queue = Device::from_backend(Arc::new(NullDevice::new(without))).queue().unwrap();
    let mut x = Array::<f32>::on(&queue).kind(UsmKind::Device).zeros([4]).unwrap();
    refused!(doubled(&queue, [4], &mut x), Unsupported: "kernel", "kernels of users", "another device");
    let arguments = [(&x).into()];
    let checked = doubled::kernel::<f32>().unwrap().launch_checked(&queue, [4], &arguments, &[]);
    refused!(checked, Unsupported: "kernel", "kernels of users", "another device");
    // One that computes in what the device does not have.
    let (_null, q) = lacking(&[Aspect::Fp64]);
    let half = doubled::kernel::<f64>().unwrap();
    refused!(half.launch(&q, [4], &arguments, &[]), Dtype: "kernel", "float64", "null:accelerator:0", "use float32");
}

#[test]
fn arguments_of_kernels() {
    let queue = queue();
    let kernel = doubled::kernel::<f32>().unwrap();
    let launch = |arguments: &[Argument<'_>]| kernel.launch(&queue, [4], arguments, &[]);
    let (floats, ints) = (Array::<f32>::on(&queue).zeros([4]).unwrap(), ints(&queue, &[4]));
    refused!(launch(&[]), Value: "arguments", "0", "1 arguments for kernel `doubled`");
    refused!(launch(&[(&floats).into(), 1.into()]), Value: "arguments", "2", "1 arguments");
    refused!(launch(&[(&ints).into()]), Dtype: "x", "int32", "float32", "astype");
    refused!(launch(&[2.5.into()]), Value: "x", "2.5", "an array of 1 dimension");
    refused!(launch(&[Argument::Local(vec![3])]), Value: "x", "an array of 1 dimension");
    let square = floats.reshape([2, 2]).unwrap();
    refused!(launch(&[(&square).into()]), Axis: "x", "2 dimensions", "reshape it");
    let mut lent = floats.slice(s![..]).unwrap();
    lent.set_writable(false);
    refused!(doubled(&queue, [4], &mut lent), Borrow: "x", "read-only", "copy it first");
    refused!(kernel.launch(&queue, [4, 1], &[(&floats).into()], &[]), Axis: "nd_range", "expected 1 dimension,");
    let mut elsewhere = Array::<f32>::on(&Queue::select("host").unwrap()).zeros([4]).unwrap();
    let error = doubled(&queue, [4], &mut elsewhere).unwrap_err();
    assert!(matches!(error, Error::ExecutionPlacement(_)), "{error}");
    assert_eq!(floats.to_vec().unwrap(), [0.0; 4]);
}

#[test]
fn queues_and_kinds_that_a_device_lacks() {
    let (_, q) = lacking(&[Aspect::QueueProfiling]);
    let profiling = Queue::new(q.device(), QueueProperties { profiling: true, in_order: false });
    refused!(profiling, Unsupported: "profiling", "true", "without profiling");
    let null = Device::from_backend(Arc::new(NullDevice::new(NullConfig::default())));
    let q = null.queue().unwrap();
    for kind in [UsmKind::Host, UsmKind::Shared] {
        refused!(UsmMemory::new(kind, 8, &q), Unsupported: "kind", kind, "device memory");
    }
}

#[test]
fn weak_scalars_keep_to_the_range_of_the_dtype() {
    let q = queue();
    let x = UsmArray::from_slice(&q, &[2], &[f16::from_f32(1.0), f16::from_f32(2.0)], UsmKind::Host).unwrap();
    assert_eq!(x.binary(Op::Add, weak(1)).unwrap().dtype(), Dtype::F16);
    let y = UsmArray::from_slice(&q, &[2], &[bf16::ONE, bf16::ONE], UsmKind::Host).unwrap();
    assert_eq!(x.binary(Op::Add, &y).unwrap().dtype(), Dtype::F32);
    // Comparisons have an answer where arithmetic has none.
    let bytes = UsmArray::from_slice(&q, &[2], &[0_u8, 255], UsmKind::Host).unwrap();
    assert_eq!(bytes.binary(Op::Less, weak(256)).unwrap().to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!(bytes.binary(Op::GreaterEqual, weak(-1)).unwrap().to_vec::<bool>().unwrap(), [true, true]);
    assert_eq!(bytes.binary(Op::Equal, weak(-1)).unwrap().to_vec::<bool>().unwrap(), [false, false]);
}

#[test]
fn a_refused_call_changes_nothing() {
    let q = queue();
    let x = UsmArray::from_slice(&q, &[4], &[1, 2, 3, 4], UsmKind::Shared).unwrap();
    let y = ints(&q, &[5]);
    let view = x.host_view::<i32>().unwrap();
    assert!(x.assign(weak(0)).is_err() && x.assign(&y).is_err());
    drop(view);
    assert!(x.write_elementwise(Op::Divide, &[(&x).into(), weak(2)], &[]).is_err());
    let (sender, receiver) = channel::<()>();
    drop(sender);
    // A task that fails leaves the queue and the array as they are.
    let task = q.submit_host_task(
        move || receiver.recv().map_err(|e| Error::task("task", e, "a word", "send one")),
        &[],
    );
    refused!(task.unwrap().wait(), Task: "task", "closed", "send one");
    assert_eq!(x.to_vec::<i32>().unwrap(), [1, 2, 3, 4]);
    assert_eq!(x.copy_in(Order::F).unwrap().to_vec::<i32>().unwrap(), [1, 2, 3, 4]);
}
