//! Who made the memory that is in use: scopes that count what is allocated in them, and the list of what there is.
//!
//! A pool notes of each block what array it was made for ([`form`](super::form)), which costs a store. The rest is noted while a
//! scope is open, and of memory that was made in one: then every allocation of the threads that have opened one, small ones
//! included, goes through the pool and has an entry here, until it is freed. Else all that is done is to look whether
//! anything is watched.
//!
//! ```
//! use stridewise_core::memory::MemoryScope;
//!
//! let scope = MemoryScope::new("load");
//! let opened = scope.open()?;
//! // … arrays are made, and some of them are dropped …
//! drop(opened);
//! let usage = scope.usage();
//! assert!(usage.left_bytes <= usage.peak_bytes && usage.peak_bytes <= usage.allocated_bytes);
//! # Ok::<(), stridewise_core::Error>(())
//! ```

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

use super::allocation::Allocation;
use super::{UsmKind, UsmPtr, form, heap, registry};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::layout::Dims;
use crate::runtime::Device;
use crate::sync::{Mutex, MutexGuard};

/// Arrays that an error lists at most.
const LISTED: usize = 8;

/// Entries that a list without any keeps room for.
const KEPT: usize = 1024;

/// Open scopes and entries of [`NOTES`] together.
static ACTIVE: AtomicUsize = AtomicUsize::new(0);
/// Of memory that was made in a scope and is in use, by its address.
static NOTES: Mutex<Option<HashMap<usize, Note>>> = Mutex::new(None);

