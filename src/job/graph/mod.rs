//! The stages that prepare a graph. A stage is skipped if the manifest says that it is done and its result is still
//! valid.
//!
//! | file | holds |
//! |---|---|
//! | this one | the graph that is prepared from edges, by the two stages that follow |
//! | `vertex_order` | `ingest` and `relabel`: the first pass over the edges, and the order of vertices |
//! | `id_numbers` | numbers for ids that are sparse, and for ids that are strings |
//! | `named` | a check that the input has the vertices that tables name |
//! | `blocks`, `stored_blocks` | `partition` and `sort`: opening blocks, and finding those that are missing |
//! | `assignment`, `build` | which rank builds which blocks, and building them |
//! | `kept` | the graph that the job of another workdir kept |
//! | `residence` | graphs whose blocks stay in memory |
//! | `degree_file` | the file of degrees next to the blocks |
//! | `derived`, `transpose`, `merge` | rows derived from the blocks: the upper half, and merged rows (all neighbours)
//! |
//! | `upper`, `packing` | building the upper half, in files or packed in memory |

mod assignment;
mod blocks;
mod build;
mod degree_file;
mod derived;
mod id_numbers;
pub(crate) mod kept;
pub(crate) mod merge;
mod named;
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
use crate::job::stage::{Made, Stage};
use crate::job::state::clean;
use crate::job::state::finished::{Finished, Subject};
use crate::job::state::manifest::Manifest;
use crate::job::state::order_writer::{Ordered, Storing};
use crate::prepare::prepared::{Graph, InputInfo};

/// Names of the stages of every graph, in the manifest and the report. `transpose` and `merge` are additional stages
/// for tasks that need derived rows.
pub const STAGES: [&str; 4] = ["ingest", "relabel", "partition", "sort"];

/// The stage that prepares a graph from edges. It holds the part of the input that is kept in memory between the order
/// of vertices and the blocks.
#[derive(Default)]
pub(crate) struct FromEdges {
    /// The order of vertices, while it is written in the background.
    storing: Option<Storing>,
}

/// What is made of the edges.
struct Making<'a, 'm> {
    input: &'a Input,
    cache: &'a InputCache<'m>,
    /// The facts about the input; and the order of vertices, if it was just made.
    order: Option<(InputInfo, Option<Ordered>)>,
    /// The order of vertices, while it is written in the background.
    storing: Option<Storing>,
    graph: Option<Graph>,
}

impl Making<'_, '_> {
    /// Takes the facts about the input, and the order of vertices if it was just made.
    fn take_order(&mut self) -> Result<(InputInfo, Option<Ordered>)> {
        self.order.take().ok_or_else(|| Error::internal("build blocks", "no order of vertices"))
    }
}

impl Stage for FromEdges {
    fn steps(&self, _: &Job, _: &Made) -> Vec<&'static str> {
        STAGES.to_vec()
    }

    /// Opens nothing, but finds out whether an earlier run did everything. A kept graph is looked over instead.
    fn open(&mut self, context: &mut Context, record: &mut RunRecord, made: &mut Made) -> Result<bool> {
        let looks_over = context.job.keep && !streams::is_gone(&record.manifest);
        if !looks_over && let Some(finished) = context.agreed(|| finished(&context.job, &record.manifest))? {
            tracing::info!("this job is done already; --fresh runs it again");
            made.finished = Some(Subject::Graph(Box::new(finished)));
            return Ok(true);
        }
        context.begin_gpu()?;
        Ok(false)
    }

    /// Prepares the graph, or opens it if it is already prepared. An input that only looks changed may turn out to be
    /// one whose tasks are all done.
    fn run(&mut self, context: &mut Context, record: &mut RunRecord, made: &mut Made) -> Result<()> {
        let input = input::of_job(&context.job)?;
        let identity = input::version_key(&input, &context.job.input_keys)?;
        let (input, names) = if input.has_names() {
            ranks::check_input(&context.comm, &input.name(), identity)?;
            let (input, names) = id_numbers::number_strings(context, record, input, identity)?;
            (input, Some(names))
        } else {
            (input, None)
        };
        let input = &input;
        let mut memory = input.cache_addresses(&context.budget)?;
        let cache = &input.cache(&mut memory, &context.budget)?;
        let mut making = Making { input, cache, order: None, storing: None, graph: None };
        let is_opened = VertexOrder { identity, names_of: names.map(|names| names.list().checksum()) }.open_or_run(
            context,
            record,
            &mut making,
        )?;
        let (info, order) = making.take_order()?;
        if is_opened && info.sparse {
            id_numbers::ensure(context, record, input, identity)?;
        }
        named::check(context, record, &info, &context.graph_folder(), order.as_ref(), Some((input, cache)))?;
        let mut blocks = BuildBlocks::default();
        let is_done = || Finished::of(&context.job, &record.manifest, info.clone());
        if !context.job.keep
            && let Some(finished) = context.agreed(is_done)?
        {
            blocks.skip(context, record, &making);
            self.storing = order.and_then(Ordered::let_go_on);
            tracing::info!("the input holds what it did: this job is done already; --fresh runs it again");
            made.finished = Some(Subject::Graph(Box::new(finished)));
            return Ok(());
        }
        making.order = Some((info, order));
        blocks.open_or_run(context, record, &mut making).inspect_err(|e| {
            // The first pass accepted the input, so its result is no longer valid: the next run repeats it.
            if matches!(e, Error::Input { .. }) {
                STAGES[..2].iter().for_each(|name| record.manifest.forget(name));
            }
        })?;
        self.storing = making.storing;
        made.input = making.graph.map(|graph| ByInput::Graph(Box::new(graph)));
        Ok(())
    }

    /// Removes the graph with the rows that are derived from it.
    fn remove(&mut self, context: &Context, _: &mut RunRecord) -> Result<()> {
        self.storing.take().into_iter().for_each(Storing::give_up);
        if context.comm.leads() { clean::intermediates(&context.job.workdir) } else { Ok(()) }
    }
}

/// Returns the graph's figures if nothing of the job is left to do, by its manifest and by the version of its input.
fn finished(job: &Job, manifest: &Manifest) -> Result<Option<Finished>> {
    let is_gone = streams::is_gone(manifest);
    if is_gone || streams::is_same(manifest) {
        let done = manifest.last::<InputInfo>("relabel").map_or(Ok(None), |info| Finished::of(job, manifest, info))?;
        if done.is_some() || is_gone {
            return done.map(Some).ok_or_else(|| streams::nothing_came(manifest));
        }
    }
    let input = input::of_job(job)?;
    let identity = input::version_key(&input, &job.input_keys)?;
    manifest.found::<InputInfo>("relabel", identity).map_or(Ok(None), |info| Finished::of(job, manifest, info))
}
