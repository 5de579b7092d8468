//! Decompositions of matrices by cuSOLVER, one matrix after the other.

use std::ffi::{c_int, c_schar, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use stridewise_core::backend::{Routine, RoutineKind};
use stridewise_core::memory::heap;
use stridewise_core::{Dtype, Error, Result};

use super::{Libraries, failed, missing};
use crate::api::RawStream;
use crate::device;
use crate::handle::{Context, count};
use crate::kernels::scratch;
use crate::library::Library;
use crate::stream::Stream;
use crate::symbols::{Refused, table};

const LIBRARY: Library = Library {
    name: "cuSOLVER",
    #[cfg(not(windows))]
    files: &[&["libcusolver.so.12", "libcusolver.so.11"]],
    #[cfg(windows)]
    files: &[&["cusolver64_12.dll", "cusolver64_11.dll"]],
    wheel: "nvidia/cusolver/lib",
};
const INSTALL: &str = "pip install nvidia-cusolver (for a driver of CUDA 12: nvidia-cusolver-cu12)";

/// Numbers of `library_types.h`, `cublas_api.h` and `cusolverDn.h`.
const R_32F: c_int = 0;
const R_64F: c_int = 1;
const C_32F: c_int = 4;
const C_64F: c_int = 5;
const LOWER: c_int = 0;
const OP_N: c_int = 0;

type Raw = *mut c_void;
type Memory = *mut c_void;

table! {
    /// The library's functions.
    Functions {
        create = cusolverDnCreate(handle: *mut Raw);
        destroy = cusolverDnDestroy(handle: Raw);
        set_stream = cusolverDnSetStream(handle: Raw, stream: RawStream);
        create_params = cusolverDnCreateParams(params: *mut Raw);
        destroy_params = cusolverDnDestroyParams(params: Raw);

        cholesky_size = cusolverDnXpotrf_bufferSize(
            handle: Raw, params: Raw, triangle: c_int, n: i64, a_type: c_int, a: Memory, lda: i64,
            compute: c_int, on_device: *mut usize, on_host: *mut usize,
        );
        cholesky = cusolverDnXpotrf(
            handle: Raw, params: Raw, triangle: c_int, n: i64, a_type: c_int, a: Memory, lda: i64,
            compute: c_int, work: Memory, work_bytes: usize, host: Memory, host_bytes: usize, info: Memory,
        );
        lu_size = cusolverDnXgetrf_bufferSize(
            handle: Raw, params: Raw, m: i64, n: i64, a_type: c_int, a: Memory, lda: i64,
            compute: c_int, on_device: *mut usize, on_host: *mut usize,
        );
        lu = cusolverDnXgetrf(
            handle: Raw, params: Raw, m: i64, n: i64, a_type: c_int, a: Memory, lda: i64, pivots: Memory,
            compute: c_int, work: Memory, work_bytes: usize, host: Memory, host_bytes: usize, info: Memory,
        );
        solve = cusolverDnXgetrs(
            handle: Raw, params: Raw, transposed: c_int, n: i64, sides: i64, a_type: c_int, a: Memory, lda: i64,
            pivots: Memory, b_type: c_int, b: Memory, ldb: i64, info: Memory,
        );
        qr_size = cusolverDnXgeqrf_bufferSize(
            handle: Raw, params: Raw, m: i64, n: i64, a_type: c_int, a: Memory, lda: i64, tau_type: c_int, tau: Memory,
            compute: c_int, on_device: *mut usize, on_host: *mut usize,
        );
        qr = cusolverDnXgeqrf(
            handle: Raw, params: Raw, m: i64, n: i64, a_type: c_int, a: Memory, lda: i64, tau_type: c_int, tau: Memory,
            compute: c_int, work: Memory, work_bytes: usize, host: Memory, host_bytes: usize, info: Memory,
        );
        eigen_size = cusolverDnXsyevd_bufferSize(
            handle: Raw, params: Raw, vectors: c_int, triangle: c_int, n: i64, a_type: c_int, a: Memory, lda: i64,
            w_type: c_int, w: Memory, compute: c_int, on_device: *mut usize, on_host: *mut usize,
        );
        eigen = cusolverDnXsyevd(
            handle: Raw, params: Raw, vectors: c_int, triangle: c_int, n: i64, a_type: c_int, a: Memory, lda: i64,
            w_type: c_int, w: Memory, compute: c_int,
            work: Memory, work_bytes: usize, host: Memory, host_bytes: usize, info: Memory,
        );
        singular_size = cusolverDnXgesvd_bufferSize(
            handle: Raw, params: Raw, left: c_schar, right: c_schar, m: i64, n: i64, a_type: c_int, a: Memory, lda: i64,
            s_type: c_int, s: Memory, u_type: c_int, u: Memory, ldu: i64, v_type: c_int, v: Memory, ldv: i64,
            compute: c_int, on_device: *mut usize, on_host: *mut usize,
        );
        singular = cusolverDnXgesvd(
            handle: Raw, params: Raw, left: c_schar, right: c_schar, m: i64, n: i64, a_type: c_int, a: Memory, lda: i64,
            s_type: c_int, s: Memory, u_type: c_int, u: Memory, ldu: i64, v_type: c_int, v: Memory, ldv: i64,
            compute: c_int, work: Memory, work_bytes: usize, host: Memory, host_bytes: usize, info: Memory,
        );
        basis_size_f32 = cusolverDnSorgqr_bufferSize(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory, elements: *mut c_int,
        );
        basis_f32 = cusolverDnSorgqr(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory,
            work: Memory, elements: c_int, info: Memory,
        );
        basis_size_f64 = cusolverDnDorgqr_bufferSize(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory, elements: *mut c_int,
        );
        basis_f64 = cusolverDnDorgqr(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory,
            work: Memory, elements: c_int, info: Memory,
        );
        basis_size_c64 = cusolverDnCungqr_bufferSize(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory, elements: *mut c_int,
        );
        basis_c64 = cusolverDnCungqr(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory,
            work: Memory, elements: c_int, info: Memory,
        );
        basis_size_c128 = cusolverDnZungqr_bufferSize(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory, elements: *mut c_int,
        );
        basis_c128 = cusolverDnZungqr(
            handle: Raw, m: c_int, n: c_int, k: c_int, a: Memory, lda: c_int, tau: Memory,
            work: Memory, elements: c_int, info: Memory,
        );
    }
}

/// The handle of a device.
#[derive(Default)]
pub(super) struct Shared(Mutex<Option<Handle>>);

struct Handle {
    functions: Arc<Functions>,
    context: Arc<Context>,
    raw: Raw,
    params: Raw,
}
// SAFETY: a handle may be used by any thread, one at a time (cuSOLVER, "Thread safety").
unsafe impl Send for Handle {}

impl Handle {
    fn new(functions: &Arc<Functions>, context: &Arc<Context>) -> Result<Self, Refused> {
        let null = std::ptr::null_mut();
        let (mut raw, mut params) = (null, null);
        // SAFETY: the place is a live pointer; the context is current.
        unsafe { functions.create(&raw mut raw) }?;
        count(true);
        let mut handle =
            Self { functions: Arc::clone(functions), context: Arc::clone(context), raw, params: null };
        // SAFETY: as above.
        unsafe { functions.create_params(&raw mut params) }?;
        handle.params = params;
        Ok(handle)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.context.give_up(|| {
            // SAFETY: both are this object's own, and are given up once, here.
            unsafe {
                if !self.params.is_null() {
                    let _ = self.functions.destroy_params(self.params);
                }
                self.functions.destroy(self.raw)
            }
        });
    }
}

/// A decomposition, as calls of the library.
pub(crate) struct Call {
    functions: Arc<Functions>,
    routine: Routine,
    /// Types of matrices, and of real numbers.
    types: [c_int; 2],
    m: i64,
    n: i64,
}

/// Bytes that a call needs on the way, of the device and of the host.
#[derive(Clone, Copy, Default)]
struct Work {
    device: usize,
    host: usize,
}

fn pointer(address: usize) -> Memory {
    std::ptr::with_exposed_provenance_mut(address)
}

impl Call {
    pub(super) fn new(libraries: &Libraries, routine: Routine) -> Result<Self> {
        // SAFETY: a library of cuSOLVER's name has cuSOLVER's functions, as cusolverDn.h declares them; it stays loaded.
        let functions = libraries.solver.get(&LIBRARY, |find| unsafe { Functions::of(find) });
        let functions = Arc::clone(functions.ok_or_else(|| missing(&LIBRARY, INSTALL))?);
        let types = match routine.dtype {
            Dtype::F32 => [R_32F; 2],
            Dtype::F64 => [R_64F; 2],
            Dtype::C64 => [C_32F, R_32F],
            _ => [C_64F, R_64F],
        };
        // Some of the functions count in 32 bits.
        let number = |extent: usize| {
            let help = "decompose smaller matrices";
            let narrow = c_int::try_from(extent);
            narrow.map(i64::from).map_err(|_| Error::overflow("x", extent, "an extent of 32 bits", help))
        };
        Ok(Self { functions, routine, types, m: number(routine.m)?, n: number(routine.n)? })
    }

    pub(super) fn give(&self, device: &device::Shared, stream: &Stream, addresses: &[usize]) -> Result<()> {
        let failed = |refused| failed(device, refused, "a decomposition");
        let touches = self.routine.touches().unwrap_or_default();
        if touches.len() != addresses.len() {
            let expected = format!("{} arguments", touches.len());
            return Err(Error::value("args", addresses.len(), expected, "give those of the routine"));
        }
        let mut handle = device.libraries.handle.0.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &mut *handle {
            Some(handle) => handle,
            none => none.insert(Handle::new(&self.functions, &device.context).map_err(failed)?),
        };
        // SAFETY: both are live, of one context; this thread has the handle.
        unsafe { self.functions.set_stream(handle.raw, stream.object.raw()) }.map_err(failed)?;
        let mut places: Vec<usize> = addresses.to_vec();
        let work = self.needs(handle, &places).map_err(failed)?;
        // Held until all calls are in the stream.
        let block = scratch(device, stream, work.device.max(1))?;
        let mut host = heap::zeroed::<u8>("work", work.host)?;
        for _ in 0..self.routine.count {
            self.run(handle, &places, block.start(), work, &mut host).map_err(failed)?;
            // Each has its part of every argument.
            for (place, bytes) in places.iter_mut().zip(&touches) {
                *place += bytes / self.routine.count;
            }
        }
        Ok(())
    }

    /// Columns of an orthonormal basis.
    fn narrow(&self) -> [c_int; 3] {
        // They were looked at in `new`.
        let number = |extent: i64| c_int::try_from(extent).unwrap_or(c_int::MAX);
        [number(self.m), number(self.m.min(self.n)), number(self.m)]
    }

    fn jobs(&self) -> (c_schar, c_schar) {
        let job = |letter: u8| letter.cast_signed();
        match self.routine.kind {
            RoutineKind::SingularThin => (job(b'S'), job(b'S')),
            RoutineKind::SingularFull => (job(b'A'), job(b'A')),
            _ => (job(b'N'), job(b'N')),
        }
    }

    /// U and Vᴴ among arguments; nothing where they are not wanted.
    fn bases(&self, places: &[usize]) -> (Memory, Memory) {
        match self.routine.kind {
            RoutineKind::SingularValues => (pointer(0), pointer(0)),
            _ => (pointer(places[2]), pointer(places[3])),
        }
    }

    fn needs(&self, handle: &Handle, places: &[usize]) -> Result<Work, Refused> {
        let (f, raw, params, m, n) = (&self.functions, handle.raw, handle.params, self.m, self.n);
        let [ty, real] = self.types;
        let at = |number: usize| pointer(places[number]);
        let mut work = Work::default();
        let (device, host) = (&raw mut work.device, &raw mut work.host);
        use RoutineKind as Kind;
        // SAFETY: the handle and its parameters are live; the places are live numbers; nothing of matrices is accessed.
        unsafe {
            match self.routine.kind {
                Kind::Cholesky => f.cholesky_size(raw, params, LOWER, m, ty, at(0), m, ty, device, host)?,
                Kind::Lu => f.lu_size(raw, params, m, m, ty, at(0), m, ty, device, host)?,
                Kind::Qr => f.qr_size(raw, params, m, n, ty, at(0), m, ty, at(1), ty, device, host)?,
                Kind::Eigenvalues | Kind::Eigen => {
                    let vectors = c_int::from(self.routine.kind == Kind::Eigen);
                    f.eigen_size(
                        raw,
                        params,
                        vectors,
                        LOWER,
                        m,
                        ty,
                        at(0),
                        m,
                        real,
                        at(1),
                        ty,
                        device,
                        host,
                    )?;
                }
                Kind::SingularValues | Kind::SingularThin | Kind::SingularFull => {
                    let ((left, right), (u, v)) = (self.jobs(), self.bases(places));
                    f.singular_size(
                        raw,
                        params,
                        left,
                        right,
                        m,
                        n,
                        ty,
                        at(0),
                        m,
                        real,
                        at(1),
                        ty,
                        u,
                        m,
                        ty,
                        v,
                        n,
                        ty,
                        device,
                        host,
                    )?;
                }
                Kind::Basis => {
                    let ([m, k, lda], mut elements) = (self.narrow(), 0);
                    let place = &raw mut elements;
                    match self.routine.dtype {
                        Dtype::F32 => f.basis_size_f32(raw, m, k, k, at(0), lda, at(1), place)?,
                        Dtype::F64 => f.basis_size_f64(raw, m, k, k, at(0), lda, at(1), place)?,
                        Dtype::C64 => f.basis_size_c64(raw, m, k, k, at(0), lda, at(1), place)?,
                        _ => f.basis_size_c128(raw, m, k, k, at(0), lda, at(1), place)?,
                    }
                    work.device = usize::try_from(elements).unwrap_or(0) * self.routine.dtype.size();
                }
                _ => {}
            }
        }
        Ok(work)
    }

    fn run(
        &self,
        handle: &Handle,
        places: &[usize],
        block: usize,
        work: Work,
        host: &mut [u8],
    ) -> Result<(), Refused> {
        let (f, raw, params, m, n) = (&self.functions, handle.raw, handle.params, self.m, self.n);
        let [ty, real] = self.types;
        let at = |number: usize| pointer(places[number]);
        let (device, host, host_bytes) = (pointer(block), host.as_mut_ptr().cast::<c_void>(), work.host);
        let bytes = work.device;
        use RoutineKind as Kind;
        // SAFETY: the handle and its parameters are live; arguments have as many bytes as the routine touches, and there is as much memory
        // on the way as the library asks for (`needs`), which nobody else uses before the stream has come so far.
        unsafe {
            match self.routine.kind {
                Kind::Cholesky => f.cholesky(
                    raw,
                    params,
                    LOWER,
                    m,
                    ty,
                    at(0),
                    m,
                    ty,
                    device,
                    bytes,
                    host,
                    host_bytes,
                    at(1),
                ),
                Kind::Lu => {
                    f.lu(raw, params, m, m, ty, at(0), m, at(1), ty, device, bytes, host, host_bytes, at(2))
                }
                Kind::Solve => f.solve(raw, params, OP_N, m, n, ty, at(0), m, at(1), ty, at(2), m, at(3)),
                Kind::Qr => f.qr(
                    raw,
                    params,
                    m,
                    n,
                    ty,
                    at(0),
                    m,
                    ty,
                    at(1),
                    ty,
                    device,
                    bytes,
                    host,
                    host_bytes,
                    at(2),
                ),
                Kind::Eigenvalues | Kind::Eigen => {
                    let vectors = c_int::from(self.routine.kind == Kind::Eigen);
                    f.eigen(
                        raw,
                        params,
                        vectors,
                        LOWER,
                        m,
                        ty,
                        at(0),
                        m,
                        real,
                        at(1),
                        ty,
                        device,
                        bytes,
                        host,
                        host_bytes,
                        at(2),
                    )
                }
                Kind::SingularValues | Kind::SingularThin | Kind::SingularFull => {
                    let ((left, right), (u, v)) = (self.jobs(), self.bases(places));
                    let info = at(places.len() - 1);
                    f.singular(
                        raw,
                        params,
                        left,
                        right,
                        m,
                        n,
                        ty,
                        at(0),
                        m,
                        real,
                        at(1),
                        ty,
                        u,
                        m,
                        ty,
                        v,
                        n,
                        ty,
                        device,
                        bytes,
                        host,
                        host_bytes,
                        info,
                    )
                }
                Kind::Basis => {
                    let [m, k, lda] = self.narrow();
                    let elements = c_int::try_from(bytes / self.routine.dtype.size()).unwrap_or(c_int::MAX);
                    match self.routine.dtype {
                        Dtype::F32 => f.basis_f32(raw, m, k, k, at(0), lda, at(1), device, elements, at(2)),
                        Dtype::F64 => f.basis_f64(raw, m, k, k, at(0), lda, at(1), device, elements, at(2)),
                        Dtype::C64 => f.basis_c64(raw, m, k, k, at(0), lda, at(1), device, elements, at(2)),
                        _ => f.basis_c128(raw, m, k, k, at(0), lda, at(1), device, elements, at(2)),
                    }
                }
                _ => Ok(()),
            }
        }
    }
}
