//! From a thread with a small stack: every family of operations comes to what it comes to elsewhere. A fault ends the process, and
//! so the case, whose name is the family's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread::Builder;

use stridewise::kernel::{
    Coordinate, Fence, Kernel, KernelBuilder, Level, MAX_DEPTH, NdRange, Position, Statement, StatementKind,
    Value,
};
use stridewise::prelude::*;
use stridewise::{Index, Scalar, UsmMemory};

use crate::{Steps, isolated};

/// What is computed of arrays of about so many elements.
type Family = fn(&mut Results, usize) -> Result<()>;

/// Numbers of elements: work for the calling thread, alone and with others', and for the pool.
const LENS: [usize; 5] = [16, 3000, 1 << 14, 1 << 16, 1 << 18];

const REDUCTIONS: [Reduction; 9] = [
    Reduction::Sum,
    Reduction::Prod,
    Reduction::Min,
    Reduction::Max,
    Reduction::Mean,
    Reduction::Any,
    Reduction::All,
    Reduction::ArgMin,
    Reduction::ArgMax,
];

/// The results of a family, by name.
#[derive(Default)]
struct Results(Vec<(String, Outcome)>);

/// What an operation came to: the bits of an array, a text, or an error.
#[derive(PartialEq, Debug)]
enum Outcome {
    Bits(u64),
    Text(String),
    Refused(String),
}

impl Results {
    fn array(&mut self, name: impl Into<String>, array: Result<impl Into<UsmArray>>) {
        let bits = |array: UsmArray| -> Result<u64> {
            let copy = array.copy_in(Order::C)?;
            let mut hasher = DefaultHasher::new();
            if !copy.is_empty() {
                copy.usm_data()?.to_bytes()?[..copy.bytes()].hash(&mut hasher);
            }
            (copy.shape(), copy.dtype()).hash(&mut hasher);
            Ok(hasher.finish())
        };
        let outcome = array.and_then(|array| bits(array.into()));
        self.0.push((name.into(), outcome.map_or_else(|e| Outcome::Refused(e.to_string()), Outcome::Bits)));
    }

    fn text(&mut self, name: impl Into<String>, text: Result<String>) {
        let outcome = text.map_or_else(|e| Outcome::Refused(e.to_string()), Outcome::Text);
        self.0.push((name.into(), outcome));
    }
}

fn vector(len: usize) -> Array<f32> {
    Array::from_vec([len], (0..len).map(|i| (i * 7 % 31) as f32).collect::<Vec<_>>()).unwrap()
}

fn square(len: usize) -> Array<f32> {
    let side = len.isqrt();
    vector(side * side).reshape([side, side]).unwrap()
}

/// The same numbers in each dtype.
fn every_dtype(array: Array<f32>) -> impl Iterator<Item = UsmArray> {
    let array = array.into_untyped();
    Dtype::ALL.iter().map(move |&dtype| array.astype(dtype).unwrap())
}

/// Applies every operation to arrays of a dtype that it takes.
fn every_op(results: &mut Results, form: &str, x: &UsmArray) {
    let condition = x.astype(Dtype::Bool).unwrap();
    for &op in Op::ALL.iter().filter(|op| op.allows(x.dtype())) {
        let y = match op {
            Op::Cast => x.astype(Dtype::F64),
            Op::Where => where_(&condition, x, x),
            _ => elementwise(op, &vec![x.into(); op.arity()]),
        };
        results.array(format!("{form} {}, {}", op.name(), x.dtype()), y);
    }
}

