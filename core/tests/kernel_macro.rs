//! Functions as kernels: each construct of the language, by the rules themselves.

use stridewise_core::kernel::oracle::{self, Argument, Checks, Elements};
use stridewise_core::kernel::{
    Fence, Global, Item, Kernel, Local, MemoryOrder, MemoryScope, NdRange, Private, Rule,
};
use stridewise_core::{Dtype, Element, Error, FloatElement, NumElement, Result, Scalar};
use stridewise_macros::{device_function, kernel};

fn array<T: Element>(shape: &[usize], values: &[T]) -> Argument {
    Argument::Array(Elements {
        shape: shape.to_vec(),
        elements: values.iter().map(|x| x.to_scalar()).collect(),
    })
}
fn values<T: Element>(argument: &Argument) -> Vec<T> {
    match argument {
        Argument::Array(elements) => elements.elements.iter().map(|e| e.get().unwrap()).collect(),
        other => panic!("{other:?}"),
    }
}
fn run(kernel: Result<Kernel>, range: impl Into<NdRange>, arguments: &mut [Argument]) {
    let kernel = kernel.unwrap_or_else(|error| panic!("{error}"));
    oracle::run(&kernel, &range.into(), arguments, Checks::ALL)
        .unwrap_or_else(|error| panic!("{error}\n{kernel}"));
}
fn groups(global: usize, group: usize) -> NdRange {
    NdRange::in_groups(&[global], &[group])
}

/// `y = a x + y`.
#[kernel(crate = stridewise_core)]
fn axpy<T: NumElement>(item: Item<1>, a: T, x: &Global<T>, y: &mut Global<T>) {
    let i = item.global_id(0);
    y[i] += a * x[i];
}

#[test]
fn a_generic_kernel_has_an_instance_for_each_type() {
    let mut floats =
        [Argument::Scalar(Scalar::F32(2.0)), array(&[2], &[1_f32, 2.0]), array(&[2], &[10_f32, 20.0])];
    run(axpy::kernel::<f32>(), [2], &mut floats);
    assert_eq!(values::<f32>(&floats[2]), [12.0, 24.0]);
    let mut ints = [Argument::Scalar(Scalar::I64(3)), array(&[2], &[1_i64, 2]), array(&[2], &[10_i64, 20])];
    run(axpy::kernel::<i64>(), [2], &mut ints);
    assert_eq!(values::<i64>(&ints[2]), [13, 26]);
    let same = |a: Kernel, b: Kernel| a.number() == b.number();
    assert!(same(axpy::kernel::<f32>().unwrap(), axpy::kernel::<f32>().unwrap()));
    assert!(!same(axpy::kernel::<f32>().unwrap(), axpy::kernel::<i64>().unwrap()));
}

#[kernel(crate = stridewise_core)]
fn operators(item: Item<1>, a: &Global<i32>, b: &Global<i32>, out: &mut Global<i32, 2>) {
    let i = item.global_id(0);
    let (x, y) = (a[i], b[i]);
    out[i][0] = x / y;
    out[i][1] = x % y;
    out[[i, 2]] = x + y * 2 - -x;
    out[[i, 3]] = (x & y) | (x ^ 5) | !y;
    out[[i, 4]] = (x << 2) >> (y & 3);
    out[[i, 5]] = (x < y) as i32 + 2 * (x <= y) as i32 + 4 * (x == y) as i32 + 8 * (x != y) as i32;
    out[[i, 6]] = x.min(y).max(-3).abs();
    out[[i, 7]] = (x as f32 / 4.0) as i32;
    out[[i, 8]] = x.div_floor(y) * 100 + x.rem_floor(y);
    let mut sum = x;
    sum += y;
    sum -= 3;
    sum *= 2;
    sum /= 3;
    sum %= 100;
    sum |= 1;
    sum ^= 6;
    sum <<= 1;
    out[[i, 9]] = sum;
}

#[test]
fn operators_are_those_of_rust() {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in [-17, -16, -5, -1, 0, 1, 7, 100] {
        for y in [-7, -4, -1, 1, 3, 8] {
            a.push(x);
            b.push(y);
        }
    }
    let n = a.len();
    let mut arguments = [array(&[n], &a), array(&[n], &b), array(&[n, 10], &vec![0; 10 * n])];
    run(operators::kernel(), [n], &mut arguments);
    let found = values::<i32>(&arguments[2]);
    for (i, (&x, &y)) in a.iter().zip(&b).enumerate() {
        let mut sum: i32 = x;
        sum += y;
        sum -= 3;
        sum *= 2;
        sum /= 3;
        sum %= 100;
        sum |= 1;
        sum ^= 6;
        sum <<= 1;
        let floor = (f64::from(x) / f64::from(y)).floor() as i32;
        let expected = [
            x / y,
            x % y,
            x + y * 2 - -x,
            (x & y) | (x ^ 5) | !y,
            (x << 2) >> (y & 3),
            i32::from(x < y) + 2 * i32::from(x <= y) + 4 * i32::from(x == y) + 8 * i32::from(x != y),
            x.min(y).max(-3).abs(),
            (x as f32 / 4.0) as i32,
            floor * 100 + (x - floor * y),
            sum,
        ];
        assert_eq!(found[10 * i..10 * (i + 1)], expected, "{x} and {y}");
    }
}

