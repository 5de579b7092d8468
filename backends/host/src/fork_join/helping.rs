//! Who takes part in work that is too short to wake anybody for.
//!
//! Work of 8 to 20 µs is over before a sleeping worker has begun, but one that is still awake takes a half of
//! it for about a microsecond. So from an estimate of 8 µs on short work takes one worker along if one is
//! awake, and a thread that goes on with such work has one woken after a while. Where threads take turns
//! nobody helps: the processors are theirs, and help made their means take 1.2 to 2 times as long. What a
//! test writes does not count in the estimate, as it is next to nothing.
//!
//! Measured on a Zen 4: in-place additions of 64 Ki `float32` one after another 7.3 to 4.5 µs; with pauses of
//! 30 µs or more, and in bursts, 0.98 to 1.10 of the time. Three rounds of calls: addition 0.72, `a*b+c`
//! 0.69, `sqrt` 0.64, `exp` 0.58, `where` 0.69 of the time. On a Xeon with 16 cores, where a line takes
//! longer from core to core: `sqrt` 0.76 to 0.81, `exp` 0.72 to 0.87, but addition 1.05 to 1.14, and rows of
//! a broadcast operand, which are no longer shared, 1.12 to 1.27. Waking after 25 µs instead of 200 made
//! bursts of six take 1.4 times as long. Work that only moves memory gains nothing on the Xeon: a third kind
//! of machine would show whether the estimate should know the distance between cores.

use std::time::Duration;

use stridewise_core::backend::primitives::atomic::{AtomicU64, AtomicUsize, Ordering};
use stridewise_core::backend::primitives::thread_local;

use super::pool::LINGER;

/// Work below this estimate is done by one thread: to share it costs a microsecond or two.
pub(crate) const ALONE_NS: u64 = 8_000;

/// How long such work goes on before a worker is woken for it: waking one costs the caller up to 20 µs, so that where it ends
/// then, a tenth was lost.
const LONG: Duration = Duration::from_micros(200);

/// Work that is too short to wake anybody for, as long as one thread goes on with it: each begins before a worker that took
/// part in the one before would sleep.
#[derive(Default)]
pub(crate) struct Stream {
    /// The thread.
    owner: AtomicUsize,
    /// When the first began, and the last was over, in nanoseconds of the device's time.
    since: AtomicU64,
    last: AtomicU64,
}

/// What is known of a stream as work begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The last was another thread's: where several compute, the processors are theirs.
    Disputed,
    Short,
    Long,
}

impl Stream {
    /// Notes that work begins on the calling thread.
    pub(crate) fn begins(&self, now: Duration) -> Stage {
        thread_local! {
            static ME: u8 = const { 0 };
        }
        let me = ME.with(|me| std::ptr::from_ref(me).addr());
        let now = now.as_nanos() as u64;
        // Several threads may come at once: what they leave is a guess as good as any.
        let disputed = self.owner.load(Ordering::Relaxed) != me;
        if disputed || now.saturating_sub(self.last.load(Ordering::Relaxed)) > LINGER.as_nanos() as u64 {
            self.owner.store(me, Ordering::Relaxed);
            self.since.store(now, Ordering::Relaxed);
        }
        match now.saturating_sub(self.since.load(Ordering::Relaxed)) {
            _ if disputed => Stage::Disputed,
            time if time > LONG.as_nanos() as u64 => Stage::Long,
            _ => Stage::Short,
        }
    }

    /// Notes that work is over.
    pub(crate) fn ends(&self, now: Duration) {
        self.last.store(now.as_nanos() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_stream_is_long_after_a_while_and_ends_with_a_pause() {
        let (stream, mut now) = (Stream::default(), 1000);
        assert_eq!(stream.begins(at(now)), Stage::Disputed, "nobody's before");
        stream.ends(at(now + 8));
        let begin = now;
        while now < begin + 2 * LONG.as_micros() as u64 {
            now += 18;
            let expected = if now - begin > LONG.as_micros() as u64 { Stage::Long } else { Stage::Short };
            assert_eq!(stream.begins(at(now)), expected, "{now}");
            stream.ends(at(now + 8));
        }
        let pause = LINGER.as_micros() as u64 + 1;
        assert_eq!(stream.begins(at(now + 8 + pause)), Stage::Short);
    }

    #[test]
    fn threads_in_turns_have_no_stream() {
        let (stream, begin) = (Stream::default(), 1000);
        for turn in 0..100 {
            let now = at(begin + 10 * turn);
            let stage = std::thread::scope(|scope| {
                let begins = || scope.spawn(|| stream.begins(now)).join().unwrap();
                if turn % 2 == 0 { begins() } else { stream.begins(now) }
            });
            assert_eq!(stage, Stage::Disputed, "{turn}");
            stream.ends(now);
        }
    }
}
