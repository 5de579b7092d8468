//! Kernels as users write them, and what is interpreted.

use stridewise_core::kernel::{Coordinate::*, Fence, KernelBuilder, Level::*};
use stridewise_core::{Op, Result};

use super::*;

pub(super) fn build(name: &str, dims: usize, body: impl FnOnce(&mut KernelBuilder) -> Result<()>) -> Kernel {
    let mut k = KernelBuilder::new(name, dims).unwrap();
    body(&mut k).unwrap();
    k.finish().unwrap()
}

/// `if i >= n: return; out[i] = a·x[i] + y[i]`.
fn saxpy(early: bool) -> Kernel {
    build("saxpy", 1, |k| {
        let (x, y) = (k.global("x", Dtype::F32, 1, false)?, k.global("y", Dtype::F32, 1, false)?);
        let out = k.global("out", Dtype::F32, 1, true)?;
        let (a, n) = (k.scalar("a", Dtype::F32)?, k.scalar("n", Dtype::I64)?);
        let i = k.index(Global, Id(0))?;
        let outside = k.binary(Op::GreaterEqual, i, n)?;
        if early {
            k.if_(outside)?;
            k.return_(None)?;
            k.end()?;
        } else {
            let inside = k.unary(Op::LogicalNot, outside)?;
            k.if_(inside)?;
        }
        let (x, y) = (k.load(x, [i])?, k.load(y, [i])?);
        let product = k.binary(Op::Multiply, a, x)?;
        let sum = k.binary(Op::Add, product, y)?;
        k.store(out, [i], sum)?;
        if early { Ok(()) } else { k.end() }
    })
}

#[test]
fn guarded_items_of_any_number() {
    for early in [false, true] {
        let kernel = saxpy(early);
        for len in [1, 7, 8, 100, 127, 128, 129, 511, 512, 513, 1000, 5000] {
            for bound in [0, len / 2, len] {
                let mut rng = Rng(len as u64);
                let mut array = || Given::Array(Array::random(Dtype::F32, &[len], &mut rng));
                let arrays = [array(), array(), array()];
                let [x, y, out] = arrays;
                let given =
                    [x, y, out, Given::Scalar(Scalar::F32(2.5)), Given::Scalar(Scalar::I64(bound as i64))];
                same(&kernel, &NdRange::of(&[len]), &given, "saxpy");
                // More items than there are elements, and, of a bound that lets them, out of range.
                same(&kernel, &NdRange::in_groups(&[len + 50], &[33]).partial(), &given, "more items");
            }
        }
    }
}

/// `out[i, j] = Σ a[i, k] · b[k, j]`, by indices of some dtype.
pub(super) fn product(dtype: Dtype, index: Dtype) -> Kernel {
    build("product", 2, |k| {
        let (a, b) = (k.global("a", dtype, 2, false)?, k.global("b", dtype, 2, false)?);
        let out = k.global("out", dtype, 2, true)?;
        let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
        let (i, j) = (k.cast(i, index)?, k.cast(j, index)?);
        let sum = k.variable("sum", dtype)?;
        k.set(sum, Scalar::F64(0.0).cast(dtype))?;
        let end = k.extent(a, 1)?;
        let round = k.for_(0, end, 1)?;
        let (x, y) = (k.load(a, [i, round])?, k.load(b, [round, j])?);
        let term = k.binary(Op::Multiply, x, y)?;
        let next = k.binary(Op::Add, sum, term)?;
        k.set(sum, next)?;
        k.end()?;
        k.store(out, [i, j], sum)
    })
}

#[test]
fn products_of_any_layout() {
    for dtype in [Dtype::F32, Dtype::F64, Dtype::I32, Dtype::I64, Dtype::F16, Dtype::U8] {
        for index in [Dtype::I64, Dtype::I32, Dtype::U16] {
            let kernel = product(dtype, index);
            let mut rng = Rng(3);
            let mut array = |shape: &[usize]| Array::random(dtype, shape, &mut rng);
            let given = [array(&[20, 9]), array(&[9, 150]), array(&[20, 150])].map(Given::Array);
            same(&kernel, &NdRange::of(&[20, 150]), &given, "rows");
            same(&kernel, &NdRange::in_groups(&[20, 150], &[4, 30]), &given, "groups");
            let given =
                [array(&[9, 20]).transposed(), array(&[150, 9]).transposed(), array(&[150, 20]).transposed()];
            same(&kernel, &NdRange::of(&[20, 150]), &given.map(Given::Array), "columns");
            let given = [
                array(&[20, 18]).halved(),
                array(&[9, 150]).reversed(1),
                array(&[20, 299]).halved().reversed(0),
            ];
            same(&kernel, &NdRange::of(&[20, 150]), &given.map(Given::Array), "halves and reverses");
        }
    }
}

