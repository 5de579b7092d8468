//! Sorts along the last dimension.
//!
//! An element becomes a *word*: its rank (see [`order`]) and its index in its row. No two words of a row are equal, so any
//! way to sort them gives the same result, which is the stable order of the elements; and the index says which element to
//! write. There are two forms of each step:
//!
//! - where work-items run side by side, a group sorts a block of words in local memory by a bitonic network, and merges
//!   sorted runs by tiles that fit there: where a tile begins in either run is found by halving, and each word's place in
//!   the tile is its index plus the number of words of the other run that are less;
//! - on a processor, a work-item sorts a run by merging in scratch memory, and merges a part of two runs.
//!
//! Long rows go by their digits where work-items run side by side: see [`radix`].
//!
//! A row that is one block, or one run, takes one kernel that reads elements and writes the result; a longer one as many
//! as it takes to merge all runs, the last of which writes the result.

mod radix;

use smallvec::SmallVec;
use stridewise_core::memory::UsmPtr;
use stridewise_core::{
    Dtype, Error, Result,
    backend::{Family, LaunchPlan},
};

use super::order::{self, Rank};
use super::points::{self, Points};
use super::text::Parameters;
use super::{Argument, Key, Stage, Target, Work, Writer};

/// Words of a block at most; a power of two, as all blocks are.
const BLOCK: usize = 2048;
/// Words that a group sorts at least, in several short rows, where there are as many.
const GROUP_WORDS: usize = 1024;
/// Words of a run at least where several work-items of a processor share a row.
const RUN: usize = 16 << 10;
/// Words that a work-item of a processor merges.
const PART: usize = 4 << 10;
/// Bytes of scratch memory beyond which rows are sorted in batches.
const BATCH_BYTES: usize = 512 << 20;

/// The kernels of a sort.
///
/// # Errors
/// [`Error::Unsupported`] for a plan of another family.
pub(super) fn work<'a>(plan: &'a LaunchPlan, target: &Target) -> Result<Work<'a>> {
    work_of_width(plan, target, plan.len() > i32::MAX as usize)
}

/// As [`work`], with 64 bits for numbers of elements where `wide`.
///
/// # Errors
/// As for [`work`].
pub(super) fn work_of_width<'a>(plan: &'a LaunchPlan, target: &Target, wide: bool) -> Result<Work<'a>> {
    let sort = Sort::of(plan, target, wide)?;
    Ok(if target.cpu { sort.runs() } else { sort.blocks() })
}

/// As [`work_of_width`], by digits whatever the length.
///
/// # Errors
/// As for [`work`].
#[cfg(test)]
pub(super) fn digits_of_width<'a>(plan: &'a LaunchPlan, target: &Target, wide: bool) -> Result<Work<'a>> {
    Ok(Sort::of(plan, target, wide)?.passes())
}

/// What a kernel does with words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// Sorts blocks, by groups.
    Block,
    /// Merges tiles, by groups.
    Tile,
    /// Sorts runs, by work-items.
    Run,
    /// Merges parts, by work-items.
    Part,
}

/// How a word is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    /// 32 bits of the rank above 32 of the index, in a `ulong`.
    Half,
    /// 64 bits of each, in a `ulong2`.
    Whole,
    /// A rank of two parts and an index, 64 bits each, in a struct.
    Pair,
}

impl Word {
    const fn bytes(self) -> usize {
        match self {
            Self::Half => 8,
            Self::Whole => 16,
            Self::Pair => 24,
        }
    }

