//! How arrays are written: `[[1., 2.],\n [3., 4.]]`, by NumPy's rules (its array printing options of version 2).
//!
//! Numbers of an array share a form: so many digits as tell them apart, at most 8 behind the point (or the formatter's
//! precision), scientific where that would lose them. Lines have at most 75 characters. Of more than 1000 elements only
//! the first and last three along each axis are written, and only those are read from the device.

use std::fmt;
use std::ops::Range;

use super::{Array, UsmArray};
use crate::dtype::{Dtype, DtypeKind, Element};
use crate::error::Result;
use crate::layout::SliceItem;
use crate::memory::heap;
use crate::scalar::Scalar;
use crate::{bf16, f16};

/// Arrays of more elements than this are summarised.
const THRESHOLD: usize = 1000;
/// Elements written at each end of an axis of a summarised array.
const EDGE: usize = 3;
/// Characters in a line.
const LINE_WIDTH: usize = 75;
/// Digits behind the point, at most.
const PRECISION: usize = 8;

impl fmt::Display for UsmArray {
    /// The elements, after the work that computes them; `{:.3}` writes at most three digits behind the point. Where the
    /// elements cannot be had, the reason in their place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = f.precision().unwrap_or(PRECISION);
        match Extract::read(self).and_then(|extract| extract.write(precision)) {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "[elements not available: {error}]"),
        }
    }
}

impl UsmArray {
    /// The elements as [`Display`](fmt::Display) writes them, for a place behind `before` other characters on the first
    /// line and before `after` on the last: the other lines are indented so far, and all are the shorter.
    ///
    /// # Errors
    /// The failure of the work that computes the elements; [`Error::Alloc`](crate::Error::Alloc) where there is no memory for
    /// the text.
    pub fn written(&self, before: usize, after: usize) -> Result<String> {
        Extract::read(self)?.write_between(PRECISION, before, after, ",")
    }

    /// The elements as [`Display`](fmt::Display) writes them, but with blanks between them instead of commas.
    ///
    /// # Errors
    /// As for [`written`](Self::written).
    pub fn spaced(&self) -> Result<String> {
        Extract::read(self)?.write_between(PRECISION, 0, 0, "")
    }
}

impl fmt::Debug for UsmArray {
    /// Dtype, USM kind, shape, strides, offset and device, and in a line of their own the elements, as
    /// [`Display`](fmt::Display) writes them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Array<{}, {}>{:?} strides={:?} offset={} on {}\n{self}",
            self.dtype(),
            self.usm_kind(),
            self.shape(),
            self.strides(),
            self.offset(),
            self.device()
        )
    }
}

impl<T: Element> fmt::Display for Array<T> {
    /// As for [`UsmArray`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_untyped(), f)
    }
}

impl<T: Element> fmt::Debug for Array<T> {
    /// As for [`UsmArray`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_untyped(), f)
    }
}

/// The words of the elements, and what stands between them.
struct Page<'a> {
    words: Words<'a>,
    comma: &'a str,
}

/// The elements to be written.
struct Extract {
    /// Extents of what there is of the array.
    shape: Vec<usize>,
    /// Whether elements are left out after the first [`EDGE`] along an axis.
    gaps: Vec<bool>,
    /// In row-major order.
    values: Vec<Scalar>,
}

impl Extract {
    fn read(array: &UsmArray) -> Result<Self> {
        let gap = |&extent: &usize| array.len() > THRESHOLD && extent > 2 * EDGE;
        let gaps: Vec<bool> = array.shape().iter().map(gap).collect();
        let mut shape = array.shape().to_vec();
        for (extent, _) in shape.iter_mut().zip(&gaps).filter(|(_, gap)| **gap) {
            *extent = 2 * EDGE;
        }
        let values = crate::with_dtype!(array.dtype(), T => edges::<T>(array, &gaps)?);
        Ok(Self { shape, gaps, values })
    }

    fn write(&self, precision: usize) -> Result<String> {
        self.write_between(precision, 0, 0, ",")
    }

