//! The programs of the tests, from the one build that the step `tests` makes of them.
//!
//! Steps that run one of them, with an OpenCL runtime or more cases, do not ask cargo for it by `--test`: a part of the workspace
//! shares less of the macros' packages with the programs than all of it does, for which cargo builds everything once more.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program and the folder that its package's tests run in.
pub(crate) struct Program {
    path: PathBuf,
    folder: PathBuf,
}

impl Program {
    /// The program of a test, or of a library's own tests, by its name; all that are behind are built.
    ///
    /// # Errors
    /// The build failed, or there is no such test.
    pub(crate) fn of(name: &str) -> Result<Self, String> {
        let mut build = crate::cargo();
        build
            .args(crate::test::tests().split_whitespace())
            .args(["--no-run", "--message-format=json-render-diagnostics"]);
        let line = crate::steps::written(&build);
        let output = build
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("{line} could not be started: {error}"))?;
        if !output.status.success() {
            return Err(format!("{line} failed ({})", output.status));
        }
        Self::only(&String::from_utf8_lossy(&output.stdout), name)
            .map_err(|what| format!("{line} builds {what} `{name}`"))
    }

    /// The one program of this name that cargo's messages speak of. The order of packages is not ours: of two, either could be first.
    fn only(messages: &str, name: &str) -> Result<Self, &'static str> {
        let mut found = messages.lines().filter_map(|message| Self::read(message, name));
        match (found.next(), found.next()) {
            (Some(program), None) => Ok(program),
            (None, _) => Err("no test"),
            (Some(_), Some(_)) => Err("several tests"),
        }
    }

    /// What a message of cargo's says of the program of a test.
    fn read(message: &str, name: &str) -> Option<Self> {
        let path = text(message, "\"executable\":\"")?;
        // The target's own name, behind its kinds.
        let target = message.split_once("\"target\":{")?.1;
        let manifest = text(message, "\"manifest_path\":\"")?;
        let is_test = message.contains("\"test\":true,") || message.contains("\"test\":true}");
        (text(target, "\"name\":\"")? == name && is_test).then(|| Self {
            path: path.into(),
            folder: Path::new(&manifest).parent().unwrap_or(Path::new("")).to_owned(),
        })
    }

    /// The command that runs it, in its package's folder, as cargo would.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// The text behind a key in a message, up to the next quotation mark. Paths with quotation marks or backslashes are not read.
fn text(message: &str, key: &str) -> Option<String> {
    let (_, rest) = message.split_once(key)?;
    rest.split_once('"').map(|(text, _)| text.replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_programs() {
        let message = r#"{"reason":"compiler-artifact","manifest_path":"/a/b/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"matrix","test":true},"profile":{"opt_level":"0","test":true},"features":[],"filenames":["/t/matrix-1"],"executable":"/t/matrix-1","fresh":true}"#;
        let program = Program::read(message, "matrix").unwrap();
        assert_eq!((program.path, program.folder), (PathBuf::from("/t/matrix-1"), PathBuf::from("/a/b")));
        assert!(Program::read(message, "numpy").is_none());
        let other = message.replace("/a/b/", "/a/c/");
        assert!(Program::only(message, "matrix").is_ok());
        assert_eq!(Program::only(&format!("{other}\n{message}"), "matrix").err(), Some("several tests"));
        assert!(
            Program::read(&message.replace("\"/t/matrix-1\",\"fresh\"", "null,\"fresh\""), "matrix")
                .is_none()
        );
    }
}
