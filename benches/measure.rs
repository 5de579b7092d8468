//! Rounds in which those that are compared take turns, and medians.

use std::error::Error;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What can go wrong in a measurement, of whatever type.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Runs of a batch at most.
const MAX_BATCH: usize = 1 << 22;
/// Seconds of the runs that go before those that are timed, one at least: a thread wakes up, data is where the last run left it,
/// and what nobody has touched for seconds, as others had their turns, is slow to reach on a virtual machine. A first run over
/// 1.3 GB took 40 ms and those after it 25; bare loops, of which several go over the same memory, have that behind them.
const WARMED: f64 = 10e-3;
/// Seconds from which on these are several, as many as take [`WARMED`]: a last-level cache takes some runs to keep what is read
/// again and again where that is about as large as itself. Sums of 32 MiB in one of 32 MiB took 490 µs after one run, and 190
/// after ten.
const SETTLING: f64 = 20e-6;

/// A peer that takes this many times as long as ours is timed once: nobody asks by how much it loses, and a run of it may take
/// seconds.
const HOPELESS: f64 = 20.0;
/// Seconds from which on that saves something.
const SAVES: f64 = 1e-3;

/// The name of the engine among those that are measured.
pub(crate) const OURS: &str = "ours";

/// Something that is measured: it runs so many times and says how many seconds that took.
pub(crate) struct Contender<'a> {
    pub(crate) name: String,
    pub(crate) run: Box<dyn FnMut(usize) -> Outcome<f64> + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: impl Into<String>, run: impl FnMut(usize) -> Outcome<f64> + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// One that is timed here: `once` is one run of it.
    pub(crate) fn timed(name: impl Into<String>, mut once: impl FnMut() -> Outcome<()> + 'a) -> Self {
        Self::new(name, move |count| {
            let begin = Instant::now();
            for _ in 0..count {
                once()?;
            }
            Ok(begin.elapsed().as_secs_f64())
        })
    }
}

/// How long to measure.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Seconds of a batch, or longer where a single run is. Short runs are timed in batches, so that the clock does not
    /// count and each finds its data where its own last run left it: in the caches that hold it.
    pub(crate) batch: f64,
    /// Seconds of all rounds of a row, in a pass.
    pub(crate) row: f64,
    /// Rounds at least and at most.
    pub(crate) rounds: (usize, usize),
    /// Between contenders: worker threads of the one before, which wait in loops for more, go to sleep.
    pub(crate) pause: Duration,
}

impl Effort {
    /// What most take to go to sleep.
    const PAUSE: Duration = Duration::from_millis(1);
    /// What the threads of a BLAS take, which wait for more for tens of milliseconds.
    pub(crate) const LONG_PAUSE: Duration = Duration::from_millis(60);
    pub(crate) const FULL: Self = Self { batch: 2e-3, row: 0.17, rounds: (2, 21), pause: Self::PAUSE };
    pub(crate) const QUICK: Self = Self { batch: 1e-3, row: 0.1, rounds: (3, 15), pause: Self::PAUSE };
}

/// The seconds of one run of a contender, one in each round; none where it has failed.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// The median seconds.
    pub(crate) fn median(&self) -> Option<f64> {
        median(&mut self.0.clone())
    }

    /// With those of further rounds; none where one of the two has failed.
    pub(crate) fn join(&mut self, mut other: Self) {
        if self.0.is_empty() || other.0.is_empty() {
            self.0.clear();
        } else {
            self.0.append(&mut other.0);
        }
    }

    /// How many times as long as another one's runs these take: the median over the rounds, so that a memory whose speed
    /// changes from one round to the next is not compared with itself.
    pub(crate) fn times(&self, other: &Self) -> Option<f64> {
        median(&mut self.0.iter().zip(&other.0).map(|(mine, theirs)| mine / theirs).collect::<Vec<_>>())
    }
}

