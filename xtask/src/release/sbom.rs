//! The list of what is linked into what is shipped, for programs that look for what has become known of a crate: in the form of
//! CycloneDX 1.6 (ECMA-424). Without times and random numbers: of one state of the repository it is one text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::crates::{self, Crate, SHIPPED, text};

/// The name by which the registry's crates are known in every ecosystem.
fn address((name, version): &Crate) -> String {
    format!("pkg:cargo/{name}@{version}")
}

/// The list, as text.
pub(super) fn made() -> Result<String, String> {
    let list = list()?;
    let complaints = complaints(&list);
    if !complaints.is_empty() {
        return Err(complaints.join("\n"));
    }
    serde_json::to_string_pretty(&list).map(|text| text + "\n").map_err(|error| error.to_string())
}

fn list() -> Result<Value, String> {
    let metadata = crates::metadata()?;
    let packages = crates::packages(&metadata);
    let (linked, sums) = (crates::linked()?, checksums()?);
    let mut components = Vec::new();
    for one in linked.keys() {
        let package = crates::package(&packages, one)?;
        let mut component = json!({
            "type": "library",
            "bom-ref": address(one),
            "name": one.0,
            "version": one.1,
            "purl": address(one),
            "licenses": [{ "expression": crates::licences(package) }],
        });
        if let Some(sum) = sums.get(one) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        let description = text(package, "description").split_whitespace().collect::<Vec<_>>().join(" ");
        if !description.is_empty() {
            component["description"] = description.into();
        }
        if !text(package, "repository").is_empty() {
            component["externalReferences"] = json!([{ "type": "vcs", "url": text(package, "repository") }]);
        }
        components.push(component);
    }
    let dependencies = linked.iter().map(|(one, needs)| {
        json!({ "ref": address(one), "dependsOn": needs.iter().map(address).collect::<Vec<_>>() })
    });
    let version = env!("CARGO_PKG_VERSION");
    let roots: Vec<String> =
        linked.keys().filter(|(name, _)| SHIPPED.contains(&name.as_str())).map(address).collect();
    let root = json!({ "ref": "stridewise-release", "dependsOn": roots });
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": "stridewise-release",
                "name": "stridewise",
                "version": version,
                "description": "The Python module and the C library of Stridewise",
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": std::iter::once(root).chain(dependencies).collect::<Vec<_>>(),
    }))
}

/// The checksums of the registry's crates, from the lock file.
fn checksums() -> Result<BTreeMap<Crate, String>, String> {
    let path = crate::root().join("Cargo.lock");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lock: toml::Table = text.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let field = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let sums = packages.filter_map(|package| {
        Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?))
    });
    Ok(sums.collect())
}

/// What the form asks for and the list lacks.
fn complaints(list: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    let all = |key: &str| list[key].as_array().cloned().unwrap_or_default();
    let mut references = BTreeSet::from([text(&list["metadata"]["component"], "bom-ref").to_owned()]);
    for component in all("components") {
        let name = text(&component, "name").to_owned();
        for field in ["type", "bom-ref", "name", "version", "purl"] {
            if text(&component, field).is_empty() {
                complaints.push(format!("a component, {name}, has no {field}"));
            }
        }
        let licence = text(&component["licenses"][0], "expression");
        if let Err(error) = spdx::Expression::parse(licence) {
            complaints.push(format!("{name}: the licence {licence:?}: {error}"));
        }
        let sum = text(&component["hashes"][0], "content");
        let is_sum = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_sum && !name.starts_with("stridewise") {
            complaints.push(format!("{name}: the checksum is {sum:?}"));
        }
        if !references.insert(text(&component, "bom-ref").to_owned()) {
            complaints.push(format!("{name} is there twice"));
        }
    }
    for dependency in all("dependencies") {
        let needs = dependency["dependsOn"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for reference in std::iter::once(text(&dependency, "ref")).chain(needs) {
            if !references.contains(reference) {
                complaints.push(format!("{reference} is needed and no component"));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_complete() {
        let list = list().unwrap();
        assert_eq!(complaints(&list), [""; 0]);
        let components = list["components"].as_array().unwrap();
        assert!(components.len() > 30);
        assert_eq!(list["dependencies"][0]["dependsOn"].as_array().unwrap().len(), SHIPPED.len());
        assert_eq!(made().unwrap(), made().unwrap());
    }

    #[test]
    fn what_is_missing_is_found() {
        let component = json!({ "type": "library", "bom-ref": "a", "name": "a", "version": "1", "purl": "a",
            "licenses": [{ "expression": "MIT/Apache-2.0" }], "hashes": [{ "content": "12" }] });
        let list = json!({ "metadata": { "component": { "bom-ref": "r" } }, "components": [component, component],
            "dependencies": [{ "ref": "a", "dependsOn": ["b"] }] });
        let found = complaints(&list);
        assert_eq!(found.len(), 6, "{found:?}");
    }
}
