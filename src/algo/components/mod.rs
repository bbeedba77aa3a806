//! Weakly connected components, which ignore the direction of edges, and strongly connected components, which do not.
//!
//! For weakly connected components, the trees of a forest are joined along every edge in the lower half of rows (the
//! neighbours with smaller ids), which contains each edge once. Blocks of rows are read once, in order, so a graph may
//! be larger than memory. The result does not depend on the order of the joins.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the keys of the table |
//! | `task` | the table, its cost, and its checks |
//! | `driver` | a trial: blocks in rounds, checkpoints, statistics and the column |
//! | `forest` | the forest, whose trees all threads join concurrently |
//! | `strong` | strongly connected components of a directed graph |
//! | `gpu` | the forest on a GPU |
//! | `merge` | joins the forests of all ranks |
//! | `output` | the result |
//! | `verify` | computes the components again from the edges of the input |

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
pub(in crate::algo) use verify::RowForest;
