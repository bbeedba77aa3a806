//! Weakly connected components, which ignore the direction of edges, and strongly connected ones.
//!
//! For weakly connected components, a forest over the vertices is joined along every edge of the lower half of rows,
//! which has each edge once. Blocks are read once, in order, so a graph may be larger than memory. The result does not
//! depend on the order of the joins.
//!
//! | file | holds |
//! |---|---|
//! | `options` | the keys of the table |
//! | `task` | the table, and what a plan and a check need of it |
//! | `driver` | a trial: blocks in rounds, checkpoints, and the figures and the column in the end |
//! | `forest` | the forest, which all threads join at the same time |
//! | `strong` | strongly connected components of a graph with direction |
//! | `gpu` | the forest on a GPU |
//! | `merge` | joins the forests of all ranks |
//! | `output` | the result |
//! | `verify` | the components once more, from the edges of the input |

mod driver;
mod forest;
mod gpu;
mod merge;
mod options;
mod output;
mod strong;
mod task;
mod verify;

pub use options::Components;
pub use output::ComponentsOutput;
pub(in crate::algo) use output::size_figure;
