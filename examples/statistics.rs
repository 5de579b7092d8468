//! From a table of text to statistics: columns are parsed by the standard library, and described and grouped as arrays.
//!
//! `cargo run --release --example statistics`

use std::error::Error;

use stridewise::prelude::*;

/// What a file would have: petals of three species.
const TABLE: &str = "\
species,length,width
0,1.4,0.2
0,1.3,0.2
0,1.7,0.4
0,1.5,0.1
1,4.7,1.4
1,4.5,1.5
1,4.0,1.3
1,4.6,1.5
2,6.0,2.5
2,5.1,1.9
2,5.9,2.1
2,5.6,1.8
";

struct Table<'a> {
    names: Vec<&'a str>,
    rows: Array<f64>,
}

fn parsed(text: &str) -> Result<Table<'_>, Box<dyn Error>> {
    let mut lines = text.lines();
    let names = lines.next().ok_or("no head")?.split(',').collect();
    let rows: Result<Vec<Vec<f64>>, _> =
        lines.map(|line| line.split(',').map(str::parse).collect()).collect();
    // Rows of different lengths are an error that names the row.
    Ok(Table { names, rows: Array::try_from(rows?)? })
}

fn main() -> Result<(), Box<dyn Error>> {
    let Table { names, rows: table } = parsed(TABLE)?;
    println!("{:?} of {} columns", table.shape(), names.len());
    println!("{:8} {:>7} {:>7} {:>7} {:>7}", "", "mean", "std", "min", "max");
    for (name, column) in names.iter().zip(table.t().rows()?).skip(1) {
        let (mean, deviation) = (column.mean()?, column.std(1.0)?);
        println!("{name:8} {mean:7.3} {deviation:7.3} {:7.3} {:7.3}", column.min()?, column.max()?);
    }
    let (length, width) = (table.slice(s![.., 1])?, table.slice(s![.., 2])?);
    let correlation = Array::stack(&[&length, &width], 0)?.corrcoef()?.get([0, 1])?;
    println!("correlation of {} and {}: {correlation:.3}", names[1], names[2]);

    let species = table.slice(s![.., 0])?;
    for number in species.unique_values()?.to_vec()? {
        let own = length.masked(&species.equal(number))?;
        println!("species {number}: {} of mean {} {:.3}", own.len(), names[1], own.mean()?);
    }
    Ok(())
}
