//! `cargo xtask api`: the public names of the crate `stridewise`, beside those that the repository keeps in `docs/api.txt`, so
//! that a change of them is seen where it is made.
//!
//! They are read from the pages that `cargo doc` writes, which every toolchain can make: items, their methods, variants and
//! fields, and the traits that they implement. Signatures are left out: how they are written changes with the toolchain.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches};

/// Where the listing lies.
pub(crate) const LISTING: &str = "docs/api.txt";
/// Traits that the compiler implements, and that users count on: what lacks one of them is listed with it, behind a `!`.
const AUTOMATIC: &[&str] = &["RefUnwindSafe", "Send", "Sync", "Unpin", "UnwindSafe"];

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "api",
    about: "Compare the public names of the crate with the listing in docs/api.txt",
    arguments: |command| {
        command
            .arg(Arg::new("write").long("write").action(ArgAction::SetTrue).help("Write the listing instead"))
    },
    run: |arguments: &ArgMatches| {
        crate::run_to_end(crate::cargo().args(["doc", "--locked", "--workspace", "--no-deps"]))?;
        if !arguments.get_flag("write") {
            return compare();
        }
        let path = crate::root().join(LISTING);
        fs::write(&path, listing()?).map_err(|error| format!("{}: {error}", path.display()))
    },
};

/// Complains about what is not as the listing says; the documentation has been made.
pub(crate) fn compare() -> Result<(), String> {
    let path = crate::root().join(LISTING);
    let kept = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let found = listing()?;
    let (kept, found) = (whole(&kept), whole(&found));
    let mut complaints = String::new();
    for (sign, names) in [('-', kept.difference(&found)), ('+', found.difference(&kept))] {
        for name in names {
            let _ = writeln!(complaints, "{sign} {name}");
        }
    }
    if complaints.is_empty() {
        println!("the public names are those of {LISTING}: {}", found.len());
        return Ok(());
    }
    Err(format!(
        "the public names are not those of {LISTING}:\n{complaints}\
         what goes (-) or is renamed breaks users; where that is meant, `cargo xtask api --write` writes the listing"
    ))
}

/// The names of a listing that a later one lacks.
pub(crate) fn gone(before: &str, after: &str) -> Vec<String> {
    let after = whole(after);
    whole(before).into_iter().filter(|name| !after.contains(name)).collect()
}

/// Every line with the item before it that it belongs to.
fn whole(listing: &str) -> BTreeSet<String> {
    let mut item = "";
    let mut lines = BTreeSet::new();
    for line in listing.lines() {
        match line.strip_prefix("  ") {
            Some(part) => lines.insert(format!("{item}: {part}")),
            None => {
                item = line;
                lines.insert(line.to_owned())
            }
        };
    }
    lines
}

/// Every item of the crate, and what belongs to it.
fn listing() -> Result<String, String> {
    let pages = crate::root().join("target/doc/stridewise");
    let read = |page: &Path| fs::read_to_string(page).map_err(|error| format!("{}: {error}", page.display()));
    let mut items = BTreeSet::new();
    for address in values(&read(&pages.join("all.html"))?, "href") {
        // Others lead out of the crate.
        let Some((kind, path)) = item(&address) else { continue };
        let mut text = format!("{path} ({kind})\n");
        for part in parts(&read(&pages.join(&address))?) {
            let _ = writeln!(text, "  {part}");
        }
        items.insert(text);
    }
    Ok(items.into_iter().collect())
}

/// The kind and the path of an item, by its page's address.
fn item(address: &str) -> Option<(&str, String)> {
    let (folder, file) = address.rsplit_once('/').unwrap_or(("", address));
    let (kind, name) = file.strip_suffix(".html")?.split_once('.')?;
    let is_inside = !folder.contains("..") && !folder.contains(':');
    let path = format!("{}::{name}", if folder.is_empty() { "stridewise" } else { folder });
    is_inside.then(|| (kind, path.replace('/', "::")))
}

