//! Arrays with given elements in every form that memory can give them.

use stridewise::backend::UsmSupport;
use stridewise::{Device, Dtype, Layout, Order, Queue, Scalar, UsmArray, UsmKind, UsmMemory};

use crate::cell::Check;

/// How an array lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// Row-major.
    C,
    /// Column-major.
    F,
    /// Every second element along every axis, of memory with more in between.
    Step2,
    /// Backwards along every axis.
    Reversed,
    /// Backwards along the last axis, every third element along the first.
    Mixed,
    /// With the first axis moved to the end, and the memory row-major.
    Rotated,
    /// Row-major, three elements after the start of the allocation.
    Offset,
    /// Rows with a gap between them.
    Padded,
    /// One row, repeated by the operation.
    Row,
    /// One column, repeated by a stride of 0.
    Column,
    /// One element without dimensions, repeated by the operation.
    Point,
}

impl Form {
    pub(crate) const ALL: [Self; 11] = [
        Self::C,
        Self::F,
        Self::Step2,
        Self::Reversed,
        Self::Mixed,
        Self::Rotated,
        Self::Offset,
        Self::Padded,
        Self::Row,
        Self::Column,
        Self::Point,
    ];
    /// The forms in which every element has a place of its own.
    pub(crate) const DISTINCT: [Self; 8] = [
        Self::C,
        Self::F,
        Self::Step2,
        Self::Reversed,
        Self::Mixed,
        Self::Rotated,
        Self::Offset,
        Self::Padded,
    ];

    /// Strides in elements for a shape.
    fn strides(self, shape: &[usize]) -> Vec<isize> {
        let ndim = shape.len();
        let mut order: Vec<usize> = (0..ndim).collect();
        match self {
            Self::F => order.reverse(),
            Self::Rotated => order.rotate_left(usize::from(ndim > 1)),
            _ => {}
        }
        let mut strides = vec![0; ndim];
        let mut step = 1_isize;
        for (place, &axis) in order.iter().rev().enumerate() {
            let (factor, sign) = match self {
                Self::Step2 => (2, 1),
                Self::Reversed => (1, -1),
                Self::Mixed if place == 0 => (1, -1),
                Self::Mixed if place + 1 == ndim => (3, 1),
                _ => (1, 1),
            };
            strides[axis] = step * factor * sign;
            step *= factor * shape[axis].max(1) as isize;
            if self == Self::Padded && place == 0 {
                step += 3;
            }
        }
        strides
    }
}

/// An array of a shape with elements in row-major order, lying in a form; and the elements it shows, which differ from
/// those given where the form repeats some.
pub(crate) fn place(
    queue: &Queue,
    shape: &[usize],
    dtype: Dtype,
    values: &[Scalar],
    form: Form,
) -> Check<(UsmArray, Vec<Scalar>)> {
    place_in(queue, shape, dtype, values, form, visible_kind(queue.device()))
}

/// The kind of memory to test in: shared, or device where there is no other.
pub(crate) fn visible_kind(device: &Device) -> UsmKind {
    match device.info().usm(UsmKind::Shared) {
        UsmSupport::Absent => UsmKind::Device,
        _ => UsmKind::Shared,
    }
}

