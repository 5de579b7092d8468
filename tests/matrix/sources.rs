//! Kernels from sources, OpenCL C and SPIR-V, on the devices that compile them; on the others, the error that says so.

use stridewise::backend::QueueProperties;
use stridewise::kernel::{
    KernelBundle, Language, NdRange, ParameterSpace, Source, SourceArgument, SourceKernel,
};
use stridewise::{Array, Device, Dtype, Element, Error, Event, Queue, Result, Scalar, UsmArray, UsmMemory};

use crate::cell::{Case, Check, Stop, ensure, need, wrong};
use crate::forms::kinds;

pub(crate) fn cases() -> Vec<Case> {
    let case = |name: &str, run: fn(&Queue) -> Check| {
        Case::new(format!("sources::{name}/f32"), move |device: &Device| {
            need(device, Dtype::F32)?;
            let queue = device.queue()?;
            let takes = device.capabilities().languages.contains(&Language::OpenClC);
            match KernelBundle::from_source(&queue, AXPY, "") {
                Err(error @ Error::Unsupported(_)) if !takes => {
                    let text = error.to_string();
                    ensure!(text.contains("OpenCL C") && text.contains("KernelBuilder"), "{text}");
                    Ok(())
                }
                Ok(_) => run(&queue),
                Err(error) => wrong!("{error}"),
            }
        })
    };
    vec![
        Case::new("sources::languages", languages_are_those_that_the_device_names),
        case("what_is_told", what_is_told),
        case("values", values_have_the_types_of_parameters),
        case("extents", the_last_extent_is_the_fastest),
        case("local_memory", groups_share_local_memory),
        case("order", work_is_ordered_by_what_it_accesses),
        case("views", views_begin_anywhere),
        case("memory", memory_is_an_argument),
        case("constants", constant_parameters_only_read),
        case("refusals", what_does_not_fit_is_refused),
        case("compilation", what_does_not_compile_is_refused),
        case("spirv", modules_of_spirv_are_taken),
        case("threads", threads_launch_one_kernel),
        case("failures", failures_travel_along_arguments),
    ]
}

const AXPY: &str = "
    kernel void axpy(global const float *x, global float *y, const float a, const uint n) {
        size_t i = get_global_id(0);
        if (i < n) y[i] = a * x[i] + y[i];
    }
    kernel void fill(global float *y, const float a) { y[get_global_id(0)] = a; }
";

/// Launches a kernel of this file.
fn launch(
    kernel: &SourceKernel,
    queue: &Queue,
    range: impl Into<NdRange>,
    arguments: &[SourceArgument<'_>],
    depends: &[Event],
) -> Result<Event> {
    // SAFETY: the kernels of this file access as many elements as the tests launch items over, of the arrays that they are
    // given; what they would do with other arguments is refused before it is done, which the tests check.
    unsafe { kernel.launch(queue, range, arguments, depends) }
}

fn kernel(queue: &Queue, source: &str, name: &str) -> Result<SourceKernel> {
    KernelBundle::from_source(queue, source, "")?.kernel(name)
}

fn upload<T: Element>(queue: &Queue, values: &[T]) -> Result<Array<T>> {
    Array::on(queue).from_slice([values.len()], values)
}

fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| i as f32 - 7.0).collect()
}

fn same<T: Element + std::fmt::Debug>(found: &Array<T>, expected: &[T], what: &str) -> Check {
    let found = found.to_vec()?;
    let first = found.iter().zip(expected).position(|(f, e)| f != e);
    ensure!(
        found.len() == expected.len() && first.is_none(),
        "{what}: differs at {first:?}: {:?}, expected {:?}",
        first.map(|at| &found[at]),
        first.map(|at| &expected[at])
    );
    Ok(())
}

