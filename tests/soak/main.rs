//! All sorts of work at once for a time, with everything counted: host tasks, recorded work, drops with work pending,
//! queues made and dropped, and commands of OpenCL where there is a runtime. Now and then all threads pause, and nothing
//! may be left: no memory in use, no deleter that was not called, no handle more than before; and, after a beginning, no
//! more memory of the process.
//!
//! Without arguments, as among the tests, it runs for seconds and looks at the counters only. `--seconds N` runs it for so
//! long; `cargo xtask soak` does.

mod allocator;
#[path = "../drops/mod.rs"]
mod drops;
mod loads;
#[path = "../random/mod.rs"]
mod random;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use loads::{LOADS, World};

/// How much more memory the process may have in the last quarter of a run than in the first one after the beginning.
const GROWTH: i64 = 1 << 20;
/// The same of what is allocated, which does not depend on what threads and allocators of others keep.
const ALLOCATED_GROWTH: i64 = 64 << 10;
/// Threads of tasks that are over wait a second for others before they end.
const ENDING: Duration = Duration::from_secs(3);
/// That part of a run fills caches, compiles kernels, and has threads keep what they keep.
const BEGINNING: u32 = 5;

/// What all threads see.
struct Run {
    begin: Instant,
    time: Duration,
    /// Held for reading while a load works, for writing while things are looked at.
    gate: RwLock<()>,
    over: AtomicBool,
}

/// One look at what is left.
struct Look {
    at: Duration,
    /// Bytes of the heap that somebody has.
    allocated: usize,
    /// Bytes of memory that the process has; none where the system does not tell.
    resident: Option<usize>,
    /// What is not as it should be.
    left: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let seconds =
        arguments.iter().position(|a| a == "--seconds").and_then(|at| arguments.get(at + 1)?.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(4));
    let world = World::new();
    println!("{} for {time:?}", world.devices());
    let run = Run { begin: Instant::now(), time, gate: RwLock::new(()), over: AtomicBool::new(false) };
    let looks = std::thread::scope(|scope| {
        for load in LOADS {
            let (run, world) = (&run, &world);
            scope.spawn(move || {
                // A load that fails ends the run; the others stop.
                let _end = OnPanic(&run.over);
                load.work(world, |done| run.goes_on(load.goal, done), &run.gate);
            });
        }
        let looks = run.watch(&world);
        run.over.store(true, Ordering::SeqCst);
        looks
    });
    verdict(&looks, seconds.is_some())
}

/// Ends the run where its thread panics.
struct OnPanic<'a>(&'a AtomicBool);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

impl Run {
    /// Whether a load is to go on. One that is ahead of what it is to do in forty minutes leaves the processors to the
    /// others.
    fn goes_on(&self, goal: u64, done: u64) -> bool {
        loop {
            if self.over.load(Ordering::SeqCst) {
                return false;
            }
            let pace = goal as f64 / 2400.0 * self.begin.elapsed().as_secs_f64();
            if (done as f64) <= 1.1 * pace + 1.0 {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Looks at everything every minute, and when the time is over.
    fn watch(&self, world: &World) -> Vec<Look> {
        let mut looks = Vec::new();
        // A short run is looked at ten times, too.
        let interval = (self.time / 10).min(Duration::from_secs(60));
        let mut next = interval;
        while self.begin.elapsed() < self.time && !self.over.load(Ordering::SeqCst) {
            while self.begin.elapsed() < next.min(self.time) && !self.over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(20));
            }
            looks.push(self.look(world));
            next = self.begin.elapsed() + interval;
        }
        looks
    }

    fn look(&self, world: &World) -> Look {
        world.pausing.store(true, Ordering::SeqCst);
        let pause = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let left = world.settle(self.begin.elapsed() <= self.time / BEGINNING);
        // In a run of seconds nobody waits for that.
        let threads = fewest_threads(if self.time > 10 * ENDING { ENDING } else { Duration::ZERO });
        let resident = resident();
        let look = Look { at: self.begin.elapsed(), allocated: allocator::bytes(), resident, left };
        let counts: Vec<String> =
            LOADS.iter().map(|load| format!("{} {}", world.done(load.name), load.name)).collect();
        let resident =
            look.resident.map_or_else(|| "unknown".to_owned(), |bytes| format!("{} KiB", bytes >> 10));
        println!(
            "{:6.0} s: {}; {} KiB allocated, resident {resident}, {threads} threads; {}",
            look.at.as_secs_f64(),
            counts.join(", "),
            look.allocated >> 10,
            world.statistics()
        );
        look.left.iter().for_each(|left| println!("          LEFT: {left}"));
        world.pausing.store(false, Ordering::SeqCst);
        drop(pause);
        look
    }
}

/// Threads of the process, where the system tells it: the fewest in a time, in which those end that only wait for another task.
fn fewest_threads(time: Duration) -> usize {
    let count = || std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let (begin, mut fewest) = (Instant::now(), count());
    while begin.elapsed() < time {
        std::thread::sleep(Duration::from_millis(20));
        fewest = fewest.min(count());
    }
    fewest
}

/// Memory of the process, where the system tells it, without what C's allocator holds free and without pages of files, which
/// the system takes and brings back as it likes. The least of some looks.
fn resident() -> Option<usize> {
    let mut least = None;
    for _ in 0..5 {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: a function of the allocator's without conditions.
        unsafe {
            libc::malloc_trim(0);
        }
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let mut counts = text.split_whitespace().skip(1).map(str::parse::<usize>);
        let (all, of_files) = (counts.next()?.ok()?, counts.next()?.ok()?);
        let pages = all.saturating_sub(of_files);
        least = Some(least.map_or(pages * 4096, |bytes: usize| bytes.min(pages * 4096)));
        std::thread::sleep(Duration::from_millis(20));
    }
    least
}

fn verdict(looks: &[Look], long: bool) -> ExitCode {
    let mut faults: Vec<String> = Vec::new();
    for look in looks {
        faults.extend(look.left.iter().map(|left| format!("after {:.0} s: {left}", look.at.as_secs_f64())));
    }
    // How much it is at one moment depends on threads and allocators of others; what is lost stays in the least of several.
    let warm = &looks[looks.len() / BEGINNING as usize..];
    let quarter = warm.len().div_ceil(4);
    let growth = |bytes: fn(&Look) -> Option<usize>| {
        let least = |looks: &[Look]| looks.iter().filter_map(bytes).min();
        Some(least(&warm[warm.len() - quarter..])? as i64 - least(&warm[..quarter])? as i64)
    };
    let growths = [
        ("what is allocated", growth(|look| Some(look.allocated)), ALLOCATED_GROWTH),
        ("resident memory", growth(|look| look.resident), GROWTH),
    ];
    for (what, growth, most) in growths {
        let Some(growth) = growth else { continue };
        println!("{what} grew by {growth} bytes from the first to the last quarter after the beginning");
        if long && growth > most {
            faults.push(format!("{what} grew by {growth} bytes, more than {most}"));
        }
    }
    faults.iter().for_each(|fault| eprintln!("soak: {fault}"));
    if faults.is_empty() && !looks.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
