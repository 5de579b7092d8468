//! Random sequences of calls, from several threads.

mod calls;
#[path = "../../../tests/random/mod.rs"]
mod random;

use calls::Calls;
use random::Rng;

/// Calls of each thread.
const STEPS: usize = 5_000;

#[test]
fn any_sequence_of_calls_is_safe() {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=4)
            .map(|seed| {
                scope.spawn(move || {
                    let mut left = STEPS;
                    Calls::new(Rng::new(seed)).run(|_| {
                        left -= 1;
                        left > 0
                    })
                })
            })
            .collect();
        for thread in threads {
            let counts = thread.join().unwrap();
            // Calls succeed, and are refused for all sorts of reasons.
            assert!(counts[&0] > STEPS / 3 && counts.len() > 8, "{counts:?}");
        }
    });
}
