//! The public memory object: an allocation and the queue that works on it by default.
//!
//! [`UsmMemory`] is untyped bytes, for those who make arrays of their own or exchange memory with others;
//! arrays are built on [`Allocation`] directly. Its copies and fills check ranges, then submit a command with
//! its accesses, and the scheduler finds what to wait for.
//! ```text
//! copy_to_host, copy_from_host    between slices and memory: done when they return
//! memcpy, fill, prefetch, …       on a queue: an event
//! expose, export, lend            the address, for a moment, for good, for as long as a lease lasts
//! from_foreign                    memory of others, until its deleter is called
//! ```
//! Between devices that do not reach each other's memory, a copy goes through the host's. Of memory that was
//! exported no work is left pending, as nobody outside could wait for it.
//!
//! Every unsafe block here relies on a range that `check` has compared with the allocation, and on accesses
//! that name that range: new methods need both.

use std::fmt;
use std::sync::Arc;

use super::allocation::{Allocation, Deleter};
use super::schedule::{self, Access};
use super::track::{Mode, Region};
use super::{BLOCK_ALIGN_BYTES, Lease, UsmKind, UsmPtr, capture, heap, host, registry};
use crate::backend::{self, Advice, Command, Step};
use crate::dtype::{Dtype, Element};
use crate::error::{Error, Result};
use crate::runtime::{Context, Device, Event, Queue, each_device};
use crate::scalar::Scalar;

/// A USM allocation of bytes, associated with a queue (dpctl's `MemoryUSMHost`, `MemoryUSMDevice`, `MemoryUSMShared`).
/// Clones share the memory; it is freed when the last owner is gone and the work submitted on it is done.
#[derive(Clone)]
pub struct UsmMemory {
    allocation: Arc<Allocation>,
    queue: Queue,
}

impl UsmMemory {
    /// Allocates `bytes` of a kind on the queue's device, 64-byte aligned. The contents are arbitrary.
    ///
    /// # Errors
    /// [`Error::Value`] for 0 bytes, [`Error::Alloc`] or [`Error::Overflow`] where there is not so much memory,
    /// [`Error::Unsupported`] where the device lacks the kind.
    pub fn new(kind: UsmKind, bytes: usize, queue: &Queue) -> Result<Self> {
        Self::aligned(kind, bytes, BLOCK_ALIGN_BYTES, queue)
    }

    /// Allocates memory at a multiple of `alignment`, a power of two; 64 is the least.
    ///
    /// # Errors
    /// As for [`new`](Self::new); [`Error::Value`] where the alignment is no power of two.
    pub fn aligned(kind: UsmKind, bytes: usize, alignment: usize, queue: &Queue) -> Result<Self> {
        let allocation = Allocation::new(queue.device(), kind, bytes, alignment)?;
        Ok(Self { allocation, queue: queue.clone() })
    }

