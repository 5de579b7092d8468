//! The texts of the kernels of scans.

use std::fmt::Write as _;

use stridewise_core::backend::Program;

use crate::emit;
use crate::kernels::reduce::load::{Inputs, declare_constants, part_type, parts};
use crate::kernels::reduce::numbers::{Names, Numbers};
use crate::kernels::reduce::state::Folding;
use crate::kernels::text::Parameters;
use crate::kernels::{Key, Target};

/// Elements that a work-item of a group takes at once, next to each other.
pub(super) const WIDTH: usize = 4;
/// Work-items of a group whose values are put one after the other at once.
pub(super) const SEGMENT: usize = 16;

/// What a kernel does to the parts of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// There is one part: it is scanned.
    Whole,
    /// What each part comes to goes to scratch memory.
    Total,
    /// Each part is scanned behind what scratch memory says of those before it.
    Rest,
}

/// What the text of a kernel depends on, besides the program and the fold.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) mode: Mode,
    pub(super) inputs: Inputs,
    /// A group scans a part together; otherwise a work-item does.
    pub(super) group: bool,
    /// Stretches of a group's work-items in flight, or elements of a work-item's.
    pub(super) unroll: usize,
    /// The output is written in vectors.
    pub(super) vectors: bool,
    /// Number of dimensions before the last.
    pub(super) outer: usize,
}

impl Form {
    /// Adds what the text depends on.
    pub(super) fn key(&self, key: &mut Key) {
        self.inputs.key(key);
        let flags = usize::from(self.group) | usize::from(self.vectors) << 1;
        for value in [self.mode as usize, flags, self.unroll, self.outer] {
            key.push(value);
        }
    }

    fn names(&self, program: &Program, index: &'static str) -> Names {
        let mut names = Names::default();
        for name in ["rows", "n", "chunk", "parts", "each"] {
            names.push(index, name);
        }
        names.dims(index, "m", self.outer);
        for k in 0..program.inputs().len() {
            names.dims("long", &format!("a{k}_"), self.outer);
            names.push("long", format!("u{k}"));
            names.push("long", format!("b{k}"));
        }
        names.dims("long", "w_", self.outer);
        names.push("long", "uw");
        names
    }

    /// The text.
    pub(super) fn source(
        &self,
        target: &Target,
        program: &Program,
        folding: &Folding,
        numbers: &Numbers,
    ) -> String {
        let index = if folding.narrow { "int" } else { "long" };
        let own = folding.programs();
        let programs: Vec<&Program> = std::iter::once(program).chain(&own).collect();
        let mut text = emit::prelude(target, &programs);
        text.push_str(&numbers.types());
        text.push_str(&emit::function("sw_value", program, target));
        text.push_str(&folding.declarations(target));
        let mut parameters = Parameters::new(target);
        self.inputs.declare(program, &mut parameters);
        match self.mode {
            Mode::Whole => {}
            Mode::Total => parameters.memory("state", "partial"),
            Mode::Rest => parameters.memory("const state", "partial"),
        }
        if self.mode != Mode::Total {
            parameters.memory(part_type(folding.value), "out");
        }
        declare_constants(program, "c", &mut parameters);
        numbers.declare(&mut parameters);
        if self.group {
            parameters.local("state", "slots");
        }
        let mut body = numbers.lines(&self.names(program, index));
        let first = if self.group { "get_group_id(0)" } else { "get_global_id(0)" };
        let _ = writeln!(
            body,
            "    const {index} q = ({index})get_group_id(1);\n    \
             const {index} first = ({index}){first} * each, last = min(rows, first + each);\n    \
             const {index} begin = q * chunk, end = min(n, begin + chunk);\n    \
             for ({index} r = first; r < last; ++r) {{"
        );
        for k in 0..program.inputs().len() {
            let _ = writeln!(body, "        long h{k} = b{k};");
        }
        body.push_str("        long w = 0;\n");
        if self.outer > 0 {
            let _ = writeln!(body, "        {index} rest = r;");
        }
        for d in (0..self.outer).rev() {
            let (this, left) = if d > 0 {
                (format!("rest % m{d}"), format!(" rest /= m{d};"))
            } else {
                ("rest".into(), String::new())
            };
            let _ = write!(body, "        {{ const {index} i = {this};{left} w += i * w_{d};");
            for k in 0..program.inputs().len() {
                let _ = write!(body, " h{k} += i * a{k}_{d};");
            }
            body.push_str(" }\n");
        }
        if self.mode == Mode::Rest {
            body.push_str("        const state before = partial[(long)r * parts + q];\n");
        }
        body.push_str(&if self.group {
            self.group(program, folding, index)
        } else {
            self.item(program, folding)
        });
        body.push_str("    }\n");
        text + &parameters.kernel("", &body)
    }

    /// The output's element of a state.
    fn result(&self, state: &str) -> String {
        if self.mode == Mode::Rest {
            format!("result(join(before, {state}))")
        } else {
            format!("result({state})")
        }
    }

