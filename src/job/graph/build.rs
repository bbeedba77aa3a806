//! The stages `partition` and `sort`, which build blocks from the edges and the degree order. Every rank reads its
//! share of the input and sends each edge to the rank that builds the edge's block.

use super::assignment::{Assignment, SortInput};
use super::residence::{self, Residence};
use super::{degree_file, lists};
use crate::error::{Error, Result};
use crate::formats::{CacheUse, Input, InputCache, Share, ShareResult, Slab};
use crate::gpu::DeviceSlice;
use crate::graph::{Bins, BlockStore, DegreeSummary, Degrees};
use crate::job::context::Context;
use crate::job::plan::formulas;
use crate::job::run_record::{IoBytes, RunRecord};
use crate::job::state::order_writer::{OrderWriteHandle, OrderWriter};
use crate::prepare::blocks::{BlockFiles, Builder};
use crate::prepare::dictionary::NumberingVisitor;
use crate::prepare::ingest::joined;
use crate::prepare::memory_plan::{LayoutShape, Sizes};
use crate::prepare::partition::gpu::Placers;
use crate::prepare::partition::route::{NOBODY, Route};
use crate::prepare::partition::{EdgePlacing, Partition, changed, scatter};
use crate::prepare::prepared::{InputInfo, RowFiles, StoreInfo};
use crate::prepare::sort::{self, gpu::Sorters};
use crate::process::progress::{StageProgress, Unit};
use crate::{failpoint, size};
use rayon::prelude::*;
use std::path::PathBuf;

/// The edges of a graph's input, cached in memory as far as they fit.
pub(super) struct InputEdges<'a, 'm> {
    pub(super) input: &'a Input,
    pub(super) cache: &'a InputCache<'m>,
    pub(super) info: &'a InputInfo,
}

/// The blocks that a run has built, and the degree order if it is still being written.
pub(super) struct BuiltGraph {
    pub(super) stored: StoreInfo,
    /// The blocks, if they remain in memory.
    pub(super) resident: Option<BlockStore>,
    /// The degree order, if it is still being written in the background.
    pub(super) storing: Option<OrderWriteHandle>,
}

/// Distributes all edges to bins, and sorts each bin into rows. The rows become blocks in files, or a graph that
/// remains in memory. Collective.
///
/// # Errors
/// [`Error::Limit`] if the memory limit is too small; errors of both stages.
pub(super) fn partition_and_sort(
    context: &Context,
    record: &mut RunRecord,
    edges: &InputEdges<'_, '_>,
    mut ordered: OrderWriter,
    assignment: &Assignment<'_>,
) -> Result<BuiltGraph> {
    let InputEdges { cache, info, .. } = *edges;
    let weighted = info.weights.is_some();
    let ranks = context.comm.ranks();
    let messages = context.comm_memory.messages();
    cache.make_room(&context.budget, messages);
    let exchanging = context.budget.reserve(messages, "edges in flight to other ranks")?;
    let (shape, bins) = LayoutShape::and_bins(assignment.layout);
    let (mut sizes, own) = shares(context, edges, assignment, shape)?;
    let wanted_bins: Vec<bool> = bins.block_of.iter().map(|&b| assignment.mine[b]).collect();
    let device_lines = residence::device_lines(context, assignment, &bins, info)?;
    if ranks == 1 {
        // Edges first fill the GPU memory that is reserved for them, so the pool in host memory can be smaller. This
        // does not hold for several ranks, because some may receive more edges than others.
        sizes.spare(device_lines.as_ref().map_or(0, |device| device.lines().len() as usize));
    }
    let pooled = sizes.pooled(cache, context.threads, own);
    let Sizes { chunk, in_flight, .. } = sizes;
    let mut memory = context.budget.zeroed(pooled.own, "edges between partition and sort")?;
    let map = residence::map_on_gpus(context, record, &mut ordered, &bins, info)?;
    let mut partition = Partition::new(
        &bins,
        &wanted_bins,
        weighted,
        &mut memory,
        chunk,
        &spill_file(context)?,
        device_lines.as_ref(),
    )?;
    // Only a plan that expects spilled edges includes memory for their rows. A rank that spills because it received
    // more edges than planned lacks this memory.
    if sizes.spill > 0 {
        partition.keep_rows_in_memory();
    }
    partition.expect(pooled.adopted);
    // Bins reuse the memory of cached input chunks that have been read.
    let done = |slab| partition.adopt(slab).into_iter().for_each(|slab| cache.release(slab));
    cache.take_spare().into_iter().for_each(done);

    let owners: Vec<u32> = bins.block_of.iter().map(|&b| assignment.builders[b]).collect();
    let map = (&ordered.order().map[..], map);
    partition_stage(context, record, edges, &owners, &partition, map, &done)?;
    drop(exchanging);
    let filled = (&bins, &partition, 4 * pooled.own as u64);
    let is_resumed = record.manifest.resumes > 0;
    let residence = residence::plan(context, is_resumed, info.edges - info.loops, assignment, filled);
    let storing = finish_order(context, record, ordered, residence.is_some(), assignment.layout.rows(), info.content)?;
    let (stored, mut resident) =
        sort_stage(context, record, info, assignment, (&bins, &partition), residence, in_flight)?;
    drop(partition);
    drop(memory);
    if let Some(graph) = resident.as_mut().filter(|graph| graph.is_in_memory() && context.job.needs_upper()) {
        graph.reserve(&context.budget)?;
    }
    Ok(BuiltGraph { stored, resident, storing })
}

