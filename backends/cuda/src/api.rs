//! The driver's functions, found in `libcuda.so.1` at the first use of any device. Names and types are those of `cuda.h`.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use crate::symbols::table;

/// Opaque objects of the driver.
pub(crate) type RawContext = *mut c_void;
/// A stream; null is the legacy default stream.
pub(crate) type RawStream = *mut c_void;
/// An event.
pub(crate) type RawEvent = *mut c_void;
/// A module.
pub(crate) type RawModule = *mut c_void;
/// A function of a module.
pub(crate) type RawFunction = *mut c_void;
/// A graph.
pub(crate) type RawGraph = *mut c_void;
/// A graph that can be launched.
pub(crate) type RawLaunchable = *mut c_void;
/// A device's number.
pub(crate) type RawDevice = c_int;
/// By what another process opens memory of a device (`CUipcMemHandle`).
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawMemoryHandle(pub(crate) [u8; 64]);
/// A function that the driver calls.
pub(crate) type HostFunction = unsafe extern "system" fn(*mut c_void);

table! {
    /// The driver's functions.
    Api {
        init = cuInit(flags: c_uint);
        driver_version = cuDriverGetVersion(version: *mut c_int);
        device_count = cuDeviceGetCount(count: *mut c_int);
        device = cuDeviceGet(device: *mut RawDevice, ordinal: c_int);
        device_name = cuDeviceGetName(name: *mut c_char, bytes: c_int, device: RawDevice);
        device_attribute = cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: RawDevice);
        device_memory = cuDeviceTotalMem_v2(bytes: *mut usize, device: RawDevice);

        retain_context = cuDevicePrimaryCtxRetain(context: *mut RawContext, device: RawDevice);
        release_context = cuDevicePrimaryCtxRelease_v2(device: RawDevice);
        current_context = cuCtxGetCurrent(context: *mut RawContext);
        push_context = cuCtxPushCurrent_v2(context: RawContext);
        pop_context = cuCtxPopCurrent_v2(context: *mut RawContext);

        can_reach = cuDeviceCanAccessPeer(can: *mut c_int, device: RawDevice, peer: RawDevice);
        reach = cuCtxEnablePeerAccess(peer: RawContext, flags: c_uint);

        memory_info = cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
        allocate = cuMemAlloc_v2(pointer: *mut usize, bytes: usize);
        free = cuMemFree_v2(pointer: usize);
        allocate_host = cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
        free_host = cuMemFreeHost(pointer: *mut c_void);
        allocate_managed = cuMemAllocManaged(pointer: *mut usize, bytes: usize, flags: c_uint);
        prefetch = cuMemPrefetchAsync(pointer: usize, bytes: usize, device: RawDevice, stream: RawStream);
        pointer_attribute = cuPointerGetAttribute(value: *mut c_void, attribute: c_int, pointer: usize);

        address_range = cuMemGetAddressRange_v2(start: *mut usize, bytes: *mut usize, pointer: usize);
        memory_handle = cuIpcGetMemHandle(handle: *mut RawMemoryHandle, pointer: usize);
        open_memory = cuIpcOpenMemHandle_v2(pointer: *mut usize, handle: RawMemoryHandle, flags: c_uint);
        close_memory = cuIpcCloseMemHandle(pointer: usize);

        copy = cuMemcpyAsync(dst: usize, src: usize, bytes: usize, stream: RawStream);
        fill_8 = cuMemsetD8Async(dst: usize, value: u8, count: usize, stream: RawStream);
        fill_16 = cuMemsetD16Async(dst: usize, value: u16, count: usize, stream: RawStream);
        fill_32 = cuMemsetD32Async(dst: usize, value: u32, count: usize, stream: RawStream);
        fill_rows = cuMemsetD2D32Async(
            dst: usize, pitch: usize, value: u32, width: usize, height: usize, stream: RawStream,
        );

        create_stream = cuStreamCreate(stream: *mut RawStream, flags: c_uint);
        destroy_stream = cuStreamDestroy_v2(stream: RawStream);
        synchronize_stream = cuStreamSynchronize(stream: RawStream);
        query_stream = cuStreamQuery(stream: RawStream);
        wait_event = cuStreamWaitEvent(stream: RawStream, event: RawEvent, flags: c_uint);
        launch_host = cuLaunchHostFunc(stream: RawStream, function: HostFunction, argument: *mut c_void);

        begin_capture = cuStreamBeginCapture_v2(stream: RawStream, mode: c_int);
        end_capture = cuStreamEndCapture(stream: RawStream, graph: *mut RawGraph);
        destroy_graph = cuGraphDestroy(graph: RawGraph);
        instantiate_graph = cuGraphInstantiateWithFlags(
            launchable: *mut RawLaunchable, graph: RawGraph, flags: c_ulonglong,
        );
        destroy_launchable = cuGraphExecDestroy(launchable: RawLaunchable);
        launch_graph = cuGraphLaunch(launchable: RawLaunchable, stream: RawStream);

        create_event = cuEventCreate(event: *mut RawEvent, flags: c_uint);
        destroy_event = cuEventDestroy_v2(event: RawEvent);
        record_event = cuEventRecord(event: RawEvent, stream: RawStream);
        query_event = cuEventQuery(event: RawEvent);
        synchronize_event = cuEventSynchronize(event: RawEvent);
        elapsed = cuEventElapsedTime(milliseconds: *mut f32, start: RawEvent, end: RawEvent);

        load_module = cuModuleLoadDataEx(
            module: *mut RawModule,
            image: *const c_void,
            count: c_uint,
            options: *mut c_int,
            values: *mut *mut c_void,
        );
        unload_module = cuModuleUnload(module: RawModule);
        function_count = cuModuleGetFunctionCount(count: *mut c_uint, module: RawModule);
        functions = cuModuleEnumerateFunctions(list: *mut RawFunction, count: c_uint, module: RawModule);
        load_function = cuFuncLoad(function: RawFunction);
        function_name = cuFuncGetName(name: *mut *const c_char, function: RawFunction);
        parameter = cuFuncGetParamInfo(
            function: RawFunction, index: usize, offset: *mut usize, bytes: *mut usize,
        );
        function_attribute = cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: RawFunction);
        set_function_attribute = cuFuncSetAttribute(function: RawFunction, attribute: c_int, value: c_int);
        launch = cuLaunchKernel(
            function: RawFunction,
            grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
            block_x: c_uint, block_y: c_uint, block_z: c_uint,
            shared_bytes: c_uint,
            stream: RawStream,
            arguments: *mut *mut c_void,
            extra: *mut *mut c_void,
        );
    }
}

