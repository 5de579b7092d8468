//! The functions of programs that were compiled: each once, and no more than so many.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

use stridewise_core::observe::{self, Doing};
use stridewise_core::sync::Mutex;
use stridewise_native::{Code, Refused};

use super::NATIVE_VARIABLE;

/// What names a function: its steps, how its operands lie, and the level.
pub(super) type Key = smallvec::SmallVec<[u8; 96]>;

/// Programs that are known at most, and bytes of their functions.
const MOST: usize = 1024;
const MOST_BYTES: usize = 8 << 20;
/// Of so many entries as there may be, those that were used least recently go together.
const SHARE: usize = 4;

/// What is known of a program.
enum Entry {
    /// It was run so, and is compiled when it comes again.
    Seen,
    /// Somebody compiles it; meanwhile others interpret it.
    Compiling,
    Ready(Arc<Code>),
    /// There is no function for it.
    Refused,
}

struct Known {
    entry: Entry,
    /// When it was used last.
    used: u64,
}

/// All that is known, and a clock that counts uses.
#[derive(Default)]
struct Cache {
    known: HashMap<Key, Known>,
    clock: u64,
    bytes: usize,
}

/// Functions that threads share.
struct Functions(Mutex<Option<Cache>>);

static FUNCTIONS: Functions = Functions(Mutex::new(None));

/// Whether programs are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    Off,
    /// What comes a second time, or pays at once.
    On,
    /// Everything, the first time.
    Always,
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<Switch>> = const { std::cell::Cell::new(None) };
}

/// Runs something with the switch set so, on this thread.
#[cfg(test)]
pub(crate) fn forced<R>(switch: Switch, work: impl FnOnce() -> R) -> R {
    let before = FORCED.replace(Some(switch));
    let result = work();
    FORCED.set(before);
    result
}

/// As the environment has it; of other values, the doctor tells.
pub(crate) fn switch() -> Switch {
    #[cfg(test)]
    if let Some(switch) = FORCED.get() {
        return switch;
    }
    static SWITCH: OnceLock<Switch> = OnceLock::new();
    *SWITCH.get_or_init(|| match std::env::var(NATIVE_VARIABLE).as_deref() {
        Ok("0") => Switch::Off,
        Ok("always") => Switch::Always,
        _ => Switch::On,
    })
}

/// Whether code is of AVX-512 where the processor has it, as the environment says.
pub(super) fn is_wide() -> Option<bool> {
    static IS_WIDE: OnceLock<Option<bool>> = OnceLock::new();
    *IS_WIDE.get_or_init(|| match std::env::var(NATIVE_VARIABLE).as_deref() {
        Ok("avx2") => Some(false),
        Ok("avx512") => Some(true),
        _ => None,
    })
}

/// Why the system once gave no code; then nobody asks it again.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Whether the system gave no memory that may be executed.
pub(crate) fn is_refused() -> bool {
    REFUSED.load(Ordering::Relaxed)
}

/// The system gave no memory that may be executed.
pub(crate) fn refuse() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// A function that is known, or that `compile` makes now: where the program was seen before, or `at_once`.
pub(super) fn function(
    key: Key,
    at_once: bool,
    compile: impl FnOnce() -> Result<Code, Refused>,
) -> Option<Arc<Code>> {
    FUNCTIONS.function(key, at_once, compile)
}

/// Programs that are known, and bytes of their functions.
pub(super) fn size() -> (usize, usize) {
    FUNCTIONS.size()
}

