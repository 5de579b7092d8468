//! Small work: operations of every dtype on views of all sorts, with results of their own or in place, against the scalar
//! oracle. It is done at once, by the ways that hold memory instead of submitting.

use stridewise::ops::{self, OpClass};
use stridewise::{
    ArrayOrScalar, Casting, Dtype, DtypeKind, DtypeSupport, Op, Queue, Reduction, Scalar, SliceItem,
    UsmArray, UsmKind, backend::self_overlaps, can_cast, concat, elementwise, result_type, with_dtype,
};
use stridewise_exchange::host::host_queue;

use crate::random::Rng;
use crate::shapes::joint;

/// Elements of an array at most.
const MOST: usize = 3000;

/// An array and the oracle's elements of its allocation.
#[derive(Clone)]
struct Known {
    array: UsmArray,
    buffer: usize,
}

struct Pool {
    rng: Rng,
    queue: Queue,
    buffers: Vec<Vec<Scalar>>,
    known: Vec<Known>,
}

pub(crate) fn run(data: &[u8]) {
    let mut pool = Pool { rng: Rng::new(data), queue: host_queue().unwrap(), buffers: vec![], known: vec![] };
    pool.leaf();
    while !pool.rng.is_used_up() && pool.known.len() < 60 {
        match pool.rng.below(12) {
            0 | 1 => pool.leaf(),
            2..5 => pool.view(),
            5..8 => pool.compute(),
            8 | 9 => pool.compute_in_place(),
            10 => pool.reduce(),
            _ => pool.join(),
        }
    }
    for known in std::mem::take(&mut pool.known) {
        pool.compare(&known);
    }
}

/// Whether the engine computes exactly what the oracle does: what IEEE 754 defines, and all but functions.
fn is_exact(op: Op, dtype: Dtype) -> bool {
    match op.class() {
        // Whose only inexact one is `Pow`.
        OpClass::num_fn | OpClass::real_fn => dtype.kind().is_integer(),
        OpClass::analytic => op == Op::Sqrt && dtype.kind() == DtypeKind::Float,
        OpClass::float => op == Op::Nextafter,
        // The sign of a NaN is not promised.
        OpClass::float_test => false,
        OpClass::part | OpClass::field => dtype.kind() != DtypeKind::Complex,
        OpClass::num => !(dtype.kind() == DtypeKind::Complex && op == Op::Sign),
        OpClass::cast => false,
        _ => true,
    }
}

/// Whether two values are the same: equal bits, or NaN in the same parts.
fn same(a: Scalar, b: Scalar) -> bool {
    let part = |x: f64, y: f64| (x.is_nan() && y.is_nan()) || x.to_bits() == y.to_bits();
    match a.dtype().kind() {
        DtypeKind::Float | DtypeKind::Complex => {
            let (x, y) = (a.to_c128(), b.to_c128());
            a.dtype() == b.dtype() && part(x.re, y.re) && part(x.im, y.im)
        }
        _ => a == b,
    }
}

fn read(array: &UsmArray) -> Vec<Scalar> {
    use stridewise::Element;
    with_dtype!(array.dtype(), T => array.to_vec::<T>().unwrap().into_iter().map(Element::to_scalar).collect())
}

impl Pool {
    fn number(&mut self, dtype: Dtype) -> Scalar {
        if self.rng.chance(60) {
            return Scalar::I64(self.rng.number()).cast(dtype);
        }
        let special =
            [0.0, -0.0, 0.5, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-310, 1e-40, 65504.0, 3e38];
        if dtype.kind().is_inexact() && self.rng.chance(60) {
            return Scalar::F64(*self.rng.pick(&special)).cast(dtype);
        }
        let bytes = std::array::from_fn(|_| self.rng.byte());
        if dtype == Dtype::Bool { Scalar::Bool(bytes[0] & 1 == 1) } else { Scalar::from_bytes(dtype, &bytes) }
    }

    fn dtype(&mut self) -> Dtype {
        *self.rng.pick(Dtype::ALL)
    }

    fn keep(&mut self, array: UsmArray, values: Vec<Scalar>) {
        assert_eq!(array.len(), values.len());
        let filler = Scalar::Bool(false).cast(array.dtype());
        self.buffers.push(vec![filler; array.layout().required_elements()]);
        let known = Known { array, buffer: self.buffers.len() - 1 };
        self.store(&known, &values);
        self.known.push(known);
    }

