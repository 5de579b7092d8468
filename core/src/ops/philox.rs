//! Philox4x32-10, a counter-based generator of random bits (J. K. Salmon et al., "Parallel random numbers: as easy as
//! 1, 2, 3", SC 2011): a function from a counter and a key to random words, without any state.

use super::Int;

/// Rounds.
const ROUNDS: usize = 10;

/// The four words of 32 bits, least significant first, of a counter of 128 bits and a key of 64. All values are integers
/// of 64 bits without sign; `counter` is the low half of the counter, `stream` the high one.
#[inline(always)]
pub(super) fn block<A: Int>(counter: A, stream: A, key: A) -> [A; 4] {
    // Exact: numbers of 32 bits.
    let word = |c: u32| counter.lit(f64::from(c));
    let (low, half) = (word(u32::MAX), word(32));
    let (factors, steps) = ([word(0xd251_1f53), word(0xcd9e_8d57)], [word(0x9e37_79b9), word(0xbb67_ae85)]);
    let split = |x: A| [x & low, x.shift_right(half)];
    let ([mut c0, mut c1], [mut c2, mut c3]) = (split(counter), split(stream));
    let [mut k0, mut k1] = split(key);
    for round in 0..ROUNDS {
        if round > 0 {
            (k0, k1) = ((k0 + steps[0]) & low, (k1 + steps[1]) & low);
        }
        // Products of words fit 64 bits.
        let (p0, p1) = (factors[0] * c0, factors[1] * c2);
        (c0, c1, c2, c3) =
            (p1.shift_right(half) ^ c1 ^ k0, p1 & low, p0.shift_right(half) ^ c3 ^ k1, p0 & low);
    }
    [c0, c1, c2, c3]
}

/// The first two words of a block as one of 64 bits.
#[inline(always)]
pub(super) fn bits<A: Int>(counter: A, stream: A, key: A) -> A {
    let [low, high, ..] = block(counter, stream, key);
    low | high.shift_left(counter.lit(32.0))
}

#[cfg(test)]
mod tests {
    use std::num::Wrapping;

    use super::*;
    use crate::Scalar;
    use crate::ops::{Op, apply};

    /// The known answers of the authors' library for ten rounds: counter, key, words, least significant word first.
    const KNOWN: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ];

    #[test]
    fn known_answers() {
        let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        for (counter, key, words) in KNOWN {
            let (low, high) = (wide(counter[0], counter[1]), wide(counter[2], counter[3]));
            let key = wide(key[0], key[1]);
            let found = block(Wrapping(low), Wrapping(high), Wrapping(key)).map(|word| word.0);
            assert_eq!(found, words.map(u64::from));
            let operands = [low, high, key].map(Scalar::U64);
            assert_eq!(apply(Op::Philox, &operands), Some(Scalar::U64(wide(words[0], words[1]))));
        }
    }
}
