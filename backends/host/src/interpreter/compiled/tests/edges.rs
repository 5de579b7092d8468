//! What is at the edge of what a compiled kernel may meet.
//!
//! The interpreter is the oracle (`same`): both run the kernel on the same arguments, and their results are
//! compared. Lengths are those around gangs of 128, 256 and 512.

use stridewise_core::Op;
use stridewise_core::kernel::{Coordinate::*, Level::*};

use super::kernels::build;
use super::*;

fn ints(len: usize, element: impl Fn(usize) -> i32) -> Given {
    Given::Array(Array::new(Dtype::I32, &[len], |i| Scalar::I32(element(i))))
}

/// A loop whose condition is one for all, that items leave only by returning.
#[test]
fn loops_that_all_items_leave_by_returning_end() {
    for in_call in [false, true] {
        let kernel = build("leaves", 1, |k| {
            let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
            let i = k.index(Global, Id(0))?;
            let (most, count) = (k.load(x, [i])?, k.variable("count", Dtype::I32)?);
            k.set(count, 0)?;
            let result = k.variable("result", Dtype::I32)?;
            if in_call {
                k.call("f", Some(result))?;
            }
            k.while_()?;
            let always = k.get(Scalar::Bool(true))?;
            k.do_(always)?;
            let enough = k.binary(Op::GreaterEqual, count, most)?;
            k.if_(enough)?;
            k.store(out, [i], count)?;
            k.return_(in_call.then_some(count.into()))?;
            k.end()?;
            let next = k.binary(Op::Add, count, 1)?;
            k.set(count, next)?;
            k.end()?;
            if in_call {
                k.return_(Some(count.into()))?;
                k.end()?;
                k.store(out, [i], result)?;
            }
            Ok(())
        });
        for len in [1, 127, 128, 129, 300, 512, 513] {
            let given = [ints(len, |i| (i % 41) as i32), ints(len, |_| -1)];
            same(&kernel, &NdRange::of(&[len]), &given, "leaves");
        }
    }
}

/// What an item reads before it writes the same place is what was there.
#[test]
fn arrays_that_are_the_same_array() {
    let kernel = build("same", 1, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
        let other = k.global("other", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        let before = k.load(x, [i])?;
        k.store(out, [i], 5)?;
        let after = k.load(x, [i])?;
        let sum = k.binary(Op::Multiply, before, 10)?;
        let sum = k.binary(Op::Add, sum, after)?;
        k.store(other, [i], sum)?;
        let again = k.load(x, [i])?;
        let product = k.binary(Op::Multiply, again, before)?;
        k.store(out, [i], product)
    });
    for len in [1, 127, 128, 129, 256, 257, 511, 513, 1000] {
        let given = [ints(len, |i| i as i32 + 7), Given::Again(0), ints(len, |_| 0)];
        same(&kernel, &NdRange::of(&[len]), &given, "same");
    }
}

/// Items that read what others write race, and nothing else.
#[test]
fn races_do_not_lead_out() {
    let kernel = build("race", 1, |k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        let (at, small) = (k.load(a, [i])?, k.cast(i, Dtype::I32)?);
        let x = k.load(a, [at])?;
        k.store(a, [at], small)?;
        let at = k.load(a, [x])?;
        k.store(a, [at], x)
    });
    for tuning in tunings() {
        let given = [ints(300, |i| (i as i32).wrapping_mul(0x1234_5677))];
        let found = launch(&kernel, &NdRange::of(&[300]), &given, &tuning, Switch::Always);
        assert_eq!(found.unwrap()[0].len(), 300);
    }
}

