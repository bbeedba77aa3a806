//! Sets the environment variables that CUDA reads when it starts: which GPU this process sees, and how many connections
//! to the GPU CUDA opens.
//!
//! CUDA starts and ends every GPU that it sees. On a machine with four H200, a process that sees one GPU starts it in
//! 0.2 s. A process that sees all takes 0.6 to 1.1 s, and four such processes take turns. A process computes with one
//! GPU, so it need not see the others. Since CUDA 10.1 it can access the memory of GPUs that it does not see.
//!
//! Files in `/dev` show how many GPUs there are, and the driver, which a job needs anyway, reports the rest. NVML (the
//! crate nvml-wrapper) would be one more library that containers may lack, and it does not obey `CUDA_VISIBLE_DEVICES`.
#![allow(unsafe_code)] // changes the environment, while the process has one thread

use std::sync::OnceLock;

const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// The only GPU that this process sees, and the number of GPUs from which it was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisibleGpu {
    /// Index of the chosen GPU among all GPUs that this process could see.
    pub index: u32,
    /// Number of GPUs that this process could see.
    pub of: usize,
}

static VISIBLE: OnceLock<VisibleGpu> = OnceLock::new();

/// Makes CUDA see only GPU `wanted`. If `wanted` is `None`, chooses a GPU by `local_rank`, so that the ranks of this
/// machine are spread over its GPUs. Does nothing if the GPU does not exist or is the only one.
///
/// # Safety
/// No other thread may run yet, and CUDA must not have been started.
pub unsafe fn restrict_to_one(wanted: Option<u32>, local_rank: usize) {
    let names = match std::env::var(VARIABLE) {
        Ok(list) => listed(&list),
        Err(std::env::VarError::NotPresent) => (0..devices()).map(|index| index.to_string()).collect(),
        Err(_) => return,
    };
    let Some((seen, name)) = choose(&names, wanted, local_rank) else { return };
    // SAFETY: the caller's promise.
    unsafe { std::env::set_var(VARIABLE, name) };
    let _ = VISIBLE.set(seen);
}

/// Name and value of the environment variable that limits the number of connections to a GPU. Two connections are
/// enough even if several ranks wait for each other.
const CONNECTIONS: (&str, &str) = ("CUDA_DEVICE_MAX_CONNECTIONS", "2");
/// Smallest number of ranks per machine for which fewer connections to the GPU save time.
const MANY_RANKS: usize = 3;

/// Makes CUDA open fewer connections to the GPU than its default of eight, if this machine has many ranks
/// (`local_ranks`). A driver opens and closes connections one by one while ranks wait for each other. With fewer
/// connections, four ranks with an H200 each took 1.2 to 1.4 s rather than 1.6 s to start, and 0.15 to 0.2 s rather
/// than 0.3 s to end. Sorting, which queues many small kernels, takes longer: 0.28 s rather than 0.19 s at scale 29.
///
/// # Safety
/// The same conditions as for [`restrict_to_one`].
pub unsafe fn shorten_start(local_ranks: usize) {
    let (name, enough) = CONNECTIONS;
    if local_ranks >= MANY_RANKS && std::env::var_os(name).is_none() {
        // SAFETY: the caller's promise.
        unsafe { std::env::set_var(name, enough) };
    }
}

/// Returns the GPU that [`restrict_to_one`] chose, if any.
pub fn visible_gpu() -> Option<VisibleGpu> {
    VISIBLE.get().copied()
}

/// Returns true if the environment hides all GPUs from CUDA.
pub fn all_hidden() -> bool {
    std::env::var(VARIABLE).is_ok_and(|list| listed(&list).is_empty())
}

fn choose(names: &[String], wanted: Option<u32>, local_rank: usize) -> Option<(VisibleGpu, &String)> {
    let of = names.len();
    if of < 2 {
        return None;
    }
    let index = wanted.map_or(local_rank % of, |gpu| gpu as usize);
    names.get(index).map(|name| (VisibleGpu { index: index as u32, of }, name))
}

/// Splits a list of GPUs as CUDA does: names after the first invalid name are ignored.
fn listed(list: &str) -> Vec<String> {
    let name = |name: &&str| {
        let number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        number || name.starts_with("GPU-") || name.starts_with("MIG-")
    };
    list.split(',').map(str::trim).take_while(name).map(str::to_owned).collect()
}

/// Counts the GPUs whose device files this process may open; 0 on systems without such files.
fn devices() -> usize {
    let Ok(folder) = std::fs::read_dir("/dev") else { return 0 };
    let is_gpu = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let number = entry.file_name().into_string().ok()?.strip_prefix("nvidia")?.parse::<u32>();
        let path = std::ffi::CString::new(entry.path().into_os_string().into_string().ok()?).ok()?;
        // Call `access` rather than open the device, because opening may start it, which takes seconds. SAFETY: the
        // path is a string that outlives the call.
        let allowed = unsafe { libc::access(path.as_ptr(), libc::R_OK | libc::W_OK) } == 0;
        (number.is_ok() && allowed).then_some(())
    };
    folder.filter_map(is_gpu).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_cuda_reads_it() {
        assert_eq!(listed("0, 2,GPU-8f3c,MIG-1/0"), ["0", "2", "GPU-8f3c", "MIG-1/0"]);
        for (list, first) in [("1,-1,2", 1), ("-1", 0), ("", 0), ("NoDevFiles", 0), ("0,,1", 1)] {
            assert_eq!(listed(list).len(), first, "{list}");
        }
    }

    #[test]
    fn ranks_take_turns_unless_one_is_wanted() {
        let names = listed("3,1,GPU-7");
        let of = |wanted, rank| choose(&names, wanted, rank).map(|(seen, name)| (seen.index, seen.of, name.as_str()));
        assert_eq!(
            [0, 1, 2, 3].map(|rank| of(None, rank).map(|(index, ..)| index)),
            [Some(0), Some(1), Some(2), Some(0)]
        );
        assert_eq!(of(None, 2), Some((2, 3, "GPU-7")));
        assert_eq!(of(Some(1), 2), Some((1, 3, "1")));
        assert_eq!(of(Some(3), 0), None);
        assert_eq!(choose(&listed("5"), None, 0), None);
    }
}
