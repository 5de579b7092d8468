//! The typed interface on the default device.

use stridewise::prelude::*;

#[test]
fn creation_has_the_values_asked_for() -> Result<()> {
    assert_eq!(Array::<f32>::zeros([2, 3])?.to_vec()?, [0.0; 6]);
    assert_eq!(Array::<u8>::ones([2])?.to_vec()?, [1, 1]);
    assert_eq!(Array::<bool>::ones([2])?.to_vec()?, [true, true]);
    assert_eq!(Array::full([2, 2], Complex::new(1.0_f64, 2.0))?.to_vec()?, [Complex::new(1.0, 2.0); 4]);
    assert_eq!(Array::scalar(7_i16)?.item()?, 7);
    assert_eq!(Array::<i64>::zeros([0, 3])?.to_vec()?, []);
    let a = Array::from_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?;
    assert_eq!((a.shape(), a.get([1, 0])?, a.get([-1, -1])?), (&[2, 3][..], 4, 6));
    assert!(matches!(a.get([2, 0]), Err(Error::OutOfBounds(_))));
    assert!(matches!(a.get([0]), Err(Error::Axis(_))));
    assert!(matches!(Array::from_slice([2, 3], &[1.0]), Err(Error::Shape(_))));
    assert_eq!(array![[1.0, 2.0], [3.0, 4.0]].shape(), [2, 2]);
    assert_eq!(array![[[1, 2], [3, 4], [5, 6]]].shape(), [1, 3, 2]);
    assert_eq!(array![1_u8, 2, 3].to_vec()?, [1, 2, 3]);
    let none: Array<f32> = array![];
    assert_eq!(none.shape(), [0]);
    Ok(())
}

#[test]
fn creators_choose_kind_order_and_queue() -> Result<()> {
    let queue = Queue::default_queue()?;
    for kind in UsmKind::ALL {
        for order in [Order::C, Order::F] {
            let make = Array::<f64>::on(&queue).kind(kind).order(order);
            let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
            let a = make.from_slice([2, 3], &data)?;
            assert_eq!(a.to_vec()?, data);
            assert_eq!(a.usm_kind(), kind);
            assert_eq!(a.strides(), if order == Order::C { [3, 1] } else { [1, 2] });
            assert_eq!(make.arange(0.0, 1.0, 0.25)?.to_vec()?, [0.0, 0.25, 0.5, 0.75]);
            assert_eq!(make.eye(2)?.to_vec()?, [1.0, 0.0, 0.0, 1.0]);
            assert_eq!(make.ones([2])?.to_vec()?, [1.0, 1.0]);
            let like = a.full_like(3.0)?;
            assert_eq!((like.usm_kind(), like.strides()), (kind, a.strides()));
            assert!(make.from_slice([2, 2], &data).is_err());
        }
    }
    Ok(())
}

#[test]
fn eye_places_its_diagonal() -> Result<()> {
    let expected = |rows: usize, columns: usize, k: isize| -> Vec<i32> {
        let at = |i: usize| i32::from((i % columns) as isize - (i / columns) as isize == k);
        (0..rows * columns).map(at).collect()
    };
    for order in [Order::C, Order::F] {
        for (rows, columns) in [(1, 1), (2, 4), (4, 2), (3, 3)] {
            for k in -5..=5 {
                let make = Array::<i32>::on(&Queue::default_queue()?).order(order);
                assert_eq!(make.eye_at(rows, columns, k)?.to_vec()?, expected(rows, columns, k));
            }
        }
    }
    assert_eq!(Array::<f32>::eye(0)?.len(), 0);
    Ok(())
}

#[test]
fn arange_counts_as_the_array_api_says() -> Result<()> {
    assert_eq!(Array::arange(0, 5, 2)?.to_vec()?, [0, 2, 4]);
    assert_eq!(Array::arange(5, 0, -2)?.to_vec()?, [5, 3, 1]);
    assert_eq!(Array::arange(0, 5, -1)?.len(), 0);
    assert_eq!(Array::arange(-128_i8, 127, 100)?.to_vec()?, [-128, -28, 72]);
    assert_eq!(Array::arange(127_i8, -128, -127)?.to_vec()?, [127, 0, -127]);
    assert_eq!(Array::arange(u64::MAX - 2, u64::MAX, 1)?.to_vec()?, [u64::MAX - 2, u64::MAX - 1]);
    assert_eq!(Array::arange(0.0_f32, 1.0, 0.3)?.len(), 4);
    assert_eq!(
        Array::arange(f16::from_f32(0.0), f16::from_f32(2.0), f16::ONE)?.to_vec()?,
        [f16::ZERO, f16::ONE]
    );
    assert!(matches!(Array::arange(0, 5, 0), Err(Error::Value(_))));
    assert!(matches!(Array::arange(0.0, 5.0, f64::NAN), Err(Error::Value(_))));
    assert!(matches!(Array::arange(0.0, f64::INFINITY, 1.0), Err(Error::Overflow(_))));
    assert!(matches!(Array::arange(i64::MIN, i64::MAX, 1), Err(Error::Overflow(_))));
    assert!(Array::arange(0, i64::MAX, 1).is_err());
    Ok(())
}