/// Floats of any size, and what is no number, as indices.
#[test]
fn indices_from_any_float() {
    for index in [Dtype::I64, Dtype::I32, Dtype::I8, Dtype::U16] {
        let kernel = build("any", 1, |k| {
            let x = k.global("x", Dtype::F64, 1, false)?;
            let (a, out) = (k.global("a", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
            let one = k.scalar("one", Dtype::F64)?;
            let i = k.index(Global, Id(0))?;
            let at = k.load(x, [i])?;
            let (at, one) = (k.cast(at, index)?, k.cast(one, index)?);
            let (near, same) = (k.load(a, [at])?, k.load(a, [one])?);
            let sum = k.binary(Op::Add, near, same)?;
            k.store(out, [i], sum)?;
            k.store(out, [one], -3)
        });
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, 0.0, -0.5, 1e10, -3e9, 9.2e18];
        for one in odd {
            let x = Array::new(Dtype::F64, &[200], |i| {
                Scalar::F64(if i % 3 == 0 { odd[i % 10] } else { i as f64 - 20.0 })
            });
            let given = [
                Given::Array(x),
                ints(50, |i| i as i32 * 3),
                ints(200, |_| -1),
                Given::Scalar(Scalar::F64(one)),
            ];
            same(&kernel, &NdRange::of(&[200]), &given, "any");
        }
    }
}

#[test]
fn no_items_and_arrays_without_elements() {
    let kernel = build("none", 1, |k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        let x = k.load(a, [i])?;
        let x = k.binary(Op::Add, x, 1)?;
        k.store(a, [i], x)
    });
    same(&kernel, &NdRange::of(&[0]), &[ints(3, |i| i as i32)], "no items");
    same(&kernel, &NdRange::of(&[200]), &[ints(0, |_| 0)], "no elements");
}

/// Blocks far inside of each other need no more of a stack; what is too large for machine code is interpreted.
#[test]
fn deep_and_huge_kernels() {
    let deep = |depth: usize, times: usize| {
        build("deep", 1, |k| {
            let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
            let i = k.index(Global, Id(0))?;
            let x = k.load(x, [i])?;
            for time in 0..times {
                for level in 0..depth {
                    let level = (time + level * 8) as i32;
                    let more = k.binary(Op::Greater, x, level)?;
                    k.if_(more)?;
                    k.store(out, [i], level)?;
                }
                for _ in 0..depth {
                    k.end()?;
                }
            }
            Ok(())
        })
    };
    let kernels = [deep(120, 1), deep(1, 900), deep(100, 20)];
    let work = move || {
        let tuning = tunings().next().unwrap();
        let sizes =
            kernels.each_ref().map(|kernel| compile(kernel, &tuning).map(|program| program.code.bytes()));
        assert!(sizes[0].is_ok() && sizes[2] == Err(Unsupported::Refused), "{sizes:?}");
        for kernel in &kernels {
            let given = [ints(200, |i| i as i32 * 5), ints(200, |_| -1)];
            let run = |switch| launch(kernel, &NdRange::of(&[200]), &given, &tuning, switch).unwrap();
            assert_eq!(run(Switch::Always), run(Switch::Off));
        }
    };
    std::thread::Builder::new().stack_size(64 << 10).spawn(work).unwrap().join().unwrap();
}

/// Threads that launch the same new kernel at once, and let go of it.
#[test]
fn threads_launch_a_new_kernel_at_once() {
    for _ in 0..20 {
        let kernel = build("new", 1, |k| {
            let a = k.global("a", Dtype::I32, 1, true)?;
            let i = k.index(Global, Id(0))?;
            let x = k.load(a, [i])?;
            let small = k.cast(i, Dtype::I32)?;
            let x = k.binary(Op::Multiply, x, small)?;
            k.store(a, [i], x)
        });
        let tuning = tunings().next().unwrap();
        let threads: Vec<_> = (0..10)
            .map(|_| (kernel.clone(), tuning))
            .map(|(kernel, tuning)| {
                std::thread::spawn(move || {
                    let given = [ints(1000, |i| i as i32)];
                    let found = launch(&kernel, &NdRange::of(&[1000]), &given, &tuning, Switch::Always);
                    drop(kernel);
                    found.unwrap()
                })
            })
            .collect();
        let wanted =
            launch(&kernel, &NdRange::of(&[1000]), &[ints(1000, |i| i as i32)], &tuning, Switch::Off);
        drop(kernel);
        let wanted = wanted.unwrap();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), wanted);
        }
    }
}

