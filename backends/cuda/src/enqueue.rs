//! Commands as the driver's commands: kernels, copies, fills, hints.
//!
//! A command is one or more calls of the driver on one stream. Where a later one is refused, the earlier ones are waited for, so that
//! a failure always means that nothing is under way.

use std::sync::Arc;

use stridewise_core::backend::{Advice, Command, Event, Step};
use stridewise_core::memory::UsmPtr;
use stridewise_core::{Error, Result};

use crate::clock::Stamps;
use crate::device::Shared;
use crate::event::Native;
use crate::graph::{Graph, Known};
use crate::kernels::{self, Ready};
use crate::memory::Place;
use crate::queue::as_own;
use crate::stream::Stream;
use crate::symbols::Refused;
use crate::{module, transfer};

/// Bytes of a pattern of several words that are written word by word; longer ranges are copied from those.
const SEED_BYTES: usize = 1 << 16;

/// Gives a command to the driver whose kernels are compiled, behind events of other streams: `None` where one of them is not, and
/// nothing was done.
pub(crate) fn enqueue_known(
    device: &Arc<Shared>,
    stream: &Arc<Stream>,
    command: &Command,
    waits: &[Arc<dyn Event>],
    profiling: bool,
) -> Result<Option<Native>> {
    let ready = kernels::known(device, stream, command)?;
    ready.map(|ready| enqueue_ready(device, stream, &ready, waits, profiling)).transpose()
}

/// Gives a command to the driver, behind events of other streams, and compiles what is missing of its kernels first.
pub(crate) fn enqueue(
    device: &Arc<Shared>,
    stream: &Arc<Stream>,
    command: &Command,
    waits: &[Arc<dyn Event>],
    profiling: bool,
) -> Result<Native> {
    let ready = match recorded(device, command)? {
        Some(graph) => Ready::Graph(graph),
        None => kernels::compiled(device, stream, command)?,
    };
    enqueue_ready(device, stream, &ready, waits, profiling)
}

/// The graph of a sequence that is submitted again; `None` where it is to be given command by command.
fn recorded(device: &Arc<Shared>, command: &Command) -> Result<Option<Arc<Graph>>> {
    let Command::Sequence(steps) = command else { return Ok(None) };
    match device.graphs.look(steps)? {
        Some(Known::Graph(graph)) => return Ok(Some(graph)),
        Some(Known::Once) => {}
        Some(Known::Refused) | None => return Ok(None),
    }
    let failed = |refused| device.failed(refused, "a sequence of commands");
    let _current = device.context.enter().map_err(failed)?;
    let Ok(stream) = device.stream_to_record() else { return Ok(None) };
    let ready = kernels::compiled(device, &stream, command)?;
    Ok(device.graphs.record(&device.context, steps, stream, |stream| give(device, stream, &ready)))
}

/// Runs commands one after the other, and waits for each: some of their kernels report.
///
/// # Errors
/// As for [`run_asserting`](kernels::run_asserting), and for other commands.
pub(crate) fn run_in_turn(device: &Arc<Shared>, steps: &[Step]) -> Result<()> {
    let stream = device.stream()?;
    for step in steps {
        if let Step::Kernel(launch) = step
            && launch.kernel.asserts()
        {
            kernels::run_asserting(device, launch)?;
            continue;
        }
        device.usable()?;
        let ready = kernels::compiled_step(device, &stream, step)?;
        let failed = |refused| device.failed(refused, "a command of a sequence");
        let _current = device.context.enter().map_err(failed)?;
        let given = give(device, &stream, &ready);
        // What was given is over, whatever became of it.
        given.and(device.drain(&stream))?;
    }
    Ok(())
}

fn enqueue_ready(
    device: &Arc<Shared>,
    stream: &Arc<Stream>,
    command: &Ready<'_>,
    waits: &[Arc<dyn Event>],
    profiling: bool,
) -> Result<Native> {
    let failed = |refused: Refused| device.failed(refused, "a command's waits and time stamps");
    let _current = device.context.enter().map_err(failed)?;
    for native in waits.iter().filter_map(|event| as_own(&**event)?.native()) {
        let marker = native.end().map_err(failed)?;
        stream.object.wait_for(marker.event()).map_err(failed)?;
    }
    let stamps = match profiling {
        true => Some(Arc::new(Stamps::begin(&device.context, &stream.object).map_err(failed)?)),
        false => None,
    };
    let given = give(device, stream, command).and_then(|()| {
        stamps.as_ref().map_or(Ok(()), |stamps| stamps.finish(&stream.object).map_err(failed))
    });
    if let Err(error) = given {
        // What was given before is over when this returns, or the device is lost.
        let _ = device.drain(stream);
        return Err(error);
    }
    Ok(Native::issued(stream, stamps))
}

