//! Each construct by itself, in forms that take each of the interpreter's ways.

use stridewise::kernel::oracle::Checks;
use stridewise::kernel::{
    AtomicOp, Collective, Coordinate::*, Global, Item, Kernel, KernelBuilder, Level, Local, MemoryOrder,
    MemoryScope, NdRange, Operand,
};
use stridewise::{Complex, Dtype, Op, Queue, Result, Scalar, bf16, f16};

use crate::cell::Check;
use crate::known;

use super::{Given, array, given, same_as_oracle, shaped};

fn build(dims: usize, build: impl FnOnce(&mut KernelBuilder) -> Result<()>) -> Kernel {
    let mut k = KernelBuilder::new("construct", dims).unwrap();
    build(&mut k).and_then(|()| k.finish()).unwrap()
}

fn every_dtype_is_loaded_computed_and_stored(queue: &Queue) -> Check {
    fn check(queue: &Queue, a: Given, dtype: Dtype) -> Check {
        if !queue.device().dtype_support().supports(dtype) {
            return Ok(());
        }
        let kernel = build(1, |k| {
            let a = k.global("a", dtype, 1, false)?;
            let b = k.global("b", dtype, 1, true)?;
            let v = k.variable("v", dtype)?;
            let i = k.index(Level::Global, Id(0))?;
            let back = k.binary(Op::Subtract, 299, i)?;
            let (x, y) = (k.load(a, [i])?, k.load(a, [back])?);
            let op = if dtype == Dtype::Bool { Op::BitwiseXor } else { Op::Add };
            let sum = k.binary(op, x, y)?;
            k.set(v, sum)?;
            let third = k.binary(Op::Remainder, i, 3)?;
            let some = k.binary(Op::Equal, third, 1)?;
            k.if_(some)?;
            k.set(v, x)?;
            k.end()?;
            k.store(b, [back], v)
        });
        let Given::Array(elements) = &a else { unreachable!() };
        let zeros = elements.elements.iter().map(|e| Scalar::I8(0).cast(e.dtype())).collect();
        let b = Given::Array(stridewise::kernel::oracle::Elements { elements: zeros, ..elements.clone() });
        same_as_oracle(queue, &kernel, &[300].into(), &[a.clone(), b], Checks::ALL).map(drop)
    }
    let numbers = || (0..300).map(|i| i * 37 % 101 - 50);
    check(queue, given(numbers().map(|i| i % 2 == 0)), Dtype::Bool)?;
    check(queue, given(numbers().map(|i| i as i8)), Dtype::I8)?;
    check(queue, given(numbers().map(|i| i as u16)), Dtype::U16)?;
    check(queue, given(numbers()), Dtype::I32)?;
    check(queue, given(numbers().map(i64::from)), Dtype::I64)?;
    check(queue, given(numbers().map(|i| i as u64)), Dtype::U64)?;
    check(queue, given(numbers().map(|i| f16::from_f32(i as f32 / 8.0))), Dtype::F16)?;
    check(queue, given(numbers().map(|i| bf16::from_f32(i as f32))), Dtype::Bf16)?;
    check(queue, given(numbers().map(|i| i as f32 / 3.0)), Dtype::F32)?;
    check(queue, given(numbers().map(|i| f64::from(i) / 3.0)), Dtype::F64)?;
    check(queue, given(numbers().map(|i| Complex::new(i as f32, 1.0))), Dtype::C64)?;
    check(queue, given(numbers().map(|i| Complex::new(1.0, f64::from(i)))), Dtype::C128)?;
    Ok(())
}

/// The engine's functions themselves, not others like them.
fn functions_are_those_of_arrays_to_the_bit(queue: &Queue) -> Check {
    let kernel = build(1, |k| {
        let a = k.global("a", Dtype::F32, 1, true)?;
        let i = k.index(Level::Global, Id(0))?;
        let x = k.load(a, [i])?;
        let (e, s) = (k.unary(Op::Exp, x)?, k.unary(Op::Sin, x)?);
        let y = k.binary(Op::Hypot, e, s)?;
        k.store(a, [i], y)
    });
    let values: Vec<f32> = (0..1000).map(|i| i as f32 / 17.0 - 30.0).collect();
    {
        let a = array(queue, &values);
        let expected = a.exp().hypot(&a.sin()).to_vec().unwrap();
        kernel.launch(queue, [1000], &[(&a).into()], &[]).unwrap();
        let found = a.to_vec().unwrap();
        assert!(found.iter().zip(&expected).all(|(f, e)| f.to_bits() == e.to_bits()));
    }
    Ok(())
}

