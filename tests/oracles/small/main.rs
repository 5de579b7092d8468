//! Small work, which may be done while it is submitted, gives the bits that a submission gives. On an in-order queue
//! everything is submitted.

mod alike;
mod apart;
#[path = "../../devices/mod.rs"]
mod devices;
mod passes;
mod products;
#[path = "../../random/mod.rs"]
mod random;

use random::Rng;
use stridewise::backend::QueueProperties;
use stridewise::prelude::*;
use stridewise::{Device, PointerKind, UsmPtr, pointer_info, s};

/// Views of eight rows of `len` elements: in order, with gaps, backwards, transposed, repeated, one element.
fn views<T: FloatElement>(base: &Array<T>, len: usize) -> Result<Vec<Array<T>>> {
    let len = len.cast_signed();
    Ok(vec![
        base.clone(),
        base.slice(s![..;2, ..])?,
        base.slice(s![..;-1, ..;-1])?,
        base.slice(s![1..4, ..;3])?,
        base.permute_dims([1, 0])?,
        base.slice(s![3, ..])?,
        base.slice(s![.., len / 2])?,
        base.slice(s![2, ..])?.broadcast_to([8, len.unsigned_abs()])?,
        base.slice(s![..1, ..1])?,
        base.slice(s![5, 0])?,
    ])
}

/// The results of small work on views of some numbers, on a queue, as text: NaN is NaN, and −0 is not 0.
fn results<T>(queue: &Queue, data: &[T]) -> Result<Vec<String>>
where
    T: FloatElement + Reducible<Sum = T, Mean = T, Spread = T>,
{
    let len = data.len() / 8;
    let base = Array::<T>::on(queue).from_slice([8, len], &data[..8 * len])?;
    let views = views(&base, len)?;
    let mut results = Vec::new();
    for a in &views {
        for b in &views {
            let Ok(sum) = a.try_add(b) else { continue };
            results.push(format!("{:?} + {:?}: {:?}", a.strides(), b.strides(), sum.to_vec()?));
            results.push(format!("{:?}", (a * b - a).to_vec()?));
            let mut out = sum.copy()?;
            a.sub_into(b, &mut out)?;
            results.push(format!("{:?}", out.to_vec()?));
            if let [rows, columns] = sum.shape()[..] {
                // A target with gaps, backwards and in another order.
                let wide = Array::<T>::on(queue).zeros([2 * columns + 1, rows + 2])?;
                let target = wide.slice(s![1..;2, 2..])?.permute_dims([1, 0])?.slice(s![..;-1, ..])?;
                a.sub_into(b, &mut target.clone())?;
                target.slice(s![.., ..1])?.assign(&sum.slice(s![.., -1..])?)?;
                results.push(format!("{:?}", wide.to_vec()?));
                let parts = [a.broadcast_to(sum.shape())?, sum.clone()];
                for axis in [0, 1] {
                    results.push(format!(
                        "{:?}",
                        Array::concat(&[&parts[0], &parts[1], &parts[0]], axis)?.to_vec()?
                    ));
                }
            }
            if let ([_], [_]) = (a.shape(), b.shape())
                && let (Ok(dot), Ok(product)) = (a.try_vecdot(b, -1), a.try_matmul(b))
            {
                results.push(format!("{:?} {:?}", dot.item()?, product.to_vec()?));
            }
            let greater = a.greater(b);
            results.push(format!("{:?}", greater.to_vec()?));
        }
        results.push(format!("{:?}: {:?}", a.strides(), a.sqrt().to_vec()?));
        results.push(format!("{:?}", [a.sum()?, a.mean()?, a.prod()?, a.max()?, a.min()?]));
        results.push(format!("{:?}", [a.argmax()?, a.argmin()?]));
        for axis in 0..a.ndim() {
            let axis = axis.cast_signed();
            reduced(a, &[axis], &mut results)?;
        }
    }
    // Three dimensions, as they are and in column-major order, over neighbouring axes, and over the outer two.
    let cube = base.reshape([2, 4, -1])?;
    for a in [cube.clone(), cube.permute_dims([2, 1, 0])?, cube.reshape([2, 2, 2, -1])?] {
        for axes in [&[0][..], &[1], &[2], &[0, 1], &[1, 2], &[0, 2], &[], &[0, 1, 2]] {
            reduced(&a, axes, &mut results)?;
        }
    }
    Ok(results)
}

