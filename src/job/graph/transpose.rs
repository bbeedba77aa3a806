//! The stage `transpose`: builds the upper half of the rows, for tasks that need it.

use super::derived::{DerivedPlace, DerivedRows};
use super::packing;
use super::upper::Upper;
use crate::config::Job;
use crate::error::Result;
use crate::graph::weights::stored as stored_weights;
use crate::graph::{BlockStore, DegreeRuns, Direction, GraphWeights, Half, Layout, assign_ranks, stored};
use crate::job::context::Context;
use crate::job::run_record::{IoBytes, RunRecord};
use crate::prepare::prepared::{Graph, RowFiles, UpperInfo};
use crate::prepare::transpose::{Destination, Transposed};
use crate::process::progress::Unit;
use crate::store::replace::remove_file;
use std::path::Path;

/// Name of the stage `transpose` in the manifest and the report.
pub const STAGE: &str = crate::job::plan::cost_model::TRANSPOSE_STAGE;

/// The upper half of the rows: for each vertex, the neighbours that follow it in the degree order.
pub(crate) struct UpperHalf;

impl DerivedRows for UpperHalf {
    const STAGE: &'static str = STAGE;
    const HALF: Half = Half::Upper;
    type Info = UpperInfo;

    fn is_needed(job: &Job, _: Direction) -> bool {
        job.needs_upper()
    }

    fn is_open(job: &Job, graph: &Graph) -> bool {
        let reads_weights = job.upper_has_weights() && graph.stored.weights.is_some();
        graph.upper.as_deref().is_some_and(|upper| !reads_weights || upper.weights_bytes() > 0)
    }

    fn place(job: &Job, graph: &Graph, runs: &DegreeRuns, folder: &Path) -> DerivedPlace {
        let rows = RowFiles { folder: folder.to_owned(), key: graph.info.content };
        let weights = graph.stored.weights.filter(|_| job.upper_has_weights());
        DerivedPlace { rows, layout: graph.info.upper_layout(runs), weights }
    }

    fn make_in_memory(context: &Context, record: &mut RunRecord, graph: &mut Graph, layout: &Layout) -> Result<bool> {
        packing::pack_or_store(context, record, graph, layout)
    }

    fn build(
        context: &Context,
        record: &mut RunRecord,
        graph: &Graph,
        DerivedPlace { rows, layout, weights }: &DerivedPlace,
        wanted: &[bool],
    ) -> Result<()> {
        let mine = own_share(layout, wanted, context.comm.rank(), context.comm.ranks());
        let free = context.budget.free();
        record.stage(context, STAGE, graph.stored.edges, Unit::Edges, |progress| {
            let to = Destination::Files { folder: &rows.folder, key: rows.key, syncer: &context.syncer };
            let upper = Upper { graph, layout, wanted: &mine, weights: *weights, to };
            let Transposed { entries, passes, bytes } = upper.make(context, free, progress)?;
            tracing::debug!(entries, passes, bytes, "upper half written");
            let read =
                graph.block_store.bytes() + if weights.is_some() { graph.block_store.weights_bytes() } else { 0 };
            Ok(((), IoBytes { read: passes * read, written: bytes }))
        })
    }

    fn open(context: &Context, graph: &mut Graph, DerivedPlace { rows, layout, weights }: &DerivedPlace) -> Result<()> {
        let open = || {
            let upper = BlockStore::open(&rows.folder, rows.key, Half::Upper, layout.clone())?;
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

/// Returns for each block whether this rank builds it. Each rank builds a range of consecutive blocks. The ranges are
/// chosen so that the upper bounds on the number of entries are about equal for all ranks.
fn own_share(layout: &Layout, wanted: &[bool], rank: usize, ranks: usize) -> Vec<bool> {
    let bound = |b: usize| if wanted[b] { layout.block(b).bound + layout.block(b).len() as u64 } else { 0 };
    let bounds: Vec<f64> = (0..wanted.len()).map(|b| bound(b) as f64).collect();
    assign_ranks(&bounds, ranks).into_iter().zip(wanted).map(|(builder, &wanted)| wanted && builder == rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{DegreeRuns, Direction};

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
