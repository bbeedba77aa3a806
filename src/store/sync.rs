//! Durability off the critical path: one thread syncs finished files while the job goes on.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use super::file::{Pending, Seal};
use super::replace::sync_folder;
use crate::error::{Error, Result};
use crate::failpoint;

/// Files that may wait at once. Each holds a descriptor, of which a process has 1024 by default.
const QUEUE: usize = 64;

/// Syncs files given to it in the background. One a job. Dropped, it leaves what still waits to the system: nobody was
/// told that these files are durable, and a signal must not wait for gigabytes to reach a disk.
pub struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: Vec<Pending>,
    busy: bool,
    closed: bool,
    folders: BTreeSet<PathBuf>,
    error: Option<Error>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

impl Syncer {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Io`] if the system allows no more threads.
    pub fn start() -> Result<Syncer> {
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("syncer".into())
            .spawn(move || run(&for_thread))
            .map_err(|e| Error::io("start a thread to sync files", "syncer", e))?;
        Ok(Syncer { shared, thread: Some(thread) })
    }

    /// Takes over a file. Blocks only while 64 files are waiting, that is, when the disk is far behind.
    pub fn push(&self, pending: Pending) -> Seal {
        let seal = pending.seal();
        let mut state = self.shared.lock();
        while state.queue.len() >= QUEUE {
            state = self.shared.wait(state);
        }
        state.queue.push(pending);
        self.shared.changed.notify_all();
        seal
    }

    /// Waits until every file pushed before is durable under its name: to be called before the manifest says so.
    ///
    /// # Errors
    /// The first [`Error::DiskFull`] or [`Error::Io`] since the last call. The files of that time may not be durable.
    pub fn wait(&self) -> Result<()> {
        let mut state = self.shared.lock();
        while state.busy || !state.queue.is_empty() {
            state = self.shared.wait(state);
        }
        let folders = std::mem::take(&mut state.folders);
        let error = state.error.take();
        drop(state);
        if let Some(error) = error {
            return Err(error);
        }
        for path in folders {
            failpoint::hit("store.dirsync").map_err(|e| Error::io("sync the folder of", &path, e))?;
            sync_folder(&path)?;
        }
        Ok(())
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.queue.clear();
        state.closed = true;
        drop(state);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if state.queue.is_empty() {
            if state.closed {
                return;
            }
            state = shared.wait(state);
            continue;
        }
        let pending = state.queue.remove(0);
        state.busy = true;
        shared.changed.notify_all();
        drop(state);
        let done = failpoint::hit("store.fsync").and_then(|()| pending.file.sync_all());
        state = shared.lock();
        state.busy = false;
        if let Err(e) = done {
            let error = Error::io("sync", &pending.path, e);
            state.error.get_or_insert(error);
        }
        // One entry a folder: any path in it will do to sync it.
        let known = state.folders.iter().any(|path| path.parent() == pending.path.parent());
        if !known {
            state.folders.insert(pending.path);
        }
        shared.changed.notify_all();
    }
}