/// Who watches, or looks at the time, does so between steps.
#[test]
fn watched_launches_are_interpreted() {
    let kernel = build("watched", 1, |k| {
        let a = k.scalar("a", Dtype::I32)?;
        k.if_(Scalar::Bool(true))?;
        k.binary(Op::Add, a, 1)?;
        k.end()
    });
    let tuning = tunings().next().unwrap();
    let of = |checked, time_limit| {
        let launch = KernelLaunch {
            kernel: kernel.clone(),
            space: Space::new(&kernel, &NdRange::of(&[4]), 1024, 1 << 20).unwrap(),
            arguments: vec![KernelArgument::Scalar(Scalar::I32(1))],
            checked,
            time_limit,
            ends: false,
        };
        // SAFETY: the kernel accesses nothing.
        let done = compiler::forced(Switch::Always, || unsafe { super::super::run(&launch, &tuning) });
        done.map(Result::unwrap)
    };
    assert_eq!(of(false, None), Some(()));
    assert_eq!(of(true, None), None);
    assert_eq!(of(false, Some(std::time::Duration::from_secs(9))), None);
}

/// An assertion ends the launch with the first item that it does not hold for, of those that come to it.
#[test]
fn assertions_that_fail() {
    let kernel = build("asserts", 1, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
        let (most, same) = (k.scalar("most", Dtype::I32)?, k.scalar("same", Dtype::I32)?);
        let i = k.index(Global, Id(0))?;
        let x = k.load(x, [i])?;
        let comes = k.binary(Op::GreaterEqual, x, 0)?;
        k.if_(comes)?;
        let holds = k.binary(Op::LessEqual, x, most)?;
        k.assert(holds, "x is small")?;
        let holds = k.binary(Op::Equal, same, 1)?;
        k.assert(holds, "same is 1")?;
        k.store(out, [i], x)?;
        k.end()
    });
    for (most, one) in [(1000, 1), (50, 1), (1000, 2), (-1, 1), (-1, 0)] {
        for sign in [1, -1] {
            let given = [
                ints(100, |i| sign * (1 + i as i32)),
                ints(100, |_| 0),
                Given::Scalar(Scalar::I32(most)),
                Given::Scalar(Scalar::I32(one)),
            ];
            for tuning in tunings().filter(|tuning| tuning.threads == 1) {
                compile(&kernel, &tuning).map(|_| ()).unwrap();
                let run = |switch| launch(&kernel, &NdRange::of(&[100]), &given, &tuning, switch);
                let (wanted, found) = (run(Switch::Off), run(Switch::Always));
                assert_eq!(wanted.is_err(), sign == 1 && (most < 100 || one != 1));
                assert_eq!(wanted.map_err(|e| e.to_string()), found.map_err(|e| e.to_string()));
            }
        }
    }
}

/// Bounds at the ends of what there are numbers for.
#[test]
fn loops_between_any_bounds() {
    for dtype in [Dtype::I32, Dtype::I64, Dtype::U64, Dtype::U8] {
        let kernel = build("bounds", 1, |k| {
            let arrays = ["start", "end", "step"].map(|name| k.global(name, dtype, 1, false));
            let out = k.global("out", Dtype::I64, 1, true)?;
            let i = k.index(Global, Id(0))?;
            let mut bounds = Vec::new();
            for array in arrays {
                bounds.push(k.load(array?, [i])?);
            }
            let sum = k.variable("sum", Dtype::I64)?;
            k.set(sum, Scalar::I64(0))?;
            let round = k.for_(bounds[0], bounds[1], bounds[2])?;
            let many = k.binary(Op::Greater, sum, Scalar::I64(1 << 40))?;
            k.if_(many)?;
            k.break_();
            k.end()?;
            let round = k.cast(round, Dtype::I64)?;
            let round = k.binary(Op::BitwiseAnd, round, Scalar::I64(0xff))?;
            let next = k.binary(Op::Add, round, Scalar::I64(1 << 35))?;
            let next = k.binary(Op::Add, sum, next)?;
            k.set(sum, next)?;
            k.end()?;
            k.store(out, [i], sum)
        });
        let mut rng = Rng(17);
        let ends = [i64::MIN, i64::MIN + 1, -9, -1, 0, 1, 2, 3, 10, 250, i64::MAX - 3, i64::MAX];
        let mut array = || {
            let of_all = |_| Scalar::I64(rng.pick(&ends)).cast(dtype);
            Given::Array(Array::new(dtype, &[300], of_all))
        };
        let given =
            [array(), array(), array(), Given::Array(Array::new(Dtype::I64, &[300], |_| Scalar::I64(-1)))];
        same(&kernel, &NdRange::of(&[300]), &given, "bounds");
    }
}

