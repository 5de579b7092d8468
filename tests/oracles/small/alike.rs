//! Operands that lie as the result does, or are values, which are computed in a way of their own.

use stridewise::prelude::*;
use stridewise::s;

use crate::random::Rng;
use crate::{both, place};

/// Shapes in the order in which they lie, and views of them that lie so, too: at an offset, in column-major order, of more
/// dimensions than are held in place, with extents of 1.
fn views(base: &Array<f64>) -> Result<Vec<Array<f64>>> {
    Ok(vec![
        base.clone(),
        base.slice(s![7..])?,
        base.slice(s![..24])?.reshape([2, 3, 4])?,
        base.slice(s![3..27])?.reshape([4, 6])?.permute_dims([1, 0])?,
        base.slice(s![1..25])?.reshape([2, 1, 3, 2, 2])?,
        base.slice(s![..24])?.reshape([1, 2, 1, 3, 1, 4])?.permute_dims([5, 4, 3, 2, 1, 0])?,
        base.slice(s![5..6])?,
        base.slice(s![5])?,
    ])
}

fn text<T: Element>(array: &Array<T>) -> Result<String> {
    Ok(format!("{:?} {:?}", array.shape(), array.to_vec()?))
}

/// The results of operations of one, two and three operands, arrays and values in every place.
fn results(queue: &Queue, data: &[f64]) -> Result<Vec<String>> {
    let base = Array::<f64>::on(queue).from_slice([data.len()], data)?;
    let mut results = Vec::new();
    for a in views(&base)? {
        let b = (&a + 1.5).copy()?;
        for result in
            [-&a, a.sqrt(), &a - &b, &b - 2.0, 2.0 / &a, a.try_sub(&a)?, a.clone() - &b, &a - b.clone()]
        {
            results.push(text(&result)?);
        }
        let greater = a.greater(&b.flip(..)?);
        for result in [greater.try_where(&a, &b)?, greater.try_where(0.5, &b)?, greater.try_where(&a, -0.0)?]
        {
            results.push(text(&result)?);
        }
        results.push(text(&greater)?);
        results.push(text(&greater.try_where(&greater, true)?)?);
        results.push(text(&(a.greater(1.0) & &greater))?);
        // In place, of itself, and into an operand.
        let mut c = a.copy()?;
        c += &b;
        c *= 3.0;
        c -= &c.clone();
        a.sub_into(&b, &mut c)?;
        b.sub_into(&c.clone(), &mut c)?;
        a.less_into(&b, &mut greater.clone())?;
        results.push(format!("{} {}", text(&c)?, text(&greater)?));
    }
    // Elements of the target, but not the same ones.
    let len = data.len().cast_signed();
    for (from, to) in
        [(s![..-1], s![1..]), (s![1..], s![..-1]), (s![..len / 2], s![len / 4..len / 4 + len / 2])]
    {
        let memory = base.copy()?;
        let part = memory.slice(from)?;
        part.sub_into(&part.copy()?.sqrt(), &mut memory.slice(to)?)?;
        part.mul_into(&part, &mut memory.slice(to)?)?;
        results.push(text(&memory)?);
    }
    Ok(results)
}

/// The same of another dtype, shorter: it differs in its functions and in the size of its elements.
fn typed<T: NumElement>(queue: &Queue, data: &[T]) -> Result<Vec<String>> {
    let a = Array::<T>::on(queue).from_slice([data.len()], data)?;
    let (b, one) = (&a * &a, data[0]);
    let mut c = &b - one;
    c += &a;
    let condition = a.try_equal(&a.flip(..)?)?;
    let untyped = [condition.as_untyped(), a.as_untyped()];
    let chosen = [
        where_(untyped[0], one.to_scalar(), data[1].to_scalar())?,
        elementwise(Op::Where, &[true.to_scalar().into(), untyped[1].into(), one.to_scalar().into()])?,
    ];
    let mut results = vec![text(&b)?, text(&c)?, text(&(-&a))?, text(&condition)?];
    for array in chosen {
        array.write_elementwise(
            Op::Where,
            &[untyped[0].into(), one.to_scalar().into(), data[1].to_scalar().into()],
            &[],
        )?;
        results.push(text(&Array::<T>::try_from(array)?)?);
    }
    let mut filled = c.copy()?;
    filled.assign(one)?;
    filled.slice(s![1..])?.assign(&a.slice(s![1..])?)?;
    results.push(text(&filled)?);
    Ok(results)
}

#[test]
fn operands_that_lie_alike() {
    let mut rng = Rng::new(5);
    for len in [28, 64, 1000] {
        let data: Vec<f64> = (0..len).map(|_| rng.below(1 << 20) as f64 / 1024.0 - 300.0).collect();
        both(&data, results);
        let bytes: Vec<i8> = (0..len).map(|_| rng.next() as i8).collect();
        both(&bytes, typed);
        both(&bytes.iter().map(|&v| f16::from_f32(f32::from(v) / 8.0)).collect::<Vec<_>>(), typed);
        both(&bytes.iter().map(|&v| i64::from(v) << 40).collect::<Vec<_>>(), typed);
        both(&bytes.iter().map(|&v| Complex::new(f64::from(v), 0.5)).collect::<Vec<_>>(), typed);
    }
}

