//! How a job of several ranks ends when one of them can't go on: at once, on all, with the exit code of the cause.

use super::{Comm, OPEN, launch};
use crate::error::Error;
use crate::process::{log, signals};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// How long a rank that is not the leader waits to be ended by it, where both are likely to say the same.
const ALIKE: Duration = Duration::from_secs(5);
/// How long a stopped rank waits for the leader, which saves what is done.
const SAVING: Duration = Duration::from_secs(8);
/// How long the leader waits for the others to stop, so that they have closed their files.
const STOPPING: Duration = Duration::from_secs(2);

/// Exit code of a job that lost a rank.
const LOST: u8 = 9;

/// A launcher has begun to end this process. Open MPI sends CONT at once, TERM and KILL when its time for each is over;
/// others begin with TERM.
static ENDING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From here on it is noticed that a launcher ends this process.
pub(super) fn watch_launcher() {
    // Without it a line may be said by several ranks, no more.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGCONT, ENDING.clone());
}

/// From here on a panic prints one line and, where several ranks run, ends all of them with exit code 9. The first call
/// of `main`. A panic on one rank would otherwise leave the others waiting for ever.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("of unknown cause");
        let place = panic.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        let text = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let comm = OPEN.get();
        // Not in the log, which may be what panicked.
        let what = format!("panicked{place}: {text}; this is a mistake of gpugraph, please report it");
        print(&of_rank(comm, &what));
        if let Some(comm) = comm.filter(|comm| comm.ranks() > 1) {
            comm.abort(LOST);
        }
    }));
}

/// Prints `error` and ends the job on all ranks with its exit code.
///
/// Of mistakes that ranks likely have alike (in the job file or the input) the leader speaks alone; the others wait
/// seconds for their end, then speak for themselves. A rank that stopped on a signal gives the leader time to save.
pub fn end_with(error: &Error) -> ! {
    let code = error.exit_code();
    let comm = OPEN.get();
    let several = comm.is_some_and(|comm| comm.ranks() > 1);
    let rank = comm.map_or_else(|| launch::rank(&|name| std::env::var(name).ok()), Comm::rank);
    let started_together = several || launch::started(&|name| std::env::var(name).ok()) != launch::Started::Alone;
    // For the others too: not every launcher minds a rank that is gone.
    let leave = || -> ! {
        match comm {
            Some(comm) => comm.abort(code),
            None => std::process::exit(code.into()),
        }
    };
    if started_together {
        // Where another rank has ended the job since, all is said.
        let (ending, asked) = (ENDING.load(SeqCst), signals::stop_requested().is_some());
        let ended = || !ending && ENDING.load(SeqCst) || !asked && signals::stop_requested().is_some();
        let watch = || {
            if ended() {
                leave()
            }
        };
        match (error, rank) {
            (Error::Stopped(_), 0) => {
                // Said first: a launcher that was told to stop may not leave the time that others need.
                tell(comm, error);
                comm.into_iter().for_each(|comm| comm.meet(STOPPING, &|| ()));
                leave();
            }
            (Error::Stopped(_), _) => {
                // Having met it, the leader is about to end the job.
                comm.into_iter().for_each(|comm| comm.meet(SAVING - STOPPING, &watch));
                wait(STOPPING, &watch);
                if ending {
                    leave();
                }
            }
            // They did not become ranks, all of them; a slow one may not have noticed that the leader said so.
            (Error::Usage(_), 1..) if comm.is_none() => {
                wait(ALIKE, &watch);
                leave();
            }
            (
                Error::Usage(_)
                | Error::Input { .. }
                | Error::Limit { .. }
                | Error::Busy { .. }
                | Error::Occupied { .. },
                1..,
            ) => {
                // CONT alone may have come from a scheduler that let the job sleep: then the cause is not lost.
                wait(if ending { ALIKE * 3 } else { ALIKE }, &watch);
            }
            _ => {}
        }
    }
    tell(comm, error);
    leave()
}

fn wait(time: Duration, meanwhile: &dyn Fn()) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        meanwhile();
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The error that ends the job, in the log too.
fn tell(comm: Option<&Comm>, error: &Error) {
    let what = of_rank(comm, &error.to_string());
    if !log::last(&what) {
        print(&what);
    }
}

/// What is said, and by whom.
fn of_rank(comm: Option<&Comm>, what: &str) -> String {
    match comm {
        Some(comm) if comm.ranks() > 1 => format!("rank {}: {what}", comm.rank()),
        _ => what.to_owned(),
    }
}

/// One line to stderr, at once: lines of several ranks share one stderr.
fn print(what: &str) {
    // Where stderr is full or gone there is nobody left to tell, and the exit code still says it.
    let _ = std::io::stderr().write_all(format!("error: {what}\n").as_bytes());
    let _ = std::io::stdout().flush();
}