/// Indices without signs, of all sizes.
#[test]
fn indices_without_signs() {
    let kernel = build("unsigned", 1, |k| {
        let (at, a) = (k.global("at", Dtype::U64, 1, false)?, k.global("a", Dtype::I32, 1, false)?);
        let (out, one) = (k.global("out", Dtype::I32, 1, true)?, k.scalar("one", Dtype::U64)?);
        let i = k.index(Global, Id(0))?;
        let at = k.load(at, [i])?;
        let (x, y) = (k.load(a, [at])?, k.load(a, [one])?);
        let sum = k.binary(Op::Add, x, y)?;
        k.store(out, [at], sum)?;
        k.store(out, [one], -7)
    });
    for one in [0, 3, 1 << 63, u64::MAX] {
        // Each item writes an element of its own, or none.
        let at = |i: usize| {
            Scalar::U64(match i % 5 {
                0 => u64::MAX - i as u64,
                1 => (1 << 63) + i as u64,
                _ => i as u64 + 4,
            })
        };
        let given = [
            Given::Array(Array::new(Dtype::U64, &[200], at)),
            ints(60, |i| i as i32),
            ints(190, |_| -1),
            Given::Scalar(Scalar::U64(one)),
        ];
        same(&kernel, &NdRange::of(&[200]), &given, "unsigned");
    }
}

/// Steps from item to item that 32 bits just hold, and those that they do not.
#[test]
fn steps_of_any_size() {
    let steps = [i64::from(i32::MIN), i64::from(i32::MAX), 1 << 16, -(1 << 16), 65535, -65535, i64::MIN];
    for index in [Dtype::I32, Dtype::I64] {
        let kernel = build("steps", 1, |k| {
            let (a, out) = (k.global("a", Dtype::I32, 1, false)?, k.global("out", Dtype::I64, 1, true)?);
            let i = k.index(Global, Id(0))?;
            let small = k.cast(i, index)?;
            let sum = k.variable("sum", Dtype::I64)?;
            k.set(sum, Scalar::I64(0))?;
            for step in steps {
                let at = k.binary(Op::Multiply, small, Scalar::I64(step).cast(index))?;
                let negative = k.unary(Op::Negative, at)?;
                let (x, y) = (k.load(a, [at])?, k.load(a, [negative])?);
                let product = k.binary(Op::Subtract, x, y)?;
                let (product, at) = (k.cast(product, Dtype::I64)?, k.cast(at, Dtype::I64)?);
                let next = k.binary(Op::Multiply, sum, Scalar::I64(31))?;
                let next = k.binary(Op::Add, next, product)?;
                let next = k.binary(Op::BitwiseXor, next, at)?;
                k.set(sum, next)?;
            }
            k.store(out, [i], sum)
        });
        let out = Array::new(Dtype::I64, &[200], |_| Scalar::I64(-1));
        let given = [ints(80, |i| i as i32 * 3 + 1), Given::Array(out)];
        same(&kernel, &NdRange::of(&[200]), &given, "steps");
    }
}