    fn write_between(&self, precision: usize, before: usize, after: usize, comma: &str) -> Result<String> {
        if self.values.is_empty() {
            return Ok("[]".to_owned());
        }
        if self.shape.is_empty() {
            return Ok(word(self.values[0], precision));
        }
        let words = Words::of(&self.values, precision);
        let mut text = String::new();
        let page = Page { words, comma };
        self.part(&page, &mut text, [0, 0], before + 1, LINE_WIDTH.saturating_sub(after))?;
        Ok(text)
    }

    /// Writes the part of the array below an axis from a value on, whose lines but the first begin with `indent` blanks.
    fn part(
        &self,
        page: &Page<'_>,
        text: &mut String,
        [axis, first]: [usize; 2],
        indent: usize,
        width: usize,
    ) -> Result<()> {
        let extent = self.shape[axis];
        let inner: usize = self.shape[axis + 1..].iter().product();
        let blanks = " ".repeat(indent);
        push(text, "[")?;
        if axis + 1 == self.shape.len() {
            self.line(page, text, first, &blanks, width)?;
        } else {
            let separator = format!("{}{}", page.comma, "\n".repeat(self.shape.len() - axis - 1));
            for i in 0..extent {
                if self.gaps[axis] && i == EDGE {
                    for part in [&blanks, "...", &separator] {
                        push(text, part)?;
                    }
                }
                // Behind the bracket, the first one has its place.
                push(text, if i == 0 { "" } else { &blanks })?;
                self.part(page, text, [axis + 1, first + i * inner], indent + 1, width - 1)?;
                push(text, if i + 1 == extent { "" } else { &separator })?;
            }
        }
        push(text, "]")
    }

    /// Writes the values along the last axis from one on, in lines that begin with blanks, but for the first.
    fn line(
        &self,
        page: &Page<'_>,
        text: &mut String,
        first: usize,
        blanks: &str,
        width: usize,
    ) -> Result<()> {
        let (axis, indent) = (self.shape.len() - 1, blanks.len());
        let (extent, gap) = (self.shape[axis], self.gaps[axis]);
        let mut line = blanks.to_owned();
        // What of the line is not written: the first one's blanks, in whose place the bracket stands.
        let mut skipped = indent;
        let mut put = |text: &mut String, word: &str, last: bool| {
            // One character of a line is left for the comma or bracket.
            if line.len() + word.len() > width - 1 && line.len() > indent {
                push(text, line[skipped..].trim_end())?;
                push(text, "\n")?;
                skipped = 0;
                line.truncate(indent);
            }
            line.push_str(word);
            if !last {
                line.push_str(page.comma);
                line.push(' ');
            }
            if last { push(text, &line[skipped..]) } else { Ok(()) }
        };
        for i in 0..extent {
            if gap && i == EDGE {
                put(text, "...", false)?;
            }
            put(text, &page.words.word(first + i), i + 1 == extent)?;
        }
        Ok(())
    }
}

/// Adds to the text of an array, whose length depends on the elements.
fn push(text: &mut String, part: &str) -> Result<()> {
    heap::push_str("text", text, part)
}

/// The elements, without those in gaps.
fn edges<T: Element>(array: &UsmArray, gaps: &[bool]) -> Result<Vec<Scalar>> {
    let untyped = |values: Vec<T>| heap::collect("values", values.into_iter().map(T::to_scalar));
    if !gaps.contains(&true) {
        return untyped(array.to_vec()?);
    }
    if array.usm_kind().host_accessible() {
        let view = array.brief_view::<T>()?;
        let mut values = Vec::new();
        let mut index = vec![0; gaps.len()];
        gather(&mut index, 0, array.shape(), gaps, &mut |index| match view.get(index) {
            Some(value) => heap::push("values", &mut values, value.to_scalar()),
            None => Ok(()),
        })?;
        return Ok(values);
    }
    // Corners are cut out on the device, so that only they travel.
    let mut corners = array.clone();
    for axis in (0..gaps.len()).filter(|&axis| gaps[axis]) {
        let mut items = vec![SliceItem::from(..); axis];
        items.push(SliceItem::from(..EDGE));
        let front = corners.slice(&items)?;
        items[axis] = SliceItem::from(-EDGE.cast_signed()..);
        let back = corners.slice(&items)?;
        corners = super::concat(&[&front, &back], Some(axis.cast_signed()))?;
    }
    untyped(corners.to_vec()?)
}

