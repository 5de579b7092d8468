//! Random kernels without races: any operation of any dtype but complex ones, branches, loops, jumps and
//! calls; and such ones whose items meet (`together`), at the top and in branches and loops that a group goes
//! through together.
//!
//! A generator writes a kernel from a seed and keeps to what has one result: items write to places of their
//! own, loops have bounds. Then it is compiled, and interpreted, and the results are compared. A failure
//! prints its seed; `STRIDEWISE_NATIVE_CASES` says how many seeds there are, or which (`1000..2000`).

mod together;

use stridewise_core::kernel::{Coordinate::*, KernelBuilder, Level::*, Object, Operand, Value, Variable};
use stridewise_core::{DtypeKind, Op, Result};

use super::*;
use crate::kernels::tests::cases;
use together::Meets;

const DTYPES: [Dtype; 9] = [
    Dtype::U64,
    Dtype::I32,
    Dtype::I64,
    Dtype::F32,
    Dtype::F64,
    Dtype::U8,
    Dtype::I16,
    Dtype::U32,
    Dtype::F16,
];

struct Generator {
    k: KernelBuilder,
    rng: Rng,
    dtypes: Vec<Dtype>,
    inputs: Vec<(Object, Dtype)>,
    /// The last says whether there is an element for each item: else several items would read what one of
    /// them writes.
    outputs: Vec<(Object, Dtype, bool)>,
    /// Private ones.
    own: Vec<(Object, Dtype)>,
    /// The item's place.
    place: Vec<Value>,
    values: Vec<(Value, Dtype)>,
    variables: Vec<(Variable, Dtype)>,
    depth: usize,
    loops: usize,
    calls: usize,
    /// Where the items of a group meet.
    meets: Option<Meets>,
}

impl Generator {
    fn operand(&mut self, dtype: Dtype) -> Result<Operand> {
        let of = |all: &[(Value, Dtype)]| -> Vec<Value> {
            all.iter().filter(|(_, found)| *found == dtype).map(|(value, _)| *value).collect()
        };
        let values = of(&self.values);
        let variables: Vec<Variable> = self
            .variables
            .iter()
            .filter(|(_, found)| *found == dtype)
            .map(|(variable, _)| *variable)
            .collect();
        Ok(match self.rng.below(6) {
            0 if dtype != Dtype::Bool => value(dtype, &mut self.rng).into(),
            1 | 2 if !variables.is_empty() => self.rng.pick(&variables).into(),
            // A late one is more often something that was computed.
            3 if !values.is_empty() => values[values.len() - 1].into(),
            _ if !values.is_empty() => self.rng.pick(&values).into(),
            _ if dtype == Dtype::Bool => {
                let numbers = self.dtype();
                let (x, y) = (self.operand(numbers)?, self.operand(numbers)?);
                let op = self.rng.pick(&[Op::Less, Op::GreaterEqual, Op::Equal, Op::NotEqual]);
                self.k.binary(op, x, y)?.into()
            }
            _ => value(dtype, &mut self.rng).into(),
        })
    }

    fn dtype(&mut self) -> Dtype {
        self.rng.pick(&self.dtypes)
    }

    fn add(&mut self, value: Value) -> Result<()> {
        let dtype = self.k.dtype(value)?;
        self.values.push((value, dtype));
        Ok(())
    }

    fn block(&mut self, statements: usize) -> Result<()> {
        let visible = self.values.len();
        self.depth += 1;
        for _ in 0..statements {
            self.statement()?;
        }
        self.depth -= 1;
        self.values.truncate(visible);
        Ok(())
    }

    fn index(&mut self) -> Result<Value> {
        let offset = self.rng.pick(&[0, 0, 1, -1, 7, -200, i64::MAX, i64::MIN]);
        let place = self.rng.pick(&self.place);
        Ok(match self.rng.below(7) {
            6 => {
                let place = self.k.binary(Op::Add, place, Scalar::I64(self.rng.pick(&[0, -3, 40])))?;
                self.near(place)?
            }
            0 | 1 => self.k.binary(Op::Add, place, Scalar::I64(offset))?,
            2 => {
                let factor = self.rng.pick(&[2, -1, 3, 0]);
                self.k.binary(Op::Multiply, place, Scalar::I64(factor))?
            }
            3 => self.k.cast(place, Dtype::I32)?,
            _ => {
                let integers: Vec<Dtype> =
                    self.dtypes.iter().copied().filter(|dtype| dtype.kind().is_integer()).collect();
                if integers.is_empty() {
                    return Ok(place);
                }
                let dtype = self.rng.pick(&integers);
                let operand = self.operand(dtype)?;
                self.k.get(operand)?
            }
        })
    }

