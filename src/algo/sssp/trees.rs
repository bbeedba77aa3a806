//! Implements [`SearchTask`] for the table `[sssp]`: how trees are allocated, checked, written and reported.

use super::distances::{Distances, of_any_type};
use super::output::{SsspDetails, SsspOutput, SsspSource};
use super::path::Path;
use super::search::{NONE, ShortestPathTree, SsspStats};
use super::validate::TreeSum;
use super::{Sssp, figures, validate, verify};
use crate::algo::searches::graph500::Graph500Kernel;
use crate::algo::searches::results::{Farthest, SearchDetails, SourceFigures, Speed};
use crate::algo::searches::tree::put_parents;
use crate::algo::searches::{ReportedTree, Root, SearchTask, require};
use crate::algo::sources;
use crate::algo::{EdgeSource, Results, Run};
use crate::chart::Figure;
use crate::error::Result;
use crate::graph::ids::{InputId, Vertex};
use crate::memory::{Budget, populate};
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::results::Output;
use crate::results::about::About;
use std::collections::BTreeMap;

/// Description of the column `distance`.
const DISTANCE: About =
    About::new("distance", "sum of weights on the shortest path from the source", "2^64 - 1, or inf: not reached");

/// Data for writing the columns and the path of a source. `target` is `None` if the table names no target. Otherwise it
/// consists of the input id of the target, and of the target as a vertex, or `None` if the target has no edge.
pub struct Writer {
    ids: InputIds,
    target: Option<(InputId, Option<Vertex>)>,
}

impl Writer {
    /// Returns the path from `root` to the target, if the table names a target.
    fn path(&self, root: Root, tree: &ShortestPathTree) -> Option<Path> {
        let (target, vertex) = self.target?;
        let own = tree.distances.zero();
        Some(match vertex {
            Some(Vertex(v)) => Path::follow(target, v, &tree.distances, &tree.parents, &self.ids),
            None if target == root.id => Path { target, length: Some(own), edges: 0, vertices: vec![target] },
            None => Path::none(target),
        })
    }
}

impl SearchTask for Sssp {
    type SourceOutput = SsspSource;
    type SourceDetails = SsspDetails;
    type Writer = Writer;

    const KERNEL: Graph500Kernel = Graph500Kernel::Sssp;
    const COLUMNS: &'static [About] = &[DISTANCE, About::PARENT];
    const VALUES: [(u64, u64); 2] = [(8, 20), (8, 20)];
    const CHECKED: usize = validate::MOST;
    const PLANNED: usize = 1;
    const CHECK: f64 = 0.0;
    const RECORD: u64 = 1024;

    fn isolated(&self, _: &Graph, tree: &mut Self::Tree) -> SsspStats {
        tree.distances.forget();
        tree.parents.fill(NONE);
        SsspStats::new(1, (tree.distances.zero(), 0), Vec::new(), 0.0)
    }

    fn tree(&self, graph: &Graph, vertices: usize, budget: &Budget) -> Result<Self::Tree> {
        let distances = Distances::new(self.weights.kind(graph.stored.weights), vertices, budget)?;
        let mut parents = budget.zeroed(vertices, "the parents of vertices (4 bytes each)")?;
        populate(&mut parents);
        Ok(Box::new(ShortestPathTree { distances, parents }))
    }

    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64 {
        let kept = if self.options.write || self.target.is_some() { InputIds::bytes(vertices) } else { 0 };
        let checks = if self.options.validate { validate::bytes(vertices, trees, self.weights) } else { 0 };
        // This is an upper bound, because the type of the input's weights is known only after the input is read.
        let distances = Distances::bytes(self.weights.kind(None), vertices);
        (distances + 4 * vertices) * trees as u64 + kept + checks
    }

    fn parents(tree: &Self::Tree) -> &[u32] {
        &tree.parents
    }

    fn reaches_all(searched: &SsspStats) -> bool {
        !searched.may_overflow
    }

    fn describe(tree: &Self::Tree, searched: &mut SsspStats) {
        let mut bins = tree.distances.bins(searched.max_distance.number());
        if searched.reached == 1 {
            // A source without edges has no row, so it is not among the distances.
            bins[0].vertices = 1;
        }
        searched.distances = bins;
    }

