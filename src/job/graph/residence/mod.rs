//! Graphs that remain in memory, for jobs that do not keep their graph. As many edges as fit wait in GPU memory to be
//! sorted. If all rows fit in GPU memory, too, the rows remain where they were sorted, and tasks compute on them
//! there. Otherwise rows remain in host memory, if there is enough of it, and the ranks of a machine read each
//! other's rows there. In neither case are rows stored in files.

mod arenas;
mod host_memory;

pub(super) use self::arenas::{clear_device_lines, device_lines, map_on_gpus, maps_on_gpus};

use self::arenas::{Arenas, gpus};
use self::host_memory::{blocks_of_all, readable_ranks};
use super::assignment::{Assignment, SortInput};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::gpu::{DeviceSlice, Workspace};
use crate::graph::{Bins, BlockSize, BlockStore, DegreeSummary, Direction, HostBlock, Layout, Placement};
use crate::job::context::Context;
use crate::job::plan::packing::Packing;
use crate::memory::{Process, bytes_of, numbers_of};
use crate::prepare::partition::Partition;
use crate::prepare::partition::route::NOBODY;
use crate::prepare::sort::gpu::{SortPlan, Sorters, resident};

/// Number of lanes (bins sorted at the same time) that gives full speed if no data passes through the host.
const LANES: usize = 8;

/// Minimum number of lanes (bins sorted at the same time) at which sorting on the GPU alone pays off if rows pass
/// through the host. With fewer lanes, GPU and CPU together are faster.
const FEW_LANES: usize = 4;

/// Divisor: rows may use at most 1/`PART` of a GPU's memory, because tasks are faster if more of it is free. (With two
/// GPUs, a graph of scale 29 took 1.75 s with rows in host memory, and 1.93 s with rows that filled two thirds of the
/// GPUs' memory.)
const PART: u64 = 2;

/// Where the rows of a graph remain after sorting, and the plan for sorting them.
pub(super) struct Residence {
    plan: SortPlan,
    place: Place,
}

enum Place {
    /// The rows remain in GPU memory.
    OnGpus(DeviceSlice<u32>),
    /// Rows remain in host memory: the blocks of this rank, in order, and the processes of all ranks, from which this
    /// rank reads the blocks of other ranks.
    InMemory(Vec<HostBlock>, Vec<Process>),
}

/// The bins of a graph before they are sorted into blocks, and upper bounds on the sizes of the blocks.
struct UnsortedBlocks<'a> {
    assignment: &'a Assignment<'a>,
    bins: &'a Bins,
    /// Upper bounds on the sizes of all blocks that this rank builds; 0 for blocks of other ranks.
    most: Vec<BlockSize>,
    /// Upper bounds on the sizes of all blocks, including blocks of other ranks.
    of_all: Vec<BlockSize>,
    /// Length of the longest bin, in lines (groups of edges that are stored together).
    longest: u64,
}

