//! What is said of passes beforehand, beside what a device that counts them is given afterwards; and for each cause by which a pass
//! ends, a program in which one does.

#[allow(dead_code, reason = "not every test chooses in all of its ways")]
mod random;

use std::sync::Arc;

use random::Rng;
use stridewise::{
    ArrayOrScalar, Cut, Device, Dtype, Explanation, Op, Queue, Reduction, UsmArray, UsmKind, Weak, s,
};
use stridewise_null::{Logged, NullConfig, NullDevice, Submission};

fn null() -> (NullDevice, Queue) {
    let null = NullDevice::new(NullConfig::default());
    let queue = Device::from_backend(Arc::new(null.clone())).queue().unwrap();
    (null, queue)
}

fn empty(queue: &Queue, shape: &[usize]) -> UsmArray {
    UsmArray::empty(queue, shape, Dtype::F32, UsmKind::Device).unwrap()
}

fn op(op: Op, a: &UsmArray, b: &UsmArray) -> UsmArray {
    a.binary(op, b).unwrap()
}
fn add(a: &UsmArray, b: &UsmArray) -> UsmArray {
    op(Op::Add, a, b)
}
fn mul(a: &UsmArray, b: &UsmArray) -> UsmArray {
    op(Op::Multiply, a, b)
}
fn sub(a: &UsmArray, b: &UsmArray) -> UsmArray {
    op(Op::Subtract, a, b)
}
fn plus(a: &UsmArray, value: f64) -> UsmArray {
    a.binary(Op::Add, weak(value)).unwrap()
}
fn weak(value: f64) -> ArrayOrScalar<'static> {
    ArrayOrScalar::Weak(Weak::Float(value))
}
fn sqrt(a: &UsmArray) -> UsmArray {
    a.unary(Op::Sqrt).unwrap()
}
fn reduced(a: &UsmArray, reduction: Reduction, axis: isize) -> UsmArray {
    a.reduce(reduction, Some(&[axis]), true).unwrap()
}

/// What a device was given: bytes that its plans read and write, each element that an operand reaches once, operands that read alike
/// once.
fn counted(submission: &Submission) -> [usize; 2] {
    let Logged::Launch(plans) = &submission.command else { panic!("{submission:?}") };
    let mut bytes = [0; 2];
    let mut seen = [Vec::new(), Vec::new()];
    for plan in plans {
        let reads = plan.inputs.iter().enumerate().filter(|(i, _)| !plan.program.is_index(*i));
        let reads = reads.map(|(i, operand)| (0, operand, plan.program.inputs()[i].size()));
        let writes =
            plan.outputs.iter().enumerate().map(|(i, operand)| (1, operand, plan.output_dtype(i).size()));
        for (side, operand, size) in reads.chain(writes) {
            let mut places = vec![operand.ptr.addr() as isize];
            for (&extent, &stride) in plan.dims.iter().zip(&operand.strides) {
                let step = stride * size as isize;
                places =
                    places.iter().flat_map(|&at| (0..extent as isize).map(move |i| at + i * step)).collect();
                places.sort_unstable();
                places.dedup();
            }
            let way = (operand.ptr.addr(), plan.dims.clone(), operand.strides.clone(), size);
            if !seen[side].contains(&way) {
                bytes[side] += places.len() * size;
                seen[side].push(way);
            }
        }
    }
    bytes
}

/// Explains an array, then has it submitted, and compares.
fn compare(what: &str, null: &NullDevice, array: &UsmArray) -> Explanation {
    let before = null.log().len();
    let live = array.device().pool_statistics().live_bytes;
    let pending = array.is_pending();
    let explanation = array.explain().unwrap();
    assert_eq!(null.log().len(), before, "{what}: something was submitted");
    assert_eq!(array.device().pool_statistics().live_bytes, live, "{what}: memory was taken");
    assert_eq!(array.is_pending(), pending, "{what}");
    array.event().unwrap();
    let found: Vec<[usize; 2]> = null.log_since(before).iter().map(counted).collect();
    let told: Vec<[usize; 2]> =
        explanation.passes.iter().map(|pass| [pass.bytes_read(), pass.bytes_written()]).collect();
    assert_eq!(told, found, "{what}:\n{explanation}");
    explanation
}

