//! Indexing by arrays, against naive loops; `masks.rs` has the masks.

use stridewise::{
    Device, Dtype, DtypeKind, Index, IndexMode, Queue, Scalar, SliceItem, UsmArray, broadcast_shapes, ix, s,
};

use crate::cell::{Case, Check, ensure, need, short};
use crate::forms::{Form, expect, multi_index, place, read};
use crate::values::Random;

/// Random cases per dtype, operation and device.
const ROUNDS: usize = 40;

const INTEGERS: [Dtype; 8] =
    [Dtype::I64, Dtype::I8, Dtype::I16, Dtype::I32, Dtype::U8, Dtype::U16, Dtype::U32, Dtype::U64];

const MODES: [IndexMode; 3] = [IndexMode::Check, IndexMode::Wrap, IndexMode::Clip];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in Dtype::ALL {
        let name = |case: &str| format!("indexing::{case}/{}", short(dtype));
        cases.push(Case::new(name("take"), move |device| take(device, dtype)));
        cases.push(Case::new(name("put"), move |device| put(device, dtype)));
        cases.push(Case::new(name("along_axis"), move |device| along_axis(device, dtype)));
        cases.push(Case::new(name("index"), move |device| index(device, dtype)));
        cases.push(Case::new(name("assign_index"), move |device| assign_index(device, dtype)));
    }
    for &dtype in &INTEGERS {
        let name = format!("indexing::extreme_indices/{}", short(dtype));
        cases.push(Case::new(name, move |device| extreme_indices(device, dtype)));
    }
    cases.push(Case::new("indexing::many_dimensions/i16", many_dimensions));
    cases.push(Case::new("indexing::overlap/i64", overlap));
    cases.push(Case::new("indexing::recorded/f32", recorded));
    cases
}

/// An array and what it shows, in row-major order.
pub(crate) struct Shown {
    pub(crate) array: UsmArray,
    pub(crate) values: Vec<Scalar>,
}

impl Shown {
    /// Random elements in a random form.
    pub(crate) fn new(
        queue: &Queue,
        random: &mut Random,
        shape: &[usize],
        dtype: Dtype,
        distinct: bool,
    ) -> Check<Self> {
        let repeating = [Form::Column];
        let forms = if distinct { &Form::DISTINCT[..] } else { &[&Form::DISTINCT[..], &repeating].concat() };
        let form = *random.pick(forms);
        let values = random.many(shape.iter().product(), |random| random.any(dtype));
        let (array, values) = place(queue, shape, dtype, &values, form)?;
        Ok(Self { array, values })
    }

    pub(crate) fn at(&self, index: &[usize]) -> Scalar {
        self.values[flat(self.array.shape(), index)]
    }
}

pub(crate) fn flat(shape: &[usize], index: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |at, (&i, &extent)| at * extent + i)
}

/// A shape of a few small extents, now and then 0 or 1.
pub(crate) fn small_shape(random: &mut Random, least: usize, most: usize) -> Vec<usize> {
    let ndim = least + random.below(most - least + 1);
    (0..ndim).map(|_| if random.chance(12) { random.below(2) } else { 1 + random.below(6) }).collect()
}

pub(crate) fn elements(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    (0..shape.iter().product()).map(move |flat| multi_index(shape, flat))
}

/// An array of indices for an extent, of a random integer dtype, and the places that they mean.
fn places(
    queue: &Queue,
    random: &mut Random,
    shape: &[usize],
    extent: usize,
    mode: IndexMode,
) -> Check<(UsmArray, Vec<usize>)> {
    let dtype = *random.pick(&INTEGERS);
    let signed = dtype.kind() == DtypeKind::Signed;
    let info = dtype.iinfo()?;
    let range = (info.min.max(-1000) as i64, info.max.min(1000) as i64);
    let (n, count) = (extent as i64, shape.iter().product());
    let numbers: Vec<i64> = (0..count)
        .map(|_| {
            let wide = if mode == IndexMode::Check { n } else { 3 * n };
            // No index is beyond the range of its dtype.
            let (least, most) = range;
            let (low, high) = if signed { ((-wide).max(least), wide.min(most)) } else { (0, wide.min(most)) };
            low + random.below((high - low) as usize) as i64
        })
        .collect();
    let values: Vec<Scalar> = numbers.iter().map(|&i| Scalar::I64(i).cast(dtype)).collect();
    let (array, _) = place(queue, shape, dtype, &values, *random.pick(&Form::DISTINCT))?;
    Ok((array, numbers.into_iter().map(|i| meant(i.into(), extent, mode)).collect()))
}