    /// An index that is kept above a number, below one, or both.
    fn near(&mut self, index: Value) -> Result<Value> {
        let mut kept = index;
        for _ in 0..1 + self.rng.below(2) {
            let (op, bound) = self.rng.pick(&[
                (Op::Maximum, 0),
                (Op::Maximum, -2),
                (Op::Maximum, 5),
                (Op::Minimum, 4),
                (Op::Minimum, 70),
                (Op::Minimum, -1),
            ]);
            kept = self.k.binary(op, kept, Scalar::I64(bound))?;
        }
        Ok(kept)
    }

    fn condition(&mut self) -> Result<Operand> {
        if self.rng.below(3) == 0 {
            return self.operand(Dtype::Bool);
        }
        let dtype = self.dtype();
        let (x, y) = (self.operand(dtype)?, self.operand(dtype)?);
        let op = self.rng.pick(&[Op::Less, Op::LessEqual, Op::Greater, Op::NotEqual]);
        Ok(self.k.binary(op, x, y)?.into())
    }

    fn statement(&mut self) -> Result<()> {
        let deep = self.depth > 3;
        match self.rng.below(if deep { 15 } else { 25 }) {
            0..5 => {
                let op = self.rng.pick(Op::ALL);
                let dtype = if self.rng.below(6) == 0 { Dtype::Bool } else { self.dtype() };
                if matches!(op, Op::Cast | Op::Where | Op::Philox) || !op.allows(dtype) {
                    return Ok(());
                }
                let operands: Result<Vec<Operand>> = (0..op.arity()).map(|_| self.operand(dtype)).collect();
                let value = self.k.apply(op, &operands?)?;
                self.add(value)?;
            }
            5 => {
                let dtype = self.dtype();
                let (condition, x, y) = (self.condition()?, self.operand(dtype)?, self.operand(dtype)?);
                let value = self.k.apply(Op::Where, &[condition, x, y])?;
                self.add(value)?;
            }
            6 => {
                let (from, to) = (self.dtype(), self.dtype());
                let operand = self.operand(from)?;
                let value = self.k.cast(operand, to)?;
                self.add(value)?;
            }
            7 | 8 => {
                if !self.variables.is_empty() {
                    let (variable, dtype) = self.rng.pick(&self.variables);
                    let operand = self.operand(dtype)?;
                    self.k.set(variable, operand)?;
                }
            }
            9 | 10 => {
                let (object, _) = self.rng.pick(&self.inputs);
                let indices: Result<Vec<Value>> = (0..self.place.len())
                    .map(|axis| if self.rng.below(2) == 0 { Ok(self.place[axis]) } else { self.index() })
                    .collect();
                let value = self.k.load(object, indices?)?;
                self.add(value)?;
            }
            11 => {
                let (object, dtype, whole) = self.rng.pick(&self.outputs);
                let (place, operand) = (self.place.clone(), self.operand(dtype)?);
                if whole && self.rng.below(3) == 0 {
                    let value = self.k.load(object, place)?;
                    self.add(value)?;
                } else {
                    self.k.store(object, place, operand)?;
                }
            }
            12 => self.jump()?,
            13 => {
                let (object, dtype) = self.rng.pick(&self.own);
                let indices: Result<Vec<Value>> = (0..self.place.len()).map(|_| self.index()).collect();
                if self.rng.below(2) == 0 {
                    let value = self.k.load(object, indices?)?;
                    self.add(value)?;
                } else {
                    let operand = self.operand(dtype)?;
                    self.k.store(object, indices?, operand)?;
                }
            }
            14 => {
                let x = self.operand(Dtype::I32)?;
                let holds = self.k.binary(Op::Less, x, x)?;
                let holds = self.k.unary(Op::LogicalNot, holds)?;
                self.k.assert(holds, "nothing is less than itself")?;
            }
            15..18 => {
                let condition = self.condition()?;
                self.k.if_(condition)?;
                let statements = self.rng.below(4);
                self.block(statements)?;
                if self.rng.below(2) == 0 {
                    self.k.else_()?;
                    self.block(2)?;
                }
                self.k.end()?;
            }
            18 | 19 => {
                let dtype = self.rng.pick(&[Dtype::I32, Dtype::I64]);
                let (start, end, step) =
                    self.rng.pick(&[(0, 3, 1), (-2, 4, 3), (1, 1, 1), (4, -3, -2), (0, 5, 0)]);
                let number = |n: i64| Scalar::I64(n).cast(dtype);
                let round = self.k.for_(number(start), number(end), number(step))?;
                self.rounds(round)?;
            }
            20 => self.counted_loop()?,
            21 => self.while_loop()?,
            22 | 23 => self.straight_loop()?,
            _ => self.call()?,
        }
        Ok(())
    }