/// The arrays of the expressions.
struct Leaves {
    a: UsmArray,
    b: UsmArray,
    c: UsmArray,
    row: UsmArray,
    column: UsmArray,
    /// So large that reductions of them are recorded.
    big: UsmArray,
    other: UsmArray,
}

/// Expressions, each with what is held besides its result.
type Build = fn(&Leaves) -> (UsmArray, Vec<UsmArray>);

const EXPRESSIONS: &[(&str, Build)] = &[
    ("a + b", |l| (add(&l.a, &l.b), vec![])),
    ("a + 1", |l| (plus(&l.a, 1.0), vec![])),
    ("a * b + c", |l| (add(&mul(&l.a, &l.b), &l.c), vec![])),
    ("sqrt(a a + b b) c - a", |l| {
        (sub(&mul(&sqrt(&add(&mul(&l.a, &l.a), &mul(&l.b, &l.b))), &l.c), &l.a), vec![])
    }),
    ("a row is broadcast", |l| (add(&l.a, &l.row), vec![])),
    ("a column is broadcast", |l| (mul(&l.a, &l.column), vec![])),
    ("a row and a column", |l| (plus(&add(&l.row, &l.column), 2.0), vec![])),
    ("transposed both", |l| (add(&l.a.t(), &l.b.t()), vec![])),
    ("transposed one", |l| (add(&l.big, &l.big.t()), vec![])),
    ("recorded, then transposed", |l| (add(&add(&l.a, &l.b).t(), &l.c.t()), vec![])),
    ("read forwards and backwards", |l| {
        let x = add(&l.a, &l.b);
        (add(&x, &x.flip(None).unwrap()), vec![])
    }),
    ("one held", |l| {
        let x = add(&l.a, &l.b);
        (mul(&x, &l.c), vec![x])
    }),
    ("two held", |l| {
        let x = add(&l.a, &l.b);
        let y = mul(&x, &l.c);
        (sqrt(&y), vec![x, y])
    }),
    ("nine held", |l| {
        let mut held = vec![add(&l.a, &l.b)];
        for _ in 0..9 {
            let next = plus(held.last().unwrap(), 1.0);
            held.push(next);
        }
        (held.pop().unwrap(), held)
    }),
    ("nothing held of a chain", |l| ((0..9).fold(add(&l.a, &l.b), |x, i| plus(&x, f64::from(i))), vec![])),
    ("converted", |l| (l.a.astype(Dtype::F64).unwrap(), vec![])),
    ("converted within", |l| (plus(&add(&l.a, &l.b).astype(Dtype::F64).unwrap(), 1.0), vec![])),
    ("compared", |l| (op(Op::Greater, &plus(&l.a, 1.0), &l.b), vec![])),
    ("forty operations", |l| ((0..40).fold(l.a.clone(), |x, i| plus(&x, f64::from(i))), vec![])),
    ("every second element", |l| {
        (add(&l.a.slice(s![..;2]).unwrap(), &l.b.slice(s![1..;2]).unwrap()), vec![])
    }),
    ("halves", |l| (mul(&l.big.slice(s![.., ..256]).unwrap(), &l.big.slice(s![.., 256..]).unwrap()), vec![])),
    ("neighbours", |l| {
        let at = |row: usize, column: usize| {
            l.big
                .slice(s![row as isize..(row + 500) as isize, column as isize..(column + 500) as isize])
                .unwrap()
        };
        (add(&add(&at(0, 1), &at(2, 1)), &add(&at(1, 0), &at(1, 2))), vec![])
    }),
    ("reversed", |l| (add(&l.a.flip(None).unwrap(), &l.b), vec![])),
    ("used twice", |l| {
        let x = add(&l.a, &l.b);
        (mul(&x, &x), vec![])
    }),
    ("a diamond", |l| {
        let x = add(&l.a, &l.b);
        (add(&sqrt(&x), &mul(&x, &l.c)), vec![])
    }),
    ("a diamond whose top is held", |l| {
        let x = add(&l.a, &l.b);
        (add(&sqrt(&x), &mul(&x, &l.c)), vec![x])
    }),
    ("sum of rows", |l| (reduced(&l.big, Reduction::Sum, 1), vec![])),
    ("sum of columns", |l| (reduced(&l.big, Reduction::Sum, 0), vec![])),
    ("mean of columns", |l| (reduced(&l.big, Reduction::Mean, 0), vec![])),
    ("sum and maximum", |l| {
        let sum = reduced(&l.big, Reduction::Sum, 0);
        (sum, vec![reduced(&l.big, Reduction::Max, 0)])
    }),
    ("less the mean", |l| (sub(&l.big, &reduced(&l.big, Reduction::Mean, 1)), vec![])),
    ("less the mean, which is held", |l| {
        let mean = reduced(&l.big, Reduction::Mean, 1);
        (sub(&l.big, &mean), vec![mean])
    }),
    ("between the smallest and the largest", |l| {
        let (low, high) = (reduced(&l.big, Reduction::Min, 1), reduced(&l.big, Reduction::Max, 1));
        (op(Op::Divide, &sub(&l.big, &low), &sub(&high, &low)), vec![])
    }),
    ("sums of two arrays", |l| {
        let sum = reduced(&l.big, Reduction::Sum, 1);
        (add(&sum, &reduced(&l.other, Reduction::Sum, 1)), vec![])
    }),
    ("a sum of which a view is read", |l| (plus(&reduced(&l.big, Reduction::Sum, 1).t(), 1.0), vec![])),
    ("twelve arrays", |l| {
        let parts: Vec<UsmArray> = (0..12_isize).map(|i| l.big.slice(s![i..i + 64, ..64]).unwrap()).collect();
        (parts.iter().skip(1).fold(parts[0].clone(), |x, part| add(&x, part)), vec![])
    }),
    ("twenty arrays", |l| {
        let parts: Vec<UsmArray> = (0..20_isize).map(|i| l.big.slice(s![i..i + 64, ..64]).unwrap()).collect();
        (parts.iter().skip(1).fold(parts[0].clone(), |x, part| add(&x, part)), vec![])
    }),
];

