//! Sorts, searches, gathers and scatters of arrays on every OpenCL device of the machine, against loops.

use stridewise_core::{Array, Device, IndexMode, Queue, Side, devices};

stridewise_core::register_driver!(stridewise_opencl::driver);

fn queues() -> impl Iterator<Item = Queue> {
    let opencl = |device: &Device| device.info().backend == "opencl";
    devices().into_iter().filter(opencl).map(|device| device.queue().unwrap())
}

/// Numbers that look random, few enough that many are equal.
fn numbers(len: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as i32 % 5000
    };
    (0..len).map(|_| next() as f32 / 16.0 - 100.0).collect()
}

fn array(queue: &Queue, shape: &[usize], data: &[f32]) -> Array<f32> {
    Array::<f32>::on(queue).from_slice(shape, data).unwrap()
}

#[test]
fn rows_of_all_lengths_are_sorted() {
    for queue in queues() {
        // An interpreter takes its time.
        let most = if queue.device().info().name.contains("Oclgrind") { 4097 } else { 100_003 };
        for (rows, len) in [(1, 1), (100, 3), (3, 255), (2, 1000), (2, 4097), (1, most)] {
            let data = numbers(rows * len);
            let x = array(&queue, &[rows, len], &data);
            for descending in [false, true] {
                let (values, places) = (x.sort(-1, descending).unwrap(), x.argsort(-1, descending).unwrap());
                let (values, places) = (values.to_vec().unwrap(), places.to_vec().unwrap());
                for row in 0..rows {
                    let data = &data[row * len..][..len];
                    let mut order: Vec<usize> = (0..len).collect();
                    order.sort_by(|&a, &b| {
                        let order = data[a].total_cmp(&data[b]);
                        if descending { order.reverse() } else { order }
                    });
                    for (i, &place) in order.iter().enumerate() {
                        assert_eq!(places[row * len + i], place as i64);
                        assert_eq!(values[row * len + i], data[place]);
                    }
                }
            }
        }
    }
}

#[test]
fn the_last_of_what_is_written_to_a_place_stays() {
    for queue in queues() {
        for len in [1_usize, 33, 1000, 20_000] {
            let places: Vec<i64> = numbers(len).iter().map(|x| (x.abs() as i64 * 7) % 100).collect();
            let data = numbers(4 * len);
            let mut target = Array::<f32>::on(&queue).zeros([100, 4]).unwrap();
            let values = array(&queue, &[len, 4], &data);
            let indices = Array::<i64>::on(&queue).from_slice([len], &places).unwrap();
            target.put(&indices, &values, Some(0), IndexMode::Clip).unwrap();
            let mut expected = vec![0.0; 400];
            for (i, &place) in places.iter().enumerate() {
                expected[4 * place as usize..][..4].copy_from_slice(&data[4 * i..][..4]);
            }
            assert_eq!(target.to_vec().unwrap(), expected);
            let back = target.take(&indices, Some(0), IndexMode::Clip).unwrap().to_vec().unwrap();
            for (i, &place) in places.iter().enumerate() {
                assert_eq!(back[4 * i..][..4], expected[4 * place as usize..][..4]);
            }
        }
    }
}

#[test]
fn places_in_a_table_are_found() {
    for queue in queues() {
        let mut table = numbers(1000);
        table.sort_by(f32::total_cmp);
        let needles = numbers(3000);
        let (x, y) = (array(&queue, &[1000], &table), array(&queue, &[3000], &needles));
        let (left, right) =
            (x.searchsorted(&y, Side::Left).unwrap(), x.searchsorted(&y, Side::Right).unwrap());
        let (left, right) = (left.to_vec().unwrap(), right.to_vec().unwrap());
        for (i, needle) in needles.iter().enumerate() {
            assert_eq!(left[i], table.partition_point(|x| x < needle) as i64);
            assert_eq!(right[i], table.partition_point(|x| x <= needle) as i64);
        }
    }
}

/// How long things take, for a look at by hand: `--ignored --nocapture`.
#[test]
#[ignore = "measures, and checks nothing: run with cargo test --release -p stridewise-opencl --test moving -- --ignored --nocapture"]
fn timings() {
    for queue in queues() {
        println!("{}", queue.device());
        let time = |name: &str, elements: usize, run: &dyn Fn()| {
            run();
            queue.wait().unwrap();
            let best = (0..3)
                .map(|_| {
                    let start = std::time::Instant::now();
                    run();
                    queue.wait().unwrap();
                    start.elapsed()
                })
                .min()
                .unwrap_or_default();
            let rate = elements as f64 / best.as_secs_f64() / 1e6;
            println!("{name:40} {best:>12.3?} {rate:>10.1} Melements/s");
        };
        let most = if queue.device().info().device_type == stridewise_core::backend::DeviceType::Cpu {
            1 << 20
        } else {
            1 << 24
        };
        for len in [3, 64, 1000, 2048, 4096, 1 << 16, 1 << 20, 1 << 24] {
            if len > most {
                continue;
            }
            let x = array(&queue, &[most / len, len], &numbers(most / len * len));
            let x = &x;
            let elements = most / len * len;
            time(&format!("sort float32 {} x {len}", most / len), elements, &|| {
                x.sort(-1, false).unwrap().event().unwrap();
            });
            let y = x.astype::<f64>();
            time(&format!("argsort float64 {} x {len}", most / len), elements, &|| {
                y.argsort(-1, false).unwrap().event().unwrap();
            });
        }
        let x = array(&queue, &[most], &numbers(most));
        let places: Vec<i64> = (0..most as i64).map(|i| i * 7919 % most as i64).collect();
        let places = Array::<i64>::on(&queue).from_slice([most], &places).unwrap();
        time("take float32, everywhere", most, &|| {
            x.take(&places, None, IndexMode::Clip).unwrap().event().unwrap();
        });
        time("put float32, everywhere", most, &|| {
            x.share().put(&places, &(&x + 1.0), None, IndexMode::Clip).unwrap();
        });
        let table = array(&queue, &[1 << 16], &numbers(1 << 16)).sort(0, false).unwrap();
        time("searchsorted float32 in 65536", most, &|| {
            table.searchsorted(&x, Side::Left).unwrap().event().unwrap();
        });
    }
}
