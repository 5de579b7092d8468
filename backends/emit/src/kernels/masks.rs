//! Elements that a mask selects, brought together, and values that are written where it is true.
//!
//! Two kernels: how many elements of each tile of the mask are true; and the move, of whose groups each adds up those of the
//! tiles before its own, and makes a list of the true elements of its tile in order, which its work-items then go through side
//! by side. Where there are very many tiles, a kernel between the two says how many are before each. Where elements come from
//! or go to depends on no other group, so all of it is the same every time.
//!
//! Work-items read sixteen bytes of the mask each where these lie next to each other. On an H200, from
//! Python, beside the better of CuPy and PyTorch in the same run, 2²⁴ `float32`, as its time over ours: by a
//! running count `nonzero(a > 0.5)` 0.05 (2.44 ms), `a[mask]` 0.07; with bits that work-items share 0.5
//! (0.23 ms), and 0.21 ms against PyTorch's 0.18, `a[mask] = values` 0.21 against 0.17; with lists `nonzero`
//! 0.85 (110 µs; the move 70 to 41 µs, the counts 33 to 10), `a[mask]` 1.12 (142 µs), `a[mask] = values` 1.01
//! (185 µs), `top_k` of 10 1.13 (319 µs). What is left of `nonzero` is two launches, the read of the count,
//! two launches and the wait: 45 µs of it are no kernel's.

use std::fmt::Write as _;

use smallvec::SmallVec;
use stridewise_core::{
    Dtype, DtypeKind,
    backend::{Family, IndexedAxis, LaunchPlan},
};

use super::order;
use super::text::{Parameters, c_type, offsets, vector};
use super::{Argument, Key, Stage, Target, Work, Writer};

/// Work-items of a group.
const GROUP: usize = 256;
/// Elements that one of them looks at together.
const ITEMS: usize = 16;

/// How a mask is cut into tiles.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// How often the work-items of a group look at elements, four times at most.
    pub(super) rounds: usize,
    /// Tiles up to which a group adds up those before its own.
    pub(super) summed: usize,
}

impl Cut {
    /// Elements from which on there are tiles enough of four rounds for all of a device, and the local memory for these.
    const LARGE: usize = 1 << 20;
    const LARGE_BYTES: usize = 40 << 10;

    fn of(points: usize, target: &Target) -> Self {
        let large = points >= Self::LARGE && target.local_bytes >= Self::LARGE_BYTES;
        Self { rounds: if large { 4 } else { 1 }, summed: 4096 }
    }

    const fn tile(self) -> usize {
        self.rounds * GROUP * ITEMS
    }
}

/// What goes where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Elements, together.
    Compress,
    /// Their numbers.
    Indices,
    /// Values, to where the mask is true.
    Expand,
    /// Elements that differ from the one before, together.
    Runs,
}

fn mode(family: &Family) -> Option<(Mode, IndexedAxis, usize)> {
    match *family {
        Family::Compress { axis, masked, indices: false } => Some((Mode::Compress, axis, masked)),
        Family::Compress { axis, masked, indices: true } => Some((Mode::Indices, axis, masked)),
        Family::Expand { axis, masked } => Some((Mode::Expand, axis, masked)),
        Family::Runs { axis } => Some((Mode::Runs, axis, 1)),
        _ => None,
    }
}

/// Whether a device has what these kernels need. A processor's work-items would take turns at each element.
pub(super) fn runs(target: &Target) -> bool {
    !target.cpu && target.max_group >= GROUP
}

/// Whether elements of a dtype are compared as the language does, so that those that differ from the one before can be found.
pub(super) fn compares(dtype: Dtype, target: &Target) -> bool {
    match dtype.kind() {
        DtypeKind::Signed | DtypeKind::Unsigned => true,
        DtypeKind::Float => dtype == Dtype::F32 || (dtype == Dtype::F64 && target.fp64),
        _ => false,
    }
}

/// The kernels of a plan; `None` for one of another family.
pub(super) fn work<'a>(plan: &'a LaunchPlan, target: &'a Target) -> Option<Work<'a>> {
    let (.., masked) = mode(&plan.family)?;
    work_in_tiles(plan, target, Cut::of(plan.dims[..masked].iter().product(), target))
}