/// By name, with the most elements that the machine has time for.
const FAMILIES: &[(&str, usize, Family)] = &[
    ("creation", 1 << 18, |results, len| {
        results.array("full", Array::<f32>::full([len], 2.0));
        results.array("arange", Array::<i64>::arange(0, len as i64, 1));
        results.array("linspace", Array::<f64>::linspace(0.0, 1.0, len));
        results.array("eye", Array::<Complex<f32>>::eye(len.isqrt()));
        results.array("triangle", square(len).tril(0));
        Ok(())
    }),
    ("elementwise", 1 << 16, |results, len| {
        every_dtype(vector(len)).for_each(|x| every_op(results, "dense", &x));
        Ok(())
    }),
    ("elementwise, strided", 1 << 14, |results, len| {
        for x in every_dtype(square(len)) {
            every_op(results, "transposed", &x.t());
            every_op(results, "every second", &x.slice(s![.., ..;2])?);
            every_op(results, "reversed", &x.slice(s![..;-1, ..;-1])?);
        }
        Ok(())
    }),
    ("broadcasting", 1 << 18, |results, len| {
        for x in every_dtype(square(len)) {
            let (row, column) = (x.slice(s![0, ..])?, x.slice(s![.., 0, NewAxis])?);
            results.array("row", elementwise(Op::NotEqual, &[(&x).into(), (&row).into()]));
            results.array("column", elementwise(Op::Equal, &[(&column).into(), (&x).into()]));
            results.array("both", elementwise(Op::Equal, &[(&row).into(), (&column).into()]));
        }
        Ok(())
    }),
    ("fused expressions", 1 << 18, |results, len| {
        let (a, b) = (vector(len), vector(len) + 1.0);
        let mut chain = &a * &b;
        for k in 0..40 {
            chain = (&chain * 0.5 + &a).sqrt() + &(&b * k as f32).atan2(&a);
        }
        results.array("chain", Ok(chain));
        let t = square(len).t();
        results.array("transposed", Ok((&t * &square(len) + &t).exp().sqrt()));
        results.array("mixed", Ok((a.astype::<f64>() + b.astype::<i32>().astype::<f64>()).astype::<f16>()));
        Ok(())
    }),
    ("conversions", 1 << 16, |results, len| {
        for x in every_dtype(vector(len)) {
            for &to in Dtype::ALL {
                results.array(format!("{} to {to}", x.dtype()), x.astype(to));
                results.array(format!("every second {} to {to}", x.dtype()), x.slice(s![..;2])?.astype(to));
            }
        }
        Ok(())
    }),
    ("in place", 1 << 18, |results, len| {
        for x in every_dtype(square(len)) {
            results.array("transposed", x.assign(&x.t()).map(|_| x.clone()));
            results.array("part", x.slice(s![1..;2, ..])?.assign(&x.slice(s![0, ..])?).map(|_| x.clone()));
            results.array("overlapping", x.slice(s![1.., ..])?.assign(&x.slice(s![..-1, ..])?).map(|_| x));
        }
        let mut a = vector(len);
        a += &vector(len);
        a *= 2.0;
        a.slice(s![..;3])?.fill(7.0)?;
        results.array("operators", Ok(a));
        Ok(())
    }),
    ("reductions", 1 << 16, |results, len| {
        for x in every_dtype(square(len)) {
            for kind in REDUCTIONS {
                for (axes, name) in [(None, "all"), (Some(&[0][..]), "columns"), (Some(&[1][..]), "rows")] {
                    results.array(
                        format!("{} of {name}, {}", kind.name(), x.dtype()),
                        x.reduce(kind, axes, false),
                    );
                    results
                        .array(format!("{} of {name}, strided", kind.name()), x.t().reduce(kind, axes, true));
                }
            }
        }
        results.array("of an expression", (square(len) * &square(len) + 1.0).sum_axis(0));
        Ok(())
    }),
    ("statistics", 1 << 16, |results, len| {
        for x in every_dtype(square(len)) {
            for axes in [None, Some(&[0][..]), Some(&[1][..])] {
                results.array("var", x.var(axes, false, 1.0));
                results.array("std", x.std(axes, true, 0.0));
                results.array("count", x.count_nonzero(axes, false));
                results.array("logsumexp", x.logsumexp(axes, false, None));
                results.array("hypot", x.reduce_hypot(axes, false, None));
            }
        }
        let x = square(len);
        results.array("normalised", Ok((&x - &x.mean_axis_keepdims(1)?) / &x.std_axis_keepdims(1, 0.0)?));
        Ok(())
    }),
    ("scans", 1 << 16, |results, len| {
        for x in every_dtype(square(len)) {
            for kind in [Scan::Sum, Scan::Prod, Scan::Logsumexp] {
                results.array("rows", x.cumulative(kind, Some(1), None, false));
                results.array("columns", x.cumulative(kind, Some(0), None, true));
            }
            results.array("differences", x.diff(-1, 2, None, None));
        }
        Ok(())
    }),
    ("sorting", 1 << 18, |results, len| {
        for x in every_dtype(square(len)).chain(every_dtype(vector(len))) {
            for axis in 0..x.ndim() as isize {
                results.array("sort", x.sort(axis, false));
                results.array("descending", x.sort(axis, true));
                results.array("argsort", x.argsort(axis, false));
            }
            results.array("top", x.top_k(3, None, true).map(|(values, _)| values));
        }
        Ok(())
    }),
    ("searching and sets", 1 << 14, |results, len| {
        for x in every_dtype(vector(len)) {
            let sorted = x.sort(0, false);
            results.array("search", sorted.and_then(|sorted| sorted.searchsorted(&x, Side::Left, None)));
            results.array("unique", x.unique_values());
            results.array("inverse", x.unique_inverse().map(|(_, inverse)| inverse));
            results.array("counts", x.unique_counts().map(|(_, counts)| counts));
            results.array("isin", x.isin(&x.slice(s![..10])?, false));
        }
        Ok(())
    }),
    ("masks and indices", 1 << 18, |results, len| {
        let indices = (vector(len) * 0.25).astype::<i64>();
        for x in every_dtype(vector(len)) {
            let mask = x.astype(Dtype::Bool)?;
            results.array("masked", x.masked(&mask));
            results.array("nonzero", x.nonzero().map(|mut found| found.remove(0)));
            results.array("take", x.take(indices.as_untyped(), Some(0), IndexMode::Wrap));
            let y = x.copy()?;
            results.array(
                "assigned",
                y.assign_masked(&mask, Scalar::Bool(true).cast(y.dtype())).map(|_| y.clone()),
            );
            results
                .array("put", y.put(indices.as_untyped(), &x, Some(0), IndexMode::Clip).map(|_| y.clone()));
            let items = [Index::from(indices.as_untyped())];
            results.array("index", x.index(&items));
        }
        Ok(())
    }),
    ("rearranging", 1 << 18, |results, len| {
        for x in every_dtype(square(len)) {
            results.array("roll", x.roll(&[1, 2], Some(&[0, 1])));
            results.array("repeat", x.repeat(2, Some(1)));
            results.array("tile", x.tile(&[2, 1]));
            results.array("concat", concat(&[&x, &x.t()], Some(1)));
            results.array("stack", stack(&[&x, &x], 0));
            results.array("flip", x.flip(Some(&[0])).and_then(|x| x.copy()));
            results.array("columns first", x.copy_in(Order::F));
        }
        Ok(())
    }),
    ("products", 1 << 16, |results, len| {
        for x in every_dtype(square(len)) {
            results.array(format!("matrices, {}", x.dtype()), x.matmul(&x));
            results.array("transposed", x.t().matmul(&x));
            results.array("with a vector", x.matmul(&x.slice(s![0, ..])?));
            results.array("vectors", x.vecdot(&x, -1));
            results.array("trace", x.trace(0, None));
        }
        for x in every_dtype(vector(len)) {
            results.array("vectors", x.vecdot(&x, -1));
        }
        let x = square(len.min(1 << 12)).into_untyped();
        results.array("outer", x.slice(s![0, ..])?.outer(&x.slice(s![1, ..])?));
        results.array("of an expression", Ok((square(len) + 1.0).matmul(&(square(len) * 2.0))));
        Ok(())
    }),
    ("complex numbers", 1 << 18, |results, len| {
        let z = vector(len).astype::<Complex<f64>>() * Complex::new(0.3, 0.4);
        every_op(results, "complex", z.as_untyped());
        results.array("angle", Ok(z.angle()));
        results.array("proj", Ok(z.proj()));
        results.array("real", z.as_untyped().real_view().and_then(|x| x.copy()));
        Ok(())
    }),
    ("random numbers", 1 << 18, |results, len| {
        let mut generator = Generator::new(7);
        results.array("uniform", generator.uniform::<f32>([len], 0.0, 1.0));
        results.array("normal", generator.normal::<f64>([len], 0.0, 1.0));
        results.array("integers", generator.integers::<i32>([len], 0, 100));
        results.array("permutation", generator.permutation(len));
        Ok(())
    }),
    ("printing", 1 << 18, |results, len| {
        for x in every_dtype(square(len)) {
            results.text("display", Ok(format!("{x}")));
            results.text("debug", Ok(format!("{x:?}")));
        }
        let error = square(len).try_add(&vector(len + 7)).map(|_| String::new());
        results.text("an error", error);
        Ok(())
    }),
    ("memory", 1 << 18, |results, len| {
        let queue = Queue::default_queue()?;
        for kind in UsmKind::ALL {
            let Ok(memory) = UsmMemory::new(kind, 8 * len, &queue) else { continue };
            queue.fill(&memory, 0, Scalar::F32(2.0), 2 * len, &[])?.wait()?;
            memory.copy_from_host(0, &vec![7; len])?;
            results.text("bytes", memory.to_bytes().map(|bytes| format!("{:?}", &bytes[len - 4..len + 4])));
        }
        results.array("copies", vector(len).to_kind(UsmKind::Shared));
        let view = square(len);
        results.text("view", view.view().map(|view| format!("{}", view.iter().sum::<f32>())));
        Ok(())
    }),
    ("closeness", 1 << 18, |results, len| {
        let (a, b) = (vector(len), vector(len) + 1e-9);
        results.text("allclose", a.allclose(&b, 1e-5, 1e-8, false).map(|close| close.to_string()));
        results.array("isclose", a.isclose(&b, 1e-5, 1e-8, true));
        Ok(())
    }),
    ("host tasks and events", 1 << 18, |results, len| {
        let (queue, a) = (Queue::default_queue()?, vector(len));
        let b = (&a + 1.0).sqrt();
        let event = queue.submit_host_task(|| Ok(()), &[b.event()?])?;
        futures_executor::block_on(event.into_future())?;
        queue.submit_barrier(&[])?.wait()?;
        results.array("after", Ok(b));
        Ok(())
    }),
    ("kernels", 1 << 14, |results, len| {
        for &(name, open) in BLOCKS {
            let kernel = inside_of_each_other(open)?;
            results.text(format!("{name}, as text"), Ok(kernel.to_string()));
            let a = vector(len);
            let range = NdRange::in_groups(&[len], &[48]).partial();
            let outcome = kernel.launch(a.queue(), range.clone(), &[(&a).into()], &[]).and_then(|e| e.wait());
            results.array(name, outcome.map(|()| a));
            let a = vector(16);
            let outcome = kernel.launch_checked(a.queue(), [16], &[(&a).into()], &[]).and_then(|e| e.wait());
            results.array(format!("{name}, checked"), outcome.map(|()| a));
        }
        // As deep as no kernel may be.
        let at = Position { file: "form".into(), line: 1, column: 1, length: 0 };
        let mut body = Vec::new();
        for depth in 0..100_000 {
            let kind = StatementKind::Call { function: format!("f{depth}").into(), body };
            body = vec![Statement { kind, at: at.clone() }];
        }
        let mut form = KernelBuilder::new("deep", 1)?.finish()?.form().clone();
        form.body = body;
        results.text("a form", Kernel::new(form).map(|kernel| kernel.to_string()));
        Ok(())
    }),
    #[cfg(feature = "npy")]
    ("files", 1 << 18, |results, len| {
        let path = std::env::temp_dir().join(format!("stridewise-stack-{}-{len}.npy", std::process::id()));
        square(len).save_npy(&path)?;
        results.array("read", Array::<f32>::load_npy(&path));
        std::fs::remove_file(&path).expect("the file that was just written");
        Ok(())
    }),
    #[cfg(feature = "ndarray")]
    ("ndarray", 1 << 18, |results, len| {
        let there = square(len).to_ndarray()?;
        results.array("and back", Array::try_from(&there));
        Ok(())
    }),
];

