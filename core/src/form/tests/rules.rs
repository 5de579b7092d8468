//! Every rule of a form, broken.
//!
//! Each case is a small kernel with one mistake, the rule that it breaks (`breaks`) and the line where: the
//! error has to name both. A new rule has its case here, and beside it the nearest kernel that is right.

use super::super::{
    Atomic, AtomicOp, Collective, Coordinate::*, Expression, Kernel, KernelBuilder, Level::*, MAX_DEPTH,
    MemoryOrder, MemoryScope, StatementKind, Value,
};
use super::{diagnostic, line};
use crate::diagnostic::Rule;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::ops::Op;
use crate::scalar::Scalar;

fn kernel() -> KernelBuilder {
    let mut k = KernelBuilder::new("k", 1).unwrap();
    line(&mut k, 1);
    k
}

/// Asserts that a kernel breaks a rule in a line.
#[track_caller]
pub(super) fn breaks(build: impl FnOnce(&mut KernelBuilder) -> Result<()>, rule: Rule, at: u32) -> Error {
    let mut k = kernel();
    let error = build(&mut k).and_then(|()| k.finish()).unwrap_err();
    let found = diagnostic(&error);
    assert_eq!((found.rule, found.at.line), (rule, at), "{error}");
    error
}

#[track_caller]
pub(super) fn holds(build: impl FnOnce(&mut KernelBuilder) -> Result<()>) {
    let mut k = kernel();
    build(&mut k).and_then(|()| k.finish()).unwrap();
}

#[test]
fn operands_have_their_dtypes() {
    breaks(
        |k| {
            let i = k.get(1)?;
            line(k, 2);
            k.if_(i)
        },
        Rule::Type,
        2,
    );
    breaks(
        |k| {
            let b = k.get(true)?;
            line(k, 3);
            k.binary(Op::BitwiseLeftShift, b, b).map(drop)
        },
        Rule::Type,
        3,
    );
    breaks(
        |k| {
            let x = k.get(0.5)?;
            line(k, 4);
            k.for_(0, x, 1).map(drop)
        },
        Rule::Type,
        4,
    );
    breaks(
        |k| {
            line(k, 5);
            k.apply(Op::Add, &[1.into()]).map(drop)
        },
        Rule::Type,
        5,
    );
    let z = Scalar::C64(crate::Complex::new(1.0, 2.0));
    breaks(
        |k| {
            let v = k.variable("v", Dtype::F32)?;
            line(k, 6);
            k.set(v, z)
        },
        Rule::Type,
        6,
    );
    breaks(
        |k| {
            let a = k.global("a", Dtype::F32, 1, true)?;
            line(k, 7);
            let x = k.get(0.5)?;
            k.store(a, [x], x)
        },
        Rule::Type,
        7,
    );
    breaks(
        |k| {
            let x = k.get(0.5)?;
            line(k, 8);
            k.collective(Collective::All, x).map(drop)
        },
        Rule::Type,
        8,
    );
    breaks(
        |k| {
            let x = k.get(0.5)?;
            line(k, 9);
            k.collective(Collective::Reduce(Op::Subtract), x).map(drop)
        },
        Rule::Type,
        9,
    );
}

#[test]
fn atomics_have_their_dtypes_and_operands() {
    let at = (MemoryOrder::Relaxed, MemoryScope::Device);
    let atomic = |dtype, op, operand: Option<i32>| {
        move |k: &mut KernelBuilder| {
            let a = k.global("a", dtype, 1, true)?;
            line(k, 2);
            k.atomic(op, a, [0], operand.map(Into::into), at).map(drop)
        }
    };
    breaks(atomic(Dtype::I16, AtomicOp::Add, Some(1)), Rule::Type, 2);
    breaks(atomic(Dtype::F32, AtomicOp::Xor, Some(1)), Rule::Type, 2);
    breaks(atomic(Dtype::F32, AtomicOp::Add, None), Rule::Type, 2);
    breaks(atomic(Dtype::F32, AtomicOp::Load, Some(1)), Rule::Type, 2);
    holds(atomic(Dtype::F32, AtomicOp::Maximum, Some(1)));
    holds(atomic(Dtype::U64, AtomicOp::Store, Some(1)));
    breaks(
        |k| {
            let p = k.private("p", Dtype::I32, &[2])?;
            line(k, 3);
            k.atomic(AtomicOp::Add, p, [0], Some(1.into()), at).map(drop)
        },
        Rule::Type,
        3,
    );
}

