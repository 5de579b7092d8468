//! Tests under every order of threads that a checker thinks of: see [`primitives`](crate::sync::primitives).

use std::sync::{Arc, Mutex, PoisonError};

use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};
use shuttle::{Config, Runner};

/// How many orders of each sort: `STRIDEWISE_INTERLEAVINGS` has another number.
const ORDERS: usize = 2000;
/// Where orders of the second sort take a thread from the processor, at most.
const CHANGES: usize = 4;

/// What an environment variable has, if it is there.
fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Runs a test again and again, each time in another order of its threads: some in which each step is anybody's, and some in
/// which one thread goes on until it is taken from the processor in a few places, which finds what needs few changes, but
/// far apart. `STRIDEWISE_INTERLEAVINGS_SEED` chooses which orders; one that failed is printed, and
/// `STRIDEWISE_INTERLEAVINGS_ORDER` runs it alone.
///
/// # Panics
/// Where the test does, and where no thread of it can go on.
pub fn explore(test: impl Fn() + Send + Sync + 'static) {
    // Statics are the process's, and the orders' as well.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let test = Arc::new(move || {
        crate::sync::restart();
        test();
    });
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let mut config = Config::default();
        config.stack_size = 1 << 18;
        config.silence_warnings = true;
        let test = Arc::clone(&test);
        Runner::new(scheduler, config).run(move || test());
    };
    if let Ok(order) = std::env::var("STRIDEWISE_INTERLEAVINGS_ORDER") {
        return run(Box::new(ReplayScheduler::new_from_encoded(&order)));
    }
    let orders = number("STRIDEWISE_INTERLEAVINGS", ORDERS as u64) as usize;
    let seed = number("STRIDEWISE_INTERLEAVINGS_SEED", 1);
    run(Box::new(RandomScheduler::new_from_seed(seed, orders)));
    run(Box::new(PctScheduler::new_from_seed(seed, CHANGES, orders)));
}
