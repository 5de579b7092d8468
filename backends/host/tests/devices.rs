//! The host's devices: what they say of themselves, their division and their memory.

use stridewise_core::Error;
use stridewise_core::backend::{AffinityDomain, Aspect, DeviceType, Partition, UsmSupport};
use stridewise_core::memory::UsmKind;
use stridewise_host::{device_with, driver};

#[test]
fn the_driver_describes_the_machine() {
    let driver = driver();
    assert_eq!(driver.name(), "host");
    for device in driver.devices() {
        let info = device.info();
        assert_eq!((info.backend, info.device_type), ("host", DeviceType::Cpu));
        assert!(info.limits.compute_units >= 1 && info.limits.vector_bytes >= 16);
        assert!(info.limits.global_memory_bytes >= info.limits.max_allocation_bytes);
        assert!([Aspect::Fp16, Aspect::Fp64, Aspect::QueueProfiling].iter().all(|a| info.has(*a)));
        assert_eq!(info.usm(UsmKind::Device), UsmSupport::Guarded);
        assert_eq!(info.usm(UsmKind::Host), UsmSupport::Native);
        assert_eq!(info.usm(UsmKind::Shared), UsmSupport::Native);
        assert!(!info.topology.cpus.is_empty());
    }
}

#[test]
fn devices_divide_equally_and_by_counts() {
    for (threads, partition, expected) in [
        (8, Partition::Equally(2), vec![2, 2, 2, 2]),
        (8, Partition::Equally(3), vec![3, 3]),
        (8, Partition::Equally(8), vec![8]),
        (1, Partition::Equally(1), vec![1]),
        (8, Partition::ByCounts(vec![1, 5, 2]), vec![1, 5, 2]),
        (8, Partition::ByCounts(vec![3]), vec![3]),
    ] {
        let device = device_with(Some("scalar"), threads).unwrap();
        let parts = device.sub_devices(&partition).unwrap();
        let units: Vec<_> = parts.iter().map(|p| p.info().limits.compute_units).collect();
        assert_eq!(units, expected, "{partition:?}");
        for part in &parts {
            assert_eq!(part.info().isa, "scalar");
            let queue = part.create_queue(Default::default()).unwrap();
            let src = vec![5u8; 1 << 20];
            let mut dst = vec![0u8; 1 << 20];
            let command = stridewise_core::backend::Command::Step(stridewise_core::backend::Step::Copy {
                dst: stridewise_core::memory::UsmPtr::new(dst.as_mut_ptr()),
                src: stridewise_core::memory::UsmPtr::new(src.as_ptr().cast_mut()),
                bytes: src.len(),
            });
            // SAFETY: both vectors outlive the wait, and nothing else touches them.
            unsafe { queue.submit(command, &[]) }.unwrap().proceed().wait().unwrap();
            assert_eq!(dst, src);
        }
    }
}

#[test]
fn parts_of_a_whole_machine_have_processors_of_their_own() {
    let whole = &driver().devices()[0];
    let cpus = &whole.info().topology.cpus;
    let units = whole.info().limits.compute_units;
    let parts = whole.sub_devices(&Partition::Equally(1)).unwrap();
    assert_eq!(parts.len(), units);
    if units <= cpus.len() {
        let own: Vec<usize> = parts.iter().flat_map(|p| p.info().topology.cpus.clone()).collect();
        assert_eq!(own, cpus[..units]);
    }
    // Where the machine has a domain that divides it, the parts cover it.
    if let Ok(parts) = whole.sub_devices(&Partition::ByAffinityDomain(AffinityDomain::NextPartitionable)) {
        assert!(parts.len() > 1);
        let mut own: Vec<usize> = parts.iter().flat_map(|p| p.info().topology.cpus.clone()).collect();
        own.sort_unstable();
        let mut all = cpus[..units.min(cpus.len())].to_vec();
        all.sort_unstable();
        assert_eq!(own, all);
    }
}

#[test]
fn what_cannot_be_divided_says_why() {
    let device = device_with(None, 2).unwrap();
    for partition in [
        Partition::Equally(0),
        Partition::Equally(3),
        Partition::ByCounts(vec![]),
        Partition::ByCounts(vec![1, 0]),
        Partition::ByCounts(vec![2, 1]),
        Partition::ByCounts(vec![usize::MAX, 2]),
        Partition::ByAffinityDomain(AffinityDomain::L4Cache),
    ] {
        let error = device.sub_devices(&partition).err().unwrap();
        assert!(matches!(error, Error::DeviceSelection(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("{partition}")) && text.contains("2 compute units"), "{text}");
    }
}

#[test]
fn impossible_allocations_are_errors_that_name_the_size() {
    let device = device_with(None, 1).unwrap();
    for kind in UsmKind::ALL {
        for bytes in [1usize << 60, usize::MAX, usize::MAX - 4096] {
            let error = device.alloc(kind, bytes, 64).unwrap_err();
            assert!(matches!(error, Error::Alloc(_)), "{error}");
            let text = error.to_string();
            assert!(text.contains(&bytes.to_string()) && text.contains(kind.name()), "{text}");
            assert!(text.contains(&device.info().name), "{text}");
        }
        assert!(matches!(device.alloc(kind, 0, 64), Err(Error::Value(_))));
        assert!(matches!(device.alloc(kind, 64, 48), Err(Error::Value(_))));
    }
}
