//! Rules that depend on the paths through a kernel, broken.

use super::super::{Collective, Coordinate::*, Fence, KernelBuilder, Level::*, Value};
use super::line;
use super::rules::{breaks, holds};
use crate::diagnostic::Rule;
use crate::dtype::Dtype;
use crate::error::Result;
use crate::ops::Op;

/// A condition that differs between items.
fn differs(k: &mut KernelBuilder) -> Result<Value> {
    let i = k.index(Local, Id(0))?;
    k.binary(Op::Less, i, 3)
}

#[test]
fn variables_have_values_on_every_path() {
    let error = breaks(
        |k| {
            let v = k.variable("v", Dtype::F32)?;
            line(k, 2);
            k.get(v).map(drop)
        },
        Rule::DefiniteAssignment,
        2,
    );
    assert!(error.to_string().contains("`v`"), "{error}");
    let one_way = |other: bool| {
        move |k: &mut KernelBuilder| {
            let (v, c) = (k.variable("v", Dtype::F32)?, differs(k)?);
            k.if_(c)?;
            k.set(v, 1)?;
            k.else_()?;
            if other {
                k.set(v, 2)?
            }
            k.end()?;
            line(k, 3);
            k.get(v).map(drop)
        }
    };
    breaks(one_way(false), Rule::DefiniteAssignment, 3);
    holds(one_way(true));
    // A loop may have no round at all; one without a condition has one.
    breaks(
        |k| {
            let v = k.variable("v", Dtype::F32)?;
            k.for_(0, 3, 1)?;
            k.set(v, 1)?;
            k.end()?;
            line(k, 4);
            k.get(v).map(drop)
        },
        Rule::DefiniteAssignment,
        4,
    );
    let endless = |assigns: bool| {
        move |k: &mut KernelBuilder| {
            let v = k.variable("v", Dtype::F32)?;
            let c = differs(k)?;
            k.while_()?;
            let go_on = k.get(true)?;
            k.do_(go_on)?;
            if assigns {
                k.set(v, 1)?
            }
            k.if_(c)?;
            k.break_();
            k.end()?;
            k.end()?;
            line(k, 5);
            k.get(v).map(drop)
        }
    };
    holds(endless(true));
    breaks(endless(false), Rule::DefiniteAssignment, 5);
    // Who returns early needs nothing any more.
    holds(|k| {
        let (v, c) = (k.variable("v", Dtype::F32)?, differs(k)?);
        k.if_(c)?;
        k.return_(None)?;
        k.else_()?;
        k.set(v, 1)?;
        k.end()?;
        k.get(v).map(drop)
    });
    // A function that returns a value on some paths only.
    breaks(
        |k| {
            let (v, c) = (k.variable("f", Dtype::F32)?, differs(k)?);
            k.call("f", Some(v))?;
            k.if_(c)?;
            k.return_(Some(1.into()))?;
            k.end()?;
            k.end()?;
            line(k, 6);
            k.get(v).map(drop)
        },
        Rule::DefiniteAssignment,
        6,
    );
    // Assigned in a round before, but not in the first.
    breaks(
        |k| {
            let v = k.variable("v", Dtype::F32)?;
            k.for_(0, 3, 1)?;
            line(k, 7);
            k.get(v)?;
            k.set(v, 1)?;
            k.end()
        },
        Rule::DefiniteAssignment,
        7,
    );
}

