//! Recorded work and writes: an expression has the values that its operands had when it was written, whoever writes to
//! them afterwards and however. The arrays are large enough not to be computed at once.

use stridewise::prelude::*;

const N: usize = 100;

fn numbers() -> Result<Array<f64>> {
    Array::arange(0.0, (N * N) as f64, 1.0)?.reshape([N, N])
}

fn expected(f: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    (0..N * N).map(|k| f(k / N, k % N)).collect()
}

fn at(i: usize, j: usize) -> f64 {
    (i * N + j) as f64
}

#[test]
fn writes_do_not_reach_back_into_recorded_work() -> Result<()> {
    type Writer = fn(&mut Array<f64>) -> Result<()>;
    let writers: [Writer; 7] = [
        |a| {
            *a += 1.0;
            Ok(())
        },
        |a| a.fill(0.0).map(drop),
        |a| a.slice(s![.., 1..])?.fill(-1.0).map(drop),
        |a| a.assign(&a.t()).map(drop),
        |a| {
            a.view_mut()?.for_each_mut(|x| *x = 7.0);
            Ok(())
        },
        |a| a.usm_data()?.copy_from_host(0, &[0; 800]),
        |a| {
            let b = a.copy()?;
            b.sqrt_into(a).map(drop)
        },
    ];
    for write in writers {
        let mut a = numbers()?;
        let b = &a * 2.0 + 1.0;
        let c = &b - &a;
        assert!(b.is_pending() && c.is_pending());
        write(&mut a)?;
        assert_eq!(b.to_vec()?, expected(|i, j| at(i, j) * 2.0 + 1.0));
        assert_eq!(c.to_vec()?, expected(|i, j| at(i, j) + 1.0));
    }
    Ok(())
}

#[test]
fn views_of_recorded_work_share_it() -> Result<()> {
    let a = numbers()?;
    let mut b = &a + 1.0;
    let (shared, view) = (b.share(), b.t());
    assert!(view.is_pending());
    b += &a;
    assert_eq!(shared.to_vec()?, expected(|i, j| 2.0 * at(i, j) + 1.0));
    assert_eq!(view.to_vec()?, expected(|i, j| 2.0 * at(j, i) + 1.0));
    let c = &a + 2.0;
    c.slice(s![0])?.fill(0.0)?;
    assert_eq!(c.sum()?, expected(|i, j| if i == 0 { 0.0 } else { at(i, j) + 2.0 }).iter().sum());
    Ok(())
}

#[test]
fn operands_may_overlap_what_is_written() -> Result<()> {
    let mut a = numbers()?;
    a.assign(&a.t())?;
    assert_eq!(a.to_vec()?, expected(|i, j| at(j, i)));
    let mut a = numbers()?;
    a += &numbers()?.t();
    let sums = expected(|i, j| at(i, j) + at(j, i));
    assert_eq!(a.to_vec()?, sums);
    let mut a = numbers()?;
    let flipped = a.t();
    a += flipped;
    assert_eq!(a.to_vec()?, sums);
    let a = numbers()?;
    let mut down = a.slice(s![1..])?;
    down *= &a.slice(s![..-1])?;
    assert_eq!(a.to_vec()?, expected(|i, j| if i == 0 { at(i, j) } else { at(i, j) * at(i - 1, j) }));
    let a = numbers()?;
    let mut all = a.share();
    all -= &a.slice(s![0..1])?;
    assert_eq!(a.to_vec()?, expected(|i, j| at(i, j) - at(0, j)), "the row is subtracted as it was");
    let a = numbers()?;
    let mut out = a.flip(..)?;
    a.add_into(&a.t(), &mut out)?;
    assert_eq!(out.to_vec()?, sums);
    Ok(())
}

