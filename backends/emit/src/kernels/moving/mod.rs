//! Gathers, scatters, searches, sorts and masks against loops that do what the plans' definition says.
//!
//! Each test makes plans of several extents and dtypes, whose layouts are drawn at random, runs their work on
//! the OpenCL devices that there are (`trial.rs`), in each form that a device may need, and compares all of
//! the memory that may be written with what loops make of it.

mod trial;

use std::cmp::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, DtypeKind, Scalar,
    backend::{Family, IndexedAxis, LaunchPlan, Program, ProgramBuilder},
};

use super::gather::Rounds;
use super::trial::ASKING;
use super::{Target, gather, masks, search, sort};
use trial::{Layout, Memory, Numbers, Trial, indices, is_slow};

/// A program that hands on its first input.
fn program(dtypes: &[Dtype]) -> Arc<Program> {
    let mut builder = ProgramBuilder::new();
    let args: Vec<_> = dtypes.iter().map(|&d| builder.input(d).unwrap()).collect();
    builder.output(args[0]).unwrap();
    Arc::new(builder.finish().unwrap())
}

/// The order of elements, NaN last even where it is descending.
fn compare(a: Scalar, b: Scalar, descending: bool) -> Ordering {
    let turned = |order: Ordering| if descending { order.reverse() } else { order };
    let dtype = a.dtype();
    if matches!(dtype.kind(), DtypeKind::Float | DtypeKind::Complex) {
        // Those with a NaN in the imaginary part follow on those without, then those with one in the real part, each by the other
        // part, then those with two.
        let place = |x: Scalar| {
            let x = x.to_c128();
            match (x.re.is_nan(), x.im.is_nan()) {
                (false, false) => (0, (x.re, x.im)),
                (false, true) => (1, (x.re, 0.0)),
                (true, false) => (2, (x.im, 0.0)),
                (true, true) => (3, (0.0, 0.0)),
            }
        };
        let (a, b) = (place(a), place(b));
        return a.0.cmp(&b.0).then_with(|| turned(a.1.partial_cmp(&b.1).unwrap()));
    }
    let number = |x: Scalar| match dtype {
        Dtype::U64 => i128::from(x.get::<u64>().unwrap()),
        _ => i128::from(x.cast(Dtype::I64).get::<i64>().unwrap()),
    };
    turned(number(a).cmp(&number(b)))
}

fn is_nan(x: Scalar) -> bool {
    let c = x.to_c128();
    matches!(x.dtype().kind(), DtypeKind::Float | DtypeKind::Complex) && (c.re.is_nan() || c.im.is_nan())
}

/// Elements to be addressed, in the memory of a layout along dimensions and then axes.
struct Addressed {
    axes: SmallVec<[IndexedAxis; 2]>,
    layout: Layout,
    places: Vec<(Layout, Memory)>,
}

