//! Transforms and decompositions by libraries: the stub's compute, so that what is handed to them is seen to be right.

use std::f64::consts::TAU;

use stridewise_core::backend::{Language, Routine, RoutineKind, Source};
use stridewise_core::kernel::KernelBundle;
use stridewise_core::memory::UsmMemory;
use stridewise_core::{Dtype, Error, Event, Queue, Result, UsmKind};
use stridewise_cuda_stub::Stub;

use crate::scenario::{QUEUES, check};
use crate::setup::{devices, gone, of_the_driver, watched};

/// Memory with numbers of a dtype's parts.
fn memory(queue: &Queue, double: bool, numbers: &[f64]) -> Result<UsmMemory> {
    let bytes: Vec<u8> = match double {
        true => numbers.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        false => numbers.iter().flat_map(|x| (*x as f32).to_ne_bytes()).collect(),
    };
    let memory = UsmMemory::new(UsmKind::Device, bytes.len(), queue)?;
    memory.copy_from_host(0, &bytes)?;
    Ok(memory)
}

fn numbers(memory: &UsmMemory, double: bool) -> Result<Vec<f64>> {
    let bytes = memory.to_bytes()?;
    Ok(match double {
        true => bytes.as_chunks().0.iter().map(|x| f64::from_ne_bytes(*x)).collect(),
        false => bytes.as_chunks().0.iter().map(|x| f64::from(f32::from_ne_bytes(*x))).collect(),
    })
}

fn run(queue: &Queue, routine: Routine, arguments: &[&UsmMemory]) -> Result<Event> {
    let text = routine.to_string();
    let bundle = KernelBundle::compile(queue, Source::new(Language::ROUTINES, text.as_bytes()), "")?;
    let arguments: Vec<_> = arguments.iter().map(|memory| (*memory).into()).collect();
    bundle.kernel("run")?.call(queue, &arguments, &[])
}

/// Numbers that have no pattern.
fn given(len: usize) -> Vec<f64> {
    (0..len).map(|i| ((i * 37 + 11) % 23) as f64 - 11.0).collect()
}

/// Transforms of two rows there and back.
pub(crate) fn transforms(queue: &Queue) -> Result<()> {
    for (n, double) in [(6, true), (7, false)] {
        let (half, count) = (n / 2 + 1, 2);
        let dtype = if double { Dtype::C128 } else { Dtype::C64 };
        let routine = |kind| Routine { kind, dtype, m: n, n: 1, count };
        let close = |got: &[f64], expected: &[f64], what: &str| {
            let near =
                got.iter().zip(expected).all(|(x, y)| (x - y).abs() < if double { 1e-9 } else { 1e-3 });
            check(
                got.len() == expected.len() && near,
                format!("{what} of {n}: {got:?}, expected {expected:?}"),
            )
        };
        let values = given(2 * n * count);
        let input = memory(queue, double, &values)?;
        let output = memory(queue, double, &vec![0.0; 2 * n * count])?;
        run(queue, routine(RoutineKind::Forward), &[&input, &output])?;
        let element = |row: usize, k: usize| {
            let mut sum = [0.0; 2];
            for at in 0..n {
                let [re, im] = [0, 1].map(|part| values[2 * (row * n + at) + part]);
                let (sin, cos) = (-TAU * (at * k) as f64 / n as f64).sin_cos();
                sum = [sum[0] + re * cos - im * sin, sum[1] + re * sin + im * cos];
            }
            sum
        };
        let expected: Vec<f64> = (0..n * count).flat_map(|i| element(i / n, i % n)).collect();
        close(&numbers(&output, double)?, &expected, "a transform")?;
        run(queue, routine(RoutineKind::Inverse), &[&output, &input])?;
        let scaled = |values: &[f64]| values.iter().map(|x| x * n as f64).collect::<Vec<_>>();
        close(&numbers(&input, double)?, &scaled(&values), "its inverse")?;

        let values = given(n * count);
        let real = memory(queue, double, &values)?;
        let spectrum = memory(queue, double, &vec![0.0; 2 * half * count])?;
        run(queue, routine(RoutineKind::FromReal), &[&real, &spectrum])?;
        run(queue, routine(RoutineKind::ToReal), &[&spectrum, &real])?;
        close(&numbers(&real, double)?, &scaled(&values), "a transform of real numbers and its inverse")?;
    }
    Ok(())
}

