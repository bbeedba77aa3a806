//! Implementation of [`SearchTask`] for all searches by levels, which produce the same trees.

use super::levels::Tree;
use super::results::SourceOutput;
use super::{BATCH, TreeWriter, validate};
use crate::algo::searches::figures::LevelDetails;
use crate::algo::searches::graph500::Kernel;
use crate::algo::searches::results::Speed;
use crate::algo::searches::{Claim, Engine, EngineOf, Kept, NONE, Options, SearchTask};
use crate::algo::{Algorithm, Run};
use crate::error::{Error, Result};
use crate::graph::ids::InputId;
use crate::memory::{Budget, Buffer, populate};
use crate::prepare::prepared::Graph;
use crate::results::Output;
use crate::store::map::Mapped;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A table of searches by levels: its engine, and the statistics that it keeps of a search.
pub trait LevelTask: Algorithm {
    /// Statistics of one search.
    type Searched: LevelFigures;
    /// Details of the search from one source.
    type SourceDetails: LevelDetails;

    /// Returns the keys that all tables of searches share.
    fn options(&self) -> &Options;

    /// Prepares the engine on the devices that the job and all ranks choose. `spare` bytes of host memory stay free. A
    /// search writes the parent of every vertex: the smallest neighbour in the previous level, the root itself for the
    /// root, and [`NONE`] for an unreached vertex. Collective.
    ///
    /// # Errors
    /// Errors of the device and of reading the graph.
    fn engine<'a>(
        &self,
        graph: &'a Graph,
        degrees: &'a Mapped,
        run: &Run<'a>,
        spare: u64,
    ) -> Result<Engine<'a, [u32], Self::Searched>>;

    /// Returns the details of the search from a source, with at most `levels` levels.
    fn details(searched: Self::Searched, speed: Speed, levels: usize) -> Self::SourceDetails;
}

/// Statistics that every search by levels has. The default is that of a search that reached nothing.
pub trait LevelFigures: Clone + Debug + Default + PartialEq + Serialize + DeserializeOwned {
    /// Returns the statistics of a root without an edge, which reaches only itself.
    fn alone() -> Self;

    /// Returns the number of reached vertices, including the root, and the largest level.
    fn reached_and_depth(&self) -> (u64, u64);

    /// Returns the seconds of the search.
    fn seconds(&self) -> f64;
}

impl<T: LevelTask> SearchTask for T {
    type Searched = T::Searched;
    type SourceOutput = SourceOutput;
    type SourceDetails = T::SourceDetails;
    type Tree = Buffer<u32>;
    type Writer = TreeWriter;

    const CHECKED: usize = BATCH;
    const KERNEL: Kernel = Kernel::Bfs;

    fn options(&self) -> &Options {
        LevelTask::options(self)
    }

    fn engine<'a>(&self, graph: &'a Graph, degrees: &'a Mapped, run: &Run<'a>, spare: u64) -> Result<EngineOf<'a, T>> {
        LevelTask::engine(self, graph, degrees, run, spare)
    }

    fn alone(&self, _: &Graph, parents: &mut Buffer<u32>) -> T::Searched {
        parents.fill(NONE);
        T::Searched::alone()
    }

    fn tree(&self, _: &Graph, vertices: usize, budget: &Budget) -> Result<Buffer<u32>> {
        let mut parents = budget.zeroed(vertices, "the parents of a tree (4 bytes a vertex)")?;
        populate(&mut parents);
        Ok(parents)
    }

    fn tree_bytes(&self, vertices: u64, trees: usize) -> u64 {
        super::bytes(LevelTask::options(self), vertices, trees)
    }

    fn parents(parents: &Buffer<u32>) -> &[u32] {
        parents
    }

    fn seconds(searched: &T::Searched) -> f64 {
        searched.seconds()
    }

    fn writer(&self, graph: &Graph, writes: bool, budget: &Budget) -> Result<Option<TreeWriter>> {
        writes.then(|| TreeWriter::new(graph, budget)).transpose()
    }

    fn keep(
        &self,
        writer: &TreeWriter,
        kept: Kept<'_, Buffer<u32>>,
        _: &mut T::Searched,
        run: &mut Run<'_>,
    ) -> Result<BTreeMap<String, Output>> {
        writer.write(&mut run.columns, kept.root, kept.tree, (run.threads, run.budget))
    }

    fn check(&self, graph: &Graph, claims: &[Claim<'_, T::Searched, Buffer<u32>>], run: &Run<'_>) -> Result<()> {
        let trees: Vec<_> = claims.iter().map(|claim| Tree { root: claim.root, parents: claim.tree }).collect();
        let checked = validate::validate(graph, &trees, run.threads, run.budget)?;
        for (claim, checked) in claims.iter().zip(checked) {
            let said = claim.searched.reached_and_depth();
            if said != (checked.reached, checked.depth) {
                let what = format!("source {}: the search says {said:?}, its tree {checked:?}", claim.source);
                return Err(Error::Validation(what));
            }
        }
        Ok(())
    }

    fn results(
        source: InputId,
        edges: u64,
        searched: T::Searched,
        speed: Speed,
        levels: usize,
    ) -> (SourceOutput, T::SourceDetails) {
        let (reached, depth) = searched.reached_and_depth();
        (SourceOutput { source, reached, depth, edges }, T::details(searched, speed, levels))
    }
}