#[test]
fn linspace_includes_both_ends() -> Result<()> {
    let a = Array::<f32>::linspace(0.0, 0.7, 1001)?.to_vec()?;
    assert_eq!((a[0], a[1000], a.len()), (0.0, 0.7, 1001));
    assert!(a.is_sorted());
    assert_eq!(Array::linspace(2.0, 3.0, 1)?.to_vec()?, [2.0]);
    assert_eq!(Array::linspace(2.0, 3.0, 0)?.len(), 0);
    assert_eq!(Array::linspace(-f64::MAX, f64::MAX, 3)?.to_vec()?, [-f64::MAX, 0.0, f64::MAX]);
    assert_eq!(Array::linspace(1.0, -1.0, 3)?.to_vec()?, [1.0, 0.0, -1.0]);
    Ok(())
}

#[test]
fn statistics_have_three_forms() -> Result<()> {
    let a = array![[1.0_f32, 2.0], [3.0, 6.0]];
    assert_eq!((a.var(0.0)?, a.var_axis(0, 1.0)?.to_vec()?), (3.5, vec![2.0, 8.0]));
    assert_eq!(a.std_axis_keepdims(1, 0.0)?.shape(), [2, 1]);
    assert_eq!(array![1_u8, 3].std(0.0)?, 1.0_f64);
    assert_eq!(array![Complex::new(0.0_f32, 1.0), Complex::new(0.0, -1.0)].var(0.0)?, 1.0_f32);
    assert_eq!(
        (array![3, 4].reduce_hypot()?, array![3.0_f32, -4.0].reduce_hypot_axis(0)?.item()?),
        (5.0, 5.0)
    );
    assert_eq!(array![f64::MAX, 0.0].logsumexp()?, f64::MAX);
    assert_eq!(a.logsumexp_axis(..)?.ndim(), 0);
    assert_eq!((array![0, 5, 0].count_nonzero()?, a.count_nonzero_axis(0)?.to_vec()?), (1, vec![2, 2]));
    assert_eq!((array![200_u8, 100].sum_as::<u8>()?, array![1_u8, 2].mean_as::<f32>()?), (44, 1.5));
    assert_eq!(array![[2_i8, 3]].prod_axis_keepdims_as::<f64>(1)?.to_vec()?, [6.0]);
    Ok(())
}

#[test]
fn scans_and_differences() -> Result<()> {
    let a = array![[1_i32, 2, 3], [4, 5, 6]];
    assert_eq!(a.diff(1)?.to_vec()?, [1, 1, 1, 1]);
    assert_eq!(a.diff_of(0, 1, Some(&array![[0, 0, 0]]), None)?.to_vec()?, [1, 2, 3, 3, 3, 3]);
    assert_eq!(a.cumulative_sum(1)?.to_vec()?, [1_i64, 3, 6, 4, 9, 15]);
    assert_eq!(a.cumulative_prod_initial(0)?.to_vec()?, [1_i64, 1, 1, 1, 2, 3, 4, 10, 18]);
    assert_eq!(a.cumulative_as::<f32>(Scan::Sum, -1, false)?.to_vec()?, [1.0, 3.0, 6.0, 4.0, 9.0, 15.0]);
    assert_eq!(array![0.0_f64].cumulative_logsumexp(0)?.to_vec()?, [0.0]);
    Ok(())
}

#[test]
fn elements_in_other_places() -> Result<()> {
    let a = array![[1, 2, 3], [4, 5, 6]];
    assert_eq!(a.unstack(1)?[2].to_vec()?, [3, 6]);
    assert_eq!(Array::<u8>::zeros([2, 3, 4])?.move_axes([0, 1], [-1, 0])?.shape(), [3, 4, 2]);
    assert_eq!(a.roll(1, 1)?.to_vec()?, [3, 1, 2, 6, 4, 5]);
    assert_eq!(a.roll([1, 1], ..)?.to_vec()?, [6, 4, 5, 3, 1, 2]);
    assert_eq!(a.roll_flat(-2)?.to_vec()?, [3, 4, 5, 6, 1, 2]);
    assert_eq!(a.repeat(2, 0)?.shape(), [4, 3]);
    assert_eq!(a.repeat_each(&array![0_u8, 2], 0)?.to_vec()?, [4, 5, 6, 4, 5, 6]);
    assert_eq!(a.tile([1, 2])?.to_vec()?, [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]);
    assert_eq!(
        (a.tril(0)?.to_vec()?, a.triu(1)?.to_vec()?),
        (vec![1, 0, 0, 4, 5, 0], vec![0, 2, 3, 0, 0, 6])
    );
    let grid = Array::meshgrid(&[&array![1, 2, 3], &array![4, 5]], Indexing::Xy)?;
    assert_eq!(grid[1].to_vec()?, [4, 4, 4, 5, 5, 5]);
    assert_eq!(Array::broadcast_arrays(&[&array![1, 2], &array![[3], [4]]])?[0].to_vec()?, [1, 2, 1, 2]);
    Ok(())
}

