//! How long a launch takes, as far as its form and its arguments say: what is certainly short is run at once by who submits
//! it, so nothing counts as short that may go on.

use std::slice::Iter;

use stridewise_core::kernel::{
    Coordinate, Expression, KernelArgument, KernelLaunch, Level, Memory, Object, Parameter, Statement,
    StatementKind, Value,
};
use stridewise_core::memory::heap;
use stridewise_core::{Op, Scalar};

use super::frame::{Bits, LANES, bounds};

/// Rough time of a step of a lane, in picoseconds. A frame takes as long with a few lanes as with all.
const STEP_PS: u64 = 300;
/// What compiling and the frames of a thread cost.
const BEGIN_NS: u64 = 5_000;
/// How often a loop is taken to go round that is known to end soon: a guess, for only its data says.
const ROUNDS: u64 = 64;
/// How many times as long a step takes where somebody watches, who looks at every element that is accessed.
const WATCHED: u64 = 200;

/// The least and the most that an integer can be.
type Between = (i128, i128);

/// Rough time of a launch on one thread, in nanoseconds; the largest number for one with a loop of which it is not known how
/// often it goes round.
pub(crate) fn estimate_ns(launch: &KernelLaunch) -> u64 {
    let Some(steps) = steps(launch) else { return u64::MAX };
    let frames = launch.space.group_count() as u64 * launch.space.group_len().div_ceil(LANES) as u64;
    let ps = frames.saturating_mul(LANES as u64).saturating_mul(steps).saturating_mul(STEP_PS);
    let ns = BEGIN_NS.saturating_add(ps / 1000);
    if launch.checked { ns.saturating_mul(WATCHED) } else { ns }
}

/// How many statements an item executes at most. `None` where that is not known.
fn steps(launch: &KernelLaunch) -> Option<u64> {
    match walk(launch, None) {
        Walked::Steps(steps) => Some(steps),
        Walked::Endless => None,
        Walked::Loop => match walk(launch, Known::new(launch)) {
            Walked::Steps(steps) => Some(steps),
            Walked::Endless | Walked::Loop => None,
        },
    }
}

/// What came of counting statements.
enum Walked {
    Steps(u64),
    /// There is a loop whose bounds are not known.
    Endless,
    /// There is a loop with bounds, and nobody was asked for them.
    Loop,
}

/// Counts statements, without recursion: forms are nested as deep as somebody likes.
fn walk(launch: &KernelLaunch, mut known: Option<Known<'_>>) -> Walked {
    let mut steps = 0_u64;
    // Blocks that were begun, and how often each is executed.
    let mut blocks: Vec<(Iter<'_, Statement>, u64)> = vec![(launch.kernel.form().body.iter(), 1)];
    while let Some((rest, times)) = blocks.last_mut() {
        let Some(statement) = rest.next() else {
            blocks.pop();
            continue;
        };
        let mut times = *times;
        steps = steps.saturating_add(times);
        match (&statement.kind, &mut known) {
            (StatementKind::While { .. } | StatementKind::For { .. }, _) if launch.ends => {
                times = times.saturating_mul(ROUNDS);
            }
            (StatementKind::While { .. }, _) => return Walked::Endless,
            (StatementKind::For { .. }, None) => return Walked::Loop,
            (StatementKind::For { counter, start, end, step, .. }, Some(known)) => {
                let Some(rounds) = known.rounds(*counter, [*start, *end, *step]) else {
                    return Walked::Endless;
                };
                times = times.saturating_mul(rounds);
            }
            (StatementKind::Let { value, expression }, Some(known)) => known.define(*value, expression),
            _ => {}
        }
        blocks.extend(statement.kind.blocks().map(|block| (block.iter(), times)));
    }
    Walked::Steps(steps)
}

/// What integers of a kernel can be in a launch, as far as that follows from its arguments.
struct Known<'a> {
    launch: &'a KernelLaunch,
    values: Vec<Option<Between>>,
}

impl<'a> Known<'a> {
    /// None where there is no memory.
    fn new(launch: &'a KernelLaunch) -> Option<Self> {
        let form = launch.kernel.form();
        let mut values = heap::collect("values", form.values.iter().map(|_| None)).ok()?;
        for (parameter, argument) in form.parameters.iter().zip(&launch.arguments) {
            if let (Parameter::Scalar { value, .. }, KernelArgument::Scalar(scalar)) = (parameter, argument) {
                values[value.number()] = exactly(*scalar);
            }
        }
        Some(Self { launch, values })
    }

