//! Stages that derive rows from a graph's blocks, for tasks that need them. The rows are opened if an earlier run or
//! the job that kept the graph stored them; otherwise they are built.

use super::stored_blocks::{log_stored, missing};
use crate::config::Job;
use crate::error::{Error, Result};
use crate::graph::{DegreeRuns, Direction, GraphWeights, Half, Layout};
use crate::job::context::Context;
use crate::job::run_record::RunRecord;
use crate::job::stage::{Made, Stage};
use crate::prepare::order;
use crate::prepare::prepared::{Graph, RowFiles};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;
use std::path::Path;

/// One kind of derived rows: the upper half, or merged rows (all neighbours).
pub(crate) trait DerivedRows {
    /// Name of the stage that builds them, in the manifest and the report.
    const STAGE: &'static str;
    /// The half of rows that their blocks are stored as.
    const HALF: Half;
    /// Their figures in the manifest.
    type Info: Serialize + DeserializeOwned;

    /// Returns true if a task of `job` reads them, in a graph with this direction.
    fn is_needed(job: &Job, direction: Direction) -> bool;

    /// Returns the place of these rows of a graph below `folder`, the folder of a graph, as `job` needs them. The
    /// vertices have the degrees `runs`.
    ///
    /// # Errors
    /// None in practice.
    fn place(job: &Job, graph: &Graph, runs: &DegreeRuns, folder: &Path) -> Result<DerivedPlace>;

    /// Makes the rows of a graph whose blocks are in memory there. Returns false if its blocks are in files
    /// afterwards, so that its derived rows are stored, too.
    ///
    /// # Errors
    /// Errors of memory and disk; a stop.
    fn make_in_memory(_: &Context, _: &mut RunRecord, _: &mut Graph, _: &Layout) -> Result<bool> {
        Ok(false)
    }

    /// Returns true if the files other than blocks and weights are whole. Collective.
    ///
    /// # Errors
    /// Errors of the folder.
    fn is_rest_whole(_: &Context, _: &RowFiles) -> Result<bool> {
        Ok(true)
    }

    /// Builds the blocks that are missing. Collective.
    ///
    /// # Errors
    /// Errors of memory, disk and the graph's blocks; a stop.
    fn build(context: &Context, record: &mut RunRecord, graph: &Graph, missing: &MissingRows) -> Result<()>;

    /// Opens the rows as a part of the graph.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    fn open(context: &Context, graph: &mut Graph, place: &DerivedPlace) -> Result<()>;

    /// Returns their figures, once they are a part of the graph.
    fn info(graph: &Graph, place: &DerivedPlace) -> Self::Info;

    /// Returns the weights that the figures of an earlier run name.
    fn weights_of(info: &Self::Info) -> Option<GraphWeights>;

    /// Removes the files below `folder`, the folder of a graph. `info` are the figures of the run that built them.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn remove_files(folder: &Path, info: Option<Self::Info>) -> Result<()>;
}

/// Where derived rows are stored, and their blocks and weights.
pub(crate) struct DerivedPlace {
    pub(super) rows: RowFiles,
    pub(super) layout: Layout,
    pub(super) weights: Option<GraphWeights>,
}

impl DerivedPlace {
    /// Returns for each block whether it must be built, and whether all files are whole. Collective.
    fn look<D: DerivedRows>(&self, context: &Context) -> Result<(Vec<bool>, bool)> {
        let missing = missing(context, &self.rows, D::HALF, &self.layout, self.weights)?;
        let is_whole = !missing.contains(&true) && D::is_rest_whole(context, &self.rows)?;
        Ok((missing, is_whole))
    }
}

/// Derived rows to build.
pub(crate) struct MissingRows {
    pub(super) place: DerivedPlace,
    /// True for each block that is not stored.
    pub(super) wanted: Vec<bool>,
}

/// The stage that derives the rows `D`.
#[derive(Default)]
pub(crate) struct Derived<D> {
    missing: Option<MissingRows>,
    rows: PhantomData<D>,
}

