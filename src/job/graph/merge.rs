//! The stage `merge`: builds undirected rows of a directed graph, with all neighbours of each vertex, for tasks that
//! ignore direction.

use super::degree_file;
use super::derived::{DerivedPlace, DerivedRows};
use crate::config::Job;
use crate::error::Result;
use crate::graph::{DegreeRuns, Degrees, Direction, GraphWeights, Half, Layout, degrees};
use crate::job::context::Context;
use crate::job::run_record::{IoBytes, RunRecord};
use crate::job::state::key::{merged_key, merged_weights};
use crate::prepare::blocks::BlockFiles;
use crate::prepare::merge::Merge;
use crate::prepare::prepared::{Graph, RowFiles, StoreInfo};
use crate::process::progress::Unit;
use crate::store::replace::remove_folder;
use std::path::Path;

/// Name of the stage `merge` in the manifest and the report.
pub const STAGE: &str = crate::job::plan::cost_model::MERGE_STAGE;
/// Folder of the merged rows, inside the graph's folder.
const FOLDER: &str = "undirected";

/// Returns the files for the merged rows of the directed graph `graph` below `folder`, and the division of these rows
/// into blocks. `runs` contains the degrees of the graph's vertices, run-length encoded.
pub(crate) fn place(graph: &Graph, runs: &DegreeRuns, folder: &Path) -> (RowFiles, Layout) {
    let layout = Layout::new(runs, graph.info.edges - graph.info.loops, Direction::Undirected);
    (RowFiles { folder: folder.join(FOLDER), key: merged_key(graph.info.content) }, layout)
}

/// The merged rows of a directed graph: all neighbours of each vertex.
pub(crate) struct MergedRows;

impl DerivedRows for MergedRows {
    const STAGE: &'static str = STAGE;
    const HALF: Half = Half::Lower;
    type Info = StoreInfo;

    fn is_needed(job: &Job, direction: Direction) -> bool {
        job.merges(direction)
    }

    fn is_open(job: &Job, graph: &Graph) -> bool {
        let reads_weights = job.merged_has_weights() && graph.stored.weights.is_some();
        graph.merged.as_deref().is_some_and(|merged| !reads_weights || merged.stored.weights.is_some())
    }

    fn place(job: &Job, graph: &Graph, runs: &DegreeRuns, folder: &Path) -> DerivedPlace {
        let weights = graph.stored.weights.filter(|_| job.merged_has_weights()).map(merged_weights);
        let (rows, layout) = place(graph, runs, folder);
        DerivedPlace { rows, layout, weights }
    }

    fn is_rest_whole(context: &Context, rows: &RowFiles) -> Result<bool> {
        context.on_leader(|| Ok(degrees::open(&rows.folder, rows.key).is_ok()))
    }

    fn build(
        context: &Context,
        record: &mut RunRecord,
        graph: &Graph,
        DerivedPlace { rows, layout, weights }: &DerivedPlace,
        wanted: &[bool],
    ) -> Result<()> {
        let (rank, ranks) = (context.comm.rank(), context.comm.ranks());
        let mine: Vec<bool> = wanted.iter().enumerate().map(|(b, &wanted)| wanted && b % ranks == rank).collect();
        record.stage(context, STAGE, graph.stored.edges, Unit::Edges, |progress| {
            let degrees = Degrees::new(layout.rows(), &context.budget)?;
            let merge = Merge {
                arcs: &graph.block_store,
                wanted: &mine,
                degrees: &degrees,
                files: BlockFiles {
                    folder: &rows.folder,
                    key: rows.key,
                    layout,
                    weights: *weights,
                    syncer: &context.syncer,
                },
                budget: &context.budget,
            };
            let mut written = merge.build(progress)?.bytes;
            degree_file::add_stored(context, &degrees, rows, layout, wanted)?;
            written += degree_file::sum_and_write(context, degrees, rows)?;
            let read =
                graph.block_store.bytes() + if weights.is_some() { graph.block_store.weights_bytes() } else { 0 };
            Ok(((), IoBytes { read: read / ranks as u64, written }))
        })
    }

    fn open(context: &Context, graph: &mut Graph, DerivedPlace { rows, layout, weights }: &DerivedPlace) -> Result<()> {
        let open = || graph.without_direction(rows.clone(), layout.clone(), *weights);
        let merged = context.retry_until_visible(open)?;
        graph.merged = Some(Box::new(merged));
        Ok(())
    }

    fn info(graph: &Graph, _: &DerivedPlace) -> StoreInfo {
        graph.for_task(false).stored.clone()
    }

    fn weights_of(info: &StoreInfo) -> Option<GraphWeights> {
        info.weights
    }

    fn remove_files(folder: &Path, _: Option<StoreInfo>) -> Result<()> {
        remove_folder(&folder.join(FOLDER))
    }
}
