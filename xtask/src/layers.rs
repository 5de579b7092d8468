//! `cargo xtask layers`: who uses whom, among the modules of core and of the host's backend, and that nothing uses what lies
//! above it.
//!
//! A module is a file or folder below `src`. What it uses are the paths in its sources that begin with `crate` or lead out of
//! it by `super`, but for tests, and for what it only hands on (`pub use`): that is a name for users. The paths are read by
//! hand: they are words and colons, and a parser of the whole language would say no more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use clap::ArgMatches;

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "layers",
    about: "Show which modules use which, and complain where one uses what lies above it",
    arguments: |command| command,
    run: |_: &ArgMatches| {
        let mut complaints = String::new();
        for house in HOUSES {
            let uses = house.uses(&crate::root())?;
            print!("{}", house.drawn(&uses));
            complaints += &house.complaints(&uses);
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints) }
    },
};

/// A crate whose modules lie in layers.
struct House {
    /// Its folder of sources.
    sources: &'static str,
    /// Modules, the lowest layer first. Those of one layer may use each other. A module inside of another is named with its
    /// parent's name before it.
    layers: &'static [&'static [&'static str]],
}

const HOUSES: &[House] = &[
    House {
        sources: "core/src",
        layers: &[
            &["diagnostic", "dtype", "error", "fault", "scalar", "sync"],
            &["layout", "memory::pointer"],
            &["kernel", "ops", "plan", "program", "promotion"],
            &["backend", "routes"],
            &["memory", "runtime"],
            &["lazy"],
            // Faces of kernels for those who have arrays. What backends take of `kernel::source` goes through `kernel` yet.
            &["array", "doctor", "kernel::source", "kernel::typed", "memory::source"],
        ],
    },
    House {
        sources: "backends/host/src",
        layers: &[
            &["guard", "memory", "simd", "topology"],
            &["fork_join"],
            &["interpreter", "kernels"],
            &["device", "diagnosis", "driver"],
        ],
    },
];

/// Which module uses which, and by what path of which file.
type Uses = BTreeMap<(&'static str, &'static str), BTreeSet<(String, String)>>;

impl House {
    fn modules(&self) -> impl Iterator<Item = (usize, &'static str)> {
        let layers = self.layers.iter().enumerate();
        layers.flat_map(|(level, modules)| modules.iter().map(move |&module| (level, module)))
    }

    /// The layer and the module that a path leads to, or its file is in; the longest name that fits.
    fn module(&self, path: &[&str]) -> Option<(usize, &'static str)> {
        let fits = |name: &str| {
            name.split("::").count() <= path.len() && name.split("::").zip(path).all(|(a, b)| a == *b)
        };
        self.modules().filter(|(_, module)| fits(module)).max_by_key(|(_, module)| module.len())
    }

    fn uses(&self, root: &Path) -> Result<Uses, String> {
        let sources = root.join(self.sources);
        let mut uses = Uses::new();
        for file in files(&sources)? {
            let relative = file.strip_prefix(&sources).map_err(|error| error.to_string())?;
            let name = relative.display().to_string();
            let mut place: Vec<&str> = name.trim_end_matches(".rs").split('/').collect();
            if place.last() == Some(&"mod") {
                place.pop();
            }
            if place.iter().any(|part| matches!(*part, "tests" | "interleavings" | "lib")) {
                continue;
            }
            let Some((_, user)) = self.module(&place) else {
                return Err(format!("{name} is in no layer: name its module in xtask/src/layers.rs"));
            };
            let text = std::fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
            for path in paths(&text, &place) {
                let parts: Vec<&str> = path.split("::").collect();
                // What the root hands on, and macros, are no module's.
                if let Some((_, used)) = self.module(&parts).filter(|(_, used)| *used != user) {
                    uses.entry((user, used)).or_default().insert((name.clone(), path));
                }
            }
        }
        Ok(uses)
    }

    fn level(&self, module: &str) -> usize {
        self.modules().find(|(_, name)| *name == module).map_or(0, |(level, _)| level)
    }

    fn complaints(&self, uses: &Uses) -> String {
        let mut complaints = String::new();
        for ((user, used), places) in uses.iter().filter(|((a, b), _)| self.level(a) < self.level(b)) {
            let _ = writeln!(complaints, "{}: `{user}` uses `{used}`, which lies above it:", self.sources);
            for (file, path) in places {
                let _ = writeln!(complaints, "  {file}: {path}");
            }
        }
        complaints
    }

