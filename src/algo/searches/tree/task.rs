//! Implements [`SearchTask`] for all level-synchronous searches, because they all produce breadth-first trees.

use super::verify::{self, SourceChecked, SourceOutput};
use super::{BATCH, validate, write};
use crate::algo::searches::graph500::Graph500Kernel;
use crate::algo::searches::results::{Farthest, SearchDetails, SearchOutput, SourceDetails, SourceFigures, Speed};
use crate::algo::searches::{NONE, ReportedTree, Root, SearchTable, SearchTask, figures, require};
use crate::algo::{EdgeSource, Results, Run};
use crate::chart::Figure;
use crate::error::Result;
use crate::graph::ids::InputId;
use crate::memory::{Budget, Buffer, populate};
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::results::Output;
use crate::results::about::About;
use std::collections::BTreeMap;
use validate::Tree;

/// Statistics that every level-synchronous search returns. The default value describes a search that reached no vertex.
pub trait LevelStats: Default {
    /// Type of the statistics in the report.
    type Details: SourceDetails;

    /// Returns the statistics of a search from a root that has no edge and so reaches only itself.
    fn isolated() -> Self;

    /// Returns the number of reached vertices, including the root, and the largest level.
    fn reached_and_depth(&self) -> (u64, u64);

    /// Returns the duration of the search in seconds.
    fn seconds(&self) -> f64;

    /// Converts the statistics into the form in which the report stores them, with at most `levels` levels.
    fn details(self, speed: Speed, levels: usize) -> Self::Details;
}

/// Implements [`SearchTask`] for a table whose searches fill arrays of parents. The parent of a vertex is its smallest
/// neighbour in the previous level. The root is its own parent, and an unreached vertex has the parent [`NONE`].
impl<T: SearchTable<Tree = Buffer<u32>>> SearchTask for T
where
    T::Stats: LevelStats,
{
    type SourceOutput = SourceOutput;
    type SourceDetails = <T::Stats as LevelStats>::Details;
    type Writer = InputIds;

    const KERNEL: Graph500Kernel = Graph500Kernel::Bfs;
    const COLUMNS: &'static [About] = &[About::PARENT, About::LEVEL];
    const VALUES: [(u64, u64); 2] = [(8, 20), (4, 11)];
    const CHECKED: usize = BATCH;
    const PLANNED: usize = BATCH;
    const CHECK: f64 = 0.15;
    // This is enough for a search with some tens of levels.
    const RECORD: u64 = 8192;

    fn isolated(&self, _: &Graph, parents: &mut Buffer<u32>) -> T::Stats {
        parents.fill(NONE);
        T::Stats::isolated()
    }

    fn tree(&self, _: &Graph, vertices: usize, budget: &Budget) -> Result<Buffer<u32>> {
        let mut parents = budget.zeroed(vertices, "the parents of a tree (4 bytes a vertex)")?;
        populate(&mut parents);
        Ok(parents)
    }

    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64 {
        let options = self.options();
        let checks = if options.validate { validate::bytes(vertices, trees, 0) } else { 0 };
        let writes = if options.write { write::bytes(vertices) } else { 0 };
        4 * vertices * trees as u64 + checks + writes
    }

    fn parents(parents: &Buffer<u32>) -> &[u32] {
        parents
    }

    fn seconds(searched: &T::Stats) -> f64 {
        searched.seconds()
    }

    fn writer(&self, graph: &Graph, writes: bool, budget: &Budget) -> Result<Option<InputIds>> {
        writes.then(|| InputIds::open(graph, budget)).transpose()
    }

    fn keep(
        &self,
        ids: &InputIds,
        root: Root,
        (parents, _): (&Buffer<u32>, &mut T::Stats),
        run: &mut Run<'_>,
    ) -> Result<BTreeMap<String, Output>> {
        write::write(&mut run.columns, root, parents, ids, (run.threads, run.budget))
    }

    fn check(&self, graph: &Graph, claims: &[ReportedTree<'_, T::Stats, Buffer<u32>>], run: &Run<'_>) -> Result<()> {
        let trees: Vec<_> = claims.iter().map(|claim| Tree { root: claim.root, parents: claim.tree }).collect();
        let checked = validate::validate(graph, &trees, run.threads, run.budget)?;
        for (claim, checked) in claims.iter().zip(checked) {
            let said = claim.searched.reached_and_depth();
            require(claim.source, said == (checked.reached, checked.depth), || {
                format!("the search says {said:?}, its tree {checked:?}")
            })?;
        }
        Ok(())
    }

    fn results(
        source: InputId,
        edges: u64,
        searched: T::Stats,
        speed: Speed,
        levels: usize,
    ) -> (SourceOutput, Self::SourceDetails) {
        let (reached, depth) = searched.reached_and_depth();
        (SourceOutput { source, reached, depth, edges }, searched.details(speed, levels))
    }

    fn figures(&SourceOutput { source, reached, depth, edges }: &SourceOutput) -> SourceFigures {
        SourceFigures { source, reached, edges, farthest: Farthest::Steps(depth) }
    }

    fn shown(of: &SourceOutput) -> String {
        format!("(reached, depth, edges) {:?}", (of.reached, of.depth, of.edges))
    }

    fn charts(output: &SearchOutput<SourceOutput>, details: &SearchDetails<Self::SourceDetails>) -> Vec<Figure> {
        figures::of_levels(output, details, |source| source.source.to_string())
    }

    fn check_source(
        &SourceOutput { source, reached, depth, .. }: &SourceOutput,
        details: &Self::SourceDetails,
    ) -> Result<()> {
        let frontiers: Vec<u64> = details.levels().iter().map(|level| level.frontier).collect();
        require(source, depth < reached, || format!("depth {depth} with {reached} vertices"))?;
        let levels = frontiers.len() as u64;
        require(source, levels <= depth + 1, || format!("{levels} levels, and depth {depth}"))?;
        require(source, frontiers.first().is_none_or(|&first| first == 1) && !frontiers.contains(&0), || {
            "a level without vertices, or a first one that is not the source alone".to_owned()
        })?;
        let sum = frontiers.iter().sum::<u64>();
        // A report contains only the first levels of a deep tree.
        let is_sum = if levels == depth + 1 { sum == reached } else { sum <= reached };
        require(source, is_sum, || format!("{sum} vertices in its levels, {reached} reached"))
    }

    fn verify_trees(
        &self,
        edges: &EdgeSource<'_>,
        results: &Results<'_>,
        sources: &[(&SourceOutput, &Self::SourceDetails)],
    ) -> Result<String> {
        let source = |&(&output, details): &(&SourceOutput, &Self::SourceDetails)| {
            let frontiers = details.levels().iter().map(|level| level.frontier).collect();
            SourceChecked { output, frontiers }
        };
        verify::trees(T::NAME, edges, results, &sources.iter().map(source).collect::<Vec<_>>())
    }
}
