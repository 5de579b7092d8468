//! The texts of the kernels of reductions.
//!
//! [`Form`] says what a text depends on, and is in its key; extents and strides are arguments ([`Numbers`]).
//! Two kernels are written here.
//! ```text
//! source   each work-item: a loop over its points, `unroll` vectors at a time, into `accumulators` states
//!          those of a group: a tree in local memory                     ─► results, or states in scratch memory (`partial`)
//! merge    the states of an output's parts ─► results
//! ```
//! What a state is, how two are combined and what becomes of the last one comes from [`Folding`]
//! (`state.rs`); how elements are read, from `load.rs`. So a new fold needs nothing here.
//!
//! The order of a fold is in these texts: blocks of [`BLOCK`] passes go to a stack of sums (`stacked`), so
//! that errors grow as those of a pairwise sum. It depends on the plan and the device alone; a change of it
//! changes bits, and of `unroll` only the speed.

use std::fmt::Write as _;

use stridewise_core::{Dtype, backend::Program};

use super::load::{Inputs, declare_constants, part_type, parts};
use super::numbers::{Names, Numbers};
use super::state::Folding;
use crate::emit;
use crate::kernels::text::Parameters;
use crate::kernels::{Key, Target};

/// Passes of the unrolled loop before an accumulator goes to the stack of sums, so that errors grow as those of a
/// pairwise sum: a matter of accuracy, not of speed.
pub(super) const BLOCK: usize = 16;
/// Sums on the stack at most: one per binary digit of the number of blocks.
const LEVELS: usize = 48;

/// What the text of a kernel that folds values depends on, besides the program and the fold.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) inputs: Inputs,
    /// Vectors lie along kept dimensions: each of their elements is of another output.
    pub(super) across: bool,
    /// Work-items of a group share outputs.
    pub(super) tree: bool,
    /// Vectors in flight.
    pub(super) unroll: usize,
    /// Accumulators of an output.
    pub(super) accumulators: usize,
    /// Number of kept dimensions.
    pub(super) kept: usize,
    /// Number of folded dimensions, at least 1.
    pub(super) folded: usize,
    /// States go to scratch memory instead of results to the output.
    pub(super) partial: bool,
    /// Work-items keep a stack of sums.
    pub(super) stacked: bool,
}

/// What becomes of a folded value.
pub(super) struct Ending<'a> {
    pub(super) finish: Option<&'a Program>,
    pub(super) out: Dtype,
}

/// Type of an index.
fn number(folding: &Folding) -> &'static str {
    if folding.narrow { "int" } else { "long" }
}

impl Form {
    /// Adds what the text depends on.
    pub(super) fn key(&self, key: &mut Key) {
        self.inputs.key(key);
        let flags = [self.across, self.tree, self.partial, self.stacked];
        let flags = flags.iter().rev().fold(0, |bits, &flag| bits << 1 | usize::from(flag));
        for value in [flags, self.unroll, self.accumulators, self.kept, self.folded] {
            key.push(value);
        }
    }

    /// Outputs that a work-item folds at once.
    pub(super) fn lanes(&self) -> usize {
        if self.across { self.inputs.width } else { 1 }
    }

    /// Elements of a vector along folded dimensions.
    fn depth(&self) -> usize {
        if self.across { 1 } else { self.inputs.width }
    }

    /// The names of the numbers, in the order in which the plan's values are listed.
    fn names(&self, program: &Program, folding: &Folding) -> Names {
        let index = number(folding);
        let mut names = Names::default();
        for name in ["rows", "n", "chunk", "total", "each", "outs"] {
            names.push(index, name);
        }
        for name in ["sx", "sy", "mx", "my"] {
            names.push("int", name);
        }
        names.dims(index, "m", self.kept);
        names.dims(index, "e", self.folded);
        for k in 0..program.inputs().len() {
            names.dims("long", &format!("a{k}_"), self.kept);
            names.dims("long", &format!("f{k}_"), self.folded);
            names.push("long", format!("u{k}"));
            names.push("long", format!("b{k}"));
        }
        if !self.partial {
            names.dims("long", "w_", self.kept);
            names.push("long", "uw");
        }
        names
    }

