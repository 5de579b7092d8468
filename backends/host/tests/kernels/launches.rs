//! Launches through the scheduler: layouts, recorded work, order, failures, and what is refused.

use stridewise_core::kernel::{Argument, Coordinate::*, Fence, Kernel, KernelBuilder, Level::*, NdRange};
use stridewise_core::{Array, Device, Dtype, Error, Op, Queue, Result, UsmKind, s};
use stridewise_host::device_with;

use super::{array, queues};

/// `out[i, j] = a[i, j] + scale · b[i, j]`.
fn scaled_sum() -> Kernel {
    let build = || -> Result<Kernel> {
        let mut k = KernelBuilder::new("scaled_sum", 2)?;
        let (a, b) = (k.global("a", Dtype::F64, 2, false)?, k.global("b", Dtype::F64, 2, false)?);
        let out = k.global("out", Dtype::F64, 2, true)?;
        let scale = k.scalar("scale", Dtype::F64)?;
        let (i, j) = (k.index(Global, Id(0))?, k.index(Global, Id(1))?);
        let (x, y) = (k.load(a, [i, j])?, k.load(b, [i, j])?);
        let y = k.binary(Op::Multiply, y, scale)?;
        let sum = k.binary(Op::Add, x, y)?;
        k.store(out, [i, j], sum)?;
        k.finish()
    };
    build().unwrap()
}

fn grid(queue: &Queue, rows: usize, columns: usize) -> Array<f64> {
    let values: Vec<f64> = (0..rows * columns).map(|i| i as f64).collect();
    Array::on(queue).kind(UsmKind::Shared).from_slice([rows, columns], &values).unwrap()
}