/// Calls a function with every multi-index that is not in a gap, in row-major order, up to the first error.
fn gather(
    index: &mut Vec<usize>,
    axis: usize,
    shape: &[usize],
    gaps: &[bool],
    found: &mut dyn FnMut(&[usize]) -> Result<()>,
) -> Result<()> {
    if axis == shape.len() {
        return found(index);
    }
    let extent = shape[axis];
    // What is in a gap is not even counted: its extent may be that of a broadcast.
    let [front, back] = if gaps[axis] { [0..EDGE, extent - EDGE..extent] } else { [0..extent, 0..0] };
    for i in front.chain(back) {
        index[axis] = i;
        gather(index, axis + 1, shape, gaps, found)?;
    }
    Ok(())
}

/// A number alone, which needs no common form, but looks as if it had one.
pub(super) fn word(value: Scalar, precision: usize) -> String {
    let values = [value];
    let bare = Words::of(&values, precision).word(0).trim_start().to_owned();
    if bare.ends_with('.') { bare + "0" } else { bare }
}

/// Values, and the form that they share. Their words are written one at a time.
struct Words<'a> {
    values: &'a [Scalar],
    form: Shared,
}

enum Shared {
    Real(Form),
    Complex(Form, Form),
    /// Bools or integers of as many characters at most.
    Whole(usize),
}

impl<'a> Words<'a> {
    fn of(values: &'a [Scalar], precision: usize) -> Self {
        let dtype = values.first().map_or(Dtype::Bool, Scalar::dtype);
        // Numbers outside are scientific: above, a power of ten with no more digits than the dtype holds, and at most 8.
        let high = match dtype.real_part() {
            Dtype::Bf16 => 1e2,
            Dtype::F16 => 1e3,
            Dtype::F32 => 1e6,
            _ => 1e8,
        };
        let plain = Scalar::F64(1e-4).cast(dtype.real_part()).to_f64()..high;
        let form = |part| Form::of(values, part, precision, &plain);
        let form = match dtype.kind() {
            DtypeKind::Float => Shared::Real(form(Part::Real)),
            DtypeKind::Complex => Shared::Complex(form(Part::Real), form(Part::Imaginary)),
            // As wide as either, whatever there is.
            DtypeKind::Bool => Shared::Whole("false".len()),
            _ => Shared::Whole(values.iter().map(|value| whole(value).len()).max().unwrap_or(0)),
        };
        Self { values, form }
    }

    /// A value in the common form of all.
    fn word(&self, number: usize) -> String {
        let value = self.values[number];
        match &self.form {
            Shared::Real(form) => form.word(value),
            Shared::Complex(re, im) => {
                let im = im.word(value);
                // The unit goes before the blanks that align.
                let digits = im.trim_end();
                format!("{}{digits}j{}", re.word(value), &im[digits.len()..])
            }
            &Shared::Whole(width) => format!("{:>width$}", whole(&value)),
        }
    }
}

/// A `bool` or an integer.
fn whole(value: &Scalar) -> String {
    macro_rules! arms {
        ($($variant:ident, $ty:ty, $name:literal, $kind:ident, $code:literal;)*) => {
            match value { $(Scalar::$variant(value) => value.to_string(),)* }
        };
    }
    crate::for_each_dtype!(arms)
}

/// A real number: its value, and the fewest digits that tell it from its neighbours in its dtype.
struct Real {
    value: f64,
    /// `d.ddde±x` of the magnitude; empty for what is not finite.
    shortest: String,
}

/// A part of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Real,
    Imaginary,
}

impl Part {
    /// The part's value; of real numbers, the only one.
    fn of(self, value: Scalar) -> f64 {
        let value = value.to_c128();
        if self == Self::Real { value.re } else { value.im }
    }
}