#[test]
fn complex_numbers_have_parts() -> Result<()> {
    let z = array![Complex::new(3.0_f32, -4.0), Complex::new(-1.0, 0.0)];
    let (re, im): (Array<f32>, Array<f32>) = (z.real(), z.imag());
    assert_eq!((re.to_vec()?, im.to_vec()?), (vec![3.0, -1.0], vec![-4.0, 0.0]));
    assert_eq!(z.abs().to_vec()?, [5.0_f32, 1.0]);
    assert_eq!(z.angle().to_vec()?[1], std::f32::consts::PI);
    assert_eq!(array![-2_i32, 2].angle().to_vec()?, [std::f64::consts::PI, 0.0]);
    let pole = array![Complex::new(f64::NEG_INFINITY, f64::NAN)].proj().to_vec()?[0];
    assert_eq!(pole.re, f64::INFINITY);
    assert_eq!(array![-3_i8].abs().to_vec()?, [3_i8]);
    let near = array![1.0_f32 + 1e-6, f32::NAN];
    assert_eq!(near.isclose(&array![1.0, f32::NAN], 1e-5, 1e-8, false)?.to_vec()?, [true, false]);
    assert!(near.allclose(&near, 0.0, 0.0, true)?);
    Ok(())
}

#[test]
fn operators_take_arrays_and_values_on_both_sides() -> Result<()> {
    let (a, b) = (array![1.0_f32, 2.0, 3.0], array![4.0, 5.0, 6.0]);
    assert_eq!((&a + &b).to_vec()?, [5.0, 7.0, 9.0]);
    assert_eq!((a.clone() - &b).to_vec()?, [-3.0; 3]);
    assert_eq!((&a * b.clone()).to_vec()?, [4.0, 10.0, 18.0]);
    assert_eq!((b.clone() / a.clone()).to_vec()?, [4.0, 2.5, 2.0]);
    assert_eq!((&a - 1.0).to_vec()?, [0.0, 1.0, 2.0]);
    assert_eq!((1.0 - &a).to_vec()?, [0.0, -1.0, -2.0]);
    assert_eq!((6.0 / a.clone()).to_vec()?, [6.0, 3.0, 2.0]);
    assert_eq!((-&a).to_vec()?, [-1.0, -2.0, -3.0]);
    assert_eq!((&a * &a + 1.0).sqrt().to_vec()?, [2.0_f32.sqrt(), 5.0_f32.sqrt(), 10.0_f32.sqrt()]);
    assert_eq!((&array![1_u8, 255] + 1).to_vec()?, [2, 0]);
    assert_eq!((array![true, false] & true).to_vec()?, [true, false]);
    assert_eq!((!array![true, false]).to_vec()?, [false, true]);
    assert_eq!((!array![0_u8, 15]).to_vec()?, [255, 240]);
    assert_eq!((6_i32 ^ &(array![3, 5] | 8)).to_vec()?, [13, 11]);
    let z = Complex::new(0.0_f32, 1.0);
    assert_eq!((z * &array![z]).to_vec()?, [Complex::new(-1.0, 0.0)]);
    assert_eq!((f16::ONE + &array![f16::ONE]).to_vec()?, [f16::from_f32(2.0)]);
    Ok(())
}

