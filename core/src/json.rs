//! Pieces of JSON.

use std::fmt::Write as _;

/// A string of JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for each in text.chars() {
        match each {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            each if u32::from(each) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(each));
            }
            each => quoted.push(each),
        }
    }
    quoted.push('"');
    quoted
}

/// What makes a list of values.
pub(crate) trait List {
    /// The list of values that are JSON already.
    fn list(self) -> String;
}

impl<I: Iterator<Item = String>> List for I {
    fn list(self) -> String {
        let mut text = "[".to_owned();
        for (number, value) in self.enumerate() {
            if number > 0 {
                text.push(',');
            }
            text.push_str(&value);
        }
        text.push(']');
        text
    }
}
