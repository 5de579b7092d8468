//! Long rows on devices whose work-items run side by side: by digits of the rank, the least first.
//!
//! A pass sorts stably by eight bits of the rank, in three kernels: how often each tile of a row has each digit; where the
//! elements of a tile with a digit go; and the move. A group of the last one brings its tile into the new order in local
//! memory first, so that it writes runs. Elements move as they are, and their rank is computed where it is asked for; where
//! places are asked for, their numbers move along.
//!
//! How many elements before it have the same digit, an element is told by its *wave*: 32 work-items that take elements in
//! their order and mark, in a table in local memory, which of them have a digit. No runtime need have functions of
//! sub-groups for it; where a runtime's language has them, the work-items of a wave ask each other instead.
//!
//! A sort by merging blocks reads and writes words of a rank and an index once for each doubling, thirteen
//! times for 2²⁴ elements. As elements move as they are, zeros of either sign and NaNs keep their bits and
//! their order without an index. The kernel that counts has all elements of a work-item under way before it
//! looks at the first. Offsets are added up between two kernels: a scan with look-back would save a read of
//! each pass, but needs groups that wait for others to go on, which OpenCL does not promise. The cost: three
//! launches for each byte of an element, 23 KiB of local memory and groups of 256 (a device without sorts by
//! merging), and scratch memory for the row twice, as before. Elements of 8 and 16 bytes have many passes.
//!
//! By merging, on an H100, beside the better of CuPy and PyTorch in the same run, as its time over ours:
//! `float32` 2¹⁶ 0.94, 2²⁰ 0.47, 2²⁴ 0.08; `argsort` 2²⁴ 0.14. What is read and written of 2²⁴ `float32`
//! falls from some 3.5 GB to 0.8. By digits, on an H200, from Python, by the same measure: `float32` 2¹⁶ 0.8,
//! 2²⁰ 0.75, 2²⁴ 0.66; `argsort` 0.8, 0.76, 0.66. With ballots of NVIDIA's assembler (`__NV_CL_C_VERSION`) in
//! place of the table, in one run: 2²⁴ 0.77 (691 µs), `argsort` 0.75, `unique` of integers that occur sixteen
//! times each 0.50 (916 µs; 1146 before). Tiles of twice as many elements: 0.65 (880 µs), 0.58 and 0.44, as
//! fewer groups are on a unit at a time. Of `unique`, the sort is three quarters; the rest is the comparison
//! of neighbours, of which one is never aligned (53 µs), the count and its read (60), and the selection (42).
//! PyTorch's whole `unique`, 459 µs, is less than our sort: it sorts in one read and one write of each pass,
//! by groups that look back at others.

use smallvec::{SmallVec, smallvec};

use super::{BATCH_BYTES, Sort, Text};
use crate::kernels::order::{self, Rank};
use crate::kernels::text::{Parameters, WAVE, WAVE_FUNCTIONS, offsets};
use crate::kernels::{Argument, Key, Stage, Target, Work, Writer};

/// Work-items of a group: one for each digit.
const GROUP: usize = 256;
const DIGITS: usize = 256;
const WAVES: usize = GROUP / WAVE;
/// Bytes of a tile, of its elements or the numbers of their places; the tables of waves need as many. Twice as many were slower:
/// fewer groups are on a unit then.
const AREA_BYTES: usize = 2 * WAVES * DIGITS * 4;
/// Bytes of local memory of a group beside those.
const LOCAL_BYTES: usize = WAVES * DIGITS * 2 + DIGITS * (4 + 8);
/// Blocks of a row from which on digits are faster than merging blocks.
const LEAST_BLOCKS: usize = 8;
/// Elements from which on they are.
const LEAST_POINTS: usize = 1 << 17;
/// Tiles that a work-item of the second kernel goes through, about.
const TILES_EACH: usize = 4;

/// What the three kernels do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Count,
    Offsets,
    /// From the array itself, to the result.
    Move {
        first: bool,
        last: bool,
    },
}

/// How the elements of a row are cut up.
#[derive(Clone, Copy)]
struct Tiling {
    /// Elements of a work-item.
    items: usize,
    /// Tiles of a row.
    tiles: usize,
}

/// Where scratch memory has what a batch of rows needs.
struct Room {
    counts: usize,
    totals: usize,
    /// Elements, and the numbers of their places, twice.
    elements: [usize; 2],
    indices: [usize; 2],
    bytes: usize,
}

