//! Which road representative work takes, from the calling thread alone to a submission that all threads share: a road that
//! changes is a decision, and shows here.

use Route::*;
use stridewise::prelude::*;
use stridewise::routes::{Route, taken};

/// Whether parts of work are published for other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sharing {
    Never,
    /// Where a worker happens to be awake.
    Perhaps,
    Always,
}

/// A device of two threads and a queue, whatever the machine is.
fn queue() -> Queue {
    Device::from_backend(stridewise_host::device_with(None, 2).unwrap()).queue().unwrap()
}

fn vector(queue: &Queue, len: usize) -> Array<f32> {
    let values: Vec<f32> = (0..len).map(|i| (i % 7) as f32).collect();
    Array::on(queue).from_vec([len], values).unwrap()
}

fn matrix(queue: &Queue, rows: usize, columns: usize) -> Array<f32> {
    vector(queue, rows * columns).reshape([rows, columns]).unwrap()
}

/// The roads that work takes, but that it is shared, and how often.
type Roads<'a> = &'a [(Route, u64)];

#[derive(Default)]
struct Report(Vec<String>);

impl Report {
    /// Compares the roads of work with those expected. Only one test of this program counts, so that the counts are its own.
    fn roads<R>(
        &mut self,
        what: &str,
        expected: Roads<'_>,
        sharing: Sharing,
        work: impl FnOnce() -> Result<R>,
    ) {
        let counts = || Route::ALL.iter().map(|&route| taken(route).expect("a build that counts"));
        let before: Vec<u64> = counts().collect();
        let result = work().unwrap();
        let grown: Vec<u64> = std::iter::zip(counts(), before).map(|(now, before)| now - before).collect();
        drop(result);
        let mut found: Vec<(Route, u64)> = std::iter::zip(Route::ALL.iter().copied(), grown).collect();
        found.retain(|&(_, count)| count > 0);
        let shared = found.iter().any(|&(route, _)| route == Shared);
        found.retain(|&(route, _)| route != Shared);
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let as_expected = match sharing {
            Sharing::Never => !shared,
            Sharing::Perhaps => true,
            Sharing::Always => shared,
        };
        if found != expected || !as_expected {
            let shared = if shared { "shared" } else { "not shared" };
            self.0.push(format!("{what}: {found:?}, {shared}; expected {expected:?}, shared {sharing:?}"));
        }
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "roads are counted in builds with debug assertions")]
fn work_takes_its_road() {
    let queue = queue();
    let mut report = Report::default();
    small(&mut report, &queue);
    let missing: Vec<_> = Route::SMALL.iter().filter(|&&route| taken(route) == Some(0)).collect();
    assert!(missing.is_empty(), "no small work takes {missing:?}");
    medium(&mut report, &queue);
    large(&mut report, &queue);
    products(&mut report, &queue);
    additions(&mut report, &queue);
    other_commands(&mut report, &queue);
    assert!(report.0.is_empty(), "{} roads have changed:\n{}", report.0.len(), report.0.join("\n"));
}

/// The map of the project names the roads of small work, and says how many there are.
#[test]
fn the_map_counts_the_roads_of_small_work() {
    let map = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/ARCHITECTURE.md")).unwrap();
    let number = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"][Route::SMALL.len()];
    assert!(map.contains(&format!("Small work has {number} roads")), "there are {number}");
    for route in Route::SMALL {
        assert!(map.contains(&format!("`{route:?}`")), "the map does not name {route:?}");
    }
    let words = map.split_whitespace().count();
    assert!(words <= 2500, "a map of {words} words");
}

