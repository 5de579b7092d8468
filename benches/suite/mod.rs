//! The rows, by family: what each computes, what it has to move, and how Rust's other libraries compute it. The peers in
//! processes of their own know a row by its operation and layout.

mod data;
mod elementwise;
mod functions;
mod fused;
mod layouts;
mod movement;
mod numerics;
mod programs;
mod reductions;
mod selection;

use std::hint::black_box;

use data::{Ours, Real, Rust};
pub(crate) use data::{Sample, values};
use stridewise::{Queue, f16};
use stridewise_limit::Traffic;

use crate::limits::Limit;
use crate::measure::{Contender, Effort, OURS, Outcome, Samples, interleave};
use crate::peers::Peers;
use crate::row::{self, ONE_THREAD, Row};

/// Elements: calls count; then the first-level, the second-level and the third-level cache; then memory. Square numbers.
const SIZES: [usize; 6] = [16, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];
/// Sizes of a quick run.
const QUICK_SIZES: [usize; 2] = [16, 1 << 20];
/// The largest size of other types than `float32`: that of all peers' arrays together is gigabytes.
const MAX_OTHER: usize = 16 << 20;
/// The smallest size of types that have a few rows only.
const MIN_FEW: usize = 64 << 10;

/// Elements of the rows of functions: operands and results are in the second-level cache, and in no first-level one.
const FUNCTIONS_SIZE: usize = 16 << 10;

/// Elements of the rows of programs.
const PROGRAM_SIZES: [usize; 2] = [64 << 10, 1 << 20];

/// How often a full run goes through all rows: where other programs take the processor or the memory for a minute, that is
/// a part of a row's samples, not most of them.
pub(crate) const PASSES: usize = 3;

/// Rows that peers compute with a BLAS.
const BLAS: [&str; 10] = ["dot", "norm", "matmul", "solve", "inv", "cholesky", "qr", "svd", "eigh", "eig"];

/// One run over some arrays.
type OurRun<T> = Box<dyn Fn(&mut Ours<T>) -> stridewise::Result<()>>;
type RustRun<T> = Box<dyn Fn(&mut Rust<T>)>;

/// A row.
struct Case<T: Sample> {
    op: &'static str,
    layout: &'static str,
    /// The bare loop that it is compared with.
    traffic: Traffic,
    /// Bytes that are to be read once and written once, for each element.
    bytes: usize,
    /// Scalar operations for each element.
    operations: usize,
    /// Elements up to which it is a row.
    most: usize,
    ours: OurRun<T>,
    rust: Vec<(&'static str, RustRun<T>)>,
}

impl<T: Sample> Case<T> {
    fn new(
        (op, layout): (&'static str, &'static str),
        traffic: Traffic,
        bytes: usize,
        operations: usize,
        ours: impl Fn(&mut Ours<T>) -> stridewise::Result<()> + 'static,
    ) -> Self {
        Self {
            op,
            layout,
            traffic,
            bytes,
            operations,
            most: usize::MAX,
            ours: Box::new(ours),
            rust: Vec::new(),
        }
    }

