//! Gathers and scatters against loops over multi-indices.
//!
//! A case says how a table lies, which of its axes places name, and which dimensions the places run along; it
//! is run at every level. What lies between the elements of an output must not change (`untouched`).

use smallvec::SmallVec;
use stridewise_core::ops::apply;
use stridewise_core::{
    Dtype, DtypeKind, Op, Scalar,
    backend::{Family, IndexedAxis, LaunchPlan, Program, ProgramBuilder},
};

use super::{Array, Rng, Sample, canonical, execute, indices, plan, untouched};
use crate::simd::Isa;

/// Copies input 0; further inputs are places along as many axes.
fn program(dtype: Dtype, axes: usize) -> Program {
    telling(dtype, axes, None)
}

/// The same, with a number that is told where a place is out of range.
fn telling(dtype: Dtype, axes: usize, number: Option<u32>) -> Program {
    let mut p = ProgramBuilder::new();
    let x = p.input(dtype).unwrap();
    for _ in 0..axes {
        p.input(Dtype::I64).unwrap();
    }
    p.output(x).unwrap();
    if let Some(number) = number {
        let number = p.constant(Scalar::U32(number)).unwrap();
        p.output(number).unwrap();
    }
    p.finish().unwrap()
}

/// An indexed access: of a table, some axes are named by places, the others are dimensions of the iteration space.
struct Case {
    dims: Vec<usize>,
    /// Per axis of the table: its extent, and the dimension of the space that runs along it; none where it is indexed.
    table: Vec<(usize, Option<usize>)>,
    /// Per indexed axis, the dimensions of the space that its places run along.
    places: Vec<Vec<usize>>,
}

fn cases() -> Vec<Case> {
    let case = |dims: &[usize], table: &[(usize, Option<usize>)], places: &[&[usize]]| Case {
        dims: dims.to_vec(),
        table: table.to_vec(),
        places: places.iter().map(|p| p.to_vec()).collect(),
    };
    vec![
        case(&[], &[(5, None)], &[&[]]),
        case(&[1], &[(1, None)], &[&[0]]),
        case(&[700], &[(90, None)], &[&[0]]),
        case(&[40_000], &[(90, None)], &[&[0]]),
        // Along the first, the last and a middle axis; rows of every length.
        case(&[50, 3], &[(20, None), (3, Some(1))], &[&[0]]),
        case(&[50, 4], &[(20, None), (4, Some(1))], &[&[0]]),
        case(&[300, 130], &[(20, None), (130, Some(1))], &[&[0]]),
        case(&[6, 300], &[(6, Some(0)), (50, None)], &[&[1]]),
        // The same few places of many rows, and more than are worked out at a time.
        case(&[3000, 2], &[(3000, Some(0)), (3, None)], &[&[1]]),
        case(&[4, 700, 8], &[(4, Some(0)), (700, Some(1)), (20, None)], &[&[2]]),
        case(&[4, 90, 9], &[(4, Some(0)), (90, Some(1)), (20, None)], &[&[0, 2]]),
        case(&[3, 600, 5], &[(7, None), (600, Some(1)), (20, None)], &[&[0], &[2]]),
        case(&[40, 257], &[(40, Some(0)), (50, None)], &[&[1]]),
        case(&[6, 17, 5], &[(6, Some(0)), (50, None), (5, Some(2))], &[&[1]]),
        case(&[9, 3, 2, 4], &[(9, Some(0)), (5, None), (2, Some(2)), (4, Some(3))], &[&[1]]),
        // Along an axis, at places of every point.
        case(&[30, 40], &[(30, Some(0)), (7, None)], &[&[0, 1]]),
        case(&[30, 40], &[(7, None), (40, Some(1))], &[&[0, 1]]),
        // Two and three axes, places broadcast against each other.
        case(&[20, 30], &[(8, None), (9, None)], &[&[0], &[1]]),
        case(&[20, 30, 4], &[(8, None), (9, None), (4, Some(2))], &[&[0, 1], &[1]]),
        case(&[100], &[(3, None), (4, None), (5, None)], &[&[0], &[0], &[0]]),
        // A place for all.
        case(&[200, 70], &[(4, None), (200, Some(0)), (70, Some(1))], &[&[]]),
        case(&[5, 2, 300], &[(5, Some(0)), (3, None), (300, Some(2))], &[&[0, 1]]),
    ]
}

/// Strides of an array over some extents, its dimensions in any order, some reversed or with gaps.
fn strides(dims: &[usize], rng: &mut Rng) -> Vec<isize> {
    let mut order: Vec<usize> = (0..dims.len()).collect();
    let form = rng.below(4);
    if form == 1 {
        order.reverse();
    }
    let (mut strides, mut next) = (vec![0; dims.len()], 1);
    for &d in order.iter().rev() {
        strides[d] = if form == 3 && rng.below(2) == 0 { -next } else { next };
        next = next * dims[d] as isize + isize::from(form >= 2);
    }
    strides
}

