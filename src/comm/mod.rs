//! The ranks of a job. A process by itself is the case of one rank, so no code exists twice.
//!
//! Ranks are processes that `mpirun`, `mpiexec` or `srun` started together. All of them call the collective operations ([`Comm::barrier`]
//! to [`Comm::exchange`]) in the same order, each from one thread at a time; [`Comm::send`] and [`Comm::receive`] may be called beside them
//! from any thread. No operation occupies a core while it waits for ranks that still compute: it polls, and sleeps up to a millisecond in
//! between ([`Rounds`], after some 50 µs). If MPI fails, the job ends: it can't go on with some of the ranks, and the same command line resumes it.

#[cfg(not(feature = "mpi"))]
#[path = "absent.rs"]
pub mod mpi;
#[cfg(feature = "mpi")]
pub mod mpi;
const WITH_MPI: bool = cfg!(feature = "mpi");

mod abort;
mod agreement;
mod exchange;
mod launch;
#[cfg_attr(not(feature = "mpi"), allow(dead_code))] // one process combines nothing
mod reduction;
mod round_shape;
mod rounds;
mod share;
mod shared_number;
#[cfg(test)]
mod tests;
mod work_stealing;

pub use abort::{end_with, report_panics};
pub use agreement::{agreed, is_first_of, reports_for_node};
pub use exchange::{Exchanged, Outbox, Shape};
pub use launch::{launched_later, launched_local_rank, launched_local_ranks, shorten_start};
pub use mpi::{SharedCounters, SharedMemory};
pub use reduction::{Min, Operation, Or, Sum};
pub use round_shape::RoundShape;
pub use rounds::{Line, Round, Rounds};
pub use shared_number::SharedNumber;
pub use work_stealing::{Pass, WorkStealing};

use crate::error::Result;
use crate::memory::{Number, bytes_of, numbers_of};
use crate::process::traffic;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
/// The communicator that this process opened, for the panic hook.
static OPEN: OnceLock<Comm> = OnceLock::new();

/// Bytes that MPI takes when it starts: Open MPI 4.1 and MPICH 4.0 took 3 to 7 MiB with up to 16 ranks on a machine.
const MPI_AT_START: u64 = 8 << 20;
/// Further bytes that MPI takes for each rank of the machine that messages come from.
const MPI_OF_A_PEER: u64 = 1 << 20;

/// Communicator: how this process reaches the other ranks of its job. It is cheap to clone.
#[derive(Debug, Clone)]
pub enum Comm {
    /// A process by itself.
    Solo,
    /// One of several ranks.
    Mpi(Arc<mpi::Ranks>),
}

/// A rank's position among the others.
#[derive(Debug, Clone, Copy)]
struct RankPosition {
    rank: usize,
    ranks: usize,
    local_rank: usize,
    local_ranks: usize,
    nodes: usize,
}

/// Operation of [`Comm::all_sum`] and its siblings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Combine {
    Sum,
    Max,
    Min,
}

impl Comm {
    /// Most bytes that one collective operation allocates beside its arguments and results, unless [`Comm::set_scratch`] sets less; for an
    /// exchange see [`Shape::bytes`]. If ranks share memory, it holds for all ranks of the machine together.
    pub const SCRATCH: usize = 16 << 20;

    /// Returns the memory that MPI is expected to take of a rank by the time it has started, for plans made before that, with `local_ranks`
    /// ranks on a machine. No MPI that was tried took more; networks with buffers of their own do.
    pub fn expected_bytes(local_ranks: usize) -> u64 {
        MPI_AT_START + local_ranks as u64 * MPI_OF_A_PEER
    }

    /// Opens the communicator of the processes that were started together: several ranks if `mpirun` or `srun` started them, else `Solo`,
    /// for which MPI is not started. Later calls return the same.
    ///
    /// # Errors
    /// [`Error::Usage`](crate::Error::Usage) if several processes were started that can't find each other, because of a build without the
    /// feature `mpi` or the launcher of another MPI: they would all write to one workdir.
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

    /// Closes MPI together with all ranks: called once everything is done, by the thread that opened it, at the end of `main`. Messages
    /// that nobody received are dropped.
    pub fn close(&self) {
        if let Comm::Mpi(ranks) = self {
            ranks.close();
        }
    }