    /// The type, and the functions `make`, `last` (greater than every other word), `less` and `place`.
    const fn text(self) -> &'static str {
        match self {
            Self::Half => {
                "typedef ulong word;
static inline word make(const element x, const long i) { return (ulong)rank(x) << 32 | (uint)i; }
static inline word last(void) { return ULONG_MAX; }
static inline bool less(const word a, const word b) { return a < b; }
static inline long place(const word a) { return (long)(a & 0xffffffffUL); }
"
            }
            Self::Whole => {
                "typedef ulong2 word;
static inline word make(const element x, const long i) { return (ulong2)(rank(x), (ulong)i); }
static inline word last(void) { return (ulong2)(ULONG_MAX, ULONG_MAX); }
static inline bool less(const word a, const word b) { return a.x < b.x || (a.x == b.x && a.y < b.y); }
static inline long place(const word a) { return (long)a.y; }
"
            }
            Self::Pair => {
                "typedef struct {
    ulong x, y, i;
} word;
static inline word make(const element x, const long i)
{
    const ulong2 r = rank(x);
    word a;
    a.x = r.x;
    a.y = r.y;
    a.i = (ulong)i;
    return a;
}
static inline word last(void)
{
    word a;
    a.x = a.y = a.i = ULONG_MAX;
    return a;
}
static inline bool less(const word a, const word b)
{
    return a.x < b.x || (a.x == b.x && (a.y < b.y || (a.y == b.y && a.i < b.i)));
}
static inline long place(const word a) { return (long)a.i; }
"
            }
        }
    }
}

/// What the kernels' texts depend on.
#[derive(Clone)]
struct Text {
    dtype: Dtype,
    descending: bool,
    indices: bool,
    /// More than 31 bits are needed to number all elements.
    wide: bool,
    /// Dimensions that number the rows.
    dims: usize,
    word: Word,
    target: Target,
}

/// A sort of many rows.
struct Sort {
    text: Text,
    len: usize,
    rows: usize,
    /// Elements to step along a row of the output and the input.
    steps: [isize; 2],
    /// The rows; views are output and input.
    space: Points,
    dst: UsmPtr,
    src: UsmPtr,
}

/// The rows of a stage, and where it reads and writes words.
#[derive(Clone, Copy)]
struct Batch {
    first: usize,
    rows: usize,
    from: usize,
    to: usize,
}

impl Sort {
    /// What a plan sorts.
    fn of(plan: &LaunchPlan, target: &Target, wide: bool) -> Result<Self> {
        let (&Family::Sort { descending, indices }, [input], [output]) =
            (&plan.family, &plan.inputs[..], &plan.outputs[..])
        else {
            return Err(Error::unsupported(
                "plan",
                format!("{:?}", plan.family),
                "a sort of one array",
                "this is a defect of the engine: please report it",
            ));
        };
        let (len, outer) = match plan.dims.split_last() {
            Some((&len, outer)) => (len, outer),
            None => (1, &[][..]),
        };
        let mut space = Points::new(outer, [&output.strides[..outer.len()], &input.strides[..outer.len()]]);
        space.merge();
        let dtype = plan.program.inputs()[0];
        let step = |strides: &[isize]| strides.last().copied().unwrap_or(0);
        Ok(Self {
            text: Text {
                dtype,
                descending,
                indices,
                wide,
                dims: space.dims.len(),
                word: match Rank::of(dtype) {
                    Rank::Short if !wide => Word::Half,
                    Rank::Pair => Word::Pair,
                    _ => Word::Whole,
                },
                target: target.clone(),
            },
            len,
            rows: space.len(),
            steps: [step(&output.strides), step(&input.strides)],
            space,
            dst: output.ptr,
            src: input.ptr,
        })
    }