/// The memory of an operand that is given away may become the result's, but only where nobody else has it.
#[test]
fn operators_leave_memory_alone_that_somebody_has() -> Result<()> {
    let fresh = || array![1.0_f32, 2.0, 3.0, 4.0];
    let other = array![10.0_f32, 20.0, 30.0, 40.0];
    type Form = fn(Array<f32>, &Array<f32>) -> Array<f32>;
    let forms: [(Form, [f32; 4]); 7] = [
        (|x, y| x + y, [11.0, 22.0, 33.0, 44.0]),
        (|x, y| y - x, [9.0, 18.0, 27.0, 36.0]),
        (|x, y| y.clone() - x, [9.0, 18.0, 27.0, 36.0]),
        (|x, y| x - y.clone(), [-9.0, -18.0, -27.0, -36.0]),
        (|x, _| x * 2.0, [2.0, 4.0, 6.0, 8.0]),
        (|x, _| 2.0 - x, [1.0, 0.0, -1.0, -2.0]),
        (|x, _| -x, [-1.0, -2.0, -3.0, -4.0]),
    ];
    for (k, (form, expected)) in forms.into_iter().enumerate() {
        let unchanged = |kept: &Array<f32>| -> Result<()> {
            assert_eq!(kept.to_vec()?, [1.0, 2.0, 3.0, 4.0], "form {k}");
            assert_eq!(other.to_vec()?, [10.0, 20.0, 30.0, 40.0], "form {k}");
            Ok(())
        };
        // Nobody else.
        assert_eq!(form(fresh(), &other).to_vec()?, expected, "form {k}");
        // A clone; a view of all, and of a part, of what is given away or is the view.
        let kept = fresh();
        assert_eq!(form(kept.clone(), &other).to_vec()?, expected, "form {k}");
        unchanged(&kept)?;
        assert_eq!(form(kept.slice(s![..])?, &other).to_vec()?, expected, "form {k}");
        unchanged(&kept)?;
        let given = fresh();
        let view = given.reshape([2, 2])?;
        assert_eq!(form(given, &other).to_vec()?, expected, "form {k}");
        unchanged(&view.reshape([4])?)?;
        // Whoever has the memory has its elements.
        let given = fresh();
        let memory = given.usm_data()?;
        assert_eq!(form(given, &other).to_vec()?, expected, "form {k}");
        let mut bytes = [0; 16];
        memory.copy_to_host(0, &mut bytes)?;
        assert_eq!(bytes[4..8], 2.0_f32.to_ne_bytes(), "form {k}");
        // What may not be written is read.
        let mut given = fresh();
        given.set_writable(false);
        assert_eq!(form(given, &other).to_vec()?, expected, "form {k}");
    }
    // The result has the shape of both, and its own order.
    let row = array![1.0_f32, 2.0];
    let grid = array![[1.0_f32, 2.0], [3.0, 4.0]];
    assert_eq!((row + &grid).to_vec()?, [2.0, 4.0, 4.0, 6.0]);
    assert_eq!((grid.t() + grid).to_vec()?, [2.0, 5.0, 5.0, 8.0]);
    Ok(())
}

#[test]
fn operators_broadcast_and_work_in_place() -> Result<()> {
    let rows = array![[1], [2]];
    let mut table = &rows * array![[10, 20, 30]];
    assert_eq!(table.to_vec()?, [10, 20, 30, 20, 40, 60]);
    table += 1;
    table -= &rows;
    table *= array![[1, 2, 3]];
    assert_eq!(table.to_vec()?, [10, 40, 90, 19, 78, 177]);
    let mut out = Array::<i64>::zeros([2, 3])?;
    table.add_into(&rows, &mut out)?.wait()?;
    assert_eq!(out.to_vec()?, [11, 41, 91, 21, 80, 179]);
    let mut mask = array![true, true];
    mask &= array![true, false];
    mask ^= true;
    assert_eq!(mask.to_vec()?, [false, true]);
    let whole = array![1.0, 2.0, 3.0, 4.0];
    let mut tail = whole.slice(s![1..])?;
    tail += &whole.slice(s![..-1])?;
    assert_eq!(whole.to_vec()?, [1.0, 3.0, 5.0, 7.0], "operands are read before they are overwritten");
    Ok(())
}

#[test]
fn failures_are_returned_by_try_and_panic_in_operators() -> Result<()> {
    let (a, b) = (array![1.0, 2.0], array![1.0, 2.0, 3.0]);
    let error = a.try_add(&b).unwrap_err();
    assert!(matches!(error, Error::Shape(_)));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| &a + &b)).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&error.to_string()));
    let other = Queue::new(a.device(), Default::default())?;
    let c = Array::on(&other).ones([2])?;
    assert!(matches!(a.try_mul(&c), Err(Error::ExecutionPlacement(_))));
    assert!(matches!(a.try_minimum(&b), Err(Error::Shape(_))));
    let mut wide = a.broadcast_to([3, 2])?;
    assert!(matches!(wide.try_add_assign(1.0), Err(Error::Borrow(_))));
    let mut short = array![1.0_f32];
    assert!(matches!(short.try_add_assign(&array![1.0, 2.0]), Err(Error::Shape(_))));
    let mut ints = array![1, 2];
    assert!(matches!(a.sqrt_into(&mut ints), Err(Error::Dtype(_))));
    Ok(())
}