impl Sort {
    /// The kernels, where rows are long and the device has what they need.
    pub(super) fn digits<'a>(&self, block: usize) -> Option<Work<'a>> {
        let Target { max_group, local_bytes, .. } = self.text.target;
        let long = self.len > LEAST_BLOCKS * block && self.len * self.rows >= LEAST_POINTS;
        (long && max_group >= GROUP && local_bytes >= AREA_BYTES + LOCAL_BYTES).then(|| self.passes())
    }

    /// The kernels of all passes.
    pub(super) fn passes<'a>(&self) -> Work<'a> {
        let text = &self.text;
        let tiling = text.tiling(self.len);
        let row_bytes = 2 * self.len * (text.dtype.size() + text.index_bytes());
        let rows = (BATCH_BYTES / row_bytes).clamp(1, self.rows);
        let room = self.room(rows, tiling);
        let mut stages: SmallVec<[Stage<'a>; 2]> = SmallVec::new();
        let passes = text.passes();
        for first_row in (0..self.rows).step_by(rows) {
            let rows = rows.min(self.rows - first_row);
            for pass in 0..passes {
                let (first, last) = (pass == 0, pass + 1 == passes);
                // What one pass has written, the next one reads.
                let (from, to) = ((pass + 1) % 2, pass % 2);
                let tiles = tiling.tiles.cast_signed();
                let shift = 8 * pass.cast_signed();
                let mut stage = |step: Step, memory: &[Argument], second: isize, groups: usize| {
                    let mut arguments: SmallVec<[Argument; 12]> = memory.iter().cloned().collect();
                    arguments.push(self.rows_argument(first_row, rows));
                    arguments.push(Argument::longs([tiles, second]));
                    stages.push(Stage {
                        key: text.digits_key(step, first),
                        source: {
                            let text = text.clone();
                            Box::new(move || text.digits_kernel(step, first))
                        },
                        arguments,
                        global: [groups * GROUP, 1],
                        local: [GROUP, 1],
                    });
                };
                let source = Argument::Memory(self.src);
                let (counts, totals) = (Argument::Scratch(room.counts), Argument::Scratch(room.totals));
                let elements = room.elements.map(Argument::Scratch);
                let indices = room.indices.map(Argument::Scratch);
                let read = if first { source } else { elements[from].clone() };
                stage(Step::Count, &[read.clone(), counts.clone()], shift, rows * tiling.tiles);
                let lanes = tiling.tiles.div_ceil(TILES_EACH).next_power_of_two().min(GROUP);
                let groups = (rows * DIGITS).div_ceil(GROUP / lanes);
                stage(Step::Offsets, &[counts.clone(), totals.clone()], lanes.cast_signed(), groups);
                let write = if last { Argument::Memory(self.dst) } else { elements[to].clone() };
                let mut memory: SmallVec<[Argument; 6]> = smallvec![read, write, counts, totals];
                if text.indices {
                    memory.extend([indices[from].clone(), indices[to].clone()]);
                }
                stage(Step::Move { first, last }, &memory, shift, rows * tiling.tiles);
            }
        }
        Work { scratch_bytes: room.bytes, stages }
    }

    fn room(&self, rows: usize, tiling: Tiling) -> Room {
        let text = &self.text;
        let mut bytes = 0;
        let mut take = |size: usize| {
            let start = bytes;
            bytes += size.next_multiple_of(16);
            start
        };
        let number = text.number_bytes();
        let counts = take(rows * DIGITS * tiling.tiles * number);
        let totals = take(rows * DIGITS * number);
        let points = if text.passes() > 1 { rows * self.len } else { 0 };
        let elements = [take(points * text.dtype.size()), take(points * text.dtype.size())];
        let indices = [take(points * text.index_bytes()), take(points * text.index_bytes())];
        // Parameters that are not used have an address all the same.
        let bytes = take(16) + 16;
        Room { counts, totals, elements, indices, bytes }
    }
}

impl Text {
    /// Passes: one for each byte of a rank.
    fn passes(&self) -> usize {
        self.dtype.size()
    }

