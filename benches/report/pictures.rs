//! The pictures of the page.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::measure::Outcome;
use crate::row::{Row, duration};

/// The dtype that is drawn.
const DTYPE: &str = "float32";
/// The rows that are drawn over their size, one panel each.
const PANELS: [(&str, &str); 6] = [
    ("add", "fresh"),
    ("exp", "fresh"),
    ("sqrt(a*a+b*b)*c-d", "fused"),
    ("sum", "all"),
    ("add", "transposed"),
    ("where", "fresh"),
];
const PANEL_ROWS_COLUMNS: (usize, usize) = (2, 3);
const GRID_SIZE: (u32, u32) = (1500, 940);
const ROOFLINE_SIZE: (u32, u32) = (1000, 640);
/// Elements from which the roof is the memory's and not the cost of a call.
const ROOFLINE_LEAST: usize = 64 << 10;

/// The engine and the limit in the legend.
const OURS: &str = "stridewise";
const LIMIT: &str = "limit";

/// Colours of lines, in the order of their names.
const COLOURS: [RGBColor; 10] = [
    RGBColor(31, 119, 180),
    RGBColor(255, 127, 14),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(23, 190, 207),
    RGBColor(188, 189, 34),
    RGBColor(120, 120, 220),
    RGBColor(120, 160, 140),
];

/// Lines by name; points are in the order of their first coordinate.
type Lines = BTreeMap<String, Vec<(f64, f64)>>;

/// Draws what the rows have, as SVG; returns the files' names and the pictures' titles.
pub(super) fn draw(rows: &[Row], folder: &Path) -> Outcome<Vec<(&'static str, &'static str)>> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.dtype == DTYPE).collect();
    let mut drawn = Vec::new();
    if rows.iter().any(|row| PANELS.contains(&(row.op.as_str(), row.layout.as_str()))) {
        let (file, title) = ("bandwidth.svg", "GB/s over the number of elements");
        grid(&rows, &folder.join(file), "GB/s", &bandwidth, &|gbs| format!("{gbs}"))?;
        drawn.push((file, title));
        let (file, title) = ("latency.svg", "time of a run over the number of elements");
        grid(&rows, &folder.join(file), "time", &latency, &|&seconds| duration(seconds))?;
        drawn.push((file, title));
    }
    if rows.iter().any(|row| row.n >= ROOFLINE_LEAST && row.operations > 0) {
        let (file, title) =
            ("roofline.svg", "operations per second over operations per byte, below the memory's roof");
        roofline(&rows, &folder.join(file))?;
        drawn.push((file, title));
    }
    Ok(drawn)
}

/// Bytes that the row moves.
fn bytes(row: &Row) -> f64 {
    row.gbs * 1e9 * row.seconds
}

/// GB/s of everybody in a row, and the limit.
fn bandwidth(row: &Row) -> Vec<(String, f64)> {
    let mut values = latency(row);
    for (_, value) in &mut values {
        *value = bytes(row) / *value / 1e9;
    }
    values.push((LIMIT.to_owned(), row.limit_gbs));
    values
}

/// Seconds of everybody in a row.
fn latency(row: &Row) -> Vec<(String, f64)> {
    let peers = row.rivals().map(|(name, seconds)| (name.to_owned(), seconds));
    std::iter::once((OURS.to_owned(), row.seconds)).chain(peers).collect()
}

/// Everybody's values over the size, of the rows of one panel.
fn lines(rows: &[&Row], panel: (&str, &str), values: &dyn Fn(&Row) -> Vec<(String, f64)>) -> Lines {
    let mut rows: Vec<&&Row> =
        rows.iter().filter(|row| (row.op.as_str(), row.layout.as_str()) == panel).collect();
    rows.sort_by_key(|row| row.n);
    let mut lines = Lines::new();
    for row in rows {
        for (name, value) in values(row) {
            lines.entry(name).or_default().push((row.n as f64, value));
        }
    }
    lines
}

/// A range that holds all values with some room, on a logarithmic scale.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) =
        values.fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)));
    least / 1.5..most * 1.5
}

/// A panel for each of [`PANELS`] that has rows.
fn grid(
    rows: &[&Row],
    path: &Path,
    unit: &str,
    values: &dyn Fn(&Row) -> Vec<(String, f64)>,
    label: &dyn Fn(&f64) -> String,
) -> Outcome<()> {
    let area = SVGBackend::new(path, GRID_SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let colours = colours(rows);
    for (part, panel) in area.split_evenly(PANEL_ROWS_COLUMNS).iter().zip(PANELS) {
        let lines = lines(rows, panel, values);
        if lines.is_empty() {
            continue;
        }
        let points = || lines.values().flatten();
        let (x, y) = (range(points().map(|point| point.0)), range(points().map(|point| point.1)));
        let mut chart = ChartBuilder::on(part)
            .caption(format!("{}, {}, {DTYPE}", panel.0, panel.1), ("sans-serif", 18))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(70)
            .build_cartesian_2d(x.log_scale(), y.log_scale())?;
        mesh(&mut chart, "elements", unit, &|n| format!("{n:e}"), label)?;
        for (name, points) in &lines {
            let style = style(name, &colours);
            let line =
                LineSeries::new(points.iter().copied(), style).point_size(if name == LIMIT { 0 } else { 3 });
            chart
                .draw_series(line)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        legend(&mut chart)?;
    }
    Ok(area.present()?)
}

type Chart<'a, 'b, X, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>;

/// Axes with their names, and a grid.
fn mesh<'b, X, Y>(
    chart: &mut Chart<'_, 'b, X, Y>,
    x: &str,
    y: &str,
    x_label: &dyn Fn(&f64) -> String,
    y_label: &dyn Fn(&f64) -> String,
) -> Outcome<()>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64> + AsRangedCoord,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64> + AsRangedCoord,
{
    let mut mesh = chart.configure_mesh();
    mesh.x_desc(x).y_desc(y).x_label_formatter(x_label).y_label_formatter(y_label).light_line_style(WHITE);
    Ok(mesh.draw()?)
}

fn legend<'a, 'b: 'a, X: Ranged, Y: Ranged>(chart: &mut Chart<'a, 'b, X, Y>) -> Outcome<()> {
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::LowerRight).background_style(WHITE.mix(0.7)).border_style(WHITE);
    Ok(labels.draw()?)
}