/// The place that an index means.
fn meant(index: i128, extent: usize, mode: IndexMode) -> usize {
    let n = extent as i128;
    (match mode {
        IndexMode::Check if index < 0 => index + n,
        IndexMode::Check => index,
        IndexMode::Wrap => index.rem_euclid(n),
        IndexMode::Clip => index.clamp(0, n - 1),
    }) as usize
}

/// The shape with an axis replaced by dimensions.
pub(crate) fn replaced(shape: &[usize], axis: usize, by: &[usize]) -> Vec<usize> {
    [&shape[..axis], by, &shape[axis + 1..]].concat()
}

/// The shape of an array of indices for an axis; none where the axis has no elements.
fn shape_of_indices(random: &mut Random, extent: usize) -> Vec<usize> {
    let mut shape = small_shape(random, 0, 2);
    if extent == 0 && !shape.contains(&0) {
        shape.push(0);
    }
    shape
}

fn named(random: &mut Random, axis: usize, ndim: usize) -> isize {
    if random.chance(2) { axis as isize } else { axis as isize - ndim as isize }
}

fn take(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("take{dtype}"));
    for round in 0..ROUNDS {
        let x = {
            let shape = small_shape(&mut random, 1, 4);
            Shown::new(&queue, &mut random, &shape, dtype, false)?
        };
        let shape = x.array.shape().to_vec();
        let mode = *random.pick(&MODES);
        let axis = random.below(shape.len());
        let all = random.chance(4);
        let extent = if all { x.values.len() } else { shape[axis] };
        let indices = shape_of_indices(&mut random, extent);
        let (array, meant) = places(&queue, &mut random, &indices, extent, mode)?;
        let what = format!("{round}: take {array:?} of {:?}, axis {axis}, all {all}, {mode:?}", x.array);
        let name = named(&mut random, axis, shape.len());
        let result = x.array.take(&array, (!all).then_some(name), mode)?;
        let wanted = if all { indices.clone() } else { replaced(&shape, axis, &indices) };
        ensure!(result.shape() == wanted, "{what}: shape {:?}, expected {wanted:?}", result.shape());
        let expected: Vec<Scalar> = elements(&wanted)
            .map(|index| match all {
                true => x.values[meant[flat(&indices, &index)]],
                false => {
                    let end = axis + indices.len();
                    let place = meant[flat(&indices, &index[axis..end])];
                    x.at(&[&index[..axis], &[place], &index[end..]].concat())
                }
            })
            .collect();
        expect(&what, &result, &expected)?;
    }
    Ok(())
}

/// Values to write: an array that broadcasts to a shape, or a scalar. And the value for each element of the shape.
pub(crate) fn values_to_write(
    queue: &Queue,
    random: &mut Random,
    shape: &[usize],
    dtype: Dtype,
) -> Check<(Option<UsmArray>, Vec<Scalar>)> {
    let count = shape.iter().product();
    if random.chance(4) {
        return Ok((None, vec![random.any(dtype); count]));
    }
    let skip = if random.chance(3) { random.below(shape.len() + 1) } else { 0 };
    let own: Vec<usize> = shape[skip..].iter().map(|&n| if random.chance(5) { 1 } else { n }).collect();
    let values = Shown::new(queue, random, &own, dtype, false)?;
    let shown = elements(shape)
        .map(|index| {
            let own: Vec<usize> =
                index[skip..].iter().zip(&own).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            values.at(&own)
        })
        .collect();
    Ok((Some(values.array), shown))
}