    /// Bytes of a number of elements.
    fn number_bytes(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// Bytes of the number of a place, where places move along.
    fn index_bytes(&self) -> usize {
        if self.indices { self.number_bytes() } else { 0 }
    }

    fn tiling(&self, len: usize) -> Tiling {
        let bytes = self.dtype.size().max(self.index_bytes()).max(4);
        let items = AREA_BYTES / GROUP / bytes;
        Tiling { items, tiles: len.div_ceil(items * GROUP) }
    }

    fn digits_key(&self, step: Step, first: bool) -> Key {
        let mut key = Key::new(Writer::Digits);
        let (number, last) = match step {
            Step::Count => (0, false),
            Step::Offsets => (1, false),
            Step::Move { last, .. } => (2, last),
        };
        // A kernel that looks at no element is one for all dtypes.
        let (flags, dtype) = match step {
            Step::Offsets => ([self.wide, false, false, false, false], 0),
            _ => ([self.wide, first, last, self.descending, self.indices], self.dtype as usize),
        };
        let flags = flags.iter().fold(0, |bits, &flag| bits << 1 | usize::from(flag));
        for part in [number, flags, dtype, self.dims] {
            key.push(part);
        }
        key
    }

    /// Elements, their digits, and how they are cut up.
    fn digit(&self) -> String {
        let items = self.tiling(1).items;
        let mut text = format!(
            "#define WAVES {WAVES}\n#define AREA_BYTES {AREA_BYTES}\n\
             #define ITEMS {items}\n#define TILE (ITEMS * GROUP)\n"
        );
        text.push_str(WAVE_FUNCTIONS);
        text.push_str(order::element(self.dtype));
        text.push_str(&order::rank(self.dtype, self.descending));
        text.push_str("static inline uint digit(const element x, const uint shift)\n{\n");
        text.push_str(match Rank::of(self.dtype) {
            Rank::Pair => {
                "    const ulong2 all = rank(x);\n    \
                 return (uint)((shift < 64 ? all.y >> shift : all.x >> (shift - 64)) & 255UL);\n}\n"
            }
            _ => "    return (uint)(rank(x) >> shift) & 255U;\n}\n",
        });
        text
    }

    fn digits_kernel(&self, step: Step, first: bool) -> String {
        let number = if self.wide { "ulong" } else { "uint" };
        let mut text = format!("#define GROUP {GROUP}\n#define DIGITS {DIGITS}\ntypedef {number} number;\n");
        if step != Step::Offsets {
            text.push_str(&self.digit());
        }
        let second = if step == Step::Offsets { "lanes" } else { "shift" };
        text.push_str(&self.rows().replace("long a, b;", &format!("long tiles, {second};")));
        let mut parameters = Parameters::new(&self.target);
        let source = match first {
            true => "global const element *in = src + src_row(r, row);",
            false => "global const element *in = src + row * r.len;",
        };
        let read = |body: &str| {
            let element = if first { "in[$1 * r.from]" } else { "in[$1]" };
            body.replace("SOURCE", source)
                .replace("READ(i)", &element.replace("$1", "i"))
                .replace("READ(start + at)", &element.replace("$1", "(start + at)"))
        };
        let body = match step {
            Step::Count => {
                parameters.memory("const element", "src");
                parameters.memory("number", "counts");
                read(include_str!("count.cl"))
            }
            Step::Offsets => {
                parameters.memory("number", "counts");
                parameters.memory("number", "totals");
                let lines = "const uint lanes = (uint)n.lanes;\n    const long tiles = n.tiles, lines = r.count * DIGITS;";
                offsets(lines, "            totals[line] = all;\n")
            }
            Step::Move { last, .. } => {
                let places = last && self.indices;
                parameters.memory("const element", "src");
                parameters.memory(if places { "long" } else { "element" }, "dst");
                parameters.memory("const number", "counts");
                parameters.memory("const number", "totals");
                if self.indices {
                    parameters.memory("const number", "from");
                    parameters.memory("number", "to");
                }
                let ty = if places { "long" } else { "element" };
                let (target, at) = match last {
                    true => {
                        (format!("global {ty} *out = dst + dst_row(r, row);"), "(long)to_places[k] * r.to")
                    }
                    false => (format!("global {ty} *out = dst + row * r.len;"), "to_places[k]"),
                };
                let element = if places { String::new() } else { format!("out[{at}] = y;") };
                let mut body = read(include_str!("move.cl"))
                    .replace("TARGET", &target)
                    .replace("            WRITE_ELEMENT\n", &format!("            {element}\n"));
                if self.indices {
                    let index = if first { "(number)(start + at)" } else { "from[row * r.len + start + at]" };
                    let write = match last {
                        true => format!("out[{at}] = (long)place_of;"),
                        false => "to[row * r.len + to_places[k]] = place_of;".to_owned(),
                    };
                    body.push_str(
                        &include_str!("indices.cl")
                            .replace("READ_INDEX", index)
                            .replace("WRITE_INDEX", &write),
                    );
                }
                body
            }
        };
        parameters.value("rows", "r");
        parameters.value("numbers", "n");
        let attributes = format!("__attribute__((reqd_work_group_size({GROUP}, 1, 1)))");
        text.push_str(&parameters.kernel(&attributes, &body));
        text
    }
}
