//! Graphs in files: what they compute as data, and what is in the memory that they go on from.
//!
//! ```text
//! stridewise graph 0.1.0 host little-endian 64    a line that says who can read it
//! length, checksum                                of the description, 8 bytes each
//! description                                     commands, what they access, names, sizes of memory
//! contents                                        of each memory in its order, as far as it is kept
//! ```
//! Commands hold addresses. In a file they are those of an imagined space, in which the memories lie one behind the other ([`places`]);
//! who reads it makes memory, and gives each address its place there. A backend takes commands at their word, so nobody but
//! [`Graph::save`] makes such a file: this is why [`Graph::load`] is `unsafe`, and why a file is of one version alone.

mod data;

use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::allocation::Allocation;
use super::capture::{Steps, relocate};
use super::schedule::Access;
use super::track::{Mode, Region};
use super::{BLOCK_ALIGN_BYTES, UsmKind, UsmMemory, UsmPtr, heap, reach};
use crate::backend::Step;
use crate::cut::Cut;
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::{Graph, Port};
use crate::layout::Layout;
use crate::replacement::Replacement;
use crate::runtime::Queue;

/// How every such file begins.
const MARK: &str = "stridewise graph ";
/// Bytes of the first line at most.
const MAX_LINE: usize = 256;
/// Bytes of contents that are read or written at once.
const CHUNK_BYTES: usize = 1 << 20;
/// The first address of the imagined space.
const FIRST: usize = 4096;

/// A graph without its memory.
#[derive(Serialize, Deserialize)]
struct Description {
    steps: Vec<Step>,
    accesses: Vec<Vec<StoredAccess>>,
    cuts: Vec<Cut>,
    memories: Vec<StoredMemory>,
    inputs: Vec<StoredPort>,
    outputs: Vec<StoredPort>,
}

/// What a command accesses, of the memory of a number.
#[derive(Serialize, Deserialize)]
struct StoredAccess {
    memory: usize,
    region: Region,
    mode: Mode,
}

#[derive(Serialize, Deserialize)]
struct StoredMemory {
    bytes: usize,
    kind: UsmKind,
    /// Made for the commands, which write it before they read it.
    own: bool,
    /// The bytes whose contents are in the file.
    kept: Range<usize>,
}

#[derive(Serialize, Deserialize)]
struct StoredPort {
    name: String,
    memory: usize,
    layout: Layout,
    dtype: Dtype,
}

/// Where memories of these sizes lie in the imagined space: apart from each other.
fn places(bytes: impl Iterator<Item = usize>) -> Option<Vec<Range<usize>>> {
    let mut next = FIRST;
    let mut places = Vec::new();
    for bytes in bytes {
        let end = next.checked_add(bytes)?;
        heap::push("memory", &mut places, next..end).ok()?;
        next = end.checked_next_multiple_of(FIRST)?.checked_add(FIRST)?;
    }
    Some(places)
}

/// The address of another space that is in the memory of the same number, as far behind its beginning.
fn moved(ptr: UsmPtr, from: &[Range<usize>], to: impl Fn(usize) -> usize) -> UsmPtr {
    let number = from.iter().position(|range| range.contains(&ptr.addr()));
    // An address in no memory is that of no element.
    number.map_or(ptr, |number| {
        let address = to(number).wrapping_add(ptr.addr() - from[number].start);
        UsmPtr::new(std::ptr::without_provenance_mut(address))
    })
}

