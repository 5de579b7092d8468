//! `.npy` files, NumPy's format for one array (versions 1 to 3).
//!
//! The header is checked, and the size that it promises compared with the file's, before any memory is allocated for
//! elements. Nothing is ever unpickled.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use super::{Array, UsmArray};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::layout::{Layout, Order};
use crate::memory::{UsmKind, heap, is_mapped_for_writing};
use crate::replacement::Replacement;
use crate::runtime::Queue;

/// Bytes of a header's text at most, as NumPy has it.
const MAX_HEADER_BYTES: usize = 10_000;
/// What a header is to be.
const HEADER: &str = "a header with descr, fortran_order and shape, of elements that are no structures";
/// Bytes moved at a time, a multiple of every element's size.
const CHUNK_BYTES: usize = 1 << 20;

/// What a file says about its elements.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) dtype: Dtype,
    /// Whether the most significant byte of a number comes first.
    pub(super) big_endian: bool,
    pub(super) shape: Vec<usize>,
    pub(super) order: Order,
    /// Bytes before the first element.
    pub(super) start: u64,
}

/// What is wrong with a file, and what was expected.
pub(super) struct Fault(String, &'static str);

impl Fault {
    pub(super) fn of(found: impl ToString, expected: &'static str) -> Self {
        Self(found.to_string(), expected)
    }

    /// What kept bytes from being read.
    fn reading(found: std::io::Error, expected: &'static str) -> Self {
        match found.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::of("ends too early", expected),
            _ => Self::of(found, expected),
        }
    }

    pub(super) fn at(self, path: &Path) -> Error {
        Error::io(
            "path",
            format!("{} ({})", path.display(), self.0),
            self.1,
            "write the file with numpy.save or `save_npy`, one array of numbers or bools",
        )
    }
}

impl Header {
    /// Reads a header, up to the first element.
    pub(super) fn read(file: &mut impl Read) -> Result<Self, Fault> {
        const NPY: &str = "an .npy file of version 1, 2 or 3";
        let mut bytes = vec![0; 8];
        file.read_exact(&mut bytes).map_err(|error| Fault::reading(error, NPY))?;
        let length_bytes = match (&bytes[..6], bytes[6]) {
            (b"\x93NUMPY", 1) => 2,
            (b"\x93NUMPY", 2 | 3) => 4,
            (b"\x93NUMPY", version) => return Err(Fault::of(format!("version {version}"), NPY)),
            _ => return Err(Fault::of("other first bytes", NPY)),
        };
        let mut length = [0; 4];
        file.read_exact(&mut length[..length_bytes]).map_err(|error| Fault::reading(error, NPY))?;
        bytes.extend_from_slice(&length[..length_bytes]);
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER_BYTES {
            return Err(Fault::of(format!("a header of {length} bytes"), "a header of at most 10000 bytes"));
        }
        let start = bytes.len();
        bytes.resize(start + length, 0);
        file.read_exact(&mut bytes[start..])
            .map_err(|_| Fault::of("ends within its header", "a whole .npy file"))?;
        Text { all: &bytes[start..], at: 0 }.header(bytes.len() as u64)
    }

    /// The bytes before the first element of a file of version 1: a multiple of 64.
    fn write(dtype: Dtype, shape: &[usize], order: Order) -> Vec<u8> {
        let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
        let comma = if shape.len() == 1 { "," } else { "" };
        let fortran = if order == Order::F { "True" } else { "False" };
        let text = format!(
            "{{'descr': '{}', 'fortran_order': {fortran}, 'shape': ({}{comma}), }}",
            dtype.typestr(),
            extents.join(", ")
        );
        // Magic, version and length have 10 bytes, the line feed one.
        let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        // Below 1000: a shape has at most 32 extents of at most 20 digits.
        bytes.extend_from_slice(&(length as u16).to_le_bytes());
        bytes.extend_from_slice(format!("{text:<width$}\n", width = length - 1).as_bytes());
        bytes
    }
}

/// A header's text, which is a dictionary of Python's: read as far as NumPy writes it, in any order and with any spaces.
struct Text<'a> {
    all: &'a [u8],
    /// Where what comes next begins.
    at: usize,
}

