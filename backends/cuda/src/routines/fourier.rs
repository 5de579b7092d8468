//! Fourier transforms of rows, by cuFFT.

use std::ffi::{c_int, c_longlong, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use stridewise_core::backend::{Routine, RoutineKind};
use stridewise_core::{Dtype, Error, Result};

use super::{Libraries, failed, missing};
use crate::api::RawStream;
use crate::device::Shared;
use crate::handle::{Context, count};
use crate::kernels::scratch;
use crate::library::Library;
use crate::stream::Stream;
use crate::symbols::{Refused, table};

const LIBRARY: Library = Library {
    name: "cuFFT",
    #[cfg(not(windows))]
    files: &[&["libcufft.so.12", "libcufft.so.11"]],
    #[cfg(windows)]
    files: &[&["cufft64_12.dll", "cufft64_11.dll"]],
    wheel: "nvidia/cufft/lib",
};
const INSTALL: &str = "pip install nvidia-cufft (for a driver of CUDA 12: nvidia-cufft-cu12)";

/// Numbers of `cufft.h`.
const C2C: c_int = 0x29;
const R2C: c_int = 0x2a;
const C2R: c_int = 0x2c;
const Z2Z: c_int = 0x69;
const D2Z: c_int = 0x6a;
const Z2D: c_int = 0x6c;
const FORWARD: c_int = -1;
const INVERSE: c_int = 1;

type RawPlan = c_int;

table! {
    /// The library's functions.
    Functions {
        create = cufftCreate(plan: *mut RawPlan);
        destroy = cufftDestroy(plan: RawPlan);
        set_auto_allocation = cufftSetAutoAllocation(plan: RawPlan, automatic: c_int);
        make = cufftMakePlanMany64(
            plan: RawPlan, rank: c_int, extents: *mut c_longlong,
            input: *mut c_longlong, input_stride: c_longlong, input_distance: c_longlong,
            output: *mut c_longlong, output_stride: c_longlong, output_distance: c_longlong,
            sort: c_int, count: c_longlong, work_bytes: *mut usize,
        );
        set_stream = cufftSetStream(plan: RawPlan, stream: RawStream);
        set_work = cufftSetWorkArea(plan: RawPlan, memory: *mut c_void);
        complex_single = cufftExecC2C(plan: RawPlan, input: *mut c_void, output: *mut c_void, direction: c_int);
        complex_double = cufftExecZ2Z(plan: RawPlan, input: *mut c_void, output: *mut c_void, direction: c_int);
        real_single = cufftExecR2C(plan: RawPlan, input: *mut c_void, output: *mut c_void);
        real_double = cufftExecD2Z(plan: RawPlan, input: *mut c_void, output: *mut c_void);
        inverse_single = cufftExecC2R(plan: RawPlan, input: *mut c_void, output: *mut c_void);
        inverse_double = cufftExecZ2D(plan: RawPlan, input: *mut c_void, output: *mut c_void);
    }
}

/// A plan of the library's, whose memory for results on the way is that of the stream which it is given to.
pub(crate) struct Plan {
    functions: Arc<Functions>,
    context: Arc<Context>,
    raw: RawPlan,
    work_bytes: usize,
    routine: Routine,
    /// Of one thread at a time, as a plan has one stream.
    turn: Mutex<()>,
}

impl Plan {
    pub(super) fn new(device: &Shared, libraries: &Libraries, routine: Routine) -> Result<Self> {
        // SAFETY: a library of cuFFT's name has cuFFT's functions, as cufft.h declares them; it stays loaded.
        let functions = libraries.fourier.get(&LIBRARY, |find| unsafe { Functions::of(find) });
        let functions = functions.ok_or_else(|| missing(&LIBRARY, INSTALL))?;
        let failed = |refused| failed(device, refused, "a plan of a transform");
        let wide = |len: usize| {
            let help = "transform fewer points at a time";
            c_longlong::try_from(len).map_err(|_| Error::overflow("n", len, "a number of 64 bits", help))
        };
        let (points, rows) = (wide(routine.m)?, wide(routine.count)?);
        let half = points / 2 + 1;
        let double = routine.dtype == Dtype::C128;
        let (sort, from, to) = match routine.kind {
            RoutineKind::FromReal => (if double { D2Z } else { R2C }, points, half),
            RoutineKind::ToReal => (if double { Z2D } else { C2R }, half, points),
            _ => (if double { Z2Z } else { C2C }, points, points),
        };
        let _current = device.context.enter().map_err(failed)?;
        let (mut raw, mut work_bytes) = (0, 0);
        // SAFETY: the place is a live number; the context is current.
        unsafe { functions.create(&raw mut raw) }.map_err(failed)?;
        count(true);
        let mut plan = Self {
            functions: Arc::clone(functions),
            context: Arc::clone(&device.context),
            raw,
            work_bytes: 0,
            routine,
            turn: Mutex::new(()),
        };
        let (mut extents, mut input, mut output) = ([points], [from], [to]);
        // SAFETY: the plan is live; the lists have as many numbers as dimensions, one; the place is a live number.
        let made = unsafe {
            functions.set_auto_allocation(raw, 0).and_then(|()| {
                functions.make(
                    raw,
                    1,
                    extents.as_mut_ptr(),
                    input.as_mut_ptr(),
                    1,
                    from,
                    output.as_mut_ptr(),
                    1,
                    to,
                    sort,
                    rows,
                    &raw mut work_bytes,
                )
            })
        };
        made.map_err(failed)?;
        plan.work_bytes = work_bytes;
        Ok(plan)
    }

    pub(super) fn give(&self, device: &Shared, stream: &Stream, addresses: &[usize]) -> Result<()> {
        let failed = |refused| failed(device, refused, "a transform");
        let &[input, output] = addresses else {
            return Err(Error::value("args", addresses.len(), "2 arguments", "give points and results"));
        };
        let pointer = |address: usize| std::ptr::with_exposed_provenance_mut::<c_void>(address);
        let (input, output) = (pointer(input), pointer(output));
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the plan is live, and this thread's.
        unsafe { self.functions.set_stream(self.raw, stream.object.raw()) }.map_err(failed)?;
        // Held until the transform is in the stream.
        let block = scratch(device, stream, self.work_bytes.max(1))?;
        // SAFETY: as above; the memory has as many bytes as the plan asks for, in the order of the stream.
        unsafe { self.functions.set_work(self.raw, pointer(block.start())) }.map_err(failed)?;
        self.run(input, output).map_err(failed)
    }

    fn run(&self, input: *mut c_void, output: *mut c_void) -> Result<(), Refused> {
        let (functions, raw) = (&self.functions, self.raw);
        let double = self.routine.dtype == Dtype::C128;
        let direction = if self.routine.kind == RoutineKind::Inverse { INVERSE } else { FORWARD };
        // SAFETY: the plan is live; both have as many elements as it says (what the routine touches).
        unsafe {
            match (self.routine.kind, double) {
                (RoutineKind::FromReal, false) => functions.real_single(raw, input, output),
                (RoutineKind::FromReal, true) => functions.real_double(raw, input, output),
                (RoutineKind::ToReal, false) => functions.inverse_single(raw, input, output),
                (RoutineKind::ToReal, true) => functions.inverse_double(raw, input, output),
                (_, false) => functions.complex_single(raw, input, output, direction),
                (_, true) => functions.complex_double(raw, input, output, direction),
            }
        }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the plan is this object's own, and is given up once, here.
        self.context.give_up(|| unsafe { self.functions.destroy(self.raw) });
    }
}
