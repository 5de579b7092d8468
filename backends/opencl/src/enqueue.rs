//! Commands as the runtime's commands: kernels with their arguments, copies, fills, markers.
//!
//! A command goes through two steps. `ready` finds all kernels that it needs; if one is not compiled, nothing
//! has happened, and the command becomes the rest of its submission (`compile_and_enqueue`, without core's
//! locks). Then `enqueue` gives it to the runtime:
//! ```text
//! plan ─► Work: stages of kernels ─► in order: one after the other      out of order: events between, one at the end
//! ```
//! One event stands for all of a command. If the third of five calls fails, the first two are under way:
//! `abandon` waits for them, so that a failure always means that nothing is.
//!
//! A kernel's arguments are its object's state, so it is locked from the first argument to the enqueueing
//! (`run`); values are copied by the runtime, memory has to live until the event, which core sees to. A
//! launch takes microseconds in the runtime: a command that is a single kernel has no event of its own where
//! the queue is in order.

use std::sync::{Arc, PoisonError};

use opencl3::command_queue as cq;
use opencl3::error_codes::{CL_SUCCESS, DLOPEN_FUNCTION_NOT_AVAILABLE};
use opencl3::event as ev;
use opencl3::kernel::set_kernel_arg;
use opencl3::types::{cl_event, cl_kernel};
use smallvec::{SmallVec, smallvec};
use stridewise_core::backend::{Command, LaunchPlan, Step};
use stridewise_core::kernel::KernelLaunch;
use stridewise_core::memory::{UsmPtr, heap};
use stridewise_core::{Error, Result};
use stridewise_emit::user::{self, Report};
use stridewise_emit::{self as emit, Argument, Call, Key, Work};

use crate::device::Shared;
use crate::error::failed;
use crate::event::Native;
use crate::handle::EventObject;
use crate::memory::wait_list;
use crate::program::Kernel;
use crate::queue::NativeQueue;

/// A command with all that it needs compiled.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack, where a box would cost an allocation"
)]
enum Ready<'a> {
    /// Stages, one after the other, of plans that do not depend on each other.
    Plans(SmallVec<[Plans<'a>; 1]>),
    User(user::Work<'a>, Arc<Kernel>),
    Other(&'a Command),
}

/// The kernels of a plan's stages.
type Kernels = SmallVec<[Arc<Kernel>; 2]>;

/// What computes plans, with the kernels.
type Plans<'a> = Vec<(Work<'a>, Kernels)>;

/// Where a command's kernels come from.
type Find<'a> = dyn Fn(&Key, &dyn Fn() -> String) -> Result<Option<Arc<Kernel>>> + 'a;

/// A command with its kernels; `None` where one of them is not found.
fn ready<'a>(device: &'a Shared, command: &'a Command, find: &Find<'_>) -> Result<Option<Ready<'a>>> {
    let with_kernels = |work: Work<'a>| -> Result<Option<(Work<'a>, Kernels)>> {
        let found = work.stages.iter().map(|stage| find(&stage.key, &*stage.source));
        let found: Option<Kernels> = found.collect::<Result<_>>()?;
        Ok(found.map(|kernels| (work, kernels)))
    };
    let of_plans = |plans: &'a [LaunchPlan]| -> Result<Option<Plans<'a>>> {
        if let Some(work) = emit::side_by_side(plans, &device.target) {
            return Ok(with_kernels(work)?.map(|found| vec![found]));
        }
        let mut all = heap::with_capacity("plans", plans.len())?;
        for plan in plans {
            let Some(found) = with_kernels(emit::work(plan, &device.target)?)? else { return Ok(None) };
            all.push(found);
        }
        Ok(Some(all))
    };
    Ok(match command {
        Command::Step(Step::Launch(plans)) => of_plans(plans)?.map(|plans| Ready::Plans(smallvec![plans])),
        Command::Step(Step::Stages(stages)) => match emit::together(stages, &device.target) {
            Some(work) => with_kernels(work)?.map(|found| Ready::Plans(smallvec![vec![found]])),
            None => {
                let all: Option<_> = stages.iter().map(|plans| of_plans(plans)).collect::<Result<_>>()?;
                all.map(Ready::Plans)
            }
        },
        Command::Step(Step::Kernel(launch)) => {
            let work = user::work(launch, &device.target)?;
            let call = work.call();
            find(call.key, call.source)?.map(|kernel| Ready::User(work, kernel))
        }
        other => Some(Ready::Other(other)),
    })
}

/// Gives a command to the runtime whose kernels are compiled: `None` where one of them is not, and nothing was done.
pub(crate) fn enqueue_compiled(
    device: &Arc<Shared>,
    queue: &Arc<NativeQueue>,
    command: &Command,
    waits: &[cl_event],
    eventful: bool,
) -> Result<Option<Native>> {
    let ready = ready(device, command, &|key, _| Ok(device.programs.known(key)))?;
    ready.map(|ready| enqueue(device, queue, &ready, waits, eventful)).transpose()
}