/// Opens a block of a kernel whose items have the ids `i`, at some depth.
type Open = fn(&mut KernelBuilder, i: Value, depth: i64) -> Result<()>;

fn third(k: &mut KernelBuilder, i: Value, depth: i64) -> Result<Value> {
    let sum = k.binary(Op::Add, i, depth)?;
    let rest = k.binary(Op::Remainder, sum, 3)?;
    k.binary(Op::NotEqual, rest, 0)
}

/// What blocks of kernels are.
const BLOCKS: &[(&str, Open)] = &[
    ("branches", |k, i, depth| {
        let some = third(k, i, depth / 40)?;
        k.if_(some)
    }),
    ("branches of others", |k, i, depth| {
        let some = third(k, i, depth / 40)?;
        k.if_(some)?;
        k.else_()
    }),
    ("branches with barriers", |k, _, depth| {
        let all = k.index(Level::Group, Coordinate::Range(0))?;
        let most = k.binary(Op::Greater, all, depth - 1000)?;
        k.if_(most)?;
        k.barrier(Fence::BOTH);
        Ok(())
    }),
    ("loops that count", |k, i, depth| {
        let some = third(k, i, depth / 40)?;
        let rounds = k.cast(some, Dtype::I64)?;
        k.for_(0, rounds, 1).map(drop)
    }),
    ("loops", |k, i, depth| {
        let round = k.variable("round", Dtype::I64)?;
        let some = third(k, i, depth / 40)?;
        let some = k.cast(some, Dtype::I64)?;
        k.set(round, some)?;
        k.while_()?;
        let more = k.binary(Op::Greater, round, 0)?;
        k.do_(more)?;
        let less = k.binary(Op::Subtract, round, 1)?;
        k.set(round, less)
    }),
    ("calls", |k, _, depth| k.call(&format!("f{depth}"), None)),
];