    /// The text.
    pub(super) fn source(
        &self,
        target: &Target,
        program: &Program,
        folding: &Folding,
        ending: &Ending<'_>,
        numbers: &Numbers,
    ) -> String {
        let finish = ending.finish.filter(|_| !self.partial);
        let own = folding.programs();
        let programs: Vec<&Program> = std::iter::once(program).chain(finish).chain(&own).collect();
        let mut text = emit::prelude(target, &programs);
        text.push_str(&numbers.types());
        text.push_str(&emit::function("sw_value", program, target));
        text.push_str(&folding.declarations(target));
        let mut parameters = Parameters::new(target);
        self.inputs.declare(program, &mut parameters);
        if self.partial {
            parameters.memory("state", "partial");
        } else {
            text.push_str(&finish.map_or_else(String::new, |f| emit::function("sw_finish", f, target)));
            parameters.memory(part_type(ending.out), "out");
        }
        declare_constants(program, "c", &mut parameters);
        if let Some(finish) = finish {
            declare_constants(finish, "d", &mut parameters);
        }
        numbers.declare(&mut parameters);
        if self.tree {
            parameters.local("state", "slots");
        }
        let body = numbers.lines(&self.names(program, folding)) + &self.body(program, folding, ending);
        text + &parameters.kernel("", &body)
    }

    fn body(&self, program: &Program, folding: &Folding, ending: &Ending<'_>) -> String {
        let index = number(folding);
        let mut text = String::new();
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(text, "    const {index} q = ({index})get_group_id(1);");
        if self.tree {
            text.push_str(&rows_of_group(index));
            let _ = writeln!(text, "    const {index} step = my + 1;");
        } else {
            let _ = writeln!(
                text,
                "    const {index} y = 0, step = 1;\n    \
                 const {index} first = ({index})get_global_id(0) * each;\n    \
                 const {index} last = min(rows, first + each);\n    \
                 for ({index} r = first; r < last; ++r) {{"
            );
        }
        for v in 0..self.lanes() {
            let _ = writeln!(text, "    state s_{v} = none();");
        }
        if !self.partial {
            text.push_str("    long w = 0;\n");
        }
        let _ = writeln!(text, "    {} {{", if self.tree { "if (r < rows)" } else { "" });
        for k in 0..program.inputs().len() {
            let _ = writeln!(text, "        long h{k} = b{k};");
        }
        let moved: Vec<String> = (0..program.inputs().len()).map(|k| format!("h{k} += i * a{k}_")).collect();
        text.push_str(&walk(index, "m", self.kept, "r", |d| {
            let mut all: Vec<String> = moved.iter().map(|m| format!("{m}{d};")).collect();
            if !self.partial {
                all.push(format!("w += i * w_{d};"));
            }
            all.join(" ")
        }));
        text.push_str(&self.fold(program, folding, index));
        text.push_str("    }\n");
        if self.tree {
            text.push_str(&tree(self.lanes()));
        }
        let guard = if self.tree { "if (r < rows && y == 0) " } else { "" };
        let _ = writeln!(text, "    {guard}{{");
        for v in 0..self.lanes() {
            let _ = if self.partial {
                let lanes = self.lanes();
                writeln!(text, "        partial[(long)q * outs + (long)r * {lanes} + {v}] = s_{v};")
            } else {
                writeln!(text, "        {}", ending.store(&format!("s_{v}"), &format!("w + {v} * uw")))
            };
        }
        text.push_str("    }\n");
        if !self.tree {
            text.push_str("    }\n");
        }
        text
    }