fn what_is_told(queue: &Queue) -> Check {
    let bundle = KernelBundle::from_source(queue, AXPY, "-D UNUSED=1")?;
    let mut names: Vec<&str> = bundle.kernel_names().collect();
    names.sort_unstable();
    ensure!(names == ["axpy", "fill"], "{names:?}");
    ensure!(bundle.has_kernel("axpy") && !bundle.has_kernel("axp"), "has_kernel");
    let axpy = bundle.kernel("axpy")?;
    let info = axpy.info();
    ensure!((axpy.name(), info.num_args) == ("axpy", 4), "{info:?}");
    ensure!(info.work_group_size >= 1 && info.preferred_work_group_size_multiple >= 1, "{info:?}");
    ensure!(axpy.device() == queue.device(), "{:?}", axpy.device());
    if let Some(parameters) = &info.parameters {
        let spaces: Vec<_> = parameters.iter().map(|parameter| parameter.space).collect();
        let wanted = [
            ParameterSpace::Global { read_only: true },
            ParameterSpace::Global { read_only: false },
            ParameterSpace::Value(Some(Dtype::F32)),
            ParameterSpace::Value(Some(Dtype::U32)),
        ];
        ensure!(spaces == wanted, "{parameters:?}");
    }
    let Err(Error::Value(complaint)) = bundle.kernel("axp") else { wrong!("a kernel that is not there") };
    ensure!(complaint.expected.contains("axpy") && complaint.value.contains("`axp`"), "{complaint}");
    let demanding = "kernel __attribute__((reqd_work_group_size(4, 2, 1))) void k(global int *a) {}";
    let demanding = kernel(queue, demanding, "k")?;
    ensure!(demanding.info().compile_work_group_size == Some([1, 2, 4]), "{:?}", demanding.info());
    let a = upload(queue, &[0_i32])?;
    let refused = launch(&demanding, queue, NdRange::in_groups(&[8, 8], &[4, 2]), &[(&a).into()], &[]);
    ensure!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
    launch(&demanding, queue, NdRange::in_groups(&[8, 8], &[2, 4]), &[(&a).into()], &[])?.wait()?;
    // The same source again, and from the cache.
    ensure!(KernelBundle::from_source(queue, AXPY, "")?.kernel("fill")?.info().num_args == 2, "again");
    Ok(())
}

fn values_have_the_types_of_parameters(queue: &Queue) -> Check {
    fn check<T: Element + std::fmt::Debug>(queue: &Queue, name: &str, value: T) -> Check {
        if !queue.device().dtype_support().supports(T::DTYPE) {
            return Ok(());
        }
        let text = format!(
            "{}kernel void set(global {name} *y, {name} a, char b) {{ y[get_global_id(0)] = a; }}",
            if T::DTYPE == Dtype::F64 { "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" } else { "" }
        );
        let set = kernel(queue, &text, "set")?;
        let y = Array::<T>::on(queue).zeros([5])?;
        let scalar = value.to_scalar();
        let args = |value| [SourceArgument::from(&y), value, SourceArgument::Scalar(Scalar::I8(1))];
        launch(&set, queue, [5], &args(SourceArgument::Scalar(scalar)), &[])?;
        same(&y, &[value; 5], name)?;
        let bytes = scalar.to_bytes();
        let y = &Array::<T>::on(queue).zeros([5])?;
        let raw = SourceArgument::Bytes(&bytes[..T::DTYPE.size()]);
        launch(&set, queue, [5], &[y.into(), raw, SourceArgument::Scalar(Scalar::I8(1))], &[])?;
        same(y, &[value; 5], name)
    }
    check(queue, "char", -5_i8)?;
    check(queue, "uchar", 200_u8)?;
    check(queue, "short", -300_i16)?;
    check(queue, "unsigned short", 60_000_u16)?;
    check(queue, "int", -70_000_i32)?;
    check(queue, "uint", 3_000_000_000_u32)?;
    check(queue, "long", i64::MIN + 3)?;
    check(queue, "unsigned long", u64::MAX - 3)?;
    check(queue, "float", 0.1_f32)?;
    check(queue, "double", 0.1_f64)?;
    check(queue, "float2", stridewise::Complex::new(1.5_f32, -2.0))?;
    // Numbers without a dtype take the parameter's.
    let axpy = kernel(queue, AXPY, "axpy")?;
    let (x, y) = (upload(queue, &numbers(10))?, upload(queue, &numbers(10))?);
    launch(&axpy, queue, [10], &[(&x).into(), (&y).into(), 2.into(), 7.into()], &[])?;
    let expected: Vec<f32> =
        numbers(10).iter().enumerate().map(|(i, v)| if i < 7 { 3.0 * v } else { *v }).collect();
    same(&y, &expected, "numbers")
}