/// The map from ids to vertices, as (slice in host memory, complete map in GPU memory). If there is no map in GPU
/// memory, the slice in host memory is complete; otherwise it contains only a part of the map.
type VertexMap<'a> = (&'a [u32], Option<DeviceSlice<u32>>);

fn partition_stage<'m>(
    context: &Context,
    record: &mut RunRecord,
    edges: &InputEdges<'_, 'm>,
    owners: &[u32],
    partition: &Partition<'_>,
    map: VertexMap<'_>,
    done: &(dyn Fn(Slab<'m>) + Sync),
) -> Result<()> {
    let InputEdges { input, cache, info } = *edges;
    let (ranks, messages) = (context.comm.ranks(), context.comm_memory.messages);
    record.stage(context, "partition", input.bytes() / ranks as u64, Unit::Bytes, |progress| {
        failpoint::hit("partition.begin").map_err(|e| Error::io("place edges", &context.job.workdir, e))?;
        let ((seen, loops), exchanged) = context.comm.exchange(
            messages,
            |outbox| {
                let route =
                    Route::new(partition, owners, context.comm.rank(), ranks, outbox, context.threads, messages.words);
                place_edges(context, edges, CacheUse::Last(cache, done), map, &route, progress)
            },
            |_, message| partition.take_message(message),
        )?;
        if ranks > 1 {
            let (sent, seconds) = (size::show(exchanged.sent_bytes), exchanged.seconds);
            tracing::info!(sent, received = size::show(exchanged.received_bytes), seconds, "edges exchanged");
        }
        let (scan, mut loops) = (joined(seen, &context.comm)?, [loops]);
        context.comm.all_sum(&mut loops);
        let of_weights = info.weights.map_or(0, |weights| weights.checksum);
        let found = (scan.checksum, scan.weights_checksum, scan.edges, loops);
        if found != (info.checksum, of_weights, info.edges, [info.loops]) {
            return Err(changed(&input.name()));
        }
        Ok(((), IoBytes { read: progress.done(), written: partition.spilled() }))
    })
}

/// Distributes the edges of this rank's share of the input to bins, on this rank or other ranks. Returns what the scan
/// of the share found, and the number of self-loops in the share.
fn place_edges(
    context: &Context,
    InputEdges { input, info, .. }: &InputEdges<'_, '_>,
    cache: CacheUse<'_, '_>,
    map: VertexMap<'_>,
    route: &Route<'_, '_>,
    progress: &StageProgress,
) -> Result<(ShareResult, u64)> {
    let name = &input.name();
    let dictionary = match info.sparse {
        true => Some(lists::open_ids(context, info.identity)?),
        false => None,
    };
    let wide = info.weights.filter(|weights| weights.kind.is_wide());
    let codes = wide.map(|weights| lists::open_weights(context, weights)).transpose()?;
    let mut gpu = context.gpu.for_preparing();
    let placers =
        gpu.as_mut().map(|gpu| Placers::start(gpu, route, map, (name, input.on_gpu()))).transpose()?.flatten();
    let mut placing: Box<dyn EdgePlacing + '_> = match placers {
        Some(placers) => Box::new(placers),
        None => scatter::placing(route, context.threads, map.0, name),
    };
    let numbered = |visitor| NumberingVisitor::new(dictionary.as_ref(), codes.as_ref(), name, visitor);
    let mut visitors: Vec<_> = placing.visitors().into_iter().map(numbered).collect();
    let share = Share::of(context.comm.rank(), context.comm.ranks());
    let seen = input.scan_share(share, cache, &mut visitors, progress)?;
    drop(visitors);
    let loops = placing.finish()?;
    route.flush()?;
    Ok((seen, loops))
}

