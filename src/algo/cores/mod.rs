//! Core numbers, by peeling.
//!
//! The k-core is the largest set of vertices each of which has k neighbours in the set. The core number of a vertex is
//! the largest k such that a k-core contains the vertex. Peeling finds it: at level k, vertices with at most k
//! neighbours are removed until none is left; they have the core number k. All vertices that can be removed at the same
//! time are a layer. The layers, and the ids within a layer, give a degeneracy order: no vertex has more neighbours
//! after it than its core number. Direction does not count, and neither do repeated edges. Core numbers and layers do
//! not depend on the number of threads or ranks.
//!
//! | file | holds |
//! |---|---|
//! | `task` | the table, its cost, and its checks |
//! | `driver` | a trial: layers, checkpoints, figures and columns |
//! | `peeling` | the vertices of a rank, and the removal of a layer by all ranks |
//! | `gpu` | layers on a GPU |
//! | `output` | the result |
//! | `verify` | checks layers and core numbers against the edges of the input |

mod driver;
mod gpu;
mod output;
mod peeling;
mod task;
mod verify;

pub use output::CoresOutput;
pub use task::Cores;
