//! Dtypes as text: the type strings of the array interfaces, and the format strings of the buffer protocol (PEP 3118).
//!
//! Elements are those of this machine: where they are in the other byte order, that is told apart, for they must be copied.
//!
//! ```
//! use stridewise_core::Dtype;
//! use stridewise_exchange::typestr::{dtype_of_format, dtype_of_typestr, ordered_typestr, typestr};
//!
//! assert_eq!((dtype_of_typestr("=f4")?, dtype_of_format("d")?), (Dtype::F32, Dtype::F64));
//! assert_eq!((ordered_typestr("|b1")?, typestr(Dtype::Bf16)), ((Dtype::Bool, false), None));
//! assert!(dtype_of_typestr("<U8").is_err()); // texts are no elements
//! # Ok::<(), stridewise_core::Error>(())
//! ```

use std::ffi::{CStr, c_long};

use stridewise_core::{Dtype, Error, Result};

/// The mark of this machine's byte order, and of the other.
const ORDERS: (char, char) = if cfg!(target_endian = "little") { ('<', '>') } else { ('>', '<') };

/// The dtype of an array interface's type string: a mark of the byte order (`<`, `>`, `=`, or `|` for none), a letter of
/// `b i u f c`, and the bytes of an element. `|` stands for native order before larger elements too, as dpctl writes it.
///
/// # Errors
/// [`Error::Dtype`] for anything else: other byte orders, unknown letters, sizes that no dtype has.
pub fn dtype_of_typestr(text: &str) -> Result<Dtype> {
    match ordered_typestr(text)? {
        (dtype, false) => Ok(dtype),
        (_, true) => Err(Error::dtype(
            "typestr",
            format!("{text:?}"),
            "elements in this machine's byte order",
            "convert the array first, in NumPy with x.astype(x.dtype.newbyteorder('='))",
        )),
    }
}

/// As [`dtype_of_typestr`], and whether elements are in the other byte order.
///
/// # Errors
/// [`Error::Dtype`] for unknown letters, and sizes that no dtype has.
pub fn ordered_typestr(text: &str) -> Result<(Dtype, bool)> {
    let mut letters = text.chars();
    let (order, code) = (letters.next(), letters.as_str());
    // Every code of the list is a mark and then what stands here; `bfloat16` is none.
    let known = Dtype::ALL.iter().copied().find(|dtype| typestr(*dtype).is_some_and(|t| &t[1..] == code));
    match (order, known) {
        (Some('|' | '='), Some(dtype)) => Ok((dtype, false)),
        (Some(mark), Some(dtype)) if mark == ORDERS.0 || mark == ORDERS.1 => {
            Ok((dtype, mark == ORDERS.1 && dtype.size() > 1))
        }
        _ => Err(Error::dtype(
            "typestr",
            format!("{text:?}"),
            "a byte order, one of b i u f c and a size, such as <f4, |b1 or <c16",
            "use a bool, an integer of 1, 2, 4 or 8 bytes, a float of 2, 4 or 8, or a complex number of 8 or 16",
        )),
    }
}

/// The array interface's type string of a dtype; `None` for `bfloat16`, which has none.
#[must_use]
pub fn typestr(dtype: Dtype) -> Option<&'static str> {
    Some(dtype.typestr()).filter(|_| dtype != Dtype::Bf16)
}

/// What a letter of a format stands for.
#[derive(Clone, Copy)]
enum Letter {
    Bool,
    Signed(usize),
    Unsigned(usize),
    Float(usize),
    Complex(usize),
}

impl Letter {
    fn dtype(self) -> Option<Dtype> {
        Some(match self {
            Self::Bool => Dtype::Bool,
            Self::Signed(1) => Dtype::I8,
            Self::Signed(2) => Dtype::I16,
            Self::Signed(4) => Dtype::I32,
            Self::Signed(8) => Dtype::I64,
            Self::Unsigned(1) => Dtype::U8,
            Self::Unsigned(2) => Dtype::U16,
            Self::Unsigned(4) => Dtype::U32,
            Self::Unsigned(8) => Dtype::U64,
            Self::Float(2) => Dtype::F16,
            Self::Float(4) => Dtype::F32,
            Self::Float(8) => Dtype::F64,
            Self::Complex(8) => Dtype::C64,
            Self::Complex(16) => Dtype::C128,
            _ => return None,
        })
    }
}

/// The dtype of a buffer's format: one letter of Python's `struct` module, with `Zf` and `Zd` for complex numbers,
/// behind an optional mark of byte order and sizes. Without one, or with `@`, sizes are those of C here.
///
/// # Errors
/// [`Error::Dtype`] for structures, repetitions, other byte orders and letters that no dtype stands for.
pub fn dtype_of_format(text: &str) -> Result<Dtype> {
    match ordered_format(text)? {
        (dtype, false) => Ok(dtype),
        (_, true) => Err(Error::dtype(
            "format",
            format!("{text:?}"),
            "elements in this machine's byte order",
            "convert the elements first",
        )),
    }
}

