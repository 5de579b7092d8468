//! The version of what is released, and what the changelog and the listing of public names say of it.

use std::path::Path;
use std::process::Command;

/// The version, which is that of this program, too.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Manifests outside of the workspace, and those that name a crate of ours with its version.
const MANIFESTS: [&str; 4] =
    ["Cargo.toml", "tests/matrix/Cargo.toml", "core/macros/Cargo.toml", "examples/backend/Cargo.toml"];

fn read(file: &str) -> Result<String, String> {
    let path = crate::root().join(file);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What git answers; `None` where there is no repository, or it has nothing of the kind.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(crate::root()).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The last release's tag.
fn last_tag() -> Option<String> {
    git(&["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"])
}

/// Complains where something of ours has another version, and where a tag has this one.
pub(super) fn version() -> Result<(), String> {
    let mut complaints = Vec::new();
    for file in MANIFESTS {
        complaints.extend(others(&read(file)?, VERSION).map(|line| format!("{file}: {line}")));
    }
    for member in members(&read("Cargo.toml")?)? {
        let file = Path::new(&member).join("Cargo.toml").to_string_lossy().into_owned();
        if !read(&file)?.lines().any(|line| line.trim() == "version.workspace = true") {
            complaints.push(format!("{file}: the version is not that of the workspace"));
        }
    }
    // What documents tell people to write: all but the last number.
    let short = VERSION.rsplit_once('.').map_or(VERSION, |(short, _)| short);
    for file in ["docs/site/install.md", "src/lib.rs"] {
        if !read(file)?.contains(&format!("\"{short}\"")) {
            complaints.push(format!("{file}: does not name the version {short}"));
        }
    }
    if git(&["rev-parse", "--verify", "--quiet", &format!("refs/tags/v{VERSION}")]).is_some() {
        complaints.push(format!("there is a tag v{VERSION}: this version has been released"));
    }
    if complaints.is_empty() {
        println!("the version is {VERSION} everywhere");
        return Ok(());
    }
    Err(complaints.join("\n"))
}

/// Lines of a manifest that give a crate of ours another version.
fn others<'a>(manifest: &'a str, version: &'a str) -> impl Iterator<Item = &'a str> {
    let named = move |line: &&str| {
        let (name, value) = line.split_once('=').unwrap_or_default();
        let told = value.split_once("version = \"").and_then(|(_, rest)| rest.split('"').next());
        name.trim().starts_with("stridewise") && told.is_some_and(|told| told != version)
    };
    manifest.lines().filter(named)
}

/// The folders of the workspace's crates.
fn members(manifest: &str) -> Result<Vec<String>, String> {
    let manifest: toml::Table = manifest.parse().map_err(|error| format!("Cargo.toml: {error}"))?;
    let members = manifest.get("workspace").and_then(|workspace| workspace.get("members")?.as_array());
    let members = members.ok_or("Cargo.toml: there is no list of members")?;
    Ok(members
        .iter()
        .filter_map(|member| member.as_str().map(str::to_owned))
        .chain(["".to_owned()])
        .collect())
}

/// Complains where the changelog says nothing of this version.
pub(super) fn changelog() -> Result<(), String> {
    let text = read("CHANGELOG.md")?;
    match section(&text, VERSION) {
        Some((heading, entries)) if entries > 0 => {
            println!("CHANGELOG.md: {heading}, {entries} entries");
            if heading.contains("Unreleased") {
                println!("the release makes of this heading `## [{VERSION}] - ` and its date");
            }
            Ok(())
        }
        Some((heading, _)) => Err(format!("CHANGELOG.md: there are no entries under {heading}")),
        None => Err(format!("CHANGELOG.md: there is neither a section [{VERSION}] nor [Unreleased]")),
    }
}

/// The heading of a version's section, else of what is not released yet, and how many entries are below it.
fn section<'a>(changelog: &'a str, version: &str) -> Option<(&'a str, usize)> {
    let heading = |name: &str| {
        let start = format!("## [{name}]");
        changelog.lines().position(|line| line.starts_with(&start))
    };
    let at = heading(version).or_else(|| heading("Unreleased"))?;
    let mut lines = changelog.lines().skip(at);
    let name = lines.next()?;
    Some((
        name,
        lines.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("- ")).count(),
    ))
}

/// Complains about changes that are not committed: what is packaged would be in no commit.
pub(super) fn checkout() -> Result<(), String> {
    match git(&["status", "--porcelain"]) {
        None => Err("this is no checkout of a repository".to_owned()),
        Some(changes) if changes.is_empty() => Ok(()),
        Some(changes) => Err(format!("what is not committed would be in no release's commit:\n{changes}")),
    }
}

/// Complains where names of the last release are gone and the version does not say so. Which names there are now, the
/// comparison with the listing has said.
pub(super) fn breaks() -> Result<(), String> {
    let Some(tag) = last_tag() else {
        println!("no release has been tagged: there are no names that could be missed");
        return Ok(());
    };
    let Some(before) = git(&["show", &format!("{tag}:{}", crate::api::LISTING)]) else {
        return Err(format!("{tag} has no {}", crate::api::LISTING));
    };
    let gone = crate::api::gone(&before, &read(crate::api::LISTING)?);
    if gone.is_empty() || may_break(tag.trim_start_matches('v'), VERSION) {
        println!("{} names of {tag} are gone", gone.len());
        return Ok(());
    }
    Err(format!(
        "names of {tag} are gone, and {VERSION} promises that they are not (before 1.0 the second number says so, then the first):\n{}",
        gone.join("\n")
    ))
}

/// Whether a version may lack what an earlier one has: the first of its numbers that is not 0 is larger.
fn may_break(before: &str, after: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        version.split(['.', '-']).map_while(|number| number.parse().ok()).collect()
    };
    let (before, after) = (numbers(before), numbers(after));
    let leading = before.iter().take_while(|number| **number == 0).count() + 1;
    before.iter().take(leading).ne(after.iter().take(leading))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_version_is_everywhere() {
        if last_tag().is_none() {
            version().unwrap();
        }
        changelog().unwrap();
    }

    #[test]
    fn other_versions_are_found() {
        let manifest = "stridewise-core = { path = \"core\", version = \"0.1.0\" }\n\
                        stridewise-null = { version = \"0.2.0\" }\nserde = { version = \"1\" }\nstridewise-x = { path = \"x\" }";
        assert_eq!(
            others(manifest, "0.1.0").collect::<Vec<_>>(),
            ["stridewise-null = { version = \"0.2.0\" }"]
        );
    }

    #[test]
    fn sections_are_read() {
        let text =
            "# C\n## [Unreleased]\n### Added\n- a\n- b\n## [0.1.0] - 2026-01-01\n- c\n## [0.0.9]\n- d\n";
        assert_eq!(section(text, "0.1.0"), Some(("## [0.1.0] - 2026-01-01", 1)));
        assert_eq!(section(text, "0.2.0"), Some(("## [Unreleased]", 2)));
        assert_eq!(section("# C\n## [0.1.0]\n- a\n", "0.2.0"), None);
    }

    #[test]
    fn versions_say_what_breaks() {
        assert!(may_break("0.1.0", "0.2.0") && may_break("1.4.2", "2.0.0") && may_break("0.9.0", "1.0.0"));
        assert!(!may_break("0.1.0", "0.1.7") && !may_break("1.4.2", "1.5.0"));
        assert!(may_break("0.0.1", "0.0.2"));
    }
}
