//! What the doctor says: of this process, and of processes whose environment is wrong.

use std::path::{Path, PathBuf};
use std::process::Command;

use stridewise::backend::Health;

/// Says to a test that it is the child process of another.
const CHILD: &str = "TEST_OF_THE_DOCTOR";

/// What the doctor says in a process with these variables, and whether there is a problem.
fn said(variables: &[(&str, &str)]) -> (String, bool) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "a_process_says_what_it_found", "--nocapture"]).env(CHILD, "1");
    for name in ["STRIDEWISE_DEVICE", "STRIDEWISE_NUM_THREADS", "STRIDEWISE_GUARD", "STRIDEWISE_EXIT_SECONDS"]
    {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let healthy = text.contains("healthy: true");
    assert!(healthy || text.contains("healthy: false"), "{text}");
    (text, healthy)
}

/// Only as the child of the tests below.
#[test]
fn a_process_says_what_it_found() {
    if std::env::var_os(CHILD).is_some() {
        let diagnosis = stridewise::doctor();
        println!("{diagnosis}\nhealthy: {}", diagnosis.is_healthy());
    }
}

#[test]
fn parts_and_findings_are_there_and_every_remedy_belongs_to_what_is_wrong() {
    let diagnosis = stridewise::doctor();
    let names: Vec<&str> = diagnosis.parts().map(|(name, _)| name).collect();
    // Then the drivers of this build, by name.
    assert!(names.starts_with(&["stridewise", "environment"]) && names.contains(&"host"), "{names:?}");
    assert!(names[2..names.len() - 1].is_sorted(), "{names:?}");
    assert_eq!(names.last(), Some(&"devices"));
    for finding in diagnosis.findings() {
        assert_eq!(finding.remedy.is_empty(), finding.health == Health::Fine, "{finding:?}");
        assert!(!finding.text.is_empty() && !finding.subject.is_empty(), "{finding:?}");
    }
    let text = diagnosis.to_string();
    for subject in ["host:cpu:0", "STRIDEWISE_DEVICE", "STRIDEWISE_NUM_THREADS", "STRIDEWISE_GUARD"] {
        assert!(text.contains(subject), "{text}");
    }
}

#[test]
fn values_of_variables_that_cannot_be_used_are_problems_with_the_line_that_mends_them() {
    let cases = [
        ("STRIDEWISE_DEVICE", "host:cpu:99", "use one of: "),
        ("STRIDEWISE_NUM_THREADS", "many", "set it to the number of cores"),
        ("STRIDEWISE_EXIT_SECONDS", "soon", "export STRIDEWISE_EXIT_SECONDS=10"),
    ];
    for (name, value, remedy) in cases {
        let (text, healthy) = said(&[(name, value)]);
        assert!(!healthy, "{name}: {text}");
        let mut lines = text.lines().skip_while(|line| !line.contains(&format!(" {name} ")));
        let line = lines.next().unwrap();
        assert!(line.trim_start().starts_with("problem") && line.contains(value), "{text}");
        assert!(lines.next().unwrap().contains(remedy), "{text}");
    }
}

#[test]
fn a_variable_that_nothing_reads_and_one_that_turns_nothing_on_are_notes() {
    let (text, _) = said(&[("STRIDEWISE_DEVCE", "gpu"), ("STRIDEWISE_GUARD", "yes")]);
    let note =
        |name: &str| text.lines().find(|line| line.contains(&format!(" {name} "))).unwrap().trim_start();
    assert!(note("STRIDEWISE_DEVCE").starts_with("note"), "{text}");
    assert!(note("STRIDEWISE_GUARD").starts_with("note"), "{text}");
}

/// An empty folder that goes again.
struct Folder(PathBuf);
impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("stridewise-doctor-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
    fn path(&self) -> &Path {
        &self.0
    }
}
impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(all(feature = "opencl", target_os = "linux"))]
#[test]
fn a_driver_that_is_not_there_is_named_with_its_file() {
    let folder = Folder::new("broken");
    std::fs::write(folder.path().join("broken.icd"), "libstridewise-not-there.so.7\n").unwrap();
    let (text, healthy) = said(&[("OCL_ICD_VENDORS", folder.path().to_str().unwrap())]);
    assert!(text.contains("broken.icd"), "{text}");
    // Without a loader, drivers are not tried.
    if !text.contains("note     loader") && !text.contains("problem  loader") {
        assert!(!healthy && text.contains("libstridewise-not-there.so.7 cannot be loaded"), "{text}");
        assert!(text.contains("→ install the package that has libstridewise-not-there.so.7 again"), "{text}");
    }
    assert!(text.contains("host:cpu:0"), "the host is there all the same: {text}");
}

#[cfg(all(feature = "opencl", target_os = "linux"))]
#[test]
fn a_folder_without_drivers_is_said_to_be_one() {
    let folder = Folder::new("empty");
    let (text, _) = said(&[("OCL_ICD_VENDORS", folder.path().to_str().unwrap())]);
    assert!(text.contains("names no driver") && text.contains("→ unset OCL_ICD_VENDORS"), "{text}");
}
