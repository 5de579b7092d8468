//! Traces, beside what the engine did: who looks sees every command, in the order in which it was, and nothing overlaps that is to
//! nest.

use std::time::Duration;

use serde_json::Value;
use stridewise::observe::{Doing, Record};
use stridewise::prelude::*;
use stridewise::{Profiler, Trace};

fn queue() -> Queue {
    Device::from_backend(stridewise_host::device_with(None, 2).unwrap()).queue().unwrap()
}

fn vector(queue: &Queue, len: usize) -> Array<f32> {
    Array::on(queue).from_vec([len], (0..len).map(|i| (i % 7) as f32).collect::<Vec<_>>()).unwrap()
}

/// The records of a sort that this thread has noted: other tests run beside this one.
fn own(trace: &Trace, doing: Doing) -> Vec<&Record> {
    trace.records().iter().filter(|record| record.doing == doing && record.thread == trace.thread()).collect()
}

#[test]
fn every_command_is_noted_with_what_it_waits_for() {
    let queue = queue();
    let x = vector(&queue, 1 << 20);
    x.wait().unwrap();
    let profiler = Profiler::begin_with(10_000, Duration::ZERO);
    let y = (&x * 2.0 + 1.0).sqrt();
    let first = y.event().unwrap();
    let z = (&y * &y - 1.0).abs();
    let second = z.event().unwrap();
    second.wait().unwrap();
    let task = queue.submit_host_task(|| Ok(()), &[first]).unwrap();
    task.wait().unwrap();
    let trace = profiler.end();
    assert_eq!(trace.dropped(), 0);

    let submissions = own(&trace, Doing::Submission);
    let names: Vec<String> = submissions.iter().map(|record| record.name.to_string()).collect();
    assert_eq!(names, ["multiply add sqrt", "multiply subtract abs", "host task"]);
    assert_eq!(submissions[0].bytes, 8 << 20);
    // It waits for the first, unless that had ended.
    assert!(submissions[1].waits.is_empty() || submissions[1].waits[..] == [submissions[0].command]);
    for submission in &submissions {
        let runs = || {
            trace
                .records()
                .iter()
                .filter(|record| record.doing == Doing::Run && record.command == submission.command)
        };
        assert!(runs().count() > 0, "{submission:?} was not run");
        assert!(runs().all(|run| run.span[0] >= submission.span[0] && run.span[0] <= run.span[1]));
    }
    let waits = own(&trace, Doing::Wait);
    assert!(
        waits.iter().all(|wait| wait.command == 0 || submissions.iter().any(|of| of.command == wait.command))
    );

    let table = trace.table();
    let row = table.iter().find(|row| row.name == "multiply add sqrt" && row.doing == "run").unwrap();
    assert_eq!((row.calls, row.bytes), (1, 8 << 20));
    assert!(row.time > Duration::ZERO && row.time <= trace.duration());
    assert!(trace.to_string().contains("multiply add sqrt"));

    trace.measure_bandwidth().unwrap();
    let bandwidth = queue.device().bandwidth().unwrap();
    let table = trace.table();
    let row = |name: &str| table.iter().find(|row| row.name == name && row.doing == "run").unwrap();
    let sqrt = row("multiply add sqrt");
    let expected = sqrt.bytes as f64 / bandwidth / sqrt.time.as_secs_f64();
    approx::assert_relative_eq!(sqrt.share_of_limit.unwrap(), expected, max_relative = 1e-9);
    assert_eq!(row("host task").share_of_limit, None);
}

#[test]
fn a_copy_is_called_one() {
    let queue = queue();
    let x = vector(&queue, 1 << 16);
    let profiler = Profiler::begin();
    x.flip(..).unwrap().copy().unwrap().event().unwrap().wait().unwrap();
    let names: Vec<String> =
        own(&profiler.end(), Doing::Submission).iter().map(|record| record.name.to_string()).collect();
    assert_eq!(names, ["copy"]);
}

#[test]
fn work_at_once_is_noted_where_it_lasts() {
    let queue = queue();
    let x = vector(&queue, 16);
    let profiler = Profiler::begin_with(1000, Duration::ZERO);
    let _y = &x + &x;
    let trace = profiler.end();
    let names: Vec<String> =
        own(&trace, Doing::AtOnce).iter().map(|record| record.name.to_string()).collect();
    assert_eq!(names, ["add"]);
    let profiler = Profiler::begin_with(1000, Duration::from_secs(1000));
    let _y = &x + &x;
    assert!(own(&profiler.end(), Doing::AtOnce).is_empty());
}

#[test]
fn what_finds_no_room_is_counted() {
    let queue = queue();
    let x = vector(&queue, 1 << 16);
    let profiler = Profiler::begin_with(3, Duration::ZERO);
    for _ in 0..10 {
        (&x + 1.0).event().unwrap().wait().unwrap();
    }
    let trace = profiler.end();
    assert_eq!(trace.records().len(), 3);
    assert!(trace.dropped() >= 7);
    assert!(!stridewise::observe::is_on() || trace.dropped() > 0);
}

