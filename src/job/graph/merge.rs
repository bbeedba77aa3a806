//! The stage `merge`: rows of all neighbours of a graph that keeps direction, for tasks that take edges without it.

use super::blocks::missing;
use super::degree_file;
use crate::error::{Error, Result};
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
use std::path::Path;

/// Name of the stage in the manifest and the report.
pub const STAGE: &str = crate::job::plan::cost_model::MERGE_STAGE;
/// Name of its folder in that of the graph.
const FOLDER: &str = "undirected";

/// Returns where the rows of all neighbours lie that are made of a graph in `folder` that keeps direction, and their layout.
///
/// # Errors
/// Those of the order of vertices.
pub(crate) fn rows(graph: &Graph, folder: &Path) -> Result<(Rows, Layout)> {
    let runs = order::read_runs(&graph.folder, graph.info.content)?;
    let layout = Layout::new(&runs, graph.info.edges - graph.info.loops, Direction::Undirected);
    Ok((Rows { folder: folder.join(FOLDER), key: merged_key(graph.info.content)? }, layout))
}

/// Gives a graph that keeps direction rows of all neighbours, too: those of an earlier run, or new ones where they are missing. Those of a
/// graph which another job kept are taken from there if they are whole, else made in the job's own workdir. Collective.
///
/// # Errors
/// Those of memory, disk and the graph's blocks; a stop.
pub(crate) fn ensure(session: &mut Session, graph: &mut Graph) -> Result<()> {
    let own = session.graph_folder();
    let (theirs, layout) = session.in_sight(|| rows(graph, &graph.folder))?;
    let weights = graph.stored.weights.filter(|_| session.job.merged_has_weights()).map(merged_weights).transpose()?;
    let wanted =
        |session: &Session, rows: &Rows| missing(session, &rows.folder, (Half::Lower, rows.key), &layout, weights);
    let are_done = |session: &Session, rows: &Rows, wanted: &[bool]| -> Result<bool> {
        Ok(!wanted.contains(&true) && session.agreed(|| Ok(degrees::open(&rows.folder, rows.key).is_ok()))?)
    };
    if own != graph.folder && are_done(session, &theirs, &wanted(session, &theirs)?)? {
        session.skipped(STAGE);
        return open(session, graph, theirs, layout, weights);
    }
    let rows = Rows { folder: own.join(FOLDER), key: theirs.key };
    let folder = &rows.folder;
    session.agreed(|| std::fs::create_dir_all(folder).map_err(|e| Error::io("create the folder", folder, e)))?;
    let wanted = wanted(session, &rows)?;
    let done = session.manifest.found::<StoreInfo>(STAGE, rows.key);
    let is_noted = done.is_some_and(|done| weights.is_none() || done.weights == weights);
    if is_noted && are_done(session, &rows, &wanted)? {
        session.skipped(STAGE);
        return open(session, graph, rows, layout, weights);
    }
    session.manifest.forget(STAGE);
    build(session, graph, &rows, &layout, (&wanted, weights))?;
    let (key, figures) = (rows.key, session.figures_of(STAGE));
    open(session, graph, rows, layout, weights)?;
    let stored = graph.for_task(false).stored.clone();
    session.manifest.done(STAGE, key, figures, &stored)?;
    session.save_manifest()
}

/// Removes the rows that this job made of a graph that another job kept.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn remove(session: &Session) -> Result<()> {
    let folder = session.graph_folder();
    if session.manifest.last::<StoreInfo>(STAGE).is_some() {
        let rows = folder.join(FOLDER);
        std::fs::remove_dir_all(&rows).map_err(|e| Error::io("remove", &rows, e))?;
    }
    // If nothing else is in it, it was made for them.
    let _ = std::fs::remove_dir(&folder);
    Ok(())
}

fn build(
    session: &mut Session,
    graph: &Graph,
    rows: &Rows,
    layout: &Layout,
    (wanted, weights): (&[bool], Option<GraphWeights>),
) -> Result<()> {
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
        degree_file::add_stored(s, &degrees, (&rows.folder, rows.key), layout, wanted)?;
        let mut degrees = degrees.finish();
        s.comm.reduce_scatter(&mut degrees);
        written += degree_file::write(s, &mut degrees, (&rows.folder, rows.key))?;
        let read = graph.catalogue.bytes() + if weights.is_some() { graph.catalogue.weights_bytes() } else { 0 };
        Ok(((), Moved { read: read / ranks as u64, written }))
    })
}

fn open(session: &Session, graph: &mut Graph, rows: Rows, layout: Layout, weights: Option<GraphWeights>) -> Result<()> {
    let merged = session.in_sight(|| graph.without_direction(rows.clone(), layout.clone(), weights))?;
    graph.merged = Some(Box::new(merged));
    Ok(())
}