/// 16 elements, or a few more.
fn small(report: &mut Report, queue: &Queue) {
    use Sharing::Never;
    let (mut a, b, c) = (vector(queue, 16), vector(queue, 16), vector(queue, 16));
    let m = matrix(queue, 8, 16);
    let row = m.slice(s![0, ..]).unwrap();
    report.roads("16: a + b", &[(Dense, 1)], Never, || Ok(&a + &b));
    report.roads("16: a + 1", &[(Dense, 1)], Never, || Ok(&a + 1.0));
    report.roads("16: a * b + c", &[(Dense, 2)], Never, || Ok(&a * &b + &c));
    report.roads("16: sqrt(a * a + b * b) * c - a", &[(Dense, 6)], Never, || {
        Ok((&a * &a + &b * &b).sqrt() * &c - &a)
    });
    report.roads("16: converted", &[(General, 1)], Never, || Ok(a.astype::<f64>()));
    report.roads("16: where", &[(Dense, 2)], Never, || a.less(&b).try_where(&a, &b));
    report.roads("16: every second element", &[(Gathered, 1)], Never, || {
        a.slice(s![..;2])?.try_add(&b.slice(s![..;2])?)
    });
    report.roads("16: reversed", &[(Gathered, 1)], Never, || a.slice(s![..;-1])?.try_add(&b));
    report.roads("8 by 16: a row is broadcast", &[(Gathered, 1)], Never, || m.try_add(&row));
    report.roads("8 by 16: a column is broadcast", &[(Gathered, 1)], Never, || {
        m.try_mul(&m.slice(s![.., 0, NewAxis])?)
    });
    report.roads("16 by 8: transposed", &[(Dense, 1)], Never, || m.t().try_add(&m.t()));
    report.roads("16: in place", &[(Dense, 2)], Never, || a.copy()?.try_add_assign(&b));
    report.roads("16: every second element in place", &[(Scattered, 1)], Never, || {
        a.slice(s![..;2])?.assign(&b.slice(s![..8])?)
    });
    report.roads("16: filled", &[(Dense, 1)], Never, || a.fill(1.0));
    report.roads("16: sum", &[(Fold, 1)], Never, || a.sum());
    report.roads("8 by 16: sum of columns", &[(Fold, 1)], Never, || m.sum_axis(0));
    report.roads("8 by 16: mean of rows", &[(Dense, 1), (Fold, 1)], Never, || m.mean_axis(1));
    report.roads("16: sum of a product", &[(Dense, 1), (Fold, 1)], Never, || (&a * &b).sum());
    report.roads("16: variance", &[(Fold, 1)], Never, || a.var(0.0));
    report.roads("16: index of the largest", &[(Fold, 1)], Never, || a.argmax());
    report.roads("16: product of vectors", &[(Fold, 1)], Never, || Ok(a.vecdot(&b, -1)));
    report.roads("16: concatenated", &[(Join, 1)], Never, || Array::concat(&[&a, &b], 0));
    report.roads("16: sorted", &[(Pass, 1)], Never, || a.sort(0, false));
    report.roads("16: cumulative sum", &[(Pass, 1)], Never, || a.cumulative_sum(0));
    report.roads("16: the different elements", &[(Pass, 1), (Move, 1)], Never, || a.unique_values());
    let places = Array::<i64>::on(queue).from_vec([3], vec![2, -1, 2]).unwrap();
    report.roads("16: taken", &[(Move, 1)], Never, || a.take(&places, Some(0), IndexMode::Check));
    report.roads("16: chosen by a mask", &[(Dense, 1), (Move, 2)], Never, || a.masked(&a.less_equal(&b)));
    report.roads("8 by 16: sorted", &[(Pass, 1)], Never, || m.sort(1, false));
    report.roads("16: an element", &[], Never, || a.get([3]));
    let mut random = Generator::new(1).on(queue);
    report.roads("16: random numbers", &[(Dense, 3), (General, 1)], Never, || {
        random.uniform::<f64>([16], 0.0, 1.0)
    });
    report.roads("16: a range", &[(Dense, 1)], Never, || Array::<i64>::on(queue).arange(3, 19, 1));
}