/// Gives a command to the driver; the context is the calling thread's.
fn give(device: &Arc<Shared>, stream: &Stream, command: &Ready<'_>) -> Result<()> {
    match command {
        Ready::Plans(stages) => kernels::give_plans(device, stream, stages),
        Ready::User(work, kernel) => kernels::give_call(device, stream, kernel, &work.call(), None),
        Ready::Sequence(all) => all.iter().try_for_each(|ready| give(device, stream, ready)),
        Ready::Graph(graph) => graph.launch(device, stream),
        Ready::Other(Command::SourceKernel(launch)) => module::launch(device, stream, launch),
        &Ready::Step(&Step::Copy { dst, src, bytes }) => {
            // SAFETY: the ranges are valid until the event is complete (the contract of `Queue::submit`).
            unsafe { transfer::copy(device, stream, dst, src, bytes) }
        }
        Ready::Step(Step::Fill { dst, bytes, pattern, pattern_bytes }) => {
            // SAFETY: the range is valid until the event is complete (the contract of `Queue::submit`), and a multiple of the pattern,
            // as is its start (the contract of `Step::Fill`).
            unsafe { fill(device, stream, *dst, *bytes, &pattern[..*pattern_bytes]) }
        }
        &Ready::Other(&Command::Advise { ptr, bytes, advice: Advice::Prefetch }) => {
            prefetch(device, stream, ptr, bytes)
        }
        // The driver's memory goes where it is used when it is used.
        Ready::Other(Command::Barrier | Command::Advise { .. }) => Ok(()),
        Ready::Step(step) => Err(untaken(step)),
        Ready::Other(other) => Err(untaken(other)),
    }
}

/// What is said of a command of a later version of core.
#[cold]
fn untaken(command: &dyn std::fmt::Debug) -> Error {
    Error::unsupported(
        "command",
        format!("{command:?}"),
        "a launch, copy, fill, barrier or host task",
        "use a device of another driver, or a later version of this one",
    )
}

/// Enqueues a fill: words of one value as they are; of others the first ones, from which the rest is copied, twice as much each time.
///
/// # Safety
/// The range is valid until the fill has ended, a multiple of the pattern, and begins at one; the pattern has 1, 2, 4, 8 or 16 bytes.
unsafe fn fill(device: &Shared, stream: &Stream, dst: UsmPtr, bytes: usize, pattern: &[u8]) -> Result<()> {
    let (api, raw, start) = (device.api(), stream.object.raw(), dst.addr());
    let failed = |refused| device.failed(refused, format_args!("a fill of {bytes} bytes at {dst:?}"));
    if bytes == 0 {
        return Ok(());
    }
    match *pattern {
        // SAFETY: the range is valid, by this function's contract, and has as many elements; the stream is live.
        [byte] => return unsafe { api.fill_8(start, byte, bytes, raw) }.map_err(failed),
        [a, b] => {
            // SAFETY: as above; the range begins at a multiple of two.
            return unsafe { api.fill_16(start, u16::from_ne_bytes([a, b]), bytes / 2, raw) }.map_err(failed);
        }
        _ => {}
    }
    let words: smallvec::SmallVec<[u32; 4]> = pattern
        .chunks_exact(4)
        .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))
        .collect();
    if words.iter().all(|word| *word == words[0]) {
        // SAFETY: as above; the range begins at a multiple of four, as the pattern has four or more.
        return unsafe { api.fill_32(start, words[0], bytes / 4, raw) }.map_err(failed);
    }
    let seed = bytes.min(SEED_BYTES);
    for (place, &word) in words.iter().enumerate() {
        let (pitch, rows) = (pattern.len(), seed / pattern.len());
        // SAFETY: as above; each row is one word of a pattern in the range.
        unsafe { api.fill_rows(start + 4 * place, pitch, word, 1, rows, raw) }.map_err(failed)?;
    }
    let mut done = seed;
    while done < bytes {
        let part = done.min(bytes - done);
        // SAFETY: both parts are in the range, one behind the other; the stream writes the first one before this reads it.
        unsafe { api.copy(start + done, start, part, raw) }.map_err(failed)?;
        done += part;
    }
    Ok(())
}

/// Has managed memory come to the device.
fn prefetch(device: &Shared, stream: &Stream, ptr: UsmPtr, bytes: usize) -> Result<()> {
    if device.memory.place(ptr) != Place::Managed || bytes == 0 {
        return Ok(());
    }
    let to = device.context.device;
    // SAFETY: the range is managed memory that lives until the event is complete (the contract of `Queue::submit`).
    let asked = unsafe { device.api().prefetch(ptr.addr(), bytes, to, stream.object.raw()) };
    match asked {
        // A hint that the driver does not take changes nothing.
        Err(refused) if !crate::error::is_loss(refused.code) => Ok(()),
        asked => asked.map_err(|refused| device.failed(refused, format_args!("a prefetch of {bytes} bytes"))),
    }
}
