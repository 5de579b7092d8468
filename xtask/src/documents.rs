//! What the documents name is there: files, folders, constants with their values, and names of the code.
//!
//! A document goes stale without a sound, as no compiler reads it: a file is renamed, a constant gets another value, a function
//! goes. These tests read what stands between backticks and where links lead, and look it up in the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Endings of the files whose words are the names that a document may use.
const SOURCES: &[&str] = &["rs", "py", "pyi", "toml", "c", "h", "cl", "yml"];
/// Folders that are no part of the sources.
const LEFT_OUT: &[&str] = &["target", "out"];
/// Names of others, which no source of ours has.
const FOREIGN: &[&str] = &["OPENCL_LAYERS", "PR_SET_MDWE", "shallow_clone", "vstore_half"];

/// All files of the project, from the root.
fn files(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder && !name.starts_with(".git") && !LEFT_OUT.contains(&&*name) {
                folders.push(path);
            } else if !is_folder {
                found.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    found
}

/// The tree as documents name it.
struct Tree {
    root: PathBuf,
    files: Vec<PathBuf>,
    /// The ends of all paths, of files and folders: `lazy/mod.rs`, `mod.rs`, `core/src/lazy/mod.rs`, `lazy`.
    ends: BTreeSet<String>,
    /// All words of the sources.
    words: BTreeSet<String>,
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Tree {
    fn new() -> Self {
        let root = crate::root();
        let files = files(&root);
        let (mut ends, mut words) = (BTreeSet::new(), BTreeSet::new());
        for file in &files {
            for path in file.ancestors().filter(|path| path.components().next().is_some()) {
                let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
                ends.extend((0..parts.len()).map(|from| parts[from..].join("/")));
            }
            if file.extension().is_some_and(|end| SOURCES.iter().any(|source| end == *source)) {
                let bytes = std::fs::read(root.join(file)).unwrap();
                let text = String::from_utf8_lossy(&bytes);
                words.extend(text.split(|c| !is_of_word(c)).map(str::to_owned));
            }
        }
        Self { root, files, ends, words }
    }

    fn read(&self, file: &Path) -> String {
        std::fs::read_to_string(self.root.join(file)).unwrap()
    }

    /// The documents about the project itself; pages for users name what others have, too.
    fn documents(&self) -> impl Iterator<Item = &Path> {
        let own = |file: &&PathBuf| {
            let top = file.components().count() == 1;
            file.extension().is_some_and(|end| end == "md")
                && (top && !file.ends_with("CHANGELOG.md") || file.starts_with("docs"))
        };
        self.files.iter().filter(own).map(PathBuf::as_path)
    }

    /// What is wrong with the text between two backticks.
    fn complaint(&self, span: &str, is_about_code: bool) -> Option<&'static str> {
        let is_path = span.contains('/') || [".rs", ".md", ".cl"].iter().any(|end| span.ends_with(end));
        let is_plain = |c: char| is_of_word(c) || "./-".contains(c);
        // A range of devices, a unit, a type of a file, a path of the system, what is built.
        let is_ours = span.chars().all(is_plain)
            && !span.starts_with(['/', '.', '~'])
            && span.chars().next().is_some_and(|c| c.is_lowercase() || c == '_')
            && !["target/", "out/"].iter().any(|folder| span.starts_with(folder));
        if is_path {
            let last = span.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let is_file = last.contains('.') || span.ends_with('/');
            let there = || self.ends.contains(span.trim_end_matches('/'));
            return (is_ours && is_file && !there()).then_some("there is no such file or folder");
        }
        // `Node::record`, `record_above`, `MAX_STEPS`, `f()`: what can be nothing but a name of the code.
        let name = span.trim_end_matches("()").trim_end_matches('!');
        let is_name = !name.is_empty()
            && name.chars().all(|c| is_of_word(c) || c == ':')
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && (name.contains("::") || name.contains('_'));
        let there = || name.split(':').filter(|part| !part.is_empty()).all(|part| self.words.contains(part));
        (is_about_code && is_name && !FOREIGN.contains(&name) && !there())
            .then_some("no source has that name")
    }
}

/// The texts between backticks, each with the number of its line; blocks of code are left out.
fn spans(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut in_block) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            found.extend(line.split('`').skip(1).step_by(2).map(|span| (number + 1, span)));
        }
    }
    found
}

/// Where links of a document lead, without those to other places than files.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let of_notes =
        text.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: ").map(|(_, to)| to));
    let files = targets.chain(of_notes).filter(|to| !to.contains("://") && !to.starts_with('#'));
    files.map(|to| to.split('#').next().unwrap_or(to).trim())
}

