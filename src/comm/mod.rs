//! The ranks of a job, and how they communicate. A process started alone is a job of one rank and uses the same code.
//!
//! Ranks are processes that `mpirun`, `mpiexec` or `srun` started together. All ranks call the collective operations
//! ([`Comm::barrier`] to [`Comm::exchange`]) in the same order, each rank from one thread at a time. [`Comm::send`] and
//! [`Comm::receive`] may be called at any time from any thread. An operation that waits for ranks that still compute
//! does not occupy a core: it polls, and sleeps up to a millisecond between polls ([`Rounds`] poll without sleep for
//! some 50 µs first). If MPI fails, the job ends, because it can't go on with some of the ranks. The same command line
//! resumes it.

#[cfg(not(feature = "mpi"))]
#[path = "absent.rs"]
pub mod mpi;
#[cfg(feature = "mpi")]
pub mod mpi;
const WITH_MPI: bool = cfg!(feature = "mpi");

mod abort;
mod agreement;
mod carrier;
mod exchange;
mod launch;
mod link_slots;
mod round_backoff;
mod rounds;
mod share;
mod shared_number;
mod shm;
#[cfg(test)]
mod tests;
mod work_stealing;

pub use abort::{end_with, report_panics};
pub use agreement::{is_first_of, on_leader, reports_for_node};
pub use exchange::{ExchangeTraffic, MessageLimits, Outbox};
pub use launch::{launched_later, launched_local_rank, launched_local_ranks, shorten_start};
pub use rounds::{Round, Rounds};
pub use share::Summand;
pub use shared_number::SharedNumber;
pub use shm::{SharedCounters, SharedMemory};
pub use work_stealing::{Pass, WorkStealing};

use crate::error::Result;
use crate::memory::{Number, bytes_of, bytes_of_mut, numbers_of};
use crate::process::traffic;
use parking_lot::Mutex;
use shm::SharedSums;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The communicator that this process has opened. It is global so that the panic hook can use it.
static OPEN: OnceLock<Comm> = OnceLock::new();

/// Bytes of memory that MPI takes when it starts. Open MPI 4.1 and MPICH 4.0 took 3 to 7 MiB with up to 16 ranks on a
/// machine.
const MPI_AT_START: u64 = 8 << 20;
/// Bytes of memory that MPI may take later for each rank of the same machine that sends messages.
const MPI_PER_PEER: u64 = 1 << 20;

/// Communicator: the handle through which this process reaches the other ranks of its job. It is cheap to clone.
#[derive(Debug, Clone)]
pub enum Comm {
    /// The only rank of a job.
    Solo,
    /// One of several ranks of an MPI job.
    Mpi(Arc<mpi::Ranks>),
}

/// Position of a rank among all ranks and on its machine.
#[derive(Debug, Clone, Copy)]
struct RankPosition {
    rank: usize,
    ranks: usize,
    local_rank: usize,
    local_ranks: usize,
    nodes: usize,
}

/// Position of the only rank of a job.
const ALONE: RankPosition = RankPosition { rank: 0, ranks: 1, local_rank: 0, local_ranks: 1, nodes: 1 };

/// Operation by which [`Comm::all_sum`], [`Comm::all_max`] and [`Comm::all_min`] combine numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Max,
    Min,
}

impl Comm {
    /// Maximum number of bytes that one collective operation allocates in addition to its arguments and results.
    /// [`Comm::set_scratch`] can lower it. If ranks share memory, it is the limit for all ranks of the machine
    /// together. [`Comm::exchange`] has its own limit: [`MessageLimits::bytes`].
    pub const SCRATCH: usize = 16 << 20;

    /// Number of elements of a long array that ranks exchange at a time.
    pub const PIECE: usize = 1 << 18;

    /// Estimates the bytes of memory that MPI takes in a rank by the time it has started, with `local_ranks` ranks on a
    /// machine. Plans that are made before MPI starts use this estimate. No tested MPI took more, but MPI may take more
    /// on a network that has its own buffers.
    pub fn expected_bytes(local_ranks: usize) -> u64 {
        MPI_AT_START + local_ranks as u64 * MPI_PER_PEER
    }