fn ids_of_every_shape_of_groups(queue: &Queue) -> Check {
    for (global, group) in [
        ([7, 9, 11], [2, 4, 8]),
        ([1, 3, 600], [1, 1, 300]),
        ([4, 4, 4], [4, 4, 4]),
        ([3, 40, 10], [1, 40, 10]),
        ([2, 2, 1], [1, 2, 1]),
    ] {
        let kernel = build(3, |k| {
            let out = k.global("out", Dtype::I64, 2, true)?;
            let row = k.index(Level::Global, LinearId)?;
            let mut column = 0;
            for level in [Level::Global, Level::Local, Level::Group] {
                for coordinate in [Id(0), Id(1), Id(2), Range(0), Range(1), Range(2), LinearId] {
                    let x = k.index(level, coordinate)?;
                    k.store(out, [Operand::from(row), column.into()], x)?;
                    column += 1;
                }
            }
            Ok(())
        });
        let items: usize = global.iter().product();
        let out = shaped(given(vec![-1_i64; items * 21]), &[items, 21]);
        let range = NdRange::in_groups(&global, &group).partial();
        same_as_oracle(queue, &kernel, &range, &[out], Checks::ALL)?;
    }
    Ok(())
}

fn integers_that_follow_the_ids_wrap_as_they_should(queue: &Queue) -> Check {
    for dtype in [Dtype::I8, Dtype::U8, Dtype::I16, Dtype::U32, Dtype::I32, Dtype::U64] {
        let kernel = build(1, |k| {
            let out = k.global("out", Dtype::I64, 2, true)?;
            let i = k.index(Level::Global, Id(0))?;
            let small = k.cast(i, dtype)?;
            let three = k.cast(3, dtype)?;
            let many = k.binary(Op::Multiply, small, three)?;
            let less = k.binary(Op::Subtract, many, three)?;
            let minus = k.unary(Op::Negative, less)?;
            let wide = k.cast(minus, Dtype::I64)?;
            let below = k.binary(Op::Less, less, small)?;
            let shifted = k.binary(Op::BitwiseLeftShift, small, three)?;
            for (column, value) in [small, many, less, minus, wide, below, shifted].into_iter().enumerate() {
                k.store(out, [Operand::from(i), column.into()], value)?;
            }
            Ok(())
        });
        let out = shaped(given(vec![-1_i64; 600 * 7]), &[600, 7]);
        same_as_oracle(queue, &kernel, &[600].into(), &[out], Checks::ALL)?;
    }
    Ok(())
}

fn no_index_leads_out_of_an_array(queue: &Queue) -> Check {
    let kernel = build(1, |k| {
        let a = k.global("a", Dtype::I32, 2, false)?;
        let b = k.global("b", Dtype::I32, 2, true)?;
        let counts = k.global("counts", Dtype::I32, 1, true)?;
        let far = k.scalar("far", Dtype::I64)?;
        let i = k.index(Level::Global, Id(0))?;
        let row = k.binary(Op::Subtract, i, 5)?;
        let away = k.binary(Op::Multiply, i, far)?;
        let x = k.load(a, [row, away])?;
        let y = k.load(a, [away, row])?;
        let sum = k.binary(Op::Add, x, y)?;
        k.store(b, [row, i], sum)?;
        k.store(b, [away, row], sum)?;
        let at = (MemoryOrder::Relaxed, MemoryScope::Device);
        let old = k.atomic(AtomicOp::Add, counts, [row], Some(1.into()), at)?;
        k.store(b, [row, row], old)
    });
    for far in [-1, 1 << 40, i64::MIN, i64::MAX] {
        let a = shaped(given((0..30).map(|i| i * i)), &[5, 6]);
        let b = shaped(given([-1_i32; 30]), &[6, 5]);
        let arguments = [a, b, given([0_i32; 3]), Given::Scalar(Scalar::I64(far))];
        same_as_oracle(queue, &kernel, &NdRange::in_groups(&[20], &[20]), &arguments, Checks::NONE)?;
    }
    // Arrays without elements.
    let kernel = build(1, |k| {
        let a = k.global("a", Dtype::F32, 1, true)?;
        let b = k.global("b", Dtype::F32, 1, true)?;
        let i = k.index(Level::Global, Id(0))?;
        let x = k.load(a, [i])?;
        k.store(b, [i], x)?;
        k.store(a, [i], x)
    });
    let arguments = [given(Vec::<f32>::new()), given([5_f32; 3])];
    same_as_oracle(queue, &kernel, &[4].into(), &arguments, Checks::NONE)?;
    Ok(())
}

