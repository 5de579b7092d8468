//! Why a peer wins a row.

use crate::row::Row;

/// Rows with an explanation.
struct Reason {
    op: &'static str,
    /// `None`: all of them.
    layout: Option<&'static str>,
    /// Elements at least and at most.
    sizes: (usize, usize),
    text: &'static str,
}

/// The first that fits counts. A row without one is listed all the same.
const REASONS: &[Reason] = &[];

/// Why a peer is faster; empty where that is not known.
pub(super) fn reason(row: &Row) -> &'static str {
    find(REASONS, row).unwrap_or_default()
}

fn find(reasons: &[Reason], row: &Row) -> Option<&'static str> {
    let fits = |reason: &&Reason| {
        let (least, most) = reason.sizes;
        reason.op == row.op
            && reason.layout.is_none_or(|layout| layout == row.layout)
            && (least..=most).contains(&row.n)
    };
    reasons.iter().find(fits).map(|reason| reason.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tables::tests::row;

    #[test]
    fn the_first_reason_that_fits_counts() {
        let reasons = [
            Reason { op: "add", layout: Some("out"), sizes: (0, 100), text: "small" },
            Reason { op: "add", layout: None, sizes: (0, usize::MAX), text: "any" },
        ];
        assert_eq!(find(&reasons, &row("add", "out", 16)), Some("small"));
        assert_eq!(find(&reasons, &row("add", "fresh", 16)), Some("any"));
        assert_eq!(find(&reasons, &row("add", "out", 101)), Some("any"));
        assert_eq!(find(&reasons, &row("exp", "out", 16)), None);
    }
}
