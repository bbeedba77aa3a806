//! Checks that MPI ranks agree before they share a job, and divides a machine's cores and memory among its ranks.

use crate::comm::{Comm, on_leader};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::job::plan::resources;
use crate::process::host;
use crate::store::os;
use crate::store::regular;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// Maximum time for which a file that another node wrote may stay invisible: the interval after which network file
/// systems look up names again.
pub(crate) const OUT_OF_SIGHT: Duration = Duration::from_secs(70);
/// Time to wait for a file of another rank in a folder that seems to be on a local disk of this node. It is not zero,
/// because the type of the file system may have been misjudged.
const OUT_OF_REACH: Duration = Duration::from_secs(5);

/// Returns an error, naming the rank, if a rank's program version or job differs from the leader's. Collective.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check_alike(job: &Job, comm: &Comm) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mine = RankIdentity { version, job: xxh3_64(format!("{job:?}").as_bytes()) };
    refuse_others(comm, &mine, |leader, other| match leader.version == other.version {
        true => {
            "was given another job than rank 0: start all ranks with the same job file, --set and environment".into()
        }
        false => format!("runs gpugraph {}, rank 0 runs {}: install one version", other.version, leader.version),
    })
}

/// The program version of a rank, and a hash of its job. Other versions of the program parse this, so the fields must
/// not be renamed.
#[derive(PartialEq, Serialize, Deserialize)]
struct RankIdentity {
    version: String,
    job: u64,
}

/// Returns an error, naming the rank and the input `name`, if a rank's input differs from the leader's. `identity` is
/// the hash of the input as this rank sees it. Collective.
///
/// # Errors
/// [`Error::Usage`].
pub(crate) fn check_input(comm: &Comm, name: &str, identity: u64) -> Result<()> {
    refuse_others(comm, &identity, |_, _| {
        format!(
            "sees another {name} than rank 0 (by size, time, inode or contents): all ranks must read one shared file"
        )
    })
}

fn refuse_others<T: Serialize + DeserializeOwned + PartialEq>(
    comm: &Comm,
    mine: &T,
    why: impl Fn(&T, &T) -> String,
) -> Result<()> {
    if comm.ranks() == 1 {
        return Ok(());
    }
    let all = gathered(comm, mine)?;
    let leader = &all[0].1;
    match all.iter().enumerate().find(|(_, (_, other))| other != leader) {
        Some((rank, (host, other))) => Err(Error::Usage(format!("rank {rank} on {host} {}", why(leader, other)))),
        None => Ok(()),
    }
}

/// Gathers `mine` from all ranks. Returns the values in rank order, each with the host name of its rank. Collective.
///
/// # Errors
/// [`Error::internal`] if the value can't be converted to or from JSON.
pub(crate) fn gathered<T: Serialize + DeserializeOwned>(comm: &Comm, mine: &T) -> Result<Vec<(String, T)>> {
    let wrong = |e| Error::internal("compare ranks", e);
    let all = comm.all_gather(&serde_json::to_vec(&(host::name(), mine)).map_err(wrong)?);
    all.iter().map(|one| serde_json::from_slice(one).map_err(wrong)).collect()
}

/// Returns an error unless all ranks see the workdir. To test it, the leader creates a temporary file there.
/// Collective.
///
/// # Errors
/// [`Error::Io`], which names a rank that does not see the file, and its host.
pub(crate) fn check_shared(workdir: &Path, comm: &Comm) -> Result<()> {
    if comm.nodes() == 1 {
        return Ok(());
    }
    let token = workdir.join("ranks.token");
    let text = format!("{}:{}:{:?}", host::name(), std::process::id(), std::time::SystemTime::now());
    let text = on_leader(comm, || {
        regular::create(&token)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|e| Error::io("write", &token, e))?;
        Ok(text)
    })?;
    let patience = if os::is_local(workdir) { OUT_OF_REACH } else { OUT_OF_SIGHT };
    let seen = wait_for(patience, || regular::read(&token).ok().filter(|found| found == text.as_bytes())).is_some();
    let all = gathered(comm, &seen)?;
    if comm.is_leader() {
        let _ = std::fs::remove_file(&token);
    }
    let Some((rank, (host, _))) = all.iter().enumerate().find(|(_, (_, seen))| !seen) else { return Ok(()) };
    if !comm.is_leader() {
        // Waits here, because the leader reports the error and terminates all ranks.
        comm.barrier();
    }
    let why = format!("rank {rank} on {host} does not see the workdir of rank 0");
    let e = std::io::Error::new(std::io::ErrorKind::NotFound, why);
    Err(Error::io("share the workdir (it must be on a file system of all nodes)", workdir, e))
}

