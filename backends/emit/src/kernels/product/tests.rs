//! Matrix products in every form, against sums of products in a loop.

use std::sync::Arc;

use stridewise_core::ops::apply;
use stridewise_core::{
    Complex, Dtype, Op, Scalar,
    backend::{Family, Fold, LaunchPlan, Program, ProgramBuilder},
};

use super::super::trial::{Random, Region, Tested, devices, inputs_at, operand, same};
use super::{FORMS, Multiplication, sum};
use crate::kernels::Target;

/// Numbers whose sums of products are exact, or anything where these wrap.
fn element(dtype: Dtype, random: &mut Random) -> Scalar {
    let number = |random: &mut Random| random.below(9) as f64 - 4.0;
    if dtype.kind().is_integer() {
        return Scalar::I64(random.below(1 << 20) as i64 - (1 << 19)).cast(dtype);
    }
    Scalar::C128(Complex::new(number(random), number(random))).cast(dtype)
}

/// The product of two inputs of these dtypes in another.
fn program(inputs: [Dtype; 2], dtype: Dtype) -> Program {
    let mut builder = ProgramBuilder::new();
    let values = inputs.map(|input| builder.input(input).unwrap());
    let factors = [0, 1].map(|i| match inputs[i] == dtype {
        true => values[i],
        false => builder.cast(values[i], dtype).unwrap(),
    });
    let product = builder.push(Op::Multiply, &factors).unwrap();
    builder.output(product).unwrap();
    builder.finish().unwrap()
}

/// A plan over `(batch, m, n, k)`; the orders are those of the operands' dimensions in memory, the innermost first.
fn plan(
    inputs: [Dtype; 2],
    [dtype, stored]: [Dtype; 2],
    dims: [usize; 4],
    orders: [&[usize]; 3],
    random: &mut Random,
) -> (LaunchPlan, Vec<Region>) {
    let mut regions = Vec::new();
    let mut place = |order: &[usize], dtype: Dtype, gap: usize, random: &mut Random| {
        let (mut strides, mut first, mut len) = ([0_isize; 4], random.below(3), 1);
        for (i, &d) in order.iter().enumerate() {
            let backwards = gap > 0 && random.below(4) == 0;
            strides[d] = if backwards { -(len as isize) } else { len as isize };
            first += if backwards { len * (dims[d] - 1) } else { 0 };
            len = len * dims[d] + if i == 0 { gap } else { 0 };
        }
        let values: Vec<Scalar> = (0..len + 3).map(|_| element(dtype, random)).collect();
        regions.push(Region::new(dtype, &values));
        operand(regions.len() - 1, dtype, first as isize, &strides)
    };
    let gaps = [random.below(3), random.below(3), random.below(3)];
    let a = place(orders[0], inputs[0], gaps[0], random);
    let b = place(orders[1], inputs[1], gaps[1], random);
    let out = place(orders[2], stored, gaps[2], random);
    let finish = (stored != dtype).then(|| Arc::new(Program::convert(dtype, stored)));
    let plan = LaunchPlan {
        program: Arc::new(program(inputs, dtype)),
        family: Family::Reduce { fold: Fold::Op(Op::Add), reduced: 1, finish, stored: None },
        dims: dims.as_slice().into(),
        inputs: [a, b].into_iter().collect(),
        outputs: std::iter::once(out).collect(),
    };
    (plan, regions)
}