/// The results of reductions over axes, as text.
fn reduced<T>(a: &Array<T>, axes: &[isize], results: &mut Vec<String>) -> Result<()>
where
    T: FloatElement + Reducible<Sum = T, Mean = T, Spread = T>,
{
    let text = format!("{:?} {:?} over {axes:?}", a.shape(), a.strides());
    let folded = [
        a.sum_axis(axes)?,
        a.prod_axis_keepdims(axes)?,
        a.mean_axis_keepdims(axes)?,
        a.min_axis(axes)?,
        a.max_axis(axes)?,
    ];
    for array in folded {
        results.push(format!("{text}: {:?} {:?}", array.shape(), array.to_vec()?));
    }
    results.push(format!("{text}: {:?}", a.var_axis(axes, 1.0)?.to_vec()?));
    results.push(format!("{text}: {:?}", a.std_axis_keepdims(axes, 0.0)?.to_vec()?));
    results.push(format!("{text}: {:?}", a.any_axis(axes)?.to_vec()?));
    if axes.len() < 2 || axes.len() == a.ndim() {
        results
            .push(format!("{text}: {:?}", [a.argmax_axis(axes)?.to_vec()?, a.argmin_axis(axes)?.to_vec()?]));
    }
    Ok(())
}

/// Compares the results of some numbers on every device: on a queue that is in no order, and on one that is.
fn both<T: Element>(data: &[T], results: impl Fn(&Queue, &[T]) -> Result<Vec<String>>) {
    for device in devices::devices().iter().filter(|device| device.dtype_support().supports(T::DTYPE)) {
        let properties = QueueProperties { in_order: true, ..QueueProperties::default() };
        let queues = [device.queue().unwrap(), Queue::new(device, properties).unwrap()];
        let [at_once, submitted] = queues.map(|queue| results(&queue, data).unwrap());
        assert_eq!(at_once.len(), submitted.len());
        for (k, (at_once, submitted)) in std::iter::zip(&at_once, &submitted).enumerate() {
            // All of a long text would hide where it differs.
            let same = std::iter::zip(at_once.bytes(), submitted.bytes()).take_while(|(a, b)| a == b).count();
            let [a, b] = [at_once, submitted].map(|text| {
                let part = text.chars().skip(same.saturating_sub(20)).take(60);
                part.collect::<String>()
            });
            assert!(
                at_once == submitted,
                "{} of {} on {device}, result {k}: {a}, not {b}",
                data.len(),
                T::DTYPE
            );
        }
    }
}

fn compare<T>(mut element: impl FnMut(&mut Rng) -> T)
where
    T: FloatElement + Reducible<Sum = T, Mean = T, Spread = T>,
{
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let len = 8 * rng.pick(&[1, 2, 3, 17, 100, 128]);
        let data: Vec<T> = (0..len).map(|_| element(&mut rng)).collect();
        both(&data, results);
    }
}

/// The results of single operations on as many numbers as take some microseconds, on a queue.
fn longer<T>(queue: &Queue, data: &[T]) -> Result<Vec<String>>
where
    T: RealElement + Reducible,
{
    let base = Array::<T>::on(queue).from_slice([data.len()], data)?;
    let mut results = Vec::new();
    for a in [base.clone(), base.slice(s![1..])?, base.slice(s![..;-1])?, base.reshape([-1, 1])?] {
        let sum = a.try_add(&base.slice(s![0])?)?;
        let mut out = a.try_mul(&a)?;
        results.push(format!("{:?} {:?}", sum.to_vec()?, out.to_vec()?));
        a.sub_into(&a.flip([0])?, &mut out)?;
        results.push(format!("{:?}", out.to_vec()?));
        out.assign(&a)?;
        results.push(format!("{:?} {:?}", out.to_vec()?, a.try_greater(&sum)?.to_vec()?));
        results.push(format!("{:?} {:?} {:?}", a.sum()?, a.prod()?, [a.max()?, a.min()?]));
        // Of a product that is only recorded, of one that was summed up before, and of one that changes afterwards.
        let (product, other) = (a.try_mul(&a)?, a.try_mul(&a.copy()?)?);
        results.push(format!("{:?} {:?} {:?}", product.sum()?, product.sum()?, product.max()?));
        results.push(format!("{:?}", (other.sum()?, other.to_vec()?)));
        let (mut changed, factor) = (a.copy()?, a.copy()?);
        let product = changed.try_mul(&factor)?;
        let before = product.sum()?;
        changed.try_add_assign(&factor)?;
        results.push(format!("{before:?} {:?} {:?}", product.sum()?, changed.try_mul(&factor)?.mean()?));
        results.push(format!("{:?}", [a.argmax()?, a.argmin()?]));
    }
    Ok(results)
}

