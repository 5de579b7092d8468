//! Collectives: what the items of a group make together, by way of local memory.
//!
//! An item's position is its number among those that the group has, in the order of local linear ids. Reductions and scans take
//! as many rounds as the number of items has binary digits, each of which joins neighbours in that order. On a processor, where
//! items run one after the other anyway, the first item does all: PoCL copies what stands behind each loop with a barrier, and
//! compiles for minutes where there are several.

use stridewise_core::Dtype;
use stridewise_core::Op;
use stridewise_core::kernel::{Collective, Value};

use super::super::literal::literal;
use super::super::token::Token;
use super::{Emitter, scratch_bytes};
use crate::kernels::text::c_type;

impl<'w> Emitter<'_, 'w> {
    /// Where the item stands in its group, and how many items that has, if collectives need it.
    pub(super) fn positions(&self) {
        if scratch_bytes(self.form) == 0 {
            return;
        }
        let dims = self.form.dims;
        let position = (1..dims).fold(self.id("local", 0), |number, axis| {
            format!("({number}) * {} + {}", self.items(axis), self.id("local", axis))
        });
        let count: Vec<String> = (0..dims).map(|axis| self.items(axis)).collect();
        self.raw(format!("    const int place = (int)({position});"));
        self.raw(format!("    const int count = (int)({});", count.join(" * ")));
    }

    pub(super) fn collective(&mut self, dtype: Dtype, collective: Collective, operand: Value) -> Token<'w> {
        let (number, ty) = (self.number(), c_type(dtype));
        let cells = format!("c{number}");
        let only_here = |this: &Self| if this.guarded { "" } else { "if (here) " };
        self.raw(format!("    local {ty} *{cells} = (local {ty} *)scratch;"));
        self.raw(format!("    {}{cells}[place] = {};", only_here(self), self.text_of(operand)));
        self.raw("    barrier(CLK_LOCAL_MEM_FENCE);");
        let result = match collective {
            Collective::Broadcast(from) => format!("{cells}[{}]", self.nearest(from)),
            Collective::Reduce(op) => {
                self.rounds(&cells, op, dtype);
                format!("{cells}[count - 1]")
            }
            Collective::InclusiveScan(op) => {
                self.rounds(&cells, op, dtype);
                format!("{cells}[place]")
            }
            Collective::ExclusiveScan(op) => {
                self.rounds(&cells, op, dtype);
                // Where there is no identity, the verifier takes no scan.
                let first = Collective::identity(op, dtype).map(|first| literal(&first)).unwrap_or_default();
                let first = self.line(dtype, &first).text();
                format!("place == 0 ? {first} : {cells}[max(place - 1, 0)]")
            }
            // Of truth values, the smallest and the largest one.
            Collective::All => {
                self.rounds(&cells, Op::Minimum, dtype);
                format!("{cells}[count - 1]")
            }
            Collective::Any => {
                self.rounds(&cells, Op::Maximum, dtype);
                format!("{cells}[count - 1]")
            }
        };
        let token = self.line(dtype, &result);
        // The next one writes there.
        self.raw("    barrier(CLK_LOCAL_MEM_FENCE);");
        token
    }

    /// Makes of each cell what it and all before it come to.
    fn rounds(&mut self, cells: &str, op: Op, dtype: Dtype) {
        let (fold, number, ty) = (self.fold(op, dtype), self.number(), c_type(dtype));
        if self.writer.target.cpu {
            return self.raw(format!(
                "    if (place == 0)\n        for (int i{number} = 1; i{number} < count; i{number}++)\n            \
                 {cells}[i{number}] = {fold}({cells}[i{number} - 1], {cells}[i{number}]);\n    \
                 barrier(CLK_LOCAL_MEM_FENCE);"
            ));
        }
        let here = if self.guarded { "" } else { "here & " };
        self.raw(format!(
            "    for (int d{number} = 1; d{number} < count; d{number} *= 2) {{\n        \
             const int takes = {here}(place >= d{number});\n        \
             {ty} both = {cells}[place];\n        \
             if (takes)\n            both = {fold}({cells}[place - d{number}], both);\n        \
             barrier(CLK_LOCAL_MEM_FENCE);\n        \
             if (takes)\n            {cells}[place] = both;\n        \
             barrier(CLK_LOCAL_MEM_FENCE);\n    }}"
        ));
    }

    /// The position of the item of a local linear id, or of the nearest one.
    fn nearest(&self, from: Value) -> String {
        self.line(Dtype::I64, &format!("clamp({}, 0L, (long)count - 1L)", self.long(from))).text()
    }
}
