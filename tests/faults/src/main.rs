//! The campaign against failures: every scenario runs while every n-th allocation, vector, thread or call of a runtime
//! fails, for n from 1 on until nothing fails any more, and then with pairs of failures. Each time the results are right or
//! there is a typed error; afterwards the same scenario runs without failures to the right results; and then the memory, the
//! threads, the handles and the device itself are gone.
//!
//! It runs where `STRIDEWISE_FAULTS` is set. `STRIDEWISE_FAULTS_PAIRS` says how many pairs are tried on the host (400), `STRIDEWISE_FAULTS_SEED` which ones,
//! `STRIDEWISE_FAULTS_ALL=1` lets every n and every form of memory of an OpenCL runtime take part, of which a few do otherwise, and words as arguments leave
//! only scenarios that have one of them in their name. `STRIDEWISE_FAULTS_TRACE=1` names every case as it begins, and whom the
//! allocator refuses something: who has no answer to that ends the process.

mod allocator;
mod bench;
mod faults;
mod scenarios;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stridewise_opencl_stub::Stub;

use crate::bench::{Bench, Live, is_of_a_fault, live, until};
use crate::faults::Fault;
use crate::scenarios::Scenario;

#[global_allocator]
static ALLOCATOR: allocator::Refusing = allocator::Refusing;

/// After so many seconds, a case hangs.
const LIMIT: u32 = 120;
/// Where there are many of a sort, every n-th is tried for all n up to this, and then for each half as large again.
const DENSE: u64 = 4;

/// Whether cases are told as they begin.
static TRACED: AtomicBool = AtomicBool::new(false);
/// Panics of any thread.
static PANICS: AtomicUsize = AtomicUsize::new(0);
/// Threads of this process that last: those of the campaign, and of registered devices.
static RESIDENT: AtomicUsize = AtomicUsize::new(0);
/// The case that runs.
static CASE: Mutex<Option<String>> = Mutex::new(None);

fn case() -> MutexGuard<'static, Option<String>> {
    CASE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What fails in a case: every n-th of a sort, and of another; or two of one.
#[derive(Clone, Copy, Debug)]
enum Failing {
    Every(Fault, u64),
    Both([(Fault, u64); 2]),
    At(Fault, [u64; 2]),
}

impl Failing {
    fn arm(self, stub: Option<&Stub>) {
        match self {
            Self::Every(fault, n) => fault.every(n, stub),
            Self::Both(both) => both.into_iter().for_each(|(fault, n)| fault.every(n, stub)),
            Self::At(fault, calls) => fault.at(calls),
        }
    }

    fn struck(self, stub: Option<&Stub>) -> u64 {
        match self {
            Self::Every(fault, _) | Self::At(fault, _) => fault.struck(stub),
            Self::Both(both) => both.into_iter().map(|(fault, _)| fault.struck(stub)).sum(),
        }
    }
}

/// What came of a case.
struct Outcome {
    /// Failures.
    struck: u64,
    /// Whether they came to an error.
    failed: bool,
}

/// Cases, and what came of them.
#[derive(Default)]
struct Counts {
    cases: u64,
    /// Failures in all.
    struck: u64,
    /// Cases in which the scenario had right results although something failed.
    survived: u64,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.cases += 1;
        self.struck += outcome.struck;
        self.survived += u64::from(outcome.struck > 0 && !outcome.failed);
    }

    fn tell(&self, what: &str, begin: Instant) {
        println!(
            "{what}: {} cases with {} failures in {:.1} s; {} of them had right results all the same",
            self.cases,
            self.struck,
            begin.elapsed().as_secs_f64(),
            self.survived
        );
    }
}

/// Threads of this process.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Runs a scenario once: the error that a failure has come to, if it has.
///
/// # Errors
/// What is wrong.
fn attempt(scenario: &Scenario, bench: &Bench) -> Result<Option<stridewise::Error>, String> {
    let before = PANICS.load(Ordering::SeqCst);
    let outcome = catch_unwind(AssertUnwindSafe(|| (scenario.run)(bench)));
    match outcome {
        Err(_) => Err("wrong results, or a panic: see above".to_owned()),
        Ok(_) if PANICS.load(Ordering::SeqCst) > before => Err("a panic of the engine: see above".to_owned()),
        Ok(Ok(())) => Ok(None),
        Ok(Err(error)) if is_of_a_fault(&error) => Ok(Some(error)),
        Ok(Err(error)) => Err(format!("an error of no failure: {error}")),
    }
}