#[kernel(crate = stridewise_core)]
fn remainders(item: Item<1>, a: &Global<f64>, out: &mut Global<f64>) {
    let i = item.global_id(0);
    out[i] = a[i] % 0.75;
}

#[test]
fn remainders_of_floats_have_the_sign_of_the_dividend() {
    let a = [-1e-20, -3.5, 2.0, 0.75, f64::INFINITY, 1e300];
    let mut arguments = [array(&[6], &a), array(&[6], &[0_f64; 6])];
    run(remainders::kernel(), [6], &mut arguments);
    for (found, x) in values::<f64>(&arguments[1]).into_iter().zip(a) {
        assert_eq!(found.to_bits() << 1, (x % 0.75).to_bits() << 1, "{x}: {found}");
    }
}

/// The steps of Collatz's sequence, or −1 where there are too many.
#[kernel(crate = stridewise_core)]
fn collatz(item: Item<1>, most: i32, out: &mut Global<i32>) {
    let i = item.global_id(0);
    let mut x = i + 1;
    let mut steps = 0;
    while x != 1 {
        x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
        steps += 1;
        if steps > most {
            out[i] = -1;
            return;
        }
    }
    out[i] = steps;
}

#[kernel(crate = stridewise_core)]
fn loops(item: Item<1>, out: &mut Global<i64, 2>) {
    let i = item.global_id(0);
    let (mut a, mut b, mut c) = (0, 0, 0);
    for k in (0..20).step_by(3) {
        if k == 9 {
            continue;
        }
        if k > 12 + i {
            break;
        }
        a = 10 * a + k;
    }
    for k in (1..4).rev() {
        b = 10 * b + k;
    }
    loop {
        c += 1;
        if c * c > 50 {
            break;
        }
    }
    (a, b) = (b, a);
    let last;
    if i > 0 {
        last = 1;
    } else if i == 0 {
        last = 2;
    } else {
        last = 3;
    }
    out[[i, 0]] = a;
    out[[i, 1]] = b;
    out[[i, 2]] = c;
    out[[i, 3]] = last;
    for _ in 0..i {
        out[[i, 3]] += 10;
    }
}

#[test]
fn control_flow_is_that_of_rust() {
    let mut arguments = [Argument::Scalar(Scalar::I32(50)), array(&[30], &[0_i32; 30])];
    run(collatz::kernel(), [30], &mut arguments);
    let steps = |mut x: i64| {
        let mut steps = 0;
        while x != 1 {
            x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
            steps += 1;
            if steps > 50 {
                return -1;
            }
        }
        steps
    };
    assert_eq!(values::<i32>(&arguments[1]), (1..31).map(steps).collect::<Vec<i32>>());
    let mut arguments = [array(&[2, 4], &[0_i64; 8])];
    run(loops::kernel(), [2], &mut arguments);
    // 0, 3, 6, 12, and 15 is beyond the bound.
    assert_eq!(values::<i64>(&arguments[0]), [321, 372, 8, 2, 321, 372, 8, 11]);
}

#[device_function(crate = stridewise_core)]
fn clamped(x: &Global<f32>, i: i64) -> f32 {
    if i < 0 {
        return 0.0;
    }
    if i < x.len() { x[i] } else { 0.0 }
}
#[device_function(crate = stridewise_core)]
fn mean<T: FloatElement>(x: T, y: T) -> T {
    (x + y) * (0.5 as T)
}
#[device_function(crate = stridewise_core)]
fn put(sums: &mut Private<f32>, at: i64, mut x: f32) {
    x *= WEIGHTS[at];
    sums[at] = x;
}
const WEIGHTS: [f32; 3] = [1.0, 10.0, 100.0];
const SIGNS: [[i32; 2]; 2] = [[1, -1], [-1, 1]];
const OFFSET: usize = 1;

