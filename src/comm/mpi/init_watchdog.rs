//! Watchdog that ends the process if MPI does not start in time. MPI libraries wait silently and forever for a missing
//! rank.
#![allow(unsafe_code)] // exits without running exit handlers

use crate::comm::launch;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time after which rank 0 prints a warning that MPI is still waiting for ranks.
const WARN_AFTER: Duration = Duration::from_secs(60);
/// Default time limit for the start of MPI in seconds; 0 means no limit. The environment variable `GPUGRAPH_MPI_START`
/// overrides it. With thousands of ranks the start takes minutes.
const DEFAULT_LIMIT: u64 = 15 * 60;
/// Additional time limit for the start of MPI on ranks other than 0, so that rank 0 prints the error first.
const FOLLOWER_WAIT: Duration = Duration::from_secs(5);

/// Starts the watchdog of MPI's start. Dropping the returned sender stops the watchdog, so drop it once MPI has
/// started.
pub(super) fn watch() -> Option<Sender<()>> {
    let get = |name: &str| std::env::var(name).ok();
    let limit = get("GPUGRAPH_MPI_START").and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT_LIMIT);
    let leads = launch::rank(&get) == 0;
    let (started, ended) = mpsc::channel();
    let wait = move || {
        let over = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        // The log is not open yet, so messages go to stderr.
        let print = |what: String| leads.then(|| std::io::stderr().write_all(format!("{what}\n").as_bytes()));
        let limit = Duration::from_secs(limit);
        let slow = if limit.is_zero() { WARN_AFTER } else { WARN_AFTER.min(limit / 2) };
        if !over(slow) {
            return;
        }
        let reason = "it waits for ranks that have not started or can't be reached";
        print(format!("warning: MPI has not started for {} s: {reason}", slow.as_secs()));
        if limit.is_zero() || !over(limit - slow + if leads { Duration::ZERO } else { FOLLOWER_WAIT }) {
            return;
        }
        let longer = "GPUGRAPH_MPI_START=SECONDS waits longer";
        print(format!("error: MPI did not start in {} s: {reason} ({longer})", limit.as_secs()));
        // SAFETY: no memory is passed. Usual exit handlers would wait for MPI.
        unsafe { libc::_exit(9) }
    };
    // If the thread can't be started, the process runs without a watchdog.
    std::thread::Builder::new().name("starting".into()).spawn(wait).ok().map(|_| started)
}
