//! Work on memory that is known outside, recorded all the same: the caller promises that nobody touches it meanwhile.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Weak};

use super::allocation::Allocation;
use crate::backend;
use crate::error::Result;

/// Runs a function during which nobody but the engine reads or writes memory that others know (of NumPy's arrays that were adopted,
/// of what is lent out): that is the caller's promise, and what others do there all the same is seen or lost by chance. Operations
/// on such memory are recorded and computed together, as those on the engine's own are. When the function has returned, the work
/// on that memory is complete.
///
/// The promise is the calling thread's. Scopes may be nested; the outermost one completes the work.
///
/// # Errors
/// What the function returns; else the failure of work on that memory.
///
/// ```
/// # use stridewise_core as stridewise;
/// # fn scale(x: &stridewise::Array<f32>) -> stridewise::Result<stridewise::Array<f32>> {
/// // `x` lies in a buffer of another library, which leaves it alone here: one pass instead of three.
/// stridewise::fuse(|| Ok((x * 2.0 + 1.0).sqrt()))
/// # }
/// ```
pub fn fuse<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    let scope = FuseScope::begin();
    let result = work()?;
    scope.end()?;
    Ok(result)
}

/// An open scope of [`fuse`], for who has no function to run in it, as the bindings of a language whose blocks have two ends. It ends
/// when it is dropped, too; then failures stay with the arrays.
pub struct FuseScope {
    /// Scopes are those of a thread.
    _thread: PhantomData<*const ()>,
}

impl FuseScope {
    /// Opens a scope on this thread.
    #[must_use]
    pub fn begin() -> Self {
        SCOPES.with_borrow_mut(|scopes| scopes.open += 1);
        Self { _thread: PhantomData }
    }

    /// The innermost scope that was left open ([`leave_open`](Self::leave_open)) on this thread.
    #[must_use]
    pub fn left_open() -> Option<Self> {
        SCOPES.with_borrow_mut(|scopes| {
            let left = scopes.left.checked_sub(1)?;
            scopes.left = left;
            Some(Self { _thread: PhantomData })
        })
    }

    /// Leaves the scope open behind this value, for [`left_open`](Self::left_open) to find.
    pub fn leave_open(self) {
        SCOPES.with_borrow_mut(|scopes| scopes.left += 1);
        std::mem::forget(self);
    }

    /// Ends the scope; the outermost one completes the work on the memory that the promise was used for.
    ///
    /// # Errors
    /// The first failure of such work. All of it is complete nevertheless.
    pub fn end(self) -> Result<()> {
        std::mem::forget(self);
        end()
    }
}

impl Drop for FuseScope {
    fn drop(&mut self) {
        // Results keep their failures.
        let _ = end();
    }
}

impl fmt::Debug for FuseScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scope in which work on memory that is known outside is recorded")
    }
}

/// The scopes of a thread.
struct Scopes {
    /// How many are open, and how many of them have no value.
    open: usize,
    left: usize,
    /// The memory that work was recorded for, by its place.
    used: BTreeMap<usize, Weak<Allocation>>,
    /// From so many on, those that are gone are forgotten.
    most: usize,
}

const FEW: usize = 64;

thread_local! {
    static SCOPES: RefCell<Scopes> =
        const { RefCell::new(Scopes { open: 0, left: 0, used: BTreeMap::new(), most: FEW }) };
}

/// Whether this thread promises that nobody outside touches the memory; then the end of its scope completes work on it.
pub(super) fn covers(allocation: &Arc<Allocation>) -> bool {
    let covered = SCOPES.try_with(|scopes| {
        let mut scopes = scopes.borrow_mut();
        if scopes.open == 0 {
            return false;
        }
        let place = Arc::as_ptr(allocation).addr();
        if !scopes.used.contains_key(&place) {
            if scopes.used.len() >= scopes.most {
                scopes.used.retain(|_, memory| memory.strong_count() > 0);
                scopes.most = FEW.max(2 * scopes.used.len());
            }
            // A reference that is weak keeps the place, so that no other allocation has it.
            scopes.used.insert(place, Arc::downgrade(allocation));
        }
        true
    });
    covered.unwrap_or(false)
}

fn end() -> Result<()> {
    let used = SCOPES.try_with(|scopes| {
        let mut scopes = scopes.borrow_mut();
        scopes.open = scopes.open.saturating_sub(1);
        if scopes.open > 0 {
            return BTreeMap::new();
        }
        scopes.most = FEW;
        std::mem::take(&mut scopes.used)
    });
    let mut result = Ok(());
    for memory in used.unwrap_or_default().into_values().filter_map(|memory| memory.upgrade()) {
        result = result.and(complete(&memory));
    }
    result
}

/// Submits what is recorded of the memory, and waits for all work on it.
fn complete(memory: &Arc<Allocation>) -> Result<()> {
    let mut result = memory.pending_reads.flush_queues();
    let unfinished = memory.track().unfinished();
    for event in unfinished {
        result = result.and(backend::wait(&*event));
    }
    result
}