impl Addressed {
    fn new(numbers: &mut Numbers, dims: &[usize], extents: &[usize], overlapping: bool) -> Self {
        // Along some dimensions only the places run.
        let apart: Vec<bool> = dims.iter().map(|_| numbers.below(2) == 0).collect();
        let along = |d: usize| if apart[d] { 1 } else { dims[d] };
        let all: Vec<usize> = (0..dims.len()).map(along).chain(extents.iter().copied()).collect();
        let mut layout = numbers.layout(&all, false);
        for (stride, _) in layout.strides.iter_mut().zip(&apart).filter(|(_, apart)| **apart) {
            *stride = 0;
        }
        if overlapping {
            let steps: Vec<isize> = all.iter().map(|_| numbers.below(5) as isize - 2).collect();
            let whole: Vec<usize> = dims.iter().chain(extents).copied().collect();
            let reach = |positive: bool| -> usize {
                let of = steps.iter().zip(&whole).filter(|(s, _)| (**s > 0) == positive);
                of.map(|(s, n)| s.unsigned_abs() * (n - 1)).sum()
            };
            layout = Layout { first: reach(false), len: reach(false) + reach(true) + 1, strides: steps };
        }
        // A far stride along an axis of extent 1 leads nowhere, but needs 64 bits.
        let far = |extent: usize, stride: isize| if extent == 1 { 1 << 40 } else { stride };
        let axes: SmallVec<[IndexedAxis; 2]> = extents
            .iter()
            .zip(&layout.strides[dims.len()..])
            .map(|(&extent, &stride)| IndexedAxis { extent, stride: far(extent, stride) })
            .collect();
        let places = extents
            .iter()
            .map(|&extent| {
                let layout = numbers.layout(dims, true);
                let memory = layout.filled(Dtype::I64, || {
                    Scalar::I64(match numbers.below(40) {
                        0 => i64::MIN,
                        1 => i64::MAX,
                        2 => -1,
                        3 => extent as i64,
                        _ => numbers.below(extent) as i64,
                    })
                });
                (layout, memory)
            })
            .collect();
        Self { axes, layout, places }
    }
    /// The places that a point names.
    fn named(&self, index: &[usize]) -> Vec<i64> {
        let place =
            |(layout, memory): &(Layout, Memory)| memory.read(Dtype::I64, layout.at(index)).get().unwrap();
        self.places.iter().map(place).collect()
    }
    /// Where an element is.
    fn at(&self, index: &[usize], places: &[i64]) -> isize {
        let whole: Vec<usize> = index.iter().copied().chain(places.iter().map(|&p| p as usize)).collect();
        self.layout.at(&whole)
    }
    fn program(&self, dtype: Dtype) -> Arc<Program> {
        let dtypes: Vec<Dtype> = [dtype].into_iter().chain(self.places.iter().map(|_| Dtype::I64)).collect();
        program(&dtypes)
    }
}

/// A program that hands elements on, and tells a number of places out of range.
fn telling(places: usize, dtype: Dtype) -> Arc<Program> {
    let mut builder = ProgramBuilder::new();
    let element = builder.input(dtype).unwrap();
    for _ in 0..places {
        builder.input(Dtype::I64).unwrap();
    }
    builder.output(element).unwrap();
    let number = builder.constant(Scalar::U32(77)).unwrap();
    builder.output(number).unwrap();
    Arc::new(builder.finish().unwrap())
}

fn gathered(
    trial: &mut Trial,
    target: &Target,
    numbers: &mut Numbers,
    dtype: Dtype,
    dims: &[usize],
    extents: &[usize],
    checked: bool,
) {
    let addressed = Addressed::new(numbers, dims, extents, false);
    let size = dtype.size();
    let mut src = addressed.layout.filled(dtype, || numbers.element(dtype));
    let to = numbers.layout(dims, false);
    let mut dst = to.filled(dtype, || numbers.element(dtype));
    let mut expected = dst.clone();
    let mut told = Memory::new(4);
    told.write(0, &Scalar::U32(1));
    let before = told.clone();
    let mut inside = true;
    for index in indices(dims) {
        let mut places = addressed.named(&index);
        for (place, axis) in places.iter_mut().zip(&addressed.axes) {
            if checked && *place < 0 {
                *place += axis.extent as i64;
            }
            inside &= (0..axis.extent as i64).contains(place);
            *place = (*place).clamp(0, axis.extent as i64 - 1);
        }
        let from = addressed.at(&index, &places);
        let at = to.at(&index).cast_unsigned() * size;
        expected.bytes_mut()[at..at + size].copy_from_slice(src.element(size, from));
    }
    let mut inputs = SmallVec::new();
    inputs.push(addressed.layout.operand(&src, size, dims.len()));
    inputs.extend(addressed.places.iter().map(|(l, m)| l.operand(m, 8, dims.len())));
    let plan = LaunchPlan {
        program: if checked { telling(addressed.places.len(), dtype) } else { addressed.program(dtype) },
        family: Family::Gather { axes: addressed.axes.clone() },
        dims: dims.into(),
        inputs,
        outputs: SmallVec::from_iter([to.operand(&dst, size, dims.len())]),
    };
    let mut plan = plan;
    if checked {
        let point = Layout { first: 0, len: 1, strides: vec![0; dims.len()] };
        plan.outputs.push(point.operand(&told, 4, dims.len()));
    }
    let work = gather::work(&plan, target).unwrap();
    let Addressed { mut places, .. } = addressed;
    let mut memory: Vec<&mut Memory> = vec![&mut dst, &mut src];
    memory.extend(places.iter_mut().map(|(_, m)| m));
    memory.push(&mut told);
    trial.run(&work, &mut memory);
    let number = if checked && !inside { Scalar::U32(77) } else { before.read(Dtype::U32, 0) };
    assert!(
        told.read(Dtype::U32, 0) == number,
        "checked {checked}: {dims:?} {extents:?}, all inside: {inside}"
    );
    assert!(dst.bytes() == expected.bytes(), "gather {dtype} {dims:?} {extents:?} {to:?}");
}

