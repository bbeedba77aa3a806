//! The options in the job table `[triangle]`.

use crate::algo::triangle::gpu::Counted;
use crate::graph::direction::Direction;
use crate::jobfile::{AnyKey, Diagnostics, Key, Section};
use serde::{Deserialize, Serialize};

/// Options of triangle counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Triangle {
    /// Whether to count triangles per vertex as well, and write `out/triangles`, `out/degree` and `out/clustering`.
    pub per_vertex: bool,
    /// The kind of clustering coefficient. With `Directed`, the count also includes the directed edges between the
    /// neighbours of each vertex, and writes `out/links`, `out/degree` and `out/clustering`.
    #[serde(default, skip_serializing_if = "Direction::is_undirected")]
    pub clustering: Direction,
    /// Whether to count triangles per edge as well, and write `out/triangle/source`, `target` and `support`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_edge: bool,
    /// Whether to count as well the comparisons that a plain merge of sorted rows makes, with vertices ordered by id
    /// and by degree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub comparisons: bool,
}

/// The key `per_vertex` of the table `[triangle]`.
const PER_VERTEX: Key<bool> = Key::flag(
    "per_vertex",
    "also counts the triangles of each vertex, and writes counts, degrees and clustering coefficients",
);

/// The key `clustering` of the table `[triangle]`.
const CLUSTERING: Key<Direction> = Key::choice(
    "clustering",
    &[("undirected", Direction::Undirected), ("directed", Direction::Directed)],
    "directed counts the directed edges between the neighbours of each vertex, and writes counts, degrees and clustering coefficients",
);

/// The key `per_edge` of the table `[triangle]`.
const PER_EDGE: Key<bool> =
    Key::flag("per_edge", "also counts the triangles of each edge, and writes both ends and the count of each edge");

/// The key `comparisons` of the table `[triangle]`.
const COMPARISONS: Key<bool> = Key::flag(
    "comparisons",
    "also counts the comparisons of a plain merge of sorted rows, in the order of ids and in the order of degree, on CPUs",
);

/// All keys of the table `[triangle]`.
pub(super) const KEYS: &[&dyn AnyKey] = &[&PER_VERTEX, &CLUSTERING, &PER_EDGE, &COMPARISONS];

impl Triangle {
    /// Parses the table `[triangle]`, and reports mistakes to `diagnostics`.
    pub(super) fn read(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Triangle> {
        let per_vertex = PER_VERTEX.read(table, diagnostics);
        let clustering = CLUSTERING.read(table, diagnostics);
        if let (Some(field), Some(true), Some(Direction::Directed)) = (CLUSTERING.field(table), per_vertex, clustering)
        {
            field.refuse("excludes per_vertex = true: leave one of them out", diagnostics);
        }
        let per_edge = PER_EDGE.read(table, diagnostics);
        let comparisons = COMPARISONS.read(table, diagnostics);
        for (key, value) in [(&PER_EDGE, per_edge), (&COMPARISONS, comparisons)] {
            if let (Some(field), Some(true), Some(Direction::Directed)) = (key.field(table), value, clustering) {
                field.refuse("excludes clustering = \"directed\": leave one of them out", diagnostics);
            }
        }
        let (per_vertex, clustering, per_edge) = (per_vertex?, clustering?, per_edge?);
        Some(Triangle { per_vertex, clustering, per_edge, comparisons: comparisons? })
    }

    /// Returns true if links (directed edges between the neighbours of a vertex) are counted.
    pub(super) fn counts_links(&self) -> bool {
        self.clustering == Direction::Directed
    }

    /// Returns what a GPU counts in addition to the triangles of each pair of blocks, in a graph of direction
    /// `direction`. In an undirected graph a GPU does not count links, which follow from the triangles.
    pub(super) fn counted(&self, direction: Direction) -> Counted {
        match (self.per_edge, self.has_columns(), direction) {
            (true, ..) => Counted::Edges,
            (false, true, Direction::Directed) if self.counts_links() => Counted::Links,
            (false, true, _) => Counted::Vertices,
            (false, false, _) => Counted::Total,
        }
    }

    /// Returns true if columns with a value per vertex are written.
    pub(super) fn has_columns(&self) -> bool {
        self.per_vertex || self.counts_links()
    }
}
