//! Programs that are to fail on a device with limits, with the error that says which, and that run on the host: on an emulated
//! device. And that its results are the host's.
#![cfg(feature = "emulated")]

use stridewise::backend::{Aspect, Partition};
use stridewise::emulated::{Emulation, PRESETS, emulate, parse_bytes};
use stridewise::kernel::{Global, Item, Local, NdRange};
use stridewise::prelude::*;
use stridewise::{UsmMemory, live_arrays};

/// Neither double nor half precision, 64 MiB of memory of its own and half of it at once, groups of 64 and 4 KiB of local memory.
fn small() -> Device {
    emulate()
        .name("a small device")
        .fp64(false)
        .fp16(false)
        .memory(64 << 20)
        .max_allocation(32 << 20)
        .max_work_group(64)
        .local_memory(4 << 10)
        .usm(&[UsmKind::Device])
        .build()
        .unwrap()
}

#[stridewise::kernel]
fn doubled(item: Item<1>, x: &Global<f32>, y: &mut Global<f32>) {
    let i = item.global_id(0);
    y[i] = x[i] * 2.0;
}

#[stridewise::kernel]
fn reversed(item: Item<1>, x: &Global<f32>, y: &mut Global<f32>) {
    let tile: Local<f32> = Local::new([2048]);
    let l = item.local_id(0);
    tile[l] = x[item.global_id(0)];
    item.barrier();
    y[item.global_id(0)] = tile[item.local_range(0) - 1 - l];
}

#[stridewise::kernel]
fn refined(item: Item<1>, x: &Global<f32>, y: &mut Global<f32>) {
    let i = item.global_id(0);
    let fine: f64 = x[i] as f64;
    y[i] = (fine * fine) as f32;
}

const MIB: usize = 1 << 20;

/// An array of a value for each element of `float32`, in so many mebibytes.
fn mebibytes(queue: &Queue, count: usize) -> Result<Array<f32>> {
    Array::<f32>::on(queue).full([count * MIB / 4], 1.0)
}

/// What is to be said.
type Told = fn(&Error) -> bool;

