//! Faults, one by one, that checked mode names.

use stridewise_core::kernel::oracle::Checks;
use stridewise_core::kernel::{
    AtomicOp, Coordinate::*, Fence, Kernel, KernelBuilder, Level::*, MemoryOrder, MemoryScope, NdRange,
    Position, Rule,
};
use stridewise_core::{Dtype, Error, Op, Result, Scalar};

use super::{Given, given, launch, queues, same_as_oracle};

fn line(k: &mut KernelBuilder, line: u32) {
    k.at(Some(Position { file: "kernel.py".into(), line, column: 1, length: 1 }));
}

fn build(build: impl FnOnce(&mut KernelBuilder) -> Result<()>) -> Kernel {
    let mut k = KernelBuilder::new("faulty", 1).unwrap();
    line(&mut k, 1);
    build(&mut k).and_then(|()| k.finish()).unwrap()
}

/// Asserts that every level names a broken rule and its line in checked mode, and ends without it otherwise, but for assertions.
#[track_caller]
fn breaks(kernel: &Kernel, range: &NdRange, arguments: &[Given], rule: Rule, at: u32) -> String {
    let mut text = String::new();
    for queue in queues() {
        match launch(queue, kernel, range, arguments, true) {
            Err(Error::Kernel(found)) => {
                assert_eq!((found.rule, found.at.line), (rule, at), "{found}");
                text = found.to_string();
            }
            other => panic!("{:?}", other.map(|_| "no error")),
        }
        match launch(queue, kernel, range, arguments, false) {
            Err(Error::Kernel(found)) if rule == Rule::Assertion => assert_eq!(found.at.line, at, "{found}"),
            outcome => {
                assert!(outcome.is_ok() && rule != Rule::Assertion, "{:?}", outcome.map(|_| "no error"))
            }
        }
    }
    text
}

#[test]
fn races_in_local_memory() {
    // Each item hands its value to the next one, twice.
    let shift = |first: bool, second: bool| {
        build(|k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            let tile = k.local("tile", Dtype::I32, &[300])?;
            let (l, n) = (k.index(Local, Id(0))?, k.index(Local, Range(0))?);
            let next = k.binary(Op::Add, l, 1)?;
            let next = k.binary(Op::Remainder, next, n)?;
            k.store(tile, [l], l)?;
            k.barrier(Fence::LOCAL);
            line(k, 2);
            let x = k.load(tile, [next])?;
            if first {
                k.barrier(Fence::LOCAL);
            }
            line(k, 3);
            k.store(tile, [l], x)?;
            if second {
                k.barrier(Fence::LOCAL);
            }
            line(k, 4);
            let y = k.load(tile, [next])?;
            k.store(a, [l], y)
        })
    };
    let range = NdRange::in_groups(&[300], &[300]);
    let found = same_as_oracle(&shift(true, true), &range, &[given([0_i32; 300])], Checks::ALL);
    assert_eq!(found[0][..2], [Scalar::I32(2), Scalar::I32(3)]);
    // A write of one frame's lanes against what another one's have read before, or within one.
    let text = breaks(&shift(false, true), &range, &[given([0_i32; 300])], Rule::Race, 3);
    assert!(
        text.contains("writes `tile[") && text.contains("note: kernel.py:2:1: the other access"),
        "{text}"
    );
    let text = breaks(&shift(true, false), &range, &[given([0_i32; 300])], Rule::Race, 4);
    assert!(text.contains("reads `tile["), "{text}");
}

#[test]
fn races_between_groups() {
    let kernel = build(|k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let (g, l) = (k.index(Group, Id(0))?, k.index(Local, Id(0))?);
        let i = k.binary(Op::Add, l, g)?;
        line(k, 2);
        k.store(a, [i], g)
    });
    let text = breaks(&kernel, &NdRange::in_groups(&[8], &[4]), &[given([0_i32; 5])], Rule::Race, 2);
    assert!(text.contains("item (4) writes `a[1]`, which item (1) writes"), "{text}");
    let at = (MemoryOrder::Relaxed, MemoryScope::Device);
    let atomic = |plain: bool| {
        build(|k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            line(k, 2);
            k.atomic(AtomicOp::Add, a, [0], Some(1.into()), at)?;
            line(k, 3);
            if plain {
                k.load(a, [0])?
            } else {
                k.atomic(AtomicOp::Load, a, [0], None, at)?
            };
            Ok(())
        })
    };
    same_as_oracle(&atomic(false), &NdRange::in_groups(&[8], &[4]), &[given([0_i32])], Checks::ALL);
    breaks(&atomic(true), &NdRange::in_groups(&[8], &[4]), &[given([0_i32])], Rule::Race, 3);
}

