//! Sums of products by Einstein's notation: a letter is an axis, and what the result does not name is summed.

use super::{Reduction, UsmArray};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::SliceItem;
use crate::memory::heap;
use crate::ops::Op;
use crate::promotion::result_type;
use crate::runtime::common_queue;

/// What names an axis: a letter, or one of the dimensions that an ellipsis stands for, counted from the last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Label {
    Ellipsis(std::cmp::Reverse<usize>),
    Letter(char),
}

/// Operands' labels and those of the result.
struct Subscripts {
    operands: Vec<Vec<Label>>,
    result: Vec<Label>,
}

/// Letters that there are: a result names each once.
const LETTERS: usize = 52;
const EACH_ONCE: &str = "a result that names axes of the operands, each once";

fn wrong(subscripts: &str, expected: impl Into<String>) -> Error {
    Error::value(
        "subscripts",
        format_args!("{subscripts:?}"),
        expected.into(),
        "write a letter for each axis, as \"ij,jk->ik\"",
    )
}

impl Subscripts {
    fn read(subscripts: &str, shapes: &[&[usize]]) -> Result<Self> {
        let mut text = String::new();
        for part in subscripts.split_whitespace() {
            heap::push_str("subscripts", &mut text, part)?;
        }
        let (inputs, output) = match text.split_once("->") {
            Some((inputs, output)) => (inputs, Some(output)),
            None => (text.as_str(), None),
        };
        let terms = || inputs.split(',');
        if terms().count() != shapes.len() {
            return Err(wrong(subscripts, format!("a term for each of {} operands", shapes.len())));
        }
        let read = terms().zip(shapes).map(|(term, shape)| labels(subscripts, term, Some(shape.len())));
        let operands = heap::try_collect("operands", read)?;
        let all = || operands.iter().flatten().copied();
        let result = match output {
            Some(output) => {
                let count =
                    all().filter(|label| matches!(label, Label::Ellipsis(_))).map(|label| match label {
                        Label::Ellipsis(number) => number.0 + 1,
                        Label::Letter(_) => 0,
                    });
                let hidden = count.max().unwrap_or(0);
                let mut named = labels(subscripts, output, None)?;
                if let Some(place) = named.iter().position(|label| matches!(label, Label::Ellipsis(_))) {
                    let dims = (0..hidden).rev().map(|number| Label::Ellipsis(std::cmp::Reverse(number)));
                    named.splice(place..=place, dims);
                } else if hidden > 0 {
                    return Err(wrong(subscripts, "an ellipsis in the result, as the operands have one"));
                }
                named
            }
            None => {
                let mut once = heap::collect(
                    "subscripts",
                    all().filter(|label| {
                        matches!(label, Label::Ellipsis(_))
                            || all().filter(|other| other == label).count() == 1
                    }),
                )?;
                once.sort_unstable();
                once.dedup();
                once
            }
        };
        for (number, label) in result.iter().enumerate() {
            let twice = result[..number].contains(label);
            if twice || !all().any(|other| other == *label) {
                let why = if twice { "comes twice" } else { "is no axis of an operand" };
                return Err(wrong(
                    subscripts,
                    match label {
                        Label::Letter(letter) => format!("{EACH_ONCE}; {letter:?} {why}"),
                        Label::Ellipsis(_) => EACH_ONCE.to_owned(),
                    },
                ));
            }
        }
        Ok(Self { operands, result })
    }
}

/// The labels of a term; of a result, one stands for an ellipsis.
fn labels(subscripts: &str, term: &str, ndim: Option<usize>) -> Result<Vec<Label>> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    let letters = || before.chars().chain(after.unwrap_or("").chars());
    if let Some(c) = letters().find(|c| !c.is_ascii_alphabetic()) {
        return Err(wrong(subscripts, format!("letters, commas, \"...\" and \"->\", not {c:?}")));
    }
    let count = letters().count();
    let fits = ndim.is_none_or(|ndim| count == ndim || (after.is_some() && count < ndim));
    if !fits {
        let ndim = ndim.unwrap_or(count);
        let expected = format!("{ndim} letters, not {count}, for an operand of {ndim} axes");
        return Err(wrong(subscripts, expected));
    }
    // Before they are kept: there may be any number of them.
    if ndim.is_none() && count > LETTERS {
        return Err(wrong(subscripts, EACH_ONCE));
    }
    let mut named: Vec<Label> = before.chars().map(Label::Letter).collect();
    if after.is_some() {
        let hidden = ndim.map_or(1, |ndim| ndim - count);
        named.extend((0..hidden).rev().map(|number| Label::Ellipsis(std::cmp::Reverse(number))));
    }
    named.extend(after.unwrap_or("").chars().map(Label::Letter));
    Ok(named)
}

