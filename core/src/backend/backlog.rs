//! How much may be under way.

use super::{Aspect, DeviceInfo, DeviceType};

/// How much may be under way on a device. Who submits more waits for the oldest command first, and on the host takes part
/// in it, so that a loop that never waits neither collects memory nor leaves work behind that somebody else then waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// Commands at most.
    pub commands: usize,
    /// Bytes at most that they read and write, with what is read several times; two commands may be under way in any case.
    pub bytes: usize,
}

/// Commands of a host device: some for every thread, since what is short is computed by one.
const HOST_COMMANDS: usize = 16;
const HOST_COMMANDS_PER_THREAD: usize = 8;
/// Bytes of a host device for every thread: some milliseconds of work.
const HOST_BYTES_PER_THREAD: usize = 32 << 20;
/// Commands of another device: on a GPU a few milliseconds of launches.
const COMMANDS: usize = 1024;
/// What part of its memory the commands of a device may touch, and at least how much.
const MEMORY_PART: usize = 64;
const BYTES: usize = 256 << 20;

impl Backlog {
    /// No bound.
    pub const UNBOUNDED: Self = Self { commands: usize::MAX, bytes: usize::MAX };

    /// What suits a device.
    #[must_use]
    pub fn of(info: &DeviceInfo) -> Self {
        let threads = info.limits.compute_units.max(1);
        if info.device_type == DeviceType::Cpu && info.has(Aspect::HostDebuggable) {
            return Self {
                commands: HOST_COMMANDS + threads.saturating_mul(HOST_COMMANDS_PER_THREAD),
                bytes: threads.saturating_mul(HOST_BYTES_PER_THREAD),
            };
        }
        let memory = usize::try_from(info.limits.global_memory_bytes).unwrap_or(usize::MAX);
        Self { commands: COMMANDS, bytes: BYTES.max(memory / MEMORY_PART) }
    }
}
