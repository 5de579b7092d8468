//! Stages that fold rows of arrays, each but the first with what those before it came to, and a last one that makes something of
//! each row and of all that: work-items of a group keep a row in registers and go through all stages, so that the row is
//! read once.
//!
//! What the work-items of a row know of it they put together in local memory: a wave of them first, without waiting for the group
//! where the device's language has that, then the waves of the row.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, DtypeKind,
    backend::{Family, LaunchPlan, Operand, Program},
};

use super::reduce::narrow;
use super::reduce::state::Folding;
use super::text::{Parameters, WAVE_FUNCTIONS, c_type};
use super::{Argument, GROUP, Key, Stage, Target, Work, Writer};
use crate::emit;

/// Work-items of a group at most; where a row fits in few elements each there are [`GROUP`], which short rows share.
const MOST_GROUP: usize = 1024;
/// Work-items of a row at least.
const LEAST_SHARING: usize = 16;
/// Elements of a row at least.
const LEAST_ROW: usize = 32;
/// Bytes that a work-item keeps in registers at most, where an element takes four at least.
const KEPT_BYTES: usize = 128;
/// Elements of a work-item at least, as long as registers keep as many: so fewer waves share a row, and wait for each other.
const ITEMS: usize = KEPT_BYTES / 4;

/// The one kernel of all stages; `None` where they are other than described above, or rows too few, too short or too long.
pub(crate) fn work<'a>(stages: &'a [Vec<LaunchPlan>], target: &'a Target) -> Option<Work<'a>> {
    if target.cpu {
        return None;
    }
    form(stages, target).filter(|form| form.rows >= target.compute_units).map(|form| form.work(target))
}

/// As [`work`], on whatever device.
#[cfg(test)]
fn anywhere<'a>(stages: &'a [Vec<LaunchPlan>], target: &'a Target) -> Option<Work<'a>> {
    form(stages, target).map(|form| form.work(target))
}

/// What a stage reads of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The array of this number that is kept in registers.
    Kept(usize),
    /// What the fold of this number came to.
    Folded(usize),
    /// The array of this number that is read now.
    Memory(usize),
}

/// A fold of a row.
#[derive(Clone)]
struct Fold<'a> {
    plan: &'a LaunchPlan,
    folding: Folding,
    finish: Option<&'a Program>,
    sources: SmallVec<[Source; 4]>,
}

/// An array, by where a row begins and how it goes on.
type Array<'a> = (&'a Operand, Dtype);

#[derive(Clone)]
struct Form<'a> {
    rows: usize,
    len: usize,
    group: usize,
    /// Work-items of a group that share a row.
    sharing: usize,
    items: usize,
    /// Whether a row has exactly as many elements as its work-items.
    exact: bool,
    kept: SmallVec<[Array<'a>; 4]>,
    read: SmallVec<[Array<'a>; 4]>,
    folds: SmallVec<[Fold<'a>; 4]>,
    /// How many folds there are up to the end of each stage but the last.
    ends: SmallVec<[usize; 2]>,
    /// The last stage: a fold, or a map and what it reads.
    last: &'a LaunchPlan,
    last_fold: Option<Fold<'a>>,
    sources: SmallVec<[Source; 4]>,
}

/// The number of an array in a list, to which it is added where it is not there.
fn number_in<'a>(list: &mut SmallVec<[Array<'a>; 4]>, array: Array<'a>) -> usize {
    list.iter().position(|known| *known == array).unwrap_or_else(|| {
        list.push(array);
        list.len() - 1
    })
}

/// The inputs of a plan; `None` where one is no memory of numbers.
fn inputs(plan: &LaunchPlan) -> Option<SmallVec<[Array<'_>; 4]>> {
    let dtypes = plan.program.inputs();
    let numbers = |dtype: &Dtype| dtype.kind() != DtypeKind::Complex;
    let all = (0..dtypes.len()).all(|k| !plan.program.is_index(k) && numbers(&dtypes[k]));
    let outputs = (0..plan.outputs.len()).all(|k| numbers(&plan.output_dtype(k)));
    (all && outputs).then(|| plan.inputs.iter().zip(dtypes.iter().copied()).collect())
}

/// How a plan folds its rows.
fn fold<'a>(plan: &'a LaunchPlan, sources: SmallVec<[Source; 4]>) -> Option<Fold<'a>> {
    let Family::Reduce { fold, reduced: 1, finish, .. } = &plan.family else { return None };
    let value = plan.program.output_dtype(0);
    let folding = Folding::new(*fold, value, narrow(plan.len())).ok()?;
    let real = value.kind() != DtypeKind::Complex;
    real.then_some(Fold { plan, folding, finish: finish.as_deref(), sources })
}

