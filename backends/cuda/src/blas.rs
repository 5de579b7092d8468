//! Products of matrices by cuBLAS, where it is installed; else they have kernels of our own.
//!
//! Products of 16-bit floats are summed in `float32` and rounded once, by the same call. On an H200, from Python, each waited for, PyTorch's
//! time over ours: `float16` 1024 1.10 to 1.13, 4096 0.94 to 0.97; `bfloat16` 0.95 to 1.09 and 0.93 to 0.97; before, with a pass that rounds
//! behind, 0.75 to 0.77 and 0.83 to 0.85, 0.74 and 0.83 to 0.89.
//!
//! A stream has a handle of the library, which nobody else uses, so that the same product has the same bits each time. What one call
//! cannot say (strides that are no leading dimension, factors of two dtypes) is left to the kernels.

use std::ffi::{c_int, c_longlong, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use stridewise_core::backend::{LaunchPlan, ProductSide, is_switched_on};
use stridewise_core::{Dtype, Error, Result};

use crate::api::RawStream;
use crate::device::Shared;
use crate::handle::{Context, count};
use crate::library::{Given, Library, Opened};
use crate::stream::Stream;
use crate::symbols::{ABSENT, Refused, table};

/// Environment variable that lets products of `float32` be computed with factors of 10 bits (TF32).
pub(crate) const TF32_VARIABLE: &str = "STRIDEWISE_TF32";

/// The library.
const LIBRARY: Library = Library {
    name: "cuBLAS",
    #[cfg(not(windows))]
    files: &[&["libcublasLt.so.13", "libcublasLt.so.12"], &["libcublas.so.13", "libcublas.so.12"]],
    #[cfg(windows)]
    files: &[&["cublasLt64_13.dll", "cublasLt64_12.dll"], &["cublas64_13.dll", "cublas64_12.dll"]],
    wheel: "nvidia/cublas/lib",
};

/// Rows and columns from which on a product is the library's, as it is a kernel of tiles' else.
const LEAST: usize = 8;
/// Calls of one product at most.
const MOST_CALLS: usize = 64;

/// Numbers of `cublas_api.h` and `library_types.h`.
const OP_N: c_int = 0;
const OP_T: c_int = 1;
const R_32F: c_int = 0;
const R_64F: c_int = 1;
const R_16F: c_int = 2;
const C_32F: c_int = 4;
const C_64F: c_int = 5;
const R_16BF: c_int = 14;
const COMPUTE_32F: c_int = 68;
const COMPUTE_64F: c_int = 70;
const COMPUTE_32F_FAST_TF32: c_int = 77;
const GEMM_DEFAULT: c_int = -1;
/// Sums of parts are `float32` until the last one is there.
const DISALLOW_REDUCED_PRECISION_REDUCTION: c_int = 16;

type RawHandle = *mut c_void;

table! {
    /// The library's functions.
    Functions {
        version = cublasGetVersion_v2(handle: RawHandle, version: *mut c_int);
        create = cublasCreate_v2(handle: *mut RawHandle);
        destroy = cublasDestroy_v2(handle: RawHandle);
        set_math = cublasSetMathMode(handle: RawHandle, mode: c_int);
        set_stream = cublasSetStream_v2(handle: RawHandle, stream: RawStream);
        gemm = cublasGemmStridedBatchedEx(
            handle: RawHandle,
            transpose_a: c_int, transpose_b: c_int,
            m: c_int, n: c_int, k: c_int,
            alpha: *const c_void,
            a: *const c_void, a_type: c_int, lda: c_int, a_stride: c_longlong,
            b: *const c_void, b_type: c_int, ldb: c_int, b_stride: c_longlong,
            beta: *const c_void,
            c: *mut c_void, c_type: c_int, ldc: c_int, c_stride: c_longlong,
            count: c_int, compute: c_int, algorithm: c_int,
        );
    }
}

/// The library, as a device has it.
pub(crate) struct Blas {
    functions: Opened<Functions>,
    /// Handles that no stream has.
    spare: Arc<Spare>,
    tf32: bool,
}

/// Handles that no stream has.
#[derive(Default)]
struct Spare(Mutex<Vec<Handle>>);

/// A handle of the library.
struct Handle {
    functions: Arc<Functions>,
    context: Arc<Context>,
    raw: RawHandle,
}
// SAFETY: a handle may be used by any thread, one at a time (cuBLAS, "Thread safety").
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is this object's own, and is given up once, here.
        self.context.give_up(|| unsafe { self.functions.destroy(self.raw) });
    }
}