fn compare_longer<T>(mut element: impl FnMut(&mut Rng) -> T)
where
    T: RealElement + Reducible,
{
    for len in [2, 3, 1000, 8191, 8192, 8193, 30_000, 70_001] {
        let mut rng = Rng::new(len as u64);
        let data: Vec<T> = (0..len).map(|_| element(&mut rng)).collect();
        both(&data, longer);
    }
}

#[test]
fn some_microseconds() {
    compare_longer(|rng| rng.next() as i8);
    compare_longer(|rng| rng.next() as i32 >> 16);
    compare_longer(|rng| match rng.chance(1) {
        true => f32::from_bits(rng.next() as u32),
        false => rng.below(1 << 20) as f32 / 1024.0 - 300.0,
    });
    compare_longer(|rng| rng.below(1 << 40) as f64 / 1e9 - 300.0);
    // Rare enough that a place is looked for in a later segment, and once the first of two.
    compare_longer(|rng| if rng.chance(1) && rng.chance(1) { f64::NAN } else { rng.below(100) as f64 });
}

/// Any bits now and then, else a number of moderate size.
fn bits(rng: &mut Rng) -> Option<u64> {
    let any = rng.next();
    rng.chance(2).then_some(any)
}

#[test]
fn float32() {
    compare(|rng| match bits(rng) {
        Some(bits) => f32::from_bits(bits as u32),
        None => rng.below(1 << 20) as f32 / 1024.0 - 300.0,
    });
}

#[test]
fn float64() {
    compare(|rng| bits(rng).map_or_else(|| rng.below(1 << 40) as f64 / 1e9 - 300.0, f64::from_bits));
}

/// Reductions of all elements of views of some numbers, on a queue, as text: to a value, which are those of the array of one
/// element, and of no elements.
macro_rules! totals {
    ($T:ty, $($name:ident $axes:ident),*) => {
        |queue: &Queue, data: &[$T]| -> Result<Vec<String>> {
            let base = Array::<$T>::on(queue).from_slice([4, data.len() / 4], data)?;
            let mut results = Vec::new();
            let views = [
                base.clone(),
                base.slice(s![..;-1, ..;2])?,
                base.permute_dims([1, 0])?,
                base.slice(s![2, ..])?,
                base.slice(s![1, 0])?,
                base.slice(s![1..1, ..])?,
            ];
            for a in views {
                $(
                    let value = format!("{:?}", a.$name());
                    if let Ok(array) = a.$axes(..) {
                        assert_eq!(value, format!("{:?}", array.item()), "{} of {:?}", stringify!($name), a.shape());
                    }
                    results.push(value);
                )*
            }
            Ok(results)
        }
    };
}