fn put(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("put{dtype}"));
    for round in 0..ROUNDS {
        let shape = small_shape(&mut random, 1, 4);
        let x = Shown::new(&queue, &mut random, &shape, dtype, true)?;
        let mode = *random.pick(&MODES);
        let axis = random.below(shape.len());
        let all = random.chance(3);
        let extent = if all { x.values.len() } else { shape[axis] };
        let indices = shape_of_indices(&mut random, extent);
        let (array, meant) = places(&queue, &mut random, &indices, extent, mode)?;
        let space = if all { indices.clone() } else { replaced(&shape, axis, &indices) };
        let (values, shown) = values_to_write(&queue, &mut random, &space, dtype)?;
        let what = format!("{round}: put {array:?} in {:?}, axis {axis}, all {all}, {mode:?}", x.array);
        let name = (!all).then_some(named(&mut random, axis, shape.len()));
        match &values {
            Some(values) => x.array.put(&array, values, name, mode)?,
            None => x.array.put(&array, *shown.first().unwrap_or(&Scalar::I8(0).cast(dtype)), name, mode)?,
        };
        let mut expected = x.values.clone();
        for (index, value) in elements(&space).zip(shown) {
            let at = if all {
                meant[flat(&indices, &index)]
            } else {
                let end = axis + indices.len();
                let place = meant[flat(&indices, &index[axis..end])];
                flat(&shape, &[&index[..axis], &[place], &index[end..]].concat())
            };
            expected[at] = value;
        }
        expect(&what, &x.array, &expected)?;
    }
    Ok(())
}

fn along_axis(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("along{dtype}"));
    for round in 0..ROUNDS {
        let shape = small_shape(&mut random, 1, 4);
        let x = Shown::new(&queue, &mut random, &shape, dtype, true)?;
        let mode = *random.pick(&MODES);
        let axis = random.below(shape.len());
        let mut indices: Vec<usize> = shape.iter().map(|&n| if random.chance(4) { 1 } else { n }).collect();
        indices[axis] = if shape[axis] == 0 { 0 } else { random.below(5) };
        let (array, meant) = places(&queue, &mut random, &indices, shape[axis], mode)?;
        let mut space = shape.clone();
        space[axis] = indices[axis];
        let place = |index: &[usize]| {
            let own: Vec<usize> =
                index.iter().zip(&indices).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
            let mut index = index.to_vec();
            index[axis] = meant[flat(&indices, &own)];
            index
        };
        let what = format!("{round}: along axis {axis}, {array:?} of {:?}, {mode:?}", x.array);
        let name = named(&mut random, axis, shape.len());
        let result = x.array.take_along_axis(&array, name, mode)?;
        ensure!(result.shape() == space, "{what}: shape {:?}, expected {space:?}", result.shape());
        let expected: Vec<Scalar> = elements(&space).map(|index| x.at(&place(&index))).collect();
        expect(&what, &result, &expected)?;
        let (values, shown) = values_to_write(&queue, &mut random, &space, dtype)?;
        if let Some(values) = values {
            x.array.put_along_axis(&array, &values, name, mode)?;
            let mut expected = x.values.clone();
            for (index, value) in elements(&space).zip(shown) {
                expected[flat(&shape, &place(&index))] = value;
            }
            expect(&format_args!("put {what}"), &x.array, &expected)?;
        }
    }
    Ok(())
}

/// What an item of an index does to an axis.
enum Selector {
    /// Several places, which stay an axis; of a new axis, none.
    Kept(Option<Vec<usize>>),
    /// Places of the dimensions that all arrays share, by shape.
    Joint(Vec<usize>, Vec<usize>),
}