fn collectives_of_groups_of_any_size(queue: &Queue) -> Check {
    let kernel = build(1, |k| {
        let a = k.global("a", Dtype::F32, 1, false)?;
        let out = k.global("out", Dtype::F32, 2, true)?;
        let flags = k.global("flags", Dtype::Bool, 2, true)?;
        let i = k.index(Level::Global, Id(0))?;
        let x = k.load(a, [i])?;
        let last = k.index(Level::Local, Range(0))?;
        let from = k.binary(Op::FloorDivide, last, 2)?;
        let all = [
            Collective::Reduce(Op::Add),
            Collective::Reduce(Op::Minimum),
            Collective::InclusiveScan(Op::Add),
            Collective::ExclusiveScan(Op::Add),
            Collective::ExclusiveScan(Op::Maximum),
            Collective::Broadcast(from),
        ];
        for (column, collective) in all.into_iter().enumerate() {
            let y = k.collective(collective, x)?;
            k.store(out, [Operand::from(i), column.into()], y)?;
        }
        let positive = k.binary(Op::Greater, x, 0)?;
        for (column, collective) in [Collective::All, Collective::Any].into_iter().enumerate() {
            let y = k.collective(collective, positive)?;
            k.store(flags, [Operand::from(i), column.into()], y)?;
        }
        Ok(())
    });
    let most = queue.device().info().limits.max_work_group_size;
    for (items, size) in [(6, 3), (600, 300), (1000, 1000), (10, 4), (700, 400)] {
        if size > most {
            continue;
        }
        let arguments = [
            given((0..items).map(|i| ((i * 31) % 64) as f32 / 7.0 - 1.0)),
            shaped(given(vec![0_f32; items * 6]), &[items, 6]),
            shaped(given(vec![false; items * 2]), &[items, 2]),
        ];
        let range = NdRange::in_groups(&[items], &[size]).partial();
        same_as_oracle(queue, &kernel, &range, &arguments, Checks::ALL)?;
    }
    Ok(())
}

