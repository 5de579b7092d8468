//! Peers in processes of their own: each computes rows on request and times itself, so that it takes turns with ours.
//!
//! Requests and answers are lines of JSON; `peers/worker.py` describes them.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::measure::{Contender, Outcome};

/// The Python libraries that are asked for rows, where the environment has them.
const PYTHON_PEERS: [&str; 7] = ["numpy", "scipy", "pyfftw", "numexpr", "jax", "dpnp", "torch"];

/// Those that are asked for the rows of a GPU, and of another device.
const GPU_PEERS: [&str; 2] = ["torch", "cupy"];
const DEVICE_PEERS: [&str; 1] = ["numpy"];
/// The workers' programs, which a machine without this folder has, too.
const SCRIPTS: [(&str, &str); 3] = [
    ("worker.py", include_str!("peers/worker.py")),
    ("programs.py", include_str!("peers/programs.py")),
    ("gpu.py", include_str!("peers/gpu.py")),
];

/// A folder with the workers' programs, for as long as it is needed.
struct Scripts(PathBuf);

impl Scripts {
    fn new() -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("stridewise-peers-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let scripts = Self(folder);
        for (name, text) in SCRIPTS {
            std::fs::write(scripts.0.join(name), text)?;
        }
        Ok(scripts)
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        // What stays is a few files in a folder for such.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a worker is asked.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Request<'a> {
    Prepare { op: &'a str, layout: &'a str, dtype: &'a str, n: usize },
    Run(usize),
}

/// What it answers.
#[derive(Deserialize, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum Answer {
    /// It is there: its name and version.
    Ready(String),
    /// Whether it has the row.
    Prepared(bool),
    /// What the runs took.
    Seconds(f64),
    /// What went wrong.
    Error(String),
}

impl Answer {
    /// # Errors
    /// The line is no answer, or says that something went wrong.
    fn parse(line: &str) -> Outcome<Self> {
        match serde_json::from_str(line) {
            Ok(Self::Error(message)) => Err(message.into()),
            Ok(answer) => Ok(answer),
            Err(_) if line.is_empty() => Err("the process has ended".into()),
            Err(error) => Err(format!("`{}` is no answer: {error}", line.trim_end()).into()),
        }
    }
}

/// A process of a peer.
struct Worker {
    process: Child,
    /// `None` once it is to end.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts it; returns its version, too.
    fn start(command: &mut Command) -> Outcome<(Self, String)> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let requests = process.stdin.take();
        let answers = process.stdout.take().ok_or("no standard output")?;
        let mut worker = Self { process, requests, answers: BufReader::new(answers) };
        match worker.read()? {
            Answer::Ready(version) => Ok((worker, version)),
            other => Err(format!("{other:?} is no beginning").into()),
        }
    }

    fn read(&mut self) -> Outcome<Answer> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Answer::parse(&line)
    }

    fn ask(&mut self, request: &Request<'_>) -> Outcome<Answer> {
        let requests = self.requests.as_mut().ok_or("the process is ending")?;
        writeln!(requests, "{}", serde_json::to_string(request)?)?;
        requests.flush()?;
        self.read()
    }

    fn prepare(&mut self, op: &str, layout: &str, dtype: &str, n: usize) -> Outcome<bool> {
        match self.ask(&Request::Prepare { op, layout, dtype, n })? {
            Answer::Prepared(known) => Ok(known),
            other => Err(format!("{other:?} does not answer what was asked").into()),
        }
    }

    fn run(&mut self, count: usize) -> Outcome<f64> {
        match self.ask(&Request::Run(count))? {
            Answer::Seconds(seconds) => Ok(seconds),
            other => Err(format!("{other:?} does not answer what was asked").into()),
        }
    }
}

impl Drop for Worker {
    /// The end of its requests ends the process.
    fn drop(&mut self) {
        self.requests = None;
        // It has gone, or cannot be waited for: nothing is left to do in either case.
        let _ = self.process.wait();
    }
}

/// The peers that could be started.
pub(crate) struct Peers {
    workers: Vec<(String, RefCell<Worker>)>,
    /// Behind those that run them.
    _scripts: Option<Scripts>,
    /// Names and versions, for the report.
    pub(crate) versions: Vec<String>,
}

