use super::super::oracle::{Argument, Checks, Elements, run};
use super::super::{
    AtomicOp, Collective, Coordinate::*, Fence, Kernel, KernelBuilder, Level::*, MemoryOrder, MemoryScope,
    NdRange, Operand,
};
use super::{array, diagnostic, line, values};
use crate::diagnostic::Rule;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::ops::Op;
use crate::scalar::Scalar;

fn build(build: impl FnOnce(&mut KernelBuilder) -> Result<()>) -> Kernel {
    let mut k = KernelBuilder::new("k", 1).unwrap();
    line(&mut k, 1);
    build(&mut k).and_then(|()| k.finish()).unwrap()
}

fn groups(global: usize, group: usize) -> NdRange {
    NdRange::in_groups(&[global], &[group])
}

/// `barrier`: with the barrier that makes it right.
fn reverse(barrier: bool) -> Kernel {
    build(|k| {
        let a = k.global("a", Dtype::F32, 1, true)?;
        let tile = k.local_argument("tile", Dtype::F32, 1)?;
        let (g, l, n) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?, k.index(Local, Range(0))?);
        let x = k.load(a, [g])?;
        line(k, 2);
        k.store(tile, [l], x)?;
        if barrier {
            k.barrier(Fence::LOCAL);
        }
        let last = k.binary(Op::Subtract, n, 1)?;
        let other = k.binary(Op::Subtract, last, l)?;
        line(k, 3);
        let y = k.load(tile, [other])?;
        let sum = k.binary(Op::Add, x, y)?;
        k.store(a, [g], sum)
    })
}

#[test]
fn items_meet_at_barriers() {
    let mut arguments = [array((0..12).map(|i| i as f32)), Argument::Local(vec![4])];
    run(&reverse(true), &groups(12, 4), &mut arguments, Checks::ALL).unwrap();
    let expected: Vec<f32> = [3.0; 4].into_iter().chain([11.0; 4]).chain([19.0; 4]).collect();
    assert_eq!(values::<f32>(&arguments[0]), expected);
    // Without groups, all items are one.
    let mut arguments = [array((0..10).map(|i| i as f32)), Argument::Local(vec![10])];
    run(&reverse(true), &[10].into(), &mut arguments, Checks::ALL).unwrap();
    assert_eq!(values::<f32>(&arguments[0]), [9.0; 10]);
}

#[test]
fn a_missing_barrier_is_found() {
    let mut arguments = [array((0..8).map(|i| i as f32)), Argument::Local(vec![4])];
    let error = run(&reverse(false), &groups(8, 4), &mut arguments, Checks::ALL).unwrap_err();
    let found = diagnostic(&error);
    // The first item reads what no other has written yet.
    assert_eq!((found.rule, found.at.line), (Rule::UninitialisedLocal, 3), "{error}");
    assert!(found.message.contains("item (0) reads `tile[3]`"), "{error}");
}

#[test]
fn races_are_found_in_local_and_global_memory() {
    let all_write = |global: bool| {
        build(|k| {
            let a = match global {
                true => k.global("a", Dtype::I32, 1, true)?,
                false => k.local("a", Dtype::I32, &[2])?,
            };
            let i = k.index(Global, Id(0))?;
            line(k, 2);
            k.store(a, [1], i)
        })
    };
    let error = run(&all_write(false), &groups(4, 2), &mut [], Checks::ALL).unwrap_err();
    let found = diagnostic(&error);
    assert_eq!((found.rule, found.at.line, found.notes[0].0.line), (Rule::Race, 2, 2), "{error}");
    assert!(found.message.contains("item (1) writes `a[1]`, which item (0) writes"), "{error}");
    // Of two groups.
    let mut arguments = [array([0_i32, 0])];
    let error = run(&all_write(true), &groups(2, 1), &mut arguments, Checks::ALL).unwrap_err();
    assert_eq!(diagnostic(&error).rule, Rule::Race, "{error}");
    run(&all_write(true), &groups(2, 1), &mut arguments, Checks::NONE).unwrap();
    // A barrier of the other fence orders nothing here.
    let fenced = |fence| {
        build(|k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            let (i, n) = (k.index(Global, Id(0))?, k.index(Global, Range(0))?);
            k.store(a, [i], i)?;
            k.barrier(fence);
            let last = k.binary(Op::Subtract, n, 1)?;
            let other = k.binary(Op::Subtract, last, i)?;
            let x = k.load(a, [other])?;
            k.barrier(fence);
            k.store(a, [i], x)
        })
    };
    let mut arguments = [array([0_i32; 4])];
    run(&fenced(Fence::GLOBAL), &groups(4, 4), &mut arguments, Checks::ALL).unwrap();
    assert_eq!(values::<i32>(&arguments[0]), [3, 2, 1, 0]);
    let error = run(&fenced(Fence::LOCAL), &groups(4, 4), &mut arguments, Checks::ALL).unwrap_err();
    assert_eq!(diagnostic(&error).rule, Rule::Race, "{error}");
}

