//! Operands that share memory with the result: what comes out is what a copy of the operands first would give.

use stridewise::{
    Device, Dtype, Layout, Op, Order, Queue, Scalar, UsmArray, UsmMemory, backend::self_overlaps, concat, ops,
};

use crate::cell::{Case, Check, need, short, wrong};
use crate::forms::{collect, write};
use crate::values::{Random, same};

/// Random pairs per dtype and device.
const PAIRS: usize = 300;

pub(crate) fn cases() -> Vec<Case> {
    let dtypes = [Dtype::U8, Dtype::I16, Dtype::F32, Dtype::F64, Dtype::C128, Dtype::F16];
    let mut cases = Vec::new();
    for dtype in dtypes {
        let name = |case: &str| format!("overlap::{case}/{}", short(dtype));
        cases.push(Case::new(name("random_views"), move |device| random_views(device, dtype)));
        cases.push(Case::new(name("named_views"), move |device| named_views(device, dtype)));
        cases.push(Case::new(name("other_dtypes"), move |device| other_dtypes(device, dtype)));
        cases.push(Case::new(name("conditions"), move |device| conditions(device, dtype)));
        cases.push(Case::new(name("joined_views"), move |device| joined_views(device, dtype)));
    }
    cases
}

/// A buffer on the device and what it should hold.
struct Model {
    memory: UsmMemory,
    bytes: Vec<u8>,
    queue: Queue,
}

impl Model {
    fn new(queue: &Queue, random: &mut Random, dtype: Dtype, elements: usize) -> Check<Self> {
        let values = random.many(elements, |random| random.moderate(dtype));
        Self::of(queue, dtype, &values)
    }

    /// A buffer with these elements.
    fn of(queue: &Queue, dtype: Dtype, values: &[Scalar]) -> Check<Self> {
        let mut bytes = vec![0; values.len() * dtype.size()];
        write(&Layout::contiguous(&[values.len()], Order::C)?, dtype, values, &mut bytes);
        let memory = UsmMemory::new(crate::forms::visible_kind(queue.device()), bytes.len(), queue)?;
        memory.copy_from_host(0, &bytes)?;
        Ok(Self { memory, bytes, queue: queue.clone() })
    }

    fn view(&self, layout: &Layout, dtype: Dtype) -> Check<UsmArray> {
        let builder = UsmArray::builder(layout.shape()).dtype(dtype).buffer(&self.memory);
        Ok(builder.strides(layout.strides()).offset(layout.offset()).queue(&self.queue).build()?)
    }

    /// Writes `op` of views to a view, here and in the model, and compares all bytes.
    fn run(&mut self, op: Op, out: (&Layout, Dtype), inputs: &[(&Layout, Dtype)]) -> Check {
        let dtype = inputs[0].1;
        let columns: Vec<Vec<Scalar>> =
            inputs.iter().map(|&(layout, dtype)| collect(layout, dtype, &self.bytes)).collect();
        let value = |i: usize| {
            if op == Op::Where {
                let yes = columns[0][i] == Scalar::Bool(true);
                return Some(columns[if yes { 1 } else { 2 }][i]);
            }
            let operands: Vec<Scalar> = columns.iter().map(|column| column[i].cast(dtype)).collect();
            let value = if op == Op::Cast { Some(operands[0]) } else { ops::apply(op, &operands) };
            value.map(|value| value.cast(out.1))
        };
        let Some(values) = (0..columns[0].len()).map(value).collect::<Option<Vec<Scalar>>>() else {
            wrong!("no value of {} for {dtype}", op.name());
        };
        write(out.0, out.1, &values, &mut self.bytes);

        let target = self.view(out.0, out.1)?;
        let views: Vec<UsmArray> =
            inputs.iter().map(|&(layout, dtype)| self.view(layout, dtype)).collect::<Check<_>>()?;
        if op == Op::Cast {
            target.assign(&views[0])?;
        } else {
            let operands: Vec<_> = views.iter().map(Into::into).collect();
            target.write_elementwise(op, &operands, &[])?;
        }
        self.compare(op.name(), out, inputs)
    }

