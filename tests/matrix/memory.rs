//! USM memory: copies and fills between all kinds, pointer queries, host views, the pool.

use stridewise::backend::{Partition, UsmSupport};
use stridewise::memory::PointerInfo;
use stridewise::{
    Device, Dtype, Error, Op, PointerKind, Queue, Scalar, UsmArray, UsmKind, UsmMemory, UsmPtr, pointer_info,
};

use crate::cell::{Case, Check, Stop, ensure, wrong};
use crate::forms::{Form, expect, place_in};
use crate::values::{Random, special};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("memory::copies", copies),
        Case::new("memory::overlapping_copies", overlapping_copies),
        Case::new("memory::fills", fills),
        Case::new("memory::out_of_bounds", out_of_bounds),
        Case::new("memory::pointers", pointers),
        Case::new("memory::foreign_memory", foreign_memory),
        Case::new("memory::host_views", host_views),
        Case::new("memory::kinds_of_results", kinds_of_results),
        Case::new("memory::pool_reuse", pool_reuse),
        Case::new("memory::pool_cap_and_trim", pool_cap_and_trim),
    ]
}

/// The kinds that a device has.
fn kinds(device: &Device) -> Vec<UsmKind> {
    UsmKind::ALL.into_iter().filter(|&kind| device.info().usm(kind) != UsmSupport::Absent).collect()
}

/// A device of the same sort whose pool nobody else uses.
fn alone(device: &Device) -> Check<Device> {
    let units = device.info().limits.compute_units.max(1);
    match device.create_sub_devices(&Partition::Equally(units)) {
        Ok(mut parts) if !parts.is_empty() => Ok(parts.swap_remove(0)),
        outcome => {
            Err(Stop::Unsupported(format!("{device} has no sub-device with a pool of its own: {outcome:?}")))
        }
    }
}

fn pattern(random: &mut Random, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|_| random.bits() as u8).collect()
}

fn copies(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("copies");
    for from in kinds(device) {
        for to in kinds(device) {
            for bytes in [1, 7, 64, 1000, 4097, 300_001] {
                let (before, data) = (pattern(&mut random, bytes + 20), pattern(&mut random, bytes + 9));
                let source = UsmMemory::new(from, data.len(), &queue)?;
                let target = UsmMemory::new(to, before.len(), &queue)?;
                source.copy_from_host(0, &data)?;
                target.copy_from_host(0, &before)?;
                let event = queue.memcpy((&target, 11), (&source, 9), bytes, &[])?;
                event.wait()?;
                let mut expected = before;
                expected[11..11 + bytes].copy_from_slice(&data[9..]);
                ensure!(target.to_bytes()? == expected, "{bytes} bytes from {from} to {to} memory");
                let mut part = vec![0; bytes];
                target.copy_to_host(11, &mut part)?;
                ensure!(part == data[9..], "{bytes} bytes from {to} memory to the host");
                target.copy_from_device(&source)?;
                let got = target.to_bytes()?;
                ensure!(got[..data.len()] == data[..], "the start of {from} memory over that of {to} memory");
            }
        }
    }
    Ok(())
}

fn overlapping_copies(device: &Device) -> Check {
    let queue = device.queue()?;
    let mut random = Random::named("overlapping");
    for kind in kinds(device) {
        for (to, from, bytes) in [(0, 1, 99), (1, 0, 99), (0, 0, 100), (10, 0, 90), (0, 50, 50), (5, 7, 60)] {
            let mut data = pattern(&mut random, 100);
            let memory = UsmMemory::new(kind, 100, &queue)?;
            memory.copy_from_host(0, &data)?;
            queue.memcpy((&memory, to), (&memory, from), bytes, &[])?;
            data.copy_within(from..from + bytes, to);
            ensure!(memory.to_bytes()? == data, "{bytes} bytes of {kind} memory from {from} to {to}");
        }
    }
    Ok(())
}