    /// The elements by the oracle, in row-major order.
    fn values(&self, known: &Known) -> Vec<Scalar> {
        known.array.layout().indices().map(|element| self.buffers[known.buffer][element]).collect()
    }

    fn store(&mut self, known: &Known, values: &[Scalar]) {
        for (element, &value) in known.array.layout().indices().zip(values) {
            self.buffers[known.buffer][element] = value;
        }
    }

    fn compare(&self, known: &Known) {
        let (found, expected) = (read(&known.array), self.values(known));
        let wrong = (0..expected.len()).find(|&i| !same(found[i], expected[i]));
        if let Some(i) = wrong {
            panic!("element {i} of {:?} is {:?}, should be {:?}", known.array, found[i], expected[i]);
        }
    }

    fn any(&mut self) -> Known {
        let place = self.rng.below(self.known.len());
        self.known[place].clone()
    }

    /// A new array of elements from the host.
    fn leaf(&mut self) {
        let shapes: [&[usize]; 12] = [
            &[6],
            &[2, 3],
            &[3, 2],
            &[1, 3],
            &[2, 1],
            &[],
            &[12],
            &[2, 2, 3],
            &[0, 3],
            &[17],
            &[40, 9],
            &[3, 65],
        ];
        let shape = *self.rng.pick(&shapes);
        let (dtype, kind) = (self.dtype(), *self.rng.pick(&UsmKind::ALL));
        let len: usize = shape.iter().product();
        // Of many elements the first ones again and again.
        let some: Vec<Scalar> = (0..len.min(7)).map(|_| self.number(dtype)).collect();
        let values: Vec<Scalar> = some.iter().copied().cycle().take(len).collect();
        let array = UsmArray::empty(&self.queue, shape, dtype, kind).unwrap();
        if len > 0 {
            let bytes: Vec<u8> =
                values.iter().flat_map(|value| value.to_bytes()[..dtype.size()].to_vec()).collect();
            array.usm_data().unwrap().copy_from_host(0, &bytes).unwrap();
        }
        self.keep(array, values);
    }

    fn view(&mut self) {
        let known = self.any();
        let array = &known.array;
        let made = match self.rng.below(7) {
            0..3 => {
                let count = self.rng.below(array.ndim() + 2);
                let items = self.rng.many(count, |rng| match rng.below(6) {
                    0 => SliceItem::Index(rng.below(5) as isize - 2),
                    1 => SliceItem::NewAxis,
                    _ => SliceItem::Slice {
                        start: rng.perhaps(40, |rng| rng.below(9) as isize - 4),
                        stop: rng.perhaps(40, |rng| rng.below(30) as isize - 9),
                        step: *rng.pick(&[1, 2, -1, -2, 3]),
                    },
                });
                array.slice(&items).ok()
            }
            3 => Some(array.t()),
            4 => array.flip(None).ok(),
            5 => array.reshape_view(&[-1]).ok(),
            _ => {
                let extent = 1 + self.rng.below(3);
                array.broadcast_to(&[&[extent], array.shape()].concat()).ok()
            }
        };
        if let Some(array) = made.filter(|array| array.len() <= MOST && array.ndim() < 7) {
            self.known.push(Known { array, ..known });
        }
    }

    /// An operation with its operands: arrays that often fit each other, and numbers.
    fn operands(&mut self) -> (Op, Vec<Result<Known, Scalar>>) {
        let op = *self.rng.pick(Op::ALL);
        let first = self.any();
        let mut operands = vec![];
        for position in 0..op.arity() {
            let operand = if position == 0 {
                Ok(first.clone())
            } else if self.rng.chance(20) {
                let dtype = if self.rng.chance(80) { first.array.dtype() } else { self.dtype() };
                Err(self.number(dtype))
            } else {
                Ok(self.any())
            };
            operands.push(operand);
        }
        // A condition is a comparison.
        if op == Op::Where
            && let Some(condition) =
                self.known.iter().rev().find(|known| known.array.dtype() == Dtype::Bool).cloned()
        {
            operands[0] = Ok(condition);
        }
        (op, operands)
    }