#[test]
fn barriers_stand_where_all_items_come() {
    let error = breaks(
        |k| {
            let c = differs(k)?;
            line(k, 2);
            k.if_(c)?;
            line(k, 3);
            k.barrier(Fence::LOCAL);
            k.end()
        },
        Rule::UniformControl,
        3,
    );
    assert!(error.to_string().contains("note: kernel.py:2:5: items of a group differ"), "{error}");
    breaks(
        |k| {
            let c = differs(k)?;
            k.if_(c)?;
            line(k, 4);
            k.collective(Collective::Reduce(Op::Add), 1)?;
            k.end()
        },
        Rule::UniformControl,
        4,
    );
    holds(|k| {
        let n = k.scalar("n", Dtype::I64)?;
        let c = k.binary(Op::Less, n, 3)?;
        k.if_(c)?;
        k.barrier(Fence::LOCAL);
        k.end()
    });
    // Some have returned; in a function, they come back.
    let error = breaks(
        |k| {
            let c = differs(k)?;
            k.if_(c)?;
            line(k, 5);
            k.return_(None)?;
            k.end()?;
            line(k, 6);
            k.barrier(Fence::LOCAL);
            Ok(())
        },
        Rule::UniformControl,
        6,
    );
    assert!(
        error.to_string().contains("note: kernel.py:5:5: some items of a group may have left"),
        "{error}"
    );
    let in_function = |inside: bool| {
        move |k: &mut KernelBuilder| {
            let c = differs(k)?;
            k.call("f", None)?;
            k.if_(c)?;
            k.return_(None)?;
            k.end()?;
            line(k, 7);
            if inside {
                k.barrier(Fence::LOCAL)
            }
            k.end()?;
            if !inside {
                k.barrier(Fence::LOCAL)
            }
            Ok(())
        }
    };
    breaks(in_function(true), Rule::UniformControl, 7);
    holds(in_function(false));
    // Loops: by their bounds, their condition, a break, a continue.
    breaks(
        |k| {
            let i = k.index(Local, Id(0))?;
            k.for_(0, i, 1)?;
            line(k, 8);
            k.barrier(Fence::LOCAL);
            k.end()
        },
        Rule::UniformControl,
        8,
    );
    breaks(
        |k| {
            let c = differs(k)?;
            k.while_()?;
            line(k, 9);
            k.barrier(Fence::LOCAL);
            k.do_(c)?;
            k.end()
        },
        Rule::UniformControl,
        9,
    );
    let leaves = |before: bool, round: bool| {
        move |k: &mut KernelBuilder| {
            let c = differs(k)?;
            k.for_(0, 3, 1)?;
            line(k, 10);
            if before {
                k.barrier(Fence::LOCAL)
            }
            k.if_(c)?;
            if round {
                k.continue_()
            } else {
                k.break_()
            }
            k.end()?;
            if !before {
                k.barrier(Fence::LOCAL)
            }
            k.end()?;
            k.barrier(Fence::GLOBAL);
            Ok(())
        }
    };
    breaks(leaves(false, false), Rule::UniformControl, 10);
    breaks(leaves(true, false), Rule::UniformControl, 10);
    breaks(leaves(false, true), Rule::UniformControl, 10);
    holds(leaves(true, true));
    // A variable that differs after a branch, and one that is set to something uniform again.
    let condition = |again: bool| {
        move |k: &mut KernelBuilder| {
            let (v, c) = (k.variable("v", Dtype::Bool)?, differs(k)?);
            k.set(v, true)?;
            k.if_(c)?;
            k.set(v, false)?;
            k.end()?;
            if again {
                k.set(v, true)?
            }
            k.if_(v)?;
            line(k, 11);
            k.barrier(Fence::LOCAL);
            k.end()
        }
    };
    breaks(condition(false), Rule::UniformControl, 11);
    holds(condition(true));
    // What is set after different numbers of rounds.
    breaks(
        |k| {
            let (v, i) = (k.variable("v", Dtype::I64)?, k.index(Local, Id(0))?);
            k.set(v, 0)?;
            let round = k.for_(0, i, 1)?;
            k.set(v, round)?;
            k.end()?;
            let c = k.binary(Op::Equal, v, 3)?;
            k.if_(c)?;
            line(k, 12);
            k.barrier(Fence::LOCAL);
            k.end()
        },
        Rule::UniformControl,
        12,
    );
}