thread_local! {
    /// The scopes that are open on this thread, the innermost last.
    static HERE: RefCell<Vec<Arc<Node>>> = const { RefCell::new(Vec::new()) };
    /// Which place of the program calls the engine, where somebody says it.
    static CALL_SITE: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Whether anything is watched.
#[inline]
pub(crate) fn is_active() -> bool {
    // A thread sees its own scopes, and who frees memory has come after who made it.
    ACTIVE.load(Ordering::Relaxed) != 0
}

fn notes() -> MutexGuard<'static, Option<HashMap<usize, Note>>> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open scope, or one that was.
struct Node {
    name: String,
    /// The thread that it is open on.
    thread: Option<String>,
    parent: Option<Arc<Self>>,
    sites: bool,
    allocated_bytes: AtomicUsize,
    allocations: AtomicU64,
    live_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
}

impl Node {
    /// The scope and those around it.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.parent.as_deref())
    }

    fn add(&self, bytes: usize) {
        for node in self.chain() {
            node.allocated_bytes.fetch_add(bytes, Ordering::Relaxed);
            node.allocations.fetch_add(1, Ordering::Relaxed);
            let live = node.live_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
            node.peak_bytes.fetch_max(live, Ordering::Relaxed);
        }
    }

    fn remove(&self, bytes: usize) {
        for node in self.chain() {
            node.live_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// The names from the outermost scope on: `load/parse`.
    fn path(&self) -> String {
        let mut names: Vec<&str> = self.chain().map(|node| node.name.as_str()).collect();
        names.reverse();
        names.join("/")
    }
}

/// Where memory was made.
#[derive(Clone)]
enum Site {
    Said(Arc<str>),
    Stack(Arc<Backtrace>),
}

/// What is noted of an allocation.
struct Note {
    node: Arc<Node>,
    bytes: usize,
    site: Option<Site>,
}

/// Notes new memory, where a scope is open on this thread.
///
/// # Errors
/// [`Error::Alloc`] where the host has no memory for the note.
#[cold]
pub(super) fn note(ptr: UsmPtr, bytes: usize) -> Result<()> {
    let Some(node) = HERE.try_with(|here| here.borrow().last().cloned()).ok().flatten() else {
        return Ok(());
    };
    let said = CALL_SITE.try_with(|site| site.borrow().clone()).ok().flatten().map(Site::Said);
    // Frames are only counted now; their names are looked up when somebody asks.
    let stack = || node.sites.then(|| Site::Stack(Arc::new(Backtrace::force_capture())));
    let note = Note { node: Arc::clone(&node), bytes, site: said.or_else(stack) };
    let mut notes = notes();
    let known = notes.get_or_insert_with(HashMap::new);
    if known.try_reserve(1).is_err() {
        drop(notes);
        return Err(heap::refused::<Note>("notes", 1));
    }
    let before = known.insert(ptr.addr(), note);
    drop(notes);
    ACTIVE.fetch_add(usize::from(before.is_none()), Ordering::Relaxed);
    node.add(bytes);
    Ok(())
}

/// Forgets memory that has no owner any more.
#[cold]
pub(super) fn forget(ptr: UsmPtr) {
    let note = {
        let mut notes = notes();
        let note = notes.as_mut().and_then(|known| known.remove(&ptr.addr()));
        // So that what many allocations needed is not kept for ever.
        notes.take_if(|known| known.is_empty() && known.capacity() > KEPT);
        note
    };
    if let Some(note) = note {
        ACTIVE.fetch_sub(1, Ordering::Relaxed);
        note.node.remove(note.bytes);
    }
}

/// What was allocated in a scope, in bytes as they were asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ScopeUsage {
    /// All that was allocated.
    pub allocated_bytes: usize,
    /// By how many allocations.
    pub allocations: u64,
    /// The most of it that was in use at a time.
    pub peak_bytes: usize,
    /// What of it is in use now.
    pub left_bytes: usize,
}

/// Counts the memory that a thread allocates while the scope is open on it: [`open`](Self::open) until that is dropped. Scopes may
/// be opened inside each other; what is allocated in the inner one counts in the outer ones, too.
///
/// Memory is allocated when work is submitted. What is recorded in a scope and needed only after it counts where it is needed.
#[derive(Clone)]
pub struct MemoryScope {
    name: Arc<str>,
    sites: bool,
    node: Arc<OnceLock<Arc<Node>>>,
}

impl MemoryScope {
    /// A scope that is to be opened. Its name is what [`live_arrays`] calls it.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.into(), sites: false, node: Arc::default() }
    }

    /// Has noted where memory is made, too: the calls that led to each allocation, which takes some microseconds for each.
    #[must_use]
    pub fn with_sites(mut self) -> Self {
        self.sites = true;
        self
    }

    /// Opens the scope on this thread, once.
    ///
    /// # Errors
    /// [`Error::Value`] where it is open or was.
    pub fn open(&self) -> Result<OpenScope> {
        self.enter()?;
        Ok(OpenScope { scope: self.clone(), here: PhantomData })
    }

    /// As [`open`](Self::open), until [`leave`](Self::leave): for those who cannot keep what it returns.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn enter(&self) -> Result<()> {
        let opened = HERE.with(|here| {
            let mut here = here.borrow_mut();
            heap::reserve("scopes", &mut here, 1)?;
            let node = Arc::new(Node {
                name: self.name.to_string(),
                thread: std::thread::current().name().map(str::to_owned),
                parent: here.last().cloned(),
                sites: self.sites,
                allocated_bytes: AtomicUsize::new(0),
                allocations: AtomicU64::new(0),
                live_bytes: AtomicUsize::new(0),
                peak_bytes: AtomicUsize::new(0),
            });
            let first = self.node.set(Arc::clone(&node)).is_ok();
            if first {
                here.push(node);
            }
            Ok(first)
        })?;
        if !opened {
            let value = format!("the scope {:?}, which was opened before", self.name);
            return Err(Error::value("scope", value, "a scope that is opened once", "make a new one"));
        }
        ACTIVE.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Closes the scope, and those that were opened in it and are still open.
    ///
    /// # Errors
    /// [`Error::Value`] where it is not open on this thread.
    pub fn leave(&self) -> Result<()> {
        let closed = HERE
            .try_with(|here| {
                let mut here = here.borrow_mut();
                let node = self.node.get()?;
                let at = here.iter().rposition(|open| Arc::ptr_eq(open, node))?;
                Some(here.drain(at..).len())
            })
            .ok()
            .flatten();
        match closed {
            Some(count) => {
                ACTIVE.fetch_sub(count, Ordering::Relaxed);
                Ok(())
            }
            None => {
                let value = format!("the scope {:?}, which is not open on this thread", self.name);
                let help = "close it on the thread that opened it, inner scopes first";
                Err(Error::value("scope", value, "an open scope of this thread", help))
            }
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was allocated in it, and what of that is still in use.
    #[must_use]
    pub fn usage(&self) -> ScopeUsage {
        let Some(node) = self.node.get() else { return ScopeUsage::default() };
        let left_bytes = node.live_bytes.load(Ordering::Relaxed);
        ScopeUsage {
            allocated_bytes: node.allocated_bytes.load(Ordering::Relaxed),
            allocations: node.allocations.load(Ordering::Relaxed),
            peak_bytes: node.peak_bytes.load(Ordering::Relaxed),
            left_bytes,
        }
    }
}

impl fmt::Debug for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryScope").field("name", &self.name).field("usage", &self.usage()).finish()
    }
}

