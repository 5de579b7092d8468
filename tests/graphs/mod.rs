//! Random work through the public interface, beside a serial oracle of plain loops.
//!
//! Every operation is done twice: by the engine, which records, fuses, submits and overlaps as it likes, and at once on
//! byte buffers of the oracle. Whatever was going on, an array must hold what its buffer holds.

mod operations;

use stridewise::backend::{EventStatus, QueueProperties, self_overlaps};
use stridewise::{Context, Device, Dtype, Event, Queue, SliceItem, UsmArray, UsmKind, UsmMemory};

use crate::model::{Model, get, put};
use crate::random::Rng;

/// Where the engine's side happens.
pub(crate) enum Side {
    /// On a null device: nothing happens but what the graph completes, in an order of its choice.
    Null(Model),
    /// On a device that works by itself.
    Real,
}

#[derive(Clone)]
struct Handle {
    array: UsmArray,
    /// The oracle's bytes of the allocation.
    buffer: usize,
}

struct Base {
    memory: UsmMemory,
    buffer: usize,
}

/// One random graph.
pub(crate) struct Graph {
    rng: Rng,
    side: Side,
    queues: Vec<Queue>,
    bases: Vec<Base>,
    handles: Vec<Handle>,
    buffers: Vec<Vec<u8>>,
    events: Vec<Event>,
    /// Events with those that must be terminal before them.
    promises: Vec<(Event, Vec<Event>)>,
    /// One- and two-dimensional shapes that most arrays have.
    shapes: [Vec<usize>; 3],
    trace: Vec<String>,
    origin: String,
}

impl Graph {
    /// A graph of an origin's choices, on arrays of about `elements` elements (at least 6).
    pub(crate) fn new(
        origin: impl Into<String>,
        mut rng: Rng,
        device: &Device,
        side: Side,
        elements: usize,
    ) -> Self {
        let context = Context::new(std::slice::from_ref(device)).unwrap();
        let queues = (0..1 + rng.below(3))
            .map(|_| QueueProperties { in_order: rng.chance(25), ..QueueProperties::default() })
            .map(|properties| Queue::in_context(&context, device, properties).unwrap())
            .collect();
        let columns = if elements < 100 { 2 } else { 20 };
        let rows = (elements / columns).max(2);
        let shapes = [vec![rows * columns], vec![rows, columns], vec![columns]];
        let mut graph = Self {
            rng,
            side,
            queues,
            bases: Vec::new(),
            handles: Vec::new(),
            buffers: Vec::new(),
            events: Vec::new(),
            promises: Vec::new(),
            shapes,
            trace: Vec::new(),
            origin: origin.into(),
        };
        for _ in 0..1 + graph.rng.below(3) {
            graph.add_base(device, rows * columns * 3);
        }
        graph
    }

    /// Does so many random operations, then finishes all work and compares everything.
    pub(crate) fn run(mut self, operations: usize) {
        for _ in 0..operations {
            self.operation();
            self.settle_some();
        }
        self.finish();
    }

    fn add_base(&mut self, device: &Device, elements: usize) {
        let kinds = if matches!(self.side, Side::Null(_)) { &[UsmKind::Device][..] } else { &UsmKind::ALL };
        let kind = *self.rng.pick(kinds);
        let queue = self.queue();
        let memory = UsmMemory::new(kind, elements * 8, &queue).unwrap();
        assert_eq!(memory.device(), device);
        let mut bytes = vec![0; elements * 8];
        for chunk in bytes.chunks_exact_mut(8) {
            put(chunk, Dtype::I64, self.rng.below(200) as i64 - 100);
        }
        match &mut self.side {
            Side::Null(model) => model.read(memory.ptr().addr(), bytes.len()).copy_from_slice(&bytes),
            Side::Real => memory.copy_from_host(0, &bytes).unwrap(),
        }
        self.buffers.push(bytes);
        self.bases.push(Base { memory, buffer: self.buffers.len() - 1 });
    }

    fn queue(&mut self) -> Queue {
        self.rng.pick(&self.queues).clone()
    }

    fn shape(&mut self) -> Vec<usize> {
        self.rng.pick(&self.shapes).clone()
    }

    fn depends(&mut self) -> Vec<Event> {
        if self.events.is_empty() || self.rng.chance(60) {
            return Vec::new();
        }
        (0..1 + self.rng.below(3)).map(|_| self.rng.pick(&self.events).clone()).collect()
    }

    fn note(&mut self, event: Event, depends: Vec<Event>) {
        if !depends.is_empty() {
            self.promises.push((event.clone(), depends));
        }
        self.events.push(event);
    }

    fn say(&mut self, text: impl Into<String>) {
        self.trace.push(text.into());
    }