fn the_last_extent_is_the_fastest(queue: &Queue) -> Check {
    let text = "kernel void number(global int *y) {
        size_t w = get_global_size(0), h = get_global_size(1);
        size_t i = get_global_id(0) + w * (get_global_id(1) + h * get_global_id(2));
        y[i] = (int)(get_global_id(0) + 10 * get_global_id(1) + 100 * get_global_id(2));
    }";
    let number = kernel(queue, text, "number")?;
    let expected = |extents: [usize; 3]| {
        let mut all = Vec::new();
        for a in 0..extents[0] {
            for b in 0..extents[1] {
                all.extend((0..extents[2]).map(|c| (c + 10 * b + 100 * a) as i32));
            }
        }
        all
    };
    for (global, group) in [
        (vec![6], None),
        (vec![4, 6], None),
        (vec![2, 4, 6], None),
        (vec![6], Some(vec![3])),
        (vec![4, 6], Some(vec![2, 3])),
        (vec![2, 4, 6], Some(vec![1, 2, 3])),
    ] {
        let mut three = [1; 3];
        three[3 - global.len()..].copy_from_slice(&global);
        let range = match &group {
            None => NdRange::of(&global),
            Some(group) => NdRange::in_groups(&global, group),
        };
        let y = Array::<i32>::on(queue).zeros([three.iter().product()])?;
        launch(&number, queue, range, &[(&y).into()], &[])?;
        same(&y, &expected(three), &format!("{global:?} in {group:?}"))?;
    }
    // Nothing to do.
    let y = Array::<i32>::on(queue).zeros([3])?;
    let none = launch(&number, queue, [0], &[(&y).into()], &[])?;
    launch(&number, queue, [4, 0], &[(&y).into()], &[none])?.wait()?;
    same(&y, &[0; 3], "no items")
}

fn groups_share_local_memory(queue: &Queue) -> Check {
    let text = "kernel void reverse(global int *y, local int *tile, local short *other) {
        size_t i = get_local_id(0), n = get_local_size(0);
        tile[i] = y[get_global_id(0)];
        other[i] = (short)i;
        barrier(CLK_LOCAL_MEM_FENCE);
        y[get_global_id(0)] = tile[n - 1 - i] + 1000 * other[n - 1 - i];
    }";
    let reverse = kernel(queue, text, "reverse")?;
    for group in [1_usize, 4, 16] {
        let before: Vec<i32> = (0..64).collect();
        let y = upload(queue, &before)?;
        let args = [(&y).into(), SourceArgument::Local(4 * group), SourceArgument::Local(2 * group)];
        launch(&reverse, queue, NdRange::in_groups(&[64], &[group]), &args, &[])?;
        let expected: Vec<i32> = (0..64_usize)
            .map(|i| {
                let back = group - 1 - i % group;
                (i - i % group + back + 1000 * back) as i32
            })
            .collect();
        same(&y, &expected, &format!("groups of {group}"))?;
    }
    let y = upload(queue, &[0_i32; 4])?;
    let none =
        launch(&reverse, queue, [4], &[(&y).into(), SourceArgument::Local(0), SourceArgument::Local(8)], &[]);
    ensure!(matches!(none, Err(Error::Value(_))), "no local memory: {none:?}");
    let most = usize::try_from(queue.device().info().limits.local_memory_bytes).unwrap_or(usize::MAX / 4);
    let much =
        [(&y).into(), SourceArgument::Local(most.next_multiple_of(4) + 4096), SourceArgument::Local(8)];
    let much =
        launch(&reverse, queue, NdRange::in_groups(&[4], &[4]), &much, &[]).and_then(|event| event.wait());
    ensure!(matches!(much, Err(Error::Value(_) | Error::Runtime(_))), "too much local memory: {much:?}");
    launch(
        &reverse,
        queue,
        NdRange::in_groups(&[4], &[4]),
        &[(&y).into(), SourceArgument::Local(16), SourceArgument::Local(8)],
        &[],
    )?
    .wait()?;
    Ok(())
}

