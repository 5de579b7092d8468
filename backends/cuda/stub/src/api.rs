//! The driver's functions, with the types of `cuda.h`.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::product::{Matrix, Product};
use crate::routines::{Sort, Transform, cholesky};
use crate::state::{
    EventState, Function, Guard, HostFunction, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, Kind, Op,
    StreamState, lock,
};

/// By what another process opens memory (`CUipcMemHandle`).
#[repr(C)]
#[derive(Clone, Copy)]
struct MemoryHandle([u8; 64]);

const NOT_READY: c_int = 600;
const PEER_ACCESS_ALREADY_ENABLED: c_int = 704;
const INVALID_PTX: c_int = 218;
/// Where the handles of contexts begin, one for each device.
pub(crate) const CONTEXTS: usize = 0x1000;

thread_local! {
    /// The calling thread's contexts, the current one last.
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A call: the state, where it is not refused. `context` says whether the calling thread needs a context.
fn enter(name: &str, context: bool) -> Result<Guard, c_int> {
    let mut guard = lock();
    guard.call(name)?;
    if context {
        if let Some(code) = guard.sticky {
            return Err(code);
        }
        let current = current();
        let is_current = |device: c_int| CONTEXTS + device as usize == current;
        if !guard.contexts.iter().any(|(device, count)| *count > 0 && is_current(*device)) {
            guard.violate(format!("{name} without a context"));
            return Err(INVALID_CONTEXT);
        }
    }
    Ok(guard)
}

/// The calling thread's context.
fn current() -> usize {
    CURRENT.with_borrow(|contexts| contexts.last().copied().unwrap_or(0))
}

/// Adds a command to a stream.
fn give(guard: &mut Guard, stream: usize, op: Op) -> c_int {
    let number = guard.next_number();
    match guard.streams.get_mut(&stream) {
        Some(StreamState { recorded: Some(recorded), .. }) => recorded.push(op),
        Some(stream) => stream.ops.push_back((number, op)),
        None => {
            guard.violate("a command for a stream that is not there");
            return INVALID_HANDLE;
        }
    }
    crate::state::CHANGED.notify_all();
    0
}

/// Gives a value to a place of the caller's.
///
/// # Safety
/// The place is writable.
unsafe fn put<T>(place: *mut T, value: T) -> c_int {
    // SAFETY: this function's contract.
    unsafe { place.write(value) };
    0
}

macro_rules! functions {
    ($($symbol:ident($($argument:ident: $type:ty),* $(,)?) $context:literal |$guard:ident| $body:expr;)*) => {
        $(
            #[allow(non_snake_case, clippy::too_many_arguments, reason = "the functions are those of cuda.h")]
            unsafe extern "system" fn $symbol($($argument: $type),*) -> c_int {
                #[allow(unused_mut, reason = "some only look")]
                let mut $guard = match enter(stringify!($symbol), $context) {
                    Ok(guard) => guard,
                    Err(code) => return code,
                };
                // SAFETY: places and texts are as cuda.h has them, by the promise of the caller.
                #[allow(unused_unsafe, reason = "some have no places")]
                unsafe { $body }
            }
        )*

        /// The address of a function of the driver; null where it lacks it.
        #[must_use]
        pub fn find(name: &CStr) -> *mut c_void {
            if lock().absent.as_bytes() == name.to_bytes() {
                return std::ptr::null_mut();
            }
            match name.to_str() {
                $(Ok(stringify!($symbol)) => $symbol as *const () as *mut c_void,)*
                _ => std::ptr::null_mut(),
            }
        }
    };
}

functions! {
    cuInit(_flags: c_uint) false |_guard| 0;
    cuDriverGetVersion(version: *mut c_int) false |guard| put(version, guard.version);
    cuDeviceGetCount(count: *mut c_int) false |guard| put(count, guard.devices);
    cuDeviceGet(device: *mut c_int, ordinal: c_int) false |_guard| put(device, ordinal);
    cuDeviceGetName(name: *mut c_char, bytes: c_int, _device: c_int) false |_guard| {
        let text = c"a stub of a GPU".to_bytes_with_nul();
        std::ptr::copy_nonoverlapping(text.as_ptr(), name.cast(), text.len().min(bytes as usize));
        0
    };
    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) false |guard| put(value, match attribute {
        1 => 1024,
        8 => 48 << 10,
        16 => 4,
        38 => 1 << 20,
        41 => 1,
        75 => 9,
        89 => c_int::from(guard.managed),
        97 => 200 << 10,
        _ => 0,
    });
    cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) false |_guard| put(bytes, 1 << 30);

    cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) false |guard| {
        *guard.contexts.entry(device).or_default() += 1;
        put(context, CONTEXTS + device as usize)
    };
    cuDevicePrimaryCtxRelease_v2(device: c_int) false |guard| {
        let count = guard.contexts.entry(device).or_default();
        match count.checked_sub(1) {
            Some(less) => *count = less,
            None => guard.violate("a context given up that is not there"),
        }
        0
    };
    cuCtxGetCurrent(context: *mut usize) false |_guard| {
        put(context, current())
    };
    cuCtxPushCurrent_v2(context: usize) false |_guard| {
        CURRENT.with_borrow_mut(|contexts| contexts.push(context));
        0
    };
    cuCtxPopCurrent_v2(context: *mut usize) false |guard| {
        match CURRENT.with_borrow_mut(Vec::pop) {
            Some(popped) => put(context, popped),
            None => {
                guard.violate("a context popped that was not pushed");
                INVALID_CONTEXT
            }
        }
    };

    cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) false |_guard| put(can, c_int::from(device != peer));
    cuCtxEnablePeerAccess(peer: usize, _flags: c_uint) true |guard| {
        let pair = (current(), peer);
        if guard.reaching.contains(&pair) {
            return PEER_ACCESS_ALREADY_ENABLED;
        }
        guard.reaching.push(pair);
        0
    };

    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) true |_guard| {
        put(free, 1 << 29);
        put(total, 1 << 30)
    };
    cuMemAlloc_v2(pointer: *mut usize, bytes: usize) true |guard| match guard.allocate(bytes, Kind::Device, current()) {
        Ok(address) => put(pointer, address),
        Err(code) => code,
    };
    cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, _flags: c_uint) true |guard| {
        match guard.allocate(bytes, Kind::Host, current()) {
            Ok(address) => put(pointer, std::ptr::with_exposed_provenance_mut(address)),
            Err(code) => code,
        }
    };
    cuMemAllocManaged(pointer: *mut usize, bytes: usize, _flags: c_uint) true |guard| {
        match guard.allocate(bytes, Kind::Managed, current()) {
            Ok(address) => put(pointer, address),
            Err(code) => code,
        }
    };
    // What is given up is given up also after a fault, as the end of the process would.
    cuMemFree_v2(pointer: usize) false |guard| guard.free(pointer, false);
    cuMemFreeHost(pointer: *mut c_void) false |guard| guard.free(pointer.addr(), true);
    cuMemGetAddressRange_v2(start: *mut usize, bytes: *mut usize, pointer: usize) true |guard| match guard.block(pointer) {
        Some((first, len)) => {
            put(start, first);
            put(bytes, len)
        }
        None => INVALID_VALUE,
    };
    // A handle is the address, as there is one process: what it opens is another library's.
    cuIpcGetMemHandle(handle: *mut MemoryHandle, pointer: usize) true |guard| match guard.memory.contains_key(&pointer) {
        true => put(handle, MemoryHandle(std::array::from_fn(|k| pointer.to_le_bytes().get(k).copied().unwrap_or(0)))),
        false => INVALID_VALUE,
    };
    cuIpcOpenMemHandle_v2(pointer: *mut usize, handle: MemoryHandle, _flags: c_uint) true |guard| {
        let address = usize::from_le_bytes(std::array::from_fn(|k| handle.0[k]));
        match guard.memory.contains_key(&address) {
            true => {
                *guard.opened.entry(address).or_default() += 1;
                put(pointer, address)
            }
            false => INVALID_CONTEXT,
        }
    };
    cuIpcCloseMemHandle(pointer: usize) false |guard| guard.close(pointer);
    cuMemPrefetchAsync(pointer: usize, _bytes: usize, _device: c_int, _stream: usize) true |guard| {
        match guard.kind(pointer) {
            Some(Kind::Managed) => 0,
            _ => INVALID_VALUE,
        }
    };
    cuPointerGetAttribute(value: *mut u32, attribute: c_int, pointer: usize) true |guard| {
        match (guard.kind(pointer), attribute) {
            (None, _) => INVALID_VALUE,
            (Some(_), 1) => put(value.cast::<usize>(), guard.context_of(pointer).unwrap_or(0)),
            (Some(kind), 8) => put(value, u32::from(kind == Kind::Managed)),
            (Some(_), 9) => put(value, guard.context_of(pointer).map_or(0, |context| context - CONTEXTS) as u32),
            (Some(Kind::Host), 2) => put(value, 1),
            (Some(_), 2) => put(value, 2),
            _ => INVALID_VALUE,
        }
    };

    cuMemcpyAsync(dst: usize, src: usize, bytes: usize, stream: usize) true |guard| {
        match (guard.kind(dst), guard.kind(src)) {
            // Pageable memory is read at once, and written before the call returns.
            (_, None) => {
                let data = std::slice::from_raw_parts(std::ptr::with_exposed_provenance(src), bytes).to_vec();
                give(&mut guard, stream, Op::Write { dst, data })
            }
            (None, _) => {
                let code = give(&mut guard, stream, Op::Copy { dst, src, bytes });
                while !guard.is_idle(stream) && guard.sticky.is_none() {
                    guard = guard.wait();
                }
                guard.sticky.unwrap_or(code)
            }
            _ => give(&mut guard, stream, Op::Copy { dst, src, bytes }),
        }
    };
    cuMemsetD8Async(dst: usize, value: u8, count: usize, stream: usize) true |guard| {
        give(&mut guard, stream, Op::Fill { dst, pitch: 0, pattern: vec![value], width: count, height: 1 })
    };
    cuMemsetD16Async(dst: usize, value: u16, count: usize, stream: usize) true |guard| {
        let pattern = value.to_ne_bytes().to_vec();
        give(&mut guard, stream, Op::Fill { dst, pitch: 0, pattern, width: count, height: 1 })
    };
    cuMemsetD32Async(dst: usize, value: u32, count: usize, stream: usize) true |guard| {
        let pattern = value.to_ne_bytes().to_vec();
        give(&mut guard, stream, Op::Fill { dst, pitch: 0, pattern, width: count, height: 1 })
    };
    cuMemsetD2D32Async(dst: usize, pitch: usize, value: u32, width: usize, height: usize, stream: usize) true |guard| {
        let pattern = value.to_ne_bytes().to_vec();
        give(&mut guard, stream, Op::Fill { dst, pitch, pattern, width, height })
    };

    cuStreamCreate(stream: *mut usize, flags: c_uint) true |guard| {
        let handle = guard.handle();
        guard.streams.insert(handle, StreamState { apart: flags & 1 != 0, context: current(), ..StreamState::default() });
        put(stream, handle)
    };
    cuStreamDestroy_v2(stream: usize) false |guard| {
        if !guard.streams.contains_key(&stream) {
            guard.violate("a stream given up that is not there");
        }
        guard.destroy_stream(stream);
        0
    };
    cuStreamBeginCapture_v2(stream: usize, _mode: c_int) true |guard| guard.begin_capture(stream);
    cuStreamEndCapture(stream: usize, graph: *mut usize) true |guard| match guard.end_capture(stream) {
        Ok(handle) => put(graph, handle),
        Err(code) => code,
    };
    cuGraphDestroy(graph: usize) false |guard| guard.destroy_graph(graph);
    cuGraphInstantiateWithFlags(made: *mut usize, graph: usize, _flags: c_ulonglong) true |guard| {
        match guard.instantiate(graph) {
            Ok(handle) => put(made, handle),
            Err(code) => code,
        }
    };
    cuGraphExecDestroy(graph: usize) false |guard| guard.destroy_graph(graph);
    cuGraphLaunch(graph: usize, stream: usize) true |guard| match guard.commands(graph) {
        Ok(ops) => ops.into_iter().map(|op| give(&mut guard, stream, op)).find(|code| *code != 0).unwrap_or(0),
        Err(code) => code,
    };
    cuStreamSynchronize(stream: usize) true |guard| {
        if !guard.streams.contains_key(&stream) {
            guard.violate("a wait for a stream that is not there");
        }
        while !guard.is_idle(stream) && guard.sticky.is_none() {
            guard = guard.wait();
        }
        guard.sticky.unwrap_or(0)
    };
    cuStreamQuery(stream: usize) true |guard| match (guard.streams.contains_key(&stream), guard.is_idle(stream)) {
        (true, true) => 0,
        (true, false) => NOT_READY,
        _ => {
            guard.violate("a question for a stream that is not there");
            INVALID_HANDLE
        }
    };
    cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) true |guard| {
        match guard.events.get(&event).map(|event| event.recorded) {
            Some(number) => give(&mut guard, stream, Op::Wait { event, number }),
            None => {
                guard.violate("a wait for an event that is not there");
                INVALID_HANDLE
            }
        }
    };
    cuLaunchHostFunc(stream: usize, function: HostFunction, argument: *mut c_void) true |guard| {
        give(&mut guard, stream, Op::Call { function, argument: argument.addr() })
    };

    cuEventCreate(event: *mut usize, flags: c_uint) true |guard| {
        let handle = guard.handle();
        guard.events.insert(handle, EventState { timed: flags & 2 == 0, context: current(), ..EventState::default() });
        put(event, handle)
    };
    cuEventDestroy_v2(event: usize) false |guard| {
        guard.destroy_event(event);
        0
    };
    cuEventRecord(event: usize, stream: usize) true |guard| {
        let of_stream = guard.streams.get(&stream).map_or(0, |stream| stream.context);
        let Some(known) = guard.events.get_mut(&event).filter(|known| [0, known.context].contains(&of_stream)) else {
            guard.violate("a record of an event that is not there, or in a stream of another context");
            return INVALID_HANDLE;
        };
        known.recorded += 1;
        let number = known.recorded;
        give(&mut guard, stream, Op::Record { event, number })
    };
    cuEventQuery(event: usize) true |guard| match guard.events.get(&event) {
        Some(known) if known.over >= known.recorded => 0,
        Some(_) => NOT_READY,
        None => {
            guard.violate("a question for an event that is not there");
            INVALID_HANDLE
        }
    };
    cuEventSynchronize(event: usize) true |guard| {
        let number = guard.events.get(&event).map_or(0, |event| event.recorded);
        while guard.events.get(&event).is_some_and(|event| event.over < number) && guard.sticky.is_none() {
            guard = guard.wait();
        }
        guard.sticky.unwrap_or(0)
    };
    cuEventElapsedTime(milliseconds: *mut f32, start: usize, end: usize) true |guard| {
        let at = |event: usize| guard.events.get(&event).filter(|event| event.timed).and_then(|event| event.at);
        match (at(start), at(end)) {
            (Some(start), Some(end)) => {
                let later = end.saturating_duration_since(start).as_secs_f32();
                put(milliseconds, 1e3 * (later - start.saturating_duration_since(end).as_secs_f32()))
            }
            _ => INVALID_HANDLE,
        }
    };

    cuModuleLoadDataEx(
        module: *mut usize,
        image: *const c_char,
        _count: c_uint,
        _options: *mut c_int,
        _values: *mut *mut c_void,
    ) true |guard| {
        let text = CStr::from_ptr(image).to_string_lossy();
        if !text.contains(".version") {
            return INVALID_PTX;
        }
        let handle = guard.handle();
        guard.modules.insert(handle, functions_of(&text));
        put(module, handle)
    };
    cuModuleUnload(module: usize) false |guard| {
        if guard.modules.remove(&module).is_none() {
            guard.violate("a module given up that is not there");
        }
        0
    };
    cuModuleGetFunctionCount(count: *mut c_uint, module: usize) true |guard| {
        put(count, guard.modules.get(&module).map_or(0, Vec::len) as c_uint)
    };
    cuModuleEnumerateFunctions(list: *mut usize, count: c_uint, module: usize) true |_guard| {
        for number in 0..count as usize {
            list.add(number).write(module + number);
        }
        0
    };
    cuFuncLoad(_function: usize) true |_guard| 0;
    cuFuncGetName(name: *mut *const c_char, function: usize) true |guard| match known(&guard, function) {
        Some(function) => put(name, function.name.as_ptr()),
        None => INVALID_HANDLE,
    };
    cuFuncGetParamInfo(function: usize, index: usize, _offset: *mut usize, bytes: *mut usize) true |guard| {
        match known(&guard, function).and_then(|function| function.parameters.get(index)) {
            Some(size) => put(bytes, *size),
            None => INVALID_VALUE,
        }
    };
    cuFuncGetAttribute(value: *mut c_int, attribute: c_int, _function: usize) true |_guard| {
        put(value, if attribute == 0 { 1024 } else { 0 })
    };
    cuFuncSetAttribute(_function: usize, _attribute: c_int, _value: c_int) true |_guard| 0;
    cuLaunchKernel(
        function: usize,
        _grid_x: c_uint,
        _grid_y: c_uint,
        _grid_z: c_uint,
        _block_x: c_uint,
        _block_y: c_uint,
        _block_z: c_uint,
        _shared_bytes: c_uint,
        stream: usize,
        _arguments: *mut *mut c_void,
        _extra: *mut *mut c_void,
    ) true |guard| {
        let Some(name) = known(&guard, function).map(|function| function.name.to_string_lossy().into_owned()) else {
            guard.violate("a launch of a kernel that is not there");
            return INVALID_HANDLE;
        };
        give(&mut guard, stream, Op::Launch { name })
    };

    // The library for products, whose functions return codes of their own.
    cublasGetVersion_v2(_handle: usize, version: *mut c_int) false |_guard| put(version, 130_000);
    cublasCreate_v2(handle: *mut usize) true |guard| {
        let made = guard.handle();
        guard.handles.insert(made, 0);
        put(handle, made)
    };
    cublasDestroy_v2(handle: usize) false |guard| {
        if guard.handles.remove(&handle).is_none() {
            guard.violate("a handle given up that is not there");
        }
        0
    };
    cublasSetMathMode(_handle: usize, _mode: c_int) true |_guard| 0;
    cublasSetStream_v2(handle: usize, stream: usize) true |guard| {
        guard.handles.insert(handle, stream);
        0
    };
    cublasGemmStridedBatchedEx(
        handle: usize,
        transpose_a: c_int,
        transpose_b: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const c_void,
        a: usize,
        a_type: c_int,
        lda: c_int,
        a_stride: i64,
        b: usize,
        b_type: c_int,
        ldb: c_int,
        b_stride: i64,
        beta: *const c_void,
        c: usize,
        c_type: c_int,
        ldc: c_int,
        c_stride: i64,
        count: c_int,
        compute: c_int,
        _algorithm: c_int,
    ) true |guard| {
        let Some(&stream) = guard.handles.get(&handle) else {
            guard.violate("a product by a handle that is not there");
            return INVALID_HANDLE;
        };
        let one = if compute == 70 { alpha.cast::<f64>().read() } else { f64::from(alpha.cast::<f32>().read()) };
        let zero = if compute == 70 { beta.cast::<f64>().read() } else { f64::from(beta.cast::<f32>().read()) };
        let rows = |transposed: c_int, rows: c_int, columns: c_int| if transposed == 0 { rows } else { columns };
        let fits = lda >= rows(transpose_a, m, k) && ldb >= rows(transpose_b, k, n) && ldc >= m;
        if !fits || one != 1.0 || zero != 0.0 || m < 1 || n < 1 || k < 1 || count < 1 {
            guard.violate("a product of what is no matrix");
            return 7;
        }
        let factor = |start, kind, transposed, leading: c_int, stride| {
            Matrix { start, kind, transposed: transposed != 0, leading: i64::from(leading), stride }
        };
        let product = Product {
            a: factor(a, a_type, transpose_a, lda, a_stride),
            b: factor(b, b_type, transpose_b, ldb, b_stride),
            c: factor(c, c_type, 0, ldc, c_stride),
            extents: [m, n, k, count].map(i64::from),
        };
        // The matrices are memory, by the promise of who asks for the product, until it has run.
        give(&mut guard, stream, Op::Run(Box::new(move || product.run())))
    };

    // That for transforms, whose plans are numbers.
    cufftCreate(plan: *mut c_int) true |guard| {
        let made = guard.handle() as c_int;
        guard.plans.insert(made, Transform::default());
        put(plan, made)
    };
    cufftDestroy(plan: c_int) false |guard| {
        if guard.plans.remove(&plan).is_none() {
            guard.violate("a plan given up that is not there");
        }
        0
    };
    cufftSetAutoAllocation(_plan: c_int, _automatic: c_int) true |_guard| 0;
    cufftMakePlanMany64(
        plan: c_int,
        _rank: c_int,
        extents: *mut i64,
        _input: *mut i64,
        _input_stride: i64,
        _input_distance: i64,
        _output: *mut i64,
        _output_stride: i64,
        _output_distance: i64,
        _sort: c_int,
        count: i64,
        work_bytes: *mut usize,
    ) true |guard| {
        let transform = Transform { points: extents.read() as usize, rows: count as usize, ..Transform::default() };
        guard.plans.insert(plan, transform);
        put(work_bytes, 1000)
    };
    cufftSetStream(plan: c_int, stream: usize) true |guard| {
        guard.plans.entry(plan).or_default().stream = stream;
        0
    };
    cufftSetWorkArea(plan: c_int, memory: usize) true |guard| {
        match guard.kind(memory) {
            Some(_) => guard.plans.entry(plan).or_default().has_room = true,
            None => guard.violate("room for a transform that is no memory"),
        }
        0
    };
    cufftExecC2C(plan: c_int, input: usize, output: usize, direction: c_int) true |guard| {
        transform(&mut guard, plan, (input, output), if direction < 0 { Sort::Forward } else { Sort::Inverse }, false)
    };
    cufftExecZ2Z(plan: c_int, input: usize, output: usize, direction: c_int) true |guard| {
        transform(&mut guard, plan, (input, output), if direction < 0 { Sort::Forward } else { Sort::Inverse }, true)
    };
    cufftExecR2C(plan: c_int, input: usize, output: usize) true |guard| {
        transform(&mut guard, plan, (input, output), Sort::FromReal, false)
    };
    cufftExecD2Z(plan: c_int, input: usize, output: usize) true |guard| {
        transform(&mut guard, plan, (input, output), Sort::FromReal, true)
    };
    cufftExecC2R(plan: c_int, input: usize, output: usize) true |guard| {
        transform(&mut guard, plan, (input, output), Sort::ToReal, false)
    };
    cufftExecZ2D(plan: c_int, input: usize, output: usize) true |guard| {
        transform(&mut guard, plan, (input, output), Sort::ToReal, true)
    };

    // That for decompositions, of which there is Cholesky's of doubles.
    cusolverDnCreate(handle: *mut usize) true |guard| {
        let made = guard.handle();
        guard.handles.insert(made, 0);
        put(handle, made)
    };
    cusolverDnDestroy(handle: usize) false |guard| {
        if guard.handles.remove(&handle).is_none() {
            guard.violate("a handle given up that is not there");
        }
        0
    };
    cusolverDnSetStream(handle: usize, stream: usize) true |guard| {
        guard.handles.insert(handle, stream);
        0
    };
    cusolverDnCreateParams(params: *mut usize) true |guard| {
        let made = guard.handle();
        guard.handles.insert(made, 0);
        put(params, made)
    };
    cusolverDnDestroyParams(params: usize) false |guard| {
        if guard.handles.remove(&params).is_none() {
            guard.violate("parameters given up that are not there");
        }
        0
    };
    cusolverDnXpotrf_bufferSize(
        _handle: usize,
        _params: usize,
        _triangle: c_int,
        _n: i64,
        _kind: c_int,
        _a: usize,
        _lda: i64,
        _compute: c_int,
        on_device: *mut usize,
        on_host: *mut usize,
    ) true |_guard| {
        put(on_device, 5000);
        put(on_host, 100)
    };
    cusolverDnXpotrf(
        handle: usize,
        _params: usize,
        triangle: c_int,
        n: i64,
        kind: c_int,
        a: usize,
        lda: i64,
        _compute: c_int,
        work: usize,
        work_bytes: usize,
        _host: usize,
        host_bytes: usize,
        info: usize,
    ) true |guard| {
        let stream = guard.handles.get(&handle).copied().unwrap_or(0);
        if guard.kind(work).is_none() || work_bytes != 5000 || host_bytes != 100 || triangle != 0 || kind != 1 || lda != n {
            guard.violate("a decomposition without room, or of what it has not");
            return 3;
        }
        // The matrix is memory, by the promise of who asks for this, until it has run.
        give(&mut guard, stream, Op::Run(Box::new(move || cholesky(n as usize, a, info))))
    };
}

