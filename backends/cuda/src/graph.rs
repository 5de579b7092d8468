//! Sequences of commands as graphs of the driver: what is submitted a second time is recorded once, and launched as one from then on.
//!
//! A graph is recorded in a stream of its own, which nothing runs in, but whose scratch memory and library's handle its commands use. The
//! driver keeps the launches of one graph in order, in whichever streams they are.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use stridewise_core::Result;
use stridewise_core::backend::Step;
use stridewise_core::memory::heap;

use crate::api::RawGraph;
use crate::device::Shared;
use crate::handle::{Context, EventObject, GraphObject, home};
use crate::stream::Stream;
use crate::symbols::Refused;

/// Sequences that are known at a time; others are given command by command.
const KNOWN: usize = 64;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`: the thread may allocate memory meanwhile, which is no command of the stream.
const RELAXED: c_int = 2;

/// A graph that is launched.
pub(crate) struct Graph {
    context: Arc<Context>,
    object: GraphObject,
    /// Behind the last launch; held while one is given to the driver.
    last: Mutex<EventObject>,
    /// Its scratch memory and handle are the graph's.
    _stream: Stream,
}

impl Graph {
    /// Gives a launch to a stream; the context is the calling thread's.
    pub(crate) fn launch(&self, device: &Shared, stream: &Stream) -> Result<()> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: both are live; what the graph's commands use is as their contracts ask for it, as for a first submission of them.
        let launched = unsafe { device.api().launch_graph(self.object.raw(), stream.object.raw()) };
        launched
            .and_then(|()| last.record(&stream.object))
            .map_err(|refused| device.failed(refused, "a sequence of commands"))
    }

    fn is_over(&self) -> bool {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).is_over() != Ok(false)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if home().is_here()
            && let Ok(_current) = self.context.enter()
        {
            // Its scratch memory goes with it. One that is lost is over.
            let _ = self.last.get_mut().unwrap_or_else(PoisonError::into_inner).wait();
        }
    }
}

/// What is known of a sequence.
#[derive(Clone)]
pub(crate) enum Known {
    /// It was submitted.
    Once,
    /// The driver records it not.
    Refused,
    /// It is a graph.
    Graph(Arc<Graph>),
}

#[derive(Default)]
struct State {
    known: Vec<(Weak<[Step]>, Known)>,
    /// Graphs whose sequences are gone, until they have run.
    gone: Vec<Arc<Graph>>,
}

/// The graphs of a device.
#[derive(Default)]
pub(crate) struct Graphs(Mutex<State>);

impl Graphs {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so poison means nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known of a sequence; one that is not is, from now on.
    ///
    /// # Errors
    /// [`Error::Alloc`](stridewise_core::Error::Alloc).
    pub(crate) fn look(&self, steps: &Arc<[Step]>) -> Result<Option<Known>> {
        let mut over = Vec::new();
        let mut state = self.lock();
        if let Some((_, known)) = state.known.iter().find(|(of, _)| is(of, steps)) {
            return Ok(Some(known.clone()));
        }
        let State { known, gone } = &mut *state;
        let mut at = 0;
        while at < known.len() {
            if known[at].0.strong_count() > 0 {
                at += 1;
            } else if let (_, Known::Graph(graph)) = known.swap_remove(at) {
                heap::push("graphs", gone, graph)?;
            }
        }
        // To be dropped without the lock, as that waits.
        while let Some(at) = gone.iter().position(|graph| graph.is_over()) {
            heap::push("graphs", &mut over, gone.swap_remove(at))?;
        }
        if known.len() == KNOWN {
            return Ok(Some(Known::Refused));
        }
        heap::push("graphs", known, (Arc::downgrade(steps), Known::Once))?;
        drop(state);
        Ok(None)
    }

    /// Notes what became of recording a sequence.
    fn note(&self, steps: &Arc<[Step]>, graph: Option<Arc<Graph>>) {
        let found = graph.map_or(Known::Refused, Known::Graph);
        // What was there is dropped without the lock: it may be another thread's graph.
        let before = {
            let mut state = self.lock();
            let place = state.known.iter_mut().find(|(of, _)| is(of, steps));
            place.map(|(_, known)| std::mem::replace(known, found))
        };
        drop(before);
    }

    /// Records what a stream is given, of a sequence; `None` where the driver refuses to, which changes nothing but the speed. The
    /// context is the calling thread's.
    pub(crate) fn record(
        &self,
        context: &Arc<Context>,
        steps: &Arc<[Step]>,
        stream: Stream,
        give: impl FnOnce(&Stream) -> Result<()>,
    ) -> Option<Arc<Graph>> {
        let graph = record(context, stream, give).map(Arc::new);
        self.note(steps, graph.clone());
        graph
    }
}

fn is(known: &Weak<[Step]>, steps: &Arc<[Step]>) -> bool {
    std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(steps))
}

/// What the stream is given meanwhile is recorded, and is not run.
fn record(context: &Arc<Context>, stream: Stream, give: impl FnOnce(&Stream) -> Result<()>) -> Option<Graph> {
    let (api, raw) = (context.api, stream.object.raw());
    let last = EventObject::make(context, false).ok()?;
    // SAFETY: the stream is live, and this function's alone.
    unsafe { api.begin_capture(raw, RELAXED) }.ok()?;
    let given = give(&stream);
    let mut graph: RawGraph = std::ptr::null_mut();
    // SAFETY: the place is a live pointer; the stream is live and records.
    let ended = unsafe { api.end_capture(raw, &raw mut graph) };
    let object = (given.is_ok() && ended.is_ok()).then(|| instantiate(context, graph).ok()).flatten();
    if !graph.is_null() {
        // SAFETY: the driver just gave it; what was made of it does not need it. A failure leaves nothing to do.
        let _ = unsafe { api.destroy_graph(graph) };
    }
    Some(Graph { context: Arc::clone(context), object: object?, last: Mutex::new(last), _stream: stream })
}

fn instantiate(context: &Arc<Context>, graph: RawGraph) -> Result<GraphObject, Refused> {
    let mut made = std::ptr::null_mut();
    // SAFETY: the place is a live pointer, the graph one that the driver gave.
    unsafe { context.api.instantiate_graph(&raw mut made, graph, 0) }?;
    Ok(GraphObject::new(context, made))
}
