//! Sequences of calls of the C interface.

use crate::calls::Calls;
use crate::random::Rng;

pub(crate) fn run(data: &[u8]) {
    let mut left = 400;
    Calls::new(Rng::new(data)).run(|rng| {
        left -= 1;
        left > 0 && !rng.is_used_up()
    });
}
