//! Cost of rows derived from the lower half of a graph, for tasks that need them.

use crate::algo::GraphSize;
use crate::config::Job;
use crate::graph::direction::Direction;
use crate::graph::layout::Layout;
use crate::graph::stored;
use crate::graph::weights::stored as stored_weights;
use crate::job::plan::cost_model::{MERGE_STAGE, TRANSPOSE_STAGE};
use crate::job::plan::estimate::{Least, Stage, StageKind};
use crate::job::plan::formulas::PAGE;
use crate::job::plan::packing::Packing;
use crate::job::plan::resources::Resources;
use crate::job::plan::speeds::{Clock, Time};
use crate::prepare::memory_plan::LayoutShape;
use crate::prepare::merge;
use crate::prepare::transpose::{TransposeMemory, TransposeShape};

/// Cost of the stage that builds one kind of derived rows.
pub(crate) struct PartCost {
    name: &'static str,
    /// Host memory in bytes in addition to what is taken before any stage: what the stage uses, and the smallest with
    /// which it can run.
    memory: u64,
    least: u64,
    /// Bytes of its files.
    pub(crate) disk: u64,
    seconds: f64,
}

impl PartCost {
    /// Returns the cost of the derived rows of `graph` that the job's tasks need, in the order of their stages. If
    /// degrees are not `known`, likely ones are used.
    pub(crate) fn of_all(job: &Job, machine: &Resources, graph: &GraphSize<'_>, known: bool) -> Vec<PartCost> {
        let upper = job.needs_upper().then(|| PartCost::upper(job, machine, graph, known));
        let merged = job.merges(graph.direction).then(|| PartCost::merged(job, machine, graph, known));
        upper.into_iter().chain(merged).collect()
    }

    /// Returns the cost of the upper half of rows.
    fn upper(job: &Job, machine: &Resources, graph: &GraphSize<'_>, known: bool) -> PartCost {
        let rows = graph.direction.rows(graph.vertices);
        let weighted = job.upper_has_weights();
        let layout = Layout::upper(graph.degrees, graph.edges, graph.direction);
        let (shape, blocks) = match known {
            true => (TransposeShape::and_bins(&layout, graph.edges, graph.blocks, weighted).0, layout.blocks() as u64),
            false => (TransposeShape::at_most(graph.edges, rows, weighted), graph.blocks),
        };
        let seconds = machine.preparers(graph.ids).transpose(graph.edges, graph.vertices);
        if let Some(packing) = Packing::of(machine, job, (graph.edges, graph.vertices, graph.direction)) {
            return PartCost { name: TRANSPOSE_STAGE, memory: packing.peak, least: packing.peak, disk: 0, seconds };
        }
        let memory = TransposeMemory::new(&shape, machine.threads, machine.free_for_edges());
        PartCost {
            name: TRANSPOSE_STAGE,
            memory: memory.map_or(shape.least(), |memory| memory.bytes(&shape)),
            least: shape.least(),
            disk: 4 * (rows + graph.edges) + files_bytes(blocks) + weights_bytes(graph.edges, blocks, weighted),
            seconds,
        }
    }

    /// Returns the cost of merged rows (all neighbours), built from out-rows and in-rows.
    fn merged(job: &Job, machine: &Resources, graph: &GraphSize<'_>, known: bool) -> PartCost {
        let weighted = job.merged_has_weights();
        let layout = Layout::new(graph.degrees, graph.edges, Direction::Undirected);
        let (block, blocks) = match known {
            true => (merge::largest_block(&layout, weighted), layout.blocks() as u64),
            // A block in flight has the same rows and as many entries.
            false => {
                let shape = LayoutShape::at_most(graph.edges, graph.vertices, Direction::Undirected);
                (merge::block_bytes(0, shape.in_flight[0] / 4, weighted), graph.blocks)
            }
        };
        let [least, memory] = [1, machine.threads as u64].map(|blocks| blocks * block + 4 * graph.vertices);
        PartCost {
            name: MERGE_STAGE,
            memory: memory.min(machine.free_for_edges()).max(least),
            least,
            // Includes the degrees.
            disk: 4 * (2 * graph.vertices + graph.edges)
                + files_bytes(blocks + 1)
                + weights_bytes(graph.edges, blocks, weighted),
            seconds: machine.preparers(graph.ids).merge(graph.edges),
        }
    }

    /// Returns the stage, on a disk that already holds `disk` bytes.
    pub(crate) fn stage(&self, machine: &Resources, clock: &Clock, disk: u64) -> Stage {
        let time = clock.of_preparing(self.name, self.seconds, 0);
        let Time { seconds, range: seconds_range, .. } = time;
        Stage {
            name: self.name,
            done: false,
            host_memory: machine.own() + self.memory,
            least: Least::of(self.least),
            gpu_memory: machine.gpu_memory(),
            disk: disk + self.disk,
            exchange: 0,
            cached: 0,
            seconds,
            seconds_range,
            time,
            kind: StageKind::Part,
        }
    }

    /// Returns the stages of all derived rows, on a disk that already holds `disk` bytes, and the bytes on the disk
    /// afterwards.
    pub(crate) fn stages(parts: &[PartCost], machine: &Resources, clock: &Clock, mut disk: u64) -> (Vec<Stage>, u64) {
        let mut stages = Vec::new();
        for part in parts {
            stages.push(part.stage(machine, clock, disk));
            disk += part.disk;
        }
        (stages, disk)
    }
}

/// Returns the bytes of the weights of `edges` edges, if they have some, in one file for each of `blocks` blocks.
pub(crate) fn weights_bytes(edges: u64, blocks: u64, weighted: bool) -> u64 {
    if weighted { 4 * edges + (stored_weights::body_bytes(0) + 128 + PAGE) * blocks } else { 0 }
}

/// Returns the bytes of `blocks` block files without rows and entries.
fn files_bytes(blocks: u64) -> u64 {
    (stored::body_bytes(0, 0) + 192 + PAGE) * blocks
}