/// The handle of a stream, which it gives back.
pub(crate) struct OfStream {
    handle: Mutex<Option<Handle>>,
    spare: Arc<Spare>,
}

impl Drop for OfStream {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            self.spare.0.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        }
    }
}

impl Blas {
    pub(crate) fn new(given: Option<Given>) -> Self {
        Self { functions: Opened::new(given), spare: Arc::default(), tf32: is_switched_on(TF32_VARIABLE) }
    }

    /// Whether a stream has what products need: `None` where nobody has looked for it yet.
    pub(crate) fn known(&self, stream: &Stream) -> Option<bool> {
        match self.functions.is_there()? {
            false => Some(false),
            true => stream.blas.get().map(|_| true),
        }
    }

    /// Whether a stream has what products need, which is looked for where nobody has; without any lock of core.
    pub(crate) fn prepare(&self, device: &Shared, stream: &Stream) -> bool {
        // SAFETY: a library of cuBLAS's name has cuBLAS's functions, as cublas_api.h declares them; it stays loaded.
        let functions = self.functions.get(&LIBRARY, |find| unsafe { Functions::of(find) });
        let Some(functions) = functions else { return false };
        if stream.blas.get().is_none()
            && let Ok(handle) = self.handle(functions, device, stream)
        {
            let own = OfStream { handle: Mutex::new(Some(handle)), spare: Arc::clone(&self.spare) };
            // Another thread may have been first.
            let _ = stream.blas.set(own);
        }
        stream.blas.get().is_some()
    }

    fn handle(
        &self,
        functions: &Arc<Functions>,
        device: &Shared,
        stream: &Stream,
    ) -> Result<Handle, Refused> {
        let _current = device.context.enter()?;
        let kept = self.spare.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let handle = match kept {
            Some(handle) => handle,
            None => {
                let mut raw = std::ptr::null_mut();
                // SAFETY: the place is a live pointer; the context is current.
                unsafe { functions.create(&raw mut raw) }?;
                count(true);
                let handle =
                    Handle { functions: Arc::clone(functions), context: Arc::clone(&device.context), raw };
                // SAFETY: the handle is live; nobody else has it.
                unsafe { functions.set_math(raw, DISALLOW_REDUCED_PRECISION_REDUCTION) }?;
                handle
            }
        };
        // SAFETY: both are live, of one context; nobody else has the handle.
        unsafe { functions.set_stream(handle.raw, stream.object.raw()) }?;
        Ok(handle)
    }

    /// What is told of it.
    pub(crate) fn found() -> Option<&'static str> {
        LIBRARY.open(None).map(|_| LIBRARY.name)
    }
}

/// A matrix as a factor: where it begins, by its leading dimension, transposed or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Factor {
    input: usize,
    transposed: bool,
    leading: c_int,
}

impl Factor {
    /// Of elements `across` apart from row to row and `along` from column to column, as columns one behind the other.
    fn of(input: usize, (rows, across): (usize, isize), (columns, along): (usize, isize)) -> Option<Self> {
        let leading = |step: isize, len: usize| {
            let step = c_int::try_from(step).ok()?;
            (usize::try_from(step).ok()? >= len).then_some(step)
        };
        if across == 1
            && let Some(leading) = leading(along, rows)
        {
            return Some(Self { input, transposed: false, leading });
        }
        let leading = if along == 1 { leading(across, columns) } else { None };
        leading.map(|leading| Self { input, transposed: true, leading })
    }
}

