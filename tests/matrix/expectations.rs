//! What is known to fail, and why. A row whose tests pass again is an error: it must go.

/// A known failure.
pub(crate) struct Expectation {
    /// Devices, by filter string; `*` stands for any text.
    pub(crate) device: &'static str,
    /// Tests, by name without the device; `*` stands for any text.
    pub(crate) test: &'static str,
    /// Why they fail.
    pub(crate) reason: &'static str,
}

/// The known failures.
pub(crate) const EXPECTED_FAILURES: &[Expectation] = &[];
