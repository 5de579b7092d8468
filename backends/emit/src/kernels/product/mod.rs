//! Matrix products, on devices whose groups share local memory.
//!
//! A group computes a tile of a product: it brings tiles of both matrices into local memory, the next ones while it
//! multiplies those that are there, and each work-item sums a small block of the result in registers. Whatever is outside
//! of the matrices is taken for 0. Where there are fewer tiles than the device has room for, the sums are cut into parts,
//! which a second kernel adds up. All of it depends on the plan and the device alone, so that the bits of a result are the
//! same every time.
//!
//! What is no matrix product, and what has few rows or columns, is left to [reductions](super::reduce), as is everything on
//! a processor.
//!
//! A block is up to 8 by 8 sums in a work-item's registers. Strides are arguments; a text depends on the
//! dtypes, the form of the tile, the number of further dimensions, and along which dimension of either matrix
//! neighbours read. The form is the largest tile that fits the device's local memory and of which there are
//! as many as compute units. 16-bit floats are converted as they are brought; nothing else is computed on the
//! way, so an operand that is a longer recorded expression makes a reduction.
//!
//! On an H100, the kernels alone beside the better of CuPy and PyTorch in the same run, as its time over ours
//! (as reductions in brackets): `float32` 4096 0.89 (0.11), 1024 0.91 (0.06); `float64` 4096 0.38 (0.04):
//! 22.7 TFLOP/s of the 33.5 that its arithmetic has. cuBLAS computes these with matrix instructions, which
//! OpenCL C has no function for; no form of a tile came nearer (16.6 to 22.7). Forms for `float32`, 4096 then
//! 1024, in TFLOP/s: 128 × 128 45.8 and 32.5, 64 × 64 by blocks of 8 × 8 42.8 and 32.5, by 4 × 4 30.1 and
//! 25.9, 256 × 128 41.9. On an H200, from Python, each product waited for: `float32` 256 0.75 to 0.9, 1024
//! 0.9 to 1.0, 4096 0.83; `float64` 256 0.8 to 1.0, 1024 0.41, 4096 0.37.

#[cfg(test)]
mod tests;

use smallvec::{SmallVec, smallvec};
use stridewise_core::{
    Dtype, DtypeKind, Op,
    backend::{Family, Fold, LaunchPlan, MatrixProduct, Program},
};

use super::reduce::numbers::{Names, Numbers};
use super::reduce::space::Space;
use super::reduce::state::Folding;
use super::text::{Parameters, c_type};
use super::{Argument, BAND, Key, Stage, Target, Work, Writer, reduce};
use crate::emit;

/// Rows and columns from which on tiles are worth it.
const LEAST: usize = 8;
/// Groups of a compute unit where sums are cut into parts.
const SPLIT_GROUPS: usize = 2;
/// Products that a part sums at least.
const PART: usize = 64;
/// Parts of a sum at most.
const MOST_PARTS: usize = 64;
/// Bytes that a work-item reads from local memory at once.
const VECTOR_BYTES: usize = 16;

/// How a product is cut up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Form {
    /// Rows and columns of a tile of the result.
    tile: [usize; 2],
    /// Products that are summed from one pair of tiles.
    depth: usize,
    /// Rows and columns of a work-item's block.
    block: [usize; 2],
}

/// The forms for sums of up to 4, 8 and 16 bytes, the largest tiles first.
const FORMS: [&[Form]; 3] = [
    &[
        Form { tile: [128, 128], depth: 16, block: [8, 8] },
        Form { tile: [64, 64], depth: 16, block: [8, 8] },
        Form { tile: [32, 32], depth: 32, block: [4, 4] },
    ],
    &[
        Form { tile: [128, 64], depth: 8, block: [8, 8] },
        Form { tile: [64, 64], depth: 16, block: [4, 4] },
        Form { tile: [32, 32], depth: 16, block: [4, 4] },
    ],
    &[Form { tile: [32, 32], depth: 8, block: [4, 4] }],
];

impl Form {
    const fn group(self) -> usize {
        self.tile[0] / self.block[0] * (self.tile[1] / self.block[1])
    }

    /// Bytes of local memory for sums of so many bytes.
    const fn local_bytes(self, size: usize) -> usize {
        2 * self.depth * ((self.tile[0] + self.tile[1]) * size + 2 * VECTOR_BYTES)
    }

    fn tiles(self, product: &MatrixProduct) -> usize {
        product.m.len.div_ceil(self.tile[0]) * product.n.len.div_ceil(self.tile[1])
    }
}

/// The dtype that a kernel sums in: integers as unsigned ones, which wrap.
const fn sum(dtype: Dtype) -> Dtype {
    match dtype {
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::U8 | Dtype::U16 | Dtype::U32 => Dtype::U32,
        Dtype::I64 | Dtype::U64 => Dtype::U64,
        other => other,
    }
}

/// A product with the form of its kernel.
struct Multiplication {
    product: MatrixProduct,
    form: Form,
    /// The inputs, as they are named in the text: the one with the rows of the result as it is computed first.
    inputs: [usize; 2],
    /// Whether work-items that stand next to each other read along the summed dimension, of either.
    along: [bool; 2],
    /// Parts of the sums, and the products of one.
    parts: usize,
    chunk: usize,
}