/// Decides where the rows remain after sorting so that GPUs can compute on them without files: in GPU memory if all
/// rows fit, otherwise in host memory. Returns `None` if the rows must be stored in files. `pool` is the size in
/// bytes of the host memory that bins use. Collective.
pub(super) fn plan(
    context: &Context,
    is_resumed: bool,
    edges: u64,
    assignment: &Assignment<'_>,
    (bins, partition, pool): (&Bins, &Partition<'_>, u64),
) -> Option<Residence> {
    // Weights are stored in files next to blocks, so a graph with weights is stored.
    let (mut workspace, _) = gpus(context).filter(|_| !context.job.carries_weights())?;
    let lines = partition.lines();
    let most = resident::most_sizes(assignment.layout, bins, &lines);
    // Any GPU may need any block.
    let mut largest: Vec<u64> = most.iter().map(|size| size.entries).collect();
    context.comm.all_max(&mut largest);
    let of_all = most.iter().zip(largest).map(|(size, entries)| BlockSize { entries, ..*size }).collect();
    let longest = lines.iter().copied().max().unwrap_or(0);
    let unsorted = UnsortedBlocks { assignment, bins, most, of_all, longest };
    let all_are_new = !assignment.builders.contains(&NOBODY);
    if packs(context, edges, assignment.layout) && all_are_new {
        return plan_for_packing(context, &unsorted, pool, &mut workspace);
    }
    // A job that was interrupted may be interrupted again, so a resumed job stores its blocks in files. So does a job
    // that needs the upper half of the rows, because the upper half is derived from files.
    let wanted = !context.job.keep
        && !context.job.needs_upper()
        && assignment.layout.direction() == Direction::Undirected
        && !is_resumed
        && all_are_new;
    plan_on_gpus(context, &unsorted, wanted, &mut workspace)
        .or_else(|| plan_in_memory(context, &unsorted, wanted, &mut workspace))
}

/// Plans the sorting of rows that remain in GPU memory, if they fit on all GPUs. Collective.
fn plan_on_gpus(
    context: &Context,
    UnsortedBlocks { assignment, bins, most, of_all, longest }: &UnsortedBlocks<'_>,
    wanted: bool,
    workspace: &mut Workspace,
) -> Option<Residence> {
    let layout = assignment.layout;
    let bytes = most_resident(context, &assignment.mine, most);
    workspace.arena.protect(0);
    workspace.arena.reset(0);
    let memory = workspace.arena.take::<u32>(bytes / 4).filter(|_| bytes <= workspace.arena.bytes() / PART);
    // Lets a test simulate that memory runs out.
    let memory = memory.filter(|_| failpoint::hit("rows.gpu").is_ok());
    let plan = memory.and_then(|_| Sorters::plan_all(workspace, bins, layout.rows(), context.threads, *longest));
    let left = workspace.arena.bytes().saturating_sub(bytes);
    let computed = extra_host_bytes(context, layout, of_all, left).is_some();
    let stays = context.comm.all(plan.is_some() && computed && wanted);
    tracing::debug!(bytes, longest, room = plan.is_some(), computed, stays, "rows on the GPU");
    plan.zip(memory).filter(|_| stays).map(|(plan, memory)| Residence { plan, place: Place::OnGpus(memory) })
}

/// Returns true if both halves of the rows of a graph with `edges` edges will be packed (compressed) in host memory.
pub(super) fn packs(context: &Context, edges: u64, layout: &Layout) -> bool {
    Packing::of(&context.machine(), &context.job, (edges, layout.rows(), layout.direction())).is_some()
}

/// Plans the sorting of rows that remain in host memory until they are packed there. Each sorted block reuses the
/// memory of its bins, so bins and rows together need little more memory than the bins alone.
fn plan_for_packing(
    context: &Context,
    UnsortedBlocks { assignment, bins, most, longest, .. }: &UnsortedBlocks<'_>,
    pool: u64,
    workspace: &mut Workspace,
) -> Option<Residence> {
    let layout = assignment.layout;
    workspace.arena.reset(0);
    let plan = Sorters::plan_all(workspace, bins, layout.rows(), context.threads, *longest)?;
    let bytes: u64 = most.iter().map(|size| HostBlock::bytes(size.rows, size.entries)).sum();
    let fits = context.budget.free() + pool >= bytes + 4 * layout.rows();
    tracing::debug!(bytes, pool, fits, "rows in memory until they are packed");
    let block = |(b, size): (usize, &BlockSize)| HostBlock::unreserved(&layout.block(b), size.entries, &context.budget);
    let blocks = most.iter().enumerate().filter(|_| fits).map(block).collect::<Result<Vec<HostBlock>>>().ok()?;
    fits.then_some(Residence { plan, place: Place::InMemory(blocks, Vec::new()) })
}

/// Plans the sorting of rows that remain in host memory. The rows must fit in addition to the memory that sorting and
/// tasks need, and ranks must be able to read each other's memory. Rows remain in host memory on all ranks or on
/// none. Collective.
fn plan_in_memory(
    context: &Context,
    UnsortedBlocks { assignment, bins, most, of_all, longest }: &UnsortedBlocks<'_>,
    wanted: bool,
    workspace: &mut Workspace,
) -> Option<Residence> {
    let Assignment { layout, mine, .. } = *assignment;
    workspace.arena.reset(0);
    let plan = Sorters::plan_all(workspace, bins, layout.rows(), context.threads, *longest);
    let plan = plan.filter(|plan| wanted && plan.lanes() >= context.threads.min(FEW_LANES));
    let sizes = most.iter().enumerate().filter(|&(b, _)| mine[b]);
    let bytes: u64 = sizes.clone().map(|(_, size)| HostBlock::bytes(size.rows, size.entries)).sum();
    // Blocks of other ranks can't be split.
    let uncut = if context.comm.ranks() > 1 { of_all.as_slice() } else { &[] };
    let extra = plan.as_ref().and_then(|_| extra_host_bytes(context, layout, uncut, workspace.arena.bytes()));
    // Degrees need memory, too.
    let fits = extra.is_some_and(|extra| context.budget.free() >= bytes + 4 * layout.rows() + extra);
    let ranks = if context.comm.all(fits) { readable_ranks(context) } else { None };
    let readable = ranks.is_some();
    let block = |(b, size): (usize, &BlockSize)| HostBlock::new(&layout.block(b), size.entries, &context.budget).ok();
    let blocks: Option<Vec<HostBlock>> = sizes.filter(|_| readable).map(block).collect();
    let held = context.comm.all(readable && blocks.is_some());
    tracing::debug!(bytes, beside = extra, readable, held, "rows in memory");
    let place = blocks.zip(ranks).filter(|_| held).map(|(blocks, ranks)| Place::InMemory(blocks, ranks));
    plan.zip(place).map(|(plan, place)| Residence { plan, place })
}

/// Returns the host memory, in bytes, that the job's tasks need in addition to rows that remain in memory: the maximum
/// over the tasks. Returns `None` if a task can't run on a GPU with `bytes` bytes of free memory and blocks of the
/// sizes `sizes`.
fn extra_host_bytes(context: &Context, layout: &Layout, sizes: &[BlockSize], bytes: u64) -> Option<u64> {
    let extra = context.job.tasks.iter().map(|task| task.extra_host_bytes(layout, sizes, bytes));
    extra.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Returns the maximum over all ranks of the total size, in bytes, of the blocks of a rank. `mine` is true for each
/// block of this rank. Every rank reserves this amount, so that all ranks have the same amount of free memory and
/// divide their work into the same batches. Collective.
fn most_resident(context: &Context, mine: &[bool], sizes: &[BlockSize]) -> u64 {
    let mine = sizes.iter().zip(mine).filter(|&(_, &mine)| mine);
    let mut bytes = [Placement::bytes(mine.map(|(&size, _)| size))];
    context.comm.all_max(&mut bytes);
    bytes[0]
}

/// Sorts the bins as planned, and returns the graph's blocks. If degrees will be stored, counts them in
/// `sorting.degrees`. Otherwise also returns a summary of the degrees of this rank's share of the vertices, and their
/// sum. Collective.
///
/// # Errors
/// [`Error::Lost`], [`Error::Stopped`].
pub(super) fn sort(
    context: &Context,
    Residence { plan, mut place }: Residence,
    sorting: &SortInput<'_, '_>,
) -> Result<(BlockStore, Option<(DegreeSummary, u64)>)> {
    let nobody = || Error::internal("sort on the GPU", "no GPU, although the plan uses one");
    let (mut workspace, arenas) = gpus(context).ok_or_else(nobody)?;
    let SortInput { assignment: Assignment { layout, builders, mine, .. }, bins, partition, degrees, progress } =
        *sorting;
    let mut sorters = Sorters::new(&mut workspace, plan)?;
    let build = resident::Build { partition, bins, layout, wanted: mine };
    let mut entries = match &mut place {
        Place::OnGpus(memory) => sorters.keep(build, *memory, progress)?,
        Place::InMemory(blocks, _) => sorters.sort_to_host(build, blocks, progress)?,
    };
    let found = if context.job.needs_degrees() {
        sorters.finish(degrees)?;
        None
    } else {
        Some(sum_up(context, &mut sorters, &arenas)?)
    };
    drop(sorters);
    workspace.arena.release_protected();
    context.comm.all_sum(&mut entries);
    let size = |(b, entries)| BlockSize { rows: layout.block(b).len() as u64, entries };
    let sizes: Vec<BlockSize> = entries.into_iter().enumerate().map(size).collect();
    let graph = match place {
        Place::OnGpus(_) => {
            let placement = Placement::new(&sizes, builders, |rank, at, words| arenas.words(rank as usize, at, words));
            workspace.arena.protect(most_resident(context, mine, &sizes));
            BlockStore::on_gpus(Layout::clone(layout), sizes, placement)
        }
        Place::InMemory(blocks, ranks) => {
            let blocks = blocks_of_all(context, builders, &sizes, blocks, &ranks);
            BlockStore::in_memory(Layout::clone(layout), sizes, blocks, context.comm.ranks() == 1)
        }
    };
    Ok((graph, found))
}

/// Adds up, on the GPUs, the degrees that all ranks counted. Returns a summary of the degrees of this rank's share of
/// the vertices, and their sum. Collective.
fn sum_up(context: &Context, sorters: &mut Sorters<'_>, arenas: &Arenas<'_>) -> Result<(DegreeSummary, u64)> {
    let degrees = sorters.degrees();
    let at = degrees.address() - arenas.mine.address();
    // A rank sends the address of its degrees only after it has counted them.
    let all = context.comm.all_gather(bytes_of(&[at]));
    let others = (0..context.comm.ranks()).filter(|&rank| rank != context.comm.rank());
    let others = others.map(|rank| arenas.words(rank, numbers_of::<u64>(&all[rank])[0], degrees.len()));
    let found = sorters.sum_up(&others.collect::<Vec<_>>(), context.comm.share(degrees.len() as usize))?;
    // After this barrier, no rank reads another rank's degrees.
    context.comm.barrier();
    Ok(found)
}