/// What each contender took in each round. Of one that fails the reason is printed.
pub(crate) fn interleave(contenders: &mut [Contender<'_>], effort: Effort) -> Vec<Samples> {
    let mut samples = vec![Samples::default(); contenders.len()];
    let failed = |name: &str, error: Box<dyn Error>| eprintln!("{name}: {error}");
    // `None` where a contender has failed.
    let mut batches: Vec<Option<(usize, f64)>> = contenders
        .iter_mut()
        .map(|contender| {
            calibrate(contender, effort.batch).map_err(|error| failed(&contender.name, error)).ok()
        })
        .collect();
    let once = |batch: &Option<(usize, f64)>| batch.map_or(f64::INFINITY, |(_, once)| once);
    let ours = contenders.iter().zip(&batches).find(|(contender, _)| contender.name == OURS);
    let hopeless = ours.map_or(f64::INFINITY, |(_, batch)| once(batch) * HOPELESS).max(SAVES);
    for ((contender, batch), samples) in contenders.iter_mut().zip(&mut batches).zip(&mut samples) {
        // Once more, and better: a pool that slept is no measure.
        let mut again = |once: f64| (contender.run)(1).map_or(once, |seconds| seconds.min(once));
        if let Some((_, once)) = batch.take_if(|(_, once)| *once > hopeless && again(*once) > hopeless) {
            samples.0.push(once);
        }
    }
    let (least, most) = effort.rounds;
    let begin = Instant::now();
    for round in 0..most {
        if round >= least && begin.elapsed().as_secs_f64() > effort.row {
            break;
        }
        // In turns, so that a drift of the clock or of the memory meets all alike.
        for ((contender, batch), samples) in contenders.iter_mut().zip(&mut batches).zip(&mut samples) {
            let Some((count, once)) = *batch else { continue };
            sleep(effort.pause);
            match (contender.run)(before(once)).and_then(|_| (contender.run)(count)) {
                Ok(seconds) => samples.0.push(seconds / count as f64),
                Err(error) => {
                    failed(&contender.name, error);
                    *batch = None;
                    samples.0.clear();
                }
            }
        }
    }
    samples
}

/// Runs that go before those that are timed, by the seconds of one.
fn before(once: f64) -> usize {
    if once < SETTLING { 1 } else { ((WARMED / once) as usize).max(1) }
}

/// Runs in a batch that takes about `seconds`, and the seconds of one; the runs before are the warm-up.
fn calibrate(contender: &mut Contender<'_>, seconds: f64) -> Outcome<(usize, f64)> {
    (contender.run)(1)?;
    let mut count = 1;
    loop {
        let taken = (contender.run)(count)?;
        if taken >= seconds / 2.0 || count >= MAX_BATCH {
            return Ok((count, taken / count as f64));
        }
        let growth = (seconds / taken.max(1e-9)).clamp(2.0, 64.0);
        count = ((count as f64 * growth) as usize).min(MAX_BATCH);
    }
}

/// The middle sample, of an even number the mean of the middle two.
fn median(samples: &mut [f64]) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let upper = samples.len() / 2;
    match samples.len() {
        0 => None,
        len if len % 2 == 1 => Some(samples[upper]),
        _ => Some((samples[upper - 1] + samples[upper]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_the_middle() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0]), Some(3.0));
        assert_eq!(median(&mut [9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 100.0]), Some(3.0));
    }

    #[test]
    fn quotients_are_those_of_a_round() {
        // The speed of the rounds differs by ten times, what compares the two does not.
        let (slow, fast) = (Samples(vec![4.0, 20.0, 2.0]), Samples(vec![2.0, 10.0, 1.0]));
        assert_eq!((slow.times(&fast), fast.times(&slow)), (Some(2.0), Some(0.5)));
        assert_eq!(slow.times(&Samples::default()), None);
    }

    #[test]
    fn rounds_of_several_passes_are_joined() {
        let mut samples = Samples(vec![4.0, 1.0]);
        samples.join(Samples(vec![2.0]));
        assert_eq!(samples, Samples(vec![4.0, 1.0, 2.0]));
        let mut failed = Samples::default();
        failed.join(samples.clone());
        samples.join(Samples::default());
        assert_eq!([samples, failed], [const { Samples(Vec::new()) }; 2]);
    }

    #[test]
    fn batches_fill_their_time() {
        let mut microsecond = Contender::new("a", |count| Ok(count as f64 * 1e-6));
        let (count, once) = calibrate(&mut microsecond, 1e-3).unwrap();
        assert!((500..=1000).contains(&count), "{count}");
        assert!((once - 1e-6).abs() < 1e-12, "{once}");
        let mut second = Contender::new("b", |count| Ok(count as f64));
        assert_eq!(calibrate(&mut second, 1e-3).unwrap(), (1, 1.0));
    }

    #[test]
    fn who_is_hopeless_is_timed_once() {
        let effort = Effort { batch: 1e-4, row: 0.0, rounds: (3, 3), pause: Duration::ZERO };
        let seconds = [(OURS, 1e-3), ("near", 15e-3), ("far", 25e-3)];
        let mut all = seconds.map(|(name, once)| Contender::new(name, move |count| Ok(count as f64 * once)));
        let samples = interleave(&mut all, effort);
        assert_eq!(samples.iter().map(|samples| samples.0.len()).collect::<Vec<_>>(), [3, 3, 1]);
        assert_eq!(samples[2].median(), Some(25e-3));
    }

    #[test]
    fn runs_before_settle_the_caches() {
        assert_eq!([1e-8, 1e-5, 1e-4, 4e-3, 1.0].map(before), [1, 1, 100, 2, 1]);
    }

    #[test]
    fn contenders_take_turns_and_one_that_fails_is_left_out() {
        let effort = Effort { batch: 0.0, row: 0.0, rounds: (3, 3), pause: Duration::ZERO };
        let order = std::cell::RefCell::new(Vec::new());
        let run = |name: &'static str, fails_at: usize| {
            let order = &order;
            let mut runs = 0;
            Contender::new(name, move |_| {
                runs += 1;
                order.borrow_mut().push(name);
                if runs < fails_at { Ok(2.0) } else { Err("broken".into()) }
            })
        };
        let mut contenders = [run("a", usize::MAX), run("b", 4), run("c", 1)];
        let medians: Vec<_> = interleave(&mut contenders, effort).iter().map(Samples::median).collect();
        assert_eq!(medians, [Some(2.0), None, None]);
        drop(contenders);
        // Two runs each to calibrate, of which `c` fails in the first; then rounds, of one run before the one that counts.
        let calibrated = ["a", "a", "b", "b", "c"];
        let rounds = ["a", "a", "b", "b", "a", "a", "a", "a"];
        assert_eq!(order.into_inner(), [&calibrated[..], &rounds].concat());
    }
}