#[test]
fn indices_out_of_range() {
    for (global, lane) in [(1, "(0)"), (400, "(0)")] {
        let kernel = build(|k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            let i = k.index(Global, Id(0))?;
            let before = k.binary(Op::Subtract, i, 1)?;
            line(k, 2);
            let x = k.load(a, [before])?;
            k.store(a, [i], x)
        });
        let text = breaks(
            &kernel,
            &NdRange::in_groups(&[global], &[1]),
            &[given([0_i32; 500])],
            Rule::OutOfBounds,
            2,
        );
        assert!(text.contains(&format!("item {lane} of group (0) accesses `a[-1]`")), "{text}");
    }
    let private = build(|k| {
        let own = k.private("own", Dtype::I32, &[3])?;
        let i = k.index(Global, Id(0))?;
        line(k, 2);
        k.store(own, [i], i)
    });
    let text = breaks(&private, &NdRange::in_groups(&[5], &[5]), &[], Rule::OutOfBounds, 2);
    assert!(text.contains("item (3)") && text.contains("`own[3]`, of an array of shape [3]"), "{text}");
    // Only those count that take part.
    let guarded = build(|k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let (i, n) = (k.index(Global, Id(0))?, k.extent(a, 0)?);
        let inside = k.binary(Op::Less, i, n)?;
        k.if_(inside)?;
        k.store(a, [i], i)?;
        k.end()
    });
    same_as_oracle(&guarded, &[700].into(), &[given([0_i32; 500])], Checks::ALL);
}

#[test]
fn local_memory_that_nobody_has_written() {
    let kernel = build(|k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let tile = k.local("tile", Dtype::I32, &[8])?;
        let l = k.index(Local, Id(0))?;
        let first = k.binary(Op::Less, l, 4)?;
        k.if_(first)?;
        k.store(tile, [l], l)?;
        k.end()?;
        k.barrier(Fence::LOCAL);
        line(k, 2);
        let x = k.load(tile, [l])?;
        k.store(a, [l], x)
    });
    // Those of another group do not count.
    let range = NdRange::in_groups(&[8], &[8]);
    let text = breaks(&kernel, &range, &[given([0_i32; 8])], Rule::UninitialisedLocal, 2);
    assert!(text.contains("item (4) reads `tile[4]`"), "{text}");
    same_as_oracle(&kernel, &NdRange::in_groups(&[4], &[4]), &[given([0_i32; 8])], Checks::ALL);
}

/// The verifier takes an element at a uniform place to be the same for all; of items that race it need not be, but then the
/// race is found first.
#[test]
fn assertions() {
    let kernel = build(|k| {
        let i = k.index(Global, Id(0))?;
        let small = k.binary(Op::Less, i, 300)?;
        line(k, 2);
        k.assert(small, "i is small")
    });
    let text = breaks(&kernel, &NdRange::in_groups(&[400], &[400]), &[], Rule::Assertion, 2);
    assert!(text.contains("item (300): i is small"), "{text}");
    same_as_oracle(&kernel, &[300].into(), &[], Checks::ALL);
}

#[test]
#[ignore = "the limit is reached after minutes: run with cargo test --release -p stridewise-host --test kernels -- --ignored"]
fn an_endless_loop_ends_in_an_error() {
    let kernel = build(|k| {
        k.while_()?;
        let always = k.get(true)?;
        k.do_(always)?;
        k.end()
    });
    let queue = &queues()[0];
    let error = kernel.launch(queue, [1], &[], &[]).unwrap().wait().unwrap_err();
    assert!(matches!(&error, Error::Kernel(broken) if broken.rule == Rule::EndlessLoop), "{error}");
}