/// One case: the scenario with failures, without, and what is left.
fn run(scenario: &Scenario, failing: Failing, stub: Option<&Stub>) -> Result<Outcome, String> {
    let name = format!("{}: {failing:?}", scenario.name);
    if TRACED.load(Ordering::Relaxed) {
        eprintln!("{name}");
    }
    *case() = Some(name);
    let handles = c_interface::handle::live();
    let objects = stub.map(live);
    // A runtime may fail before there is a device.
    let bench = if stub.is_some() {
        failing.arm(stub);
        Bench::opencl()
    } else {
        let bench = Bench::host();
        failing.arm(stub);
        Some(bench)
    };
    let with = bench.as_ref().map_or(Ok(None), |bench| attempt(scenario, bench));
    // What was submitted and not waited for may fail, too.
    let waited = bench.as_ref().map_or(Ok(()), |bench| bench.queue.wait());
    let struck = failing.struck(stub);
    faults::disarm(stub);
    let error = with?;
    let failed = error.is_some() || bench.is_none();
    if struck == 0 && failed {
        return Err(format!("failed although nothing did: {error:?}"));
    }
    if let Err(error) = waited
        && !is_of_a_fault(&error)
    {
        return Err(format!("the queue's end gave {error}"));
    }
    let mut again = bench.map_or_else(|| Bench::opencl().ok_or("there is no device afterwards"), Ok)?;
    again.restore().map_err(|error| format!("the array that lasts: {error}"))?;
    if let Some(error) = attempt(scenario, &again).map_err(|what| format!("afterwards: {what}"))? {
        return Err(format!("afterwards: {error}"));
    }
    again.end(stub.zip(objects))?;
    if c_interface::handle::live() != handles {
        return Err(format!("{} handles of C, before {handles}", c_interface::handle::live()));
    }
    let resident = RESIDENT.load(Ordering::SeqCst);
    until(|| threads() <= resident)
        .map_err(|()| format!("{} threads, of which {resident} last", threads()))?;
    *case() = None;
    Ok(Outcome { struck, failed })
}

/// Every n-th failure, until there is none. What has failed is what the pairs are chosen of.
fn singles(
    scenario: &Scenario,
    list: &[Fault],
    stub: Option<&Stub>,
    counts: &mut Counts,
) -> Result<Vec<(Fault, u64)>, String> {
    let mut most = Vec::new();
    for &fault in list.iter().filter(|fault| !scenario.spared.contains(fault)) {
        let mut n = 1;
        loop {
            let failing = Failing::Every(fault, n);
            let outcome = run(scenario, failing, stub).map_err(|what| format!("{failing:?}: {what}"))?;
            counts.add(&outcome);
            if outcome.struck == 0 {
                break;
            }
            most.push((fault, n));
            n += if n < DENSE || all() { 1 } else { n / 2 };
        }
    }
    Ok(most)
}

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// Whether everything is tried.
fn all() -> bool {
    number("STRIDEWISE_FAULTS_ALL", 0) != 0
}

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Ends the process where a case hangs, and tells which. Seconds are counted while this process runs, for it may be halted.
fn watch() {
    std::thread::spawn(|| {
        let (mut last, mut seconds) = (None, 0);
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = case().clone();
            seconds = if now == last { seconds + 1 } else { 0 };
            if let Some(name) = now.as_ref().filter(|_| seconds > LIMIT) {
                eprintln!("{name}: hangs");
                std::process::exit(101);
            }
            last = now;
        }
    });
}

fn main() {
    if std::env::var_os("STRIDEWISE_FAULTS").is_none() {
        println!(
            "left out, as it takes minutes: STRIDEWISE_FAULTS=1, or `cargo xtask test --only faults`, runs it"
        );
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        if let Some(name) = &*case() {
            eprintln!("in {name}");
        }
        hook(info);
    }));
    watch();
    if number("STRIDEWISE_FAULTS_TRACE", 0) != 0 {
        TRACED.store(true, Ordering::Relaxed);
        allocator::trace();
    }
    // Kernels are compiled anew each time.
    // SAFETY: no other thread reads the environment but by Rust's functions, which take a lock.
    unsafe { std::env::set_var("STRIDEWISE_KERNEL_CACHE", "") };
    let scenarios = scenarios::all();
    let chosen: Vec<&Scenario> = scenarios
        .iter()
        .filter(|scenario| {
            wanted.is_empty() || wanted.iter().any(|word| scenario.name.contains(word.as_str()))
        })
        .collect();
    // Before anything looks for an OpenCL runtime. Those devices that last as long as the process are the host's.
    let stub = Stub::load().unwrap();
    stub.set("devices", "0");
    let _ = stridewise::devices();
    stub.reset();
    end_where(&warm(&chosen, &stub));
    let mut wrong = Vec::new();
    let mut known = Vec::new();
    let (mut counts, begin) = (Counts::default(), Instant::now());
    for scenario in &chosen {
        match singles(scenario, &Fault::HOST, None, &mut counts) {
            Ok(most) => known.extend(most.into_iter().map(|(fault, n)| (*scenario, fault, n))),
            Err(what) => wrong.push(format!("{} on the host: {what}", scenario.name)),
        }
    }
    counts.tell("on the host, one by one", begin);
    wrong.extend(pairs(&known));
    wrong.extend(opencl(&chosen, &stub));
    end_where(&wrong);
    println!("{} scenarios: nothing lost, nothing stuck, nothing wrong", chosen.len());
}