    /// A stage of a batch: the rows' argument, then what the step needs.
    fn stage<'a>(
        &self,
        (step, end): (Step, bool),
        batch: Batch,
        numbers: impl IntoIterator<Item = usize>,
        local: Option<usize>,
        (global, group): (usize, usize),
    ) -> Stage<'a> {
        let mut key = Key::new(Writer::Sort);
        let text = self.text.clone();
        let of = [
            step as usize,
            usize::from(end),
            text.dtype as usize,
            usize::from(text.descending),
            usize::from(text.indices),
            usize::from(text.wide),
            text.dims,
        ];
        of.into_iter().for_each(|number| key.push(number));
        let mut arguments: SmallVec<[Argument; 12]> = SmallVec::new();
        arguments.push(Argument::Memory(self.dst));
        arguments.push(Argument::Memory(self.src));
        arguments.push(Argument::Scratch(batch.from));
        arguments.push(Argument::Scratch(batch.to));
        arguments.push(self.rows_argument(batch.first, batch.rows));
        arguments.push(Argument::longs(numbers.into_iter().map(usize::cast_signed)));
        arguments.extend(local.map(Argument::Local));
        Stage {
            key,
            source: Box::new(move || text.kernel(step, end)),
            arguments,
            global: [global.max(1) * group, 1],
            local: [group, 1],
        }
    }

    /// So many rows from the first on, for the parameter `r`.
    fn rows_argument(&self, first: usize, rows: usize) -> Argument {
        let dims = self.space.dims.iter().map(|&extent| extent.cast_signed());
        let head = [self.len, first, rows].map(usize::cast_signed);
        let views = self.space.views.iter().flatten().copied();
        Argument::longs(head.into_iter().chain(self.steps).chain(dims).chain(views))
    }

    /// The form where work-items run side by side.
    fn blocks<'a>(&self) -> Work<'a> {
        let bytes = self.text.word.bytes();
        let fitting = (self.text.target.local_bytes / 2 / bytes).max(2);
        let block = BLOCK.min(1 << fitting.ilog2());
        let group = points::group(&self.text.target);
        let group = 1 << group.ilog2();
        if self.len <= block {
            let padded = self.len.next_power_of_two();
            let words = padded.max(GROUP_WORDS.min(block)).min(padded * self.rows.next_power_of_two());
            let groups = self.rows.div_ceil(words / padded);
            let batch = Batch { first: 0, rows: self.rows, from: 0, to: 0 };
            let numbers = [padded, words];
            let stage = self.stage((Step::Block, true), batch, numbers, Some(words * bytes), (groups, group));
            // The kernel has parameters for words, which it does not use.
            return Work { scratch_bytes: 16, stages: SmallVec::from_iter([stage]) };
        }
        if let Some(work) = self.digits(block) {
            return work;
        }
        let blocks = self.len.div_ceil(block);
        self.batches(block, |sort, batch, width, end| match width {
            None => sort.stage(
                (Step::Block, false),
                batch,
                [block, block],
                Some(block * bytes),
                (batch.rows * blocks, group),
            ),
            Some(width) => {
                let numbers = [block, width];
                sort.stage(
                    (Step::Tile, end),
                    batch,
                    numbers,
                    Some(block * bytes),
                    (batch.rows * blocks, group),
                )
            }
        })
    }

    /// The form of a processor.
    fn runs<'a>(&self) -> Work<'a> {
        let units = self.text.target.compute_units.max(1);
        let two_rows = 2 * self.len * self.text.word.bytes();
        let items = (8 * units).min(BATCH_BYTES / two_rows);
        if self.len < 2 * RUN || (self.rows >= 4 * units && items >= units) {
            let each = self.rows.div_ceil(items.max(1));
            let items = self.rows.div_ceil(each);
            let batch = Batch { first: 0, rows: self.rows, from: 0, to: 0 };
            let stage = self.stage((Step::Run, true), batch, [self.len, each], None, (items, 1));
            return Work { scratch_bytes: items * two_rows, stages: SmallVec::from_iter([stage]) };
        }
        let parts = (4 * units).div_ceil(self.rows).next_power_of_two();
        let run = self.len.div_ceil(parts).max(RUN);
        let runs = self.len.div_ceil(run);
        self.batches(run, |sort, batch, width, end| match width {
            None => sort.stage((Step::Run, false), batch, [run, 1], None, (batch.rows * runs, 1)),
            Some(width) => {
                let items = batch.rows * self.len.div_ceil(2 * width) * (2 * width).div_ceil(PART);
                sort.stage((Step::Part, end), batch, [PART, width], None, (items, 1))
            }
        })
    }

    /// Sorts runs of a width, then merges them, for as many rows at a time as scratch memory should hold. `stage` makes
    /// the stage that sorts, or the one that merges runs of a width, which is the last one or not.
    fn batches<'a>(
        &self,
        run: usize,
        stage: impl Fn(&Self, Batch, Option<usize>, bool) -> Stage<'a>,
    ) -> Work<'a> {
        let row = self.len * self.text.word.bytes();
        let rows = (BATCH_BYTES / 2 / row).clamp(1, self.rows);
        let half = (rows * row).next_multiple_of(16);
        let mut stages: SmallVec<[Stage<'a>; 2]> = SmallVec::new();
        for first in (0..self.rows).step_by(rows) {
            let mut batch = Batch { first, rows: rows.min(self.rows - first), from: half, to: 0 };
            stages.push(stage(self, batch, None, false));
            let mut width = run;
            while width < self.len {
                std::mem::swap(&mut batch.from, &mut batch.to);
                let end = width >= self.len - width;
                stages.push(stage(self, batch, Some(width), end));
                width *= 2;
            }
        }
        Work { scratch_bytes: 2 * half, stages }
    }
}