fn scattered(
    trial: &mut Trial,
    target: &Target,
    numbers: &mut Numbers,
    dtype: Dtype,
    dims: &[usize],
    extents: &[usize],
    overlapping: bool,
) {
    let addressed = Addressed::new(numbers, dims, extents, overlapping);
    let size = dtype.size();
    let from = numbers.layout(dims, true);
    let mut src = from.filled(dtype, || numbers.element(dtype));
    let mut dst = addressed.layout.filled(dtype, || numbers.element(dtype));
    let mut expected = dst.clone();
    for index in indices(dims) {
        let places = addressed.named(&index);
        if places.iter().zip(&addressed.axes).all(|(p, axis)| (0..axis.extent as i64).contains(p)) {
            let at = addressed.at(&index, &places).cast_unsigned() * size;
            expected.bytes_mut()[at..at + size].copy_from_slice(src.element(size, from.at(&index)));
        }
    }
    let mut inputs = SmallVec::new();
    inputs.push(from.operand(&src, size, dims.len()));
    inputs.extend(addressed.places.iter().map(|(l, m)| l.operand(m, 8, dims.len())));
    let plan = LaunchPlan {
        program: addressed.program(dtype),
        family: Family::Scatter { axes: addressed.axes.clone() },
        dims: dims.into(),
        inputs,
        outputs: SmallVec::from_iter([addressed.layout.operand(&dst, size, dims.len())]),
    };
    // Small rounds, and every other time those that there are.
    let work = if numbers.below(2) == 0 {
        gather::work(&plan, target).unwrap()
    } else {
        gather::work_in_rounds(&plan, target, Rounds { points: 500, slots: 200 }).unwrap()
    };
    let Addressed { mut places, layout, .. } = addressed;
    let mut memory: Vec<&mut Memory> = vec![&mut dst, &mut src];
    memory.extend(places.iter_mut().map(|(_, m)| m));
    trial.run(&work, &mut memory);
    assert!(dst.bytes() == expected.bytes(), "scatter {dtype} {dims:?} {extents:?} {layout:?}");
}

fn searched(
    trial: &mut Trial,
    target: &Target,
    numbers: &mut Numbers,
    dtype: Dtype,
    dims: &[usize],
    (extent, right): (usize, bool),
) {
    let size = dtype.size();
    let mut sorted: Vec<Scalar> = (0..extent).map(|_| numbers.element(dtype)).collect();
    sorted.sort_by(|&a, &b| compare(a, b, false));
    let along = numbers.layout(&[extent], false);
    let mut table = Memory::new(along.len * size);
    for (i, value) in sorted.iter().enumerate() {
        table.write(along.at(&[i]), value);
    }
    let from = numbers.layout(dims, true);
    let mut src = from.filled(dtype, || match numbers.below(2) {
        0 => numbers.element(dtype),
        _ => sorted[numbers.below(extent)],
    });
    let to = numbers.layout(dims, false);
    let mut dst = Memory::new(to.len * 8);
    let mut expected = dst.clone();
    for index in indices(dims) {
        let needle = src.read(dtype, from.at(&index));
        let place = sorted.partition_point(|&x| match compare(x, needle, false) {
            Ordering::Less => true,
            order => right && order == Ordering::Equal,
        });
        expected.write(to.at(&index), &Scalar::I64(place as i64));
    }
    let mut first = along.operand(&table, size, 1);
    first.strides = SmallVec::from_elem(0, dims.len());
    let plan = LaunchPlan {
        program: program(&[dtype, dtype]),
        family: Family::Search { table: IndexedAxis { extent, stride: along.strides[0] }, right },
        dims: dims.into(),
        inputs: SmallVec::from_iter([from.operand(&src, size, dims.len()), first]),
        outputs: SmallVec::from_iter([to.operand(&dst, 8, dims.len())]),
    };
    let work = search::work(&plan, target).unwrap();
    trial.run(&work, &mut [&mut dst, &mut src, &mut table]);
    assert!(dst.bytes() == expected.bytes(), "search {dtype} {dims:?} {extent} {right}");
}

