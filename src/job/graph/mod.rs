//! The stages that prepare a graph. A stage is skipped if the manifest says that it is done and its result is still
//! valid.
//!
//! | file | holds |
//! |---|---|
//! | this file | the stage that prepares a graph from edges, by means of `vertex_order` and `blocks` |
//! | `vertex_order` | `ingest` and `relabel`: the first pass over the edges, and the order of vertices |
//! | `lists` | lists that number sparse ids and ids that are strings, and weights of 64 bits |
//! | `named` | a check that the input has the vertices that the job's tables name |
//! | `blocks`, `stored_blocks` | `partition` and `sort`: opening blocks, and finding missing blocks |
//! | `assignment`, `build` | which rank builds which blocks, and building them |
//! | `kept` | the graph that the job of another workdir kept |
//! | `residence` | graphs whose blocks stay in memory |
//! | `degree_file` | the file of degrees next to the blocks |
//! | `derived`, `transpose`, `merge` | derived rows: the upper half, and merged rows (all neighbours) |
//! | `upper`, `packing` | building the upper half, in files or packed in memory |

mod assignment;
mod blocks;
mod build;
mod degree_file;
mod derived;
pub(crate) mod kept;
mod lists;
pub(crate) mod merge;
pub(crate) mod named;
mod packing;
mod residence;
mod stored_blocks;
pub(crate) mod transpose;
mod upper;
mod vertex_order;

pub(crate) use self::derived::Derived;

use self::blocks::BuildBlocks;
use self::vertex_order::VertexOrder;
use crate::algo::ByInput;
use crate::config::Job;
use crate::error::{Error, Result};
use crate::formats::{Input, InputCache};
use crate::job::context::Context;
use crate::job::input::{self, streams};
use crate::job::ranks;
use crate::job::run_record::RunRecord;
use crate::job::stage::{Stage, StageResults};
use crate::job::state::clean;
use crate::job::state::finished::{Finished, FinishedInput};
use crate::job::state::manifest::Manifest;
use crate::job::state::order_writer::{OrderWriteHandle, OrderWriter};
use crate::prepare::prepared::{Graph, InputInfo};

/// Names of the stages of every graph, in the manifest and the report. `transpose` and `merge` are additional stages
/// for tasks that need derived rows.
pub const STAGES: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// The stage that prepares a graph from edges. Between its two passes over the edges it keeps a part of the input in
/// memory.
#[derive(Default)]
pub(crate) struct FromEdges {
    /// The order of vertices, while it is written in the background.
    storing: Option<OrderWriteHandle>,
}

/// The data that the steps of preparation share.
struct Preparation<'a, 'm> {
    input: &'a Input,
    cache: &'a InputCache<'m>,
    /// The statistics of the input, and the order of vertices if this run made it.
    order: Option<(InputInfo, Option<OrderWriter>)>,
    /// The order of vertices, while it is written in the background.
    storing: Option<OrderWriteHandle>,
    graph: Option<Graph>,
}

impl Preparation<'_, '_> {
    /// Takes the statistics of the input, and the order of vertices if this run made it.
    fn take_order(&mut self) -> Result<(InputInfo, Option<OrderWriter>)> {
        self.order.take().ok_or_else(|| Error::internal("build blocks", "no order of vertices"))
    }
}

