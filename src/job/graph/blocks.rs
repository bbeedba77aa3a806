//! Opens the graph's blocks if an earlier run stored them, and otherwise builds them.

use super::assignment::Assignment;
use super::build::{self, BuiltGraph, InputEdges};
use super::stored_blocks::{StoredHalf, log_stored, missing};
use super::{STAGES, degree_file};
use crate::error::{At, Error, Result};
use crate::formats::{Input, InputCache, Weights};
use crate::graph::{GraphWeights, Half, Layout};
use crate::job::context::Context;
use crate::job::plan::completed::CompletedWork;
use crate::job::plan::cost_model::{MERGE_STAGE, TRANSPOSE_STAGE};
use crate::job::plan::{Plan, limits};
use crate::job::run_record::RunRecord;
use crate::job::state::lock::Reader;
use crate::job::state::order_writer::{OrderWriteHandle, OrderWriter};
use crate::job::state::record::Contents;
use crate::prepare::order;
use crate::prepare::partition::route;
use crate::prepare::prepared::{Graph, InputInfo, RowFiles, StoreInfo};

/// Opens the blocks of the graph. If blocks are missing, builds them first, in the stages `partition` and `sort`.
/// `order` is the degree order if this run computed it. Returns the graph, and a handle of the write if the degree
/// order is still being written in the background. Collective.
///
/// # Errors
/// Errors of the input, of memory limits and of the disk; [`Error::Stopped`].
pub(super) fn open_or_build(
    context: &Context,
    record: &mut RunRecord,
    (input, cache): (&Input, &InputCache<'_>),
    info: InputInfo,
    order: Option<OrderWriter>,
) -> Result<(Graph, Option<OrderWriteHandle>)> {
    context.gpu.connect_peers();
    let (folder, content) = (context.graph_folder(), info.content);
    let runs = match &order {
        Some(order) => order.order().runs.clone(),
        None => context.retry_until_visible(|| order::read_runs(&folder, content))?,
    };
    check_vertices(&info, runs.vertices())?;
    let layout = info.layout(&runs);
    let rows = RowFiles { folder, key: content };
    let half = Half::Lower;
    let of = StoredHalf { folder: &rows.folder, key: content, half, layout: &layout, weights: info.weights };
    let wanted = missing(context, &of)?;
    let stored = record.manifest.found::<StoreInfo>("sort", content);
    let stored = stored.filter(|stored| info.weights.is_none() || stored.weights == info.weights);
    if let Some(mut stored) = stored.filter(|_| !wanted.contains(&true)) {
        // The plan covers only the tasks that are not complete.
        let done = CompletedWork::of(&context.job, &record.manifest, Contents::of(&info));
        limits::refuse(&Plan::after(&context.job, &context.machine(), input, &info, (&runs, &layout), &done)?)?;
        // This run computed the degree order although no block is missing: the graph has no edges, or the order's
        // file was damaged. Tasks on all ranks read the file.
        if let Some(order) = order {
            build::store_order(context, record, order, content)?;
            context.comm.barrier();
        }
        if context.job.needs_degrees() {
            degree_file::ensure(context, &rows, &layout)?;
            stored.degrees = true;
            let figures = record.manifest.stages.get("sort").map(|stage| stage.figures.clone()).unwrap_or_default();
            record.manifest.done("sort", content, figures, &stored)?;
        }
        let graph = open_graph(context, &info, &stored, &layout)?;
        record.skipped(&STAGES[2..]);
        return Ok((graph, None));
    }
    context.on_leader(|| Reader::refuse(&context.job.workdir))?;
    let input = &match info.weights {
        Some(GraphWeights { kind, .. }) => input.clone().with_weights(Weights::Read(kind)),
        None => input.clone(),
    };
    let stored_already = log_stored(&wanted);
    if stored_already == 0 {
        // No block of an earlier run is left, so the rows that it derived from its blocks are useless.
        [TRANSPOSE_STAGE, MERGE_STAGE].into_iter().for_each(|stage| record.manifest.forget(stage));
    }
    // Degrees are known now, so the plan is exact and no longer an upper bound.
    let done = CompletedWork::of(&context.job, &record.manifest, Contents::of(&info)).without_blocks();
    let plan = Plan::after(&context.job, &context.machine(), input, &info, (&runs, &layout), &done)?;
    limits::refuse(&plan)?;
    if context.comm.is_leader() {
        limits::warn_of_disk(&plan);
    }
    if order.is_some() && stored_already == 0 {
        record.planned = plan.stages;
    }
    let read = || order::read(&context.graph_folder(), content, &context.budget);
    let order = order.map_or_else(|| context.retry_until_visible(read).map(OrderWriter::new), Ok)?;
    let (rank, ranks) = (context.comm.rank(), context.comm.ranks());
    let builders = route::builders(&layout, &runs, &wanted, ranks);
    let part = route::part(&layout, &runs, &builders, rank);
    let mine = builders.iter().map(|&builder| builder == rank as u32).collect();
    let assignment = Assignment { layout: &layout, builders, mine, part };
    let edges = InputEdges { input, cache, info: &info };
    let BuiltGraph { stored, resident, storing } =
        build::partition_and_sort(context, record, &edges, order, &assignment)?;
    record.done("sort", content, &stored)?;
    record.done("partition", content, &())?;
    record.save()?;
    let graph = match resident {
        Some(block_store) => Graph::new(context.graph_folder(), info, stored, block_store),
        None => open_graph(context, &info, &stored, &layout)?,
    };
    Ok((graph, storing))
}

/// Returns an error if the graph has too many rows for the 32-bit row numbers of blocks.
fn check_vertices(info: &InputInfo, vertices: u64) -> Result<()> {
    if info.direction.rows(vertices) < 1 << 32 {
        return Ok(());
    }
    let found = format!("{vertices} vertices with edges");
    let remedy = "leave direction out (directed = false in [input])";
    Err(Error::input(&info.source, At::File, "up to 2^31 - 1 vertices, as direction is kept", found, remedy))
}

/// Opens a graph whose blocks are all stored in files.
fn open_graph(context: &Context, info: &InputInfo, stored: &StoreInfo, layout: &Layout) -> Result<Graph> {
    context.retry_until_visible(|| {
        Graph::with_layout(&context.job.workdir, info.clone(), stored.clone(), layout.clone(), info.weights)
    })
}