/// An open [`MemoryScope`]; to drop it closes it. It stays on its thread.
#[derive(Debug)]
pub struct OpenScope {
    scope: MemoryScope,
    here: PhantomData<*const ()>,
}

impl Drop for OpenScope {
    fn drop(&mut self) {
        // One that was closed with an outer one is closed.
        let _ = self.scope.leave();
    }
}

/// Says which place of a program calls the engine on this thread from now on, for who asks where memory was made: a file and a
/// line, say. For interfaces to other languages, whose calls the stack does not show.
pub fn set_call_site(site: Option<&str>) {
    let site = site.map(Arc::from);
    // A thread that ends calls no more.
    let _ = CALL_SITE.try_with(|here| here.replace(site));
}

/// Whose memory it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MemoryOrigin {
    /// The device's, through its pool.
    Pool,
    /// Somebody else's, who has lent it.
    Lent,
    /// A file's.
    File,
}

impl MemoryOrigin {
    /// `pool`, `lent` or `file`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pool => "pool",
            Self::Lent => "lent",
            Self::File => "file",
        }
    }
}

/// Memory that is in use: an array's, or that of several views of one.
#[derive(Clone)]
#[non_exhaustive]
pub struct LiveArray {
    /// Its device.
    pub device: Device,
    /// Where it is.
    pub ptr: UsmPtr,
    /// How many bytes, as they were asked for.
    pub bytes: usize,
    /// Its kind.
    pub kind: UsmKind,
    /// Whose it is.
    pub origin: MemoryOrigin,
    /// The dtype and shape of the array that it was made for, where that is known. It is not of memory without an array, of others
    /// and of files, nor, unless it was made in a scope, of results of a few elements.
    pub array: Option<(Dtype, Dims)>,
    /// The scopes that it was made in, from the outermost on (`load/parse`), where there were any.
    pub scope: Option<String>,
    /// The name of the thread that made it, where it was made in a scope and the thread has one.
    pub thread: Option<String>,
    site: Option<Site>,
}

impl LiveArray {
    /// Where it was made, if that is noted ([`MemoryScope::with_sites`]): the place that called the engine, as well as the program
    /// shows it.
    #[must_use]
    pub fn made_at(&self) -> Option<String> {
        match self.site.as_ref()? {
            Site::Said(site) => Some(site.to_string()),
            Site::Stack(stack) => caller(&stack.to_string()),
        }
    }
}

/// Of the text of a stack, the innermost function that is neither the engine's nor the standard library's, with its place. Functions
/// without a path became part of another one; whose they were, their names do not say.
fn caller(stack: &str) -> Option<String> {
    const OURS: &[&str] = &["stridewise", "core::", "std::", "alloc::"];
    let mut lines = stack.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((number, function)) = line.split_once(": ") else { continue };
        let of_type = function.trim_start_matches(['<', '&']);
        let known = number.parse::<usize>().is_ok() && function.contains("::");
        if !known || OURS.iter().any(|ours| of_type.starts_with(ours)) {
            continue;
        }
        return Some(match lines.peek().and_then(|next| next.strip_prefix("at ")) {
            Some(place) => format!("{place} ({function})"),
            None => function.to_owned(),
        });
    }
    None
}

impl fmt::Display for LiveArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {} memory", self.bytes, self.kind)?;
        if let Some((dtype, shape)) = &self.array {
            write!(f, ", {dtype} of shape {:?}", &shape[..])?;
        }
        match self.origin {
            MemoryOrigin::Pool => {}
            MemoryOrigin::Lent => f.write_str(", lent by others")?,
            MemoryOrigin::File => f.write_str(", of a file")?,
        }
        if let Some(scope) = &self.scope {
            write!(f, ", made in {scope:?}")?;
        }
        if let Some(place) = self.made_at() {
            write!(f, ", at {place}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for LiveArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LiveArray({self}, on {})", self.device)
    }
}