    /// Adopts memory that something else allocated. The deleter is called once, when the last owner is gone and the work
    /// submitted on the memory is done; it must not block.
    ///
    /// Memory of an allocation whose address was handed out ([`export`](Self::export), [`expose`](Self::expose)) and comes
    /// back so is a part of that one, keeps it, and is read-only where that one is; work on that one is finished first, and
    /// from then on complete when the call returns that asks for it, as if it had been exported.
    ///
    /// # Errors
    /// [`Error::Value`] for a null pointer or 0 bytes, and for memory of the engine's own whose address was not handed out
    /// or whose owners are gone; the failure of work on memory that comes back.
    ///
    /// # Safety
    /// Until the deleter is called:
    /// - `bytes` bytes from `ptr` on are memory that the queue's device can use and, for host and shared kinds, the host;
    /// - nothing outside accesses them while work submitted here may, unless both only read;
    /// - where they cannot be written, [`forbid_writing`](Self::forbid_writing) was called before anything else.
    pub unsafe fn from_foreign(
        kind: UsmKind,
        ptr: UsmPtr,
        bytes: usize,
        queue: &Queue,
        deleter: Option<Deleter>,
    ) -> Result<Self> {
        if ptr.is_null() || bytes == 0 {
            return Err(Error::value(
                "ptr",
                format!("{ptr:?} of {bytes} bytes"),
                "memory of at least one byte",
                "make a fresh array where there is nothing to adopt",
            ));
        }
        // A part is another way to the memory: as long as it is there, work on the whole is not left pending either.
        let whole = match registry::holder(ptr, bytes)? {
            Some(whole) => {
                let whole = Self { allocation: whole, queue: queue.clone() };
                let (lease, known) = Lease::of(&whole);
                // Of what was known, nothing is left pending.
                if !known {
                    whole.settle()?;
                }
                Some(lease)
            }
            None => None,
        };
        // SAFETY: until the deleter is called, the memory is what `adopt` asks for, by the same words of this
        // function's contract; what the registry knows was handed out, is no part, and is lent as long as the
        // part is there.
        let allocation = unsafe { Allocation::adopt(queue.device(), kind, ptr, bytes, whole, deleter) };
        Ok(Self { allocation, queue: queue.clone() })
    }

