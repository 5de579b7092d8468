//! Handles. All of them stand in one table: a handle is the number of a slot and the slot's generation, which counts how
//! often the slot was freed. So a freed handle is told from a live one, whatever took its slot, and nothing that C hands
//! in as a handle is ever followed.
//!
//! C programs free twice, use what was freed, pass null, and pass one type for another; with pointers to
//! objects each of these is undefined behaviour. Here they are errors with a text that says which it was. The
//! cost is a lock for reading and a look-up for each handle of a call: one lock protects the table, and calls
//! from many threads may come to wait for it; timing is not recorded. `tests/faults.c` calls every function
//! with bad handles; random calls of four threads, 20 000 each time, and the fuzz target `calls` found no
//! crash. Operations, dtypes and kinds are numbers as well (`codes.rs`): hashes of names, which may collide,
//! as the test `numbers_round_trip_and_are_distinct` would show.

use std::sync::{Arc, PoisonError, RwLock};

use stridewise::kernel::{KernelBundle, SourceKernel};
use stridewise::memory::heap;
use stridewise::{Device, Error, Event, LiveArray, MemoryScope, Queue, UsmArray, UsmMemory};

use crate::array::sw_array;
use crate::caller::Out;
use crate::device::sw_device;
use crate::event::sw_event;
use crate::kernel::{sw_kernel, sw_kernel_bundle};
use crate::memory::sw_memory;
use crate::queue::sw_queue;
use crate::status::Failure;
use crate::usage::{sw_live_arrays, sw_memory_scope};

/// Bits of a handle that number the slot; those above are its generation, which is never 0.
const SLOT_BITS: u32 = if usize::BITS >= 64 { 32 } else { 20 };
const LAST_SLOT: usize = (1 << SLOT_BITS) - 1;
const LAST_GENERATION: usize = usize::MAX >> SLOT_BITS;

/// What a handle stands for.
#[derive(Clone, Debug)]
pub enum Object {
    /// A device.
    Device(Arc<Device>),
    /// A queue.
    Queue(Arc<Queue>),
    /// An event.
    Event(Arc<Event>),
    /// Memory.
    Memory(Arc<UsmMemory>),
    /// An array.
    Array(Arc<UsmArray>),
    /// The kernels of a source.
    Bundle(Arc<KernelBundle>),
    /// A kernel.
    Kernel(Arc<SourceKernel>),
    /// A scope of memory.
    Scope(Arc<MemoryScope>),
    /// A list of what is in use.
    Live(Arc<Vec<LiveArray>>),
}

struct Slot {
    generation: usize,
    object: Option<Object>,
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
}

static TABLE: RwLock<Table> = RwLock::new(Table { slots: Vec::new(), free: Vec::new() });

/// A type of handles.
pub trait Handle: Sized {
    /// What they stand for.
    type Object;
    #[doc(hidden)]
    const NAME: &'static str;
    #[doc(hidden)]
    fn wrap(object: Arc<Self::Object>) -> Object;
    #[doc(hidden)]
    fn unwrap(object: &Object) -> Option<&Arc<Self::Object>>;
}

macro_rules! handles {
    ($($handle:ident $Object:ty, $Variant:ident $name:literal;)*) => {
        $(impl Handle for $handle {
            type Object = $Object;
            const NAME: &'static str = $name;
            fn wrap(object: Arc<$Object>) -> Object {
                Object::$Variant(object)
            }
            fn unwrap(object: &Object) -> Option<&Arc<$Object>> {
                match object {
                    Object::$Variant(object) => Some(object),
                    _ => None,
                }
            }
        })*
        impl Object {
            const fn name(&self) -> &'static str {
                match self { $(Self::$Variant(_) => $name,)* }
            }
        }
    };
}
handles! {
    sw_device Device, Device "a device";
    sw_queue Queue, Queue "a queue";
    sw_event Event, Event "an event";
    sw_memory UsmMemory, Memory "memory";
    sw_array UsmArray, Array "an array";
    sw_kernel_bundle KernelBundle, Bundle "a bundle of kernels";
    sw_kernel SourceKernel, Kernel "a kernel";
    sw_memory_scope MemoryScope, Scope "a scope of memory";
    sw_live_arrays Vec<LiveArray>, Live "a list of arrays";
}

fn refuse<H: Handle>(argument: &str, value: &str) -> Failure {
    let name = H::NAME;
    Failure::Handle(format!(
        "handle: `{argument}` is {value}; expected the handle of {name}; help: pass one that a function of this library \
         gave and that is not freed yet"
    ))
}