/// What is in use of the memory of all devices, or of one, the largest first. Threads that allocate and free meanwhile are seen or
/// not.
///
/// # Errors
/// [`Error::Alloc`] where the host has no memory for the list.
pub fn live_arrays(of: Option<&Device>) -> Result<Vec<LiveArray>> {
    let live = registry::live(of)?;
    let mut arrays = heap::with_capacity("arrays", live.len())?;
    arrays.extend(live.into_iter().map(|live| LiveArray {
        array: form::read(live.form, live.memory.bytes),
        device: live.device,
        ptr: live.memory.ptr,
        bytes: live.memory.bytes,
        kind: live.memory.kind,
        origin: live.origin,
        scope: None,
        thread: None,
        site: None,
    }));
    if is_active() {
        let mut known: Vec<(usize, Arc<Node>, Option<Site>)> = Vec::new();
        {
            let notes = notes();
            let find = |array: &LiveArray| notes.as_ref()?.get(&array.ptr.addr());
            heap::reserve("notes", &mut known, arrays.len().min(notes.as_ref().map_or(0, HashMap::len)))?;
            let of_pool = arrays.iter().enumerate().filter(|(_, array)| array.origin == MemoryOrigin::Pool);
            known.extend(of_pool.filter_map(|(at, array)| {
                let note = find(array)?;
                Some((at, Arc::clone(&note.node), note.site.clone()))
            }));
        }
        for (at, node, site) in known {
            let array = &mut arrays[at];
            (array.scope, array.thread, array.site) = (Some(node.path()), node.thread.clone(), site);
        }
    }
    arrays.sort_unstable_by(|a, b| b.bytes.cmp(&a.bytes).then(a.ptr.addr().cmp(&b.ptr.addr())));
    Ok(arrays)
}

/// An error of an allocation, with what is in use of the device's memory, the largest first. No lock may be held.
#[cold]
pub(crate) fn with_live_arrays(device: &Device, error: Error) -> Error {
    let Error::Alloc(complaint) = &error else { return error };
    // Memory of the host itself has other names.
    if complaint.argument != "bytes" {
        return error;
    }
    let Ok(live) = live_arrays(Some(device)) else { return error };
    if live.is_empty() {
        return error;
    }
    let mut help = format!("{}; in use on {device}: ", complaint.help);
    for (number, array) in live.iter().take(LISTED).enumerate() {
        help.push_str(if number > 0 { "; " } else { "" });
        help.push_str(&array.to_string());
    }
    if live.len() > LISTED {
        let rest: usize = live[LISTED..].iter().map(|array| array.bytes).sum();
        help.push_str(&format!("; and {rest} bytes in {} more", live.len() - LISTED));
    }
    let mut told = (**complaint).clone();
    told.help = help.into();
    Error::Alloc(Arc::new(told))
}

impl Allocation {
    /// Notes what array new memory is made for.
    #[inline]
    pub(crate) fn describe(&self, dtype: Dtype, shape: &[usize]) {
        self.set_form(form::form(dtype, shape));
    }

    /// The same, where anything is watched: for results of a few elements, whose time it would be felt in.
    #[inline]
    pub(crate) fn describe_if_watched(&self, dtype: Dtype, shape: &[usize]) {
        if is_active() && !self.has_form() {
            self.describe(dtype, shape);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::caller;

    #[test]
    fn the_caller_is_the_innermost_function_of_the_program() {
        let stack = "   0: stridewise_core::memory::watch::note\n             at ./core/src/memory/watch.rs:1:2\n   \
                     1: <stridewise_core::array::Array<T> as core::ops::Add>::add\n   2: core::ops::function::FnOnce::call_once\n   \
                     3: terrain::load\n             at ./src/load.rs:12:5\n   4: terrain::main\n";
        assert_eq!(caller(stack).as_deref(), Some("./src/load.rs:12:5 (terrain::load)"));
        assert_eq!(caller("  0: terrain::main\n  1: std::rt::run\n").as_deref(), Some("terrain::main"));
        assert_eq!(caller("  0: std::rt::run\n"), None);
    }
}