    pub(crate) fn from_allocation(allocation: Arc<Allocation>, queue: Queue) -> Self {
        Self { allocation, queue }
    }
    pub(crate) fn allocation(&self) -> &Arc<Allocation> {
        &self.allocation
    }
    pub(crate) fn into_allocation(self) -> Arc<Allocation> {
        self.allocation
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> UsmKind {
        self.allocation.kind()
    }
    /// The size.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.allocation.bytes()
    }
    /// The address. To let something outside use it, see [`export`](Self::export) and [`expose`](Self::expose).
    #[must_use]
    pub fn ptr(&self) -> UsmPtr {
        self.allocation.ptr()
    }
    /// The queue that works on this memory by default.
    #[must_use]
    pub fn queue(&self) -> &Queue {
        &self.queue
    }
    /// The device that the memory belongs to.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.allocation.device()
    }
    /// The context that the memory is bound to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.queue.context()
    }
    /// Whether the memory came from elsewhere.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.allocation.is_foreign()
    }

    /// Whether nothing may write to the memory.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.allocation.is_read_only()
    }
    /// Forbids all writing to the memory, through whatever array or queue, for good: for memory that was lent for reading.
    /// Arrays that are made on it are read-only.
    pub fn forbid_writing(&self) {
        self.allocation.mark_read_only();
    }

    /// The same memory, associated with another queue of the same context.
    ///
    /// # Errors
    /// [`Error::Value`] for a queue of another context.
    pub fn with_queue(&self, queue: &Queue) -> Result<Self> {
        if queue.context() != self.queue.context() {
            return Err(Error::value(
                "queue",
                queue,
                format!("a queue of the context of {}", self.queue),
                "copy the memory to the other context instead",
            ));
        }
        Ok(Self { allocation: Arc::clone(&self.allocation), queue: queue.clone() })
    }

    /// The address, for something outside to know. Nothing is waited for, and work on the memory may be pending, now and
    /// later; but who brings the address back ([`from_foreign`](Self::from_foreign)) gets this memory.
    pub fn expose(&self) -> UsmPtr {
        self.allocation.hand_out();
        self.ptr()
    }

    /// The address, for use outside: recorded and submitted work on the memory is finished, and from now on work on it
    /// is complete when the call returns that asks for it (unless the call names events to wait for).
    ///
    /// # Errors
    /// The failure of work on the memory.
    pub fn export(&self) -> Result<UsmPtr> {
        capture::refuse("memory", "given to others")?;
        self.allocation.check_file()?;
        self.allocation.mark_exported();
        self.settle()?;
        Ok(self.ptr())
    }

    /// [`export`](Self::export) as long as the lease is there: for who tells when the address is known no more. Afterwards work on
    /// the memory may be left pending again.
    ///
    /// # Errors
    /// As for [`export`](Self::export).
    pub fn lend(&self) -> Result<Lease> {
        capture::refuse("memory", "given to others")?;
        self.allocation.check_file()?;
        let (lease, _) = Lease::of(self);
        self.settle()?;
        Ok(lease)
    }

    /// [`lend`](Self::lend), to who sees to it that work which is under way on the memory is over before it is used: nothing is waited for.
    ///
    /// # Errors
    /// As for [`export`](Self::export), but for the failure of work that is under way.
    pub fn lend_unordered(&self) -> Result<Lease> {
        capture::refuse("memory", "given to others")?;
        self.allocation.check_file()?;
        let (lease, _) = Lease::of(self);
        self.allocation.hand_out();
        self.allocation.pending_reads.flush_queues()?;
        Ok(lease)
    }

    /// [`lend`](Self::lend), to who works on the memory in a stream of another library: instead of waiting, that stream begins nothing
    /// more before the work on the memory is over, however it ends ([`Device::lead`](backend::Device::lead)).
    ///
    /// # Errors
    /// As for [`export`](Self::export), but for the failure of work that is under way.
    ///
    /// # Safety
    /// The number is that of a stream that is there, of the memory's device.
    pub unsafe fn lend_to(&self, stream: usize) -> Result<Lease> {
        let lease = self.lend_unordered()?;
        let unfinished = self.allocation.track().unfinished();
        // SAFETY: the caller's promise.
        unsafe { self.device().backend().lead(stream, &unfinished) }?;
        Ok(lease)
    }

    /// Finishes the work on memory that is known outside from now on.
    fn settle(&self) -> Result<()> {
        self.allocation.hand_out();
        self.allocation.pending_reads.flush_queues()?;
        let unfinished = self.allocation.track().unfinished();
        for event in unfinished {
            // A read that fails leaves the contents as they are; of writes, the last ones are asked for below.
            if let Err(error) = backend::wait(&*event)
                && !event.status().is_terminal()
            {
                return Err(error);
            }
        }
        schedule::last_write(&self.allocation, &self.queue)?.wait().map_err(Error::inherited)
    }

    /// Copies bytes to host memory, from `offset` on; waits for the work on them.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] beyond the end; the failure of the work waited for.
    pub fn copy_to_host(&self, offset: usize, out: &mut [u8]) -> Result<()> {
        self.check("out", offset, out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        if self.host_reads_directly() {
            return host::read_bytes(&self.allocation, offset, out);
        }
        let src = self.ptr().byte_offset(offset.cast_signed());
        let command = Command::Step(Step::Copy { dst: UsmPtr::new(out.as_mut_ptr()), src, bytes: out.len() });
        let accesses = vec![self.access(offset, out.len(), Mode::Read)];
        // SAFETY: the range is inside the allocation (`check`) and is what `accesses` says; `out` is a borrow that no
        // one else has, and outlives the command, which is waited for.
        unsafe { schedule::submit_to_end(&self.queue, command, accesses) }
    }

    /// Whether host code reaches the memory as it is, so that a copy to or from host memory is best done by the host.
    fn host_reads_directly(&self) -> bool {
        self.device().shows_directly(self.kind())
    }

    /// Copies bytes from host memory, to `offset` and on; waits until they are there.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] beyond the end, [`Error::Borrow`] while a host view is open.
    pub fn copy_from_host(&self, offset: usize, data: &[u8]) -> Result<()> {
        self.check("data", offset, data.len())?;
        if data.is_empty() {
            return Ok(());
        }
        if self.host_reads_directly() {
            return host::write_bytes(&self.allocation, offset, data);
        }
        self.allocation.pending_reads.flush_queues()?;
        let dst = self.ptr().byte_offset(offset.cast_signed());
        let src = UsmPtr::new(data.as_ptr().cast_mut());
        let accesses = vec![self.access(offset, data.len(), Mode::Write)];
        // SAFETY: the range is inside the allocation (`check`) and is what `accesses` says; `data` is a
        // borrow that is only read, and outlives the command, which is waited for.
        unsafe {
            schedule::submit_to_end(
                &self.queue,
                Command::Step(Step::Copy { dst, src, bytes: data.len() }),
                accesses,
            )
        }
    }

    /// Copies elements from host memory, to `offset` bytes and on.
    pub(crate) fn write_elements<T: Element>(&self, offset: usize, data: &[T]) -> Result<()> {
        // SAFETY: every element type is plain data without padding (the list in `dtype.rs`), so its bytes are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) };
        self.copy_from_host(offset, bytes)
    }

    /// Copies `len` elements from `offset` bytes on to host memory.
    pub(crate) fn read_elements<T: Element>(&self, offset: usize, len: usize) -> Result<Vec<T>> {
        if T::DTYPE == Dtype::Bool {
            // Memory from elsewhere may hold bytes that are no Rust `bool`.
            let mut bytes: Vec<u8> = heap::zeroed("elements", len)?;
            self.copy_to_host(offset, &mut bytes)?;
            host::check_bool_bytes(bytes.iter().copied())?;
            return heap::collect("elements", bytes.iter().filter_map(|&byte| Scalar::Bool(byte != 0).get()));
        }
        let mut data: Vec<T> = heap::zeroed("elements", len)?;
        // SAFETY: the vector has so many bytes, which nothing else refers to, and any bytes are a valid
        // element of the types other than `bool`.
        let bytes = unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), len * size_of::<T>()) };
        self.copy_to_host(offset, bytes)?;
        Ok(data)
    }

    /// Copies the start of other memory, of any kind and device, over the start of this; as many bytes as both have.
    ///
    /// # Errors
    /// As for [`Queue::memcpy`].
    pub fn copy_from_device(&self, source: &Self) -> Result<Event> {
        self.queue.memcpy((self, 0), (source, 0), self.bytes().min(source.bytes()), &[])
    }

    /// All bytes.
    ///
    /// # Errors
    /// As for [`copy_to_host`](Self::copy_to_host); [`Error::Alloc`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = heap::zeroed("bytes", self.bytes())?;
        self.copy_to_host(0, &mut bytes)?;
        Ok(bytes)
    }

    fn check(&self, argument: &'static str, offset: usize, bytes: usize) -> Result<()> {
        if offset.checked_add(bytes).is_some_and(|end| end <= self.bytes()) {
            return Ok(());
        }
        Err(Error::out_of_bounds(
            argument,
            format!("{bytes} bytes at offset {offset}"),
            format!("a range inside the allocation of {} bytes", self.bytes()),
            "copy fewer bytes or start earlier",
        ))
    }

    fn access(&self, offset: usize, bytes: usize, mode: Mode) -> Access {
        Access {
            allocation: Arc::clone(&self.allocation),
            region: Region::bytes(offset..offset + bytes),
            mode,
        }
    }
}

