//! Which addresses are known, and what an address holds that was handed out and comes back, in memory that is numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use stridewise_core::memory::{PointerKind, UsmKind, UsmMemory, UsmPtr, pointer_info};
use stridewise_core::{Device, Error, Queue};
use stridewise_null::{NullConfig, NullDevice};

fn queue() -> Queue {
    let config = NullConfig { all_kinds: true, ..NullConfig::default() };
    Device::from_backend(Arc::new(NullDevice::new(config))).queue().unwrap()
}

fn at(address: usize) -> UsmPtr {
    UsmPtr::new(std::ptr::without_provenance_mut(address))
}

/// Adopts memory that is never followed.
fn adopt(queue: &Queue, address: usize, bytes: usize) -> stridewise_core::Result<UsmMemory> {
    // SAFETY: a null device follows no address, nor does host code of these tests.
    unsafe { UsmMemory::from_foreign(UsmKind::Host, at(address), bytes, queue, None) }
}

/// Addresses that nobody has, nor those beside them, which tests ask about, too; those of a null device begin further up.
fn elsewhere(bytes: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1 << (usize::BITS - 9));
    NEXT.fetch_add(bytes + 64, Ordering::Relaxed)
}

#[test]
fn neighbours_of_a_part_that_was_imported_are_known() {
    let queue = queue();
    let first = UsmMemory::new(UsmKind::Host, 8, &queue).unwrap();
    let part = adopt(&queue, first.export().unwrap().addr(), 8).unwrap();
    let second = UsmMemory::new(UsmKind::Shared, 8, &queue).unwrap();
    for memory in [&first, &second] {
        let info = pointer_info(memory.ptr());
        assert_eq!((info.kind, info.base, info.bytes), (PointerKind::Usm(memory.kind()), memory.ptr(), 8));
    }
    drop((first, part));
    assert_eq!(pointer_info(second.ptr()).bytes, 8);
}

#[test]
fn one_range_that_is_imported_twice_is_known_until_both_are_gone() {
    let queue = queue();
    let address = elsewhere(64);
    let (first, second) = (adopt(&queue, address, 64).unwrap(), adopt(&queue, address, 64).unwrap());
    drop(first);
    let info = pointer_info(at(address + 63));
    assert_eq!((info.kind, info.base, info.bytes), (PointerKind::Usm(UsmKind::Host), at(address), 64));
    drop(second);
    assert_eq!(pointer_info(at(address)).kind, PointerKind::Unknown);
}

#[test]
fn what_was_handed_out_and_comes_back_is_held() {
    let queue = queue();
    for known in [UsmMemory::expose, |memory: &UsmMemory| memory.export().unwrap()] {
        let whole = UsmMemory::new(UsmKind::Shared, 100, &queue).unwrap();
        let start = known(&whole).addr();
        let deleted = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&deleted);
        let deleter = Box::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        // SAFETY: as in `adopt`.
        let part =
            unsafe { UsmMemory::from_foreign(UsmKind::Shared, at(start + 10), 90, &queue, Some(deleter)) };
        let part = part.unwrap();
        // A part of a part holds the whole, not the part.
        let inner = adopt(&queue, part.expose().addr() + 10, 1).unwrap();
        assert!(!part.is_foreign() && !inner.is_foreign());
        drop(whole);
        drop(part);
        assert_eq!(deleted.load(Ordering::SeqCst), 1);
        let info = pointer_info(at(start + 50));
        assert_eq!((info.kind, info.base, info.bytes), (PointerKind::Usm(UsmKind::Shared), at(start), 100));
        let others: Vec<_> = (0..50).map(|_| UsmMemory::new(UsmKind::Shared, 100, &queue).unwrap()).collect();
        assert!(others.iter().all(|other| other.ptr() != at(start)));
        drop(inner);
        assert_eq!(pointer_info(at(start)).kind, PointerKind::Unknown);
        let next = UsmMemory::new(UsmKind::Shared, 100, &queue).unwrap();
        assert_eq!(next.ptr(), at(start), "the memory is used again");
    }
}