/// As [`work`], by other tiles.
pub(super) fn work_in_tiles<'a>(plan: &'a LaunchPlan, target: &'a Target, cut: Cut) -> Option<Work<'a>> {
    let (mode, axis, masked) = mode(&plan.family)?;
    let mask = plan.inputs.last()?;
    let points: usize = plan.dims[..masked].iter().product();
    let rest: usize = plan.dims[masked..].iter().product();
    let tiles = points.div_ceil(cut.tile());
    // Bytes next to each other, which are read by eight; elements, by four.
    let step = if mode == Mode::Runs { 4 * plan.program.inputs()[0].size() } else { 8 };
    let eights = masked == 1 && mask.strides[0] == 1 && mask.ptr.addr().is_multiple_of(step);
    let compared = (mode == Mode::Runs).then(|| plan.program.inputs()[0]);
    let element = if mode == Mode::Indices { None } else { Some(plan.program.inputs()[0]) };
    let text = Text {
        mode,
        element: element.map_or("", order::element),
        compared,
        masked,
        dims: plan.dims.len(),
        eights,
        rounds: cut.rounds,
        summed: tiles <= cut.summed,
        target,
    };

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
        if let (2, Mode::Runs, Some(told)) = (number, mode, plan.outputs.get(1)) {
            arguments.push(Argument::Memory(told.ptr));
        }
        arguments.push(Argument::longs(numbers.iter().copied()));
        arguments
    };
    let stage = |number: usize, groups: usize| {
        let mut key = Key::new(Writer::Mask);
        let size = element.filter(|_| number == 2).map_or(0, order::element_key);
        let of_runs = compared.map_or(0, |dtype| 1 + dtype as usize);
        let mode = if number == 2 { mode as usize } else { 0 };
        let (eights, summed) = (usize::from(eights), usize::from(text.summed));
        for part in [number, mode, size, of_runs, text.masked, text.dims, eights, summed, text.rounds] {
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
    let mut stages = SmallVec::from_iter([stage(0, tiles)]);
    if !text.summed {
        stages.push(stage(1, 1));
    }
    stages.push(stage(2, tiles));
    Some(Work { scratch_bytes: (tiles * 8).next_multiple_of(16), stages })
}

/// What the kernels' texts depend on.
#[derive(Clone, Copy)]
struct Text<'a> {
    mode: Mode,
    element: &'static str,
    /// The type of the elements that are compared, instead of a mask.
    compared: Option<Dtype>,
    masked: usize,
    dims: usize,
    /// The mask is bytes next to each other, the first of eight.
    eights: bool,
    rounds: usize,
    /// A group adds up the tiles before its own.
    summed: bool,
    target: &'a Target,
}

