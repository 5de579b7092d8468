//! What who looks is told of commands that are submitted ([`observe`](crate::observe)).

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::backend::{self, Command, Step, Wait};
use crate::observe::{self, Doing, Keeper, Name, Record, Stamps};
use crate::plan::{Family, LaunchPlan};
use crate::program::Program;
use crate::runtime::{Device, Queue};

/// Operations that a name has at most.
const MOST_NAMED: usize = 8;

/// A submission that somebody looks at.
pub(super) struct Seen(Option<Box<Record>>);

impl Seen {
    /// A submission that begins now.
    #[inline]
    pub(super) fn begin(command: Option<&Command>) -> Self {
        if !observe::is_on() {
            return Self(None);
        }
        Self(command.map(|command| Box::new(Record::begin(Doing::Submission, name(command)))))
    }

    /// Notes that a queue has taken it.
    pub(super) fn submitted(
        self,
        queue: &Queue,
        event: &Arc<dyn backend::Event>,
        waits: &[Wait],
        bytes: usize,
    ) {
        let Some(mut record) = self.0 else { return };
        record.command = backend::address(&**event);
        record.waits = waits.iter().map(|wait| backend::address(&*wait.event)).collect();
        record.queue = queue.id();
        record.bytes = bytes;
        record.keeper = Some(Arc::new(Kept { event: Arc::clone(event), device: queue.device().clone() }));
        record.done();
    }
}

/// Has the end of a command noted that is under way, where somebody looks: its device may not say when it was run.
pub(super) fn watch_end(event: &Arc<dyn backend::Event>) {
    if observe::is_on() && !event.status().is_terminal() {
        let command = backend::address(&**event);
        event.on_complete(Box::new(move || Record::begin(Doing::Ended, "end").of(command).done()));
    }
}

/// An event, kept as long as its address is to say which it is, and its device.
pub(crate) struct Kept {
    event: Arc<dyn backend::Event>,
    pub(crate) device: Device,
}

// A panic leaves an event usable, by the contract of the backend traits.
impl UnwindSafe for Kept {}
impl RefUnwindSafe for Kept {}

impl Keeper for Kept {
    fn stamps(&self) -> Option<Stamps> {
        let profile = self.event.profile()?;
        Some([profile.submitted, profile.started, profile.ended].map(|stamp| stamp.as_nanos() as u64))
    }
    fn bandwidth(&self) -> Option<f64> {
        self.device.bandwidth()
    }
}

/// Passes by what they compute.
struct Passes(Vec<(Family, Arc<Program>)>);

impl Passes {
    fn of<'a>(plans: impl Iterator<Item = &'a LaunchPlan>) -> Name {
        // Plans that are as many as an array's rows have one program.
        let mut passes: Vec<(Family, Arc<Program>)> = Vec::new();
        for plan in plans.take(MOST_NAMED) {
            if passes.last().is_none_or(|(_, last)| !Arc::ptr_eq(last, &plan.program)) {
                passes.push((plan.family.clone(), Arc::clone(&plan.program)));
            }
        }
        Name::Later(Arc::new(Self(passes)))
    }
}

impl fmt::Display for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (family, program)) in self.0.iter().enumerate() {
            if number > 0 {
                f.write_str(", then ")?;
            }
            let steps = program.steps();
            let names: Vec<&str> = steps.iter().take(MOST_NAMED).map(|step| step.op.label()).collect();
            let more = if steps.len() > MOST_NAMED { " …" } else { "" };
            match family {
                Family::Map => write!(f, "{}{more}", names.join(" "))?,
                _ if names == ["copy"] => write!(f, "{family}")?,
                _ => write!(f, "{family} of {}{more}", names.join(" "))?,
            }
        }
        Ok(())
    }
}

fn name(command: &Command) -> Name {
    match command {
        Command::Step(step) => of_step(step),
        Command::Sequence(steps) => of_sequence(steps),
        Command::SourceKernel(_) => "kernel from a source".into(),
        Command::Advise { advice, .. } => advice.name().into(),
        Command::Barrier => "barrier".into(),
        Command::HostTask(_) => "host task".into(),
    }
}

fn of_step(step: &Step) -> Name {
    match step {
        Step::Launch(plans) => Passes::of(plans.iter()),
        Step::Stages(stages) => Passes::of(stages.iter().flatten()),
        Step::Kernel(launch) => format!("kernel {}", launch.kernel.name()).into(),
        Step::Copy { .. } => "copy".into(),
        Step::Fill { .. } => "fill".into(),
    }
}

fn of_sequence(steps: &Arc<[Step]>) -> Name {
    format!("graph of {} commands", steps.len()).into()
}
