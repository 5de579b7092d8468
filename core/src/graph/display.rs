//! A graph as text: its arrays, and a line for each command.

use std::fmt;
use std::sync::Arc;

use super::{Captured, Graph, Port};
use crate::backend::Step;
use crate::memory::allocation::Allocation;
use crate::memory::schedule::Access;
use crate::memory::track::Mode;
use crate::plan::LaunchPlan;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Captured { prepared, inputs, outputs } = &*self.0;
        writeln!(f, "graph of {} commands on {}", self.len(), self.queue())?;
        for (what, ports) in [("input", inputs), ("output", outputs)] {
            for Port { name, layout, dtype, .. } in ports {
                writeln!(f, "{what} {name}: {dtype} {:?}", layout.shape())?;
            }
        }
        let memory = |memory: &Arc<Allocation>| {
            let named = inputs.iter().chain(outputs).find(|port| Arc::ptr_eq(&port.memory, memory));
            let place = prepared.used.iter().position(|used| Arc::ptr_eq(used, memory)).unwrap_or(0);
            let owner = if prepared.steps.owns(memory) { "own" } else { "outer" };
            named.map_or_else(|| format!("{owner} {place}"), |port| port.name.clone())
        };
        for (number, (step, accesses)) in prepared.steps.commands().enumerate() {
            let listed = |mode: Mode| {
                let mut names: Vec<String> = Vec::new();
                for Access { allocation, .. } in accesses.iter().filter(|access| access.mode == mode) {
                    let name = memory(allocation);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
            };
            let (reads, writes) = (listed(Mode::Read), listed(Mode::Write));
            write!(f, "{number:4}  ")?;
            command(f, step)?;
            writeln!(f, ": reads {reads}; writes {writes}")?;
        }
        Ok(())
    }
}

fn command(f: &mut fmt::Formatter<'_>, step: &Step) -> fmt::Result {
    match step {
        Step::Launch(plans) => list(f, plans),
        Step::Stages(stages) => {
            for (number, plans) in stages.iter().enumerate() {
                if number > 0 {
                    f.write_str(", then ")?;
                }
                list(f, plans)?;
            }
            Ok(())
        }
        Step::Kernel(launch) => write!(f, "kernel `{}` over {}", launch.kernel.name(), launch.space),
        Step::Copy { bytes, .. } => write!(f, "copy of {bytes} bytes"),
        Step::Fill { bytes, .. } => write!(f, "fill of {bytes} bytes"),
    }
}

/// Plans that are as many as an array's rows, perhaps: the first of them.
fn list(f: &mut fmt::Formatter<'_>, plans: &[LaunchPlan]) -> fmt::Result {
    let Some(plan) = plans.first() else { return f.write_str("nothing") };
    let (steps, dims) = (plan.program.steps().len(), &plan.dims);
    write!(f, "{} of {steps} operations over {dims:?}", plan.family)?;
    if plans.len() > 1 {
        write!(f, " and {} more", plans.len() - 1)?;
    }
    Ok(())
}