    fn get(&self, value: Value) -> Option<Between> {
        self.values[value.number()]
    }

    /// How often a loop goes round at most, whose counter is known then.
    fn rounds(&mut self, counter: Value, bounds: [Value; 3]) -> Option<u64> {
        let [start, end, step] = bounds.map(|bound| self.get(bound));
        let (start, end, step) = (start?, end?, step?);
        // Bounds are of 64 bits at most.
        let rounds = if step.0 > 0 {
            (end.1 - start.0).max(0) / step.0 + 1
        } else if step.1 < 0 {
            (start.1 - end.0).max(0) / -step.1 + 1
        } else {
            return None;
        };
        self.values[counter.number()] = Some((start.0.min(end.0), start.1.max(end.1)));
        Some(u64::try_from(rounds).unwrap_or(u64::MAX))
    }

    fn define(&mut self, value: Value, expression: &Expression) {
        let between = match expression {
            Expression::Constant(scalar) => exactly(*scalar),
            Expression::Index { level, coordinate } => Some(self.index(*level, *coordinate)),
            Expression::Extent { object, axis } => self.extent(*object, usize::from(*axis)),
            Expression::Apply { op, operands } => self.apply(*op, operands),
            Expression::Get(_) | Expression::Load { .. } | Expression::Collective { .. } => None,
        };
        // What does not fit its dtype wraps.
        let (least, most) = bounds(self.launch.kernel.form().dtype(value)).unwrap_or((0, -1));
        let fits = |&(low, high): &Between| i128::from(least) <= low && high <= i128::from(most);
        self.values[value.number()] = between.filter(fits);
    }

    fn index(&self, level: Level, coordinate: Coordinate) -> Between {
        let space = &self.launch.space;
        let extents = match level {
            Level::Global => space.global,
            Level::Local => space.group,
            Level::Group => space.groups(),
        };
        match coordinate {
            Coordinate::Id(axis) => (0, extents[space.axis(axis)].saturating_sub(1) as i128),
            Coordinate::Range(axis) => (0, extents[space.axis(axis)] as i128),
            Coordinate::LinearId => (0, extents.iter().fold(1, |len, &extent| len * extent as i128)),
        }
    }

    fn extent(&self, object: Object, axis: usize) -> Option<Between> {
        let form = self.launch.kernel.form();
        let is_object = |parameter: &Parameter| matches!(parameter, Parameter::Object(own) if *own == object);
        let argument = form.parameters.iter().position(is_object).map(|at| &self.launch.arguments[at]);
        let extent = match (argument, &form.object(object).memory) {
            (Some(KernelArgument::Array { shape, .. } | KernelArgument::Local(shape)), _) => shape.get(axis),
            (_, Memory::Local { shape } | Memory::Private { shape } | Memory::Constant { shape, .. }) => {
                shape.get(axis)
            }
            _ => None,
        };
        extent.map(|&extent| (extent as i128, extent as i128))
    }

    fn apply(&self, op: Op, operands: &[Value]) -> Option<Between> {
        let operand = |at: usize| operands.get(at).and_then(|&operand| self.get(operand));
        let (a, b) = (operand(0)?, operand(1));
        Some(match op {
            Op::Cast => a,
            Op::Negative => (-a.1, -a.0),
            Op::Add => (a.0 + b?.0, a.1 + b?.1),
            Op::Subtract => (a.0 - b?.1, a.1 - b?.0),
            Op::Multiply => {
                let products = [a.0 * b?.0, a.0 * b?.1, a.1 * b?.0, a.1 * b?.1];
                products.into_iter().fold((i128::MAX, i128::MIN), |(low, high), p| (low.min(p), high.max(p)))
            }
            Op::Minimum => (a.0.min(b?.0), a.1.min(b?.1)),
            Op::Maximum => (a.0.max(b?.0), a.1.max(b?.1)),
            Op::FloorDivide if b?.0 > 0 => {
                let quotients = [a.0, a.1]
                    .map(|a| [a.div_euclid(b.map_or(1, |b| b.0)), a.div_euclid(b.map_or(1, |b| b.1))]);
                let [[p, q], [r, s]] = quotients;
                (p.min(q).min(r).min(s), p.max(q).max(r).max(s))
            }
            _ => return None,
        })
    }
}

/// An integer that is known.
fn exactly(scalar: Scalar) -> Option<Between> {
    let dtype = scalar.dtype();
    dtype.kind().is_integer().then(|| {
        let number = Bits::of(scalar).integer(dtype);
        (number, number)
    })
}