#[kernel(crate = stridewise_core)]
fn neighbours<const SCALE: i32>(
    item: Item<1>,
    x: &Global<f32>,
    y: &mut Global<f32>,
    signs: &mut Global<i32>,
) {
    let i = item.global_id(0);
    let mut sums = [0.0; 3];
    put(&mut sums, 0, clamped(x, i - OFFSET));
    put(&mut sums, 1, clamped(x, i));
    put(&mut sums, 2, clamped(x, i + OFFSET));
    let ends = mean(sums[0], sums[2]);
    const HALF: f32 = 0.5;
    y[i] = (ends + sums[1]) * HALF * (SCALE as f32);
    signs[i] = SIGNS[[i & 1, (i >> 1) & 1]] * SCALE;
}

#[test]
fn functions_constants_and_private_arrays() {
    let mut arguments = [array(&[3], &[1_f32, 2.0, 3.0]), array(&[3], &[0_f32; 3]), array(&[3], &[0_i32; 3])];
    run(neighbours::kernel::<2>(), [3], &mut arguments);
    let expected = |before: f32, x: f32, after: f32| (before + 100.0 * after) * 0.5 + 10.0 * x;
    assert_eq!(
        values::<f32>(&arguments[1]),
        [expected(0.0, 1.0, 2.0), expected(1.0, 2.0, 3.0), expected(2.0, 3.0, 0.0)]
    );
    assert_eq!(values::<i32>(&arguments[2]), [2, -2, -2]);
}

#[kernel(crate = stridewise_core)]
fn private_arrays_begin_anew(item: Item<1>, out: &mut Global<i32>) {
    let i = item.global_id(0);
    for _ in 0..3 {
        let mut count = [[0; 2]; 2];
        count[1][0] += 1;
        let mut other = [7, 8];
        other[0] += 1;
        out[i] += count[[1, 0]] * 100 + other[0];
    }
    let filled = [3; 4];
    out[i] += filled[3];
}

#[test]
fn private_arrays_of_a_loop_begin_anew_in_each_round() {
    let mut arguments = [array(&[2], &[0_i32; 2])];
    run(private_arrays_begin_anew::kernel(), [2], &mut arguments);
    assert_eq!(values::<i32>(&arguments[0]), [327; 2]);
}

/// Reads beyond the array if the second operand is computed where the first one decides.
#[kernel(crate = stridewise_core)]
fn short_circuit(item: Item<1>, x: &Global<i32>, out: &mut Global<bool, 2>) {
    let i = item.global_id(0);
    out[[i, 0]] = i < x.len() && x[i] > 1;
    out[[i, 1]] = i >= x.extent(0) || x[i] > 1;
    out[[i, 2]] = i > 0 && i < 3;
}

#[test]
fn the_second_operand_is_computed_where_it_counts() {
    let mut arguments = [array(&[2], &[1, 2]), array(&[4, 3], &[false; 12])];
    run(short_circuit::kernel(), [4], &mut arguments);
    let expected =
        [[false, false, false], [true, true, true], [false, true, true], [false, true, false]].concat();
    assert_eq!(values::<bool>(&arguments[1]), expected);
}

#[kernel(crate = stridewise_core)]
fn reverse<const N: usize>(item: Item<1>, a: &mut Global<f32>, other: &mut Local<f32>) {
    let (g, l) = (item.global_id(0), item.local_id(0));
    let tile: Local<f32> = Local::new([N]);
    tile[l] = a[g];
    other[l] = 1.0;
    item.barrier();
    a[g] = tile[item.local_range(0) - 1 - l] + other[0];
}

#[kernel(crate = stridewise_core)]
fn counts(item: Item<1>, x: &Global<u8>, bins: &mut Global<u32>, sums: &mut Global<i64, 2>) {
    let (i, l) = (item.global_linear_id(), item.local_linear_id());
    let own: Local<u32> = Local::new([4]);
    if l < 4 {
        own[l].atomic_store(0);
    }
    item.barrier_of(Fence::LOCAL);
    own[x[i] & 3].fetch_add(1);
    item.barrier();
    if l < 4 {
        bins[l].fetch_add(own[l], MemoryOrder::AcqRel, MemoryScope::Device);
    }
    sums[[i, 0]] = item.reduce_sum(i);
    sums[[i, 1]] = item.exclusive_sum(l);
    sums[[i, 2]] = item.broadcast(i, 1);
    sums[[i, 3]] = if item.any(l == 2) && !item.all(l == 2) { 1 } else { 0 };
    item.fence(MemoryOrder::SeqCst, MemoryScope::Device);
}

