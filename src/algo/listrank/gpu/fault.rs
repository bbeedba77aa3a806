//! Faults of lists that are none.

/// A reason why successors are not those of a list. It names the smallest index that shows it, whatever the order in which a GPU looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A successor is neither an element nor the end.
    Range {
        /// The smallest element with such a successor.
        element: u64,
    },
    /// Two elements have one successor.
    Twice {
        /// The smallest such successor.
        successor: u64,
    },
    /// Elements without a successor are not one.
    Tails {
        /// The number of these elements.
        count: u64,
        /// The smallest of them, if there is one.
        element: Option<u64>,
    },
    /// Elements form cycles beside the list.
    Cycle {
        /// The number of elements that are in none.
        in_list: u64,
    },
}
