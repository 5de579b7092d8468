//! What decides how quick the processor is here: instructions, threads, pages and limits of the system.

use std::fs;
use std::path::Path;

use stridewise_core::Result;
use stridewise_core::backend::Finding;

use crate::guard::GUARD_VARIABLE;
use crate::kernels::native;
use crate::simd::Isa;
use crate::threads::{THREADS_VARIABLE, available_threads, default_threads};
use crate::topology;

/// The system's file about huge pages.
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// The processors that are switched on.
const ONLINE: &str = "/sys/devices/system/cpu/online";
/// The quota of the process's control group: version 2, and the two files of version 1.
const QUOTA: &str = "/sys/fs/cgroup/cpu.max";
const QUOTA_1: [&str; 2] = ["/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"];
/// Bytes that a process can lock on most systems at the least.
const USUAL_LOCKED: u64 = 64 << 10;

/// Everything.
pub(crate) fn findings() -> Vec<Finding> {
    let text = |path: &str| fs::read_to_string(path).ok();
    let machine = topology::machine();
    let mut findings = vec![
        Finding::fine("processor", format!("{} ({})", machine.model, machine.vendor)),
        instructions(Isa::of_processor(), Isa::best()),
        threads(default_threads(), std::env::var_os(THREADS_VARIABLE).is_some_and(|value| !value.is_empty())),
    ];
    findings.extend(native::findings());
    let allowed = machine.topology.cpus.len();
    findings.extend(affinity(allowed, text(ONLINE).map(|list| topology::parse_list(&list).len())));
    let quota = text(QUOTA).or_else(|| {
        let [quota, period] = QUOTA_1.map(text);
        Some(format!("{} {}", quota?.trim(), period?.trim()))
    });
    findings.extend(quota_of_group(allowed, available_threads(), quota.as_deref()));
    findings.extend(binding(topology::may_bind()));
    if cfg!(target_os = "linux") {
        findings.push(huge_pages(text(HUGE_PAGES).as_deref()));
    }
    findings.push(Finding::fine("memory", format!("{} MiB", machine.memory_bytes >> 20)));
    if let Some(limits) = text("/proc/self/limits") {
        findings.extend(locked(&limits));
        findings.extend(address_space(&limits));
        findings.extend(data(&limits));
    }
    findings.push(Finding::of_switch(GUARD_VARIABLE, "the guard of device memory"));
    if !Path::new("/proc/cpuinfo").exists() {
        findings.push(Finding::fine("topology", "unknown: this system has no /proc and /sys"));
    }
    findings
}

fn instructions(processor: Isa, used: Isa) -> Finding {
    const SUBJECT: &str = "instructions";
    if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        return Finding::fine(SUBJECT, "those that the target has at the least, of which there is one level");
    }
    if used < processor {
        let has = processor.name();
        return Finding::note(
            SUBJECT,
            format!("{}: the processor has {has}, but this build has no kernels for it", used.name()),
            format!("build with the feature `{has}` of the crate `stridewise`"),
        );
    }
    match used {
        Isa::Scalar => Finding::note(
            SUBJECT,
            "scalar, vectors of 16 bytes (SSE2): the processor has no AVX2, FMA and F16C; everything works, with the same \
             bits, and takes longer",
            "in a virtual machine, show it the processor as it is (QEMU: -cpu host); else use a processor from 2013 or later",
        ),
        level => Finding::fine(SUBJECT, format!("{}, the best that the processor has", level.name())),
    }
}

fn threads(threads: Result<usize>, set: bool) -> Finding {
    match threads {
        Ok(threads) if set => {
            let allowed = available_threads();
            let text = format!("{threads} worker threads");
            if threads > allowed {
                let text = format!("{text}, for {allowed} processors: they take turns");
                return Finding::note(THREADS_VARIABLE, text, format!("export {THREADS_VARIABLE}={allowed}"));
            }
            Finding::fine(THREADS_VARIABLE, text)
        }
        Ok(threads) => Finding::fine(THREADS_VARIABLE, format!("not set: {threads} worker threads")),
        Err(error) => Finding::of_error(THREADS_VARIABLE, &error),
    }
}

fn affinity(allowed: usize, online: Option<usize>) -> Option<Finding> {
    let online = online?;
    let text = format!("{allowed} of {online} processors");
    Some(if allowed < online {
        let remedy = format!(
            "taskset --cpu-list 0-{} PROGRAM, or a container with more processors (docker: --cpuset-cpus)",
            online.saturating_sub(1)
        );
        Finding::note("affinity", format!("the process may use {text}"), remedy)
    } else {
        Finding::fine("affinity", text)
    })
}

fn binding(may: bool) -> Option<Finding> {
    let text = "the system refuses to bind threads to processors (sched_setaffinity): it moves workers about, and away from \
                their caches";
    let remedy = "allow that call in the filter of system calls (docker: --security-opt seccomp=PROFILE)";
    (!may).then(|| Finding::note("binding", text, remedy))
}

/// `quota` is `max` or a time, and the period that it is of, in microseconds. The file is that of the process's own group where
/// that is a container's; else what the standard library found counts.
fn quota_of_group(allowed: usize, available: usize, quota: Option<&str>) -> Option<Finding> {
    let numbers = quota.and_then(|text| {
        let (quota, period) = text.trim().split_once(char::is_whitespace)?;
        Some((quota.parse::<f64>().ok().filter(|quota| *quota > 0.0)?, period.trim().parse::<f64>().ok()?))
    });
    let share = numbers.map(|(quota, period)| quota / period).filter(|share| share.is_finite());
    let limited = available < allowed || share.is_some_and(|share| share < allowed as f64);
    if !limited {
        return quota.map(|_| Finding::fine("control group", "no quota below the number of processors"));
    }
    let text = match share {
        Some(share) => format!("a quota of {share:.2} processors, of {allowed}"),
        None => format!("a quota of {available} of {allowed} processors"),
    };
    let remedy = "raise `cpu.max` of the control group (docker: --cpus; Kubernetes: resources.limits.cpu)";
    Some(Finding::note("control group", text, remedy))
}