/// A random index with at least one array, and what it does, one entry for each axis or new axis.
fn random_index(
    queue: &Queue,
    random: &mut Random,
    shape: &[usize],
    common: &[usize],
) -> Check<(Vec<Index>, Vec<Selector>)> {
    let (mut items, mut selectors) = (Vec::new(), Vec::new());
    let mut axis = 0;
    let chosen = random.below(shape.len());
    let shorter = |random: &mut Random| {
        let skip = if random.chance(3) { random.below(common.len() + 1) } else { 0 };
        common[skip..].iter().map(|&n| if random.chance(5) { 1 } else { n }).collect::<Vec<_>>()
    };
    let mut ellipsis = false;
    while axis < shape.len() {
        let extent = shape[axis];
        if random.chance(6) {
            items.push(Index::Slice(SliceItem::NewAxis));
            selectors.push(Selector::Kept(None));
        }
        let kind = if axis == chosen { 0 } else { random.below(8) };
        match kind {
            0 | 1 => {
                let own = if axis == chosen { common.to_vec() } else { shorter(random) };
                let (array, meant) = places(queue, random, &own, extent, IndexMode::Check)?;
                items.push(Index::from(&array));
                selectors.push(Selector::Joint(own, meant));
            }
            2 => {
                let place = random.below(extent);
                items.push(Index::from(place));
                selectors.push(Selector::Joint(Vec::new(), vec![place]));
            }
            3 if !ellipsis => {
                // Every other axis has an item, so that one is left for the ellipsis.
                ellipsis = true;
                items.push(Index::Slice(SliceItem::Ellipsis));
                selectors.push(Selector::Kept(Some((0..extent).collect())));
            }
            4 => {
                items.extend_from_slice(ix![..;-1]);
                selectors.push(Selector::Kept(Some((0..extent).rev().collect())));
            }
            // A mask of one or two axes, with as many true elements as go with the other arrays.
            5 | 6 if common.last().is_some_and(|&n| n <= extent) => {
                let count = common.last().copied().unwrap_or(0);
                let wide = axis + 1 < shape.len() && axis + 1 != chosen && random.chance(2);
                let own = &shape[axis..axis + 1 + usize::from(wide)];
                let mut cells: Vec<usize> = (0..own.iter().product()).collect();
                for i in (1..cells.len()).rev() {
                    cells.swap(i, random.below(i + 1));
                }
                cells.truncate(count);
                cells.sort_unstable();
                let values: Vec<Scalar> =
                    (0..own.iter().product()).map(|i| Scalar::Bool(cells.contains(&i))).collect();
                let (mask, _) = place(queue, own, Dtype::Bool, &values, *random.pick(&Form::DISTINCT))?;
                items.push(Index::from(&mask));
                for k in 0..own.len() {
                    let places = cells.iter().map(|&cell| multi_index(own, cell)[k]).collect();
                    selectors.push(Selector::Joint(vec![count], places));
                }
                axis += own.len() - 1;
            }
            _ => {
                let start = random.below(extent + 1);
                items.push(Index::from(start..));
                selectors.push(Selector::Kept(Some((start..extent).collect())));
            }
        }
        axis += 1;
    }
    Ok((items, selectors))
}

/// The shape of a selection and, for each of its elements, the multi-index of the array.
fn selection(selectors: &[Selector]) -> Check<(Vec<usize>, Vec<Vec<usize>>)> {
    let shapes: Vec<&[usize]> = selectors
        .iter()
        .filter_map(|s| if let Selector::Joint(shape, _) = s { Some(&shape[..]) } else { None })
        .collect();
    let common = broadcast_shapes(&shapes)?;
    let joint: Vec<usize> =
        (0..selectors.len()).filter(|&k| matches!(selectors[k], Selector::Joint(..))).collect();
    let adjacent = joint.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let first = if adjacent { joint.first().copied().unwrap_or(0) } else { 0 };
    // The dimensions of the result: those of the arrays at their place, one for each kept axis.
    let mut shape = Vec::new();
    let mut of_selector = vec![0; selectors.len()];
    let mut start = 0;
    for (k, selector) in selectors.iter().enumerate() {
        if k == first {
            start = shape.len();
            shape.extend_from_slice(&common);
        }
        if let Selector::Kept(places) = selector {
            of_selector[k] = shape.len();
            shape.push(places.as_ref().map_or(1, Vec::len));
        }
    }
    let sources = elements(&shape)
        .map(|index| {
            let mut source = Vec::new();
            for (k, selector) in selectors.iter().enumerate() {
                match selector {
                    Selector::Kept(Some(places)) => source.push(places[index[of_selector[k]]]),
                    Selector::Kept(None) => {}
                    Selector::Joint(own, places) => {
                        let at = &index[start + common.len() - own.len()..start + common.len()];
                        let at: Vec<usize> =
                            at.iter().zip(own).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
                        source.push(places[flat(own, &at)]);
                    }
                }
            }
            source
        })
        .collect();
    Ok((shape, sources))
}

/// A shape without extents of 0.
fn filled_shape(random: &mut Random, least: usize, most: usize) -> Vec<usize> {
    small_shape(random, least, most).into_iter().map(|n| n.max(1)).collect()
}

fn index(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("index{dtype}"));
    for round in 0..2 * ROUNDS {
        let shape = filled_shape(&mut random, 1, 5);
        let x = Shown::new(&queue, &mut random, &shape, dtype, false)?;
        let common = small_shape(&mut random, 0, 2);
        let (items, selectors) = random_index(&queue, &mut random, &shape, &common)?;
        let (wanted, sources) = selection(&selectors)?;
        let what = format!("{round}: {items:?} of {:?}", x.array);
        let result = x.array.index(&items)?;
        ensure!(result.shape() == wanted, "{what}: shape {:?}, expected {wanted:?}", result.shape());
        let expected: Vec<Scalar> = sources.iter().map(|source| x.at(source)).collect();
        expect(&what, &result, &expected)?;
    }
    Ok(())
}

