//! The stages that prepare a graph. A stage is skipped if it is complete according to the manifest, and its result is
//! still valid.
//!
//! | file | contents |
//! |---|---|
//! | this file | the stage that prepares a graph from edges, using `vertex_order` and `blocks` |
//! | `vertex_order` | `ingest` and `relabel`: the first pass over the edges, and the degree order |
//! | `lists` | sorted lists that map sparse ids, string ids and 64-bit weights to small numbers |
//! | `named` | a check that the input contains the vertices that the job's tables name |
//! | `blocks`, `stored_blocks` | `partition` and `sort`: opening blocks, and finding missing blocks |
//! | `assignment`, `build` | which rank builds which blocks, and building them |
//! | `kept` | the graph that the job of another workdir kept |
//! | `residence` | graphs whose blocks remain in memory |
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
pub(crate) mod stored_blocks;
pub(crate) mod transpose;
mod upper;
mod vertex_order;

use crate::algo::ByInput;
use crate::config::Job;
use crate::error::{Error, Result};
use crate::job::context::Context;
use crate::job::input::{self, streams};
use crate::job::ranks;
use crate::job::run_record::RunRecord;
use crate::job::stage::{Stage, StageResults};
use crate::job::state::clean;
use crate::job::state::finished::finished_graph;
use crate::job::state::manifest::Manifest;
use crate::job::state::order_writer::{OrderWriteHandle, OrderWriter};
use crate::job::state::record::GraphRecord;
use crate::prepare::prepared::InputInfo;

/// Names in the manifest and the report of the stages that prepare every graph. `transpose` and `merge` are
/// additional stages for tasks that need derived rows.
pub const STAGES: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// The stage that prepares a graph from edges, in two passes. Between the passes it caches as much of the input as
/// fits in memory.
#[derive(Default)]
pub(crate) struct FromEdges {
    /// The degree order, while it is being written in the background.
    storing: Option<OrderWriteHandle>,
}

impl Stage for FromEdges {
    fn steps(&self, _: &Job, _: &StageResults) -> Vec<&'static str> {
        STAGES.to_vec()
    }

    /// Prepares the graph, or opens it if it is already prepared. Returns true if an earlier run completed the whole
    /// job. Even then, the stored files are checked if the job keeps its graph and its input still exists. If the
    /// input seemed to have changed, but the first pass finds that it is the same and that all tasks are complete, no
    /// rows are built.
    fn ensure(&mut self, context: &mut Context, record: &mut RunRecord, results: &mut StageResults) -> Result<bool> {
        let looks_over = context.job.keep && !streams::is_gone(&record.manifest);
        if !looks_over && let Some(finished) = context.on_leader(|| finished(&context.job, &record.manifest))? {
            tracing::info!("this job is done already; --fresh runs it again");
            results.finished = Some(ByInput::Graph(Box::new(finished)));
            return Ok(true);
        }
        context.begin_gpu()?;
        let input = input::of_job(&context.job)?;
        let identity = input::version_key(&input, &context.job.input_keys)?;
        ranks::check_input(&context.comm, &input.name(), identity)?;
        let (input, names_of) = match input.has_names() {
            true => lists::number_strings(context, record, input, identity)?,
            false => (input, None),
        };
        let mut memory = input.cache_addresses(&context.budget)?;
        let edges = (&input, &input.cache(&mut memory, &context.budget)?);
        let (info, order) = vertex_order::open_or_make(context, record, edges, identity, names_of)?;
        if order.is_none() && info.sparse {
            lists::ensure_ids(context, record, &input, identity)?;
        }
        if let Some(weights) = info.weights.filter(|weights| order.is_none() && weights.kind.is_wide()) {
            lists::ensure_weights(context, record, &input, weights)?;
        }
        named::check(context, record, &info, &context.graph_folder(), order.as_ref(), Some(edges))?;
        let is_done = || Ok(finished_graph(&context.job, &record.manifest, info.clone()));
        if !context.job.keep
            && let Some(finished) = context.on_leader(is_done)?
        {
            record.skipped(&STAGES[2..]);
            self.storing = order.and_then(OrderWriter::finish_in_background);
            tracing::info!("the input holds what it did: this job is done already; --fresh runs it again");
            results.finished = Some(ByInput::Graph(Box::new(finished)));
            return Ok(false);
        }
        let built = blocks::open_or_build(context, record, edges, info, order).inspect_err(|e| {
            // The second pass rejected edges that the first pass had accepted, so the next run repeats the first
            // pass.
            if matches!(e, Error::Input { .. }) {
                STAGES[..2].iter().for_each(|name| record.manifest.forget(name));
            }
        });
        let graph;
        (graph, self.storing) = built?;
        results.input = Some(ByInput::Graph(Box::new(graph)));
        Ok(false)
    }

    /// Removes the graph and the rows derived from it.
    fn remove(&mut self, context: &Context, _: &mut RunRecord) -> Result<()> {
        self.storing.take().into_iter().for_each(OrderWriteHandle::cancel);
        if context.comm.is_leader() { clean::intermediates(&context.job.workdir) } else { Ok(()) }
    }
}

/// Returns the statistics of the graph if the whole job is complete, according to the manifest and the version of the
/// input.
fn finished(job: &Job, manifest: &Manifest) -> Result<Option<GraphRecord>> {
    let of = |info| finished_graph(job, manifest, info);
    let is_gone = streams::is_gone(manifest);
    if is_gone || streams::is_same(manifest) {
        let done = manifest.last::<InputInfo>("relabel").and_then(of);
        if done.is_some() || is_gone {
            return done.map(Some).ok_or_else(|| streams::empty_stream_error(manifest));
        }
    }
    let input = input::of_job(job)?;
    let identity = input::version_key(&input, &job.input_keys)?;
    Ok(manifest.found::<InputInfo>("relabel", identity).and_then(of))
}
