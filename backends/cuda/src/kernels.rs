//! Kernels of plans, and kernels that users wrote: their texts are `stridewise-emit`'s, compiled here and kept, and launched in the
//! order of a stream.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use stridewise_core::Result;
use stridewise_core::backend::{Command, LaunchPlan, Step};
use stridewise_core::kernel::KernelLaunch;
use stridewise_core::memory::heap;
use stridewise_emit::user::{self, Report};
use stridewise_emit::{self as emit, Argument, Call, Dialect, Key, Target, Work};

use crate::blas::Gemm;
use crate::device::Shared;
use crate::graph::{Graph, Known};
use crate::module::{Extents, Kernel, Values, start};
use crate::routines::is_waited_for;
use crate::scratch::Block;
use crate::stream::Stream;

/// Plans of up to so many points take the general form of a kernel: a launch costs more than the work.
const GENERAL_POINTS: usize = 1 << 14;
/// Bytes of arrays in local memory, and of what arguments give, that kernels of plans have at most.
const LOCAL_BYTES: usize = 48 << 10;

/// What texts for a device can rely on.
pub(crate) fn target(compute_units: usize, max_group: usize, local_bytes: usize) -> Target {
    Target {
        dialect: Dialect::CudaC,
        fp64: true,
        fp16: true,
        atomic64: true,
        exact_division: true,
        buffers: false,
        cpu: false,
        compute_units,
        max_group,
        local_bytes: LOCAL_BYTES.min(local_bytes),
        user_local_bytes: local_bytes,
        general_points: GENERAL_POINTS,
    }
}

/// The kernels of a plan's stages.
type Kernels = SmallVec<[Arc<Kernel>; 2]>;

/// What computes a plan, or several.
#[expect(clippy::large_enum_variant, reason = "of most, there is one, and the other is rare")]
pub(crate) enum Pass<'a> {
    /// Kernels.
    Kernels(Work<'a>, Kernels),
    /// A library.
    Product(Gemm),
}

/// What computes plans.
type Plans<'a> = Vec<Pass<'a>>;

