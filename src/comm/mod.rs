//! The ranks of a job. One process alone is the case of one rank, so nothing is written twice.
//!
//! Ranks are what `mpirun`, `mpiexec` or `srun` started together. All of them call the collective operations
//! ([`Comm::barrier`] to [`Comm::exchange`]) in the same order, each from one thread at a time; [`Comm::send`] and
//! [`Comm::receive`] may be called beside them from any thread. No operation holds a core while it waits for others
//! that still compute: it asks from time to time and sleeps in between, up to a millisecond. An operation that MPI fails ends the job: there is no going on with some of the ranks, and the same line resumes.

#[cfg(not(feature = "mpi"))]
#[path = "absent.rs"]
pub mod mpi;
#[cfg(feature = "mpi")]
pub mod mpi;
/// Whether MPI was built in.
const WITH_MPI: bool = cfg!(feature = "mpi");

mod abort;
mod exchange;
mod launch;
mod work_stealing;

pub use abort::{end_with, report_panics};
pub use exchange::{Exchanged, Outbox, Shape};
pub use launch::{shorten_start, told_local_rank, told_local_ranks, told_to_wait};
pub use mpi::SharedCounters;
pub use work_stealing::{Pass, WorkStealing};

use crate::error::Result;
use crate::memory::{Number, bytes_of, numbers_of};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What this process opened; a panic has to find it.
static OPEN: OnceLock<Comm> = OnceLock::new();

/// Elements of a share are a multiple of this, so that no cache line of 64 bytes belongs to two ranks.
const GRAIN: usize = 16;

/// What MPI takes as it starts: Open MPI 4.1 and MPICH 4.0 took 3 to 7 MiB with up to 16 ranks on a machine.
const MPI_AT_START: u64 = 8 << 20;
/// What it takes more for each rank of a machine that messages come from.
const MPI_OF_A_PEER: u64 = 1 << 20;

/// How this process reaches the other ranks of its job. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Comm {
    /// A process by itself.
    Solo,
    /// One of several.
    Mpi(Arc<mpi::Ranks>),
}

/// Where a rank stands among the others.
#[derive(Debug, Clone, Copy)]
struct Place {
    rank: usize,
    ranks: usize,
    local_rank: usize,
    local_ranks: usize,
    nodes: usize,
}

/// How [`Comm::all_sum`] and its siblings combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Max,
    Min,
}

impl Comm {
    /// Most bytes that one collective operation holds of its own, beside what its caller gave it and gets, unless
    /// [`Comm::set_scratch`] says less; an exchange tells by [`Shape::bytes`]. Where ranks share memory, it is what all
    /// ranks of the machine hold together.
    pub const SCRATCH: usize = 16 << 20;

    /// About what MPI takes of a rank's memory by the time it is started, and no less than any MPI took that was tried, for
    /// `local_ranks` ranks of a machine: what a plan counts with that is made before. Networks with buffers of their own take
    /// more.
    pub fn expected_bytes(local_ranks: usize) -> u64 {
        MPI_AT_START + local_ranks as u64 * MPI_OF_A_PEER
    }

    /// Opens what the process was started with: several ranks where `mpirun` or `srun` says so, else `Solo`, for which
    /// MPI is not started. Calls after the first give the same.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) where several processes were started that can't find each other: by a build without the feature
    /// `mpi`, or by the launcher of another MPI; they would all write to one workdir.
    pub fn open() -> Result<Comm> {
        static OPENING: Mutex<()> = Mutex::new(());
        let _once = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(comm) = OPEN.get() {
            return Ok(comm.clone());
        }
        let started = launch::started(&|name| std::env::var(name).ok());
        if started != launch::Started::Alone {
            abort::watch_launcher();
        }
        let comm = match started {
            launch::Started::Alone => Comm::Solo,
            launch::Started::Several(expected) => match mpi::Ranks::open(expected)? {
                Some(ranks) => Comm::Mpi(Arc::new(ranks)),
                None => Comm::Solo,
            },
        };
        Ok(OPEN.get_or_init(|| comm).clone())
    }

    /// Ends what [`Comm::open`] began, with all ranks, once everything is done: by the thread that opened it, at the end
    /// of `main`. Messages that nobody received are dropped.
    pub fn close(&self) {
        if let Comm::Mpi(ranks) = self {
            ranks.close();
        }
    }

