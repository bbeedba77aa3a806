//! MPI that does not start. Its libraries wait for ever for a rank that is not coming, and say nothing.
#![allow(unsafe_code)] // leaves the process without what runs at its usual end

use crate::comm::launch;
use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

/// When it is said that ranks still wait.
const SLOW: Duration = Duration::from_secs(60);
/// When they give up, unless `GPUGRAPH_MPI_START` has another number of seconds; 0 is never. Thousands of ranks take minutes.
const LIMIT: u64 = 15 * 60;
/// How much later than the leader others do.
const ALIKE: Duration = Duration::from_secs(5);

/// Begins to wait. Once the result is dropped MPI has started.
pub(super) fn watch() -> Option<Sender<()>> {
    let get = |name: &str| std::env::var(name).ok();
    let limit = get("GPUGRAPH_MPI_START").and_then(|text| text.trim().parse().ok()).unwrap_or(LIMIT);
    let leads = launch::rank(&get) == 0;
    let (started, ended) = mpsc::channel();
    let wait = move || {
        let over = |time| ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        // The log is opened later.
        let say = |what: String| leads.then(|| std::io::stderr().write_all(format!("{what}\n").as_bytes()));
        let limit = Duration::from_secs(limit);
        let slow = if limit.is_zero() { SLOW } else { SLOW.min(limit / 2) };
        if !over(slow) {
            return;
        }
        let whom = "it waits for ranks that have not begun or can't be reached";
        say(format!("warning: MPI has not started for {} s: {whom}", slow.as_secs()));
        if limit.is_zero() || !over(limit - slow + if leads { Duration::ZERO } else { ALIKE }) {
            return;
        }
        let longer = "GPUGRAPH_MPI_START=SECONDS waits longer";
        say(format!("error: MPI did not start in {} s: {whom} ({longer})", limit.as_secs()));
        // SAFETY: no memory is passed. What runs at a usual exit would wait for MPI.
        unsafe { libc::_exit(9) }
    };
    // Without the thread nothing is said, no more.
    std::thread::Builder::new().name("starting".into()).spawn(wait).ok().map(|_| started)
}