#[test]
fn functions_agree_with_rust() -> Result<()> {
    let values = [0.25_f64, 1.0, 2.5];
    let a = array![0.25, 1.0, 2.5];
    let near = |found: Array<f64>, expected: fn(f64) -> f64| -> Result<()> {
        for (found, value) in found.to_vec()?.into_iter().zip(values) {
            let expected = expected(value);
            assert!((found - expected).abs() <= 4e-16 * expected.abs(), "{found} is not {expected}");
        }
        Ok(())
    };
    near(a.sqrt(), f64::sqrt)?;
    near(a.exp(), f64::exp)?;
    near(a.log(), f64::ln)?;
    near(a.sin(), f64::sin)?;
    near(a.cos(), f64::cos)?;
    near(a.tanh(), f64::tanh)?;
    near(a.atan(), f64::atan)?;
    near(a.square(), |x| x * x)?;
    near((-&a).abs(), f64::abs)?;
    near(a.atan2(2.0), |y| y.atan2(2.0))?;
    assert_eq!(a.clip(0.5, 2.0).to_vec()?, [0.5, 1.0, 2.0]);
    assert_eq!(a.minimum(1.0).to_vec()?, [0.25, 1.0, 1.0]);
    assert_eq!(a.maximum(&array![1.0, 0.0, 9.0]).to_vec()?, [1.0, 1.0, 9.0]);
    assert_eq!(a.astype::<i8>().to_vec()?, [0, 1, 2]);
    Ok(())
}

#[test]
fn comparisons_logic_and_selection() -> Result<()> {
    let a = array![1, 2, 3];
    assert_eq!(a.less(2).to_vec()?, [true, false, false]);
    assert_eq!(a.less_equal(2).to_vec()?, [true, true, false]);
    assert_eq!(a.greater(&array![0, 2, 4]).to_vec()?, [true, false, false]);
    assert_eq!(a.greater_equal(2).to_vec()?, [false, true, true]);
    assert_eq!(a.equal(2).to_vec()?, [false, true, false]);
    assert_eq!(a.not_equal(2).to_vec()?, [true, false, true]);
    assert_eq!(array![1.0, f64::NAN].isnan().to_vec()?, [false, true]);
    assert_eq!(
        array![0.0, 2.0, 4.0].logical_and(&array![1.0, 0.0, f64::NAN]).to_vec()?,
        [false, false, true]
    );
    assert_eq!(array![0, 2].logical_or(&array![0, 0]).to_vec()?, [false, true]);
    assert_eq!(array![0_u8, 2].logical_xor(&array![0_u8, 4]).to_vec()?, [false, false]);
    assert_eq!(array![0.0, 0.5].logical_not().to_vec()?, [true, false]);
    assert_eq!(a.less(2).where_(&a, 0).to_vec()?, [1, 0, 0]);
    assert_eq!(a.less(2).where_(1.5_f32, 2.5).to_vec()?, [1.5, 2.5, 2.5]);
    Ok(())
}

#[test]
fn reductions_have_three_forms() -> Result<()> {
    let a = array![[1_u8, 200, 3], [4, 250, 6]];
    let sum: u64 = a.sum()?;
    assert_eq!(sum, 464);
    assert_eq!(a.sum_axis(0)?.to_vec()?, [5, 450, 9]);
    assert_eq!(a.sum_axis_keepdims(-1)?.shape(), [2, 1]);
    assert_eq!(a.sum_axis([0, 1])?.item()?, 464);
    assert_eq!(a.sum_axis(..)?.item()?, 464);
    assert_eq!(a.prod_axis(1)?.to_vec()?, [600, 6000]);
    assert_eq!((a.min()?, a.max()?, a.argmin()?, a.argmax()?), (1, 250, 0, 4));
    assert_eq!(a.argmax_axis(1)?.to_vec()?, [1, 1]);
    assert_eq!(a.mean()?, 464.0 / 6.0);
    assert_eq!(a.mean_axis(1)?.to_vec()?, [68.0, 260.0 / 3.0]);
    assert_eq!(array![1.0_f32, 2.0].mean()?, 1.5_f32);
    assert_eq!(array![true, true].sum()?, 2);
    assert!(a.all()? && a.any()? && !array![0, 1].all()?);
    assert_eq!(array![[0, 1], [1, 1]].all_axis(0)?.to_vec()?, [false, true]);
    assert!(matches!(a.sum_axis(2), Err(Error::Axis(_))));
    assert!(matches!(Array::<f32>::zeros([0])?.max(), Err(Error::Value(_))));
    assert_eq!(Array::<f32>::zeros([0])?.sum()?, 0.0);
    Ok(())
}

