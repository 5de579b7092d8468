//! What has a form of its own in memory, as data: addresses, values, layouts and kernels.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::dtype::Dtype;
use crate::form::{Form, Kernel};
use crate::layout::{Layout, Order};
use crate::memory::UsmPtr;
use crate::scalar::Scalar;

impl Serialize for UsmPtr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.addr().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UsmPtr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        usize::deserialize(deserializer).map(|address| Self::new(std::ptr::without_provenance_mut(address)))
    }
}

/// To the bit, of NaN too.
impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.dtype(), self.to_bytes()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <(Dtype, [u8; 16])>::deserialize(deserializer).map(|(dtype, bytes)| Self::from_bytes(dtype, &bytes))
    }
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.shape(), self.strides(), self.offset()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (shape, strides, offset) = <(Vec<usize>, Vec<isize>, usize)>::deserialize(deserializer)?;
        Self::new(&shape, Some(&strides), Some(offset), Order::C, 1, None).map_err(D::Error::custom)
    }
}

impl Serialize for Kernel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.form().serialize(serializer)
    }
}

/// Verified anew.
impl<'de> Deserialize<'de> for Kernel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Form::deserialize(deserializer).and_then(|form| Self::new(form).map_err(D::Error::custom))
    }
}