    /// The elements of an array by the oracle, in row-major order.
    fn values(&self, handle: &Handle) -> Vec<i64> {
        let (dtype, bytes) = (handle.array.dtype(), &self.buffers[handle.buffer]);
        let size = dtype.size();
        handle.array.layout().indices().map(|i| get(&bytes[i * size..][..size], dtype)).collect()
    }

    fn set_values(&mut self, handle: &Handle, values: impl IntoIterator<Item = i64>) {
        let (dtype, bytes) = (handle.array.dtype(), &mut self.buffers[handle.buffer]);
        let size = dtype.size();
        for (i, value) in handle.array.layout().indices().zip(values) {
            put(&mut bytes[i * size..][..size], dtype, value);
        }
    }

    /// A view of base memory with a shape, strides and a queue; for writing one without repeated elements.
    fn view(&mut self, queue: &Queue, shape: &[usize], write: bool) -> Handle {
        let base = self.rng.below(self.bases.len());
        let (memory, buffer) = (self.bases[base].memory.clone(), self.bases[base].buffer);
        let dtype = if self.rng.chance(80) { Dtype::I64 } else { Dtype::I32 };
        let elements = (memory.bytes() / dtype.size()) as isize;
        loop {
            let mut order: Vec<usize> = (0..shape.len()).collect();
            if self.rng.chance(30) {
                order.reverse();
            }
            let mut strides = vec![0; shape.len()];
            let mut step = 1 + self.rng.below(2) as isize;
            for &axis in &order {
                strides[axis] = if self.rng.chance(30) { -step } else { step };
                if !write && self.rng.chance(10) {
                    strides[axis] = 0;
                }
                step *= shape[axis] as isize;
                step += self.rng.below(2) as isize;
            }
            let reach = |sign: isize| -> isize {
                let spans = shape.iter().zip(&strides).map(|(&n, &s)| (n as isize - 1) * s);
                spans.filter(|span| span.signum() == sign).sum()
            };
            let (low, high) = (reach(-1), reach(1));
            let room = elements - (high - low);
            if room <= 0 {
                continue;
            }
            let offset = (self.rng.below(room as usize) as isize - low) as usize;
            let array = UsmArray::builder(shape)
                .dtype(dtype)
                .buffer(&memory)
                .strides(&strides)
                .offset(offset)
                .queue(queue)
                .build()
                .unwrap();
            if !write || !self_overlaps(array.layout()) {
                return Handle { array, buffer };
            }
        }
    }

    /// An array with a shape, a queue and a dtype other than bool: a result that is there, or a view.
    fn operand(&mut self, queue: &Queue, shape: &[usize]) -> Handle {
        let found: Vec<usize> = (0..self.handles.len())
            .filter(|&i| {
                self.handles[i].array.shape() == shape && self.handles[i].array.dtype() != Dtype::Bool
            })
            .collect();
        if found.is_empty() || self.rng.chance(35) {
            return self.view(queue, shape, false);
        }
        let index = *self.rng.pick(&found);
        let mut handle = self.handles[index].clone();
        if handle.array.queue() != queue {
            handle.array = handle.array.to_queue(queue).unwrap();
        } else if self.rng.chance(20) {
            handle.array = handle.array.flip(None).unwrap();
        }
        handle
    }

    fn keep(&mut self, array: UsmArray, values: Vec<i64>) {
        let (dtype, len) = (array.dtype(), array.layout().required_elements());
        self.buffers.push(vec![0; len * dtype.size()]);
        let handle = Handle { array, buffer: self.buffers.len() - 1 };
        assert_eq!(handle.array.len(), values.len());
        self.set_values(&handle, values);
        self.handles.push(handle);
    }

    fn operation(&mut self) {
        match self.rng.below(100) {
            0..26 => self.elementwise(),
            26..34 => self.write_elementwise(),
            34..42 => self.assign(),
            42..48 => self.memcpy(),
            48..53 => self.fill(),
            53..58 => self.memset(),
            58..65 => self.concat(),
            65..73 => self.reduce(),
            73..78 => self.barrier_or_task(),
            78..90 => self.forget(),
            90..94 => self.ask(),
            94..96 if matches!(self.side, Side::Real) => self.write_from_host(),
            _ => self.look(),
        }
    }

    fn forget(&mut self) {
        if !self.handles.is_empty() {
            let index = self.rng.below(self.handles.len());
            let handle = self.handles.swap_remove(index);
            self.say(format!("forget {}", name(&handle.array)));
        }
        if !self.events.is_empty() && self.rng.chance(30) {
            let index = self.rng.below(self.events.len());
            self.events.swap_remove(index);
        }
    }

    /// Asks for an event of an array, or has recorded work submitted.
    fn ask(&mut self) {
        if self.rng.chance(40) {
            let queue = self.queue();
            self.say(format!("flush {queue}"));
            return queue.flush().unwrap();
        }
        if !self.handles.is_empty() {
            let index = self.rng.below(self.handles.len());
            self.say(format!("event of {}", name(&self.handles[index].array)));
            let event = self.handles[index].array.event().unwrap();
            self.events.push(event);
        }
    }