/// 64 Ki elements, more than what is computed when it is asked for.
fn medium(report: &mut Report, queue: &Queue) {
    use Sharing::{Never, Perhaps};
    let (a, b, c) = (vector(queue, 1 << 16), vector(queue, 1 << 16), vector(queue, 1 << 16));
    let m = matrix(queue, 256, 256);
    report.roads("64 Ki: a + b, not asked for", &[(Recorded, 1)], Never, || Ok(&a + &b));
    report.roads("64 Ki: a + b, waited for", &[(Recorded, 1), (General, 1)], Perhaps, || (&a + &b).wait());
    report.roads("64 Ki: a chain", &[(Recorded, 6), (Fused, 5), (Submission, 1), (Pool, 1)], Perhaps, || {
        ((&a * &a + &b * &b).sqrt() * &c - &a).wait()
    });
    report.roads("64 Ki: every second element", &[(Recorded, 1), (General, 1)], Perhaps, || {
        (a.slice(s![..;2])? + &b.slice(s![..;2])?).wait()
    });
    report.roads("256 by 256: transposed", &[(Recorded, 1), (Submission, 1), (Pool, 1)], Perhaps, || {
        (m.t() + &m).wait()
    });
    report.roads("256 by 256: a row is broadcast", &[(Recorded, 1), (General, 1)], Perhaps, || {
        (&m + &m.slice(s![0, ..])?).wait()
    });
    report.roads("64 Ki: in place", &[(Dense, 2)], Perhaps, || a.copy()?.try_add_assign(&b));
    report.roads("64 Ki: sum", &[(Fold, 1)], Perhaps, || a.sum());
    report.roads("64 Ki: sum of a product", &[(Recorded, 1), (Fold, 1)], Perhaps, || (&a * &b).sum());
    report.roads(
        "64 Ki: sum of an expression",
        &[(Recorded, 2), (Fused, 2), (Submission, 1), (Inline, 1)],
        Perhaps,
        || (&a * &b + 1.0).sum(),
    );
    report.roads("256 by 256: sum of columns", &[(Fold, 1)], Perhaps, || m.sum_axis(0));
    report.roads(
        "256 by 256: rows normalised",
        &[(Fold, 2), (Dense, 1), (Recorded, 2), (Fused, 1), (Submission, 1), (Inline, 1)],
        Perhaps,
        || ((&m - &m.mean_axis_keepdims(1)?) / &m.std_axis_keepdims(1, 0.0)?).wait(),
    );
    report.roads("64 Ki: concatenated", &[(Dense, 2)], Perhaps, || Array::concat(&[&a, &b], 0)?.wait());
}

/// More than any last cache that counts.
fn large(report: &mut Report, queue: &Queue) {
    use Sharing::{Always, Never, Perhaps};
    let (a, mut b) = (vector(queue, 1 << 23), vector(queue, 1 << 23));
    let m = a.reshape([1 << 13, 1 << 10]).unwrap();
    let x = vector(queue, 1 << 20);
    let (u, v) = (x.astype::<u8>(), x.astype::<u8>());
    queue.wait().unwrap();
    report.roads(
        "1 Mi bytes: a + b, when the queue is waited for",
        &[(Recorded, 1), (General, 1)],
        Always,
        || {
            let sum = &u + &v;
            queue.wait()?;
            Ok(sum)
        },
    );
    report.roads("1 Mi: sum", &[(Fold, 1)], Always, || x.sum());
    report.roads("8 Mi: a + b", &[(Recorded, 1), (Submission, 1), (Pool, 1)], Always, || (&a + &b).wait());
    report.roads("8 Mi: a chain", &[(Recorded, 5), (Fused, 4), (Submission, 1), (Pool, 1)], Always, || {
        ((&a * &a + &b * &b).sqrt() - &a).wait()
    });
    report.roads("8 Mi: every second element", &[(Recorded, 1), (Submission, 1), (Pool, 1)], Always, || {
        (a.slice(s![..;2])? + 1.0).wait()
    });
    report.roads("8 Mi: a row is broadcast", &[(Recorded, 1), (Submission, 1), (Pool, 1)], Always, || {
        (&m + &m.slice(s![0, ..])?).wait()
    });
    report.roads("8 Mi: in place", &[(Submission, 1), (Pool, 1)], Always, || {
        let event = b.assign(&a)?;
        event.wait()
    });
    report.roads("8 Mi: a reduction that nobody asks for", &[(Waiting, 1)], Never, || m.sum_axis(1));
    report.roads(
        "8 Mi: a reduction",
        &[(Waiting, 1), (Apart, 1), (Submission, 1), (Pool, 1)],
        Always,
        || m.max_axis(1)?.wait(),
    );
    report.roads(
        "8 Mi: two reductions",
        &[(Waiting, 2), (Together, 1), (Submission, 1), (Pool, 1)],
        Always,
        || {
            let (low, high) = (m.min_axis(1)?, m.max_axis(1)?);
            low.wait()?;
            high.wait()
        },
    );
    report.roads(
        "8 Mi: rows normalised",
        &[(Waiting, 2), (Recorded, 2), (Fused, 1), (Stages, 1), (Submission, 1), (Pool, 1)],
        Always,
        || ((&m - &m.mean_axis_keepdims(1)?) / &m.std_axis_keepdims(1, 0.0)?).wait(),
    );
    report.roads("8 Mi: concatenated", &[(Submission, 1), (Pool, 1)], Always, || {
        Array::concat(&[&a, &b], 0)?.wait()
    });
    report.roads("8 Mi: cumulative sum", &[(Submission, 1), (Pool, 1)], Perhaps, || {
        a.cumulative_sum(0)?.wait()
    });
}