impl Real {
    /// A part of a value of a floating dtype.
    fn new(value: Scalar, part: Part) -> Self {
        match value {
            Scalar::F16(v) => Self::half(v.to_f64(), |x| f16::from_f64(x).to_f64()),
            Scalar::Bf16(v) => Self::half(v.to_f64(), |x| bf16::from_f64(x).to_f64()),
            Scalar::F32(v) => Self::single(v),
            Scalar::C64(v) => Self::single(if part == Part::Real { v.re } else { v.im }),
            _ => Self::double(part.of(value)),
        }
    }
    fn single(value: f32) -> Self {
        Self::shortened(value.into(), format!("{:e}", value.abs()))
    }
    fn double(value: f64) -> Self {
        Self::shortened(value, format!("{:e}", value.abs()))
    }
    /// The fewest digits that round to the value; five significant ones are enough for either half.
    fn half(value: f64, round: fn(f64) -> f64) -> Self {
        let magnitude = value.abs();
        let candidates = (0..5).map(|digits| format!("{magnitude:.digits$e}"));
        let exact = |text: &String| text.parse::<f64>().is_ok_and(|x| round(x) == magnitude);
        Self::shortened(value, candidates.into_iter().find(exact).unwrap_or_else(|| format!("{magnitude:e}")))
    }
    fn shortened(value: f64, shortest: String) -> Self {
        Self { value, shortest: if value.is_finite() { shortest } else { String::new() } }
    }

    /// Significant digits and the exponent of the first.
    fn digits(&self) -> (String, i32) {
        let (mantissa, exponent) = self.shortest.split_once('e').unwrap_or(("0", "0"));
        (mantissa.replace('.', ""), exponent.parse().unwrap_or(0))
    }

    /// Sign, digits before the point and digits behind it, at most `precision` of those, without zeros at the end.
    fn positional(&self, precision: usize) -> (String, String) {
        let (digits, exponent) = self.digits();
        let behind = i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1 - i64::from(exponent);
        let text = if behind > i64::try_from(precision).unwrap_or(i64::MAX) {
            // Rounded from the exact value.
            format!("{:.precision$}", self.value.abs())
        } else {
            self.shortest_decimal()
        };
        let (before, behind) = text.split_once('.').unwrap_or((&text, ""));
        (format!("{}{before}", self.sign()), behind.trim_end_matches('0').to_owned())
    }

    /// The shortest digits in positional notation.
    fn shortest_decimal(&self) -> String {
        let (digits, exponent) = self.digits();
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
        let before = usize::try_from(exponent + 1).unwrap_or(0);
        match digits.len() {
            _ if exponent < 0 => format!("0.{}{digits}", zeros(-exponent - 1)),
            // A shortest form has at most 17 digits.
            len if before >= len => format!("{digits}{}", zeros(exponent + 1 - len as i32)),
            _ => format!("{}.{}", &digits[..before], &digits[before..]),
        }
    }

    /// Sign and first digit, digits behind the point, and the exponent.
    fn scientific(&self, precision: usize) -> (String, String, i32) {
        let (digits, _) = self.digits();
        let text = if digits.len() > precision + 1 {
            format!("{:.precision$e}", self.value.abs())
        } else {
            self.shortest.clone()
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let behind = behind.trim_end_matches('0').to_owned();
        (format!("{}{before}", self.sign()), behind, exponent.parse().unwrap_or(0))
    }

    fn sign(&self) -> &'static str {
        if self.value.is_sign_negative() { "-" } else { "" }
    }
}

/// The common form of some real numbers.
struct Form {
    part: Part,
    scientific: bool,
    precision: usize,
    /// Whether positive numbers have a sign too.
    signed: bool,
    /// Characters before the point, digits behind it, digits of the exponent.
    before: usize,
    behind: usize,
    exponent: usize,
}