fn check(tested: &Tested, target: &Target, plan: &LaunchPlan, regions: &[Region], form: usize) {
    let mut got = regions.to_vec();
    tested.run(target, plan, &mut got, |plan, target| {
        let mut multiplication = Multiplication::of(plan, target).expect("a product");
        let forms = FORMS[sum(multiplication.product.dtype).size().max(4).ilog2() as usize - 2];
        multiplication.form = forms[form % forms.len()];
        multiplication.chunk = multiplication.chunk.next_multiple_of(multiplication.form.depth);
        multiplication.parts = multiplication.product.k.len.div_ceil(multiplication.chunk);
        Ok(multiplication.work(plan, target).expect("kernels"))
    });
    let mut expected = regions.to_vec();
    let out = plan.outputs[0].clone();
    let summed = plan.product().expect("a product").dtype;
    let first = (out.ptr.addr() & ((1 << 40) - 1)) / regions[2].dtype.size();
    let [batch, m, n, k] = *plan.dims.as_slice() else { panic!("four dimensions") };
    for at in 0..batch * m * n {
        let index = [at / (m * n), at / n % m, at % n];
        let value = (0..k).fold(None, |total: Option<Scalar>, p| {
            let factors = inputs_at(plan, regions, &[index[0], index[1], index[2], p]);
            let factors: Vec<Scalar> = factors.iter().map(|v| v.cast(summed)).collect();
            let product = apply(Op::Multiply, &factors).unwrap();
            Some(total.map_or(product, |total| apply(Op::Add, &[total, product]).unwrap()))
        });
        let offset: isize = (0..3).map(|d| out.strides[d] * index[d] as isize).sum();
        let start = (first as isize + offset) as usize * regions[2].dtype.size();
        let size = regions[2].dtype.size();
        expected[2].bytes[start..start + size]
            .copy_from_slice(&value.unwrap().cast(regions[2].dtype).to_bytes()[..size]);
    }
    let len = expected[2].bytes.len() / regions[2].dtype.size();
    for i in 0..len as isize {
        let (got, expected) = (got[2].get(i), expected[2].get(i));
        assert!(
            same(got, expected, false),
            "{}: {plan:?}: element {i}: {got:?}, not {expected:?}",
            tested.name
        );
    }
}

/// Extents around those of tiles, orders of the dimensions of every operand, every form, and several parts.
#[test]
fn products_are_sums_of_products() {
    let orders: [[&[usize]; 2]; 3] =
        [[&[3, 1, 0], &[1, 3, 0]], [&[3, 2, 0], &[2, 3, 0]], [&[2, 1, 0], &[1, 2, 0]]];
    for tested in devices() {
        let mut random = Random(7);
        let pairs = [
            ([Dtype::F32; 2], [Dtype::F32; 2]),
            ([Dtype::F64; 2], [Dtype::F64; 2]),
            ([Dtype::Bf16; 2], [Dtype::F32; 2]),
            ([Dtype::Bf16; 2], [Dtype::F32, Dtype::Bf16]),
            ([Dtype::F16; 2], [Dtype::F32, Dtype::F16]),
            ([Dtype::F16, Dtype::F32], [Dtype::F32; 2]),
            ([Dtype::I8; 2], [Dtype::I8; 2]),
            ([Dtype::U16; 2], [Dtype::U16; 2]),
            ([Dtype::I32; 2], [Dtype::I32; 2]),
            ([Dtype::I64; 2], [Dtype::I64; 2]),
            ([Dtype::C64; 2], [Dtype::C64; 2]),
            ([Dtype::C128; 2], [Dtype::C128; 2]),
        ];
        for (inputs, dtypes) in pairs {
            if !inputs.iter().chain(&dtypes).all(|&dtype| tested.has(dtype)) {
                continue;
            }
            for round in 0..4 {
                let pick = |side: usize, bit: usize| orders[side][round >> bit & 1];
                let side = |random: &mut Random, most: usize| 8 + random.below(most);
                let dims = [
                    1 + random.below(2),
                    side(&mut random, 130),
                    side(&mut random, 70),
                    side(&mut random, 40),
                ];
                let own = [pick(0, 0), pick(1, 1), pick(2, 2)];
                let (plan, regions) = plan(inputs, dtypes, dims, own, &mut random);
                let target = Target { compute_units: 1, cpu: false, ..tested.target.clone() };
                check(&tested, &target, &plan, &regions, round % 3);
            }
            // Few tiles of long sums.
            let dims = [1, 17, 9, 700];
            let (plan, regions) = super::tests::plan(
                inputs,
                dtypes,
                dims,
                [orders[0][0], orders[1][0], orders[2][0]],
                &mut random,
            );
            let target = Target { compute_units: 4, cpu: false, ..tested.target.clone() };
            assert!(Multiplication::of(&plan, &target).unwrap().parts > 1);
            check(&tested, &target, &plan, &regions, 0);
        }
    }
}
