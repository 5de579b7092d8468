//! The memory limit of a row: the fastest form of the bare loop with the row's traffic.

use std::cell::RefCell;
use std::time::Instant;

use rayon::prelude::*;
use stridewise::{Array, Error};
use stridewise_limit::{CHUNK, Traffic, pass};

use crate::measure::Contender;

/// Bare loops at one footprint, each form timed in the rounds of a row.
pub(crate) struct Limit {
    probe: RefCell<Probe>,
    forms: Vec<Form>,
    bytes: usize,
}

impl Limit {
    /// The limit of work that moves so many bytes: the arrays of the loop are as large together.
    pub(crate) fn new(bytes: usize, threads: usize, traffic: Traffic) -> stridewise::Result<Self> {
        let len = (bytes / (traffic.arrays() * size_of::<f32>())).max(1);
        let probe = Probe::new(traffic, len, threads)?;
        let forms = probe.forms();
        let bytes = len * traffic.arrays() * size_of::<f32>();
        Ok(Self { probe: RefCell::new(probe), forms, bytes })
    }

    /// Bytes that one pass moves.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Each form: on one thread and on all, with both kinds of stores.
    pub(crate) fn contenders(&self) -> impl Iterator<Item = Contender<'_>> {
        self.forms.iter().map(move |&form| {
            Contender::new("limit", move |passes| {
                let begin = Instant::now();
                std::hint::black_box(self.probe.borrow_mut().run(form, passes)?);
                Ok(begin.elapsed().as_secs_f64())
            })
        })
    }
}

/// How a loop is run.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// On all threads.
    parallel: bool,
    /// With non-temporal stores.
    streaming: bool,
}

/// Arrays and threads for the loops of one traffic and footprint.
struct Probe {
    traffic: Traffic,
    read: Vec<Array<f32>>,
    written: Vec<Array<f32>>,
    pool: rayon::ThreadPool,
}

impl Probe {
    /// Arrays of `len` elements each, in the memory that the engine's own have, written once so that their pages are there.
    fn new(traffic: Traffic, len: usize, threads: usize) -> stridewise::Result<Self> {
        // Left to the system, both of two threads may run on one processor for as long as a measurement takes.
        let cores = core_affinity::get_core_ids().filter(|cores| cores.len() == threads).unwrap_or_default();
        let bind = move |thread: usize| {
            if let Some(core) = cores.get(thread) {
                core_affinity::set_for_current(*core);
            }
        };
        let builder = rayon::ThreadPoolBuilder::new().num_threads(threads).start_handler(bind);
        let pool = builder.build().map_err(|error| {
            Error::unsupported("threads", threads, "as many as can be started", error.to_string())
        })?;
        let arrays = |count: usize| -> stridewise::Result<Vec<Array<f32>>> {
            // Not 0: lines of zeros are written faster on some processors.
            (0..count).map(|number| Array::full([len], 1.0 + number as f32)).collect()
        };
        let (read, written) = traffic.parts();
        Ok(Self { traffic, read: arrays(read)?, written: arrays(written)?, pool })
    }

    /// The forms of the loop: on one thread or all, with ordinary or non-temporal stores.
    fn forms(&self) -> Vec<Form> {
        let threads: &[bool] = if self.pool.current_num_threads() > 1 { &[false, true] } else { &[false] };
        let streaming: &[bool] = if self.written.is_empty() { &[false] } else { &[false, true] };
        threads
            .iter()
            .flat_map(|&parallel| streaming.iter().map(move |&streaming| Form { parallel, streaming }))
            .collect()
    }

    /// Runs one form of the loop over the arrays `passes` times; returns a value that depends on what was read. Threads
    /// are called once, and each stays with its part, so that this is the memory's limit and not the pool's.
    fn run(&mut self, form: Form, passes: usize) -> stridewise::Result<f32> {
        let traffic = self.traffic;
        let repeat = |mut part: Part<'_>| -> f32 {
            (0..passes)
                .map(|_| std::hint::black_box(pass(traffic, form.streaming, &part.read, &mut part.written)))
                .sum()
        };
        let read = self.read.iter().map(Array::view).collect::<stridewise::Result<Vec<_>>>()?;
        let mut written =
            self.written.iter_mut().map(Array::view_mut).collect::<stridewise::Result<Vec<_>>>()?;
        let threads = if form.parallel { self.pool.current_num_threads() } else { 1 };
        let len = read.first().map_or_else(|| written[0].len(), |array| array.len());
        let chunk = len.div_ceil(threads).next_multiple_of(CHUNK).max(CHUNK);
        let mut parts: Vec<Part<'_>> = (0..len.div_ceil(chunk)).map(|_| Part::default()).collect();
        for slice in read.iter().filter_map(|array| array.as_slice()) {
            for (part, chunk) in parts.iter_mut().zip(slice.chunks(chunk)) {
                part.read.push(chunk);
            }
        }
        for slice in written.iter_mut().filter_map(|array| array.as_mut_slice()) {
            for (part, chunk) in parts.iter_mut().zip(slice.chunks_mut(chunk)) {
                part.written.push(chunk);
            }
        }
        Ok(if form.parallel {
            self.pool.install(|| parts.into_par_iter().map(repeat).sum())
        } else {
            parts.into_iter().map(repeat).sum()
        })
    }
}

/// A thread's part of the arrays, all of one length.
#[derive(Default)]
struct Part<'a> {
    read: Vec<&'a [f32]>,
    written: Vec<&'a mut [f32]>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn each_thread_has_a_processor_of_its_own() {
        let cpus: BTreeSet<usize> =
            core_affinity::get_core_ids().unwrap().iter().map(|core| core.id).collect();
        let probe = Probe::new(Traffic::Copy, 64, cpus.len()).unwrap();
        // A bound thread sees the processors that it is bound to.
        let bound = probe.pool.broadcast(|_| core_affinity::get_core_ids().unwrap());
        assert!(bound.iter().all(|cores| cores.len() == 1), "{bound:?}");
        assert_eq!(bound.iter().map(|cores| cores[0].id).collect::<BTreeSet<_>>(), cpus);
    }

    #[test]
    fn threads_share_all_elements_out() {
        for (len, threads) in [(1, 1), (17, 2), (CHUNK, 2), (5 * CHUNK + 19, 3)] {
            let mut probe = Probe::new(Traffic::Triad, len, threads).unwrap();
            for form in probe.forms() {
                probe.written[0].view_mut().unwrap().as_mut_slice().unwrap().fill(-1.0);
                probe.run(form, 1).unwrap();
                assert_eq!(probe.written[0].to_vec().unwrap(), vec![3.0; len], "{form:?} {len}");
            }
        }
    }
}
