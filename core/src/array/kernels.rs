//! Kernels that functions of arrays launch.

use std::sync::{Mutex, PoisonError};

use crate::dtype::Dtype;
use crate::error::Result;
use crate::form::Kernel;

/// Kernels by the dtype that they compute in: each is built once, as a device compiles each once.
pub(super) struct ByDtype {
    kernels: Mutex<Vec<(Dtype, Kernel)>>,
    build: fn(Dtype) -> Result<Kernel>,
}

impl ByDtype {
    pub(super) const fn new(build: fn(Dtype) -> Result<Kernel>) -> Self {
        Self { kernels: Mutex::new(Vec::new()), build }
    }

    pub(super) fn get(&self, dtype: Dtype) -> Result<Kernel> {
        let find = |kernels: &[(Dtype, Kernel)]| {
            kernels.iter().find(|(of, _)| *of == dtype).map(|(_, kernel)| kernel.clone())
        };
        let lock = || self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = find(&lock()) {
            return Ok(kernel);
        }
        // Not under the lock; who comes second takes the first one's.
        let built = (self.build)(dtype)?;
        let mut kernels = lock();
        Ok(find(&kernels).unwrap_or_else(|| {
            kernels.push((dtype, built.clone()));
            built
        }))
    }
}