    /// Compares all bytes with the model's.
    fn compare(&self, what: &str, out: (&Layout, Dtype), inputs: &[(&Layout, Dtype)]) -> Check {
        let got = self.memory.to_bytes()?;
        let whole = Layout::contiguous(&[got.len() / out.1.size()], Order::C)?;
        let (got, expected) = (collect(&whole, out.1, &got), collect(&whole, out.1, &self.bytes));
        match (0..got.len()).find(|&i| !same(got[i], expected[i])) {
            None => Ok(()),
            Some(i) => wrong!(
                "{what} into {out:?} from {inputs:?}: element {i} of the allocation: got {:?}, expected {:?}",
                got[i],
                expected[i]
            ),
        }
    }
}

/// A view with a shape, anywhere in a buffer of so many elements.
fn anywhere(random: &mut Random, shape: &[usize], elements: usize, repeats: bool) -> Option<Layout> {
    let mut strides = vec![0_isize; shape.len()];
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if random.chance(3) {
        order.reverse();
    }
    let mut step = 1;
    for &axis in order.iter().rev() {
        let factor = if random.chance(2) { 1 } else { 1 + random.below(3) as isize };
        let sign = if random.chance(3) { -1 } else { 1 };
        strides[axis] = if repeats && random.chance(6) { 0 } else { step * factor * sign };
        // Rows may interleave with each other.
        step = if random.chance(3) {
            factor.max(1) * shape[axis] as isize + 1
        } else {
            step * factor * shape[axis] as isize
        };
    }
    let least = Layout::new(shape, Some(&strides), None, Order::C, 1, None).ok()?;
    let room = elements.checked_sub(least.required_elements())?;
    let offset = least.offset() + random.below(room + 1);
    Layout::new(shape, Some(&strides), Some(offset), Order::C, 1, Some(elements)).ok()
}

fn random_views(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("overlap{dtype}"));
    for number in 0..PAIRS {
        // Now and then more than a tile, and enough for several threads.
        let scale = if number % 50 == 49 { 3000 } else { 1 + random.below(40) };
        let shape = match random.below(3) {
            0 => vec![scale],
            1 => vec![1 + random.below(4), scale],
            _ => vec![scale, 1 + random.below(4)],
        };
        let elements = shape.iter().product::<usize>() * 5 + 20;
        let mut model = Model::new(&queue, &mut random, dtype, elements)?;
        let out = anywhere(&mut random, &shape, elements, false).filter(|layout| !self_overlaps(layout));
        let first = anywhere(&mut random, &shape, elements, true);
        let second = anywhere(&mut random, &shape, elements, true);
        let (Some(out), Some(first), Some(second)) = (out, first, second) else { continue };
        let inputs = [(&first, dtype), (&second, dtype)];
        match random.below(3) {
            0 => model.run(Op::Cast, (&out, dtype), &inputs[..1])?,
            1 => model.run(Op::Negative, (&out, dtype), &inputs[..1])?,
            _ => model.run(Op::Subtract, (&out, dtype), &inputs)?,
        }
        // Again, with the result's own elements among the operands.
        model.run(Op::Add, (&out, dtype), &[(&out, dtype), (&first, dtype)])?;
    }
    Ok(())
}

/// The cases that have names: exact, shifted by one either way, reversed, interleaved, transposed.
fn named_views(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named("named");
    for n in [1_usize, 2, 3, 17, 64, 65, 1000, 5001] {
        let line = |start: usize, step: isize| {
            Layout::new(&[n], Some(&[step]), Some(start), Order::C, 1, Some(2 * n + 2))
        };
        let (forward, later, backward) = (line(0, 1)?, line(1, 1)?, line(n - 1, -1)?);
        let (even, odd) = (line(0, 2)?, line(1, 2)?);
        let pairs = [
            (&forward, &forward),
            (&later, &forward),
            (&forward, &later),
            (&backward, &forward),
            (&forward, &backward),
            (&even, &odd),
            (&odd, &even),
            (&even, &forward),
            (&forward, &even),
            (&backward, &even),
        ];
        for (out, input) in pairs {
            let mut model = Model::new(&queue, &mut random, dtype, 2 * n + 2)?;
            model.run(Op::Cast, (out, dtype), &[(input, dtype)])?;
            model.run(Op::Negative, (out, dtype), &[(input, dtype)])?;
            model.run(Op::Add, (out, dtype), &[(out, dtype), (input, dtype)])?;
        }
        let side = n.min(70);
        let square = Layout::contiguous(&[side, side], Order::C)?;
        let mut model = Model::new(&queue, &mut random, dtype, side * side)?;
        model.run(Op::Add, (&square, dtype), &[(&square, dtype), (&square.transpose(), dtype)])?;
        model.run(Op::Cast, (&square, dtype), &[(&square.transpose(), dtype)])?;
    }
    Ok(())
}

