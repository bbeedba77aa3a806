//! PageRank: the probability that a reader who follows links at random, and sometimes jumps, is at a vertex.
//!
//! In each iteration, every vertex pulls contributions from its in-neighbours. Contributions are integers in fixed
//! point, so their sums do not depend on the order of additions. The ranks of all vertices are therefore the same bytes
//! on any number of threads and ranks, and on a GPU.
//!
//! | file | holds |
//! |---|---|
//! | `options` | the keys of the table |
//! | `arithmetic` | the numbers of an iteration: fixed point, contributions, new ranks |
//! | `teleport` | the targets of jumps: base ranks, personalised vertices, vertices without edges |
//! | `pull` | sums of contributions, along the rows of both halves |
//! | `state` | ranks and contributions, and one iteration by all ranks |
//! | `gpu` | the same on a GPU |
//! | `driver` | a trial: iterations, checkpoints, figures and the column |
//! | `output` | the result |
//! | `task` | the table, its cost, and its checks |
//! | `verify` | computes the ranks again from the edges of the input |

mod arithmetic;
mod driver;
mod gpu;
mod options;
mod output;
mod pull;
mod state;
mod task;
mod teleport;
mod verify;

pub use options::Pagerank;
pub(in crate::algo) use output::{LARGEST, RankFigures, RankedVertex};
pub use output::{PagerankOutput, RankBin};
