//! Stages that derive rows from a graph's blocks, for tasks that need them. A stage opens the rows if an earlier run,
//! or the job that kept the graph, stored them. Otherwise it builds them.

use super::stored_blocks::{StoredHalf, log_stored, missing};
use crate::config::Job;
use crate::error::Result;
use crate::graph::{DegreeRuns, Direction, GraphWeights, Half, Layout};
use crate::job::context::Context;
use crate::job::run_record::RunRecord;
use crate::job::stage::{Stage, StageResults};
use crate::prepare::order;
use crate::prepare::prepared::{Graph, RowFiles};
use crate::store::replace::make_folder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// One kind of derived rows: the upper half, or merged rows (all neighbours).
pub(crate) trait DerivedRows {
    /// Name, in the manifest and the report, of the stage that builds the derived rows.
    const STAGE: &'static str;
    /// The half whose name, lower or upper, appears in the names of the block files of the derived rows.
    const HALF: Half;
    /// Statistics of the derived rows, as the manifest records them.
    type Info: Serialize + DeserializeOwned;

    /// Returns true if a task of `job` needs the derived rows. `direction` is the direction of the graph's edges.
    fn is_needed(job: &Job, direction: Direction) -> bool;

    /// Returns true if `graph` already has the derived rows, because an earlier task of the session needed them. If a
    /// task of `job` reads weights and `graph` has weights, the rows must have weights, too.
    fn is_open(job: &Job, graph: &Graph) -> bool;

    /// Returns the files of the derived rows below `folder`, their division into blocks, and the weights that `job`
    /// reads with them. `folder` is the folder of the job's own graph or of a kept graph, and `runs` contains the
    /// degrees of the vertices of `graph`, run-length encoded.
    fn place(job: &Job, graph: &Graph, runs: &DegreeRuns, folder: &Path) -> DerivedPlace;

    /// Derives the rows in memory, if the graph's blocks are in memory. Returns false if the derived rows must be
    /// stored in files instead; the graph's blocks have then been moved to files, too.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Io`], [`crate::Error::Stopped`].
    fn make_in_memory(_: &Context, _: &mut RunRecord, _: &mut Graph, _: &Layout) -> Result<bool> {
        Ok(false)
    }

    /// Returns true if all files of the derived rows, except those of blocks and weights, are intact. Collective.
    ///
    /// # Errors
    /// Errors of reading the folder.
    fn is_rest_whole(_: &Context, _: &RowFiles) -> Result<bool> {
        Ok(true)
    }

    /// Builds the blocks of the derived rows for which `wanted` is true. Collective.
    ///
    /// # Errors
    /// [`crate::Error::Limit`], [`crate::Error::Io`], [`crate::Error::Stopped`], and errors of the graph's blocks.
    fn build(
        context: &Context,
        record: &mut RunRecord,
        graph: &Graph,
        place: &DerivedPlace,
        wanted: &[bool],
    ) -> Result<()>;

    /// Opens the stored derived rows and attaches them to `graph`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`], [`crate::Error::Io`].
    fn open(context: &Context, graph: &mut Graph, place: &DerivedPlace) -> Result<()>;

    /// Returns the statistics of the derived rows, which must be attached to `graph`.
    fn info(graph: &Graph, place: &DerivedPlace) -> Self::Info;

    /// Returns the weights that are stored with the derived rows. `info` contains the statistics of the rows, as the
    /// manifest records them.
    fn weights_of(info: &Self::Info) -> Option<GraphWeights>;

    /// Removes the files of the derived rows from `folder`, the folder of a graph. `info` contains the statistics of
    /// the rows, as the manifest records them.
    ///
    /// # Errors
    /// [`crate::Error::Io`].
    fn remove_files(folder: &Path, info: Option<Self::Info>) -> Result<()>;
}

/// The storage of derived rows: their files, their division into blocks, and their weights.
pub(crate) struct DerivedPlace {
    pub(super) rows: RowFiles,
    pub(super) layout: Layout,
    pub(super) weights: Option<GraphWeights>,
}

