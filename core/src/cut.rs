//! Where a pass ends, and why.

use std::fmt;

/// Why recorded work was submitted by itself, so that a pass ends there: what [`Explanation`](crate::Explanation) says of each pass.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
#[repr(u8)]
pub enum Cut {
    /// Its elements were asked for.
    Needed,
    /// It is a command of its own: a sort, a kernel, a copy or the like, with which nothing is fused.
    Alone,
    /// It is read through another layout than it is recorded in: transposed, broadcast, a slice.
    View,
    /// It is a reduction, whose result is complete only behind its pass.
    Reduction,
    /// It is a reduction, of memory that is still being written, or with something below it that somebody holds: it goes by itself,
    /// so that it waits for no more than it reads.
    Apart,
    /// More results are held by variables than a pass writes.
    Held,
    /// A reduction has computed it on the way before; now it is kept.
    Folded,
    /// The expression above it would have more operations than a pass.
    Steps,
    /// The expression above it would read more arrays than a pass.
    Inputs,
    /// Another capture, or none, notes it.
    Capture,
    /// Memory that it reads is known outside, so that nothing is left recorded on it.
    Lent,
    /// Its result is so small that recording it would cost more than it saves.
    Small,
    /// What it reads was about to be overwritten.
    Overwritten,
    /// A reduction of another array, or over other axes, came.
    OtherReduction,
}

impl Cut {
    /// Every cause.
    pub const ALL: &'static [Self] = &[
        Self::Needed,
        Self::Alone,
        Self::View,
        Self::Reduction,
        Self::Apart,
        Self::Held,
        Self::Folded,
        Self::Steps,
        Self::Inputs,
        Self::Capture,
        Self::Lent,
        Self::Small,
        Self::Overwritten,
        Self::OtherReduction,
    ];

    /// The cause of this number in [`ALL`](Self::ALL).
    pub(crate) fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Needed)
    }

    /// Its name, of small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Alone => "alone",
            Self::View => "view",
            Self::Reduction => "reduction",
            Self::Apart => "apart",
            Self::Held => "held",
            Self::Folded => "folded",
            Self::Steps => "steps",
            Self::Inputs => "inputs",
            Self::Capture => "capture",
            Self::Lent => "lent",
            Self::Small => "small",
            Self::Overwritten => "overwritten",
            Self::OtherReduction => "other reduction",
        }
    }

    /// What it is, as a sentence goes on behind *ends here:*.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Needed => "its elements are asked for",
            Self::Alone => "it is a command of its own, with which nothing is fused",
            Self::View => {
                "it is read through another layout than it is computed in (transposed, broadcast or a slice)"
            }
            Self::Reduction => "a reduction is complete only behind its pass",
            Self::Apart => "it goes by itself, so that it waits for no more than it reads",
            Self::Held => "more results are held by variables than one pass writes",
            Self::Folded => "a reduction has computed it on the way before, so now it is kept",
            Self::Steps => "what reads it would have more operations than one pass",
            Self::Inputs => "what reads it would read more arrays than one pass",
            Self::Capture => "another capture notes it",
            Self::Lent => "memory that it reads is known outside of the engine",
            Self::Small => "its result is so small that recording costs more than it saves",
            Self::Overwritten => "what it reads was about to be overwritten",
            Self::OtherReduction => "a reduction of another array, or over other axes, came",
        }
    }

    /// What would lift it; nothing where nothing is to be gained.
    #[must_use]
    pub const fn remedy(self) -> Option<&'static str> {
        Some(match self {
            Self::Needed | Self::Small => return None,
            Self::Alone => "order the program so that elementwise operations are not divided by it",
            Self::View => {
                "apply the operations to the view's array before it is viewed, or to views of its operands"
            }
            Self::Reduction => "none where its result is used again; else reduce last",
            Self::Apart => "wait for what writes its array first, or drop the variables below it",
            Self::Held => "drop variables that are not needed (`del`, or a narrower scope)",
            Self::Folded => "none: it is computed once more only where that saves memory",
            Self::Steps => "none: a pass this long is limited by computing, not by memory",
            Self::Inputs => "group the arrays so that partial results are few, or stack them into one array",
            Self::Capture => "record and use it in the same capture",
            Self::Lent => "end the lease, or promise by `fuse` that nobody touches the memory meanwhile",
            Self::Overwritten => "write to another array, or read before",
            Self::OtherReduction => "reduce one array over the same axes by calls that follow each other",
        })
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