/// The roads of `a + b`, of which ARCHITECTURE.md speaks: five, whatever the operands are.
fn additions(report: &mut Report, queue: &Queue) {
    const ROADS: [Route; 5] = [Dense, Gathered, General, Inline, Pool];
    // How it comes to a road, and whether that is shared.
    const ON_THE_WAY: [Route; 3] = [Recorded, Submission, Shared];
    let mut seen = std::collections::BTreeSet::new();
    for side in [1, 4, 30, 128, 300, 2048] {
        let square = matrix(queue, side, side);
        let wide = matrix(queue, side, 2 * side).slice(s![.., ..;2]).unwrap();
        let reversed = square.slice(s![..;-1, ..;-1]).unwrap();
        let (row, column) = (square.slice(s![0, ..]).unwrap(), square.slice(s![.., 0, NewAxis]).unwrap());
        let forms = [square.clone(), square.t(), wide, reversed, row, column];
        for (x, a) in forms.iter().enumerate() {
            for (y, b) in forms.iter().enumerate() {
                for waited in [false, true] {
                    let before: Vec<_> = Route::ALL.iter().map(|&route| taken(route)).collect();
                    let sum = a + b;
                    if waited {
                        sum.wait().unwrap();
                    }
                    let after = Route::ALL.iter().map(|&route| taken(route));
                    let used = std::iter::zip(Route::ALL, std::iter::zip(before, after));
                    let used = used.filter(|(_, (before, after))| before != after).map(|(&route, _)| route);
                    let used: Vec<_> = used.filter(|route| !ON_THE_WAY.contains(route)).collect();
                    let known = used.iter().all(|route| ROADS.contains(route));
                    if !known || used.len() > 1 || (waited && used.is_empty()) {
                        report.0.push(format!("{side} by {side}: form {x} + form {y}: {used:?}"));
                    }
                    seen.extend(used);
                    sum.wait().unwrap();
                }
            }
        }
    }
    let missing: Vec<_> = ROADS.iter().filter(|road| !seen.contains(road)).collect();
    if !missing.is_empty() {
        report.0.push(format!("no addition took {missing:?}"));
    }
}

fn products(report: &mut Report, queue: &Queue) {
    use Sharing::{Never, Perhaps};
    let m = matrix(queue, 16, 16);
    report.roads("16 by 16: product", &[(Pass, 1)], Never, || m.matmul(&m).wait());
    let apart = m.slice(s![..;2, ..;2]).unwrap();
    report.roads("8 by 8, apart: product", &[(Pass, 1)], Never, || apart.matmul(&apart).wait());
    for (side, way, sharing) in [(64, Pool, Perhaps), (512, Pool, Perhaps)] {
        let (m, road) = (matrix(queue, side, side), [(Submission, 1), (way, 1)]);
        report.roads(&format!("{side} by {side}: product"), &road, sharing, || m.matmul(&m).wait());
    }
}

fn other_commands(report: &mut Report, queue: &Queue) {
    use Sharing::Never;
    let a = vector(queue, 16);
    report.roads("a host task", &[(Submission, 1), (OwnThread, 1)], Never, || {
        queue.submit_host_task(|| Ok(()), &[])?.wait()
    });
    report.roads("a barrier", &[(Submission, 1)], Never, || queue.submit_barrier(&[])?.wait());
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let gate = queue
        .submit_host_task(
            move || {
                opened.recv().unwrap();
                Ok(())
            },
            &[],
        )
        .unwrap();
    report.roads("a copy behind an event", &[(Submission, 1), (Pool, 1)], Never, || {
        let memory = a.usm_data()?;
        let copy = queue.memcpy((&memory, 0), (&memory, 32), 32, std::slice::from_ref(&gate))?;
        open.send(()).unwrap();
        copy.wait()
    });
}