impl Text<'_> {
    /// The text of the kernel of a number.
    fn kernel(self, number: usize) -> String {
        // No array of C's is empty.
        let of_dims = if self.dims > 0 { format!(", n[{}]", 4 * self.dims) } else { String::new() };
        let mut text = format!(
            "#define GROUP {GROUP}\n#define ITEMS {ITEMS}\n#define ROUNDS {}\n#define TILE (ROUNDS * GROUP * ITEMS)\n\
             typedef struct {{\n    long points, rest, tiles, extent, stride{of_dims};\n}} numbers;\n",
            self.rounds
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
        let bits = match self.compared {
            Some(_) => DIFFERENT,
            None => BITS,
        };
        let ty = self.compared.map_or("uchar", c_type);
        let fours = vector(self.compared.unwrap_or(Dtype::U8), 4);
        let eights = if self.eights { "1" } else { "0" };
        text.push_str(&bits.replace("EIGHTS", eights).replace("FOURS", &fours).replace("TYPE", ty));
        let mask = format!("const {ty}");
        let mut parameters = Parameters::new(self.target);
        let body = match number {
            0 => {
                parameters.memory(&mask, "mask");
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
                parameters.memory(&mask, "mask");
                parameters.memory("const ulong", "counts");
                parameters.memory(from, "src");
                parameters.memory(to, "dst");
                if self.compared.is_some() {
                    parameters.memory("long", "told");
                }
                let first = if self.summed { SUMMED } else { "    const long first = (long)counts[tile];\n" };
                let told = match self.compared {
                    Some(_) => "    if (lane == 0 && tile == s.tiles - 1)\n        *told = first + total;\n",
                    None => "",
                };
                MOVE.replace("    FIRST\n", first).replace("    TOLD\n", told).replace(
                    "WRITE",
                    match self.mode {
                        Mode::Indices => "dst[place * s.stride] = i;",
                        Mode::Compress | Mode::Runs => {
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

/// Which of the elements from one on that a work-item looks at are true.
const BITS: &str = "static inline uint eight(const ulong bytes)
{
    // The highest bit of each byte that is not 0, and these next to each other.
    const ulong low = 0x7f7f7f7f7f7f7f7fUL, high = (bytes | ((bytes & low) + low)) & ~low;
    return (uint)((high >> 7) * 0x0102040810204080UL >> 56);
}
static inline uint bits_of(global const uchar *mask, const numbers s, const long i)
{
    if (EIGHTS && i + ITEMS <= s.points) {
        global const ulong *eights = (global const ulong *)(mask + i);
        return eight(eights[0]) | eight(eights[1]) << 8;
    }
    uint bits = 0;
    for (int k = 0; k < ITEMS; k++)
        if (i + k < s.points && mask[of_mask(s, i + k, 0)] != 0)
            bits |= 1U << k;
    return bits;
}
";

/// Which of the elements from one on that a work-item looks at differ from the one before.
const DIFFERENT: &str = "static inline uint bits_of(global const TYPE *mask, const numbers s, const long i)
{
    if (i >= s.points)
        return 0;
    TYPE before = mask[of_mask(s, max(i - 1, 0L), 0)];
    uint bits = i == 0;
    if (EIGHTS && i + ITEMS <= s.points) {
        global const FOURS *fours = (global const FOURS *)(mask + i);
        #pragma unroll
        for (int k = 0; k < ITEMS / 4; k++) {
            const FOURS x = fours[k];
            bits |= (uint)(x.s0 != before) << (4 * k) | (uint)(x.s1 != x.s0) << (4 * k + 1)
                | (uint)(x.s2 != x.s1) << (4 * k + 2) | (uint)(x.s3 != x.s2) << (4 * k + 3);
            before = x.s3;
        }
        return bits;
    }
    for (int k = 0; k < ITEMS && i + k < s.points; k++) {
        const TYPE x = mask[of_mask(s, i + k, 0)];
        bits |= (uint)(x != before) << k;
        before = x;
    }
    return bits;
}
";

/// How many elements of a tile are true.
const COUNT: &str = "    const int lane = (int)get_local_id(0);
    const long start = (long)get_group_id(0) * TILE;
    local uint sums[GROUP];
    uint own = 0;
    #pragma unroll
    for (int r = 0; r < ROUNDS; r++)
        own += popcount(bits_of(mask, s, start + (r * GROUP + lane) * ITEMS));
    sums[lane] = own;
    for (int half_way = GROUP / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_way)
            sums[lane] += sums[lane + half_way];
    }
    if (lane == 0)
        counts[get_group_id(0)] = sums[0];
";

/// How many elements before a tile are true.
const SUMMED: &str = "    local ulong parts[GROUP];
    ulong part = 0;
    for (long k = lane; k < tile; k += GROUP)
        part += counts[k];
    parts[lane] = part;
    for (int half_way = GROUP / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < half_way)
            parts[lane] += parts[lane + half_way];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long first = (long)parts[0];
";

/// Moves what a tile selects. How many elements are true before those of a work-item is added up for all rounds at once, 16
/// bits of a number for each.
const MOVE: &str = "    const int lane = (int)get_local_id(0);
    const long tile = (long)get_group_id(0), start = tile * TILE;
    FIRST
    uint own[ROUNDS];
    ulong counted = 0;
    #pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        own[r] = bits_of(mask, s, start + (r * GROUP + lane) * ITEMS);
        counted |= (ulong)popcount(own[r]) << (16 * r);
    }
    local ulong sums[2 * GROUP];
    int side = 0;
    ulong all = counted;
    sums[lane] = all;
    for (int reach = 1; reach < GROUP; reach *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane >= reach)
            all += sums[side + lane - reach];
        side = GROUP - side;
        sums[side + lane] = all;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong totals = sums[side + GROUP - 1], before = all - counted;
    local ushort list[TILE];
    uint total = 0;
    #pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        uint place = total + (uint)(before >> (16 * r) & 0xffffUL);
        for (uint left = own[r]; left != 0; left &= left - 1)
            list[place++] = (ushort)((r * GROUP + lane) * ITEMS + popcount((left & (0U - left)) - 1U));
        total += (uint)(totals >> (16 * r) & 0xffffUL);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    TOLD
    for (uint number = lane; number < total; number += GROUP) {
        const long i = start + list[number], place = first + number;
        if (place < s.extent)
            for (long k = 0; k < s.rest; k++)
                WRITE
    }
";