fn fills(device: &Device) -> Check {
    let queue = device.queue()?;
    for kind in kinds(device) {
        for &dtype in Dtype::ALL {
            for value in special(dtype).into_iter().take(6) {
                for (start, len) in [(0, 1), (1, 3), (2, 100), (0, 5000), (3, 0)] {
                    let size = dtype.size();
                    let memory = UsmMemory::new(kind, (start + len + 2) * size, &queue)?;
                    queue.memset(&memory, 0, 0xa5, memory.bytes(), &[])?;
                    queue.fill(&memory, start * size, value, len, &[])?;
                    let mut expected = vec![0xa5; memory.bytes()];
                    for element in expected[start * size..][..len * size].chunks_mut(size) {
                        element.copy_from_slice(&value.to_bytes()[..size]);
                    }
                    ensure!(memory.to_bytes()? == expected, "{len} × {value:?} at {start} in {kind} memory");
                }
            }
        }
    }
    Ok(())
}

fn out_of_bounds(device: &Device) -> Check {
    let queue = device.queue()?;
    for kind in kinds(device) {
        let memory = UsmMemory::new(kind, 100, &queue)?;
        let other = UsmMemory::new(kind, 200, &queue)?;
        let outcomes = [
            queue.memcpy((&memory, 1), (&other, 0), 100, &[]).map(drop),
            queue.memcpy((&other, 0), (&memory, 1), 100, &[]).map(drop),
            queue.memcpy((&other, usize::MAX), (&memory, 0), 1, &[]).map(drop),
            queue.memset(&memory, 1, 0, 100, &[]).map(drop),
            queue.fill(&memory, 96, Scalar::F32(1.0), 2, &[]).map(drop),
            memory.copy_to_host(90, &mut [0; 11]),
            memory.copy_from_host(usize::MAX, &[0]),
        ];
        for (number, outcome) in outcomes.into_iter().enumerate() {
            ensure!(
                matches!(outcome, Err(Error::OutOfBounds(_))),
                "access {number} beyond {kind} memory: {outcome:?}"
            );
        }
        let outcome = queue.fill(&memory, 2, Scalar::F32(1.0), 2, &[]);
        ensure!(matches!(outcome, Err(Error::Value(_))), "misaligned fill: {outcome:?}");
        let outcome = queue.fill(&memory, 0, Scalar::F32(1.0), usize::MAX / 2, &[]);
        ensure!(matches!(outcome, Err(Error::Overflow(_))), "fill of too many elements: {outcome:?}");
        let outcome = UsmMemory::new(kind, 0, &queue);
        ensure!(matches!(outcome, Err(Error::Value(_))), "allocation of 0 bytes: {outcome:?}");
        let outcome = UsmMemory::aligned(kind, 10, 48, &queue);
        ensure!(matches!(outcome, Err(Error::Value(_))), "alignment of 48: {outcome:?}");
        let outcome = UsmMemory::new(kind, isize::MAX as usize, &queue);
        let refused = matches!(outcome, Err(Error::Alloc(_) | Error::Overflow(_)));
        ensure!(refused, "allocation of half the address space: {outcome:?}");
    }
    Ok(())
}

fn unknown(info: &PointerInfo) -> bool {
    info.kind == PointerKind::Unknown && info.device.is_none() && info.base.is_null() && info.bytes == 0
}

