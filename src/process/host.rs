//! Resources of the machine that this process may use: cores, memory and disk space.
//!
//! The crate procfs reads most of these files, too, but it does not compute two quantities, which need most of this
//! code. One is the memory available under the limits of a cgroup and its ancestors (in both versions of cgroups,
//! without reclaimable page cache). The other is the memory that a batch scheduler has granted.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::store::os;

/// Returns the host's name, or `localhost` if it has none.
pub fn name() -> String {
    let name = read("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".into() } else { name.trim().to_owned() }
}

/// Returns the CPU's model name, followed by its family and model number; empty if the kernel does not report them.
pub fn processor() -> &'static str {
    static MODEL: OnceLock<String> = OnceLock::new();
    MODEL.get_or_init(read_processor)
}

fn read_processor() -> String {
    let text = read("/proc/cpuinfo").unwrap_or_default();
    let first = text.split("\n\n").next().unwrap_or_default();
    // The model name of a virtual machine may be only a brand, so family and model number are included.
    let keys = ["model name", "cpu family", "model", "CPU implementer", "CPU part"];
    let value = |key: &str| {
        let fields = first.lines().filter_map(|line| line.split_once(':'));
        fields.filter(|(name, _)| name.trim() == key).map(|(_, value)| value.trim().to_owned()).next()
    };
    keys.into_iter().filter_map(value).collect::<Vec<_>>().join(" ")
}

/// Returns the number of cores that this process may use according to its affinity mask and the CPU quota of its
/// cgroup.
pub fn cores_at_hand() -> usize {
    // The number is cached, because reading the files of the cgroup takes longer than a typical round of messages
    // between ranks.
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Environment variables by which a scheduler grants cores: (name, per rank). The flag is true if each rank gets that
/// many cores, and false if all ranks of a node share them.
const GRANTS: [(&str, bool); 5] = [
    ("SLURM_CPUS_PER_TASK", true),
    ("GPUGRAPH_THREADS", true),
    ("PBS_NCPUS", false),
    ("NCPUS", false),
    ("PBS_NUM_PPN", false),
];

/// Number of cores that a process may use, alone or together with the other ranks of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Number of cores that the process may use.
    pub cores: usize,
    /// True if each rank of this machine may use `cores` cores; false if all its ranks share them.
    pub each: bool,
}

/// Returns the number of cores that this process may use: the minimum of its affinity mask, the CPU quota of its
/// cgroup, and the grant of Slurm or PBS. If none of these is a limit, `OMP_NUM_THREADS` is.
pub fn granted() -> Grant {
    let online = read("/sys/devices/system/cpu/online").and_then(|text| listed(&text));
    granted_by(cores_at_hand(), online, |name| std::env::var(name).ok())
}

/// Returns the number of cores that this process may use according to [`granted`].
pub fn cores() -> usize {
    granted().cores
}

/// Computes [`granted`] for a process whose affinity mask and quota allow `at_hand` of the machine's `online` cores.
/// `variable` reads an environment variable.
fn granted_by(at_hand: usize, online: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Grant {
    let positive = |text: &str| text.trim().parse::<usize>().ok().filter(|&n| n > 0);
    // Schedulers without cgroups do not enforce the grant, but a job that exceeds it slows down other jobs on the
    // node.
    let grants = GRANTS.iter().filter_map(|&(name, each)| Some((positive(&variable(name)?)?, each)));
    let grants: Vec<(usize, bool)> = grants.collect();
    if grants.is_empty() && online.is_none_or(|online| at_hand >= online) {
        // `OMP_NUM_THREADS` may be a list with one number per level of nested parallel regions; the first number
        // counts.
        let first = |text: String| positive(text.split(',').next().unwrap_or_default());
        if let Some(threads) = variable("OMP_NUM_THREADS").and_then(first) {
            return Grant { cores: at_hand.min(threads), each: true };
        }
    }
    let cores = grants.iter().map(|&(cores, _)| cores).fold(at_hand, usize::min);
    Grant { cores, each: grants.iter().any(|&(_, each)| each) }
}

/// Counts the numbers in a list of ranges such as `0-3,8`.
fn listed(text: &str) -> Option<usize> {
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    text.trim().split(',').map(count).sum()
}

/// Returns the CPU affinity mask of this process: bit `i % 8` of byte `i / 8` is set if it may run on core `i`.
pub fn affinity() -> Vec<u8> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:")).unwrap_or_default();
    let digits: Vec<u8> = mask.chars().rev().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] | pair.get(1).unwrap_or(&0) << 4).collect()
}

