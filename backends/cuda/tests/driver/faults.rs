//! Faults after which the context is lost: what was under way fails, what comes is refused, nothing hangs, and all is given up.

use stridewise_core::backend::{Language, Source};
use stridewise_core::kernel::KernelBundle;
use stridewise_core::memory::UsmMemory;
use stridewise_core::{Error, Event, Queue, Scalar, UsmKind};
use stridewise_cuda_stub::Stub;

use crate::scenario::QUEUES;
use crate::setup::{device, gone, of_the_driver, watched};

const FAULT: &str = ".version 6.0\n.visible .entry fault(.param .u64 a) { trap; }\n";

#[test]
fn a_fault_in_a_kernel_reaches_every_event_and_the_process_goes_on() {
    let stub = Stub::take();
    let before = stub.live();
    for properties in QUEUES {
        stub.reset();
        watched("fault", || {
            let lost = device();
            let queue = Queue::new(&lost, properties).unwrap();
            let memory = UsmMemory::new(UsmKind::Device, 1 << 16, &queue).unwrap();
            let bundle =
                KernelBundle::compile(&queue, Source::new(Language::Ptx, FAULT.as_bytes()), "").unwrap();
            stub.hold(true);
            let kernel = bundle.kernel("fault").unwrap();
            // SAFETY: the stub runs nothing.
            let faulty = unsafe { kernel.launch(&queue, 1, &[(&memory).into()], &[]) }.unwrap();
            let behind = queue.fill(&memory, 0, Scalar::U8(1), 1 << 16, &[]).unwrap();
            let task = queue.submit_host_task(|| Ok(()), std::slice::from_ref(&behind)).unwrap();
            let last = queue.fill(&memory, 0, Scalar::U8(2), 100, std::slice::from_ref(&task)).unwrap();
            stub.hold(false);
            // Nobody waits for those before: the last one is told all the same.
            for event in [&last, &task, &behind, &faulty] {
                let error = Event::wait(event).unwrap_err();
                assert!(of_the_driver(&error) && error.to_string().contains("ILLEGAL_ADDRESS"), "{error}");
            }
            let refused = queue.fill(&memory, 0, Scalar::U8(3), 100, &[]).map(drop);
            assert!(matches!(refused, Err(Error::Runtime(_) | Error::Dependency(_))), "{refused:?}");
            let refused = UsmMemory::new(UsmKind::Device, 9 << 20, &queue).map(drop);
            assert!(matches!(refused, Err(Error::Runtime(_))), "{refused:?}");
        });
        gone(&stub, before, "a device that was lost");
        stub.reset();
        // A healthy one, as another process would have it.
        let queue = device().queue().unwrap();
        let memory = UsmMemory::new(UsmKind::Device, 100, &queue).unwrap();
        memory.copy_from_host(0, &[3; 100]).unwrap();
        assert_eq!(memory.to_bytes().unwrap(), [3; 100]);
        drop((memory, queue));
        gone(&stub, before, "a healthy device");
    }
}

#[test]
fn a_device_may_be_lost_at_any_call() {
    let stub = Stub::take();
    let before = stub.live();
    let run = || -> stridewise_core::Result<()> {
        let Some(device) = crate::setup::devices().into_iter().next() else { return Ok(()) };
        let queue = Queue::new(&device, QUEUES[0])?;
        crate::scenario::events(&queue)?;
        crate::scenario::copies(&queue, &[1000, 70_000])
    };
    watched("healthy", run).unwrap();
    for nth in (1..200).step_by(3) {
        stub.reset();
        // The code of a loss, which the backend takes as one.
        stub.fail_nth(nth, 719);
        let what = format!("lost at call {nth}");
        if let Err(error) = watched(&what, run) {
            assert!(of_the_driver(&error), "{what}: {error}");
        }
        gone(&stub, before, &what);
    }
}
