//! Tests of the crates that this project builds on: their licences and where they come from, by the lists of `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};

use spdx::{Expression, Licensee, ParseMode};

use crate::crates::{linked, metadata, text};

/// The licences that are allowed, and those of single crates.
fn allowed() -> (Vec<Licensee>, BTreeMap<String, Vec<Licensee>>) {
    let path = crate::root().join("deny.toml");
    let file: toml::Table = std::fs::read_to_string(path).unwrap().parse().unwrap();
    let list = |value: &toml::Value| -> Vec<Licensee> {
        let names = value.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        names.map(|name| Licensee::parse(name).unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
    };
    let licenses = &file["licenses"];
    let exception =
        |entry: &toml::Value| (entry["crate"].as_str().unwrap().to_owned(), list(&entry["allow"]));
    let exceptions = licenses["exceptions"].as_array().unwrap().iter().map(exception).collect();
    (list(&licenses["allow"]), exceptions)
}

fn satisfied(expression: &Expression, by: &[Licensee]) -> bool {
    expression.evaluate(|requirement| by.iter().any(|licensee| licensee.satisfies(requirement)))
}

#[test]
fn every_crate_has_a_licence_that_is_allowed() {
    let metadata = metadata().unwrap();
    let (allowed, exceptions) = allowed();
    let mut used = BTreeSet::new();
    for package in metadata["packages"].as_array().unwrap() {
        let (name, license) = (text(package, "name"), text(package, "license"));
        let expression = Expression::parse_mode(license, ParseMode::LAX)
            .unwrap_or_else(|error| panic!("the licence of {name}, {license:?}: {error}"));
        if satisfied(&expression, &allowed) {
            continue;
        }
        let own = exceptions.get(name).map_or(&[][..], Vec::as_slice);
        let both: Vec<Licensee> = allowed.iter().chain(own).cloned().collect();
        assert!(satisfied(&expression, &both), "{name} is under {license:?}, which deny.toml does not allow");
        used.insert(name);
    }
    assert!(
        used.iter().copied().eq(exceptions.keys().map(String::as_str)),
        "exceptions that nobody needs: {used:?}"
    );
}

#[test]
fn what_is_shipped_needs_no_exception() {
    let (_, exceptions) = allowed();
    let linked = linked().unwrap();
    let wrong: Vec<_> = linked.keys().filter(|(name, _)| exceptions.contains_key(name)).collect();
    assert!(linked.len() > 30 && wrong.is_empty(), "{wrong:?}");
}

#[test]
fn every_crate_is_from_the_registry() {
    let lock: toml::Table =
        std::fs::read_to_string(crate::root().join("Cargo.lock")).unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let sources: BTreeSet<&str> =
        packages.iter().filter_map(|package| package.get("source")?.as_str()).collect();
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(sources.iter().all(|source| source.starts_with("registry+")), "{sources:?}");
    // A crate from a registry has a checksum; the others are this workspace's own.
    for package in packages {
        let name = package["name"].as_str().unwrap();
        assert_eq!(package.get("source").is_some(), package.get("checksum").is_some(), "{name}");
        assert!(
            package.get("source").is_some() || name.starts_with("stridewise") || name == "xtask",
            "{name}"
        );
    }
}
