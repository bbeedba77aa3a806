//! The stage `transpose`: builds the upper half of rows, for tasks that need it.

use super::derived::{DerivedPlace, DerivedRows, MissingRows};
use super::packing;
use crate::config::Job;
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::direction::Direction;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::order::DegreeRuns;
use crate::graph::stored;
use crate::graph::weights::stored::{self as stored_weights, GraphWeights};
use crate::job::context::{Context, Watched};
use crate::job::run_record::{Moved, RunRecord};
use crate::memory::at_least;
use crate::prepare::Accelerator as _;
use crate::prepare::prepared::{Graph, Rows, UpperInfo};
use crate::prepare::transpose::{Destination, Transpose, TransposeMemory, TransposeShape, Transposed};
use crate::process::progress::{StageProgress, Unit};
use crate::size;
use crate::store::replace::remove_file;
use std::path::Path;

/// Name of the stage in the manifest and the report.
pub const STAGE: &str = crate::job::plan::cost_model::TRANSPOSE_STAGE;

/// The upper half of rows.
#[derive(Default)]
pub(crate) struct UpperHalf;

impl DerivedRows for UpperHalf {
    const STAGE: &'static str = STAGE;
    const HALF: Half = Half::Upper;
    type Info = UpperInfo;

    fn is_needed(job: &Job, _: Direction) -> bool {
        job.needs_upper()
    }

    fn place(job: &Job, graph: &Graph, runs: &DegreeRuns, folder: &Path) -> Result<DerivedPlace> {
        let rows = Rows { folder: folder.to_owned(), key: graph.info.content };
        let weights = graph.stored.weights.filter(|_| job.upper_has_weights());
        Ok(DerivedPlace { rows, layout: graph.info.upper_layout(runs), weights })
    }

    fn make_in_memory(context: &Context, record: &mut RunRecord, graph: &mut Graph, layout: &Layout) -> Result<bool> {
        packing::pack_or_store(context, record, graph, layout)
    }

    fn build(context: &Context, record: &mut RunRecord, graph: &Graph, missing: &MissingRows) -> Result<()> {
        let MissingRows { place: DerivedPlace { rows, layout, weights }, wanted } = missing;
        let mine = own_share(layout, wanted, context.comm.rank(), context.comm.ranks());
        let free = context.budget.free();
        record.stage(context, STAGE, graph.stored.edges, Unit::Edges, |progress| {
            let to = Destination::Files { folder: &rows.folder, key: rows.key, syncer: &context.syncer };
            let upper = Upper { graph, layout, wanted: &mine, weights: *weights, to };
            let Transposed { entries, passes, bytes } = upper.make(context, free, progress)?;
            tracing::debug!(entries, passes, bytes, "upper half written");
            let read = graph.catalogue.bytes() + if weights.is_some() { graph.catalogue.weights_bytes() } else { 0 };
            Ok(((), Moved { read: passes * read, written: bytes }))
        })
    }

    fn open(context: &Context, graph: &mut Graph, DerivedPlace { rows, layout, weights }: &DerivedPlace) -> Result<()> {
        let open = || {
            let upper = Catalogue::open(&rows.folder, rows.key, Half::Upper, layout.clone())?;
            upper.with_weights(&rows.folder, Half::Upper, *weights)
        };
        graph.set_upper(context.retry_until_visible(open)?)
    }

    fn info(graph: &Graph, place: &DerivedPlace) -> UpperInfo {
        UpperInfo { entries: graph.stored.edges, blocks: place.layout.blocks() as u64, weights: place.weights }
    }

    fn weights_of(info: &UpperInfo) -> Option<GraphWeights> {
        info.weights
    }

    fn remove_files(folder: &Path, info: Option<UpperInfo>) -> Result<()> {
        (0..info.map_or(0, |info| info.blocks as usize)).try_for_each(|block| {
            remove_file(&stored::path(folder, Half::Upper, block))?;
            remove_file(&stored_weights::path(folder, Half::Upper, block))
        })
    }
}

/// Inputs for building the upper half of the rows of a graph.
pub(super) struct Upper<'a> {
    pub(super) graph: &'a Graph,
    pub(super) layout: &'a Layout,
    pub(super) wanted: &'a [bool],
    pub(super) weights: Option<GraphWeights>,
    pub(super) to: Destination<'a>,
}

impl Upper<'_> {
    /// Builds it on the GPU, or on the CPU in `free` bytes of host memory (at least the smallest that is enough).
    pub(super) fn make(&self, context: &Context, free: u64, progress: &StageProgress) -> Result<Transposed> {
        let Upper { graph, layout, wanted, weights, to } = *self;
        let (lower, entries) = (&graph.catalogue, graph.stored.edges);
        let (shape, bins) = TransposeShape::and_bins(layout, entries, lower.len() as u64, weights.is_some());
        // A part of free memory could be less than the smallest that is enough.
        let free = free.max(shape.least()).min(context.budget.free());
        let memory = TransposeMemory::new(&shape, context.threads, free).map_err(|least| Error::Limit {
            limit: "host_memory",
            given: size::show(context.budget.limit()),
            needed: at_least(context.budget.limit() + least - free),
            purpose: "the upper half of rows".into(),
        })?;
        let file = graph.degrees()?;
        let transpose = Transpose {
            lower,
            degrees: file.body_as_u32()?,
            layout,
            bins: &bins,
            wanted,
            to,
            weights,
            memory,
            budget: &context.budget,
        };
        let watch = Watched(progress);
        let mut device = context.gpu.accelerator();
        let on_gpu = device.as_mut().map(|device| device.transposing(&transpose, &watch)).transpose()?.flatten();
        drop(device);
        on_gpu.map_or_else(|| transpose.build(&watch), Ok)
    }
}

/// Returns the blocks that this rank builds. They are consecutive and divided by the bounds of their entries.
fn own_share(layout: &Layout, wanted: &[bool], rank: usize, ranks: usize) -> Vec<bool> {
    let bound = |b: usize| if wanted[b] { layout.block(b).bound + layout.block(b).len() as u64 } else { 0 };
    let total = (0..wanted.len()).map(bound).sum::<u64>().max(1);
    let mut before = 0;
    let builder = |b: usize| {
        let middle = before + bound(b) / 2;
        before += bound(b);
        wanted[b] && (u128::from(middle) * ranks as u128 / u128::from(total)) as usize == rank
    };
    (0..wanted.len()).map(builder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::direction::Direction;
    use crate::graph::order::DegreeRuns;

    #[test]
    fn every_wanted_block_belongs_to_one_rank() {
        let runs = DegreeRuns::new((1..400).rev().map(|degree| (degree, 1000 / degree + 1)).collect());
        let layout = Layout::of_half(&runs, 5000, Half::Upper, Direction::Undirected);
        assert!(layout.blocks() > 20);
        let wanted: Vec<bool> = (0..layout.blocks()).map(|b| b % 3 != 1).collect();
        for ranks in [1, 2, 7, 64] {
            let shares: Vec<Vec<bool>> = (0..ranks).map(|rank| own_share(&layout, &wanted, rank, ranks)).collect();
            for (b, &wanted) in wanted.iter().enumerate() {
                assert_eq!(shares.iter().filter(|share| share[b]).count(), usize::from(wanted), "block {b} of {ranks}");
            }
        }
    }
}
