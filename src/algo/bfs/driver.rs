//! Breadth-first search as the driver of searches knows it.

use crate::algo::Run;
use crate::algo::bfs::engine;
use crate::algo::bfs::levels::Tree;
use crate::algo::bfs::search::{NONE, Search, Searched};
use crate::algo::bfs::task::{SourceFound, Table};
use crate::algo::bfs::validate;
use crate::algo::bfs::write::{self, TreeWriter};
use crate::algo::searches::graph500::Kernel;
use crate::algo::searches::{Kept, Options, SearchTask, Told};
use crate::error::{Error, Result};
use crate::graph::ids::{InputId, Vertex};
use crate::memory::{Budget, Buffer, populate};
use crate::prepare::prepared::Graph;
use crate::results::Output;
use crate::store::map::Mapped;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most trees that are checked together: the levels of so many lie in a cache line.
pub(super) const BATCH: usize = 64;

impl SearchTask for Table {
    type Searched = Searched;
    type Tree = Buffer<u32>;
    type Engine<'a> = Box<dyn Search + 'a>;
    type Writer = TreeWriter;

    const CHECKED: usize = BATCH;
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
        let mut parents = budget.zeroed(vertices, "the parents of a tree (4 bytes a vertex)")?;
        populate(&mut parents);
        Ok(parents)
    }

    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64 {
        let checks = if self.validate { validate::bytes(vertices, trees, 0) } else { 0 };
        let writes = if self.write { write::bytes(vertices) } else { 0 };
        4 * vertices * trees as u64 + checks + writes
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
        writer.write(&mut run.columns, kept.root, kept.tree, (run.threads, run.budget))
    }

    fn check(&self, graph: &Graph, trees: &[Told<'_, Searched, Buffer<u32>>], run: &Run<'_>) -> Result<()> {
        let of: Vec<_> = trees.iter().map(|told| Tree { root: told.root, parents: told.tree }).collect();
        let checked = validate::validate(graph, &of, run.threads, run.budget)?;
        for (told, checked) in trees.iter().zip(checked) {
            let said = (told.searched.reached, told.searched.depth);
            if said != (checked.reached, checked.depth) {
                let what = format!("source {}: the search says {said:?}, its tree {checked:?}", told.source);
                return Err(Error::Validation(what));
            }
        }
        Ok(())
    }

    fn results(source: InputId, edges: u64, searched: Searched) -> (Value, Value) {
        let Searched { reached, depth, levels, .. } = searched;
        (json!(SourceFound { source, reached, depth, edges }), json!({ "levels": levels }))
    }
}