    /// A new view of a result, or a comparison of one in the middle of everything.
    fn look(&mut self) {
        if self.handles.is_empty() {
            return;
        }
        let index = self.rng.below(self.handles.len());
        let handle = self.handles[index].clone();
        if self.rng.chance(50) {
            let whole = SliceItem::Slice { start: None, stop: None, step: 1 };
            let step = *self.rng.pick(&[-1, 1, 2, -2]);
            let mut items = vec![whole; handle.array.ndim()];
            if let Some(first) = items.first_mut() {
                *first = SliceItem::Slice { start: None, stop: None, step };
            }
            let array = handle.array.slice(&items).unwrap();
            self.say(format!("view {}", name(&array)));
            return self.handles.push(Handle { array, ..handle });
        }
        self.say(format!("compare {}", name(&handle.array)));
        if matches!(self.side, Side::Null(_))
            && handle.array.event().unwrap().status() != EventStatus::Complete
        {
            return;
        }
        if let Side::Null(model) = &mut self.side {
            model.absorb();
        }
        self.compare(&handle);
    }

    fn compare(&mut self, handle: &Handle) {
        let expected = self.values(handle);
        let (dtype, array) = (handle.array.dtype(), &handle.array);
        let found: Vec<i64> = match &mut self.side {
            Side::Null(model) => {
                let start = array.usm_data().unwrap().ptr().addr();
                let size = dtype.size();
                array.layout().indices().map(|i| get(model.read(start + i * size, size), dtype)).collect()
            }
            Side::Real => match dtype {
                Dtype::I64 => array.to_vec::<i64>().unwrap(),
                Dtype::I32 => array.to_vec::<i32>().unwrap().into_iter().map(i64::from).collect(),
                _ => array.to_vec::<bool>().unwrap().into_iter().map(i64::from).collect(),
            },
        };
        if let Some(i) = (0..expected.len()).find(|&i| expected[i] != found[i]) {
            panic!("element {i} of {} is {}, should be {}", name(array), found[i], expected[i]);
        }
    }

    /// Completes some of what may complete, in random order, and checks that nothing ends before what it depends on.
    fn settle_some(&mut self) {
        if let Side::Null(model) = &mut self.side {
            model.absorb();
            if self.rng.chance(40) {
                for _ in 0..1 + self.rng.below(4) {
                    let ready = model.ready();
                    if ready.is_empty() {
                        break;
                    }
                    model.complete(*self.rng.pick(&ready));
                }
            }
        }
        for (event, depends) in &self.promises {
            // The order of the questions matters: the event's answer is the older one.
            if event.status().is_terminal() {
                assert!(
                    depends.iter().all(|d| d.status().is_terminal()),
                    "an event ended before its dependency"
                );
            }
        }
    }

    fn finish(&mut self) {
        let handles = std::mem::take(&mut self.handles);
        for queue in self.queues.clone() {
            queue.flush().unwrap();
        }
        match &mut self.side {
            Side::Null(model) => {
                model.absorb();
                loop {
                    let ready = model.ready();
                    if ready.is_empty() {
                        break;
                    }
                    model.complete(*self.rng.pick(&ready));
                }
            }
            Side::Real => self.queues.iter().for_each(|queue| queue.wait().unwrap()),
        }
        for event in &self.events {
            assert_eq!(event.status(), EventStatus::Complete, "{:?}", event.error());
        }
        for handle in &handles {
            assert!(!handle.array.is_pending(), "recorded work was flushed");
            self.compare(handle);
        }
        for base in 0..self.bases.len() {
            let (memory, buffer) = (self.bases[base].memory.clone(), self.bases[base].buffer);
            let found = match &mut self.side {
                Side::Null(model) => model.read(memory.ptr().addr(), memory.bytes()).to_vec(),
                Side::Real => memory.to_bytes().unwrap(),
            };
            let expected = &self.buffers[buffer];
            let wrong = (0..expected.len()).find(|&i| expected[i] != found[i]);
            assert_eq!(wrong, None, "byte of base {base} that differs");
        }
        self.trace.clear();
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("graph of {}:", self.origin);
            self.trace.iter().enumerate().for_each(|(i, line)| eprintln!("  {i}: {line}"));
        }
    }
}

/// An array in a few words. Not by `Debug`, which reads the elements, and so waits for them.
fn name(array: &UsmArray) -> String {
    format!("{} {:?} {:?}", array.dtype(), array.shape(), array.layout().strides())
}

fn names(handles: &[Handle]) -> String {
    handles.iter().map(|h| name(&h.array)).collect::<Vec<_>>().join(", ")
}
