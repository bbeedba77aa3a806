//! Copies the same batch to the GPUs of all ranks of a machine, but only once from the host. Each rank copies one part
//! of the batch from the host to its GPU, and the other parts from the GPUs of the other ranks. The ranks share the
//! link from the host, so the batch crosses this link once rather than once for each rank.

use super::CancelCheck;
use crate::comm::SharedCounters;
use crate::error::Result;
use crate::gpu::{CopySource, DeviceSlice, Event, PeerMemory, Uploader};

/// Index of the shared counter that stores how many steps a rank has copied from the host.
const FROM_HOST: usize = 0;
/// Index of the shared counter that stores how many steps a rank has copied from the other ranks.
const FROM_RANKS: usize = 1;
/// Granularity, in bytes, with which the bytes of a step are divided among the ranks. The last rank copies the rest.
const GRAIN: u64 = 256;

/// State of a rank that loads batches together with the other ranks of the machine. The ranks load the same batches,
/// step by step, to the same offsets in their arenas (all GPU memory of a rank).
pub struct Relay<'a> {
    peers: PeerMemory<'a>,
    counters: SharedCounters,
    /// Number of steps copied so far, in all batches.
    steps: u64,
}

impl<'a> Relay<'a> {
    /// Opens the relay of all ranks. Returns `None` on all ranks if they have no shared memory. Collective.
    pub fn open(peers: PeerMemory<'a>) -> Option<Relay<'a>> {
        let counters = peers.comm.shared_counters(2)?;
        tracing::debug!("ranks bring batches together");
        Some(Relay { peers, counters, steps: 0 })
    }

    /// Waits until no other rank still copies the previous batch from this rank's GPU.
    ///
    /// # Errors
    /// The error of `check_cancelled`.
    pub fn begin(&self, check_cancelled: CancelCheck<'_>) -> Result<()> {
        self.others().try_for_each(|rank| self.wait(rank, FROM_RANKS, check_cancelled))
    }

    /// Makes the copies (source, destination) of one step to this rank's `arena` (GPU memory), like
    /// [`Uploader::upload`]. Copies in `own` are made from the host. The bytes of `parts` are divided among the ranks:
    /// a rank copies its share from the host, and the rest from the other ranks' GPUs. The share must stay unchanged in
    /// the arena until the next [`Self::begin`] has returned.
    ///
    /// # Errors
    /// The error of `check_cancelled`, [`crate::Error::Lost`], and errors of reading.
    pub fn copy_step(
        &mut self,
        uploader: &mut Uploader,
        arena: DeviceSlice<u32>,
        own: Vec<(CopySource<'_>, DeviceSlice<u8>)>,
        parts: &[(CopySource<'_>, DeviceSlice<u8>)],
        check_cancelled: CancelCheck<'_>,
    ) -> Result<Event> {
        let comm = self.peers.comm;
        let all: u64 = parts.iter().map(|(_, to)| to.len()).sum();
        let end = |rank: usize| match rank + 1 == comm.ranks() {
            true => all,
            false => all / comm.ranks() as u64 * (rank as u64 + 1) / GRAIN * GRAIN,
        };
        let of = |rank: usize| within(parts, if rank == 0 { 0 } else { end(rank - 1) }, end(rank));
        uploader.upload(&[own, of(comm.rank())].concat(), check_cancelled)?.wait()?;
        self.steps += 1;
        self.counters.publish(FROM_HOST, self.steps);
        let mut theirs = Vec::new();
        for rank in self.others() {
            self.wait(rank, FROM_HOST, check_cancelled)?;
            theirs.extend(of(rank).into_iter().map(|(_, to)| {
                let from = self.peers.span(rank, to.address() - arena.address(), to.len() / 4, arena);
                (CopySource::Gpu(from.as_bytes()), to)
            }));
        }
        uploader.upload(&theirs, check_cancelled)
    }

    /// Reports to the other ranks that all steps of a batch have arrived on this rank, so that each of them may
    /// overwrite the parts of the batch that this rank copied from its GPU.
    pub fn end(&self) {
        self.counters.publish(FROM_RANKS, self.steps);
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let mine = self.peers.comm.rank();
        (0..self.peers.comm.ranks()).filter(move |&rank| rank != mine)
    }

    /// Waits until the counter `which` of `rank` has reached this rank's number of steps. If `rank` has died, the wait
    /// lasts until the job is ended.
    fn wait(&self, rank: usize, which: usize, check_cancelled: CancelCheck<'_>) -> Result<()> {
        self.counters.wait(rank, which, self.steps, check_cancelled).map(drop)
    }
}

/// Returns the copies (source, destination) of the bytes `from..end` of the concatenated `parts`.
fn within<'s>(
    parts: &[(CopySource<'s>, DeviceSlice<u8>)],
    from: u64,
    end: u64,
) -> Vec<(CopySource<'s>, DeviceSlice<u8>)> {
    let mut at = 0;
    let cut = |&(source, to): &(CopySource<'s>, DeviceSlice<u8>)| {
        let (first, last) = (from.max(at) - at, end.clamp(at, at + to.len()) - at);
        at += to.len();
        (first < last).then(|| (source.piece(first, last - first), to.part(first..last)))
    };
    parts.iter().filter_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_cut_at_the_given_bytes_and_none_is_lost() {
        let bytes: Vec<u8> = (0..200).collect();
        let lengths = [0usize, 7, 50, 0, 1, 142];
        let (mut parts, mut at) = (Vec::new(), 0);
        for length in lengths {
            parts.push((CopySource::Memory(&bytes[at..at + length]), DeviceSlice::at(1000 + at as u64, length as u64)));
            at += length;
        }
        for ends in [[0, 0, 200], [7, 58, 200], [6, 57, 200], [1, 199, 200], [200, 200, 200]] {
            let mut found = Vec::new();
            let mut from = 0;
            for end in ends {
                for (source, to) in within(&parts, from, end) {
                    let CopySource::Memory(part) = source else { panic!("memory") };
                    assert_eq!(part.len() as u64, to.len());
                    assert_eq!(to.address(), 1000 + u64::from(part[0]), "a byte goes where it belongs");
                    assert!((from..end).contains(&part[0].into()), "{ends:?}");
                    found.extend_from_slice(part);
                }
                from = end;
            }
            assert_eq!(found, bytes, "{ends:?}");
        }
    }
}
