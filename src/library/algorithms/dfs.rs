//! Depth-first search, articulation points, bridges and strongly connected components.
//!
//! ```
//! use gpugraph::{Context, Graph, dfs};
//!
//! let context = Context::new()?;
//! let graph = Graph::from_edges([(0, 1), (0, 2), (1, 2), (2, 3)], &context)?;
//! let tree = dfs::search(&graph, Some(graph.vertex(0)?), &dfs::Options::default(), &context)?;
//! // Of the neighbours of 0, vertex 2 has the larger degree.
//! assert_eq!(&tree.preorder()[..], [0, 2, 1, 3]);
//! # Ok::<(), gpugraph::Error>(())
//! ```

use crate::algo::dfs::DfsOutput;
use crate::error::Result;
use crate::graph::InputId;
use crate::library::column::Column;
use crate::library::context::Context;
use crate::library::graph::{Computed, Graph, Vertex};
use serde::Serialize;

/// Options of a depth-first search.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Options {
    /// Whether to find articulation points and bridges of an undirected graph.
    pub articulation: bool,
    /// Whether to find the strongly connected components of a directed graph.
    #[serde(serialize_with = "components", skip_serializing_if = "std::ops::Not::not")]
    pub components: bool,
    /// Whether to check the depth-first tree after the search.
    pub validate: bool,
}

fn components<S: serde::Serializer>(_: &bool, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str("strong")
}

#[derive(Serialize)]
struct Table<'o> {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<InputId>,
    forest: bool,
    #[serde(flatten)]
    options: &'o Options,
}

/// The result of a depth-first search: the tree of one source, or a forest that contains all vertices.
#[derive(Debug, Clone)]
pub struct Tree {
    output: DfsOutput,
    seconds: f64,
    parents: Column<i64>,
    preorder: Column<i64>,
    postorder: Column<i64>,
    depths: Column<i64>,
    articulation: Option<Column<i64>>,
    bridges: Option<Column<i64>>,
    components: Option<Column<i64>>,
}

/// Searches `graph` depth-first from `source`, or the whole graph if `source` is `None`. From each vertex, the search
/// continues with the unvisited neighbour of the highest degree. Among neighbours of equal degree, the smallest id
/// comes first. Roots are chosen in the same order.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for options that do not fit the graph: articulation points of a
/// directed graph, or strongly connected components of an undirected one;
/// [`ErrorKind::Limit`](crate::ErrorKind::Limit), [`ErrorKind::Stopped`](crate::ErrorKind::Stopped), and errors of the
/// disk.
pub fn search(graph: &Graph, source: Option<Vertex>, options: &Options, context: &Context) -> Result<Tree> {
    let table =
        Table { source: source.map(|source| graph.key(source)).transpose()?, forest: source.is_none(), options };
    let found: Computed<'_, DfsOutput> = graph.compute(context, "dfs", &table)?;
    let seconds = found.seconds();
    let (articulation, components) = (options.articulation, options.components);
    Ok(Tree {
        seconds,
        parents: found.column("dfs/parent")?,
        preorder: found.column("dfs/preorder")?,
        postorder: found.column("dfs/postorder")?,
        depths: found.column("dfs/depth")?,
        articulation: articulation.then(|| found.column("dfs/articulation")).transpose()?,
        bridges: articulation.then(|| found.column("dfs/bridge")).transpose()?,
        components: components.then(|| found.column("dfs/component")).transpose()?,
        output: found.output,
    })
}

impl Tree {
    /// Returns the number of vertices that the search reached.
    pub fn reached(&self) -> u64 {
        self.output.reached
    }

    /// Returns the number of depth-first trees. It is 1 if the search had a source.
    pub fn trees(&self) -> u64 {
        self.output.trees
    }

    /// Returns the largest depth of any vertex: its number of edges from the root of its tree.
    pub fn max_depth(&self) -> u64 {
        self.output.max_depth
    }

    /// Returns the time of the search in seconds, without the preparation of the graph.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Returns the id of each vertex's parent. A root is its own parent. The value of an unreached vertex is -1.
    pub fn parents(&self) -> &Column<i64> {
        &self.parents
    }

    /// Returns the preorder index of each vertex: its 0-based position in the order in which the search entered the
    /// vertices; -1 for an unreached vertex.
    pub fn preorder(&self) -> &Column<i64> {
        &self.preorder
    }

    /// Returns the postorder index of each vertex: its 0-based position in the order in which the search left the
    /// vertices; -1 for an unreached vertex.
    pub fn postorder(&self) -> &Column<i64> {
        &self.postorder
    }

    /// Returns the number of edges between each vertex and the root of its tree; -1 for an unreached vertex.
    pub fn depths(&self) -> &Column<i64> {
        &self.depths
    }

    /// Returns a column that is 1 for each articulation point, 0 for every other reached vertex and -1 for every
    /// unreached vertex; `None` unless [`Options::articulation`] was set.
    pub fn articulation_points(&self) -> Option<&Column<i64>> {
        self.articulation.as_ref()
    }

    /// Returns a column that is 1 for each vertex whose edge from its parent is a bridge, 0 for every other reached
    /// vertex and -1 for every unreached vertex; `None` unless [`Options::articulation`] was set.
    pub fn bridges(&self) -> Option<&Column<i64>> {
        self.bridges.as_ref()
    }

    /// Returns, for each vertex, the id of the vertex of its strongly connected component that the search reached
    /// first; -1 for an unreached vertex. Returns `None` unless [`Options::components`] was set.
    pub fn strong_components(&self) -> Option<&Column<i64>> {
        self.components.as_ref()
    }
}
