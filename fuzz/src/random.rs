//! Choices that the fuzzer makes.

/// Choices from bytes, of the form of the tests' `Rng`: the bytes one after another, and behind their end what a small
/// generator (SplitMix64) makes, the same every time.
pub(crate) struct Rng {
    bytes: std::vec::IntoIter<u8>,
    state: u64,
}

impl Rng {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self { bytes: Vec::from(bytes).into_iter(), state: bytes.len() as u64 }
    }

    /// Whether what comes now is nobody's choice.
    pub(crate) fn is_used_up(&self) -> bool {
        self.bytes.len() == 0
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.bytes.next().unwrap_or_else(|| {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            ((z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 56) as u8
        })
    }

    pub(crate) fn next(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// A number below a limit, from no more bytes than it needs.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        match limit {
            0 | 1 => 0,
            2..=0x100 => usize::from(self.byte()) % limit,
            0x101..=0x1_0000 => usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % limit,
            _ => (self.next() % limit as u64) as usize,
        }
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// A small number mostly, else one that breaks arithmetic.
    pub(crate) fn number(&mut self) -> i64 {
        const HOSTILE: [i64; 12] = [
            i64::MIN,
            i64::MIN + 1,
            i64::MAX,
            i64::MAX - 1,
            1 << 31,
            1 << 32,
            (1 << 59) - 1,
            1 << 59,
            1 << 61,
            -(1 << 61),
            1 << 62,
            -(1 << 62),
        ];
        match self.byte() {
            byte @ 0..=231 => i64::from(byte % 21) - 6,
            byte @ 232..=247 => HOSTILE[usize::from(byte) % HOSTILE.len()],
            _ => self.next().cast_signed(),
        }
    }

    /// As [`number`](Self::number), from 0 on.
    pub(crate) fn extent(&mut self) -> usize {
        match self.byte() {
            byte @ 0..=239 => usize::from(byte % 6),
            _ => self.number().unsigned_abs() as usize,
        }
    }

    /// So many times what a function gives.
    pub(crate) fn many<T>(&mut self, count: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..count).map(|_| make(self)).collect()
    }

    /// What a function gives, or nothing.
    pub(crate) fn perhaps<T>(&mut self, percent: usize, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.chance(percent) { Some(make(self)) } else { None }
    }
}
