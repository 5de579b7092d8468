//! The C programs, built with the C compiler's warnings as errors, against both libraries, and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use stridewise::prelude::*;

#[allow(dead_code, reason = "the example in Rust uses all of it")]
#[path = "../../../examples/hillshade/shade.rs"]
mod shade;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/jacksboro_dem.npy");

/// The static library, which every target has. Where programs have the C library in them, it is the only one.
const STATIC: &str = "libstridewise_c.a";
const MUSL: bool = cfg!(target_env = "musl");

/// The folder of the libraries, which cargo has built for these tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(Path::to_owned).find(|folder| folder.join(STATIC).exists());
    found.unwrap_or_else(|| panic!("{STATIC} is not beside {}", test.display()))
}

#[derive(Clone, Copy, Debug)]
enum Link {
    Shared,
    Static,
}

/// What unwinds panics without glibc: Rust's own, as that of a compiler that is for glibc asks glibc.
fn unwinder() -> PathBuf {
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    let output = rustc.args(["--print", "target-libdir", "--target", &target]).output().unwrap();
    let folder = String::from_utf8(output.stdout).unwrap();
    Path::new(folder.trim()).join("self-contained").join("libunwind.a")
}

/// Builds a program of this crate's folder, or of a path.
fn build(source: &str, link: Link) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{link:?}"));
    let libraries = libraries();
    let by_default = if MUSL { "musl-gcc" } else { "cc" };
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| by_default.into()));
    compiler
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"])
        // The examples use nothing beyond C11 and POSIX threads.
        .arg("-D_POSIX_C_SOURCE=200809L")
        .arg("-I")
        .arg(root.join("include"))
        .arg(root.join(source))
        .arg("-o")
        .arg(&program);
    match link {
        _ if MUSL => {
            compiler.arg(libraries.join(STATIC)).arg("-static").arg(unwinder());
        }
        Link::Shared => {
            compiler.arg("-L").arg(&libraries).arg("-lstridewise_c");
            compiler.arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        Link::Static => {
            compiler.arg(libraries.join(STATIC)).args(["-ldl", "-lgcc_s"]);
        }
    }
    let output = compiler.args(["-lm", "-lpthread"]).output().unwrap();
    assert!(output.status.success(), "{source}: {}", String::from_utf8_lossy(&output.stderr));
    program
}

/// The program in the README.
fn readme() -> PathBuf {
    let text = include_str!("../../../README.md");
    let (_, rest) = text.split_once("```c\n").unwrap();
    let (lines, _) = rest.split_once("```").unwrap();
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme.c");
    let head = "#include <stdio.h>\n#include \"stridewise.h\"\nint main(void) {\n";
    std::fs::write(&source, format!("{head}{lines}\nprintf(\"%g\\n\", value);\nreturn 0;\n}}\n")).unwrap();
    source
}

/// Runs a program on the host, whatever devices there are.
fn run(program: &Path, arguments: &[&Path]) -> Output {
    let mut command = Command::new(program);
    // Cargo's own path leads to whichever library was built last for another purpose.
    command.args(arguments).env("STRIDEWISE_DEVICE", "host").env("LD_LIBRARY_PATH", libraries());
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}: {}\n{out}\n{err}", program.display(), output.status);
    output
}

#[test]
fn the_program_in_the_readme_computes_what_it_should() {
    let source = readme();
    let output = run(&build(source.to_str().unwrap(), Link::Shared), &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "91\n");
}

/// The programs on the pages of the site, each a block of its own.
#[test]
fn the_programs_on_the_site_run() {
    let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/site");
    // A package that was published has no site.
    let Ok(pages) = std::fs::read_dir(site) else { return };
    let mut count = 0;
    for page in
        pages.map(|page| page.unwrap().path()).filter(|page| page.extension().is_some_and(|e| e == "md"))
    {
        let text = std::fs::read_to_string(&page).unwrap();
        for block in text.split("\n```c\n").skip(1) {
            let (program, _) = block.split_once("\n```").unwrap();
            let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("site{count}.c"));
            std::fs::write(&source, format!("{program}\n")).unwrap();
            run(&build(source.to_str().unwrap(), Link::Shared), &[]);
            count += 1;
        }
    }
    assert!(count >= 3, "{count}");
}

#[test]
fn a_buffer_goes_in_and_comes_back() {
    for link in [Link::Shared, Link::Static] {
        let output = run(&build("examples/adopt.c", link), &[]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "672\n");
    }
}

#[test]
fn a_kernel_from_a_source_is_launched_where_a_device_compiles_it() {
    let program = build("examples/kernel.c", Link::Shared);
    let said = |device: &str| String::from_utf8(run(&program, &[Path::new(device)]).stdout).unwrap();
    assert!(said("host").starts_with("no sources: "));
    match Device::select("opencl") {
        Ok(_) => assert_eq!(said("opencl"), "20 21 22 23 24 25 26 27 \n"),
        Err(_) => assert!(said("opencl").starts_with("no such device: ")),
    }
}

#[test]
fn the_hillshade_is_that_of_the_example_in_rust() {
    let program = build("examples/hillshade.c", Link::Shared);
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shade.npy");
    run(&program, &[Path::new(MODEL), &made]);

    let queue = Device::select("host").unwrap().queue().unwrap();
    let model = UsmArray::load_npy_on(MODEL, &queue, UsmKind::Shared).unwrap();
    let scene = shade::Scene { cell_m: [74.5, 92.8], azimuth: 315.0, altitude: 45.0 };
    let expected = shade::hillshade(&shade::heights(&model).unwrap(), &scene).unwrap().shade;
    let shade = UsmArray::load_npy_on(&made, &queue, UsmKind::Shared).unwrap();
    assert_eq!(shade.shape(), expected.shape());
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert!(bits(shade.to_vec().unwrap()) == bits(expected.to_vec().unwrap()), "the bits differ");
}

#[test]
fn the_hillshade_needs_no_file() {
    let output = run(&build("examples/hillshade.c", Link::Static), &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    // A hill of 900 m, whose level surroundings are as bright as the light is high: 255 sin 45°.
    assert!(text.contains("to 900 m") && text.contains("shade: "), "{text}");
}

#[test]
fn wrong_arguments_are_errors() {
    run(&build("tests/faults.c", Link::Shared), &[]);
}

#[test]
fn the_program_of_wrong_arguments_knows_every_function() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (header, faults) = (read("include/stridewise.h"), read("tests/faults.c"));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let functions: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with("//"))
        .flat_map(|line| line.split_inclusive('('))
        .filter_map(|part| part.strip_suffix('('))
        .map(|part| part.rsplit(|c| !is_name(c)).next().unwrap_or_default())
        .filter(|name| name.starts_with("sw_"))
        .collect();
    assert!(functions.len() > 50, "{functions:?}");
    for name in functions {
        assert!(faults.contains(&format!("{name}(")), "{name} is not called");
    }
}