/// Ends the process where something is wrong.
fn end_where(wrong: &[String]) {
    wrong.iter().for_each(|what| eprintln!("WRONG {what}"));
    if !wrong.is_empty() {
        std::process::exit(1);
    }
}

/// Runs what is chosen without failures, and notes which threads last.
fn warm(chosen: &[&Scenario], stub: &Stub) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut run = |scenario: &Scenario, bench: Bench, stub: Option<(&Stub, Live)>| {
        let place = if stub.is_some() { "OpenCL" } else { "the host" };
        let ended = match attempt(scenario, &bench) {
            Ok(None) => bench.end(stub),
            Ok(Some(error)) => Err(error.to_string()),
            Err(what) => Err(what),
        };
        wrong
            .extend(ended.err().map(|what| format!("{} on {place} without failures: {what}", scenario.name)));
    };
    for scenario in chosen {
        run(scenario, Bench::host(), None);
        if scenario.opencl {
            pretend(stub, "usm");
            let before = live(stub);
            run(scenario, Bench::opencl().unwrap(), Some((stub, before)));
        }
    }
    let mut resident = threads();
    // Threads that end are there for a moment.
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(2));
        resident = resident.min(threads());
    }
    RESIDENT.store(resident, Ordering::SeqCst);
    wrong
}

/// Makes the runtime one of a device that has every dtype, and memory of a form.
fn pretend(stub: &Stub, tier: &str) {
    stub.reset();
    stub.set("tier", tier);
    stub.set("fp16", "1");
}

/// Pairs of failures: two sorts at once, or two of one sort.
fn pairs(known: &[(&Scenario, Fault, u64)]) -> Vec<String> {
    let (mut counts, begin) = (Counts::default(), Instant::now());
    let mut random = Random(number("STRIDEWISE_FAULTS_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut wrong = Vec::new();
    let count = if known.is_empty() { 0 } else { number("STRIDEWISE_FAULTS_PAIRS", 400) };
    for _ in 0..count {
        let (scenario, fault, n) = known[random.below(known.len())];
        let of_it: Vec<(Fault, u64)> = known
            .iter()
            .filter(|(other, ..)| std::ptr::eq(*other, scenario))
            .map(|&(_, fault, n)| (fault, n))
            .collect();
        let (other, m) = of_it[random.below(of_it.len())];
        let failing = match fault == other {
            true => Failing::At(fault, [n, m]),
            false => Failing::Both([(fault, n), (other, m)]),
        };
        match run(scenario, failing, None) {
            Ok(outcome) => counts.add(&outcome),
            Err(what) => wrong.push(format!("{} with {failing:?}: {what}", scenario.name)),
        }
    }
    counts.tell("on the host, pairs", begin);
    wrong
}

/// The same as on the host on the stub of an OpenCL runtime, by form of its memory.
fn opencl(chosen: &[&Scenario], stub: &Stub) -> Vec<String> {
    // With another form of memory the runtime is called otherwise; the engine does the same.
    let tiers: &[(&str, &[Fault])] = match all() {
        true => &["usm", "fine", "coarse", "buffers"].map(|tier| (tier, &Fault::OPENCL[..])),
        false => &[("usm", &Fault::OPENCL), ("buffers", &[Fault::Runtime])],
    };
    let mut wrong = Vec::new();
    for &(tier, list) in tiers {
        let (mut counts, begin) = (Counts::default(), Instant::now());
        for scenario in chosen.iter().filter(|scenario| scenario.opencl) {
            pretend(stub, tier);
            if let Err(what) = singles(scenario, list, Some(stub), &mut counts) {
                wrong.push(format!("{} on OpenCL, {tier}: {what}", scenario.name));
            }
        }
        counts.tell(&format!("on the stub of an OpenCL runtime, {tier}"), begin);
    }
    wrong
}
