//! Communities by label propagation (CDLP), as LDBC Graphalytics defines it.
//!
//! Every vertex begins with its own id as its label. In each iteration all vertices take, at the same time, the label
//! that most of their neighbours have, and the smallest of those that are equally frequent. In a directed graph
//! in-neighbours and out-neighbours count alike, so an edge in both directions counts twice. The labels do not depend on
//! the number of threads or ranks.
//!
//! | file | holds |
//! |---|---|
//! | `options` | the keys of the table |
//! | `task` | the algorithm, and what a plan and a check need of it |
//! | `driver` | a trial: iterations, checkpoints, and the figures and the column in the end |
//! | `labels` | the labels of all vertices, and one iteration by all ranks |
//! | `gpu` | iterations on a GPU |
//! | `votes` | the most frequent label of the neighbours of a vertex |
//! | `output` | the result |
//! | `verify` | the labels once more, from the edges of the input |

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