fn work_is_ordered_by_what_it_accesses(queue: &Queue) -> Check {
    let axpy = kernel(queue, AXPY, "axpy")?;
    let len = 1000;
    let profiled = Queue::new(queue.device(), QueueProperties { in_order: true, profiling: false })?;
    for queue in [queue, &profiled] {
        let x = upload(queue, &numbers(len))?;
        // Recorded, not run.
        let doubled = x.try_mul(&upload(queue, &vec![2.0_f32; len])?)?;
        let mut y = Array::<f32>::on(queue).zeros([len])?;
        // A reader of what the launch overwrites, recorded before it.
        let early = y.try_add(&x)?;
        let args = [(&doubled).into(), (&y).into(), 1.into(), Scalar::U32(len as u32).into()];
        let first = launch(&axpy, queue, [len], &args, &[])?;
        let between = y.try_add(&y)?;
        let second =
            launch(&axpy, queue, [len], &[(&between).into(), (&y).into(), 1.into(), 1000.into()], &[first])?;
        let late = y.try_mul(&y)?;
        drop((doubled, between));
        same(&early, &numbers(len), "what was recorded before")?;
        let six: Vec<f32> = numbers(len).iter().map(|v| 6.0 * v).collect();
        same(&y, &six, "two launches")?;
        let squares: Vec<f32> = six.iter().map(|v| v * v).collect();
        same(&late, &squares, "what was recorded behind")?;
        ensure!(second.wait().is_ok(), "the second event");
        y.fill(1.0)?;
        same(&y, &vec![1.0; len], "overwritten")?;
    }
    Ok(())
}

fn views_begin_anywhere(queue: &Queue) -> Check {
    let axpy = kernel(queue, AXPY, "axpy")?;
    for len in [40_usize, 5000] {
        let x = upload(queue, &numbers(len))?;
        let y = upload(queue, &numbers(len))?;
        for (start, count) in [(0, 3), (1, 7), (13, 9), (len - 1, 1), (len / 2, len / 4)] {
            let before = y.to_vec()?;
            let (a, b) = (
                x.slice(stridewise::s![start as isize..(start + count) as isize])?,
                y.slice(stridewise::s![start as isize..(start + count) as isize])?,
            );
            let n = Scalar::U32(count as u32);
            launch(&axpy, queue, [count], &[(&a).into(), (&b).into(), 3.into(), n.into()], &[])?;
            let mut expected = before;
            let added = numbers(len);
            for (element, x) in std::iter::zip(&mut expected, &added).skip(start).take(count) {
                *element += 3.0 * x;
            }
            same(&y, &expected, &format!("{count} elements from {start} on, of {len}"))?;
        }
        same(&x, &numbers(len), "what is only read")?;
        let backwards = y.slice(stridewise::s![..;-1])?;
        let refused = launch(&axpy, queue, [4], &[(&x).into(), (&backwards).into(), 1.into(), 4.into()], &[]);
        ensure!(matches!(refused, Err(Error::Unsupported(_))), "a view in reverse: {refused:?}");
    }
    Ok(())
}

