//! Filter strings: `backend:type:index`, each part optional; a comma list takes the first that matches
//! (SYCL's `sycl_ext_oneapi_filter_selector`, as dpctl accepts it).

use std::str::FromStr;

use crate::error::{Error, Result};

/// A parsed filter string.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The alternatives, in order of preference.
    pub terms: Vec<FilterTerm>,
}

/// One alternative of a filter string.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FilterTerm {
    /// Name of a driver.
    pub backend: Option<String>,
    /// `cpu`, `gpu`, `accelerator`, or the name of a device's variant (`avx2`).
    pub kind: Option<String>,
    /// Number among the devices that the other parts leave.
    pub index: Option<usize>,
}

impl Filter {
    /// Parses a filter string, given the names of the drivers that are there.
    ///
    /// # Errors
    /// [`Error::DeviceSelection`] for an empty string or term, or one of more than three parts or in a wrong order.
    pub fn parse(text: &str, backends: &[&str]) -> Result<Self> {
        let terms = text.split(',').map(|term| FilterTerm::parse(text, term.trim(), backends));
        Ok(Self { terms: terms.collect::<Result<_>>()? })
    }
}

impl FilterTerm {
    fn parse(text: &str, term: &str, backends: &[&str]) -> Result<Self> {
        let refuse = |why: &'static str| {
            Err(Error::device_selection(
                "filter",
                format!("{text:?} ({why})"),
                "backend:type:index, each part optional, or a comma-separated list of such",
                "write for example \"host\", \"cpu\", \"host:cpu:0\", \"host:avx2\" or \"gpu,cpu\"",
            ))
        };
        let mut found = Self::default();
        let parts: Vec<&str> = term.split(':').collect();
        if term.is_empty() {
            return refuse("empty");
        }
        if parts.len() > 3 {
            return refuse("more than three parts");
        }
        for (position, part) in parts.iter().enumerate() {
            let rank = (found.backend.is_some(), found.kind.is_some(), found.index.is_some());
            if part.is_empty() {
                return refuse("an empty part");
            } else if part.bytes().all(|b| b.is_ascii_digit()) {
                let Ok(index) = usize::from_str(part) else { return refuse("an index out of range") };
                if rank.2 {
                    return refuse("two indices");
                }
                found.index = Some(index);
            } else if !part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return refuse("a part that is neither a name nor a number");
            } else if position == 0 && (backends.contains(part) || parts.len() == 3) {
                found.backend = Some((*part).to_owned());
            } else if rank.1 || rank.2 {
                return refuse("parts in a wrong order");
            } else if position == 0
                && !matches!(parts.get(1), None | Some(&""))
                && !parts[1].bytes().all(|b| b.is_ascii_digit())
            {
                // Two names: the first must be a backend, known or not.
                found.backend = Some((*part).to_owned());
            } else {
                found.kind = Some((*part).to_owned());
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(text: &str) -> Result<FilterTerm> {
        Ok(Filter::parse(text, &["host", "opencl"])?.terms.remove(0))
    }

    #[test]
    fn every_part_is_optional() {
        let full = |b: Option<&str>, k: Option<&str>, index| FilterTerm {
            backend: b.map(str::to_owned),
            kind: k.map(str::to_owned),
            index,
        };
        assert_eq!(term("host:cpu:0").unwrap(), full(Some("host"), Some("cpu"), Some(0)));
        assert_eq!(term("opencl:gpu").unwrap(), full(Some("opencl"), Some("gpu"), None));
        assert_eq!(term("cuda:gpu").unwrap(), full(Some("cuda"), Some("gpu"), None));
        assert_eq!(term("host").unwrap(), full(Some("host"), None, None));
        assert_eq!(term("host:1").unwrap(), full(Some("host"), None, Some(1)));
        assert_eq!(term("cpu:1").unwrap(), full(None, Some("cpu"), Some(1)));
        assert_eq!(term("gpu").unwrap(), full(None, Some("gpu"), None));
        assert_eq!(term("0").unwrap(), full(None, None, Some(0)));
        assert_eq!(Filter::parse("gpu, host", &["host"]).unwrap().terms.len(), 2);
    }

    #[test]
    fn wrong_strings_are_refused_by_name() {
        for bad in [
            "",
            ",",
            "host:",
            ":",
            "host::0",
            "-1",
            "host:cpu:0:0",
            "0:host",
            "0:0",
            "cpu:gpu:host:1",
            "a b",
            "99999999999999999999",
        ] {
            let error = term(bad).unwrap_err().to_string();
            assert!(error.contains("filter") && error.contains(bad), "{bad}: {error}");
        }
    }
}
