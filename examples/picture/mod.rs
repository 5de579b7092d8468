//! Pictures of the examples.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

/// Writes a picture of so many columns, of 8 bits for each number, in the order of its rows; its folder is made.
pub(crate) fn write(
    path: &Path,
    columns: usize,
    color: png::ColorType,
    numbers: &[u8],
) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let rows = numbers.len() / (columns * color.samples()).max(1);
    let file = BufWriter::new(File::create(path)?);
    let mut encoder = png::Encoder::new(file, u32::try_from(columns)?, u32::try_from(rows)?);
    encoder.set_color(color);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(numbers)?;
    Ok(writer.finish()?)
}
