//! Costs of the stages that derive rows from a graph's blocks, for tasks that need them.

use crate::algo::GraphSize;
use crate::config::Job;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::stored;
use crate::job::input::original;
use crate::job::plan::cost_model::{MERGE_STAGE, TRANSPOSE_STAGE};
use crate::job::plan::formulas::{PAGE, weights_bytes};
use crate::job::plan::packing::Packing;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::TimeModel;
use crate::job::plan::stage::{PlannedStage, StageKind, Time};
use crate::prepare::memory_plan::LayoutShape;
use crate::prepare::merge;
use crate::prepare::prepared::Graph;
use crate::prepare::transpose::{TransposeMemory, TransposeShape};

/// Returns the planned stages that build derived rows of `graph`, in order, if the job's tasks need them. The field
/// `disk` of a stage is the number of bytes that it writes. If degrees are not `known`, likely degrees and upper bounds
/// are used.
pub(crate) fn derived_rows(
    job: &Job,
    machine: &Resources,
    graph: &GraphSize<'_>,
    known: bool,
    clock: &TimeModel,
) -> impl Iterator<Item = PlannedStage> {
    let upper = job.needs_upper().then(|| upper_half(job, machine, graph, known, clock));
    let merged = job.merges(graph.direction).then(|| merged_rows(job, machine, graph, known, clock));
    upper.into_iter().chain(merged)
}

/// Returns the planned stage that builds the upper half of the rows.
fn upper_half(job: &Job, machine: &Resources, graph: &GraphSize<'_>, known: bool, clock: &TimeModel) -> PlannedStage {
    let rows = graph.direction.rows(graph.vertices);
    let weighted = job.upper_has_weights();
    let layout = Layout::upper(graph.degrees, graph.edges, graph.direction);
    let (shape, blocks) = match known {
        true => (TransposeShape::and_bins(&layout, graph.edges, graph.blocks, weighted).0, layout.blocks() as u64),
        false => (TransposeShape::at_most(graph.edges, rows, weighted), graph.blocks),
    };
    let seconds = machine.preparers(graph.ids).transpose(graph.edges, graph.vertices);
    let time = clock.of_preparing(TRANSPOSE_STAGE, seconds, 0);
    if let Some(Packing { peak, .. }) = Packing::of(machine, job, (graph.edges, graph.vertices, graph.direction)) {
        return derived(machine, TRANSPOSE_STAGE, [peak, peak], 0, time);
    }
    let memory = TransposeMemory::new(&shape, machine.threads, machine.free_for_edges());
    let memory = memory.map_or(shape.least(), |memory| memory.bytes(&shape));
    let disk = 4 * (rows + graph.edges) + files_bytes(blocks) + weights_bytes(graph.edges, blocks, weighted);
    derived(machine, TRANSPOSE_STAGE, [memory, shape.least()], disk, time)
}

/// Returns the planned stage that merges the rows of out-neighbours and of in-neighbours into rows of all neighbours.
fn merged_rows(job: &Job, machine: &Resources, graph: &GraphSize<'_>, known: bool, clock: &TimeModel) -> PlannedStage {
    let weighted = job.merged_has_weights();
    let layout = Layout::new(graph.degrees, graph.edges, Direction::Undirected);
    let (block, blocks) = match known {
        true => (merge::largest_block(&layout, weighted), layout.blocks() as u64),
        // A merged block has as many rows and entries as a block in flight during sorting.
        false => {
            let shape = LayoutShape::at_most(graph.edges, graph.vertices, Direction::Undirected);
            (merge::block_bytes(0, shape.in_flight[0] / 4, weighted), graph.blocks)
        }
    };
    let [least, memory] = [1, machine.threads as u64].map(|blocks| blocks * block + 4 * graph.vertices);
    let memory = memory.min(machine.free_for_edges()).max(least);
    // The degree file is included, as one more file.
    let disk = 4 * (2 * graph.vertices + graph.edges) + files_bytes(blocks + 1);
    let disk = disk + weights_bytes(graph.edges, blocks, weighted);
    let seconds = machine.preparers(graph.ids).merge(graph.edges);
    derived(machine, MERGE_STAGE, [memory, least], disk, clock.of_preparing(MERGE_STAGE, seconds, 0))
}

/// Returns the stage that reads the input of the kept graph `graph` again, if the run does that.
pub(crate) fn reading_again(job: &Job, machine: &Resources, graph: &Graph) -> Option<PlannedStage> {
    let (info, input) = (&graph.info, original::of_kept(job, graph)?);
    let reading = input.scratch_bytes(machine.threads);
    let seconds = machine.preparers(info.ids).ingest(info.edges, info.ids, input.bytes(), &input);
    // The measured time is not compared with this one, because degrees are not counted.
    let time = Time { seconds, seconds_range: [seconds / 2.0, seconds * 2.0], ..Time::default() };
    let stage = derived(machine, "ingest", [reading, reading], 0, time);
    Some(PlannedStage { kind: StageKind::Again, ..stage })
}

/// Returns a planned stage that uses `memory` bytes of host memory, can run with `least` bytes, and writes `disk`
/// bytes. Neither amount of memory includes what a rank uses before any stage.
fn derived(machine: &Resources, name: &'static str, [memory, least]: [u64; 2], disk: u64, time: Time) -> PlannedStage {
    let (host_memory, gpu_memory) = (machine.process_bytes() + memory, machine.gpu_memory());
    PlannedStage { name, host_memory, least, gpu_memory, disk, time, kind: StageKind::Part, ..PlannedStage::default() }
}

/// Returns the disk space in bytes that `blocks` block files occupy in addition to their contents.
fn files_bytes(blocks: u64) -> u64 {
    (stored::body_bytes(0, 0) + 192 + PAGE) * blocks
}
