//! Tells why a device is not found, or not as quick as it could be, and how to mend it. Ends with 0 where there is no problem,
//! else with 1.

use std::io::{Write, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    let diagnosis = stridewise::doctor();
    // Not `println!`, which panics where the reader goes away.
    let written = writeln!(stdout(), "{diagnosis}");
    if written.is_ok() && diagnosis.is_healthy() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