#[test]
fn one_expression_many_holders() -> Result<()> {
    let a = numbers()?;
    let shared = a.sqrt();
    let (x, y) = (&shared + &shared, &shared * &shared);
    drop(a);
    let total = (&x + &y).sum()?;
    let direct: f64 = expected(|i, j| 2.0 * at(i, j).sqrt() + at(i, j).sqrt() * at(i, j).sqrt()).iter().sum();
    assert!((total - direct).abs() <= 1e-12 * direct);
    assert_eq!(x.to_vec()?, expected(|i, j| 2.0 * at(i, j).sqrt()));
    assert_eq!(shared.to_vec()?, expected(|i, j| at(i, j).sqrt()));
    let mut long = numbers()?;
    for k in 0..100 {
        long = &long + f64::from(k);
    }
    assert_eq!(long.to_vec()?, expected(|i, j| at(i, j) + 4950.0));
    let mut sum = Array::<f64>::zeros([N, N])?;
    let parts: Vec<_> = (0..40).map(|k| numbers().map(|a| a * f64::from(k))).collect::<Result<_>>()?;
    for part in &parts {
        // Not in place, so that all forty are one expression.
        sum = &sum + part;
    }
    assert_eq!(sum.to_vec()?, expected(|i, j| at(i, j) * 780.0));
    Ok(())
}

/// Long expressions whose steps have constants and conversions, which a program has room for no more of than of steps.
#[test]
fn long_expressions_of_every_kind() -> Result<()> {
    let a = numbers()?;
    let mut clipped = a.clone();
    for k in 0..60 {
        clipped = clipped.clip(f64::from(k), 9000.0 - f64::from(k));
    }
    assert_eq!(clipped.to_vec()?, expected(|i, j| at(i, j).clamp(59.0, 8941.0)));
    // Every operand of every other step is converted.
    let (mut wide, mut narrow) = (a.clone(), a.astype::<f32>());
    for k in 0..30 {
        narrow = wide.astype::<f32>() * 0.5_f32;
        wide = (&wide + &narrow.astype::<f64>()) * 0.5 + f64::from(k);
    }
    let mut values = (expected(at), vec![0.0_f32; N * N]);
    for k in 0..30 {
        for (wide, narrow) in values.0.iter_mut().zip(&mut values.1) {
            *narrow = *wide as f32 * 0.5;
            *wide = (*wide + f64::from(*narrow)) * 0.5 + f64::from(k);
        }
    }
    assert_eq!(wide.to_vec()?, values.0);
    assert_eq!(narrow.to_vec()?, values.1);
    let (mut mixed, tests) = (a.astype::<i32>(), a.astype::<u8>());
    for k in 0..40 {
        let small = tests.less(k).astype::<i32>();
        mixed = small.greater(0).where_(&mixed, &(&mixed + &small));
        mixed = &mixed + tests.astype::<i32>();
    }
    assert_eq!(mixed.to_vec()?.len(), N * N);
    Ok(())
}

/// What a reduction computes on the way is stored only where it is asked for again, however far behind the last step it is.
#[test]
fn steps_of_a_reduction_are_computed_on_the_way() -> Result<()> {
    let a = numbers()?;
    let apart = &a - 3.0;
    let squares = apart.square();
    let total = squares.sum()?;
    assert!(apart.is_pending() && squares.is_pending());
    let by_column = squares.sum_axis(0)?;
    assert!(!squares.is_pending());
    let value = |i, j| (at(i, j) - 3.0) * (at(i, j) - 3.0);
    assert_eq!(total, expected(value).iter().sum::<f64>());
    assert_eq!(by_column.to_vec()?, (0..N).map(|j| (0..N).map(|i| value(i, j)).sum()).collect::<Vec<f64>>());
    assert_eq!(apart.to_vec()?, expected(|i, j| at(i, j) - 3.0));
    Ok(())
}

