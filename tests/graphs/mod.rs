//! Random work through the public interface, beside a serial oracle of plain loops.
//!
//! Every operation is done twice: by the engine, which records, fuses, submits and overlaps as it likes, and at once on
//! byte buffers of the oracle. Whatever was going on, an array must hold what its buffer holds.

use stridewise::backend::{EventStatus, QueueProperties};
use stridewise::{
    ArrayOrScalar, Context, Device, Dtype, Event, Fold, Op, Queue, Reduction, Scalar, SliceItem, UsmArray,
    UsmKind, UsmMemory, Weak, concat, elementwise, self_overlaps,
};

use crate::model::{Model, apply, get, put, reduce, wrap};
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
    seed: u64,
}

const BINARY: [Op; 5] = [Op::Add, Op::Subtract, Op::Multiply, Op::Minimum, Op::Maximum];
const UNARY: [Op; 2] = [Op::Negative, Op::Square];
const TESTS: [Op; 2] = [Op::Less, Op::Equal];

impl Graph {
    /// A graph on arrays of about `elements` elements (at least 6).
    pub(crate) fn new(seed: u64, device: &Device, side: Side, elements: usize) -> Self {
        let mut rng = Rng::new(seed);
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
            seed,
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

    /// An operation with its operands: the recorded value by the oracle, and the shape.
    fn expression(
        &mut self,
        queue: &Queue,
        shape: &[usize],
    ) -> (Op, Vec<Handle>, Option<i64>, Vec<i64>, Dtype) {
        let kind = self.rng.below(10);
        let op = match kind {
            0..6 => *self.rng.pick(&BINARY),
            6..8 => *self.rng.pick(&UNARY),
            8 => *self.rng.pick(&TESTS),
            _ => Op::Where,
        };
        let mut handles = Vec::new();
        let mut columns: Vec<Vec<i64>> = Vec::new();
        let mut weak = None;
        let len: usize = shape.iter().product();
        if op == Op::Where {
            let x = self.operand(queue, shape);
            let values = self.values(&x);
            let condition = x.array.binary(Op::Less, ArrayOrScalar::Weak(Weak::Int(3))).unwrap();
            columns.push(values.iter().map(|&v| i64::from(v < 3)).collect());
            self.keep(condition, columns[0].clone());
            handles.push(self.handles.last().expect("just kept").clone());
        }
        while handles.len() < op.arity() {
            if !handles.is_empty() && op != Op::Where && self.rng.chance(20) {
                let value = self.rng.below(9) as i64 - 4;
                weak = Some(value);
                columns.push(vec![value; len]);
                break;
            }
            // Sometimes one row, broadcast.
            let row = shape.len() == 2 && !handles.is_empty() && self.rng.chance(20);
            let inner = if row { &shape[1..] } else { shape };
            let handle = self.operand(queue, inner);
            let values = self.values(&handle);
            columns.push(values.iter().copied().cycle().take(len).collect());
            handles.push(handle);
        }
        let numbers = handles.iter().filter(|h| h.array.dtype() != Dtype::Bool);
        let wide = numbers.clone().any(|h| h.array.dtype() == Dtype::I64);
        let dtype = if wide { Dtype::I64 } else { Dtype::I32 };
        let mut x = [0; 3];
        let values = (0..len).map(|i| {
            columns.iter().enumerate().for_each(|(k, column)| x[k] = column[i]);
            apply(op, dtype, &x[..columns.len()])
        });
        (op, handles, weak, values.collect(), op.result(dtype))
    }

    fn elementwise(&mut self) {
        let (queue, shape) = (self.queue(), self.shape());
        let (op, handles, weak, values, dtype) = self.expression(&queue, &shape);
        self.say(format!("{op:?} of {} and {weak:?} on {queue}", names(&handles)));
        let mut operands: Vec<ArrayOrScalar<'_>> = handles.iter().map(|h| (&h.array).into()).collect();
        operands.extend(weak.map(|value| ArrayOrScalar::Weak(value.into())));
        let array = elementwise(op, &operands).unwrap();
        assert_eq!((array.dtype(), array.shape()), (dtype, &shape[..]));
        self.keep(array, values);
    }

    fn write_elementwise(&mut self) {
        let (queue, shape, depends) = (self.queue(), self.shape(), self.depends());
        let (op, handles, weak, values, _) = self.expression(&queue, &shape);
        let target = self.target(&queue, &shape);
        self.say(format!("{op:?} of {} and {weak:?} into {}", names(&handles), name(&target.array)));
        let mut operands: Vec<ArrayOrScalar<'_>> = handles.iter().map(|h| (&h.array).into()).collect();
        operands.extend(weak.map(|value| ArrayOrScalar::Weak(value.into())));
        let event = target.array.write_elementwise(op, &operands, &depends).unwrap();
        self.set_values(&target, values);
        self.note(event, depends);
    }

    /// Something to write to: mostly base memory, sometimes a result, which others may read meanwhile.
    fn target(&mut self, queue: &Queue, shape: &[usize]) -> Handle {
        if self.rng.chance(25) {
            let handle = self.operand(queue, shape);
            if handle.array.flags().writable && !self_overlaps(handle.array.layout()) {
                return handle;
            }
        }
        self.view(queue, shape, true)
    }

    fn assign(&mut self) {
        let (queue, shape) = (self.queue(), self.shape());
        let target = self.target(&queue, &shape);
        if self.rng.chance(20) {
            let value = self.rng.below(50) as i64;
            self.say(format!("{value} into {}", name(&target.array)));
            let event = target.array.assign(ArrayOrScalar::Weak(value.into())).unwrap();
            let len = target.array.len();
            self.set_values(&target, std::iter::repeat_n(value, len));
            return self.note(event, Vec::new());
        }
        let source = self.operand(&queue, &shape);
        self.say(format!("{} into {}", name(&source.array), name(&target.array)));
        let event = target.array.assign(&source.array).unwrap();
        let values = self.values(&source);
        self.set_values(&target, values);
        self.note(event, Vec::new());
    }

    fn memcpy(&mut self) {
        let (queue, depends) = (self.queue(), self.depends());
        let (to, from) = (self.rng.below(self.bases.len()), self.rng.below(self.bases.len()));
        let (dst, src) = (&self.bases[to], &self.bases[from]);
        let most = dst.memory.bytes().min(src.memory.bytes());
        let bytes = 1 + self.rng.below(most / 2);
        let at = |rng: &mut Rng, memory: &UsmMemory| rng.below(memory.bytes() - bytes + 1);
        let (dst_offset, src_offset) = (at(&mut self.rng, &dst.memory), at(&mut self.rng, &src.memory));
        let event =
            queue.memcpy((&dst.memory, dst_offset), (&src.memory, src_offset), bytes, &depends).unwrap();
        let data = self.buffers[src.buffer][src_offset..][..bytes].to_vec();
        self.buffers[dst.buffer][dst_offset..][..bytes].copy_from_slice(&data);
        self.say(format!(
            "memcpy {bytes} bytes, base {from} at {src_offset} to base {to} at {dst_offset}, {queue}"
        ));
        self.note(event, depends);
    }

    fn fill(&mut self) {
        let (queue, depends) = (self.queue(), self.depends());
        let base = &self.bases[self.rng.below(self.bases.len())];
        let value = self.rng.below(1000) as i64 - 500;
        let scalar = if self.rng.chance(70) { Scalar::I64(value) } else { Scalar::I32(value as i32) };
        let size = scalar.dtype().size();
        let elements = base.memory.bytes() / size;
        let len = 1 + self.rng.below(elements);
        let start = self.rng.below(elements - len + 1);
        let event = queue.fill(&base.memory, start * size, scalar, len, &depends).unwrap();
        for chunk in self.buffers[base.buffer][start * size..][..len * size].chunks_mut(size) {
            put(chunk, scalar.dtype(), value);
        }
        self.say(format!("fill {len} {} from {start} with {value}, {queue}", scalar.dtype()));
        self.note(event, depends);
    }

    fn memset(&mut self) {
        let (queue, depends) = (self.queue(), self.depends());
        let base = &self.bases[self.rng.below(self.bases.len())];
        let bytes = 1 + self.rng.below(base.memory.bytes() / 3);
        let start = self.rng.below(base.memory.bytes() - bytes + 1);
        let value = self.rng.below(256) as u8;
        let event = queue.memset(&base.memory, start, value, bytes, &depends).unwrap();
        self.buffers[base.buffer][start..][..bytes].fill(value);
        self.say(format!("memset {bytes} bytes from {start}, {queue}"));
        self.note(event, depends);
    }

    /// Host code writes: bytes into memory of any kind, or elements through a host view.
    fn write_from_host(&mut self) {
        let (queue, shape) = (self.queue(), self.shape());
        if self.rng.chance(50) {
            let base = &self.bases[self.rng.below(self.bases.len())];
            let data: Vec<u8> = (0..1 + self.rng.below(40)).map(|i| i as u8).collect();
            let start = self.rng.below(base.memory.bytes() - data.len() + 1);
            base.memory.copy_from_host(start, &data).unwrap();
            self.buffers[base.buffer][start..][..data.len()].copy_from_slice(&data);
            return self.say(format!("{} bytes from the host to {start}", data.len()));
        }
        let mut handle = self.view(&queue, &shape, true);
        self.say(format!("host view of {}", name(&handle.array)));
        if !handle.array.usm_kind().host_accessible() {
            return;
        }
        let values: Vec<i64> =
            self.values(&handle).iter().map(|v| wrap(handle.array.dtype(), v.wrapping_add(7))).collect();
        if handle.array.dtype() == Dtype::I64 {
            handle.array.host_view_mut::<i64>().unwrap().for_each_mut(|x| *x = x.wrapping_add(7));
        } else {
            handle.array.host_view_mut::<i32>().unwrap().for_each_mut(|x| *x = x.wrapping_add(7));
        }
        self.set_values(&handle, values);
    }

    fn concat(&mut self) {
        let queue = self.queue();
        let shape = self.shape();
        let parts: Vec<Handle> = (0..1 + self.rng.below(3)).map(|_| self.operand(&queue, &shape)).collect();
        self.say(format!("concat of {}", names(&parts)));
        let array = concat(&parts.iter().map(|p| &p.array).collect::<Vec<_>>(), Some(0)).unwrap();
        let values = parts.iter().flat_map(|part| self.values(part)).collect();
        self.keep(array, values);
    }

    fn reduce(&mut self) {
        let (queue, shape) = (self.queue(), self.shape());
        let source = self.operand(&queue, &shape);
        let (reduction, fold) = *self.rng.pick(&[
            (Reduction::Sum, Fold::Op(Op::Add)),
            (Reduction::Min, Fold::Op(Op::Minimum)),
            (Reduction::Max, Fold::Op(Op::Maximum)),
            (Reduction::ArgMax, Fold::ArgMax),
            (Reduction::Any, Fold::Op(Op::Maximum)),
        ]);
        let axis = self.rng.below(shape.len() + 1);
        let axes = [axis as isize];
        let axes = (axis < shape.len()).then_some(&axes[..]);
        self.say(format!("{reduction:?} of {} over {axes:?}", name(&source.array)));
        let array = source.array.reduce(reduction, axes, false).unwrap();
        let accumulator = match reduction {
            Reduction::Sum => Dtype::I64,
            Reduction::Any => Dtype::Bool,
            _ => source.array.dtype(),
        };
        let values: Vec<i64> = self.values(&source).iter().map(|&v| wrap(accumulator, v)).collect();
        let folded = match axes.map(|_| axis) {
            None => vec![reduce(fold, accumulator, &values)],
            Some(axis) => {
                let inner: usize = shape[axis + 1..].iter().product();
                let outer: usize = shape[..axis].iter().product();
                let along = |o: usize, i: usize| -> Vec<i64> {
                    (0..shape[axis]).map(|k| values[(o * shape[axis] + k) * inner + i]).collect()
                };
                let pairs = (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i)));
                pairs.map(|(o, i)| reduce(fold, accumulator, &along(o, i))).collect()
            }
        };
        self.keep(array, folded);
    }

    fn barrier_or_task(&mut self) {
        let (queue, depends) = (self.queue(), self.depends());
        if self.rng.chance(50) {
            let event = queue.submit_barrier(&depends).unwrap();
            self.say(format!("barrier behind {} events, {queue}", depends.len()));
            return self.note(event, depends);
        }
        let watched = depends.clone();
        let task = move || {
            assert!(watched.iter().all(|event| event.status() == EventStatus::Complete), "begun too early");
            Ok(())
        };
        let event = queue.submit_host_task(task, &depends).unwrap();
        self.say(format!("host task behind {} events, {queue}", depends.len()));
        self.note(event, depends);
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
            eprintln!("graph with seed {}:", self.seed);
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