fn memory_is_an_argument(queue: &Queue) -> Check {
    let fill = kernel(queue, AXPY, "fill")?;
    for kind in kinds(queue.device()) {
        let memory = UsmMemory::new(kind, 64, queue)?;
        memory.copy_from_host(0, &[7; 64])?;
        let part = SourceArgument::Memory { memory: &memory, offset: 16, bytes: 12, read_only: false };
        launch(&fill, queue, [3], &[part, 2.5.into()], &[])?;
        let mut expected = vec![7_u8; 64];
        for at in [16, 20, 24] {
            expected[at..at + 4].copy_from_slice(&2.5_f32.to_le_bytes());
        }
        ensure!(memory.to_bytes()? == expected, "memory of kind {kind}");
        let beyond = SourceArgument::Memory { memory: &memory, offset: 60, bytes: 8, read_only: false };
        let refused = launch(&fill, queue, [2], &[beyond, 2.5.into()], &[]);
        ensure!(matches!(refused, Err(Error::OutOfBounds(_))), "beyond the end: {refused:?}");
        launch(&fill, queue, [16], &[(&memory).into(), 1.into()], &[])?;
        // Freed while it is written.
        drop(memory);
    }
    let host = UsmMemory::new(stridewise::UsmKind::Host, 64, &Queue::select("host")?)?;
    let refused = launch(&fill, queue, [2], &[(&host).into(), 2.5.into()], &[]);
    ensure!(matches!(refused, Err(Error::Value(_))), "memory of another device: {refused:?}");
    Ok(())
}

fn constant_parameters_only_read(queue: &Queue) -> Check {
    let text = "kernel void twice(constant float *x, global float *y, global float *z) {
        size_t i = get_global_id(0);
        y[i] = 2 * x[i] + z[i];
    }";
    let twice = kernel(queue, text, "twice")?;
    let x = upload(queue, &numbers(8))?;
    let y = Array::<f32>::on(queue).zeros([8])?;
    let one = Array::<f32>::on(queue).ones([1])?;
    let broadcast = one.broadcast_to([8])?;
    // It is no array of eight elements that lie one after another.
    let refused = launch(&twice, queue, [8], &[(&x).into(), (&y).into(), (&broadcast).into()], &[]);
    ensure!(matches!(refused, Err(Error::Unsupported(_) | Error::Borrow(_))), "{refused:?}");
    let memory = UsmMemory::new(kinds(queue.device())[0], 32, queue)?;
    memory.copy_from_host(0, &[0; 32])?;
    memory.forbid_writing();
    let lent = |read_only| SourceArgument::Memory { memory: &memory, offset: 0, bytes: 32, read_only };
    let refused = launch(&twice, queue, [8], &[(&x).into(), (&y).into(), lent(false)], &[]);
    ensure!(matches!(refused, Err(Error::Borrow(_))), "memory lent for reading: {refused:?}");
    launch(&twice, queue, [8], &[(&x).into(), (&y).into(), lent(true)], &[])?;
    let expected: Vec<f32> = numbers(8).iter().map(|v| 2.0 * v).collect();
    same(&y, &expected, "said to be only read")?;
    if twice.info().parameters.is_some() {
        launch(&twice, queue, [8], &[lent(false), (&y).into(), (&x).into()], &[])?;
        same(&y, &numbers(8), "only read, as the source says")?;
    }
    Ok(())
}