/// A product reads each element of a factor many times, and has it computed once.
#[test]
fn factors_of_a_product_are_computed_first() -> Result<()> {
    let (a, b) = (numbers()?, numbers()? * 0.5);
    let (rows, column) = (&a + 1.0, Array::<f64>::full([N], 2.0)? + 1.0);
    let product = rows.matmul(&b);
    assert!(!rows.is_pending() && !b.is_pending());
    let element = |i: usize, j: usize| (0..N).map(|k| (at(i, k) + 1.0) * at(k, j) * 0.5).sum::<f64>();
    for (found, expected) in product.to_vec()?.iter().zip(expected(element)) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found} {expected}");
    }
    let twice = (&a + 1.0).matmul(&column);
    let element = |i: usize| (0..N).map(|k| (at(i, k) + 1.0) * 3.0).sum::<f64>();
    assert_eq!(twice.to_vec()?, (0..N).map(element).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn a_host_view_lends_its_elements_and_no_others() {
    let mut a = Array::<i32>::zeros([2, 3000]).unwrap();
    let (first, mut second) = (a.slice(s![0, ..]).unwrap(), a.slice(s![1, ..]).unwrap());
    let view = first.view().unwrap();
    second += 1;
    assert!(matches!(first.share().assign(&second), Err(Error::Borrow(_))), "the view's elements");
    assert!(matches!(a.fill(7), Err(Error::Borrow(_))), "some of the view's elements");
    {
        let writing = second.view_mut().unwrap();
        assert!(matches!(a.sum(), Err(Error::Borrow(_))), "elements lent for writing are not read");
        drop(writing);
    }
    assert!(view.iter().all(|&x| x == 0));
    drop(view);
    assert_eq!(a.sum().unwrap(), 3000);
}

/// A reduction of a large array waits for others of the same array, and no longer than its result can tell.
#[test]
fn reductions_of_a_large_array_wait_for_each_other() -> Result<()> {
    // So many that they are not reduced at once on the calling thread.
    const ROWS: usize = 1000;
    // A queue of its own: what another test's thread flushes is another queue's.
    let queue = Queue::new(Queue::default_queue()?.device(), Default::default())?;
    let numbers = || Array::arange(0.0, (ROWS * ROWS) as f64, 1.0)?.to_queue(&queue)?.reshape([ROWS, ROWS]);
    let sums = |plus: f64| -> Vec<f64> {
        let row = |i: usize| (0..ROWS).map(|j| (i * ROWS + j) as f64 + plus).sum();
        (0..ROWS).map(row).collect()
    };
    let largest = |plus: f64| (1..=ROWS).map(|i| (i * ROWS - 1) as f64 + plus).collect::<Vec<_>>();
    let mut a = numbers()?;
    // Each is as alone, and both are done when one is.
    let (sum, max, columns) = (a.sum_axis(1)?, a.max_axis(1)?, a.sum_axis(0)?);
    assert!(!sum.is_pending() && !max.is_pending() && columns.is_pending(), "other axes are another pass");
    drop((sum, max));
    let (sum, max) = (a.sum_axis(1)?, a.max_axis(1)?);
    assert!(!columns.is_pending() && sum.is_pending() && max.is_pending());
    assert_eq!(sum.to_vec()?, sums(0.0));
    assert!(!max.is_pending());
    assert_eq!(max.to_vec()?, largest(0.0));
    assert_eq!(columns.sum()?, sums(0.0).iter().sum());
    // What is written to the array comes later.
    let (sum, max) = (a.sum_axis(1)?, a.max_axis(1)?);
    a += 1.0;
    let after = a.sum_axis(1)?;
    assert_eq!(max.to_vec()?, largest(0.0));
    assert_eq!(after.to_vec()?, sums(1.0));
    assert_eq!(sum.to_vec()?, sums(0.0));
    // As operands, with the array itself, and over all elements; a result that is dropped is not missed.
    let mean = a.mean_axis_keepdims(1)?;
    drop(a.std_axis_keepdims(1, 0.0)?);
    let centred = &a - &mean;
    drop(mean);
    assert_eq!(centred.sum_axis(1)?.to_vec()?, vec![0.0; ROWS]);
    assert_eq!((a.max()?, a.sum()?), ((ROWS * ROWS) as f64, sums(1.0).iter().sum()));
    // What reads the array and what it is reduced to, asked for in every way.
    type Ask = fn(&Queue, &mut Array<f64>, &Array<f64>) -> Result<()>;
    let asked: [Ask; 4] = [
        |_, _, c| c.to_vec().map(drop),
        |queue, _, _| queue.flush(),
        |_, a, _| {
            *a += 1.0;
            Ok(())
        },
        |_, _, c| c.event().map(drop),
    ];
    for ask in asked {
        let mut x = numbers()?;
        let c = (&x - &x.mean_axis_keepdims(1)?) * &x;
        ask(&queue, &mut x, &c)?;
        let mean = |i: usize| sums(0.0)[i] / ROWS as f64;
        let (row, whole) = (mean(7), c.slice(s![7])?.to_vec()?);
        let expected = (0..ROWS).map(|j| (7 * ROWS + j) as f64).map(|x| (x - row) * x);
        assert_eq!(whole, expected.collect::<Vec<_>>());
    }
    // The array outlives its last handle, for as long as a reduction of it waits; the next array's ends that, though the
    // last one recorded is gone.
    let (b, other) = (numbers()?, numbers()?);
    let (sum, max) = (b.sum_axis(1)?, b.max_axis(1)?);
    drop(b.min_axis(1)?);
    assert!(sum.is_pending() && max.is_pending());
    drop(b);
    let next = other.sum_axis(1)?;
    assert!(next.is_pending() && !sum.is_pending() && !max.is_pending());
    assert_eq!(sum.to_vec()?, sums(0.0));
    assert_eq!(max.to_vec()?, largest(0.0));
    queue.flush()?;
    assert!(!next.is_pending());
    Ok(())
}

#[test]
fn operands_that_are_used_twice_count_once() -> Result<()> {
    let (a, b) = (numbers()?, numbers()? * 0.5);
    b.wait()?;
    // As a tree, what six steps do is hundreds of operations.
    let (mut steps, mut y) = (Vec::new(), a.clone());
    let mut values: Vec<f64> = expected(|_, _| 0.25);
    let quarter = Array::full([N, N], 0.25)?;
    quarter.wait()?;
    y = &y * 0.0 + &quarter;
    for _ in 0..8 {
        y = (&y + &b) * (&y - &b) * 1e-9;
        steps.push(y.clone());
        for (k, value) in values.iter_mut().enumerate() {
            let half = k as f64 * 0.5;
            *value = (*value + half) * (*value - half) * 1e-9;
        }
        if steps.len() <= 6 {
            assert!(steps.iter().all(Array::is_pending), "{} steps", steps.len());
        }
    }
    assert_eq!(y.to_vec()?, values);
    let first = expected(|i, j| (0.25 + at(i, j) * 0.5) * (0.25 - at(i, j) * 0.5) * 1e-9);
    assert_eq!(steps[0].to_vec()?, first);
    Ok(())
}

#[test]
fn paths_through_shared_operands_cost_nothing() -> Result<()> {
    // Of 24 doublings there are 2^24 paths, and nobody walks them: not a write, a reduction, or a softmax's stages.
    let a = numbers()?;
    let mut y = &a * 1.0;
    for _ in 0..24 {
        y = &y + &y;
    }
    assert_eq!((&y - &y.max_axis_keepdims(1)?).sum()?, {
        let scale = f64::from(1 << 24);
        expected(|i, j| (at(i, j) - at(i, N - 1)) * scale).iter().sum::<f64>()
    });
    assert_eq!(y.to_vec()?, expected(|i, j| at(i, j) * f64::from(1 << 24)));
    Ok(())
}

#[test]
fn random_expressions_that_share_operands_have_the_values_of_plain_loops() -> Result<()> {
    let mut state = 0x51de_u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for round in 0..24 {
        let mut pool = Vec::new();
        for k in 0..4 {
            let a = numbers()? + f64::from(k);
            a.wait()?;
            pool.push((a, expected(|i, j| at(i, j) + f64::from(k))));
        }
        // Few are held in the first rounds, more than a pass has outputs in the last ones.
        let most = 5 + round;
        for _ in 0..120 {
            let (x, y) = (below(pool.len()), below(pool.len()));
            let turned = below(12) == 0;
            let other = |k: usize| if turned { k % N * N + k / N } else { k };
            let (left, (right, ys)) = (&pool[x], &pool[y]);
            let right = if turned { right.t() } else { right.clone() };
            let new = match below(4) {
                0 => (
                    (&left.0 + &right) * 0.5,
                    expected(|i, j| (left.1[i * N + j] + ys[other(i * N + j)]) * 0.5),
                ),
                1 => (
                    (&left.0 - &right) * 0.5,
                    expected(|i, j| (left.1[i * N + j] - ys[other(i * N + j)]) * 0.5),
                ),
                2 => (left.0.maximum(&right), expected(|i, j| left.1[i * N + j].max(ys[other(i * N + j)]))),
                _ => {
                    (&left.0 * &left.0 * 1e-4, expected(|i, j| left.1[i * N + j] * left.1[i * N + j] * 1e-4))
                }
            };
            drop(right);
            pool.push(new);
            if pool.len() > most {
                pool.swap_remove(below(most - 4));
            }
        }
        for (number, (array, values)) in pool.iter().enumerate() {
            assert_eq!(&array.to_vec()?, values, "round {round}, array {number}");
        }
    }
    Ok(())
}

#[test]
fn what_is_assigned_is_written_once_and_read_from_there() -> Result<()> {
    const N: usize = 40_000;
    let a = Array::<f32>::arange(0.0, N as f32, 1.0)?;
    let queue = a.queue().clone();
    let expected: Vec<f32> = (0..N).map(|k| 2.0 * k as f32 + 1.0).collect();
    let b = Array::<f32>::zeros(N)?;
    let (graph, ()) = queue.capture(|_| {
        let held = &a * 2.0 + 1.0;
        b.share().assign(&held).map(drop)
    })?;
    assert_eq!(graph.len(), 1, "{graph}");
    assert!(!graph.to_string().contains("own"), "nothing but the target is written: {graph}");
    assert_eq!(b.to_vec()?, expected);

    // Whoever holds it sees what it was, whatever becomes of the target and of what it was computed from.
    type Change = fn(&Array<f32>, &Array<f32>) -> Result<()>;
    let changes: [(&str, Change); 8] = [
        ("nothing", |_, _| Ok(())),
        ("a fill", |_, b| b.share().fill(7.0).map(drop)),
        ("in place", |_, b| b.share().assign(&(b * 2.0)).map(drop)),
        ("a part", |_, b| b.slice(s![10..20])?.fill(0.0).map(drop)),
        ("the source", |a, _| a.share().fill(0.0).map(drop)),
        ("both", |a, b| {
            b.share().fill(1.0)?;
            a.share().assign(&(b + 1.0)).map(drop)
        }),
        ("the host", |_, b| {
            b.share().view_mut()?.for_each_mut(|x| *x = 3.0);
            Ok(())
        }),
        ("lent", |_, b| {
            let ptr = b.usm_data()?.export()?;
            assert!(!ptr.is_null());
            b.share().fill(5.0).map(drop)
        }),
    ];
    for (what, change) in changes {
        let (a, b) = (Array::<f32>::arange(0.0, N as f32, 1.0)?, Array::<f32>::zeros(N)?);
        let held = &a * 2.0 + 1.0;
        let above = &held * 10.0;
        b.share().assign(&held)?;
        let later = &held - 1.0;
        change(&a, &b)?;
        assert_eq!(held.to_vec()?, expected, "{what}");
        assert!(above.to_vec()?.iter().zip(&expected).all(|(x, y)| *x == y * 10.0), "{what}");
        assert!(later.to_vec()?.iter().zip(&expected).all(|(x, y)| *x == y - 1.0), "{what}");
    }

    // Twice, into a view, of another dtype, and of what is computed from the target itself.
    let (b, mut c) = (Array::<f32>::zeros(N)?, Array::<f64>::zeros((N, 2))?);
    let held = &a * 2.0 + 1.0;
    b.flip(0)?.assign(&held)?;
    b.share().assign(&held)?;
    c.slice(s![.., 1])?.assign(&held.astype::<f64>())?;
    c *= 2.0;
    assert_eq!((held.to_vec()?, b.to_vec()?), (expected.clone(), expected.clone()));
    assert_eq!(c.get([3, 1])?, 14.0);
    let next = &b + 1.0;
    b.share().assign(&next)?;
    b.share().assign(&(&b + &next))?;
    assert_eq!((next.get(2)?, b.get(2)?), (6.0, 12.0));
    Ok(())
}

#[test]
fn threads_read_what_others_assign_and_overwrite() -> Result<()> {
    const N: usize = 3000;
    let a = Array::<f32>::arange(0.0, N as f32, 1.0)?;
    for round in 0..200 {
        let b = Array::<f32>::zeros(N)?;
        let held = &a * 2.0 + round as f32;
        std::thread::scope(|scope| -> Result<()> {
            let reader = scope.spawn(|| held.to_vec());
            b.share().assign(&held)?;
            b.share().fill(-1.0)?;
            let read = reader.join().unwrap()?;
            assert!(read.iter().enumerate().all(|(k, &x)| x == 2.0 * k as f32 + round as f32));
            Ok(())
        })?;
    }
    Ok(())
}