#[test]
fn stencils_and_indices_that_lead_out() {
    let kernel = build("stencil", 2, |k| {
        let a = k.global("a", Dtype::F64, 2, false)?;
        let out = k.global("out", Dtype::F64, 2, true)?;
        let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
        let mut sum = k.load(a, [i, j])?;
        for (di, dj) in [(-1, 0), (1, 0), (0, -1), (0, 1), (-70, 5), (3, i64::MAX), (0, i64::MIN)] {
            let (y, x) = (k.binary(Op::Add, i, Scalar::I64(di))?, k.binary(Op::Add, j, Scalar::I64(dj))?);
            let near = k.load(a, [y, x])?;
            sum = k.binary(Op::Add, sum, near)?;
        }
        // Some of it leads out, and is not written.
        let (y, x) = (k.binary(Op::Add, i, Scalar::I64(-2))?, k.binary(Op::Add, j, Scalar::I64(5))?);
        k.store(out, [y, x], sum)
    });
    let mut rng = Rng(9);
    for (rows, columns) in [(5, 300), (40, 16), (3, 1), (1, 4097)] {
        let mut array = || Given::Array(Array::random(Dtype::F64, &[rows, columns], &mut rng));
        let given = [array(), array()];
        same(&kernel, &NdRange::of(&[rows, columns]), &given, "stencil");
    }
}

/// Items leave a loop after different numbers of rounds.
fn escape(by_break: bool) -> Kernel {
    build("escape", 1, |k| {
        let out = k.global("out", Dtype::I32, 1, true)?;
        let (least, most) = (k.scalar("least", Dtype::F64)?, k.scalar("most", Dtype::I32)?);
        let i = k.index(Global, Id(0))?;
        let x = k.cast(i, Dtype::F64)?;
        let x = k.binary(Op::Multiply, x, Scalar::F64(0.01))?;
        let c = k.binary(Op::Add, x, least)?;
        let (z, count) = (k.variable("z", Dtype::F64)?, k.variable("count", Dtype::I32)?);
        k.set(z, Scalar::F64(0.0))?;
        k.set(count, 0)?;
        let advance = |k: &mut KernelBuilder| {
            let square = k.binary(Op::Multiply, z, z)?;
            let next = k.binary(Op::Add, square, c)?;
            k.set(z, next)?;
            let next = k.binary(Op::Add, count, 1)?;
            k.set(count, next)
        };
        if by_break {
            let round = k.for_(0, most, 1)?;
            let odd = k.binary(Op::BitwiseAnd, round, 1)?;
            let odd = k.binary(Op::Equal, odd, 1)?;
            let small = k.binary(Op::Less, c, Scalar::F64(-1.0))?;
            let skip = k.binary(Op::BitwiseAnd, odd, small)?;
            k.if_(skip)?;
            k.continue_();
            k.end()?;
            let far = k.binary(Op::Greater, z, Scalar::F64(2.0))?;
            k.if_(far)?;
            k.break_();
            k.end()?;
            advance(k)?;
            k.end()?;
        } else {
            k.while_()?;
            let near = k.binary(Op::LessEqual, z, Scalar::F64(2.0))?;
            let few = k.binary(Op::Less, count, most)?;
            let more = k.binary(Op::BitwiseAnd, near, few)?;
            k.do_(more)?;
            advance(k)?;
            k.end()?;
        }
        k.store(out, [i], count)
    })
}

#[test]
fn items_leave_loops_when_they_like() {
    for by_break in [false, true] {
        let kernel = escape(by_break);
        for len in [1, 50, 300, 9000] {
            for most in [0, 1, 40] {
                let given = [
                    Given::Array(Array::new(Dtype::I32, &[len], |_| Scalar::I32(-1))),
                    Given::Scalar(Scalar::F64(-2.0)),
                    Given::Scalar(Scalar::I32(most)),
                ];
                same(&kernel, &NdRange::of(&[len]), &given, "escape");
            }
        }
    }
}