/// Waits until the degree order is stored in its file. If nothing will read the file soon, returns a handle of the
/// write in progress instead. Collective.
fn finish_order(
    context: &Context,
    record: &mut RunRecord,
    ordered: OrderWriter,
    is_resident: bool,
    rows: u64,
    content: u64,
) -> Result<Option<OrderWriteHandle>> {
    // If blocks remain in memory, the run waits only if tasks need degrees or the order, or if memory is scarce,
    // because the order occupies memory until the write ends.
    let waits = context.job.needs_degrees() || context.job.needs_order() || context.budget.free() < 8 * rows;
    let waits = context.comm.any(waits);
    if is_resident && !waits {
        return Ok(ordered.finish_in_background());
    }
    // Blocks in files are useless without the degree order.
    store_order(context, record, ordered, content).map(|()| None)
}

/// Stores the degree order in its file. The leader waits until the file is written. Collective.
///
/// # Errors
/// Errors of storing the order.
pub(super) fn store_order(
    context: &Context,
    record: &mut RunRecord,
    mut ordered: OrderWriter,
    content: u64,
) -> Result<()> {
    if !ordered.order().whole {
        ordered.complete(&context.comm);
        record.store_order(&mut ordered, content)?;
    }
    ordered.finish(&context.syncer)
}