    /// Writes a value to the output.
    fn store(folding: &Folding, value: &str, offset: &str) -> String {
        if parts(folding.value) == 2 {
            format!("vstore2({value}, {offset}, out);")
        } else {
            format!("out[{offset}] = {value};")
        }
    }

    /// One work-item goes along a part.
    fn item(&self, program: &Program, folding: &Folding) -> String {
        let inputs = program.inputs().len();
        let mut text = String::new();
        for k in 0..inputs {
            let _ = writeln!(text, "        long o{k} = h{k} + begin * u{k};");
        }
        text.push_str("        long at = w + begin * uw, left = end - begin;\n        state s = none();\n");
        for count in [self.unroll, 1] {
            let _ = writeln!(text, "        for (; left >= {count}; left -= {count}) {{");
            for u in 0..count {
                text.push_str(&self.inputs.load(program, &u.to_string(), false, "            "));
                for k in 0..inputs {
                    let _ = writeln!(text, "            o{k} += u{k};");
                }
            }
            for u in 0..count {
                let elements = self.inputs.elements(program, &u.to_string(), 0, false);
                let _ = writeln!(text, "            s = take(s, sw_value({elements}));");
                if self.mode != Mode::Total {
                    let store = Self::store(folding, &self.result("s"), "at");
                    let _ = writeln!(text, "            {store}\n            at += uw;");
                }
            }
            text.push_str("        }\n");
        }
        if self.mode == Mode::Total {
            text.push_str("        partial[(long)r * parts + q] = s;\n");
        }
        text
    }

    /// A group goes along a part, some stretches of it at once. A work-item has elements next to each other in every
    /// stretch.
    ///
    /// What is before an element is put together in the same way wherever it stands, level by level and each level from the
    /// left to the right, so that a running sum of what is not negative never falls.
    fn group(&self, program: &Program, folding: &Folding, index: &str) -> String {
        let inputs = program.inputs().len();
        let unroll = self.unroll;
        let mut text = String::new();
        let _ = writeln!(
            text,
            "        const int size = (int)get_local_size(0), lid = (int)get_local_id(0);\n        \
             const int segments = size / {SEGMENT};\n        \
             local state *sums = slots + {unroll} * (size + segments);\n        \
             local state *totals = sums + {unroll} * segments;\n        \
             const {index} stride = (size * {});\n        state carry = none();\n        \
             for ({index} base = begin; base < end; base += stride) {{",
            unroll * WIDTH
        );
        for u in 0..unroll {
            let _ = writeln!(text, "        const {index} at{u} = base + (lid + {u} * size) * {WIDTH};");
            for j in 0..WIDTH {
                let _ = writeln!(text, "        state l{u}_{j} = none();");
            }
        }
        text.push_str("        if (end - base >= stride) {\n");
        for u in 0..unroll {
            // The names of offsets are of one stretch each, those of what is read are not.
            for k in 0..inputs {
                let _ = writeln!(text, "            const long o{k}_{u} = h{k} + at{u} * u{k};");
            }
            let mut load = self.inputs.load(program, &u.to_string(), true, "            ");
            for k in 0..inputs {
                load = rename(&load, &format!("o{k}"), &format!("o{k}_{u}"));
            }
            text.push_str(&load);
        }
        for u in 0..unroll {
            for j in 0..WIDTH {
                let elements = self.inputs.elements(program, &u.to_string(), j, true);
                let before = if j == 0 { "none()".into() } else { format!("l{u}_{}", j - 1) };
                let _ = writeln!(text, "            l{u}_{j} = take({before}, sw_value({elements}));");
            }
        }
        text.push_str("        } else {\n");
        for u in 0..unroll {
            for j in 0..WIDTH {
                let before = if j == 0 { "none()".into() } else { format!("l{u}_{}", j - 1) };
                let _ = writeln!(text, "            if (at{u} + {j} < end) {{");
                for k in 0..inputs {
                    let _ = writeln!(text, "                const long o{k} = h{k} + (at{u} + {j}) * u{k};");
                }
                text.push_str(&self.inputs.load(program, "0", false, "                "));
                let elements = self.inputs.elements(program, "0", 0, false);
                let _ = writeln!(
                    text,
                    "                l{u}_{j} = take({before}, sw_value({elements}));\n            }} else {{\n                \
                     l{u}_{j} = {before};\n            }}"
                );
            }
        }
        text.push_str("        }\n");
        let last = WIDTH - 1;
        for u in 0..unroll {
            let _ = writeln!(
                text,
                "        const int slot{u} = {u} * size + lid + ({u} * size + lid) / {SEGMENT};\n        \
                 slots[slot{u}] = l{u}_{last};"
            );
        }
        let _ = writeln!(
            text,
            "        barrier(CLK_LOCAL_MEM_FENCE);\n        \
             for (int g = lid; g < {unroll} * segments; g += size) {{\n            state s = none();\n            \
                 for (int i = 0; i < {SEGMENT}; ++i) {{\n                \
                     const state t = slots[g * {} + i];\n                slots[g * {} + i] = s;\n                \
                     s = join(s, t);\n            }}\n            sums[g] = s;\n        }}\n        \
             barrier(CLK_LOCAL_MEM_FENCE);\n        \
             if (lid < {unroll}) {{\n            state s = none();\n            \
                 for (int i = lid * segments; i < (lid + 1) * segments; i += 2) {{\n                \
                     const state t = sums[i], v = sums[i + 1];\n                sums[i] = s;\n                \
                     s = join(s, t);\n                sums[i + 1] = s;\n                \
                     s = join(s, v);\n            }}\n            totals[lid] = s;\n        }}\n        \
             barrier(CLK_LOCAL_MEM_FENCE);",
            SEGMENT + 1,
            SEGMENT + 1,
        );
        for u in 0..unroll {
            if self.mode != Mode::Total {
                let _ = writeln!(
                    text,
                    "        const state i{u} = slots[slot{u}], g{u} = sums[{u} * segments + lid / {SEGMENT}];"
                );
                for j in 0..WIDTH {
                    let _ =
                        writeln!(text, "        l{u}_{j} = join(carry, join(g{u}, join(i{u}, l{u}_{j})));");
                }
            }
            let _ = writeln!(text, "        carry = join(carry, totals[{u}]);");
        }
        if self.mode != Mode::Total {
            self.write(folding, &mut text);
        }
        // The next stretches go to the same local memory.
        text.push_str("        barrier(CLK_LOCAL_MEM_FENCE);\n        }\n");
        if self.mode == Mode::Total {
            text.push_str(
                "        if (lid == 0) {\n            partial[(long)r * parts + q] = carry;\n        }\n",
            );
        }
        text
    }

