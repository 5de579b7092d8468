//! A crate's sources as modules: what each defines, imports and mentions, and where a path leads.
//!
//! Paths are followed through `use` and `pub use`, to the file that defines what they name. What a module hands on counts as used
//! by it. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, UseTree};

/// The names of a path; the last may be `*`.
pub(super) type Names = Vec<String>;

/// A module: a file, a folder's `mod.rs`, or one that stands inside of a file.
#[derive(Default)]
struct Module {
    /// From the crate's root.
    place: Names,
    /// Its file, below the crate's folder of sources.
    file: String,
    defines: BTreeSet<String>,
    /// What names that it imports stand for.
    imports: BTreeMap<String, Names>,
    globs: Vec<Names>,
    /// Paths in it, those of `use` included.
    mentions: BTreeSet<Names>,
}

/// The modules of a crate, by their places.
#[derive(Default)]
pub(super) struct Sources {
    modules: BTreeMap<Names, Module>,
    /// Modules of files that only tests have.
    tests: Vec<Names>,
}

/// A use: by a module of a file, of a module in a file that defines something, by a path.
pub(super) struct Use {
    /// The user's module and file.
    pub(super) user: (Names, String),
    /// Modules that the path goes through by name, the one last that defines what it names, with their files.
    pub(super) used: Vec<(Names, String)>,
    /// The path, as written.
    pub(super) path: String,
}

/// How often a path is followed through imports, at most: some lead to themselves.
const MOST_STEPS: usize = 32;

impl Sources {
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let mut sources = Self::default();
        for file in files(folder)? {
            let name = file.strip_prefix(folder).unwrap_or(&file).display().to_string();
            let text = std::fs::read_to_string(&file).map_err(|error| format!("{name}: {error}"))?;
            sources.add(&name, &text)?;
        }
        sources.leave_tests_out();
        Ok(sources)
    }

    /// Adds a file, by its name below the folder of sources.
    pub(super) fn add(&mut self, name: &str, text: &str) -> Result<(), String> {
        let mut place: Names = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if matches!(place.last().map(String::as_str), Some("mod" | "lib")) {
            place.pop();
        }
        // Files of tests.
        if place.iter().any(|part| matches!(part.as_str(), "tests" | "interleavings")) {
            return Ok(());
        }
        let file = syn::parse_file(text).map_err(|error| format!("{name}: {error}"))?;
        self.add_items(name, place, file.items);
        Ok(())
    }

    /// Leaves out the modules that only tests have.
    fn leave_tests_out(&mut self) {
        let tests = std::mem::take(&mut self.tests);
        self.modules.retain(|place, _| !tests.iter().any(|test| place.starts_with(test)));
    }

    fn add_items(&mut self, file: &str, place: Names, items: Vec<Item>) {
        let mut module = Module { place: place.clone(), file: file.to_owned(), ..Module::default() };
        for item in items {
            if attributes(&item).iter().any(is_of_tests) {
                if let Item::Mod(inner) = item {
                    self.tests.push([place.clone(), vec![inner.ident.to_string()]].concat());
                }
                continue;
            }
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    if let Some((_, items)) = inner.content {
                        self.add_items(file, [place.clone(), vec![name]].concat(), items);
                    }
                }
                Item::Use(import) => module.import(Vec::new(), import.tree),
                item => {
                    if let Some(name) = defined(&item) {
                        module.defines.insert(name);
                    }
                    mentions(item.into_token_stream(), &mut module.mentions);
                }
            }
        }
        self.modules.insert(place, module);
    }

    /// Every module's place and file.
    pub(super) fn modules(&self) -> impl Iterator<Item = (&Names, &str)> {
        self.modules.values().map(|module| (&module.place, module.file.as_str()))
    }

    /// All uses of modules by others of other files.
    pub(super) fn uses(&self) -> Vec<Use> {
        let mut uses = Vec::new();
        for module in self.modules.values() {
            for path in &module.mentions {
                let mut through = Vec::new();
                if self.follow(&module.place, path, &mut through, 0).is_none() {
                    continue;
                }
                let used: Vec<(Names, String)> = through
                    .into_iter()
                    .map(|place| (place.clone(), self.modules[&place].file.clone()))
                    .collect();
                if used.last().is_some_and(|(_, file)| *file != module.file) {
                    let user = (module.place.clone(), module.file.clone());
                    uses.push(Use { user, used, path: path.join("::") });
                }
            }
        }
        uses
    }

    /// The place of a module that a path from another one leads to, or of the one that defines what it names. `None` where it leads
    /// out of the crate. Modules by whose names it goes are collected, the last one included.
    fn follow(
        &self,
        from: &[String],
        path: &[String],
        through: &mut Vec<Names>,
        steps: usize,
    ) -> Option<Names> {
        if steps > MOST_STEPS {
            return None;
        }
        let mut here: Names = from.to_vec();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => (here, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while let Some(("super", after)) = rest.split_first().map(|(a, b)| (a.as_str(), b)) {
                    here.pop()?;
                    rest = after;
                }
            }
            // A name of this module, or a crate's.
            name => {
                let inner = [from, &[name.to_owned()]].concat();
                if !self.modules.contains_key(&inner) && !self.modules[from].imports.contains_key(name) {
                    return None;
                }
            }
        }
        while let Some((name, after)) = rest.split_first() {
            let inner = [here.clone(), vec![name.clone()]].concat();
            let module = self.modules.get(&here)?;
            if name == "*" || name == "self" {
                break;
            } else if self.modules.contains_key(&inner) {
                here = inner;
            } else if module.defines.contains(name) {
                break;
            } else {
                // Another name for something: the way goes on from where that is.
                let mut options = module.imports.get(name).into_iter().cloned().collect::<Vec<_>>();
                let glob = |path: &Names| {
                    let mut path = path.clone();
                    path.push(name.clone());
                    path
                };
                if options.is_empty() {
                    options.extend(module.globs.iter().map(glob));
                }
                let own = here == from;
                for mut option in options {
                    option.extend_from_slice(after);
                    let mut further = through.clone();
                    // Its own imports are no other module's name.
                    if !own {
                        further.push(here.clone());
                    }
                    if let Some(found) = self.follow(&here, &option, &mut further, steps + 1) {
                        *through = further;
                        return Some(found);
                    }
                }
                if own && after.is_empty() {
                    return None;
                }
                break;
            }
            rest = after;
        }
        through.push(here.clone());
        self.modules.contains_key(&here).then_some(here)
    }
}

