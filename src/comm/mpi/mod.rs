//! Communication between the ranks of a job through MPI. It builds with any MPI 3.1; Open MPI 4.1 and MPICH 4 are
//! tested.
#![allow(unsafe_code)] // calls MPI's C interface
//!
//! MPI is initialised with `MPI_THREAD_SERIALIZED`, and every call is made under one mutex. No call blocks: operations
//! are nonblocking and are polled until they are complete. So a waiting thread neither holds the mutex nor occupies a
//! core.

mod call;
mod collectives;
mod init_watchdog;
mod point_to_point;
mod pool;
mod reduce_scatter;
mod windows;

use super::{Combine, RankPosition};
use crate::error::{Error, Result};
use crate::store::os;
use ::mpi::ffi;
use call::Communicator;
use parking_lot::Mutex;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Default chunk size of collective operations in bytes. Four chunks fit in `Comm::SCRATCH`.
const CHUNK: usize = super::Comm::SCRATCH / 4;

/// MPI connection of this process to all ranks of the job.
pub struct Ranks {
    place: RankPosition,
    /// Mutex that a thread holds during every call to MPI.
    calls: Mutex<()>,
    /// MPI communicator of collective operations. Each kind of operation has its own communicator, so that it never
    /// receives messages of another kind.
    collective: Communicator,
    messages: Communicator,
    point_to_point: Communicator,
    ending: Communicator,
    small: Mutex<point_to_point::PointToPoint>,
    chunk: AtomicUsize,
    /// Number of exchanges of messages that have begun. It determines the MPI tag of an exchange.
    exchanges: AtomicUsize,
    /// Number of times that links for rounds of messages were opened. It determines the MPI tag of the links.
    rounds: AtomicUsize,
    /// Whether an exchange of messages ended while some of its messages were still in flight.
    broken: AtomicBool,
    closed: AtomicBool,
    /// Memory that MPI allocated during its initialisation, in bytes; maximum over the ranks.
    taken: u64,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place.fmt(f)
    }
}

impl Ranks {
    /// Initialises MPI. `expected` is the number of ranks that the launcher reports, if any. Returns `None` if there is
    /// only one rank.
    pub(super) fn open(expected: Option<usize>) -> Result<Option<Ranks>> {
        let before = os::own_memory();
        let _starting = init_watchdog::watch();
        let mut provided: c_int = 0;
        // SAFETY: called once in a process (`Comm::open` caches the result), with no arguments, which MPI allows.
        let status = unsafe {
            ffi::MPI_Init_thread(
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                ffi::RSMPI_THREAD_SERIALIZED,
                &raw mut provided,
            )
        };
        if status != ffi::MPI_SUCCESS as c_int {
            return Err(Error::Lost("MPI could not be started".into()));
        }
        // SAFETY: constants of the library.
        let (world, serialized) = unsafe { (Communicator(ffi::RSMPI_COMM_WORLD), ffi::RSMPI_THREAD_SERIALIZED) };
        let (rank, ranks) = call::size_of(world);
        if expected.is_some_and(|expected| expected != ranks) {
            return Err(Error::Usage(format!(
                "started as {} ranks, but MPI finds {ranks}: start gpugraph with the mpirun of {}, for which it was \
                 built, or with `srun --mpi=pmix` (`srun --mpi=list` lists others)",
                expected.unwrap_or(0),
                version().unwrap_or_default()
            )));
        }
        if provided < serialized {
            return Err(Error::Usage(
                "this MPI library can't be called from several threads: use one that supports MPI_THREAD_SERIALIZED"
                    .into(),
            ));
        }
        let mut opened = Ranks {
            place: RankPosition { rank, ranks, local_rank: 0, local_ranks: 1, nodes: 1 },
            calls: Mutex::new(()),
            collective: world,
            messages: world,
            point_to_point: world,
            ending: world,
            small: Mutex::default(),
            chunk: AtomicUsize::new(CHUNK),
            exchanges: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            taken: 0,
        };
        if ranks == 1 {
            opened.finalize();
            return Ok(None);
        }
        opened.return_errors(world);
        opened.collective = opened.duplicate(world);
        opened.messages = opened.duplicate(world);
        opened.point_to_point = opened.duplicate(world);
        opened.ending = opened.duplicate(world);
        let machine = opened.same_machine(world);
        let (local_rank, local_ranks) = call::size_of(machine);
        let mut nodes = [u64::from(local_rank == 0)];
        opened.combine(Combine::Sum, &mut nodes);
        opened.place = RankPosition { rank, ranks, local_rank, local_ranks, nodes: nodes[0] as usize };
        let mut taken = [os::own_memory().saturating_sub(before)];
        opened.combine(Combine::Max, &mut taken);
        opened.taken = taken[0];
        Ok(Some(opened))
    }

