//! Counts of places against a loop over them.

use stridewise_core::{Dtype, Family, IndexedAxis, ProgramBuilder, Scalar};

use super::{Array, Rng, execute, plan, untouched};
use crate::simd::Isa;

#[test]
fn counts() {
    let mut rng = Rng(7);
    for extent in [1, 2, 7, 64, 512, 513, 3000, 70_000] {
        for len in [1, 2, 3, 5, 16, 1000, 70_001, 140_000] {
            for (step, stride) in [(1, 1), (3, 2), (-1, -1), (0, 1)] {
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
