//! Products that are added in one pass.

use stridewise_core::{Arg, Dtype, Op, ProgramBuilder, Scalar};

use super::Rng;
use super::random::compare;

#[test]
fn sums_of_products() {
    let mut rng = Rng(11);
    for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::I32, Dtype::C64] {
        for case in 0..3 * 2 * 2 * 5 * 4 {
            let (product, sum, first, third, kept) =
                (case % 3, case / 3 % 2, case / 6 % 2, case / 12 % 5, case / 60);
            let mut p = ProgramBuilder::new();
            let [x, y, z] = [(); 3].map(|()| p.input(dtype).unwrap());
            let two = p.constant(Scalar::F64(2.0).cast(dtype)).unwrap();
            let product = match product {
                0 => p.push(Op::Multiply, &[x, y]),
                1 => p.push(Op::Square, &[x]),
                _ => p.push(Op::Multiply, &[two, x]),
            };
            let product = product.unwrap();
            // Another array, one of the factors, a constant, another product, the product itself.
            let third: Arg = match third {
                0 => z,
                1 => x,
                2 => two,
                3 => p.push(Op::Multiply, &[y, z]).unwrap(),
                _ => product,
            };
            let operands = if first == 0 { [product, third] } else { [third, product] };
            let sum = p.push(if sum == 0 { Op::Add } else { Op::Subtract }, &operands).unwrap();
            // The product is needed by nobody else; is a result; is needed before or after.
            match kept {
                0 => p.output(sum).unwrap(),
                1 => [product, sum].into_iter().for_each(|value| p.output(value).unwrap()),
                2 => {
                    let rest = p.push(Op::Multiply, &[sum, product]).unwrap();
                    p.output(rest).unwrap();
                }
                _ => {
                    let square = p.push(Op::Square, &[sum]).unwrap();
                    let rest = p.push(Op::Subtract, &[square, sum]).unwrap();
                    p.output(rest).unwrap();
                }
            }
            let program = p.finish().unwrap();
            for dims in [&[1][..], &[67], &[3, 1030], &[5, 2, 33]] {
                compare(&program, &mut rng, dims, 1, 0).unwrap();
            }
        }
    }
}