impl DerivedPlace {
    /// Returns for each block of the derived rows whether it must be built, and then whether all files of the rows are
    /// intact. Collective.
    fn check_files<D: DerivedRows>(&self, context: &Context) -> Result<(Vec<bool>, bool)> {
        let DerivedPlace { rows: RowFiles { folder, key }, layout, weights } = self;
        let missing = missing(context, &StoredHalf { folder, key: *key, half: D::HALF, layout, weights: *weights })?;
        let is_whole = !missing.contains(&true) && D::is_rest_whole(context, &self.rows)?;
        Ok((missing, is_whole))
    }
}

/// The stage that opens or builds one kind of derived rows.
impl<D: DerivedRows> Stage for D {
    fn steps(&self, job: &Job, results: &StageResults) -> Vec<&'static str> {
        if D::is_needed(job, results.direction(job)) { vec![D::STAGE] } else { Vec::new() }
    }

    /// Opens the rows if a task of the job needs them and all of them are stored, in this workdir or with the graph
    /// that another job kept. Otherwise builds them: in memory if the graph is in memory and they fit, else in files
    /// in the workdir of the job. If no task needs them, removes damaged rows of an earlier run, because no stage
    /// would repair them.
    fn ensure(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<bool> {
        let is_needed = D::is_needed(&context.job, results.direction(&context.job));
        let graph = results.graph()?;
        if is_needed && !D::is_open(&context.job, graph) {
            if graph.block_store.is_in_memory() {
                let DerivedPlace { layout, .. } = D::place(&context.job, graph, &runs(context, graph)?, &graph.folder);
                if D::make_in_memory(context, record, graph, &layout)? {
                    return Ok(false);
                }
            }
            return open_or_build::<D>(context, record, graph);
        }
        if !is_needed && context.job.keep && record.manifest.stages.contains_key(D::STAGE) {
            let place = D::place(&context.job, graph, &runs(context, graph)?, &context.graph_folder());
            if let Some(info) = record.manifest.found::<D::Info>(D::STAGE, place.rows.key)
                && !(DerivedPlace { weights: D::weights_of(&info), ..place }).check_files::<D>(context)?.1
            {
                remove::<D>(context, record)?;
            }
        }
        Ok(true)
    }
}

fn runs(context: &Context, graph: &Graph) -> Result<DegreeRuns> {
    context.retry_until_visible(|| order::read_runs(&graph.folder, graph.info.content))
}

/// Opens the derived rows `D` of `graph` if they are intact. Otherwise builds what is missing, in the job's own
/// workdir. Returns true if nothing was missing. Collective.
fn open_or_build<D: DerivedRows>(context: &Context, record: &mut RunRecord, graph: &mut Graph) -> Result<bool> {
    let (own, runs) = (context.graph_folder(), runs(context, graph)?);
    if graph.folder != own {
        let kept = D::place(&context.job, graph, &runs, &graph.folder);
        if kept.check_files::<D>(context)?.1 {
            return D::open(context, graph, &kept).map(|()| true);
        }
    }
    let place = D::place(&context.job, graph, &runs, &own);
    let folder = &place.rows.folder;
    context.on_leader(|| make_folder(folder))?;
    let (wanted, is_whole) = place.check_files::<D>(context)?;
    let noted = record.manifest.found::<D::Info>(D::STAGE, place.rows.key);
    let is_noted = noted.is_some_and(|info| place.weights.is_none() || D::weights_of(&info) == place.weights);
    if is_noted && is_whole {
        return D::open(context, graph, &place).map(|()| true);
    }
    log_stored(&wanted);
    record.manifest.forget(D::STAGE);
    D::build(context, record, graph, &place, &wanted)?;
    D::open(context, graph, &place)?;
    record.done(D::STAGE, place.rows.key, &D::info(graph, &place))?;
    record.save()?;
    Ok(false)
}

/// Removes the derived rows `D` from the job's own workdir, and the record of their stage from the manifest.
/// Collective.
///
/// # Errors
/// [`crate::Error::Io`].
pub(super) fn remove<D: DerivedRows>(context: &Context, record: &mut RunRecord) -> Result<()> {
    let folder = context.graph_folder();
    context.on_leader(|| {
        D::remove_files(&folder, record.manifest.last(D::STAGE))?;
        // Removes the folder only if it is empty, that is, if it was created for these rows.
        let _ = std::fs::remove_dir(&folder);
        Ok(())
    })?;
    if record.manifest.stages.contains_key(D::STAGE) {
        record.manifest.forget(D::STAGE);
        // The manifest changed, so the report is written again.
        record.is_changed = true;
    }
    Ok(())
}
