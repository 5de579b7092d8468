//! The languages that texts leave this crate in.
//!
//! Kernels are written once, in OpenCL C. Where another language says the same in other words, its file here puts these in
//! their place, token by token, and before them a prelude with what the text uses of OpenCL C's library. Only what a
//! language has no words for, or better ones, is decided where the text is written, by [`Target::dialect`](crate::Target).

mod cuda;
mod vectors;

#[cfg(test)]
mod tests;

/// The language of a device's kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenCL C 1.2, with the extensions that the target has.
    #[default]
    OpenClC,
    /// CUDA C++ as NVRTC takes it, without any header. Contraction has to be turned off (`--fmad=false`).
    CudaC,
}

impl Dialect {
    /// A text as it is compiled.
    pub(crate) fn whole(self, text: String) -> String {
        match self {
            Self::OpenClC => text,
            Self::CudaC => cuda::text(&text),
        }
    }

    /// What is compiled for.
    pub(crate) const fn runtime(self) -> &'static str {
        match self {
            Self::OpenClC => "OpenCL",
            Self::CudaC => "CUDA",
        }
    }

    /// Whether it is CUDA C++.
    pub(crate) const fn is_cuda(self) -> bool {
        matches!(self, Self::CudaC)
    }
}