#[test]
fn views_share_memory() -> Result<()> {
    let a = array![[1, 2, 3], [4, 5, 6]];
    assert_eq!(a.t().to_vec()?, [1, 4, 2, 5, 3, 6]);
    assert_eq!(a.permute_dims([1, 0])?.shape(), [3, 2]);
    assert_eq!(a.reshape([3, -1])?.to_vec()?, [1, 2, 3, 4, 5, 6]);
    assert_eq!(a.reshape(-1)?.shape(), [6]);
    assert_eq!(a.reshape(a.shape())?.shape(), [2, 3]);
    assert_eq!(a.expand_dims(0)?.squeeze(0)?.shape(), [2, 3]);
    assert_eq!(a.flip(..)?.to_vec()?, [6, 5, 4, 3, 2, 1]);
    assert_eq!(a.flip(1)?.to_vec()?, [3, 2, 1, 6, 5, 4]);
    assert_eq!(a.broadcast_to([2, 2, 3])?.shape(), [2, 2, 3]);
    assert_eq!(a.swap_axes(0, 1)?.shape(), a.move_axis(0, 1)?.shape());
    a.slice(s![.., 1..;2])?.assign(&array![20, 50].reshape([2, 1])?)?;
    a.slice(s![0, 0])?.fill(10)?;
    assert_eq!(a.to_vec()?, [10, 20, 3, 4, 50, 6]);
    let mut b = a.copy()?;
    b.view_mut()?.for_each_mut(|x| *x = -*x);
    assert_eq!(b.view()?[[1, 1]], -50);
    assert_eq!(a.get([1, 1])?, 50);
    assert_eq!(Array::concat(&[&a, &b], 0)?.shape(), [4, 3]);
    assert_eq!(Array::stack(&[&a, &b], -1)?.shape(), [2, 3, 2]);
    Ok(())
}

#[test]
fn types_are_named_where_they_differ() -> Result<()> {
    let untyped: UsmArray = array![1_u8].into();
    let error = Array::<f32>::try_from(untyped).unwrap_err().to_string();
    assert!(error.contains("uint8") && error.contains("float32"), "{error}");
    Ok(())
}

#[test]
fn arrays_select_by_arrays_and_masks() -> Result<()> {
    let mut a = array![[1, 2, 3], [4, 5, 6]];
    let (rows, columns) = (array![1_i64, 0, -1], array![0_u8, 2, 2]);
    assert_eq!(a.index(ix![&rows, &columns])?.to_vec()?, [4, 3, 6]);
    assert_eq!(a.index(ix![.., &columns])?.to_vec()?, [1, 3, 3, 4, 6, 6]);
    assert_eq!(a.index(ix![1..;-1, &columns, NewAxis])?.shape(), [2, 3, 1]);
    assert_eq!(a.index(ix![])?.shape(), [2, 3]);
    assert_eq!(a.take(&columns, Some(1), IndexMode::Check)?.to_vec()?, [1, 3, 3, 4, 6, 6]);
    assert!(matches!(a.take(&columns, Some(0), IndexMode::Check), Err(Error::OutOfBounds(_))));
    assert_eq!(a.take(&columns, Some(0), IndexMode::Wrap)?.get([1, 2])?, 3);
    let places = array![[2_i16, 0], [1, 1]];
    assert_eq!(a.take_along_axis(&places, 1, IndexMode::Check)?.to_vec()?, [3, 1, 5, 5]);
    let large = a.greater(2);
    assert_eq!(a.masked(&large)?.to_vec()?, [3, 4, 5, 6]);
    assert_eq!(a.extract(&large.astype::<i32>())?.to_vec()?, [3, 4, 5, 6]);
    assert_eq!(a.compress(&array![0, 1], Some(0))?.to_vec()?, [4, 5, 6]);
    let places = large.nonzero()?;
    assert_eq!((places[0].to_vec()?, places[1].to_vec()?), (vec![0, 1, 1, 1], vec![2, 0, 1, 2]));
    a.assign_masked(&large, &array![30, 40, 50, 60])?;
    assert_eq!(a.to_vec()?, [1, 2, 30, 40, 50, 60]);
    a.assign_index(ix![0, &columns.slice(s![..2])?], 7)?;
    assert_eq!(a.to_vec()?, [7, 2, 7, 40, 50, 60]);
    a.put(&array![-1_i8], 9, None, IndexMode::Check)?;
    a.put_along_axis(&array![[0_u64], [1]], &array![[5], [6]], 1, IndexMode::Check)?;
    assert_eq!(a.to_vec()?, [5, 2, 7, 40, 6, 9]);
    a.place(&a.greater(5), &array![0, 1])?;
    assert_eq!(a.to_vec()?, [5, 2, 0, 1, 0, 1]);
    Ok(())
}

