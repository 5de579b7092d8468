//! Memory of users' kernels: loads, stores and atomics, none of which leaves its object, whatever the indices are.

use stridewise_core::kernel::{Atomic, AtomicOp, Memory, MemoryOrder, Object, Value};
use stridewise_core::{Dtype, Scalar};

use super::super::literal::literal;
use super::super::token::{Token, unsigned};
use super::{Emitter, MEM_FENCE, is_float};
use crate::kernels::text::c_type;

/// Whether extents and strides are arguments.
pub(super) fn is_dynamic(memory: &Memory) -> bool {
    matches!(memory, Memory::Global { .. } | Memory::LocalArgument { .. })
}

/// An element by its indices.
struct Place {
    /// Whether all indices are in range; `None`: they are, for certain.
    inside: Option<String>,
    /// The element, or the nearest one.
    nearest: String,
    /// The element; only where it is in range.
    exact: String,
}

impl<'w> Emitter<'_, 'w> {
    /// The extent of an object.
    pub(super) fn extent(&self, object: Object, axis: usize) -> String {
        match self.shape(object) {
            Some(shape) => format!("{}L", shape[axis]),
            None => format!("l{}.e{axis}", object.number()),
        }
    }

    /// The extents of an object that the text has as numbers.
    fn shape(&self, object: Object) -> Option<&[usize]> {
        match self.object(object).0 {
            Memory::Local { shape } | Memory::Private { shape } | Memory::Constant { shape, .. } => {
                Some(shape)
            }
            _ => self.variant.objects[object.number()].shape.as_deref(),
        }
    }

    /// What an index along an axis is multiplied by; `None`: one.
    fn stride(&self, object: Object, axis: usize) -> Option<String> {
        let number = object.number();
        let last = axis + 1 == self.object(object).0.ndim();
        match self.shape(object) {
            Some(shape) => (!last).then(|| format!("{}L", shape[axis + 1..].iter().product::<usize>())),
            None if last && self.variant.objects[number].unit => None,
            None => Some(format!("l{number}.s{axis}")),
        }
    }

    fn is_empty(&self, object: Object) -> bool {
        self.variant.objects[object.number()].empty
    }

    fn place(&self, object: Object, indices: &[Value]) -> Place {
        let (mut inside, mut nearest, mut exact) = (Vec::new(), Vec::new(), Vec::new());
        let narrow = self.variant.objects[object.number()].narrow;
        for (axis, &index) in indices.iter().enumerate() {
            let (index, extent) = (self.long(index), self.extent(object, axis));
            let stride = self.stride(object, axis);
            // Without a sign, products and sums go round as those of 32 bits with one do.
            let term = |index: &str| match (narrow, &stride) {
                (true, None) => format!("(uint)({index})"),
                (true, Some(stride)) => format!("(uint)({index}) * (uint)({stride})"),
                (false, None) => format!("({index})"),
                (false, Some(stride)) => format!("({index}) * {stride}"),
            };
            exact.push(term(&index));
            match (constant(&index), constant(&extent)) {
                (Some(constant), Some(extent)) if (0..extent).contains(&constant) => {
                    nearest.push(term(&index))
                }
                _ => {
                    nearest.push(term(&match narrow {
                        true => format!("sw_near({index}, {extent})"),
                        false => format!("clamp({index}, 0L, {extent} - 1L)"),
                    }));
                    inside.push(format!("((ulong)({index}) < (ulong)({extent}))"));
                }
            }
        }
        let element = |terms: &[String]| match narrow {
            true => format!("o{}[(int)({})]", object.number(), terms.join(" + ")),
            false => format!("o{}[{}]", object.number(), terms.join(" + ")),
        };
        Place {
            inside: (!inside.is_empty()).then(|| inside.join(" & ")),
            nearest: element(&nearest),
            exact: element(&exact),
        }
    }

    pub(super) fn load(&mut self, object: Object, indices: &[Value]) -> Token<'w> {
        let dtype = self.object(object).1;
        if self.is_empty(object) {
            return self.named(literal(&Scalar::I8(0).cast(dtype)), dtype);
        }
        let place = self.place(object, indices);
        self.line(dtype, &place.nearest)
    }

    pub(super) fn store(&mut self, object: Object, indices: &[Value], value: Value) {
        if self.is_empty(object) {
            return;
        }
        let place = self.place(object, indices);
        let here = (!self.guarded).then(|| "here".to_owned());
        let conditions: Vec<String> = here.into_iter().chain(place.inside).collect();
        let store = format!("    {} = {};", place.exact, self.text_of(value));
        self.raw(match conditions.is_empty() {
            true => store,
            false => format!("    if ({})\n    {store}", conditions.join(" & ")),
        });
    }

    pub(super) fn atomic(&mut self, atomic: &Atomic) {
        let dtype = self.object(atomic.object).1;
        let zero = literal(&Scalar::I8(0).cast(dtype));
        if self.is_empty(atomic.object) {
            if let Some(result) = atomic.result {
                let token = self.named(zero, dtype);
                self.define(result, token);
            }
            return;
        }
        let place = self.place(atomic.object, &atomic.indices);
        if matches!(atomic.order, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst) {
            self.raw(MEM_FENCE);
        }
        let read = self.atomic_function(AtomicOp::Load, atomic.object);
        let nearest = format!("{read}(&{})", place.nearest);
        let expected = match atomic.op {
            AtomicOp::CompareExchange { expected } => Some(expected),
            _ => None,
        };
        let operands: String =
            expected.into_iter().chain(atomic.operand).map(|v| format!(", {}", self.text_of(v))).collect();
        let function = self.atomic_function(atomic.op, atomic.object);
        let call = format!("{function}(&{}{operands})", place.nearest);
        let here = (!self.guarded).then(|| "here".to_owned());
        let conditions: Vec<String> = here.into_iter().chain(place.inside).collect();
        let condition = (!conditions.is_empty()).then(|| format!("({})", conditions.join(" & ")));
        match (atomic.result, atomic.op) {
            (Some(result), AtomicOp::Load) => {
                let token = self.line(dtype, &nearest);
                self.define(result, token);
            }
            (Some(result), _) => {
                let text = condition.map_or(call.clone(), |it| format!("{it} ? {call} : {nearest}"));
                let token = self.line(dtype, &text);
                self.define(result, token);
            }
            (None, AtomicOp::Load) => {}
            (None, _) => self.raw(match condition {
                Some(condition) => format!("    if {condition}\n        {call};"),
                None => format!("    {call};"),
            }),
        }
        if matches!(atomic.order, MemoryOrder::Acquire | MemoryOrder::AcqRel | MemoryOrder::SeqCst) {
            self.raw(MEM_FENCE);
        }
    }

    /// The function of an atomic access to an object: it takes the element's address, then what is expected, then the operand.
    fn atomic_function(&mut self, op: AtomicOp, object: Object) -> String {
        let (memory, dtype) = self.object(object);
        let (space, short) = if memory.is_local() { ("local", "local") } else { ("global", "global") };
        let writes = self.kernel.writes(object);
        let (ty, bits) = (c_type(dtype), unsigned(dtype));
        let read_only = if writes { "" } else { "_read_only" };
        let name = format!("sw_atomic_{}_{}_{short}{read_only}", op.name(), dtype.name());
        // The functions of 32-bit integers are the language's, those of 64-bit ones an extension's.
        let prefix = if dtype.size() == 8 { "atom" } else { "atomic" };
        let to_bits = |text: &str| format!("as_{bits}({text})");
        let of_bits = |text: &str| format!("as_{ty}({text})");
        let as_bits = format!("(volatile {space} {bits} *)p");
        let cuda = self.writer.target.dialect.is_cuda();
        let read = match cuda {
            // What is read so is no less atomic, and nobody waits for it.
            true => format!("*{as_bits}"),
            false => format!("{prefix}_add({as_bits}, ({bits})0)"),
        };
        let is_native = match op {
            // In global memory, that of `float` makes zeros of the least numbers.
            AtomicOp::Add if cuda && (dtype == Dtype::F64 || (dtype == Dtype::F32 && memory.is_local())) => {
                true
            }
            AtomicOp::Add | AtomicOp::Subtract => !is_float(dtype),
            AtomicOp::Minimum | AtomicOp::Maximum | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => {
                matches!(dtype, Dtype::I32 | Dtype::U32) || (cuda && matches!(dtype, Dtype::I64 | Dtype::U64))
            }
            _ => false,
        };
        let pointer = format!("volatile {space} {}{ty} *p", if writes { "" } else { "const " });
        let (parameters, body) = match op {
            // Who writes nothing may not have the right to.
            AtomicOp::Load if !writes => (String::new(), "    return *p;\n".to_owned()),
            AtomicOp::Load => (String::new(), format!("    return {};\n", of_bits(&read))),
            AtomicOp::Store | AtomicOp::Exchange => {
                let exchange = format!("{prefix}_xchg({as_bits}, {})", to_bits("v"));
                (format!(", const {ty} v"), format!("    return {};\n", of_bits(&exchange)))
            }
            AtomicOp::CompareExchange { .. } => {
                let exchange = format!("{prefix}_cmpxchg({as_bits}, {}, {})", to_bits("e"), to_bits("v"));
                (format!(", const {ty} e, const {ty} v"), format!("    return {};\n", of_bits(&exchange)))
            }
            _ if is_native => {
                let call = format!("{prefix}_{}(p, v)", op.name());
                (format!(", const {ty} v"), format!("    return {call};\n"))
            }
            _ => {
                // By an operation of its own: until nobody has been faster.
                let combined = op.combines().map(|op| self.fold(op, dtype)).unwrap_or_default();
                let (before, after) =
                    (of_bits("before"), to_bits(&format!("{combined}({}, v)", of_bits("before"))));
                let body = format!(
                    "    {bits} seen = {read};\n    for (;;) {{\n        const {bits} before = seen;\n        \
                     seen = {prefix}_cmpxchg({as_bits}, before, {after});\n        \
                     if (seen == before)\n            return {before};\n    }}\n"
                );
                (format!(", const {ty} v"), body)
            }
        };
        let text = format!("static inline {ty} {name}({pointer}{parameters})\n{{\n{body}}}\n");
        self.functions.insert(format!("1{name}"), text);
        name
    }
}

/// The number that a text is, if it is an `int64`'s literal.
fn constant(text: &str) -> Option<i64> {
    text.strip_suffix('L')?.parse().ok()
}
