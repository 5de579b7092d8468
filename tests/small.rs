//! Small work, which may be done while it is submitted, gives the bits that a submission gives. On an in-order queue
//! everything is submitted.

mod devices;
mod random;

use random::Rng;
use stridewise::backend::QueueProperties;
use stridewise::prelude::*;
use stridewise::s;

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
    T: FloatElement + Reducible<Sum = T, Mean = T>,
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
            let greater = a.greater(b);
            results.push(format!("{:?}", greater.to_vec()?));
        }
        results.push(format!("{:?}: {:?}", a.strides(), a.sqrt().to_vec()?));
        results.push(format!("{:?}", [a.sum()?, a.mean()?, a.prod()?, a.max()?, a.min()?]));
    }
    Ok(results)
}

fn compare<T>(mut element: impl FnMut(&mut Rng) -> T)
where
    T: FloatElement + Reducible<Sum = T, Mean = T>,
{
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let len = 8 * rng.pick(&[1, 2, 3, 17, 100, 128]);
        let data: Vec<T> = (0..len).map(|_| element(&mut rng)).collect();
        for device in devices::devices() {
            if !device.dtype_support().supports(T::DTYPE) {
                continue;
            }
            let properties = QueueProperties { in_order: true, ..QueueProperties::default() };
            let (open, ordered) = (device.queue().unwrap(), Queue::new(&device, properties).unwrap());
            let (at_once, submitted) = (results(&open, &data).unwrap(), results(&ordered, &data).unwrap());
            assert_eq!(at_once, submitted, "{len} elements on {device}");
        }
    }
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