/// A kernel of blocks inside of each other, as deep as may be, each of which adds something to the item's element.
fn inside_of_each_other(open: Open) -> Result<Kernel> {
    let mut k = KernelBuilder::new("deep", 1)?;
    let a = k.global("a", Dtype::F32, 1, true)?;
    let i = k.index(Level::Global, Coordinate::Id(0))?;
    for depth in 0..MAX_DEPTH as i64 {
        open(&mut k, i, depth)?;
        let x = k.load(a, [i])?;
        let more = k.binary(Op::Add, x, 1.0)?;
        k.store(a, [i], more)?;
    }
    for _ in 0..MAX_DEPTH {
        k.end()?;
    }
    k.finish()
}

/// Runs a family on a thread with a stack of so many KiB.
fn on_stack(kib: usize, most: usize, family: Family, steps: &Steps) -> Vec<(String, Outcome)> {
    let steps = steps.clone();
    let run = move || {
        let mut results = Results::default();
        for len in LENS.into_iter().filter(|&len| len <= most) {
            family(&mut results, len).unwrap();
            steps.step();
        }
        results.0
    };
    Builder::new().stack_size(kib << 10).spawn(run).unwrap().join().unwrap()
}

/// In this build, 48 KiB are enough for all but the header of a file, whose parser wants more left and says so.
#[test]
fn of_64_kib() {
    let names: Vec<&str> = FAMILIES.iter().map(|(name, ..)| *name).collect();
    isolated("stacks::of_64_kib", &names, |case, steps| {
        let (_, most, family) = FAMILIES.iter().find(|(name, ..)| *name == case).expect("a family");
        // The little stack first: it is where the devices are found and everything is used for the first time.
        let [little, much] = [64, 8 << 10].map(|kib| on_stack(kib, *most, *family, steps));
        for (little, much) in std::iter::zip(&little, &much) {
            if case == "files" && matches!(&little.1, Outcome::Refused(why) if why.contains("stack limit")) {
                continue;
            }
            assert_eq!(little, much);
        }
        assert_eq!(little.len(), much.len());
    });
}
