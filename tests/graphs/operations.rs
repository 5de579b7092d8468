//! What a graph may do next: each operation, by the engine and by the oracle.

use stridewise::backend::{EventStatus, Fold, self_overlaps};
use stridewise::{ArrayOrScalar, Dtype, Op, Queue, Reduction, Scalar, UsmMemory, Weak, concat, elementwise};

use super::{Graph, Handle, name, names};
use crate::model::{apply, put, reduce, wrap};
use crate::random::Rng;

const BINARY: [Op; 5] = [Op::Add, Op::Subtract, Op::Multiply, Op::Minimum, Op::Maximum];
const UNARY: [Op; 2] = [Op::Negative, Op::Square];
const TESTS: [Op; 2] = [Op::Less, Op::Equal];

impl Graph {
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

    pub(super) fn elementwise(&mut self) {
        let (queue, shape) = (self.queue(), self.shape());
        let (op, handles, weak, values, dtype) = self.expression(&queue, &shape);
        self.say(format!("{op:?} of {} and {weak:?} on {queue}", names(&handles)));
        let mut operands: Vec<ArrayOrScalar<'_>> = handles.iter().map(|h| (&h.array).into()).collect();
        operands.extend(weak.map(|value| ArrayOrScalar::Weak(value.into())));
        let array = elementwise(op, &operands).unwrap();
        assert_eq!((array.dtype(), array.shape()), (dtype, &shape[..]));
        self.keep(array, values);
    }

    pub(super) fn write_elementwise(&mut self) {
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

    pub(super) fn assign(&mut self) {
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

    pub(super) fn memcpy(&mut self) {
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

    pub(super) fn fill(&mut self) {
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

    pub(super) fn memset(&mut self) {
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
    pub(super) fn write_from_host(&mut self) {
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

    pub(super) fn concat(&mut self) {
        let queue = self.queue();
        let shape = self.shape();
        let parts: Vec<Handle> = (0..1 + self.rng.below(3)).map(|_| self.operand(&queue, &shape)).collect();
        self.say(format!("concat of {}", names(&parts)));
        let array = concat(&parts.iter().map(|p| &p.array).collect::<Vec<_>>(), Some(0)).unwrap();
        let values = parts.iter().flat_map(|part| self.values(part)).collect();
        self.keep(array, values);
    }

    pub(super) fn reduce(&mut self) {
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

    pub(super) fn barrier_or_task(&mut self) {
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
}
