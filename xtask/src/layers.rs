//! `cargo xtask layers`: who uses whom, among the modules of a crate, that nothing uses what lies above it, and that no modules
//! use each other in a circle but those that are named here, with the reason.
//!
//! A module is a file or folder below `src`. What it uses are the paths in its sources, `use` and `pub use` among them, followed to
//! the file that defines what they name; tests are left out.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use clap::ArgMatches;

use sources::{Names, Sources};

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "layers",
    about: "Show which modules use which, and complain where one uses what lies above it",
    arguments: |command| command,
    run: |_: &ArgMatches| {
        let mut complaints = String::new();
        for house in HOUSES {
            let plan = house.plan(&crate::root())?;
            print!("{}", house.drawn(&plan));
            complaints += &house.complaints(&plan);
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints) }
    },
};

/// A crate whose modules lie in layers.
struct House {
    /// Its folder of sources.
    sources: &'static str,
    /// Modules, the lowest layer first. Those of one layer may use each other, but in no circle. A module inside of another is
    /// named with its parent's name before it.
    layers: &'static [&'static [&'static str]],
    /// Modules that use each other in a circle, and why they may.
    circles: &'static [(&'static [&'static str], &'static str)],
}

const HOUSES: &[House] = &[
    House {
        sources: "core/src",
        layers: &[
            &["diagnostic", "dtype", "error", "fault", "json", "observe", "replacement", "scalar", "sync"],
            &["layout", "memory::heap", "memory::pointer"],
            &["cut", "form", "ops", "plan", "program", "promotion"],
            &["backend", "routes"],
            &["memory", "runtime"],
            &["lazy"],
            // `memory::source` launches kernels that nobody checks, for who has arrays, and `memory::stored` takes commands from files:
            // they lie in `memory`, as all `unsafe` does.
            &["array", "doctor", "explain", "graph", "kernel", "memory::source", "memory::stored"],
        ],
        circles: &[
            (&["dtype", "scalar"], "one list of types makes both: a type knows its values, a value its type"),
            (&["error", "sync"], "an error says whether a fork left it behind, and a fork makes such errors"),
            (&["ops", "program"], "the oracle evaluates programs, which are made of operations"),
            (
                &["memory", "runtime"],
                "a device has its pool and what is under way, a queue its pending work, and memory its device and queue",
            ),
        ],
    },
    House {
        sources: "backends/host/src",
        layers: &[
            &["guard", "memory", "simd", "threads", "topology"],
            &["fork_join"],
            // The rooms of `kernels`, the lowest first.
            &["kernels::entry", "kernels::plain", "kernels::split", "kernels::stream", "kernels::tuning"],
            &["kernels::moving"],
            &["kernels::elementwise", "kernels::lanes", "kernels::native"],
            &["kernels::program"],
            &["kernels::product", "kernels::reduce", "kernels::scan", "kernels::select"],
            &["kernels::sort"],
            &["kernels::search"],
            &["kernels::family", "kernels::stages"],
            &["kernels::immediate"],
            &["interpreter", "kernels"],
            &["device", "diagnosis", "driver"],
        ],
        circles: &[],
    },
    House {
        sources: "backends/emit/src",
        layers: &[&["dialect"], &["emit", "kernels"]],
        circles: &[(
            &["emit", "kernels"],
            "a kernel's text is written by `emit`, which writes what the target of `kernels` takes",
        )],
    },
    House {
        sources: "backends/cuda/src",
        layers: &[
            &["api", "symbols"],
            &["error", "handle", "library"],
            &["clock", "memory", "nvrtc", "scratch"],
            &[
                "blas", "device", "enqueue", "event", "graph", "kernels", "module", "queue", "routines",
                "stream", "transfer", "worker",
            ],
            &["driver"],
        ],
        circles: &[(
            &[
                "blas", "device", "enqueue", "event", "graph", "kernels", "module", "queue", "routines",
                "stream", "transfer", "worker",
            ],
            "what the queues of a device share is one object, `device::Shared`, and each of these is a part of it",
        )],
    },
    House {
        sources: "backends/opencl/src",
        layers: &[
            &["error", "handle"],
            &["device", "enqueue", "event", "memory", "program", "queue", "source", "transfer", "worker"],
            &["diagnosis", "driver"],
        ],
        circles: &[(
            &["device", "enqueue", "event", "memory", "program", "queue", "source", "transfer", "worker"],
            "what the queues of a device share is one object, `device::Shared`, and each of these is a part of it",
        )],
    },
];

