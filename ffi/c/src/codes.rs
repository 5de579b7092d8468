//! The numbers that stand for operations, dtypes, kinds and reductions, and their declarations for the header. They are
//! made from the core's lists and from names, so that a new operation changes no number of an old one.

use std::fmt::Write as _;

use stridewise::{Dtype, Error, Op, Reduction, Result, UsmKind};
use stridewise_exchange::dlpack::DLDataType;

/// An operation, such as `SW_OP_ADD`.
pub type sw_op = i32;
/// A dtype, such as `SW_FLOAT32`: DLPack's class of the type in the second byte, and its bits in the first.
pub type sw_dtype = i32;
/// Who may touch memory, such as `SW_USM_SHARED`.
pub type sw_usm_kind = i32;
/// A reduction, such as `SW_REDUCE_SUM`.
pub type sw_reduction = i32;

/// The core has no list of them.
const REDUCTIONS: [Reduction; 9] = [
    Reduction::Sum,
    Reduction::Prod,
    Reduction::Min,
    Reduction::Max,
    Reduction::ArgMin,
    Reduction::ArgMax,
    Reduction::Mean,
    Reduction::Any,
    Reduction::All,
];

/// A number for a name: its FNV-1a hash (Fowler, Noll and Vo) without the sign, as an enumerator of C is an `int`.
const fn code_of_name(name: &str) -> i32 {
    let bytes = name.as_bytes();
    let mut hash = 0x811c_9dc5_u32;
    let mut place = 0;
    while place < bytes.len() {
        hash = (hash ^ bytes[place] as u32).wrapping_mul(0x0100_0193);
        place += 1;
    }
    (hash & 0x7fff_ffff) as i32
}

/// Operations that have operands of their own; conversions have a function.
fn operations() -> impl Iterator<Item = Op> {
    Op::ALL.iter().copied().filter(|&op| op != Op::Cast)
}

fn unknown(argument: &'static str, code: i32, of: &'static str) -> Error {
    Error::value(
        argument,
        format!("the number {code}"),
        of,
        "use the constants of stridewise.h of this version",
    )
}

pub(crate) fn op_code(op: Op) -> sw_op {
    code_of_name(op.name())
}

pub(crate) fn op(code: sw_op) -> Result<Op> {
    let found = operations().find(|&op| op_code(op) == code);
    found.ok_or_else(|| unknown("op", code, "the number of an operation, SW_OP_…"))
}

pub(crate) fn op_of_name(name: &str) -> Result<Op> {
    operations().find(|op| op.name() == name).ok_or_else(|| {
        let names = operations().map(Op::name).collect::<Vec<_>>().join(", ");
        Error::value("name", format!("{name:?}"), "the name of an operation", format!("use one of: {names}"))
    })
}

pub(crate) fn reduction(code: sw_reduction) -> Result<Reduction> {
    let found = REDUCTIONS.into_iter().find(|reduction| code_of_name(reduction.name()) == code);
    found.ok_or_else(|| unknown("reduction", code, "the number of a reduction, SW_REDUCE_…"))
}

pub(crate) fn dtype_code(dtype: Dtype) -> sw_dtype {
    let DLDataType { code, bits, .. } = dtype.into();
    i32::from(code) << 8 | i32::from(bits)
}

pub(crate) fn dtype(code: sw_dtype) -> Result<Dtype> {
    let found = Dtype::ALL.iter().copied().find(|&dtype| dtype_code(dtype) == code);
    found.ok_or_else(|| unknown("dtype", code, "the number of a dtype, such as SW_FLOAT32"))
}

pub(crate) const fn kind_code(kind: UsmKind) -> sw_usm_kind {
    match kind {
        UsmKind::Host => 1,
        UsmKind::Device => 2,
        UsmKind::Shared => 3,
    }
}

pub(crate) fn kind(code: sw_usm_kind) -> Result<UsmKind> {
    let found = UsmKind::ALL.into_iter().find(|&kind| kind_code(kind) == code);
    found.ok_or_else(|| unknown("kind", code, "SW_USM_HOST, SW_USM_DEVICE or SW_USM_SHARED"))
}

/// The constants above as C.
#[must_use]
pub fn declarations() -> String {
    let mut text = String::new();
    let mut list = |comment: &str, entries: Vec<(String, i32, String)>| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "// {comment}\nenum {{");
        for (name, code, note) in entries {
            let _ = writeln!(text, "  {name} = {code}, // {note}");
        }
        let _ = writeln!(text, "}};\n");
    };
    let operands =
        |count: usize| if count == 1 { "1 operand".to_owned() } else { format!("{count} operands") };
    list(
        "The operations of sw_elementwise. A number belongs to the operation's name and stays the same between versions.",
        operations()
            .map(|op| (format!("SW_OP_{}", op.name().to_uppercase()), op_code(op), operands(op.arity())))
            .collect(),
    );
    list(
        "The reductions of sw_array_reduce.",
        REDUCTIONS
            .iter()
            .map(|r| {
                let note =
                    if matches!(r, Reduction::ArgMin | Reduction::ArgMax) { "an index" } else { "a value" };
                (format!("SW_REDUCE_{}", r.name().to_uppercase()), code_of_name(r.name()), note.to_owned())
            })
            .collect(),
    );
    list(
        "The types of elements.",
        Dtype::ALL
            .iter()
            .map(|&d| {
                let plural = if d.size() == 1 { "" } else { "s" };
                (
                    format!("SW_{}", d.name().to_uppercase()),
                    dtype_code(d),
                    format!("{} byte{plural}", d.size()),
                )
            })
            .collect(),
    );
    let may = |kind| match kind {
        UsmKind::Host => "lives on the host; host and device may touch it",
        UsmKind::Device => "lives on the device; only the device may touch it",
        UsmKind::Shared => "host and device may touch it",
    };
    list(
        "Who may touch memory.",
        UsmKind::ALL
            .iter()
            .map(|&k| (format!("SW_USM_{}", k.name().to_uppercase()), kind_code(k), may(k).to_owned()))
            .collect(),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_round_trip_and_are_distinct() {
        for one in operations() {
            assert_eq!(op(op_code(one)).unwrap(), one);
            assert_eq!(op_of_name(one.name()).unwrap(), one);
        }
        let distinct: BTreeSet<_> = operations().map(op_code).collect();
        assert_eq!(distinct.len(), operations().count());
        for one in REDUCTIONS {
            assert_eq!(reduction(code_of_name(one.name())).unwrap(), one);
        }
        for &one in Dtype::ALL {
            assert_eq!(dtype(dtype_code(one)).unwrap(), one);
        }
        for one in UsmKind::ALL {
            assert_eq!(kind(kind_code(one)).unwrap(), one);
        }
        assert_eq!((dtype_code(Dtype::F32), dtype_code(Dtype::C128)), (0x0220, 0x0580));
    }

    #[test]
    fn other_numbers_are_refused() {
        for code in [-1, 0, 4, i32::MIN, i32::MAX, op_code(Op::Cast)] {
            assert!(
                op(code).is_err() && reduction(code).is_err() && dtype(code).is_err() && kind(code).is_err()
            );
        }
        assert!(op_of_name("astype").is_err());
    }
}