#[test]
fn objects_have_as_many_indices_as_dimensions() {
    breaks(
        |k| {
            let a = k.global("a", Dtype::F32, 2, true)?;
            line(k, 2);
            k.load(a, [0]).map(drop)
        },
        Rule::IndexCount,
        2,
    );
    breaks(
        |k| {
            let a = k.global("a", Dtype::F32, 1, true)?;
            line(k, 3);
            k.store(a, [0, 1], 1)
        },
        Rule::IndexCount,
        3,
    );
    breaks(
        |k| {
            let a = k.global("a", Dtype::F32, 1, true)?;
            line(k, 4);
            k.extent(a, 1).map(drop)
        },
        Rule::IndexCount,
        4,
    );
    breaks(
        |k| {
            line(k, 5);
            k.index(Global, Id(1)).map(drop)
        },
        Rule::IndexCount,
        5,
    );
}

#[test]
fn what_is_read_only_is_not_written() {
    let error = breaks(
        |k| {
            let a = k.global("a", Dtype::F32, 1, false)?;
            line(k, 2);
            k.store(a, [0], 1)
        },
        Rule::ReadOnly,
        2,
    );
    assert!(
        error.to_string().contains("`a`") && error.to_string().contains("note: kernel.py:1:5"),
        "{error}"
    );
    breaks(
        |k| {
            let c = k.constant_array("c", &[1], &[Scalar::I32(1)])?;
            line(k, 3);
            k.store(c, [0], 1)
        },
        Rule::ReadOnly,
        3,
    );
    let at = (MemoryOrder::Relaxed, MemoryScope::Device);
    breaks(
        |k| {
            let a = k.global("a", Dtype::I32, 1, false)?;
            line(k, 4);
            k.atomic(AtomicOp::Add, a, [0], Some(1.into()), at).map(drop)
        },
        Rule::ReadOnly,
        4,
    );
    holds(|k| {
        let a = k.global("a", Dtype::I32, 1, false)?;
        k.atomic(AtomicOp::Load, a, [0], None, at).map(drop)
    });
}

#[test]
fn loops_in_loops_are_checked_in_little_time() {
    let mut k = kernel();
    let v = k.variable("v", Dtype::I64).unwrap();
    k.set(v, 0).unwrap();
    for _ in 0..MAX_DEPTH {
        let round = k.for_(0, v, 1).unwrap();
        let sum = k.binary(Op::Add, v, round).unwrap();
        k.set(v, sum).unwrap();
    }
    line(&mut k, 2);
    let error = k.if_(true).unwrap_err();
    assert_eq!((diagnostic(&error).rule, diagnostic(&error).at.line), (Rule::Limit, 2));
    let i = k.index(Local, Id(0)).unwrap();
    k.set(v, i).unwrap();
    (0..MAX_DEPTH).for_each(|_| k.end().unwrap());
    k.finish().unwrap();
}

#[test]
fn functions_do_not_call_themselves() {
    let error = breaks(
        |k| {
            k.call("f", None)?;
            k.call("g", None)?;
            line(k, 2);
            k.call("f", None)
        },
        Rule::Recursion,
        2,
    );
    assert!(error.to_string().contains("`f`") && error.to_string().contains("kernel.py:1:5"), "{error}");
    holds(|k| {
        for _ in 0..2 {
            k.call("f", None)?;
            k.end()?;
        }
        Ok(())
    });
}

