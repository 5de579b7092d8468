//! First.
use stridewise_core::*;
stridewise_core::register_driver!(stridewise_opencl::driver);
#[test]
fn add() {
    for device in devices() {
        println!("{device:?} {:?}", device.info());
        let queue = device.queue().unwrap();
        let a = Array::<f32>::on(&queue).arange(0.0, 1000.0, 1.0).unwrap();
        let b = (&a * &a + 1.0).sqrt();
        let v = b.to_vec().unwrap();
        assert_eq!(v[3], 10f32.sqrt());
        let t0 = std::time::Instant::now();
        let n = 2000;
        for _ in 0..n {
            let c = &a + &a;
            c.event().unwrap();
        }
        println!("{:?} per add", t0.elapsed() / n);
        queue.wait().unwrap();
        println!("{:?} per add", t0.elapsed() / n);
    }
}
