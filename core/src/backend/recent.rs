//! A table of the values that were used last, up to a number of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// The values that were used last, by key.
///
/// Time is counted in insertions, so a hit notes the time only if it is the first since something was inserted: of values
/// that were used between the same two insertions, none counts as older. A hit takes no lock that another hit waits for,
/// and need not write; what an insertion costs beyond it (a walk through the table, to find what has to go) is little
/// where the values are worth keeping.
#[derive(Debug)]
pub struct Recent<K, V> {
    most: usize,
    table: RwLock<Table<K, V>>,
}

#[derive(Debug)]
struct Table<K, V> {
    /// Insertions so far.
    now: u64,
    entries: HashMap<K, Entry<V>>,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    /// When it was used last.
    used: AtomicU64,
}

impl<K: Clone + Eq + Hash, V: Clone> Recent<K, V> {
    /// An empty table, which will keep so many values at most; one at least.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), table: RwLock::new(Table { now: 0, entries: HashMap::new() }) }
    }

    /// How many values it keeps.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// The value of a key, if it is there.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<V> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let entry = table.entries.get(key)?;
        // Threads that use one value do not take its line of the cache from each other.
        if entry.used.load(Ordering::Relaxed) != table.now {
            entry.used.store(table.now, Ordering::Relaxed);
        }
        Some(entry.value.clone())
    }

    /// Adds the value of a key, in the place of the one that was not used for longest, if there is no room. Returns what
    /// the table has for the key now: the value that was there before, if another thread was faster.
    pub fn insert(&self, key: &K, value: V) -> V {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let Table { now, entries } = &mut *table;
        if let Some(entry) = entries.get(key) {
            entry.used.store(*now, Ordering::Relaxed);
            let first = entry.value.clone();
            drop(table);
            return first;
        }
        let oldest = match entries.len() < self.most {
            true => None,
            false => entries.iter().min_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed)),
        };
        let oldest = oldest.map(|(key, _)| key.clone());
        let gone = oldest.and_then(|key| entries.remove(&key));
        *now += 1;
        entries.insert(key.clone(), Entry { value: value.clone(), used: AtomicU64::new(*now) });
        // Whatever it takes to drop a value, nobody waits for it.
        drop(table);
        drop(gone);
        value
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Barrier};

    use proptest::prelude::*;

    use super::*;

    /// Counts itself.
    struct Counted(Arc<AtomicUsize>, u8);

    impl Counted {
        fn new(live: &Arc<AtomicUsize>, key: u8) -> Arc<Self> {
            live.fetch_add(1, Ordering::SeqCst);
            Arc::new(Self(Arc::clone(live), key))
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    proptest! {
        /// Against a list in which the last insertion before each use is noted.
        #[test]
        fn the_values_used_last_are_kept(most in 0_usize..6, keys in prop::collection::vec(0_u8..10, 0..200)) {
            let table: Recent<u8, Arc<Counted>> = Recent::new(most);
            let live = Arc::new(AtomicUsize::new(0));
            let mut model: Vec<(u8, u64)> = Vec::new();
            let mut now = 0;
            for key in keys {
                match (table.get(&key), model.iter_mut().find(|(known, _)| *known == key)) {
                    (Some(value), Some((_, used))) => {
                        prop_assert_eq!(value.1, key);
                        *used = now;
                    }
                    (None, None) => {
                        prop_assert_eq!(table.insert(&key, Counted::new(&live, key)).1, key);
                        now += 1;
                        if model.len() == most.max(1) {
                            // Whichever went, none that is left was used earlier.
                            let there = |key: &u8| table.table.read().unwrap().entries.contains_key(key);
                            let gone: Vec<usize> = (0..model.len()).filter(|&i| !there(&model[i].0)).collect();
                            prop_assert_eq!(gone.len(), 1);
                            let (_, used) = model.swap_remove(gone[0]);
                            prop_assert!(model.iter().all(|&(_, other)| other >= used));
                        }
                        model.push((key, now));
                    }
                    (found, expected) => prop_assert!(false, "{}, not {expected:?}", found.is_some()),
                }
                prop_assert_eq!(live.load(Ordering::SeqCst), model.len());
            }
        }
    }

    #[test]
    fn a_value_in_use_outlives_its_place() {
        let (table, live) = (Recent::new(1), Arc::new(AtomicUsize::new(0)));
        let held = table.insert(&1, Counted::new(&live, 1));
        table.insert(&2, Counted::new(&live, 2));
        assert!(table.get(&1).is_none());
        assert_eq!((held.1, live.load(Ordering::SeqCst)), (1, 2));
        drop(held);
        assert_eq!(live.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn the_first_of_two_values_of_a_key_stays() {
        let (table, live) = (Recent::new(1), Arc::new(AtomicUsize::new(0)));
        let first = table.insert(&1, Counted::new(&live, 1));
        let second = table.insert(&1, Counted::new(&live, 1));
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(live.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn threads_get_the_values_of_their_keys() {
        const THREADS: u8 = 10;
        let (table, live) = (Recent::new(3), Arc::new(AtomicUsize::new(0)));
        let start = Barrier::new(usize::from(THREADS));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (table, live, start) = (&table, &live, &start);
                scope.spawn(move || {
                    start.wait();
                    for round in 0..2000_u32 {
                        let key = ((round * u32::from(thread + 1)) % 7) as u8;
                        let value = table.get(&key);
                        let value = value.unwrap_or_else(|| table.insert(&key, Counted::new(live, key)));
                        assert_eq!(value.1, key);
                        assert!(table.table.read().unwrap().entries.len() <= 3);
                    }
                });
            }
        });
        assert_eq!(live.load(Ordering::SeqCst), 3);
        drop(table);
        assert_eq!(live.load(Ordering::SeqCst), 0);
    }
}
