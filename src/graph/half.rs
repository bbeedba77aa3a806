//! The two halves of a graph's rows.

/// A half of every row: the neighbours on one side of the row's vertex in the order of vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The neighbours smaller than the vertex, of higher degree. Every graph has it.
    Lower,
    /// The neighbours larger than the vertex, of lower degree. It is there for tasks that need it.
    Upper,
}

impl Half {
    /// Returns its name, which its files begin with.
    pub fn name(self) -> &'static str {
        match self {
            Half::Lower => "lower",
            Half::Upper => "upper",
        }
    }

    /// Returns true if `row` may be this half of the row of vertex `v`: ascending without repeats, and on the right side of `v`.
    pub fn holds(self, v: u32, row: &[u32]) -> bool {
        let on_its_side = match self {
            Half::Lower => row.last().is_none_or(|&last| last < v),
            Half::Upper => row.first().is_none_or(|&first| first > v),
        };
        on_its_side && row.is_sorted_by(|a, b| a < b)
    }
}
