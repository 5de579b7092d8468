//! What a kernel means: items are run one at a time, plainly, on one [`Scalar`] at a time, each up to where it waits for
//! the others of its group. Targets are tested against it, and checked mode says what this one says.
//!
//! ```
//! use stridewise_core::Scalar;
//! use stridewise_core::kernel::oracle::{self, Argument, Checks, Elements};
//! use stridewise_core::kernel::{Global, Item};
//!
//! #[stridewise_macros::kernel(crate = stridewise_core)]
//! fn shift(item: Item<1>, x: &Global<i32>, y: &mut Global<i32>) {
//!     let i = item.global_id(0);
//!     y[i] = x[i + 1];
//! }
//!
//! let numbers = |x: [i32; 2]| Argument::Array(Elements { shape: vec![2], elements: x.map(Scalar::I32).to_vec() });
//! let mut arguments = [numbers([1, 2]), numbers([0, 0])];
//! let found = oracle::run(&shift::kernel()?, &[2].into(), &mut arguments, Checks::ALL);
//! assert!(found.is_err_and(|error| error.to_string().contains("out-of-bounds"))); // the last item reads beyond `x`
//! # Ok::<(), stridewise_core::Error>(())
//! ```

mod code;
mod item;
mod memory;

use code::{Code, Step};
use item::{Item, Stop};
use memory::Cells;

use super::space::Space;
use super::sync::{Collective, Fence};
use super::tree::{Expression, Memory, Parameter, StatementKind};
use super::watch::{self, ENDLESS, Watch, Watched};
use super::{Kernel, NdRange};
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, Result};
use crate::ops;
use crate::scalar::Scalar;

/// Elements in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Elements {
    /// The extents.
    pub shape: Vec<usize>,
    /// As many as the extents say.
    pub elements: Vec<Scalar>,
}

/// An argument of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Argument {
    /// An array, which the kernel may write.
    Array(Elements),
    /// A scalar.
    Scalar(Scalar),
    /// The extents of local memory.
    Local(Vec<usize>),
}

/// What is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checks {
    /// Bounds, races, local memory that is read before it is written. Without, an index out of range does what the form
    /// says, and local memory begins as zeros.
    pub enabled: bool,
    /// Steps that an item takes from one barrier to the next, at most.
    pub steps: u64,
}

impl Checks {
    /// Everything.
    pub const ALL: Self = Self { enabled: true, steps: ENDLESS };
    /// Nothing but assertions, barriers that not all items come to, and loops without an end.
    pub const NONE: Self = Self { enabled: false, steps: ENDLESS };
}

/// Runs a kernel over an index space, group after group.
///
/// # Errors
/// [`Error::Kernel`] with what items did against the rules; as for [`Space::new`]; [`Error::Value`] where the arguments are
/// not those of the parameters.
pub fn run(kernel: &Kernel, range: &NdRange, arguments: &mut [Argument], checks: Checks) -> Result<()> {
    let space = Space::new(kernel, range, usize::MAX, u64::MAX)?;
    let code = code::flatten(kernel.form());
    let mut memory = bind(kernel, arguments)?;
    let mut watch = match checks.enabled {
        true => Some(Watch::new(kernel, space, watched(kernel, &memory))?),
        false => None,
    };
    for number in 0..space.group_count() {
        if let Some(watch) = &mut watch {
            watch.begin(number);
        }
        let group = Group { kernel, code: &code, space, id: space.group_id(number), checks };
        group.run(arguments, &mut memory, &mut watch)?;
    }
    for (parameter, argument) in kernel.form().parameters.iter().zip(arguments) {
        if let (Parameter::Object(object), Argument::Array(elements)) = (parameter, argument) {
            elements.elements = std::mem::take(&mut memory[object.number()].elements);
        }
    }
    Ok(())
}

/// Where objects are, none of which shares memory with another one.
fn watched(kernel: &Kernel, memory: &[Cells]) -> Vec<Watched> {
    let mut address = 0;
    let objects = kernel.form().objects.iter().zip(memory).map(|(object, cells)| {
        let shape = match &object.memory {
            Memory::Private { shape } => shape.clone(),
            _ => cells.shape.clone(),
        };
        let size = object.dtype.size();
        let strides =
            (0..shape.len()).map(|axis| (size * shape[axis + 1..].iter().product::<usize>()) as isize);
        let watched = Watched { address, strides: strides.collect(), shape };
        address += size * watched.shape.iter().product::<usize>().max(1);
        watched
    });
    objects.collect()
}

/// The memory of all objects but private ones.
fn bind(kernel: &Kernel, arguments: &[Argument]) -> Result<Vec<Cells>> {
    let form = kernel.form();
    let mismatch = |position: usize| {
        Error::value(
            "arguments",
            format!("{:?}", arguments.get(position)),
            format!("an argument for parameter {position} of {form}"),
            "give arrays, scalars and extents of local memory in the order of the parameters",
        )
    };
    if arguments.len() != form.parameters.len() {
        return Err(mismatch(arguments.len().min(form.parameters.len())));
    }
    let mut memory: Vec<Cells> = form
        .objects
        .iter()
        .map(|object| match &object.memory {
            Memory::Local { shape } => Cells::zeros(shape, object.dtype),
            Memory::Constant { shape, elements } => Cells::new(shape, elements.to_vec()),
            _ => Cells::default(),
        })
        .collect();
    for (position, (parameter, argument)) in form.parameters.iter().zip(arguments).enumerate() {
        match (parameter, argument) {
            (Parameter::Scalar { value, .. }, Argument::Scalar(scalar))
                if scalar.dtype() == form.dtype(*value) => {}
            (Parameter::Object(object), argument) => {
                let info = form.object(*object);
                memory[object.number()] = match (&info.memory, argument) {
                    (Memory::Global { ndim, .. }, Argument::Array(elements))
                        if elements.shape.len() == *ndim
                            && elements.shape.iter().product::<usize>() == elements.elements.len()
                            && elements.elements.iter().all(|e| e.dtype() == info.dtype) =>
                    {
                        Cells::new(&elements.shape, elements.elements.clone())
                    }
                    (Memory::LocalArgument { ndim }, Argument::Local(shape)) if shape.len() == *ndim => {
                        Cells::zeros(shape, info.dtype)
                    }
                    _ => return Err(mismatch(position)),
                };
            }
            _ => return Err(mismatch(position)),
        }
    }
    Ok(memory)
}