#[test]
fn sessions_may_overlap() {
    let queue = queue();
    let x = vector(&queue, 1 << 16);
    let outer = Profiler::begin_with(1000, Duration::ZERO);
    (&x + 1.0).event().unwrap().wait().unwrap();
    let inner = Profiler::begin_with(1000, Duration::ZERO);
    (&x * 2.0).sqrt().event().unwrap().wait().unwrap();
    let (inner, outer) = (inner.end(), outer.end());
    let is = |record: &&Record| matches!(record.doing, Doing::Submission | Doing::AtOnce);
    let count = |trace: &Trace| {
        trace.records().iter().filter(is).filter(|record| record.thread == trace.thread()).count()
    };
    assert!(count(&inner) >= 1 && count(&outer) > count(&inner), "{inner:?} {outer:?}");
}

/// The slices of each track, which have to nest: none begins in another and ends behind it.
fn check_nesting(events: &[Value]) {
    /// When a slice begins and ends, and its name.
    type Slice = (f64, f64, String);
    let mut tracks: std::collections::BTreeMap<(u64, u64), Vec<Slice>> = Default::default();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let (begin, lasted) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
        let track = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
        let name = event["name"].as_str().unwrap().to_owned();
        tracks.entry(track).or_default().push((begin, begin + lasted, name));
    }
    for (track, mut slices) in tracks {
        slices.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let mut open: Vec<(f64, String)> = Vec::new();
        for (begin, end, name) in slices {
            // Times have three decimals.
            open.retain(|(until, _)| *until > begin + 5e-4);
            if let Some((until, outer)) = open.last() {
                assert!(end <= until + 5e-4, "on {track:?} {name} ends at {end}, behind {outer}, at {until}");
            }
            open.push((end, name));
        }
    }
}

#[test]
fn the_file_has_every_command_once_and_nests() {
    let queue = queue();
    let path = std::env::temp_dir().join(format!("stridewise-trace-{}.json", std::process::id()));
    let x = vector(&queue, 1 << 18);
    x.wait().unwrap();
    let (sum, trace) = stridewise::profile(&path, || {
        let mut y = x.copy()?;
        for step in 0..20 {
            y = (&y * 0.5 + &x).sqrt();
            if step % 4 == 0 {
                y.event()?;
            }
        }
        queue.submit_host_task(|| Ok(()), &[])?.wait()?;
        y.sum()
    })
    .unwrap();
    assert!(sum.is_finite());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    check_nesting(events);

    // Commands of this queue: each that was submitted stands on a track of its queue, once.
    let submitted: Vec<&Record> = own(&trace, Doing::Submission);
    assert!(submitted.len() >= 5, "{submitted:?}");
    for record in submitted {
        let command = format!("{:#x}", record.command);
        let slices: Vec<&Value> = events
            .iter()
            .filter(|event| event["cat"] == "command" && event["args"]["command"] == command.as_str())
            .collect();
        assert_eq!(slices.len(), 1, "{record:?}");
        assert_eq!(slices[0]["name"], record.name.to_string().as_str());
        assert_eq!(slices[0]["pid"], 2);
    }
    // Arrows come in pairs and lead on in time, between slices.
    let arrows = |phase: &str| -> std::collections::BTreeMap<u64, f64> {
        let of = events.iter().filter(|event| event["ph"] == phase);
        of.map(|event| (event["id"].as_u64().unwrap(), event["ts"].as_f64().unwrap())).collect()
    };
    let (from, to) = (arrows("s"), arrows("f"));
    assert_eq!(from.keys().collect::<Vec<_>>(), to.keys().collect::<Vec<_>>());
    assert!(from.iter().all(|(id, at)| *at <= to[id]));
    // The times of commands are those of the table.
    let table: f64 =
        trace.table().iter().filter(|row| row.doing == "run").map(|row| row.time.as_secs_f64()).sum();
    let slices = events.iter().filter(|event| event["cat"] == "command");
    let slices: f64 = slices.map(|event| event["dur"].as_f64().unwrap() / 1e6).sum();
    assert!((table - slices).abs() < 1e-6, "{table} {slices}");
}

#[test]
fn an_analysis_has_a_time_for_each_pass() {
    let queue = queue();
    let x = vector(&queue, 1 << 20);
    let y = (&x * 2.0 + 1.0).sqrt();
    let explanation = y.analyze().unwrap();
    let [pass] = &explanation.passes[..] else { panic!("{explanation}") };
    let measured = pass.measured.as_ref().unwrap();
    assert!(measured.time > Duration::ZERO && measured.threads >= 1, "{explanation}");
    assert!(explanation.limit.is_some_and(|limit| limit > 1e6));
    assert!(explanation.measured.as_ref().is_some_and(|whole| whole.time >= measured.time));
    let text = explanation.to_string();
    assert!(text.contains("GB/s") && text.contains("% of the limit"), "{text}");
    let json: Value = serde_json::from_str(&explanation.to_json()).unwrap();
    assert!(json["passes"][0]["measured"]["time"].as_f64().unwrap() > 0.0);
    assert_eq!(json["passes"][0]["operations"], Value::Null);
    assert_eq!(json["passes"][0]["parts"][0]["operations"], serde_json::json!(["multiply", "add", "sqrt"]));
    assert_eq!(y.get([3]).unwrap(), 7.0_f32.sqrt());
}
