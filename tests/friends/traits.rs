//! What the types promise by their traits, at compile time.

use std::panic::{RefUnwindSafe, UnwindSafe};

use stridewise::{
    Array, Complex, Context, Device, Error, Event, EventFuture, HostView, Queue, UsmArray, UsmMemory, f16,
};

/// Handed to another thread, used by several, and used again after a panic.
const fn is_robust<T: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin>() {}

const _: () = {
    is_robust::<Array<f32>>();
    is_robust::<Array<bool>>();
    is_robust::<Array<f16>>();
    is_robust::<Array<Complex<f64>>>();
    is_robust::<UsmArray>();
    is_robust::<UsmMemory>();
    is_robust::<Queue>();
    is_robust::<Device>();
    is_robust::<Context>();
    is_robust::<Event>();
    is_robust::<EventFuture>();
    is_robust::<Error>();
    is_robust::<HostView<'static, f32>>();
};