/// Total memory of the machine and memory available to this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// Total memory of the machine, in bytes.
    pub total: u64,
    /// Memory available to this process, in bytes. It is the minimum of: available memory according to the kernel; the
    /// memory available under the limits of its cgroup and the cgroup's ancestors (version 1 or 2, without reclaimable
    /// page cache); the unused remainder of the scheduler's grant; and 5/8 of the address space that `ulimit -v`
    /// leaves.
    pub free: u64,
    /// True if `free` is determined by the address space available under `ulimit -v`.
    pub by_addresses: bool,
}

/// Reads the total and the available memory. If /proc/meminfo can't be read, `total` is 0, and `free` is 0 as well
/// unless another limit is known.
pub fn memory() -> Memory {
    let text = read("/proc/meminfo").unwrap_or_default();
    let total = kib_of(&text, "MemTotal:");
    let available = kib_of(&text, "MemAvailable:").or(total);
    // Mapped files, stacks and the allocator also use address space. A job's default limit is 80 % of this value,
    // which is half of the address space available under `ulimit -v`.
    let addresses = crate::memory::addresses_left().map(|left| left / 8 * 5);
    let granted = granted_memory().map(|grant| grant.saturating_sub(process_memory()));
    let free = [available, cgroup_free(), granted, addresses].into_iter().flatten().min().unwrap_or(0);
    Memory { total: total.unwrap_or(0), free, by_addresses: addresses == Some(free) }
}

/// Returns the memory that the scheduler has granted to the job on this node, in bytes; `None` if it is unknown. A
/// scheduler may enforce the grant by polling, without a cgroup. PBS does not set an environment variable for it, so
/// job scripts query it and set `GPUGRAPH_NODE_MEMORY`.
fn granted_memory() -> Option<u64> {
    if let Some(bytes) = std::env::var("GPUGRAPH_NODE_MEMORY").ok().and_then(|bytes| bytes.parse().ok()) {
        return Some(bytes).filter(|&bytes| bytes > 0);
    }
    let mib = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok().filter(|&n| n > 0);
    let per_cpu = || Some(mib("SLURM_MEM_PER_CPU")? * mib("SLURM_CPUS_ON_NODE")?);
    Some(mib("SLURM_MEM_PER_NODE").or_else(per_cpu)? << 20)
}

/// Returns the host memory that counts against the job's limit, in bytes: anonymous and shared pages of this process.
/// Clean pages of mapped files are not included.
pub fn process_memory() -> u64 {
    os::own_memory()
}

/// Returns the free space in bytes of the file system of `path`, or of its nearest existing ancestor.
///
/// # Errors
/// The error of the system call.
pub fn free_disk(path: &Path) -> std::io::Result<u64> {
    let there = path.ancestors().find(|path| path.exists()).filter(|path| !path.as_os_str().is_empty());
    os::free_bytes(there.unwrap_or(Path::new(".")))
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    // Read bytes rather than a string, because a mount point or host name need not be UTF-8.
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the value N of the line `KEY  N kB` in `text`, converted to bytes.
fn kib_of(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

struct Mount {
    root: String,
    point: PathBuf,
    kind: String,
    options: String,
}

/// Parses lines of `/proc/self/mountinfo`: `id parent major:minor ROOT POINT options [optional]... - KIND source
/// OPTIONS`.
fn mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let mut right = right.split(' ');
        Some(Mount {
            root: unescape(left.next()?),
            point: unescape(left.next()?).into(),
            kind: right.next()?.to_owned(),
            options: right.nth(1).unwrap_or_default().to_owned(),
        })
    };
    text.lines().filter_map(mount).collect()
}

/// Decodes mountinfo's octal escapes of blank, tab, newline and backslash.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, c)| text.replace(escape, c))
}

/// Returns the memory in bytes available under the tightest limit among this process's cgroup and its ancestors;
/// `None` if none of them has a limit.
fn cgroup_free() -> Option<u64> {
    let mounts = mounts(&read("/proc/self/mountinfo")?);
    let groups = read("/proc/self/cgroup")?;
    let of_line = |line: &str| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let version = match controllers {
            "" => 2,
            list if list.split(',').any(|c| c == "memory") => 1,
            _ => return None,
        };
        let is_it = |m: &&Mount| match version {
            2 => m.kind == "cgroup2",
            _ => m.kind == "cgroup" && m.options.split(',').any(|o| o == "memory"),
        };
        let mount = mounts.iter().find(is_it)?;
        // In a container, the group may have the name that it has on the host. The root of the mount is then the
        // container's own group.
        let inside = group.strip_prefix(mount.root.as_str()).unwrap_or(group).trim_start_matches('/');
        let mut folder = mount.point.join(inside);
        if !folder.is_dir() {
            folder.clone_from(&mount.point);
        }
        let up = folder.ancestors().take_while(|folder| folder.starts_with(&mount.point));
        up.filter_map(|folder| left_in(folder, version)).min()
    };
    groups.lines().filter_map(of_line).min()
}

