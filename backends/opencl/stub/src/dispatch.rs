//! The table by which a loader finds the functions, in the order of `CL/cl_icd.h`, and functions by their names.

use std::ffi::c_void;

use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::*;

use crate::api::buffers::*;
use crate::api::contexts::*;
use crate::api::devices::*;
use crate::api::events::*;
use crate::api::kernels::*;
use crate::api::platforms::*;
use crate::api::programs::*;
use crate::api::svm::*;
use crate::api::usm::*;
use crate::config::Tier;

/// The functions of the table, which are found by their names, too.
macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        static TABLE: cl_icd_dispatch = cl_icd_dispatch {
            $($name: Some($name),)*
            // SAFETY: every entry is an optional function or a number, for which zeros stand for none.
            ..unsafe { std::mem::zeroed() }
        };

        fn function(name: &str) -> Option<*mut c_void> {
            match name {
                $(stringify!($name) => Some($name as *mut c_void),)*
                _ => None,
            }
        }
    };
}

functions! {
    clGetPlatformIDs,
    clGetPlatformInfo,
    clGetDeviceIDs,
    clGetDeviceInfo,
    clCreateContext,
    clRetainContext,
    clReleaseContext,
    clGetContextInfo,
    clCreateCommandQueue,
    clRetainCommandQueue,
    clReleaseCommandQueue,
    clGetCommandQueueInfo,
    clCreateBuffer,
    clRetainMemObject,
    clReleaseMemObject,
    clGetMemObjectInfo,
    clCreateProgramWithSource,
    clCreateProgramWithBinary,
    clRetainProgram,
    clReleaseProgram,
    clBuildProgram,
    clGetProgramInfo,
    clGetProgramBuildInfo,
    clCreateKernel,
    clCreateKernelsInProgram,
    clRetainKernel,
    clReleaseKernel,
    clSetKernelArg,
    clGetKernelInfo,
    clGetKernelWorkGroupInfo,
    clWaitForEvents,
    clGetEventInfo,
    clRetainEvent,
    clReleaseEvent,
    clGetEventProfilingInfo,
    clFlush,
    clFinish,
    clEnqueueReadBuffer,
    clEnqueueWriteBuffer,
    clEnqueueCopyBuffer,
    clEnqueueMapBuffer,
    clEnqueueUnmapMemObject,
    clEnqueueNDRangeKernel,
    clGetExtensionFunctionAddress,
    clSetEventCallback,
    clCreateUserEvent,
    clSetUserEventStatus,
    clCreateSubDevices,
    clRetainDevice,
    clReleaseDevice,
    clUnloadPlatformCompiler,
    clEnqueueFillBuffer,
    clEnqueueMigrateMemObjects,
    clEnqueueMarkerWithWaitList,
    clEnqueueBarrierWithWaitList,
    clGetExtensionFunctionAddressForPlatform,
    clCreateCommandQueueWithProperties,
    clSVMAlloc,
    clSVMFree,
    clEnqueueSVMMemcpy,
    clEnqueueSVMMemFill,
    clEnqueueSVMMap,
    clEnqueueSVMUnmap,
    clSetKernelArgSVMPointer,
    clSetKernelExecInfo,
    clCloneKernel,
    clEnqueueSVMMigrateMem,
    clGetDeviceAndHostTimer,
    clGetHostTimer,
    clCreateBufferWithProperties,
}

/// The functions of an extension, with the types that it gives them.
macro_rules! extension {
    ($($name:ident: $ty:ty),* $(,)?) => {
        fn extension(name: &str) -> Option<*mut c_void> {
            $(const _: $ty = Some($name);)*
            match name {
                $(stringify!($name) => Some($name as *mut c_void),)*
                _ => None,
            }
        }
    };
}

extension! {
    clHostMemAllocINTEL: clHostMemAllocINTEL_t,
    clDeviceMemAllocINTEL: clDeviceMemAllocINTEL_t,
    clSharedMemAllocINTEL: clSharedMemAllocINTEL_t,
    clMemFreeINTEL: clMemFreeINTEL_t,
    clMemBlockingFreeINTEL: clMemBlockingFreeINTEL_t,
    clGetMemAllocInfoINTEL: clGetMemAllocInfoINTEL_t,
    clSetKernelArgMemPointerINTEL: clSetKernelArgMemPointerINTEL_t,
    clEnqueueMemFillINTEL: clEnqueueMemFillINTEL_t,
    clEnqueueMemcpyINTEL: clEnqueueMemcpyINTEL_t,
    clEnqueueMigrateMemINTEL: clEnqueueMigrateMemINTEL_t,
}

/// The table.
pub(crate) fn table() -> *const cl_icd_dispatch {
    &raw const TABLE
}

/// The address of a function.
pub(crate) fn address(name: &str, tier: Tier) -> Option<*mut c_void> {
    match name {
        "clIcdGetPlatformIDsKHR" => Some(clIcdGetPlatformIDsKHR as *mut c_void),
        _ if tier == Tier::Usm => function(name).or_else(|| extension(name)),
        _ => function(name),
    }
}
