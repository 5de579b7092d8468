//! What the processor is and which part of it this process may use.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use core_affinity::CoreId;
use stridewise_core::backend::{AffinityDomain, Cache, Topology};

#[cfg(feature = "hwloc")]
mod hwloc;

/// Bits of a `cpu_set_t`; processors beyond it cannot be bound to.
const MAX_BOUND_CPU: usize = 1024;
/// How long a worker's turn is on a processor that others want, too: the least that Linux takes.
#[cfg(target_os = "linux")]
const TURN: std::time::Duration = std::time::Duration::from_micros(100);

/// The machine as this process sees it.
pub(crate) struct Machine {
    /// The processor's name.
    pub(crate) model: String,
    /// Who made it.
    pub(crate) vendor: String,
    /// Bytes of memory, or of what the control group allows.
    pub(crate) memory_bytes: u64,
    /// The processors that the process may use, neighbours in the hierarchy next to each other.
    pub(crate) topology: Topology,
}

/// Reads the machine, once: the processors must be asked for before any thread is bound, because a bound thread sees
/// its own binding only.
pub(crate) fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let mut cpus: Vec<usize> =
            core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|core| core.id).collect();
        if cpus.is_empty() {
            cpus = (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
        }
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            model: field(&info, "model name").unwrap_or_else(|| format!("{} CPU", std::env::consts::ARCH)),
            vendor: field(&info, "vendor_id").unwrap_or_else(|| "unknown".to_owned()),
            memory_bytes: memory_bytes(),
            topology: read(cpus),
        }
    })
}

fn read(cpus: Vec<usize>) -> Topology {
    #[cfg(feature = "hwloc")]
    if let Some(topology) = hwloc::read(&cpus) {
        return ordered(topology);
    }
    ordered(read_sysfs(Path::new("/sys/devices/system"), cpus))
}

/// The caches and nodes below a `/sys/devices/system`; where it is missing, only the processors.
fn read_sysfs(system: &Path, cpus: Vec<usize>) -> Topology {
    let text = |path: &Path| fs::read_to_string(path).ok().map(|t| t.trim().to_owned());
    let own = |list: Vec<usize>| list.into_iter().filter(|c| cpus.contains(c)).collect::<Vec<_>>();

    let mut caches = Vec::new();
    for cpu in &cpus {
        for index in 0.. {
            let cache = system.join(format!("cpu/cpu{cpu}/cache/index{index}"));
            let Some(level) = text(&cache.join("level")).and_then(|t| t.parse::<u8>().ok()) else { break };
            if text(&cache.join("type")).as_deref() == Some("Instruction") {
                continue;
            }
            let bytes = text(&cache.join("size")).and_then(|t| parse_bytes(&t)).unwrap_or(0);
            let shared = text(&cache.join("shared_cpu_list")).map_or_else(|| vec![*cpu], |t| parse_list(&t));
            caches.push((level, own(shared), bytes));
        }
    }
    caches.sort_unstable();
    caches.dedup();
    let mut numa_nodes = Vec::new();
    if let Some(online) = text(&system.join("node/online")) {
        for node in parse_list(&online) {
            let list = text(&system.join(format!("node/node{node}/cpulist"))).unwrap_or_default();
            let list = own(parse_list(&list));
            if !list.is_empty() {
                numa_nodes.push(list);
            }
        }
    }
    let known = !caches.is_empty() || !numa_nodes.is_empty();
    Topology {
        source: if known { "sysfs" } else { "" },
        caches: caches.into_iter().map(|(level, cpus, bytes)| Cache { level, bytes, cpus }).collect(),
        cpus,
        numa_nodes,
    }
}

/// Puts processors that share a node or a cache next to each other, so that a run of them is a good sub-device.
fn ordered(mut topology: Topology) -> Topology {
    let mut cpus = std::mem::take(&mut topology.cpus);
    let place = |cpu: usize, level: u8| {
        topology
            .caches
            .iter()
            .filter(|c| c.level == level && c.cpus.contains(&cpu))
            .flat_map(|c| c.cpus.first())
            .min()
    };
    cpus.sort_by_cached_key(|&cpu| {
        let node = topology.numa_nodes.iter().position(|n| n.contains(&cpu));
        (node, place(cpu, 4), place(cpu, 3), place(cpu, 2), place(cpu, 1), cpu)
    });
    topology.cpus = cpus;
    topology
}

/// The part of a topology that concerns some of its processors.
pub(crate) fn restricted(whole: &Topology, cpus: &[usize]) -> Topology {
    let part = |list: &[usize]| list.iter().copied().filter(|c| cpus.contains(c)).collect::<Vec<_>>();
    Topology {
        source: whole.source,
        cpus: cpus.to_vec(),
        numa_nodes: whole.numa_nodes.iter().map(|n| part(n)).filter(|n| !n.is_empty()).collect(),
        caches: whole
            .caches
            .iter()
            .map(|c| Cache { level: c.level, bytes: c.bytes, cpus: part(&c.cpus) })
            .filter(|c| !c.cpus.is_empty())
            .collect(),
    }
}

