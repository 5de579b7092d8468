//! The crates that this project builds on: what cargo says of all of them, and which of them are linked into what is shipped.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What other languages link: the module of Python and the library of C. Who uses the crate builds it, and chooses for itself.
pub(crate) const SHIPPED: [&str; 2] = ["stridewise-c", "stridewise-python"];
/// The systems that they are shipped for.
const SYSTEMS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];

/// A crate by its name and version.
pub(crate) type Crate = (String, String);

/// Every crate that any feature on any system needs, by its id, as cargo tells it.
///
/// # Errors
/// Cargo does not tell it.
pub(crate) fn metadata() -> Result<Value, String> {
    let ask = |more: &[&str]| {
        let mut command = crate::cargo();
        command.args(["metadata", "--format-version", "1", "--locked", "--all-features"]).args(more);
        command.output().map_err(|error| format!("cargo metadata could not be started: {error}"))
    };
    let mut output = ask(&[])?;
    if !output.status.success() {
        // Without a network, crates of other systems may be missing.
        output = ask(&["--offline", "--filter-platform", &crate::packages::host_target()?])?;
    }
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

/// A field that is a text; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// What cargo says of each crate, by name and version.
pub(crate) fn packages(metadata: &Value) -> BTreeMap<Crate, &Value> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let key = |package: &Value| (text(package, "name").to_owned(), text(package, "version").to_owned());
    packages.iter().map(|package| (key(package), package)).collect()
}

/// What cargo says of one of them.
///
/// # Errors
/// It does not know it.
pub(crate) fn package<'a>(packages: &BTreeMap<Crate, &'a Value>, one: &Crate) -> Result<&'a Value, String> {
    packages.get(one).copied().ok_or_else(|| format!("cargo metadata lacks {} {}", one.0, one.1))
}

/// The licences that a crate offers, as an expression: some still have a stroke for `OR`.
pub(crate) fn licences(package: &Value) -> String {
    text(package, "license").replace('/', " OR ")
}

/// What is linked into what is shipped, each with those that it needs: neither macros nor what only builds or tests something.
///
/// # Errors
/// Cargo does not tell it.
pub(crate) fn linked() -> Result<BTreeMap<Crate, BTreeSet<Crate>>, String> {
    let mut all: BTreeMap<Crate, BTreeSet<Crate>> = BTreeMap::new();
    for (package, system) in SHIPPED.iter().flat_map(|package| SYSTEMS.map(|system| (package, system))) {
        let mut command = crate::cargo();
        command.args(["tree", "--locked", "--prefix", "depth", "--format", " {p}", "--target", system]);
        command.args(["--edges", "normal,no-proc-macro", "--package", package]);
        let output = command.output().map_err(|error| format!("cargo tree could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)));
        }
        for (one, needs) in tree(&String::from_utf8_lossy(&output.stdout)) {
            all.entry(one).or_default().extend(needs);
        }
    }
    Ok(all)
}

/// What needs what, by lines of a depth, a name and a version. What stands below a crate is written once.
fn tree(lines: &str) -> BTreeMap<Crate, BTreeSet<Crate>> {
    let mut found: BTreeMap<Crate, BTreeSet<Crate>> = BTreeMap::new();
    let mut above: Vec<Crate> = Vec::new();
    for line in lines.lines() {
        let mut words = line.split_whitespace();
        let depth = words.next().and_then(|depth| depth.parse::<usize>().ok());
        let (Some(depth), Some(name), Some(version)) = (depth, words.next(), words.next()) else { continue };
        let one = (name.to_owned(), version.trim_start_matches('v').to_owned());
        above.truncate(depth);
        if let Some(parent) = above.last() {
            found.entry(parent.clone()).or_default().insert(one.clone());
        }
        found.entry(one.clone()).or_default();
        above.push(one);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read() {
        let one = |name: &str| (name.to_owned(), "1.0.0".to_owned());
        let found = tree("0 a v1.0.0 (/x)\n1 b v1.0.0\n2 c v1.0.0\n1 d v1.0.0\n2 b v1.0.0 (*)\n");
        let needs = |name: &str| found[&one(name)].iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
        assert_eq!(
            [needs("a"), needs("b"), needs("c"), needs("d")],
            [vec!["b", "d"], vec!["c"], vec![], vec!["b"]]
        );
    }

    #[test]
    fn what_is_linked_is_of_libraries() {
        let linked = linked().unwrap();
        let names: BTreeSet<&str> = linked.keys().map(|(name, _)| name.as_str()).collect();
        assert!(names.len() > 30 && names.contains("gemm") && names.contains("pyo3"), "{names:?}");
        // Macros, and what tests are made of.
        assert!(
            !names.iter().any(|name| ["syn", "proptest", "stridewise-macros"].contains(name)),
            "{names:?}"
        );
    }
}
