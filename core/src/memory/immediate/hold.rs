//! Holding the memory that small work touches.

use super::MAX_OPERANDS;
use crate::memory::allocation::Allocation;
use crate::memory::track::{HeldIdle, Mode, Refusal};
use crate::observe;

/// Holds the tracks of allocations, on none of which work may be under way or a host view open. Tracks that others have are
/// not waited for while any is held, so that their order does not matter: `None`, too, where somebody has one for long. `name`: what the
/// work is called by who looks.
#[inline(always)]
pub(super) fn hold_idle<'a>(memory: &Memories<'a>, name: impl FnOnce() -> &'static str) -> Option<Held<'a>> {
    let seen = if observe::is_on() { Some((name(), observe::now())) } else { None };
    let tracks = match try_hold_idle(memory) {
        Ok(held) => held,
        Err(refusal) => hold_later(memory, refusal)?,
    };
    Some(Held { _tracks: tracks, seen })
}

/// Memory that is held, and where somebody looks, what the work is called and when it began.
pub(super) struct Held<'a> {
    _tracks: Tracks<'a>,
    seen: Option<(&'static str, u64)>,
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some((name, begin)) = self.seen {
            observe::done_at_once(name, begin);
        }
    }
}

/// How often tracks that others have are asked for again: a bound, for others may go on. Who finds them held for longer submits,
/// which waits.
const HOLD_ROUNDS: usize = 100;

#[cold]
#[inline(never)]
fn hold_later<'a>(memory: &Memories<'a>, mut refusal: Refusal) -> Option<Tracks<'a>> {
    for _ in 0..HOLD_ROUNDS {
        match refusal {
            Refusal::Held => std::hint::spin_loop(),
            // What is over may only not have been forgotten.
            Refusal::Busy => {
                if !memory.iter().flatten().all(|allocation| allocation.becomes_idle()) {
                    return None;
                }
            }
        }
        match try_hold_idle(memory) {
            Ok(held) => return Some(held),
            Err(again) => refusal = again,
        }
    }
    None
}

/// What is touched: memory of operands, which is read, and at last of the target.
pub(super) type Memories<'a> = [Option<&'a Allocation>; MAX_OPERANDS + 1];
type Tracks<'a> = [Option<HeldIdle<'a>>; MAX_OPERANDS + 1];

#[inline(always)]
fn try_hold_idle<'a>(memory: &Memories<'a>) -> std::result::Result<Tracks<'a>, Refusal> {
    let mut held: Tracks<'a> = [const { None }; MAX_OPERANDS + 1];
    for (k, hold) in held.iter_mut().enumerate() {
        let Some(next) = memory[k] else { continue };
        // Each once.
        if !memory[..k].iter().flatten().any(|earlier| std::ptr::eq(*earlier, next)) {
            let target = memory[MAX_OPERANDS].is_some_and(|target| std::ptr::eq(target, next));
            *hold = Some(next.hold_idle(if target { Mode::Write } else { Mode::Read })?);
        }
    }
    Ok(held)
}
