//! Watchdog that ends a process if MPI does not start. MPI libraries wait forever, and silently, for a rank that never
//! comes.
#![allow(unsafe_code)] // exits without running exit handlers

use crate::comm::launch;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// Time after which a warning says that MPI still waits for ranks.
const WARN_AFTER: Duration = Duration::from_secs(60);
/// Seconds after which a rank gives up waiting for MPI to start; 0 means never. The variable `GPUGRAPH_MPI_START`
/// overrides the number. With thousands of ranks the start takes minutes.
const DEFAULT_LIMIT: u64 = 15 * 60;
/// Additional time that ranks other than 0 wait before they give up, so that rank 0 prints the error first.
const FOLLOWER_WAIT: Duration = Duration::from_secs(5);

/// Starts the watchdog. Drop the returned sender once MPI has started; that stops the watchdog.
pub(super) fn watch() -> Option<Sender<()>> {
    let get = |name: &str| std::env::var(name).ok();
    let limit = get("GPUGRAPH_MPI_START").and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT_LIMIT);
    let leads = launch::rank(&get) == 0;
    let (started, ended) = mpsc::channel();
    let wait = move || {
        let over = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        // The log is opened later, so messages go to stderr.
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
    // If the thread does not start, the only loss is that nothing is printed.
    std::thread::Builder::new().name("starting".into()).spawn(wait).ok().map(|_| started)
}
