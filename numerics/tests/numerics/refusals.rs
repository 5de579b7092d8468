//! An array of a device that the processor does not reach is refused, and nothing is sent to the device for it.

use std::sync::Arc;

use stridewise_core::{Device, Dtype, Error, Result, UsmArray, UsmKind};
use stridewise_null::{NullConfig, NullDevice};
use stridewise_numerics::fft::{self, Norm, Points};
use stridewise_numerics::linalg::{self, QrMode, Tolerance};

#[test]
fn nothing_makes_a_silent_trip() {
    let backend = NullDevice::new(NullConfig::default());
    let device = Device::from_backend(Arc::new(backend.clone()));
    let x = UsmArray::empty(&device.queue().unwrap(), &[3, 3], Dtype::F64, UsmKind::Device).unwrap();
    let before = backend.log().len();
    let outcomes: Vec<(&str, Result<()>)> = vec![
        ("cholesky", linalg::cholesky(&x, false).map(drop)),
        ("cond", linalg::cond(&x, 2.0).map(drop)),
        ("det", linalg::det(&x).map(drop)),
        ("eig", linalg::eig(&x).map(drop)),
        ("eigh", linalg::eigh(&x).map(drop)),
        ("eigvals", linalg::eigvals(&x).map(drop)),
        ("eigvalsh", linalg::eigvalsh(&x).map(drop)),
        ("expm", linalg::expm(&x).map(drop)),
        ("inv", linalg::inv(&x).map(drop)),
        ("lstsq", linalg::lstsq(&x, &x, Tolerance::Rounding).map(drop)),
        ("lu", linalg::lu(&x).map(drop)),
        ("matrix_norm", linalg::matrix_norm(&x, 2.0, false).map(drop)),
        ("matrix_power", linalg::matrix_power(&x, -1).map(drop)),
        ("matrix_rank", linalg::matrix_rank(&x, Tolerance::Rounding).map(drop)),
        ("pinv", linalg::pinv(&x, Tolerance::Rounding).map(drop)),
        ("qr", linalg::qr(&x, QrMode::Reduced).map(drop)),
        ("slogdet", linalg::slogdet(&x).map(drop)),
        ("solve", linalg::solve(&x, &x).map(drop)),
        ("svd", linalg::svd(&x, true).map(drop)),
        ("svdvals", linalg::svdvals(&x).map(drop)),
        ("fft", fft::fft(&x, None, -1, Norm::Backward).map(drop)),
        ("irfft", fft::irfft(&x, None, -1, Norm::Backward).map(drop)),
        ("hfft", fft::hfft(&x, None, -1, Norm::Backward).map(drop)),
        ("ihfft", fft::ihfft(&x, None, -1, Norm::Backward).map(drop)),
        ("rfftn", fft::rfftn(&x, Points::default(), Norm::Backward).map(drop)),
    ];
    for (name, outcome) in outcomes {
        match outcome {
            Err(Error::Unsupported(complaint)) => {
                assert!(complaint.help.contains(".to_device("), "{name}: {complaint}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(backend.log().len(), before, "nothing was submitted");
}