fn sorted(
    trial: &mut Trial,
    target: &Target,
    numbers: &mut Numbers,
    dtype: Dtype,
    dims: &[usize],
    (descending, indexed): (bool, bool),
) {
    // Numbers of 64 bits for some of those that are short.
    let wide = dims == [33] || dims == [3, 5] || dims == [3, 257];
    let size = dtype.size();
    let from = numbers.layout(dims, dims.len() > 1);
    let mut src = from.filled(dtype, || numbers.element(dtype));
    let to = numbers.layout(dims, false);
    let out = if indexed { 8 } else { size };
    let mut dst = Memory::new(to.len * out);
    let before = dst.clone();
    let mut expected = dst.clone();
    let (&len, rows) = dims.split_last().unwrap();
    for row in indices(rows) {
        let whole = |i: usize| [&row[..], &[i]].concat();
        let element = |i: usize| src.read(dtype, from.at(&whole(i)));
        let mut order: Vec<usize> = (0..len).collect();
        order.sort_by(|&a, &b| compare(element(a), element(b), descending));
        for (i, &place) in order.iter().enumerate() {
            let at = to.at(&whole(i));
            if indexed {
                expected.write(at, &Scalar::I64(place as i64));
            } else {
                let at = at.cast_unsigned() * size;
                expected.bytes_mut()[at..at + size]
                    .copy_from_slice(src.element(size, from.at(&whole(place))));
            }
        }
    }
    let plan = LaunchPlan {
        program: Arc::new(Program::convert(dtype, dtype)),
        family: Family::Sort { descending, indices: indexed },
        dims: dims.into(),
        inputs: SmallVec::from_iter([from.operand(&src, size, dims.len())]),
        outputs: SmallVec::from_iter([to.operand(&dst, out, dims.len())]),
    };
    let mut works = vec![("sort", sort::work_of_width(&plan, target, wide).unwrap())];
    // By digits, in rows of several tiles, and with numbers of 64 bits.
    if !target.cpu && !is_slow() && (len >= 1000 || (dims == [3, 257] && dtype == Dtype::I64)) {
        works.push(("sort by digits", sort::digits_of_width(&plan, target, wide).unwrap()));
    }
    for (name, work) in works {
        dst.bytes_mut().copy_from_slice(before.bytes());
        trial.run(&work, &mut [&mut dst, &mut src]);
        assert!(
            dst.bytes() == expected.bytes(),
            "{name} {dtype} {dims:?} descending {descending} indices {indexed} from {from:?} to {to:?}"
        );
    }
}

/// What a mask over the first dimensions does.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Masked {
    Compress,
    Indices,
    Expand,
}