/// The groups of processors that share what a domain names; fewer than two where it does not divide them, or where it
/// is not known for all of them.
pub(crate) fn groups(topology: &Topology, domain: AffinityDomain) -> Vec<Vec<usize>> {
    let level = match domain {
        AffinityDomain::Numa => 0,
        AffinityDomain::L4Cache => 4,
        AffinityDomain::L3Cache => 3,
        AffinityDomain::L2Cache => 2,
        AffinityDomain::L1Cache => 1,
        AffinityDomain::NextPartitionable => {
            use AffinityDomain::{L1Cache, L2Cache, L3Cache, L4Cache, Numa};
            return [Numa, L4Cache, L3Cache, L2Cache, L1Cache]
                .into_iter()
                .map(|domain| groups(topology, domain))
                .find(|groups| groups.len() > 1)
                .unwrap_or_default();
        }
        _ => return Vec::new(),
    };
    let mut lists: Vec<&[usize]> = if level == 0 {
        topology.numa_nodes.iter().map(Vec::as_slice).collect()
    } else {
        topology.caches.iter().filter(|c| c.level == level).map(|c| c.cpus.as_slice()).collect()
    };
    lists.sort_unstable();
    lists.dedup();
    let complete = topology.cpus.iter().all(|cpu| lists.iter().filter(|l| l.contains(cpu)).count() == 1);
    if complete { lists.into_iter().map(<[usize]>::to_vec).collect() } else { Vec::new() }
}

/// The size of the outermost cache, 0 where unknown.
pub(crate) fn last_cache_bytes(topology: &Topology) -> usize {
    topology.caches.iter().max_by_key(|c| (c.level, c.bytes)).map_or(0, |c| c.bytes)
}

/// Binds the calling thread to one processor; where that fails, it stays where it is.
pub(crate) fn pin_current(cpu: usize) {
    if cpu < MAX_BOUND_CPU {
        core_affinity::set_for_current(CoreId { id: cpu });
    }
}

/// Asks for short turns of the calling thread where it shares its processor, as far as the system hears (Linux from 6.12 on).
///
/// Threads of other libraries look for work on every processor long after they had some (OpenBLAS's for 100 ms and more), and do not
/// yield. With turns of equal length, one of ours that lost its processor in the middle of a part gets it back after 3 ms, and
/// everybody who waits for the whole waits for that part.
pub(crate) fn take_short_turns() {
    #[cfg(target_os = "linux")]
    // SAFETY: the calls read what is this function's own and change the calling thread only, to the policy and nice value
    // that it has.
    unsafe {
        if libc::sched_getscheduler(0) != libc::SCHED_OTHER {
            return;
        }
        let attributes = libc::sched_attr {
            size: size_of::<libc::sched_attr>() as u32,
            sched_policy: libc::SCHED_OTHER as u32,
            sched_flags: 0,
            sched_nice: libc::getpriority(libc::PRIO_PROCESS, 0),
            sched_priority: 0,
            sched_runtime: TURN.as_nanos() as u64,
            sched_deadline: 0,
            sched_period: 0,
        };
        libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
    }
}

/// The processor that the calling thread runs on just now, where the system tells without much ado.
pub(crate) fn current_cpu() -> Option<usize> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // SAFETY: asks for a number; touches no memory.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    None
}

/// Lets the calling thread run on any of these processors.
pub(crate) fn bind_current(cpus: &[usize]) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if cpus.iter().all(|cpu| *cpu < MAX_BOUND_CPU) {
        // SAFETY: a `cpu_set_t` is a plain bit mask, for which all zeros is the empty set; every index is below its
        // number of bits (checked above); the call reads the mask and changes the calling thread only.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for &cpu in cpus {
                libc::CPU_SET(cpu, &mut set);
            }
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = cpus;
}

/// Whether the system lets a thread choose its processors: the calling thread chooses those that it has already. `true` where
/// that cannot be known.
pub(crate) fn may_bind() -> bool {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let bytes = size_of::<libc::cpu_set_t>();
        // SAFETY: a `cpu_set_t` is a plain bit mask, for which all zeros is the empty set; the first call writes no more than
        // the bytes that it is told of, the second reads as many and changes the calling thread only.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, bytes, &raw mut set) != 0
                || libc::sched_setaffinity(0, bytes, &raw const set) == 0
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    true
}

fn memory_bytes() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let machine = field(&info, "MemTotal")
        .and_then(|text| text.trim_end_matches("kB").trim().parse::<u64>().ok())
        .map(|kib| kib << 10)
        .or_else(physical_bytes)
        .unwrap_or(isize::MAX as u64);
    // Version 2 of control groups, then version 1; "max" or absent means no limit.
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .find_map(|path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok());
    limit.map_or(machine, |limit| limit.min(machine))
}