impl fmt::Debug for UsmMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UsmMemory({:?}, {})", self.allocation, self.queue)
    }
}

/// The name of the driver whose memory it is.
fn driver(memory: &UsmMemory) -> &'static str {
    memory.device().info().backend
}

/// The queue that copies between memory of two drivers: of a device that knows the other's driver, else of the side whose other
/// side is host memory. `None` where both have memory that the other one knows nothing of.
fn between<'a>(dst: &'a UsmMemory, src: &'a UsmMemory) -> Option<&'a Queue> {
    let sides = [(dst, src), (src, dst)];
    let knows = |of: &UsmMemory, other: &UsmMemory| of.device().capabilities().peers.contains(&driver(other));
    // A device that works in all memory of the process has nothing to gain from a copy by its own threads.
    let is_process =
        |memory: &UsmMemory| memory.host_reads_directly() && memory.device().capabilities().process_memory;
    let found = sides.iter().find(|(of, other)| knows(of, other));
    let found = found.or_else(|| sides.iter().find(|(_, other)| is_process(other)));
    let found = found.or_else(|| sides.iter().find(|(_, other)| other.host_reads_directly()));
    found.map(|(of, _)| of.queue())
}

/// A queue in whose host memory a copy between two drivers is staged, as the queues of both copy to and from such memory.
fn staging_queue(dst: &UsmMemory, src: &UsmMemory) -> Result<Queue> {
    let shows = |device: &Device| device.shows_directly(UsmKind::Host);
    let process = each_device().find(|device| shows(device) && device.capabilities().process_memory);
    if let Some(device) = process {
        return device.queue();
    }
    let side = [dst, src].into_iter().find(|memory| shows(memory.device()));
    side.map(|memory| memory.queue().clone()).ok_or_else(|| {
        Error::unsupported(
            "src",
            format!("on {}, the destination on {}", src.device(), dst.device()),
            "memory of one driver, of drivers that know each other, or of the host",
            "use the `stridewise` crate, which brings the host backend",
        )
    })
}