#[test]
fn reductions_to_a_value_of_every_kind() {
    let mut rng = Rng::new(9);
    for len in [4, 64, 1200] {
        macro_rules! check {
            ($($T:ty, $from:expr);* $(;)?) => {$(
                let data: Vec<$T> = (0..len).map(|_| $from(rng.next() as i8)).collect();
                both(&data, totals!($T, sum sum_axis, prod prod_axis, mean mean_axis, min min_axis, max max_axis,
                    argmin argmin_axis, argmax argmax_axis, any any_axis, all all_axis));
            )*};
        }
        check! {
            i8, |v| v; u8, |v: i8| v as u8; i16, |v| i16::from(v) << 7; u32, |v: i8| v as u32; i64, |v| i64::from(v) << 50;
            f16, |v: i8| f16::from_f32(f32::from(v) / 16.0); bf16, |v: i8| bf16::from_f32(f32::from(v) / 16.0);
            f32, |v: i8| if v == 3 { f32::NAN } else { f32::from(v) / 3.0 }; f64, |v: i8| f64::from(v) / 3.0;
        }
        let data: Vec<bool> = (0..len).map(|_| rng.below(30) != 0).collect();
        both(
            &data,
            totals!(bool, sum sum_axis, mean mean_axis, argmax argmax_axis, any any_axis, all all_axis),
        );
        let data: Vec<Complex<f32>> =
            (0..len).map(|_| Complex::new(rng.next() as i8 as f32, rng.next() as i8 as f32 / 3.0)).collect();
        both(
            &data,
            totals!(Complex<f32>, sum sum_axis, prod prod_axis, mean mean_axis, any any_axis, all all_axis),
        );
    }
}

/// A broadcast may have more elements than there are addresses for a result, but not more than can be counted in bytes.
#[test]
fn more_elements_than_memory() {
    for device in devices::devices() {
        let queue = device.queue().unwrap();
        let one = Array::<i64>::on(&queue).from_slice([1], &[1]).unwrap();
        for len in [1_usize << 46, 1 << 57, 1 << 58] {
            let (row, rows) = (one.broadcast_to([len]).unwrap(), one.broadcast_to([2, len / 2]).unwrap());
            let column = one.broadcast_to([len / 4, 1]).unwrap();
            for (a, b) in
                [(&row, &row), (&row, &one), (&rows, &one), (&column, &one.broadcast_to([4]).unwrap())]
            {
                let error = a.try_add(b).and_then(|sum| sum.to_vec()).err();
                assert!(matches!(error, Some(Error::Alloc(_))), "{len} elements on {device}: {error:?}");
                assert!(a.add_into(b, &mut one.clone()).is_err(), "{len} elements on {device}");
            }
        }
        for len in [1_usize << 59, 1 << 60, 1 << 63] {
            assert!(matches!(one.broadcast_to([len]), Err(Error::Overflow(_))), "{len} elements on {device}");
        }
        let side = one.broadcast_to([1 << 40]).unwrap();
        let error = side.reshape([1, -1]).and_then(|row| row.try_add(&side.reshape([-1, 1])?));
        assert!(matches!(error, Err(Error::Overflow(_))), "on {device}: {error:?}");
    }
}

/// The results of copies from and to rows with gaps between them, more than are gathered on the stack.
fn copied_rows<T: Element>(queue: &Queue, data: &[T]) -> Result<Vec<String>> {
    let base = Array::<T>::on(queue).from_slice([40, data.len() / 40], data)?;
    let text = |array: &Array<T>| Ok::<_, Error>(format!("{:?}", array.to_vec()?));
    let mut results = Vec::new();
    let columns = base.shape()[1].cast_signed();
    for part in [s![.., 3..columns - 2], s![..;3, ..], s![..;-1, 1..], s![.., ..;2]] {
        let part = base.slice(part)?;
        results.push(text(&part.copy()?)?);
        for axis in [0, 1] {
            results.push(text(&Array::concat(&[&part, &part.copy()?, &part], axis)?)?);
        }
        let wide = Array::<T>::on(queue).zeros([part.shape()[0] + 2, 2 * part.shape()[1] + 1])?;
        let [rows, columns] = [0, 1].map(|axis| part.shape()[axis].cast_signed());
        for place in [s![1..rows + 1, 2..columns + 2], s![2.., 1..;2]] {
            wide.slice(place)?.assign(&part)?;
            results.push(text(&wide)?);
        }
        results.push(text(&part.t().copy()?)?);
    }
    // Without gaps: several times the same memory, and nothing.
    let [some, none, others] = [s![2..5], s![1..1], s![4..6]].map(|rows| base.slice(rows));
    let (some, none, others) = (some?, none?, others?);
    results.push(text(&Array::concat(&[&some, &none, &others, &some, &others], 0)?)?);
    for axis in [0, 1] {
        results.push(text(&Array::concat(&[&base, &base.copy()?, &base], axis)?)?);
    }
    // Onto itself, in both directions.
    for (from, to) in [(s![.., ..-1], s![.., 1..]), (s![1.., ..], s![..-1, ..]), (s![..;-1, ..], s![.., ..])]
    {
        let shifted = base.copy()?;
        shifted.slice(to)?.assign(&shifted.slice(from)?)?;
        results.push(text(&shifted)?);
    }
    Ok(results)
}