fn masked(
    trial: &mut Trial,
    target: &Target,
    numbers: &mut Numbers,
    dtype: Dtype,
    (dims, over): (&[usize], usize),
    mode: Masked,
) {
    let outer = numbers.layout(&dims[..over], false);
    let share = 1 + numbers.below(4);
    let mut mask = outer.filled(Dtype::Bool, || Scalar::Bool(numbers.below(4) < share));
    let selected: Vec<Vec<usize>> = indices(&dims[..over])
        .filter(|index| mask.read(Dtype::Bool, outer.at(index)) == Scalar::Bool(true))
        .collect();
    // Some of it has no place.
    let extent = (selected.len() - selected.len() / (2 + numbers.below(9))).max(1);
    let together: Vec<usize> = std::iter::once(extent).chain(dims[over..].iter().copied()).collect();
    let (short, whole) = (numbers.layout(&together, false), numbers.layout(dims, false));
    let along = |layout: &Layout, strides: &[isize], still: usize| Layout {
        strides: std::iter::repeat_n(0, still).chain(strides.iter().copied()).collect(),
        ..layout.clone()
    };
    let short_walk = along(&short, &short.strides[1..], over);
    let axis = IndexedAxis { extent, stride: short.strides[0] };
    let ((from, from_walk), (to, to_walk)) = match mode {
        Masked::Expand => ((&short, &short_walk), (&whole, &whole)),
        _ => ((&whole, &whole), (&short, &short_walk)),
    };
    let out = if mode == Masked::Indices { Dtype::I64 } else { dtype };
    let mut src = from.filled(dtype, || numbers.element(dtype));
    let mut dst = to.filled(out, || numbers.element(out));
    let mut expected = dst.clone();
    for (number, index) in selected.iter().take(extent).enumerate() {
        for rest in indices(&dims[over..]) {
            let (at_mask, at_axis) = ([&index[..], &rest].concat(), [&[number], &rest[..]].concat());
            let (read, write) = match mode {
                Masked::Expand => (short.at(&at_axis), whole.at(&at_mask)),
                _ => (whole.at(&at_mask), short.at(&at_axis)),
            };
            let size = dtype.size();
            if mode == Masked::Indices {
                let flat = index.iter().zip(dims).fold(0, |flat, (&i, &extent)| flat * extent + i);
                expected.write(write, &Scalar::I64(flat as i64));
            } else {
                let at = write.cast_unsigned() * size;
                expected.bytes_mut()[at..at + size].copy_from_slice(src.element(size, read));
            }
        }
    }
    let family = match mode {
        Masked::Expand => Family::Expand { axis, masked: over },
        _ => Family::Compress { axis, masked: over, indices: mode == Masked::Indices },
    };
    let mask_walk = Layout {
        strides: outer.strides.iter().copied().chain(dims[over..].iter().map(|_| 0)).collect(),
        ..outer.clone()
    };
    let mut inputs = SmallVec::from_iter([from_walk.operand(&src, dtype.size(), dims.len())]);
    let mask_input = mask_walk.operand(&mask, 1, dims.len());
    let program = match mode {
        Masked::Indices => {
            inputs.clear();
            program(&[Dtype::Bool])
        }
        _ => program(&[dtype, Dtype::Bool]),
    };
    inputs.push(mask_input);
    let outputs = SmallVec::from_iter([to_walk.operand(&dst, out.size(), dims.len())]);
    let plan = LaunchPlan { program, family, dims: dims.into(), inputs, outputs };
    let cut = masks::Cut { rounds: 1 + 3 * numbers.below(2), summed: 4096 * numbers.below(2) };
    let work = masks::work_in_tiles(&plan, target, cut).unwrap();
    trial.run(&work, &mut [&mut dst, &mut src, &mut mask]);
    assert!(
        dst.bytes() == expected.bytes(),
        "{mode:?} {dtype} {dims:?}, the first {over}, {extent} of {} from {from:?} to {to:?}",
        selected.len()
    );
}

/// Both forms of the target.
fn forms(test: impl Fn(&mut Trial, &Target, &mut Numbers)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for cpu in [false, true] {
        let trial = {
            let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
            Trial::new(cpu)
        };
        let Some(mut trial) = trial else { return };
        let target = trial.target.clone();
        test(&mut trial, &target, &mut Numbers(0x9e37_79b9_7f4a_7c15));
    }
}

/// One dtype of each size and kind of element.
const SIZES: [Dtype; 6] = [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::I64, Dtype::C64, Dtype::C128];
const SHAPES: [&[usize]; 11] =
    [&[], &[1], &[2], &[33], &[257], &[1000], &[3, 5], &[31, 32], &[2, 3, 7], &[5, 1, 33], &[3, 4, 2, 5]];

/// Each shape with a third of the dtypes: a kernel takes some runtimes long to compile.
fn cases() -> impl Iterator<Item = (Dtype, &'static [usize])> {
    let cases = SIZES
        .into_iter()
        .enumerate()
        .flat_map(|(i, dtype)| SHAPES.iter().enumerate().map(move |s| (i, dtype, s)));
    cases.filter(|(i, _, (k, _))| (i + k) % 3 == 0).map(|(_, dtype, (_, &dims))| (dtype, dims))
}

