//! Ends a job of several ranks when one of them can't continue. All ranks end at once, with the exit code of the
//! original error.

use super::{Comm, OPEN, launch};
use crate::error::Error;
use crate::process::{log, panics, signals};
use crate::quote::printable_lines;
use crate::store::os;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// Time for which a rank other than 0 waits for rank 0 to end the job, after an error that probably occurs on rank 0 as
/// well.
const SAME_ERROR_WAIT: Duration = Duration::from_secs(5);
/// Time for which a rank other than 0 that a signal has stopped waits until rank 0 has saved finished work.
const SAVE_WAIT: Duration = Duration::from_secs(8);
/// Time for which rank 0, after a signal, waits until the other ranks have stopped and closed their files.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// Maximum time for which a process that is about to exit waits until the launcher has read its output.
const READ_WAIT: Duration = Duration::from_secs(1);

/// Exit code of a job in which a rank has panicked.
const LOST: u8 = 9;

/// Whether this process has received SIGCONT. Open MPI's launcher sends it before it ends a process by SIGTERM and
/// SIGKILL. Other launchers begin with SIGTERM.
static LAUNCHER_ENDING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Installs a SIGCONT handler, which records in [`LAUNCHER_ENDING`] that the launcher has begun to end this process.
pub(super) fn watch_launcher() {
    // Without the handler, the worst outcome is that several ranks print the same line.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGCONT, LAUNCHER_ENDING.clone());
}

/// Installs a panic hook that prints one line and, if there are several ranks, ends all of them with exit code 9.
/// Without the hook, a panic on one rank would leave the others waiting forever, so `main` must call this function
/// first.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if panics::are_caught() {
            return;
        }
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("unknown cause");
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let comm = OPEN.get();
        if text.contains("Resource temporarily unavailable") {
            // A failure to start a thread is not a bug of this program. The process must end, because other threads
            // would wait for the missing thread forever.
            let error = Error::thread();
            print(&with_rank(comm, &error.to_string()));
            match comm {
                Some(comm) => comm.abort(error.exit_code()),
                None => std::process::exit(error.exit_code().into()),
            }
        }
        // Don't use the log, because the log may be what panicked.
        let what = format!("panicked{place}: {text}; this is a bug of gpugraph, please report it");
        print(&with_rank(comm, &what));
        if let Some(comm) = comm.filter(|comm| comm.ranks() > 1) {
            comm.abort(LOST);
        }
    }));
}

/// Prints `error` and ends the job on all ranks with its exit code.
///
/// If the error probably occurs on all ranks (a mistake in the job file or the input), only rank 0 prints it. The
/// other ranks wait some seconds for rank 0 to end the job, and print the error only if it does not. A rank that was
/// stopped by a signal waits for rank 0 to save finished work.
pub fn end_with(error: &Error) -> ! {
    let code = error.exit_code();
    let comm = OPEN.get();
    let several = comm.is_some_and(|comm| comm.ranks() > 1);
    let rank = comm.map_or_else(|| launch::rank(&|name| std::env::var(name).ok()), Comm::rank);
    let started_together = several || launch::started(&|name| std::env::var(name).ok()) != launch::Started::Alone;
    // End the other ranks as well, because not every launcher notices that a rank has exited.
    let leave = || -> ! {
        match comm {
            Some(comm) => comm.abort(code),
            None => std::process::exit(code.into()),
        }
    };
    if started_together {
        // If another rank begins to end the job while this rank waits, it has already printed the error.
        let (ending, asked) = (LAUNCHER_ENDING.load(SeqCst), signals::stop_requested().is_some());
        let ended = || !ending && LAUNCHER_ENDING.load(SeqCst) || !asked && signals::stop_requested().is_some();
        let watch = || {
            if ended() {
                leave()
            }
        };
        match (error, rank) {
            (Error::Stopped(_), 0) => {
                // Print the error before waiting, because the launcher may kill this process during the wait.
                report(comm, error);
                comm.into_iter().for_each(|comm| comm.barrier_within(STOP_WAIT, &|| ()));
                leave();
            }
            (Error::Stopped(_), _) => {
                // After this barrier rank 0 is about to end the job.
                comm.into_iter().for_each(|comm| comm.barrier_within(SAVE_WAIT - STOP_WAIT, &watch));
                wait(STOP_WAIT, &watch);
                if ending {
                    leave();
                }
            }
            // No communicator is open, so rank 0 can't end this process. Rank 0 prints the error; this process exits
            // without printing.
            (Error::Usage(_), 1..) if comm.is_none() => {
                wait(SAME_ERROR_WAIT, &watch);
                leave();
            }
            (
                Error::Usage(_)
                | Error::Input { .. }
                | Error::Limit { .. }
                | Error::GpuFull(_)
                | Error::Busy { .. }
                | Error::Occupied { .. },
                1..,
            ) => {
                // SIGCONT alone may come from a scheduler that resumes a suspended job. The error must then still be
                // printed.
                wait(if ending { SAME_ERROR_WAIT * 3 } else { SAME_ERROR_WAIT }, &watch);
            }
            _ => {}
        }
    }
    report(comm, error);
    leave()
}

fn wait(time: Duration, meanwhile: &dyn Fn()) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        meanwhile();
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Writes the error that ends the job to stderr and to the log.
fn report(comm: Option<&Comm>, error: &Error) {
    let what = with_rank(comm, &error.to_string());
    match log::last(error, &what) {
        true => wait_for_launcher(),
        false => print(&what),
    }
}

/// Returns the error message `what`, prefixed with the rank if there are several ranks. Control characters, which may
/// come from an input file, are removed.
fn with_rank(comm: Option<&Comm>, what: &str) -> String {
    let what = printable_lines(what);
    match comm {
        Some(comm) if comm.ranks() > 1 => format!("rank {}: {what}", comm.rank()),
        _ => what,
    }
}

/// Prints one line to stderr in a single write, so that the lines of several ranks do not mix.
fn print(what: &str) {
    // If stderr is full or closed, the exit code still shows the failure.
    let _ = std::io::stderr().write_all(format!("error: {what}\n").as_bytes());
    let _ = std::io::stdout().flush();
    wait_for_launcher();
}

/// Waits until the launcher has read the output of this process, for at most [`READ_WAIT`]. A busy launcher may
/// otherwise see the exit code first and drop the output.
fn wait_for_launcher() {
    if !launch::is_launched(&|name| std::env::var(name).ok()) {
        return;
    }
    let until = Instant::now() + READ_WAIT;
    while Instant::now() < until && os::unread(&std::io::stderr()).is_some_and(|bytes| bytes > 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
}