impl Module {
    fn import(&mut self, before: Names, tree: UseTree) {
        let with = |name: &dyn ToString| [before.clone(), vec![name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(with(&path.ident), *path.tree),
            UseTree::Group(group) => {
                for tree in group.items {
                    self.import(before.clone(), tree);
                }
            }
            UseTree::Glob(_) => {
                self.mentions.insert(with(&"*"));
                self.globs.push(before);
            }
            UseTree::Name(name) if name.ident == "self" => {
                if let Some(last) = before.last() {
                    self.imports.insert(last.clone(), before.clone());
                }
                self.mentions.insert(before);
            }
            UseTree::Name(name) => {
                self.imports.insert(name.ident.to_string(), with(&name.ident));
                self.mentions.insert(with(&name.ident));
            }
            UseTree::Rename(name) => {
                let path = if name.ident == "self" { before.clone() } else { with(&name.ident) };
                self.imports.insert(name.rename.to_string(), path.clone());
                self.mentions.insert(path);
            }
        }
    }
}

/// The paths in code, macros included.
fn mentions(code: TokenStream, to: &mut BTreeSet<Names>) {
    let tokens: Vec<TokenTree> = code.into_iter().collect();
    let colons = |at: usize| {
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
        is_colon(at) && is_colon(at + 1)
    };
    let is_ident = |at: usize, name: &str| matches!(tokens.get(at), Some(TokenTree::Ident(i)) if i == name);
    let mut at = 0;
    while at < tokens.len() {
        let behind_colons = at >= 2 && colons(at - 2);
        match &tokens[at] {
            TokenTree::Ident(first) if !behind_colons => {
                let mut path = vec![first.to_string()];
                while colons(at + 1) {
                    match tokens.get(at + 3) {
                        Some(TokenTree::Ident(name)) => path.push(name.to_string()),
                        // A `use` inside of a function.
                        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                            let mut inner = BTreeSet::new();
                            branches(&path, group.stream(), &mut inner);
                            to.append(&mut inner);
                            break;
                        }
                        _ => break,
                    }
                    at += 3;
                }
                if path.len() > 1 {
                    to.insert(path);
                }
            }
            // Who may see a thing is no use of it.
            TokenTree::Group(group) if is_ident(at.wrapping_sub(1), "pub") && begins_with_in(group) => {}
            TokenTree::Group(group) => mentions(group.stream(), to),
            _ => {}
        }
        at += 1;
    }
}