/// As [`dtype_of_format`], and whether elements are in the other byte order.
///
/// # Errors
/// [`Error::Dtype`] for structures, repetitions and letters that no dtype stands for.
pub fn ordered_format(text: &str) -> Result<(Dtype, bool)> {
    let (order, code) = match text.chars().next() {
        Some(mark @ ('@' | '=' | '<' | '>' | '!')) => (mark, &text[1..]),
        _ => ('@', text),
    };
    let native = order == '@';
    let long = if native { size_of::<c_long>() } else { 4 };
    let letter = match code {
        "?" => Some(Letter::Bool),
        "b" => Some(Letter::Signed(1)),
        "B" => Some(Letter::Unsigned(1)),
        "h" => Some(Letter::Signed(2)),
        "H" => Some(Letter::Unsigned(2)),
        "i" => Some(Letter::Signed(4)),
        "I" => Some(Letter::Unsigned(4)),
        "l" => Some(Letter::Signed(long)),
        "L" => Some(Letter::Unsigned(long)),
        "q" => Some(Letter::Signed(8)),
        "Q" => Some(Letter::Unsigned(8)),
        "n" if native => Some(Letter::Signed(size_of::<isize>())),
        "N" if native => Some(Letter::Unsigned(size_of::<usize>())),
        "e" => Some(Letter::Float(2)),
        "f" => Some(Letter::Float(4)),
        "d" => Some(Letter::Float(8)),
        "Zf" => Some(Letter::Complex(8)),
        "Zd" => Some(Letter::Complex(16)),
        _ => None,
    };
    let Some(dtype) = letter.and_then(Letter::dtype) else {
        return Err(Error::dtype(
            "format",
            format!("{text:?}"),
            "the letter of one number: ? b B h H i I l L q Q n N e f d Zf or Zd",
            "select a field of a structure first, or convert the elements",
        ));
    };
    let other = if order == '!' { '>' } else { order };
    Ok((dtype, other == ORDERS.1 && dtype.size() > 1))
}

/// The buffer protocol's format of a dtype; `None` for `bfloat16`, which has none.
#[must_use]
pub const fn format(dtype: Dtype) -> Option<&'static CStr> {
    // NumPy calls 64-bit integers by C's `long` where that has 64 bits.
    let wide = size_of::<c_long>() == 8;
    Some(match dtype {
        Dtype::Bool => c"?",
        Dtype::I8 => c"b",
        Dtype::I16 => c"h",
        Dtype::I32 => c"i",
        Dtype::I64 if wide => c"l",
        Dtype::I64 => c"q",
        Dtype::U8 => c"B",
        Dtype::U16 => c"H",
        Dtype::U32 => c"I",
        Dtype::U64 if wide => c"L",
        Dtype::U64 => c"Q",
        Dtype::F16 => c"e",
        Dtype::F32 => c"f",
        Dtype::F64 => c"d",
        Dtype::C64 => c"Zf",
        Dtype::C128 => c"Zd",
        Dtype::Bf16 => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_dtype_but_bfloat16_has_both_texts() {
        for &dtype in Dtype::ALL {
            let (interface, buffer) = (typestr(dtype), format(dtype));
            assert_eq!(interface.is_none(), dtype == Dtype::Bf16);
            assert_eq!(buffer.is_none(), dtype == Dtype::Bf16);
            if let (Some(interface), Some(buffer)) = (interface, buffer) {
                assert_eq!(dtype_of_typestr(interface).unwrap(), dtype);
                assert_eq!(dtype_of_format(buffer.to_str().unwrap()).unwrap(), dtype);
            }
        }
    }

    #[test]
    fn other_spellings() {
        for (text, dtype) in
            [("|f4", Dtype::F32), ("=u2", Dtype::U16), ("<c16", Dtype::C128), (">i1", Dtype::I8)]
        {
            assert_eq!(dtype_of_typestr(text).unwrap(), dtype, "{text}");
        }
        for (text, dtype) in [
            ("@f", Dtype::F32),
            ("<l", Dtype::I32),
            ("=L", Dtype::U32),
            ("=q", Dtype::I64),
            (">B", Dtype::U8),
            ("!?", Dtype::Bool),
            ("<Zd", Dtype::C128),
        ] {
            assert_eq!(dtype_of_format(text).unwrap(), dtype, "{text}");
        }
    }

    #[test]
    fn wrong_texts_are_refused() {
        let wrong = [
            "",
            "<",
            "f4",
            "float32",
            ">f4",
            "<f16",
            "<i3",
            "<V4",
            "<U1",
            "<O8",
            "|S1",
            "<M8[ns]",
            "<f4 ",
            " <f4",
            "<bfloat16",
            "bfloat16",
            "|float16",
            "<f04",
            "é4",
        ];
        for text in wrong {
            assert!(matches!(dtype_of_typestr(text), Err(Error::Dtype(_))), "{text:?}");
        }
        let wrong = [
            "", "@", "g", "Zg", "2f", "ff", "T{f:x:}", "(2)f", "O", "P", "s", "c", "x", ">f", "!d", "<n",
            "=N", "f ", "Z", "é",
        ];
        for text in wrong {
            assert!(matches!(dtype_of_format(text), Err(Error::Dtype(_))), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC{0,6}|[<>=|@!]?[?a-zA-Z]{0,2}[0-9]{0,2}") {
            if let Ok(dtype) = dtype_of_typestr(&text) {
                let code = typestr(dtype).unwrap();
                prop_assert_eq!(&text[1..], &code[1..]);
            }
            if let Ok(dtype) = dtype_of_format(&text) {
                prop_assert!(format(dtype).is_some());
            }
        }
    }
}
