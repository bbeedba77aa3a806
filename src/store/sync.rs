//! Makes finished files durable in the background: one thread syncs them while the job continues.

use crate::store::regular;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::durable::{sync_file, sync_folder};
use super::file::{Pending, Seal};
use crate::error::{Error, Result};
use crate::failpoint;

/// Maximum number of queued files whose descriptor stays open, because a process may open only 1024 files by default.
/// Other files are reopened when they are synced.
const OPEN: usize = 64;

/// Background thread that syncs files. A job has one syncer. If it is dropped, the files that are still queued are not
/// synced: nothing relies on their durability yet, and after a signal the process must not wait until gigabytes have
/// been written to disk.
pub struct Syncer {
    shared: Arc<SharedBacklog>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct SharedBacklog {
    state: Mutex<Backlog>,
    changed: Condvar,
}

#[derive(Default)]
struct Backlog {
    queue: VecDeque<(PathBuf, Option<File>)>,
    busy: bool,
    closed: bool,
    folders: BTreeSet<PathBuf>,
    error: Option<Error>,
}

impl SharedBacklog {
    fn wait_while(&self, waits: impl Fn(&Backlog) -> bool) -> MutexGuard<'_, Backlog> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| waits(state));
        state
    }
}

impl Syncer {
    /// Starts the background thread that syncs files.
    ///
    /// # Errors
    /// [`Error::Addresses`] if the thread can't be started.
    pub fn start() -> Result<Syncer> {
        let shared = Arc::new(SharedBacklog::default());
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("syncer".into())
            .spawn(move || run(&for_thread))
            .map_err(|_| Error::thread())?;
        Ok(Syncer { shared, thread: Some(thread) })
    }

    /// Queues a file to be synced, without waiting. Returns the length and checksum of the file.
    pub fn push(&self, pending: Pending) -> Seal {
        let mut state = self.shared.state.lock();
        let file = (state.queue.len() < OPEN).then_some(pending.file);
        state.queue.push_back((pending.path, file));
        self.shared.changed.notify_all();
        pending.seal
    }

    /// Returns the first error since the last call, without waiting for queued files. This check is enough for files
    /// that only this process reads, because such files need not be durable.
    ///
    /// # Errors
    /// Errors of [`Syncer::wait`].
    pub fn check(&self) -> Result<()> {
        self.shared.state.lock().error.take().map_or(Ok(()), Err)
    }

    /// Waits until every file pushed so far and its directory entry are durable. Must be called before the manifest
    /// refers to the files.
    ///
    /// # Errors
    /// The first [`Error::DiskFull`] or [`Error::Io`] since the last call. Files pushed since then may then not be
    /// durable.
    pub fn wait(&self) -> Result<()> {
        let mut state = self.shared.wait_while(|state| state.busy || !state.queue.is_empty());
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
        let mut state = self.shared.state.lock();
        state.queue.clear();
        state.closed = true;
        drop(state);
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &SharedBacklog) {
    loop {
        let mut state = shared.wait_while(|state| state.queue.is_empty() && !state.closed);
        let Some((path, file)) = state.queue.pop_front() else { return };
        state.busy = true;
        drop(state);
        let file = file.map_or_else(|| regular::open(&path), Ok);
        let done = failpoint::hit("store.fsync").and(file).and_then(|file| sync_file(&file, &path));
        let mut state = shared.state.lock();
        state.busy = false;
        shared.changed.notify_all();
        match done {
            // The file has been removed since it was queued, so it need not be durable.
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => {
                let error = Error::io("sync", &path, e);
                state.error.get_or_insert(error);
            }
            Ok(()) => {}
        }
        // One path per folder is enough to sync the folder.
        let known = state.folders.iter().any(|known| known.parent() == path.parent());
        if !known {
            state.folders.insert(path);
        }
    }
}