/// The kernels of a reduction that is a matrix product, where they are faster than [those of reductions](reduce::work).
pub(super) fn work<'a>(plan: &'a LaunchPlan, target: &'a Target) -> Option<Work<'a>> {
    if target.cpu {
        return None;
    }
    let multiplication = Multiplication::of(plan, target)?;
    multiplication.work(plan, target)
}

impl Multiplication {
    fn of(plan: &LaunchPlan, target: &Target) -> Option<Self> {
        let mut product = plan.product()?;
        let mut inputs = [0, 1];
        // Work-items that stand next to each other write along the columns.
        if product.m.steps[2].unsigned_abs() < product.n.steps[2].unsigned_abs() {
            std::mem::swap(&mut product.m, &mut product.n);
            inputs = [1, 0];
        }
        if product.m.len.min(product.n.len) < LEAST {
            return None;
        }
        let size = sum(product.dtype).size();
        let count: usize = product.batch.iter().map(|side| side.len).product();
        let fits =
            |form: &&Form| form.group() <= target.max_group && form.local_bytes(size) <= target.local_bytes;
        let forms = FORMS[size.max(4).ilog2() as usize - 2].iter().filter(fits);
        let units = target.compute_units;
        let enough = |form: &&Form| form.tiles(&product) * count >= units;
        let form = *forms.clone().find(enough).or_else(|| forms.clone().next_back())?;
        // Parts of the sums, where there are not enough tiles.
        let groups = form.tiles(&product) * count;
        let parts = (SPLIT_GROUPS * units / groups).min(product.k.len / PART).clamp(1, MOST_PARTS);
        let chunk = product.k.len.div_ceil(parts).next_multiple_of(form.depth);
        let parts = product.k.len.div_ceil(chunk);
        let nearer = |input: usize, side: [isize; 3], k: [isize; 3]| {
            k[input].unsigned_abs() < side[input].unsigned_abs()
        };
        let k = product.k.steps;
        let along = [nearer(inputs[0], product.m.steps, k), nearer(inputs[1], product.n.steps, k)];
        Some(Self { product, form, inputs, along, parts, chunk })
    }

    /// The kernels.
    fn work<'a>(self, plan: &'a LaunchPlan, target: &'a Target) -> Option<Work<'a>> {
        let MatrixProduct { dtype, out: stored, m, n, k, ref batch, .. } = self.product;
        let Family::Reduce { finish, .. } = &plan.family else { return None };
        let [a, b] = self.inputs;
        let outputs = batch.iter().map(|side| side.len).product::<usize>() * m.len * n.len;
        // Of several parts, each lies row by row in scratch memory.
        let mut dense = outputs;
        let mut next = |len: usize| {
            dense /= len;
            dense.cast_signed()
        };
        let rows: SmallVec<[isize; 8]> = batch.iter().chain([&m, &n]).map(|side| next(side.len)).collect();
        let split = self.parts > 1;
        let out = |d: usize, steps: [isize; 3]| if split { rows[d] } else { steps[2] };
        let dims = batch.len();
        let mut values: SmallVec<[isize; 32]> =
            [m.len, n.len, k.len, self.chunk, self.parts].iter().map(|len| len.cast_signed()).collect();
        values.extend([m.steps[a], k.steps[a], n.steps[b], k.steps[b]]);
        values.extend([out(dims, m.steps), out(dims + 1, n.steps), outputs.cast_signed()]);
        for (d, side) in batch.iter().enumerate() {
            values.extend([side.len.cast_signed(), side.steps[a], side.steps[b], out(d, side.steps)]);
        }
        let numbers = Numbers::new(values, 0, 3);
        let mut key = Key::new(Writer::Product);
        let flags = usize::from(self.along[0]) | usize::from(self.along[1]) << 1;
        let inputs = self.inputs.map(|input| plan.program.inputs()[input]);
        // Of several parts, the sums are rounded when all of them are added.
        let written = if split { dtype } else { stored };
        let dtypes = [dtype, written, inputs[0], inputs[1]].map(|dtype| dtype as usize);
        for number in dtypes.into_iter().chain([flags, dims]) {
            key.push(number);
        }
        for number in self.form.tile.into_iter().chain([self.form.depth]).chain(self.form.block) {
            key.push(number);
        }
        numbers.key(&mut key);
        let output = plan.outputs[0].ptr;
        let mut arguments: SmallVec<[Argument; 12]> = smallvec![
            Argument::Memory(plan.inputs[a].ptr),
            Argument::Memory(plan.inputs[b].ptr),
            if split { Argument::Scratch(0) } else { Argument::Memory(output) },
        ];
        arguments.extend(numbers.argument());
        let group = self.form.group();
        let count = outputs / (m.len * n.len);
        let global = [self.form.tiles(&self.product) * count * self.parts * group, 1];
        let (form, along, parts) = (self.form, self.along, self.parts);
        let source = Box::new(move || form.text(target, inputs, [dtype, written], along, dims, &numbers));
        let mut stages = smallvec![Stage { key, source, arguments, global, local: [group, 1] }];
        if !split {
            return Some(Work { scratch_bytes: 0, stages });
        }
        let sides = || batch.iter().chain([&m, &n]);
        let kept = Space {
            extents: sides().map(|side| side.len).collect(),
            strides: smallvec![sides().map(|side| side.steps[2]).collect()],
        };
        let folding = Folding::new(Fold::Op(Op::Add), dtype, reduce::narrow(outputs.max(parts))).ok()?;
        let merging = reduce::Merging { parts, kept, folding, finish: finish.as_deref(), out: stored };
        stages.push(merging.stage(output, target));
        Some(Work { scratch_bytes: parts * outputs * dtype.size(), stages })
    }
}

