//! Communication between the MPI ranks of a job. A process that was started alone is a job of one rank and uses the
//! same code.
//!
//! Ranks are processes that `mpirun`, `mpiexec` or `srun` started together. All ranks call the collective operations
//! ([`Comm::barrier`] to [`Comm::exchange`]) in the same order, each rank from one thread at a time. [`Comm::send`]
//! and [`Comm::receive`] may be called at any time from any thread. An operation that waits for other ranks does not
//! occupy a core: it polls, and sleeps up to a millisecond between polls ([`Rounds`] poll without sleep for some 50 µs
//! first). If MPI fails, the job ends, because it can't continue with only some of the ranks. The same command line
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

/// Communicator of this process; empty until [`Comm::open`] has set it. It is a global variable so that the panic hook
/// can use it.
static OPEN: OnceLock<Comm> = OnceLock::new();

/// Memory in bytes that MPI allocates when it starts. Open MPI 4.1 and MPICH 4.0 took 3 to 7 MiB with up to 16 ranks
/// on a machine.
const MPI_AT_START: u64 = 8 << 20;
/// Memory in bytes that MPI may allocate later for each rank of the machine from which it receives messages.
const MPI_PER_PEER: u64 = 1 << 20;

/// Communicator: the handle through which this process reaches the other ranks of its job. It is cheap to clone.
#[derive(Debug, Clone)]
pub enum Comm {
    /// The process is the only rank of its job.
    Solo,
    /// The process is one of several MPI ranks.
    Mpi(Arc<mpi::Ranks>),
}

/// Position of a rank in the job: its rank among all processes, its rank on its machine, and the numbers of ranks and
/// machines.
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

/// Reduction operation of [`Comm::all_sum`], [`Comm::all_max`] and [`Comm::all_min`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Max,
    Min,
}

impl Comm {
    /// Default limit, in bytes, on the memory that one collective operation allocates in addition to its arguments and
    /// results. [`Comm::set_scratch`] can lower it. If ranks communicate through shared memory, it is the limit for all
    /// ranks of the machine together. [`Comm::exchange`] has its own limit: [`MessageLimits::bytes`].
    pub const SCRATCH: usize = 16 << 20;

    /// Number of elements per broadcast in [`Self::broadcast_numbers`] and similar operations on long arrays.
    pub const PIECE: usize = 1 << 18;

    /// Estimates the memory, in bytes, that MPI takes in one process with `local_ranks` ranks per machine: first the
    /// memory that MPI allocates when it starts, then the memory that it allocates later. Plans that are made before
    /// MPI starts use this estimate. No tested MPI needed more, but a network with its own buffers may need more.
    pub fn expected_bytes(local_ranks: usize) -> [u64; 2] {
        [MPI_AT_START, local_ranks as u64 * MPI_PER_PEER]
    }

    /// Opens the communicator of this job. If `mpirun` or `srun` started several processes, it connects them through
    /// MPI. Otherwise it returns [`Comm::Solo`] and does not start MPI. Later calls return the same communicator.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if several processes were started but can't connect, because the build
    /// lacks the feature `mpi` or the launcher belongs to another MPI. If they ran on without connecting, they would
    /// all write to one workdir.
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

    /// Finalises MPI. All ranks must call this function at the end of `main`, on the thread that initialised MPI.
    /// Messages that have not been received are dropped.
    pub fn close(&self) {
        if let Comm::Mpi(ranks) = self {
            ranks.close();
        }
    }

    /// Returns the MPI handle; `None` if this process is the only rank.
    fn several(&self) -> Option<&Arc<mpi::Ranks>> {
        match self {
            Comm::Solo => None,
            Comm::Mpi(ranks) => Some(ranks),
        }
    }

    fn position(&self) -> &RankPosition {
        self.several().map_or(&ALONE, |ranks| ranks.position())
    }

    /// Returns the 0-based rank of this process.
    pub fn rank(&self) -> usize {
        self.position().rank
    }

    /// Returns the number of ranks in the job.
    pub fn ranks(&self) -> usize {
        self.position().ranks
    }

    /// Returns true on rank 0, the leader. The leader writes the files that exist only once per job.
    pub fn is_leader(&self) -> bool {
        self.rank() == 0
    }

    /// Returns the local rank: the 0-based index of this process among the ranks of its machine.
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