/// Private arrays begin as zeros for each item, and are each item's own.
#[test]
fn private_and_constant_arrays() {
    let kernel = build("own", 1, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I32, 1, true)?);
        let own = k.private("own", Dtype::I32, &[8])?;
        let table: Vec<Scalar> = (0..5).map(|i| Scalar::I32(i * i - 3)).collect();
        let table = k.constant_array("table", &[5], &table)?;
        let i = k.index(Global, Id(0))?;
        let x = k.load(x, [i])?;
        let round = k.for_(0, 8, 1)?;
        let odd = k.binary(Op::BitwiseAnd, x, 1)?;
        let odd = k.binary(Op::Equal, odd, 1)?;
        k.if_(odd)?;
        let (one, each) = (k.load(table, [round])?, k.load(table, [x])?);
        let product = k.binary(Op::Multiply, one, each)?;
        k.store(own, [round], product)?;
        k.end()?;
        k.end()?;
        let place = k.binary(Op::BitwiseAnd, x, 7)?;
        let before = k.load(own, [place])?;
        k.store(own, [place], 100)?;
        let (sum, first) = (k.variable("sum", Dtype::I32)?, k.load(own, [Scalar::I64(3)])?);
        k.set(sum, first)?;
        let round = k.for_(0, 8, 1)?;
        let own = k.load(own, [round])?;
        let next = k.binary(Op::Multiply, sum, 3)?;
        let next = k.binary(Op::Add, next, own)?;
        k.set(sum, next)?;
        k.end()?;
        let sum = k.binary(Op::Add, sum, before)?;
        k.store(out, [i], sum)
    });
    for len in [1, 127, 128, 129, 256, 257, 511, 513, 1000] {
        let given = [ints(len, |i| (i as i32).wrapping_mul(77) >> 2), ints(len, |_| -1)];
        same(&kernel, &NdRange::of(&[len]), &given, "own");
        same(&kernel, &NdRange::in_groups(&[len], &[100]).partial(), &given, "own, in groups");
    }
}

/// Where the system lets nobody execute what was written, kernels are interpreted; asked for in a process of its own.
#[test]
#[cfg(target_os = "linux")]
fn a_system_that_forbids_code_is_obeyed() {
    const INSIDE: &str = "STRIDEWISE_NATIVE_FORBIDDEN";
    if std::env::var_os(INSIDE).is_none() {
        let name = std::thread::current().name().unwrap().to_owned();
        let mut inside = std::process::Command::new(std::env::current_exe().unwrap());
        let output = inside.args([&name, "--exact"]).env(INSIDE, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    // Memory never becomes executable in this process from here on (Linux 6.3).
    // SAFETY: it changes what later mappings may be, and no memory that there is.
    if unsafe { libc::prctl(65, 1, 0, 0, 0) } != 0 {
        return;
    }
    let kernel = build("forbidden", 1, |k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        let x = k.load(a, [i])?;
        let x = k.binary(Op::Add, x, 1)?;
        k.store(a, [i], x)
    });
    let tuning = tunings().next().unwrap();
    for _ in 0..3 {
        let run = |switch| {
            launch(&kernel, &NdRange::of(&[300]), &[ints(300, |i| i as i32)], &tuning, switch).unwrap()
        };
        assert_eq!(run(Switch::Always), run(Switch::Off));
        assert!(compiler::is_refused());
    }
    assert_eq!(compile(&kernel, &tuning).err(), Some(Unsupported::Refused));
}

/// Indices that go on by a step which is an argument: forwards, backwards, not at all, and so far that products wrap; for elements that
/// are read and written, as numbers, in a loop, and where the first lanes alone are active.
#[test]
fn steps_that_are_arguments() {
    let kernel = build("steps", 1, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 1, false)?, k.global("out", Dtype::I64, 1, true)?);
        let y = k.global("y", Dtype::I64, 1, true)?;
        let (step, first) = (k.scalar("step", Dtype::I64)?, k.scalar("first", Dtype::I64)?);
        let i = k.index(Global, Id(0))?;
        let at = k.binary(Op::Multiply, step, i)?;
        let at = k.binary(Op::Add, at, first)?;
        let value = k.load(x, [at])?;
        let value = k.cast(value, Dtype::I64)?;
        let back = k.binary(Op::Subtract, first, at)?;
        let sum = k.variable("sum", Dtype::I64)?;
        k.set(sum, back)?;
        let round = k.for_(0_i64, 3_i64, 1_i64)?;
        let further = k.binary(Op::Add, at, round)?;
        let next = k.load(x, [further])?;
        let next = k.cast(next, Dtype::I64)?;
        let next = k.binary(Op::Add, next, at)?;
        let next = k.binary(Op::Add, next, sum)?;
        k.set(sum, next)?;
        k.end()?;
        let few = k.binary(Op::Less, i, 37_i64)?;
        k.if_(few)?;
        let own = k.load(x, [back])?;
        let own = k.cast(own, Dtype::I64)?;
        k.store(y, [at], own)?;
        k.end()?;
        let value = k.binary(Op::Add, value, sum)?;
        k.store(out, [i], value)
    });
    let steps = [1, 2, -1, -3, 7, 1 << 31, -(1 << 31), 1 << 40, i64::MAX, i64::MIN];
    for len in [1, 7, 64, 129, 600] {
        for step in steps {
            for first in [0, 5, 599, -1, i64::MIN] {
                let given = [
                    ints(600, |i| i as i32 * 3 - 7),
                    Given::Array(Array::new(Dtype::I64, &[len], |_| Scalar::I64(-1))),
                    Given::Array(Array::new(Dtype::I64, &[300], |_| Scalar::I64(-2))),
                    Given::Scalar(Scalar::I64(step)),
                    Given::Scalar(Scalar::I64(first)),
                ];
                same(&kernel, &NdRange::of(&[len]), &given, &format!("{len} by {step} from {first}"));
            }
        }
    }
}