/// As [`place`], in memory of a kind.
pub(crate) fn place_in(
    queue: &Queue,
    shape: &[usize],
    dtype: Dtype,
    values: &[Scalar],
    form: Form,
    kind: UsmKind,
) -> Check<(UsmArray, Vec<Scalar>)> {
    assert_eq!(values.len(), shape.iter().product::<usize>(), "as many values as the shape has");
    let ndim = shape.len();
    match form {
        Form::Point => {
            let Some(&value) = values.first() else {
                return place_in(queue, shape, dtype, values, Form::C, kind);
            };
            let (array, _) = place_in(queue, &[], dtype, &[value], Form::C, kind)?;
            return Ok((array, vec![value; values.len()]));
        }
        Form::Row if ndim > 0 && !values.is_empty() => {
            let row = shape[ndim - 1];
            let (array, _) = place_in(queue, &[row], dtype, &values[..row], Form::C, kind)?;
            return Ok((array, values[..row].iter().copied().cycle().take(values.len()).collect()));
        }
        Form::Column if ndim > 0 && !values.is_empty() => {
            let row = shape[ndim - 1];
            let mut column = shape.to_vec();
            column[ndim - 1] = 1;
            let firsts: Vec<Scalar> = values.iter().step_by(row).copied().collect();
            let (array, _) = place_in(queue, &column, dtype, &firsts, Form::C, kind)?;
            let shown = firsts.iter().flat_map(|&v| std::iter::repeat_n(v, row)).collect();
            return Ok((array.broadcast_to(shape)?, shown));
        }
        _ => {}
    }
    let strides = form.strides(shape);
    let offset = if form == Form::Offset { Some(3) } else { None };
    let layout = Layout::new(shape, Some(&strides), offset, Order::C, dtype.size(), None)?;
    let elements = layout.required_elements().max(layout.offset()) + 2;
    // Bytes of 1 in between are valid elements of every dtype, and wrong ones.
    let mut bytes = vec![1_u8; elements * dtype.size()];
    write(&layout, dtype, values, &mut bytes);
    let memory = UsmMemory::new(kind, bytes.len(), queue)?;
    memory.copy_from_host(0, &bytes)?;
    let mut builder = UsmArray::builder(shape).dtype(dtype).buffer(&memory).strides(&strides).queue(queue);
    if let Some(offset) = offset {
        builder = builder.offset(offset);
    }
    Ok((builder.build()?, values.to_vec()))
}

/// Writes elements, in row-major order, to where a layout has them.
pub(crate) fn write(layout: &Layout, dtype: Dtype, values: &[Scalar], bytes: &mut [u8]) {
    let size = dtype.size();
    for (index, value) in layout.indices().zip(values) {
        bytes[index * size..][..size].copy_from_slice(&value.to_bytes()[..size]);
    }
}

/// Reads elements, in row-major order, from where a layout has them.
pub(crate) fn collect(layout: &Layout, dtype: Dtype, bytes: &[u8]) -> Vec<Scalar> {
    let size = dtype.size();
    let element = |index: usize| {
        let mut wide = [0; 16];
        wide[..size].copy_from_slice(&bytes[index * size..][..size]);
        Scalar::from_bytes(dtype, &wide)
    };
    layout.indices().map(element).collect()
}

/// The elements of an array in row-major order, picked from the bytes of its allocation without any kernel.
pub(crate) fn read(array: &UsmArray) -> Check<Vec<Scalar>> {
    if array.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = array.usm_data()?.to_bytes()?;
    Ok(collect(array.layout(), array.dtype(), &bytes))
}

/// Multi-index, in row-major order, of an element of a shape.
pub(crate) fn multi_index(shape: &[usize], mut flat: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        index[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    index
}

/// Compares an array with the elements it should have.
pub(crate) fn expect(what: &dyn std::fmt::Display, array: &UsmArray, expected: &[Scalar]) -> Check {
    let got = read(array)?;
    if got.len() != expected.len() {
        crate::cell::wrong!("{what}: {array:?}: {} elements, expected {}", got.len(), expected.len());
    }
    for (i, (&got, &expected)) in got.iter().zip(expected).enumerate() {
        if got.dtype() != expected.dtype() || !crate::values::same(got, expected) {
            let index = multi_index(array.shape(), i);
            crate::cell::wrong!("{what}: {array:?}: index {index:?}: got {got:?}, expected {expected:?}");
        }
    }
    Ok(())
}

/// The kinds of USM that a device has.
pub(crate) fn kinds(device: &Device) -> Vec<UsmKind> {
    UsmKind::ALL.into_iter().filter(|&kind| device.info().usm(kind) != UsmSupport::Absent).collect()
}
