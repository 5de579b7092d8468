//! Elements that a mask selects, brought together, and values that are written where it is true.
//!
//! Three kernels: how many elements of each tile of the mask are true; how many are before each tile; the move, of whose
//! groups each goes through its tile in order. Where elements come from or go to depends on no other group, so all of it
//! is the same every time.

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::{Family, IndexedAxis, LaunchPlan};

use super::order;
use super::text::{Parameters, offsets};
use super::{Argument, Key, Stage, Target, Work, Writer};

/// Work-items of a group.
const GROUP: usize = 256;
/// Elements of a tile for each of them.
const ITEMS: usize = 16;
const TILE: usize = GROUP * ITEMS;

/// What goes where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Elements, together.
    Compress,
    /// Their numbers.
    Indices,
    /// Values, to where the mask is true.
    Expand,
}

fn mode(family: &Family) -> Option<(Mode, IndexedAxis, usize)> {
    match *family {
        Family::Compress { axis, masked, indices: false } => Some((Mode::Compress, axis, masked)),
        Family::Compress { axis, masked, indices: true } => Some((Mode::Indices, axis, masked)),
        Family::Expand { axis, masked } => Some((Mode::Expand, axis, masked)),
        _ => None,
    }
}

/// Whether a device has what these kernels need. A processor's work-items would take turns at each element.
pub(super) fn runs(target: &Target) -> bool {
    !target.cpu && target.max_group >= GROUP
}

/// The kernels of a plan; `None` for one of another family.
pub(super) fn work<'a>(plan: &'a LaunchPlan, target: &'a Target) -> Option<Work<'a>> {
    let (mode, axis, masked) = mode(&plan.family)?;
    let mask = plan.inputs.last()?;
    let points: usize = plan.dims[..masked].iter().product();
    let rest: usize = plan.dims[masked..].iter().product();
    let tiles = points.div_ceil(TILE);
    let element = if mode == Mode::Indices { None } else { Some(plan.program.inputs()[0]) };
    let text =
        Text { mode, element: element.map_or("", order::element), masked, dims: plan.dims.len(), target };

    // For each dimension its extent, and steps in the mask, the source and the result.
    let mut numbers: SmallVec<[isize; 32]> =
        [points, rest, tiles, axis.extent].iter().map(|n| n.cast_signed()).collect();
    numbers.push(axis.stride);
    let (source, output) = (&plan.inputs[0], &plan.outputs[0]);
    for d in 0..plan.dims.len() {
        numbers.extend([plan.dims[d].cast_signed(), mask.strides[d], source.strides[d], output.strides[d]]);
    }
    let memory = |number: usize| -> SmallVec<[Argument; 12]> {
        let counts = Argument::Scratch(0);
        let mut arguments: SmallVec<[Argument; 12]> = match number {
            0 => SmallVec::from_iter([Argument::Memory(mask.ptr), counts]),
            1 => SmallVec::from_iter([counts]),
            _ => SmallVec::from_iter([
                Argument::Memory(mask.ptr),
                counts,
                Argument::Memory(source.ptr),
                Argument::Memory(output.ptr),
            ]),
        };
        arguments.push(Argument::longs(numbers.iter().copied()));
        arguments
    };
    let stage = |number: usize, groups: usize| {
        let mut key = Key::new(Writer::Mask);
        let size = element.filter(|_| number == 2).map_or(0, order::element_key);
        let mode = if number == 2 { mode as usize } else { 0 };
        for part in [number, mode, size, text.masked, text.dims] {
            key.push(part);
        }
        Stage {
            key,
            source: Box::new(move || text.kernel(number)),
            arguments: memory(number),
            global: [groups * GROUP, 1],
            local: [GROUP, 1],
        }
    };
    let stages = SmallVec::from_iter([stage(0, tiles), stage(1, 1), stage(2, tiles)]);
    Some(Work { scratch_bytes: (tiles * 8).next_multiple_of(16), stages })
}

/// What the kernels' texts depend on.
#[derive(Clone, Copy)]
struct Text<'a> {
    mode: Mode,
    element: &'static str,
    masked: usize,
    dims: usize,
    target: &'a Target,
}