impl<'a> Text<'a> {
    /// The dictionary; elements begin after so many bytes of the file.
    fn header(mut self, start: u64) -> Result<Header, Fault> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.takes(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            let is_new = match key {
                b"descr" => descr.replace(self.descr()?).is_none(),
                b"fortran_order" => fortran.replace(self.truth()?).is_none(),
                b"shape" => shape.replace(self.shape()?).is_none(),
                _ => false,
            };
            if !is_new {
                return Err(Fault::of(format!("the key '{}'", String::from_utf8_lossy(key)), HEADER));
            }
            if !self.takes(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        if self.peek().is_some() {
            return Err(self.fault());
        }
        let (Some((dtype, big_endian)), Some(fortran), Some(shape)) = (descr, fortran, shape) else {
            return Err(Fault::of("a key is missing", HEADER));
        };
        let order = if fortran { Order::F } else { Order::C };
        Ok(Header { dtype, big_endian, shape, order, start })
    }

    /// A type string, and whether its numbers are big-endian.
    fn descr(&mut self) -> Result<(Dtype, bool), Fault> {
        const DTYPES: &str =
            "elements of bool, integers of 1 to 8 bytes, float16, float32, float64 or complex";
        if self.peek() == Some(b'[') {
            return Err(Fault::of("a structured dtype", DTYPES));
        }
        let text = self.string()?;
        // Those that files have begin with the order of bytes; the name of bfloat16 does not.
        let dtype = text.split_first().filter(|(order, _)| b"<>|".contains(order)).and_then(|(_, code)| {
            let is_it =
                |dtype: &&Dtype| dtype.typestr().strip_prefix(['<', '|']).map(str::as_bytes) == Some(code);
            Dtype::ALL.iter().find(is_it)
        });
        match dtype {
            Some(&dtype) => Ok((dtype, text[0] == b'>')),
            None => Err(Fault::of(format!("dtype '{}'", String::from_utf8_lossy(text)), DTYPES)),
        }
    }

    /// `True` or `False`.
    fn truth(&mut self) -> Result<bool, Fault> {
        let _ = self.peek();
        for (word, truth) in [(&b"True"[..], true), (b"False", false)] {
            if self.all[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(truth);
            }
        }
        Err(self.fault())
    }

    /// A tuple of extents; after a single one there is a comma.
    fn shape(&mut self) -> Result<Vec<usize>, Fault> {
        const LARGE: &str = "a shape that memory can hold";
        let too_large = || Fault::of("a shape too large", LARGE);
        let mut shape = Vec::new();
        // Of all but those that are 0: no reader may count on it that elements are counted from the left.
        let mut product = 1_usize;
        self.expect(b'(')?;
        while !self.takes(b')') {
            if self.peek() == Some(b'-') {
                return Err(Fault::of("a negative extent", "extents of 0 and more"));
            }
            let digits = self.all[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = &self.all[self.at..self.at + digits];
            if number.is_empty() {
                return Err(self.fault());
            }
            let extent = number.iter().try_fold(0_usize, |extent, digit| {
                extent.checked_mul(10)?.checked_add(usize::from(digit - b'0'))
            });
            let extent = extent.ok_or_else(too_large)?;
            product = product.checked_mul(extent.max(1)).ok_or_else(too_large)?;
            shape.push(extent);
            self.at += digits;
            if !self.takes(b',') {
                self.expect(b')')?;
                if shape.len() == 1 {
                    return Err(Fault::of(format!("a number as shape, {extent}"), "a tuple as shape"));
                }
                break;
            }
        }
        Ok(shape)
    }

    /// What is between quotes.
    fn string(&mut self) -> Result<&'a [u8], Fault> {
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"')).ok_or_else(|| self.fault())?;
        let text = &self.all[self.at + 1..];
        let len = text.iter().position(|&byte| byte == quote).ok_or_else(|| self.fault())?;
        self.at += len + 2;
        Ok(&text[..len])
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        self.at += self.all[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.all.get(self.at).copied()
    }

    /// Goes on behind a byte, if it is the next one that is no space.
    fn takes(&mut self, byte: u8) -> bool {
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.takes(byte) { Ok(()) } else { Err(self.fault()) }
    }

    /// What comes next is none of a header's.
    fn fault(&self) -> Fault {
        const SHOWN: usize = 20;
        let rest = &self.all[self.at..];
        let rest = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN)]);
        Fault::of(format!("a header with '{rest}' at byte {}", self.at), HEADER)
    }
}

