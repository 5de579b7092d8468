//! A bit of everything on a queue, against plain Rust: for the stub, which moves bytes, and for cards.

use stridewise_core::backend::{QueueProperties, UsmSupport};
use stridewise_core::memory::UsmMemory;
use stridewise_core::{Device, Error, Event, Queue, Result, Scalar, UsmKind};

/// Lengths of copies: of one byte, below and above what the submitting thread moves, and of what several threads do.
const LENGTHS: [usize; 5] = [1, 1000, 70_000, (1 << 20) + 3, (5 << 20) + 1];

/// Properties of queues.
pub(crate) const QUEUES: [QueueProperties; 4] = [
    QueueProperties { in_order: false, profiling: false },
    QueueProperties { in_order: true, profiling: false },
    QueueProperties { in_order: false, profiling: true },
    QueueProperties { in_order: true, profiling: true },
];

/// Bytes that differ from their neighbours, by a seed.
pub(crate) fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

/// What a scenario finds that is not as it should be.
pub(crate) fn check(right: bool, what: impl std::fmt::Display) -> Result<()> {
    if right { Ok(()) } else { Err(Error::io("scenario", what, "what plain Rust computes", "find out why")) }
}

/// Kinds of memory that a device has.
pub(crate) fn kinds(device: &Device) -> Vec<UsmKind> {
    UsmKind::ALL.into_iter().filter(|kind| device.info().usm(*kind) != UsmSupport::Absent).collect()
}

/// Copies between the host and every kind, and between any two.
pub(crate) fn copies(queue: &Queue, lengths: &[usize]) -> Result<()> {
    let kinds = kinds(queue.device());
    for &len in lengths {
        let data = bytes(len + 8, len as u64);
        for &from in &kinds {
            let first = UsmMemory::new(from, len + 8, queue)?;
            first.copy_from_host(0, &data)?;
            check(first.to_bytes()? == data, format!("{len} bytes to {from} memory and back"))?;
            for &to in &kinds {
                let second = UsmMemory::new(to, len + 8, queue)?;
                second.copy_from_host(0, &vec![7; len + 8])?;
                let copied = queue.memcpy((&second, 3), (&first, 5), len, &[])?;
                let mut expected = vec![7; len + 8];
                expected[3..3 + len].copy_from_slice(&data[5..5 + len]);
                check(second.to_bytes()? == expected, format!("{len} bytes from {from} to {to} memory"))?;
                copied.wait()?;
            }
        }
    }
    Ok(())
}

/// Fills by patterns of every length.
pub(crate) fn fills(queue: &Queue, elements: usize) -> Result<()> {
    let values = [
        Scalar::U8(0x5A),
        Scalar::U16(0x1234),
        Scalar::U32(0x0102_0304),
        Scalar::F64(7.25),
        Scalar::F64(0.0),
        Scalar::C128(stridewise_core::Complex::new(1.5, -2.25)),
    ];
    for kind in kinds(queue.device()) {
        for value in values {
            let size = value.dtype().size();
            let memory = UsmMemory::new(kind, (elements + 2) * size, queue)?;
            memory.copy_from_host(0, &vec![9; memory.bytes()])?;
            queue.fill(&memory, size, value, elements, &[])?;
            let mut expected = vec![9; memory.bytes()];
            for element in expected[size..size + elements * size].chunks_exact_mut(size) {
                element.copy_from_slice(&value.to_bytes()[..size]);
            }
            check(memory.to_bytes()? == expected, format!("{elements} times {value:?} in {kind} memory"))?;
        }
    }
    Ok(())
}

/// Host tasks, barriers, callbacks, and a failure that dependents inherit.
pub(crate) fn events(queue: &Queue) -> Result<()> {
    let memory = UsmMemory::new(UsmKind::Device, 1 << 16, queue)?;
    let filled = queue.fill(&memory, 0, Scalar::U8(1), 1 << 16, &[])?;
    let (sent, received) = std::sync::mpsc::channel();
    let task =
        queue.submit_host_task(move || sent.send(()).map_err(|e| Error::task("t", e, "", "")), &[filled])?;
    let after = queue.fill(&memory, 0, Scalar::U8(2), 1 << 15, &[task])?;
    queue.submit_barrier(&[after])?.wait()?;
    check(received.try_recv().is_ok(), "a task that ran before what depends on it")?;
    let mut expected = vec![2; 1 << 16];
    expected[1 << 15..].fill(1);
    check(memory.to_bytes()? == expected, "fills before and behind a task")?;

    let broken = queue.submit_host_task(|| Err(Error::task("task", "broken", "", "")), &[])?;
    let behind: Event = queue.fill(&memory, 0, Scalar::U8(3), 1 << 16, std::slice::from_ref(&broken))?;
    check(matches!(behind.wait(), Err(Error::Dependency(_))), "a failure that its dependent has")?;
    check(matches!(broken.wait(), Err(Error::Task(_))), "a failure of a task")?;
    // Whoever overwrites all of it inherits nothing.
    queue.fill(&memory, 0, Scalar::U8(4), 1 << 16, &[])?;
    check(memory.to_bytes()? == vec![4; 1 << 16], "a fill of what a failed one left")
}

/// Time stamps in the order of things.
pub(crate) fn stamps(queue: &Queue) -> Result<()> {
    let memory = UsmMemory::new(UsmKind::Device, 1 << 20, queue)?;
    let mut ended = std::time::Duration::ZERO;
    for number in 0..5_u8 {
        let event = queue.fill(&memory, 0, Scalar::U8(number), 1 << 20, &[])?;
        event.wait()?;
        if !queue.properties().profiling {
            return check(event.profiling_info().is_err(), "time stamps that nobody asked for");
        }
        let profile = event.profiling_info()?;
        let ordered = profile.submitted <= profile.started && profile.started <= profile.ended;
        check(ordered && ended <= profile.ended, format!("{profile:?} behind {ended:?}"))?;
        ended = profile.ended;
    }
    Ok(())
}

/// A captured piece that runs several times.
pub(crate) fn replays(queue: &Queue) -> Result<()> {
    let memory = UsmMemory::new(UsmKind::Device, 4096, queue)?;
    let other = UsmMemory::new(UsmKind::Device, 4096, queue)?;
    let (graph, _) = queue.capture(|queue| {
        queue.fill(&memory, 0, Scalar::U32(0x0102_0304), 1024, &[])?;
        queue.memcpy((&other, 0), (&memory, 0), 4096, &[])?;
        queue.fill(&memory, 0, Scalar::C128(stridewise_core::Complex::new(1.5, -2.25)), 128, &[])
    })?;
    let first = [memory.to_bytes()?, other.to_bytes()?];
    for round in 0..5 {
        queue.memset(&memory, 0, round, 4096, &[])?;
        queue.memset(&other, 0, round, 4096, &[])?;
        graph.replay()?;
        check([memory.to_bytes()?, other.to_bytes()?] == first, format!("replay {round}"))?;
    }
    Ok(())
}

/// All of it.
pub(crate) fn program(queue: &Queue, lengths: usize) -> Result<()> {
    copies(queue, &LENGTHS[..lengths])?;
    fills(queue, if lengths > 3 { 300_001 } else { 1001 })?;
    events(queue)?;
    stamps(queue)?;
    replays(queue)?;
    // Nothing waits for this but the queue.
    let memory = UsmMemory::new(UsmKind::Device, 1000, queue)?;
    queue.memset(&memory, 0, 5, 1000, &[])?;
    queue.wait()
}