/// Who uses what.
#[derive(Default)]
struct Plan {
    /// Which module uses which, and by what path of which file.
    uses: BTreeMap<(&'static str, &'static str), BTreeSet<(String, String)>>,
    /// Which file uses what another one defines.
    files: BTreeMap<String, BTreeSet<String>>,
    /// The module of each file.
    modules: BTreeMap<String, &'static str>,
}

impl House {
    fn modules(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let layers = self.layers.iter().enumerate();
        layers.flat_map(|(level, modules)| modules.iter().map(move |&module| (level, module)))
    }

    /// The module that a place is in; the longest name that fits.
    fn module(&self, place: &[String]) -> Option<&'static str> {
        let fits = |name: &str| {
            name.split("::").count() <= place.len() && name.split("::").zip(place).all(|(a, b)| a == b)
        };
        let fitting = self.modules().map(|(_, module)| module).filter(|module| fits(module));
        fitting.max_by_key(|module| module.len())
    }

    fn plan(&self, root: &Path) -> Result<Plan, String> {
        self.plan_of(&Sources::read(&root.join(self.sources))?)
    }

    fn plan_of(&self, sources: &Sources) -> Result<Plan, String> {
        let mut plan = Plan::default();
        for (place, file) in sources.modules() {
            match self.module(place) {
                Some(module) => {
                    plan.modules.insert(file.to_owned(), module);
                }
                // What the root hands on is no module's.
                None if place.is_empty() || file == "lib.rs" => {}
                None => return Err(format!("{file} is in no layer: name its module in xtask/src/layers.rs")),
            }
        }
        for of in sources.uses() {
            let (place, file) = &of.user;
            let Some(user) = self.module(place) else { continue };
            let named = |(place, _): &(Names, String)| self.module(place).filter(|used| *used != user);
            for used in of.used.iter().filter_map(named) {
                plan.uses.entry((user, used)).or_default().insert((file.clone(), of.path.clone()));
            }
            if let Some((_, definer)) = of.used.last() {
                plan.files.entry(file.clone()).or_default().insert(definer.clone());
            }
        }
        Ok(plan)
    }

    fn level(&self, module: &str) -> usize {
        self.modules().find(|(_, name)| *name == module).map_or(0, |(level, _)| level)
    }

    fn complaints(&self, plan: &Plan) -> String {
        let mut complaints = String::new();
        for ((user, used), places) in plan.uses.iter().filter(|((a, b), _)| self.level(a) < self.level(b)) {
            let _ = writeln!(complaints, "{}: `{user}` uses `{used}`, which lies above it:", self.sources);
            for (file, path) in places {
                let _ = writeln!(complaints, "  {file}: {path}");
            }
        }
        let mut left: Vec<&[&str]> = self.circles.iter().map(|(modules, _)| *modules).collect();
        for circle in plan.circles() {
            let modules: BTreeSet<&str> =
                circle.iter().filter_map(|file| plan.modules.get(*file)).copied().collect();
            let is_excused = |of: &[&str]| of.iter().copied().collect::<BTreeSet<_>>() == modules;
            if modules.len() < 2 {
                continue;
            }
            if !left.iter().any(|of| is_excused(of)) {
                let _ = writeln!(
                    complaints,
                    "{}: files of {modules:?} use each other in a circle:",
                    self.sources
                );
                for file in &circle {
                    let next = plan.files[*file].iter().filter(|used| circle.contains(&used.as_str()));
                    let next: Vec<&str> = next.map(String::as_str).collect();
                    let _ = writeln!(complaints, "  {file} → {}", next.join(", "));
                }
            }
            left.retain(|of| !is_excused(of));
        }
        for modules in left {
            let _ = writeln!(
                complaints,
                "{}: {modules:?} are no circle any more: take them off the list",
                self.sources
            );
        }
        complaints
    }

    /// The layers, the highest first, and what each module uses; the circles of files.
    fn drawn(&self, plan: &Plan) -> String {
        let mut text = format!("{}\n", self.sources);
        for modules in self.layers.iter().rev() {
            for module in *modules {
                let used: Vec<&str> =
                    plan.uses.keys().filter(|(user, _)| user == module).map(|(_, used)| *used).collect();
                let _ = writeln!(text, "  {module:16} {}", used.join(" "));
            }
            text += "  --\n";
        }
        for circle in plan.circles() {
            let modules: BTreeSet<&str> =
                circle.iter().filter_map(|file| plan.modules.get(*file)).copied().collect();
            let modules: Vec<&str> = modules.into_iter().collect();
            let why = self
                .circles
                .iter()
                .find(|(of, _)| modules.len() > 1 && modules.iter().all(|m| of.contains(m)));
            let why = why.map_or(String::new(), |(_, why)| format!(": {why}"));
            let _ = writeln!(text, "  a circle of {} files, in {}{why}", circle.len(), modules.join(" and "));
        }
        text
    }
}

