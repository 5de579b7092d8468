//! How many worker threads a host device has: what the environment says, else what the process may use.

use stridewise_core::{Error, Result};

/// Sets the number of worker threads of every host device.
pub(crate) const THREADS_VARIABLE: &str = "STRIDEWISE_NUM_THREADS";
/// More threads than this are taken for a typing error.
pub(crate) const MAX_THREADS: usize = 4096;

/// What the process may use of the machine (`available_parallelism` honours the affinity mask and the quota of control
/// groups).
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The variable's number, or where it is not set, or empty, what the process may use of the machine.
pub(crate) fn default_threads() -> Result<usize> {
    match std::env::var_os(THREADS_VARIABLE) {
        None => Ok(available_threads()),
        Some(text) => Ok(parse_threads(&text.to_string_lossy())?.unwrap_or_else(available_threads)),
    }
}

/// The number that a text is; `None` for one that is empty.
fn parse_threads(text: &str) -> Result<Option<usize>> {
    let number = text.trim();
    if number.is_empty() {
        return Ok(None);
    }
    let found = number.parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
    found.map(Some).ok_or_else(|| {
        Error::device_selection(
            format!("environment variable {THREADS_VARIABLE}"),
            format!("{text:?}"),
            format!("a number of worker threads, from 1 to {MAX_THREADS}"),
            "set it to the number of cores to use, or unset it for all that the process may use",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbers_in_range() {
        assert_eq!(parse_threads(" 8 ").unwrap(), Some(8));
        assert_eq!((parse_threads("").unwrap(), parse_threads(" ").unwrap()), (None, None));
        for bad in ["0", "-1", "many", "1.5", "5000", "\u{fffd}1"] {
            assert!(matches!(parse_threads(bad), Err(Error::DeviceSelection(_))), "{bad:?}");
        }
    }
}
