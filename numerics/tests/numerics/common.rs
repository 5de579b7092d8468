//! Matrices as plain numbers, and arrays of several layouts.

use num_complex::Complex;
use stridewise_core::{Dtype, DtypeKind, Op, Order, SliceItem, UsmArray, UsmKind, default_device};

stridewise_core::register_driver!(stridewise_host::driver);

pub(crate) type C = Complex<f64>;
pub(crate) const DTYPES: [Dtype; 4] = [Dtype::F32, Dtype::F64, Dtype::C64, Dtype::C128];
pub(crate) const LAYOUTS: usize = 5;

/// The distance from 1 to the next number.
pub(crate) fn eps(dtype: Dtype) -> f64 {
    if matches!(dtype, Dtype::F64 | Dtype::C128) { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

/// A sequence of numbers that look random.
pub(crate) struct Random(u64);
impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    /// A number between -1 and 1.
    pub(crate) fn number(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
    pub(crate) fn element(&mut self, dtype: Dtype) -> C {
        let re = self.number();
        C::new(re, if dtype.kind() == DtypeKind::Complex { self.number() } else { 0.0 })
    }
    pub(crate) fn elements(&mut self, dtype: Dtype, count: usize) -> Vec<C> {
        (0..count).map(|_| self.element(dtype)).collect()
    }
}

/// An array of a dtype of numbers in row-major order.
pub(crate) fn array(shape: &[usize], values: &[C], dtype: Dtype) -> UsmArray {
    let queue = default_device().unwrap().queue().unwrap();
    let x = UsmArray::from_slice(&queue, shape, values, UsmKind::Shared).unwrap();
    match dtype.kind() {
        DtypeKind::Complex => x.astype(dtype).unwrap(),
        _ => x.unary(Op::RealPart).unwrap().astype(dtype).unwrap(),
    }
}

/// The same elements in another layout: as they are, in column-major order, backwards, every second of more, in device memory.
pub(crate) fn lay(x: &UsmArray, layout: usize) -> UsmArray {
    let back = |x: &UsmArray| x.flip(None).unwrap();
    let twice = |x: &UsmArray| {
        let all = SliceItem::Slice { start: None, stop: None, step: 2 };
        x.repeat(2, Some(-1)).unwrap().slice(&[SliceItem::Ellipsis, all]).unwrap()
    };
    match layout {
        0 => x.clone(),
        1 => x.copy_in(Order::F).unwrap(),
        2 => back(&back(x).copy().unwrap()),
        3 => twice(x),
        _ => x.to_kind(UsmKind::Device).unwrap(),
    }
}

/// The elements, in row-major order.
pub(crate) fn values(x: &UsmArray) -> Vec<C> {
    x.astype(Dtype::C128).unwrap().to_vec::<C>().unwrap()
}

/// A matrix.
#[derive(Clone, Debug)]
pub(crate) struct M {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) data: Vec<C>,
}

impl M {
    pub(crate) fn new(rows: usize, columns: usize, at: impl Fn(usize, usize) -> C) -> Self {
        let data = (0..rows * columns).map(|i| at(i / columns, i % columns)).collect();
        Self { rows, columns, data }
    }
    pub(crate) fn identity(n: usize) -> Self {
        Self::new(n, n, |i, j| C::new(f64::from(i == j), 0.0))
    }
    /// A matrix with these numbers on its diagonal.
    pub(crate) fn diagonal(rows: usize, columns: usize, numbers: &[C]) -> Self {
        Self::new(rows, columns, |i, j| if i == j { numbers[i] } else { C::ZERO })
    }
    pub(crate) fn at(&self, i: usize, j: usize) -> C {
        self.data[i * self.columns + j]
    }
    pub(crate) fn times(&self, other: &Self) -> Self {
        assert_eq!(self.columns, other.rows);
        Self::new(self.rows, other.columns, |i, j| {
            (0..self.columns).map(|k| self.at(i, k) * other.at(k, j)).sum()
        })
    }
    pub(crate) fn adjoint(&self) -> Self {
        Self::new(self.columns, self.rows, |i, j| self.at(j, i).conj())
    }
    pub(crate) fn minus(&self, other: &Self) -> Self {
        assert_eq!((self.rows, self.columns), (other.rows, other.columns));
        Self::new(self.rows, self.columns, |i, j| self.at(i, j) - other.at(i, j))
    }
    pub(crate) fn norm(&self) -> f64 {
        self.data.iter().map(Complex::norm_sqr).sum::<f64>().sqrt()
    }
}

/// The matrices of a stack.
pub(crate) fn matrices(x: &UsmArray) -> Vec<M> {
    let (rows, columns) = (x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1]);
    let count: usize = x.shape()[..x.ndim() - 2].iter().product();
    let values = values(x);
    let part = |number: usize| values[number * rows * columns..][..rows * columns].to_vec();
    (0..count).map(|number| M { rows, columns, data: part(number) }).collect()
}
