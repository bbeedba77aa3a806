//! Faults of input that is not a list.

/// A reason why the successors do not form a list. It names the smallest index that shows the fault, regardless of the
/// order in which the GPU checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFault {
    /// A successor is neither an element nor the end.
    Range {
        /// The smallest element with such a successor.
        element: u64,
    },
    /// Two elements have the same successor.
    Twice {
        /// The smallest such successor.
        successor: u64,
    },
    /// The number of elements without a successor is not one.
    Tails {
        /// The number of these elements.
        count: u64,
        /// The smallest of these elements, if there is one.
        element: Option<u64>,
    },
    /// Some elements form cycles apart from the list.
    Cycle {
        /// The number of elements that are not on a cycle.
        in_list: u64,
    },
}
