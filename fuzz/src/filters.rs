//! Filter strings, of any text.

use stridewise::{Device, Filter, FilterTerm};

use crate::random::Rng;

const BACKENDS: [&str; 3] = ["host", "opencl", "null"];

pub(crate) fn run(data: &[u8]) {
    // The text itself where it is one, else one of pieces that occur in filter strings.
    match std::str::from_utf8(data) {
        Ok(text) => one(text),
        Err(_) => {
            let mut rng = Rng::new(data);
            let mut text = String::new();
            while !rng.is_used_up() {
                text.push_str(rng.pick::<&str>(&[
                    ":",
                    ",",
                    " ",
                    "host",
                    "opencl",
                    "cpu",
                    "gpu",
                    "avx2",
                    "0",
                    "1",
                    "007",
                    "x_1",
                    "",
                    "é",
                    "18446744073709551615",
                    "18446744073709551616",
                ]));
            }
            one(&text);
        }
    }
}

/// The grammar, written down once more: up to three parts, of which the last may be a number; a name in front of another
/// one, or in front of two parts, is a backend's, and so is a first one that a backend has.
fn term(text: &str) -> Option<FilterTerm> {
    let is_name = |part: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        part.bytes().all(known) && !part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut parts: Vec<&str> = text.trim().split(':').collect();
    if parts.len() > 3 {
        return None;
    }
    let whole = parts.len() == 3;
    let index = match parts.last().filter(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    {
        Some(number) => {
            let number = number.parse().ok()?;
            parts.pop();
            Some(number)
        }
        None => None,
    };
    if parts.iter().any(|part| !is_name(part)) {
        return None;
    }
    let owned = |part: &str| Some(part.to_owned());
    match (parts[..].as_ref(), index) {
        ([], Some(_)) => Some(FilterTerm { backend: None, kind: None, index }),
        ([only], _) if BACKENDS.contains(only) => {
            Some(FilterTerm { backend: owned(only), kind: None, index })
        }
        ([only], _) => Some(FilterTerm { backend: None, kind: owned(only), index }),
        ([backend, kind], _) if index.is_some() == whole => {
            Some(FilterTerm { backend: owned(backend), kind: owned(kind), index })
        }
        _ => None,
    }
}

fn one(text: &str) {
    let expected: Option<Vec<FilterTerm>> = text.split(',').map(term).collect();
    let made = Filter::parse(text, &BACKENDS);
    match (&made, &expected) {
        (Ok(filter), Some(terms)) => assert_eq!(&filter.terms, terms, "{text:?}"),
        (Err(error), None) => {
            let message = error.to_string();
            assert!(message.contains("filter") && message.contains("help: "), "{message}");
        }
        _ => panic!("{text:?}: {made:?}, expected {expected:?}"),
    }
    // The machine's own devices.
    if let Ok(device) = Device::select(text) {
        assert!(made.is_ok(), "{text:?} selects {device}");
        let again = Device::select(&device.filter_string()).unwrap();
        assert_eq!(again, device, "{text:?}");
    }
}
