//! Elements that go to the host and come from there: views, copies, texts, files, other crates.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use stridewise::ndarray::{ArrayD, Slice};
use stridewise::{Array, Op, Order, Result, Scalar, UsmArray, UsmKind, s};

use super::{Scenario, scenario};
use crate::allocator::spared;
use crate::bench::{Bench, LASTING};

pub(crate) const LIST: &[Scenario] = &[
    scenario("a host view for reading", view).of_the_host(),
    scenario("a host view for writing", view_mut).of_the_host(),
    scenario("an array that lasts", lasting).of_the_host(),
    scenario("a copy of elements with gaps", copy_out),
    scenario("bytes of memory", bytes),
    scenario("an array of bools", bools),
    scenario("a text of a few elements", few_in_text),
    scenario("a text of many elements", many_in_text),
    scenario("a file", file),
    scenario("a file by columns", file_by_columns),
    scenario("arrays of another crate", other_crate).of_the_host(),
];

fn view(bench: &Bench) -> Result<()> {
    let a = bench.array_in(UsmKind::Shared, &[300, 200], |i| i as f32)?;
    let sum = a.binary(Op::Add, &a)?;
    let view = sum.host_view::<f32>()?;
    bench.agree(&view.try_to_vec()?, |i| 2.0 * i as f32);
    bench.check(view.get(&[2, 3]) == Some(&806.0), "an element of a view");
    let columns = a.slice(s![.., ..;2])?;
    bench.agree(&columns.host_view::<f32>()?.try_to_vec()?, |i| (2 * i) as f32);
    Ok(())
}

fn view_mut(bench: &Bench) -> Result<()> {
    let mut a = bench.array_in(UsmKind::Host, &[50_000], |i| i as i64)?;
    let doubled = a.binary(Op::Add, &a)?;
    a.host_view_mut::<i64>()?.for_each_mut(|x| *x += 1);
    bench.expect(&a, |i| i as i64 + 1)?;
    // What was recorded before has read the elements as they were.
    bench.expect(&doubled, |i| 2 * i as i64)
}

fn lasting(bench: &Bench) -> Result<()> {
    let Some(array) = &bench.lasting else { return Ok(()) };
    let recorded = array.binary(Op::Add, array)?;
    bench.agree(&array.host_view::<f32>()?.try_to_vec()?, |i| i as f32);
    bench.expect(&array.sort(0, true)?, |i| (LASTING - 1 - i) as f32)?;
    let one = || Scalar::F32(1.0).into();
    array.write_elementwise(Op::Add, &[array.into(), one()], &[])?;
    bench.expect(&recorded, |i| 2.0 * i as f32)?;
    bench.expect(array, |i| i as f32 + 1.0)?;
    array.write_elementwise(Op::Subtract, &[array.into(), one()], &[])?.wait()
}

fn copy_out(bench: &Bench) -> Result<()> {
    let a = bench.array(&[400, 300], |i| i as f64)?;
    bench.expect(&a.slice(s![..;2, ..;3])?, |i| (i / 100 * 600 + i % 100 * 3) as f64)?;
    bench.expect(&a.t(), |i| (i % 400 * 300 + i / 400) as f64)?;
    let shared = bench.array_in(UsmKind::Shared, &[400, 300], |i| i as f64);
    if bench.computes {
        bench.expect(&shared?.t(), |i| (i % 400 * 300 + i / 400) as f64)?;
    }
    Ok(())
}

fn bytes(bench: &Bench) -> Result<()> {
    let a = bench.array(&[40_000], |i| i as u32)?;
    let memory = a.usm_data()?;
    let all = memory.to_bytes()?;
    let right = all.chunks(4).enumerate().all(|(i, part)| part == (i as u32).to_ne_bytes());
    assert!(right, "copies are real on every runtime");
    memory.copy_from_host(4, &[1, 2, 3, 4])?;
    bench.expect(&a.slice(s![1..2])?, |_| u32::from_ne_bytes([1, 2, 3, 4]))
}

fn bools(bench: &Bench) -> Result<()> {
    let a = bench.array(&[50_000], |i| i.is_multiple_of(3))?;
    bench.expect(&a, |i| i.is_multiple_of(3))?;
    let negated = a.unary(Op::LogicalNot)?;
    if bench.computes { bench.expect(&negated, |i| !i.is_multiple_of(3)) } else { negated.wait() }
}

fn few_in_text(bench: &Bench) -> Result<()> {
    let a = bench.array(&[2, 3], |i| i as f32)?;
    bench.check(a.written(0, 0)? == "[[0., 1., 2.],\n [3., 4., 5.]]", "a text of six elements");
    let long = bench.array(&[300, 500], |i| i as f32)?.binary(Op::Multiply, Scalar::F32(0.5))?;
    bench.check(long.written(0, 0)?.contains("..."), "a summary");
    // What cannot say no to its caller says in its text why.
    let mut shown = spared(|| String::with_capacity(1 << 10));
    assert!(write!(shown, "{a}").is_ok(), "a text of a formatter");
    Ok(())
}

fn many_in_text(bench: &Bench) -> Result<()> {
    // Axes so short are written whole.
    let a = bench.array(&[2; 13], |i| (i % 10) as i8)?;
    let text = a.written(0, 0)?;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    bench.check(digits == 1 << 13, "a text of all elements");
    Ok(())
}

/// A file of this process.
fn path(name: &str) -> PathBuf {
    spared(|| std::env::temp_dir().join(format!("stridewise-faults-{}-{name}.npy", std::process::id())))
}

fn file(bench: &Bench) -> Result<()> {
    let path = path("rows");
    let a = bench.array(&[300, 400], |i| i as f32)?;
    let outcome = a.binary(Op::Add, &a)?.save_npy(&path).and_then(|()| {
        let loaded = UsmArray::load_npy_on(&path, &bench.queue, UsmKind::Device)?;
        bench.expect(&loaded, |i| 2.0 * i as f32)
    });
    let _ = fs::remove_file(&path);
    outcome
}

fn file_by_columns(bench: &Bench) -> Result<()> {
    let path = path("columns");
    let a = bench.array(&[500, 700], |i| i as f64)?;
    let outcome = a.copy_in(Order::F)?.save_npy(&path).and_then(|()| {
        let loaded = UsmArray::load_npy_on(&path, &bench.queue, UsmKind::Device)?;
        bench.check(loaded.flags().f_contiguous, "an order by columns");
        bench.expect(&loaded, |i| i as f64)
    });
    let _ = fs::remove_file(&path);
    outcome
}

fn other_crate(bench: &Bench) -> Result<()> {
    let theirs = spared(|| ArrayD::from_shape_fn(vec![200, 300], |i| (i[0] * 300 + i[1]) as f32));
    let ours = Array::from_ndarray_on(&bench.queue, &theirs)?;
    bench.expect(ours.as_untyped(), |i| i as f32)?;
    let turned = Array::from_ndarray_on(&bench.queue, &theirs.t())?;
    let back = turned.to_ndarray()?;
    bench.check(back == theirs.t(), "what came back");
    let every = theirs.slice_each_axis(|_| Slice::new(0, None, 2));
    let apart = Array::from_ndarray_on(&bench.queue, &every)?;
    bench.expect(apart.as_untyped(), |i| (i / 150 * 600 + i % 150 * 2) as f32)
}