struct Built {
    dims: Vec<usize>,
    table: Array,
    table_dims: Vec<usize>,
    /// The table's strides along the space, and its indexed axes.
    along: Vec<isize>,
    axes: SmallVec<[IndexedAxis; 2]>,
    places: Vec<Array>,
}

fn build(case: &Case, dtype: Dtype, rng: &mut Rng) -> Built {
    let table_dims: Vec<usize> = case.table.iter().map(|t| t.0).collect();
    let steps = strides(&table_dims, rng);
    let table = Array::new(&table_dims, steps.clone(), dtype, rng);
    let mut along = vec![0; case.dims.len()];
    let mut axes: SmallVec<[IndexedAxis; 2]> = SmallVec::new();
    for (&(extent, d), &stride) in case.table.iter().zip(&steps) {
        match d {
            Some(d) => along[d] = stride,
            None => axes.push(IndexedAxis { extent, stride }),
        }
    }
    let mut places = Vec::new();
    for (dims, axis) in case.places.iter().zip(&axes) {
        let own: Vec<usize> = dims.iter().map(|&d| case.dims[d]).collect();
        let mut full = vec![0; case.dims.len()];
        for (&d, stride) in dims.iter().zip(strides(&own, rng)) {
            full[d] = stride;
        }
        let mut array = Array::new(&case.dims, full, Dtype::I64, rng);
        for index in indices(&case.dims) {
            // Mostly in range.
            let far = [-1, i64::MIN, i64::MAX, axis.extent as i64];
            let place = if rng.below(9) == 0 { rng.pick(&far) } else { rng.below(axis.extent) as i64 };
            let at = array.byte(&index);
            array.memory.write(at, Scalar::I64(place));
        }
        places.push(array);
    }
    Built { dims: case.dims.clone(), table, table_dims, along, axes, places }
}

impl Built {
    fn launch(&mut self, program: &Program, scatter: bool, flat: &mut Array) -> LaunchPlan {
        let axes = self.axes.clone();
        let family = if scatter { Family::Scatter { axes } } else { Family::Gather { axes } };
        let mut launch = plan(program.clone(), family, &self.dims, &mut self.places, &mut []);
        let mut table = self.table.operand();
        table.strides = SmallVec::from_slice(&self.along);
        let (input, output) = if scatter { (flat.operand(), table) } else { (table, flat.operand()) };
        launch.inputs.insert(0, input);
        launch.outputs.push(output);
        launch
    }

    /// The byte of the table that a point stands for, places clamped; none where one is out of range.
    fn place(&self, index: &[usize]) -> (isize, bool) {
        let mut element: isize = index.iter().zip(&self.along).map(|(&i, &s)| i as isize * s).sum();
        let mut inside = true;
        for (axis, places) in self.axes.iter().zip(&self.places) {
            let Scalar::I64(place) = places.get(index) else { unreachable!() };
            let last = axis.extent as i64 - 1;
            inside &= (0..=last).contains(&place);
            element += place.clamp(0, last) as isize * axis.stride;
        }
        (self.table.origin + element * self.table.dtype.size() as isize, inside)
    }
}

#[test]
fn gathers() {
    let mut sample = Sample::new();
    let mut rng = Rng(1);
    for dtype in [Dtype::Bool, Dtype::F16, Dtype::F32, Dtype::I64, Dtype::C64, Dtype::C128] {
        for case in cases() {
            for _ in 0..4 {
                if sample.skips() {
                    continue;
                }
                let mut built = build(&case, dtype, &mut rng);
                let program = program(dtype, built.axes.len());
                let steps = strides(&case.dims, &mut rng);
                let before = Array::new(&case.dims, steps, dtype, &mut rng);
                for threads in [1, 4] {
                    let mut out = before.clone();
                    let launch = built.launch(&program, false, &mut out);
                    execute(&launch, Isa::best(), threads, 1 << 25);
                    untouched(&before, &out, &case.dims);
                    for index in indices(&case.dims) {
                        let expected = built.table.memory.read(built.place(&index).0, dtype);
                        let found = out.get(&index);
                        assert_eq!(
                            canonical(found),
                            canonical(expected),
                            "{dtype} {:?} {index:?}",
                            case.dims
                        );
                    }
                }
            }
        }
    }
}

