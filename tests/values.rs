//! Clones are values and views write through: programs over both, against plain vectors.

mod devices;
mod random;

use std::cell::RefCell;
use std::rc::Rc;

use random::Rng;
use stridewise::prelude::*;

#[test]
fn what_is_written_to_a_clone_is_not_seen_in_the_original() -> Result<()> {
    for n in [0, 1, 5, 10_000] {
        let x = Array::<f64>::arange(0.0, n as f64, 1.0)?;
        let before = x.to_vec()?;
        let mut z = x.clone();
        z += 1.0;
        assert_eq!(x.to_vec()?, before);
        assert_eq!(z.to_vec()?, before.iter().map(|x| x + 1.0).collect::<Vec<_>>());
        let (mut x, z) = (x.share(), x.clone());
        x.fill(-1.0)?;
        assert_eq!(z.to_vec()?, before, "the original was written first");
    }
    Ok(())
}

#[test]
fn a_clone_is_recorded_and_has_memory_of_its_own() -> Result<()> {
    let x = Array::<f32>::ones([1000, 1000])?;
    let memory = x.usm_data()?.ptr();
    let mut z = x.clone();
    assert!(z.is_pending(), "nothing is copied before it is needed");
    z += 1.0;
    assert_eq!((z.sum()?, x.sum()?), (2e6, 1e6));
    assert_ne!(z.usm_data()?.ptr(), memory);
    assert_eq!(x.share().usm_data()?.ptr(), memory);
    Ok(())
}

#[test]
fn views_write_through() -> Result<()> {
    let x = array![[1_i32, 2, 3], [4, 5, 6]];
    x.slice(s![.., 1..])?.fill(0)?;
    x.t().slice(s![0])?.assign(7)?;
    for mut row in x.axis_iter(0)?.clone() {
        row += 1;
    }
    assert_eq!(x.to_vec()?, [8, 1, 1, 8, 1, 1]);
    Ok(())
}

/// An array, and where its elements stand in a vector that those who share memory have together.
struct Named {
    array: Array<i64>,
    memory: Rc<RefCell<Vec<i64>>>,
    places: Vec<usize>,
}

impl Named {
    fn new(array: Array<i64>, values: Vec<i64>) -> Self {
        let places = (0..values.len()).collect();
        Self { array, memory: Rc::new(RefCell::new(values)), places }
    }
    fn view(&self, array: Array<i64>, places: Vec<usize>) -> Self {
        Self { array, memory: self.memory.clone(), places }
    }
    fn values(&self) -> Vec<i64> {
        self.places.iter().map(|&place| self.memory.borrow()[place]).collect()
    }
    fn write(&self, values: impl IntoIterator<Item = i64>) {
        let mut memory = self.memory.borrow_mut();
        self.places.iter().zip(values).for_each(|(&place, value)| memory[place] = value);
    }
    fn check(&self, seed: u64, step: usize) {
        assert_eq!(self.array.to_vec().unwrap(), self.values(), "seed {seed}, step {step}");
    }
}

fn program(queue: &Queue, seed: u64) -> Result<()> {
    let rng = &mut Rng::new(seed);
    // Few elements are computed at once, many are recorded.
    let n = *rng.pick(&[0, 1, 7, 300, 3000]);
    let start: Vec<i64> = (0..n).map(|x| x as i64).collect();
    let mut all = vec![Named::new(Array::on(queue).from_slice([n], &start)?, start)];
    for step in 0..60 {
        let (from, other, number) = (rng.below(all.len()), rng.below(all.len()), rng.below(9) as i64);
        let named = &all[from];
        let new = match rng.below(9) {
            0 | 1 => Named::new(named.array.clone(), named.values()),
            2 => named.view(named.array.share(), named.places.clone()),
            3 => {
                let (step, places) = if rng.chance(50) {
                    (s![..;-1], named.places.iter().rev().copied().collect())
                } else {
                    (s![..;2], named.places.iter().step_by(2).copied().collect())
                };
                named.view(named.array.slice(step)?, places)
            }
            4 => {
                Named::new(&named.array * 3 + number, named.values().iter().map(|x| x * 3 + number).collect())
            }
            _ => {
                let values = all[other].values();
                match rng.below(5) {
                    0 => {
                        all[from].array += number;
                        all[from].write(all[from].values().iter().map(|x| x.wrapping_add(number)));
                    }
                    1 => {
                        all[from].array.fill(number)?;
                        all[from].write(vec![number; all[from].places.len()]);
                    }
                    2 if values.len() == all[from].places.len() => {
                        let source = all[other].array.share();
                        all[from].array.assign(&source)?;
                        all[from].write(values);
                    }
                    3 if !all[from].places.is_empty() => {
                        let place = rng.below(all[from].places.len());
                        all[from].array.set([place], number)?;
                        let mut values = all[from].values();
                        values[place] = number;
                        all[from].write(values);
                    }
                    _ => all[from].check(seed, step),
                }
                continue;
            }
        };
        all.push(new);
        if all.len() > 8 {
            let gone = rng.below(all.len());
            all.swap_remove(gone).check(seed, step);
        }
    }
    all.iter().for_each(|named| named.check(seed, 60));
    Ok(())
}

#[test]
fn programs_of_clones_views_and_writes_are_those_of_vectors() -> Result<()> {
    for device in devices::devices() {
        let queue = device.queue()?;
        for seed in 0..400 {
            program(&queue, seed)?;
        }
    }
    Ok(())
}