    pub(super) fn position(&self) -> &RankPosition {
        &self.place
    }

    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    pub(super) fn set_chunk(&self, bytes: usize) {
        self.chunk.store(bytes, Ordering::Relaxed);
    }

    /// Returns the chunk size of collective operations in bytes.
    pub(super) fn chunk(&self) -> usize {
        self.chunk.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        if self.closed.swap(true, Ordering::SeqCst) {
            return;
        }
        self.drain();
        self.finalize();
    }

    fn finalize(&self) {
        // SAFETY: nothing is in flight any more, and `closed` or a failed `open` keeps any call from following.
        self.call("MPI_Finalize", || unsafe { ffi::MPI_Finalize() });
    }

    /// Waits until all ranks have called this function, but at most for the time `at_most`. While it waits, it calls
    /// `meanwhile` repeatedly.
    pub(super) fn barrier_within(&self, at_most: Duration, meanwhile: &dyn Fn()) {
        let until = Instant::now() + at_most;
        let mut request = self.begin_barrier(self.ending);
        while Instant::now() < until && !self.test(&mut request) {
            meanwhile();
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn abort(&self, code: u8) -> ! {
        // If MPI itself hangs, exit after 10 s, so that the launcher notices the loss of this rank.
        let deadline = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(Duration::from_secs(10));
            // SAFETY: ends the process without running anything.
            unsafe { libc::_exit(code.into()) }
        });
        drop(deadline);
        // Launchers read a rank's output through pipes, and drop unread output when they end the rank.
        std::thread::sleep(Duration::from_millis(200));
        // Don't wait for the mutex forever: a thread that panicked during an MPI call never releases it.
        let until = Instant::now() + Duration::from_secs(2);
        let mut alone = self.calls.try_lock();
        while alone.is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
            alone = self.calls.try_lock();
        }
        if !self.closed.load(Ordering::SeqCst) {
            // SAFETY: MPI has started and not yet ended; the process ends here in any case.
            unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code.into()) };
        }
        std::process::exit(code.into());
    }

    /// Locks the mutex that serialises MPI calls. No other thread calls MPI until the returned guard is dropped.
    fn lock_calls(&self) -> parking_lot::MutexGuard<'_, ()> {
        self.calls.lock()
    }
}

/// Returns the version of the linked MPI library: the first line of the library's version text, up to a comma.
pub fn version() -> Option<String> {
    // SAFETY: constants of the library; the buffer has the length that the library requires, and the call may precede
    // MPI_Init.
    let text = unsafe {
        let mut text = vec![0u8; ffi::RSMPI_MAX_LIBRARY_VERSION_STRING as usize + 1];
        let mut length: c_int = 0;
        ffi::MPI_Get_library_version(text.as_mut_ptr().cast(), &raw mut length);
        text.truncate(length as usize);
        text
    };
    let text = String::from_utf8_lossy(&text).replace('\t', " ");
    let first = text.trim_matches(char::from(0)).lines().next().unwrap_or_default();
    Some(first.split(',').next().unwrap_or_default().trim().to_owned())
}
