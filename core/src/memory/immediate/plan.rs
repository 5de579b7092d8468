//! Plans of sorts, searches and the like, run at once.

use super::{MAX_OPERANDS, Memories, hold_idle};
use crate::memory::schedule::{self, Access};
use crate::memory::track::Mode;
use crate::plan::LaunchPlan;
use crate::routes::{self, Route};
use crate::runtime::Device;

/// Runs a plan now, into memory that nobody else knows of yet. Whether it did: not where something is under way on what it
/// reads or a host view of that is open, nor where the device does not compute on the calling thread, or not so much.
pub(crate) fn run(device: &Device, plan: &LaunchPlan, accesses: &[Access]) -> bool {
    let mut memory: Memories<'_> = [None; MAX_OPERANDS + 1];
    let mut reads = 0;
    for access in accesses {
        let at = match access.mode {
            Mode::Write => MAX_OPERANDS,
            Mode::Read if reads < MAX_OPERANDS => {
                reads += 1;
                reads - 1
            }
            Mode::Read => return false,
        };
        memory[at] = Some(&*access.allocation);
    }
    let ours = memory.iter().flatten().all(|allocation| allocation.device() == device);
    if !ours || schedule::check(std::slice::from_ref(plan), accesses).is_err() {
        return false;
    }
    let Some(held) = hold_idle(&memory) else { return false };
    // SAFETY: `check` has found every element that the plan reaches to be in the memory of the accesses, all of which is held:
    // no work is under way on it and no host view open, and none can begin. What else a plan guarantees, the pass that made
    // it does.
    let done = unsafe { device.backend().run_at_once(plan) };
    drop(held);
    if done {
        routes::take(Route::Pass);
    }
    done
}