    /// Writes a group's stretches.
    fn write(&self, folding: &Folding, text: &mut String) {
        text.push_str("        if (end - base >= stride) {\n");
        for u in 0..self.unroll {
            let value = |j: usize| self.result(&format!("l{u}_{j}"));
            if self.vectors {
                let n = parts(folding.value);
                let ty = format!("{}{}", part_type(folding.value), WIDTH * n);
                let values: Vec<String> = (0..WIDTH).map(value).collect();
                let _ = writeln!(
                    text,
                    "            *(global {ty} *)(out + {n} * (w + at{u} * uw)) = ({ty})({});",
                    values.join(", ")
                );
            } else {
                for j in 0..WIDTH {
                    let store = Self::store(folding, &value(j), &format!("w + (at{u} + {j}) * uw"));
                    let _ = writeln!(text, "            {store}");
                }
            }
        }
        text.push_str("        } else {\n");
        for u in 0..self.unroll {
            for j in 0..WIDTH {
                let value = self.result(&format!("l{u}_{j}"));
                let store = Self::store(folding, &value, &format!("w + (at{u} + {j}) * uw"));
                let _ = writeln!(text, "            if (at{u} + {j} < end) {{ {store} }}");
            }
        }
        text.push_str("        }\n");
    }
}

/// Replaces a name where it is not part of a longer one.
fn rename(text: &str, from: &str, to: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let whole = !before.ends_with(letter) && !after.starts_with(letter);
        result.push_str(before);
        result.push_str(if whole { to } else { from });
        rest = after;
    }
    result + rest
}

/// The kernel after which scratch memory says of every part what those before it come to: a group for each row.
pub(super) fn totals(target: &Target, folding: &Folding) -> String {
    let own = folding.programs();
    let programs: Vec<&Program> = own.iter().collect();
    let mut text = emit::prelude(target, &programs);
    text.push_str(&folding.declarations(target));
    let mut parameters = Parameters::new(target);
    parameters.memory("state", "partial");
    parameters.value("long", "parts");
    parameters.local("state", "slots");
    // Eight at once, so that reading does not wait for writing.
    let mut steps = String::new();
    for count in [8, 1] {
        let _ = writeln!(steps, "            for (; i + {count} <= count; i += {count}) {{");
        for k in 0..count {
            let _ = writeln!(steps, "                const state t{k} = slots[i + {k}];");
        }
        for k in 0..count {
            let _ = writeln!(
                steps,
                "                slots[i + {k}] = carry;\n                carry = join(carry, t{k});"
            );
        }
        steps.push_str("            }\n");
    }
    let body = format!(
        "    const long size = get_local_size(0), lid = get_local_id(0);\n    \
         global state *row = partial + get_group_id(0) * parts;\n    state carry = none();\n    \
         for (long base = 0; base < parts; base += size) {{\n        \
             if (base + lid < parts)\n            slots[lid] = row[base + lid];\n        \
             barrier(CLK_LOCAL_MEM_FENCE);\n        \
             if (lid == 0) {{\n            const int count = (int)min(size, parts - base);\n            int i = 0;\n\
             {steps}        }}\n        \
             barrier(CLK_LOCAL_MEM_FENCE);\n        \
             if (base + lid < parts)\n            row[base + lid] = slots[lid];\n        \
             barrier(CLK_LOCAL_MEM_FENCE);\n    }}\n"
    );
    text.push_str(&parameters.kernel("", &body));
    text
}