#[test]
fn indices_out_of_range_are_found_and_stay_inside_unchecked() {
    let shift = build(|k| {
        let a = k.global("a", Dtype::I32, 1, false)?;
        let b = k.global("b", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        let j = k.binary(Op::Subtract, i, 2)?;
        line(k, 2);
        let x = k.load(a, [j])?;
        k.store(b, [j], x)
    });
    let mut arguments = [array([1_i32, 2, 3, 4]), array([0_i32; 4])];
    let error = run(&shift, &[6].into(), &mut arguments, Checks::ALL).unwrap_err();
    let found = diagnostic(&error);
    assert_eq!((found.rule, found.at.line), (Rule::OutOfBounds, 2));
    assert!(
        found.message.contains("item (0) of group (0) accesses `a[-2]`, of an array of shape [4]"),
        "{error}"
    );
    run(&shift, &[7].into(), &mut arguments, Checks::NONE).unwrap();
    assert_eq!(values::<i32>(&arguments[1]), [1, 2, 3, 4]);
    let mut arguments = [array(Vec::<i32>::new()), array([5_i32; 2])];
    run(&shift, &[4].into(), &mut arguments, Checks::NONE).unwrap();
    assert_eq!(values::<i32>(&arguments[1]), [0, 0]);
}

#[test]
fn loops_branches_and_calls_do_what_they_say() {
    // The sum of odd numbers below i that are not 5, up to 11; −1 for item 3.
    let kernel = build(|k| {
        let a = k.global("a", Dtype::I64, 1, true)?;
        let (sum, result) = (k.variable("sum", Dtype::I64)?, k.variable("result", Dtype::I64)?);
        let i = k.index(Global, Id(0))?;
        k.call("f", Some(result))?;
        let third = k.binary(Op::Equal, i, 3)?;
        k.if_(third)?;
        k.return_(Some((-1).into()))?;
        k.end()?;
        k.set(sum, 0)?;
        let round = k.for_(1, i, 2)?;
        let five = k.binary(Op::Equal, round, 5)?;
        k.if_(five)?;
        k.continue_();
        k.end()?;
        let much = k.binary(Op::Greater, round, 11)?;
        k.if_(much)?;
        k.break_();
        k.end()?;
        let next = k.binary(Op::Add, sum, round)?;
        k.set(sum, next)?;
        k.end()?;
        k.return_(Some(sum.into()))?;
        k.end()?;
        k.store(a, [i], result)
    });
    let expected = |i: i64| if i == 3 { -1 } else { (1..i.min(12)).step_by(2).filter(|v| *v != 5).sum() };
    let mut arguments = [array([0_i64; 20])];
    run(&kernel, &[20].into(), &mut arguments, Checks::ALL).unwrap();
    assert_eq!(values::<i64>(&arguments[0]), (0..20).map(expected).collect::<Vec<_>>());
    // Backwards, of the whole range of a dtype, and with a step of 0.
    let count = |start: i32, end: i32, step: i32| {
        let kernel = build(|k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            let bounds = [start, end, step].map(Scalar::I32);
            let round = k.for_(bounds[0], bounds[1], bounds[2])?;
            let x = k.load(a, [0])?;
            let x = k.binary(Op::Add, x, round)?;
            k.store(a, [0], x)?;
            let n = k.load(a, [1])?;
            let n = k.binary(Op::Add, n, 1)?;
            k.store(a, [1], n)?;
            k.end()
        });
        let mut arguments = [array([0_i32, 0])];
        run(&kernel, &[1].into(), &mut arguments, Checks::ALL).unwrap();
        values::<i32>(&arguments[0])
    };
    assert_eq!(count(5, 0, -2), [9, 3]);
    assert_eq!(count(0, 5, 0), [0, 0]);
    assert_eq!(count(i32::MAX - 5, i32::MAX, 4)[1], 2);
    assert_eq!(count(i32::MIN, i32::MAX, 1 << 30)[1], 4);
}