/// Turns bytes of a file into elements of this machine: reversed where the file is big-endian, and any `bool` other than
/// 0 is 1.
fn adopt(bytes: &mut [u8], dtype: Dtype, big_endian: bool) {
    if dtype == Dtype::Bool {
        for byte in bytes {
            *byte = u8::from(*byte != 0);
        }
    } else if big_endian {
        // The two parts of a complex number each on their own.
        bytes.chunks_exact_mut(dtype.align()).for_each(<[u8]>::reverse);
    }
}

impl UsmArray {
    /// Reads an `.npy` file to the default queue; to shared memory where the device has its own, else to device memory.
    /// Row-major or column-major, as the file is.
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As for [`load_npy_on`](Self::load_npy_on).
    pub fn load_npy(path: impl AsRef<Path>) -> Result<Self> {
        let queue = Queue::default_queue()?;
        Self::load_npy_on(path, &queue, queue.device().default_kind())
    }

    /// Reads an `.npy` file to a queue, into memory of a kind.
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read, is no `.npy` file, shorter than it says, or of elements that there is
    /// no dtype for (structures, texts, objects, dates); as for [`empty`](Self::empty).
    pub fn load_npy_on(path: impl AsRef<Path>, queue: &Queue, kind: UsmKind) -> Result<Self> {
        Self::load_npy_with(path, queue, kind, |_, _| Ok(()))
    }

    /// Reads as [`load_npy_on`](Self::load_npy_on) does, and says how far it has come: after each MiB, how many bytes of elements
    /// have been read and how many there are. At the end both are the same.
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As there; what `progress` reports, which ends the work.
    pub fn load_npy_with(
        path: impl AsRef<Path>,
        queue: &Queue,
        kind: UsmKind,
        mut progress: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let fault = |found: std::io::Error| Fault::reading(found, "a file that can be read").at(path);
        let mut file = File::open(path).map_err(fault)?;
        let Header { dtype, big_endian, shape, order, start } =
            Header::read(&mut file).map_err(|fault| fault.at(path))?;
        let present = file.metadata().map_err(fault)?.len().saturating_sub(start);
        let len = Layout::contiguous(&shape, order)?.len();
        let bytes = len.checked_mul(dtype.size()).filter(|&bytes| bytes as u64 <= present);
        let Some(bytes) = bytes else {
            let found = format!("{present} bytes of elements");
            let whole = format!("{len} elements of {dtype}, as its shape {shape:?} says");
            return Err(Error::io(
                "path",
                format!("{} ({found})", path.display()),
                whole,
                "the file was cut off: write or copy it again",
            ));
        };
        let array = Self::builder(&shape).dtype(dtype).buffer(kind).order(order).queue(queue).build()?;
        let memory = array.usm_data()?;
        let mut buffer = heap::zeroed("buffer", bytes.min(CHUNK_BYTES))?;
        let mut done = 0;
        while done < bytes {
            let part = &mut buffer[..(bytes - done).min(CHUNK_BYTES)];
            file.read_exact(part).map_err(fault)?;
            adopt(part, dtype, big_endian);
            memory.copy_from_host(done, part)?;
            done += part.len();
            progress(done, bytes)?;
        }
        if bytes == 0 {
            progress(0, 0)?;
        }
        Ok(array)
    }