#[test]
fn blocks_are_nested() {
    breaks(
        |k| {
            line(k, 2);
            k.end()
        },
        Rule::Structure,
        2,
    );
    breaks(
        |k| {
            line(k, 3);
            k.else_()
        },
        Rule::Structure,
        3,
    );
    breaks(
        |k| {
            line(k, 4);
            k.if_(true)
        },
        Rule::Structure,
        4,
    );
    breaks(
        |k| {
            line(k, 5);
            k.while_()?;
            k.end()
        },
        Rule::Structure,
        5,
    );
    breaks(
        |k| {
            line(k, 6);
            k.break_();
            Ok(())
        },
        Rule::Structure,
        6,
    );
    breaks(
        |k| {
            k.for_(0, 1, 1)?;
            k.call("f", None)?;
            line(k, 7);
            k.continue_();
            k.end()?;
            k.end()
        },
        Rule::Structure,
        7,
    );
    breaks(
        |k| {
            line(k, 8);
            k.return_(Some(1.into()))
        },
        Rule::Type,
        8,
    );
    breaks(
        |k| {
            let c = k.get(true)?;
            k.if_(c)?;
            let x = k.get(1)?;
            k.end()?;
            line(k, 9);
            k.binary(Op::Add, x, x).map(drop)
        },
        Rule::Structure,
        9,
    );
}

#[test]
fn objects_are_within_limits() {
    breaks(
        |k| {
            line(k, 2);
            k.local("l", Dtype::F32, &[1 << 11, 1 << 11]).map(drop)
        },
        Rule::Limit,
        2,
    );
    breaks(
        |k| {
            line(k, 3);
            k.private("p", Dtype::F32, &[0]).map(drop)
        },
        Rule::Limit,
        3,
    );
    breaks(
        |k| {
            line(k, 4);
            k.constant_array("c", &[3], &[Scalar::I8(1)]).map(drop)
        },
        Rule::Limit,
        4,
    );
    breaks(
        |k| {
            line(k, 5);
            k.global("a", Dtype::F32, 0, true).map(drop)
        },
        Rule::Limit,
        5,
    );
    assert!(matches!(KernelBuilder::new("k", 4), Err(Error::Axis(_))));
}

/// The verifier does not trust whoever made a form.
#[test]
fn forms_that_no_builder_makes_are_refused() {
    let mut k = kernel();
    let a = k.global("a", Dtype::I32, 1, true).unwrap();
    let x = k.load(a, [0]).unwrap();
    k.store(a, [0], x).unwrap();
    let good = k.finish().unwrap().form().clone();
    let refused = |change: &dyn Fn(&mut super::super::Form)| {
        let mut form = good.clone();
        change(&mut form);
        diagnostic(&Kernel::new(form).unwrap_err()).rule
    };
    assert!(Kernel::new(good.clone()).is_ok());
    assert_eq!(refused(&|f| f.dims = 0), Rule::Limit);
    assert_eq!(refused(&|f| f.parameters.clear()), Rule::Structure);
    assert_eq!(refused(&|f| f.values[1] = Dtype::F32), Rule::Type);
    assert_eq!(refused(&|f| f.values.truncate(1)), Rule::Structure);
    assert_eq!(refused(&|f| f.objects.clear()), Rule::Structure);
    assert_eq!(
        refused(&|f| {
            let again = f.body[1].clone();
            f.body.push(again)
        }),
        Rule::Structure
    );
    assert_eq!(refused(&|f| f.body.swap(0, 1)), Rule::Structure);
    let get = StatementKind::Let { value: Value(0), expression: Expression::Get(super::super::Variable(4)) };
    assert_eq!(refused(&|f| f.body[0].kind = get.clone()), Rule::Structure);
    let atomic = Atomic {
        op: AtomicOp::Store,
        object: a,
        indices: smallvec::smallvec![Value(0)],
        operand: Some(Value(1)),
        result: Some(Value(2)),
        order: MemoryOrder::Relaxed,
        scope: MemoryScope::Device,
    };
    assert_eq!(
        refused(&|f| f.body.last_mut().unwrap().kind = StatementKind::Atomic(atomic.clone())),
        Rule::Type
    );
}