/// The same bytes seen as two dtypes.
fn other_dtypes(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("dtypes{dtype}"));
    for &other in &[Dtype::U8, Dtype::I16, Dtype::I32, Dtype::U64, Dtype::F32, Dtype::C128] {
        need(device, other)?;
        for n in [5, 40, 2000] {
            let larger = dtype.size().max(other.size());
            // A whole number of elements of either.
            let bytes = larger * (n + 3);
            for _ in 0..6 {
                let mut model = Model::new(&queue, &mut random, Dtype::U8, bytes)?;
                let out =
                    anywhere(&mut random, &[n], bytes / dtype.size(), false).filter(|l| !self_overlaps(l));
                let input = anywhere(&mut random, &[n], bytes / other.size(), true);
                let (Some(out), Some(input)) = (out, input) else { continue };
                model.run(Op::Cast, (&out, dtype), &[(&input, other)])?;
            }
        }
    }
    Ok(())
}

/// `where`, its condition, both values and its result in one buffer. The buffer's bytes are 0 and 1, which are a `bool`
/// each, and several of them a number of any dtype.
fn conditions(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("conditions{dtype}"));
    for number in 0..PAIRS {
        let scale = if number % 50 == 49 { 3000 } else { 1 + random.below(40) };
        let shape = if random.chance(2) { vec![scale] } else { vec![1 + random.below(4), scale] };
        let elements = shape.iter().product::<usize>() * 5 + 20;
        let bytes = random.many(elements * dtype.size(), |random| Scalar::U8(u8::from(random.chance(2))));
        let mut model = Model::of(&queue, Dtype::U8, &bytes)?;
        let out = anywhere(&mut random, &shape, elements, false).filter(|layout| !self_overlaps(layout));
        let condition = anywhere(&mut random, &shape, elements, true);
        let yes = anywhere(&mut random, &shape, elements, true);
        let no = anywhere(&mut random, &shape, elements, true);
        let (Some(out), Some(condition), Some(yes), Some(no)) = (out, condition, yes, no) else { continue };
        let condition = (&condition, Dtype::Bool);
        model.run(Op::Where, (&out, dtype), &[condition, (&yes, dtype), (&no, dtype)])?;
        // In place: each value in turn is the result.
        model.run(Op::Where, (&out, dtype), &[condition, (&out, dtype), (&no, dtype)])?;
        model.run(Op::Where, (&out, dtype), &[condition, (&yes, dtype), (&out, dtype)])?;
    }
    Ok(())
}

/// Overlapping views joined, and written over the elements that they show.
fn joined_views(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("joined{dtype}"));
    for number in 0..PAIRS / 3 {
        let scale = if number % 50 == 49 { 3000 } else { 1 + random.below(40) };
        let (rows, extra) = (1 + random.below(4), 1 + random.below(4));
        let elements = (rows + extra) * scale * 5 + 20;
        let mut model = Model::new(&queue, &mut random, dtype, elements)?;
        let first = anywhere(&mut random, &[rows, scale], elements, true);
        let second = anywhere(&mut random, &[extra, scale], elements, true);
        let out = anywhere(&mut random, &[rows + extra, scale], elements, false);
        let (Some(first), Some(second), Some(out)) = (first, second, out.filter(|l| !self_overlaps(l)))
        else {
            continue;
        };
        let values = [&first, &second].map(|layout| collect(layout, dtype, &model.bytes)).concat();
        let views = [model.view(&first, dtype)?, model.view(&second, dtype)?];
        model.view(&out, dtype)?.assign(&concat(&[&views[0], &views[1]], Some(0))?)?;
        write(&out, dtype, &values, &mut model.bytes);
        model.compare("concat", (&out, dtype), &[(&first, dtype), (&second, dtype)])?;
    }
    Ok(())
}