/// Products of matrices as calls of the library, which has columns one behind the other.
#[derive(Debug)]
pub(crate) struct Gemm {
    left: Factor,
    right: Factor,
    /// Rows and columns of the result as the library has it, and what is summed.
    extents: [c_int; 3],
    leading: c_int,
    /// Types of factors and results, and what is computed in.
    types: [c_int; 3],
    dtypes: [Dtype; 2],
    /// The products of one call, and further dimensions, a call for each place.
    many: Option<ProductSide>,
    calls: SmallVec<[ProductSide; 4]>,
    /// Addresses of both inputs and the output.
    starts: [usize; 3],
}

impl Gemm {
    /// The calls for a plan; `None` where it is none of products, or these are left to kernels.
    pub(crate) fn of(plan: &LaunchPlan, tf32: bool) -> Option<Self> {
        let product = plan.product()?;
        let (m, n, k) = (product.m, product.n, product.k);
        if m.len.min(n.len) < LEAST {
            return None;
        }
        let (inputs, out) = (plan.program.inputs(), product.out);
        if inputs[0] != inputs[1] {
            return None;
        }
        let types = match (inputs[0], out) {
            (Dtype::F16, Dtype::F16) => [R_16F, R_16F, COMPUTE_32F],
            (Dtype::F16, Dtype::F32) => [R_16F, R_32F, COMPUTE_32F],
            (Dtype::Bf16, Dtype::Bf16) => [R_16BF, R_16BF, COMPUTE_32F],
            (Dtype::Bf16, Dtype::F32) => [R_16BF, R_32F, COMPUTE_32F],
            (Dtype::F32, Dtype::F32) if tf32 => [R_32F, R_32F, COMPUTE_32F_FAST_TF32],
            (Dtype::F32, Dtype::F32) => [R_32F, R_32F, COMPUTE_32F],
            (Dtype::F64, Dtype::F64) => [R_64F, R_64F, COMPUTE_64F],
            (Dtype::C64, Dtype::C64) => [C_32F, C_32F, COMPUTE_32F],
            (Dtype::C128, Dtype::C128) => [C_64F, C_64F, COMPUTE_64F],
            _ => return None,
        };
        // Input 0 has the rows, input 1 the columns; of a result whose rows lie one behind the other, it is the other way round.
        let (rows, columns, [left, right]) = match (m.steps[2], n.steps[2]) {
            (_, 1) => (n, m, [1, 0]),
            (1, _) => (m, n, [0, 1]),
            _ => return None,
        };
        let left = Factor::of(left, (rows.len, rows.steps[left]), (k.len, k.steps[left]))?;
        let right = Factor::of(right, (k.len, k.steps[right]), (columns.len, columns.steps[right]))?;
        let number = |len: usize| c_int::try_from(len).ok();
        let leading = number(usize::try_from(columns.steps[2]).ok()?)?;
        if usize::try_from(leading).ok()? < rows.len {
            return None;
        }
        let extents = [number(rows.len)?, number(columns.len)?, number(k.len)?];
        let mut calls: SmallVec<[ProductSide; 4]> = product.batch.iter().copied().collect();
        let longest = (0..calls.len()).max_by_key(|&d| calls[d].len);
        let many = longest.map(|d| calls.remove(d));
        number(many.map_or(1, |side| side.len))?;
        if calls.iter().map(|side| side.len).product::<usize>() > MOST_CALLS {
            return None;
        }
        let starts = [plan.inputs[0].ptr.addr(), plan.inputs[1].ptr.addr(), plan.outputs[0].ptr.addr()];
        Some(Self { left, right, extents, leading, types, dtypes: [inputs[0], out], many, calls, starts })
    }

    /// Gives the calls to a stream that is prepared; the context is the calling thread's.
    pub(crate) fn give(&self, device: &Shared, stream: &Stream) -> Result<()> {
        let failed = |refused| failed(device, refused);
        let Some(own) = stream.blas.get() else {
            return Err(failed(Refused { call: "cublasCreate_v2", code: ABSENT }));
        };
        let handle = own.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(handle) = handle.as_ref() else {
            return Err(failed(Refused { call: "cublasCreate_v2", code: ABSENT }));
        };
        let mut places: SmallVec<[usize; 4]> = self.calls.iter().map(|_| 0).collect();
        loop {
            // SAFETY: the handle is live and this thread's; the plan's memory has the elements that its extents and strides say.
            unsafe { self.call(handle, &places) }.map_err(failed)?;
            // The next place, the last dimension first.
            let next = (0..places.len()).rev().find(|&d| {
                places[d] += 1;
                let more = places[d] < self.calls[d].len;
                if !more {
                    places[d] = 0;
                }
                more
            });
            if next.is_none() {
                return Ok(());
            }
        }
    }