/// What is wrong is told as it is of much work.
#[test]
fn operands_that_do_not_fit() {
    let (a, b) = (Array::<f32>::ones([4]).unwrap(), Array::<f32>::ones([5]).unwrap());
    assert!(matches!(a.try_add(&b), Err(Error::Shape(_))));
    assert!(matches!(a.add_into(&a, &mut b.clone()), Err(Error::Shape(_))));
    let bools = a.greater(0.0);
    assert!(matches!(a.add_into(&a, &mut bools.clone()), Err(Error::Dtype(_))));
    let [a, bools] = [a.as_untyped(), bools.as_untyped()];
    for operands in [&[a.into()][..], &[a.into(), a.into(), a.into()]] {
        assert!(
            matches!(elementwise(Op::Add, operands), Err(Error::Value(_))),
            "{} operands",
            operands.len()
        );
    }
    assert!(matches!(elementwise(Op::Add, &[]), Err(Error::Value(_))));
    let values = [1.0_f32.to_scalar(), 2.0_f32.to_scalar()].map(Into::into);
    assert!(matches!(elementwise(Op::Add, &values), Err(Error::Value(_))));
    assert!(matches!(a.write_elementwise(Op::Add, &values, &[]), Err(Error::Value(_))));
    assert!(matches!(elementwise(Op::Where, &[a.into(), a.into(), a.into()]), Err(Error::Dtype(_))));
    assert!(matches!(
        elementwise(Op::Sqrt, &[bools.into()]).map(|root| root.dtype()),
        Ok(Dtype::F32 | Dtype::F64)
    ));
    assert!(matches!(elementwise(Op::Cast, &[a.into()]), Err(Error::Value(_))));
}

/// A target has the shape that the operands broadcast to, not a larger one.
#[test]
fn results_are_not_repeated_into_a_target() {
    let [row, column, one] = [vec![1, 4], vec![4, 1], vec![1]].map(|s| Array::<f32>::full(s, 2.0).unwrap());
    let mut target = Array::<f32>::zeros([4, 4]).unwrap();
    for (a, b) in [(&row, &row), (&column, &column), (&one, &row), (&one, &one)] {
        assert!(matches!(a.add_into(b, &mut target), Err(Error::Shape(_))));
        assert!(matches!(a.add_into(1.0, &mut target), Err(Error::Shape(_))));
    }
    assert!(matches!(one.sqrt_into(&mut target), Err(Error::Shape(_))));
    assert_eq!(target.to_vec().unwrap(), [0.0; 16]);
    row.mul_into(&column, &mut target).unwrap();
    assert_eq!(target.to_vec().unwrap(), [4.0; 16]);
    // An assignment repeats.
    target.assign(&row).unwrap();
    assert_eq!(target.to_vec().unwrap(), [2.0; 16]);
}

/// An operand that is given away keeps its elements for who else has them.
#[test]
fn operands_that_others_have_are_not_written() {
    let a = Array::from_slice([4], &[1.0_f32, 2.0, 3.0, 4.0]).unwrap();
    let part = a.slice(s![1..]).unwrap();
    assert_eq!((a.clone() * 2.0).to_vec().unwrap(), [2.0, 4.0, 6.0, 8.0]);
    assert_eq!((-a.clone() - &a).to_vec().unwrap(), [-2.0, -4.0, -6.0, -8.0]);
    assert_eq!((a.clone() * a.clone()).to_vec().unwrap(), [1.0, 4.0, 9.0, 16.0]);
    assert_eq!((part.clone() + part).to_vec().unwrap(), [4.0, 6.0, 8.0]);
    assert_eq!(a.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    // Its address is known outside.
    let known = a.copy().unwrap();
    let before = known.usm_data().unwrap().export().unwrap();
    assert_ne!(place(&(known + 1.0_f32)), before);
    // Nobody else has it, also as a view.
    let owned = a.copy().unwrap().slice(s![..;-1]).unwrap().copy().unwrap().slice(s![1..]).unwrap();
    assert_eq!((owned * 2.0).to_vec().unwrap(), [6.0, 4.0, 2.0]);
}

/// A result is in the strongest kind of its operands' memory, whichever of them is given away.
#[test]
fn kinds_of_operands_that_are_given_away() {
    let queue = Queue::default_queue().unwrap();
    let of = |kind| Array::<f32>::on(&queue).kind(kind).ones([4]).unwrap();
    let (host, device) = (|| of(UsmKind::Host), || of(UsmKind::Device));
    assert_eq!((&host() + &device()).usm_kind(), UsmKind::Device);
    for sum in
        [host() + &device(), &host() + device(), host() + device(), device() + host(), device() + &host()]
    {
        assert_eq!(sum.usm_kind(), UsmKind::Device);
        assert_eq!(sum.to_vec().unwrap(), [2.0; 4]);
    }
}
