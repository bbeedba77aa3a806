//! What CUDA is told before it starts: which of a machine's GPUs this process sees, and by how many ways it reaches it.
//!
//! CUDA starts all that it sees and ends all of them: on a machine with four H200 a process that sees one starts it in 0.2 s, one
//! that sees all takes 0.6 to 1.1 s, four of them at once take turns. A process computes with one GPU, so it need see no other;
//! from CUDA 10.1 on it reaches the memory of others all the same.
#![allow(unsafe_code)] // the environment may be changed while there is one thread alone

use std::sync::OnceLock;

const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// The GPU that alone is seen, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Its number among those that there are.
    pub index: u32,
    /// GPUs that this process might see.
    pub of: usize,
}

static SEEN: OnceLock<Seen> = OnceLock::new();

/// Has CUDA see GPU `wanted` alone, or else the one whose turn it is for rank `local_rank` of this machine. Of no effect where
/// that is not there, or there is no other.
///
/// # Safety
/// No other thread runs yet, and CUDA was not started.
pub unsafe fn see_one(wanted: Option<u32>, local_rank: usize) {
    let names = match std::env::var(VARIABLE) {
        Ok(list) => listed(&list),
        Err(std::env::VarError::NotPresent) => (0..devices()).map(|index| index.to_string()).collect(),
        Err(_) => return,
    };
    let Some((seen, name)) = one(&names, wanted, local_rank) else { return };
    // SAFETY: the caller's promise.
    unsafe { std::env::set_var(VARIABLE, name) };
    let _ = SEEN.set(seen);
}

/// What says by how many ways work goes to a GPU, and how many are enough for ranks that wait for each other's.
const CONNECTIONS: (&str, &str) = ("CUDA_DEVICE_MAX_CONNECTIONS", "2");
/// From so many ranks of a machine on they are worth it.
const MANY_RANKS: usize = 3;

/// Has CUDA make fewer ways for work to a GPU than its eight, if there are many `local_ranks`. A driver makes and closes them one by one,
/// and ranks wait for each other: of four with an H200 each it took 1.2 to 1.4 s rather than 1.6 to start, and 0.15 to 0.2 s rather than
/// 0.3 to end. What queues many small kernels, sorting, takes longer: 0.28 s rather than 0.19 s at scale 29.
///
/// # Safety
/// As [`see_one`].
pub unsafe fn shorten_start(local_ranks: usize) {
    let (name, enough) = CONNECTIONS;
    if local_ranks >= MANY_RANKS && std::env::var_os(name).is_none() {
        // SAFETY: the caller's promise.
        unsafe { std::env::set_var(name, enough) };
    }
}

/// What [`see_one`] chose, if it did.
pub fn seen() -> Option<Seen> {
    SEEN.get().copied()
}

fn one(names: &[String], wanted: Option<u32>, local_rank: usize) -> Option<(Seen, &String)> {
    let of = names.len();
    if of < 2 {
        return None;
    }
    let index = wanted.map_or(local_rank % of, |gpu| gpu as usize);
    names.get(index).map(|name| (Seen { index: index as u32, of }, name))
}

/// The GPUs that a list names, as CUDA reads it: what stands behind a name that is none does not count.
fn listed(list: &str) -> Vec<String> {
    let name = |name: &&str| {
        let number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        number || name.starts_with("GPU-") || name.starts_with("MIG-")
    };
    list.split(',').map(str::trim).take_while(name).map(str::to_owned).collect()
}

/// GPUs that this process may open. None where they are not files of this kind.
fn devices() -> usize {
    let Ok(folder) = std::fs::read_dir("/dev") else { return 0 };
    let is_gpu = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.ok()?;
        let number = entry.file_name().into_string().ok()?.strip_prefix("nvidia")?.parse::<u32>();
        let path = std::ffi::CString::new(entry.path().into_os_string().into_string().ok()?).ok()?;
        // Opening one may start it, which takes seconds.
        // SAFETY: the path is a string that outlives the call.
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
        let of = |wanted, rank| one(&names, wanted, rank).map(|(seen, name)| (seen.index, seen.of, name.as_str()));
        assert_eq!(
            [0, 1, 2, 3].map(|rank| of(None, rank).map(|(index, ..)| index)),
            [Some(0), Some(1), Some(2), Some(0)]
        );
        assert_eq!(of(None, 2), Some((2, 3, "GPU-7")));
        assert_eq!(of(Some(1), 2), Some((1, 3, "1")));
        assert_eq!(of(Some(3), 0), None);
        assert_eq!(one(&listed("5"), None, 0), None);
    }
}