    /// The layers, the highest first, and what each module uses.
    fn drawn(&self, uses: &Uses) -> String {
        let mut text = format!("{}\n", self.sources);
        for modules in self.layers.iter().rev() {
            for module in *modules {
                let used: Vec<&str> =
                    uses.keys().filter(|(user, _)| user == module).map(|(_, used)| *used).collect();
                let _ = writeln!(text, "  {module:16} {}", used.join(" "));
            }
            text += "  --\n";
        }
        text
    }
}

/// All sources below a folder.
fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let complaint = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(complaint)? {
        let path = entry.map_err(complaint)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The paths of a source that begin at the crate's root, without `crate::`.
fn paths(text: &str, place: &[&str]) -> Vec<String> {
    // Tests inside of a file are its end.
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String =
        code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for statement in code.split(';') {
        // A `use` begins a line.
        let Some((at, start)) = statement.match_indices("use ").find(|(at, _)| {
            let line = statement[..*at].rsplit('\n').next().unwrap_or_default().trim_start();
            line.is_empty() || line.starts_with("pub")
        }) else {
            found.extend(inline(statement));
            continue;
        };
        let visible = statement[..at].rsplit('\n').next().unwrap_or_default().trim() == "pub";
        if !visible {
            expand(Vec::new(), statement[at + start.len()..].trim(), &mut found);
        }
    }
    found.into_iter().filter_map(|path| from_root(&path, place)).collect()
}

/// Paths in code that begin with `crate`.
fn inline(code: &str) -> Vec<Vec<String>> {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c| !is_of_path(c)).filter(|word| word.starts_with("crate::"));
    words.map(|word| word.split("::").map(str::to_owned).collect()).collect()
}

/// The paths of a tree of a `use`.
fn expand(before: Vec<String>, tree: &str, to: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    if let Some(inner) = tree.strip_prefix('{') {
        let (mut depth, mut begin) = (0, 0);
        let inner = inner.strip_suffix('}').unwrap_or(inner);
        for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    if !inner[begin..at].trim().is_empty() {
                        expand(before.clone(), &inner[begin..at], to);
                    }
                    begin = at + 1;
                }
                _ => {}
            }
        }
    } else if let Some((first, rest)) = tree.split_once("::") {
        expand([before, vec![first.trim().to_owned()]].concat(), rest, to);
    } else {
        let name = tree.split_whitespace().next().unwrap_or_default();
        to.push([before, vec![name.to_owned()]].concat());
    }
}

/// A path from the crate's root, if it is one of this crate that names its root or leads out of its module.
fn from_root(path: &[String], place: &[&str]) -> Option<String> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let parts: Vec<&str> = match (path.first().map(String::as_str), ups) {
        (Some("crate"), _) => path[1..].iter().map(String::as_str).collect(),
        (_, 1..) if ups <= place.len() => {
            let base = place[..place.len() - ups].iter().copied();
            base.chain(path[ups..].iter().map(String::as_str)).collect()
        }
        _ => return None,
    };
    (!parts.is_empty()).then(|| parts.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_module_uses_what_lies_above_it() {
        for house in HOUSES {
            let uses = house.uses(&crate::root()).unwrap();
            assert!(!uses.is_empty(), "{} has modules that use each other", house.sources);
            assert_eq!(house.complaints(&uses), "");
        }
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let text = "\
use std::sync::Arc;
use super::{a, b::{self, c}};
pub use crate::handed::On;
pub(crate) use crate::seen::{X as Y};

fn f() -> crate::inline::T { crate::other::g() } // crate::comment
#[cfg(test)]
mod tests {
use crate::above;
";
        let found = paths(text, &["memory", "pool"]);
        let expected = ["memory::a", "memory::b::self", "memory::b::c", "seen::X", "inline::T", "other::g"];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_arrow_upwards_is_a_complaint() {
        let house = House { sources: "x", layers: &[&["low", "high::part"], &["high"]] };
        let place = |path: &str| BTreeSet::from([("file".to_owned(), path.to_owned())]);
        assert_eq!(house.module(&["high", "part", "T"]), Some((0, "high::part")));
        assert_eq!(house.module(&["high", "T"]), Some((1, "high")));
        let mut uses = Uses::from([(("high", "low"), place("low::T"))]);
        assert_eq!(house.complaints(&uses), "");
        uses.insert(("low", "high"), place("high::T"));
        assert!(house.complaints(&uses).contains("`low` uses `high`"));
    }
}