#[cfg(unix)]
fn physical_bytes() -> Option<u64> {
    // SAFETY: asks for a number; touches no memory.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    Some(u64::try_from(pages).ok()? * crate::memory::page_bytes() as u64)
}

#[cfg(not(unix))]
fn physical_bytes() -> Option<u64> {
    None
}

/// The value of the first `name : value` line.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// Reads `0-3,8`.
pub(crate) fn parse_list(text: &str) -> Vec<usize> {
    let mut list = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<usize>(), last.trim().parse::<usize>()) {
            list.extend(first..=last);
        }
    }
    list
}

/// Reads `32K` or `8M`.
fn parse_bytes(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Two nodes of two cores with two threads each; Linux numbers the second threads after all first ones.
    fn two_sockets(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("stridewise-{name}-{}", std::process::id()));
        for cpu in 0..8usize {
            let core = cpu % 4;
            let (pair, node) = (format!("{core},{}", core + 4), core / 2);
            let shared = if node == 0 { "0-1,4-5" } else { "2-3,6-7" };
            for (index, level, kind, size, cpus) in [
                (0, "1", "Data", "32K", pair.as_str()),
                (1, "1", "Instruction", "32K", pair.as_str()),
                (2, "2", "Unified", "1024K", pair.as_str()),
                (3, "3", "Unified", "8M", shared),
            ] {
                let at = format!("cpu/cpu{cpu}/cache/index{index}");
                write(&root, &format!("{at}/level"), &format!("{level}\n"));
                write(&root, &format!("{at}/type"), &format!("{kind}\n"));
                write(&root, &format!("{at}/size"), &format!("{size}\n"));
                write(&root, &format!("{at}/shared_cpu_list"), &format!("{cpus}\n"));
            }
        }
        write(&root, "node/online", "0-1\n");
        write(&root, "node/node0/cpulist", "0-1,4-5\n");
        write(&root, "node/node1/cpulist", "2-3,6-7\n");
        root
    }

    #[test]
    fn a_machine_of_two_sockets() {
        let root = two_sockets("two");
        let topology = ordered(read_sysfs(&root, (0..8).collect()));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(topology.source, "sysfs");
        assert_eq!(topology.cpus, [0, 4, 1, 5, 2, 6, 3, 7]);
        assert_eq!(topology.numa_nodes, [[0, 1, 4, 5], [2, 3, 6, 7]]);
        assert_eq!(topology.caches.len(), 4 + 4 + 2);
        assert_eq!(last_cache_bytes(&topology), 8 << 20);
        assert_eq!(groups(&topology, AffinityDomain::Numa).len(), 2);
        assert_eq!(groups(&topology, AffinityDomain::L2Cache), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(groups(&topology, AffinityDomain::L4Cache), Vec::<Vec<usize>>::new());
        assert_eq!(groups(&topology, AffinityDomain::NextPartitionable).len(), 2);

        let node = restricted(&topology, &[0, 4, 1, 5]);
        assert_eq!(node.numa_nodes, [[0, 1, 4, 5]]);
        assert_eq!(groups(&node, AffinityDomain::NextPartitionable), [[0, 4], [1, 5]]);
        let core = restricted(&topology, &[0, 4]);
        assert_eq!(groups(&core, AffinityDomain::NextPartitionable), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn only_the_processors_of_the_process_appear() {
        let root = two_sockets("part");
        let topology = ordered(read_sysfs(&root, vec![1, 2]));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(topology.numa_nodes, [[1], [2]]);
        assert!(topology.caches.iter().all(|c| c.cpus == [1] || c.cpus == [2]));
    }

    #[test]
    fn without_sysfs_the_processors_remain() {
        let topology = ordered(read_sysfs(Path::new("/nonexistent"), vec![0, 1]));
        assert_eq!(topology, Topology { cpus: vec![0, 1], ..Topology::default() });
        assert_eq!(last_cache_bytes(&topology), 0);
    }

    #[test]
    fn this_machine_has_processors_and_memory() {
        let machine = machine();
        assert!(!machine.topology.cpus.is_empty());
        assert!(machine.memory_bytes > 1 << 20);
        assert!(!machine.model.is_empty() && !machine.vendor.is_empty());
    }

    #[test]
    fn lists_and_sizes() {
        assert_eq!(parse_list("0-3,8,10-11"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_list(""), Vec::<usize>::new());
        assert_eq!(parse_bytes("32K"), Some(32768));
        assert_eq!(parse_bytes("1M"), Some(1 << 20));
        assert_eq!(parse_bytes("7"), Some(7));
        assert_eq!(parse_bytes("12T"), None);
        assert_eq!(parse_bytes("K"), None);
    }
}