fn assign_index(device: &Device, dtype: Dtype) -> Check {
    need(device, dtype)?;
    let queue = device.queue()?;
    let mut random = Random::named(&format!("assign_index{dtype}"));
    for round in 0..ROUNDS {
        let shape = filled_shape(&mut random, 1, 5);
        let x = Shown::new(&queue, &mut random, &shape, dtype, true)?;
        let common = small_shape(&mut random, 0, 2);
        let (items, selectors) = random_index(&queue, &mut random, &shape, &common)?;
        let (space, sources) = selection(&selectors)?;
        let what = format!("{round}: assign to {items:?} of {:?}", x.array);
        let (values, shown) = values_to_write(&queue, &mut random, &space, dtype)?;
        match &values {
            Some(values) => x.array.assign_index(&items, values)?,
            None => x.array.assign_index(&items, *shown.first().unwrap_or(&Scalar::I8(1).cast(dtype)))?,
        };
        let mut expected = x.values.clone();
        for (source, value) in sources.iter().zip(shown) {
            expected[flat(&shape, source)] = value;
        }
        expect(&what, &x.array, &expected)?;
    }
    Ok(())
}

/// The least and largest index of a dtype, with each way to treat them.
fn extreme_indices(device: &Device, dtype: Dtype) -> Check {
    let queue = device.queue()?;
    let range = dtype.iinfo()?;
    let numbers = [range.min, range.min + 1, 0, 2, range.max - 1, range.max];
    let values: Vec<Scalar> = numbers.iter().map(|&i| Scalar::U64(i as u64).cast(dtype)).collect();
    for extent in [1_usize, 3, 7, 1000] {
        let elements: Vec<Scalar> = (0..extent).map(|i| Scalar::I32(i as i32)).collect();
        let (x, _) = place(&queue, &[extent], Dtype::I32, &elements, Form::Reversed)?;
        let (indices, _) = place(&queue, &[values.len()], dtype, &values, Form::Step2)?;
        for mode in [IndexMode::Wrap, IndexMode::Clip] {
            let result = x.take(&indices, Some(0), mode)?;
            let expected: Vec<Scalar> =
                numbers.iter().map(|&i| Scalar::I32(meant(i, extent, mode) as i32)).collect();
            expect(&format_args!("{dtype}, {mode:?}, extent {extent}"), &result, &expected)?;
        }
        let outside = range.max >= extent as i128 || range.min < -(extent as i128);
        let checked = x.take(&indices, Some(0), IndexMode::Check);
        ensure!(checked.is_err() == outside, "{dtype}, extent {extent}: {checked:?}");
    }
    Ok(())
}

/// More dimensions than a plan has, none of which can be merged.
fn many_dimensions(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("many dimensions");
    for ndim in 9..=11 {
        let shape = vec![2; ndim];
        let values = random.many(1 << ndim, |random| random.any(Dtype::I16));
        let (x, _) = place(&queue, &shape, Dtype::I16, &values, Form::Step2)?;
        let x = x.flip(Some(&(0..ndim as isize).step_by(2).collect::<Vec<_>>()))?;
        let shown = read(&x)?;
        for axis in [0, ndim / 2, ndim - 1] {
            let (indices, _) = place(&queue, &[3], Dtype::I64, &[1, 0, -1].map(Scalar::I64), Form::C)?;
            let result = x.take(&indices, Some(axis as isize), IndexMode::Check)?;
            let expected: Vec<Scalar> = elements(result.shape())
                .map(|mut index| {
                    index[axis] = [1, 0, 1][index[axis]];
                    shown[flat(&shape, &index)]
                })
                .collect();
            expect(&format_args!("take along {axis} of {ndim} dimensions"), &result, &expected)?;
            x.put(&indices, &result.copy()?, Some(axis as isize), IndexMode::Check)?;
            expect(&format_args!("put along {axis} of {ndim} dimensions"), &x, &shown)?;
        }
        let mask = x.binary(stridewise::Op::Greater, Scalar::I16(0))?;
        let expected: Vec<Scalar> =
            shown.iter().copied().filter(|v| v.get::<i16>().is_some_and(|v| v > 0)).collect();
        expect(&format_args!("mask of {ndim} dimensions"), &x.masked(&mask)?, &expected)?;
        // Whose dimensions merge, where the array's do not.
        let dense = mask.reshape(&[-1])?.reshape(&vec![2; ndim])?;
        let selected = x.masked(&dense)?;
        expect(&format_args!("dense mask of {ndim} dimensions"), &selected, &expected)?;
        x.assign_masked(&dense, &selected)?;
        expect(&format_args!("assigned by a dense mask of {ndim} dimensions"), &x, &shown)?;
    }
    Ok(())
}