    /// # Safety
    /// The handle is the calling thread's, the context current; the memory is valid until the call has run.
    unsafe fn call(&self, handle: &Handle, places: &[usize]) -> Result<(), Refused> {
        let [size, out_size] = self.dtypes.map(Dtype::size);
        let start = |operand: usize| {
            let size = if operand == 2 { out_size } else { size };
            let steps =
                self.calls.iter().zip(places).map(|(side, &at)| side.steps[operand] * at.cast_signed());
            let bytes = steps.sum::<isize>() * size.cast_signed();
            std::ptr::with_exposed_provenance_mut::<c_void>(self.starts[operand].wrapping_add_signed(bytes))
        };
        let step = |operand: usize| self.many.map_or(0, |side| side.steps[operand] as c_longlong);
        let count = self.many.map_or(1, |side| c_int::try_from(side.len).unwrap_or(c_int::MAX));
        // One and zero, as the number that is computed in, whose parts are as wide as their place.
        let wide = matches!(self.dtypes[1], Dtype::F64 | Dtype::C128);
        let narrow = ([1.0_f32, 0.0], [0.0_f32; 2]);
        let double = ([1.0_f64, 0.0], [0.0_f64; 2]);
        let (alpha, beta): (*const c_void, *const c_void) = match wide {
            true => (double.0.as_ptr().cast(), double.1.as_ptr().cast()),
            false => (narrow.0.as_ptr().cast(), narrow.1.as_ptr().cast()),
        };
        let transposed = |factor: Factor| if factor.transposed { OP_T } else { OP_N };
        let [rows, columns, summed] = self.extents;
        let [type_in, type_out, compute] = self.types;
        let (left, right) = (self.left, self.right);
        // SAFETY: this function's contract; leading dimensions are no shorter than what they step over (`of`).
        unsafe {
            handle.functions.gemm(
                handle.raw,
                transposed(left),
                transposed(right),
                rows,
                columns,
                summed,
                alpha,
                start(left.input),
                type_in,
                left.leading,
                step(left.input),
                start(right.input),
                type_in,
                right.leading,
                step(right.input),
                beta,
                start(2),
                type_out,
                self.leading,
                step(2),
                count,
                compute,
                GEMM_DEFAULT,
            )
        }
    }
}

impl Shared {
    /// The calls of the library for a plan, where it is one for it.
    pub(crate) fn gemm(&self, plan: &LaunchPlan) -> Option<Gemm> {
        Gemm::of(plan, self.blas.tf32)
    }
}

/// What a call that was refused reports.
fn failed(device: &Shared, refused: Refused) -> Error {
    let Refused { call, code } = refused;
    let (value, help) = match code {
        ABSENT => ("a function or handle that is not there", "install cuBLAS of CUDA 12 or 13"),
        3 => ("CUBLAS_STATUS_ALLOC_FAILED (3)", "free memory of the device"),
        7 => ("CUBLAS_STATUS_INVALID_VALUE (7)", "this is a defect of the engine: please report it"),
        13 => ("CUBLAS_STATUS_EXECUTION_FAILED (13)", "see what was submitted to the device before"),
        14 => ("CUBLAS_STATUS_INTERNAL_ERROR (14)", "see what was submitted to the device before"),
        15 => ("CUBLAS_STATUS_NOT_SUPPORTED (15)", "this is a defect of the engine: please report it"),
        _ => ("", "cuBLAS's documentation of this function says more"),
    };
    let value = if value.is_empty() { format!("code {code}") } else { value.to_owned() };
    // The driver knows more of a device that is lost.
    if let Err(lost) = device.usable_to_look() {
        return lost;
    }
    Error::runtime(call, format!("{value}, for a product of matrices"), "CUBLAS_STATUS_SUCCESS", help)
}