fn huge_pages(enabled: Option<&str>) -> Finding {
    const SUBJECT: &str = "huge pages";
    let chosen = enabled.and_then(|text| text.split_once('[')?.1.split_once(']').map(|(mode, _)| mode));
    match chosen {
        Some("never") => Finding::note(
            SUBJECT,
            "never: large arrays are in pages of 4 KiB, which first writes to them and random accesses notice",
            format!("echo madvise | sudo tee {HUGE_PAGES}"),
        ),
        Some(mode) => Finding::fine(SUBJECT, format!("{mode}: large arrays ask for them")),
        None => Finding::note(
            SUBJECT,
            format!("unknown: {HUGE_PAGES} is not there"),
            "use a kernel with transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)",
        ),
    }
}

/// The soft limit of a name in `/proc/self/limits`; `None` for no limit.
fn limit(limits: &str, name: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn locked(limits: &str) -> Option<Finding> {
    let text = "locked memory";
    Some(match limit(limits, "Max locked memory") {
        Some(bytes) if bytes < USUAL_LOCKED => Finding::note(
            text,
            format!(
                "up to {bytes} bytes; the engine locks none, but a driver that pins memory for copies may"
            ),
            "ulimit -l unlimited (docker: --ulimit memlock=-1)",
        ),
        Some(bytes) => {
            Finding::fine(text, format!("up to {} KiB, of which the engine needs none", bytes >> 10))
        }
        None => Finding::fine(text, "no limit"),
    })
}

fn address_space(limits: &str) -> Option<Finding> {
    let bytes = limit(limits, "Max address space")?;
    let text =
        format!("up to {} MiB for the whole process, of which runtimes of devices reserve much", bytes >> 20);
    Some(Finding::note("address space", text, "ulimit -v unlimited"))
}

fn data(limits: &str) -> Option<Finding> {
    let bytes = limit(limits, "Max data size")?;
    let text =
        format!("up to {} MiB for everything that the process writes to, arrays among it", bytes >> 20);
    Some(Finding::note("data", text, "ulimit -d unlimited"))
}

#[cfg(test)]
mod tests {
    use stridewise_core::Error;
    use stridewise_core::backend::Health;

    use super::*;

    #[test]
    fn a_processor_without_avx2_is_served_and_told() {
        if cfg!(target_arch = "x86_64") {
            let poor = instructions(Isa::Scalar, Isa::Scalar);
            assert_eq!(poor.health, Health::Note);
            assert!(poor.text.contains("SSE2") && poor.remedy.contains("-cpu host"), "{poor:?}");
            let small_build = instructions(Isa::Avx512, Isa::Scalar);
            assert!(small_build.remedy.contains("feature `avx512`"), "{small_build:?}");
            assert_eq!(instructions(Isa::Avx2, Isa::Avx2).health, Health::Fine);
        }
    }

    #[test]
    fn wrong_numbers_of_threads_are_problems_and_too_many_a_note() {
        let wrong = threads(Err(Error::value("a", "b", "c", "set it")), true);
        assert_eq!((wrong.health, wrong.remedy.as_ref()), (Health::Problem, "set it"));
        assert_eq!(threads(Ok(1), true).health, Health::Fine);
        assert_eq!(threads(Ok(available_threads() + 1), true).health, Health::Note);
        assert_eq!(threads(Ok(3), false).health, Health::Fine);
    }

    #[test]
    fn limits_on_processors_are_notes() {
        assert_eq!(affinity(2, Some(8)).unwrap().health, Health::Note);
        assert_eq!(affinity(8, Some(8)).unwrap().health, Health::Fine);
        assert_eq!(affinity(8, None), None);
        let quota = |text| quota_of_group(8, 8, text);
        let limited = quota(Some("250000 100000\n")).unwrap();
        assert!(limited.health == Health::Note && limited.text.contains("2.50 processors"), "{limited:?}");
        assert_eq!(quota(Some("max 100000\n")).unwrap().health, Health::Fine);
        assert_eq!(quota(Some("-1 100000")).unwrap().health, Health::Fine);
        assert_eq!(quota(None), None);
        assert_eq!(quota_of_group(8, 4, None).unwrap().health, Health::Note);
        assert!(binding(true).is_none() && binding(false).unwrap().health == Health::Note);
    }

    #[test]
    fn pages_and_limits_are_read() {
        assert!(huge_pages(Some("always madvise [never]\n")).remedy.contains("madvise"));
        assert_eq!(huge_pages(Some("always [madvise] never\n")).health, Health::Fine);
        assert_eq!(huge_pages(None).health, Health::Note);
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max locked memory         8192                 8192                 bytes     \n\
                      Max address space         unlimited            unlimited            bytes     \n";
        assert_eq!(locked(limits).unwrap().health, Health::Note);
        assert_eq!(locked(&limits.replace("8192", "8388608")).unwrap().health, Health::Fine);
        assert_eq!(address_space(limits), None);
        let small = limits.replace("unlimited ", "1048576   ");
        assert_eq!(address_space(&small).unwrap().remedy, "ulimit -v unlimited");
        assert_eq!(data(limits), None);
        let small = "Max data size             268435456            268435456            bytes\n";
        assert!(data(small).unwrap().text.starts_with("up to 256 MiB"), "{:?}", data(small));
    }
}