/// The colour of each peer, the same in all panels.
fn colours(rows: &[&Row]) -> BTreeMap<String, RGBColor> {
    let names: std::collections::BTreeSet<&str> =
        rows.iter().flat_map(|row| row.rivals()).map(|(name, _)| name).collect();
    names.into_iter().map(str::to_owned).zip(COLOURS.into_iter().cycle()).collect()
}

/// Ours is wide and red, the limit black.
fn style(name: &str, colours: &BTreeMap<String, RGBColor>) -> ShapeStyle {
    match name {
        OURS => RGBColor(214, 39, 40).stroke_width(3),
        LIMIT => BLACK.stroke_width(1),
        name => colours.get(name).copied().unwrap_or(BLACK).stroke_width(1),
    }
    .filled()
}

/// Each row of ours as a point below the roof of its size: the highest limit that was measured there.
fn roofline(rows: &[&Row], path: &Path) -> Outcome<()> {
    let mut sizes: BTreeMap<usize, Vec<&Row>> = BTreeMap::new();
    for &row in rows.iter().filter(|row| row.n >= ROOFLINE_LEAST && row.operations > 0) {
        sizes.entry(row.n).or_default().push(row);
    }
    let point = |row: &Row| {
        let operations = (row.operations * row.n) as f64;
        (operations / bytes(row), operations / row.seconds / 1e9)
    };
    let roof = |rows: &[&Row]| rows.iter().map(|row| row.limit_gbs).fold(0.0, f64::max);
    let all = || sizes.values().flatten().map(|row| point(row));
    let x = range(all().map(|point| point.0));
    let tops = sizes.values().map(|rows| roof(rows) * x.end);
    let y = range(all().map(|point| point.1).chain(tops));

    let area = SVGBackend::new(path, ROOFLINE_SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{OURS}, {DTYPE}"), ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(x.clone().log_scale(), y.log_scale())?;
    mesh(&mut chart, "operations per byte", "10⁹ operations per second", &|x| format!("{x}"), &|y| {
        format!("{y}")
    })?;
    for ((n, rows), colour) in sizes.iter().zip(COLOURS.into_iter().cycle()) {
        let roof = roof(rows);
        let line = [x.start, x.end].map(|x| (x, x * roof));
        chart.draw_series(LineSeries::new(line, colour))?;
        chart
            .draw_series(rows.iter().map(|row| Circle::new(point(row), 4, colour.filled())))?
            .label(format!("{}, {roof:.0} GB/s", super::tables::elements(*n)))
            .legend(move |(x, y)| Circle::new((x + 9, y), 4, colour.filled()));
    }
    legend(&mut chart)?;
    Ok(area.present()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tests::row;

    #[test]
    fn lines_are_in_the_order_of_sizes_and_of_one_panel() {
        let rows = [row("add", "fresh", 1024), row("add", "fresh", 16), row("add", "out", 16)];
        let rows: Vec<&Row> = rows.iter().collect();
        let lines = lines(&rows, ("add", "fresh"), &bandwidth);
        let names: Vec<&str> = lines.keys().map(String::as_str).collect();
        assert_eq!(names, ["jax", "limit", "numpy", OURS]);
        assert_eq!(lines["limit"], [(16.0, 50.0), (1024.0, 50.0)]);
        let [(_, first), (_, second)] = lines["jax"][..] else { panic!("{lines:?}") };
        assert!((first - 22.5).abs() < 1e-9 && (second - 22.5).abs() < 1e-9);
    }

    #[test]
    fn pictures_are_drawn_of_what_is_there() {
        let folder = std::env::temp_dir().join(format!("stridewise-pictures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rows = [row("add", "fresh", 16), row("add", "fresh", 1 << 20)];
        let drawn = draw(&rows, &folder).unwrap();
        assert_eq!(drawn.len(), 3);
        for (file, _) in drawn {
            let text = std::fs::read_to_string(folder.join(file)).unwrap();
            assert!(text.contains("<svg") && text.contains("float32"), "{file}");
        }
        assert!(draw(&[row("pow", "fresh", 16)], &folder).unwrap().is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