#[test]
fn rows_with_gaps() {
    for columns in [3, 17, 33, 200, 1000] {
        let mut rng = Rng::new(columns as u64);
        let numbers: Vec<u64> = (0..40 * columns).map(|_| rng.next()).collect();
        both(&numbers, copied_rows);
        both(&numbers.iter().map(|&x| x as u8).collect::<Vec<_>>(), copied_rows);
        both(&numbers.iter().map(|&x| x as f32).collect::<Vec<_>>(), copied_rows);
    }
}

/// The results of operations on rows that repeat, have gaps between them or are one element each, more than are gathered on
/// the stack.
fn computed_rows<T>(queue: &Queue, data: &[T]) -> Result<Vec<String>>
where
    T: RealElement,
{
    let base = Array::<T>::on(queue).from_slice([40, data.len() / 40], data)?;
    let text = |array: &Array<T>| Ok::<_, Error>(format!("{:?}", array.to_vec()?));
    let mut results = Vec::new();
    let columns = base.shape()[1].cast_signed();
    for part in [s![.., 3..columns - 1], s![..;3, ..], s![..;-1, 1..], s![.., ..;2]] {
        let part = base.slice(part)?;
        let dense = part.copy()?;
        let (row, column) = (part.slice(s![1..2, ..])?, dense.slice(s![.., ..1])?);
        let one = base.slice(s![0, 0])?;
        for (a, b) in [(&dense, &row), (&column, &part), (&row, &column), (&part, &part), (&one, &part)] {
            results.push(text(&a.try_add(b)?)?);
            results.push(text(&a.try_mul(b)?.try_sub(&one)?)?);
            results.push(format!("{:?}", a.try_greater(b)?.to_vec()?));
            results.push(text(&a.try_greater(&one)?.try_where(b, &column)?)?);
            let (turned, other) = (a.broadcast_to(part.shape())?.t(), b.t());
            results.push(text(&turned.try_sub(&other)?)?);
            // Into rows with gaps, and what is one element in each row into rows of several.
            let wide = Array::<T>::on(queue).zeros([part.shape()[0] + 1, part.shape()[1] + 3])?;
            a.add_into(b, &mut wide.slice(s![1.., ..-3])?)?;
            results.push(text(&wide)?);
            wide.slice(s![1.., 3..])?.assign(&a.broadcast_to(part.shape())?)?;
            results.push(text(&wide)?);
        }
        let mut out = dense.copy()?;
        out.try_sub_assign(&column)?;
        results.push(text(&out)?);
        out.try_sub_assign(&row)?;
        results.push(text(&out)?);
    }
    // Of rows that are written on the way.
    for (from, to) in [(s![..-1, ..], s![1.., ..]), (s![1.., ..], s![..-1, ..]), (s![.., 1..], s![.., ..-1])]
    {
        let shifted = base.copy()?;
        shifted.slice(to)?.try_add_assign(&shifted.slice(from)?)?;
        results.push(text(&shifted)?);
    }
    for from in [s![2..3, ..], s![.., 1..2], s![..;-1, ..]] {
        let mut shifted = base.copy()?;
        let rows = shifted.slice(from)?;
        shifted.try_add_assign(&rows)?;
        results.push(text(&shifted)?);
    }
    Ok(results)
}