/// The slot of a live handle of a type.
fn locate<H: Handle>(table: &Table, argument: &str, handle: *const H) -> Result<usize, Failure> {
    let bits = handle.addr();
    let (slot, generation) = (bits & LAST_SLOT, bits >> SLOT_BITS);
    if bits == 0 {
        return Err(refuse::<H>(argument, "null"));
    }
    match table.slots.get(slot) {
        Some(Slot { generation: live, object: Some(object) }) if *live == generation => {
            if H::unwrap(object).is_some() { Ok(slot) } else { Err(refuse::<H>(argument, object.name())) }
        }
        Some(Slot { generation: live, .. }) if generation > 0 && generation < *live => {
            Err(refuse::<H>(argument, "a handle that was freed"))
        }
        _ => Err(refuse::<H>(argument, "no handle of this library")),
    }
}

/// What a handle stands for.
pub(crate) fn get<H: Handle>(argument: &'static str, handle: *const H) -> Result<Arc<H::Object>, Failure> {
    // Nothing panics while the lock is held.
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    let slot = locate(&table, argument, handle)?;
    let object = table.slots[slot].object.as_ref().and_then(H::unwrap);
    object.map(Arc::clone).ok_or_else(|| refuse::<H>(argument, "a handle that was freed"))
}

/// Room for a handle: where it is written, and its slot. Taken before anything is done, so that what has been done is never
/// lost for want of a handle.
#[derive(Debug)]
pub(crate) struct Room<H: Handle> {
    /// Until it is written.
    out: Option<Out<*mut H>>,
    slot: usize,
}

impl<H: Handle> Room<H> {
    pub(crate) fn new(out: Out<*mut H>) -> Result<Self, Error> {
        let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
        let Table { slots, free } = &mut *table;
        let slot = match free.pop() {
            Some(slot) => slot,
            None if slots.len() > LAST_SLOT => {
                return Err(Error::alloc("handle", "the last one", "a free handle", "free handles first"));
            }
            None => {
                // Room for all of them, so that to free one needs none.
                heap::reserve("handle", free, slots.len() + 1)?;
                heap::push("handle", slots, Slot { generation: 1, object: None })?;
                slots.len() - 1
            }
        };
        Ok(Self { out: Some(out), slot })
    }
}

impl<H: Handle> Drop for Room<H> {
    fn drop(&mut self) {
        if self.out.is_some() {
            TABLE.write().unwrap_or_else(PoisonError::into_inner).free.push(self.slot);
        }
    }
}

/// Makes a handle and writes it.
pub(crate) fn give<H: Handle>(mut room: Room<H>, object: H::Object) -> Result<(), Failure> {
    let object = H::wrap(Arc::new(object));
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    if let (Some(out), Some(entry)) = (room.out.take(), table.slots.get_mut(room.slot)) {
        entry.object = Some(object);
        out.set(std::ptr::without_provenance_mut(entry.generation << SLOT_BITS | room.slot));
    }
    Ok(())
}

/// Ends a handle; what it stands for goes when nothing else needs it.
pub(crate) fn free<H: Handle>(argument: &'static str, handle: *const H) -> Result<(), Failure> {
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    let slot = locate(&table, argument, handle)?;
    let object = table.slots[slot].object.take();
    // A slot whose generations are used up is never used again.
    if table.slots[slot].generation < LAST_GENERATION {
        table.slots[slot].generation += 1;
        table.free.push(slot);
    }
    drop(table);
    // Without the lock, for a deleter of C may call this library.
    drop(object);
    Ok(())
}

/// How many handles there are that were not freed: for tests of what is left behind.
#[doc(hidden)]
#[must_use]
pub fn live() -> usize {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.slots.iter().filter(|slot| slot.object.is_some()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn new_event() -> *mut sw_event {
        let mut handle = ptr::null_mut();
        // SAFETY: the address of a local.
        let caller = unsafe { crate::caller::Caller::trusted() };
        give::<sw_event>(caller.handle("event", &raw mut handle).unwrap(), Event::ready()).unwrap();
        handle
    }

    #[test]
    fn freed_handles_stay_freed_when_their_slot_is_used_again() {
        let first = new_event();
        assert!(get("event", first).is_ok());
        free("event", first).unwrap();
        let later: Vec<_> = (0..100).map(|_| new_event()).collect();
        assert!(!later.contains(&first));
        for result in [get("event", first).map(drop), free("event", first)] {
            let Err(Failure::Handle(text)) = result else { panic!("a freed handle was taken") };
            assert!(text.contains("freed"), "{text}");
        }
        for handle in later {
            free("event", handle).unwrap();
        }
    }

    #[test]
    fn other_types_and_made_up_numbers_are_refused() {
        let event = new_event();
        assert!(get::<sw_queue>("queue", event.cast()).is_err());
        assert!(free::<sw_queue>("queue", event.cast()).is_err());
        for bits in [0, 1, 4096, 1 << SLOT_BITS | LAST_SLOT, usize::MAX, (&raw const event).addr()] {
            assert!(get::<sw_event>("event", ptr::without_provenance(bits)).is_err(), "{bits:#x}");
        }
        assert!(get("event", event).is_ok());
        free("event", event).unwrap();
    }
}