/// Calls `look` repeatedly until it returns a value, for at most `patience`. This is needed for files that another node
/// may just have written, and that are not visible here yet.
pub(crate) fn wait_for<T>(patience: Duration, look: impl Fn() -> Option<T>) -> Option<T> {
    let started = Instant::now();
    loop {
        match look() {
            None if started.elapsed() < patience => std::thread::sleep(Duration::from_millis(200)),
            seen => return seen,
        }
    }
}

/// Returns the number of threads of this rank: the configured number, or this rank's share of the cores that the
/// ranks of its machine may use. Collective.
pub(crate) fn threads(job: &Job, comm: &Comm) -> usize {
    let mine = resources::threads(job.limits.threads);
    // Either all ranks return here or none does, because the collectives below need all of them.
    if job.limits.threads > 0 || comm.ranks() == 1 {
        return mine;
    }
    let all = comm.all_gather(&host::affinity());
    let here = comm.all_gather(host::name().as_bytes());
    let local = all.iter().zip(&here).filter(|(_, name)| **name == here[comm.rank()]).map(|(mask, _)| mask);
    part_of(mine, &all[comm.rank()], local, comm.local_ranks(), host::granted().each)
}

/// Returns the number of cores for one of `ranks` ranks that share a machine. This rank may use `mine` cores, and
/// `mask` is its affinity mask. `masks` are the affinity masks of all these ranks. `granted_each` is true if the
/// scheduler granted `mine` cores to each rank, not to all of them together.
fn part_of<'a>(
    mine: usize,
    mask: &[u8],
    masks: impl Iterator<Item = &'a Vec<u8>>,
    ranks: usize,
    granted_each: bool,
) -> usize {
    // Ranks that are bound to cores have different masks; otherwise all ranks have the same mask.
    let mut cores: Vec<u8> = Vec::new();
    for mask in masks {
        cores.resize(cores.len().max(mask.len()), 0);
        cores.iter_mut().zip(mask).for_each(|(all, one)| *all |= one);
    }
    let count = |mask: &[u8]| mask.iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
    let bound = count(mask) < count(&cores);
    match bound || granted_each {
        true => mine.min(count(&cores) / ranks).max(1),
        false => (mine / ranks).max(1),
    }
}

/// Returns the memory limit of this rank in bytes: the configured limit, or this rank's share of the machine's free
/// memory.
///
/// # Errors
/// [`crate::Error::Usage`] if no limit is configured and the amount of free memory can't be read.
pub(crate) fn host_memory(job: &Job, comm: &Comm) -> Result<u64> {
    let limit = resources::host_memory(&job.limits);
    if job.limits.host_memory.is_some() {
        return limit;
    }
    // All ranks must read free memory before any of them allocates.
    comm.barrier();
    Ok(limit? / comm.local_ranks() as u64)
}

#[cfg(test)]
mod tests {
    use super::part_of;

    #[test]
    fn cores_granted_to_each_rank_are_not_divided_again() {
        let (all, none) = (vec![0xff_u8; 8], Vec::new());
        let four = || [&all; 4].into_iter();
        // 64 cores are visible, and 16 are granted: to each of four ranks, or to all of them together.
        assert_eq!(part_of(16, &all, four(), 4, true), 16);
        assert_eq!(part_of(16, &all, four(), 4, false), 4);
        assert_eq!(part_of(64, &all, four(), 4, true), 16);
        // Ranks bound to the halves of a machine.
        let halves = [vec![0xff, 0], vec![0, 0xff]];
        assert_eq!(part_of(8, &halves[0], halves.iter(), 2, false), 8);
        // A single rank on a machine, and masks that can't be read.
        assert_eq!(part_of(64, &all, [&all].into_iter(), 1, false), 64);
        assert_eq!(part_of(2, &none, [&none; 4].into_iter(), 4, false), 1);
    }
}
