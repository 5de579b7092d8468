//! Compute follows data: where an operation on several arrays runs.

use std::sync::Arc;

use super::Queue;
use crate::error::{Error, ExecutionPlacementError, Result};

/// The queue that all of these are, or `None` where two differ or there is none.
#[must_use]
pub fn get_execution_queue<'a>(queues: impl IntoIterator<Item = &'a Queue>) -> Option<Queue> {
    let mut queues = queues.into_iter();
    let first = queues.next()?;
    queues.all(|queue| queue == first).then(|| first.clone())
}

/// The queue of all operands, which have names for the error.
///
/// # Errors
/// [`Error::ExecutionPlacement`] naming both queues where two differ.
pub fn common_queue<'a>(operands: &[(&str, &'a Queue)]) -> Result<&'a Queue> {
    let Some(&(first_name, first)) = operands.first() else {
        return Err(Error::value(
            "arrays",
            "empty",
            "at least one array among the operands",
            "make an array of one of them: an operation needs one to know where to compute",
        ));
    };
    match operands.iter().find(|(_, queue)| *queue != first) {
        None => Ok(first),
        Some((name, queue)) => Err(Error::ExecutionPlacement(Arc::new(ExecutionPlacementError {
            first_argument: first_name.to_owned(),
            first_queue: first.to_string(),
            second_argument: (*name).to_owned(),
            second_queue: queue.to_string(),
        }))),
    }
}
