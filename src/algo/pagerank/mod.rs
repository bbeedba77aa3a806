//! PageRank: the probability that a reader who follows links at random is at a vertex.
//!
//! In each iteration, every vertex pulls contributions from its in-neighbours. Contributions are integers in fixed
//! point, so their sums do not depend on the order of additions. The ranks of all vertices are therefore the same bytes
//! on any number of threads and ranks, and on a GPU.
//!
//! | file | holds |
//! |---|---|
//! | `options` | the keys of the table |
//! | `arithmetic` | the numbers of an iteration: fixed point, contributions, new ranks |
//! | `teleport` | where a jump lands: base ranks, personalised vertices, vertices without edges |
//! | `pull` | sums of contributions, along the rows of both halves |
//! | `state` | ranks and contributions, and one iteration by all ranks |
//! | `gpu` | the same on a GPU |
//! | `driver` | a trial: iterations, checkpoints, and the figures and the column in the end |
//! | `output` | the result |
//! | `task` | the table, and what a plan and a check need of it |
//! | `verify` | the ranks once more, from the edges of the input |

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
pub(in crate::algo) use output::{LARGEST, LargestRanks, RankCounts};
pub use output::{PagerankOutput, RankBin};
