//! What the items of a group do together.

use stridewise_core::kernel::{
    AtomicOp, Collective, Coordinate::*, Fence, Level::*, MemoryOrder, MemoryScope, Object, Value,
};
use stridewise_core::{Op, Result};

use super::*;

/// What the items of a group share.
pub(super) struct Meets {
    /// Local arrays; an item writes at its own place between two barriers, and reads anywhere behind the
    /// second one.
    tiles: Vec<(Object, Dtype)>,
    /// The item's own place in them, and that of the item as far from the group's end as this one from its start.
    own: Value,
    mirror: Value,
    /// Global and local arrays that are written by atomic operations only, each by one whose order does not
    /// count.
    sums: Vec<(Object, Dtype, AtomicOp, bool)>,
    /// Values that are one for the group.
    same: Vec<(Value, Dtype)>,
    /// Loops that the group goes through together, around the place.
    loops: usize,
}

impl Generator {
    /// Memory that items share; what is behind a group's last item is read by some too, and is what it is.
    pub(super) fn share(&mut self, given: &mut Vec<Given>) -> Result<()> {
        let mut tiles = Vec::new();
        for (number, dtype) in self.dtypes.clone().into_iter().enumerate() {
            tiles.push((self.k.local(&format!("tile{number}"), dtype, &[768])?, dtype));
        }
        let tile = self.k.local_argument("tile", Dtype::I32, 1)?;
        given.push(Given::Local(vec![700]));
        tiles.push((tile, Dtype::I32));
        let mut sums = Vec::new();
        let ops = [AtomicOp::Add, AtomicOp::Minimum, AtomicOp::Maximum, AtomicOp::Xor, AtomicOp::Or];
        for dtype in [Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64] {
            if !self.dtypes.contains(&dtype) {
                continue;
            }
            let op = self.rng.pick(&ops);
            sums.push((self.k.global(&format!("all_{dtype}"), dtype, 1, true)?, dtype, op, false));
            given.push(Given::Array(Array::random(dtype, &[9], &mut self.rng)));
            sums.push((self.k.local(&format!("sums_{dtype}"), dtype, &[5])?, dtype, op, true));
        }
        let own = self.k.index(Local, LinearId)?;
        let mut items = self.k.index(Local, Range(0))?;
        for axis in 1..self.place.len() {
            let many = self.k.index(Local, Range(axis as u8))?;
            items = self.k.binary(Op::Multiply, items, many)?;
        }
        let last = self.k.binary(Op::Subtract, items, 1)?;
        let mirror = self.k.binary(Op::Subtract, last, own)?;
        let mut same = Vec::new();
        for index in [self.k.index(Group, Id(0))?, self.k.index(Local, Range(0))?] {
            let small = self.k.cast(index, Dtype::I32)?;
            same.extend([(index, Dtype::I64), (small, Dtype::I32)]);
        }
        self.meets = Some(Meets { tiles, own, mirror, sums, same, loops: 0 });
        Ok(())
    }

    /// A value that is one for the group.
    fn same(&mut self) -> (Value, Dtype) {
        let same = self.meets.as_ref().map_or(&[][..], |meets| &meets.same);
        self.rng.pick(same)
    }

    fn add_same(&mut self, value: Value) -> Result<()> {
        let dtype = self.k.dtype(value)?;
        self.values.push((value, dtype));
        self.meets.iter_mut().for_each(|meets| meets.same.push((value, dtype)));
        Ok(())
    }

    fn condition_of_all(&mut self) -> Result<Value> {
        let (x, dtype) = self.same();
        let others: Vec<Value> = self
            .meets
            .iter()
            .flat_map(|meets| &meets.same)
            .filter(|(_, d)| *d == dtype)
            .map(|(v, _)| *v)
            .collect();
        let y = self.rng.pick(&others);
        let op = self.rng.pick(&[Op::Less, Op::LessEqual, Op::NotEqual, Op::Equal]);
        if self.rng.below(2) == 0 {
            let y = value(dtype, &mut self.rng);
            return self.k.binary(op, x, y);
        }
        self.k.binary(op, x, y)
    }