#[test]
fn items_of_a_group_work_together() {
    let mut arguments = [array(&[6], &[1_f32, 2.0, 3.0, 4.0, 5.0, 6.0]), Argument::Local(vec![3])];
    run(reverse::kernel::<3>(), groups(6, 3), &mut arguments);
    assert_eq!(values::<f32>(&arguments[0]), [4.0, 3.0, 2.0, 7.0, 6.0, 5.0]);
    let x = [0_u8, 1, 5, 7, 3, 2, 1, 0];
    let mut arguments = [array(&[8], &x), array(&[4], &[0_u32; 4]), array(&[8, 4], &[0_i64; 32])];
    run(counts::kernel(), groups(8, 4), &mut arguments);
    assert_eq!(values::<u32>(&arguments[1]), [2, 3, 1, 2]);
    let sums = values::<i64>(&arguments[2]);
    assert_eq!(sums[4 * 3..4 * 4], [6, 3, 1, 1]);
    assert_eq!(sums[4 * 4..4 * 5], [22, 0, 5, 1]);
}

#[kernel(crate = stridewise_core)]
fn functions(item: Item<2>, x: &Global<f64, 2>, out: &mut Global<f64, 2>) {
    let (i, j) = (item.global_id(0), item.global_id(1));
    assert!(i < x.extent(0), "a row");
    let y = x[[i, j]].sqrt().exp().ln().sin().hypot(1.0).clamp(0.5, 2.0);
    out[[i, j]] = (y.is_nan() || y > std::f64::consts::FRAC_PI_2).select(-1.0, y.powf(2.0));
}

#[test]
fn functions_of_numbers() {
    let x = [0.0_f64, 1.0, 4.0, -1.0];
    let mut arguments = [array(&[2, 2], &x), array(&[2, 2], &[0_f64; 4])];
    run(functions::kernel(), [2, 2], &mut arguments);
    for (found, x) in values::<f64>(&arguments[1]).into_iter().zip(x) {
        let y = x.sqrt().exp().ln().sin().hypot(1.0).clamp(0.5, 2.0);
        let expected = if y.is_nan() || y > std::f64::consts::FRAC_PI_2 { -1.0 } else { y * y };
        assert!((found - expected).abs() < 1e-12, "{x}: {found}, {expected}");
    }
}

#[kernel(crate = stridewise_core)]
fn out_of_bounds(item: Item<1>, x: &Global<i32>, out: &mut Global<i32>) {
    let i = item.global_id(0);
    let near = x[i];
    out[i] = near + x[i + 1]; // This line, and the column of the array.
}
const OUT_OF_BOUNDS: u32 = line!() - 2;

#[kernel(crate = stridewise_core)]
fn divergent(item: Item<1>, out: &mut Global<i32>) {
    if item.local_id(0) == 0 {
        item.barrier();
        out[0] = 1;
    }
}
const DIVERGENT: u32 = line!() - 4;

#[device_function(crate = stridewise_core)]
fn endless(x: f32) -> f32 {
    endless(x)
}
#[kernel(crate = stridewise_core)]
fn recursive(item: Item<1>, out: &mut Global<f32>) {
    out[item.global_id(0)] = endless(1.0);
}

#[test]
fn errors_name_the_place_in_the_source() {
    let kernel = out_of_bounds::kernel().unwrap();
    let mut arguments = [array(&[2], &[1, 2]), array(&[2], &[0, 0])];
    let error = oracle::run(&kernel, &[2].into(), &mut arguments, Checks::ALL).unwrap_err();
    let Error::Kernel(found) = error else { panic!("{error}") };
    assert_eq!(
        (found.rule, found.at.line, found.at.column),
        (Rule::OutOfBounds, OUT_OF_BOUNDS, 21),
        "{found}"
    );
    assert!(found.at.file.ends_with("kernel_macro.rs"), "{found}");

    let Err(Error::Kernel(found)) = divergent::kernel() else { panic!("it is refused") };
    assert_eq!((found.rule, found.at.line), (Rule::UniformControl, DIVERGENT), "{found}");

    let Err(Error::Kernel(found)) = recursive::kernel() else { panic!("it is refused") };
    assert_eq!(found.rule, Rule::Recursion, "{found}");
}

#[test]
fn parameters_are_those_of_the_function() {
    let kernel = reverse::kernel::<3>().unwrap();
    assert_eq!((kernel.name(), kernel.form().dims, kernel.form().parameters.len()), ("reverse", 1, 2));
    let text = kernel.to_string();
    assert!(text.contains("tile"), "{text}");
    let x = &axpy::kernel::<f32>().unwrap().form().objects[0].clone();
    assert_eq!((x.name.as_str(), x.dtype, x.memory.is_writable()), ("x", Dtype::F32, false));
}
