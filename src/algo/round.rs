//! The end of a round of an algorithm: all ranks agree to continue, to save a checkpoint or to stop.

use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::process::signals;
use crate::store::checkpoint::{Checkpoint, Saved};

/// Loads the checkpoint of an earlier run on rank 0, and returns what `read` makes of it. Returns `None` on other
/// ranks, and if there is no checkpoint.
///
/// # Errors
/// Errors of [`Checkpoint::load`] and of `read`.
pub fn load<T>(comm: &Comm, checkpoint: &Checkpoint, read: impl FnOnce(&Saved) -> Result<T>) -> Result<Option<T>> {
    let saved = if comm.is_leader() { checkpoint.load()? } else { None };
    saved.as_ref().map(read).transpose()
}

/// Decision of all ranks at the end of a round of an algorithm.
#[derive(Debug, Clone, Copy)]
pub struct RoundEnd {
    /// Whether the round must be discarded, because a stop request interrupted it on some rank.
    pub is_cut: bool,
    /// Whether some rank was asked to stop.
    pub stops: bool,
    /// Whether it is time for rank 0 to save a checkpoint.
    pub is_due: bool,
}

impl RoundEnd {
    /// Agrees with all ranks whether to discard the round that has just ended, whether to stop, and whether to save a
    /// checkpoint. `is_whole` says whether this rank completed its work in the round. Collective.
    pub fn agree(comm: &Comm, is_whole: bool, checkpoint: &Checkpoint) -> RoundEnd {
        let wants = [!is_whole, signals::stop_requested().is_some(), comm.is_leader() && checkpoint.is_due()];
        let mut wants = wants.map(u64::from);
        comm.all_max(&mut wants);
        let [is_cut, stops, is_due] = wants.map(|wanted| wanted > 0);
        RoundEnd { is_cut, stops, is_due }
    }
}

/// Returns true if `work`, the outcome of a round on this rank, is a success, and false if a stop request interrupted
/// it.
///
/// # Errors
///
/// The error in `work`, unless it is [`Error::Stopped`].
pub fn is_whole(work: Result<()>) -> Result<bool> {
    match work {
        Err(Error::Stopped(_)) => Ok(false),
        work => work.map(|()| true),
    }
}

/// Returns an error if this process was asked to stop and is the only rank. Several ranks stop together: see [`agree`]
/// and [`RoundEnd::agree`].
///
/// # Errors
/// [`Error::Stopped`].
#[inline]
pub fn check(comm: &Comm) -> Result<()> {
    if comm.ranks() == 1 { signals::check() } else { Ok(()) }
}

/// Returns the value in `work`, the outcome of a step of an algorithm on this rank. If a stop request interrupted the
/// step on any rank, all ranks return [`Error::Stopped`] instead. Collective.
///
/// # Errors
/// [`Error::Stopped`], and the error in `work`.
pub fn agree<T>(comm: &Comm, work: Result<T>) -> Result<T> {
    let done = match work {
        Err(Error::Stopped(_)) => None,
        work => Some(work?),
    };
    let is_cut = comm.any(done.is_none());
    done.filter(|_| !is_cut).ok_or(Error::Stopped("a signal"))
}

/// Returns the error with which a trial ends after a stop request. Waits for all ranks, so that rank 0 has saved its
/// checkpoint. Collective.
pub fn stopped(comm: &Comm) -> Error {
    // The first rank that returns ends the job on all ranks, so it must wait for the rank that saves.
    comm.barrier();
    Error::Stopped(signals::stop_requested().unwrap_or("a signal to another rank"))
}
