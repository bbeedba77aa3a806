//! Wrappers of single MPI calls. Only one thread at a time calls MPI, and every status is checked. Nonblocking
//! operations are polled until they are complete.
#![allow(unsafe_code)] // calls MPI's C interface

use super::Ranks;
use crate::process::backoff::Backoff;
use ::mpi::ffi;
use std::ffi::{c_char, c_int};
use std::io::Write;

/// Handle of an MPI communicator. In Open MPI it is a pointer to an object that the library keeps alive.
#[derive(Clone, Copy)]
pub(super) struct Communicator(pub ffi::MPI_Comm);

// SAFETY: a communicator is a handle that any thread may use while calls are serialised.
unsafe impl Send for Communicator {}
// SAFETY: as above.
unsafe impl Sync for Communicator {}

/// Returns (rank of this process, number of ranks) in a communicator.
pub(super) fn size_of(comm: Communicator) -> (usize, usize) {
    let (mut rank, mut ranks): (c_int, c_int) = (0, 1);
    // SAFETY: the communicator is valid, and both calls write one number each. This is called only while MPI is being
    // opened, so no other thread calls MPI.
    unsafe {
        ffi::MPI_Comm_rank(comm.0, &raw mut rank);
        ffi::MPI_Comm_size(comm.0, &raw mut ranks);
    }
    (rank as usize, ranks as usize)
}

impl Ranks {
    /// Makes the MPI call `call`. A mutex serialises all MPI calls. `name` is the MPI function, for the error message.
    /// A failure ends the job on all ranks.
    pub(super) fn call(&self, name: &str, call: impl FnOnce() -> c_int) {
        let status = {
            let _alone = self.lock_calls();
            call()
        };
        if status != ffi::MPI_SUCCESS as c_int {
            self.failed(name, status);
        }
    }

    /// Starts a nonblocking MPI operation and returns its request. [`Ranks::test`] polls it.
    pub(super) fn begin(&self, name: &str, call: impl FnOnce(*mut ffi::MPI_Request) -> c_int) -> ffi::MPI_Request {
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        self.call(name, || call(&raw mut request));
        request
    }

    /// Returns true if the MPI operation of `request` is complete. Once it has returned true, all later calls do so,
    /// too.
    pub(super) fn test(&self, request: &mut ffi::MPI_Request) -> bool {
        let mut done: c_int = 0;
        // SAFETY: the request is one that MPI returned, or null, which counts as done.
        self.call("MPI_Test", || unsafe { ffi::MPI_Test(request, &raw mut done, ffi::RSMPI_STATUS_IGNORE) });
        done != 0
    }

    /// Waits until the MPI operation of `request` is complete.
    pub(super) fn wait(&self, mut request: ffi::MPI_Request) {
        let mut backoff = Backoff::default();
        while !self.test(&mut request) {
            backoff.take();
        }
    }

    /// Prints which MPI call failed and why, and ends the job.
    fn failed(&self, name: &str, status: c_int) -> ! {
        let mut text = [0u8; 1024];
        let mut length: c_int = 0;
        // SAFETY: MPI writes at most MPI_MAX_ERROR_STRING bytes, which is 512 in MPICH and 256 in Open MPI.
        unsafe { ffi::MPI_Error_string(status, text.as_mut_ptr().cast::<c_char>(), &raw mut length) };
        let text = String::from_utf8_lossy(&text[..(length.max(0) as usize).min(text.len())]).replace('\n', " ");
        let rank = self.place.rank;
        let line = format!(
            "error: rank {rank}: {name} failed: {text}; another rank or the network was lost; finished work is kept, run \
             the same line again\n"
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
        self.abort(9)
    }

    /// Sets the error handler of `comm`, so that MPI calls return errors instead of ending the process. Errors can
    /// then be printed in one line.
    pub(super) fn return_errors(&self, comm: Communicator) {
        // SAFETY: a valid communicator and a constant of the library.
        self.call("MPI_Comm_set_errhandler", || unsafe {
            ffi::MPI_Comm_set_errhandler(comm.0, ffi::RSMPI_ERRORS_RETURN)
        });
    }

    /// Duplicates a communicator. The copy has the same ranks and error handler, but its messages are separate.
    pub(super) fn duplicate(&self, comm: Communicator) -> Communicator {
        // SAFETY: a constant of the library.
        let mut copy = unsafe { ffi::RSMPI_COMM_NULL };
        // SAFETY: the communicator is valid; the new one is written to `copy`. All ranks make this call.
        self.call("MPI_Comm_dup", || unsafe { ffi::MPI_Comm_dup(comm.0, &raw mut copy) });
        Communicator(copy)
    }

    /// Creates a communicator of the ranks of `comm` that are on this machine, in the same order.
    pub(super) fn same_machine(&self, comm: Communicator) -> Communicator {
        // SAFETY: a constant of the library.
        let mut some = unsafe { ffi::RSMPI_COMM_NULL };
        let key = self.place.rank as c_int;
        // SAFETY: the communicator and constants are valid; the new one is written to `some`. All ranks make this call.
        self.call("MPI_Comm_split_type", || unsafe {
            ffi::MPI_Comm_split_type(comm.0, ffi::RSMPI_COMM_TYPE_SHARED, key, ffi::RSMPI_INFO_NULL, &raw mut some)
        });
        Communicator(some)
    }
}