    /// Returns the rank of this process, from 0.
    pub fn rank(&self) -> usize {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(ranks) => ranks.place().rank,
        }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        match self {
            Comm::Solo => 1,
            Comm::Mpi(ranks) => ranks.place().ranks,
        }
    }

    /// Returns true on rank 0, which writes files that exist once.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Returns this rank's number among those of its machine, from 0.
    pub fn local_rank(&self) -> usize {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(ranks) => ranks.place().local_rank,
        }
    }

    /// Returns the number of ranks on this machine.
    pub fn local_ranks(&self) -> usize {
        match self {
            Comm::Solo => 1,
            Comm::Mpi(ranks) => ranks.place().local_ranks,
        }
    }

    /// Returns the number of machines.
    pub fn nodes(&self) -> usize {
        match self {
            Comm::Solo => 1,
            Comm::Mpi(ranks) => ranks.place().nodes,
        }
    }

    /// Returns the bytes of this process's memory that belong to MPI: those taken when all ranks had met, the same on every rank, and those
    /// that it may take later for the other ranks of the machine.
    pub fn own_bytes(&self) -> u64 {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(_) => self.taken() + self.local_ranks() as u64 * MPI_OF_A_PEER,
        }
    }

    /// Returns the part of [`Self::own_bytes`] that was taken when all ranks had met, including that of other code that started meanwhile.
    pub fn taken(&self) -> u64 {
        match self {
            Comm::Solo => 0,
            Comm::Mpi(ranks) => ranks.taken(),
        }
    }

    /// Limits the scratch memory of collective operations to `bytes` (64 at least), the same on every rank.
    pub fn set_scratch(&self, bytes: usize) {
        self.set_chunk(bytes / 4);
    }

    /// Waits until every rank has called it. Collective.
    pub fn barrier(&self) {
        if let Comm::Mpi(ranks) = self {
            ranks.barrier();
        }
    }

    /// Returns the `bytes` of rank 0 on all ranks; those of others are dropped. Collective.
    pub fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Comm::Solo => bytes,
            Comm::Mpi(ranks) => ranks.broadcast(bytes),
        }
    }

    /// Returns the bytes of every rank, by rank. Lengths may differ. Collective.
    pub fn all_gather(&self, mine: &[u8]) -> Vec<Vec<u8>> {
        match self {
            Comm::Solo => vec![mine.to_vec()],
            Comm::Mpi(ranks) => ranks.all_gather(mine),
        }
    }

    /// Hands every rank's numbers to `take` in pieces, with the rank, those of a rank in order. It holds no more than [`Comm::SCRATCH`] at
    /// once, while [`Comm::all_gather`] holds the bytes of all. Collective.
    pub fn gather_each<T: Number>(&self, mine: &[T], mut take: impl FnMut(usize, &[T])) {
        match self {
            Comm::Solo => take(0, mine),
            Comm::Mpi(ranks) => {
                let size = size_of::<T>();
                ranks.gather_pieces(bytes_of(mine), size, &mut |from, bytes| take(from, &numbers_of(bytes)));
            }
        }
    }

    /// Replaces each element by its sum over the ranks, in 64 bits. All ranks pass as many elements. Collective.
    pub fn all_sum(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Sum, values);
        }
    }

    /// Replaces each element by its maximum over the ranks. All ranks pass as many elements. Collective.
    pub fn all_max(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Max, values);
        }
    }

    /// Replaces each element by its minimum over the ranks. All ranks pass as many elements. Collective.
    pub fn all_min(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.combine(Combine::Min, values);
        }
    }

    /// Returns true on every rank if `flag` is true on any. Collective.
    pub fn any(&self, flag: bool) -> bool {
        let mut flags = [u64::from(flag)];
        self.all_max(&mut flags);
        flags == [1]
    }

    /// Returns true on every rank if `flag` is true on all. Collective.
    pub fn all(&self, flag: bool) -> bool {
        !self.any(!flag)
    }

    /// Returns this rank's share of an array of `len` elements.
    pub fn share(&self, len: usize) -> Range<usize> {
        self.share_of(self.rank(), len)
    }

    /// Returns the share of `rank` of an array of `len` elements: consecutive by rank, nearly equal, and multiples of 16 elements except at
    /// the end of the array. Shares of short arrays may be empty.
    pub fn share_of(&self, rank: usize, len: usize) -> Range<usize> {
        share::of(rank, self.ranks(), len)
    }

    /// Sums an array over the ranks (reduce-scatter): `values[share(len)]` gets the sums, which saturate at the largest u32; the other
    /// elements are undefined afterwards. Each rank sends and receives nearly the bytes of the array once. Collective.
    pub fn reduce_scatter(&self, values: &mut [u32]) {
        if let Comm::Mpi(ranks) = self {
            // Each gives every other one its share.
            traffic::count(4 * (values.len() - self.share(values.len()).len()) as u64);
            ranks.reduce_scatter(values);
        }
    }

    /// Copies every rank's share of an array to all ranks: after [`Self::reduce_scatter`], all have all sums. Collective.
    pub fn all_gather_shares(&self, values: &mut [u32]) {
        if let Comm::Mpi(ranks) = self {
            traffic::count(4 * (self.share(values.len()).len() * (self.ranks() - 1)) as u64);
            ranks.all_gather_shares(values);
        }
    }

    /// Sums an array over the ranks onto rank 0; sums saturate at the largest u64. The other ranks' arrays are undefined afterwards.
    /// Collective.
    pub fn reduce_to_root(&self, values: &mut [u64]) {
        if let Comm::Mpi(ranks) = self {
            ranks.reduce_to_root(values);
        }
    }

    /// Exchanges many-to-many messages of bounded size while every rank works. Collective.
    ///
    /// `work` runs on its own thread, may use more, and sends through the [`Outbox`]. `take(from, words)` is called for every message that
    /// arrives, on `shape.takers` threads at once; messages of one rank may be taken in any order. The sending thread takes messages of a
    /// rank to itself. Between machines the calling thread moves messages; on one machine the sending threads copy them into shared memory,
    /// where they are taken. The call returns when every rank's work is done and all messages to this rank are taken. Receiving never waits
    /// for sending, so no order of sends deadlocks, as long as `take` waits for nothing that `work` does.
    /// # Errors
    /// That of `take` or `work`, as soon as `work` has returned; after a failure, sends are refused. The exchange is then over on this rank
    /// alone: the job has to be ended on all, as [`end_with`] does.
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

    /// Opens rounds, all ranks with the same shape. They are dropped before [`Comm::close`]. Collective.
    #[cfg_attr(not(feature = "mpi"), allow(unreachable_code))] // there are no links then
    pub fn rounds(&self, shape: RoundShape) -> Rounds {
        let links = match self {
            Comm::Solo => None,
            Comm::Mpi(ranks) => Some(mpi::Links::open(ranks, shape)),
        };
        Rounds::among(self.rank(), self.ranks(), links)
    }

    /// Makes `numbers` numbers for each rank that all others can read. Returns `None` on all of them if they share no memory. Collective.
    pub fn shared_counters(&self, numbers: usize) -> Option<SharedCounters> {
        match self {
            Comm::Solo => None,
            Comm::Mpi(ranks) => SharedCounters::open(ranks, numbers),
        }
    }

    /// Makes memory of `bytes` bytes that all ranks read and write. Returns `None` on all of them if they share none. Collective.
    pub fn shared_memory(&self, bytes: u64) -> Option<SharedMemory> {
        match self {
            Comm::Solo => None,
            Comm::Mpi(ranks) => SharedMemory::open(ranks, bytes),
        }
    }

    /// Sends a small message (a few KiB) to a rank, possibly itself, without waiting for the receiver. Messages between two ranks arrive in
    /// order.
    pub fn send(&self, to: usize, message: &[u8]) {
        match self {
            Comm::Solo => MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).push_back(message.to_vec()),
            Comm::Mpi(ranks) => ranks.send(to, message),
        }
    }

    /// Returns the next message to this rank and its sender, or `None` if none has arrived. It has to be called now and then while messages
    /// may arrive, as MPI keeps them in its memory until then.
    pub fn receive(&self) -> Option<(usize, Vec<u8>)> {
        match self {
            Comm::Solo => {
                MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).pop_front().map(|message| (0, message))
            }
            Comm::Mpi(ranks) => ranks.receive(),
        }
    }

    /// Ends the job on all ranks with this exit code. Any thread may call it.
    pub fn abort(&self, code: u8) -> ! {
        match self {
            Comm::Solo => std::process::exit(code.into()),
            Comm::Mpi(ranks) => ranks.abort(code),
        }
    }

    /// Waits until every rank has called it, but no longer than `at_most`. It only serves to end a job: no collective operation may follow.
    fn meet(&self, at_most: std::time::Duration, meanwhile: &dyn Fn()) {
        if let Comm::Mpi(ranks) = self {
            ranks.meet(at_most, meanwhile);
        }
    }

    /// Makes collective operations move `bytes` bytes at once (16 at least), the same on every rank. Tests set few, so that little data
    /// takes several pieces.
    pub fn set_chunk(&self, bytes: usize) {
        if let Comm::Mpi(ranks) = self {
            ranks.set_chunk(bytes.clamp(16, Comm::SCRATCH / 4));
        }
    }
}

/// Messages that a process by itself sent to itself.
static MESSAGES: Mutex<std::collections::VecDeque<Vec<u8>>> = Mutex::new(std::collections::VecDeque::new());
