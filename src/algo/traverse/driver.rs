//! Traversal as the driver of searches knows it.

use super::engine;
use super::search::{NONE, Search, Searched};
use super::task::Table;
use crate::algo::Run;
use crate::algo::searches::graph500::Kernel;
use crate::algo::searches::tree::{self, SourceFound, TreeWriter};
use crate::algo::searches::{Kept, Options, SearchTask, Told};
use crate::error::Result;
use crate::graph::ids::{InputId, Vertex};
use crate::memory::{Budget, Buffer};
use crate::prepare::prepared::Graph;
use crate::results::Output;
use crate::store::map::Mapped;
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl SearchTask for Table {
    type Searched = Searched;
    type Tree = Buffer<u32>;
    type Engine<'a> = Box<dyn Search + 'a>;
    type Writer = TreeWriter;

    const CHECKED: usize = tree::BATCH;
    const KERNEL: Kernel = Kernel::Bfs;

    fn options(&self) -> Options {
        let Table { roots, seed, ref sources, validate, write, .. } = *self;
        Options { roots, seed, sources: sources.clone(), validate, write }
    }

    fn engine<'a>(&self, graph: &'a Graph, degrees: &'a Mapped, run: &Run<'a>, spare: u64) -> Result<Self::Engine<'a>> {
        engine::choose(self, graph, degrees, run, spare)
    }

    fn search(engine: &mut Self::Engine<'_>, root: Vertex, parents: &mut Buffer<u32>) -> Result<Searched> {
        engine.search(root, parents)
    }

    fn repeat(engine: &mut Self::Engine<'_>, root: Vertex, parents: &mut Buffer<u32>) -> Result<()> {
        engine.repeat(root, parents)
    }

    fn alone(&self, _: &Graph, parents: &mut Buffer<u32>) -> Searched {
        parents.fill(NONE);
        Searched { reached: 1, ..Searched::default() }
    }

    fn tree(&self, _: &Graph, vertices: usize, budget: &Budget) -> Result<Buffer<u32>> {
        tree::parents(vertices, budget)
    }

    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64 {
        tree::bytes(&self.options(), vertices, trees)
    }

    fn parents(parents: &Buffer<u32>) -> &[u32] {
        parents
    }

    fn seconds(searched: &Searched) -> f64 {
        searched.seconds
    }

    fn writer(&self, graph: &Graph, writes: bool, budget: &Budget) -> Result<Option<TreeWriter>> {
        writes.then(|| TreeWriter::new(graph, budget)).transpose()
    }

    fn keep(
        &self,
        writer: &TreeWriter,
        kept: Kept<'_, Buffer<u32>>,
        _: &mut Searched,
        run: &mut Run<'_>,
    ) -> Result<BTreeMap<String, Output>> {
        tree::keep(writer, &kept, run)
    }

    fn check(&self, graph: &Graph, trees: &[Told<'_, Searched, Buffer<u32>>], run: &Run<'_>) -> Result<()> {
        tree::check(graph, trees, |searched| (searched.reached, searched.depth), run)
    }

    fn results(source: InputId, edges: u64, searched: Searched) -> (Value, Value) {
        let Searched { reached, depth, compute_seconds, communication_seconds, expanded, sent, .. } = searched;
        let mut how = json!({
            "compute_seconds": compute_seconds,
            "communication_seconds": communication_seconds,
            "expanded": expanded,
            "pruned": sent.pruned,
            "sent_bytes": sent.sent_bytes,
            "unpruned_bytes": sent.unpruned_bytes,
            "levels": searched.levels,
        });
        if let Some(steps) = searched.steps {
            how["waiting_seconds"] = json!(searched.waiting_seconds);
            how["steps"] = json!(steps);
            how["ranks"] = json!(searched.ranks);
        }
        (json!(SourceFound { source, reached, depth, edges }), how)
    }
}