impl Queue {
    /// Copies bytes between allocations of any kinds and devices, each given with an offset, after the events named.
    /// Overlapping ranges are copied as if through a buffer.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] where a range leaves its allocation; [`Error::Borrow`] while a host view forbids it; what
    /// the runtime reports.
    pub fn memcpy(
        &self,
        dst: (&UsmMemory, usize),
        src: (&UsmMemory, usize),
        bytes: usize,
        depends: &[Event],
    ) -> Result<Event> {
        let ((dst, dst_offset), (src, src_offset)) = (dst, src);
        dst.check("dst", dst_offset, bytes)?;
        src.check("src", src_offset, bytes)?;
        if bytes == 0 {
            return self.submit_barrier(depends);
        }
        let (to, from) = (dst_offset..dst_offset + bytes, src_offset..src_offset + bytes);
        if dst.allocation.meets(&to, &src.allocation, &from) {
            let buffer = UsmMemory::new(src.kind(), bytes, self)?;
            self.copy_once((&buffer, 0), (src, src_offset), bytes, depends)?;
            return self.copy_once((dst, dst_offset), (&buffer, 0), bytes, depends);
        }
        let (to_driver, from_driver) = (driver(dst), driver(src));
        if to_driver == from_driver {
            for memory in [dst, src] {
                // What the memory's own queue holds back, or has to wait for outside of the engine, this one knows nothing of.
                if memory.device() != self.device() {
                    memory.queue().backend().flush()?;
                }
            }
            return self.copy_once((dst, dst_offset), (src, src_offset), bytes, depends);
        }
        if let Some(queue) = between(dst, src) {
            return queue.copy_once((dst, dst_offset), (src, src_offset), bytes, depends);
        }
        let buffer = UsmMemory::new(UsmKind::Host, bytes, &staging_queue(dst, src)?)?;
        src.queue().copy_once((&buffer, 0), (src, src_offset), bytes, depends)?;
        dst.queue().copy_once((dst, dst_offset), (&buffer, 0), bytes, depends)
    }

    fn copy_once(
        &self,
        (dst, dst_offset): (&UsmMemory, usize),
        (src, src_offset): (&UsmMemory, usize),
        bytes: usize,
        depends: &[Event],
    ) -> Result<Event> {
        dst.allocation.pending_reads.flush_queues()?;
        let at = |memory: &UsmMemory, offset: usize| memory.ptr().byte_offset(offset as isize);
        let command = Command::Step(Step::Copy { dst: at(dst, dst_offset), src: at(src, src_offset), bytes });
        let accesses =
            vec![dst.access(dst_offset, bytes, Mode::Write), src.access(src_offset, bytes, Mode::Read)];
        // SAFETY: both ranges are inside their allocations (`check`, by the caller), do not overlap, and are what
        // `accesses` says.
        let event = unsafe { schedule::submit_alone(self, command, accesses, depends) }?;
        if dst.allocation.is_exported() || src.allocation.is_exported() {
            schedule::complete(&event, depends)?;
        }
        Ok(event)
    }