#[test]
fn arrays_are_sorted_searched_and_multiplied() -> Result<()> {
    let a = array![3.0_f32, f32::NAN, 1.0, 3.0];
    assert_eq!(a.sort(0, false)?.to_vec()?[..3], [1.0, 3.0, 3.0]);
    assert_eq!(a.argsort(-1, true)?.to_vec()?, [0, 3, 2, 1]);
    let (best, places) = a.top_k(2, None, true)?;
    assert_eq!((best.to_vec()?, places.to_vec()?), (vec![3.0, 3.0], vec![0, 3]));
    let table = array![1, 3, 3, 5];
    assert_eq!(table.searchsorted(&array![3, 6], Side::Left)?.to_vec()?, [1, 4]);
    assert_eq!(array![5, 1, 3].searchsorted_by(&array![3], Side::Right, &array![1_u8, 2, 0])?.to_vec()?, [2]);
    let all = array![[5, 1], [5, 7]].unique_all()?;
    assert_eq!(all.values.to_vec()?, [1, 5, 7]);
    assert_eq!((all.indices.to_vec()?, all.counts.to_vec()?), (vec![1, 0, 3], vec![1, 2, 1]));
    assert_eq!((all.inverse_indices.shape(), all.inverse_indices.to_vec()?), (&[2, 2][..], vec![1, 0, 1, 2]));
    assert_eq!(table.unique_values()?.to_vec()?, [1, 3, 5]);
    assert_eq!(table.unique_counts()?.1.to_vec()?, [1, 2, 1]);
    assert_eq!(table.unique_inverse()?.1.to_vec()?, [0, 1, 1, 2]);
    assert_eq!(table.isin(&array![3, 4], false)?.to_vec()?, [false, true, true, false]);
    let (x, y) = (array![[1.0, 2.0], [3.0, 4.0]], array![1.0, 10.0]);
    assert_eq!(x.matmul(&y).to_vec()?, [21.0, 43.0]);
    assert_eq!(y.matmul(&x).to_vec()?, [31.0, 42.0]);
    assert_eq!(x.try_matmul(&x)?.to_vec()?, [7.0, 10.0, 15.0, 22.0]);
    assert!(matches!(x.try_matmul(&array![1.0]), Err(Error::Shape(_))));
    assert_eq!(x.tensordot(&x, 2).item()?, 30.0);
    assert_eq!(x.tensordot(&x, (&[0], &[1])).to_vec()?, [7.0, 15.0, 10.0, 22.0]);
    assert_eq!(y.vecdot(&y, -1).item()?, 101.0);
    assert_eq!(y.outer(&y).to_vec()?, [1.0, 10.0, 10.0, 100.0]);
    assert_eq!(array![1, 0, 0].cross(&array![0, 1, 0], -1).to_vec()?, [0, 0, 1]);
    assert_eq!((x.diagonal(1)?.to_vec()?, x.trace(0)?.item()?), (vec![2.0], 5.0));
    Ok(())
}

#[test]
fn random_numbers_have_a_type() -> Result<()> {
    let mut random = Generator::new(1);
    let dice = random.integers([1000], 1_u8, 7)?.to_vec()?;
    assert!(dice.iter().all(|v| (1..7).contains(v)) && (1..7).all(|v| dice.contains(&v)));
    let unit = random.uniform([2, 500], 0.0_f32, 1.0)?;
    assert!(unit.min()? >= 0.0 && unit.max()? < 1.0);
    assert_eq!(random.counter(), 2000);
    let noise = random.normal([10, 10], 0.0_f64, 1.0)?;
    let mut again = Generator::new(1);
    again.set_counter(2000);
    assert_eq!(again.normal([100], 0.0_f64, 1.0)?.to_vec()?, noise.to_vec()?);
    Ok(())
}

#[test]
fn shapes_are_numbers_arrays_tuples_and_lists() -> Result<()> {
    let zeros = |array: Result<Array<f32>>| array.map(|array| array.shape().to_vec());
    assert!(zeros(Array::zeros(()))?.is_empty() && zeros(Array::zeros([]))?.is_empty());
    for shape in [zeros(Array::zeros(3))?, zeros(Array::zeros((3,)))?, zeros(Array::zeros([3]))?] {
        assert_eq!(shape, [3]);
    }
    let theirs = Array::<u8>::ones((2, 3))?;
    for shape in [
        zeros(Array::full((2, 3), 1.0))?,
        zeros(Array::full([2, 3], 1.0))?,
        zeros(Array::empty(vec![2, 3]))?,
        zeros(Array::empty(theirs.shape()))?,
        zeros(Array::empty(&[2, 3][..]))?,
        zeros(Array::empty(vec![2, 3].into_boxed_slice()))?,
        zeros(Array::empty(stridewise::backend::Dims::from_slice(&[2, 3])))?,
        zeros(Array::from_vec((2, 3), vec![0.0; 6]))?,
        zeros(Generator::new(1).normal((2, 3), 0.0, 1.0))?,
    ] {
        assert_eq!(shape, [2, 3]);
    }
    assert_eq!(zeros(Array::zeros((1, 2, 3, 1, 2, 3)))?, [1, 2, 3, 1, 2, 3]);
    assert_eq!(UsmArray::builder((2, 0)).dtype(Dtype::I8).build()?.shape(), [2, 0]);

    // Where numbers may be negative, those of a tuple may be of several types.
    let rows = 4_usize;
    let a = Array::<i32>::arange(0, 12, 1)?.reshape((rows, -1))?;
    assert_eq!((a.shape(), a.get((-1, 0))?, a.get((rows - 1, 2))?), (&[4, 3][..], 9, 11));
    assert_eq!(a.permute_dims((1, 0))?.shape(), [3, 4]);
    assert_eq!(a.sum_axis((0, 1))?.item()?, 66);
    assert!(matches!(a.reshape((rows, 5)), Err(Error::Shape(_))));
    assert!(matches!(a.get((0,)), Err(Error::Axis(_))));
    Ok(())
}

