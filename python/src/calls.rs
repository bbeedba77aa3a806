//! Calls of the library. A call runs on a thread of its own without Python's lock. The thread that called waits, and
//! meanwhile runs Python's signal handlers and the progress function.

use crate::errors;
use gpugraph::Canceller;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Interval at which signals are served.
const SERVE: Duration = Duration::from_millis(50);

/// Progress of a call, as the library last reported it: stage, work done, and total work.
pub type Latest = Arc<Mutex<Option<(String, u64, u64)>>>;

/// The progress function of a context.
pub struct ProgressFunction {
    pub function: Py<PyAny>,
    pub latest: Latest,
}

impl ProgressFunction {
    /// Calls the function if there is something new.
    fn serve(&self, py: Python<'_>) -> PyResult<()> {
        match self.latest.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(latest) => self.function.call1(py, latest).map(drop),
            None => Ok(()),
        }
    }
}

/// Does `work` in its turn. If a signal handler or the progress function raises an exception, the work is cancelled
/// through `canceller`, and the exception is raised once it has ended.
pub fn call<T: Send>(
    py: Python<'_>,
    canceller: Option<&Canceller>,
    progress: Option<&ProgressFunction>,
    work: impl FnOnce() -> gpugraph::Result<T> + Send,
) -> PyResult<T> {
    refuse_after_fork(py)?;
    let _turn = Turn::take(py)?;
    if let Some(progress) = progress {
        // What the last call reported in its last moments.
        progress.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
    let (sender, mut receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("gpugraph".into());
        let spawned = thread.spawn_scoped(scope, move || {
            let _ = sender.send(work());
        });
        let Ok(thread) = spawned else {
            return Err(errors::failure(py, "no thread could be started; raise `ulimit -u` or `ulimit -v`"));
        };
        let mut raised = None;
        loop {
            let received;
            (received, receiver) = py.detach(move || (receiver.recv_timeout(SERVE), receiver));
            match received {
                Ok(result) => {
                    // A Ctrl-C at the end of the work, too, is raised rather than lost.
                    return match raised.map_or_else(|| py.check_signals(), Err) {
                        Ok(()) => result.map_err(|e| errors::exception(py, &e)),
                        Err(e) => Err(e),
                    };
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = py.detach(|| thread.join());
                    return Err(errors::failure(py, "a thread panicked; this is a bug of gpugraph, please report it"));
                }
                Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                    let served = py.check_signals().and_then(|()| progress.map_or(Ok(()), |it| it.serve(py)));
                    raised = served.err();
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            // Repeated, because the first request may come before the library begins.
            if let (Some(canceller), true) = (canceller, raised.is_some()) {
                canceller.cancel();
            }
        }
    })
}

/// Raises an exception in a process that was forked from one that had used the library: its threads are missing here.
fn refuse_after_fork(py: Python<'_>) -> PyResult<()> {
    /// The process of the first call.
    static USED_BY: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    match USED_BY.compare_exchange(0, process, SeqCst, SeqCst) {
        Err(first) if first != process => Err(errors::usage(
            py,
            "gpugraph was used before this process was forked, and its threads are not here: \
             start processes with multiprocessing.get_context(\"spawn\")",
        )),
        _ => Ok(()),
    }
}

/// Whether a call of the process is in progress, and the signal that it has ended.
static BUSY: Mutex<bool> = Mutex::new(false);
static ENDED: Condvar = Condvar::new();

thread_local! {
    /// Whether this thread waits for its call.
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

/// The right to call the library. The library has such a lock itself; here signals are served while a thread waits for it.
struct Turn;

impl Turn {
    fn take(py: Python<'_>) -> PyResult<Turn> {
        if WAITS.get() {
            let why = "gpugraph was called by the progress function or a signal handler of a call: call it afterwards";
            return Err(errors::usage(py, why));
        }
        loop {
            let taken = py.detach(|| {
                let busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = ENDED.wait_timeout_while(busy, SERVE, |busy| *busy);
                let (mut busy, _) = waited.unwrap_or_else(PoisonError::into_inner);
                !std::mem::replace(&mut *busy, true)
            });
            if taken {
                WAITS.set(true);
                return Ok(Turn);
            }
            py.check_signals()?;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        WAITS.set(false);
        *BUSY.lock().unwrap_or_else(PoisonError::into_inner) = false;
        ENDED.notify_one();
    }
}
