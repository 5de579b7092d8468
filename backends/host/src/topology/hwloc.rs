//! The hierarchy as hwloc reads it, which knows it on systems without a `/sys` too.

use hwlocality::object::TopologyObject;
use hwlocality::object::attributes::ObjectAttributes;
use hwlocality::object::types::ObjectType;
use stridewise_core::backend::{Cache, Topology};

/// Types of data and unified caches, by level from 1.
const CACHES: [ObjectType; 4] =
    [ObjectType::L1Cache, ObjectType::L2Cache, ObjectType::L3Cache, ObjectType::L4Cache];

/// The part of the machine that these processors are; `None` where hwloc cannot read it.
pub(super) fn read(cpus: &[usize]) -> Option<Topology> {
    let machine = hwlocality::Topology::new().ok()?;
    let own = |object: &TopologyObject| -> Vec<usize> {
        let Some(set) = object.cpuset() else { return Vec::new() };
        set.iter_set().map(usize::from).filter(|cpu| cpus.contains(cpu)).collect()
    };
    let mut caches = Vec::new();
    for (level, kind) in (1..).zip(CACHES) {
        for object in machine.objects_with_type(kind) {
            let bytes = match object.attributes() {
                Some(ObjectAttributes::Cache(cache)) => {
                    cache.size().and_then(|bytes| usize::try_from(bytes.get()).ok()).unwrap_or(0)
                }
                _ => 0,
            };
            let cpus = own(object);
            if !cpus.is_empty() {
                caches.push(Cache { level, bytes, cpus });
            }
        }
    }
    let numa_nodes =
        machine.objects_with_type(ObjectType::NUMANode).map(own).filter(|list| !list.is_empty()).collect();
    Some(Topology { source: "hwloc", cpus: cpus.to_vec(), numa_nodes, caches })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn hwloc_and_sysfs_agree() {
        let cpus: Vec<usize> = core_affinity::get_core_ids().unwrap().into_iter().map(|c| c.id).collect();
        let sysfs = super::super::read_sysfs(Path::new("/sys/devices/system"), cpus.clone());
        let hwloc = read(&cpus).unwrap();
        assert_eq!(hwloc.source, "hwloc");
        assert_eq!(hwloc.cpus, cpus);
        if sysfs.source == "sysfs" {
            let sorted = |topology: &Topology| {
                let mut caches: Vec<_> =
                    topology.caches.iter().map(|c| (c.level, c.cpus.clone(), c.bytes)).collect();
                caches.sort();
                caches
            };
            assert_eq!(sorted(&hwloc), sorted(&sysfs));
            assert_eq!(hwloc.numa_nodes, sysfs.numa_nodes);
        }
    }
}
