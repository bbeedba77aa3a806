//! The order of vertices while its file is written behind those who use it: 4 bytes an id take longer to store than the
//! next stage takes to begin.

use crate::comm::Comm;
use crate::error::{Error, Result};
use crate::job::state::manifest::Manifest;
use crate::prepare::order;
use crate::prepare::relabel::Relabelled;
use crate::store::file::Pending;
use crate::store::sync::Syncer;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// An order of vertices. Until [`Self::finish`] or [`Self::let_go_on`], or until it is dropped, nobody else may save the manifest.
pub struct Ordered {
    order: Arc<Relabelled>,
    storing: Option<Storing>,
}

/// Messages to the thread that writes.
struct Behind {
    /// Saved when the order is stored, unless others save theirs by then.
    manifest: Mutex<Option<Manifest>>,
    /// Nobody will read what it writes.
    given_up: AtomicBool,
}

impl Ordered {
    /// One that is stored already, or is not to be stored yet.
    pub fn new(order: Relabelled) -> Ordered {
        Ordered { order: Arc::new(order), storing: None }
    }

    /// Gets the shares of other ranks, if they are not here, on all of them together.
    pub fn complete(&mut self, comm: &Comm) {
        if let Some(order) = Arc::get_mut(&mut self.order) {
            order.complete(comm);
        }
    }

    /// Begins to store the order in the graph's folder under `workdir`; `manifest`, which says that it is there, is saved
    /// then.
    ///
    /// # Errors
    /// [`Error::Io`] if the system allows no more threads.
    pub fn store(&mut self, content: u64, manifest: Manifest, workdir: &Path) -> Result<()> {
        let behind = Arc::new(Behind { manifest: Mutex::new(Some(manifest)), given_up: AtomicBool::new(false) });
        let (shared, told, workdir) = (self.order.clone(), behind.clone(), workdir.to_owned());
        let write = move || {
            let go_on = || !told.given_up.load(Relaxed);
            let pending = order::write(&workdir.join("graph"), content, &shared, &go_on)?;
            drop(shared);
            if let Some(manifest) = &mut *told.manifest.lock().unwrap_or_else(PoisonError::into_inner) {
                manifest.save(&workdir)?;
            }
            Ok(pending)
        };
        let thread = std::thread::Builder::new().name("order".into()).spawn(write);
        let thread = thread.map_err(|_| Error::thread())?;
        self.storing = Some(Storing { thread: Some(thread), behind });
        Ok(())
    }

    /// The order.
    pub fn order(&self) -> &Relabelled {
        &self.order
    }

    /// Stores what is left of it behind others, who save the manifest from now on. It may say that the order is stored before
    /// it is; one that is not is made anew. The memory is free once it is stored.
    pub fn let_go_on(mut self) -> Option<Storing> {
        let storing = self.storing.take();
        if let Some(storing) = &storing {
            *storing.behind.manifest.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        // Gigabytes take a while to give back.
        let _ = std::thread::Builder::new().name("order".into()).spawn(move || drop(self));
        storing
    }

    /// Waits until it is stored.
    ///
    /// # Errors
    /// Those of storing it.
    pub fn finish(&mut self, syncer: &Syncer) -> Result<()> {
        let Some(thread) = self.storing.take().and_then(|mut storing| storing.thread.take()) else { return Ok(()) };
        syncer.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(())
    }
}

/// An order that is being stored. Dropped, it is stored to its end.
pub struct Storing {
    thread: Option<JoinHandle<Result<Pending>>>,
    behind: Arc<Behind>,
}

impl Storing {
    /// Leaves it unstored: nobody will need it any more.
    pub fn give_up(self) {
        self.behind.given_up.store(true, Relaxed);
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        // What went wrong meanwhile has another cause, or the order is made anew.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