#[test]
fn documents_name_what_is_there() {
    let tree = Tree::new();
    let mut complaints = String::new();
    let mut looked_at = 0;
    for file in tree.documents() {
        let text = tree.read(file);
        let is_about_code = !file.starts_with("docs/site");
        for (line, span) in spans(&text) {
            looked_at += 1;
            if let Some(why) = tree.complaint(span, is_about_code) {
                let _ = writeln!(complaints, "{}:{line}: `{span}`: {why}", file.display());
            }
        }
        let folder = tree.root.join(file.parent().unwrap_or(Path::new("")));
        // The site's own links are its builder's, which denies broken ones.
        for link in
            links(&text).filter(|link| is_about_code && !link.is_empty() && !folder.join(link).exists())
        {
            let _ = writeln!(complaints, "{}: the link to {link} leads nowhere", file.display());
        }
    }
    assert!(looked_at > 1000, "documents have names: {looked_at}");
    assert!(complaints.is_empty(), "\n{complaints}");
}

/// A row of the table of tuned constants.
struct Row<'a> {
    line: usize,
    /// One, or one for each constant.
    files: Vec<String>,
    constants: Vec<&'a str>,
    values: Vec<&'a str>,
}

/// The rows; each section says below which folder its files are.
fn rows(text: &str) -> Vec<Row<'_>> {
    let (mut folder, mut found) = ("", Vec::new());
    for (number, line) in text.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("Files are below `") {
            folder = rest.split('`').next().unwrap_or_default();
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        if line.starts_with("| `") && cells.len() >= 4 {
            let quoted = |cell: &'_ str| -> Vec<&str> {
                let at = text.find(cell).unwrap_or(0);
                text[at..at + cell.len()].split('`').skip(1).step_by(2).collect()
            };
            found.push(Row {
                line: number + 1,
                files: quoted(cells[1]).iter().map(|file| format!("{folder}{file}")).collect(),
                constants: quoted(cells[0]),
                // A value in words, as of a time, is for readers alone.
                values: if cells[2].contains('`') { quoted(cells[2]) } else { Vec::new() },
            });
        }
    }
    found
}

/// The constants of a source with their values, as they are written; a name that stands twice has both.
fn constants(source: &str) -> BTreeMap<&str, Vec<String>> {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for rest in source.split("const ").skip(1) {
        let Some((name, rest)) = rest.split_once(':') else { continue };
        let Some((_, value)) = rest.split_once('=') else { continue };
        let value: String = value.split(';').next().unwrap_or_default().split_whitespace().collect();
        if name.chars().all(is_of_word) {
            found.entry(name).or_default().push(value);
        }
    }
    found
}

#[test]
fn tuned_constants_are_those_of_the_sources() {
    let tree = Tree::new();
    let text = tree.read(Path::new("docs/tuning.md"));
    let rows = rows(&text);
    assert!(rows.len() > 100, "the table has rows: {}", rows.len());
    let mut complaints = String::new();
    for Row { line, files, constants: names, values } in rows {
        // One of a list for each constant, or one for all of them.
        let one_each = |count: usize| count == 1 || count == names.len();
        if !one_each(files.len()) || !(values.is_empty() || one_each(values.len())) {
            let _ = writeln!(complaints, "{line}: so many files or values do not go with {names:?}");
            continue;
        }
        for (position, name) in names.iter().enumerate() {
            let file = files.get(position).unwrap_or(&files[0]);
            let Ok(source) = std::fs::read_to_string(tree.root.join(file)) else {
                let _ = writeln!(complaints, "{line}: there is no {file}, for {name}");
                continue;
            };
            let Some(found) = constants(&source).remove(name) else {
                let _ = writeln!(complaints, "{line}: {file} has no constant {name}");
                continue;
            };
            let told = values.get(position).or(values.first());
            let told: Option<String> = told.map(|value| value.split_whitespace().collect());
            if let Some(told) = told.filter(|told| !found.contains(told)) {
                let _ = writeln!(complaints, "{line}: {name} is {found:?} in {file}, not {told}");
            }
        }
    }
    assert!(complaints.is_empty(), "\n{complaints}");
}

#[test]
fn constants_and_spans_are_read() {
    let read = constants(
        "const A: usize = 1 << 4;\npub(crate) const B_2: [u8; 2] =\n    [1, 2];\nconst fn f(x: u8) -> u8 { x }",
    );
    assert_eq!(read["A"], ["1<<4"]);
    assert_eq!(read.get("B_2").map(Vec::len), Some(1));
    assert_eq!(spans("a `b` c `d`\n```\n`e`\n```\n`f`"), [(1, "b"), (1, "d"), (5, "f")]);
    assert_eq!(
        links("[a](b.md#c) [d](#e) [f](https://g)\n[h]: i/j.rs\n").collect::<Vec<_>>(),
        ["b.md", "i/j.rs"]
    );
}
