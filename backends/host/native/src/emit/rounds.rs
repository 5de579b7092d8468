//! A loop over rounds inside of the one over vectors: what goes from round to round stays in registers.
//!
//! ```text
//! for some rounds at a time          so that what lies far apart is gone through for all lanes while it is near
//!   for vectors, a few at a time
//!     load what is carried
//!     for rounds                     elements that are one for all lanes, then the straight code of each vector
//!     store what is carried
//! ```

use super::{Cell, DONE, Emitter, LEN, POINTERS, Part, Place, TABLE, most_alive};
use crate::asm::{Assembler, Condition, General, Gpr, Mem, RAX, RDX, Rm};
use crate::memory::Refused;
use crate::select::{Selected, Step, Virtual};

/// The rounds that are left.
const LEFT: Gpr = RDX;
/// Rounds at a time: the pages that elements of as many rounds are in at most are within what a processor
/// remembers of pages.
const AT_ONCE: i32 = 32;
/// Instructions of a round at most where several vectors are computed at a time.
const MOST_STEPS: usize = 64;

/// What goes from round to round: the operand that it is loaded from, where what was there before counts, and
/// the one that it is stored to, of so many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Carried {
    pub(crate) load: Option<u8>,
    pub(crate) store: u8,
}

/// What has a register.
struct Kept {
    operand: u8,
    size: u8,
    /// What a round begins with, where it reads that.
    input: Option<Virtual>,
    output: Virtual,
    /// Whether it is made in its register, as nothing reads what was there from then on.
    direct: bool,
}

/// How rounds are gone through.
pub(crate) struct Plan {
    pub(crate) selected: Selected,
    kept: Vec<Kept>,
    /// What is one for all lanes in each round.
    spreads: Vec<Step>,
    /// Operands whose addresses are in registers.
    pointers: Vec<u8>,
    /// Vectors at a time.
    at_once: usize,
}

impl Plan {
    /// `None` where registers do not suffice, or what is carried changes places.
    pub(crate) fn new(mut selected: Selected, places: &[Place], carried: &[Carried]) -> Option<Self> {
        let (mut kept, mut spreads, mut pointers) = (Vec::new(), Vec::new(), Vec::new());
        for step in &selected.turn {
            if let Step::Load { operand, .. } | Step::Splat { operand, .. } = *step
                && matches!(places.get(usize::from(operand))?, Place::At(_) | Place::Moving { .. })
                && !pointers.contains(&operand)
            {
                pointers.push(operand);
            }
        }
        if pointers.len() > POINTERS.len() {
            return None;
        }
        for &Carried { load, store } in carried {
            let input = selected.turn.iter().find_map(|step| match *step {
                Step::Load { operand, to, .. } if Some(operand) == load => Some(to),
                _ => None,
            });
            let (output, size) = selected.turn.iter().find_map(|step| match *step {
                Step::Store { operand, from, size } if operand == store => Some((from, size)),
                _ => None,
            })?;
            kept.push(Kept { operand: store, size, input, output, direct: false });
        }
        let is_input = |value: Virtual| kept.iter().any(|kept| kept.input == Some(value));
        if kept.iter().any(|kept| is_input(kept.output) && kept.input != Some(kept.output)) {
            return None;
        }
        selected.turn.retain(|step| match *step {
            Step::Load { to, .. } => !is_input(to),
            Step::Store { .. } => false,
            Step::Splat { .. } => {
                spreads.push(*step);
                false
            }
            Step::Vector { .. } | Step::Keep { .. } => true,
        });
        let turn = &selected.turn;
        for number in 0..kept.len() {
            let Kept { input, output, .. } = kept[number];
            let made = turn.iter().position(|step| step.to() == Some(output));
            let read = turn.iter().rposition(|step| step.reads().any(|value| Some(value) == input));
            let alone = kept.iter().filter(|other| other.output == output).count() == 1;
            kept[number].direct = alone && made.is_some_and(|made| read.is_none_or(|read| read <= made));
        }
        for (carried, kept) in kept.iter().enumerate() {
            selected.turn.push(Step::Keep { carried, from: kept.output });
        }
        let mut plan = Self { selected, kept, spreads, pointers, at_once: 1 };
        let (all, alive) = (
            if plan.selected.level == crate::Level::Avx512 { 32 } else { usize::from(super::REST_VECTOR) },
            most_alive(&plan.selected.turn, &plan.selected, &plan.own()) + 2,
        );
        let few = |at_once: &usize| *at_once == 1 || at_once * plan.selected.turn.len() <= MOST_STEPS;
        let fits = |at_once: &usize| at_once * plan.kept.len() + plan.spreads.len() + alive <= all;
        plan.at_once = [8, 4, 2, 1].into_iter().find(|at_once| few(at_once) && fits(at_once))?;
        Some(plan)
    }