/// Returns the memory in bytes available in one cgroup: limit − usage + reclaimable page cache. Returns `None` if it
/// has no limit.
fn left_in(folder: &Path, version: u8) -> Option<u64> {
    let number = |name: &str| read(folder.join(name))?.trim().parse::<u64>().ok();
    let (limit, usage, cache) = match version {
        2 => ("memory.max", "memory.current", ["inactive_file ", "active_file "]),
        _ => ("memory.limit_in_bytes", "memory.usage_in_bytes", ["total_inactive_file ", "total_active_file "]),
    };
    // Version 1 writes "no limit" as a number near 2^63.
    let limit = number(limit).filter(|&limit| limit < 1 << 60)?;
    let usage = number(usage)?;
    let stat = read(folder.join("memory.stat")).unwrap_or_default();
    let cached = |key: &&str| stat.lines().find_map(|line| line.strip_prefix(*key)?.trim().parse::<u64>().ok());
    let cache: u64 = cache.iter().filter_map(cached).sum();
    Some(limit.saturating_sub(usage.saturating_sub(cache)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_name_cores_memory_and_disk() {
        assert!(!name().is_empty());
        assert!(cores() >= 1);
        let memory = memory();
        assert!(memory.free > 0 && memory.free <= memory.total, "{memory:?}");
        let here = std::env::temp_dir();
        assert!(free_disk(&here.join("not/there/yet")).unwrap() > 0);
    }

    #[test]
    fn threads_follow_the_grant_of_the_site() {
        let granted = |at_hand, variables: &[(&str, &str)]| {
            let variable =
                |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
            let Grant { cores, each } = granted_by(at_hand, Some(16), variable);
            (cores, each)
        };
        let omp = ("OMP_NUM_THREADS", "4");
        assert_eq!(granted(16, &[]), (16, false));
        assert_eq!(granted(16, &[omp]), (4, true));
        assert_eq!(granted(16, &[("OMP_NUM_THREADS", "6,2")]), (6, true));
        assert_eq!(granted(16, &[("OMP_NUM_THREADS", "64")]), (16, true));
        for ignored in ["", "0", "-3", "all", ",4", "2.5"] {
            assert_eq!(granted(16, &[("OMP_NUM_THREADS", ignored)]), (16, false), "{ignored:?}");
        }
        // If a mask, a quota or a scheduler limits cores, OMP_NUM_THREADS does not count.
        assert_eq!(granted(8, &[omp]), (8, false));
        assert_eq!(granted(16, &[omp, ("SLURM_CPUS_PER_TASK", "12")]), (12, true));
        assert_eq!(granted(16, &[omp, ("NCPUS", "12")]), (12, false));
        assert_eq!(granted(16, &[("NCPUS", "12"), ("GPUGRAPH_THREADS", "3")]), (3, true));
        assert_eq!(granted(16, &[omp, ("NCPUS", "no number")]), (4, true));
        assert_eq!(granted(2, &[("PBS_NUM_PPN", "64")]), (2, false));
    }

    #[test]
    fn lists_of_cores_are_counted() {
        for (text, count) in [("0-15\n", Some(16)), ("0", Some(1)), ("0-3,8,10-11\n", Some(7)), ("", None), ("x", None)]
        {
            assert_eq!(listed(text), count, "{text:?}");
        }
    }

    #[test]
    fn memory_made_is_counted() {
        let before = process_memory();
        let block = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(process_memory() >= before + (60 << 20));
        drop(block);
    }

    #[test]
    fn a_cgroup_of_either_version_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        put("memory.max", "max\n");
        put("memory.current", "700\n");
        put("memory.stat", "anon 1\ninactive_file 200\nactive_file 100\n");
        assert_eq!(left_in(dir.path(), 2), None);
        put("memory.max", "1000\n");
        assert_eq!(left_in(dir.path(), 2), Some(600));
        put("memory.limit_in_bytes", "9223372036854771712\n");
        put("memory.usage_in_bytes", "950\n");
        put("memory.stat", "inactive_file 1\ntotal_inactive_file 40\ntotal_active_file 10\n");
        assert_eq!(left_in(dir.path(), 1), None);
        put("memory.limit_in_bytes", "900\n");
        assert_eq!(left_in(dir.path(), 1), Some(0));
        put("memory.limit_in_bytes", "1000\n");
        assert_eq!(left_in(dir.path(), 1), Some(100));
    }

    #[test]
    fn mount_lines_are_taken_apart() {
        let text = "36 35 98:0 /mnt1 /a\\040b rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
                    30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\nbroken line\n";
        let found = mounts(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].root.as_str(), found[0].kind.as_str()), ("/mnt1", "ext3"));
        assert_eq!(found[0].point, Path::new("/a b"));
        assert_eq!(found[1].options, "rw,memory");
    }
}
