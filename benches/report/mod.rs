//! The report: a page of tables, and its pictures.

mod computing;
mod pictures;
mod reasons;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::measure::Outcome;
use crate::row::Row;

/// Where the pictures are, beside the page.
const PICTURES: &str = "results";

/// Rows, and what they were measured on.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    /// The device, its threads, the peers' versions; empty where it is not known.
    pub(crate) machine: Vec<String>,
}

impl Report {
    /// Writes the page and its pictures into the folder of the benchmarks; returns the page's path. Rows of another device than
    /// the host have a page of their own, by the device's type.
    pub(crate) fn write(&self) -> Outcome<PathBuf> {
        let first = self.rows.first().ok_or("there is no row to report")?;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        if let Some(("opencl", rest)) = first.device.split_once(':') {
            let kind = rest.split(':').next().unwrap_or(rest);
            let page = folder.join(format!("RESULTS-{kind}.md"));
            fs::write(&page, tables::device_page(self))?;
            return Ok(page);
        }
        let pictures = folder.join(PICTURES);
        fs::create_dir_all(&pictures)?;
        let drawn = pictures::draw(&self.rows, &pictures)?;
        let page = folder.join("RESULTS.md");
        fs::write(&page, tables::page(self, &drawn))?;
        Ok(page)
    }
}