/// Attributes of devices (`CUdevice_attribute`).
pub(crate) mod device {
    use std::ffi::c_int;
    pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
    pub(crate) const MULTIPROCESSOR_COUNT: c_int = 16;
    pub(crate) const L2_CACHE_SIZE: c_int = 38;
    pub(crate) const UNIFIED_ADDRESSING: c_int = 41;
    pub(crate) const CAPABILITY_MAJOR: c_int = 75;
    pub(crate) const CAPABILITY_MINOR: c_int = 76;
    pub(crate) const CONCURRENT_MANAGED_ACCESS: c_int = 89;
    pub(crate) const PAGEABLE_MEMORY_ACCESS: c_int = 88;
    pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
}

/// Attributes of pointers (`CUpointer_attribute`), and sorts of memory (`CUmemorytype`).
pub(crate) mod pointer {
    use std::ffi::c_int;
    pub(crate) const CONTEXT: c_int = 1;
    pub(crate) const MEMORY_TYPE: c_int = 2;
    pub(crate) const IS_MANAGED: c_int = 8;
    pub(crate) const DEVICE_ORDINAL: c_int = 9;
    pub(crate) const MEMORY_HOST: u32 = 1;
    pub(crate) const MEMORY_DEVICE: u32 = 2;
}

/// Attributes of functions (`CUfunction_attribute`).
pub(crate) mod function {
    use std::ffi::c_int;
    pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 0;
    pub(crate) const SHARED_BYTES: c_int = 1;
    pub(crate) const LOCAL_BYTES: c_int = 3;
    pub(crate) const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
}

/// Options of a module that is loaded (`CUjit_option`).
pub(crate) mod jit {
    use std::ffi::c_int;
    pub(crate) const ERROR_LOG: c_int = 5;
    pub(crate) const ERROR_LOG_BYTES: c_int = 6;
}

/// `CU_STREAM_DEFAULT`: it and the legacy default stream wait for each other.
pub(crate) const STREAM_DEFAULT: c_uint = 0;
/// `CU_STREAM_NON_BLOCKING`: nothing waits for the legacy default stream.
pub(crate) const STREAM_NON_BLOCKING: c_uint = 1;
/// `CU_STREAM_LEGACY`: the legacy default stream, by whichever name.
pub(crate) const STREAM_LEGACY: usize = 1;
/// `CU_EVENT_BLOCKING_SYNC`: who waits sleeps.
pub(crate) const EVENT_BLOCKING_SYNC: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
pub(crate) const EVENT_DISABLE_TIMING: c_uint = 2;
/// `CU_MEMHOSTALLOC_PORTABLE`: page-locked for every context.
pub(crate) const HOST_PORTABLE: c_uint = 1;
/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`: a device that does not have the memory reaches it.
pub(crate) const REACH_PEER: c_uint = 1;
/// `CU_MEM_ATTACH_GLOBAL`.
pub(crate) const ATTACH_GLOBAL: c_uint = 1;