fn pointers(device: &Device) -> Check {
    // A pool of its own: a block that is free again may not be handed out in between.
    let own = alone(device)?;
    let queue = own.queue()?;
    for kind in kinds(&own) {
        for bytes in [1, 63, 64, 65, 5000, 100_000, 3_000_000] {
            let memory = UsmMemory::new(kind, bytes, &queue)?;
            let neighbour = UsmMemory::new(kind, bytes, &queue)?;
            for offset in [0, bytes / 2, bytes - 1] {
                let info = pointer_info(memory.ptr().byte_offset(offset as isize));
                let right = info.kind == PointerKind::Usm(kind)
                    && info.base == memory.ptr()
                    && info.bytes == bytes
                    && info.device.as_ref() == Some(&own);
                ensure!(right, "pointer {offset} into {bytes} bytes of {kind} memory: {info:?}");
            }
            let end = pointer_info(memory.ptr().byte_offset(bytes as isize));
            ensure!(end.base != memory.ptr(), "pointer to the end of {bytes} bytes: {end:?}");
            let start = memory.ptr();
            drop(memory);
            let freed = pointer_info(start);
            ensure!(unknown(&freed), "pointer to freed memory: {freed:?}");
            drop(neighbour);
            own.trim_pool(0);
            let gone = pointer_info(start);
            // Another test may have been given the same addresses by the system.
            ensure!(gone.device.as_ref() != Some(&own), "pointer to memory given back: {gone:?}");
        }
        for alignment in [64, 256, 4096, 1 << 16] {
            let memory = UsmMemory::aligned(kind, 100, alignment, &queue)?;
            ensure!(memory.ptr().addr() % alignment == 0, "alignment {alignment}: {:?}", memory.ptr());
        }
    }
    let mut local = 5_u8;
    for ptr in [UsmPtr::NULL, UsmPtr::new(&raw mut local), UsmPtr::NULL.byte_offset(-1)] {
        let info = pointer_info(ptr);
        ensure!(unknown(&info), "pointer that is no USM, {ptr:?}: {info:?}");
    }
    Ok(())
}

/// Memory from elsewhere is used in place, known as USM while it is, and freed by its deleter, once, at the end.
fn foreign_memory(device: &Device) -> Check {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    if device.info().usm(UsmKind::Host) != UsmSupport::Native {
        return Err(Stop::Unsupported(format!("{device} cannot use memory of the host as it is")));
    }
    let queue = device.queue()?;
    let freed = Arc::new(AtomicUsize::new(0));
    let buffer: Box<[f32]> = (0..1000).map(|i| i as f32).collect();
    let start = Box::into_raw(buffer);
    let (counter, address) = (Arc::clone(&freed), UsmPtr::new(start.cast()));
    let deleter = move || {
        counter.fetch_add(1, Ordering::SeqCst);
        let slice = std::ptr::slice_from_raw_parts_mut(address.as_ptr().cast::<f32>(), 1000);
        // SAFETY: the box that was taken apart above; the deleter runs once, and nothing uses the memory after it.
        drop(unsafe { Box::from_raw(slice) });
    };
    // SAFETY: 4000 bytes of a box that lives until the deleter is called, and that nothing else accesses.
    let memory =
        unsafe { UsmMemory::from_foreign(UsmKind::Host, address, 4000, &queue, Some(Box::new(deleter))) }?;
    ensure!(memory.is_foreign() && memory.ptr() == address, "adopted memory: {memory:?}");
    let info = pointer_info(address.byte_offset(100));
    ensure!(
        info.kind == PointerKind::Usm(UsmKind::Host) && info.base == address,
        "adopted pointer: {info:?}"
    );
    let array = UsmArray::builder([1000]).dtype(Dtype::F32).buffer(&memory).build()?;
    drop(memory);
    let doubled = array.binary(Op::Add, &array)?;
    ensure!(!doubled.is_pending(), "work on adopted memory is left pending");
    let expected: Vec<Scalar> = (0..1000).map(|i| Scalar::F32(2.0 * i as f32)).collect();
    expect(&"adopted memory, doubled", &doubled, &expected)?;
    ensure!(freed.load(Ordering::SeqCst) == 0, "freed while an array uses it");
    drop(array);
    queue.wait()?;
    ensure!(freed.load(Ordering::SeqCst) == 1, "freed {} times", freed.load(Ordering::SeqCst));
    let info = pointer_info(address);
    ensure!(
        !matches!(info.device, Some(ref d) if d == device) || info.base != address,
        "after the deleter: {info:?}"
    );
    Ok(())
}