impl Text {
    /// The text of a step, which reads the elements if it is the first, and writes the result where it is the `end`.
    fn kernel(&self, step: Step, end: bool) -> String {
        let mut parameters = Parameters::new(&self.target);
        parameters.memory(if self.indices { "long" } else { "element" }, "dst");
        parameters.memory("const element", "src");
        // A run that is sorted needs both of these to write to.
        parameters.memory(if step == Step::Run { "word" } else { "const word" }, "from");
        parameters.memory("word", "to");
        parameters.value("rows", "r");
        parameters.value("numbers", "n");
        let group = matches!(step, Step::Block | Step::Tile);
        if group {
            parameters.local("word", "words");
        }
        let body = match step {
            Step::Block => format!("{BLOCK_SORT}{}", self.block_end(end)),
            Step::Tile => {
                format!("{TILE_HEAD}{}", self.write("        ", "start + k_place", "words[k]", end))
            }
            Step::Run if end => format!("{RUN_ROWS}{}", self.write("            ", "i", "a[i]", true)),
            Step::Run => RUN_PARTS.to_owned(),
            Step::Part => {
                let write = self.write("        ", "pair + i + j", "x", end);
                format!("{PART_HEAD}{write}{PART_END}")
            }
        };
        let body = match step {
            Step::Tile => format!("{body}    }}\n"),
            Step::Run if end => format!("{body}        }}\n    }}\n"),
            _ => body,
        };
        let attributes = if group { "" } else { points::attributes(&self.target) };
        [
            order::element(self.dtype),
            &order::rank(self.dtype, self.descending),
            self.word.text(),
            &self.rows(),
            if step == Step::Run { SORT_RUN } else { "" },
            &parameters.kernel(attributes, &body),
        ]
        .concat()
    }

    /// The types of the arguments, and where rows begin.
    fn rows(&self) -> String {
        let list = |name: &str| (0..self.dims).map(|d| format!(", {name}{d}")).collect::<String>();
        let mut text = format!(
            "typedef struct {{\n    long len, first, count, to, from{}{}{};\n}} rows;\ntypedef struct {{\n    long a, b;\n}} \
             numbers;\n",
            list("n"),
            list("dst"),
            list("src")
        );
        for side in ["dst", "src"] {
            let (ty, cast) = if self.wide { ("ulong", "(ulong)") } else { ("uint", "(uint)") };
            text.push_str(&format!("static inline long {side}_row(const rows r, const long row)\n{{\n"));
            text.push_str(&format!("    {ty} rest = {cast}(r.first + row);\n    long at = 0;\n"));
            for d in (0..self.dims).rev() {
                text.push_str(&if d == 0 {
                    format!("    at += (long)rest * r.{side}0;\n")
                } else {
                    format!(
                        "    at += (long)(rest % {cast}r.n{d}) * r.{side}{d};\n    rest /= {cast}r.n{d};\n"
                    )
                });
            }
            text.push_str("    return at;\n}\n");
        }
        text
    }

