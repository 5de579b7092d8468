//! The memory limit of a row: the fastest form of the bare loop with the row's traffic.

use std::cell::RefCell;
use std::time::Instant;

use stridewise_host::limit::{Form, Probe, Traffic};

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
                std::hint::black_box(self.probe.borrow_mut().run(form, passes));
                Ok(begin.elapsed().as_secs_f64())
            })
        })
    }
}