#[test]
fn collections_become_arrays() -> Result<()> {
    for n in [0_i64, 1, 1000] {
        let numbers: Vec<i64> = (0..n).map(|x| x * x).collect();
        let arrays = [
            numbers.iter().copied().collect::<Array<i64>>(),
            Array::try_from_iter(numbers.iter().copied())?,
            Array::try_from(&*numbers)?,
            Array::try_from(numbers.clone())?,
        ];
        for array in arrays {
            assert_eq!((array.shape(), array.to_vec()?), (&[numbers.len()][..], numbers.clone()));
        }
    }
    let queue = Queue::default_queue()?;
    let on = Array::<f64>::on(&queue).kind(UsmKind::Device).try_from_iter([1.0, 2.0])?;
    assert_eq!((on.usm_kind(), on.to_vec()?), (UsmKind::Device, vec![1.0, 2.0]));

    assert_eq!(Array::try_from([1, 2, 3])?.to_vec()?, [1, 2, 3]);
    let none = Array::try_from([0_u8; 0])?;
    assert_eq!(none.shape(), [0]);
    let table = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let tables = [
        Array::try_from(table)?,
        Array::try_from(table.to_vec())?,
        Array::try_from(vec![table[0].to_vec(), table[1].to_vec()])?,
    ];
    for array in tables {
        assert_eq!((array.shape(), array.to_vec()?), (&[2, 3][..], table.concat()));
    }
    let empty: Vec<Vec<f32>> = Vec::new();
    assert_eq!(Array::try_from(empty)?.shape(), [0, 0]);
    assert_eq!(Array::<f32>::try_from(vec![vec![], vec![]])?.shape(), [2, 0]);
    let error = Array::try_from(vec![vec![1, 2], vec![3, 4], vec![5]]).expect_err("the last row is shorter");
    assert!(matches!(error, Error::Shape(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`rows[2]` is a row of 1 element;") && text.contains("expected 2"), "{text}");
    Ok(())
}

#[test]
fn messages_name_the_letter_and_count_in_words() -> Result<()> {
    let a = array![[1.0, 2.0], [3.0, 4.0]];
    let text = Array::einsum("ij,jk->il", &[&a, &a]).expect_err("there is no axis l").to_string();
    assert!(text.contains("'l' is no axis of an operand"), "{text}");
    let text = Array::einsum("ij->ii", &[&a]).expect_err("an axis of a result is named once").to_string();
    assert!(text.contains("'i' comes twice"), "{text}");
    let text = array![1.0].sum_axis(1).expect_err("there is one axis").to_string();
    assert!(text.contains("from -1 to 0, as the array has 1 dimension;"), "{text}");
    Ok(())
}

#[test]
fn views_are_iterated_by_loops() -> Result<()> {
    for columns in [0_i32, 1, 5] {
        let count = columns.unsigned_abs() as usize;
        let mut a = Array::<i32>::arange(0, 4 * columns, 1)?.reshape((4, count))?;
        let mut turned = a.slice(s![..;-1, ..;2])?.t();
        let expected: Vec<i32> =
            (0..columns).step_by(2).flat_map(|j| (0..4).rev().map(move |i| i * columns + j)).collect();
        let view = turned.view()?;
        let mut seen = Vec::new();
        for &x in &view {
            seen.push(x);
        }
        assert_eq!(seen, expected);
        assert_eq!((view.iter().len(), view.into_iter().count()), (expected.len(), expected.len()));
        drop(view);
        for x in &mut turned.view_mut()? {
            *x = -*x - 1;
        }
        let mut left = turned.view_mut()?;
        assert_eq!(left.iter_mut().len(), expected.len());
        drop(left);
        assert_eq!(turned.to_vec()?, expected.iter().map(|x| -x - 1).collect::<Vec<_>>());
        // What is between them is as it was.
        let odd = a.slice(s![.., 1..;2])?.to_vec()?;
        assert!(odd.iter().all(|&x| x >= 0) && odd.len() == 4 * (count / 2), "{odd:?}");
        a.view_mut()?.iter_mut().for_each(|x| *x = 0);
        assert_eq!(turned.to_vec()?, vec![0; expected.len()]);
    }
    // An iterator goes to another thread, as a reference does.
    let a = array![1.5, 2.5];
    let view = a.view()?;
    let elements = view.iter();
    let sum = std::thread::scope(|scope| scope.spawn(move || elements.sum::<f64>()).join());
    assert_eq!(sum.ok(), Some(4.0));
    Ok(())
}
