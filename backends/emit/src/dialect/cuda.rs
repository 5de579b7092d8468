//! CUDA C++ for NVRTC.
//!
//! | OpenCL C | here |
//! |---|---|
//! | `kernel`, `static` | with their side: `extern "C" __global__`, `static __device__` |
//! | `global`, `private` | nothing: a pointer is to whatever memory |
//! | `local` | `__shared__` before an array, nothing before a pointer |
//! | `constant` | `__constant__` |
//! | `(float2)(x, y)` | `sw_float2(x, y)`, a constructor |
//! | `as_uint`, `convert_float2` | `sw_as<uint>`, `sw_convert<sw_float2>` |
//! | `__attribute__((reqd_work_group_size(256, 1, 1)))` | `__launch_bounds__(256 * 1 * 1)` |
//! | `#pragma OPENCL` | nothing |
//!
//! The rest is in the prelude: vectors that the text names ([`vectors`](super::vectors)), and of [`PARTS`] those whose names it
//! uses. A compiler takes its time over every function, so a text has no others.

use std::collections::BTreeSet;

use super::vectors;

/// What every text begins with. A `long` has 64 bits in OpenCL C, a `char` a sign.
const HEAD: &str = "\
#define SW_DEVICE static __device__ __forceinline__
#define SW_MEMBER __device__ __forceinline__ constexpr
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define char signed char
static_assert(sizeof(long) == 8, \"a long has 64 bits\");
";

/// Functions and macros by the names that a text uses them by; what one uses of the others comes with it.
const PARTS: &[(&[&str], &str)] = &[
    (&["size_t"], "typedef unsigned long size_t;\n"),
    (&["INT_MAX"], "#define INT_MAX 2147483647\n"),
    (&["LONG_MAX"], "#define LONG_MAX 9223372036854775807L\n"),
    (&["ULONG_MAX"], "#define ULONG_MAX 18446744073709551615UL\n"),
    (&["NAN"], "#define NAN __int_as_float(0x7fc00000)\n"),
    (&["INFINITY"], "#define INFINITY __int_as_float(0x7f800000)\n"),
    (&["M_LN2"], "#define M_LN2 0x1.62e42fefa39efp-1\n"),
    (&["M_LOG2E"], "#define M_LOG2E 0x1.71547652b82fep+0\n"),
    (&["M_LOG10E"], "#define M_LOG10E 0x1.bcb7b1526e50ep-2\n"),
    (&["M_PI"], "#define M_PI 0x1.921fb54442d18p+1\n"),
    (&["M_PI_2"], "#define M_PI_2 0x1.921fb54442d18p+0\n"),
    (&["M_PI_4"], "#define M_PI_4 0x1.921fb54442d18p-1\n"),
    (&["M_SQRT1_2"], "#define M_SQRT1_2 0x1.6a09e667f3bcdp-1\n"),
    (
        &["sw_as"],
        "template <class T, class U> SW_MEMBER T sw_as(const U x)
{
    static_assert(sizeof(T) == sizeof(U), \"bits of another number\");
    return __builtin_bit_cast(T, x);
}
",
    ),
    (&["sw_convert"], "template <class T, class U> SW_MEMBER T sw_convert(const U x) { return T::of(x); }\n"),
    (
        &["convert_float_rtz"],
        "SW_DEVICE float convert_float_rtz(const long x) { return __ll2float_rz(x); }
SW_DEVICE float convert_float_rtz(const ulong x) { return __ull2float_rz(x); }
",
    ),
    (
        &["get_global_id", "get_local_id", "get_group_id", "get_num_groups", "get_local_size", "get_global_size"],
        "#ifdef SW_FLAT
// All groups in one row, and all items of a group: more of them than the device counts along other axes than the first.
#define get_group_id(d) sw_along(blockIdx.x, sw_shape.groups, d)
#define get_local_id(d) sw_along(threadIdx.x, sw_shape.items, d)
#define get_num_groups(d) ((ulong)sw_shape.groups[d])
#define get_local_size(d) ((ulong)sw_shape.items[d])
#define get_global_id(d) (get_group_id(d) * sw_shape.items[d] + get_local_id(d))
#define get_global_size(d) (get_num_groups(d) * sw_shape.items[d])
SW_DEVICE ulong sw_along(const uint number, const uint *shape, const int d)
{
    return d == 0 ? number % shape[0] : d == 1 ? number / shape[0] % shape[1] : number / shape[0] / shape[1];
}
#else
SW_DEVICE ulong get_group_id(const int d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z; }
SW_DEVICE ulong get_local_id(const int d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }
SW_DEVICE ulong get_num_groups(const int d) { return d == 0 ? gridDim.x : d == 1 ? gridDim.y : gridDim.z; }
SW_DEVICE ulong get_local_size(const int d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }
SW_DEVICE ulong get_global_id(const int d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }
SW_DEVICE ulong get_global_size(const int d) { return get_num_groups(d) * get_local_size(d); }
#endif
",
    ),
    (&["sw_shared"], "extern __shared__ __align__(16) uchar sw_shared[];\n"),
    (&["CLK_LOCAL_MEM_FENCE"], "#define CLK_LOCAL_MEM_FENCE 1\n"),
    (&["CLK_GLOBAL_MEM_FENCE"], "#define CLK_GLOBAL_MEM_FENCE 2\n"),
    (&["barrier"], "#define barrier(fence) __syncthreads()\n"),
    (&["mem_fence"], "#define mem_fence(fence) __threadfence()\n"),
    (&["min"], "#define min sw_min\ntemplate <class T> SW_DEVICE T sw_min(const T x, const T y) { return y < x ? y : x; }\n"),
    (&["max"], "#define max sw_max\ntemplate <class T> SW_DEVICE T sw_max(const T x, const T y) { return x < y ? y : x; }\n"),
    (
        &["clamp"],
        "template <class T> SW_DEVICE T clamp(const T x, const T least, const T most)
{
    return x < least ? least : most < x ? most : x;
}
",
    ),
    (
        &["abs"],
        "#define abs sw_abs
SW_DEVICE uchar sw_abs(const char x) { return (uchar)(x < 0 ? -x : x); }
SW_DEVICE ushort sw_abs(const short x) { return (ushort)(x < 0 ? -x : x); }
SW_DEVICE uint sw_abs(const int x) { return x < 0 ? 0u - (uint)x : (uint)x; }
SW_DEVICE ulong sw_abs(const long x) { return x < 0 ? 0UL - (ulong)x : (ulong)x; }
",
    ),
    (&["mul_hi"], "SW_DEVICE uint mul_hi(const uint x, const uint y) { return __umulhi(x, y); }\n"),
    (
        &["popcount"],
        "SW_DEVICE uint popcount(const uint x) { return (uint)__popc(x); }
SW_DEVICE ulong popcount(const ulong x) { return (ulong)__popcll(x); }
",
    ),
    (
        &["sincos"],
        "#define sincos sw_sincos
SW_DEVICE double sw_sincos(const double x, double *cosine)
{
    *cosine = cos(x);
    return sin(x);
}
",
    ),
    (
        &["vload2"],
        "SW_DEVICE sw_float2 vload2(const long at, const float *p) { return sw_float2(p[2 * at], p[2 * at + 1]); }
SW_DEVICE sw_double2 vload2(const long at, const double *p) { return sw_double2(p[2 * at], p[2 * at + 1]); }
",
    ),
    (
        &["vstore2"],
        "SW_DEVICE void vstore2(const sw_float2 x, const long at, float *p) { p[2 * at] = x.x, p[2 * at + 1] = x.y; }
SW_DEVICE void vstore2(const sw_double2 x, const long at, double *p) { p[2 * at] = x.x, p[2 * at + 1] = x.y; }
",
    ),
    (&["atomic_add", "atom_add"], ATOMIC_ADD),
    (&["atomic_sub", "atom_sub"], ATOMIC_SUB),
    (&["atomic_inc"], "SW_DEVICE uint atomic_inc(volatile uint *p) { return atomicAdd((uint *)p, 1u); }\n"),
    (&["atomic_xchg", "atom_xchg"], ATOMIC_XCHG),
    (&["atomic_cmpxchg", "atom_cmpxchg"], ATOMIC_CMPXCHG),
    (&["atomic_min", "atom_min"], MIN),
    (&["atomic_max", "atom_max"], MAX),
    (&["atomic_and", "atom_and"], AND),
    (&["atomic_or", "atom_or"], OR),
    (&["atomic_xor", "atom_xor"], XOR),
    (&["sw_geometry"], "typedef struct {\n    uint groups[3], items[3];\n} sw_geometry;\n"),
];

const ATOMIC_ADD: &str = "\
SW_DEVICE int atomic_add(volatile int *p, const int x) { return atomicAdd((int *)p, x); }
SW_DEVICE uint atomic_add(volatile uint *p, const uint x) { return atomicAdd((uint *)p, x); }
SW_DEVICE ulong atom_add(volatile ulong *p, const ulong x) { return atomicAdd((unsigned long long *)p, x); }
SW_DEVICE long atom_add(volatile long *p, const long x) { return (long)atomicAdd((unsigned long long *)p, (ulong)x); }
SW_DEVICE float atomic_add(volatile float *p, const float x) { return atomicAdd((float *)p, x); }
SW_DEVICE double atom_add(volatile double *p, const double x) { return atomicAdd((double *)p, x); }
";
const ATOMIC_SUB: &str = "\
SW_DEVICE int atomic_sub(volatile int *p, const int x) { return atomicSub((int *)p, x); }
SW_DEVICE uint atomic_sub(volatile uint *p, const uint x) { return atomicSub((uint *)p, x); }
SW_DEVICE ulong atom_sub(volatile ulong *p, const ulong x) { return atomicAdd((unsigned long long *)p, 0UL - x); }
SW_DEVICE long atom_sub(volatile long *p, const long x)
{
    return (long)atomicAdd((unsigned long long *)p, 0UL - (ulong)x);
}
";
const ATOMIC_XCHG: &str = "\
SW_DEVICE int atomic_xchg(volatile int *p, const int x) { return atomicExch((int *)p, x); }
SW_DEVICE uint atomic_xchg(volatile uint *p, const uint x) { return atomicExch((uint *)p, x); }
SW_DEVICE ulong atom_xchg(volatile ulong *p, const ulong x) { return atomicExch((unsigned long long *)p, x); }
";
const ATOMIC_CMPXCHG: &str = "\
SW_DEVICE int atomic_cmpxchg(volatile int *p, const int e, const int x) { return atomicCAS((int *)p, e, x); }
SW_DEVICE uint atomic_cmpxchg(volatile uint *p, const uint e, const uint x) { return atomicCAS((uint *)p, e, x); }
SW_DEVICE ulong atom_cmpxchg(volatile ulong *p, const ulong e, const ulong x)
{
    return atomicCAS((unsigned long long *)p, e, x);
}
";

macro_rules! of_integers {
    ($name:literal, $function:literal) => {
        concat!(
            "SW_DEVICE int atomic_",
            $name,
            "(volatile int *p, const int x) { return ",
            $function,
            "((int *)p, x); }\n",
            "SW_DEVICE uint atomic_",
            $name,
            "(volatile uint *p, const uint x) { return ",
            $function,
            "((uint *)p, x); }\n",
            "SW_DEVICE long atom_",
            $name,
            "(volatile long *p, const long x)\n{\n    return (long)",
            $function,
            "((long long *)p, (long long)x);\n}\n",
            "SW_DEVICE ulong atom_",
            $name,
            "(volatile ulong *p, const ulong x)\n{\n    return (ulong)",
            $function,
            "((unsigned long long *)p, (unsigned long long)x);\n}\n",
        )
    };
}
const MIN: &str = of_integers!("min", "atomicMin");
const MAX: &str = of_integers!("max", "atomicMax");
const AND: &str = of_integers!("and", "atomicAnd");
const OR: &str = of_integers!("or", "atomicOr");
const XOR: &str = of_integers!("xor", "atomicXor");

/// A piece of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Piece<'a> {
    /// A name, a keyword, or a number with what is written to it.
    Word(&'a str),
    /// A character of its own.
    Sign(char),
    /// White space and comments, and what stands in quotes.
    Space(&'a str),
}

/// The pieces of a text, in order.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let until = |stop: &dyn Fn(char) -> bool| rest.find(stop).unwrap_or(rest.len());
        let behind =
            |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
        let length = match first {
            c if is_word(c) => until(&|c| !is_word(c)),
            c if c.is_whitespace() => until(&|c| !c.is_whitespace()),
            // No text has a quote in quotes.
            '"' => behind("\"", 1),
            _ if rest.starts_with("/*") => behind("*/", 2),
            _ if rest.starts_with("//") => until(&|c| c == '\n'),
            c => c.len_utf8(),
        };
        let (this, more) = rest.split_at(length);
        found.push(match first {
            c if is_word(c) => Piece::Word(this),
            c if length == c.len_utf8() && !c.is_whitespace() => Piece::Sign(c),
            _ => Piece::Space(this),
        });
        rest = more;
    }
    found
}

/// The place and the piece that follow, but for white space.
fn next<'a>(pieces: &[Piece<'a>], from: usize) -> Option<(usize, Piece<'a>)> {
    let rest = pieces.iter().enumerate().skip(from);
    rest.map(|(at, &piece)| (at, piece)).find(|(_, piece)| !matches!(piece, Piece::Space(_)))
}

