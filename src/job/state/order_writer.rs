//! Writes the degree order (map from dense ids to vertices) in the background while other stages use it. Storing its
//! 4 bytes per id takes longer than starting the next stage.

use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::job::state::manifest::Manifest;
use crate::prepare::order;
use crate::prepare::relabel::Relabelled;
use crate::store::file::Pending;
use crate::store::sync::Syncer;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

/// The degree order and the thread that stores it. While the thread runs, no other thread may save the manifest, until
/// [`Self::finish`] or [`Self::finish_in_background`] is called or this value is dropped.
pub struct OrderWriter {
    order: Arc<Relabelled>,
    storing: Option<OrderWriteHandle>,
}

/// State that the thread that stores the degree order shares with its creator.
struct WriterState {
    /// Manifest to save once the order is stored; `None` if other code saves it.
    manifest: Mutex<Option<Manifest>>,
    /// True if nothing will read the file any more, so that the write can be cancelled.
    cancelled: AtomicBool,
}

impl OrderWriter {
    /// Wraps a degree order that is already stored, or that is not to be stored yet.
    pub fn new(order: Relabelled) -> OrderWriter {
        OrderWriter { order: Arc::new(order), storing: None }
    }

    /// Gathers the order from the other ranks, if this rank has only its own part. Collective.
    pub fn complete(&mut self, comm: &Comm) {
        if let Some(order) = Arc::get_mut(&mut self.order) {
            order.complete(comm);
        }
    }

    /// Starts to store the order in the graph's folder under `workdir`, and then saves `manifest`, which records that
    /// the order is stored.
    ///
    /// # Errors
    /// [`Error::Io`] if no thread can be started.
    pub fn store(&mut self, content: u64, manifest: Manifest, workdir: &Path) -> Result<()> {
        let behind = Arc::new(WriterState { manifest: Mutex::new(Some(manifest)), cancelled: AtomicBool::new(false) });
        let (shared, writer_state, workdir) = (self.order.clone(), behind.clone(), workdir.to_owned());
        let write = move || {
            let keep_going = || !writer_state.cancelled.load(Relaxed);
            let pending = order::write(&workdir.join("graph"), content, &shared, &keep_going)?;
            drop(shared);
            if let Some(manifest) = &mut *writer_state.manifest.lock() {
                manifest.save(&workdir)?;
            }
            Ok(pending)
        };
        let thread = std::thread::Builder::new().name("order".into()).spawn(write);
        let thread = thread.map_err(|_| Error::thread())?;
        self.storing = Some(OrderWriteHandle { thread: Some(thread), behind });
        Ok(())
    }

    /// Returns the degree order.
    pub fn order(&self) -> &Relabelled {
        &self.order
    }

    /// Lets the thread finish in the background, and frees the memory once the order is stored. From now on other
    /// code saves the manifest, which may record the order as stored before its file is complete. If the file is
    /// missing in a later run, that run rebuilds it.
    pub fn finish_in_background(mut self) -> Option<OrderWriteHandle> {
        let storing = self.storing.take();
        if let Some(storing) = &storing {
            *storing.behind.manifest.lock() = None;
        }
        // Dropped in another thread, because freeing gigabytes takes a while.
        let _ = std::thread::Builder::new().name("order".into()).spawn(move || drop(self));
        storing
    }

    /// Waits until the order is stored.
    ///
    /// # Errors
    /// Errors of storing the order.
    pub fn finish(&mut self, syncer: &Syncer) -> Result<()> {
        let Some(thread) = self.storing.take().and_then(|mut storing| storing.thread.take()) else { return Ok(()) };
        syncer.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(())
    }
}

/// A write of the degree order in progress. Dropping it waits until the thread ends.
pub struct OrderWriteHandle {
    thread: Option<JoinHandle<Result<Pending>>>,
    behind: Arc<WriterState>,
}

impl OrderWriteHandle {
    /// Cancels the write, because the order is not needed any more.
    pub fn cancel(self) {
        self.behind.cancelled.store(true, Relaxed);
    }
}

impl Drop for OrderWriteHandle {
    fn drop(&mut self) {
        // A failure is ignored: either its cause is reported elsewhere, or the order is rebuilt later.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
