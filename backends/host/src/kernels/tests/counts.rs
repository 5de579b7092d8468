//! Counts of places against a loop over them.

use stridewise_core::{
    Dtype, Scalar,
    backend::{Family, IndexedAxis, ProgramBuilder},
};

use super::{Array, Rng, Sample, execute, plan, untouched};
use crate::simd::Isa;

#[test]
fn counts() {
    let mut sample = Sample::new();
    let mut rng = Rng(7);
    for extent in [1, 2, 7, 64, 512, 513, 3000, 70_000] {
        for len in [1, 2, 3, 5, 16, 1000, 70_001, 140_000] {
            for (step, stride) in [(1, 1), (3, 2), (-1, -1), (0, 1)] {
                if sample.skips() {
                    continue;
                }
                let mut places = Array::new(&[len], vec![step], Dtype::I64, &mut rng);
                let mut expected = vec![0; extent];
                for i in 0..len {
                    let far = [-1, i64::MIN, i64::MAX, extent as i64];
                    let place = if rng.below(9) == 0 { rng.pick(&far) } else { rng.below(extent) as i64 };
                    let at = places.byte(&[i]);
                    places.memory.write(at, Scalar::I64(place));
                }
                for i in 0..len {
                    let Scalar::I64(place) = places.get(&[i]) else { unreachable!() };
                    if let Some(count) = usize::try_from(place).ok().and_then(|place| expected.get_mut(place))
                    {
                        *count += 1;
                    }
                }
                let mut program = ProgramBuilder::new();
                let place = program.input(Dtype::I64).unwrap();
                program.output(place).unwrap();
                let before = Array::new(&[extent], vec![stride], Dtype::I64, &mut rng);
                for threads in [1, 2, 4] {
                    let mut out = before.clone();
                    let family = Family::Count { axis: IndexedAxis { extent, stride } };
                    let program = program.clone().finish().unwrap();
                    let mut launch =
                        plan(program, family, &[len], std::slice::from_mut(&mut places), &mut []);
                    let mut operand = out.operand();
                    operand.strides = smallvec::SmallVec::from_slice(&[0]);
                    launch.outputs.push(operand);
                    execute(&launch, Isa::best(), threads, 1 << 25);
                    untouched(&before, &out, &[extent]);
                    for (place, &count) in expected.iter().enumerate() {
                        assert_eq!(out.get(&[place]), Scalar::I64(count), "{extent} {len} {step} {place}");
                    }
                }
            }
        }
    }
}

#[test]
fn histograms() {
    let mut rng = Rng(8);
    let kinds = ["even", "rounded", "equal", "uneven", "wide"];
    for dtype in [Dtype::F32, Dtype::F64] {
        for (extent, kind) in
            [2, 3, 8, 65, 1000].into_iter().flat_map(|extent| kinds.map(|kind| (extent, kind)))
        {
            for (len, step, stride) in [(1, 1, 1), (5, -1, 2), (1000, 3, 1), (70_001, 1, 1), (70_001, 1, -1)]
            {
                let edge = |i: usize| match kind {
                    "even" => -8.0 + i as f64 * (16.0 / (extent - 1) as f64),
                    // Steps of a few places of the last digits.
                    "rounded" => 1e6 + i as f64 * 0.07,
                    "equal" => 1.0,
                    "uneven" => (i as f64).exp2().min(1e30) - 4.0,
                    _ => (i as f64 / (extent - 1) as f64 - 0.5) * 3e38 * 2.0,
                };
                let mut edges = Array::new(&[extent], vec![stride], dtype, &mut rng);
                for i in 0..extent {
                    let at = edges.byte(&[i]);
                    edges.memory.write(at, Scalar::F64(edge(i)).cast(dtype));
                }
                let number = |value: Scalar| value.to_f64();
                let bounds: Vec<f64> = (0..extent).map(|i| number(edges.get(&[i]))).collect();
                let mut elements = Array::new(&[len], vec![step], dtype, &mut rng);
                let mut expected = vec![0; extent - 1];
                for i in 0..len {
                    let far = [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0];
                    let value = match rng.below(4) {
                        0 => bounds[rng.below(extent)],
                        1 => rng.pick(&far),
                        _ => bounds[0] + (bounds[extent - 1] - bounds[0]) * (rng.fraction() * 1.1 - 0.05),
                    };
                    let value = Scalar::F64(value).cast(dtype);
                    let at = elements.byte(&[i]);
                    elements.memory.write(at, value);
                    let value = number(value);
                    if value >= bounds[0] && value <= bounds[extent - 1] {
                        let before = bounds.iter().filter(|edge| **edge <= value).count();
                        expected[(before - 1).min(extent - 2)] += 1;
                    }
                }
                let mut program = ProgramBuilder::new();
                let element = program.input(dtype).unwrap();
                program.input(dtype).unwrap();
                program.output(element).unwrap();
                let before = Array::new(&[extent - 1], vec![stride], Dtype::I64, &mut rng);
                for threads in [1, 2, 4] {
                    let mut out = before.clone();
                    let family = Family::Histogram {
                        edges: IndexedAxis { extent, stride },
                        axis: IndexedAxis { extent: extent - 1, stride },
                    };
                    let program = program.clone().finish().unwrap();
                    let mut launch =
                        plan(program, family, &[len], std::slice::from_mut(&mut elements), &mut []);
                    for mut operand in [edges.operand(), out.operand()] {
                        operand.strides = smallvec::SmallVec::from_slice(&[0]);
                        match launch.inputs.len() {
                            1 => launch.inputs.push(operand),
                            _ => launch.outputs.push(operand),
                        }
                    }
                    execute(&launch, Isa::best(), threads, 1 << 25);
                    untouched(&before, &out, &[extent - 1]);
                    for (place, &count) in expected.iter().enumerate() {
                        assert_eq!(
                            out.get(&[place]),
                            Scalar::I64(count),
                            "{dtype} {kind} {extent} {len} {place}"
                        );
                    }
                }
            }
        }
    }
}
