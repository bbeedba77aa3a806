//! Strategy `auto` of `[traverse]`, the fastest one. It uses the engines of `[bfs]`, which take bottom-up steps and
//! exchange bitmaps.

use super::search::{Search, Traffic, TraverseLevel, TraverseStats};
use crate::algo::bfs;
use crate::algo::searches::{Engine, EngineInput};
use crate::error::Result;
use crate::graph::ids::Vertex;

/// Engine of strategy `auto`. It runs the engine of `[bfs]` on the devices of the job.
pub struct Auto<'a> {
    search: Engine<'a, [u32], bfs::search::BfsStats>,
    /// Whether the job has a single rank, so that nothing is sent to other ranks.
    is_alone: bool,
}

impl<'a> Auto<'a> {
    /// Prepares the engine of `[bfs]` for searches of a graph. Collective: all ranks must call it.
    ///
    /// # Errors
    /// Errors of [`bfs::engine::choose`].
    pub fn new(input: EngineInput<'a, '_>) -> Result<Auto<'a>> {
        let is_alone = input.run.comm.ranks() == 1;
        Ok(Auto { search: bfs::engine::choose([None; 2], input)?, is_alone })
    }
}

impl Search<[u32], TraverseStats> for Auto<'_> {
    fn search(&mut self, root: Vertex, parents: &mut [u32]) -> Result<TraverseStats> {
        let bfs::search::BfsStats { reached, depth, seconds, exchanged, levels } = self.search.search(root, parents)?;
        let none = self.is_alone.then_some(0);
        let level = |level: &bfs::search::BfsLevel| TraverseLevel {
            frontier: level.frontier,
            expanded: level.edges_checked,
            pruned: none,
            sent_bytes: none,
            unpruned_bytes: none,
            seconds: level.seconds,
        };
        let levels: Vec<TraverseLevel> = levels.iter().map(level).collect();
        Ok(TraverseStats {
            reached,
            depth,
            seconds,
            compute_seconds: (seconds - exchanged.seconds).max(0.0),
            communication_seconds: exchanged.seconds,
            expanded: levels.iter().map(|level| level.expanded).sum(),
            sent: Traffic { sent_bytes: exchanged.sent_bytes, unpruned_bytes: exchanged.sent_bytes, pruned: 0 },
            levels,
            ..TraverseStats::default()
        })
    }

    fn repeat(&mut self, root: Vertex, parents: &mut [u32]) -> Result<()> {
        self.search.repeat(root, parents)
    }
}