#[test]
fn rows_that_repeat() {
    for columns in [5, 17, 33, 200, 1000] {
        let mut rng = Rng::new(columns as u64);
        let numbers: Vec<f64> = (0..40 * columns).map(|_| rng.below(1 << 40) as f64 / 1e6 - 3e5).collect();
        both(&numbers, computed_rows);
        both(&numbers.iter().map(|&x| x as f32).collect::<Vec<_>>(), computed_rows);
        both(&numbers.iter().map(|&x| (x as i64 % 50) as i8).collect::<Vec<_>>(), computed_rows);
    }
}

/// What stands against a reduction at once: a write that is under way, and a view of the host for writing.
#[test]
fn reductions_of_memory_that_is_in_use() {
    for device in devices::devices().iter().filter(|device| device.dtype_support().supports(Dtype::I64)) {
        let queue = device.queue().unwrap();
        let array = Array::<i64>::on(&queue).from_slice([3, 2], &[1, 2, 3, 4, 5, 6]).unwrap();
        let mut array = UsmArray::from(array);
        let alias = array.clone();
        let sum = || alias.reduce(Reduction::Sum, Some(&[0]), false);
        assert_eq!(sum().unwrap().to_vec::<i64>().unwrap(), [9, 12], "on {device}");
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let wait = move || {
            receiver.recv().ok();
            Ok(())
        };
        let busy = queue.submit_host_task(wait, &[]).unwrap();
        array
            .write_elementwise(Op::Add, &[(&array).into(), stridewise::Scalar::I64(10).into()], &[busy])
            .unwrap();
        let later = sum().unwrap();
        drop(sender);
        assert_eq!(later.to_vec::<i64>().unwrap(), [39, 42], "on {device}");
        assert_eq!(sum().unwrap().to_vec::<i64>().unwrap(), [39, 42], "on {device}");
        if array.usm_kind() != UsmKind::Device {
            let view = array.host_view_mut::<i64>().unwrap();
            assert!(matches!(sum(), Err(Error::Borrow(_))), "on {device}");
            drop(view);
            let view = array.host_view::<i64>().unwrap();
            assert_eq!(sum().unwrap().to_vec::<i64>().unwrap(), [39, 42], "on {device}");
            drop(view);
        }
    }
}

/// Where an array's memory begins.
fn place(array: &Array<f32>) -> UsmPtr {
    array.usm_data().unwrap().ptr()
}

#[test]
fn memory_that_a_thread_keeps_is_free_until_it_is_used_again() {
    let a = Array::<f32>::on(&Queue::select("host").unwrap()).arange(0.0, 16.0, 1.0).unwrap();
    a.wait().unwrap();
    let first = &a + &a;
    let start = place(&first);
    assert_eq!(pointer_info(start).bytes, 64);
    let other = first.share();
    drop(first);
    assert_eq!(pointer_info(start).bytes, 64, "another name has it still");
    assert_ne!(place(&(&a * &a)), start);
    drop(other);
    assert_eq!(pointer_info(start).kind, PointerKind::Unknown);
    // The last memory that was given up is the first to be used again, by results of its size.
    let again = &a * &a;
    assert_eq!(place(&again), start);
    assert_eq!(pointer_info(start).bytes, 64);
    assert_eq!(again.to_vec().unwrap()[3], 9.0);
    drop(again);
    let longer = a.broadcast_to([2, 16]).unwrap().copy().unwrap();
    let sum = &longer + &longer;
    assert_ne!(place(&sum), start);
    // A view keeps the memory, too.
    let sum = &a + &a;
    let view = sum.slice(s![3..5]).unwrap();
    let start = place(&sum);
    drop(sum);
    assert_ne!(place(&(&a * &a)), start);
    assert_eq!(view.to_vec().unwrap(), [6.0, 8.0]);
    drop(view);
    assert_eq!(pointer_info(start).kind, PointerKind::Unknown);
    // Given back on demand. Then another test may take it at once, but not again and again.
    let is_free = || {
        let start = place(&(&a + &a));
        a.device().trim_pool(0);
        pointer_info(start).kind == PointerKind::Unknown
    };
    assert!((0..1000).any(|_| is_free()));
    assert_eq!((&a + &a).to_vec().unwrap()[15], 30.0);
}