fn sort_stage(
    context: &Context,
    record: &mut RunRecord,
    info: &InputInfo,
    assignment: &Assignment<'_>,
    (bins, partition): (&Bins, &Partition<'_>),
    residence: Option<Residence>,
    in_flight: usize,
) -> Result<(StoreInfo, Option<BlockStore>)> {
    let degrees = Degrees::new(assignment.layout.rows(), &context.budget)?;
    let (resident, bytes, summary, edges) =
        record.stage(context, "sort", info.edges - info.loops, Unit::Edges, |progress| {
            progress.reads(partition.spilled());
            let sorting = SortInput { assignment, bins, partition, degrees: &degrees, progress };
            let (resident, mut written, found) = match residence {
                Some(residence) => {
                    residence::sort(context, residence, &sorting).map(|(graph, found)| (Some(graph), 0, found))?
                }
                None => (None, sort_to_blocks(context, &sorting, info, in_flight)?, None),
            };
            let mut degrees = degrees.finish();
            let (summary, ends) = found.unwrap_or_else(|| {
                context.comm.reduce_scatter(&mut degrees);
                let mine = &degrees[context.comm.share(degrees.len())];
                (DegreeSummary::of(mine), mine.par_iter().map(|&d| u64::from(d)).sum())
            });
            let (summary, mut ends) = (summary.joined(&context.comm), [ends]);
            context.comm.all_sum(&mut ends);
            let edges = ends[0] / 2;
            if let Some(found) = resident.as_ref().map(BlockStore::edges).filter(|&found| found != edges) {
                return Err(Error::Validation(format!("{found} edges in rows, {edges} by degrees")));
            }
            let bytes = written;
            if context.job.needs_degrees() {
                let rows = RowFiles { folder: context.graph_folder(), key: info.content };
                written += degree_file::write(context, &mut degrees, &rows)?;
            }
            Ok(((resident, bytes, summary, edges), IoBytes { read: partition.spilled(), written }))
        })?;
    tracing::debug!(bytes, "blocks written");
    let blocks = assignment.layout.blocks() as u64;
    let (degrees, weights) = (context.job.needs_degrees(), info.weights);
    let in_memory = resident.is_some();
    Ok((StoreInfo { edges, blocks, degrees, in_memory, weights, summary }, resident))
}

/// Sorts bins into stored blocks. Returns the number of bytes written.
fn sort_to_blocks(
    context: &Context,
    sorting: &SortInput<'_, '_>,
    &InputInfo { content: key, weights, .. }: &InputInfo,
    in_flight: usize,
) -> Result<u64> {
    let SortInput { assignment, bins, partition, degrees, progress } = *sorting;
    let Assignment { layout, builders, mine: wanted, .. } = assignment;
    let folder = context.graph_folder();
    let files = BlockFiles { folder: &folder, key, layout, weights, syncer: &context.syncer };
    let builder = Builder { partition, bins, wanted, degrees, files, in_flight };
    let mut gpu = context.gpu.for_preparing();
    let most = partition.lines().into_iter().max().unwrap_or(0);
    let (threads, weighted) = (context.threads, weights.is_some());
    let on_gpu = gpu.as_mut().map(|gpu| Sorters::start(gpu, bins, layout.rows(), threads, most, weighted));
    let mut on_gpu = on_gpu.transpose()?.flatten();
    let sorters = on_gpu.as_mut().map_or_else(|| sort::sorters(threads, weighted), Sorters::sorters);
    let written = builder.build(sorters, progress)?.bytes;
    on_gpu.map_or(Ok(()), |mut sorters| sorters.finish(degrees))?;
    drop(gpu);
    residence::clear_device_lines(context);
    let stored_before: Vec<bool> = builders.iter().map(|&rank| rank != NOBODY).collect();
    degree_file::add_stored(context, degrees, &RowFiles { folder, key }, layout, &stored_before)?;
    Ok(written)
}

/// Returns how this rank divides its memory between the map from ids to vertices, bins and sorting. Also returns the
/// size of that memory in bytes; it includes memory that the map, cached input and messages to other ranks already
/// occupy.
fn shares(
    context: &Context,
    InputEdges { input, cache, info }: &InputEdges<'_, '_>,
    assignment: &Assignment<'_>,
    shape: LayoutShape,
) -> Result<(Sizes, u64)> {
    let part = if context.comm.ranks() > 1 { assignment.part } else { 1.0 };
    let needs = formulas::needs(info, input, &context.comm_memory, context.threads, part);
    let own = context.budget.free() + 4 * info.ids + cache.bytes() + needs.messages;
    let sizes = Sizes::new(shape, needs, own).map_err(|smallest| {
        let limit = (context.budget.limit() + smallest).saturating_sub(own);
        context.budget.too_small(limit, "sorting edges into rows")
    })?;
    Ok((sizes, own))
}

/// Returns the path of the file to which this rank spills bins that do not fit in memory, and creates its folder.
///
/// # Errors
/// [`Error::Io`] if the folder can't be created.
fn spill_file(context: &Context) -> Result<PathBuf> {
    let folder = context.job.scratch.clone().unwrap_or_else(|| context.graph_folder());
    std::fs::create_dir_all(&folder).map_err(|e| Error::io("create the folder for spilled edges", &folder, e))?;
    Ok(folder.join(format!("spill.{}.{}", std::process::id(), context.comm.rank())))
}
