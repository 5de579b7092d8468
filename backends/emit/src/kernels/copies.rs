//! Several plans that copy elements next to each other, as a concat is: one kernel, whose work-items find the copy that they
//! take part in. A launch costs more than a short copy.

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::{
    Op,
    backend::{Arg, Family, LaunchPlan},
};

use super::text::Parameters;
use super::{Argument, Key, Stage, Target, Work, Writer};

/// Bytes that a work-item copies.
const UNIT: usize = 16;
const GROUP: usize = 256;
/// Copies of a kernel at most: its arguments are few enough for every device.
const MOST: usize = 16;

/// The one kernel of some plans; `None` where they are other than described above.
pub(super) fn work<'a>(plans: &'a [LaunchPlan], target: &'a Target) -> Option<Work<'a>> {
    // On a processor, each copy is spread as it is best.
    if target.cpu { None } else { anywhere(plans, target) }
}

/// As [`work`], on whatever device.
fn anywhere<'a>(plans: &'a [LaunchPlan], target: &'a Target) -> Option<Work<'a>> {
    let count = plans.len();
    if !(2..=MOST).contains(&count) || !plans.iter().all(is_copy) || target.max_group < GROUP {
        return None;
    }
    let bytes = |plan: &LaunchPlan| plan.dims[0] * plan.output_dtype(0).size();
    let units: usize = plans.iter().map(|plan| bytes(plan).div_ceil(UNIT)).sum();
    let mut key = Key::new(Writer::Copies);
    key.push(count);
    let mut arguments: SmallVec<[Argument; 12]> = SmallVec::new();
    for plan in plans {
        arguments.extend([Argument::Memory(plan.outputs[0].ptr), Argument::Memory(plan.inputs[0].ptr)]);
    }
    arguments.push(Argument::longs(plans.iter().map(|plan| bytes(plan).cast_signed())));
    Some(Work::single(Stage {
        key,
        source: Box::new(move || text(count, target)),
        arguments,
        global: [units.next_multiple_of(GROUP), 1],
        local: [GROUP, 1],
    }))
}

/// Whether a plan copies elements as they are, next to each other, between places that a unit may begin at.
fn is_copy(plan: &LaunchPlan) -> bool {
    let program = &*plan.program;
    let (&[input], [step]) = (program.inputs(), program.steps()) else { return false };
    let copied =
        step.op == Op::Copy && step.operands() == [Arg::Input(0)] && program.outputs() == [Arg::Step(0)];
    let ([from], [to]) = (plan.inputs.as_slice(), plan.outputs.as_slice()) else { return false };
    matches!(plan.family, Family::Map)
        && copied
        && !program.is_index(0)
        && input == plan.output_dtype(0)
        && [from, to].iter().all(|o| o.strides[..] == [1] && o.ptr.addr().is_multiple_of(UNIT))
}

fn text(count: usize, target: &Target) -> String {
    let mut parameters = Parameters::new(target);
    let mut body = "    long i = get_global_id(0);\n".to_owned();
    for k in 0..count {
        parameters.memory("uchar", &format!("dst{k}"));
        parameters.memory("const uchar", &format!("src{k}"));
        let _ = writeln!(
            body,
            "    if (i * {UNIT} < s.bytes[{k}]) {{\n        copy(dst{k}, src{k}, i * {UNIT}, s.bytes[{k}]);\n        \
             return;\n    }}\n    i -= (s.bytes[{k}] + {UNIT} - 1) / {UNIT};"
        );
    }
    parameters.value("numbers", "s");
    let unit = format!(
        "typedef struct {{\n    long bytes[{count}];\n}} numbers;\n\
         static inline void copy(global uchar *dst, global const uchar *src, long at, const long end)\n{{\n    \
             if (at + {UNIT} <= end)\n        *(global uint4 *)(dst + at) = *(global const uint4 *)(src + at);\n    \
             else\n        for (; at < end; at++)\n            dst[at] = src[at];\n}}\n"
    );
    let attributes = format!("__attribute__((reqd_work_group_size({GROUP}, 1, 1)))");
    unit + &parameters.kernel(&attributes, &body)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use smallvec::smallvec;
    use stridewise_core::{Dtype, Scalar, backend::Program};

    use super::*;
    use crate::kernels::trial::{Region, devices, operand};

    #[test]
    fn several_copies_are_one_kernel() {
        for device in devices() {
            let copied = |lens: &[usize], dtype: Dtype| {
                let numbers = |len: usize, from: usize| -> Vec<Scalar> {
                    (from..from + len).map(|i| Scalar::I64(i as i64 % 97 + 1).cast(dtype)).collect()
                };
                let mut regions: Vec<Region> = lens
                    .iter()
                    .enumerate()
                    .map(|(k, &len)| Region::new(dtype, &numbers(len, 7 * k)))
                    .collect();
                let room = |len: usize| Region::new(dtype, &vec![Scalar::I64(0).cast(dtype); len + 1]);
                regions.extend(lens.iter().map(|&len| room(len)));
                let plans: Vec<LaunchPlan> = (0..lens.len())
                    .map(|k| LaunchPlan {
                        program: Arc::new(Program::convert(dtype, dtype)),
                        family: Family::Map,
                        dims: smallvec![lens[k]],
                        inputs: smallvec![operand(k, dtype, 0, &[1])],
                        outputs: smallvec![operand(lens.len() + k, dtype, 0, &[1])],
                    })
                    .collect();
                let work = anywhere(&plans, &device.target).expect("copies");
                assert_eq!(work.stages.len(), 1);
                device.run_work(&device.target, work, &mut regions, lens.len());
                for (k, &len) in lens.iter().enumerate() {
                    let (from, to) = (&regions[k].bytes, &regions[lens.len() + k].bytes);
                    assert_eq!(from[..], to[..from.len()], "{} {dtype} {lens:?}, part {k}", device.name);
                    // Nothing behind it.
                    assert!(to[len * dtype.size()..].iter().all(|&byte| byte == 0), "{lens:?}, part {k}");
                }
            };
            copied(&[1, 2], Dtype::U8);
            copied(&[16, 17, 300], Dtype::U8);
            copied(&[1000, 5, 4096, 4097], Dtype::F32);
            copied(&[3; MOST], Dtype::C128);
        }
    }

    #[test]
    fn other_plans_are_not_copies() {
        let plan = |program: Program, strides: &[isize]| LaunchPlan {
            program: Arc::new(program),
            family: Family::Map,
            dims: smallvec![8],
            inputs: smallvec![operand(0, Dtype::F32, 0, strides)],
            outputs: smallvec![operand(1, Dtype::F32, 0, &[1])],
        };
        let same = || Program::convert(Dtype::F32, Dtype::F32);
        assert!(is_copy(&plan(same(), &[1])));
        assert!(!is_copy(&plan(same(), &[2])));
        assert!(!is_copy(&plan(Program::convert(Dtype::F32, Dtype::I32), &[1])));
        let mut odd = plan(same(), &[1]);
        odd.inputs[0] = operand(0, Dtype::F32, 1, &[1]);
        assert!(!is_copy(&odd));
    }
}
