//! What a piece of program submits to a queue, captured once and run again without planning.

mod display;

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::backend::{Step, check_interrupt};
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::lazy::{self, Elements, UsmArray};
use crate::memory::allocation::Allocation;
use crate::memory::capture::{self, MAX_COMMANDS, Move, Scope, Steps};
use crate::memory::{BLOCK_ALIGN_BYTES, heap};
use crate::runtime::{Event, Queue};

/// How long replays follow each other before it is asked whether to go on.
const ASKING: Duration = Duration::from_millis(20);

/// A captured piece of program: a list of commands that is run again in the same memory ([`replay`](Self::replay)), or with other
/// inputs ([`run`](Self::run)), with nothing planned in between. Made by [`Queue::capture`]. Cheap to clone; it keeps the memory that
/// its commands use. It prints as the list of them.
///
/// A replay is work like any other: it waits for what it reads and writes, what reads its results waits for it, and a failure travels
/// along data. On the host and on CUDA devices all commands are one submission.
#[derive(Clone)]
pub struct Graph(Arc<Captured>);

struct Captured {
    prepared: Prepared,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

// A panic leaves them usable: by the contract of the backend traits, and as core's own locks guard nothing that a panic could
// leave half done.
impl UnwindSafe for Captured {}
impl RefUnwindSafe for Captured {}
impl UnwindSafe for Capture {}
impl RefUnwindSafe for Capture {}

/// An array with a name.
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) memory: Arc<Allocation>,
    pub(crate) layout: Layout,
    pub(crate) dtype: Dtype,
}

/// Commands, and the memory that they access.
struct Prepared {
    steps: Steps,
    used: Vec<Arc<Allocation>>,
    written: Vec<Arc<Allocation>>,
}

impl Prepared {
    fn of(steps: Steps) -> Result<Self> {
        let used = steps.used();
        let written = used.iter().filter(|used| used.writes).map(|used| Arc::clone(used.memory));
        let written = heap::collect("memory", written)?;
        let used = heap::collect("memory", used.iter().map(|used| Arc::clone(used.memory)))?;
        Ok(Self { steps, used, written })
    }

    fn submit(&self) -> Result<Event> {
        let exported = self.used.iter().any(|memory| memory.is_exported());
        let mut submitted = Vec::new();
        lazy::submit_behind(self.steps.queue(), &self.written, exported, &[], |batch| {
            self.steps.submit(&mut submitted, batch)
        })
    }
}

/// A capture that is open on this thread: the queue that is captured, and the names of arrays. See [`Queue::capture`]. Who has no
/// function to capture, as the bindings of a language whose blocks have two ends, [begins](Self::begin) and [ends](Self::end) it. A
/// capture that is dropped is over, and gives no graph.
pub struct Capture {
    scope: Scope,
    ports: RefCell<Ports>,
}

