//! Reading the inputs of a program: several elements at once, from vectors where they are aligned.

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, DtypeKind,
    backend::{LaunchPlan, Program},
};

use crate::kernels::text::{Parameters, c_type};
use crate::kernels::{Argument, Key};

/// Bytes of a vector that a work-item reads at once.
pub(crate) const VECTOR_BYTES: usize = 16;

/// How the elements of an input are found that a work-item takes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// In one aligned vector.
    Vector,
    /// They are one element.
    Same,
    /// A stride apart.
    Strided,
    /// They are computed from the place.
    Index,
}

/// The inputs of a program, `width` elements at once.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    pub(crate) access: SmallVec<[Access; 4]>,
    pub(crate) width: usize,
}

/// The type of the numbers that memory of a dtype is made of.
pub(crate) fn part_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::C64 => "float",
        Dtype::C128 => "double",
        _ => c_type(dtype),
    }
}

/// How many of these numbers an element is.
pub(crate) fn parts(dtype: Dtype) -> usize {
    1 + usize::from(dtype.kind() == DtypeKind::Complex)
}

/// The most elements of aligned vectors of at most so many bytes that fit all inputs with elements next to each other;
/// `aligned(input, bytes)` says whether all vectors of an input begin at multiples of so many bytes.
pub(crate) fn widest(
    program: &Program,
    steps: impl Fn(usize) -> isize,
    bytes: usize,
    aligned: impl Fn(usize, usize) -> bool,
) -> usize {
    let vectors = || (0..program.inputs().len()).filter(|&k| !program.is_index(k) && steps(k) == 1);
    let Some(size) = vectors().map(|k| program.inputs()[k].size()).max() else { return 1 };
    let width = (bytes / size).clamp(1, 16);
    if vectors().all(|k| aligned(k, width * program.inputs()[k].size())) { width } else { 1 }
}

impl Inputs {
    /// Elements one by one, wherever they are.
    pub(crate) fn single(program: &Program) -> Self {
        let access = |k| if program.is_index(k) { Access::Index } else { Access::Strided };
        Self { access: (0..program.inputs().len()).map(access).collect(), width: 1 }
    }

    /// Vectors of a [width](widest) where elements are next to each other.
    pub(crate) fn vectors(program: &Program, width: usize, steps: impl Fn(usize) -> isize) -> Self {
        let access = |k| match steps(k) {
            _ if program.is_index(k) => Access::Index,
            // Alone, the type's own alignment is no more than its parts'.
            _ if width == 1 => Access::Strided,
            1 => Access::Vector,
            0 => Access::Same,
            _ => Access::Strided,
        };
        Self { access: (0..program.inputs().len()).map(access).collect(), width }
    }

    /// Adds what the text depends on.
    pub(crate) fn key(&self, key: &mut Key) {
        key.push(self.width);
        for &access in &self.access {
            key.push(access as usize);
        }
    }

    /// Declares the memory of the inputs, `p0`, `p1` and so on.
    pub(crate) fn declare(&self, program: &Program, parameters: &mut Parameters) {
        for (k, &dtype) in program.inputs().iter().enumerate() {
            if !program.is_index(k) {
                parameters.memory(&format!("const {}", part_type(dtype)), &format!("p{k}"));
            }
        }
    }

    /// The arguments for [`declare`](Self::declare).
    pub(crate) fn arguments<'a>(plan: &'a LaunchPlan) -> impl Iterator<Item = Argument> + 'a {
        let memory = plan.inputs.iter().enumerate().filter(|&(k, _)| !plan.program.is_index(k));
        memory.map(|(_, operand)| Argument::Memory(operand.ptr))
    }

    /// Reads elements to names that end in `suffix`, from the offsets `o0`, `o1` and so on and strides `u0`, `u1` and so
    /// on; one element each where not `wide`.
    pub(crate) fn load(&self, program: &Program, suffix: &str, wide: bool, indent: &str) -> String {
        let mut text = String::new();
        let width = if wide { self.width } else { 1 };
        for (k, (&access, &dtype)) in self.access.iter().zip(program.inputs()).enumerate() {
            let ty = c_type(dtype);
            let part = part_type(dtype);
            let n = parts(dtype);
            let one = |offset: &str| {
                if n == 2 { format!("vload2({offset}, p{k})") } else { format!("p{k}[{offset}]") }
            };
            // Writing to a `String` cannot fail.
            let _ = match access {
                Access::Index => writeln!(text, "{indent}const long x{k}_{suffix} = o{k};"),
                Access::Vector if width > 1 => {
                    let of = if n == 2 { format!("2 * o{k}") } else { format!("o{k}") };
                    let ty = format!("{part}{}", width * n);
                    writeln!(text, "{indent}const {ty} x{k}_{suffix} = *(global const {ty} *)(p{k} + {of});")
                }
                Access::Strided if width > 1 => (0..width).try_for_each(|j| {
                    let from = one(&format!("o{k} + {j} * u{k}"));
                    writeln!(text, "{indent}const {ty} x{k}_{suffix}_{j} = {from};")
                }),
                _ => writeln!(text, "{indent}const {ty} x{k}_{suffix} = {};", one(&format!("o{k}"))),
            };
        }
        text
    }

    /// The element of number `j` of every input, as [`load`](Self::load) named them, then the constants `c0`, `c1` and so
    /// on, as arguments of the program's function.
    pub(crate) fn elements(&self, program: &Program, suffix: &str, j: usize, wide: bool) -> String {
        let width = if wide { self.width } else { 1 };
        let mut list: Vec<String> = Vec::new();
        for (k, (&access, &dtype)) in self.access.iter().zip(program.inputs()).enumerate() {
            let name = format!("x{k}_{suffix}");
            list.push(match access {
                Access::Index if width > 1 => format!("{name} + {j} * u{k}"),
                Access::Vector if width > 1 && parts(dtype) == 2 => {
                    format!("{name}.s{:x}{:x}", 2 * j, 2 * j + 1)
                }
                Access::Vector if width > 1 => format!("{name}.s{j:x}"),
                Access::Strided if width > 1 => format!("{name}_{j}"),
                _ => name,
            });
        }
        list.extend((0..program.consts().len()).map(|c| format!("c{c}")));
        list.join(", ")
    }
}

/// The constants of a program as parameters `c0`, `c1` and so on, or with another letter.
pub(crate) fn declare_constants(program: &Program, letter: &str, parameters: &mut Parameters) {
    for (c, value) in program.consts().iter().enumerate() {
        parameters.value(c_type(value.dtype()), &format!("{letter}{c}"));
    }
}