    /// The result by the oracle, where there is one: shape, dtype and elements. `Err(false)` where the engine refuses the
    /// operands, `Err(true)` where this oracle does not know.
    fn expected(
        &self,
        op: Op,
        operands: &[Result<Known, Scalar>],
    ) -> Result<(Vec<usize>, Dtype, Vec<Scalar>), bool> {
        let dtype_of = |operand: &Result<Known, Scalar>| match operand {
            Ok(known) => known.array.dtype(),
            Err(value) => value.dtype(),
        };
        if op == Op::Cast {
            return Err(false);
        }
        let dtypes: Vec<Dtype> = operands.iter().map(dtype_of).collect();
        let values = if op == Op::Where { &dtypes[1..] } else { &dtypes[..] };
        if op == Op::Where && dtypes[0] != Dtype::Bool {
            return Err(false);
        }
        let shapes: Vec<&[usize]> = operands
            .iter()
            .map(|operand| operand.as_ref().map_or(&[][..], |known| known.array.shape()))
            .collect();
        let shape = joint(&shapes).ok_or(false)?;
        let mut dtype = result_type(values, &[], DtypeSupport::default()).unwrap();
        // Numbers are compared without a common dtype.
        if matches!(op.class(), OpClass::num_test | OpClass::real_test) && values.iter().any(|&d| d != dtype)
        {
            return Err(true);
        }
        if op.wants_float() && !dtype.kind().is_inexact() {
            dtype = Dtype::F64;
        }
        if !op.allows(dtype) {
            return Err(false);
        }
        let len: usize = shape.iter().product();
        if !is_exact(op, dtype) || len > MOST {
            return Err(true);
        }
        let columns: Vec<Vec<Scalar>> = operands
            .iter()
            .enumerate()
            .map(|(position, operand)| {
                let to = if op == Op::Where && position == 0 { Dtype::Bool } else { dtype };
                match operand {
                    Err(value) => vec![value.cast(to); len],
                    Ok(known) => {
                        let layout = known.array.layout().broadcast_to(&shape).unwrap();
                        layout.indices().map(|e| self.buffers[known.buffer][e].cast(to)).collect()
                    }
                }
            })
            .collect();
        let apply = |i: usize| {
            let x: Vec<Scalar> = columns.iter().map(|column| column[i]).collect();
            ops::apply(op, &x).unwrap_or_else(|| panic!("the oracle knows {op:?} of {dtype}"))
        };
        Ok((shape, op.result(dtype), (0..len).map(apply).collect()))
    }

    fn compute(&mut self) {
        if self.rng.chance(20) {
            // Conversion, or a copy.
            let (known, dtype) = (self.any(), self.dtype());
            let values = self.values(&known).iter().map(|value| value.cast(dtype)).collect();
            let array = known.array.astype(dtype).unwrap();
            assert_eq!(array.dtype(), dtype);
            if dtype == known.array.dtype() {
                self.known.push(known);
            } else {
                self.keep(array, values);
            }
            return;
        }
        let (op, operands) = self.operands();
        let expected = self.expected(op, &operands);
        let arguments: Vec<ArrayOrScalar<'_>> = operands
            .iter()
            .map(|operand| match operand {
                Ok(known) => (&known.array).into(),
                Err(value) => (*value).into(),
            })
            .collect();
        let made = elementwise(op, &arguments);
        match (made, expected) {
            (Ok(array), Ok((shape, dtype, values))) => {
                assert_eq!((array.shape(), array.dtype()), (&shape[..], dtype), "{op:?}");
                self.keep(array, values);
                self.compare(self.known.last().unwrap());
            }
            (_, Err(true)) | (Err(_), Err(false)) => {}
            (Err(error), Ok(_)) => panic!("{op:?} of {arguments:?}: {error}"),
            (Ok(array), Err(false)) => panic!("{op:?} of {arguments:?} is {array:?}, and not refused"),
        }
    }

