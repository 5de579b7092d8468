//! Products of matrices, by plain loops.

use half::{bf16, f16};

/// A matrix of the library: columns one behind the other.
pub(crate) struct Matrix {
    pub(crate) start: usize,
    /// The type of its elements, by the number of `cudaDataType`.
    pub(crate) kind: i32,
    pub(crate) transposed: bool,
    pub(crate) leading: i64,
    /// Elements to the next matrix.
    pub(crate) stride: i64,
}

/// Products of as many matrices as the last extent says.
pub(crate) struct Product {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    /// Rows, columns, what is summed, how many.
    pub(crate) extents: [i64; 4],
}

impl Matrix {
    fn bytes(&self) -> i64 {
        match self.kind {
            2 | 14 => 2,
            0 => 4,
            1 | 4 => 8,
            _ => 16,
        }
    }

    fn place<T>(&self, matrix: i64, row: i64, column: i64) -> *mut T {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        let elements = matrix * self.stride + row + column * self.leading;
        let address = self.start.wrapping_add_signed((elements * self.bytes()) as isize);
        std::ptr::with_exposed_provenance_mut(address)
    }

    /// An element, by its real and imaginary part.
    fn load(&self, matrix: i64, row: i64, column: i64) -> [f64; 2] {
        // SAFETY: who asked for the product has promised that the matrices are memory; the type says how many bytes an element has.
        unsafe {
            match self.kind {
                0 => [self.place::<f32>(matrix, row, column).read().into(), 0.0],
                1 => [self.place::<f64>(matrix, row, column).read(), 0.0],
                2 => [self.place::<f16>(matrix, row, column).read().into(), 0.0],
                14 => [self.place::<bf16>(matrix, row, column).read().into(), 0.0],
                4 => self.place::<[f32; 2]>(matrix, row, column).read().map(f64::from),
                _ => self.place::<[f64; 2]>(matrix, row, column).read(),
            }
        }
    }
}

impl Product {
    /// Computes them, in memory that is there, by the promise of who asked for it.
    pub(crate) fn run(&self) {
        let [rows, columns, summed, count] = self.extents;
        for matrix in 0..count {
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
                let mut sum = [0.0; 2];
                for at in 0..summed {
                    let (x, y) = (self.a.load(matrix, row, at), self.b.load(matrix, at, column));
                    sum = [sum[0] + x[0] * y[0] - x[1] * y[1], sum[1] + x[0] * y[1] + x[1] * y[0]];
                }
                // SAFETY: as for `load`; nobody else uses the result meanwhile.
                unsafe {
                    match self.c.kind {
                        0 => self.c.place::<f32>(matrix, row, column).write(sum[0] as f32),
                        1 => self.c.place::<f64>(matrix, row, column).write(sum[0]),
                        2 => self.c.place::<f16>(matrix, row, column).write(f16::from_f64(sum[0])),
                        14 => self.c.place::<bf16>(matrix, row, column).write(bf16::from_f64(sum[0])),
                        4 => self.c.place::<[f32; 2]>(matrix, row, column).write(sum.map(|x| x as f32)),
                        _ => self.c.place::<[f64; 2]>(matrix, row, column).write(sum),
                    }
                }
            }
        }
    }
}