/// The fold that an array is the results of, where it is; `None` where it is other than those of the same row.
#[expect(clippy::option_option, reason = "nothing known, and something that cannot be, are two things")]
fn folded(folds: &[Fold<'_>], (operand, dtype): Array<'_>, dims: &[usize]) -> Option<Option<Source>> {
    let own = operand.reach(dims, dtype.size());
    let written = folds.iter().position(|fold| {
        let other = fold.plan.outputs[0].reach(dims, fold.plan.output_dtype(0).size());
        own.start < other.end && other.start < own.end
    });
    let Some(number) = written else { return Some(None) };
    let plan = folds[number].plan;
    let same = plan.outputs[0] == *operand && plan.output_dtype(0) == dtype;
    same.then_some(Some(Source::Folded(number)))
}

fn form<'a>(stages: &'a [Vec<LaunchPlan>], target: &Target) -> Option<Form<'a>> {
    let (last, before) = stages.split_last()?;
    let ([last], false) = (last.as_slice(), before.is_empty()) else { return None };
    let &[rows, len] = last.dims.as_slice() else { return None };
    let mut kept = SmallVec::new();
    let mut folds: SmallVec<[Fold<'a>; 4]> = SmallVec::new();
    let mut ends = SmallVec::new();
    for plans in before {
        let known = folds.len();
        for plan in plans {
            let mut sources = SmallVec::new();
            for array in inputs(plan)? {
                let folded = folded(&folds[..known], array, &last.dims)?;
                sources.push(folded.unwrap_or_else(|| Source::Kept(number_in(&mut kept, array))));
            }
            (plan.dims == last.dims).then(|| fold(plan, sources)).flatten().map(|fold| folds.push(fold))?;
        }
        ends.push(folds.len());
    }
    let mut read = SmallVec::new();
    let mut sources = SmallVec::new();
    for array in inputs(last)? {
        let kept = kept.iter().position(|known| *known == array).map(Source::Kept);
        let known = folded(&folds, array, &last.dims)?.or(kept);
        sources.push(known.unwrap_or_else(|| Source::Memory(number_in(&mut read, array))));
    }
    let last_fold = match last.family {
        Family::Map => None,
        _ => Some(fold(last, sources.clone())?),
    };

    let bytes: usize = kept.iter().map(|(_, dtype): &Array<'_>| dtype.size().max(4)).sum();
    let most = 1 << (KEPT_BYTES / bytes.max(1)).checked_ilog2()?;
    let mut sharing = len.div_ceil(ITEMS.min(most)).next_power_of_two().clamp(LEAST_SHARING, GROUP);
    sharing = sharing.max(len.div_ceil(most).next_power_of_two());
    let group = sharing.max(GROUP);
    let states: usize = folds.iter().chain(&last_fold).map(|fold| fold.folding.state_bytes()).sum();
    let fits = group <= MOST_GROUP.min(target.max_group) && group * states <= target.local_bytes;
    let items = len.div_ceil(sharing).next_power_of_two();
    (fits && len >= LEAST_ROW).then_some(Form {
        rows,
        len,
        group,
        sharing,
        items,
        exact: items * sharing == len,
        kept,
        read,
        folds,
        ends,
        last,
        last_fold,
        sources,
    })
}

impl<'a> Form<'a> {
    /// Folds of all stages, in their order.
    fn all_folds(&self) -> impl Iterator<Item = &Fold<'a>> {
        self.folds.iter().chain(&self.last_fold)
    }

    /// Memory, in the order of the parameters: what is kept, what is read later, the results of the folds, the others.
    fn operands(&self) -> impl Iterator<Item = &'a Operand> {
        let inputs = self.kept.iter().chain(&self.read).map(|&(operand, _)| operand);
        let folded = self.folds.iter().map(|fold| &fold.plan.outputs[0]);
        inputs.chain(folded).chain(&self.last.outputs)
    }

    /// The letter and number of the parameter of each of these.
    fn names(&self) -> Vec<(&'static str, usize)> {
        let lists = [
            ("k", self.kept.len()),
            ("m", self.read.len()),
            ("f", self.folds.len()),
            ("o", self.last.outputs.len()),
        ];
        lists.into_iter().flat_map(|(letter, count)| (0..count).map(move |number| (letter, number))).collect()
    }

    /// The dtypes of the elements of all operands.
    fn dtypes(&self) -> impl Iterator<Item = Dtype> {
        let inputs = self.kept.iter().chain(&self.read).map(|&(_, dtype)| dtype);
        let folded = self.folds.iter().map(|fold| fold.plan.output_dtype(0));
        inputs.chain(folded).chain((0..self.last.outputs.len()).map(|o| self.last.output_dtype(o)))
    }

    /// Programs whose constants are arguments, with the letter of their names.
    fn programs(&self) -> Vec<(String, &'a Program)> {
        let mut all: Vec<(String, &Program)> = Vec::new();
        for (number, fold) in self.all_folds().enumerate() {
            all.push((format!("value{number}"), &fold.plan.program));
            all.extend(fold.finish.map(|finish| (format!("finish{number}"), finish)));
        }
        if self.last_fold.is_none() {
            all.push(("last".to_owned(), &self.last.program));
        }
        all
    }

    fn key(&self) -> Key {
        let mut key = Key::new(Writer::Rows);
        let sizes =
            [self.group, self.sharing, self.items, self.kept.len(), self.read.len(), self.folds.len()];
        sizes.into_iter().for_each(|size| key.push(size));
        key.push(usize::from(self.exact));
        self.ends.iter().for_each(|&end| key.push(end));
        for operand in self.operands() {
            key.push(usize::from(operand.strides[1] == 1));
        }
        for &(_, dtype) in self.kept.iter().chain(&self.read) {
            key.push(dtype as usize);
        }
        let mut push = |sources: &[Source]| {
            for source in sources {
                let (kind, number) = match *source {
                    Source::Kept(number) => (0, number),
                    Source::Folded(number) => (1, number),
                    Source::Memory(number) => (2, number),
                };
                key.push(kind);
                key.push(number);
            }
        };
        push(&self.sources);
        self.folds.iter().for_each(|fold| push(&fold.sources));
        key.push(usize::from(self.last_fold.is_some()));
        for fold in self.all_folds() {
            fold.folding.key(&mut key);
            key.push(usize::from(fold.finish.is_some()));
        }
        for (_, program) in self.programs() {
            key.program(program);
        }
        key
    }

    fn work(self, target: &'a Target) -> Work<'a> {
        let mut arguments: SmallVec<[Argument; 12]> =
            self.operands().map(|operand| Argument::Memory(operand.ptr)).collect();
        for (_, program) in self.programs() {
            arguments.extend(program.consts().iter().map(Argument::constant));
        }
        let steps = self.operands().flat_map(|operand| [operand.strides[0], operand.strides[1]]);
        let extents = [self.rows, self.len].map(usize::cast_signed);
        arguments.push(Argument::longs(extents.into_iter().chain(steps)));
        let groups = self.rows.div_ceil(self.group / self.sharing);
        let (global, local) = ([groups * self.group, 1], [self.group, 1]);
        let key = self.key();
        let source = Box::new(move || self.text(target));
        Work::single(Stage { key, source, arguments, global, local })
    }

    fn text(&self, target: &Target) -> String {
        let named = self.programs();
        let own: Vec<Program> = self.all_folds().flat_map(|fold| fold.folding.programs()).collect();
        let all: Vec<&Program> = named.iter().map(|(_, program)| *program).chain(&own).collect();
        let mut text = emit::prelude(target, &all);
        // Writing to a `String` cannot fail, here and below.
        let _ = writeln!(
            text,
            "#define sum_of(a, b) ((a) + (b))\n#define GROUP {}\n#define SHARING {}\n#define ITEMS {}\n#define INSIDE(i) {}\n{WAVE_FUNCTIONS}{BARRIERS}typedef struct {{\n    long rows, n, at[{}];\n}} numbers;",
            self.group,
            self.sharing,
            self.items,
            if self.exact { "true" } else { "((i) < n)" },
            2 * self.operands().count()
        );
        for (name, program) in &named {
            text.push_str(&emit::function(&format!("sw_{name}"), program, target));
        }
        for (number, fold) in self.all_folds().enumerate() {
            // Every fold declares the same names.
            for name in STATE_NAMES {
                let _ = writeln!(text, "#define {name} {name}{number}");
            }
            text.push_str(&fold.folding.declarations(target));
            for name in STATE_NAMES {
                let _ = writeln!(text, "#undef {name}");
            }
        }
        let mut parameters = Parameters::new(target);
        for (letter, list) in [("k", &self.kept), ("m", &self.read)] {
            for (number, &(_, dtype)) in list.iter().enumerate() {
                parameters.memory(&format!("const {}", c_type(dtype)), &format!("{letter}{number}"));
            }
        }
        let outputs = |plan: &'a LaunchPlan| (0..plan.outputs.len()).map(|o| c_type(plan.output_dtype(o)));
        for (number, fold) in self.folds.iter().enumerate() {
            outputs(fold.plan).for_each(|ty| parameters.memory(ty, &format!("f{number}")));
        }
        outputs(self.last).enumerate().for_each(|(o, ty)| parameters.memory(ty, &format!("o{o}")));
        for (name, program) in &named {
            for (c, value) in program.consts().iter().enumerate() {
                parameters.value(c_type(value.dtype()), &format!("{name}_{c}"));
            }
        }
        parameters.value("numbers", "s");
        let attributes = format!("__attribute__((reqd_work_group_size({}, 1, 1)))", self.group);
        text + &parameters.kernel(&attributes, &self.body())
    }

    fn body(&self) -> String {
        let mut text = HEAD.to_owned();
        for ((number, (letter, of)), dtype) in self.names().into_iter().enumerate().zip(self.dtypes()) {
            let constant = if matches!(letter, "k" | "m") { "const " } else { "" };
            let ty = c_type(dtype);
            let _ = writeln!(
                text,
                "    global {constant}{ty} *{letter}{of}_row = {letter}{of} + row * s.at[{}];",
                2 * number
            );
        }
        for (number, &(_, dtype)) in self.kept.iter().enumerate() {
            let _ = writeln!(text, "    {} x{number}[ITEMS];", c_type(dtype));
        }
        text.push_str(EACH);
        for number in 0..self.kept.len() {
            let _ = writeln!(text, "        x{number}[k] = INSIDE(i) ? {} : 0;", self.element("k", number));
        }
        text.push_str("    }\n");
        let mut begin = 0;
        for &end in &self.ends {
            text.push_str(&self.fold(&(begin..end).collect::<Vec<_>>()));
            begin = end;
        }
        let Some(last) = &self.last_fold else {
            text.push_str(EACH);
            text.push_str("        if (there && INSIDE(i)) {\n");
            let (call, outputs) = (self.arguments("last", self.last, &self.sources), self.last.outputs.len());
            if outputs == 1 {
                let _ = writeln!(text, "            {} = sw_last({call});", self.element("o", 0));
            } else {
                let results: String = (0..outputs).map(|o| format!(", &y{o}")).collect();
                for o in 0..outputs {
                    let _ = writeln!(text, "            {} y{o};", c_type(self.last.output_dtype(o)));
                }
                let _ = writeln!(text, "            sw_last({call}{results});");
                for o in 0..outputs {
                    let _ = writeln!(text, "            {} = y{o};", self.element("o", o));
                }
            }
            text.push_str("        }\n    }\n");
            return text;
        };
        debug_assert_eq!(last.plan.outputs.len(), 1, "a reduction has one output");
        text + &self.fold(&[self.folds.len()])
    }

    /// Folds the row by the folds of some numbers, at once; every work-item knows the results then, as `v` and the number.
    fn fold(&self, numbers: &[usize]) -> String {
        let all: Vec<&Fold<'_>> = self.all_folds().collect();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut ends = String::new();
        for &number in numbers {
            let Fold { plan, folding, sources, .. } = all[number];
            let mut value = self.arguments(&format!("value{number}"), plan, sources);
            value = format!("sw_value{number}({value})");
            if folding.fold != stridewise_core::backend::Fold::Deviations {
                let place = if folding.places() { ", i" } else { "" };
                first.push(Quantity {
                    ty: format!("state{number}"),
                    name: format!("t{number}"),
                    start: format!("none{number}()"),
                    next: format!("take{number}(t{number}, {value}{place})"),
                    join: format!("join{number}"),
                });
                continue;
            }
            // The row is there to be gone through twice: about its mean, nothing is lost.
            if folding.acc != folding.value {
                value = format!("sw_widen{number}({value})");
            }
            let ty = c_type(folding.acc);
            let sum = |name: &str, next: String| Quantity {
                ty: ty.to_owned(),
                name: format!("{name}{number}"),
                start: "0".to_owned(),
                next: format!("{name}{number} + {next}"),
                join: "sum_of".to_owned(),
            };
            let distance = format!("({value} - all_mean{number})");
            first.push(sum("mean", format!("{value} * (({ty})1 / ({ty})n)")));
            second.push(sum("squares", format!("{distance} * {distance}")));
            second.push(sum("sum", distance));
            let _ = writeln!(
                ends,
                "    state{number} all_t{number};\n    all_t{number}.at = all_mean{number};\n    \
                 all_t{number}.sum = all_sum{number};\n    all_t{number}.squares = all_squares{number};\n    \
                 all_t{number}.n = n;"
            );
        }
        let mut text = pass(&first) + &pass(&second) + &ends;
        for &number in numbers {
            let mut value = format!("result{number}(all_t{number})");
            if let Some(finish) = all[number].finish {
                let constants: String =
                    (0..finish.consts().len()).map(|c| format!(", finish{number}_{c}")).collect();
                value = format!("sw_finish{number}({value}{constants})");
            }
            let ty = c_type(all[number].plan.output_dtype(0));
            let memory = if number < self.folds.len() { format!("f{number}") } else { "o0".to_owned() };
            let _ = writeln!(
                text,
                "    const {ty} v{number} = {value};\n    if (lane == 0 && there)\n        *{memory}_row = v{number};"
            );
        }
        text
    }

    /// The arguments of a program: elements of number `i` of the row, then constants.
    fn arguments(&self, name: &str, plan: &LaunchPlan, sources: &[Source]) -> String {
        let elements = sources.iter().map(|source| match *source {
            Source::Kept(number) => format!("x{number}[k]"),
            Source::Folded(number) => format!("v{number}"),
            Source::Memory(number) => self.element("m", number),
        });
        let constants = (0..plan.program.consts().len()).map(|c| format!("{name}_{c}"));
        elements.chain(constants).collect::<Vec<_>>().join(", ")
    }

    /// The element of number `i` of a parameter's row.
    fn element(&self, letter: &str, number: usize) -> String {
        let at = self.names().iter().position(|&name| name == (letter, number)).unwrap_or_default();
        let neighbours = self.operands().nth(at).is_some_and(|operand| operand.strides[1] == 1);
        let step = if neighbours { String::new() } else { format!(" * s.at[{}]", 2 * at + 1) };
        format!("{letter}{number}_row[i{step}]")
    }
}