#[test]
fn endless_loops_and_false_assertions_are_found() {
    let wait = build(|k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        k.while_()?;
        line(k, 2);
        let at = (MemoryOrder::Acquire, MemoryScope::Device);
        let flag = k.atomic(AtomicOp::Load, a, [0], None, at)?;
        let waits = k.binary(Op::Equal, flag, 0)?;
        k.do_(waits)?;
        k.end()
    });
    let checks = Checks { enabled: true, steps: 1000 };
    let error = run(&wait, &[1].into(), &mut [array([0_i32])], checks).unwrap_err();
    assert_eq!((diagnostic(&error).rule, diagnostic(&error).at.line), (Rule::EndlessLoop, 2), "{error}");
    let barriers = build(|k| {
        k.while_()?;
        let always = k.get(true)?;
        k.do_(always)?;
        line(k, 3);
        k.barrier(Fence::LOCAL);
        k.end()
    });
    let error = run(&barriers, &[2].into(), &mut [], checks).unwrap_err();
    assert_eq!((diagnostic(&error).rule, diagnostic(&error).at.line), (Rule::EndlessLoop, 3), "{error}");
    let assertion = build(|k| {
        let i = k.index(Global, Id(0))?;
        let small = k.binary(Op::Less, i, 2)?;
        line(k, 4);
        k.assert(small, "i is small")
    });
    run(&assertion, &[2].into(), &mut [], Checks::ALL).unwrap();
    let error = run(&assertion, &[4].into(), &mut [], Checks::ALL).unwrap_err();
    assert_eq!((diagnostic(&error).rule, diagnostic(&error).at.line), (Rule::Assertion, 4));
    assert!(error.to_string().contains("item (2): i is small"), "{error}");
    let error = run(&assertion, &[4].into(), &mut [], Checks::NONE).unwrap_err();
    assert_eq!(diagnostic(&error).rule, Rule::Assertion, "without checks, too");
}

/// What is uniform by the rules need not be so where items race.
#[test]
fn a_barrier_that_not_all_items_come_to_is_found() {
    let kernel = build(|k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        k.store(a, [0], i)?;
        let x = k.load(a, [0])?;
        let go = k.binary(Op::Equal, x, 1)?;
        k.if_(go)?;
        line(k, 2);
        k.barrier(Fence::LOCAL);
        k.end()
    });
    let error = run(&kernel, &[3].into(), &mut [array([0_i32])], Checks::NONE).unwrap_err();
    let found = diagnostic(&error);
    assert_eq!((found.rule, found.at.line), (Rule::DivergentBarrier, 2));
    assert!(found.message.contains("2 of 3 items of group (0) do not come here, item (0)"), "{error}");
}

#[test]
fn atomics_give_what_was_there_before() {
    let at = (MemoryOrder::SeqCst, MemoryScope::System);
    let check = |op: AtomicOp, before: i32, operand: i32, after: i32| {
        let kernel = build(|k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            let old = k.global("old", Dtype::I32, 1, true)?;
            let operand = (op != AtomicOp::Load).then_some(Operand::Scalar(Scalar::I32(operand)));
            let x = k.atomic(op, a, [0], operand, at)?;
            if op != AtomicOp::Store {
                k.store(old, [0], x)?
            }
            Ok(())
        });
        let mut arguments = [array([before]), array([before])];
        run(&kernel, &[1].into(), &mut arguments, Checks::ALL).unwrap();
        assert_eq!(
            (values::<i32>(&arguments[0])[0], values::<i32>(&arguments[1])[0]),
            (after, before),
            "{op:?}"
        );
    };
    check(AtomicOp::Load, 5, 0, 5);
    check(AtomicOp::Store, 5, 7, 7);
    check(AtomicOp::Exchange, 5, 7, 7);
    check(AtomicOp::Add, i32::MAX, 1, i32::MIN);
    check(AtomicOp::Subtract, 5, 7, -2);
    check(AtomicOp::Minimum, 5, 7, 5);
    check(AtomicOp::Maximum, 5, 7, 7);
    check(AtomicOp::And, 6, 3, 2);
    check(AtomicOp::Or, 6, 3, 7);
    check(AtomicOp::Xor, 6, 3, 5);
    // An increment by compare-exchange, by many.
    let kernel = build(|k| {
        let a = k.global("a", Dtype::F32, 1, true)?;
        k.while_()?;
        let old = k.atomic(AtomicOp::Load, a, [0], None, at)?;
        let new = k.binary(Op::Add, old, 1)?;
        let found = k.atomic(AtomicOp::CompareExchange { expected: old }, a, [0], Some(new.into()), at)?;
        let again = k.binary(Op::NotEqual, found, old)?;
        k.do_(again)?;
        k.end()
    });
    let mut arguments = [array([0.5_f32])];
    run(&kernel, &groups(64, 8), &mut arguments, Checks::ALL).unwrap();
    assert_eq!(values::<f32>(&arguments[0]), [64.5]);
}