    /// Writes the elements to an `.npy` file, in place of what is there; column-major where the array is that and not row-major.
    ///
    /// The file is written beside the old one and renamed over it when it is whole, with its permissions; links are followed. So
    /// a failure leaves what was there, and an array over the old file keeps its elements.
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// [`Error::Dtype`] for `bfloat16`, which the format lacks; [`Error::Io`] where the file cannot be written, none can be
    /// made beside it, or an array of this process is over it whose changes go to it ([`MapMode::ReadWrite`]); the failure
    /// of the work that computes the elements.
    ///
    /// [`MapMode::ReadWrite`]: crate::MapMode::ReadWrite
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_npy_with(path, |_, _| Ok(()))
    }

    /// Writes as [`save_npy`](Self::save_npy) does, and says how far it has come: after each MiB, how many bytes of elements have
    /// been written and how many there are. At the end both are the same, and the file is not yet in the place of the old one.
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As there; what `progress` reports, which ends the work and leaves what was there.
    pub fn save_npy_with(
        &self,
        path: impl AsRef<Path>,
        mut progress: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        let path = path.as_ref();
        if self.dtype() == Dtype::Bf16 {
            return Err(Error::dtype(
                "array",
                self.dtype(),
                "a dtype that .npy files have",
                "convert it to float32 first, with `astype`, which loses nothing",
            ));
        }
        let flags = self.flags();
        let dense =
            if flags.c_contiguous || flags.f_contiguous { self.clone() } else { self.copy_in(Order::C)? };
        // Before the file is touched: a failure of the computation, or of an allocation, leaves what was there.
        dense.wait()?;
        let memory = dense.usm_data()?;
        let fault = |found: std::io::Error| unwritten(path, found);
        if std::fs::metadata(path).is_ok_and(|old| is_mapped_for_writing(&old)) {
            return Err(Error::io(
                "path",
                format!("{} (an array is over it whose changes go to it)", path.display()),
                "a file that no array of this process writes to",
                "flush that array instead, drop it first, or write to another name and rename it",
            ));
        }
        let mut buffer = heap::zeroed("buffer", dense.bytes().min(CHUNK_BYTES))?;
        let mut replacement = Replacement::begin(path).map_err(fault)?;
        let file = replacement.file();
        file.write_all(&Header::write(dense.dtype(), dense.shape(), dense.result_order())).map_err(fault)?;
        let (start, bytes) = (dense.offset() * dense.itemsize(), dense.bytes());
        let mut done = 0;
        while done < bytes {
            let part = &mut buffer[..(bytes - done).min(CHUNK_BYTES)];
            memory.copy_to_host(start + done, part)?;
            file.write_all(part).map_err(fault)?;
            done += part.len();
            progress(done, bytes)?;
        }
        if bytes == 0 {
            progress(0, 0)?;
        }
        file.flush().map_err(fault)?;
        replacement.finish().map_err(fault)
    }
}

/// What kept a file from being written.
fn unwritten(path: &Path, found: std::io::Error) -> Error {
    Error::io(
        "path",
        format!("{} ({found})", path.display()),
        "a file that can be written, in a folder that takes another one beside it",
        "name a folder that is there, may be written and has room; what was there is unchanged",
    )
}