#[test]
fn arguments_have_any_layout() {
    let kernel = scaled_sum();
    for queue in queues() {
        let a = grid(queue, 70, 40).t();
        let b = grid(queue, 40, 140).slice(s![..; -1, ..; -2]).unwrap();
        let out = grid(queue, 80, 70);
        let target = out.slice(s![..; 2, ..; -1]).unwrap();
        let row = grid(queue, 1, 70).broadcast_to([40, 70]).unwrap();
        let expected = (&a + &b * 3.0).to_vec().unwrap();
        let arguments: [Argument<'_>; 4] = [(&a).into(), (&b).into(), (&target).into(), 3.into()];
        kernel.launch(queue, [40, 70], &arguments, &[]).unwrap();
        assert_eq!(target.to_vec().unwrap(), expected);
        // Between the target's rows nothing is written.
        assert_eq!(out.slice(s![1.., ..]).unwrap().to_vec().unwrap()[0], 70.0);
        let expected = (&a + &row * 3.0).to_vec().unwrap();
        let arguments: [Argument<'_>; 4] = [(&a).into(), (&row).into(), (&target).into(), 3.into()];
        kernel.launch(queue, [40, 70], &arguments, &[]).unwrap();
        assert_eq!(target.to_vec().unwrap(), expected);
    }
}

#[test]
fn launches_keep_the_order_of_work() {
    let kernel = scaled_sum();
    for queue in queues() {
        let (n, m) = (300, 200);
        // Recorded, and not run yet: the kernel's operands, and who reads what it overwrites.
        let a = grid(queue, n, m) + 1.0;
        let b = &a * 2.0;
        let out = grid(queue, n, m);
        let before = &out + 0.5;
        let mut last = Vec::new();
        for round in 0..5 {
            let arguments: [Argument<'_>; 4] = [(&a).into(), (&b).into(), (&out).into(), round.into()];
            let event = kernel.launch(queue, [n, m], &arguments, &last).unwrap();
            last = vec![event];
            let arguments: [Argument<'_>; 4] = [(&out).into(), (&b).into(), (&a).into(), 1.into()];
            kernel.launch(queue, [n, m], &arguments, &[]).unwrap();
        }
        // a, b = 2(i + 1), a = a + round · b + b.
        let (mut x, y) = (2.0, 4.0);
        for round in 0..5 {
            x = x + f64::from(round) * y + y;
        }
        assert_eq!(a.to_vec().unwrap()[1], x);
        assert_eq!(before.to_vec().unwrap()[7], 7.5);
    }
}

#[test]
fn a_failure_travels_through_a_kernel() {
    let kernel = scaled_sum();
    for queue in queues() {
        let (a, out) = (grid(queue, 20, 30), grid(queue, 20, 30));
        let failed =
            queue.submit_host_task(|| Err(Error::task("test", "a failure", "none", "none")), &[]).unwrap();
        let arguments: [Argument<'_>; 4] = [(&a).into(), (&a).into(), (&out).into(), 1.into()];
        let event = kernel.launch(queue, [20, 30], &arguments, &[failed]).unwrap();
        assert!(matches!(event.wait(), Err(Error::Dependency(_))));
        // What it might have written is not there.
        assert!(matches!(out.to_vec(), Err(Error::Dependency(_))));
        // And who writes a part of that only does not mend it.
        let event = kernel.launch(queue, [1, 1], &arguments, &[]).unwrap();
        assert!(matches!(event.wait(), Err(Error::Dependency(_))));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let kernel = scaled_sum();
    let queue = &queues()[0];
    let a = grid(queue, 4, 5);
    let out = grid(queue, 4, 5);
    let launch = |arguments: &[Argument<'_>]| kernel.launch(queue, [4, 5], arguments, &[]).unwrap_err();
    let a_ = || Argument::from(&a);
    assert!(matches!(launch(&[a_(), a_(), (&out).into()]), Error::Value(_)));
    assert!(matches!(launch(&[a_(), a_(), 1.into(), 1.into()]), Error::Value(c) if c.argument == "out"));
    assert!(
        matches!(launch(&[a_(), a_(), (&out).into(), Argument::Local(vec![1])]), Error::Value(c) if c.argument == "scale")
    );
    let single = array(queue, &[1.0_f32]);
    let error = launch(&[(&single).into(), a_(), (&out).into(), 1.into()]);
    assert!(matches!(&error, Error::Dtype(c) if c.argument == "a"), "{error}");
    let flat = array(queue, &[1.0_f64]);
    assert!(
        matches!(launch(&[a_(), (&flat).into(), (&out).into(), 1.into()]), Error::Axis(c) if c.argument == "b")
    );
    let repeated = flat.broadcast_to([4, 5]).unwrap();
    let error = launch(&[a_(), a_(), (&repeated).into(), 1.into()]);
    assert!(matches!(&error, Error::Borrow(c) if c.argument == "out"), "{error}");
    let mut locked = out.clone();
    locked.set_writable(false);
    assert!(matches!(launch(&[a_(), a_(), (&locked).into(), 1.into()]), Error::Borrow(_)));
    kernel.launch(queue, [4, 5], &[(&locked).into(), a_(), (&out).into(), 1.into()], &[]).unwrap();
    let other = Device::from_backend(device_with(None, 1).unwrap()).queue().unwrap();
    let elsewhere = grid(&other, 4, 5);
    assert!(matches!(
        launch(&[a_(), (&elsewhere).into(), (&out).into(), 1.into()]),
        Error::ExecutionPlacement(_)
    ));
    // Who looks at the elements keeps the kernel from writing them.
    let view = out.as_untyped().host_view::<f64>().unwrap();
    assert!(matches!(launch(&[a_(), a_(), (&out).into(), 1.into()]), Error::Borrow(_)));
    drop(view);
    let arguments = [a_(), a_(), (&out).into(), 1.into()];
    let most = queue.device().info().limits.max_work_group_size;
    let large = NdRange::in_groups(&[2, most], &[2, most]);
    assert!(matches!(kernel.launch(queue, large, &arguments, &[]), Err(Error::Value(_))));
    kernel.launch(queue, [0, 5], &arguments, &[]).unwrap().wait().unwrap();
}

#[test]
fn local_memory_has_a_limit() {
    let queue = &queues()[0];
    let build = || -> Result<Kernel> {
        let mut k = KernelBuilder::new("local", 1)?;
        let tile = k.local_argument("tile", Dtype::F64, 1)?;
        let l = k.index(Local, Id(0))?;
        k.store(tile, [l], 1)?;
        k.barrier(Fence::LOCAL);
        k.finish()
    };
    let kernel = build().unwrap();
    kernel.launch(queue, [4], &[Argument::Local(vec![4])], &[]).unwrap().wait().unwrap();
    for len in [1 << 30, usize::MAX] {
        let error = kernel.launch(queue, [4], &[Argument::Local(vec![len])], &[]).unwrap_err();
        assert!(matches!(&error, Error::Value(c) if c.argument == "local memory"), "{error}");
    }
}