    /// Repeats a value over `len` elements from `offset` bytes on, after the events named.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] where the range leaves the allocation, [`Error::Value`] where the offset is no multiple of
    /// the value's size; as for [`memcpy`](Self::memcpy).
    pub fn fill(
        &self,
        memory: &UsmMemory,
        offset: usize,
        value: Scalar,
        len: usize,
        depends: &[Event],
    ) -> Result<Event> {
        let size = value.dtype().size();
        let bytes = len.checked_mul(size).ok_or_else(|| {
            Error::overflow("len", len, "a size that fits the address space", "fill fewer elements")
        })?;
        memory.check("len", offset, bytes)?;
        if !offset.is_multiple_of(size) {
            return Err(Error::value(
                "offset",
                offset,
                format!("a multiple of the value's {size} bytes"),
                "start at an element",
            ));
        }
        if bytes == 0 {
            return self.submit_barrier(depends);
        }
        memory.allocation.pending_reads.flush_queues()?;
        let dst = memory.ptr().byte_offset(offset as isize);
        let command =
            Command::Step(Step::Fill { dst, bytes, pattern: value.to_bytes(), pattern_bytes: size });
        let accesses = vec![memory.access(offset, bytes, Mode::Write)];
        // SAFETY: the range is inside the allocation (checked above), aligned to the pattern, and is what `accesses`
        // says.
        let event = unsafe { schedule::submit_alone(self, command, accesses, depends) }?;
        if memory.allocation.is_exported() {
            schedule::complete(&event, depends)?;
        }
        Ok(event)
    }

    /// Says that memory is used soon on this queue's device, after the events named (SYCL 2020, `queue::prefetch`): on the
    /// host, pages that were never touched get their memory now; other devices take it as they can. Contents stay.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] where the range leaves the allocation; what the runtime reports.
    pub fn prefetch(
        &self,
        memory: &UsmMemory,
        offset: usize,
        bytes: usize,
        depends: &[Event],
    ) -> Result<Event> {
        self.mem_advise(memory, offset, bytes, Advice::Prefetch, depends)
    }

    /// Says how memory is going to be used, after the events named (SYCL 2020, `queue::mem_advise`). Contents stay, and a
    /// device that has no use for the hint does nothing.
    ///
    /// # Errors
    /// As for [`prefetch`](Self::prefetch).
    pub fn mem_advise(
        &self,
        memory: &UsmMemory,
        offset: usize,
        bytes: usize,
        advice: Advice,
        depends: &[Event],
    ) -> Result<Event> {
        memory.check("bytes", offset, bytes)?;
        // To bring pages in may write to them; whose they are may not want that.
        let theirs = memory.is_foreign() || memory.is_read_only();
        if bytes == 0 || (advice == Advice::Prefetch && theirs) {
            return self.submit_barrier(depends);
        }
        // A hint goes to the driver whose memory it is about.
        let queue = if memory.device().info().backend == self.device().info().backend {
            self
        } else {
            memory.queue()
        };
        let command = Command::Advise { ptr: memory.ptr().byte_offset(offset.cast_signed()), bytes, advice };
        let accesses = vec![memory.access(offset, bytes, Mode::Read)];
        // SAFETY: the range is inside the allocation (checked above), and a hint reads and writes no contents, which is
        // less than what `accesses` says.
        unsafe { schedule::submit_alone(queue, command, accesses, depends) }
    }

    /// Sets `bytes` bytes from `offset` on to a value, after the events named.
    ///
    /// # Errors
    /// As for [`fill`](Self::fill).
    pub fn memset(
        &self,
        memory: &UsmMemory,
        offset: usize,
        value: u8,
        bytes: usize,
        depends: &[Event],
    ) -> Result<Event> {
        self.fill(memory, offset, Scalar::U8(value), bytes, depends)
    }
}
