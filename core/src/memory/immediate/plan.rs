//! Plans of sorts, searches and the like, run at once.

use super::{MAX_OPERANDS, Memories, Source, hold_idle};
use crate::memory::reach;
use crate::memory::track::Mode;
use crate::plan::LaunchPlan;
use crate::routes::{self, Route};
use crate::runtime::Device;

/// Runs a plan now, whose inputs and output are in the elements of these sources. Whether it did: not where something is under
/// way on them, is recorded to read what is written, or a host view is open, nor where the device does not compute on the
/// calling thread, or not so much.
pub(crate) fn run(device: &Device, plan: &LaunchPlan, inputs: &[Source<'_>], output: Source<'_>) -> bool {
    if inputs.len() > MAX_OPERANDS {
        return false;
    }
    let target = &**output.allocation;
    if target.is_read_only() || !target.pending_reads.is_empty() {
        return false;
    }
    let mut memory: Memories<'_> = [None; MAX_OPERANDS + 1];
    for (memory, input) in memory.iter_mut().zip(inputs) {
        *memory = Some(&**input.allocation);
    }
    memory[MAX_OPERANDS] = Some(target);
    if memory.iter().flatten().any(|allocation| allocation.device() != device) {
        return false;
    }
    let within = reach::each_operand(plan, |operand| {
        let Source { allocation, layout } = match operand.mode {
            Mode::Read => inputs[operand.number],
            Mode::Write => output,
        };
        let is_within = operand.is_within(&plan.dims, allocation, &layout.byte_range(operand.size));
        if is_within { Ok(()) } else { Err(()) }
    });
    if within.is_err() {
        return false;
    }
    let Some(immediate) = device.backend().immediate() else { return false };
    let Some(held) = hold_idle(&memory, || "pass") else { return false };
    // SAFETY: every element that the plan reaches was found to be in the memory of its operand, all of which is held: no work is
    // under way on it and no host view open, and none can begin. What else a plan guarantees, the pass that made it does.
    let done = unsafe { immediate.run(plan) };
    drop(held);
    if done {
        routes::take(Route::Pass);
    }
    done
}