    fn jump(&mut self) -> Result<()> {
        let condition = self.condition()?;
        self.k.if_(condition)?;
        match (self.loops, self.calls, self.rng.below(4)) {
            (1.., _, 0) => self.k.break_(),
            (1.., _, 1) => self.k.continue_(),
            (_, 1.., _) => {
                let x = self.operand(Dtype::I32)?;
                self.k.return_(Some(x))?;
            }
            // Who has left comes to no barrier.
            (_, 0, 2) if self.meets.is_none() => self.k.return_(None)?,
            _ => {}
        }
        self.k.end()
    }

    /// A loop that counts between bounds that items differ in.
    fn counted_loop(&mut self) -> Result<()> {
        let dtype = self.rng.pick(&[Dtype::I32, Dtype::I64]);
        let mut bounds = Vec::new();
        for mask in [3, 7, 1] {
            let operand = self.operand(dtype)?;
            let number = self.k.binary(Op::BitwiseAnd, operand, Scalar::I64(mask).cast(dtype))?;
            bounds.push(self.k.binary(Op::Subtract, number, Scalar::I64(1).cast(dtype))?);
        }
        let place = self.rng.pick(&self.place);
        let place = self.k.cast(place, dtype)?;
        match self.rng.below(4) {
            0 => bounds[2] = self.k.get(Scalar::I64(1).cast(dtype))?,
            1 => bounds[2] = self.k.get(Scalar::I64(-1).cast(dtype))?,
            2 => {
                bounds[0] = place;
                bounds[1] = self.k.binary(Op::Add, place, bounds[1])?;
            }
            _ => {}
        }
        let round = self.k.for_(bounds[0], bounds[1], bounds[2])?;
        self.rounds(round)
    }

    /// A loop that loads elements by indices which change by equal steps, and sets variables: what may stay in
    /// registers. It begins at a number, or at the item's own place.
    fn straight_loop(&mut self) -> Result<()> {
        let dtype = self.rng.pick(&[Dtype::I32, Dtype::I64, Dtype::I64]);
        let number = |n: i64| Scalar::I64(n).cast(dtype);
        let place = self.rng.pick(&self.place);
        let place = self.k.cast(place, dtype)?;
        let (start, end, step) = self.rng.pick(&[(0, 5, 1), (0, 70, 1), (4, -1, -1), (1, 40, 3), (0, 3, 1)]);
        let (mut start, mut end) = (self.k.get(number(start))?, self.k.get(number(end))?);
        let step = match self.rng.below(3) {
            0 => {
                let scalar = self.values.iter().find(|(_, found)| *found == dtype).map(|&(value, _)| value);
                let scalar = scalar.unwrap_or(place);
                let some = self.k.binary(Op::BitwiseAnd, scalar, number(3))?;
                self.k.binary(Op::Add, some, number(1))?
            }
            _ => self.k.get(number(step))?,
        };
        match self.rng.below(4) {
            0 => start = place,
            1 => end = self.k.binary(Op::Add, place, end)?,
            2 => {
                start = place;
                end = self.k.binary(Op::Add, place, end)?;
            }
            _ => {}
        }
        // A variable that holds a number of the round, as that of a loop which a language counts by a variable.
        let held = self.k.variable(&format!("held{}", self.k.form().variables.len()), Dtype::I64)?;
        self.k.set(held, Scalar::I64(7))?;
        let round = self.k.for_(start, end, step)?;
        let mut wide = self.k.cast(round, Dtype::I64)?;
        let visible = self.values.len();
        let holds = self.rng.below(4);
        if holds == 3 {
            let before = self.k.get(held)?;
            self.values.push((before, Dtype::I64));
        }
        if holds > 0 {
            self.k.set(held, wide)?;
            wide = self.k.get(held)?;
        }
        if holds > 1 {
            let twice = self.k.binary(Op::Multiply, wide, Scalar::I64(2))?;
            self.k.set(held, twice)?;
        }
        for _ in 0..1 + self.rng.below(4) {
            let (object, dtype) = match self.rng.below(5) {
                0 => self.rng.pick(&self.own),
                _ => self.rng.pick(&self.inputs),
            };
            let mut indices = Vec::new();
            for axis in 0..self.place.len() {
                let place = self.place[axis];
                let factor = self.rng.pick(&[1, 1, 1, -1, 2, i64::MIN]);
                let some = self.k.binary(Op::Multiply, wide, Scalar::I64(factor))?;
                indices.push(match self.rng.below(7) {
                    0 => place,
                    1 => wide,
                    5 => {
                        let moved = self.k.binary(Op::Add, place, some)?;
                        self.near(moved)?
                    }
                    6 => self.near(some)?,
                    2 => self.k.binary(Op::Subtract, place, some)?,
                    3 => self.k.binary(Op::Add, some, place)?,
                    _ => self.k.binary(Op::Add, some, Scalar::I64(1))?,
                });
            }
            let element = self.k.load(object, indices)?;
            self.values.push((element, dtype));
            let set: Vec<(Variable, Dtype)> =
                self.variables.iter().copied().filter(|(_, found)| *found == dtype).collect();
            if !set.is_empty() {
                let variable = self.rng.pick(&set).0;
                let op = self.rng.pick(&[Op::Add, Op::Multiply, Op::Subtract, Op::Maximum]);
                let operand = self.operand(dtype)?;
                let sum = self.k.binary(op, operand, element)?;
                self.k.set(variable, sum)?;
            }
        }
        self.values.truncate(visible);
        self.k.end()?;
        let last = self.k.get(held)?;
        self.add(last)
    }