/// A program by its name, and what a device with limits says to it.
type Program = (&'static str, Told, Box<dyn Fn(&Queue) -> Result<()>>);

fn programs() -> Vec<Program> {
    fn program(name: &'static str, told: Told, run: impl Fn(&Queue) -> Result<()> + 'static) -> Program {
        (name, told, Box::new(run))
    }
    let dtype: Told = |error| matches!(error, Error::Dtype(_));
    let alloc: Told = |error| matches!(error, Error::Alloc(_));
    let kind: Told = |error| matches!(error, Error::Unsupported(_));
    let host: Told = |error| matches!(error, Error::HostAccess(_));
    let value: Told = |error| matches!(error, Error::Value(_));
    let f32s = |queue: &Queue| Array::<f32>::on(queue).linspace(0.0, 1.0, 1000);
    let any =
        |queue: &Queue, dtype: Dtype| UsmArray::zeros(queue, &[10], dtype, queue.device().default_kind());
    vec![
        program("zeros of float64", dtype, |queue| Array::<f64>::on(queue).zeros([10]).map(drop)),
        program("zeros of float16", dtype, |queue| Array::<f16>::on(queue).zeros([10]).map(drop)),
        program("zeros of complex128", dtype, |queue| Array::<Complex<f64>>::on(queue).zeros([10]).map(drop)),
        program("a range of float64", dtype, |queue| {
            Array::<f64>::on(queue).linspace(0.0, 1.0, 10).map(drop)
        }),
        program("data of float64", dtype, |queue| {
            Array::<f64>::on(queue).from_vec([2], vec![1.0, 2.0]).map(drop)
        }),
        program("an array of float64 without a type", dtype, move |queue| any(queue, Dtype::F64).map(drop)),
        program("an array of complex128 without a type", dtype, move |queue| {
            any(queue, Dtype::C128).map(drop)
        }),
        program("conversion to float64", dtype, move |queue| {
            any(queue, Dtype::F32)?.astype(Dtype::F64).map(drop)
        }),
        program("conversion to float16", dtype, move |queue| {
            any(queue, Dtype::I16)?.astype(Dtype::F16).map(drop)
        }),
        program("conversion to complex128", dtype, move |queue| {
            any(queue, Dtype::C64)?.astype(Dtype::C128).map(drop)
        }),
        program("random numbers of float64", dtype, |queue| {
            Generator::new(1).on(queue).normal([100], 0.0_f64, 1.0).map(drop)
        }),
        program("a kernel that computes in float64", dtype, move |queue| {
            let (x, mut y) = (f32s(queue)?, f32s(queue)?);
            refined(queue, NdRange::in_groups(&[1000], &[50]), &x, &mut y).map(drop)
        }),
        program("an array from the host in float64", dtype, |queue| {
            Array::from_vec([3], vec![1.0_f64, 2.0, 3.0])?.to_queue(queue).map(drop)
        }),
        program("shared memory", kind, |queue| UsmMemory::new(UsmKind::Shared, 100, queue).map(drop)),
        program("host memory", kind, |queue| UsmMemory::new(UsmKind::Host, 100, queue).map(drop)),
        program("an array in shared memory", kind, |queue| {
            Array::<f32>::on(queue).kind(UsmKind::Shared).zeros([10]).map(drop)
        }),
        program("an array in host memory", kind, |queue| {
            Array::<i32>::on(queue).kind(UsmKind::Host).arange(0, 10, 1)?.wait()
        }),
        program("a copy to shared memory", kind, move |queue| f32s(queue)?.to_kind(UsmKind::Shared)?.wait()),
        program("memory for other processes", kind, |queue| UsmMemory::interprocess(4096, queue).map(drop)),
        program("a view of the memory", host, move |queue| f32s(queue)?.view().map(drop)),
        program("a view to write to", host, move |queue| f32s(queue)?.view_mut().map(drop)),
        program("more at once than there is", alloc, |queue| mebibytes(queue, 40)?.wait()),
        program("more bytes at once than there are", alloc, |queue| {
            UsmMemory::new(queue.device().default_kind(), 33 * MIB, queue).map(drop)
        }),
        program("more arrays than there is memory for", alloc, |queue| {
            let all: Vec<_> = (0..5).map(|_| mebibytes(queue, 16)).collect::<Result<_>>()?;
            all.iter().try_for_each(|array| array.wait())
        }),
        program("a result that there is no memory for", alloc, |queue| {
            let (a, b) = (mebibytes(queue, 28)?, mebibytes(queue, 28)?);
            a.wait()?;
            b.wait()?;
            a.try_add(&b)?.wait()
        }),
        program("a broadcast result that is too large", alloc, |queue| {
            let column = Array::<f32>::on(queue).ones([4096, 1])?;
            let row = Array::<f32>::on(queue).ones([1, 4096])?;
            column.try_add(&row)?.wait()
        }),
        program("copies of one array", alloc, |queue| {
            let a = mebibytes(queue, 20)?;
            let all: Vec<_> = (0..4).map(|_| a.copy()).collect::<Result<_>>()?;
            all.iter().try_for_each(|array| array.wait())
        }),
        program("a joined array that is too large", alloc, |queue| {
            let a = mebibytes(queue, 18)?;
            concat(&[a.as_ref(), a.as_ref()], Some(0))?.wait()
        }),
        program("groups that are too large", value, move |queue| {
            let (x, mut y) = (f32s(queue)?, f32s(queue)?);
            doubled(queue, NdRange::in_groups(&[1000], &[100]), &x, &mut y).map(drop)
        }),
        program("more local memory than a group has", value, move |queue| {
            let (x, mut y) = (f32s(queue)?, f32s(queue)?);
            reversed(queue, NdRange::in_groups(&[1000], &[50]), &x, &mut y).map(drop)
        }),
        program(
            "a part of the device",
            |error| matches!(error, Error::DeviceSelection(_)),
            |queue| queue.device().create_sub_devices(&Partition::Equally(1)).map(drop),
        ),
    ]
}

#[test]
fn programs_fail_where_a_device_has_limits_and_run_on_the_host() {
    let host = Device::from_backend(stridewise_host::device_with(None, 2).unwrap());
    let all = programs();
    assert!(all.len() >= 30, "{}", all.len());
    for (name, told, run) in all {
        if let Err(error) = run(&host.queue().unwrap()) {
            panic!("{name}, on the host: {error}");
        }
        let device = small();
        let error = run(&device.queue().unwrap()).expect_err(name);
        assert!(told(&error), "{name}: {error}");
        let complaint = error.complaint().unwrap_or_else(|| panic!("{name}: {error}"));
        assert!(!complaint.expected.is_empty() && !complaint.help.is_empty(), "{name}: {error}");
        // The device goes on, with all of its memory.
        let queue = device.queue().unwrap();
        let x = Array::<f32>::on(&queue).full([8 * MIB], 0.5).unwrap();
        assert_eq!(x.sum().unwrap(), 4.0 * MIB as f32, "{name}");
    }
}

#[test]
fn a_refusal_says_what_is_in_use() {
    let device = small();
    let queue = device.queue().unwrap();
    let kept = Array::<f32>::on(&queue).zeros([7, MIB]).unwrap();
    kept.wait().unwrap();
    let error = mebibytes(&queue, 30).and_then(|more| {
        more.wait()?;
        mebibytes(&queue, 30)?.wait()
    });
    let text = error.unwrap_err().to_string();
    assert!(text.contains("67108864 bytes that the device has"), "{text}");
    assert!(text.contains("float32 of shape [7, 1048576]"), "{text}");
    assert_eq!(live_arrays(Some(&device)).unwrap().len(), 1);
}

#[test]
fn results_are_the_hosts() {
    let host = Device::from_backend(stridewise_host::device_with(None, 2).unwrap());
    let run = |queue: &Queue| {
        // Of the same data: a range is computed in the best precision that a device has.
        let data = (0..100_000).map(|i| i as f32 * 6e-5 - 3.0).collect();
        let x = Array::<f32>::on(queue).from_vec([100_000], data)?;
        let y = (&x * &x + 1.0).sqrt().sin();
        let n = Array::<i32>::on(queue).arange(0, 5000, 3)?;
        let mut z = x.empty_like()?;
        doubled(queue, NdRange::in_groups(&[100_000], &[50]), &x, &mut z)?;
        Ok::<_, Error>((y.to_vec()?, y.sum()?, n.remainder(7).cumulative_sum(0)?.to_vec()?, z.to_vec()?))
    };
    let expected = run(&host.queue().unwrap()).unwrap();
    for device in PRESETS.map(|preset| Device::select(&format!("emulated:{preset}")).unwrap()) {
        let found = run(&device.queue().unwrap()).unwrap();
        let same = |a: &[f32], b: &[f32]| a.iter().map(|x| x.to_bits()).eq(b.iter().map(|x| x.to_bits()));
        assert!(same(&found.0, &expected.0) && same(&found.3, &expected.3), "{device}");
        assert_eq!((found.1.to_bits(), &found.2), (expected.1.to_bits(), &expected.2), "{device}");
    }
}

#[test]
fn a_device_is_what_it_was_asked_to_be() {
    let device = small();
    let info = device.info();
    assert_eq!(
        (info.name.as_str(), info.limits.global_memory_bytes, info.limits.max_allocation_bytes),
        ("a small device", 64 << 20, 32 << 20)
    );
    assert_eq!((info.limits.max_work_group_size, info.limits.local_memory_bytes), (64, 4 << 10));
    for absent in [Aspect::Fp16, Aspect::Fp64, Aspect::UsmSharedAllocations, Aspect::UsmHostAllocations] {
        assert!(!info.has(absent), "{absent:?}");
    }
    assert!(info.has(Aspect::UsmDeviceAllocations));
    assert_eq!((device.default_kind(), device.memory().device_bytes), (UsmKind::Device, 64 << 20));
    // Presets are found by their names, and are neither listed nor chosen where none is named.
    for preset in PRESETS {
        let device = Device::select(&format!("emulated:{preset}")).unwrap();
        assert_eq!(device.filter_string(), format!("emulated:{preset}"));
        let built = Emulation::preset(preset).unwrap().build().unwrap();
        assert_eq!(built.info().limits, device.info().limits);
    }
    assert!(stridewise::devices().iter().all(|device| device.info().backend != "emulated"));
    assert_ne!(stridewise::default_device().unwrap().info().backend, "emulated");
    let error = Device::select("emulated").unwrap_err().to_string();
    assert!(error.contains("emulated:rx_6600"), "{error}");
    for wrong in [
        emulate().memory(0).build(),
        emulate().max_work_group(0).build(),
        emulate().usm(&[]).build(),
        Emulation::preset("none").and_then(|device| device.build()),
        parse_bytes("memory", "much").map(|_| small()),
    ] {
        assert!(matches!(wrong, Err(Error::Value(_))), "{wrong:?}");
    }
}

#[test]
fn copies_to_and_from_the_host_are_copies() {
    let device = emulate().build().unwrap();
    let queue = device.queue().unwrap();
    let here = Array::from_vec([4], vec![1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let mut there = here.to_queue(&queue).unwrap();
    assert_ne!(here.usm_data().unwrap().ptr(), there.usm_data().unwrap().ptr());
    there.assign(7.0).unwrap();
    assert_eq!(here.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(there.to_vec().unwrap(), [7.0; 4]);
    // Operands of two devices do not combine, and none of them is the host's.
    assert!(matches!(here.try_add(&there), Err(Error::ExecutionPlacement(_))));
    let other = emulate().build().unwrap();
    let far = there.to_queue(&other.queue().unwrap()).unwrap();
    assert!(matches!(far.try_add(&there), Err(Error::ExecutionPlacement(_))));
    assert_eq!(far.to_vec().unwrap(), [7.0; 4]);
}