    /// This process, from 0.
    pub fn rank(&self) -> usize {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(ranks) => ranks.place().rank,
        }
    }

    /// Number of processes.
    pub fn ranks(&self) -> usize {
        match self {
            Comm::Solo => 1,
            Comm::Mpi(ranks) => ranks.place().ranks,
        }
    }

    /// Whether this is rank 0, who writes what there is one of.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// This process among those of the same machine, from 0.
    pub fn local_rank(&self) -> usize {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(ranks) => ranks.place().local_rank,
        }
    }

    /// Number of processes on this machine.
    pub fn local_ranks(&self) -> usize {
        match self {
            Comm::Solo => 1,
            Comm::Mpi(ranks) => ranks.place().local_ranks,
        }
    }

    /// Number of machines.
    pub fn nodes(&self) -> usize {
        match self {
            Comm::Solo => 1,
            Comm::Mpi(ranks) => ranks.place().nodes,
        }
    }

    /// Bytes of this process's memory that belong to MPI: what it had taken when all ranks had met, the same on every rank, and
    /// what it may take later on for each other rank of the machine.
    pub fn own_bytes(&self) -> u64 {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(_) => self.taken() + self.local_ranks() as u64 * MPI_OF_A_PEER,
        }
    }

    /// The part of [`Self::own_bytes`] that was taken when all ranks had met, by whatever started at the same time, too.
    pub fn taken(&self) -> u64 {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(ranks) => ranks.taken(),
        }
    }

    /// Has collective operations hold at most `bytes` of their own (64 at least), the same on every rank.
    pub fn set_scratch(&self, bytes: usize) {
        self.set_chunk(bytes / 4);
    }

    /// Returns when every rank has called it.
    pub fn barrier(&self) {
        if let Comm::Mpi(ranks) = self {
            ranks.barrier();
        }
    }

    /// The leader's `bytes`, to all. What the others give is dropped.
    pub fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Comm::Solo => bytes,
            Comm::Mpi(ranks) => ranks.broadcast(bytes),
        }
    }

    /// What every rank gave, by rank. Lengths may differ.
    pub fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        match self {
            Comm::Solo => vec![mine.to_vec()],
            Comm::Mpi(ranks) => ranks.all_gather(mine),
        }
    }

    /// Hands what every rank gave to `take`, which is told by whom, piece by piece: numbers of `T`, those of a rank in order. It
    /// holds no more than [`Comm::SCRATCH`] at once, where [`Comm::all_gather`] holds the bytes of all.
    pub fn gather_each<T: Number>(&self, mine: &[T], mut take: impl FnMut(usize, &[T])) {
        match self {
            Comm::Solo => take(0, mine),
            Comm::Mpi(ranks) => {
                let size = size_of::<T>();
                ranks.gather_pieces(bytes_of(mine), size, &mut |from, bytes| take(from, &numbers_of(bytes)));
            }
        }
    }

    /// Every element becomes its sum over ranks, which all give as many: counts, whose sums have 64 bits.
    pub fn all_sum(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Sum, values);
        }
    }

    /// Every element becomes its largest over ranks, which all give as many.
    pub fn all_max(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Max, values);
        }
    }

    /// Every element becomes its smallest over ranks, which all give as many.
    pub fn all_min(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Min, values);
        }
    }

    /// The elements of an array of `len` that are this rank's.
    pub fn share(&self, len: usize) -> Range<usize> {
        self.share_of(self.rank(), len)
    }

    /// The elements of an array of `len` that are `rank`'s: consecutive by rank, nearly equal, and multiples of 16
    /// elements but for the end of the array. Shares of short arrays may be empty.
    pub fn share_of(&self, rank: usize, len: usize) -> Range<usize> {
        share_of(rank, self.ranks(), len)
    }

    /// Sums an array over ranks: afterwards `values[share(len)]` holds the sums, which stop at the largest u32; the rest
    /// is of no meaning. Each rank sends and receives nearly once the bytes of the array.
    pub fn reduce_scatter(&self, values: &mut [u32]) {
        if let Comm::Mpi(ranks) = self {
            ranks.reduce_scatter(values);
        }
    }

    /// Every rank's share of an array goes to all: the second half of a sum that all get.
    pub fn all_gather_shares(&self, values: &mut [u32]) {
        if let Comm::Mpi(ranks) = self {
            ranks.all_gather_shares(values);
        }
    }

    /// Sums an array over ranks for the leader: the sums stop at the largest u64. What others hold then has no meaning.
    pub fn reduce_to_root(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.reduce_to_root(values);
        }
    }

    /// Many-to-many messages of bounded size while every rank works.
    ///
    /// `work` runs on a thread of its own, may use more, and sends through the [`Outbox`]. `take(from, words)` is called
    /// for every message that arrives, on `shape.takers` threads at once; messages of one rank may be taken in any order.
    /// What a rank sends to itself is taken by the sending thread. Between machines the calling thread moves messages; on one
    /// the sending threads copy them into shared memory, where they are taken. Returns when every
    /// rank's work is done and all that was sent to this one is taken. Receiving never waits for sending, so no order of
    /// sends deadlocks, as long as `take` waits for nothing that `work` does.
    ///
    /// # Errors
    /// The error of `take` or `work`, as soon as `work` has returned; once one failed, sends are refused. The exchange is
    /// then over for this rank alone: the job has to be ended for all, as [`end_with`] does.
    pub fn exchange<T: Send>(
        &self,
        shape: Shape,
        work: impl FnOnce(&Outbox<'_>) -> Result<T> + Send,
        take: impl Fn(usize, &[u32]) -> Result<()> + Sync,
    ) -> Result<(T, Exchanged)> {
        let shape = shape.checked()?;
        match self {
            Comm::Solo => exchange::alone(shape, work, &take),
            Comm::Mpi(ranks) => ranks.exchange(shape, work, &take),
        }
    }

    /// `numbers` numbers that this rank shows all others; none, on all of them, where ranks share no memory. Collective.
    pub fn shared_counters(&self, numbers: usize) -> Option<SharedCounters> {
        match self {
            Comm::Solo => None,
            Comm::Mpi(ranks) => SharedCounters::open(ranks, numbers),
        }
    }

    /// Sends a small message (a few KiB), without waiting for its receiver. Messages between two ranks arrive in order.
    /// To itself, too.
    pub fn send(&self, to: usize, message: &[u8]) {
        match self {
            Comm::Solo => MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).push_back(message.to_vec()),
            Comm::Mpi(ranks) => ranks.send(to, message),
        }
    }

    /// The next message that was sent here, and by whom; none if none has come. Call it now and then where messages may
    /// come: they lie in MPI's memory until then.
    pub fn receive(&self) -> Option<(usize, Vec<u8>)> {
        match self {
            Comm::Solo => {
                MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).pop_front().map(|message| (0, message))
            }
            Comm::Mpi(ranks) => ranks.receive(),
        }
    }

    /// Ends the job on all ranks with this exit code, from any thread.
    pub fn abort(&self, code: u8) -> ! {
        match self {
            Comm::Solo => std::process::exit(code.into()),
            Comm::Mpi(ranks) => ranks.abort(code),
        }
    }

    /// Waits until every rank has called it, but no longer than `at_most`. Only to end a job: nothing collective may follow.
    fn meet(&self, at_most: std::time::Duration, meanwhile: &dyn Fn()) {
        if let Comm::Mpi(ranks) = self {
            ranks.meet(at_most, meanwhile);
        }
    }

    /// Makes collective operations move `bytes` at once (16 at least), the same on every rank: tests make them few, to
    /// cross the seams with little data.
    pub fn set_chunk(&self, bytes: usize) {
        if let Comm::Mpi(ranks) = self {
            ranks.set_chunk(bytes.clamp(16, Comm::SCRATCH / 4));
        }
    }
}

