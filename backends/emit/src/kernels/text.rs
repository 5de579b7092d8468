//! Writing OpenCL C: types, parameters, the skeleton of a kernel.

use std::fmt::Write as _;

use stridewise_core::Dtype;

use super::Target;
use crate::dialect::Dialect;

/// The type that a kernel has for an element, in memory and as a value: `bool` is a `uchar` of 0 or 1, a 16-bit float a
/// `ushort` of its bits, a complex number a vector of two.
pub(crate) const fn c_type(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::Bool | Dtype::U8 => "uchar",
        Dtype::I8 => "char",
        Dtype::I16 => "short",
        Dtype::I32 => "int",
        Dtype::I64 => "long",
        Dtype::U16 | Dtype::F16 | Dtype::Bf16 => "ushort",
        Dtype::U32 => "uint",
        Dtype::U64 => "ulong",
        Dtype::F32 => "float",
        Dtype::F64 => "double",
        Dtype::C64 => "float2",
        Dtype::C128 => "double2",
    }
}

/// Work-items that look at elements together: one for each bit of a number.
pub(crate) const WAVE: usize = 32;
/// What a wave can do by itself: ask which of its work-items have a number other than 0, and wait for all of them. The languages
/// with these macros are NVIDIA's, which have functions for it, or its assembler's instructions, and waves of as many work-items.
pub(crate) const WAVE_FUNCTIONS: &str = "#define WAVE 32
#if defined(__CUDACC_RTC__)
#define BALLOT(x) __ballot_sync(0xffffffffu, (int)(x))
#define WAVE_BARRIER() __syncwarp()
#elif defined(__NV_CL_C_VERSION)
static inline uint ballot(const uint x)
{
    uint all;
    asm volatile(\"{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }\" : \"=r\"(all) : \"r\"(x));
    return all;
}
#define BALLOT ballot
#define WAVE_BARRIER() asm volatile(\"bar.warp.sync 0xffffffff;\" ::: \"memory\")
#endif
";

/// The parameters of a kernel, and the lines at the start of its body that make pointers of them.
pub(crate) struct Parameters {
    list: String,
    prologue: String,
    buffers: bool,
    dialect: Dialect,
}

impl Parameters {
    /// No parameters yet.
    pub(crate) fn new(target: &Target) -> Self {
        Self {
            list: String::new(),
            prologue: String::new(),
            buffers: target.buffers,
            dialect: target.dialect,
        }
    }

    fn separate(&mut self) {
        if !self.list.is_empty() {
            self.list.push_str(", ");
        }
    }

    /// A pointer to global memory, of a type that may be `const`: `memory("const float", "a")`. Takes an
    /// [`Argument::Memory`](super::Argument::Memory) or `Scratch`.
    pub(crate) fn memory(&mut self, ty: &str, name: &str) {
        self.separate();
        if self.buffers {
            // Writing to a `String` cannot fail.
            let _ = write!(self.list, "global {ty} *{name}_object, const long {name}_bytes");
            let constant = if ty.starts_with("const ") { "const " } else { "" };
            let _ = writeln!(
                self.prologue,
                "    global {ty} *{name} = (global {ty} *)((global {constant}char *){name}_object + {name}_bytes);"
            );
        } else {
            let _ = write!(self.list, "global {ty} *{name}");
        }
    }

    /// A value: `value("long", "n")`.
    pub(crate) fn value(&mut self, ty: &str, name: &str) {
        self.separate();
        let _ = write!(self.list, "const {ty} {name}");
    }

    /// Local memory whose size the argument says.
    pub(crate) fn local(&mut self, ty: &str, name: &str) {
        self.separate();
        if self.dialect.is_cuda() {
            // All of it is one block, and an argument says where this begins.
            let _ = write!(self.list, "const uint {name}_bytes");
            let _ =
                writeln!(self.prologue, "    local {ty} *{name} = (local {ty} *)(sw_shared + {name}_bytes);");
        } else {
            let _ = write!(self.list, "local {ty} *{name}");
        }
    }

    /// The kernel `run` with a body, which is indented by its writer.
    pub(crate) fn kernel(&self, attributes: &str, body: &str) -> String {
        format!("kernel {attributes} void run({})\n{{\n{}{body}}}\n", self.list, self.prologue)
    }
}

/// The body of a kernel that makes offsets of `counts`, numbers of the type `number` in lines of tiles that follow each other:
/// each becomes the sum of those before it in its line. `GROUP` work-items are a group, and some of them share a line: the
/// declarations are of `lanes`, how many, a power of two, and of `lines` and `tiles`; `total` stores `all`, what the line of a
/// number comes to.
pub(crate) fn offsets(declarations: &str, total: &str) -> String {
    format!("    {declarations}\n{}", include_str!("offsets.cl").replace("            TOTAL\n", total))
}

/// The type of `width` elements side by side: a vector, at most of 16.
pub(crate) fn vector(dtype: Dtype, width: usize) -> String {
    let parts = width * parts(dtype);
    let part = c_type(dtype.real_part());
    if parts == 1 { part.to_owned() } else { format!("{part}{parts}") }
}

/// The k-th element of such a vector.
pub(crate) fn component(dtype: Dtype, width: usize, k: usize) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |i: usize| char::from(DIGITS[i % 16]);
    match (width, parts(dtype)) {
        (1, _) => String::new(),
        (_, 1) => format!(".s{}", digit(k)),
        _ => format!(".s{}{}", digit(2 * k), digit(2 * k + 1)),
    }
}

/// Numbers that an element is made of.
fn parts(dtype: Dtype) -> usize {
    if dtype.real_part() == dtype { 1 } else { 2 }
}
