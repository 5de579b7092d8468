//! The guard of device memory, for finding host code that touches it.
//!
//! With the guard on, an allocation of kind device is mapped twice: addresses without access, which the engine hands out
//! and computes with, and an accessible *alias* elsewhere, which nobody outside this crate knows. Queues exchange the
//! one for the other in every command ([`redirect`]). Host code that dereferences the address is killed by SIGSEGV, after
//! a message that names the allocation. With the guard off nothing of this costs more than one atomic load per
//! allocation and command.

use std::sync::atomic::{AtomicU8, Ordering};

use stridewise_core::backend::{Command, LaunchPlan, Step, is_switched_on};
use stridewise_core::kernel::KernelArgument;
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Error, Result};

#[cfg(unix)]
pub(crate) use table::{map, resolve, unmap};

/// Switches the guard on before the program's first allocation.
pub(crate) const GUARD_VARIABLE: &str = "STRIDEWISE_GUARD";

const UNDECIDED: u8 = 0;
const OFF: u8 = 1;
const ON: u8 = 2;
static MODE: AtomicU8 = AtomicU8::new(UNDECIDED);

/// Guards device memory of the host, or does not: with the guard, host code that dereferences an address of kind device
/// ends the process with a message, as it would crash beside a real accelerator. To be called before
/// devices are listed or made; else the environment variable `STRIDEWISE_GUARD` decides (`1` is on).
///
/// # Errors
/// [`Error::Value`] when it was decided otherwise already, [`Error::Unsupported`] for a guard on a system without
/// memory protection.
pub fn guard_device_memory(enabled: bool) -> Result<()> {
    if enabled && !cfg!(unix) {
        return Err(Error::unsupported(
            "enabled",
            "true on this system",
            "a Unix system",
            "run the program under the guard on Linux or macOS",
        ));
    }
    let mode = if enabled { ON } else { OFF };
    match MODE.compare_exchange(UNDECIDED, mode, Ordering::AcqRel, Ordering::Acquire) {
        Err(decided) if decided != mode => Err(Error::value(
            "enabled",
            enabled,
            "what the first host device found decided",
            format!(
                "call it before devices are listed or made, or set {GUARD_VARIABLE} for the whole program"
            ),
        )),
        _ => Ok(()),
    }
}

/// Whether the guard is on; decides it for good.
pub(crate) fn enabled() -> bool {
    let mode = MODE.load(Ordering::Acquire);
    if mode != UNDECIDED {
        return mode == ON;
    }
    let wanted = cfg!(unix) && is_switched_on(GUARD_VARIABLE);
    let mode = if wanted { ON } else { OFF };
    // A lost race was decided by another thread.
    MODE.compare_exchange(UNDECIDED, mode, Ordering::AcqRel, Ordering::Acquire)
        .unwrap_or_else(|decided| decided);
    MODE.load(Ordering::Acquire) == ON
}

/// Exchanges guarded addresses for those of their aliases, in all of a command's operands. No sequences come where addresses are guarded
/// (`Capabilities::sequences`).
pub(crate) fn redirect(command: &mut Command) {
    if MODE.load(Ordering::Acquire) != ON {
        return;
    }
    match command {
        Command::Step(step) => redirect_step(step),
        Command::Advise { ptr, .. } => *ptr = resolve(*ptr),
        _ => {}
    }
}

fn redirect_step(step: &mut Step) {
    let redirect = |plan: &mut LaunchPlan| {
        for operand in plan.inputs.iter_mut().chain(&mut plan.outputs) {
            operand.ptr = resolve(operand.ptr);
        }
    };
    match step {
        Step::Launch(plans) => plans.iter_mut().for_each(redirect),
        Step::Stages(stages) => stages.iter_mut().flatten().for_each(redirect),
        Step::Kernel(launch) => {
            for argument in &mut launch.arguments {
                if let KernelArgument::Array { ptr, .. } = argument {
                    *ptr = resolve(*ptr);
                }
            }
        }
        Step::Copy { dst, src, .. } => {
            *dst = resolve(*dst);
            *src = resolve(*src);
        }
        Step::Fill { dst, .. } => *dst = resolve(*dst),
        _ => {}
    }
}

#[cfg(not(unix))]
pub(crate) fn map(_bytes: usize, _align: usize) -> Option<std::ptr::NonNull<u8>> {
    None
}
#[cfg(not(unix))]
pub(crate) unsafe fn unmap(_start: std::ptr::NonNull<u8>) -> bool {
    false
}
#[cfg(not(unix))]
pub(crate) fn resolve(ptr: UsmPtr) -> UsmPtr {
    ptr
}

#[cfg(unix)]
mod table {
    use std::ptr::NonNull;
    use std::sync::PoisonError;

    use stridewise_core::backend::sync::RwLock;

    use super::*;
    use crate::memory;

    /// Guarded allocations in the order of their addresses.
    static TABLE: RwLock<Vec<Guarded>> = RwLock::new(Vec::new());

    #[derive(Clone, Copy)]
    struct Guarded {
        address: usize,
        bytes: usize,
        alias: UsmPtr,
        slot: &'static super::fault::Slot,
    }

    /// Maps guarded memory and returns its address without access.
    pub(crate) fn map(bytes: usize, align: usize) -> Option<NonNull<u8>> {
        super::fault::install();
        let alias = memory::map(bytes, align, true)?;
        let Some(base) = memory::map(bytes, align, false) else {
            // SAFETY: mapped above with this length, and nobody knows it.
            unsafe { memory::unmap(alias, bytes) };
            return None;
        };
        let address = base.as_ptr().addr();
        let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
        if table.try_reserve(1).is_err() {
            // SAFETY: both were mapped above with this length, and nobody knows them.
            unsafe {
                memory::unmap(alias, bytes);
                memory::unmap(base, bytes);
            }
            return None;
        }
        let slot = super::fault::enter(address, bytes);
        let place = table.partition_point(|guarded| guarded.address < address);
        table.insert(place, Guarded { address, bytes, alias: UsmPtr::new(alias.as_ptr()), slot });
        Some(base)
    }

    /// Unmaps memory that [`map`] returned; false where the address is not guarded.
    ///
    /// # Safety
    /// Nothing uses the memory any more.
    pub(crate) unsafe fn unmap(start: NonNull<u8>) -> bool {
        if !enabled() {
            return false;
        }
        let address = start.as_ptr().addr();
        let found = {
            let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
            let found = table.binary_search_by_key(&address, |guarded| guarded.address).ok();
            found.map(|place| {
                let guarded = table.remove(place);
                guarded.slot.clear();
                guarded
            })
        };
        let Some(guarded) = found else { return false };
        // SAFETY: both were mapped with this length by `map`, which put them into the table; they were taken out of it
        // just now, so this happens once, and by the caller's promise nobody uses them.
        unsafe {
            memory::unmap(start, guarded.bytes);
            if let Some(alias) = NonNull::new(guarded.alias.as_ptr()) {
                memory::unmap(alias, guarded.bytes);
            }
        }
        true
    }

    /// The accessible address of a guarded one, which may lie inside its allocation; any other address itself.
    pub(crate) fn resolve(ptr: UsmPtr) -> UsmPtr {
        if MODE.load(Ordering::Acquire) != ON {
            return ptr;
        }
        let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
        let behind = table.partition_point(|guarded| guarded.address <= ptr.addr());
        match table[..behind].last() {
            Some(guarded) if ptr.addr() - guarded.address < guarded.bytes => {
                guarded.alias.byte_offset((ptr.addr() - guarded.address).cast_signed())
            }
            _ => ptr,
        }
    }
}

#[cfg(unix)]
mod fault;
