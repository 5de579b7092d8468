//! A trace as JSON of Chrome's trace format, which Perfetto's page reads.
//!
//! Complete events (`ph: X`) of a track must nest. What a thread does nests by itself: it begins and ends there. The commands of a
//! queue may overlap, so a queue has as many tracks as it needs that none of them does. A flow (`ph: s`, `ph: f`) leads from the end of
//! a command to the end of each wait for it, and to the beginning of each command that waits for it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::trace::{Ran, Trace};
use super::{Doing, Record};
use crate::json::quoted;

/// The number of the process that the threads' tracks are of, and of the one that the queues' are of.
const THREADS: u32 = 1;
const QUEUES: u32 = 2;
/// Tracks that a queue has at most.
const LANES: usize = 64;

/// Microseconds since the beginning of the session.
fn time(trace: &Trace, at: u64) -> String {
    let since = at.saturating_sub(trace.span()[0]);
    format!("{}.{:03}", since / 1000, since % 1000)
}

struct Writer<'a> {
    trace: &'a Trace,
    text: String,
}

impl Writer<'_> {
    fn event(&mut self, fields: &str) {
        if !self.text.ends_with('[') {
            self.text.push(',');
        }
        self.text.push('\n');
        self.text.push('{');
        self.text.push_str(fields);
        self.text.push('}');
    }

    fn named(&mut self, what: &str, process: u32, track: u64, name: &str) {
        let name = quoted(name);
        self.event(&format!(
            "\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{process},\"tid\":{track},\"args\":{{\"name\":{name}}}"
        ));
    }

    fn slice(&mut self, at: (u32, u64), [begin, end]: [u64; 2], kind: &str, name: &str, args: &str) {
        let (process, track) = at;
        let lasted = end.saturating_sub(begin);
        let fields = format!(
            "\"ph\":\"X\",\"pid\":{process},\"tid\":{track},\"ts\":{},\"dur\":{}.{:03},\"cat\":\"{kind}\",\"name\":{},\"args\":{{{args}}}",
            time(self.trace, begin),
            lasted / 1000,
            lasted % 1000,
            quoted(name),
        );
        self.event(&fields);
    }

    /// An arrow between two places in slices.
    fn flow(&mut self, number: usize, from: ((u32, u64), u64), to: ((u32, u64), u64)) {
        for (phase, ((process, track), at)) in [("\"s\"", from), ("\"f\",\"bp\":\"e\"", to)] {
            let fields = format!(
                "\"ph\":{phase},\"id\":{number},\"pid\":{process},\"tid\":{track},\"ts\":{},\"cat\":\"wait\",\"name\":\"waits\"",
                time(self.trace, at)
            );
            self.event(&fields);
        }
    }
}

/// What else is known of a record.
fn args(record: &Record) -> String {
    let mut text = String::new();
    if record.bytes > 0 {
        let _ = write!(text, "\"bytes\":{}", record.bytes);
    }
    if record.command != 0 {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}\"command\":\"{:#x}\"", record.command);
    }
    if let Some(site) = &record.site {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}\"site\":{}", quoted(site));
    }
    text
}

/// The track of each command that was run: its queue's, and a lane in which none overlaps another.
fn lanes(commands: &[Ran<'_>]) -> HashMap<usize, u64> {
    let mut order: Vec<(&Ran<'_>, [u64; 2])> =
        commands.iter().filter_map(|of| Some((of, of.span?))).collect();
    order.sort_by_key(|(_, span)| *span);
    let mut ends: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut lanes = HashMap::new();
    for (of, [begin, end]) in order {
        let queue = of.submission.queue;
        let of_queue = ends.entry(queue).or_default();
        let lane = match of_queue.iter().position(|&last| last <= begin) {
            Some(lane) => lane,
            None if of_queue.len() < LANES => {
                of_queue.push(0);
                of_queue.len() - 1
            }
            // It would overlap another one: it stands on the threads' tracks alone.
            None => continue,
        };
        of_queue[lane] = end;
        lanes.insert(of.submission.command, queue * LANES as u64 + lane as u64);
    }
    lanes
}

pub(super) fn written(trace: &Trace) -> String {
    let commands = trace.commands();
    let lanes = lanes(&commands);
    let names: HashMap<usize, String> =
        commands.iter().map(|of| (of.submission.command, of.submission.name.to_string())).collect();
    let spans: HashMap<usize, [u64; 2]> =
        commands.iter().filter_map(|of| Some((of.submission.command, of.span?))).collect();
    let mut writer = Writer { trace, text: "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[".to_owned() };

    writer.named("process_name", THREADS, 0, "threads");
    writer.named("process_name", QUEUES, 0, "queues");
    for (number, name) in trace.threads() {
        writer.named("thread_name", THREADS, u64::from(*number), name);
    }
    let mut tracks: Vec<u64> = lanes.values().copied().collect();
    tracks.sort_unstable();
    tracks.dedup();
    for track in tracks {
        let (queue, lane) = (track / LANES as u64, track % LANES as u64);
        let name = if lane == 0 { format!("queue {queue}") } else { format!("queue {queue} ({})", lane + 1) };
        writer.named("thread_name", QUEUES, track, &name);
    }

    for of in &commands {
        let Some((&track, span)) = lanes.get(&of.submission.command).zip(of.span) else { continue };
        let name = &names[&of.submission.command];
        writer.slice((QUEUES, track), span, "command", name, &args(of.submission));
    }
    let mut arrows = 0;
    let mut arrow = |writer: &mut Writer<'_>, from: usize, to: ((u32, u64), u64)| {
        let Some((&track, &[begin, end])) = lanes.get(&from).zip(spans.get(&from)) else { return };
        // An arrow does not lead back in time: what was seen to be over before it was noted begins where it is seen.
        let at = end.saturating_sub(1).max(begin).min(to.1);
        arrows += 1;
        writer.flow(arrows, ((QUEUES, track), at), to);
    };
    for of in &commands {
        let Some((&track, [begin, _])) = lanes.get(&of.submission.command).zip(of.span) else { continue };
        for &wait in &of.submission.waits {
            arrow(&mut writer, wait, ((QUEUES, track), begin));
        }
    }
    for record in trace.records() {
        let at = (THREADS, u64::from(record.thread));
        let own = record.name.to_string();
        let name = match record.doing {
            Doing::Ended => continue,
            Doing::Run | Doing::Wait => names.get(&record.command).unwrap_or(&own),
            _ => &own,
        };
        let shown = match record.doing {
            Doing::Run | Doing::AtOnce => name.clone(),
            Doing::Wait => format!("wait for {name}"),
            Doing::Submission => format!("submit {name}"),
            Doing::Compile => format!("compile {name}"),
            Doing::Allocation => format!("allocate {name}"),
            _ => own.clone(),
        };
        writer.slice(at, record.span, record.doing.name(), &shown, &args(record));
        if record.doing == Doing::Wait {
            let [begin, end] = record.span;
            arrow(&mut writer, record.command, (at, end.saturating_sub(1).max(begin)));
        }
    }
    let dropped = trace.dropped();
    let _ = write!(writer.text, "\n],\"otherData\":{{\"dropped\":{dropped}}}}}\n");
    writer.text
}
