//! As a flow chart of Mermaid: arrays and passes, from the bottom to the top.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Explanation, Touched, text};

/// Text between quotation marks of Mermaid.
fn label(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('`', "'")
}

/// An identifier of an array: names are the caller's.
fn identifier(name: &str) -> String {
    let safe = |each: char| {
        if each.is_ascii_alphanumeric() { each.to_string() } else { format!("_{:x}", u32::from(each)) }
    };
    format!("a_{}", name.chars().map(safe).collect::<String>())
}

pub(super) fn written(of: &Explanation) -> String {
    let mut chart = "flowchart BT\n".to_owned();
    let mut drawn = BTreeSet::new();
    let mut arrays = |chart: &mut String, of: &Touched| {
        let identifier = identifier(&of.name);
        if drawn.insert(identifier.clone()) {
            let what = text::array(of.dtype, &of.shape);
            let _ = writeln!(chart, "  {identifier}[(\"{}<br/>{}\")]", label(&of.name), label(&what));
        }
        identifier
    };
    for (number, pass) in of.passes.iter().enumerate() {
        let parts: Vec<String> = pass.parts.iter().take(12).map(|part| label(&text::part(part))).collect();
        let ends = label(pass.cut.reason());
        let _ = writeln!(
            chart,
            "  p{number}[\"pass {}<br/>{}<br/>ends here: {ends}\"]",
            number + 1,
            parts.join("<br/>")
        );
        for read in &pass.reads {
            let from = arrays(&mut chart, read);
            let _ = writeln!(chart, "  {from} -->|{}| p{number}", text::bytes(read.bytes));
        }
        for write in &pass.writes {
            let to = arrays(&mut chart, write);
            let _ = writeln!(chart, "  p{number} -->|{}| {to}", text::bytes(write.bytes));
        }
    }
    if of.passes.is_empty() {
        let _ = writeln!(chart, "  a[(\"{}<br/>in memory\")]", label(&of.subject));
    }
    chart
}
