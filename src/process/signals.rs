//! Signal handlers. The first stop signal sets a flag, which the job polls; a second one exits at once. `bus_errors`
//! handles SIGBUS.
//!
//! SIGPIPE stays ignored, as in every Rust program, so a write to a closed pipe returns an error, which the writer
//! handles.
#![allow(unsafe_code)] // each registration says why its handler is async-signal-safe

use std::sync::Once;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::low_level;

use super::bus_errors;
use crate::error::{Error, Result};

const SIGXCPU: i32 = libc::SIGXCPU;

/// Signals that request a stop, with their names in messages.
const STOPPING: [(i32, &str); 6] = [
    (SIGTERM, "SIGTERM"),
    (SIGINT, "SIGINT"),
    (SIGUSR1, "SIGUSR1"),
    // Grid Engine and LSF send SIGUSR2 before SIGKILL.
    (SIGUSR2, "SIGUSR2"),
    (SIGXCPU, "SIGXCPU (CPU time limit)"),
    (SIGHUP, "SIGHUP (the terminal is gone)"),
];

/// Time after the first signal in which further signals are ignored. `timeout` and some launchers send the same signal
/// twice within this time. A process may also receive it both from the scheduler and from a job script that forwards
/// signals.
const SECOND_AFTER: Duration = Duration::from_secs(1);

/// Cause of the stop: the index of the signal in [`STOPPING`] plus 1, the discriminant of a [`StopRequest`], or 0 if
/// no stop was requested.
static STOP_CAUSE: AtomicUsize = AtomicUsize::new(0);
/// Time of the first stop signal, in milliseconds since [`install`].
static STOP_TIME: AtomicU64 = AtomicU64::new(0);

/// Reason for a stop that the process itself requests, without a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// The lock of the workdir was lost, so another process may have taken over the workdir.
    LockLost = STOPPING.len() as isize + 1,
    /// The program that uses the library has cancelled the call.
    Cancelled,
}

/// Installs the signal handlers. The first SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2 or SIGXCPU sets the flag of
/// [`stop_requested`]; a second one ends the process at once with exit code 75. The SIGBUS handler prints a line that
/// names the file, and ends the process with exit code 3. Calls after the first do nothing.
///
/// # Errors
/// [`Error::Io`] if a handler can't be installed.
pub fn install() -> Result<()> {
    static ONCE: Once = Once::new();
    let mut result = Ok(());
    ONCE.call_once(|| result = register());
    result.map_err(|e| Error::io("install signal handlers", "signals", e))
}

fn register() -> std::io::Result<()> {
    let start = Instant::now();
    for (i, (signal, _)) in STOPPING.into_iter().enumerate() {
        // `nohup` starts programs with SIGHUP ignored. It must stay ignored.
        if signal == SIGHUP && is_ignored(signal) {
            continue;
        }
        // SAFETY: the handler reads the clock, modifies atomics and may call _exit, all of which is async-signal-safe.
        unsafe { low_level::register(signal, move || on_stop(i + 1, start)) }?;
    }
    // With SIGXFSZ ignored, a write that exceeds `ulimit -f` returns an error, like a write to a full disk. SAFETY:
    // ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    bus_errors::install()
}

/// Returns true if this process was started with `signal` ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn on_stop(which: usize, start: Instant) {
    let now = start.elapsed().as_millis() as u64;
    if STOP_CAUSE.compare_exchange(0, which, SeqCst, SeqCst).is_ok() {
        STOP_TIME.store(now, SeqCst);
    } else if now >= STOP_TIME.load(SeqCst) + SECOND_AFTER.as_millis() as u64 {
        low_level::exit(75);
    }
}

/// Returns the cause if a stop was requested: the name of a signal, or a description of the [`StopRequest`]. The call
/// is cheap enough for inner loops.
#[inline]
pub fn stop_requested() -> Option<&'static str> {
    const LOCK_LOST: usize = StopRequest::LockLost as usize;
    match STOP_CAUSE.load(std::sync::atomic::Ordering::Relaxed) {
        0 => None,
        LOCK_LOST => Some("the loss of its lock"),
        i => Some(STOPPING.get(i - 1).map_or("the caller", |signal| signal.1)),
    }
}

/// Requests a stop, like a stop signal. An earlier request or signal takes precedence.
pub fn request_stop(request: StopRequest) {
    let _ = STOP_CAUSE.compare_exchange(0, request as usize, SeqCst, SeqCst);
}

/// Withdraws a stop request, so that it does not stop later work of this process. Signals and other requests stay in
/// effect.
pub fn withdraw_stop(request: StopRequest) {
    let _ = STOP_CAUSE.compare_exchange(request as usize, 0, SeqCst, SeqCst);
}

/// Returns an error if a stop was requested. Long loops call it in every iteration.
///
/// # Errors
/// [`Error::Stopped`].
#[inline]
pub fn check() -> Result<()> {
    stop_requested().map_or(Ok(()), |why| Err(Error::Stopped(why)))
}