#[test]
fn passes_and_bytes_are_those_that_a_device_is_given() {
    let mut explained = 0;
    for (name, build) in EXPRESSIONS {
        let (null, leaves) = leaves();
        let (array, held) = build(&leaves);
        compare(name, &null, &array);
        drop(held);
        explained += 1;
    }
    for seed in 0..40 {
        let (null, leaves) = leaves();
        let (array, held) = at_random(&leaves, &mut Rng::new(seed));
        compare(&format!("seed {seed}"), &null, &array);
        // What was held is explained by itself then.
        for (number, array) in held.iter().enumerate() {
            compare(&format!("seed {seed}, held {number}"), &null, array);
        }
        explained += 1;
    }
    assert!(explained >= 50);
}

fn leaves() -> (NullDevice, Leaves) {
    let (null, queue) = null();
    let leaves = Leaves {
        a: empty(&queue, &[64, 32]),
        b: empty(&queue, &[64, 32]),
        c: empty(&queue, &[64, 32]),
        row: empty(&queue, &[32]),
        column: empty(&queue, &[64, 1]),
        big: empty(&queue, &[512, 512]),
        other: empty(&queue, &[512, 512]),
    };
    (null, leaves)
}

/// An expression of up to thirty operations over what was recorded before, some of it held.
fn at_random(leaves: &Leaves, rng: &mut Rng) -> (UsmArray, Vec<UsmArray>) {
    let mut arrays = vec![leaves.a.clone(), leaves.b.clone(), leaves.c.clone()];
    for _ in 0..3 + rng.below(28) {
        let pick = |rng: &mut Rng| arrays[rng.below(arrays.len())].clone();
        let (x, y) = (pick(rng), pick(rng));
        let next = match rng.below(8) {
            0 => sqrt(&x),
            1 => plus(&x, 2.0),
            2 => add(&x, &y.flip(None).unwrap()),
            3 => mul(&x, &leaves.row),
            4 => sub(&x, &leaves.column),
            _ => add(&x, &y),
        };
        // What is given up is held by nobody but those that read it.
        let place = rng.below(arrays.len() + 2);
        if place < arrays.len() { arrays[place] = next } else { arrays.push(next) }
    }
    let last = arrays.pop().unwrap();
    (last, arrays)
}