impl Text<'_> {
    /// The text of the kernel of a number.
    fn kernel(self, number: usize) -> String {
        // No array of C's is empty.
        let of_dims = if self.dims > 0 { format!(", n[{}]", 4 * self.dims) } else { String::new() };
        let mut text = format!(
            "#define GROUP {GROUP}\n#define ITEMS {ITEMS}\n#define TILE {TILE}\n\
             typedef struct {{\n    long points, rest, tiles, extent, stride{of_dims};\n}} numbers;\n"
        );
        // Where a point, of the mask or of the other dimensions, is in an operand.
        for (name, dims) in [("of_mask", 0..self.masked), ("of_rest", self.masked..self.dims)] {
            let _ =
                writeln!(text, "static inline long {name}(const numbers s, long i, const int operand)\n{{");
            text.push_str("    long at = 0;\n");
            let first = dims.start;
            for d in dims.rev() {
                let step = format!("s.n[{} + operand]", 4 * d + 1);
                let _ = match d == first {
                    true => writeln!(text, "    at += i * {step};"),
                    false => {
                        writeln!(text, "    at += i % s.n[{0}] * {step};\n    i /= s.n[{0}];", 4 * d)
                    }
                };
            }
            text.push_str("    return at;\n}\n");
        }
        let mut parameters = Parameters::new(self.target);
        let body = match number {
            0 => {
                parameters.memory("const uchar", "mask");
                parameters.memory("ulong", "counts");
                COUNT.to_owned()
            }
            1 => {
                parameters.memory("ulong", "counts");
                // One group, whose work-items go through some tiles each.
                text.push_str("typedef ulong number;\n");
                offsets("const uint lanes = GROUP;\n    const long tiles = s.tiles, lines = 1;", "")
            }
            _ => {
                text.push_str(self.element);
                let (from, to) = match self.mode {
                    Mode::Indices => ("const uchar", "long"),
                    _ => ("const element", "element"),
                };
                parameters.memory("const uchar", "mask");
                parameters.memory("const ulong", "counts");
                parameters.memory(from, "src");
                parameters.memory(to, "dst");
                MOVE.replace(
                    "WRITE",
                    match self.mode {
                        Mode::Indices => "dst[place * s.stride] = i;",
                        Mode::Compress => {
                            "dst[place * s.stride + of_rest(s, k, 2)] = src[of_mask(s, i, 1) + of_rest(s, k, 1)];"
                        }
                        Mode::Expand => {
                            "dst[of_mask(s, i, 2) + of_rest(s, k, 2)] = src[place * s.stride + of_rest(s, k, 1)];"
                        }
                    },
                )
            }
        };
        parameters.value("numbers", "s");
        let attributes = format!("__attribute__((reqd_work_group_size({GROUP}, 1, 1)))");
        text + &parameters.kernel(&attributes, &body)
    }
}

/// How many elements of a tile are true.
const COUNT: &str = "    const int lane = (int)get_local_id(0);
    const long start = (long)get_group_id(0) * TILE;
    local uint total;
    if (lane == 0)
        total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint own = 0;
    #pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const long i = start + k * GROUP + lane;
        if (i < s.points)
            own += mask[of_mask(s, i, 0)] != 0;
    }
    if (own > 0)
        atomic_add(&total, own);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0)
        counts[get_group_id(0)] = total;
";

/// Moves what a tile selects: work-items look at elements side by side, and learn how many of them are true before each
/// from bits that 32 of them share.
const MOVE: &str = "    const int lane = (int)get_local_id(0), wave = lane / 32, bit = lane % 32;
    const long start = (long)get_group_id(0) * TILE;
    local uint bits[ITEMS * GROUP / 32];
    if (lane < ITEMS * GROUP / 32)
        bits[lane] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const long i = start + k * GROUP + lane;
        if (i < s.points && mask[of_mask(s, i, 0)] != 0)
            atomic_or(&bits[k * (GROUP / 32) + wave], 1U << bit);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    // How many are true before each number of bits.
    local uint sums[ITEMS * GROUP / 32];
    const bool sums_one = lane < ITEMS * GROUP / 32;
    const uint own = sums_one ? popcount(bits[lane]) : 0;
    uint all = own;
    if (sums_one)
        sums[lane] = all;
    for (int reach = 1; reach < ITEMS * GROUP / 32; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint before = sums_one && lane >= reach ? sums[lane - reach] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        all += before;
        if (sums_one)
            sums[lane] = all;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long first = (long)counts[get_group_id(0)];
    for (int k = 0; k < ITEMS; k++) {
        const uint word = bits[k * (GROUP / 32) + wave];
        if (word >> bit & 1) {
            const long i = start + k * GROUP + lane;
            const uint behind = popcount(word >> bit);
            const long place = first + sums[k * (GROUP / 32) + wave] - behind;
            if (place < s.extent)
                for (long k = 0; k < s.rest; k++)
                    WRITE
        }
    }
";
