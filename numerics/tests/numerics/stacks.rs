//! From a thread with a small stack everything comes to what it comes to elsewhere. A fault would end the process.

use std::thread::Builder;

use crate::common::{C, DTYPES, Random, array, values};
use stridewise_core::UsmArray;
use stridewise_numerics::fft::{self, Norm};
use stridewise_numerics::linalg::{self, QrMode, Tolerance};

/// What threads of other runtimes have at the least.
const STACK: usize = 64 << 10;

/// Every decomposition of square matrices that are symmetric and positive definite, so that all exist.
fn decompositions(x: &UsmArray) -> Vec<UsmArray> {
    let (eig, eigh) = (linalg::eig(x).unwrap(), linalg::eigh(x).unwrap());
    let (svd, qr) = (linalg::svd(x, true).unwrap(), linalg::qr(x, QrMode::Complete).unwrap());
    let (lu, lstsq) = (linalg::lu(x).unwrap(), linalg::lstsq(x, x, Tolerance::default()).unwrap());
    vec![
        eig.eigenvalues,
        eig.eigenvectors,
        linalg::eigvals(x).unwrap(),
        eigh.eigenvalues,
        eigh.eigenvectors,
        linalg::eigvalsh(x).unwrap(),
        svd.u,
        svd.s,
        svd.vh,
        linalg::svdvals(x).unwrap(),
        qr.q,
        qr.r,
        lu.p,
        lu.l,
        lu.u,
        lstsq.solution,
        linalg::cholesky(x, false).unwrap(),
        linalg::det(x).unwrap(),
        linalg::inv(x).unwrap(),
        linalg::solve(x, x).unwrap(),
        linalg::pinv(x, Tolerance::default()).unwrap(),
        linalg::expm(x).unwrap(),
        linalg::cond(x, 2.0).unwrap(),
    ]
}

fn transforms(x: &UsmArray) -> Vec<UsmArray> {
    let there = fft::fft(x, None, -1, Norm::Backward).unwrap();
    let back = fft::ifft(&there, None, 0, Norm::Ortho).unwrap();
    vec![there, back]
}

fn everything() -> Vec<Vec<C>> {
    let mut all = Vec::new();
    for dtype in DTYPES {
        for n in [1, 2, 5, 33, 130] {
            let noise = Random::new(3).elements(dtype, n * n);
            let mut elements = Vec::new();
            for (i, j) in (0..n * n).map(|at| (at / n, at % n)) {
                let symmetric = noise[i * n + j] + noise[j * n + i].conj();
                elements.push(symmetric + if i == j { 4.0 * n as f64 } else { 0.0 });
            }
            // So that the exponential is finite.
            elements.iter_mut().for_each(|x| *x /= n as f64);
            all.extend(decompositions(&array(&[n, n], &elements, dtype)));
        }
        for n in [1, 7, 64, 97, 1009, 4096] {
            all.extend(transforms(&array(&[2, n], &Random::new(5).elements(dtype, 2 * n), dtype)));
        }
    }
    all.iter().map(values).collect()
}

#[test]
fn on_a_small_stack() {
    let expected = everything();
    let found = Builder::new().stack_size(STACK).spawn(everything).unwrap().join().unwrap();
    assert!(expected == found);
}