#[test]
fn memory_from_elsewhere_that_was_handed_out_is_held_too() {
    let queue = queue();
    let address = elsewhere(64);
    let deleted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&deleted);
    let deleter = Box::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    // SAFETY: as in `adopt`.
    let lent =
        unsafe { UsmMemory::from_foreign(UsmKind::Host, at(address), 64, &queue, Some(deleter)) }.unwrap();
    let unrelated = adopt(&queue, address, 64).unwrap();
    lent.export().unwrap();
    let part = adopt(&queue, address + 8, 8).unwrap();
    assert!(lent.is_foreign() && part.is_foreign());
    drop((lent, unrelated));
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    assert_eq!(pointer_info(at(address)).bytes, 64);
    drop(part);
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    assert_eq!(pointer_info(at(address)).kind, PointerKind::Unknown);
}

#[test]
fn parts_of_read_only_memory_are_read_only() {
    let queue = queue();
    let whole = UsmMemory::new(UsmKind::Shared, 64, &queue).unwrap();
    let start = whole.export().unwrap().addr();
    let (early, frozen) = (adopt(&queue, start, 8).unwrap(), adopt(&queue, start + 8, 8).unwrap());
    frozen.forbid_writing();
    assert!(frozen.is_read_only() && !early.is_read_only() && !whole.is_read_only());
    whole.forbid_writing();
    let late = adopt(&queue, start, 64).unwrap();
    for part in [early, late] {
        assert!(part.is_read_only());
        assert!(matches!(queue.memset(&part, 0, 1, 8, &[]), Err(Error::Borrow(_))));
    }
}

#[test]
fn what_was_not_handed_out_is_no_memory_of_others() {
    let queue = queue();
    let whole = UsmMemory::new(UsmKind::Shared, 100, &queue).unwrap();
    let start = whole.ptr().addr();
    let refused = |address: usize, bytes: usize, what: &str| {
        let Err(Error::Value(context)) = adopt(&queue, address, bytes) else { panic!("{what}: taken") };
        let text = context.to_string();
        assert!(text.contains("ptr") && text.contains(what) && text.contains("help:"), "{text}");
    };
    refused(start, 100, "not handed out");
    refused(start + 99, 1, "not handed out");
    whole.expose();
    adopt(&queue, start + 99, 1).unwrap();
    refused(start + 99, 2, "100 bytes");
    // Its neighbour is free: unknown, so whose it is, the caller has to know.
    assert_eq!(pointer_info(at(start + 128)).kind, PointerKind::Unknown);
}

#[test]
fn threads_hand_out_bring_back_and_drop() {
    let queue = queue();
    let address = elsewhere(64);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let queue = &queue;
            scope.spawn(move || {
                for round in 0..500_usize {
                    let own = UsmMemory::new(UsmKind::Shared, 100, queue).unwrap();
                    let lent = adopt(queue, address, 64).unwrap();
                    let start = own.export().unwrap();
                    let part = adopt(queue, start.addr() + 50, 50).unwrap();
                    let same = adopt(queue, lent.expose().addr(), 32).unwrap();
                    if (thread + round) % 2 == 0 {
                        drop((own, lent));
                    }
                    assert_eq!(pointer_info(part.ptr()).base, start);
                    assert!(pointer_info(same.ptr()).bytes >= 32);
                }
            });
        }
    });
    assert_eq!(pointer_info(at(address)).kind, PointerKind::Unknown);
}

/// What is alive, in a list.
struct Model {
    queue: Queue,
    /// Memory from elsewhere is in here.
    arena: usize,
    roots: Vec<Root>,
    parts: Vec<(UsmMemory, usize)>,
}

struct Root {
    /// `None`: dropped. It is alive while a part is.
    memory: Option<UsmMemory>,
    kind: UsmKind,
    start: usize,
    bytes: usize,
    own: bool,
    exposed: bool,
}

const ARENA: usize = 1 << 10;

#[derive(Clone, Debug)]
enum Step {
    Allocate(usize),
    Adopt(usize, usize),
    Expose(usize),
    /// Of which, from where on, how much.
    Import(usize, usize, usize),
    Drop(usize),
    DropPart(usize),
}

impl Root {
    fn contains(&self, start: usize, bytes: usize) -> bool {
        self.start <= start && start + bytes <= self.start + self.bytes
    }
    fn meets(&self, start: usize, bytes: usize) -> bool {
        self.start < start + bytes && start < self.start + self.bytes
    }
}