    /// The loop over the folded points of an output, or of one vector of outputs.
    fn fold(&self, program: &Program, folding: &Folding, index: &str) -> String {
        let inputs = program.inputs().len();
        let (unroll, lanes) = (self.unroll, self.lanes());
        let mut text = String::new();
        let _ = writeln!(
            text,
            "        const {index} end = min(n, (q + 1) * chunk);\n        {index} p = q * chunk + y;"
        );
        if self.folded == 1 {
            for k in 0..inputs {
                let _ = writeln!(
                    text,
                    "        long o{k} = h{k} + p * f{k}_0;\n        const long d{k} = step * f{k}_0;"
                );
            }
        } else {
            // The place as one number per dimension, and how these change from one point of this work-item to the next.
            for k in 0..inputs {
                let _ = writeln!(text, "        long o{k} = h{k}, d{k} = 0;");
            }
            for (name, from, to) in [("i", "p", "o"), ("j", "step", "d")] {
                let _ = writeln!(text, "        {index} {name} = {from};");
                for d in (0..self.folded).rev() {
                    let _ = if d > 0 {
                        writeln!(text, "        {index} {name}{d} = {name} % e{d};\n        {name} /= e{d};")
                    } else {
                        writeln!(text, "        {index} {name}0 = {name};")
                    };
                    for k in 0..inputs {
                        let _ = writeln!(text, "        {to}{k} += {name}{d} * f{k}_{d};");
                    }
                }
            }
            for d in 1..self.folded {
                for k in 0..inputs {
                    let _ = writeln!(text, "        const long t{k}_{d} = f{k}_{} - e{d} * f{k}_{d};", d - 1);
                }
            }
        }
        let rounds = self.stacked;
        let block = BLOCK * unroll;
        if rounds {
            for v in 0..lanes {
                let _ = writeln!(text, "        state stack_{v}[{LEVELS}];");
            }
            let _ = writeln!(
                text,
                "        uint blocks = 0;\n        while (p < end) {{\n        \
                 const {index} stop = end - p > {block} * step ? p + {block} * step : end;"
            );
        } else {
            let _ = writeln!(text, "        const {index} stop = end;");
        }
        for v in 0..lanes {
            for a in 0..self.accumulators {
                let _ = writeln!(text, "        state a{v}_{a} = none();");
            }
        }
        if unroll > 1 {
            let _ = writeln!(text, "        while (stop - p > {} * step) {{", unroll - 1);
            text.push_str(&self.steps(program, folding, unroll));
            text.push_str("        }\n");
        }
        text.push_str("        while (p < stop) {\n");
        text.push_str(&self.steps(program, folding, 1));
        text.push_str("        }\n");
        for v in 0..lanes {
            let mut half = self.accumulators / 2;
            while half > 0 {
                for a in 0..half {
                    let _ = writeln!(text, "        a{v}_{a} = join(a{v}_{a}, a{v}_{});", a + half);
                }
                half /= 2;
            }
        }
        if rounds {
            text.push_str("        uint level = 0;\n        for (uint c = blocks; c & 1; c >>= 1) {\n");
            for v in 0..lanes {
                let _ = writeln!(text, "            a{v}_0 = join(stack_{v}[level], a{v}_0);");
            }
            text.push_str("            ++level;\n        }\n");
            for v in 0..lanes {
                let _ = writeln!(text, "        stack_{v}[level] = a{v}_0;");
            }
            text.push_str(
                "        ++blocks;\n        }\n        \
                 for (uint c = blocks, level = 0; c != 0; c >>= 1, ++level) {\n            if (c & 1) {\n",
            );
            for v in 0..lanes {
                let _ = writeln!(text, "                s_{v} = join(stack_{v}[level], s_{v});");
            }
            text.push_str("            }\n        }\n");
        } else {
            for v in 0..lanes {
                let _ = writeln!(text, "        s_{v} = a{v}_0;");
            }
        }
        if self.depth() > 1 && self.folded == 1 {
            // What a vector is too wide for.
            let _ = writeln!(
                text,
                "        if (end == n) {{\n        for ({index} t = n * {} + y; t < total; t += step) {{",
                self.depth()
            );
            for k in 0..inputs {
                let _ = writeln!(text, "            const long o{k} = h{k} + t * u{k};");
            }
            text.push_str(&self.inputs.load(program, "0", false, "            "));
            let place = if folding.places() { ", t" } else { "" };
            let elements = self.inputs.elements(program, "0", 0, false);
            let _ = writeln!(text, "            s_0 = take(s_0, sw_value({elements}){place});");
            text.push_str("        }\n        }\n");
        }
        text
    }

    /// So many steps: what is read first, then what is computed.
    fn steps(&self, program: &Program, folding: &Folding, count: usize) -> String {
        let mut text = String::new();
        for u in 0..count {
            text.push_str(&self.inputs.load(program, &u.to_string(), true, "            "));
            text.push_str(&self.advance(program, number(folding)));
        }
        let mut number = 0;
        for u in 0..count {
            for j in 0..self.inputs.width {
                let (v, a) =
                    if self.across { (j, u % self.accumulators) } else { (0, number % self.accumulators) };
                number += 1;
                let elements = self.inputs.elements(program, &u.to_string(), j, true);
                let place = match (folding.places(), self.depth()) {
                    (false, _) => String::new(),
                    (true, 1) => format!(", p + {u} * step"),
                    (true, depth) => format!(", (p + {u} * step) * {depth} + {j}"),
                };
                let _ = writeln!(text, "            a{v}_{a} = take(a{v}_{a}, sw_value({elements}){place});");
            }
        }
        let _ = writeln!(text, "            p += {count} * step;");
        text
    }

    /// From one point of a work-item to its next.
    fn advance(&self, program: &Program, index: &str) -> String {
        let inputs = program.inputs().len();
        let mut text = String::new();
        if self.folded > 1 {
            for d in (0..self.folded).rev() {
                let carry = if d + 1 < self.folded { format!(" + carry{}", d + 1) } else { String::new() };
                let _ = writeln!(text, "            i{d} += j{d}{carry};");
                if d > 0 {
                    let _ = writeln!(
                        text,
                        "            const {index} carry{d} = i{d} >= e{d};\n            i{d} -= carry{d} ? e{d} : 0;"
                    );
                }
            }
        }
        for k in 0..inputs {
            let _ = write!(text, "            o{k} += d{k}");
            for d in 1..self.folded {
                let _ = write!(text, " + (carry{d} ? t{k}_{d} : 0)");
            }
            text.push_str(";\n");
        }
        if self.folded > 1 { format!("            {{\n{text}            }}\n") } else { text }
    }
}

