use stridewise::*;
fn arr(d: &[f32], shape: &[usize]) -> UsmArray {
    UsmArray::from_slice(&Queue::default_queue().unwrap(), shape, d, UsmKind::Shared).unwrap()
}
#[test]
fn chain() {
    let n = 5000;
    let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x = arr(&a, &[n]);
    let y = x.binary(Op::Multiply, &x).unwrap();
    let z = y.binary(Op::Add, Weak::from(1.0)).unwrap().unary(Op::Sqrt).unwrap();
    assert!(z.is_pending() && y.is_pending());
    let v = z.to_vec::<f32>().unwrap();
    assert!(!y.is_pending(), "held intermediate is an extra output");
    for i in 0..n {
        assert_eq!(v[i], (a[i] * a[i] + 1.0).sqrt());
    }
    assert_eq!(y.to_vec::<f32>().unwrap()[3], 9.0);
    let s = x.binary(Op::Multiply, &x).unwrap().reduce(Reduction::Sum, None, false).unwrap();
    assert!(s.item().unwrap().to_f64() > 1e10);
}
#[test]
fn inplace_and_views() {
    let x = arr(&(0..6000).map(|i| i as f32).collect::<Vec<_>>(), &[2, 3000]);
    let pending = x.binary(Op::Add, Weak::from(1.0)).unwrap();
    assert!(pending.is_pending());
    x.write_elementwise(Op::Multiply, &[(&x).into(), Weak::from(2.0).into()], &[]).unwrap();
    assert_eq!(pending.to_vec::<f32>().unwrap()[5], 6.0);
    assert_eq!(x.to_vec::<f32>().unwrap()[5], 10.0);
    let row = x.slice(s![0, ..]).unwrap();
    let dst = row.slice(s![1..]).unwrap();
    dst.assign(&row.slice(s![..-1]).unwrap()).unwrap();
    assert_eq!(&row.to_vec::<f32>().unwrap()[..4], &[0.0, 0.0, 2.0, 4.0]);
    let m = x.reduce(Reduction::Max, Some(&[1]), true).unwrap();
    assert_eq!(m.shape(), &[2, 1]);
    let c = concat(&[&x, &x.t().t(), &m], Some(1)).unwrap();
    assert_eq!(c.shape(), &[2, 6001]);
    assert_eq!(c.slice(s![-1, -1]).unwrap().item().unwrap(), Scalar::F32(11998.0));
    let d = x.to_kind(UsmKind::Device).unwrap();
    assert!(d.host_view::<f32>().is_err());
    let q2 = Queue::new(x.device(), Default::default()).unwrap();
    let other = d.to_queue(&q2).unwrap();
    println!("{}", d.binary(Op::Add, &other).unwrap_err());
    let view = x.host_view::<f32>().unwrap();
    println!("{}", x.assign(Weak::from(1.0)).unwrap_err());
    drop(view);
    x.assign(Weak::from(1.0)).unwrap();
    println!("{:?} {:?}", x, pointer_info(x.usm_data().unwrap().ptr().byte_offset(100)));
    let mean = x.binary(Op::Add, &m).unwrap().reduce(Reduction::Mean, Some(&[0]), false).unwrap();
    assert_eq!(mean.shape(), &[3000]);
    println!("{:?} {}", mean.slice(s![0]).unwrap().item().unwrap(), Device::select("gpu").unwrap_err());
    x.queue().wait().unwrap();
    println!("{:?}", x.device().pool_statistics());
    let i = x.astype(Dtype::I16).unwrap().binary(Op::Less, Weak::from(100000)).unwrap();
    assert_eq!(i.reduce(Reduction::All, None, false).unwrap().item().unwrap(), Scalar::Bool(true));
}
