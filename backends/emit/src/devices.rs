//! What the OpenCL devices under test are.

use opencl3::device::{CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT, Device};

use crate::{Dialect, Target};

/// What a device's kernels can rely on, on plain buffers.
pub(crate) fn target_on_buffers(id: &Device) -> Target {
    let extensions = id.extensions().expect("a device answers");
    let has = |name: &str| extensions.split_whitespace().any(|extension| extension == name);
    Target {
        dialect: Dialect::OpenClC,
        fp64: has("cl_khr_fp64") || id.double_fp_config().is_ok_and(|config| config != 0),
        fp16: has("cl_khr_fp16"),
        atomic64: has("cl_khr_int64_base_atomics"),
        exact_division: id.single_fp_config().expect("a device answers")
            & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
            != 0,
        buffers: true,
        cpu: false,
        compute_units: id.max_compute_units().expect("a device answers") as usize,
        max_group: id.max_work_group_size().expect("a device answers"),
        local_bytes: id.local_mem_size().expect("a device answers") as usize,
        user_local_bytes: id.local_mem_size().expect("a device answers") as usize,
        general_points: 1 << 14,
    }
}