/// What belongs to the item of a page.
fn parts(page: &str) -> BTreeSet<String> {
    const TRAITS: &str = "id=\"trait-implementations\"";
    const AUTO: &str = "id=\"synthetic-implementations\"";
    const BLANKET: &str = "id=\"blanket-implementations\"";
    // What a page has of others: methods by way of `Deref`, and who implements a trait.
    const FOREIGN: [&str; 2] = ["id=\"deref-methods", "id=\"implementors\""];
    let until = |page: &'_ str, ends: &[&str]| ends.iter().filter_map(|end| page.find(end)).min();
    let own = &page[..until(page, &[&[TRAITS, AUTO, BLANKET], &FOREIGN[..]].concat()).unwrap_or(page.len())];
    let mut parts = BTreeSet::new();
    for id in values(own, "id") {
        let Some((kind, name)) = id.split_once('.') else { continue };
        let kind = match kind {
            "method" | "tymethod" | "variant" => kind.trim_start_matches("ty"),
            "structfield" => "field",
            "associatedconstant" | "associatedtype" => kind.trim_start_matches("associated"),
            _ => continue,
        };
        // A variant's fields have the variant's name before theirs; a name that is there twice has a number behind it.
        let name = name.split_once('.').map_or(name, |(variant, _)| variant);
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix('-').unwrap_or(name);
        parts.insert(format!("{kind} {name}"));
    }
    let implemented = |from: Option<usize>, ends: &[&str]| {
        let section = from.map_or("", |from| &page[from..]);
        let section = &section[..until(section, ends).unwrap_or(section.len())];
        let traits = values(section, "id").filter_map(|id| Some(id.strip_prefix("impl-")?.to_owned()));
        // Behind the trait's name: its parameters, or for which type.
        let names = traits.map(|id| id.split(['%', '-', '<']).next().unwrap_or_default().to_owned());
        names.collect::<BTreeSet<_>>()
    };
    let by_hand = implemented(page.find(TRAITS), &[AUTO, BLANKET]);
    let automatic = implemented(page.find(AUTO), &[BLANKET]);
    let automatic = automatic
        .into_iter()
        .filter(|name| name.strip_prefix('!').is_some_and(|name| AUTOMATIC.contains(&name)));
    // The compiler's own, of which no user knows.
    let by_hand = by_hand.into_iter().filter(|name| name != "StructuralPartialEq");
    parts.extend(by_hand.chain(automatic).map(|name| format!("trait {name}")));
    parts
}

/// The values of an attribute, in order.
fn values(page: &str, attribute: &str) -> impl Iterator<Item = String> {
    let mark = format!("{attribute}=\"");
    page.split(&mark)
        .skip(1)
        .filter_map(|rest| rest.split_once('"'))
        .map(|(value, _)| value.to_owned())
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_told_by_their_pages() {
        assert_eq!(item("struct.Array.html"), Some(("struct", "stridewise::Array".to_owned())));
        assert_eq!(item("backend/trait.Device.html"), Some(("trait", "backend::Device".to_owned())));
        assert_eq!(item("../settings.html"), None);
        assert_eq!(item("https://example.org/a.b.html"), None);
    }

    #[test]
    fn parts_are_an_items_own() {
        let page = r#"<a id="method.len"><a id="method.len-1"><a id="variant.Seven"><a id="variant.Seven.field.0">
            <h2 id="trait-implementations"><a id="impl-Add%3CT%3E-for-X"><a id="method.add"><a id="impl-Clone-for-X">
            <h2 id="synthetic-implementations"><a id="impl-!Send-for-X"><a id="impl-Freeze-for-X"><a id="impl-Sync-for-X">
            <h2 id="blanket-implementations"><a id="impl-Any-for-T">"#;
        let expected = ["method len", "trait !Send", "trait Add", "trait Clone", "variant Seven"];
        assert_eq!(parts(page).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn lines_are_compared_with_their_items() {
        let lines = whole("a (fn)\nb (struct)\n  method c\n");
        assert_eq!(lines.into_iter().collect::<Vec<_>>(), ["a (fn)", "b (struct)", "b (struct): method c"]);
        assert_eq!(
            gone("a (fn)\nb (struct)\n  method c\n", "b (struct)\nd (fn)\n"),
            ["a (fn)", "b (struct): method c"]
        );
    }
}
