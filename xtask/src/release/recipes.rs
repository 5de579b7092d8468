//! The recipes of conda-forge and Debian have the form that these ask for, and this version. Whether they build, only a build there
//! can tell.

use std::collections::BTreeMap;

fn read(file: &str) -> String {
    let path = crate::root().join("packaging").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The paragraphs of one of Debian's files, of fields that go on in lines that begin with a space (Policy, 5.1).
fn paragraphs(text: &str) -> Vec<BTreeMap<&str, String>> {
    let mut found: Vec<BTreeMap<&str, String>> = vec![BTreeMap::new()];
    let mut field = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.is_empty() {
            found.push(BTreeMap::new());
            field = "";
        } else if line.starts_with(' ') {
            assert!(!field.is_empty(), "a line goes on with nothing: {line:?}");
            assert!(!line.trim().is_empty(), "a line of spaces alone ends a paragraph for some readers");
            let last = found.last_mut().and_then(|paragraph| paragraph.get_mut(field)).unwrap();
            *last += &format!("\n{}", line.trim());
        } else {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("no field: {line:?}"));
            field = name;
            let before = found.last_mut().unwrap().insert(name, value.trim().to_owned());
            assert!(before.is_none(), "{name} stands twice");
        }
        assert!(!line.ends_with([' ', '\t']), "{line:?} ends with a space");
    }
    found.retain(|paragraph| !paragraph.is_empty());
    found
}

fn assert_has(paragraph: &BTreeMap<&str, String>, fields: &[&str]) {
    for field in fields {
        assert!(
            paragraph.get(field).is_some_and(|value| !value.is_empty()),
            "{field} is missing: {paragraph:?}"
        );
    }
}

#[test]
fn debian_names_packages() {
    let text = read("debian/control");
    let paragraphs = paragraphs(&text);
    let source = &paragraphs[0];
    let fields = [
        "Source",
        "Section",
        "Priority",
        "Maintainer",
        "Build-Depends",
        "Standards-Version",
        "Rules-Requires-Root",
    ];
    assert_has(source, &fields);
    // What the crates ask for.
    let manifest = std::fs::read_to_string(crate::root().join("Cargo.toml")).unwrap();
    let oldest = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(source["Build-Depends"].contains(&format!("rustc (>= {oldest})")), "{source:?}");
    assert!(paragraphs.len() > 1);
    for package in &paragraphs[1..] {
        assert_has(package, &["Package", "Architecture", "Depends", "Description"]);
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
        assert!(package["Package"].chars().all(is_of_name), "{}", package["Package"]);
        assert!(package["Depends"].contains("${misc:Depends}"), "{package:?}");
        let (synopsis, description) = package["Description"].split_once('\n').unwrap();
        assert!(synopsis.len() <= 80 && !synopsis.ends_with('.'), "{synopsis}");
        assert!(description.lines().all(|line| line.len() < 80), "{description}");
        // What is put into a package that is not the only one.
        let list = format!("debian/{}.install", package["Package"]);
        assert!(package["Package"].starts_with("python3-") || !read(&list).is_empty());
    }
}

#[test]
fn debian_has_this_version() {
    let text = read("debian/changelog");
    let mut lines = text.lines();
    let first = lines.next().unwrap();
    assert!(first.starts_with(&format!("stridewise ({}-", env!("CARGO_PKG_VERSION"))), "{first}");
    assert!(first.contains("; urgency="), "{first}");
    let trailer = lines.clone().find(|line| line.starts_with(" -- ")).unwrap();
    let (who, when) = trailer[4..].split_once(">  ").unwrap_or_else(|| panic!("{trailer}"));
    assert!(who.contains(" <") && when.len() >= 30 && when.ends_with("+0000"), "{trailer}");
    let is_entry = |line: &str| line.is_empty() || line.starts_with("  ");
    assert!(lines.take_while(|line| !line.starts_with(" -- ")).all(is_entry));
}

#[test]
fn debian_says_whose_it_is() {
    let text = read("debian/copyright");
    let paragraphs = paragraphs(&text);
    assert!(paragraphs[0]["Format"].ends_with("/copyright-format/1.0/"));
    let files: Vec<_> = paragraphs.iter().filter(|paragraph| paragraph.contains_key("Files")).collect();
    assert!(files.iter().any(|paragraph| paragraph["Files"] == "*"));
    for paragraph in files {
        assert_has(paragraph, &["Copyright", "License"]);
        for licence in paragraph["License"].split(" or ") {
            let there = |own: &BTreeMap<&str, String>| {
                !own.contains_key("Files")
                    && own.get("License").is_some_and(|text| text.lines().next() == Some(licence))
            };
            assert!(paragraphs.iter().any(there), "there is no text of {licence}");
        }
    }
}

#[test]
fn debian_has_rules() {
    let text = read("debian/rules");
    assert!(text.starts_with("#!/usr/bin/make -f\n"));
    // A rule's lines begin with a tab, and what begins with spaces is none.
    assert!(!text.lines().any(|line| line.starts_with(' ')), "{text}");
    assert!(text.contains("\n%:\n\tdh $@"), "{text}");
    assert_eq!(read("debian/source/format"), "3.0 (quilt)\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let path = crate::root().join("packaging/debian/rules");
        assert_ne!(std::fs::metadata(path).unwrap().permissions().mode() & 0o111, 0, "it is a program");
    }
}

#[test]
fn conda_has_this_version() {
    let text = read("conda-forge/recipe.yaml");
    let mut sections = Vec::new();
    let mut depth = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        let spaces = line.len() - line.trim_start().len();
        assert!(!line.contains('\t') && !line.ends_with(' '), "{line:?}");
        assert!(spaces % 2 == 0 && spaces <= depth + 4, "{line:?} is not indented as YAML is");
        depth = spaces;
        let is_item = line.trim_start().starts_with("- ");
        assert!(is_item || line.contains(':'), "{line:?} is neither a field nor an item");
        // An expression of the recipe begins with a dollar; braces alone would be a table of YAML's.
        assert!(line.matches("{{").count() == line.matches("${{").count(), "{line:?}");
        if spaces == 0 {
            sections.push(line.split(':').next().unwrap());
        }
    }
    let expected = [
        "schema_version",
        "context",
        "package",
        "source",
        "build",
        "requirements",
        "tests",
        "about",
        "extra",
    ];
    assert_eq!(sections, expected);
    let version = env!("CARGO_PKG_VERSION");
    for line in [
        format!("  version: \"{version}\""),
        "  license: MIT OR Apache-2.0".to_owned(),
        "  number: 0".to_owned(),
        "  name: stridewise".to_owned(),
    ] {
        assert!(text.lines().any(|other| other == line), "{line:?} is missing");
    }
    let sum = text.split("sha256: \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    assert!(sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sum}");
    // The same builder, and the same least Python, as the module asks for.
    let python = std::fs::read_to_string(crate::root().join("ffi/python/pyproject.toml")).unwrap();
    assert!(python.contains("maturin>=1.9,<2") && text.contains("maturin >=1.9,<2"));
    assert!(python.contains("requires-python = \">=3.11\"") && text.contains("python >=3.11"));
}
