//! The breadth-first tree, which is the result of both `[bfs]` and `[traverse]`.

use crate::algo::searches::results::SearchOutput;
use crate::algo::searches::tree::verify::SourceOutput;
use crate::error::{Error, Result};
use crate::graph::InputId;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph, Vertex};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A breadth-first tree that begins at one source.
#[derive(Debug, Clone)]
pub struct Tree {
    source: Vertex,
    reached: u64,
    depth: u64,
    edges: u64,
    seconds: f64,
    parents: Column<i64>,
    levels: Column<i32>,
}

/// Keys of a job-file table that select a search from one source and write its tree.
#[derive(Serialize)]
pub(super) struct FromOne<'o, O> {
    sources: [InputId; 1],
    write: bool,
    #[serde(flatten)]
    options: &'o O,
}

impl<'o, O> FromOne<'o, O> {
    /// Returns the keys of a job-file table that select a search from `source` with `options`.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`] if the source's id is a string that is not UTF-8.
    pub(super) fn new(graph: &Graph, source: Vertex, options: &'o O) -> Result<FromOne<'o, O>> {
        Ok(FromOne { sources: [graph.key(source)?], write: true, options })
    }
}

impl Tree {
    /// Searches breadth-first from `source`. `algorithm` is the name of the algorithm's table in a job file.
    pub(super) fn search(
        graph: &Graph,
        source: Vertex,
        (algorithm, options): (&str, &impl Serialize),
        context: &Context,
    ) -> Result<Tree> {
        let found: Computed<'_, SearchOutput<SourceOutput>> =
            graph.compute(context, algorithm, &FromOne::new(graph, source, options)?)?;
        let seconds = found.seconds_of_source();
        let SourceOutput { reached, depth, edges, .. } = *one(&found.output)?;
        let column = |name: &str| format!("{algorithm}/{source}/{name}");
        let (parents, levels) = (found.column(&column("parent"))?, found.column(&column("level"))?);
        Ok(Tree { source, reached, depth, edges, seconds, parents, levels })
    }

    /// Returns the source of the breadth-first tree.
    pub fn source(&self) -> Vertex {
        self.source
    }

    /// Returns the number of vertices that the search reached, including the source.
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Returns the largest level of a vertex: the largest distance from the source, in edges.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// Returns the number of edges of the graph between vertices that the search reached.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Returns the time of the search in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the id of each vertex's parent. The source is its own parent. The value of an unreached vertex is -1.
    pub fn parents(&self) -> &Column<i64> {
        &self.parents
    }

    /// Returns the level of each vertex: its distance from the source in edges; -1 for an unreached vertex.
    pub fn levels(&self) -> &Column<i32> {
        &self.levels
    }

    /// Writes the parents to `parent.npy` and the levels to `level.npy` in a folder.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), [`ErrorKind::DiskFull`](crate::ErrorKind::DiskFull).
    pub fn write_npy(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        self.parents.write_npy(folder.join("parent.npy"))?;
        self.levels.write_npy(folder.join("level.npy"))
    }

    /// Writes the parents to `parent.csv` and the levels to `level.csv` in a folder.
    ///
    /// # Errors
    /// Errors of [`Self::write_npy`].
    pub fn write_csv(&self, folder: impl AsRef<Path>) -> Result<()> {
        let folder = folder.as_ref();
        self.parents.write_csv(folder.join("parent.csv"), "parent")?;
        self.levels.write_csv(folder.join("level.csv"), "level")
    }

    /// Repeats the breadth-first search, validates the new tree by the rules of Graph500, and compares this tree with
    /// it. The tree is the same on every device and with any number of threads.
    ///
    /// # Errors
    /// [`ErrorKind::Validation`](crate::ErrorKind::Validation) if the new tree differs from this tree.
    pub fn validate(&self, graph: &Graph, context: &Context) -> Result<()> {
        let checked = BTreeMap::from([("validate", true)]);
        let other = Tree::search(graph, self.source, ("bfs", &checked), context)?;
        same(self.source, "parent", &self.parents, &other.parents)?;
        same(self.source, "level", &self.levels, &other.levels)
    }
}

/// Returns an error if `found` and `expected`, two result columns of a search from `source`, differ.
pub(super) fn same<T: PartialEq + std::fmt::Display + crate::results::Value>(
    source: Vertex,
    name: &str,
    found: &Column<T>,
    expected: &Column<T>,
) -> Result<()> {
    let differs = |((id, found), (_, expected)): ((u64, T), (u64, T))| {
        (found != expected).then(|| format!("{name} of {id} from {source}: expected {expected}, found {found}"))
    };
    match found.iter().zip(expected.iter()).find_map(differs) {
        Some(why) => Err(Error::Validation(why)),
        None if found.len() != expected.len() => Err(Error::Validation(format!(
            "{name} from {source}: expected {} rows, found {}",
            expected.len(),
            found.len()
        ))),
        None => Ok(()),
    }
}

/// Returns the result of a search that has a single source.
pub(super) fn one<S>(output: &SearchOutput<S>) -> Result<&S> {
    output.sources.first().ok_or_else(|| Error::internal("read the result of a search", "it has no source"))
}