/// Values and indices in the memory that is written.
fn overlap(device: &Device) -> Check {
    let queue = device.queue()?;
    let numbers = |list: &[i64]| list.iter().map(|&v| Scalar::I64(v)).collect::<Vec<_>>();
    let start = numbers(&[3, 1, 4, 0, 2, 5, 6, 7]);
    let fresh = || place(&queue, &[8], Dtype::I64, &start, Form::C).map(|(x, _)| x);
    let x = fresh()?;
    // An array as its own index and its own values: x[x] = x reversed.
    x.put(&x, &x.flip(None)?, Some(0), IndexMode::Check)?;
    // Places 3, 1, 4, 0, 2, 5, 6, 7 get 7, 6, 5, 2, 0, 4, 1, 3.
    expect(&"x[x] = reversed x", &x, &numbers(&[2, 6, 0, 7, 5, 4, 1, 3]))?;
    let x = fresh()?;
    let (even, rest) = (x.slice(s![..;2])?, x.slice(s![1..;2])?);
    even.assign_index(ix![&rest.slice(s![..2])?], &x.slice(s![2..4])?)?;
    // rest = 1, 0, 5, 7; x[2 * 1] = 4, x[2 * 0] = 0.
    expect(&"views of one array", &x, &numbers(&[0, 1, 4, 0, 2, 5, 6, 7]))?;
    let x = fresh()?;
    let mask = x.binary(stridewise::Op::Greater, Scalar::I64(3))?;
    x.assign_masked(&mask, &x.slice(s![..4])?)?;
    expect(&"masked, from itself", &x, &numbers(&[3, 1, 3, 0, 2, 1, 4, 0]))?;
    let (bools, _) = place(&queue, &[3], Dtype::Bool, &[true, false, true].map(Scalar::Bool), Form::C)?;
    bools.assign_masked(&bools, Scalar::Bool(false))?;
    expect(&"a mask of itself", &bools, &[Scalar::Bool(false); 3])
}

/// Indices, masks and values that are recorded and not yet run; the results are read by recorded work.
fn recorded(device: &Device) -> Check {
    let queue = device.queue()?;
    let len = 3000;
    let values: Vec<Scalar> = (0..len).map(|i| Scalar::F32(i as f32)).collect();
    let (x, _) = place(&queue, &[len], Dtype::F32, &values, Form::C)?;
    let doubled = x.binary(stridewise::Op::Add, &x)?;
    let indices = x.binary(stridewise::Op::Subtract, Scalar::F32(len as f32))?.astype(Dtype::I64)?;
    let negated = doubled.take(&indices, Some(0), IndexMode::Check)?.unary(stridewise::Op::Negative)?;
    let expected: Vec<Scalar> = (0..len).map(|i| Scalar::F32(-2.0 * i as f32)).collect();
    expect(&"recorded indices and elements", &negated, &expected)?;
    // A recorded reader sees the elements before a write.
    let before = x.binary(stridewise::Op::Add, Scalar::F32(1.0))?;
    let mask = x.binary(stridewise::Op::Less, Scalar::F32(10.0))?;
    x.assign_masked(&mask, Scalar::F32(0.5))?;
    x.put(&indices.slice(s![-3..])?, &negated.slice(s![..3])?, Some(0), IndexMode::Check)?;
    let expected: Vec<Scalar> = (0..len).map(|i| Scalar::F32(i as f32 + 1.0)).collect();
    expect(&"recorded before the write", &before, &expected)?;
    let expected: Vec<Scalar> = (0..len)
        .map(|i| {
            Scalar::F32(if i < 10 {
                0.5
            } else if i < len - 3 {
                i as f32
            } else {
                -2.0 * (i + 3 - len) as f32
            })
        })
        .collect();
    expect(&"written by mask and places", &x, &expected)
}