fn what_does_not_fit_is_refused(queue: &Queue) -> Check {
    let axpy = kernel(queue, AXPY, "axpy")?;
    let (x, y) = (upload(queue, &numbers(8))?, upload(queue, &numbers(8))?);
    let array = || SourceArgument::from(&x);
    let (a, n) = (SourceArgument::Scalar(Scalar::F32(1.0)), SourceArgument::Scalar(Scalar::U32(8)));
    let wrong_ones: Vec<Vec<SourceArgument<'_>>> = vec![
        vec![],
        vec![array(), array(), a.clone()],
        vec![array(), array(), a.clone(), n.clone(), n.clone()],
        vec![array(), a.clone(), a.clone(), n.clone()],
        vec![array(), array(), array(), n.clone()],
        vec![array(), array(), SourceArgument::Scalar(Scalar::F64(1.0)), n.clone()],
        vec![array(), array(), a.clone(), SourceArgument::Scalar(Scalar::I64(8))],
        vec![array(), array(), a.clone(), SourceArgument::Bytes(&[1, 2])],
        vec![array(), array(), a.clone(), SourceArgument::Local(4)],
        vec![array(), SourceArgument::Local(4), a.clone(), n.clone()],
    ];
    for arguments in wrong_ones {
        let refused = launch(&axpy, queue, [8], &arguments, &[]);
        let Err(Error::Value(complaint)) = &refused else { wrong!("{arguments:?}: {refused:?}") };
        ensure!(complaint.argument.starts_with("args") && complaint.expected.contains("axpy"), "{complaint}");
    }
    if axpy.info().parameters.is_some() {
        let number = launch(&axpy, queue, [8], &[array(), (&y).into(), 1.into(), (-1).into()], &[]);
        ensure!(number.is_err(), "-1 as an unsigned number: {number:?}");
    }
    let good = [array(), (&y).into(), a.clone(), n.clone()];
    let most = axpy.info().work_group_size;
    for range in [
        NdRange::in_groups(&[8], &[3]),
        NdRange::in_groups(&[8], &[0]),
        NdRange::in_groups(&[8, 8], &[8]),
        NdRange::in_groups(&[2 * most + 2], &[most + 1]),
        NdRange::in_groups(&[usize::MAX - 1, 4], &[usize::MAX / 2, 4]),
        NdRange::of(&[]),
        NdRange::of(&[1, 1, 1, 8]),
    ] {
        let refused = launch(&axpy, queue, range.clone(), &good, &[]);
        let Err(Error::Value(complaint)) = &refused else { wrong!("{range:?}: {refused:?}") };
        ensure!(complaint.argument == "nd_range", "{complaint}");
    }
    let other = Queue::new(queue.device(), QueueProperties::default())?;
    let refused = launch(&axpy, &other, [8], &good, &[]);
    ensure!(matches!(refused, Err(Error::ExecutionPlacement(_))), "another queue: {refused:?}");
    let refused = launch(&axpy, &Queue::select("host")?, [8], &good, &[]);
    ensure!(matches!(refused, Err(Error::Value(_))), "another device: {refused:?}");
    same(&y, &numbers(8), "nothing was done")?;
    launch(&axpy, queue, [8], &good, &[])?;
    let doubled: Vec<f32> = numbers(8).iter().map(|v| 2.0 * v).collect();
    same(&y, &doubled, "what fits")
}

fn what_does_not_compile_is_refused(queue: &Queue) -> Check {
    let refused = KernelBundle::from_source(queue, "kernel void add(global int *a) { a[0] = nobody; }", "");
    let Err(Error::Compilation(complaint)) = &refused else { wrong!("{refused:?}") };
    ensure!(complaint.value.contains("nobody"), "the compiler's log: {complaint}");
    // Of a log of a million characters, the beginning.
    let many = "kernel void k(global int *a) {".to_owned() + &"a[0] = nobody;\n".repeat(2000) + "}";
    let Err(error) = KernelBundle::from_source(queue, &many, "") else { wrong!("two thousand errors") };
    ensure!(error.to_string().len() < 6000, "{} characters", error.to_string().len());
    let refused = KernelBundle::from_source(queue, AXPY, "-no-such-option-at-all");
    ensure!(matches!(refused, Err(Error::Compilation(_))), "an unknown option: {refused:?}");
    let defined = "kernel void set(global int *a) { a[get_global_id(0)] = N; }";
    ensure!(
        matches!(KernelBundle::from_source(queue, defined, ""), Err(Error::Compilation(_))),
        "not defined"
    );
    for n in [3, 4] {
        let set = KernelBundle::from_source(queue, defined, &format!("-D N={n}"))?.kernel("set")?;
        let a = upload(queue, &[0_i32; 4])?;
        launch(&set, queue, [4], &[(&a).into()], &[])?;
        same(&a, &[n; 4], "a definition")?;
    }
    for (source, options) in [("kernel void k() {}\0", ""), ("kernel void k() {}", "-D A\0")] {
        let refused = KernelBundle::from_source(queue, source, options);
        ensure!(matches!(refused, Err(Error::Value(_))), "a zero byte: {refused:?}");
    }
    // No kernel at all is none that is there.
    match KernelBundle::from_source(queue, "int helper(int a) { return a; }", "") {
        Ok(none) => ensure!(none.kernel_names().count() == 0 && none.kernel("helper").is_err(), "{none:?}"),
        Err(Error::Compilation(_)) => {}
        Err(error) => wrong!("a source without kernels: {error}"),
    }
    Ok(())
}