/// Whether memory is meant that has no name of its own: a pointer's target.
fn is_pointer(pieces: &[Piece<'_>], mut from: usize) -> bool {
    while let Some((at, piece)) = next(pieces, from) {
        match piece {
            Piece::Word(_) => from = at + 1,
            piece => return piece == Piece::Sign('*'),
        }
    }
    false
}

/// A text of OpenCL C in CUDA C++.
pub(super) fn text(source: &str) -> String {
    let lines = source.lines().filter(|line| !line.starts_with("#pragma OPENCL"));
    let source: String = lines.flat_map(|line| [line, "\n"]).collect();
    let pieces = pieces(&source);
    let (mut used, mut lengths) = (BTreeSet::new(), BTreeSet::new());
    let mut body = String::with_capacity(source.len());
    let mut at = 0;
    while let Some(&piece) = pieces.get(at) {
        at += 1;
        match piece {
            Piece::Space(space) => body.push_str(space),
            Piece::Sign('(') => {
                // A vector is written as a cast of a list.
                let open = next(&pieces, at);
                let word = open.and_then(|(at, piece)| match piece {
                    Piece::Word(word) => vectors::of_word(word).map(|of| (at, of)),
                    _ => None,
                });
                let close = word.and_then(|(at, of)| {
                    next(&pieces, at + 1)
                        .filter(|&(_, piece)| piece == Piece::Sign(')'))
                        .map(|(at, _)| (at, of))
                });
                let written = close.filter(|&(at, _)| {
                    next(&pieces, at + 1).is_some_and(|(_, piece)| piece == Piece::Sign('('))
                });
                match written {
                    Some((end, (part, length))) => {
                        lengths.insert((part, length));
                        body.push_str(&vectors::name(part, length));
                        at = end + 1;
                    }
                    None => body.push('('),
                }
            }
            Piece::Sign(sign) => body.push(sign),
            Piece::Word("__attribute__") => {
                // What is in the two pairs of brackets.
                let inside = (1..3).try_fold(at, |at, _| {
                    next(&pieces, at).filter(|&(_, piece)| piece == Piece::Sign('(')).map(|(at, _)| at + 1)
                });
                let named = inside.and_then(|at| next(&pieces, at));
                if let Some((from, Piece::Word("reqd_work_group_size"))) = named {
                    let (bounds, end) = bounds(&pieces, from + 1);
                    body.push_str(&format!("__launch_bounds__({bounds})"));
                    at = end;
                } else {
                    body.push_str("__attribute__");
                }
            }
            Piece::Word(word) => body.push_str(&match word {
                "kernel" => "extern \"C\" __global__".to_owned(),
                "static" => "static __device__".to_owned(),
                "constant" => "__constant__".to_owned(),
                "global" | "private" => String::new(),
                "local" if is_pointer(&pieces, at) => String::new(),
                "local" => "__shared__".to_owned(),
                _ => self::word(word, &mut used, &mut lengths),
            }),
        }
    }
    prelude(&used, lengths) + &body
}

/// A name in CUDA C++; notes what it stands for.
fn word<'a>(
    word: &'a str,
    used: &mut BTreeSet<&'a str>,
    lengths: &mut BTreeSet<(&'static str, usize)>,
) -> String {
    if let Some((part, length)) = vectors::of_word(word) {
        lengths.insert((part, length));
        return vectors::name(part, length);
    }
    for (prefix, function) in [("as_", "sw_as"), ("convert_", "sw_convert")] {
        let Some(ty) = word.strip_prefix(prefix) else { continue };
        let vector = vectors::of_word(ty);
        if vector.is_some() || (prefix == "as_" && is_number(ty)) {
            used.insert(function);
            lengths.extend(vector);
            let ty = vector.map_or_else(|| ty.to_owned(), |(part, length)| vectors::name(part, length));
            return format!("{function}<{ty}>");
        }
    }
    used.insert(word);
    word.to_owned()
}

/// Whether a word is a type of numbers.
fn is_number(word: &str) -> bool {
    vectors::of_word(&format!("{word}2")).is_some()
}

/// The product of the numbers in brackets, and where the attribute that they are in ends.
fn bounds(pieces: &[Piece<'_>], mut from: usize) -> (String, usize) {
    let mut numbers: Vec<&str> = Vec::new();
    let mut open = 2_usize;
    while let Some((at, piece)) = next(pieces, from) {
        from = at + 1;
        match piece {
            Piece::Word(number) => numbers.push(number),
            Piece::Sign('(') => open += 1,
            Piece::Sign(')') => open -= 1,
            _ => {}
        }
        if open == 0 {
            break;
        }
    }
    (numbers.join(" * "), from)
}

/// What stands before a text that uses these names and vectors.
fn prelude(used: &BTreeSet<&str>, mut lengths: BTreeSet<(&'static str, usize)>) -> String {
    let mut wanted: BTreeSet<usize> = BTreeSet::new();
    let mut names: Vec<&str> = used.iter().copied().collect();
    while let Some(name) = names.pop() {
        let part = PARTS.iter().position(|(of, _)| of.contains(&name));
        let Some(part) = part.filter(|&part| wanted.insert(part)) else { continue };
        for piece in pieces(PARTS[part].1) {
            let Piece::Word(word) = piece else { continue };
            lengths.extend(word.strip_prefix("sw_").and_then(vectors::of_word));
            names.push(word);
        }
    }
    let shorter: Vec<_> = lengths
        .iter()
        .flat_map(|&(part, length)| {
            [2, 4, 8].into_iter().filter(move |&l| l < length).map(move |l| (part, l))
        })
        .collect();
    lengths.extend(shorter);
    let mut all: Vec<_> = lengths.into_iter().collect();
    all.sort_by_key(|&(part, length)| (length, part));
    let mut text = HEAD.to_owned();
    if used.contains("sw_shape") {
        text.push_str("#define SW_FLAT\n");
    }
    text.extend(all.into_iter().map(|(part, length)| vectors::definition(part, length)));
    text.extend(wanted.into_iter().map(|part| PARTS[part].1));
    text
}