impl Functions {
    fn function(
        &self,
        key: Key,
        at_once: bool,
        compile: impl FnOnce() -> Result<Code, Refused>,
    ) -> Option<Arc<Code>> {
        // What is forgotten is given back without the lock, as are the pages that nobody runs any more.
        let seen = {
            let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let cache = cache.get_or_insert_default();
            cache.clock += 1;
            let now = cache.clock;
            match cache.known.get_mut(&key) {
                Some(known) => {
                    known.used = now;
                    match &known.entry {
                        Entry::Ready(code) => return Some(Arc::clone(code)),
                        Entry::Compiling | Entry::Refused => return None,
                        Entry::Seen => known.entry = Entry::Compiling,
                    }
                    None
                }
                None if at_once => {
                    cache.known.insert(key.clone(), Known { entry: Entry::Compiling, used: now });
                    None
                }
                None => {
                    cache.known.insert(key.clone(), Known { entry: Entry::Seen, used: now });
                    Some(cache.trim())
                }
            }
        };
        if seen.is_some() {
            return None;
        }
        let seen = observe::span(Doing::Compile, "a program", 0, 0);
        let code = compile();
        drop(seen);
        if code.as_ref().is_err_and(|why| *why == Refused::Executable) {
            refuse();
        }
        // Another time there may be memory.
        let again = code.as_ref().is_err_and(|why| *why == Refused::Memory);
        let code = code.ok().map(Arc::new);
        let _gone = {
            let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let cache = cache.get_or_insert_default();
            let (now, bytes) = (cache.clock, code.as_ref().map_or(0, |code| code.bytes()));
            let entry = match &code {
                Some(code) => Entry::Ready(Arc::clone(code)),
                None if again => Entry::Seen,
                None => Entry::Refused,
            };
            cache.bytes += bytes;
            // What was forgotten meanwhile, and compiled by somebody else, is counted once.
            let old = cache.known.insert(key, Known { entry, used: now });
            if let Some(Known { entry: Entry::Ready(old), .. }) = &old {
                cache.bytes -= old.bytes();
            }
            (old, cache.trim())
        };
        code
    }

    fn size(&self) -> (usize, usize) {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.as_ref().map_or((0, 0), |cache| (cache.known.len(), cache.bytes))
    }
}

impl Cache {
    /// Forgets what was used least recently where there is too much.
    fn trim(&mut self) -> Vec<Known> {
        if self.known.len() <= MOST && self.bytes <= MOST_BYTES {
            return Vec::new();
        }
        let mut times: Vec<u64> = self.known.values().map(|known| known.used).collect();
        times.sort_unstable();
        let before = times[times.len() / SHARE];
        let old: Vec<Key> =
            self.known.iter().filter(|(_, known)| known.used < before).map(|(key, _)| key.clone()).collect();
        let gone: Vec<Known> = old.iter().filter_map(|key| self.known.remove(key)).collect();
        for known in &gone {
            if let Entry::Ready(code) = &known.entry {
                self.bytes -= code.bytes();
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use stridewise_native::{Builder, Kind, Level, compile};

    use super::*;

    fn key(number: u32) -> Key {
        // No program has this operation.
        let mut key = Key::from_slice(&[255; 4]);
        key.extend(number.to_le_bytes());
        key
    }

    fn code() -> Result<Code, Refused> {
        let mut form = Builder::new(Level::Avx2);
        let x = form.load(0, Kind::F32).unwrap();
        form.store(1, x).unwrap();
        compile(&form, false)
    }

    #[test]
    fn ten_threads_compile_once() {
        if !Level::Avx2.is_available() {
            return;
        }
        let functions = Functions(Mutex::new(None));
        let compiled = AtomicUsize::new(0);
        let start = std::sync::Barrier::new(10);
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..100 {
                        let _ = functions.function(key(1), true, || {
                            compiled.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(std::time::Duration::from_millis(2));
                            code()
                        });
                    }
                });
            }
        });
        assert_eq!(compiled.load(Ordering::Relaxed), 1);
        assert!(functions.function(key(1), false, || unreachable!()).is_some());
    }

    #[test]
    fn a_program_is_compiled_the_second_time_and_many_leave_room() {
        if !Level::Avx2.is_available() {
            return;
        }
        let functions = Functions(Mutex::new(None));
        assert!(functions.function(key(2), false, || unreachable!()).is_none());
        assert!(functions.function(key(2), false, code).is_some());
        // What is in use outlives its entry.
        let held = functions.function(key(3), true, code).unwrap();
        for number in 0..5 * MOST as u32 {
            functions.function(key(1000 + number), number % 3 != 0, code);
            let (known, bytes) = functions.size();
            assert!(known <= MOST && bytes <= MOST_BYTES, "{known} {bytes}");
        }
        assert!(functions.function(key(3), false, || unreachable!()).is_none());
        let (mut x, mut y) = ([1.5_f32; 11], [0.0_f32; 11]);
        // SAFETY: the operands of the form, of so many elements.
        unsafe { held.run(&[x.as_mut_ptr().cast(), y.as_mut_ptr().cast()], 0..11) };
        assert_eq!(x, y);
    }

    #[test]
    fn what_cannot_be_compiled_is_not_tried_again() {
        let functions = Functions(Mutex::new(None));
        assert!(functions.function(key(4), true, || Err(Refused::Size)).is_none());
        assert!(functions.function(key(4), true, || unreachable!()).is_none());
    }
}