/// What a process alone sent to itself.
static MESSAGES: Mutex<std::collections::VecDeque<Vec<u8>>> = Mutex::new(std::collections::VecDeque::new());

/// The elements of an array of `len` that belong to `rank` of `ranks`.
fn share_of(rank: usize, ranks: usize, len: usize) -> Range<usize> {
    let grains = len.div_ceil(GRAIN);
    // In 128 bits: an array of bytes may have 2^60 elements, in theory.
    let bound = |rank: usize| (((grains as u128 * rank as u128 / ranks as u128) as usize) * GRAIN).min(len);
    bound(rank)..bound(rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_consecutive_nearly_equal_and_begin_at_cache_lines() {
        for ranks in [1, 2, 3, 7, 8, 64] {
            for len in [0, 1, 15, 16, 17, 100, 1000, 4097, 1 << 31, usize::MAX / 2] {
                let shares: Vec<_> = (0..ranks).map(|rank| share_of(rank, ranks, len)).collect();
                assert_eq!((shares[0].start, shares[ranks - 1].end), (0, len));
                for pair in shares.windows(2) {
                    assert_eq!(pair[0].end, pair[1].start);
                }
                assert!(shares.iter().all(|share| share.start % 16 == 0 || share.start == len), "{shares:?}");
                let lengths: Vec<_> = shares.iter().map(ExactSizeIterator::len).collect();
                let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
                assert!(most - least < 32, "{lengths:?}");
            }
        }
    }

    #[test]
    fn a_process_alone_is_the_case_of_one_rank() {
        let comm = Comm::Solo;
        assert_eq!((comm.rank(), comm.ranks(), comm.local_rank(), comm.local_ranks(), comm.nodes()), (0, 1, 0, 1, 1));
        let mut values = [3, 4];
        comm.all_sum(&mut values);
        comm.all_min(&mut values);
        comm.reduce_to_root(&mut values);
        assert_eq!(values, [3, 4]);
        assert_eq!(comm.all_gather(b"me"), [b"me".to_vec()]);
        assert_eq!(comm.share(100), 0..100);
        comm.send(0, b"a");
        comm.send(0, b"b");
        assert_eq!(comm.receive(), Some((0, b"a".to_vec())));
        assert_eq!(comm.receive(), Some((0, b"b".to_vec())));
        assert_eq!(comm.receive(), None);
    }
}