    /// Statements that a group comes to together.
    pub(super) fn together(&mut self, statements: usize) -> Result<()> {
        let (visible, same) = self.visible();
        self.depth += 1;
        for _ in 0..statements {
            match self.rng.below(if self.depth > 3 { 9 } else { 14 }) {
                0..3 => self.statement()?,
                3..7 => self.exchange()?,
                7 => {
                    let (x, dtype) = self.same();
                    let y = value(dtype, &mut self.rng);
                    let op = self.rng.pick(&[Op::Add, Op::Multiply, Op::Maximum]);
                    let next = self.k.binary(op, x, y)?;
                    self.add_same(next)?;
                }
                8 => self.leave_together()?,
                9..11 => {
                    let condition = self.condition_of_all()?;
                    self.k.if_(condition)?;
                    self.together(3)?;
                    if self.rng.below(2) == 0 {
                        self.k.else_()?;
                        self.together(2)?;
                    }
                    self.k.end()?;
                }
                11 => {
                    let (start, end, step) = self.rng.pick(&[(0, 3, 1), (5, -1, -2), (2, 2, 1)]);
                    let dtype = self.rng.pick(&[Dtype::I32, Dtype::I64, Dtype::I16]);
                    let number = |n: i64| Scalar::I64(n).cast(dtype);
                    let (visible, same) = self.visible();
                    let round = self.k.for_(number(start), number(end), number(step))?;
                    self.add_same(round)?;
                    self.round(3, true)?;
                    self.forget(visible, same);
                }
                12 => {
                    let count = self.k.variable("rounds", Dtype::I32)?;
                    self.k.set(count, 0)?;
                    self.k.while_()?;
                    let (visible, same) = self.visible();
                    if self.rng.below(2) == 0 {
                        self.exchange()?;
                        self.forget(visible, same);
                    }
                    let more = self.k.binary(Op::Less, count, 3)?;
                    self.k.do_(more)?;
                    let next = self.k.binary(Op::Add, count, 1)?;
                    self.k.set(count, next)?;
                    // Where some went on earlier, the verifier takes the count to be another one for each.
                    self.round(2, false)?;
                }
                _ => {
                    let result = self.k.variable("met", Dtype::I32)?;
                    let name = format!("g{}", self.k.form().variables.len());
                    self.k.call(&name, Some(result))?;
                    let loops = self.meets.as_mut().map_or(0, |meets| std::mem::take(&mut meets.loops));
                    self.together(3)?;
                    // Behind the last barrier of the call, each leaves where it likes.
                    self.calls += 1;
                    self.block(2)?;
                    self.calls -= 1;
                    let x = self.operand(Dtype::I32)?;
                    self.k.return_(Some(x))?;
                    self.k.end()?;
                    self.meets.iter_mut().for_each(|meets| meets.loops = loops);
                    let value = self.k.get(result)?;
                    self.add(value)?;
                }
            }
        }
        self.depth -= 1;
        self.forget(visible, same);
        Ok(())
    }

    /// How many values can be used now, and how many of them are one for the group.
    fn visible(&self) -> (usize, usize) {
        (self.values.len(), self.meets.as_ref().map_or(0, |meets| meets.same.len()))
    }

    /// Values of a block that has ended are used no more.
    fn forget(&mut self, visible: usize, same: usize) {
        self.values.truncate(visible);
        self.meets.iter_mut().for_each(|meets| meets.same.truncate(same));
    }

    /// The body of a loop that a group goes through together; behind the last barrier, items may go on with the
    /// next round when they like.
    fn round(&mut self, statements: usize, parts: bool) -> Result<()> {
        self.meets.iter_mut().for_each(|meets| meets.loops += 1);
        self.together(statements)?;
        self.meets.iter_mut().for_each(|meets| meets.loops -= 1);
        if parts && self.rng.below(2) == 0 {
            let condition = self.condition()?;
            self.k.if_(condition)?;
            self.k.continue_();
            self.k.end()?;
            self.block(2)?;
        }
        self.k.end()
    }