    fn compute_in_place(&mut self) {
        let target = self.any();
        if self.rng.chance(30) {
            let source = self.any();
            let (from, to) = (source.array.layout(), target.array.shape());
            // Leading extents of 1 that the target has not are left out.
            let extra = from.ndim().saturating_sub(to.len());
            let left: Vec<isize> = if from.shape()[..extra].iter().all(|&extent| extent == 1) {
                (0..extra as isize).collect()
            } else {
                vec![]
            };
            let fitted = from.squeeze(&left).unwrap().broadcast_to(to);
            let may = target.array.flags().writable && !self_overlaps(target.array.layout());
            let made = target.array.assign(&source.array);
            assert_eq!(
                made.is_ok(),
                may && fitted.is_ok(),
                "{:?} to {:?}: {made:?}",
                source.array,
                target.array
            );
            if let (true, Ok(layout)) = (may, fitted) {
                let (dtype, buffer) = (target.array.dtype(), &self.buffers[source.buffer]);
                let values: Vec<Scalar> = layout.indices().map(|e| buffer[e].cast(dtype)).collect();
                self.store(&target, &values);
            }
            return self.compare(&target);
        }
        let (op, operands) = self.operands();
        let expected = self.expected(op, &operands);
        let arguments: Vec<ArrayOrScalar<'_>> = operands
            .iter()
            .map(|operand| match operand {
                Ok(known) => (&known.array).into(),
                Err(value) => (*value).into(),
            })
            .collect();
        let may = target.array.flags().writable && !self_overlaps(target.array.layout());
        let expected = match expected {
            Err(true) => return,
            Ok((shape, dtype, values)) => {
                let out = target.array.dtype();
                let fits = may && shape == target.array.shape() && can_cast(dtype, out, Casting::SameKind);
                fits.then_some(values)
            }
            Err(false) => None,
        };
        let made = target.array.write_elementwise(op, &arguments, &[]);
        assert_eq!(
            made.is_ok(),
            expected.is_some(),
            "{op:?} of {arguments:?} to {:?}: {made:?}",
            target.array
        );
        if let Some(values) = expected {
            let out = target.array.dtype();
            let values: Vec<Scalar> = values.iter().map(|value| value.cast(out)).collect();
            self.store(&target, &values);
            self.compare(&target);
        }
    }

    /// Folds whose order does not matter.
    fn reduce(&mut self) {
        let known = self.any();
        let (array, values) = (&known.array, self.values(&known));
        let (reduction, op, dtype) = match (self.rng.below(4), array.dtype().kind()) {
            (0, DtypeKind::Bool | DtypeKind::Signed) => (Reduction::Sum, Op::Add, Dtype::I64),
            (0, DtypeKind::Unsigned) => (Reduction::Sum, Op::Add, Dtype::U64),
            (1, DtypeKind::Signed | DtypeKind::Unsigned | DtypeKind::Float) => {
                (Reduction::Max, Op::Maximum, array.dtype())
            }
            (2, DtypeKind::Signed | DtypeKind::Unsigned | DtypeKind::Float) => {
                (Reduction::Min, Op::Minimum, array.dtype())
            }
            (3, _) => (Reduction::Any, Op::Maximum, Dtype::Bool),
            _ => return,
        };
        let axis = self.rng.below(array.ndim() + 1);
        let axes = [axis as isize];
        let made = array.reduce(reduction, (axis < array.ndim()).then_some(&axes[..]), false);
        if array.is_empty() {
            return;
        }
        let made = made.unwrap();
        let (outer, middle, inner) = match array.shape().split_at_checked(axis) {
            Some((before, [extent, after @ ..])) => {
                (before.iter().product(), *extent, after.iter().product())
            }
            _ => (1, array.len(), 1),
        };
        let mut folded = vec![];
        for o in 0..outer {
            for i in 0..inner {
                let along = (0..middle).map(|k| values[(o * middle + k) * inner + i].cast(dtype));
                folded.extend(along.reduce(|a, b| ops::apply(op, &[a, b]).unwrap()));
            }
        }
        assert_eq!(made.dtype(), dtype, "{reduction:?} of {}", array.dtype());
        self.keep(made, folded);
        self.compare(self.known.last().unwrap());
    }

    fn join(&mut self) {
        let (first, second) = (self.any(), self.any());
        let made = concat(&[&first.array, &second.array], None).unwrap();
        let dtype = made.dtype();
        assert_eq!(
            Ok(dtype),
            result_type(&[first.array.dtype(), second.array.dtype()], &[], DtypeSupport::default())
                .map_err(|_| ())
        );
        let values: Vec<Scalar> = [self.values(&first), self.values(&second)]
            .concat()
            .iter()
            .map(|value| value.cast(dtype))
            .collect();
        if made.len() <= MOST {
            self.keep(made, values);
            self.compare(self.known.last().unwrap());
        }
    }
}
