//! The driver: every device that NVIDIA's has.

use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use stridewise_core::backend::{Device, DeviceType, Driver, Finding, KernelCache};
use stridewise_core::{Error, Result};

use crate::DRIVER;
use crate::api::Api;
use crate::blas::{Blas, TF32_VARIABLE};
use crate::device::CudaDevice;
use crate::error::failed;
use crate::handle::home;
use crate::library::Given;
use crate::nvrtc::{Nvrtc, VARIABLE};
use crate::symbols::open;

/// Environment variable by which the driver hides devices, and orders them.
const VISIBLE_VARIABLE: &str = "CUDA_VISIBLE_DEVICES";
/// The driver's library.
#[cfg(not(windows))]
const LIBRARIES: &[&str] = &["libcuda.so.1", "libcuda.so"];
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];
/// Files by which a process reaches a device; without any there is none.
#[cfg(not(windows))]
const DEVICE_FILES: &[&str] =
    &["/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-ctrl-gpu", "/dev/nvgpu"];

/// The oldest driver whose functions this backend is written for.
const OLDEST: (i32, i32) = (11, 2);
/// The code by which the driver says that there is no device.
const NO_DEVICE: i32 = 100;

struct CudaDriver {
    /// How the driver's functions are found, where a test has functions of its own.
    given: Option<Given>,
    /// The functions, or why there are none.
    api: OnceLock<Result<&'static Api>>,
    /// Devices that were left out of the last list, and why.
    refused: Mutex<Vec<Finding>>,
}

/// The driver.
#[must_use]
pub fn driver() -> Arc<dyn Driver> {
    Arc::new(CudaDriver { given: None, api: OnceLock::new(), refused: Mutex::default() })
}

/// The driver over functions of a test, which finds them by their names.
///
/// # Safety
/// What is found by a name has the type of the driver's function of this name.
#[doc(hidden)]
#[must_use]
pub unsafe fn driver_over(find: fn(&CStr) -> *mut c_void) -> Arc<dyn Driver> {
    Arc::new(CudaDriver { given: Some(find), api: OnceLock::new(), refused: Mutex::default() })
}

impl CudaDriver {
    /// The driver's functions, of which the first use loads its library.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where there is no library.
    fn api(&self) -> Result<&'static Api> {
        self.api.get_or_init(|| self.find()).clone()
    }

    fn find(&self) -> Result<&'static Api> {
        static FOUND: OnceLock<Api> = OnceLock::new();
        if let Some(find) = self.given {
            // SAFETY: what is found has the types of the driver's functions, by the contract of `driver_over`.
            let api = unsafe { Api::of(&find) };
            // Of a test, which makes few drivers; its objects may outlive this one.
            return Ok(Box::leak(Box::new(api)));
        }
        if let Some(found) = FOUND.get() {
            return Ok(found);
        }
        let mut why = String::new();
        for library in LIBRARIES {
            match open(library.as_ref()) {
                // SAFETY: the library of this name is NVIDIA's driver, whose functions are as `cuda.h` declares them; it stays loaded.
                Ok(find) => return Ok(FOUND.get_or_init(|| unsafe { Api::of(&find) })),
                Err(error) if why.is_empty() => why = error,
                Err(_) => {}
            }
        }
        Err(Error::unsupported(
            LIBRARIES[0],
            why,
            "the library of NVIDIA's driver",
            "install NVIDIA's driver, if the machine has a GPU of theirs",
        ))
    }

    /// The driver's functions, the number of its devices, and its version.
    ///
    /// # Errors
    /// Without a driver, or with one that is too old; what the driver reports.
    fn begin(&self) -> Result<(&'static Api, i32, (i32, i32))> {
        let api = self.api()?;
        let (mut version, mut count) = (0, 0);
        // SAFETY: the place is a live number.
        unsafe { api.driver_version(&raw mut version) }.map_err(|refused| failed(refused, "the driver"))?;
        let version = (version / 1000, version % 1000 / 10);
        if version < OLDEST {
            return Err(Error::unsupported(
                LIBRARIES[0],
                format!("a driver of CUDA {}.{}", version.0, version.1),
                format!("one of CUDA {}.{} or later", OLDEST.0, OLDEST.1),
                "update NVIDIA's driver",
            ));
        }
        // SAFETY: there are no flags.
        let begun = unsafe { api.init(0) };
        match begun {
            Err(refused) if refused.code == NO_DEVICE => return Ok((api, 0, version)),
            begun => begun.map_err(|refused| failed(refused, "the driver"))?,
        }
        // SAFETY: the place is a live number.
        unsafe { api.device_count(&raw mut count) }.map_err(|refused| failed(refused, "the driver"))?;
        Ok((api, count, version))
    }

    fn refuse(&self, findings: Vec<Finding>) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = findings;
    }
}

