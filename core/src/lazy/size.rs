//! How large a recorded expression is, and where one that is too large is cut. What is used twice counts once: nodes, and
//! arrays that are read in one way.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::{MAX_RECORDED_LEAVES, MAX_RECORDED_STEPS, Node, Recorded, Source, UsmArray, Work};
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::layout::Layout;

/// Steps of a program, and what it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Size {
    pub(super) steps: usize,
    pub(super) leaves: usize,
}

impl Size {
    /// What an expression has at most that is recorded.
    pub(super) const RECORDED: Self = Self { steps: MAX_RECORDED_STEPS, leaves: MAX_RECORDED_LEAVES };

    /// What of it is more than the most.
    pub(super) fn excess(self, most: Self) -> Cut {
        if self.leaves > most.leaves { Cut::Inputs } else { Cut::Steps }
    }

    pub(super) fn fits(self, most: Self) -> bool {
        self.steps <= most.steps && self.leaves <= most.leaves
    }

    /// Of an operation above operands that have nothing in common: the largest that it can be, found without looking into them.
    pub(super) fn at_most(recorded: &Recorded) -> Self {
        let mut size = Self { steps: recorded.steps(), leaves: 0 };
        for operand in &recorded.operands {
            let of = match operand {
                Source::Array(array) => array.elements().pending().map(|node| node.size),
                Source::Scalar(_) => continue,
                Source::Index(_) | Source::Rolled(..) => None,
            };
            let of = of.unwrap_or(Self { steps: 0, leaves: 1 });
            size = Self { steps: size.steps + of.steps, leaves: size.leaves + of.leaves };
        }
        size
    }
}

/// One operation of an expression.
struct Entry {
    /// None of the expression's last.
    node: Option<Arc<Node>>,
    steps: usize,
    bytes: usize,
    /// The operations that it reads.
    operands: SmallVec<[usize; 3]>,
    /// What it reads of memory, or of what has to be in memory before: one bit for each.
    leaves: u128,
}

/// An expression's operations, each once, the last one first. While there is one, its nodes are held.
pub(super) struct Graph {
    entries: SmallVec<[Entry; 16]>,
    /// The arrays that are read, by whose they are and how they are read.
    leaves: SmallVec<[(*const (), Layout, Dtype); 8]>,
    /// Indices and arrays whose elements are moved, which are read each for itself.
    single: usize,
}

impl Graph {
    pub(super) fn of(root: &Recorded) -> Self {
        let mut graph = Self { entries: SmallVec::new(), leaves: SmallVec::new(), single: 0 };
        graph.add(None, root);
        graph
    }

    /// Each expression has at most 28 operations and 12 leaves, and an operation three operands: the bits suffice.
    fn add(&mut self, node: Option<Arc<Node>>, recorded: &Recorded) -> usize {
        let number = self.entries.len();
        let bytes = recorded.layout.len() * recorded.out.size();
        let steps = recorded.steps();
        self.entries.push(Entry { node, steps, bytes, operands: SmallVec::new(), leaves: 0 });
        for operand in &recorded.operands {
            match operand {
                Source::Array(array) => self.add_array(number, recorded, array),
                Source::Scalar(_) => {}
                Source::Index(_) | Source::Rolled(..) => self.single += 1,
            }
        }
        number
    }

    fn add_array(&mut self, reader: usize, recorded: &Recorded, array: &UsmArray) {
        if let Some(node) = array.elements().pending() {
            let is_it = |entry: &Entry| entry.node.as_ref().is_some_and(|other| Arc::ptr_eq(other, node));
            let known = self.entries.iter().position(is_it);
            let work = node.work();
            // As `settle` has it: what is read in another way than it was recorded is computed before.
            if let Some(Work::Map(inner)) = &*work
                && inner.layout == *array.layout()
                && inner.layout.shape() == recorded.layout.shape()
            {
                let operand = known.unwrap_or_else(|| self.add(Some(Arc::clone(node)), inner));
                self.entries[reader].operands.push(operand);
                return;
            }
        }
        let source: *const () = match array.elements().pending() {
            Some(node) => Arc::as_ptr(node).cast(),
            None => {
                array.elements().get_memory().map_or(std::ptr::null(), |memory| Arc::as_ptr(memory).cast())
            }
        };
        let (layout, dtype) = (array.layout(), array.dtype());
        let same =
            |leaf: &(*const (), Layout, Dtype)| leaf.0 == source && leaf.1 == *layout && leaf.2 == dtype;
        let leaf = self.leaves.iter().position(same).unwrap_or_else(|| {
            self.leaves.push((source, layout.clone(), dtype));
            self.leaves.len() - 1
        });
        self.entries[reader].leaves |= bit(leaf);
    }

    pub(super) fn size(&self) -> Size {
        self.size_without(None).0
    }

    /// The size where one of the operations is read from memory, and the operations that it still has, as bits.
    fn size_without(&self, cut: Option<usize>) -> (Size, u128) {
        let (mut steps, mut leaves, mut seen) = (0, 0_u128, bit(0));
        let mut open: SmallVec<[usize; 32]> = smallvec![0];
        while let Some(entry) = open.pop().map(|number| &self.entries[number]) {
            steps += entry.steps;
            leaves |= entry.leaves;
            for &operand in &entry.operands {
                if cut != Some(operand) && seen & bit(operand) == 0 {
                    seen |= bit(operand);
                    open.push(operand);
                }
            }
        }
        let leaves = leaves.count_ones() as usize + self.single + usize::from(cut.is_some());
        (Size { steps, leaves }, seen)
    }

    /// The node to compute first, so that the rest is no larger than `most`: one by which nothing is computed twice and that leaves
    /// room for as much again, of those the one that writes least, and of those the one that leaves least. `None` where no single
    /// one suffices.
    pub(super) fn cut(&self, most: Size) -> Option<Arc<Node>> {
        let half = Size { steps: most.steps / 2, leaves: most.leaves };
        let key = |number: usize| {
            let (rest, above) = self.size_without(Some(number));
            let twice = (self.reached_from(number) & above).count_ones();
            let key = (twice > 0 || !rest.fits(half), self.entries[number].bytes, twice, rest.steps);
            rest.fits(most).then_some((key, number))
        };
        let (_, best) = (1..self.entries.len()).filter_map(key).min()?;
        self.entries[best].node.clone()
    }

    /// The operations below one, as bits.
    fn reached_from(&self, number: usize) -> u128 {
        let mut seen = 0;
        let mut open: SmallVec<[usize; 32]> = smallvec![number];
        while let Some(number) = open.pop() {
            for &operand in &self.entries[number].operands {
                if seen & bit(operand) == 0 {
                    seen |= bit(operand);
                    open.push(operand);
                }
            }
        }
        seen
    }
}

/// The bit of a number; of one beyond them, the last.
fn bit(number: usize) -> u128 {
    1 << number.min(127)
}
