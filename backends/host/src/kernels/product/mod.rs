//! Products of matrices and vectors: reductions of which the program is one product, and whose operands lie as matrices do.
//!
//! [`contract`] decides for all: floats go to the `gemm` crate, integers to the blocks of [`integer`], matrices of a few rows and
//! columns to the loops of [`few`]; products with a vector are [`vectors`], and those with few columns [`narrow`]; [`matrices`] says what a product is.
//!
//! *What limits it*: of matrices the multipliers of the processor, as long as blocks stay in the caches; of vectors the bytes of
//! the matrix, each of which is read once.
//!
//! *What a newcomer may touch*: [`few`] and [`integer`] stand alone. How a sum is cut decides bits, and must depend on the plan
//! alone, never on the number of threads.

pub(super) mod contract;
mod few;
mod integer;
mod matrices;
mod narrow;
pub(super) mod vectors;
