//! The stage `merge`: rows of all neighbours of a directed graph, for tasks that ignore direction.

use super::degree_file;
use super::derived::{self, DerivedRows};
use crate::error::Result;
use crate::graph::degrees::{self, Degrees};
use crate::graph::direction::Direction;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::weights::stored::GraphWeights;
use crate::job::session::{Moved, Session, Watched};
use crate::job::state::manifest::{merged_key, merged_weights};
use crate::prepare::merge::Merge;
use crate::prepare::order;
use crate::prepare::prepared::{Graph, Rows, StoreInfo};
use crate::process::progress::Unit;
use crate::store::replace::remove_folder;
use std::path::Path;

/// Name of the stage in the manifest and the report.
pub const STAGE: &str = crate::job::plan::cost_model::MERGE_STAGE;
/// Name of its folder in the folder of the graph.
const FOLDER: &str = "undirected";

/// Returns the place of the merged rows of the directed graph `graph` below `folder`, and their layout.
///
/// # Errors
/// Errors of the order of vertices.
pub(crate) fn rows(graph: &Graph, folder: &Path) -> Result<(Rows, Layout)> {
    let runs = order::read_runs(&graph.folder, graph.info.content)?;
    let layout = Layout::new(&runs, graph.info.edges - graph.info.loops, Direction::Undirected);
    Ok((Rows { folder: folder.join(FOLDER), key: merged_key(graph.info.content)? }, layout))
}

/// Adds merged rows to a directed graph: opens them, or builds the missing ones. Collective.
///
/// # Errors
/// Errors of memory, disk and the graph's blocks; a stop.
pub(crate) fn ensure(session: &mut Session, graph: &mut Graph) -> Result<()> {
    let (Rows { key, .. }, layout) = session.retry_until_visible(|| rows(graph, &graph.folder))?;
    let weights = graph.stored.weights.filter(|_| session.job.merged_has_weights()).map(merged_weights).transpose()?;
    derived::open_or_build(session, graph, &MergedRows { key, layout, weights })
}

/// Merged rows: all neighbours of each vertex.
struct MergedRows {
    key: u64,
    layout: Layout,
    weights: Option<GraphWeights>,
}

impl DerivedRows for MergedRows {
    const STAGE: &'static str = STAGE;
    const HALF: Half = Half::Lower;
    type Info = StoreInfo;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn weights(&self) -> Option<GraphWeights> {
        self.weights
    }

    fn place(&self, folder: &Path) -> Rows {
        Rows { folder: folder.join(FOLDER), key: self.key }
    }

    fn is_rest_whole(&self, session: &Session, rows: &Rows) -> Result<bool> {
        session.agreed(|| Ok(degrees::open(&rows.folder, rows.key).is_ok()))
    }

    fn build(&self, session: &mut Session, graph: &Graph, rows: &Rows, wanted: &[bool]) -> Result<()> {
        let MergedRows { ref layout, weights, .. } = *self;
        let (rank, ranks) = (session.comm.rank(), session.comm.ranks());
        let mine: Vec<bool> = wanted.iter().enumerate().map(|(b, &wanted)| wanted && b % ranks == rank).collect();
        session.stage(STAGE, graph.stored.edges, Unit::Edges, |s, progress| {
            let degrees = Degrees::new(layout.rows(), &s.budget)?;
            let merge = Merge {
                arcs: &graph.catalogue,
                layout,
                wanted: &mine,
                degrees: &degrees,
                folder: &rows.folder,
                key: rows.key,
                weights,
                budget: &s.budget,
                syncer: &s.syncer,
            };
            let mut written = merge.build(&Watched(progress))?.bytes;
            degree_file::add_stored(s, &degrees, rows, layout, wanted)?;
            let mut degrees = degrees.finish();
            s.comm.reduce_scatter(&mut degrees);
            written += degree_file::write(s, &mut degrees, rows)?;
            let read = graph.catalogue.bytes() + if weights.is_some() { graph.catalogue.weights_bytes() } else { 0 };
            Ok(((), Moved { read: read / ranks as u64, written }))
        })
    }

    fn open(&self, session: &Session, graph: &mut Graph, rows: Rows) -> Result<()> {
        let open = || graph.without_direction(rows.clone(), self.layout.clone(), self.weights);
        let merged = session.retry_until_visible(open)?;
        graph.merged = Some(Box::new(merged));
        Ok(())
    }

    fn info(&self, graph: &Graph) -> StoreInfo {
        graph.for_task(false).stored.clone()
    }

    fn weights_of(info: &StoreInfo) -> Option<GraphWeights> {
        info.weights
    }
}

/// Removes the merged rows if they are damaged. An earlier table needed them; no table of this job does, so no stage
/// would repair them. Collective.
///
/// # Errors
/// Errors of the disk; a stop.
pub(crate) fn look_over(session: &mut Session, graph: &Graph) -> Result<()> {
    let key = merged_key(graph.info.content)?;
    let Some(StoreInfo { weights, .. }) = session.manifest.found(STAGE, key) else { return Ok(()) };
    let (_, layout) = session.retry_until_visible(|| rows(graph, &graph.folder))?;
    if derived::are_whole(session, &MergedRows { key, layout, weights })? { Ok(()) } else { remove(session) }
}

/// Removes the merged rows from the job's own workdir. Collective.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn remove(session: &mut Session) -> Result<()> {
    derived::remove(session, STAGE, |folder| remove_folder(&folder.join(FOLDER)))
}