#[test]
fn memory_with_a_past_is_not_kept() {
    let a = Array::<f32>::on(&Queue::select("host").unwrap()).arange(0.0, 16.0, 1.0).unwrap();
    a.wait().unwrap();
    for past in [
        |x: &Array<f32>| x.usm_data().map(|data| data.forbid_writing()),
        |x: &Array<f32>| x.usm_data().and_then(|data| data.export()).map(drop),
    ] {
        // As many as a thread keeps, and more.
        for _ in 0..40 {
            let sum = &a + &a;
            assert!(sum.flags().writable);
            assert!(!sum.usm_data().unwrap().is_read_only());
            past(&sum).unwrap();
        }
    }
    // Many sizes at once, some of which are kept.
    for round in 0..3 {
        let parts: Vec<_> = (1..=40).map(|len| a.broadcast_to([len, 16]).unwrap().copy().unwrap()).collect();
        let sums: Vec<_> = parts.iter().map(|part| part + part).collect();
        for (k, sum) in sums.iter().enumerate() {
            let wanted = (0..16 * (k + 1)).map(|i| (i % 16) as f32 * 2.0);
            assert!(sum.to_vec().unwrap().into_iter().eq(wanted), "{k} in round {round}");
        }
    }
}

/// An element is read while another thread does small work that writes it: neither stands in the other's way.
#[test]
fn elements_are_read_beside_small_work() {
    let device = Device::select("host").unwrap();
    let all = Array::<i64>::on(&device.queue().unwrap()).zeros([8000]).unwrap();
    let (mut counted, read) = (all.share(), all.slice(s![-1]).unwrap());
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!((0..=20_000).contains(&read.item().unwrap()));
                }
            });
        }
        let failed = (0..20_000).find_map(|_| counted.try_add_assign(1).err());
        over.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(failed.is_none(), "{failed:?}");
    });
    assert_eq!(all.sum().unwrap(), 20_000 * 8000);
}

/// A target that lies on an element which every result needs.
#[test]
fn one_element_below_all_results() {
    for device in devices::devices().iter().filter(|device| device.dtype_support().supports(Dtype::C128)) {
        let queue = device.queue().unwrap();
        let wide = Array::<Complex<f64>>::on(&queue).zeros([2, 10]).unwrap();
        let x = UsmArray::from(wide.slice(s![.., 1..9]).unwrap());
        let memory = UsmArray::empty(&queue, &[1], Dtype::C128, UsmKind::Device).unwrap().usm_data().unwrap();
        let view = |shape: &[usize], dtype| UsmArray::builder(shape).dtype(dtype).buffer(&memory).build();
        let (one, out) = (view(&[1], Dtype::C128).unwrap(), view(&[2, 8], Dtype::Bool).unwrap());
        one.assign(&UsmArray::from(Array::<Complex<f64>>::on(&queue).zeros([1]).unwrap())).unwrap();
        out.write_elementwise(Op::Equal, &[(&x).into(), (&one).into()], &[]).unwrap();
        assert_eq!(out.to_vec::<bool>().unwrap(), [true; 16], "on {device}");
    }
}

#[test]
fn ten_threads_share_operands_and_results() {
    let device = Device::select("host").unwrap();
    let a = Array::<f32>::on(&device.queue().unwrap()).arange(0.0, 100.0, 1.0).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel::<(f32, Array<f32>)>();
    std::thread::scope(|scope| {
        for thread in 0..10_u8 {
            let (a, sender) = (&a, sender.clone());
            scope.spawn(move || {
                let mut own = a.copy().unwrap();
                for round in 0..500_u16 {
                    let factor = f32::from(thread) + f32::from(round);
                    let product = a * factor;
                    own += &product;
                    own -= &product;
                    assert!(
                        own.to_vec().unwrap().into_iter().eq((0_u8..100).map(f32::from)),
                        "in thread {thread}"
                    );
                    // Dropped by another thread, which has others under way.
                    sender.send((factor, product)).unwrap();
                }
            });
        }
        drop(sender);
        for (factor, product) in receiver {
            let sum = &product + &a;
            let wanted = (0_u8..100).map(|i| f32::from(i) * factor + f32::from(i));
            assert!(sum.to_vec().unwrap().into_iter().eq(wanted), "factor {factor}");
        }
    });
}