/// Two triangles, of which the second is none.
pub(crate) fn decompositions(queue: &Queue) -> Result<()> {
    let routine = Routine { kind: RoutineKind::Cholesky, dtype: Dtype::F64, m: 2, n: 2, count: 2 };
    let matrices = memory(queue, true, &[4.0, 2.0, 2.0, 5.0, -1.0, 0.0, 0.0, 1.0])?;
    let info = UsmMemory::new(UsmKind::Device, 8, queue)?;
    run(queue, routine, &[&matrices, &info])?.wait()?;
    let got = numbers(&matrices, true)?;
    check([got[0], got[1], got[3]] == [2.0, 1.0, 2.0], format!("{got:?}"))?;
    let told = info.to_bytes()?;
    check(told == [0_i32, 1].map(i32::to_ne_bytes).concat(), format!("{told:?}"))
}

/// A matrix of doubles, column after column.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    values: Vec<f64>,
}

impl Matrix {
    fn new(rows: usize, values: Vec<f64>) -> Self {
        Self { rows, values }
    }
    fn columns(&self) -> usize {
        self.values.len() / self.rows
    }
    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[column * self.rows + row]
    }
    fn made(rows: usize, columns: usize, of: impl Fn(usize, usize) -> f64) -> Self {
        Self::new(rows, (0..rows * columns).map(|i| of(i % rows, i / rows)).collect())
    }
    fn times(&self, other: &Self) -> Self {
        Self::made(self.rows, other.columns(), |i, j| {
            (0..self.columns()).map(|k| self.at(i, k) * other.at(k, j)).sum()
        })
    }
    fn transposed(&self) -> Self {
        Self::made(self.columns(), self.rows, |i, j| self.at(j, i))
    }
    fn is_near(&self, other: &Self, double: bool, what: &str) -> Result<()> {
        let most = if double { 1e-10 } else { 1e-2 };
        let near = self.values.iter().zip(&other.values).all(|(x, y)| (x - y).abs() < most);
        check(near && self.values.len() == other.values.len(), what)
    }
}

/// Every decomposition, on a card whose library is installed.
pub(crate) fn decompose(queue: &Queue) -> Result<()> {
    for (dtype, double) in [(Dtype::F64, true), (Dtype::F32, false)] {
        let (m, n) = (12, 7);
        let routine = |kind, m, n| Routine { kind, dtype, m, n, count: 1 };
        let put = |values: &[f64]| memory(queue, double, values);
        let empty = |len: usize| put(&vec![0.0; len]);
        let get =
            |rows: usize, memory: &UsmMemory| Ok::<_, Error>(Matrix::new(rows, numbers(memory, double)?));
        let info = UsmMemory::new(UsmKind::Device, 4, queue)?;
        let well = || check(info.to_bytes()? == [0; 4], "a decomposition that fails");
        let tall = Matrix::new(m, given(m * n));

        let square = Matrix::made(m, m, |i, j| tall.at((i + j) % m, j % n) + if i == j { 60.0 } else { 0.0 });
        let sides = Matrix::new(m, given(2 * m));
        let (a, b) = (put(&square.values)?, put(&sides.values)?);
        let pivots = UsmMemory::new(UsmKind::Device, 8 * m, queue)?;
        run(queue, routine(RoutineKind::Lu, m, m), &[&a, &pivots, &info])?;
        well()?;
        run(queue, routine(RoutineKind::Solve, m, 2), &[&a, &pivots, &b, &info])?;
        square.times(&get(m, &b)?).is_near(&sides, double, "solutions")?;

        let (a, factors) = (put(&tall.values)?, empty(n)?);
        run(queue, routine(RoutineKind::Qr, m, n), &[&a, &factors, &info])?;
        well()?;
        let both = get(m, &a)?;
        let r = Matrix::made(n, n, |i, j| if i <= j { both.at(i, j) } else { 0.0 });
        run(queue, routine(RoutineKind::Basis, m, n), &[&a, &factors, &info])?;
        well()?;
        let q = get(m, &a)?;
        q.times(&r).is_near(&tall, double, "Q times R")?;
        let one = Matrix::made(n, n, |i, j| f64::from(u8::from(i == j)));
        q.transposed().times(&q).is_near(&one, double, "Q's columns")?;

        let symmetric = tall.transposed().times(&tall);
        let symmetric = Matrix::made(n, n, |i, j| symmetric.at(i, j) / 100.0);
        let (a, values) = (put(&symmetric.values)?, empty(n)?);
        run(queue, routine(RoutineKind::Eigen, n, n), &[&a, &values, &info])?;
        well()?;
        let (vectors, values) = (get(n, &a)?, numbers(&values, double)?);
        let scaled = Matrix::made(n, n, |i, j| vectors.at(i, j) * values[j]);
        symmetric.times(&vectors).is_near(&scaled, double, "eigenvectors")?;
        let (a, alone) = (put(&symmetric.values)?, empty(n)?);
        run(queue, routine(RoutineKind::Eigenvalues, n, n), &[&a, &alone, &info])?;
        get(n, &alone)?.is_near(&Matrix::new(n, values), double, "eigenvalues")?;

        for (kind, columns) in [(RoutineKind::SingularThin, n), (RoutineKind::SingularFull, m)] {
            let (a, s, u, v) = (put(&tall.values)?, empty(n)?, empty(m * columns)?, empty(n * n)?);
            run(queue, routine(kind, m, n), &[&a, &s, &u, &v, &info])?;
            well()?;
            let (s, u, v) = (numbers(&s, double)?, get(m, &u)?, get(n, &v)?);
            let scaled = Matrix::made(m, n, |i, j| u.at(i, j) * s[j]);
            scaled.times(&v).is_near(&tall, double, "singular vectors")?;
            let (a, alone) = (put(&tall.values)?, empty(n)?);
            run(queue, routine(RoutineKind::SingularValues, m, n), &[&a, &alone, &info])?;
            get(n, &alone)?.is_near(&Matrix::new(n, s), double, "singular values")?;
        }
    }
    Ok(())
}