/// A row of places that nobody has checked: negative ones count from the end, and one out of range is told.
#[test]
fn gathers_that_check() {
    let mut rng = Rng(8);
    for dtype in [Dtype::U8, Dtype::F16, Dtype::F32, Dtype::I64, Dtype::C128] {
        for (len, extent) in [(1, 1), (7, 3), (1000, 70), (20_000, 1000)] {
            for (to, along) in [(1, 1), (-2, 3)] {
                let table = Array::new(&[extent], vec![along], dtype, &mut rng);
                let mut places = Array::new(&[len], vec![to], Dtype::I64, &mut rng);
                let mut out = Array::new(&[len], vec![to], dtype, &mut rng);
                let named: Vec<i64> =
                    (0..len).map(|_| rng.below(2 * extent) as i64 - extent as i64).collect();
                for outside in [None, Some(extent as i64), Some(-1 - extent as i64), Some(i64::MIN)] {
                    let at = rng.below(len);
                    for (i, &place) in named.iter().enumerate() {
                        let byte = places.byte(&[i]);
                        let place = outside.filter(|_| i == at).unwrap_or(place);
                        places.memory.write(byte, Scalar::I64(place));
                    }
                    for threads in [1, 4] {
                        let (mut told, mut source) =
                            (Array::dense(&[1], Dtype::U32, &mut rng), table.clone());
                        told.memory.write(told.byte(&[0]), Scalar::U32(5));
                        let family = Family::Gather {
                            axes: SmallVec::from_slice(&[IndexedAxis { extent, stride: along }]),
                        };
                        let mut launch = plan(telling(dtype, 1, Some(77)), family, &[len], &mut [], &mut []);
                        let mut input = source.operand();
                        input.strides = SmallVec::from_slice(&[0]);
                        launch.inputs.extend([input, places.operand()]);
                        let mut number = told.operand();
                        number.strides = SmallVec::from_slice(&[0]);
                        launch.outputs.extend([out.operand(), number]);
                        execute(&launch, Isa::best(), threads, 1 << 25);
                        let expected = if outside.is_some() { 77 } else { 5 };
                        assert_eq!(told.get(&[0]), Scalar::U32(expected), "{dtype} {len} {outside:?}");
                        for (i, &place) in
                            named.iter().enumerate().filter(|&(i, _)| outside.is_none() || i != at)
                        {
                            let place = place.rem_euclid(extent as i64) as usize;
                            assert_eq!(
                                canonical(out.get(&[i])),
                                canonical(table.get(&[place])),
                                "{dtype} {len} {i}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn scatters_where_the_last_stays() {
    let mut sample = Sample::new();
    let mut rng = Rng(2);
    for dtype in [Dtype::U8, Dtype::Bf16, Dtype::F32, Dtype::I64, Dtype::C64, Dtype::C128] {
        for case in cases() {
            for _ in 0..4 {
                if sample.skips() {
                    continue;
                }
                let mut built = build(&case, dtype, &mut rng);
                let program = program(dtype, built.axes.len());
                let steps = strides(&case.dims, &mut rng);
                let mut input = Array::new(&case.dims, steps, dtype, &mut rng);
                let mut expected = built.table.clone();
                for index in indices(&case.dims) {
                    let (at, inside) = built.place(&index);
                    if inside {
                        expected.memory.write(at, input.get(&index));
                    }
                }
                let before = built.table.clone();
                for threads in [1, 2, 4] {
                    built.table = before.clone();
                    let launch = built.launch(&program, true, &mut input);
                    execute(&launch, Isa::best(), threads, 1 << 25);
                    untouched(&before, &built.table, &built.table_dims);
                    for index in indices(&built.table_dims) {
                        let (found, expected) = (built.table.get(&index), expected.get(&index));
                        assert_eq!(
                            canonical(found),
                            canonical(expected),
                            "{dtype} {:?} {index:?}",
                            case.dims
                        );
                    }
                }
            }
        }
    }
}

/// A broadcast source and a target that addresses elements twice along a dimension: the last along it stays.
#[test]
fn scatters_from_one_and_onto_one() {
    let mut rng = Rng(3);
    let dims = [40, 25];
    for threads in [1, 4] {
        let mut table = Array::dense(&[10], Dtype::I32, &mut rng);
        let mut place = Array::new(&dims, vec![1, 0], Dtype::I64, &mut rng);
        for i in 0..dims[0] {
            let at = place.byte(&[i, 0]);
            place.memory.write(at, Scalar::I64(rng.below(10) as i64));
        }
        let mut input = Array::dense(&dims, Dtype::I32, &mut rng);
        let mut expected = table.clone();
        for index in indices(&dims) {
            let Scalar::I64(to) = place.get(&index) else { unreachable!() };
            expected.memory.write(expected.byte(&[to as usize]), input.get(&index));
        }
        let axes: SmallVec<_> = SmallVec::from_slice(&[IndexedAxis { extent: 10, stride: 1 }]);
        let family = Family::Scatter { axes };
        let mut launch = plan(program(Dtype::I32, 1), family, &dims, &mut [], &mut []);
        let mut out = table.operand();
        out.strides = SmallVec::from_slice(&[0, 0]);
        launch.inputs.extend([input.operand(), place.operand()]);
        launch.outputs.push(out);
        execute(&launch, Isa::best(), threads, 1 << 25);
        for i in 0..10 {
            assert_eq!(table.get(&[i]), expected.get(&[i]));
        }
    }
}

/// So many elements that threads share the places and what is written is looked for ahead: the last of equal places stays, and
/// what is out of range goes nowhere.
#[test]
fn far_scatters_where_the_last_stays() {
    let mut rng = Rng(4);
    let points = 300_000;
    for (dtype, extent, stride) in [
        (Dtype::F64, 140_000, 1),
        (Dtype::F64, 140_000, -1),
        (Dtype::F32, 270_001, 2),
        (Dtype::C128, 70_000, 1),
    ] {
        let mut table = Array::new(&[extent], vec![stride], dtype, &mut rng);
        let mut places = Array::dense(&[points], Dtype::I64, &mut rng);
        let mut input = Array::dense(&[points], dtype, &mut rng);
        let before = table.clone();
        let mut expected = table.clone();
        for i in 0..points {
            let far = [-1, i64::MIN, i64::MAX, extent as i64];
            let place = if rng.below(9) == 0 { rng.pick(&far) } else { rng.below(extent) as i64 };
            places.memory.write(places.byte(&[i]), Scalar::I64(place));
            if (0..extent as i64).contains(&place) {
                let at = expected.byte(&[place as usize]);
                expected.memory.write(at, input.get(&[i]));
            }
        }
        for threads in [1, 3, 4] {
            table = before.clone();
            let axes: SmallVec<_> = SmallVec::from_slice(&[IndexedAxis { extent, stride }]);
            let mut launch = plan(program(dtype, 1), Family::Scatter { axes }, &[points], &mut [], &mut []);
            let mut out = table.operand();
            out.strides = SmallVec::from_slice(&[0]);
            launch.inputs.extend([input.operand(), places.operand()]);
            launch.outputs.push(out);
            execute(&launch, Isa::best(), threads, 1 << 25);
            assert!(table.memory.bytes() == expected.memory.bytes(), "{dtype} {extent} {stride} {threads}");
        }
    }
}

/// Sums at places, in the order of the values, however many threads take part.
#[test]
fn accumulates_in_order() {
    let mut sample = Sample::new();
    let mut rng = Rng(5);
    let dtypes =
        [Dtype::I8, Dtype::U16, Dtype::I32, Dtype::U64, Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];
    let cases = dtypes.iter().flat_map(|&dtype| {
        let ordered = dtype.kind() != DtypeKind::Complex;
        let ops = [Op::Add, Op::Multiply].into_iter();
        ops.chain(ordered.then_some([Op::Minimum, Op::Maximum]).into_iter().flatten())
            .map(move |op| (dtype, op))
    });
    for (number, (dtype, op)) in cases.enumerate() {
        // Many of them in every third case.
        let many = (number % 3 == 0).then_some((200_000, 300_000, 1));
        for (points, extent, stride) in [(1, 1, 1), (300, 7, -2), (1000, 1000, 3)].into_iter().chain(many) {
            if sample.skips() {
                continue;
            }
            let mut table = Array::new(&[extent], vec![stride], dtype, &mut rng);
            let mut places = Array::new(&[points], vec![-1], Dtype::I64, &mut rng);
            let mut values = Array::new(&[points], vec![2], dtype, &mut rng);
            let before = table.clone();
            let mut expected = table.clone();
            for i in 0..points {
                let far = [-1, i64::MIN, i64::MAX, extent as i64];
                let place = if rng.below(9) == 0 { rng.pick(&far) } else { rng.below(extent) as i64 };
                places.memory.write(places.byte(&[i]), Scalar::I64(place));
                if (0..extent as i64).contains(&place) {
                    let at = [place as usize];
                    let sum = apply(op, &[expected.get(&at), values.get(&[i])]).unwrap();
                    expected.memory.write(expected.byte(&at), sum);
                }
            }
            for threads in [1, 3, 4] {
                table = before.clone();
                let family = Family::Accumulate { op, axis: IndexedAxis { extent, stride } };
                let mut launch = plan(program(dtype, 1), family, &[points], &mut [], &mut []);
                let mut out = table.operand();
                out.strides = SmallVec::from_slice(&[0]);
                launch.inputs.extend([values.operand(), places.operand()]);
                launch.outputs.push(out);
                execute(&launch, Isa::best(), threads, 1 << 25);
                untouched(&before, &table, &[extent]);
                for i in 0..extent {
                    let (found, expected) = (table.get(&[i]), expected.get(&[i]));
                    assert_eq!(canonical(found), canonical(expected), "{op:?} {dtype} {points} {extent} {i}");
                }
            }
        }
    }
}