impl Form {
    fn text(
        self,
        target: &Target,
        inputs: [Dtype; 2],
        [dtype, out]: [Dtype; 2],
        along: [bool; 2],
        dims: usize,
        numbers: &Numbers,
    ) -> String {
        let conversions = [(inputs[0], dtype), (inputs[1], dtype), (dtype, out)]
            .map(|(from, to)| Program::convert(from, to));
        let acc = sum(dtype);
        let width = (VECTOR_BYTES / acc.size()).max(1);
        let vector = super::text::vector(acc, width);
        // A sum of products is what a device has one instruction for. OpenCL C is told that it may; to CUDA it is named.
        let cuda = target.dialect.is_cuda();
        let multiply_add = match acc.kind() {
            DtypeKind::Complex => "multiply_add(a, b, c)",
            DtypeKind::Float if cuda => "fma(a, b, c)",
            _ => "(a) * (b) + (c)",
        };
        let mut text = emit::prelude(target, &conversions.each_ref());
        for (name, conversion) in ["load_a", "load_b", "rounded"].iter().zip(&conversions) {
            text.push_str(&emit::function(name, conversion, target));
        }
        text.push_str("#pragma OPENCL FP_CONTRACT ON\n");
        if acc.kind() == DtypeKind::Complex {
            let ty = c_type(acc);
            let sum = |a: &str, b: &str, c: &str| match cuda {
                true => format!("fma({a}, {b}, {c})"),
                false => format!("{a} * {b} + {c}"),
            };
            text.push_str(&format!(
                "static inline {ty} multiply_add({ty} a, {ty} b, {ty} c)\n{{\n    \
                 c.x = {};\n    c.y = {};\n    c.x = {};\n    c.y = {};\n    return c;\n}}\n",
                sum("a.x", "b.x", "c.x"),
                sum("a.x", "b.y", "c.y"),
                sum("-a.y", "b.y", "c.x"),
                sum("a.y", "b.x", "c.y"),
            ));
        }
        let [bm, bn] = self.tile;
        let [tm, tn] = self.block;
        for (name, value) in [
            ("BM", bm),
            ("BN", bn),
            ("BK", self.depth),
            ("TM", tm),
            ("TN", tn),
            ("V", width),
            ("BAND", BAND),
            ("A_ALONG_K", usize::from(along[0])),
            ("B_ALONG_K", usize::from(along[1])),
        ] {
            text.push_str(&format!("#define {name} {value}\n"));
        }
        text.push_str(&format!(
            "#define ACC {}\n#define VECTOR {vector}\n#define SUM {}\n#define MULTIPLY_ADD(a, b, c) {multiply_add}\n",
            c_type(acc),
            c_type(dtype),
        ));
        text.push_str(include_str!("head.cl"));
        text.push_str(&numbers.types());
        let mut parameters = Parameters::new(target);
        parameters.memory(&format!("const {}", c_type(inputs[0])), "a");
        parameters.memory(&format!("const {}", c_type(inputs[1])), "b");
        parameters.memory(c_type(out), "out");
        numbers.declare(&mut parameters);
        let mut names = Names::default();
        for name in ["m", "n", "k", "chunk", "parts", "a_m", "a_k", "b_n", "b_k", "o_m", "o_n", "o_part"] {
            names.push("long", name);
        }
        let mut batch = String::new();
        for d in (0..dims).rev() {
            batch.push_str(&format!(
                "    {{ const long i = rest % len{d}; rest /= len{d}; a += i * a_{d}; b += i * b_{d}; \
                 out += i * o_{d}; }}\n"
            ));
        }
        for d in 0..dims {
            for name in ["len", "a_", "b_", "o_"] {
                names.push("long", format!("{name}{d}"));
            }
        }
        let fetch = |from: &str| include_str!("fetch.cl").replace("FROM", from);
        let store = |to: &str| include_str!("store.cl").replace("TO", to);
        let body = numbers.lines(&names)
            + &include_str!("body.cl")
                .replace("FETCH(begin)\n", &fetch("begin"))
                .replace("FETCH(at + BK)\n", &fetch("at + BK"))
                .replace("STORE(0)\n", &store("0"))
                .replace("STORE(now ^ 1)\n", &store("now ^ 1"))
                .replace("BATCH\n", &batch);
        let attributes = format!("__attribute__((reqd_work_group_size({}, 1, 1)))", self.group());
        text + &parameters.kernel(&attributes, &body)
    }
}