impl Peers {
    /// Starts the peers of a folder: a Python environment, with a worker of candle's as `bin/candle-worker`. What cannot be
    /// started is left out and said so.
    pub(crate) fn start(folder: Option<&Path>, threads: usize) -> Self {
        let mut peers = Self::of_python(folder, "worker.py", &PYTHON_PEERS, threads);
        if let Some(folder) = folder {
            let mut candle = Command::new(folder.join("bin").join("candle-worker"));
            peers.add("candle", candle.env("RAYON_NUM_THREADS", threads.to_string()));
        }
        peers
    }

    /// Starts those that compute on a device, as [`start`](Self::start) does.
    pub(crate) fn of_device(folder: Option<&Path>, gpu: bool) -> Self {
        let names = if gpu { &GPU_PEERS[..] } else { &DEVICE_PEERS };
        Self::of_python(folder, "gpu.py", names, usize::MAX)
    }

    fn of_python(folder: Option<&Path>, script: &str, names: &[&str], threads: usize) -> Self {
        let mut peers = Self { workers: Vec::new(), _scripts: None, versions: Vec::new() };
        let Some(folder) = folder else {
            return peers;
        };
        let scripts = match Scripts::new() {
            Ok(scripts) => scripts,
            Err(error) => {
                println!("the peers of Python are left out: {error}");
                return peers;
            }
        };
        for name in names {
            let mut command = Command::new(folder.join("bin").join("python"));
            peers.add(name, command.arg(scripts.0.join(script)).arg(name).arg(threads.to_string()));
        }
        peers._scripts = Some(scripts);
        peers
    }

    fn add(&mut self, name: &str, command: &mut Command) {
        match Worker::start(command) {
            Ok((worker, version)) => {
                println!("peer: {version}");
                self.versions.push(version);
                self.workers.push((name.to_owned(), RefCell::new(worker)));
            }
            Err(error) => println!("{name} is left out: {error}"),
        }
    }

    /// Those that have a row, ready to run it.
    pub(crate) fn contenders<'a>(
        &'a self,
        op: &str,
        layout: &str,
        dtype: &str,
        n: usize,
    ) -> Vec<Contender<'a>> {
        let mut contenders = Vec::new();
        for (name, worker) in &self.workers {
            match worker.borrow_mut().prepare(op, layout, dtype, n) {
                Ok(true) => contenders.push(Contender::new(name, |count| worker.borrow_mut().run(count))),
                Ok(false) => {}
                Err(error) => eprintln!("{name}, {op} {layout} {dtype} {n}: {error}"),
            }
        }
        contenders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        assert_eq!(Answer::parse("{\"seconds\": 2.5e-07}\n").unwrap(), Answer::Seconds(2.5e-7));
        assert_eq!(Answer::parse("{\"prepared\": false}\n").unwrap(), Answer::Prepared(false));
        assert_eq!(Answer::parse("{\"ready\": \"numpy 2\"}\n").unwrap(), Answer::Ready("numpy 2".to_owned()));
        let message = |line| Answer::parse(line).unwrap_err().to_string();
        assert_eq!(message("{\"error\": \"MemoryError: 8 GiB\"}\n"), "MemoryError: 8 GiB");
        assert_eq!(message(""), "the process has ended");
        assert!(message("Hello from a library\n").starts_with("`Hello from a library` is no answer"));
    }

    #[test]
    fn requests_are_what_the_worker_reads() {
        let request = Request::Prepare { op: "add", layout: "fresh", dtype: "float32", n: 16 };
        let line = "{\"prepare\":{\"op\":\"add\",\"layout\":\"fresh\",\"dtype\":\"float32\",\"n\":16}}";
        assert_eq!(serde_json::to_string(&request).unwrap(), line);
        assert_eq!(serde_json::to_string(&Request::Run(7)).unwrap(), "{\"run\":7}");
    }

    #[test]
    fn a_peer_that_is_not_there_is_left_out() {
        let mut peers = Peers { workers: Vec::new(), _scripts: None, versions: Vec::new() };
        peers.add("nothing", &mut Command::new("no-such-peer-of-stridewise"));
        assert!(peers.workers.is_empty() && peers.contenders("add", "fresh", "float32", 16).is_empty());
    }
}
