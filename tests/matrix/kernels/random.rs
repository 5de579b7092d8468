//! Random kernels without races, against the oracle with all its checks.

use stridewise::kernel::oracle::Checks;
use stridewise::kernel::{
    AtomicOp, Collective, Coordinate::*, Fence, Kernel, KernelBuilder, Level::*, MemoryOrder, MemoryScope,
    NdRange, Object, Operand, Rule, Value, Variable,
};
use stridewise::{Dtype, Error, Op, Queue, Result, Scalar};

use crate::cell::{Check, Stop, ensure, wrong};

use super::{Given, given, same_as_oracle};

/// SplitMix64: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
    fn odds(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// What a kernel under way has.
struct Generator {
    k: KernelBuilder,
    random: Random,
    input: Object,
    output: Object,
    counts: Object,
    tile: Object,
    table: Object,
    own: Object,
    item: Value,
    local: Value,
    /// Values of `int32` that may be used here.
    values: Vec<Value>,
    /// All of `int32`, and set from the start.
    variables: Vec<Variable>,
    depth: usize,
    loops: usize,
    calls: usize,
}

const TILE: usize = 64;
const OPS: &[Op] = &[
    Op::Add,
    Op::Subtract,
    Op::Multiply,
    Op::Minimum,
    Op::Maximum,
    Op::BitwiseAnd,
    Op::BitwiseOr,
    Op::BitwiseXor,
    Op::FloorDivide,
    Op::Remainder,
    Op::BitwiseLeftShift,
    Op::BitwiseRightShift,
];

impl Generator {
    fn operand(&mut self) -> Operand {
        match self.random.below(5) {
            0 => Operand::Scalar(Scalar::I32(self.random.below(19) as i32 - 4)),
            1 => self.random.one(&self.variables).into(),
            _ => self.random.one(&self.values).into(),
        }
    }

    fn condition(&mut self) -> Result<Value> {
        let op = self.random.one(&[Op::Less, Op::Equal, Op::GreaterEqual, Op::NotEqual]);
        let (x, y) = (self.operand(), self.operand());
        self.k.binary(op, x, y)
    }

    fn add(&mut self, value: Value) {
        self.values.push(value);
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

    fn statement(&mut self) -> Result<()> {
        let deep = self.depth > 3;
        match self.random.below(if deep { 12 } else { 20 }) {
            0..3 => {
                let (op, x, y) = (self.random.one(OPS), self.operand(), self.operand());
                let value = self.k.binary(op, x, y)?;
                self.add(value);
            }
            3 => {
                let condition = self.condition()?;
                let (x, y) = (self.operand(), self.operand());
                let value = self.k.apply(Op::Where, &[condition.into(), x, y])?;
                self.add(value);
            }
            4..6 => {
                let (variable, x) = (self.random.one(&self.variables), self.operand());
                self.k.set(variable, x)?;
            }
            6 => {
                // Any index whatever; the table's and the input's are put in range by a remainder, so that nothing is checked
                // in vain.
                let object = self.random.one(&[self.input, self.table, self.own]);
                let (index, extent) = (self.operand(), self.k.extent(object, 0)?);
                let index = self.k.binary(Op::Remainder, index, extent)?;
                let value = self.k.load(object, [index])?;
                self.add(value);
            }
            7 => {
                let x = self.operand();
                self.k.store(self.output, [self.item], x)?;
            }
            8 => {
                let (index, x) = (self.operand(), self.operand());
                let index = self.k.binary(Op::Remainder, index, 3)?;
                self.k.store(self.own, [index], x)?;
            }
            9 => {
                let (index, x) = (self.operand(), self.operand());
                let index = self.k.binary(Op::Remainder, index, 4)?;
                let at = (MemoryOrder::Relaxed, MemoryScope::Device);
                self.k.atomic(AtomicOp::Add, self.counts, [index], Some(x), at)?;
            }
            10 => self.jump()?,
            11 => {
                let value = self.k.load(self.input, [self.item])?;
                self.add(value);
            }
            12 | 13 => {
                let condition = self.condition()?;
                self.k.if_(condition)?;
                let statements = self.random.below(4);
                self.block(statements)?;
                if self.random.odds(2) {
                    self.k.else_()?;
                    self.block(2)?;
                }
                self.k.end()?;
            }
            14 | 15 => {
                let end = self.operand();
                let end = self.k.binary(Op::Remainder, end, Scalar::I32(5))?;
                let (start, step) = self.random.one(&[(0, 1), (-2, 3), (1, 1), (4, -1)]);
                let round = self.k.for_(Scalar::I32(start), end, Scalar::I32(step))?;
                self.loops += 1;
                self.values.push(round);
                let statements = 1 + self.random.below(3);
                self.block(statements)?;
                self.values.pop();
                self.loops -= 1;
                self.k.end()?;
            }
            16 => self.while_loop()?,
            17 => self.exchange()?,
            18 => {
                let collective = self.random.one(&[
                    Collective::Reduce(Op::Add),
                    Collective::Reduce(Op::Maximum),
                    Collective::InclusiveScan(Op::Add),
                    Collective::ExclusiveScan(Op::Minimum),
                ]);
                let x = self.operand();
                let value = self.k.collective(collective, x)?;
                self.add(value);
            }
            _ => self.call()?,
        }
        Ok(())
    }

    /// A jump that not all items take, or all.
    fn jump(&mut self) -> Result<()> {
        let condition = self.condition()?;
        self.k.if_(condition)?;
        match (self.loops, self.calls, self.random.below(3)) {
            (1.., _, 0) => self.k.break_(),
            (1.., _, 1) => self.k.continue_(),
            (_, 1.., _) => {
                let x = self.operand();
                self.k.return_(Some(x))?;
            }
            _ => {}
        }
        self.k.end()
    }

    fn while_loop(&mut self) -> Result<()> {
        let count = self.k.variable("count", Dtype::I32)?;
        let most = self.operand();
        let most = self.k.binary(Op::Remainder, most, Scalar::I32(4))?;
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

    /// Gets a value of another item.
    fn exchange(&mut self) -> Result<()> {
        let (x, other) = (self.operand(), self.operand());
        let size = self.k.index(Local, Range(0))?;
        let other = self.k.binary(Op::Remainder, other, size)?;
        self.k.barrier(Fence::LOCAL);
        self.k.store(self.tile, [self.local], x)?;
        self.k.barrier(Fence::LOCAL);
        let value = self.k.load(self.tile, [other])?;
        let value = self.k.cast(value, Dtype::I32)?;
        self.add(value);
        Ok(())
    }

    fn call(&mut self) -> Result<()> {
        let result = self.k.variable("result", Dtype::I32)?;
        let name = format!("f{}", self.k.form().variables.len());
        self.k.call(&name, Some(result))?;
        let loops = std::mem::take(&mut self.loops);
        self.calls += 1;
        self.block(3)?;
        let x = self.operand();
        self.k.return_(Some(x))?;
        self.calls -= 1;
        self.loops = loops;
        self.k.end()?;
        let value = self.k.get(result)?;
        self.add(value);
        Ok(())
    }
}

/// A kernel, and the local memory by which its items exchange values, if they do.
fn kernel(seed: u64) -> Result<(Kernel, Object)> {
    let mut k = KernelBuilder::new(&format!("random{seed}"), 1)?;
    let input = k.global("input", Dtype::I32, 1, false)?;
    let output = k.global("output", Dtype::I32, 1, true)?;
    let counts = k.global("counts", Dtype::I32, 1, true)?;
    let scale = k.scalar("scale", Dtype::I32)?;
    let tile = k.local("tile", Dtype::I32, &[TILE])?;
    let table = k.constant_array("table", &[5], &[3, -1, 4, 1, -5].map(Scalar::I32))?;
    let own = k.private("own", Dtype::I32, &[3])?;
    let (item, local) = (k.index(Global, Id(0))?, k.index(Local, Id(0))?);
    let (small, group) = (k.cast(local, Dtype::I32)?, k.index(Group, Id(0))?);
    let group = k.cast(group, Dtype::I32)?;
    let mut variables = Vec::new();
    for (name, start) in [("x", 1), ("y", 7), ("z", 0)] {
        let variable = k.variable(name, Dtype::I32)?;
        k.set(variable, start)?;
        variables.push(variable);
    }
    let values = vec![scale, small, group];
    let random = Random(seed);
    let (depth, loops, calls) = (0, 0, 0);
    let mut generator = Generator {
        k,
        random,
        input,
        output,
        counts,
        tile,
        table,
        own,
        item,
        local,
        values,
        variables,
        depth,
        loops,
        calls,
    };
    let statements = 4 + generator.random.below(8);
    for _ in 0..statements {
        generator.statement()?;
    }
    let x = generator.operand();
    let sum = generator.k.binary(Op::Add, x, generator.variables[0])?;
    generator.k.store(output, [item], sum)?;
    Ok((generator.k.finish()?, tile))
}

/// So many kernels, from a seed on.
pub(super) fn random_kernels(queue: &Queue, first: u64, count: usize) -> Check {
    let (mut run, mut refused) = (0, 0);
    for seed in first.. {
        let (kernel, tile) = match kernel(seed) {
            Ok(made) => made,
            // Barriers stand anywhere; the verifier says which ones may.
            Err(Error::Kernel(broken)) if broken.rule == Rule::UniformControl => {
                refused += 1;
                continue;
            }
            Err(error) => wrong!("seed {seed}: {error}"),
        };
        let mut random = Random(!seed);
        let (groups, size) = (1 + random.below(3), 1 + random.below(TILE));
        // In a partial group the tile would not be written whole.
        let partial = random.odds(3) && !kernel.writes(tile);
        let items = groups * size - if partial { random.below(size) } else { 0 };
        let range = NdRange::in_groups(&[items], &[size]).partial();
        let arguments = [
            given((0..items).map(|i| (i * i % 23) as i32 - 7)),
            given(vec![-1_i32; items]),
            given([0_i32; 4]),
            Given::Scalar(Scalar::I32(random.below(9) as i32 - 2)),
        ];
        if let Err(Stop::Wrong(text)) = same_as_oracle(queue, &kernel, &range, &arguments, Checks::ALL) {
            wrong!("seed {seed}: {text}");
        }
        run += 1;
        if run == count {
            break;
        }
    }
    ensure!(refused < 20 * run, "{refused} of {run} kernels refused");
    Ok(())
}
