//! How much may be under way.

/// How much may be under way on a device. Who submits more waits for the oldest command first, and on the host takes part
/// in it, so that a loop that never waits neither collects memory nor leaves work behind that somebody else then waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backlog {
    /// Commands at most.
    pub commands: usize,
    /// Bytes at most that they read and write, with what is read several times; two commands may be under way in any case.
    pub bytes: usize,
}

/// Commands of a device at most, which bounds what they keep in memory: on a GPU a few milliseconds of launches.
const COMMANDS: usize = 1024;
/// What part of its memory the commands of a device may touch, and at least how much.
const MEMORY_PART: usize = 64;
const BYTES: usize = 256 << 20;

impl Backlog {
    /// No bound.
    pub const UNBOUNDED: Self = Self { commands: usize::MAX, bytes: usize::MAX };

    /// What suits a device that has so many bytes of memory of its own, such as a GPU.
    #[must_use]
    pub fn of_memory(bytes: u64) -> Self {
        let memory = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { commands: COMMANDS, bytes: BYTES.max(memory / MEMORY_PART) }
    }
}