fn host_views(device: &Device) -> Check {
    let queue = device.queue()?;
    let values: Vec<Scalar> = (0..12).map(Scalar::I32).collect();
    for kind in kinds(device) {
        let (mut array, _) = place_in(&queue, &[3, 4], Dtype::I32, &values, Form::Mixed, kind)?;
        if !kind.host_accessible() {
            let outcome = array.host_view::<i32>().map(drop);
            ensure!(matches!(outcome, Err(Error::HostAccess(_))), "view of {kind} memory: {outcome:?}");
            let outcome = array.host_view_mut::<i32>().map(drop);
            ensure!(matches!(outcome, Err(Error::HostAccess(_))), "view of {kind} memory: {outcome:?}");
            let copied = array.to_vec::<i32>()?;
            ensure!(copied == (0..12).collect::<Vec<_>>(), "copy of {kind} memory: {copied:?}");
            continue;
        }
        let outcome = array.host_view::<f32>().map(drop);
        ensure!(matches!(outcome, Err(Error::Dtype(_))), "view as another dtype: {outcome:?}");
        {
            let view = array.host_view::<i32>()?;
            ensure!(view.to_vec() == (0..12).collect::<Vec<_>>(), "view: {:?}", view.to_vec());
            let second = array.host_view::<i32>()?;
            drop(second);
            let write = array.assign(Scalar::I32(0));
            ensure!(matches!(write, Err(Error::Borrow(_))), "write while a view is open: {write:?}");
            let sum = array.binary(Op::Add, &array)?.to_vec::<i32>()?;
            ensure!(sum == (0..12).map(|i| 2 * i).collect::<Vec<_>>(), "read while a view is open: {sum:?}");
        }
        let before = array.binary(Op::Add, Scalar::I32(1))?;
        {
            let mut other = array.clone();
            let mut view = array.host_view_mut::<i32>()?;
            view.for_each_mut(|element| *element += 100);
            let outcome = other.host_view_mut::<i32>().map(drop);
            ensure!(matches!(outcome, Err(Error::Borrow(_))), "two views for writing: {outcome:?}");
            let outcome = other.host_view::<i32>().map(drop);
            ensure!(
                matches!(outcome, Err(Error::Borrow(_))),
                "view for reading beside one for writing: {outcome:?}"
            );
        }
        expect(&"work recorded before the view", &before, &(1..13).map(Scalar::I32).collect::<Vec<_>>())?;
        let after: Vec<Scalar> = (100..112).map(Scalar::I32).collect();
        expect(&"written through the view", &array.copy()?, &after)?;
        array.set_writable(false);
        let outcome = array.host_view_mut::<i32>().map(drop);
        ensure!(
            matches!(outcome, Err(Error::Borrow(_))),
            "view for writing of a read-only array: {outcome:?}"
        );
        let outcome = array.assign(Scalar::I32(1));
        ensure!(matches!(outcome, Err(Error::Borrow(_))), "write to a read-only array: {outcome:?}");
    }
    Ok(())
}

/// Results are of the strongest kind among the operands, and the same in all kinds.
fn kinds_of_results(device: &Device) -> Check {
    let queue = device.queue()?;
    let values: Vec<Scalar> = (0..50).map(|i| Scalar::F32(i as f32)).collect();
    for first in kinds(device) {
        for second in kinds(device) {
            let (a, _) = place_in(&queue, &[50], Dtype::F32, &values, Form::C, first)?;
            let (b, _) = place_in(&queue, &[50], Dtype::F32, &values, Form::Reversed, second)?;
            let sum = a.binary(Op::Add, &b)?;
            ensure!(sum.usm_kind() == first.combine(second), "{first} and {second} give {}", sum.usm_kind());
            let expected: Vec<Scalar> = (0..50).map(|i| Scalar::F32(2.0 * i as f32)).collect();
            expect(&format_args!("{first} + {second}"), &sum, &expected)?;
            let moved = sum.to_kind(second)?;
            let right =
                moved.usm_kind() == second || (second == UsmKind::Host && moved.usm_kind().host_accessible());
            ensure!(right, "{} moved to {second} is {}", sum.usm_kind(), moved.usm_kind());
            expect(&format_args!("{first} + {second} moved to {second}"), &moved, &expected)?;
        }
    }
    Ok(())
}

fn allocate(queue: &Queue, kind: UsmKind, sizes: &[usize]) -> Check<Vec<UsmMemory>> {
    sizes.iter().map(|&bytes| UsmMemory::new(kind, bytes, queue).map_err(Stop::from)).collect()
}