impl Form {
    /// The form of a part of all values; that of the imaginary ones, which is behind the real one, has signs.
    fn of(values: &[Scalar], part: Part, precision: usize, plain: &Range<f64>) -> Self {
        let sizes = values.iter().map(|&value| part.of(value).abs()).filter(|size| size.is_finite());
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for size in sizes.filter(|&size| size != 0.0) {
            (least, most) = (least.min(size), most.max(size));
        }
        let scientific = most >= plain.end || (most > 0.0 && (least < plain.start || most / least > 1000.0));
        let signed = part == Part::Imaginary;
        let mut form = Self { part, scientific, precision, signed, before: 0, behind: 0, exponent: 2 };
        // Characters of what is not finite, which ends where the digits behind the point do.
        let mut specials = 0;
        for number in values.iter().map(|&value| Real::new(value, part)) {
            let (before, behind) = if !number.value.is_finite() {
                specials = specials.max(form.with_sign(&special(&number)).len());
                continue;
            } else if scientific {
                let (before, behind, exponent) = number.scientific(precision);
                form.exponent = form.exponent.max(exponent.unsigned_abs().to_string().len());
                (before, behind)
            } else {
                number.positional(precision)
            };
            form.before = form.before.max(form.with_sign(&before).len());
            form.behind = form.behind.max(behind.len());
        }
        form.before = form.before.max(specials.saturating_sub(form.tail()));
        form
    }

    /// Characters from the point on.
    fn tail(&self) -> usize {
        1 + self.behind + if self.scientific { 2 + self.exponent } else { 0 }
    }

    fn with_sign(&self, text: &str) -> String {
        if self.signed && !text.starts_with('-') { format!("+{text}") } else { text.to_owned() }
    }

    fn word(&self, value: Scalar) -> String {
        let number = Real::new(value, self.part);
        let (width, behind) = (self.before, self.behind);
        if !number.value.is_finite() {
            let all = width + self.tail();
            return format!("{:>all$}", self.with_sign(&special(&number)));
        }
        if self.scientific {
            // All have as many digits as the one that needs most, exact ones.
            let text = format!("{:.behind$e}", number.value.abs());
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let point = if behind == 0 { "." } else { "" };
            let mantissa = self.with_sign(&format!("{}{mantissa}{point}", number.sign()));
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            let (width, places) = (width + 1 + behind, self.exponent);
            return format!("{mantissa:>width$}e{sign}{exponent:0>places$}");
        }
        let (before, digits) = number.positional(self.precision);
        format!("{:>width$}.{digits:<behind$}", self.with_sign(&before))
    }
}

