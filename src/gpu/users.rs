//! Processes that use a GPU's memory, and the default limit on a job's GPU memory.

use crate::size;
use nvml_wrapper::enums::device::UsedGpuMemory;

/// Number of bytes of GPU memory that a job leaves free by default. They are for CUDA contexts of other processes and
/// for the local memory of their kernels, which drivers allocate at the first launch. If less than twice this number is
/// free, the job leaves half of the free bytes.
const LEFT_FREE: u64 = 1 << 30;
/// Maximum number of processes that a message names.
const MOST_NAMED: usize = 4;

/// Returns the GPU memory in bytes that a job allocates by default if `free` bytes are free: 90 %, or less if 90 %
/// would leave less than 1 GiB.
pub fn default_limit(free: u64) -> u64 {
    (free / 10 * 9).min(free.saturating_sub(LEFT_FREE).max(free / 2))
}

/// Describes the processes that use memory of the GPU with UUID `uuid`, in descending order of memory, as in ", process
/// 4711 (gpugraph) has 70 GiB". The text is empty if the driver does not report them.
pub(super) fn other_users(uuid: &str) -> String {
    let Ok(library) = nvml_wrapper::Nvml::init() else { return String::new() };
    let processes = library.device_by_uuid(nvml_uuid(uuid).as_str()).and_then(|gpu| gpu.running_compute_processes());
    let of = |used| match used {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    let processes = processes.unwrap_or_default().into_iter().map(|process| (process.pid, of(process.used_gpu_memory)));
    named(processes.filter(|&(pid, _)| pid != std::process::id()).collect())
}

/// Converts the 32 hexadecimal digits of a GPU's UUID to the notation of NVML.
pub(super) fn nvml_uuid(hex: &str) -> String {
    let part = |range: std::ops::Range<usize>| hex.get(range).unwrap_or_default();
    format!("GPU-{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

/// Describes processes, each with the number of bytes that it uses, as the end of a sentence.
fn named(mut processes: Vec<(u32, Option<u64>)>) -> String {
    processes.sort_by_key(|&(pid, bytes)| (std::cmp::Reverse(bytes), pid));
    let more = processes.len().saturating_sub(MOST_NAMED);
    let mut text: String = processes
        .iter()
        .take(MOST_NAMED)
        .map(|(pid, bytes)| {
            // The name of a process in another namespace or of another user may be hidden.
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            let name = if name.is_empty() { String::new() } else { format!(" ({})", name.trim_end()) };
            format!(", process {pid}{name} has {}", bytes.map_or("some".into(), size::show))
        })
        .collect();
    if more > 0 {
        text.push_str(&format!(", and {more} more have some"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_memory_is_left_for_others() {
        let gib = |gib: u64| gib << 30;
        assert_eq!(default_limit(gib(80)), gib(80) / 10 * 9);
        assert_eq!([gib(8), gib(3)].map(default_limit), [gib(7), gib(2)]);
        assert_eq!([gib(2), gib(1), 1000, 0].map(default_limit), [gib(1), gib(1) / 2, 500, 0]);
    }

    #[test]
    fn processes_are_named_by_what_they_have() {
        assert_eq!(named(Vec::new()), "");
        let own = std::process::id();
        let text = named(vec![(u32::MAX, None), (own, Some(3 << 30)), (u32::MAX - 1, Some(5 << 20))]);
        let name = std::fs::read_to_string("/proc/self/comm").unwrap();
        let expected = format!(
            ", process {own} ({}) has 3 GiB, process {} has 5 MiB, process {} has some",
            name.trim_end(),
            u32::MAX - 1,
            u32::MAX
        );
        assert_eq!(text, expected);
        let many = named((0..6).map(|n| (u32::MAX - n, Some(1 << 20))).collect());
        assert!(many.matches("process").count() == MOST_NAMED && many.ends_with(", and 2 more have some"), "{many}");
    }
}