impl Plan {
    /// Files that use each other, in groups of which each file reaches all others of its group; the largest first.
    fn circles(&self) -> Vec<BTreeSet<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.files.keys().map(|file| (file.as_str(), self.reach(file))).collect();
        let mut circles: BTreeSet<BTreeSet<&str>> = BTreeSet::new();
        for (file, reach) in &reached {
            let back = |other: &&&str| reached.get(**other).is_some_and(|reach| reach.contains(file));
            let circle: BTreeSet<&str> = reach.iter().filter(back).copied().collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        let mut circles: Vec<_> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    fn reach(&self, file: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&str> = vec![file];
        while let Some(file) = next.pop() {
            for used in self.files.get(file).into_iter().flatten() {
                if reached.insert(used.as_str()) {
                    next.push(used);
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_module_uses_what_lies_above_it_nor_in_a_circle() {
        for house in HOUSES {
            let plan = house.plan(&crate::root()).unwrap();
            assert!(!plan.uses.is_empty(), "{} has modules that use each other", house.sources);
            assert_eq!(house.complaints(&plan), "");
        }
    }

    fn complaints(house: &House, files: &[(&str, &str)]) -> String {
        let mut sources = Sources::default();
        sources.add("lib.rs", "").unwrap();
        for (name, text) in files {
            sources.add(name, text).unwrap();
        }
        house.complaints(&house.plan_of(&sources).unwrap())
    }

    #[test]
    fn an_arrow_upwards_is_a_complaint_however_it_is_written() {
        let house = House { sources: "x", layers: &[&["low", "high::part"], &["high"]], circles: &[] };
        let place = |path: &str| path.split("::").map(str::to_owned).collect::<Names>();
        assert_eq!(house.module(&place("high::part")), Some("high::part"));
        assert_eq!(house.module(&place("high::other")), Some("high"));
        let high = [
            ("high/mod.rs", "pub mod part; mod other; pub use other::T;"),
            ("high/other.rs", "pub struct T;"),
        ];
        let part = ("high/part.rs", "pub struct P;");
        for (low, complaint) in [
            ("use crate::high::part::P;", false),
            ("use crate::high::T;", true),
            ("pub use crate::high::T;", true),
            ("pub(crate) use super::high as h; fn f(_: h::T) {}", true),
            ("fn f() { crate::high::T }", true),
            ("pub(in crate::high) struct L;", false),
        ] {
            let text = complaints(&house, &[high[0], high[1], part, ("low.rs", low)]);
            assert_eq!(text.contains("`low` uses `high`"), complaint, "{low}: {text}");
        }
    }

    #[test]
    fn a_circle_is_a_complaint_unless_it_is_named_and_there() {
        const NAMED: House =
            House { sources: "x", layers: &[&["a", "b", "c"]], circles: &[(&["a", "b"], "a reason")] };
        let without = House { circles: &[], ..NAMED };
        let circle = [("a.rs", "use crate::b::B; pub struct A;"), ("b.rs", "use crate::a::A; pub struct B;")];
        assert_eq!(complaints(&NAMED, &circle), "");
        assert!(complaints(&without, &circle).contains("a.rs → b.rs"));
        let line = [circle[0], ("b.rs", "pub struct B;")];
        assert!(complaints(&NAMED, &line).contains("no circle any more"));
        assert_eq!(complaints(&without, &line), "");
        // One more module in it is another circle.
        let wider = [
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::c::C; pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
        ];
        assert!(complaints(&NAMED, &wider).contains("in a circle"));
    }
}
