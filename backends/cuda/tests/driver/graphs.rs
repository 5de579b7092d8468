//! Captured pieces of program: given once command by command, then as a graph of the driver, which goes with them.

use stridewise_core::memory::UsmMemory;
use stridewise_core::{Queue, Scalar, UsmKind};
use stridewise_cuda_stub::Stub;

use crate::scenario::{QUEUES, replays};
use crate::setup::{device, gone, watched};

#[test]
fn what_is_replayed_is_launched_as_one() {
    let stub = Stub::take();
    let before = stub.live();
    for properties in QUEUES {
        stub.reset();
        watched("replays", || {
            let queue = Queue::new(&device(), properties).unwrap();
            replays(&queue).unwrap();
            // Five replays, of which the first one is given command by command.
            assert_eq!((stub.calls("cuGraphLaunch"), stub.calls("cuGraphInstantiateWithFlags")), (4, 1));
        });
        gone(&stub, before, "replays");
    }
}

#[test]
fn a_driver_that_records_nothing_is_given_the_commands() {
    let stub = Stub::take();
    let before = stub.live();
    for call in ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"] {
        for absent in [false, true] {
            stub.reset();
            watched(call, || {
                match absent {
                    true => stub.lacks(call),
                    false => stub.fail(call, 1, 901),
                }
                replays(&device().queue().unwrap()).unwrap();
                assert_eq!(stub.calls("cuGraphLaunch"), 0, "{call}");
            });
            gone(&stub, before, call);
        }
    }
}

#[test]
fn many_graphs_come_and_go() {
    let stub = Stub::take();
    let before = stub.live();
    watched("graphs", || {
        let queue = device().queue().unwrap();
        let memory = UsmMemory::new(UsmKind::Device, 4096, &queue).unwrap();
        for round in 0..3 {
            let graphs: Vec<_> = (0..100_u8)
                .map(|number| {
                    let capture = queue.capture(|queue| {
                        queue.fill(&memory, 0, Scalar::U8(number), 4096, &[])?;
                        queue.fill(&memory, 0, Scalar::U8(number + round), 2048, &[])
                    });
                    capture.unwrap().0
                })
                .collect();
            for (number, graph) in graphs.iter().enumerate() {
                graph.repeat(3).unwrap();
                let (number, bytes) = (number as u8, memory.to_bytes().unwrap());
                assert!(bytes[..2048].iter().all(|&byte| byte == number + round), "{number}");
                assert!(bytes[2048..].iter().all(|&byte| byte == number), "{number}");
            }
        }
    });
    gone(&stub, before, "many graphs");
}
