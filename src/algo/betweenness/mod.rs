//! Betweenness centrality: the number of shortest paths from some sources that lead through each vertex, by Brandes'
//! algorithm.
//!
//! A search from each source finds the levels and the number of shortest paths to every vertex, level by level. Then
//! the dependency of every vertex is computed from the vertices of the next level, from the deepest level back to the
//! source. Path counts and dependencies are summed along rows in a fixed order, so scores are bitwise equal on any
//! number of threads and ranks, and on a GPU.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the keys of the table |
//! | `arithmetic` | counts of shortest paths: as f64, and with a wider exponent |
//! | `search` | the search from one source: levels, counts, dependencies |
//! | `level` | how threads work on the vertices of a level, and what ranks exchange |
//! | `gpu` | searches from several sources at once on a GPU |
//! | `driver` | a trial: sources, checkpoints, statistics and the result column |
//! | `output` | the result |
//! | `task` | the table, its cost, and its checks |
//! | `verify` | computes the scores again from the edges of the input |

mod arithmetic;
mod driver;
mod gpu;
mod level;
mod options;
mod output;
mod search;
mod task;
mod verify;

pub use options::{Betweenness, Normalise};
pub use output::BetweennessOutput;
