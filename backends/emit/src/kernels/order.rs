//! The order that sorts put elements into, as unsigned numbers, in OpenCL C.
//!
//! Elements are read as their bits, so no kernel needs a type that a device may lack. A complex number is a struct of its
//! parts, as its address is a multiple of a part's size only.

use stridewise_core::{Dtype, DtypeKind};

/// The type `element`: the bits of an element of so many bytes.
pub(super) fn element(dtype: Dtype) -> &'static str {
    match (dtype.kind(), dtype.size()) {
        (DtypeKind::Complex, 8) => "typedef struct {\n    uint x, y;\n} element;\n",
        (DtypeKind::Complex, _) => "typedef struct {\n    ulong x, y;\n} element;\n",
        (_, 1) => "typedef uchar element;\n",
        (_, 2) => "typedef ushort element;\n",
        (_, 4) => "typedef uint element;\n",
        _ => "typedef ulong element;\n",
    }
}

/// What distinguishes dtypes for [`element`].
pub(super) const fn element_key(dtype: Dtype) -> usize {
    dtype.size() * 2 + matches!(dtype.kind(), DtypeKind::Complex) as usize
}

/// What the rank of an element is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    /// At most 32 bits, in a `uint`.
    Short,
    /// 64 bits, in a `ulong`.
    Long,
    /// Two of 64 bits, in a `ulong2`, the first of which counts first.
    Pair,
}

impl Rank {
    /// That of a dtype.
    pub(super) const fn of(dtype: Dtype) -> Self {
        match dtype.size() {
            0..=4 => Self::Short,
            5..=8 => Self::Long,
            _ => Self::Pair,
        }
    }

    /// The type of a rank.
    pub(super) const fn c_type(self) -> &'static str {
        match self {
            Self::Short => "uint",
            Self::Long => "ulong",
            Self::Pair => "ulong2",
        }
    }
}

/// The function `rank` of an `element`: equal elements have the same rank, the lesser of two (or the greater, where
/// `descending`) has the lesser one, and NaNs have the last. A complex number is ordered by its real, then its imaginary part. Behind
/// all that have no NaN come those whose imaginary part is one, then those whose real part is, each by the other part, then those of
/// two.
pub(super) fn rank(dtype: Dtype, descending: bool) -> String {
    let complex = dtype.kind() == DtypeKind::Complex;
    let float = complex || dtype.kind() == DtypeKind::Float;
    let size = if complex { dtype.size() / 2 } else { dtype.size() };
    let (ty, suffix) = if size == 8 { ("ulong", "UL") } else { ("uint", "U") };
    let mask = u64::MAX >> (64 - 8 * size);
    let signed = float || matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64);
    let sign = if signed { mask ^ (mask >> 1) } else { 0 };
    let flip = if descending { mask } else { 0 };
    let number = |value: u64| format!("0x{value:x}{suffix}");
    let (all, sign, flip) = (number(mask), number(sign), number(flip));
    let body = if float {
        let infinity = number(match dtype {
            Dtype::F16 => 0x7c00,
            Dtype::Bf16 => 0x7f80,
            Dtype::F32 | Dtype::C64 => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        });
        // Zeros of either sign are equal.
        format!(
            "    const {ty} magnitude = bits & ({all} ^ {sign});\n    if (magnitude > {infinity})\n        return {all};\n    \
             if (magnitude == 0)\n        return {sign} ^ {flip};\n    \
             return (bits & {sign} ? bits ^ {all} : bits ^ {sign}) ^ {flip};\n"
        )
    } else if dtype == Dtype::Bool {
        // Any byte but 0 is true. By a sum, as a vectorizing compiler was seen to get a `<=` of two conditions wrong.
        format!("    return ((bits + 255U) >> 8) ^ {flip};\n")
    } else {
        format!("    return bits ^ {sign} ^ {flip};\n")
    };
    let part = format!("static inline {ty} part_rank(const {ty} bits)\n{{\n{body}}}\n");
    let rank = Rank::of(dtype).c_type();
    let whole = match (complex, size) {
        (false, _) => "    return part_rank(x);\n".to_owned(),
        (true, size) => {
            let pair = |re: &str, im: &str| match size {
                4 => format!("(ulong){re} << 32 | {im}"),
                _ => format!("(ulong2)({re}, {im})"),
            };
            format!(
                "    const {ty} re = part_rank(x.x), im = part_rank(x.y);\n    \
                 if (re != {all} && im != {all})\n        return {};\n    \
                 return re != {all} ? {} : im != {all} ? {} : {};\n",
                pair("re", "im"),
                pair(&number(mask - 2), "re"),
                pair(&number(mask - 1), "im"),
                pair(&all, &all)
            )
        }
    };
    format!("{part}static inline {rank} rank(const element x)\n{{\n{whole}}}\n")
}