/// A language that the device does not name is refused by name, before anything is compiled; code that cannot be of its
/// language, by what it is.
fn languages_are_those_that_the_device_names(device: &Device) -> Check {
    let queue = device.queue()?;
    let known = &device.capabilities().languages;
    let languages = [
        Language::OpenClC,
        Language::SpirV,
        Language::CudaC,
        Language::Ptx,
        Language::Named("a language that nobody has"),
    ];
    let words = module();
    for language in languages {
        let code = if language == Language::SpirV { words.as_slice() } else { b"no code of any language" };
        let refused = KernelBundle::compile(&queue, Source::new(language, code), "");
        match refused {
            Err(error @ Error::Unsupported(_)) if !known.contains(&language) => {
                ensure!(error.to_string().contains(language.name()), "{language}: {error}");
                for takes in known {
                    ensure!(error.to_string().contains(takes.name()), "{language}: {error}");
                }
            }
            Err(Error::Compilation(_)) | Ok(_) if known.contains(&language) => {}
            other => wrong!("{language}: {other:?}"),
        }
        if language.is_text() {
            for code in [&b"\xff\xfe"[..], b"text\0"] {
                let refused = KernelBundle::compile(&queue, Source::new(language, code), "");
                ensure!(matches!(refused, Err(Error::Value(_))), "{language}, {code:?}: {refused:?}");
            }
        }
    }
    Ok(())
}

/// A module with the kernel `add_number(global uint *a, uint n)`, which adds `n` to each element (SPIR-V 1.0; the numbers
/// are those of its sections 3.7 to 3.32).
fn module() -> Vec<u8> {
    let (void, uint, ulong, vector, input, global, function, builtin) = (1, 2, 3, 4, 5, 6, 7, 8);
    let (main, a, n, entry, id, x, place, value, sum, bound) = (9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
    let text = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() / 4 + 1) * 4, 0);
        bytes.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect::<Vec<u32>>()
    };
    let name = text("add_number");
    let linked = text("__spirv_BuiltInGlobalInvocationId");
    let mut words = vec![0x0723_0203, 0x0001_0000, 0, bound, 0];
    let mut op = |code: u32, operands: &[u32]| {
        words.push((operands.len() as u32 + 1) << 16 | code);
        words.extend_from_slice(operands);
    };
    // Capabilities: Addresses, Linkage, Kernel, Int64.
    for capability in [4, 5, 6, 11] {
        op(17, &[capability]);
    }
    // OpMemoryModel Physical64 OpenCL, OpEntryPoint Kernel.
    op(14, &[2, 2]);
    op(15, &[&[6, main], name.as_slice(), &[builtin]].concat());
    // OpDecorate: BuiltIn GlobalInvocationId, Constant, LinkageAttributes Import.
    op(71, &[builtin, 11, 28]);
    op(71, &[builtin, 22]);
    op(71, &[&[builtin, 41], linked.as_slice(), &[1]].concat());
    // Types: void, int 32, int 64, vector, pointers to Input and CrossWorkgroup, function.
    op(19, &[void]);
    op(21, &[uint, 32, 0]);
    op(21, &[ulong, 64, 0]);
    op(23, &[vector, ulong, 3]);
    op(32, &[input, 1, vector]);
    op(32, &[global, 5, uint]);
    op(33, &[function, void, global, uint]);
    op(59, &[input, builtin, 1]);
    // OpFunction, OpFunctionParameter, OpLabel.
    op(54, &[void, main, 0, function]);
    op(55, &[global, a]);
    op(55, &[uint, n]);
    op(248, &[entry]);
    // OpLoad Aligned, OpCompositeExtract, OpInBoundsPtrAccessChain, OpLoad, OpIAdd, OpStore.
    op(61, &[vector, id, builtin, 2, 32]);
    op(81, &[ulong, x, id, 0]);
    op(70, &[global, place, a, x]);
    op(61, &[uint, value, place, 2, 4]);
    op(128, &[uint, sum, value, n]);
    op(62, &[place, sum, 2, 4]);
    // OpReturn, OpFunctionEnd.
    op(253, &[]);
    op(56, &[]);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn modules_of_spirv_are_taken(queue: &Queue) -> Check {
    for code in [&b""[..], b"kernel void k() {}  ", &module()[..16], &module()[..module().len() - 1]] {
        let refused = KernelBundle::from_spirv(queue, code, "");
        ensure!(
            matches!(refused, Err(Error::Value(_))),
            "{} bytes that are no module: {refused:?}",
            code.len()
        );
    }
    let bundle = match KernelBundle::from_spirv(queue, &module(), "") {
        Err(error @ Error::Unsupported(_)) => return Err(Stop::Unsupported(error.to_string())),
        bundle => bundle?,
    };
    ensure!(bundle.kernel_names().collect::<Vec<_>>() == ["add_number"], "{bundle:?}");
    let add = bundle.kernel("add_number")?;
    ensure!(add.info().num_args == 2, "{:?}", add.info());
    let y = upload(queue, &[1_u32, 2, 3, u32::MAX])?;
    launch(&add, queue, [4], &[(&y).into(), SourceArgument::Scalar(Scalar::U32(10))], &[])?;
    same(&y, &[11, 12, 13, 9], "SPIR-V")?;
    // Twice, the second time from the cache.
    let again = KernelBundle::from_spirv(queue, &module(), "")?.kernel("add_number")?;
    launch(&again, queue, [4], &[(&y).into(), SourceArgument::Scalar(Scalar::U32(1))], &[])?;
    same(&y, &[12, 13, 14, 10], "SPIR-V again")?;
    let refused = launch(&add, queue, [4], &[(&y).into(), SourceArgument::Scalar(Scalar::U64(10))], &[]);
    let refused = refused.and_then(|event| event.wait());
    ensure!(
        matches!(refused, Err(Error::Value(_) | Error::Runtime(_))),
        "a value of another size: {refused:?}"
    );
    Ok(())
}

