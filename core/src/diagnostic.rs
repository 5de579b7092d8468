//! What is wrong with a kernel, or with what it did: the rule that is broken, and where in the source.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A place in the source of a kernel.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "graph-files", derive(serde::Serialize, serde::Deserialize))]
pub struct Position {
    /// The file, or what stands for one.
    pub file: Arc<str>,
    /// The line, from 1 on.
    pub line: u32,
    /// The column, from 1 on.
    pub column: u32,
    /// Characters from there on; 0 where that is not known.
    pub length: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! rules {
    ($($(#[$doc:meta])* $Rule:ident $name:literal $help:literal;)*) => {
        /// The rules of kernels: of their form, which hold before anything runs, and of what items do, which checked
        /// mode watches.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[$doc])* $Rule,)*
        }

        impl Rule {
            /// A short name for texts.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Rule => $name,)* }
            }
            /// How it is commonly mended.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $(Self::$Rule => $help,)* }
            }
        }
    };
}

rules! {
    /// Operands have the dtype that their place expects.
    Type "types" "convert with a cast, or give the literal or variable the other dtype";
    /// An object is addressed by one index for each of its dimensions.
    IndexCount "index-count" "give one index for each dimension";
    /// Only what may be written is written.
    ReadOnly "read-only" "declare the argument writable, or write to another array";
    /// A variable has a value on every path to where it is read.
    DefiniteAssignment "definite-assignment" "assign it before the branch or loop, or on every path";
    /// Barriers and collectives stand where all items of a group come, or none.
    UniformControl "uniform-control" "move it out of the branch or loop, or make the condition the same for the whole group";
    /// No function calls itself, directly or through others.
    Recursion "recursion" "write a loop instead";
    /// Statements are nested as the form says.
    Structure "structure" "see the documentation of the statement";
    /// Numbers that a form consists of are within its limits.
    Limit "limit" "see the documentation for what is possible";
    /// Checked mode: every index is within its object.
    OutOfBounds "out-of-bounds" "guard the access by a comparison with the extent";
    /// Checked mode: of two items that access an element without a barrier between them, none writes, or both are atomic.
    Race "race" "separate the accesses by a barrier, or make them atomic";
    /// Checked mode: all items of a group come to the same barrier.
    DivergentBarrier "divergent-barrier" "let all items of the group come to the barrier";
    /// Checked mode: local memory is written before it is read.
    UninitialisedLocal "uninitialised-local" "write the element first, and put a barrier between";
    /// Checked mode: no item goes on for ever.
    EndlessLoop "endless-loop" "see that the loop ends; items cannot wait for each other but by barriers";
    /// A launch takes no longer than it may.
    TimeLimit "time-limit" "see that its loops end; or allow more time, with `time_limit` or STRIDEWISE_KERNEL_SECONDS";
    /// Checked mode: what is asserted is true.
    Assertion "assertion" "see the message";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Which one.
    pub rule: Rule,
    /// Where.
    pub at: Position,
    /// What is there.
    pub message: String,
    /// How to mend it.
    pub help: Cow<'static, str>,
    /// Other places that it has to do with.
    pub notes: Vec<(Position, String)>,
}

impl Diagnostic {
    /// A broken rule, with the rule's usual help.
    #[must_use]
    pub fn new(rule: Rule, at: &Position, message: impl Into<String>) -> Self {
        Self {
            rule,
            at: at.clone(),
            message: message.into(),
            help: Cow::Borrowed(rule.help()),
            notes: Vec::new(),
        }
    }

    /// The same with another place that it has to do with.
    #[must_use]
    pub fn note(mut self, at: &Position, message: impl Into<String>) -> Self {
        self.notes.push((at.clone(), message.into()));
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} [{}]; help: {}", self.at, self.message, self.rule, self.help)?;
        self.notes.iter().try_for_each(|(at, message)| write!(f, "; note: {at}: {message}"))
    }
}
impl std::error::Error for Diagnostic {}
