//! Rounds of a loop in registers, against the meaning of each round for each lane.

use super::*;

/// Memory of a routine: so many cells of 8 bytes, aligned to 64.
struct Memory(Vec<[u64; 8]>);

impl Memory {
    fn write(&mut self, cell: Cell, further: usize, bytes: &[u8]) {
        let at = usize::try_from(cell.0).unwrap() + further;
        assert!(at + bytes.len() <= 64 * self.0.len());
        // SAFETY: so many bytes are there.
        unsafe {
            let to = self.0.as_mut_ptr().cast::<u8>().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }
    fn number(&mut self, cell: Cell, number: u64) {
        self.write(cell, 0, &number.to_le_bytes());
    }
    fn read(&self, cell: Cell, lane: usize, size: u8) -> u64 {
        let at = usize::try_from(cell.0).unwrap() + lane * usize::from(size);
        let mut word = [0; 8];
        // SAFETY: cells are in the memory.
        unsafe {
            let from = self.0.as_ptr().cast::<u8>().add(at);
            std::ptr::copy_nonoverlapping(from, word.as_mut_ptr(), size.into());
        }
        u64::from_le_bytes(word)
    }
}

/// Cells, one after another.
struct Cells(i32);

impl Cells {
    fn one(&mut self) -> Cell {
        self.0 += 8;
        Cell(self.0 - 8)
    }
    fn lanes(&mut self, size: u8) -> Cell {
        let first = (self.0 + 63) & !63;
        self.0 = first + 128 * i32::from(size);
        Cell(first)
    }
}

/// What an operand is: elements of lanes, which stay or move by so many bytes a round, or one for all.
enum Has {
    Carried(Cell),
    Stays(Cell),
    Uniform(Cell),
    Moves { from: Vec<u8>, by: usize, spread: bool },
}

#[test]
fn random_rounds_and_their_meaning() {
    let cases =
        std::env::var("STRIDEWISE_NATIVE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(1500);
    let (mut done, mut refused) = (0, 0);
    for seed in 0..cases {
        for level in levels() {
            let mut rng = Rng(seed);
            let (lanes, rounds) = (8 * (1 + rng.below(16)), 1 + rng.below(90));
            let mut form = Builder::new(level);
            let some: Vec<Kind> = (0..1 + rng.below(2)).map(|_| rng.pick(&KINDS)).collect();
            let mut cells = Cells(FIRST_FREE.0);
            let (mut values, mut operands, mut places) = (Vec::new(), Vec::new(), Vec::new());
            let carried = 1 + rng.below(4);
            for number in 0..carried + 1 + rng.below(5) {
                let (kind, operand) = (rng.pick(&some), number as u8);
                let size = usize::from(kind.size());
                let what = if number < carried { 0 } else { 1 + rng.below(4) };
                let (has, place) = match what {
                    0 | 1 => {
                        let cell = cells.lanes(kind.size());
                        let has = if what == 0 { Has::Carried(cell) } else { Has::Stays(cell) };
                        (has, Place::Lanes(cell))
                    }
                    2 => {
                        let cell = cells.one();
                        (Has::Uniform(cell), Place::One(cell))
                    }
                    _ => {
                        let spread = what == 3;
                        let by = size * rng.pick(&[0, 1, lanes, lanes + 3]);
                        let bytes = by * (rounds - 1) + size * if spread { 1 } else { lanes };
                        let from = (0..bytes.div_ceil(size))
                            .flat_map(|_| rng.number(kind).to_le_bytes()[..size].to_vec())
                            .collect();
                        let place = Place::Moving { at: cells.one(), by: cells.one(), row: None };
                        (Has::Moves { from, by, spread }, place)
                    }
                };
                let value = match has {
                    Has::Uniform(_) => form.uniform(operand, kind),
                    Has::Moves { spread: true, .. } => form.spread(operand, kind),
                    _ => form.load(operand, kind),
                };
                values.push(value.unwrap());
                operands.push((has, kind));
                places.push(place);
            }
            for _ in 0..rng.below(9) {
                let mark = form.mark();
                match any_value(&mut form, &values, &mut rng) {
                    Some(value) => values.push(value),
                    None => form.back(mark),
                }
            }
            let mut carry = Vec::new();
            for number in 0..carried {
                let kind = operands[number].1;
                let last: Vec<Value> = values.iter().copied().filter(|value| value.kind() == kind).collect();
                let value = if rng.below(3) == 0 { rng.pick(&last) } else { last[last.len() - 1] };
                let store = places.len() as u8;
                form.store(store, value).unwrap();
                places.push(places[number]);
                carry.push(Carry { load: Some(number as u8), store });
            }
            let Some(plan) = Rounds::new(&form, &places, &carry) else {
                refused += 1;
                continue;
            };
            let [count, left, part] = [cells.one(), cells.one(), cells.one()];
            let mut routine = Routine::new(level);
            routine.rounds(&plan, &places, [count, left, part]).unwrap();
            let code = routine.finish().unwrap();

            let mut memory = Memory(vec![[0; 8]; usize::try_from(cells.0).unwrap() / 64 + 1]);
            memory.number(COUNT, lanes as u64);
            memory.number(WHOLE, lanes as u64);
            memory.number(LAST, lanes as u64 - 1);
            memory.number(count, rounds as u64);
            let mut fenced = Vec::new();
            for (number, (has, kind)) in operands.iter().enumerate() {
                let size = usize::from(kind.size());
                match has {
                    Has::Carried(cell) | Has::Stays(cell) => {
                        for lane in 0..lanes {
                            memory.write(*cell, lane * size, &rng.number(*kind).to_le_bytes()[..size]);
                        }
                    }
                    Has::Uniform(cell) => memory.write(*cell, 0, &rng.number(*kind).to_le_bytes()[..size]),
                    Has::Moves { from, by, .. } => {
                        let place = Fenced::new(from.len());
                        let to = place.last(from.len());
                        // SAFETY: so many bytes are there.
                        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
                        let Place::Moving { at, by: further, .. } = places[number] else { unreachable!() };
                        memory.number(at, to.expose_provenance() as u64);
                        memory.number(further, *by as u64);
                        fenced.push(place);
                    }
                }
            }
            let mut wanted = Vec::new();
            for lane in 0..lanes {
                let of = |(has, kind): &(Has, Kind)| match has {
                    Has::Carried(cell) | Has::Stays(cell) => memory.read(*cell, lane, kind.size()),
                    Has::Uniform(cell) => memory.read(*cell, 0, kind.size()),
                    Has::Moves { .. } => 0,
                };
                let mut state: Vec<u64> = operands.iter().map(of).collect();
                for round in 0..rounds {
                    for (state, (has, kind)) in state.iter_mut().zip(&operands) {
                        if let Has::Moves { from, by, spread } = has {
                            let size = usize::from(kind.size());
                            let at = by * round + if *spread { 0 } else { lane * size };
                            let mut word = [0; 8];
                            word[..size].copy_from_slice(&from[at..at + size]);
                            *state = u64::from_le_bytes(word);
                        }
                    }
                    let meaning = Meaning::of(&form, |operand| state[usize::from(operand)]);
                    for (number, &(_, value)) in form.stores.iter().enumerate() {
                        state[number] = meaning.value(value);
                    }
                }
                wanted.push(state);
            }
            // SAFETY: the memory has all cells, of as many lanes; what moves is there for all rounds.
            unsafe { code.run(memory.0.as_mut_ptr().cast()) };
            for (lane, state) in wanted.iter().enumerate() {
                for (number, (has, kind)) in operands[..carried].iter().enumerate() {
                    let Has::Carried(cell) = has else { unreachable!() };
                    let found = memory.read(*cell, lane, kind.size());
                    assert!(
                        meaning::same(*kind, found, state[number]),
                        "seed {seed} {level:?}, lane {lane} of {lanes}, {rounds} rounds, {number}: {found:#x}, not {:#x}: {form:#?}",
                        state[number]
                    );
                }
            }
            done += 1;
        }
    }
    assert!(done > 3 * refused, "{refused} of {done} were refused");
}