impl<D: DerivedRows> Stage for Derived<D> {
    fn steps(&self, job: &Job, made: &Made) -> Vec<&'static str> {
        if D::is_needed(job, made.direction(job)) { vec![D::STAGE] } else { Vec::new() }
    }

    /// If no task of the job needs the rows, removes those of an earlier table if they are damaged, because no stage
    /// would repair them. Otherwise opens them. The rows of a graph that another job kept are opened there if they are
    /// whole.
    fn open(&mut self, context: &mut Context, record: &mut RunRecord, made: &mut Made) -> Result<bool> {
        let is_needed = D::is_needed(&context.job, made.direction(&context.job));
        let graph = made.graph()?;
        if is_needed {
            if graph.catalogue.is_in_memory() {
                return Ok(false);
            }
            self.missing = open_whole::<D>(context, record, graph)?;
            return Ok(self.missing.is_none());
        }
        if context.job.keep && record.manifest.stages.contains_key(D::STAGE) {
            let place = D::place(&context.job, graph, &runs(context, graph)?, &context.graph_folder())?;
            if let Some(info) = record.manifest.found::<D::Info>(D::STAGE, place.rows.key)
                && !(DerivedPlace { weights: D::weights_of(&info), ..place }).look::<D>(context)?.1
            {
                remove::<D>(context, record)?;
            }
        }
        Ok(true)
    }

    /// Builds the rows in the workdir of the job.
    fn run(&mut self, context: &mut Context, record: &mut RunRecord, made: &mut Made) -> Result<()> {
        let graph = made.graph()?;
        if graph.catalogue.is_in_memory() {
            let DerivedPlace { layout, .. } = D::place(&context.job, graph, &runs(context, graph)?, &graph.folder)?;
            if D::make_in_memory(context, record, graph, &layout)? {
                return Ok(());
            }
            self.missing = open_whole::<D>(context, record, graph)?;
        }
        let Some(missing) = self.missing.take() else { return Ok(()) };
        log_stored(&missing.wanted);
        record.manifest.forget(D::STAGE);
        D::build(context, record, graph, &missing)?;
        let MissingRows { place, .. } = missing;
        D::open(context, graph, &place)?;
        record.done(D::STAGE, place.rows.key, &D::info(graph, &place))?;
        record.save()
    }
}

/// Returns the degrees of the graph's vertices.
fn runs(context: &Context, graph: &Graph) -> Result<DegreeRuns> {
    context.retry_until_visible(|| order::read_runs(&graph.folder, graph.info.content))
}

/// Opens the rows if they are whole. Otherwise returns what to build. Collective.
fn open_whole<D: DerivedRows>(context: &Context, record: &RunRecord, graph: &mut Graph) -> Result<Option<MissingRows>> {
    let (own, runs) = (context.graph_folder(), runs(context, graph)?);
    if graph.folder != own {
        let kept = D::place(&context.job, graph, &runs, &graph.folder)?;
        if kept.look::<D>(context)?.1 {
            return D::open(context, graph, &kept).map(|()| None);
        }
    }
    let place = D::place(&context.job, graph, &runs, &own)?;
    let folder = &place.rows.folder;
    context.agreed(|| std::fs::create_dir_all(folder).map_err(|e| Error::io("create the folder", folder, e)))?;
    let (wanted, is_whole) = place.look::<D>(context)?;
    let noted = record.manifest.found::<D::Info>(D::STAGE, place.rows.key);
    let is_noted = noted.is_some_and(|info| place.weights.is_none() || D::weights_of(&info) == place.weights);
    if is_noted && is_whole {
        return D::open(context, graph, &place).map(|()| None);
    }
    Ok(Some(MissingRows { place, wanted }))
}

/// Removes rows from the job's own workdir, and forgets the stage that built them. Collective.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn remove<D: DerivedRows>(context: &Context, record: &mut RunRecord) -> Result<()> {
    let folder = context.graph_folder();
    context.agreed(|| {
        D::remove_files(&folder, record.manifest.last(D::STAGE))?;
        // Removes the folder only if it is empty: it was created for these rows.
        let _ = std::fs::remove_dir(&folder);
        Ok(())
    })?;
    if record.manifest.stages.contains_key(D::STAGE) {
        record.manifest.forget(D::STAGE);
        // The manifest changed, so the report is written again.
        record.note_change();
    }
    Ok(())
}