fn program() -> Result<bool> {
    let Some(device) = devices().into_iter().next() else { return Ok(false) };
    for properties in [QUEUES[0], QUEUES[1]] {
        let queue = Queue::new(&device, properties)?;
        transforms(&queue)?;
        decompositions(&queue)?;
    }
    Ok(true)
}

#[test]
fn libraries_get_what_they_have_to() {
    let stub = Stub::take();
    let before = stub.live();
    assert!(watched("routines", program).unwrap());
    gone(&stub, before, "routines");
}

#[test]
fn every_call_of_them_may_be_refused() {
    let stub = Stub::take();
    let before = stub.live();
    watched("routines", program).unwrap();
    for name in [
        "cufftCreate",
        "cufftSetAutoAllocation",
        "cufftMakePlanMany64",
        "cufftSetStream",
        "cufftSetWorkArea",
        "cufftExecC2C",
        "cufftExecZ2Z",
        "cufftExecR2C",
        "cufftExecD2Z",
        "cufftExecC2R",
        "cufftExecZ2D",
        "cusolverDnCreate",
        "cusolverDnCreateParams",
        "cusolverDnSetStream",
        "cusolverDnXpotrf_bufferSize",
        "cusolverDnXpotrf",
    ] {
        assert!(stub.calls(name) > 0, "{name} is not called");
        for (nth, code) in (1..=stub.calls(name).min(2)).zip([2, 7]) {
            stub.reset();
            stub.fail(name, nth, code);
            let what = format!("call {nth} of {name} refused with {code}");
            let error = watched(&what, program).unwrap_err();
            assert!(of_the_driver(&error) && error.to_string().contains(name), "{what}: {error}");
            gone(&stub, before, &what);
        }
        stub.reset();
        stub.lacks(name);
        let error = watched(name, program).unwrap_err();
        assert!(matches!(error, Error::Unsupported(_)) || of_the_driver(&error), "{name}: {error}");
        assert!(error.to_string().contains(name), "{name}: {error}");
        stub.lacks("");
        gone(&stub, before, name);
        watched("healthy", program).unwrap();
    }
}

#[test]
fn a_routine_gets_memory_that_is_long_enough_and_its_own() {
    let stub = Stub::take();
    let before = stub.live();
    watched("arguments", || {
        let queue = devices().remove(0).queue().unwrap();
        let routine = Routine { kind: RoutineKind::Forward, dtype: Dtype::C64, m: 10, n: 1, count: 3 };
        let [whole, short] = [240, 239].map(|bytes| UsmMemory::new(UsmKind::Device, bytes, &queue).unwrap());
        for arguments in [&[&whole, &short][..], &[&short, &whole], &[&whole, &whole], &[&whole]] {
            let refused = run(&queue, routine, arguments).map(drop);
            assert!(matches!(refused, Err(Error::Value(_))), "{refused:?}");
        }
        for text in ["", "forward complex64 0 1 1", "forward float64 3 1 1", "nonsense"] {
            let source = Source::new(Language::ROUTINES, text.as_bytes());
            let refused = KernelBundle::compile(&queue, source, "").map(drop);
            assert!(matches!(refused, Err(Error::Value(_))), "{text}: {refused:?}");
        }
        let source = ".version 6.0\n.visible .entry idle(.param .u64 a) { ret; }\n";
        let bundle =
            KernelBundle::compile(&queue, Source::new(Language::Ptx, source.as_bytes()), "").unwrap();
        let refused = bundle.kernel("idle").unwrap().call(&queue, &[(&whole).into()], &[]).map(drop);
        assert!(matches!(refused, Err(Error::Unsupported(_))), "{refused:?}");
    });
    gone(&stub, before, "arguments");
}