/// A group that is run.
struct Group<'a> {
    kernel: &'a Kernel,
    code: &'a Code<'a>,
    space: Space,
    id: [usize; 3],
    checks: Checks,
}

impl Group<'_> {
    fn run(&self, arguments: &[Argument], memory: &mut [Cells], watch: &mut Option<Watch>) -> Result<()> {
        let form = self.kernel.form();
        for (object, cells) in form.objects.iter().zip(memory.iter_mut()) {
            if object.memory.is_local() {
                cells.reset(object.dtype);
            }
        }
        let mut items: Vec<Item> = (0..self.space.group_len())
            .filter_map(|linear| {
                let local = self.space.local_id(linear);
                let global = self.space.global_id(self.id, local);
                let exists = self.space.contains(global);
                exists.then(|| Item::new(form, arguments, local, global))
            })
            .collect();
        let mut meetings = 0;
        loop {
            let mut stops = Vec::with_capacity(items.len());
            for item in &mut items {
                stops.push(item.run(self, memory, watch)?);
            }
            let Some(at) = self.meeting(&items, &stops)? else { return Ok(()) };
            let Step::Do(statement) = self.code.steps[at] else { return Ok(()) };
            meetings += 1;
            if meetings > self.checks.steps {
                let message = format!(
                    "group {} comes here more than {meetings} times",
                    watch::tuple(self.space, self.id)
                );
                return Err(Error::kernel(Diagnostic::new(Rule::EndlessLoop, &statement.at, message)));
            }
            let fence = match &statement.kind {
                StatementKind::Barrier(fence) => *fence,
                StatementKind::Let { value, expression: Expression::Collective { collective, operand } } => {
                    let operands: Vec<Scalar> = items.iter().map(|item| item.value(*operand)).collect();
                    if let (Some(watch), Collective::Broadcast(from)) = (&watch, collective) {
                        let from = item::integer(items[0].value(*from));
                        watch.broadcast(from, items.len(), &statement.at)?;
                    }
                    for (position, result) in self.combine(*collective, &operands, &items).enumerate() {
                        items[position].define(*value, result);
                    }
                    Fence::LOCAL
                }
                _ => return Ok(()), // Nothing else waits.
            };
            if let Some(watch) = watch {
                watch.barrier(fence);
            }
            items.iter_mut().for_each(Item::step);
        }
    }

    /// Where all items wait; `None` where all are done.
    fn meeting(&self, items: &[Item], stops: &[Stop]) -> Result<Option<usize>> {
        let waits = stops.iter().find_map(|stop| match stop {
            Stop::Waits(at) => Some(*at),
            Stop::Done => None,
        });
        let Some(at) = waits else { return Ok(None) };
        let missing: Vec<&Item> = items
            .iter()
            .zip(stops)
            .filter(|(_, stop)| **stop != Stop::Waits(at))
            .map(|(item, _)| item)
            .collect();
        let (Some(first), Step::Do(statement)) = (missing.first(), self.code.steps[at]) else {
            return Ok(Some(at));
        };
        let counts = (missing.len(), items.len());
        Err(watch::divergent(self.space, self.id, counts, first.global, &statement.at))
    }

    /// What each item gets of a collective.
    fn combine(
        &self,
        collective: Collective,
        operands: &[Scalar],
        items: &[Item],
    ) -> impl Iterator<Item = Scalar> + use<> {
        let all = |value: Scalar| vec![value; operands.len()];
        let fold = |op, a, b| ops::apply(op, &[a, b]).unwrap_or(a);
        let scan = |op| {
            let start = Collective::identity(op, operands[0].dtype()).unwrap_or(operands[0]);
            let mut sums = vec![start];
            for (i, &operand) in operands.iter().enumerate() {
                // The first sum is the first operand itself: −0 + 0 would be another number.
                sums.push(if i == 0 { operand } else { fold(op, sums[i], operand) });
            }
            sums
        };
        let results = match collective {
            Collective::Reduce(op) => all(scan(op)[operands.len()]),
            Collective::InclusiveScan(op) => scan(op).split_off(1),
            Collective::ExclusiveScan(op) => scan(op),
            Collective::All => all(Scalar::Bool(operands.iter().all(|o| *o == Scalar::Bool(true)))),
            Collective::Any => all(Scalar::Bool(operands.contains(&Scalar::Bool(true)))),
            Collective::Broadcast(from) => {
                // An item that is not there is taken for the nearest.
                let from = item::integer(items[0].value(from)).clamp(0, operands.len() as i128 - 1);
                all(operands[from as usize])
            }
        };
        results.into_iter().take(operands.len())
    }
}
