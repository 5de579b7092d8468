//! Closures over arrays, parts of arrays, and single elements.

use stridewise::prelude::*;
use stridewise::{Item, Weak};

#[test]
fn closures_over_the_algebra_are_what_operators_are() -> Result<()> {
    for device in stridewise::devices() {
        let queue = device.queue()?;
        let x = Array::<f32>::on(&queue).linspace(-2.0, 2.0, 1025)?;
        let y = x.map(|x| (x * x + 1.0).sqrt() - 2.0 * x);
        assert_eq!(y.to_vec()?, ((&x * &x + 1.0).sqrt() - 2.0 * &x).to_vec()?);
        let clipped = x.map(|x| x.less(0.0).where_(0.0, x));
        assert_eq!(clipped.to_vec()?, x.maximum(0.0).to_vec()?);
        let whole: Array<i32> = x.map(|x| x.round().astype::<i32>() << 1);
        assert_eq!(whole.to_vec()?, (x.round().astype::<i32>() << 1).to_vec()?);
        let (row, column) = (x.slice(s![..5])?, x.slice(s![..3])?.reshape([3, 1])?);
        let sums = row.zip_map(&column, |a, b| a.hypot(b).minimum(1.5) + b);
        assert_eq!(sums.shape(), [3, 5]);
        assert_eq!(sums.to_vec()?, (row.hypot(&column).minimum(1.5) + &column).to_vec()?);
        // Of both, even where a closure looks at one alone.
        assert_eq!(row.zip_map(&column, |a, _| -a).shape(), [3, 5]);
        let mixed = row.zip_map(&row.astype::<i64>(), |a, n| n.greater(-2).where_(a, 0.5));
        assert_eq!(mixed.to_vec()?.len(), 5);
    }
    Ok(())
}

#[test]
fn a_closure_is_recorded_and_its_result_is_new() -> Result<()> {
    let x = Array::<f64>::arange(0.0, 10_000.0, 1.0)?;
    let y = x.map(|x| x * 2.0 + 1.0);
    assert!(y.is_pending());
    let mut same = x.map(|x| x);
    same += 1.0;
    assert_eq!(x.to_vec()?[0], 0.0);
    assert_eq!(y.sum()?, 1e8);
    Ok(())
}

#[test]
fn a_failure_in_a_closure_comes_out() -> Result<()> {
    let x = Array::<f64>::arange(0.0, 3.0, 1.0)?;
    let other = Array::<f64>::on(&Device::select("host")?.queue()?).zeros([3])?;
    if other.queue() != x.queue() {
        assert!(matches!(x.try_zip_map(&other, |a, b| a + b), Err(Error::ExecutionPlacement(_))));
    }
    let four = Array::<f64>::zeros([4])?;
    assert!(matches!(x.try_zip_map(&four, |a, b| a + b), Err(Error::Shape(_))));
    Ok(())
}

#[test]
fn closures_over_plain_elements() -> Result<()> {
    let x = array![[1, 2], [3, 4]].t();
    let texts = x.map_elements(|x| f64::from(x) / 2.0)?;
    assert_eq!((texts.shape(), texts.to_vec()?), (&[2, 2][..], vec![0.5, 1.5, 1.0, 2.0]));
    let sums = x.zip_elements(&array![10_i64, 20], |a, b| i64::from(a) + b)?;
    assert_eq!(sums.to_vec()?, [11, 23, 12, 24]);
    let mut y = x.copy()?;
    y.update_elements(|y| y * y)?;
    assert_eq!(y.to_vec()?, [1, 9, 4, 16]);
    assert!(matches!(x.zip_elements(&array![1, 2, 3], |a, _| a), Err(Error::Shape(_))));
    let far = x.to_kind(UsmKind::Device)?;
    assert!(matches!(far.map_elements(|x| x), Err(Error::HostAccess(_))));
    Ok(())
}

