//! Work that crosses devices, queues and threads: arrays that migrate, events of one driver in the waits of another,
//! failures that travel, queues that go while their work is pending.

use std::sync::mpsc::{Sender, channel};

use stridewise::backend::QueueProperties;
use stridewise::{
    Device, Dtype, Error, Event, Op, Queue, Reduction, Scalar, UsmArray, UsmMemory, devices as root_devices,
};

use crate::cell::{Case, Check, Stop, ensure, wrong};
use crate::forms::{Form, expect, place, read, visible_kind};

const N: usize = 50_021;
const THREADS: usize = 10;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("crossing::migration/f32", migration),
        Case::new("crossing::events/f32", events),
        Case::new("crossing::failures/f32", failures),
        Case::new("crossing::in_order_queue/f32", in_order),
        Case::new("crossing::dropped_queue/f32", dropped_queue),
        Case::new("crossing::threads_on_one_queue/f32", threads),
        Case::new("crossing::time_stamps/f32", time_stamps),
        Case::new("crossing::copies_of_every_length/u8", copies),
    ]
}

/// A queue of the host, which is another driver's for most devices.
fn host() -> Check<Queue> {
    match root_devices().iter().find(|device| device.capabilities().process_memory) {
        Some(device) => Ok(device.queue()?),
        None => Err(Stop::Unsupported("this program has no host device".to_owned())),
    }
}

fn numbers(queue: &Queue) -> Check<(UsmArray, Vec<f32>)> {
    let values: Vec<f32> = (0..N).map(|i| (i % 1000) as f32).collect();
    let scalars: Vec<Scalar> = values.iter().map(|&v| Scalar::F32(v)).collect();
    Ok((place(queue, &[N], Dtype::F32, &scalars, Form::C)?.0, values))
}

fn wanted(values: &[f32], f: impl Fn(f32) -> f32) -> Vec<Scalar> {
    values.iter().map(|&v| Scalar::F32(f(v))).collect()
}

/// A host task that ends when told to.
fn gate(queue: &Queue) -> Check<(Event, Sender<stridewise::Result<()>>)> {
    let (sender, receiver) = channel();
    let task = move || receiver.recv().unwrap_or(Ok(()));
    Ok((queue.submit_host_task(task, &[])?, sender))
}

fn migration(device: &Device) -> Check {
    let (there, here) = (device.queue()?, host()?);
    let (x, values) = numbers(&there)?;
    let doubled = x.binary(Op::Add, &x)?;
    let back = doubled.to_queue(&here)?.binary(Op::Add, Scalar::F32(1.0))?;
    expect(&"on the host", &back, &wanted(&values, |v| 2.0 * v + 1.0))?;
    let again = back.to_queue(&there)?.binary(Op::Multiply, Scalar::F32(2.0))?;
    expect(&"on the device again", &again, &wanted(&values, |v| 4.0 * v + 2.0))?;
    // With every other device of the machine, those of the same driver among them.
    for other in root_devices() {
        let moved = again.to_queue(&other.queue()?)?.binary(Op::Subtract, Scalar::F32(2.0))?;
        expect(&format_args!("on {other}"), &moved, &wanted(&values, |v| 4.0 * v))?;
        let home = moved.t().to_queue(&there)?;
        expect(&format_args!("back from {other}"), &home, &wanted(&values, |v| 4.0 * v))?;
    }
    Ok(())
}

fn events(device: &Device) -> Check {
    let (there, here) = (device.queue()?, host()?);
    let (x, values) = numbers(&there)?;
    let (y, _) = numbers(&here)?;
    for (first, second, a, b) in [(&here, &there, &y, &x), (&there, &here, &x, &y)] {
        let (task, open) = gate(first)?;
        // A chain over both drivers: gate, then one, then the other.
        let one = b.write_elementwise(Op::Add, &[b.into(), b.into()], std::slice::from_ref(&task))?;
        let two = a.write_elementwise(Op::Negative, &[a.into()], std::slice::from_ref(&one))?;
        ensure!(
            !one.status().is_terminal() && !two.status().is_terminal(),
            "begun before the gate was opened"
        );
        let barrier = second.submit_barrier(std::slice::from_ref(&two))?;
        ensure!(!barrier.status().is_terminal(), "a barrier before what it waits for");
        let _ = open.send(Ok(()));
        barrier.wait()?;
        ensure!(
            one.status().is_terminal() && two.status().is_terminal(),
            "a barrier before what it waits for"
        );
    }
    // x: doubled, then negated; y: negated, then doubled.
    expect(&"the device's", &x, &wanted(&values, |v| -2.0 * v))?;
    expect(&"the host's", &y, &wanted(&values, |v| -2.0 * v))
}

