//! Core numbers of all vertices, by peeling.
//!
//! The k-core is the largest set of vertices each of which has at least k neighbours in the set. The core number of a
//! vertex is the largest k such that the k-core contains the vertex. Peeling finds it: at level k, vertices with at
//! most k remaining neighbours are removed until there is no such vertex; the removed vertices have the core number k.
//! The vertices that are removed at the same time are a layer. Sorting the vertices by layer, and by id within a layer,
//! yields a degeneracy order: no vertex has more neighbours after it than its core number. Edge directions and repeated
//! edges are ignored. Core numbers and layers do not depend on the number of threads or ranks.
//!
//! | file | holds |
//! |---|---|
//! | `task` | the job table, its cost model, and its checks |
//! | `driver` | a trial: layers, checkpoints, statistics and result columns |
//! | `peeling` | the vertices that a rank owns, and the removal of a layer by all ranks |
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