/// An operand on the way: an array and the label of each of its axes, all different.
struct Term {
    array: UsmArray,
    labels: Vec<Label>,
}

fn signed(extents: &[usize]) -> Vec<isize> {
    extents.iter().map(|extent| extent.cast_signed()).collect()
}

impl Term {
    /// An operand whose axes of the same label have become their diagonal, and whose axes of extent 1 are gone where others of the
    /// label have more elements.
    fn new(array: &UsmArray, labels: &[Label], extent: impl Fn(Label) -> usize) -> Result<Self> {
        let mut term = Self { array: array.clone(), labels: labels.to_vec() };
        let mut axis = 0;
        while axis < term.labels.len() {
            let label = term.labels[axis];
            if term.array.shape()[axis] == 1 && extent(label) != 1 {
                term.array = term.array.squeeze(&[axis.cast_signed()])?;
                term.labels.remove(axis);
                continue;
            }
            if let Some(first) = term.labels[..axis].iter().position(|other| *other == label) {
                let moved = [first.cast_signed(), axis.cast_signed()];
                term.array = term.array.move_axes(&moved, &[-2, -1])?.diagonal(0)?;
                term.labels.remove(axis);
                let label = term.labels.remove(first);
                term.labels.push(label);
                axis = 0;
                continue;
            }
            axis += 1;
        }
        Ok(term)
    }

    /// Sums over the axes that nothing else names.
    fn summed(self, kept: impl Fn(Label) -> bool) -> Result<Self> {
        let gone: Vec<isize> =
            (0..self.labels.len()).filter(|&k| !kept(self.labels[k])).map(usize::cast_signed).collect();
        if gone.is_empty() {
            return Ok(self);
        }
        let array = self.array.reduce_as(Reduction::Sum, Some(&gone), false, Some(self.array.dtype()))?;
        Ok(Self { array, labels: self.labels.into_iter().filter(|&label| kept(label)).collect() })
    }

    /// The array with axes in an order; each label is one of its own.
    fn ordered(&self, labels: &[Label]) -> Result<UsmArray> {
        let place =
            |label: &Label| self.labels.iter().position(|own| own == label).unwrap_or(0).cast_signed();
        self.array.permute_dims(&labels.iter().map(place).collect::<Vec<_>>())
    }

    /// The array with axes for all labels of a list, of extent 1 where it has none.
    fn spread(&self, labels: &[Label]) -> Result<UsmArray> {
        let own: Vec<Label> = labels.iter().copied().filter(|label| self.labels.contains(label)).collect();
        let items = labels.iter().map(|label| match self.labels.contains(label) {
            true => SliceItem::Slice { start: None, stop: None, step: 1 },
            false => SliceItem::NewAxis,
        });
        self.ordered(&own)?.slice(&items.collect::<Vec<_>>())
    }

    /// The products with another operand, summed over the labels of both that are not kept.
    fn times(&self, other: &Self, kept: impl Fn(Label) -> bool) -> Result<Self> {
        let shared = |label: &Label| other.labels.contains(label);
        let pick = |of: &[Label], test: &dyn Fn(&Label) -> bool| -> Vec<Label> {
            of.iter().copied().filter(|label| test(label)).collect()
        };
        let batch = pick(&self.labels, &|label| shared(label) && kept(*label));
        let inner = pick(&self.labels, &|label| shared(label) && !kept(*label));
        let left = pick(&self.labels, &|label| !shared(label));
        let right = pick(&other.labels, &|label| !self.labels.contains(label));
        let labels = [&batch[..], &left, &right].concat();
        if inner.is_empty() {
            let product = self.spread(&labels)?.binary(Op::Multiply, &other.spread(&labels)?)?;
            return Ok(Self { array: product, labels });
        }
        // Stacks of matrices: rows by what is summed, by columns.
        let first = self.ordered(&[&batch[..], &left, &inner].concat())?;
        let second = other.ordered(&[&batch[..], &inner, &right].concat())?;
        let (b, l, r) = (batch.len(), left.len(), right.len());
        let product = |extents: &[usize]| extents.iter().product::<usize>();
        let (stack, rows) = (&first.shape()[..b], &first.shape()[b..b + l]);
        let (sums, columns) = (&first.shape()[b + l..], &second.shape()[second.ndim() - r..]);
        let shape = [stack, rows, columns].concat();
        let x1 = first.reshape(&signed(&[product(stack), product(rows), product(sums)]))?;
        let x2 = second.reshape(&signed(&[product(stack), product(sums), product(columns)]))?;
        Ok(Self { array: x1.matmul(&x2)?.reshape(&signed(&shape))?, labels })
    }
}

