//! What is dropped while work is pending: queues, events, arrays, sub-devices and foreign memory.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use stridewise::backend::QueueProperties;
use stridewise::{
    ArrayOrScalar, Context, Device, Dtype, Event, Op, Queue, Reduction, Scalar, UsmArray, UsmKind, UsmMemory,
    UsmPtr, Weak, concat, s,
};

use crate::random::Rng;

pub(crate) fn weak(value: i64) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Weak(Weak::Int(value.into()))
}

/// Counts of foreign memory.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) adopted: AtomicUsize,
    pub(crate) deleted: AtomicUsize,
    pub(crate) early: AtomicUsize,
}

/// Memory of this test in the engine's hands. Its deleter frees it, and complains where work may still use it.
pub(crate) fn adopt(queue: &Queue, words: usize, counts: &Arc<Counts>, opened: &Arc<AtomicBool>) -> UsmArray {
    let start = Box::into_raw(vec![1_i64; words].into_boxed_slice());
    let ptr = UsmPtr::new(start.cast());
    let words_back = Words(start);
    let (seen, open) = (Arc::clone(counts), Arc::clone(opened));
    let deleter = Box::new(move || {
        if !open.load(Ordering::SeqCst) {
            seen.early.fetch_add(1, Ordering::SeqCst);
        }
        words_back.free();
        seen.deleted.fetch_add(1, Ordering::SeqCst);
    });
    counts.adopted.fetch_add(1, Ordering::SeqCst);
    // SAFETY: the words are this test's and nothing else uses them until the deleter frees them.
    let memory =
        unsafe { UsmMemory::from_foreign(UsmKind::Host, ptr, words * 8, queue, Some(deleter)) }.unwrap();
    UsmArray::builder([words]).dtype(Dtype::I64).buffer(&memory).build().unwrap()
}

/// A pointer that may go to another thread.
struct Words(*mut [i64]);
// SAFETY: whoever has it is the one who frees it.
unsafe impl Send for Words {}

impl Words {
    fn free(self) {
        // SAFETY: made from a box by `adopt` and freed once, since this takes it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// A host task that ends when told to, or when nobody can tell it any more.
pub(crate) fn gate(queue: &Queue, opened: &Arc<AtomicBool>) -> (Event, Sender<()>) {
    let (sender, receiver) = channel();
    let opened = Arc::clone(opened);
    let task = move || {
        let _ = receiver.recv();
        opened.store(true, Ordering::SeqCst);
        Ok(())
    };
    (queue.submit_host_task(task, &[]).unwrap(), sender)
}

/// One round: pending work on arrays of all sorts, and everything dropped in random order.
pub(crate) fn round(rng: &mut Rng, devices: &[Device], counts: &Arc<Counts>) {
    let device = rng.pick(devices).clone();
    let context = Context::new(std::slice::from_ref(&device)).unwrap();
    let properties = QueueProperties { in_order: rng.chance(30), profiling: rng.chance(20) };
    let queue = Queue::in_context(&context, &device, properties).unwrap();
    let len = *rng.pick(&[5, 700, 20_000]);
    let kind = *rng.pick(&UsmKind::ALL);
    let opened = Arc::new(AtomicBool::new(false));
    let x = UsmArray::full(&queue, &[len], Scalar::I64(1), kind).unwrap();
    let (blocked, open) = gate(&queue, &opened);
    let foreign = adopt(&queue, 100, counts, &opened);

    // What depends on the blocked task is pending from here on.
    let gate = std::slice::from_ref(&blocked);
    let write = x.write_elementwise(Op::Add, &[(&x).into(), weak(1)], gate).unwrap();
    let touched = queue.fill(&foreign.usm_data().unwrap(), 0, Scalar::I64(7), 100, gate).unwrap();
    let mut things: Vec<Box<dyn Any + Send>> = vec![Box::new(open), Box::new(touched)];
    let recorded = x.binary(Op::Multiply, weak(3)).unwrap();
    let fused = recorded.binary(Op::Subtract, &x).unwrap();
    match rng.below(6) {
        0 => things.push(Box::new(fused.event().unwrap())),
        1 => things.push(Box::new(fused.reduce(Reduction::Sum, None, false).unwrap())),
        2 => things.push(Box::new(concat(&[&fused, &x], Some(0)).unwrap())),
        3 => things.push(Box::new(queue.submit_barrier(&[]).unwrap())),
        4 => things.push(Box::new(x.slice(s![..;-1]).unwrap().assign(&x).unwrap())),
        _ => {}
    }
    if rng.chance(30) {
        let sibling = Queue::in_context(&context, &device, QueueProperties::default()).unwrap();
        let y = x.to_queue(&sibling).unwrap().binary(Op::Add, weak(1)).unwrap();
        things.extend([Box::new(y.usm_data().unwrap()) as Box<dyn Any + Send>, Box::new(sibling)]);
    }
    things.push(Box::new(write));
    things.push(Box::new(blocked));
    for array in [x, recorded, fused, foreign] {
        things.push(Box::new(array));
    }
    things.push(Box::new(queue));
    things.push(Box::new(context));
    things.push(Box::new(device));
    while !things.is_empty() {
        let index = rng.below(things.len());
        drop(things.swap_remove(index));
    }
}