    /// Estimates the memory of MPI in this process, in bytes: [`Self::taken`], plus the memory that MPI may allocate
    /// later for the ranks of this machine. The result is the same on all machines with the same number of ranks.
    pub fn own_bytes(&self) -> u64 {
        self.several().map_or(0, |ranks| ranks.taken() + self.local_ranks() as u64 * MPI_PER_PEER)
    }

    /// Returns the memory, in bytes, that MPI allocated during its initialisation; the maximum over the ranks. It
    /// includes the memory that other threads of the process allocated at the same time.
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

    /// Broadcasts: returns the `bytes` of rank 0 on all ranks. The `bytes` of other ranks are ignored. Collective.
    pub fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Comm::Solo => bytes,
            Comm::Mpi(ranks) => ranks.broadcast(bytes),
        }
    }

    /// Broadcasts an array: copies the numbers of rank 0 to all ranks, [`Self::PIECE`] at a time. All ranks must pass
    /// arrays of the same length. Collective.
    pub fn broadcast_numbers<T: Number>(&self, values: &mut [T]) {
        for piece in values.chunks_mut(Comm::PIECE).filter(|_| self.ranks() > 1) {
            let mine = if self.is_leader() { bytes_of(piece).to_vec() } else { Vec::new() };
            bytes_of_mut(piece).copy_from_slice(&self.broadcast(mine));
        }
    }

    /// All-gather: returns the bytes of every rank, indexed by rank. Lengths may differ. Collective.
    pub fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        let Some(ranks) = self.several() else { return vec![mine.to_vec()] };
        let mut all = vec![Vec::new(); self.ranks()];
        ranks.gather_pieces(mine, 1, &mut |rank, piece| all[rank].extend_from_slice(piece));
        all
    }

    /// All-gather with little memory: passes the numbers of every rank to `take(rank, numbers)`, divided into slices of
    /// any length. Allocates at most [`Comm::SCRATCH`] bytes, while [`Comm::all_gather`] allocates memory for the data
    /// of all ranks. Collective.
    pub fn gather_each<T: Number>(&self, mine: &[T], mut take: impl FnMut(usize, &[T])) {
        match self {
            Comm::Solo => take(0, mine),
            Comm::Mpi(ranks) => {
                let size = size_of::<T>();
                ranks.gather_pieces(bytes_of(mine), size, &mut |from, bytes| take(from, &numbers_of(bytes)));
            }
        }
    }

    /// Replaces each element by its sum over the ranks, modulo 2^64. All ranks must pass the same number of elements.
    /// Collective.
    pub fn all_sum(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Sum, values);
        }
    }

    /// Replaces each element by its maximum over the ranks. All ranks must pass the same number of elements.
    /// Collective.
    pub fn all_max(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Max, values);
        }
    }

    /// Replaces each element by its minimum over the ranks. All ranks must pass the same number of elements.
    /// Collective.
    pub fn all_min(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Min, values);
        }
    }

    /// Logical or: returns, on every rank, whether `flag` is true on any rank. Collective.
    pub fn any(&self, flag: bool) -> bool {
        let mut flags = [u64::from(flag)];
        self.all_max(&mut flags);
        flags == [1]
    }

    /// Logical and: returns, on every rank, whether `flag` is true on all ranks. Collective.
    pub fn all(&self, flag: bool) -> bool {
        !self.any(!flag)
    }

    /// Returns this rank's share of an array of `len` elements: the range of indices that the rank owns
    /// ([`Self::share_of`]).
    pub fn share(&self, len: usize) -> Range<usize> {
        self.share_of(self.rank(), len)
    }

    /// Returns the share of `rank` in an array of `len` elements: the range of indices that the rank owns. The shares
    /// of all ranks are consecutive, in the order of ranks, and nearly equal in length. Each length is a multiple of
    /// 16 elements, except at the end of the array. The shares of a short array may be empty on some ranks.
    pub fn share_of(&self, rank: usize, len: usize) -> Range<usize> {
        share::of(rank, self.ranks(), len)
    }

    /// Sums the arrays `values` of all ranks (reduce-scatter). Writes the sums, which saturate at the type's maximum,
    /// to this rank's share: `values[share(len)]`. Other elements are unspecified afterwards. Each rank sends and
    /// receives somewhat less data than the size of the array. Collective.
    pub fn reduce_scatter<T: Summand>(&self, values: &mut [T]) {
        if let Comm::Mpi(ranks) = self {
            // Each rank sends all elements except its own share.
            traffic::count((size_of::<T>() * (values.len() - self.share(values.len()).len())) as u64);
            match SharedSums::open(ranks, size_of_val(values)) {
                Some(mut shared) => shared.add_shares(values, T::plus),
                None => ranks.add_shares(values, T::plus),
            }
        }
    }

    /// Copies the share of every rank to all ranks (all-gather). After [`Self::reduce_scatter`], it distributes all
    /// sums to all ranks. Collective.
    pub fn all_gather_shares<T: Number>(&self, values: &mut [T]) {
        if let Comm::Mpi(ranks) = self {
            traffic::count((size_of::<T>() * self.share(values.len()).len() * (self.ranks() - 1)) as u64);
            match SharedSums::open(ranks, size_of_val(values)) {
                Some(mut shared) => shared.gather_shares(values, |_| true),
                None => ranks.gather_shares(values, |_| true),
            }
        }
    }

    /// Sums the arrays `values` of all ranks, and stores the sums on rank 0. Sums saturate at `u64::MAX`. The arrays of
    /// other ranks are unspecified afterwards. Collective.
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

    /// Runs `work` on every rank. Meanwhile, every rank can send messages of bounded size to every rank. Collective.
    ///
    /// `work` runs on its own thread, may start more threads, and sends messages through the [`Outbox`]. `take(from,
    /// words)` is called for every message that arrives, concurrently on `limits.takers` threads. Messages from the
    /// same rank may be processed in any order. A message of a rank to itself is processed by the sending thread.
    /// Sending threads copy messages into shared memory or pass them to MPI. The call returns when `work` has returned
    /// on every rank and `take` has processed all messages to this rank. Receiving never waits for sending, so no order
    /// of sends can deadlock. `take` must not wait for anything that `work` does.
    ///
    /// # Errors
    /// The error of `take` or `work`, as soon as `work` has returned. After a failure, sends return an error. The
    /// exchange has then ended only on this rank, so the job must be ended on all ranks, as [`end_with`] does.
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

    /// Opens links between all ranks for rounds of messages. Each link from one rank to another can have up to `link`
    /// bytes in flight. All ranks must pass the same `link`, from 256 to 2^30. Values above 2 MiB do not make rounds of
    /// long messages faster. The returned [`Rounds`] must be dropped before [`Comm::close`]. Collective.
    pub fn rounds(&self, link: usize) -> Rounds {
        Rounds::open(self.rank(), self.ranks(), self.several(), link)
    }

    /// Creates `numbers` counters per rank in shared memory, which all ranks can read. Returns `None` on all ranks if
    /// the ranks can't share memory. Collective.
    pub fn shared_counters(&self, numbers: usize) -> Option<SharedCounters> {
        SharedCounters::open(self.several()?, numbers)
    }

    /// Allocates `bytes` bytes of memory that all ranks can read and write. Returns `None` on all ranks if the ranks
    /// can't share memory. Collective.
    pub fn shared_memory(&self, bytes: u64) -> Option<SharedMemory> {
        SharedMemory::open(self.several()?, bytes)
    }

    /// Sends a small message (a few KiB) to rank `to`, which may be this rank, without waiting for the receiver.
    /// Messages from one rank to another arrive in order.
    pub fn send(&self, to: usize, message: &[u8]) {
        match self {
            Comm::Solo => MESSAGES.lock().push_back(message.to_vec()),
            Comm::Mpi(ranks) => ranks.send(to, message),
        }
    }

    /// Returns the next message to this rank as (sender, message), or `None` if no message has arrived. Call it
    /// regularly while messages may arrive, because MPI keeps them in its memory until they are received.
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

    /// Waits until every rank has called this function, but at most for the time `at_most`. While it waits, it calls
    /// `meanwhile` repeatedly. It is only for ending a job: no collective operation may follow.
    fn barrier_within(&self, at_most: std::time::Duration, meanwhile: &dyn Fn()) {
        if let Comm::Mpi(ranks) = self {
            ranks.barrier_within(at_most, meanwhile);
        }
    }

    /// Sets the chunk size of collective operations, in bytes (at least 16). Every rank must set the same size. Tests
    /// set a small size, so that even little data is transferred in several chunks.
    pub fn set_chunk(&self, bytes: usize) {
        if let Comm::Mpi(ranks) = self {
            ranks.set_chunk(bytes.clamp(16, Comm::SCRATCH / 4));
        }
    }
}

/// Messages that the only rank of a job has sent to itself.
static MESSAGES: Mutex<std::collections::VecDeque<Vec<u8>>> = Mutex::new(std::collections::VecDeque::new());
