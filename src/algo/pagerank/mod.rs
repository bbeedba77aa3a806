//! PageRank: the probability that a random surfer, who follows edges and sometimes teleports, is at a vertex.
//!
//! In each iteration, every vertex adds up contributions from its in-neighbours. Contributions are fixed-point
//! integers, so their sums do not depend on the order of additions. The PageRank values of all vertices are therefore
//! bitwise equal on any number of threads and MPI ranks, and on a GPU.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the keys of the job-file table `[pagerank]` |
//! | `arithmetic` | the arithmetic of an iteration: fixed point, contributions, new PageRank values |
//! | `teleport` | teleport targets and contributions, personalised vertices, vertices without edges |
//! | `pull` | sums of contributions, along the rows of the lower and the upper half |
//! | `state` | PageRank values and contributions, and one iteration by all MPI ranks |
//! | `gpu` | iterations on a GPU |
//! | `driver` | a trial: iterations, checkpoints, statistics and the result column |
//! | `output` | the result |
//! | `task` | what a job needs to know: keys, cost estimate, checks |
//! | `verify` | computes the PageRank values again from the edges of the input |

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