impl Stage for FromEdges {
    fn steps(&self, _: &Job, _: &StageResults) -> Vec<&'static str> {
        STAGES.to_vec()
    }

    /// Returns true if an earlier run finished the whole job. Returns false if the job keeps its graph and its input is
    /// still there, so that `run` checks the stored files.
    fn open(
        &mut self,
        context: &mut Context,
        record: &mut RunRecord,
        stage_results: &mut StageResults,
    ) -> Result<bool> {
        let looks_over = context.job.keep && !streams::is_gone(&record.manifest);
        if !looks_over && let Some(finished) = context.on_leader(|| finished(&context.job, &record.manifest))? {
            tracing::info!("this job is done already; --fresh runs it again");
            stage_results.finished = Some(FinishedInput::Graph(Box::new(finished)));
            return Ok(true);
        }
        context.begin_gpu()?;
        Ok(false)
    }

    /// Prepares the graph, or opens it if it is already prepared. If the input only looked changed and all tasks are
    /// done, stops after the first pass.
    fn run(&mut self, context: &mut Context, record: &mut RunRecord, stage_results: &mut StageResults) -> Result<()> {
        let input = input::of_job(&context.job)?;
        let identity = input::version_key(&input, &context.job.input_keys)?;
        let (input, names) = if input.has_names() {
            ranks::check_input(&context.comm, &input.name(), identity)?;
            let (input, names) = lists::number_strings(context, record, input, identity)?;
            (input, Some(names))
        } else {
            (input, None)
        };
        let input = &input;
        let mut memory = input.cache_addresses(&context.budget)?;
        let cache = &input.cache(&mut memory, &context.budget)?;
        let mut preparation = Preparation { input, cache, order: None, storing: None, graph: None };
        let is_opened = VertexOrder { identity, names_of: names.map(|names| names.list().checksum()) }.open_or_run(
            context,
            record,
            &mut preparation,
        )?;
        let (info, order) = preparation.take_order()?;
        if is_opened && info.sparse {
            lists::ensure_ids(context, record, input, identity)?;
        }
        if let Some(weights) = info.weights.filter(|weights| is_opened && weights.kind.is_wide()) {
            lists::ensure_weights(context, record, input, weights)?;
        }
        named::check(context, record, &info, &context.graph_folder(), order.as_ref(), Some((input, cache)))?;
        let mut blocks = BuildBlocks::default();
        let is_done = || Finished::of(&context.job, &record.manifest, info.clone());
        if !context.job.keep
            && let Some(finished) = context.on_leader(is_done)?
        {
            blocks.skip(context, record, &preparation);
            self.storing = order.and_then(OrderWriter::finish_in_background);
            tracing::info!("the input holds what it did: this job is done already; --fresh runs it again");
            stage_results.finished = Some(FinishedInput::Graph(Box::new(finished)));
            return Ok(());
        }
        preparation.order = Some((info, order));
        blocks.open_or_run(context, record, &mut preparation).inspect_err(|e| {
            // The second pass refused what the first pass had accepted, so the next run repeats the first pass.
            if matches!(e, Error::Input { .. }) {
                STAGES[..2].iter().for_each(|name| record.manifest.forget(name));
            }
        })?;
        self.storing = preparation.storing;
        stage_results.input = preparation.graph.map(|graph| ByInput::Graph(Box::new(graph)));
        Ok(())
    }

    /// Removes the graph and the rows that were derived from it.
    fn remove(&mut self, context: &Context, _: &mut RunRecord) -> Result<()> {
        self.storing.take().into_iter().for_each(OrderWriteHandle::cancel);
        if context.comm.is_leader() { clean::intermediates(&context.job.workdir) } else { Ok(()) }
    }
}

/// Returns the statistics of the graph if nothing of the job is left to do, according to the manifest and the version
/// of the input.
fn finished(job: &Job, manifest: &Manifest) -> Result<Option<Finished>> {
    let is_gone = streams::is_gone(manifest);
    if is_gone || streams::is_same(manifest) {
        let done = manifest.last::<InputInfo>("relabel").map_or(Ok(None), |info| Finished::of(job, manifest, info))?;
        if done.is_some() || is_gone {
            return done.map(Some).ok_or_else(|| streams::empty_stream_error(manifest));
        }
    }
    let input = input::of_job(job)?;
    let identity = input::version_key(&input, &job.input_keys)?;
    manifest.found::<InputInfo>("relabel", identity).map_or(Ok(None), |info| Finished::of(job, manifest, info))
}