/// Gives a transform to its stream.
fn transform(guard: &mut Guard, plan: c_int, places: (usize, usize), sort: Sort, double: bool) -> c_int {
    let Some(transform) = guard.plans.get(&plan).copied().filter(|transform| transform.has_room) else {
        guard.violate("a transform without a plan or room");
        return 5;
    };
    give(guard, transform.stream, Op::Run(Box::new(move || transform.run(sort, double, places))))
}

/// A kernel by its handle.
fn known(guard: &Guard, function: usize) -> Option<&Function> {
    // Handles lie 256 apart.
    let module = function & !255;
    guard.modules.get(&module)?.get(function - module)
}

/// The kernels of a text of PTX: `.entry NAME(.param .u64 a, .param .u32 b)`.
fn functions_of(text: &str) -> Vec<Function> {
    let entries = text.split(".entry ").skip(1);
    let function = |entry: &str| {
        let (name, rest) = entry.split_once('(')?;
        let parameters = rest.split(')').next()?.split(',').filter(|parameter| parameter.contains(".param"));
        let size = |parameter: &str| match parameter {
            wide if wide.contains("64") => 8,
            _ => 4,
        };
        Some(Function { name: CString::new(name.trim()).ok()?, parameters: parameters.map(size).collect() })
    };
    entries.filter_map(function).collect()
}