/// Sums of products by Einstein's notation, as NumPy reads it: a term of letters for each operand, one letter for each axis, and
/// behind `->` those of the result; without it, the letters that occur once, in their order. Axes of one letter go along with each
/// other, in one operand they are its diagonal, and what the result does not name is summed. An ellipsis stands for the
/// axes that are not named, which are broadcast.
///
/// The order is stated: operands are multiplied from the left to the right; before that, an operand is summed over what nothing else
/// names; each product is summed over what neither the result nor a later operand names, as
/// [`matmul`](UsmArray::matmul) sums. Write the operands in the order that is best.
///
/// ```no_run
/// use stridewise_core::{array, einsum};
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[1.0, 0.0], [0.0, 1.0]]);
/// let product = einsum("ij,jk->ik", &[a.as_untyped(), b.as_untyped()])?;
/// # Ok::<(), stridewise_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Value`] for a notation that is none, [`Error::Shape`] where extents of a letter differ, [`Error::Dtype`] for `bool`,
/// [`Error::ExecutionPlacement`].
pub fn einsum(subscripts: &str, operands: &[&UsmArray]) -> Result<UsmArray> {
    let shapes = heap::collect("operands", operands.iter().map(|array| array.shape()))?;
    let Some(first) = operands.first() else {
        return Err(wrong(subscripts, "at least one operand"));
    };
    let read = Subscripts::read(subscripts, &shapes)?;
    let queues = heap::collect("operands", operands.iter().map(|array| ("operands", array.queue())))?;
    common_queue(&queues)?;
    let dtypes = heap::collect("operands", operands.iter().map(|array| array.dtype()))?;
    let dtype = result_type(&dtypes, &[], first.device().dtype_support())?;
    if dtype == Dtype::Bool {
        return Err(Error::dtype("operands", "bool for `einsum`", "numbers", "convert with `astype` first"));
    }
    let extent = |label: Label| -> usize {
        let own = read.operands.iter().zip(&shapes).flat_map(|(labels, shape)| labels.iter().zip(*shape));
        own.filter(|(other, extent)| **other == label && **extent != 1)
            .map(|(_, extent)| *extent)
            .next()
            .unwrap_or(1)
    };
    for (number, (labels, shape)) in read.operands.iter().zip(&shapes).enumerate() {
        for (axis, (&label, &own)) in labels.iter().zip(*shape).enumerate() {
            // Within an operand, whose diagonal it is, an axis of extent 1 goes along with no other.
            let first = labels[..axis].iter().position(|&other| other == label);
            if own != 1 && own != extent(label) || first.is_some_and(|first| shape[first] != own) {
                return Err(Error::shape(
                    format!("operands[{number}]"),
                    match first {
                        Some(first) if shape[first] != own => {
                            format!("of shape {shape:?}, whose axes {first} and {axis} are to be a diagonal")
                        }
                        _ => format!("of shape {shape:?}, with {own} where others have {}", extent(label)),
                    },
                    "extents that agree for each letter",
                    "check the letters, or transpose the operand",
                ));
            }
        }
    }
    let mut done: Option<Term> = None;
    for (number, (array, labels)) in operands.iter().zip(&read.operands).enumerate() {
        let later = |label: Label| read.operands[number + 1..].iter().any(|labels| labels.contains(&label));
        let kept = |label: Label| read.result.contains(&label) || later(label);
        let term = Term::new(&array.astype(dtype)?, labels, extent)?;
        done = Some(match done {
            None => term.summed(kept)?,
            Some(done) => {
                let term = term.summed(|label| kept(label) || done.labels.contains(&label))?;
                done.times(&term, kept)?.summed(kept)?
            }
        });
    }
    match done {
        Some(done) => done.ordered(&read.result),
        None => Err(wrong(subscripts, "at least one operand")),
    }
}
