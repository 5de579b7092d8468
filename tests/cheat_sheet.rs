//! The right-hand columns of Rust's tables in `docs/site/coming-from.md`: what is written there compiles, and means what the
//! left-hand columns mean.

use stridewise::prelude::*;

fn sample() -> Array<f32> {
    array![[0.0, 1.0, 4.0], [9.0, 16.0, 25.0]]
}

#[test]
fn coming_from_numpy_creation() -> Result<()> {
    assert_eq!(array![[1, 2], [3, 4]].to_vec()?, [1, 2, 3, 4]);
    assert_eq!(Array::<f32>::zeros([2, 3])?.to_vec()?, [0.0; 6]);
    let shared = Array::<f64>::on(&Device::select("cpu")?.queue()?).kind(UsmKind::Shared).zeros([2, 3])?;
    assert_eq!((shared.usm_kind(), shared.to_vec()?), (UsmKind::Shared, vec![0.0; 6]));
    assert_eq!(Array::<i64>::arange(0, 10, 2)?.to_vec()?, [0, 2, 4, 6, 8]);
    assert_eq!(Array::<f64>::linspace(0.0, 1.0, 5)?.to_vec()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    Ok(())
}

#[test]
fn coming_from_numpy_views() -> Result<()> {
    let a = sample();
    assert_eq!((a.shape(), a.strides()), (&[2, 3][..], &[3, 1][..]));
    assert_eq!(a.slice(s![1.., ..;-1])?.to_vec()?, [25.0, 16.0, 9.0]);
    let row = a.slice(s![1, NewAxis, Ellipsis])?;
    assert_eq!((row.shape(), row.to_vec()?), (&[1, 3][..], vec![9.0, 16.0, 25.0]));
    assert_eq!(a.t().to_vec()?, [0.0, 9.0, 1.0, 16.0, 4.0, 25.0]);
    assert_eq!(a.reshape([3, 2])?.get([1, 0])?, 4.0);
    assert_eq!(a.flip(0)?.get([0, 0])?, 9.0);
    assert_eq!(a.broadcast_to([4, 2, 3])?.get([3, 1, 2])?, 25.0);
    Ok(())
}

#[test]
fn coming_from_numpy_arithmetic() -> Result<()> {
    let (mut a, b) = (sample(), sample());
    assert_eq!((&a + &b).to_vec()?, (2.0 * &a).to_vec()?);
    let mut c = a.zeros_like()?;
    a.add_into(&b, &mut c)?;
    assert_eq!(c.to_vec()?, [0.0, 2.0, 8.0, 18.0, 32.0, 50.0]);
    assert_eq!(a.sqrt().to_vec()?, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(array![1.0_f32].atan2(&array![0.0]).to_vec()?, [std::f32::consts::FRAC_PI_2]);
    assert_eq!(a.clip(0.0, 1.0).to_vec()?, [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let m = a.less(&(&b * 0.0 + 5.0));
    assert_eq!(m.to_vec()?, [true, true, true, false, false, false]);
    assert_eq!(m.where_(&a, &c).to_vec()?, [0.0, 1.0, 4.0, 18.0, 32.0, 50.0]);
    assert_eq!(a.astype::<f64>().to_vec()?, [0.0, 1.0, 4.0, 9.0, 16.0, 25.0]);
    a += &b;
    assert_eq!(a.to_vec()?, c.to_vec()?);
    Ok(())
}

#[test]
fn coming_from_numpy_statistics() -> Result<()> {
    let a = sample();
    assert_eq!((a.median()?, a.nanmean()?), (6.5, 55.0 / 6.0));
    assert_eq!(a.quantile_axis(0, 0.5, QuantileMethod::Linear)?.to_vec()?, [4.5, 8.5, 14.5]);
    let (counts, edges) = a.histogram(5, None)?;
    assert_eq!(
        (counts.to_vec()?, edges.to_vec()?),
        (vec![3, 1, 0, 1, 1], vec![0.0, 5.0, 10.0, 15.0, 20.0, 25.0])
    );
    assert_eq!(array![1, 3, 1].bincount(0)?.to_vec()?, [0, 2, 0, 1]);
    assert_eq!(a.digitize(&array![1.0, 10.0], false)?.to_vec()?, [0, 1, 1, 1, 2, 2]);
    assert_eq!(a.gradient(0, 1.0)?.to_vec()?, [9.0, 15.0, 21.0, 9.0, 15.0, 21.0]);
    let windows = a.sliding_window_view(&[2], Some(&[1]))?;
    assert_eq!((windows.shape(), windows.get([1, 1, 0])?), (&[2, 2, 2][..], 16.0));
    Ok(())
}

#[test]
fn coming_from_numpy_reductions_and_places() -> Result<()> {
    let (a, b) = (sample(), sample());
    assert_eq!(a.sum()?, 55.0);
    assert_eq!(a.max_axis(0)?.to_vec()?, [9.0, 16.0, 25.0]);
    assert_eq!(a.mean_axis_keepdims([0, 1])?.shape(), [1, 1]);
    assert_eq!((a.std_axis(0, 1.0)?.get([0])?, a.count_nonzero()?), (40.5_f32.sqrt(), 5));
    assert_eq!(b.sort(0, Sort::descending())?.to_vec()?, [9.0, 16.0, 25.0, 0.0, 1.0, 4.0]);
    assert_eq!(b.sort(0, Sort::ascending())?.to_vec()?, b.sort(0, false)?.to_vec()?);
    assert_eq!(b.argsort(-1, Sort::descending())?.to_vec()?, [2, 1, 0, 2, 1, 0]);
    assert_eq!(a.cumulative_sum(0)?.to_vec()?, [0.0, 1.0, 4.0, 9.0, 17.0, 29.0]);
    assert_eq!(a.diff(-1)?.to_vec()?, [1.0, 3.0, 7.0, 9.0]);
    assert_eq!(a.roll(1, 0)?.to_vec()?, [9.0, 16.0, 25.0, 0.0, 1.0, 4.0]);
    assert_eq!((a.repeat(2, 1)?.shape(), a.tile([1, 2])?.shape()), (&[2, 6][..], &[2, 6][..]));
    let z = array![Complex::new(0.0_f32, 2.0)];
    assert_eq!((z.real().item()?, z.angle().item()?), (0.0, std::f32::consts::FRAC_PI_2));
    assert!(a.allclose(&b, 1e-5, 1e-8, false)?);
    assert_eq!(Array::concat(&[&a, &b], 1)?.shape(), [2, 6]);
    assert_eq!(Array::stack(&[&a, &b], 0)?.shape(), [2, 2, 3]);
    assert_eq!(a.device(), a.queue().device());
    assert_eq!(a.to_device(&Device::select("cpu")?)?.to_vec()?, a.to_vec()?);
    assert_eq!(a.view()?.to_vec(), a.to_vec()?);
    Ok(())
}

#[test]
fn coming_from_numpy_sums() -> Result<()> {
    let (a, b) = (sample(), sample());
    let (i, v) = (array![1_i64, 1, 0], array![1.0_f32, 2.0, 4.0]);
    let mut sums = Array::<f32>::zeros([2])?;
    sums.add_at(ix![&i], &v)?;
    assert_eq!(sums.to_vec()?, [4.0, 3.0]);
    let mut greatest = Array::<f32>::zeros([2])?;
    greatest.maximum_at(ix![&i], &v)?;
    assert_eq!(greatest.to_vec()?, [4.0, 2.0]);
    assert_eq!(i.group_by()?.mean(v.as_untyped())?.to_vec::<f32>()?, [4.0, 1.5]);
    assert_eq!(Array::einsum("ij,kj->ik", &[&a, &b])?.to_vec()?, a.matmul(&b.t()).to_vec()?);
    assert_eq!(a.pad(&[(1, 1), (1, 1)], Padding::Edge)?.shape(), [4, 5]);
    let (x, y) = (array![1.0, 2.0, 3.0], array![0.0, 1.0]);
    assert_eq!(x.convolve(&y, Overlap::Same)?.to_vec()?, [0.0, 1.0, 2.0]);
    assert_eq!(x.average(&array![0.0, 1.0, 3.0])?, 2.75);
    assert_eq!(a.cov(1.0)?.shape(), [2, 2]);
    assert_eq!(Array::lexsort(&[&x, &array![1.0, 1.0, 0.0]], -1)?.to_vec()?, [2, 0, 1]);
    let mut r = Generator::new(7);
    assert_eq!(r.normal([5], 0.0, 1.0)?.shape(), [5]);
    assert!(r.poisson([5], 4.0)?.min()? >= 0);
    Ok(())
}

#[cfg(feature = "npy")]
#[test]
fn coming_from_numpy_files() -> Result<()> {
    let path = std::env::temp_dir().join(format!("stridewise-cheat-sheet-{}.npy", std::process::id()));
    sample().save_npy(&path)?;
    let read = Array::<f32>::load_npy(&path)?;
    // Files are mapped for the processor.
    if read.device().filter_string().starts_with("host") {
        let mapped = Array::<f32>::map_npy(&path, stridewise::MapMode::ReadWrite)?;
        assert_eq!(mapped.to_vec()?, sample().to_vec()?);
        mapped.flush_file()?;
        let start = std::fs::metadata(&path).map_or(0, |file| file.len() - 24);
        let a = Array::<f32>::map_file(&path, stridewise::MapMode::Read, start, Some(&[2, 3]))?;
        assert_eq!(a.to_vec()?, sample().to_vec()?);
    }
    std::fs::remove_file(&path).expect("the file that was just written");
    assert_eq!(read.to_vec()?, sample().to_vec()?);
    Ok(())
}

#[test]
fn coming_from_ndarray() -> Result<()> {
    let mut a = Array::from_vec([2, 3], vec![0.0_f32, 1.0, 4.0, 9.0, 16.0, 25.0])?;
    let (shared, value, copy) = (a.share(), a.clone(), a.copy()?);
    a.fill(7.0)?;
    assert_eq!((shared.get([1, 2])?, value.get([1, 2])?, copy.get([1, 2])?), (7.0, 25.0, 25.0));
    assert_eq!((&copy * 2.0).sum_axis(0)?.to_vec()?, [18.0, 34.0, 58.0]);
    assert_eq!(copy.mean()?, 55.0 / 6.0);
    assert_eq!(
        (Vec::try_from(&copy)?, Vec::<f32>::try_from(copy.copy()?)?),
        (copy.to_vec()?, copy.to_vec()?)
    );
    assert_eq!(
        (copy.slice(s![1])?.to_vec()?, copy.slice(s![.., 1])?.to_vec()?),
        (vec![9.0, 16.0, 25.0], vec![1.0, 16.0])
    );
    assert_eq!(copy.map(|x| x.maximum(5.0)).to_vec()?, copy.maximum(5.0).to_vec()?);
    assert_eq!(copy.map(|x| x * x + 1.0).to_vec()?, copy.map_elements(|x| x * x + 1.0)?.to_vec()?);
    for mut row in a.rows()? {
        row.fill(1.0)?;
    }
    assert_eq!(a.axis_iter(0)?.len(), 2);
    a.set([1, 2], 7.0)?;
    assert_eq!(a.to_vec()?, [1.0, 1.0, 1.0, 1.0, 1.0, 7.0]);
    let view = copy.view()?;
    assert_eq!(view.iter().count(), 6);
    assert_eq!(view.as_slice().map(<[f32]>::len), Some(6));
    Ok(())
}

#[cfg(feature = "ndarray")]
#[test]
fn coming_from_ndarray_and_going_back() -> Result<()> {
    let ours = sample();
    let theirs = ours.to_ndarray()?;
    assert_eq!(Array::try_from(&theirs)?.to_vec()?, ours.to_vec()?);
    let mut lent = Array::<f32>::on(&Queue::select("host")?).zeros([2, 3])?;
    lent.view_mut()?.as_ndarray_mut()?.assign(&theirs);
    assert_eq!(lent.view()?.as_ndarray()?, theirs);
    Ok(())
}
