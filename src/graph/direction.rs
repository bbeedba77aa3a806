//! Direction of edges, and the rows that vertices have by it.
//!
//! A graph whose edges have no direction has one row for each vertex. One that keeps direction has two: row `2v` lists the heads of the
//! edges that leave vertex `v`, row `2v + 1` the tails of those that enter it. Rows are binned, sorted and stored alike in both.

use serde::{Deserialize, Serialize};

/// Direction of a graph's edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Edges have none: each is in the rows of both its ends.
    #[default]
    Undirected,
    /// Each edge is in the out-row of its tail and in the in-row of its head.
    Directed,
}

/// A row of a vertex by the direction of its edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Edges that leave the vertex.
    Out,
    /// Edges that enter the vertex.
    In,
}

impl Direction {
    /// Returns the direction of the edges of a graph that keeps it or does not.
    pub fn of(is_directed: bool) -> Self {
        if is_directed { Direction::Directed } else { Direction::Undirected }
    }

    /// Returns the direction that this is not.
    pub fn other(self) -> Self {
        Direction::of(self == Direction::Undirected)
    }

    /// Returns the binary logarithm of the rows of a vertex.
    #[inline]
    pub fn shift(self) -> u32 {
        match self {
            Direction::Undirected => 0,
            Direction::Directed => 1,
        }
    }

    /// Returns the number of rows of `vertices` vertices.
    pub fn rows(self, vertices: u64) -> u64 {
        vertices << self.shift()
    }

    /// Returns the row of vertex `v` that lists its edges of one way, or all its edges if these have no direction.
    #[inline]
    pub fn row(self, v: u32, way: Way) -> u32 {
        match self {
            Direction::Undirected => v,
            Direction::Directed => 2 * v + u32::from(way == Way::In),
        }
    }

    /// Returns the vertex of a row.
    #[inline]
    pub fn vertex(self, row: u32) -> u32 {
        row >> self.shift()
    }

    /// Returns the row of `neighbour` that lists an edge which row `row` lists at its other end.
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
            let (out, into) = (direction.row(tail, Way::Out), direction.row(head, Way::In));
            assert_eq!([direction.vertex(out), direction.vertex(into)], [tail, head]);
            assert_eq!([direction.opposite(out, head), direction.opposite(into, tail)], [into, out]);
        }
        assert_ne!(Direction::Directed.row(3, Way::Out), Direction::Directed.row(3, Way::In));
        assert_eq!(Direction::Directed.rows(7), 14);
    }
}