#[test]
fn gathers_are_those_of_loops() {
    forms(|trial, target, numbers| {
        for (dtype, dims) in cases() {
            let extents: Vec<usize> = (0..numbers.below(3) + 1).map(|_| 1 + numbers.below(9)).collect();
            let checked = numbers.below(2) == 0;
            gathered(trial, target, numbers, dtype, dims, &extents, checked);
        }
        gathered(trial, target, numbers, Dtype::F32, &[3, 4], &[], false);
        gathered(trial, target, numbers, Dtype::F32, &[3], &[100], true);
        gathered(trial, target, numbers, Dtype::F32, &[4097], &[100], false);
        gathered(trial, target, numbers, Dtype::F32, &[4097], &[100], true);
    });
}

#[test]
fn scatters_are_those_of_loops() {
    forms(|trial, target, numbers| {
        for overlapping in [false, true] {
            for (dtype, dims) in cases() {
                let extents: Vec<usize> = (0..numbers.below(3) + 1).map(|_| 1 + numbers.below(9)).collect();
                scattered(trial, target, numbers, dtype, dims, &extents, overlapping);
            }
            scattered(trial, target, numbers, Dtype::F32, &[3, 4], &[], overlapping);
            scattered(trial, target, numbers, Dtype::U8, &[4097], &[100], overlapping);
            scattered(trial, target, numbers, Dtype::F32, &[60, 80], &[50], overlapping);
        }
    });
}

#[test]
fn searches_are_those_of_loops() {
    forms(|trial, target, numbers| {
        for &dtype in Dtype::ALL {
            for extent in [1, 2, 31] {
                searched(trial, target, numbers, dtype, &[33], (extent, extent == 2));
            }
        }
        for (dtype, dims) in [(Dtype::F32, &[][..]), (Dtype::C64, &[3, 5]), (Dtype::C128, &[2, 3, 40])] {
            for right in [false, true] {
                searched(trial, target, numbers, dtype, dims, (257, right));
            }
        }
        searched(trial, target, numbers, Dtype::F32, &[1000], (4097, false));
    });
}

#[test]
fn sorts_are_those_of_loops() {
    forms(|trial, target, numbers| {
        for &dtype in Dtype::ALL {
            for form in [(false, false), (true, false), (false, true), (true, true)] {
                // Each length is a kernel of its own, for which some compilers take a tenth of a second.
                let lens: &[usize] =
                    if matches!(dtype, Dtype::I8 | Dtype::F32) { &[1, 2, 33, 256] } else { &[33] };
                for &len in lens {
                    sorted(trial, target, numbers, dtype, &[len], form);
                }
            }
        }
        for (dtype, form) in
            [(Dtype::I16, (true, false)), (Dtype::F32, (false, true)), (Dtype::C64, (false, false))]
        {
            for dims in [&[3, 1][..], &[3, 5], &[31, 32], &[300, 3], &[2, 3, 7], &[5, 2, 3, 17]] {
                sorted(trial, target, numbers, dtype, dims, form);
            }
        }
    });
}

#[test]
fn long_rows_are_sorted_in_parts() {
    forms(|trial, target, numbers| {
        let mut target = target.clone();
        for dtype in [Dtype::U8, Dtype::F32, Dtype::I64, Dtype::C128] {
            // Blocks of few words, so that there are many to merge.
            target.local_bytes = 1024;
            for (dims, form) in [
                (&[65][..], (true, true)),
                (&[1000], (false, false)),
                (&[3, 257], (true, true)),
                (&[2, 3, 129], (false, false)),
            ] {
                sorted(trial, &target, numbers, dtype, dims, form);
            }
            target.local_bytes = trial.target.local_bytes;
            // An interpreter is asked for one row that a processor's work-items share.
            match (is_slow(), target.cpu && dtype == Dtype::F32) {
                (true, false) => sorted(trial, &target, numbers, dtype, &[2, 3000], (true, false)),
                (true, true) => sorted(trial, &target, numbers, dtype, &[33_000], (true, false)),
                (false, _) => {
                    sorted(trial, &target, numbers, dtype, &[100_003], (false, true));
                    sorted(trial, &target, numbers, dtype, &[2, 33_000], (true, false));
                }
            }
        }
    });
}