    /// Values that have registers of their own.
    fn own(&self) -> Vec<bool> {
        let mut own = vec![false; self.selected.classes.len()];
        let spreads = self.spreads.iter().filter_map(Step::to);
        let direct = self.kept.iter().filter(|kept| kept.direct).map(|kept| kept.output);
        for value in spreads.chain(direct).chain(self.kept.iter().filter_map(|kept| kept.input)) {
            own[usize::from(value)] = true;
        }
        own
    }
}

impl<'a> Emitter<'a> {
    /// As many rounds as a cell says, at least one, of all lanes; of the two cells behind it, one has the
    /// rounds that are left, and the other those of a part. The assembler, and bytes of the frame.
    pub(crate) fn rounds(
        plan: &'a Plan,
        places: &'a [Place],
        (lanes, grid): (Cell, Option<[Cell; 2]>),
        [rounds, left, part]: [Cell; 3],
        assembler: Assembler,
    ) -> Result<(Assembler, usize), Refused> {
        let at = |cell: Cell| Mem::at(TABLE, cell.0);
        let mut emitter = Self::new(&plan.selected, assembler);
        emitter.places = Some(places);
        emitter.own = plan.own();
        let registers = plan.at_once * plan.kept.len() + plan.spreads.len();
        emitter.top -= registers;
        for (&operand, &register) in plan.pointers.iter().zip(&POINTERS) {
            emitter.pointers.push((operand, register));
        }
        emitter.before()?;
        let mut register = u8::try_from(emitter.top).map_err(|_| Refused::Size)?;
        for step in &plan.spreads {
            if let Some(to) = step.to() {
                emitter.fixed[usize::from(to)] = Some(register);
                register += 1;
            }
        }
        let first = register;
        emitter.assembler.load(RAX, at(rounds));
        emitter.assembler.store(at(left), RAX);
        let again = emitter.assembler.label();
        emitter.assembler.bind(again);
        // The smaller of the two numbers.
        emitter.assembler.mov_number(RDX, AT_ONCE);
        emitter.assembler.load(RAX, at(left));
        emitter.assembler.compare(RDX, RAX);
        emitter.assembler.move_if(Condition::Above, RDX, Rm::Reg(RAX.0));
        emitter.assembler.store(at(part), RDX);
        emitter.assembler.mov_number(DONE, 0);
        let row_again = emitter.assembler.label();
        if let Some([columns, _]) = grid {
            emitter.assembler.bind(row_again);
            emitter.assembler.load(LEN, at(columns));
            emitter.assembler.by(General::Add, LEN, Rm::Reg(DONE.0));
        } else {
            emitter.assembler.load(LEN, at(lanes));
        }
        let step = i32::from(plan.selected.lanes);
        for count in [8, 4, 2, 1].into_iter().filter(|&count| count <= plan.at_once) {
            let (again, out) = (emitter.assembler.label(), emitter.assembler.label());
            let whole = step * i32::try_from(count).map_err(|_| Refused::Size)?;
            emitter.assembler.bind(again);
            emitter.assembler.address(RAX, Mem::at(DONE, whole));
            emitter.assembler.compare(RAX, LEN);
            emitter.assembler.jump(Some(Condition::Above), out);
            emitter.some_vectors(plan, (count, first), part)?;
            emitter.assembler.add(DONE, whole);
            emitter.assembler.jump(None, again);
            emitter.assembler.bind(out);
        }
        if grid.is_some() {
            // The next row.
            for &operand in &plan.pointers {
                if let Some(Place::Moving { at: address, row: Some(row), .. }) = emitter.place(operand) {
                    emitter.assembler.load(RAX, at(row));
                    emitter.assembler.by(General::Add, RAX, Rm::Mem(at(address)));
                    emitter.assembler.store(at(address), RAX);
                }
            }
            emitter.assembler.by(General::Compare, DONE, Rm::Mem(at(lanes)));
            emitter.assembler.jump(Some(Condition::Below), row_again);
        }
        // What moves is where the next part begins.
        for &operand in &plan.pointers {
            if let Some(Place::Moving { at: address, by, row }) = emitter.place(operand) {
                emitter.assembler.load(RAX, at(by));
                emitter.assembler.multiply(RAX, Rm::Mem(at(part)));
                emitter.assembler.by(General::Add, RAX, Rm::Mem(at(address)));
                if let (Some([_, last_row]), Some(row)) = (grid, row) {
                    // In the first row.
                    emitter.assembler.load(RDX, at(last_row));
                    emitter.assembler.add(RDX, 1);
                    emitter.assembler.multiply(RDX, Rm::Mem(at(row)));
                    emitter.assembler.sub(RAX, RDX);
                }
                emitter.assembler.store(at(address), RAX);
            }
        }
        emitter.assembler.load(RAX, at(left));
        emitter.assembler.by(General::Sub, RAX, Rm::Mem(at(part)));
        emitter.assembler.store(at(left), RAX);
        emitter.assembler.test(RAX);
        emitter.assembler.jump(Some(Condition::NotEqual), again);
        Ok((emitter.assembler, emitter.slots * emitter.slot_bytes))
    }