/// Something that elements of a row add to, each a work-item's own at first.
struct Quantity {
    ty: String,
    name: String,
    start: String,
    /// What it is with one more element.
    next: String,
    /// The function, or macro, that makes one of two.
    join: String,
}

/// Goes through the elements of a row; every work-item knows what all of it comes to then, as `all_` and the name.
fn pass(quantities: &[Quantity]) -> String {
    let (mut before, mut each, mut store, mut join, mut all) =
        (String::new(), String::new(), String::new(), String::new(), String::new());
    for Quantity { ty, name, start, next, join: function } in quantities {
        let slots = format!("slots_{name}");
        let _ = writeln!(before, "    local {ty} {slots}[GROUP];\n    {ty} {name} = {start};");
        let _ = writeln!(each, "            {name} = {next};");
        let _ = writeln!(store, "    {slots}[item] = {name};");
        let _ =
            writeln!(join, "            {slots}[item] = {function}({slots}[item], {slots}[item + reach]);");
        let _ = writeln!(
            all,
            "    {ty} all_{name} = {slots}[item - lane];\n    \
             for (int wave = WAVE; wave < SHARING; wave += WAVE)\n        \
             all_{name} = {function}(all_{name}, {slots}[item - lane + wave]);"
        );
    }
    if quantities.is_empty() {
        return String::new();
    }
    format!(
        "{before}{EACH}        if (INSIDE(i)) {{\n{each}        }}\n    }}\n{store}    \
         for (int reach = min(SHARING, WAVE) / 2; reach > 0; reach /= 2) {{\n        WAVE_BARRIER();\n        \
         if (lane % WAVE < reach) {{\n{join}        }}\n    }}\n    ROW_BARRIER();\n{all}"
    )
}

/// What [`Folding::declarations`] declares.
const STATE_NAMES: [&str; 10] =
    ["state", "none", "take", "join", "result", "better", "about_mean", "sw_fold", "sw_widen", "sw_narrow"];

/// The row of a work-item, its number among those that share it, and the elements.
const HEAD: &str = "    const int item = (int)get_local_id(0), lane = item & (SHARING - 1);
    const long own = (long)get_group_id(0) * (GROUP / SHARING) + item / SHARING;
    // Without a row of their own, they go through the last one, as all of a group wait for each other.
    const bool there = own < s.rows;
    const long row = there ? own : s.rows - 1;
    const int n = (int)s.n;
";

/// Waits for who shares a row: those of a wave, and all.
const BARRIERS: &str = "#ifndef WAVE_BARRIER
#define WAVE_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif
#if SHARING <= WAVE
#define ROW_BARRIER() WAVE_BARRIER()
#else
#define ROW_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif
";

/// The elements of a work-item.
const EACH: &str =
    "    #pragma unroll\n    for (int k = 0; k < ITEMS; k++) {\n        const int i = k * SHARING + lane;\n";
