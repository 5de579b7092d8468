//! Random work on several queues of one or two devices, against the same work in plain Rust, in the order of submission.

use stridewise_core::memory::UsmMemory;
use stridewise_core::{Device, Queue, Result, Scalar};
use stridewise_cuda_stub::Stub;

use crate::scenario::{QUEUES, check, kinds};
use crate::setup::{device, devices, gone, watched};

/// Bytes of each allocation: more than the thread that submits a copy moves by itself.
const BYTES: usize = 200_000;

/// Random copies, fills and tasks in memory of all devices; at the end, memory holds what it would had each waited for the one before.
pub(crate) fn random_work(devices: &[Device], seed: u64, steps: usize) -> Result<()> {
    let mut state = seed | 1;
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % most
    };
    let of_one = |device| QUEUES.iter().map(|properties| Queue::new(device, *properties)).collect();
    let queues: Vec<Vec<Queue>> = devices.iter().map(of_one).collect::<Result<_>>()?;
    let kinds = kinds(&devices[0]);
    let place_of = |number: usize| (number % devices.len(), kinds[number / devices.len() % kinds.len()]);
    let memory: Vec<UsmMemory> = (0..6 * devices.len())
        .map(place_of)
        .map(|(device, kind)| UsmMemory::new(kind, BYTES, &queues[device][0]))
        .collect::<Result<_>>()?;
    let mut model = vec![vec![0_u8; BYTES]; memory.len()];
    for (memory, model) in memory.iter().zip(&model) {
        memory.copy_from_host(0, model)?;
    }
    let mut events = Vec::new();
    for step in 0..steps {
        let (from, to) = (below(memory.len()), below(memory.len()));
        let queue = &queues[place_of(to).0][below(QUEUES.len())];
        let (start, place) = (below(BYTES), below(BYTES));
        let len = 1 + below(BYTES - start.max(place));
        let waits: Vec<_> = match events.is_empty() {
            true => Vec::new(),
            false => vec![stridewise_core::Event::clone(&events[below(events.len())])],
        };
        events.push(match below(10) {
            0 => queue.submit_host_task(|| Ok(()), &waits)?,
            1..5 => {
                let value = step as u8;
                model[to][place..place + len].fill(value);
                queue.fill(&memory[to], place, Scalar::U8(value), len, &waits)?
            }
            // Pageable memory of the host on one side.
            5 => {
                check(memory[from].to_bytes()? == model[from], format!("seed {seed}, step {step}"))?;
                continue;
            }
            _ if from == to => continue,
            _ => {
                let data = model[from][start..start + len].to_vec();
                model[to][place..place + len].copy_from_slice(&data);
                queue.memcpy((&memory[to], place), (&memory[from], start), len, &waits)?
            }
        });
    }
    for (number, (memory, model)) in memory.iter().zip(&model).enumerate() {
        check(memory.to_bytes()? == *model, format!("seed {seed}, allocation {number}"))?;
    }
    events.iter().try_for_each(stridewise_core::Event::wait)
}

#[test]
fn random_work_on_several_queues_is_done_in_the_order_of_its_accesses() {
    let stub = Stub::take();
    let before = stub.live();
    for seed in 1..=12 {
        watched("random work", || random_work(&devices(), seed * 0x9E37_79B9, 120)).unwrap();
    }
    gone(&stub, before, "random work");
}

#[test]
fn work_on_two_devices_is_done_in_the_order_of_its_accesses() {
    let stub = Stub::take();
    stub.devices(2);
    let before = stub.live();
    for seed in 1..=12 {
        watched("work on two devices", || random_work(&devices(), seed * 0x9E37_79B9, 120)).unwrap();
    }
    // Each device reaches the other one's memory from the first copy on.
    let enabled = stub.calls("cuCtxEnablePeerAccess");
    assert!((12..=24).contains(&enabled), "{enabled} times");
    gone(&stub, before, "work on two devices");
}

#[test]
fn what_is_held_back_in_the_driver_holds_its_dependents_and_nothing_else() {
    let stub = Stub::take();
    let before = stub.live();
    watched("held", || {
        let device = device();
        let queue = Queue::new(&device, QUEUES[0]).unwrap();
        let memory = UsmMemory::new(stridewise_core::UsmKind::Device, 1 << 16, &queue).unwrap();
        stub.hold(true);
        let first = queue.fill(&memory, 0, Scalar::U8(1), 1 << 16, &[]).unwrap();
        let task = queue.submit_host_task(|| Ok(()), std::slice::from_ref(&first)).unwrap();
        let second = queue.fill(&memory, 0, Scalar::U8(2), 100, std::slice::from_ref(&task)).unwrap();
        let free = queue.submit_host_task(|| Ok(()), &[]).unwrap();
        free.wait().unwrap();
        let (called, calls) = std::sync::mpsc::channel();
        let counted = std::thread::spawn({
            let second = second.clone();
            move || called.send(second.wait())
        });
        for event in [&first, &task, &second] {
            assert!(!event.status().is_terminal(), "{event:?}");
        }
        stub.hold(false);
        calls.recv().unwrap().unwrap();
        counted.join().unwrap().unwrap();
        assert!([&first, &task].iter().all(|event| event.status().is_terminal()));
        assert_eq!(memory.to_bytes().unwrap()[99..101], [2, 1]);
    });
    gone(&stub, before, "held");
}