thread_local! {
    /// The capture of this thread that was left open.
    static LEFT: RefCell<Option<Capture>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Ports {
    inputs: Vec<Port>,
    outputs: Vec<(String, UsmArray)>,
}

impl Capture {
    /// Begins to capture what this thread submits to a queue.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the thread captures already.
    pub fn begin(queue: &Queue) -> Result<Self> {
        Ok(Self { scope: Scope::begin(queue)?, ports: RefCell::default() })
    }

    /// Whether this thread captures.
    #[must_use]
    pub fn is_open() -> bool {
        capture::current().is_some()
    }

    /// Leaves the capture open behind this value, for [`left_open`](Self::left_open) to find.
    pub fn leave_open(self) {
        // A thread has one capture at most, so that none is there. On a thread that ends, the capture ends.
        let _ = LEFT.try_with(|left| left.replace(Some(self)));
    }

    /// The capture that was left open on this thread.
    #[must_use]
    pub fn left_open() -> Option<Self> {
        LEFT.try_with(RefCell::take).ok().flatten()
    }

    /// The queue that is captured.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        self.scope.recording().queue()
    }

    /// Names an array as an input, in place of which [`Graph::run`] takes another one. It may be in memory that is known outside.
    ///
    /// # Errors
    /// [`Error::Value`] where the capture has made or used its memory before, or has it as another input;
    /// [`Error::ExecutionPlacement`] for an array of another queue; what the submission of recorded work reports. The capture fails
    /// then.
    pub fn input(&self, name: &str, array: impl AsRef<UsmArray>) -> Result<()> {
        let array = array.as_ref();
        crate::runtime::common_queue(&[("capture", self.queue()), (name, array.queue())])?;
        let memory = Arc::clone(array.elements().memory()?);
        self.scope.recording().add_input(name, &memory)?;
        let port =
            Port { name: name.to_owned(), memory, layout: array.layout().clone(), dtype: array.dtype() };
        heap::push("inputs", &mut self.ports.borrow_mut().inputs, port)
    }

    /// Names an array as an output, which [`Graph::run`] returns. One that the capture made is in memory of its own for each run; any
    /// other stays where it is.
    ///
    /// # Errors
    /// [`Error::ExecutionPlacement`] for an array of another queue; [`Error::Alloc`].
    pub fn output(&self, name: &str, array: impl AsRef<UsmArray>) -> Result<()> {
        let array = array.as_ref();
        crate::runtime::common_queue(&[("capture", self.queue()), (name, array.queue())])?;
        heap::push("outputs", &mut self.ports.borrow_mut().outputs, (name.to_owned(), array.clone()))
    }

    /// Ends the capture: submits what it has recorded, and makes the graph.
    ///
    /// # Errors
    /// The first refusal of what cannot be captured ([`Queue::capture`]), also where it was swallowed; [`Error::Value`] for an input
    /// that is only a part of what the commands access of its memory; [`Error::Borrow`] where memory is known under two names; what the
    /// submission of recorded work reports.
    pub fn end(self) -> Result<Graph> {
        let Self { scope, ports } = self;
        lazy::flush_captured(scope.recording())?;
        let Ports { inputs, outputs } = ports.into_inner();
        let mut named = heap::with_capacity("outputs", outputs.len())?;
        for (name, array) in outputs {
            let memory = Arc::clone(array.elements().memory()?);
            named.push(Port { name, memory, layout: array.layout().clone(), dtype: array.dtype() });
        }
        Graph::of(scope.end()?, inputs, named)
    }
}

impl Graph {
    /// Commands with names for what they access.
    ///
    /// # Errors
    /// As for [`Capture::end`].
    pub(crate) fn of(steps: Steps, inputs: Vec<Port>, outputs: Vec<Port>) -> Result<Self> {
        let prepared = Prepared::of(steps)?;
        if !inputs.is_empty() {
            prepared.steps.check_apart()?;
        }
        for used in prepared.steps.used() {
            let input = inputs.iter().find(|input| Arc::ptr_eq(&input.memory, used.memory));
            if let Some(input) = input {
                let bytes = input.layout.byte_range(input.dtype.size());
                if used.bytes.start < bytes.start || bytes.end < used.bytes.end {
                    return Err(Error::value(
                        input.name.clone(),
                        "a part of what the captured commands access of its memory",
                        "an input with all of its memory that is used",
                        "name the array that the others are views of",
                    ));
                }
            }
        }
        Ok(Self(Arc::new(Captured { prepared, inputs, outputs })))
    }

    /// The commands, the inputs and the outputs.
    #[cfg(feature = "graph-files")]
    pub(crate) fn parts(&self) -> (&Steps, &[Port], &[Port]) {
        let Captured { prepared, inputs, outputs } = &*self.0;
        (&prepared.steps, inputs, outputs)
    }
}

impl Deref for Capture {
    type Target = Queue;
    fn deref(&self) -> &Queue {
        self.queue()
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a capture of {}", self.queue())
    }
}

