//! Weakly connected components, which ignore the direction of edges.
//!
//! A forest over the vertices is joined along every edge of the lower half of rows, which has each edge once. Blocks
//! are read once, in order, so a graph may be larger than memory. The result does not depend on the order of the joins.
//!
//! | file | holds |
//! |---|---|
//! | `task` | the table, and what a plan and a check need of it |
//! | `driver` | a trial: blocks in rounds, checkpoints, and the figures and the column in the end |
//! | `forest` | the forest, which all threads join at the same time |
//! | `gpu` | the forest on a GPU |
//! | `merge` | joins the forests of all ranks |
//! | `output` | the result |
//! | `verify` | the components once more, from the edges of the input |

mod driver;
mod forest;
mod gpu;
mod merge;
mod output;
mod task;
mod verify;

pub use output::ComponentsOutput;
pub(in crate::algo) use output::size_figure;
pub use task::Components;