impl<T: Element> Array<T> {
    /// Reads an `.npy` file; see [`UsmArray::load_npy`].
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As there, and [`Error::Dtype`] where the file's elements are of another type.
    pub fn load_npy(path: impl AsRef<Path>) -> Result<Self> {
        UsmArray::load_npy(path)?.try_into()
    }
    /// Reads an `.npy` file to a queue, into memory of a kind; see [`UsmArray::load_npy_on`].
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As there, and [`Error::Dtype`] where the file's elements are of another type.
    pub fn load_npy_on(path: impl AsRef<Path>, queue: &Queue, kind: UsmKind) -> Result<Self> {
        UsmArray::load_npy_on(path, queue, kind)?.try_into()
    }
    /// Writes the elements to an `.npy` file; see [`UsmArray::save_npy`].
    ///
    /// With the feature `npy`.
    ///
    /// # Errors
    /// As there.
    pub fn save_npy(&self, path: impl AsRef<Path>) -> Result<()> {
        self.as_untyped().save_npy(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes
    }
    fn read(bytes: &[u8]) -> Result<Header, String> {
        Header::read(&mut &bytes[..]).map_err(|Fault(found, expected)| format!("{found}; {expected}"))
    }

    #[test]
    fn what_is_written_is_read() {
        for &dtype in Dtype::ALL.iter().filter(|&&dtype| dtype != Dtype::Bf16) {
            for order in [Order::C, Order::F] {
                for shape in [&[][..], &[5], &[2, 3], &[0, 1, usize::MAX >> 8]] {
                    let bytes = Header::write(dtype, shape, order);
                    assert_eq!(bytes.len() % 64, 0);
                    let start = bytes.len() as u64;
                    let header = Header { dtype, big_endian: false, shape: shape.to_vec(), order, start };
                    assert_eq!(read(&bytes), Ok(header));
                }
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_numpy() {
        let expected = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
        let bytes = Header::write(Dtype::F32, &[3], Order::C);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(std::str::from_utf8(&bytes[10..]).unwrap(), format!("{expected:<117}\n"));
    }

    #[test]
    fn every_version_and_byte_order() {
        for version in 1..=3 {
            let text = "{'descr': '>c16', 'fortran_order': True, 'shape': (2, 3), }\n";
            let header = read(&file(version, text)).unwrap();
            assert_eq!((header.dtype, header.big_endian, header.order), (Dtype::C128, true, Order::F));
            assert_eq!(header.shape, [2, 3]);
        }
        let header = read(&file(1, "{'shape': (), 'descr': '|b1', 'fortran_order': False}")).unwrap();
        assert_eq!((header.dtype, header.big_endian, header.shape), (Dtype::Bool, false, vec![]));
        // As others write it.
        let header =
            read(&file(2, " {\"shape\":(7 , 0,),\t\"fortran_order\":False,'descr' : '|u1'}  ")).unwrap();
        assert_eq!((header.dtype, header.order, header.shape), (Dtype::U8, Order::C, vec![7, 0]));
    }

    #[test]
    fn bytes_become_elements() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        adopt(&mut bytes, Dtype::C64, true);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
        adopt(&mut bytes, Dtype::F64, false);
        assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
        let mut bytes = [0, 1, 255];
        adopt(&mut bytes, Dtype::Bool, true);
        assert_eq!(bytes, [0, 1, 1]);
    }

    #[test]
    fn wrong_headers_are_refused() {
        let dict = |descr: &str, shape: &str| {
            file(1, &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"))
        };
        let cases = [
            (b"".to_vec(), "ends too early"),
            (b"PK\x03\x04 a zip archive".to_vec(), "first bytes"),
            (file(9, "{}"), "version 9"),
            (file(1, "{"), "descr"),
            (file(1, "[1, 2]"), "descr"),
            (file(1, "{'descr': '<f4'}"), "fortran_order"),
            (dict("'<f4'", "(-1,)"), "negative"),
            (dict("'<f4'", "'abc'"), "'abc'"),
            (dict("'<f4'", "(3)"), "a tuple"),
            (dict("'<f4'", "[3]"), "'[3]"),
            (dict("'<f4'", "(,)"), "',)"),
            (dict("'<f4'", "(3 4)"), "'4)"),
            (dict("'<f4'", "(3,), 'shape': (3,)"), "the key 'shape'"),
            (dict("'<f4'", "(3,), 'other': (3,)"), "the key 'other'"),
            (dict("'<f4'", "(3,)} + {"), "'+ {"),
            (dict("'<f4", "(3,)"), "dtype '<f4, "),
            (dict("<f4", "(3,)"), "'<f4, "),
            (dict("'<f4'", "(1099511627776, 1099511627776)"), "shape too large"),
            (dict("'<f4'", "(99999999999999999999999,)"), "too large"),
            (dict("'<U5'", "(1,)"), "dtype '<U5'"),
            (dict("'|O'", "(1,)"), "dtype '|O'"),
            (dict("'<f16'", "(1,)"), "dtype '<f16'"),
            (dict("'|V2'", "(1,)"), "dtype '|V2'"),
            (dict("'f4'", "(1,)"), "dtype 'f4'"),
            (dict("'<float16'", "(1,)"), "dtype '<float16'"),
            (dict("''", "(1,)"), "dtype ''"),
            (dict("[('a', '<f4'), ('b', '<i2')]", "(1,)"), "structured"),
            (dict("'<f4'", &"(".repeat(2000)), "header with '((("),
            (dict("'<f4'", &"{".repeat(2000)), "header with '{{{"),
            (dict(&"[".repeat(2000), "(1,)"), "structured"),
            (file(2, &" ".repeat(MAX_HEADER_BYTES + 1)), "10001 bytes"),
        ];
        for (bytes, part) in cases {
            let error = read(&bytes).unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        }
        let whole = dict("'<f4'", "(2,)");
        for len in 0..whole.len() {
            assert!(read(&whole[..len]).is_err());
        }
    }
}
