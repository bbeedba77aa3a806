//! Communities by label propagation (CDLP), as LDBC Graphalytics defines it.
//!
//! Every vertex begins with its own id as its label. In each iteration, every vertex takes the most frequent label of
//! its neighbours, and the smallest one if several labels are equally frequent. All vertices change their labels at the
//! same time. In a directed graph, both in-neighbours and out-neighbours count, so an edge in both directions counts
//! twice. The labels do not depend on the number of threads or ranks.
//!
//! | file | contents |
//! |---|---|
//! | `options` | the keys of the table |
//! | `task` | the algorithm, its cost, and its checks |
//! | `driver` | a trial: iterations, checkpoints, statistics and the column |
//! | `labels` | the labels of all vertices, and one iteration by all ranks |
//! | `gpu` | iterations on a GPU |
//! | `votes` | the most frequent label of the neighbours of a vertex |
//! | `output` | the result |
//! | `verify` | computes the labels again from the edges of the input |

mod driver;
mod gpu;
mod labels;
mod options;
mod output;
mod task;
mod verify;
mod votes;

pub use options::Cdlp;
pub use output::CdlpOutput;