impl Graph {
    /// Writes the graph to a file, in place of what is there: its commands, and what is in the memory that was there before its capture
    /// and that it goes on from. [`load`](Self::load) makes a graph of it that does the same on this or another machine, to the same
    /// bits. As an array's file, it is written beside the old one and renamed over it when it is whole.
    ///
    /// With the feature `graph-files`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on another device than the host, where commands are planned for one device; [`Error::Io`] where the file
    /// cannot be written; [`Error::Alloc`]; the failure of the work that computes what is kept.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let (steps, inputs, outputs) = self.parts();
        let queue = steps.queue();
        check_device(queue)?;
        let (description, memories) = describe(steps, inputs, outputs)?;
        let bytes = postcard::to_stdvec(&description).map_err(|error| {
            Error::io("path", error.to_string(), "a graph that is data", "this is a defect: please report it")
        })?;
        let fault = |found: io::Error| {
            let help = "choose a folder that may be written to and has room";
            Error::io("path", format!("{} ({found})", path.display()), "a file that can be written", help)
        };
        let mut buffer = heap::zeroed("buffer", CHUNK_BYTES)?;
        let mut replacement = Replacement::begin(path).map_err(fault)?;
        let file = replacement.file();
        file.write_all(line(queue).as_bytes()).map_err(fault)?;
        for number in [bytes.len() as u64, checksum(&bytes)] {
            file.write_all(&number.to_le_bytes()).map_err(fault)?;
        }
        file.write_all(&bytes).map_err(fault)?;
        for (memory, stored) in memories.iter().zip(&description.memories) {
            let memory = UsmMemory::from_allocation(Arc::clone(memory), queue.clone());
            for part in parts(&stored.kept) {
                let buffer = &mut buffer[..part.len()];
                memory.copy_to_host(part.start, buffer)?;
                file.write_all(buffer).map_err(fault)?;
            }
        }
        file.flush().map_err(fault)?;
        replacement.finish().map_err(fault)
    }

    /// Reads a graph from a file that [`save`](Self::save) has written, to a queue: with memory of its own, in which the inputs and what
    /// it goes on from are as they were then.
    ///
    /// With the feature `graph-files`.
    ///
    /// # Errors
    /// [`Error::Io`] where the file cannot be read, is no graph, is damaged, or is of another version, driver or order of bytes;
    /// [`Error::Unsupported`] on another device than the host; [`Error::Alloc`].
    ///
    /// # Safety
    /// [`save`](Self::save) has written the file, and nobody has changed it since: commands from other hands may read and write any
    /// memory of the process. What was damaged by accident is found.
    pub unsafe fn load(queue: &Queue, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        check_device(queue)?;
        let help = "save the graph again, by this version on a machine like this one";
        let wrong = |found: &str, expected: &str| {
            Error::io("path", format!("{} ({found})", path.display()), expected.to_owned(), help)
        };
        let fault = |found: io::Error| wrong(&found.to_string(), "a file that can be read");
        let damaged = || wrong("damaged or cut off", "a whole file of a graph");
        let mut file = File::open(path).map_err(fault)?;
        let present = file.metadata().map_err(fault)?.len();
        let found = first_line(&mut file).map_err(fault)?;
        if !found.starts_with(MARK) {
            return Err(wrong("something else", "a file that `Graph::save` has written"));
        }
        if found != line(queue) {
            return Err(wrong(found.trim_end(), line(queue).trim_end()));
        }
        let [mut length, mut sum] = [[0; 8]; 2];
        file.read_exact(&mut length).and_then(|()| file.read_exact(&mut sum)).map_err(|_| damaged())?;
        let length = Some(u64::from_le_bytes(length)).filter(|&length| length <= present);
        let mut bytes = heap::zeroed("description", length.ok_or_else(damaged)? as usize)?;
        file.read_exact(&mut bytes).map_err(|_| damaged())?;
        if checksum(&bytes) != u64::from_le_bytes(sum) {
            return Err(damaged());
        }
        let description: Description = postcard::from_bytes(&bytes).map_err(|_| damaged())?;
        drop(bytes);

        let mut memories = heap::with_capacity("memory", description.memories.len())?;
        let mut buffer = heap::zeroed("buffer", CHUNK_BYTES)?;
        for StoredMemory { bytes, kind, kept, .. } in &description.memories {
            let memory = Allocation::new(queue.device(), *kind, *bytes, BLOCK_ALIGN_BYTES)?;
            let view = UsmMemory::from_allocation(Arc::clone(&memory), queue.clone());
            for part in parts(kept) {
                let buffer = &mut buffer[..part.len()];
                file.read_exact(buffer).map_err(|_| damaged())?;
                view.copy_from_host(part.start, buffer)?;
            }
            memories.push(memory);
        }
        // SAFETY: the description is one that `save` has written, by the caller's word.
        unsafe { restore(description, queue, &memories) }?.ok_or_else(damaged)
    }
}

/// Refuses devices whose commands are planned for one of them.
fn check_device(queue: &Queue) -> Result<()> {
    if queue.device().capabilities().stores_graphs {
        return Ok(());
    }
    Err(Error::unsupported(
        "graph",
        format!("files of graphs on {}", queue.device()),
        "a graph of the host, whose commands are right on every machine",
        "capture the program where it is needed",
    ))
}

/// The first line of a file for a queue.
fn line(queue: &Queue) -> String {
    let order = if cfg!(target_endian = "little") { "little-endian" } else { "big-endian" };
    let (version, driver) = (env!("CARGO_PKG_VERSION"), queue.device().info().backend);
    format!("{MARK}{version} {driver} {order} {}\n", usize::BITS)
}