impl Ending<'_> {
    /// Writes the result of a state to the output.
    fn store(&self, state: &str, offset: &str) -> String {
        let mut value = format!("result({state})");
        if let Some(finish) = self.finish {
            let constants: String = (0..finish.consts().len()).map(|c| format!(", d{c}")).collect();
            value = format!("sw_finish({value}{constants})");
        }
        if parts(self.out) == 2 {
            format!("vstore2({value}, {offset}, out);")
        } else {
            format!("out[{offset}] = {value};")
        }
    }
}

/// The row and the place in it of a work-item of a group.
fn rows_of_group(index: &str) -> String {
    format!(
        "    const int lid = (int)get_local_id(0);\n    \
         const {index} r = ({index})get_group_id(0) * (mx + 1) + (lid >> sx & mx);\n    \
         const int y = lid >> sy & my;\n"
    )
}

/// Takes a number apart into an index `i` per dimension, innermost first; `each` says what follows from it.
fn walk(index: &str, extents: &str, dims: usize, from: &str, each: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    if dims > 0 {
        let _ = writeln!(text, "        {index} rest = {from};");
    }
    for d in (0..dims).rev() {
        let _ = if d > 0 {
            writeln!(
                text,
                "        {{ const {index} i = rest % {extents}{d}; rest /= {extents}{d}; {} }}",
                each(d)
            )
        } else {
            writeln!(text, "        {{ const {index} i = rest; {} }}", each(d))
        };
    }
    text
}

/// The states `s_0`, `s_1` and so on of a row's work-items become those of its first.
fn tree(lanes: usize) -> String {
    let mut text = String::from(
        "    for (int reach = (my + 1) >> 1; reach > 0; reach >>= 1) {\n        if (y >= reach && y < 2 * reach) {\n",
    );
    for v in 0..lanes {
        let _ = writeln!(text, "            slots[lid + {v} * (int)get_local_size(0)] = s_{v};");
    }
    // The next pass writes to other slots than this one reads.
    text.push_str("        }\n        barrier(CLK_LOCAL_MEM_FENCE);\n        if (y < reach) {\n");
    for v in 0..lanes {
        let _ = writeln!(
            text,
            "            s_{v} = join(s_{v}, slots[lid + (reach << sy) + {v} * (int)get_local_size(0)]);"
        );
    }
    text.push_str("        }\n    }\n");
    text
}

/// The kernel that folds the states of every output's parts: `kept` dimensions, and whether work-items of a group share
/// outputs. A state is at its part times the number of outputs plus the output.
pub(super) fn merge(
    target: &Target,
    folding: &Folding,
    ending: &Ending<'_>,
    numbers: &Numbers,
    kept: usize,
    shared: bool,
) -> String {
    let index = number(folding);
    let own = folding.programs();
    let programs: Vec<&Program> = ending.finish.into_iter().chain(&own).collect();
    let mut text = emit::prelude(target, &programs);
    text.push_str(&numbers.types());
    text.push_str(&folding.declarations(target));
    let mut parameters = Parameters::new(target);
    parameters.memory("const state", "partial");
    parameters.memory(part_type(ending.out), "out");
    if let Some(finish) = ending.finish {
        text.push_str(&emit::function("sw_finish", finish, target));
        declare_constants(finish, "d", &mut parameters);
    }
    numbers.declare(&mut parameters);
    if shared {
        parameters.local("state", "slots");
    }
    let mut names = Names::default();
    names.push(index, "rows");
    names.push(index, "n");
    for name in ["sx", "sy", "mx", "my"] {
        names.push("int", name);
    }
    names.dims(index, "m", kept);
    names.dims("long", "w_", kept);
    let mut body = numbers.lines(&names);
    body.push_str(&rows_of_group(index));
    let _ = writeln!(
        body,
        "    state s_0 = none();\n    if (r < rows) {{\n        \
         for ({index} p = y; p < n; p += my + 1) {{\n            \
         s_0 = join(s_0, partial[(long)p * rows + r]);\n        }}\n    }}"
    );
    if shared {
        body.push_str(&tree(1));
    }
    body.push_str("    if (r < rows && y == 0) {\n        long w = 0;\n");
    body.push_str(&walk(index, "m", kept, "r", |d| format!("w += i * w_{d};")));
    let _ = writeln!(body, "        {}\n    }}", ending.store("s_0", "w"));
    text + &parameters.kernel("", &body)
}