fn atomics_of_every_kind(queue: &Queue) -> Check {
    let at = (MemoryOrder::SeqCst, MemoryScope::Device);
    let is_host = queue.device().info().backend == "host";
    for dtype in [Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64, Dtype::F32, Dtype::F64] {
        for op in [
            AtomicOp::Add,
            AtomicOp::Subtract,
            AtomicOp::Minimum,
            AtomicOp::Maximum,
            AtomicOp::And,
            AtomicOp::Or,
            AtomicOp::Xor,
        ] {
            if !op.allows(dtype) || !queue.device().dtype_support().supports(dtype) {
                continue;
            }
            // Within a group the host's order is that of the items, so that what was there before is known.
            let kernel = build(1, |k| {
                let a = k.global("a", dtype, 1, true)?;
                let old = k.global("old", dtype, 1, true)?;
                let i = k.index(Level::Global, Id(0))?;
                let bin = k.binary(Op::Remainder, i, 3)?;
                let operand = k.binary(Op::Add, i, 5)?;
                let before = k.atomic(op, a, [bin], Some(operand.into()), at)?;
                if is_host { k.store(old, [i], before) } else { Ok(()) }
            });
            let start = [7, 1, 12].map(|i| Scalar::I32(i).cast(dtype));
            let zeros = vec![Scalar::I8(0).cast(dtype); 50];
            let elements = |elements: Vec<Scalar>| {
                Given::Array(stridewise::kernel::oracle::Elements { shape: vec![elements.len()], elements })
            };
            let range = NdRange::in_groups(&[50], &[50]);
            same_as_oracle(
                queue,
                &kernel,
                &range,
                &[elements(start.to_vec()), elements(zeros)],
                Checks::ALL,
            )?;
        }
    }
    // By many threads at once: every item counts.
    let kernel = build(1, |k| {
        let a = k.global("a", Dtype::F32, 1, true)?;
        k.while_()?;
        let old = k.atomic(AtomicOp::Load, a, [0], None, at)?;
        let new = k.binary(Op::Add, old, 1)?;
        let found = k.atomic(AtomicOp::CompareExchange { expected: old }, a, [0], Some(new.into()), at)?;
        let again = k.binary(Op::NotEqual, found, old)?;
        k.do_(again)?;
        k.end()?;
        k.atomic(AtomicOp::Add, a, [1], Some(1.into()), at).map(drop)
    });
    {
        let a = array(queue, &[0_f32, 0.0]);
        kernel.launch(queue, NdRange::in_groups(&[4096], &[32]), &[(&a).into()], &[]).unwrap();
        assert_eq!(a.to_vec().unwrap(), [4096.0, 4096.0]);
    }
    Ok(())
}

/// Escape times: a loop that items leave after different numbers of rounds.
fn items_leave_loops_one_by_one(queue: &Queue) -> Check {
    let kernel = known::mandelbrot::mandelbrot::kernel::<f32>()?;
    let number = |x: f32| Given::Scalar(Scalar::F32(x));
    let out = shaped(given([-1_i32; 25 * 60]), &[25, 60]);
    let arguments = [Given::Scalar(Scalar::I32(40)), number(-2.25), number(-1.25), number(0.075), out];
    let found = same_as_oracle(queue, &kernel, &[25, 60].into(), &arguments, Checks::ALL)?;
    assert!(found[0].contains(&Scalar::I32(40)) && found[0].contains(&Scalar::I32(2)));
    Ok(())
}

#[stridewise::kernel]
fn stored(item: Item<1>, out: &mut Global<u32>) {
    let own: Local<u32> = Local::new([8]);
    let l = item.local_id(0);
    own[l].atomic_store(l as u32);
    item.barrier();
    out[item.global_id(0)] = own[l ^ 1].fetch_max(3);
}

/// Local memory that atomic stores alone have written is written.
fn atomic_stores_write_local_memory(queue: &Queue) -> Check {
    let kernel = stored::kernel()?;
    let range = NdRange::in_groups(&[16], &[8]);
    same_as_oracle(queue, &kernel, &range, &[given([9_u32; 16])], Checks::ALL).map(drop)
}

/// A kernel's test on a queue's device.
type Construct = fn(&Queue) -> Check;

/// All of them, by name.
pub(super) const CONSTRUCTS: &[(&str, Construct)] = &[
    ("every_dtype_is_loaded_computed_and_stored", every_dtype_is_loaded_computed_and_stored),
    ("functions_are_those_of_arrays_to_the_bit", functions_are_those_of_arrays_to_the_bit),
    ("ids_of_every_shape_of_groups", ids_of_every_shape_of_groups),
    ("integers_that_follow_the_ids_wrap_as_they_should", integers_that_follow_the_ids_wrap_as_they_should),
    ("no_index_leads_out_of_an_array", no_index_leads_out_of_an_array),
    ("collectives_of_groups_of_any_size", collectives_of_groups_of_any_size),
    ("atomics_of_every_kind", atomics_of_every_kind),
    ("items_leave_loops_one_by_one", items_leave_loops_one_by_one),
    ("atomic_stores_write_local_memory", atomic_stores_write_local_memory),
];