/// The line that a file begins with, or as much of it as a line may have.
fn first_line(file: &mut File) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < MAX_LINE && line.last() != Some(&b'\n') && file.read(&mut byte)? == 1 {
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn parts(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = range.end;
    range.clone().step_by(CHUNK_BYTES).map(move |start| start..end.min(start + CHUNK_BYTES))
}

/// FNV-1a of 64 bits (G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, RFC 9923).
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A graph as data, and its memory in the order of the numbers there.
fn describe(steps: &Steps, inputs: &[Port], outputs: &[Port]) -> Result<(Description, Vec<Arc<Allocation>>)> {
    let mut memories: Vec<Arc<Allocation>> = Vec::new();
    let mut stored: Vec<StoredMemory> = Vec::new();
    let mut note = |memory: &Arc<Allocation>, bytes: Range<usize>| -> Result<usize> {
        let number = memories.iter().position(|known| Arc::ptr_eq(known, memory));
        let own = steps.owns(memory);
        let kept = if own { 0..0 } else { bytes };
        match number {
            Some(number) => {
                let known = &mut stored[number].kept;
                // What is empty has no beginning.
                if known.start == known.end {
                    *known = kept;
                } else if kept.start < kept.end {
                    *known = known.start.min(kept.start)..known.end.max(kept.end);
                }
                Ok(number)
            }
            None => {
                heap::push("memory", &mut memories, Arc::clone(memory))?;
                let memory = StoredMemory { bytes: memory.bytes(), kind: memory.kind(), own, kept };
                heap::push("memory", &mut stored, memory)?;
                Ok(stored.len() - 1)
            }
        }
    };
    let mut accesses = heap::with_capacity("accesses", steps.cuts().len())?;
    for (_, listed) in steps.commands() {
        let mut of_step = heap::with_capacity("accesses", listed.len())?;
        for Access { allocation, region, mode } in listed {
            let memory = note(allocation, region.range())?;
            of_step.push(StoredAccess { memory, region: region.clone(), mode: *mode });
        }
        accesses.push(of_step);
    }
    let mut ports = |ports: &[Port]| -> Result<Vec<StoredPort>> {
        let mut stored = heap::with_capacity("arrays", ports.len())?;
        for Port { name, memory, layout, dtype } in ports {
            let number = note(memory, layout.byte_range(dtype.size()))?;
            let (name, layout) = (name.clone(), layout.clone());
            stored.push(StoredPort { name, memory: number, layout, dtype: *dtype });
        }
        Ok(stored)
    };
    let (inputs, outputs) = (ports(inputs)?, ports(outputs)?);
    let too_large =
        || Error::alloc("graph", usize::MAX, "the addresses that there are", "capture less at once");
    let imagined = places(memories.iter().map(|memory| memory.bytes())).ok_or_else(too_large)?;
    let here = |memory: &Arc<Allocation>| {
        let start = memory.ptr().addr();
        start..start + memory.bytes()
    };
    let here = heap::collect("memory", memories.iter().map(here))?;
    let mut listed = heap::collect("commands", steps.commands().map(|(step, _)| step.clone()))?;
    for step in &mut listed {
        relocate(step, |ptr| moved(ptr, &here, |number| imagined[number].start));
    }
    let cuts = heap::collect("commands", steps.cuts().iter().copied())?;
    Ok((Description { steps: listed, accesses, cuts, memories: stored, inputs, outputs }, memories))
}

/// The graph that was described, in other memory; nothing where the numbers of the description do not fit together.
///
/// # Safety
/// [`describe`] has made the description, of a graph on a device of the queue's driver.
unsafe fn restore(
    description: Description,
    queue: &Queue,
    memories: &[Arc<Allocation>],
) -> Result<Option<Graph>> {
    let Description { mut steps, accesses, cuts, memories: stored, inputs, outputs } = description;
    let Some(imagined) = places(stored.iter().map(|memory| memory.bytes)) else { return Ok(None) };
    let mut stated = heap::with_capacity("accesses", accesses.len())?;
    for listed in accesses {
        let mut of_step = heap::with_capacity("accesses", listed.len())?;
        for StoredAccess { memory, region, mode } in listed {
            let Some(allocation) = memories.get(memory) else { return Ok(None) };
            if region.range().end > allocation.bytes() {
                return Ok(None);
            }
            of_step.push(Access { allocation: Arc::clone(allocation), region, mode });
        }
        stated.push(of_step);
    }
    if steps.len() != stated.len() || steps.len() != cuts.len() {
        return Ok(None);
    }
    for (step, accesses) in steps.iter_mut().zip(&stated) {
        relocate(step, |ptr| moved(ptr, &imagined, |number| memories[number].ptr().addr()));
        reach::check_step(step, accesses)?;
    }
    let port = |StoredPort { name, memory, layout, dtype }: StoredPort| {
        let memory =
            memories.get(memory).filter(|memory| layout.byte_range(dtype.size()).end <= memory.bytes())?;
        Some(Port { name, memory: Arc::clone(memory), layout, dtype })
    };
    let ports = |ports: Vec<StoredPort>| ports.into_iter().map(port).collect::<Option<Vec<_>>>();
    let (Some(inputs), Some(outputs)) = (ports(inputs), ports(outputs)) else { return Ok(None) };
    let own = memories.iter().zip(&stored).filter(|(_, stored)| stored.own);
    let own = heap::collect("memory", own.map(|(memory, _)| Arc::clone(memory)))?;
    let steps = Steps::new(queue.clone(), steps.into(), stated, own, cuts.into())?;
    Graph::of(steps, inputs, outputs).map(Some)
}