    /// Writes a word, or what it stands for at the `end`, to a place in the row.
    fn write(&self, indent: &str, at: &str, word: &str, end: bool) -> String {
        match (end, self.indices) {
            (false, _) => format!("{indent}to[row * r.len + {at}] = {word};\n"),
            (true, true) => format!("{indent}dst[dst_row(r, row) + ({at}) * r.to] = place({word});\n"),
            (true, false) => format!(
                "{indent}dst[dst_row(r, row) + ({at}) * r.to] = src[src_row(r, row) + place({word}) * r.from];\n"
            ),
        }
    }

    fn block_end(&self, end: bool) -> String {
        let write = self.write("            ", "at", "words[k]", end);
        format!(
            "    for (uint k = lane; k < total; k += lanes) {{
        const long b = first + k / block;
        const long row = blocks == 1 ? b : b / blocks;
        const long at = (b - row * blocks) * block + k % block;
        if (row < r.count && at < r.len)
{write}    }}
"
        )
    }
}

/// Sorts blocks of `n.a` words, `n.b` words by a group; both are powers of two.
const BLOCK_SORT: &str = "    const uint block = (uint)n.a, total = (uint)n.b;
    const uint lane = get_local_id(0), lanes = get_local_size(0);
    const long blocks = (r.len + block - 1) / block;
    const long first = (long)get_group_id(0) * (total / block);
    for (uint k = lane; k < total; k += lanes) {
        const long b = first + k / block;
        const long row = blocks == 1 ? b : b / blocks;
        const long at = (b - row * blocks) * block + k % block;
        const bool inside = row < r.count && at < r.len;
        words[k] = inside ? make(src[src_row(r, row) + at * r.from], at) : last();
    }
    for (uint size = 2; size <= block; size *= 2)
        for (uint half_size = size / 2; half_size > 0; half_size /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            for (uint k = lane; k < total / 2; k += lanes) {
                const uint i = 2 * k - (k & (half_size - 1));
                const uint j = half_size == size / 2 ? i ^ (size - 1) : i + half_size;
                const word a = words[i], b = words[j];
                if (less(b, a)) {
                    words[i] = b;
                    words[j] = a;
                }
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
";

/// Merges two runs of `n.b` words each, a tile of `n.a` words by a group.
const TILE_HEAD: &str = "    local long cuts[2];
    const uint lane = get_local_id(0), lanes = get_local_size(0);
    const long tiles = (r.len + n.a - 1) / n.a;
    const long group = get_group_id(0);
    const long row = group / tiles;
    const long start = (group - row * tiles) * n.a;
    const long pair = start / (2 * n.b) * (2 * n.b);
    const long a_len = min(n.b, r.len - pair), b_len = min(n.b, r.len - pair - a_len);
    global const word *a = from + row * r.len + pair, *b = a + a_len;
    const long begin = start - pair, end = min(begin + n.a, a_len + b_len);
    for (uint k = lane; k < 2; k += lanes) {
        const long diagonal = k == 0 ? begin : end;
        long low = max(diagonal - b_len, 0L), high = min(diagonal, a_len);
        while (low < high) {
            const long middle = (low + high) / 2;
            if (less(a[middle], b[diagonal - 1 - middle]))
                low = middle + 1;
            else
                high = middle;
        }
        cuts[k] = low;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long a_first = cuts[0], b_first = begin - a_first;
    const uint a_count = (uint)(cuts[1] - a_first), count = (uint)(end - begin);
    for (uint k = lane; k < count; k += lanes)
        words[k] = k < a_count ? a[a_first + k] : b[b_first + (k - a_count)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = lane; k < count; k += lanes) {
        const word x = words[k];
        const uint other = k < a_count ? a_count : 0;
        uint low = other, high = k < a_count ? count : a_count;
        while (low < high) {
            const uint middle = (low + high) / 2;
            if (less(words[middle], x))
                low = middle + 1;
            else
                high = middle;
        }
        const long k_place = (k < a_count ? k : k - a_count) + (low - other);
";

/// Sorts `count` elements from `src` on, with scratch memory for as many words in `a` and `b`; the result is in `a`.
const SORT_RUN: &str = "static inline void sort_run(
    global const element *src, const long step, const long first, const long count, global word *a, global word *b)
{
    bool odd = false;
    for (long width = 16; width < count; width *= 2)
        odd = !odd;
    global word *p = odd ? b : a, *q = odd ? a : b;
    for (long i = 0; i < count; ++i) {
        const word x = make(src[i * step], first + i);
        long j = i;
        for (; j > (i & ~15L) && less(x, p[j - 1]); --j)
            p[j] = p[j - 1];
        p[j] = x;
    }
    for (long width = 16; width < count; width *= 2) {
        for (long pair = 0; pair < count; pair += 2 * width) {
            const long middle = min(pair + width, count), end = min(pair + 2 * width, count);
            long i = pair, j = middle;
            for (long k = pair; k < end; ++k) {
                const bool other = i >= middle || (j < end && less(p[j], p[i]));
                q[k] = p[other ? j : i];
                j += other ? 1 : 0;
                i += other ? 0 : 1;
            }
        }
        global word *t = p;
        p = q;
        q = t;
    }
}
";

/// Sorts whole rows, `n.b` by a work-item. Scratch memory of a work-item holds two rows.
const RUN_ROWS: &str = "    global word *a = to + (long)get_global_id(0) * 2 * r.len, *b = a + r.len;
    const long end = min(((long)get_global_id(0) + 1) * n.b, r.count);
    for (long row = (long)get_global_id(0) * n.b; row < end; ++row) {
        sort_run(src + src_row(r, row), r.from, 0, r.len, a, b);
        for (long i = 0; i < r.len; ++i) {
";

/// Sorts runs of `n.a` elements, one by a work-item.
const RUN_PARTS: &str = "    const long runs = (r.len + n.a - 1) / n.a;
    const long row = (long)get_global_id(0) / runs, first = (long)get_global_id(0) % runs * n.a;
    if (row >= r.count)
        return;
    const long at = row * r.len + first;
    sort_run(
        src + src_row(r, row) + first * r.from, r.from, first, min(n.a, r.len - first), to + at, from + at);
";

/// Merges two runs of `n.b` words each, `n.a` words by a work-item.
const PART_HEAD: &str =
    "    const long parts = (2 * n.b + n.a - 1) / n.a, pairs = (r.len + 2 * n.b - 1) / (2 * n.b);
    const long item = get_global_id(0);
    const long row = item / (pairs * parts), in_row = item % (pairs * parts);
    const long pair = in_row / parts * (2 * n.b), begin = in_row % parts * n.a;
    if (row >= r.count)
        return;
    const long a_len = min(n.b, r.len - pair), b_len = min(n.b, r.len - pair - a_len);
    const long end = min(begin + n.a, a_len + b_len);
    if (begin >= end)
        return;
    global const word *a = from + row * r.len + pair, *b = a + a_len;
    long low = max(begin - b_len, 0L), high = min(begin, a_len);
    while (low < high) {
        const long middle = (low + high) / 2;
        if (less(a[middle], b[begin - 1 - middle]))
            low = middle + 1;
        else
            high = middle;
    }
    long i = low, j = begin - low;
    while (i + j < end) {
        const bool other = i >= a_len || (j < b_len && less(b[j], a[i]));
        const word x = other ? b[j] : a[i];
";

/// The end of the loop of [`PART_HEAD`].
const PART_END: &str = "        j += other ? 1 : 0;
        i += other ? 0 : 1;
    }
";