/// Whether a group is the one of `pub(in …)`.
fn begins_with_in(group: &Group) -> bool {
    group.delimiter() == Delimiter::Parenthesis
        && matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(first)) if first == "in")
}

/// The paths of a group of a `use` behind others.
fn branches(before: &[String], group: TokenStream, to: &mut BTreeSet<Names>) {
    let mut alone = BTreeSet::new();
    let mut expect = true;
    let tokens: Vec<TokenTree> = group.clone().into_iter().collect();
    for token in &tokens {
        match token {
            TokenTree::Ident(name) if expect => {
                alone.insert([before, &[name.to_string()]].concat());
                expect = false;
            }
            TokenTree::Punct(p) if p.as_char() == ',' => expect = true,
            _ => {}
        }
    }
    let mut longer = BTreeSet::new();
    mentions(group, &mut longer);
    to.extend(longer.into_iter().map(|path| [before, &path].concat()));
    to.append(&mut alone);
}

/// Whether an attribute says that only tests have what it stands at.
fn is_of_tests(attribute: &Attribute) -> bool {
    let text = attribute.to_token_stream().to_string().replace(' ', "");
    text.starts_with("#[cfg(test)") || text.starts_with("#[cfg(all(test")
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Macro(item) => item.ident.as_ref()?.to_string(),
        Item::Static(item) => item.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        Item::Union(item) => item.ident.to_string(),
        _ => return None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Sources {
        let mut sources = Sources::default();
        for (name, text) in files {
            sources.add(name, text).unwrap();
        }
        sources
    }

    /// What a file uses, as the files that define it.
    fn used(sources: &Sources, file: &str) -> BTreeSet<String> {
        let uses = sources.uses().into_iter().filter(|of| of.user.1 == file);
        uses.filter_map(|of| of.used.last().map(|(_, file)| file.clone())).collect()
    }

    const BELOW: (&str, &str) =
        ("below/mod.rs", "mod inner; pub use inner::Thing; pub use self::inner as hidden;");
    const INNER: (&str, &str) = ("below/inner.rs", "pub struct Thing; pub fn make() -> Thing { Thing }");

    #[test]
    fn what_a_module_hands_on_is_used_by_it_and_followed_to_its_file() {
        let sources =
            of(&[("lib.rs", "mod below; mod user;"), BELOW, INNER, ("user.rs", "use crate::below::Thing;")]);
        assert_eq!(used(&sources, "below/mod.rs"), BTreeSet::from(["below/inner.rs".to_owned()]));
        assert_eq!(used(&sources, "user.rs"), BTreeSet::from(["below/inner.rs".to_owned()]));
        let all = sources.uses();
        let of_user = all.iter().find(|of| of.user.1 == "user.rs").unwrap();
        let through: Vec<&str> = of_user.used.iter().map(|(_, file)| file.as_str()).collect();
        assert_eq!(through, ["below/mod.rs", "below/inner.rs"]);
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        let ways = [
            "fn f() { crate::below::hidden::make(); }",
            "fn f() -> crate::below::Thing { todo!() }",
            "use crate::below as low; fn f() { low::hidden::make(); }",
            "use crate::below::*; type T = self::Thing;",
            "fn f() { use crate::below::{hidden::{make}, Thing as T}; }",
            "fn f() { println!(\"{:?}\", super::user::g::<crate::below::Thing>()); }",
            "macro_rules! m { () => { $crate::below::Thing }; }",
            "mod inside { fn f(_: super::super::below::Thing) {} }",
        ];
        for way in ways {
            let sources = of(&[("lib.rs", "mod below; mod user;"), BELOW, INNER, ("user.rs", way)]);
            assert!(used(&sources, "user.rs").contains("below/inner.rs"), "{way}");
        }
        let not = [
            "// crate::below::Thing\n/// crate::below::Thing\nfn f() { let _ = \"crate::below::Thing\"; }",
            "#[cfg(test)] mod tests { use crate::below::Thing; }",
            "#[cfg(all(test, feature = \"x\"))] use crate::below::Thing;",
            "use std::below::Thing; fn f() { below::make(); }",
        ];
        for way in not {
            let sources = of(&[("lib.rs", "mod below; mod user;"), BELOW, INNER, ("user.rs", way)]);
            assert_eq!(used(&sources, "user.rs"), BTreeSet::new(), "{way}");
        }
    }
}
