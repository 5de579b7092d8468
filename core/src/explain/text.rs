//! As a tree, to be read from the bottom.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::{Explanation, Measured, Part, Pass, Touched};
use crate::dtype::Dtype;

/// `float32 (1000, 1000)`.
pub(super) fn array(dtype: Option<Dtype>, shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    let shape = match &extents[..] {
        [one] => format!("({one},)"),
        several => format!("({})", several.join(", ")),
    };
    dtype.map_or_else(|| shape.clone(), |dtype| format!("{dtype} {shape}"))
}

/// `8.0 MB`.
pub(super) fn bytes(bytes: usize) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let of = bytes as f64;
    match units.into_iter().find(|(unit, _)| of >= *unit) {
        Some((unit, name)) => format!("{:.1} {name}", of / unit),
        None => format!("{bytes} bytes"),
    }
}

/// `1.2 ms`.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        _ if seconds >= 1.0 => format!("{seconds:.2} s"),
        _ if seconds >= 1e-3 => format!("{:.2} ms", seconds * 1e3),
        _ => format!("{:.1} µs", seconds * 1e6),
    }
}

/// `map over (1000000,): multiply, add`.
pub(super) fn part(part: &Part) -> String {
    let mut text = part.kind.clone();
    if !part.extents.is_empty() {
        let _ = write!(text, " over {}", array(None, &part.extents));
    }
    if !part.operations.is_empty() {
        let _ = write!(text, ": {}", part.operations.join(", "));
    }
    text
}

/// `x float32 (1000,), 4.0 kB`.
pub(super) fn touched(of: &Touched) -> String {
    let held = if of.held { ", held by a variable" } else { "" };
    let shown = if of.dtype.is_some() { format!(" {}", array(of.dtype, &of.shape)) } else { String::new() };
    format!("{}{shown}, {}{held}", of.name, bytes(of.bytes))
}

/// Who runs it.
pub(super) fn way(pass: &Pass) -> String {
    let way = &pass.way;
    let mut text = String::new();
    if pass.at_once {
        text.push_str(
            "by the calling thread without a submission, where nothing is under way on what it reads; else ",
        );
    }
    let road = if way.road.is_empty() { "the device" } else { &way.road };
    let _ = write!(text, "by {road}");
    if way.threads > 1 {
        let _ = write!(text, " of {} threads", way.threads);
    }
    if !way.kernel.is_empty() {
        let _ = write!(text, ", {}", way.kernel);
    }
    match way.compiled {
        Some(true) => text.push_str(", compiled"),
        Some(false) => text.push_str(", to be compiled first"),
        None => {}
    }
    text
}

fn estimate(pass: &Pass, limit: Option<f64>) -> Option<String> {
    match (limit, pass.way.estimate) {
        (Some(limit), _) => {
            Some(format!("at least {} at {:.1} GB/s", time(pass.least_time(limit)), limit / 1e9))
        }
        (None, Some(own)) => Some(format!("about {} of one thread", time(own))),
        (None, None) => None,
    }
}

fn measured(pass: &Pass, of: &Measured, limit: Option<f64>) -> String {
    let rate = pass.bytes() as f64 / of.time.as_secs_f64().max(1e-9);
    let mut text = format!("took {}, {:.2} GB/s", time(of.time), rate / 1e9);
    if let Some(limit) = limit {
        let _ = write!(text, ", {:.0} % of the limit", 100.0 * rate / limit);
    }
    if of.threads > 0 {
        let _ = write!(text, "; {} thread{}", of.threads, if of.threads == 1 { "" } else { "s" });
    }
    if of.waited > Duration::ZERO {
        let _ = write!(text, "; waited {}", time(of.waited));
    }
    if !of.waited_for.is_empty() {
        let _ = write!(text, " for {}", of.waited_for.join(", "));
    }
    if of.compiled > Duration::ZERO {
        let _ = write!(text, "; {} to compile it", time(of.compiled));
    }
    text
}

pub(super) fn write(of: &Explanation, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{} on {}", of.subject, of.queue)?;
    if of.passes.is_empty() {
        f.write_str("in memory, or under way: nothing is recorded")?;
        if let Some(cut) = of.computed {
            write!(f, "; it was computed by itself because {}", cut.reason())?;
        }
        return writeln!(f);
    }
    writeln!(f, "{} passes, {}; read it from the bottom", of.passes.len(), bytes(of.bytes()))?;
    let mut drawn = vec![false; of.passes.len()];
    if let Some(whole) = &of.measured {
        writeln!(f, "took {} in all", time(whole.time))?;
    }
    // The last pass is the root; passes that nothing below it reads stand beside it.
    for number in (0..of.passes.len()).rev() {
        if !drawn[number] {
            tree(of, number, "", true, &mut drawn, f)?;
        }
    }
    Ok(())
}

fn tree(
    of: &Explanation,
    number: usize,
    indent: &str,
    last: bool,
    drawn: &mut [bool],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    drawn[number] = true;
    let pass = &of.passes[number];
    let inner = format!("{indent}{}", if last { "   " } else { "│  " });
    writeln!(f, "{indent}{} pass {} of {}", if last { "└─" } else { "├─" }, number + 1, of.passes.len())?;
    let several = pass.parts.len() > 1;
    for (place, each) in pass.parts.iter().enumerate() {
        let stage = if several { format!("{}. ", each.stage + 1) } else { String::new() };
        if place < 12 {
            writeln!(f, "{inner}   {stage}{}", part(each))?;
        }
    }
    for (what, arrays) in [("writes", &pass.writes), ("reads", &pass.reads)] {
        let names: Vec<String> = arrays.iter().map(touched).collect();
        let names = if names.is_empty() { "nothing".to_owned() } else { names.join("; ") };
        writeln!(f, "{inner}   {what} {names}")?;
    }
    let estimate = estimate(pass, of.limit).map_or_else(String::new, |text| format!("; {text}"));
    writeln!(f, "{inner}   {}{estimate}", way(pass))?;
    if let Some(of_run) = &pass.measured {
        writeln!(f, "{inner}   {}", measured(pass, of_run, of.limit))?;
    }
    write!(f, "{inner}   ends here: {}", pass.cut.reason())?;
    match pass.cut.remedy() {
        Some(remedy) => writeln!(f, " (to lift it: {remedy})")?,
        None => writeln!(f)?,
    }
    for of_read in pass.reads.iter().filter(|read| read.pass.is_none()) {
        if let Some(cut) = of_read.computed {
            writeln!(f, "{inner}   {} was computed before: {}", of_read.name, cut.reason())?;
        }
    }
    let mut below: Vec<usize> =
        pass.reads.iter().filter_map(|read| read.pass).filter(|&of| of != number).collect();
    below.sort_unstable();
    below.dedup();
    let (seen, fresh): (Vec<usize>, Vec<usize>) = below.into_iter().partition(|&pass| drawn[pass]);
    for pass in seen {
        writeln!(f, "{inner}   and what pass {} has computed", pass + 1)?;
    }
    for (place, &pass) in fresh.iter().enumerate() {
        if !drawn[pass] {
            tree(of, pass, &inner, place + 1 == fresh.len(), drawn, f)?;
        }
    }
    Ok(())
}
