//! Direction of edges, and the rows of a vertex in directed and undirected graphs.
//!
//! An undirected graph has one row for each vertex. A directed graph has two: row `2v` lists the heads of the edges
//! that leave vertex `v`, and row `2v + 1` lists the tails of the edges that enter it. Rows of both kinds are binned,
//! sorted and stored in the same way.

use serde::{Deserialize, Serialize};

/// Whether the edges of a graph have a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Undirected: each edge is in the rows of both its ends.
    #[default]
    Undirected,
    /// Directed: each edge is in the out-row of its tail and in the in-row of its head.
    Directed,
}

/// One of the two rows of a vertex in a directed graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EdgeDirection {
    /// Edges that leave the vertex.
    Out,
    /// Edges that enter the vertex.
    In,
}

impl Direction {
    /// Returns `Directed` if `is_directed`, else `Undirected`.
    pub fn of(is_directed: bool) -> Self {
        if is_directed { Direction::Directed } else { Direction::Undirected }
    }

    /// Returns true for `Undirected`.
    pub fn is_undirected(&self) -> bool {
        *self == Direction::Undirected
    }

    /// Returns `Directed` for `Undirected`, and `Undirected` for `Directed`.
    pub fn other(self) -> Self {
        Direction::of(self == Direction::Undirected)
    }

    /// Returns the binary logarithm of the number of rows that a vertex has: 0 for one row, 1 for two.
    #[inline]
    pub fn shift(self) -> u32 {
        match self {
            Direction::Undirected => 0,
            Direction::Directed => 1,
        }
    }

    /// Returns the number of rows that `vertices` vertices have.
    pub fn rows(self, vertices: u64) -> u64 {
        vertices << self.shift()
    }

    /// Returns the index of the row of vertex `v` that lists its edges in direction `way`. In an undirected graph, this
    /// is the only row of `v`.
    #[inline]
    pub fn row(self, v: u32, way: EdgeDirection) -> u32 {
        match self {
            Direction::Undirected => v,
            Direction::Directed => 2 * v + u32::from(way == EdgeDirection::In),
        }
    }

    /// Returns the vertex to which `row` belongs.
    #[inline]
    pub fn vertex(self, row: u32) -> u32 {
        row >> self.shift()
    }

    /// Returns the row that lists the same edge at its other end: `row` lists the vertex `neighbour`, and the returned
    /// row of `neighbour` lists the vertex of `row`.
    #[inline]
    pub fn opposite(self, row: u32, neighbour: u32) -> u32 {
        match self {
            Direction::Undirected => neighbour,
            Direction::Directed => 2 * neighbour + (row & 1 ^ 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_in_a_row_of_either_end() {
        for direction in [Direction::Undirected, Direction::Directed] {
            let (tail, head) = (5, 9);
            let (out, into) = (direction.row(tail, EdgeDirection::Out), direction.row(head, EdgeDirection::In));
            assert_eq!([direction.vertex(out), direction.vertex(into)], [tail, head]);
            assert_eq!([direction.opposite(out, head), direction.opposite(into, tail)], [into, out]);
        }
        assert_ne!(Direction::Directed.row(3, EdgeDirection::Out), Direction::Directed.row(3, EdgeDirection::In));
        assert_eq!(Direction::Directed.rows(7), 14);
    }
}