    /// The rounds of a part, of so many vectors, whose registers are from one on.
    fn some_vectors(&mut self, plan: &Plan, (count, first): (usize, u8), part: Cell) -> Result<(), Refused> {
        let step = i32::from(plan.selected.lanes);
        let register = |vector: usize, carried: usize| {
            u8::try_from(vector * plan.kept.len() + carried).map(|number| first + number)
        };
        for vector in 0..count {
            for (carried, kept) in plan.kept.iter().enumerate().filter(|(_, kept)| kept.input.is_some()) {
                let register = register(vector, carried).map_err(|_| Refused::Size)?;
                let from = self.element(kept.operand, kept.size, step * vector as i32);
                self.load_vector(register, from, plan.selected.lanes * kept.size);
            }
        }
        for &(operand, register) in &self.pointers.clone() {
            let from = self.address_of(operand);
            self.assembler.load(register, from);
        }
        self.assembler.load(LEFT, Mem::at(TABLE, part.0));
        let again = self.assembler.label();
        self.assembler.align(32);
        self.assembler.bind(again);
        for spread in &plan.spreads {
            if let Step::Splat { operand, size, to } = *spread
                && let Some(register) = self.fixed[usize::from(to)]
            {
                self.splat(register, operand, size);
            }
        }
        for vector in 0..count {
            self.carried.clear();
            for (carried, kept) in plan.kept.iter().enumerate() {
                let register = register(vector, carried).map_err(|_| Refused::Size)?;
                self.carried.push(register);
                if let Some(input) = kept.input {
                    self.fixed[usize::from(input)] = Some(register);
                }
                if kept.direct && Some(kept.output) != kept.input {
                    self.into[usize::from(kept.output)] = Some(register);
                }
            }
            self.straight(&plan.selected.turn, Part::Whole(step * vector as i32))?;
        }
        for &(operand, register) in &self.pointers.clone() {
            if let Some(Place::Moving { by, .. }) = self.place(operand) {
                self.assembler.by(General::Add, register, Rm::Mem(Mem::at(TABLE, by.0)));
            }
        }
        self.assembler.add(LEFT, -1);
        self.assembler.jump(Some(Condition::NotEqual), again);
        for vector in 0..count {
            for (carried, kept) in plan.kept.iter().enumerate() {
                let register = register(vector, carried).map_err(|_| Refused::Size)?;
                let to = self.element(kept.operand, kept.size, step * vector as i32);
                self.store_vector(register, to, plan.selected.lanes * kept.size);
            }
        }
        Ok(())
    }
}