    fn seconds(searched: &SsspStats) -> f64 {
        searched.seconds
    }

    fn writer(&self, graph: &Graph, writes: bool, budget: &Budget) -> Result<Option<Writer>> {
        if !writes && self.target.is_none() {
            return Ok(None);
        }
        let target = match self.target {
            Some(target) => sources::vertices(&[target], "target", graph)?.first().map(|&vertex| (target, vertex)),
            None => None,
        };
        Ok(Some(Writer { ids: InputIds::open(graph, budget)?, target }))
    }

    fn keep(
        &self,
        writer: &Writer,
        root: Root,
        (tree, searched): (&Self::Tree, &mut SsspStats),
        run: &mut Run<'_>,
    ) -> Result<BTreeMap<String, Output>> {
        searched.path = writer.path(root, tree);
        if !self.options.write || !run.is_last {
            return Ok(BTreeMap::new());
        }
        let (columns, own) = (&mut run.columns, root.vertex.is_none());
        of_any_type!(&tree.distances, of => {
            columns.put_of_source(root.id, "distance", TreeSum::UNREACHED, own.then(Default::default), |v| of[v.index()])?;
        });
        put_parents(columns, root, &tree.parents, &writer.ids)?;
        columns.finish_source(root.id)
    }

    fn check(&self, graph: &Graph, claims: &[ReportedTree<'_, SsspStats, Self::Tree>], run: &Run<'_>) -> Result<()> {
        let of = claims.iter().map(|claim| validate::PathTree {
            root: claim.root,
            distances: &claim.tree.distances,
            parents: &claim.tree.parents,
        });
        let of: Vec<_> = of.collect();
        let checked = validate::validate(graph, self.weights, &of, run.threads, run.budget)?;
        for (claim, checked) in claims.iter().zip(checked) {
            let said = (claim.searched.reached, claim.searched.max_distance);
            require(claim.source, said == (checked.reached, checked.max_distance), || {
                format!("the search says {said:?}, its tree {checked:?}")
            })?;
        }
        Ok(())
    }

    fn results(
        source: InputId,
        edges: u64,
        searched: SsspStats,
        Speed { seconds, teps }: Speed,
        _: usize,
    ) -> (SsspSource, SsspDetails) {
        let SsspStats { reached, max_distance, relaxations, phases, path, distances, .. } = searched;
        let details = SsspDetails { seconds, teps, relaxations, phases, distances };
        (SsspSource { source, reached, max_distance, edges, path }, details)
    }

    fn figures(&SsspSource { source, reached, edges, max_distance, .. }: &SsspSource) -> SourceFigures {
        SourceFigures { source, reached, edges, farthest: Farthest::Distance(max_distance.to_string()) }
    }

    fn shown(of: &SsspSource) -> String {
        format!("(reached, max_distance, edges) {:?}", (of.reached, of.max_distance, of.edges))
    }

    fn more(of: &SsspSource) -> Option<[String; 2]> {
        let path = of.path.as_ref()?;
        let line = format!("path {} to {}: {path}\n", of.source, path.target);
        Some([line, figures::path_sentence(of.source, path)])
    }

    fn charts(output: &SsspOutput, details: &SearchDetails<SsspDetails>) -> Vec<Figure> {
        figures::figures(output, details)
    }

    fn check_source(found: &SsspSource, _: &SsspDetails) -> Result<()> {
        let (source, reached) = (found.source, found.reached);
        let is_zero = found.max_distance.number() == 0.0;
        require(source, reached > 1 || is_zero, || format!("distance {} of the source alone", found.max_distance))?;
        let Some(path) = &found.path else { return Ok(()) };
        let is_path = match path.length {
            Some(length) => {
                length <= found.max_distance && path.edges < reached && path.vertices.first() == Some(&source)
            }
            None => path.vertices.is_empty(),
        };
        require(source, is_path, || format!("a path to {} that can't be: {path}", path.target))
    }

    fn verify_trees(
        &self,
        edges: &EdgeSource<'_>,
        results: &Results<'_>,
        sources: &[(&SsspSource, &SsspDetails)],
    ) -> Result<String> {
        let outputs: Vec<&SsspSource> = sources.iter().map(|(output, _)| *output).collect();
        verify::trees(edges, self.weights, results, &outputs)
    }
}