fn threads_launch_one_kernel(queue: &Queue) -> Check {
    let fill = kernel(queue, AXPY, "fill")?;
    let arrays: Vec<Array<f32>> = (0..8).map(|_| Array::on(queue).zeros([100])).collect::<Result<_>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = arrays
            .iter()
            .enumerate()
            .map(|(number, array)| {
                let fill = &fill;
                scope.spawn(move || -> Result<()> {
                    for round in 0..50 {
                        let value = Scalar::F32((100 * number + round) as f32);
                        launch(fill, queue, [100], &[array.into(), value.into()], &[])?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    for (number, array) in arrays.iter().enumerate() {
        same(array, &[(100 * number + 49) as f32; 100], &format!("thread {number}"))?;
    }
    Ok(())
}

fn failures_travel_along_arguments(queue: &Queue) -> Check {
    let (axpy, fill) = (kernel(queue, AXPY, "axpy")?, kernel(queue, AXPY, "fill")?);
    let fails = || queue.submit_host_task(|| Err(Error::task("a task", "a failure", "none", "none")), &[]);
    let (x, y) = (upload(queue, &numbers(8))?, upload(queue, &numbers(8))?);
    let failed = launch(&fill, queue, [8], &[(&x).into(), 1.into()], &[fails()?])?;
    ensure!(matches!(failed.wait(), Err(Error::Dependency(_))), "behind a failed task: {:?}", failed.wait());
    let reads = launch(&axpy, queue, [8], &[(&x).into(), (&y).into(), 1.into(), 8.into()], &[])?;
    ensure!(matches!(reads.wait(), Err(Error::Dependency(_))), "what reads it: {:?}", reads.wait());
    let untouched: UsmArray = upload(queue, &numbers(8))?.as_untyped().clone();
    launch(&fill, queue, [8], &[(&untouched).into(), 1.into()], &[])?.wait()?;
    Ok(())
}