impl Queue {
    /// Runs a function, once and as without a capture, and captures what it submits to this queue: operations, reductions, kernels,
    /// copies and fills, random numbers as they were drawn. The graph has the commands; [`replay`](Graph::replay) runs them again.
    ///
    /// What the commands read and write is the same memory again: what was there before the capture is state, which replays go on
    /// from; what the function made is the graph's, and each replay writes it anew.
    ///
    /// ```no_run
    /// use stridewise_core::{Array, Queue};
    ///
    /// let queue = Queue::default_queue()?;
    /// let mut x = Array::<f32>::ones(1000)?;
    /// let (graph, norm) = queue.capture(|_| {
    ///     x *= 0.5; // the first step, done now
    ///     (&x * &x).sum_axis(0)
    /// })?;
    /// graph.repeat(9)?; // nine more
    /// assert_eq!(x.get(0)?, 0.5_f32.powi(10));
    /// println!("{graph}{norm:?}");
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the function returns, and [`Error::Unsupported`] where it does what cannot be captured, also where it swallows the error:
    /// it reads or writes elements by the host, waits, gives memory to others, submits work to another queue, a host task or a kernel
    /// from a source, names an event from outside, uses memory that is known outside and no [input](Capture::input), or submits more than
    /// [`Graph::MAX_COMMANDS`] commands; or the thread captures already.
    pub fn capture<R>(&self, work: impl FnOnce(&Capture) -> Result<R>) -> Result<(Graph, R)> {
        let capture = Capture::begin(self)?;
        let result = work(&capture)?;
        Ok((capture.end()?, result))
    }
}

impl Graph {
    /// Commands that a graph has at most.
    pub const MAX_COMMANDS: usize = MAX_COMMANDS;

    /// Number of commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.prepared.steps.commands().count()
    }
    /// Whether nothing was submitted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        self.0.prepared.steps.queue()
    }
    /// The names of the inputs, in their order.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.0.inputs.iter().map(|port| port.name.as_str())
    }
    /// The names of the outputs, in their order.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.0.outputs.iter().map(|port| port.name.as_str())
    }

    /// Submits the commands again, in the same memory. The event is complete when all of them are.
    ///
    /// # Errors
    /// As for any submission: an open host view of what is accessed, memory lent for reading, what the runtime reports. On a device
    /// that takes one command at a time, those before may have been submitted then. [`Error::Unsupported`] in a capture.
    pub fn replay(&self) -> Result<Event> {
        capture::refuse("graph", "replayed")?;
        self.0.prepared.submit()
    }

    /// Submits the commands so often again, one time after the other: [`replay`](Self::replay) in a loop. The event is the last one's.
    ///
    /// # Errors
    /// As for [`replay`](Self::replay), and [`Error::Interrupted`] where somebody ends this thread's waits
    /// ([`set_interrupt`](crate::backend::set_interrupt)); what was submitted before goes on.
    pub fn repeat(&self, times: usize) -> Result<Event> {
        let mut last = Event::ready();
        let mut asked = Instant::now();
        for _ in 0..times {
            last = self.replay()?;
            if asked.elapsed() >= ASKING {
                check_interrupt()?;
                asked = Instant::now();
            }
        }
        Ok(last)
    }

    /// Submits the commands with other arrays in place of the inputs, and in memory of their own for the outputs that the capture
    /// made. What the commands use besides is the graph's, or the same memory as in the capture. The outputs, in their order.
    ///
    /// ```no_run
    /// use stridewise_core::{Array, Queue};
    ///
    /// let queue = Queue::default_queue()?;
    /// let x = Array::<f32>::arange(0.0, 1000.0, 1.0)?;
    /// let (graph, ()) = queue.capture(|q| {
    ///     q.input("x", &x)?;
    ///     q.output("y", &(&x * 2.0 + 1.0))
    /// })?;
    /// let ones = Array::<f32>::ones(1000)?;
    /// let y: Array<f32> = graph.run(&[ones.as_untyped()])?.remove(0).try_into()?;
    /// assert_eq!(y.get(7)?, 3.0);
    /// # Ok::<(), stridewise_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Value`] for a wrong number of arrays or another USM kind, [`Error::Dtype`] and [`Error::Shape`] where an array is not
    /// as the captured one, [`Error::ExecutionPlacement`] for one of another queue; [`Error::Borrow`] where an input that the commands
    /// write is read-only or shares memory with what else they use; as for [`replay`](Self::replay).
    pub fn run(&self, inputs: &[&UsmArray]) -> Result<Vec<UsmArray>> {
        capture::refuse("graph", "run")?;
        let Captured { prepared, inputs: ports, outputs } = &*self.0;
        let queue = prepared.steps.queue();
        if inputs.len() != ports.len() {
            return Err(Error::value(
                "inputs",
                format!("{} arrays", inputs.len()),
                format!("{}, one for each input of the graph", ports.len()),
                "give an array for each name of `inputs()`, in their order",
            ));
        }
        let mut moves: Vec<Move> = heap::with_capacity("inputs", ports.len() + outputs.len())?;
        for (port, array) in ports.iter().zip(inputs) {
            port.check(array, queue)?;
            if prepared.written.iter().any(|memory| Arc::ptr_eq(memory, &port.memory)) {
                array.check_writable(port.name.clone())?;
            }
            let to = Arc::clone(array.elements().memory()?);
            moves.push(Move { from: Arc::clone(&port.memory), to });
        }
        for Port { memory, .. } in outputs {
            let moved = moves.iter().any(|change| Arc::ptr_eq(&change.from, memory));
            if !moved && prepared.steps.owns(memory) {
                let to = Allocation::new(queue.device(), memory.kind(), memory.bytes(), BLOCK_ALIGN_BYTES)?;
                moves.push(Move { from: Arc::clone(memory), to });
            }
        }
        Prepared::of(prepared.steps.moved(&moves)?)?.submit()?;
        let array = |port: &Port| {
            let moved = moves.iter().find(|change| Arc::ptr_eq(&change.from, &port.memory));
            let memory = Arc::clone(moved.map_or(&port.memory, |change| &change.to));
            UsmArray::of(Elements::Memory(memory.into()), port.layout.clone(), port.dtype, queue.clone())
        };
        heap::collect("outputs", outputs.iter().map(array))
    }
}