    /// Opens the communicator of the processes that were started together. There are several ranks if `mpirun` or
    /// `srun` started them. Otherwise it is `Solo`, and MPI is not started. Later calls return the same communicator.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if several processes were started but can't find each other, because the
    /// build lacks the feature `mpi` or the launcher belongs to another MPI. All these processes would write to one
    /// workdir.
    pub fn open() -> Result<Comm> {
        static OPENING: Mutex<()> = Mutex::new(());
        let _once = OPENING.lock();
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

    /// Closes MPI. All ranks must call this. The thread that opened MPI calls it at the end of `main`, when all work is
    /// done. Messages that nobody has received are dropped.
    pub fn close(&self) {
        if let Comm::Mpi(ranks) = self {
            ranks.close();
        }
    }

    /// Returns the handle to the other ranks, if there are any.
    fn several(&self) -> Option<&Arc<mpi::Ranks>> {
        match self {
            Comm::Solo => None,
            Comm::Mpi(ranks) => Some(ranks),
        }
    }

    fn position(&self) -> &RankPosition {
        self.several().map_or(&ALONE, |ranks| ranks.position())
    }

    /// Returns the rank of this process, from 0.
    pub fn rank(&self) -> usize {
        self.position().rank
    }

    /// Returns the number of ranks in the job.
    pub fn ranks(&self) -> usize {
        self.position().ranks
    }

    /// Returns true on rank 0, which writes the files that a job has only once.
    pub fn is_leader(&self) -> bool {
        self.rank() == 0
    }

    /// Returns this rank's number among the ranks of its machine, from 0.
    pub fn local_rank(&self) -> usize {
        self.position().local_rank
    }

    /// Returns the number of ranks on this machine.
    pub fn local_ranks(&self) -> usize {
        self.position().local_ranks
    }

    /// Returns the number of machines on which the job runs.
    pub fn nodes(&self) -> usize {
        self.position().nodes
    }

    /// Estimates the bytes of this process's memory that belong to MPI: [`Self::taken`], and the bytes that MPI may
    /// take later for the ranks of this machine. On machines with equally many ranks the number is the same.
    pub fn own_bytes(&self) -> u64 {
        self.several().map_or(0, |ranks| ranks.taken() + self.local_ranks() as u64 * MPI_PER_PEER)
    }

    /// Returns the bytes of memory that MPI had taken when all ranks had started, the maximum over the ranks. They
    /// include memory of other code that started at the same time.
    pub fn taken(&self) -> u64 {
        self.several().map_or(0, |ranks| ranks.taken())
    }

    /// Limits the scratch memory of collective operations to `bytes` (at least 64). Every rank must set the same limit.
    pub fn set_scratch(&self, bytes: usize) {
        self.set_chunk(bytes / 4);
    }

    /// Waits until every rank has called this function. Collective.
    pub fn barrier(&self) {
        if let Comm::Mpi(ranks) = self {
            ranks.barrier();
        }
    }

    /// Returns the `bytes` of rank 0 on all ranks. The `bytes` of other ranks are dropped. Collective.
    pub fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Comm::Solo => bytes,
            Comm::Mpi(ranks) => ranks.broadcast(bytes),
        }
    }

    /// Copies the numbers of rank 0 to all ranks, [`Self::PIECE`] at a time. All ranks pass arrays of the same length.
    /// Collective.
    pub fn broadcast_numbers<T: Number>(&self, values: &mut [T]) {
        for piece in values.chunks_mut(Comm::PIECE).filter(|_| self.ranks() > 1) {
            let mine = if self.is_leader() { bytes_of(piece).to_vec() } else { Vec::new() };
            bytes_of_mut(piece).copy_from_slice(&self.broadcast(mine));
        }
    }

    /// Returns the bytes of every rank, indexed by rank. Lengths may differ. Collective.
    pub fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        let Some(ranks) = self.several() else { return vec![mine.to_vec()] };
        let mut all = vec![Vec::new(); self.ranks()];
        ranks.gather_pieces(mine, 1, &mut |rank, piece| all[rank].extend_from_slice(piece));
        all
    }

    /// Passes the numbers of every rank to `take(rank, numbers)`, in slices of any length. It needs at most
    /// [`Comm::SCRATCH`] bytes of memory, while [`Comm::all_gather`] needs memory for the bytes of all ranks.
    /// Collective.
    pub fn gather_each<T: Number>(&self, mine: &[T], mut take: impl FnMut(usize, &[T])) {
        match self {
            Comm::Solo => take(0, mine),
            Comm::Mpi(ranks) => {
                let size = size_of::<T>();
                ranks.gather_pieces(bytes_of(mine), size, &mut |from, bytes| take(from, &numbers_of(bytes)));
            }
        }
    }

    /// Replaces each element by its sum over the ranks, in 64 bits. All ranks pass the same number of elements.
    /// Collective.
    pub fn all_sum(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Sum, values);
        }
    }

    /// Replaces each element by its maximum over the ranks. All ranks pass the same number of elements. Collective.
    pub fn all_max(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Max, values);
        }
    }

    /// Replaces each element by its minimum over the ranks. All ranks pass the same number of elements. Collective.
    pub fn all_min(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Min, values);
        }
    }

    /// Returns, on every rank, whether `flag` is true on any rank. Collective.
    pub fn any(&self, flag: bool) -> bool {
        let mut flags = [u64::from(flag)];
        self.all_max(&mut flags);
        flags == [1]
    }

    /// Returns, on every rank, whether `flag` is true on all ranks. Collective.
    pub fn all(&self, flag: bool) -> bool {
        !self.any(!flag)
    }

    /// Returns the range of an array of `len` elements that belongs to this rank.
    pub fn share(&self, len: usize) -> Range<usize> {
        self.share_of(self.rank(), len)
    }

    /// Returns the range of an array of `len` elements that belongs to `rank`. The ranges follow each other in the
    /// order of ranks and have nearly the same length. Each length is a multiple of 16 elements, except at the end of
    /// the array. Short arrays may leave some ranks without elements.
    pub fn share_of(&self, rank: usize, len: usize) -> Range<usize> {
        share::of(rank, self.ranks(), len)
    }

    /// Sums an array over the ranks (reduce-scatter): `values[share(len)]` gets the sums, which saturate at the largest
    /// number. Other elements are undefined afterwards. Each rank sends and receives somewhat less than the bytes of
    /// the array. Collective.
    pub fn reduce_scatter<T: Summand>(&self, values: &mut [T]) {
        if let Comm::Mpi(ranks) = self {
            // Each rank sends to every other rank that rank's share.
            traffic::count((size_of::<T>() * (values.len() - self.share(values.len()).len())) as u64);
            match SharedSums::open(ranks, size_of_val(values)) {
                Some(mut shared) => shared.add_shares(values, T::plus),
                None => ranks.add_shares(values, T::plus),
            }
        }
    }

    /// Copies every rank's share of an array to all ranks. Called after [`Self::reduce_scatter`], it gives all ranks
    /// all sums. Collective.
    pub fn all_gather_shares<T: Number>(&self, values: &mut [T]) {
        if let Comm::Mpi(ranks) = self {
            traffic::count((size_of::<T>() * self.share(values.len()).len() * (self.ranks() - 1)) as u64);
            match SharedSums::open(ranks, size_of_val(values)) {
                Some(mut shared) => shared.gather_shares(values, |_| true),
                None => ranks.gather_shares(values, |_| true),
            }
        }
    }

    /// Sums an array over the ranks onto rank 0; sums saturate at the largest u64. The other ranks' arrays are
    /// undefined afterwards. Collective.
    pub fn reduce_to_root(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            match SharedSums::open(ranks, size_of_val(values)) {
                Some(mut shared) => {
                    shared.add_shares(values, u64::saturating_add);
                    shared.gather_shares(values, |rank| rank == 0);
                }
                None => {
                    ranks.add_shares(values, u64::saturating_add);
                    ranks.gather_shares(values, |rank| rank == 0);
                }
            }
        }
    }

    /// Exchanges many-to-many messages of bounded size while every rank works. Collective.
    ///
    /// `work` runs on its own thread, may start more threads, and sends through the [`Outbox`]. `take(from, words)` is
    /// called for every message that arrives, on `limits.takers` threads at the same time. Messages from the same rank
    /// may be taken in any order. A message of a rank to itself is taken by the thread that sends it. The sending
    /// threads copy messages into shared memory, or pass them to MPI. The call returns when every rank's work is done
    /// and all messages to this rank are taken. Receiving never waits for sending, so no order of sends can deadlock.
    /// `take` must not wait for anything that `work` does.
    ///
    /// # Errors
    /// The error of `take` or `work`, as soon as `work` has returned. After a failure, sends are refused. The exchange
    /// has then ended only on this rank, so the job must be ended on all ranks, as [`end_with`] does.
    pub fn exchange<T: Send>(
        &self,
        limits: MessageLimits,
        work: impl FnOnce(&Outbox<'_>) -> Result<T> + Send,
        take: impl Fn(usize, &[u32]) -> Result<()> + Sync,
    ) -> Result<(T, ExchangeTraffic)> {
        let limits = limits.checked()?;
        match self {
            Comm::Solo => exchange::run_single(limits, work, &take),
            Comm::Mpi(ranks) => exchange::run_among(ranks, limits, work, &take),
        }
    }

    /// Opens links between all ranks for rounds of messages. A link carries up to `link` bytes in flight from one rank
    /// to another. All ranks pass the same `link`, from 256 to 2^30. Above 2 MiB, rounds of long messages get no
    /// faster. The rounds must be dropped before [`Comm::close`]. Collective.
    pub fn rounds(&self, link: usize) -> Rounds {
        Rounds::open(self.rank(), self.ranks(), self.several(), link)
    }

    /// Makes `numbers` counters for each rank that all other ranks can read. Returns `None` on all ranks if they share
    /// no memory. Collective.
    pub fn shared_counters(&self, numbers: usize) -> Option<SharedCounters> {
        SharedCounters::open(self.several()?, numbers)
    }

    /// Makes `bytes` bytes of memory that all ranks can read and write. Returns `None` on all ranks if they share no
    /// memory. Collective.
    pub fn shared_memory(&self, bytes: u64) -> Option<SharedMemory> {
        SharedMemory::open(self.several()?, bytes)
    }

    /// Sends a small message (a few KiB) to a rank, possibly itself, without waiting for the receiver. Messages between
    /// two ranks arrive in order.
    pub fn send(&self, to: usize, message: &[u8]) {
        match self {
            Comm::Solo => MESSAGES.lock().push_back(message.to_vec()),
            Comm::Mpi(ranks) => ranks.send(to, message),
        }
    }

    /// Returns the next message to this rank with its sender, or `None` if none has arrived. Call it regularly while
    /// messages may arrive, because MPI keeps them in its memory until they are received.
    pub fn receive(&self) -> Option<(usize, Vec<u8>)> {
        match self {
            Comm::Solo => MESSAGES.lock().pop_front().map(|message| (0, message)),
            Comm::Mpi(ranks) => ranks.receive(),
        }
    }

    /// Ends the job on all ranks with the exit code `code`. Any thread may call it.
    pub fn abort(&self, code: u8) -> ! {
        match self {
            Comm::Solo => std::process::exit(code.into()),
            Comm::Mpi(ranks) => ranks.abort(code),
        }
    }

    /// Waits until every rank has called this function, but at most `at_most`. Calls `meanwhile` again and again while
    /// it waits. It is only for ending a job: no collective operation may follow.
    fn barrier_within(&self, at_most: std::time::Duration, meanwhile: &dyn Fn()) {
        if let Comm::Mpi(ranks) = self {
            ranks.barrier_within(at_most, meanwhile);
        }
    }

    /// Sets the number of bytes that collective operations move at once (at least 16). Every rank must set the same
    /// number. Tests set a small number, so that even little data is moved in several steps.
    pub fn set_chunk(&self, bytes: usize) {
        if let Comm::Mpi(ranks) = self {
            ranks.set_chunk(bytes.clamp(16, Comm::SCRATCH / 4));
        }
    }
}

/// Messages that the only rank of a job has sent to itself.
static MESSAGES: Mutex<std::collections::VecDeque<Vec<u8>>> = Mutex::new(std::collections::VecDeque::new());
