//! The stage `transpose`: builds the upper half of rows, for tasks that need it.

use super::derived::{self, DerivedRows};
use super::packing;
use crate::error::{Error, Result};
use crate::graph::catalogue::Catalogue;
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::stored;
use crate::graph::weights::stored::{self as stored_weights, GraphWeights};
use crate::job::session::{Moved, Session, Watched};
use crate::memory::at_least;
use crate::prepare::prepared::{Graph, Rows, UpperInfo};
use crate::prepare::transpose::{Destination, Transpose, TransposeMemory, TransposeShape, Transposed};
use crate::prepare::{Accelerator as _, order};
use crate::process::progress::{StageProgress, Unit};
use crate::size;
use crate::store::replace::remove_file;
use std::path::Path;

/// Name of the stage in the manifest and the report.
pub const STAGE: &str = crate::job::plan::cost_model::TRANSPOSE_STAGE;

/// Opens the upper half of the graph's rows, or builds its missing blocks. If the rows are in memory, packs them
/// there. Collective.
///
/// # Errors
/// Errors of memory, disk and the graph's blocks; a stop.
pub(crate) fn ensure(session: &mut Session, graph: &mut Graph) -> Result<()> {
    let content = graph.info.content;
    let runs = session.retry_until_visible(|| order::read_runs(&graph.folder, content))?;
    let layout = graph.info.upper_layout(&runs);
    let weights = graph.stored.weights.filter(|_| session.job.upper_has_weights());
    if graph.catalogue.is_in_memory() && packing::pack_or_store(session, graph, &layout)? {
        return Ok(());
    }
    derived::open_or_build(session, graph, &UpperHalf { content, layout, weights })
}

/// The upper half of rows, stored in files.
struct UpperHalf {
    /// Key of the graph.
    content: u64,
    layout: Layout,
    weights: Option<GraphWeights>,
}

impl DerivedRows for UpperHalf {
    const STAGE: &'static str = STAGE;
    const HALF: Half = Half::Upper;
    type Info = UpperInfo;

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn weights(&self) -> Option<GraphWeights> {
        self.weights
    }

    fn place(&self, folder: &Path) -> Rows {
        Rows { folder: folder.to_owned(), key: self.content }
    }

    fn build(&self, session: &mut Session, graph: &Graph, rows: &Rows, wanted: &[bool]) -> Result<()> {
        let UpperHalf { ref layout, weights, .. } = *self;
        let mine = own_share(layout, wanted, session.comm.rank(), session.comm.ranks());
        let free = session.budget.free();
        session.stage(STAGE, graph.stored.edges, Unit::Edges, |s, progress| {
            let to = Destination::Files { folder: &rows.folder, key: rows.key, syncer: &s.syncer };
            let upper = Upper { graph, layout, wanted: &mine, weights, to };
            let Transposed { entries, passes, bytes } = upper.make(s, free, progress)?;
            tracing::debug!(entries, passes, bytes, "upper half written");
            let read = graph.catalogue.bytes() + if weights.is_some() { graph.catalogue.weights_bytes() } else { 0 };
            Ok(((), Moved { read: passes * read, written: bytes }))
        })
    }

    fn open(&self, session: &Session, graph: &mut Graph, Rows { folder, key }: Rows) -> Result<()> {
        let open = || {
            let upper = Catalogue::open(&folder, key, Half::Upper, self.layout.clone())?;
            upper.with_weights(&folder, Half::Upper, self.weights)
        };
        graph.set_upper(session.retry_until_visible(open)?)
    }

    fn info(&self, graph: &Graph) -> UpperInfo {
        UpperInfo { entries: graph.stored.edges, blocks: self.layout.blocks() as u64, weights: self.weights }
    }

    fn weights_of(info: &UpperInfo) -> Option<GraphWeights> {
        info.weights
    }
}

/// Removes the upper half if it is damaged. An earlier table needed it; no table of this job does, so no stage would
/// repair it. Collective.
///
/// # Errors
/// Errors of the disk; a stop.
pub(crate) fn look_over(session: &mut Session, graph: &Graph) -> Result<()> {
    let content = graph.info.content;
    let Some(UpperInfo { weights, .. }) = session.manifest.found(STAGE, content) else { return Ok(()) };
    let runs = session.retry_until_visible(|| order::read_runs(&graph.folder, content))?;
    let upper = UpperHalf { content, layout: graph.info.upper_layout(&runs), weights };
    if derived::are_whole(session, &upper)? { Ok(()) } else { remove(session) }
}

/// Removes the upper half from the job's own workdir. Collective.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn remove(session: &mut Session) -> Result<()> {
    let Some(stored) = session.manifest.last::<UpperInfo>(STAGE) else { return Ok(()) };
    derived::remove(session, STAGE, |folder| {
        (0..stored.blocks as usize).try_for_each(|block| {
            remove_file(&stored::path(folder, Half::Upper, block))?;
            remove_file(&stored_weights::path(folder, Half::Upper, block))
        })
    })
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
    pub(super) fn make(&self, session: &Session, free: u64, progress: &StageProgress) -> Result<Transposed> {
        let Upper { graph, layout, wanted, weights, to } = *self;
        let (lower, entries) = (&graph.catalogue, graph.stored.edges);
        let (shape, bins) = TransposeShape::and_bins(layout, entries, lower.len() as u64, weights.is_some());
        // A part of free memory could be less than the smallest that is enough.
        let free = free.max(shape.least()).min(session.budget.free());
        let memory = TransposeMemory::new(&shape, session.threads, free).map_err(|least| Error::Limit {
            limit: "host_memory",
            given: size::show(session.budget.limit()),
            needed: at_least(session.budget.limit() + least - free),
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
            budget: &session.budget,
        };
        let watch = Watched(progress);
        let mut device = session.gpu.accelerator();
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