    /// The statements of a loop that counts, and its end.
    fn rounds(&mut self, round: Value) -> Result<()> {
        self.loops += 1;
        self.add(round)?;
        let statements = 1 + self.rng.below(3);
        self.block(statements)?;
        self.values.pop();
        self.loops -= 1;
        self.k.end()
    }

    fn while_loop(&mut self) -> Result<()> {
        let count = self.k.variable("count", Dtype::I32)?;
        let most = self.operand(Dtype::I32)?;
        let most = self.k.binary(Op::BitwiseAnd, most, Scalar::I32(3))?;
        self.k.set(count, 0)?;
        self.k.while_()?;
        let more = self.k.binary(Op::Less, count, most)?;
        self.k.do_(more)?;
        let next = self.k.binary(Op::Add, count, 1)?;
        self.k.set(count, next)?;
        self.loops += 1;
        self.block(2)?;
        self.loops -= 1;
        self.k.end()
    }

    fn call(&mut self) -> Result<()> {
        let result = self.k.variable("result", Dtype::I32)?;
        let name = format!("f{}", self.k.form().variables.len());
        self.k.call(&name, Some(result))?;
        let loops = std::mem::take(&mut self.loops);
        self.calls += 1;
        self.block(3)?;
        let x = self.operand(Dtype::I32)?;
        self.k.return_(Some(x))?;
        self.calls -= 1;
        self.loops = loops;
        self.k.end()?;
        let value = self.k.get(result)?;
        self.add(value)
    }
}

