//! The lower and the upper half of a graph's rows.

/// One of the two halves of every row: the neighbours before the row's vertex in the order of vertices, or the
/// neighbours after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The neighbours smaller than the vertex, which have higher degree. Every graph has this half.
    Lower,
    /// The neighbours larger than the vertex, which have lower degree. A graph has this half only if a task needs it.
    Upper,
}

impl Half {
    /// Returns the name of the half. The names of its files begin with it.
    pub fn name(self) -> &'static str {
        match self {
            Half::Lower => "lower",
            Half::Upper => "upper",
        }
    }

    /// Whether `row` can be this half of the row of vertex `v`: it ascends, has no repeats, and all neighbours are
    /// smaller than `v` (lower half) or larger than `v` (upper half).
    pub fn holds(self, v: u32, row: &[u32]) -> bool {
        let on_its_side = match self {
            Half::Lower => row.last().is_none_or(|&last| last < v),
            Half::Upper => row.first().is_none_or(|&first| first > v),
        };
        on_its_side && row.is_sorted_by(|a, b| a < b)
    }
}