#[test]
fn a_loop_without_end_ends_with_the_same_error() {
    let kernel = build("endless", 1, |k| {
        let out = k.global("out", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        let (x, still) = (k.load(out, [i])?, k.variable("still", Dtype::Bool)?);
        k.set(still, true)?;
        k.while_()?;
        let positive = k.binary(Op::Greater, x, 0)?;
        let more = k.binary(Op::BitwiseAnd, positive, still)?;
        k.do_(more)?;
        k.set(still, true)?;
        k.end()?;
        k.store(out, [i], 7)
    });
    for tuning in tunings().take(1) {
        for endless in [false, true] {
            let elements = |i: usize| Scalar::I32(i32::from(endless && i == 70));
            let given = [Given::Array(Array::new(Dtype::I32, &[90], elements))];
            let run = |switch| launch(&kernel, &NdRange::of(&[90]), &given, &tuning, switch);
            let (wanted, found) = (run(Switch::Off), run(Switch::Always));
            assert_eq!(wanted.is_err(), endless);
            assert_eq!(wanted.map_err(|e| e.to_string()), found.map_err(|e| e.to_string()));
        }
    }
}

/// What is interpreted, and why: each reason by a kernel that has it.
#[test]
fn what_there_is_no_code_for_is_interpreted() {
    type Body = fn(&mut KernelBuilder) -> Result<()>;
    let reasons: [(Unsupported, Body); 5] = [
        (Unsupported::Dtype(Dtype::C64), |k| k.global("z", Dtype::C64, 1, true).map(|_| ())),
        (Unsupported::Memory, |k| k.private("large", Dtype::F64, &[1025]).map(|_| ())),
        // Barriers that nobody comes to, where items have parted.
        (Unsupported::Together, |k| {
            let i = k.index(Local, Id(0))?;
            let first = k.binary(Op::Equal, i, 0)?;
            k.if_(first)?;
            k.return_(None)?;
            k.barrier(Fence::LOCAL);
            k.end()
        }),
        (Unsupported::Together, |k| {
            let i = k.index(Local, Id(0))?;
            let first = k.binary(Op::Equal, i, 0)?;
            k.for_(0, 3, 1)?;
            k.if_(first)?;
            k.break_();
            k.end()?;
            k.continue_();
            k.barrier(Fence::LOCAL);
            k.end()
        }),
        (Unsupported::Together, |k| {
            let i = k.index(Local, Id(0))?;
            let first = k.binary(Op::Equal, i, 0)?;
            k.if_(first)?;
            k.return_(None)?;
            k.else_()?;
            k.return_(None)?;
            k.end()?;
            k.barrier(Fence::LOCAL);
            Ok(())
        }),
    ];
    for tuning in tunings() {
        for (why, body) in reasons {
            let kernel = build("interpreted", 1, body);
            let found = compile(&kernel, &tuning);
            assert_eq!(found.err(), Some(why), "{kernel}");
        }
        assert!(compile(&saxpy(true), &tuning).is_ok());
    }
}

/// Of a branch that all items take alike, those who leave the kernel in one block do nothing of the other one.
#[test]
fn items_leave_in_a_block_that_all_come_to() {
    let kernel = build("leaves", 1, |k| {
        let (out, some) = (k.global("out", Dtype::I32, 1, true)?, k.scalar("some", Dtype::I64)?);
        let (first, behind) = (k.scalar("first", Dtype::I64)?, k.global("behind", Dtype::I32, 1, true)?);
        let i = k.index(Global, Id(0))?;
        let positive = k.binary(Op::Greater, some, 0)?;
        k.if_(positive)?;
        let leaves = k.binary(Op::GreaterEqual, i, first)?;
        k.if_(leaves)?;
        k.return_(None)?;
        k.end()?;
        k.store(out, [i], 1)?;
        k.else_()?;
        k.store(out, [i], 2)?;
        k.end()?;
        k.store(behind, [i], 3)
    });
    for len in [1, 8, 130] {
        for (some, first) in [(1, 0), (1, 4), (0, 0)] {
            let array = || Given::Array(Array::new(Dtype::I32, &[len], |_| Scalar::I32(-1)));
            let given =
                [array(), Given::Scalar(Scalar::I64(some)), Given::Scalar(Scalar::I64(first)), array()];
            same(&kernel, &NdRange::of(&[len]), &given, "leaves");
        }
    }
}