/// Whether the kernels of a command are compiled; none where it has none that could be.
pub(crate) fn is_compiled(device: &Arc<Shared>, command: &Command) -> Option<bool> {
    if !matches!(command, Command::Step(Step::Launch(_) | Step::Stages(_) | Step::Kernel(_))) {
        return None;
    }
    ready(device, command, &|key, _| Ok(device.programs.known(key))).ok().map(|ready| ready.is_some())
}

/// Gives a command to the runtime, and compiles what is missing of its kernels first.
pub(crate) fn compile_and_enqueue(
    device: &Arc<Shared>,
    queue: &Arc<NativeQueue>,
    command: &Command,
    waits: &[cl_event],
    eventful: bool,
) -> Result<Native> {
    match ready(device, command, &|key, source| device.programs.get(key, source).map(Some))? {
        Some(ready) => enqueue(device, queue, &ready, waits, eventful),
        None => unreachable!("what is not found is compiled"),
    }
}

/// Runs a kernel whose items assert something, and waits for it.
///
/// # Errors
/// [`Error::Kernel`] where an item has asserted what is false; as for other commands.
pub(crate) fn run_asserting(
    device: &Arc<Shared>,
    queue: &Arc<NativeQueue>,
    launch: &KernelLaunch,
) -> Result<()> {
    device.usable()?;
    let work = user::work(launch, &device.target)?;
    let call = work.call();
    let kernel = device.programs.get(call.key, call.source)?;
    let block = device.scratch.take(device, queue, size_of::<Report>())?;
    let outcome = report(device, queue, &kernel, &call, block.memory.ptr);
    // Whatever came of it has ended.
    device.scratch.put(block);
    user::asserted(launch, outcome?)
}

/// Runs a kernel with memory for a report, and reads it.
fn report(
    device: &Arc<Shared>,
    queue: &Arc<NativeQueue>,
    kernel: &Kernel,
    call: &Call<'_>,
    memory: UsmPtr,
) -> Result<Report> {
    let mut report: Report = [0; 4];
    let bytes = size_of::<Report>();
    let mut native = Native::new(queue);
    let to = UsmPtr::new(report.as_mut_ptr().cast());
    let outcome = (|| {
        // SAFETY: the block has as many bytes, and no command uses it by now.
        let cleared = unsafe { device.memory.enqueue_fill(&queue.object, memory, bytes, &[0; 8], &[]) }?;
        native.parts.push(cleared);
        let wait = |native: &Native| native.parts.last().map(EventObject::raw).into_iter().collect();
        let waits: SmallVec<[cl_event; 1]> = wait(&native);
        native.parts.extend(run(device, queue, kernel, call, Some(memory), &waits, true)?);
        let waits: SmallVec<[cl_event; 1]> = wait(&native);
        // SAFETY: the block has as many bytes as are copied; the report is as large, and stays where it is
        // until the copy has ended, below.
        let read = unsafe { device.memory.enqueue_copy(&queue.object, to, memory, bytes, &waits) }?;
        native.parts.push(read);
        queue.touch();
        queue.flush();
        let ends: SmallVec<[cl_event; 3]> = native.parts.iter().map(EventObject::raw).collect();
        device.finished("clWaitForEvents", ev::wait_for_events(&ends))
    })();
    if outcome.is_err() {
        abandon(&native);
    }
    outcome.map(|()| report)
}

/// Gives a command to the runtime; where it need not have an event, one that is a single kernel has none.
fn enqueue(
    device: &Arc<Shared>,
    queue: &Arc<NativeQueue>,
    command: &Ready<'_>,
    waits: &[cl_event],
    eventful: bool,
) -> Result<Native> {
    let mut native = Native::new(queue);
    let command = match command {
        Ready::Plans(stages) => {
            launch(device, &mut native, stages, waits, eventful)?;
            return Ok(enqueued(device, native));
        }
        Ready::User(work, kernel) => {
            match run(device, &native.queue, kernel, &work.call(), None, waits, eventful)? {
                Some(event) => native.parts.push(event),
                None => native.ticket = native.queue.issue(),
            }
            return Ok(enqueued(device, native));
        }
        Ready::Other(command) => *command,
    };
    match command {
        Command::SourceKernel(launch) => {
            crate::source::enqueue(device, &mut native, launch, waits, eventful)?
        }
        &Command::Step(Step::Copy { dst, src, bytes }) => {
            // SAFETY: the ranges are valid until the event is complete (the contract of `Queue::submit`).
            let event = unsafe { device.memory.enqueue_copy(&queue.object, dst, src, bytes, waits) }?;
            native.parts.push(event);
        }
        Command::Step(Step::Fill { dst, bytes, pattern, pattern_bytes }) => {
            let pattern = &pattern[..*pattern_bytes];
            // SAFETY: the range is valid until the event is complete (the contract of `Queue::submit`); the
            // pattern's length divides the range's (the contract of `Step::Fill`).
            let event = unsafe { device.memory.enqueue_fill(&queue.object, *dst, *bytes, pattern, waits) }?;
            native.parts.push(event);
        }
        // A hint: memory of these runtimes goes where it is used when it is used.
        Command::Barrier | Command::Advise { .. } => native.parts.push(marker(queue, waits)?),
        other => {
            return Err(Error::unsupported(
                "command",
                format!("{other:?}"),
                "a launch, copy, fill, barrier or host task",
                "use a device of another driver, or a later version of this one",
            ));
        }
    }
    Ok(enqueued(device, native))
}