    /// The group leaves a loop, or the kernel.
    fn leave_together(&mut self) -> Result<()> {
        let loops = self.meets.as_ref().map_or(0, |meets| meets.loops);
        let condition = self.condition_of_all()?;
        self.k.if_(condition)?;
        match (loops, self.rng.below(3)) {
            (1.., 0) => self.k.break_(),
            (1.., 1) => self.k.continue_(),
            _ => {}
        }
        self.k.end()
    }

    /// Items make a value together.
    fn collective(&mut self) -> Result<()> {
        let dtype = self.dtype();
        let operand = self.operand(dtype)?;
        let op = self.rng.pick(&[Op::Add, Op::Multiply, Op::Minimum, Op::Maximum]);
        match self.rng.below(5) {
            0 => {
                let value = self.k.collective(Collective::Reduce(op), operand)?;
                self.add_same(value)
            }
            1 => {
                let value = self.k.collective(Collective::InclusiveScan(op), operand)?;
                self.add(value)
            }
            2 => {
                let value = self.k.collective(Collective::ExclusiveScan(op), operand)?;
                self.add(value)
            }
            3 => {
                let from = self.k.get(Scalar::I32(self.rng.pick(&[0, 3, 200, -1])))?;
                let value = self.k.collective(Collective::Broadcast(from), operand)?;
                self.add_same(value)
            }
            _ => {
                let condition = self.condition()?;
                let all = self.rng.pick(&[Collective::All, Collective::Any]);
                let value = self.k.collective(all, condition)?;
                self.add(value)
            }
        }
    }

    /// What the item writes at its end depends on a value.
    fn keep(&mut self, value: Value, dtype: Dtype) -> Result<()> {
        let Some(&(variable, _)) = self.variables.iter().find(|(_, found)| *found == dtype) else {
            return Ok(());
        };
        let op = if dtype.kind() == DtypeKind::Float { Op::Add } else { Op::BitwiseXor };
        let next = self.k.binary(op, variable, value)?;
        self.k.set(variable, next)
    }

    /// Items write to local memory, and read what others have written, or what all have added.
    fn exchange(&mut self) -> Result<()> {
        let Some(Meets { tiles, own, mirror, sums, .. }) = &self.meets else { return Ok(()) };
        let (own, mirror) = (*own, *mirror);
        if self.rng.below(3) == 0 {
            let (object, dtype, op, local) = self.rng.pick(sums);
            let (place, operand) = (self.index()?, self.operand(dtype)?);
            let order = (MemoryOrder::Relaxed, MemoryScope::Device);
            // Items may have parted there.
            let condition = self.condition()?;
            self.k.if_(condition)?;
            self.k.atomic(op, object, [place], Some(operand), order)?;
            self.k.end()?;
            self.k.fence(MemoryOrder::SeqCst, MemoryScope::WorkGroup);
            if local {
                self.k.barrier(Fence::LOCAL);
                let place = self.index()?;
                let value = self.k.load(object, [place])?;
                self.add(value)?;
                self.keep(value, dtype)?;
                self.k.barrier(Fence::LOCAL);
            }
            return Ok(());
        }
        if self.rng.below(4) == 0 {
            return self.collective();
        }
        let (object, dtype) = self.rng.pick(tiles);
        let operand = self.operand(dtype)?;
        self.k.store(object, [own], operand)?;
        self.k.barrier(self.rng.pick(&[Fence::LOCAL, Fence::BOTH]));
        let place = if self.rng.below(2) == 0 { mirror } else { self.index()? };
        let value = self.k.load(object, [place])?;
        self.add(value)?;
        self.keep(value, dtype)?;
        if self.rng.below(2) == 0 {
            let first = self.k.load(object, [Scalar::I64(0)])?;
            self.add_same(first)?;
        }
        self.k.barrier(Fence::LOCAL);
        Ok(())
    }
}
