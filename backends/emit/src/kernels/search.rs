//! Searches in a sorted table: each point by halving the table.

use stridewise_core::{
    Error, Result,
    backend::{Family, LaunchPlan},
};

use super::order::{self, Rank};
use super::points::{self, Points, Walk};
use super::text::Parameters;
use super::{Argument, Key, Stage, Target, Work, Writer};

/// The kernel of a search.
///
/// # Errors
/// [`Error::Unsupported`] for a plan of another family.
pub(super) fn work<'a>(plan: &'a LaunchPlan, target: &Target) -> Result<Work<'a>> {
    let (Family::Search { table, right }, [needle, first], [output]) =
        (&plan.family, &plan.inputs[..], &plan.outputs[..])
    else {
        return Err(Error::unsupported(
            "plan",
            format!("{:?}", plan.family),
            "a search of one table",
            "this is a defect of the engine: please report it",
        ));
    };
    let dtype = plan.program.inputs()[0];
    let mut points = Points::new(&plan.dims, [&output.strides[..], &needle.strides[..]]);
    points.sort_by(0);
    points.merge();
    let walk = Walk::new(&points, points.is_wide());
    let mut key = Key::new(Writer::Search);
    key.push(dtype as usize);
    key.push(usize::from(*right));
    walk.key(&mut key);

    let (buffers, attributes) = (target.clone(), points::attributes(target));
    let right = *right;
    let source = move || {
        let mut parameters = Parameters::new(&buffers);
        parameters.memory("long", "dst");
        parameters.memory("const element", "src");
        parameters.memory("const element", "table");
        parameters.value("walk", "w");
        parameters.value("long", "extent");
        parameters.value("long", "stride");
        // An element of the table is before the needle.
        let before = match (Rank::of(dtype), right) {
            (Rank::Pair, false) => "x.x < needle.x || (x.x == needle.x && x.y < needle.y)",
            (Rank::Pair, true) => "x.x < needle.x || (x.x == needle.x && x.y <= needle.y)",
            (_, false) => "x < needle",
            (_, true) => "x <= needle",
        };
        let rank = Rank::of(dtype).c_type();
        let body = format!(
            "        const {rank} needle = rank(src[at1]);
        long low = 0, high = extent;
        while (low < high) {{
            const long middle = low + (high - low) / 2;
            const {rank} x = rank(table[middle * stride]);
            if ({before})
                low = middle + 1;
            else
                high = middle;
        }}
        dst[at0] = low;
"
        );
        [
            order::element(dtype),
            &order::rank(dtype, false),
            &walk.types(),
            &parameters.kernel(attributes, &walk.body(&body)),
        ]
        .concat()
    };

    let each = points::each(points.len(), target);
    let (global, local) = points::range(points.len().div_ceil(each), target);
    Ok(Work::single(Stage {
        key,
        source: Box::new(source),
        arguments: [
            Argument::Memory(output.ptr),
            Argument::Memory(needle.ptr),
            Argument::Memory(first.ptr),
            walk.argument(&points, each),
            Argument::long(table.extent.cast_signed()),
            Argument::long(table.stride),
        ]
        .into_iter()
        .collect(),
        global,
        local,
    }))
}