    /// A row of no more than so many elements.
    fn up_to(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// With a Rust peer.
    fn against(mut self, name: &'static str, run: impl Fn(&mut Rust<T>) + 'static) -> Self {
        self.rust.push((name, Box::new(run)));
        self
    }
}

/// A result that nothing but the clock asks for.
fn keep<R>(result: R) {
    drop(black_box(result));
}

/// All rows of a floating type.
fn real_cases<T: Real>() -> Vec<Case<T>> {
    [
        elementwise::cases(),
        layouts::cases(),
        movement::cases(),
        reductions::cases(),
        fused::cases(),
        selection::cases(),
        numerics::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What the rows are run with.
pub(crate) struct Suite {
    pub(crate) queue: Queue,
    /// A queue of a device with one thread; the same where that has no more.
    pub(crate) single: Queue,
    /// Whether the two take turns in each row.
    pub(crate) scaling: bool,
    pub(crate) threads: usize,
    pub(crate) filter: String,
    pub(crate) quick: bool,
    /// How often a run that is not quick goes through all rows.
    pub(crate) passes: usize,
    /// Elements of the largest rows.
    pub(crate) most: usize,
    pub(crate) peers: Peers,
}

/// Where rows are run.
struct Place<'a> {
    queue: &'a Queue,
    threads: usize,
    /// What takes turns with it.
    single: Option<&'a Queue>,
}

/// What was measured of a row.
struct Measured {
    /// With what the samples come to left out.
    row: Row,
    /// Bytes that are to be read once and written once.
    bytes: usize,
    /// Bytes that the bare loops move.
    limit_bytes: usize,
    /// The bare loops, as the first; the engine; and its peers.
    samples: Vec<(String, Samples)>,
    /// How many bare loops there are.
    forms: usize,
}

impl Measured {
    /// With what another pass has measured of the same row.
    fn join(&mut self, other: Self) {
        for ((_, mine), (_, new)) in self.samples.iter_mut().zip(other.samples) {
            mine.join(new);
        }
    }

    fn row(&self) -> Outcome<Row> {
        let failed = || format!("{} failed", self.row.name());
        let (limits, rest) = self.samples.split_at(self.forms);
        let ((_, own), others) = rest.split_first().ok_or("ours is missing")?;
        let seconds = own.median().ok_or_else(failed)?;
        let fastest = limits.iter().filter_map(|(_, form)| Some((form, form.median()?)));
        let fastest = fastest.min_by(|(_, a), (_, b)| a.total_cmp(b));
        let (fastest, limit_seconds) = fastest.ok_or_else(failed)?;
        let share = fastest.times(own).ok_or_else(failed)? * self.bytes as f64 / self.limit_bytes as f64;
        let peers = others.iter().filter_map(|(name, samples)| Some((name.clone(), samples.median()?)));
        Ok(Row {
            seconds,
            gbs: self.bytes as f64 / seconds / 1e9,
            limit_gbs: self.limit_bytes as f64 / limit_seconds / 1e9,
            ratio: share,
            peers: peers.collect(),
            ..self.row.clone()
        })
    }
}

/// The rows of a pass, in the order of every pass.
struct Rows<'a> {
    /// What passes before measured of those to come.
    known: std::vec::IntoIter<Measured>,
    all: &'a mut Vec<Measured>,
    /// Whether no other pass comes.
    last: bool,
}

impl Rows<'_> {
    /// Adds what was measured of the next row, and prints what all passes did, of the last one.
    fn push(&mut self, new: Measured) -> Outcome<()> {
        let row = match self.known.next() {
            Some(mut row) => {
                row.join(new);
                row
            }
            None => new,
        };
        if self.last {
            println!("{}", row.row()?);
        }
        self.all.push(row);
        Ok(())
    }
}

impl Suite {
    /// Runs all rows, and prints each as soon as it is there.
    pub(crate) fn run(&self) -> Outcome<Vec<Row>> {
        let passes = if self.quick { 1 } else { self.passes };
        let mut all = Vec::new();
        for pass in 1..=passes {
            if passes > 1 {
                eprintln!("pass {pass} of {passes}");
            }
            self.pass(&mut all, pass == passes)?;
        }
        all.iter().map(Measured::row).collect()
    }

    /// Measures all rows and adds what came of it to what was measured `before`.
    fn pass(&self, before: &mut Vec<Measured>, last: bool) -> Outcome<()> {
        let mut rows = Rows { known: std::mem::take(before).into_iter(), all: before, last };
        let sizes = if self.quick { &QUICK_SIZES[..] } else { &SIZES };
        let single = self.scaling.then_some(&self.single);
        let all = Place { queue: &self.queue, threads: self.threads, single };
        for &n in sizes {
            self.rows(&real_cases::<f32>(), n, &all, &mut rows)?;
            if self.quick || n > MAX_OTHER {
                continue;
            }
            self.rows(&real_cases::<f64>(), n, &all, &mut rows)?;
            if n >= MIN_FEW {
                self.rows(&elementwise::int_and_float::<f64>(), n, &all, &mut rows)?;
                self.rows(&elementwise::few::<i32>(), n, &all, &mut rows)?;
                self.rows(&selection::few::<i32>(), n, &all, &mut rows)?;
                self.rows(&elementwise::few::<i8>(), n, &all, &mut rows)?;
                self.rows(&selection::short::<i8>(), n, &all, &mut rows)?;
                self.rows(&selection::short::<i16>(), n, &all, &mut rows)?;
                self.rows(&selection::short::<f16>(), n, &all, &mut rows)?;
                self.rows(&elementwise::few::<f16>(), n, &all, &mut rows)?;
            }
        }
        self.rows(&numerics::stacks::<f64>(), numerics::STACK, &all, &mut rows)?;
        for &n in &PROGRAM_SIZES {
            self.rows(&programs::cases(), n, &all, &mut rows)?;
        }
        if !self.quick {
            for &n in &numerics::FACTORS {
                self.rows(&numerics::products::<f32>(), n, &all, &mut rows)?;
                self.rows(&numerics::products::<f64>(), n, &all, &mut rows)?;
            }
            for &n in &numerics::MATRICES {
                self.rows(&numerics::matrices::<f64>(), n, &all, &mut rows)?;
            }
            for &n in &numerics::POINTS {
                self.rows(&numerics::transforms::<f32>(), n, &all, &mut rows)?;
                self.rows(&numerics::transforms::<f64>(), n, &all, &mut rows)?;
            }
            self.rows(&numerics::prime::<f64>(), numerics::AROUND_PRIME, &all, &mut rows)?;
            self.rows(&numerics::stacks::<f32>(), numerics::STACK, &all, &mut rows)?;
            let one = Place { queue: &self.single, threads: 1, single: None };
            self.rows(&functions::with_rten(functions::cases()), FUNCTIONS_SIZE, &one, &mut rows)?;
            self.rows(&functions::cases::<f64>(), FUNCTIONS_SIZE, &one, &mut rows)?;
        }
        Ok(())
    }