/// The ends of rows are gangs of their own where indices are kept between bounds.
#[test]
fn rows_of_every_length_with_bounds() {
    let kernel = build("bounds", 2, |k| {
        let (x, out) = (k.global("x", Dtype::I32, 2, false)?, k.global("out", Dtype::I32, 2, true)?);
        let (i, j, last) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?, k.extent(x, 1)?);
        let last = k.binary(Op::Subtract, last, 1_i64)?;
        let sum = k.variable("sum", Dtype::I32)?;
        k.set(sum, 0)?;
        let round = k.for_(-3_i64, 4_i64, 1_i64)?;
        let at = k.binary(Op::Add, j, round)?;
        let at = k.binary(Op::Maximum, at, 0_i64)?;
        let at = k.binary(Op::Minimum, at, last)?;
        let element = k.load(x, [i, at])?;
        let next = k.binary(Op::Multiply, sum, 5)?;
        let next = k.binary(Op::Add, next, element)?;
        k.set(sum, next)?;
        k.end()?;
        k.store(out, [i, j], sum)
    });
    for len in [1, 31, 64, 127, 128, 129, 135, 136, 300, 544, 545, 4096 + 130] {
        let array = || {
            let element = |i: usize| Scalar::I32((i as i32).wrapping_mul(0x9e37_79b9_u32 as i32));
            Given::Array(Array::new(Dtype::I32, &[2, len], element))
        };
        same(&kernel, &NdRange::of(&[2, len]), &[array(), array()], &format!("rows of {len}"));
    }
}

/// Kernels are named in the map for profilers.
#[test]
fn kernels_are_named_for_profilers() {
    if !compiler::perf::is_inside() {
        if tunings().next().is_some() {
            let text = compiler::perf::of_a_process("1").unwrap();
            assert!(text.contains(" stridewise::kernel::of_a_map[avx"), "{text}");
        }
        return;
    }
    let kernel = build("of a map", 1, |k| {
        let a = k.global("a", Dtype::I32, 1, true)?;
        let i = k.index(Global, Id(0))?;
        k.store(a, [i], 1)
    });
    let tuning = tunings().next().unwrap();
    launch(&kernel, &NdRange::of(&[300]), &[ints(300, |i| i as i32)], &tuning, Switch::Always).unwrap();
}