impl Driver for CudaDriver {
    fn name(&self) -> &'static str {
        DRIVER
    }

    fn interface(&self) -> u32 {
        1
    }

    fn may_have(&self, device_type: DeviceType) -> bool {
        device_type == DeviceType::Gpu && (self.given.is_some() || may_have_gpu())
    }

    /// Without a driver there is no device, and nothing is wrong. A device that cannot be opened is left out: it could do nothing; as
    /// are all in a process that was forked from one that had loaded the driver.
    fn devices(&self) -> Vec<Arc<dyn Device>> {
        let mut devices: Vec<Arc<dyn Device>> = Vec::new();
        if let Err(error) = home().check() {
            self.refuse(vec![Finding::of_error("process", &error)]);
            return devices;
        }
        let mut refused = Vec::new();
        match self.begin() {
            Ok((api, count, version)) => {
                for ordinal in 0..count {
                    match CudaDevice::open(api, ordinal, version, self.given) {
                        Ok(device) => devices.push(Arc::new(device)),
                        Err(error) => {
                            refused.push(Finding::of_error(format!("refused: device {ordinal}"), &error));
                        }
                    }
                }
            }
            // Its absence is told where it is looked at.
            Err(_) if self.api().is_err() => {}
            Err(error) => refused.push(Finding::of_error("driver", &error)),
        }
        self.refuse(refused);
        devices
    }

    fn diagnose(&self) -> Vec<Finding> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !home().is_here() {
            return refused;
        }
        let mut findings = Vec::new();
        match self.begin() {
            Ok((_, count, version)) => {
                let text = format!("loaded, CUDA {}.{}, {count} devices", version.0, version.1);
                findings.push(Finding::fine("driver", text));
                findings.push(match Nvrtc::shared() {
                    Ok(found) => {
                        let (major, minor) = found.version();
                        Finding::fine("NVRTC", format!("{major}.{minor}, {}", found.found()))
                    }
                    Err(error) => {
                        let text = "not there: sources in CUDA C++ are not compiled";
                        let remedy = error.complaint().map(|complaint| complaint.help.clone());
                        Finding::note("NVRTC", text, remedy.unwrap_or_default())
                    }
                });
                findings.push(match Blas::found() {
                    Some(name) => Finding::fine(name, "there: it computes products of matrices"),
                    None => Finding::note(
                        "cuBLAS",
                        "not there: products of matrices have kernels of the engine's own",
                        "pip install nvidia-cublas (for a driver of CUDA 12: nvidia-cublas-cu12), or install the CUDA toolkit",
                    ),
                });
            }
            Err(error) if may_have_gpu() || self.api().is_ok() => {
                findings.push(Finding::of_error("driver", &error))
            }
            Err(_) => findings.push(Finding::fine("driver", "none: no GPU of NVIDIA's is used")),
        }
        findings.extend(refused.into_iter().filter(|finding| finding.subject != "driver"));
        for (variable, unset) in [
            (VISIBLE_VARIABLE, "every device is seen"),
            (VARIABLE, "NVRTC is looked for where it is installed"),
        ] {
            findings.push(match std::env::var_os(variable) {
                None => Finding::fine(variable, format!("not set: {unset}")),
                Some(value) => Finding::fine(variable, value.to_string_lossy()),
            });
        }
        findings.push(Finding::of_switch(TF32_VARIABLE, "products of float32 by factors of 10 bits"));
        findings.push(KernelCache::diagnose(DRIVER));
        findings
    }
}

/// Whether there may be a device, by its files alone.
fn may_have_gpu() -> bool {
    #[cfg(windows)]
    return true;
    #[cfg(not(windows))]
    DEVICE_FILES.iter().any(|file| std::path::Path::new(file).exists())
}