/// Elements that differ from the one before.
fn runs(trial: &mut Trial, target: &Target, numbers: &mut Numbers, dtype: Dtype, len: usize) {
    let next_to = numbers.below(2) == 0;
    let from =
        if next_to { Layout { first: 0, len, strides: vec![1] } } else { numbers.layout(&[len], false) };
    let few: Vec<Scalar> = (0..3).map(|_| numbers.element(dtype)).collect();
    let mut last = few[0];
    let mut src = from.filled(dtype, || {
        if numbers.below(4) == 0 {
            last = few[numbers.below(3)];
        }
        last
    });
    let to = numbers.layout(&[len], false);
    let mut dst = to.filled(dtype, || few[0]);
    let mut expected = dst.clone();
    let (size, mut count) = (dtype.size(), 0);
    for i in 0..len {
        let [own, before] = [i, i.saturating_sub(1)].map(|i| src.read(dtype, from.at(&[i])));
        if i == 0 || is_nan(own) || is_nan(before) || compare(own, before, false) != Ordering::Equal {
            let at = to.at(&[count]).cast_unsigned() * size;
            expected.bytes_mut()[at..at + size].copy_from_slice(src.element(size, from.at(&[i])));
            count += 1;
        }
    }
    let mut told = Memory::new(8);
    let mut builder = ProgramBuilder::new();
    let element = builder.input(dtype).unwrap();
    builder.output(element).unwrap();
    let zero = builder.constant(Scalar::I64(0)).unwrap();
    builder.output(zero).unwrap();
    let mut first = to.operand(&dst, size, 1);
    first.strides[0] = 0;
    let point = Layout { first: 0, len: 1, strides: vec![0] };
    let plan = LaunchPlan {
        program: Arc::new(builder.finish().unwrap()),
        family: Family::Runs { axis: IndexedAxis { extent: len, stride: to.strides[0] } },
        dims: SmallVec::from_slice(&[len]),
        inputs: SmallVec::from_iter([from.operand(&src, size, 1)]),
        outputs: SmallVec::from_iter([first, point.operand(&told, 8, 1)]),
    };
    let cut = masks::Cut { rounds: 1 + 3 * numbers.below(2), summed: 4096 * numbers.below(2) };
    let work = masks::work_in_tiles(&plan, target, cut).unwrap();
    trial.run(&work, &mut [&mut dst, &mut src, &mut told]);
    assert!(told.read(Dtype::I64, 0) == Scalar::I64(count as i64), "{dtype} {len}: {count} runs");
    assert!(dst.bytes() == expected.bytes(), "runs of {dtype} {len} from {from:?} to {to:?}");
}

#[test]
fn runs_are_those_of_loops() {
    forms(|trial, target, numbers| {
        if target.cpu {
            return;
        }
        for &dtype in Dtype::ALL.iter().filter(|&&dtype| masks::compares(dtype, target)) {
            for len in [1, 300, 9000] {
                runs(trial, target, numbers, dtype, len);
            }
        }
    });
}

/// Of the form for work-items that run side by side, which is the only one.
#[test]
fn masks_are_those_of_loops() {
    forms(|trial, target, numbers| {
        if target.cpu {
            return;
        }
        for &dtype in Dtype::ALL {
            for mode in [Masked::Compress, Masked::Expand] {
                masked(trial, target, numbers, dtype, (&[300], 1), mode);
            }
        }
        for mode in [Masked::Compress, Masked::Indices, Masked::Expand] {
            for dims in [&[1][..], &[9000], &[3, 5], &[70, 130], &[2, 3, 7]] {
                masked(trial, target, numbers, Dtype::F32, (dims, dims.len()), mode);
            }
            if mode != Masked::Indices {
                for (dims, over) in [(&[70, 3][..], 1), (&[5, 1100, 2], 2), (&[4, 3, 2, 5], 2)] {
                    masked(trial, target, numbers, Dtype::I16, (dims, over), mode);
                }
            }
        }
        // More tiles than a group has work-items.
        if !is_slow() {
            masked(trial, target, numbers, Dtype::U8, (&[1_200_000], 1), Masked::Compress);
        }
    });
}
