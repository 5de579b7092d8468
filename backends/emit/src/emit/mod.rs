//! From programs to OpenCL C: every operation through the algebra that it is defined in.
//!
//! A program becomes a function with one line per value, so that a compiler sees no more than it has to. The results are
//! those of the scalar oracle: exactly where an operation is exact, within [`accuracy`] elsewhere.

pub mod accuracy;
mod conversion;
mod library;
mod literal;
mod token;
pub(crate) mod user;
mod visitor;
mod writer;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use stridewise_core::ops::OpClass;
use stridewise_core::{Dtype, DtypeKind, Op, backend::Program};

pub(crate) use literal::literal;
use writer::Writer;

use crate::kernels::Target;
use crate::kernels::text::c_type;

/// What stands first in a text with these programs' functions: extensions, the ban on contraction, and what the functions
/// call.
pub(crate) fn prelude(target: &Target, programs: &[&Program]) -> String {
    let mut helpers = BTreeSet::new();
    for program in programs {
        let writer = Writer::new(target);
        visitor::body(&writer, program);
        helpers.extend(writer.finish().1);
    }
    header(target) + &library::texts(helpers, target)
}

/// Extensions, and the ban on contraction.
fn header(target: &Target) -> String {
    if target.dialect.is_cuda() {
        return String::new();
    }
    let mut text = String::new();
    if target.fp64 {
        text.push_str("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
    }
    if target.fp16 {
        text.push_str("#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
    }
    text.push_str("#pragma OPENCL FP_CONTRACT OFF\n");
    text
}

/// A program as a function: its parameters are the inputs in order and then the constants, by value. Returns the output
/// where there is one; several go to private pointers, which are the last parameters.
pub(crate) fn function(name: &str, program: &Program, target: &Target) -> String {
    let writer = Writer::new(target);
    let outputs = visitor::body(&writer, program);
    let body = writer.finish().0;
    let inputs =
        program.inputs().iter().enumerate().map(|(i, &dtype)| format!("const {} x{i}", c_type(dtype)));
    let constants =
        program.consts().iter().enumerate().map(|(i, value)| format!("const {} c{i}", c_type(value.dtype())));
    let mut parameters: Vec<String> = inputs.chain(constants).collect();
    let (result, end) = match outputs.as_slice() {
        [output] => (c_type(program.output_dtype(0)), format!("    return {output};\n")),
        _ => {
            let pointer = |i| format!("private {} *o{i}", c_type(program.output_dtype(i)));
            parameters.extend((0..outputs.len()).map(pointer));
            let store = |(i, output)| format!("    *o{i} = {output};\n");
            ("void", outputs.iter().enumerate().map(store).collect())
        }
    };
    format!("static inline {result} {name}({})\n{{\n{body}{end}}}\n", parameters.join(", "))
}

/// Whether a device can compute a program.
///
/// # Errors
/// What it lacks, and what for.
pub(crate) fn supports(program: &Program, target: &Target) -> Result<(), String> {
    let inputs = program.inputs().iter().copied();
    let constants = program.consts().iter().map(stridewise_core::Scalar::dtype);
    let steps = program.steps().iter().flat_map(|step| [step.dtype, step.out]);
    inputs.chain(constants).chain(steps).try_for_each(|dtype| has(dtype, target))?;
    program.steps().iter().try_for_each(|step| computes(step.op, step.dtype, target))
}

/// Whether a device has a dtype.
fn has(dtype: Dtype, target: &Target) -> Result<(), String> {
    let missing = match dtype {
        Dtype::F64 | Dtype::C128 if !target.fp64 => "double precision (cl_khr_fp64)",
        _ => return Ok(()),
    };
    Err(format!("`{}` needs {missing}", dtype.name()))
}

/// Whether a device that has a dtype has what an operation on it is computed in.
fn computes(op: Op, dtype: Dtype, target: &Target) -> Result<(), String> {
    if dtype.kind() == DtypeKind::Complex && in_double(op) && !target.fp64 {
        let (op, dtype) = (op.name(), dtype.name());
        return Err(format!("`{op}` of `{dtype}` is computed in double precision (cl_khr_fp64)"));
    }
    Ok(())
}

/// Whether an operation on complex numbers is computed in double precision.
fn in_double(op: Op) -> bool {
    matches!(op.class(), OpClass::field | OpClass::analytic | OpClass::num_fn) || op == Op::Sign
}