fn failures(device: &Device) -> Check {
    let (there, here) = (device.queue()?, host()?);
    let (x, values) = numbers(&there)?;
    for queue in [&here, &there] {
        let (task, open) = gate(queue)?;
        let failed = x.write_elementwise(Op::Add, &[(&x).into(), (&x).into()], &[task])?;
        let after = x.unary(Op::Negative)?;
        let _ = open.send(Err(Error::task("task", "told to fail", "nothing else", "none")));
        ensure!(matches!(failed.wait(), Err(Error::Dependency(_))), "a failure was not inherited");
        ensure!(after.wait().is_err(), "what reads a failed write does not fail");
        // What overwrites a failed write does not fail.
        let (fresh, _) = numbers(&there)?;
        x.assign(&fresh)?;
        expect(&"after a failure", &x, &wanted(&values, |v| v))?;
    }
    Ok(())
}

fn in_order(device: &Device) -> Check {
    let queue = Queue::new(device, QueueProperties { in_order: true, profiling: false })?;
    let (x, values) = numbers(&queue)?;
    let (y, _) = numbers(&queue)?;
    let (task, open) = gate(&queue)?;
    // Neither names the task, or reads what the other writes.
    let first = x.write_elementwise(Op::Add, &[(&x).into(), Scalar::F32(1.0).into()], &[])?;
    let second = y.write_elementwise(Op::Add, &[(&y).into(), Scalar::F32(2.0).into()], &[])?;
    ensure!(!first.status().is_terminal() && !second.status().is_terminal(), "before an earlier command");
    let _ = open.send(Ok(()));
    second.wait()?;
    ensure!(task.status().is_terminal() && first.status().is_terminal(), "before an earlier command");
    expect(&"the first", &x, &wanted(&values, |v| v + 1.0))?;
    expect(&"the second", &y, &wanted(&values, |v| v + 2.0))
}

fn dropped_queue(device: &Device) -> Check {
    let (open, result, values) = {
        let queue = Queue::new(device, QueueProperties::default())?;
        let (x, values) = numbers(&queue)?;
        let (task, open) = gate(&queue)?;
        x.write_elementwise(Op::Add, &[(&x).into(), Scalar::F32(1.0).into()], &[task])?;
        let result = x.to_queue(&device.queue()?)?;
        (open, result, values)
    };
    let _ = open.send(Ok(()));
    expect(&"of a queue that is gone", &result, &wanted(&values, |v| v + 1.0))
}

fn threads(device: &Device) -> Check {
    if device.info().name.contains("Oclgrind") {
        // Two of its commands at a time end the process.
        return Err(Stop::Unsupported(format!("{device}'s runtime cannot be used from several threads")));
    }
    let queue = device.queue()?;
    let (x, values) = numbers(&queue)?;
    let work = |number: usize| -> Check {
        let mut sum = x.binary(Op::Multiply, Scalar::F32(number as f32))?;
        for _ in 0..8 {
            sum = sum.binary(Op::Add, &x)?;
            let total = sum.reduce(Reduction::Max, None, false)?;
            ensure!(read(&total)?.len() == 1, "a maximum of several elements");
        }
        expect(&format_args!("thread {number}"), &sum, &wanted(&values, |v| v * number as f32 + 8.0 * v))
    };
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || work(number))).collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(_) => wrong!("a thread panicked"),
        })
    })
}

fn time_stamps(device: &Device) -> Check {
    let queue = Queue::new(device, QueueProperties { in_order: false, profiling: true })?;
    let (x, _) = numbers(&queue)?;
    let first = x.write_elementwise(Op::Add, &[(&x).into(), (&x).into()], &[])?;
    let second = x.write_elementwise(Op::Exp, &[(&x).into()], &[])?;
    second.wait()?;
    let (one, two) = (first.profiling_info()?, second.profiling_info()?);
    for profile in [one, two] {
        ensure!(
            profile.submitted <= profile.started && profile.started <= profile.ended,
            "stamps out of order: {profile:?}"
        );
    }
    ensure!(one.ended <= two.started, "begun before what it reads was written: {one:?}, {two:?}");
    Ok(())
}

/// Through the host and back, and within the device, across the lengths at which copies change their way.
fn copies(device: &Device) -> Check {
    let queue = device.queue()?;
    for bytes in [1_usize, 3, 64, 4097, (1 << 20) + 5, (9 << 20) + 3] {
        let data: Vec<u8> = (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect();
        for kind in [stridewise::UsmKind::Device, visible_kind(device)] {
            let (a, b) =
                (UsmMemory::new(kind, bytes + 32, &queue)?, UsmMemory::new(kind, bytes + 32, &queue)?);
            a.copy_from_host(16, &data)?;
            queue.memcpy((&b, 5), (&a, 16), bytes, &[])?;
            let mut back = vec![0; bytes];
            b.copy_to_host(5, &mut back)?;
            match (0..bytes).find(|&i| back[i] != data[i]) {
                None => {}
                Some(i) => wrong!("{bytes} bytes in {kind} memory: byte {i} is {}, not {}", back[i], data[i]),
            }
        }
    }
    Ok(())
}
