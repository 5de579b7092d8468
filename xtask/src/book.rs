//! `cargo xtask book`: the documentation site, with warnings as errors and references that lead nowhere refused.
//!
//! Sphinx reads Markdown by MyST, with the theme furo: tours and how-to pages for Rust, Python and C in one
//! place. Four packages from PyPI, pinned, in an environment of their own (123 MB in `target/book`;
//! installed in 20 s, all pages build in 5 s of processor time). The pages are plain Markdown, so that
//! rustdoc runs their Rust (`#[doc = include_str!]` in `src/lib.rs`), pytest their Python
//! (`test_documentation.py`) and the C compiler their C (`ffi/c/tests/programs.rs`). RELIABILITY is
//! shown, not copied (it loses its links), and signatures of Python come from the stubs, by two directives of
//! `docs/site/conf.py`. References to pages, headings and files are checked; those to
//! other sites are not, as a build must not need a network. mdBook would be one program, but cargo compiles
//! it first (several minutes, two hundred crates), it says nothing of links that lead nowhere without a
//! further program, and has nothing for signatures of Python.

use std::path::PathBuf;
use std::process::Command;

use clap::ArgMatches;

use crate::python;

/// What it is built with, next to its pages.
const REQUIREMENTS: &str = "docs/site/requirements.txt";

pub(crate) const COMMAND: crate::Command = crate::Command {
    name: "book",
    about: "Build the documentation site into target/book/html",
    arguments: |command| command,
    run: |_: &ArgMatches| {
        build()?;
        println!("{}", pages().join("index.html").display());
        Ok(())
    },
};

fn environment() -> PathBuf {
    crate::root().join("target").join("book")
}

fn pages() -> PathBuf {
    environment().join("html")
}

/// Builds the site anew.
///
/// # Errors
/// There is no Python, Sphinx cannot be had, or a page has a warning.
pub(crate) fn build() -> Result<(), String> {
    let root = crate::root();
    let python = python::program_of(&environment(), "python");
    let wanted = root.join(REQUIREMENTS);
    let wanted =
        std::fs::read_to_string(&wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
    // What was installed for the requirements of then.
    let mark = environment().join("requirements.txt");
    if std::fs::read_to_string(&mark).ok().as_ref() != Some(&wanted) {
        python::new_environment(&environment())?;
        let mut install = python::pip_install_into(&environment());
        crate::run_to_end(install.current_dir(&root).args(["--requirement", REQUIREMENTS]))?;
        std::fs::write(&mark, wanted).map_err(|error| format!("{}: {error}", mark.display()))?;
    }
    if pages().exists() {
        // Pages that went would stay.
        std::fs::remove_dir_all(pages()).map_err(|error| format!("{}: {error}", pages().display()))?;
    }
    let mut sphinx = Command::new(&python);
    sphinx.current_dir(&root).args([
        "-m",
        "sphinx",
        "--quiet",
        "--fail-on-warning",
        "--keep-going",
        "--fresh-env",
    ]);
    sphinx.args(["--nitpicky", "--builder", "html", "--doctree-dir", "target/book/doctrees", "docs/site"]);
    crate::run_to_end(sphinx.arg(pages()))
}

/// Looks at every page of the site that was built, in a browser.
///
/// # Errors
/// A page is wider than its window, lacks a picture, or leads nowhere; there is no browser.
pub(crate) fn walk() -> Result<(), String> {
    let mut python = Command::new(python::program_of(&environment(), "python"));
    crate::run_to_end(python.current_dir(crate::root()).arg("docs/site/walk.py").arg(pages()))
}
