//! Rows that a stage derives from a graph's blocks, for tasks that need them. They are opened if an earlier run or
//! the job that kept the graph stored them; otherwise they are built.

use super::blocks;
use crate::error::{Error, Result};
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::weights::stored::GraphWeights;
use crate::job::session::Session;
use crate::prepare::prepared::{Graph, Rows};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// One kind of derived rows: the upper half, or merged rows (all neighbours).
pub(super) trait DerivedRows {
    /// Name of the stage that builds them, in the manifest and the report.
    const STAGE: &'static str;
    /// The half of rows that their blocks are stored as.
    const HALF: Half;
    /// Their figures in the manifest.
    type Info: Serialize + DeserializeOwned;

    /// Returns the layout of their blocks.
    fn layout(&self) -> &Layout;

    /// Returns the weights stored with them, if a task reads weights.
    fn weights(&self) -> Option<GraphWeights>;

    /// Returns their place below `folder`, the folder of a graph.
    fn place(&self, folder: &Path) -> Rows;

    /// Returns true if the files other than blocks and weights are whole. Collective.
    ///
    /// # Errors
    /// Errors of the folder.
    fn is_rest_whole(&self, _session: &Session, _rows: &Rows) -> Result<bool> {
        Ok(true)
    }

    /// Builds the blocks that are `wanted`, as a stage. Collective.
    ///
    /// # Errors
    /// Errors of memory, disk and the graph's blocks; a stop.
    fn build(&self, session: &mut Session, graph: &Graph, rows: &Rows, wanted: &[bool]) -> Result<()>;

    /// Opens the rows as a part of the graph.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    fn open(&self, session: &Session, graph: &mut Graph, rows: Rows) -> Result<()>;

    /// Returns their figures, once they are a part of the graph.
    fn info(&self, graph: &Graph) -> Self::Info;

    /// Returns the weights that the figures of an earlier run name.
    fn weights_of(info: &Self::Info) -> Option<GraphWeights>;
}

/// Returns true if these rows are whole in the job's own workdir. Collective.
///
/// # Errors
/// Errors of the folder; a stop.
pub(super) fn are_whole<D: DerivedRows>(session: &Session, derived: &D) -> Result<bool> {
    let rows = derived.place(&session.graph_folder());
    let missing = blocks::missing(session, &rows, D::HALF, derived.layout(), derived.weights())?;
    Ok(!missing.contains(&true) && derived.is_rest_whole(session, &rows)?)
}

/// Removes rows from the job's own workdir, and forgets the stage that built them. `files` receives the folder of the
/// graph and removes the files. Collective.
///
/// # Errors
/// Errors of `files`.
pub(super) fn remove(session: &mut Session, stage: &str, files: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let folder = session.graph_folder();
    session.agreed(|| {
        files(&folder)?;
        // Removes the folder only if it is empty: it was created for these rows.
        let _ = std::fs::remove_dir(&folder);
        Ok(())
    })?;
    if session.manifest.stages.contains_key(stage) {
        session.manifest.forget(stage);
        // The manifest changed, so the report is written again.
        session.began = true;
    }
    Ok(())
}

/// Adds these rows to a graph. For a graph that another job kept, they are opened there if they are whole, otherwise
/// built in the job's own workdir. Collective.
///
/// # Errors
/// Errors of memory, disk and the graph's blocks; a stop.
pub(super) fn open_or_build<D: DerivedRows>(session: &mut Session, graph: &mut Graph, derived: &D) -> Result<()> {
    let (layout, weights) = (derived.layout(), derived.weights());
    let missing = |session: &Session, rows: &Rows| blocks::missing(session, rows, D::HALF, layout, weights);
    let is_whole = |session: &Session, rows: &Rows, missing: &[bool]| {
        Ok::<_, Error>(!missing.contains(&true) && derived.is_rest_whole(session, rows)?)
    };
    let own = session.graph_folder();
    if own != graph.folder {
        let kept = derived.place(&graph.folder);
        if is_whole(session, &kept, &missing(session, &kept)?)? {
            session.skipped(D::STAGE);
            return derived.open(session, graph, kept);
        }
    }
    let rows = derived.place(&own);
    let folder = &rows.folder;
    session.agreed(|| std::fs::create_dir_all(folder).map_err(|e| Error::io("create the folder", folder, e)))?;
    let wanted = missing(session, &rows)?;
    let noted = session.manifest.found::<D::Info>(D::STAGE, rows.key);
    let is_noted = noted.is_some_and(|info| weights.is_none() || D::weights_of(&info) == weights);
    if is_noted && is_whole(session, &rows, &wanted)? {
        session.skipped(D::STAGE);
        return derived.open(session, graph, rows);
    }
    blocks::log_stored(&wanted);
    session.manifest.forget(D::STAGE);
    derived.build(session, graph, &rows, &wanted)?;
    let (key, figures) = (rows.key, session.figures_of(D::STAGE));
    derived.open(session, graph, rows)?;
    session.manifest.done(D::STAGE, key, figures, &derived.info(graph))?;
    session.save_manifest()
}