fn special(number: &Real) -> String {
    match number.value {
        value if value.is_nan() => "nan".to_owned(),
        _ => format!("{}inf", number.sign()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex;

    fn write<T: Element>(shape: &[usize], values: &[T], precision: usize) -> String {
        let values: Vec<Scalar> = values.iter().map(|value| value.to_scalar()).collect();
        Extract { shape: shape.to_vec(), gaps: vec![false; shape.len()], values }.write(precision).unwrap()
    }
    fn line<T: Element>(values: &[T]) -> String {
        write(&[values.len()], values, PRECISION)
    }

    // Expected texts are those of NumPy 2.4, `array2string(…, separator=", ")`, but for the names of truth values and for
    // bfloat16, which it lacks.

    #[test]
    fn floats_share_a_form() {
        assert_eq!(write(&[2, 2], &[1.0, 2.0, 3.0, 4.0], 8), "[[1., 2.],\n [3., 4.]]");
        assert_eq!(line(&[1.0, 2.5]), "[1. , 2.5]");
        assert_eq!(line(&[-1.0, 22.5, 0.125]), "[-1.   , 22.5  ,  0.125]");
        assert_eq!(line(&[0.1_f32, 1.0 / 3.0]), "[0.1       , 0.33333334]");
        assert_eq!(line(&[1.0 / 3.0, 2.0 / 3.0]), "[0.33333333, 0.66666667]");
        assert_eq!(line(&[f16::from_f32(0.1), f16::ONE]), "[0.1, 1. ]");
        assert_eq!(line(&[bf16::from_f32(0.1), bf16::from_f32(300.0)]), "[1.e-01, 3.e+02]");
        assert_eq!(line(&[0.0, -0.0]), "[ 0., -0.]");
        assert_eq!(line(&[12_345_678.0]), "[12345678.]");
    }

    #[test]
    fn floats_of_different_sizes_are_scientific() {
        assert_eq!(line(&[1e-5, 1.0]), "[1.e-05, 1.e+00]");
        assert_eq!(line(&[1.5e-5, -1.0]), "[ 1.5e-05, -1.0e+00]");
        assert_eq!(line(&[1e8]), "[1.e+08]");
        assert_eq!(line(&[1e100, 0.0]), "[1.e+100, 0.e+000]");
        assert_eq!(line(&[1.0, 1001.0]), "[1.000e+00, 1.001e+03]");
        assert_eq!(line(&[1.0, 1000.0]), "[   1., 1000.]");
        assert_eq!(line(&[1e-4]), "[0.0001]");
    }

    #[test]
    fn what_is_not_finite_is_aligned() {
        assert_eq!(line(&[f64::NAN, 1.0]), "[nan,  1.]");
        assert_eq!(line(&[f64::NAN, 1.25, f64::NEG_INFINITY]), "[ nan, 1.25, -inf]");
        assert_eq!(line(&[f64::INFINITY]), "[inf]");
        assert_eq!(line(&[f64::NAN, 1e20]), "[   nan, 1.e+20]");
    }

    #[test]
    fn precision_is_honoured() {
        assert_eq!(write(&[2], &[1.0 / 3.0, 2.0], 3), "[0.333, 2.   ]");
        assert_eq!(write(&[2], &[1.0 / 3.0, 2e9], 2), "[3.33e-01, 2.00e+09]");
        assert_eq!(write(&[1], &[0.999_9], 2), "[1.]");
        assert_eq!(write(&[1], &[1.0 / 3.0], 0), "[0.]");
    }

    #[test]
    fn other_kinds() {
        assert_eq!(line(&[true, false]), "[ true, false]");
        assert_eq!(line(&[1, -10, 100]), "[  1, -10, 100]");
        assert_eq!(
            line(&[u64::MAX, i64::MIN.unsigned_abs()]),
            "[18446744073709551615,  9223372036854775808]"
        );
        let z = |re, im| Complex::new(re, im);
        assert_eq!(line(&[z(1.0, 2.0)]), "[1.+2.j]");
        assert_eq!(line(&[z(1.5, -2.0), z(-1.0, 0.25)]), "[ 1.5-2.j  , -1. +0.25j]");
        assert_eq!(line(&[z(f32::NAN, 1.0), z(0.0, f32::INFINITY)]), "[nan +1.j,  0.+infj]");
    }

    #[test]
    fn no_elements_and_no_dimensions() {
        assert_eq!(write::<f32>(&[0, 3], &[], 8), "[]");
        assert_eq!(write(&[], &[1.0], 8), "1.0");
        assert_eq!(write(&[], &[0.25], 8), "0.25");
        assert_eq!(write(&[], &[7], 8), "7");
    }

    #[test]
    fn lines_wrap_and_blocks_are_apart() {
        let numbers: Vec<i32> = (0..30).collect();
        assert_eq!(
            line(&numbers),
            "[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n \
              18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]"
        );
        assert_eq!(write(&[2, 1, 2], &[1, 2, 3, 4], 8), "[[[1, 2]],\n\n [[3, 4]]]");
    }

    #[test]
    fn gaps_are_marked_on_their_axis() {
        let values: Vec<Scalar> = (0..12).map(Scalar::I32).collect();
        let extract = Extract { shape: vec![2, 6], gaps: vec![false, true], values: values.clone() };
        assert_eq!(
            extract.write(8).unwrap(),
            "[[ 0,  1,  2, ...,  3,  4,  5],\n [ 6,  7,  8, ...,  9, 10, 11]]"
        );
        let extract = Extract { shape: vec![6, 2], gaps: vec![true, false], values };
        let expected = "[[ 0,  1],\n [ 2,  3],\n [ 4,  5],\n ...,\n [ 6,  7],\n [ 8,  9],\n [10, 11]]";
        assert_eq!(extract.write(8).unwrap(), expected);
    }
}
