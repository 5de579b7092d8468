//! Which statements some items of a group may leave by jumps that the others do not take.

use stridewise_core::kernel::{Class, Kernel, Part, StatementKind, Value};

/// What is known of a statement with all that is inside.
#[derive(Clone, Copy, Default)]
pub(super) struct Facts {
    /// It waits for the items of the group.
    pub(super) meets: bool,
    /// A loop that items may leave after different numbers of rounds, or by jumps that not all take.
    pub(super) leaves_apart: bool,
    /// There is a jump out of it that not all items may take. What stands behind has no barrier, and what it sets differs
    /// between items where they come together again.
    pub(super) escapes: bool,
}

/// The jumps of some statements that lead out of them.
#[derive(Clone, Copy, Default)]
struct Jumps {
    /// By a `break` or `continue`, and by a `return`.
    rounds: bool,
    returns: bool,
    /// The same of jumps that not all items of a group may take.
    rounds_apart: bool,
    returns_apart: bool,
    meets: bool,
}

impl Jumps {
    fn join(&mut self, other: Self) {
        self.rounds |= other.rounds;
        self.returns |= other.returns;
        self.rounds_apart |= other.rounds_apart;
        self.returns_apart |= other.returns_apart;
        self.meets |= other.meets;
    }

    /// Jumps under a condition that items may differ in.
    fn apart(self, differ: bool) -> Self {
        Self {
            rounds_apart: self.rounds_apart || differ && self.rounds,
            returns_apart: self.returns_apart || differ && self.returns,
            ..self
        }
    }
}

/// Whether items of a group may differ in some of these values.
pub(super) fn is_apart(kernel: &Kernel, values: &[Value]) -> bool {
    values.iter().any(|&value| kernel.class(value) != Class::Uniform)
}

/// The facts of all statements, in the order of the text.
pub(super) fn facts(kernel: &Kernel) -> Vec<Facts> {
    let mut facts: Vec<Facts> = Vec::new();
    // Of each open statement its number, and the jumps of what is inside; first those of the whole kernel.
    let mut open = vec![(0, Jumps::default())];
    for part in kernel.form().walk() {
        let (number, statement, inside) = match part {
            Part::Statement { statement, .. } => {
                facts.push(Facts::default());
                let number = facts.len() - 1;
                if statement.kind.block_count() > 0 {
                    open.push((number, Jumps::default()));
                    continue;
                }
                (number, statement, Jumps::default())
            }
            Part::Leave(statement, block) if block + 1 == statement.kind.block_count() => {
                let Some((number, inside)) = open.pop() else { continue };
                (number, statement, inside)
            }
            Part::Enter(..) | Part::Leave(..) => continue,
        };
        let mut leaves_apart = false;
        let mut jumps = match &statement.kind {
            StatementKind::Break | StatementKind::Continue => Jumps { rounds: true, ..inside },
            StatementKind::Return => Jumps { returns: true, ..inside },
            StatementKind::If { condition, .. } => inside.apart(is_apart(kernel, &[*condition])),
            kind @ (StatementKind::While { .. } | StatementKind::For { .. }) => {
                let bounds = match kind {
                    StatementKind::For { start, end, step, .. } => is_apart(kernel, &[*start, *end, *step]),
                    StatementKind::While { condition, .. } => is_apart(kernel, &[*condition]),
                    _ => false,
                };
                leaves_apart = bounds || inside.rounds_apart || inside.returns_apart;
                Jumps { rounds: false, rounds_apart: false, ..inside.apart(leaves_apart) }
            }
            // Who returns from a call goes on behind it.
            _ => Jumps { meets: inside.meets, ..Jumps::default() },
        };
        jumps.meets |= statement.kind.synchronises();
        let escapes = jumps.rounds_apart || jumps.returns_apart;
        facts[number] = Facts { meets: jumps.meets, leaves_apart, escapes };
        open.last_mut().into_iter().for_each(|(_, outer)| outer.join(jumps));
    }
    facts
}
