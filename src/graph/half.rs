//! The lower and the upper half of a graph's rows: neighbours with smaller ids, and neighbours with larger ids.

/// One of the two halves of every row: the neighbours with smaller ids than the row's vertex, or those with larger ids.
/// Ids ascend with descending degree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The neighbours with smaller ids than the vertex. Their degree is the same or higher. Every graph stores this
    /// half.
    Lower,
    /// The neighbours with larger ids than the vertex. Their degree is the same or lower. A graph stores this half only
    /// if a task needs it.
    Upper,
}

impl Half {
    /// Returns the name of the half, with which its file names begin.
    pub fn name(self) -> &'static str {
        match self {
            Half::Lower => "lower",
            Half::Upper => "upper",
        }
    }

    /// Whether `row` can be this half of the row of vertex `v`: it must be strictly ascending, and all ids must be
    /// smaller than `v` (lower half) or larger than `v` (upper half).
    pub fn holds(self, v: u32, row: &[u32]) -> bool {
        let on_its_side = match self {
            Half::Lower => row.last().is_none_or(|&last| last < v),
            Half::Upper => row.first().is_none_or(|&first| first > v),
        };
        on_its_side && row.is_sorted_by(|a, b| a < b)
    }
}
