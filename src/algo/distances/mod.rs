//! Distances from many sources: closeness, harmonic centrality and eccentricity of the sources, sums of distances for
//! every vertex, and bounds of the diameter.
//!
//! One pass searches from 64 sources at once. Each vertex has a word with a bit for each source that has reached it. In
//! each level, a vertex gets the bits of those of its in-neighbours that the last level reached. Either the rows of all
//! vertices are read, or only the rows of the vertices in the last level. The order in which bits are combined does not
//! matter, so figures and columns are the same bytes on any number of threads and ranks, and on a GPU.
//!
//! | file | holds |
//! |---|---|
//! | `options` | the keys of the table |
//! | `engine` | a pass: the levels of 64 searches, on CPUs or a GPU |
//! | `search`, `gpu` | the words of all vertices, and a level, on CPUs and on a GPU |
//! | `level` | work of threads on a level |
//! | `counts` | counts of the bits at each position of words |
//! | `driver` | a trial: passes, checkpoints, figures and the columns |
//! | `output` | the result |
//! | `task` | the table, its cost, and its checks |
//! | `verify` | computes the distances again from the edges of the input |

mod counts;
mod driver;
mod engine;
mod gpu;
mod level;
mod options;
mod output;
mod search;
mod task;
mod verify;

pub use options::Distances;
pub use output::{Diameter, DistancesOutput, SourceDistances};
