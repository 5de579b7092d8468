//! Prints the devices of this machine: how to select them, what they are, and what memory they offer.

use std::io::{self, Write};

use stridewise::backend::Cache;
use stridewise::{Device, UsmKind, default_device, devices};

/// Instruction set levels that a host device can be forced to, where the processor has them.
const LEVELS: &[&str] = &["scalar", "avx2", "avx512"];

fn main() -> io::Result<()> {
    match list() {
        // Who reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => outcome,
    }
}

fn list() -> io::Result<()> {
    let mut out = io::stdout().lock();
    let default = default_device().ok();
    let devices = devices();
    for (position, device) in devices.iter().enumerate() {
        if position > 0 {
            writeln!(out)?;
        }
        print(&mut out, device, default.as_ref() == Some(device))?;
    }
    if devices.is_empty() {
        writeln!(out, "No devices.")?;
    }
    Ok(())
}

fn print(out: &mut impl Write, device: &Device, default: bool) -> io::Result<()> {
    let info = device.info();
    let mut line = |label: &str, text: String| writeln!(out, "{label:<14}{text}");
    let mark = if default { "  (default)" } else { "" };
    line("device", format!("{}{mark}", device.filter_string()))?;
    line("name", info.name.clone())?;
    line("vendor", info.vendor.clone())?;
    line("driver", format!("{} {}", info.backend, info.driver_version))?;
    let vector = info.limits.vector_bytes;
    line("instructions", format!("{}, vectors of {vector} bytes", info.isa))?;
    let levels: Vec<String> = LEVELS
        .iter()
        .filter_map(|level| Device::select(&format!("{}:{level}", info.backend)).ok())
        .map(|variant| variant.filter_string())
        .collect();
    if !levels.is_empty() {
        line("forced to", levels.join(", "))?;
    }
    line("cores", info.limits.compute_units.to_string())?;
    let topology = &info.topology;
    if !topology.source.is_empty() {
        line("processors", format!("{} (from {})", ranges(&topology.cpus), topology.source))?;
    }
    for (node, cpus) in topology.numa_nodes.iter().enumerate() {
        line("NUMA node", format!("{node}: processors {}", ranges(cpus)))?;
    }
    for (level, text) in caches(&topology.caches) {
        line("cache", format!("L{level}: {text}"))?;
    }
    line("memory", size(info.limits.global_memory_bytes))?;
    line("allocation", format!("up to {}", size(info.limits.max_allocation_bytes)))?;
    line("local memory", format!("{} for a work-group", size(info.limits.local_memory_bytes)))?;
    for kind in UsmKind::ALL {
        line(&format!("usm {kind}"), info.usm(kind).describe().to_owned())?;
    }
    let aspects: Vec<&str> = info.aspects.iter().map(|aspect| aspect.name()).collect();
    for (row, names) in aspects.chunks(4).enumerate() {
        line(if row == 0 { "aspects" } else { "" }, names.join(", "))?;
    }
    Ok(())
}

/// One line per level: how many caches of which size.
fn caches(caches: &[Cache]) -> Vec<(u8, String)> {
    let mut levels: Vec<u8> = caches.iter().map(|cache| cache.level).collect();
    levels.sort_unstable();
    levels.dedup();
    let describe = |level: u8| {
        let mut sizes: Vec<usize> =
            caches.iter().filter(|cache| cache.level == level).map(|cache| cache.bytes).collect();
        sizes.sort_unstable();
        let alike = sizes.chunk_by(|a, b| a == b);
        let parts: Vec<_> = alike.map(|s| format!("{} × {}", s.len(), size(s[0] as u64))).collect();
        parts.join(", ")
    };
    levels.into_iter().map(|level| (level, describe(level))).collect()
}

/// Bytes in the largest unit that leaves a whole number, or one decimal.
fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..0x10_0000 => (1u64 << 10, "KiB"),
        0x10_0000..0x4000_0000 => (1 << 20, "MiB"),
        _ => (1 << 30, "GiB"),
    };
    if bytes.is_multiple_of(unit) {
        format!("{} {name}", bytes / unit)
    } else {
        format!("{:.1} {name}", bytes as f64 / unit as f64)
    }
}

/// `0-3, 8`.
fn ranges(cpus: &[usize]) -> String {
    let mut cpus = cpus.to_vec();
    cpus.sort_unstable();
    let runs = cpus.chunk_by(|a, b| a + 1 == *b);
    let text: Vec<String> = runs
        .map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            [one] => one.to_string(),
            [] => String::new(),
        })
        .collect();
    text.join(", ")
}