impl Graph {
    /// The commands, each with why it ends where it does.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (&Step, Cut)> {
        let steps = &self.0.prepared.steps;
        steps.commands().map(|(step, _)| step).zip(steps.cuts().iter().copied())
    }

    /// What is known of the arrays that the commands access.
    pub(crate) fn known(&self) -> Vec<lazy::Known> {
        let Captured { prepared, inputs, outputs } = &*self.0;
        let named = inputs.iter().chain(outputs).map(|port| {
            let known = lazy::Known::of(&port.memory, &port.layout, port.dtype);
            lazy::Known { name: Some(port.name.clone()), ..known }
        });
        let used = prepared.used.iter().map(|memory| lazy::Known::of_bytes(memory));
        named.chain(used).collect()
    }
}

impl Port {
    /// Checks that an array is as this one.
    fn check(&self, array: &UsmArray, queue: &Queue) -> Result<()> {
        let help = "convert or copy it, or capture the program again";
        crate::runtime::common_queue(&[("graph", queue), (&self.name, array.queue())])?;
        if array.dtype() != self.dtype {
            return Err(Error::dtype(self.name.clone(), array.dtype(), self.dtype.to_string(), help));
        }
        if *array.layout() != self.layout {
            let told = |layout: &Layout| format!("{layout:?}");
            return Err(Error::shape(self.name.clone(), told(array.layout()), told(&self.layout), help));
        }
        if array.usm_kind() != self.memory.kind() {
            let expected = format!("{} memory", self.memory.kind());
            return Err(Error::value(
                self.name.clone(),
                format!("in {} memory", array.usm_kind()),
                expected,
                help,
            ));
        }
        Ok(())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} commands on {})", self.len(), self.queue())
    }
}
