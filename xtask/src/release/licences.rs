//! The file `THIRD_PARTY`: under which licences the crates are that are linked into the Python module and the C library, with the
//! texts that have to go along with them.
//!
//! Of a crate that may be used under one licence or another, the one is taken whose text is in the crate's package, else the first
//! of [`PREFERRED`]. What a package has besides of notices (`NOTICE`, and `COPYING` for what is not the crate's own) goes along, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use crate::crates::{self, Crate, text};

/// The file, in the root of the repository.
pub(super) const FILE: &str = "THIRD_PARTY";

/// The licences that something is used under, and words that the text of each has and no other's.
const PREFERRED: [(&str, &str); 5] = [
    ("MIT", "Permission is hereby granted, free of charge"),
    ("Apache-2.0", "http://www.apache.org/licenses/"),
    ("Apache-2.0 WITH LLVM-exception", "LLVM Exceptions to the Apache 2.0 License"),
    ("Zlib", "This software is provided 'as-is'"),
    ("Unicode-3.0", "UNICODE LICENSE V3"),
];

/// A crate as the file lists it.
struct Entry {
    name: String,
    expression: String,
    /// What it is used under.
    chosen: Vec<&'static str>,
    texts: Vec<String>,
}

/// Complains where the file is not what it would be if it were written now.
pub(crate) fn compare() -> Result<(), String> {
    let path = crate::root().join(FILE);
    let kept = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let made = made()?;
    if kept == made {
        println!("{FILE} is that of {} kB", made.len() / 1000);
        return Ok(());
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let (kept, made) = (lines(&kept), lines(&made));
    let (gone, new) = (kept.difference(&made).next(), made.difference(&kept).next());
    Err(format!(
        "{FILE} is not what is linked in now (it has {gone:?} and lacks {new:?}); `cargo xtask third-party --write` writes it"
    ))
}

/// Writes the file.
pub(crate) fn write() -> Result<(), String> {
    let path = crate::root().join(FILE);
    std::fs::write(&path, made()?).map_err(|error| format!("{}: {error}", path.display()))
}

/// The file's text.
fn made() -> Result<String, String> {
    let metadata = crates::metadata()?;
    let packages = crates::packages(&metadata);
    let mut entries = Vec::new();
    for one in crates::linked()?.into_keys().filter(|(name, _)| !name.starts_with("stridewise")) {
        entries.push(entry(&one, crates::package(&packages, &one)?)?);
    }
    Ok(written(&entries))
}

fn entry((name, version): &Crate, package: &Value) -> Result<Entry, String> {
    let folder = Path::new(text(package, "manifest_path")).parent().unwrap_or(Path::new(""));
    let files = files(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let expression = crates::licences(package);
    let there = |mark: &str| files.iter().any(|(_, text)| text.contains(mark));
    let chosen = chosen(&expression, there).map_err(|why| format!("{name} {version}: {why}"))?;
    let authors: Vec<&str> =
        package["authors"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut texts = Vec::new();
    for (licence, mark) in &chosen {
        // By its name where several have the words, as those of one file for all licences do.
        let own = |file: &&(String, String)| file.0.contains(&licence.to_uppercase());
        let with_words = || files.iter().filter(|(_, text)| text.contains(mark));
        match with_words().find(own).or_else(|| with_words().next()) {
            Some((_, text)) => texts.push(text.clone()),
            None => texts.push(standard(licence, name, &authors)?),
        }
    }
    let notices = files.iter().filter(|(file, _)| file.starts_with("NOTICE") || file.starts_with("COPYING."));
    texts.extend(notices.map(|(file, text)| format!("{file}\n\n{text}")));
    texts.dedup();
    let chosen = chosen.iter().map(|(licence, _)| *licence).collect();
    Ok(Entry { name: format!("{name} {version}"), expression, chosen, texts })
}

/// The files of a package that are about licences, in order, with their names in capitals.
fn files(folder: &Path) -> std::io::Result<Vec<(String, String)>> {
    const STARTS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && STARTS.iter().any(|start| name.starts_with(start)) {
            found.push((name, path));
        }
    }
    found.sort();
    let text = |path: PathBuf| std::fs::read(path).map(|bytes| plain(&String::from_utf8_lossy(&bytes)));
    found.into_iter().map(|(name, path)| Ok((name, text(path)?))).collect()
}

/// A text without what differs between systems and editors.
fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// The fewest licences that suffice, those first whose text is there.
fn chosen(
    expression: &str,
    there: impl Fn(&str) -> bool,
) -> Result<Vec<(&'static str, &'static str)>, String> {
    let parsed = Expression::parse_mode(expression, ParseMode::LAX)
        .map_err(|error| format!("the licence {expression:?}: {error}"))?;
    let suffice = |licences: &[(&str, &str)]| {
        let licensees: Vec<Licensee> =
            licences.iter().filter_map(|(name, _)| Licensee::parse(name).ok()).collect();
        parsed.evaluate(|requirement| licensees.iter().any(|licensee| licensee.satisfies(requirement)))
    };
    let mut chosen = PREFERRED.to_vec();
    chosen.sort_by_key(|(_, mark)| !there(mark));
    if !suffice(&chosen) {
        return Err(format!("none of the licences that are meant satisfies {expression:?}"));
    }
    // From the last on, each goes that is not needed.
    for position in (0..chosen.len()).rev() {
        let mut fewer = chosen.clone();
        fewer.remove(position);
        if suffice(&fewer) {
            chosen = fewer;
        }
    }
    Ok(chosen)
}

/// The text of a licence where the package has none: of this project's own copies.
fn standard(licence: &str, name: &str, authors: &[&str]) -> Result<String, String> {
    let read = |file: &str| {
        let path = crate::root().join(file);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let whose = if authors.is_empty() { format!("the authors of {name}") } else { authors.join(", ") };
    match licence {
        "MIT" => {
            let own = plain(&read("LICENSE-MIT")?);
            let line = own.lines().find(|line| line.starts_with("Copyright")).unwrap_or_default().to_owned();
            Ok(own.replacen(&line, &format!("Copyright (c) {whose}"), 1))
        }
        "Apache-2.0" => Ok(plain(&read("LICENSE-APACHE")?)),
        _ => Err(format!("{name}: its package has no text of the licence {licence}")),
    }
}

fn written(entries: &[Entry]) -> String {
    // Texts that several crates have stand once.
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in entries {
        for text in &entry.texts {
            let number = *numbers.entry(text).or_insert_with(|| {
                order.push((text, Vec::new()));
                order.len() - 1
            });
            order[number].1.push(&entry.name);
        }
    }
    let mut file = String::from(
        "What is linked into the Python module and the C library of Stridewise besides its own code: crates, the licences that they\n\
         offer, those that they are used under here, and the numbers of the texts below. Rust's standard library is linked in, too,\n\
         of the Rust Project Developers, under MIT OR Apache-2.0. The sources of all crates are on https://crates.io.\n\
         `cargo xtask third-party --write` writes this file.\n\n",
    );
    for entry in entries {
        let texts: Vec<String> =
            entry.texts.iter().map(|text| (numbers[text.as_str()] + 1).to_string()).collect();
        let _ = writeln!(
            file,
            "{} ({}): {}; {}",
            entry.name,
            entry.expression,
            entry.chosen.join(" AND "),
            texts.join(", ")
        );
    }
    for (number, (text, names)) in order.iter().enumerate() {
        let _ = write!(file, "\n{}\n{}. {}\n\n{text}\n", "=".repeat(100), number + 1, names.join(", "));
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_what_is_linked_in() {
        compare().unwrap();
    }

    #[test]
    fn the_fewest_licences_are_chosen() {
        let names = |expression: &str, there: &[&str]| -> Result<Vec<&str>, String> {
            let there =
                |mark: &str| PREFERRED.iter().any(|(name, of_it)| *of_it == mark && there.contains(name));
            Ok(chosen(expression, there)?.into_iter().map(|(name, _)| name).collect())
        };
        assert_eq!(names("MIT OR Apache-2.0", &["MIT", "Apache-2.0"]), Ok(vec!["MIT"]));
        assert_eq!(names("MIT OR Apache-2.0", &["Apache-2.0"]), Ok(vec!["Apache-2.0"]));
        assert_eq!(names("(MIT OR Apache-2.0) AND Unicode-3.0", &["MIT"]), Ok(vec!["MIT", "Unicode-3.0"]));
        assert_eq!(names("MIT OR Zlib", &[]), Ok(vec!["MIT"]));
        assert!(names("GPL-3.0-only", &["MIT"]).is_err());
    }

    #[test]
    fn a_text_stands_once() {
        let entry = |name: &str| Entry {
            name: name.to_owned(),
            expression: "MIT".to_owned(),
            chosen: vec!["MIT"],
            texts: vec!["a licence in words".to_owned()],
        };
        let file = written(&[entry("a 1"), entry("b 2")]);
        assert_eq!(file.matches("a licence in words").count(), 1, "{file}");
        assert!(file.contains("1. a 1, b 2\n"), "{file}");
    }
}
