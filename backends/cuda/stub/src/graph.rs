//! Commands that a stream was given while it recorded, to be given again.

use crate::state::{INVALID_HANDLE, INVALID_VALUE, Op, State};

/// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`: of what a stream was given meanwhile, something cannot be recorded.
const UNSUPPORTED: i32 = 900;

impl Op {
    /// The same command, where it may be given more than once.
    fn again(&self) -> Option<Self> {
        Some(match self {
            &Self::Copy { dst, src, bytes } => Self::Copy { dst, src, bytes },
            &Self::Fill { dst, pitch, ref pattern, width, height } => {
                Self::Fill { dst, pitch, pattern: pattern.clone(), width, height }
            }
            Self::Launch { name } => Self::Launch { name: name.clone() },
            _ => return None,
        })
    }
}

impl State {
    /// Has a stream record what it is given.
    pub(crate) fn begin_capture(&mut self, stream: usize) -> i32 {
        match self.streams.get_mut(&stream) {
            Some(stream) if stream.recorded.is_none() && stream.apart => {
                stream.recorded = Some(Vec::new());
                0
            }
            _ => {
                self.violate("a stream that records already, is not there, or for which others wait");
                INVALID_HANDLE
            }
        }
    }

    /// Ends that: the graph's handle.
    ///
    /// # Errors
    /// The code.
    pub(crate) fn end_capture(&mut self, stream: usize) -> Result<usize, i32> {
        let recorded = self.streams.get_mut(&stream).and_then(|stream| stream.recorded.take());
        let Some(recorded) = recorded else {
            self.violate("a stream that did not record");
            return Err(INVALID_VALUE);
        };
        if recorded.iter().any(|op| op.again().is_none()) {
            return Err(UNSUPPORTED);
        }
        let handle = self.handle();
        self.graphs.insert(handle, recorded);
        Ok(handle)
    }

    /// A graph that can be launched, of another one.
    ///
    /// # Errors
    /// The code.
    pub(crate) fn instantiate(&mut self, graph: usize) -> Result<usize, i32> {
        let ops = self.graphs.get(&graph).map(|ops| ops.iter().filter_map(Op::again).collect());
        let Some(ops) = ops else {
            self.violate("a graph that is not there");
            return Err(INVALID_VALUE);
        };
        let handle = self.handle();
        self.graphs.insert(handle, ops);
        Ok(handle)
    }

    /// Gives a graph up.
    pub(crate) fn destroy_graph(&mut self, graph: usize) -> i32 {
        if self.graphs.remove(&graph).is_none() {
            self.violate("a graph given up that is not there");
        }
        0
    }

    /// The commands of a graph.
    ///
    /// # Errors
    /// The code.
    pub(crate) fn commands(&mut self, graph: usize) -> Result<Vec<Op>, i32> {
        match self.graphs.get(&graph) {
            Some(ops) => Ok(ops.iter().filter_map(Op::again).collect()),
            None => {
                self.violate("a launch of a graph that is not there");
                Err(INVALID_HANDLE)
            }
        }
    }
}