#[test]
fn groups_make_values_together() {
    let kernel = |collective: fn(&mut KernelBuilder) -> Result<Collective>, boolean: bool| {
        build(|k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            let i = k.index(Global, Id(0))?;
            let collective = collective(k)?;
            let mut x = k.load(a, [i])?;
            if boolean {
                x = k.binary(Op::Greater, x, 2)?
            }
            let y = k.collective(collective, x)?;
            k.store(a, [i], y)
        })
    };
    let check = |collective, boolean, expected: [i32; 6]| {
        let mut arguments = [array([1_i32, 2, 3, 4, 5, 6])];
        // The last group has two items.
        let range = groups(6, 4).partial();
        run(&kernel(collective, boolean), &range, &mut arguments, Checks::ALL).unwrap();
        assert_eq!(values::<i32>(&arguments[0]), expected);
    };
    check(|_| Ok(Collective::Reduce(Op::Add)), false, [10, 10, 10, 10, 11, 11]);
    check(|_| Ok(Collective::Reduce(Op::BitwiseAnd)), false, [0, 0, 0, 0, 4, 4]);
    check(|_| Ok(Collective::InclusiveScan(Op::Add)), false, [1, 3, 6, 10, 5, 11]);
    check(|_| Ok(Collective::ExclusiveScan(Op::Multiply)), false, [1, 1, 2, 6, 1, 5]);
    check(|_| Ok(Collective::ExclusiveScan(Op::Maximum)), false, [i32::MIN, 1, 2, 3, i32::MIN, 5]);
    check(|k| Ok(Collective::Broadcast(k.get(1)?)), false, [2, 2, 2, 2, 6, 6]);
    // Who is not there is taken for the nearest, which checked mode does not let pass.
    let beyond = kernel(|k| Ok(Collective::Broadcast(k.get(3)?)), false);
    let mut arguments = [array([1_i32, 2, 3, 4, 5, 6])];
    run(&beyond, &groups(6, 4).partial(), &mut arguments, Checks::NONE).unwrap();
    assert_eq!(values::<i32>(&arguments[0]), [4, 4, 4, 4, 6, 6]);
    let error = run(&beyond, &groups(6, 4).partial(), &mut arguments, Checks::ALL).unwrap_err();
    assert!(error.to_string().contains("item 3 of group (1) is broadcast, which has 2 items"), "{error}");
    check(|_| Ok(Collective::All), true, [0, 0, 0, 0, 1, 1]);
    check(|_| Ok(Collective::Any), true, [1; 6]);
}

#[test]
fn ids_and_ranges_are_those_of_the_item() {
    let mut k = KernelBuilder::new("ids", 3).unwrap();
    let out = k.global("out", Dtype::I64, 2, true).unwrap();
    let row = k.index(Global, LinearId).unwrap();
    let mut column = 0;
    for level in [Global, Local, Group] {
        for coordinate in [Id(0), Id(1), Id(2), Range(0), Range(1), Range(2), LinearId] {
            let x = k.index(level, coordinate).unwrap();
            k.store(out, [Operand::from(row), column.into()], x).unwrap();
            column += 1;
        }
    }
    let kernel = k.finish().unwrap();
    let elements = vec![Scalar::I64(-1); 48 * 21];
    let mut arguments = [Argument::Array(Elements { shape: vec![48, 21], elements })];
    run(&kernel, &NdRange::in_groups(&[2, 4, 6], &[1, 2, 3]), &mut arguments, Checks::ALL).unwrap();
    let all = values::<i64>(&arguments[0]);
    // Item (1, 3, 4): the local id is (0, 1, 1) in group (1, 1, 1).
    let row = (4 + 3) * 6 + 4;
    let expected = [1, 3, 4, 2, 4, 6, row, 0, 1, 1, 1, 2, 3, 4, 1, 1, 1, 2, 2, 2, 7];
    assert_eq!(all[21 * row as usize..][..21], expected);
}

#[test]
fn spaces_fit_their_kernel() {
    let kernel = reverse(true);
    let mut arguments = [array([0_f32; 10]), Argument::Local(vec![10])];
    let mut refused = |range: NdRange| run(&kernel, &range, &mut arguments, Checks::ALL).unwrap_err();
    assert!(matches!(refused(NdRange::of(&[2, 5])), Error::Axis(_)));
    assert!(matches!(refused(groups(10, 4)), Error::Value(_)));
    assert!(matches!(refused(groups(10, 0)), Error::Value(_)));
    assert!(matches!(refused(NdRange::of(&[usize::MAX])), Error::Overflow(_)));
    assert!(matches!(run(&kernel, &[10].into(), &mut [], Checks::ALL), Err(Error::Value(_))));
    let mut wrong = [array([0_f64; 10]), Argument::Local(vec![10])];
    assert!(matches!(run(&kernel, &[10].into(), &mut wrong, Checks::ALL), Err(Error::Value(_))));
    run(&kernel, &[0].into(), &mut arguments, Checks::ALL).unwrap();
}
