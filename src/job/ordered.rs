//! The order of vertices while its file is written behind those who use it: 4 bytes an id take longer to store than the
//! next stage takes to begin.

use super::manifest::Manifest;
use crate::error::{Error, Result};
use crate::prepare::order;
use crate::prepare::relabel::Relabelled;
use crate::store::file::Pending;
use crate::store::sync::Syncer;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

/// An order of vertices. Until [`Self::finish`], or until it is dropped, nobody else may save the manifest.
pub struct Ordered {
    order: Arc<Relabelled>,
    writing: Option<JoinHandle<Result<Pending>>>,
}

impl Ordered {
    /// One that is stored already.
    pub fn stored(order: Relabelled) -> Ordered {
        Ordered { order: Arc::new(order), writing: None }
    }

    /// Begins to store `order` in the graph's folder under `workdir`; `manifest`, which says that it is there, is saved
    /// then.
    ///
    /// # Errors
    /// [`Error::Io`] if the system allows no more threads.
    pub fn store(order: Relabelled, content: u64, mut manifest: Manifest, workdir: &Path) -> Result<Ordered> {
        let order = Arc::new(order);
        let (shared, workdir) = (order.clone(), workdir.to_owned());
        let write = move || {
            let pending = order::write(&workdir.join("graph"), content, &shared)?;
            drop(shared);
            manifest.save(&workdir)?;
            Ok(pending)
        };
        let thread = std::thread::Builder::new().name("order".into()).spawn(write);
        let thread = thread.map_err(|e| Error::io("start a thread to store the order of vertices", "order", e))?;
        Ok(Ordered { order, writing: Some(thread) })
    }

    /// The order.
    pub fn order(&self) -> &Relabelled {
        &self.order
    }

    /// Waits until it is stored.
    ///
    /// # Errors
    /// Those of storing it.
    pub fn finish(&mut self, syncer: &Syncer) -> Result<()> {
        let Some(thread) = self.writing.take() else { return Ok(()) };
        syncer.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(())
    }
}

impl Drop for Ordered {
    fn drop(&mut self) {
        // What went wrong meanwhile has another cause.
        let _ = self.writing.take().map(JoinHandle::join);
    }
}