fn pool_reuse(device: &Device) -> Check {
    let own = alone(device)?;
    let queue = own.queue()?;
    let sizes = [100, 5000, 200_000, 3 << 20];
    for kind in kinds(&own) {
        let first = allocate(&queue, kind, &sizes)?;
        let held = own.pool_statistics();
        let asked: usize = sizes.iter().sum();
        ensure!(held.live_bytes >= asked, "{} live bytes, {asked} asked for", held.live_bytes);
        ensure!(held.live_bytes <= asked + asked / 8 + 64 * sizes.len(), "classes waste too much: {held:?}");
        ensure!(held.reserved_bytes >= held.live_bytes, "more live than reserved: {held:?}");
        let addresses: Vec<UsmPtr> = first.iter().map(UsmMemory::ptr).collect();
        drop(first);
        let free = own.pool_statistics();
        ensure!(free.live_bytes == 0 && free.cached_bytes >= held.live_bytes, "after the drop: {free:?}");
        ensure!(free.reserved_bytes == held.reserved_bytes, "memory was given back: {free:?}");
        let again = allocate(&queue, kind, &sizes)?;
        let reused = own.pool_statistics();
        ensure!(reused.misses == free.misses, "the device was asked again: {reused:?}");
        ensure!(reused.hits == free.hits + sizes.len() as u64, "not served from held blocks: {reused:?}");
        ensure!(reused.peak_live_bytes >= reused.live_bytes, "peak below the present: {reused:?}");
        for (memory, address) in again.iter().zip(&addresses) {
            ensure!(
                addresses.contains(&memory.ptr()),
                "a block that was freed, {address:?}, is not the one reused"
            );
        }
        drop(again);
        // Work keeps what it uses: the block of an array that is dropped while work is pending is not reused early.
        for round in 0..50_u8 {
            let x = UsmArray::full(&queue, &[50_000], Scalar::U8(round), kind)?;
            let y = x.binary(Op::Add, Scalar::U8(1))?;
            drop(x);
            let z = UsmArray::full(&queue, &[50_000], Scalar::U8(77), kind)?;
            let wanted = vec![Scalar::U8(round + 1); 50_000];
            expect(&format_args!("round {round}"), &y, &wanted)?;
            drop(z);
        }
    }
    Ok(())
}

fn pool_cap_and_trim(device: &Device) -> Check {
    let own = alone(device)?;
    let queue = own.queue()?;
    for kind in kinds(&own) {
        drop(allocate(&queue, kind, &[1 << 20, 2 << 20, 4 << 20, 300])?);
        let full = own.pool_statistics();
        ensure!(full.cached_bytes >= 7 << 20, "held for reuse: {full:?}");
        own.trim_pool(3 << 20);
        let trimmed = own.pool_statistics();
        ensure!(trimmed.cached_bytes <= 3 << 20, "after trim to 3 MiB: {trimmed:?}");
        ensure!(
            trimmed.reserved_bytes < full.reserved_bytes,
            "trimmed memory is still reserved: {trimmed:?}"
        );
        own.trim_pool(0);
        let empty = own.pool_statistics();
        ensure!(empty.cached_bytes == 0 && empty.reserved_bytes == 0, "after trim to nothing: {empty:?}");
        let live = allocate(&queue, kind, &[1 << 20])?;
        own.trim_pool(0);
        ensure!(own.pool_statistics().live_bytes >= 1 << 20, "trim took memory in use");
        live[0].copy_from_host(0, &[1; 100])?;
        drop(live);
        let cap = own.pool_cap();
        own.set_pool_cap(2 << 20);
        ensure!(own.pool_cap() == 2 << 20, "cap: {}", own.pool_cap());
        drop(allocate(&queue, kind, &[1 << 20, 1 << 20, 1 << 20, 8 << 20])?);
        let capped = own.pool_statistics();
        ensure!(capped.cached_bytes <= 2 << 20, "above a cap of 2 MiB: {capped:?}");
        own.set_pool_cap(0);
        if own.pool_statistics().cached_bytes != 0 {
            wrong!("a cap of 0 holds {:?}", own.pool_statistics());
        }
        own.set_pool_cap(cap);
        own.trim_pool(0);
    }
    Ok(())
}