/// A command with all that it needs compiled.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack, where a box would cost an allocation"
)]
pub(crate) enum Ready<'a> {
    /// Stages, one after the other, of plans that do not depend on each other.
    Plans(SmallVec<[Plans<'a>; 1]>),
    User(user::Work<'a>, Arc<Kernel>),
    /// A copy or fill.
    Step(&'a Step),
    Other(&'a Command),
    /// Commands one after the other.
    Sequence(Vec<Ready<'a>>),
    Graph(Arc<Graph>),
}

/// Where a command's kernels come from.
type Find<'a> = dyn Fn(&Key, &dyn Fn() -> String) -> Result<Option<Arc<Kernel>>> + 'a;
/// Whether the library for products is there; `None` where nobody has looked.
type Library<'a> = dyn Fn() -> Option<bool> + 'a;

/// A command with its kernels, where all of them are kept.
pub(crate) fn known<'a>(
    device: &'a Shared,
    stream: &Stream,
    command: &'a Command,
) -> Result<Option<Ready<'a>>> {
    let find = |key: &Key, _: &dyn Fn() -> String| Ok(device.modules.known(key));
    let finder = Finder { device, find: &find, library: &|| device.blas.known(stream) };
    match command {
        Command::Sequence(steps) => match device.graphs.look(steps)? {
            Some(Known::Graph(graph)) => Ok(Some(Ready::Graph(graph))),
            // To be recorded when the locks are given up.
            Some(Known::Once) => Ok(None),
            Some(Known::Refused) | None => finder.sequence(steps),
        },
        // Its library may wait for the device, which nobody does under locks.
        Command::SourceKernel(launch) if is_waited_for(&launch.kernel) => Ok(None),
        command => finder.command(command),
    }
}

/// A command with its kernels, compiled where they are not kept.
pub(crate) fn compiled<'a>(device: &'a Shared, stream: &Stream, command: &'a Command) -> Result<Ready<'a>> {
    compiling(device, stream, |finder| match command {
        Command::Sequence(steps) => finder.sequence(steps),
        command => finder.command(command),
    })
}

/// A command of a sequence likewise.
pub(crate) fn compiled_step<'a>(device: &'a Shared, stream: &Stream, step: &'a Step) -> Result<Ready<'a>> {
    compiling(device, stream, |finder| finder.step(step))
}

fn compiling<'a>(
    device: &'a Shared,
    stream: &Stream,
    ready: impl FnOnce(&Finder<'_, 'a>) -> Result<Option<Ready<'a>>>,
) -> Result<Ready<'a>> {
    let find = |key: &Key, source: &dyn Fn() -> String| device.modules.of_text(device, key, source).map(Some);
    let finder = Finder { device, find: &find, library: &|| Some(device.blas.prepare(device, stream)) };
    match ready(&finder)? {
        Some(ready) => Ok(ready),
        None => unreachable!("what is not found is compiled"),
    }
}

/// What finds the kernels of commands.
struct Finder<'f, 'a> {
    device: &'a Shared,
    find: &'f Find<'f>,
    library: &'f Library<'f>,
}

impl<'a> Finder<'_, 'a> {
    fn command(&self, command: &'a Command) -> Result<Option<Ready<'a>>> {
        Ok(match command {
            Command::Step(step) => self.step(step)?,
            other => Some(Ready::Other(other)),
        })
    }

    fn sequence(&self, steps: &'a [Step]) -> Result<Option<Ready<'a>>> {
        let mut all = heap::with_capacity("commands", steps.len())?;
        for step in steps {
            let Some(ready) = self.step(step)? else { return Ok(None) };
            all.push(ready);
        }
        Ok(Some(Ready::Sequence(all)))
    }

    fn step(&self, step: &'a Step) -> Result<Option<Ready<'a>>> {
        Ok(match step {
            Step::Launch(plans) => self.launch(plans)?,
            Step::Stages(stages) => self.stages(stages)?,
            Step::Kernel(launch) => self.kernel(launch)?,
            other => Some(Ready::Step(other)),
        })
    }

    fn launch(&self, plans: &'a [LaunchPlan]) -> Result<Option<Ready<'a>>> {
        Ok(self.plans(plans)?.map(|plans| Ready::Plans(smallvec![plans])))
    }

    fn stages(&self, stages: &'a [Vec<LaunchPlan>]) -> Result<Option<Ready<'a>>> {
        if let Some(work) = emit::together(stages, &self.device.target) {
            return Ok(self.with_kernels(work)?.map(|found| Ready::Plans(smallvec![vec![found]])));
        }
        let all: Option<_> = stages.iter().map(|plans| self.plans(plans)).collect::<Result<_>>()?;
        Ok(all.map(Ready::Plans))
    }

    fn kernel(&self, launch: &'a KernelLaunch) -> Result<Option<Ready<'a>>> {
        let work = user::work(launch, &self.device.target)?;
        let call = work.call();
        Ok((self.find)(call.key, call.source)?.map(|kernel| Ready::User(work, kernel)))
    }

    fn plans(&self, plans: &'a [LaunchPlan]) -> Result<Option<Plans<'a>>> {
        if let Some(work) = emit::side_by_side(plans, &self.device.target) {
            return Ok(self.with_kernels(work)?.map(|found| vec![found]));
        }
        let mut all = heap::with_capacity("plans", plans.len())?;
        for plan in plans {
            if let Some(gemm) = self.device.gemm(plan) {
                match (self.library)() {
                    None => return Ok(None),
                    Some(true) => {
                        all.push(Pass::Product(gemm));
                        continue;
                    }
                    Some(false) => {}
                }
            }
            let Some(found) = self.with_kernels(emit::work(plan, &self.device.target)?)? else {
                return Ok(None);
            };
            all.push(found);
        }
        Ok(Some(all))
    }

    fn with_kernels(&self, work: Work<'a>) -> Result<Option<Pass<'a>>> {
        let found = work.stages.iter().map(|stage| (self.find)(&stage.key, &*stage.source));
        let found: Option<Kernels> = found.collect::<Result<_>>()?;
        Ok(found.map(|kernels| Pass::Kernels(work, kernels)))
    }
}

/// Gives plans to a stream, in whose order they are computed: one stage after the other.
pub(crate) fn give_plans(device: &Shared, stream: &Stream, stages: &[Plans<'_>]) -> Result<()> {
    for pass in stages.iter().flatten() {
        let (work, kernels) = match pass {
            Pass::Kernels(work, kernels) => (work, kernels),
            Pass::Product(gemm) => {
                gemm.give(device, stream)?;
                continue;
            }
        };
        // Held until all stages are in the stream, so that those of no other work come between.
        let scratch = match work.scratch_bytes {
            0 => None,
            bytes => Some(scratch(device, stream, bytes)?),
        };
        let memory = scratch.as_ref().map(Block::start);
        for (stage, kernel) in work.stages.iter().zip(kernels) {
            give_call(device, stream, kernel, &stage.call(), memory)?;
        }
    }
    Ok(())
}

/// Scratch memory of a stream's; the context is the calling thread's.
pub(crate) fn scratch<'s>(device: &Shared, stream: &'s Stream, bytes: usize) -> Result<Block<'s>> {
    let taken = stream.scratch.take(&device.context, bytes);
    taken.map_err(|refused| device.failed(refused, format_args!("{bytes} bytes of scratch memory")))
}

/// Gives a kernel to a stream, with scratch memory from an address on.
pub(crate) fn give_call(
    device: &Shared,
    stream: &Stream,
    kernel: &Kernel,
    call: &Call<'_>,
    scratch: Option<usize>,
) -> Result<()> {
    let mut values = Values::default();
    for argument in call.arguments {
        match argument {
            Argument::Memory(ptr) => values.bytes(&ptr.addr().to_ne_bytes()),
            Argument::Scratch(from) => values.bytes(&(scratch.unwrap_or(0) + from).to_ne_bytes()),
            Argument::Bytes(bytes) => values.bytes(bytes),
            Argument::Local(bytes) => values.local(*bytes),
        }
    }
    let mut extents = Extents { groups: [1; 3], items: [1; 3] };
    for (axis, (&all, &items)) in call.global.iter().zip(call.local).enumerate() {
        // The texts' writer asks for no more than a device counts.
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        extents.groups[axis] = number(all / items.max(1));
        extents.items[axis] = number(items);
    }
    start(device, stream, kernel, values, extents, "a kernel")
}

/// Runs a kernel whose items assert something, and waits for it.
///
/// # Errors
/// [`Error::Kernel`](stridewise_core::Error::Kernel) where an item has asserted what is false; as for other commands.
pub(crate) fn run_asserting(device: &Arc<Shared>, launch: &KernelLaunch) -> Result<()> {
    device.usable()?;
    let work = user::work(launch, &device.target)?;
    let call = work.call();
    let kernel = device.modules.of_text(device, call.key, call.source)?;
    let failed = |refused| device.failed(refused, "a kernel's report");
    let _current = device.context.enter().map_err(failed)?;
    let stream = device.stream()?;
    let mut report: Report = [0; 4];
    let bytes = size_of::<Report>();
    let outcome = (|| {
        let block = scratch(device, &stream, bytes)?;
        let raw = stream.object.raw();
        // SAFETY: the block has as many bytes, and the stream has nothing before this; the stream is live.
        unsafe { device.api().fill_8(block.start(), 0, bytes, raw) }.map_err(failed)?;
        give_call(device, &stream, &kernel, &call, Some(block.start()))?;
        // SAFETY: the block has as many bytes as are copied, and so has the report, which stays where it is until the copy has ended:
        // the stream is waited for below.
        unsafe { device.api().copy(report.as_mut_ptr().addr(), block.start(), bytes, raw) }.map_err(failed)
    })();
    // What was given is over before the report goes.
    let drained = device.drain(&stream);
    outcome.and(drained)?;
    user::asserted(launch, report)
}