    fn rows<T: Sample>(
        &self,
        cases: &[Case<T>],
        n: usize,
        place: &Place<'_>,
        rows: &mut Rows<'_>,
    ) -> Outcome<()> {
        let wanted = |case: &&Case<T>| {
            n <= case.most.min(self.most)
                && row::name(case.op, case.layout, &T::DTYPE.to_string(), n).contains(&self.filter)
        };
        let wanted: Vec<&Case<T>> = cases.iter().filter(wanted).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut ours = Ours::new(place.queue, n)?;
        let mut single = place.single.map(|queue| Ours::new(queue, n)).transpose()?;
        let mut rust = Rust::new(n);
        for case in wanted {
            rows.push(self.measure(case, n, place, &mut ours, single.as_mut(), &mut rust)?)?;
        }
        Ok(())
    }

    fn measure<T: Sample>(
        &self,
        case: &Case<T>,
        n: usize,
        place: &Place<'_>,
        ours: &mut Ours<T>,
        single: Option<&mut Ours<T>>,
        rust: &mut Rust<T>,
    ) -> Outcome<Measured> {
        let bytes = n * case.bytes;
        let dtype = T::DTYPE.to_string();
        let limit = Limit::new(bytes, place.threads, case.traffic)?;
        let rust = std::cell::RefCell::new(rust);
        let mut contenders: Vec<Contender<'_>> = limit.contenders().collect();
        let forms = contenders.len();
        contenders.push(Contender::timed(OURS, || Ok((case.ours)(ours)?)));
        if let Some(single) = single {
            contenders.push(Contender::timed(ONE_THREAD, || Ok((case.ours)(single)?)));
        }
        for (name, run) in &case.rust {
            contenders.push(Contender::timed(*name, || {
                run(&mut rust.borrow_mut());
                Ok(())
            }));
        }
        contenders.extend(self.peers.contenders(case.op, case.layout, &dtype, n));
        let mut effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        if BLAS.contains(&case.op) {
            effort.pause = Effort::LONG_PAUSE;
        }
        let samples = interleave(&mut contenders, effort);

        let row = Row {
            op: case.op.to_owned(),
            dtype,
            n,
            layout: case.layout.to_owned(),
            device: place.queue.device().to_string(),
            threads: place.threads,
            operations: case.operations,
            ..Row::default()
        };
        let names = contenders.iter().map(|contender| contender.name.clone());
        let samples = names.zip(samples).collect();
        Ok(Measured { row, bytes, limit_bytes: limit.bytes(), samples, forms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_that_the_python_peers_know() {
        let script = include_str!("../peers/worker.py");
        let names = |cases: Vec<(&str, &str)>| {
            cases.iter().map(|(op, layout)| format!("(\"{op}\", \"{layout}\"):")).collect::<Vec<_>>()
        };
        let mut all = names(real_cases::<f32>().iter().map(|case| (case.op, case.layout)).collect());
        all.extend(names(
            elementwise::int_and_float::<f64>().iter().map(|case| (case.op, case.layout)).collect(),
        ));
        all.extend(names(functions::cases::<f64>().iter().map(|case| (case.op, case.layout)).collect()));
        let mut rest = numerics::matrices::<f64>();
        rest.extend([numerics::stacks(), numerics::transforms(), numerics::prime()].into_iter().flatten());
        all.extend(names(rest.iter().map(|case| (case.op, case.layout)).collect()));
        // NumPy has no error function.
        let programs = programs::cases();
        let programs = programs.iter().filter(|case| case.op != "Black-Scholes");
        all.extend(names(programs.map(|case| (case.op, case.layout)).collect()));
        let unknown: Vec<_> = all.iter().filter(|name| !script.contains(*name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        let few = elementwise::few::<i32>().into_iter().chain(selection::few::<i32>());
        let few = few.chain(selection::short::<i32>());
        let few = names(few.map(|case| (case.op, case.layout)).collect());
        assert!(few.iter().all(|name| all.contains(name)), "{few:?}");
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn sizes_are_square_numbers() {
        let numerics = numerics::MATRICES.iter().chain(&numerics::FACTORS).chain(&numerics::POINTS);
        let numerics = numerics.chain(&[numerics::STACK, numerics::AROUND_PRIME, FUNCTIONS_SIZE]);
        let all = SIZES.iter().chain(&QUICK_SIZES).chain(&PROGRAM_SIZES).chain(numerics);
        assert!(all.into_iter().all(|n| n.isqrt().pow(2) == *n));
    }
}
