//! Extents and strides as one argument of a kernel.

use std::fmt::Write as _;

use smallvec::SmallVec;

use crate::kernels::text::Parameters;
use crate::kernels::{Argument, Key};

/// Bytes that a kernel's parameters may have in all, on any device.
const PARAMETER_BYTES: usize = 1000;
/// Bytes that a parameter of a memory object takes, with its offset.
const MEMORY_BYTES: usize = 16;

/// The numbers that a kernel gets, in an order that its [names](Names) repeat.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) values: SmallVec<[isize; 32]>,
    /// There are too many for parameters: they are written into the text, and are part of the key.
    baked: bool,
}

impl Numbers {
    /// The numbers of a kernel that has so many bytes of other parameters, and so many of memory.
    pub(crate) fn new(values: SmallVec<[isize; 32]>, bytes: usize, memory: usize) -> Self {
        let all = values.len() * 8 + bytes + memory * MEMORY_BYTES;
        Self { baked: all > PARAMETER_BYTES, values }
    }

    /// Adds what the text depends on.
    pub(crate) fn key(&self, key: &mut Key) {
        key.push(usize::from(self.baked));
        if self.baked {
            for &value in &self.values {
                key.push(value.cast_unsigned());
            }
        }
    }

    /// The argument, if there is one.
    pub(crate) fn argument(&self) -> Option<Argument> {
        (!self.baked).then(|| Argument::longs(self.values.iter().copied()))
    }

    /// The type of the parameter, which stands before the kernel.
    pub(crate) fn types(&self) -> String {
        if self.baked {
            return String::new();
        }
        format!("typedef struct {{ long v[{}]; }} numbers;\n", self.values.len())
    }

    /// Declares the parameter.
    pub(crate) fn declare(&self, parameters: &mut Parameters) {
        if !self.baked {
            parameters.value("numbers", "g");
        }
    }

    /// The lines that name the numbers in a kernel.
    pub(crate) fn lines(&self, names: &Names) -> String {
        let mut text = String::new();
        for (i, (ty, name)) in names.list.iter().enumerate() {
            // Writing to a `String` cannot fail.
            let _ = if self.baked {
                writeln!(text, "    const {ty} {name} = {}L;", self.values.get(i).copied().unwrap_or(0))
            } else {
                writeln!(text, "    const {ty} {name} = ({ty})g.v[{i}];")
            };
        }
        text
    }
}

/// The names of [`Numbers`], with their types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    list: Vec<(&'static str, String)>,
}

impl Names {
    /// Adds one.
    pub(crate) fn push(&mut self, ty: &'static str, name: impl Into<String>) {
        self.list.push((ty, name.into()));
    }
    /// Adds one for each dimension: `n0`, `n1` and so on.
    pub(crate) fn dims(&mut self, ty: &'static str, name: &str, dims: usize) {
        for d in 0..dims {
            self.push(ty, format!("{name}{d}"));
        }
    }
}