/// A kernel that follows from a seed, and what it may be launched with.
fn kernel(seed: u64, meets: bool) -> Result<(Kernel, NdRange, Vec<Given>)> {
    let mut rng = Rng(seed);
    let dims = 1 + rng.below(2);
    let mut k = KernelBuilder::new(&format!("random{seed}"), dims)?;
    let mut dtypes = vec![Dtype::I32];
    for _ in 0..1 + rng.below(2) {
        dtypes.push(rng.pick(&DTYPES));
    }
    let extents: Vec<usize> = match dims {
        1 => vec![rng.pick(&[1, 9, 128, 200, 300])],
        _ => vec![1 + rng.below(5), rng.pick(&[1, 9, 64, 150])],
    };
    let (mut inputs, mut outputs, mut values, mut given) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, &dtype) in dtypes.iter().enumerate() {
        inputs.push((k.global(&format!("in{number}"), dtype, dims, false)?, dtype));
        // Smaller than the index space, larger, or another way around.
        let other: Vec<usize> = extents.iter().map(|&e| (e + 3 - rng.below(4)).max(1)).collect();
        let array = Array::random(dtype, &other, &mut rng);
        given.push(Given::Array(match rng.below(5) {
            0 => array.reversed(dims - 1),
            1 => array.halved(),
            2 => array.transposed(),
            _ => array,
        }));
    }
    let mut own = Vec::new();
    for (number, &dtype) in dtypes.iter().enumerate() {
        let shape = &[3, 5][..dims];
        let elements: Vec<Scalar> = (0..shape.iter().product()).map(|_| value(dtype, &mut rng)).collect();
        inputs.push((k.constant_array(&format!("table{number}"), shape, &elements)?, dtype));
        own.push((k.private(&format!("own{number}"), dtype, &[4, 2][..dims])?, dtype));
    }
    for (number, &dtype) in dtypes.iter().enumerate() {
        let output = k.global(&format!("out{number}"), dtype, dims, true)?;
        let mut shape = extents.clone();
        // Of the last items, what they write leads out.
        if rng.below(4) == 0 {
            shape[dims - 1] = shape[dims - 1].saturating_sub(rng.below(3)).max(1);
        }
        outputs.push((output, dtype, shape == extents));
        let array = Array::random(dtype, &shape, &mut rng);
        given.push(Given::Array(match rng.below(5) {
            0 => array.reversed(0),
            _ => array,
        }));
    }
    for (number, &dtype) in dtypes.iter().enumerate() {
        values.push((k.scalar(&format!("s{number}"), dtype)?, dtype));
        given.push(Given::Scalar(value(dtype, &mut rng)));
    }
    let mut place = Vec::new();
    for axis in 0..dims {
        place.push(k.index(Global, Id(axis as u8))?);
    }
    let grouped = meets || rng.below(2) == 0;
    let mut range = NdRange::of(&extents);
    if grouped {
        let most = if meets { 300 } else { 40 };
        let mut group: Vec<usize> = extents.iter().map(|&extent| 1 + rng.below(extent.min(most))).collect();
        // Rows of whole vectors, several of which are computed together.
        if dims > 1 && rng.below(2) == 0 {
            group[dims - 1] = rng.pick(&[8, 16, 24, 64]).min(extents[dims - 1]);
        }
        range = NdRange::in_groups(&extents, &group).partial();
        for index in
            [k.index(Local, LinearId)?, k.index(Group, Id(0))?, k.index(Local, Range(dims as u8 - 1))?]
        {
            values.push((index, Dtype::I64));
        }
    }
    let small = k.cast(place[dims - 1], Dtype::I32)?;
    values.push((small, Dtype::I32));
    values.push((k.index(Global, LinearId)?, Dtype::I64));
    let mut variables = Vec::new();
    for (number, &dtype) in dtypes.iter().chain(&[Dtype::Bool, Dtype::I64]).enumerate() {
        let variable = k.variable(&format!("v{number}"), dtype)?;
        k.set(variable, Scalar::I32(number as i32).cast(dtype))?;
        variables.push((variable, dtype));
    }
    let mut g = Generator {
        k,
        rng,
        dtypes,
        inputs,
        outputs,
        own,
        place,
        values,
        variables,
        depth: 0,
        loops: 0,
        calls: 0,
        meets: None,
    };
    let statements = 4 + g.rng.below(if meets { 4 } else { 10 });
    if meets {
        g.share(&mut given)?;
        g.together(statements)?;
        g.meets = None;
    }
    for _ in 0..if meets { g.rng.below(4) } else { statements } {
        g.statement()?;
    }
    for number in 0..g.outputs.len() {
        let (object, dtype, _) = g.outputs[number];
        let (place, operand) = (g.place.clone(), g.operand(dtype)?);
        // What items have from each other is in the first variable.
        let kept = g.variables.iter().find(|(_, found)| *found == dtype).filter(|_| meets);
        g.k.store(object, place, kept.map_or(operand, |&(variable, _)| variable.into()))?;
    }
    Ok((g.k.finish()?, range, given))
}

/// How many there are where nobody says so.
const FEW: u64 = 400;

#[test]
fn random_kernels_compiled_and_interpreted() {
    assert!(DTYPES.iter().all(|dtype| dtype.kind() != DtypeKind::Complex));
    for seed in cases(FEW) {
        match kernel(seed, false) {
            Ok((kernel, range, given)) => same(&kernel, &range, &given, &format!("seed {seed}")),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
}

#[test]
fn random_kernels_whose_items_meet_compiled_and_interpreted() {
    let mut large = 0;
    for seed in cases(FEW) {
        match kernel(seed, true) {
            // A few are longer than there may be code.
            Ok((kernel, ..))
                if tunings().any(|tuning| compile(&kernel, &tuning).err() == Some(Unsupported::Refused)) =>
            {
                large += 1;
            }
            Ok((kernel, range, given)) => same(&kernel, &range, &given, &format!("meeting seed {seed}")),
            Err(error) => panic!("meeting seed {seed}: {error}"),
        }
    }
    assert!(large * 10 < cases(FEW).count(), "{large} are too large");
}
