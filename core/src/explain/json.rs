//! As JSON.

use std::fmt::Write as _;

use super::{Explanation, Measured, Pass, Touched};
use crate::json::{List, quoted};

fn maybe(text: Option<String>) -> String {
    text.unwrap_or_else(|| "null".to_owned())
}

fn seconds(time: std::time::Duration) -> String {
    format!("{:e}", time.as_secs_f64())
}

pub(super) fn written(of: &Explanation) -> String {
    let passes = of.passes.iter().enumerate().map(|(number, each)| pass(of, number, each)).list();
    format!(
        "{{\"subject\":{},\"queue\":{},\"bytes\":{},\"limit\":{},\"computed\":{},\"measured\":{},\"passes\":{passes}}}",
        quoted(&of.subject),
        quoted(&of.queue),
        of.bytes(),
        maybe(of.limit.map(|limit| format!("{limit:e}"))),
        maybe(of.computed.map(|cut| quoted(cut.name()))),
        maybe(of.measured.as_ref().map(measured)),
    )
}

fn pass(of: &Explanation, number: usize, pass: &Pass) -> String {
    let parts = pass.parts.iter().map(|part| {
        format!(
            "{{\"stage\":{},\"kind\":{},\"operations\":{},\"extents\":{}}}",
            part.stage,
            quoted(&part.kind),
            part.operations.iter().map(|name| quoted(name)).list(),
            part.extents.iter().map(ToString::to_string).list(),
        )
    });
    let mut text = format!(
        "{{\"number\":{number},\"parts\":{},\"reads\":{},\"writes\":{},\"bytes_read\":{},\"bytes_written\":{}",
        parts.list(),
        pass.reads.iter().map(touched).list(),
        pass.writes.iter().map(touched).list(),
        pass.bytes_read(),
        pass.bytes_written(),
    );
    let _ = write!(
        text,
        ",\"road\":{},\"kernel\":{},\"threads\":{},\"compiled\":{},\"at_once\":{}",
        quoted(&pass.way.road),
        quoted(&pass.way.kernel),
        pass.way.threads,
        maybe(pass.way.compiled.map(|compiled| compiled.to_string())),
        pass.at_once,
    );
    let _ = write!(
        text,
        ",\"cut\":{},\"reason\":{},\"remedy\":{},\"estimate\":{},\"least_time\":{},\"measured\":{}}}",
        quoted(pass.cut.name()),
        quoted(pass.cut.reason()),
        maybe(pass.cut.remedy().map(quoted)),
        maybe(pass.way.estimate.map(seconds)),
        maybe(of.limit.map(|limit| seconds(pass.least_time(limit)))),
        maybe(pass.measured.as_ref().map(measured)),
    );
    text
}

fn touched(of: &Touched) -> String {
    format!(
        "{{\"name\":{},\"shape\":{},\"dtype\":{},\"bytes\":{},\"pass\":{},\"computed\":{},\"held\":{}}}",
        quoted(&of.name),
        of.shape.iter().map(ToString::to_string).list(),
        maybe(of.dtype.map(|dtype| quoted(dtype.name()))),
        of.bytes,
        maybe(of.pass.map(|pass| pass.to_string())),
        maybe(of.computed.map(|cut| quoted(cut.name()))),
        of.held,
    )
}

fn measured(of: &Measured) -> String {
    format!(
        "{{\"time\":{},\"waited\":{},\"waited_for\":{},\"threads\":{},\"compile_time\":{}}}",
        seconds(of.time),
        seconds(of.waited),
        of.waited_for.iter().map(|name| quoted(name)).list(),
        of.threads,
        seconds(of.compiled),
    )
}