fn cuts(explanation: &Explanation) -> Vec<Cut> {
    explanation.passes.iter().map(|pass| pass.cut).collect()
}

/// Why arrays that are in memory were computed before.
fn computed(explanation: &Explanation) -> Vec<Cut> {
    explanation.passes.iter().flat_map(|pass| pass.reads.iter().filter_map(|read| read.computed)).collect()
}

#[test]
fn each_cause_ends_a_pass() {
    let mut found = vec![];
    let (null, l) = leaves();
    let queue = l.a.queue();

    let explanation = compare("needed", &null, &add(&l.a, &l.b));
    assert_eq!(cuts(&explanation), [Cut::Needed]);
    found.push(Cut::Needed);

    let explanation = compare("view", &null, &add(&add(&l.a, &l.b).t(), &l.c.t()));
    assert_eq!(cuts(&explanation), [Cut::View, Cut::Needed]);
    found.push(Cut::View);

    let explanation = compare("reduction", &null, &sub(&l.big, &reduced(&l.big, Reduction::Mean, 1)));
    assert_eq!(cuts(&explanation), [Cut::Reduction, Cut::Needed]);
    found.push(Cut::Reduction);

    let mut held = vec![add(&l.a, &l.b)];
    for _ in 0..9 {
        held.push(plus(held.last().unwrap(), 1.0));
    }
    let explanation = compare("held", &null, &held.pop().unwrap());
    assert!(cuts(&explanation).contains(&Cut::Held), "{explanation}");
    assert_eq!(explanation.passes.last().unwrap().writes.iter().filter(|write| write.held).count(), 7);
    found.push(Cut::Held);

    let long = (0..40).fold(l.a.clone(), |x, i| plus(&x, f64::from(i)));
    assert!(computed(&long.explain().unwrap()).contains(&Cut::Steps), "{}", long.explain().unwrap());
    found.push(Cut::Steps);

    let parts: Vec<UsmArray> = (0..20_isize).map(|i| l.big.slice(s![i..i + 64, ..64]).unwrap()).collect();
    let wide = parts.iter().skip(1).fold(parts[0].clone(), |x, part| add(&x, part));
    assert!(computed(&wide.explain().unwrap()).contains(&Cut::Inputs), "{}", wide.explain().unwrap());
    found.push(Cut::Inputs);

    let small = plus(&empty(queue, &[16]), 1.0);
    assert_eq!(small.explain().unwrap().computed, Some(Cut::Small));
    found.push(Cut::Small);

    let x = add(&l.a, &l.b);
    l.a.assign(weak(1.0)).unwrap();
    assert_eq!(x.explain().unwrap().computed, Some(Cut::Overwritten));
    found.push(Cut::Overwritten);

    let sum = reduced(&l.big, Reduction::Sum, 0);
    let _other = reduced(&l.other, Reduction::Sum, 0);
    assert_eq!(sum.explain().unwrap().computed, Some(Cut::OtherReduction));
    found.push(Cut::OtherReduction);

    let x = add(&l.b, &l.c);
    let _sums = [reduced(&x, Reduction::Sum, 0), reduced(&x, Reduction::Max, 0)];
    assert_eq!(x.explain().unwrap().computed, Some(Cut::Folded));
    found.push(Cut::Folded);

    let x = add(&l.b, &l.c);
    let (graph, _) = queue.capture(|_| add(&x, &l.b).sort(1, false)).unwrap();
    assert_eq!(x.explain().unwrap().computed, Some(Cut::Capture));
    found.push(Cut::Capture);
    let explanation = graph.explain();
    assert_eq!(cuts(&explanation), [Cut::Needed, Cut::Alone], "{explanation}");
    assert_eq!(explanation.passes[1].reads[0].pass, Some(0), "{explanation}");
    found.push(Cut::Alone);

    let host = Device::from_backend(stridewise_host::device_with(None, 2).unwrap()).queue().unwrap();
    let big = UsmArray::zeros(&host, &[512, 512], Dtype::F32, UsmKind::Device).unwrap();
    big.wait().unwrap();
    // What the sum does not read is still to be written.
    let written = UsmArray::zeros(&host, &[512, 512], Dtype::F32, UsmKind::Device).unwrap();
    let (begin, begun) = std::sync::mpsc::channel::<()>();
    let task = host.submit_host_task(move || begun.recv().map_or(Ok(()), Ok), &[]).unwrap();
    host.memset(&written.usm_data().unwrap(), 0, 0, written.bytes(), &[task]).unwrap();
    let quotient = op(Op::Divide, &written, &reduced(&big, Reduction::Sum, 1));
    let explanation = quotient.explain().unwrap();
    begin.send(()).unwrap();
    assert!(cuts(&explanation).contains(&Cut::Apart), "{explanation}");
    found.push(Cut::Apart);

    let lent = UsmArray::zeros(&host, &[256, 256], Dtype::F32, UsmKind::Device).unwrap();
    lent.usm_data().unwrap().export().unwrap();
    assert_eq!(plus(&lent, 1.0).explain().unwrap().computed, Some(Cut::Lent));
    found.push(Cut::Lent);

    let missing: Vec<&Cut> = Cut::ALL.iter().filter(|cut| !found.contains(cut)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for (number, cut) in Cut::ALL.iter().enumerate() {
        assert_eq!(*cut as usize, number);
    }
}

#[test]
fn arrays_have_the_names_that_they_are_given() {
    let (_, l) = leaves();
    let held = add(&l.a, &l.row);
    let array = mul(&held, &l.c);
    let names = [("heights", &l.a), ("scale", &l.row), ("sum", &held)];
    let explanation = array.explain_as(&names).unwrap();
    let [pass] = &explanation.passes[..] else { panic!("{explanation}") };
    let read: Vec<(&str, &[usize])> = pass.reads.iter().map(|of| (of.name.as_str(), &of.shape[..])).collect();
    assert_eq!(read, [("heights", &[64, 32][..]), ("scale", &[32][..]), ("a", &[64, 32][..])]);
    let written: Vec<(&str, bool)> = pass.writes.iter().map(|of| (of.name.as_str(), of.held)).collect();
    assert_eq!(written, [("result", false), ("sum", true)]);
    assert_eq!(pass.operations().collect::<Vec<_>>(), ["add", "multiply"]);
    let text = explanation.to_string();
    for part in [
        "heights float32 (64, 32), 8.2 kB",
        "scale float32 (32,), 128 bytes",
        "add, multiply",
        "held by a variable",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let chart = explanation.to_mermaid();
    assert!(chart.starts_with("flowchart BT\n") && chart.contains("p0 -->|8.2 kB| a_result"), "{chart}");
}

#[test]
fn what_is_explained_gives_the_same_values() {
    let host = Device::from_backend(stridewise_host::device_with(None, 2).unwrap()).queue().unwrap();
    let data: Vec<f32> = (0..512 * 512).map(|i| (i % 97) as f32).collect();
    let big = UsmArray::from_slice(&host, &[512, 512], &data, UsmKind::Device).unwrap();
    let build = || {
        let (low, high) = (reduced(&big, Reduction::Min, 1), reduced(&big, Reduction::Max, 1));
        op(Op::Divide, &sub(&big, &low), &plus(&big, 1.0).binary(Op::Add, &high).unwrap())
    };
    let expected = build().to_vec::<f32>().unwrap();
    let array = build();
    let explanation = array.explain().unwrap();
    // The host takes reductions and what reads them as stages of one command.
    assert_eq!(explanation.passes.len(), 1, "{explanation}");
    assert!(explanation.passes[0].parts.iter().any(|part| part.stage == 1), "{explanation}");
    assert_eq!(array.to_vec::<f32>().unwrap(), expected);
    assert!(array.explain().unwrap().passes.is_empty());
}
