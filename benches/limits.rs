//! The memory limit of a row: the fastest form of the bare loop with the row's traffic.

use stridewise_host::limit::{Form, Probe, Traffic};

/// Bare loops at one footprint, each form timed in the rounds of a row.
pub(crate) struct Limit {
    probe: Probe,
    traffic: Traffic,
    forms: Vec<Form>,
}

impl Limit {
    pub(crate) fn new(len: usize, threads: usize, traffic: Traffic) -> stridewise::Result<Self> {
        let probe = Probe::new(len, threads)?;
        let forms = probe.forms(traffic);
        Ok(Self { probe, traffic, forms })
    }

    pub(crate) fn forms(&self) -> usize {
        self.forms.len()
    }

    pub(crate) fn run(&mut self, form: usize, passes: usize) {
        std::hint::black_box(self.probe.run(self.traffic, self.forms[form], passes));
    }
}