/// A command that was enqueued.
fn enqueued(device: &Shared, native: Native) -> Native {
    native.queue.touch();
    if device.target.cpu {
        // A runtime on the processor may sit on its commands until then, and flushing costs nothing there.
        native.queue.flush();
    }
    native
}

/// A command that is complete when its waits are.
fn marker(queue: &NativeQueue, waits: &[cl_event]) -> Result<EventObject> {
    let (count, list) = wait_list(waits);
    // SAFETY: the queue is live, the waits are live events of its context.
    let event = unsafe { cq::enqueue_marker_with_wait_list(queue.object.raw(), count, list) };
    event.map(EventObject::new).map_err(|code| failed("clEnqueueMarkerWithWaitList", "a barrier", code))
}

/// Enqueues the kernels of stages of plans, and what joins them. A failure means that nothing of it is under way.
fn launch(
    device: &Shared,
    native: &mut Native,
    stages: &[Plans<'_>],
    waits: &[cl_event],
    eventful: bool,
) -> Result<()> {
    let mut before: SmallVec<[cl_event; 1]> = SmallVec::new();
    let joined = stages.len() > 1 && !native.queue.in_order;
    let outcome = stages.iter().enumerate().try_for_each(|(number, plans)| {
        let waits = if number == 0 { waits } else { &before };
        enqueue_plans(device, native, plans, waits, eventful || joined)?;
        before.clear();
        before.extend(native.parts.last().map(EventObject::raw));
        Ok(())
    });
    if outcome.is_err() {
        abandon(native);
    }
    outcome
}

/// Enqueues the kernels of several plans; the end of the last one is the end of all.
fn enqueue_plans(
    device: &Shared,
    native: &mut Native,
    plans: &[(Work<'_>, Kernels)],
    waits: &[cl_event],
    eventful: bool,
) -> Result<()> {
    if native.queue.in_order && !eventful {
        return enqueue_in_order(device, native, plans, waits);
    }
    let mut ends: SmallVec<[cl_event; 4]> = SmallVec::new();
    for (number, (work, kernels)) in plans.iter().enumerate() {
        if let (1, [stage], false) = (plans.len(), work.stages.as_slice(), eventful || work.scratch_bytes > 0)
        {
            run(device, &native.queue, &kernels[0], &stage.call(), None, waits, false)?;
            native.ticket = native.queue.issue();
            return Ok(());
        }
        let mut scratch = match work.scratch_bytes {
            0 => None,
            bytes => Some(device.scratch.take(device, &native.queue, bytes)?),
        };
        let mut previous: SmallVec<[cl_event; 8]> = waits.into();
        if number + 1 == plans.len() {
            // The last one is the end of all.
            previous.extend_from_slice(&ends);
        }
        let memory = scratch.as_ref().map(|block| block.memory.ptr);
        let stages = work.stages.iter().zip(kernels).try_for_each(|(stage, kernel)| {
            let event = run(device, &native.queue, kernel, &stage.call(), memory, &previous, true)?;
            previous.clear();
            previous.extend(event.as_ref().map(EventObject::raw));
            native.parts.extend(event);
            Ok(())
        });
        if let Some(mut block) = scratch.take() {
            block.used_by(native.parts.last());
            device.scratch.put(block);
        }
        stages?;
        ends.extend(native.parts.last().map(EventObject::raw));
    }
    Ok(())
}

/// As [`enqueue_plans`], without events: a queue in order has each kernel wait for those before it.
fn enqueue_in_order(
    device: &Shared,
    native: &mut Native,
    plans: &[(Work<'_>, Kernels)],
    waits: &[cl_event],
) -> Result<()> {
    let mut waits = waits;
    for (work, kernels) in plans {
        let mut scratch = match work.scratch_bytes {
            0 => None,
            bytes => Some(device.scratch.take(device, &native.queue, bytes)?),
        };
        let memory = scratch.as_ref().map(|block| block.memory.ptr);
        let stages = work.stages.iter().zip(kernels).try_for_each(|(stage, kernel)| {
            run(device, &native.queue, kernel, &stage.call(), memory, waits, false)?;
            native.ticket = native.queue.issue();
            waits = &[];
            Ok(())
        });
        if let Some(mut block) = scratch.take() {
            block.used_in_order(&native.queue, native.ticket);
            device.scratch.put(block);
        }
        stages?;
    }
    Ok(())
}

/// Waits for what was enqueued of a command that then failed, so that the failure means that nothing is under way.
pub(crate) fn abandon(native: &Native) {
    native.queue.touch();
    native.queue.flush();
    if native.ticket > 0 {
        let _ = cq::finish(native.queue.object.raw());
    }
    for part in &native.parts {
        // What becomes of it is of no more interest.
        let _ = ev::wait_for_events(&[part.raw()]);
    }
}

/// Enqueues one kernel.
fn run(
    device: &Shared,
    queue: &NativeQueue,
    kernel: &Kernel,
    call: &Call<'_>,
    scratch: Option<UsmPtr>,
    waits: &[cl_event],
    eventful: bool,
) -> Result<Option<EventObject>> {
    let object = kernel.object.lock().unwrap_or_else(PoisonError::into_inner);
    let raw = object.raw();
    let mut index = 0;
    let set = call.arguments.iter().try_for_each(|argument| {
        let bytes = match argument {
            Argument::Memory(ptr) => {
                // SAFETY: the kernel is live and locked; its text has a pointer here, made from the same list.
                index = unsafe { device.memory.set_argument(raw, index, *ptr) }?;
                return Ok(());
            }
            Argument::Scratch(offset) => {
                let start = scratch.unwrap_or(UsmPtr::NULL).byte_offset(offset.cast_signed());
                // SAFETY: the kernel is live and locked; its text has a pointer here, made from the same
                // list, and the block has as many bytes as the work asked for.
                index = unsafe { device.memory.set_argument(raw, index, start) }?;
                return Ok(());
            }
            Argument::Bytes(bytes) => (bytes.len(), bytes.as_ptr()),
            Argument::Local(bytes) => (*bytes, std::ptr::null()),
        };
        // SAFETY: the kernel is live and locked; the value has as many bytes as the parameter's type.
        unsafe { set_value(raw, index, bytes.0, bytes.1) }?;
        index += 1;
        Ok(())
    });
    set.map_err(|code| failed("clSetKernelArg", format!("parameter {index} of a kernel"), code))?;
    enqueue_kernel(device, queue, raw, call.global, Some(call.local), waits, eventful)
}

/// Sets an argument of a kernel that is a value or, without one, so many bytes of local memory.
///
/// # Safety
/// The kernel is live and no other thread sets its arguments; the value has as many bytes.
pub(crate) unsafe fn set_value(
    kernel: cl_kernel,
    index: u32,
    bytes: usize,
    value: *const u8,
) -> Result<(), i32> {
    // SAFETY: the kernel is live and no other thread sets its arguments; the value has as many bytes, or is
    // local memory of so many.
    unsafe { set_kernel_arg(kernel, index, bytes, value.cast()) }
}

/// Enqueues a kernel, locked, whose arguments are set, in groups of so many items or as the runtime chooses.
pub(crate) fn enqueue_kernel(
    device: &Shared,
    queue: &NativeQueue,
    raw: cl_kernel,
    global: &[usize],
    local: Option<&[usize]>,
    waits: &[cl_event],
    eventful: bool,
) -> Result<Option<EventObject>> {
    let (count, list) = wait_list(waits);
    let mut event: cl_event = std::ptr::null_mut();
    let wanted = if eventful { &raw mut event } else { std::ptr::null_mut() };
    // The wrapper in cl3 always asks for an event.
    let status = cl3::load_library().as_ref().ok().and_then(|runtime| {
        // All arguments are set; the kernel touches only what its plan names (the contract of `LaunchPlan`).
        runtime.clEnqueueNDRangeKernel(
            queue.object.raw(),
            raw,
            global.len() as u32,
            std::ptr::null(),
            global.as_ptr(),
            local.map_or(std::ptr::null(), <[usize]>::as_ptr),
            count,
            list,
            wanted,
        )
    });
    match status.unwrap_or(DLOPEN_FUNCTION_NOT_AVAILABLE) {
        CL_SUCCESS => Ok(eventful.then(|| EventObject::new(event))),
        code => Err(device.refused(raw, global, local.unwrap_or_default(), code)),
    }
}