impl Model {
    fn is_alive(&self, root: usize) -> bool {
        self.roots[root].memory.is_some() || self.parts.iter().any(|(_, of)| *of == root)
    }
    fn alive(&self) -> impl Iterator<Item = (usize, &Root)> {
        self.roots.iter().enumerate().filter(|(number, _)| self.is_alive(*number))
    }
    /// One that is there, by any number.
    fn pick(&self, number: usize) -> Option<usize> {
        let alive: Vec<usize> = self.alive().map(|(number, _)| number).collect();
        (!alive.is_empty()).then(|| alive[number % alive.len()])
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Allocate(bytes) => {
                let kind = UsmKind::ALL[bytes % 3];
                let memory = UsmMemory::new(kind, bytes, &self.queue).unwrap();
                let start = memory.ptr().addr();
                assert!(!self.alive().any(|(_, root)| root.meets(start, bytes)), "handed out twice");
                self.roots.push(Root { memory: Some(memory), kind, start, bytes, own: true, exposed: false });
            }
            Step::Adopt(from, bytes) => {
                let start = self.arena + from;
                let memory = adopt(&self.queue, start, bytes).unwrap();
                let whole = self.alive().find(|(_, root)| root.exposed && root.contains(start, bytes));
                match whole.map(|(number, _)| number) {
                    Some(whole) => self.parts.push((memory, whole)),
                    None => self.roots.push(Root {
                        memory: Some(memory),
                        kind: UsmKind::Host,
                        start,
                        bytes,
                        own: false,
                        exposed: false,
                    }),
                }
            }
            Step::Expose(number) => {
                let Some(number) = self.pick(number) else { return };
                let Root { start, bytes, .. } = self.roots[number];
                // Where it is in two, which one an import holds is not said.
                let other =
                    self.alive().any(|(n, root)| n != number && root.exposed && root.meets(start, bytes));
                if !other && let Some(memory) = &self.roots[number].memory {
                    memory.expose();
                    self.roots[number].exposed = true;
                }
            }
            Step::Import(number, from, bytes) => {
                let Some(number) = self.pick(number) else { return };
                let root = &self.roots[number];
                let from = from % root.bytes;
                let (start, bytes) = (root.start + from, bytes.clamp(1, root.bytes - from));
                if !root.exposed {
                    assert!(!root.own || adopt(&self.queue, start, bytes).is_err());
                    return;
                }
                let part = adopt(&self.queue, start, bytes).unwrap();
                assert_eq!(part.is_foreign(), !root.own);
                self.parts.push((part, number));
            }
            Step::Drop(number) => {
                if let Some(number) = self.pick(number) {
                    self.roots[number].memory = None;
                }
            }
            Step::DropPart(number) => {
                if !self.parts.is_empty() {
                    self.parts.swap_remove(number % self.parts.len());
                }
            }
        }
    }

    fn check(&self, address: usize) {
        let info = pointer_info(at(address));
        let found = (info.kind, info.base.addr(), info.bytes);
        let expected: Vec<_> = self
            .alive()
            .filter(|(_, root)| root.contains(address, 1))
            .map(|(_, root)| (PointerKind::Usm(root.kind), root.start, root.bytes))
            .collect();
        match &expected[..] {
            [] => assert_eq!(found.0, PointerKind::Unknown, "{address:#x}"),
            several => assert!(several.contains(&found), "{address:#x}: {found:?}, not one of {several:?}"),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any = 0_usize..1000;
    let step = prop_oneof![
        3 => (1_usize..200).prop_map(Step::Allocate),
        3 => (0..ARENA / 2, 1..ARENA / 2).prop_map(|(from, bytes)| Step::Adopt(from, bytes)),
        2 => any.clone().prop_map(Step::Expose),
        4 => (any.clone(), any.clone(), any.clone()).prop_map(|(of, from, bytes)| Step::Import(of, from, bytes)),
        3 => any.clone().prop_map(Step::Drop),
        2 => any.prop_map(Step::DropPart),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_address_is_known_as_a_list_of_what_is_alive_has_it(steps in steps(), probes in prop::collection::vec(0..ARENA, 20)) {
        let mut model = Model { queue: queue(), arena: elsewhere(ARENA), roots: Vec::new(), parts: Vec::new() };
        for step in &steps {
            model.step(step);
            for &probe in &probes {
                model.check(model.arena + probe);
            }
            for root in &model.roots {
                let ends = [root.start.wrapping_sub(1), root.start, root.start + root.bytes - 1, root.start + root.bytes];
                ends.into_iter().for_each(|address| model.check(address));
            }
        }
    }
}