#[test]
fn parts_are_views() -> Result<()> {
    let x = Array::<i32>::arange(0, 24, 1)?.reshape([2, 3, 4])?;
    let middle: Vec<Vec<i32>> = x.axis_iter(1)?.map(|part| part.to_vec()).collect::<Result<_>>()?;
    assert_eq!(middle[1], [4, 5, 6, 7, 16, 17, 18, 19]);
    assert_eq!(x.rows()?.len(), 6);
    assert_eq!(x.rows()?.next_back().map(|row| row.to_vec()).transpose()?, Some(vec![20, 21, 22, 23]));
    let columns: Vec<Vec<i32>> = x.lanes(0)?.map(|lane| lane.to_vec()).collect::<Result<_>>()?;
    assert_eq!((columns.len(), &columns[5][..]), (12, &[5, 17][..]));
    let chunks: Vec<usize> = x.axis_chunks(2, 3)?.map(|chunk| chunk.shape()[2]).collect();
    assert_eq!(chunks, [3, 1]);
    for (number, mut row) in x.rows()?.enumerate().skip(4) {
        row.fill(number as i32)?;
    }
    assert_eq!(x.slice(s![1, 1..])?.to_vec()?, [4, 4, 4, 4, 5, 5, 5, 5]);
    assert_eq!(Array::<f32>::zeros([0, 3])?.axis_iter(0)?.count(), 0);
    assert_eq!(Array::<f32>::zeros([3, 0])?.rows()?.count(), 3);
    assert!(matches!(x.axis_iter(3), Err(Error::Axis(_))));
    assert!(matches!(x.axis_chunks(0, 0), Err(Error::Value(_))));
    assert!(matches!(Array::scalar(1.0)?.rows(), Err(Error::Axis(_))));
    Ok(())
}

#[test]
fn single_elements_are_written() -> Result<()> {
    let mut x = Array::<f32>::zeros([2, 3])?;
    x.set([1, -1], 5.0)?;
    assert_eq!(x.to_vec()?, [0.0, 0.0, 0.0, 0.0, 0.0, 5.0]);
    assert!(matches!(x.set([2, 0], 1.0), Err(Error::OutOfBounds(_))));
    assert!(matches!(x.set([1], 1.0), Err(Error::Axis(_))));
    assert!(matches!(x.broadcast_to([4, 2, 3])?.set([0, 0, 0], 1.0), Err(Error::Borrow(_))));
    Ok(())
}

#[test]
fn the_typed_forms() -> Result<()> {
    let mut sums = Array::<f64>::zeros([3])?;
    sums.add_at(ix![&array![0_i64, 2, 2]], &array![1.0, 10.0, 100.0])?;
    sums.add_at(ix![1], 0.5)?;
    assert_eq!(sums.to_vec()?, [1.0, 0.5, 110.0]);
    let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![5.0, 6.0]);
    assert_eq!(Array::einsum("ij,j->i", &[&a, &b])?.to_vec()?, a.matmul(&b).to_vec()?);
    assert_eq!(b.pad(&[(1, 0)], Padding::Constant(Weak::Int(7)))?.to_vec()?, [7.0, 5.0, 6.0]);
    assert_eq!(array![1.0, 0.0, -1.0].polyval(&b)?.to_vec()?, [24.0, 35.0]);
    assert_eq!(b.average(&array![1.0, 3.0])?, 5.75);
    assert_eq!(a.cov(1.0)?.to_vec()?, [0.5; 4]);
    // Of no more observations than the correction, as NumPy has it.
    assert_eq!(a.cov(3.0)?.to_vec()?, [f64::INFINITY; 4]);
    assert!(Array::<f64>::zeros([2, 0])?.cov(1.0)?.to_vec()?.iter().all(|x| x.is_nan()));
    assert_eq!(array![1_i32, 0, 1].bincount(0)?.to_vec()?, [1, 2]);
    assert_eq!(Array::lexsort(&[&array![2, 1], &array![0, 0]], 0)?.to_vec()?, [1, 0]);
    Ok(())
}

/// So that its name can be used.
#[test]
fn items_can_be_handed_to_functions() -> Result<()> {
    fn smooth(x: Item<'_, f64>) -> Item<'_, f64> {
        x * x * (3.0 - 2.0 * x)
    }
    assert_eq!(array![0.0, 0.5, 1.0].map(smooth).to_vec()?, [0.0, 0.5, 1.0]);
    Ok(())
}
